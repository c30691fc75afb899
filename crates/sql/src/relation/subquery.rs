//! Subqueries in expressions.

use hotrow_base::types::{DataType, SqlType};
use hotrow_query::{Plan, StepKind, SubqueryKind};
use hotrow_transaction::program::{Expr, Place};
use sqlparser::ast;

use crate::error::{Result, error, place_in};
use crate::relation::level::{Bound, scalar_of};
use crate::scope::Compiler;
use crate::typing::{cast, common_type, comparable};

impl Compiler<'_> {
    /// A subquery as a value; `left`: what its rows are compared with.
    pub(super) fn subquery(
        &mut self,
        query: &ast::Query,
        kind: SubqueryKind,
        left: Option<&ast::Expr>,
        place: Place,
    ) -> Result<Expr> {
        let Bound { mut plan, outputs } = self.query_plan(query)?;
        let column = match outputs.as_slice() {
            [(_, column)] => *column,
            [(_, first), ..] if kind == SubqueryKind::Exists => *first,
            [] if kind == SubqueryKind::Exists => self.temporary("none", DataType::Boolean)?,
            _ if left.is_some() => {
                return Err(error(b"42601", place, "subquery has too many columns"));
            }
            _ => return Err(error(b"42601", place, "subquery must return only one column")),
        };
        let of = self.slot_type(column);
        let (mut arguments, mut column) = (Vec::new(), column);
        if let Some(written) = left {
            let place = place_in(written, place);
            let operand = self.operand(written)?;
            let left = self.settle(operand, scalar_of(of), place)?;
            let (left_type, of) = (self.scalar_type(&left, place)?, scalar_of(of));
            let common = common_type(left_type, of).ok_or_else(|| {
                error(b"42883", place, format!("operator does not exist: {left_type} = {of}"))
            })?;
            comparable(common, "=", place)?;
            arguments.push(cast(left, common));
            if of != common {
                let value = cast(self.slot_expr(column), common);
                let scalars = self.scalars(&[value])?;
                column = self.temporary("compared", common)?;
                plan = Plan::Compute { input: Box::new(plan), scalars, outputs: vec![column] };
            }
        }
        let gives = match kind {
            SubqueryKind::Scalar => of,
            SubqueryKind::Array => SqlType::Array(scalar_of(of)),
            SubqueryKind::Exists | SubqueryKind::Any(_) | SubqueryKind::All(_) => {
                SqlType::Scalar(DataType::Boolean)
            }
        };
        let inputs = plan.free_slots_with(&[column]);
        self.step(StepKind::Subquery { plan, kind, column, inputs }, &arguments, gives)
    }
}
