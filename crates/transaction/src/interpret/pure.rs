//! The hot instructions: those on slots alone that are short enough for the dispatch loops.

use std::cmp::Ordering;

use hotrow_base::any_numeric;
use hotrow_base::datum::Datum;
use hotrow_base::decimal::{self, POWERS_OF_TEN};
use hotrow_base::fold;
use hotrow_base::packed;
use hotrow_base::shape::ArrayShape;

use crate::bytecode::{CompareKind, Program};
use crate::frame::{Machine, Slots};
use crate::functions::{self, cast::numeric_overflow};
use crate::program::{ArithmeticOp, CompareOp, FOUND, ROW_COUNT};

use crate::fault::Fault;

/// Runs instructions from `$pc` on until one fails: gives the fault, and `$pc` is then one past the
/// instruction that failed. One `match` over the hot instructions and the caller's own arms, so
/// that each instruction is told apart once; the caller's arms leave the loop `$ops` with a fault,
/// return, or go on.
macro_rules! dispatch {
    ($ops:lifetime, $program:expr, $pc:ident, $machine:expr, { $($own:tt)* }) => {
        $ops: loop {
            let op = &$program.code[$pc];
            $pc += 1;
            let done = match *op {
                $($own)*
                Op::Move { dst, a } => {
                    $machine.slots[dst] = $machine.slots[a];
                    continue;
                }
                Op::Jump { to } => {
                    $pc = to as usize;
                    continue;
                }
                Op::JumpIfTrue { a, to } => {
                    pure::jump(&mut $pc, $machine.slots[a].is_true(), to);
                    continue;
                }
                Op::JumpIfNotTrue { a, to } => {
                    pure::jump(&mut $pc, !$machine.slots[a].is_true(), to);
                    continue;
                }
                Op::JumpIfFalse { a, to } => {
                    pure::jump(&mut $pc, $machine.slots[a] == Datum::FALSE, to);
                    continue;
                }
                Op::JumpIfNull { a, to } => {
                    pure::jump(&mut $pc, $machine.slots[a].is_null(), to);
                    continue;
                }
                Op::JumpIfNotNull { a, to } => {
                    pure::jump(&mut $pc, !$machine.slots[a].is_null(), to);
                    continue;
                }
                Op::JumpUnlessEqual { a, b, to } => {
                    pure::jump(&mut $pc, !pure::both($machine, a, b, |a, b| a == b), to);
                    continue;
                }
                Op::JumpUnlessNotEqual { a, b, to } => {
                    pure::jump(&mut $pc, !pure::both($machine, a, b, |a, b| a != b), to);
                    continue;
                }
                Op::JumpUnlessLess { a, b, to } => {
                    pure::jump(&mut $pc, !pure::both($machine, a, b, |a, b| a < b), to);
                    continue;
                }
                Op::JumpUnlessLessOrEqual { a, b, to } => {
                    pure::jump(&mut $pc, !pure::both($machine, a, b, |a, b| a <= b), to);
                    continue;
                }
                Op::Switch { a, table } => {
                    $pc = $program.switches[table as usize].target($machine.slots[a]) as usize;
                    continue;
                }
                Op::IntAdd { dst, a, b, bits } => {
                    pure::int($machine, [dst, a, b], bits, i64::overflowing_add)
                }
                Op::IntSubtract { dst, a, b, bits } => {
                    pure::int($machine, [dst, a, b], bits, i64::overflowing_sub)
                }
                Op::IntMultiply { dst, a, b, bits } => {
                    pure::int($machine, [dst, a, b], bits, i64::overflowing_mul)
                }
                Op::IntNarrow { dst, a, bits } => pure::int_narrow($machine, [dst, a], bits),
                Op::NumericAdd { dst, a, b, precision, scale } => {
                    let places = ([dst, a, b], [precision, scale]);
                    pure::numeric($machine, places, i64::checked_add, pure::wide_sum)
                }
                Op::NumericSubtract { dst, a, b, precision, scale } => {
                    let places = ([dst, a, b], [precision, scale]);
                    pure::numeric($machine, places, i64::checked_sub, pure::wide_difference)
                }
                Op::NumericMultiply { dst, a, b, precision, scale } => {
                    let places = ([dst, a, b], [precision, scale]);
                    pure::numeric($machine, places, i64::checked_mul, pure::wide_product)
                }
                Op::NumericFromInt { dst, a } => {
                    let a = $machine.slots[a];
                    let units = Datum::numeric(i128::from(a.as_int()));
                    $machine.slots[dst] = if a.is_null() { a } else { units };
                    continue;
                }
                Op::NumericNarrow { dst, a, precision, scale } => {
                    pure::numeric_narrow($machine, [dst, a], precision, scale)
                }
                Op::NotNull { a, table, column } => {
                    if !$machine.slots[a].is_null() {
                        continue;
                    }
                    Err(violation::not_null($program, table, column))
                }
                Op::SetFound { found } => {
                    $machine.slots[FOUND.0] = Datum::bool(found);
                    continue;
                }
                Op::Touched { rows } => {
                    pure::set_touched(&mut $machine.slots, u64::from(rows));
                    continue;
                }
                Op::EachNext { cursor, slot, to } => {
                    let next = pure::each_next($machine, cursor, slot);
                    next.map(|any| pure::jump(&mut $pc, any, to))
                }
                Op::RangeNext { state, slot, to } => {
                    let next = pure::range_next($machine, state, slot);
                    next.map(|any| pure::jump(&mut $pc, any, to))
                }
                Op::Element { dst, array, index } => {
                    pure::element($machine, [dst, array, index]);
                    continue;
                }
                Op::Call { call } => pure::call($program, call, $machine),
                Op::IntDivide { .. }
                | Op::NumericArithmetic { .. }
                | Op::FloatArithmetic { .. }
                | Op::Compare { .. }
                | Op::NotDistinct { .. }
                | Op::And { .. }
                | Op::Or { .. }
                | Op::Not { .. }
                | Op::IsNull { .. }
                | Op::Concat { .. }
                | Op::ArrayLength { .. }
                | Op::Cast { .. }
                | Op::RangeBegin { .. }
                | Op::EachBegin { .. }
                | Op::Keys { .. }
                | Op::KeysEnd { .. }
                | Op::Check { .. }
                | Op::Unprotect { .. }
                | Op::RaiseAgain { .. }
                | Op::Raise { .. }
                | Op::Notice { .. }
                | Op::Fail { .. } => match slow::pure($program, $pc - 1, $machine) {
                    Ok(next) => {
                        $pc = next;
                        continue;
                    }
                    Err(fault) => Err(fault),
                },
            };
            if let Err(fault) = done {
                break $ops fault;
            }
        }
    };
}

