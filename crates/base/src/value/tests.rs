use super::*;
use crate::plain::{data_type, plain};
use crate::types::SqlType;
use proptest::prelude::*;

const NUMERIC: DataType = DataType::Numeric { precision: 6, scale: 2 };

/// Values as they are read back from a column of their type; texts are texts.
fn value() -> impl Strategy<Value = (DataType, Value)> {
    (data_type(), any::<String>()).prop_flat_map(|(data_type, text)| {
        plain(data_type, false).prop_map(move |plain| {
            if matches!(data_type, DataType::Text) {
                return (data_type, Value::Text(text.replace('\0', "")));
            }
            let mut heap = vec![];
            let datum = plain.datum(&mut heap);
            (data_type, Value::from_datum(datum, data_type, &heap))
        })
    })
}

/// Timestamps and dates beyond what can be written down are not read back.
fn is_writable(value: &Value) -> bool {
    match value {
        Value::Timestamp(micros) | Value::TimestampTz(micros) => {
            (-211_813_488_000_000_000..9_223_371_331_200_000_000).contains(micros)
                || matches!(*micros, i64::MIN | i64::MAX)
        }
        Value::Date(days) => (-2_451_545..=2_145_031_948).contains(days),
        _ => true,
    }
}

proptest! {
    #[test]
    fn texts_are_read_back((data_type, value) in value()) {
        if !is_writable(&value) {
            return Ok(());
        }
        let text = value.to_string();
        let read = Value::parse(data_type, &text);
        prop_assert_eq!(read.map(|value| value.to_string()), Ok(text.clone()));
        let mut heap = b"#".to_vec();
        let datum = Value::Text(text.clone()).to_datum(data_type, &mut heap).expect("a literal");
        prop_assert_eq!(Value::from_datum(datum, data_type, &heap).to_string(), text);
    }

    #[test]
    fn datums_are_read_back((data_type, value) in value()) {
        let mut heap = b"#".to_vec();
        let datum = value.to_datum(data_type, &mut heap).expect("its own type");
        prop_assert_eq!(Value::from_datum(datum, data_type, &heap).to_string(), value.to_string());
    }

    #[test]
    fn arrays_are_read_back(words in proptest::collection::vec(any::<Option<String>>(), 0..6)) {
        let element = |word: Option<String>| word.map(|word| word.replace('\0', "")).into();
        let array = Value::Array(words.into_iter().map(element).collect());
        let read = Value::parse_array(DataType::Text, &array.to_string());
        prop_assert_eq!(read.as_ref(), Ok(&array));
        let (mut heap, mut elements) = (vec![], vec![Datum::NULL]);
        let sql_type = SqlType::Array(DataType::Text);
        let datum = array.to_parameter(sql_type, &mut heap, &mut elements).expect("an array");
        prop_assert_eq!(Value::from_parameter(datum, sql_type, &heap, &elements), array);
    }

    #[test]
    fn no_text_panics(data_type in data_type(), text in any::<String>()) {
        let _value = Value::parse(data_type, &text);
        let _array = Value::parse_array(data_type, &format!("{{{text}}}"));
    }

    #[test]
    fn no_cast_panics((_, value) in value(), data_type in data_type()) {
        let _datum = value.to_datum(data_type, &mut vec![]);
    }
}

#[test]
fn floats_are_written_as_postgresql_writes_them() {
    let check = |value: Value, expected: &str| assert_eq!(value.to_string(), expected);
    check(Value::Double(1.0), "1");
    check(Value::Double(-0.0), "-0");
    check(Value::Double(1234.5), "1234.5");
    check(Value::Double(0.0001), "0.0001");
    check(Value::Double(0.00001234), "1.234e-05");
    check(Value::Double(123_456_789_012_345.0), "123456789012345");
    check(Value::Double(1e15), "1e+15");
    check(Value::Double(1e300), "1e+300");
    check(Value::Double(100.0), "100");
    check(Value::Double(f64::NEG_INFINITY), "-Infinity");
    check(Value::Double(f64::NAN), "NaN");
    check(Value::Real(1e6), "1e+06");
    check(Value::Real(0.1), "0.1");
}

