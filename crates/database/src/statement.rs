//! Statements of scripts: which go to the engine, and which run alone at a quiet point.

use std::sync::Arc;

use hotrow_base::clock;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_engine::journal::text::TextEntry;
use hotrow_engine::schema::{Purpose, Quiet, Schema};
use hotrow_sql::{Argument, Compiled, Query, ScriptStatement, compile};
use hotrow_transaction::actions::{ActionPlan, explain_in_batch};
use hotrow_transaction::explain::explain_plan;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::lower;
use hotrow_transaction::outcome::{self, SqlError};
use hotrow_transaction::plan::Plan;
use hotrow_transaction::program::Place;

use crate::alone::Alone;
use crate::arguments::bind_all;
use crate::client::Reply;
use crate::database::Inner;
use crate::definition::{self, Defined, Registered, Sources};
use crate::error::Error;
use crate::prepared::{Prepared, Work};
use crate::query::{self, Around, QueryWork};
use crate::rows::Rows;
use crate::session::{Identity, Session};

/// What a statement of a script gave.
#[derive(Clone, PartialEq, Debug)]
pub struct StatementResult {
    /// what was done, as PostgreSQL's command tags say it: `CREATE TABLE`, `INSERT 0 3`, `CALL`
    pub tag: String,
    /// its rows; none for definitions
    pub rows: Rows,
    /// the types of their columns; none where no rows can come
    pub types: Vec<SqlType>,
    /// where the statement stands in the script
    pub place: Place,
    /// what PostgreSQL warns of: a BEGIN in a transaction, a COMMIT outside
    pub warning: Option<SqlError>,
}

/// Executes one statement.
pub(crate) fn execute(
    session: &Session,
    prepared: &Prepared,
    values: &[Value],
) -> Result<StatementResult, Error> {
    let done = execute_in_state(session, prepared, values);
    if done.is_err() {
        session.talk().fail();
    }
    done.map_err(|error| at(error, prepared.statement().place))
}

fn execute_in_state(
    session: &Session,
    prepared: &Prepared,
    values: &[Value],
) -> Result<StatementResult, Error> {
    let (inner, statement) = (session.inner(), prepared.statement());
    let generation = inner.schema.generation();
    let compiled = prepared.compile(&inner.schema.current(), generation);
    let place = statement.place;
    if let Ok(Some(Compiled::Transaction(control))) = compiled {
        let said = session.talk().control(inner, control)?;
        let (tag, rows, types) = (said.tag.to_owned(), Rows::default(), Vec::new());
        return Ok(StatementResult { tag, rows, types, place, warning: said.warning });
    }
    session.talk().refuse_failed()?;
    prepared.check_count(values)?;
    let mut types = Vec::new();
    let rows = match compiled? {
        None => {
            let rows = run(session, prepared, values)?;
            // Behind the run, which compiles again where the schema has changed.
            types = prepared.result_types();
            rows
        }
        Some(Compiled::ExplainProcedure { name, arguments }) => {
            let arguments = arguments.map(|written| given(&written, values));
            types.push(SqlType::Scalar(DataType::Text));
            explain(inner, &name, arguments)?
        }
        Some(_) => {
            session.talk().refuse_inside(&tag(&statement.text, &Rows::default()))?;
            // Compiled again: the catalog may be another one by then.
            let quiet = inner.quiet(Purpose::DEFINITION)?;
            execute_alone(session, quiet, prepared, values)?
        }
    };
    Ok(StatementResult { tag: tag(&statement.text, &rows), rows, types, place, warning: None })
}

/// The values of arguments, where a statement's parameters have these.
fn given(arguments: &[Argument], values: &[Value]) -> Vec<Value> {
    arguments.iter().map(|argument| argument.value(values)).collect()
}

/// Runs a call or a statement in the session's transaction, or as one.
fn run(session: &Session, prepared: &Prepared, values: &[Value]) -> Result<Rows, Error> {
    let inner = session.inner();
    if let Work::Call { name, arguments, .. } = &*prepared.work() {
        return session.call(name, given(arguments, values));
    }
    let identity = session.identity();
    if let Some(done) = session.talk().statement(inner, (prepared, values), &identity) {
        return done;
    }
    let Some(interactive) = &inner.interactive else {
        if prepared.has_parts() {
            return Err(inner.no_transactions().into());
        }
        return execute_alone(session, inner.quiet(Purpose::ALONE)?, prepared, values);
    };
    // Alone, while there are no transactions of several statements to be beside of.
    if !inner.schema.current().interactive && !prepared.has_parts() {
        let quiet = inner.quiet(Purpose::ALONE)?;
        if !quiet.schema().interactive {
            return execute_alone(session, quiet, prepared, values);
        }
    }
    let statement = (prepared, values, clock::now_us());
    session.talk().alone(inner, interactive, statement, &identity)
}

