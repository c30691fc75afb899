//! LISTEN and NOTIFY, with a real driver: who is sent what, and when.

use std::time::{Duration, Instant};

use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;

use crate::running::Running;
use hotrow_server::ServerOptions;

/// How long a notification is waited for that has to come.
const PATIENCE: Duration = Duration::from_secs(20);

/// What comes to a client, until so many have come.
fn heard(client: &mut Client, count: usize) -> Vec<String> {
    let mut all = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    while all.len() < count && Instant::now() < deadline {
        let mut notifications = client.notifications();
        let mut come = notifications.timeout_iter(PATIENCE);
        if let Some(of) = come.next().expect("the connection lives") {
            all.push(format!("{} {}", of.channel(), of.payload()));
        }
    }
    all
}

/// What has come by the time of a statement's answer.
fn heard_so_far(client: &mut Client) -> Vec<String> {
    client.batch_execute("SELECT 1").expect("it lives");
    let mut notifications = client.notifications();
    let come = notifications.iter();
    come.map(|of| Ok(format!("{} {}", of.channel(), of.payload()))).collect().expect("it lives")
}

fn say(client: &mut Client, script: &str) {
    client.batch_execute(script).unwrap_or_else(|error| panic!("{script}: {error}"));
}

#[test]
fn an_idle_client_is_sent_what_it_listens_to() {
    let server = Running::start(ServerOptions::default());
    let (mut listener, mut speaker) = (server.client(), server.client());
    say(&mut listener, "LISTEN news; LISTEN \"Other News\"");
    say(&mut speaker, "NOTIFY news, 'one'; NOTIFY elsewhere, 'none'; NOTIFY news");
    assert_eq!(heard(&mut listener, 2), ["news one", "news "]);
    let sent = speaker.query("SELECT pg_notify($1, $2)", &[&"Other News", &"it's"]);
    assert_eq!(sent.expect("it is sent").len(), 1);
    assert_eq!(heard(&mut listener, 1), ["Other News it's"]);
    say(&mut listener, "UNLISTEN news");
    say(&mut speaker, "NOTIFY news, 'two'; NOTIFY \"Other News\", 'three'");
    assert_eq!(heard(&mut listener, 1), ["Other News three"]);
    say(&mut listener, "UNLISTEN *");
    say(&mut speaker, "NOTIFY \"Other News\", 'four'");
    assert!(heard_so_far(&mut listener).is_empty());
}

#[test]
fn who_has_left_a_channel_is_not_cut_off_by_what_was_on_its_way() {
    let server = Running::start(ServerOptions::default());
    let (mut listener, mut speaker) = (server.client(), server.client());
    for limit in ["0", "'20s'"] {
        say(&mut listener, &format!("SET idle_session_timeout = {limit}; LISTEN news"));
        std::thread::scope(|scope| {
            let leaves = scope.spawn(|| say(&mut listener, "SELECT pg_sleep(0.4); UNLISTEN news"));
            std::thread::sleep(Duration::from_millis(100));
            say(&mut speaker, "NOTIFY news, 'late'");
            leaves.join().expect("it ends well");
        });
        std::thread::sleep(Duration::from_millis(50));
        say(&mut listener, "SELECT 1");
    }
}

#[test]
fn a_transaction_sends_each_text_once_and_when_it_commits() {
    let server = Running::start(ServerOptions::default());
    let (mut listener, mut speaker) = (server.client(), server.client());
    say(&mut listener, "LISTEN c");
    say(&mut speaker, "BEGIN; NOTIFY c, 'a'; NOTIFY c, 'b'; NOTIFY c, 'a'");
    assert!(heard_so_far(&mut listener).is_empty());
    say(&mut speaker, "SAVEPOINT s; NOTIFY c, 'c'; ROLLBACK TO s; NOTIFY c, 'd'; COMMIT");
    assert_eq!(heard(&mut listener, 3), ["c a", "c b", "c d"]);
    say(&mut speaker, "BEGIN; NOTIFY c, 'lost'; ROLLBACK; NOTIFY c, 'kept'");
    assert_eq!(heard(&mut listener, 1), ["c kept"]);
    // In a transaction nothing is told, and LISTEN counts from its end on.
    say(&mut listener, "BEGIN; LISTEN d");
    say(&mut speaker, "NOTIFY d, 'early'; NOTIFY c, 'meanwhile'");
    assert!(heard_so_far(&mut listener).is_empty());
    say(&mut listener, "COMMIT");
    say(&mut speaker, "NOTIFY d, 'late'");
    assert_eq!(heard(&mut listener, 2), ["c meanwhile", "d late"]);
}

