//! A worker's sketch: the locks it waited for most since it was last asked.

/// As many as may be hot with two workers; see [`super::classes::HOT_MAX`].
const COUNTERS: usize = 128;

/// Space-Saving: a lock that is not among those counted takes the place of the least, and its count
/// besides, so that counts are never too low.
#[derive(Default, Debug)]
pub struct Sketch {
    counters: Vec<Counter>,
    /// calls run meanwhile
    pub calls: u32,
}

/// How often a lock was waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    pub lock: u64,
    pub waits: u32,
}

impl Sketch {
    /// Counts a wait.
    pub fn count(&mut self, lock: u64) {
        if let Some(counter) = self.counters.iter_mut().find(|counter| counter.lock == lock) {
            counter.waits = counter.waits.saturating_add(1);
        } else if self.counters.len() < COUNTERS {
            self.counters.push(Counter { lock, waits: 1 });
        } else if let Some(least) = self.counters.iter_mut().min_by_key(|counter| counter.waits) {
            *least = Counter { lock, waits: least.waits.saturating_add(1) };
        }
    }

    /// What was counted; from now on it counts anew.
    pub fn drain(&mut self) -> impl Iterator<Item = Counter> + '_ {
        self.counters.drain(..)
    }
}
