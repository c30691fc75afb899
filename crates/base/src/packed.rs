//! Arrays and rows in one piece: how a column or a result holds one.
//!
//! Role         made of elements that lie in a list, or of fields, and read back to them; compared
//!              as they are
//! Invariants   I1 reading is total: whatever bytes a racing reader meets, nothing panics and no
//!                 more elements come out than the bytes have bits; those that are cut off are NULL
//!              I2 the bytes say what form the elements have, so that two arrays, or two rows, of
//!                 one type can be compared without it
//!
//! A row has for each field a byte, the field's form or 0 for NULL, and behind it its bytes, as
//! those of an element. An array is:
//!
//! ```text
//! byte 0     | form of the elements in bits 0 to 6: see Form
//! bytes 1..5 | how many there are, lowest byte first
//! then       | only if bit 7 of byte 0 is set, of an array that is not plain (crate::shape): one
//!            | byte with the number of dimensions, and of each where it begins and its length, in
//!            | 4 bytes each, lowest byte first
//! then       | one bit for each element, the first in bit 0 of the first byte: set for NULL
//! then       | those that are not NULL, one behind the other: numbers and times in 1, 2, 4, 8
//!            | or 16 bytes, lowest byte first; texts and the like with their length in 4 before
//! ```

use std::cmp::Ordering;

use crate::any_numeric;
use crate::datum::Datum;
use crate::fold;
use crate::row::NUMERIC_DIGITS_IN_WORD;
use crate::shape::{ArrayShape, DIMENSIONS_MAX, Dimension};
use crate::types::DataType;

/// Rows and arrays within each other, at most. Bytes that a racing reader meets may say anything:
/// what lies deeper is not looked at.
pub const DEPTH_MAX: usize = 16;

/// Bytes before the bits for NULLs, of a plain array.
const HEAD_BYTES: usize = 5;

/// The bit of byte 0 that says that dimensions follow, and the bytes of each.
const IS_SHAPED: u8 = 1 << 7;
const DIMENSION_BYTES: usize = 8;

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
    /// arrays, which only rows have within them: length and bytes
    Array = 12,
    /// rows: length and bytes
    Row = 13,
    /// texts whose case does not count: length and bytes
    Folded = 14,
}

impl Form {
    const ALL: [Self; 14] = [
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
        Self::Array,
        Self::Row,
        Self::Folded,
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
            DataType::Array(_) => Self::Array,
            DataType::Composite(_) => Self::Row,
            DataType::CiText => Self::Folded,
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
            Self::I32 | Self::F32 => 4,
            _ if self.is_bytes() => 4,
            Self::I64 | Self::F64 | Self::N64 => 8,
            _ => 16,
        }
    }

    /// Whether an element is its length and bytes.
    const fn is_bytes(self) -> bool {
        matches!(self, Self::Bytes | Self::Folded | Self::Number | Self::Array | Self::Row)
    }
}

