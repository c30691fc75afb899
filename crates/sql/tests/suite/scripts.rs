//! Scripts of many statements, whose trees are not all there at once.

use hotrow_sql::{Script, parse_script};

/// More statements than a script keeps the trees of.
const MANY: usize = 100;

#[test]
fn statements_of_a_long_script_are_the_same_as_of_a_short_one() {
    let several = "SELECT 'a;\u{e9}' AS \"n\u{e9}\", 1; CREATE FUNCTION f() RETURNS int AS $$
        BEGIN RETURN 1; END $$ LANGUAGE plpgsql;; PREPARE p AS SELECT 2; -- none;
        INSERT INTO t OVERRIDING SYSTEM VALUE VALUES (1);";
    let long = several.repeat(MANY);
    for text in [several, &long] {
        let whole = parse_script(text).expect("it can be read");
        let whole: Vec<_> = whole.iter().map(|statement| format!("{statement:?}")).collect();
        let script = Script::read(text).expect("it can be read");
        assert_eq!(script.len(), whole.len());
        let one_by_one: Vec<_> =
            script.map(|statement| format!("{:?}", statement.expect("as well"))).collect();
        assert_eq!(one_by_one, whole);
    }
}

#[test]
fn a_mistake_at_the_end_of_a_long_script_refuses_it() {
    let text = format!("{}SELECT (1", "SELECT 1;".repeat(2 * MANY));
    let error = Script::read(&text).expect_err("it cannot be read");
    assert_eq!((error.code(), error.place.line), ("42601", 1));
    assert!(error.place.column > 1_000, "{:?}", error.place);
}

#[test]
fn texts_are_cut_out_where_their_statements_stand() {
    let line = "SELECT 'd\u{e9}j\u{e0}' , \"\u{1f600}\" , 12 ; ".repeat(20);
    let text = format!("{line}\n\n{line}\n SELECT x");
    let cut =
        Script::read(&text).expect("it can be read").map(|one| one.expect("as well").text.clone());
    let expected: Vec<_> = text.split(';').map(str::trim).collect();
    assert_eq!(cut.collect::<Vec<_>>(), expected);
}
