//! Functions of dates, timestamps and intervals.

use hotrow_base::datum::Datum;
use hotrow_base::decimal;
use hotrow_base::temporal::{
    self, ExtractField, FieldsError, Interval, MICROS_PER_DAY, MICROS_PER_SECOND, TimeZone,
    TruncateUnit, is_finite_date, is_finite_timestamp,
};
use hotrow_base::types::DataType;
use hotrow_base::value::Value;

use super::type_of;
use crate::bytecode::CallCode;
use crate::fault::Fault;
use crate::frame::Machine;
use crate::outcome::SqlError;
use crate::program::{Function, IntervalFunction};

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
pub(super) fn call(code: &CallCode, arguments: &[Datum], zone: TimeZone) -> Result<Datum, Fault> {
    let (first, second) = (arguments[0], arguments.get(1).copied().unwrap_or_default());
    let [a, b] = [first.as_int(), second.as_int()];
    let result = match code.function {
        Function::Extract => return extract(code, first, b, zone),
        Function::DateTrunc => {
            let unit = unit_of(a)?;
            match type_of(code, 1) {
                DataType::Interval => {
                    let truncated = second.as_interval().truncated(unit);
                    return truncated.map(Datum::interval).ok_or_else(no_unit);
                }
                DataType::Date => temporal::timestamp_of_date(b as i32)
                    .and_then(|micros| temporal::date_trunc(unit, micros)),
                DataType::TimestampTz(_) => trunc(unit, b, zone),
                _ => temporal::date_trunc(unit, b),
            }
        }
        Function::DateAdd if !is_finite_date(a as i32) => Some(a),
        Function::DateAdd => a.checked_add(b).and_then(temporal::date_in_range).map(i64::from),
        Function::DateDiff if !is_finite_date(a as i32) || !is_finite_date(b as i32) => {
            return Err(Fault::new(b"22008", "cannot subtract infinite dates"));
        }
        Function::DateDiff => a.checked_sub(b).filter(|&days| i32::try_from(days).is_ok()),
        Function::TimestampDiff if !is_finite_timestamp(a) || !is_finite_timestamp(b) => {
            return Err(Fault::new(b"22008", "cannot subtract infinite timestamps"));
        }
        Function::TimestampDiff => {
            let between = temporal::difference(a, b);
            return between.map(Datum::interval).ok_or_else(interval_out_of_range);
        }
        Function::Age => {
            let between = temporal::age(a, b);
            return between.map(Datum::interval).ok_or_else(|| out_of_range(code));
        }
        Function::MakeDate => {
            let made = temporal::make_date(a, b, arguments[2].as_int());
            return made.map(|days| Datum::int(days.into())).map_err(|why| {
                fields_out_of_range(why, &date_text(&[a, b, arguments[2].as_int()]), "")
            });
        }
        Function::MakeTime => {
            let seconds = arguments[2].as_float();
            let made = temporal::make_time(a, b, seconds);
            return made
                .map(Datum::int)
                .map_err(|why| fields_out_of_range(why, "", &time_text(a, b, seconds)));
        }
        Function::DateBin => return bin(first.as_interval(), b, arguments[2].as_int()),
        Function::IsFinite => {
            return Ok(Datum::bool(match type_of(code, 0) {
                DataType::Date => is_finite_date(a as i32),
                DataType::Interval => true,
                _ => is_finite_timestamp(a),
            }));
        }
        _ if matches!(code.result, DataType::Time(_)) => {
            Some(temporal::time_of_day(a + temporal::time_of_day(second.as_interval().micros)))
        }
        _ if matches!(type_of(code, 0), DataType::TimestampTz(_)) => {
            temporal::add_interval_in(a, second.as_interval(), zone)
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

/// make_timestamp(year, month, day, hour, minute, second), or make_timestamptz, maybe with a zone
pub(super) fn make_timestamp(machine: &Machine, code: &CallCode) -> Result<Datum, Fault> {
    let mut parts = [Datum::NULL; 6];
    for (part, (slot, _)) in parts.iter_mut().zip(code.arguments.iter()) {
        *part = machine.slots[*slot];
        if part.is_null() {
            return Ok(Datum::NULL);
        }
    }
    let zone = match code.arguments.get(parts.len()) {
        Some(given) => zone_of_moment(machine, *given)?,
        None if matches!(code.result, DataType::TimestampTz(_)) => Some(machine.conventions.zone),
        None => Some(TimeZone::UTC),
    };
    let Some(zone) = zone else { return Ok(Datum::NULL) };
    let [year, month, day, hour, minute, _] = parts.map(Datum::as_int);
    let (date, seconds) = ([year, month, day], parts[5].as_float());
    let made = temporal::make_timestamp(date, [hour, minute], seconds);
    let made = made.and_then(|clock| zone.moment_of(clock).ok_or(FieldsError::TimestampRange));
    made.map(Datum::int).map_err(|why| {
        fields_out_of_range(why, &date_text(&date), &time_text(hour, minute, seconds))
    })
}

fn date_text([year, month, day]: &[i64; 3]) -> String {
    format!("{year}-{month:02}-{day:02}")
}

fn time_text(hour: i64, minute: i64, seconds: f64) -> String {
    format!("{hour}:{minute:02}:{seconds:02}")
}

/// datetime_field_overflow of a date or a time that was made of fields
fn fields_out_of_range(why: FieldsError, date: &str, time: &str) -> Fault {
    let message = match why {
        FieldsError::Date => format!("date field value out of range: {date}"),
        FieldsError::Time => format!("time field value out of range: {time}"),
        FieldsError::DateRange => format!("date out of range: {date}"),
        FieldsError::TimestampRange => format!("timestamp out of range: {date} {time}"),
    };
    Fault::new(b"22008", message)
}

/// date_bin(stride, timestamp, origin)
fn bin(stride: Interval, micros: i64, origin: i64) -> Result<Datum, Fault> {
    if !is_finite_timestamp(micros) {
        return Ok(Datum::int(micros));
    }
    if !is_finite_timestamp(origin) {
        return Err(Fault::new(b"22008", "origin out of range"));
    }
    if stride.months != 0 {
        let message = "timestamps cannot be binned into intervals containing months or years";
        return Err(Fault::new(b"0A000", message));
    }
    let days = i64::from(stride.days).checked_mul(MICROS_PER_DAY);
    let stride = days.and_then(|days| days.checked_add(stride.micros));
    let stride = stride.ok_or_else(interval_out_of_range)?;
    if stride <= 0 {
        return Err(Fault::new(b"22008", "stride must be greater than zero"));
    }
    let start = temporal::bin(stride, micros, origin);
    start.map(Datum::int).ok_or_else(|| Fault::new(b"22008", "timestamp out of range"))
}

/// The zone that an interval tells: so much is it ahead of UTC.
fn zone_ahead(ahead: Interval) -> Result<TimeZone, Fault> {
    if ahead.months != 0 || ahead.days != 0 {
        let ahead = Value::Interval(ahead);
        let message = format!("interval time zone \"{ahead}\" must not include months or days");
        return Err(Fault::new(b"22023", message));
    }
    // Whole seconds, as of all zones.
    let seconds = i32::try_from(ahead.micros / MICROS_PER_SECOND).ok().and_then(TimeZone::fixed);
    seconds.ok_or_else(interval_out_of_range)
}

/// The zone that a function is given by its name, or by how far it is ahead of UTC.
fn zone_given(machine: &Machine, (slot, of): (u16, DataType)) -> Result<Option<TimeZone>, Fault> {
    let zone = machine.slots[slot];
    Ok(match of {
        _ if zone.is_null() => None,
        DataType::Interval => Some(zone_ahead(zone.as_interval())?),
        _ => Some(known_zone(&String::from_utf8_lossy(machine.bytes(zone)))?),
    })
}

/// As [`zone_given`], of make_timestamptz: hours after a sign are to the east, as they are in texts
/// of timestamps.
fn zone_of_moment(machine: &Machine, given: (u16, DataType)) -> Result<Option<TimeZone>, Fault> {
    let zone = machine.slots[given.0];
    if zone.is_null() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(machine.bytes(zone));
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        let message = format!("invalid input syntax for type numeric time zone: \"{text}\"");
        let error = SqlError::new(b"22023", message);
        let hint = "Numeric time zones must have \"-\" or \"+\" as first character.";
        return Err(SqlError { hint: Some(hint.to_owned()), ..error }.into());
    }
    match TimeZone::displacement(&text) {
        Ok(Some(zone)) => Ok(Some(zone)),
        Ok(None) => zone_given(machine, given),
        Err(_) => {
            let message = format!("numeric time zone \"{text}\" out of range");
            Err(Fault::new(b"22023", message))
        }
    }
}

/// A timestamp with a zone as a zone's clock shows it, or the timestamp when it shows one.
pub(super) fn in_zone(machine: &Machine, code: &CallCode) -> Result<Datum, Fault> {
    let [zone, (time, of)] = *code.arguments else { return Ok(Datum::NULL) };
    let time = machine.slots[time];
    let (Some(zone), false) = (zone_given(machine, zone)?, time.is_null()) else {
        return Ok(Datum::NULL);
    };
    let moved = match of {
        DataType::TimestampTz(_) => Some(zone.clock_at(time.as_int())),
        _ => zone.moment_of(time.as_int()),
    };
    let moved = moved.filter(|moved| {
        !is_finite_timestamp(*moved) || temporal::timestamp_in_range(*moved).is_some()
    });
    moved.map(Datum::int).ok_or_else(|| Fault::new(b"22008", "timestamp out of range"))
}

/// date_trunc(unit, timestamptz, zone)
pub(super) fn trunc_in_zone(machine: &Machine, code: &CallCode) -> Result<Datum, Fault> {
    let [(unit, _), (time, _), zone] = *code.arguments else { return Ok(Datum::NULL) };
    let (unit, time) = (machine.slots[unit], machine.slots[time]);
    match zone_given(machine, zone)? {
        Some(zone) if !unit.is_null() && !time.is_null() => {
            let truncated = trunc(unit_of(unit.as_int())?, time.as_int(), zone);
            truncated.map(Datum::int).ok_or_else(|| out_of_range(code))
        }
        _ => Ok(Datum::NULL),
    }
}

fn unit_of(code: i64) -> Result<TruncateUnit, Fault> {
    let unit = usize::try_from(code).ok().and_then(|code| TRUNCATE_UNITS.get(code));
    unit.copied().ok_or_else(|| Fault::new(b"22023", "unit not recognized"))
}

/// A timestamptz cut by a zone's clock.
fn trunc(unit: TruncateUnit, micros: i64, zone: TimeZone) -> Option<i64> {
    let clock = zone.clock_at(micros);
    let cut = temporal::date_trunc(unit, clock)?;
    match unit >= TruncateUnit::Day {
        true => zone.moment_of(cut),
        // Within an hour that comes twice it stays in the same one.
        false => Some(cut - (clock - micros)),
    }
}

/// The zone of this name.
///
/// # Errors
///
/// 22023: there is none.
pub fn known_zone(name: &str) -> Result<TimeZone, SqlError> {
    TimeZone::named(name).ok_or_else(|| {
        let message = format!("time zone \"{name}\" not recognized");
        let hint = Some(temporal::KNOWN_ZONES.to_owned());
        SqlError { hint, ..SqlError::new(b"22023", message) }
    })
}

/// datetime_field_overflow
pub(crate) fn interval_out_of_range() -> Fault {
    Fault::new(b"22008", "interval out of range")
}

fn no_unit() -> Fault {
    Fault::new(b"0A000", "unit not supported for this type")
}

/// A field of infinity: what comes again and again is unknown, and what grows is infinite, or would
/// be.
fn of_infinity(field: ExtractField, micros: i64, result: DataType) -> Result<Datum, Fault> {
    match field.grows() {
        true if result == DataType::Double => {
            Ok(Datum::float(if micros < 0 { f64::NEG_INFINITY } else { f64::INFINITY }))
        }
        true => Err(Fault::new(b"0A000", "infinity is not supported for type numeric")),
        false => Ok(Datum::NULL),
    }
}

fn out_of_range(code: &CallCode) -> Fault {
    let name = match code.function {
        Function::DateAdd | Function::DateDiff => "date",
        _ => "timestamp",
    };
    Fault::new(b"22008", format!("{name} out of range"))
}

fn extract(code: &CallCode, value: Datum, field: i64, zone: TimeZone) -> Result<Datum, Fault> {
    let field = usize::try_from(field).ok().and_then(|field| EXTRACT_FIELDS.get(field));
    let field = *field.ok_or_else(|| Fault::new(b"22023", "field not recognized"))?;
    let out_of_range = || Fault::new(b"22008", "timestamp out of range");
    let units = match type_of(code, 0) {
        DataType::Interval => value.as_interval().extract(field).ok_or_else(no_unit)?,
        DataType::Time(_) => {
            let time = Interval { micros: value.as_int(), ..Interval::default() };
            time.extract(field).filter(|_| field.is_of_time()).ok_or_else(no_unit)?
        }
        of => {
            let micros = match of {
                DataType::Date => temporal::timestamp_of_date(value.as_int() as i32),
                // How long it is since 1970 is the same in all zones.
                DataType::TimestampTz(_) if field != ExtractField::Epoch => {
                    Some(zone.clock_at(value.as_int()))
                }
                _ => Some(value.as_int()),
            };
            let micros = micros.ok_or_else(out_of_range)?;
            if !is_finite_timestamp(micros) {
                return of_infinity(field, micros, code.result);
            }
            temporal::extract(field, micros)
        }
    };
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
