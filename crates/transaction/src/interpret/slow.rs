//! The other instructions: those that are rarer, longer or need the frame.

use hotrow_base::datum::Datum;
use hotrow_base::decimal;
use hotrow_base::shape::ArrayShape;

use crate::bytecode::{Failure, ListCode, ListSlots, Op, Program};
use crate::frame::{Frame, Machine};
use crate::functions;
use crate::outcome::{Notice, SqlError};
use crate::program::ArithmeticOp;

use super::pure::{compare, divide, satisfies};
use super::{protect, violation};
use crate::fault::Fault;

/// Loads the next row of a loop; false when there is none.
#[inline(never)]
pub(super) fn next_row(program: &Program, number: u16, frame: &mut Frame) -> Result<bool, Fault> {
    let code = &program.loops[number as usize];
    let set = &mut frame.row_sets[code.rows.0 as usize];
    let start = set.next * code.into.len();
    let Some(row) = set.datums.get(start..start + code.into.len()).filter(|row| !row.is_empty())
    else {
        return Ok(false);
    };
    for (&slot, &value) in code.into.iter().zip(row) {
        frame.machine.slots[slot] = value;
    }
    set.next += 1;
    frame.machine.step()?;
    frame.machine.check_heap()?;
    Ok(true)
}

/// Takes the step of another turn of a loop without a bound. Planning runs few of them ahead: what
/// ends the loop may be what the call itself writes, which trial reads do not find.
#[inline(never)]
pub(super) fn another_turn(frame: &mut Frame, is_ahead: bool) -> Result<(), Fault> {
    frame.machine.step()?;
    if is_ahead {
        frame.machine.turn_ahead()?;
    }
    frame.machine.check_heap()
}

/// Runs the pure instruction at `at`; returns the next position.
#[inline(never)]
pub(super) fn pure(program: &Program, at: usize, machine: &mut Machine) -> Result<usize, Fault> {
    let op = program.code[at];
    let slot = |slot: u16| machine.slots[slot];
    let (dst, value) = match op {
        Op::IntDivide { dst, a, b, bits, op } => (dst, int_divide(slot(a), slot(b), bits, op)?),
        Op::NumericArithmetic { dst, a, b, op, a_scale, b_scale, scale } => {
            (dst, numeric(slot(a), slot(b), op, [a_scale, b_scale, scale])?)
        }
        Op::FloatArithmetic { dst, a, b, op, real } => (dst, float(slot(a), slot(b), op, real)?),
        Op::Compare { dst, a, b, op, kind } => {
            let (a, b) = (slot(a), slot(b));
            let value = if a.is_null() || b.is_null() {
                Datum::NULL
            } else {
                Datum::bool(satisfies(op, compare(kind, a, b, &machine.heap)))
            };
            (dst, value)
        }
        Op::NotDistinct { dst, a, b, kind } => {
            let order = super::order::compare_nulls_equal(kind, slot(a), slot(b), &machine.heap);
            (dst, Datum::bool(order.is_eq()))
        }
        Op::And { dst, a, b } => (dst, and(slot(a), slot(b))),
        Op::Or { dst, a, b } => (dst, not(and(not(slot(a)), not(slot(b))))),
        Op::Not { dst, a } => (dst, not(slot(a))),
        Op::IsNull { dst, a } => (dst, Datum::bool(slot(a).is_null())),
        Op::ArrayLength { dst, array, empty_is_null } => {
            (dst, array_length(slot(array), empty_is_null, &machine.elements))
        }
        Op::Concat { dst, a, b } => {
            let (a, b) = (slot(a), slot(b));
            let value = if a.is_null() || b.is_null() {
                Datum::NULL
            } else {
                functions::text::concat(machine, a, b)?
            };
            (dst, value)
        }
        Op::Cast { dst, a, cast } => {
            let code = program.casts[cast as usize];
            (dst, functions::cast::cast(machine, slot(a), code.from, code.to)?)
        }
        other => return control(program, at, other, machine),
    };
    machine.slots[dst] = value;
    Ok(at + 1)
}

