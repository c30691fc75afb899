//! Ghosts that could not leave their index when their transaction ended, because somebody had
//! locked their keys: a list of what to try again.
//!
//! Role         filled and emptied by transactions at their ends; see
//!              [`in_place::key_ranges`](crate::in_place). A ghost on the list is vacant and needs
//!              no record; one that an insert has used again since is simply dropped from it
//! Invariants   I1 as long as there is a vacant ghost in an index, it is on the list, or the
//!              transaction that owns its key is still running
//! Concurrency  `queue` -> its latch; `length` -> written under it, read by anyone as a hint

use hotrow_base::sync::facade::atomic::{AtomicUsize, Ordering};
use std::collections::VecDeque;
use std::sync::Arc;

use hotrow_base::sync::Latch;
use hotrow_storage::btree::KeyBuffer;
use hotrow_storage::table::Index as StoredIndex;

use crate::protection::KeySpace;

/// How often an empty leaf is tried to be merged. A ghost is tried for ever.
const MERGES_MAX: u8 = 100;

/// A queue under a latch, and its length beside it.
#[derive(Default)]
pub struct Ghosts {
    length: AtomicUsize,
    queue: Latch<Queue>,
}

#[derive(Default)]
struct Queue {
    ghosts: VecDeque<Ghost>,
    /// their keys, one behind the other
    keys: VecDeque<u8>,
}

/// A ghost, but for its key.
#[derive(Clone)]
pub struct Ghost {
    pub(crate) index: Arc<StoredIndex>,
    pub(crate) keys: KeySpace,
    key_bytes: u16,
    merges: u8,
}

impl Ghost {
    pub(crate) fn new(index: &Arc<StoredIndex>, keys: KeySpace) -> Self {
        Self { index: Arc::clone(index), keys, key_bytes: 0, merges: 0 }
    }

    /// The same, but of an empty leaf, once more; none when it was tried often enough.
    pub(crate) fn of_empty_leaf(self) -> Option<Self> {
        let merges = self.merges + 1;
        (merges < MERGES_MAX).then_some(Self { merges, ..self })
    }
}

impl Ghosts {
    /// About how many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.length.load(Ordering::Relaxed) // a hint
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn push(&self, ghost: Ghost, key: &[u8]) {
        let mut queue = self.queue.lock();
        let key_bytes = key.len() as u16; // keys of trees are shorter
        queue.ghosts.push_back(Ghost { key_bytes, ..ghost });
        queue.keys.extend(key);
        self.length.store(queue.ghosts.len(), Ordering::Relaxed);
    }

    pub(crate) fn pop(&self, key: &mut KeyBuffer) -> Option<Ghost> {
        let mut queue = self.queue.lock();
        let ghost = queue.ghosts.pop_front()?;
        let bytes = usize::from(ghost.key_bytes);
        key.copy_from(&queue.keys.make_contiguous()[..bytes]);
        queue.keys.drain(..bytes);
        self.length.store(queue.ghosts.len(), Ordering::Relaxed);
        Some(ghost)
    }
}

#[cfg(test)]
mod tests {
    use hotrow_base::ids::IndexId;
    use hotrow_storage::budget::MemoryBudget;
    use hotrow_storage::table::IndexKind;

    use super::*;

    #[test]
    fn ghosts_come_back_in_order_with_their_keys() {
        let budget = Arc::new(MemoryBudget::unlimited());
        let index = StoredIndex::new(IndexKind::BTree { max_key_bytes: 64 }, budget);
        let index = Arc::new(index.expect("an unlimited budget"));
        let (ghosts, mut key) = (Ghosts::default(), KeyBuffer::new());
        for round in 0..3_u8 {
            for number in 0..50_u8 {
                let ghost = Ghost::new(&index, KeySpace::of(IndexId(number.into()), 0));
                ghosts.push(ghost, &vec![round; number.into()]);
            }
            assert_eq!(ghosts.len(), 50);
            for number in 0..50_u8 {
                let ghost = ghosts.pop(&mut key).expect("50 were put in");
                assert_eq!(ghost.keys, KeySpace::of(IndexId(number.into()), 0));
                assert_eq!(key.as_bytes(), &vec![round; number.into()]);
            }
            assert!(ghosts.is_empty() && ghosts.pop(&mut key).is_none());
        }
    }

    #[test]
    fn an_empty_leaf_is_given_up_some_day() {
        let budget = Arc::new(MemoryBudget::unlimited());
        let index = StoredIndex::new(IndexKind::BTree { max_key_bytes: 64 }, budget);
        let mut ghost =
            Ghost::new(&Arc::new(index.expect("unlimited")), KeySpace::of(IndexId(1), 0));
        let mut times = 0;
        while let Some(again) = ghost.of_empty_leaf() {
            (ghost, times) = (again, times + 1);
        }
        assert_eq!(times, MERGES_MAX - 1);
    }
}
