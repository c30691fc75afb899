//! What a client may do to its own statements and not to others', and how long it may take.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::running::Running;
use crate::running::raw::{PATIENCE as LONG, Raw, query};
use hotrow_server::ServerOptions;
use postgres::{Client, NoTls};

fn code(error: &postgres::Error) -> String {
    error.code().map_or_else(|| format!("{error:?}"), |code| code.code().to_owned())
}

#[test]
fn a_statement_is_cancelled_by_who_knows_its_secret() {
    let server = Running::start(ServerOptions::default());
    let (mut client, mut other) = (server.client(), server.client());
    let number: i32 = client.query_one("SELECT pg_backend_pid()", &[]).expect("it is").get(0);
    let token = client.cancel_token();
    let began = Instant::now();
    let (error, mut client) = std::thread::scope(|scope| {
        let sleeper = scope.spawn(move || {
            let error = client.batch_execute("SELECT pg_sleep(3600)").expect_err("cancelled");
            (error, client)
        });
        // Anybody else's request does nothing, whatever it guesses.
        for secret in [0_i32, number, -1] {
            let mut stream = TcpStream::connect(server.address).expect("it listens");
            let mut request = Vec::new();
            for int in [16, 80_877_102, number, secret] {
                request.extend_from_slice(&int.to_be_bytes());
            }
            stream.write_all(&request).expect("it reads");
            assert_eq!(stream.read(&mut [0; 8]).expect("it is closed"), 0, "without a word");
        }
        std::thread::sleep(Duration::from_millis(50));
        assert!(!sleeper.is_finished(), "nobody knew its secret");
        while !sleeper.is_finished() {
            assert!(began.elapsed() < LONG);
            token.cancel_query(NoTls).expect("it is taken");
            std::thread::sleep(Duration::from_millis(5));
        }
        sleeper.join().expect("it ends well")
    });
    assert_eq!(code(&error), "57014");
    // One that comes when nothing runs hits nothing that comes later.
    token.cancel_query(NoTls).expect("it is taken");
    std::thread::sleep(Duration::from_millis(50));
    client.batch_execute("SELECT 1").expect("it was not running then");
    other.batch_execute("SELECT 1").expect("it was not meant");
}

#[test]
fn limits_of_time_are_settings() {
    let server = Running::start(ServerOptions::default());
    let options = "-c statement_timeout=20ms";
    let port = server.address.port();
    let parameters = format!("host=127.0.0.1 port={port} user=me options='{options}'");
    let mut client = Client::connect(&parameters, NoTls).expect("it is let in");
    let error = client.batch_execute("SELECT pg_sleep(3600)").expect_err("it takes too long");
    assert_eq!(code(&error), "57014");
    client.batch_execute("SET statement_timeout = 0; SET lock_timeout = '20ms'").expect("set");
    let mut holder = server.client();
    holder
        .batch_execute("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)")
        .expect("it is made");
    holder.batch_execute("BEGIN; UPDATE t SET n = 1 WHERE id = 1").expect("it is there");
    let error = client.batch_execute("UPDATE t SET n = 2 WHERE id = 1").expect_err("locked");
    assert_eq!(code(&error), "55P03");
    holder.batch_execute("COMMIT").expect("it ends");
    client.batch_execute("UPDATE t SET n = 2 WHERE id = 1").expect("it is free");
}

/// What a connection says when it ends by itself.
fn last_words(client: &mut Client) -> String {
    std::thread::sleep(Duration::from_millis(10));
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < LONG, "it does not end");
        if let Err(error) = client.batch_execute("") {
            return code(&error);
        }
        // Silence again: the limit is far shorter.
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn silence_in_a_transaction_ends_the_connection_and_frees_what_it_held() {
    let server = Running::start(ServerOptions::default());
    let (mut silent, mut other) = (server.client(), server.client());
    silent
        .batch_execute("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)")
        .expect("it is made");
    silent.batch_execute("SET idle_in_transaction_session_timeout = '50ms'").expect("it is set");
    // Outside transactions it may be silent.
    std::thread::sleep(Duration::from_millis(150));
    silent.batch_execute("BEGIN; UPDATE t SET n = 1 WHERE id = 1").expect("it is there");
    other.batch_execute("UPDATE t SET n = n + 5 WHERE id = 1").expect("it is free some day");
    let n: i32 = other.query_one("SELECT n FROM t WHERE id = 1", &[]).expect("it is").get(0);
    assert_eq!(n, 5, "the silent one was rolled back");
    assert_eq!(last_words(&mut silent), "25P03");
    assert!(silent.is_closed());
}

#[test]
fn silence_outside_transactions_ends_the_connection_if_it_is_asked_for() {
    let server = Running::start(ServerOptions::default());
    let mut silent = server.client();
    silent.batch_execute("SET idle_session_timeout = '50ms'").expect("it is set");
    silent.batch_execute("BEGIN").expect("it begins");
    std::thread::sleep(Duration::from_millis(150));
    silent.batch_execute("COMMIT").expect("inside, that limit does not hold");
    assert_eq!(last_words(&mut silent), "57P05");
}

