//! TPC-B, standard specification revision 2.0: a bank's branches, tellers and accounts.
//!
//! Role         the workload `tpcb`; what it keeps of the specification is in `docs/workloads.md`
//! Source       the specification's transaction profile, tables, scaling and 85/15 rule;
//!              locking.txt 6.2 (20 branches, 200 tellers, 2 million accounts; updates turned into
//!              reads) and 6.3 (Zipf-distributed records). We differ: no terminals and no response
//!              times, so results are no tpsB and must not be called so.

mod check;
mod generate;

use std::borrow::Cow;
use std::ops::ControlFlow;

use crate::check::Check;
use crate::parameter::{ParameterError, ParameterInfo, Parameters, require};
use crate::random::{alphanumeric, stream};
use crate::row::{RowBuffer, RowSink};
use crate::workload::{Generator, KindInfo, Resolve, Share, TransactionKind, Workload};
use crate::{choices, parameters};

/// Tellers of each branch.
pub const TELLERS: u32 = 10;

choices! {
    /// What the primary indexes are.
    Index {
        /// hash indexes
        Hash => "hash",
        /// B+-trees, as in locking.txt
        Btree => "btree",
    }
}

parameters! {
    /// What TPC-B can be asked to be.
    TpcbParameters {
        branches: u32 = 1, "number of branches, the scale of everything";
        accounts: u32 = 100_000, "accounts of each branch; fewer only for tests";
        remote: f64 = 15.0, "percent of transactions with an account of another branch";
        reads: f64 = 0.0, "percent of updates turned into reads of the same record";
        theta: f64 = 0.0, "skew of Zipf distributions of tellers and of accounts, 0 to 1";
        index: Index = Index::Hash, "primary indexes of branches, tellers and accounts";
    }
}

impl Parameters for TpcbParameters {
    fn list(&self) -> Vec<ParameterInfo> {
        self.list_all()
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), ParameterError> {
        self.set_one(name, text)
    }

    fn validate(&self) -> Result<(), ParameterError> {
        let accounts = u64::from(self.branches) * u64::from(self.accounts);
        require((1..=20_000).contains(&self.branches), "branches: 1 to 20000")?;
        require((3..=100_000).contains(&self.accounts), "accounts: 3 to 100000")?;
        require(accounts <= i32::MAX as u64, "branches: too many for so many accounts of each")?;
        require((0.0..=100.0).contains(&self.remote), "remote: 0 to 100 percent")?;
        require((0.0..=100.0).contains(&self.reads), "reads: 0 to 100 percent")?;
        require((0.0..=1.0).contains(&self.theta), "theta: 0 to 1")
    }
}

/// Transactions that update account, teller and branch.
pub const UPDATE: TransactionKind = TransactionKind(0);
/// Transactions that read all three.
pub const READ: TransactionKind = TransactionKind(1);
/// Transactions that do both.
pub const MIXED: TransactionKind = TransactionKind(2);

const KINDS: [&str; 3] = ["update", "read", "mixed"];
const PROCEDURES: [&str; 3] = ["tpcb_update", "tpcb_read", "tpcb_mixed"];

/// Streams of random numbers, one per kind of row.
#[derive(Clone, Copy)]
enum Place {
    Branch = 300,
    Teller,
    Account,
    Client,
}

/// The workload `tpcb`.
#[derive(Clone, Default, Debug)]
pub struct Tpcb {
    /// its parameters
    pub parameters: TpcbParameters,
}

impl Tpcb {
    /// Loads a share of `count` rows of one table: the number from 1, the branch where a branch has
    /// `per_branch` of them, a balance of 0 and so many characters of filler.
    fn load_table(
        table: (&'static str, Place, usize),
        (count, per_branch): (u64, u64),
        (part, seed): (Share, u64),
        sink: &mut RowSink<'_>,
    ) -> ControlFlow<()> {
        let (name, place, filler) = table;
        let mut row = RowBuffer::new();
        part.range(count).try_for_each(|index| {
            let mut rng = stream(seed, place as u64, index);
            row.int(index as i64 + 1);
            if per_branch > 1 {
                row.int((index / per_branch) as i64 + 1);
            }
            row.int(0).text_with(|heap| alphanumeric(&mut rng, filler, filler, heap));
            row.finish(name, sink)
        })
    }
}

impl Workload for Tpcb {
    fn name(&self) -> &'static str {
        "tpcb"
    }

    fn about(&self) -> &'static str {
        "TPC-B 2.0: one bank transaction over four tables; contention at branches and tellers"
    }

    fn parameters(&self) -> &dyn Parameters {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut dyn Parameters {
        &mut self.parameters
    }

    fn schema_sql(&self) -> Cow<'static, str> {
        let schema = include_str!("tpcb/schema.sql");
        match self.parameters.index {
            Index::Hash => Cow::Borrowed(schema),
            Index::Btree => Cow::Owned(schema.replace("= hash", "= btree")),
        }
    }

    fn procedures_sql(&self) -> Cow<'static, str> {
        Cow::Borrowed(include_str!("tpcb/procedures.sql"))
    }

    fn procedures(&self) -> &'static [&'static str] {
        &PROCEDURES
    }

    fn load(&self, part: Share, seed: u64, sink: &mut RowSink<'_>) -> ControlFlow<()> {
        let branches = u64::from(self.parameters.branches);
        let (tellers, accounts) = (u64::from(TELLERS), u64::from(self.parameters.accounts));
        let from = (part, seed);
        Self::load_table(("branch", Place::Branch, 88), (branches, 1), from, sink)?;
        let counts = (branches * tellers, tellers);
        Self::load_table(("teller", Place::Teller, 84), counts, from, sink)?;
        let counts = (branches * accounts, accounts);
        Self::load_table(("account", Place::Account, 84), counts, from, sink)
    }

    fn rows_expected(&self) -> u64 {
        let accounts = u64::from(self.parameters.accounts);
        u64::from(self.parameters.branches) * (1 + u64::from(TELLERS) + accounts)
    }

    fn kinds(&self) -> Vec<KindInfo> {
        let reads = self.parameters.reads / 100.0;
        let all = |ratio: f64| ratio.powi(3);
        let shares = [all(1.0 - reads), all(reads), 1.0 - all(1.0 - reads) - all(reads)];
        let kind = |i: usize| KindInfo { name: KINDS[i], share: shares[i].max(0.0), aborts: 0.0 };
        (0..KINDS.len()).map(kind).collect()
    }

    fn generator(&self, worker: Share, seed: u64, resolve: &Resolve<'_>) -> Box<dyn Generator> {
        Box::new(generate::Client::new(&self.parameters, worker, seed, resolve))
    }

    fn checks(&self) -> Vec<Check> {
        check::CHECKS.to_vec()
    }
}

#[cfg(test)]
mod tests;
