//! Commit: lock what is written, change it, validate what was read.
//!
//! ```text
//! lock the write set, in order of records ─▶ a look at the read set ─▶ change records and indexes
//!   ─▶ epoch, fence: the place in the serial order ─▶ do read set and node set hold?
//!        yes ─▶ log ─▶ unlock at the new version          no ─▶ undo ─▶ unlock
//! ```
//!
//! Invariants   I1 locks are taken in one order, and whoever waits holds nothing later: no deadlock
//!              I2 the write set is locked and index entries are made before the place is taken,
//!              and everything read is validated after it: whoever changes what was read here has
//!              a later place
//!              I3 a record made here is locked from its birth to the end, so nobody takes an entry
//!              for more than it is
//! Source       Silo 4.4 (the three phases), 4.5 (deletes), 4.6 (phantoms). We differ: changes are
//!              made in place before validation, by the code of all engines, with undo; a first
//!              look at the read set makes undo rare

use hotrow_base::ids::TableId;
use hotrow_base::sync::{Version, VersionLatch, order_locks_before_checks};
use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::journal::{Commit, Committer};
use hotrow_engine::probe::Seen;
use hotrow_engine::protection::Protection;
use hotrow_engine::schema::Schema;
use hotrow_engine::stamp::{Change, PartOf};
use hotrow_storage::record::{Record, RecordId};
use hotrow_transaction::access::{Inserted, KeyAt, Reads, RecordAccess};
use hotrow_transaction::granule::{LockMode, Space};
use hotrow_transaction::outcome::{Conflict, Stop};

use crate::cells::Cells;
use crate::removals::Removals;
use crate::tid;
use crate::transaction::{Entry, Kind, Transaction, latch_of};

const INVALID: Stop = Stop::Conflict(Conflict::Validation);

/// Commits a transaction, or leaves everything as it was.
pub fn commit(
    schema: &Schema,
    transaction: &mut Transaction,
    scratch: &mut Scratch,
    committer: &Committer,
    removals: &Removals,
) -> Result<Commit, Stop> {
    let newest = transaction.newest(removals);
    let met = tid::position_of(newest);
    if committer.log().is_some() && !tid::has_room(met) {
        return Err(INVALID); // the epoch ends soon
    }
    lock_writes(schema, transaction)?;
    if !transaction.entries.iter().all(|entry| entry.is_written() || entry.holds(schema)) {
        unlock(schema, transaction, |latch| latch.unlock_unchanged());
        return Err(INVALID);
    }
    let Transaction { entries, cells, words, keys, seen, operations, born, removes, .. } =
        transaction;
    let protection = Committing { schema, entries, cells, seen, born };
    let mut access = InPlace::new(schema, scratch, protection);
    let changed = operations.iter().try_for_each(|operation| {
        let Entry { table, id, .. } = entries[operation.entry as usize];
        let record = || schema.table(table).records().record(id.expect("only read ones change"));
        let done = match operation.kind {
            Kind::Nothing => Ok(Inserted::Yes),
            Kind::Update => access.store_row(table, record(), operation.row.of(words)),
            Kind::Remove => access.remove(table, record()).map(|()| Inserted::Yes),
            Kind::Insert => {
                let key = operation.key.of(keys);
                let at = schema.catalog.table(table).primary.map(|index| KeyAt {
                    table,
                    index,
                    key,
                    hash: operation.hash,
                    reads: Reads::Rows,
                    entry: None,
                });
                access.insert(table, operation.row.of(words), at.as_ref())
            }
        };
        match done? {
            Inserted::Yes => Ok(()),
            // It was free when it was looked for.
            Inserted::Duplicate(_) => Err(INVALID),
        }
    });
    let committed =
        changed.and_then(|()| access.commit_valid(committer, met, Committing::is_valid));
    match committed {
        Ok(commit) => {
            if commit.is_read_only() {
                access.commit();
                unlock(schema, transaction, |latch| latch.unlock_unchanged());
            } else {
                let version = version_after(newest, committer, commit);
                if *removes {
                    removals.tell(version);
                }
                access.commit();
                end(schema, transaction, version);
            }
            Ok(commit)
        }
        Err(stop) => {
            access.undo();
            // Rows were changed and changed back: who read in between must not find them the same.
            unlock(schema, transaction, |latch| _ = latch.unlock());
            for &(table, id) in &transaction.born {
                latch_of(schema, table, id).unlock_obsolete();
            }
            Err(stop)
        }
    }
}

