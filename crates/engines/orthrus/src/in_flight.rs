//! How many calls an execution thread has on their way.
//!
//! Role         more of them hide the way to the lock threads and back. Too many hold locks while
//!              they wait for their execution thread; and where most wait for locks that others
//!              hold, more of them only make the queues longer
//! Source       orthrus.txt 3.3 (asynchronous requests, and that they lengthen lock holding). The
//!              paper has no bound; the rules are ours

use crate::options::Settings;

/// The fewest, where their number adapts, at first and when locks are not what is waited for.
const MIN: usize = 2;
/// A share of calls, in this many parts.
const WHOLE: u32 = 1 << 10;
/// So many calls ago a call counts a third of what the last one does.
const MEMORY: u32 = 32;
/// So many that hold everything may wait for the thread: its next turn's.
const WAITING_MAX: usize = 4;
/// Messages that lock threads have not taken from which on it is they who are behind.
const BACKLOG_MIN: usize = 4;

/// The bound.
#[derive(Debug)]
pub struct InFlight {
    bound: usize,
    most: usize,
    adapts: bool,
    /// the share of calls that had to wait for locks lately
    contended: u32,
}

impl InFlight {
    /// The bound of a thread that begins.
    pub fn new(settings: &Settings) -> Self {
        let most = settings.in_flight.into();
        let bound = if settings.adapts { MIN.min(most) } else { most };
        Self { bound, most, adapts: settings.adapts, contended: 0 }
    }

    /// How many more may be sent off, with so many on their way.
    pub fn room(&self, on_their_way: usize) -> usize {
        self.bound.saturating_sub(on_their_way)
    }

    /// A call has come back, and had to wait for a lock or not.
    pub fn came_back(&mut self, had_to_wait: bool) {
        let now = if had_to_wait { WHOLE } else { 0 };
        self.contended = self.contended - self.contended / MEMORY + now / MEMORY;
    }

    /// Whether most calls wait for locks.
    pub fn is_contended(&self) -> bool {
        self.contended > WHOLE / 2
    }

    /// The thread has nothing to do with as many on their way as may be, and lock threads have so
    /// many messages to take.
    pub fn waited(&mut self, backlog: impl FnOnce() -> usize) {
        if !self.adapts {
            return;
        }
        if self.is_contended() {
            self.bound = 1.max(self.bound - 1);
        } else if self.bound < self.most && backlog() < BACKLOG_MIN {
            self.bound += 1;
        }
    }

    /// So many hold everything, and wait for the thread.
    pub fn found(&mut self, waiting: usize) {
        if self.adapts && waiting > WAITING_MAX && self.bound > MIN {
            self.bound -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use hotrow_engine::contract::EngineOptions;

    use super::*;

    fn in_flight(value: &str) -> InFlight {
        let settings = [("in_flight".to_owned(), value.to_owned())].into();
        let options = EngineOptions { threads: 2, settings, ..EngineOptions::default() };
        InFlight::new(&Settings::read(&options).expect("a legal value"))
    }

    #[test]
    fn the_bound_grows_while_the_thread_waits_and_shrinks_while_calls_wait_for_it() {
        let mut bound = in_flight("auto");
        assert_eq!(bound.room(0), 2);
        (0..5).for_each(|_| bound.waited(|| 0));
        assert_eq!((bound.room(0), bound.room(6), bound.room(9)), (7, 1, 0));
        bound.waited(|| 9);
        assert_eq!(bound.room(0), 7, "lock threads are behind: more would only queue there");
        bound.found(4);
        assert_eq!(bound.room(0), 7, "they are the next turn's");
        (0..100).for_each(|_| bound.found(5));
        assert_eq!(bound.room(0), 2);
        (0..100).for_each(|_| bound.waited(|| 0));
        assert_eq!(bound.room(0), 64);
    }

    #[test]
    fn where_most_calls_wait_for_locks_there_are_few() {
        let mut bound = in_flight("auto");
        for _ in 0..100 {
            bound.waited(|| 0);
            bound.came_back(true);
        }
        assert_eq!(bound.room(0), 1);
        (0..100).for_each(|_| bound.came_back(false));
        (0..5).for_each(|_| bound.waited(|| 0));
        assert_eq!(bound.room(0), 6, "that has passed");
    }

    #[test]
    fn a_bound_that_was_set_stays() {
        let mut bound = in_flight("5");
        bound.waited(|| 0);
        bound.found(1000);
        assert_eq!(bound.room(0), 5);
    }
}
