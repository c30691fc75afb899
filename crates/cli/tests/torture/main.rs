//! Torture: texts that grow in every way that the grammar lets them, sent to the real binary, while
//! another client asks and the memory is watched.
//!
//! Role         shows that nothing a client sends ends the process, keeps others waiting, cannot be
//!              cancelled, or takes memory for ever
//! Invariants   behind each input: T1 the process lives; T2 another client was answered meanwhile;
//!              T3 a cancel ended it; T4 it took no more memory than its budget and a quarter; T5
//!              memory is back where it was
//!
//! ```text
//! cargo test -p hotrow-cli --test torture -- --nocapture              the list, and some by chance
//! HOTROW_TORTURE_STRICT=1 HOTROW_TORTURE_BINARY=target/release/hotrow ...   with bounds of 100 ms
//! HOTROW_TORTURE_ONLY=savepoints ...                                    inputs whose name has this
//! HOTROW_TORTURE_SECONDS=600 HOTROW_TORTURE_SEED=7 ... by_chance        by chance for so long
//! ```

mod growth;
mod inputs;
mod protocol;
mod random;
#[path = "../../../server/tests/running/raw.rs"]
mod raw;
mod server;
mod wire;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use inputs::Input;
use server::{Server, Watch};
use wire::{Answer, Client, Silence};

/// A cancel that is not obeyed for so long never will be, and memory not given back by then is
/// kept: the machine may be busy with other tests, and the binary not optimised.
const HANG: Duration = Duration::from_secs(60);
/// Between two cancels: the first one may have come between two statements.
const CANCEL_EVERY: Duration = Duration::from_secs(2);
/// Resident bytes that may stay behind an input: what the allocator keeps, and caches.
const KEPT_MAX: u64 = 64 << 20;
/// What one statement and the tables may take, by the server's settings, and a quarter more.
const TAKEN_MAX: u64 = (64 + 64) << 20;
/// Settings of the server.
const SETTINGS: &[&str] =
    &["--statement-memory-bytes=64MiB", "--result-bytes-max=64MiB", "--memory-bytes=64MiB"];
/// Inputs by chance where nobody says for how long, and their seed.
const BY_CHANCE: (u64, u64) = (40, 1);

