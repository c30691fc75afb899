//! Conversions between types: casts, and the fitting of key values to a column's type.

use std::fmt::Write;

use hotrow_base::any_numeric::{self, AnyNumeric, NumericError};
use hotrow_base::conventions::BytesStyle;
use hotrow_base::datum::Datum;
use hotrow_base::decimal::{self, Decimal, POWERS_OF_TEN};
use hotrow_base::temporal::{self, ClockWord, Interval, MICROS_PER_DAY, TimeZone};
use hotrow_base::types::{DataType, NAME_BYTES_MAX};
use hotrow_base::value::Value;

use super::numeric;
use crate::fault::Fault;
use crate::frame::Machine;
use crate::outcome::{SqlError, apart};
use crate::program::NOW;

/// Converts a value; NULL stays NULL. A float becomes an integer by rounding half to even, a
/// numeric by rounding half away from zero, both as PostgreSQL. A text that is too long for
/// varchar(n) or char(n) is refused (22001) unless only blanks are cut off: an assignment's rule,
/// which Hotrow applies to explicit casts as well.
pub fn cast(
    machine: &mut Machine,
    value: Datum,
    from: DataType,
    to: DataType,
) -> Result<Datum, Fault> {
    if value.is_null() {
        return Ok(value);
    }
    if to.is_text() {
        let text =
            if from.is_text() || from.is_json() { value } else { to_text(machine, value, from)? };
        return limit_text(machine, text, to);
    }
    if from.is_text()
        && let Some(moment) = of_clock(machine, value, to)
    {
        return moment;
    }
    if from.is_text() || to == DataType::Jsonb {
        return apart(|| parse(machine, value, to));
    }
    if from == DataType::Jsonb && to != DataType::Json {
        let _copy = machine.borrow(value.as_range().len as usize)?;
        return apart(|| {
            let json = Value::from_datum(value, from, &machine.heap);
            let entered = machine.enter();
            let datum = json.to_datum(to, &mut machine.heap).map_err(value_error);
            drop(entered);
            datum
        });
    }
    if matches!(from, DataType::Encoded(_)) || matches!(to, DataType::Encoded(_)) {
        return apart(|| converted(machine, value, from, to));
    }
    match to {
        _ if from.is_any_numeric() => of_any_numeric(machine, value, to),
        _ if to.is_any_numeric() => {
            let number = numeric::number(value, from, &machine.heap)?;
            numeric::keep(machine, &number, to)
        }
        DataType::SmallInt => to_int(value, from, 16),
        DataType::Integer => to_int(value, from, 32),
        DataType::BigInt => to_int(value, from, 64),
        DataType::Oid => to_oid(value),
        DataType::Numeric { precision, scale } => to_numeric(value, from, precision, scale),
        DataType::Real => to_float(value, from).and_then(to_real),
        DataType::Double => to_float(value, from).map(Datum::float),
        DataType::Boolean => Ok(Datum::bool(value.as_int() != 0)),
        DataType::Date if from != DataType::Date => {
            Ok(Datum::int(temporal::date_of_timestamp(clock(machine, value, from)).into()))
        }
        DataType::Timestamp(_) | DataType::TimestampTz(_) if from == DataType::Date => {
            temporal::timestamp_of_date(value.as_int() as i32)
                .and_then(|clock| moment(machine, clock, from, to))
                .map(Datum::int)
                .ok_or_else(|| Fault::new(b"22008", "date out of range for timestamp"))
        }
        DataType::Timestamp(digits) | DataType::TimestampTz(digits) => {
            let moved = match to {
                DataType::Timestamp(_) => Some(clock(machine, value, from)),
                _ => moment(machine, value.as_int(), from, to),
            };
            moved
                .and_then(|micros| temporal::rounded_timestamp(micros, digits))
                .map(Datum::int)
                .ok_or_else(|| Fault::new(b"22008", "timestamp out of range"))
        }
        DataType::Time(digits) => {
            let value = match from {
                DataType::TimestampTz(_) => Datum::int(clock(machine, value, from)),
                _ => value,
            };
            Ok(to_time(value, from, digits))
        }
        DataType::Interval if from != DataType::Interval => {
            Ok(Datum::interval(Interval { micros: value.as_int(), ..Interval::default() }))
        }
        _ => Ok(value),
    }
}

