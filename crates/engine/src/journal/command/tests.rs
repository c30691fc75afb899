use proptest::prelude::*;

use hotrow_base::temporal::TimeZone;
use hotrow_base::value::Value;

use super::*;

fn slot(sql_type: SqlType) -> Slot {
    Slot { name: String::new(), sql_type }
}

const NUMERIC: DataType = DataType::Numeric { precision: 12, scale: 2 };

/// A parameter of any type, and values that it can have.
fn parameter() -> impl Strategy<Value = (SqlType, Value)> {
    let scalar = prop_oneof![
        any::<bool>().prop_map(|v| (DataType::Boolean, Value::from(v))),
        any::<i16>().prop_map(|v| (DataType::SmallInt, Value::from(v))),
        any::<i32>().prop_map(|v| (DataType::Integer, Value::from(v))),
        any::<i64>().prop_map(|v| (DataType::BigInt, Value::from(v))),
        any::<f64>().prop_map(|v| (DataType::Double, Value::from(v))),
        (-999_999_999_i64..999_999_999).prop_map(|v| (NUMERIC, Value::from(v))),
        "[a-zäö]{0,20}".prop_map(|v| (DataType::Text, Value::Text(v))),
        proptest::collection::vec(any::<u8>(), 0..20)
            .prop_map(|v| (DataType::Bytea, Value::from(v))),
    ];
    let ints = proptest::collection::vec(proptest::option::of(any::<i64>()), 0..20);
    prop_oneof![
        4 => scalar.prop_map(|(of, value)| (SqlType::Scalar(of), value)),
        1 => Just((SqlType::Scalar(DataType::Uuid), Value::Null)),
        1 => Just((SqlType::Array(DataType::Text), Value::Null)),
        1 => (1..4_usize, -2..3_i32).prop_map(|(rows, lower)| {
            let dimensions = [Dimension { length: rows as u32, lower }, Dimension::from_one(2)];
            let shape = ArrayShape::new(&dimensions).expect("it is small");
            let values = (0..2 * rows as i64).map(|n| if n == 1 { Value::Null } else { n.into() });
            (SqlType::Array(DataType::BigInt), Value::shaped(values.collect(), &shape))
        }),
        2 => ints.prop_map(|values| {
            let of = |value: Option<i64>| value.map_or(Value::Null, Value::from);
            let values = values.into_iter().map(of).collect();
            (SqlType::Array(DataType::BigInt), Value::Array(values))
        }),
    ]
}

fn call(parameters: &[(SqlType, Value)]) -> (Vec<Slot>, Invocation) {
    let mut invocation = Invocation {
        procedure: ProcedureId(300),
        now_us: -5,
        key: b"k7".to_vec(),
        ..Invocation::default()
    };
    for (of, value) in parameters {
        invocation.arguments.push_value(*of, value).expect("the value is of the type");
    }
    (parameters.iter().map(|(of, _)| slot(*of)).collect(), invocation)
}

fn encoded(invocation: &Invocation, slots: &[Slot]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&mut bytes, invocation, slots, 0x1234_5678_9abc_def0, Company::Alone);
    bytes
}

proptest! {
    #[test]
    fn a_call_comes_back_as_it_was(
        parameters in proptest::collection::vec(parameter(), 0..20),
    ) {
        let (slots, mut invocation) = call(&parameters);
        invocation.conventions.zone = TimeZone::named("Europe/Berlin").expect("a region");
        let bytes = encoded(&invocation, &slots);
        let mut reader = ByteReader::new(&bytes);
        let head = decode_head(&mut reader).expect("it was encoded");
        prop_assert_eq!(head.procedure, ProcedureId(300));
        prop_assert_eq!(head.now_us, -5);
        prop_assert_eq!(head.write_hash, 0x1234_5678 ^ 0x9abc_def0);
        prop_assert_eq!(head.company, Company::Alone);
        prop_assert_eq!(head.key, b"k7");
        prop_assert_eq!(head.conventions, Some("Europe/Berlin"));
        let mut arguments = Arguments::default();
        prop_assert!(decode_arguments(reader, &slots, &mut arguments).is_some());
        // Places in heaps may differ; what lies there may not.
        let again = Invocation { arguments, ..invocation };
        prop_assert_eq!(encoded(&again, &slots), bytes);
    }

    #[test]
    fn other_bytes_are_refused_or_read_and_never_panic(
        parameters in proptest::collection::vec(parameter(), 1..8),
        at in any::<proptest::sample::Index>(),
        flip in 1_u8..,
        cut in any::<proptest::sample::Index>(),
    ) {
        let (slots, invocation) = call(&parameters);
        let bytes = encoded(&invocation, &slots);
        let mut changed = bytes.clone();
        changed[at.index(bytes.len())] ^= flip;
        for bytes in [&changed[..], &bytes[..cut.index(bytes.len())]] {
            let mut reader = ByteReader::new(bytes);
            if decode_head(&mut reader).is_some() {
                let _ = decode_arguments(reader, &slots, &mut Arguments::default());
            }
        }
        let mut reader = ByteReader::new(&bytes[..bytes.len() - 1]);
        let whole = decode_head(&mut reader)
            .and_then(|_| decode_arguments(reader, &slots, &mut Arguments::default()));
        prop_assert!(whole.is_none(), "what is cut off is missed");
    }
}

#[test]
fn a_small_call_is_small() {
    let int = |value: i64| (SqlType::Scalar(DataType::BigInt), Value::from(value));
    let (slots, mut invocation) = call(&[int(1), int(7), int(3)]);
    invocation.procedure = ProcedureId(2);
    invocation.key.clear();
    invocation.now_us = 9_497 * 86_400 * 1_000_000;
    // Flags, procedure, 8 of time, 4 of hash, NULLs, and a byte for each argument.
    assert_eq!(encoded(&invocation, &slots).len(), 1 + 1 + 8 + 4 + 1 + 3);
}
