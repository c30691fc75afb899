//! The waiting cell: where one owner learns what became of its request, and what others may know
//! of its transaction.
//!
//! Role         one per owner; it waits for one request at a time
//! States       undecided -> granted | refused; the owner goes back to undecided with its next
//!              request. Beside that a transaction may be *doomed* by another one, at any time
//! Concurrency  verdict -> reset by the owner and decided by whoever grants, both with the
//!              bucket's latch of that request held, so that they never race; read by the owner
//!              without it.
//!
//!  - W1  `decide` stores **Release**, the owner's wait loads **Acquire**: what the previous holder
//!    did is seen.
//!  - W2  age, sequence, completed, party -> written by the owner between its transactions; read
//!    by others as hints (a victim chosen by an old age is a poor choice, not a wrong one; of a
//!    transaction that has ended by its number a waiting owner learns later), or, for the age
//!    rules, under the latch of a bucket that holds one of its requests: ordered by that latch
//!  - W3  doomed -> the sequence number of a transaction that shall be undone, so that a doom that
//!    comes too late hits nobody; written by anybody, read by the owner
//!  - W4  part, set -> whom the owner waits for (its part of the wait-for graph, or a dreadlocks
//!    digest), see [`hotrow_flow::deadlock`]
//!  - W5  counters -> those of the table locks that a session's transaction holds, a bit each;
//!    written by the owner, read as hints by who looks again and again
//!  - W6  generation -> written by the owner when it holds nothing and waits for nothing; read by
//!    who follows edges to it (G1 of [`hotrow_flow::deadlock::graph`])

use hotrow_base::sync::facade::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use hotrow_base::clock::Ticks;
use hotrow_base::sync::{Parker, Spin};
use hotrow_engine::source::Bell;
use hotrow_engine::waits::Party;
use hotrow_flow::deadlock::Waiter;
use hotrow_flow::deadlock::graph::Part;

const UNDECIDED: u32 = 0;
const GRANTED: u32 = 1;
const REFUSED: u32 = 2;

/// How a wait ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// the lock is held
    Granted,
    /// the policy takes the request back
    Refused,
}

/// Counters of table locks; see [`crate::intents`].
pub const COUNTERS: usize = 256;

/// Words that a set takes in memory are a multiple of this many, so that no line has words of two
/// owners' sets.
const SET_WORDS: usize = 16;

/// One owner's cell, on cache lines of its own.
#[derive(Debug)]
pub struct WaitingCell {
    verdict: AtomicU32,
    sequence: AtomicU32,
    doomed: AtomicU32,
    outdated: AtomicBool,
    is_planned: AtomicBool,
    age: AtomicU64,
    completed: AtomicU64,
    party: AtomicU32,
    waits_for: AtomicU64,
    generation: AtomicU32,
    part: Part,
    /// of who has nobody sleep here
    bell: OnceLock<Arc<dyn Bell>>,
    set: Box<[AtomicU64]>,
    /// of which only so many count
    set_words: usize,
    counters: [AtomicU64; COUNTERS / 64],
    parker: Parker,
}

impl WaitingCell {
    /// A cell among those of so many owners, whose set of owners has so many words.
    pub fn new(owners: usize, words: usize) -> Self {
        Self {
            verdict: AtomicU32::new(UNDECIDED),
            sequence: AtomicU32::new(1),
            doomed: AtomicU32::new(0),
            outdated: AtomicBool::new(false),
            is_planned: AtomicBool::new(false),
            age: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            party: AtomicU32::new(Party::Unknown.to_word()),
            waits_for: AtomicU64::new(0),
            generation: AtomicU32::new(0),
            part: Part::new(owners),
            bell: OnceLock::new(),
            set: (0..words.next_multiple_of(SET_WORDS)).map(|_| AtomicU64::new(0)).collect(),
            set_words: words,
            counters: Default::default(),
            parker: Parker::default(),
        }
    }

    /// Makes ready for a request. Under the latch of its bucket.
    #[inline]
    pub fn reset(&self) {
        self.verdict.store(UNDECIDED, Ordering::Relaxed); // ordered by the latch
    }

    /// Decides the request. Under the latch of its bucket; [`WaitingCell::wake`] follows.
    pub fn decide(&self, verdict: Verdict) {
        let word = match verdict {
            Verdict::Granted => GRANTED,
            Verdict::Refused => REFUSED,
        };
        self.verdict.store(word, Ordering::Release); // W1
    }

    /// What became of the request, if that is decided.
    #[inline]
    pub fn verdict(&self) -> Option<Verdict> {
        match self.verdict.load(Ordering::Acquire) {
            UNDECIDED => None, // Acquire: W1
            GRANTED => Some(Verdict::Granted),
            _ => Some(Verdict::Refused),
        }
    }

    /// Wakes the owner if it sleeps. It may have gone on long ago: then it is woken in vain, or
    /// not at all.
    pub fn wake(&self) {
        match self.bell.get() {
            Some(bell) => bell.ring(),
            None => self.parker.notify(),
        }
    }

    /// Has somebody called when the owner is woken, who looks at what many owners wait for.
    pub fn set_bell(&self, bell: Arc<dyn Bell>) {
        let _ = self.bell.set(bell); // one thread's, for as long as the table lives
    }

