//! Recovery: the data again, from what the directory holds.
//!
//! Role         called once, when a database with a directory is opened, before its engine starts
//! States       each block of the log in order, each entry in the order of positions: calls are run
//!              again, statements and definitions executed again
//! Invariants   I1 nothing is written and nobody else runs meanwhile: a recovery that is
//!                 interrupted can be begun again
//!              I2 an entry that cannot be repeated ends recovery with an error that says where it
//!              is; nothing is skipped

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::varint::ByteReader;
use hotrow_engine::journal::Journal;
use hotrow_engine::journal::command::{self, CommandHead};
use hotrow_engine::journal::text::TextEntry;
use hotrow_engine::schema::{Schema, SharedSchema};
use hotrow_log::entry::{Entry, Kind};
use hotrow_log::position::Position;
use hotrow_log::read::{self, Block, Cut, Tail};
use hotrow_transaction::invocation::Invocation;

use crate::alone::Alone;
use crate::config::Config;
use crate::data_directory::DataDirectory;
use crate::definition::{Sources, at_place};
use crate::error::Error;
use crate::statement::execute_quietly;

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
    /// transactions repeated, definitions included
    pub transactions: u64,
    /// blocks of the log that were read
    pub blocks: u64,
    /// their bytes
    pub log_bytes: u64,
    /// how long it took
    pub duration: Duration,
    /// what people should know, a sentence each
    pub notices: Vec<String>,
}

/// What recovery leaves to who asked for it.
pub(crate) struct Recovered {
    pub(crate) tail: Tail,
    pub(crate) sources: Sources,
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
    let total = read::segments(files)?.iter().map(|segment| segment.file_bytes).sum();
    let workers = schema.current().memory.workers();
    let journal = Arc::new(Journal::new(workers, None, None));
    let mut recovery = Recovery {
        schema,
        sources: Sources::default(),
        alone: Alone::new(config.step_budget, &journal),
        invocation: Invocation::default(),
        done: RecoveryProgress { log_bytes_total: total, ..RecoveryProgress::default() },
        progress,
    };
    let tail = read::scan(files, 0, |block| recovery.repeat_block(&block))?;
    let report = RecoveryReport {
        transactions: recovery.done.transactions,
        blocks: tail.blocks,
        log_bytes: tail.bytes,
        duration: started.elapsed(),
        notices: tail.cut.iter().map(cut_notice).collect(),
    };
    Ok(Recovered { tail, sources: recovery.sources, report })
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
    alone: Alone,
    invocation: Invocation,
    done: RecoveryProgress,
    progress: P,
}

impl<P: FnMut(RecoveryProgress)> Recovery<'_, P> {
    fn repeat_block(&mut self, block: &Block<'_>) -> Result<(), Error> {
        for entry in block.entries() {
            self.repeat(&entry).map_err(|what| {
                let position = Position { epoch: block.epoch, time: entry.time };
                let place = format!(
                    "{} at byte {}, position {position}, worker {}",
                    block.file, block.offset, entry.worker
                );
                Error::Recovery { place, what }
            })?;
            self.done.transactions += 1;
        }
        self.done.log_bytes += block.bytes;
        (self.progress)(self.done);
        Ok(())
    }

    fn repeat(&mut self, entry: &Entry<'_>) -> Result<(), String> {
        match entry.kind {
            Kind::Command => self.repeat_call(entry.body),
            Kind::Statement | Kind::Definition => self.repeat_text(entry.body),
            Kind::Values | Kind::Refusal => {
                Err(format!("this version does not know {} entries", entry.kind.name()))
            }
        }
    }

    fn repeat_call(&mut self, body: &[u8]) -> Result<(), String> {
        let schema = self.schema.current();
        let head = decode_call(&schema, body, &mut self.invocation)?;
        let procedure = schema.procedure(head.procedure).expect("decoded for this procedure");
        let reply = self.alone.call(&schema, procedure, &self.invocation);
        let name = &procedure.procedure.name;
        reply.answer.map(drop).map_err(|error| format!("{name}: {error}"))
    }

    fn repeat_text(&mut self, body: &[u8]) -> Result<(), String> {
        let entry = TextEntry::decode(body).ok_or("it is no statement")?;
        let script = at_place(entry.text, entry.place);
        let statements = hotrow_sql::parse_script(&script).map_err(|error| error.to_string())?;
        let [statement] = statements.as_slice() else {
            return Err("it is not one statement".to_owned());
        };
        let quiet = self.schema.quiet();
        let (sources, alone) = (&mut self.sources, &mut self.alone);
        let reply = execute_quietly(&quiet, sources, alone, statement, entry.now_us);
        reply.answer.map(drop).map_err(|error| format!("{error}\nSTATEMENT: {}", entry.text))
    }
}

/// Reads a call for the procedures of `schema`.
fn decode_call(
    schema: &Schema,
    body: &[u8],
    invocation: &mut Invocation,
) -> Result<CommandHead, String> {
    let mut reader = ByteReader::new(body);
    let head = command::decode_head(&mut reader).ok_or("it is no call")?;
    let Some(procedure) = schema.procedure(head.procedure) else {
        return Err(format!("there is no procedure number {}", head.procedure.0));
    };
    invocation.procedure = head.procedure;
    invocation.now_us = head.now_us;
    let parameters = procedure.procedure.parameters();
    command::decode_arguments(reader, parameters, &mut invocation.arguments)
        .ok_or_else(|| format!("its arguments do not fit {}", procedure.procedure.name))?;
    Ok(head)
}
