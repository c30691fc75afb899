//! Scripts of many statements, whose trees are not all there at once.

use hotrow_sql::{Offsets, Script, TREES_MAX, parse_script, tokenize};
use hotrow_transaction::program::Place;

#[test]
fn statements_of_a_long_script_are_the_same_as_of_a_short_one() {
    let several = "SELECT 'a;\u{e9}' AS \"n\u{e9}\", 1; CREATE FUNCTION f() RETURNS int AS $$
        BEGIN RETURN 1; END $$ LANGUAGE plpgsql;; PREPARE p AS SELECT 2; -- none;
        INSERT INTO t OVERRIDING SYSTEM VALUE VALUES (1);";
    let long = several.repeat(TREES_MAX);
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
    let text = format!("{}SELECT (1", "SELECT 1;".repeat(2 * TREES_MAX));
    let error = Script::read(&text).expect_err("it cannot be read");
    assert_eq!((error.code(), error.place.line), ("42601", 1));
    assert!(error.place.column > 1_000, "{:?}", error.place);
}

#[test]
fn the_offsets_of_all_tokens_are_where_they_stand() {
    let line = "SELECT 'd\u{e9}j\u{e0}' , \"\u{1f600}\" , 12 ; ".repeat(20);
    let text = format!("{line}\n\n{line}\n x");
    for origin in [Place { line: 1, column: 1 }, Place { line: 7, column: 30 }] {
        let offsets = Offsets::new(&text, origin);
        for token in tokenize(&text, origin).expect("it can be read") {
            let part = &text[offsets.of(token.span.start)..offsets.of(token.span.end)];
            assert_eq!(part, token.token.to_string());
        }
    }
}
