//! Registered functions in queries: in expressions, in FROM, with effects.

use hotrow::{Database, Error, Session, Value};

use crate::every_engine::two_threads;

const SETUP: &str = "
CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
CREATE TABLE seen (id serial PRIMARY KEY, what int NOT NULL);
CREATE FUNCTION twice(x int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN x * 2; END $$;
CREATE FUNCTION upto(most int) RETURNS TABLE (i int, m int) LANGUAGE plpgsql AS $$
BEGIN RETURN QUERY SELECT id, n FROM t WHERE id <= most ORDER BY id; END $$;
CREATE FUNCTION see(which int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE made int;
BEGIN
    IF which = 99 THEN RAISE EXCEPTION 'not 99'; END IF;
    INSERT INTO seen (what) VALUES (which) RETURNING id INTO made;
    RETURN made;
END $$;
CREATE PROCEDURE nothing() LANGUAGE plpgsql AS $$ BEGIN NULL; END $$;
";

fn said(session: &Session, statement: &str) -> String {
    let text = |value: &Value| if value.is_null() { "-".to_owned() } else { value.to_string() };
    match session.execute(statement) {
        Ok(results) => {
            let result = results.last().expect("there is a statement");
            let row = |row: &[Value]| row.iter().map(text).collect::<Vec<_>>().join(",");
            let rows: Vec<_> = result.rows.iter().map(row).collect();
            format!("{}: {}", result.rows.columns().join(","), rows.join(" "))
        }
        Err(error) => error.sqlstate().unwrap_or("?").to_owned(),
    }
}

fn database(interactive: bool) -> Result<Database, Error> {
    let entry = hotrow::engines().iter().find(|entry| entry.locks_as_it_goes == interactive);
    let entry = entry.expect("there are both kinds of engines");
    let db = Database::open_in_memory(two_threads(entry))?;
    db.session().execute(SETUP)?;
    Ok(db)
}

#[test]
fn functions_stand_where_values_and_relations_do() -> Result<(), Error> {
    for interactive in [true, false] {
        let db = database(interactive)?;
        let session = db.session();
        for (statement, expected) in [
            // Alone it is a planned call, under whatever name.
            ("SELECT twice(4)", "twice: 8"),
            (
                "SELECT proname, array_to_string(proargnames, ' ') AS names, \
                 array_to_string(proargmodes, '') AS modes, \
                 array_to_string(proallargtypes, ' ') AS types FROM pg_proc \
                 WHERE proname IN ('twice', 'upto', 'nothing') ORDER BY 1",
                "proname,names,modes,types: nothing,,-,- twice,x,-,- upto,most i m,itt,23 23 23",
            ),
            ("SELECT twice(4) AS x", "x: 8"),
            // A column has the name that was written, and TRIM that of the function it is.
            ("SELECT substr('abc', 2), substring('abc', 2)", "substr,substring: bc,bc"),
            (
                "SELECT trim(' a '), trim(LEADING 'x' FROM 'xa'), trim(TRAILING 'x' FROM 'ax')",
                "btrim,ltrim,rtrim: a,a,a",
            ),
            ("SELECT to_char(n, '99th') FROM t WHERE id = 1", "to_char:  10th"),
            ("SELECT * FROM twice(4) AS x", "x: 8"),
            ("SELECT * FROM upto(2)", "i,m: 1,10 2,20"),
            ("SELECT twice(1) + twice(2) AS x, twice(3)", "x,twice: 6,6"),
            ("SELECT twice(n) FROM t WHERE twice(id) > 2 ORDER BY 1", "twice: 40 60"),
            ("SELECT sum(twice(n)) FROM t", "sum: 120"),
            ("SELECT m FROM upto(3) AS u WHERE u.i <> 2 ORDER BY m DESC", "m: 30 10"),
            ("SELECT a FROM upto(2) AS u (a, b) ORDER BY b", "a: 1 2"),
            (
                "SELECT t.id, u.m FROM t JOIN upto(2) AS u ON u.i = t.id ORDER BY 1",
                "id,m: 1,10 2,20",
            ),
            ("SELECT t.id, u.i FROM t, upto(t.id) AS u WHERE t.id < 3", "id,i: 1,1 2,1 2,2"),
            ("SELECT count(*) FROM upto(3)", "count: 3"),
            ("SELECT (SELECT max(i) FROM upto(2)) AS x", "x: 2"),
            ("SELECT twice(NULL) IS NULL AS x", "x: t"),
            ("SELECT twice(1, 2) + 1", "42883"),
            ("SELECT twice('a') + 1", "22P02"),
            ("SELECT upto(1) + 1", "42883"),
            ("SELECT * FROM nothing() AS n, t", "0A000"),
            ("SELECT thrice(1)", "42883"),
        ] {
            assert_eq!(said(&session, statement), expected, "{statement}");
        }
    }
    Ok(())
}

#[test]
fn functions_with_effects_are_called_for_each_row_and_undone_with_the_query() -> Result<(), Error> {
    for locks in [true, false] {
        let db = database(locks)?;
        let session = db.session();
        assert_eq!(said(&session, "SELECT see(id) FROM t WHERE id < 3"), "see: 1 2");
        assert_eq!(said(&session, "SELECT count(*) FROM seen"), "count: 2");
        let failing = "SELECT see(x) FROM (VALUES (7), (99)) AS v (x)";
        assert_eq!(said(&session, failing), "P0001");
        assert_eq!(said(&session, "SELECT count(*) FROM seen"), "count: 2");
        session.execute("BEGIN; SAVEPOINT a")?;
        assert_eq!(said(&session, failing), "P0001");
        session.execute("ROLLBACK TO a; SELECT see(x) FROM (VALUES (8), (9)) AS v (x); COMMIT")?;
        assert_eq!(said(&session, "SELECT what FROM seen WHERE what > 5 ORDER BY 1"), "what: 8 9");
        session.execute("BEGIN READ ONLY")?;
        assert_eq!(said(&session, "SELECT see(1) + 1"), "25006");
        session.execute("ROLLBACK")?;
    }
    Ok(())
}
