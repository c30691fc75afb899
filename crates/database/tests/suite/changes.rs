//! INSERT, UPDATE and DELETE of rows that a query gives, and ON CONFLICT: what PostgreSQL does.

use crate::every_engine::{every_engine, open};
use hotrow::{Config, Database, Error, Session, Value};

pub const SETUP: &str = "
CREATE TABLE dept (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE emp (id int PRIMARY KEY, dept_id int REFERENCES dept (id),
    name varchar(20) NOT NULL, salary numeric(12,2));
CREATE TABLE arch (id bigint PRIMARY KEY, name text, paid numeric(14,4), at date,
    note text DEFAULT 'n');
CREATE TABLE two (id int PRIMARY KEY, code text UNIQUE, n int NOT NULL);
INSERT INTO two VALUES (1, 'a', 1), (2, 'b', 2);
";

/// What a statement says: its tag and rows, or its error's code.
pub fn said(session: &Session, statement: &str) -> String {
    let text = |value: &Value| if value.is_null() { String::new() } else { value.to_string() };
    match session.execute(statement) {
        Ok(results) => {
            let result = results.last().expect("there is a statement");
            let rows = result.rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>());
            let mut rows: Vec<_> = rows.map(|row| row.join("|")).collect();
            rows.sort_unstable();
            rows.insert(0, result.tag.clone());
            rows.join(" ")
        }
        Err(error) => error.sqlstate().unwrap_or("?").to_owned(),
    }
}

fn check(session: &Session, steps: &[(&str, &str)]) {
    for (statement, expected) in steps {
        assert_eq!(said(session, statement), *expected, "{statement}");
    }
}

/// Statements, and what they say.
pub const STEPS: &[(&str, &str)] = &[
    ("INSERT INTO dept SELECT g, 'd' || g FROM generate_series(1, 5) g", "INSERT 0 5"),
    (
        "INSERT INTO emp (id, dept_id, name, salary) \
         SELECT i, i % 5 + 1, 'e' || i, i * 10.5 FROM generate_series(1, 20) AS i",
        "INSERT 0 20",
    ),
    // A literal has the type of its column.
    (
        "INSERT INTO arch (id, name, paid, at) \
         SELECT e.id, e.name || '/' || d.name, e.salary, '2024-02-03' FROM emp e \
         JOIN dept d ON d.id = e.dept_id WHERE e.salary > 180 RETURNING id, at, note",
        "INSERT 0 3 18|2024-02-03|n 19|2024-02-03|n 20|2024-02-03|n",
    ),
    // A query does not meet the rows that it gives.
    ("INSERT INTO arch SELECT id + 1, name FROM arch WHERE id = 20", "INSERT 0 1"),
    (
        "UPDATE emp SET salary = salary + d.id, name = d.name FROM dept d \
         WHERE d.id = emp.dept_id AND d.id > 4",
        "UPDATE 4",
    ),
    ("SELECT sum(salary), max(name) FROM emp WHERE dept_id = 5", "SELECT 1 503.00|d5"),
    (
        "UPDATE emp e SET salary = \
         (SELECT avg(salary) FROM emp x WHERE x.dept_id = e.dept_id) \
         WHERE e.id IN (SELECT min(id) FROM emp GROUP BY dept_id) RETURNING e.id",
        "UPDATE 5 1 2 3 4 5",
    ),
    ("SELECT salary FROM emp WHERE id IN (1, 2, 5)", "SELECT 3 131.25 89.25 99.75"),
    // Several partners, one change.
    (
        "UPDATE dept SET name = 'x' FROM emp WHERE emp.dept_id = dept.id \
         AND dept.id = 1",
        "UPDATE 1",
    ),
    ("DELETE FROM emp USING dept d WHERE d.id = emp.dept_id AND d.id = 2", "DELETE 4"),
    ("DELETE FROM arch WHERE id NOT IN (SELECT id FROM emp)", "DELETE 1"),
    ("SELECT count(*) FROM arch", "SELECT 1 3"),
    // All or nothing.
    ("INSERT INTO emp SELECT id + 5, 1, 'dup', 1 FROM emp", "23505"),
    ("SELECT count(*) FROM emp", "SELECT 1 16"),
    ("INSERT INTO dept SELECT 9", "23502"),
    ("INSERT INTO dept SELECT 9, 'a', 'b'", "42601"),
    ("INSERT INTO dept (id, name) SELECT 9", "42601"),
    ("UPDATE emp SET nope = d.id FROM dept d", "42703"),
    ("DELETE FROM emp USING nothing", "42P01"),
];

/// A transaction after [`STEPS`].
const TRANSACTION: &[(&str, &str)] = &[
    ("BEGIN; UPDATE emp SET salary = 1 FROM dept d WHERE d.id = dept_id", "UPDATE 16"),
    ("SAVEPOINT s; INSERT INTO emp SELECT id + 15, 1, name, 7 FROM emp", "23505"),
    ("ROLLBACK TO s; SELECT sum(salary), count(*) FROM emp", "SELECT 1 16.00|16"),
    ("COMMIT", "COMMIT"),
    ("SELECT sum(salary) FROM emp", "SELECT 1 16.00"),
];

#[test]
fn rows_that_a_query_gives_are_inserted_updated_and_deleted() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(SETUP)?;
        check(&session, STEPS);
        check(&session, TRANSACTION);
        Ok(())
    });
}

