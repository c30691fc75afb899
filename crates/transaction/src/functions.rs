//! Scalar functions and conversions, on datums.
//!
//! Role         called by the interpreter for everything that is not arithmetic or comparison;
//!              semantics are PostgreSQL 15's, differences are said at each function
//! Invariants   I1 results lie at the end of the machine's heap; nothing is allocated but the
//!                 heap's growth and errors (exceptions: casts from text, lower, upper, json,
//!                 templates)
//!              I2 what is appended was made room for, which charges it ([`Machine::reserve`]), and
//!                 what goes over texts says how far ([`Machine::went`]): it can be interrupted

mod array;
pub mod cast;
mod format;
pub(crate) mod hash;
mod json;
mod like;
mod matches;
mod number;
pub(crate) mod numeric;
pub mod raise;
mod random;
mod real;
mod recode;
mod row;
mod shaped;
mod template;
pub mod text;
mod text_pad;
pub mod time;
mod valued;

use std::cmp::Ordering;

use hotrow_base::datum::Datum;
use hotrow_base::panics;
use hotrow_base::shape::{ArrayShape, DIMENSIONS_MAX};
use hotrow_base::types::DataType;

use crate::bytecode::{CallCode, CompareKind};
use crate::fault::Fault;
use crate::frame::Machine;
use crate::interpret::compare;
use crate::outcome::apart;
use crate::program::{Function, IntervalFunction};

/// Calls a function on slots. A panic in it is the call's error: a function reads slots and the
/// heap, which are the call's own and forgotten with it, and appends to the heap.
#[inline(never)]
pub fn call(machine: &mut Machine, code: &CallCode) -> Result<Datum, Fault> {
    apart(|| call_here(machine, code))
}

fn call_here(machine: &mut Machine, code: &CallCode) -> Result<Datum, Fault> {
    panics::point::reach("function");
    match code.function {
        Function::Greatest => return choose(machine, code, Ordering::Greater),
        Function::Least => return choose(machine, code, Ordering::Less),
        Function::Concat => return text::concat_all(machine, code),
        Function::ConcatWs => return text::join(machine, code),
        Function::Format => return format::call(machine, code),
        Function::NullIf => return Ok(null_if(machine, code)),
        Function::Require => return required(machine, code),
        Function::SatisfiesHash => return hash::satisfies(machine, code),
        Function::ElementOf => return Ok(element_of(machine, code)),
        Function::Leaves => return Ok(Datum::int(machine.leaves as i64)),
        Function::ArrayAppend => return appended(machine, code),
        Function::ArrayCast => return array_cast(machine, code),
        Function::Position => return text::position(machine, code),
        Function::MakeTimestamp => return time::make_timestamp(machine, code),
        Function::InZone => return time::in_zone(machine, code),
        Function::DateTrunc if code.arguments.len() == 3 => {
            return time::trunc_in_zone(machine, code);
        }
        Function::Interval(IntervalFunction::Make) => return time::make_interval(machine, code),
        Function::Array(function) => return array::call(machine, code, function),
        Function::Json(function) => return json::call(machine, code, function),
        Function::Range(function) => return valued::of_ranges(machine, code, function),
        Function::Row(function) => return row::call(machine, code, function),
        Function::Encoded(function) => return valued::of_encoded(machine, code, function),
        Function::Random(what) => return random::call(machine, code, what),
        _ => {}
    }
    let mut arguments = [Datum::NULL; 3];
    let count = code.arguments.len().min(3);
    for (argument, (slot, _)) in arguments.iter_mut().zip(code.arguments.iter()) {
        *argument = machine.slots[*slot];
        if argument.is_null() {
            return Ok(Datum::NULL);
        }
    }
    let arguments = &arguments[..count];
    let is_any_numeric = |(_, of): &(u16, DataType)| of.is_any_numeric();
    match code.function {
        Function::Numeric(_) => numeric::call(machine, code, arguments),
        Function::Abs
        | Function::Floor
        | Function::Ceil
        | Function::Round
        | Function::Trunc
        | Function::Sign
        | Function::Sqrt
        | Function::Power
        | Function::Exp
        | Function::Ln
        | Function::Mod
            if code.result.is_any_numeric() || code.arguments.iter().any(is_any_numeric) =>
        {
            numeric::call(machine, code, arguments)
        }
        Function::Abs
        | Function::Floor
        | Function::Ceil
        | Function::Round
        | Function::Trunc
        | Function::Sign
        | Function::Sqrt
        | Function::Power
        | Function::Exp
        | Function::Ln
        | Function::Mod => number::call(code, arguments),
        Function::Extract
        | Function::DateTrunc
        | Function::DateAdd
        | Function::DateDiff
        | Function::TimestampAdd
        | Function::TimestampDiff
        | Function::MakeDate
        | Function::MakeTime
        | Function::DateBin
        | Function::IsFinite
        | Function::Age => time::call(code, arguments, machine.conventions.zone),
        Function::Real(function) => real::call(code, function, arguments),
        Function::Whole(function) => real::whole(code, function, arguments),
        Function::Recode(function) => recode::call(machine, function, arguments),
        Function::Interval(function) => time::interval(function, arguments),
        Function::Template(function) => template::call(machine, code, function, arguments),
        Function::Bits(function) => Ok(number::bits(function, code.result, arguments)),
        Function::Cardinality => Ok(Datum::int(i64::from(arguments[0].as_range().len))),
        Function::Like => like::like(machine, arguments[0], arguments[1]).map(Datum::bool),
        Function::Matches => matches::matches(machine, arguments, false).map(Datum::bool),
        Function::MatchesAnyCase => matches::matches(machine, arguments, true).map(Datum::bool),
        _ => text::call(machine, code, arguments),
    }
}

