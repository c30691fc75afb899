//! Queries of any shape: the rows are those that PostgreSQL gives.

use std::time::Duration;

use crate::every_engine::{each_engine, every_engine, open};
use hotrow::{Config, Error, Session, Value};

pub const SETUP: &str = include_str!("queries/setup.sql");
pub const EXPECTED: [&str; 8] = [
    include_str!("queries/expected.txt"),
    include_str!("queries/json.txt"),
    include_str!("queries/interval.txt"),
    include_str!("queries/joins.txt"),
    include_str!("queries/lists.txt"),
    include_str!("queries/subqueries.txt"),
    include_str!("queries/catalog.txt"),
    include_str!("queries/errors.txt"),
];

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

/// The rows of a query as psql -A -t writes them.
pub fn rows(session: &Session, query: &str) -> Vec<String> {
    match session.execute(query) {
        Ok(results) => {
            let rows = results[0].rows.iter();
            rows.map(|row| row.iter().map(text).collect::<Vec<_>>().join("|")).collect()
        }
        Err(Error::Sql(error)) => vec![format!("{}: {}", error.code(), error.message)],
        Err(error) => vec![error.to_string()],
    }
}

/// The SQLSTATE and the message of a query that fails.
fn refused(session: &Session, query: &str) -> String {
    match rows(session, query).as_slice() {
        [error] if error.contains(": ") => error.clone(),
        rows => panic!("{query} gave {rows:?}"),
    }
}

/// Whether a line of what is expected is a SQLSTATE and a message.
pub fn is_error(line: &str) -> bool {
    let code = line.as_bytes();
    code.get(5..7) == Some(b": ")
        && code[..5].iter().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
}

#[test]
fn rows_are_those_that_postgresql_gives() {
    each_engine(|config| as_postgresql(config).map(drop));
}

#[test]
fn rows_of_snapshots_are_the_same() {
    each_engine(|config| {
        let snapshots = as_postgresql(config.report_attempt(Duration::ZERO))?;
        assert!(snapshots > 100, "{snapshots} queries");
        Ok(())
    });
}

/// Runs all queries; how many of them ran on snapshots.
fn as_postgresql(config: Config) -> Result<u64, Error> {
    let db = open(config);
    let session = db.session();
    session.execute(SETUP)?;
    let mut queries = 0;
    let blocks = |file: &'static str| file.trim_end_matches('\n').split("\n== ").skip(1);
    for block in EXPECTED.into_iter().flat_map(blocks) {
        let mut lines = block.split('\n');
        let query = lines.next().unwrap_or_default();
        let mut found = rows(&session, query);
        found.sort_unstable();
        let expected: Vec<_> = lines.collect();
        match (expected.as_slice(), found.as_slice()) {
            // Of errors the code is told alike, and often the words.
            ([expected], [found]) if is_error(expected) => {
                assert_eq!(expected[..5], found[..5], "{query}: {found}");
            }
            _ => assert_eq!(found, expected, "{query}"),
        }
        queries += 1;
    }
    assert!(queries > 150, "{queries} queries");
    Ok(db.status().sessions.snapshots)
}

#[test]
fn orders_limits_and_parameters() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(SETUP)?;
        let query = "SELECT e.name FROM emp e LEFT JOIN dept d ON d.id = e.dept_id \
                     ORDER BY d.name DESC NULLS LAST, salary LIMIT 2 OFFSET 1";
        assert_eq!(rows(&session, query), ["x", "y"]);
        let query = "SELECT e.name FROM emp e JOIN dept d ON d.id = e.dept_id \
                     WHERE d.name = $1 AND e.salary > $2 ORDER BY 1 LIMIT $3";
        let prepared = session.prepare(query, &[])?;
        let types: Vec<_> = prepared.parameters().iter().map(ToString::to_string).collect();
        assert_eq!(types, ["text", "numeric", "bigint"]);
        let joined = "SELECT string_agg(name, $1 ORDER BY name) || count($2::int) FROM dept";
        let joined = session.prepare(joined, &[])?;
        let values = [Value::from("-"), Value::Int(7)];
        let rows = session.execute_prepared(&joined, &values)?.rows;
        assert_eq!(rows.one::<String>()?, "a-b-c3");
        let found = |values: &[Value]| {
            let rows = session.execute_prepared(&prepared, values)?.rows;
            rows.all::<String>()
        };
        let values =
            |name: &str, least: i64| [Value::from(name), Value::BigInt(least), Value::BigInt(5)];
        assert_eq!(found(&values("a", 0))?, ["x", "y"]);
        assert_eq!(found(&values("a", 150))?, ["y"]);
        assert_eq!(found(&values("b", 150))?, [""; 0]);
        Ok(())
    });
}

