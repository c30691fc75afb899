//! The test of what was seen: nothing that anybody was told is gone when the process is killed.
//!
//! Role         `cargo run --release -p hotrow-tests -- seen --rounds N`, and a short run of it in
//!              the suite. A child ([`child`]) opens a database on a log whose syncs take long.
//!              Some of its clients count steps; the others read what those have done in every way
//!              there is ([`looks`]), and tell the parent (here) through a pipe what they saw. Then
//!              the child gets SIGKILL at a random moment, or its log fails, and the parent opens
//!              the database itself: whatever anybody saw must be there
//! Invariants   I1 counts only rise, so that whatever was seen is a least count ([`Seen`])

pub mod child;
pub mod looks;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use hotrow::{Config, Database};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::directory::TestDirectory;
use crate::matrix::{Setup, setups};

/// A child that is not ready by then, or does not end by itself when it should, hangs.
const CHILD_SECONDS_MAX: u64 = 120;
/// Every so many rounds at most a new database is begun.
const ROUNDS_PER_DATABASE: u32 = 8;

/// How the test runs.
#[derive(Clone, Debug)]
pub struct SeenOptions {
    /// children to kill
    pub rounds: u32,
    /// of everything that is random; the moments of death are up to the system all the same
    pub seed: u64,
    /// how much longer each sync of the log takes
    pub sync_delay: Duration,
    /// where databases are made and removed
    pub directory: PathBuf,
    /// the program that is the child
    pub program: PathBuf,
    /// tells each round
    pub verbose: bool,
}

/// Something that was seen: a count that had got so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Seen {
    /// the steps of one client
    Steps {
        /// which client
        client: usize,
        /// at least so many
        least: u64,
    },
    /// the steps of all clients together
    AllSteps(u64),
    /// tables that were made one after the other
    Tables(u64),
    /// a number of the sequence, which does not come again
    Number(u64),
}

impl Seen {
    /// As a line has it.
    fn words(self) -> String {
        match self {
            Self::Steps { client, least } => format!("steps {client} {least}"),
            Self::AllSteps(least) => format!("all 0 {least}"),
            Self::Tables(least) => format!("tables 0 {least}"),
            Self::Number(least) => format!("number 0 {least}"),
        }
    }

    fn read(words: &str) -> Option<Self> {
        let mut words = words.split(' ');
        let (what, client, least) = (words.next()?, words.next()?, words.next()?);
        let least = least.parse().ok()?;
        Some(match what {
            "steps" => Self::Steps { client: client.parse().ok()?, least },
            "all" => Self::AllSteps(least),
            "tables" => Self::Tables(least),
            "number" => Self::Number(least),
            _ => return None,
        })
    }
}

/// What the test saw.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SeenReport {
    /// children killed
    pub rounds: u32,
    /// answers in which something was seen, by the way of looking
    pub answers: BTreeMap<String, u64>,
    /// looks that were told that the log has failed
    pub refused: u64,
}

impl fmt::Display for SeenReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: u64 = self.answers.values().sum();
        let kinds = self.answers.len();
        write!(
            f,
            "killed {} times; of {all} answers of {kinds} kinds nothing is gone",
            self.rounds
        )?;
        self.answers.iter().try_for_each(|(way, count)| write!(f, "\n{count:>8} {way}"))
    }
}

/// What was told by a child.
#[derive(Default)]
struct Journal {
    is_ready: bool,
    /// what was seen, and in which way
    seen: Vec<(String, Seen)>,
    refused: u64,
    trouble: Vec<String>,
}

/// Runs the test; the first thing that is wrong ends it.
pub fn run(options: &SeenOptions) -> Result<SeenReport, String> {
    let mut random = StdRng::seed_from_u64(options.seed);
    let mut report = SeenReport::default();
    let setups = setups(&[1, 2, 4]);
    while report.rounds < options.rounds {
        let database = database_directory(options)?;
        let most = ROUNDS_PER_DATABASE.min(options.rounds - report.rounds);
        for _ in 0..random.random_range(1..=most) {
            let setup = report.rounds as usize % setups.len();
            let round = Round { options, path: database.path(), setup, name: &setups[setup] };
            round.run(&mut random, &mut report).inspect_err(|_| database.keep())?;
            report.rounds += 1;
        }
    }
    Ok(report)
}

/// Runs one child whose log fails when it wants its next file, and looks for all that was seen.
pub fn run_until_failure(options: &SeenOptions, setup: usize) -> Result<SeenReport, String> {
    let mut report = SeenReport::default();
    let database = database_directory(options)?;
    let setups = setups(&[1, 2, 4]);
    let round = Round { options, path: database.path(), setup, name: &setups[setup] };
    round.run_until_failure(&mut report).inspect_err(|_| database.keep())?;
    Ok(report)
}

