//! Which keys that a session reads it will most probably change.
//!
//! Role         a session that reads a row in a transaction of several statements and changes it
//!              later is in the way of all others who have read it and want to change it, and they
//!              in its own: all but one of them are undone. If the first read locks as only one can
//!              who may change it ([`Mode::UN`](hotrow_engine::lock_mode::Mode::UN)), the others
//!              wait where they have done nothing yet. Statements do not say what comes next, so it
//!              is learnt, by index, from what transactions did with single keys that they read
//! States       of an index: a score between 0 and [`WHOLE`]; a transaction that commits moves it,
//!              for each key that it read by itself: towards the whole if it changed that later,
//!              else towards 0. Nothing is told before the end: of many transactions at a time,
//!              most have read and not yet changed
//! Invariants   I1 it decides between two locks under which the same is read: a wrong guess costs
//!              waiting, or a deadlock, and never the truth
//! Concurrency  scores -> stored by any session, without order: a count that is lost is a count
//!              more that it takes to learn. Once something is expected one transaction in a few
//!              tells, so that not all write what all read
//! Source       update locks: System R (Gray); they are asked for by hand there (FOR UPDATE)

use hotrow_base::sync::facade::atomic::{AtomicU32, Ordering};

use hotrow_base::ids::IndexId;

/// Indexes whose numbers differ by a multiple share a score.
const INDEXES: usize = 256;
const WHOLE: u32 = 1 << 16;
/// Below it nothing is expected, and every transaction tells.
const LITTLE: u32 = WHOLE / 2;
/// One key moves the score by this part of what is missing to where it moves.
const PART: u32 = 16;
/// As long as little is known it is learnt faster.
const FIRST_PART: u32 = 6;
/// Keys of one transaction that count.
const KEYS_MAX: u32 = 16;
/// Indexes of which one transaction tells.
const INDEXES_TOLD: usize = 16;

/// What one transaction has done with keys of an index that it read by themselves.
#[derive(Clone, Copy, Debug)]
struct Done {
    index: IndexId,
    read: u32,
    /// of these
    changed: u32,
}

/// What one transaction is going to tell when it commits.
#[derive(Default, Debug)]
pub(crate) struct Notes {
    done: Vec<Done>,
}

impl Notes {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.done.clear();
    }

    /// A key was read.
    pub(crate) fn read(&mut self, index: IndexId) {
        match self.done.iter().position(|done| done.index == index) {
            Some(at) => self.done[at].read += 1,
            None if self.done.len() == INDEXES_TOLD => {}
            None => self.done.push(Done { index, read: 1, changed: 0 }),
        }
    }

    /// A key is changed that was read.
    pub(crate) fn change(&mut self, index: IndexId) {
        if let Some(done) = self.done.iter_mut().find(|done| done.index == index) {
            done.changed = done.read.min(done.changed + 1);
        }
    }
}

/// Scores in one table, shared by all sessions.
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

    /// Learns from a transaction that has committed.
    pub(crate) fn learn(&self, notes: &mut Notes) {
        for Done { index, read, changed } in notes.done.drain(..) {
            let score = self.score(index);
            let mut known = score.load(Ordering::Relaxed); // a hint (I1)
            for _ in 0..(read - changed).min(KEYS_MAX) {
                known -= known.div_ceil(PART).min(known);
            }
            for _ in 0..changed.min(KEYS_MAX) {
                known += (WHOLE - known) / if known < LITTLE { FIRST_PART } else { PART };
            }
            score.store(known, Ordering::Relaxed);
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

    /// A transaction that reads so many keys and changes so many of them.
    fn learn(foresight: &Foresight, read: u32, changed: u32) {
        let mut notes = Notes::default();
        (0..read).for_each(|_| notes.read(INDEX));
        (0..changed).for_each(|_| notes.change(INDEX));
        foresight.learn(&mut notes);
    }

    #[test]
    fn what_is_always_changed_after_it_was_read_is_foreseen_after_a_few_times() {
        let foresight = Foresight::default();
        let mut times = 0;
        while !foresight.expects_change(INDEX) {
            learn(&foresight, 1, 1);
            times += 1;
            assert!(times < 10);
        }
        assert!(!foresight.expects_change(IndexId(4)), "of another index nothing is known");
        (0..1000).for_each(|_| learn(&foresight, 1, 1));
        (0..5).for_each(|_| learn(&foresight, 1, 0));
        assert!(foresight.expects_change(INDEX), "some that only read change nothing of it");
    }

    #[test]
    fn what_is_mostly_only_read_is_not() {
        let foresight = Foresight::default();
        (0..100).for_each(|_| learn(&foresight, 5, 1));
        assert!(!foresight.expects_change(INDEX));
        (0..100).for_each(|_| learn(&foresight, 1, 1));
        assert!(foresight.expects_change(INDEX));
        learn(&foresight, 1_000_000, 0);
        assert!(!foresight.expects_change(INDEX), "what was so once is forgotten");
    }
}