#[test]
fn a_connection_is_ended_by_another_one() {
    let server = Running::start(ServerOptions::default());
    let (mut client, mut other) = (server.client(), server.client());
    let number: i32 = client.query_one("SELECT pg_backend_pid()", &[]).expect("it is").get(0);
    let error = std::thread::scope(|scope| {
        let sleeper = scope.spawn(move || client.batch_execute("SELECT pg_sleep(3600)"));
        std::thread::sleep(Duration::from_millis(50));
        let ended: bool =
            other.query_one("SELECT pg_terminate_backend($1)", &[&number]).expect("it is").get(0);
        assert!(ended);
        sleeper.join().expect("it ends well").expect_err("it was ended")
    });
    assert_eq!(code(&error), "57P01");
    let began = Instant::now();
    loop {
        let ended = other.query_one("SELECT pg_terminate_backend($1)", &[&number]);
        if !ended.expect("it is").get::<_, bool>(0) {
            break;
        }
        assert!(began.elapsed() < LONG, "it does not end");
    }
}

#[test]
fn a_copy_whose_client_is_silent_is_cancelled() {
    let server = Running::start(ServerOptions::default());
    let mut client = server.client();
    client.batch_execute("CREATE TABLE t (id int PRIMARY KEY)").expect("it is made");
    client.batch_execute("SET statement_timeout = '50ms'").expect("it is set");
    let mut rows = client.copy_in("COPY t FROM STDIN").expect("it begins");
    rows.write_all(b"1\n").expect("it is taken");
    rows.flush().expect("it is sent");
    std::thread::sleep(Duration::from_millis(500));
    let error = rows.write_all(b"2\n").and_then(|()| rows.flush());
    let error = match error {
        Err(error) => {
            drop(rows);
            error.to_string()
        }
        Ok(()) => code(&rows.finish().expect_err("it took too long")),
    };
    assert!(error.contains("57014") || error.contains("statement timeout"), "{error}");
    client.batch_execute("SET statement_timeout = 0").expect("the connection goes on");
    let rows = client.query("SELECT id FROM t", &[]).expect("it is right");
    assert!(rows.is_empty(), "all rows or none");
}

/// A server with one row, which a connection has changed and not committed.
fn with_a_held_row(options: ServerOptions) -> (Running, Client, Raw) {
    let server = Running::start(options);
    let mut client = server.client();
    client
        .batch_execute("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)")
        .expect("it is made");
    let mut holder = Raw::begin(server.address).expect("it is let in");
    holder.values("BEGIN; UPDATE t SET n = 1 WHERE id = 1");
    client.batch_execute("SET lock_timeout = '30s'").expect("it is set");
    (server, client, holder)
}

fn take_the_row(client: &mut Client) {
    client.batch_execute("UPDATE t SET n = n + 5 WHERE id = 1").expect("it is let go of");
    let n: i32 = client.query_one("SELECT n FROM t WHERE id = 1", &[]).expect("it is").get(0);
    assert_eq!(n, 5, "what the other one did is undone");
}

#[test]
fn a_client_that_dies_in_a_transaction_lets_go_of_everything() {
    let (_server, mut client, holder) = with_a_held_row(ServerOptions::default());
    drop(holder);
    take_the_row(&mut client);
}

#[test]
fn a_client_that_dies_in_a_message_lets_go_of_everything() {
    let (_server, mut client, mut holder) = with_a_held_row(ServerOptions::default());
    holder.send(&query("COMMIT")[..8]).expect("it reads");
    drop(holder);
    take_the_row(&mut client);
}

#[test]
fn a_message_that_does_not_end_is_silence() {
    let (_server, mut client, mut holder) = with_a_held_row(ServerOptions::default());
    holder.values("SET idle_in_transaction_session_timeout = 100");
    holder.send(&query("COMMIT")[..8]).expect("it reads");
    take_the_row(&mut client);
    let mut told = Vec::new();
    holder.stream.read_to_end(&mut told).expect("it is closed");
    assert!(String::from_utf8_lossy(&told).contains("25P03"), "{told:?}");
}

#[test]
fn a_client_that_does_not_read_its_answer_is_cut_off() {
    let send_patience = Duration::from_millis(200);
    let options = ServerOptions { send_patience, ..ServerOptions::default() };
    let (_server, mut client, mut holder) = with_a_held_row(options);
    // 40 MB: more than the system keeps for a socket.
    let long = "x".repeat(400_000);
    let large = format!("SELECT '{long}' FROM generate_series(1, 100)");
    holder.send(&query(&large)).expect("it reads");
    take_the_row(&mut client);
}

#[test]
fn prepared_statements_and_portals_take_so_much_and_no_more() {
    let server = Running::start(ServerOptions::default());
    let mut client = server.client();
    let long = "x".repeat(1_000_000);
    let mut kept = Vec::new();
    let refused = loop {
        match client.prepare(&format!("SELECT '{long}' || {}", kept.len())) {
            Ok(statement) => kept.push(statement),
            Err(error) => break error,
        }
        assert!(kept.len() < 100, "it is never enough");
    };
    assert_eq!(code(&refused), "53200");
    assert!(kept.len() > 50, "{}", kept.len());
    drop(kept);
    client.batch_execute("SELECT 1").expect("the connection goes on");
    let echo = client.prepare("SELECT $1::text").expect("there is room again");
    let value = "x".repeat(10_000_000);
    let mut transaction = client.transaction().expect("it begins");
    let mut portals = Vec::new();
    let refused = loop {
        match transaction.bind(&echo, &[&value]) {
            Ok(portal) => portals.push(portal),
            Err(error) => break error,
        }
        assert!(portals.len() < 10, "it is never enough");
    };
    assert_eq!((code(&refused), portals.len()), ("53200".to_owned(), 6));
}
