//! YCSB as the papers use it: transactions of several reads or increments on one table.
//!
//! Role         the workload `ycsb`; keys are known from parameters, so that what is measured is
//!              concurrency control and nothing else
//! Source       orthrus.txt section 4 and appendix A (10 operations, 2 of them on hot records, hot
//!              first; partitions per transaction), lads.txt section 5.1 (20 operations, Zipf).
//!              We differ: "write" means increment, so that lost updates can be counted.

mod generate;
mod zipf;

use std::borrow::Cow;
use std::ops::ControlFlow;

use hotrow_transaction::routing::{PARTITIONS_MAX, partition_of_bigint};
pub use zipf::Zipf;

use crate::check::{Check, CheckContext, Faults, Finding};
use crate::parameter::{ParameterError, ParameterInfo, Parameters, require};
use crate::random::{alphanumeric, stream};
use crate::row::{RowBuffer, RowSink};
use crate::workload::{Generator, KindInfo, Resolve, Share, TransactionKind, Workload};
use crate::{choices, parameters};

choices! {
    /// In which order a transaction reaches for its records.
    KeyOrder {
        /// as drawn: hot records before cold ones (orthrus.txt 4.1)
        HotFirst => "hot-first",
        /// cold records before hot ones
        HotLast => "hot-last",
        /// by ascending key: lock-as-you-go engines cannot deadlock
        Sorted => "sorted",
        /// shuffled
        Shuffled => "shuffled",
    }
}

choices! {
    /// Which keys belong to one partition. Means something where it is the engine's rule, too.
    Partitioning {
        /// equal ranges of keys (lads.txt 5.3)
        Range => "range",
        /// key modulo number of partitions
        Modulo => "modulo",
        /// as engines with so many partitions route, unless they are told otherwise
        Routed => "routed",
    }
}

parameters! {
    /// What YCSB can be asked to be.
    YcsbParameters {
        records: u64 = 1_000_000, "records of the table; keys are 0 to records - 1";
        record_size: u32 = 100, "bytes of a row: key, counter and filler";
        operations: u32 = 10, "records each transaction reaches for, all different";
        reads: f64 = 0.0, "percent of operations that only read; the others increment";
        hot: u64 = 0, "number of hot records; 0 for none";
        hot_operations: u32 = 2, "operations of each transaction that go to hot records";
        theta: f64 = 0.0, "skew of a Zipf distribution of keys, 0 (uniform) to 1; not with hot";
        scatter: bool = true, "spread a Zipf distribution's popular keys over the key range";
        order: KeyOrder = KeyOrder::HotFirst, "order in which a transaction reaches for records";
        partitions: u32 = 1, "partitions of the key range";
        partitioning: Partitioning = Partitioning::Range, "which keys a partition has";
        multi_partition: f64 = 0.0, "percent of transactions with keys of several partitions";
        spread: u32 = 2, "partitions that a transaction of several partitions has keys of";
        active: u32 = 0, "load only the first so many partitions; 0 for all";
        home: bool = false, "transactions of each worker begin in a partition of its own";
        aborts: f64 = 0.0, "percent of transactions that reach for one more record, which is not \
            there, and abort; only with reads 0";
    }
}

impl Parameters for YcsbParameters {
    fn list(&self) -> Vec<ParameterInfo> {
        self.list_all()
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), ParameterError> {
        self.set_one(name, text)
    }

