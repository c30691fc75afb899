//! Which keys that a session reads it will most probably change.
//!
//! Role         a session that reads a row in a transaction of several statements and changes it
//!              later is in the way of all others who have read it and want to change it, and they
//!              in its own: all but one of them are undone. If the first read locks as only one can
//!              who may change it ([`Mode::UN`](hotrow_engine::lock_mode::Mode::UN)), the others
//!              wait where they have done nothing yet. Statements do not say what comes next, so it
//!              is learnt, by index, from what transactions did with single keys that they read
//! States       of an index: a score between 0 and [`WHOLE`]; a key that is read moves it towards
//!              0, one that is changed after it was read towards the whole. Of all keys that were
//!              read a third or so must have been changed for the score to stand above the half
//! Invariants   I1 it decides between two locks under which the same is read: a wrong guess costs
//!              waiting, or a deadlock, and never the truth
//! Concurrency  scores -> stored by any session, without order: a count that is lost is a count
//!              more that it takes to learn. Once something is expected one transaction in a few
//!              tells, so that not all write what all read
//! Source       update locks: System R (Gray); they are asked for by hand there (FOR UPDATE)

use std::sync::atomic::{AtomicU32, Ordering};

use hotrow_base::ids::IndexId;

/// Indexes whose numbers differ by a multiple share a score.
const INDEXES: usize = 256;
const WHOLE: u32 = 1 << 16;
/// Below it nothing is expected, and every transaction tells.
const LITTLE: u32 = WHOLE / 2;
/// A key that is read takes this part off the score.
const READ_PART: u32 = 16;
/// One that is changed makes up for this part of what is missing: more, since each was read before.
const CHANGED_PART: u32 = 8;

/// See the module.
#[derive(Debug)]
pub(crate) struct Foresight {
    scores: Box<[AtomicU32]>,
}

impl Default for Foresight {
    fn default() -> Self {
        Self { scores: (0..INDEXES).map(|_| AtomicU32::new(0)).collect() }
    }
}

impl Foresight {
    /// Whether a key of the index that is read will most probably be changed.
    pub(crate) fn expects_change(&self, index: IndexId) -> bool {
        self.score(index).load(Ordering::Relaxed) >= LITTLE // a hint (I1)
    }

    /// Notes that a key was read, if it is a transaction's `turn` to tell or little is known.
    pub(crate) fn note_read(&self, index: IndexId, turn: bool) {
        let score = self.score(index);
        let known = score.load(Ordering::Relaxed); // a hint (I1)
        if known > 0 && (turn || known < LITTLE) {
            score.store(known - known.div_ceil(READ_PART), Ordering::Relaxed);
        }
    }

    /// As [`Foresight::note_read`], that a key is changed that was read before.
    pub(crate) fn note_change(&self, index: IndexId, turn: bool) {
        let score = self.score(index);
        let known = score.load(Ordering::Relaxed); // a hint (I1)
        if turn || known < LITTLE {
            score.store(known + (WHOLE - known) / CHANGED_PART, Ordering::Relaxed);
        }
    }

    fn score(&self, index: IndexId) -> &AtomicU32 {
        &self.scores[index.index() % INDEXES]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: IndexId = IndexId(3);

    #[test]
    fn what_is_always_changed_after_it_was_read_is_foreseen_after_a_few_times() {
        let foresight = Foresight::default();
        let mut times = 0;
        while !foresight.expects_change(INDEX) {
            foresight.note_read(INDEX, true);
            foresight.note_change(INDEX, true);
            times += 1;
            assert!(times < 10);
        }
        assert!(!foresight.expects_change(IndexId(4)), "of another index nothing is known");
    }

    #[test]
    fn what_is_mostly_only_read_is_not() {
        let foresight = Foresight::default();
        for _ in 0..100 {
            (0..5).for_each(|_| foresight.note_read(INDEX, true));
            foresight.note_change(INDEX, true);
        }
        assert!(!foresight.expects_change(INDEX));
        (0..100).for_each(|_| foresight.note_change(INDEX, true));
        assert!(foresight.expects_change(INDEX));
        (0..1000).for_each(|_| foresight.note_read(INDEX, true));
        assert!(!foresight.expects_change(INDEX), "what was so once is forgotten");
    }
}
