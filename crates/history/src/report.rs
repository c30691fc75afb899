//! What the checker found: anomalies, each with its proof, and what it could not decide.

use std::collections::BTreeMap;
use std::fmt;

/// The kinds of anomaly, the worst first. Names follow Adya, Elle and common use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnomalyClass {
    /// The history itself cannot be judged: a key used in two ways, or times running backwards.
    MalformedHistory,
    /// A transaction contradicts itself: it does not see its own write, or an element it saw
    /// before is gone, or a register changed between two reads of one transaction.
    InternalInconsistency,
    /// A read returned a value that nobody wrote.
    GarbageRead,
    /// A value is twice in one list, or two transactions wrote the same value to one key.
    DuplicateElements,
    /// Two reads of one list disagree about the order of its elements.
    IncompatibleOrder,
    /// G1a: a committed transaction read what an aborted one wrote.
    AbortedRead,
    /// G1b: a transaction read a state from the middle of another one.
    IntermediateRead,
    /// G0: transactions overwrite each other in a circle.
    WriteCycle,
    /// G1c: a circle of write and read dependencies.
    CircularInformationFlow,
    /// Two transactions read the same version and both wrote the next one.
    LostUpdate,
    /// G-single: part of a transaction's reads is from before another one, part from after.
    ReadSkew,
    /// G2: a cycle through a predicate read that missed an entry.
    Phantom,
    /// G2-item: a cycle with two adjacent anti-dependencies, which snapshots permit.
    WriteSkew,
    /// A cycle of several anti-dependencies, no two adjacent: two readers saw independent writes
    /// in opposite orders.
    LongFork,
    /// Serializable, but no serial order respects real time: typically a read that misses what
    /// was acknowledged before it began.
    StaleRead,
}

impl AnomalyClass {
    /// The name in words, with the literature's code where there is one.
    pub fn name(self) -> &'static str {
        match self {
            AnomalyClass::MalformedHistory => "malformed history",
            AnomalyClass::InternalInconsistency => "internal inconsistency",
            AnomalyClass::GarbageRead => "garbage read",
            AnomalyClass::DuplicateElements => "duplicate elements",
            AnomalyClass::IncompatibleOrder => "incompatible order",
            AnomalyClass::AbortedRead => "aborted read (G1a)",
            AnomalyClass::IntermediateRead => "intermediate read (G1b)",
            AnomalyClass::WriteCycle => "write cycle (G0)",
            AnomalyClass::CircularInformationFlow => "circular information flow (G1c)",
            AnomalyClass::LostUpdate => "lost update",
            AnomalyClass::ReadSkew => "read skew (G-single)",
            AnomalyClass::Phantom => "phantom (G2)",
            AnomalyClass::WriteSkew => "write skew (G2-item)",
            AnomalyClass::LongFork => "long fork",
            AnomalyClass::StaleRead => "stale read (real-time violation)",
        }
    }
}

impl fmt::Display for AnomalyClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why one transaction must come before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependency {
    /// Both wrote; the second one's version is the later.
    WriteWrite,
    /// The second read what the first wrote.
    WriteRead,
    /// The first did not see what the second wrote (anti-dependency).
    ReadWrite,
    /// The first completed before the second was invoked; or, with a key, real time shows that
    /// the second wrote a later version of a register than the first wrote or read.
    RealTime,
}

impl Dependency {
    /// The usual abbreviation: ww, wr, rw, rt.
    pub fn short(self) -> &'static str {
        match self {
            Dependency::WriteWrite => "ww",
            Dependency::WriteRead => "wr",
            Dependency::ReadWrite => "rw",
            Dependency::RealTime => "rt",
        }
    }
}

/// One edge of a cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Id of the transaction that must come first.
    pub from: u64,
    /// Id of the transaction that must come after it.
    pub to: u64,
    /// Why.
    pub dependency: Dependency,
    /// The key it is about; `None` where it is about time only.
    pub key: Option<u64>,
    /// The operations that show it, in words.
    pub why: String,
}

/// One violation, with its proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anomaly {
    /// What kind it is.
    pub class: AnomalyClass,
    /// Ids of the transactions involved, in the cycle's order.
    pub transactions: Vec<u64>,
    /// The smallest cycle found; empty where no cycle is needed (an aborted read, say).
    pub cycle: Vec<Step>,
    /// Everything an engineer needs, several lines, ready to print.
    pub explanation: String,
}

/// The verdict on one history. Print it: it is written to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Transactions that took part in the check (committed, or unknown but observed).
    pub transactions_checked: usize,
    /// The violations, the worst class first; at most [`Report::ANOMALIES_PER_CLASS_MAX`] each.
    pub anomalies: Vec<Anomaly>,
    /// How many violations of each class there were, those not listed included.
    pub counts: BTreeMap<AnomalyClass, usize>,
    /// What the history does not tell, so that nothing was concluded from it.
    pub undecided: Vec<String>,
}

impl Report {
    /// More anomalies of one class than this are counted, not listed.
    pub const ANOMALIES_PER_CLASS_MAX: usize = 8;

    /// True if nothing was found: the history is explained by a serial order that respects real
    /// time, as far as it can be decided (see [`Report::undecided`]).
    pub fn is_clean(&self) -> bool {
        self.counts.is_empty()
    }

    /// True if at least one anomaly of this class was found.
    pub fn has(&self, class: AnomalyClass) -> bool {
        self.counts.contains_key(&class)
    }

    /// The classes found, the worst first.
    pub fn classes(&self) -> Vec<AnomalyClass> {
        self.counts.keys().copied().collect()
    }

    pub(crate) fn add(&mut self, anomaly: Anomaly) {
        let count = self.counts.entry(anomaly.class).or_default();
        *count += 1;
        if *count <= Self::ANOMALIES_PER_CLASS_MAX {
            self.anomalies.push(anomaly);
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let checked = self.transactions_checked;
        if self.is_clean() {
            writeln!(f, "strictly serializable: {checked} transactions, no anomaly")?;
        } else {
            writeln!(f, "NOT strictly serializable: {checked} transactions checked")?;
            for (class, count) in &self.counts {
                writeln!(f, "  {count} x {class}")?;
            }
        }
        for anomaly in &self.anomalies {
            writeln!(f, "\n{}", anomaly.explanation.trim_end())?;
        }
        for note in &self.undecided {
            writeln!(f, "undecided: {note}")?;
        }
        Ok(())
    }
}
