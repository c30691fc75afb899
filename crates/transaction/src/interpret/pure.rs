//! The hot loop: instructions on slots alone.

use std::cmp::Ordering;

use hotrow_base::datum::Datum;

use super::Fault;
use crate::bytecode::{CompareKind, Op, Program};
use crate::frame::Machine;
use crate::program::{ArithmeticOp, CompareOp};

/// Why the hot loop was left. The commonest accesses have variants of their own, so that they are
/// told apart only once.
pub(super) enum Exit {
    Point { at: usize, site: u16, last: bool, missing: u32 },
    Bump { at: usize, site: u16, missing: u32 },
    Update { at: usize, site: u16, last: bool },
    Keep,
    Other { at: usize },
}

/// Runs from `pc` to the first instruction this loop does not know, whose position it returns.
///
/// Errors: the position of the instruction that failed, and why.
#[inline(always)]
pub(super) fn run_hot(
    program: &Program,
    mut pc: usize,
    machine: &mut Machine,
) -> Result<Exit, (usize, Fault)> {
    let code = &program.code[..];
    let Machine { slots, elements, steps_left, .. } = machine;
    let slots = &mut slots[..];
    // Condition of a jump on two integers; NULL makes it false.
    macro_rules! unless {
        ($a:expr, $b:expr, $to:expr, $test:tt) => {{
            let (a, b) = (slots[$a as usize], slots[$b as usize]);
            if a.is_null() || b.is_null() || !(a.as_int() $test b.as_int()) {
                pc = $to as usize;
                continue;
            }
        }};
    }
    macro_rules! int {
        ($dst:expr, $a:expr, $b:expr, $bits:expr, $method:ident) => {{
            let (a, b) = (slots[$a as usize], slots[$b as usize]);
            let value = if a.is_null() || b.is_null() {
                Datum::NULL
            } else {
                let (value, overflow) = a.as_int().$method(b.as_int());
                if overflow || !fits(value, $bits) {
                    return Err((pc, Fault::IntRange { bits: $bits }));
                }
                Datum::int(value)
            };
            slots[$dst as usize] = value;
        }};
    }
    macro_rules! step {
        () => {{
            if *steps_left == 0 {
                return Err((pc, Fault::StepBudget));
            }
            *steps_left -= 1;
        }};
    }
    loop {
        match code[pc] {
            Op::Move { dst, a } => slots[dst as usize] = slots[a as usize],
            Op::Jump { to } => {
                pc = to as usize;
                continue;
            }
            Op::JumpIfTrue { a, to } => {
                if slots[a as usize].is_true() {
                    pc = to as usize;
                    continue;
                }
            }
            Op::JumpIfNotTrue { a, to } => {
                if !slots[a as usize].is_true() {
                    pc = to as usize;
                    continue;
                }
            }
            Op::JumpIfFalse { a, to } => {
                if slots[a as usize] == Datum::FALSE {
                    pc = to as usize;
                    continue;
                }
            }
            Op::JumpIfNull { a, to } => {
                if slots[a as usize].is_null() {
                    pc = to as usize;
                    continue;
                }
            }
            Op::JumpIfNotNull { a, to } => {
                if !slots[a as usize].is_null() {
                    pc = to as usize;
                    continue;
                }
            }
            Op::JumpUnlessEqual { a, b, to } => unless!(a, b, to, ==),
            Op::JumpUnlessNotEqual { a, b, to } => unless!(a, b, to, !=),
            Op::JumpUnlessLess { a, b, to } => unless!(a, b, to, <),
            Op::JumpUnlessLessOrEqual { a, b, to } => unless!(a, b, to, <=),
            Op::IntAdd { dst, a, b, bits } => int!(dst, a, b, bits, overflowing_add),
            Op::IntSubtract { dst, a, b, bits } => int!(dst, a, b, bits, overflowing_sub),
            Op::IntMultiply { dst, a, b, bits } => int!(dst, a, b, bits, overflowing_mul),
            Op::NumericAdd { dst, a, b } => {
                let (a, b) = (slots[a as usize], slots[b as usize]);
                match numeric_sum(a, b, i128::checked_add) {
                    Some(value) => slots[dst as usize] = value,
                    None => return Err((pc, Fault::NumericRange)),
                }
            }
            Op::NumericSubtract { dst, a, b } => {
                let (a, b) = (slots[a as usize], slots[b as usize]);
                match numeric_sum(a, b, i128::checked_sub) {
                    Some(value) => slots[dst as usize] = value,
                    None => return Err((pc, Fault::NumericRange)),
                }
            }
            Op::SetFound { found } => slots[0] = Datum::bool(found),
            Op::Touched { rows } => {
                slots[0] = Datum::bool(rows > 0);
                slots[2] = Datum::int(i64::from(rows));
            }
            Op::EachNext { cursor, slot, to } => {
                let rest = slots[cursor as usize].as_range();
                if rest.len > 0 {
                    step!();
                    slots[slot as usize] = elements[rest.start as usize];
                    slots[cursor as usize] = Datum::range(rest.start + 1, rest.len - 1);
                    pc = to as usize;
                    continue;
                }
            }
            Op::RangeNext { state, slot, reverse, to } => {
                let [counter, end, stride] = [0, 1, 2].map(|i| slots[state as usize + i].as_int());
                let next = if reverse {
                    counter.checked_sub(stride).filter(|&next| next >= end)
                } else {
                    counter.checked_add(stride).filter(|&next| next <= end)
                };
                if let Some(next) = next {
                    step!();
                    slots[state as usize] = Datum::int(next);
                    slots[slot as usize] = Datum::int(next);
                    pc = to as usize;
                    continue;
                }
            }
            Op::Element { dst, array, index } => {
                slots[dst as usize] =
                    element(slots[array as usize], slots[index as usize], elements);
            }
            Op::Point { site, last, missing } => {
                return Ok(Exit::Point { at: pc, site, last, missing });
            }
            Op::Bump { site, missing } => return Ok(Exit::Bump { at: pc, site, missing }),
            Op::Update { site, last } => return Ok(Exit::Update { at: pc, site, last }),
            Op::RowKeep => return Ok(Exit::Keep),
            _ => return Ok(Exit::Other { at: pc }),
        }
        pc += 1;
    }
}

/// `array[index]`, from 1; NULL outside.
#[inline]
fn element(array: Datum, index: Datum, elements: &[Datum]) -> Datum {
    if array.is_null() || index.is_null() {
        return Datum::NULL;
    }
    let range = array.as_range();
    match usize::try_from(index.as_int() - 1) {
        Ok(i) if i < range.len as usize => elements[range.start as usize + i],
        _ => Datum::NULL,
    }
}

/// Whether `value` is an integer of `bits` bits.
#[inline(always)]
pub(crate) const fn fits(value: i64, bits: u8) -> bool {
    let spare = (64 - bits as u32) & 63;
    (value << spare) >> spare == value
}

/// One more than the largest magnitude of a numeric.
const NUMERIC_LIMIT: u128 = 10_u128.pow(38);

#[inline]
fn numeric_sum(a: Datum, b: Datum, sum: fn(i128, i128) -> Option<i128>) -> Option<Datum> {
    if a.is_null() || b.is_null() {
        return Some(Datum::NULL);
    }
    sum(a.as_numeric(), b.as_numeric()).and_then(numeric)
}

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
