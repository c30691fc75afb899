//! Subqueries in expressions.

use std::cmp::Ordering;

use hotrow_base::types::{DataType, SqlType};
use hotrow_query::{Plan, StepKind, SubqueryKind};
use hotrow_transaction::program::{CompareOp, Expr, Place, SlotId};
use sqlparser::ast;

use crate::assignment::OTHER_COUNT;
use crate::comparison::rows_compared;
use crate::error::{Advice, Result, error, place_in};
use crate::path::truth;
use crate::relation::level::{Bound, RelationKind};
use crate::scope::Compiler;
use crate::typing::{cast, comparable, compared_type, packed};
use crate::written::row_values;

impl Compiler<'_> {
    /// Makes a relation one whose rows may be missing, as a side of an outer join. Columns that
    /// hand on what rows around have, or a parameter, get slots of their own, which are NULL where
    /// the join makes a row up.
    pub(super) fn make_optional(&mut self, at: usize) -> Result<()> {
        let relation = &mut self.level().relations[at];
        relation.is_optional = true;
        relation.columns.iter_mut().for_each(|column| column.nullable = true);
        let RelationKind::Planned(plan) = &mut relation.kind else { return Ok(()) };
        let Some(mut plan) = plan.take() else { return Ok(()) };
        let layout = plan.layout();
        let mut slots: Vec<_> = relation.columns.iter().map(|column| column.slot).collect();
        for slot in slots.iter_mut().flatten().filter(|slot| !layout.contains(slot)) {
            let value = self.slot_expr(*slot);
            let own = self.slot("$own", value.sql_type)?;
            let (scalars, outputs) = (self.scalars(&[value])?, vec![own]);
            let input = Box::new(plan);
            plan = Plan::Compute { input, scalars, outputs };
            *slot = own;
        }
        let relation = &mut self.level().relations[at];
        relation.kind = RelationKind::Planned(Some(plan));
        for (column, slot) in relation.columns.iter_mut().zip(slots) {
            column.slot = slot;
        }
        Ok(())
    }

    /// A subquery as a value.
    pub(super) fn subquery(
        &mut self,
        query: &ast::Query,
        kind: SubqueryKind,
        place: Place,
    ) -> Result<Expr> {
        let Bound { plan, outputs } = self.query_plan(query)?;
        let column = match outputs.as_slice() {
            [(_, column)] => *column,
            [(_, first), ..] if kind == SubqueryKind::Exists => *first,
            [] if kind == SubqueryKind::Exists => self.temporary("none", DataType::Boolean)?,
            _ => return Err(error(b"42601", place, "subquery must return only one column")),
        };
        let of = self.slot_type(column);
        let gives = match kind {
            SubqueryKind::Array => match of.spread() {
                SqlType::Scalar(of) => SqlType::Array(of),
                array => array,
            },
            SubqueryKind::Exists => SqlType::Scalar(DataType::Boolean),
            _ => of,
        };
        let kind = match (kind, of.spread()) {
            (SubqueryKind::Array, SqlType::Array(_)) => SubqueryKind::Nested,
            (kind, _) => kind,
        };
        self.subquery_step(plan, column, kind, &[], gives)
    }

    /// One of the columns of a subquery's only row, which has to have so many.
    pub(crate) fn column_of_subquery(
        &mut self,
        query: &ast::Query,
        (at, count): (usize, usize),
        place: Place,
    ) -> Result<Expr> {
        let Bound { plan, outputs } = self.query_plan(query)?;
        if outputs.len() != count {
            return Err(error(b"42601", place, OTHER_COUNT));
        }
        let column = outputs[at].1;
        let gives = self.slot_type(column);
        self.subquery_step(plan, column, SubqueryKind::Scalar, &[], gives)
    }

    /// `left op ANY (...)`, `left op ALL (...)`, or `left op (...)` of a subquery with one row;
    /// `left` may be a row of values.
    pub(crate) fn compared_subquery(
        &mut self,
        left: &ast::Expr,
        query: &ast::Query,
        (op, kind): (CompareOp, SubqueryKind),
        place: Place,
    ) -> Result<Expr> {
        let row = row_values(left);
        let lefts = row.clone().unwrap_or_else(|| vec![left]);
        let Bound { plan, outputs } = self.query_plan(query)?;
        let columns = columns_for(lefts.len(), &outputs, place)?;
        let pairs = lefts.iter().zip(columns);
        let pairs = pairs.map(|(left, column)| self.compared(left, column, op));
        let pairs = pairs.collect::<Result<Vec<_>>>()?;
        let (left, right, kind) = match (row.is_some(), pairs.as_slice()) {
            (false, [(left, right)]) => (left.clone(), right.clone(), kind),
            // Of each row it is computed whether it is one: that is then compared with true.
            _ => {
                let is_one = rows_compared(op, pairs, place)?;
                (truth(true), is_one, of_truths(kind))
            }
        };
        let (plan, columns) = self.computed(plan, &[right])?;
        let left = (kind != SubqueryKind::Scalar).then_some(left);
        let gives = SqlType::Scalar(DataType::Boolean);
        self.subquery_step(plan, columns[0], kind, left.as_slice(), gives)
    }

    /// A value of a statement and a column of a subquery, in the type in which they are compared.
    pub(super) fn compared(
        &mut self,
        written: &ast::Expr,
        column: SlotId,
        op: CompareOp,
    ) -> Result<(Expr, Expr)> {
        let place = place_in(written, self.place);
        let operand = self.operand(written)?;
        let of = self.slot_type(column).packed();
        let left = packed(self.settle(operand, of, place)?);
        let left_type = left.data_type();
        let sign = op.symbol();
        let common = compared_type(left_type, of).ok_or_else(|| {
            let message = format!("operator does not exist: {left_type} {sign} {of}");
            error(b"42883", place, message).hint("You might need to add explicit type casts.")
        })?;
        comparable(common, sign, place)?;
        Ok((cast(left, common), cast(self.slot_expr(column), common)))
    }

    fn subquery_step(
        &mut self,
        plan: Plan,
        column: SlotId,
        kind: SubqueryKind,
        arguments: &[Expr],
        gives: SqlType,
    ) -> Result<Expr> {
        let inputs = plan.free_slots_with(&[column]);
        self.step(StepKind::Subquery { plan, kind, column, inputs }, arguments, gives)
    }
}

/// The columns of a subquery whose rows are compared with so many values.
pub(super) fn columns_for(
    count: usize,
    outputs: &[(String, SlotId)],
    place: Place,
) -> Result<Vec<SlotId>> {
    let has = match outputs.len().cmp(&count) {
        Ordering::Equal => return Ok(outputs.iter().map(|(_, slot)| *slot).collect()),
        Ordering::Less => "few",
        Ordering::Greater => "many",
    };
    Err(error(b"42601", place, format!("subquery has too {has} columns")))
}

/// As a kind of subquery, of truths instead of values.
const fn of_truths(kind: SubqueryKind) -> SubqueryKind {
    match kind {
        SubqueryKind::Any(_) => SubqueryKind::Any(CompareOp::Equal),
        SubqueryKind::All(_) => SubqueryKind::All(CompareOp::Equal),
        other => other,
    }
}