/// Loops' beginnings and errors.
fn control(program: &Program, at: usize, op: Op, machine: &mut Machine) -> Result<usize, Fault> {
    match op {
        Op::RangeBegin { state, slot, reverse, to } => {
            if !range_begin(machine, state, reverse)? {
                return Ok(to as usize);
            }
            machine.slots[slot] = machine.slots[state];
        }
        Op::EachBegin { array, cursor, slot, to } => {
            let array = machine.slots[array];
            if array.is_null() {
                return Err(Fault::new(b"22004", "FOREACH expression must not be null"));
            }
            let range = array.as_range();
            if range.len == 0 {
                return Ok(to as usize);
            }
            machine.step()?;
            machine.slots[slot] = machine.elements[range.start as usize];
            // Next element and end; see EachNext.
            let end = range.start + range.len;
            machine.slots[cursor] = Datum::range(range.start + 1, end);
        }
        Op::Keys { dst, list } => {
            machine.slots[dst] = keys(&program.lists[list as usize], machine);
        }
        Op::KeysEnd { keys } => {
            let start = machine.slots[keys].as_range().start;
            machine.elements.truncate(start as usize);
        }
        Op::Check { a, check } => {
            if machine.slots[a] == Datum::FALSE {
                return Err(violation::check(program, check, machine));
            }
        }
        Op::Unprotect { depth } => machine.protected.truncate(usize::from(depth)),
        Op::RaiseAgain { caught } => return Err(protect::again(machine, caught)),
        Op::Raise { raise } => functions::raise::raise(program, raise, machine)?,
        Op::Notice { level, raise } => {
            let said = functions::raise::error(program, raise, machine)?;
            machine.tell(Notice { level, said })?;
        }
        Op::Fail { failure } => {
            return Err(match failure {
                Failure::NoDataFound => SqlError::new(b"P0002", "query returned no rows"),
                Failure::NoReturn => {
                    SqlError::new(b"2F005", "control reached end of function without RETURN")
                }
            }
            .into());
        }
        other => unreachable!("{other:?} is not an instruction of pure code"),
    }
    Ok(at + 1)
}

/// The distinct values of a list, sorted, as an array behind all others.
fn keys(list: &ListCode, machine: &mut Machine) -> Datum {
    let Machine { slots, elements, heap, .. } = machine;
    let start = elements.len();
    match &list.of {
        ListSlots::Values(values) => elements.extend(values.iter().map(|&value| slots[value])),
        ListSlots::Array(array) if slots[*array].is_null() => {}
        ListSlots::Array(array) => elements.extend_from_within(slots[*array].as_range().range()),
    }
    let mut end = start;
    for at in start..elements.len() {
        if !elements[at].is_null() {
            elements[end] = elements[at];
            end += 1;
        }
    }
    elements.truncate(end);
    let order = |a: &Datum, b: &Datum| compare(list.kind, *a, *b, heap);
    elements[start..].sort_unstable_by(|a, b| match list.descending {
        false => order(a, b),
        true => order(b, a),
    });
    let mut end = start;
    for at in start..elements.len() {
        if at == start || order(&elements[at], &elements[end - 1]).is_ne() {
            elements[end] = elements[at];
            end += 1;
        }
    }
    elements.truncate(end);
    Datum::range(start as u32, (end - start) as u32)
}

/// Checks a FOR loop's bounds and counts its iterations; false when there is none.
fn range_begin(machine: &mut Machine, state: u16, reverse: bool) -> Result<bool, Fault> {
    let [from, to, by] = [0, 1, 2].map(|i| machine.slots[state + i]);
    for (value, name) in [(from, "lower bound"), (to, "upper bound"), (by, "BY value")] {
        if value.is_null() {
            return Err(Fault::new(b"22004", format!("{name} of FOR loop cannot be null")));
        }
    }
    let [from, to, by] = [from, to, by].map(Datum::as_int);
    if by <= 0 {
        return Err(Fault::new(b"22023", "BY value of FOR loop must be greater than zero"));
    }
    let (low, high) = if reverse { (to, from) } else { (from, to) };
    if low > high {
        return Ok(false);
    }
    // The distance fits 64 bits without a sign, and so does the number of steps.
    let left = (high.wrapping_sub(low) as u64 / by as u64) as i64;
    machine.slots[state + 1] = Datum::int(left);
    machine.slots[state + 2] = Datum::int(if reverse { -by } else { by });
    machine.step()?;
    Ok(true)
}