#[test]
fn a_query_sees_what_its_transaction_has_changed() {
    let db = hotrow::Database::open_in_memory(hotrow::Config::default().threads(1)).expect("opens");
    let session = db.session();
    session.execute(SETUP).expect("the script is right");
    let query = "SELECT count(*) FROM emp e JOIN dept d ON d.id = e.dept_id WHERE d.name = 'c'";
    session.execute("BEGIN; UPDATE emp SET dept_id = 3 WHERE id < 3").expect("they are there");
    assert_eq!(rows(&session, query), ["2"]);
    session.execute("ROLLBACK").expect("it is open");
    assert_eq!(rows(&session, query), ["0"]);
    // An error ends the transaction, as any other does.
    session.execute("BEGIN").expect("none is open");
    assert!(refused(&session, "SELECT 1 / (e.id - 1) FROM emp e, dept d").starts_with("22012"));
    assert!(refused(&session, query).starts_with("25P02"));
}

#[test]
fn wrong_queries_are_refused_with_reasons() {
    let db = hotrow::Database::open_in_memory(hotrow::Config::default().threads(1)).expect("opens");
    let session = db.session();
    session.execute(SETUP).expect("the script is right");
    for (query, expected) in [
        ("SELECT salary FROM emp GROUP BY name", "42803: column \"emp.salary\" must appear"),
        ("SELECT id FROM emp e, dept d", "42702: column reference \"id\" is ambiguous"),
        ("SELECT nope FROM emp e, dept d", "42703: column \"nope\" does not exist"),
        ("SELECT e.nope FROM emp e, dept d", "42703: column e.nope does not exist"),
        ("SELECT * FROM emp, emp", "42712: table name \"emp\" specified more than once"),
        ("SELECT * FROM emp JOIN nothing ON true", "42P01: relation \"nothing\" does not exist"),
        ("SELECT * FROM pg_catalog.nothing", "42P01: relation \"pg_catalog.nothing\""),
        ("SELECT 1 UNION SELECT 1, 2", "42601: each UNION query must have the same number"),
        ("SELECT id FROM emp UNION SELECT id FROM dept LIMIT -1", "2201W: LIMIT must not be"),
        ("SELECT id FROM emp UNION SELECT hired FROM emp", "42804: UNION types integer and date"),
        ("SELECT (SELECT id FROM emp) FROM dept", "21000: more than one row returned"),
        ("SELECT (SELECT id, name FROM emp) FROM dept", "42601: subquery must return only one"),
        ("SELECT id FROM emp WHERE id IN (SELECT id, name FROM emp)", "42601: subquery has too"),
        ("SELECT sum(sum(id)) FROM emp GROUP BY id", "42803: aggregate functions are not"),
        ("SELECT id FROM emp e JOIN dept d USING (nope)", "42703: column \"nope\" specified in"),
        (
            "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT max(n) FROM t) SELECT * FROM t",
            "42P19: aggregate functions are not allowed in a recursive query's recursive term",
        ),
        (
            "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT g FROM t, generate_series(1, 1000) g)
             SELECT count(*) FROM t",
            "53200: the query needs more than",
        ),
        (
            "SELECT id FROM emp FETCH FIRST 1 ROW WITH TIES",
            "42601: WITH TIES cannot be specified without ORDER BY clause",
        ),
        (
            "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n FROM t) CYCLE n SET c USING p \
             SELECT n FROM t",
            "0A000: CYCLE of WITH RECURSIVE is not supported",
        ),
        ("SELECT name ~ '(' FROM emp e, dept d", "42702"),
        ("SELECT e.name ~ '(' FROM emp e, dept d", "2201B: invalid regular expression"),
        ("SELECT * FROM generate_series(1, 2, 0)", "22023: step size cannot equal zero"),
        ("SELECT * FROM generate_series(1, 2000000000)", "53200: the query needs more than"),
        ("SELECT 'nope'::regclass", "42P01: relation \"nope\" does not exist"),
    ] {
        let error = refused(&session, query);
        assert!(error.starts_with(expected), "{query}: {error}");
    }
}

