//! What the operators of a query hold, and what it is charged to.

use std::ops::Range;
use std::sync::Arc;

use hotrow_base::interrupt::Interrupt;
use hotrow_base::interrupt::current::Pace;
use hotrow_base::memory::Charge;
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;

use crate::order::key_of;
use crate::{Row, Set};

/// What a query may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// bytes that the rows of one operator take, some 40 for each value and those of texts
    pub bytes_max: usize,
    /// may end the query early, and pays for what its operators hold together; none: nobody
    pub interrupt: Option<Arc<Interrupt>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes_max: 1 << 30, interrupt: None }
    }
}

/// The first room of a list.
const ITEMS_MIN: usize = 8;

/// What one operator holds, charged before it is allocated.
#[derive(Debug)]
pub(crate) struct Held {
    charge: Charge,
    bytes_max: usize,
}

impl Limits {
    /// Nothing, yet.
    pub(crate) fn held(&self) -> Held {
        Held { charge: charge_of(self.interrupt.as_ref()), bytes_max: self.bytes_max }
    }
}

/// A charge of nothing, to the account of whoever may be interrupted so; none: to nobody.
pub(crate) fn charge_of(interrupt: Option<&Arc<Interrupt>>) -> Charge {
    interrupt.map_or_else(Charge::default, |interrupt| Charge::new(interrupt.memory()))
}

impl Held {
    /// More is held.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), SqlError> {
        if self.bytes().saturating_add(bytes) > self.bytes_max {
            return Err(self.too_much());
        }
        Ok(self.charge.add(bytes)?)
    }

    /// Makes room for so many items more in a list, charged with its capacity.
    pub(crate) fn room<T>(&mut self, list: &mut Vec<T>, more: usize) -> Result<(), SqlError> {
        if list.capacity() - list.len() >= more { Ok(()) } else { self.grow(list, more) }
    }

    #[cold]
    fn grow<T>(&mut self, list: &mut Vec<T>, more: usize) -> Result<(), SqlError> {
        let bytes = |items: usize| items.saturating_mul(size_of::<T>());
        let (needed, before) = (list.len() + more, list.capacity());
        let generous = needed.max(before + before / 2).max(ITEMS_MIN);
        // While the old one is copied there are both.
        let mut room = generous;
        if self.add(bytes(generous)).is_err() {
            room = needed;
            self.add(bytes(room))?;
        }
        list.reserve_exact(room - list.len());
        self.charge.subtract(bytes(before));
        Ok(())
    }

    /// So much is held.
    pub(crate) fn set(&mut self, bytes: usize) -> Result<(), SqlError> {
        match bytes.checked_sub(self.bytes()) {
            Some(more) => self.add(more),
            None => Ok(self.charge.set(bytes)?),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.charge.bytes() as usize
    }

    /// The charge, for whoever keeps the rows.
    pub(crate) fn into_charge(self) -> Charge {
        self.charge
    }

    #[cold]
    fn too_much(&self) -> SqlError {
        let mebibytes = self.bytes_max >> 20;
        let message = format!("the query needs more than {mebibytes} MiB for rows in between");
        let mut error = SqlError::new(b"53200", message);
        error.hint = Some("Narrow it with WHERE, or compute it in parts.".to_owned());
        error
    }
}

/// Rows that an operator keeps.
pub(crate) struct Kept {
    pub(crate) rows: Vec<Row>,
    pub(crate) held: Held,
}

impl Kept {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { rows: Vec::new(), held: limits.held() }
    }

    pub(crate) fn push(&mut self, row: Row) -> Result<(), SqlError> {
        self.held.room(&mut self.rows, 1)?;
        self.held.add(bytes_in(&row))?;
        self.rows.push(row);
        Ok(())
    }
}

/// Rows that were met before, by their values.
pub(crate) struct Seen {
    keys: Set,
    held: Held,
}

impl Seen {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { keys: Set::default(), held: limits.held() }
    }

    /// Whether values are new.
    pub(crate) fn insert<'v>(
        &mut self,
        values: impl IntoIterator<Item = &'v Value>,
    ) -> Result<bool, SqlError> {
        let key = key_of(values);
        if self.keys.contains(&key) {
            return Ok(false);
        }
        self.held.add(bytes_of_key(&key))?;
        self.keys.insert(key);
        Ok(true)
    }
}

/// Values that are made, one for each row of a partition.
pub(crate) struct Made<'h> {
    pub(crate) values: Vec<Value>,
    held: &'h mut Held,
}

impl<'h> Made<'h> {
    pub(crate) fn new(held: &'h mut Held) -> Self {
        Self { values: Vec::new(), held }
    }

    /// One for each of some rows.
    pub(crate) fn extend(
        &mut self,
        rows: Range<usize>,
        value: impl Fn(usize) -> Value,
    ) -> Result<(), SqlError> {
        let mut pace = Pace::default();
        for at in rows {
            let value = value(at);
            pace.went(value.bytes()).map_err(SqlError::from)?;
            self.push(value)?;
        }
        Ok(())
    }

    pub(crate) fn push(&mut self, value: Value) -> Result<(), SqlError> {
        self.held.add(bytes_of_value(&value))?;
        self.values.push(value);
        Ok(())
    }
}

/// What a row takes, in a list or alone.
pub(crate) fn bytes_of(row: &Row) -> usize {
    size_of::<Row>() + bytes_in(row)
}

/// What a row takes beside its place in a list. What has grown has more room than it needs.
pub(crate) fn bytes_in(row: &Row) -> usize {
    let spare = (row.capacity() - row.len()) * size_of::<Value>();
    spare + row.iter().map(bytes_of_value).sum::<usize>()
}

pub(crate) fn bytes_of_value(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::Text(text) | Value::CiText(text) | Value::Json(text) | Value::Jsonb(text) => {
                text.capacity()
            }
            Value::Bytea(bytes) => bytes.capacity(),
            Value::Range(range) => range.bytes(),
            Value::Encoded(value) => value.bytes().len(),
            Value::Array(values) | Value::Shaped(_, values) | Value::Composite(_, values) => {
                let spare = (values.capacity() - values.len()) * size_of::<Value>();
                spare + values.iter().map(bytes_of_value).sum::<usize>()
            }
            _ => 0,
        }
}

/// What a key takes in a hash table.
pub(crate) fn bytes_of_key(key: &[u8]) -> usize {
    size_of::<(Vec<u8>, usize)>() + key.len()
}
