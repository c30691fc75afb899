//! Arrays in one piece: how a column or a result holds one.
//!
//! Role         made of elements that lie in a list, and read back to one; compared as they are
//! Invariants   I1 reading is total: whatever bytes a racing reader meets, nothing panics and no
//!                 more elements come out than the bytes have bits; those that are cut off are NULL
//!              I2 the bytes say what form the elements have, so that two arrays of one type can be
//!                 compared without it
//!
//! ```text
//! byte 0     | form of the elements: see Form
//! bytes 1..5 | how many there are, lowest byte first
//! then       | one bit for each element, the first in bit 0 of the first byte: set for NULL
//! then       | those that are not NULL, one behind the other: numbers and times in 1, 2, 4, 8
//!            | or 16 bytes, lowest byte first; texts and the like with their length in 4 before
//! ```

use std::cmp::Ordering;

use crate::any_numeric;
use crate::datum::Datum;
use crate::row::NUMERIC_DIGITS_IN_WORD;
use crate::types::DataType;

/// Bytes before the bits for NULLs.
const HEAD_BYTES: usize = 5;

/// How elements are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Form {
    /// boolean
    I8 = 1,
    /// smallint, enums
    I16 = 2,
    /// integer, date
    I32 = 3,
    /// bigint, oid, timestamps, time
    I64 = 4,
    /// real
    F32 = 5,
    /// double precision
    F64 = 6,
    /// numerics of at most 18 digits
    N64 = 7,
    /// other numerics
    N128 = 8,
    /// both words as they are
    Interval = 9,
    /// texts, bytea, json, uuid: length and bytes
    Bytes = 10,
    /// numerics without a precision, ranges: length and bytes
    Number = 11,
}

impl Form {
    const ALL: [Self; 11] = [
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::F32,
        Self::F64,
        Self::N64,
        Self::N128,
        Self::Interval,
        Self::Bytes,
        Self::Number,
    ];

    fn of(element: DataType) -> Self {
        match element {
            DataType::Boolean => Self::I8,
            DataType::SmallInt | DataType::Enum(_) => Self::I16,
            DataType::Integer | DataType::Date => Self::I32,
            DataType::Real => Self::F32,
            DataType::Double => Self::F64,
            DataType::Numeric { precision, .. } if precision <= NUMERIC_DIGITS_IN_WORD => Self::N64,
            DataType::Numeric { .. } => Self::N128,
            DataType::Interval => Self::Interval,
            _ if element.is_shown_by_last_bytes() => Self::Number,
            _ if element.is_bytes() => Self::Bytes,
            _ => Self::I64,
        }
    }

    fn read(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|form| *form as u8 == byte)
    }

    /// Bytes of an element, or of its length.
    const fn width(self) -> usize {
        match self {
            Self::I8 => 1,
            Self::I16 => 2,
            Self::I32 | Self::F32 | Self::Bytes | Self::Number => 4,
            Self::I64 | Self::F64 | Self::N64 => 8,
            Self::N128 | Self::Interval => 16,
        }
    }
}

/// Appends an array to a heap, which has the bytes of its elements, too.
pub fn pack(element: DataType, elements: &[Datum], heap: &mut Vec<u8>) -> Datum {
    let form = Form::of(element);
    let start = heap.len();
    heap.push(form as u8);
    heap.extend((elements.len() as u32).to_le_bytes());
    let bits = heap.len();
    heap.resize(bits + elements.len().div_ceil(8), 0);
    for (at, element) in elements.iter().enumerate() {
        if element.is_null() {
            heap[bits + at / 8] |= 1 << (at % 8);
        } else {
            append(form, *element, heap);
        }
    }
    Datum::range(start as u32, (heap.len() - start) as u32)
}

fn append(form: Form, element: Datum, heap: &mut Vec<u8>) {
    match form {
        Form::F32 => heap.extend((element.as_float() as f32).to_le_bytes()),
        Form::Bytes | Form::Number => {
            let range = element.as_range();
            heap.extend(range.len.to_le_bytes());
            heap.extend_from_within(range.range());
        }
        Form::N128 | Form::Interval => {
            let (low, high) = element.to_words();
            heap.extend(low.to_le_bytes());
            heap.extend(high.to_le_bytes());
        }
        _ => heap.extend_from_slice(&element.to_words().0.to_le_bytes()[..form.width()]),
    }
}

/// The bytes that an array of such elements takes at most, for who makes room for it.
pub fn packed_bytes(element: DataType, elements: &[Datum]) -> usize {
    let form = Form::of(element);
    let each = elements.len().saturating_mul(form.width()) + elements.len().div_ceil(8);
    let is_bytes = matches!(form, Form::Bytes | Form::Number);
    let texts = elements.iter().filter(|element| is_bytes && !element.is_null());
    let texts = texts.map(|text| text.as_range().len as usize).sum::<usize>();
    HEAD_BYTES.saturating_add(each).saturating_add(texts)
}

