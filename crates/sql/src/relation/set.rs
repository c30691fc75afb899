//! UNION, INTERSECT, EXCEPT, and VALUES.

use hotrow_base::types::{DataType, SqlType};
use hotrow_query::{Plan, SetOperation};
use hotrow_transaction::program::{Expr, Place, SlotId};
use sqlparser::ast::{self, SetExpr, SetOperator, SetQuantifier};

use crate::error::{Advice, Result, error, place_in, syntax, unsupported};
use crate::operand::Operand;
use crate::relation::level::Bound;
use crate::scope::Compiler;
use crate::star_syntax::stands_for_many;
use crate::typing::{cast, check_equality, common_type, packed};
use crate::written::bare;

impl Compiler<'_> {
    pub(super) fn set_plan(
        &mut self,
        operator: SetOperator,
        quantifier: SetQuantifier,
        written: (&SetExpr, &SetExpr),
        place: Place,
    ) -> Result<Bound> {
        self.part()?;
        let operation = match operator {
            SetOperator::Union => SetOperation::Union,
            SetOperator::Intersect => SetOperation::Intersect,
            SetOperator::Except => SetOperation::Except,
            SetOperator::Minus => {
                return Err(syntax(place, "syntax error at or near \"MINUS\"").hint("write EXCEPT"));
            }
        };
        let all = match quantifier {
            SetQuantifier::All => true,
            SetQuantifier::Distinct | SetQuantifier::None => false,
            _ => return Err(unsupported(place, "BY NAME", "list the columns in one order")),
        };
        let left = self.body_plan(written.0, place)?;
        let right = self.body_plan(written.1, place)?;
        if left.outputs.len() != right.outputs.len() {
            let message = format!("each {operator} query must have the same number of columns");
            return Err(error(b"42601", place, message));
        }
        let (mut lefts, mut rights, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
        for (at, ((name, one), (_, two))) in left.outputs.iter().zip(&right.outputs).enumerate() {
            let (a, b) = (packed(self.slot_expr(*one)), packed(self.slot_expr(*two)));
            let (of_a, of_b) = (a.data_type(), b.data_type());
            // NULL and literals of a select list are text where nothing else is said.
            let common = match common_type(of_a, of_b) {
                Some(common) => common,
                None if of_a == DataType::Text && may_be_literal(written.0, at) => of_b,
                None if of_b == DataType::Text && may_be_literal(written.1, at) => of_a,
                None => {
                    let message = format!("{operator} types {of_a} and {of_b} cannot be matched");
                    return Err(error(b"42804", place, message));
                }
            };
            if !(all && operation == SetOperation::Union) {
                check_equality(SqlType::Scalar(common), place)?;
            }
            lefts.push(cast(a, common));
            rights.push(cast(b, common));
            outputs.push((name.clone(), self.temporary(name, common)?));
        }
        let (left, left_slots) = self.computed(left.plan, &lefts)?;
        let (right, right_slots) = self.computed(right.plan, &rights)?;
        let plan = Plan::Set {
            operation,
            all,
            left: (Box::new(left), left_slots),
            right: (Box::new(right), right_slots),
            outputs: outputs.iter().map(|(_, slot)| *slot).collect(),
        };
        Ok(Bound { plan, outputs })
    }

    pub(super) fn values_plan(&mut self, values: &ast::Values, place: Place) -> Result<Bound> {
        let expanded = self.values_of_fields(values)?;
        let values = expanded.as_ref().unwrap_or(values);
        let width = values.rows.first().map_or(0, |row| row.content.len());
        let mut columns: Vec<Vec<(Operand, Place)>> = (0..width).map(|_| Vec::new()).collect();
        for row in &values.rows {
            if row.content.len() != width {
                let message = "VALUES lists must all be the same length";
                return Err(error(b"42601", place, message));
            }
            for (column, value) in columns.iter_mut().zip(&row.content) {
                column.push((self.operand(value)?, place_in(value, place)));
            }
        }
        // No row decides what they give: each stands in one place, and is computed once.
        let steps = std::mem::take(&mut self.level().steps);
        self.level().given.extend(steps);
        let mut outputs: Vec<(String, SlotId)> = Vec::new();
        let mut rows: Vec<Vec<Expr>> = values.rows.iter().map(|_| Vec::new()).collect();
        for (at, column) in columns.into_iter().enumerate() {
            let (values, data_type) = self.unified_values(column, "VALUES", place)?;
            for (row, value) in rows.iter_mut().zip(values) {
                row.push(value);
            }
            let name = format!("column{}", at + 1);
            let slot = self.temporary(&name, data_type)?;
            outputs.push((name, slot));
        }
        let rows = rows.iter().map(|row| self.scalars(row)).collect::<Result<Vec<_>>>()?;
        let slots = outputs.iter().map(|(_, slot)| *slot).collect();
        let plan = self.behind_given(Plan::Values { rows, outputs: slots });
        Ok(Bound { plan, outputs })
    }
}

/// Whether the column `at` of a part may be NULL, a literal or a parameter, which is of the type of
/// the other part's column. What has a type of its own is not converted.
fn may_be_literal(part: &SetExpr, at: usize) -> bool {
    let SetExpr::Select(select) = part else { return true };
    if select.projection.iter().any(stands_for_many) {
        return true; // which item the column is of is not known here
    }
    match select.projection.get(at) {
        Some(
            ast::SelectItem::UnnamedExpr(written)
            | ast::SelectItem::ExprWithAlias { expr: written, .. },
        ) => !matches!(
            bare(written),
            ast::Expr::Identifier(_)
                | ast::Expr::CompoundIdentifier(_)
                | ast::Expr::Function(_)
                | ast::Expr::BinaryOp { .. }
                | ast::Expr::Cast { .. }
                | ast::Expr::Substring { .. }
                | ast::Expr::Overlay { .. }
                | ast::Expr::Trim { .. }
                | ast::Expr::Position { .. }
        ),
        _ => true,
    }
}
