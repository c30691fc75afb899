//! Batches: statements that are one transaction without BEGIN, and definitions among them.

use hotrow::{Config, Database, Error, Session, TransactionState};

use crate::asking::code;

fn engines() -> impl Iterator<Item = Database> {
    let engines = hotrow::engines().iter().filter(|entry| entry.locks_as_it_goes);
    engines.map(|entry| {
        let threads = entry.threads_near(2);
        let config = Config::default().engine(entry.name).threads(threads).memory_bytes(256 << 20);
        let db = Database::open_in_memory(config).expect("the configuration is right");
        db.session()
            .execute("CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL)")
            .expect("it is right");
        db
    })
}

fn ids(session: &Session) -> Vec<i32> {
    let rows = session.execute("SELECT id FROM t ORDER BY id").expect("it is right");
    rows[0].rows.iter().map(|row| row[0].to_string().parse().expect("a number")).collect()
}

#[test]
fn a_batch_is_one_transaction() -> Result<(), Error> {
    for db in engines() {
        let (session, other) = (db.session(), db.session());
        session.begin_batch();
        session.execute("INSERT INTO t VALUES (1, 1)")?;
        session.begin_batch(); // goes on
        session.execute("INSERT INTO t VALUES (2, 1)")?;
        session.end_batch(true)?;
        assert_eq!(ids(&other), [1, 2]);
        session.begin_batch();
        session.execute("INSERT INTO t VALUES (3, 1)")?;
        assert_eq!(code(session.execute("INSERT INTO t VALUES (1, 1)")), "23505");
        assert_eq!(code(session.execute("INSERT INTO t VALUES (4, 1)")), "25P02");
        session.end_batch(false)?;
        assert_eq!(ids(&other), [1, 2], "what failed has taken all with it");
        assert_eq!(session.transaction_state(), TransactionState::Idle);
        session.execute("INSERT INTO t VALUES (5, 1)")?;
        assert_eq!(ids(&other), [1, 2, 5], "behind it each is its own again");
        assert_eq!(code(session.end_batch(true)), "done", "there is none to end");
    }
    Ok(())
}

#[test]
fn begin_and_commit_in_a_batch_are_obeyed() -> Result<(), Error> {
    for db in engines() {
        let session = db.session();
        session.begin_batch();
        session.execute("INSERT INTO t VALUES (1, 1)")?;
        let begun = session.execute("BEGIN")?;
        assert_eq!(begun[0].notices, []);
        session.execute("INSERT INTO t VALUES (2, 1)")?;
        session.end_batch(true)?;
        assert_eq!(session.transaction_state(), TransactionState::Open, "a block is a block");
        session.execute("ROLLBACK")?;
        assert_eq!(ids(&session), [] as [i32; 0], "what stood before BEGIN belonged to it");

        session.begin_batch();
        session.execute("INSERT INTO t VALUES (3, 1)")?;
        let committed = session.execute("COMMIT")?;
        assert_eq!(committed[0].notices[0].said.code(), "25P01", "there is no block");
        session.execute("INSERT INTO t VALUES (4, 1)")?;
        session.end_batch(false)?;
        assert_eq!(ids(&session), [3]);
        session.begin_batch();
        session.execute("INSERT INTO t VALUES (5, 1)")?;
        assert_eq!(code(session.execute("SAVEPOINT a")), "25P01");
        session.end_batch(false)?;
        assert_eq!(ids(&session), [3]);
    }
    Ok(())
}

#[test]
fn settings_of_a_batch_go_with_it() -> Result<(), Error> {
    let Some(db) = engines().next() else { panic!("an engine is interactive") };
    let session = db.session();
    let shown = || -> Result<String, Error> {
        session.execute("SHOW application_name")?[0].rows.clone().one::<String>()
    };
    session.begin_batch();
    session.execute("SET application_name = 'a'")?;
    session.end_batch(false)?;
    assert_eq!(shown()?, "");
    session.begin_batch();
    session.execute("SET application_name = 'b'")?;
    session.end_batch(true)?;
    assert_eq!(shown()?, "b");
    Ok(())
}

#[test]
fn definitions_are_part_of_blocks_and_end_batches() -> Result<(), Error> {
    for db in engines() {
        let (session, other) = (db.session(), db.session());
        session.execute(
            "BEGIN; CREATE TABLE a (id int PRIMARY KEY); INSERT INTO a VALUES (1);
             CREATE TABLE b (id int PRIMARY KEY REFERENCES a); INSERT INTO b VALUES (1)",
        )?;
        let rolled_back = session.execute("ROLLBACK")?;
        assert!(rolled_back[0].notices.is_empty(), "nothing stays");
        assert_eq!(code(other.execute("SELECT * FROM b")), "42P01");
        assert_eq!(code(other.execute("SELECT * FROM a")), "42P01");

        session.execute("BEGIN; INSERT INTO t VALUES (1, 1)")?;
        session.execute("CREATE TABLE c (id int); ROLLBACK")?;
        assert_eq!(code(other.execute("SELECT * FROM c")), "42P01");
        assert_eq!(ids(&other), [] as [i32; 0], "no row of an older table is committed by it");

        session.execute("BEGIN; SAVEPOINT s; CREATE TABLE d (id int PRIMARY KEY)")?;
        session.execute("INSERT INTO d VALUES (1); ROLLBACK TO s; CREATE TABLE d (id int)")?;
        session.execute("INSERT INTO d VALUES (2); COMMIT; DROP TABLE d")?;

        session.execute("BEGIN READ ONLY")?;
        assert_eq!(code(session.execute("CREATE TABLE e (id int)")), "25006");
        session.execute("ROLLBACK")?;

        session.begin_batch();
        session.execute("INSERT INTO t VALUES (7, 1); CREATE TABLE f (id int PRIMARY KEY)")?;
        session.execute("INSERT INTO t VALUES (8, 1)")?;
        session.end_batch(false)?;
        assert_eq!(ids(&other), [7], "a definition ends a batch's transaction");
        session.execute("DELETE FROM t; DROP TABLE f")?;
    }
    Ok(())
}
