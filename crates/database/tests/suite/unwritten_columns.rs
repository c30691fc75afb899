//! Columns that no procedure writes: reading them takes no lock, until somebody writes them.

use crate::every_engine::{every_engine, open};
use crate::scratch::Directory;
use hotrow::{Config, Session, Value};

const SCHEMA: &str = "
    CREATE TABLE house (id integer PRIMARY KEY, tax integer NOT NULL, ytd integer NOT NULL);
    INSERT INTO house VALUES (1, 7, 0), (2, 9, 0);
    CREATE FUNCTION tax_of(h integer) RETURNS integer LANGUAGE plpgsql AS $$
    DECLARE v integer; BEGIN SELECT tax INTO v FROM house WHERE id = h; RETURN v; END $$;
    CREATE PROCEDURE pay(h integer) LANGUAGE plpgsql AS $$
    BEGIN UPDATE house SET ytd = ytd + 1 WHERE id = h; END $$;";

const SET_TAX: &str = "
    CREATE PROCEDURE set_tax(h integer, t integer) LANGUAGE plpgsql AS $$
    BEGIN UPDATE house SET tax = t WHERE id = h; END $$;";

fn locks(session: &Session) -> bool {
    let results = session.execute("EXPLAIN PROCEDURE tax_of").expect("it is there");
    let text = format!("{:?}", results[0].rows);
    let says = |line: &str| text.contains(line);
    let (locks, free) =
        (says("lock S granule (id) of house_pkey"), says("writes the columns that it reads"));
    assert!(locks != free, "{text}");
    locks
}

fn tax(session: &Session, house: i32) -> i32 {
    let rows = session.execute(&format!("SELECT tax_of({house})")).expect("it runs");
    match rows[0].rows.iter().next() {
        Some([Value::Int(tax)]) => *tax,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_procedure_that_writes_them_ends_it_until_it_is_dropped() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(SCHEMA)?;
        assert!(!locks(&session));
        assert_eq!(tax(&session, 1), 7);
        session.execute(SET_TAX)?;
        assert!(locks(&session));
        session.execute("CALL set_tax(1, 8)")?;
        assert_eq!(tax(&session, 1), 8);
        session.execute(
            "CREATE PROCEDURE other(h integer) LANGUAGE plpgsql AS $$
            BEGIN UPDATE house SET tax = 1, ytd = 0 WHERE id = h; END $$; DROP PROCEDURE set_tax",
        )?;
        assert!(locks(&session), "another one is left");
        session.execute("DROP PROCEDURE other; CALL pay(1)")?;
        assert!(!locks(&session), "each took along what it alone asked for");
        assert_eq!(tax(&session, 1), 8);
        db.shutdown();
        Ok(())
    });
}

#[test]
fn a_statement_of_a_session_that_writes_them_ends_it() {
    let config = Config::default().engine("two_phase_locking").threads(2);
    let db = open(config);
    let (one, other) = (db.session(), db.session());
    one.execute(SCHEMA).unwrap();
    one.execute("CALL pay(1)").unwrap();
    // A transaction that has read what nobody writes keeps it, whoever comes.
    one.execute("BEGIN; SELECT tax FROM house WHERE id = 2").unwrap();
    other.execute("BEGIN; UPDATE house SET tax = tax + 1 WHERE id = 1").unwrap();
    assert!(locks(&other));
    let text = "SET lock_timeout = 50; UPDATE house SET tax = 0 WHERE id = 2";
    let refused = other.execute(text).expect_err("the first one holds it");
    assert_eq!(refused.sqlstate(), Some("55P03"));
    other.execute("ROLLBACK").unwrap();
    one.execute("COMMIT").unwrap();
    other.execute("UPDATE house SET tax = 20 WHERE id = 2").unwrap();
    assert_eq!((tax(&one, 1), tax(&one, 2)), (7, 20));
    // Columns have other numbers now; what the statement writes is still counted as written.
    one.execute("ALTER TABLE house ADD COLUMN note text; ALTER TABLE house DROP COLUMN note")
        .unwrap();
    assert!(locks(&one));
    db.shutdown();
}

/// The first call of a transaction is planned: it holds what it reads all the same.
#[test]
fn a_first_call_of_a_transaction_keeps_what_it_has_read() {
    let db = open(Config::default().engine("two_phase_locking").threads(2));
    let (one, other) = (db.session(), db.session());
    one.execute(SCHEMA).unwrap();
    one.execute("BEGIN").unwrap();
    assert_eq!(tax(&one, 1), 7);
    let text = "SET lock_timeout = 50; UPDATE house SET tax = 0 WHERE id = 1";
    let refused = other.execute(text).expect_err("the first one holds it");
    assert_eq!(refused.sqlstate(), Some("55P03"));
    assert_eq!(tax(&one, 1), 7);
    one.execute("COMMIT").unwrap();
    db.shutdown();
}

#[test]
fn a_restart_finds_the_same() {
    let directory = Directory::new("unwritten-columns");
    let open = || {
        let config = Config::default().threads(1);
        hotrow::Database::open(&directory.0, config).expect("it opens")
    };
    let db = open();
    let session = db.session();
    session.execute(SCHEMA).unwrap();
    session.execute(SET_TAX).unwrap();
    session.execute("CALL pay(1); CALL set_tax(1, 8); CALL pay(2)").unwrap();
    session.execute("DROP PROCEDURE set_tax; CALL pay(1)").unwrap();
    db.shutdown();
    let db = open();
    let session = db.session();
    assert!(!locks(&session));
    assert_eq!(tax(&session, 1), 8);
    let rows = session.execute("SELECT ytd FROM house ORDER BY id").unwrap();
    let ytd: Vec<_> = rows[0].rows.iter().map(|row| row[0].to_string()).collect();
    assert_eq!(ytd, ["2", "1"]);
    db.shutdown();
}
