//! Quiet points: moments when no transaction runs.
//!
//! Role         definitions, checkpoints and whatever must run while nothing else does. Interactive
//!              transactions are the difficulty: between two statements they are outside the gate
//!              and still hold locks and have changes in place, and who is inside may be waiting
//!              for them. They are known here as [`Bystanders`]
//! States       wanted: interactive transactions that hold nothing yet are held back, the others
//!              have [`PATIENCE`] to end -> the gate is closed for some milliseconds; opened again
//!              when somebody inside does not leave, and everybody goes on until he has, or for
//!              some time; and so on, unless whoever wants it gives up -> quiet: the bystanders
//!              that are left are ended, as far as the purpose asks for it
//! Invariants   I1 one slow statement keeps nobody else out: of the time in which a quiet point is
//!              waited for, the gate is closed for a small part, and never for long at a time
//!              ([`Pace`])
//!              I2 who waits for a bystander's lock does so outside the gate: a call is parked, a
//!              session's statement leaves when it finds the gate closed, for which it looks every
//!              10 ms; so the gate is closed for longer than that after a few tries. Should
//!              somebody wait inside all the same, those who are waited for are ended

use hotrow_base::sync::facade::atomic::Ordering;
use std::cell::Cell;
use std::mem;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::interrupt::Interrupt;
use hotrow_base::sync::gate::{Closed, KeptClosed};
use hotrow_base::thread;

use super::{QUIET_WORKER, Schema, SharedSchema};

/// How long interactive transactions may go on when a quiet point must be clear of them.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same for each further try: they were asked before.
const PATIENCE_AGAIN: Duration = Duration::from_millis(20);
/// Between two looks whether whoever wants a quiet point waits on.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Tries after which bystanders that are waited for are ended (I2).
const TRIES_BEFORE_ENDING: u32 = 8;
/// How often a quiet point beside bystanders is tried: half a minute if somebody stays inside.
const TRIES_BESIDE: u32 = 100;
/// Tries before bystanders that hold nothing yet are held back, so that fewer and fewer are there
/// for whom somebody waits.
const TRIES_AMONG_ALL: u32 = 4;

/// The same for an image of a report, which has another way: 0.3 s in all.
const TRIES_FOR_REPORT: u32 = 6;
/// And of a checkpoint, which otherwise ends transactions: 10 s.
const TRIES_FOR_CHECKPOINT: u32 = 36;
/// Changes of open transactions at a quiet point for an image, which lasts 10 ms longer for them.
const OPEN_CHANGES_MAX: usize = 100_000;

/// For how long the gate is closed, and open in between, while somebody stays inside.
struct Pace {
    began: Ticks,
    tries: u32,
}

impl Pace {
    const FIRST: Duration = Duration::from_millis(1);
    /// Longer than who waits for a lock takes to look (I2).
    const DOUBLINGS_MAX: u32 = 4;
    /// Where slow statements overlap, only a longer closing finds all of them out: a sixty-fourth
    /// of the time that it has taken so far, up to a tenth of a second.
    const PART: u32 = 64;
    const LONGEST: Duration = Duration::from_millis(100);
    /// The gate is open for so many times as long as it was closed, unless all have left before.
    const OPEN: u32 = 20;

    fn new() -> Self {
        Self { began: Ticks::now(), tries: 0 }
    }

    /// How long the gate is closed next.
    fn next(&mut self) -> Duration {
        let span = Self::FIRST * (1 << self.tries.min(Self::DOUBLINGS_MAX));
        self.tries += 1;
        span.max((self.began.elapsed() / Self::PART).min(Self::LONGEST))
    }
}

/// What a quiet point must be clear of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Clearance {
    /// changes that are not committed
    Changes,
    /// locks too: granules may change, or rows be read and changed without locks
    Locks,
}

/// Why a quiet point is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Purpose {
    /// what must not be there
    pub clear_of: Clearance,
    /// for messages: "a checkpoint"
    pub what: &'static str,
}

impl Purpose {
    /// Changes of tables, indexes and procedures.
    pub const DEFINITION: Self = Self { clear_of: Clearance::Locks, what: "a definition" };
    /// A transaction that runs without locks.
    pub const ALONE: Self = Self { clear_of: Clearance::Locks, what: "work that runs alone" };
    /// The beginning of a checkpoint that could not begin beside open transactions.
    pub const CHECKPOINT: Self = Self { clear_of: Clearance::Changes, what: "a checkpoint" };
    /// Reading whole tables.
    pub const SCAN: Self = Self { clear_of: Clearance::Changes, what: "a scan of a table" };
}

/// Interactive transactions, as who makes a quiet point sees them.
pub trait Bystanders: Send + Sync {
    /// Lets those that hold nothing yet wait before their next statement, or go on.
    fn hold_back(&self, holds: bool);

    /// Waits for `span` at most: true when there are none that a quiet point must be clear of, or
    /// the time is over.
    fn wait_until_clear(&self, of: Clearance, span: Duration, until: Ticks) -> bool;

