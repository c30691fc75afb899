//! EXECUTE of a text that is known only when the call runs.
//!
//! Role         compiles the place where it stands: a loop over the rows of a statement that is
//!              compiled when the call comes there, with the definitions that are in force then
//! Source       PostgreSQL 15, 43.5.4. We differ: it is compiled in the path of the procedure, not
//!              of the session; and INTO needs variables whose types are known, since what reads
//!              them is compiled before the text is there

use std::sync::Arc;

use hotrow_base::stack::with_room;
use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::catalog::SearchPath;
use hotrow_transaction::draw::{Draw, SessionDraw};
use hotrow_transaction::dynamic::{Definitions, DynamicStatement, Taken};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{
    Expr, OperatorLoop, Place, Procedure, ResultColumn, RowSource, SlotId, Statement, StatementKind,
};
use sqlparser::ast;

use crate::anonymous::DEFINING;
use crate::consume::{Sink, no_values};
use crate::drawn::in_rounds;
use crate::dynamic_syntax::{parameter_name, statement_of};
use crate::error::{Result, unsupported};
use crate::relation::one_access::Wanted;
use crate::scope::Compiler;
use crate::state::{EnclosingKind, Names, Registered, Returning, Variable};
use crate::statement::has_returning;
use crate::syntax::{Into, LoopBody, Target};
use crate::typing::null;

/// A statement whose text comes when the call runs.
#[derive(Debug)]
struct DynamicText {
    path: SearchPath,
    /// types of the values of USING
    values: Vec<SqlType>,
    /// types of the columns that are wanted; none: its rows are not
    columns: Option<Vec<SqlType>>,
    /// so many of them are wanted as there are; else it is an error where there are others
    fits: bool,
}

/// What the place knows of it.
pub(crate) struct DynamicSource {
    /// text
    pub(crate) text: Expr,
    /// of USING
    pub(crate) values: Vec<Expr>,
}

impl DynamicStatement for DynamicText {
    fn compile(&self, text: &str, definitions: &dyn Definitions) -> Result<Procedure> {
        let registered = Registered(definitions);
        let compile = |room| {
            let mut compiler = Compiler::new(definitions.catalog());
            (compiler.room, compiler.path) = (room, self.path.clone());
            compiler.procedures = Some(&registered);
            compiler.is_procedure = true;
            let procedure = self.procedure(text, &mut compiler)?;
            Ok((procedure.draws.clone(), procedure))
        };
        with_room(|| in_rounds(compile))
    }
}

impl DynamicText {
    fn procedure(&self, text: &str, compiler: &mut Compiler<'_>) -> Result<Procedure> {
        let place = Place { line: 1, column: 1 };
        compiler.place = place;
        let mut names = Names::default();
        for (at, of) in (1..).zip(&self.values) {
            let name = parameter_name(at);
            let slot = compiler.slot(&name, *of)?;
            compiler.parameters.push(slot);
            let variable = Variable::Scalar { slot, constant: true, not_null: false };
            names.variables.push((name, variable));
        }
        compiler.take_drawn_slots()?;
        compiler.names.push(names);
        if is_definition(text) {
            return Err(no_definition(place));
        }
        let statement = statement_of(text, self.values.len(), place)?;
        refuse_definition(&statement, place)?;
        compiler.calls.mentions = [false, true]; // the row count is asked for
        let mut body = Vec::new();
        compiler.with_what_comes_before(&mut body, |compiler, body| match &self.columns {
            Some(columns) => {
                let column = |(at, of): (usize, &SqlType)| {
                    ResultColumn::new(format!("column{at}"), of.packed())
                };
                compiler.result = (1..).zip(columns).map(column).collect();
                compiler.returning = Returning::SetOfRows(Vec::new());
                compiler.fits_result = self.fits;
                compiler.rows_of_text(&statement, body)
            }
            None => compiler.without_rows(&statement, body),
        })?;
        compiler.needs_query.take().map_or(Ok(()), Err)?;
        let returns_set = self.columns.is_some();
        let needs = std::mem::take(&mut compiler.needs);
        Ok(Procedure { needs, ..compiler.take_procedure("", body, returns_set) })
    }
}

