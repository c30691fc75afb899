//! Statements of scripts: which go to the engine, and which run alone at a quiet point.

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::{self, Ticks};
use hotrow_base::ids::TableId;
use hotrow_base::panics;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_engine::journal::text::TextEntry;
use hotrow_engine::schema::{Purpose, Quiet, Schema};
use hotrow_query::Query;
use hotrow_sql::{
    Argument, CatalogChange, Compiled, Maintenance, Naming, ScriptStatement, Truncation, compile,
    quoted,
};
use hotrow_transaction::actions::{ActionPlanner, Batch, Wanted, explain_in_batch};
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::explain::explain_plan;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::{self, Notice, NoticeLevel, SqlError, apart};
use hotrow_transaction::plan::Plan;
use hotrow_transaction::program::Place;

use crate::arguments::bind_all;
use crate::client::Reply;
use crate::copy::{self, CopyIn, CopyOut};
use crate::definition;
use crate::error::{Error, advised};
use crate::kept;
use crate::lookup::{self, Registered};
use crate::prepared::{Prepared, Work};
use crate::query::{self, Around, QueryWork};
use crate::quietly::execute_compiled;
use crate::reports;
use crate::rows::Rows;
use crate::session::Session;
use crate::transaction::TransactionState;

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
    /// what there is to know beside it: what RAISE said, a COMMIT outside of transactions, that a
    /// table was not there and so was not dropped
    pub notices: Vec<Notice>,
}

impl StatementResult {
    /// Some of its rows, by number.
    #[must_use]
    pub fn picked(&self, tag: String, rows: impl Iterator<Item = usize>) -> Self {
        let (rows, types) = (self.rows.picked(rows), self.types.clone());
        Self { rows, types, ..Self::of_tag(&tag) }
    }

    /// The result of a statement that gives no rows.
    pub fn of_tag(tag: &str) -> Self {
        Self {
            tag: tag.to_owned(),
            rows: Rows::default(),
            types: Vec::new(),
            place: Place::default(),
            notices: Vec::new(),
        }
    }
}

/// What a statement came to: its result, or rows that are to come or go.
#[derive(Debug)]
pub enum Outcome {
    /// it is done
    Done(Box<StatementResult>),
    /// COPY FROM STDIN: it waits for rows
    CopyIn(Box<CopyIn>),
    /// COPY TO STDOUT: rows to be taken
    CopyOut(Box<CopyOut>),
    /// PREPARE, EXECUTE, DEALLOCATE, DISCARD ALL: for whoever gives prepared statements names
    Naming(Naming),
}

/// Executes one statement, up to where a COPY needs its client.
pub(crate) fn perform(
    session: &Session,
    prepared: &Prepared,
    values: &[Value],
) -> Result<Outcome, Error> {
    let _guard = panics::guard();
    if let Some(naming) = prepared.statement().naming() {
        // CLOSE is what clients send to clean up, in failed transactions, too.
        if !matches!(naming, Naming::Close(_)) {
            session.talk().refuse_failed()?;
        }
        prepared.check_count(values)?;
        return Ok(Outcome::Naming(naming.clone()));
    }
    if !prepared.statement().is_copy() {
        return execute(session, prepared, values).map(Box::new).map(Outcome::Done);
    }
    let begun = begin_copy(session, prepared);
    if begun.is_err() {
        session.talk().fail();
    }
    begun.map_err(|error| prepared.placed(error))
}

fn begin_copy(session: &Session, prepared: &Prepared) -> Result<Outcome, Error> {
    let running = session.interrupt().begin();
    let _entered = session.enter();
    session.talk().refuse_failed()?;
    let schema = &session.core().schema;
    match prepared.compile(&schema.current(), schema.generation())? {
        Some(Compiled::Copy(copy)) => {
            copy::begin(session, copy, prepared.statement().place, running)
        }
        _ => Err(SqlError::new(b"XX000", "a COPY was compiled to something else").into()),
    }
}

/// Executes one statement.
pub(crate) fn execute(
    session: &Session,
    prepared: &Prepared,
    values: &[Value],
) -> Result<StatementResult, Error> {
    let _guard = panics::guard();
    let _running = session.interrupt().begin();
    let _entered = session.enter();
    let began = Ticks::now();
    let done = execute_in_state(session, prepared, values);
    if done.is_err() {
        session.talk().fail();
    }
    session.note_statement(done.is_ok());
    tell_if_slow(session, prepared.statement(), began);
    match &done {
        Ok(result) => log_notices(session, &result.notices),
        Err(error) => error.as_sql().iter().for_each(|error| log_notices(session, &error.notices)),
    }
    session.settle_limits();
    session.settle_advisory();
    let done = match done {
        Err(_) => session.settle_found(done),
        Ok(_) => done,
    };
    done.map_err(|error| prepared.placed(error))
}

