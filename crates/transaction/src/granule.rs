//! Granules: what planned engines lock, queue or route by.
//!
//! Role         a granule is a prefix of an index key; every index is a lock space of its own.
//!              Prefix lengths are inferred from the registered procedures and change only at a
//!              quiet point. Engines that lock as they go use the same granules.
//! Invariants   I1 whoever reads a row or its absence holds a granule that covers it in the index
//!              it used; whoever makes, moves or removes an index entry holds its granule
//!              exclusively: so a held granule also keeps phantoms out
//!              I2 a range binds at least its index's granule by equality, or it is **coarse**
//!              and locks the table; then all other accesses to that table announce themselves
//!              with intent modes
//!              I3 a table that no registered procedure writes needs no locks. Statements of
//!              interactive transactions that use a table in another way than procedures do are
//!              [noted](Granules::note_uses) first
//!              I4 a column that no registered procedure changes needs no lock either, in a table
//!              whose rows stay where and as long as they are: none makes or removes rows, none
//!              sets a column of varying size. Nor do entries of an index that has such columns
//!              only. A row's words are atomic, and a change stores a word with the cells of other
//!              columns as they were: whoever reads meanwhile reads each cell as it has always been
//!              I5 what such columns say decides granules as well as parameters do, though it takes
//!              a trial read: it cannot change between that and the execution
//! Source       DESIGN section 1 (granule); dora.txt 4.1.2 (action identifiers); lads.txt 4.1
//!              (coarser record actions). The inference rule differs from DESIGN's first wording
//!              ("every access binds it by equality"): only ranges and the making or removing of
//!              entries shorten a granule. A point read or update whose key is not known from
//!              parameters goes through reconnaissance instead, which keeps `customer` and
//!              `stock` granules as fine as one row.

mod columns;
mod notes;

use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::key;

use crate::catalog::Catalog;
use crate::program::{Access, Effect, Expr, Path, Procedure, SlotId};
use crate::walk::{self, Site};

pub use columns::ColumnSet;
pub use notes::{GranuleNotes, GranuleTally, TableUse};

/// What a lock protects: one index (its granules) or one table as a whole.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Space {
    /// the whole of a table
    Table(TableId),
    /// granules of an index
    Index(IndexId),
}

impl Space {
    /// Identity of the lock on the granule with these key bytes. Two granules with one identity
    /// (a 64-bit hash collision) merely share a lock.
    #[inline]
    pub fn lock_id(self, granule: &[u8]) -> u64 {
        self.lock_id_hashed(key::hash(granule))
    }

    /// As [`Space::lock_id`], for a granule whose [`key::hash`] is known.
    #[inline]
    pub const fn lock_id_hashed(self, hash: u64) -> u64 {
        self.seed().lock_id(hash)
    }

