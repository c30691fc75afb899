//! The key/value microbenchmark of partitioned.txt: transactions of one partition, or of two.
//!
//! Role         the workload `kv`; partitions and keys are known from parameters, and clients
//!              share keys only as far as they are told to, so that what is measured is what a
//!              call of several partitions costs the others
//! Source       partitioned.txt 5 (3-byte keys, 4-byte values), 5.1 (12 keys, two partitions, 40
//!              clients with keys of their own), 5.2 (conflicts), 5.3 (aborts), 5.4 (two rounds).
//!              We differ: "write" means add, so that lost updates can be counted; which partition
//!              a key is in stands in a column of its own in front of it; there may be more than
//!              two partitions, and each has a first client whose keys others ask for then

mod generate;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use hotrow_transaction::routing::{PARTITIONS_MAX, partition_of_bigint};

use crate::check::{Check, CheckContext, Faults, Finding};
use crate::parameter::{ParameterError, ParameterInfo, Parameters, require};
use crate::parameters;
use crate::row::{RowBuffer, RowSink};
use crate::workload::{Generator, KindInfo, Resolve, Share, TransactionKind, Workload};

parameters! {
    /// What the key/value store can be asked to be.
    KvParameters {
        partitions: u32 = 2, "partitions, as engines with so many of them route";
        clients: u32 = 40, "clients with keys of their own; each worker stands for some of them";
        multi_partition: f64 = 0.0, "percent of transactions with keys of two partitions";
        conflict: f64 = 0.0, "percent of calls that write a key of a partition's first client";
        aborts: f64 = 0.0, "percent of transactions that abort, at one partition";
        rounds: u32 = 1, "2: calls of two partitions write what depends on reads in both";
    }
}

impl Parameters for KvParameters {
    fn list(&self) -> Vec<ParameterInfo> {
        self.list_all()
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), ParameterError> {
        self.set_one(name, text)
    }

    fn validate(&self) -> Result<(), ParameterError> {
        let partitions = 1..=PARTITIONS_MAX.into();
        require(partitions.contains(&self.partitions), "partitions: 1 to 1024")?;
        require((1..=CLIENTS_MAX).contains(&self.clients), "clients: 1 to 1000000")?;
        require(
            self.rows() <= u64::from(u32::MAX),
            "partitions, clients: 12 keys of each client in each partition make 4294967295 rows \
             at most",
        )?;
        require(
            (0.0..=100.0).contains(&self.multi_partition),
            "multi-partition: 0 to 100 percent",
        )?;
        require((0.0..=100.0).contains(&self.conflict), "conflict: 0 to 100 percent")?;
        require((0.0..=100.0).contains(&self.aborts), "aborts: 0 to 100 percent")?;
        require((1..=2).contains(&self.rounds), "rounds: 1 or 2")?;
        require(
            self.multi_partition == 0.0 || self.partitions >= 2,
            "multi-partition: needs two partitions at least",
        )?;
        require(
            self.conflict == 0.0 || self.clients > self.partitions,
            "conflict: needs more clients than partitions; each partition's first client has the \
             keys that the others ask for",
        )
    }
}

impl KvParameters {
    /// Rows of the table. Saturates, so that it can be asked before `validate`.
    fn rows(&self) -> u64 {
        u64::from(self.partitions) * u64::from(self.clients).saturating_mul(KEYS)
    }

    /// What stands in the column `kv_partition` of each partition's rows: the least number that
    /// engines with so many partitions route there.
    fn numbers(&self) -> Vec<i64> {
        let mut numbers = vec![None; self.partitions as usize];
        let mut left = numbers.len();
        for number in 0_i64.. {
            if left == 0 {
                break;
            }
            let partition = partition_of_bigint(number, self.partitions as u16).0;
            let slot: &mut Option<i64> = &mut numbers[usize::from(partition)];
            left -= usize::from(slot.is_none());
            slot.get_or_insert(number);
        }
        numbers.into_iter().map(|number| number.expect("none is left")).collect()
    }

    /// Whether a client keeps to one partition when it keeps to one at all, and to which: the
    /// first client of each partition does, where others ask for its keys (partitioned.txt 5.2).
    fn pinned(&self, client: u32) -> Option<u32> {
        (self.conflict > 0.0 && client < self.partitions).then_some(client)
    }
}

/// Keys that a transaction reads and writes, and that each client has in each partition.
const KEYS: u64 = 12;
/// Most clients: their keys have numbers of 3 bytes, and one number is nobody's.
const CLIENTS_MAX: u32 = 1_000_000;
/// The key that is never there.
const MISSING: [u8; 3] = [0xff; 3];
const _: () = assert!(CLIENTS_MAX as u64 * KEYS < 0xff_ffff);

/// A client's key of this number in each partition.
fn key(client: u32, number: u64) -> [u8; 3] {
    let [.., a, b, c] = (u64::from(client) * KEYS + number).to_be_bytes();
    [a, b, c]
}

/// Transactions of one partition.
pub const SINGLE: TransactionKind = TransactionKind(0);
/// Transactions of two partitions, in one round.
pub const MULTI: TransactionKind = TransactionKind(1);
/// Transactions of two partitions, in two rounds.
pub const TWO_ROUNDS: TransactionKind = TransactionKind(2);

