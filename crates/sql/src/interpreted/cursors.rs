//! Cursors of a block that is run statement by statement: their rows are found when they are
//! opened, and kept.

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::call_syntax::CallArgument;
use crate::error::{Advice, error, unsupported};
use crate::interpreted::BlockHost;
use crate::interpreted::run::{Flow, Run, unknown};
use crate::interpreted::scopes::{Held, HeldCursor, OpenRows, query_of};
use crate::interpreted::step::Step;
use crate::syntax::{CursorStep, FetchSyntax, LoopBody, OpenOf, OpenSyntax, Target};

type Ended<T, H> = std::result::Result<T, <H as BlockHost>::Error>;

impl<'b, H: BlockHost> Run<'_, 'b, H> {
    fn cursor(&mut self, target: &Target) -> Ended<&mut HeldCursor<'b>, H> {
        match self.scopes.find(&target.parts) {
            Some(Held::Cursor(cursor)) => Ok(cursor),
            Some(_) => {
                let name = target.parts.join(".");
                let message = format!("variable \"{name}\" must be of type cursor or refcursor");
                Err(error(b"42804", target.place, message).into())
            }
            None => Err(unknown(target).into()),
        }
    }

    /// The rows of a cursor's own query.
    fn own_rows(&mut self, target: &Target, arguments: &[CallArgument]) -> Ended<OpenRows, H> {
        let (cursor, place) = (self.cursor(target)?, target.place);
        if !arguments.is_empty() || cursor.of.is_some_and(|of| !of.parameters.is_empty()) {
            let what = "a cursor with parameters in a block with definitions";
            let advice = "name the variables in its query, or loop over the query";
            return Err(unsupported(place, what, advice).into());
        }
        let Some(query) = query_of(cursor) else {
            let message = format!("cursor \"{}\" has no query of its own", target.parts.join("."));
            return Err(error(b"42601", place, message).hint("OPEN it FOR a query").into());
        };
        let (values, compiled) = self.compiled(Step::Sent(&query), place)?;
        Ok(OpenRows::new(values, compiled))
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
        if self.cursor(target)?.open.is_none() {
            return Ok(());
        }
        let message = format!("cursor \"{}\" already in use", target.parts.join("."));
        Err(error(b"42P03", target.place, message).into())
    }

    /// OPEN
    pub(super) fn open(&mut self, written: &'b OpenSyntax, place: Place) -> Ended<(), H> {
        self.refuse_open(&written.cursor)?;
        let rows = match &written.of {
            OpenOf::Arguments(arguments) => self.own_rows(&written.cursor, arguments)?,
            OpenOf::Query(query) => self.rows_of(query, place)?,
        };
        let scrolls = written.scrolls;
        let cursor = self.cursor(&written.cursor)?;
        cursor.scrolls &= scrolls;
        cursor.open = Some(rows);
        Ok(())
    }

    /// CLOSE
    pub(super) fn close(&mut self, target: &'b Target) -> Ended<(), H> {
        match self.cursor(target)?.open.take() {
            Some(_) => Ok(()),
            None => Err(not_open(target).into()),
        }
    }

    /// FETCH and MOVE
    pub(super) fn fetch(&mut self, written: &'b FetchSyntax, place: Place) -> Ended<(), H> {
        let target = &written.cursor;
        let by = match &written.step {
            CursorStep::Absolute(number) | CursorStep::Relative(number) => {
                self.number(number, place)?
            }
            _ => 0,
        };
        let cursor = self.cursor(target)?;
        let scrolls = cursor.scrolls;
        let Some(rows) = &mut cursor.open else { return Err(not_open(target).into()) };
        let (at, len) = (rows.at as i64, rows.len() as i64);
        let to = match &written.step {
            CursorStep::Next => at + 1,
            CursorStep::Prior => at - 1,
            CursorStep::First => 1,
            CursorStep::Last => len,
            CursorStep::Absolute(_) if by < 0 => len + 1 + by,
            CursorStep::Absolute(_) => by,
            CursorStep::Relative(_) => at.saturating_add(by),
        };
        if to < at && !scrolls {
            let message = "cursor can only scan forward";
            return Err(error(b"55000", place, message).hint("declare it with SCROLL").into());
        }
        let to = to.clamp(0, len + 1);
        rows.at = to as usize;
        let is_row = (1..=len).contains(&to);
        let (columns, row) = match is_row {
            true => (rows.columns.clone(), rows.row(to as usize - 1).to_vec()),
            false => (rows.columns.clone(), vec![Value::Null; rows.columns.len()]),
        };
        if let Some(targets) = &written.targets {
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

fn not_open(target: &Target) -> hotrow_transaction::outcome::SqlError {
    error(b"34000", target.place, format!("cursor \"{}\" is not open", target.parts.join(".")))
        .hint("OPEN it before")
}
