//! Single statements as calls, on engines whose statements do not lock what they touch.
//!
//! Role         what is sent again and again, with parameters or with other literals each time, is
//!              kept as a procedure without a name: planned and run as calls are, beside them,
//!              where it would otherwise close the gate for each execution. It is a definition as
//!              CREATE PROCEDURE is: the log has it as PREPARE, and its executions as calls
//! States       sent -> sent again -> kept, or refused as long as definitions are the same. Gone
//!              when a definition leaves it without sense, or when a procedure comes that uses
//!              the same tables; then it may be kept again
//! Invariants   I1 no call of a procedure holds more because a statement is kept
//!              I2 whatever goes wrong on the way to the call, the statement runs at a quiet point

use std::cell::{Cell, OnceCell};

use hotrow_base::clock;
use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_engine::schema::Purpose;
use hotrow_sql::Shape;
use hotrow_transaction::outcome::apart;
use hotrow_transaction::program::Place;

use crate::definition::{parse_one, statement_name, statement_source};
use crate::error::Error;
use crate::prepared::{Prepared, Work};
use crate::quietly::execute_quietly;
use crate::rows::Rows;
use crate::session::Session;
use crate::shapes;

/// Executions of a session before a statement is kept: most are sent once or twice.
const EXECUTIONS_MIN: u32 = 3;
/// The longest text that is kept, in bytes.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// What is known of a prepared statement as a procedure.
#[derive(Default)]
pub(crate) struct Keeping {
    statement: OnceCell<Option<Statement>>,
    /// with the schema of this generation it is kept
    kept: Cell<Option<u64>>,
    executions: Cell<u32>,
    /// with the schema of this generation it was refused
    refused: Cell<Option<u64>>,
}

/// A statement to be kept.
struct Statement {
    /// what the procedure is called
    name: String,
    /// its definition
    source: String,
    /// which of the values are its arguments
    is_argument: Vec<bool>,
}

impl Statement {
    fn of(prepared: &Prepared) -> Option<Self> {
        let text = &*prepared.statement().text;
        let literals = prepared.literals();
        let (text, types, is_argument): (_, Vec<SqlType>, _) = if literals.is_empty() {
            let types = prepared.parameters().to_vec();
            let all = vec![true; types.len()];
            (text.to_owned(), types, all)
        } else {
            let mut shape = Shape::default();
            if !shape.read(text) {
                return None;
            }
            let is_argument: Vec<bool> = literals.iter().map(Option::is_some).collect();
            let text = shape.with_parameters(text, &is_argument);
            (text, literals.iter().copied().flatten().collect(), is_argument)
        };
        let text = text.trim().to_owned();
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let (name, source) = (statement_name(&text, &types), statement_source(&text, &types));
        Some(Self { name, source, is_argument })
    }
}

/// Runs a statement as a call; none: it is to be run at a quiet point.
pub(crate) fn run(
    session: &Session,
    prepared: &Prepared,
    values: &[Value],
) -> Result<Option<Rows>, Error> {
    match &*prepared.work() {
        Work::Program(_) => {}
        Work::Query(work) if !work.writes() && !work.draws() => {}
        Work::Query(_) | Work::Change(_) | Work::Call { .. } => return Ok(None),
    }
    if prepared.is_of_script() {
        // One that draws numbers is a transaction otherwise, which is run twice.
        let shaped = prepared.draws().then(|| shapes::prepare(session, &prepared.statement().text));
        return match shaped.flatten() {
            Some((shaped, values)) => run(session, &shaped, &values),
            None => Ok(None),
        };
    }
    let keeping = prepared.kept();
    let Some(statement) = keeping.statement.get_or_init(|| Statement::of(prepared)) else {
        return Ok(None);
    };
    if !is_kept(session, (keeping, statement)) && !keep(session, prepared, statement)? {
        return Ok(None);
    }
    let bound = prepared.bound(values)?.into_iter().zip(&statement.is_argument);
    let arguments: Vec<Value> =
        bound.filter(|(_, is_argument)| **is_argument).map(|(value, _)| value).collect();
    match session.call_uncounted(&statement.name, arguments) {
        Ok(rows) => {
            let columns = prepared.columns().map(|(name, _)| name.to_owned());
            Ok(Some(rows.named(columns)))
        }
        // It went before the call ran.
        Err(Error::Sql(error))
            if &error.sqlstate == b"42883" && !is_kept(session, (keeping, statement)) =>
        {
            Ok(None)
        }
        Err(Error::Sql(mut error)) => {
            error.place = Place::default(); // it is one in the definition
            Err(Error::Sql(error))
        }
        Err(error) => Err(error),
    }
}

fn is_kept(session: &Session, (keeping, statement): (&Keeping, &Statement)) -> bool {
    // In this order: a schema that is newer than its number is only looked into again.
    let schema = &session.core().schema;
    let generation = schema.generation();
    if keeping.kept.get() == Some(generation) {
        return true;
    }
    let is_there = schema.current().procedure_named(&statement.name).is_some();
    keeping.kept.set(is_there.then_some(generation));
    is_there
}

/// Keeps a statement, if it is sent often enough and nothing is in the way; whether it is kept.
fn keep(session: &Session, prepared: &Prepared, statement: &Statement) -> Result<bool, Error> {
    let (core, keeping) = (session.core(), prepared.kept());
    let generation = core.schema.generation();
    keeping.executions.set(keeping.executions.get().saturating_add(1));
    let is_worth_it = keeping.executions.get() >= EXECUTIONS_MIN || prepared.draws();
    if !is_worth_it || keeping.refused.get() == Some(generation) {
        return Ok(false);
    }
    core.refuse_unlogged()?;
    let kept = {
        let definition = apart(|| parse_one(&statement.source));
        let quiet = core.quiet_unless(Purpose::DEFINITION, Some(session.interrupt()))?;
        let (mut sources, mut alone) = (core.sources.lock(), core.alone.lock());
        let now_us = clock::now_us();
        definition.map(|one| execute_quietly(&quiet, &mut sources, &mut alone, &one, now_us))
    };
    match kept.map_err(Error::from).and_then(|reply| session.settle(reply)) {
        Ok(_) => Ok(true),
        Err(Error::Sql(error)) if !error.is_refusal() => {
            tracing::debug!(%error, statement = &statement.name[1..], "a statement is not kept");
            keeping.refused.set(Some(core.schema.generation()));
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