fn int_divide(a: Datum, b: Datum, bits: u8, op: ArithmeticOp) -> Result<Datum, Fault> {
    if a.is_null() || b.is_null() {
        return Ok(Datum::NULL);
    }
    divide(a.as_int(), b.as_int(), bits, op).map(Datum::int)
}

fn numeric(
    a: Datum,
    b: Datum,
    op: ArithmeticOp,
    [a_scale, b_scale, scale]: [u8; 3],
) -> Result<Datum, Fault> {
    if a.is_null() || b.is_null() {
        return Ok(Datum::NULL);
    }
    let (a, b) = (a.as_numeric(), b.as_numeric());
    let wide = a_scale.max(b_scale);
    let to_scale = |units: i128| decimal::rescale(units, wide, scale);
    let units = match op {
        ArithmeticOp::Add => decimal::add(a, a_scale, b, b_scale).and_then(to_scale),
        ArithmeticOp::Subtract => decimal::sub(a, a_scale, b, b_scale).and_then(to_scale),
        ArithmeticOp::Multiply => decimal::mul(a, a_scale, b, b_scale, scale),
        ArithmeticOp::Divide | ArithmeticOp::Modulo if b == 0 => {
            return Err(Fault::DivisionByZero);
        }
        ArithmeticOp::Divide => decimal::div(a, a_scale, b, b_scale, scale),
        ArithmeticOp::Modulo => decimal::rem(a, a_scale, b, b_scale).and_then(to_scale),
    };
    units.map(Datum::numeric).ok_or(Fault::NumericRange)
}

fn float(a: Datum, b: Datum, op: ArithmeticOp, real: bool) -> Result<Datum, Fault> {
    if a.is_null() || b.is_null() {
        return Ok(Datum::NULL);
    }
    let (a, b) = (a.as_float(), b.as_float());
    let value = match op {
        ArithmeticOp::Add => a + b,
        ArithmeticOp::Subtract => a - b,
        ArithmeticOp::Multiply => a * b,
        ArithmeticOp::Divide | ArithmeticOp::Modulo if b == 0.0 && !a.is_nan() => {
            return Err(Fault::DivisionByZero);
        }
        ArithmeticOp::Divide => a / b,
        ArithmeticOp::Modulo => a % b,
    };
    // Two operations on 32-bit operands in 64 bits, then one rounding: the same as in 32 bits.
    let value = if real { f64::from(value as f32) } else { value };
    if value.is_infinite() && a.is_finite() && b.is_finite() {
        return Err(Fault::FloatOverflow);
    }
    let vanishes = match op {
        ArithmeticOp::Multiply => a != 0.0 && b != 0.0,
        ArithmeticOp::Divide => a != 0.0 && b.is_finite(),
        _ => false,
    };
    if value == 0.0 && vanishes {
        return Err(Fault::FloatUnderflow);
    }
    Ok(Datum::float(value))
}

fn array_length(array: Datum, empty_is_null: bool, elements: &[Datum]) -> Datum {
    if array.is_null() {
        return Datum::NULL;
    }
    match array.as_range().len {
        0 if empty_is_null => Datum::NULL,
        _ if empty_is_null && array.dimensions() > 0 => {
            let shape = ArrayShape::of_list(array, elements);
            let first = shape.dimensions().first();
            first.map_or(Datum::NULL, |first| Datum::int(first.length.into()))
        }
        len => Datum::int(i64::from(len)),
    }
}

/// Three-valued AND.
fn and(a: Datum, b: Datum) -> Datum {
    if a == Datum::FALSE || b == Datum::FALSE {
        Datum::FALSE
    } else if a.is_null() || b.is_null() {
        Datum::NULL
    } else {
        Datum::TRUE
    }
}

fn not(a: Datum) -> Datum {
    if a.is_null() { a } else { Datum::bool(!a.is_true()) }
}