    /// What tells the space's locks from others.
    #[inline]
    pub const fn seed(self) -> SpaceSeed {
        let tag = match self {
            Self::Table(table) => (table.0 as u64) << 1,
            Self::Index(index) => (index.0 as u64) << 1 | 1,
        };
        SpaceSeed((tag + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// What tells the key-range locks of an index, or of one part of a split one, from its granules
    /// and from all others.
    #[inline]
    pub const fn keys_of(index: IndexId, part: u16) -> SpaceSeed {
        let SpaceSeed(granules) = Self::Index(index).seed();
        let part = (part as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
        SpaceSeed(granules.rotate_left(32) ^ 0xc2b2_ae3d_27d4_eb4f ^ part)
    }
}

/// See [`Space::seed`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpaceSeed(u64);

impl SpaceSeed {
    /// As [`Space::lock_id_hashed`].
    #[inline]
    pub const fn lock_id(self, hash: u64) -> u64 {
        (hash ^ self.0) & !(LOCK_ID_STEP - 1)
    }
}

/// What all lock identities are multiples of; the rest of the word has room for a mode.
pub const LOCK_ID_STEP: u64 = 4;

/// A lock's identity without what all have in common: a hash whose every bit counts.
#[inline]
pub const fn lock_hash(lock: u64) -> u64 {
    lock / LOCK_ID_STEP
}

/// Which of so many things a lock falls to by its hash.
#[inline]
pub const fn one_of(count: u16, lock: u64) -> u16 {
    (lock_hash(lock) % count as u64) as u16
}

/// A lock and the mode to hold it in, in one word. Ordered by lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LockRequest(u64);

impl LockRequest {
    /// A request for the lock with this identity.
    #[inline]
    pub const fn new(lock: u64, mode: LockMode) -> Self {
        debug_assert!(lock.is_multiple_of(LOCK_ID_STEP), "identities leave room for the mode");
        Self(lock | mode as u64)
    }

    /// Identity of the lock.
    #[inline]
    pub const fn lock(self) -> u64 {
        self.0 & !(LOCK_ID_STEP - 1)
    }

    /// The mode.
    #[inline]
    pub const fn mode(self) -> LockMode {
        LockMode::ALL[(self.0 % LOCK_ID_STEP) as usize]
    }
}

/// How a lock is held. Intent modes are for tables only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum LockMode {
    /// some granules of the table are read
    IntentShared,
    /// some granules of the table are written
    IntentExclusive,
    /// read
    Shared,
    /// written
    Exclusive,
}

impl LockMode {
    /// All modes, by number.
    pub const ALL: [Self; 4] =
        [Self::IntentShared, Self::IntentExclusive, Self::Shared, Self::Exclusive];

    /// Whether two transactions may hold these modes at once.
    #[inline]
    pub const fn compatible(self, other: Self) -> bool {
        use LockMode::{Exclusive, IntentExclusive, IntentShared, Shared};
        match (self, other) {
            (Exclusive, _) | (_, Exclusive) => false,
            (IntentShared, _) | (_, IntentShared) => true,
            (IntentExclusive, IntentExclusive) | (Shared, Shared) => true,
            (IntentExclusive, Shared) | (Shared, IntentExclusive) => false,
        }
    }

    /// The weakest mode that grants what both grant. Shared with intent exclusive gives exclusive:
    /// there is no SIX, because the pair only meets in one transaction that scans a whole table
    /// and writes rows of it by other keys.
    #[inline]
    pub const fn join(self, other: Self) -> Self {
        use LockMode::{Exclusive, IntentExclusive, IntentShared, Shared};
        match (self, other) {
            (Exclusive, _) | (_, Exclusive) => Exclusive,
            (IntentExclusive, Shared) | (Shared, IntentExclusive) => Exclusive,
            (Shared, _) | (_, Shared) => Shared,
            (IntentExclusive, _) | (_, IntentExclusive) => IntentExclusive,
            (IntentShared, IntentShared) => IntentShared,
        }
    }

    /// Whether holding `self` includes what `other` grants.
    #[inline]
    pub const fn covers(self, other: Self) -> bool {
        self.join(other) as u8 == self as u8
    }

    /// The mode that announces finer locks for what this one grants.
    #[inline]
    pub const fn announcing(self) -> Self {
        match self {
            Self::IntentShared | Self::Shared => Self::IntentShared,
            Self::IntentExclusive | Self::Exclusive => Self::IntentExclusive,
        }
    }

    /// `IS`, `IX`, `S` or `X`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IntentShared => "IS",
            Self::IntentExclusive => "IX",
            Self::Shared => "S",
            Self::Exclusive => "X",
        }
    }
}

/// Granule lengths of all indexes, inferred from a set of procedures.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Granules {
    parts: Vec<u8>,
    tables: Vec<TableUse>,
    /// of `tables`: what statements do, see [`Granules::note_uses`]
    noted: Vec<TableUse>,
    /// of `tables`: what procedures change
    by_procedures: Vec<ColumnSet>,
}

