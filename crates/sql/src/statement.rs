//! PL/pgSQL statements to program statements.

use hotrow_base::stack::deeper;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{
    CompareOp, Expr, ExprKind, Place, Raise, SlotId, Statement, StatementKind,
};
use sqlparser::ast;

use crate::block::no_definition;
use crate::change::{Receiver, is_of_query};
use crate::comparison::negated;
use crate::consume::Sink;
use crate::element::no_subscripts;
use crate::error::{
    Advice, Result, error, exhausted, place_in, refuse_operators, syntax, unsupported,
};
use crate::json_subscripts::{JsonTarget, no_slices};
use crate::notify::notification;
use crate::relation::FoundRow;
use crate::relation::one_access::{Rows, Wanted};
use crate::scope::Compiler;
use crate::script::{FREE_BYTES, STATEMENT_BYTES};
use crate::state::{Names, Returning};
use crate::syntax::{Block, BlockStatement, BlockStatementKind as Kind, Target};
use crate::typing::{Coercion, cast, constant, joined, packed, scalar, spread};
use crate::written::{changed_by, returns_queries};
use crate::written_subscripts::Subscripts;

impl Compiler<'_> {
    /// Compiles a block in a scope of its own.
    pub(crate) fn block(&mut self, block: &Block, out: &mut Vec<Statement>) -> Result<()> {
        self.is_procedure = true;
        let names = Names { label: block.label.clone(), variables: Vec::new() };
        self.names.push(names);
        for declaration in &block.declarations {
            self.place = declaration.place();
            self.with_what_comes_before(out, |this, out| this.declaration(declaration, out))?;
        }
        match &block.label {
            None => self.statements_of(block, out)?,
            Some(label) => self.labelled(label, block, out)?,
        }
        self.names.pop();
        Ok(())
    }

    /// The statements of a block, whose names are in scope.
    pub(crate) fn statements_of(&mut self, block: &Block, out: &mut Vec<Statement>) -> Result<()> {
        match block.handlers.is_empty() {
            true => self.statements(&block.statements, out),
            false => self.protected(block, out),
        }
    }

    pub(crate) fn statements(
        &mut self,
        statements: &[BlockStatement],
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        for statement in statements {
            self.place = statement.place;
            let compiled = deeper(|| {
                self.with_what_comes_before(out, |this, out| this.statement(statement, out))
            });
            compiled
                .map_err(|_| exhausted(statement.place))?
                .map_err(|e| e.or_at(statement.place))?;
        }
        Ok(())
    }

    /// Compiles a statement, and puts what its expressions need computed right before it.
    pub(crate) fn with_what_comes_before(
        &mut self,
        out: &mut Vec<Statement>,
        compile: impl FnOnce(&mut Self, &mut Vec<Statement>) -> Result<()>,
    ) -> Result<()> {
        let (around, at) = (std::mem::take(&mut self.before), out.len());
        let made = std::mem::take(&mut self.calls.made);
        let compiled = compile(self, out);
        let before = std::mem::replace(&mut self.before, around);
        self.calls.made = made;
        out.splice(at..at, before);
        compiled
    }

    fn statement(&mut self, statement: &BlockStatement, out: &mut Vec<Statement>) -> Result<()> {
        match &statement.kind {
            Kind::Null => Ok(()),
            Kind::Block(block) => self.block(block, out),
            Kind::Assign { target, value } => self.assign_statement(target, value, out),
            Kind::AssignElement { target, subscripts, value } => {
                self.assign_element(target, (subscripts, value), out)
            }
            Kind::If { arms, otherwise } => {
                let (mut rest, mut otherwise) = (Vec::new(), otherwise);
                // the last arm first, so that each ELSIF is the ELSE of the one before
                let mut compiled = Vec::new();
                for (condition, body) in arms {
                    self.place = place_in(condition, statement.place);
                    let condition = self.condition(condition, "IF")?;
                    let before = std::mem::take(&mut self.before);
                    match self.known_truth(&condition) {
                        Some(true) => {
                            otherwise = body;
                            break;
                        }
                        Some(false) => continue,
                        None => {}
                    }
                    let mut then = Vec::new();
                    self.statements(body, &mut then)?;
                    compiled.push(Arm { before, condition, then });
                }
                self.statements(otherwise, &mut rest)?;
                self.place = statement.place;
                self.emit_arms(out, compiled, rest);
                Ok(())
            }
            Kind::Case { operand, arms, otherwise } => {
                self.case_statement(operand.as_ref(), arms, otherwise.as_ref(), statement, out)
            }
            Kind::ForRange(written) => self.for_range(written, statement.place, out),
            Kind::ForEach { target, slice, array, body } => {
                self.for_each((target, *slice), array, body, statement.place, out)
            }
            Kind::ForQuery { targets, query, body } => {
                self.for_query(targets, query, body, statement.place, out)
            }
            Kind::Loop { condition, body } => {
                self.unbounded_loop(condition.as_ref(), body, statement.place, out)
            }
            Kind::Leave(written) => self.leave(written, out),
            Kind::Sql { statement, into } => {
                self.body_statements += 1;
                if self.body_statements > FREE_BYTES / STATEMENT_BYTES {
                    self.charge.add(STATEMENT_BYTES)?;
                }
                self.at_current_row(statement, out, |this, statement, out| {
                    this.sql(statement, into.as_ref(), out)
                })?;
                if let Some(into) = into {
                    self.emit_checks_of_targets(out, &into.targets)?;
                }
                Ok(())
            }
            Kind::ForCursor { target, cursor, arguments, body } => {
                self.for_cursor((target, cursor), arguments, (body, statement.place), out)
            }
            Kind::Open(written) => self.open_cursor(written, out),
            Kind::Fetch(written) => self.fetch_row(written, out),
            Kind::Close(target) => self.close_cursor(target, out),
            Kind::Definition(written) => Err(no_definition(written)),
            Kind::Execute { statement, into } => self.execute(statement, into.as_ref(), out),
            Kind::End { ending, is_last } => self.ending((*ending, *is_last), out),
            Kind::Call(call) => self.call_statement(call, out),
            Kind::Perform(query) => {
                let query = as_query(query, self.place)?;
                if let Some(given) = notification(query) {
                    return self.notify(given, out);
                }
                if self.select_of_call(query, None, out)? {
                    return Ok(());
                }
                self.emit_query(out, query, Wanted::Any, |_, _| Ok(Sink::Discard))
            }
            Kind::Return(value) => self.return_statement(value.as_ref(), out),
            Kind::ReturnNext(value) => self.return_next(value.as_ref(), out),
            Kind::ReturnQuery(query) => {
                if !matches!(self.returning, Returning::SetOfRows(_) | Returning::SetOfValues(_)) {
                    return Err(error(
                        b"42804",
                        self.place,
                        "cannot use RETURN QUERY in a non-SETOF function",
                    ));
                }
                self.with_statement(query, out, Self::return_query, Self::return_later)
            }
            Kind::Raise(written) => self.raise(written, out),
            Kind::RaiseAgain => self.raise_again(out),
            Kind::Stacked(items) => self.stacked(items, out),
            Kind::Assert(written) => {
                let (condition, message) = &**written;
                let condition = self.condition(condition, "ASSERT")?;
                let message = message.as_ref().map(|m| self.expr(m)).transpose()?;
                let mut then = Vec::new();
                match message {
                    None => {
                        let text = "assertion failed".to_owned();
                        self.emit_raise(&mut then, b"P0004", text, None);
                    }
                    Some(message) => {
                        let raise = Raise {
                            sqlstate: *b"P0004",
                            message: vec![String::new(), String::new()],
                            arguments: vec![cast(message, DataType::Text)],
                            detail: None,
                            hint: None,
                            of: None,
                            is_again: false,
                            parts: Vec::new(),
                        };
                        self.emit(&mut then, StatementKind::Raise(raise));
                    }
                }
                // NULL fails too
                let truth = constant(Value::Bool(true), DataType::Boolean);
                let holds = ExprKind::NotDistinct(Box::new(condition), Box::new(truth));
                let condition = negated(scalar(holds, DataType::Boolean));
                self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
                Ok(())
            }
            Kind::Diagnostics(items) => self.diagnostics(items, out),
        }
    }

    /// RETURN QUERY
    pub(crate) fn return_query(
        &mut self,
        statement: &ast::Statement,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let change = match statement {
            ast::Statement::Query(query) => match changed_by(query) {
                Some((_, change)) => change,
                None => return self.emit_query(out, query, Wanted::All, |_, _| Ok(Sink::Result)),
            },
            change => change,
        };
        refuse_without_returning(change, self.place)?;
        self.returns_rows = true;
        let changed = self.sql(statement, None, out);
        self.returns_rows = false;
        changed
    }

    fn assign_statement(
        &mut self,
        target: &Target,
        value: &ast::Expr,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        if self.assign_row(target, value, out)? || self.assign_field(target, value, out)? {
            return Ok(());
        }
        let slot = self.target_slot(target)?;
        let what = || format!("variable \"{}\"", target.parts.join("."));
        let value = self.value_of_slot(value, slot, what)?;
        self.emit_assign(out, slot, value);
        self.emit_checks_of_targets(out, std::slice::from_ref(target))?;
        Ok(())
    }

    /// `target[index] := value`, `target[from:to] := array`
    fn assign_element(
        &mut self,
        target: &Target,
        (subscripts, value): (&Subscripts, &ast::Expr),
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let slot = self.target_slot(target)?;
        match self.slot_type(slot).spread() {
            SqlType::Scalar(DataType::Jsonb) if subscripts.is_slice => {
                return Err(no_slices(target.place));
            }
            SqlType::Scalar(DataType::Jsonb) => {
                let json = self.slot_expr(slot);
                let name = target.parts.join(".");
                let (of, steps) = (JsonTarget::Variable(&name), &subscripts.bounds);
                let value =
                    self.alone(|this| this.assigned_json(json, steps, value, of, target.place))?;
                self.emit_assign(out, slot, value);
                return Ok(());
            }
            SqlType::Scalar(of) => return Err(no_subscripts(of, target.place)),
            SqlType::Array(_) => {}
        }
        let what = || format!("variable \"{}\"", target.parts.join("."));
        let array = spread(self.slot_expr(slot));
        let bounds = (&*subscripts.bounds, subscripts.is_slice);
        let how = (Coercion::Explicit, &what as &dyn Fn() -> String);
        let array = self.alone(|this| this.array_with(array, bounds, value, how))?;
        let value = match self.slot_type(slot) {
            SqlType::Scalar(_) => packed(array),
            SqlType::Array(_) => array,
        };
        self.emit_assign(out, slot, value);
        Ok(())
    }

    /// An expression as a value of a slot's type.
    pub(crate) fn value_of_slot(
        &mut self,
        written: &ast::Expr,
        slot: SlotId,
        what: impl Fn() -> String,
    ) -> Result<Expr> {
        match self.slot_expr(slot).sql_type {
            SqlType::Scalar(to) => self.value_for(written, to, Coercion::Explicit, what),
            SqlType::Array(element) => self.array_for(written, element, what),
        }
    }

    /// IF ... ELSIF ... ELSE as nested IFs.
    fn emit_arms(&self, out: &mut Vec<Statement>, arms: Vec<Arm>, mut rest: Vec<Statement>) {
        for Arm { before, condition, then } in arms.into_iter().rev() {
            let mut nested = before;
            self.emit(&mut nested, StatementKind::If { condition, then, otherwise: rest });
            rest = nested;
        }
        out.append(&mut rest);
    }

    fn case_statement<'s>(
        &mut self,
        operand: Option<&ast::Expr>,
        arms: &'s [(Vec<ast::Expr>, Vec<BlockStatement>)],
        mut otherwise: Option<&'s Vec<BlockStatement>>,
        statement: &BlockStatement,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let mut compiled = Vec::new();
        for (values, body) in arms {
            let mut conditions = Vec::new();
            for value in values {
                conditions.push(match operand {
                    None => self.condition(value, "CASE/WHEN")?,
                    Some(operand) => self.comparison(operand, CompareOp::Equal, value)?,
                });
            }
            let condition = joined(conditions, ExprKind::Or)
                .ok_or_else(|| syntax(statement.place, "WHEN needs a value"))?;
            let before = std::mem::take(&mut self.before);
            match self.known_truth(&condition) {
                Some(true) => {
                    otherwise = Some(body);
                    break;
                }
                Some(false) => continue,
                None => {}
            }
            let mut then = Vec::new();
            self.statements(body, &mut then)?;
            compiled.push(Arm { before, condition, then });
        }
        let mut rest = Vec::new();
        match otherwise {
            Some(body) => self.statements(body, &mut rest)?,
            None => {
                self.place = statement.place;
                let raise = Raise {
                    sqlstate: *b"20000",
                    message: vec!["case not found".to_owned()],
                    arguments: Vec::new(),
                    detail: None,
                    hint: Some(constant(
                        Value::Text("CASE statement is missing ELSE part.".to_owned()),
                        DataType::Text,
                    )),
                    of: None,
                    is_again: false,
                    parts: Vec::new(),
                };
                self.emit(&mut rest, StatementKind::Raise(raise));
            }
        }
        self.place = statement.place;
        self.emit_arms(out, compiled, rest);
        Ok(())
    }

    /// A query, whose columns tell where its rows go.
    pub(crate) fn emit_query(
        &mut self,
        out: &mut Vec<Statement>,
        query: &ast::Query,
        wanted: Wanted,
        sink: impl Fn(&mut Self, &[(String, Expr)]) -> Result<Sink>,
    ) -> Result<()> {
        self.behind_changes(out, query, |this, out, query| {
            match this.rows_in_procedure(query, wanted)? {
                Rows::Access(selected) => {
                    let sink = sink(this, &selected.columns)?;
                    this.emit_selected(out, *selected, sink)
                }
                Rows::Operators(of) => {
                    let sink = sink(this, &of.columns)?;
                    this.emit_operators_to(out, of, sink)
                }
            }
        })
    }

    /// INSERT, UPDATE or DELETE as accesses. Where it needs a query that gives its rows: why, and
    /// nothing of it is left.
    pub(crate) fn change_by_accesses(
        &mut self,
        out: &mut Vec<Statement>,
        statement: &ast::Statement,
        into: Receiver<'_>,
    ) -> Result<Option<SqlError>> {
        if is_of_query(statement) {
            return Ok(Some(refuse_operators(self.place)));
        }
        let (mark, names, length) = (self.mark(), self.names.clone(), out.len());
        self.change_statement(out, statement, None, into)?;
        let Some(why) = self.needs_query.take() else { return Ok(None) };
        self.back_to(&mark);
        self.names = names;
        out.truncate(length);
        Ok(Some(why))
    }

    /// INSERT, UPDATE or DELETE as accesses; of one row, if that was found by a query.
    pub(crate) fn change_statement(
        &mut self,
        out: &mut Vec<Statement>,
        statement: &ast::Statement,
        found: Option<&FoundRow>,
        into: Receiver<'_>,
    ) -> Result<()> {
        self.need_change(statement)?;
        match statement {
            ast::Statement::Insert(insert) => self.insert(out, insert, found, into),
            ast::Statement::Update(update) => self.update(out, update, found, into),
            ast::Statement::Delete(delete) => self.delete(out, delete, found, into),
            ast::Statement::Merge(merge) => match found {
                Some(row) => self.merge_row(out, (merge, row), into),
                None => Err(refuse_operators(self.place)),
            },
            _ => unreachable!("a change is one of these"),
        }
    }

    /// A statement of SQL inside a block.
    pub(crate) fn sql(
        &mut self,
        statement: &ast::Statement,
        into: Option<&crate::syntax::Into>,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        match statement {
            ast::Statement::Query(query) if changed_by(query).is_some() => {
                self.behind_changes(out, query, |this, out, query| match changed_by(query) {
                    Some((_, change)) if query.with.is_none() => this.sql(change, into, out),
                    Some((_, change)) if returns_queries(change) => {
                        this.change_shown_by_query(out, (change, query.with.as_ref()), into)
                    }
                    Some((_, change)) => {
                        this.change_of_rows(out, (change, query.with.as_ref()), into)
                    }
                    None => Err(unsupported(this.place, "this statement", "write it alone")),
                })
            }
            ast::Statement::NOTIFY { channel, payload } => {
                self.notify_statement((channel, payload.as_deref()), out)
            }
            ast::Statement::Query(query) => {
                if into.is_none() && !self.ad_hoc {
                    return Err(syntax(self.place, "query has no destination for result data")
                        .hint(
                            "write SELECT ... INTO variable, PERFORM to ignore the result, or \
                             RETURN QUERY SELECT",
                        ));
                }
                if into.is_some() && self.select_of_call(query, into, out)? {
                    return Ok(());
                }
                let wanted = if into.is_some() { Wanted::First } else { Wanted::All };
                self.emit_query(out, query, wanted, |this, columns| match into {
                    None => Ok(Sink::Result),
                    Some(_) => this.sink_of(into, columns),
                })
            }
            ast::Statement::Insert(insert)
                if let Some(insert) = self.insert_of_fields(insert)? =>
            {
                self.sql(&ast::Statement::Insert(insert), into, out)
            }
            change if returns_queries(change) => {
                self.change_shown_by_query(out, (change, None), into)
            }
            ast::Statement::Insert(_) | ast::Statement::Update(_) | ast::Statement::Delete(_)
                if self.view_that_acts(statement)?.is_some() =>
            {
                self.change_instead(out, statement, into)
            }
            ast::Statement::Insert(_)
            | ast::Statement::Update(_)
            | ast::Statement::Delete(_)
            | ast::Statement::Merge(_) => match self.change_by_accesses(out, statement, into)? {
                None => Ok(()),
                Some(_) if self.is_procedure => self.change_of_rows(out, (statement, None), into),
                Some(why) => Err(why),
            },
            ast::Statement::CreateTable(table) if table.temporary && self.is_procedure => {
                self.temporary_table(out, table)
            }
            ast::Statement::Drop {
                object_type: ast::ObjectType::Table, if_exists, names, ..
            } if self.is_procedure => self.drop_temporary(names, *if_exists),
            _ => Err(unsupported(
                self.place,
                "this statement",
                "write SELECT, INSERT, UPDATE or DELETE",
            )),
        }
    }
}

pub(crate) fn has_returning(change: &ast::Statement) -> bool {
    match change {
        ast::Statement::Insert(insert) => insert.returning.is_some(),
        ast::Statement::Update(update) => update.returning.is_some(),
        ast::Statement::Delete(delete) => delete.returning.is_some(),
        _ => false,
    }
}

/// Fails where rows are asked of a change that gives none.
pub(crate) fn refuse_without_returning(change: &ast::Statement, place: Place) -> Result<()> {
    if has_returning(change) {
        return Ok(());
    }
    let message = "cannot open INSERT, UPDATE or DELETE query as cursor";
    Err(error(b"42P11", place, message).hint("it gives no rows: write RETURNING"))
}

/// An arm of IF.
struct Arm {
    /// runs where its condition is asked
    before: Vec<Statement>,
    condition: Expr,
    then: Vec<Statement>,
}

pub(crate) fn as_query(statement: &ast::Statement, place: Place) -> Result<&ast::Query> {
    match statement {
        ast::Statement::Query(query) => Ok(query),
        _ => Err(unsupported(
            place,
            "a statement other than SELECT here",
            "INSERT, UPDATE and DELETE give rows with RETURNING ... INTO",
        )),
    }
}