    /// Ends those that others wait for and that are between two statements.
    fn end_awaited(&self, why: Purpose);

    /// At a quiet point: ends those that it must be clear of.
    fn end_rest(&self, schema: &Schema, why: Purpose);

    /// At a quiet point: how many changes there are that are not committed.
    fn changes(&self) -> usize;

    /// At a quiet point: keeps the rows that they have changed, as they were before, for the image
    /// that has just begun.
    fn keep_prior_rows(&self, schema: &Schema);
}

/// Holds bystanders back that hold nothing yet.
struct HeldBack<'a>(&'a dyn Bystanders);

impl<'a> HeldBack<'a> {
    fn hold(bystanders: &'a dyn Bystanders) -> Self {
        bystanders.hold_back(true);
        Self(bystanders)
    }
}

impl Drop for HeldBack<'_> {
    fn drop(&mut self) {
        self.0.hold_back(false);
    }
}

impl SharedSchema {
    /// Makes the interactive transactions of an engine known.
    pub(crate) fn set_bystanders(&self, bystanders: &Arc<dyn Bystanders>) {
        *self.bystanders.lock() = Some(Arc::downgrade(bystanders));
    }

    /// Waits until no transaction runs and keeps new ones out until the guard is dropped. The
    /// caller is inside nothing, and works as [`QUIET_WORKER`].
    pub fn quiet(&self) -> Quiet<'_> {
        self.quiet_for(Purpose::ALONE)
    }

    /// As [`SharedSchema::quiet`]. Interactive transactions that are open get a while to end; the
    /// rest is ended, as far as `why` asks for it.
    pub fn quiet_for(&self, why: Purpose) -> Quiet<'_> {
        self.quiet_while(why, || true).expect("it waits as long as it takes")
    }

    /// As [`SharedSchema::quiet_for`]; none when `goes_on`, asked every 10 ms, said no before it
    /// came.
    pub fn quiet_while(&self, why: Purpose, goes_on: impl Fn() -> bool) -> Option<Quiet<'_>> {
        self.current().memory.saved_rows().wait_for_room(QUIET_WORKER);
        let bystanders = self.bystanders();
        let bystanders = bystanders.as_deref();
        let (mut pace, mut patience) = (Pace::new(), PATIENCE);
        loop {
            let held_back = bystanders.map(HeldBack::hold);
            if let Some(bystanders) = bystanders {
                let until = Ticks::from_now(patience);
                while goes_on() && !bystanders.wait_until_clear(why.clear_of, LOOK_EVERY, until) {}
            }
            if !goes_on() {
                return None;
            }
            let span = pace.next();
            if let Some(closed) = self.gate.close_within(span, &goes_on) {
                if let Some(bystanders) = bystanders {
                    bystanders.end_rest(&self.current(), why);
                }
                return Some(self.quiet_behind(closed));
            }
            if let Some(bystanders) = bystanders
                && pace.tries > TRIES_BEFORE_ENDING
            {
                bystanders.end_awaited(why);
            }
            drop(held_back);
            self.let_on(span, &goes_on);
            patience = PATIENCE_AGAIN;
        }
    }

    /// Lets everybody go on after the gate was closed for `span` in vain: until those who are
    /// inside now have left, for a bounded time (I1).
    fn let_on(&self, span: Duration, goes_on: impl Fn() -> bool) {
        let (insiders, until) = (self.gate.insiders(), Ticks::from_now(span * Pace::OPEN));
        while self.gate.are_still_inside(&insiders) && !until.has_passed() && goes_on() {
            thread::sleep(Pace::FIRST);
        }
    }

    /// As [`SharedSchema::quiet`], but lets interactive transactions be; none when that does not
    /// work out, because somebody inside waits for one of them. Each time it has not, `missed` is
    /// told how often, and says whether to try again; while somebody else has one, `goes_on` says
    /// whether to wait on. Rows that are read may be those of an open transaction.
    pub fn quiet_beside(
        &self,
        goes_on: impl Fn() -> bool,
        mut missed: impl FnMut(u32) -> ControlFlow<()>,
    ) -> Option<Quiet<'_>> {
        let mut pace = Pace::new();
        let mut try_for = |tries: u32| {
            let span = pace.next();
            if let Some(closed) = self.gate.close_within(span, &goes_on) {
                return ControlFlow::Break(Some(self.quiet_behind(closed)));
            }
            if missed(tries + 1).is_break() {
                return ControlFlow::Break(None);
            }
            self.let_on(span, || true);
            ControlFlow::Continue(())
        };
        if let ControlFlow::Break(end) = (0..TRIES_AMONG_ALL).try_for_each(&mut try_for) {
            return end;
        }
        let bystanders = self.bystanders();
        let mut try_alone = |tries| {
            let _held_back = bystanders.as_deref().map(HeldBack::hold);
            try_for(tries)
        };
        (TRIES_AMONG_ALL..TRIES_BESIDE).try_for_each(&mut try_alone).break_value().flatten()
    }

    /// A quiet point for a report's image to begin at, beside open transactions; none when that
    /// does not work out within 0.3 s, or when they have made so many changes that taking those
    /// back on copies would take long.
    pub fn quiet_for_report(&self) -> Option<Quiet<'_>> {
        self.quiet_for_image(TRIES_FOR_REPORT)
    }

    /// As [`SharedSchema::quiet_for_report`], for a checkpoint and within 10 s.
    pub fn quiet_for_checkpoint(&self) -> Option<Quiet<'_>> {
        self.quiet_for_image(TRIES_FOR_CHECKPOINT)
    }

    fn quiet_for_image(&self, tries: u32) -> Option<Quiet<'_>> {
        let missed = |times| match times < tries {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        self.quiet_beside(|| true, missed).filter(|quiet| quiet.open_changes() <= OPEN_CHANGES_MAX)
    }

    fn quiet_behind<'a>(&'a self, closed: Closed<'a>) -> Quiet<'a> {
        self.settle();
        Quiet { closed: Some(closed), owner: None, shared: self, retired: Cell::default() }
    }

    fn bystanders(&self) -> Option<Arc<dyn Bystanders>> {
        self.bystanders.lock().as_ref()?.upgrade()
    }
}

