//! Slots: a fixed number of places for interactive transactions, each with a worker id.

use hotrow_base::sync::facade::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::{TableId, WorkerId};
use hotrow_base::interrupt::{Interrupt, Interruption, WaitForTurn, current};
use hotrow_base::sync::gate::{Gate, Open};
use hotrow_base::sync::{EventCount, Latch, LatchGuard};
use hotrow_base::thread::BackgroundThread;
use hotrow_transaction::granule::TableUse;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::plan::Plan;

use super::housekeeping::{shut_down, start_housekeeper};
use super::transaction::Transaction;
use super::{Attempt, Failure, Interactive, InteractiveTransaction, Locks};
use crate::contract::{Ground, InteractiveOptions};
use crate::in_place::{InPlace, Savepoint, Scratch};
use crate::journal::Committer;
use crate::schema::{Bystanders, Clearance, Schema, SharedSchema};
use crate::statistics::CallTime;

/// Quiet points missed, in 15 s or so, before a transaction gives way that wants one itself.
const MISSES_BEFORE_WAY: u32 = 50;

/// Places for open transactions, a fixed number of them; a session has one from BEGIN to its end.
pub struct Slots<L: Locks> {
    pub(super) schema: Arc<SharedSchema>,
    pub(super) slots: Box<[Slot<L>]>,
    free: Latch<Vec<usize>>,
    pub(super) idle_time_out: Option<Duration>,
    pub(super) awaited_time_out: Option<Duration>,
    /// A transaction that has changed so much begins no statement any more: its undo log, of some
    /// 32 bytes a change, stays in memory until it ends.
    pub(super) changes_max: usize,
    /// quiet points that hold transactions back which hold nothing yet
    pub(super) held_back: AtomicUsize,
    /// a transaction has ended, or is no longer held back
    pub(super) changed: EventCount,
    pub(super) closed: AtomicBool,
    /// the slot whose transaction waits for a quiet point with all that it holds, to be handed over
    /// there, and whose that is
    pub(super) handed_over: Latch<Option<(usize, Arc<Interrupt>)>>,
    housekeeper: Latch<Option<BackgroundThread>>,
}

/// What a transaction may have; ordered by what it takes to be clear of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(super) enum Phase {
    /// nothing
    Empty,
    /// locks
    Reading,
    /// changes
    Changed,
}

/// The place of one transaction.
pub(super) struct Slot<L> {
    pub(super) worker: WorkerId,
    pub(super) committer: Committer,
    /// a [`Phase`]
    phase: AtomicU8,
    /// a session has it
    taken: AtomicBool,
    pub(super) work: Latch<Work<L>>,
}

/// What a transaction works with.
pub(super) struct Work<L> {
    pub(super) locks: L,
    pub(super) scratch: Scratch,
    pub(super) savepoints: Vec<Savepoint>,
    /// the latest epoch of what it may have seen without locks, which leave no tags
    pub(super) looked_in: u64,
    /// why somebody ended it
    pub(super) ended: Option<Box<SqlError>>,
    pub(super) idle_since: Ticks,
    /// how long its session lets it be idle
    pub(super) idle_limit: Option<Duration>,
    /// of its first call
    pub(super) plan: Plan,
    /// of its last statement
    pub(super) time: CallTime,
    /// how long it has been idle, all in all, while others waited for what it holds
    pub(super) awaited: Duration,
    /// when housekeeping last looked at it
    pub(super) looked_at: Ticks,
}