#[test]
fn calls_send_what_they_have_said_if_they_commit() {
    let server = Running::start(ServerOptions::default());
    let (mut listener, mut speaker) = (server.client(), server.client());
    say(
        &mut speaker,
        "CREATE TABLE item (id bigint PRIMARY KEY, n bigint NOT NULL CHECK (n < 10));
         CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN PERFORM pg_notify('item', NEW.id || ' has ' || NEW.n); RETURN NEW; END $$;
         CREATE TRIGGER tell AFTER INSERT OR UPDATE ON item FOR EACH ROW EXECUTE FUNCTION told();
         CREATE FUNCTION put(key bigint, number bigint) RETURNS void LANGUAGE plpgsql AS $$
         BEGIN
           NOTIFY puts, 'begins';
           INSERT INTO item VALUES (key, number)
             ON CONFLICT (id) DO UPDATE SET n = excluded.n;
           BEGIN
             PERFORM pg_notify('puts', 'taken back');
             RAISE EXCEPTION 'no';
           EXCEPTION WHEN raise_exception THEN
             PERFORM pg_notify('puts', 'caught');
           END;
         END $$;",
    );
    say(&mut listener, "LISTEN item; LISTEN puts");
    say(&mut speaker, "SELECT put(1, 2)");
    assert_eq!(heard(&mut listener, 3), ["puts begins", "item 1 has 2", "puts caught"]);
    speaker.batch_execute("SELECT put(1, 99)").expect_err("it violates CHECK");
    say(&mut speaker, "INSERT INTO item VALUES (2, 3)");
    assert_eq!(heard(&mut listener, 1), ["item 2 has 3"]);
    for (script, code) in [
        ("SELECT pg_notify('', 'x')", "22023"),
        ("SELECT pg_notify(repeat('c', 64), 'x')", "22023"),
        ("SELECT pg_notify('c', repeat('x', 8000))", "22023"),
        ("SELECT pg_notify('c', n::text) FROM item", "0A000"),
    ] {
        let error = speaker.batch_execute(script).expect_err(script);
        assert_eq!(error.code().map(|code| code.code()), Some(code), "{script}");
    }
    say(
        &mut speaker,
        "SELECT pg_notify('item', repeat('x', 7999)); SELECT pg_notify('item', NULL)",
    );
    let heard = heard(&mut listener, 2);
    assert_eq!(heard.iter().map(String::len).collect::<Vec<_>>(), [7999 + 5, 5]);
}

#[test]
fn who_takes_no_notifications_loses_the_connection_and_nobody_else_anything() {
    let server = Running::start(ServerOptions::default());
    let (mut listener, mut speaker) = (server.client(), server.client());
    let mut other = server.client();
    say(&mut listener, "LISTEN flood");
    say(&mut other, "LISTEN flood");
    // In a transaction a client is told nothing, so that they wait for it.
    say(&mut listener, "BEGIN");
    let mut sent = 0;
    for round in 0..300 {
        let text = format!(
            "DO $$ DECLARE t text := repeat('x', 7900); BEGIN \
             FOR i IN 1..10 LOOP PERFORM pg_notify('flood', t || {round} || '/' || i); END LOOP; \
             END $$"
        );
        say(&mut speaker, &text);
        sent += 10;
        assert_eq!(heard(&mut other, 10).len(), 10);
    }
    assert_eq!(sent, 3000);
    let ended = listener.batch_execute("COMMIT").and_then(|()| listener.batch_execute("SELECT 1"));
    let error = ended.expect_err("it has lost some");
    assert!(error.is_closed() || error.code().map(|code| code.code()) == Some("54000"), "{error}");
}
