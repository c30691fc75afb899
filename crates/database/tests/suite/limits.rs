//! What one session may take: rows of a statement, changes of a transaction.

use hotrow::{Config, Database, Error, Session};

fn with_rows(config: Config) -> (Database, Session) {
    let config = config.threads(1).memory_bytes(256 << 20);
    let db = Database::open_in_memory(config).expect("the configuration is right");
    let session = db.session();
    session
        .execute(
            "CREATE TABLE t (id bigint PRIMARY KEY, name text NOT NULL);
             CREATE FUNCTION fill(rows int) RETURNS bigint LANGUAGE plpgsql AS $$
             BEGIN
                 FOR i IN 1..rows LOOP
                     INSERT INTO t VALUES (i, 'a name of more than sixteen bytes');
                 END LOOP;
                 RETURN rows;
             END $$",
        )
        .expect("they are made");
    session.call("fill", (2_000,)).expect("they are new");
    (db, session)
}

fn code(session: &Session, script: &str) -> String {
    match session.execute(script) {
        Ok(_) => "done".to_owned(),
        Err(error) => error.sqlstate().unwrap_or("no SQL error").to_owned(),
    }
}

#[test]
fn the_rows_of_a_statement_take_so_much_and_no_more() -> Result<(), Error> {
    let (_db, session) = with_rows(Config::default().result_bytes_max(64 << 10));
    let too_large = [
        "SELECT id, name FROM t",
        "SELECT name FROM t ORDER BY name DESC, id",
        "SELECT DISTINCT name, id FROM t",
        "UPDATE t SET name = name || '!' RETURNING name",
    ];
    let with_parts = [
        "SELECT a.name FROM t a JOIN t b ON a.id = b.id",
        "SELECT i FROM generate_series(1, 100000) i",
    ];
    // Alone, and beside others once somebody has begun a transaction.
    for first in ["SELECT 1", "BEGIN; SELECT 1 FROM t WHERE id = 1; COMMIT"] {
        session.execute(first)?;
        for script in too_large {
            assert_eq!(code(&session, script), "54000", "{script}");
        }
        for script in with_parts {
            assert!(["53200", "54000"].contains(&&*code(&session, script)), "{script}");
        }
        let ended = session.execute("SELECT count(*) FROM t WHERE name LIKE '%!'")?;
        assert_eq!(ended[0].rows.clone().one::<i64>()?, 0, "what failed is undone");
        assert_eq!(session.execute("SELECT id, name FROM t LIMIT 100")?[0].rows.len(), 100);
    }
    session.execute("BEGIN; SAVEPOINT a")?;
    let error = session.execute("SELECT id, name FROM t").expect_err("it is too large");
    assert!(error.to_string().contains("Narrow it"), "{error}");
    session.execute("ROLLBACK TO a; SELECT 1; COMMIT")?;
    Ok(())
}

#[test]
fn a_transaction_makes_so_many_changes_and_no_more() -> Result<(), Error> {
    let (_db, session) = with_rows(Config::default().changes_max(500));
    session.execute("BEGIN; UPDATE t SET name = '' WHERE id <= 400")?;
    session.execute("SAVEPOINT a; UPDATE t SET name = '' WHERE id BETWEEN 401 AND 700")?;
    // One that has begun may end; what comes behind it is refused.
    assert_eq!(code(&session, "UPDATE t SET name = '' WHERE id = 1000"), "54000");
    session.execute("ROLLBACK TO a; UPDATE t SET name = '' WHERE id = 1000; COMMIT")?;
    let changed = session.execute("SELECT count(*) FROM t WHERE name = ''")?;
    assert_eq!(changed[0].rows.clone().one::<i64>()?, 401);
    Ok(())
}
