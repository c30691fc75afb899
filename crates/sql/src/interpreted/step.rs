//! Steps of a block: compiled as programs that take its variables and give them back.

use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::catalog::{Catalog, SearchPath};
use hotrow_transaction::draw::Draw;
use hotrow_transaction::program::{
    CompareOp, Expr, FOUND, Place, Procedure, ROW_COUNT, ResultColumn, Statement, StatementKind,
};
use sqlparser::ast;

use crate::consume::Sink;
use crate::drawn::in_rounds;
use crate::error::{Advice, Result, place_in};
use crate::interpreted::scopes::{Scopes, Shape, given_name};
use crate::operand::Operand;
use crate::relation::one_access::Wanted;
use crate::scope::Compiler;
use crate::state::{ProcedureNames, Variable};
use crate::syntax::{BlockStatement, Declaration, ExecuteSyntax, ForRange, Into, Target};
use crate::typing::{Coercion, assign, packed, spread};

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
    /// a query, or a change of rows that gives some
    Rows(&'a ast::Statement),
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

/// What a step was compiled to, beside its program.
#[derive(Default)]
pub(super) struct Compiled {
    /// of one that changes variables
    pub(super) shapes: Vec<Shape>,
    /// of one that does not: its columns
    pub(super) columns: Vec<(String, SqlType)>,
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
) -> Result<(Procedure, Compiled)> {
    let compile = |room: Vec<Draw>| {
        let mut compiler = Compiler::new(seen.catalog);
        (compiler.room, compiler.path, compiler.place) = (room, seen.path.clone(), seen.place);
        compiler.procedures = Some(seen.procedures);
        compiler.is_procedure = true;
        compiler.calls.mentions = [true, true];
        let (procedure, compiled) = in_scopes(&mut compiler, scopes, step)?;
        Ok((procedure.draws.clone(), (procedure, compiled)))
    };
    in_rounds(compile).map_err(|error| error.or_at(seen.place))
}

fn in_scopes(
    compiler: &mut Compiler<'_>,
    scopes: &Scopes<'_>,
    step: Step<'_>,
) -> Result<(Procedure, Compiled)> {
    let found = compiler.slot("?found", SqlType::Scalar(DataType::Boolean))?;
    let count = compiler.slot("?row_count", SqlType::Scalar(DataType::BigInt))?;
    compiler.parameters.extend([found, count]);
    scopes.make_known(compiler)?;
    compiler.take_drawn_slots()?;
    let mut out = Vec::new();
    compiler.emit_assign(&mut out, FOUND, compiler.slot_expr(found));
    compiler.emit_assign(&mut out, ROW_COUNT, compiler.slot_expr(count));
    if let Step::Rows(_) = step {
        // As a session's own, it knows no FOUND.
        compiler.ad_hoc = true;
        let variable = Variable::Scalar { slot: found, constant: true, not_null: false };
        compiler.names[0].variables.push(("found".to_owned(), variable));
    }
    let mut compiled = Compiled::default();
    compiler.with_what_comes_before(&mut out, |compiler, out| match step.is_change() {
        true => change(compiler, step, out),
        false => compiler.given_by(step, out),
    })?;
    if step.is_change() {
        let (shapes, slots) = scopes.shapes(compiler);
        compiled.shapes = shapes;
        let all = [FOUND, ROW_COUNT].into_iter().chain(slots);
        let values: Vec<_> = all.map(|slot| compiler.slot_expr(slot)).collect();
        compiler.give_row(values.into_iter().map(|value| (String::new(), value)), &mut out);
    }
    compiler.needs_query.take().map_or(Ok(()), Err)?;
    let columns = compiler.result.iter();
    compiled.columns = columns
        .map(|column| (column.name.clone(), SqlType::Scalar(column.data_type).spread()))
        .collect();
    let needs = std::mem::take(&mut compiler.needs);
    let returns_set = !compiler.result.is_empty();
    let procedure = Procedure { needs, ..compiler.take_procedure("", out, returns_set) };
    Ok((procedure, compiled))
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
                compiler.emit_not_null_checks(out, &into.targets);
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
            let slots = compiler.slots_of_targets(targets, &types)?;
            let pairs = compiler.fitted(&slots, &columns)?;
            compiler.emit_assigns(out, pairs)?;
            compiler.emit_not_null_checks(out, targets);
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
            Step::Rows(statement) => return self.rows_of_step(statement, out),
            _ => {}
        }
        out.append(&mut self.before);
        self.give_row(values.into_iter().map(|value| (String::new(), value)), out);
        Ok(())
    }

    fn rows_of_step(&mut self, statement: &ast::Statement, out: &mut Vec<Statement>) -> Result<()> {
        match statement {
            ast::Statement::Query(query) if !crate::written::has_changes(query) => {
                self.emit_query(out, query, Wanted::All, |_, _| Ok(Sink::Result))
            }
            statement => self.sql(statement, None, out),
        }
    }

    /// Gives a row, which is all of the result.
    fn give_row(
        &mut self,
        columns: impl Iterator<Item = (String, Expr)>,
        out: &mut Vec<Statement>,
    ) {
        let (mut values, mut result) = (Vec::new(), Vec::new());
        for (name, value) in columns {
            let value = packed(value);
            result.push(ResultColumn::new(name, value.sql_type.packed()));
            values.push(value);
        }
        self.result = result;
        self.emit(out, StatementKind::ReturnNext(values));
    }
}
