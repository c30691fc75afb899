//! Queries of WITH that are named more than once.
//!
//! Each name stands for the query itself, which is compiled anew there, so that the conditions
//! around it lead to its rows. What calls something volatile runs once for all names, as in
//! PostgreSQL.

use hotrow_query::{Plan, Shared};
use hotrow_transaction::program::SlotId;

use crate::error::Result;
use crate::functions::Volatility;
use crate::hidden::calls_any;
use crate::relation::level::{Bound, Common, Relation};
use crate::scope::Compiler;

impl Compiler<'_> {
    /// A query of WITH as one that runs once, where each run would give other rows: whoever names
    /// it is to see the same.
    pub(super) fn shared_where_volatile(&mut self, common: &Common, bound: Bound) -> Result<Bound> {
        let Bound { plan, outputs } = bound;
        let columns: Vec<_> = outputs.iter().map(|(_, slot)| *slot).collect();
        let is_volatile = calls_any(&common.query.to_string(), self.place, &|row| {
            row.volatility == Volatility::Volatile
        })?;
        if !is_volatile || self.depends_on_rows(&plan, &columns) {
            return Ok(Bound { plan, outputs });
        }
        let mut made = Vec::with_capacity(outputs.len());
        for (name, slot) in &outputs {
            made.push((name.clone(), self.temporary(name, self.slot_type(*slot).packed())?));
        }
        let shared = Shared {
            number: common.shared,
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
