//! Recovery: the data again, from what the directory holds.
//!
//! Role         called once, when a database with a directory is opened, before its engine starts
//! States       a checkpoint is loaded; then each block of the log in order, each entry in the
//!              order of positions: calls are gathered and run again by several threads, values
//!              are gathered and applied by several threads; statements and definitions are
//!              executed when all before them is there
//! Invariants   I1 nothing is written before all is there again, and nobody else runs: one that is
//!                 interrupted is begun again
//!              I2 an entry that cannot be repeated ends recovery with an error that says where it
//!              is; nothing is skipped
//!              I3 the memory budget refuses nothing meanwhile: what fitted when it ran may need
//!              more here, where chunks are taken by other workers, in another order, and rows that
//!              were deleted since are made first. A database that is above its budget afterwards
//!              reads and deletes; only new rows are refused

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::conventions::Conventions;
use hotrow_base::ids::WorkerId;
use hotrow_base::thread::available_cores;
use hotrow_base::varint::ByteReader;
use hotrow_engine::checkpoint::{LoadError, restore};
use hotrow_engine::journal::Company;
use hotrow_engine::journal::Journal;
use hotrow_engine::journal::command::{self, CommandHead};
use hotrow_engine::journal::text::TextEntry;
use hotrow_engine::recovery::{LogPlace, LoggedCall, ReplayEnds, ReplayOptions, Replayer};
use hotrow_engine::schema::{Memory, Quiet, Schema, SharedSchema};
use hotrow_engine::values::{Applier, ValuesError};
use hotrow_log::checkpoint::{self, Manifest, Reader};
use hotrow_log::entry::{Entry, Kind};
use hotrow_log::position::Position;
use hotrow_log::read::{self, Block, Cut, Tail};
use hotrow_sql::ScriptStatement;
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::Invocation;

use crate::alone::Alone;
use crate::config::Config;
use crate::contents::Contents;
use crate::data_directory::DataDirectory;
use crate::definition::{Definition, Sources, at_place, make};
use crate::error::Error;
use crate::lookup::registered;
use crate::once::{Outcome, Outcomes, call_checksum, decode_refusal};
use crate::quietly::execute_quietly;
use crate::rows::Rows;
use crate::verifier::conceal;

/// Calls that are run at a time: threads wait for each other at the end of each run, so many; and
/// all of them are in memory, so not too many.
const CALLS_PER_RUN: usize = 16_384;

/// Bytes of value entries that are applied at a time, for the same reasons: some ten thousand.
const VALUE_BYTES_PER_RUN: usize = 8 << 20;

/// How far recovery is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RecoveryProgress {
    /// bytes of log read
    pub log_bytes: u64,
    /// bytes of log there are
    pub log_bytes_total: u64,
    /// transactions repeated
    pub transactions: u64,
}

/// What recovery found and did.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RecoveryReport {
    /// rows loaded from a checkpoint
    pub checkpoint_rows: u64,
    /// how long that took
    pub checkpoint_duration: Duration,
    /// transactions repeated, definitions included
    pub transactions: u64,
    /// blocks of the log that were read
    pub blocks: u64,
    /// their bytes
    pub log_bytes: u64,
    /// how long all of it took
    pub duration: Duration,
    /// what people should know, a sentence each
    pub notices: Vec<String>,
}

/// What recovery leaves to who asked for it.
pub(crate) struct Recovered {
    pub(crate) tail: Tail,
    pub(crate) sources: Sources,
    pub(crate) outcomes: Arc<Outcomes>,
    /// the checkpoint that was loaded
    pub(crate) checkpoint: Option<Manifest>,
    pub(crate) report: RecoveryReport,
}

