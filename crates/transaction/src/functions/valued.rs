//! Functions of ranges: values for those of the ground floor.

use hotrow_base::datum::Datum;
use hotrow_base::range::{self, RangeFunction};
use hotrow_base::types::DataType;
use hotrow_base::value::Value;

use super::cast::value_error;
use crate::bytecode::CallCode;
use crate::frame::Machine;
use crate::interpret::Fault;

/// Calls a function; which arguments may be NULL is its own to say.
pub(super) fn call(
    machine: &mut Machine,
    code: &CallCode,
    function: RangeFunction,
) -> Result<Datum, Fault> {
    let size = |&(slot, data_type): &(u16, DataType)| {
        let datum = machine.slots[slot];
        let is_bytes = data_type.is_bytes() && !datum.is_null();
        // Of a range, with both of its bounds.
        3 * size_of::<Value>() + if is_bytes { datum.as_range().len as usize } else { 0 }
    };
    let _copies = machine.borrow(code.arguments.iter().map(size).sum())?;
    let value = |&(slot, data_type): &(u16, _)| {
        Value::from_datum(machine.slots[slot], data_type, &machine.heap)
    };
    let arguments: Vec<Value> = code.arguments.iter().map(value).collect();
    let _entered = machine.enter();
    let result = range::call(function, &arguments, code.result).map_err(value_error)?;
    machine.keep_value(&result, code.result)
}
