//! Advisory locks: who waits for whom, and when they end.

use std::thread;
use std::time::Duration;

use hotrow::{Config, Database, Session, TransactionState};

fn database() -> Database {
    let entry = hotrow::engines().iter().find(|entry| entry.locks_as_it_goes);
    let entry = entry.expect("there is such an engine");
    let config = Config::default().engine(entry.name).threads(entry.threads_near(2));
    Database::open_in_memory(config.memory_bytes(64 << 20)).expect("the configuration is right")
}

/// What a query says, or the code of its error.
fn said(session: &Session, query: &str) -> String {
    match session.execute(query) {
        Ok(results) => {
            let rows = results.last().expect("a statement").rows.iter();
            rows.flatten().map(ToString::to_string).collect::<Vec<_>>().join(",")
        }
        Err(error) => error.sqlstate().unwrap_or("?").to_owned(),
    }
}

#[test]
fn keys_are_held_by_one_or_shared() {
    let db = database();
    let (one, other) = (db.session(), db.session());
    for (session, query, expected) in [
        (&one, "SELECT pg_advisory_lock(1)", ""),
        (&other, "SELECT pg_try_advisory_lock(1)", "f"),
        (&other, "SELECT pg_try_advisory_lock_shared(1)", "f"),
        // Two halves are another key than a whole.
        (&other, "SELECT pg_try_advisory_lock(0, 1)", "t"),
        (&one, "SELECT pg_try_advisory_lock(0, 1)", "f"),
        // It counts.
        (&one, "SELECT pg_try_advisory_lock(1)", "t"),
        (&one, "SELECT pg_advisory_unlock(1)", "t"),
        (&other, "SELECT pg_try_advisory_lock(1)", "f"),
        (&one, "SELECT pg_advisory_unlock(1)", "t"),
        (&one, "SELECT pg_advisory_unlock(1)", "f"),
        (&one, "SELECT pg_advisory_lock_shared(2)", ""),
        (&other, "SELECT pg_try_advisory_lock_shared(2)", "t"),
        (&other, "SELECT pg_try_advisory_lock(2)", "f"),
        (&one, "SELECT pg_advisory_unlock(2)", "f"),
        (&one, "SELECT pg_advisory_unlock_shared(2)", "t"),
        (&other, "SELECT pg_try_advisory_lock(2)", "t"),
        (&other, "SELECT pg_advisory_unlock_all()", ""),
        (&one, "SELECT pg_try_advisory_lock(2)", "t"),
        (&one, "SELECT pg_try_advisory_lock(0, 1)", "t"),
        (&one, "SELECT pg_advisory_lock(NULL)", "NULL"),
        (&one, "SELECT pg_advisory_lock('x')", "22P02"),
        (&one, "SELECT pg_advisory_lock()", "42883"),
        (&one, "SELECT pg_advisory_lock(1, 2, 3)", "42883"),
        (&one, "SELECT pg_try_advisory_unlock(1)", "42883"),
    ] {
        assert_eq!(said(session, query), expected, "{query}");
    }
    one.discard_all().expect("outside a transaction");
    assert_eq!(said(&other, "SELECT pg_try_advisory_lock(2)"), "t", "it was given back");
}

#[test]
fn they_end_with_the_transaction_or_the_session() {
    let db = database();
    let (one, other) = (db.session(), db.session());
    let is_free = || {
        let is_free = said(&other, "SELECT pg_try_advisory_lock(1)") == "t";
        said(&other, "SELECT pg_advisory_unlock_all()");
        is_free
    };
    said(&one, "SELECT pg_advisory_xact_lock(1)");
    assert!(is_free(), "the statement was its transaction");
    for end in ["COMMIT", "ROLLBACK"] {
        said(&one, "BEGIN; SELECT pg_advisory_xact_lock(1)");
        assert_eq!(one.transaction_state(), TransactionState::Open);
        assert!(!is_free());
        assert_eq!(said(&one, "SELECT pg_advisory_unlock(1)"), "f", "not the session's");
        said(&one, end);
        assert!(is_free(), "{end}");
    }
    said(&one, "BEGIN; SELECT pg_advisory_xact_lock(1)");
    assert_eq!(said(&one, "SELECT 1 / 0"), "22012");
    said(&one, "ROLLBACK");
    assert!(is_free());
    said(&one, "BEGIN; SELECT pg_advisory_lock(1); ROLLBACK");
    assert!(!is_free(), "the session has it");
    drop(one);
    assert!(is_free());
}

