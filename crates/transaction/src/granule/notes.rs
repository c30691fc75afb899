//! What procedures do with tables and granules: noted for each, counted for all.
//!
//! Role         a procedure is noted when it is registered, in two steps: first what it changes;
//!              then, under what all of them change, how coarsely it uses its tables
//! Invariants   I1 what is counted for a procedure is what is taken back when it goes: its notes
//!              depend on the catalog and on what registered procedures change, and on nothing else

use hotrow_base::ids::{ColumnId, IndexId, TableId};
use rpds::RedBlackTreeMapSync;

use crate::binding::Binding;
use crate::catalog::Catalog;
use crate::program::{Access, Effect, Insert, Path, Procedure};
use crate::walk::{self, Site};

use super::{ColumnSet, Granules, bound_column, is_coarse, moved_entries};

/// What is known about a table's accesses.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TableUse {
    /// the columns that some registered procedure changes; all, where one makes or removes rows, or
    /// changes how long they are
    pub changed: ColumnSet,
    /// some registered procedure visits it more coarsely than by granule
    pub coarse: bool,
}

impl TableUse {
    /// Whether some registered procedure writes it.
    #[inline]
    pub const fn is_written(self) -> bool {
        !self.changed.is_empty()
    }

    /// What both do.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { changed: self.changed.and(other.changed), coarse: self.coarse || other.coarse }
    }

    /// Whether all that `other` does is known already.
    pub fn includes(self, other: Self) -> bool {
        self.changed.includes(other.changed) && (self.coarse || !other.coarse)
    }
}

/// The columns of its table that a site changes: all, where it makes or removes a row, or sets a
/// column of varying size, so that the bytes of others may move.
pub(super) fn changed_by(catalog: &Catalog, site: &Site<'_>) -> ColumnSet {
    let Site::Access(access) = site else { return ColumnSet::ALL };
    match &access.effect {
        Effect::Read(_) => ColumnSet::NONE,
        Effect::Delete { .. } => ColumnSet::ALL,
        Effect::Update { set, .. } => {
            let columns = &catalog.table(access.table).columns;
            let varies = |column: &ColumnId| columns[column.index()].data_type.is_variable();
            match set.iter().any(|(column, _)| varies(column)) {
                true => ColumnSet::ALL,
                false => ColumnSet::of(set.iter().map(|(column, _)| column.index())),
            }
        }
    }
}

/// What one procedure does with tables and their granules.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct GranuleNotes {
    /// all tables that it touches, with what it changes of them
    changes: Vec<(TableId, ColumnSet)>,
    /// tables that it visits more coarsely than by granule
    coarse: Vec<TableId>,
    /// granules that it needs no longer than this
    parts: Vec<(IndexId, u8)>,
}

/// The notes of all procedures, counted: one that goes takes along what it alone asked for.
#[derive(Clone, Default, Debug)]
pub struct GranuleTally {
    changes: RedBlackTreeMapSync<(TableId, ColumnSet), u32>,
    coarse: RedBlackTreeMapSync<TableId, u32>,
    parts: RedBlackTreeMapSync<(IndexId, u8), u32>,
}

impl GranuleNotes {
    /// Of a procedure, under what all procedures change.
    pub fn of(catalog: &Catalog, granules: &Granules, procedure: &Procedure) -> Self {
        let mut notes = Self::of_changes(catalog, procedure);
        let is_fixed = |access: &Access| {
            let changed = granules.changed_by_procedures(access.table);
            super::reads_unchanged(catalog, changed, access)
        };
        let binding = Binding::with_rows(procedure, is_fixed);
        for (site, _) in walk::sites(&procedure.body) {
            match site {
                Site::Access(access) if is_fixed(access) => {}
                Site::Access(access) => notes.note_access(catalog, &binding, access),
                Site::Insert(insert) => notes.note_insert(catalog, &binding, insert),
            }
        }
        notes
    }

    /// What a procedure touches and changes, and no more.
    pub fn of_changes(catalog: &Catalog, procedure: &Procedure) -> Self {
        let mut notes = Self::default();
        for (site, _) in walk::sites(&procedure.body) {
            notes.note_change(site.table(), changed_by(catalog, &site));
        }
        for sequence in procedure.draws.iter().filter_map(|draw| draw.sequence()) {
            notes.note_change(sequence, ColumnSet::NONE);
        }
        notes
    }

