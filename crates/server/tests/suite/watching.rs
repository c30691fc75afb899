//! What machines see that watch a server: /metrics, /live, /ready.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::running::Running;
use hotrow_server::ServerOptions;

fn start() -> (Running, SocketAddr) {
    let http = Some(([127, 0, 0, 1], 0).into());
    let server = Running::start(ServerOptions { http, ..ServerOptions::default() });
    let http = server.http.expect("it answers");
    (server, http)
}

/// Sends bytes and reads what comes until the end.
fn exchange(to: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(to).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("it can be set");
    stream.write_all(bytes).expect("it reads");
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "it is cut off"),
    }
    String::from_utf8(answer).expect("it is text")
}

fn get(to: SocketAddr, path: &str) -> String {
    exchange(to, format!("GET {path} HTTP/1.1\r\nHost: hotrow\r\n\r\n").as_bytes())
}

/// The figures, by name and labels.
fn figures(to: SocketAddr) -> HashMap<String, f64> {
    let answer = get(to, "/metrics");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("Content-Type: application/openmetrics-text; version=1.0.0"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
    assert!(body.ends_with("# EOF\n"));
    let figure = |line: &str| {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        (name.to_owned(), value.parse().expect("a number"))
    };
    body.lines().filter(|line| !line.starts_with('#')).map(figure).collect()
}

#[test]
fn figures_tell_what_was_done() {
    let (server, http) = start();
    let mut client = server.client();
    client
        .batch_execute(
            "CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL CHECK (n < 10));
             INSERT INTO counter VALUES (1, 0);
             CREATE FUNCTION bump(amount bigint) RETURNS bigint LANGUAGE plpgsql AS $$
             DECLARE v bigint;
             BEGIN
                 UPDATE counter SET n = n + amount WHERE id = 1 RETURNING n INTO v;
                 RETURN v;
             END $$;",
        )
        .expect("it is made");
    let before = figures(http);
    assert!(!before.keys().any(|name| name.contains("bump")), "nobody has called it");
    for _ in 0..5 {
        client.query("SELECT bump(1)", &[]).expect("there is room");
    }
    client.query("SELECT bump(100)", &[]).expect_err("there is none");
    let _other = server.client();
    let after = figures(http);
    let told = |name: &str| after.get(name).copied().unwrap_or_else(|| panic!("{name}: {after:?}"));
    assert_eq!(told("hotrow_calls_total{procedure=\"bump\",end=\"done\"}"), 5.0);
    assert_eq!(told("hotrow_calls_total{procedure=\"bump\",end=\"failed\"}"), 1.0);
    assert_eq!(told("hotrow_engine_calls_total{end=\"committed\"}"), 5.0);
    assert_eq!(told("hotrow_call_seconds_count{procedure=\"bump\"}"), 6.0);
    assert_eq!(told("hotrow_call_seconds_bucket{le=\"+Inf\",procedure=\"bump\"}"), 6.0);
    let sum = told("hotrow_call_seconds_sum{procedure=\"bump\"}");
    let phases = ["queue", "plan", "lock", "execute", "reply", "log"].map(|phase| {
        told(&format!("hotrow_call_phase_seconds_total{{procedure=\"bump\",phase=\"{phase}\"}}"))
    });
    assert!(sum > 0.0 && (phases.iter().sum::<f64>() - sum).abs() < 1e-9, "{phases:?} {sum}");
    assert_eq!(told("hotrow_connections"), 2.0);
    assert_eq!(told("hotrow_connections_accepted_total"), 2.0);
    assert_eq!(told("hotrow_statements_total{end=\"failed\"}"), 1.0);
    assert!(told("hotrow_uptime_seconds") > 0.0 && told("hotrow_memory_bytes") > 0.0);
    assert!(!after.contains_key("hotrow_log_bytes_total"), "there is no log in memory");
    assert!(after.keys().any(|name| name.starts_with("hotrow_build_info{version=")), "{after:?}");
}

#[test]
fn it_is_alive_and_ready_until_it_is_told_to_stop() {
    let (server, http) = start();
    let status = |path| get(http, path).lines().next().unwrap_or_default().to_owned();
    assert_eq!(status("/live"), "HTTP/1.1 200 OK");
    assert_eq!(status("/ready?verbose=1"), "HTTP/1.1 200 OK");
    // A statement that goes on keeps the server from ending at once.
    let mut client = server.client();
    let sleeper = std::thread::spawn(move || {
        let began = Instant::now();
        (client.batch_execute("BEGIN; SELECT pg_sleep(1); COMMIT"), began.elapsed())
    });
    while figures(http)["hotrow_open_transactions"] < 1.0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    server.stop();
    let answer = get(http, "/ready");
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.ends_with("it is being stopped\n"), "{answer}");
    assert_eq!(status("/live"), "HTTP/1.1 200 OK", "it finishes what it is at");
    let (ended, took) = sleeper.join().expect("it ends");
    assert!(took >= Duration::from_millis(900), "its statement was finished: {took:?}");
    // The good-bye behind the answer may come to the client with it.
    let code = ended.err().and_then(|error| error.code().map(|code| code.code().to_owned()));
    assert!(code.is_none() || code.as_deref() == Some("57P01"), "{code:?}");
    drop(server);
    assert!(TcpStream::connect(http).is_err(), "nobody listens any more");
}

#[test]
fn whatever_comes_is_answered_or_cut_off() {
    let (_server, http) = start();
    for (bytes, status) in [
        (&b"GET /nothing HTTP/1.1\r\n\r\n"[..], "404 Not Found"),
        (b"GET / HTTP/1.0\r\n\r\n", "404 Not Found"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", "400 Bad Request"),
        (b"\x16\x03\x01\x02\x00\x01", "400 Bad Request"),
        (b"GET\r\n\r\n", "400 Bad Request"),
    ] {
        let answer = exchange(http, bytes);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{bytes:?}: {answer}");
    }
    let head = exchange(http, b"HEAD /live HTTP/1.1\r\n\r\n");
    assert!(head.contains("Content-Length: 6\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    let long = format!("GET /live HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(1 << 20));
    let mut stream = TcpStream::connect(http).expect("it listens");
    let _ = stream.write_all(long.as_bytes()); // it does not read all
    drop(stream);
    // Clients that say nothing hold nobody up, and are gone some day.
    let silent: Vec<_> = (0..4).map(|_| TcpStream::connect(http).expect("it listens")).collect();
    assert!(get(http, "/live").starts_with("HTTP/1.1 200"));
    // With as many as are answered at a time the next one is cut off at once.
    // Twice as many, in two goes: a thread that has answered may count a moment longer.
    let mut more = Vec::new();
    for _ in 0..2 {
        more.extend((0..8).map(|_| TcpStream::connect(http).expect("it listens")));
        std::thread::sleep(Duration::from_millis(100));
    }
    let began = Instant::now();
    assert_eq!(get(http, "/live"), "");
    assert!(began.elapsed() < Duration::from_secs(4), "it did not wait for them");
    drop((silent, more));
    let began = Instant::now();
    while get(http, "/live").is_empty() {
        assert!(began.elapsed() < Duration::from_secs(20), "they have gone");
        std::thread::sleep(Duration::from_millis(10));
    }
}
