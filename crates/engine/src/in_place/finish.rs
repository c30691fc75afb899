//! Commit and undo.

use hotrow_base::ids::TableId;
use hotrow_base::panics;
use hotrow_log::position::Position;
use hotrow_storage::btree::GHOST;
use hotrow_storage::record::RecordId;
use hotrow_storage::table::Index as StoredIndex;
use hotrow_storage::undo::{IndexChange, IndexKey, Undo, UndoEntry, UndoLog};
use hotrow_transaction::catalog::IndexKind;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::{Conflict, Stop};

use super::key_ranges::{self, Reach};
use super::{InPlace, Part, Savepoint, Scratch};
use crate::journal::{Commit, Committer, Effect};
use crate::protection::Protection;
use crate::schema::Schema;

impl<P: Protection> InPlace<'_, P> {
    /// Gives the transaction its place, and logs its values if that is what is logged. Called with
    /// everything held; [`InPlace::commit`] comes next. `met`: see [`Committer::commit`].
    ///
    /// # Errors
    ///
    /// As [`Committer::commit`]; then the transaction must be undone.
    #[inline]
    pub fn commit_at(
        &mut self,
        committer: &Committer,
        met: Position,
        invocation: &Invocation,
    ) -> Result<Commit, Stop> {
        panics::point::reach("commit");
        let commit = committer.commit(met, self.effect_of(invocation))?;
        self.protection.commits_at(commit.position());
        Ok(self.log_values(committer, commit, invocation))
    }

    /// As [`InPlace::commit_at`], for what runs at a quiet point.
    ///
    /// # Errors
    ///
    /// As [`InPlace::commit_at`].
    pub fn commit_alone(
        &mut self,
        committer: &Committer,
        invocation: &Invocation,
    ) -> Result<Commit, Stop> {
        let commit = committer.commit_alone(self.effect_of(invocation))?;
        Ok(self.log_values(committer, commit, invocation))
    }

    /// As [`InPlace::commit_at`], for a transaction that no call stands for: its values are logged,
    /// whatever is logged of calls.
    ///
    /// # Errors
    ///
    /// As [`Committer::commit`].
    pub fn commit_values(&mut self, committer: &Committer, met: Position) -> Result<Commit, Stop> {
        let commit = committer.commit(met, self.effect())?;
        self.protection.commits_at(commit.position());
        Ok(committer.append_values(commit, |out| self.scratch.encode_values(self.schema, out)))
    }

    /// As [`InPlace::commit_values`], for what runs at a quiet point.
    ///
    /// # Errors
    ///
    /// As [`Committer::commit`].
    pub fn commit_values_alone(&mut self, committer: &Committer) -> Result<Commit, Stop> {
        let commit = committer.commit_alone(self.effect())?;
        Ok(committer.append_values(commit, |out| self.scratch.encode_values(self.schema, out)))
    }

    #[inline]
    fn effect_of(&self, invocation: &Invocation) -> Effect {
        Effect::of_call(self.write_hash(), invocation)
    }

    #[inline]
    fn log_values(
        &mut self,
        committer: &Committer,
        commit: Commit,
        invocation: &Invocation,
    ) -> Commit {
        committer
            .record_values(commit, invocation, |out| self.scratch.encode_values(self.schema, out))
    }

    /// As [`InPlace::commit_values`], for a transaction that is validated once it has its place:
    /// the protection is asked.
    ///
    /// # Errors
    ///
    /// As [`Committer::commit`]; or a conflict, and the transaction must be undone.
    pub fn commit_valid(
        &mut self,
        committer: &Committer,
        met: Position,
        is_valid: impl FnOnce(&P) -> bool,
    ) -> Result<Commit, Stop> {
        let commit = committer.commit_unvalidated(met, self.effect())?;
        if !is_valid(&self.protection) {
            committer.abandon(commit);
            return Err(Stop::Conflict(Conflict::Validation));
        }
        Ok(committer.append_values(commit, |out| self.scratch.encode_values(self.schema, out)))
    }

    /// Makes the changes final. Called with everything still held: removed rows and entries leave
    /// their indexes here, while nobody can look for them.
    #[inline]
    pub fn commit(self) {
        let Self { schema, scratch, mut protection, .. } = self;
        if let Some(trace) = schema.memory.access_trace() {
            trace.note(scratch.worker, &scratch.part.undo);
        }
        if scratch.part.unsettled {
            settle(schema, scratch, &mut protection);
        }
        scratch.part.undo.clear();
        key_ranges::housekeep(schema, &mut protection, &mut scratch.prior);
    }

    /// Takes all changes back, newest first.
    pub fn undo(self) {
        let Self { schema, scratch, mut protection, .. } = self;
        let worker = scratch.worker;
        scratch.part.undo.rollback(|entry| {
            key_ranges::undo(schema, worker, &mut protection, Reach::Whole, &entry);
        });
        scratch.part.moved.clear();
        scratch.part.unsettled = false;
        key_ranges::housekeep(schema, &mut protection, &mut scratch.prior);
    }

    /// Takes the changes since a savepoint of this transaction back.
    #[cold]
    pub fn take_back(&mut self, before: Savepoint) {
        let (schema, worker) = (self.schema, self.scratch.worker);
        let protection = &mut self.protection;
        self.scratch.part.undo.rollback_to(before.undo, |entry| {
            key_ranges::undo(schema, worker, protection, Reach::Part, &entry);
        });
        self.scratch.part.moved.truncate(before.moved);
    }
}