const KINDS: [&str; 3] = ["single", "multi", "two_rounds"];
const PROCEDURES: [&str; 3] = ["kv_single", "kv_multi", "kv_two_rounds"];
/// The same, where calls may abort.
const ABORTING: [&str; 3] = ["kv_single_or_abort", "kv_multi_or_abort", "kv_two_rounds_or_abort"];

/// The workload `kv`.
#[derive(Clone, Default, Debug)]
pub struct Kv {
    /// its parameters
    pub parameters: KvParameters,
}

impl Workload for Kv {
    fn name(&self) -> &'static str {
        "kv"
    }

    fn about(&self) -> &'static str {
        "12 keys of one partition or of two, with conflicts, aborts and two rounds if asked for"
    }

    fn parameters(&self) -> &dyn Parameters {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut dyn Parameters {
        &mut self.parameters
    }

    fn schema_sql(&self) -> Cow<'static, str> {
        Cow::Borrowed(include_str!("kv/schema.sql"))
    }

    fn procedures_sql(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self.parameters.aborts > 0.0 {
            true => include_str!("kv/aborting.sql"),
            false => include_str!("kv/procedures.sql"),
        })
    }

    fn procedures(&self) -> &'static [&'static str] {
        if self.parameters.aborts > 0.0 { &ABORTING } else { &PROCEDURES }
    }

    fn load(&self, part: Share, _: u64, sink: &mut RowSink<'_>) -> ControlFlow<()> {
        let numbers = self.parameters.numbers();
        let per_partition = u64::from(self.parameters.clients) * KEYS;
        let mut row = RowBuffer::new();
        part.range(self.parameters.rows()).try_for_each(|at| {
            let (partition, at) = ((at / per_partition) as usize, at % per_partition);
            let key = key((at / KEYS) as u32, at % KEYS);
            row.int(numbers[partition]).text_with(|heap| heap.extend_from_slice(&key)).int(0);
            row.finish("kv", sink)
        })
    }

    fn rows_expected(&self) -> u64 {
        self.parameters.rows()
    }

    fn kinds(&self) -> Vec<KindInfo> {
        let multi = self.parameters.multi_partition / 100.0;
        let shares = match self.parameters.rounds {
            1 => [1.0 - multi, multi, 0.0],
            _ => [1.0 - multi, 0.0, multi],
        };
        let aborts = self.parameters.aborts / 100.0;
        let kind = |i: usize| KindInfo { name: KINDS[i], share: shares[i], aborts };
        (0..KINDS.len()).map(kind).collect()
    }

    fn generator(&self, worker: Share, seed: u64, resolve: &Resolve<'_>) -> Box<dyn Generator> {
        let procedures = std::array::from_fn(|kind| resolve(self.procedures()[kind]));
        Box::new(generate::Clients::new(&self.parameters, worker, seed, procedures))
    }

    fn checks(&self) -> Vec<Check> {
        vec![
            Check {
                name: "kv-values",
                about: "sum(kv_value) = 12 for each committed transaction",
                run: values,
            },
            Check {
                name: "kv-keys",
                about: "each partition has the same keys, of 3 bytes, each once, 12 to a client",
                run: keys,
            },
        ]
    }
}

fn values(context: &mut dyn CheckContext) -> Finding {
    let Some(written) = context.tally() else {
        return Finding::Skipped("nobody counted the committed writes");
    };
    let mut sum = 0;
    context.rows("kv", &["kv_value"], &mut |row, _| sum += i128::from(row[0].as_int()));
    let mut faults = Faults::default();
    faults.expect(sum == i128::from(written), || {
        format!("values add up to {sum}, committed writes to {written}")
    });
    faults.finish(1, "sum")
}

fn keys(context: &mut dyn CheckContext) -> Finding {
    let mut partitions: BTreeMap<i64, Vec<bool>> = BTreeMap::new();
    let (mut rows, mut faults) = (0, Faults::default());
    context.rows("kv", &["kv_partition", "kv_key"], &mut |row, heap| {
        rows += 1;
        let (partition, key) = (row[0].as_int(), &heap[row[1].as_range().range()]);
        faults.expect(key.len() == 3, || format!("a key of kv_partition {partition} is {key:?}"));
        let &[a, b, c] = key else { return };
        let number = u32::from_be_bytes([0, a, b, c]) as usize;
        let seen = partitions.entry(partition).or_default();
        seen.resize(seen.len().max(number + 1), false);
        faults.expect(!seen[number], || {
            format!("key {key:?} of kv_partition {partition} is there twice")
        });
        seen[number] = true;
    });
    let most = partitions.values().map(Vec::len).max().unwrap_or(0).next_multiple_of(KEYS as usize);
    for (partition, seen) in &partitions {
        let there = seen.iter().filter(|&&there| there).count();
        faults.expect(there == most, || {
            format!("kv_partition {partition} has {there} keys, where {most} were loaded")
        });
    }
    faults.finish(rows, "keys")
}

#[cfg(test)]
mod tests;