/// Appends an array to a heap, which has the bytes of its elements, too. Its shape has as many
/// elements.
pub fn pack(
    element: DataType,
    elements: &[Datum],
    shape: &ArrayShape,
    heap: &mut Vec<u8>,
) -> Datum {
    debug_assert_eq!(elements.len(), shape.elements());
    let form = Form::of(element);
    let start = heap.len();
    let dimensions = if shape.is_plain() { &[] } else { shape.dimensions() };
    heap.push(form as u8 | if dimensions.is_empty() { 0 } else { IS_SHAPED });
    heap.extend((elements.len() as u32).to_le_bytes());
    if !dimensions.is_empty() {
        heap.push(dimensions.len() as u8);
        for Dimension { length, lower } in dimensions {
            heap.extend(lower.to_le_bytes());
            heap.extend(length.to_le_bytes());
        }
    }
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
        _ if form.is_bytes() => {
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
    let texts = elements.iter().filter(|element| form.is_bytes() && !element.is_null());
    let texts = texts.map(|text| text.as_range().len as usize).sum::<usize>();
    let head = HEAD_BYTES + 1 + DIMENSIONS_MAX * DIMENSION_BYTES;
    head.saturating_add(each).saturating_add(texts)
}

/// Appends a row to a heap, which has the bytes of its fields, too.
pub fn pack_row(
    types: impl Iterator<Item = DataType>,
    fields: &[Datum],
    heap: &mut Vec<u8>,
) -> Datum {
    let start = heap.len();
    for (field, of) in fields.iter().zip(types) {
        if field.is_null() {
            heap.push(0);
            continue;
        }
        let form = Form::of(of);
        heap.push(form as u8);
        append(form, *field, heap);
    }
    Datum::range(start as u32, (heap.len() - start) as u32)
}

/// The bytes that such a row takes.
pub fn packed_row_bytes(types: impl Iterator<Item = DataType>, fields: &[Datum]) -> usize {
    let bytes = |(field, of): (&Datum, DataType)| {
        let form = Form::of(of);
        let is_text = form.is_bytes() && !field.is_null();
        1 + form.width() + if is_text { field.as_range().len as usize } else { 0 }
    };
    fields.iter().zip(types).map(bytes).fold(0, usize::saturating_add)
}

/// The fields of a row whose bytes lie in a heap, so many of them; those that are bytes are ranges
/// of it. What is cut off is NULL.
pub fn fields(packed: Datum, count: usize, heap: &[u8]) -> impl Iterator<Item = Datum> {
    let range = packed.as_range().range();
    let mut fields = Fields::new(heap.get(range.clone()).unwrap_or_default(), range.start);
    (0..count).map(move |_| fields.next().map_or(Datum::NULL, |(_, field)| field))
}

/// Reads a row's fields, each with its form.
struct Fields<'a> {
    bytes: &'a [u8],
    base: usize,
    at: usize,
}

impl<'a> Fields<'a> {
    const fn new(bytes: &'a [u8], base: usize) -> Self {
        Self { bytes, base, at: 0 }
    }
}

impl Iterator for Fields<'_> {
    type Item = (Form, Datum);

    fn next(&mut self) -> Option<Self::Item> {
        let form = *self.bytes.get(self.at)?;
        self.at += 1;
        let Some(form) = Form::read(form) else { return Some((Form::I8, Datum::NULL)) };
        read_datum(form, self.bytes, self.base, &mut self.at).map(|field| (form, field))
    }
}

/// Reads an element or a field; none: it is cut off.
fn read_datum(form: Form, bytes: &[u8], base: usize, at: &mut usize) -> Option<Datum> {
    let mut take = |len: usize| {
        let taken = bytes.get(*at..)?.get(..len)?;
        *at += len;
        Some(taken)
    };
    let bytes = take(form.width())?;
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
        Form::Bytes | Form::Folded | Form::Number | Form::Array | Form::Row => {
            let len = take(low as usize)?.len();
            Datum::range((base + *at - len) as u32, len as u32)
        }
    })
}

/// The elements of an array whose bytes lie in a heap; those that are bytes are ranges of it.
pub fn elements(packed: Datum, heap: &[u8]) -> Elements<'_> {
    let range = packed.as_range().range();
    Elements::new(heap.get(range.clone()).unwrap_or_default(), range.start)
}

/// The shape of an array whose bytes lie in a heap.
pub fn shape(packed: Datum, heap: &[u8]) -> ArrayShape {
    elements(packed, heap).shape()
}

/// Reads an array's elements.
pub struct Elements<'a> {
    bytes: &'a [u8],
    /// where the bytes lie in their heap
    base: usize,
    form: Form,
    count: usize,
    /// where the bits for NULLs are
    head: usize,
    /// the next element, and where its bytes are
    next: usize,
    at: usize,
}

impl<'a> Elements<'a> {
    fn new(bytes: &'a [u8], base: usize) -> Self {
        let first = bytes.first().copied().unwrap_or_default();
        let form = Form::read(first & !IS_SHAPED);
        let head = match first & IS_SHAPED {
            0 => HEAD_BYTES,
            _ => {
                let dimensions = bytes.get(HEAD_BYTES).copied().unwrap_or_default();
                HEAD_BYTES + 1 + usize::from(dimensions) * DIMENSION_BYTES
            }
        };
        let count = bytes.get(1..).and_then(|rest| rest.first_chunk::<4>());
        let count = count.map_or(0, |count| u32::from_le_bytes(*count) as usize);
        // I1: each has a bit.
        let count = count.min(bytes.len().saturating_sub(head) * 8);
        let count = if form.is_some() { count } else { 0 };
        let at = head + count.div_ceil(8);
        Self { bytes, base, form: form.unwrap_or(Form::I8), count, head, next: 0, at }
    }

