//! What a session can ask, a procedure can: the same rows and the same errors.

use std::fmt::Write as _;

use crate::changes;
use crate::every_engine::open;
use crate::queries::{EXPECTED, SETUP, is_error, rows};
use hotrow::{Config, Error, Session};

/// What is otherwise in a procedure, by what the statement begins with, and why.
const OTHERWISE: &[(&str, &str)] =
    &[("SELECT a.attname FROM pg_catalog.", "the system catalog is no part of a call's rows")];

/// A statement's text, and what its rows or its error are.
fn expected() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let blocks = |file: &'static str| file.trim_end_matches('\n').split("\n== ").skip(1);
    EXPECTED.into_iter().flat_map(blocks).map(|block| {
        let mut lines = block.split('\n');
        (lines.next().unwrap_or_default(), lines.collect())
    })
}

/// Whether a statement changes rows and gives none.
fn is_change(statement: &str) -> bool {
    let changes = ["INSERT", "UPDATE", "DELETE"].iter().any(|verb| statement.starts_with(verb));
    changes && !statement.contains(" RETURNING ")
}

/// A procedure with a statement in it, or a function that returns what a query gives.
fn routine(session: &Session, name: &str, statement: &str) -> String {
    if is_change(statement) {
        return format!(
            "CREATE PROCEDURE {name}() AS $f$ BEGIN {statement}; END $f$ LANGUAGE plpgsql"
        );
    }
    let mut table = String::new();
    match session.prepare(statement, &[]) {
        Err(_) => table.push_str("r text"),
        Ok(prepared) => {
            for (at, (_, of)) in prepared.columns().enumerate() {
                let _ = write!(table, "{}r{at} {of}", if at == 0 { "" } else { ", " });
            }
        }
    }
    format!(
        "CREATE FUNCTION {name}() RETURNS TABLE ({table}) AS $f$ BEGIN \
         RETURN QUERY {statement}; END $f$ LANGUAGE plpgsql"
    )
}

