//! Transactions that wait for each other in a circle: wherever the locks are, the youngest is
//! undone at once, and nobody else.
//!
//! Each circle is closed by each of its transactions once. Nobody asks for a time-out but for the
//! one that ends a test in which a circle is not found.

use std::thread;

use hotrow::{Config, Database, Session};

use super::{interactive_engines, said};
use crate::every_engine::open;

const TABLES: &str = "
CREATE TABLE a (id bigint PRIMARY KEY, n bigint NOT NULL);
CREATE TABLE b (id bigint PRIMARY KEY, n bigint NOT NULL);
CREATE TABLE c (id bigint PRIMARY KEY, n bigint NOT NULL);
INSERT INTO a SELECT g * 10, 0 FROM generate_series(1, 9) AS g;
INSERT INTO b SELECT g * 10, 0 FROM generate_series(1, 9) AS g;
INSERT INTO c SELECT g * 10, 0 FROM generate_series(1, 9) AS g;
CREATE FUNCTION bump(k bigint) RETURNS bigint AS $$
DECLARE result bigint;
BEGIN
  UPDATE a SET n = n + 1 WHERE id = k RETURNING n INTO result;
  RETURN result;
END $$ LANGUAGE plpgsql;
CREATE FUNCTION total() RETURNS bigint AS $$
DECLARE result bigint;
BEGIN
  SELECT sum(n) INTO result FROM a;
  RETURN result;
END $$ LANGUAGE plpgsql;
";

/// What a client says: what it gets at once, and what it then waits for.
struct Client {
    has: &'static str,
    wants: &'static str,
}

const fn client(has: &'static str, wants: &'static str) -> Client {
    Client { has, wants }
}

/// Waits until a session waits for a lock.
fn wait_until_blocked(watcher: &Session, number: usize) {
    let query = format!("SELECT pg_isolation_test_session_is_blocked({number}, '{{}}')::int");
    while super::integers(watcher, &query) != [1] {
        thread::yield_now();
    }
}

fn identified(db: &Database, number: usize) -> Session {
    let session = db.session();
    session.identify("tester", "app", number as i32);
    // Nobody of a circle waits so long, but for one that is not found.
    session.execute("SET statement_timeout = '60s'").expect("it is a setting");
    session
}

/// Has the clients, the oldest first, wait for each other, the one in place `last` as the last.
/// `between`: what is begun when all have what they have, and ends well.
fn close(config: &Config, clients: &[Client], last: usize, between: Option<&str>) {
    let db = open(config.clone());
    let watcher = db.session();
    watcher.execute(TABLES).expect("the tables are made");
    let sessions: Vec<_> = (1..=clients.len()).map(|number| identified(&db, number)).collect();
    for (session, client) in sessions.iter().zip(clients) {
        said(session, "BEGIN");
        session.execute(client.has).unwrap_or_else(|error| panic!("{}: {error}", client.has));
    }
    thread::scope(|scope| {
        let beside = between.map(|script| {
            let number = clients.len() + 1;
            let session = identified(&db, number);
            let beside = scope.spawn(move || said(&session, script));
            while db.status().parked == 0 {
                thread::yield_now();
            }
            beside
        });
        let order = (0..clients.len()).filter(|&number| number != last).chain([last]);
        let mut waits = Vec::new();
        let mut sessions: Vec<_> = sessions.into_iter().map(Some).collect();
        for number in order {
            let session = sessions[number].take().expect("each waits once");
            let wants = clients[number].wants;
            waits.push((
                number,
                scope.spawn(move || {
                    let said_now = said(&session, wants);
                    let ended = said(&session, "COMMIT");
                    (said_now, ended)
                }),
            ));
            if number != last {
                wait_until_blocked(&watcher, number + 1);
            }
        }
        for (number, wait) in waits {
            let (now, ended) = wait.join().expect("it ends well");
            let is_youngest = number + 1 == clients.len();
            let wants = clients[number].wants;
            assert_eq!(now == "40P01", is_youngest, "{number} of {last}: {wants}: {now}");
            let expected = if is_youngest { "ROLLBACK" } else { "COMMIT" };
            assert_eq!(ended, expected, "{number} of {last}: {wants}: {now}");
        }
        if let Some(beside) = beside {
            let ended = beside.join().expect("it ends well");
            assert!(ended == "CALL" || ended == "SELECT 1", "{ended}");
        }
    });
}

fn check(clients: &[Client]) {
    check_around(clients, None);
}

fn check_around(clients: &[Client], between: Option<&str>) {
    interactive_engines(|config| {
        for last in 0..clients.len() {
            close(&config, clients, last, between);
        }
        Ok(())
    });
}

#[test]
fn of_rows() {
    check(&[
        client("UPDATE a SET n = 1 WHERE id = 10", "UPDATE a SET n = 1 WHERE id = 20"),
        client("UPDATE a SET n = 2 WHERE id = 20", "UPDATE a SET n = 2 WHERE id = 10"),
    ]);
}

#[test]
fn of_three_tables() {
    check(&[
        client("UPDATE a SET n = 1 WHERE id = 10", "SELECT count(*), sum(n) FROM b"),
        client("UPDATE b SET n = 1 WHERE id = 20", "UPDATE c SET n = 2 WHERE id = 30"),
        client("UPDATE c SET n = 1 WHERE id = 30", "SELECT n FROM a WHERE id = 10"),
    ]);
}

