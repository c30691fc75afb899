//! CREATE FUNCTION says where calls would hold a whole table or a whole index.

use hotrow::{Config, Database, NoticeLevel, Session};

fn open() -> Session {
    let db = Database::open_in_memory(Config::default().threads(1)).expect("it opens");
    let session = db.session();
    session
        .execute(
            "CREATE TABLE t (id integer PRIMARY KEY, owner integer NOT NULL, a integer NOT NULL);
             CREATE PROCEDURE put(k integer, o integer) AS $$
             BEGIN INSERT INTO t VALUES (k, o, 0); END $$ LANGUAGE plpgsql",
        )
        .expect("the schema is right");
    session
}

/// What is said when a procedure with this body is created: messages and hints.
fn said(session: &Session, body: &str) -> Vec<(String, String)> {
    let text = format!(
        "CREATE OR REPLACE PROCEDURE p(k integer, ks integer[]) AS $$\nDECLARE v bigint;\nBEGIN\n\
         {body}\nEND $$ LANGUAGE plpgsql"
    );
    let results = session.execute(&text).expect("the procedure is right");
    let notices = results.into_iter().flat_map(|result| result.notices);
    let text = |notice: hotrow::Notice| {
        assert_eq!((notice.level, notice.said.code()), (NoticeLevel::Warning, "01000"));
        let detail = notice.said.detail.unwrap_or_default();
        (format!("{}; {detail}", notice.said.message), notice.said.hint.unwrap_or_default())
    };
    notices.map(text).collect()
}

#[test]
fn keys_and_lists_of_keys_hold_rows_only() {
    let session = open();
    for body in [
        "UPDATE t SET a = a + 1 WHERE id = k;",
        "UPDATE t SET a = a + 1 WHERE id IN (k, k + 1);",
        "UPDATE t SET a = a + 1 WHERE id = k OR id = 7;",
        "SELECT sum(a) INTO v FROM t WHERE id = ANY (ks);",
        "SELECT sum(a) INTO v FROM t WHERE id = ANY (ARRAY[k, 2, 3]) AND owner = k;",
        "DELETE FROM t WHERE id = ANY (ks);",
        "FOR v IN SELECT a FROM t WHERE id IN (k, 3) LOOP RAISE NOTICE '%', v; END LOOP;",
    ] {
        assert_eq!(said(&session, body), [], "{body}");
    }
}

#[test]
fn what_holds_a_table_is_told_with_an_index_to_create() {
    let session = open();
    let body = "UPDATE t SET a = a + 1 WHERE owner IN (k, k + 1) AND a > 0;";
    let [(what, hint)] = &said(&session, body)[..] else { panic!("one statement") };
    assert!(what.contains("\"p\" holds table \"t\" as a whole"), "{what}");
    assert!(what.contains("the UPDATE in line 4, no other call can read or change"), "{what}");
    assert!(hint.starts_with("CREATE INDEX ON t (owner);"), "{hint}");
    let index = hint.split(';').next().expect("the statement comes first");
    session.execute(index).expect("what the hint says can be done");
    assert_eq!(said(&session, body), []);
}

#[test]
fn reads_of_all_rows_and_ranges_are_told() {
    let session = open();
    let [(what, hint)] = &said(&session, "SELECT count(*) INTO v FROM t;")[..] else {
        panic!("one statement")
    };
    assert!(what.contains("the SELECT in line 4, no other call can change"), "{what}");
    assert!(hint.contains("in a row of its own"), "{hint}");
    let told = said(&session, "SELECT count(*) INTO v FROM t WHERE id > k;");
    assert!(told[0].1.starts_with("A range of \"id\""), "{told:?}");
}

#[test]
fn a_table_that_nobody_writes_may_be_read_as_a_whole() {
    let session = open();
    session.execute("CREATE TABLE rate (id integer PRIMARY KEY)").expect("it is new");
    assert_eq!(said(&session, "SELECT count(*) INTO v FROM rate;"), []);
}
