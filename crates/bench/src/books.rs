//! The books of a source of calls: how many ended in what way, and how long they took.
//!
//! Role         kept by each generator inside an engine's thread and by each client; added up after
//!              the run
//! Invariants   I1 nothing is allocated per call; an abort that nobody expects is described once

use hdrhistogram::Histogram;
use hotrow::SqlError;
use hotrow_base::clock::Ticks;
use hotrow_workloads::{KindInfo, TransactionKind};

/// Longest latency told apart, 100 s in ns; a longer one counts as this.
pub(crate) const LATENCY_NS_MAX: u64 = 100_000_000_000;
/// Two digits: a figure is off by 1 % at most, and the counters in use stay in the cache.
const DIGITS: u8 = 2;
/// Aborts that a procedure asks for itself, RAISE without a code.
const RAISED: &[u8; 5] = b"P0001";

/// No latencies yet, in ns.
pub(crate) fn latencies_ns() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_NS_MAX, DIGITS)
        .expect("the bounds are in order and two digits are allowed")
}

/// A call handed out and not ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnItsWay {
    pub(crate) kind: TransactionKind,
    pub(crate) tally: u64,
    pub(crate) since: Ticks,
}

/// How many ended in what way.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Ends {
    pub(crate) committed: u64,
    pub(crate) user_aborts: u64,
}

impl Ends {
    fn add(&mut self, other: Self) {
        self.committed += other.committed;
        self.user_aborts += other.user_aborts;
    }
}

/// One kind's books.
#[derive(Clone, Debug)]
pub(crate) struct KindBooks {
    /// since the start
    pub(crate) all: Ends,
    /// while it was measured
    pub(crate) measured: Ends,
    /// from fetch to commit, while it was measured, in ns
    pub(crate) latency_ns: Histogram<u64>,
    aborts_are_expected: bool,
}

/// What a source of calls saw.
#[derive(Clone, Debug)]
pub(crate) struct SourceBooks {
    pub(crate) kinds: Vec<KindBooks>,
    /// sum of the committed calls' tallies, since the start
    pub(crate) tally: u64,
    /// calls that failed though their kind does not
    pub(crate) failures: u64,
    pub(crate) first_failure: Option<String>,
    /// first fetch and last end
    pub(crate) span: Option<(Ticks, Ticks)>,
}

impl SourceBooks {
    pub(crate) fn new(kinds: &[KindInfo]) -> Self {
        let latency_ns = latencies_ns();
        let books = |kind: &KindInfo| KindBooks {
            all: Ends::default(),
            measured: Ends::default(),
            latency_ns: latency_ns.clone(),
            aborts_are_expected: kind.aborts > 0.0,
        };
        let kinds = kinds.iter().map(books).collect();
        Self { kinds, tally: 0, failures: 0, first_failure: None, span: None }
    }

    /// Adds another source's books of the same workload.
    pub(crate) fn add(&mut self, other: &Self) {
        for (kind, other) in self.kinds.iter_mut().zip(&other.kinds) {
            kind.all.add(other.all);
            kind.measured.add(other.measured);
            kind.latency_ns += &other.latency_ns;
        }
        self.tally += other.tally;
        self.failures += other.failures;
        if self.first_failure.is_none() {
            self.first_failure.clone_from(&other.first_failure);
        }
        self.span = match (self.span, other.span) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
    }

    /// From the first fetch to the last end.
    pub(crate) fn seconds(&self) -> f64 {
        let nanos = self.span.map_or(0, |(first, last)| last.nanos_since(first));
        nanos as f64 / 1e9
    }

    /// Ends of all kinds while it was measured.
    pub(crate) fn measured(&self) -> Ends {
        let mut sum = Ends::default();
        self.kinds.iter().for_each(|kind| sum.add(kind.measured));
        sum
    }

    /// Ends of all kinds since the start.
    pub(crate) fn all(&self) -> Ends {
        let mut sum = Ends::default();
        self.kinds.iter().for_each(|kind| sum.add(kind.all));
        sum
    }

    /// Latencies of all kinds.
    pub(crate) fn latency_ns(&self) -> Histogram<u64> {
        let mut kinds = self.kinds.iter().map(|kind| &kind.latency_ns);
        let mut sum = kinds.next().expect("a workload has a kind").clone();
        kinds.for_each(|kind| sum += kind);
        sum
    }

    /// Notes how a call ended, `measured` or not.
    pub(crate) fn settle(&mut self, call: OnItsWay, committed: bool, now: Ticks, measured: bool) {
        if let Some((_, last)) = &mut self.span {
            *last = now;
        }
        let kind = &mut self.kinds[call.kind.index()];
        if committed {
            kind.all.committed += 1;
            if measured {
                kind.measured.committed += 1;
                kind.latency_ns.saturating_record(now.nanos_since(call.since));
            }
            self.tally += call.tally;
        } else {
            kind.all.user_aborts += 1;
            kind.measured.user_aborts += u64::from(measured);
        }
    }

    /// Notes an abort, in case nobody expects it.
    pub(crate) fn note_abort(&mut self, kind: TransactionKind, error: &SqlError) {
        if self.kinds[kind.index()].aborts_are_expected && error.sqlstate == *RAISED {
            return;
        }
        self.failures += 1;
        if self.first_failure.is_none() {
            self.first_failure = Some(format!("{} {}", error.code(), error.message));
        }
    }
}
