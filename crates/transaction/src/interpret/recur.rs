//! Routines that call themselves.
//!
//! Role         runs a routine's code once more on the same frame: what its slots and row sets are
//!              is put aside and comes back when the inner run has ended
//! Invariants   I1 the innermost of [`Frame`]'s running routines is the one whose run is innermost
//!                 on the stack: who comes to its end ends that run
//!              I2 calls are at most [`DEPTH_MAX`] deep, and as deep as the stack has room

use hotrow_base::datum::Datum;
use hotrow_base::interrupt::current;
use hotrow_base::stack::deeper;

use crate::access::RecordAccess;
use crate::bytecode::Program;
use crate::frame::{Frame, RowSet};
use crate::outcome::{SqlError, Stop};

use super::{Hook, run_inside, stop};
use crate::fault::Fault;

/// Calls of routines in themselves, one in the other.
const DEPTH_MAX: usize = 5_000;

/// Runs a routine again, from the second of these instructions on; the call is the first one.
#[inline(never)]
pub(super) fn run_again<A: RecordAccess, H: Hook>(
    program: &Program,
    number: u16,
    (at, start): (usize, usize),
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
) -> Result<(), Stop> {
    let code = &program.recurs[usize::from(number)];
    if frame.running.len() >= DEPTH_MAX {
        return Err(too_deep(program, at, frame));
    }
    let slots = program.image.len() as u16;
    let bytes = usize::from(slots) * size_of::<Datum>();
    let mut charge = current::charge(); // of what is put aside
    charge
        .add(bytes + frame.row_sets.len() * size_of::<RowSet>())
        .map_err(|refused| stop::stop(program, at, frame, Fault::from(refused)))?;
    let machine = &mut frame.machine;
    let mut kept: Vec<Datum> = (0..slots).map(|slot| machine.slots[slot]).collect();
    for &(parameter, given) in &code.arguments {
        machine.slots[parameter] = kept[usize::from(given)];
    }
    let row_sets: Vec<RowSet> = frame.row_sets.iter_mut().map(std::mem::take).collect();
    frame.running.push(code.routine);
    let ran = deeper(|| run_inside(program, start, frame, access, hook));
    frame.running.pop();
    frame.row_sets = row_sets;
    for &slot in &code.shared {
        kept[usize::from(slot)] = frame.machine.slots[slot];
    }
    for (slot, datum) in (0..slots).zip(kept) {
        frame.machine.slots[slot] = datum;
    }
    ran.unwrap_or_else(|_| Err(too_deep(program, at, frame)))
}

#[cold]
fn too_deep(program: &Program, at: usize, frame: &mut Frame) -> Stop {
    let mut error = SqlError::new(b"54001", "stack depth limit exceeded");
    error.hint = Some(format!(
        "A routine calls itself more than {DEPTH_MAX} times, one in the other, or as often as \
         there is stack: see what ends that, or write a loop."
    ));
    stop::stop(program, at, frame, Fault::from(error))
}
