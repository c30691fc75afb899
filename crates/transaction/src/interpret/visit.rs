//! Visits: accesses that may meet many rows, or gather them natively.

use std::ops::ControlFlow;

use hotrow_base::datum::Datum;

use crate::access::{RangeAt, RecordAccess};
use crate::bytecode::{AccessCode, NO_CODE, Op, PathCode, Program, RangeCode};
use crate::frame::{Frame, Keys, Machine, Progress};
use crate::outcome::Stop;
use crate::program::FOUND;

use super::gather::{Added, Sink};
use super::keys::{BoundKind, Ends, encode, encode_ends};
use super::point::{bind, look_up};
use super::pure::dispatch;
use super::stop::stop_machine;
use super::{Hook, point, pure, slow, violation};
use crate::fault::Fault;

/// Visits the rows of a site. False: nothing was gathered.
#[inline(never)]
pub(super) fn visit<A: RecordAccess, H: Hook>(
    program: &Program,
    site: u16,
    at: usize,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
) -> Result<bool, Stop> {
    let code = &program.access[site as usize];
    let mut sink = match Sink::begin(&code.gather, &frame.machine, &mut frame.gathered) {
        Ok(sink) => sink,
        Err(fault) => return Err(stop_machine(program, at, &mut frame.machine, fault)),
    };
    let is_read = code.change == NO_CODE && !code.remove;
    if is_read {
        read(program, code, site, at, frame, access, hook, &mut sink)?;
    } else {
        write(program, code, site, at, frame, access, hook, &mut sink)?;
    }
    finish(program, code, at, frame, sink)
}

/// Begins a visit that goes through lists of keys: its rows come in parts.
#[inline(never)]
pub(super) fn begin(program: &Program, site: u16, frame: &mut Frame) -> Result<(), Fault> {
    let Frame { machine, gathered, .. } = frame;
    // Where an error is forgiven, the parts find a visit that wants nothing.
    gathered.progress = Progress { is_full: true, ..Progress::default() };
    let sink = Sink::begin(&program.access[site as usize].gather, machine, gathered)?;
    sink.pause(gathered);
    Ok(())
}

/// Visits the rows of a site for one combination of its lists' keys.
#[inline(never)]
pub(super) fn part<A: RecordAccess, H: Hook>(
    program: &Program,
    site: u16,
    at: usize,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
) -> Result<(), Stop> {
    let code = &program.access[site as usize];
    let mut sink = Sink::resume(&code.gather, &frame.gathered);
    let done = if code.change != NO_CODE || code.remove {
        write(program, code, site, at, frame, access, hook, &mut sink)
    } else if sink.is_full() {
        // No row of this key is wanted; the plan has one for it all the same.
        if H::PLANNED && code.planned {
            hook.next_key(site);
        }
        Ok(())
    } else {
        read(program, code, site, at, frame, access, hook, &mut sink)
    };
    sink.pause(&mut frame.gathered);
    done
}

/// Ends a visit that came in parts. False: nothing was gathered.
#[inline(never)]
pub(super) fn end(
    program: &Program,
    site: u16,
    at: usize,
    frame: &mut Frame,
) -> Result<bool, Stop> {
    let code = &program.access[site as usize];
    let sink = Sink::resume(&code.gather, &frame.gathered);
    finish(program, code, at, frame, sink)
}

fn finish(
    program: &Program,
    code: &AccessCode,
    at: usize,
    frame: &mut Frame,
    sink: Sink<'_>,
) -> Result<bool, Stop> {
    let changed = sink.seen();
    let any =
        sink.finish(frame).map_err(|fault| stop_machine(program, at, &mut frame.machine, fault))?;
    if code.change != NO_CODE || code.remove {
        // However few of them RETURNING shows.
        frame.touched = changed;
    }
    Ok(any)
}