#[test]
fn literals_are_read_as_postgresql_reads_them() {
    let check = |data_type, text: &str, expected: Result<&str, &str>| {
        let read = Value::parse(data_type, text);
        let read = read.as_ref().map(Value::to_string).map_err(|error| error.code());
        assert_eq!(read.as_deref(), expected.as_ref().map(|text| *text), "{text}");
    };
    for yes in ["t", "TRUE", "yes", "on", "1", " y "] {
        check(DataType::Boolean, yes, Ok("t"));
    }
    for no in ["f", "fal", "no", "off", "0"] {
        check(DataType::Boolean, no, Ok("f"));
    }
    check(DataType::Boolean, "o", Err("22P02"));
    check(DataType::Boolean, "", Err("22P02"));
    check(DataType::Integer, " -12 ", Ok("-12"));
    check(DataType::Integer, "1.5", Err("22P02"));
    check(DataType::SmallInt, "40000", Err("22003"));
    check(DataType::Real, "1e39", Err("22003"));
    check(DataType::Double, "1e-400", Err("22003"));
    check(DataType::Double, "0e-400", Ok("0"));
    check(DataType::Double, "-infinity", Ok("-Infinity"));
    check(NUMERIC, "1.005e1", Ok("10.05"));
    check(NUMERIC, "0.005", Ok("0.01"));
    check(NUMERIC, "9999.995", Err("22003"));
    check(NUMERIC, "NaN", Err("0A000"));
    check(NUMERIC, "ten", Err("22P02"));
    check(DataType::Varchar(3), "abc  ", Ok("abc"));
    check(DataType::Varchar(3), "abcd", Err("22001"));
    check(DataType::Char(3), "a", Ok("a  "));
    check(DataType::Char(3), "abcd", Err("22001"));
    check(DataType::Text, "a\0", Err("22021"));
    check(DataType::Bytea, "\\xDE ad", Ok("\\xdead"));
    check(DataType::Bytea, "a\\\\\\001", Ok("\\x615c01"));
    check(DataType::Bytea, "\\xabc", Err("22P02"));
    check(DataType::TIMESTAMP, "2026-11-21 10:00:00.123", Ok("2026-11-21 10:00:00.123"));
    check(DataType::TIMESTAMPTZ, "2026-11-21 10:00+02", Ok("2026-11-21 08:00:00+00"));
    check(DataType::Date, "2026-11-21", Ok("2026-11-21"));
    check(DataType::Date, "infinity", Ok("infinity"));
    check(DataType::Date, "today", Err("0A000"));
    check(DataType::Time(6), "04:05 PM", Ok("16:05:00"));
    check(DataType::Time(0), "23:59:59.5", Ok("24:00:00"));
    check(DataType::TIMESTAMPTZ, "2026-01-01 10:00 Europe/Berlin", Ok("2026-01-01 09:00:00+00"));
    check(DataType::TIMESTAMPTZ, "2026-01-01 10:00 Europe/Nowhere", Err("22023"));
    check(DataType::TIMESTAMPTZ, "2026-01-01 10:00+16", Err("22009"));
    check(DataType::TIMESTAMP, "294277-01-01", Err("22008"));
    check(DataType::Date, "2026-02-30", Err("22008"));
    check(DataType::Date, "soon", Err("22007"));
    let uuid = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
    check(DataType::Uuid, uuid, Ok(uuid));
    check(DataType::Uuid, "{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}", Ok(uuid));
    check(DataType::Uuid, "a0eebc999c0b4ef8bb6d6bb9bd380a11", Ok(uuid));
    check(DataType::Uuid, "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11", Ok(uuid));
    check(DataType::Uuid, "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", Err("22P02"));
    check(DataType::Uuid, "a0e-ebc99-9c0b-4ef8-bb6d-6bb9bd380a11", Err("22P02"));
    check(DataType::Oid, " 4294967295 ", Ok("4294967295"));
    check(DataType::Oid, "-1", Ok("4294967295"));
    check(DataType::Oid, "-2147483649", Err("22003"));
    check(DataType::Oid, "4294967296", Err("22003"));
    check(DataType::Oid, "12x", Err("22P02"));
    check(DataType::Oid, "", Err("22P02"));
    check(DataType::CatalogChar, "r", Ok("r"));
    check(DataType::CatalogChar, "äb", Ok("ä"));
    check(DataType::CatalogChar, "", Ok(""));
}

