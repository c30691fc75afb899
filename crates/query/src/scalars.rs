//! Values computed from rows, by the interpreter that runs procedures.

use std::sync::Arc;

use crate::plan::{Scalar, Scalars};
use hotrow_base::interrupt::Interrupt;
use hotrow_base::value::Value;
use hotrow_transaction::access::NoRows;
use hotrow_transaction::frame::SpareFrame;
use hotrow_transaction::interpret::{self, NoHook};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::SlotId;

use crate::Row;

/// Where a value comes from.
#[derive(Clone, Copy)]
pub(crate) enum From {
    /// this value of the row
    Row(usize),
    /// rows around
    Around(SlotId),
}

/// Scalars, and where in rows of a layout their inputs are.
pub(crate) struct Reader<'q> {
    scalars: &'q Scalars,
    plain: Vec<Option<From>>,
    inputs: Vec<From>,
}

/// What runs programs.
pub(crate) struct Calculator {
    frame: SpareFrame,
    invocation: Invocation,
    /// values of slots of rows around, and of parameters
    pub(crate) around: Vec<Value>,
}

impl From {
    /// Where a slot's value is for rows of a layout.
    pub(crate) fn of(slot: SlotId, layout: &[SlotId]) -> Self {
        layout.iter().position(|known| *known == slot).map_or(Self::Around(slot), Self::Row)
    }

    /// The value there.
    pub(crate) fn value<'v>(self, row: &'v [Value], around: &'v [Value]) -> &'v Value {
        match self {
            Self::Row(at) => &row[at],
            Self::Around(slot) => &around[slot.index()],
        }
    }
}

impl<'q> Reader<'q> {
    pub(crate) fn new(scalars: &'q Scalars, layout: &[SlotId]) -> Self {
        let plain = scalars.values.iter().map(|value| match value {
            Scalar::Slot(slot) => Some(From::of(*slot, layout)),
            Scalar::Computed(_) => None,
        });
        let inputs = scalars.program.iter().flat_map(|program| &program.inputs);
        let inputs = inputs.map(|slot| From::of(*slot, layout)).collect();
        Self { scalars, plain: plain.collect(), inputs }
    }
}

impl Calculator {
    pub(crate) fn new(slots: usize, now_us: i64, interrupt: Option<Arc<Interrupt>>) -> Self {
        let invocation = Invocation::at(now_us); // whoever runs a query has entered its zone
        let mut frame = SpareFrame::take();
        frame.set_interrupt(interrupt);
        Self { frame, invocation, around: vec![Value::Null; slots] }
    }

    /// Appends the values for a row.
    pub(crate) fn append(
        &mut self,
        reader: &Reader<'_>,
        row: &[Value],
        values: &mut Row,
    ) -> Result<(), SqlError> {
        if let Some(program) = &reader.scalars.program {
            let arguments = &mut self.invocation.arguments;
            arguments.clear();
            for (input, sql_type) in reader.inputs.iter().zip(&program.types) {
                arguments.push_value(*sql_type, input.value(row, &self.around))?;
            }
            self.frame.begin(&program.program, &self.invocation);
            let ran =
                interpret::run(&program.program, 0, &mut self.frame, &mut NoRows, &mut NoHook);
            if ran.is_err() {
                return Err(self.frame.take_error().unwrap_or_else(|| {
                    SqlError::new(b"53200", "an expression needs too much memory")
                }));
            }
        }
        for (value, plain) in reader.scalars.values.iter().zip(&reader.plain) {
            values.push(match (value, plain) {
                (_, Some(from)) => from.value(row, &self.around).clone(),
                (Scalar::Computed(at), None) => {
                    let program = &reader.scalars.program.as_ref().expect("it computed").program;
                    self.frame.result_value(*at, program.result[*at].data_type)?
                }
                (Scalar::Slot(_), None) => Value::Null,
            });
        }
        Ok(())
    }

    /// The values for a row.
    pub(crate) fn values(&mut self, reader: &Reader<'_>, row: &[Value]) -> Result<Row, SqlError> {
        let mut values = Row::with_capacity(reader.plain.len());
        self.append(reader, row, &mut values)?;
        Ok(values)
    }

    /// Whether a condition is true.
    pub(crate) fn is_true(&mut self, reader: &Reader<'_>, row: &[Value]) -> Result<bool, SqlError> {
        Ok(matches!(self.values(reader, row)?.as_slice(), [Value::Bool(true)]))
    }
}
