//! What is refused: code, place and what to write instead.

use crate::database::Database;

const TABLES: &str = "
CREATE TABLE t (a integer PRIMARY KEY, b text, c bigint);
CREATE TABLE u (a integer, b integer, PRIMARY KEY (a, b));
CREATE TABLE child (id integer PRIMARY KEY, t_a integer REFERENCES t);
";

/// The statement stands at line 2, column 1 of a body.
fn function(statement: &str) -> String {
    format!(
        "CREATE FUNCTION f(n integer, xs integer[]) RETURNS integer LANGUAGE plpgsql AS \
         $$ DECLARE v integer; r RECORD; BEGIN\n{statement}\nRETURN 1; END $$"
    )
}

fn refused(statement: &str) -> hotrow_transaction::outcome::SqlError {
    Database::with(TABLES).error(&function(statement))
}

fn compiles(statement: &str) {
    Database::with(TABLES).run(&function(statement));
}

#[test]
fn statements_of_procedures() {
    // statement, code, column, a word of the hint
    let cases: &[(&str, &str, u32, &str)] = &[
        ("<<here>> NULL;", "42601", 10, ""),
        ("EXIT;", "42601", 1, ""),
        ("CONTINUE;", "42601", 1, ""),
        ("<<here>> LOOP EXIT there; END LOOP;", "42601", 20, ""),
        ("<<here>> LOOP EXIT; END LOOP there;", "42601", 30, ""),
        ("LOOP EXIT; END LOOP there;", "42601", 21, ""),
        ("<<here>> BEGIN CONTINUE here; END;", "42601", 25, ""),
        ("WHILE v LOOP NULL; END LOOP;", "42804", 7, ""),
        ("LOOP EXIT WHEN v; END LOOP;", "42804", 16, ""),
        ("EXECUTE 'SELEC 1';", "42601", 10, ""),
        ("EXECUTE 'SELECT $1';", "42P02", 17, ""),
        ("ROLLBACK TO a;", "42601", 10, "EXCEPTION"),
        ("BEGIN NULL; EXCEPTION NULL; END;", "42601", 23, ""),
        ("BEGIN NULL; EXCEPTION WHEN nosuch THEN NULL; END;", "42704", 28, "OTHERS"),
        ("BEGIN NULL; EXCEPTION WHEN SQLSTATE '1' THEN NULL; END;", "42601", 37, "five"),
        ("BEGIN NULL; EXCEPTION WHEN others THEN sqlerrm := 'x'; END;", "22005", 40, ""),
        ("v := length(SQLERRM);", "42703", 13, ""),
        ("RAISE;", "0Z002", 1, ""),
        ("GET STACKED DIAGNOSTICS v = MESSAGE_TEXT;", "0Z002", 1, ""),
        ("GET STACKED DIAGNOSTICS v = NOSUCH;", "0A000", 29, "MESSAGE_TEXT"),
        ("CALL g();", "42883", 6, "makes one, now or later"),
        ("OPEN c;", "42601", 6, "CURSOR FOR SELECT"),
        ("FETCH v INTO v;", "42804", 7, ""),
        ("MOVE FORWARD ALL FROM c;", "0A000", 14, "row by row"),
        ("v := currval('s');", "42P01", 6, ""),
        ("v := setseed(0.5);", "0A000", 6, "leave it out"),
        ("v := nextval('s');", "42P01", 6, ""),
        ("v := nosuch;", "42703", 6, ""),
        ("w := 1;", "42601", 1, "DECLARE"),
        ("v := true;", "42804", 6, ""),
        ("v := xs;", "42804", 6, ""),
        ("n[1] := 1;", "42804", 1, ""),
        ("SELECT a FROM t;", "42601", 1, "INTO"),
        ("SELECT b, count(*) INTO v, r FROM t;", "42803", 1, ""),
        ("SELECT nosuch INTO v FROM t;", "42703", 8, ""),
        ("SELECT a INTO v FROM nosuch;", "42P01", 22, ""),
        ("SELECT a INTO v, n FROM t;", "42601", 15, ""),
        ("UPDATE t SET nosuch = 2;", "42703", 14, ""),
        ("UPDATE t SET c = 'x';", "22P02", 18, ""),
        ("UPDATE t SET c = b;", "42804", 18, "cast"),
        ("INSERT INTO t VALUES (1, 'x', 2, 3);", "42601", 34, ""),
        (
            "INSERT INTO t VALUES (1) ON CONFLICT DO UPDATE SET b = 'x';",
            "42601",
            1,
            "ON CONFLICT (column_name)",
        ),
        ("FOR x IN SELECT a FROM t LOOP NULL; END LOOP;", "42601", 5, "RECORD"),
        ("FOR i IN n LOOP NULL; END LOOP;", "42601", 10, "1..n"),
        ("RETURN QUERY SELECT 1;", "42804", 1, ""),
        ("RETURN NEXT 1;", "42804", 1, ""),
        ("RAISE EXCEPTION '% %', 1;", "42601", 1, ""),
        ("RAISE EXCEPTION 'x' USING ERRCODE = 'nosuch';", "42704", 27, "P0001"),
        ("v := 1 +;", "42601", 9, ""),
        ("v = 5 v := 6;", "42601", 7, ""),
        ("IF v THEN NULL; END IF;", "42804", 4, ""),
        ("v := r.x;", "55000", 6, "before this"),
    ];
    let mut wrong = String::new();
    for (statement, code, column, hint) in cases {
        let problem = refused(statement);
        let given = problem.hint.as_deref().unwrap_or("");
        let advised = given.contains(hint) && (*code != "0A000" || !given.is_empty());
        let place = (problem.place.line, problem.place.column);
        if problem.code() != *code || place != (2, *column) || !advised {
            wrong.push_str(&format!("{statement}\n{problem}\n\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn queries_of_any_shape_are_compiled_in_procedures() {
    for statement in [
        "v := (SELECT max(a) FROM t);",
        "SELECT t.a INTO v FROM t, u;",
        "SELECT t.a INTO v FROM t JOIN u ON t.a = u.a;",
        "SELECT count(*) INTO v FROM t GROUP BY a;",
        "SELECT a INTO v FROM (SELECT 1 AS a) q;",
        "SELECT a INTO v FROM t UNION SELECT 1;",
        "SELECT row_number() OVER () INTO v FROM t;",
        "INSERT INTO t SELECT * FROM t;",
        "IF EXISTS (SELECT 1 FROM u WHERE u.a = n) OR n > (SELECT max(a) FROM t) THEN v := 1; \
         END IF;",
        "WITH x AS (SELECT max(a) AS m FROM t) SELECT m INTO v FROM x;",
        "FOR r IN SELECT t.a, u.b FROM t JOIN u ON t.a = u.a LOOP v := r.a; END LOOP;",
        "PERFORM 1 FROM t JOIN u ON t.a = u.a LIMIT 1;",
        "UPDATE t SET b = 'x' FROM u WHERE u.a = t.a;",
        "UPDATE t SET a = 2 WHERE a = 1;",
        "DELETE FROM t WHERE a = n;",
        "SELECT a, b INTO v FROM t;",
        "EXECUTE 'SELECT ' || n INTO r;",
    ] {
        compiles(statement);
    }
}

#[test]
fn ambiguous_names() {
    let mut database = Database::with(TABLES);
    let problem = database.error(
        "CREATE PROCEDURE p(a integer) LANGUAGE plpgsql AS $$ BEGIN
         DELETE FROM u WHERE a = 1; END $$",
    );
    assert_eq!(problem.code(), "42702");
    assert_eq!((problem.place.line, problem.place.column), (2, 30));
    database.run(
        "CREATE PROCEDURE p(a integer) LANGUAGE plpgsql AS $$ BEGIN
         DELETE FROM u WHERE u.a = p.a; END $$",
    );
}

#[test]
fn scripts_and_definitions() {
    let cases: &[(&str, &str, u32, u32)] = &[
        ("CREATE TABLE t (a integer);", "42P07", 1, 14),
        ("CREATE TABLE x (a nosuch);", "42704", 1, 17),
        ("CREATE TABLE x (a serial[]);", "0A000", 1, 17),
        ("CREATE TABLE x (a integer, a text);", "42701", 1, 28),
        ("CREATE TABLE x (a numeric(1050,2));", "22023", 1, 17),
        ("CREATE TABLE x (a integer REFERENCES nosuch);", "42P01", 1, 38),
        ("CREATE TABLE x (a integer REFERENCES u);", "42830", 1, 38),
        (
            "CREATE TABLE x (a integer REFERENCES t NOT DEFERRABLE INITIALLY DEFERRED);",
            "42601",
            1,
            17,
        ),
        ("CREATE TABLE x (a integer, EXCLUDE USING gist (a WITH <>));", "0A000", 1, 42),
        ("CREATE TABLE x (a integer, EXCLUDE (a WITH =) WHERE (a > 1));", "0A000", 1, 37),
        ("CREATE TABLE x (a integer PRIMARY KEY, PRIMARY KEY (a));", "42P16", 1, 53),
        ("CREATE TABLE x (a integer CHECK (b > 1));", "42703", 1, 34),
        ("CREATE TABLE x (a integer DEFAULT 'x');", "22P02", 1, 35),
        ("CREATE TABLE x (a integer) WITH (nosuch = 1);", "22023", 1, 14),
        ("CREATE TABLE x (a integer) WITH (routing = 'a');", "42P16", 1, 14),
        ("CREATE TABLE x (a integer PRIMARY KEY) WITH (routing = 'b');", "42703", 1, 14),
        ("CREATE TABLE x (a integer PRIMARY KEY, b text) WITH (routing = 'b');", "42P16", 1, 14),
        ("CREATE TABLE x (a integer PRIMARY KEY) WITH (routing = '');", "42703", 1, 14),
        ("CREATE INDEX i ON t (nosuch);", "42703", 1, 22),
        ("CREATE INDEX i ON t (lower(nosuch));", "42703", 1, 28),
        ("CREATE INDEX i ON t ((c + random()));", "42P17", 1, 23),
        ("CREATE INDEX i ON t (ARRAY[a]);", "0A000", 1, 28),
        ("CREATE UNIQUE INDEX i ON t (b) WHERE c;", "42804", 1, 38),
        ("CREATE UNIQUE INDEX i ON t (b) WHERE c > random();", "42P17", 1, 38),
        ("CREATE TABLE x (a text, UNIQUE (lower(a)));", "42601", 1, 33),
        ("CREATE TABLE x (a integer UNIQUE, b integer REFERENCES x);", "42704", 1, 56),
        ("CREATE TABLE x (a integer, UNIQUE (a DESC));", "0A000", 1, 36),
        ("CREATE INDEX i ON t USING bloom (b);", "0A000", 1, 19),
        ("DROP TABLE nosuch;", "42P01", 1, 12),
        ("DROP TABLE t;", "2BP01", 1, 12),
        ("DROP INDEX t_pkey;", "2BP01", 1, 12),
        ("SET x;", "42601", 1, 6),
        ("COPY t TO 'file';", "0A000", 1, 11),
        ("SELECT 1;\n\n  SELEC 2;", "42601", 3, 3),
        ("SELECT 'open", "42601", 1, 8),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE perl AS 'SELECT 1';", "0A000", 1, 42),
        ("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS ''", "42601", 1, 58),
        ("CREATE PROCEDURE f() STRICT LANGUAGE plpgsql AS ''", "42P13", 1, 22),
        (
            "CREATE FUNCTION f(VARIADIC int) RETURNS int LANGUAGE plpgsql AS 'BEGIN END'",
            "42P13",
            1,
            28,
        ),
        (
            "CREATE PROCEDURE f(n int DEFAULT 1, m int) LANGUAGE plpgsql AS 'BEGIN END'",
            "42P13",
            1,
            37,
        ),
        ("CREATE PROCEDURE f(n int DEFAULT 'x') LANGUAGE plpgsql AS 'BEGIN END'", "22P02", 1, 34),
        ("CREATE PROCEDURE f(n int = now()) LANGUAGE plpgsql AS 'BEGIN END'", "42804", 1, 28),
        ("CREATE PROCEDURE f(OUT n int = 1) LANGUAGE plpgsql AS 'BEGIN END'", "42P13", 1, 24),
        ("CREATE PROCEDURE f(n int, n int) LANGUAGE plpgsql AS 'BEGIN END'", "42P13", 1, 27),
        ("CALL f(ARRAY[now()])", "42883", 1, 6),
    ];
    let mut wrong = String::new();
    for (script, code, line, column) in cases {
        let problem = Database::with(TABLES).error(script);
        let place = (problem.place.line, problem.place.column);
        if problem.code() != *code || place != (*line, *column) {
            wrong.push_str(&format!("{script}\n{problem}\n\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn calls_are_typed() {
    let mut database = Database::with(
        "CREATE PROCEDURE p(a smallint, b bigint[], c date) LANGUAGE plpgsql AS $$ BEGIN END $$",
    );
    database.run("CALL p(1, ARRAY[1, 2], '2026-11-21')");
    database.run("CALL p(1, '{1,2}', NULL)");
    database.run("CALL p(c => NULL, a => -1, b => NULL)");
    database.run(
        "CREATE PROCEDURE d(a int, b int = 2 + 3, c text DEFAULT 'x', e int[] := '{1,2}')
         LANGUAGE plpgsql AS $$ BEGIN END $$",
    );
    database
        .run("CALL d(1); CALL d(1, 2, 'y'); CALL d(1, e => ARRAY[3]); CALL d(c => NULL, a => 1)");
    for script in ["CALL d()", "CALL d(b => 1)", "CALL d(1, 2, 'y', NULL, 5)"] {
        let problem = database.error(script);
        assert_eq!(problem.code(), "42883", "{script}");
        assert!(problem.message.contains("takes 1 to 4 arguments"), "{}", problem.message);
    }
    for (script, code) in [
        ("CALL p(1)", "42883"),
        ("CALL p(1, 2, NULL)", "42804"),
        ("CALL p('x', NULL, NULL)", "22P02"),
        ("CALL p(1, '{x}', NULL)", "22P02"),
        ("CALL p(1, NULL, d => NULL)", "42883"),
        ("CALL p(ARRAY[1], NULL, NULL)", "42804"),
    ] {
        assert_eq!(database.error(script).code(), code, "{script}");
    }
}
