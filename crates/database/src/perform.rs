//! Statements up to where they need somebody to send or take rows, or to keep names.

use hotrow_base::panics;
use hotrow_base::value::Value;
use hotrow_sql::{Compiled, Copied, Naming};
use hotrow_transaction::outcome::SqlError;

use crate::copy::{CopyIn, CopyOut};
use crate::error::Error;
use crate::prepared::Prepared;
use crate::result::StatementResult;
use crate::run::Runner;

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
    runner: &mut Runner<'_>,
    prepared: &Prepared,
    values: &[Value],
) -> Result<Outcome, Error> {
    let _guard = panics::guard();
    if let Some(naming) = prepared.statement().naming() {
        // CLOSE is what clients send to clean up, in failed transactions, too.
        if !matches!(naming, Naming::Close(_)) {
            runner.transaction.refuse_failed()?;
        }
        prepared.check_count(values)?;
        return Ok(Outcome::Naming(naming.clone()));
    }
    if !prepared.statement().is_copy() {
        return runner.execute(prepared, values).map(Box::new).map(Outcome::Done);
    }
    let begun = begin_copy(runner, prepared);
    if begun.is_err() {
        runner.transaction.fail();
    }
    begun.map_err(|error| prepared.placed(error))
}

fn begin_copy(runner: &mut Runner<'_>, prepared: &Prepared) -> Result<Outcome, Error> {
    let context = runner.context;
    let running = context.interrupt.begin();
    let _entered = context.enter();
    runner.transaction.refuse_failed()?;
    let schema = &context.core.schema;
    match prepared.compile_now(schema)? {
        Some(Compiled::Copy(copy)) => {
            let place = prepared.statement().place;
            match copy.what {
                Copied::In { table, columns } => {
                    let copy =
                        CopyIn::begin(runner, (table, columns), copy.form, (place, running))?;
                    Ok(Outcome::CopyIn(Box::new(copy)))
                }
                Copied::Out { query } => {
                    let copy = CopyOut::of(runner, &query, copy.form, place)?;
                    Ok(Outcome::CopyOut(Box::new(copy)))
                }
            }
        }
        _ => Err(SqlError::new(b"XX000", "a COPY was compiled to something else").into()),
    }
}
