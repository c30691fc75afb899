use super::*;

fn back(answer: &Answer) -> Option<Answer> {
    let mut bytes = Vec::new();
    encode_answer(&mut bytes, answer);
    for cut in 0..bytes.len() {
        assert!(decode_answer(&mut ByteReader::new(&bytes[..cut])).is_none(), "{cut} bytes");
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x55;
        let _ = decode_answer(&mut ByteReader::new(&changed)); // no panic, whatever it gives
    }
    let mut reader = ByteReader::new(&bytes);
    let answer = decode_answer(&mut reader);
    assert!(reader.is_empty());
    answer
}

#[test]
fn rows_of_all_types_come_back() {
    let values = vec![
        Value::Null,
        Value::Bool(true),
        Value::SmallInt(-3),
        Value::Int(70_000),
        Value::BigInt(i64::MIN),
        Value::Real(1.5),
        Value::Double(-0.1),
        Value::Numeric(Decimal::new(-12_345, 2).expect("a small scale")),
        Value::Text("naïve".to_owned()),
        Value::Bytea(vec![0, 255]),
        Value::Timestamp(-1),
        Value::TimestampTz(7),
        Value::Date(-1),
        Value::Time(86_399_000_001),
        Value::Uuid([7; 16]),
        Value::Array(vec![Value::BigInt(1), Value::Null]),
        Value::parse_array(hotrow_base::types::DataType::Text, "[0:1][1:1]={{a},{NULL}}")
            .expect("an array"),
        Range::parse(RangeKind::Num, "(,2.50]").expect("a range").into(),
        Range::empty(RangeKind::Date).into(),
    ];
    let columns = (0..17).map(|number| format!("c{number}")).collect::<Vec<_>>();
    let answer = Ok(Rows::new(columns.into(), values, 9));
    assert_eq!(back(&answer), Some(answer));
}

#[test]
fn errors_come_back() {
    let mut error = SqlError::new(b"23505", "twice");
    error.place = Place { line: 3, column: 4 };
    (error.detail, error.constraint) = (Some("Key (a)".to_owned()), Some("a_key".to_owned()));
    let answer = Err(Box::new(error));
    assert_eq!(back(&answer), Some(answer));
}
