//! What a client may do to its own statements and not to others', and how long it may take.

mod running;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use hotrow_server::ServerOptions;
use postgres::{Client, NoTls};
use running::Running;

/// What a test waits for at most.
const LONG: Duration = Duration::from_secs(30);

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