#[expect(clippy::too_many_arguments, reason = "the interpreter's registers, passed on")]
fn read<A: RecordAccess, H: Hook>(
    program: &Program,
    code: &AccessCode,
    site: u16,
    at: usize,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
    sink: &mut Sink<'_>,
) -> Result<(), Stop> {
    if let PathCode::Point(key) = &code.path {
        if let Some(record) = look_up(code, key, site, frame, access, hook)? {
            let Frame { machine, gathered, .. } = frame;
            bind(&code.binds, access.row(code.table, record), machine);
            if eval(program, code.visit, machine)?
                && let Err(fault) = sink.add(machine, gathered)
            {
                return Err(stop_machine(program, at, machine, fault));
            }
        }
        return Ok(());
    }
    let Frame { machine, keys, gathered, .. } = frame;
    let mut failed = None;
    scan(program, code, site, at, keys, machine, access, hook, |machine, _record, row| {
        let before = (machine.heap.len(), machine.elements.len());
        let added = match kept(program, code, at, machine, row) {
            Ok(true) => sink
                .add(machine, gathered)
                .map_err(|fault| stop_machine(program, at, machine, fault)),
            Ok(false) => Ok(Added::Drop),
            Err(stop) => Err(stop),
        };
        match added {
            Ok(Added::Keep) => ControlFlow::Continue(()),
            Ok(Added::Drop) => {
                machine.heap.truncate(before.0);
                machine.elements.truncate(before.1);
                ControlFlow::Continue(())
            }
            Ok(Added::Last) => ControlFlow::Break(()),
            Err(stop) => {
                failed = Some(stop);
                ControlFlow::Break(())
            }
        }
    })?;
    failed.map_or(Ok(()), Err)
}

/// Loads a row's columns and runs its code: whether it matches.
#[inline]
fn kept<W: hotrow_base::row::Words + ?Sized>(
    program: &Program,
    code: &AccessCode,
    at: usize,
    machine: &mut Machine,
    row: &W,
) -> Result<bool, Stop> {
    let may_go_on = machine.step();
    if let Err(fault) = may_go_on.and_then(|()| machine.check_heap()) {
        return Err(stop_machine(program, at, machine, fault));
    }
    bind(&code.binds, row, machine);
    eval(program, code.visit, machine)
}

/// Collects the matching records, then changes or removes them one by one.
#[expect(clippy::too_many_arguments, reason = "the interpreter's registers, passed on")]
fn write<A: RecordAccess, H: Hook>(
    program: &Program,
    code: &AccessCode,
    site: u16,
    at: usize,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
    sink: &mut Sink<'_>,
) -> Result<(), Stop> {
    let mut records = access.take_records();
    records.clear();
    let collected = collect(program, code, site, at, frame, access, hook, &mut records);
    let mut done = collected;
    for &record in &records {
        if done.is_err() {
            break;
        }
        done = write_one(program, code, site, at, record, frame, access, sink);
    }
    frame.machine.shrink(&mut records);
    access.give_back_records(records);
    done
}

