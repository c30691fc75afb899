//! Single statements as calls, on engines whose statements do not lock what they touch.
//!
//! Role         a statement is kept as a procedure without a name, whatever its parameters and
//!              literals are: planned and run as calls are, beside them, where it would otherwise
//!              close the gate for each execution. It is a definition as CREATE PROCEDURE is: the
//!              log has it as PREPARE, and its executions as calls. Where it changes nothing of
//!              what calls hold, the gate stays open for the definition, too
//! States       sent -> kept, or refused as long as definitions are the same; where many kinds are
//!              kept already: sent -> sent again -> kept. Gone when a definition leaves it without
//!              sense, or when a procedure comes that uses the same tables; then it may be kept
//!              again
//! Invariants   I1 no call of a procedure holds more because a statement is kept
//!              I2 whatever goes wrong on the way to the call, the statement runs at a quiet point

use hotrow_base::value::Value;
use hotrow_transaction::outcome::{SqlError, apart};
use hotrow_transaction::program::Place;

use crate::arguments::{Binder, IntoArguments};
use crate::calls::Calls;
use crate::context::Context;
use crate::defining::define;
use crate::definition::parse_one;
use crate::error::Error;
use crate::keeping::{Keeping, KeptStatement};
use crate::prepared::{Prepared, refused};
use crate::rows::Rows;
use crate::shapes;
use crate::work::Work;

/// Kinds of statements that are kept when they are sent for the first time.
const KEPT_AT_ONCE: usize = 256;
/// Executions of a session before another one is kept: most are sent once or twice, and there is a
/// bound for all.
const EXECUTIONS_MIN: u32 = 3;

/// Runs a statement as a call; none: it is to be run at a quiet point.
pub(crate) fn run(
    context: &Context,
    calls: &Calls,
    prepared: &Prepared,
    values: &[Value],
) -> Result<Option<Rows>, Error> {
    match &*prepared.work() {
        // A view's that a trigger does nothing for: there is nothing to plan.
        Work::Program(work) if work.program.access.is_empty() => return Ok(None),
        Work::Program(_) => {}
        Work::Query(work) if !work.writes() && !work.draws() => {}
        Work::Query(_) | Work::Change(_) | Work::Call { .. } => return Ok(None),
    }
    if prepared.is_of_script() {
        // One that draws numbers is a transaction otherwise, which is run twice.
        let shaped = prepared.draws().then(|| shapes::prepare(context, &prepared.statement().text));
        return match shaped.flatten() {
            Some((shaped, values)) => run(context, calls, &shaped, &values),
            None => Ok(None),
        };
    }
    let keeping = prepared.kept();
    let (text, parameters) = (&prepared.statement().text, prepared.parameters());
    let Some(statement) = keeping.statement(text, parameters, prepared.literals()) else {
        return Ok(None);
    };
    if !is_kept(context, keeping, statement) && !keep(context, prepared, statement)? {
        return Ok(None);
    }
    let arguments = KeptArguments { prepared, values, is_argument: &statement.is_argument };
    match calls.call_in_queue(context, &statement.name, arguments) {
        Ok(rows) => {
            let columns = prepared.columns().map(|(name, _)| name.to_owned());
            Ok(Some(rows.named(columns)))
        }
        // It went before the call ran.
        Err(Error::Sql(error))
            if &error.sqlstate == b"42883" && !is_kept(context, keeping, statement) =>
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

/// Those of a statement's values that are arguments of the procedure that it is kept as, whose
/// parameters have the types of the statement's.
struct KeptArguments<'a> {
    prepared: &'a Prepared,
    values: &'a [Value],
    is_argument: &'a [bool],
}

impl IntoArguments for KeptArguments<'_> {
    fn count(&self) -> usize {
        self.is_argument.iter().filter(|is_argument| **is_argument).count()
    }

    fn bind_each(self, binder: &mut Binder<'_>) -> Result<(), SqlError> {
        let Self { prepared, values, is_argument } = self;
        let all = values.iter().zip(is_argument).enumerate();
        let types = prepared.parameters();
        all.filter(|(_, (_, is_argument))| **is_argument).try_for_each(|(at, (value, _))| {
            binder.value_or(value, |_, error| refused(at, types[at], error))
        })
    }
}

fn is_kept(context: &Context, keeping: &Keeping, statement: &KeptStatement) -> bool {
    // In this order: a schema that is newer than its number is only looked into again.
    let schema = &context.core.schema;
    let generation = schema.generation();
    if keeping.kept.get() == Some(generation) {
        return true;
    }
    let is_there = schema.current().procedure_named(&statement.name).is_some();
    keeping.kept.set(is_there.then_some(generation));
    is_there
}

/// Keeps a statement, if it is sent often enough and nothing is in the way; whether it is kept.
fn keep(context: &Context, prepared: &Prepared, statement: &KeptStatement) -> Result<bool, Error> {
    let (core, keeping) = (&context.core, prepared.kept());
    let generation = core.schema.generation();
    keeping.executions.set(keeping.executions.get().saturating_add(1));
    let is_sent_again = keeping.executions.get() >= EXECUTIONS_MIN;
    let has_room = || core.sources.read().statements() < KEPT_AT_ONCE;
    let is_worth_it = is_sent_again || prepared.draws() || has_room();
    if !is_worth_it || keeping.refused.get() == Some(generation) {
        return Ok(false);
    }
    let definition = apart(|| parse_one(&statement.source)).map_err(Error::from);
    match definition.and_then(|definition| define(context, &definition)) {
        Ok(_) => Ok(true),
        Err(Error::Sql(error)) if !error.is_refusal() => {
            tracing::debug!(%error, statement = &statement.name[1..], "a statement is not kept");
            keeping.refused.set(Some(core.schema.generation()));
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
