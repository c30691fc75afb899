//! The child of the crash test: opens the database, lets clients work, and tells what they were
//! told, until it is killed.

use std::io::Write;
use std::path::PathBuf;
use std::thread;

use hotrow::{Database, Durability};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::workload::{self, CLIENTS};
use crate::matrix::setups;

/// What a child is told on its command line.
#[derive(Clone, Debug)]
pub struct ChildOptions {
    /// the database's directory
    pub directory: PathBuf,
    /// which of the set-ups
    pub setup: usize,
    /// when an end counts
    pub durability: Durability,
    /// of what clients do
    pub seed: u64,
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
            "trouble" => Some(Self::Trouble(rest.to_owned())),
            _ => None,
        }
    }

    /// Tells the parent. A line this short is one write, which a pipe takes whole.
    fn tell(&self) {
        let line = match self {
            Self::Ready => "ready\n".to_owned(),
            Self::Step { client, number } => format!("step {client} {number}.\n"),
            Self::Trouble(what) => format!("trouble {}\n", what.replace('\n', "; ")),
        };
        let mut out = std::io::stdout().lock();
        // A parent that is gone wants to know nothing.
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }
}

/// Runs until it is killed; an end of its own is trouble.
pub fn run(options: &ChildOptions) {
    if let Err(what) = serve(options) {
        Told::Trouble(what).tell();
        // The parent kills; until then nothing else may be told.
        thread::park();
    }
}

fn serve(options: &ChildOptions) -> Result<(), String> {
    let all = setups(&[1, 2, 4]);
    let setup = all.get(options.setup).ok_or("there is no such set-up")?;
    let config = setup.config.clone().durability(options.durability).log_file_bytes(1 << 18);
    let db = Database::open_with(&setup.entry, &options.directory, config, |_| ())
        .map_err(|error| format!("cannot open: {error}"))?;
    workload::prepare(&db)?;
    let last = workload::last_steps(&db)?;
    Told::Ready.tell();
    thread::scope(|scope| {
        for (client, &last) in last.iter().enumerate() {
            let (db, seed) = (&db, options.seed);
            scope.spawn(move || {
                if let Err(what) = work(db, client, last, seed) {
                    Told::Trouble(format!("client {client}: {what}")).tell();
                }
            });
        }
    });
    Err("all clients ended".to_owned())
}

fn work(db: &Database, client: usize, last: u64, seed: u64) -> Result<(), String> {
    let session = db.session();
    let mut random = StdRng::seed_from_u64(seed ^ (client as u64) << 32);
    for number in last + 1.. {
        if random.random_bool(0.1) {
            workload::abort(&session, client, &mut random)?;
        }
        workload::step(&session, client, number, &mut random)?;
        Told::Step { client, number }.tell();
    }
    Ok(())
}