/// Brings an empty schema to where the log ends.
pub(crate) fn recover(
    directory: &DataDirectory,
    schema: &SharedSchema,
    config: &Config,
    progress: impl FnMut(RecoveryProgress),
) -> Result<Recovered, Error> {
    let started = Ticks::now();
    let files = directory.log_files();
    let segments = read::segments(files)?;
    let total = segments.iter().map(|segment| segment.file_bytes).sum();
    let memory = Arc::clone(&schema.current().memory);
    let _unlimited = memory.budget().suspend_limit(); // I3
    let workers = memory.workers();
    let journal = Arc::new(Journal::new(workers, None, None));
    let threads = available_cores().len().min(workers - 1).max(1);
    let mut recovery = Recovery {
        schema,
        sources: Sources::default(),
        outcomes: Arc::new(Outcomes::of(config)),
        alone: Alone::new(config, &journal),
        replayer: Replayer::new(ReplayOptions {
            threads,
            first_worker: WorkerId(1),
            step_budget: config.step_budget,
        }),
        calls: Vec::new(),
        gathered: 0,
        values: Applier::new(threads, WorkerId(1)),
        place: files.path(""),
        cut: None,
        done: RecoveryProgress { log_bytes_total: total, ..RecoveryProgress::default() },
        progress,
    };
    let found = checkpoint::find(&**directory.checkpoint_files())?;
    let mut report = RecoveryReport { notices: found.notices, ..RecoveryReport::default() };
    let log_id = segments.first().map(|segment| segment.header.log_id);
    let mut from_epoch = 0;
    if let Some(manifest) = &found.newest {
        let reader = Reader::open(&**directory.checkpoint_files(), manifest.clone())?;
        if let Some(log_id) = log_id {
            reader.check_log(log_id)?;
        }
        recovery.restore(&reader)?;
        report.checkpoint_rows = manifest.rows();
        report.checkpoint_duration = started.elapsed();
        from_epoch = manifest.epoch;
    }
    let tail = read::scan(files, from_epoch, |block| recovery.repeat_block(&block))?;
    recovery.repeat_gathered()?;
    report.transactions = recovery.done.transactions;
    (report.blocks, report.log_bytes) = (tail.blocks, tail.bytes);
    report.duration = started.elapsed();
    report.notices.extend(tail.cut.iter().map(cut_notice));
    report.notices.extend(excess_notice(&memory));
    let (sources, outcomes) = (recovery.sources, recovery.outcomes);
    Ok(Recovered { tail, sources, outcomes, checkpoint: found.newest, report })
}

/// Puts a definition in force, as far as that needs no rows. Statements are left alone.
pub(crate) fn repeat_definition(
    quiet: &Quiet<'_>,
    sources: &mut Sources,
    entry: &TextEntry<'_>,
) -> Result<(), String> {
    let statement = parse(entry)?;
    let schema = quiet.schema();
    let compiled = hotrow_sql::compile(&schema.catalog, &registered(&schema), &statement);
    let next = compiled.and_then(|compiled| make(&schema, sources, compiled, entry));
    let done = next.and_then(|next| match next {
        Some(next) => next.put_in_force(quiet, sources, entry),
        None => Ok(()),
    });
    done.map_err(|error| error.to_string())
}

/// The statement of an entry, with the places it had in its script.
fn parse(entry: &TextEntry<'_>) -> Result<ScriptStatement, String> {
    let script = at_place(entry.text, entry.place);
    let mut statements = hotrow_sql::parse_script(&script).map_err(|error| error.to_string())?;
    match (statements.pop(), statements.is_empty()) {
        // What took effect once may do so again; of a password what is kept of it is logged.
        (Some(statement), true) => conceal(statement.as_own()).map_err(|error| error.to_string()),
        _ => Err("it is not one statement".to_owned()),
    }
}

/// What is to be said of a database that does not fit its budget any more.
fn excess_notice(memory: &Memory) -> Option<String> {
    let (excess, limit) = (memory.budget().excess(), memory.budget().limit());
    let text = format!(
        "rows and indexes take {excess} bytes more than the memory budget of {limit}: reads and \
         deletes work, new rows are refused until rows are deleted or the budget is raised"
    );
    (excess > 0).then_some(text)
}

