//! Definitions of a transaction: a schema that is its own until it commits.
//!
//! Role         from its first definition on, a transaction keeps its quiet point until it ends:
//!              what it defines is in force there for its own statements, and for nobody else
//!              before COMMIT ([`SharedSchema::set_pending`])
//! States       phases: what was changed under one schema, and the definition that ended it. Taking
//!              back goes through them from the last one on, each with the schema under which it
//!              was changed; COMMIT writes all of them as one group of the log
//! Invariants   I1 a phase's rows are encoded for the log before its definition is made, which may
//!              put other rows in their place
//!              I2 a crash finds all of a transaction's entries in the log, or none: they are of
//!              one epoch
//!              I3 nobody waits for ever for whoever thinks in such a transaction: after a while
//!              it is taken back by its [watcher](watch)

use hotrow_base::sync::facade::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::interrupt::Interrupt;
use hotrow_base::thread::{self, ThreadOptions};
use hotrow_log::entry::Kind;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;

use super::Reruns;
use super::moment::{Moment, undo};
use crate::in_place::{InPlace, Part, Savepoint, Scratch};
use crate::interactive::SchemaCompanion;
use crate::journal::text::TextEntry;
use crate::journal::{Committer, Effect};
use crate::protection::Alone;
use crate::schema::{QUIET_WORKER, Quiet, Schema, SharedSchema};

/// Between two looks of a watcher.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a transaction has defined, and how all is taken back.
pub(super) struct Definitions {
    shared: Arc<SharedSchema>,
    owner: Arc<Interrupt>,
    phases: Vec<Phase>,
    savepoints: Vec<Mark>,
    companion: Box<dyn SchemaCompanion>,
    /// the transaction has no quiet point any more
    is_over: Arc<AtomicBool>,
}

/// What was changed under one schema, and what was defined then.
struct Phase {
    schema: Arc<Schema>,
    part: Part,
    /// the hash of its changes, and how the log has them (I1); none: it changed no row
    values: Option<(u64, Vec<u8>)>,
    place: Place,
    text: String,
    now_us: i64,
}

/// Where a savepoint stands.
struct Mark {
    /// as the list numbers it
    number: usize,
    phases: usize,
    before: Savepoint,
}

impl Drop for Definitions {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed); // a flag; what is over lies behind a latch
    }
}

impl Moment {
    /// Has definitions be part of what is done here. `savepoints`: those that there are, by number.
    pub(super) fn begin_definitions(
        &mut self,
        (shared, owner): (&Arc<SharedSchema>, &Arc<Interrupt>),
        savepoints: Vec<(usize, Savepoint)>,
        companion: Box<dyn SchemaCompanion>,
    ) -> Arc<AtomicBool> {
        let mark = |(number, before)| Mark { number, phases: 0, before };
        let is_over = Arc::new(AtomicBool::new(false));
        self.definitions = Some(Definitions {
            shared: Arc::clone(shared),
            owner: Arc::clone(owner),
            phases: Vec::new(),
            savepoints: savepoints.into_iter().map(mark).collect(),
            companion,
            is_over: Arc::clone(&is_over),
        });
        is_over
    }

