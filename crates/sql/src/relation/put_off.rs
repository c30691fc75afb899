//! What a select list computes behind ORDER BY, DISTINCT ON and LIMIT.
//!
//! Role         `SELECT id, nextval('s') FROM t ORDER BY at LIMIT 3` draws three numbers, in the
//!              order of the rows that it gives: what has effects, and functions that give rows,
//!              are put off until the rows are sorted, unless something before that reads them
//! Source       PostgreSQL 15, make_sort_input_target in the planner

use hotrow_query::Step;
use hotrow_transaction::program::{Expr, SlotId};
use hotrow_transaction::walk::reads_any;

use crate::relation::level::AskedWindow;

/// The steps of a select list, apart.
#[derive(Default)]
pub(super) struct PutOff {
    /// those that stay where they are: values, and functions that give rows
    pub(super) early: (Vec<Step>, Vec<Step>),
    /// those that come behind, in order
    pub(super) late: Vec<Step>,
    /// whether there are functions that give rows among the late ones
    pub(super) gives_rows: bool,
}

impl PutOff {
    /// Puts off what neither expressions `before` nor windows read.
    pub(super) fn of(
        steps: Vec<Step>,
        expansions: Vec<Step>,
        (before, windows): (&[&Expr], &[AskedWindow]),
    ) -> Self {
        let read_by_windows: Vec<SlotId> = windows.iter().flat_map(AskedWindow::reads).collect();
        let computed: Vec<&Expr> =
            windows.iter().flat_map(|window| window.computed.iter().map(|(of, _)| of)).collect();
        let is_read_before = |given: &[SlotId]| {
            let reads = |of: &&Expr| reads_any(of, |slot| given.contains(&slot));
            before.iter().any(reads)
                || computed.iter().any(reads)
                || read_by_windows.iter().any(|slot| given.contains(slot))
        };
        let given = |steps: &[Step]| -> Vec<SlotId> {
            steps.iter().flat_map(|step| step.outputs.iter().copied()).collect()
        };
        let (mut late, mut early, mut known) = (Vec::new(), Vec::new(), Vec::new());
        for step in steps {
            let waits = step.inputs().iter().any(|slot| known.contains(slot));
            if waits || step.is_volatile() {
                known.extend(step.outputs.iter().copied());
                late.push(step);
            } else {
                early.push(step);
            }
        }
        let gives_rows = !expansions.is_empty() && !is_read_before(&given(&expansions));
        let rows_wait = expansions.iter().any(|step| {
            step.inputs().iter().any(|slot| known.contains(slot)) // computed before they are sorted
        });
        if is_read_before(&known) || rows_wait && !gives_rows {
            early.append(&mut late);
        }
        let (behind, expansions) = match gives_rows {
            true => (expansions, Vec::new()),
            false => (Vec::new(), expansions),
        };
        late.extend(behind);
        Self { early: (early, expansions), late, gives_rows }
    }
}