pub(super) use dispatch;

/// Goes on at `to`, if a jump is taken.
#[inline(always)]
pub(super) fn jump(pc: &mut usize, is_taken: bool, to: u32) {
    if is_taken {
        *pc = to as usize;
    }
}

/// Whether two integers satisfy a test; NULL makes it false.
#[inline(always)]
pub(super) fn both(machine: &Machine, a: u16, b: u16, test: fn(i64, i64) -> bool) -> bool {
    let (a, b) = (machine.slots[a], machine.slots[b]);
    Datum::are_ints(a, b) && test(a.as_int(), b.as_int())
}

/// Integer arithmetic in `bits` bits.
#[inline(always)]
pub(super) fn int(
    machine: &mut Machine,
    [dst, a, b]: [u16; 3],
    bits: u8,
    compute: fn(i64, i64) -> (i64, bool),
) -> Result<(), Fault> {
    let (a, b) = (machine.slots[a], machine.slots[b]);
    if !Datum::are_ints(a, b) {
        machine.slots[dst] = Datum::NULL;
        return Ok(());
    }
    let (value, overflow) = compute(a.as_int(), b.as_int());
    if overflow || !fits(value, bits) {
        return Err(Fault::IntRange { bits });
    }
    machine.slots[dst] = Datum::int(value);
    Ok(())
}

/// An integer in `bits` bits.
#[inline(always)]
pub(super) fn int_narrow(machine: &mut Machine, [dst, a]: [u16; 2], bits: u8) -> Result<(), Fault> {
    let a = machine.slots[a];
    // NULL's low half is 0, which fits.
    if !fits(a.as_int(), bits) {
        return Err(Fault::IntRange { bits });
    }
    machine.slots[dst] = a;
    Ok(())
}

/// A function call.
#[inline(always)]
pub(super) fn call(program: &Program, call: u16, machine: &mut Machine) -> Result<(), Fault> {
    let code = &program.calls[call as usize];
    let value = functions::call(machine, code)?;
    machine.slots[code.dst] = value;
    Ok(())
}