impl Granules {
    /// Infers granules for a set of procedures.
    pub fn infer<'a>(
        catalog: &Catalog,
        procedures: impl IntoIterator<Item = &'a Procedure>,
    ) -> Self {
        let procedures: Vec<_> = procedures.into_iter().collect();
        let mut tally = GranuleTally::default();
        for procedure in &procedures {
            tally.add_changes(&GranuleNotes::of_changes(catalog, procedure));
        }
        let changes = Self::of_procedures(catalog, &tally);
        for procedure in &procedures {
            tally.add_granules(&GranuleNotes::of(catalog, &changes, procedure));
        }
        Self::of_procedures(catalog, &tally)
    }

    /// What the procedures need, whatever statements do beside them.
    pub fn of_procedures(catalog: &Catalog, tally: &GranuleTally) -> Self {
        let mut granules = Self::default();
        granules.make_room(catalog);
        catalog.tables().iter().for_each(|table| granules.settle(catalog, tally, table.id));
        granules
    }

    fn make_room(&mut self, catalog: &Catalog) {
        self.parts.resize(catalog.indexes().len(), 0);
        self.tables.resize(catalog.tables().len(), TableUse::default());
        self.noted.resize(catalog.tables().len(), TableUse::default());
        self.by_procedures.resize(catalog.tables().len(), ColumnSet::NONE);
    }

    /// Infers the granules of one table again; of one that was dropped nothing is known.
    pub fn settle(&mut self, catalog: &Catalog, tally: &GranuleTally, table: TableId) {
        self.make_room(catalog);
        let noted = &mut self.noted[table.index()];
        let Some(of) = catalog.tables().at(table.index()) else {
            (self.tables[table.index()], *noted) = (TableUse::default(), TableUse::default());
            self.by_procedures[table.index()] = ColumnSet::NONE;
            return;
        };
        let usage = tally.usage(table);
        self.by_procedures[table.index()] = usage.changed;
        self.tables[table.index()] = usage.and(*noted);
        for index in of.indexes() {
            let columns = catalog.index(index).columns.len() as u8;
            let shortest = tally.shortest(index).unwrap_or(columns);
            self.parts[index.index()] = shortest.min(columns);
        }
    }

    /// A table is another one now: its columns may have other numbers and other widths, so that
    /// those which statements change cannot be told from others. Called before it is settled.
    pub fn forget_columns(&mut self, table: TableId) {
        if let Some(noted) = self.noted.get_mut(table.index())
            && noted.is_written()
        {
            noted.changed = ColumnSet::ALL;
        }
    }

    /// Whether all is as it was about a table.
    pub fn are_same(&self, before: &Self, catalog: &Catalog, table: TableId) -> bool {
        let indexes = catalog.tables().at(table.index()).into_iter().flat_map(|of| of.indexes());
        let parts = |of: &Self, index: IndexId| of.parts.get(index.index()).copied();
        let usage = |of: &Self| of.tables.get(table.index()).copied();
        usage(self) == usage(before)
            && indexes.into_iter().all(|index| parts(self, index) == parts(before, index))
    }

    /// What a procedure that is not among them does with tables, each named once; granules stay as
    /// they are, so what lies in no single one of them needs its table as a whole.
    pub fn uses_of(&self, catalog: &Catalog, procedure: &Procedure) -> Vec<(TableId, TableUse)> {
        let mut uses: Vec<(TableId, TableUse)> = Vec::new();
        for (site, _) in walk::sites(&procedure.body) {
            let coarse = match &site {
                Site::Insert(_) => false,
                Site::Access(access) => {
                    is_coarse(access)
                        || matches!(access.path.each(), Path::Range { index, prefix, .. }
                            if prefix.len() < self.parts(*index))
                }
            };
            let usage = TableUse { changed: notes::changed_by(catalog, &site), coarse };
            let table = site.table();
            match uses.iter_mut().find(|(known, _)| *known == table) {
                Some((_, known)) => *known = known.and(usage),
                None => uses.push((table, usage)),
            }
        }
        uses
    }

    /// Whether all these uses are known already.
    pub fn know(&self, uses: &[(TableId, TableUse)]) -> bool {
        uses.iter().all(|&(table, usage)| self.table(table).includes(usage))
    }

    /// Adds uses of tables to those of the procedures, until the table is dropped.
    pub fn note_uses(&mut self, uses: &[(TableId, TableUse)]) {
        for &(table, usage) in uses {
            let known = &mut self.tables[table.index()];
            *known = known.and(usage);
            let noted = &mut self.noted[table.index()];
            *noted = noted.and(usage);
        }
    }

    /// How many leading key columns make a granule of this index; 0: the index as a whole.
    #[inline]
    pub fn parts(&self, index: IndexId) -> usize {
        self.parts[index.index()] as usize
    }

    /// What is known about a table's accesses.
    #[inline]
    pub fn table(&self, table: TableId) -> TableUse {
        self.tables[table.index()]
    }

    /// The columns of a table that registered procedures change, whatever statements do beside
    /// them.
    pub fn changed_by_procedures(&self, table: TableId) -> ColumnSet {
        self.by_procedures.get(table.index()).copied().unwrap_or_default()
    }

    /// Whether an access reads nothing that anybody changes (I4).
    pub fn reads_unchanged(&self, catalog: &Catalog, access: &Access) -> bool {
        reads_unchanged(catalog, self.table(access.table).changed, access)
    }

    /// Whether granules of an index are held at all. Those of a primary index hold its rows, too;
    /// those of another one nothing where its entries neither come nor go nor move.
    pub fn needs_granules(&self, catalog: &Catalog, index: IndexId) -> bool {
        let table = catalog.index(index).table;
        let changed = self.table(table).changed;
        match catalog.table(table).primary {
            Some(primary) if primary != index => entries_change(catalog, changed, index),
            _ => !changed.is_empty(),
        }
    }
}

