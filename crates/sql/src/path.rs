//! The choice of an access path: which index reaches the rows a condition admits.
//!
//! Role         given the conjuncts of WHERE, already compiled and typed, finds those of the form
//!              `column op value` whose value does not depend on the row, and matches them with
//!              the table's indexes
//! Invariants   I1 a conjunct leaves the filter only when the path admits exactly its rows; a
//!              path that admits more keeps it
//!              I2 no statistics are asked: the longest equality prefix wins, so the same text
//!              always gives the same plan

use hotrow_base::decimal::Decimal;
use hotrow_base::ids::{ColumnId, IndexId};
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{Catalog, Generated, Hidden, Index, IndexKind, Table};
use hotrow_transaction::program::{
    CompareOp, Expr, ExprKind, Function, KeyList, KeySlot, ListOf, Path, RangeEnd, SlotId,
};
use hotrow_transaction::walk;

use crate::state::Row;
use crate::typing::{bigint, cast, common_type, constant, digits, joined, scalar};

/// One ORDER BY key that is a column: the column, DESC, and whether NULLs stand where the index
/// has them.
pub(crate) type ColumnOrder = (ColumnId, bool);

/// A path and what it leaves to do.
pub(crate) struct Chosen {
    pub(crate) path: Path,
    /// conjuncts that the path does not decide
    pub(crate) filter: Option<Expr>,
    /// whether the path visits rows in the order asked for
    pub(crate) ordered: bool,
}

/// A conjunct `column op value`.
pub(crate) struct Bound {
    /// which conjunct
    conjunct: usize,
    pub(crate) column: ColumnId,
    pub(crate) op: CompareOp,
    pub(crate) value: Expr,
    /// whether the path admits exactly the conjunct's rows (I1)
    pub(crate) exact: bool,
    /// the list whose values it takes in turn
    list: Option<usize>,
}

/// Splits a condition at its ANDs.
pub(crate) fn conjuncts(condition: Option<Expr>) -> Vec<Expr> {
    let mut all = Vec::new();
    let mut rest: Vec<Expr> = condition.into_iter().collect();
    while let Some(expr) = rest.pop() {
        match expr.kind {
            ExprKind::And(left, right) => {
                rest.push(*right);
                rest.push(*left);
            }
            kind => all.push(Expr { kind, ..expr }),
        }
    }
    all
}

/// Chooses the path for rows of `row`'s table that satisfy all `conjuncts`, preferably in `order`
/// (empty: in any order).
pub(crate) fn choose(
    catalog: &Catalog,
    row: &Row,
    conjuncts: Vec<Expr>,
    order: &[ColumnOrder],
) -> Chosen {
    choose_with(catalog, row, conjuncts, order, &[])
}

/// As [`choose`]; where an index leads further with the `lists` of keys than without them, the path
/// goes through them.
pub(crate) fn choose_with(
    catalog: &Catalog,
    row: &Row,
    conjuncts: Vec<Expr>,
    order: &[ColumnOrder],
    lists: &[Listed],
) -> Chosen {
    let mut bounds: Vec<Bound> =
        conjuncts.iter().enumerate().filter_map(|(i, c)| bound(catalog, row, i, c)).collect();
    let table = catalog.table(row.table);
    let holding = held_conditions(table, row, &conjuncts, &bounds);
    bounds.extend(holding);
    let mut best: Option<(Score, Candidate)> = None;
    let mut consider = |bounds: &[Bound]| {
        for id in table.indexes() {
            let index = catalog.index(id);
            if let Some((score, candidate)) =
                candidate(row, index, (bounds, lists), order, &table.primary)
                && best.as_ref().is_none_or(|(known, _)| score > *known)
            {
                best = Some((score, candidate));
            }
        }
    };
    consider(&bounds);
    if !lists.is_empty() {
        bounds.extend(lists.iter().enumerate().map(|(number, list)| Bound {
            conjunct: list.conjunct,
            column: list.column,
            op: CompareOp::Equal,
            value: list.value.clone(),
            exact: true,
            list: Some(number),
        }));
        consider(&bounds);
    }
    let candidate =
        best.map_or(Candidate { path: Path::Whole, used: vec![], ordered: false }, |b| b.1);
    let ordered = candidate.ordered || order.is_empty();
    let used = candidate.used;
    let kept = conjuncts
        .into_iter()
        .enumerate()
        .filter(|(i, _)| !used.contains(i))
        .map(|(_, conjunct)| conjunct)
        .collect();
    Chosen { path: candidate.path, filter: joined(kept, ExprKind::And), ordered }
}

/// Points first, then the longer prefix, then a range behind it, then the order, then the
/// primary key.
type Score = (bool, usize, usize, bool, bool);

struct Candidate {
    path: Path,
    /// conjuncts that the path decides
    used: Vec<usize>,
    ordered: bool,
}

