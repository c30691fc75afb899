//! Errors that are caught: which handler one leads to, and what it finds.

use hotrow_base::datum::Datum;
use hotrow_base::types::DataType;
use hotrow_base::value::Value;

use crate::access::RecordAccess;
use crate::bytecode::{Program, ProtectedCode};
use crate::frame::{Frame, Machine};
use crate::outcome::{SqlError, Stop};

use super::stop;
use crate::fault::Fault;

/// Enters a protected block.
#[inline(never)]
pub(super) fn enter<A: RecordAccess>(
    program: &Program,
    block: u16,
    machine: &mut Machine,
    access: &mut A,
) -> Result<(), Stop> {
    let code = &program.protected[usize::from(block)];
    access.note_place(code.depth)?;
    machine.protect(block, code.depth);
    Ok(())
}

/// Where execution goes on after it stopped inside of protected blocks: at the first handler, from
/// inside out, that names the error. What its block has changed is taken back. The first `around`
/// of the blocks are somebody else's.
///
/// # Errors
///
/// The stop itself, where it is not for handlers, or where none names it.
#[cold]
#[inline(never)]
pub(super) fn caught<A: RecordAccess>(
    program: &Program,
    stop: Stop,
    around: usize,
    frame: &mut Frame,
    access: &mut A,
) -> Result<usize, Stop> {
    let machine = &mut frame.machine;
    let may_be_caught = stop == Stop::Error && !machine.is_over;
    // What no handler may catch stays where whoever runs the call looks for it.
    let error = machine.error.take_if(|error| may_be_caught && !error.is_beyond_handlers());
    let Some(error) = error else {
        machine.protected.clear();
        return Err(stop);
    };
    while machine.protected.len() > around
        && let Some((block, said)) = machine.protected.pop()
    {
        let code = &program.protected[usize::from(block)];
        let names = |handler: &&crate::bytecode::HandlerCode| {
            handler.catches.iter().any(|catch| catch.names(error.sqlstate))
        };
        if let Some(handler) = code.handlers.iter().find(names) {
            access.take_back_to(code.depth)?;
            machine.take_notifications_back(said);
            let to = handler.to as usize;
            return match tell(code, error, machine) {
                Ok(()) => Ok(to),
                Err(fault) => Err(stop::stop_machine(program, to, machine, fault)),
            };
        }
    }
    machine.error = Some(error);
    Err(stop)
}

/// Puts the parts of a caught error where its handlers look for them, and keeps it, to be raised
/// again.
fn tell(code: &ProtectedCode, error: SqlError, machine: &mut Machine) -> Result<(), Fault> {
    for &(part, slot) in &code.told {
        let told: Datum = machine.keep_value(&Value::Text(part.of(&error)), DataType::Text)?;
        machine.slots[slot] = told;
    }
    machine.caught.truncate(usize::from(code.caught));
    machine.caught.push(error);
    machine.check_heap()
}

/// What was caught with so many others around it, to be raised again.
pub(super) fn again(machine: &Machine, caught: u16) -> Fault {
    let error = machine.caught.get(usize::from(caught)).cloned();
    error.map_or_else(
        || {
            let message = "RAISE without parameters cannot be used outside an exception handler";
            Fault::new(b"0Z002", message)
        },
        Fault::from,
    )
}
