//! Calls of routines in queries of procedures, one for each row if need be.
//!
//! Role         what is called becomes a read of the query's operators: its statements stand in the
//!              caller's program once, its arguments are the read's parameters, and what it returns
//!              is what the operators have of the read. So planning, locks and actions see its
//!              accesses like any others, however often the query calls it
//! Invariants   I1 each call begins as every call does: its variables have no value, and what it
//!              draws is of a turn of its own

use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::program::{
    Access, Consume, Effect, Expr, ExprKind, Gives, OperatorRead, Place, RowsTo, SlotId, Statement,
    StatementKind,
};
use hotrow_transaction::walk;

use crate::call_syntax::CallArgument;
use crate::error::{Result, unsupported};
use crate::recursion::Called;
use crate::scope::Compiler;
use crate::typing::{cast, packed};

impl<'c> Compiler<'c> {
    /// The routine that a call in a query means; none: there is no such routine.
    pub(crate) fn routine_in_query(
        &mut self,
        name: &str,
        given: &[CallArgument],
        place: Place,
    ) -> Result<Option<Called<'c>>> {
        if !self.is_procedure {
            let found = self.routine_meant(name, given, place)?;
            let instance = self.instance_of(found, (name, given), place)?;
            return Ok(instance.or_else(|| found.map(Called::Other)));
        }
        let called = self.called_procedure(name, given, place)?;
        if let Some(Called::Itself(of) | Called::Around(of)) = &called
            && of.returns_set
        {
            let what = format!("a routine that calls itself in a query for rows (by {name})");
            return Err(unsupported(place, what, "loop over the rows, and call it for each"));
        }
        Ok(called)
    }

    /// A call as a read of the query that is compiled; its place among the query's reads.
    pub(crate) fn read_of_call(&mut self, callee: &Called<'_>, place: Place) -> Result<usize> {
        // What is called is no part of the query.
        let reads = self.reads.take();
        let around = (std::mem::take(&mut self.before), std::mem::take(&mut self.levels));
        let (depth, outer) = (std::mem::take(&mut self.depth), self.place);
        self.place = place;
        self.loops += 1; // I1
        let made = self.statements_of_call(callee, place);
        self.loops -= 1;
        (self.depth, self.place, self.levels, self.reads) = (depth, outer, around.1, reads);
        let body = std::mem::replace(&mut self.before, around.0);
        let (parameters, gives) = made?;
        let reads = self.reads.as_mut().expect("a query is compiled for a procedure");
        reads.reads.push(OperatorRead { parameters, body, gives });
        Ok(reads.reads.len() - 1)
    }

    /// Puts what is called where the current statement is, with slots for its arguments.
    fn statements_of_call(
        &mut self,
        callee: &Called<'_>,
        place: Place,
    ) -> Result<(Vec<SlotId>, Gives)> {
        self.check_inlined(callee, place)?;
        let mut parameters = Vec::new();
        for parameter in callee.given() {
            let name = format!("{}.{}", callee.shown_name(), parameter.name);
            parameters.push(self.slot(&name, parameter.sql_type)?);
        }
        let arguments = parameters.iter().map(|slot| self.slot_expr(*slot)).collect();
        if let Called::Within(within) = callee {
            self.meet(within, place)?;
        }
        if !callee.returns_set {
            let given = match callee {
                Called::Itself(_) | Called::Around(_) => {
                    self.recur_from_query(callee, arguments, place)?
                }
                _ => self.inline_with(callee, arguments, |this, body| {
                    this.take_returned(callee, body)
                })?,
            };
            let mut slots = Vec::new();
            for (_, value) in given {
                slots.push(self.slot_with(value)?);
            }
            return Ok((parameters, Gives::Values(slots)));
        }
        let mut columns = Vec::new();
        for column in &callee.result {
            columns.push(self.slot("$column", SqlType::Array(column.data_type))?);
        }
        let mut none = Vec::new();
        self.emit_nulls(&mut none, &columns);
        self.before.append(&mut none);
        self.inline_with(callee, arguments, |this, body| {
            this.leave_at_return(body, &[])?;
            this.keep_returned(body, &columns)
        })?;
        Ok((parameters, Gives::Columns(columns)))
    }

    /// The slot that a value is, or one that it is put into.
    fn slot_with(&mut self, value: Expr) -> Result<SlotId> {
        if let ExprKind::Slot(slot) = packed(value.clone()).kind {
            return Ok(slot);
        }
        let slot = self.slot("$returned", value.sql_type)?;
        let mut assigned = Vec::new();
        self.emit_assign(&mut assigned, slot, value);
        self.before.append(&mut assigned);
        Ok(slot)
    }

    /// Has RETURN NEXT and RETURN QUERY append to arrays, one for each column.
    fn keep_returned(&mut self, block: &mut Vec<Statement>, columns: &[SlotId]) -> Result<()> {
        for mut statement in std::mem::take(block) {
            match statement.kind {
                StatementKind::ReturnNext(values) => self.append_row(block, columns, values),
                StatementKind::Access(access) if returns_rows(&access) => {
                    let query = self.loop_over_returned(*access, columns)?;
                    block.push(Statement { kind: query, place: statement.place });
                }
                _ => {
                    for inner in walk::blocks_mut(&mut statement) {
                        self.keep_returned(inner, columns)?;
                    }
                    block.push(statement);
                }
            }
        }
        Ok(())
    }

    /// RETURN QUERY of one access as a loop over its rows.
    fn loop_over_returned(
        &mut self,
        mut access: Access,
        columns: &[SlotId],
    ) -> Result<StatementKind> {
        let rows = self.row_set();
        let mut into = Vec::new();
        if let Effect::Read(consume) | Effect::Update { consume, .. } | Effect::Delete { consume } =
            &mut access.effect
            && let Consume::Rows { to, columns, .. } = consume
        {
            *to = RowsTo::Loop(rows);
            for column in columns {
                into.push(self.slot("$returned", column.sql_type)?);
            }
        }
        let mut body = Vec::new();
        let values = into.iter().map(|slot| self.slot_expr(*slot)).collect();
        self.append_row(&mut body, columns, values);
        Ok(StatementKind::ForQuery { rows, query: Box::new(access), into, body })
    }

    fn append_row(&self, out: &mut Vec<Statement>, columns: &[SlotId], values: Vec<Expr>) {
        for (slot, value) in columns.iter().zip(values) {
            let element = self.slot_expr(*slot).data_type();
            self.emit_append(out, *slot, fitted(packed(value), element));
        }
    }
}

fn fitted(value: Expr, to: DataType) -> Expr {
    if value.data_type() == to { value } else { cast(value, to) }
}

fn returns_rows(access: &Access) -> bool {
    matches!(access.effect.consume(), Consume::Rows { to: RowsTo::Result, .. })
}
