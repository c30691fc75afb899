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
//! The dispatch loop knows the accesses and [`pure::dispatch`]'s instructions (arithmetic,
//! comparisons, jumps, loops); everything else is called.
//!
//! Measured (callgrind, `examples/interpret_count.rs`, instructions per access in a FOREACH, with
//! the loop step and an array of rows as store, whose share was not separated): a counter bumped by
//! key 177, a look-up of two columns 196, the loop step alone 53; a call of ten bumps 2103. An
//! empty loop of ten steps with its call is 863.

mod aggregate;
mod dynamic;
pub(crate) mod exact;
mod forgive;
mod gather;
mod keys;
mod operators;
mod order;
mod point;
mod protect;
mod pure;
mod recur;
mod slow;
mod stop;
mod violation;
mod visit;

pub use aggregate::Running;
pub(crate) use keys::pack;
pub(crate) use pure::{compare, fits, satisfies};

use hotrow_base::datum::Datum;
use pure::dispatch;

use crate::access::RecordAccess;
use crate::bytecode::{Op, Program};
use crate::fault::Fault;
use crate::frame::Frame;
use crate::invocation::Invocation;
use crate::outcome::Stop;
use crate::plan::program::PlanProgram;
use crate::program::FOUND;

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

    /// Planning reaches a statement whose text has just been compiled: plans it, too.
    fn plan_text<A: RecordAccess>(
        &mut self,
        _plan: &PlanProgram,
        _invocation: &Invocation,
        _frame: &mut Frame,
        _access: &mut A,
    ) -> Result<(), Stop> {
        Ok(())
    }

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
/// An error in a protected block goes on at a handler that names it.
///
/// Errors: [`Stop::Error`] leaves the error in the frame; other stops come from `access` or `hook`.
#[inline(never)]
pub fn run<A: RecordAccess, H: Hook>(
    program: &Program,
    entry: usize,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
) -> Result<(), Stop> {
    let mut pc = program.entries[entry].start as usize;
    loop {
        match run_from(program, pc, frame, access, hook) {
            Err(stop) if !frame.machine.protected.is_empty() => {
                pc = protect::caught(program, stop, 0, frame, access)?;
            }
            ended => return ended,
        }
    }
}

/// As [`run`], from an instruction on, for what runs inside of another entry: errors that no block
/// in it catches are caught there.
#[inline(never)]
pub(crate) fn run_inside<A: RecordAccess, H: Hook>(
    program: &Program,
    start: usize,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
) -> Result<(), Stop> {
    let (mut pc, around) = (start, frame.machine.protected.len());
    loop {
        match run_from(program, pc, frame, access, hook) {
            Err(stop) if frame.machine.protected.len() > around => {
                pc = protect::caught(program, stop, around, frame, access)?;
            }
            ended => return ended,
        }
    }
}

/// As [`run`], for who runs many short entries and does nothing else: part of the caller, where
/// others, merged with it, would have fewer registers for both.
#[inline(always)]
pub(crate) fn run_here<A: RecordAccess, H: Hook>(
    program: &Program,
    entry: usize,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
) -> Result<(), Stop> {
    run_from(program, program.entries[entry].start as usize, frame, access, hook)
}

