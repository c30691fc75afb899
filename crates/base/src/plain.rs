//! Random values for property tests: types, values apart from any heap.

use crate::datum::Datum;
use crate::ids::ColumnId;
use crate::row::{RowLayout, Words, trim_blanks};
use crate::temporal::rounded_time;
use crate::types::DataType;
use proptest::collection::vec;
use proptest::prelude::*;

/// A value apart from any heap, as a test compares it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Plain {
    Null,
    Int(i64),
    Float(u64),
    Numeric(i128),
    Bytes(Vec<u8>),
}

impl Plain {
    pub(crate) fn datum(&self, heap: &mut Vec<u8>) -> Datum {
        match self {
            Self::Null => Datum::NULL,
            Self::Int(value) => Datum::int(*value),
            Self::Float(bits) => Datum::float(f64::from_bits(*bits)),
            Self::Numeric(units) => Datum::numeric(*units),
            Self::Bytes(bytes) => Datum::of_bytes(bytes, heap),
        }
    }

    /// Reads a column.
    pub(crate) fn read<W: Words + ?Sized>(layout: &RowLayout, row: &W, i: usize) -> Self {
        let mut heap = vec![b'#'; 3];
        let datum = layout.read(row, ColumnId(i as u16), &mut heap);
        match layout.columns()[i].data_type {
            _ if datum.is_null() => Self::Null,
            data_type if data_type.is_bytes() => {
                Self::Bytes(heap[datum.as_range().range()].to_vec())
            }
            data_type if data_type.is_float() => Self::Float(datum.as_float().to_bits()),
            DataType::Numeric { .. } => Self::Numeric(datum.as_numeric()),
            _ => Self::Int(datum.as_int()),
        }
    }
}

/// Any type.
pub(crate) fn data_type() -> impl Strategy<Value = DataType> {
    prop_oneof![
        Just(DataType::Boolean),
        Just(DataType::SmallInt),
        Just(DataType::Integer),
        Just(DataType::BigInt),
        Just(DataType::Oid),
        Just(DataType::Real),
        Just(DataType::Double),
        (1..=38_u8).prop_map(|precision| DataType::Numeric { precision, scale: 0 }),
        Just(DataType::Text),
        (1..30_u32).prop_map(DataType::Varchar),
        (1..30_u32).prop_map(DataType::Char),
        Just(DataType::Bytea),
        Just(DataType::TIMESTAMP),
        Just(DataType::Date),
        (0..=6_u8).prop_map(DataType::Time),
        Just(DataType::Uuid),
        Just(DataType::Jsonb),
    ]
}

/// Any value of a type, in the form in which it is read back.
pub(crate) fn plain(data_type: DataType, nullable: bool) -> BoxedStrategy<Plain> {
    let value = match data_type {
        DataType::Boolean => (0..=1_i64).prop_map(Plain::Int).boxed(),
        DataType::SmallInt => any::<i16>().prop_map(|v| Plain::Int(v.into())).boxed(),
        DataType::Integer | DataType::Date => {
            any::<i32>().prop_map(|v| Plain::Int(v.into())).boxed()
        }
        DataType::Time(digits) => (0..=86_400_000_000_i64)
            .prop_map(move |time| Plain::Int(rounded_time(time, digits)))
            .boxed(),
        DataType::Oid => any::<u32>().prop_map(|v| Plain::Int(v.into())).boxed(),
        DataType::Real => any::<f32>().prop_map(|v| Plain::Float(f64::from(v).to_bits())).boxed(),
        DataType::Double => any::<f64>().prop_map(|v| Plain::Float(v.to_bits())).boxed(),
        DataType::Numeric { precision, .. } => {
            let limit = 10_i128.pow(precision.into()) - 1;
            (-limit..=limit).prop_map(Plain::Numeric).boxed()
        }
        DataType::Text | DataType::Bytea => vec(any::<u8>(), 0..40).prop_map(Plain::Bytes).boxed(),
        DataType::Varchar(n) => vec(b'a'..=b'z', 0..=n as usize).prop_map(Plain::Bytes).boxed(),
        DataType::Char(n) => vec(prop_oneof![Just(b' '), b'a'..=b'z'], 0..=n as usize)
            .prop_map(|bytes| Plain::Bytes(trim_blanks(&bytes).to_vec()))
            .boxed(),
        DataType::Jsonb => {
            any::<i64>().prop_map(|number| Plain::Bytes(number.to_string().into_bytes())).boxed()
        }
        DataType::Uuid => vec(any::<u8>(), 16).prop_map(Plain::Bytes).boxed(),
        _ => any::<i64>().prop_map(Plain::Int).boxed(),
    };
    match nullable {
        true => prop_oneof![1 => Just(Plain::Null), 3 => value].boxed(),
        false => value,
    }
}
