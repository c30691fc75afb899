//! Checks: what the final state must satisfy, whatever the serial order was.
//!
//! Role         run by the driver after a run, by the conformance suite and after recovery, over
//!              committed rows at rest. They see rows, not an engine.

use hotrow_base::datum::Datum;

use crate::workload::TransactionKind;

/// What a check can look at. The database must be at rest.
pub trait CheckContext {
    /// Visits every committed row of a table: the datums of the named columns, in the order they
    /// are named, and the heap that byte-like ones point into.
    fn rows(&mut self, table: &str, columns: &[&str], visit: &mut dyn FnMut(&[Datum], &[u8]));

    /// Committed calls of this kind since the population was loaded; none when nobody counted
    /// (after recovery, say), and checks that need it are then not made.
    fn committed(&self, kind: TransactionKind) -> Option<u64>;

    /// Sum of [`crate::Generator::tally`] over the committed calls; none when nobody counted.
    fn tally(&self) -> Option<u64>;
}

/// What a check found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// it holds; how much was looked at
    Holds(String),
    /// it does not: the first thing that is wrong, and how many there are
    Fails(String),
    /// it was not made, because
    Skipped(&'static str),
}

/// Something that must hold.
#[derive(Clone, Copy)]
pub struct Check {
    /// its name in reports
    pub name: &'static str,
    /// what must hold, in words
    pub about: &'static str,
    /// looks
    pub run: fn(&mut dyn CheckContext) -> Finding,
}

impl Check {
    /// Runs it.
    pub fn result(&self, context: &mut dyn CheckContext) -> CheckResult {
        CheckResult { name: self.name, finding: (self.run)(context) }
    }
}

/// A check and what it found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckResult {
    /// the check's name
    pub name: &'static str,
    /// what it found
    pub finding: Finding,
}

impl CheckResult {
    /// Whether it holds; a check that was not made does not fail.
    pub fn holds(&self) -> bool {
        !matches!(self.finding, Finding::Fails(_))
    }

    /// The figure, the fault or the reason.
    pub fn detail(&self) -> &str {
        match &self.finding {
            Finding::Holds(detail) | Finding::Fails(detail) => detail,
            Finding::Skipped(reason) => reason,
        }
    }
}

/// Collects what is wrong: keeps the first, counts the rest.
#[derive(Default, Debug)]
pub struct Faults {
    first: Option<String>,
    count: u64,
}

impl Faults {
    /// Notes a fault unless `holds`.
    pub fn expect(&mut self, holds: bool, describe: impl FnOnce() -> String) {
        if !holds {
            self.count += 1;
            self.first.get_or_insert_with(describe);
        }
    }

    /// The check's finding, where `looked` things of this `noun` were looked at.
    pub fn finish(self, looked: usize, noun: &str) -> Finding {
        match self.first {
            None => Finding::Holds(format!("{looked} {noun}")),
            Some(first) => {
                Finding::Fails(format!("{first} ({} of {looked} {noun} wrong)", self.count))
            }
        }
    }
}
