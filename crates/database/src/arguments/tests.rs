use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::invocation::{Arguments, Invocation};
use hotrow_transaction::program::{FIRST_PARAMETER, Procedure, RowLocks, Slot};

use super::{IntoArguments, bind_all};

fn procedure(types: &[SqlType]) -> Procedure {
    let slot = |name: String, sql_type| Slot { name, sql_type };
    let fixed = (0..FIRST_PARAMETER).map(|i| slot(format!("${i}"), types[0]));
    let own = types.iter().enumerate().map(|(i, &sql_type)| slot(format!("p{i}"), sql_type));
    Procedure {
        name: "f".into(),
        parameters: types.len() as u16,
        defaults: Vec::new(),
        draws: Vec::new(),
        slots: fixed.chain(own).collect(),
        body: Vec::new(),
        result: Vec::new(),
        returns_set: false,
        row_sets: 0,
        row_locks: RowLocks::default(),
        inlined: Vec::new(),
        ends_transaction: false,
        is_variadic: false,
        outs: Vec::new(),
        lacks: None,
        interpreted: None,
        source: None,
        trigger: None,
        later: None,
        needs: Default::default(),
    }
}

/// The arguments as the procedure sees them.
fn bound(types: &[SqlType], given: impl IntoArguments) -> Result<Vec<Value>, String> {
    let mut invocation = Invocation::default();
    bind_all(&procedure(types), given, &mut invocation).map_err(|error| error.code().to_owned())?;
    let Arguments { datums, elements, heap } = invocation.arguments;
    let values = datums.iter().zip(types);
    Ok(values.map(|(&d, &of)| Value::from_parameter(d, of, &heap, &elements)).collect())
}

#[test]
fn rust_values_become_the_parameters_types() {
    use DataType::{BigInt, Bytea, Date, Integer, SmallInt, Text, Varchar};
    let scalar = SqlType::Scalar;
    let all = [scalar(SmallInt), scalar(Integer), scalar(BigInt), scalar(Text)];
    let expected = [Value::SmallInt(1), Value::Int(2), Value::BigInt(3), Value::from("four")];
    assert_eq!(bound(&all, (1_i64, 2_i16, 3_i32, "four")).as_deref(), Ok(&expected[..]));
    assert_eq!(bound(&all, expected.to_vec()).as_deref(), Ok(&expected[..]));
    let text = bound(&[scalar(Varchar(3)), scalar(Date)], ("abc", "2000-01-02".to_owned()));
    assert_eq!(text, Ok(vec![Value::from("abc"), Value::Date(1)]));
    let bytes = bound(&[scalar(Bytea), scalar(BigInt)], (vec![1_u8, 2], None::<i64>));
    assert_eq!(bytes, Ok(vec![Value::Bytea(vec![1, 2]), Value::Null]));
    let arrays = [SqlType::Array(BigInt), SqlType::Array(Text)];
    let expected = vec![
        Value::Array(vec![Value::BigInt(1), Value::BigInt(2)]),
        Value::Array(vec![Value::from("a"), Value::Null]),
    ];
    assert_eq!(bound(&arrays, (vec![1_i64, 2], vec![Some("a"), None])), Ok(expected.clone()));
    assert_eq!(bound(&arrays, (&[1_i32, 2][..], "{a,NULL}")), Ok(expected));
    assert_eq!(bound(&[scalar(BigInt)], (Value::from("12"),)), Ok(vec![Value::BigInt(12)]));
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let fails = |data_type, value: Value, code: &str| {
        assert_eq!(bound(&[SqlType::Scalar(data_type)], (value,)), Err(code.to_owned()));
    };
    fails(DataType::SmallInt, Value::BigInt(40_000), "22003");
    fails(DataType::Integer, Value::BigInt(1 << 40), "22003");
    fails(DataType::BigInt, Value::Bool(true), "42804");
    fails(DataType::Boolean, Value::Int(1), "42804");
    fails(DataType::Date, Value::from("yesterday-ish"), "22007");
    fails(DataType::Varchar(2), Value::from("abc"), "22001");
    fails(DataType::Text, Value::from("a\0b"), "22021");
    fails(DataType::Text, Value::Array(vec![]), "42804");
    let array = SqlType::Array(DataType::BigInt);
    assert_eq!(bound(&[array], (1_i64,)), Err("42804".to_owned()));
    assert_eq!(bound(&[array], (vec![vec![1_i64]],)), Err("42804".to_owned()));
    assert_eq!(bound(&[array], (1_i64, 2_i64)), Err("42883".to_owned()));
    assert_eq!(bound(&[array], ()), Err("42883".to_owned()));
    assert_eq!(bound(&[SqlType::Scalar(DataType::Text)], ("a\0b",)), Err("22021".to_owned()));
}
