//! What sessions have done, and where the time of their calls went.
//!
//! Role         each session writes books of its own; whoever asks adds them up, with those of
//!              sessions that are gone
//! Invariants   I1 what a session has done stays counted when it ends
//! Concurrency  counters -> stored by the session's thread, read by anyone; lines of calls -> under
//!              a latch that only its session takes, but for whoever asks; the list of books ->
//!              latched when a session begins or ends, and by whoever asks

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::counters::Counter;
use hotrow_base::ids::ProcedureId;
use hotrow_base::sync::Latch;
use hotrow_engine::statistics::CallTime;

/// What a call's time goes to, in its order; see [`Spent`] for how it is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum CallPhase {
    /// waiting for a thread of the engine, and for calls that the thread has taken with it
    Queue,
    /// being planned
    Plan,
    /// waiting for locks
    Lock,
    /// running, up to its commit
    Execute,
    /// until its session's thread, woken, has the answer
    Reply,
    /// waiting until it is durable
    Log,
}

impl CallPhase {
    /// All phases, in the order of [`crate::CallFigures::phases`].
    pub const ALL: [Self; 6] =
        [Self::Queue, Self::Plan, Self::Lock, Self::Execute, Self::Reply, Self::Log];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Plan => "plan",
            Self::Lock => "lock",
            Self::Execute => "execute",
            Self::Reply => "reply",
            Self::Log => "log",
        }
    }
}

/// Where a call's time in the engine went, as its thread tells with the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    /// which procedure was called
    pub(crate) procedure: ProcedureId,
    /// when a thread took it
    pub(crate) taken: Ticks,
    /// when it had ended
    pub(crate) ended: Ticks,
    pub(crate) time: CallTime,
}

impl Spent {
    /// Nanoseconds by [`CallPhase`] of a call that was queued at `queued`, whose session was awake
    /// at `woken`, and which was durable at `settled`. Where the engine does not tell how it spent
    /// the time, all of it counts as execution.
    fn phases(self, queued: Ticks, woken: Ticks, settled: Ticks) -> [u64; 6] {
        let Self { taken, ended, time, .. } = self;
        let (queue, time) = match time.sum() {
            0 => {
                (taken.ticks_since(queued), CallTime { execute: ended.ticks_since(taken), ..time })
            }
            own => (ended.ticks_since(queued).saturating_sub(own), time),
        };
        let reply = woken.ticks_since(ended);
        let log = settled.ticks_since(woken);
        [queue, time.plan, time.wait, time.execute, reply, log].map(Ticks::nanos_of)
    }
}

/// How many calls took how long: counts by duration, in steps of a quarter of a power of two.
#[derive(Clone, Debug)]
pub struct LatencyCounts {
    counts: [u64; Self::STEPS],
}

impl Default for LatencyCounts {
    fn default() -> Self {
        Self { counts: [0; Self::STEPS] }
    }
}

impl LatencyCounts {
    /// Below this all durations are one: 2^10 ns, a microsecond.
    const FLOOR_LOG2: u32 = 10;
    /// 4 steps for each of 26 powers of two: up to 2^36 ns, 69 s; what is longer is in the last.
    const STEPS: usize = 4 * 26 + 1;

    fn step(nanos: u64) -> usize {
        let log2 = nanos.max(1).ilog2();
        if log2 < Self::FLOOR_LOG2 {
            return 0;
        }
        let quarter = (nanos >> (log2 - 2)) as usize & 3;
        (1 + 4 * (log2 - Self::FLOOR_LOG2) as usize + quarter).min(Self::STEPS - 1)
    }

    /// The shortest duration that is beyond a step.
    fn end_of(step: usize) -> Duration {
        let (power, quarter) = (step / 4, step % 4);
        Duration::from_nanos((4 + quarter as u64) << (power as u32 + Self::FLOOR_LOG2 - 2))
    }

    fn note(&mut self, nanos: u64) {
        self.counts[Self::step(nanos)] += 1;
    }

    fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many took less than so long, at a resolution of a quarter of a power of two.
    pub fn below(&self, most: Duration) -> u64 {
        let steps = self.counts.iter().enumerate();
        steps.take_while(|(step, _)| Self::end_of(*step) <= most).map(|(_, count)| count).sum()
    }

    /// A duration that the given part of them (0 to 1) does not exceed, at most 25 % too long;
    /// zero when there are none.
    pub fn quantile(&self, part: f64) -> Duration {
        let wanted = (self.count() as f64 * part).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (step, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Self::end_of(step);
            }
        }
        Duration::ZERO
    }
}

