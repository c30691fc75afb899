//! The crash test: a process that runs transactions is killed again and again, and nothing that it
//! acknowledged may be missing, and nothing half done be there.
//!
//! Role         `cargo run --release -p hotrow-tests -- crash --rounds N`, and a short run of it in
//!              the suite. The parent (here) starts a child ([`child`]), which opens the database
//!              and serves its own clients; every acknowledgement goes through a pipe to the
//!              parent, whose journal outlives the child. Then the child gets SIGKILL at a random
//!              moment, perhaps while it still recovers, and the parent opens the database itself
//!              and looks ([`workload`])
//! Invariants   I1 a client has one call in flight: of it alone is unknown what became of it
//!              I2 whatever the parent has seen once counts as acknowledged from then on
//! Source       RocksDB's kill loop with an expected-state file (TESTING: habits worth taking)

pub mod child;
pub mod faults;
pub mod workload;

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use hotrow::{Config, Database, Durability};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::directory::TestDirectory;
use crate::matrix::{Setup, setups};
use workload::CLIENTS;

/// A child that has not opened its database by then hangs.
const READY_SECONDS_MAX: u64 = 120;
/// Every so many rounds at most, a new database is begun: recovery shall not take longest.
const ROUNDS_PER_DATABASE: u32 = 12;

/// How the crash test runs.
#[derive(Clone, Debug)]
pub struct CrashOptions {
    /// children to kill
    pub rounds: u32,
    /// of everything that is random; the moments of death are up to the system all the same
    pub seed: u64,
    /// where databases are made and removed
    pub directory: PathBuf,
    /// the program that is the child: this one, as `argv[0]` of a child mode
    pub program: PathBuf,
    /// tells each round
    pub verbose: bool,
}

/// What the crash test saw.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CrashReport {
    /// children killed
    pub rounds: u32,
    /// of them, before they had opened the database
    pub during_recovery: u32,
    /// acknowledged transactions that were looked for, and found
    pub acknowledged: u64,
    /// transactions found whose acknowledgement was not seen: in flight when the child died
    pub in_flight: u64,
}

impl fmt::Display for CrashReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, during_recovery, acknowledged, in_flight } = self;
        write!(
            f,
            "killed {rounds} times, {during_recovery} of them before the database was open; \
             {acknowledged} acknowledged transactions, all found, and {in_flight} whose \
             acknowledgement was on its way; nothing half done"
        )
    }
}

/// What clients were told.
#[derive(Default)]
struct Journal {
    ready: bool,
    /// by client: the number of its last acknowledged step
    acknowledged: [u64; CLIENTS],
    /// what clients were told when the log had failed
    failures: Vec<String>,
    /// reads that went on afterwards
    reads: u32,
    /// what went wrong in the child
    trouble: Vec<String>,
}

/// Runs the crash test; the first thing that is wrong ends it.
pub fn run(options: &CrashOptions) -> Result<CrashReport, String> {
    let mut random = StdRng::seed_from_u64(options.seed);
    let mut report = CrashReport::default();
    let setups = setups(&[1, 2, 4]);
    while report.rounds < options.rounds {
        let database = database_directory(options)?;
        let most = ROUNDS_PER_DATABASE.min(options.rounds - report.rounds);
        let mut known = [0; CLIENTS];
        for _ in 0..random.random_range(1..=most) {
            let number = report.rounds as usize % setups.len();
            let round = Round { options, number, setup: &setups[number], path: database.path() };
            let ended = round.run(&mut random, &mut known, &mut report);
            if let Err(what) = ended {
                let (number, name) = (report.rounds, &round.setup.name);
                database.keep();
                let (seed, path) = (options.seed, database.path().display());
                return Err(format!("round {number}, {name}, seed {seed}, {path}: {what}"));
            }
            report.rounds += 1;
        }
    }
    Ok(report)
}

/// The directory of one database, removed at the end unless it is kept.
fn database_directory(options: &CrashOptions) -> Result<TestDirectory, String> {
    std::fs::create_dir_all(&options.directory).map_err(|error| error.to_string())?;
    Ok(TestDirectory::within(&options.directory, "crash"))
}

struct Round<'a> {
    options: &'a CrashOptions,
    /// of the set-up, for the child
    number: usize,
    setup: &'a Setup,
    path: &'a Path,
}

