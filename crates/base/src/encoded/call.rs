//! What functions and operators of these types give.

use super::{Bits, Device, Encoded, EncodedType, Network, Result, ZonedTime};
use crate::temporal::{
    MICROS_PER_DAY, MICROS_PER_SECOND, TimeZone, timestamp_in_range, timestamp_of_date,
};
use crate::types::DataType;
use crate::value::{Value, ValueError};

/// A function or an operator. NULL in any argument gives NULL.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EncodedFunction {
    /// host(inet)
    Host,
    /// abbrev(inet or cidr)
    Abbreviation,
    /// family(inet)
    Family,
    /// masklen(inet)
    MaskLength,
    /// set_masklen(inet or cidr, integer)
    SetMaskLength,
    /// netmask(inet)
    NetMask,
    /// hostmask(inet)
    HostMask,
    /// network(inet)
    Network,
    /// broadcast(inet)
    Broadcast,
    /// inet_same_family(inet, inet)
    IsSameFamily,
    /// inet_merge(inet, inet)
    Merge,
    /// `inet << inet`
    IsWithin,
    /// `inet <<= inet`
    IsWithinOrEqual,
    /// `inet >> inet`
    Includes,
    /// `inet >>= inet`
    IncludesOrEqual,
    /// `inet && inet`
    Overlaps,
    /// `inet + bigint`
    Plus,
    /// `inet - bigint`
    Minus,
    /// `inet - inet`
    Distance,
    /// `~` of an address or of bits
    Not,
    /// `&` of addresses or of bits
    And,
    /// `|` of addresses or of bits
    Or,
    /// `bit # bit`
    Xor,
    /// `bit << integer`
    ShiftLeft,
    /// `bit >> integer`
    ShiftRight,
    /// `bit || bit`
    Concat,
    /// length(bit)
    Length,
    /// octet_length(bit)
    OctetLength,
    /// bit_count(bit)
    CountOnes,
    /// get_bit(bit, integer)
    GetBit,
    /// set_bit(bit, integer, integer)
    SetBit,
    /// substring(bit, integer [, integer])
    Substring,
    /// position(bit IN bit): the longer one first, as strpos
    Position,
    /// overlay(bit, bit, integer [, integer])
    Overlay,
    /// a written cast to bits of the result's length: of bits, or of an integer
    Force,
    /// trunc(macaddr)
    Maker,
    /// macaddr8_set7bit(macaddr8)
    SetSeventhBit,
    /// extract(timezone from timetz): seconds that its zone is ahead of UTC
    Offset,
    /// `timetz + interval`
    Later,
    /// `timetz - interval`
    Earlier,
    /// `date + timetz`, a timestamptz
    AtDate,
    /// a timetz as another zone's clock shows it: arguments (zone's name or interval, value)
    InZone,
}

impl EncodedFunction {
    /// What it is called by: the sign of an operator, or the name of a function.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Abbreviation => "abbrev",
            Self::Family => "family",
            Self::MaskLength => "masklen",
            Self::SetMaskLength => "set_masklen",
            Self::NetMask => "netmask",
            Self::HostMask => "hostmask",
            Self::Network => "network",
            Self::Broadcast => "broadcast",
            Self::IsSameFamily => "inet_same_family",
            Self::Merge => "inet_merge",
            Self::IsWithin | Self::ShiftLeft => "<<",
            Self::IsWithinOrEqual => "<<=",
            Self::Includes | Self::ShiftRight => ">>",
            Self::IncludesOrEqual => ">>=",
            Self::Overlaps => "&&",
            Self::Plus | Self::Later | Self::AtDate => "+",
            Self::Minus | Self::Distance | Self::Earlier => "-",
            Self::Not => "~",
            Self::And => "&",
            Self::Or => "|",
            Self::Xor => "#",
            Self::Concat => "||",
            Self::Length => "length",
            Self::OctetLength => "octet_length",
            Self::CountOnes => "bit_count",
            Self::GetBit => "get_bit",
            Self::SetBit => "set_bit",
            Self::Substring => "substring",
            Self::Position => "strpos",
            Self::Overlay => "overlay",
            Self::Force => "bit",
            Self::Maker => "trunc",
            Self::SetSeventhBit => "macaddr8_set7bit",
            Self::Offset => "extract",
            Self::InZone => "timezone",
        }
    }
}

