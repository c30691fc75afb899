//! Forgiveness: going on behind an instruction that fails, when planning.
//!
//! Role         a planner evaluates what no run may ever reach: a key under a condition on rows,
//!              a value computed from a trial read. If execution gets there with the same values,
//!              it fails in its own right, and nothing behind it matters; if it does not get
//!              there, the plan must hold what comes after.

use hotrow_base::datum::Datum;

use super::stop;
use crate::bytecode::{Op, Program};
use crate::fault::Fault;
use crate::frame::{Frame, Machine};
use crate::outcome::Stop;

/// Where to go on after the instruction at `at` failed: its result is NULL, its loop has no
/// iteration. Budgets are never forgiven.
#[cold]
#[inline(never)]
pub(super) fn failed(
    program: &Program,
    at: usize,
    frame: &mut Frame,
    fault: Fault,
) -> Result<usize, Stop> {
    if fault.is_budget() {
        return Err(stop::stop(program, at, frame, fault));
    }
    Ok(pass_over(program, at, &mut frame.machine))
}

/// Whether a visit's error is forgiven; it is forgotten then.
pub(super) fn visit(stop: Stop, machine: &mut Machine) -> bool {
    let has_budget = machine.has_steps() && machine.check_heap().is_ok();
    let forgiven = stop == Stop::Error && has_budget;
    if forgiven {
        machine.error = None;
    }
    forgiven
}

fn pass_over(program: &Program, at: usize, machine: &mut Machine) -> usize {
    let dst = match program.code[at] {
        Op::RangeBegin { to, .. } | Op::EachBegin { to, .. } => return to as usize,
        Op::Call { call } => program.calls[call as usize].dst,
        Op::IntAdd { dst, .. }
        | Op::IntSubtract { dst, .. }
        | Op::IntMultiply { dst, .. }
        | Op::IntDivide { dst, .. }
        | Op::IntNarrow { dst, .. }
        | Op::NumericAdd { dst, .. }
        | Op::NumericSubtract { dst, .. }
        | Op::NumericArithmetic { dst, .. }
        | Op::FloatArithmetic { dst, .. }
        | Op::Concat { dst, .. }
        | Op::Cast { dst, .. } => dst,
        _ => return at + 1,
    };
    machine.slots[dst] = Datum::NULL;
    at + 1
}
