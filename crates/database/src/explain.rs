//! EXPLAIN of procedures and of calls.

use std::time::Duration;

use hotrow_base::clock;
use hotrow_base::value::Value;
use hotrow_engine::schema::{Quiet, Schema};
use hotrow_transaction::actions::{ActionPlanner, Batch, Wanted, explain_in_batch};
use hotrow_transaction::explain::explain_plan;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::plan::Plan;

use crate::arguments::bind_all;
use crate::context::Context;
use crate::definition;
use crate::error::{Error, advised};
use crate::lookup;
use crate::reply::Reply;
use crate::result::shown;
use crate::rows::Rows;

/// What planning knows of a procedure and, given arguments, of a call: which is planned at a quiet
/// point and not run.
pub(crate) fn explain(
    context: &Context,
    name: &str,
    arguments: Option<Vec<Value>>,
) -> Result<Rows, Error> {
    let core = &context.core;
    let mut seen = 0;
    if let Ok((_, compiled)) = lookup::procedure_named(&core.schema.current(), name) {
        context.refuse_call(&core.schema.current().catalog, &compiled.procedure)?;
    }
    let text = match arguments {
        None => definition::explain(&core.schema.current(), name)?.0,
        Some(arguments) => {
            let quiet = quiet_to_plan(context, name)?;
            let schema = quiet.schema();
            let (id, compiled) = lookup::procedure_named(&schema, name)?;
            let mut invocation = Invocation::at(clock::now_us());
            invocation.procedure = id;
            bind_all(&compiled.procedure, arguments, &mut invocation)?;
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
    context.settle(Reply::seen(Ok(shown("plan", text.lines())), seen))
}

/// Times, and pauses between them, that a quiet point without open changes is looked for.
const TRIES_TO_PLAN: u32 = 50;
const PAUSE_TO_PLAN: Duration = Duration::from_millis(20);

/// A quiet point to plan a call at, beside open transactions; where planning looks at rows, there
/// are none that an open transaction has changed and may take back.
fn quiet_to_plan<'a>(context: &'a Context, name: &str) -> Result<Quiet<'a>, Error> {
    let core = &context.core;
    let looks = |schema: &Schema| -> Result<bool, SqlError> {
        Ok(lookup::procedure_named(schema, name)?.1.plan.needs_reconnaissance)
    };
    for _ in 0..TRIES_TO_PLAN {
        let quiet = core.quiet_beside()?;
        if quiet.open_changes() == 0 || !looks(&quiet.schema())? {
            return Ok(quiet);
        }
        drop(quiet);
        context.interrupt.sleep(PAUSE_TO_PLAN).map_err(SqlError::from)?;
    }
    let message = "open transactions have changed rows that planning may look at".to_owned();
    Err(advised(b"55006", message, "Try again when they have ended.").into())
}
