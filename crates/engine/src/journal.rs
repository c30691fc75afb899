//! The journal: where commits are told, in the order in which they can be repeated.
//!
//! Role         every engine's commit goes through a [`Committer`], one per worker: it gives the
//!              transaction its position, appends its log entry, and records it for tests that ask
//!              for a trace. Without log and trace it does nothing. Knows no files (the log does)
//!              and no protocol: what the transaction met, its engine says
//! States       [`Committer::commit`], with everything still held -> inside a commit epoch ->
//!              values logged if they are ([`Committer::record_values`]), changes made final, locks
//!              released as of the position -> [`Committer::record`] -> outside
//! Invariants   I1 a transaction's position is greater than that of every one it conflicts with and
//!              follows; see [`hotrow_log::position`]
//!              I2 only a transaction that changed something has an entry; one that only read
//!              stands right behind what it met, and is as durable as that
//!              I3 what runs at a quiet point follows all that ran before (`greatest`), and all
//!                 that runs later follows it (`floor`). A definition that is made beside calls
//!                 ([`Committer::commit_beside`]) follows the last one and what ran at quiet
//!                 points; of the calls beside it, only those follow it whose callers know of it
//! Concurrency  `greatest` of a worker -> raised by it, read at quiet points; `floor` -> raised by
//!              whoever has a quiet point or keeps the gate open, one at a time; read inside the
//!              gate. It may be raised while it is read: see [`Place`]. The epochs of both are read
//!              at other moments, too ([`Journal::entered`]): whatever showed the reader a change
//!              (a latch, a schema) was released after they were raised

pub mod command;
pub mod stay;
pub mod text;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hotrow_base::counters::PerWorker;
use hotrow_base::ids::WorkerId;
use hotrow_base::sync::facade::plain_atomic::{AtomicU64, Ordering};
use hotrow_log::entry::Kind;
use hotrow_log::error::LogFailure;
use hotrow_log::log::Log;
use hotrow_log::position::Position;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::{SqlError, Stop};

use self::text::TextEntry;
use crate::trace::SerialTrace;

/// Behind all times that there are, with room for those who only read.
const TIME_MAX: u64 = 1 << 62;

/// What all workers of a database share; see the module.
#[derive(Debug)]
pub struct Journal {
    log: Option<Arc<Log>>,
    entries: LogEntries,
    trace: Option<Arc<SerialTrace>>,
    greatest: PerWorker<Place>,
    floor: Place,
}

/// The greatest position so far, with one writer at a time. Its two words are written epoch first
/// and read time first: who reads while it is raised may find a later epoch beside an earlier time,
/// which is a position that is at least the earlier one, and never the reverse.
#[derive(Default, Debug)]
struct Place {
    epoch: AtomicU64,
    time: AtomicU64,
}

impl Place {
    #[inline]
    fn get(&self) -> Position {
        let time = self.time.load(Ordering::Acquire); // partner: the Release of `raise_to`
        Position { epoch: self.epoch.load(Ordering::Acquire), time }
    }

    /// Raises it to `position`. A worker's positions need not ascend: its transactions may conflict
    /// with others and not with each other.
    #[inline]
    fn raise_to(&self, position: Position) {
        if position > self.get() {
            self.epoch.store(position.epoch, Ordering::Release); // before `time`, see there
            self.time.store(position.time, Ordering::Release);
        }
    }
}

/// What a transaction did, as far as the journal cares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// it changed nothing
    Read,
    /// it changed rows
    Write {
        /// the hash of its writes, compared when it is replayed
        hash: u64,
    },
}

impl Effect {
    /// That of changes with this hash, if there were any.
    #[inline]
    pub fn of(changes: Option<u64>) -> Self {
        changes.map_or(Self::Read, |hash| Self::Write { hash })
    }