/// The elements of an array whose bytes lie in a heap; those that are bytes are ranges of it.
pub fn elements(packed: Datum, heap: &[u8]) -> Elements<'_> {
    let range = packed.as_range().range();
    Elements::new(heap.get(range.clone()).unwrap_or_default(), range.start)
}

/// Reads an array's elements.
pub struct Elements<'a> {
    bytes: &'a [u8],
    /// where the bytes lie in their heap
    base: usize,
    form: Form,
    count: usize,
    /// the next element, and where its bytes are
    next: usize,
    at: usize,
}

impl<'a> Elements<'a> {
    fn new(bytes: &'a [u8], base: usize) -> Self {
        let form = bytes.first().and_then(|form| Form::read(*form));
        let count = bytes.get(1..).and_then(|rest| rest.first_chunk::<4>());
        let count = count.map_or(0, |count| u32::from_le_bytes(*count) as usize);
        // I1: each has a bit.
        let count = count.min(bytes.len().saturating_sub(HEAD_BYTES) * 8);
        let count = if form.is_some() { count } else { 0 };
        let at = HEAD_BYTES + count.div_ceil(8);
        Self { bytes, base, form: form.unwrap_or(Form::I8), count, next: 0, at }
    }

    /// The bytes of the next element that is not NULL; none: they are cut off.
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..)?.get(..len)?;
        self.at += len;
        Some(taken)
    }

    fn read(&mut self) -> Option<Datum> {
        let form = self.form;
        let bytes = self.take(form.width())?;
        let mut wide = [0; 16];
        wide[..bytes.len()].copy_from_slice(bytes);
        let wide = u128::from_le_bytes(wide);
        let low = wide as u64;
        Some(match form {
            Form::I8 => Datum::int((low & 1) as i64),
            Form::I16 => Datum::int((low as i16).into()),
            Form::I32 => Datum::int((low as i32).into()),
            Form::I64 => Datum::int(low as i64),
            Form::F32 => Datum::float(f32::from_bits(low as u32).into()),
            Form::F64 => Datum::float(f64::from_bits(low)),
            Form::N64 => Datum::numeric((low as i64).into()),
            Form::N128 | Form::Interval => Datum::from_words((low, (wide >> 64) as u64)),
            Form::Bytes | Form::Number => {
                let start = self.base + self.at;
                let len = self.take(low as usize)?.len();
                Datum::range(start as u32, len as u32)
            }
        })
    }
}