#[expect(clippy::too_many_arguments, reason = "the interpreter's registers, passed on")]
fn collect<A: RecordAccess, H: Hook>(
    program: &Program,
    code: &AccessCode,
    site: u16,
    at: usize,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
    records: &mut Vec<A::Record>,
) -> Result<(), Stop> {
    if let PathCode::Point(key) = &code.path {
        if let Some(record) = look_up(code, key, site, frame, access, hook)? {
            let machine = &mut frame.machine;
            bind(&code.binds, access.row(code.table, record), machine);
            if eval(program, code.visit, machine)? {
                records.push(record);
            }
        }
        return Ok(());
    }
    let Frame { machine, keys, .. } = frame;
    let mut failed = None;
    scan(program, code, site, at, keys, machine, access, hook, |machine, record, row| {
        let before = (machine.heap.len(), machine.elements.len());
        let kept = kept(program, code, at, machine, row);
        machine.heap.truncate(before.0);
        machine.elements.truncate(before.1);
        match kept {
            Ok(true) => match machine.room(records, 1) {
                Ok(()) => records.push(record),
                Err(fault) => {
                    failed = Some(stop_machine(program, at, machine, fault));
                    return ControlFlow::Break(());
                }
            },
            Ok(false) => {}
            Err(stop) => {
                failed = Some(stop);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })?;
    failed.map_or(Ok(()), Err)
}

#[expect(clippy::too_many_arguments, reason = "the interpreter's registers, passed on")]
fn write_one<A: RecordAccess>(
    program: &Program,
    code: &AccessCode,
    site: u16,
    at: usize,
    record: A::Record,
    frame: &mut Frame,
    access: &mut A,
    sink: &mut Sink<'_>,
) -> Result<(), Stop> {
    let before = (frame.machine.heap.len(), frame.machine.elements.len());
    bind(&code.binds, access.row(code.table, record), &mut frame.machine);
    if code.remove {
        access.remove(code.table, record)?;
    } else {
        if let Err(stop) = eval(program, code.change, &mut frame.machine) {
            let row = access.row(code.table, record);
            violation::tell_new_row(program, code, row, &mut frame.machine);
            return Err(stop);
        }
        point::update(program, site, at, record, frame, access)?;
    }
    let Frame { machine, gathered, .. } = frame;
    if sink.wants_values() && code.returning != NO_CODE {
        eval(program, code.returning, machine)?;
    }
    match sink.add(machine, gathered) {
        Ok(Added::Drop) => {
            machine.heap.truncate(before.0);
            machine.elements.truncate(before.1);
        }
        Ok(_) => {}
        Err(fault) => return Err(stop_machine(program, at, machine, fault)),
    }
    Ok(())
}

/// Runs pure code: true when it ends with `RowKeep`.
#[inline]
pub(super) fn eval(program: &Program, start: u32, machine: &mut Machine) -> Result<bool, Stop> {
    let mut pc = start as usize;
    let fault: Fault = dispatch!('ops, program, pc, machine, {
        Op::RowKeep => return Ok(true),
        Op::RowSkip => return Ok(false),
        Op::End
        | Op::Bump { .. }
        | Op::Point { .. }
        | Op::Load { .. }
        | Op::Update { .. }
        | Op::Insert { .. }
        | Op::Remove { .. }
        | Op::Visit { .. }
        | Op::VisitBegin { .. }
        | Op::VisitPart { .. }
        | Op::VisitEnd { .. }
        | Op::TouchedByVisit
        | Op::Again { .. }
        | Op::RowsBegin { .. }
        | Op::RowsNext { .. }
        | Op::ReturnRow { .. }
        | Op::Operators { .. }
        | Op::Recur { .. }
        | Op::Returned { .. }
        | Op::Protect { .. }
        | Op::Mark { .. } => unreachable!("code of one row is pure (I3)"),
    });
    Err(stop_machine(program, pc - 1, machine, fault))
}

/// Visits the rows of a range or of the whole table.
#[expect(clippy::too_many_arguments, reason = "the interpreter's registers, passed on")]
fn scan<A: RecordAccess, H: Hook>(
    program: &Program,
    code: &AccessCode,
    site: u16,
    at: usize,
    keys: &mut Keys,
    machine: &mut Machine,
    access: &mut A,
    hook: &mut H,
    mut row: impl FnMut(&mut Machine, A::Record, &A::Row) -> ControlFlow<()>,
) -> Result<(), Stop> {
    let PathCode::Range(range) = &code.path else {
        return access
            .scan_table(code.table, code.intent, |record, words| row(machine, record, words));
    };
    let entry = match begin_range(code, range, site, keys, machine, hook) {
        Ok(Some(entry)) => entry,
        Ok(None) => return Ok(()),
        Err(fault) => return Err(stop_machine(program, at, machine, fault)),
    };
    let (lower, upper) = (entry.lower.over(&keys.lower), entry.upper.over(&keys.upper));
    let range = RangeAt {
        table: code.table,
        index: range.prefix.index,
        prefix: &keys.key,
        prefix_parts: range.prefix.parts.len(),
        lower,
        upper,
        descending: range.descending,
        entry: entry.number,
        reads: code.reads,
    };
    access.scan(&range, code.intent, |record, words| row(machine, record, words))
}

struct RangeEntry {
    number: Option<u32>,
    lower: BoundKind,
    upper: BoundKind,
}

/// Encodes a range's prefix and ends; `None`: no row can lie in it.
fn begin_range<H: Hook>(
    code: &AccessCode,
    range: &RangeCode,
    site: u16,
    keys: &mut Keys,
    machine: &Machine,
    hook: &mut H,
) -> Result<Option<RangeEntry>, Fault> {
    let mut number = None;
    if H::PLANNED
        && code.planned
        && let Some(planned) = hook.next_key(site)
    {
        number = Some(planned.entry);
    }
    if !encode(&range.prefix, machine, &mut keys.key) {
        return Ok(None);
    }
    Ok(match encode_ends(range, machine, keys)? {
        Ends::Empty => None,
        Ends::Between { lower, upper } => Some(RangeEntry { number, lower, upper }),
    })
}