fn cut_notice(cut: &Cut) -> String {
    format!(
        "{} at byte {}: a write was interrupted there ({}); it was not acknowledged and is cut off",
        cut.path, cut.offset, cut.found
    )
}

struct Recovery<'a, P> {
    schema: &'a SharedSchema,
    sources: Sources,
    outcomes: Arc<Outcomes>,
    alone: Alone,
    replayer: Replayer,
    /// calls, of which the first `gathered` are still to be run; the others are memory
    calls: Vec<LoggedCall>,
    gathered: usize,
    /// value entries that are still to be applied; calls or values are gathered, never both
    values: Applier,
    /// where the log is, for messages
    place: String,
    /// what the checkpoint has already
    cut: Option<Position>,
    done: RecoveryProgress,
    progress: P,
}

impl<P: FnMut(RecoveryProgress)> Recovery<'_, P> {
    /// Puts what a checkpoint has in force.
    fn restore(&mut self, reader: &Reader) -> Result<(), Error> {
        let damaged = |what: String| Error::Recovery {
            place: format!("the checkpoint of epoch {}", reader.manifest().epoch),
            what,
        };
        let contents = Contents::decode(&reader.manifest().catalog)
            .ok_or_else(|| damaged("its catalog is of an unknown form".to_owned()))?;
        for definition in &contents.definitions {
            let Definition { place, text } = definition;
            let entry = TextEntry { now_us: 0, place: *place, text };
            self.repeat_text(&entry).map_err(damaged)?;
        }
        for (key, outcome) in contents.outcomes {
            self.outcomes.end(&key, outcome);
        }
        self.cut = Some(contents.position);
        let schema = self.schema.current();
        let threads = available_cores().len();
        restore(&schema, reader, threads).map_err(|error| match error {
            LoadError::Source(error) => Error::Checkpoint(error),
            LoadError::Damaged { place, what } => Error::Recovery { place, what },
            LoadError::OutOfMemory(error) => error.into(),
        })?;
        Ok(())
    }

    fn repeat_block(&mut self, block: &Block<'_>) -> Result<(), Error> {
        for entry in block.entries() {
            let position = Position { epoch: block.epoch, time: entry.time };
            if self.cut.is_some_and(|cut| position <= cut) {
                continue;
            }
            match entry.kind {
                Kind::Command => self.apply_values()?,
                Kind::Values => self.run_calls()?,
                Kind::Statement | Kind::Definition => self.repeat_gathered()?,
                Kind::Refusal => {}
            }
            self.repeat(position, &entry).map_err(|what| {
                let place = format!(
                    "{} at byte {}, position {position}, worker {}",
                    block.file, block.offset, entry.worker
                );
                Error::Recovery { place, what }
            })?;
            self.done.transactions += 1;
            if self.gathered >= CALLS_PER_RUN || self.values.gathered_bytes() >= VALUE_BYTES_PER_RUN
            {
                self.repeat_gathered()?;
            }
        }
        self.done.log_bytes += block.bytes;
        (self.progress)(self.done);
        Ok(())
    }

    fn repeat(&mut self, position: Position, entry: &Entry<'_>) -> Result<(), String> {
        match entry.kind {
            Kind::Command => self.gather(LogPlace { position, worker: entry.worker }, entry.body),
            Kind::Values => {
                self.values.gather(LogPlace { position, worker: entry.worker }, entry.body);
                Ok(())
            }
            Kind::Statement | Kind::Definition => {
                let entry = TextEntry::decode(entry.body).ok_or("it is no statement")?;
                self.repeat_text(&entry)
            }
            Kind::Refusal => {
                let (key, outcome) = decode_refusal(entry.body).ok_or("it is no refusal")?;
                self.outcomes.end(key, outcome);
                Ok(())
            }
        }
    }

    /// Puts a call behind those that are to be run.
    fn gather(&mut self, place: LogPlace, body: &[u8]) -> Result<(), String> {
        if self.calls.len() == self.gathered {
            self.calls.push(LoggedCall::default());
        }
        let schema = self.schema.current();
        let call = &mut self.calls[self.gathered];
        let head = decode_call(&schema, body, &mut call.invocation)?;
        (call.write_hash, call.place) = (head.write_hash, place);
        call.alone = head.company == Company::Alone;
        call.tell_end = !head.key.is_empty();
        self.gathered += 1;
        Ok(())
    }

    /// Repeats what was gathered.
    fn repeat_gathered(&mut self) -> Result<(), Error> {
        self.run_calls()?;
        self.apply_values()
    }

    fn apply_values(&mut self) -> Result<(), Error> {
        self.values.run(&self.schema.current()).map_err(|error| match error {
            ValuesError::Impossible { .. } => {
                Error::Recovery { place: self.place.clone(), what: error.to_string() }
            }
            ValuesError::OutOfMemory(error) => error.into(),
        })
    }

    fn run_calls(&mut self) -> Result<(), Error> {
        if self.gathered == 0 {
            return Ok(());
        }
        let schema = self.schema.current();
        let ends = KeyedEnds { schema: &schema, outcomes: &self.outcomes };
        let calls = &self.calls[..self.gathered];
        self.gathered = 0;
        self.replayer
            .run(&schema, calls, &ends)
            .map_err(|error| Error::Recovery { place: self.place.clone(), what: error.to_string() })
    }

    fn repeat_text(&mut self, entry: &TextEntry<'_>) -> Result<(), String> {
        let statement = parse(entry)?;
        let _conventions = conventions_of(statement.conventions())?.enter();
        let quiet = self.schema.quiet();
        let (sources, alone) = (&mut self.sources, &mut self.alone);
        let reply = execute_quietly(&quiet, sources, alone, &statement, entry.now_us);
        let shown = || hotrow_sql::shown(entry.text);
        reply.answer.map(drop).map_err(|error| format!("{error}\nSTATEMENT: {}", shown()))
    }
}

