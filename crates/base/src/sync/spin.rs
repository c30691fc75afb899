//! A bounded spin that turns into yielding.
//!
//! Role         loops that wait for a latch held for tens of instructions, and the spin before
//!              every sleep
//! Source       the exponential back-off of crossbeam-utils; we differ: it yields early, because
//!              Hotrow is run with more threads than cores and the holder may not be running

use std::time::Duration;

use super::facade;
use crate::clock::Ticks;
use crate::thread::available_cores;

/// Rounds of doubling pauses before yielding: 1 + 2 + ... + 32 = 63 pauses, about 3 us where one
/// pause takes 140 cycles (Intel since Skylake) and 1 us where it takes 45: longer than any latch
/// is held by a thread that is running, far shorter than a time slice. Not tuned by measurement.
/// Under loom a pause is one more step to permute and shows nothing new, so there is none.
const PAUSE_ROUNDS: u32 = if cfg!(loom) { 0 } else { 6 };

/// Yields between the last pause and sleep. With more threads than cores the one waited for often
/// needs just one turn, and a yield (below 1 us when nobody else wants the core) is cheaper than
/// a sleep and a wake (two system calls and a scheduler's latency, 5 to 50 us). Not measured.
const YIELDS_BEFORE_SLEEP: u32 = if cfg!(loom) { 0 } else { 4 };

/// The waiting state of one spin loop.
#[derive(Debug, Default)]
pub struct SpinWait {
    round: u32,
}

impl SpinWait {
    /// A wait that has not begun.
    #[inline]
    pub const fn new() -> Self {
        Self { round: 0 }
    }

    /// Waits once: a doubling number of pauses first, a yield to other threads later.
    #[inline]
    pub fn wait(&mut self) {
        if self.round >= PAUSE_ROUNDS {
            self.round = self.round.saturating_add(1);
            facade::thread::yield_now();
            return;
        }
        for _ in 0..1u32 << self.round {
            facade::spin_hint();
        }
        self.round += 1;
    }

    /// Whether spinning has lasted long enough that who can sleep had better do so.
    #[inline]
    pub const fn is_over(&self) -> bool {
        self.round >= PAUSE_ROUNDS + YIELDS_BEFORE_SLEEP
    }
}

/// A spin of some length, before a sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spin {
    /// With short pauses: where each thread has a core, and the end is on its way on another one.
    Pausing(Duration),
    /// Giving the core to whoever wants it: where threads outnumber cores. While nobody does, this
    /// spares a sleep and a wake.
    Yielding(Duration),
}

impl Spin {
    /// One look.
    pub const NONE: Self = Self::Pausing(Duration::ZERO);
    /// Going to sleep and being woken costs about as much, twice per hand-over.
    const SPAN_MIN: Duration = Duration::from_micros(50);
    /// How long a thread with a core of its own waits for each of the others before it sleeps: they
    /// may all stand before it, with a transaction's time (10 us here) each. Where one of a queue
    /// sleeps, all behind it wait for his waking, too. On 80 virtual cores (docs/machine.md)
    /// ORTHRUS and deadlock-free locking lost a third to that when nobody waited for longer than
    /// the least.
    const SPAN_PER_THREAD: Duration = Duration::from_micros(10);
    /// Measured in the lock table with 4 to 16 threads on 2 cores, against none: 1.0 to 1.6 times
    /// the throughput on TPC-C, 2 to 3 times on one row; 50 us give half of that.
    const IN_CROWD: Self = Self::Yielding(Duration::from_micros(200));

    /// For one of so many threads that wait for each other, a transaction's length (10 to 50 us
    /// here) at a time. With fewer cores than threads, whoever is waited for may need the core of
    /// who waits, and then a time slice.
    pub fn for_threads(threads: usize) -> Self {
        let cores = available_cores().len();
        if threads > cores {
            return Self::IN_CROWD;
        }
        let queue = Self::SPAN_PER_THREAD.saturating_mul(threads as u32); // at most all cores
        Self::Pausing(queue.max(Self::SPAN_MIN))
    }
}

/// Spins until `attempt` gives something, for the length of `spin` at most.
#[inline]
pub fn spin_for<R>(spin: Spin, mut attempt: impl FnMut() -> Option<R>) -> Option<R> {
    const PAUSES_PER_LOOK: u32 = 8;
    let (Spin::Pausing(span) | Spin::Yielding(span)) = spin;
    let deadline = Ticks::from_now(span);
    loop {
        if let Some(result) = attempt() {
            return Some(result);
        }
        if deadline.has_passed() {
            return None;
        }
        match spin {
            Spin::Pausing(_) => facade::spin_hints(PAUSES_PER_LOOK),
            Spin::Yielding(_) => facade::thread::yield_now(),
        }
    }
}

/// Spins until `attempt` gives something or it is time to sleep: the policy of every sleeping
/// primitive here.
#[inline]
pub fn spin_briefly<R>(mut attempt: impl FnMut() -> Option<R>) -> Option<R> {
    let mut spin = SpinWait::new();
    loop {
        if let Some(result) = attempt() {
            return Some(result);
        }
        if spin.is_over() {
            return None;
        }
        spin.wait();
    }
}