/// What `now`, `today` and their kin are as a date or a time; none: the text is another, or is to
/// be of another type.
fn of_clock(machine: &mut Machine, text: Datum, to: DataType) -> Option<Result<Datum, Fault>> {
    if !matches!(to, DataType::Date | DataType::Timestamp(_) | DataType::TimestampTz(_)) {
        return None;
    }
    let word = ClockWord::of(machine.bytes(text).trim_ascii())?;
    let now = machine.slots[NOW.0];
    Some(match word {
        ClockWord::Now => cast(machine, now, DataType::TIMESTAMPTZ, to),
        ClockWord::Day(days) => {
            let today = cast(machine, now, DataType::TIMESTAMPTZ, DataType::Date);
            let day = today.map(|today| Datum::int(today.as_int() + i64::from(days)));
            day.and_then(|day| cast(machine, day, DataType::Date, to))
        }
    })
}

/// A value that knows itself what it becomes.
fn converted(
    machine: &mut Machine,
    value: Datum,
    from: DataType,
    to: DataType,
) -> Result<Datum, Fault> {
    let bytes = if from.is_bytes() { value.as_range().len as usize } else { 0 };
    // A bit takes a byte while it is computed with.
    let _copy = machine.borrow(bytes.saturating_mul(16))?;
    let value = Value::from_datum(value, from, &machine.heap);
    let entered = machine.enter();
    let datum = value.to_datum(to, &mut machine.heap).map_err(value_error);
    drop(entered);
    datum
}

/// What a clock shows at a time: of a timestamptz, one in the call's zone.
fn clock(machine: &Machine, value: Datum, from: DataType) -> i64 {
    match from {
        DataType::TimestampTz(_) => machine.conventions.zone.clock_at(value.as_int()),
        _ => value.as_int(),
    }
}

/// When a clock shows this: for a timestamptz, one in the call's zone. `None` out of range.
fn moment(machine: &Machine, clock: i64, from: DataType, to: DataType) -> Option<i64> {
    match (from, to) {
        (DataType::Date | DataType::Timestamp(_), DataType::TimestampTz(_)) => {
            machine.conventions.zone.moment_of(clock)
        }
        _ => Some(clock),
    }
}

/// A numeric without a precision as a number of another type.
fn of_any_numeric(machine: &mut Machine, value: Datum, to: DataType) -> Result<Datum, Fault> {
    if to == DataType::AnyNumeric {
        return Ok(value);
    }
    let number = numeric::number(value, DataType::AnyNumeric, &machine.heap)?;
    let bits = match to {
        DataType::Real | DataType::Double => {
            let float = number.to_f64();
            if float.is_infinite() && number.is_finite() {
                return Err(Fault::FloatOverflow);
            }
            return if to == DataType::Real { to_real(float) } else { Ok(Datum::float(float)) };
        }
        _ if to.is_numeric() => return numeric::keep(machine, &number, to),
        DataType::SmallInt => 16,
        DataType::Integer => 32,
        _ => 64,
    };
    if !number.is_finite() {
        let name = match number.to_f64().is_nan() {
            true => "NaN",
            false => "infinity",
        };
        return Err(Fault::new(b"0A000", format!("cannot convert {name} to {to}")));
    }
    number
        .to_i64()
        .filter(|&int| crate::interpret::fits(int, bits))
        .map(Datum::int)
        .ok_or(Fault::IntRange { bits })
}

/// The time of day of a time, a timestamp or an interval; NULL of an infinite timestamp.
fn to_time(value: Datum, from: DataType, digits: u8) -> Datum {
    let micros = match from {
        DataType::Time(_) => value.as_int(),
        DataType::Interval => temporal::time_of_day(value.as_interval().micros),
        _ if !temporal::is_finite_timestamp(value.as_int()) => return Datum::NULL,
        _ => temporal::time_of_day(value.as_int()),
    };
    Datum::int(temporal::rounded_time(micros, digits))
}

fn to_int(value: Datum, from: DataType, bits: u8) -> Result<Datum, Fault> {
    let wide = match from {
        DataType::Numeric { scale, .. } => decimal::to_i64(value.as_numeric(), scale),
        DataType::Real | DataType::Double => {
            let rounded = value.as_float().round_ties_even();
            // 2^63 is a float, 2^63 - 1 is not.
            let is_in_range =
                (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded);
            is_in_range.then_some(rounded as i64)
        }
        _ => Some(value.as_int()),
    };
    let spare = (64 - u32::from(bits)) & 63;
    wide.filter(|&int| (int << spare) >> spare == int)
        .map(Datum::int)
        .ok_or(Fault::IntRange { bits })
}

