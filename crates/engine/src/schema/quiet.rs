//! Quiet points: moments when no transaction runs.
//!
//! Role         definitions, checkpoints and whatever must run while nothing else does. Interactive
//!              transactions are the difficulty: between two statements they are outside the gate
//!              and still hold locks and have changes in place, and who is inside may be waiting
//!              for them. They are known here as [`Bystanders`]
//! States       wanted: interactive transactions that hold nothing yet are held back, the others
//!              have [`PATIENCE`] to end -> the gate is closed, and opened again when somebody
//!              inside does not leave: those that are waited for are ended, and so on -> quiet:
//!              the bystanders that are left are ended, as far as the purpose asks for it
//! Invariants   I1 whoever closes the gate for long enough to be waited for looks after those who
//!              are waited for: else a worker that waits for the lock of a bystander, who waits for
//!              the gate, would wait until the bystander's idle time-out

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::sync::gate::Closed;
use hotrow_base::thread;

use super::{QUIET_WORKER, Schema, SharedSchema};

/// How long interactive transactions may go on when a quiet point must be clear of them.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the gate is closed at first before it is seen to who is waited for; doubled each time.
const FIRST_CLOSING: Duration = Duration::from_millis(1);
const DOUBLINGS_MAX: u32 = 13;
/// How often a quiet point beside bystanders is tried, for at most 32 ms each time: if somebody
/// inside waits for a bystander, who waits for the gate, longer tries are no better. 6 s in all.
const TRIES_BESIDE: u32 = 100;
const DOUBLINGS_BESIDE: u32 = 5;
/// Tries before bystanders that hold nothing yet are held back, so that fewer and fewer are there
/// for whom somebody waits.
const TRIES_AMONG_ALL: u32 = 4;

/// The same for an image, 0.1 s in all.
const TRIES_FOR_IMAGE: u32 = 6;
/// Changes of open transactions at a quiet point for an image, which lasts 10 ms longer for them.
const OPEN_CHANGES_MAX: usize = 100_000;

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

    /// Waits until there are none that a quiet point must be clear of, or the time is over.
    fn wait_until_clear(&self, of: Clearance, until: Ticks);

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
        self.current().memory.saved_rows().wait_for_room(QUIET_WORKER);
        let Some(bystanders) = self.bystanders() else {
            return Quiet { _closed: self.gate.close(), shared: self };
        };
        bystanders.hold_back(true);
        bystanders.wait_until_clear(why.clear_of, Ticks::from_now(PATIENCE));
        let mut tries = 0;
        let closed = loop {
            match self.gate.close_within(FIRST_CLOSING * (1 << tries)) {
                Some(closed) => break closed,
                None => bystanders.end_awaited(why),
            }
            tries = DOUBLINGS_MAX.min(tries + 1);
        };
        bystanders.end_rest(&self.current(), why);
        bystanders.hold_back(false);
        Quiet { _closed: closed, shared: self }
    }

    /// As [`SharedSchema::quiet`], but lets interactive transactions be; none when that does not
    /// work out, because somebody inside waits for one of them. Each time it has not, `missed` is
    /// told how often, and says whether to try again. Rows that are read may be those of an open
    /// transaction.
    pub fn quiet_beside(
        &self,
        mut missed: impl FnMut(u32) -> ControlFlow<()>,
    ) -> Option<Quiet<'_>> {
        let Some(bystanders) = self.bystanders() else {
            return Some(Quiet { _closed: self.gate.close(), shared: self });
        };
        let mut try_for = |tries: u32| {
            let span = FIRST_CLOSING * (1 << tries.min(DOUBLINGS_BESIDE));
            if let Some(closed) = self.gate.close_within(span) {
                return ControlFlow::Break(Some(Quiet { _closed: closed, shared: self }));
            }
            if missed(tries + 1).is_break() {
                return ControlFlow::Break(None);
            }
            thread::sleep(span); // others have their turn
            ControlFlow::Continue(())
        };
        if let ControlFlow::Break(end) = (0..TRIES_AMONG_ALL).try_for_each(&mut try_for) {
            return end;
        }
        bystanders.hold_back(true);
        let ended = (TRIES_AMONG_ALL..TRIES_BESIDE).try_for_each(try_for);
        bystanders.hold_back(false);
        ended.break_value().flatten()
    }

    /// A quiet point for an image to begin at, beside open transactions; none when that does not
    /// work out within 0.1 s, or when they have made so many changes that taking those back on
    /// copies would take long.
    pub fn quiet_for_image(&self) -> Option<Quiet<'_>> {
        let missed = |times| match times < TRIES_FOR_IMAGE {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        self.quiet_beside(missed).filter(|quiet| quiet.open_changes() <= OPEN_CHANGES_MAX)
    }

    fn bystanders(&self) -> Option<Arc<dyn Bystanders>> {
        self.bystanders.lock().as_ref()?.upgrade()
    }
}

/// A quiet point: nothing runs while it lives.
pub struct Quiet<'a> {
    _closed: Closed<'a>,
    shared: &'a SharedSchema,
}

impl Quiet<'_> {
    /// The schema in force.
    pub fn schema(&self) -> Arc<Schema> {
        self.shared.current()
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

    /// Puts another schema in force. Whoever looks at it from outside the gate may tell of it when
    /// the quiet point is over, by which time it has its place in the journal.
    pub fn replace(&self, schema: Schema) {
        self.shared.is_changing.store(true, Ordering::Relaxed); // ordered by the latch of `current`
        if let Some(journal) = self.shared.journal.get() {
            journal.cut();
        }
        *self.shared.current.lock() = Arc::new(schema);
        // Release; partner: the Acquire in `generation`.
        self.shared.generation.fetch_add(1, Ordering::Release);
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        if self.shared.is_changing.load(Ordering::Relaxed) {
            // Release; partner: the Acquire in `wait_for_change`.
            self.shared.is_changing.store(false, Ordering::Release);
            self.shared.changed.notify_all();
        }
    }
}
