use super::*;

const TYPES: [DataType; 5] = [
    DataType::Integer,
    DataType::Text,
    DataType::Numeric { precision: 6, scale: 2 },
    DataType::TIMESTAMPTZ,
    DataType::SmallInt,
];

#[test]
fn a_row_survives_copy_s_text() {
    let heap = "tab\t, line\nand \\backslash".as_bytes();
    let row = [
        Datum::int(-7),
        Datum::range(0, heap.len() as u32),
        Datum::numeric(-12_345),
        Datum::int(820_540_800_000_001),
        Datum::NULL,
    ];
    let mut out = Vec::new();
    write_row(TYPES.into_iter(), (&row, heap), &mut String::new(), &mut out);
    let line = String::from_utf8(out).expect("it is text");
    let expected = "-7\ttab\\t, line\\nand \\\\backslash\t-123.45\t\
                    2026-01-01 00:00:00.000001+00\t\\N\n";
    assert_eq!(line, expected);
    let (mut back, mut bytes) = (Vec::new(), Vec::new());
    let read = read_row(line.trim_end_matches('\n'), &TYPES, &mut back, &mut bytes);
    assert_eq!(read.expect("all cells are values"), Some(()));
    for (at, data_type) in TYPES.into_iter().enumerate() {
        let [there, here] = [(row[at], heap), (back[at], &bytes[..])]
            .map(|(datum, heap)| Value::from_datum(datum, data_type, heap));
        assert_eq!(there, here);
    }
}

#[test]
fn a_row_of_another_table_is_noticed() {
    let read = |line| read_row(line, &TYPES[..2], &mut Vec::new(), &mut Vec::new());
    assert_eq!(read("1\ta"), Ok(Some(())));
    assert_eq!((read("1"), read("1\ta\t2")), (Ok(None), Ok(None)));
    assert!(read("one\ta").is_err());
}

#[test]
fn arguments_are_binary_but_numeric() {
    let mut arguments = Arguments::default();
    arguments.push_int(7);
    arguments.push_int_array([1, -1]);
    arguments.push_numeric(1_250);
    arguments.push_null();
    arguments.push_bytes("ä".as_bytes());
    let types = [
        SqlType::Scalar(DataType::SmallInt),
        SqlType::Array(DataType::Integer),
        SqlType::Scalar(DataType::Numeric { precision: 6, scale: 2 }),
        SqlType::Scalar(DataType::Text),
        SqlType::Scalar(DataType::Varchar(16)),
    ];
    let mut given = Vec::new();
    parameters(&types, &arguments, &mut given);
    let wire = [Type::INT2, Type::INT4_ARRAY, Type::NUMERIC, Type::TEXT, Type::VARCHAR];
    let bytes: Vec<_> = given
        .iter()
        .zip(&wire)
        .map(|(parameter, ty)| {
            let mut out = BytesMut::new();
            let null = parameter.to_sql(ty, &mut out).expect("it can be written");
            (out.to_vec(), matches!(null, IsNull::Yes))
        })
        .collect();
    assert_eq!(bytes[0], (vec![0, 7], false));
    let array: Vec<u8> = [1, 0, 23, 2, 1, 4, 1, 4, -1].map(i32::to_be_bytes).concat();
    assert_eq!(bytes[1], (array, false));
    assert_eq!(bytes[2], (b"12.50".to_vec(), false));
    assert_eq!(bytes[3], (Vec::new(), true));
    assert_eq!(bytes[4], ("ä".as_bytes().to_vec(), false));
    assert!(matches!(given[2].encode_format(&wire[2]), Format::Text));
    assert!(matches!(given[0].encode_format(&wire[0]), Format::Binary));
}
