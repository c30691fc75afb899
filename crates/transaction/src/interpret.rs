//! The interpreter: runs a lowered procedure against an engine's records.
//!
//! Role         called once per transaction, or once per action of a plan; generic over
//!              [`RecordAccess`] and [`Hook`], so that each engine gets its own copy without
//!              dynamic calls. Knows no storage, no lock and no plan.
//! Invariants   I1 a record found by `Point` is used by the `Update` or `Remove` that follows
//!                 before anything else is accessed
//!              I2 rows to be changed by a range access are collected first and changed after, so
//!                 that no change is met by its own scan (the Halloween problem)
//!              I3 an error's place is that of the statement the instruction came from
//!
//! The dispatch loop itself knows the commonest accesses and [`pure::hot_step`]'s instructions
//! (arithmetic, comparisons, jumps, loops); everything else is called.
//!
//! Measured (callgrind, `examples/interpret_count.rs`, instructions per access in a FOREACH, with
//! the loop step and an array of rows as store, whose share was not separated): a counter bumped by
//! key 196, a look-up of two columns 231, the loop step alone 51; a call of ten bumps 2372. An
//! empty loop of ten steps with its call is 922.

mod aggregate;
mod fault;
mod forgive;
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

use hotrow_base::datum::Datum;

use crate::access::RecordAccess;
use crate::bytecode::{Op, Program};
use crate::frame::Frame;
use crate::outcome::Stop;
use crate::program::FOUND;
use pure::dispatch;

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

    /// True for planning: an expression that fails is NULL, and execution goes on.
    const FORGIVES: bool = false;

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
        let op = &program.code[pc];
        let machine = &mut frame.machine;
        let next = dispatch!(op, pc, machine, {
            Op::Bump { site, missing } => {
                let found = point::bump(program, site, pc, frame, access, hook)?;
                Ok(if found { pc + 1 } else { missing as usize })
            }
            Op::Point { site, last, missing } => {
                record = point::find(program, site, frame, access, hook)?;
                if last && record.is_some() {
                    pure::set_touched(&mut frame.machine.slots, 1);
                }
                Ok(if record.is_some() { pc + 1 } else { missing as usize })
            }
            Op::Update { site, last } => {
                let found = record.expect("Point found a record before (I1)");
                point::update(program, site, pc, found, frame, access)?;
                if last {
                    pure::set_touched(&mut frame.machine.slots, 1);
                }
                Ok(pc + 1)
            }
            Op::Load { site, load, dst } => {
                let found = record.expect("Point found a record before (I1)");
                point::load(program, site, load, dst, found, machine, access);
                Ok(pc + 1)
            }
            Op::End => return Ok(()),
        }, Ok(other(program, pc, record, frame, access, hook)?));
        match next {
            Ok(next) => pc = next,
            Err(fault) if H::FORGIVES => pc = forgive::failed(program, pc, frame, fault)?,
            Err(fault) => return Err(fault::stop(program, pc, frame, fault)),
        }
    }
}

/// Runs an instruction that the dispatch loop does not know itself; the position of the next one.
#[inline(never)]
fn other<A: RecordAccess, H: Hook>(
    program: &Program,
    at: usize,
    record: Option<A::Record>,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
) -> Result<usize, Stop> {
    match program.code[at] {
        Op::Remove { site, last } => {
            let found = record.expect("Point found a record before (I1)");
            access.remove(program.access[site as usize].table, found)?;
            if last {
                pure::set_touched(&mut frame.machine.slots, 1);
            }
        }
        Op::Insert { site, conflict } => {
            if !point::insert(program, site, at, frame, access, hook)? {
                return Ok(conflict as usize);
            }
        }
        Op::Visit { site, missing } => match visit::visit(program, site, at, frame, access, hook) {
            Ok(true) => {}
            Ok(false) => return Ok(missing as usize),
            Err(stop) if H::FORGIVES && forgive::visit(stop, &mut frame.machine) => {
                return Ok(missing as usize);
            }
            Err(stop) => return Err(stop),
        },
        Op::Mark { id } => hook.mark(id, frame)?,
        op => {
            let next = slow::step(program, at, op, frame);
            return next.or_else(|fault| match H::FORGIVES {
                true => forgive::failed(program, at, frame, fault),
                false => Err(fault::stop(program, at, frame, fault)),
            });
        }
    }
    Ok(at + 1)
}
