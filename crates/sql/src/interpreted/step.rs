//! Steps of a block: compiled as programs that take its variables and give them back.

use hotrow_base::memory::Charge;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{Catalog, SearchPath};
use hotrow_transaction::draw::Draw;
use hotrow_transaction::program::{
    CompareOp, Expr, FOUND, Place, Procedure, ROW_COUNT, ResultColumn, SlotId, Statement,
    StatementKind,
};
use sqlparser::ast;

use crate::compile::{query_of_rows, sql_statement};
use crate::compiled::Compiled;
use crate::consume::Sink;
use crate::drawn::in_rounds;
use crate::error::{Advice, Result, place_in};
use crate::interpreted::called::called_alone;
use crate::interpreted::scopes::{Scopes, Shape, given_name};
use crate::open_cursors::OpenRows;
use crate::operand::Operand;
use crate::relation::one_access::Wanted;
use crate::scope::Compiler;
use crate::state::{ProcedureNames, Programs, Variable};
use crate::syntax::{BlockStatement, Declaration, ExecuteSyntax, ForRange, Into, Target};
use crate::typing::{Coercion, assign, packed, spread};
use crate::written::{changed_by, has_changes};

/// A part of a block.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    /// a statement, with those in it
    Statement(&'a BlockStatement),
    Declaration(&'a Declaration),
    /// a statement that EXECUTE gives
    Executed(&'a ast::Statement, Option<&'a Into>),
    /// the values of the innermost scope, to variables
    Assign(&'a [Target]),
    /// a condition, and of what
    Condition(&'a ast::Expr, &'static str),
    /// whether both are equal
    Equal(&'a ast::Expr, &'a ast::Expr),
    Bounds(&'a ForRange),
    /// any value
    Value(&'a ast::Expr),
    /// a query, or a change of rows, as the session would have sent it; its rows
    Sent(&'a ast::Statement),
    /// the text of EXECUTE and its values
    Text(&'a ExecuteSyntax),
}

impl Step<'_> {
    /// Whether it may change variables, and gives all of them.
    pub(super) fn is_change(&self) -> bool {
        matches!(
            self,
            Self::Statement(_) | Self::Declaration(_) | Self::Executed(..) | Self::Assign(_)
        )
    }
}

/// What a step was compiled to, beside what runs.
#[derive(Default)]
pub(super) struct Made {
    /// of one that changes variables
    pub(super) shapes: Vec<Shape>,
    /// of one that does not: its columns
    pub(super) columns: Vec<(String, SqlType)>,
    /// and what its values take
    pub(super) charge: Charge,
}

impl Made {
    /// The rows that the step gave.
    pub(super) fn rows(self, values: Vec<Value>) -> OpenRows {
        OpenRows::new(self.columns, values, self.charge)
    }
}

/// What a step is compiled with.
pub(super) struct Seen<'c> {
    pub(super) catalog: &'c Catalog,
    pub(super) procedures: &'c dyn ProcedureNames,
    pub(super) path: &'c SearchPath,
    pub(super) place: Place,
}

/// Compiles a step, whose parameters are whether something was found, the number of rows of the
/// last statement, and all variables.
pub(super) fn compile(
    seen: &Seen<'_>,
    scopes: &Scopes<'_>,
    step: Step<'_>,
) -> Result<(Compiled, Made)> {
    let compile = |room: Vec<Draw>| {
        let mut compiler = Compiler::new(seen.catalog);
        (compiler.room, compiler.path, compiler.place) = (room, seen.path.clone(), seen.place);
        compiler.procedures = Some(seen.procedures);
        compiler.calls.mentions = [true, true];
        let found = compiler.slot("?found", SqlType::Scalar(DataType::Boolean))?;
        let count = compiler.slot("?row_count", SqlType::Scalar(DataType::BigInt))?;
        compiler.take_variable(found);
        compiler.take_variable(count);
        scopes.make_known(&mut compiler)?;
        compiler.take_drawn_slots()?;
        let made = match step {
            Step::Sent(statement) => sent(&mut compiler, seen, found, statement)?,
            step => program(&mut compiler, scopes, step)?,
        };
        if compiler.calls.needs_turn {
            return Err(called_alone());
        }
        Ok((made.0.draws(), made))
    };
    in_rounds(compile).map_err(|error| error.or_at(seen.place))
}

/// A statement as the session would have sent it, with variables as parameters.
fn sent(
    compiler: &mut Compiler<'_>,
    seen: &Seen<'_>,
    found: SlotId,
    statement: &ast::Statement,
) -> Result<(Compiled, Made)> {
    // Outside of procedures FOUND is no name.
    let variable = Variable::Scalar { slot: found, constant: true, not_null: false };
    compiler.names[0].variables.push(("found".to_owned(), variable));
    compiler.programs = Programs::IfNeedBe;
    let mut compiled = match statement {
        ast::Statement::Query(query) if !has_changes(query) && changed_by(query).is_none() => {
            query_of_rows(compiler, query)?
        }
        statement => sql_statement(compiler, &seen.procedures, statement)?,
    };
    compiler.needs_query.take().map_or(Ok(()), Err)?;
    compiler.give_needs(&mut compiled);
    let columns = match &compiled {
        Compiled::Statement(procedure) => columns_of(&procedure.result),
        Compiled::Change(change) => columns_of(&change.apply.result),
        Compiled::Query(query) => {
            let named = query.columns.iter().zip(&query.outputs);
            let column = |(of, slot): (&ResultColumn, &SlotId)| {
                (of.name.clone(), query.slots[slot.index()].sql_type.spread())
            };
            named.map(column).collect()
        }
        _ => Vec::new(),
    };
    Ok((compiled, Made { columns, ..Made::default() }))
}

fn columns_of(result: &[ResultColumn]) -> Vec<(String, SqlType)> {
    let column = |of: &ResultColumn| (of.name.clone(), SqlType::Scalar(of.data_type).spread());
    result.iter().map(column).collect()
}

/// A step as a program.
fn program(
    compiler: &mut Compiler<'_>,
    scopes: &Scopes<'_>,
    step: Step<'_>,
) -> Result<(Compiled, Made)> {
    compiler.is_procedure = true;
    let mut out = Vec::new();
    for (slot, given) in [FOUND, ROW_COUNT].into_iter().zip(compiler.parameters.clone()) {
        compiler.emit_assign(&mut out, slot, compiler.slot_expr(given));
    }
    let mut made = Made::default();
    compiler.with_what_comes_before(&mut out, |compiler, out| match step.is_change() {
        true => change(compiler, step, out),
        false => compiler.given_by(step, out),
    })?;
    if step.is_change() {
        let (shapes, slots) = scopes.shapes(compiler);
        made.shapes = shapes;
        let all = [FOUND, ROW_COUNT].into_iter().chain(slots);
        let values: Vec<_> = all.map(|slot| compiler.slot_expr(slot)).collect();
        compiler.give_row(values, &mut out);
    }
    compiler.needs_query.take().map_or(Ok(()), Err)?;
    made.columns = columns_of(&compiler.result);
    let needs = std::mem::take(&mut compiler.needs);
    let procedure = Procedure { needs, ..compiler.take_procedure("", out, true) };
    Ok((Compiled::Statement(Box::new(procedure)), made))
}

/// A step that may change variables.
fn change(compiler: &mut Compiler<'_>, step: Step<'_>, out: &mut Vec<Statement>) -> Result<()> {
    match step {
        Step::Statement(statement) => compiler.statements(std::slice::from_ref(statement), out),
        Step::Declaration(declaration) => compiler.declaration(declaration, out),
        Step::Executed(statement, into) => {
            match statement {
                ast::Statement::Query(query) if into.is_none() => {
                    compiler.emit_query(out, query, Wanted::Any, |_, _| Ok(Sink::Discard))?;
                }
                statement => compiler.sql(statement, into, out)?,
            }
            if let Some(into) = into {
                compiler.emit_checks_of_targets(out, &into.targets)?;
            }
            Ok(())
        }
        Step::Assign(targets) => {
            let given = compiler.names.last().into_iter().flat_map(|names| &names.variables);
            let slots: Vec<_> = given
                .filter_map(|(_, variable)| match variable {
                    Variable::Scalar { slot, .. } => Some(*slot),
                    _ => None,
                })
                .collect();
            let value = |(slot, number)| (given_name(number), spread(compiler.slot_expr(slot)));
            let columns: Vec<_> = slots.into_iter().zip(1..).map(value).collect();
            let types: Vec<_> =
                columns.iter().map(|(name, value)| (name.clone(), value.sql_type)).collect();
            let slots = compiler.slots_of_into(targets, &types)?;
            let pairs = compiler.fitted(&slots, &columns)?;
            compiler.emit_assigns(out, pairs)?;
            compiler.emit_checks_of_targets(out, targets)?;
            Ok(())
        }
        _ => Ok(()),
    }
}

impl Compiler<'_> {
    /// A step that gives values.
    fn given_by(&mut self, step: Step<'_>, out: &mut Vec<Statement>) -> Result<()> {
        let mut values = Vec::new();
        match step {
            Step::Condition(condition, what) => values.push(self.condition(condition, what)?),
            Step::Equal(left, right) => {
                values.push(self.comparison(left, CompareOp::Equal, right)?);
            }
            Step::Bounds(ForRange { from, to, step, .. }) => {
                let bounds = [(Some(from), "lower"), (Some(to), "upper"), (step.as_ref(), "BY")];
                for (bound, what) in bounds {
                    let Some(bound) = bound else { continue };
                    values.push(self.value_for(
                        bound,
                        DataType::Integer,
                        Coercion::Assignment,
                        || format!("{what} bound of FOR loop"),
                    )?);
                }
            }
            Step::Value(value) => values.push(self.expr(value)?),
            Step::Text(ExecuteSyntax { text, using, place }) => {
                let place = place_in(text, *place);
                let operand = self.operand(text)?;
                let text = self.settle(operand, DataType::Text, place)?;
                let what = || "EXECUTE".to_owned();
                values.push(assign(text, DataType::Text, Coercion::Explicit, place, what)?);
                for value in using {
                    let at_value = place_in(value, place);
                    values.push(match self.operand(value)? {
                        Operand::Typed(value) => value,
                        open => self.settle(open, DataType::Text, at_value)?,
                    });
                }
            }
            _ => {}
        }
        out.append(&mut self.before);
        self.give_row(values, out);
        Ok(())
    }

    /// Gives a row, which is all of the result.
    fn give_row(&mut self, columns: Vec<Expr>, out: &mut Vec<Statement>) {
        let values: Vec<_> = columns.into_iter().map(packed).collect();
        let column = |value: &Expr| ResultColumn::new("", value.sql_type.packed());
        self.result = values.iter().map(column).collect();
        self.emit(out, StatementKind::ReturnNext(values));
    }
}
