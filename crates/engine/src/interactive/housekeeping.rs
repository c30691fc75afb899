//! Who else ends interactive transactions: quiet points, the idle time-out, the end of the engine.

use hotrow_base::sync::facade::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::interrupt::{Interrupt, Interruption};
use hotrow_base::thread::{self, BackgroundThread, News};
use hotrow_transaction::outcome::{Conflict, SqlError};

use super::Locks;
use super::slots::{Phase, Slot, Slots, Work};
use super::transaction::conflict_error;
use crate::schema::{Bystanders, Clearance, Purpose, Schema};

/// Between two looks, while transactions are open: who is doomed and idle is in somebody's way for
/// that long.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Between two rounds of who ends everything.
const CLOSING_PAUSE: Duration = Duration::from_millis(1);

impl<L: Locks> Bystanders for Slots<L> {
    fn hold_back(&self, holds: bool) {
        // Relaxed: who misses it is seen, at the latest, at the quiet point.
        if holds {
            self.held_back.fetch_add(1, Ordering::Relaxed);
        } else {
            self.held_back.fetch_sub(1, Ordering::Relaxed);
            self.changed.notify_all();
        }
    }

    fn wait_until_clear(&self, of: Clearance, span: Duration, until: Ticks) -> bool {
        let next = Ticks::from_now(span).min(until);
        let clear = self.changed.wait_for(Some(next), || self.is_clear(of).then_some(()));
        clear.is_some() || until.has_passed()
    }

    fn end_awaited(&self, why: Purpose) {
        let open = self.gate().keep_open();
        for slot in self.slots.iter().filter(|slot| slot.phase() != Phase::Empty) {
            if let Some(mut inside) = self.enter_parked(slot, &open)
                && inside.work.locks.is_awaited()
            {
                inside.end(Some(ended_for(why)));
            }
        }
    }

    fn end_rest(&self, schema: &Schema, why: Purpose) {
        for slot in self.hindering(why.clear_of) {
            slot.end_quietly(schema, ended_for(why));
        }
    }

    fn changes(&self) -> usize {
        self.changed_slots().map(|slot| slot.work.lock().scratch.changes()).sum()
    }

    fn keep_prior_rows(&self, schema: &Schema) {
        for slot in self.changed_slots() {
            slot.work.lock().scratch.keep_prior_rows(schema);
        }
    }
}

impl<L: Locks> Slots<L> {
    fn changed_slots(&self) -> impl Iterator<Item = &Slot<L>> {
        self.slots.iter().filter(|slot| slot.phase() == Phase::Changed)
    }

    /// Waits while a quiet point is wanted.
    pub(super) fn wait_while_held_back(
        &self,
        interrupt: &Arc<Interrupt>,
    ) -> Result<(), Interruption> {
        let let_on = || (self.held_back.load(Ordering::Relaxed) == 0).then_some(());
        if let_on().is_some() {
            return Ok(());
        }
        let wait = interrupt.begin_wait();
        while let_on().is_none() {
            let look = Ticks::from_now(LOOK_EVERY);
            if self.changed.wait_for(Some(look), let_on).is_none() {
                wait.check()?;
            }
        }
        Ok(())
    }

    pub(super) fn close_all(&self) {
        self.closed.store(true, Ordering::Relaxed); // seen under each slot's latch
        self.end_housekeeping();
        // Who is inside a statement ends there, or is waiting for one that is ended here.
        while !self.slots.iter().all(|slot| self.close(slot)) {
            thread::sleep(CLOSING_PAUSE);
        }
    }

    /// Ends a slot's transaction; whether it holds nothing any more.
    fn close(&self, slot: &Slot<L>) -> bool {
        if slot.phase() != Phase::Empty
            && let Some(mut inside) = self.enter_parked(slot, &self.gate().keep_open())
        {
            inside.end(Some(shut_down()));
        }
        let Some(work) = slot.work.try_lock() else { return false };
        !work.locks.holds_any()
    }

    /// Why a parked transaction has been idle for too long, or is to give way.
    fn due_end(&self, work: &Work<L>) -> Option<SqlError> {
        // Who holds nothing is in nobody's way: whatever it was to give way for is over.
        if work.locks.is_doomed() && work.locks.holds_any() {
            return Some(conflict_error(Conflict::Wound));
        }
        let shorter = |limit| [work.idle_limit, limit].into_iter().flatten().min();
        let is_over = |limit, idle| shorter(limit).filter(|span| idle >= *span);
        if let Some(span) = is_over(self.idle_time_out, work.idle_since.elapsed()) {
            return Some(idle_for(span));
        }
        is_over(self.awaited_time_out, work.awaited).map(idle_and_awaited_for)
    }

    /// Ends transactions that have been idle for too long, or are to give way.
    fn end_idle(&self) {
        let ends = |work: &Work<L>| self.due_end(work);
        for slot in self.slots.iter().filter(|slot| slot.is_taken()) {
            let is_due = slot.work.try_lock().is_some_and(|mut work| {
                work.note_idleness();
                ends(&work).is_some()
            });
            if is_due
                && let Some(mut inside) = self.enter_parked(slot, &self.gate().keep_open())
                && let Some(why) = ends(&inside.work)
            {
                inside.end(Some(why));
            }
        }
    }
}

impl<L: Locks> Work<L> {
    /// Counts for how long the session has been silent while others waited for it: a statement now
    /// and then takes nothing of that back, and a long one is no silence.
    fn note_idleness(&mut self) {
        let since = self.looked_at.elapsed().min(self.idle_since.elapsed());
        self.looked_at = Ticks::now();
        if self.locks.has_waiters() {
            self.awaited += since;
        }
    }
}

/// Starts the thread that looks for transactions to end, from the first transaction on. None when
/// the system has no room for it, and then nobody is ended.
pub(super) fn start_housekeeper<L: Locks>(slots: &Arc<Slots<L>>) -> Option<BackgroundThread> {
    let slots = Arc::downgrade(slots);
    BackgroundThread::start("housekeeper", move |news| look_after(&slots, news)).ok()
}

fn look_after<L: Locks>(slots: &Weak<Slots<L>>, news: &News) {
    let any = || slots.upgrade().is_some_and(|slots| slots.any_taken());
    while news.wait(None) {
        while any() {
            if !news.rest(LOOK_EVERY) {
                return;
            }
            let Some(slots) = slots.upgrade() else { return };
            slots.end_idle();
        }
    }
}

pub(super) fn ended_for(why: Purpose) -> SqlError {
    let message = format!("the transaction was rolled back, because {} came", why.what);
    let mut error = SqlError::new(b"40001", message);
    error.hint = Some("Repeat the transaction.".to_owned());
    error
}

pub(super) fn idle_for(time_out: Duration) -> SqlError {
    let message = format!("the transaction was rolled back after {time_out:?} without a statement");
    let mut error = SqlError::new(b"25P03", message);
    let hint =
        "Repeat it without long pauses, or configure a longer time-out for idle transactions.";
    error.hint = Some(hint.to_owned());
    error
}

fn idle_and_awaited_for(time_out: Duration) -> SqlError {
    let message = format!(
        "the transaction was rolled back after {time_out:?} without a statement in which others \
         waited for it"
    );
    let mut error = SqlError::new(b"25P03", message);
    let hint = "Repeat it without pauses while it holds rows that others want, or configure a \
                longer time-out for idle transactions that are waited for.";
    error.hint = Some(hint.to_owned());
    error
}

/// 57P01
pub(super) fn shut_down() -> SqlError {
    SqlError::new(b"57P01", "the transaction was rolled back, because the engine ends")
}
