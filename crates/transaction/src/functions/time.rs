//! Functions of dates, timestamps and intervals.

use hotrow_base::datum::Datum;
use hotrow_base::decimal;
use hotrow_base::temporal::{self, ExtractField, Interval, TruncateUnit};
use hotrow_base::types::DataType;

use super::type_of;
use crate::bytecode::CallCode;
use crate::frame::Machine;
use crate::interpret::Fault;
use crate::program::{Function, IntervalFunction};

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// The fields of `extract`; a field's code in [`Function::Extract`] is its position here, which is
/// its discriminant.
pub const EXTRACT_FIELDS: [ExtractField; 18] = [
    ExtractField::Microseconds,
    ExtractField::Milliseconds,
    ExtractField::Second,
    ExtractField::Minute,
    ExtractField::Hour,
    ExtractField::Day,
    ExtractField::Dow,
    ExtractField::Isodow,
    ExtractField::Doy,
    ExtractField::Week,
    ExtractField::Month,
    ExtractField::Quarter,
    ExtractField::Year,
    ExtractField::Isoyear,
    ExtractField::Decade,
    ExtractField::Century,
    ExtractField::Millennium,
    ExtractField::Epoch,
];

/// The units of `date_trunc`; a unit's code in [`Function::DateTrunc`] is its position here, which
/// is its discriminant.
pub const TRUNCATE_UNITS: [TruncateUnit; 13] = [
    TruncateUnit::Microseconds,
    TruncateUnit::Milliseconds,
    TruncateUnit::Second,
    TruncateUnit::Minute,
    TruncateUnit::Hour,
    TruncateUnit::Day,
    TruncateUnit::Week,
    TruncateUnit::Month,
    TruncateUnit::Quarter,
    TruncateUnit::Year,
    TruncateUnit::Decade,
    TruncateUnit::Century,
    TruncateUnit::Millennium,
];

/// Calls a function of dates and timestamps; no argument is NULL.
pub(super) fn call(code: &CallCode, arguments: &[Datum]) -> Result<Datum, Fault> {
    let [first, second] = [arguments[0], arguments[1]];
    let [a, b] = [first.as_int(), second.as_int()];
    let result = match code.function {
        Function::Extract => return extract(code, first, b),
        Function::DateTrunc => {
            let unit = usize::try_from(a).ok().and_then(|a| TRUNCATE_UNITS.get(a));
            let unit = *unit.ok_or_else(|| Fault::new(b"22023", "unit not recognized"))?;
            match type_of(code, 1) {
                DataType::Interval => {
                    let truncated = second.as_interval().truncated(unit);
                    return truncated.map(Datum::interval).ok_or_else(no_unit);
                }
                DataType::Date => b
                    .checked_mul(MICROS_PER_DAY)
                    .and_then(|micros| temporal::date_trunc(unit, micros)),
                _ => temporal::date_trunc(unit, b),
            }
        }
        Function::DateAdd => a.checked_add(b).filter(|&days| i32::try_from(days).is_ok()),
        Function::DateDiff => a.checked_sub(b).filter(|&days| i32::try_from(days).is_ok()),
        Function::TimestampDiff | Function::Age => {
            let between = match code.function {
                Function::Age => temporal::age(a, b),
                _ => temporal::difference(a, b),
            };
            return between.map(Datum::interval).ok_or_else(interval_out_of_range);
        }
        _ => temporal::add_interval(a, second.as_interval()),
    };
    result.map(Datum::int).ok_or_else(|| out_of_range(code))
}

/// Calls a function of intervals; no argument is NULL.
pub(super) fn interval(function: IntervalFunction, arguments: &[Datum]) -> Result<Datum, Fault> {
    use IntervalFunction as F;
    let own = arguments[0].as_interval();
    let other = || arguments.get(1).map_or(Interval::default(), |other| other.as_interval());
    let factor = || arguments.get(1).map_or(1.0, |factor| factor.as_float());
    let result = match function {
        F::Negate => own.negated(),
        F::Add => own.plus(other()),
        F::Subtract => other().negated().and_then(|other| own.plus(other)),
        F::Multiply => own.times(factor()),
        F::Divide if factor() == 0.0 => return Err(Fault::new(b"22012", "division by zero")),
        F::Divide => own.divided(factor()),
        F::JustifyHours => own.justify_hours(),
        F::JustifyDays => own.justify_days(),
        F::Justify => own.justify(),
        F::Make => None,
    };
    result.map(Datum::interval).ok_or_else(interval_out_of_range)
}

/// make_interval(years, months, weeks, days, hours, mins, secs)
pub(super) fn make_interval(machine: &Machine, code: &CallCode) -> Result<Datum, Fault> {
    let mut parts = [Datum::NULL; 7];
    for (part, (slot, _)) in parts.iter_mut().zip(code.arguments.iter()) {
        *part = machine.slots[*slot];
        if part.is_null() {
            return Ok(Datum::NULL);
        }
    }
    let [years, months, weeks, days, hours, minutes, seconds] = parts;
    let micros = (seconds.as_float() * 1e6).round_ties_even();
    let time = (hours.as_int() * 3_600 + minutes.as_int() * 60).checked_mul(1_000_000);
    // A float that is too great becomes the greatest integer, which does not fit with the rest.
    let made = time.and_then(|time| time.checked_add(micros as i64)).and_then(|micros| {
        let months = years.as_int() * 12 + months.as_int();
        Interval::new(months, weeks.as_int() * 7 + days.as_int(), micros)
    });
    made.filter(|_| micros.abs() < 9e18).map(Datum::interval).ok_or_else(interval_out_of_range)
}

/// datetime_field_overflow
pub(crate) fn interval_out_of_range() -> Fault {
    Fault::new(b"22008", "interval out of range")
}

fn no_unit() -> Fault {
    Fault::new(b"0A000", "unit not supported for type interval")
}

fn out_of_range(code: &CallCode) -> Fault {
    let name = match code.function {
        Function::DateAdd | Function::DateDiff => "date",
        _ => "timestamp",
    };
    Fault::new(b"22008", format!("{name} out of range"))
}

fn extract(code: &CallCode, value: Datum, field: i64) -> Result<Datum, Fault> {
    let field = usize::try_from(field).ok().and_then(|field| EXTRACT_FIELDS.get(field));
    let field = *field.ok_or_else(|| Fault::new(b"22023", "field not recognized"))?;
    let out_of_range = || Fault::new(b"22008", "timestamp out of range");
    let units = match type_of(code, 0) {
        DataType::Interval => value.as_interval().extract(field).ok_or_else(no_unit)?,
        DataType::Date => value
            .as_int()
            .checked_mul(MICROS_PER_DAY)
            .and_then(|micros| temporal::extract(field, micros))
            .ok_or_else(out_of_range)?,
        _ => temporal::extract(field, value.as_int()).ok_or_else(out_of_range)?,
    };
    let units = i128::from(units);
    match code.result {
        DataType::Numeric { scale, .. } => decimal::rescale(units, field.scale(), scale)
            .map(Datum::numeric)
            .ok_or(Fault::NumericRange),
        DataType::Real | DataType::Double => {
            Ok(Datum::float(decimal::to_f64(units, field.scale())))
        }
        _ => decimal::to_i64(units, field.scale())
            .map(Datum::int)
            .ok_or(Fault::IntRange { bits: 64 }),
    }
}