impl Iterator for Elements<'_> {
    type Item = Datum;

    fn next(&mut self) -> Option<Datum> {
        if self.next >= self.count {
            return None;
        }
        let bits = self.bytes.get(HEAD_BYTES + self.next / 8).copied().unwrap_or_default();
        let is_null = bits >> (self.next % 8) & 1 == 1;
        self.next += 1;
        Some(if is_null { Datum::NULL } else { self.read().unwrap_or(Datum::NULL) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.count - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Elements<'_> {}

/// The order of two arrays of one type, as their bytes: that of their first elements that differ,
/// of which NULL is the greatest, else the shorter one first.
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let (mut left, mut right) = (Elements::new(a, 0), Elements::new(b, 0));
    let form = left.form;
    loop {
        let ordering = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(one), Some(other)) => match (one.is_null(), other.is_null()) {
                (false, false) => compare_elements(form, one, other, [a, b]),
                (one, other) => one.cmp(&other),
            },
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
}

/// Appends bytes that are equal exactly where arrays of one type are.
pub fn encode(array: &[u8], key: &mut Vec<u8>) {
    let elements = Elements::new(array, 0);
    let form = elements.form;
    key.extend((elements.count as u32).to_le_bytes());
    for element in elements {
        key.push(u8::from(element.is_null()));
        match form {
            _ if element.is_null() => {}
            Form::F32 | Form::F64 if element.as_float().is_nan() => {
                key.extend(f64::NAN.to_le_bytes());
            }
            // 0 and -0 are equal.
            Form::F32 | Form::F64 => key.extend((element.as_float() + 0.0).to_le_bytes()),
            Form::Interval => key.extend(element.as_interval().span().to_le_bytes()),
            Form::Bytes | Form::Number => {
                let text = array.get(element.as_range().range()).unwrap_or_default();
                let is_number = form == Form::Number;
                let text = if is_number { any_numeric::comparable(text) } else { text };
                key.extend((text.len() as u32).to_le_bytes());
                key.extend(text);
            }
            _ => {
                let (low, high) = element.to_words();
                key.extend(low.to_le_bytes());
                key.extend(high.to_le_bytes());
            }
        }
    }
}

fn compare_elements(form: Form, one: Datum, other: Datum, bytes: [&[u8]; 2]) -> Ordering {
    match form {
        Form::F32 | Form::F64 => {
            let (one, other) = (one.as_float(), other.as_float());
            one.partial_cmp(&other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
        }
        Form::N64 | Form::N128 => one.as_numeric().cmp(&other.as_numeric()),
        Form::Interval => one.as_interval().span().cmp(&other.as_interval().span()),
        Form::Bytes => {
            let text = |at: usize, text: Datum| bytes[at].get(text.as_range().range());
            text(0, one).cmp(&text(1, other))
        }
        Form::Number => {
            let number = |at: usize, of: Datum| {
                bytes[at].get(of.as_range().range()).map(any_numeric::comparable)
            };
            number(0, one).cmp(&number(1, other))
        }
        _ => one.as_int().cmp(&other.as_int()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::RangeKind;
    use crate::value::Value;

    fn packed(element: DataType, text: &str) -> Vec<u8> {
        let mut heap = b"before".to_vec();
        let value = Value::parse_array(element, text).expect("an array");
        let datum = value.to_datum(element.array(), &mut heap).expect("of this type");
        let back = Value::from_datum(datum, element.array(), &heap);
        assert_eq!(back.to_string(), text, "of {element}");
        heap[datum.as_range().range()].to_vec()
    }

    #[test]
    fn arrays_come_back_as_they_went() {
        use DataType as T;
        let (small, large) = ([9, 2], [38, 10]);
        let numeric = |[precision, scale]: [u8; 2]| T::Numeric { precision, scale };
        for (element, text) in [
            (T::Boolean, "{t,NULL,f}"),
            (T::SmallInt, "{-1,2,32767}"),
            (T::Integer, "{}"),
            (T::Integer, "{1,NULL,-2147483648,4,5,6,7,8,NULL,10}"),
            (T::BigInt, "{-9223372036854775808,1}"),
            (T::Real, "{1.5,NaN}"),
            (T::Double, "{0.1,-Infinity}"),
            (numeric(small), "{1.50,-2.25}"),
            (numeric(large), "{-1.5000000000}"),
            (T::Text, "{a,\"b c\",NULL,\"\",\"NULL\"}"),
            (T::Varchar(3), "{abc}"),
            (T::Char(3), "{\"ab \",abc}"),
            (T::Bytea, "{\"\\\\x00ff\"}"),
            (T::Date, "{2026-01-31}"),
            (T::Interval, "{\"1 mon 2 days 00:00:03\"}"),
            (T::Uuid, "{00112233-4455-6677-8899-aabbccddeeff,NULL}"),
            (T::Range(RangeKind::Num), "{\"[1.50,2)\",empty,NULL,\"(,-3]\"}"),
            (T::Range(RangeKind::Int4), "{\"[1,5)\"}"),
            (T::Jsonb, "{\"{\\\"a\\\": 1}\"}"),
        ] {
            packed(element, text);
        }
    }

    #[test]
    fn arrays_are_ordered_by_elements_then_length() {
        use DataType as T;
        let least_first = [
            (T::Integer, &["{}", "{-1}", "{1}", "{1,2}", "{2}", "{NULL}"][..]),
            (T::Text, &["{a}", "{a,b}", "{aa}", "{b}"]),
            (T::Range(RangeKind::Num), &["{empty}", "{\"(,1)\"}", "{\"[1,2)\"}", "{\"[1,2]\"}"]),
            (T::Double, &["{-1}", "{0}", "{NaN}", "{NULL}"]),
        ];
        for (element, texts) in least_first {
            let arrays: Vec<_> = texts.iter().map(|text| packed(element, text)).collect();
            for (i, one) in arrays.iter().enumerate() {
                for (j, other) in arrays.iter().enumerate() {
                    assert_eq!(compare(one, other), i.cmp(&j), "{} {}", texts[i], texts[j]);
                }
            }
        }
    }

    #[test]
    fn rubbish_reads_as_some_array() {
        let whole = packed(DataType::Text, "{abc,NULL,defg}");
        for end in 0..whole.len() {
            let heap = &whole[..end];
            for element in elements(Datum::range(0, end as u32), heap) {
                assert!(element.is_null() || element.as_range().range().end <= end);
            }
        }
        let many = [10, 255, 255, 255, 255, 0, 0, 0, 0, 255, 255, 255, 255];
        assert!(elements(Datum::range(0, many.len() as u32), &many).count() <= many.len() * 8);
        assert_eq!(elements(Datum::range(7, 9), &many).count(), 0);
    }
}
