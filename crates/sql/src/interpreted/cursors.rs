//! Cursors of a block that is run statement by statement: their rows are found when they are
//! opened, and kept by the session ([`crate::open_cursors`]), under the names that the block's
//! variables hold.

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::call_syntax::CallArgument;
use crate::error::{Advice, Result, error};
use crate::interpreted::BlockHost;
use crate::interpreted::called::variable;
use crate::interpreted::run::{Flow, Run, unknown};
use crate::interpreted::scopes::{CURSOR_NAME, Held};
use crate::interpreted::step::{Made, Step};
use crate::open_cursors::OpenRows;
use crate::setting::Direction;
use crate::syntax::{
    CursorStep, CursorSyntax, FetchSyntax, LoopBody, OpenOf, OpenSyntax, Target, VariableSyntax,
};

type Ended<T, H> = std::result::Result<T, <H as BlockHost>::Error>;

/// How many names of names are followed.
const ALIASES_MAX: usize = 100;

impl<'b, H: BlockHost> Run<'_, 'b, H> {
    /// A variable of type refcursor, which holds a cursor's name.
    pub(super) fn declare_name(&mut self, written: &'b VariableSyntax) -> Ended<(), H> {
        let (name, place) = (&written.name, written.place);
        self.refuse_declared(name, place)?;
        let given = match &written.default {
            Some(default) => Some(self.compiled(Step::Value(default), place)?),
            None => None,
        };
        let (constant, not_null) = (false, false);
        let held = Held::Scalar { sql_type: CURSOR_NAME, value: Value::Null, constant, not_null };
        self.scopes.declare(name, held);
        if let Some((values, made)) = given {
            let target = Target { parts: vec![name.clone()], place };
            let types: Vec<_> = made.columns.iter().map(|(_, of)| *of).collect();
            self.assign(&[target], &types, values, place)?;
        }
        self.settle_declared(written)
    }

    /// The query of a cursor's variable, if it has one, and the name that it holds.
    fn cursor(&mut self, target: &Target) -> Ended<(Option<&'b CursorSyntax>, Value), H> {
        let mut parts = target.parts.clone();
        for _ in 0..ALIASES_MAX {
            match self.scopes.find(&parts) {
                Some(Held::Alias(of)) => parts.clone_from(of),
                Some(Held::Cursor { of, value }) => return Ok((Some(of), value.clone())),
                Some(Held::Scalar { sql_type, value, .. }) if *sql_type == CURSOR_NAME => {
                    return Ok((None, value.clone()));
                }
                Some(_) => break,
                None => return Err(unknown(target).into()),
            }
        }
        let name = target.parts.join(".");
        let message = format!("variable \"{name}\" must be of type cursor or refcursor");
        Err(error(b"42804", target.place, message).into())
    }

    /// The name that a cursor's variable holds.
    fn cursor_name(&mut self, target: &Target) -> Ended<String, H> {
        match self.cursor(target)?.1 {
            Value::Text(name) => Ok(name),
            _ => {
                let message = format!("cursor variable \"{}\" is null", target.parts.join("."));
                Err(error(b"22004", target.place, message).into())
            }
        }
    }

    /// The rows of a cursor's own query.
    fn own_rows(&mut self, target: &Target, arguments: &'b [CallArgument]) -> Ended<OpenRows, H> {
        let place = target.place;
        let Some(of) = self.cursor(target)?.0 else {
            let message = format!("cursor \"{}\" has no query of its own", target.parts.join("."));
            return Err(error(b"42601", place, message).hint("OPEN it FOR a query").into());
        };
        let given = arguments_by_parameter(of, arguments, place)?;
        let mut values = Vec::new();
        for argument in given {
            values.push(self.compiled(Step::Value(&argument.value), argument.place)?);
        }
        let around = self.scopes.len();
        self.scopes.push(Default::default());
        let done = self.rows_with(of, values, place);
        self.scopes.truncate(around);
        done
    }

    /// The rows of a cursor's query with values for its parameters.
    fn rows_with(
        &mut self,
        of: &'b CursorSyntax,
        given: Vec<(Vec<Value>, Made)>,
        place: Place,
    ) -> Ended<OpenRows, H> {
        for (parameter, (values, made)) in of.parameters.iter().zip(given) {
            let (name, type_name) = (parameter.name.clone(), parameter.type_name.clone());
            let written = variable(name.clone(), parameter.place, type_name, None);
            let (declared, shape) = self.compiled(Step::Declaration(&written), place)?;
            self.scopes.take_declared(&name, shape.shapes, declared);
            let types: Vec<_> = made.columns.iter().map(|(_, of)| *of).collect();
            self.assign(&[Target { parts: vec![name], place }], &types, values, place)?;
        }
        let (values, made) = self.compiled(Step::Sent(&of.query), place)?;
        Ok(made.rows(values))
    }

    /// FOR r IN cursor
    pub(super) fn for_cursor(
        &mut self,
        (target, cursor): (&'b Target, &'b Target),
        arguments: &'b [CallArgument],
        body: &'b LoopBody,
    ) -> Ended<Flow<'b>, H> {
        self.refuse_open(cursor)?;
        let rows = self.own_rows(cursor, arguments)?;
        // The loop's variable is a record of its own.
        let around = self.scopes.len();
        self.scopes.push(Default::default());
        if let [name] = target.parts.as_slice() {
            self.scopes.declare(name, Held::Record { fields: Vec::new(), is_open: true, of: None });
        }
        let done = self.for_rows(std::slice::from_ref(target), rows, body, target.place);
        self.scopes.truncate(around);
        done
    }

    fn refuse_open(&mut self, target: &Target) -> Ended<(), H> {
        if let Value::Text(name) = self.cursor(target)?.1 {
            let open = self.host.cursors().refuse_open(&name);
            open.map_err(|failed| failed.or_at(target.place))?;
        }
        Ok(())
    }

    /// OPEN
    pub(super) fn open(&mut self, written: &'b OpenSyntax, place: Place) -> Ended<(), H> {
        let target = &written.cursor;
        self.refuse_open(target)?;
        let rows = match &written.of {
            OpenOf::Arguments(arguments) => self.own_rows(target, arguments)?,
            OpenOf::Query(query) => self.rows_of(query, place)?,
        };
        let (of, name) = self.cursor(target)?;
        let name = match name {
            Value::Text(name) => name,
            _ => {
                let name = self.host.cursors().next_name();
                let value = vec![Value::Text(name.clone())];
                self.assign(std::slice::from_ref(target), &[CURSOR_NAME], value, place)?;
                name
            }
        };
        let scrolls = written.scrolls && of.is_none_or(|of| of.scrolls);
        let opened = self.host.cursors().open(&name, rows, scrolls);
        Ok(opened.map_err(|failed| failed.or_at(place))?)
    }

    /// CLOSE
    pub(super) fn close(&mut self, target: &'b Target) -> Ended<(), H> {
        let name = self.cursor_name(target)?;
        let closed = self.host.cursors().close(&name);
        Ok(closed.map_err(|failed| failed.or_at(target.place))?)
    }

    /// FETCH and MOVE
    pub(super) fn fetch(&mut self, written: &'b FetchSyntax, place: Place) -> Ended<(), H> {
        let target = &written.cursor;
        let name = self.cursor_name(target)?;
        let direction = match &written.step {
            CursorStep::Next => Direction::By(1),
            CursorStep::Prior => Direction::By(-1),
            CursorStep::First => Direction::To(1),
            CursorStep::Last => Direction::To(-1),
            CursorStep::Absolute(number) => Direction::To(self.number(number, place)?),
            CursorStep::Relative(number) => Direction::ToNext(self.number(number, place)?),
        };
        let fetched = self.host.cursors().fetched(&name, direction);
        let (columns, row) = fetched.map_err(|failed| failed.or_at(place))?;
        let is_row = row.is_some();
        if let Some(targets) = &written.targets {
            let row = row.unwrap_or_else(|| vec![Value::Null; columns.len()]);
            self.assign_row(targets, &columns, &row, place)?;
        }
        self.found = is_row;
        self.row_count = i64::from(is_row);
        Ok(())
    }

    fn number(&mut self, written: &'b ast::Expr, place: Place) -> Ended<i64, H> {
        let (values, compiled) = self.compiled(Step::Value(written), place)?;
        let of = compiled.columns.first().map(|(_, of)| *of);
        match values.first() {
            Some(Value::Int(number)) => Ok(i64::from(*number)),
            Some(Value::SmallInt(number)) => Ok(i64::from(*number)),
            Some(Value::BigInt(number)) => Ok(*number),
            Some(Value::Null) if of == Some(SqlType::Scalar(DataType::Integer)) => {
                let message = "relative or absolute cursor position is null";
                Err(error(b"22004", place, message).into())
            }
            _ => Err(error(b"42804", place, "the place of a row is an integer").into()),
        }
    }
}

/// The arguments of OPEN, by parameter of the cursor.
fn arguments_by_parameter<'b>(
    of: &CursorSyntax,
    arguments: &'b [CallArgument],
    place: Place,
) -> Result<Vec<&'b CallArgument>> {
    let name = &of.name;
    let wrong = |message: String| Err(error(b"42601", place, message));
    if arguments.len() != of.parameters.len() {
        let is_short = arguments.len() < of.parameters.len();
        let problem = if is_short { "not enough" } else { "too many" };
        return wrong(format!("{problem} arguments for cursor \"{name}\""));
    }
    let mut in_order = arguments.iter().filter(|argument| argument.name.is_none());
    let mut given = Vec::new();
    for parameter in &of.parameters {
        let is_it = |argument: &&CallArgument| argument.name.as_ref() == Some(&parameter.name);
        match arguments.iter().find(is_it).or_else(|| in_order.next()) {
            Some(argument) => given.push(argument),
            None => return wrong(format!("not enough arguments for cursor \"{name}\"")),
        }
    }
    Ok(given)
}