/// An integer as the number of something in the system catalog.
fn to_oid(value: Datum) -> Result<Datum, Fault> {
    match u32::try_from(value.as_int()) {
        Ok(_) => Ok(value),
        Err(_) => Err(Fault::new(b"22003", "OID out of range")),
    }
}

fn to_numeric(value: Datum, from: DataType, precision: u8, scale: u8) -> Result<Datum, Fault> {
    let units = match from {
        DataType::Numeric { scale: from, .. } => decimal::rescale(value.as_numeric(), from, scale),
        DataType::Real => decimal::from_f32(value.as_float() as f32, scale),
        DataType::Double => decimal::from_f64(value.as_float(), scale),
        _ => decimal::from_i64(value.as_int(), scale),
    };
    units
        .filter(|units| units.unsigned_abs() < POWERS_OF_TEN[precision as usize].unsigned_abs())
        .map(Datum::numeric)
        .ok_or_else(|| numeric_overflow(precision, scale))
}

/// A number of too many digits for numeric(precision, scale).
#[cold]
pub(crate) fn numeric_overflow(precision: impl Into<u16>, scale: impl Into<i16>) -> Fault {
    let (precision, scale) = (precision.into(), scale.into());
    let whole = i32::from(precision) - i32::from(scale);
    let limit = if whole == 0 { "1".to_owned() } else { format!("10^{whole}") };
    let mut error = SqlError::new(b"22003", "numeric field overflow");
    error.detail = Some(format!(
        "A field with precision {precision}, scale {scale} must round to an absolute value less \
         than {limit}."
    ));
    error.into()
}

/// A number as a double.
pub(super) fn to_float(value: Datum, from: DataType) -> Result<f64, Fault> {
    Ok(match from {
        DataType::Numeric { scale, .. } => decimal::to_f64(value.as_numeric(), scale),
        DataType::Real | DataType::Double => value.as_float(),
        _ => value.as_int() as f64,
    })
}

fn to_real(value: f64) -> Result<Datum, Fault> {
    let real = value as f32;
    if real.is_infinite() && value.is_finite() {
        return Err(Fault::FloatOverflow);
    }
    if real == 0.0 && value != 0.0 {
        return Err(Fault::FloatUnderflow);
    }
    Ok(Datum::float(f64::from(real)))
}

/// Appends to a byte heap what is formatted.
struct HeapWriter<'a>(&'a mut Vec<u8>);

impl Write for HeapWriter<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// The text form of a value that is not a text.
pub(crate) fn to_text(machine: &mut Machine, value: Datum, from: DataType) -> Result<Datum, Fault> {
    if from == DataType::Bytea && machine.conventions.style.bytes == BytesStyle::Hex {
        return bytea_to_text(machine, value);
    }
    if from.is_any_numeric() {
        machine.reserve(any_numeric::text_bytes(machine.bytes(value)))?;
    }
    let start = machine.heap.len();
    let conventions = machine.conventions;
    let style = conventions.style;
    let mut out = HeapWriter(&mut machine.heap);
    let written = match from {
        DataType::SmallInt | DataType::Integer | DataType::BigInt | DataType::Oid => {
            write!(out, "{}", value.as_int())
        }
        DataType::Boolean => out.write_str(if value.is_true() { "true" } else { "false" }),
        DataType::Numeric { scale, .. } => match Decimal::new(value.as_numeric(), scale) {
            Some(decimal) => write!(out, "{decimal}"),
            None => Ok(()),
        },
        DataType::Date => temporal::write_date(value.as_int() as i32, style, &mut out),
        DataType::Timestamp(_) => temporal::write_timestamp(value.as_int(), style, &mut out),
        DataType::TimestampTz(_) => {
            temporal::write_timestamp_tz(value.as_int(), conventions, &mut out)
        }
        DataType::Time(_) => temporal::write_time(value.as_int(), &mut out),
        DataType::Encoded(_) => match Value::from_datum(value, from, out.0) {
            Value::Encoded(value) => out.write_str(&value.cast_to_text()),
            _ => Ok(()),
        },
        DataType::Range(_) | DataType::Bytea => {
            let _conventions = conventions.enter();
            let text = Value::from_datum(value, from, out.0).to_string();
            machine.reserve(text.len())?;
            HeapWriter(&mut machine.heap).write_str(&text)
        }
        _ => {
            let _conventions = conventions.enter();
            let value = Value::from_datum(value, from, out.0);
            write!(out, "{value}")
        }
    };
    debug_assert!(written.is_ok(), "a heap takes any text");
    Ok(Datum::range(start as u32, (machine.heap.len() - start) as u32))
}

