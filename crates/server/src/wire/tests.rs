use hotrow::{CompositeType, Decimal, EncodedType, Interval};

use super::*;

fn numeric(text: &str) -> (Value, DataType) {
    let scale = text.split_once('.').map_or(0, |(_, behind)| behind.len() as u8);
    let data_type = DataType::Numeric { precision: 38, scale };
    (Value::parse(data_type, text).expect("a number"), data_type)
}

fn binary(value: &Value, data_type: DataType) -> BytesMut {
    let mut out = BytesMut::new();
    write(value, Format::Binary, data_type, &mut out);
    out
}

/// As PostgreSQL 15's numeric_send gives them (`select numeric_send(x)`).
#[test]
fn numbers_are_written_as_postgresql_writes_them() {
    for (text, expected) in [
        ("0", "0000000000000000"),
        ("0.00", "0000000000000002"),
        ("1", "00010000000000000001"),
        ("-1", "00010000400000000001"),
        ("12345.678", "0003000100000003000109291a7c"),
        ("0.12", "0001ffff0000000204b0"),
        ("0.00000005", "0001fffe000000080005"),
        ("10000", "00010001000000000001"),
        ("100000000.0001", "00040002000000040001000000000001"),
    ] {
        let (value, data_type) = numeric(text);
        let hex: String = binary(&value, data_type).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, expected, "{text}");
    }
}

/// As PostgreSQL 15 gives them (`COPY (SELECT ...) TO STDOUT (FORMAT binary)`).
#[test]
fn encoded_values_are_written_as_postgresql_writes_them() {
    use EncodedType as T;
    for (of, text, expected) in [
        (T::Inet, "10.1.2.3/8", "020800040a010203"),
        (T::Inet, "::1", "0380001000000000000000000000000000000001"),
        (T::Cidr, "10.0.0.0/8", "020801040a000000"),
        (T::MacAddr, "08:00:2b:01:02:03", "08002b010203"),
        (T::MacAddr8, "08:00:2b:01:02:03:04:05", "08002b0102030405"),
        (T::Bit(11), "10100000111", "0000000ba0e0"),
        (T::VarBit(0), "", "00000000"),
        (T::TimeTz(6), "10:20:30.5+05:30", "00000008ab1c58a0ffffb2a8"),
    ] {
        let data_type = DataType::Encoded(of);
        let value = Value::parse(data_type, text).expect(text);
        let written = binary(&value, data_type);
        let hex: String = written.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, expected, "{text}");
        let back = read(&written, Format::Binary, SqlType::Scalar(data_type));
        assert_eq!(back.map(|back| back.to_string()).as_deref(), Ok(text));
        // Whatever is cut off is an error.
        for end in 0..written.len() {
            let cut = read(&written[..end], Format::Binary, SqlType::Scalar(data_type));
            assert!(cut.is_err() || of == T::MacAddr8 && end == 6, "{text} up to {end}");
        }
    }
}

#[test]
fn rows_come_back_from_binary_and_text() {
    let line = [("sku".into(), DataType::Text), ("many".into(), DataType::Integer)];
    let line = DataType::Composite(CompositeType::of("line", &line));
    let fields = [("id".into(), DataType::BigInt), ("lines".into(), line.array())];
    let order = DataType::Composite(CompositeType::of("order", &fields));
    let text = r#"(7,"{""(\\""a b\\"",1)"",NULL,""(,)""}")"#;
    let value = Value::parse(order, text).expect("a row");
    assert_eq!(value.to_string(), text);
    let written = binary(&value, order);
    let read = |bytes: &[u8]| read(bytes, Format::Binary, SqlType::Scalar(order));
    assert_eq!(read(&written).as_ref(), Ok(&value));
    for end in 0..written.len() {
        assert!(read(&written[..end]).is_err(), "up to {end}");
    }
    let mut other = written.to_vec();
    other[7] += 1; // another type of the first field
    assert!(read(&other).is_err());
}

