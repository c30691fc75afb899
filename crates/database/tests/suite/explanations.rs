//! EXPLAIN of statements: their operators and accesses, as text.

use hotrow::{Config, Database, Session, Value};

const SCHEMA: &str = "
    CREATE TABLE dept (id integer PRIMARY KEY, name text NOT NULL);
    CREATE TABLE emp (id bigint PRIMARY KEY, dept integer NOT NULL, salary integer);
    CREATE INDEX emp_by_dept ON emp (dept);
    CREATE VIEW rich AS SELECT * FROM emp WHERE salary > 100;
    CREATE FUNCTION raise_pay(which bigint) RETURNS integer LANGUAGE plpgsql AS $$
    DECLARE v integer;
    BEGIN UPDATE emp SET salary = salary + 1 WHERE id = which RETURNING salary INTO v; RETURN v;
    END $$;";

fn session() -> Session {
    let db = Database::open_in_memory(Config::default().threads(1)).unwrap();
    let session = db.session();
    session.execute(SCHEMA).unwrap();
    session
}

fn plan(session: &Session, statement: &str) -> Vec<String> {
    let results = session.execute(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    assert_eq!(results[0].tag, "EXPLAIN");
    assert_eq!(results[0].rows.columns(), ["QUERY PLAN"]);
    let text = |row: &[Value]| match row {
        [Value::Text(text)] => text.clone(),
        other => panic!("{other:?}"),
    };
    results[0].rows.iter().map(text).collect()
}

#[test]
fn a_statement_of_one_table_tells_its_way() {
    let session = session();
    let by_key = plan(&session, "EXPLAIN SELECT name FROM dept WHERE id = 1");
    assert_eq!(by_key, ["read dept by key (id) of dept_pkey"]);
    let update = plan(&session, "EXPLAIN UPDATE emp SET salary = 1 WHERE dept = 2");
    assert_eq!(update, ["update emp by prefix (dept) of emp_by_dept"]);
    let insert = plan(&session, "EXPLAIN INSERT INTO dept VALUES (1, 'a'), (2, 'b')");
    assert_eq!(insert[0], "insert into dept");
    let call = plan(&session, "EXPLAIN SELECT raise_pay(1)");
    assert_eq!(call, ["planned call of raise_pay: EXPLAIN PROCEDURE raise_pay tells more"]);
}

#[test]
fn a_query_is_a_tree_of_operators() {
    let session = session();
    let joined = plan(
        &session,
        "EXPLAIN (COSTS off, FORMAT text) SELECT d.name, count(*), sum(e.salary) FROM dept d \
         LEFT JOIN emp e ON e.dept = d.id WHERE d.id IN (SELECT dept FROM rich) GROUP BY d.name \
         ORDER BY 2 DESC LIMIT 10",
    );
    assert_eq!(
        joined,
        [
            "limit",
            "  sort by count DESC",
            "    group by d.name, 2 aggregates",
            "      inner join, by hash table",
            "        distinct emp.dept",
            "          read emp as a whole",
            "        left join, by hash table; few rows on the left: by key",
            "          read dept as a whole",
            "          read emp as a whole",
            "          or, by key",
            "            read emp by prefix (dept) of emp_by_dept",
        ]
    );
    let correlated = plan(
        &session,
        "EXPLAIN SELECT name, (SELECT max(salary) FROM emp WHERE dept = d.id) FROM dept d \
         UNION ALL VALUES ('none', 0)",
    );
    assert_eq!(
        correlated,
        [
            "union all",
            "  for each row, if its values are new: subquery",
            "    one group, 1 aggregate",
            "      read emp by prefix (dept) of emp_by_dept",
            "  read dept as a whole",
            "  1 row of VALUES",
        ]
    );
    let change = plan(&session, "EXPLAIN DELETE FROM emp USING dept d WHERE d.id = emp.dept");
    assert_eq!(
        change,
        [
            "for each row of the query, with a savepoint around all",
            "  delete from emp by key (id) of emp_pkey",
            "the query:",
            "  distinct emp.id",
            "    inner join, by hash table; few rows on the left: by key",
            "      read emp as a whole",
            "      read dept as a whole",
            "      or, by key",
            "        read dept by key (id) of dept_pkey",
        ]
    );
}

#[test]
fn nothing_is_run_and_what_cannot_be_told_is_refused() {
    let session = session();
    session.execute("INSERT INTO emp VALUES (1, 1, 5)").unwrap();
    plan(&session, "EXPLAIN DELETE FROM emp");
    plan(&session, "EXPLAIN SELECT raise_pay(1) + 1 FROM emp");
    let rows = session.execute("SELECT salary FROM emp").unwrap();
    assert_eq!(rows[0].rows.iter().next(), Some(&[Value::Int(5)][..]));
    for statement in [
        "EXPLAIN ANALYZE SELECT 1",
        "EXPLAIN (ANALYZE, VERBOSE) SELECT 1",
        "EXPLAIN (FORMAT json) SELECT 1",
        "EXPLAIN CREATE TABLE t (id integer PRIMARY KEY)",
    ] {
        let error = session.execute(statement).unwrap_err();
        assert_eq!(error.sqlstate(), Some("0A000"), "{statement}: {error}");
    }
    let prepared = session.prepare("EXPLAIN SELECT name FROM dept WHERE id = $1", &[]).unwrap();
    let told = session.execute_prepared(&prepared, &[Value::Int(1)]).unwrap();
    assert_eq!(told.rows.len(), 1);
    let error = session.execute("EXPLAIN SELECT nothing FROM dept").unwrap_err();
    assert_eq!(error.sqlstate(), Some("42703"));
}
