//! Conditions that rows are found by: subqueries, arrays and lists as joins with their values.

use hotrow_base::types::{DataType, SqlType};
use hotrow_query::Plan;
use hotrow_transaction::program::{CompareOp, Expr, ExprKind, SlotId};
use sqlparser::ast::{self, BinaryOperator};

use crate::error::{Advice, Result, error, place_in};
use crate::operand::Operand;
use crate::relation::level::{Bound, Relation, RelationColumn, RelationKind};
use crate::scope::Compiler;
use crate::typing::{cast, common_type, scalar};
use crate::written::bare;

use super::from::Tree;
use super::lists::{self, Compared, List};

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
        let (left, plan, column) = match part {
            ast::Expr::InSubquery { expr, subquery, negated: false } => {
                if matches!(bare(expr), ast::Expr::Tuple(_)) {
                    return Ok(None);
                }
                let Bound { plan, outputs } = self.query_plan(subquery)?;
                let [(_, column)] = outputs.as_slice() else {
                    return Err(error(b"42601", place, "subquery has too many columns"));
                };
                (&**expr, plan, *column)
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
                (&**left, plan, column)
            }
            part => match lists::list_of(part) {
                Some((of, List::Values(values))) => {
                    match self.listed_values(of, values, compared)? {
                        Some((plan, column)) => (of, plan, column),
                        None => return Ok(None),
                    }
                }
                _ => return Ok(None),
            },
        };
        if !self.of_level_free(&plan, column).is_empty() {
            // Decided row by row; compiled again, as a step.
            return Ok(None);
        }
        let operand = self.operand(left)?;
        let of = crate::relation::level::scalar_of(self.slot_type(column));
        let left = self.settle(operand, of, place)?;
        let left_type = self.scalar_type(&left, place)?;
        let Some(common) = common_type(left_type, of) else {
            let message = format!("operator does not exist: {left_type} = {of}");
            return Err(
                error(b"42883", place, message).hint("You might need to add explicit type casts.")
            );
        };
        let plan = Plan::Distinct { input: Box::new(plan), on: vec![column] };
        let columns = vec![RelationColumn {
            name: String::new(),
            sql_type: self.slot_type(column),
            nullable: true,
            slot: Some(column),
            hidden: true,
        }];
        let kind = RelationKind::Planned(Some(plan));
        let relation = Relation { name: String::new(), schema: None, columns, kind };
        self.level().relations.push(relation);
        let at = self.level().relations.len() - 1;
        if let Tree::Inner { items, .. } = tree {
            items.push(Tree::Leaf(at));
        }
        let right = cast(self.slot_expr(column), common);
        let sides = (Box::new(cast(left, common)), Box::new(right));
        Ok(Some(scalar(ExprKind::Compare(CompareOp::Equal, sides.0, sides.1), DataType::Boolean)))
    }

    fn of_level_free(&self, plan: &Plan, column: SlotId) -> Vec<SlotId> {
        let level = self.levels.last().expect("a query is being compiled");
        let own: Vec<_> = level.relations.iter().flat_map(Relation::slots).collect();
        plan.free_slots_with(&[column]).into_iter().filter(|slot| own.contains(slot)).collect()
    }
}
