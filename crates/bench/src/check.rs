//! The checks after a run: the workload's own, over rows at rest, and the driver's.

use hotrow::{Database, Datum, Statistics};
use hotrow_workloads::{CheckContext, TransactionKind, Workload};

use crate::books::SourceBooks;
use crate::error::BenchError;
use crate::report::CheckReport;

/// Everything that was committed since the population was loaded.
#[derive(Clone, Default, Debug)]
pub(crate) struct Totals {
    /// by kind
    pub(crate) committed: Vec<u64>,
    pub(crate) tally: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, books: &SourceBooks) {
        self.committed.resize(books.kinds.len(), 0);
        for (sum, kind) in self.committed.iter_mut().zip(&books.kinds) {
            *sum += kind.all.committed;
        }
        self.tally += books.tally;
    }
}

/// Rows at rest that checks look at.
pub(crate) trait AtRest {
    /// Visits every row of a table: the datums of the named columns and the heap that they point
    /// into.
    fn visit(
        &mut self,
        table: &str,
        columns: &[&str],
        visit: &mut dyn FnMut(&[Datum], &[u8]),
    ) -> Result<(), BenchError>;
}

/// Runs the workload's checks over rows.
pub(crate) fn of_workload(
    workload: &dyn Workload,
    rows: impl AtRest,
    totals: &Totals,
) -> Result<Vec<CheckReport>, BenchError> {
    let mut context = Context { rows, totals, error: None };
    let mut reports = Vec::new();
    for check in workload.checks() {
        let result = check.result(&mut context);
        if let Some(error) = context.error.take() {
            return Err(error);
        }
        reports.push(CheckReport {
            name: result.name.to_owned(),
            holds: result.holds(),
            detail: result.detail().to_owned(),
        });
    }
    Ok(reports)
}

/// Whether calls ended as their kinds may, and as the engine says.
pub(crate) fn of_driver(books: &SourceBooks, engine: &Statistics) -> Vec<CheckReport> {
    let ends = books.all();
    let engine_says = (engine.committed, engine.user_aborts);
    let agree = (ends.committed, ends.user_aborts) == engine_says;
    let agreed = if agree { "agree on" } else { "differ; sources counted" };
    let mut counts = format!("sources and engine {agreed} {} commits", ends.committed);
    if !agree {
        counts = format!("{counts} and {ends:?}, the engine {engine_says:?}");
    }
    let agreement = CheckReport { name: "books".to_owned(), holds: agree, detail: counts };
    vec![of_failures(books), agreement]
}

/// Whether no call failed though its kind does not.
pub(crate) fn of_failures(books: &SourceBooks) -> CheckReport {
    let detail = match &books.first_failure {
        None => "no call failed unasked".to_owned(),
        Some(first) => format!("{} calls failed; the first: {first}", books.failures),
    };
    CheckReport { name: "failures".to_owned(), holds: books.failures == 0, detail }
}

/// A database that no engine runs on.
impl AtRest for &Database {
    fn visit(
        &mut self,
        table: &str,
        columns: &[&str],
        visit: &mut dyn FnMut(&[Datum], &[u8]),
    ) -> Result<(), BenchError> {
        let described = self.describe(table)?;
        let place = |name: &&str| {
            let column = described.columns.iter().position(|column| column.name == *name);
            column.expect("checks name columns of their workload's schema")
        };
        let places: Vec<usize> = columns.iter().map(place).collect();
        let mut row = Vec::with_capacity(places.len());
        self.scan_datums(table, |datums, heap| {
            row.clear();
            row.extend(places.iter().map(|&place| datums[place]));
            visit(&row, heap);
        })?;
        Ok(())
    }
}

/// What checks look at; the first error ends them.
struct Context<'a, R> {
    rows: R,
    totals: &'a Totals,
    error: Option<BenchError>,
}

impl<R: AtRest> CheckContext for Context<'_, R> {
    fn rows(&mut self, table: &str, columns: &[&str], visit: &mut dyn FnMut(&[Datum], &[u8])) {
        if self.error.is_none() {
            self.error = self.rows.visit(table, columns, visit).err();
        }
    }

    fn committed(&self, kind: TransactionKind) -> Option<u64> {
        self.totals.committed.get(kind.index()).copied()
    }

    fn tally(&self) -> Option<u64> {
        Some(self.totals.tally)
    }
}
