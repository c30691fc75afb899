//! The interpreter: runs a lowered procedure against an engine's records.
//!
//! Role         called once per transaction, or once per action of a plan; generic over
//!              [`RecordAccess`] and [`Hook`], so that each engine gets its own copy without dynamic
//!              calls. Knows no storage, no lock and no plan.
//! Invariants   I1 a record found by `Point` is used by the `Update` or `Remove` that follows before
//!                 anything else is accessed
//!              I2 rows to be changed by a range access are collected first and changed after, so
//!                 that no change is met by its own scan (the Halloween problem)
//!              I3 an error's place is that of the statement the instruction came from
//!
//! The dispatch loop has two levels: [`pure::run_hot`] keeps the slots in registers and handles
//! arithmetic, comparisons, jumps and loops; everything else leaves it.

mod aggregate;
mod fault;
mod gather;
mod keys;
mod order;
mod point;
mod pure;
mod slow;
mod violation;
mod visit;

pub use aggregate::Totals;
pub use fault::Fault;
pub(crate) use pure::{compare, fits};

use crate::access::RecordAccess;
use crate::bytecode::{Op, Program};
use crate::frame::Frame;
use crate::outcome::Stop;
use pure::Exit;

/// A key that was computed when the call was planned.
#[derive(Clone, Copy, Debug)]
pub struct PlannedKey<'a> {
    /// the whole key of a point or insert
    pub key: &'a [u8],
    /// its hash
    pub hash: u64,
    /// the plan's entry
    pub entry: u32,
}

/// What a planned execution tells the interpreter, and hears from it.
pub trait Hook {
    /// False compiles every question away.
    const PLANNED: bool = true;

    /// The next key of this site, asked whenever a point access or insert of the site is reached.
    /// An empty key matches nothing. `None`: it is to be encoded from slots. Only asked for sites
    /// marked by [`Program::set_planned`]; for ranges only the entry is used.
    fn next_key(&mut self, site: u16) -> Option<PlannedKey<'_>>;

    /// A [`crate::program::StatementKind::Mark`] is reached.
    fn mark(&mut self, id: u32, frame: &mut Frame) -> Result<(), Stop>;
}

/// No plan: keys are encoded from slots, marks are passed over.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoHook;

impl Hook for NoHook {
    const PLANNED: bool = false;

    #[inline(always)]
    fn next_key(&mut self, _site: u16) -> Option<PlannedKey<'_>> {
        None
    }

    #[inline(always)]
    fn mark(&mut self, _id: u32, _frame: &mut Frame) -> Result<(), Stop> {
        Ok(())
    }
}

/// Runs one entry of a program to its end. The frame was prepared by [`Frame::begin`]; several
/// entries run one after another share its slots.
///
/// Errors: [`Stop::Error`] leaves the error in the frame; other stops come from `access` or `hook`.
pub fn run<A: RecordAccess, H: Hook>(
    program: &Program,
    entry: usize,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
) -> Result<(), Stop> {
    let mut pc = program.entries[entry].start as usize;
    let mut record: Option<A::Record> = None;
    loop {
        let left = match pure::run_hot(program, pc, &mut frame.machine) {
            Ok(left) => left,
            Err((at, fault)) => return Err(fault::stop(program, at, frame, fault)),
        };
        let at = match left {
            Exit::Bump { at, site, missing } => {
                let found = point::bump(program, site, at, frame, access, hook)?;
                pc = if found { at + 1 } else { missing as usize };
                continue;
            }
            Exit::Point { at, site, last, missing } => {
                record = point::find(program, site, frame, access, hook)?;
                pc = if record.is_some() { at + 1 } else { missing as usize };
                if last && record.is_some() {
                    slow::touched(&mut frame.machine, 1);
                }
                continue;
            }
            Exit::Update { at, site, last } => {
                let found = record.expect("Point found a record before (I1)");
                point::update(program, site, at, found, frame, access)?;
                if last {
                    slow::touched(&mut frame.machine, 1);
                }
                pc = at + 1;
                continue;
            }
            Exit::Keep => unreachable!("only code of one row ends with RowKeep"),
            Exit::Other { at } => at,
        };
        pc = at + 1;
        match program.code[at] {
            Op::End => return Ok(()),
            Op::Remove { site, last } => {
                let found = record.take().expect("Point found a record before (I1)");
                access.remove(program.access[site as usize].table, found)?;
                if last {
                    slow::touched(&mut frame.machine, 1);
                }
            }
            Op::Insert { site, conflict } => {
                if !point::insert(program, site, at, frame, access, hook)? {
                    pc = conflict as usize;
                }
            }
            Op::Visit { site, missing } => {
                if !visit::visit(program, site, at, frame, access, hook)? {
                    pc = missing as usize;
                }
            }
            Op::Mark { id } => hook.mark(id, frame)?,
            other => match slow::step(program, at, other, frame) {
                Ok(next) => pc = next,
                Err(fault) => return Err(fault::stop(program, at, frame, fault)),
            },
        }
    }
}