#[test]
fn statements_of_queries_take_parameters() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(SETUP)?;
        let insert = "INSERT INTO two (id, code, n) \
                      SELECT g, concat($1::text, g), $2 FROM generate_series(3, $3) g \
                      ON CONFLICT (code) DO UPDATE SET n = two.n + $4 RETURNING n";
        let prepared = session.prepare(insert, &[]).expect("it is right");
        let types: Vec<_> = prepared.parameters().iter().map(ToString::to_string).collect();
        assert_eq!(types, ["text", "integer", "integer", "integer"]);
        let values = [Value::from("z"), Value::Int(1), Value::Int(6), Value::Int(10)];
        for expected in [1, 11] {
            let done = session.execute_prepared(&prepared, &values).expect("it may");
            assert_eq!(done.rows.all::<i32>().expect("integers"), [expected; 4]);
        }
        let update = "UPDATE two SET n = $2 WHERE id = ANY ($1) AND n < (SELECT max(n) FROM two)";
        let prepared = session.prepare(update, &[]).expect("it is right");
        let ids = Value::Array(vec![Value::Int(1), Value::Int(3)]);
        let done = session.execute_prepared(&prepared, &[ids, Value::Int(5)]).expect("it may");
        assert_eq!(done.tag, "UPDATE 1");
        Ok(())
    });
}

#[test]
fn on_conflict_updates_the_row_that_is_there_on_every_engine() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(SETUP)?;
        check(
            &session,
            &[
                (
                    "INSERT INTO two VALUES (1, 'z', 5) \
                     ON CONFLICT (id) DO UPDATE SET n = two.n + excluded.n RETURNING *",
                    "INSERT 0 1 1|a|6",
                ),
                (
                    "INSERT INTO two VALUES (9, 'b', 5) \
                     ON CONFLICT (code) DO UPDATE SET n = excluded.n * 10",
                    "INSERT 0 1",
                ),
                // A duplicate elsewhere than in the target is an error.
                (
                    "INSERT INTO two VALUES (9, 'b', 5) ON CONFLICT (id) DO UPDATE SET n = 0",
                    "23505",
                ),
                ("INSERT INTO two VALUES (9, 'b', 5) ON CONFLICT (id) DO NOTHING", "23505"),
                ("INSERT INTO two VALUES (1, 'q', 5) ON CONFLICT (id) DO NOTHING", "INSERT 0 0"),
                ("INSERT INTO two VALUES (1, 'q', 5) ON CONFLICT DO NOTHING", "INSERT 0 0"),
                (
                    "INSERT INTO two VALUES (3, 'c', 3), (1, 'a', 7) \
                     ON CONFLICT (id) DO UPDATE SET n = excluded.n WHERE two.n < 100 \
                     RETURNING id, n",
                    "INSERT 0 2 1|7 3|3",
                ),
                (
                    "INSERT INTO two VALUES (1, 'a', 7) \
                     ON CONFLICT (id) DO UPDATE SET n = 0 WHERE false RETURNING id",
                    "INSERT 0 0",
                ),
                (
                    "INSERT INTO two VALUES (1, 'a', 7) \
                     ON CONFLICT ON CONSTRAINT two_pkey DO UPDATE SET n = 77",
                    "INSERT 0 1",
                ),
                ("INSERT INTO two VALUES (1, 'a', 7) ON CONFLICT (n) DO UPDATE SET n = 0", "42P10"),
                ("INSERT INTO two VALUES (1, 'a', 7) ON CONFLICT DO UPDATE SET n = 0", "42601"),
                ("SELECT * FROM two", "SELECT 3 1|a|77 2|b|50 3|c|3"),
                (
                    "CREATE FUNCTION put(k int, v int) RETURNS int AS $$ DECLARE r int; BEGIN \
                     INSERT INTO two VALUES (k, 'k' || k, v) \
                     ON CONFLICT (id) DO UPDATE SET n = two.n + excluded.n RETURNING n INTO r; \
                     RETURN r; END $$ LANGUAGE plpgsql",
                    "CREATE FUNCTION",
                ),
            ],
        );
        assert_eq!(session.call("put", (7, 5))?.one::<i32>()?, 5);
        assert_eq!(session.call("put", (7, 6))?.one::<i32>()?, 11);
        Ok(())
    });
}

#[test]
fn what_takes_parts_runs_where_statements_are_calls() -> Result<(), Error> {
    let mut engines = 0;
    for entry in hotrow::engines().iter().filter(|entry| !entry.locks_as_it_goes) {
        let config = Config::default().engine(entry.name).threads(2).memory_bytes(256 << 20);
        if !entry.runs_with(2) {
            continue;
        }
        engines += 1;
        let db = Database::open_in_memory(config)?;
        let session = db.session();
        session.execute(SETUP)?;
        assert_eq!(said(&session, "INSERT INTO two SELECT 5, 'e', 5"), "INSERT 0 1");
        assert_eq!(said(&session, "INSERT INTO two SELECT 5, 'e', 5"), "23505");
        let none = Database::open_in_memory(
            Config::default().engine(entry.name).threads(2).open_transactions_max(0),
        )?;
        let session_of_none = none.session();
        session_of_none.execute(SETUP)?;
        // One program needs no transaction around it.
        assert_eq!(said(&session_of_none, "INSERT INTO two SELECT 5, 'e', 5"), "INSERT 0 1");
        assert_eq!(said(&session, "SELECT count(*) FROM two a, two b"), "SELECT 1 9");
    }
    assert!(engines > 0);
    Ok(())
}
