//! LOOP, WHILE, EXIT, CONTINUE and labels, compiled and run on the model store.

use crate::database::Database;
use crate::database::session::Session;

const TABLE: &str = "CREATE TABLE t (id integer PRIMARY KEY, n integer NOT NULL);";

/// What the body returns, which has an integer `p`, here 3, and variables `i`, `s` and `r`.
fn returned(body: &str) -> String {
    let mut session = Session::with(TABLE);
    session.rows("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40)");
    session.rows(&format!(
        "CREATE FUNCTION f(p integer, ids integer[]) RETURNS text LANGUAGE plpgsql AS $$
         DECLARE i integer := 0; s text := ''; r RECORD; x integer;
         BEGIN {body} RETURN s; END $$"
    ));
    session.rows("SELECT f(3, '{3,1,4,2}')")
}

fn check(cases: &[(&str, &str)]) {
    for (body, expected) in cases {
        assert_eq!(returned(body), *expected, "{body}");
    }
}

/// The message of what is wrong with a body.
fn message(body: &str) -> String {
    let text = format!(
        "CREATE FUNCTION f(p integer, ids integer[]) RETURNS integer LANGUAGE plpgsql AS $$
         DECLARE i integer := 0; BEGIN {body} RETURN i; END $$"
    );
    let error = Database::with(TABLE).error(&text);
    format!("{}: {}", error.code(), error.message)
}

#[test]
fn loops_go_on_until_they_are_left() {
    check(&[
        ("LOOP i := i + 1; s := s || i; EXIT WHEN i >= p; END LOOP;", "123"),
        ("LOOP i := i + 1; IF i > p THEN EXIT; END IF; s := s || i; END LOOP;", "123"),
        ("WHILE i < p LOOP i := i + 1; s := s || i; END LOOP;", "123"),
        ("WHILE i > p LOOP s := 'never'; END LOOP;", ""),
        // NULL is not true
        ("WHILE NULL::boolean LOOP s := 'never'; END LOOP;", ""),
        ("LOOP i := i + 1; EXIT WHEN NULL::boolean; s := s || i; EXIT WHEN i = 2; END LOOP;", "12"),
        ("WHILE i < 6 LOOP i := i + 1; CONTINUE WHEN i % 2 = 0; s := s || i; END LOOP;", "135"),
        ("LOOP i := i + 1; IF i < p THEN CONTINUE; END IF; RETURN 'r' || i; END LOOP;", "r3"),
        ("LOOP BEGIN i := i + 1; EXIT WHEN i = p; s := s || i; END; END LOOP;", "12"),
        // a block's variables begin anew at each turn
        (
            "WHILE i < 2 LOOP DECLARE k integer; BEGIN k := coalesce(k, 0) + 1; s := s || k; \
             END; i := i + 1; END LOOP;",
            "11",
        ),
    ]);
}

#[test]
fn every_loop_is_left_and_continued() {
    check(&[
        ("FOR k IN 1..9 LOOP EXIT WHEN k > p; s := s || k; END LOOP;", "123"),
        ("FOR k IN REVERSE 9..1 LOOP CONTINUE WHEN k > p; s := s || k; END LOOP;", "321"),
        ("FOREACH x IN ARRAY ids LOOP EXIT WHEN x = 4; s := s || x; END LOOP;", "31"),
        ("FOREACH x IN ARRAY ids LOOP CONTINUE WHEN x = 1; s := s || x; END LOOP;", "342"),
        (
            "FOR r IN SELECT id, n FROM t ORDER BY id LOOP CONTINUE WHEN r.n = 20; \
             EXIT WHEN r.id = 4; s := s || r.id; END LOOP;",
            "13",
        ),
        ("FOR r IN SELECT 7 AS a LOOP EXIT WHEN p = 3; s := 'never'; END LOOP; s := s || 1;", "1"),
        (
            "FOR r IN SELECT a.id AS a, b.id AS b FROM t a JOIN t b ON b.id = a.id + 1 ORDER BY 1 \
             LOOP EXIT WHEN r.b = 4; s := s || r.a || r.b || ' '; END LOOP;",
            "12 23 ",
        ),
        // the rows of a loop that was left do not come back
        (
            "WHILE i < 2 LOOP i := i + 1; FOR r IN SELECT id FROM t ORDER BY id LOOP \
             s := s || r.id; EXIT WHEN r.id = 2; END LOOP; END LOOP;",
            "1212",
        ),
        (
            "WHILE i < (SELECT max(id) FROM t) LOOP i := i + 1; \
             EXIT WHEN EXISTS (SELECT 1 FROM t WHERE id = i AND n = 30); s := s || i; END LOOP;",
            "12",
        ),
    ]);
}

