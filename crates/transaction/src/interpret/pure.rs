//! The hot instructions: those on slots alone that are short enough for the dispatch loops.

use std::cmp::Ordering;

use hotrow_base::datum::Datum;
use hotrow_base::decimal::{self, POWERS_OF_TEN};

use super::Fault;
use crate::bytecode::CompareKind;
use crate::frame::Machine;
use crate::functions::cast::numeric_overflow;
use crate::program::{ArithmeticOp, CompareOp};

/// One `match` over the hot instructions and the caller's own arms, so that each instruction is
/// told apart once. Gives the position of the next instruction, or why this one failed.
macro_rules! dispatch {
    ($op:expr, $at:expr, $machine:expr, { $($own:tt)* }, $other:expr) => {{
        let at: usize = $at;
        let jump = |is_taken: bool, to: u32| if is_taken { to as usize } else { at + 1 };
        match *$op {
            $($own)*
            Op::Move { dst, a } => {
                let slots = &mut $machine.slots[..];
                slots[dst as usize] = slots[a as usize];
                Ok(at + 1)
            }
            Op::Jump { to } => Ok(to as usize),
            Op::JumpIfTrue { a, to } => Ok(jump($machine.slots[a as usize].is_true(), to)),
            Op::JumpIfNotTrue { a, to } => Ok(jump(!$machine.slots[a as usize].is_true(), to)),
            Op::JumpIfFalse { a, to } => {
                Ok(jump($machine.slots[a as usize] == Datum::FALSE, to))
            }
            Op::JumpIfNull { a, to } => Ok(jump($machine.slots[a as usize].is_null(), to)),
            Op::JumpIfNotNull { a, to } => Ok(jump(!$machine.slots[a as usize].is_null(), to)),
            Op::JumpUnlessEqual { a, b, to } => {
                Ok(jump(!pure::both($machine, a, b, |a, b| a == b), to))
            }
            Op::JumpUnlessNotEqual { a, b, to } => {
                Ok(jump(!pure::both($machine, a, b, |a, b| a != b), to))
            }
            Op::JumpUnlessLess { a, b, to } => {
                Ok(jump(!pure::both($machine, a, b, |a, b| a < b), to))
            }
            Op::JumpUnlessLessOrEqual { a, b, to } => {
                Ok(jump(!pure::both($machine, a, b, |a, b| a <= b), to))
            }
            Op::IntAdd { dst, a, b, bits } => {
                pure::int($machine, [dst, a, b], bits, i64::overflowing_add).map(|()| at + 1)
            }
            Op::IntSubtract { dst, a, b, bits } => {
                pure::int($machine, [dst, a, b], bits, i64::overflowing_sub).map(|()| at + 1)
            }
            Op::IntMultiply { dst, a, b, bits } => {
                pure::int($machine, [dst, a, b], bits, i64::overflowing_mul).map(|()| at + 1)
            }
            Op::NumericAdd { dst, a, b } => {
                pure::numeric_sum($machine, [dst, a, b], i128::checked_add).map(|()| at + 1)
            }
            Op::NumericSubtract { dst, a, b } => {
                pure::numeric_sum($machine, [dst, a, b], i128::checked_sub).map(|()| at + 1)
            }
            Op::NumericMultiply { dst, a, b } => {
                pure::numeric_product($machine, [dst, a, b]).map(|()| at + 1)
            }
            Op::NumericFromInt { dst, a } => {
                let slots = &mut $machine.slots[..];
                let a = slots[a as usize];
                let is_null = a.is_null();
                let units = Datum::numeric(i128::from(a.as_int()));
                slots[dst as usize] = if is_null { a } else { units };
                Ok(at + 1)
            }
            Op::NumericNarrow { dst, a, precision, scale } => {
                pure::numeric_narrow($machine, [dst, a], precision, scale).map(|()| at + 1)
            }
            Op::SetFound { found } => {
                $machine.slots[FOUND.index()] = Datum::bool(found);
                Ok(at + 1)
            }
            Op::Touched { rows } => {
                pure::set_touched(&mut $machine.slots, u64::from(rows));
                Ok(at + 1)
            }
            Op::EachNext { cursor, slot, to } => {
                pure::each_next($machine, cursor, slot).map(|any| jump(any, to))
            }
            Op::RangeNext { state, slot, reverse, to } => {
                pure::range_next($machine, state, slot, reverse).map(|any| jump(any, to))
            }
            Op::Element { dst, array, index } => {
                pure::element($machine, [dst, array, index]);
                Ok(at + 1)
            }
            _ => $other,
        }
    }};
}

pub(super) use dispatch;

/// Whether two integers satisfy a test; NULL makes it false.
#[inline(always)]
pub(super) fn both(machine: &Machine, a: u16, b: u16, test: fn(i64, i64) -> bool) -> bool {
    let (a, b) = (machine.slots[a as usize], machine.slots[b as usize]);
    !a.is_null() && !b.is_null() && test(a.as_int(), b.as_int())
}

/// Integer arithmetic in `bits` bits.
#[inline(always)]
pub(super) fn int(
    machine: &mut Machine,
    [dst, a, b]: [u16; 3],
    bits: u8,
    compute: fn(i64, i64) -> (i64, bool),
) -> Result<(), Fault> {
    let slots = &mut machine.slots[..];
    let (a, b) = (slots[a as usize], slots[b as usize]);
    let value = if a.is_null() || b.is_null() {
        Datum::NULL
    } else {
        let (value, overflow) = compute(a.as_int(), b.as_int());
        if overflow || !fits(value, bits) {
            return Err(Fault::IntRange { bits });
        }
        Datum::int(value)
    };
    slots[dst as usize] = value;
    Ok(())
}