fn candidate(
    row: &Row,
    index: &Index,
    (bounds, lists): (&[Bound], &[Listed]),
    order: &[ColumnOrder],
    primary: &Option<IndexId>,
) -> Option<(Score, Candidate)> {
    let equal =
        |column: ColumnId| bounds.iter().find(|b| b.column == column && b.op == CompareOp::Equal);
    let prefix: Vec<&Bound> = index.columns.iter().map_while(|c| equal(*c)).collect();
    let exact = |list: &[&Bound]| -> Vec<usize> {
        list.iter().filter(|b| b.exact).map(|b| b.conjunct).collect()
    };
    let is_primary = *primary == Some(index.id);
    let whole_key = prefix.len() == index.columns.len();
    let key = || prefix.iter().map(|b| b.value.clone()).collect::<Vec<_>>();
    let direction = served(row, index, bounds, &prefix, order);
    let orders = !order.is_empty() && direction.is_some();
    let through_lists = |path| {
        let lists = prefix.iter().filter_map(|bound| lists.get(bound.list?));
        through_lists(path, lists, direction.unwrap_or(false))
    };
    if whole_key && index.unique {
        let path = through_lists(Path::Point { index: index.id, key: key() });
        let is_one = path.lists().is_empty();
        let ordered = is_one || orders;
        let score = (is_one, prefix.len(), 0, ordered, is_primary);
        return Some((score, Candidate { path, used: exact(&prefix), ordered }));
    }
    if index.kind == IndexKind::Hash {
        if !whole_key {
            return None;
        }
        let path = Path::Range {
            index: index.id,
            prefix: key(),
            lower: None,
            upper: None,
            descending: false,
        };
        let path = through_lists(path);
        let score = (false, prefix.len(), 0, false, is_primary);
        return Some((score, Candidate { path, used: exact(&prefix), ordered: false }));
    }
    let next = index.columns.get(prefix.len());
    let end = |ops: [CompareOp; 2]| {
        let next = *next?;
        bounds.iter().find(|b| b.column == next && ops.contains(&b.op))
    };
    let above = end([CompareOp::Greater, CompareOp::GreaterOrEqual]);
    let below = end([CompareOp::Less, CompareOp::LessOrEqual]);
    // Ends are those of keys, where greater values may come first.
    let (lower, upper) = match next.is_some_and(|next| index.descending.contains(next)) {
        true => (below, above),
        false => (above, below),
    };
    let ends = usize::from(lower.is_some()) + usize::from(upper.is_some());
    if prefix.is_empty() && ends == 0 && !orders {
        return None;
    }
    let mut used = exact(&prefix);
    let range_end = |bound: Option<&Bound>| {
        bound.map(|b| RangeEnd {
            value: b.value.clone(),
            inclusive: !b.exact
                || matches!(b.op, CompareOp::LessOrEqual | CompareOp::GreaterOrEqual),
        })
    };
    used.extend(lower.iter().chain(&upper).filter(|b| b.exact).map(|b| b.conjunct));
    let path = Path::Range {
        index: index.id,
        prefix: key(),
        lower: range_end(lower),
        upper: range_end(upper),
        descending: direction.unwrap_or(false),
    };
    let path = through_lists(path);
    let score = (false, prefix.len(), ends.min(1), orders, is_primary);
    Some((score, Candidate { path, used, ordered: orders }))
}

/// The path for each combination of the values of these lists.
fn through_lists<'l>(
    path: Path,
    lists: impl Iterator<Item = &'l Listed>,
    descending: bool,
) -> Path {
    let slot = |list: &Listed| KeySlot {
        slot: list.slot,
        keys: KeyList { of: list.of.clone(), descending },
    };
    let lists: Vec<_> = lists.map(slot).collect();
    match lists.is_empty() {
        true => path,
        false => Path::Lists { lists, path: Box::new(path) },
    }
}

/// Whether the index gives the order behind its prefix, and whether that is from its end down.
/// Lists in the prefix are gone through in the index's order.
fn served(
    row: &Row,
    index: &Index,
    bounds: &[Bound],
    prefix: &[&Bound],
    order: &[ColumnOrder],
) -> Option<bool> {
    // Lists are gone through by their values.
    let is_descending = |bound: &&&Bound| index.descending.contains(&bound.column);
    if prefix.iter().filter(|bound| bound.list.is_some()).any(|bound| is_descending(&bound)) {
        return None;
    }
    let prefix = prefix.iter().take_while(|bound| bound.list.is_none()).count();
    let is_one = |b: &Bound| b.op == CompareOp::Equal && b.list.is_none();
    let constant = |column: ColumnId| bounds.iter().any(|b| b.column == column && is_one(b));
    let is_backward =
        |(column, descending): &ColumnOrder| *descending != index.descending.contains(column);
    let mut wanted = order.iter().filter(|(column, _)| !constant(*column)).peekable();
    let backward = wanted.peek().is_some_and(|first| is_backward(first));
    let mut given = index.entry_columns[prefix.min(index.entry_columns.len())..]
        .iter()
        .filter(|column| !constant(**column));
    // rows are unique in all columns of an entry, unless the unique index lets NULLs repeat
    let total = !index.unique || index.columns.iter().all(|c| !row.columns[c.index()].nullable);
    for key in wanted {
        if is_backward(key) != backward {
            return None;
        }
        match given.next() {
            Some(next) if *next == key.0 => {}
            Some(_) => return None,
            None => return total.then_some(backward),
        }
    }
    Some(backward)
}

