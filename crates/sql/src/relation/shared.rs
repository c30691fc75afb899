//! Queries of WITH that are named more than once.
//!
//! Each name stands for the query itself, which is compiled anew there, so that the conditions
//! around it lead to its rows. What calls something volatile runs once for all names, as in
//! PostgreSQL.

use hotrow_query::{Plan, Shared};
use hotrow_transaction::program::{Place, SlotId};
use sqlparser::ast;

use crate::error::Result;
use crate::functions::{FunctionRow, Volatility};
use crate::hidden::calls_any;
use crate::relation::level::{Bound, Common, Relation};
use crate::scope::Compiler;

impl Compiler<'_> {
    /// The number of a query of WITH, if each run of it would give other rows: whoever names it is
    /// to see the same.
    pub(super) fn shared_number(
        &mut self,
        query: &ast::Query,
        place: Place,
    ) -> Result<Option<usize>> {
        let is_volatile = |row: &FunctionRow| row.volatility == Volatility::Volatile;
        if !calls_any(&query.to_string(), place, &is_volatile)? {
            return Ok(None);
        }
        self.shared_queries += 1;
        Ok(Some(self.shared_queries))
    }

    /// A query of WITH as one that runs once, if it has a number for that.
    pub(super) fn shared(&mut self, common: &Common, bound: Bound) -> Result<Bound> {
        let Some(number) = common.shared else { return Ok(bound) };
        let Bound { plan, outputs } = bound;
        let columns: Vec<_> = outputs.iter().map(|(_, slot)| *slot).collect();
        if self.depends_on_rows(&plan, &columns) {
            return Ok(Bound { plan, outputs });
        }
        let mut made = Vec::with_capacity(outputs.len());
        for (name, slot) in &outputs {
            made.push((name.clone(), self.temporary(name, self.slot_type(*slot).packed())?));
        }
        let shared = Shared {
            number,
            rows: (plan, columns),
            outputs: made.iter().map(|(_, slot)| *slot).collect(),
        };
        Ok(Bound { plan: Plan::Shared(Box::new(shared)), outputs: made })
    }

    /// Whether these columns of a plan's rows depend on the rows around it, or on a round of a
    /// recursion around it.
    fn depends_on_rows(&self, plan: &Plan, columns: &[SlotId]) -> bool {
        let (mut rounds, mut own) = (Vec::new(), Vec::new());
        plan.walk(&mut |plan| match plan {
            Plan::Round { table, .. } => rounds.push(*table),
            Plan::Recursion(recursion) => own.push(recursion.table),
            _ => {}
        });
        if rounds.iter().any(|table| !own.contains(table)) {
            return true;
        }
        let read = plan.free_slots_with(columns);
        let relations = self.levels.iter().flat_map(|level| &level.relations);
        relations.flat_map(Relation::slots).any(|slot| read.contains(&slot))
    }
}