impl<L: Locks> Slots<L> {
    /// Slots for `options.open_max` transactions; `locks` makes what number `i` holds.
    pub fn new(
        ground: &Ground,
        options: &InteractiveOptions,
        mut locks: impl FnMut(usize) -> L,
    ) -> Arc<Self> {
        let slot = |number: usize| {
            let worker = WorkerId(options.first_worker.0 + number as u16);
            Slot {
                worker,
                committer: Committer::new(&ground.journal, worker),
                phase: AtomicU8::new(Phase::Empty as u8),
                taken: AtomicBool::new(false),
                work: Latch::new(Work {
                    locks: locks(number),
                    scratch: Scratch::new(worker),
                    savepoints: Vec::new(),
                    looked_in: 0,
                    ended: None,
                    idle_since: Ticks::now(),
                    idle_limit: None,
                    plan: Plan::default(),
                    time: CallTime::default(),
                    awaited: Duration::ZERO,
                    looked_at: Ticks::now(),
                }),
            }
        };
        let slots = Arc::new(Self {
            schema: Arc::clone(&ground.schema),
            slots: (0..options.open_max).map(slot).collect(),
            // The lowest first: their slabs are warm.
            free: Latch::new((0..options.open_max).rev().collect()),
            idle_time_out: options.idle_time_out,
            awaited_time_out: options.awaited_time_out,
            changes_max: options.changes_max,
            held_back: AtomicUsize::new(0),
            changed: EventCount::new(),
            closed: AtomicBool::new(false),
            handed_over: Latch::new(None),
            housekeeper: Latch::new(None),
        });
        let bystanders: Arc<dyn Bystanders> = slots.clone();
        ground.schema.set_bystanders(&bystanders);
        slots
    }

    pub(super) fn slot(&self, number: usize) -> &Slot<L> {
        &self.slots[number]
    }

    pub(super) fn gate(&self) -> &Gate {
        self.schema.gate()
    }

