//! Assignment casts: what becomes of a value that is put into a column or parameter.

use super::error::name;
use super::{Value, ValueError};
use crate::any_numeric::{self, AnyNumeric};
use crate::datum::Datum;
use crate::decimal::{self, POWERS_OF_TEN};
use crate::encoded::{Bits, Encoded, EncodedType, ZonedTime};
use crate::json;
use crate::packed;
use crate::row::{fit_characters, trim_blanks};
use crate::temporal::{
    Interval, TimeZone, date_of_timestamp, is_finite_timestamp, rounded_time, rounded_timestamp,
    time_of_day, timestamp_of_date,
};
use crate::types::{DataType, NAME_BYTES_MAX};

impl Value {
    /// The value as a datum of `data_type`; bytes are appended to `heap`. Texts are read as
    /// literals of other types; every value but an array or bytea can become text; numbers become
    /// other numbers if they are in range after rounding (decimals half away from zero, floats half
    /// to even); dates and timestamps become each other, in UTC, and timestamps and intervals
    /// times.
    pub fn to_datum(&self, data_type: DataType, heap: &mut Vec<u8>) -> Result<Datum, ValueError> {
        match (self, data_type) {
            (Self::Null, _) => Ok(Datum::NULL),
            (Self::Array(values) | Self::Shaped(_, values), DataType::Array(element)) => {
                let elements = values.iter().map(|value| value.to_datum(*element, heap));
                let elements = elements.collect::<Result<Vec<_>, _>>()?;
                Ok(packed::pack(*element, &elements, &self.shape(), heap))
            }
            (Self::Composite(of, values), DataType::Composite(to)) if *of == to => {
                let fields = values.iter().zip(of.types());
                let fields = fields.map(|(value, of)| value.to_datum(of, heap));
                let fields = fields.collect::<Result<Vec<_>, _>>()?;
                Ok(packed::pack_row(of.types(), &fields, heap))
            }
            _ if data_type.is_text() => self.to_text(data_type, heap),
            (Self::Json(text), DataType::Json)
            | (Self::Jsonb(text), DataType::Json | DataType::Jsonb) => {
                Ok(Datum::of_bytes(text.as_bytes(), heap))
            }
            (Self::Json(text), DataType::Jsonb) => {
                Self::parse(data_type, text)?.to_datum(data_type, heap)
            }
            (Self::Jsonb(_), DataType::Oid) => Err(self.no_cast(data_type)),
            (Self::Jsonb(text), _) if data_type.is_number() || data_type == DataType::Boolean => {
                json::scalar_of(text, data_type)?.to_datum(data_type, heap)
            }
            (Self::Text(text) | Self::CiText(text), _) => {
                Self::parse(data_type, text)?.to_datum(data_type, heap)
            }
            (Self::Bool(value), DataType::Boolean) => Ok(Datum::bool(*value)),
            (Self::Bytea(bytes), DataType::Bytea) => Ok(Datum::of_bytes(bytes, heap)),
            (Self::Time(micros), DataType::Interval) => {
                Ok(Datum::interval(Interval { micros: *micros, ..Interval::default() }))
            }
            (_, DataType::Time(digits)) => self.to_time(digits),
            (_, DataType::Encoded(of)) => {
                self.to_encoded(of).map(|value| Datum::of_bytes(value.bytes(), heap))
            }
            (Self::Encoded(value), DataType::Integer | DataType::BigInt) => {
                self.to_bits_number(value, data_type).map(Datum::int)
            }
            (Self::Interval(interval), DataType::Interval) => Ok(Datum::interval(*interval)),
            (Self::Range(range), DataType::Range(kind)) if range.kind() == kind => {
                Ok(range.write(heap))
            }
            (Self::Enum(of, place), DataType::Enum(to)) if of.shares(*place, to) => {
                Ok(Datum::int((*place).into()))
            }
            (Self::Uuid(bytes), DataType::Uuid) => Ok(Datum::of_bytes(bytes, heap)),
            (_, DataType::SmallInt | DataType::Integer | DataType::BigInt) => {
                self.to_integer(data_type).map(Datum::int)
            }
            (_, DataType::Oid) => self.to_oid().map(Datum::int),
            (_, DataType::Real | DataType::Double) => self.to_float(data_type).map(Datum::float),
            (_, DataType::Numeric { precision, scale }) => {
                self.to_numeric(precision, scale).map(Datum::numeric)
            }
            (_, DataType::AnyNumeric) => {
                Ok(any_numeric::write(&self.widened_numeric(data_type)?, heap))
            }
            (_, DataType::WideNumeric { precision, scale }) => {
                let fitted = self.widened_numeric(data_type)?.fitted(precision, scale);
                let number = fitted.ok_or_else(|| ValueError::out_of_range(data_type))?;
                Ok(any_numeric::write(&number, heap))
            }
            (_, DataType::Timestamp(_) | DataType::TimestampTz(_) | DataType::Date) => {
                self.to_temporal(data_type).map(Datum::int)
            }
            _ => Err(self.no_cast(data_type)),
        }
    }

