//! A SELECT that is one access to one table, by a path of an index, or one row of values.
//!
//! Role         recognises it among the bound ones: that is what planning knows best, and what a
//!              program does without operators ([`Selected`]); `consume` decides where its rows go

use hotrow_base::types::{DataType, SqlType};
use hotrow_query::{Aggregation, GroupAggregate, SortKey};
use hotrow_transaction::catalog::Table;
use hotrow_transaction::program::{
    Aggregate, AggregateFunction, Expr, ExprKind, OrderKey, Path, RowLocks, SlotId,
};

use crate::error::Result;
use crate::path::{ColumnOrder, choose, column_of};
use crate::relation::level::{AskedAggregates, How, ReadWish, RelationKind, WishedRead};
use crate::relation::select::unlisted_order;
use crate::row_order::is_ordered;
use crate::scope::Compiler;
use crate::source::Source;
use crate::state::Row;
use crate::typing::{check_equality, scalar};

use super::from::Tree;
use super::locks::strongest;
use super::order::Listed;
use super::select::{BoundSelect, Distinct};

/// A SELECT that is one access, or one row of values.
pub(crate) struct Selected {
    pub(crate) columns: Vec<(String, Expr)>,
    pub(crate) kind: SelectedKind,
}

/// Where a SELECT's values come from.
pub(crate) enum SelectedKind {
    /// no FROM: one row
    Values,
    /// aggregates: one row
    Aggregated { source: Source, aggregates: Vec<Aggregate> },
    /// min or max that the first row of the path in its order decides: one row
    Extreme { source: Source, result: SlotId, argument: Expr },
    Rows {
        source: Source,
        distinct: bool,
        order_by: Vec<OrderKey>,
        limit: Option<Expr>,
        offset: Option<Expr>,
    },
}

/// What gives the rows of a query.
pub(crate) enum Rows<T> {
    Access(Box<Selected>),
    Operators(T),
}

/// Which of its rows somebody wants of a query.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    All,
    /// INTO: the first one
    First,
    /// PERFORM: whether there is one
    Any,
}

/// What FROM of such a SELECT has.
enum From {
    Nothing,
    /// the table that is relation number 0
    Table,
}