    fn validate(&self) -> Result<(), ParameterError> {
        let operations = u64::from(self.operations);
        require((1..=1_000).contains(&self.operations), "operations: 1 to 1000")?;
        require((1..=u64::from(u32::MAX)).contains(&self.records), "records: 1 to 4294967295")?;
        require((17..=8_192).contains(&self.record_size), "record-size: 17 to 8192")?;
        require((0.0..=100.0).contains(&self.reads), "reads: 0 to 100 percent")?;
        require((0.0..=100.0).contains(&self.multi_partition), "multi-partition: 0 to 100")?;
        require((0.0..=1.0).contains(&self.theta), "theta: 0 to 1")?;
        require(self.hot == 0 || self.theta == 0.0, "hot and theta exclude each other")?;
        require(self.hot_operations <= self.operations, "hot-operations: at most operations")?;
        require((1..=10_000).contains(&self.partitions), "partitions: 1 to 10000")?;
        if self.partitioning == Partitioning::Routed {
            require(self.partitions <= PARTITIONS_MAX.into(), "partitions: 1 to 1024 if routed")?;
        }
        require((0.0..=100.0).contains(&self.aborts), "aborts: 0 to 100 percent")?;
        require(self.aborts == 0.0 || self.reads == 0.0, "aborts: only with reads 0")?;
        require(
            self.aborts == 0.0 || self.partitions == 1 || self.partitioning != Partitioning::Range,
            "aborts: keys that are not there have no range; partitioning routed or modulo",
        )?;
        require((1..=self.partitions.max(2)).contains(&self.spread), "spread: 1 to partitions")?;
        require(self.active <= self.partitions, "active: at most partitions")?;
        let [hot, cold] = match self.partitioning {
            Partitioning::Routed => {
                let fewest = |from, to| self.fewest_routed(from, to);
                [fewest(0, self.hot), fewest(self.hot, self.records)]
            }
            _ => [self.hot_per_partition(), self.cold_per_partition()],
        };
        require(
            self.hot == 0 || hot >= u64::from(self.hot_operations),
            "hot: each partition needs as many hot records as hot-operations",
        )?;
        require(cold >= operations.max(3), "records: too few in each partition for operations")
    }
}

impl YcsbParameters {
    /// Partitions that transactions begin in.
    fn active(&self) -> u32 {
        if self.active == 0 { self.partitions } else { self.active }
    }

    /// Records in the smallest partition.
    fn per_partition(&self) -> u64 {
        self.records / u64::from(self.partitions)
    }

    fn hot_per_partition(&self) -> u64 {
        self.hot.div_ceil(self.partitions.into())
    }

    fn cold_per_partition(&self) -> u64 {
        self.per_partition().saturating_sub(self.hot_per_partition())
    }

    /// The least number of these keys that some partition has, as engines route; of many keys, of
    /// the first ones.
    fn fewest_routed(&self, from: u64, to: u64) -> u64 {
        let mut counts = vec![0_u64; self.partitions as usize];
        let enough = 100 * u64::from(self.partitions) * u64::from(self.operations);
        for key in from..to.min(from.saturating_add(enough)) {
            counts[self.routed(key) as usize] += 1;
        }
        counts.into_iter().min().unwrap_or(0)
    }

    /// The partition of a key, as engines route.
    fn routed(&self, key: u64) -> u32 {
        partition_of_bigint(key.cast_signed(), self.partitions as u16).0.into()
    }

    /// The key of a partition's `local`-th record. As engines route, a partition has some of all.
    fn key(&self, partition: u32, local: u64) -> u64 {
        match self.partitioning {
            Partitioning::Range => {
                Share { index: partition, of: self.partitions }.range(self.records).start + local
            }
            Partitioning::Modulo => local * u64::from(self.partitions) + u64::from(partition),
            Partitioning::Routed => local,
        }
    }
}

/// Transactions that only increment.
pub const UPDATE: TransactionKind = TransactionKind(0);
/// Transactions that only read.
pub const READ: TransactionKind = TransactionKind(1);
/// Transactions that do both.
pub const MIXED: TransactionKind = TransactionKind(2);

const KINDS: [&str; 3] = ["update", "read", "mixed"];
/// By kind; the last one stands in for the first where transactions may abort.
const PROCEDURES: [&str; 4] = ["ycsb_update", "ycsb_read", "ycsb_mixed", "ycsb_update_or_abort"];
const UPDATE_OR_ABORT: usize = 3;

/// bytes of key and counter
const FIXED_BYTES: u32 = 16;
/// place of the rows' random streams
const ROW: u64 = 200;

/// The workload `ycsb`.
#[derive(Clone, Default, Debug)]
pub struct Ycsb {
    /// its parameters
    pub parameters: YcsbParameters,
}