    /// Waits until the request is decided, the transaction is doomed, its digest is outdated, or
    /// the deadline has passed: spins, then sleeps. Only the owner calls this.
    pub fn wait(&self, spin: Spin, deadline: Option<Ticks>) {
        let is_over = || self.verdict().is_some() || self.is_doomed() || self.is_outdated();
        self.parker.spin_then_wait(spin, deadline, is_over);
    }

    /// Has the owner undo the transaction that it runs now. [`WaitingCell::wake`] follows.
    pub fn doom(&self) {
        self.doom_transaction(self.sequence());
    }

    /// Has the owner undo a transaction, if it still runs that one: who has looked without a latch
    /// may be late. [`WaitingCell::wake`] follows.
    pub fn doom_transaction(&self, number: u32) {
        self.doomed.store(number, Ordering::Relaxed); // W3
    }

    /// Begins a transaction, which nobody has doomed.
    #[inline]
    pub fn begin(&self) {
        // 0 is nobody's number. Relaxed: W2; only the owner counts.
        let next = self.sequence().wrapping_add(1).max(1);
        self.sequence.store(next, Ordering::Relaxed);
    }

    /// The number of the owner's transaction.
    #[inline]
    pub fn sequence(&self) -> u32 {
        self.sequence.load(Ordering::Relaxed) // W2
    }

    /// Begins the owner's next generation, whose number is given back.
    #[inline]
    pub fn renew(&self) -> u32 {
        // Relaxed: W6. Whoever has seen a request of the new one has it from a latch.
        let next = self.generation.load(Ordering::Relaxed).wrapping_add(1);
        self.generation.store(next, Ordering::Relaxed);
        next
    }

    /// Makes the owner's transactions planned ones: they are older than all others and never
    /// undone.
    pub fn set_planned(&self, is_planned: bool) {
        self.is_planned.store(is_planned, Ordering::Relaxed); // W2
    }

    /// Whether the owner's transactions are planned ones.
    #[inline]
    pub fn is_planned(&self) -> bool {
        self.is_planned.load(Ordering::Relaxed) // W2
    }

    /// When the owner's transaction began; lower is older.
    #[inline]
    pub fn age(&self) -> u64 {
        self.age.load(Ordering::Relaxed) // W2
    }

    /// Sets the age of the owner's transaction.
    #[inline]
    pub fn set_age(&self, age: u64) {
        self.age.store(age, Ordering::Relaxed); // W2
    }

    /// How many transactions of the owner's flush pipeline have finished.
    pub fn completed(&self) -> u64 {
        self.completed.load(Ordering::Relaxed) // W2
    }

    /// Sets how many transactions of the owner's flush pipeline have finished.
    #[inline]
    pub fn set_completed(&self, completed: u64) {
        self.completed.store(completed, Ordering::Relaxed); // W2
    }

    /// What the owner's transaction is.
    pub fn party(&self) -> Party {
        Party::from_word(self.party.load(Ordering::Relaxed)) // W2
    }

    /// Says what the owner's transaction is.
    #[inline]
    pub fn set_party(&self, party: Party) {
        self.party.store(party.to_word(), Ordering::Relaxed); // W2
    }

    /// The lock for which the owner has last waited: a hint, which its bucket corrects.
    pub fn waits_for(&self) -> u64 {
        self.waits_for.load(Ordering::Relaxed)
    }

    /// Says for which lock the owner waits.
    pub fn set_waits_for(&self, lock: u64) {
        self.waits_for.store(lock, Ordering::Relaxed); // see `waits_for`
    }

    /// Notes that the owner's transaction holds a lock by a counter.
    pub fn add_counter(&self, counter: usize) {
        let word = &self.counters[counter / 64];
        // Relaxed: W5; only the owner writes.
        word.store(word.load(Ordering::Relaxed) | 1 << (counter % 64), Ordering::Relaxed);
    }

    /// It holds none any more.
    pub fn clear_counters(&self) {
        self.counters.iter().for_each(|word| word.store(0, Ordering::Relaxed)); // W5
    }

    /// The counters by which the owner's transaction holds locks, and perhaps some by which it did.
    pub fn counters(&self) -> impl Iterator<Item = usize> {
        self.counters.iter().enumerate().flat_map(|(at, word)| {
            let bits = word.load(Ordering::Relaxed); // W5
            (0..64).filter(move |bit| bits >> bit & 1 != 0).map(move |bit| at * 64 + bit)
        })
    }
}

impl Waiter for WaitingCell {
    #[inline]
    fn part(&self) -> &Part {
        &self.part
    }

    #[inline]
    fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed) // W6
    }

    #[inline]
    fn set(&self) -> &[AtomicU64] {
        &self.set[..self.set_words]
    }

    #[inline]
    fn is_doomed(&self) -> bool {
        // Relaxed: nothing else is learnt from it (W3).
        self.doomed.load(Ordering::Relaxed) == self.sequence()
    }

    #[inline]
    fn is_outdated(&self) -> bool {
        self.outdated.load(Ordering::Relaxed) // a hint: it only saves false deadlocks
    }

    #[inline]
    fn set_outdated(&self, outdated: bool) {
        // As above; written only where it changes, because others look at this line.
        if self.outdated.load(Ordering::Relaxed) != outdated {
            self.outdated.store(outdated, Ordering::Relaxed);
        }
    }
}
