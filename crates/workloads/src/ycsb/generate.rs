//! YCSB's calls: which keys, in which order, read or incremented.
//!
//! Role         one [`Client`] per worker. Keys are drawn as (partition, local number): the first
//!              local numbers of each partition are its hot records. As engines route, a partition
//!              has keys from everywhere: local numbers are keys then, drawn until one fits
//! Invariants   I1 the keys of one transaction are all different
//!              I2 a transaction of `spread` partitions has a key in each, operations permitting

use hotrow_base::ids::ProcedureId;
use hotrow_transaction::invocation::Invocation;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use super::{
    KeyOrder, MIXED, PROCEDURES, Partitioning, READ, UPDATE, UPDATE_OR_ABORT, YcsbParameters, Zipf,
};
use crate::random::{happens, stream, uniform};
use crate::workload::{Generator, Resolve, Share, TransactionKind};

/// Place of the clients' random streams.
const CLIENT: u64 = 201;
/// Draws for one key before the next free one is taken instead.
const DRAWS_MAX: u32 = 64;

pub(super) struct Client {
    parameters: YcsbParameters,
    procedures: [ProcedureId; PROCEDURES.len()],
    rng: SmallRng,
    zipf: Option<Zipf>,
    /// popular rank -> local number: multiplied by this, modulo the records of a partition
    scatter: u64,
    /// the partition in which transactions begin, where the worker has one
    home: Option<u32>,
    /// local numbers of each partition, and how many of them, the first, are hot
    records: u64,
    hot: u64,
    /// key of a partition's local number: its base, plus the number times the stride
    bases: Vec<u64>,
    stride: u64,
    partitions: Vec<u32>,
    keys: Vec<u64>,
    writes: Vec<bool>,
    increments: u64,
}

impl Client {
    pub(super) fn new(
        parameters: &YcsbParameters,
        worker: Share,
        seed: u64,
        resolve: &Resolve<'_>,
    ) -> Self {
        let routed = parameters.partitioning == Partitioning::Routed;
        let (per_partition, hot) = match routed {
            true => (parameters.records, parameters.hot),
            false => (parameters.per_partition(), parameters.hot_per_partition()),
        };
        let zipf = (parameters.theta > 0.0).then(|| Zipf::new(per_partition, parameters.theta));
        let operations = parameters.operations as usize;
        Self {
            parameters: parameters.clone(),
            procedures: PROCEDURES.map(resolve),
            rng: stream(seed, CLIENT, worker.index.into()),
            zipf,
            scatter: if parameters.scatter { coprime_near_golden(per_partition) } else { 1 },
            records: per_partition,
            hot,
            home: parameters.home.then(|| worker.index % parameters.active()),
            bases: (0..parameters.partitions).map(|p| parameters.key(p, 0)).collect(),
            stride: parameters.key(0, 1) - parameters.key(0, 0),
            partitions: Vec::with_capacity(parameters.partitions as usize),
            keys: Vec::with_capacity(operations + 1),
            writes: Vec::with_capacity(operations),
            increments: 0,
        }
    }

    /// The partitions of the next transaction, all different.
    fn choose_partitions(&mut self) {
        let all = self.parameters.partitions;
        let last = u64::from(self.parameters.active()) - 1;
        self.partitions.clear();
        let first = self.home.unwrap_or_else(|| uniform(&mut self.rng, 0..=last) as u32);
        self.partitions.push(first);
        if all == 1 || !happens(&mut self.rng, self.parameters.multi_partition) {
            return;
        }
        while self.partitions.len() < self.parameters.spread.min(all) as usize {
            let other = uniform(&mut self.rng, 0..=u64::from(all) - 1) as u32;
            if !self.partitions.contains(&other) {
                self.partitions.push(other);
            }
        }
    }

    fn key(&self, partition: u32, local: u64) -> u64 {
        self.bases[partition as usize] + local * self.stride
    }

    /// Draws a local number of a partition.
    fn draw(&mut self, partition: u32, hot: bool) -> u64 {
        loop {
            let local = match &self.zipf {
                Some(zipf) => zipf.draw(&mut self.rng) * self.scatter % self.records,
                None => {
                    let (from, to) = self.locals(hot);
                    uniform(&mut self.rng, from..=to - 1)
                }
            };
            if self.has(partition, local) {
                return local;
            }
        }
    }

