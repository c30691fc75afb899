//! Functions of the session in procedures: refused, but for advisory locks of the transaction.
//!
//! Role         calls are serializable, so that of two which take the same lock of a transaction
//!              neither sees the other half done: the lock is theirs without more. It does not have
//!              them wait for sessions that hold it, of which CREATE FUNCTION tells

use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_query::{AdvisoryLevel, AdvisoryStep, HostFunction, SystemFunction};
use hotrow_transaction::program::{Expr, Place};

use crate::error::{Result, unsupported};
use crate::functions::{Evaluation, FunctionRow, PASS_VALUE};
use crate::path::truth;
use crate::scope::Compiler;
use crate::typing::constant;

/// What CREATE FUNCTION says of such a lock.
const TOLD: &str = "advisory locks of transactions have no effect in routines: calls are \
                    serializable, and do not wait for sessions that hold such a lock";

impl Compiler<'_> {
    /// What a function of the session is where there is none: 0A000 for what a replay of the log
    /// would not find again.
    pub(crate) fn without_session(&mut self, row: &FunctionRow, place: Place) -> Result<Expr> {
        if let Evaluation::Host(HostFunction::System(SystemFunction::Advisory(of))) = row.evaluation
            && of.level == AdvisoryLevel::Transaction
            && self.is_procedure
            && !self.ad_hoc
        {
            self.calls.told.insert(TOLD);
            return Ok(match of.step {
                AdvisoryStep::Try => truth(true),
                _ => constant(Value::Text(String::new()), DataType::Text),
            });
        }
        Err(unsupported(place, format!("function {}()", row.name), PASS_VALUE))
    }
}
