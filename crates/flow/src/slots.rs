//! Locks on the slots of rows: the central lock table of dora.txt 4.2.1.
//!
//! Role         of engines whose threads lock their own data by themselves, and still have to keep
//!              others' rows out of a slot whose row may come back
//! Invariants   I1 a slot is locked exclusively, from the insert or delete until its call has ended
//!              I2 nobody ever waits here: a slot is given to another row only when the epoch is
//!              safe in which the commit, or the undo, has freed it, and who has freed it is pinned
//!              until it has let go of the lock
//! Concurrency  buckets -> latched, one at a time, by any thread
//! Source       dora.txt 4.2.1. Its storage manager may give a slot away before the delete that
//!              freed it has committed; ours does not (I2), so that these locks are not needed, and
//!              are there to be counted (figure 7)

use crossbeam_utils::CachePadded;
use hotrow_base::ids::TableId;
use hotrow_base::sync::Latch;
use hotrow_engine::in_place::Scratch;
use hotrow_log::position::Position;
use hotrow_transaction::granule::{self, LockMode, LockRequest, Space};

use crate::lock_space::{LockSpace, Requester};

/// Latched parts of the table: a power of two. Calls that insert meet in one of them now and then.
const PARTS: usize = 1 << 6;
/// Buckets of a part, and locks that are usual at a time.
const BUCKETS: usize = 1 << 6;
const USUAL: usize = 1 << 4;

/// One lock space for all threads, in parts by the number of the slot.
pub struct SlotLocks {
    parts: Box<[CachePadded<Latch<LockSpace<Locker>>>]>,
}

/// A lock that is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeldSlot {
    lock: u64,
    grant: u32,
}

/// Who asks for one slot.
struct Locker(HeldSlot);

impl Requester for Locker {
    fn wanted(&self) -> impl Iterator<Item = LockRequest> + Clone {
        std::iter::once(LockRequest::new(self.0.lock, LockMode::Exclusive))
    }

    fn enter(&mut self, grant: u32) {
        self.0.grant = grant;
    }

    /// Slots order nothing: who comes to one has met whoever had it at the granules of rows.
    fn meet(&mut self, _: Position) {}

    fn wait(&mut self, _: u64) {}

    fn hold(&mut self) {}
}

impl Default for SlotLocks {
    fn default() -> Self {
        let part = |_| CachePadded::new(Latch::new(LockSpace::new(BUCKETS, USUAL)));
        Self { parts: (0..PARTS).map(part).collect() }
    }
}

impl SlotLocks {
    /// Locks the slots of rows that a call has put somewhere, or taken away, behind its first
    /// changes; how many more it has then.
    pub fn lock_since(&self, changes: usize, scratch: &Scratch, held: &mut Vec<HeldSlot>) -> usize {
        let before = held.len();
        scratch.slots_since(changes).for_each(|(table, row)| self.lock(table, row.bits(), held));
        held.len() - before
    }

    /// Locks the slot of a row of a table, if it is not among those `held`, which it then is.
    ///
    /// # Panics
    ///
    /// If another call holds it (I2).
    pub fn lock(&self, table: TableId, slot: u64, held: &mut Vec<HeldSlot>) {
        let lock = Space::Table(table).lock_id(&slot.to_be_bytes());
        if held.iter().any(|held| held.lock == lock) {
            return;
        }
        let asked = self.part(lock).lock().ask(Locker(HeldSlot { lock, grant: 0 }));
        let Ok(Locker(own)) = asked else { panic!("I2: slot {slot} of {table:?} is another's") };
        held.push(own);
    }

    /// Lets go of all that is held.
    pub fn release(&self, held: &mut Vec<HeldSlot>) {
        for HeldSlot { lock, grant } in held.drain(..) {
            self.part(lock).lock().release(grant, Position::default(), &mut Vec::new());
        }
    }

    /// Whether nobody holds anything.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.lock().is_empty())
    }

    fn part(&self, lock: u64) -> &Latch<LockSpace<Locker>> {
        // The low bits choose the bucket.
        &self.parts[(granule::lock_hash(lock) >> 32) as usize & (PARTS - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(3);

    #[test]
    fn a_slot_is_locked_once_by_a_call_and_free_when_it_has_ended() {
        let slots = SlotLocks::default();
        let (mut one, mut other) = (Vec::new(), Vec::new());
        for slot in 0..1_000 {
            slots.lock(TABLE, slot, &mut one);
            slots.lock(TABLE, slot, &mut one);
        }
        slots.lock(TableId(4), 7, &mut other);
        assert_eq!((one.len(), other.len()), (1_000, 1));
        slots.release(&mut one);
        slots.lock(TABLE, 7, &mut other);
        slots.release(&mut other);
        assert!(slots.is_empty() && one.is_empty());
    }

    #[test]
    #[should_panic(expected = "I2")]
    fn a_slot_that_is_given_away_too_early_is_noticed() {
        let slots = SlotLocks::default();
        slots.lock(TABLE, 7, &mut Vec::new());
        slots.lock(TABLE, 7, &mut Vec::new());
    }
}