#[test]
fn numbers_come_back_from_binary() {
    for text in [
        "0",
        "0.00",
        "1",
        "-1",
        "12345.678",
        "0.12",
        "-0.00000005",
        "10000",
        "9999.9999",
        "100000000.0001",
        "99999999999999999999999999999999999999",
        "0.0000000001",
        "-1234567890123456789.0123456789",
    ] {
        let (value, data_type) = numeric(text);
        let back = read(&binary(&value, data_type), Format::Binary, SqlType::Scalar(data_type));
        assert_eq!(back.as_ref(), Ok(&value), "{text}");
    }
    assert!(Decimal::new(1, 0).is_some());
}

fn range(kind: RangeKind, text: &str) -> (Value, DataType) {
    let data_type = DataType::Range(kind);
    (Value::parse(data_type, text).expect(text), data_type)
}

#[test]
fn values_come_back_in_both_formats() {
    let mut uuid = [7; 16];
    uuid[3] = 255;
    for (value, data_type) in [
        (Value::Bool(true), DataType::Boolean),
        (Value::SmallInt(-3), DataType::SmallInt),
        (Value::Int(70_000), DataType::Integer),
        (Value::BigInt(i64::MIN), DataType::BigInt),
        (Value::BigInt(u32::MAX.into()), DataType::Oid),
        (Value::Text("r".to_owned()), DataType::CatalogChar),
        (Value::Text(String::new()), DataType::CatalogChar),
        (Value::Real(1.5), DataType::Real),
        (Value::Double(-0.1), DataType::Double),
        (Value::Text("it's {\"so\"}, \\ is it".to_owned()), DataType::Text),
        (Value::Bytea(vec![0, 255, 92, 39]), DataType::Bytea),
        (Value::Date(-1), DataType::Date),
        (Value::Date(i32::MAX), DataType::Date),
        (Value::Timestamp(i64::MIN), DataType::TIMESTAMP),
        (Value::Time(86_400_000_000), DataType::Time(6)),
        (Value::Timestamp(86_400_000_001), DataType::TIMESTAMP),
        (Value::TimestampTz(-1), DataType::TIMESTAMPTZ),
        (Value::Uuid(uuid), DataType::Uuid),
        (Value::Interval(Interval { months: -1, days: 2, micros: -3 }), DataType::Interval),
        (Value::Json("{\"a\" : 1.50}".to_owned()), DataType::Json),
        (Value::Jsonb("{\"a\": 1.50}".to_owned()), DataType::Jsonb),
        range(RangeKind::Int4, "[1,5)"),
        range(RangeKind::Num, "(,2.50]"),
        range(RangeKind::Ts, "[2026-01-01 10:00,infinity)"),
        range(RangeKind::Date, "empty"),
    ] {
        for format in [Format::Text, Format::Binary] {
            let mut out = BytesMut::new();
            write(&value, format, data_type, &mut out);
            let back = read(&out, format, SqlType::Scalar(data_type));
            assert_eq!(back.as_ref(), Ok(&value), "{format:?}");
            let array = Value::Array(vec![value.clone(), Value::Null, value.clone()]);
            let mut out = BytesMut::new();
            write(&array, format, data_type, &mut out);
            let back = read(&out, format, SqlType::Array(data_type));
            assert_eq!(back.as_ref(), Ok(&array), "{format:?}");
            // As a column has it.
            let mut of_column = BytesMut::new();
            write(&array, format, data_type.array(), &mut of_column);
            assert_eq!(of_column, out);
            let back = read(&out, format, SqlType::Scalar(data_type.array()));
            assert_eq!(back.as_ref(), Ok(&array), "{format:?}");
            for end in 0..out.len() {
                let _ = read(&out[..end], format, SqlType::Array(data_type));
                let _ = read(&out[..end], format, SqlType::Scalar(data_type));
            }
        }
    }
    let empty = Value::Array(Vec::new());
    let mut out = BytesMut::new();
    write(&empty, Format::Binary, DataType::BigInt, &mut out);
    let back = read(&out, Format::Binary, SqlType::Array(DataType::BigInt));
    assert_eq!(back, Ok(empty));
    let text = "[0:1][1:2]={{1,NULL},{3,4}}";
    let shaped = Value::parse_array(DataType::BigInt, text).expect("an array");
    for format in [Format::Text, Format::Binary] {
        let mut out = BytesMut::new();
        write(&shaped, format, DataType::BigInt, &mut out);
        let back = read(&out, format, SqlType::Array(DataType::BigInt));
        let back = back.map(|value| match value {
            // Whoever binds it knows the type of its elements.
            Value::Text(text) => Value::parse_array(DataType::BigInt, &text).expect("an array"),
            value => value,
        });
        assert_eq!(back, Ok(shaped.clone()));
    }
}