/// The columns of a table's unique indexes that are true since conditions are among the conjuncts.
pub(crate) fn held_conditions(
    table: &Table,
    row: &Row,
    conjuncts: &[Expr],
    bounds: &[Bound],
) -> Vec<Bound> {
    let is_met = |part: &Expr| {
        let is_value = |operand: &Expr| match &operand.kind {
            // What is compared with something is not NULL.
            ExprKind::IsNull(of) => {
                column_of(table, row, of).is_some_and(|of| bounds.iter().any(|b| b.column == of))
            }
            _ => false,
        };
        conjuncts.contains(part) || matches!(&part.kind, ExprKind::Not(of) if is_value(of))
    };
    let holds = |value: &Generated| {
        let parts = in_row(row, value).map(|value| parts_of_condition(&value));
        parts.is_some_and(|parts| parts.iter().all(is_met))
    };
    let is_condition = |of: &&Generated| table.hidden(of.column) == Some(Hidden::Condition);
    let held = table.generated.iter().filter(is_condition).filter(|of| holds(of));
    let bound = |of: &Generated| Bound {
        conjunct: usize::MAX,
        column: of.column,
        op: CompareOp::Equal,
        value: truth(true),
        exact: false, // what it says stays in the filter
        list: None,
    };
    held.map(bound).collect()
}

/// The parts of the condition of a unique index, which its last column is true for.
pub(crate) fn parts_of_condition(value: &Expr) -> Vec<Expr> {
    match &value.kind {
        ExprKind::Case { arms, .. } => {
            conjuncts(arms.first().map(|(condition, _)| condition.clone()))
        }
        _ => Vec::new(),
    }
}

/// What a generated column is in a row; none: it is computed from columns that nobody asked for.
pub(crate) fn in_row(row: &Row, of: &Generated) -> Option<Expr> {
    let slot = |column: &ColumnId| {
        row.bound.iter().find(|(bound, _)| bound == column).map(|(_, slot)| *slot)
    };
    let slots = of.columns.iter().map(slot).collect::<Option<Vec<_>>>()?;
    let mut value = of.value.clone();
    walk::map_slots(&mut value, &|slot| slots.get(slot.index()).copied().unwrap_or(slot));
    Some(value)
}

/// The column that an expression is: one of the table, or the key of an index on it.
pub(crate) fn column_of(table: &Table, row: &Row, expr: &Expr) -> Option<ColumnId> {
    if let ExprKind::Slot(slot) = expr.kind {
        return row.column_of(slot);
    }
    let is_indexed = |of: &&Generated| table.hidden(of.column) == Some(Hidden::Expression);
    let mut indexed = table.generated.iter().filter(is_indexed);
    indexed.find(|of| in_row(row, of).as_ref() == Some(expr)).map(|of| of.column)
}

/// Reads a conjunct as `column op value`.
pub(crate) fn bound(catalog: &Catalog, row: &Row, conjunct: usize, expr: &Expr) -> Option<Bound> {
    let ExprKind::Compare(op, left, right) = &expr.kind else {
        return None;
    };
    if *op == CompareOp::NotEqual {
        return None;
    }
    let column = |side| column_in(catalog, row, side);
    let (column, op, value) = match (column(left), column(right)) {
        (Some(column), _) if !row.is_read_by(right) => (column, *op, &**right),
        (_, Some(column)) if !row.is_read_by(left) => (column, flipped(*op), &**left),
        _ => return None,
    };
    let data_type = row.columns[column.index()].data_type;
    let (value, exact) = key_value(value, data_type, op == CompareOp::Equal)?;
    Some(Bound { conjunct, column, op, value, exact, list: None })
}

fn flipped(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Less => CompareOp::Greater,
        CompareOp::LessOrEqual => CompareOp::GreaterOrEqual,
        CompareOp::Greater => CompareOp::Less,
        CompareOp::GreaterOrEqual => CompareOp::LessOrEqual,
        same => same,
    }
}