/// Statements of sessions, and what they are in procedures.
#[derive(Default)]
struct Comparison {
    /// those that are otherwise, and what they give
    differ: Vec<(&'static str, String)>,
    compared: usize,
    /// of those compared, how many fail
    failed: usize,
}

fn compare(session: &Session) -> Result<Comparison, Error> {
    session.execute(SETUP)?;
    let Comparison { mut differ, mut compared, mut failed } = Comparison::default();
    for (at, (statement, expected)) in expected().enumerate() {
        if statement.starts_with("CREATE") {
            continue;
        }
        compared += 1;
        failed += usize::from(matches!(expected.as_slice(), [error] if is_error(error)));
        let name = format!("f{at}");
        let mut found = match session.execute(&routine(session, &name, statement)) {
            Ok(_) if is_change(statement) => rows(session, &format!("CALL {name}()")),
            Ok(_) => rows(session, &format!("SELECT * FROM {name}()")),
            Err(Error::Sql(error)) => vec![format!("{}: {}", error.code(), error.message)],
            Err(error) => return Err(error),
        };
        found.sort_unstable();
        let is_same = match (expected.as_slice(), found.as_slice()) {
            ([expected], [found]) if is_error(expected) => expected[..5] == found[..5],
            (expected, found) => expected.iter().eq(found),
        };
        if !is_same {
            differ.push((statement, format!("gives {found:?}\n  and not {expected:?}")));
        }
    }
    Ok(Comparison { differ, compared, failed })
}

#[test]
fn queries_are_the_same_in_procedures() {
    for entry in hotrow::engines() {
        let config = Config::default().engine(entry.name).memory_bytes(256 << 20);
        let compared = compare(&open(config).session()).expect("the script is right");
        let Comparison { differ, compared, failed } = compared;
        let mut listed = OTHERWISE.iter().map(|(begins, _)| *begins).collect::<Vec<_>>();
        let mut unlisted = String::new();
        for (statement, what) in &differ {
            match listed.iter().position(|begins| statement.starts_with(begins)) {
                Some(known) => drop(listed.swap_remove(known)),
                None => drop(writeln!(unlisted, "{statement}\n  {what}")),
            }
        }
        assert!(unlisted.is_empty(), "{}: other in procedures:\n{unlisted}", entry.name);
        assert!(listed.is_empty(), "{}: the same in procedures: {listed:?}", entry.name);
        assert!(differ.len() < 10, "{differ:?}");
        assert!(compared >= 400 && failed >= 200, "{compared} statements, {failed} of them fail");
    }
}

/// Changes whose rows a query gives, more of them.
const CHANGES: &[&str] = &[
    "INSERT INTO dept (id, name) VALUES (20, 'v'), (21, (SELECT max(name) FROM dept))",
    "INSERT INTO dept SELECT max(id) + 1, 'next' FROM dept",
    "INSERT INTO dept (name, id) SELECT 'w', 30 WHERE EXISTS (SELECT 1 FROM emp)",
    "INSERT INTO dept SELECT x.n, x.t FROM (VALUES (31, 'a'), (32, 'b')) AS x (n, t)",
    "INSERT INTO dept WITH y AS (SELECT 33 AS n) SELECT n, 'cte' FROM y",
    "INSERT INTO two SELECT id + 40, 'c' || id, id FROM dept ON CONFLICT (code) DO NOTHING",
    "INSERT INTO two SELECT id + 80, 'c' || id, 7 FROM dept ON CONFLICT (code) DO UPDATE \
     SET n = two.n + excluded.n",
    "INSERT INTO two SELECT 1, 'q', 1",
    "INSERT INTO arch (id) SELECT id FROM emp WHERE id > 18 UNION SELECT id + 900 FROM dept",
    "UPDATE dept SET name = name || '!' WHERE id IN (SELECT dept_id FROM emp)",
    "UPDATE dept d SET name = (SELECT count(*) FROM emp e WHERE e.dept_id = d.id)::text \
     WHERE d.id < 4",
    "UPDATE emp SET salary = x.s FROM (SELECT dept_id, sum(salary) AS s FROM emp GROUP BY dept_id) \
     x WHERE x.dept_id = emp.dept_id AND emp.id % 2 = 0",
    "UPDATE emp SET dept_id = d.id FROM dept d WHERE d.name = 'nothing'",
    "UPDATE emp SET dept_id = 999 FROM dept d WHERE d.id = emp.dept_id",
    "UPDATE two SET n = n / (SELECT count(*) - 3 FROM dept WHERE id < 4)",
    "UPDATE two SET id = id + 1000 WHERE n > (SELECT min(n) FROM two)",
    "UPDATE two a SET n = a.n + b.n FROM two b WHERE b.id = a.id",
    "DELETE FROM two WHERE n = (SELECT max(n) FROM two)",
    "DELETE FROM two a USING two b WHERE b.n < a.n AND b.id <> a.id AND b.code < 'c2'",
    "DELETE FROM dept WHERE NOT EXISTS (SELECT 1 FROM emp WHERE emp.dept_id = dept.id) AND id > 25",
    "DELETE FROM dept WHERE id IN (SELECT dept_id FROM emp)",
    "DELETE FROM emp WHERE (SELECT count(*) FROM emp) > 1000",
    "DELETE FROM arch USING nothing",
    "UPDATE arch SET paid = nope FROM dept",
    "INSERT INTO arch (id, at) SELECT 1, 'no date' FROM dept",
];

/// All rows of all tables.
fn contents(session: &Session) -> Vec<Vec<String>> {
    let tables = ["dept", "emp", "arch", "two"];
    tables.map(|table| rows(session, &format!("SELECT * FROM {table} ORDER BY id"))).to_vec()
}

#[test]
fn changes_are_the_same_in_procedures() {
    for entry in hotrow::engines() {
        let opened = || open(Config::default().engine(entry.name).memory_bytes(256 << 20));
        let (one, other) = (opened(), opened());
        let (direct, inside) = (one.session(), other.session());
        for session in [&direct, &inside] {
            session.execute(changes::SETUP).expect("the script is right");
            // In a procedure, a DELETE of parents looks for children by an index.
            session.execute("CREATE INDEX ON emp (dept_id)").expect("it is new");
        }
        let steps = changes::STEPS.iter().map(|(statement, _)| *statement);
        let steps = steps.filter(|step| !step.starts_with("SELECT") && !step.contains("RETURNING"));
        let mut compared = 0;
        for (at, step) in steps.chain(CHANGES.iter().copied()).enumerate() {
            let create = format!(
                "CREATE FUNCTION c{at}() RETURNS bigint AS $f$ DECLARE count_of bigint; BEGIN \
                 {step}; GET DIAGNOSTICS count_of = ROW_COUNT; RETURN count_of; END $f$ \
                 LANGUAGE plpgsql"
            );
            let told = match inside.execute(&create) {
                Ok(_) => changes::said(&inside, &format!("SELECT c{at}()")),
                Err(error) => error.sqlstate().unwrap_or("?").to_owned(),
            };
            let count = |tag: &str| tag.rsplit(' ').next().unwrap_or_default().to_owned();
            let expected = count(&changes::said(&direct, step));
            assert_eq!(count(&told), expected, "{}: {step}: {told}", entry.name);
            assert_eq!(contents(&inside), contents(&direct), "{}: {step}", entry.name);
            compared += 1;
        }
        assert!(compared > 35, "{compared} changes");
    }
}

#[test]
fn a_procedure_has_the_views_that_it_reads_as_they_are_now() {
    let db = open(Config::default().threads(1));
    let session = db.session();
    let script = "CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 10), (2, 20);
        CREATE VIEW inner_view AS SELECT a, b FROM t;
        CREATE VIEW v AS SELECT a, b FROM inner_view;
        CREATE FUNCTION total() RETURNS bigint AS $$ DECLARE s bigint; BEGIN
            SELECT sum(b) INTO s FROM v; RETURN s; END $$ LANGUAGE plpgsql";
    session.execute(script).expect("the script is right");
    assert_eq!(rows(&session, "SELECT total()"), ["30"]);
    session
        .execute("CREATE OR REPLACE VIEW inner_view AS SELECT a, b FROM t WHERE a > 1")
        .expect("its columns are the same");
    assert_eq!(rows(&session, "SELECT total()"), ["20"]);
    session.execute("DROP VIEW v").expect("a function that reads it stays");
    let error = rows(&session, "SELECT total()").remove(0);
    assert!(error.starts_with("42P01"), "{error}");
    session.execute("CREATE VIEW v AS SELECT a, b FROM inner_view").expect("it is gone");
    assert_eq!(rows(&session, "SELECT total()"), ["20"]);
}

/// Joins, changes by queries and subqueries beside calls that change the same rows, on every
/// engine: what is counted agrees at every moment.
#[test]
fn calls_with_queries_are_serializable() {
    const SCRIPT: &str = "
        CREATE TABLE box (id int PRIMARY KEY, kind int NOT NULL, n int NOT NULL);
        CREATE TABLE kind (id int PRIMARY KEY, boxes int NOT NULL, sum int NOT NULL);
        INSERT INTO kind VALUES (0, 0, 0), (1, 0, 0), (2, 0, 0);
        DO $$ BEGIN INSERT INTO box SELECT n, n % 3, n FROM generate_series(1, 30) n; END $$;
        DO $$ BEGIN UPDATE kind SET boxes = (SELECT count(*) FROM box WHERE box.kind = kind.id),
            sum = (SELECT sum(n) FROM box WHERE box.kind = kind.id); END $$;
        CREATE PROCEDURE move_box(p_box int, p_to int) AS $$ BEGIN
            UPDATE kind k SET boxes = k.boxes - 1, sum = k.sum - b.n FROM box b
                WHERE b.id = p_box AND k.id = b.kind;
            UPDATE box SET kind = p_to WHERE id = p_box;
            UPDATE kind SET boxes = boxes + 1, sum = sum + (SELECT n FROM box WHERE id = p_box)
                WHERE id = p_to;
        END $$ LANGUAGE plpgsql;
        CREATE FUNCTION wrong() RETURNS TABLE (id int) AS $$ BEGIN
            RETURN QUERY SELECT k.id FROM kind k LEFT JOIN box b ON b.kind = k.id
                GROUP BY k.id, k.boxes, k.sum
                HAVING k.boxes <> count(b.id) OR k.sum <> coalesce(sum(b.n), 0);
        END $$ LANGUAGE plpgsql;
        CREATE PROCEDURE grow(p_kind int) AS $$ DECLARE r record; BEGIN
            FOR r IN SELECT b.id FROM kind k JOIN box b ON b.kind = k.id WHERE k.id = p_kind LOOP
                UPDATE box SET n = n + 1 WHERE id = r.id;
            END LOOP;
            UPDATE kind SET sum = (SELECT coalesce(sum(n), 0) FROM box WHERE box.kind = p_kind)
                WHERE id = p_kind;
        END $$ LANGUAGE plpgsql;";
    crate::every_engine::every_engine(|config| {
        let db = open(config);
        db.session().execute(SCRIPT)?;
        std::thread::scope(|scope| {
            for client in 0..4_i32 {
                let db = &db;
                scope.spawn(move || {
                    let session = db.session();
                    for round in 0..25_i32 {
                        let (a, b) = ((client * 7 + round * 11) % 30 + 1, (client + round) % 3);
                        let call = match round % 4 {
                            3 => format!("CALL grow({b})"),
                            _ => format!("CALL move_box({a}, {b})"),
                        };
                        session.execute(&call).expect("calls do not fail");
                        let wrong = rows(&session, "SELECT * FROM wrong()");
                        assert!(wrong.is_empty(), "{wrong:?} after {call}");
                    }
                });
            }
        });
        Ok(())
    });
}

#[test]
fn operators_are_bounded_as_loops_are() {
    let db = open(Config::default().threads(1).step_budget(200_000));
    let session = db.session();
    session
        .execute(
            "CREATE FUNCTION pairs(n int) RETURNS bigint AS $$ DECLARE c bigint; BEGIN
                 SELECT count(*) INTO c FROM generate_series(1, n) a, generate_series(1, n) b
                     WHERE a.a <> b.b;
                 RETURN c; END $$ LANGUAGE plpgsql",
        )
        .expect("it compiles");
    assert_eq!(rows(&session, "SELECT pairs(100)"), ["9900"]);
    let told = rows(&session, "SELECT pairs(3000)").remove(0);
    assert_eq!(told, "54000: step budget exceeded");
    assert_eq!(rows(&session, "SELECT pairs(10)"), ["90"]);
}

/// A trial read forgives an error in a table's filter: it has no rows then, and not those of a
/// read before it, whose texts are gone.
#[test]
fn a_read_that_fails_on_trial_has_no_rows() {
    for entry in hotrow::engines() {
        let config = Config::default().engine(entry.name).memory_bytes(256 << 20);
        let db = open(config);
        let session = db.session();
        session.execute(SETUP).expect("the script is right");
        let script = "CREATE FUNCTION g() RETURNS TABLE (a int, c text) AS $$ BEGIN
            RETURN QUERY SELECT u.a, u.c || v.c FROM t1 u JOIN t1 v ON v.a = u.b + 1
                JOIN t1 w ON w.a = v.a
                WHERE (SELECT max(x.c) FROM t1 x WHERE x.a = u.a) IS NOT NULL;
            END $$ LANGUAGE plpgsql;
            CREATE FUNCTION f() RETURNS TABLE (a int, c text) AS $$ BEGIN
            RETURN QUERY DELETE FROM t1 USING (
                SELECT u2.x AS at, max((SELECT max(u4.x + 3) FROM t3 u4)) AS most
                FROM t3 u1 LEFT JOIN t3 u2 ON u2.x = u2.a LEFT JOIN t2 u3 ON u3.a = u3.b GROUP BY 1
            ) g WHERE g.at = t1.a AND t1.b < (t1.c)::numeric RETURNING t1.a, t1.c;
            END $$ LANGUAGE plpgsql";
        session.execute(script).expect("the script is right");
        session.execute("BEGIN; SELECT * FROM g(); ROLLBACK; BEGIN").expect("they are right");
        let found = rows(&session, "SELECT * FROM f()").remove(0);
        assert!(found.starts_with("22P02"), "{}: {found}", entry.name);
    }
}