/// A value whose condition is true.
fn required(machine: &Machine, code: &CallCode) -> Result<Datum, Fault> {
    let [value, (condition, _), (sqlstate, _), (message, _)] = &*code.arguments else {
        return Ok(Datum::NULL);
    };
    if machine.slots[*condition] == Datum::TRUE {
        return Ok(machine.slots[value.0]);
    }
    let text = |slot: u16| {
        let bytes = &machine.heap[machine.slots[slot].as_range().range()];
        String::from_utf8_lossy(bytes).into_owned()
    };
    let sqlstate = text(*sqlstate).into_bytes().try_into().unwrap_or(*b"XX000");
    Err(Fault::new(&sqlstate, text(*message)))
}

/// An array with one more element. The array that was made last grows where it lies, so that one
/// that grows element by element takes no more than its elements: who has it as it was before has
/// a range that ends before the new one.
fn appended(machine: &mut Machine, code: &CallCode) -> Result<Datum, Fault> {
    let [(array, _), (value, _)] = &*code.arguments else { return Ok(Datum::NULL) };
    let (array, value) = (machine.slots[*array], machine.slots[*value]);
    if !array.is_null() && array.dimensions() > 0 {
        return array::appended(machine, code);
    }
    let end = machine.elements.len();
    let old = if array.is_null() { end..end } else { array.as_range().range() };
    let start = if old.end == end { old.start } else { end };
    let copied = if start == end { old.clone() } else { 0..0 };
    machine.room_for_elements(copied.len() + 1)?;
    machine.elements.extend_from_within(copied);
    machine.elements.push(value);
    Ok(Datum::range(start as u32, (old.len() + 1) as u32))
}

/// An array of another type of elements, which lie together behind all others.
fn array_cast(machine: &mut Machine, code: &CallCode) -> Result<Datum, Fault> {
    let Some(&(array, from)) = code.arguments.first() else { return Ok(Datum::NULL) };
    let array = machine.slots[array];
    let most = code.arguments.get(1).map(|&(most, _)| machine.slots[most].as_int());
    if array.is_null() {
        return Ok(Datum::NULL);
    }
    let old = array.as_range();
    machine.room_for_elements(old.len as usize + DIMENSIONS_MAX)?;
    let start = machine.elements.len();
    for at in old.range() {
        let element = machine.elements[at];
        let element = match element.is_null() {
            true => element,
            false => match most {
                None => cast::cast(machine, element, from, code.result)?,
                Some(most) => {
                    let text = cast::cast(machine, element, from, DataType::Text)?;
                    let text = text::slice_chars(machine, text, 0, most);
                    cast::cast(machine, text, DataType::Text, code.result)?
                }
            },
        };
        machine.elements.push(element);
    }
    let shape = ArrayShape::of_list(array, &machine.elements);
    Ok(shape.array_of_list(start, &mut machine.elements))
}

/// The greatest or least argument that is not NULL.
fn choose(machine: &mut Machine, code: &CallCode, wanted: Ordering) -> Result<Datum, Fault> {
    let kind = CompareKind::of(code.result);
    let mut best = Datum::NULL;
    for (slot, _) in &code.arguments {
        let value = machine.slots[*slot];
        if value.is_null() {
            continue;
        }
        if best.is_null() || compare(kind, value, best, &machine.heap) == wanted {
            best = value;
        }
        if matches!(kind, CompareKind::Bytes | CompareKind::AnyNumeric) {
            machine.went(value.as_range().len as usize)?;
        }
    }
    Ok(best)
}

fn null_if(machine: &Machine, code: &CallCode) -> Datum {
    let [(first, data_type), (second, _)] = code.arguments[..] else { return Datum::NULL };
    let [a, b] = [first, second].map(|slot| machine.slots[slot]);
    let is_equal = !a.is_null()
        && !b.is_null()
        && compare(CompareKind::of(data_type), a, b, &machine.heap).is_eq();
    if is_equal { Datum::NULL } else { a }
}

/// `value = ANY (array)`: NULL where it is not true and an element or the value is NULL.
fn element_of(machine: &Machine, code: &CallCode) -> Datum {
    let [(value, data_type), (array, _)] = code.arguments[..] else { return Datum::NULL };
    let [value, array] = [value, array].map(|slot| machine.slots[slot]);
    if array.is_null() {
        return Datum::NULL;
    }
    let elements = &machine.elements[array.as_range().range()];
    let kind = CompareKind::of(data_type);
    let equals = |element: &Datum| {
        !element.is_null() && compare(kind, value, *element, &machine.heap).is_eq()
    };
    if !value.is_null() && elements.iter().any(equals) {
        Datum::TRUE
    } else if elements.iter().any(|element| value.is_null() || element.is_null()) {
        Datum::NULL
    } else {
        Datum::FALSE
    }
}

/// Argument `i`'s type.
fn type_of(code: &CallCode, i: usize) -> DataType {
    code.arguments[i].1
}