impl Compiler<'_> {
    /// Whether one access to one table gives the wanted rows of a SELECT.
    pub(super) fn is_one_access(&self, select: &BoundSelect, wanted: Wanted) -> bool {
        let level = self.levels.last().expect("a query is being compiled");
        let BoundSelect { wanted: condition, asked, counts: [limit, offset], .. } = select;
        let needs_operators = !level.given.is_empty()
            || !level.expanding.is_empty()
            || !select.steps.is_empty()
            || !select.key_steps.is_empty()
            || !asked.steps.is_empty()
            || !condition.steps.is_empty()
            || !condition.late.is_empty()
            || !select.windows.is_empty()
            || select.keys.groups()
            || select.having.is_some()
            || select.with_ties
            || select.distinct == Distinct::On
            || select.columns.iter().any(|(_, value)| is_array(value));
        if needs_operators || select.columns.is_empty() {
            return false;
        }
        let is_bare = select.order.is_empty()
            && select.distinct == Distinct::No
            && limit.is_none()
            && offset.is_none();
        let Some(from) = self.one_relation(&select.tree) else { return false };
        match from {
            From::Nothing => is_bare && condition.conditions.is_empty() && !asked.groups(),
            From::Table if !self.holds_as_one_access() => false,
            From::Table if asked.groups() => is_bare && asked_plainly(asked),
            From::Table => match wanted {
                Wanted::All => true,
                Wanted::First => limit.as_ref().is_none_or(admits_one),
                Wanted::Any => limit.is_none() && offset.is_none(),
            },
        }
    }

    /// The one table of FROM, or nothing; none: it is something else.
    fn one_relation(&self, tree: &Tree) -> Option<From> {
        let Tree::Inner { items, late, .. } = tree else { return None };
        if !late.steps.is_empty() || !late.conditions.is_empty() {
            return None;
        }
        let level = self.levels.last()?;
        match (items.as_slice(), level.relations.as_slice()) {
            ([], []) => Some(From::Nothing),
            ([Tree::Leaf(0)], [one]) => {
                matches!(one.kind, RelationKind::Table(_)).then_some(From::Table)
            }
            _ => None,
        }
    }

    /// Whether its locking clauses say no more than how all that it reads is held.
    fn holds_as_one_access(&self) -> bool {
        let level = self.levels.last().expect("a query is being compiled");
        // A call holds what it is planned to touch.
        self.reads.is_some()
            || level.locks.iter().all(|lock| lock.of.is_none() && lock.how != How::SkipLocked)
    }

    /// Of a bound SELECT that is one: the access, or the row of values.
    pub(super) fn one_access(&mut self, select: BoundSelect) -> Result<Selected> {
        let BoundSelect { place, tree, wanted, columns, distinct, order, asked, counts, .. } =
            select;
        // Of one table: what its policies ask, before anything else does.
        let mut conditions = match tree {
            Tree::Inner { on, .. } => on,
            _ => Vec::new(),
        };
        conditions.extend(wanted.conditions);
        let level = self.levels.last().expect("a query is being compiled");
        let Some(relation) = level.relations.first() else {
            return Ok(Selected { columns, kind: SelectedKind::Values });
        };
        let RelationKind::Table(table) = relation.kind else { unreachable!("it is of a table") };
        let row = relation.row(table);
        if self.reads.is_none() {
            self.row_locks = strongest(&level.locks);
        }
        if asked.groups() {
            return self.selected_aggregates((row, conditions), columns, asked);
        }
        if distinct == Distinct::All {
            columns.iter().try_for_each(|(_, value)| check_equality(value.sql_type, place))?;
            let listed = |value: &Expr| columns.iter().any(|(_, column)| column == value);
            if !order.iter().all(|(of, _)| listed(&of.value)) {
                return Err(unlisted_order(place));
            }
        }
        let order_by: Vec<OrderKey> = order.into_iter().map(order_key).collect();
        let [limit, offset] = counts;
        let wish = ReadWish { order: order_by, limit, ..ReadWish::default() };
        let read = self.wished_read(&row, conditions, &wish)?;
        let (chosen, sorted) = (read.chosen, read.is_ordered);
        let ReadWish { order: order_by, limit, .. } = wish;
        let source = Source { row, path: chosen.path, filter: chosen.filter };
        let kind = SelectedKind::Rows {
            source,
            distinct: distinct == Distinct::All,
            order_by: if sorted { Vec::new() } else { order_by },
            limit,
            offset,
        };
        Ok(Selected { columns, kind })
    }

    /// The path by which a table is best read, and whether it meets rows in the order wished for.
    pub(crate) fn wished_read(
        &mut self,
        row: &Row,
        conditions: Vec<Expr>,
        wish: &ReadWish,
    ) -> Result<WishedRead> {
        let columns = column_order(self.catalog.table(row.table), row, &wish.order);
        let order = columns.as_deref().unwrap_or_default();
        let chosen = match self.reads.is_some() || !wish.is_of_operators {
            true => self.choose(row, conditions, order, &[])?,
            // Operators have other ways to go through lists.
            false => {
                self.note_indexed(row, &conditions);
                choose(self.catalog, row, conditions, order)
            }
        };
        let is_ordered =
            chosen.ordered && columns.is_some() && is_ordered(self.catalog, &chosen.path);
        // Without an order any of them will do.
        let has_first = is_ordered || wish.order.is_empty();
        let limit = wish.limit.clone().filter(|_| has_first);
        Ok(WishedRead { chosen, is_ordered, limit })
    }

    /// How the one table of a SELECT is best read that is compiled to operators; none: there are
    /// several, or something decides between it and the end which rows there are.
    pub(super) fn wish_of(&mut self, select: &BoundSelect) -> Result<Option<ReadWish>> {
        let level = self.levels.last().expect("a query is being compiled");
        let BoundSelect { wanted, distinct, order, counts: [limit, offset], .. } = select;
        let is_plain = matches!(self.one_relation(&select.tree), Some(From::Table))
            && wanted.steps.is_empty()
            && wanted.late.is_empty()
            && level.expanding.is_empty()
            && select.windows.is_empty()
            && *distinct == Distinct::No
            && !select.is_grouped
            && !select.with_ties;
        if !is_plain {
            return Ok(None);
        }
        let order = order.iter().map(|(of, key)| OrderKey {
            value: of.value.clone(),
            descending: key.descending,
            nulls_first: key.nulls_first,
        });
        let order = order.collect();
        let skips = self.reads.is_none() && strongest(&level.locks) == RowLocks::Free;
        let wish = ReadWish { order, is_of_operators: true, ..ReadWish::default() };
        Ok(Some(match limit {
            // Of SKIP LOCKED nobody knows how many are left out.
            Some(_) if skips => {
                let slot = self.temporary("rows to read", DataType::BigInt)?;
                ReadWish { limit: Some(self.slot_expr(slot)), by_parts: Some(slot), ..wish }
            }
            Some(limit) if offset.is_none() => ReadWish { limit: Some(limit.clone()), ..wish },
            _ => wish,
        }))
    }

    fn selected_aggregates(
        &mut self,
        (row, conditions): (Row, Vec<Expr>),
        columns: Vec<(String, Expr)>,
        asked: AskedAggregates,
    ) -> Result<Selected> {
        let aggregates: Vec<_> =
            asked.aggregates.iter().map(|one| self.program_aggregate(one, &asked)).collect();
        let results: Vec<SlotId> = aggregates.iter().map(|one| one.result).collect();
        self.refuse_ungrouped(columns.iter().map(|(_, value)| value.clone()), &results)?;
        let extreme = self.extreme_of(&row, &conditions, &aggregates);
        let chosen = self.choose(&row, conditions, &[], &[])?;
        if let Some(kind) = extreme.filter(|_| chosen.path.lists().is_empty()) {
            return Ok(Selected { columns, kind });
        }
        let source = Source { row, path: chosen.path, filter: chosen.filter };
        Ok(Selected { columns, kind: SelectedKind::Aggregated { source, aggregates } })
    }

    /// An aggregate as programs have it.
    fn program_aggregate(&self, one: &GroupAggregate, asked: &AskedAggregates) -> Aggregate {
        let Aggregation::Plain(function) = one.function else {
            unreachable!("others are operators'")
        };
        let argument = one.argument.map(|slot| {
            let computed = asked.computed.iter().find(|(_, known)| *known == slot);
            computed.map_or_else(|| self.slot_expr(slot), |(value, _)| value.clone())
        });
        // The least of all values and of the distinct ones is the same.
        let is_extreme = matches!(function, AggregateFunction::Min | AggregateFunction::Max);
        let distinct = one.distinct && !is_extreme;
        Aggregate { function, argument, distinct, result: one.output }
    }

    /// `min(column)` and `max(column)` that an index gives as its first row.
    fn extreme_of(
        &self,
        row: &Row,
        conjuncts: &[Expr],
        aggregates: &[Aggregate],
    ) -> Option<SelectedKind> {
        let [aggregate] = aggregates else {
            return None;
        };
        let descending = match aggregate.function {
            AggregateFunction::Min => false,
            AggregateFunction::Max => true,
            _ => return None,
        };
        let argument = aggregate.argument.clone()?;
        let ExprKind::Slot(slot) = argument.kind else {
            return None;
        };
        let column = row.column_of(slot)?;
        let mut conjuncts = conjuncts.to_vec();
        if descending && row.columns[column.index()].nullable {
            // NULLs are the greatest keys, but no maximum
            let null = scalar(ExprKind::IsNull(Box::new(argument.clone())), DataType::Boolean);
            conjuncts.push(crate::comparison::negated(null));
        }
        let chosen = choose(self.catalog, row, conjuncts, &[(column, descending)]);
        let orders = matches!(chosen.path, Path::Range { .. }) && chosen.ordered;
        orders.then(|| SelectedKind::Extreme {
            source: Source { row: row.clone(), path: chosen.path, filter: chosen.filter },
            result: aggregate.result,
            argument,
        })
    }
}

