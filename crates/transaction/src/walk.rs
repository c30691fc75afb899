//! Walks over the procedure tree: expressions' slots, statements' definitions, access sites.
//!
//! Role         shared by everything that analyses a procedure (binding times, granules, slices,
//!              actions, EXPLAIN); changes nothing

pub(crate) mod expression;

pub use expression::{
    can_fail, expr_slots, map_slots, map_types, operands, operands_mut, reads_any, substitute,
};

use hotrow_base::ids::TableId;

use crate::program::{
    Access, Consume, Effect, Elements, Expr, Insert, LabelId, Path, Protected, RangeEnd, RowSource,
    RowsTo, SlotId, Statement, StatementKind,
};

/// One place where a procedure touches rows. Sites are numbered in preorder; the query of a FOR
/// loop comes before the sites of its body.
#[derive(Clone, Copy, Debug)]
pub enum Site<'a> {
    /// select, update, delete
    Access(&'a Access),
    /// insert
    Insert(&'a Insert),
}

impl Site<'_> {
    /// The table whose rows it touches.
    pub const fn table(&self) -> TableId {
        match self {
            Self::Access(access) => access.table,
            Self::Insert(insert) => insert.table,
        }
    }
}

/// Calls `visit` with every statement of `body`, in preorder.
pub fn statements<'a>(body: &'a [Statement], visit: &mut impl FnMut(&'a Statement)) {
    for statement in body {
        visit(statement);
        for block in blocks(statement) {
            statements(block, visit);
        }
    }
}

/// The statement lists nested in a statement; of operators, their reads come first.
pub fn blocks(statement: &Statement) -> Vec<&[Statement]> {
    match &statement.kind {
        StatementKind::If { then, otherwise, .. } => vec![then, otherwise],
        StatementKind::ForRange { body, .. }
        | StatementKind::ForEach { body, .. }
        | StatementKind::ForQuery { body, .. }
        | StatementKind::Loop { body }
        | StatementKind::Block { body, .. } => vec![body],
        StatementKind::ForOperators(of) => {
            of.reads.iter().map(|read| &read.body[..]).chain([&of.body[..]]).collect()
        }
        StatementKind::Protected(of) => {
            let handlers = of.handlers.iter().map(|handler| &handler.body[..]);
            [&of.body[..]].into_iter().chain(handlers).collect()
        }
        _ => Vec::new(),
    }
}