    /// The array's shape: plain where its dimensions are cut off, or are of another number of
    /// elements (I1).
    pub fn shape(&self) -> ArrayShape {
        let plain = || ArrayShape::plain(self.count);
        let Some([_, bytes @ ..]) = self.bytes.get(HEAD_BYTES..self.head) else { return plain() };
        let (each, _) = bytes.as_chunks::<DIMENSION_BYTES>();
        let read = |bytes: &[u8; DIMENSION_BYTES]| {
            let wide = u64::from_le_bytes(*bytes);
            Dimension { length: (wide >> 32) as u32, lower: wide as i32 }
        };
        let dimensions = each.iter().map(read).take(DIMENSIONS_MAX + 1).collect::<Vec<_>>();
        let shape = ArrayShape::new(&dimensions).filter(|shape| shape.elements() == self.count);
        shape.unwrap_or_else(plain)
    }
}

impl Iterator for Elements<'_> {
    type Item = Datum;

    fn next(&mut self) -> Option<Datum> {
        if self.next >= self.count {
            return None;
        }
        let bits = self.bytes.get(self.head + self.next / 8).copied().unwrap_or_default();
        let is_null = bits >> (self.next % 8) & 1 == 1;
        self.next += 1;
        if is_null {
            return Some(Datum::NULL);
        }
        let read = read_datum(self.form, self.bytes, self.base, &mut self.at);
        Some(read.unwrap_or(Datum::NULL))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.count - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Elements<'_> {}

/// The order of two arrays of one type, as their bytes: that of their first elements that differ,
/// of which NULL is the greatest, else that of their shapes.
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    compare_arrays(a, b, 0)
}