/// The column an expression is, perhaps under a cast that keeps values and their order.
pub(crate) fn column_in(catalog: &Catalog, row: &Row, expr: &Expr) -> Option<ColumnId> {
    let table = catalog.table(row.table);
    let own = column_of(table, row, expr);
    match &expr.kind {
        ExprKind::Cast(inner) if own.is_none() => {
            let column = column_of(table, row, inner)?;
            let (from, to) = (inner.data_type(), expr.data_type());
            let widens = match (digits(from), digits(to)) {
                (Some(from), Some(to)) => from.1 <= to.1 && from.0 - from.1 <= to.0 - to.1,
                (Some(_), None) if to.is_any_numeric() => true,
                _ => matches!((from, to), (DataType::Char(_), DataType::Text)),
            };
            widens.then_some(column)
        }
        _ => own,
    }
}

/// The value as a key of the column's type, when that loses nothing; and whether the key admits
/// exactly the rows that the comparison does.
pub(crate) fn key_value(value: &Expr, column: DataType, equality: bool) -> Option<(Expr, bool)> {
    let value_type = value.data_type();
    if value_type == column {
        return Some((value.clone(), true));
    }
    // a constant that fits the column is a key as it stands
    if let ExprKind::Constant(_) = value.kind
        && value_type.is_number()
        && column.is_number()
        && digits(column).is_some_and(|c| digits(value_type).is_some_and(|v| v.1 <= c.1))
    {
        let key = cast(value.clone(), column);
        if let ExprKind::Constant(_) = key.kind {
            return Some((key, true));
        }
    }
    if column.is_integer() && value_type.is_integer() {
        let fits = digits(value_type) <= digits(column);
        return match (fits, equality) {
            // keys are encoded in the column's type; a value out of its range matches nothing
            (true, _) | (false, true) => Some((value.clone(), true)),
            (false, false) => Some((clamped(value.clone(), column)?, false)),
        };
    }
    match (column, value_type) {
        (
            DataType::Numeric { precision, scale },
            DataType::Numeric { precision: own, scale: own_scale },
        ) if own_scale == scale && (equality || own <= precision) => Some((value.clone(), true)),
        // A number of the column is below, or above, what it was rounded from only if it is below,
        // or above, that as well, or equal to it.
        (of, _) if of.is_any_numeric() && digits(value_type).is_some() => {
            Some((cast(value.clone(), DataType::AnyNumeric), true))
        }
        (DataType::Numeric { .. }, _)
            if digits(value_type).is_some() || value_type.is_any_numeric() =>
        {
            Some((clamped(value.clone(), column)?, false))
        }
        (DataType::Text | DataType::Varchar(_) | DataType::Name, _) if value_type.is_text() => {
            Some((value.clone(), true))
        }
        // the padding of char(n) compares as nothing, which keys cannot say of every text
        (DataType::Char(_), _) if value_type.is_text() && equality => Some((value.clone(), false)),
        _ => None,
    }
}

/// A number forced into the column's range and rounded to its digits, which is the key nearest to
/// it; the conjunct stays in the filter. None for columns that are no exact numbers.
fn clamped(value: Expr, column: DataType) -> Option<Expr> {
    let (low, high) = match column {
        DataType::SmallInt => (i64::from(i16::MIN).into(), i64::from(i16::MAX).into()),
        DataType::Integer => (i64::from(i32::MIN).into(), i64::from(i32::MAX).into()),
        DataType::BigInt => (i64::MIN.into(), i64::MAX.into()),
        DataType::Numeric { precision, .. } => {
            let most = 10_i128.pow(precision.into()) - 1;
            (-most, most)
        }
        _ => return None,
    };
    let end = |units| match column {
        DataType::Numeric { scale, .. } => {
            Some(constant(Value::Numeric(Decimal::new(units, scale)?), column))
        }
        _ => Some(bigint(units as i64)),
    };
    // Of a type that has both.
    let wide = match column {
        DataType::Numeric { .. } => common_type(value.data_type(), column)?,
        _ => DataType::BigInt,
    };
    let within =
        |function, value, end| scalar(ExprKind::Call(function, vec![value, cast(end, wide)]), wide);
    let above = within(Function::Greatest, cast(value, wide), end(low)?);
    Some(cast(within(Function::Least, above, end(high)?), column))
}

/// TRUE, for filters that nothing restricts.
pub(crate) fn truth(value: bool) -> Expr {
    constant(Value::Bool(value), DataType::Boolean)
}

/// A conjunct that compares a column with a list.
pub(crate) struct Listed {
    /// which conjunct
    pub(crate) conjunct: usize,
    pub(crate) column: ColumnId,
    /// takes the list's values in turn
    pub(crate) slot: SlotId,
    /// that slot, as the key's value
    pub(crate) value: Expr,
    pub(crate) of: ListOf,
}
