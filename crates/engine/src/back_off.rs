//! Waiting a random while after a conflict, so that the same transactions do not meet again.
//!
//! Role         used between two attempts of a call, with nothing held
//! Source       binary exponential back-off. We differ: it never spins but gives the core away at
//!              once, because the transaction in the way may need it (more threads than cores)

use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::thread;

/// Longest wait of the first repetition: a few short transactions. Not tuned by measurement.
const FIRST_US: u64 = 2;
/// The longest wait is doubled this many times at most: 2 us x 2^9, about 1 ms.
const DOUBLINGS_MAX: u32 = 9;
/// From here on sleeping is worth its system calls and the clock's slack (about 50 us on Linux).
const SLEEP_MIN: Duration = Duration::from_micros(100);

/// A sequence of random numbers, one worker's own.
#[derive(Debug)]
pub struct BackOff {
    random: u64,
}

impl BackOff {
    /// A back-off with its own sequence of random numbers.
    pub fn new(seed: u64) -> Self {
        // Odd multiplier: different seeds stay different, and the state is never 0.
        Self { random: (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    /// Waits; `attempts` were undone before this one.
    pub fn wait(&mut self, attempts: u32) {
        let span = self.span(attempts);
        if span >= SLEEP_MIN {
            return thread::sleep(span);
        }
        let deadline = Ticks::from_now(span);
        thread::yield_now();
        while !deadline.has_passed() {
            thread::yield_now();
        }
    }

    /// A random span below the limit that `attempts` sets.
    fn span(&mut self, attempts: u32) -> Duration {
        let limit_ns = (FIRST_US * 1000) << attempts.min(DOUBLINGS_MAX);
        Duration::from_nanos(self.next_random() % limit_ns)
    }

    /// Xorshift64 (Marsaglia 2003).
    fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

#[cfg(test)]
mod tests;