#[test]
fn of_tables_that_are_read_whole_and_written_to() {
    check(&[
        client("SELECT count(*), sum(n) FROM a", "INSERT INTO b VALUES (1, 1)"),
        client("SELECT count(*), sum(n) FROM b", "INSERT INTO a VALUES (1, 1)"),
    ]);
}

#[test]
fn of_intents() {
    check(&[
        client("INSERT INTO a VALUES (1, 1)", "SELECT count(*), sum(n) FROM b"),
        client("INSERT INTO b VALUES (1, 1)", "SELECT count(*), sum(n) FROM a"),
    ]);
}

#[test]
fn of_a_table_and_a_row() {
    check(&[
        client("SELECT count(*), sum(n) FROM a", "UPDATE b SET n = 1 WHERE id = 10"),
        client("UPDATE b SET n = 2 WHERE id = 10", "UPDATE a SET n = 2 WHERE id = 10"),
    ]);
}

#[test]
fn of_conversions() {
    check(&[
        client("SELECT n FROM a WHERE id = 10", "UPDATE a SET n = 1 WHERE id = 10"),
        client("SELECT n FROM a WHERE id = 10", "UPDATE a SET n = 2 WHERE id = 10"),
    ]);
    check(&[
        client("SELECT count(*), sum(n) FROM a", "UPDATE a SET n = 1 WHERE id = 10"),
        client("SELECT count(*), sum(n) FROM a", "UPDATE a SET n = 2 WHERE id = 20"),
    ]);
}

#[test]
fn of_gaps() {
    check(&[
        client("SELECT n FROM a WHERE id = 11", "INSERT INTO a VALUES (12, 1)"),
        client("SELECT n FROM a WHERE id = 13", "INSERT INTO a VALUES (14, 1)"),
    ]);
}

#[test]
fn of_three() {
    check(&[
        client("UPDATE a SET n = 1 WHERE id = 10", "UPDATE a SET n = 1 WHERE id = 20"),
        client("UPDATE a SET n = 2 WHERE id = 20", "SELECT pg_advisory_lock(3)"),
        client("SELECT pg_advisory_xact_lock(3)", "UPDATE a SET n = 3 WHERE id = 10"),
    ]);
}

#[test]
fn of_advisory_locks() {
    check(&[
        client("SELECT pg_advisory_xact_lock(1)", "SELECT pg_advisory_xact_lock(2)"),
        client("SELECT pg_advisory_xact_lock(2)", "SELECT pg_advisory_xact_lock(1)"),
    ]);
    check(&[
        client("SELECT pg_advisory_xact_lock(1)", "UPDATE a SET n = 1 WHERE id = 10"),
        client("UPDATE a SET n = 2 WHERE id = 10", "SELECT pg_advisory_xact_lock(1)"),
    ]);
    check(&[
        client("UPDATE a SET n = 1 WHERE id = 10", "SELECT pg_advisory_xact_lock(1)"),
        client("SELECT pg_advisory_xact_lock(1)", "UPDATE a SET n = 2 WHERE id = 10"),
    ]);
}

/// A session keeps its own advisory lock when its statement is undone; so that fails, rather than
/// to be repeated unseen, and others wait until it gives the lock back.
#[test]
fn of_an_advisory_lock_of_a_session_and_a_row() {
    interactive_engines(|config| {
        for waits_last in [0, 1] {
            let db = open(config.clone());
            let watcher = db.session();
            watcher.execute(TABLES)?;
            let (older, younger) = (identified(&db, 1), identified(&db, 2));
            older.execute("BEGIN; UPDATE a SET n = 1 WHERE id = 10")?;
            younger.execute("SELECT pg_advisory_lock(1)")?;
            thread::scope(|scope| {
                let get_lock = || {
                    scope.spawn(move || {
                        let got = said(&older, "SELECT pg_advisory_lock(1)");
                        (got, said(&older, "COMMIT"))
                    })
                };
                let update = || {
                    scope.spawn(move || {
                        let ended = said(&younger, "UPDATE a SET n = 2 WHERE id = 10");
                        (ended, said(&younger, "SELECT pg_advisory_unlock(1)"))
                    })
                };
                let (first, second) = if waits_last == 0 {
                    let first = get_lock();
                    wait_until_blocked(&watcher, 1);
                    (first, update())
                } else {
                    let second = update();
                    wait_until_blocked(&watcher, 2);
                    (get_lock(), second)
                };
                let second = second.join().expect("it ends well");
                assert_eq!(second, ("40P01".to_owned(), "SELECT 1".to_owned()));
                let first = first.join().expect("it ends well");
                assert_eq!(first, ("SELECT 1".to_owned(), "COMMIT".to_owned()));
            });
        }
        Ok(())
    });
}

/// A call that wants a row which somebody has read is outside, and who comes behind it waits for
/// it, as it does for the reader.
#[test]
fn through_a_parked_call() {
    check_around(
        &[
            client("SELECT n FROM a WHERE id = 10", "UPDATE a SET n = 2 WHERE id = 20"),
            client("UPDATE a SET n = 1 WHERE id = 20", "SELECT n FROM a WHERE id = 10"),
        ],
        Some("SELECT bump(10)"),
    );
}

/// As before, of a call that wants a table as a whole: new writers wait behind it.
#[test]
fn through_a_parked_call_that_wants_a_table() {
    check_around(
        &[
            client("UPDATE a SET n = 1 WHERE id = 10", "UPDATE b SET n = 2 WHERE id = 20"),
            client("UPDATE b SET n = 1 WHERE id = 20", "UPDATE a SET n = 3 WHERE id = 30"),
        ],
        Some("SELECT total()"),
    );
}