/// Remembers how keyed calls end.
struct KeyedEnds<'a> {
    schema: &'a Schema,
    outcomes: &'a Outcomes,
}

impl ReplayEnds for KeyedEnds<'_> {
    fn ended(&self, call: &LoggedCall, frame: &mut Frame, program: &Program) {
        let Invocation { procedure, arguments, now_us, key, .. } = &call.invocation;
        let procedure = self.schema.procedure(*procedure).expect("it has just been run");
        let answer = Ok(Rows::of_program(frame, program));
        let call = call_checksum(&procedure.procedure, arguments);
        self.outcomes.end(key, Outcome { call, ended_us: *now_us, answer, durable_in: 0 });
    }
}

/// The conventions that a call was made by, as the log has them.
fn conventions_of(kept: Option<&str>) -> Result<Conventions, String> {
    let Some(kept) = kept else { return Ok(Conventions::DEFAULT) };
    Conventions::of_kept(kept)
        .ok_or_else(|| format!("this version of Hotrow has no time zone or style \"{kept}\""))
}

/// Reads a call for the procedures of `schema`.
fn decode_call<'a>(
    schema: &Schema,
    body: &'a [u8],
    invocation: &mut Invocation,
) -> Result<CommandHead<'a>, String> {
    let mut reader = ByteReader::new(body);
    let head = command::decode_head(&mut reader).ok_or("it is no call")?;
    let Some(procedure) = schema.procedure(head.procedure) else {
        return Err(format!("there is no procedure number {}", head.procedure.0));
    };
    invocation.procedure = head.procedure;
    invocation.now_us = head.now_us;
    invocation.conventions = conventions_of(head.conventions)?;
    invocation.key.clear();
    invocation.key.extend_from_slice(head.key);
    let parameters = procedure.procedure.parameters();
    command::decode_arguments(reader, parameters, &mut invocation.arguments)
        .ok_or_else(|| format!("its arguments do not fit {}", procedure.procedure.name))?;
    Ok(head)
}
