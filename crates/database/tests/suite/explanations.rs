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
        "EXPLAIN (WAL) SELECT 1",
        "EXPLAIN (FORMAT yaml) SELECT 1",
        "EXPLAIN ANALYZE CREATE TABLE t (id integer PRIMARY KEY)",
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

/// Rows and times that an operator was begun; what it took differs from run to run.
#[test]
fn what_is_analyzed_is_run_and_measured() {
    let session = session();
    session.execute("INSERT INTO dept VALUES (1, 'a'), (2, 'b'), (3, 'c')").unwrap();
    session.execute("INSERT INTO emp VALUES (1, 1, 5), (2, 1, 6), (3, 2, 200)").unwrap();
    let joined = plan(
        &session,
        "EXPLAIN (ANALYZE, TIMING off) SELECT d.name, sum(e.salary) FROM dept d \
         JOIN emp e ON e.dept = d.id WHERE e.salary < 100 GROUP BY d.name ORDER BY 1",
    );
    let (last, lines) = joined.split_last().unwrap();
    assert!(last.starts_with("Execution Time: ") && last.ends_with(" ms"), "{last}");
    assert_eq!(
        lines,
        [
            "sort by d.name (1 row)",
            "  group by d.name, 1 aggregate (1 row)",
            "    inner join, by hash table; few rows on the left: by key (2 rows)",
            "      read dept as a whole (3 rows)",
            "      read emp as a whole",
            "      or, by key",
            "        read emp by prefix (dept) of emp_by_dept (2 rows in 3 times)",
            "Rows: 1",
        ]
    );
    let timed = plan(&session, "EXPLAIN ANALYZE SELECT count(*) FROM dept d, emp e");
    assert!(timed[0].starts_with("one group, 1 aggregate (1 row, "), "{timed:?}");
    assert!(timed[0].ends_with(" ms)"), "{timed:?}");
    let update = plan(&session, "EXPLAIN ANALYZE UPDATE emp SET salary = salary + 1");
    assert_eq!(update[..2], ["update emp as a whole", "Rows: 3"]);
    let change = "EXPLAIN (ANALYZE, TIMING off) DELETE FROM emp USING dept d \
                  WHERE d.id = emp.dept AND d.name = 'a'";
    let change = plan(&session, change);
    assert!(change.contains(&"Rows: 2".to_owned()), "{change:?}");
    assert!(change.contains(&"  distinct emp.id (2 rows)".to_owned()), "{change:?}");
    let left = session.execute("SELECT salary FROM emp").unwrap();
    assert_eq!(left[0].rows.iter().collect::<Vec<_>>(), [[Value::Int(201)]]);
    let call = plan(&session, "EXPLAIN ANALYZE SELECT raise_pay(3)");
    assert_eq!(call[1], "Rows: 1");
    let failed = session.execute("EXPLAIN ANALYZE SELECT 1 / (salary - 202) FROM emp").unwrap_err();
    assert_eq!(failed.sqlstate(), Some("22012"));
    session.execute("BEGIN").unwrap();
    plan(&session, "EXPLAIN ANALYZE DELETE FROM emp");
    session.execute("ROLLBACK").unwrap();
    assert_eq!(session.execute("SELECT id FROM emp").unwrap()[0].rows.len(), 1);
    let prepared = session.prepare("EXPLAIN ANALYZE SELECT * FROM emp WHERE id = $1", &[]).unwrap();
    let refused = session.execute_prepared(&prepared, &[Value::BigInt(1)]).unwrap_err();
    assert_eq!(refused.sqlstate(), Some("0A000"));
}

#[test]
fn a_document_nests_as_the_lines_do() {
    let session = session();
    session.execute("INSERT INTO dept VALUES (1, 'a'), (2, 'b'), (3, 'c')").unwrap();
    let told = plan(
        &session,
        "EXPLAIN (ANALYZE, TIMING off, BUFFERS, FORMAT JSON) SELECT d.name FROM dept d \
         LEFT JOIN emp e ON e.salary = d.id ORDER BY 1 LIMIT 2",
    );
    let [document] = told.as_slice() else { panic!("{told:?}") };
    let document: serde_json::Value = serde_json::from_str(document).unwrap();
    assert!(document[0]["Execution Time"].is_number());
    assert_eq!(document[0]["Rows"], 2);
    let limit = &document[0]["Plan"];
    assert_eq!((&limit["Node Type"], &limit["Actual Rows"]), (&"limit".into(), &2.into()));
    let join = &limit["Plans"][0]["Plans"][0];
    assert_eq!(join["Actual Loops"], 1);
    assert_eq!(join["Plans"][0]["Node Type"], "read dept as a whole");
    assert_eq!(join["Plans"][0]["Actual Rows"], 3);
    assert_eq!(join["Plans"][1]["Actual Rows"], 0);
    let plain = plan(&session, "EXPLAIN (FORMAT JSON) SELECT * FROM dept WHERE id = 1");
    let plain: serde_json::Value = serde_json::from_str(&plain[0]).unwrap();
    assert_eq!(plain[0]["Plan"]["Node Type"], "read dept by key (id) of dept_pkey");
    assert_eq!(plain[0]["Plan"].as_object().unwrap().len(), 1);
}