/// Numeric addition or subtraction in one scale.
#[inline(always)]
pub(super) fn numeric_sum(
    machine: &mut Machine,
    [dst, a, b]: [u16; 3],
    compute: fn(i128, i128) -> Option<i128>,
) -> Result<(), Fault> {
    let slots = &mut machine.slots[..];
    let (a, b) = (slots[a as usize], slots[b as usize]);
    slots[dst as usize] = if a.is_null() || b.is_null() {
        Datum::NULL
    } else {
        let sum = compute(a.as_numeric(), b.as_numeric());
        sum.and_then(numeric).ok_or(Fault::NumericRange)?
    };
    Ok(())
}

/// Product of two numerics whose scales add up.
#[inline(always)]
pub(super) fn numeric_product(machine: &mut Machine, [dst, a, b]: [u16; 3]) -> Result<(), Fault> {
    let slots = &mut machine.slots[..];
    let (a, b) = (slots[a as usize], slots[b as usize]);
    slots[dst as usize] = if a.is_null() || b.is_null() {
        Datum::NULL
    } else if let (Some(a), Some(b)) = (a.as_small_numeric(), b.as_small_numeric()) {
        // Below 2^126.
        numeric(i128::from(a) * i128::from(b)).ok_or(Fault::NumericRange)?
    } else {
        let product = decimal::mul(a.as_numeric(), 0, b.as_numeric(), 0, 0);
        product.map(Datum::numeric).ok_or(Fault::NumericRange)?
    };
    Ok(())
}

/// A numeric of at most `precision` digits.
#[inline(always)]
pub(super) fn numeric_narrow(
    machine: &mut Machine,
    [dst, a]: [u16; 2],
    precision: u8,
    scale: u8,
) -> Result<(), Fault> {
    let slots = &mut machine.slots[..];
    let a = slots[a as usize];
    let limit = POWERS_OF_TEN[usize::from(precision)].unsigned_abs();
    if !a.is_null() && a.as_numeric().unsigned_abs() >= limit {
        return Err(numeric_overflow(precision, scale));
    }
    slots[dst as usize] = a;
    Ok(())
}

/// The next element of a FOREACH; false at the end.
#[inline(always)]
pub(super) fn each_next(machine: &mut Machine, cursor: u16, slot: u16) -> Result<bool, Fault> {
    let Machine { slots, elements, steps_left, .. } = machine;
    let slots = &mut slots[..];
    // Next element and end; they differ, so adding 1 to the pair adds it to the first.
    let pair = slots[cursor as usize];
    let rest = pair.as_range();
    if rest.start >= rest.len {
        return Ok(false);
    }
    if *steps_left == 0 {
        return Err(Fault::StepBudget);
    }
    *steps_left -= 1;
    slots[slot as usize] = elements[rest.start as usize];
    slots[cursor as usize] = Datum::int(pair.as_int() + 1);
    Ok(true)
}

/// The next number of a FOR; false at the end.
#[inline(always)]
pub(super) fn range_next(
    machine: &mut Machine,
    state: u16,
    slot: u16,
    reverse: bool,
) -> Result<bool, Fault> {
    let slots = &mut machine.slots[..];
    let [counter, end, stride] = [0, 1, 2].map(|i| slots[state as usize + i].as_int());
    let next = if reverse {
        counter.checked_sub(stride).filter(|&next| next >= end)
    } else {
        counter.checked_add(stride).filter(|&next| next <= end)
    };
    let Some(next) = next else { return Ok(false) };
    slots[state as usize] = Datum::int(next);
    slots[slot as usize] = Datum::int(next);
    machine.step()?;
    Ok(true)
}

/// FOUND and the row count.
#[inline(always)]
pub(super) fn set_touched(slots: &mut [Datum], rows: u64) {
    // Every program has these slots; asked once instead of twice.
    if let [found, _now, row_count, ..] = slots {
        *found = Datum::bool(rows > 0);
        *row_count = Datum::int(rows as i64);
    }
}

/// `array[index]`, from 1; NULL outside.
#[inline(always)]
pub(super) fn element(machine: &mut Machine, [dst, array, index]: [u16; 3]) {
    let (array, index) = (machine.slots[array as usize], machine.slots[index as usize]);
    let value = if array.is_null() || index.is_null() {
        Datum::NULL
    } else {
        let range = array.as_range();
        match usize::try_from(index.as_int().wrapping_sub(1)) {
            Ok(i) if i < range.len as usize => machine.elements[range.start as usize + i],
            _ => Datum::NULL,
        }
    };
    machine.slots[dst as usize] = value;
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
pub(super) fn numeric(units: i128) -> Option<Datum> {
    (units.unsigned_abs() < NUMERIC_LIMIT).then(|| Datum::numeric(units))
}

/// Order of two datums that are not NULL.
#[inline]
pub(crate) fn compare(kind: CompareKind, a: Datum, b: Datum, heap: &[u8]) -> Ordering {
    match kind {
        CompareKind::Int => a.as_int().cmp(&b.as_int()),
        CompareKind::Numeric => a.as_numeric().cmp(&b.as_numeric()),
        CompareKind::Float => compare_floats(a.as_float(), b.as_float()),
        CompareKind::Bytes => heap[a.as_range().range()].cmp(&heap[b.as_range().range()]),
    }
}

/// PostgreSQL's order of floats: NaN equals itself and is greatest; -0 equals 0.
fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Whether an order satisfies an operator.
#[inline]
pub(super) fn satisfies(op: CompareOp, ordering: Ordering) -> bool {
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