    /// Has `put_in_force` make a definition; where it fails, all is as before.
    pub(super) fn define(
        &mut self,
        scratch: &mut Scratch,
        entry: &TextEntry<'_>,
        put_in_force: &mut dyn FnMut(&Quiet<'_>) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let Some(definitions) = &mut self.definitions else { return Err(no_definitions()) };
        let made = definitions.phases.len();
        if made == 0 || definitions.savepoints.iter().any(|mark| mark.phases == made) {
            definitions.companion.note(made);
        }
        let values = scratch.changed_since(&Savepoint::default()).map(|hash| {
            let mut bytes = Vec::new();
            scratch.encode_values(&self.schema, &mut bytes);
            (hash, bytes)
        });
        put_in_force(&self.quiet.of(&definitions.shared, &definitions.owner))?;
        let mut part = Part::default();
        scratch.exchange(&mut part);
        definitions.phases.push(Phase {
            schema: Arc::clone(&self.schema),
            part,
            values,
            place: entry.place,
            text: entry.text.to_owned(),
            now_us: entry.now_us,
        });
        (self.schema, self.generation) = definitions.shared.pending_or_committed();
        Ok(())
    }

    /// Notes where a savepoint stands.
    pub(super) fn mark(&mut self, number: usize, scratch: &Scratch) {
        if let Some(definitions) = &mut self.definitions {
            let (phases, before) = (definitions.phases.len(), scratch.savepoint());
            definitions.savepoints.push(Mark { number, phases, before });
        }
    }

    /// Forgets a savepoint and all behind it.
    pub(super) fn forget_marks(&mut self, from: usize) {
        if let Some(definitions) = &mut self.definitions {
            definitions.savepoints.retain(|mark| mark.number < from);
        }
    }

    /// Takes back what was done since a savepoint.
    pub(super) fn take_back_to_mark(&mut self, number: usize, scratch: &mut Scratch) {
        let Some(definitions) = &mut self.definitions else { return };
        definitions.savepoints.retain(|mark| mark.number <= number);
        let Some(mark) = definitions.savepoints.last() else { return };
        let (phases, before) = (mark.phases, mark.before);
        self.take_back_definitions(phases, scratch);
        let _pin = self.schema.memory.epochs().pin(QUIET_WORKER);
        InPlace::resume(&self.schema, scratch, Alone).take_back(before);
    }

    /// Takes back all but the first so many definitions, and what was changed behind them.
    pub(super) fn take_back_definitions(&mut self, left: usize, scratch: &mut Scratch) {
        let Some(definitions) = &mut self.definitions else { return };
        let is_other = definitions.phases.len() > left;
        while definitions.phases.len() > left
            && let Some(mut phase) = definitions.phases.pop()
        {
            undo(&self.schema, scratch);
            scratch.exchange(&mut phase.part);
            self.schema = phase.schema;
        }
        if is_other {
            let Definitions { shared, owner, companion, .. } = definitions;
            match left {
                0 => shared.end_pending(),
                _ => shared.set_pending(Arc::clone(&self.schema), owner),
            }
            companion.take_back(left);
            (self.schema, self.generation) = shared.pending_or_committed();
        }
    }

    /// Commits all phases as one group (I2); in which epoch it is durable. Where the log has
    /// failed, all stands as before.
    pub(super) fn commit_definitions(
        &mut self,
        scratch: &mut Scratch,
        committer: &Committer,
    ) -> Result<u64, Box<SqlError>> {
        let Some(definitions) = &mut self.definitions else { return Err(no_definitions().into()) };
        let last = scratch.changed_since(&Savepoint::default());
        let entries = |phase: &Phase| 1 + usize::from(phase.values.is_some());
        let count = definitions.phases.iter().map(entries).sum::<usize>();
        let count = count + usize::from(last.is_some());
        let group = committer.open_group_alone(count).map_err(|_| committer.failure())?;
        let mut numbers = 0..count;
        let mut commit = |hash| group.commit(numbers.next().unwrap_or(0), Effect::Write { hash });
        for phase in &definitions.phases {
            if let Some((hash, values)) = &phase.values {
                let _ = committer.append_values(commit(*hash), |out| out.extend(values));
            }
            let Phase { now_us, place, text, .. } = phase;
            let entry = TextEntry { now_us: *now_us, place: *place, text };
            committer.append_text(commit(0), Kind::Definition, &entry);
        }
        if let Some(hash) = last {
            let encode = |out: &mut Vec<u8>| scratch.encode_values(&self.schema, out);
            let _ = committer.append_values(commit(hash), encode);
        }
        committer.close_group(group);
        if !definitions.phases.is_empty() {
            self.quiet.commit(&definitions.shared);
        }
        let _pin = self.schema.memory.epochs().pin(QUIET_WORKER);
        for mut phase in definitions.phases.drain(..) {
            scratch.exchange(&mut phase.part);
            InPlace::resume(&phase.schema, scratch, Alone).commit();
            scratch.exchange(&mut phase.part);
        }
        InPlace::resume(&self.schema, scratch, Alone).commit();
        self.schema.reclaim(QUIET_WORKER);
        Ok(group.position(count.saturating_sub(1)).epoch)
    }
}

/// Has a transaction watched that keeps its quiet point, until that is over (I3).
pub(super) fn watch(
    reruns: &Arc<Reruns>,
    number: u64,
    is_over: Arc<AtomicBool>,
) -> Result<(), SqlError> {
    let reruns = Arc::clone(reruns);
    let look = move || {
        while !is_over.load(Ordering::Relaxed) && !reruns.end_if_due(number) {
            thread::sleep(LOOK_EVERY);
        }
    };
    let started = ThreadOptions::named("definitions").spawn(look);
    started.map(drop).map_err(|error| {
        SqlError::new(b"53000", format!("no thread to watch over definitions: {error}"))
    })
}

fn no_definitions() -> SqlError {
    SqlError::new(b"XX000", "the transaction has no definitions")
}
