//! Functions of json and jsonb: values for those of the ground floor.

use hotrow_base::datum::Datum;
use hotrow_base::json::{self, JsonFunction};
use hotrow_base::value::Value;

use super::cast::value_error;
use crate::bytecode::CallCode;
use crate::frame::Machine;
use crate::interpret::Fault;

/// Calls a function; which arguments may be NULL is its own to say.
pub(super) fn call(
    machine: &mut Machine,
    code: &CallCode,
    function: JsonFunction,
) -> Result<Datum, Fault> {
    let value = |&(slot, data_type): &(u16, _)| {
        Value::from_datum(machine.slots[slot], data_type, &machine.heap)
    };
    let arguments: Vec<Value> = code.arguments.iter().map(value).collect();
    let result = json::call(function, &arguments, code.result).map_err(value_error)?;
    let datum = result.to_datum(code.result, &mut machine.heap).map_err(value_error)?;
    machine.check_heap()?;
    Ok(datum)
}