/// Calls a function, whose result is of type `gives`.
///
/// # Errors
///
/// 22P02, 22003, 22023, 22026, 2202E: as PostgreSQL says of each.
pub fn call(function: EncodedFunction, arguments: &[Value], gives: DataType) -> Result<Value> {
    use EncodedFunction as F;
    use EncodedType as T;
    if arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let to = match gives {
        DataType::Encoded(of) => of,
        _ => T::VarBit(0),
    };
    let integers: Vec<i64> = arguments.iter().skip(1).filter_map(integer).collect();
    match (function, arguments) {
        (F::Force, [number]) if integer(number).is_some() => {
            let T::Bit(bits) = to else { return Ok(Value::Null) };
            let number = integer(number).unwrap_or_default();
            Ok(Bits::of_integer(number, bits).encoded(to).into())
        }
        (F::AtDate, [Value::Date(day), Value::Encoded(time)]) => {
            let time = ZonedTime::read(time.bytes());
            let midnight = timestamp_of_date(*day);
            let ahead = i64::from(time.offset) * MICROS_PER_SECOND;
            let micros = midnight.and_then(|at| at.checked_add(time.micros - ahead));
            let micros = micros.and_then(timestamp_in_range);
            micros.map(Value::TimestampTz).ok_or_else(ValueError::date_beyond_timestamps)
        }
        (F::InZone, [zone, Value::Encoded(time)]) => in_zone(zone, ZonedTime::read(time.bytes())),
        (_, [Value::Encoded(one), rest @ ..]) => match one.of() {
            T::Inet | T::Cidr => of_network(function, one, rest, to),
            T::MacAddr | T::MacAddr8 => Ok(of_device(function, one, rest)),
            T::Bit(_) | T::VarBit(_) => {
                let other = match rest {
                    [Value::Encoded(other), ..] => Some(Bits::read(other.bytes())),
                    _ => None,
                };
                of_bits(function, Bits::read(one.bytes()), other, &integers, to)
            }
            T::TimeTz(_) => Ok(of_time(function, ZonedTime::read(one.bytes()), rest)),
        },
        _ => Ok(Value::Null),
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::SmallInt(value) => Some((*value).into()),
        Value::Int(value) => Some((*value).into()),
        Value::BigInt(value) => Some(*value),
        _ => None,
    }
}

fn of_network(
    function: EncodedFunction,
    value: &Encoded,
    rest: &[Value],
    to: EncodedType,
) -> Result<Value> {
    use EncodedFunction as F;
    let one = Network::read(value.bytes());
    let text = |text: String| Ok(Value::Text(text));
    let inet = |network: Network| Ok(Value::from(network.encoded(EncodedType::Inet)));
    let cidr = |network: Network| Ok(Value::from(network.encoded(EncodedType::Cidr)));
    match (function, rest) {
        (F::Host, []) => text(one.host_text()),
        (F::Abbreviation, []) if value.of() == EncodedType::Cidr => text(one.short_text()),
        (F::Abbreviation, []) => text(one.to_string()),
        (F::Family, []) => Ok(Value::Int(if one.is_four() { 4 } else { 6 })),
        (F::MaskLength, []) => Ok(Value::Int(one.bits.into())),
        (F::NetMask, []) => inet(one.host_of(!one.host_mask())),
        (F::HostMask, []) => inet(one.host_of(one.host_mask())),
        (F::Network, []) => cidr(one.network()),
        (F::Broadcast, []) => inet(one.with_number(one.number() | one.host_mask(), one.bits)),
        (F::Not, []) => inet(one.with_number(!one.number(), one.bits)),
        (F::SetMaskLength, [bits]) => {
            let wanted = integer(bits).unwrap_or_default();
            // -1 is all of them.
            let bits = if wanted == -1 { Some(one.width()) } else { u8::try_from(wanted).ok() };
            let set = bits.and_then(|bits| Network::new(one.address, bits));
            let set = set.ok_or_else(|| ValueError::mask_length(wanted))?;
            let set = if to == EncodedType::Cidr { set.network() } else { set };
            Ok(set.encoded(to).into())
        }
        (F::Plus, [by]) => moved(one, integer(by).unwrap_or_default().into()),
        (F::Minus, [by]) => moved(one, -i128::from(integer(by).unwrap_or_default())),
        (_, [Value::Encoded(other)]) => {
            let other = Network::read(other.bytes());
            let bits = one.bits.max(other.bits);
            let is_alike = one.is_four() == other.is_four();
            let is = |truth: bool| Ok(Value::Bool(truth));
            match function {
                F::IsSameFamily => is(is_alike),
                F::IsWithin => is(other.includes(one) && other.bits < one.bits),
                F::IsWithinOrEqual => is(other.includes(one)),
                F::Includes => is(one.includes(other) && one.bits < other.bits),
                F::IncludesOrEqual => is(one.includes(other)),
                F::Overlaps => is(one.includes(other) || other.includes(one)),
                F::Merge if !is_alike => Err(ValueError::mixed_families()),
                F::Merge => cidr(merged(one, other)),
                F::And | F::Or | F::Distance if !is_alike => Err(ValueError::mixed_sizes(function)),
                F::And => inet(one.with_number(one.number() & other.number(), bits)),
                F::Or => inet(one.with_number(one.number() | other.number(), bits)),
                F::Distance => {
                    let far = one.number().wrapping_sub(other.number()) as i128;
                    let far = i64::try_from(far).map_err(|_| ValueError::inet_range())?;
                    Ok(Value::BigInt(far))
                }
                _ => Ok(Value::Null),
            }
        }
        _ => Ok(Value::Null),
    }
}

