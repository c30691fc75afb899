//! How a query finds its rows.

use hotrow_transaction::program::{Access, Consume, Effect, Expr, Path, SlotId};
use hotrow_transaction::walk::expr_slots;

use crate::state::Row;

/// How a query finds its rows.
pub(crate) struct Source {
    pub(crate) row: Row,
    pub(crate) path: Path,
    pub(crate) filter: Option<Expr>,
}

impl Source {
    /// The access with this effect; binds only the columns that something reads.
    pub(crate) fn access(self, effect: Effect) -> Access {
        let mut read: Vec<SlotId> = Vec::new();
        let mut note = |expr: &Expr| expr_slots(expr, &mut |slot| read.push(slot));
        self.filter.iter().for_each(&mut note);
        if let Effect::Update { set, .. } = &effect {
            set.iter().for_each(|(_, value)| note(value));
        }
        match effect.consume() {
            Consume::Discard => {}
            Consume::First { into, order_by, .. } => {
                into.iter().for_each(|(_, value)| note(value));
                order_by.iter().for_each(|key| note(&key.value));
            }
            Consume::Aggregate { aggregates, .. } => {
                aggregates.iter().filter_map(|a| a.argument.as_ref()).for_each(note);
            }
            Consume::Rows { columns, order_by, .. } => {
                columns.iter().for_each(&mut note);
                order_by.iter().for_each(|key| note(&key.value));
            }
        }
        read.sort_unstable();
        let bind = self.row.bound.iter().copied();
        let bind = bind.filter(|(_, slot)| read.binary_search(slot).is_ok()).collect();
        Access { table: self.row.table, path: self.path, bind, filter: self.filter, effect }
    }
}
