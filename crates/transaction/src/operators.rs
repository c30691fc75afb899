//! Queries of any shape inside a procedure, as far as the procedure is concerned.
//!
//! Role         the interpreter knows accesses to one table; joins, groups, windows and the like
//!              are computed by somebody else (`hotrow-query`), who stands above this crate and is
//!              called through [`Operators`]. Rows of tables come from the procedure's own accesses
//!              all the same ([`crate::program::OperatorRead`]), so that they are planned,
//!              protected and checked as all others are
//! Invariants   I1 what operators give depends on nothing but the values they take, the call's time
//!              and the rows that they read: the same call planned twice has the same plan, and one
//!              that is replayed from a log of calls does the same

use std::fmt;
use std::sync::Arc;

use hotrow_base::conventions::Conventions;
use hotrow_base::interrupt::Interrupt;
use hotrow_base::value::Value;

use crate::outcome::{SqlError, Stop};

/// What computes the rows of a query.
pub trait Operators: fmt::Debug + Send + Sync {
    /// Computes all rows: value after value. `values` are those of the slots that it
    /// [takes](crate::program::OperatorLoop::takes).
    ///
    /// # Errors
    ///
    /// See [`Unfinished`].
    fn rows(
        &self,
        values: &[Value],
        around: &Around,
        read: &mut ReadRows<'_>,
    ) -> Result<Vec<Value>, Unfinished>;
}

/// Makes the read with a number, its parameters set to these values: its rows, value after value.
pub type ReadRows<'a> = dyn FnMut(usize, &[Value]) -> Result<Vec<Value>, Stop> + 'a;

/// What a call gives its operators beside values.
#[derive(Clone, Debug)]
pub struct Around {
    /// the call's time
    pub now_us: i64,
    /// of the session that makes the call
    pub conventions: Conventions,
    /// bytes that the rows of one operator may take
    pub bytes_max: usize,
    /// rows that operators may look at, all together; those that reads visit count by themselves
    pub steps: u64,
    /// may end the call early, and pays for what operators hold; none: nobody
    pub interrupt: Option<Arc<Interrupt>>,
}

/// Why there are no rows.
#[derive(Debug)]
pub enum Unfinished {
    /// a read stopped
    Stopped(Stop),
    /// operators have looked at more rows than they may
    TooManySteps,
    /// an operator failed
    Failed(Box<SqlError>),
}

impl From<SqlError> for Unfinished {
    fn from(error: SqlError) -> Self {
        Self::Failed(Box::new(error))
    }
}