    fn no_cast(&self, data_type: DataType) -> ValueError {
        match data_type {
            DataType::Array(of) => {
                ValueError::no_cast(self.type_name(), format!("{}[]", name(*of)))
            }
            _ => ValueError::no_cast(self.type_name(), name(data_type)),
        }
    }

    fn to_text(&self, data_type: DataType, heap: &mut Vec<u8>) -> Result<Datum, ValueError> {
        let shown = match self {
            Self::Text(text) | Self::CiText(text) => {
                return fit_text(data_type, text)
                    .map(|text| Datum::of_bytes(text.as_bytes(), heap));
            }
            Self::Bool(value) => value.to_string(),
            Self::Encoded(value) => value.cast_to_text(),
            Self::Bytea(_) | Self::Array(_) | Self::Shaped(..) => {
                return Err(self.no_cast(data_type));
            }
            _ => self.to_string(),
        };
        fit_text(data_type, &shown).map(|text| Datum::of_bytes(text.as_bytes(), heap))
    }

    fn to_integer(&self, data_type: DataType) -> Result<i64, ValueError> {
        let integer = match *self {
            Self::SmallInt(value) => Some(value.into()),
            Self::Int(value) => Some(value.into()),
            Self::BigInt(value) => Some(value),
            Self::Real(value) => round(value.into()),
            Self::Double(value) => round(value),
            Self::Numeric(value) => decimal::to_i64(value.units(), value.scale()),
            Self::AnyNumeric(ref value) => value.to_i64(),
            _ => return Err(self.no_cast(data_type)),
        };
        let in_range = |value: &i64| match data_type {
            DataType::SmallInt => i16::try_from(*value).is_ok(),
            DataType::Integer => i32::try_from(*value).is_ok(),
            DataType::Oid => u32::try_from(*value).is_ok(),
            _ => true,
        };
        integer.filter(in_range).ok_or_else(|| ValueError::out_of_range(data_type))
    }

    /// Integers become oids where they are in range, and nothing else does.
    fn to_oid(&self) -> Result<i64, ValueError> {
        match self {
            Self::SmallInt(_) | Self::Int(_) | Self::BigInt(_) => self.to_integer(DataType::Oid),
            _ => Err(self.no_cast(DataType::Oid)),
        }
    }

    fn to_float(&self, data_type: DataType) -> Result<f64, ValueError> {
        let float = match *self {
            Self::SmallInt(value) => value.into(),
            Self::Int(value) => value.into(),
            Self::BigInt(value) if data_type == DataType::Real => f64::from(value as f32),
            Self::BigInt(value) => value as f64,
            Self::Real(value) => value.into(),
            Self::Double(value) => value,
            Self::Numeric(value) => decimal::to_f64(value.units(), value.scale()),
            Self::AnyNumeric(ref value) => match value.to_f64() {
                float if float.is_infinite() && value.is_finite() => {
                    return Err(ValueError::out_of_range(data_type));
                }
                float => float,
            },
            _ => return Err(self.no_cast(data_type)),
        };
        if data_type == DataType::Double {
            return Ok(float);
        }
        let real = f64::from(float as f32);
        if real.is_infinite() && float.is_finite() || real == 0.0 && float != 0.0 {
            return Err(ValueError::out_of_range(data_type));
        }
        Ok(real)
    }