/// Whether entries of an index come, go or move where these columns of its table change.
fn entries_change(catalog: &Catalog, changed: ColumnSet, index: IndexId) -> bool {
    let columns = &catalog.index(index).entry_columns;
    columns.iter().any(|column| changed.may_contain(column.index()))
}

/// Whether an access reads nothing that changes, where these columns of its table do. What it binds
/// and does not look at is not read: so an access is as it is without that (see `actions::split`).
fn reads_unchanged(catalog: &Catalog, changed: ColumnSet, access: &Access) -> bool {
    let exprs = walk::row_exprs(access);
    let is_read = |bound: SlotId| exprs.iter().any(|expr| walk::reads_any(expr, |s| s == bound));
    let reads_changed = |&(column, bound): &(ColumnId, SlotId)| {
        changed.may_contain(column.index()) && is_read(bound)
    };
    matches!(access.effect, Effect::Read(_))
        && !access.bind.iter().any(reads_changed)
        && path_index(access).is_some_and(|index| !entries_change(catalog, changed, index))
}

/// Whether an access visits rows without binding any key column by equality.
pub fn is_coarse(access: &Access) -> bool {
    match access.path.each() {
        Path::Point { .. } => false,
        Path::Range { prefix, .. } => prefix.is_empty(),
        Path::Whole | Path::Lists { .. } => true,
    }
}

/// The index an access goes through.
pub fn path_index(access: &Access) -> Option<IndexId> {
    match access.path.each() {
        Path::Point { index, .. } | Path::Range { index, .. } => Some(*index),
        Path::Whole | Path::Lists { .. } => None,
    }
}

/// The expression that binds a column by equality in an access's path.
pub fn bound_column<'a>(
    catalog: &Catalog,
    access: &'a Access,
    column: ColumnId,
) -> Option<&'a Expr> {
    let (index, exprs) = match access.path.each() {
        Path::Point { index, key } => (*index, key),
        Path::Range { index, prefix, .. } => (*index, prefix),
        Path::Whole | Path::Lists { .. } => return None,
    };
    let at = catalog.index(index).columns.iter().position(|&c| c == column)?;
    exprs.get(at)
}

/// New column values, by column.
type Changes<'a> = Vec<(ColumnId, &'a Expr)>;

/// The secondary indexes whose entries an access removes or moves, with the columns' new values
/// (none for a delete).
pub fn moved_entries<'a>(catalog: &Catalog, access: &'a Access) -> Vec<(IndexId, Changes<'a>)> {
    let secondary = catalog.table(access.table).secondary.iter().copied();
    match &access.effect {
        Effect::Read(_) => Vec::new(),
        Effect::Delete { .. } => secondary.map(|index| (index, Vec::new())).collect(),
        Effect::Update { set, .. } => secondary
            .filter_map(|index| {
                let columns = &catalog.index(index).entry_columns;
                let changed: Changes<'a> = set
                    .iter()
                    .filter(|(column, _)| columns.contains(column))
                    .map(|(column, value)| (*column, value))
                    .collect();
                (!changed.is_empty()).then_some((index, changed))
            })
            .collect(),
    }
}

/// Whether an access reads nothing but columns that its index's entries hold: then the index's
/// granule protects all it reads, and the rows themselves need none.
pub fn is_covered(catalog: &Catalog, access: &Access) -> bool {
    let Some(index) = path_index(access) else { return false };
    let entry = &catalog.index(index).entry_columns;
    matches!(access.effect, Effect::Read(_))
        && access.bind.iter().all(|(column, _)| entry.contains(column))
}
