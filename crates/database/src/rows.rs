//! Result rows, and Rust types read from them.

use std::sync::Arc;

use hotrow_base::decimal::Decimal;
use hotrow_base::ids::ProcedureId;
use hotrow_base::memory::{Charge, MemoryAccount};
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::{FromValue, Value, ValueError};
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::outcome::{self, Notice};
use hotrow_transaction::program::ROW_COUNT;

use crate::config::Durability;
use crate::error::Error;

/// The rows that a call or statement returned.
///
/// ```
/// # let db = hotrow::Database::open_in_memory(hotrow::Config::default().threads(1))?;
/// # let session = db.session();
/// # session.execute("CREATE TABLE t (id bigint PRIMARY KEY, name text);
/// #     INSERT INTO t VALUES (1, 'one'); INSERT INTO t VALUES (2, NULL);")?;
/// let results = session.execute("SELECT id, name FROM t ORDER BY id")?;
/// let rows: Vec<(i64, Option<String>)> = results[0].rows.clone().all()?;
/// assert_eq!(rows, [(1, Some("one".to_owned())), (2, None)]);
/// # Ok::<(), hotrow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rows {
    columns: Arc<[String]>,
    /// row after row
    values: Vec<Value>,
    touched: u64,
    durability: Durability,
    notices: Vec<Notice>,
    /// what many values, or long ones, take of their statement's memory
    charge: Charge,
}

/// Who pays for their memory tells no rows apart.
impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        let facts = |rows: &Self| (rows.touched, rows.durability);
        self.columns == other.columns
            && self.values == other.values
            && facts(self) == facts(other)
            && self.notices == other.notices
    }
}

impl Rows {
    /// With another name for its only column, of such a type. What a function gives that gives
    /// nothing is a row, too: an empty text. Rows become the column's values; one without any value
    /// is NULL.
    pub(crate) fn labelled(self, label: &str, types: &[SqlType]) -> Self {
        let columns: Arc<[String]> = Arc::new([label.to_owned()]);
        match (self.columns.len(), types) {
            (0, _) => Self { columns, values: vec![Value::Text(String::new())], ..self },
            (1, _) => Self { columns, ..self },
            (width, [SqlType::Scalar(DataType::Composite(of))]) => {
                let row = |fields: &[Value]| match fields.iter().all(|field| *field == Value::Null)
                {
                    true => Value::Null,
                    false => Value::Composite(*of, fields.to_vec()),
                };
                let values = self.values.chunks(width).map(row).collect();
                Self { columns, values, ..self }
            }
            _ => self,
        }
    }

    /// With other names for its columns, if there are as many.
    pub(crate) fn named(self, names: impl ExactSizeIterator<Item = String>) -> Self {
        match self.columns.len() == names.len() {
            true => Self { columns: names.collect(), ..self },
            false => self,
        }
    }

    /// Some of its rows, by number.
    pub(crate) fn picked(&self, rows: impl Iterator<Item = usize>) -> Self {
        let width = self.columns.len();
        let mut values = Vec::new();
        for row in rows {
            values.extend_from_slice(&self.values[row * width..(row + 1) * width]);
        }
        Self { columns: Arc::clone(&self.columns), values, ..Self::default() }
    }
}

impl Default for Rows {
    fn default() -> Self {
        Self::new(Arc::new([]), Vec::new(), 0)
    }
}

impl Rows {
    /// As [`Rows::of_frame`], with names that are not shared with other results.
    pub(crate) fn of_program(frame: &mut Frame, program: &Program) -> Self {
        let names = program.result.iter().map(|column| column.name.clone()).collect();
        Self::of_frame(names, frame, program)
    }

    /// Takes the result out of a frame, whose memory is the caller's to reuse.
    pub(crate) fn of_frame(columns: Arc<[String]>, frame: &mut Frame, program: &Program) -> Self {
        let types = program.result.iter().map(|column| column.data_type).cycle();
        let heap = frame.heap();
        let datums = frame.result_datums().iter().zip(types);
        let values = datums.map(|(&datum, of)| Value::from_datum(datum, of, heap)).collect();
        let touched = frame.slot(ROW_COUNT).as_int() as u64;
        let (notices, charge) = (frame.notices().to_vec(), frame.take_answer());
        frame.release();
        Self { notices, charge, ..Self::new(columns, values, touched) }
    }

    /// As they are, charged as told.
    pub(crate) fn charged(self, charge: Charge) -> Self {
        Self { charge, ..self }
    }

    /// Has them be charged to another account: a session's, where they outlive their statement.
    pub fn move_to(&mut self, account: &Arc<MemoryAccount>) {
        if self.charge.bytes() > 0 {
            self.charge.move_to(account);
        }
    }

    /// Rows of some values, row after row.
    pub(crate) fn new(columns: Arc<[String]>, values: Vec<Value>, touched: u64) -> Self {
        let (durability, notices) = (Durability::Memory, Vec::new());
        Self { columns, values, touched, durability, notices, charge: Charge::default() }
    }

    /// What was said, to take from it what is nobody's to hear.
    pub(crate) fn notices_mut(&mut self) -> &mut Vec<Notice> {
        &mut self.notices
    }

