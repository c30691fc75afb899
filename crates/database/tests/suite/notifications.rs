//! Notifications of sessions, of an embedded database: when they are given, and that a restart
//! sends none.

use hotrow::{Config, Database, EngineEntry, Session};

use crate::scratch::Directory;

fn open(directory: &Directory, engine: &EngineEntry) -> Database {
    let config = Config::default().engine(engine.name).threads(engine.threads_near(2));
    Database::open(&directory.0, config).expect("open")
}

/// What a session is given once all is durable.
fn taken(session: &Session) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let come = session.notifications().expect("none is lost");
        all.extend(come.into_iter().map(|of| format!("{} {}", of.channel, of.payload)));
        if !session.waits_for_notifications() {
            return all;
        }
        std::thread::yield_now();
    }
}

const DEFINITIONS: &str = "
CREATE TABLE t (id bigint PRIMARY KEY);
CREATE FUNCTION put(key bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO t VALUES (key);
  PERFORM pg_notify('t', key::text);
  RETURN key;
END $$;";

#[test]
fn calls_of_every_kind_send_once_and_restarts_never() {
    for engine in hotrow::engines() {
        check(engine);
    }
}

fn check(engine: &EngineEntry) {
    let directory = Directory::new("notifications");
    let db = open(&directory, engine);
    let (listener, session) = (db.session(), db.session());
    listener.execute("LISTEN t").expect("it listens");
    session.execute(DEFINITIONS).expect("they are made");
    session.call("put", (1_i64,)).expect("it is put");
    session.call("put", (1_i64,)).expect_err("it is there");
    session.call_once("key", "put", (2_i64,)).expect("it is put");
    session.call_once("key", "put", (2_i64,)).expect("it was put");
    session.submit("put", (3_i64,)).wait().expect("it is put");
    session.procedure("put").expect("there is one").call((4_i64,)).expect("it is put");
    session.execute("SELECT put(5); BEGIN; SELECT put(6); SELECT put(7); COMMIT").expect("put");
    session.execute("BEGIN; SELECT put(8); ROLLBACK").expect("taken back");
    let put = ["t 1", "t 2", "t 3", "t 4", "t 5", "t 6", "t 7"];
    assert_eq!(taken(&listener), put);
    assert!(taken(&session).is_empty());
    drop((listener, session));
    db.shutdown();
    let db = open(&directory, engine);
    let listener = db.session();
    listener.execute("LISTEN t").expect("it listens");
    assert!(taken(&listener).is_empty());
    db.session().call("put", (9_i64,)).expect("it is put");
    assert_eq!(taken(&listener), ["t 9"]);
    db.shutdown();
}
