//! Heat: which locks are waited for most, and the order of acquisition that follows.
//!
//! Role         workers tell which locks they waited for ([`Heat::waited_for`]); whoever comes by
//!              first when it is time ([`Heat::keep`]) sums it up and, where that changes who is
//!              hot, puts new [`Classes`] in force
//! States       a lock: cold (class 0, and nobody remembers it) -> warm (waited for now and then)
//!              -> hot (class 1 and up, by how often) -> cold again
//! Invariants   I1 classes change only at a quiet point: all transactions that hold or wait for
//!              locks at the same time use the same classes, and so the same order
//!              I2 a class is a function of the lock's identity and the classes in force, whatever
//!              else is known of the lock
//! Source       DESIGN section 1 ("hot last"); the top of a stream in small memory: Metwally et al.
//!              2005, "Efficient Computation of Frequent and Top-k Elements" (Space-Saving)
//! Concurrency  a sketch -> latched by its worker, only when it has waited, and by who sums up;
//!              `classes` -> replaced at quiet points; `version` tells a worker that its copy is
//!              old, as [`SharedSchema::generation`] does of schemas

mod classes;
mod keeper;
mod sketch;

use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_utils::CachePadded;
use hotrow_base::clock::Ticks;
use hotrow_base::sync::Latch;
use hotrow_engine::schema::SharedSchema;

pub use classes::{Class, Classes};
use keeper::Keeper;
use sketch::Sketch;

/// How often heat is summed up, unless said otherwise.
pub const PERIOD: Duration = Duration::from_millis(20);

/// What classes follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// how often locks are waited for
    ByHeat,
    /// nothing: they are drawn anew each time, so that tests see all orders, and changes of them
    Drawn,
}

/// What the workers of an engine share; see the module.
pub struct Heat {
    sketches: Box<[CachePadded<Latch<Sketch>>]>,
    keeper: Latch<Keeper>,
    classes: Latch<Arc<Classes>>,
    version: AtomicU64,
}

impl Heat {
    /// Everything cold, for the workers `0..workers`; summed up once a `period`.
    pub fn new(workers: usize, rule: Rule, period: Duration) -> Self {
        Self {
            sketches: (0..workers).map(|_| CachePadded::default()).collect(),
            keeper: Latch::new(Keeper::new(rule, period)),
            classes: Latch::default(),
            version: AtomicU64::new(0),
        }
    }

    /// Counts a wait of a worker.
    pub fn waited_for(&self, worker: usize, lock: u64) {
        self.sketches[worker].lock().count(lock);
    }

    /// Counts calls of a worker.
    pub fn ran(&self, worker: usize, calls: u32) {
        let mut sketch = self.sketches[worker].lock();
        sketch.calls = sketch.calls.saturating_add(calls);
    }

    /// Sums up what was waited for, if it is time to. The caller is inside nothing and holds
    /// nothing.
    pub fn keep(&self, shared: &SharedSchema) {
        let Some(mut keeper) = self.keeper.try_lock() else { return };
        if !keeper.is_due(Ticks::now()) {
            return;
        }
        for sketch in &self.sketches {
            keeper.add(&mut sketch.lock());
        }
        let missed = keeper.missed.take();
        let Some(classes) = keeper.classes().or(missed) else { return };
        // Sessions may keep their locks: they take them in no order and give way. The moment does
        // not come while a call waits for one of them; then it is tried at the next time.
        match shared.quiet_beside(|| true, |_| ControlFlow::Break(())) {
            Some(_quiet) => self.put_in_force(classes),
            None => keeper.missed = Some(classes),
        }
    }

    /// At a quiet point (I1).
    pub(crate) fn put_in_force(&self, classes: Classes) {
        *self.classes.lock() = Arc::new(classes);
        // Release; partner: the Acquire in `refresh`.
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Makes a worker's copy of the classes the one in force. Inside the gate: what it sees there
    /// does not change until it leaves (I1).
    #[inline]
    pub fn refresh(&self, copy: &mut Copied) {
        let version = self.version.load(Ordering::Acquire); // partner: the Release in `keep`
        if version != copy.version {
            *copy = Copied { version, classes: Arc::clone(&self.classes.lock()) };
        }
    }
}

/// A worker's copy of the classes.
#[derive(Default, Debug)]
pub struct Copied {
    version: u64,
    /// as they were when the version was the one in force
    pub classes: Arc<Classes>,
}