    /// The values, row after row.
    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }

    /// The values, and what they are charged to.
    pub(crate) fn into_parts(self) -> (Vec<Value>, Charge) {
        (self.values, self.charge)
    }

    /// About how many bytes of memory the values take.
    pub fn bytes(&self) -> usize {
        self.values.iter().map(Value::bytes).sum()
    }

    /// Column names; empty when nothing is returned.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.columns.len()).unwrap_or(0)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Rows that an INSERT, UPDATE or DELETE touched; of a call, those of its last statement.
    pub fn touched(&self) -> u64 {
        self.touched
    }

    /// What the call said by RAISE NOTICE and the like, from the first to the last; a call that
    /// failed has it in its [error](outcome::SqlError::notices).
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Without what was said.
    pub(crate) fn untold(self) -> Self {
        Self { notices: Vec::new(), ..self }
    }

    /// What outlives what: how safe the transaction and all it saw were when this was returned.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    pub(crate) fn with_durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// The rows, each as its values.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[Value]> {
        self.values.chunks_exact(self.columns.len().max(1))
    }

    /// The only row. Fails when there are none or several, or when its values are not a `T`.
    pub fn one<T: FromRow>(self) -> Result<T, Error> {
        let rows = self.len();
        self.optional()?.ok_or_else(|| Error::Result(format!("{rows} rows, not one")))
    }

    /// The only row or none. Fails when there are several.
    pub fn optional<T: FromRow>(self) -> Result<Option<T>, Error> {
        if self.len() > 1 {
            return Err(Error::Result(format!("{} rows, not one", self.len())));
        }
        Ok(self.all()?.pop())
    }

    /// All rows.
    pub fn all<T: FromRow>(self) -> Result<Vec<T>, Error> {
        let (width, rows) = (self.columns.len(), self.len());
        if rows > 0 && width != T::WIDTH {
            let wanted = T::WIDTH;
            return Err(Error::Result(format!("{width} columns, not {wanted}")));
        }
        let mut values = self.values.into_iter();
        (0..rows).map(|_| T::from_row(&mut values).map_err(Error::from)).collect()
    }
}

impl From<outcome::Rows> for Rows {
    fn from(rows: outcome::Rows) -> Self {
        let values = rows.rows.into_iter().flatten().collect();
        let notices = rows.notices;
        Self { notices, ..Self::new(rows.columns.into(), values, rows.touched) }
    }
}

impl From<Rows> for outcome::Rows {
    fn from(rows: Rows) -> Self {
        Self {
            columns: rows.columns.to_vec(),
            rows: rows.iter().map(<[Value]>::to_vec).collect(),
            touched: rows.touched,
            notices: rows.notices,
        }
    }
}

/// Names of result columns by procedure, made once and shared by all its results.
#[derive(Default)]
pub(crate) struct ColumnNames {
    names: Vec<Option<Arc<[String]>>>,
}

impl ColumnNames {
    /// The names of `program`'s columns, where `program` is the code of `procedure`.
    pub(crate) fn of(&mut self, procedure: ProcedureId, program: &Program) -> Arc<[String]> {
        if self.names.len() <= procedure.index() {
            self.names.resize(procedure.index() + 1, None);
        }
        let wanted = program.result.iter().map(|column| &column.name);
        match &self.names[procedure.index()] {
            // Compared each time: CREATE OR REPLACE may have changed them.
            Some(names) if names.iter().eq(wanted.clone()) => Arc::clone(names),
            _ => {
                let names: Arc<[String]> = wanted.cloned().collect();
                self.names[procedure.index()] = Some(Arc::clone(&names));
                names
            }
        }
    }
}

/// A Rust type that a row can be read as: a value, or a tuple of up to 12 values. A value is any
/// [`FromValue`]: integers, `f64`, `bool`, `String`, [`Decimal`], `Vec<u8>`, `Option` of these for
/// columns that may be NULL, and [`Value`] for anything.
pub trait FromRow: Sized {
    /// Columns it is made of.
    const WIDTH: usize;

    /// Takes `WIDTH` values, which are there, and converts them.
    fn from_row(values: &mut std::vec::IntoIter<Value>) -> Result<Self, ValueError>;
}

fn next<T: FromValue>(values: &mut std::vec::IntoIter<Value>) -> Result<T, ValueError> {
    T::from_value(values.next().unwrap_or(Value::Null))
}

macro_rules! from_single_value {
    ($($type:ty),*) => {
        $(impl FromRow for $type {
            const WIDTH: usize = 1;
            fn from_row(values: &mut std::vec::IntoIter<Value>) -> Result<Self, ValueError> {
                next(values)
            }
        })*
    };
}

from_single_value!(bool, i16, i32, i64, f32, f64, String, Decimal, Vec<u8>, [u8; 16], Value);

impl<T: FromValue> FromRow for Option<T> {
    const WIDTH: usize = 1;

    fn from_row(values: &mut std::vec::IntoIter<Value>) -> Result<Self, ValueError> {
        next(values)
    }
}

macro_rules! from_tuple {
    ($($width:literal: $($name:ident)+;)*) => {
        $(impl<$($name: FromValue),+> FromRow for ($($name,)+) {
            const WIDTH: usize = $width;
            fn from_row(values: &mut std::vec::IntoIter<Value>) -> Result<Self, ValueError> {
                Ok(($(next::<$name>(values)?,)+))
            }
        })*
    };
}

from_tuple! {
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
    7: A B C D E F G;
    8: A B C D E F G H;
    9: A B C D E F G H I;
    10: A B C D E F G H I J;
    11: A B C D E F G H I J K;
    12: A B C D E F G H I J K L;
}

#[cfg(test)]
mod tests;
