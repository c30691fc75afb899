//! What threads did with their time, and how their calls ended.
//!
//! Role         kept per worker without sharing, summed when asked; the figures of the papers
//!              (execute, plan, lock, wait, log, idle) are differences of two sums

use hotrow_base::clock::Ticks;
use hotrow_base::counters::{Counter, PerWorker};
use hotrow_transaction::outcome::Conflict;

/// Turns between two publications of a thread's books, of usually so many: whoever publishes them
/// writes words that others read. A virtual machine's runs are thousandths of a second, of which
/// the usual number would be a large part.
pub const fn turns_between_books(usual: u32) -> u32 {
    if cfg!(hotrow_machine) { usual.div_ceil(32) } else { usual }
}

/// What a thread spends its time on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Activity {
    /// running procedures, commit and undo included
    Execute,
    /// planning, prefetching, reconnaissance
    Plan,
    /// lock manager's work
    Lock,
    /// waiting for a lock
    Wait,
    /// writing the log
    Log,
    /// nothing to do
    Idle,
}

impl Activity {
    /// All activities, in the order of [`Statistics::nanos`].
    pub const ALL: [Self; 6] =
        [Self::Execute, Self::Plan, Self::Lock, Self::Wait, Self::Log, Self::Idle];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Execute => "execute",
            Self::Plan => "plan",
            Self::Lock => "lock",
            Self::Wait => "wait",
            Self::Log => "log",
            Self::Idle => "idle",
        }
    }
}

/// A kind of lock, as dora.txt 5.3 (figure 7) tells them apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum LockKind {
    /// in a lock table that threads share: a row, an entry, or a range of them
    Row,
    /// in a lock table that threads share: what rows are in
    HigherLevel,
    /// in the lock table of the one thread that has the data
    Local,
}

impl LockKind {
    /// All kinds, in the order of [`Statistics::locks`].
    pub const ALL: [Self; 3] = [Self::Row, Self::HigherLevel, Self::Local];
}

/// Where one call's time with a thread went, in [ticks](Ticks::nanos_of). All 0 where an engine
/// does not tell: one whose calls wander from thread to thread.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CallTime {
    /// planning, before and between attempts
    pub plan: u64,
    /// waiting for locks
    pub wait: u64,
    /// all else: running, locking, commit, writing the log's entry
    pub execute: u64,
}

impl CallTime {
    /// All of it.
    pub fn sum(self) -> u64 {
        self.plan + self.wait + self.execute
    }

    /// Adds what a stopwatch has measured between two [readings](Stopwatch::read).
    pub fn add_between(&mut self, before: &Reading, after: &Reading) {
        for activity in Activity::ALL {
            let ticks = after.0[activity as usize].saturating_sub(before.0[activity as usize]);
            *match activity {
                Activity::Plan => &mut self.plan,
                Activity::Wait => &mut self.wait,
                _ => &mut self.execute,
            } += ticks;
        }
    }
}

/// What a [`Stopwatch`] showed at some moment.
#[derive(Clone, Copy, Debug)]
pub struct Reading([u64; 6]);

impl Reading {
    /// Ticks of an activity since the stopwatch was last published.
    pub fn of(&self, activity: Activity) -> u64 {
        self.0[activity as usize]
    }
}

/// One worker's books. One writer.
#[derive(Debug, Default)]
pub struct WorkerBooks {
    /// calls committed
    pub committed: Counter,
    /// calls that failed or aborted themselves
    pub user_aborts: Counter,
    /// calls undone and repeated, by reason
    pub conflicts: [Counter; Conflict::ALL.len()],
    /// calls planned again after a wrong guess
    pub replans: Counter,
    /// calls run alone because they could not be planned otherwise
    pub exclusive: Counter,
    /// requests for locks that had to wait
    pub waits: Counter,
    /// messages sent to other threads of the engine
    pub messages: Counter,
    /// actions run for calls that failed, but those that failed themselves; kept by engines that
    /// run a call's actions side by side
    pub in_vain: Counter,
    /// locks that calls of clients' procedures held, those of undone attempts included, by
    /// [`LockKind`]; kept by engines that the papers count them of
    pub locks: [Counter; LockKind::ALL.len()],
    /// nanoseconds by [`Activity`]
    pub nanos: [Counter; 6],
    /// those of `nanos` that the thread spent as a lock thread: one that takes and releases locks
    /// for the threads that run calls
    pub lock_thread_nanos: [Counter; 6],
}

/// The sum over workers.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Statistics {
    /// calls committed
    pub committed: u64,
    /// calls that failed or aborted themselves
    pub user_aborts: u64,
    /// calls undone and repeated, by reason, in the order of [`Conflict::ALL`]
    pub conflicts: [u64; Conflict::ALL.len()],
    /// calls planned again after a wrong guess
    pub replans: u64,
    /// calls run alone because they could not be planned otherwise
    pub exclusive: u64,
    /// requests for locks that had to wait
    pub waits: u64,
    /// messages sent from one thread of the engine to another
    pub messages: u64,
    /// actions run for calls that failed, but those that failed themselves
    pub in_vain: u64,
    /// locks that calls held, by [`LockKind`]
    pub locks: [u64; LockKind::ALL.len()],
    /// nanoseconds by [`Activity`], summed over threads
    pub nanos: [u64; 6],
    /// those of `nanos` that are of lock threads
    pub lock_thread_nanos: [u64; 6],
    /// nanoseconds in which a thread neither waited nor idled, by worker
    pub busy_nanos: Vec<u64>,
}

impl Statistics {
    /// The sum of all workers' books.
    pub fn of(books: &PerWorker<WorkerBooks>) -> Self {
        let mut sum = Self::default();
        books.iter().for_each(|books| sum.add(books));
        sum
    }