/// What the only column of EXPLAIN is called, as in PostgreSQL.
pub(crate) const EXPLAINED: &str = "QUERY PLAN";
/// Bytes of a slow statement's text that are written to the log.
const TOLD_BYTES_MAX: usize = 1024;

/// Writes to the log what procedures raise for whoever runs the database to know.
fn log_notices(session: &Session, notices: &[Notice]) {
    for Notice { level, said } in notices {
        let (identity, message) = (session.identity(), said.message.as_str());
        let (number, user, code) = (identity.number, identity.user.as_str(), said.code());
        match level {
            NoticeLevel::Log => tracing::info!(number, user, code, message, "LOG was raised"),
            NoticeLevel::Warning => tracing::warn!(number, user, code, message, "a warning"),
            NoticeLevel::Debug | NoticeLevel::Notice | NoticeLevel::Info => {}
        }
    }
}

/// Writes a statement to the log that took too long; values of parameters are not told.
fn tell_if_slow(session: &Session, statement: &ScriptStatement, began: Ticks) {
    let Some(span) = session.core().config.slow_statement else { return };
    let took = began.elapsed();
    if took < span {
        return;
    }
    let text = statement.shown();
    let text = &text[..text.floor_char_boundary(TOLD_BYTES_MAX)];
    let identity = session.identity();
    let (number, user) = (identity.number, identity.user.as_str());
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    tracing::warn!(ms, number, user, text, "a slow statement");
}

fn execute_in_state(
    session: &Session,
    prepared: &Prepared,
    values: &[Value],
) -> Result<StatementResult, Error> {
    let (core, statement) = (session.core(), prepared.statement());
    let generation = core.schema.generation();
    let compiled = prepared.compile(&core.schema.current(), generation);
    let place = statement.place;
    if let Ok(Some(Compiled::Transaction(control))) = compiled {
        let (said, notices) = session.control(control)?;
        let is_start = statement.text.get(..5).is_some_and(|t| t.eq_ignore_ascii_case("start"));
        let tag = if is_start { "START TRANSACTION" } else { said.tag };
        let (tag, rows, types) = (tag.to_owned(), Rows::default(), Vec::new());
        let notices = said.warning.into_iter().chain(notices).collect();
        return Ok(StatementResult { tag, rows, types, place, notices });
    }
    session.talk().refuse_failed()?;
    prepared.check_count(values)?;
    let (mut types, mut notices) = (Vec::new(), Vec::new());
    let rows = match compiled? {
        None => {
            let rows = run(session, prepared, values)?;
            // Behind the run, which compiles again where the schema has changed.
            types = prepared.result_types();
            rows
        }
        Some(Compiled::Explained(lines)) => {
            types.push(SqlType::Scalar(DataType::Text));
            session.settle_found(Ok(shown(EXPLAINED, lines.iter().map(String::as_str))))?
        }
        Some(Compiled::ExplainProcedure { name, arguments }) => {
            let arguments = arguments.map(|written| given(&written, values));
            types.push(SqlType::Scalar(DataType::Text));
            explain(session, &name, arguments)?
        }
        Some(Compiled::Maintenance(maintenance)) => {
            match maintenance {
                Maintenance::Checkpoint => core.checkpoint(&|_| ()).map(drop)?,
                Maintenance::Unlisten => {}
                Maintenance::Vacuum(_) | Maintenance::Analyze(_) => {
                    session.talk().refuse_inside(&tag(&statement.text, &Rows::default()))?;
                }
            }
            Rows::default()
        }
        Some(Compiled::Setting(setting)) => {
            let done = session.setting(&setting)?;
            return Ok(StatementResult { place, ..done });
        }
        Some(Compiled::Naming(_)) => {
            let message = "statements with names are for clients of a server".to_owned();
            return Err(advised(b"0A000", message, "Use Session::prepare.").into());
        }
        Some(Compiled::Copy(_)) => {
            let hint = "Embedded, use Session::copy_in and Session::copy_out; a client of the \
                        server sends or takes the rows.";
            let message = "COPY needs somebody to send or take rows".to_owned();
            return Err(advised(b"0A000", message, hint).into());
        }
        Some(Compiled::Truncate(truncation)) => {
            notices.extend_from_slice(&truncation.notices);
            let rows = truncate(session, prepared, &truncation)?;
            for (sequence, start) in &truncation.restarted {
                session.set_number(*sequence, *start, false)?;
            }
            rows
        }
        Some(definition) => {
            refuse_lock_out(session, &definition)?;
            notices.extend(definition.notices().into_iter().cloned());
            session.talk().make_way(session, &tag(&statement.text, &Rows::default()))?;
            // Compiled again: the catalog may be another one by then.
            let quiet = core.quiet_unless(Purpose::DEFINITION, Some(session.interrupt()))?;
            let rows = execute_alone(session, quiet, prepared, values)?;
            let schema = core.schema.current();
            session.talk().has_defined(created(&schema, &definition));
            notices.extend(definition::warnings(&schema, &definition));
            rows
        }
    };
    let tag = match statement.changed_by_with() {
        Some(verb) => tag(verb, &rows),
        None => tag(&statement.text, &rows),
    };
    notices.extend_from_slice(rows.notices());
    Ok(StatementResult { tag, rows, types, place, notices })
}

