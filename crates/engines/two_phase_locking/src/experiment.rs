//! Coarse locks alone: what acquiring and releasing them costs, in each form.
//!
//! Role         the experiment behind figure 4 of locking.txt
//! Source       locking.txt 6.3: each transaction takes intent locks on four tables and on what
//!              holds them all, half of them IX and half IS; now and then one takes an absolute
//!              lock instead, X on a table under IX, or (1 in 4) X on everything

use std::sync::Arc;
use std::sync::Barrier;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::TableId;
use hotrow_base::thread::ThreadOptions;
use hotrow_engine::contract::{Experiment, ExperimentOptions, Measured, Unit};
use hotrow_engine::lock_mode::Mode;

use crate::intents::{Coarse, Form, Private, TableLocks};
use crate::lock_table::{LockTable, Owner, Standing};
use crate::policy::Deadlocks;

/// See the module.
pub const INTENTS: Experiment = Experiment {
    name: "intents",
    summary: "seconds to acquire and release coarse locks, over the number of absolute ones",
    x_axis: "absolute locks",
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
/// Absolute locks in a run.
const ABSOLUTES: [u64; 5] = [0, 10, 100, 1_000, 10_000];

fn measure(options: &ExperimentOptions) -> Vec<Measured> {
    let mut measured = Vec::new();
    for (series, form) in FORMS {
        for absolutes in ABSOLUTES {
            let value = run(form, options, absolutes.min(options.transactions));
            measured.push(Measured { series, x: absolutes as f64, value });
        }
    }
    measured
}

/// Seconds of one run.
fn run(form: Form, options: &ExperimentOptions, absolutes: u64) -> f64 {
    let threads = options.threads.max(1);
    let table = Arc::new(LockTable::new(threads, Deadlocks::default()));
    let locks = Arc::new(TableLocks::new(Arc::clone(&table), form));
    let (start, end) = (Arc::new(Barrier::new(threads + 1)), Arc::new(Barrier::new(threads)));
    let transactions = options.transactions / threads as u64;
    let handles: Vec<_> = (0..threads)
        .map(|number| {
            let (locks, start, end) = (Arc::clone(&locks), Arc::clone(&start), Arc::clone(&end));
            // They ask in one order: database, then tables.
            let owner = table.owner(number, Standing::Planned);
            let every = (options.transactions).checked_div(absolutes);
            let thread = Client { locks, owner, private: Private::default(), every };
            let spawned = ThreadOptions::named(format!("intents-{number}")).spawn(move || {
                start.wait();
                thread.run(number as u64, transactions, &end);
            });
            spawned.expect("the system can start another thread")
        })
        .collect();
    start.wait();
    let started = Ticks::now();
    for handle in handles {
        handle.join().expect("a thread of the experiment ends");
    }
    Ticks::now().nanos_since(started) as f64 / 1e9
}

struct Client {
    locks: Arc<TableLocks>,
    owner: Owner,
    private: Private,
    /// one transaction of so many takes an absolute lock
    every: Option<u64>,
}

impl Client {
    fn run(mut self, number: u64, transactions: u64, end: &Barrier) {
        for at in 0..transactions {
            self.owner.begin();
            let place = at + number;
            match self.every {
                Some(every) if place % every == every - 1 => self.absolute(place / every),
                _ => self.intents(if at % 2 == 0 { Mode::IX } else { Mode::IS }),
            }
            self.locks.release_all(&mut self.owner, &mut self.private);
        }
        // What is inherited stands in nobody's way.
        self.take(Coarse::Table(TableId(TABLES)), Mode::X);
        self.locks.release_all(&mut self.owner, &mut self.private);
        self.locks.release_unused(&mut self.owner, &mut self.private);
        end.wait();
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