/// What a text is that a call does not execute.
pub(crate) const DEFINITION: &str = "EXECUTE of a definition, or of a command, in a procedure";

/// Definitions are made beside calls and not in them.
fn refuse_definition(statement: &ast::Statement, place: Place) -> Result<()> {
    let is_change_of_rows = matches!(
        statement,
        ast::Statement::Query(_)
            | ast::Statement::Insert(_)
            | ast::Statement::Update(_)
            | ast::Statement::Delete(_)
            | ast::Statement::Merge(_)
            | ast::Statement::NOTIFY { .. }
    );
    if is_change_of_rows { Ok(()) } else { Err(no_definition(place)) }
}

fn no_definition(place: Place) -> SqlError {
    let advice = "a call changes and reads rows: send the statement by itself";
    unsupported(place, DEFINITION, advice)
}

/// Whether a text begins as definitions do, not all of which the parser knows.
fn is_definition(text: &str) -> bool {
    let word: String = text.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    let word = word.to_ascii_lowercase();
    word == "do" || DEFINING.contains(&word.as_str())
}

impl Compiler<'_> {
    fn rows_of_text(&mut self, statement: &ast::Statement, out: &mut Vec<Statement>) -> Result<()> {
        match statement {
            ast::Statement::Query(_) => {}
            statement if has_returning(statement) => {}
            _ => return Err(no_values(self.place)),
        }
        self.return_query(statement, out)
    }

    fn without_rows(&mut self, statement: &ast::Statement, out: &mut Vec<Statement>) -> Result<()> {
        match statement {
            ast::Statement::Query(query) => {
                self.emit_query(out, query, Wanted::Any, |_, _| Ok(Sink::Discard))
            }
            statement => self.sql(statement, None, out),
        }
    }

    /// EXECUTE as a statement, of a text that comes later.
    pub(crate) fn execute_later(
        &mut self,
        source: DynamicSource,
        into: Option<&Into>,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let Some(into) = into else {
            return self.emit_dynamic(out, source, (None, true), &[], Vec::new());
        };
        let targets = self.slots_of_known(&into.targets)?;
        let types: Vec<SqlType> = targets.iter().map(|slot| self.slot_type(*slot)).collect();
        let slots = self.column_slots(&types)?;
        self.emit_nulls(out, &targets);
        let mut body = Vec::new();
        for (target, slot) in targets.iter().zip(&slots) {
            self.emit_assign(&mut body, *target, self.slot_expr(*slot));
        }
        if into.strict {
            self.emit_dynamic(out, source, (Some(types), true), &slots, body)?;
            self.emit_no_rows(out);
            self.emit_too_many_rows(out);
            return Ok(());
        }
        let label = self.new_label()?; // left behind the first row
        self.emit(&mut body, StatementKind::Leave(label));
        let mut whole = Vec::new();
        self.emit_dynamic(&mut whole, source, (Some(types), true), &slots, body)?;
        self.emit(out, StatementKind::Block { label, body: whole });
        Ok(())
    }

    /// FOR ... IN EXECUTE of a text that comes later.
    pub(crate) fn loop_later(
        &mut self,
        targets: &[Target],
        source: DynamicSource,
        body: &LoopBody,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let place = self.place;
        let slots = self.slots_of_known(targets)?;
        let types = slots.iter().map(|slot| self.slot_type(*slot)).collect();
        self.names.push(Names { label: body.label.clone(), variables: Vec::new() });
        let mut compiled = Vec::new();
        let exit = self.loop_body(body, EnclosingKind::For, &mut compiled)?;
        self.names.pop();
        self.place = place;
        let mut whole = Vec::new();
        self.emit_dynamic(&mut whole, source, (Some(types), true), &slots, compiled)?;
        self.emit_in_block(out, exit, |_, out| out.append(&mut whole));
        Ok(())
    }

    /// RETURN QUERY EXECUTE of a text that comes later.
    pub(crate) fn return_later(
        &mut self,
        source: DynamicSource,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let types: Vec<SqlType> =
            self.result.iter().map(|column| SqlType::Scalar(column.data_type)).collect();
        let slots = self.column_slots(&types)?;
        let values = slots.iter().map(|slot| self.slot_expr(*slot)).collect();
        let mut body = Vec::new();
        self.emit(&mut body, StatementKind::ReturnNext(values));
        self.emit_dynamic(out, source, (Some(types), false), &slots, body)
    }

    /// Appends the loop over the rows of a text that comes later.
    pub(crate) fn emit_dynamic(
        &mut self,
        out: &mut Vec<Statement>,
        DynamicSource { text, values }: DynamicSource,
        (columns, fits): (Option<Vec<SqlType>>, bool),
        into: &[SlotId],
        body: Vec<Statement>,
    ) -> Result<()> {
        let mut takes = Vec::new();
        for what in Taken::ALL {
            takes.push(match what {
                Taken::Text => {
                    let slot = self.temporary("text", DataType::Text)?;
                    self.emit_assign(out, slot, text.clone());
                    slot
                }
                Taken::Role => {
                    let role = SessionDraw::Role(self.runs_as.clone());
                    self.shared_parameter(Draw::Session(role))?
                }
                Taken::SessionUser => {
                    self.shared_parameter(Draw::Session(SessionDraw::SessionUser))?
                }
                Taken::Seed => self.shared_parameter(Draw::Seed)?,
                Taken::Numbers => self.shared_parameter(Draw::AnyNumbers)?,
            });
        }
        let types = values.iter().map(|value| value.sql_type).collect();
        for value in values {
            let slot = self.slot("$value", value.sql_type)?;
            self.emit_assign(out, slot, value);
            takes.push(slot);
        }
        let path = self.path.clone();
        let text = DynamicText { path, values: types, columns, fits };
        let of = OperatorLoop {
            source: RowSource::Dynamic(Arc::new(text)),
            takes,
            reads: Vec::new(),
            rows: self.row_set(),
            into: into.to_vec(),
            body,
            sets_found: true,
        };
        self.emit(out, StatementKind::ForOperators(Box::new(of)));
        Ok(())
    }

    /// Slots for columns of these types.
    fn column_slots(&mut self, types: &[SqlType]) -> Result<Vec<SlotId>> {
        types.iter().map(|of| self.slot("$column", *of)).collect()
    }

    /// The slots of variables whose types are known before the text is.
    pub(crate) fn slots_of_known(&mut self, targets: &[Target]) -> Result<Vec<SlotId>> {
        let mut slots = Vec::new();
        for target in targets {
            match self.qualified_variable(&target.parts) {
                Some(Variable::Record { fields, open: true, .. }) if fields.is_empty() => {
                    let advice = "declare a variable for each column, or one of a row type";
                    return Err(unsupported(target.place, OPEN_RECORD, advice));
                }
                Some(Variable::Record { fields, .. }) => {
                    slots.extend(fields.iter().map(|(_, slot)| *slot));
                }
                _ => slots.push(self.target_slot(target)?),
            }
        }
        Ok(slots)
    }

    /// A query's columns, as many as there are of the result: NULL for those that are missing.
    pub(crate) fn fitted_to_result(&self, columns: &[(String, Expr)]) -> Vec<(String, Expr)> {
        let given = columns.iter().cloned().map(Some).chain(std::iter::repeat(None));
        let column = |(given, of): (Option<(String, Expr)>, &ResultColumn)| {
            given.unwrap_or_else(|| (of.name.clone(), null(of.data_type)))
        };
        given.zip(&self.result).map(column).collect()
    }
}

/// What is refused of a record without a type.
pub(crate) const OPEN_RECORD: &str =
    "a record that EXECUTE of a text gives its columns to when the call runs";

/// What is refused of a cursor.
pub(crate) const OPEN_CURSOR: &str =
    "a cursor for EXECUTE of a text that is known only when the call runs";

/// The error of a text where nobody compiles one.
pub(crate) fn no_cursor(place: Place) -> SqlError {
    unsupported(place, OPEN_CURSOR, "write FOR ... IN EXECUTE")
}