/// The tables that a definition has made.
fn created(schema: &Schema, definition: &Compiled) -> impl Iterator<Item = TableId> {
    let changes: &[CatalogChange] = match definition {
        Compiled::Catalog(changes) => changes,
        _ => &[],
    };
    changes.iter().filter_map(|change| match change {
        CatalogChange::CreateTable(table) => Some(schema.catalog.table_named(&table.name)?.id),
        _ => None,
    })
}

/// Fails with 55006 where a session would take its own user away, and with 55000 where nobody could
/// log in any more.
fn refuse_lock_out(session: &Session, definition: &Compiled) -> Result<(), SqlError> {
    let Compiled::Catalog(changes) = definition else { return Ok(()) };
    let identity = session.identity();
    let is_own = |change: &CatalogChange| match change {
        CatalogChange::DropUser(name) => *name == identity.user,
        _ => false,
    };
    match changes.iter().any(is_own) {
        true => Err(SqlError::new(b"55006", "current user cannot be dropped")),
        false => refuse_last_password(&session.core().schema.current().catalog, changes),
    }
}

/// Fails where changes would leave nobody with a password who can log in. What is repeated from a
/// log is not asked: older versions let it be done.
fn refuse_last_password(catalog: &Catalog, changes: &[CatalogChange]) -> Result<(), SqlError> {
    let mut lost = Vec::new();
    for change in changes {
        match change {
            CatalogChange::DropUser(name) | CatalogChange::SetUser { name, verifier: None } => {
                lost.push(name.as_str());
            }
            CatalogChange::SetUser { verifier: Some(_), .. } => return Ok(()),
            _ => {}
        }
    }
    let mut with_password = catalog.users().iter().filter(|(_, verifier)| verifier.is_some());
    let mut is_any = false;
    let are_lost = with_password.all(|(name, _)| {
        is_any = true;
        lost.contains(&name.as_str())
    });
    if !(is_any && are_lost) {
        return Ok(());
    }
    let message = "the last user with a password cannot be left without it: nobody could log in";
    let hint = "Give another user a password first. To let programs of this machine in without \
                passwords, restart the server with --insecure-no-passwords.";
    Err(advised(b"55000", message.to_owned(), hint))
}

/// Empties tables at a quiet point; inside a transaction by deleting their rows, which it can take
/// back.
fn truncate(
    session: &Session,
    prepared: &Prepared,
    truncation: &Truncation,
) -> Result<Rows, Error> {
    let core = session.core();
    session.talk().join_batch(core, session)?;
    if session.transaction_state() == TransactionState::Idle {
        let quiet = core.quiet_unless(Purpose::DEFINITION, Some(session.interrupt()))?;
        return execute_alone(session, quiet, prepared, &[]);
    }
    let schema = core.schema.current();
    for table in &truncation.tables {
        let name = quoted(&schema.catalog.table(*table).name);
        let delete = session.prepare(&format!("DELETE FROM {name}"), &[])?;
        run(session, &delete, &[])?;
    }
    Ok(Rows::default())
}

/// The values of arguments, where a statement's parameters have these.
fn given(arguments: &[Argument], values: &[Value]) -> Vec<Value> {
    arguments.iter().map(|argument| argument.value(values)).collect()
}