/// How calls of one procedure went. Sums.
#[derive(Clone, Default, Debug)]
pub(crate) struct CallBook {
    pub(crate) failed: u64,
    pub(crate) nanos: [u64; 6],
    pub(crate) longest_ns: u64,
    pub(crate) latencies: LatencyCounts,
}

impl CallBook {
    fn add(&mut self, other: &Self) {
        self.failed += other.failed;
        self.nanos.iter_mut().zip(other.nanos).for_each(|(sum, nanos)| *sum += nanos);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.latencies.add(&other.latencies);
    }
}

type CallLines = Vec<(ProcedureId, CallBook)>;

fn line(lines: &mut CallLines, procedure: ProcedureId) -> &mut CallBook {
    let at = lines.iter().position(|(id, _)| *id == procedure).unwrap_or_else(|| {
        lines.push((procedure, CallBook::default()));
        lines.len() - 1
    });
    &mut lines[at].1
}

/// One session's books.
#[derive(Default, Debug)]
pub(crate) struct SessionBooks {
    /// how many were opened before
    pub(crate) number: usize,
    /// statements that ended, calls among them
    statements: Counter,
    /// those that failed
    failed: Counter,
    /// transactions of several statements, and of single ones, that committed
    pub(crate) commits: Counter,
    /// those that were taken back
    pub(crate) rollbacks: Counter,
    /// times that a statement alone was undone because of others and executed again
    pub(crate) repeated: Counter,
    /// statements that ran on a snapshot
    pub(crate) snapshots: Counter,
    /// calls that were refused for want of room, or withdrawn from the queue
    pub(crate) refused: Counter,
    calls: Latch<CallLines>,
}

impl SessionBooks {
    /// Counts a statement that has ended.
    pub(crate) fn note_statement(&self, is_done: bool) {
        self.statements.increment();
        self.failed.add(u64::from(!is_done));
    }

    /// Notes a call that was queued at `queued`, whose answer was there at `woken`, and durable at
    /// `settled`.
    pub(crate) fn note_call(
        &self,
        spent: Spent,
        (queued, woken, settled): (Ticks, Ticks, Ticks),
        has_failed: bool,
    ) {
        let nanos = spent.phases(queued, woken, settled);
        let all = settled.nanos_since(queued);
        let mut calls = self.calls.lock();
        let book = line(&mut calls, spent.procedure);
        book.failed += u64::from(has_failed);
        book.nanos.iter_mut().zip(nanos).for_each(|(sum, nanos)| *sum += nanos);
        book.longest_ns = book.longest_ns.max(all);
        book.latencies.note(all);
    }
}

/// What all sessions have done, since the database was opened.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SessionSums {
    /// statements that ended, calls among them
    pub statements: u64,
    /// those that failed
    pub failed: u64,
    /// transactions outside planned calls that committed
    pub commits: u64,
    /// those that were taken back
    pub rollbacks: u64,
    /// times that a statement alone was undone because of others and executed again
    pub repeated: u64,
    /// statements that ran on a snapshot
    pub snapshots: u64,
    /// calls that were refused for want of room, or withdrawn from the queue
    pub refused: u64,
}

impl SessionSums {
    fn add(&mut self, books: &SessionBooks) {
        self.statements += books.statements.get();
        self.failed += books.failed.get();
        self.commits += books.commits.get();
        self.rollbacks += books.rollbacks.get();
        self.repeated += books.repeated.get();
        self.snapshots += books.snapshots.get();
        self.refused += books.refused.get();
    }
}

/// All books.
#[derive(Default, Debug)]
pub(crate) struct Library {
    shelf: Latch<Shelf>,
}

#[derive(Default, Debug)]
struct Shelf {
    open: Vec<Arc<SessionBooks>>,
    /// how many were opened so far
    opened: usize,
    /// of sessions that are gone (I1)
    past: SessionSums,
    past_calls: CallLines,
}

impl Library {
    /// Books for a session.
    pub(crate) fn open(self: &Arc<Self>) -> OpenBooks {
        let mut shelf = self.shelf.lock();
        let books = Arc::new(SessionBooks { number: shelf.opened, ..SessionBooks::default() });
        shelf.opened += 1;
        shelf.open.push(Arc::clone(&books));
        drop(shelf);
        OpenBooks { books, library: Arc::clone(self) }
    }

