//! Statements with parameters: the types these get, and what the statements do with values; each is
//! run with literals in their place, too.

use crate::database::session::Session;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;

const TABLES: &str = "
    CREATE TABLE item (id bigint PRIMARY KEY, n integer, price numeric(8, 2), name varchar(5),
        code char(3), at timestamptz, day date, ratio double precision, ok boolean);
    CREATE FUNCTION add(one bigint, other integer) RETURNS bigint LANGUAGE plpgsql AS $$
        BEGIN RETURN one + other; END $$;
    CREATE FUNCTION total(all_of bigint[], start bigint) RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE one bigint; sum bigint := start;
        BEGIN FOREACH one IN ARRAY all_of LOOP sum := sum + one; END LOOP; RETURN sum; END $$;
    CREATE FUNCTION dollar(a integer) RETURNS integer LANGUAGE plpgsql AS $$
        BEGIN RETURN $1 * 2; END $$;";

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

fn scalar(data_type: DataType) -> SqlType {
    SqlType::Scalar(data_type)
}

/// Rows as `a,b;c,d`, and the parameters' types.
#[track_caller]
fn run(session: &mut Session, statement: &str, values: &[Value]) -> (String, Vec<SqlType>) {
    let given = session.given(statement, &[], values);
    let (outcome, types) = given.unwrap_or_else(|e| panic!("{e} in {statement}"));
    let rows = outcome.unwrap_or_else(|e| panic!("{e} in {statement}")).rows;
    let row = |row: &Vec<Value>| row.iter().map(Value::to_string).collect::<Vec<_>>().join(",");
    (rows.iter().map(row).collect::<Vec<_>>().join(";"), types)
}

#[test]
fn parameters_take_the_types_of_what_they_stand_beside() {
    use DataType::{BigInt, Boolean, Date, Double, Integer, SmallInt, Text, TimestampTz};
    let mut session = Session::with(TABLES);
    let cases: &[(&str, &[DataType])] = &[
        ("SELECT n FROM item WHERE id = $1", &[BigInt]),
        ("SELECT n FROM item WHERE $1 = id AND n + $2 > 0", &[BigInt, Integer]),
        ("SELECT n FROM item WHERE name = $1 OR code = $2", &[Text, Text]),
        ("SELECT n FROM item WHERE price < $1", &[DataType::AnyNumeric]),
        ("SELECT n FROM item WHERE id BETWEEN $1 AND $2", &[BigInt, BigInt]),
        ("SELECT id FROM item WHERE n IN ($1, $2, 3)", &[Integer, Integer]),
        (
            "SELECT n FROM item WHERE ratio > $1 AND day = $2 AND at < $3",
            &[Double, Date, TimestampTz(6)],
        ),
        ("SELECT n FROM item WHERE ok = $1 AND $2", &[Boolean, Boolean]),
        (
            "UPDATE item SET n = n + $1, price = $2 WHERE id = $3",
            &[Integer, DataType::AnyNumeric, BigInt],
        ),
        ("DELETE FROM item WHERE id = $1", &[BigInt]),
        ("SELECT n FROM item WHERE id = $2 AND n = $1", &[Integer, BigInt]),
        ("SELECT n FROM item WHERE id = $1 AND n = $1", &[BigInt]),
        ("SELECT $1::smallint", &[SmallInt]),
        ("SELECT $1", &[Text]),
        ("SELECT coalesce(n, $1) FROM item WHERE id = 1", &[Integer]),
        ("SELECT CASE WHEN n > $1 THEN $2 ELSE 'no' END FROM item WHERE id = 1", &[Integer, Text]),
        ("SELECT n FROM item WHERE name LIKE $1", &[Text]),
        ("SELECT n FROM item ORDER BY id LIMIT $1", &[BigInt]),
    ];
    for (statement, expected) in cases {
        let nulls = vec![Value::Null; expected.len()];
        let expected: Vec<_> = expected.iter().copied().map(scalar).collect();
        if statement.contains("LIMIT") {
            assert_eq!(run(&mut session, statement, &[Value::BigInt(3)]).1, expected);
        } else {
            assert_eq!(run(&mut session, statement, &nulls).1, expected, "{statement}");
        }
    }
}

