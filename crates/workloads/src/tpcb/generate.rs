//! TPC-B's calls: an account, a teller and an amount, chosen as the specification says.
//!
//! Role         one [`Client`] per worker
//! Invariants   I1 the branch is the teller's; the account is one of the branch's, but for
//!              `remote` percent of the transactions, where it is another branch's

use hotrow_base::ids::ProcedureId;
use hotrow_transaction::invocation::Invocation;
use rand::rngs::SmallRng;

use super::{MIXED, PROCEDURES, Place, READ, TELLERS, TpcbParameters, UPDATE};
use crate::random::{happens, stream, uniform};
use crate::workload::{Generator, Resolve, Share, TransactionKind};
use crate::ycsb::Zipf;

/// The greatest amount; amounts lie between it and its negative.
const DELTA_MAX: i64 = 999_999;
/// Bits of account, teller and branch in `h_updates`.
const ALL_UPDATES: u8 = 0b111;

pub(super) struct Client {
    parameters: TpcbParameters,
    procedures: [ProcedureId; 3],
    rng: SmallRng,
    /// of all tellers, and of the accounts of a branch; none: uniform
    zipf: Option<(Zipf, Zipf)>,
}

impl Client {
    pub(super) fn new(
        parameters: &TpcbParameters,
        worker: Share,
        seed: u64,
        resolve: &Resolve<'_>,
    ) -> Self {
        let (tellers, theta) = (parameters.branches * TELLERS, parameters.theta);
        let zipf = |count: u32| Zipf::new(count.into(), theta);
        Self {
            parameters: parameters.clone(),
            procedures: PROCEDURES.map(resolve),
            rng: stream(seed, Place::Client as u64, worker.index.into()),
            zipf: (theta > 0.0).then(|| (zipf(tellers), zipf(parameters.accounts))),
        }
    }

    /// A number below `count`.
    fn below(&mut self, count: u32) -> u32 {
        uniform(&mut self.rng, 0..=u64::from(count) - 1) as u32
    }

    fn teller(&mut self) -> u32 {
        match &self.zipf {
            Some((tellers, _)) => tellers.draw(&mut self.rng) as u32,
            None => self.below(self.parameters.branches * TELLERS),
        }
    }

    fn account(&mut self, branch: u32) -> u32 {
        let branches = self.parameters.branches;
        let mut home = branch;
        if branches > 1 && happens(&mut self.rng, self.parameters.remote) {
            let drawn = self.below(branches - 1);
            home = if drawn < branch { drawn } else { drawn + 1 };
        }
        let local = match &self.zipf {
            Some((_, accounts)) => accounts.draw(&mut self.rng) as u32,
            None => self.below(self.parameters.accounts),
        };
        home * self.parameters.accounts + local
    }

    /// Which updates are left, as bits.
    fn updates(&mut self) -> u8 {
        if self.parameters.reads == 0.0 {
            return ALL_UPDATES;
        }
        let reads = self.parameters.reads;
        let mut bit = |bit: u8| if happens(&mut self.rng, reads) { 0 } else { bit };
        bit(1) | bit(2) | bit(4)
    }
}

impl Generator for Client {
    fn next(&mut self, invocation: &mut Invocation) -> TransactionKind {
        let teller = self.teller();
        let branch = teller / TELLERS;
        let account = self.account(branch);
        let delta = uniform(&mut self.rng, 0..=2 * DELTA_MAX as u64) as i64 - DELTA_MAX;
        let updates = self.updates();
        let kind = match updates {
            0 => READ,
            ALL_UPDATES => UPDATE,
            _ => MIXED,
        };
        invocation.procedure = self.procedures[kind.index()];
        let arguments = &mut invocation.arguments;
        arguments.clear();
        for index in [account, teller, branch] {
            arguments.push_int(i64::from(index) + 1);
        }
        if kind != READ {
            arguments.push_int(delta);
        }
        if kind == MIXED {
            arguments.push_int(updates.into());
        }
        kind
    }
}