/// The version of what a transaction changed.
fn version_after(newest: Version, committer: &Committer, commit: Commit) -> Version {
    match committer.log() {
        // Not less than the next one: undone changes make versions without positions.
        Some(_) => tid::version_of(commit.position()).max(newest.next()),
        None => newest.next(),
    }
}

/// Locks the write set, or nothing.
fn lock_writes(schema: &Schema, transaction: &mut Transaction) -> Result<(), Stop> {
    let Transaction { entries, written, .. } = transaction;
    let is_written = |(_, entry): &(usize, &Entry)| entry.id.is_some() && entry.is_written();
    written.extend(entries.iter().enumerate().filter(is_written).map(|(at, _)| at as u32));
    let name = |&at: &u32| {
        let Entry { table, id, .. } = entries[at as usize];
        (table, id.map(RecordId::bits))
    };
    written.sort_unstable_by_key(name);
    for at in 0..written.len() {
        let Entry { table, id, version, .. } = entries[written[at] as usize];
        let latch = latch_of(schema, table, id.expect("filtered"));
        let mut locked = false;
        while !locked && latch.read_begin() == Some(version) {
            locked = latch.try_upgrade(version);
        }
        if !locked {
            written.truncate(at);
            unlock(schema, transaction, |latch| latch.unlock_unchanged());
            return Err(INVALID);
        }
    }
    Ok(())
}

/// Unlocks what `lock_writes` locked.
fn unlock(schema: &Schema, transaction: &Transaction, how: impl Fn(&VersionLatch)) {
    locked(transaction).for_each(|(table, id)| how(latch_of(schema, table, id)));
}

/// What `lock_writes` locked.
fn locked(transaction: &Transaction) -> impl Iterator<Item = (TableId, RecordId)> {
    transaction.written.iter().map(|&at| {
        let Entry { table, id, .. } = transaction.entries[at as usize];
        (table, id.expect("only read ones are locked"))
    })
}

/// Unlocks what was changed and made, at a new version.
fn end(schema: &Schema, transaction: &Transaction, version: Version) {
    for (table, id) in locked(transaction).chain(transaction.born.iter().copied()) {
        let record = schema.table(table).records().record(id);
        let latch = latch_of(schema, table, id);
        if record.is_retired() {
            latch.unlock_obsolete();
        } else {
            latch.unlock_at(version);
        }
    }
}

/// The protection of a transaction that commits: its locks, and what it saw.
struct Committing<'a> {
    schema: &'a Schema,
    entries: &'a [Entry],
    cells: &'a Cells,
    seen: &'a mut Vec<Seen>,
    born: &'a mut Vec<(TableId, RecordId)>,
}

impl Committing<'_> {
    fn is_valid(&self) -> bool {
        order_locks_before_checks();
        self.entries.iter().all(|entry| entry.is_written() || entry.holds(self.schema))
            && self.seen.iter().all(|seen| seen.holds(self.schema))
    }
}

impl Protection for Committing<'_> {
    const ACTIVE: bool = false;

    fn hold(&mut self, _: u64, _: Space, _: LockMode) -> Result<(), Stop> {
        Ok(())
    }

    fn changed(&mut self, part: PartOf, change: Change) {
        let mut had_it = false;
        for seen in self.seen.iter_mut().filter(|seen| seen.part == part) {
            if seen.stamp == change.before {
                seen.stamp = change.after;
                had_it = true;
            }
        }
        if had_it && let Some(stamp) = change.created {
            self.seen.push(Seen { part, stamp });
        }
    }

    fn born(&mut self, table: TableId, record: Record<'_>) {
        let locked = latch_of(self.schema, table, record.id()).try_lock();
        debug_assert!(locked.is_some(), "nobody else reaches it");
        self.born.push((table, record.id()));
    }

    fn may_judge(&self, table: TableId, record: Record<'_>) -> bool {
        let is_own = match self.cells.get(table, record.id()) {
            Some(entry) => self.entries[entry as usize].is_written(),
            None => self.born.contains(&(table, record.id())),
        };
        let latch = latch_of(self.schema, table, record.id());
        is_own || !latch.is_locked() && !record.is_ghost()
    }
}
