//! Accesses to one row: find, update, insert.

use hotrow_base::datum::Datum;
use hotrow_base::key;
use hotrow_base::row::{Words, read_field};

use super::keys::{encode, pack};
use super::pure::set_touched;
use super::stop::{stop, stop_machine};
use super::{Hook, PlannedKey, violation};
use crate::access::{Inserted, KeyAt, Reads, RecordAccess};
use crate::bytecode::{AccessCode, Bind, BindKind, InsertCode, KeyCode, PathCode, Program};
use crate::fault::Fault;
use crate::frame::{Frame, Machine};
use crate::outcome::Stop;

/// Finds the row of a point access and loads its columns.
#[inline(always)]
pub(super) fn find<A: RecordAccess, H: Hook>(
    program: &Program,
    site: u16,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
) -> Result<Option<A::Record>, Stop> {
    let code = &program.access[site as usize];
    let PathCode::Point(key) = &code.path else {
        unreachable!("lowering emits Point for point paths only")
    };
    let Some(record) = look_up(code, key, site, frame, access, hook)? else {
        return Ok(None);
    };
    bind(&code.binds, access.row(code.table, record), &mut frame.machine);
    Ok(Some(record))
}

/// Finds the record of a point path.
#[inline(always)]
pub(super) fn look_up<A: RecordAccess, H: Hook>(
    code: &AccessCode,
    key: &KeyCode,
    site: u16,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
) -> Result<Option<A::Record>, Stop> {
    let (table, index) = (code.table, key.index);
    let reads = code.reads;
    let mut entry = None;
    if H::PLANNED
        && code.planned
        && let Some(planned) = hook.next_key(site)
    {
        entry = Some(planned.entry);
        if planned.key.is_empty() {
            return Ok(None);
        }
        if key.is_plain {
            let PlannedKey { key, hash, .. } = planned;
            return access.find(&KeyAt { table, index, key, hash, entry, reads }, code.intent);
        }
    }
    if key.is_packed {
        let packed = &mut frame.keys.packed;
        let Some((key, hash)) = pack(key, &frame.machine, packed) else { return Ok(None) };
        return access.find(&KeyAt { table, index, key, hash, entry, reads }, code.intent);
    }
    let bytes = &mut frame.keys.key;
    if !encode(key, &frame.machine, bytes) {
        return Ok(None);
    }
    let hash = hash_of(key, bytes);
    access.find(&KeyAt { table, index, key: bytes, hash, entry, reads }, code.intent)
}

/// The hash of an encoded key, where its index wants one.
#[inline]
fn hash_of(key: &KeyCode, bytes: &[u8]) -> u64 {
    if key.is_hashed { key::hash(bytes) } else { 0 }
}

/// Loads one column of a record into a slot.
#[inline(always)]
pub(super) fn load<A: RecordAccess>(
    program: &Program,
    site: u16,
    load: u16,
    dst: u16,
    record: A::Record,
    machine: &mut Machine,
    access: &A,
) {
    let code = &program.access[site as usize];
    let row = access.row(code.table, record);
    let field = code.loads[load as usize];
    machine.slots[dst] = read_field(field, row, &mut machine.heap);
}

/// Loads columns into slots.
#[inline(always)]
pub(super) fn bind<W: Words + ?Sized>(binds: &[Bind], row: &W, machine: &mut Machine) {
    for bind in binds {
        machine.slots[bind.slot] = match bind.kind {
            BindKind::Int => Datum::int(bind.field.read_int(row)),
            BindKind::Numeric => Datum::numeric(i128::from(bind.field.read_int(row))),
            BindKind::Any => read_field(bind.field, row, &mut machine.heap),
        };
    }
}