#[test]
fn assignments_cast_and_check() {
    let check = |value: Value, data_type, expected: Result<&str, &str>| {
        let mut heap = vec![];
        let cast = value
            .to_datum(data_type, &mut heap)
            .map(|datum| Value::from_datum(datum, data_type, &heap).to_string());
        let cast = cast.as_deref().map_err(|error| error.code());
        assert_eq!(cast, expected, "{value:?} to {data_type}");
    };
    let decimal = |units, scale| Value::Numeric(Decimal::new(units, scale).expect("in range"));
    check(Value::Int(7), DataType::SmallInt, Ok("7"));
    check(Value::Int(70_000), DataType::SmallInt, Err("22003"));
    check(Value::Double(2.5), DataType::Integer, Ok("2"));
    check(Value::Double(3.5), DataType::Integer, Ok("4"));
    check(Value::Double(f64::NAN), DataType::BigInt, Err("22003"));
    check(Value::Double(9.3e18), DataType::BigInt, Err("22003"));
    check(decimal(25, 1), DataType::Integer, Ok("3"));
    check(Value::BigInt(4_294_967_295), DataType::Oid, Ok("4294967295"));
    check(Value::BigInt(4_294_967_296), DataType::Oid, Err("22003"));
    check(Value::Int(-1), DataType::Oid, Err("22003"));
    check(Value::from("26"), DataType::Oid, Ok("26"));
    check(decimal(20, 1), DataType::Oid, Err("42846"));
    check(Value::Double(2.0), DataType::Oid, Err("42846"));
    check(Value::Bool(true), DataType::Oid, Err("42846"));
    check(Value::Jsonb("5".to_owned()), DataType::Oid, Err("42846"));
    check(decimal(12_345, 3), NUMERIC, Ok("12.35"));
    check(Value::BigInt(10_000), NUMERIC, Err("22003"));
    check(Value::Double(0.1), NUMERIC, Ok("0.10"));
    check(Value::Double(f64::INFINITY), NUMERIC, Err("0A000"));
    check(Value::Double(1e300), DataType::Real, Err("22003"));
    check(Value::Int(5), DataType::Varchar(3), Ok("5"));
    check(Value::Bool(true), DataType::Text, Ok("true"));
    check(Value::from("12"), DataType::Integer, Ok("12"));
    check(Value::from("ab "), DataType::Char(4), Ok("ab  "));
    check(Value::Bool(true), DataType::Integer, Err("42846"));
    check(Value::Date(0), DataType::TIMESTAMP, Ok("2000-01-01 00:00:00"));
    check(Value::Timestamp(-1), DataType::Date, Ok("1999-12-31"));
    check(Value::Date(i32::MAX - 1), DataType::TIMESTAMP, Err("22008"));
    check(Value::Date(i32::MAX), DataType::TIMESTAMP, Ok("infinity"));
    check(Value::TimestampTz(i64::MIN), DataType::Date, Ok("-infinity"));
    check(Value::Timestamp(-1), DataType::Time(6), Ok("23:59:59.999999"));
    check(Value::Time(1_500_000), DataType::Time(0), Ok("00:00:02"));
    check(Value::Time(1_500_000), DataType::Interval, Ok("00:00:01.5"));
    check(Value::Time(1_500_000), DataType::Date, Err("42846"));
    check(Value::Null, NUMERIC, Ok("NULL"));
    check(Value::Array(vec![]), DataType::Text, Err("42846"));
}