#[test]
fn who_waits_gets_it_in_turn() {
    let db = database();
    let first = db.session();
    said(&first, "SELECT pg_advisory_lock(1)");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let session = db.session();
            said(&session, "SELECT pg_advisory_lock(1)");
            thread::sleep(Duration::from_millis(50));
            said(&session, "SELECT pg_advisory_unlock(1)")
        });
        thread::sleep(Duration::from_millis(100));
        assert!(!waiting.is_finished(), "it waits");
        // Nobody goes before who waits.
        let late = db.session();
        said(&first, "SELECT pg_advisory_unlock(1)");
        said(&late, "SELECT pg_advisory_lock(1)");
        assert!(waiting.is_finished() || said(&late, "SELECT pg_advisory_unlock(1)") == "t");
        assert_eq!(waiting.join().expect("it ends"), "t");
    });
}

#[test]
fn circles_and_time_outs_end() {
    let db = database();
    let (one, other) = (db.session(), db.session());
    said(&one, "SELECT pg_advisory_lock(1)");
    said(&other, "SELECT pg_advisory_lock(2); SET lock_timeout = '100ms'");
    assert_eq!(said(&other, "SELECT pg_advisory_lock(1)"), "55P03");
    said(&other, "SET lock_timeout = 0; SET statement_timeout = '100ms'");
    assert_eq!(said(&other, "SELECT pg_advisory_lock(1)"), "57014");
    said(&other, "SET statement_timeout = 0");
    let canceller = other.canceller();
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(Duration::from_millis(100));
            canceller.cancel();
        });
        assert_eq!(said(&other, "SELECT pg_advisory_lock(1)"), "57014");
    });
}

#[test]
fn a_circle_of_two_is_broken() {
    let db = database();
    let ends: Vec<String> = thread::scope(|scope| {
        let db = &db;
        let circle = move |first: i64, second: i64| {
            let session = db.session();
            said(&session, &format!("SELECT pg_advisory_lock({first})"));
            thread::sleep(Duration::from_millis(100));
            said(&session, &format!("SELECT pg_advisory_lock({second})"))
        };
        let threads = [scope.spawn(move || circle(1, 2)), scope.spawn(move || circle(2, 1))];
        threads.into_iter().map(|thread| thread.join().expect("it ends")).collect()
    });
    let broken = ends.iter().filter(|end| *end == "40P01").count();
    assert_eq!((broken, ends.iter().filter(|end| end.is_empty()).count()), (1, 1), "{ends:?}");
}

#[test]
fn who_ends_gives_back_his_own_and_no_others() {
    let db = database();
    let (one, other) = (db.session(), db.session());
    for key in 0..200 {
        assert_eq!(said(&one, &format!("SELECT pg_advisory_lock_shared({key})")), "");
        assert_eq!(said(&other, &format!("SELECT pg_advisory_lock_shared({key})")), "");
    }
    assert_eq!(said(&one, "SELECT pg_advisory_lock(7000)"), "");
    assert_eq!(said(&other, "SELECT pg_try_advisory_lock(7000)"), "f");
    drop(one);
    assert_eq!(said(&other, "SELECT pg_try_advisory_lock(7000)"), "t", "it is given back");
    let third = db.session();
    assert_eq!(said(&third, "SELECT pg_try_advisory_lock(100)"), "f", "the other has it still");
    assert_eq!(said(&other, "SELECT pg_advisory_unlock_all()"), "");
    assert_eq!(said(&third, "SELECT pg_try_advisory_lock(100)"), "t");
}
