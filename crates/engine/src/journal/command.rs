//! Command entries: a call as bytes.
//!
//! Role         written at commit, read by recovery and by dumps. The procedure's parameter types
//!              are not repeated: they are known wherever the procedure is
//!
//! ```text
//! flags 1 │ procedure varint │ now signed varint │ write hash 4 │ key │ conventions │ arguments
//!
//! flags       bit 0: ran alone, at a quiet point; bit 1: has a key; bit 2: has conventions
//! now         microseconds since 2000-01-01 UTC: what now() was
//! write hash  the upper and lower half of the 64-bit hash, xored
//! key         the caller's name for the call, behind its length; only if it has one
//! conventions of the session that called ([`Conventions::kept`]), behind their length; only if
//!             they are not those that sessions begin with
//! arguments   one bit per parameter, set where it is NULL, in whole bytes; then each that is not:
//!             boolean, integers, date, timestamps   signed varint
//!             real, double precision                8 bytes
//!             numeric                               wide signed varint, units of the scale
//!             interval                              the same: months, days, microseconds
//!             text, bytea, uuid, json, jsonb        bytes behind their length
//!             array                                 count varint, then as arguments; one that is
//!                                                   not plain (hotrow_base::shape) has the number
//!                                                   of its dimensions in bits 32 to 34 of the
//!                                                   count, and of each behind it where it begins,
//!                                                   a signed varint, and its length, a varint
//! ```

use hotrow_base::conventions::Conventions;
use hotrow_base::datum::Datum;
use hotrow_base::ids::ProcedureId;
use hotrow_base::shape::{ArrayShape, DIMENSIONS_MAX, Dimension};
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::varint::{ByteReader, put, put_bytes, put_signed, put_wide};
use hotrow_transaction::invocation::{Arguments, Invocation};
use hotrow_transaction::program::Slot;

use super::Company;

const ALONE: u8 = 1;
const KEYED: u8 = 2;
const CONVENED: u8 = 4;

/// Where the number of dimensions stands above an array's number of elements.
const DIMENSIONS_SHIFT: u32 = 32;

/// What stands before the arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandHead<'a> {
    /// what was called
    pub procedure: ProcedureId,
    /// the call's time
    pub now_us: i64,
    /// what [`fold_hash`] makes of the hash of its writes
    pub write_hash: u32,
    /// whether others ran beside it
    pub company: Company,
    /// the caller's name for the call; empty: none
    pub key: &'a [u8],
    /// of the session, as [`Conventions::of_kept`] knows them; none: as sessions begin
    pub conventions: Option<&'a str>,
}

/// The hash of writes as entries have it.
pub const fn fold_hash(hash: u64) -> u32 {
    (hash ^ hash >> 32) as u32
}

/// Appends a call's entry.
pub fn encode(
    out: &mut Vec<u8>,
    invocation: &Invocation,
    parameters: &[Slot],
    write_hash: u64,
    company: Company,
) {
    debug_assert_eq!(parameters.len(), invocation.arguments.datums.len(), "calls are checked");
    let alone = if company == Company::Alone { ALONE } else { 0 };
    let keyed = if invocation.key.is_empty() { 0 } else { KEYED };
    let convened = if invocation.conventions == Conventions::DEFAULT { 0 } else { CONVENED };
    out.push(alone | keyed | convened);
    put(out, u64::from(invocation.procedure.0));
    put_signed(out, invocation.now_us);
    out.extend_from_slice(&fold_hash(write_hash).to_le_bytes());
    if keyed != 0 {
        put_bytes(out, &invocation.key);
    }
    if convened != 0 {
        put_bytes(out, invocation.conventions.kept().as_bytes());
    }
    encode_arguments(out, &invocation.arguments, parameters);
}

/// Appends arguments alone. The same arguments give the same bytes.
pub fn encode_arguments(out: &mut Vec<u8>, arguments: &Arguments, parameters: &[Slot]) {
    let Arguments { datums, elements, heap } = arguments;
    put_nulls(out, datums);
    for (&datum, slot) in datums.iter().zip(parameters).filter(|(datum, _)| !datum.is_null()) {
        match slot.sql_type {
            SqlType::Scalar(data_type) => put_datum(out, datum, data_type, heap),
            SqlType::Array(element) => {
                let shape = ArrayShape::of_list(datum, elements);
                let elements = &elements[datum.as_range().range()];
                put_shape(out, &shape);
                put_nulls(out, elements);
                let present = elements.iter().filter(|datum| !datum.is_null());
                present.for_each(|&datum| put_datum(out, datum, element, heap));
            }
        }
    }
}

/// Appends the number of elements, and the dimensions if that does not say it all.
fn put_shape(out: &mut Vec<u8>, shape: &ArrayShape) {
    let dimensions = if shape.is_plain() { &[] } else { shape.dimensions() };
    put(out, (dimensions.len() as u64) << DIMENSIONS_SHIFT | shape.elements() as u64);
    for Dimension { length, lower } in dimensions {
        put_signed(out, (*lower).into());
        put(out, (*length).into());
    }
}

/// Reads what [`put_shape`] wrote.
fn take_shape(reader: &mut ByteReader<'_>) -> Option<ArrayShape> {
    let head = reader.varint()?;
    let count = usize::try_from(head & ((1 << DIMENSIONS_SHIFT) - 1)).ok()?;
    let dimensions = match head >> DIMENSIONS_SHIFT {
        0 => return Some(ArrayShape::plain(count)),
        dimensions => usize::try_from(dimensions).ok()?,
    };
    let mut read = Vec::new();
    for _ in 0..dimensions.min(DIMENSIONS_MAX + 1) {
        let lower = i32::try_from(reader.signed()?).ok()?;
        read.push(Dimension { length: u32::try_from(reader.varint()?).ok()?, lower });
    }
    ArrayShape::new(&read).filter(|shape| shape.elements() == count)
}