    fn to_numeric(&self, precision: u8, scale: u8) -> Result<i128, ValueError> {
        let data_type = DataType::Numeric { precision, scale };
        let units = match *self {
            Self::SmallInt(value) => decimal::from_i64(value.into(), scale),
            Self::Int(value) => decimal::from_i64(value.into(), scale),
            Self::BigInt(value) => decimal::from_i64(value, scale),
            Self::Real(value) if !value.is_finite() => {
                return Err(ValueError::unsupported(data_type, &self.to_string()));
            }
            Self::Double(value) if !value.is_finite() => {
                return Err(ValueError::unsupported(data_type, &self.to_string()));
            }
            Self::Real(value) => decimal::from_f32(value, scale),
            Self::Double(value) => decimal::from_f64(value, scale),
            Self::Numeric(value) => decimal::rescale(value.units(), value.scale(), scale),
            Self::AnyNumeric(ref value) if !value.is_finite() => {
                return Err(ValueError::unsupported(data_type, &self.to_string()));
            }
            Self::AnyNumeric(ref value) => value.to_units(precision, scale),
            _ => return Err(self.no_cast(data_type)),
        };
        units
            .and_then(|units| in_precision(units, precision))
            .ok_or_else(|| ValueError::out_of_range(data_type))
    }

    /// The number, with the digits it has.
    fn widened_numeric(&self, data_type: DataType) -> Result<AnyNumeric, ValueError> {
        let number = match *self {
            Self::Real(value) => AnyNumeric::from_f32(value),
            Self::Double(value) => AnyNumeric::from_f64(value),
            _ => return self.to_any_numeric().ok_or_else(|| self.no_cast(data_type)),
        };
        number.map_err(|_| ValueError::out_of_range(data_type))
    }

    /// The time of day; an infinite timestamp has none.
    fn to_time(&self, digits: u8) -> Result<Datum, ValueError> {
        let micros = match *self {
            Self::Time(micros) => micros,
            Self::Encoded(ref value) => match value.of() {
                EncodedType::TimeTz(_) => ZonedTime::read(value.bytes()).micros,
                _ => return Err(self.no_cast(DataType::Time(digits))),
            },
            Self::Interval(interval) => time_of_day(interval.micros),
            Self::Timestamp(at) if is_finite_timestamp(at) => time_of_day(at),
            Self::TimestampTz(at) if is_finite_timestamp(at) => {
                time_of_day(TimeZone::current().clock_at(at))
            }
            Self::Timestamp(_) | Self::TimestampTz(_) => return Ok(Datum::NULL),
            _ => return Err(self.no_cast(DataType::Time(digits))),
        };
        Ok(Datum::int(rounded_time(micros, digits)))
    }

    /// A value of these types from one of them, or a time of day in the session's zone.
    fn to_encoded(&self, of: EncodedType) -> Result<Encoded, ValueError> {
        let zone = TimeZone::current();
        let time = match self {
            Self::Encoded(value) => return value.clone().become_one_of(of),
            // A time says no day: of a zone with a summer time it is the winter's.
            Self::Time(micros) => ZonedTime { micros: *micros, offset: zone.offset_of(*micros) },
            Self::TimestampTz(at) if is_finite_timestamp(*at) => {
                ZonedTime { micros: time_of_day(zone.clock_at(*at)), offset: zone.offset_at(*at) }
            }
            _ => return Err(self.no_cast(DataType::Encoded(of))),
        };
        match of {
            EncodedType::TimeTz(digits) => Ok(time.rounded(digits).encoded()),
            _ => Err(self.no_cast(DataType::Encoded(of))),
        }
    }

    /// The number that bits are.
    fn to_bits_number(&self, value: &Encoded, to: DataType) -> Result<i64, ValueError> {
        match value.of() {
            EncodedType::Bit(_) | EncodedType::VarBit(_) => {
                Bits::read(value.bytes()).to_integer(if to == DataType::Integer { 32 } else { 64 })
            }
            _ => Err(self.no_cast(to)),
        }
    }