/// The statement lists nested in a statement, to change them.
pub fn blocks_mut(statement: &mut Statement) -> Vec<&mut Vec<Statement>> {
    match &mut statement.kind {
        StatementKind::If { then, otherwise, .. } => vec![then, otherwise],
        StatementKind::ForRange { body, .. }
        | StatementKind::ForEach { body, .. }
        | StatementKind::ForQuery { body, .. }
        | StatementKind::Loop { body }
        | StatementKind::Block { body, .. } => vec![body],
        StatementKind::ForOperators(of) => {
            of.reads.iter_mut().map(|read| &mut read.body).chain([&mut of.body]).collect()
        }
        StatementKind::Protected(of) => {
            let Protected { body, handlers, .. } = &mut **of;
            let handlers = handlers.iter_mut().map(|handler| &mut handler.body);
            [body].into_iter().chain(handlers).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether any statement of a body is such a one.
pub fn any(body: &[Statement], mut is: impl FnMut(&Statement) -> bool) -> bool {
    let mut found = false;
    statements(body, &mut |statement| found |= is(statement));
    found
}

/// Whether a block may be left before its end.
pub fn is_left(label: LabelId, body: &[Statement]) -> bool {
    any(body, |inner| matches!(inner.kind, StatementKind::Leave(of) if of == label))
}

/// Whether anything in a body is a call of a routine in itself.
pub fn has_recursion(body: &[Statement]) -> bool {
    any(body, |inner| matches!(inner.kind, StatementKind::Recur(_)))
}

/// Whether a block is run once more from within.
pub fn is_repeated(label: LabelId, body: &[Statement]) -> bool {
    any(body, |inner| matches!(&inner.kind, StatementKind::Recur(of) if of.label == label))
}

/// Whether anything in a body is a statement whose text is known only when it runs.
pub fn has_dynamic(body: &[Statement]) -> bool {
    any(body, is_dynamic)
}

/// Whether a statement is one whose text is known only when it runs.
pub fn is_dynamic(statement: &Statement) -> bool {
    matches!(&statement.kind, StatementKind::ForOperators(of)
        if matches!(of.source, RowSource::Dynamic(_)))
}

/// Whether errors are caught anywhere in a body.
pub fn has_protected(body: &[Statement]) -> bool {
    any(body, |inner| matches!(inner.kind, StatementKind::Protected(_)))
}

/// One more than the greatest label of the blocks in a body.
pub fn labels(body: &[Statement]) -> u16 {
    let mut labels = 0;
    statements(body, &mut |statement| {
        if let StatementKind::Block { label, .. } = statement.kind {
            labels = labels.max(label.0.saturating_add(1));
        }
    });
    labels
}

/// Calls `visit` with the labels of blocks around a body that something in it leaves.
pub fn left_labels(body: &[Statement], visit: &mut impl FnMut(LabelId)) {
    let (mut own, mut left) = (Vec::new(), Vec::new());
    statements(body, &mut |statement| match statement.kind {
        StatementKind::Block { label, .. } => own.push(label),
        StatementKind::Leave(label) => left.push(label),
        _ => {}
    });
    left.into_iter().filter(|label| !own.contains(label)).for_each(visit);
}

/// The access site a statement itself is, if any.
pub fn own_site(statement: &Statement) -> Option<Site<'_>> {
    match &statement.kind {
        StatementKind::Access(access) => Some(Site::Access(access)),
        StatementKind::Insert(insert) => Some(Site::Insert(insert)),
        StatementKind::ForQuery { query, .. } => Some(Site::Access(query)),
        _ => None,
    }
}

/// All sites of a body, in site order, with the statements they belong to.
pub fn sites(body: &[Statement]) -> Vec<(Site<'_>, &Statement)> {
    let mut found = Vec::new();
    statements(body, &mut |statement| {
        if let Some(site) = own_site(statement) {
            found.push((site, statement));
        }
    });
    found
}

/// The expressions of a path: key parts, prefix, range ends.
pub fn path_exprs(path: &Path) -> Vec<&Expr> {
    match path {
        Path::Lists { path: each, .. } => list_exprs(path).chain(path_exprs(each)).collect(),
        Path::Point { key, .. } => key.iter().collect(),
        Path::Range { prefix, lower, upper, .. } => {
            let ends = lower.iter().chain(upper).map(|end: &RangeEnd| &end.value);
            prefix.iter().chain(ends).collect()
        }
        Path::Whole => Vec::new(),
    }
}

/// The expressions that the lists of a path are made of.
pub fn list_exprs(path: &Path) -> impl Iterator<Item = &Expr> {
    path.lists().iter().flat_map(|list| list.keys.exprs())
}

/// The expressions that a loop's elements are made of, but for a plain array.
fn element_exprs(elements: &Elements) -> &[Expr] {
    match elements {
        Elements::Array(_) => &[],
        Elements::Keys(keys) => keys.exprs(),
    }
}

/// Every expression of an access that is evaluated per row or after the rows, path excluded.
pub fn row_exprs(access: &Access) -> Vec<&Expr> {
    let mut found: Vec<&Expr> = access.filter.iter().collect();
    if let Effect::Update { set, .. } = &access.effect {
        found.extend(set.iter().map(|(_, value)| value));
    }
    found.extend(consume_exprs(access.effect.consume()));
    found
}

/// The expressions of what happens to the rows.
pub fn consume_exprs(consume: &Consume) -> Vec<&Expr> {
    match consume {
        Consume::Discard => Vec::new(),
        Consume::First { into, order_by, offset, .. } => into
            .iter()
            .map(|(_, value)| value)
            .chain(order_by.iter().map(|key| &key.value))
            .chain(offset)
            .collect(),
        Consume::Aggregate { aggregates, into } => aggregates
            .iter()
            .filter_map(|aggregate| aggregate.argument.as_ref())
            .chain(into.iter().map(|(_, value)| value))
            .collect(),
        Consume::Rows { columns, order_by, limit, offset, .. } => columns
            .iter()
            .chain(order_by.iter().map(|key| &key.value))
            .chain(limit)
            .chain(offset)
            .collect(),
    }
}

/// Calls `visit` with every slot an access writes for its own use: bound columns and aggregate
/// results. They are dead once the access ends.
pub fn private_slots(access: &Access, visit: &mut impl FnMut(SlotId)) {
    access.bind.iter().for_each(|&(_, slot)| visit(slot));
    if let Consume::Aggregate { aggregates, .. } = access.effect.consume() {
        aggregates.iter().for_each(|aggregate| visit(aggregate.result));
    }
}

/// Calls `visit` with every slot a statement itself (not its nested blocks) defines, FOUND (which
/// loops set as well) and the row count included, [`private_slots`] excluded.
pub fn defines(statement: &Statement, visit: &mut impl FnMut(SlotId)) {
    match &statement.kind {
        StatementKind::Assign { slot, .. } => visit(*slot),
        StatementKind::Access(access) => access_defines(access, visit),
        StatementKind::Insert(insert) => {
            visit(crate::program::FOUND);
            visit(crate::program::ROW_COUNT);
            insert.returning.iter().for_each(|&(slot, _)| visit(slot));
        }
        StatementKind::ForRange { slot, .. } | StatementKind::ForEach { slot, .. } => {
            visit(crate::program::FOUND);
            visit(*slot);
        }
        StatementKind::ForQuery { query, into, .. } => {
            access_defines(query, visit);
            into.iter().copied().for_each(visit);
        }
        StatementKind::ForOperators(of) => {
            if of.sets_found {
                visit(crate::program::FOUND);
                visit(crate::program::ROW_COUNT);
            }
            of.reads
                .iter()
                .flat_map(|read| &read.parameters)
                .chain(&of.into)
                .for_each(|&s| visit(s));
        }
        StatementKind::Protected(of) => of.told.iter().for_each(|&(_, slot)| visit(slot)),
        StatementKind::Recur(of) => {
            // What it does in between sets FOUND, too.
            visit(crate::program::FOUND);
            visit(crate::program::ROW_COUNT);
            of.arguments.iter().for_each(|&(slot, _)| visit(slot));
            of.shared.iter().for_each(|&slot| visit(slot));
        }
        _ => {}
    }
}

/// Calls `visit` with every slot an access sets.
pub fn access_defines(access: &Access, visit: &mut impl FnMut(SlotId)) {
    visit(crate::program::FOUND);
    visit(crate::program::ROW_COUNT);
    match access.effect.consume() {
        Consume::First { into, .. } | Consume::Aggregate { into, .. } => {
            into.iter().for_each(|&(slot, _)| visit(slot));
        }
        Consume::Rows { to: RowsTo::More { into, .. }, columns, .. } => {
            (into.0..).zip(columns).for_each(|(slot, _)| visit(SlotId(slot)));
        }
        Consume::Discard | Consume::Rows { .. } => {}
    }
}

/// Calls `visit` with every slot a statement itself (not its nested blocks) reads.
pub fn uses(statement: &Statement, visit: &mut impl FnMut(SlotId)) {
    let mut exprs = |list: Vec<&Expr>| list.iter().for_each(|e| expr_slots(e, visit));
    match &statement.kind {
        StatementKind::Assign { value, .. } => exprs(vec![value]),
        StatementKind::Access(access) => access_uses(access, visit),
        StatementKind::Insert(insert) => exprs(insert.values.iter().collect()),
        StatementKind::If { condition, .. } => exprs(vec![condition]),
        StatementKind::ForRange { from, to, step, .. } => exprs(vec![from, to, step]),
        StatementKind::ForEach { elements: Elements::Array(array), .. } => visit(*array),
        StatementKind::ForEach { elements, .. } => exprs(element_exprs(elements).iter().collect()),
        StatementKind::ForQuery { query, .. } => access_uses(query, visit),
        StatementKind::ForOperators(of) => of.takes.iter().for_each(|&slot| visit(slot)),
        StatementKind::Raise(raise) | StatementKind::Notice(_, raise) => {
            exprs(raise.arguments.iter().chain(&raise.detail).chain(&raise.hint).collect());
        }
        StatementKind::Return(values) | StatementKind::ReturnNext(values) => {
            exprs(values.iter().collect());
        }
        StatementKind::Recur(of) => exprs(of.arguments.iter().map(|(_, value)| value).collect()),
        StatementKind::Loop { .. }
        | StatementKind::Block { .. }
        | StatementKind::Leave(_)
        | StatementKind::Protected(_)
        | StatementKind::Mark(_) => {}
    }
}

/// The slots an access reads from outside: those of all its expressions but its private ones.
pub fn access_uses(access: &Access, visit: &mut impl FnMut(SlotId)) {
    let mut private = Vec::new();
    private_slots(access, &mut |slot| private.push(slot));
    for expr in path_exprs(&access.path) {
        expr_slots(expr, &mut |slot| {
            if !access.path.lists().iter().any(|list| list.slot == slot) {
                visit(slot);
            }
        });
    }
    for expr in row_exprs(access) {
        expr_slots(expr, &mut |slot| {
            if !private.contains(&slot) {
                visit(slot);
            }
        });
    }
}