/// The address that is so much further.
fn moved(from: Network, by: i128) -> Result<Value> {
    let most = if from.is_four() { u128::from(u32::MAX) } else { u128::MAX };
    let moved = from.number().checked_add_signed(by).filter(|number| *number <= most);
    let moved = moved.ok_or_else(ValueError::inet_range)?;
    Ok(from.with_number(moved, from.bits).encoded(EncodedType::Inet).into())
}

/// The smallest network that both lie in.
fn merged(one: Network, other: Network) -> Network {
    let spare = 128 - u32::from(one.width());
    let alike = (one.number() ^ other.number()).leading_zeros() - spare;
    let bits = one.bits.min(other.bits).min(u8::try_from(alike).unwrap_or(u8::MAX));
    Network { bits, ..one }.network()
}

fn of_device(function: EncodedFunction, value: &Encoded, rest: &[Value]) -> Value {
    use EncodedFunction as F;
    let one = Device::read(value.bytes());
    let other = match rest {
        [Value::Encoded(other)] => Device::read(other.bytes()),
        _ => one,
    };
    let result = match function {
        F::Not => one.joined(one, |byte, _| !byte),
        F::And => one.joined(other, |one, other| one & other),
        F::Or => one.joined(other, |one, other| one | other),
        F::Maker => one.maker(),
        F::SetSeventhBit => one.with_seventh_bit(),
        _ => return Value::Null,
    };
    result.encoded().into()
}