    /// The tables that it touches, each once.
    pub fn tables(&self) -> impl Iterator<Item = TableId> + '_ {
        self.changes.iter().map(|(table, _)| *table)
    }

    /// Whether any of them is changed.
    pub fn has_changes(&self) -> bool {
        self.changes.iter().any(|(_, changed)| !changed.is_empty())
    }

    fn note_change(&mut self, table: TableId, changed: ColumnSet) {
        match self.changes.iter_mut().find(|(known, _)| *known == table) {
            Some((_, columns)) => *columns = columns.and(changed),
            None => self.changes.push((table, changed)),
        }
    }

    fn note_access(&mut self, catalog: &Catalog, binding: &Binding, access: &Access) {
        let is_coarse = is_coarse(access);
        if is_coarse && !self.coarse.contains(&access.table) {
            self.coarse.push(access.table);
        }
        if let Path::Range { index, prefix, .. } = access.path.each()
            && !is_coarse
        {
            self.shorten(*index, prefix.len());
        }
        for (index, new) in moved_entries(catalog, access) {
            let columns = &catalog.index(index).columns;
            let known = columns.iter().take_while(|&&column| {
                let old = bound_column(catalog, access, column);
                let new = new.iter().find(|(changed, _)| *changed == column);
                old.is_some_and(|e| binding.is_static(e))
                    && new.is_none_or(|(_, e)| binding.is_static(e))
            });
            self.shorten(index, known.count());
        }
    }

    fn note_insert(&mut self, catalog: &Catalog, binding: &Binding, insert: &Insert) {
        for index in catalog.table(insert.table).indexes() {
            let columns = &catalog.index(index).columns;
            let known = columns
                .iter()
                .take_while(|column| binding.is_static(&insert.values[column.index()]))
                .count();
            self.shorten(index, known);
        }
    }

    fn shorten(&mut self, index: IndexId, parts: usize) {
        match self.parts.iter_mut().find(|(known, _)| *known == index) {
            Some((_, kept)) => *kept = (*kept).min(parts as u8),
            None => self.parts.push((index, parts as u8)),
        }
    }
}

impl GranuleTally {
    /// Counts what a procedure changes.
    pub fn add_changes(&mut self, notes: &GranuleNotes) {
        self.count_changes(notes, |count| count + 1);
    }

    /// Counts the rest of its notes, which were made under what all procedures change.
    pub fn add_granules(&mut self, notes: &GranuleNotes) {
        self.count_granules(notes, |count| count + 1);
    }

    /// Takes back what [`GranuleTally::add_changes`] has counted for a procedure.
    pub fn remove_changes(&mut self, notes: &GranuleNotes) {
        self.count_changes(notes, |count| count - 1);
    }

    /// Takes back what [`GranuleTally::add_granules`] has counted for a procedure.
    pub fn remove_granules(&mut self, notes: &GranuleNotes) {
        self.count_granules(notes, |count| count - 1);
    }

    fn count_changes(&mut self, notes: &GranuleNotes, next: fn(u32) -> u32) {
        for &change in notes.changes.iter().filter(|(_, changed)| !changed.is_empty()) {
            count(&mut self.changes, change, next);
        }
    }

    fn count_granules(&mut self, notes: &GranuleNotes, next: fn(u32) -> u32) {
        notes.parts.iter().for_each(|&parts| count(&mut self.parts, parts, next));
        notes.coarse.iter().for_each(|&table| count(&mut self.coarse, table, next));
    }

    /// The shortest granule that a procedure needs of an index.
    pub(super) fn shortest(&self, index: IndexId) -> Option<u8> {
        self.parts.range((index, 0)..=(index, u8::MAX)).next().map(|(&(_, parts), _)| parts)
    }

    pub(super) fn usage(&self, table: TableId) -> TableUse {
        let all = (table, ColumnSet::NONE)..=(table, ColumnSet::ALL);
        let changed = self.changes.range(all).map(|(&(_, changed), _)| changed);
        TableUse {
            changed: changed.fold(ColumnSet::NONE, ColumnSet::and),
            coarse: self.coarse.contains_key(&table),
        }
    }
}

/// Counts something on; what there is none of is not there.
fn count<K: Ord>(counts: &mut RedBlackTreeMapSync<K, u32>, key: K, next: fn(u32) -> u32) {
    let next = next(counts.get(&key).copied().unwrap_or(0));
    if next > 0 {
        counts.insert_mut(key, next);
    } else {
        counts.remove_mut(&key);
    }
}
