//! The child of the test of what was seen: clients that change rows, and others that look.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use hotrow::{Database, Error, LogEntries, Session};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::Seen;
use super::looks::{self, CLIENTS, WAYS};
use crate::matrix::setups;

/// Threads that look.
const READERS: usize = 5;
/// Looks of each that are tried when the log has failed.
const LOOKS_BEHIND: usize = 3 * WAYS.len();
/// Tables that one child makes.
const TABLES: u64 = 2;

/// What a child is told on its command line.
#[derive(clap::Args, Clone, Debug)]
pub struct ChildOptions {
    /// the database's directory
    #[arg(long)]
    pub directory: PathBuf,
    /// which of the set-ups
    #[arg(long)]
    pub setup: usize,
    /// of what clients do
    #[arg(long)]
    pub seed: u64,
    /// how much longer a sync takes
    #[arg(long)]
    pub sync_us: u64,
    /// ends by itself some time after the log has failed
    #[arg(long)]
    pub until_failure: bool,
}

/// A line from child to parent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    /// clients begin
    Ready,
    /// an answer, by the way of looking
    Saw(String, Seen),
    /// an answer was not to be had, because the log has failed
    Refused,
    /// something that must not happen did
    Trouble(String),
}

impl Told {
    /// Reads a line; none for a torn one.
    pub fn read(line: &str) -> Option<Self> {
        let line = line.strip_suffix('.')?;
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb {
            "ready" => Some(Self::Ready),
            "refused" => Some(Self::Refused),
            "trouble" => Some(Self::Trouble(rest.to_owned())),
            "saw" => {
                let (way, seen) = rest.split_once(": ")?;
                Some(Self::Saw(way.to_owned(), Seen::read(seen)?))
            }
            _ => None,
        }
    }

    /// Tells the parent. A line this short is one write, which a pipe takes whole.
    fn tell(&self) {
        let line = match self {
            Self::Ready => "ready".to_owned(),
            Self::Refused => "refused".to_owned(),
            Self::Saw(way, seen) => format!("saw {way}: {}", seen.words()),
            Self::Trouble(what) => format!("trouble {}", what.replace('\n', "; ")),
        };
        let mut out = std::io::stdout().lock();
        // A parent that is gone wants to know nothing.
        let _ = out.write_all((line + ".\n").as_bytes()).and_then(|()| out.flush());
    }
}

/// Runs until it is killed, or its log has failed.
pub fn run(options: &ChildOptions) {
    if let Err(what) = serve(options) {
        Told::Trouble(what).tell();
        if !options.until_failure {
            thread::park(); // the parent kills
        }
    }
}

fn serve(options: &ChildOptions) -> Result<(), String> {
    let all = setups(&[1, 2, 4]);
    let setup = all.get(options.setup).ok_or("there is no such set-up")?;
    let entries = [LogEntries::Commands, LogEntries::Values][options.seed as usize % 2];
    // Whole reads run as they are, or on a snapshot.
    let attempt = [Duration::ZERO, Duration::from_secs(1)][options.seed as usize / 2 % 2];
    let config = setup.config.clone().log_entries(entries).report_attempt(attempt);
    let config = config.log_file_bytes(1 << 18).checkpoint_log_bytes(None);
    let delay = Duration::from_micros(options.sync_us);
    // What was written before a sync that fails may be there or not: nobody may be told of it.
    let (syncs, most) = (AtomicU64::new(0), if options.until_failure { 40 } else { u64::MAX });
    let sync = move || {
        thread::sleep(delay);
        match syncs.fetch_add(1, Relaxed) < most {
            true => Ok(()),
            false => Err(std::io::Error::other("the disk fails")),
        }
    };
    let db = Database::open_on_slow_log(&setup.entry, &options.directory, config, sync);
    let db = db.map_err(|error| format!("cannot open: {error}"))?;
    let begin = looks::there(&db)?;
    let has_failed = AtomicBool::new(false);
    Told::Ready.tell();
    thread::scope(|scope| {
        let (db, has_failed, random) = (&db, &has_failed, |number: u64| {
            StdRng::seed_from_u64(options.seed ^ (number + 1) << 32)
        });
        for (client, &last) in begin.steps.iter().enumerate() {
            scope.spawn(move || work(&db.session(), client, last, has_failed));
        }
        for reader in 0..READERS {
            scope.spawn(move || look(db, random(reader as u64), has_failed));
        }
        if !options.until_failure {
            scope.spawn(move || make_tables(&db.session(), begin.tables, delay));
        }
    });
    Ok(())
}

/// Counts steps until the log fails.
fn work(session: &Session, client: usize, last: u64, has_failed: &AtomicBool) {
    for number in last + 1.. {
        match session.call("put", (client as i64, number as i64)) {
            Ok(_) => {
                let seen = Seen::Steps { client, least: number };
                Told::Saw("its own call".to_owned(), seen).tell();
            }
            Err(error) if is_of_log(&error) => return has_failed.store(true, Relaxed),
            Err(error) => {
                return Told::Trouble(format!("client {client}, step {number}: {error}")).tell();
            }
        }
    }
}

/// Looks in one way after the other.
fn look(db: &Database, mut random: StdRng, has_failed: &AtomicBool) {
    let session = db.session();
    let mut left = LOOKS_BEHIND;
    while left > 0 {
        left -= usize::from(has_failed.load(Relaxed));
        let way = &WAYS[random.random_range(0..WAYS.len())];
        match (way.look)(db, &session, random.random_range(0..CLIENTS)) {
            Ok(seen) => {
                seen.into_iter().for_each(|seen| Told::Saw(way.name.to_owned(), seen).tell());
            }
            Err(error) if is_of_log(&error) && error.sqlstate() != Some("08007") => {
                Told::Refused.tell();
            }
            // The engine has no such statements, or another client was in the way.
            Err(error) if matches!(error.sqlstate(), Some("0A000" | "40001" | "40P01")) => {}
            Err(error) if matches!(error.sqlstate(), Some("55006" | "55P03" | "25P02")) => {}
            Err(error) if is_of_log(&error) => Told::Refused.tell(),
            Err(error) => return Told::Trouble(format!("{}: {error}", way.name)).tell(),
        }
        // Whatever is open now is of no use.
        let _ = session.execute("ROLLBACK");
    }
}

/// Makes tables, now and then.
fn make_tables(session: &Session, last: u64, pause: Duration) {
    for number in last + 1..=last + TABLES {
        thread::sleep(pause);
        match session.execute(&format!("CREATE TABLE mark{number} (a bigint PRIMARY KEY)")) {
            Ok(_) => Told::Saw("its own definition".to_owned(), Seen::Tables(number)).tell(),
            Err(error) => return Told::Trouble(format!("table {number}: {error}")).tell(),
        }
    }
}

fn is_of_log(error: &Error) -> bool {
    matches!(error.sqlstate(), Some("08007" | "58030"))
}
