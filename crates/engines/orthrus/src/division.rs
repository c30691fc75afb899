//! How many threads lock: chosen while they run.
//!
//! Role         a controller as in staged event-driven servers: lock threads that have a queue
//!              and no time left get one more from the execution threads, if those have time to
//!              spare; a lock thread that the others could do without becomes an execution thread,
//!              which saves messages, too. A move that makes throughput worse is taken back, and
//!              the next one waits longer
//! Invariants   I1 each role keeps a thread
//! Source       orthrus.txt 4.2 names SEDA's way of giving threads to stages; rules and bounds are
//!              ours

use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::counters::{Counter, PerWorker};
use hotrow_engine::statistics::{Activity, Statistics, WorkerBooks};

use crate::options::Division;

/// Between two looks at the books: many thousand calls, and a hundred times as long as a move.
pub const WINDOW: Duration = Duration::from_millis(100);
/// A stage whose threads have less than the rest of their time left has none.
const BUSY: f64 = 0.9;
/// A stage has time to spare if with a thread less its threads are busy for less than this.
const SPARE: f64 = 0.7;
/// Messages found waiting, per thread and look, that make a queue.
const QUEUE: f64 = 2.0;
/// What throughput may lose by a move that is not taken back: noise of a window.
const LOSS: f64 = 0.95;
/// The longest rest after a move that was taken back, in windows.
const REST_MAX: u32 = 256;

/// What a thread has found in its rings. One writer.
#[derive(Default, Debug)]
pub struct QueueBooks {
    /// messages that were waiting, over all looks
    pub found: Counter,
    /// looks
    pub looks: Counter,
}

impl QueueBooks {
    /// So many messages were waiting.
    pub fn looked(&self, waiting: usize) {
        self.found.add(waiting as u64);
        self.looks.increment();
    }
}

/// The sums of a stage's books.
#[derive(Clone, Copy, Default, Debug)]
struct Stage {
    threads: usize,
    busy_nanos: u64,
    nanos: u64,
    found: u64,
    looks: u64,
}

impl Stage {
    fn of<'a>(
        threads: impl ExactSizeIterator<Item = (&'a WorkerBooks, &'a QueueBooks)>,
    ) -> (Self, u64) {
        let mut stage = Self { threads: threads.len(), ..Self::default() };
        let mut sum = Statistics::default();
        for (books, queue) in threads {
            sum.add(books);
            stage.found += queue.found.get();
            stage.looks += queue.looks.get();
        }
        stage.nanos = sum.nanos.iter().sum();
        let rest = [Activity::Wait, Activity::Idle].map(|activity| sum.nanos[activity as usize]);
        stage.busy_nanos = stage.nanos - rest.iter().sum::<u64>();
        (stage, sum.committed + sum.user_aborts)
    }

    /// The load since an earlier state of the same books.
    fn since(&self, before: &Self) -> Load {
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        Load {
            threads: self.threads,
            busy: share(self.busy_nanos - before.busy_nanos, self.nanos - before.nanos),
            queue: share(self.found - before.found, self.looks - before.looks),
        }
    }
}

/// What the books say at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    at: Ticks,
    lock: Stage,
    execution: Stage,
    ended: u64,
}

impl Window {
    /// The books of now; the first threads lock.
    pub fn of(
        books: &PerWorker<WorkerBooks>,
        queues: &PerWorker<QueueBooks>,
        lock_threads: usize,
    ) -> Self {
        let all: Vec<_> = books.iter().zip(queues.iter()).collect();
        let (lock, execution) = all.split_at(lock_threads);
        let (lock, _) = Stage::of(lock.iter().copied());
        let (execution, ended) = Stage::of(execution.iter().copied());
        Self { at: Ticks::now(), lock, execution, ended }
    }
}

/// How much a stage has to do.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Load {
    threads: usize,
    /// share of its threads' time
    busy: f64,
    /// messages found waiting, per thread and look
    queue: f64,
}

impl Load {
    fn is_short(&self) -> bool {
        self.busy > BUSY && self.queue > QUEUE
    }

    fn can_spare_one(&self) -> bool {
        let others = self.threads.saturating_sub(1);
        others > 0 && self.busy * (self.threads as f64) < SPARE * others as f64 // I1
    }
}

/// The division at hand, the window that measures it, and the last move until it has proved itself.
#[derive(Debug)]
pub struct Controller {
    division: Division,
    /// the books when the window began
    began: Option<Window>,
    /// the last move, until it has proved itself
    trial: Option<Trial>,
    /// windows to rest
    rest: u32,
    /// windows to rest after the next move that is taken back
    patience: u32,
}

