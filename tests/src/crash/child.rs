//! The child of the crash test: opens the database, lets clients work, and tells what they were
//! told, until it is killed.

use std::io::Write;
use std::path::PathBuf;
use std::thread;

use hotrow::{Database, Durability, LogEntries};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::workload::{self, CLIENTS, StepError};
use crate::matrix::setups;

/// What a child is told on its command line.
#[derive(clap::Args, Clone, Debug)]
pub struct ChildOptions {
    /// the database's directory
    #[arg(long)]
    pub directory: PathBuf,
    /// which of the set-ups
    #[arg(long)]
    pub setup: usize,
    /// when an end counts
    #[arg(long)]
    pub durability: Durability,
    /// of what clients do
    #[arg(long)]
    pub seed: u64,
    /// whether to end by itself once the log has failed
    #[arg(long)]
    pub until_failure: bool,
    /// how long log files are
    #[arg(long, default_value = "short")]
    pub log_file: LogFile,
    /// takes all files that may be open, before it begins
    #[arg(long, default_value = "false", action = clap::ArgAction::Set)]
    pub hoard_files: bool,
}

/// How long log files are.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
pub enum LogFile {
    /// 256 KiB: many are begun
    Short,
    /// 64 MiB, given places on the disk bit by bit
    Long,
}

impl LogFile {
    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Long => "long",
        }
    }

    fn bytes(self) -> u64 {
        match self {
            Self::Short => 1 << 18,
            Self::Long => 64 << 20,
        }
    }
}

/// A line from child to parent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    /// the database is open
    Ready,
    /// a client was told that a step of its is committed
    Step {
        /// which client
        client: usize,
        /// the step's number
        number: u64,
    },
    /// the log has failed, and a client was told so: SQLSTATE and message
    Failed(String),
    /// a read of durable data succeeded after the log had failed
    Read,
    /// something that must not happen did
    Trouble(String),
}

impl Told {
    /// Reads a line; none for a torn one.
    pub fn read(line: &str) -> Option<Self> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb {
            "ready" => Some(Self::Ready),
            "step" => {
                let (client, number) = rest.strip_suffix('.')?.split_once(' ')?;
                let client = client.parse().ok().filter(|&client| client < CLIENTS)?;
                Some(Self::Step { client, number: number.parse().ok()? })
            }
            "failed" => Some(Self::Failed(rest.to_owned())),
            "read" => Some(Self::Read),
            "trouble" => Some(Self::Trouble(rest.to_owned())),
            _ => None,
        }
    }

    /// Tells the parent. A line this short is one write, which a pipe takes whole.
    fn tell(&self) {
        let line = match self {
            Self::Ready => "ready\n".to_owned(),
            Self::Step { client, number } => format!("step {client} {number}.\n"),
            Self::Failed(what) => format!("failed {}\n", what.replace('\n', "; ")),
            Self::Read => "read\n".to_owned(),
            Self::Trouble(what) => format!("trouble {}\n", what.replace('\n', "; ")),
        };
        let mut out = std::io::stdout().lock();
        // A parent that is gone wants to know nothing.
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }
}

/// Runs until it is killed; an end of its own is trouble.
pub fn run(options: &ChildOptions) {
    match serve(options) {
        Ok(()) => {}
        Err(what) => {
            Told::Trouble(what).tell();
            // The parent kills; until then nothing else may be told.
            if !options.until_failure {
                thread::park();
            }
        }
    }
}

fn serve(options: &ChildOptions) -> Result<(), String> {
    let all = setups(&[1, 2, 4]);
    let setup = all.get(options.setup).ok_or("there is no such set-up")?;
    let config = setup
        .config
        .clone()
        .durability(options.durability)
        .log_file_bytes(options.log_file.bytes());
    let grown = [None, Some(1 << 14), Some(1 << 16), Some(1 << 18)];
    let config = config.checkpoint_log_bytes(grown[options.seed as usize % grown.len()]);
    let entries = [LogEntries::Commands, LogEntries::Values];
    let config = config.log_entries(entries[(options.seed >> 8) as usize % entries.len()]);
    let db = Database::open_with(&setup.entry, &options.directory, config, |_| ())
        .map_err(|error| format!("cannot open: {error}"))?;
    workload::prepare(&db)?;
    let last = workload::last_steps(&db)?;
    let _hoard = if options.hoard_files { hoard() } else { Vec::new() };
    Told::Ready.tell();
    thread::scope(|scope| {
        for (client, &last) in last.iter().enumerate() {
            let (db, seed) = (&db, options.seed);
            scope.spawn(move || match work(db, client, last, seed) {
                Err(StepError::LogFailed(what)) if options.until_failure => {
                    Told::Failed(what).tell();
                }
                Err(StepError::LogFailed(what) | StepError::Other(what)) => {
                    Told::Trouble(format!("client {client}: {what}")).tell();
                }
                Ok(()) => {}
            });
        }
    });
    if !options.until_failure {
        return Err("all clients ended".to_owned());
    }
    if workload::read(&db.session())? {
        Told::Read.tell();
    }
    Ok(())
}

/// Opens files until no more may be open.
fn hoard() -> Vec<std::fs::File> {
    std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()).collect()
}

fn work(db: &Database, client: usize, last: u64, seed: u64) -> Result<(), StepError> {
    let session = db.session();
    let mut random = StdRng::seed_from_u64(seed ^ (client as u64) << 32);
    // As a client does that was not told of its step: to repeat it must change nothing.
    if workload::has_key(last) {
        workload::step(&session, client, last)?;
    }
    for number in last + 1.. {
        if random.random_bool(0.1) {
            workload::abort(&session, client)?;
        }
        workload::step(&session, client, number)?;
        Told::Step { client, number }.tell();
    }
    Ok(())
}
