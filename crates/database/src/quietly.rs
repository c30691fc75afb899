//! Definitions and single statements at a quiet point, while nothing else runs.
//!
//! Role         executes them for sessions, and again for recovery; knows neither

use hotrow_base::value::Value;
use hotrow_engine::journal::text::TextEntry;
use hotrow_engine::schema::{Quiet, Schema};
use hotrow_sql::{CatalogChange, Compiled, ScriptStatement, compile};
use hotrow_transaction::lower;
use hotrow_transaction::outcome::{SqlError, apart};

use crate::alone::Alone;
use crate::definition::{self, Defined, Sources};
use crate::lookup::Registered;
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
    match apart(|| compile(&schema.catalog, &Registered(&schema), statement)) {
        Ok(compiled) => execute_compiled(quiet, sources, alone, compiled, &entry),
        Err(error) => Reply::seen(Err(Box::new(error)), alone.seen()),
    }
}

/// Executes what was compiled at this quiet point, which keeps everybody out.
pub(crate) fn execute_compiled(
    quiet: &Quiet<'_>,
    sources: &mut Sources,
    alone: &mut Alone,
    compiled: Compiled,
    entry: &TextEntry<'_>,
) -> Reply {
    let schema = quiet.schema();
    let defined = match compiled {
        Compiled::Query(_) | Compiled::Change(_) => {
            return Reply::refused(SqlError::new(b"XX000", "no log has a query's text"));
        }
        Compiled::Statement(procedure) if !procedure.draws.is_empty() => {
            return Reply::refused(SqlError::new(b"XX000", "a text does not tell its numbers"));
        }
        Compiled::Statement(procedure) => {
            return match apart(|| lower::lower(&schema.catalog, &procedure)) {
                Ok(program) => alone.statement(&schema, &program, entry),
                Err(error) => Reply::refused(error),
            };
        }
        definition => refuse_violated(&schema, alone, &definition, entry)
            .and_then(|()| definition::define(quiet, sources, definition, entry)),
    };
    // What changed nothing needs no entry.
    let durable_in = defined.and_then(|effect| match effect {
        Defined::Nothing => Ok(0),
        Defined::Something | Defined::Rows => alone.definition(entry),
    });
    match durable_in {
        Ok(durable_in) => Reply::new(Ok(Rows::default()), durable_in),
        // It may tell of rows that were looked through.
        Err(error) => Reply::seen(Err(Box::new(error)), alone.seen()),
    }
}

/// Fails with 23514 where a row that there is violates a CHECK that is being added.
fn refuse_violated(
    schema: &Schema,
    alone: &mut Alone,
    definition: &Compiled,
    entry: &TextEntry<'_>,
) -> Result<(), SqlError> {
    let Compiled::Catalog(changes) = definition else { return Ok(()) };
    for change in changes {
        let CatalogChange::AddCheck { table, check, violated_by } = change else { continue };
        let program = apart(|| lower::lower(&schema.catalog, violated_by))?;
        let found = alone.statement(schema, &program, entry).answer.map_err(|error| *error)?;
        let Some(row) = found.iter().next() else { continue };
        let (name, table) = (&check.name, &schema.catalog.table(*table).name);
        let text =
            format!("check constraint \"{name}\" of relation \"{table}\" is violated by some row");
        let mut error = SqlError::new(b"23514", text);
        let row: Vec<String> = row.iter().map(Value::to_string).collect();
        error.detail = Some(format!("Failing row contains ({}).", row.join(", ")));
        (error.table, error.constraint) = (Some(table.clone()), Some(name.clone()));
        return Err(error);
    }
    Ok(())
}