fn of_bits(
    function: EncodedFunction,
    mut bits: Bits,
    other: Option<Bits>,
    integers: &[i64],
    to: EncodedType,
) -> Result<Value> {
    use EncodedFunction as F;
    let count = bits.0.len();
    let length = |count: usize| Ok(Value::Int(i32::try_from(count).unwrap_or(i32::MAX)));
    let result = match (function, other, integers) {
        (F::Length, None, []) => return length(count),
        (F::OctetLength, None, []) => return length(count.div_ceil(8)),
        (F::CountOnes, None, []) => {
            return Ok(Value::BigInt(bits.0.iter().filter(|bit| **bit).count() as i64));
        }
        (F::Force, None, []) => bits.forced(to),
        (F::Not, None, []) => Bits(bits.0.iter().map(|bit| !bit).collect()),
        (F::And | F::Or | F::Xor, Some(other), []) => {
            if other.0.len() != count {
                return Err(ValueError::bits_of_other_size(function));
            }
            let join = |(one, other): (&bool, &bool)| match function {
                F::And => one & other,
                F::Or => one | other,
                _ => one ^ other,
            };
            Bits(bits.0.iter().zip(&other.0).map(join).collect())
        }
        (F::Concat, Some(other), []) => {
            bits.0.extend(other.0);
            bits.fitted(EncodedType::VarBit(0))?
        }
        (F::ShiftLeft, None, [by]) => shifted(bits, *by),
        (F::ShiftRight, None, [by]) => shifted(bits, by.saturating_neg()),
        (F::GetBit, None, [at]) => {
            let bit = usize::try_from(*at).ok().and_then(|at| bits.0.get(at));
            let bit = bit.ok_or_else(|| ValueError::no_such_bit(*at, count))?;
            return Ok(Value::Int((*bit).into()));
        }
        (F::SetBit, None, [at, new]) => {
            let bit = usize::try_from(*at).ok().and_then(|at| bits.0.get_mut(at));
            let bit = bit.ok_or_else(|| ValueError::no_such_bit(*at, count))?;
            if !matches!(new, 0 | 1) {
                return Err(ValueError::bit_value());
            }
            *bit = *new == 1;
            bits
        }
        (F::Substring, None, [from]) => part(&bits, *from, None)?,
        (F::Substring, None, [from, length]) => part(&bits, *from, Some(*length))?,
        (F::Position, Some(other), []) => return length(position(&bits, &other)),
        (F::Overlay, Some(other), [from, rest @ ..]) => {
            let length = rest.first().copied().unwrap_or(other.0.len() as i64);
            if *from <= 0 {
                return Err(ValueError::negative_length());
            }
            let behind = part(&bits, from.saturating_add(length), None)?;
            let mut result = part(&bits, 1, Some(from - 1))?;
            result.0.extend(other.0);
            result.0.extend(behind.0);
            result.fitted(EncodedType::VarBit(0))?
        }
        _ => return Ok(Value::Null),
    };
    Ok(result.encoded(to).into())
}

/// Zeros take the place of what goes out; the length stays.
fn shifted(bits: Bits, left: i64) -> Bits {
    let count = bits.0.len() as i64;
    let bit = |at: i64| {
        let from = at.saturating_add(left);
        usize::try_from(from).ok().and_then(|from| bits.0.get(from).copied()).unwrap_or_default()
    };
    Bits((0..count).map(bit).collect())
}

/// Bits from a place on, counted from 1; what is outside is left out.
fn part(bits: &Bits, from: i64, length: Option<i64>) -> Result<Bits> {
    if length.is_some_and(|length| length < 0) {
        return Err(ValueError::negative_length());
    }
    let count = bits.0.len() as i64;
    let end = length.map_or(count, |length| from.saturating_sub(1).saturating_add(length));
    let (start, end) = (from.saturating_sub(1).clamp(0, count), end.clamp(0, count));
    Ok(Bits(bits.0[start as usize..(end.max(start)) as usize].to_vec()))
}

/// Where bits stand in others, from 1 on; 0: nowhere.
fn position(bits: &Bits, wanted: &Bits) -> usize {
    if bits.0.is_empty() {
        return 0;
    }
    if wanted.0.is_empty() {
        return 1;
    }
    bits.0.windows(wanted.0.len()).position(|part| part == wanted.0).map_or(0, |at| at + 1)
}

fn of_time(function: EncodedFunction, time: ZonedTime, rest: &[Value]) -> Value {
    use EncodedFunction as F;
    match (function, rest) {
        (F::Later, [Value::Interval(by)]) => time.later(by.micros).encoded().into(),
        (F::Earlier, [Value::Interval(by)]) => {
            time.later(-(by.micros % MICROS_PER_DAY)).encoded().into()
        }
        (F::Offset, []) => Value::Int(time.offset),
        _ => Value::Null,
    }
}

fn in_zone(zone: &Value, time: ZonedTime) -> Result<Value> {
    let offset = match zone {
        Value::Interval(ahead) => i32::try_from(ahead.micros / MICROS_PER_SECOND).ok(),
        // Of a zone with a summer time, the winter's: no date is said.
        Value::Text(name) => match TimeZone::named(name) {
            Some(zone) => Some(zone.offset_of(time.micros)),
            None => return Err(ValueError::unknown_zone(name)),
        },
        _ => None,
    };
    let offset = offset.ok_or_else(|| ValueError::range_of("interval"))?;
    Ok(time.shown_at(offset).encoded().into())
}