    pub(crate) fn sums(&self) -> SessionSums {
        let shelf = self.shelf.lock();
        let mut sums = shelf.past;
        shelf.open.iter().for_each(|books| sums.add(books));
        sums
    }

    /// The books of calls, by procedure.
    pub(crate) fn calls(&self) -> CallLines {
        let shelf = self.shelf.lock();
        let mut sums = shelf.past_calls.clone();
        for books in &shelf.open {
            for (procedure, book) in books.calls.lock().iter() {
                line(&mut sums, *procedure).add(book);
            }
        }
        sums
    }
}

/// A session's books, as long as it lasts.
#[derive(Debug)]
pub(crate) struct OpenBooks {
    books: Arc<SessionBooks>,
    library: Arc<Library>,
}

impl OpenBooks {
    pub(crate) fn share(&self) -> Arc<SessionBooks> {
        Arc::clone(&self.books)
    }
}

impl Deref for OpenBooks {
    type Target = SessionBooks;

    fn deref(&self) -> &SessionBooks {
        &self.books
    }
}

impl Drop for OpenBooks {
    fn drop(&mut self) {
        let mut shelf = self.library.shelf.lock();
        shelf.open.retain(|books| !Arc::ptr_eq(books, &self.books));
        shelf.past.add(&self.books);
        for (procedure, book) in self.books.calls.lock().iter() {
            line(&mut shelf.past_calls, *procedure).add(book);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_found_again_within_a_quarter() {
        let mut counts = LatencyCounts::default();
        for micros in 1..=1000_u64 {
            counts.note(micros * 1000);
        }
        for part in [0.01, 0.5, 0.99, 1.0] {
            let (found, exact) = (counts.quantile(part).as_secs_f64(), part * 1e-3);
            assert!(found >= exact && found <= exact * 1.26, "{part}: {found} for {exact}");
        }
        assert_eq!(counts.count(), 1000);
        assert_eq!(counts.below(Duration::from_secs(1)), 1000);
        assert_eq!(counts.below(Duration::from_nanos(1024)), 1, "1 us is below 1.024 us");
    }

    #[test]
    fn every_duration_is_in_a_step_that_ends_behind_it() {
        for shift in 0..36 {
            for more in [0, 1, 3] {
                let nanos = (1_u64 << shift) + (more << shift) / 4;
                let end = LatencyCounts::end_of(LatencyCounts::step(nanos)).as_nanos() as u64;
                assert!(end > nanos, "{nanos}");
                assert!(end <= (nanos + nanos / 4 + 1).max(1025), "{nanos}: {end}");
            }
        }
        assert_eq!(LatencyCounts::step(u64::MAX), LatencyCounts::STEPS - 1);
    }

    #[test]
    fn what_a_session_has_done_outlives_it() {
        let library = Arc::<Library>::default();
        let (one, other) = (library.open(), library.open());
        one.statements.add(3);
        other.statements.add(4);
        let now = Ticks::now();
        let (procedure, time) = (ProcedureId(7), CallTime::default());
        let spent = Spent { procedure, taken: now, ended: now, time };
        one.note_call(spent, (now, now, now), true);
        other.note_call(spent, (now, now, now), false);
        drop(one);
        assert_eq!(library.sums().statements, 7);
        let calls = library.calls();
        assert_eq!((calls.len(), calls[0].1.failed, calls[0].1.latencies.count()), (1, 1, 2));
        drop(other);
        assert_eq!(library.sums().statements, 7);
        assert_eq!(library.calls()[0].1.latencies.count(), 2);
    }

    #[test]
    fn a_call_that_waits_for_others_of_its_thread_is_queued() {
        let at = |nanos| Ticks::now().after(Duration::from_nanos(nanos));
        let (queued, taken, ended) = (at(0), at(10_000_000), at(100_000_000));
        let own = ended.ticks_since(taken) / 3;
        let time = CallTime { plan: own / 2, wait: 0, execute: own - own / 2 };
        let procedure = ProcedureId(7);
        let phases = Spent { procedure, taken, ended, time }.phases(queued, ended, ended);
        let millis = phases.map(|nanos| nanos / 1_000_000);
        assert_eq!(millis, [70, 15, 0, 15, 0, 0], "60 of 90 ms were spent on others");
        let silent = Spent { procedure, taken, ended, time: CallTime::default() };
        let millis = silent.phases(queued, ended, ended).map(|nanos| nanos / 1_000_000);
        assert_eq!(millis, [10, 0, 0, 90, 0, 0]);
    }
}
