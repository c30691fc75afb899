//! How a fault ends a program.

use crate::bytecode::Program;
use crate::fault::Fault;
use crate::frame::{Frame, Machine};
use crate::outcome::Stop;

/// Leaves the error in the machine, with the place of instruction `at`.
#[cold]
#[inline(never)]
pub(super) fn stop_machine(
    program: &Program,
    at: usize,
    machine: &mut Machine,
    fault: Fault,
) -> Stop {
    machine.is_over = fault.is_budget() || fault == Fault::RowsFull;
    let mut error = fault.into_error();
    error.place = program.place(at);
    machine.error = Some(error);
    Stop::Error
}

/// As [`stop_machine`].
#[cold]
#[inline(never)]
pub(super) fn stop(program: &Program, at: usize, frame: &mut Frame, fault: Fault) -> Stop {
    stop_machine(program, at, &mut frame.machine, fault)
}
