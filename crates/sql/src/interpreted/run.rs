//! Running a block: its statements, one after the other, and what handles their errors.
//!
//! Role         statements without definitions in them are steps as they are ([`is_part`]); of
//!              others the control flow is followed here

use hotrow_base::interrupt::current;
use hotrow_base::memory::Charge;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::catalog::SearchPath;
use hotrow_transaction::outcome::{Notice, SqlError};
use hotrow_transaction::program::{ErrorPart, Place};
use sqlparser::ast;

use crate::anonymous::Anonymous;
use crate::error::{Advice, Result, error, syntax};
use crate::interpreted::parts::{has_bodies, is_part};
use crate::interpreted::scopes::{Held, Scope, Scopes, given, is_variable};
use crate::interpreted::step::{self, Made, Seen, Step};
use crate::interpreted::{BlockHost, StepAnswer, text_of};
use crate::keyless::key_lacked;
use crate::open_cursors::OpenRows;
use crate::script::parse_script_at;
use crate::syntax::{
    Block, BlockStatement, BlockStatementKind as Kind, Declaration, Ending, HandlerSyntax,
    LeaveSyntax, Target, TypeNameKind, VariableSyntax, Way,
};

/// Where it goes on behind a statement.
pub(super) enum Flow<'b> {
    Next,
    /// behind the block or loop with this label, the innermost loop if there is none, or at its
    /// next turn
    Leave(Way, Option<&'b String>),
    Return,
}

/// The variable that has what a function has returned.
pub(crate) const RETURNED: &str = "$returned";

type Ended<T, H> = std::result::Result<T, <H as BlockHost>::Error>;

/// A block while it runs.
pub(super) struct Run<'h, 'b, H: BlockHost> {
    pub(super) host: &'h mut H,
    of: &'b Anonymous,
    /// where bare names of its definitions are looked for
    path: &'b SearchPath,
    pub(super) scopes: Scopes<'b>,
    pub(super) found: bool,
    pub(super) row_count: i64,
    /// errors whose handlers run, the innermost last
    caught: Vec<SqlError>,
    /// blocks with handlers around the current statement
    protected: usize,
    steps_left: u64,
    notices: Vec<Notice>,
    /// what a call gives, at its end
    given: Vec<Value>,
    /// what these take
    charge: Charge,
}

/// Runs a block; what it has said, also where it fails.
pub(super) fn run<H: BlockHost>(
    (of, path): (&Anonymous, &SearchPath),
    host: &mut H,
) -> (Vec<Notice>, Ended<Vec<Value>, H>) {
    let steps_left = host.steps_max();
    let mut run = Run {
        host,
        of,
        path,
        scopes: Scopes::default(),
        found: false,
        row_count: 0,
        caught: Vec::new(),
        protected: 0,
        steps_left,
        notices: Vec::new(),
        charge: current::charge(),
        given: Vec::new(),
    };
    let done = match run.block(&of.block) {
        Ok(Flow::Leave(way, label)) => Err(nothing_left(way, label).into()),
        Ok(Flow::Next) if !of.returns_set && of.outs.iter().any(|out| out == RETURNED) => {
            let message = "control reached end of function without RETURN";
            Err(SqlError::new(b"2F005", message).into())
        }
        done => done.map(|_| run.given),
    };
    (run.notices, done)
}