#[test]
fn a_recursion_without_an_end_is_interrupted() {
    let db = hotrow::Database::open_in_memory(hotrow::Config::default().threads(1)).expect("opens");
    let session = db.session();
    session.execute("SET statement_timeout = '50ms'").expect("it is a setting");
    let query =
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n FROM t) SELECT count(*) FROM t";
    assert!(refused(&session, query).starts_with("57014"));
    session.execute("SELECT 1").expect("the next statement is another one");
}

#[test]
fn the_system_catalog_lists_tables() {
    let db = hotrow::Database::open_in_memory(hotrow::Config::default().threads(1)).expect("opens");
    let session = db.session();
    session.execute(SETUP).expect("the script is right");
    session.execute(
        "CREATE TABLE odd (\"Id\" bigint PRIMARY KEY, n numeric(8,3) DEFAULT 1.5 CHECK (n > 0), \
         t char(3) NOT NULL DEFAULT 'abc', at timestamptz DEFAULT now());
         CREATE FUNCTION twice(n bigint) RETURNS bigint AS $$ BEGIN RETURN n * 2; END $$ \
         LANGUAGE plpgsql;",
    )
    .expect("the script is right");
    for (query, expected) in [
        (
            "SELECT c.relname || ':' || c.relkind FROM pg_class c JOIN pg_catalog.pg_namespace n \
             ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relname LIKE 'o%'",
            "odd:r odd_pkey:i",
        ),
        (
            "SELECT attname || ' ' || format_type(atttypid, atttypmod) FROM pg_attribute \
             WHERE attrelid = 'odd'::regclass AND attnum > 0",
            "Id bigint at timestamp with time zone n numeric(8,3) t character(3)",
        ),
        (
            "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'odd'::regclass",
            "'abc'::char(3) 1.500 now()",
        ),
        (
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint \
             WHERE conrelid IN ('odd'::regclass, 'emp'::regclass)",
            "CHECK ((n > 0.000)) FOREIGN KEY (dept_id) REFERENCES dept(id) PRIMARY KEY (\"Id\") \
             PRIMARY KEY (id)",
        ),
        (
            "SELECT indexdef FROM pg_indexes WHERE tablename = 'emp'",
            "CREATE INDEX emp_dept ON public.emp USING btree (dept_id) \
             CREATE UNIQUE INDEX emp_pkey ON public.emp USING btree (id)",
        ),
        (
            "SELECT column_name || '/' || data_type FROM information_schema.columns \
             WHERE table_name = 'dept'",
            "id/integer name/text",
        ),
        (
            "SELECT proname || '(' || pg_get_function_arguments(oid) || ') ' || \
             pg_get_function_result(oid) FROM pg_proc",
            "twice(n bigint) bigint",
        ),
        ("SELECT 'emp'::regclass::oid::regclass::text", "emp"),
        ("SELECT current_user || current_database() || current_schema()", "hotrowhotrowpublic"),
    ] {
        let mut found = rows(&session, query);
        found.sort_unstable();
        let found = found.join(" ");
        assert_eq!(found, expected, "{query}");
    }
}