fn bytea_to_text(machine: &mut Machine, value: Datum) -> Result<Datum, Fault> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let range = value.as_range().range();
    machine.reserve(range.len().saturating_mul(2).saturating_add(2))?;
    let start = machine.heap.len();
    machine.heap.extend_from_slice(b"\\x");
    for at in range {
        machine.went(1)?;
        let byte = machine.heap[at];
        let digits = [byte >> 4, byte & 15].map(|digit| DIGITS[digit as usize]);
        machine.heap.extend_from_slice(&digits);
    }
    Ok(Datum::range(start as u32, (machine.heap.len() - start) as u32))
}

fn limit_text(machine: &Machine, text: Datum, to: DataType) -> Result<Datum, Fault> {
    let bytes = machine.bytes(text);
    let range = text.as_range();
    let (limit, name) = match to {
        DataType::Varchar(n) => (n, "character varying"),
        DataType::Char(n) => (n, "character"),
        DataType::Name if bytes.len() > NAME_BYTES_MAX => {
            let cut = (0..=NAME_BYTES_MAX).rev().find(|at| bytes[*at] & 0xC0 != 0x80);
            return Ok(Datum::range(range.start, cut.unwrap_or(0) as u32));
        }
        _ => return Ok(text),
    };
    let len = match to {
        // char(n) is stored in n bytes, and read without its trailing blanks.
        DataType::Char(_) => Some(trimmed_len(bytes)).filter(|&len| len <= limit as usize),
        _ if bytes.len() <= limit as usize => Some(bytes.len()),
        _ => {
            let cut = super::text::char_offset(bytes, limit as usize);
            Some(cut).filter(|&cut| trimmed_len(bytes) <= cut)
        }
    };
    match len {
        Some(len) => Ok(Datum::range(range.start, len as u32)),
        None => Err(Fault::new(b"22001", format!("value too long for type {name}({limit})"))),
    }
}

fn trimmed_len(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1)
}

fn parse(machine: &mut Machine, value: Datum, to: DataType) -> Result<Datum, Fault> {
    let len = value.as_range().len as usize;
    machine.went(len)?;
    let _copies = machine.borrow(len.saturating_mul(2))?;
    let text = String::from_utf8_lossy(machine.bytes(value)).into_owned();
    let entered = machine.enter();
    let parsed = Value::parse(to, &text).map_err(value_error)?;
    drop(entered);
    machine.keep_value(&parsed, to)
}

/// A base error as an SQL error.
pub(crate) fn value_error(error: hotrow_base::value::ValueError) -> Fault {
    SqlError::from(error).into()
}

/// How a value lies among the values of another type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fitted {
    /// it is one of them
    Exact(Datum),
    /// this one is the greatest below it
    Below(Datum),
    /// it is greater than all
    AboveAll,
    /// it is less than all
    BelowAll,
}

/// Fits a number into the type of a key column, without rounding.
pub fn fit(value: Datum, (from, to): (DataType, DataType), heap: &[u8], zone: TimeZone) -> Fitted {
    match (from, to) {
        (from, _) if from.is_any_numeric() => {
            fit_any_numeric(&any_numeric::read(&heap[value.as_range().range()]), to)
        }
        (DataType::Real | DataType::Double, DataType::Real) => fit_real(value.as_float()),
        (_, DataType::Real | DataType::Double) => {
            to_float(value, from).map_or(Fitted::Exact(value), |v| Fitted::Exact(Datum::float(v)))
        }
        (DataType::Real | DataType::Double, _) => fit_float(value.as_float(), to),
        (DataType::Date, DataType::Timestamp(_) | DataType::TimestampTz(_)) => {
            let clock = temporal::timestamp_of_date(value.as_int() as i32);
            let moment = match to {
                DataType::TimestampTz(_) => clock.and_then(|clock| zone.moment_of(clock)),
                _ => clock,
            };
            match moment {
                Some(micros) => Fitted::Exact(Datum::int(micros)),
                // A date behind all timestamps but infinity: none goes back as far.
                None => Fitted::Below(Datum::int(temporal::TIMESTAMP_INFINITY - 1)),
            }
        }
        (DataType::Timestamp(_), DataType::TimestampTz(_)) => {
            match zone.moment_of(value.as_int()) {
                Some(micros) => Fitted::Exact(Datum::int(micros)),
                None if value.as_int() < 0 => Fitted::BelowAll,
                None => Fitted::AboveAll,
            }
        }
        (DataType::TimestampTz(_), DataType::Timestamp(_)) => {
            Fitted::Exact(Datum::int(zone.clock_at(value.as_int())))
        }
        (DataType::Timestamp(_) | DataType::TimestampTz(_), DataType::Date) => {
            let micros = match from {
                DataType::TimestampTz(_) => zone.clock_at(value.as_int()),
                _ => value.as_int(),
            };
            let day = Datum::int(temporal::date_of_timestamp(micros).into());
            let is_midnight = micros.rem_euclid(MICROS_PER_DAY) == 0;
            if is_midnight || !temporal::is_finite_timestamp(micros) {
                Fitted::Exact(day)
            } else {
                Fitted::Below(day)
            }
        }
        _ => fit_exact_number(value, from, to),
    }
}

