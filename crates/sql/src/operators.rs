//! Statements of procedures that are more than accesses to one table: operators and their reads.
//!
//! Role         what `relation` makes of a query that is more than one access, or of a part of an
//!              expression that programs cannot compute, becomes a loop over the operators' rows,
//!              whose reads of tables are accesses of the procedure; a change of rows that a query
//!              gives becomes a change by key of each row
//! Invariants   I1 a table is read in an order that its contents decide (`row_order`): a call that
//!              is repeated from a log of calls gives the rows in the order in which it gave them
//!              I2 nothing is asked that the call's own rows do not tell: no system catalog, no
//!              function of the session

use std::sync::Arc;

use hotrow_base::types::DataType;
use hotrow_query::{HostFunction, Plan, Query, Step, StepKind};
use hotrow_transaction::needs::Needs;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{
    CompareOp, Consume, Effect, Expr, ExprKind, FOUND, Gives, OperatorLoop, OperatorRead,
    ROW_COUNT, ResultColumn, RowSource, RowsTo, SlotId, Statement, StatementKind,
};
use hotrow_transaction::walk;
use sqlparser::ast;

use crate::change::Receiver;
use crate::consume::Sink;
use crate::error::{Result, refuse_operators, unsupported};
use crate::relation::extended;
use crate::relation::level::{Level, WishedRead};
use crate::relation::one_access::{Rows, Wanted};
use crate::scope::Compiler;
use crate::source::Source;
use crate::state::{ProcedureReads, Row, Variable};
use crate::syntax::Target;
use crate::typing::{bigint, scalar};

/// A query of a procedure, compiled to operators.
pub(crate) struct OperatorQuery {
    query: Query,
    takes: Vec<SlotId>,
    reads: Vec<OperatorRead>,
    /// slots that receive its rows
    into: Vec<SlotId>,
    /// names and values of its columns
    pub(crate) columns: Vec<(String, Expr)>,
}

/// What is said where a program would ask what only sessions can.
const OF_SESSIONS: &str = "ask it in a statement of its own, and give the procedure what it says";

/// Whether an error is that of what only sessions can ask.
pub(crate) fn is_for_sessions(refused: &SqlError) -> bool {
    refused.hint.as_deref() == Some(OF_SESSIONS)
}