/// Numeric arithmetic: `small` of units that fit 64 bits, else `wide`, of NULL too. The result has
/// at most so many digits at that scale.
#[inline(always)]
pub(super) fn numeric(
    machine: &mut Machine,
    ([dst, a, b], [precision, scale]): ([u16; 3], [u8; 2]),
    small: fn(i64, i64) -> Option<i64>,
    wide: fn(Datum, Datum) -> Option<i128>,
) -> Result<(), Fault> {
    let (a, b) = (machine.slots[a], machine.slots[b]);
    if let (Some(a), Some(b)) = (a.as_small_numeric(), b.as_small_numeric())
        && let Some(units) = small(a, b)
        && units.unsigned_abs() <= greatest(precision)
    {
        machine.slots[dst] = Datum::numeric(i128::from(units));
        return Ok(());
    }
    machine.slots[dst] = wide_numeric(a, b, [precision, scale], wide)?;
    Ok(())
}

#[inline(never)]
fn wide_numeric(
    a: Datum,
    b: Datum,
    [precision, scale]: [u8; 2],
    wide: fn(Datum, Datum) -> Option<i128>,
) -> Result<Datum, Fault> {
    if a.is_null() || b.is_null() {
        return Ok(Datum::NULL);
    }
    let value = wide(a, b).and_then(numeric_of).ok_or(Fault::NumericRange)?;
    if !wide_is_narrow(value, precision) {
        return Err(numeric_overflow(precision, scale));
    }
    Ok(value)
}

pub(super) fn wide_sum(a: Datum, b: Datum) -> Option<i128> {
    a.as_numeric().checked_add(b.as_numeric())
}

pub(super) fn wide_difference(a: Datum, b: Datum) -> Option<i128> {
    a.as_numeric().checked_sub(b.as_numeric())
}

pub(super) fn wide_product(a: Datum, b: Datum) -> Option<i128> {
    decimal::mul(a.as_numeric(), 0, b.as_numeric(), 0, 0)
}

/// A numeric of at most `precision` digits.
#[inline(always)]
pub(super) fn numeric_narrow(
    machine: &mut Machine,
    [dst, a]: [u16; 2],
    precision: u8,
    scale: u8,
) -> Result<(), Fault> {
    let a = machine.slots[a];
    let is_narrow = match a.as_small_numeric() {
        Some(units) => units.unsigned_abs() <= greatest(precision),
        None => a.is_null() || wide_is_narrow(a, precision),
    };
    if !is_narrow {
        return Err(numeric_overflow(precision, scale));
    }
    machine.slots[dst] = a;
    Ok(())
}

/// The greatest magnitude of so many digits, as far as 64 bits hold it.
#[inline(always)]
const fn greatest(precision: u8) -> u64 {
    GREATEST[precision as usize % GREATEST.len()]
}

/// The greatest number of `n` digits, or of 64 bits. A power of two long, so that a remainder
/// proves an index to be in bounds.
const GREATEST: [u64; 64] = {
    let mut greatest = [u64::MAX; 64];
    let mut digits = 0;
    while POWERS_OF_TEN[digits] <= u64::MAX as i128 {
        greatest[digits] = POWERS_OF_TEN[digits] as u64 - 1;
        digits += 1;
    }
    greatest
};

#[inline(never)]
fn wide_is_narrow(a: Datum, precision: u8) -> bool {
    a.as_numeric().unsigned_abs() < POWERS_OF_TEN[usize::from(precision)].unsigned_abs()
}

/// The next element of a FOREACH; false at the end.
#[inline(always)]
pub(super) fn each_next(machine: &mut Machine, cursor: u16, slot: u16) -> Result<bool, Fault> {
    // Next element and end; they differ, so adding 1 to the pair adds it to the first.
    let pair = machine.slots[cursor];
    let rest = pair.as_range();
    if rest.start >= rest.len {
        return Ok(false);
    }
    machine.step()?;
    let Machine { slots, elements, .. } = machine;
    slots[slot] = elements[rest.start as usize];
    slots[cursor] = Datum::int(pair.as_int() + 1);
    Ok(true)
}

/// The next number of a FOR; false at the end.
#[inline(always)]
pub(super) fn range_next(machine: &mut Machine, state: u16, slot: u16) -> Result<bool, Fault> {
    let slots = &mut machine.slots;
    let left = slots[state + 1].as_int();
    if left == 0 {
        return Ok(false);
    }
    slots[state + 1] = Datum::int(left.wrapping_sub(1));
    let next = Datum::int(slots[state].as_int().wrapping_add(slots[state + 2].as_int()));
    slots[state] = next;
    slots[slot] = next;
    machine.step()?;
    Ok(true)
}

