//! Functions of json and jsonb: values for those of the ground floor.

use hotrow_base::datum::Datum;
use hotrow_base::json::{self, JsonFunction};
use hotrow_base::types::DataType;
use hotrow_base::value::Value;

use super::cast::value_error;
use crate::bytecode::CallCode;
use crate::fault::Fault;
use crate::frame::Machine;

/// Calls a function; which arguments may be NULL is its own to say.
pub(super) fn call(
    machine: &mut Machine,
    code: &CallCode,
    function: JsonFunction,
) -> Result<Datum, Fault> {
    let size = |&(slot, data_type): &(u16, DataType)| {
        let datum = machine.slots[slot];
        let is_text = data_type.is_bytes() && !datum.is_null();
        size_of::<Value>() + if is_text { datum.as_range().len as usize } else { 0 }
    };
    let _copies = machine.borrow(code.arguments.iter().map(size).sum())?;
    let value = |&(slot, data_type): &(u16, _)| {
        Value::from_datum(machine.slots[slot], data_type, &machine.heap)
    };
    let arguments: Vec<Value> = code.arguments.iter().map(value).collect();
    let entered = machine.enter();
    let result = json::call(function, &arguments, code.result).map_err(value_error)?;
    drop(entered);
    machine.keep_value(&result, code.result)
}