/// A database of one of the tests, in which everything is ready.
fn database_directory(options: &SeenOptions) -> Result<TestDirectory, String> {
    std::fs::create_dir_all(&options.directory).map_err(|error| error.to_string())?;
    let directory = TestDirectory::within(&options.directory, "seen");
    let db = open(directory.path())?;
    looks::prepare(&db)?;
    Ok(directory)
}

fn open(path: &Path) -> Result<Database, String> {
    Database::open(path, Config::default().threads(1)).map_err(|error| error.to_string())
}

struct Round<'a> {
    options: &'a SeenOptions,
    path: &'a Path,
    /// its number, for the child
    setup: usize,
    name: &'a Setup,
}

impl Round<'_> {
    fn run(&self, random: &mut StdRng, report: &mut SeenReport) -> Result<(), String> {
        let mut command = Command::new(&self.options.program);
        self.arguments(&mut command, random.random());
        let (mut child, journal, listener) = spawn(command)?;
        wait_until(&mut child, || Ok(journal.lock().map_err(|_| PANICKED)?.is_ready))?;
        let most = 8 * self.options.sync_delay.as_micros() as u64;
        thread::sleep(Duration::from_micros(random.random_range(0..=most)));
        child.kill().map_err(|error| format!("cannot kill the child: {error}"))?;
        child.wait().map_err(|error| format!("cannot wait for the child: {error}"))?;
        listener.join().map_err(|_| PANICKED)?;
        self.look(&journal, report)
    }

    fn run_until_failure(&self, report: &mut SeenReport) -> Result<(), String> {
        let mut command = Command::new(&self.options.program);
        self.arguments(&mut command, self.options.seed);
        command.arg("--until-failure");
        let (mut child, journal, listener) = spawn(command)?;
        let began = Instant::now();
        while child.try_wait().map_err(|error| error.to_string())?.is_none() {
            if began.elapsed() > Duration::from_secs(CHILD_SECONDS_MAX) {
                let _ = child.kill();
                return Err(format!("the child did not end in {CHILD_SECONDS_MAX} s"));
            }
            thread::sleep(Duration::from_millis(5));
        }
        listener.join().map_err(|_| PANICKED)?;
        self.look(&journal, report)
    }

    fn arguments(&self, command: &mut Command, seed: u64) {
        command.arg("seen-child").arg("--directory").arg(self.path);
        command.args(["--setup", &self.setup.to_string(), "--seed", &seed.to_string()]);
        command.args(["--sync-us", &self.options.sync_delay.as_micros().to_string()]);
    }

    /// Compares what was seen with what is there.
    fn look(&self, journal: &Mutex<Journal>, report: &mut SeenReport) -> Result<(), String> {
        let (name, path) = (&self.name.name, self.path.display());
        let wrong = |what: String| format!("round {}, {name}, {path}: {what}", report.rounds);
        let journal = journal.lock().map_err(|_| PANICKED)?;
        if !journal.trouble.is_empty() {
            return Err(wrong(journal.trouble.join("\n")));
        }
        let there = looks::there(&open(self.path)?).map_err(wrong)?;
        for (way, seen) in &journal.seen {
            if !there.has(*seen) {
                return Err(wrong(format!("{way} told of {seen:?}, and there is {there:?}")));
            }
        }
        if self.options.verbose {
            println!("round {}: {name}, {} answers", report.rounds, journal.seen.len());
        }
        report.refused += journal.refused;
        for (way, _) in &journal.seen {
            *report.answers.entry(way.clone()).or_default() += 1;
        }
        Ok(())
    }
}

const PANICKED: &str = "the listener panicked";

type Listener = thread::JoinHandle<()>;

/// Starts a child and listens to it, until its end.
fn spawn(mut command: Command) -> Result<(Child, Arc<Mutex<Journal>>, Listener), String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let child = command.spawn();
    let mut child = child.map_err(|error| format!("cannot start the child: {error}"))?;
    let stdout = child.stdout.take().ok_or("the child has no output")?;
    let journal = Arc::<Mutex<Journal>>::default();
    let heard = Arc::clone(&journal);
    let listener = thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            let Ok(mut journal) = heard.lock() else { return };
            match child::Told::read(&line) {
                Some(child::Told::Ready) => journal.is_ready = true,
                Some(child::Told::Saw(way, seen)) => journal.seen.push((way, seen)),
                Some(child::Told::Refused) => journal.refused += 1,
                Some(child::Told::Trouble(what)) => {
                    journal.is_ready = true;
                    journal.trouble.push(what);
                }
                None => {} // the last line may be torn
            }
        }
    });
    Ok((child, journal, listener))
}

fn wait_until(
    child: &mut Child,
    is_so: impl Fn() -> Result<bool, &'static str>,
) -> Result<(), String> {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(CHILD_SECONDS_MAX) {
        if is_so()? {
            return Ok(());
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("the child ended by itself: {status}"));
        }
        thread::sleep(Duration::from_micros(500));
    }
    let _ = child.kill();
    Err(format!("the child was not ready in {CHILD_SECONDS_MAX} s"))
}