fn put_nulls(out: &mut Vec<u8>, datums: &[Datum]) {
    for eight in datums.chunks(8) {
        let bit = |(at, datum): (usize, &Datum)| u8::from(datum.is_null()) << at;
        out.push(eight.iter().enumerate().map(bit).sum());
    }
}

#[inline]
fn put_datum(out: &mut Vec<u8>, datum: Datum, data_type: DataType, heap: &[u8]) {
    match data_type {
        DataType::Real | DataType::Double => {
            out.extend_from_slice(&datum.as_float().to_bits().to_le_bytes());
        }
        DataType::Numeric { .. } | DataType::Interval => put_wide(out, datum.as_numeric()),
        _ if data_type.is_bytes() => put_bytes(out, &heap[datum.as_range().range()]),
        _ => put_signed(out, datum.as_int()),
    }
}

/// Reads what stands before the arguments, and leaves the reader there. `None`: these bytes are no
/// command.
pub fn decode_head<'a>(reader: &mut ByteReader<'a>) -> Option<CommandHead<'a>> {
    let flags = reader.byte()?;
    if flags & !(ALONE | KEYED | CONVENED) != 0 {
        return None;
    }
    Some(CommandHead {
        procedure: ProcedureId(u32::try_from(reader.varint()?).ok()?),
        now_us: reader.signed()?,
        write_hash: u32::from_le_bytes(reader.array()?),
        company: if flags & ALONE != 0 { Company::Alone } else { Company::Shared },
        key: if flags & KEYED != 0 { reader.bytes()? } else { &[] },
        conventions: match flags & CONVENED {
            0 => None,
            _ => Some(std::str::from_utf8(reader.bytes()?).ok()?),
        },
    })
}

/// Reads the arguments, to the end of the entry. `None`: they do not fit the parameters.
pub fn decode_arguments(
    mut reader: ByteReader<'_>,
    parameters: &[Slot],
    arguments: &mut Arguments,
) -> Option<()> {
    arguments.clear();
    let nulls = reader.take(parameters.len().div_ceil(8))?;
    for (at, slot) in parameters.iter().enumerate() {
        let datum = match slot.sql_type {
            _ if is_null(nulls, at) => Datum::NULL,
            SqlType::Scalar(data_type) => take_datum(&mut reader, data_type, &mut arguments.heap)?,
            SqlType::Array(element) => take_array(&mut reader, element, arguments)?,
        };
        arguments.datums.push(datum);
    }
    reader.is_empty().then_some(())
}

fn take_array(
    reader: &mut ByteReader<'_>,
    element: DataType,
    arguments: &mut Arguments,
) -> Option<Datum> {
    let shape = take_shape(reader)?;
    let (count, start) = (shape.elements(), arguments.elements.len());
    let nulls = reader.take(count.div_ceil(8))?;
    for at in 0..count {
        let datum = if is_null(nulls, at) {
            Datum::NULL
        } else {
            take_datum(reader, element, &mut arguments.heap)?
        };
        arguments.elements.push(datum);
    }
    Some(shape.array_of_list(start, &mut arguments.elements))
}

fn is_null(nulls: &[u8], at: usize) -> bool {
    nulls[at / 8] >> (at % 8) & 1 != 0
}

fn take_datum(
    reader: &mut ByteReader<'_>,
    data_type: DataType,
    heap: &mut Vec<u8>,
) -> Option<Datum> {
    Some(match data_type {
        DataType::Boolean => match reader.signed()? {
            0 => Datum::FALSE,
            1 => Datum::TRUE,
            _ => return None,
        },
        DataType::SmallInt => Datum::int(i16::try_from(reader.signed()?).ok()?.into()),
        DataType::Enum(of) => {
            let place = u16::try_from(reader.signed()?).ok()?;
            (usize::from(place) < of.labels().len()).then(|| Datum::int(place.into()))?
        }
        DataType::Integer | DataType::Date => {
            Datum::int(i32::try_from(reader.signed()?).ok()?.into())
        }
        DataType::Real | DataType::Double => {
            Datum::float(f64::from_bits(u64::from_le_bytes(reader.array()?)))
        }
        DataType::Numeric { precision, .. } => {
            let units = reader.wide()?;
            if units.unsigned_abs() >= 10_u128.pow(precision.into()) {
                return None;
            }
            Datum::numeric(units)
        }
        DataType::Interval => Some(Datum::numeric(reader.wide()?)).filter(|d| !d.is_null())?,
        _ if data_type.is_bytes() => {
            let bytes = reader.bytes()?;
            let fits = match data_type {
                DataType::Uuid => bytes.len() == 16,
                DataType::Bytea | DataType::AnyNumeric | DataType::WideNumeric { .. } => true,
                DataType::Range(_) | DataType::Encoded(_) | DataType::Composite(_) => true,
                _ => std::str::from_utf8(bytes).is_ok(),
            };
            let start = u32::try_from(heap.len()).ok().filter(|_| fits)?;
            heap.extend_from_slice(bytes);
            Datum::range(start, u32::try_from(bytes.len()).ok()?)
        }
        _ => Datum::int(reader.signed()?),
    })
}

#[cfg(test)]
mod tests;