/// Runs a call or a statement in the session's transaction, or as one.
fn run(session: &Session, prepared: &Prepared, values: &[Value]) -> Result<Rows, Error> {
    let core = session.core();
    if let Work::Call { name, arguments, label, .. } = &*prepared.work() {
        let rows = session.call_uncounted(name, given(arguments, values))?;
        return Ok(match label {
            Some(label) => rows.labelled(label),
            None => rows,
        });
    }
    if let Some(done) = session.talk().statement((prepared, values), session) {
        return done;
    }
    session.refuse_read_only(prepared)?;
    if prepared.reads_no_tables() {
        return session.settle_found(query::run_without_tables(session, prepared, values));
    }
    if prepared.is_report() {
        let span = core.config.report_attempt;
        if !span.is_zero() {
            let attempt = session.interrupt().attempt(span);
            let done = run_beside_others(session, prepared, values);
            if done.is_ok() || !attempt.is_over() {
                return done;
            }
        }
        if let Some(rows) = reports::run(session, prepared, values)? {
            return Ok(rows);
        }
    }
    run_beside_others(session, prepared, values)
}

/// Runs a statement outside transactions as one that locks what it touches, or at a quiet point.
fn run_beside_others(
    session: &Session,
    prepared: &Prepared,
    values: &[Value],
) -> Result<Rows, Error> {
    let core = session.core();
    // The log has texts of statements that run alone, and a text does not tell such things.
    let is_by_text = !prepared.has_parts()
        && !prepared.draws()
        && !values.iter().any(|value| matches!(value, Value::Array(_)));
    if !core.locks_as_it_goes {
        if let Some(rows) = kept::run(session, prepared, values)? {
            return Ok(rows);
        }
        if is_by_text {
            let quiet = core.quiet_unless(Purpose::ALONE, Some(session.interrupt()))?;
            return execute_alone(session, quiet, prepared, values);
        }
    }
    let Some(interactive) = &core.interactive else { return Err(core.no_transactions().into()) };
    // Alone, while there are no transactions of several statements to be beside of.
    if core.locks_as_it_goes && !core.schema.current().interactive && is_by_text {
        let quiet = core.quiet_unless(Purpose::ALONE, Some(session.interrupt()))?;
        if !quiet.schema().interactive {
            return execute_alone(session, quiet, prepared, values);
        }
    }
    let statement = (prepared, values, clock::now_us());
    session.talk().alone(core, interactive, statement, session)
}

/// Executes a definition or a single statement at a quiet point. The log has its text, with its
/// values in it.
fn execute_alone(
    session: &Session,
    quiet: Quiet<'_>,
    prepared: &Prepared,
    values: &[Value],
) -> Result<Rows, Error> {
    let core = session.core();
    core.refuse_unlogged()?;
    let whole = prepared.with_literals(values)?;
    let statement = whole.as_ref().unwrap_or(prepared).statement();
    let schema = quiet.schema();
    // Values in the text are written as casts, which give columns names.
    let named = |rows: Rows| match &whole {
        Some(_) => rows.named(prepared.columns().map(|(name, _)| name.to_owned())),
        None => rows,
    };
    let compiled = apart(|| compile(&schema.catalog, &Registered(&schema), statement))?;
    if let Compiled::Query(query) = compiled {
        let reply = query_alone(session, (&schema, query))?;
        drop(quiet);
        return session.settle(reply).map(named);
    }
    let reply = {
        let (mut sources, mut alone) = (core.sources.lock(), core.alone.lock());
        alone.heed(Some(session.interrupt()));
        let (place, text) = (statement.place, &*statement.text);
        let entry = TextEntry { now_us: clock::now_us(), place, text };
        let reply = execute_compiled(&quiet, &mut sources, &mut alone, compiled, &entry);
        alone.heed(None);
        reply
    };
    drop(quiet);
    session.settle(reply).map(named)
}

/// Runs a query at a quiet point: it changes nothing, and so the log need not know.
fn query_alone(session: &Session, (schema, query): (&Schema, Arc<Query>)) -> Result<Reply, Error> {
    let core = session.core();
    let work = apart(|| QueryWork::of(schema, query))?;
    let now_us = clock::now_us();
    let around = Around { core, schema, session, now_us, is_alone: true };
    let rows = query::run(&work, &[], &around, &mut |read, invocation| {
        let mut alone = core.alone.lock();
        alone.heed(Some(session.interrupt()));
        let reply = alone.read(schema, &read.program, invocation);
        alone.heed(None);
        Ok(Some(reply.answer.map_err(Error::Sql)?))
    });
    let seen = core.alone.lock().seen();
    match rows {
        Ok(rows) => Ok(Reply::seen(Ok(rows.unwrap_or_default()), seen)),
        Err(Error::Sql(error)) => Ok(Reply::seen(Err(error), seen)),
        Err(error) => Err(error),
    }
}

