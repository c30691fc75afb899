//! Fuzzed bytes on the port: sequences of messages, true ones and spoilt ones, cut anywhere.
//!
//! Whatever comes, no thread panics, who behaves is answered, no connection hangs, and all of them
//! are gone in the end. A failure names the seeds of the cases that ran then:
//!
//! ```text
//! HOTROW_FUZZ_SEED=17 HOTROW_FUZZ_CASES=1 cargo test -p hotrow-server --test fuzz    # that case
//! HOTROW_FUZZ_SECONDS=600 cargo test -p hotrow-server --test fuzz                    # a long run
//! HOTROW_FUZZ_ADDRESS=127.0.0.1:5433 ...                        # a server in another process
//! ```

mod messages;
#[path = "../../sql/tests/mutation/mod.rs"]
mod mutation;
mod running;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hotrow_base::thread;
use hotrow_server::ServerOptions;
use mutation::{Corpus, Random};
use running::Running;
use running::raw::Raw;

/// What runs in CI.
const CASES: u64 = 400;
/// Clients that fuzz side by side.
const CLIENTS: u64 = 4;
/// A client that behaves asks after so many cases, and sets the tables right.
const HEALTHY_EVERY: u64 = 100;
/// A connection that is not closed for longer, though its client has said its last, has hung.
const HANG: Duration = Duration::from_secs(60);

/// Threads of this process that have panicked: also those of the server.
static PANICS: AtomicU64 = AtomicU64::new(0);

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

/// One client that misbehaves. An error is a hang.
fn misbehave(address: SocketAddr, corpus: &Corpus, seed: u64) -> Result<(), String> {
    let random = &mut Random::of(seed);
    let mut stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
    let set = [
        stream.set_write_timeout(Some(Duration::from_secs(1))),
        stream.set_read_timeout(Some(HANG)),
        stream.set_nodelay(true),
    ];
    set.into_iter().for_each(|set| set.expect("it can be set"));
    let bytes = messages::conversation(corpus, random);
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let (chunk, behind) = rest.split_at(match random.below(4) {
            0 => (1 + random.below(20)).min(rest.len()),
            _ => rest.len(),
        });
        // The server may have closed it, or wait for its answers to be read.
        if stream.write_all(chunk).is_err() {
            break;
        }
        rest = behind;
    }
    match random.below(4) {
        0 => {} // what was said may be lost with the connection
        1 => drop(stream.read(&mut [0; 100])),
        _ => {
            let _ = stream.shutdown(Shutdown::Write); // it may be closed
            let mut buffer = vec![0; 64 << 10];
            loop {
                match stream.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(error)
                        if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                    {
                        return Err("the connection is not closed".to_owned());
                    }
                    Err(_) => break,
                }
            }
        }
    }
    Ok(())
}

/// A client that behaves is served; behind it the tables are as in the beginning, or nearly.
fn behave(address: SocketAddr) {
    let mut client = Raw::begin(address).expect("who behaves is let in");
    for statement in mutation::SCHEMA.split("\n\n") {
        client.run(statement).expect("who behaves is answered");
    }
    client.values("TRUNCATE line, event");
    client.values("DELETE FROM account WHERE id > 30");
    client.values("CREATE TABLE IF NOT EXISTS health (id int PRIMARY KEY, n int NOT NULL)");
    client.values("INSERT INTO health VALUES (1, 0) ON CONFLICT DO NOTHING");
    let raised = client.values("UPDATE health SET n = n + 1 WHERE id = 1 RETURNING n > 0");
    assert_eq!(raised, ["t"]);
}

/// Fuzzes until there are enough cases; gives their number.
fn fuzz(address: SocketAddr) -> u64 {
    let first = setting("HOTROW_FUZZ_SEED").unwrap_or(1);
    let cases = setting("HOTROW_FUZZ_CASES").unwrap_or(CASES);
    let until = setting("HOTROW_FUZZ_SECONDS").map(|s| Instant::now() + Duration::from_secs(s));
    let (corpus, next) = (Corpus::own(), AtomicU64::new(0));
    let goes_on = |case: u64| match until {
        Some(until) => Instant::now() < until,
        None => case < cases,
    };
    behave(address);
    thread::scope(|scope| {
        for _ in 0..CLIENTS.min(cases) {
            scope.spawn(|| {
                loop {
                    let case = next.fetch_add(1, Ordering::Relaxed); // a number, nothing else
                    if !goes_on(case) {
                        return;
                    }
                    let seed = first + case;
                    if let Err(why) = misbehave(address, &corpus, seed) {
                        panic!("seed {seed}: {why}");
                    }
                    let panics = PANICS.load(Ordering::Relaxed); // a figure
                    assert_eq!(panics, 0, "seed {seed}, or one of the {CLIENTS} before it");
                    if case % HEALTHY_EVERY == HEALTHY_EVERY - 1 {
                        behave(address);
                    }
                }
            });
        }
    });
    behave(address);
    next.into_inner()
}

#[test]
fn fuzzed_bytes_harm_nobody() {
    if let Ok(address) = std::env::var("HOTROW_FUZZ_ADDRESS") {
        let done = fuzz(address.parse().expect("an address"));
        return eprintln!("{done} cases");
    }
    let known = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |what| {
        PANICS.fetch_add(1, Ordering::Relaxed); // a figure
        known(what);
    }));
    let http = Some(([127, 0, 0, 1], 0).into());
    let server = Running::start(ServerOptions { http, ..ServerOptions::default() });
    let done = fuzz(server.address);
    let began = Instant::now();
    while server.connections() > 0 {
        assert!(began.elapsed() < HANG, "{} connections are left", server.connections());
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "of a thread of the server");
    eprintln!("{done} cases");
}
