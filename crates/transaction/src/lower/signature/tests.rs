use hotrow_base::json::JsonFunction;
use hotrow_base::types::{DataType, SqlType};

use super::{is_called_with, is_convertible};
use crate::program::Function;

const TEXT: SqlType = SqlType::Scalar(DataType::Text);
const INT: SqlType = SqlType::Scalar(DataType::Integer);
const TIME: SqlType = SqlType::Scalar(DataType::TIMESTAMPTZ);
const TEXTS: SqlType = SqlType::Array(DataType::Text);

#[test]
fn numbers_are_not_read_as_texts_nor_arrays_as_scalars() {
    let called = |function, given: &[SqlType]| is_called_with(function, given, DataType::Text);
    assert!(called(Function::Lower, &[TEXT]));
    for given in [&[TIME][..], &[INT], &[TEXTS], &[], &[TEXT, TEXT]] {
        assert!(!called(Function::Lower, given), "{given:?}");
    }
    assert!(called(Function::DateTrunc, &[INT, TIME]));
    assert!(!called(Function::DateTrunc, &[TEXT, TIME]));
    assert!(called(Function::Cardinality, &[TEXTS]));
    assert!(!called(Function::Cardinality, &[INT]));
    assert!(called(Function::Json(JsonFunction::ToJson), &[INT]));
    assert!(!called(Function::Json(JsonFunction::ToJson), &[TEXTS]));
    assert!(called(Function::Concat, &[INT, TIME, TEXT]));
    assert!(!called(Function::Concat, &[TEXTS]));
}

#[test]
fn only_texts_become_json() {
    use DataType as T;
    assert!(is_convertible(T::Text, T::Jsonb) && is_convertible(T::Json, T::Jsonb));
    for from in [T::Integer, T::Double, T::Boolean, T::Date, T::Bytea, T::Uuid] {
        assert!(!is_convertible(from, T::Json) && !is_convertible(from, T::Jsonb), "{from}");
        assert!(is_convertible(from, T::Text) && is_convertible(T::Text, from), "{from}");
    }
    assert!(!is_convertible(T::Json, T::Integer) && is_convertible(T::Jsonb, T::Integer));
}
