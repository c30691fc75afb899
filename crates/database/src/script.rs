//! Scripts as sessions read them: statement by statement, or one that is known by its shape.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use hotrow_base::sync::Latch;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_sql as sql;

use crate::prepared::Prepared;

/// The statements of a script that a session has read ([`crate::Session::parse`]).
#[derive(Debug)]
pub struct Script {
    pub(crate) read: sql::Script,
    /// the only one, where it was known
    pub(crate) known: Option<SentStatement>,
}

impl Script {
    pub(crate) fn of(known: SentStatement) -> Self {
        Self { read: sql::Script::default(), known: Some(known) }
    }

    /// How many statements are left.
    pub fn len(&self) -> usize {
        self.read.len() + usize::from(self.known.is_some())
    }

    /// Whether it is one statement that was compiled before, for a text of the same shape.
    pub fn is_known(&self) -> bool {
        self.known.is_some()
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Where a compiled statement is kept while nobody runs it.
pub(crate) type Home = Arc<Latch<Option<Box<Prepared>>>>;

/// A statement of a script, for [`crate::Session::perform_sent`]: compiled by itself, or found by
/// the shape of its text, with the values of its literals.
pub struct SentStatement {
    /// taken when it is dropped, only
    prepared: Option<Box<Prepared>>,
    home: Option<Home>,
    values: Vec<Value>,
}

impl SentStatement {
    pub(crate) fn own(prepared: Prepared) -> Self {
        Self { prepared: Some(Box::new(prepared)), home: None, values: Vec::new() }
    }

    /// One that goes home when it is dropped.
    pub(crate) fn found(prepared: Box<Prepared>, home: Home, values: Vec<Value>) -> Self {
        Self { prepared: Some(prepared), home: Some(home), values }
    }

    /// Takes a text and the values of its literals; none where one does not convert to the
    /// parameter that it is.
    pub(crate) fn fill(&mut self, text: &str, values: Vec<Value>) -> Option<()> {
        let prepared = self.prepared.as_mut()?;
        prepared.set_text(text);
        let mut types = prepared.parameters().iter().zip(&values);
        self.values = match types.all(|(sql_type, value)| is_of_type(value, *sql_type)) {
            true => values,
            false => prepared.bound(&values).ok()?,
        };
        Some(())
    }

    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }
}

impl Deref for SentStatement {
    type Target = Prepared;

    fn deref(&self) -> &Prepared {
        self.prepared.as_ref().expect("it is taken when this is dropped")
    }
}

impl Drop for SentStatement {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            *home.lock() = self.prepared.take();
        }
    }
}

impl fmt::Debug for SentStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SentStatement").field("prepared", &self.prepared).finish_non_exhaustive()
    }
}

/// Whether a value is of a type as it stands.
fn is_of_type(value: &Value, sql_type: SqlType) -> bool {
    matches!(
        (value, sql_type),
        (Value::Null, _)
            | (Value::Int(_), SqlType::Scalar(DataType::Integer))
            | (Value::BigInt(_), SqlType::Scalar(DataType::BigInt))
            | (Value::Text(_), SqlType::Scalar(DataType::Text))
    )
}
