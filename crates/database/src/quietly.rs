//! Definitions and single statements at a quiet point, while nothing else runs.
//!
//! Role         executes them for sessions, and again for recovery; knows neither

use hotrow_engine::journal::text::TextEntry;
use hotrow_engine::schema::{Quiet, Schema};
use hotrow_sql::{Compiled, ScriptStatement, compile, parse_script};
use hotrow_transaction::lower;
use hotrow_transaction::outcome::{SqlError, apart};
use hotrow_transaction::program::Procedure;

use crate::alone::Alone;
use crate::core::Core;
use crate::definition::{self, Next, Sources};
use crate::lookup::registered;
use crate::reply::Reply;
use crate::rows::Rows;

/// Executes a definition or a single statement while nothing else runs, one that is repeated from
/// the log.
pub(crate) fn execute_quietly(
    quiet: &Quiet<'_>,
    sources: &mut Sources,
    alone: &mut Alone,
    statement: &ScriptStatement,
    now_us: i64,
) -> Reply {
    let entry = TextEntry { now_us, place: statement.place, text: &statement.text };
    let schema = quiet.schema();
    let compiled = apart(|| compile(&schema.catalog, &registered(&schema), statement));
    let done = compiled.and_then(|compiled| match compiled {
        Compiled::Query(_) | Compiled::Change(_) => {
            Err(SqlError::new(b"XX000", "no log has a query's text"))
        }
        Compiled::Statement(procedure) => execute_statement(&schema, alone, &procedure, &entry),
        definition => Ok(match definition::make(&schema, sources, definition, &entry)? {
            Some(next) => put_in_force(quiet, sources, alone, next, &entry),
            None => Reply::new(Ok(Rows::default()), 0),
        }),
    });
    done.unwrap_or_else(|error| Reply::seen(Err(Box::new(error)), alone.seen()))
}

/// Executes a statement of the database's own at a quiet point that the calling thread has in hand
/// already, beside the transaction that keeps it: of its changes the log has the values.
pub(crate) fn execute_beside(core: &Core, text: &str) -> Result<Reply, SqlError> {
    let schema = core.schema.current();
    let mut statements = apart(|| parse_script(text))?;
    let Some(statement) = statements.pop() else { return Err(no_program()) };
    let statement = statement.as_own();
    match apart(|| compile(&schema.catalog, &registered(&schema), &statement))? {
        Compiled::Statement(procedure) => {
            let program = apart(|| lower::lower(&schema.catalog, &procedure))?;
            Ok(core.alone.lock().values(&schema, &program))
        }
        _ => Err(no_program()),
    }
}

fn no_program() -> SqlError {
    SqlError::new(b"XX000", "a statement of the database's own is no program")
}

/// Executes a statement that was compiled at this quiet point.
fn execute_statement(
    schema: &Schema,
    alone: &mut Alone,
    procedure: &Procedure,
    entry: &TextEntry<'_>,
) -> Result<Reply, SqlError> {
    if !procedure.draws.is_empty() {
        return Err(SqlError::new(b"XX000", "a text does not tell its numbers"));
    }
    let program = apart(|| lower::lower(&schema.catalog, procedure))?;
    Ok(alone.statement(schema, &program, entry))
}

/// Puts what a definition has made of the schema in force.
pub(crate) fn put_in_force(
    quiet: &Quiet<'_>,
    sources: &mut Sources,
    alone: &mut Alone,
    mut next: Next,
    entry: &TextEntry<'_>,
) -> Reply {
    let rows = next.take_answer();
    let done = next.put_in_force(quiet, sources, entry).and_then(|()| alone.definition(entry));
    match done {
        Ok(durable_in) => Reply::new(Ok(rows), durable_in),
        // It may tell of rows that were looked through.
        Err(error) => Reply::seen(Err(Box::new(error)), alone.seen()),
    }
}