#[derive(Clone, Copy, Debug)]
struct Trial {
    lock_threads: u16,
    rate: f64,
}

impl Controller {
    /// One that has seen nothing.
    pub fn new(division: Division) -> Self {
        Self { division, began: None, trial: None, rest: 0, patience: 4 }
    }

    /// A division begins.
    pub fn begin(&mut self, now: Window) {
        self.began = Some(now);
    }

    /// Whether it is time to judge.
    pub fn is_due(&self) -> bool {
        match self.division {
            Division::Fixed => false,
            Division::Auto => self.began.is_some_and(|began| began.at.elapsed() >= WINDOW),
            Division::Changing => true,
        }
    }

    /// How many threads shall lock instead, if others than `lock_threads` of `threads`.
    pub fn judge(&mut self, now: Window, (lock_threads, threads): (u16, usize)) -> Option<u16> {
        if self.division == Division::Changing {
            return Some(if usize::from(lock_threads) + 1 < threads {
                lock_threads + 1
            } else {
                1
            });
        }
        let began = self.began.replace(now)?;
        let nanos = now.at.nanos_since(began.at).max(1);
        let rate = (now.ended - began.ended) as f64 / nanos as f64;
        let (lock, execution) =
            (now.lock.since(&began.lock), now.execution.since(&began.execution));
        self.decide(lock_threads, rate, lock, execution)
    }

    fn decide(&mut self, lock_threads: u16, rate: f64, lock: Load, execution: Load) -> Option<u16> {
        if let Some(trial) = self.trial.take()
            && rate < trial.rate * LOSS
        {
            self.rest = self.patience;
            self.patience = REST_MAX.min(2 * self.patience);
            return Some(trial.lock_threads);
        }
        if self.rest > 0 {
            self.rest -= 1;
            return None;
        }
        let wanted = if lock.is_short() && execution.can_spare_one() {
            lock_threads + 1
        } else if lock.can_spare_one() {
            lock_threads - 1
        } else {
            return None;
        };
        self.trial = Some(Trial { lock_threads, rate });
        Some(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(threads: usize, busy: f64, queue: f64) -> Load {
        Load { threads, busy, queue }
    }

    #[test]
    fn threads_go_where_they_are_needed() {
        let decide =
            |lock, execution: Load| Controller::new(Division::Auto).decide(2, 1.0, lock, execution);
        assert_eq!(decide(load(2, 0.99, 9.0), load(6, 0.5, 0.1)), Some(3));
        assert_eq!(decide(load(2, 0.30, 0.1), load(6, 0.95, 5.0)), Some(1));
        assert_eq!(decide(load(2, 0.99, 9.0), load(6, 0.95, 5.0)), None, "nobody has time");
        assert_eq!(decide(load(2, 0.99, 0.5), load(6, 0.5, 0.1)), None, "nobody queues");
        assert_eq!(decide(load(2, 0.60, 0.1), load(6, 0.95, 5.0)), None, "one would not do");
        assert_eq!(decide(load(2, 0.20, 0.1), load(6, 0.2, 0.1)), Some(1), "one is enough");
        let last = |lock| Controller::new(Division::Auto).decide(1, 1.0, lock, load(7, 0.95, 5.0));
        assert_eq!(last(load(1, 0.1, 0.0)), None, "the last one stays");
        let other =
            Controller::new(Division::Auto).decide(7, 1.0, load(7, 0.95, 5.0), load(1, 0.1, 0.));
        assert_eq!(other, None, "the last one stays");
    }

    #[test]
    fn a_move_that_makes_it_worse_is_taken_back_and_the_next_one_waits_longer() {
        let mut controller = Controller::new(Division::Auto);
        let (lock, execution) = (load(2, 0.99, 9.0), load(6, 0.5, 0.1));
        let mut rests = Vec::new();
        for _ in 0..3 {
            let mut rest = 0;
            while controller.decide(2, 1.0, lock, execution) != Some(3) {
                rest += 1;
                assert!(rest < 100, "it tries again");
            }
            rests.push(rest);
            assert_eq!(controller.decide(3, 0.9, lock, execution), Some(2), "back");
        }
        assert_eq!(rests, [0, 4, 8]);
    }

    #[test]
    fn a_move_that_helps_stays() {
        let mut controller = Controller::new(Division::Auto);
        assert_eq!(controller.decide(2, 1.0, load(2, 0.99, 9.0), load(6, 0.5, 0.1)), Some(3));
        assert_eq!(controller.decide(3, 1.2, load(3, 0.8, 0.9), load(5, 0.8, 0.1)), None);
        assert_eq!(controller.decide(3, 0.5, load(3, 0.8, 0.9), load(5, 0.8, 0.1)), None);
    }
}
