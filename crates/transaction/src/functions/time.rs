//! Functions of dates and timestamps.

use hotrow_base::datum::Datum;
use hotrow_base::decimal;
use hotrow_base::temporal::{self, ExtractField, TruncateUnit};
use hotrow_base::types::DataType;

use super::type_of;
use crate::bytecode::CallCode;
use crate::interpret::Fault;
use crate::program::Function;

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
    let [a, b] = [arguments[0].as_int(), arguments[1].as_int()];
    let result = match code.function {
        Function::Extract => return extract(code, a, b),
        Function::DateTrunc => {
            let unit = usize::try_from(a).ok().and_then(|a| TRUNCATE_UNITS.get(a));
            let unit = *unit.ok_or_else(|| Fault::new(b"22023", "unit not recognized"))?;
            match type_of(code, 1) {
                DataType::Date => b
                    .checked_mul(MICROS_PER_DAY)
                    .and_then(|micros| temporal::date_trunc(unit, micros)),
                _ => temporal::date_trunc(unit, b),
            }
        }
        Function::DateAdd => a.checked_add(b).filter(|&days| i32::try_from(days).is_ok()),
        Function::DateDiff => a.checked_sub(b).filter(|&days| i32::try_from(days).is_ok()),
        _ => match type_of(code, 0) {
            DataType::Date => {
                a.checked_mul(MICROS_PER_DAY).and_then(|micros| micros.checked_add(b))
            }
            _ => a.checked_add(b),
        },
    };
    result.map(Datum::int).ok_or_else(|| out_of_range(code))
}

fn out_of_range(code: &CallCode) -> Fault {
    let name = match code.function {
        Function::DateAdd | Function::DateDiff => "date",
        _ => "timestamp",
    };
    Fault::new(b"22008", format!("{name} out of range"))
}

fn extract(code: &CallCode, value: i64, field: i64) -> Result<Datum, Fault> {
    let field = usize::try_from(field).ok().and_then(|field| EXTRACT_FIELDS.get(field));
    let field = *field.ok_or_else(|| Fault::new(b"22023", "field not recognized"))?;
    let micros = match type_of(code, 0) {
        DataType::Date => value.checked_mul(MICROS_PER_DAY),
        _ => Some(value),
    };
    let units = micros
        .and_then(|micros| temporal::extract(field, micros))
        .ok_or_else(|| Fault::new(b"22008", "timestamp out of range"))?;
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