#[cold]
fn settle<P: Protection>(schema: &Schema, scratch: &mut Scratch, protection: &mut P) {
    let Scratch { worker, part: Part { undo, moved, .. }, key, .. } = scratch;
    let kept = P::RUNS_AHEAD.then(|| BroughtBack::of(undo));
    let is_kept = |at, entry: &UndoEntry<'_>| kept.as_ref().is_some_and(|kept| kept.has(at, entry));
    for (at, entry) in undo.iter().enumerate() {
        let (table, id) = (entry.table, entry.record);
        match entry.undo {
            Undo::Grown { prior } => {
                let epoch = schema.memory.epochs().retire_epoch();
                schema.table(table).records().settle(*worker, prior, epoch);
            }
            Undo::Deleted => {
                let record = schema.table(table).records().record(id);
                if record.is_ghost() && !record.is_retired() && !is_kept(at, &entry) {
                    remove_entries(schema, protection, table, id, key);
                    let epoch = schema.memory.epochs().retire_epoch();
                    schema.table(table).records().retire(*worker, id, epoch);
                }
            }
            Undo::Index { index, change: IndexChange::Ghosted, key: IndexKey::Bytes(bytes) }
                if !is_kept(at, &entry) =>
            {
                let part = schema.part_at(table, index);
                key_ranges::leave(schema, protection, part, bytes, id.bits() | GHOST);
            }
            _ => {}
        }
    }
    for entry in moved.drain(..) {
        let part = schema.part_at(entry.table, entry.number.into());
        if let StoredIndex::Hash(index) = &*part.stored {
            index.remove(entry.hash, entry.record);
        }
    }
    scratch.part.unsettled = false;
}

/// What a transaction has removed and then brought back itself. Who ran ahead may have removed it
/// again, and may yet be undone: then it is not the transaction's to free.
struct BroughtBack<'a>(Vec<(usize, UndoEntry<'a>)>);

impl<'a> BroughtBack<'a> {
    fn of(undo: &'a UndoLog) -> Self {
        let revived = |undo| {
            let change = IndexChange::Revived;
            matches!(undo, Undo::Revived)
                || matches!(undo, Undo::Index { change: one, .. } if one == change)
        };
        Self(undo.iter().enumerate().filter(|(_, entry)| revived(entry.undo)).collect())
    }

    /// Whether what entry number `at` of the log has removed was brought back later.
    fn has(&self, at: usize, removal: &UndoEntry<'_>) -> bool {
        self.0.iter().filter(|&&(later, _)| later > at).any(|(_, entry)| {
            let same_row = (entry.table, entry.record) == (removal.table, removal.record);
            same_row
                && match (entry.undo, removal.undo) {
                    (Undo::Revived, Undo::Deleted) => true,
                    (
                        Undo::Index { index: one, key, .. },
                        Undo::Index { index: other, key: other_key, .. },
                    ) => (one, key) == (other, other_key),
                    _ => false,
                }
        })
    }
}

/// Removes a dead row's entries from all indexes.
fn remove_entries<P: Protection>(
    schema: &Schema,
    protection: &mut P,
    table: TableId,
    id: RecordId,
    key: &mut hotrow_base::key::KeyBuffer,
) {
    let row = schema.table(table).records().record(id).row();
    for index in schema.catalog.table(table).indexes() {
        let index = schema.catalog.index(index);
        key.clear();
        if schema.encode_entry(index, id, row, key).is_err() {
            continue;
        }
        let key = key.as_slice();
        match index.kind {
            IndexKind::BTree => {
                let part = schema.path(index.id).parts.of_key(key);
                key_ranges::leave(schema, protection, part, key, id.bits());
            }
            IndexKind::Hash => schema.leave_entry(index, id, key),
        }
    }
}
