//! Commit and undo.

use hotrow_base::ids::TableId;
use hotrow_log::position::Position;
use hotrow_storage::btree::GHOST;
use hotrow_storage::record::RecordId;
use hotrow_storage::table::Index as StoredIndex;
use hotrow_storage::undo::{IndexChange, IndexKey, Undo};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::Stop;

use super::{InPlace, Scratch};
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
        let commit = committer.commit(met, self.effect_of(invocation))?;
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

    /// What the call did. One with a key has an entry even if it only read: its outcome shall be
    /// the same after a restart.
    #[inline]
    fn effect_of(&self, invocation: &Invocation) -> Effect {
        match self.effect() {
            Effect::Read if !invocation.key.is_empty() => Effect::Write { hash: self.write_hash() },
            effect => effect,
        }
    }

    #[inline]
    fn log_values(
        &mut self,
        committer: &Committer,
        commit: Commit,
        invocation: &Invocation,
    ) -> Commit {
        let Scratch { undo, values, .. } = &mut *self.scratch;
        committer.record_values(commit, invocation, |out| values.encode(out, self.schema, undo))
    }

    /// Makes the changes final. Called with everything still held: removed rows and entries leave
    /// their indexes here, while nobody can look for them.
    #[inline]
    pub fn commit(self) {
        let Self { schema, scratch, .. } = self;
        if scratch.unsettled {
            settle(schema, scratch);
        }
        scratch.undo.clear();
    }

    /// Takes all changes back, newest first.
    pub fn undo(self) {
        let Self { schema, scratch, .. } = self;
        let worker = scratch.worker;
        let epochs = schema.memory.epochs();
        scratch.undo.rollback(|entry| {
            schema.table(entry.table).undo(worker, epochs, entry.record, entry.undo);
        });
        scratch.moved.clear();
        scratch.unsettled = false;
    }
}

#[cold]
fn settle(schema: &Schema, scratch: &mut Scratch) {
    let Scratch { worker, undo, key, moved, .. } = scratch;
    for entry in undo.iter() {
        let (table, id) = (entry.table, entry.record);
        match entry.undo {
            Undo::Grown { prior } => {
                let epoch = schema.memory.epochs().retire_epoch();
                schema.table(table).records().settle(*worker, prior, epoch);
            }
            Undo::Deleted => {
                let record = schema.table(table).records().record(id);
                if record.is_ghost() && !record.is_retired() {
                    remove_entries(schema, table, id, key);
                    let epoch = schema.memory.epochs().retire_epoch();
                    schema.table(table).records().retire(*worker, id, epoch);
                }
            }
            Undo::Index { index, change: IndexChange::Ghosted, key: IndexKey::Bytes(bytes) } => {
                if let StoredIndex::BTree(tree) = &*schema.table(table).indexes()[index] {
                    tree.remove(bytes, id.bits() | GHOST);
                }
            }
            _ => {}
        }
    }
    for entry in moved.drain(..) {
        if let StoredIndex::Hash(index) = schema.stored_index(entry.index) {
            index.remove(entry.hash, entry.record);
        }
    }
    scratch.unsettled = false;
}

/// Removes a dead row's entries from all indexes.
fn remove_entries(
    schema: &Schema,
    table: TableId,
    id: RecordId,
    key: &mut hotrow_base::key::KeyBuffer,
) {
    let row = schema.table(table).records().record(id).row();
    for index in schema.catalog.table(table).indexes() {
        let index = schema.catalog.index(index);
        key.clear();
        if schema.encode_entry(index, id, row, key).is_ok() {
            schema.leave_entry(index, id, key.as_slice());
        }
    }
}
