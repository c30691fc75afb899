//! to_char and its inverses, on datums.

use hotrow_base::any_numeric;
use hotrow_base::datum::Datum;
use hotrow_base::decimal::template::{self as numbers, Number};
use hotrow_base::decimal::{self, Decimal, POWERS_OF_TEN};
use hotrow_base::template::TemplateError;
use hotrow_base::temporal::template::{self as times, Zone};
use hotrow_base::temporal::{TimeZone, timestamp_of_date};
use hotrow_base::types::DataType;

use super::cast::numeric_overflow;
use super::type_of;
use crate::bytecode::CallCode;
use crate::fault::Fault;
use crate::frame::Machine;
use crate::outcome::SqlError;
use crate::program::TemplateFunction;

/// What a text may take per byte of its template: RN is 15 bytes for 2, a Julian day 11 for 1.
const BYTES_PER_BYTE: usize = 12;
/// What a number takes beyond that: a double has 309 digits.
const NUMBER_BYTES: usize = 512;

/// Calls a function; no argument is NULL.
pub(super) fn call(
    machine: &mut Machine,
    code: &CallCode,
    function: TemplateFunction,
    arguments: &[Datum],
) -> Result<Datum, Fault> {
    use TemplateFunction as F;
    let value = arguments[0];
    if function == F::OfEpoch {
        return times::moment_of_epoch(value.as_float()).map(Datum::int).map_err(fault);
    }
    let template_bytes = arguments[1].as_range().len as usize;
    let text_bytes = match function {
        F::ToChar => template_bytes.saturating_mul(BYTES_PER_BYTE).saturating_add(NUMBER_BYTES),
        _ => value.as_range().len as usize,
    };
    machine.went(template_bytes)?;
    // Both, and the number that is gathered, or its digits.
    let _copies = machine.borrow(template_bytes.saturating_add(text_bytes.saturating_mul(2)))?;
    let template = text(machine, arguments[1]);
    let entered = machine.enter();
    let result = match function {
        F::ToChar => {
            let of = type_of(code, 0);
            let shown = shown((value, of), &machine.heap, &template, machine.conventions.zone)
                .map_err(fault)?;
            drop(entered);
            return keep(machine, shown.as_deref());
        }
        F::ToDate => {
            let date = times::text_to_date(&text(machine, value), &template);
            date.map(|days| Datum::int(days.into())).map_err(fault)
        }
        F::ToTimestamp => {
            let moment =
                times::text_to_moment(&text(machine, value), &template, machine.conventions.zone);
            moment.map(Datum::int).map_err(fault)
        }
        F::ToNumber | F::OfEpoch => {
            let number = numbers::text_to_number(&text(machine, value), &template);
            number.map_err(fault)?.map_or(Ok(Datum::NULL), |number| fitted(number, code.result))
        }
    };
    drop(entered);
    result
}

fn text(machine: &Machine, of: Datum) -> String {
    String::from_utf8_lossy(machine.bytes(of)).into_owned()
}

fn keep(machine: &mut Machine, text: Option<&str>) -> Result<Datum, Fault> {
    let Some(text) = text else { return Ok(Datum::NULL) };
    machine.reserve(text.len())?;
    Ok(machine.keep(text.as_bytes()))
}

/// A value by a template; none where that is NULL.
fn shown(
    (value, of): (Datum, DataType),
    heap: &[u8],
    template: &str,
    zone: TimeZone,
) -> Result<Option<String>, TemplateError> {
    let of_number = |number: Number| numbers::number_to_text(number, template).map(Some);
    match of {
        DataType::Interval => times::interval_to_text(value.as_interval(), template),
        DataType::Timestamp(_) => times::moment_to_text(value.as_int(), Zone::None, template),
        DataType::TimestampTz(_) => times::moment_to_text(value.as_int(), Zone::Of(zone), template),
        DataType::Date => {
            // No date lies beyond 64 bits of microseconds but those that PostgreSQL has not.
            let clock = timestamp_of_date(value.as_int() as i32).unwrap_or(i64::MAX);
            let micros = zone.moment_of(clock).unwrap_or(clock);
            times::moment_to_text(micros, Zone::Of(zone), template)
        }
        DataType::SmallInt | DataType::Integer => of_number(Number::Int(value.as_int() as i32)),
        DataType::Numeric { scale, .. } => {
            let number = Decimal::new(value.as_numeric(), scale).unwrap_or(Decimal::ZERO);
            of_number(Number::Numeric(number))
        }
        of if of.is_any_numeric() => {
            let number = any_numeric::read(&heap[value.as_range().range()]);
            match number.to_decimal() {
                Some(number) => of_number(Number::Numeric(number)),
                None => of_number(Number::Double(number.to_f64())),
            }
        }
        DataType::Real => of_number(Number::Real(value.as_float() as f32)),
        DataType::Double => of_number(Number::Double(value.as_float())),
        _ => of_number(Number::BigInt(value.as_int())),
    }
}

/// A number as the result's type has it.
fn fitted(number: Decimal, to: DataType) -> Result<Datum, Fault> {
    let DataType::Numeric { precision, scale } = to else {
        return Ok(Datum::float(decimal::to_f64(number.units(), number.scale())));
    };
    decimal::rescale(number.units(), number.scale(), scale)
        .filter(|units| units.unsigned_abs() < POWERS_OF_TEN[precision as usize].unsigned_abs())
        .map(Datum::numeric)
        .ok_or_else(|| numeric_overflow(precision, scale))
}

fn fault(error: TemplateError) -> Fault {
    if let Some(why) = error.interruption {
        return SqlError::from(why).into();
    }
    let hint = error.hint.map(str::to_owned);
    let TemplateError { code, message, detail, .. } = error;
    SqlError { detail, hint, ..SqlError::new(&code, message) }.into()
}
