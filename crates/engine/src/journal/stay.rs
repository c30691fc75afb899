//! A worker's stay in commit epochs while calls that it has run wait for their places.
//!
//! Role         for engines that run calls behind others that are undecided. Somebody else may
//!              decide a call that follows such a one, and append its entry, before that one has
//!              one: both are durable together if the epoch in which the first was run does not end
//!              before it has its entry
//! States       outside -> inside, while calls wait or are about to be told their places: in the
//!              epoch of the oldest of them, and, once that is no longer the current one, in the
//!              one behind it, too -> outside
//! Invariants   I1 a call that [begins](Stay::begin) in an epoch stands in it or in a later one
//!              that has begun, and its entry is in the log before that ends
//!              I2 the epoch of a call that is decided behind others is no older than theirs: they
//!              had begun theirs before it was run, and so before it was decided
//! Source       partitioned.txt 4.2.2 knows no log: its copies take results in their order. Ours is
//!              one log for all partitions, written in epochs ([`hotrow_base::sync::CommitEpochs`])

use hotrow_base::sync::commit_epoch::{EpochStay, StayEnd};
use hotrow_log::log::Log;
use hotrow_log::position::Position;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::Stop;

use super::{Commit, Committer, Company, Effect};

/// See the module. One worker's, who commits by nothing else meanwhile.
#[derive(Debug)]
pub struct Stay {
    committer: Committer,
    /// of the calls that wait
    calls: EpochStay,
    /// patient ones end, and nobody else is to be told of
    is_patient: bool,
}

/// When a call has begun to wait for its place.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[must_use = "an epoch stays open until the stay of the call is over"]
pub struct Begun(u64);

impl Begun {
    /// The epoch; 0 where there is no log.
    pub fn epoch(self) -> u64 {
        self.0
    }
}

impl Stay {
    /// One that is outside.
    pub fn new(committer: Committer) -> Self {
        Self { committer, calls: EpochStay::default(), is_patient: true }
    }

    fn log(&self) -> Option<&Log> {
        self.committer.log().map(|log| &**log)
    }

    /// A call has changed something and will be told its place, or undone; then [`Stay::end`] is
    /// called.
    ///
    /// # Errors
    ///
    /// [`Stop::Log`]: the log has failed; the call must be undone, and has not begun.
    pub fn begin(&mut self) -> Result<Begun, Stop> {
        let (worker, is_outside) = (self.committer.worker(), self.calls.is_outside());
        let Some(log) = self.log() else { return Ok(Begun::default()) };
        let entered = if is_outside { log.enter(worker) } else { log.enter_beside(worker) };
        let epoch = entered.map_err(|_| Stop::Log)?;
        self.calls.begin(epoch);
        Ok(Begun(epoch))
    }

    /// Gives a call its place, behind `met`, before its changes are made final; its entry, if it
    /// has changed something, is appended next, then comes [`Stay::end`]. One that has only read
    /// has not begun.
    pub fn commit(&mut self, begun: Begun, met: Position, effect: Effect) -> Commit {
        let committer = &self.committer;
        if !committer.is_active() {
            return Commit { position: Position::default(), effect, has_entry: false };
        }
        let met = met.max(committer.floor());
        let position = met.after(begun.0.max(met.epoch)); // I1
        committer.place().raise_to(position);
        if let (Some(log), Effect::Write { .. }) = (self.log(), effect) {
            log.append_to(committer.worker(), position.epoch);
        }
        Commit { position, effect, has_entry: false }
    }

    /// Appends the entry of a call that has just been given its place; `values`: what it has
    /// changed, where values are logged of calls.
    pub fn append(
        &mut self,
        commit: Commit,
        values: &[u8],
        invocation: &Invocation,
        procedure: &CompiledProcedure,
    ) {
        let encode = |out: &mut Vec<u8>| out.extend_from_slice(values);
        let commit = self.committer.record_values(commit, invocation, encode);
        if !commit.has_entry {
            self.committer.append_command(commit, Company::Shared, invocation, procedure);
        }
        self.is_patient &= invocation.is_patient;
    }

    /// A call waits no longer: it has its entry, or it was undone.
    pub fn end(&mut self, Begun(epoch): Begun) {
        if epoch == 0 {
            return; // there is no log
        }
        let Some(log) = self.committer.log() else { return };
        let worker = self.committer.worker();
        match self.calls.end(epoch) {
            StayEnd::Stays => {}
            StayEnd::MovesOn => log.move_on(worker),
            StayEnd::Leaves => match std::mem::replace(&mut self.is_patient, true) {
                true => log.leave_patiently(worker),
                false => log.leave(worker),
            },
        }
    }
}
