//! Definitions of sessions: made beside calls, and put in force at a quiet point.
//!
//! Role         compiles a definition, and what it makes of the schema, while calls run on; keeps
//!              them out only to put that in force, and to look after rows that it concerns
//! States       made of the schema in force -> quiet point -> put in force, if that schema is still
//!              the one; else made once more, and after [`TRIES_BESIDE`] at the quiet point
//! Invariants   I1 one definition is made at a time ([`Core::turn_to_define`]), so that what is
//!              made is hardly ever made in vain; what comes in between is a transaction's first
//!              use of a table
//! Concurrency  the turn is taken before a quiet point is asked for, and kept over it. `sources` is
//!              read without a quiet point by who has the turn, and by reports; it is written at a
//!              quiet point by who has the turn

use std::time::Duration;

use hotrow_base::clock;
use hotrow_base::interrupt::Interruption;
use hotrow_engine::journal::text::TextEntry;
use hotrow_engine::schema::{Purpose, Quiet, Schema};
use hotrow_sql::{ScriptStatement, compile_for, refuse_not_entitled, with_role};
use hotrow_transaction::catalog::BOOTSTRAP;
use hotrow_transaction::outcome::{SqlError, apart};
use parking_lot::MutexGuard;

use crate::context::Context;
use crate::core::Core;
use crate::definition::{Next, make};
use crate::error::Error;
use crate::lookup::Registered;
use crate::quietly::put_in_force;
use crate::rows::Rows;

/// How often a definition is made beside calls before it is made at a quiet point.
const TRIES_BESIDE: u32 = 3;
/// Between two looks whether the statement that waits for its turn is to go on.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Executes a definition of a session.
pub(crate) fn define(context: &Context, statement: &ScriptStatement) -> Result<Rows, Error> {
    let core = &context.core;
    core.refuse_unlogged()?;
    let _turn = core.turn_to_define(context)?;
    let now_us = clock::now_us();
    // What the database does by itself is its maker's.
    let role = match statement.is_own() {
        true => None,
        false => context.role().clone(),
    };
    let text = with_role(&statement.text, role.as_deref());
    let entry = TextEntry { now_us, place: statement.place, text: &text };
    let made_of = |schema: &Schema| -> Result<Option<Next>, SqlError> {
        apart(|| {
            let (catalog, registered) = (&schema.catalog, Registered(schema));
            let definition = compile_for(catalog, &registered, statement, role.as_ref())?;
            let asked = (statement, &definition);
            refuse_not_entitled(catalog, &registered, role.as_deref(), asked)
                .map_err(|error| of_database(error, &context.identity().database))?;
            make(schema, &core.sources.read(), definition, &entry)
        })
    };
    // A refusal tells of definitions that are in force, and so does that there is nothing to do.
    let told = |found: Result<Option<Next>, SqlError>| {
        context.settle_found(found.map(|_| Rows::default()).map_err(Error::from))
    };
    for _ in 0..TRIES_BESIDE {
        // In this order: a schema that is newer than its number is only made of once more.
        let generation = core.schema.generation();
        let next = match made_of(&core.schema.current()) {
            Ok(Some(next)) => next,
            found => return told(found),
        };
        let quiet = core.quiet_unless(Purpose::DEFINITION, Some(&context.interrupt))?;
        if core.schema.generation() == generation {
            return finish(context, quiet, next, &entry);
        }
    }
    let quiet = core.quiet_unless(Purpose::DEFINITION, Some(&context.interrupt))?;
    match made_of(&quiet.schema()) {
        Ok(Some(next)) => finish(context, quiet, next, &entry),
        found => {
            drop(quiet);
            told(found)
        }
    }
}

/// Puts in force what was made of the schema of this quiet point, and ends that.
fn finish(
    context: &Context,
    quiet: Quiet<'_>,
    next: Next,
    entry: &TextEntry<'_>,
) -> Result<Rows, Error> {
    let core = &context.core;
    let reply = {
        let (mut sources, mut alone) = (core.sources.write(), core.alone.lock());
        alone.heed(Some(&context.interrupt));
        let reply = put_in_force(&quiet, &mut sources, &mut alone, next, entry);
        alone.heed(None);
        reply
    };
    drop(quiet);
    context.settle(reply)
}

/// An error that names the database, of which the catalog does not know what clients call it.
fn of_database(mut error: SqlError, name: &str) -> SqlError {
    if error.message == format!("permission denied for database {BOOTSTRAP}") {
        error.message = format!("permission denied for database {name}");
    }
    error
}

impl Core {
    /// Waits until no other definition is being made, as for a lock.
    fn turn_to_define(&self, context: &Context) -> Result<MutexGuard<'_, ()>, Error> {
        let interrupt = &context.interrupt;
        let deadline = interrupt.lock_deadline();
        loop {
            if let Some(turn) = self.definer.try_lock_for(LOOK_EVERY) {
                return Ok(turn);
            }
            let check: Result<(), Interruption> = interrupt.check_wait(deadline);
            check.map_err(SqlError::from)?;
        }
    }
}
