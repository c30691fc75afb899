//! Recorded histories: concurrent clients read and write a few hot keys and keep what they saw.
//!
//! Role         for checkers of isolation, ours (`hotrow_history::check`) and outsiders'
//! Invariants   I1 a value is written once in the whole history: it is made of client and number
//!              I2 times are the clients' own: taken before a call is sent and after it is answered

mod client;

use std::io::Write;

use hotrow::{Config, Database};
use hotrow_base::clock::Ticks;
use hotrow_base::thread;
use hotrow_history::{History, Transaction, format};

use crate::error::BenchError;
use crate::history::client::Client;
use crate::selection::Variant;

/// What clients read and write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HistoryKind {
    /// lists: append and read. Finds most with the fewest transactions
    Lists,
    /// registers: overwrite and read
    Registers,
    /// indexes: insert and scan. Finds phantoms
    Indexes,
}

/// How a history is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Elle's EDN, for lists
    Elle,
    /// dbcop's JSON, for registers
    Dbcop,
    /// one JSON object per transaction and line, for all kinds
    Json,
}

impl Format {
    /// The kind of history it is commonly used with.
    pub fn usual_kind(self) -> HistoryKind {
        match self {
            Self::Elle | Self::Json => HistoryKind::Lists,
            Self::Dbcop => HistoryKind::Registers,
        }
    }

    /// Writes a history.
    ///
    /// # Errors
    ///
    /// [`BenchError::History`] when the format cannot say what the history holds.
    pub fn write(self, history: &History, out: impl Write) -> Result<(), BenchError> {
        match self {
            Self::Elle => format::elle::write(history, out)?,
            Self::Dbcop => format::dbcop::write(history, out)?,
            Self::Json => history.write_json_lines(out)?,
        }
        Ok(())
    }
}

/// What to record.
#[derive(Clone, Debug)]
pub struct HistoryOptions {
    /// what clients read and write
    pub kind: HistoryKind,
    /// the engine's threads
    pub threads: usize,
    /// clients, each a thread with a session
    pub clients: usize,
    /// transactions of all clients together
    pub transactions: u64,
    /// operations of a transaction, at most
    pub operations_max: usize,
    /// keys in use at a time: the fewer, the more conflicts
    pub hot_keys: u64,
    /// percent of the transactions that are typed: BEGIN, a call for each operation, COMMIT
    pub typed_percent: u32,
    /// of what clients do; when it happens is up to the threads
    pub seed: u64,
}

impl Default for HistoryOptions {
    fn default() -> Self {
        Self {
            kind: HistoryKind::Lists,
            threads: 2,
            clients: 8,
            transactions: 10_000,
            operations_max: 5,
            hot_keys: 5,
            typed_percent: 0,
            seed: 42,
        }
    }
}

/// Transactions before the oldest hot key is replaced by a fresh one: keeps lists short, because
/// a history holds every list as often as it was read.
const TRANSACTIONS_PER_KEY: u64 = 20;

impl HistoryOptions {
    /// All keys that may be used.
    fn keys(&self) -> u64 {
        self.hot_keys + self.transactions / TRANSACTIONS_PER_KEY
    }

    /// The first hot key after so many transactions.
    fn first_key(&self, transactions: u64) -> u64 {
        transactions / TRANSACTIONS_PER_KEY
    }
}

/// Runs clients on a new database and gives what they saw.
///
/// # Errors
///
/// Settings or thread counts that the engine refuses. Calls that fail are part of the history.
pub fn record_history(variant: &Variant, options: &HistoryOptions) -> Result<History, BenchError> {
    let mut config = Config::default().engine(variant.entry.name).threads(options.threads);
    config.settings.clone_from(&variant.settings);
    let db = Database::open_in_memory(config)?;
    db.session().execute(include_str!("history/procedures.sql"))?;
    prepare(&db, options)?;
    let start = Ticks::now();
    let parts = thread::scope(|scope| {
        let clients: Vec<_> = (0..options.clients as u64)
            .map(|number| {
                let session = db.session();
                scope.spawn(move || Client::new(number, session, options, start).run())
            })
            .collect();
        let ended = clients
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ended.collect::<Result<Vec<Vec<Transaction>>, BenchError>>()
    })?;
    db.shutdown();
    Ok(History::merge(parts))
}

/// Makes every list and register that will be used.
fn prepare(db: &Database, options: &HistoryOptions) -> Result<(), BenchError> {
    let session = db.session();
    let statement = match options.kind {
        HistoryKind::Lists => "INSERT INTO lists VALUES (p_id, '');",
        HistoryKind::Registers => "INSERT INTO registers VALUES (p_id, NULL);",
        HistoryKind::Indexes => return Ok(()),
    };
    session.execute(&format!(
        "CREATE PROCEDURE prepare(p_id bigint) LANGUAGE plpgsql AS $$ BEGIN {statement} END $$"
    ))?;
    let prepare = session.procedure("prepare")?;
    for key in 0..options.keys() {
        prepare.call((key as i64,))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