impl Round<'_> {
    fn run(
        &self,
        random: &mut StdRng,
        known: &mut [u64; CLIENTS],
        report: &mut CrashReport,
    ) -> Result<(), String> {
        let journal = Arc::new(Mutex::new(Journal { acknowledged: *known, ..Journal::default() }));
        let mut child = self.spawn(random)?;
        let listener = listen(&mut child, &journal)?;
        let killed_early = random.random_bool(0.15);
        if killed_early {
            thread::sleep(Duration::from_micros(random.random_range(0..40_000)));
        } else {
            wait_until_ready(&mut child, &journal)?;
            thread::sleep(Duration::from_micros(random.random_range(0..60_000)));
        }
        child.kill().map_err(|error| format!("cannot kill the child: {error}"))?;
        child.wait().map_err(|error| format!("cannot wait for the child: {error}"))?;
        listener.join().map_err(|_| "the listener panicked".to_owned())?;
        let journal = journal.lock().map_err(|_| "the listener panicked".to_owned())?;
        if !journal.trouble.is_empty() {
            return Err(journal.trouble.join("\n"));
        }
        report.during_recovery += u32::from(!journal.ready);
        let recovered = look(self.path, &journal.acknowledged, known, report)?;
        if self.options.verbose {
            let (round, setup) = (report.rounds, &self.setup.name);
            let steps: u64 = known.iter().sum();
            println!("round {round}: {setup}, {steps} steps, {recovered} repeated");
        }
        Ok(())
    }

    fn spawn(&self, random: &mut StdRng) -> Result<Child, String> {
        let mut command = Command::new(&self.options.program);
        command.arg("crash-child").arg("--directory").arg(self.path);
        command.args(["--setup", &self.number.to_string()]);
        let durability =
            if random.random_bool(0.7) { Durability::Durable } else { Durability::Buffered };
        command.args(["--durability", &durability.to_string()]);
        command.args(["--seed", &random.random::<u64>().to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.spawn().map_err(|error| format!("cannot start the child: {error}"))
    }
}

/// Opens the database and compares it with what clients were told; how many transactions recovery
/// repeated.
fn look(
    path: &Path,
    acknowledged: &[u64; CLIENTS],
    known: &mut [u64; CLIENTS],
    report: &mut CrashReport,
) -> Result<u64, String> {
    let db =
        Database::open(path, Config::default().threads(2)).map_err(|error| error.to_string())?;
    let found = workload::check(&db)?;
    for client in 0..CLIENTS {
        let (told, there) = (acknowledged[client], found[client]);
        if !(told..=told + 1).contains(&there) {
            return Err(format!(
                "client {client} was told of {told} steps, {there} are there: {}",
                if there < told { "acknowledged ones are lost" } else { "too many" }
            ));
        }
        report.acknowledged += told - known[client];
        report.in_flight += there - told;
    }
    *known = found; // I2
    Ok(db.recovery().map_or(0, |recovery| recovery.transactions))
}

/// Reads what the child tells, until its end.
fn listen(
    child: &mut Child,
    journal: &Arc<Mutex<Journal>>,
) -> Result<thread::JoinHandle<()>, String> {
    let stdout = child.stdout.take().ok_or("the child has no output")?;
    let journal = Arc::clone(journal);
    let hear = move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            let Ok(mut journal) = journal.lock() else { return };
            match child::Told::read(&line) {
                Some(child::Told::Ready) => journal.ready = true,
                Some(child::Told::Step { client, number }) => {
                    journal.acknowledged[client] = number;
                }
                Some(child::Told::Failed(what)) => journal.failures.push(what),
                Some(child::Told::Read) => journal.reads += 1,
                Some(child::Told::Trouble(what)) => journal.trouble.push(what),
                None => {} // the last line may be torn
            }
        }
    };
    Ok(thread::spawn(hear))
}

fn wait_until_ready(child: &mut Child, journal: &Mutex<Journal>) -> Result<(), String> {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(READY_SECONDS_MAX) {
        {
            let journal = journal.lock().map_err(|_| "the listener panicked".to_owned())?;
            if journal.ready || !journal.trouble.is_empty() {
                return Ok(());
            }
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("the child ended by itself: {status}"));
        }
        thread::sleep(Duration::from_micros(500));
    }
    Err(format!("the child did not open its database in {READY_SECONDS_MAX} s"))
}
