//! What a workload is: schema, procedures, population, calls, checks.
//!
//! Role         implemented once per benchmark; used by the bench driver, the conformance suite and
//!              crash tests, which load it into any engine through SQL and rows
//! Invariants   I1 the population depends on parameters and seed, never on the number of parts
//!              I2 the calls of worker `w` depend on parameters, seed, `w` and the number of
//!              workers
//!              I3 a generator allocates nothing once the invocation's buffers have grown

use std::borrow::Cow;
use std::ops::{ControlFlow, Range};

use hotrow_base::ids::ProcedureId;
use hotrow_transaction::invocation::Invocation;

use crate::check::Check;
use crate::parameter::Parameters;
use crate::row::RowSink;

/// One of several equal shares: a loader's part, or a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// which, from 0
    pub index: u32,
    /// how many there are, at least 1
    pub of: u32,
}

impl Share {
    /// Everything in one share.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// This share of `0..total`; the shares of all indexes cover it without overlap.
    pub fn range(self, total: u64) -> Range<u64> {
        let at = |index: u32| {
            let product = u128::from(total) * u128::from(index) / u128::from(self.of);
            u64::try_from(product).expect("index <= of, so the product is at most total")
        };
        at(self.index)..at(self.index + 1)
    }
}

/// One kind of transaction of a workload: an index into [`Workload::kinds`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TransactionKind(pub u8);

impl TransactionKind {
    /// The kind as an index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What reports say about one kind of transaction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KindInfo {
    /// its name in reports
    pub name: &'static str,
    /// its expected share of all transactions, 0 to 1
    pub share: f64,
    /// share of this kind that the procedure itself aborts, 0 to 1
    pub aborts: f64,
}

/// Finds the id a procedure was registered under.
pub type Resolve<'a> = dyn Fn(&str) -> ProcedureId + 'a;

/// A benchmark.
pub trait Workload: Send + Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// One sentence for `--help`.
    fn about(&self) -> &'static str;

    /// Its parameters, to be shown.
    fn parameters(&self) -> &dyn Parameters;

    /// Its parameters, to be set.
    fn parameters_mut(&mut self) -> &mut dyn Parameters;

    /// Names of the parameters that schema, procedures, population and checks depend on, if others
    /// only say which calls are made: a population serves all values of those. None: all count.
    fn population_parameters(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// CREATE TABLE and CREATE INDEX statements. Indexes may be created before or after loading.
    fn schema_sql(&self) -> Cow<'static, str>;

    /// CREATE FUNCTION and CREATE PROCEDURE statements.
    fn procedures_sql(&self) -> Cow<'static, str>;

    /// Names of the procedures that generators call.
    fn procedures(&self) -> &'static [&'static str];

    /// Produces one part of the population, table by table, rows in CREATE TABLE's column order.
    /// Parts may be produced by several threads at once. Ends early when the sink breaks.
    fn load(&self, part: Share, seed: u64, sink: &mut RowSink<'_>) -> ControlFlow<()>;

    /// Rows that all parts produce together; for some tables an estimate.
    fn rows_expected(&self) -> u64;

    /// The kinds of transactions, in the order of their numbers.
    fn kinds(&self) -> Vec<KindInfo>;

    /// The calls of one worker. `seed` is the run's, the same for all its workers.
    fn generator(&self, worker: Share, seed: u64, resolve: &Resolve<'_>) -> Box<dyn Generator>;

    /// What must hold after any run that started on a fresh population.
    fn checks(&self) -> Vec<Check>;
}

/// An endless stream of calls.
pub trait Generator: Send {
    /// Fills in procedure and arguments of the next call. The call's time is the caller's to set.
    fn next(&mut self, invocation: &mut Invocation) -> TransactionKind;

    /// What the last call adds to the workload's tally when it commits (YCSB: how many counters it
    /// increments). Drivers add it up over committed calls for [`crate::CheckContext::tally`].
    fn tally(&self) -> u64 {
        0
    }
}
