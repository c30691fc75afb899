//! Functions of ranges and of encoded values: values for those of the ground floor.

use hotrow_base::datum::Datum;
use hotrow_base::encoded::{self, EncodedFunction, EncodedType};
use hotrow_base::range::{self, RangeFunction};
use hotrow_base::types::DataType;
use hotrow_base::value::{Value, ValueError};

use super::cast::value_error;
use crate::bytecode::CallCode;
use crate::fault::Fault;
use crate::frame::Machine;

/// Calls a function of ranges; which arguments may be NULL is its own to say.
pub(super) fn of_ranges(
    machine: &mut Machine,
    code: &CallCode,
    function: RangeFunction,
) -> Result<Datum, Fault> {
    // Of a range, with both of its bounds.
    call(machine, code, 3, |arguments, gives| range::call(function, arguments, gives))
}

/// Calls a function of encoded values; a bit takes a byte while it is computed with.
pub(super) fn of_encoded(
    machine: &mut Machine,
    code: &CallCode,
    function: EncodedFunction,
) -> Result<Datum, Fault> {
    let made = match (function, code.result) {
        (EncodedFunction::Force, DataType::Encoded(EncodedType::Bit(bits))) => bits as usize,
        _ => 0,
    };
    let _made = machine.borrow(made)?;
    call(machine, code, 16, |arguments, gives| encoded::call(function, arguments, gives))
}

/// Memory is taken for so many times what the arguments are.
fn call(
    machine: &mut Machine,
    code: &CallCode,
    times: usize,
    function: impl Fn(&[Value], DataType) -> Result<Value, ValueError>,
) -> Result<Datum, Fault> {
    let size = |&(slot, data_type): &(u16, DataType)| {
        let datum = machine.slots[slot];
        let is_bytes = data_type.is_bytes() && !datum.is_null();
        let bytes = if is_bytes { datum.as_range().len as usize } else { 0 };
        times.saturating_mul(size_of::<Value>() + bytes)
    };
    let _copies = machine.borrow(code.arguments.iter().map(size).sum())?;
    let value = |&(slot, data_type): &(u16, _)| {
        Value::from_datum(machine.slots[slot], data_type, &machine.heap)
    };
    let arguments: Vec<Value> = code.arguments.iter().map(value).collect();
    let _entered = machine.enter();
    let result = function(&arguments, code.result).map_err(value_error)?;
    machine.keep_value(&result, code.result)
}