/// FOUND and the row count.
#[inline(always)]
pub(super) fn set_touched(slots: &mut Slots, rows: u64) {
    slots[FOUND.0] = Datum::bool(rows > 0);
    slots[ROW_COUNT.0] = Datum::int(rows as i64);
}

/// `array[index]`, from 1; NULL outside.
#[inline(always)]
pub(super) fn element(machine: &mut Machine, [dst, array, index]: [u16; 3]) {
    let (array, index) = (machine.slots[array], machine.slots[index]);
    let (range, at) = (array.as_range(), index.as_int().wrapping_sub(1) as u64);
    let is_there = Datum::are_ints(array, index) && at < u64::from(range.len);
    machine.slots[dst] = match is_there {
        true => machine.elements[range.start as usize + at as usize],
        false => element_of_shaped(array, index, &machine.elements),
    };
}

/// The same of an array that is not plain.
#[cold]
#[inline(never)]
fn element_of_shaped(array: Datum, index: Datum, elements: &[Datum]) -> Datum {
    if array.is_null() || array.dimensions() == 0 || index.is_null() {
        return Datum::NULL;
    }
    let place = ArrayShape::of_list(array, elements).place(&[index.as_int()]);
    place.map_or(Datum::NULL, |place| elements[array.as_range().range()][place])
}

/// Whether `value` is an integer of `bits` bits.
#[inline(always)]
pub(crate) const fn fits(value: i64, bits: u8) -> bool {
    let spare = (64 - bits as u32) & 63;
    (value << spare) >> spare == value
}

/// One more than the largest magnitude of a numeric.
const NUMERIC_LIMIT: u128 = 10_u128.pow(38);

/// A numeric of at most 38 digits.
#[inline]
pub(super) fn numeric_of(units: i128) -> Option<Datum> {
    (units.unsigned_abs() < NUMERIC_LIMIT).then(|| Datum::numeric(units))
}

/// Order of two datums that are not NULL.
#[inline]
pub(crate) fn compare(kind: CompareKind, a: Datum, b: Datum, heap: &[u8]) -> Ordering {
    match kind {
        CompareKind::Int => a.as_int().cmp(&b.as_int()),
        CompareKind::Numeric => a.as_numeric().cmp(&b.as_numeric()),
        CompareKind::AnyNumeric => {
            any_numeric::compare(&heap[a.as_range().range()], &heap[b.as_range().range()])
        }
        CompareKind::Float => compare_floats(a.as_float(), b.as_float()),
        CompareKind::Interval => a.as_interval().span().cmp(&b.as_interval().span()),
        CompareKind::Array => {
            packed::compare(&heap[a.as_range().range()], &heap[b.as_range().range()])
        }
        CompareKind::Row => {
            packed::compare_rows(&heap[a.as_range().range()], &heap[b.as_range().range()])
        }
        CompareKind::Folded => {
            fold::compare(&heap[a.as_range().range()], &heap[b.as_range().range()])
        }
        CompareKind::Bytes => heap[a.as_range().range()].cmp(&heap[b.as_range().range()]),
    }
}

/// PostgreSQL's order of floats: NaN equals itself and is greatest; -0 equals 0.
fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Whether an order satisfies an operator.
#[inline]
pub(crate) fn satisfies(op: CompareOp, ordering: Ordering) -> bool {
    match op {
        CompareOp::Equal => ordering.is_eq(),
        CompareOp::NotEqual => ordering.is_ne(),
        CompareOp::Less => ordering.is_lt(),
        CompareOp::LessOrEqual => ordering.is_le(),
        CompareOp::Greater => ordering.is_gt(),
        CompareOp::GreaterOrEqual => ordering.is_ge(),
    }
}

/// Division and modulo of integers.
pub(super) fn divide(a: i64, b: i64, bits: u8, op: ArithmeticOp) -> Result<i64, Fault> {
    if b == 0 {
        return Err(Fault::DivisionByZero);
    }
    match op {
        ArithmeticOp::Modulo => Ok(a.wrapping_rem(b)),
        _ => a.checked_div(b).filter(|&value| fits(value, bits)).ok_or(Fault::IntRange { bits }),
    }
}