/// Finds a row and changes one of its integer columns by a slot. False: there is no row.
#[inline(always)]
pub(super) fn bump<A: RecordAccess, H: Hook>(
    program: &Program,
    site: u16,
    at: usize,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
) -> Result<bool, Stop> {
    let code = &program.access[site as usize];
    let (PathCode::Point(key), Some(bump)) = (&code.path, &code.bump) else {
        unreachable!("lowering emits Bump for such updates only")
    };
    let Some(record) = look_up(code, key, site, frame, access, hook)? else {
        return Ok(false);
    };
    let machine = &mut frame.machine;
    let row = access.row(code.table, record);
    let operand = machine.slots[bump.slot];
    let is_null = bump.field.is_null(row);
    let value = if is_null || operand.is_null() {
        let old = if is_null { Datum::NULL } else { Datum::int(bump.field.read_int(row)) };
        bump.apply_null(old, operand)
    } else {
        bump.apply(bump.field.read_int(row), operand.as_int()).map(Datum::int)
    };
    let Some(value) = value else {
        let fault = Fault::IntRange { bits: bump.bits };
        return Err(stop_machine(program, at, machine, fault));
    };
    let change = [(bump.field.column(), value)];
    let done = if is_null || value.is_null() {
        access.update(code.table, record, &change, &machine.heap)?
    } else {
        access.update_int(code.table, record, bump.field, value.as_int())?
    };
    if let Inserted::Duplicate(index) = done {
        let row = access.row(code.table, record);
        let change = (&change[..], &machine.heap[..]);
        let words = &mut frame.row_words;
        let fault = violation::duplicate_update(program, code, index, row, change, words);
        return Err(stop_machine(program, at, machine, fault));
    }
    set_touched(&mut frame.machine.slots, 1);
    Ok(true)
}

/// Changes the record that was found, to the new values in slots.
#[inline(always)]
pub(super) fn update<A: RecordAccess>(
    program: &Program,
    site: u16,
    at: usize,
    record: A::Record,
    frame: &mut Frame,
    access: &mut A,
) -> Result<(), Stop> {
    let code = &program.access[site as usize];
    let Frame { machine, changes, row_words, keys, .. } = frame;
    let update = code.update.as_ref().expect("lowering emits Update for updates only");
    let value = |slot: u16| machine.slots[slot];
    let one;
    let changes = if let [set] = &update.sets[..] {
        one = [(set.column, value(set.slot))];
        &one[..]
    } else {
        changes.clear();
        changes.extend(update.sets.iter().map(|set| (set.column, value(set.slot))));
        &changes[..]
    };
    if update.has_variable {
        let row = access.row(code.table, record);
        let change = (changes, &machine.heap[..]);
        if let Err(fault) =
            violation::check_size(program, code, row, change, row_words, &mut keys.key)
        {
            return Err(stop_machine(program, at, machine, fault));
        }
    }
    if let Inserted::Duplicate(index) = access.update(code.table, record, changes, &machine.heap)? {
        let row = access.row(code.table, record);
        let change = (changes, &machine.heap[..]);
        let fault = violation::duplicate_update(program, code, index, row, change, row_words);
        return Err(stop_machine(program, at, machine, fault));
    }
    Ok(())
}

/// Inserts a row. False: a conflict was ignored.
#[inline(never)]
pub(super) fn insert<A: RecordAccess, H: Hook>(
    program: &Program,
    site: u16,
    at: usize,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
) -> Result<bool, Stop> {
    let code = &program.access[site as usize];
    let insert = code.insert.as_ref().expect("lowering emits Insert for inserts only");
    if let Err(fault) = violation::build_row(program, code, insert, frame) {
        return Err(stop(program, at, frame, fault));
    }
    let inserted = put(code, insert, site, frame, access, hook)?;
    match inserted {
        Inserted::Yes => {
            set_touched(&mut frame.machine.slots, 1);
            Ok(true)
        }
        Inserted::Duplicate(_) if insert.ignore_conflict => Ok(false),
        Inserted::Duplicate(index) => {
            let fault = violation::duplicate(program, code, index, &frame.row_words);
            Err(stop(program, at, frame, fault))
        }
    }
}

fn put<A: RecordAccess, H: Hook>(
    code: &AccessCode,
    insert: &InsertCode,
    site: u16,
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
) -> Result<Inserted, Stop> {
    let Some(primary) = &insert.primary else {
        return access.insert(code.table, &frame.row_words, None);
    };
    let (table, index) = (code.table, primary.index);
    let reads = Reads::Rows;
    if H::PLANNED
        && code.planned
        && let Some(planned) = hook.next_key(site)
    {
        let entry = Some(planned.entry);
        let at = KeyAt { table, index, key: planned.key, hash: planned.hash, entry, reads };
        return access.insert(table, &frame.row_words, Some(&at));
    }
    if primary.is_packed
        && let Some((key, hash)) = pack(primary, &frame.machine, &mut frame.keys.packed)
    {
        let at = KeyAt { table, index, key, hash, entry: None, reads };
        return access.insert(table, &frame.row_words, Some(&at));
    }
    let bytes = &mut frame.keys.key;
    let is_key = encode(primary, &frame.machine, bytes);
    debug_assert!(is_key, "a row that was built has a key");
    let hash = hash_of(primary, bytes);
    let at = KeyAt { table, index, key: bytes, hash, entry: None, reads };
    access.insert(table, &frame.row_words, Some(&at))
}
