use hotrow_base::value::Value;
use hotrow_transaction::outcome;

use super::Rows;

fn rows() -> Rows {
    let rows =
        vec![vec![Value::BigInt(1), Value::from("one")], vec![Value::BigInt(2), Value::Null]];
    outcome::Rows {
        columns: vec!["id".into(), "name".into()],
        rows,
        touched: 2,
        notices: Vec::new(),
    }
    .into()
}

#[test]
fn rows_become_rust_types_or_say_why_not() {
    let typed: Vec<(i64, Option<String>)> = rows().all().expect("the types fit");
    assert_eq!(typed, [(1, Some("one".to_owned())), (2, None)]);
    let told = |text: &str, error: crate::Error| {
        assert!(error.to_string().contains(text), "{error}");
    };
    told("2 rows, not one", rows().one::<(i64, Option<String>)>().expect_err("two rows"));
    told("2 columns, not 1", rows().all::<i64>().expect_err("two columns"));
    told("null", rows().all::<(i64, String)>().expect_err("a NULL"));
    told("cannot cast", rows().all::<(bool, Value)>().expect_err("no boolean"));
    told("0 rows, not one", Rows::default().one::<i64>().expect_err("none"));
    assert!(matches!(Rows::default().optional::<i64>(), Ok(None)));
}

#[test]
fn rows_are_counted_and_visited() {
    assert_eq!((rows().len(), rows().touched(), rows().is_empty()), (2, 2, false));
    let rows = rows();
    let second = rows.iter().nth(1).expect("two rows");
    assert_eq!(second, [Value::BigInt(2), Value::Null]);
    assert_eq!((Rows::default().len(), Rows::default().iter().len()), (0, 0));
    assert_eq!(Rows::from(outcome::Rows::from(rows.clone())), rows);
}
