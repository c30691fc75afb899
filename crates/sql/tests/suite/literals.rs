//! Texts that differ in their literals only.

use hotrow_base::value::Value;
use hotrow_sql::{SHAPED_BYTES_MAX, SHAPED_LINE_FIRST, Shape, parse_shaped, place_in_text};
use hotrow_transaction::program::Place;

fn shape(text: &str) -> Option<Shape> {
    let mut shape = Shape::default();
    shape.read(text).then_some(shape)
}

fn values(text: &str) -> Vec<Value> {
    let shape = shape(text).expect(text);
    (0..shape.count()).map(|at| shape.value(text, at)).collect()
}

fn are_alike(one: &str, other: &str) -> bool {
    shape(one).expect(one).key() == shape(other).expect(other).key()
}

#[test]
fn literals_are_set_apart_with_their_types() {
    let text = "UPDATE t SET a = a + -17, n = 'it''s', big = 3000000000 WHERE id=5 AND k = '';";
    let expected = [
        Value::Int(-17),
        Value::from("it's"),
        Value::BigInt(3_000_000_000),
        Value::Int(5),
        Value::from(""),
    ];
    assert_eq!(values(text), expected);
    assert_eq!(
        values("SELECT (-2147483648), 2147483648, a-5, (-5), a -5"),
        [Value::Int(i32::MIN), Value::Int(5), Value::Int(-5), Value::Int(5)]
    );
    assert_eq!(values("INSERT INTO t VALUES (1, '-- no comment', 'x;y')").len(), 3);
}

#[test]
fn texts_are_alike_that_differ_in_literals_only() {
    assert!(are_alike("SELECT a FROM t WHERE id = 5", "SELECT a FROM t WHERE id = 654"));
    assert!(are_alike("SELECT a FROM t WHERE id = 5", "SELECT a FROM t WHERE id = -7"));
    assert!(are_alike("CALL p(1, 'a')", "CALL p(-1, 'a '' longer one')"));
    for (one, other) in [
        ("SELECT a FROM t WHERE id = 5", "SELECT a FROM t WHERE id = '5'"),
        ("SELECT a FROM t WHERE id = 5", "SELECT a FROM t WHERE id = 5000000000"),
        ("SELECT a FROM t WHERE id = 5", "select a FROM t WHERE id = 5"),
        ("SELECT a-5 FROM t", "SELECT a FROM t"),
        // What is behind these words a plan may depend on.
        ("SELECT a FROM t LIMIT 5", "SELECT a FROM t LIMIT 6"),
        ("SELECT now() + interval '1 day'", "SELECT now() + interval '2 days'"),
        // A name in quotes may look like what stands for a literal.
        ("SELECT \"a\u{1}\" FROM t", "SELECT \"a5\" FROM t"),
    ] {
        assert!(!are_alike(one, other), "{one} | {other}");
    }
}

#[test]
fn what_is_more_than_simple_has_no_shape() {
    for text in [
        "",
        ";",
        "SELECT 1; SELECT 2",
        "SELECT 1.5",
        "SELECT 1e5",
        "SELECT .5",
        "SELECT E'\\n'",
        "SELECT U&'\\0041'",
        "SELECT date'2020-01-01'",
        "SELECT $1",
        "SELECT $$a$$",
        "SELECT 'a'\n'b'",
        "SELECT 'a",
        "SELECT 1 -- one",
        "SELECT /* one */ 1",
        "CREATE TABLE t (a integer)",
        "DO 'x'",
        "SELECT 1_000",
        "SELECT a\u{1}",
    ] {
        assert!(shape(text).is_none(), "{text}");
    }
    assert!(shape(&format!("SELECT '{}'", "x".repeat(SHAPED_BYTES_MAX))).is_none());
}

#[test]
fn places_are_told_for_the_text_that_is_run() {
    let first = "  SELECT a\n FROM t WHERE id = 5 AND k = 'x'";
    let mut statement = parse_shaped(first, &shape(first).expect("simple")).unwrap().unwrap();
    assert_eq!(statement.place, Place { line: 1, column: 3 });
    // k is the tenth token.
    let k = Place { line: SHAPED_LINE_FIRST + 9, column: 1 };
    assert_eq!(place_in_text(&statement, k), Place { line: 2, column: 26 });
    "SELECT a\n FROM t WHERE id = 51234 AND k = 'x'".clone_into(&mut statement.text);
    assert_eq!(place_in_text(&statement, k), Place { line: 2, column: 30 });
    let known = Place { line: 2, column: 1 };
    assert_eq!(place_in_text(&statement, known), known);
}

#[test]
fn a_text_with_parameters_is_the_same_statement() {
    let text = "INSERT INTO t VALUES (-5, 'it''s', 7) ON CONFLICT DO NOTHING";
    let mut shape = Shape::default();
    assert!(shape.read(text));
    let all = shape.with_parameters(text, &[true, true, true]);
    assert_eq!(all, "INSERT INTO t VALUES ($1, $2, $3) ON CONFLICT DO NOTHING");
    let some = shape.with_parameters(text, &[true, false, true]);
    assert_eq!(some, "INSERT INTO t VALUES ($1, 'it''s', $2) ON CONFLICT DO NOTHING");
    assert_eq!(shape.with_parameters(text, &[false; 3]), text);
}