fn fit_any_numeric(number: &AnyNumeric, to: DataType) -> Fitted {
    match to {
        DataType::Real => fit_real(number.to_f64()),
        DataType::Double => Fitted::Exact(Datum::float(number.to_f64())),
        _ if !number.is_finite() => match number.sign().is_lt() {
            true => Fitted::BelowAll,
            false => Fitted::AboveAll,
        },
        to => {
            let scale = scale_of(to);
            let floor = floor_at(number, scale).ok();
            let units = floor.as_ref().and_then(|it| it.to_units(decimal::DIGITS_MAX, scale));
            match units {
                Some(units) => place(units, floor.as_ref() == Some(number), to),
                None if number.sign().is_lt() => Fitted::BelowAll,
                None => Fitted::AboveAll,
            }
        }
    }
}

/// The greatest number of so many digits behind the point that is not greater.
fn floor_at(number: &AnyNumeric, scale: u8) -> Result<AnyNumeric, NumericError> {
    let cut = number.truncated(scale.into())?;
    match cut > *number {
        true => cut.subtract(&Decimal::new(1, scale).unwrap_or(Decimal::ZERO).into()),
        false => Ok(cut),
    }
}

fn fit_real(value: f64) -> Fitted {
    let real = value as f32;
    if f64::from(real) == value || value.is_nan() {
        return Fitted::Exact(Datum::float(f64::from(real)));
    }
    let below = if f64::from(real) > value { real.next_down() } else { real };
    Fitted::Below(Datum::float(f64::from(below)))
}

fn fit_float(value: f64, to: DataType) -> Fitted {
    let scale = scale_of(to);
    let scaled = value * 10_f64.powi(scale.into());
    if value.is_nan() || scaled >= 1e38 {
        return Fitted::AboveAll;
    }
    if scaled <= -1e38 {
        return Fitted::BelowAll;
    }
    place(scaled.floor() as i128, scaled.floor() == scaled, to)
}

fn fit_exact_number(value: Datum, from: DataType, to: DataType) -> Fitted {
    let units = match from {
        DataType::Numeric { .. } => value.as_numeric(),
        _ => i128::from(value.as_int()),
    };
    let (from_scale, to_scale) = (scale_of(from), scale_of(to));
    if to_scale >= from_scale {
        return match units.checked_mul(POWERS_OF_TEN[(to_scale - from_scale) as usize]) {
            Some(units) => place(units, true, to),
            None if units > 0 => Fitted::AboveAll,
            None => Fitted::BelowAll,
        };
    }
    let power = POWERS_OF_TEN[(from_scale - to_scale) as usize];
    place(units.div_euclid(power), units.rem_euclid(power) == 0, to)
}

fn scale_of(data_type: DataType) -> u8 {
    match data_type {
        DataType::Numeric { scale, .. } => scale,
        _ => 0,
    }
}

/// Whole units of `to`'s scale as a datum of `to`, if it has such a value.
fn place(units: i128, is_exact: bool, to: DataType) -> Fitted {
    let (least, greatest) = match to {
        DataType::SmallInt => (i128::from(i16::MIN), i128::from(i16::MAX)),
        DataType::Integer | DataType::Date => (i128::from(i32::MIN), i128::from(i32::MAX)),
        DataType::Oid => (0, i128::from(u32::MAX)),
        DataType::Numeric { precision, .. } => {
            let limit = POWERS_OF_TEN[precision as usize] - 1;
            (-limit, limit)
        }
        _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
    };
    if units > greatest {
        return Fitted::AboveAll;
    }
    if units < least {
        return Fitted::BelowAll;
    }
    let datum = match to {
        DataType::Numeric { .. } => Datum::numeric(units),
        _ => Datum::int(units as i64),
    };
    if is_exact { Fitted::Exact(datum) } else { Fitted::Below(datum) }
}