/// What planning knows of a procedure and, given arguments, of a call: which is planned at a quiet
/// point and not run.
fn explain(session: &Session, name: &str, arguments: Option<Vec<Value>>) -> Result<Rows, Error> {
    let core = session.core();
    let mut seen = 0;
    let text = match arguments {
        None => definition::explain(&core.schema.current(), name)?.0,
        Some(arguments) => {
            let quiet = quiet_to_plan(session, name)?;
            let schema = quiet.schema();
            let (id, compiled) = lookup::procedure_named(&schema, name)?;
            let mut invocation = Invocation { procedure: id, ..Invocation::default() };
            invocation.now_us = clock::now_us();
            bind_all(&compiled.procedure, arguments, &mut invocation.arguments)?;
            let (text, actions) = definition::explain(&schema, name)?;
            let (mut plan, mut batch) = <(Plan, Batch)>::default();
            core.alone.lock().plan(&schema, |frame, access| {
                plan.make(&compiled.plan, &invocation, frame, access)?;
                let call = (&actions, &invocation);
                let wanted = Wanted::ConditionsFirst;
                ActionPlanner::default().add(&mut batch, wanted, call, frame, access)
            })?;
            seen = core.journal.entered();
            drop(quiet);
            let held = explain_plan(&schema.catalog, &plan);
            text + &held + &explain_in_batch(&schema.catalog, &actions, (&batch, &batch.calls()[0]))
        }
    };
    session.settle(Reply::seen(Ok(shown("plan", text.lines())), seen))
}

/// Times, and pauses between them, that a quiet point without open changes is looked for.
const TRIES_TO_PLAN: u32 = 50;
const PAUSE_TO_PLAN: Duration = Duration::from_millis(20);

/// A quiet point to plan a call at, beside open transactions; where planning looks at rows, there
/// are none that an open transaction has changed and may take back.
fn quiet_to_plan<'a>(session: &'a Session, name: &str) -> Result<Quiet<'a>, Error> {
    let core = session.core();
    let looks = |schema: &Schema| -> Result<bool, SqlError> {
        Ok(lookup::procedure_named(schema, name)?.1.plan.needs_reconnaissance)
    };
    for _ in 0..TRIES_TO_PLAN {
        let quiet = core.quiet_beside()?;
        if quiet.open_changes() == 0 || !looks(&quiet.schema())? {
            return Ok(quiet);
        }
        drop(quiet);
        session.interrupt().sleep(PAUSE_TO_PLAN).map_err(SqlError::from)?;
    }
    let message = "open transactions have changed rows that planning may look at".to_owned();
    Err(advised(b"55006", message, "Try again when they have ended.").into())
}

/// Lines of text as rows of one column.
fn shown<'a>(column: &str, lines: impl Iterator<Item = &'a str>) -> Rows {
    let rows = lines.map(|line| vec![Value::from(line)]).collect();
    outcome::Rows { columns: vec![column.to_owned()], rows, ..outcome::Rows::default() }.into()
}

/// PostgreSQL's command tag.
fn tag(text: &str, rows: &Rows) -> String {
    let mut words = text.split(|c: char| !c.is_ascii_alphabetic()).map(str::to_ascii_uppercase);
    let verb = words.find(|word| !word.is_empty()).unwrap_or_default();
    let object = |word: &String| {
        let known = ["TABLE", "INDEX", "FUNCTION", "PROCEDURE", "SEQUENCE", "VIEW", "USER", "ROLE"];
        known.contains(&word.as_str())
    };
    match verb.as_str() {
        "SELECT" | "WITH" | "VALUES" => format!("SELECT {}", rows.len()),
        "INSERT" => format!("INSERT 0 {}", rows.touched()),
        "TRUNCATE" => "TRUNCATE TABLE".to_owned(),
        "UPDATE" | "DELETE" => format!("{verb} {}", rows.touched()),
        "CREATE" | "DROP" | "ALTER" => match words.find(object) {
            Some(object) if object == "USER" => format!("{verb} ROLE"),
            Some(object) => format!("{verb} {object}"),
            None => verb,
        },
        _ => verb,
    }
}

#[cfg(test)]
mod tests;
