//! Conditions that rows are found by: subqueries, arrays and lists as joins with their values.

use hotrow_base::types::SqlType;
use hotrow_query::Plan;
use hotrow_transaction::program::{CompareOp, Expr, SlotId};
use sqlparser::ast::{self, BinaryOperator};

use crate::comparison::rows_compared;
use crate::error::{Result, place_in};
use crate::operand::Operand;
use crate::relation::level::{Bound, Relation, RelationColumn, RelationKind};
use crate::scope::Compiler;
use crate::written::{bare, row_values};

use super::from::Tree;
use super::lists::{self, Compared, List};
use super::subquery::columns_for;

impl Compiler<'_> {
    /// `x IN (SELECT ...)`, `x = ANY (array)`, and lists that an index can use, as a join with
    /// their distinct values, so that these may be the keys that rows are found by.
    pub(super) fn semi_join(
        &mut self,
        part: &ast::Expr,
        tree: &mut Tree,
        compared: &Compared,
    ) -> Result<Option<Expr>> {
        let place = place_in(part, self.place);
        let (lefts, plan, columns) = match part {
            ast::Expr::InSubquery { expr, subquery, negated: false } => {
                let lefts = row_values(expr).unwrap_or_else(|| vec![&**expr]);
                let Bound { plan, outputs } = self.query_plan(subquery)?;
                let columns = columns_for(lefts.len(), &outputs, place)?;
                (lefts, plan, columns)
            }
            ast::Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. }
                if !matches!(bare(right), ast::Expr::Array(_) | ast::Expr::Subquery(_)) =>
            {
                let before = self.level().steps.len();
                let array = match self.operand(right)? {
                    Operand::Typed(array) => array,
                    Operand::Parameter(at) => {
                        let wanted = self.expr(left)?.data_type();
                        self.give(at, SqlType::Array(wanted));
                        self.slot_expr(self.parameters[at])
                    }
                    _ => return Ok(None),
                };
                let has_steps = self.level().steps.len() > before;
                if has_steps || !matches!(array.sql_type, SqlType::Array(_)) {
                    self.level().steps.truncate(before);
                    return Ok(None);
                }
                let (plan, column) = self.elements_of(array)?;
                (vec![&**left], plan, vec![column])
            }
            part => match lists::list_of(part) {
                Some((of, List::Values(values))) => {
                    match self.listed_values(of, values, compared)? {
                        Some((plan, column)) => (vec![of], plan, vec![column]),
                        None => return Ok(None),
                    }
                }
                _ => return Ok(None),
            },
        };
        if !self.of_level(plan.free_slots_with(&columns)).is_empty() {
            // Decided row by row; compiled again, as a step.
            return Ok(None);
        }
        let before = self.level().steps.len();
        let pairs = lefts.iter().zip(&columns);
        let equal = pairs.map(|(left, column)| self.compared(left, *column, CompareOp::Equal));
        let equal = equal.collect::<Result<Vec<_>>>()?;
        // Values that differ may be equal as floats: a row would be found once for each of them.
        let becomes_float = |value: &Expr, column: SlotId| {
            value.data_type().is_float() && !self.slot_type(column).packed().is_float()
        };
        if equal.iter().zip(&columns).any(|((_, value), column)| becomes_float(value, *column)) {
            self.level().steps.truncate(before);
            return Ok(None);
        }
        let plan = Plan::Distinct { input: Box::new(plan), on: columns.clone() };
        let columns = columns.into_iter().map(|column| RelationColumn {
            name: String::new(),
            sql_type: self.slot_type(column),
            nullable: true,
            slot: Some(column),
            hidden: true,
        });
        let columns = columns.collect();
        let kind = RelationKind::Planned(Some(plan));
        self.level().relations.push(Relation::new(String::new(), columns, 0, kind));
        let at = self.level().relations.len() - 1;
        if let Tree::Inner { items, .. } = tree {
            items.push(Tree::Leaf(at));
        }
        rows_compared(CompareOp::Equal, equal, place).map(Some)
    }
}
