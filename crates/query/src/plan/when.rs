//! Conditions of steps: those of parts of expressions that are not for all rows.

use hotrow_base::value::Value;
use hotrow_transaction::program::SlotId;

/// A condition of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct When {
    /// what it asks
    pub slot: SlotId,
    /// how that has to be
    pub test: Test,
}

/// How a value has to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// true
    True,
    /// false or NULL
    NotTrue,
    /// true or NULL
    NotFalse,
    /// NULL
    Null,
}

impl Test {
    /// Whether a value is so.
    pub(crate) fn holds(self, value: &Value) -> bool {
        match self {
            Self::True => *value == Value::Bool(true),
            Self::NotTrue => *value != Value::Bool(true),
            Self::NotFalse => *value != Value::Bool(false),
            Self::Null => value.is_null(),
        }
    }
}
