//! Rows of composite types: made of their fields, and their fields.

use hotrow_base::datum::Datum;
use hotrow_base::packed;
use hotrow_base::types::DataType;

use crate::bytecode::CallCode;
use crate::fault::Fault;
use crate::frame::Machine;
use crate::program::RowFunction;

/// Calls a function; which arguments may be NULL is its own to say.
pub(super) fn call(
    machine: &mut Machine,
    code: &CallCode,
    function: RowFunction,
) -> Result<Datum, Fault> {
    let argument = |machine: &Machine, at: usize| machine.slots[code.arguments[at].0];
    match function {
        RowFunction::Make => {
            let start = room(machine, code.arguments.len())?;
            for (slot, _) in &code.arguments {
                machine.elements.push(machine.slots[*slot]);
            }
            made(machine, code.result, start)
        }
        RowFunction::Field(place) => {
            let row = argument(machine, 0);
            if row.is_null() {
                return Ok(Datum::NULL);
            }
            machine.went(row.as_range().len as usize)?;
            let field = packed::fields(row, usize::from(place) + 1, &machine.heap).last();
            Ok(field.unwrap_or(Datum::NULL))
        }
        RowFunction::With(place) => {
            let (row, value) = (argument(machine, 0), argument(machine, 1));
            let DataType::Composite(of) = code.result else { return Ok(Datum::NULL) };
            let count = of.fields().len();
            let start = room(machine, count)?;
            let Machine { elements, heap, .. } = &mut *machine;
            match row.is_null() {
                true => elements.extend(std::iter::repeat_n(Datum::NULL, count)),
                false => elements.extend(packed::fields(row, count, heap)),
            }
            if let Some(field) = elements.get_mut(start + usize::from(place)) {
                *field = value;
            }
            made(machine, code.result, start)
        }
    }
}

/// Makes room for fields behind the elements of arrays, where they stay until the row is made.
fn room(machine: &mut Machine, count: usize) -> Result<usize, Fault> {
    machine.room_for_elements(count)?;
    Ok(machine.elements.len())
}

/// The row of the fields from `start` on.
fn made(machine: &mut Machine, of: DataType, start: usize) -> Result<Datum, Fault> {
    let DataType::Composite(of) = of else { return Ok(Datum::NULL) };
    let bytes = packed::packed_row_bytes(of.types(), &machine.elements[start..]);
    if of.is_too_large(bytes) {
        return Err(Fault::new(b"54000", "a row's text would be longer than a text may be"));
    }
    machine.reserve(bytes)?;
    machine.went(bytes)?;
    let Machine { elements, heap, .. } = &mut *machine;
    let row = packed::pack_row(of.types(), &elements[start..], heap);
    elements.truncate(start);
    Ok(row)
}