    /// As [`Effect::of`], of a call. One with a key has an entry even if it only read: its outcome
    /// shall be the same after a restart.
    #[inline]
    pub fn of_call(changes: Option<u64>, invocation: &Invocation) -> Self {
        match invocation.key.is_empty() {
            true => Self::of(changes),
            false => Self::Write { hash: changes.unwrap_or(0) },
        }
    }
}

/// What the log has of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum LogEntries {
    /// what was called; repeated by running it again
    #[default]
    Commands,
    /// the rows as it left them; see [`crate::values`]
    Values,
}

impl fmt::Display for LogEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Commands => "commands",
            Self::Values => "values",
        })
    }
}

impl FromStr for LogEntries {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "commands" => Ok(Self::Commands),
            "values" => Ok(Self::Values),
            _ => Err(format!("\"{text}\" is none of commands, values")),
        }
    }
}

/// A transaction that has its place and is not recorded yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a commit epoch stays open until the commit is recorded"]
pub struct Commit {
    position: Position,
    effect: Effect,
    /// its entry is in the log's buffer already
    has_entry: bool,
}

impl Commit {
    /// Whether it changed nothing.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.effect == Effect::Read
    }

    /// Its position.
    #[inline]
    pub fn position(&self) -> Position {
        self.position
    }
}

/// Transactions that commit together, with places one after the other.
#[derive(Clone, Copy, Debug)]
#[must_use = "a commit epoch stays open until the group is closed"]
pub struct Group {
    /// of its first transaction
    first: Position,
    writes: bool,
    is_active: bool,
}

impl Group {
    /// The position of the transaction with this number in the group.
    #[inline]
    pub fn position(&self, number: usize) -> Position {
        if !self.is_active {
            return Position::default();
        }
        Position { time: self.first.time + number as u64, ..self.first }
    }

    /// The commit of the transaction with this number in the group.
    #[inline]
    pub fn commit(&self, number: usize, effect: Effect) -> Commit {
        debug_assert!(self.writes || effect == Effect::Read, "the group was opened for readers");
        Commit { position: self.position(number), effect, has_entry: false }
    }
}

/// Whether a call ran beside others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Company {
    /// others may have run at the same time
    Shared,
    /// it ran at a quiet point, and must be replayed so
    Alone,
}

impl Journal {
    /// A journal for the workers `0..workers`.
    pub fn new(workers: usize, log: Option<Arc<Log>>, trace: Option<Arc<SerialTrace>>) -> Self {
        let greatest = PerWorker::with_defaults(workers);
        let floor = Place::default();
        if let Some(log) = &log {
            // What was recovered stands in epochs before those that are entered now.
            floor.raise_to(Position { epoch: log.horizon(), time: TIME_MAX });
        }
        Self { log, entries: LogEntries::Commands, trace, greatest, floor }
    }

    /// The same journal, with entries of another form for calls.
    #[must_use]
    pub fn with_entries(self, entries: LogEntries) -> Self {
        Self { entries, ..self }
    }

    /// The log, if there is one.
    pub fn log(&self) -> Option<&Arc<Log>> {
        self.log.as_ref()
    }

    /// The trace, if one was asked for.
    pub fn trace(&self) -> Option<&Arc<SerialTrace>> {
        self.trace.as_ref()
    }

    /// Parts what was committed from what will be: everything so far stands at the position given
    /// or before it, everything later behind it, even under an engine that knows nothing of what
    /// its predecessor's locks were tagged with. Only at a quiet point, or while no engine runs.
    pub fn cut(&self) -> Position {
        let position = self.greatest_of_all();
        self.floor.raise_to(position);
        position
    }

    /// The latest epoch that a commit has entered whose changes the caller can have seen, at any
    /// moment: whoever cannot say what it has met is durable when this is. A commit stands here
    /// before anything of it is released.
    pub fn entered(&self) -> u64 {
        self.greatest_of_all().epoch
    }

    /// What everything follows that runs beside others: what ran at quiet points.
    pub fn floor(&self) -> Position {
        self.floor.get()
    }