/// Executes a definition or a single statement at a quiet point. The log has its text, with its
/// values in it.
fn execute_alone(
    session: &Session,
    quiet: Quiet<'_>,
    prepared: &Prepared,
    values: &[Value],
) -> Result<Rows, Error> {
    let inner = session.inner();
    inner.refuse_unlogged()?;
    let whole = prepared.with_literals(values)?;
    let statement = whole.as_ref().unwrap_or(prepared).statement();
    let schema = quiet.schema();
    if let Compiled::Query(query) = compile(&schema.catalog, &Registered(&schema), statement)? {
        let identity = session.identity();
        return query_alone(inner, (&schema, query), &identity);
    }
    let reply = {
        let (mut sources, mut alone) = (inner.sources.lock(), inner.alone.lock());
        execute_quietly(&quiet, &mut sources, &mut alone, statement, clock::now_us())
    };
    if reply.answer.is_ok() {
        inner.open_tables(&quiet)?;
    }
    drop(quiet);
    inner.settle(reply)
}

/// Runs a query at a quiet point: it changes nothing, and so the log need not know.
fn query_alone(
    inner: &Inner,
    (schema, query): (&Schema, Arc<Query>),
    identity: &Identity,
) -> Result<Rows, Error> {
    let work = QueryWork::of(schema, query)?;
    let around = Around { inner, schema, identity, now_us: clock::now_us() };
    let mut durable_in = 0;
    let rows = query::run(&work, &[], &around, &mut |read, invocation| {
        let reply = inner.alone.lock().read(schema, &read.program, invocation);
        durable_in = durable_in.max(reply.durable_in);
        Ok(Some(reply.answer.map_err(Error::Sql)?))
    })?;
    inner.settle(Reply { answer: Ok(rows.unwrap_or_default()), durable_in })
}

/// Executes a definition or a single statement while nothing else runs: one that was typed, or one
/// that is repeated from the log.
pub(crate) fn execute_quietly(
    quiet: &Quiet<'_>,
    sources: &mut Sources,
    alone: &mut Alone,
    statement: &ScriptStatement,
    now_us: i64,
) -> Reply {
    let entry = TextEntry { now_us, place: statement.place, text: &statement.text };
    let schema = quiet.schema();
    let compiled = compile(&schema.catalog, &Registered(&schema), statement);
    let defined = match compiled {
        Ok(Compiled::Query(_) | Compiled::Change(_)) => {
            return Reply::refused(SqlError::new(b"XX000", "no log has a query's text"));
        }
        Ok(Compiled::Statement(procedure)) => {
            return match lower::lower(&schema.catalog, &procedure) {
                Ok(program) => alone.statement(&schema, &program, &entry),
                Err(error) => Reply::refused(error),
            };
        }
        Ok(definition) => definition::define(quiet, sources, definition, &entry),
        Err(error) => Err(error),
    };
    // What changed nothing needs no entry.
    let durable_in = defined.and_then(|effect| match effect {
        Defined::Nothing => Ok(0),
        Defined::Something => alone.definition(&entry),
    });
    match durable_in {
        Ok(durable_in) => Reply { answer: Ok(Rows::default()), durable_in },
        Err(error) => Reply::refused(error),
    }
}

/// What planning knows of a procedure and, given arguments, of a call: which is planned at a quiet
/// point and not run.
fn explain(inner: &Inner, name: &str, arguments: Option<Vec<Value>>) -> Result<Rows, Error> {
    let text = match arguments {
        None => definition::explain(&inner.schema.current(), name)?.0,
        Some(arguments) => {
            let quiet = inner.quiet_beside()?;
            let schema = quiet.schema();
            let (id, compiled) = definition::procedure_named(&schema, name)?;
            let mut invocation = Invocation { procedure: id, ..Invocation::default() };
            invocation.now_us = clock::now_us();
            bind_all(&compiled.procedure, arguments, &mut invocation.arguments)?;
            let (text, actions) = definition::explain(&schema, name)?;
            let (mut plan, mut cut) = (Plan::default(), ActionPlan::default());
            inner.alone.lock().plan(&schema, |frame, access| {
                plan.make(&compiled.plan, &invocation, frame, access)?;
                cut.make(&actions, &invocation, frame, access)
            })?;
            let held = explain_plan(&schema.catalog, &plan);
            text + &held + &explain_in_batch(&schema.catalog, &actions, &mut cut)
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