    /// Goes inside for a slot's statement, or says why its transaction was ended.
    pub(super) fn enter(&self, number: usize) -> Result<Inside<'_, L>, Box<SqlError>> {
        let slot = self.slot(number);
        let work = self.going_on(slot)?;
        if self.gate().try_enter(slot.worker.index()) {
            return Ok(self.inside(slot, work));
        }
        drop(work); // I1
        let wait = current::begin_wait();
        let goes_on = || {
            wait.iter().for_each(WaitForTurn::tell);
            true
        };
        let open = self.gate().keep_open_while(goes_on).expect("it waits as long as it takes");
        self.enter_behind(slot, &open)
    }

    /// As [`Slots::enter`], for a statement, unless that is interrupted before.
    pub(super) fn enter_for(
        &self,
        number: usize,
        interrupt: &Arc<Interrupt>,
    ) -> Result<Inside<'_, L>, Failure> {
        let slot = self.slot(number);
        let work = self.going_on(slot).map_err(Failure::Ended)?;
        if self.gate().try_enter(slot.worker.index()) {
            return Ok(self.inside(slot, work));
        }
        drop(work); // I1
        let wait = interrupt.begin_wait();
        let Some(open) = self.gate().keep_open_while(|| wait.check().is_ok()) else {
            let why = wait.check().err().unwrap_or(Interruption::Request);
            return Err(Failure::Statement(Box::new(why.into())));
        };
        self.enter_behind(slot, &open).map_err(Failure::Ended)
    }

    /// Ends a transaction that holds nothing, unless it holds something; whether it did. Nothing
    /// is to be taken back, so nobody has to wait for the gate, such as who has just given that up.
    pub(super) fn end_empty(&self, number: usize) -> bool {
        let mut work = self.slot(number).work.lock();
        let is_empty = work.phase() == Phase::Empty;
        if is_empty {
            work.savepoints.clear();
            work.idle_since = Ticks::now();
        }
        is_empty
    }

    /// Goes inside where the gate is kept open.
    fn enter_behind<'s>(
        &'s self,
        slot: &'s Slot<L>,
        open: &Open<'_>,
    ) -> Result<Inside<'s, L>, Box<SqlError>> {
        let work = self.going_on(slot)?;
        open.enter(slot.worker.index());
        Ok(self.inside(slot, work))
    }

    /// A slot's work, unless its transaction was ended.
    fn going_on<'s>(&'s self, slot: &'s Slot<L>) -> Result<LatchGuard<'s, Work<L>>, Box<SqlError>> {
        let work = slot.work.lock();
        if let Some(ended) = &work.ended {
            return Err(ended.clone());
        }
        // Relaxed: who closes looks at every slot afterwards, under its latch.
        if self.closed.load(Ordering::Relaxed) && slot.phase() == Phase::Empty {
            return Err(Box::new(shut_down()));
        }
        Ok(work)
    }

    /// As [`Slots::enter`], for somebody else than the session; none when the slot is in use.
    pub(super) fn enter_parked<'s>(
        &'s self,
        slot: &'s Slot<L>,
        open: &Open<'_>,
    ) -> Option<Inside<'s, L>> {
        let work = slot.work.try_lock()?;
        if work.ended.is_some() {
            return None;
        }
        open.enter(slot.worker.index());
        Some(self.inside(slot, work))
    }

    fn inside<'s>(&'s self, slot: &'s Slot<L>, work: LatchGuard<'s, Work<L>>) -> Inside<'s, L> {
        let (generation, schema) = (self.schema.generation(), self.schema.current());
        Inside { slots: self, slot, generation, schema, work }
    }

    /// Makes uses of tables known to planned calls: I3. Calls that wait for the very transaction
    /// that asks would never let the moment come: after a while it gives way to them, so that the
    /// uses are known when it is repeated. `go_on` says whether the statement is to wait on.
    pub(super) fn open_for(
        &self,
        number: usize,
        uses: &[(TableId, TableUse)],
        go_on: impl Fn() -> Result<(), Interruption>,
    ) -> Result<(), SqlError> {
        let give_way = |missed| {
            if go_on().is_err() {
                return ControlFlow::Break(());
            }
            if missed >= MISSES_BEFORE_WAY
                && let Ok(mut inside) = self.enter(number)
                && inside.work.locks.is_awaited()
            {
                inside.end(Some(in_the_way()));
            }
            ControlFlow::Continue(())
        };
        let opened = |schema: Arc<Schema>| {
            let mut next = (*schema).clone();
            next.open_for(uses).map(|()| next)
        };
        // Made beside calls, since procedures are compiled again; at the quiet point only if
        // another schema came meanwhile. In this order: one that is newer than its number is made
        // again.
        let generation = self.schema.generation();
        let mut next = opened(self.schema.current())?;
        let Some(quiet) = self.schema.quiet_beside(|| go_on().is_ok(), give_way) else {
            return Err(go_on().map_or_else(SqlError::from, |()| in_the_way()));
        };
        if self.schema.generation() != generation {
            next = opened(quiet.schema())?;
        }
        quiet.replace(next);
        Ok(())
    }

    /// Gives a slot back whose transaction has ended.
    pub(super) fn give_back(&self, number: usize) {
        self.slot(number).taken.store(false, Ordering::Relaxed); // a hint for housekeeping
        self.free.lock().push(number);
    }

    /// Whether no transaction has what a quiet point must be clear of.
    pub(super) fn is_clear(&self, of: Clearance) -> bool {
        self.hindering(of).next().is_none()
    }

    /// The slots whose transactions have that; but for the one that is to be handed over, where it
    /// is its own session that asks. To everybody else it is in the way as all are.
    pub(super) fn hindering(&self, of: Clearance) -> impl Iterator<Item = &Slot<L>> {
        let handed_over = self.handed_over.lock();
        let own = handed_over.as_ref().filter(|(_, owner)| current::is(owner));
        let own = own.map(|(number, _)| *number);
        let others = (0..).zip(&self.slots).filter(move |(number, _)| Some(*number) != own);
        others.map(|(_, slot)| slot).filter(move |slot| slot.phase().hinders(of))
    }

    /// Has a transaction looked after that has begun.
    fn look_after(self: &Arc<Self>) {
        let mut housekeeper = self.housekeeper.lock();
        if housekeeper.is_none() && !self.closed.load(Ordering::Relaxed) {
            *housekeeper = start_housekeeper(self);
        }
        if let Some(housekeeper) = &*housekeeper {
            housekeeper.tell();
        }
    }

    pub(super) fn any_taken(&self) -> bool {
        self.slots.iter().any(Slot::is_taken)
    }

    pub(super) fn end_housekeeping(&self) {
        let housekeeper = self.housekeeper.lock().take();
        drop(housekeeper); // joins its thread
    }
}

