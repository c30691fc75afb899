//! Waits of sessions for each other that are none of the engine's: of advisory locks.

use std::sync::atomic::Ordering;

use hotrow_base::clock::Ticks;

use super::slots::{Slot, Slots, Work};
use super::{Locks, WaitsElsewhere};

impl<L: Locks> WaitsElsewhere for Slots<L> {
    fn wait(&self, place: usize, others: &[usize]) {
        // Relaxed: a hint for housekeeping, to which nobody is idle who waits.
        self.slot(place).waits_elsewhere.store(true, Ordering::Relaxed);
        self.graph.set_waits(place, others);
    }

    fn go_on(&self, place: usize) {
        self.graph.set_waits(place, &[]);
        self.graph.spare(place);
        let slot = self.slot(place);
        if let Some(mut work) = slot.work.try_lock() {
            work.is_not_idle();
        }
        slot.waits_elsewhere.store(false, Ordering::Relaxed); // as above
    }

    fn break_circles(&self, place: usize) -> bool {
        self.graph.break_circles(place)
    }

    fn is_to_give_way(&self, place: usize) -> bool {
        self.graph.is_doomed(place)
    }

    fn hold(&self, place: usize, holds: bool) {
        // Relaxed: the session's own thread stores and reads it.
        self.slot(place).holds_elsewhere.store(holds, Ordering::Relaxed);
    }
}

impl<L> Slot<L> {
    /// Whether its session holds what others may wait for though all is undone.
    pub(super) fn holds_elsewhere(&self) -> bool {
        self.holds_elsewhere.load(Ordering::Relaxed) // see `hold`
    }
}

impl<L: Locks> Work<L> {
    /// From now on it is counted how long it is idle.
    pub(super) fn is_not_idle(&mut self) {
        let now = Ticks::now();
        (self.idle_since, self.looked_at) = (now, now);
    }
}
