//! A crowd: a thousand idle connections, and two hundred busy ones at one hot row, some of them cut
//! off again and again in mid-transaction.

mod running;

use std::net::{Shutdown, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hotrow::Config;
use hotrow_base::thread;
use hotrow_server::ServerOptions;
use running::Running;
use running::raw::{PATIENCE, Raw, message, query};

const IDLE: usize = 1000;
const BUSY: usize = 200;
/// Of the busy ones each so many-th is cut off all the time.
const CUT_EVERY: usize = 5;
/// How long they are busy.
const SPAN: Duration = Duration::from_secs(3);
/// Rows that are changed in pairs, in any order: some transactions end as victims of deadlocks.
const ACCOUNTS: u64 = 20;
/// What nobody ever commits.
const LOST: u64 = 1_000_000;

const TABLES: &str = "
CREATE TABLE hot (id int PRIMARY KEY, n bigint NOT NULL);
INSERT INTO hot VALUES (1, 0);
CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL);
INSERT INTO account SELECT g, 0 FROM generate_series(1, 20) g;
CREATE TABLE history (id bigint PRIMARY KEY, delta bigint NOT NULL);
CREATE FUNCTION bump(by bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE m bigint;
BEGIN
    UPDATE hot SET n = n + by WHERE id = 1 RETURNING n INTO m;
    RETURN m;
END $$;";

/// What has been committed.
#[derive(Default)]
struct Committed {
    /// added to the hot row
    bumps: AtomicU64,
    /// rows of the history
    entries: AtomicU64,
    /// connections that were cut off
    cuts: AtomicU64,
}

fn add(to: &AtomicU64) -> u64 {
    to.fetch_add(1, Ordering::Relaxed) // a figure, read when all threads have ended
}

/// Lets this process have as many files open as the system allows: each connection is two here.
fn raise_the_limit_of_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("what is allowed can be set");
}

/// Runs transactions until the deadline; all that is committed is counted.
fn be_busy(address: SocketAddr, number: usize, until: Instant, committed: &Committed) {
    let mut client = Raw::begin(address).expect("it is let in");
    let mut round = number as u64;
    while Instant::now() < until {
        round += 1;
        let (from, to) = (round * 7 % ACCOUNTS + 1, (round * 3 + 5) % ACCOUNTS + 1);
        let entry = (number as u64) << 32 | round;
        let (script, is_entered) = match round % 4 {
            0 => ("SELECT bump(1)".to_owned(), false),
            1 => ("UPDATE hot SET n = n + 1 WHERE id = 1".to_owned(), false),
            2 => (
                format!(
                    "BEGIN; UPDATE account SET balance = balance - 1 WHERE id = {from};
                     UPDATE account SET balance = balance + 1 WHERE id = {to};
                     UPDATE hot SET n = n + 1 WHERE id = 1;
                     INSERT INTO history VALUES ({entry}, 1); COMMIT"
                ),
                true,
            ),
            _ => {
                ("BEGIN; SELECT bump(1); SELECT n FROM hot WHERE id = 1; COMMIT".to_owned(), false)
            }
        };
        let answer = client.run(&script).expect("the server is there");
        match answer.code.as_deref() {
            None => {
                add(&committed.bumps);
                if is_entered {
                    add(&committed.entries);
                }
            }
            Some("40P01" | "40001") => {
                client.run("ROLLBACK").expect("the server is there");
            }
            Some(code) => panic!("{script}: {code}"),
        }
    }
}

/// Begins transactions that change what all want, and is cut off in the middle, in all ways.
fn be_cut(address: SocketAddr, number: usize, until: Instant, committed: &Committed) {
    let mut way = number / CUT_EVERY;
    while Instant::now() < until {
        way += 1;
        let id = (way as u64) % ACCOUNTS + 1;
        let changes = format!(
            "BEGIN; UPDATE account SET balance = balance + {LOST} WHERE id = {id};
             INSERT INTO history VALUES ({}, {LOST}); UPDATE hot SET n = n + {LOST} WHERE id = 1",
            (number as u64) << 32 | way as u64
        );
        let mut client = Raw::begin(address).expect("it is let in");
        match way % 6 {
            // While its statements run, or wait.
            0 => client.send(&query(&changes)).expect("it reads"),
            // With locks, between two statements; its end of the connection stays half open.
            1 => {
                client.run(&changes).expect("it answers");
                client.stream.shutdown(Shutdown::Write).expect("it was open");
            }
            // With locks, and half a COMMIT.
            2 => {
                client.run(&changes).expect("it answers");
                client.send(&query("COMMIT")[..9]).expect("it reads");
            }
            // In the head of a message.
            3 => {
                client.run(&changes).expect("it answers");
                client.send(b"Q\0").expect("it reads");
            }
            // With what is no message at all.
            4 => {
                client.run(&changes).expect("it answers");
                client.send(b"\x01\xff\xff\xff\xffCOMMIT").expect("it reads");
            }
            // In a pipeline without its Sync.
            _ => {
                client.run(&changes).expect("it answers");
                let pipeline = [
                    message(b'P', b"\0UPDATE hot SET n = n + 1000000 WHERE id = 1\0\0\0"),
                    message(b'B', b"\0\0\0\0\0\0\0\0"),
                    message(b'E', b"\0\0\0\0\0"),
                ];
                client.send(&pipeline.concat()).expect("it reads");
            }
        }
        drop(client);
        add(&committed.cuts);
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}: not in time");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_thousand_idle_and_two_hundred_busy_connections_of_which_some_are_cut() {
    raise_the_limit_of_files();
    let options = ServerOptions {
        connections_max: IDLE + 2 * BUSY,
        http: Some(([127, 0, 0, 1], 0).into()),
        ..ServerOptions::default()
    };
    let config = Config::default().open_transactions_max(2 * BUSY);
    let server = Running::start_with(config, options);
    let mut own = Raw::begin(server.address).expect("it is let in");
    own.values(TABLES);
    let mut idle: Vec<Raw> =
        (0..IDLE).map(|_| Raw::begin(server.address).expect("it is let in")).collect();

    let committed = Committed::default();
    let until = Instant::now() + SPAN;
    thread::scope(|scope| {
        for number in 0..BUSY {
            let (address, committed) = (server.address, &committed);
            scope.spawn(move || match number % CUT_EVERY {
                0 => be_cut(address, number, until, committed),
                _ => be_busy(address, number, until, committed),
            });
        }
    });

    // Nothing is held any more, and what was cut off has left nothing.
    own.values("SET lock_timeout = '20s'");
    own.values("UPDATE account SET balance = balance; UPDATE hot SET n = n");
    let count = |figure: AtomicU64| figure.into_inner();
    let (bumps, entries, cuts) =
        (count(committed.bumps), count(committed.entries), count(committed.cuts));
    eprintln!("{bumps} transactions, {entries} of them of many statements, {cuts} cuts");
    assert_eq!(own.values("SELECT n FROM hot"), [bumps.to_string()]);
    assert_eq!(own.values("SELECT sum(balance) FROM account"), ["0"]);
    let history = "SELECT count(*), coalesce(sum(delta), 0) FROM history";
    assert_eq!(own.values(history), [entries.to_string(), entries.to_string()]);
    assert!(bumps > BUSY as u64 && cuts > (BUSY / CUT_EVERY) as u64);

    wait_until("those that were cut are gone", || server.connections() == IDLE + 1);
    for client in &mut idle {
        assert_eq!(client.values("SELECT 1"), ["1"]);
    }
    drop(idle);
    wait_until("all are gone", || server.connections() == 1);
}
