//! Queries of any shape: operators are called, and call back for the rows of tables.

use hotrow_base::datum::Datum;
use hotrow_base::panics;
use hotrow_base::shape::DIMENSIONS_MAX;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;

use crate::access::RecordAccess;
use crate::bytecode::{GivesCode, OperatorCode, OperatorReadCode, Program};
use crate::frame::{Frame, Machine};
use crate::operators::{Around, Unfinished};
use crate::outcome::{Stop, apart};
use crate::program::{NOW, RowSource};

use super::stop::stop_machine;
use super::{Hook, dynamic, forgive, run_inside};
use crate::fault::Fault;

/// Computes the rows of a loop. Where errors are forgiven, what fails has none.
#[inline(never)]
pub(super) fn compute<A: RecordAccess, H: Hook>(
    program: &Program,
    number: u16,
    at: usize,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
) -> Result<(), Stop> {
    let code = &program.operators[usize::from(number)];
    let computed = match rows((program, at), code, frame, access, hook) {
        Ok((rows, touched)) => keep(code, rows, touched, frame).map_err(|fault| {
            stop_machine(program, at, &mut frame.machine, fault) // of memory
        }),
        Err(Unfinished::Stopped(stop)) => Err(stop),
        Err(Unfinished::TooManySteps) => {
            Err(stop_machine(program, at, &mut frame.machine, Fault::StepBudget))
        }
        Err(Unfinished::Failed(error)) => {
            Err(stop_machine(program, at, &mut frame.machine, Fault::Error(error)))
        }
    };
    match computed {
        Err(stop) if H::FORGIVES && forgive::visit(stop, &mut frame.machine) => {
            frame.row_sets[code.rows.rows.0 as usize].datums.clear();
            frame.row_sets[code.rows.rows.0 as usize].begin();
            frame.touched = 0;
            Ok(())
        }
        computed => computed,
    }
}

fn rows<A: RecordAccess, H: Hook>(
    (program, at): (&Program, usize),
    code: &OperatorCode,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
) -> Result<(Vec<Value>, u64), Unfinished> {
    let takes = code.takes.iter();
    let values: Vec<_> = takes.map(|&(slot, of)| frame.machine.value(slot, of)).collect();
    let operators = match &code.source {
        RowSource::Operators(operators) => operators,
        RowSource::Dynamic(statement) => {
            return dynamic::execute((program, at), &**statement, &values, frame, access, hook);
        }
    };
    let around = Around {
        now_us: frame.slot(NOW).as_int(),
        conventions: frame.machine.conventions,
        bytes_max: frame.machine.rows_max(),
        steps: frame.machine.steps(),
        interrupt: frame.machine.interrupt().cloned(),
    };
    let mut read = |number: usize, values: &[Value]| {
        let _guard = panics::guard(); // rows of the engine
        let read = &code.reads[number];
        let machine = &mut frame.machine;
        machine.look().map_err(|fault| stop_machine(program, at, machine, fault))?;
        let before = (machine.heap.len(), machine.elements.len());
        let given = give(read, values, machine);
        given.map_err(|fault| stop_machine(program, at, machine, fault))?;
        // A read whose error is forgiven has no rows: what stands there is of an earlier one.
        match &read.gives {
            GivesCode::Rows(rows, _) => frame.row_sets[rows.0 as usize].datums.clear(),
            GivesCode::Values(slots) | GivesCode::Columns(slots) => {
                slots.iter().for_each(|&(slot, _)| frame.machine.slots[slot] = Datum::NULL);
            }
        }
        let start = program.entries[usize::from(read.entry)].start as usize;
        run_inside(program, start, frame, access, hook)?;
        let rows = given_by(&read.gives, frame);
        // Nothing of the procedure sees what the read has left.
        frame.machine.heap.truncate(before.0);
        frame.machine.elements.truncate(before.1);
        Ok(rows)
    };
    // Operators hold nothing that others see.
    let rows = apart(|| {
        panics::point::reach("operators");
        operators.rows(&values, &around, &mut read)
    })?;
    let count = (rows.len() / code.types.len().max(1)) as u64;
    Ok((rows, count))
}

/// What a read has left, value after value.
fn given_by(gives: &GivesCode, frame: &Frame) -> Vec<Value> {
    match gives {
        GivesCode::Rows(rows, columns) => {
            let rows = frame.row_sets[rows.0 as usize].datums.iter().zip(columns.iter().cycle());
            rows.map(|(&datum, &of)| Value::from_datum(datum, of, &frame.machine.heap)).collect()
        }
        GivesCode::Values(slots) => {
            slots.iter().map(|&(slot, of)| frame.machine.value(slot, of)).collect()
        }
        GivesCode::Columns(slots) => {
            let column = |&(slot, of): &(u16, SqlType)| match frame.machine.value(slot, of) {
                Value::Array(values) => values.into_iter(),
                _ => Vec::new().into_iter(),
            };
            let mut columns: Vec<_> = slots.iter().map(column).collect();
            let count = columns.first().map_or(0, ExactSizeIterator::len);
            let mut rows = Vec::with_capacity(count * columns.len());
            for _ in 0..count {
                rows.extend(columns.iter_mut().map(|column| column.next().unwrap_or_default()));
            }
            rows
        }
    }
}

fn give(read: &OperatorReadCode, values: &[Value], machine: &mut Machine) -> Result<(), Fault> {
    for (&(slot, of), value) in read.parameters.iter().zip(values) {
        machine.slots[slot] = machine.keep_typed(value, of)?;
    }
    Ok(())
}

/// Puts the rows where the loop finds them.
fn keep(
    code: &OperatorCode,
    rows: Vec<Value>,
    touched: u64,
    frame: &mut Frame,
) -> Result<(), Fault> {
    frame.touched = touched;
    let Frame { machine, row_sets, .. } = frame;
    let set = &mut row_sets[code.rows.rows.0 as usize];
    set.datums.clear();
    set.begin();
    machine.room(&mut set.datums, rows.len())?;
    for (value, &of) in rows.iter().zip(code.types.iter().cycle()) {
        set.datums.push(machine.keep_typed(value, of)?);
    }
    Ok(())
}

impl Machine {
    /// The value of a slot.
    fn value(&self, slot: u16, of: SqlType) -> Value {
        Value::from_parameter(self.slots[slot], of, &self.heap, &self.elements)
    }

    /// Appends a value, which may be large or an array, to heap and elements.
    fn keep_typed(&mut self, value: &Value, of: SqlType) -> Result<Datum, Fault> {
        let of: DataType = match (of, value) {
            (SqlType::Scalar(of), value) => return self.keep_value(value, of),
            (SqlType::Array(_), Value::Null) => return Ok(Datum::NULL),
            (SqlType::Array(of), _) => of,
        };
        let Some(values) = value.elements() else { return self.keep_value(value, of) };
        self.room_for_elements(values.len() + DIMENSIONS_MAX)?;
        let start = self.elements.len();
        for value in values {
            let datum = self.keep_value(value, of)?;
            self.elements.push(datum);
        }
        Ok(value.shape().array_of_list(start, &mut self.elements))
    }
}
