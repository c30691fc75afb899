//! FETCH, MOVE and CLOSE of cursors that routines have opened.
//!
//! Role         for sessions, and for the server, whose own cursors are portals

use hotrow_base::interrupt::current;
use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_sql::{Direction, Naming};
use hotrow_transaction::outcome::SqlError;

use crate::context::Context;
use crate::error::{Error, advised};
use crate::result::StatementResult;
use crate::rows::Rows;
use crate::session::Session;

/// What a statement with names does where nobody keeps prepared statements: cursors of routines
/// have names, too.
pub(crate) fn name(context: &Context, naming: &Naming) -> Result<StatementResult, SqlError> {
    match naming {
        Naming::Fetch { name, direction, moves } => fetch(context, name, *direction, *moves),
        Naming::Close(Some(name)) => {
            context.cursors().close(name)?;
            Ok(StatementResult::of_tag("CLOSE CURSOR"))
        }
        Naming::Close(None) => {
            context.cursors().close_all();
            Ok(StatementResult::of_tag("CLOSE CURSOR ALL"))
        }
        _ => {
            let message = "statements with names are for clients of a server".to_owned();
            Err(advised(b"0A000", message, "Use Session::prepare."))
        }
    }
}

/// FETCH and MOVE.
fn fetch(
    context: &Context,
    name: &str,
    direction: Direction,
    moves: bool,
) -> Result<StatementResult, SqlError> {
    let mut cursors = context.cursors();
    let cursor = cursors.get(name)?;
    let (mut count, mut values) = (0_usize, Vec::new());
    for at in cursor.travel(direction)? {
        count += 1;
        if !moves {
            values.extend_from_slice(cursor.rows.row(at));
        }
    }
    if moves {
        return Ok(StatementResult::of_tag(&format!("MOVE {count}")));
    }
    let (names, types): (Vec<String>, Vec<SqlType>) = cursor.rows.columns.iter().cloned().unzip();
    drop(cursors);
    let mut charge = current::charge();
    charge.add(values.iter().map(Value::bytes).sum())?;
    let rows = Rows::new(names.into(), values, 0).charged(charge);
    let tag = format!("FETCH {count}");
    Ok(StatementResult { rows, types: types.into(), ..StatementResult::of_tag(&tag) })
}

impl Session {
    /// What FETCH, MOVE or CLOSE does with cursors that routines have opened.
    ///
    /// # Errors
    ///
    /// 34000 for a cursor that is not open, 55000 for one that would go back and may not.
    pub fn name_cursor(&self, naming: &Naming) -> Result<StatementResult, Error> {
        let _entered = self.enter();
        Ok(name(&self.context, naming)?)
    }

    /// How many transactions of several statements have ended so far: with one, cursors go that it
    /// has opened, also where the next one has begun (COMMIT AND CHAIN).
    pub fn transactions_ended(&self) -> u64 {
        self.context.ended.get()
    }

    /// Names and types of the columns of a cursor that a routine has opened; none: none has.
    pub fn cursor_columns(&self, name: &str) -> Option<Vec<(String, SqlType)>> {
        let mut cursors = self.context.cursors();
        cursors.get(name).ok().map(|cursor| cursor.rows.columns.clone())
    }
}