    /// Adds one worker's books.
    pub fn add(&mut self, books: &WorkerBooks) {
        self.committed += books.committed.get();
        self.user_aborts += books.user_aborts.get();
        self.replans += books.replans.get();
        self.exclusive += books.exclusive.get();
        self.waits += books.waits.get();
        self.messages += books.messages.get();
        self.in_vain += books.in_vain.get();
        for (sum, one) in self.conflicts.iter_mut().zip(&books.conflicts) {
            *sum += one.get();
        }
        for (sum, one) in self.locks.iter_mut().zip(&books.locks) {
            *sum += one.get();
        }
        for (sum, one) in self.nanos.iter_mut().zip(&books.nanos) {
            *sum += one.get();
        }
        for (sum, one) in self.lock_thread_nanos.iter_mut().zip(&books.lock_thread_nanos) {
            *sum += one.get();
        }
        let is_busy = |activity: &Activity| !matches!(activity, Activity::Wait | Activity::Idle);
        let busy = Activity::ALL.into_iter().filter(is_busy);
        self.busy_nanos.push(busy.map(|activity| books.nanos[activity as usize].get()).sum());
    }

    /// Nanoseconds by [`Activity`] of the threads that run calls: all but lock threads.
    pub fn execution_nanos(&self) -> [u64; 6] {
        // Books are read while threads write them, so one sum may be a little ahead.
        let mut nanos = self.nanos;
        for (sum, one) in nanos.iter_mut().zip(&self.lock_thread_nanos) {
            *sum = sum.saturating_sub(*one);
        }
        nanos
    }

    /// Conflict aborts of all reasons.
    pub fn conflict_aborts(&self) -> u64 {
        self.conflicts.iter().sum()
    }
}

/// Splits a thread's time among activities.
#[derive(Debug)]
pub struct Stopwatch {
    since: Ticks,
    activity: Activity,
    /// not published yet
    ticks: [u64; 6],
    /// not published yet
    waits: u64,
    /// not published yet
    locks: [u64; LockKind::ALL.len()],
    /// locks that a call takes while it runs are told apart
    times_locks: bool,
}

impl Default for Stopwatch {
    fn default() -> Self {
        Self::new(LockTiming::Calls)
    }
}

/// Where the time goes that a call spends on taking a lock while it runs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LockTiming {
    /// into execution, as long as it does not wait: reading the clock twice for each lock costs
    /// about as much as the lock
    #[default]
    Calls,
    /// into locking: what a breakdown of time needs
    Locks,
}

impl Stopwatch {
    /// One that begins with nothing to do.
    pub fn new(timing: LockTiming) -> Self {
        Self {
            since: Ticks::now(),
            activity: Activity::Idle,
            ticks: [0; 6],
            waits: 0,
            locks: Default::default(),
            times_locks: timing == LockTiming::Locks,
        }
    }

    /// Begins to take a lock while a call runs; what [`Stopwatch::end_lock`] goes back to. Nothing
    /// where that is not told apart, and within another one.
    #[inline]
    pub fn begin_lock(&mut self) -> Option<Activity> {
        let begins = self.times_locks && self.activity != Activity::Lock;
        begins.then(|| self.switch(Activity::Lock))
    }

    /// The lock is taken, or was refused.
    #[inline]
    pub fn end_lock(&mut self, before: Option<Activity>) {
        if let Some(before) = before {
            self.switch(before);
        }
    }

    /// Ends the current activity and begins another; returns the one that ended.
    #[inline]
    pub fn switch(&mut self, to: Activity) -> Activity {
        let now = Ticks::now();
        self.ticks[self.activity as usize] += now.ticks_since(self.since);
        self.since = now;
        std::mem::replace(&mut self.activity, to)
    }

    /// Begins an activity behind a time that is nobody's: no thread was here.
    #[inline]
    pub fn begin(&mut self, activity: Activity) {
        (self.since, self.activity) = (Ticks::now(), activity);
    }

    /// What it shows now. Readings can be compared as long as nothing is published in between.
    #[inline]
    pub fn read(&mut self) -> Reading {
        self.switch(self.activity);
        Reading(self.ticks)
    }

    /// As [`Stopwatch::switch`], to waiting for a lock.
    #[inline]
    pub fn begin_wait(&mut self) -> Activity {
        self.waits += 1;
        self.switch(Activity::Wait)
    }

    /// Counts locks that a call held.
    #[inline]
    pub fn note_locks(&mut self, kind: LockKind, count: usize) {
        self.locks[kind as usize] += count as u64;
    }

    /// Writes the sums to the books.
    pub fn publish(&mut self, books: &WorkerBooks) {
        self.publish_to(books, |_, _| {});
    }

    /// As [`Stopwatch::publish`], of a thread that takes locks for others and runs no calls.
    pub fn publish_as_lock_thread(&mut self, books: &WorkerBooks) {
        let apart = &books.lock_thread_nanos;
        self.publish_to(books, |activity, nanos| apart[activity].add(nanos));
    }

    fn publish_to(&mut self, books: &WorkerBooks, apart: impl Fn(usize, u64)) {
        self.switch(self.activity);
        for (activity, ticks) in self.ticks.iter_mut().enumerate() {
            let nanos = Ticks::nanos_of(std::mem::take(ticks));
            books.nanos[activity].add(nanos);
            apart(activity, nanos);
        }
        books.waits.add(std::mem::take(&mut self.waits));
        for (counter, locks) in books.locks.iter().zip(&mut self.locks) {
            counter.add(std::mem::take(locks));
        }
    }
}
