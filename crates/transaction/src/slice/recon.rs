//! Reconnaissance forms of accesses: the same rows, only read.

use crate::catalog::Catalog;
use crate::program::{Access, Consume, Effect, Expr, Insert, Path, SlotId};
use crate::walk;

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
        if let Consume::First { into, order_by, .. } = &mut consume {
            into.iter_mut().for_each(|(_, value)| walk::substitute(value, &written));
            order_by.iter_mut().for_each(|key| walk::substitute(&mut key.value, &written));
        }
    }
    if let Consume::First { strict, .. } = &mut consume {
        *strict = false;
    }
    read.effect = Effect::Read(consume);
    read
}

/// What a trial read leaves out from now on: the row that an access removes by its key.
pub(super) fn removal_of(access: &Access) -> Option<Access> {
    let is_by_key = matches!(access.path, Path::Point { .. }) && access.filter.is_none();
    if !is_by_key || !matches!(access.effect, Effect::Delete { .. }) {
        return None;
    }
    let effect = Effect::Delete { consume: Consume::Discard };
    Some(Access { bind: Vec::new(), effect, ..access.clone() })
}

/// Look-ups, one per unique index, that find a row when an insert would conflict with it.
pub(super) fn conflicts<'a>(
    catalog: &'a Catalog,
    insert: &'a Insert,
) -> impl Iterator<Item = Access> + 'a {
    let indexes = catalog.table(insert.table).indexes().map(|id| catalog.index(id));
    indexes.filter(|index| index.unique).map(|index| Access {
        table: insert.table,
        path: Path::Point {
            index: index.id,
            key: index.columns.iter().map(|c| insert.values[c.index()].clone()).collect(),
        },
        bind: Vec::new(),
        filter: None,
        effect: Effect::Read(Consume::Discard),
    })
}
