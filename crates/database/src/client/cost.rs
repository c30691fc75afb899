//! What calls cost, so that a crowd of long ones does not keep short ones from their threads.
//!
//! Role         sessions choose a call's lane by it: short or long; threads measure it, and take
//!              long calls one at a time, and not on all threads while short ones come
//! Invariants   F1 a long call is the only one of its turn: nobody is planned behind it
//!              F2 short calls go before long ones; but a thread that has run a long one for some
//!              time runs the next one after [`SHARE`] times as long, at the latest
//!              F3 the last thread that runs no long call takes none while short ones keep coming,
//!              unless it is the only one
//! Concurrency  a mailbox's costs -> written by the thread that ends its call, read by its session;
//!              `lengths` -> written by threads when what they know changes, which is seldom. Hints
//!
//! Cost is what a call takes of a thread: planning and running, not waiting. It is known of a
//! procedure as one session calls it lately, and else as anybody does.

use hotrow_base::sync::facade::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::ProcedureId;

/// A call that takes so long is a long one. Some hundred usual calls take as long.
const LONG: Duration = Duration::from_millis(1);
/// For so long after a short call a thread expects more of them.
pub(super) const EXPECTED: Duration = Duration::from_millis(50);
/// Where both wait, short calls have so many times the time of long ones.
pub(super) const SHARE: u64 = 3;
/// Procedures that one session's costs are known of, and all sessions'; others take turns.
const OF_SESSION: usize = 4;
const OF_ALL: usize = 1024;
/// A new measurement counts for one part in so many.
const PART: u64 = 4;

/// How long a call will take, as far as is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Length {
    Unknown,
    Short,
    Long,
}

/// What one session's calls have lately cost.
#[derive(Default, Debug)]
pub(super) struct Costs([AtomicU64; OF_SESSION]);

impl Costs {
    fn cell(&self, procedure: ProcedureId) -> &AtomicU64 {
        &self.0[procedure.0 as usize % OF_SESSION]
    }

    /// Notes a cost in [ticks](Ticks::nanos_of); the mean of the last ones.
    fn note(&self, procedure: ProcedureId, ticks: u64) -> u64 {
        let ticks = ticks.min(u64::from(u32::MAX));
        let known = self.get(procedure);
        let mean = known.map_or(ticks, |known| known - known / PART + ticks / PART);
        let word = ((u64::from(procedure.0) + 1) << 32) | mean;
        self.cell(procedure).store(word, Ordering::Relaxed); // one call of a session at a time
        mean
    }

    fn get(&self, procedure: ProcedureId) -> Option<u64> {
        let word = self.cell(procedure).load(Ordering::Relaxed);
        (word >> 32 == u64::from(procedure.0) + 1).then_some(word & u64::from(u32::MAX))
    }
}

/// What is known of procedures, whoever calls them.
#[derive(Debug)]
pub(super) struct Lengths {
    of_all: Box<[AtomicU8]>,
    /// from so many ticks on a call is long
    long: u64,
}

impl Lengths {
    pub(super) fn new() -> Self {
        let nanos = Ticks::nanos_of(1 << 20).max(1);
        let long = LONG.as_nanos() as u64 * (1 << 20) / nanos;
        Self { of_all: (0..OF_ALL).map(|_| AtomicU8::new(0)).collect(), long }
    }

    fn cell(&self, procedure: ProcedureId) -> &AtomicU8 {
        &self.of_all[procedure.0 as usize % OF_ALL]
    }

    /// How long a session's call of a procedure will take.
    #[inline]
    pub(super) fn expect(&self, costs: &Costs, procedure: ProcedureId) -> Length {
        match costs.get(procedure) {
            Some(ticks) => self.of_ticks(ticks),
            None => match self.cell(procedure).load(Ordering::Relaxed) {
                0 => Length::Unknown,
                1 => Length::Short,
                _ => Length::Long,
            },
        }
    }

    fn of_ticks(&self, ticks: u64) -> Length {
        if ticks < self.long { Length::Short } else { Length::Long }
    }

    /// Notes what a call has cost; 0 where an engine does not tell, and calls are short then.
    #[inline]
    pub(super) fn note(&self, costs: &Costs, procedure: ProcedureId, ticks: u64) {
        let length = self.of_ticks(costs.note(procedure, ticks)) as u8;
        let cell = self.cell(procedure);
        if cell.load(Ordering::Relaxed) != length {
            cell.store(length, Ordering::Relaxed);
        }
    }
}