#[test]
fn large_queries_run_or_are_refused() {
    let db = hotrow::Database::open_in_memory(hotrow::Config::default().threads(1)).expect("opens");
    let session = db.session();
    session.execute("CREATE TABLE one (id int PRIMARY KEY); INSERT INTO one VALUES (7)").unwrap();
    let list = |count: usize, part: &dyn Fn(usize) -> String| {
        (0..count).map(part).collect::<Vec<_>>().join(", ")
    };
    let joined = |count| {
        let from = list(count, &|at| format!("one o{at}"));
        format!("SELECT count(*), sum(o1.id) FROM {from}")
    };
    assert_eq!(rows(&session, &joined(249)), ["1|7"]);
    assert!(refused(&session, &joined(2000)).starts_with("54001"));
    let subqueries = |count| {
        let columns = list(count, &|_| "(SELECT max(id) FROM one)".to_owned());
        format!("SELECT {columns} FROM one a, one b")
    };
    assert_eq!(rows(&session, &subqueries(60)), [["7"; 60].join("|")]);
    assert!(refused(&session, &subqueries(1000)).starts_with("54001"));
    let nested = |depth: usize| {
        let (open, close) = ("(SELECT id FROM one WHERE id = ".repeat(depth), ")".repeat(depth));
        format!("SELECT {open} 7 {close}")
    };
    assert_eq!(rows(&session, &nested(40)), ["7"]);
    assert!(refused(&session, &nested(500)).starts_with("54001"));
    let union = |count: usize| vec!["SELECT id FROM one"; count].join(" UNION ALL ");
    assert_eq!(rows(&session, &union(120)), ["7"; 120]);
    assert!(refused(&session, &union(5000)).starts_with("54001"));
    // Each level with operators of its own, one over the other.
    let levels = |count: usize| {
        let (open, close) = ("SELECT DISTINCT id + 1 AS id FROM (", ") AS o WHERE id > 0 LIMIT 9");
        format!("{}SELECT id FROM one{}", open.repeat(count), close.repeat(count))
    };
    assert_eq!(rows(&session, &levels(50)), ["57"]);
}

/// Rows go from operator to operator, and only what must be kept is.
#[test]
fn what_nobody_keeps_takes_no_memory_and_what_nobody_wants_no_time() {
    let config = hotrow::Config::default().threads(1).result_bytes_max(64 << 10);
    let db = hotrow::Database::open_in_memory(config).expect("opens");
    let session = db.session();
    session.execute("CREATE TABLE t (id int PRIMARY KEY, tenth int)").unwrap();
    session.execute("INSERT INTO t SELECT n, n / 10 FROM generate_series(1, 300) n").unwrap();
    for (query, expected) in [
        // A pair of each row with each, and again: 27 million of them would be.
        ("SELECT count(*) FROM t a, t b WHERE a.id < b.id", "44850"),
        ("SELECT a.id FROM t a, t b, t c WHERE a.id + b.id + c.id = 5 LIMIT 1", "1"),
        ("SELECT max(a.id) FROM t a JOIN t b ON b.tenth = a.tenth", "300"),
        ("SELECT count(DISTINCT a.tenth) FROM t a, t b", "31"),
        ("SELECT sum(n) FROM generate_series(1, 100000) n WHERE n % 2 = 0", "2500050000"),
        ("SELECT n FROM generate_series(1, 1000000000) n OFFSET 5 LIMIT 1", "6"),
        ("SELECT n FROM generate_series(1, 50000) n ORDER BY n % 7, n DESC LIMIT 1", "49994"),
        ("SELECT EXISTS (SELECT 1 FROM generate_series(1, 1000000000))", "t"),
        ("SELECT count(*) FROM (SELECT a.tenth FROM t a, t b INTERSECT SELECT id FROM t) x", "30"),
        (
            "SELECT count(*) FROM (SELECT n % 9 FROM generate_series(1, 50000) n
                UNION SELECT 3 UNION SELECT 77) x",
            "10",
        ),
    ] {
        assert_eq!(rows(&session, query), [expected], "{query}");
    }
    // What has to be kept is limited.
    for query in [
        "SELECT a.id FROM t a, t b",
        "SELECT count(*) FROM (SELECT a.id FROM t a, t b ORDER BY b.id) x",
        "SELECT count(*) FROM (SELECT DISTINCT a.id, b.id FROM t a, t b) x",
        "SELECT count(*) FROM (SELECT a.id FROM t a, t b GROUP BY a.id, b.id) x",
        "SELECT array_agg(a.id) FROM t a, t b",
        "SELECT string_agg('abcdefgh', ',') FROM t a, t b",
        "SELECT count(DISTINCT a.id * 1000 + b.id) FROM t a, t b",
        "SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY a.id) FROM t a, t b) x",
        "SELECT count(*) FROM t c LEFT JOIN (SELECT a.id FROM t a, t b) x ON x.id = c.tenth",
        "SELECT count(*) FROM (SELECT id FROM t EXCEPT SELECT a.id * 1000 + b.id FROM t a, t b) x",
    ] {
        let error = refused(&session, query);
        assert!(error.starts_with("53200"), "{query}: {error}");
    }
}
