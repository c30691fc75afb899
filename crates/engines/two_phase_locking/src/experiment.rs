//! Coarse locks alone: what acquiring and releasing them costs, in each form.
//!
//! Role         the experiment behind figure 4 of locking.txt
//! Source       locking.txt 6.3: each transaction takes intent locks on four tables and on what
//!              holds them all, half of them IX and half IS; now and then one takes an absolute
//!              lock instead, X on a table under IX, or (1 in 4) X on everything

use std::ops::Range;
use std::sync::Arc;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::TableId;
use hotrow_base::sync::Barrier;
use hotrow_base::thread::ThreadOptions;
use hotrow_engine::contract::{Experiment, ExperimentOptions, Measured, Unit};
use hotrow_engine::lock_mode::Mode;

use crate::intents::{Coarse, Form, Private, TableLocks};
use crate::lock_table::{LockTable, Owner, Standing};
use crate::policy::Deadlocks;

/// Seconds over the number of absolute locks, a line for each form of intents.
pub const INTENTS: Experiment = Experiment {
    name: "intents",
    summary: "seconds to acquire and release coarse locks, over the number of absolute ones",
    x_axis: "absolute locks of a million transactions",
    unit: Unit::Seconds,
    run: measure,
};

const FORMS: [(&str, Form); 3] = [
    ("intents=plain", Form::Plain),
    ("intents=inherited", Form::Inherited),
    ("intents=lightweight", Form::Lightweight),
];
/// Branch, teller, account, history.
const TABLES: u16 = 4;
/// Absolute locks in so many transactions.
const PER: u64 = 1_000_000;
const ABSOLUTES: [u64; 5] = [0, 10, 100, 1_000, 10_000];

fn measure(options: &ExperimentOptions) -> Vec<Measured> {
    let mut measured = Vec::new();
    for (series, form) in FORMS {
        for absolutes in ABSOLUTES {
            let taken = (absolutes * options.transactions).div_ceil(PER);
            let run = run(form, options, taken);
            assert!(run.absolutes >= taken, "what the figure names was done");
            measured.push(Measured { series, x: absolutes as f64, value: run.seconds });
        }
    }
    measured
}

/// What a run has come to.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// from when the first thread began its first transaction until the last one had ended its last
    seconds: f64,
    /// absolute locks taken
    absolutes: u64,
}

/// Runs transactions, so many of which take an absolute lock.
fn run(form: Form, options: &ExperimentOptions, absolutes: u64) -> Run {
    let threads = options.threads.max(1);
    let table = Arc::new(LockTable::new(threads, Deadlocks::default()));
    let locks = Arc::new(TableLocks::new(Arc::clone(&table), form));
    let barrier = || Arc::new(Barrier::new(threads as u32));
    let (start, end) = (barrier(), barrier());
    let handles: Vec<_> = (0..threads as u64)
        .map(|number| {
            let (locks, start, end) = (Arc::clone(&locks), Arc::clone(&start), Arc::clone(&end));
            // They ask in one order: database, then tables.
            let owner = table.owner(number as usize, Standing::Planned);
            let every = options.transactions.checked_div(absolutes);
            let thread = Client { locks, owner, private: Private::default(), every };
            let at = |number| options.transactions * number / threads as u64;
            let own = at(number)..at(number + 1);
            let spawned = ThreadOptions::named(format!("intents-{number}")).spawn(move || {
                start.wait(|| ());
                thread.run(own, &end)
            });
            spawned.expect("the system can start another thread")
        })
        .collect();
    let ended = handles.into_iter().map(|handle| handle.join());
    let ended: Vec<_> =
        ended.map(|ended| ended.expect("a thread of the experiment ends")).collect();
    // Each thread looks at the clock itself: who starts them all may run when they have long ended.
    let began = ended.iter().map(|ended| ended.began).min().expect("there is a thread");
    let last = ended.iter().map(|ended| ended.ended.nanos_since(began)).max();
    let absolutes = ended.iter().map(|ended| ended.absolutes).sum();
    Run { seconds: last.expect("there is a thread") as f64 / 1e9, absolutes }
}

/// What a thread has done, and when.
struct Ended {
    began: Ticks,
    ended: Ticks,
    absolutes: u64,
}

struct Client {
    locks: Arc<TableLocks>,
    owner: Owner,
    private: Private,
    /// one transaction of so many takes an absolute lock
    every: Option<u64>,
}

impl Client {
    /// Runs some of all transactions.
    fn run(mut self, own: Range<u64>, end: &Barrier) -> Ended {
        let (began, mut absolutes) = (Ticks::now(), 0);
        for at in own {
            self.owner.begin();
            match self.every {
                Some(every) if at % every == every - 1 => {
                    absolutes += 1;
                    self.absolute(at / every);
                }
                _ => self.intents(if at % 2 == 0 { Mode::IX } else { Mode::IS }),
            }
            self.locks.release_all(&mut self.owner, &mut self.private);
        }
        let ended = Ticks::now();
        // What is inherited stands in nobody's way.
        self.take(Coarse::Table(TableId(TABLES)), Mode::X);
        self.locks.release_all(&mut self.owner, &mut self.private);
        self.locks.release_unused(&mut self.owner, &mut self.private);
        end.wait(|| ());
        Ended { began, ended, absolutes }
    }

    fn intents(&mut self, mode: Mode) {
        self.take(Coarse::Database, mode);
        for table in 0..TABLES {
            self.take(Coarse::Table(TableId(table)), mode);
        }
    }

    fn absolute(&mut self, count: u64) {
        if count.is_multiple_of(4) {
            return self.take(Coarse::Database, Mode::X);
        }
        self.take(Coarse::Database, Mode::IX);
        self.take(Coarse::Table(TableId((count % u64::from(TABLES)) as u16)), Mode::X);
    }

    #[inline]
    fn take(&mut self, on: Coarse, mode: Mode) {
        let Self { locks, owner, private, .. } = self;
        if !locks.try_acquire(owner, private, on, mode) {
            let granted = locks.acquire(owner, private, (on, mode), |_| false);
            granted.expect("planned owners are not refused");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_absolute_locks_are_taken_as_were_asked_for() {
        for (_, form) in FORMS {
            for (threads, transactions) in [(1, 6_000), (2, 6_000), (7, 6_001), (60, 6_000)] {
                for absolutes in [0, 1, 10, 1_000] {
                    let options = ExperimentOptions { threads, transactions, seed: 1 };
                    let ran = run(form, &options, absolutes);
                    let at_least = absolutes..=absolutes + absolutes / 100;
                    assert!(at_least.contains(&ran.absolutes), "{form:?}, {options:?}: {ran:?}");
                }
            }
        }
    }
}
