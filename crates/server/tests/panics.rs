//! A panic ends one statement, or one session, or the process: never less than what it may have
//! left half done, and never more.

// Points at which something panics are there with these only.
#![cfg(debug_assertions)]

mod running;

use std::process::Command;

use hotrow::{Config, Database};
use hotrow_base::panics;
use hotrow_server::ServerOptions;
use postgres::Client;
use running::Running;
use running::raw::{Raw, query};

const TABLES: &str = "
    CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL);
    INSERT INTO counter VALUES (1, 0), (2, 0);
    CREATE FUNCTION bump(p_id bigint, p_text text) RETURNS bigint AS $$
    DECLARE result bigint;
    BEGIN
      UPDATE counter SET n = n + length(p_text) WHERE id = p_id;
      UPDATE counter SET n = n + length(repeat(p_text, 2)) WHERE id = p_id
        RETURNING n INTO result;
      RETURN result;
    END $$ LANGUAGE plpgsql;";

fn code(error: &postgres::Error) -> Option<&str> {
    error.code().map(postgres::error::SqlState::code)
}

fn number(client: &mut Client, id: i64) -> i64 {
    client.query_one("SELECT n FROM counter WHERE id = $1", &[&id]).expect("it is there").get(0)
}

#[test]
fn panics_end_what_they_must_and_nothing_else() {
    let server = Running::start(ServerOptions::default());
    let mut other = server.client();
    other.batch_execute(TABLES).expect("tables are made");
    let before = panics::count();
    let mut expected = 0;
    // Each ends its statement with XX000 and takes its transaction back; the session goes on.
    for (point, statement) in [
        ("parse", "SELECT 1"),
        ("query", "SELECT count(*) FROM pg_catalog.pg_class"),
        ("function", "SELECT upper('a')"),
        ("function", "SELECT bump(1, 'a')"),
        (
            "operators",
            "DO $$ BEGIN UPDATE counter SET n = 1 WHERE id = 1;
             PERFORM 1 FROM counter a JOIN counter b ON b.id = a.n; END $$",
        ),
        ("function", "DO $$ BEGIN UPDATE counter SET n = length('abc') WHERE id = 1; END $$"),
    ] {
        let mut client = server.client();
        client.batch_execute("BEGIN; UPDATE counter SET n = 100 WHERE id = 2").expect("it runs");
        for in_transaction in [true, false] {
            panics::point::arm(point);
            let error = client.batch_execute(statement).expect_err(statement);
            assert_eq!(code(&error), Some("XX000"), "{statement}: {error:?}");
            expected += 1;
            if in_transaction {
                client.batch_execute("ROLLBACK").expect("the session goes on");
            }
        }
        assert_eq!((number(&mut other, 1), number(&mut client, 2)), (0, 0), "{statement}");
    }
    // A panic while an answer is written ends the session: half a message may have gone.
    // The driver says no more than that the connection is closed when it meets the error and the
    // end at once; what the server said is read here byte by byte.
    let mut client = Raw::begin(server.address).expect("it is let in");
    client.values("BEGIN; UPDATE counter SET n = 100 WHERE id = 2");
    panics::point::arm("answer");
    client.send(&query("SELECT 1").repeat(10_000)).expect("it is sent");
    let said = client.last_words().expect("it is closed in order");
    assert_eq!((said.code.as_deref(), said.values.len()), (Some("XX000"), 0));
    assert_eq!(number(&mut other, 2), 0, "what it held is free, and what it did is undone");
    assert_eq!(panics::count() - before, expected + 1);
    assert_eq!(other.query_one("SELECT bump(1, 'a')", &[]).expect("it runs").get::<_, i64>(0), 3);
}

const CHILD: &str = "HOTROW_TEST_PANICS_IN_COMMIT";

#[test]
fn a_panic_in_commit_ends_the_process_before_anything_is_answered() {
    if std::env::var_os(CHILD).is_some() {
        let db = Database::open_in_memory(Config::default().threads(1)).expect("it opens");
        let session = db.session();
        session.execute(TABLES).expect("tables are made");
        panics::point::arm("commit");
        let called = session.call("bump", (1_i64, "a"));
        println!("answered: {called:?}");
        return;
    }
    let own = std::env::current_exe().expect("it runs");
    let name = "a_panic_in_commit_ends_the_process_before_anything_is_answered";
    let output = Command::new(own)
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .output()
        .expect("it can be started");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (said(&output.stdout), said(&output.stderr));
    assert!(!output.status.success() && !out.contains("answered: "), "{out}{err}");
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        const SIGABRT: i32 = 6;
        assert_eq!(output.status.signal(), Some(SIGABRT), "{out}{err}");
    }
    assert!(err.contains("a test has it panic: commit"), "{err}");
}