fn compare_arrays(a: &[u8], b: &[u8], depth: usize) -> Ordering {
    let (mut left, mut right) = (Elements::new(a, 0), Elements::new(b, 0));
    let form = left.form;
    loop {
        let ordering = match (left.next(), right.next()) {
            (None, None) if left.head == HEAD_BYTES && right.head == HEAD_BYTES => {
                return Ordering::Equal;
            }
            (None, _) | (_, None) => return left.shape().cmp(&right.shape()),
            (Some(one), Some(other)) => match (one.is_null(), other.is_null()) {
                (false, false) => compare_elements(form, one, other, ([a, b], depth)),
                (one, other) => one.cmp(&other),
            },
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
}

/// The order of two rows of one type, as their bytes: that of their first fields that differ, of
/// which NULL is the greatest.
pub fn compare_rows(a: &[u8], b: &[u8]) -> Ordering {
    compare_fields(a, b, 0)
}

fn compare_fields(a: &[u8], b: &[u8], depth: usize) -> Ordering {
    let (left, right) = (Fields::new(a, 0), Fields::new(b, 0));
    let ordering = |((form, one), (_, other)): ((Form, Datum), (Form, Datum))| match (
        one.is_null(),
        other.is_null(),
    ) {
        (false, false) => compare_elements(form, one, other, ([a, b], depth)),
        (one, other) => one.cmp(&other),
    };
    left.zip(right).map(ordering).find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
}

/// Appends bytes that are equal exactly where rows of one type are.
pub fn encode_row(row: &[u8], key: &mut Vec<u8>) {
    encode_fields(row, key, 0);
}

fn encode_fields(row: &[u8], key: &mut Vec<u8>, depth: usize) {
    for (form, field) in Fields::new(row, 0) {
        key.push(u8::from(field.is_null()));
        if !field.is_null() {
            encode_element(form, field, (row, depth), key);
        }
    }
}

/// Appends bytes that are equal exactly where arrays of one type are.
pub fn encode(array: &[u8], key: &mut Vec<u8>) {
    encode_array(array, key, 0);
}

fn encode_array(array: &[u8], key: &mut Vec<u8>, depth: usize) {
    let elements = Elements::new(array, 0);
    let form = elements.form;
    key.extend((elements.count as u32).to_le_bytes());
    // No element begins with this byte, but with 0 or 1.
    if elements.head != HEAD_BYTES {
        key.push(IS_SHAPED);
        key.extend_from_slice(elements.bytes.get(HEAD_BYTES..elements.head).unwrap_or_default());
    }
    for element in elements {
        key.push(u8::from(element.is_null()));
        if !element.is_null() {
            encode_element(form, element, (array, depth), key);
        }
    }
}

/// The same of an element or a field, whose bytes, if it has some, lie in these.
fn encode_element(form: Form, element: Datum, (bytes, depth): (&[u8], usize), key: &mut Vec<u8>) {
    let own = || bytes.get(element.as_range().range()).unwrap_or_default();
    match form {
        Form::F32 | Form::F64 if element.as_float().is_nan() => {
            key.extend(f64::NAN.to_le_bytes());
        }
        // 0 and -0 are equal.
        Form::F32 | Form::F64 => key.extend((element.as_float() + 0.0).to_le_bytes()),
        Form::Interval => key.extend(element.as_interval().span().to_le_bytes()),
        Form::Array | Form::Row if depth >= DEPTH_MAX => {}
        Form::Array => encode_array(own(), key, depth + 1),
        Form::Row => encode_fields(own(), key, depth + 1),
        Form::Folded => {
            let start = key.len();
            key.extend([0; 4]);
            fold::append(own(), key);
            let length = (key.len() - start - 4) as u32;
            key[start..start + 4].copy_from_slice(&length.to_le_bytes());
        }
        Form::Bytes | Form::Number => {
            let text = own();
            let text = if form == Form::Number { any_numeric::comparable(text) } else { text };
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

fn compare_elements(
    form: Form,
    one: Datum,
    other: Datum,
    (bytes, depth): ([&[u8]; 2], usize),
) -> Ordering {
    let text = |at: usize, text: Datum| bytes[at].get(text.as_range().range()).unwrap_or_default();
    match form {
        Form::F32 | Form::F64 => {
            let (one, other) = (one.as_float(), other.as_float());
            one.partial_cmp(&other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
        }
        Form::N64 | Form::N128 => one.as_numeric().cmp(&other.as_numeric()),
        Form::Interval => one.as_interval().span().cmp(&other.as_interval().span()),
        Form::Bytes => text(0, one).cmp(text(1, other)),
        Form::Folded => fold::compare(text(0, one), text(1, other)),
        Form::Array | Form::Row if depth >= DEPTH_MAX => Ordering::Equal,
        Form::Array => compare_arrays(text(0, one), text(1, other), depth + 1),
        Form::Row => compare_fields(text(0, one), text(1, other), depth + 1),
        Form::Number => {
            any_numeric::comparable(text(0, one)).cmp(any_numeric::comparable(text(1, other)))
        }
        _ => one.as_int().cmp(&other.as_int()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::composite::CompositeType;
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
            (T::Integer, "{{1,NULL},{3,4},{5,6}}"),
            (T::Text, "[0:1][-3:-3][1:1]={{{a}},{{\"b c\"}}}"),
            (T::Boolean, "[7:7]={NULL}"),
        ] {
            packed(element, text);
        }
    }

    #[test]
    fn plain_arrays_are_kept_as_ever() {
        let bytes = packed(DataType::Integer, "{1,NULL,2}");
        assert_eq!(bytes, [3, 3, 0, 0, 0, 0b10, 1, 0, 0, 0, 2, 0, 0, 0]);
        let shaped = packed(DataType::SmallInt, "[0:1]={1,2}");
        let head = [2 | 1 << 7, 2, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0];
        assert_eq!(shaped, [&head[..], &[0, 1, 0, 2, 0]].concat());
    }

    #[test]
    fn shapes_that_bytes_do_not_have_are_plain() {
        let whole = packed(DataType::SmallInt, "{{1,2},{3,4}}");
        for (at, byte) in (0..whole.len()).flat_map(|at| [0, 1, 7, 255].map(|byte| (at, byte))) {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            for end in 0..=bytes.len() {
                let array = Elements::new(&bytes[..end], 0);
                assert_eq!(array.shape().elements(), array.count);
                assert!(array.count() <= end * 8);
                encode(&bytes[..end], &mut Vec::new());
                compare(&bytes[..end], &whole);
            }
        }
    }

    #[test]
    fn arrays_are_ordered_by_elements_then_length() {
        use DataType as T;
        let least_first = [
            (
                T::Integer,
                &[
                    "{1,2}",
                    "[2:3]={1,2}",
                    "{{1,2}}",
                    "[1:1][2:3]={{1,2}}",
                    "[2:2][1:2]={{1,2}}",
                    "{{1},{2}}",
                    "{1,2,3}",
                    "{{1,3}}",
                ][..],
            ),
            (T::Integer, &["{}", "{-1}", "{1}", "{1,2}", "{2}", "{NULL}"][..]),
            (T::Text, &["{a}", "{a,b}", "{aa}", "{b}"]),
            (T::Range(RangeKind::Num), &["{empty}", "{\"(,1)\"}", "{\"[1,2)\"}", "{\"[1,2]\"}"]),
            (T::Double, &["{-1}", "{0}", "{NaN}", "{NULL}"]),
        ];
        for (element, texts) in least_first {
            let arrays: Vec<_> = texts.iter().map(|text| packed(element, text)).collect();
            let keys = arrays.iter().map(|array| {
                let mut key = Vec::new();
                encode(array, &mut key);
                key
            });
            let keys: Vec<_> = keys.collect();
            for (i, one) in arrays.iter().enumerate() {
                for (j, other) in arrays.iter().enumerate() {
                    assert_eq!(compare(one, other), i.cmp(&j), "{} {}", texts[i], texts[j]);
                    assert_eq!(keys[i] == keys[j], i == j, "{} {}", texts[i], texts[j]);
                }
            }
        }
    }

    #[test]
    fn rows_are_ordered_by_their_fields_and_come_back() {
        use DataType as T;
        let line = [("sku".into(), T::Text), ("many".into(), T::AnyNumeric)];
        let line = CompositeType::of("line", &line);
        let fields = [
            ("id".into(), T::Integer),
            ("lines".into(), T::Composite(line).array()),
            ("first".into(), T::Composite(line)),
        ];
        let order = T::Composite(CompositeType::of("order", &fields));
        let texts = [
            r#"(1,"{""(a,1)""}",)"#,
            r#"(1,"{""(a,1)"",""(b,2)""}","(a,1)")"#,
            r#"(1,"{""(b,1.50)""}","(,)")"#,
            r#"(1,,"(a,1)")"#,
            r#"(1,,"(a,1.5)")"#,
            r#"(2,"{""(\\""a b\\"",2)"",NULL}",)"#,
            "(,,)",
        ];
        let packed = |text: &str| {
            let mut heap = b"before".to_vec();
            let value = Value::parse(order, text).expect("a row");
            let datum = value.to_datum(order, &mut heap).expect("of this type");
            assert_eq!(Value::from_datum(datum, order, &heap).to_string(), text);
            heap[datum.as_range().range()].to_vec()
        };
        let rows: Vec<_> = texts.iter().map(|text| packed(text)).collect();
        let keys = rows.iter().map(|row| {
            let mut key = Vec::new();
            encode_row(row, &mut key);
            key
        });
        let keys: Vec<_> = keys.collect();
        for (i, one) in rows.iter().enumerate() {
            for (j, other) in rows.iter().enumerate() {
                assert_eq!(compare_rows(one, other), i.cmp(&j), "{} {}", texts[i], texts[j]);
                assert_eq!(keys[i] == keys[j], i == j);
            }
            for end in 0..one.len() {
                let all = fields_of(&one[..end]);
                assert!(all.iter().all(|field| field.is_null() || end > 0));
                compare_rows(&one[..end], one);
            }
        }
    }

    fn fields_of(row: &[u8]) -> Vec<Datum> {
        fields(Datum::range(0, row.len() as u32), 3, row).collect()
    }

    #[test]
    fn rows_within_rows_without_end_are_looked_at_so_deep() {
        // A row whose only field is a row, which is all that follows.
        let mut bytes = Vec::new();
        for left in (0..100_000_u32).rev() {
            bytes.push(Form::Row as u8);
            bytes.extend((left * 5).to_le_bytes());
        }
        assert_eq!(compare_rows(&bytes, &bytes), Ordering::Equal);
        encode_row(&bytes, &mut Vec::new());
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