impl<L: Locks> Interactive for Slots<L> {
    fn begin(
        self: Arc<Self>,
        interrupt: &Arc<Interrupt>,
    ) -> Result<Box<dyn InteractiveTransaction>, SqlError> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(shut_down()); // Relaxed: see `enter`
        }
        let Some(number) = self.free.lock().pop() else { return Err(too_many(self.slots.len())) };
        let slot = self.slot(number);
        {
            let mut work = slot.work.lock();
            work.ended = None;
            work.savepoints.clear();
            work.looked_in = 0;
            work.idle_since = Ticks::now();
            work.idle_limit = None;
            (work.awaited, work.looked_at) = (Duration::ZERO, Ticks::now());
            work.locks.begin(Attempt::First);
            work.locks.expect_more(false);
            work.locks.heed(interrupt);
            work.scratch.charge_to(Some(interrupt));
            slot.taken.store(true, Ordering::Relaxed); // a hint for housekeeping
        }
        self.look_after();
        Ok(Box::new(Transaction::new(self, number, interrupt)))
    }

    fn places(&self) -> (usize, usize) {
        let most = self.slots.len();
        (most - self.free.lock().len(), most)
    }

    fn close(&self) {
        self.close_all();
    }
}

/// 40001
fn in_the_way() -> SqlError {
    let message = "the transaction used a table in a new way while calls waited for it";
    let mut error = SqlError::new(b"40001", message);
    error.hint = Some("Repeat the transaction.".to_owned());
    error
}

pub(super) fn too_many(most: usize) -> SqlError {
    let message = format!("too many open transactions: all {most} places are taken");
    let mut error = SqlError::new(b"53300", message);
    error.hint = Some("Try again when one has ended, or configure more places.".to_owned());
    error
}

impl Phase {
    pub(super) fn hinders(self, clearance: Clearance) -> bool {
        match clearance {
            Clearance::Changes => self == Self::Changed,
            Clearance::Locks => self != Self::Empty,
        }
    }
}

impl<L> Slot<L> {
    pub(super) fn phase(&self) -> Phase {
        // Acquire; partner: the Release in `set_phase`. Who finds it clear goes on from there.
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Empty,
            1 => Phase::Reading,
            _ => Phase::Changed,
        }
    }

    pub(super) fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
    }
}

/// A slot whose work may be touched: its latch is held, and it is inside the gate.
pub(super) struct Inside<'s, L: Locks> {
    slots: &'s Slots<L>,
    pub(super) slot: &'s Slot<L>,
    pub(super) generation: u64,
    pub(super) schema: Arc<Schema>,
    pub(super) work: LatchGuard<'s, Work<L>>,
}

impl<L: Locks> Inside<'_, L> {
    /// Rolls the transaction back, which is over then, if `why` is told.
    pub(super) fn end(&mut self, why: Option<SqlError>) {
        self.work.undo_all(&self.schema);
        self.work.ended = why.map(Box::new);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.slots.closed.load(Ordering::Relaxed) // see `enter`
    }
}

impl<L: Locks> Drop for Inside<'_, L> {
    fn drop(&mut self) {
        self.work.idle_since = Ticks::now();
        self.slot.set_phase(self.work.phase());
        self.slots.gate().leave(self.slot.worker.index());
        if self.slot.phase() == Phase::Empty {
            self.slots.changed.notify_all();
        }
    }
}

impl<L: Locks> Slot<L> {
    /// Whether a session has it.
    pub(super) fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed) // a hint, which the next look corrects
    }

    /// Ends the transaction at a quiet point.
    pub(super) fn end_quietly(&self, schema: &Schema, why: SqlError) {
        let mut work = self.work.lock();
        work.undo_all(schema);
        work.ended = Some(Box::new(why));
        self.set_phase(Phase::Empty);
    }
}

impl<L: Locks> Work<L> {
    pub(super) fn phase(&self) -> Phase {
        match (self.scratch.is_unchanged(), self.locks.holds_any()) {
            (false, _) => Phase::Changed,
            (true, true) => Phase::Reading,
            (true, false) => Phase::Empty,
        }
    }

    /// Takes everything back and lets go of everything.
    pub(super) fn undo_all(&mut self, schema: &Schema) {
        self.undo_first(schema);
        self.savepoints.clear();
    }

    /// As [`Work::undo_all`], of a first statement, before which savepoints may stand.
    pub(super) fn undo_first(&mut self, schema: &Schema) {
        let Self { scratch, locks, .. } = self;
        let _pin = schema.memory.epochs().pin(scratch.worker());
        InPlace::resume(schema, scratch, locks.protection()).undo();
        locks.release_all(None);
    }
}