impl<'b, H: BlockHost> Run<'_, 'b, H> {
    /// Counts a step, and fails where there are too many or the statement is to end.
    pub(super) fn count_step(&mut self) -> Ended<(), H> {
        self.host.check()?;
        match self.steps_left.checked_sub(1) {
            Some(left) => self.steps_left = left,
            None => return Err(SqlError::new(b"54000", "step budget exceeded").into()),
        }
        Ok(())
    }

    fn block(&mut self, block: &'b Block) -> Ended<Flow<'b>, H> {
        let around = self.scopes.len();
        self.scopes.push(Scope { label: block.label.as_ref(), variables: Vec::new() });
        let ambiguity = self.scopes.ambiguity;
        let flow = self.declare_all(block).and_then(|()| match block.handlers.is_empty() {
            true => self.body(&block.statements),
            false => self.protected(block),
        });
        if around == 0 && flow.is_ok() && !self.of.returns_set {
            self.give();
        }
        self.scopes.truncate(around);
        self.scopes.ambiguity = ambiguity;
        Ok(match flow? {
            Flow::Leave(Way::Exit, Some(label)) if block.label.as_ref() == Some(label) => {
                Flow::Next
            }
            flow => flow,
        })
    }

    /// Keeps what a call gives.
    fn give(&mut self) {
        for out in &self.of.outs {
            self.given.push(match self.scopes.find(std::slice::from_ref(out)) {
                Some(Held::Scalar { value, .. }) => value.clone(),
                _ => Value::Null,
            });
        }
    }

    /// Has a function return a row.
    fn set_returned(&mut self, rows: &OpenRows, at: usize, place: Place) -> Ended<(), H> {
        let target = Target { parts: vec![RETURNED.to_owned()], place };
        let types: Vec<_> = rows.columns.iter().map(|(_, of)| *of).collect();
        self.assign(&[target], &types, rows.row(at).to_vec(), place)
    }

    /// RETURN NEXT and RETURN QUERY: adds rows to those that a function returns.
    fn give_each(&mut self, rows: &OpenRows, place: Place) -> Ended<(), H> {
        for at in 0..rows.len() {
            self.set_returned(rows, at, place)?;
            let before = self.given.len();
            self.give();
            let bytes = self.given[before..].iter().map(Value::bytes).sum();
            self.charge.add(bytes).map_err(SqlError::from)?;
        }
        Ok(())
    }

    fn declare_all(&mut self, block: &'b Block) -> Ended<(), H> {
        for declaration in &block.declarations {
            self.count_step()?;
            self.declare(declaration)?;
        }
        Ok(())
    }

    fn declare(&mut self, declaration: &'b Declaration) -> Ended<(), H> {
        let place = declaration.place();
        if is_variable(declaration)
            && let Declaration::Variable(written) = declaration
        {
            return match self.tried(Step::Declaration(declaration), place)? {
                Ok((values, made)) => {
                    self.declared(written, values, made);
                    Ok(())
                }
                Err(refused) => self.declare_instead(written, refused),
            };
        }
        let (name, held) = match declaration {
            Declaration::Ambiguous(_, ambiguity) => {
                self.scopes.ambiguity = *ambiguity;
                return Ok(());
            }
            Declaration::Alias { name, of, .. } => {
                if self.scopes.find(of).is_none() {
                    let of = of.join(".");
                    let message = format!("variable \"{of}\" does not exist");
                    return Err(error(b"42704", place, message).into());
                }
                (name, Held::Alias(of.clone()))
            }
            Declaration::Cursor(of) => {
                // It is called as its variable is, from the beginning.
                (&of.name, Held::Cursor { of, value: Value::Text(of.name.clone()) })
            }
            Declaration::Variable(written) => return self.declare_name(written),
        };
        self.refuse_declared(name, place)?;
        self.scopes.declare(name, held);
        Ok(())
    }

    pub(super) fn refuse_declared(&self, name: &str, place: Place) -> Result<()> {
        match self.scopes.has_declared(name) {
            true => Err(error(b"42601", place, format!("duplicate declaration of \"{name}\""))),
            false => Ok(()),
        }
    }

    /// Has a variable be CONSTANT or NOT NULL from now on, if it is declared so.
    pub(super) fn settle_declared(&mut self, written: &VariableSyntax) -> Ended<(), H> {
        if let Some(Held::Scalar { value, constant, not_null, .. }) =
            self.scopes.find(std::slice::from_ref(&written.name))
        {
            (*constant, *not_null) = (written.constant, written.not_null);
            if written.not_null && *value == Value::Null {
                let message = format!(
                    "null value cannot be assigned to variable \"{}\" declared NOT NULL",
                    written.name
                );
                return Err(error(b"22004", written.place, message).into());
            }
        }
        Ok(())
    }

    /// Notes a variable as a step has declared it.
    pub(super) fn declared(&mut self, written: &VariableSyntax, values: Vec<Value>, made: Made) {
        let mut shapes = made.shapes;
        if let (TypeNameKind::Record, Some(shape)) = (&written.type_name.kind, shapes.last_mut()) {
            shape.stay_open();
        }
        self.scopes.take_declared(&written.name, shapes, values);
    }

    /// The statements of a block with handlers.
    fn protected(&mut self, block: &'b Block) -> Ended<Flow<'b>, H> {
        let around = self.scopes.len();
        let opened = self.host.cursors().opened();
        self.host.protect()?;
        self.protected += 1;
        let done = self.body(&block.statements);
        self.protected -= 1;
        let failed = match done {
            Ok(flow) => return self.host.unprotect(true).map(|()| flow),
            Err(failed) => failed,
        };
        self.scopes.truncate(around);
        self.host.cursors().close_since(opened);
        let failed = H::sql_error(failed)?;
        let handler = block.handlers.iter().find(|handler| handles(handler, &failed));
        // What cannot be taken back is over, and the error is why.
        let (Ok(()), Some(handler)) = (self.host.unprotect(false), handler) else {
            return Err(failed.into());
        };
        let text = |part: &str| (SqlType::Scalar(DataType::Text), Value::from(part));
        let told = [("sqlstate", text(failed.code())), ("sqlerrm", text(&failed.message))];
        self.scopes.push(Scope::default());
        for (name, (sql_type, value)) in told {
            let held = Held::Scalar { sql_type, value, constant: true, not_null: false };
            self.scopes.declare(name, held);
        }
        self.caught.push(failed);
        let flow = self.body(&handler.statements);
        self.caught.pop();
        self.scopes.truncate(around);
        flow
    }

    pub(super) fn body(&mut self, statements: &'b [BlockStatement]) -> Ended<Flow<'b>, H> {
        for statement in statements {
            self.count_step()?;
            match self.statement(statement)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &'b BlockStatement) -> Ended<Flow<'b>, H> {
        let place = statement.place;
        // Where an error may be caught, what came before it in a body counts.
        let is_divided = self.protected > 0 && has_bodies(&statement.kind);
        if !is_divided && is_part(statement) {
            match self.tried(Step::Statement(statement), place)? {
                Ok((values, made)) => {
                    self.scopes.take(made.shapes, values);
                    return Ok(Flow::Next);
                }
                // Parts of it may be no part of a program.
                Err(_) if has_bodies(&statement.kind) => {}
                Err(refused) => {
                    return self.instead(statement, refused).map(|()| Flow::Next);
                }
            }
        }
        match &statement.kind {
            Kind::Block(block) => self.block(block),
            Kind::If { arms, otherwise } => {
                for (condition, body) in arms {
                    if self.holds(Step::Condition(condition, "IF"), place)? {
                        return self.body(body);
                    }
                }
                self.body(otherwise)
            }
            Kind::Case { operand, arms, otherwise } => {
                self.case(operand.as_ref(), arms, otherwise.as_ref(), place)
            }
            Kind::ForRange(written) => self.for_range(written, place),
            Kind::ForEach { target, slice, array, body } => {
                self.for_each((target, *slice), array, body, place)
            }
            Kind::ForQuery { targets, query, body } => self.for_query(targets, query, body, place),
            Kind::ForCursor { target, cursor, arguments, body } => {
                self.for_cursor((target, cursor), arguments, body)
            }
            Kind::Loop { condition, body } => self.unbounded(condition.as_ref(), body, place),
            Kind::Leave(written) => self.leave(written, place),
            Kind::Definition(written) => {
                let text = text_of(self.of, written);
                self.define(text, written.place)?;
                Ok(Flow::Next)
            }
            // CREATE TEMP TABLE, and DROP TABLE.
            Kind::Sql { statement, .. } => {
                self.define(&statement.to_string(), place)?;
                Ok(Flow::Next)
            }
            Kind::Execute { statement, into } => {
                self.execute(statement, into.as_ref(), place)?;
                Ok(Flow::Next)
            }
            Kind::Open(written) => self.open(written, place).map(|()| Flow::Next),
            Kind::Fetch(written) => self.fetch(written, place).map(|()| Flow::Next),
            Kind::Close(target) => self.close(target).map(|()| Flow::Next),
            Kind::Return(None) => Ok(Flow::Return),
            Kind::Return(Some(value)) if !self.of.returns_set => {
                let (values, made) = self.compiled(Step::Value(value), place)?;
                self.set_returned(&made.rows(values), 0, place)?;
                Ok(Flow::Return)
            }
            Kind::ReturnNext(Some(value)) if self.of.returns_set => {
                let (values, made) = self.compiled(Step::Value(value), place)?;
                self.give_each(&made.rows(values), place)?;
                Ok(Flow::Next)
            }
            Kind::ReturnQuery(query) if self.of.returns_set => {
                let rows = self.rows_of(query, place)?;
                self.give_each(&rows, place)?;
                Ok(Flow::Next)
            }
            Kind::RaiseAgain => {
                Err(self.innermost_caught(place, "RAISE without parameters")?.into())
            }
            Kind::Stacked(items) => {
                self.stacked(items, place)?;
                Ok(Flow::Next)
            }
            Kind::End { ending, .. } => {
                let commits = *ending == Ending::Commit;
                if self.protected > 0 {
                    let what = if commits { "commit" } else { "roll back" };
                    let message = format!("cannot {what} while a subtransaction is active");
                    return Err(error(b"2D000", place, message).into());
                }
                if !self.of.may_end {
                    return Err(error(b"2D000", place, "invalid transaction termination").into());
                }
                self.host.end(commits)?;
                Ok(Flow::Next)
            }
            // Compiling it says why it cannot be.
            _ => {
                self.change(Step::Statement(statement), place)?;
                Ok(Flow::Next)
            }
        }
    }

    fn case(
        &mut self,
        operand: Option<&'b ast::Expr>,
        arms: &'b [(Vec<ast::Expr>, Vec<BlockStatement>)],
        otherwise: Option<&'b Vec<BlockStatement>>,
        place: Place,
    ) -> Ended<Flow<'b>, H> {
        for (values, body) in arms {
            for value in values {
                let step = match operand {
                    Some(operand) => Step::Equal(operand, value),
                    None => Step::Condition(value, "CASE/WHEN"),
                };
                if self.holds(step, place)? {
                    return self.body(body);
                }
            }
        }
        match otherwise {
            Some(body) => self.body(body),
            None => {
                let hint = "CASE statement is missing ELSE part.";
                Err(error(b"20000", place, "case not found").hint(hint).into())
            }
        }
    }

    fn leave(&mut self, written: &'b LeaveSyntax, place: Place) -> Ended<Flow<'b>, H> {
        let what = if written.way == Way::Exit { "EXIT" } else { "CONTINUE" };
        if let Some(condition) = &written.condition
            && !self.holds(Step::Condition(condition, what), place)?
        {
            return Ok(Flow::Next);
        }
        Ok(Flow::Leave(written.way, written.label.as_ref().map(|(label, _)| label)))
    }

    /// GET STACKED DIAGNOSTICS
    fn stacked(&mut self, items: &'b [(Target, ErrorPart)], place: Place) -> Ended<(), H> {
        let caught = self.innermost_caught(place, "GET STACKED DIAGNOSTICS")?;
        for (target, part) in items {
            let value = Value::Text(part.of(&caught));
            let text = SqlType::Scalar(DataType::Text);
            self.assign(std::slice::from_ref(target), &[text], vec![value], target.place)?;
        }
        Ok(())
    }

    fn innermost_caught(&self, place: Place, what: &str) -> Result<SqlError> {
        self.caught.last().cloned().ok_or_else(|| {
            let message = format!("{what} cannot be used outside an exception handler");
            error(b"0Z002", place, message)
        })
    }

    /// Runs a definition, or another command, by its text.
    pub(super) fn define(&mut self, text: &str, place: Place) -> Ended<(), H> {
        for mut statement in parse_script_at(text, place)? {
            let text = statement.text.clone();
            if let Some(schema) = &self.of.schema {
                statement = statement.in_path(&self.path.beginning_with(schema));
            }
            let done = self.host.send(statement);
            self.take(done).map_err(|failed| placed::<H>(failed, place, Some(&text)))?;
        }
        Ok(())
    }

    /// Notes what an answer says, and what an error has said.
    pub(super) fn take(&mut self, done: Ended<StepAnswer, H>) -> Ended<StepAnswer, H> {
        match done {
            Ok(mut answer) => {
                self.note(&mut answer.notices)?;
                Ok(answer)
            }
            Err(failed) => {
                let mut failed = H::sql_error(failed)?;
                self.note(&mut failed.notices)?;
                Err(failed.into())
            }
        }
    }

    fn note(&mut self, notices: &mut Vec<Notice>) -> Result<()> {
        let bytes = |notice: &Notice| size_of::<Notice>() + notice.said.message.len();
        self.charge.add(notices.iter().map(bytes).sum())?;
        self.notices.append(notices);
        Ok(())
    }

    /// Runs a step that may change variables.
    pub(super) fn change(&mut self, step: Step<'_>, place: Place) -> Ended<(), H> {
        let (values, made) = self.compiled(step, place)?;
        self.scopes.take(made.shapes, values);
        Ok(())
    }

    /// Whether a condition holds.
    pub(super) fn holds(&mut self, step: Step<'_>, place: Place) -> Ended<bool, H> {
        let (values, _) = self.compiled(step, place)?;
        Ok(values.first() == Some(&Value::Bool(true)))
    }

    /// Gives values to variables.
    pub(super) fn assign(
        &mut self,
        targets: &[Target],
        types: &[SqlType],
        values: Vec<Value>,
        place: Place,
    ) -> Ended<(), H> {
        let around = self.scopes.len();
        self.scopes.push(given(types.iter().copied(), values));
        let done = self.change(Step::Assign(targets), place);
        self.scopes.truncate(around);
        done
    }

    /// Compiles and runs a step: the values that it gives, of variables where it may change these.
    pub(super) fn compiled(
        &mut self,
        step: Step<'_>,
        place: Place,
    ) -> Ended<(Vec<Value>, Made), H> {
        match self.tried(step, place)? {
            Ok(done) => Ok(done),
            Err(refused) => self.values_instead(step, place, refused),
        }
    }

    /// As [`Run::compiled`]; inside: why a program cannot have it, which has done nothing.
    pub(super) fn tried(
        &mut self,
        step: Step<'_>,
        place: Place,
    ) -> Ended<Result<(Vec<Value>, Made)>, H> {
        let mut given = vec![Value::Bool(self.found), Value::BigInt(self.row_count)];
        given.append(&mut self.scopes.values());
        let (scopes, mut made, mut refused) = (&self.scopes, Made::default(), None);
        let done = self.host.step(
            &mut |catalog, procedures, path| {
                let seen = Seen { catalog, procedures, path, place };
                let tried = step::compile(&seen, scopes, step);
                refused = tried.as_ref().err().filter(|why| is_refusal(why)).cloned();
                let compiled;
                (compiled, made) = tried?;
                Ok(compiled)
            },
            &given,
        );
        if let Some(refused) = refused {
            return Ok(Err(refused));
        }
        let done = self.take(done).map_err(|failed| placed::<H>(failed, place, None))?;
        made.charge = done.charge;
        let mut values = done.values;
        if step.is_change() && values.len() >= 2 {
            let own = values.split_off(2);
            self.found = values[0] == Value::Bool(true);
            if let Value::BigInt(count) = values[1] {
                self.row_count = count;
            }
            values = own;
        } else if let Step::Sent(_) = step {
            let rows = values.len().checked_div(made.columns.len());
            self.row_count = rows.map_or(done.touched as i64, |rows| rows as i64);
        }
        Ok(Ok((values, made)))
    }
}

/// Whether a step that is refused so may be done in another way.
fn is_refusal(why: &SqlError) -> bool {
    &why.sqlstate == b"0A000" && key_lacked(why).is_none()
}

/// An error with the place of its statement in the script, if it has none; with a text it is that
/// of another statement, which is told instead.
pub(super) fn placed<H: BlockHost>(failed: H::Error, place: Place, text: Option<&str>) -> H::Error {
    match H::sql_error(failed) {
        Err(failed) => failed,
        Ok(mut failed) => {
            if let Some(text) = text {
                failed.place = place;
                failed.context.get_or_insert_with(|| format!("SQL statement \"{text}\""));
            }
            failed.or_at(place).into()
        }
    }
}

/// The error of EXIT and CONTINUE that find nothing to leave.
fn nothing_left(way: Way, label: Option<&String>) -> SqlError {
    let message = match (way, label) {
        (_, Some(label)) => format!(
            "there is no label \"{label}\" attached to any block or loop enclosing this statement"
        ),
        (Way::Exit, None) => "EXIT cannot be used outside a loop, unless it has a label".to_owned(),
        (Way::Continue, None) => "CONTINUE cannot be used outside a loop".to_owned(),
    };
    SqlError::new(b"42601", message)
}

fn handles(handler: &HandlerSyntax, failed: &SqlError) -> bool {
    !failed.is_beyond_handlers() && handler.catches.iter().any(|catch| catch.names(failed.sqlstate))
}

/// The error of a variable that is none.
pub(super) fn unknown(target: &Target) -> SqlError {
    let name = target.parts.join(".");
    syntax(target.place, format!("\"{name}\" is not a known variable"))
        .hint("declare it between DECLARE and BEGIN")
}