    fn to_temporal(&self, data_type: DataType) -> Result<i64, ValueError> {
        match (self, data_type) {
            (Self::Date(days), DataType::Date) => Ok((*days).into()),
            (Self::Date(days), DataType::TimestampTz(_)) => timestamp_of_date(*days)
                .and_then(|clock| TimeZone::current().moment_of(clock))
                .ok_or_else(ValueError::date_beyond_timestamps),
            (Self::Date(days), _) => {
                timestamp_of_date(*days).ok_or_else(ValueError::date_beyond_timestamps)
            }
            (Self::Timestamp(clock), DataType::TimestampTz(digits)) => {
                let moment = TimeZone::current().moment_of(*clock);
                let moment = moment.ok_or_else(|| ValueError::out_of_range(data_type))?;
                in_digits(moment, digits, data_type)
            }
            (Self::TimestampTz(micros), DataType::Timestamp(digits)) => {
                in_digits(TimeZone::current().clock_at(*micros), digits, data_type)
            }
            (Self::Timestamp(micros), DataType::Timestamp(digits))
            | (Self::TimestampTz(micros), DataType::TimestampTz(digits)) => {
                in_digits(*micros, digits, data_type)
            }
            (Self::Timestamp(clock), DataType::Date) => Ok(date_of_timestamp(*clock).into()),
            (Self::TimestampTz(micros), DataType::Date) => {
                Ok(date_of_timestamp(TimeZone::current().clock_at(*micros)).into())
            }
            _ => Err(self.no_cast(data_type)),
        }
    }
}

/// A timestamp with so many digits of a second.
pub(super) fn in_digits(micros: i64, digits: u8, of: DataType) -> Result<i64, ValueError> {
    rounded_timestamp(micros, digits).ok_or_else(|| ValueError::out_of_range(of))
}

/// The units, if they have at most `precision` digits.
pub(super) fn in_precision(units: i128, precision: u8) -> Option<i128> {
    let limit = POWERS_OF_TEN[usize::from(precision)];
    (units.unsigned_abs() < limit.unsigned_abs()).then_some(units)
}

/// The part of a text that a text type keeps; of char(n), without trailing blanks.
fn fit_text(data_type: DataType, text: &str) -> Result<&str, ValueError> {
    if text.contains('\0') {
        return Err(ValueError::zero_byte());
    }
    let kept = match data_type {
        DataType::Varchar(n) => fit_characters(text.as_bytes(), n),
        // What is longer is cut without a word, as in PostgreSQL.
        DataType::CatalogChar => {
            let end = text.chars().next().map_or(0, char::len_utf8);
            Some(&text.as_bytes()[..end])
        }
        DataType::Name => Some(&text.as_bytes()[..text.floor_char_boundary(NAME_BYTES_MAX)]),
        DataType::Char(n) => {
            Some(trim_blanks(text.as_bytes())).filter(|bytes| bytes.len() <= n as usize)
        }
        _ => Some(text.as_bytes()),
    };
    let kept = kept.ok_or_else(|| ValueError::too_long(data_type))?.len();
    Ok(&text[..kept])
}

/// A text as it is read back from a column of a text type.
pub(super) fn stored_text(data_type: DataType, text: &str) -> Result<String, ValueError> {
    let kept = fit_text(data_type, text)?.to_owned();
    Ok(match data_type {
        DataType::Char(n) => padded(kept, n),
        _ => kept,
    })
}

/// A text with blanks up to `len` bytes.
pub(super) fn padded(mut text: String, len: u32) -> String {
    let blanks = (len as usize).saturating_sub(text.len());
    text.extend(std::iter::repeat_n(' ', blanks));
    text
}

/// Half to even; `None` for NaN and beyond 64 bits.
fn round(value: f64) -> Option<i64> {
    const LIMIT: f64 = (1_u64 << 63) as f64;
    let rounded = value.round_ties_even();
    (-LIMIT..LIMIT).contains(&rounded).then_some(rounded as i64)
}
