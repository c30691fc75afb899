//! Leaves: the statements that are run as units, and what they need and make.

use hotrow_base::ids::TableId;

use crate::catalog::Catalog;
use crate::program::{
    Access, AggregateFunction, Consume, Effect, Expr, Procedure, RowsTo, SlotId, Statement,
    StatementKind,
};
use crate::walk;

/// A statement run as a unit.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// entry in the leaves' program
    pub entry: u16,
    /// slots read; none twice
    pub inputs: Box<[Input]>,
    /// conditions under which it runs at all
    pub guards: Box<[Guard]>,
    /// slots made
    pub outputs: Box<[SlotId]>,
    /// its first access site
    pub site: Option<u16>,
    /// runs nothing, but stops with [`crate::outcome::Stop::Replan`] unless its input has this
    /// truth, which reconnaissance predicted
    pub expects: Option<bool>,
    /// may end the call with an error, or with the need for another plan
    pub stops: bool,
    /// the program decides here whether the call goes on: one of what [`stops`](Leaf::stops), but
    /// for errors that only wrong data lead to (a number out of range, a duplicate key)
    pub decides: bool,
    /// changes records
    pub writes: bool,
    /// may append rows to the result
    pub returns: bool,
}

/// A slot that a leaf reads.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// the slot
    pub slot: SlotId,
    /// planning knows its value
    pub known: bool,
}

/// A condition that was computed by another leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    /// slot of the condition
    pub slot: SlotId,
    /// whether it must be true; else it must be false or NULL
    pub when: bool,
}

/// Whether anything in a statement may end the call with an error.
pub(super) fn may_stop(procedure: &Procedure, statement: &Statement) -> bool {
    any(statement, |inner| match &inner.kind {
        StatementKind::Assign { slot, value } => {
            let slot = &procedure.slots[slot.index()];
            slot.sql_type != value.sql_type || walk::can_fail(value)
        }
        StatementKind::Access(access) => access_may_stop(access),
        StatementKind::ForQuery { query, .. } => access_may_stop(query),
        StatementKind::Insert(_)
        | StatementKind::ForOperators(_)
        | StatementKind::ForRange { .. }
        | StatementKind::ForEach { .. }
        | StatementKind::Loop { .. }
        | StatementKind::Protected(_)
        | StatementKind::Recur(_)
        | StatementKind::Raise(_)
        | StatementKind::Notice(..) => true,
        StatementKind::If { condition, .. } => walk::can_fail(condition),
        StatementKind::Return(values) | StatementKind::ReturnNext(values) => {
            let columns = &procedure.result;
            values.iter().zip(columns).any(|(value, column)| {
                value.data_type() != column.data_type || walk::can_fail(value)
            })
        }
        StatementKind::Block { .. } | StatementKind::Leave(_) | StatementKind::Mark(_) => false,
    })
}

fn access_may_stop(access: &Access) -> bool {
    let consume = match access.effect.consume() {
        Consume::Discard => false,
        Consume::First { strict, offset, .. } => *strict || offset.is_some(),
        Consume::Rows { limit, offset, .. } => limit.is_some() || offset.is_some(),
        Consume::Aggregate { aggregates, .. } => aggregates.iter().any(|aggregate| {
            matches!(aggregate.function, AggregateFunction::Sum | AggregateFunction::Avg)
        }),
    };
    let fails = |expr: &&Expr| walk::can_fail(expr);
    consume
        || matches!(access.effect, Effect::Update { .. })
        || walk::path_exprs(&access.path).iter().any(fails)
        || walk::row_exprs(access).iter().any(fails)
}

/// Whether anything in a statement ends the call as the program means it to: RAISE, STRICT, a CHECK
/// of a table that is written.
pub(super) fn decides(catalog: &Catalog, statement: &Statement) -> bool {
    let has_checks = |table: TableId| catalog.table(table).all_checks().next().is_some();
    let access_decides = |access: &Access| match access.effect {
        Effect::Update { .. } => has_checks(access.table),
        _ => matches!(access.effect.consume(), Consume::First { strict: true, .. }),
    };
    any(statement, |inner| match &inner.kind {
        StatementKind::Raise(_) => true,
        StatementKind::Insert(insert) => has_checks(insert.table),
        StatementKind::Access(access) => access_decides(access),
        StatementKind::ForQuery { query, .. } => access_decides(query),
        _ => false,
    })
}

/// Whether anything in a statement changes records.
pub(super) fn may_write(statement: &Statement) -> bool {
    any(statement, |inner| match &inner.kind {
        StatementKind::Access(access) | StatementKind::ForQuery { query: access, .. } => {
            !matches!(access.effect, Effect::Read(_))
        }
        StatementKind::Insert(_) => true,
        _ => false,
    })
}

/// Whether anything in a statement appends to the result, or to what is said beside it.
pub(super) fn may_return(statement: &Statement) -> bool {
    any(statement, |inner| match &inner.kind {
        StatementKind::Access(access) => {
            matches!(access.effect.consume(), Consume::Rows { to: RowsTo::Result, .. })
        }
        StatementKind::Return(values) => !values.is_empty(),
        StatementKind::ReturnNext(_) | StatementKind::Notice(..) => true,
        _ => false,
    })
}

/// Whether a statement has access sites in it.
pub(super) fn has_site(statement: &Statement) -> bool {
    any(statement, |inner| walk::own_site(inner).is_some())
}

pub(super) fn any(statement: &Statement, is: impl FnMut(&Statement) -> bool) -> bool {
    walk::any(std::slice::from_ref(statement), is)
}
