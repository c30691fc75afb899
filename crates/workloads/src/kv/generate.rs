//! The calls of `kv`: which client, which partitions, whose keys, and which call aborts.
//!
//! Role         one [`Clients`] per worker, which stands for several clients: the first worker for
//!              the first one and every so many behind it, in turn. A client whose next call comes
//!              when all others of its worker have had one is about as often there as in a closed
//!              loop. Where there are more workers than clients, several stand for the same one
//! Invariants   I1 the keys of one call are all different
//!              I2 a call has at most one key that another client owns, so that clients, each of
//!                 one worker, cannot wait for each other in a circle (partitioned.txt 5.2)
//!              I3 a call's partitions ascend, so that I2 holds for workers with one client, too

use hotrow_base::ids::ProcedureId;
use hotrow_transaction::invocation::Invocation;
use rand::rngs::SmallRng;

use super::{KEYS, KvParameters, MISSING, MULTI, SINGLE, TWO_ROUNDS, key};
use crate::random::{happens, stream, uniform};
use crate::workload::{Generator, Share, TransactionKind};

/// Place of the clients' random streams.
const CLIENT: u64 = 500;

/// The clients that one worker stands for.
pub(super) struct Clients {
    parameters: KvParameters,
    /// by kind
    procedures: [ProcedureId; 3],
    rng: SmallRng,
    /// who is next, whom the turn begins with, and how far apart two are
    next: u32,
    first: u32,
    step: u32,
    /// what rows of each partition have in `kv_partition`
    numbers: Vec<i64>,
}

/// What one partition has to do.
struct Work {
    partition: u32,
    keys: u64,
    /// the key of the partition's first client that is written in place of the own one
    conflict: Option<u64>,
    aborts: bool,
}

impl Clients {
    pub(super) fn new(
        parameters: &KvParameters,
        worker: Share,
        seed: u64,
        procedures: [ProcedureId; 3],
    ) -> Self {
        let first = worker.index % parameters.clients;
        Self {
            parameters: parameters.clone(),
            procedures,
            rng: stream(seed, CLIENT, worker.index.into()),
            next: first,
            first,
            step: worker.of,
            numbers: parameters.numbers(),
        }
    }

    /// The client whose turn it is.
    fn client(&mut self) -> u32 {
        let client = self.next;
        let next = client.saturating_add(self.step);
        self.next = if next < self.parameters.clients { next } else { self.first };
        client
    }

    /// A number below `count`.
    fn below(&mut self, count: u64) -> u64 {
        uniform(&mut self.rng, 0..=count - 1)
    }

    /// The one partition of a client's next call, or both of them, ascending.
    fn partitions(&mut self, client: u32) -> (u32, Option<u32>) {
        let all = u64::from(self.parameters.partitions);
        if !happens(&mut self.rng, self.parameters.multi_partition) {
            let pinned = self.parameters.pinned(client);
            return (pinned.unwrap_or_else(|| self.below(all) as u32), None);
        }
        let one = self.below(all) as u32;
        let other = self.below(all - 1) as u32;
        let other = other + u32::from(other >= one);
        (one.min(other), Some(one.max(other)))
    }

    /// One of a call's partitions: where it conflicts, where it aborts.
    fn one_of(&mut self, second: Option<u32>) -> usize {
        if second.is_some() { self.below(2) as usize } else { 0 }
    }

    fn push(&self, client: u32, work: &Work, invocation: &mut Invocation) {
        let arguments = &mut invocation.arguments;
        arguments.push_int(self.numbers[work.partition as usize]);
        if work.aborts {
            arguments.push_bytes(&MISSING);
        } else if self.parameters.aborts > 0.0 {
            arguments.push_null();
        }
        arguments.push_bytes_array((0..work.keys).map(|number| {
            let owner = if work.conflict == Some(number) { work.partition } else { client };
            key(owner, number)
        }));
    }
}

impl Generator for Clients {
    fn next(&mut self, invocation: &mut Invocation) -> TransactionKind {
        let client = self.client();
        let (first, second) = self.partitions(client);
        let kind = match (second, self.parameters.rounds) {
            (None, _) => SINGLE,
            (Some(_), 1) => MULTI,
            (Some(_), _) => TWO_ROUNDS,
        };
        let keys = if second.is_some() { KEYS / 2 } else { KEYS };
        let others = self.parameters.pinned(client).is_none();
        let conflicts = others && happens(&mut self.rng, self.parameters.conflict);
        let conflict = conflicts.then(|| (self.one_of(second), self.below(keys)));
        let aborts = happens(&mut self.rng, self.parameters.aborts).then(|| self.one_of(second));
        invocation.procedure = self.procedures[kind.index()];
        invocation.arguments.clear();
        for (at, partition) in [Some(first), second].into_iter().flatten().enumerate() {
            let conflict = conflict.filter(|&(there, _)| there == at).map(|(_, number)| number);
            let work = Work { partition, keys, conflict, aborts: aborts == Some(at) };
            self.push(client, &work, invocation);
        }
        kind
    }

    fn tally(&self) -> u64 {
        KEYS
    }
}
