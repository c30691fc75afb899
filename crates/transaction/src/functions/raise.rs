//! RAISE: formats the message as PL/pgSQL does. Allocates: the call ends here, or a client is told.

use hotrow_base::any_numeric;
use hotrow_base::datum::Datum;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;

use crate::bytecode::Program;
use crate::catalog::Deferral;
use crate::deferred::as_deferred;
use crate::fault::Fault;
use crate::frame::Machine;
use crate::invocation::Leaves;
use crate::outcome::{Notice, NoticeLevel, SqlError};
use crate::program::OfConstraint;

/// Ends the call with what RAISE statement number `raise` says. Where it stands for a constraint
/// that the caller looks at again, or for what he fires triggers for, it is told him, and the call
/// goes on.
#[cold]
pub(crate) fn raise(program: &Program, raise: u16, machine: &mut Machine) -> Result<(), Fault> {
    let of = program.raises[raise as usize].of.as_ref();
    let (deferral, is_early) = of.map_or((Deferral::Never, false), |of| (of.deferral, of.is_early));
    let is_event = of.is_some_and(|of| of.is_event);
    let mut said = error(program, raise, machine)?;
    let waits = match deferral {
        _ if is_event => true,
        Deferral::Never => false,
        Deferral::Immediate => is_early || machine.leaves == Leaves::Any,
        Deferral::Deferred => true,
    };
    if !waits {
        said.hint = said.hint.filter(|_| deferral == Deferral::Never);
        return Err(said.into());
    }
    match machine.leaves {
        Leaves::Nothing => Err(as_deferred(said).into()),
        Leaves::Deferred | Leaves::Any => {
            let level = if is_event { NoticeLevel::Event } else { NoticeLevel::Violation };
            machine.tell(Notice { level, said })
        }
    }
}

/// What RAISE statement number `raise` says.
#[cold]
pub(crate) fn error(
    program: &Program,
    raise: u16,
    machine: &mut Machine,
) -> Result<SqlError, Fault> {
    let code = &program.raises[raise as usize];
    let texts = code.arguments.iter().chain(&code.detail).chain(&code.hint);
    let bytes = texts.map(|&(slot, sql_type)| size_of_text(machine, slot, sql_type)).sum();
    machine.went(bytes)?;
    // A text as it grows, and the copy that is put into it.
    let _copies = machine.borrow(bytes.saturating_mul(3))?;
    let mut message = String::new();
    let own = code.arguments.len() - code.parts.len();
    for (i, piece) in code.message.iter().enumerate() {
        message.push_str(piece);
        if let Some(&(slot, sql_type)) = code.arguments[..own].get(i) {
            message.push_str(&text_of(machine, slot, sql_type));
        }
    }
    let mut error = SqlError::new(&code.sqlstate, message);
    let optional = |operand: Option<(u16, SqlType)>| {
        let (slot, sql_type) = operand?;
        Some(text_of(machine, slot, sql_type))
    };
    error.detail = optional(code.detail);
    error.hint = optional(code.hint);
    if let Some(OfConstraint { table, name, .. }) = &code.of {
        (error.table, error.constraint) = (Some(table.clone()), Some(name.clone()));
    }
    for (part, &(slot, sql_type)) in code.parts.iter().zip(&code.arguments[own..]) {
        if machine.slots[slot].is_null() {
            let message = "RAISE statement option cannot be null";
            return Err(SqlError::new(b"22004", message).into());
        }
        part.put(&mut error, text_of(machine, slot, sql_type));
    }
    Ok(error)
}

/// Bytes that a value's text is about to take, at most.
fn size_of_text(machine: &Machine, slot: u16, sql_type: SqlType) -> usize {
    let size = |datum: Datum, data_type: DataType| match data_type {
        _ if datum.is_null() => 8,
        _ if data_type.is_any_numeric() => {
            any_numeric::text_bytes(&machine.heap[datum.as_range().range()])
        }
        DataType::Bytea => 2 * datum.as_range().len as usize + 2,
        _ if data_type.is_bytes() => datum.as_range().len as usize + 64,
        _ => 64,
    };
    let datum = machine.slots[slot];
    match sql_type {
        SqlType::Scalar(data_type) => size(datum, data_type),
        SqlType::Array(_) if datum.is_null() => 8,
        SqlType::Array(data_type) => {
            let elements = &machine.elements[datum.as_range().range()];
            elements.iter().map(|&element| size(element, data_type) + 24).sum()
        }
    }
}

fn text_of(machine: &Machine, slot: u16, sql_type: SqlType) -> String {
    let datum = machine.slots[slot];
    match sql_type {
        _ if datum.is_null() => "<NULL>".into(),
        SqlType::Scalar(data_type) => display(machine, datum, data_type),
        SqlType::Array(_) => {
            let _conventions = machine.conventions.enter();
            let (heap, elements) = (&machine.heap, &machine.elements);
            Value::from_parameter(datum, sql_type, heap, elements).to_string()
        }
    }
}

fn display(machine: &Machine, datum: Datum, data_type: DataType) -> String {
    let _conventions = machine.conventions.enter();
    Value::from_datum(datum, data_type, &machine.heap).to_string()
}
