//! Lists of keys: `key IN (...)` and `key = ANY (...)`.
//!
//! Role         finds out where such a list gives an index more to go by than the other conditions
//!              do. Then it is compiled to a join with the list's distinct values, so that rows are
//!              found, and held, one by one; else it is a condition like any other

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_query::Plan;
use hotrow_transaction::catalog::Index;
use hotrow_transaction::catalog::TriggerEvent;
use hotrow_transaction::program::{Expr, ExprKind, SlotId};
use sqlparser::ast::{self, BinaryOperator};

use crate::error::Result;
use crate::relation::level::RelationKind;
use crate::scope::Compiler;
use crate::typing::{cast, common_type};
use crate::written::{bare, ident_name, row_values};

/// Values in a list that are looked up one by one; each is some code of the plan.
const LIST_MAX: usize = 2_000;

/// The columns that conditions compare with `=` or a list of one value, and with other lists.
#[derive(Default)]
pub(super) struct Compared {
    equal: Vec<String>,
    lists: Vec<String>,
}

/// A list that a column is compared with.
pub(super) enum List<'q> {
    Values(&'q [ast::Expr]),
    Array,
}

/// `x IN (...)` or `x = ANY (...)`, and what x is.
pub(super) fn list_of(part: &ast::Expr) -> Option<(&ast::Expr, List<'_>)> {
    match bare(part) {
        ast::Expr::InList { expr, list, negated: false } => Some((expr, List::Values(list))),
        ast::Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => match bare(right) {
            ast::Expr::Array(array) => Some((left, List::Values(&array.elem))),
            ast::Expr::Subquery(_) => None,
            _ => Some((left, List::Array)),
        },
        _ => None,
    }
}

/// The parts of a condition that are joined by AND.
pub(super) fn parts(condition: &ast::Expr) -> Vec<&ast::Expr> {
    let (mut parts, mut rest) = (Vec::new(), vec![condition]);
    while let Some(part) = rest.pop() {
        match bare(part) {
            ast::Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                rest.extend([&**right, &**left]);
            }
            part => parts.push(part),
        }
    }
    parts
}

impl Compared {
    pub(super) fn of<'q>(parts: impl IntoIterator<Item = &'q ast::Expr>) -> Self {
        let mut compared = Self::default();
        for part in parts {
            if let Some((of, list)) = list_of(part) {
                match list {
                    List::Values([_]) => compared.equal.extend(column_name(of)),
                    List::Values(_) | List::Array => compared.lists.extend(column_name(of)),
                }
            } else if let ast::Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = part {
                compared.equal.extend(column_name(left));
                compared.equal.extend(column_name(right));
            }
        }
        compared
    }
}

/// The column that an expression may be.
fn column_name(written: &ast::Expr) -> Option<String> {
    match bare(written) {
        ast::Expr::Identifier(name) => Some(ident_name(name)),
        ast::Expr::CompoundIdentifier(parts) => parts.last().map(ident_name),
        _ => None,
    }
}

impl Compiler<'_> {
    /// Whether an index finds a table's rows by more columns with the lists than without them.
    pub(super) fn is_led_by_lists(&self, table: TableId, compared: &Compared) -> bool {
        let table = self.catalog.table(table);
        let leading = |columns: &[ColumnId], with_lists: bool| {
            let name = |column: &ColumnId| &table.columns[column.index()].name;
            let is_equal = |column: &&ColumnId| {
                let name = name(column);
                compared.equal.contains(name) || with_lists && compared.lists.contains(name)
            };
            columns.iter().take_while(is_equal).count()
        };
        let indexes: Vec<_> = table.indexes().map(|id| self.catalog.index(id)).collect();
        let is_one_row =
            |index: &Index| index.unique && leading(&index.columns, false) == index.columns.len();
        if indexes.iter().any(|index| is_one_row(index)) {
            return false;
        }
        let most = |with_lists| {
            indexes.iter().map(|index| leading(&index.columns, with_lists)).max().unwrap_or(0)
        };
        most(true) > most(false)
    }

    /// Whether a statement on one table is found by lists of keys.
    pub(crate) fn goes_by_lists(&self, statement: &ast::Statement) -> bool {
        let (table, selection) = match statement {
            ast::Statement::Query(query) => match &*query.body {
                ast::SetExpr::Select(select) => match select.from.as_slice() {
                    [table] => (table, &select.selection),
                    _ => return false,
                },
                _ => return false,
            },
            ast::Statement::Update(update) => (&update.table, &update.selection),
            ast::Statement::Delete(delete) => match &delete.from {
                ast::FromTable::WithFromKeyword(tables)
                | ast::FromTable::WithoutKeyword(tables) => match tables.as_slice() {
                    [table] => (table, &delete.selection),
                    _ => return false,
                },
            },
            _ => return false,
        };
        let Some(selection) = selection else { return false };
        let compared = Compared::of(parts(selection));
        // Most statements have no list, and need not be looked at any further.
        !compared.lists.is_empty()
            && self.changed_table(table, TriggerEvent::Update).is_ok_and(|target| {
                target.through.is_none() && self.is_led_by_lists(target.table.id, &compared)
            })
    }

    /// Whether what an expression names is a column by which such lists lead.
    pub(super) fn is_led_by(&self, of: &Expr, compared: &Compared) -> bool {
        let ExprKind::Slot(slot) = of.kind else { return false };
        let level = self.levels.last().expect("a query is being compiled");
        let relation = level.relations.iter().find(|relation| relation.slots().any(|s| s == slot));
        match relation.map(|relation| &relation.kind) {
            Some(RelationKind::Table(table)) => self.is_led_by_lists(*table, compared),
            _ => false,
        }
    }

    /// The values of a list, a row each, in a type in which `of` is looked up; none where it is
    /// better told value by value.
    pub(super) fn listed_values(
        &mut self,
        of: &ast::Expr,
        values: &[ast::Expr],
        compared: &Compared,
    ) -> Result<Option<(Plan, SlotId)>> {
        if row_values(of).is_some() || !(2..=LIST_MAX).contains(&values.len()) {
            return Ok(None);
        }
        let of = self.expr(of)?;
        if !self.is_led_by(&of, compared) {
            return Ok(None);
        }
        let (before, wanted) = (self.level().steps.len(), of.data_type());
        let (mut exprs, mut common) = (Vec::new(), wanted);
        for value in values {
            let operand = self.operand(value)?;
            let expr = self.settle(operand, wanted, self.place)?;
            let shared = common_type(common, expr.data_type());
            let (Some(shared), true) = (shared, self.level_slots(&expr).is_empty()) else {
                self.level().steps.truncate(before);
                return Ok(None);
            };
            common = shared;
            exprs.push(expr);
        }
        if self.level().steps.len() > before {
            self.level().steps.truncate(before);
            return Ok(None);
        }
        let slot = self.temporary("listed", common)?;
        let rows = exprs.into_iter().map(|expr| self.scalars(&[cast(expr, common)]));
        let rows = rows.collect::<Result<Vec<_>>>()?;
        Ok(Some((Plan::Values { rows, outputs: vec![slot] }, slot)))
    }
}