impl Compiler<'_> {
    /// Compiles a query of a procedure: as one access where that gives the rows that are wanted, or
    /// as operators whose reads are the procedure's.
    pub(crate) fn rows_in_procedure(
        &mut self,
        query: &ast::Query,
        wanted: Wanted,
    ) -> Result<Rows<OperatorQuery>> {
        let (rows, reads) = self.with_reads(|this| this.rows_of(query, wanted))?;
        Ok(match rows {
            Rows::Access(selected) => Rows::Access(selected),
            Rows::Operators(query) => Rows::Operators(self.operators_of(query, reads)?),
        })
    }

    fn with_reads<T>(
        &mut self,
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(T, ProcedureReads)> {
        self.reads = Some(ProcedureReads::behind(self.slots.len()));
        let compiled = compile(self);
        let reads = self.reads.take().expect("it was set above");
        Ok((compiled?, reads))
    }

    fn operators_of(&mut self, query: Query, reads: ProcedureReads) -> Result<OperatorQuery> {
        let mut into = Vec::new();
        for (column, output) in query.columns.iter().zip(&query.outputs) {
            let sql_type = self.slots[output.index()].sql_type;
            into.push(self.slot(&format!("${}", column.name), sql_type)?);
        }
        if into.is_empty() {
            return Err(unsupported(self.place, "a query without columns", "select something"));
        }
        self.operators_into(query, reads, into)
    }

    /// A query whose rows go to these slots.
    fn operators_into(
        &self,
        mut query: Query,
        ProcedureReads { outer, reads }: ProcedureReads,
        into: Vec<SlotId>,
    ) -> Result<OperatorQuery> {
        self.refuse_beside_rows(&query)?;
        let mut takes = query.plan.free_slots_with(&query.outputs);
        takes.retain(|slot| slot.index() < outer);
        query.parameters.clone_from(&takes);
        let names = query.columns.iter().map(|column| column.name.clone());
        let columns = names.zip(into.iter().map(|slot| self.slot_expr(*slot))).collect();
        query.slots.clone_from(&self.slots);
        Ok(OperatorQuery { query, takes, reads, into, columns })
    }

    /// Fails where operators, or their reads, would need FOUND: that is what the procedure's last
    /// statement left.
    pub(crate) fn refuse_found(&self, exprs: &[Expr]) -> Result<()> {
        match exprs.iter().any(|expr| walk::reads_any(expr, |slot| slot == FOUND)) {
            true => {
                let advice = "assign it to a variable before, and use that";
                Err(unsupported(self.place, "FOUND in a query of this shape", advice))
            }
            false => Ok(()),
        }
    }

    fn refuse_beside_rows(&self, query: &Query) -> Result<()> {
        let mut refused = None;
        let is_asked =
            |step: &Step| matches!(step.kind, StepKind::Function(HostFunction::System(_)));
        query.plan.walk(&mut |plan| match plan {
            Plan::System { relation, .. } => {
                refused = Some(format!("{relation} in a procedure"));
            }
            plan if plan.steps().iter().any(is_asked) => {
                refused = Some("a function of the session in a procedure".to_owned());
            }
            _ => {}
        });
        refused.map_or(Ok(()), |what| Err(unsupported(self.place, what, OF_SESSIONS)))
    }

    /// A one-table read of a query that is compiled for a procedure; its place among the query's
    /// reads, and what it takes of the rows around.
    pub(crate) fn procedure_read(
        &mut self,
        row: Row,
        WishedRead { chosen, limit: most, .. }: WishedRead,
    ) -> Result<(usize, Vec<SlotId>)> {
        let own: Vec<SlotId> = row.bound.iter().map(|(_, slot)| *slot).collect();
        let values: Vec<Expr> = own.iter().map(|slot| self.slot_expr(*slot)).collect();
        let columns = values.iter().map(Expr::data_type).collect();
        let rows = self.row_set();
        let source = Source { row, path: chosen.path, filter: chosen.filter };
        let effect = Effect::Read(Consume::first_rows(RowsTo::Loop(rows), values, most));
        let access = self.access(source, effect)?; // I1
        let reads = self.reads.as_mut().expect("a query is compiled for a procedure");
        let mut parameters = Vec::new();
        walk::access_uses(&access, &mut |slot| {
            if slot.index() >= reads.outer && !parameters.contains(&slot) {
                parameters.push(slot);
            }
        });
        let kind = StatementKind::Access(Box::new(access));
        let body = vec![Statement { kind, place: self.place }];
        let gives = Gives::Rows { rows, columns };
        reads.reads.push(OperatorRead { parameters: parameters.clone(), body, gives });
        Ok((reads.reads.len() - 1, parameters))
    }

    /// Appends the loop over a query's rows.
    pub(crate) fn emit_operators(
        &mut self,
        out: &mut Vec<Statement>,
        of: OperatorQuery,
        body: Vec<Statement>,
    ) {
        self.emit_operator_loop(out, of, body, true);
    }

    fn emit_operator_loop(
        &mut self,
        out: &mut Vec<Statement>,
        of: OperatorQuery,
        body: Vec<Statement>,
        sets_found: bool,
    ) {
        let OperatorQuery { query, takes, reads, into, .. } = of;
        let (operators, rows) = (Arc::new(query), self.row_set());
        let source = RowSource::Operators(operators);
        let of = OperatorLoop { source, takes, reads, rows, into, body, sets_found };
        self.emit(out, StatementKind::ForOperators(Box::new(of)));
    }

    /// SELECT ... INTO, PERFORM and RETURN QUERY of a query of any shape.
    pub(crate) fn emit_operators_to(
        &mut self,
        out: &mut Vec<Statement>,
        mut of: OperatorQuery,
        sink: Sink,
    ) -> Result<()> {
        let mut body = Vec::new();
        match sink {
            Sink::Discard => self.emit_operators(out, of, body),
            Sink::Result => {
                self.emit_result_row(&mut body, &of.columns)?;
                self.emit_operators(out, of, body);
            }
            Sink::Kept => {
                self.emit_kept_row(&mut body, &of.columns)?;
                self.emit_operators(out, of, body);
            }
            Sink::Slots { slots, strict } => {
                let pairs = self.fitted(&slots, &of.columns)?;
                self.emit_assigns(&mut body, pairs)?;
                // Of STRICT a second row is an error.
                let wanted = self.scalars(&[bigint(if strict { 2 } else { 1 })])?;
                let input = Box::new(std::mem::replace(&mut of.query.plan, Plan::One));
                of.query.plan =
                    Plan::Limit { input, limit: Some(wanted), offset: None, ties: Vec::new() };
                self.emit_nulls(out, &slots);
                self.emit_operators(out, of, body);
                if strict {
                    self.emit_no_rows(out);
                    self.emit_too_many_rows(out);
                }
            }
        }
        Ok(())
    }

    pub(crate) fn emit_too_many_rows(&self, out: &mut Vec<Statement>) {
        let mut then = Vec::new();
        self.emit_raise(&mut then, b"P0003", "query returned more than one row".to_owned(), None);
        let count = Box::new(self.slot_expr(ROW_COUNT));
        let kind = ExprKind::Compare(CompareOp::Greater, count, Box::new(bigint(1)));
        let condition = scalar(kind, DataType::Boolean);
        self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
    }

    /// Compiles an expression that stands in no query. In a procedure, operators compute right
    /// before its statement what programs cannot: each such value has a slot then.
    pub(crate) fn alone<T>(&mut self, compile: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if !self.levels.is_empty() {
            return compile(self); // it stands in another one
        }
        let reads = self.is_procedure.then(|| ProcedureReads::behind(self.slots.len()));
        let around = std::mem::replace(&mut self.reads, reads);
        self.levels.push(Level::default());
        let compiled = compile(self);
        let compiled = compiled.and_then(|value| self.compute_before().map(|()| value));
        self.levels.pop();
        self.reads = around;
        compiled
    }

    /// Compiles what is done before the current statement: behind what the expression around it has
    /// asked for so far.
    pub(crate) fn computed_so_far<T>(
        &mut self,
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if self.is_procedure && !self.levels.is_empty() {
            self.compute_before()?;
        }
        let compiled = compile(self);
        // What it has left in slots is the procedure's.
        let behind = self.slots.len();
        if let Some(reads) = &mut self.reads {
            *reads = ProcedureReads::behind(behind);
        }
        compiled
    }

    /// Has operators compute, right before the current statement, what was asked for in the
    /// innermost level, which has no rows.
    fn compute_before(&mut self) -> Result<()> {
        let level = self.levels.last_mut().expect("an expression is being compiled");
        if !level.needs_operators() {
            return Ok(());
        }
        if !level.expanding.is_empty() {
            let advice = "write SELECT ... INTO, or FOR ... IN SELECT";
            return Err(unsupported(self.place, "an expression that gives rows", advice));
        }
        if !self.is_procedure {
            self.needs_query = Some(refuse_operators(self.place));
            return Ok(());
        }
        let mut steps = std::mem::take(&mut level.given);
        steps.append(&mut level.steps);
        let outputs: Vec<SlotId> = steps.iter().flat_map(|step| step.outputs.clone()).collect();
        let plan = extended(Plan::One, steps);
        let behind = self.slots.len();
        let reads = self.reads.replace(ProcedureReads::behind(behind));
        let reads = reads.expect("an expression of a procedure is being compiled");
        let columns = outputs.iter().map(|slot| {
            let of = &self.slots[slot.index()];
            ResultColumn::new(of.name.clone(), of.sql_type.packed())
        });
        let query = Query {
            columns: columns.collect(),
            outputs: outputs.clone(),
            plan,
            fetches: std::mem::take(&mut self.fetches),
            slots: Vec::new(),
            parameters: Vec::new(),
            needs: Needs::default(),
        };
        let of = self.operators_into(query, reads, outputs)?;
        let mut before = Vec::new();
        self.emit_operator_loop(&mut before, of, Vec::new(), false);
        self.before.append(&mut before);
        Ok(())
    }

    /// INSERT, UPDATE or DELETE of rows that a query gives: a loop over them with a change by key.
    pub(crate) fn change_of_rows(
        &mut self,
        out: &mut Vec<Statement>,
        (statement, with): (&ast::Statement, Option<&ast::With>),
        into: Receiver<'_>,
    ) -> Result<()> {
        let (target, events) = self.events_of(statement)?;
        self.as_firing(out, (target.table.id, &events), false, |this, out| {
            this.change_of_found_rows(out, (statement, with), into)
        })
    }

    fn change_of_found_rows(
        &mut self,
        out: &mut Vec<Statement>,
        (statement, with): (&ast::Statement, Option<&ast::With>),
        into: Receiver<'_>,
    ) -> Result<()> {
        let targets = into.iter().flat_map(|into| &into.targets);
        let assigned: Vec<SlotId> = targets.flat_map(|target| self.target_slots(target)).collect();
        let ((query, taken), reads) =
            self.with_reads(|this| this.rows_of_change(statement, with, &assigned))?;
        let of = self.operators_of(query, reads)?;
        let columns: Vec<Expr> = of.into.iter().map(|slot| self.slot_expr(*slot)).collect();
        let row = taken.row(&columns);
        let mut body = Vec::new();
        let changed = self.begin_count(out)?;
        let draws_once = std::mem::replace(&mut self.draws_once, true);
        let compiled = self.in_loop(|this| {
            this.with_what_comes_before(&mut body, |this, body| {
                this.change_statement(body, statement, Some(&row), into)?;
                this.needs_query.take().map_or(Ok(()), Err)
            })
        });
        self.draws_once = draws_once;
        compiled?;
        let sum = self.row_sum(changed);
        self.emit_assign(&mut body, changed, sum);
        self.emit_operators(out, of, body);
        if !assigned.is_empty() {
            // Only now: the query may have read them.
            let (count, zero) = (Box::new(self.slot_expr(changed)), Box::new(bigint(0)));
            let kind = ExprKind::Compare(CompareOp::Equal, count, zero);
            let mut then = Vec::new();
            self.emit_nulls(&mut then, &assigned);
            let condition = scalar(kind, DataType::Boolean);
            self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
        }
        self.end_count(out, changed);
        if into.is_some() {
            self.emit_too_many_rows(out);
        }
        Ok(())
    }

    /// The slots that a target of INTO stands for.
    pub(crate) fn target_slots(&self, target: &Target) -> Vec<SlotId> {
        match self.qualified_variable(&target.parts) {
            Some(Variable::Record { fields, .. }) => fields.iter().map(|(_, slot)| *slot).collect(),
            _ => self.target_slot(target).into_iter().collect(),
        }
    }
}
