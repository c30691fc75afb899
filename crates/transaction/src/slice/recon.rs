//! Reconnaissance forms of accesses: the same rows, only read.

use crate::program::{Access, Consume, Effect, Expr, RowSetId, RowsTo, SlotId};
use crate::walk;

/// All rows of a path, with nothing filtered.
pub(super) fn all_rows(rows: RowSetId, columns: Vec<Expr>) -> Consume {
    Consume::Rows {
        to: RowsTo::Loop(rows),
        columns,
        distinct: false,
        order_by: Vec::new(),
        limit: None,
        offset: None,
    }
}

/// An access turned into a read that leaves the same values in the same targets: an update's
/// RETURNING sees the values it would have written.
pub(super) fn read_of(access: &Access) -> Access {
    let mut read = access.clone();
    let mut consume = access.effect.consume().clone();
    if let Effect::Update { set, .. } = &access.effect {
        let written: Vec<(SlotId, &Expr)> = access
            .bind
            .iter()
            .filter_map(|&(column, slot)| {
                set.iter().find(|(changed, _)| *changed == column).map(|(_, new)| (slot, new))
            })
            .collect();
        if let Consume::First { into, .. } = &mut consume {
            into.iter_mut().for_each(|(_, value)| walk::substitute(value, &written));
        }
    }
    if let Consume::First { strict, .. } = &mut consume {
        *strict = false;
    }
    read.effect = Effect::Read(consume);
    read
}