#[test]
fn messages_are_postgresqls() {
    let check = |data_type, text: &str, expected: &str| {
        let error = Value::parse(data_type, text).expect_err("must be refused");
        assert_eq!(error.to_string(), expected);
    };
    check(DataType::Integer, "x", "invalid input syntax for type integer: \"x\"");
    check(DataType::SmallInt, "99999", "value \"99999\" is out of range for type smallint");
    check(DataType::Oid, "4294967296", "value \"4294967296\" is out of range for type oid");
    check(DataType::Varchar(2), "abc", "value too long for type character varying(2)");
    check(DataType::Date, "2026-02-30", "date/time field value out of range: \"2026-02-30\"");
    check(DataType::Date, "now", "'now' is not supported for type date");
    check(DataType::Date, "5874898-01-01", "date out of range: \"5874898-01-01\"");
    let error = Value::BigInt(-1).to_datum(DataType::Oid, &mut vec![]).expect_err("none of them");
    assert_eq!(error.to_string(), "OID out of range");
}

#[test]
fn rust_values_come_and_go() {
    assert_eq!(i64::try_from(Value::from(7_i16)), Ok(7));
    assert_eq!(i16::try_from(Value::from(70_000)).map_err(|error| error.code()), Err("22003"));
    assert_eq!(Option::<i32>::try_from(Value::Null), Ok(None));
    assert_eq!(i32::try_from(Value::Null).map_err(|error| error.code()), Err("22002"));
    assert_eq!(Vec::<i32>::try_from(Value::from(vec![1, 2])), Ok(vec![1, 2]));
    assert_eq!(Vec::<u8>::try_from(Value::from(vec![1_u8])), Ok(vec![1_u8]));
    assert_eq!(String::try_from(Value::from("a")).as_deref(), Ok("a"));
    assert_eq!(Decimal::try_from(Value::from(3)), Ok(Decimal::from(3)));
    assert_eq!(Value::from(None::<bool>), Value::Null);
    assert_eq!(Value::from(vec![Some("a b"), None]).to_string(), "{\"a b\",NULL}");
}

#[test]
fn array_literals_out_of_form_are_refused() {
    for text in ["", "1,2", "{1", "{1,}", "{,1}", "{1 {2}}", "{\"a\"b}", "{\"a", "{a\"b}"] {
        let read = Value::parse_array(DataType::Text, text);
        assert_eq!(read.map_err(|error| error.code()), Err("22P02"), "{text}");
    }
    let read = Value::parse_array(DataType::Integer, " { 1 , null,3 } ");
    assert_eq!(read, Ok(Value::from(vec![Some(1), None, Some(3)])));
    assert_eq!(Value::parse_array(DataType::Integer, "{}"), Ok(Value::Array(vec![])));
    for text in ["{{{{{{{1}}}}}}}", "[1][1][1][1][1][1][1]={1}", "[2147483647]={1}"] {
        let read = Value::parse_array(DataType::Text, text);
        assert!(read.is_err_and(|error| matches!(error.code(), "54000" | "22P02")), "{text}");
    }
}

#[test]
fn arrays_of_any_shape_come_back() {
    for (text, dimensions) in [
        ("{{1,2},{3,NULL}}", 2),
        ("[0:1]={1,2}", 1),
        ("[-3:-3][5:6]={{1,2}}", 2),
        ("{{{{{{1,2}}}}}}", 6),
    ] {
        let array = Value::parse_array(DataType::Integer, text).expect("an array");
        assert_eq!(array.shape().dimensions().len(), dimensions);
        assert_eq!(array.to_string(), text);
        let sql_type = SqlType::Array(DataType::Integer);
        let (mut heap, mut elements) = (Vec::new(), vec![crate::datum::Datum::NULL]);
        let datum = array.to_parameter(sql_type, &mut heap, &mut elements).expect("it fits");
        assert_eq!(Value::from_parameter(datum, sql_type, &heap, &elements), array);
        let longer = Value::nested(&[array.clone(), array.clone()]);
        assert_eq!(longer.is_ok(), dimensions < 6);
        let parts = array.slices(1).expect("each has one");
        let elements = parts.iter().map(|part| part.shape().elements());
        assert_eq!(elements.sum::<usize>(), array.shape().elements());
    }
}