    /// The greatest position there is; its epoch is right at any moment, its time only at a quiet
    /// point.
    fn greatest_of_all(&self) -> Position {
        self.greatest.iter().map(Place::get).fold(self.floor.get(), Position::max)
    }
}

/// A worker's way to the journal. There is one user of a worker id at a time.
#[derive(Clone, Debug)]
pub struct Committer {
    journal: Arc<Journal>,
    worker: WorkerId,
}

impl Committer {
    /// The way of one worker.
    pub fn new(journal: &Arc<Journal>, worker: WorkerId) -> Self {
        Self { journal: Arc::clone(journal), worker }
    }

    /// The worker.
    pub fn worker(&self) -> WorkerId {
        self.worker
    }

    /// The log, if there is one.
    pub fn log(&self) -> Option<&Arc<Log>> {
        self.journal.log.as_ref()
    }

    /// Whether positions are of any use; when not, all are zero.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.journal.log.is_some() || self.journal.trace.is_some()
    }

    /// The worker's greatest position: what a transaction of an engine with one thread has met.
    pub fn last(&self) -> Position {
        self.place().get()
    }

    /// Gives a transaction its place, before its changes are made final and anything is released.
    /// `met`: the greatest position it follows. [`Committer::record`] comes soon after.
    ///
    /// # Errors
    ///
    /// [`Stop::Log`]: the log has failed; the transaction must be undone.
    #[inline]
    pub fn commit(&self, met: Position, effect: Effect) -> Result<Commit, Stop> {
        if !self.is_active() {
            return Ok(Commit { position: Position::default(), effect, has_entry: false });
        }
        self.commit_after(met.max(self.journal.floor.get()), effect)
    }

    /// Gives `count` transactions their places, behind `met`. Of them, only those of a group that
    /// `writes` may have changed something. Who calls this for several workers, one after the
    /// other, gives each the last position of the one before as `met`. Each commit is told by
    /// [`Committer::record_in_group`], then [`Committer::close_group`] is called.
    ///
    /// # Errors
    ///
    /// As [`Committer::commit`].
    pub fn open_group(&self, met: Position, count: usize, writes: bool) -> Result<Group, Stop> {
        let effect = Effect::of(writes.then_some(0));
        let first = self.commit(met, effect)?.position;
        let group = Group { first, writes, is_active: self.is_active() };
        if count > 0 {
            self.place().raise_to(group.position(count - 1));
        }
        Ok(group)
    }

    /// As [`Committer::open_group`], for what runs at a quiet point and follows everything. Its
    /// entries are appended by [`Committer::append_values`] and [`Committer::append_text`].
    ///
    /// # Errors
    ///
    /// As [`Committer::commit`].
    pub fn open_group_alone(&self, count: usize) -> Result<Group, Stop> {
        let group = self.open_group(self.journal.greatest_of_all(), count, true)?;
        if count > 0 {
            self.journal.floor.raise_to(group.position(count - 1));
        }
        Ok(group)
    }

    /// As [`Committer::record`], for a commit of an open group.
    #[inline]
    pub fn record_in_group(
        &self,
        commit: Commit,
        invocation: &Invocation,
        procedure: &CompiledProcedure,
        frame: &Frame,
    ) {
        self.append_command(commit, Company::Shared, invocation, procedure);
        self.trace(commit.position, invocation, procedure, frame);
    }

    /// All commits of a group are told.
    pub fn close_group(&self, group: Group) {
        if let (Some(log), true) = (&self.journal.log, group.writes) {
            log.leave(self.worker);
        }
    }

    /// Whether calls are logged as what was called.
    pub fn logs_commands(&self) -> bool {
        self.journal.log.is_none() || self.journal.entries == LogEntries::Commands
    }

    /// As [`Committer::commit`], for what runs at a quiet point: it follows everything.
    ///
    /// # Errors
    ///
    /// As [`Committer::commit`].
    pub fn commit_alone(&self, effect: Effect) -> Result<Commit, Stop> {
        if !self.is_active() {
            return Ok(Commit { position: Position::default(), effect, has_entry: false });
        }
        let commit = self.commit_after(self.journal.greatest_of_all(), effect)?;
        self.journal.floor.raise_to(commit.position);
        Ok(commit)
    }

    /// As [`Committer::commit_alone`], for a definition beside calls, which follows none of them.
    /// The caller keeps the gate open, and works as [`QUIET_WORKER`](crate::schema::QUIET_WORKER).
    ///
    /// # Errors
    ///
    /// As [`Committer::commit`].
    pub fn commit_beside(&self, effect: Effect) -> Result<Commit, Stop> {
        let commit = self.commit(Position::default(), effect)?;
        self.journal.floor.raise_to(commit.position);
        Ok(commit)
    }

    fn commit_after(&self, met: Position, effect: Effect) -> Result<Commit, Stop> {
        let epoch = match (&self.journal.log, effect) {
            (Some(log), Effect::Write { .. }) => log.enter(self.worker).map_err(|_| Stop::Log)?,
            _ => met.epoch, // I2
        };
        let position = met.after(epoch);
        self.place().raise_to(position);
        Ok(Commit { position, effect, has_entry: false })
    }

    /// Appends the entry of a call of which values are logged; of others nothing, and
    /// [`Committer::record`] does. Called with everything still held, since the rows are still the
    /// transaction's own then. A call with a key is logged as a command: its outcome is only found
    /// again by running it.
    #[inline]
    pub fn record_values(
        &self,
        commit: Commit,
        invocation: &Invocation,
        encode: impl FnOnce(&mut Vec<u8>),
    ) -> Commit {
        if self.journal.entries == LogEntries::Commands || !invocation.key.is_empty() {
            return commit;
        }
        self.append_values(commit, encode)
    }

    /// As [`Committer::record_values`], whatever is logged of calls.
    #[inline]
    pub fn append_values(&self, commit: Commit, encode: impl FnOnce(&mut Vec<u8>)) -> Commit {
        let (Some(log), Effect::Write { .. }) = (&self.journal.log, commit.effect) else {
            return commit;
        };
        log.append(self.worker, commit.position.time, Kind::Values, encode);
        Commit { has_entry: true, ..commit }
    }

    /// As [`Committer::commit`], for a transaction that has locked what it changes and has still to
    /// validate what it read. What it has met does not tell who overwrites what it read; so where
    /// there is a trace, times are counted, and this moment is its place.
    ///
    /// # Errors
    ///
    /// As [`Committer::commit`].
    #[inline]
    pub fn commit_unvalidated(&self, met: Position, effect: Effect) -> Result<Commit, Stop> {
        let mut commit = self.commit(met, effect)?;
        if let Some(trace) = &self.journal.trace {
            let floor = self.journal.floor.get();
            let before = if floor.epoch == commit.position.epoch { floor.time + 1 } else { 0 };
            commit.position.time = before + trace.count();
            self.place().raise_to(commit.position);
        }
        Ok(commit)
    }

    /// Ends the commit of a transaction that was found invalid.
    pub fn abandon(&self, commit: Commit) {
        if let (Some(log), Effect::Write { .. }) = (&self.journal.log, commit.effect) {
            log.leave(self.worker);
        }
    }

    /// What everything follows that runs beside others: what ran at quiet points.
    #[inline]
    pub fn floor(&self) -> Position {
        self.journal.floor()
    }

    /// See [`Journal::entered`].
    pub fn entered(&self) -> u64 {
        self.journal.entered()
    }

    /// What a call that ended at a quiet point without a commit may have seen: everything.
    pub fn seen_alone(&self) -> Position {
        self.journal.greatest_of_all()
    }

    /// Appends the entry of a committed call, if it has none yet, and traces it.
    #[inline]
    pub fn record(
        &self,
        commit: Commit,
        company: Company,
        invocation: &Invocation,
        procedure: &CompiledProcedure,
        frame: &Frame,
    ) {
        if let (Some(log), Effect::Write { .. }) = (&self.journal.log, commit.effect) {
            if !commit.has_entry {
                self.append_command(commit, company, invocation, procedure);
            }
            match invocation.is_patient {
                true => log.leave_patiently(self.worker),
                false => log.leave(self.worker),
            }
        }
        self.trace(commit.position, invocation, procedure, frame);
    }

    /// Traces a committed call, whose result is in the frame.
    #[inline]
    pub fn trace(
        &self,
        position: Position,
        invocation: &Invocation,
        procedure: &CompiledProcedure,
        frame: &Frame,
    ) {
        if let Some(trace) = &self.journal.trace {
            trace.record(position, invocation, &procedure.program, frame);
        }
    }

    #[inline]
    fn append_command(
        &self,
        commit: Commit,
        company: Company,
        invocation: &Invocation,
        procedure: &CompiledProcedure,
    ) {
        if let (Some(log), Effect::Write { hash }) = (&self.journal.log, commit.effect) {
            log.append(self.worker, commit.position.time, Kind::Command, |out| {
                let parameters = procedure.procedure.parameters();
                command::encode(out, invocation, parameters, hash, company);
            });
        }
    }

    /// Ends the commit of what was no call, once its values are appended. It is not traced.
    pub fn finish(&self, commit: Commit) {
        if let (Some(log), Effect::Write { .. }) = (&self.journal.log, commit.effect) {
            debug_assert!(commit.has_entry, "the log has what there is to repeat");
            log.leave(self.worker);
        }
    }

    /// Appends an entry that has no place among others: the outcome of a call that was refused.
    /// The epoch in which it is durable; an error when the log has failed.
    pub fn record_refusal(&self, body: impl FnOnce(&mut Vec<u8>)) -> Result<u64, Stop> {
        let Some(log) = &self.journal.log else { return Ok(0) };
        let epoch = log.enter(self.worker).map_err(|_| Stop::Log)?;
        let position = self.place().get().max(self.journal.floor.get()).after(epoch);
        self.place().raise_to(position);
        log.append(self.worker, position.time, Kind::Refusal, body);
        log.leave(self.worker);
        Ok(epoch)
    }

    /// Appends an entry of another kind for something that ran at a quiet point.
    pub fn record_text(&self, commit: Commit, kind: Kind, entry: &TextEntry<'_>) {
        self.append_text(commit, kind, entry);
        if let (Some(log), Effect::Write { .. }) = (&self.journal.log, commit.effect) {
            log.leave(self.worker);
        }
    }

    /// As [`Committer::record_text`], for a commit of an open group.
    pub fn append_text(&self, commit: Commit, kind: Kind, entry: &TextEntry<'_>) {
        if let (Some(log), Effect::Write { .. }) = (&self.journal.log, commit.effect) {
            log.append(self.worker, commit.position.time, kind, |out| entry.encode(out));
        }
    }

    /// Waits while the log is too far behind with what this worker appended. Called with nothing
    /// held.
    #[inline]
    pub fn wait_for_room(&self) {
        if let Some(log) = &self.journal.log {
            log.wait_for_room(self.worker);
        }
    }

    /// Whether [`Committer::wait_for_room`] would not wait, unless the log has failed.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.journal.log.as_ref().is_none_or(|log| log.has_room(self.worker))
    }

    /// The error of a call that [`Stop::Log`] ended.
    pub fn failure(&self) -> SqlError {
        let failure = self.journal.log.as_ref().and_then(|log| log.failure());
        log_error(&failure.unwrap_or(LogFailure::Stopped))
    }

    fn place(&self) -> &Place {
        self.journal.greatest.of(self.worker.index())
    }
}

/// 58030: the call was refused because the log takes no more entries.
pub fn log_error(failure: &LogFailure) -> SqlError {
    let mut error = SqlError::new(b"58030", failure.to_string());
    let hint = "Nothing of the call remains. Reads go on; see to the disk, then restart.";
    error.hint = Some(hint.to_owned());
    error
}

#[cfg(test)]
mod tests;