impl Workload for Ycsb {
    fn name(&self) -> &'static str {
        "ycsb"
    }

    fn about(&self) -> &'static str {
        "YCSB in transactions: reads and increments of uniform, hot or Zipf distributed records"
    }

    fn parameters(&self) -> &dyn Parameters {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut dyn Parameters {
        &mut self.parameters
    }

    fn population_parameters(&self) -> Option<&'static [&'static str]> {
        Some(&["records", "record-size"])
    }

    fn schema_sql(&self) -> Cow<'static, str> {
        let filler = self.parameters.record_size.saturating_sub(FIXED_BYTES).max(1);
        let schema = include_str!("ycsb/schema.sql");
        Cow::Owned(schema.replace("char(84)", &format!("char({filler})")))
    }

    fn procedures_sql(&self) -> Cow<'static, str> {
        Cow::Borrowed(include_str!("ycsb/procedures.sql"))
    }

    fn procedures(&self) -> &'static [&'static str] {
        &PROCEDURES
    }

    fn load(&self, part: Share, seed: u64, sink: &mut RowSink<'_>) -> ControlFlow<()> {
        let filler = self.parameters.record_size.saturating_sub(FIXED_BYTES).max(1) as usize;
        let mut row = RowBuffer::new();
        part.range(self.parameters.records).try_for_each(|key| {
            let mut rng = stream(seed, ROW, key);
            row.int(key as i64)
                .int(0)
                .text_with(|heap| alphanumeric(&mut rng, filler, filler, heap));
            row.finish("usertable", sink)
        })
    }

    fn rows_expected(&self) -> u64 {
        self.parameters.records
    }

    fn kinds(&self) -> Vec<KindInfo> {
        let reads = self.parameters.reads / 100.0;
        let all = |ratio: f64| ratio.powi(self.parameters.operations as i32);
        let shares = [all(1.0 - reads), all(reads), 1.0 - all(1.0 - reads) - all(reads)];
        let aborts = self.parameters.aborts / 100.0;
        let kind = |i: usize| KindInfo { name: KINDS[i], share: shares[i].max(0.0), aborts };
        (0..KINDS.len()).map(kind).collect()
    }

    fn generator(&self, worker: Share, seed: u64, resolve: &Resolve<'_>) -> Box<dyn Generator> {
        Box::new(generate::Client::new(&self.parameters, worker, seed, resolve))
    }

    fn checks(&self) -> Vec<Check> {
        vec![
            Check {
                name: "ycsb-counters",
                about: "sum(counter) = increments of committed transactions",
                run: counters,
            },
            Check { name: "ycsb-keys", about: "keys are 0 to n - 1, each once", run: keys },
        ]
    }
}

fn counters(context: &mut dyn CheckContext) -> Finding {
    let Some(increments) = context.tally() else {
        return Finding::Skipped("nobody counted the committed increments");
    };
    let mut sum = 0;
    context.rows("usertable", &["counter"], &mut |row, _| sum += i128::from(row[0].as_int()));
    let mut faults = Faults::default();
    faults.expect(sum == i128::from(increments), || {
        format!("counters add up to {sum}, committed increments to {increments}")
    });
    faults.finish(1, "sum")
}

fn keys(context: &mut dyn CheckContext) -> Finding {
    let mut seen: Vec<bool> = Vec::new();
    let mut faults = Faults::default();
    context.rows("usertable", &["y_id"], &mut |row, _| {
        let key = usize::try_from(row[0].as_int()).unwrap_or(usize::MAX);
        let plausible = key < u32::MAX as usize;
        faults.expect(plausible, || format!("key {} was never loaded", row[0].as_int()));
        if plausible {
            seen.resize(seen.len().max(key + 1), false);
            faults.expect(!seen[key], || format!("key {key} is there twice"));
            seen[key] = true;
        }
    });
    if let Some(missing) = seen.iter().position(|&there| !there) {
        faults.expect(false, || format!("key {missing} is missing"));
    }
    faults.finish(seen.len(), "keys")
}

#[cfg(test)]
mod tests;