/// Whether these aggregates are those of programs, of all rows.
fn asked_plainly(asked: &AskedAggregates) -> bool {
    let is_plain = |one: &GroupAggregate| {
        let is_scalar = matches!(one.of, SqlType::Scalar(_));
        let of_all = one.filter.is_none() && one.order.is_empty();
        matches!(one.function, Aggregation::Plain(_)) && is_scalar && of_all
    };
    asked.groupings.is_empty() && asked.aggregates.iter().all(is_plain)
}

fn is_array(value: &Expr) -> bool {
    matches!(value.sql_type, SqlType::Array(_))
}

fn order_key((Listed { value, .. }, key): (Listed, SortKey)) -> OrderKey {
    OrderKey { value, descending: key.descending, nulls_first: key.nulls_first }
}

/// ORDER BY as columns, those of indexed expressions included, where an index could give it.
fn column_order(table: &Table, row: &Row, order_by: &[OrderKey]) -> Option<Vec<ColumnOrder>> {
    let column = |key: &OrderKey| {
        let column = column_of(table, row, &key.value)?;
        let nullable = row.columns[column.index()].nullable;
        let natural = key.nulls_first == key.descending || !nullable;
        natural.then_some((column, key.descending))
    };
    order_by.iter().map(column).collect()
}

/// A LIMIT that is a constant of at least 1: the first row is always wanted.
fn admits_one(limit: &Expr) -> bool {
    matches!(limit.kind, ExprKind::Constant(hotrow_base::value::Value::BigInt(n)) if n >= 1)
}