const SCHEMA: &str = "
CREATE TABLE bystander (id integer PRIMARY KEY, n bigint NOT NULL);
INSERT INTO bystander VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0);
CREATE TABLE heap (k integer, v text);
CREATE FUNCTION ask(p integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE r bigint;
BEGIN
    UPDATE bystander SET n = n + 1 WHERE id = p RETURNING n INTO r;
    RETURN r;
END $$;";

/// What is cleaned up behind each input, as far as it is there.
const CLEAN_UP: &[&str] = &[
    "ROLLBACK",
    "DEALLOCATE ALL",
    "DROP VIEW IF EXISTS v0 CASCADE",
    "DROP VIEW IF EXISTS grown_view",
    "DROP FUNCTION IF EXISTS grown",
    "DROP PROCEDURE IF EXISTS grown_body",
    "DROP TABLE IF EXISTS grown",
    "TRUNCATE heap",
];

/// The bounds that hold for a run.
#[derive(Clone, Copy)]
struct Bounds {
    /// until another client is answered
    answer: Duration,
    /// until a cancel is obeyed
    cancel: Duration,
    /// how long an input runs before it is cancelled
    runs: Duration,
}

impl Bounds {
    /// 100 ms where the machine is idle and the binary optimised; else only what no machine is too
    /// busy for.
    fn of_run() -> Self {
        let strict = std::env::var("HOTROW_TORTURE_STRICT").is_ok();
        let millis = Duration::from_millis;
        match strict {
            true => Self { answer: millis(100), cancel: millis(100), runs: millis(400) },
            false => Self { answer: HANG, cancel: HANG, runs: millis(500) },
        }
    }
}

/// What became of an input.
struct Fate {
    answer: Option<Answer>,
    ran: Duration,
    cancelled: Option<Duration>,
}

/// Sends an input, and a cancel when it has run for a while.
fn send(client: &mut Client, input: &Input, bounds: Bounds) -> Fate {
    let began = Instant::now();
    client.send(&input.bytes);
    let mut waited = client.wait_for(input.answers, began + bounds.runs);
    let at = Instant::now();
    let mut cancelled = None;
    while matches!(waited, Err(Silence::Late)) && at.elapsed() < HANG {
        let _ = client.cancel(); // the process may be gone, which is told below
        waited = client.wait_for(input.answers, Instant::now() + CANCEL_EVERY);
        // A cancel ends one statement: who has sent many has the others to wait for.
        cancelled = (input.answers == 1).then(|| at.elapsed());
    }
    Fate { answer: answer_of(waited), ran: began.elapsed(), cancelled }
}

/// A closed connection counts as an answer if it was told why.
fn answer_of(waited: Result<Answer, Silence>) -> Option<Answer> {
    match waited {
        Ok(answer) => Some(answer),
        Err(Silence::Closed(said)) if said.code.is_some() => Some(said),
        Err(_) => None,
    }
}

/// A server with the tables that inputs speak of.
fn begin() -> Server {
    let server = Server::start(SETTINGS);
    let mut client = Client::begin(server.address).expect("the server has begun");
    let made = client.run(SCHEMA);
    assert_eq!(made.code, None, "{}", made.message);
    server
}

/// Sends an input to a server and checks T1 to T5; what is wrong.
fn torture(server: &mut Server, input: &Input, bounds: Bounds) -> Vec<String> {
    let before = server.resident();
    let watch = Watch::begin(server);
    let Ok(mut client) = Client::begin(server.address) else {
        return vec!["nobody is let in".to_owned()];
    };
    let fate = send(&mut client, input, bounds);
    let seen = watch.end();
    if let Some(how) = server.death() {
        return vec![format!("the process is gone: {how}")];
    }
    drop(client);
    let mut wrong = Vec::new();
    let Some(answer) = fate.answer else {
        return vec![format!("no answer in {:?}, cancelled after {:?}", fate.ran, bounds.runs)];
    };
    clean_up(server, &input.name);
    let after = server.settle(before, KEPT_MAX);
    let (code, mib) = (answer.code.as_deref(), |bytes: u64| bytes >> 20);
    if code.is_some_and(|code| code == "XX000") {
        wrong.push(format!("an error of our own: {}", answer.message));
    }
    if fate.cancelled.is_some_and(|took| took > bounds.cancel) {
        wrong.push(format!("cancelled after {:?}", fate.cancelled.unwrap_or_default()));
    }
    if seen.worst > bounds.answer {
        wrong.push(format!("another client waited {:?}", seen.worst));
    }
    if seen.most > before + TAKEN_MAX / 4 * 5 {
        wrong.push(format!("took {} MiB", mib(seen.most - before)));
    }
    if after > before + KEPT_MAX {
        wrong.push(format!("keeps {} MiB", mib(after - before)));
    }
    let (took, name) = (mib(seen.most.saturating_sub(before)), &input.name);
    let (ran, cancelled) =
        (fate.ran, fate.cancelled.map_or("-".to_owned(), |c| format!("{c:.0?}")));
    let (code, worst) = (code.unwrap_or("ok"), seen.worst);
    println!(
        "{code:5} {ran:>8.0?} cancel {cancelled:>6} other {worst:>8.0?} {took:>5} MiB  {name}"
    );
    wrong
}

/// Takes back what an input has left in the catalog, in a session of its own.
fn clean_up(server: &Server, name: &str) {
    let Ok(mut client) = Client::begin(server.address) else { return };
    for statement in CLEAN_UP {
        client.run(statement);
    }
    for number in (0..=100).rev() {
        match name {
            name if name.starts_with("foreign") => {
                client.run(&format!("DROP TABLE IF EXISTS k{number}"));
            }
            name if name.starts_with("functions over") => {
                client.run(&format!("DROP FUNCTION IF EXISTS f{number}"));
            }
            _ => return,
        }
    }
}

/// Runs inputs one after another; a server that is wrong about one is replaced.
fn run(inputs: impl Iterator<Item = Input>) {
    let bounds = Bounds::of_run();
    let (mut server, mut told, mut count) = (begin(), Vec::new(), 0);
    for input in inputs {
        count += 1;
        let wrong = torture(&mut server, &input, bounds);
        if !wrong.is_empty() {
            println!("WRONG {}: {}", input.name, wrong.join("; "));
            tell_bytes(&input);
            told.push(format!("{}: {}", input.name, wrong.join("; ")));
            server = begin();
        }
    }
    assert!(told.is_empty(), "{} of {count}:\n{}", told.len(), told.join("\n"));
}

/// One test at a time: they watch the memory of a server, and how long it takes.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What an environment variable says, if it is there.
fn said<T: std::str::FromStr>(variable: &str) -> Option<T> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Leaves what was sent in a file, if that is by chance.
fn tell_bytes(input: &Input) {
    if !input.name.starts_with("random") {
        return;
    }
    let file = format!("hotrow torture {}", input.name).replace(' ', "-");
    let path = std::env::temp_dir().join(file);
    match std::fs::write(&path, &input.bytes) {
        Ok(()) => println!("      its bytes are in {}", path.display()),
        Err(error) => println!("      its bytes are nowhere: {error}"),
    }
}

#[test]
fn whatever_grows_is_bounded() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let only: String = said("HOTROW_TORTURE_ONLY").unwrap_or_default();
    let all = inputs::all();
    assert!(all.len() >= 250, "the list has {} inputs", all.len());
    run(all.into_iter().filter(|input| input.name.contains(&only)));
}

#[test]
fn what_grows_by_chance_is_bounded() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let only: String = said("HOTROW_TORTURE_ONLY").unwrap_or_default();
    let seed = said("HOTROW_TORTURE_SEED").unwrap_or(BY_CHANCE.1);
    let until = said("HOTROW_TORTURE_SECONDS").map(|s| Instant::now() + Duration::from_secs(s));
    let first: u64 = said("HOTROW_TORTURE_FIRST").unwrap_or(0);
    let goes_on = |number: &u64| match until {
        Some(until) => Instant::now() < until,
        None => *number < first + BY_CHANCE.0,
    };
    let numbers = (first..).take_while(goes_on);
    let inputs = numbers.map(|number| random::input(seed, number));
    run(inputs.filter(|input| input.name.contains(&only)));
}
