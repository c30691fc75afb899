//! Statements of scripts: which go to the engine, and which run alone at a quiet point.

use hotrow_base::clock;
use hotrow_base::value::Value;
use hotrow_sql::{Compiled, ScriptStatement, compile};
use hotrow_transaction::explain::explain_plan;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::lower;
use hotrow_transaction::outcome::{self, SqlError};
use hotrow_transaction::program::{Place, Procedure};

use crate::arguments::bind_all;
use crate::database::Inner;
use crate::definition::{self, Registered};
use crate::error::{Error, advised};
use crate::rows::Rows;
use crate::session::Session;

/// What a statement of a script gave.
#[derive(Clone, PartialEq, Debug)]
pub struct StatementResult {
    /// what was done, as PostgreSQL's command tags say it: `CREATE TABLE`, `INSERT 0 3`, `CALL`
    pub tag: String,
    /// its rows; none for definitions
    pub rows: Rows,
    /// where the statement stands in the script
    pub place: Place,
}

/// Executes one statement.
pub(crate) fn execute(
    session: &Session,
    statement: &ScriptStatement,
) -> Result<StatementResult, Error> {
    let inner = session.inner();
    let schema = inner.schema.current();
    let rows = match compile(&schema.catalog, &Registered(&schema), statement)? {
        Compiled::Call { name, arguments } => {
            session.call(&name, arguments).map_err(|error| at(error, statement.place))?
        }
        Compiled::ExplainProcedure { name, arguments } => explain(inner, &name, arguments)?,
        Compiled::Begin | Compiled::Commit | Compiled::Rollback => {
            let message = "transactions of several statements are not supported yet".to_owned();
            let mut error = advised(b"0A000", message, "Write a procedure: a call is atomic.");
            error.place = statement.place;
            return Err(error.into());
        }
        // Compiled again: the catalog may be another one by then.
        _ => execute_alone(inner, statement)?,
    };
    let tag = tag(&statement.text, &rows);
    Ok(StatementResult { tag, rows, place: statement.place })
}

/// Executes a definition or a single statement at a quiet point.
fn execute_alone(inner: &Inner, statement: &ScriptStatement) -> Result<Rows, Error> {
    let quiet = inner.quiet()?;
    let schema = quiet.schema();
    let mut sources = inner.sources.lock();
    let done = match compile(&schema.catalog, &Registered(&schema), statement)? {
        Compiled::Catalog(changes) => {
            definition::change_catalog(&quiet, &sources, &changes).map(|()| Rows::default())
        }
        Compiled::CreateProcedure { procedure, source, .. } => {
            let source = definition::at_place(&source, statement.place);
            definition::create_procedure(&quiet, &mut sources, *procedure, source)
                .map(|()| Rows::default())
        }
        Compiled::DropProcedures { names, if_exists } => {
            definition::drop_procedures(&quiet, &mut sources, &names, if_exists)
                .map(|()| Rows::default())
        }
        Compiled::Statement(procedure) => run_once(inner, &schema, &procedure),
        _ => Err(SqlError::new(b"40001", "the schema changed meanwhile; try again")),
    };
    done.map_err(|error| at(error.into(), statement.place))
}

/// Runs an anonymous procedure.
fn run_once(
    inner: &Inner,
    schema: &hotrow_engine::schema::Schema,
    procedure: &Procedure,
) -> Result<Rows, SqlError> {
    let program = lower::lower(&schema.catalog, procedure)?;
    let invocation = Invocation { now_us: clock::now_us(), ..Invocation::default() };
    inner.alone.lock().run(schema, &program, &invocation, None)
}

/// What planning knows of a procedure and, given arguments, of a call: which is planned at a quiet
/// point and not run.
fn explain(inner: &Inner, name: &str, arguments: Option<Vec<Value>>) -> Result<Rows, Error> {
    let text = match arguments {
        None => definition::explain(&inner.schema.current(), name)?,
        Some(arguments) => {
            let quiet = inner.quiet()?;
            let schema = quiet.schema();
            let (id, compiled) = definition::procedure_named(&schema, name)?;
            let mut invocation = Invocation { procedure: id, ..Invocation::default() };
            invocation.now_us = clock::now_us();
            bind_all(&compiled.procedure, arguments, &mut invocation.arguments)?;
            let plan = inner.alone.lock().plan(&schema, compiled, &invocation)?;
            definition::explain(&schema, name)? + &explain_plan(&schema.catalog, &plan)
        }
    };
    let rows = text.lines().map(|line| vec![Value::from(line)]).collect();
    Ok(outcome::Rows { columns: vec!["plan".to_owned()], rows, touched: 0 }.into())
}

/// The error, with a place where it has none.
fn at(error: Error, place: Place) -> Error {
    match error {
        Error::Sql(mut sql) if sql.place == Place::default() => {
            sql.place = place;
            Error::Sql(sql)
        }
        other => other,
    }
}

/// PostgreSQL's command tag.
fn tag(text: &str, rows: &Rows) -> String {
    let mut words = text.split(|c: char| !c.is_ascii_alphabetic()).map(str::to_ascii_uppercase);
    let verb = words.find(|word| !word.is_empty()).unwrap_or_default();
    let object =
        |word: &String| matches!(word.as_str(), "TABLE" | "INDEX" | "FUNCTION" | "PROCEDURE");
    match verb.as_str() {
        "SELECT" | "WITH" | "VALUES" => format!("SELECT {}", rows.len()),
        "INSERT" => format!("INSERT 0 {}", rows.touched()),
        "UPDATE" | "DELETE" => format!("{verb} {}", rows.touched()),
        "CREATE" | "DROP" => match words.find(object) {
            Some(object) => format!("{verb} {object}"),
            None => verb,
        },
        _ => verb,
    }
}

#[cfg(test)]
mod tests;