/// Runs a program from an instruction on.
#[inline(always)]
fn run_from<A: RecordAccess, H: Hook>(
    program: &Program,
    start: usize,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
) -> Result<(), Stop> {
    let mut pc = start;
    let mut record: Option<A::Record> = None;
    loop {
        let fault: Fault = dispatch!('ops, program, pc, &mut frame.machine, {
            Op::Bump { site, missing } => {
                if !point::bump(program, site, pc - 1, frame, access, hook)? {
                    pc = missing as usize;
                }
                continue;
            }
            Op::Point { site, touches, missing } => {
                record = point::find(program, site, frame, access, hook)?;
                if record.is_none() {
                    pc = missing as usize;
                } else if touches {
                    pure::set_touched(&mut frame.machine.slots, 1);
                }
                continue;
            }
            Op::Update { site } => {
                point::update(program, site, pc - 1, found(record), frame, access)?;
                continue;
            }
            Op::Load { site, load, dst } => {
                let machine = &mut frame.machine;
                point::load(program, site, load, dst, found(record), machine, access);
                continue;
            }
            Op::Insert { site, conflict } => {
                if !point::insert(program, site, pc - 1, frame, access, hook)? {
                    pc = conflict as usize;
                }
                continue;
            }
            Op::Remove { site } => {
                let table = program.access[site as usize].table;
                if H::FORGIVES {
                    access.forget(table, found(record));
                } else {
                    access.remove(table, found(record))?;
                }
                continue;
            }
            Op::Visit { site, missing } => {
                let found = visit::visit(program, site, pc - 1, frame, access, hook);
                if !is_found::<H>(found, frame)? {
                    pc = missing as usize;
                }
                continue;
            }
            Op::VisitBegin { site } => {
                visit::begin(program, site, frame)
            }
            Op::VisitPart { site } => {
                match visit::part(program, site, pc - 1, frame, access, hook) {
                    Ok(()) => {}
                    Err(stop) if H::FORGIVES && forgive::visit(stop, &mut frame.machine) => {}
                    Err(stop) => return Err(stop),
                }
                continue;
            }
            Op::VisitEnd { site, missing } => {
                let found = visit::end(program, site, pc - 1, frame);
                if !is_found::<H>(found, frame)? {
                    pc = missing as usize;
                }
                continue;
            }
            Op::TouchedByVisit => {
                pure::set_touched(&mut frame.machine.slots, frame.touched);
                continue;
            }
            Op::Protect { block } => {
                protect::enter(program, block, &mut frame.machine, access)?;
                continue;
            }
            Op::Operators { number } => {
                operators::compute(program, number, pc - 1, frame, access, hook)?;
                continue;
            }
            Op::Recur { number, to } => match slow::another_turn(frame, H::FORGIVES) {
                Ok(()) => {
                    let at = (pc - 1, to as usize);
                    recur::run_again(program, number, at, frame, access, hook)?;
                    continue;
                }
                Err(fault) => Err(fault),
            },
            Op::Returned { routine } => {
                if frame.running.last() == Some(&routine) {
                    return Ok(());
                }
                continue;
            }
            Op::Again { to } => {
                slow::another_turn(frame, H::FORGIVES).map(|()| pure::jump(&mut pc, true, to))
            }
            Op::RowsBegin { rows, to } => {
                slow::next_row(program, rows, frame).map(|any| pure::jump(&mut pc, !any, to))
            }
            Op::RowsNext { rows, to } => {
                slow::next_row(program, rows, frame).map(|any| pure::jump(&mut pc, any, to))
            }
            Op::ReturnRow { row } => frame.return_row(&program.returns[row as usize]),
            Op::Mark { id } => {
                hook.mark(id, frame)?;
                continue;
            }
            Op::End => match frame.charge_answer(program) {
                Ok(()) => return Ok(()),
                Err(fault) => Err(fault),
            },
            Op::RowKeep | Op::RowSkip => unreachable!("only code of one row ends with these"),
        });
        match H::FORGIVES {
            true => pc = forgive::failed(program, pc - 1, frame, fault)?,
            false => {
                let stop = stop::stop(program, pc - 1, frame, fault);
                tell_new_row(program, pc - 1, record, frame, access);
                return Err(stop);
            }
        }
    }
}

/// Adds the row that could not be made, where instruction `at` holds a constraint on values that
/// the next `Update` or `Insert` writes. (The instructions between them only compute.)
#[cold]
#[inline(never)]
fn tell_new_row<A: RecordAccess>(
    program: &Program,
    at: usize,
    record: Option<A::Record>,
    frame: &mut Frame,
    access: &A,
) {
    if !matches!(program.code[at], Op::NotNull { .. } | Op::Check { .. }) {
        return;
    }
    let is_writing = |op: &&Op| matches!(op, Op::Update { .. } | Op::Insert { .. });
    match (program.code[at..].iter().find(is_writing), record) {
        (Some(&Op::Update { site }), Some(record)) => {
            let code = &program.access[site as usize];
            let row = access.row(code.table, record);
            violation::tell_new_row(program, code, row, &mut frame.machine);
        }
        (Some(&Op::Insert { site, .. }), _) => {
            let code = &program.access[site as usize];
            violation::tell_inserted_row(program, code, &mut frame.machine);
        }
        _ => {}
    }
}

/// Whether a visit found a row; what went wrong in one that may be forgiven counts as none.
#[inline(always)]
fn is_found<H: Hook>(found: Result<bool, Stop>, frame: &mut Frame) -> Result<bool, Stop> {
    match found {
        Err(stop) if H::FORGIVES && forgive::visit(stop, &mut frame.machine) => Ok(false),
        found => found,
    }
}

/// The record that `Point` found.
#[inline(always)]
fn found<R>(record: Option<R>) -> R {
    record.expect("Point found a record before (I1)")
}