    /// The local numbers of hot records, or of cold ones.
    fn locals(&self, hot: bool) -> (u64, u64) {
        if hot { (0, self.hot) } else { (self.hot, self.records) }
    }

    /// Whether a partition has a record with this local number.
    fn has(&self, partition: u32, local: u64) -> bool {
        let parameters = &self.parameters;
        parameters.partitioning != Partitioning::Routed || parameters.routed(local) == partition
    }

    fn choose_keys(&mut self) {
        self.keys.clear();
        let mut turn = 0;
        for operation in 0..self.parameters.operations {
            let hot = self.parameters.hot > 0 && operation < self.parameters.hot_operations;
            let partition = self.partitions[turn];
            turn = if turn + 1 == self.partitions.len() { 0 } else { turn + 1 };
            let key = (0..DRAWS_MAX).find_map(|_| {
                let local = self.draw(partition, hot);
                Some(self.key(partition, local)).filter(|key| !self.keys.contains(key))
            });
            let key = key.unwrap_or_else(|| self.next_free(partition, hot));
            self.keys.push(key);
        }
        match self.parameters.order {
            KeyOrder::HotFirst => {}
            KeyOrder::HotLast => self.keys.reverse(),
            KeyOrder::Sorted => self.keys.sort_unstable(),
            KeyOrder::Shuffled => self.keys.shuffle(&mut self.rng),
        }
    }

    /// The first key of the partition's hot or cold records that the transaction has not yet; there
    /// is one, because parameters were validated.
    #[cold]
    fn next_free(&self, partition: u32, hot: bool) -> u64 {
        let (from, to) = self.locals(hot);
        (from..to)
            .filter(|&local| self.has(partition, local))
            .map(|local| self.key(partition, local))
            .find(|key| !self.keys.contains(key))
            .expect("validated: each partition has as many records as operations")
    }

    /// A key of one of the transaction's partitions that no record has.
    fn missing_key(&mut self) -> u64 {
        let partition = *self.partitions.last().expect("a transaction has a partition");
        let first = self.parameters.records.div_ceil(self.stride);
        loop {
            let local = uniform(&mut self.rng, first..=2 * first);
            if self.has(partition, local) {
                return self.key(partition, local);
            }
        }
    }

    fn choose_writes(&mut self) {
        let count = self.keys.len();
        self.writes.clear();
        if self.parameters.reads == 0.0 {
            self.writes.resize(count, true);
        }
        while self.writes.len() < count {
            let reads = happens(&mut self.rng, self.parameters.reads);
            self.writes.push(!reads);
        }
        self.increments = self.writes.iter().filter(|&&write| write).count() as u64;
    }
}

impl Generator for Client {
    fn next(&mut self, invocation: &mut Invocation) -> TransactionKind {
        self.choose_partitions();
        self.choose_keys();
        self.choose_writes();
        let kind = match self.increments {
            0 => READ,
            all if all == self.keys.len() as u64 => UPDATE,
            _ => MIXED,
        };
        let may_abort = self.parameters.aborts > 0.0;
        let procedure = if may_abort { UPDATE_OR_ABORT } else { kind.index() };
        if may_abort && happens(&mut self.rng, self.parameters.aborts) {
            let missing = self.missing_key();
            self.keys.push(missing);
        }
        invocation.procedure = self.procedures[procedure];
        invocation.arguments.clear();
        invocation.arguments.push_int_array(self.keys.iter().map(|&key| key as i64));
        if kind == MIXED {
            // A boolean's datum is that of the integer 0 or 1.
            invocation.arguments.push_int_array(self.writes.iter().map(|&write| write.into()));
        }
        kind
    }

    fn tally(&self) -> u64 {
        self.increments
    }
}

/// A number coprime to `n`, about 0.618 n: multiples of it modulo `n` visit every number once, and
/// neighbours land far apart.
fn coprime_near_golden(n: u64) -> u64 {
    let mut step = (n as f64 * 0.618_033_988_75) as u64 | 1;
    while gcd(step, n) != 1 {
        step += 2;
    }
    step
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