#[test]
fn types_of_the_catalog_are_as_narrow_as_postgresqls() {
    assert_eq!(&binary(&Value::BigInt(4_000_000_000), DataType::Oid)[..], [0xee, 0x6b, 0x28, 0]);
    assert_eq!(&binary(&Value::Text("r".to_owned()), DataType::CatalogChar)[..], b"r");
    assert_eq!(&binary(&Value::Text(String::new()), DataType::CatalogChar)[..], b"\0");
    let oids = binary(&Value::Array(vec![Value::BigInt(26)]), DataType::Oid);
    let words: Vec<_> = oids.as_chunks::<4>().0.iter().map(|w| u32::from_be_bytes(*w)).collect();
    // Dimensions, NULLs, the type, elements, the first one's number; its length and itself.
    assert_eq!(words, [1, 0, 26, 1, 1, 4, 26]);
    let oid = SqlType::Scalar(DataType::Oid);
    assert!(read(&[0; 8], Format::Binary, oid).is_err());
}

#[test]
fn a_jsonb_tells_its_version() {
    let jsonb = SqlType::Scalar(DataType::Jsonb);
    let mut out = BytesMut::new();
    write(&Value::Jsonb("[1, 2]".to_owned()), Format::Binary, DataType::Jsonb, &mut out);
    assert_eq!(&out[..], b"\x01[1, 2]");
    let back = read(b"\x01[1 ,2]", Format::Binary, jsonb);
    assert_eq!(back, Ok(Value::Jsonb("[1, 2]".to_owned())));
    let error = read(b"\x02[]", Format::Binary, jsonb).expect_err("no such version");
    assert_eq!(
        (error.code(), error.message.as_str()),
        ("XX000", "unsupported jsonb version number 2")
    );
    let error = read(b"\x01[", Format::Binary, jsonb).expect_err("no JSON");
    assert_eq!(error.code(), "22P02");
    assert!(error.detail.is_some());
}

#[test]
fn hostile_bytes_are_refused() {
    for bytes in [&[][..], &[0; 3], &[255; 8], &[0xff; 40]] {
        for data_type in KNOWN {
            let _ = read(bytes, Format::Binary, SqlType::Scalar(data_type));
            let _ = read(bytes, Format::Text, SqlType::Scalar(data_type));
            assert!(read(bytes, Format::Binary, SqlType::Array(data_type)).is_err());
        }
    }
    let error = read(&[0xff], Format::Text, SqlType::Scalar(DataType::Text));
    assert_eq!(error.expect_err("no UTF-8").code(), "22021");
    // A billion elements, none there.
    let mut claims = Vec::new();
    for int in [1, 0, 20, 1_000_000_000, 1] {
        claims.extend(i32::to_be_bytes(int));
    }
    assert!(read(&claims, Format::Binary, SqlType::Array(DataType::BigInt)).is_err());
}

#[test]
fn types_are_known_by_their_numbers() {
    for data_type in KNOWN {
        let [scalar, array] = [SqlType::Scalar(data_type), SqlType::Array(data_type)].map(oid);
        assert!(matches!(parameter_type(scalar), Ok(Some(SqlType::Scalar(_)))), "{scalar}");
        assert!(matches!(parameter_type(array), Ok(Some(SqlType::Array(_)))), "{array}");
        assert_eq!(oid(SqlType::Scalar(data_type.array())), array);
    }
    assert_eq!(parameter_type(0), Ok(None));
    assert_eq!(parameter_type(26), Ok(Some(SqlType::Scalar(DataType::Oid))));
    assert_eq!(parameter_type(1028), Ok(Some(SqlType::Array(DataType::Oid))));
    assert_eq!(parameter_type(3802), Ok(Some(SqlType::Scalar(DataType::Jsonb))));
    assert_eq!(parameter_type(600).expect_err("point").code(), "42704");
}
