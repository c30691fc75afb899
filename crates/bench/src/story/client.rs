//! A client of a story: draws, calls, repeats what it is asked to repeat, keeps what it is told.

use std::collections::BTreeMap;
use std::sync::Arc;

use hdrhistogram::Histogram;
use hotrow_base::clock::Ticks;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::connection::{Connection, Failure};
use super::draw::Drawer;
use super::file::Story;
use super::told::Told;
use crate::books::{LATENCY_NS_MAX, latencies_ns};
use crate::phase::{Phase, PhaseFlag};
use crate::report::CheckReport;

/// What a client is to repeat a call for: a serialization failure, a deadlock.
const REPEATED: [&str; 2] = ["40001", "40P01"];

/// What clients saw of one call, while it was measured.
#[derive(Clone)]
pub(super) struct CallBooks {
    /// that committed
    pub(super) good: u64,
    /// times it was repeated
    pub(super) repeated: u64,
    /// that failed, by SQLSTATE
    pub(super) failed: BTreeMap<String, u64>,
    /// from the first try to the answer, of those that committed
    pub(super) latency_ns: Histogram<u64>,
}

/// What clients saw.
pub(super) struct Books {
    /// by call
    pub(super) calls: Vec<CallBooks>,
    /// by call, in all of the run
    pub(super) told: Vec<Told>,
    /// by call: the columns of its rows
    pub(super) columns: Vec<Vec<String>>,
    /// calls that failed in all of the run, though their story does not say so
    failures: u64,
    first_failure: Option<String>,
    /// times that any was repeated in all of the run
    repeated: u64,
    /// calls that were still being repeated when the run ended
    pub(super) given_up: u64,
}

impl Books {
    pub(super) fn new(story: &Story) -> Self {
        let latency_ns = latencies_ns();
        let books = CallBooks { good: 0, repeated: 0, failed: BTreeMap::new(), latency_ns };
        Self {
            calls: vec![books; story.calls.len()],
            told: story.calls.iter().map(|_| Told::default()).collect(),
            columns: Vec::new(),
            failures: 0,
            first_failure: None,
            repeated: 0,
            given_up: 0,
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        for (books, others) in self.calls.iter_mut().zip(other.calls) {
            books.good += others.good;
            books.repeated += others.repeated;
            for (sqlstate, times) in others.failed {
                *books.failed.entry(sqlstate).or_default() += times;
            }
            books.latency_ns.add(&others.latency_ns).expect("they have the same bounds");
        }
        self.told.iter_mut().zip(other.told).for_each(|(told, others)| told.add(others));
        self.columns = other.columns;
        self.failures += other.failures;
        self.repeated += other.repeated;
        self.given_up += other.given_up;
        self.first_failure = self.first_failure.take().or(other.first_failure);
    }

    /// Whether every call ended as its story says that it may; `at_once`: without being repeated.
    pub(super) fn check_of_failures(&self, at_once: bool) -> CheckReport {
        let repeated = self.repeated;
        let (holds, detail) = match &self.first_failure {
            Some(first) => (false, format!("{} did not, the first one: {first}", self.failures)),
            None if at_once && repeated > 0 => {
                (false, format!("{repeated} times one had to be repeated"))
            }
            None => (true, "all did".to_owned()),
        };
        CheckReport { name: "calls commit, or fail as the story says".to_owned(), holds, detail }
    }

    fn fail(&mut self, why: String) {
        self.failures += 1;
        self.first_failure.get_or_insert(why);
    }
}

/// One client of a running story, with its connection, its random numbers and its books.
pub(super) struct Client<'a> {
    story: &'a Story,
    connection: Box<dyn Connection>,
    drawer: Drawer<'a>,
    phase: Arc<PhaseFlag>,
    /// of all calls
    shares: u32,
    books: Books,
}

impl<'a> Client<'a> {
    /// A client that has prepared the story's calls.
    pub(super) fn new(
        story: &'a Story,
        connection: Box<dyn Connection>,
        number: usize,
        seed: u64,
        phase: Arc<PhaseFlag>,
    ) -> Self {
        let rng = SmallRng::seed_from_u64(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
        let mut books = Books::new(story);
        books.columns = (0..story.calls.len()).map(|call| connection.columns(call)).collect();
        Self {
            story,
            connection,
            drawer: Drawer::new(&story.draws, rng, number + 1),
            phase,
            shares: story.calls.iter().map(|call| call.share).sum(),
            books,
        }
    }

    /// Calls until the run ends.
    pub(super) fn run(mut self) -> Books {
        let mut values = Vec::new();
        while self.phase.get() != Phase::Ended {
            let call = self.choose();
            let drawn = self.story.calls[call].parameters.iter().map(|of| self.drawer.draw(*of));
            values.clear();
            values.extend(drawn);
            if !self.call(call, &values) {
                break;
            }
        }
        self.books
    }

    /// A call for which there is all that it needs.
    fn choose(&mut self) -> usize {
        loop {
            let mut at = self.drawer.below(self.shares);
            let chosen = self.story.calls.iter().position(|call| {
                let is_it = at < call.share;
                at = at.saturating_sub(call.share);
                is_it
            });
            let chosen = chosen.expect("it is below all shares");
            if self.story.calls[chosen].parameters.iter().all(|of| self.drawer.has(*of)) {
                return chosen;
            }
        }
    }

    /// Makes a call, again and again while that is asked for; whether there can be another one.
    fn call(&mut self, number: usize, values: &[String]) -> bool {
        let Self { connection, drawer, books, phase, story, .. } = self;
        let call = &story.calls[number];
        let began = Ticks::now();
        loop {
            let done = connection.call(number, values);
            let is_measured = phase.get().step().is_some();
            match done {
                Ok(rows) => {
                    let taken = Ticks::now().nanos_since(began);
                    let told = &mut books.told[number];
                    told.calls += 1;
                    for row in &rows {
                        told.note(row);
                        for (column, cell) in books.columns[number].iter().zip(row) {
                            cell.iter().for_each(|cell| drawer.note(column, cell));
                        }
                    }
                    if is_measured {
                        books.calls[number].good += 1;
                        let taken = taken.clamp(1, LATENCY_NS_MAX);
                        books.calls[number].latency_ns.record(taken).expect("it is in bounds");
                    }
                    return true;
                }
                Err(Failure::Refused { sqlstate, .. }) if REPEATED.contains(&&*sqlstate) => {
                    books.repeated += 1;
                    books.calls[number].repeated += u64::from(is_measured);
                    if phase.get() == Phase::Ended {
                        books.given_up += 1;
                        return false;
                    }
                }
                Err(Failure::Refused { sqlstate, message }) => {
                    if !call.fails.contains(&sqlstate) {
                        books.fail(format!("{}: {message}", call.name));
                    }
                    if is_measured {
                        *books.calls[number].failed.entry(sqlstate).or_default() += 1;
                    }
                    return true;
                }
                Err(Failure::Lost(why)) => {
                    books.fail(format!("{}: {why}", call.name));
                    return false;
                }
            }
        }
    }
}