#[test]
fn statements_do_with_parameters_what_they_do_with_literals() {
    let mut session = Session::with(TABLES);
    let insert = "INSERT INTO item (id, n, price, name, code) VALUES ($1, $2, $3, $4, $5)";
    for id in 1..=3 {
        let price = Value::parse(DataType::AnyNumeric, "1.999").expect("a number");
        let values = [Value::BigInt(id), Value::Int(7), price, text("it's"), text("ab")];
        run(&mut session, insert, &values);
    }
    let one = [Value::BigInt(2), Value::Int(1)];
    run(&mut session, "UPDATE item SET n = n + $2 WHERE id = $1", &one);
    let rows = run(&mut session, "SELECT id, n, price, name, code FROM item WHERE id >= $1", &one);
    assert_eq!(rows.0, "2,8,2.00,it's,ab ;3,7,2.00,it's,ab ");
    let rows = run(&mut session, "SELECT id FROM item WHERE code = $1", &[text("ab")]);
    assert_eq!(rows.0, "1;2;3");
    // Not rounded to the column's scale first.
    let almost = Value::parse(DataType::AnyNumeric, "1.996").expect("a number");
    assert_eq!(run(&mut session, "SELECT id FROM item WHERE price = $1", &[almost]).0, "");
    let long = session.given(
        insert,
        &[],
        &[Value::BigInt(9), Value::Null, Value::Null, text("too long"), Value::Null],
    );
    assert_eq!(long.expect("it compiles").0.expect_err("five letters").code(), "22001");
    assert_eq!(
        run(&mut session, "SELECT '$1', \"n\" FROM item WHERE id = $1", &one[..1]).0,
        "$1,8"
    );
}

#[test]
fn types_that_the_caller_knows_are_kept() {
    let mut session = Session::with(TABLES);
    let small = Some(scalar(DataType::SmallInt));
    let given =
        session.given("SELECT $1 + $2", &[small, small], &[Value::SmallInt(2), Value::SmallInt(3)]);
    let (outcome, types) = given.expect("it compiles");
    assert_eq!(types, [scalar(DataType::SmallInt); 2]);
    assert_eq!(outcome.expect("it runs").rows, [[Value::SmallInt(5)]]);
    let insert = "INSERT INTO item (id, n) VALUES ($1, $2)";
    let given = session.given(insert, &[small, None], &[Value::SmallInt(4), Value::Int(1)]);
    assert_eq!(
        given.expect("it compiles").1,
        [scalar(DataType::SmallInt), scalar(DataType::Integer)]
    );
}

#[test]
fn calls_take_parameters() {
    let mut session = Session::with(TABLES);
    let (rows, types) = run(&mut session, "SELECT add($2, $1)", &[Value::Int(1), Value::BigInt(2)]);
    assert_eq!(
        (rows.as_str(), &types[..]),
        ("3", &[scalar(DataType::Integer), scalar(DataType::BigInt)][..])
    );
    let all = Value::Array(vec![Value::BigInt(2), Value::BigInt(3)]);
    let (rows, types) = run(&mut session, "CALL total($1, 10)", &[all]);
    assert_eq!((rows.as_str(), &types[..]), ("15", &[SqlType::Array(DataType::BigInt)][..]));
    assert_eq!(run(&mut session, "SELECT dollar($1)", &[Value::Int(4)]).0, "8");
    let (rows, _) = run(&mut session, "SELECT * FROM add(other => $1, one => 5)", &[Value::Int(1)]);
    assert_eq!(rows, "6");
}

#[test]
fn what_cannot_be_typed_is_refused() {
    let mut session = Session::with(TABLES);
    for (statement, code) in [
        ("SELECT n FROM item WHERE id = $2", "42P18"),
        ("SELECT $1 + $2", "42883"),
        ("SELECT $0", "42P02"),
        ("SELECT $32768", "42P02"),
        ("SELECT $99999999999999999999", "42P02"),
        ("SELECT n FROM item WHERE id = $1 AND name = $1", "42883"),
        ("CREATE TABLE t (id bigint DEFAULT $1 PRIMARY KEY)", "0A000"),
    ] {
        let problem = session.given(statement, &[], &[]).map(drop).expect_err(statement);
        assert_eq!(problem.code(), code, "{statement}: {problem}");
    }
    let problem = session.error("SELECT n FROM item WHERE id = $1");
    assert_eq!(problem.code(), "42P02", "no parameters are given");
}

#[test]
fn parameters_that_are_no_arguments_are_left_out() {
    let without = |text: &str, left_out: &[usize]| {
        hotrow_sql::without_parameters(text, |at| left_out.contains(&at)).expect("it is read")
    };
    for (text, left_out, expected) in [
        ("SELECT * FROM f($1, $2) AS r", &[0][..], "SELECT * FROM f( $2) AS r"),
        ("CALL p($1,$2,$3)", &[1, 2], "CALL p($1)"),
        ("CALL p($1,$2,$3)", &[0, 1], "CALL p($3)"),
        ("CALL p($1,$2,$3)", &[0, 2], "CALL p($2)"),
        ("CALL p($1, $2)", &[0, 1], "CALL p()"),
        ("CALL p('$1', \"$1\", $1)", &[0], "CALL p('$1', \"$1\")"),
        ("CALL p($1)", &[], "CALL p($1)"),
    ] {
        let found: String = without(text, left_out);
        assert_eq!(found.replace("( ", "("), expected.replace("( ", "("), "{text} {left_out:?}");
    }
}