#[test]
fn labels_tell_which_loop_is_meant() {
    check(&[
        (
            "<<a>> FOR k IN 1..3 LOOP <<b>> FOR m IN 1..3 LOOP CONTINUE a WHEN m > k; \
             EXIT a WHEN k = 3; s := s || k || m || ' '; END LOOP b; END LOOP a;",
            "11 21 22 ",
        ),
        (
            "<<a>> LOOP i := i + 1; WHILE true LOOP i := i + 1; EXIT a WHEN i > 5; \
             s := s || i; END LOOP; END LOOP a;",
            "2345",
        ),
        ("<<a>> BEGIN s := 'x'; EXIT a; s := 'never'; END a; s := s || 'y';", "xy"),
        ("<<a>> BEGIN LOOP EXIT a WHEN i = 2; i := i + 1; END LOOP; END; s := s || i;", "2"),
        // the innermost of two
        ("<<a>> LOOP <<a>> LOOP EXIT a; END LOOP; s := s || 'o'; EXIT; END LOOP;", "o"),
        // a label qualifies the variables of its block or loop
        (
            "<<a>> FOR k IN 1..2 LOOP FOR k IN 5..5 LOOP s := s || a.k || k || ' '; END LOOP; \
             END LOOP;",
            "15 25 ",
        ),
        ("<<a>> DECLARE i integer := 7; BEGIN s := s || a.i || f.p; END;", "73"),
        // an unquoted label is lower case, a quoted one as it is
        ("<<A>> LOOP EXIT a; END LOOP A; <<\"B b\">> LOOP EXIT \"B b\"; END LOOP;", ""),
        // variables may be called like statements
        ("DECLARE exit integer; BEGIN exit := 5; s := s || exit; END;", "5"),
    ]);
}

#[test]
fn found_tells_of_loops_that_were_left() {
    check(&[
        ("FOR k IN 1..3 LOOP PERFORM 1 FROM t WHERE id = 9; EXIT; END LOOP; s := FOUND;", "true"),
        (
            "<<a>> LOOP FOR k IN 1..3 LOOP PERFORM 1 FROM t WHERE id = 9; EXIT a; END LOOP; \
             END LOOP; s := FOUND;",
            "true",
        ),
        (
            "<<a>> WHILE i < 1 LOOP i := i + 1; FOR k IN 1..3 LOOP \
             PERFORM 1 FROM t WHERE id = 9; CONTINUE a; END LOOP; END LOOP; s := FOUND;",
            "true",
        ),
        ("LOOP PERFORM 1 FROM t WHERE id = 9; EXIT; END LOOP; s := FOUND;", "false"),
        (
            "FOR k IN 1..2 LOOP CONTINUE WHEN k = 2; PERFORM 1 FROM t WHERE id = 9; END LOOP; \
             s := FOUND;",
            "true",
        ),
    ]);
}

#[test]
fn what_is_wrong_is_told_as_postgresql_does() {
    let cases = [
        ("EXIT;", "EXIT cannot be used outside a loop, unless it has a label"),
        ("<<b>> BEGIN EXIT; END;", "EXIT cannot be used outside a loop, unless it has a label"),
        ("CONTINUE WHEN true;", "CONTINUE cannot be used outside a loop"),
        (
            "LOOP EXIT there; END LOOP;",
            "there is no label \"there\" attached to any block or loop enclosing this statement",
        ),
        (
            "<<here>> LOOP EXIT; END LOOP; LOOP CONTINUE here; END LOOP;",
            "there is no label \"here\" attached to any block or loop enclosing this statement",
        ),
        ("<<b>> BEGIN CONTINUE b; END;", "block label \"b\" cannot be used in CONTINUE"),
        ("<<a>> LOOP EXIT; END LOOP b;", "end label \"b\" differs from block's label \"a\""),
        ("LOOP EXIT; END LOOP b;", "end label \"b\" specified for unlabeled block"),
        ("BEGIN NULL; END b;", "end label \"b\" specified for unlabeled block"),
    ];
    for (body, expected) in cases {
        assert_eq!(message(body), format!("42601: {expected}"), "{body}");
    }
}

#[test]
fn loops_that_nothing_ends_end_at_the_step_budget() {
    for body in [
        "LOOP NULL; END LOOP;",
        "WHILE true LOOP CONTINUE; END LOOP;",
        "<<a>> LOOP LOOP CONTINUE a; END LOOP; END LOOP;",
        "LOOP UPDATE t SET n = n + 1 WHERE id = 1; END LOOP;",
    ] {
        let mut session = Session::with(TABLE);
        session.rows("INSERT INTO t VALUES (1, 0)");
        let text = format!("CREATE PROCEDURE f() LANGUAGE plpgsql AS $$ BEGIN {body} END $$");
        session.rows(&text);
        let ended = session.error("CALL f()");
        assert_eq!(ended.code(), "54000", "{body}");
        assert_eq!(ended.message, "step budget exceeded", "{body}");
    }
}