/// A quiet point: nothing runs while it lives.
pub struct Quiet<'a> {
    /// none: it is kept by another guard
    closed: Option<Closed<'a>>,
    /// of a kept one: what is put in force is this one's only, so far
    owner: Option<&'a Arc<Interrupt>>,
    shared: &'a SharedSchema,
    /// what was in force before; freed behind `closed`, since tables that go with it take long
    retired: Cell<Option<Arc<Schema>>>,
}

/// A quiet point that goes on when the call that made it has returned.
pub struct KeptQuiet(#[allow(dead_code, reason = "what counts is that it is there")] KeptClosed);

impl KeptQuiet {
    /// The quiet point, to put another schema in force for one owner.
    pub(crate) fn of<'a>(
        &'a self,
        shared: &'a SharedSchema,
        owner: &'a Arc<Interrupt>,
    ) -> Quiet<'a> {
        Quiet { closed: None, owner: Some(owner), shared, retired: Cell::default() }
    }

    /// Puts what is pending in force for everybody.
    pub(crate) fn commit(&self, shared: &SharedSchema) {
        let quiet = Quiet { closed: None, owner: None, shared, retired: Cell::default() };
        let (schema, _) = shared.pending_or_committed();
        quiet.put_in_force(schema);
        shared.end_pending();
    }
}

impl Quiet<'_> {
    /// The schema in force.
    pub fn schema(&self) -> Arc<Schema> {
        match self.owner {
            Some(_) => self.shared.pending_or_committed().0,
            None => self.shared.committed(),
        }
    }

    /// How many changes of interactive transactions there are that are not committed.
    pub fn open_changes(&self) -> usize {
        self.shared.bystanders().map_or(0, |bystanders| bystanders.changes())
    }

    /// Keeps the rows that interactive transactions have changed, as they were before, for an image
    /// that has just begun. Takes time for each change.
    pub(crate) fn keep_prior_rows(&self) {
        if let Some(bystanders) = self.shared.bystanders() {
            bystanders.keep_prior_rows(&self.schema());
        }
    }

    /// The same quiet point, borrowing nothing. No other schema was put in force at it so far.
    pub fn keep(mut self) -> KeptQuiet {
        let closed = self.closed.take().expect("only this takes it, and the quiet point with it");
        KeptQuiet(closed.keep(&self.shared.gate))
    }

    /// Puts another schema in force. Whoever looks at it from outside the gate may tell of it when
    /// the quiet point is over, by which time it has its place in the journal.
    pub fn replace(&self, mut schema: Schema) {
        schema.begin_additions();
        match self.owner {
            Some(owner) => self.shared.set_pending(Arc::new(schema), owner),
            None => self.put_in_force(Arc::new(schema)),
        }
    }

    fn put_in_force(&self, schema: Arc<Schema>) {
        self.shared.is_changing.store(true, Ordering::Relaxed); // ordered by the latch of `current`
        if let Some(journal) = self.shared.journal.get() {
            journal.cut();
        }
        *self.shared.settled.lock() = Arc::clone(&schema); // the one before is what `current` was
        let before = mem::replace(&mut *self.shared.current.lock(), schema);
        self.retired.set(Some(before));
        // Release; partners: the Acquire loads of both.
        self.shared.settled_generation.fetch_add(1, Ordering::Release);
        self.shared.generation.fetch_add(1, Ordering::Release);
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        if self.owner.is_none() && self.shared.is_changing.load(Ordering::Relaxed) {
            // Release; partner: the Acquire in `wait_for_change`.
            self.shared.is_changing.store(false, Ordering::Release);
            self.shared.changed.notify_all();
        }
    }
}
