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
//! Source       DESIGN section 1 (granule); dora.txt 4.1.2 (action identifiers); lads.txt 4.1
//!              (coarser record actions). The inference rule differs from DESIGN's first wording
//!              ("every access binds it by equality"): only ranges and the making or removing of
//!              entries shorten a granule. A point read or update whose key is not known from
//!              parameters goes through reconnaissance instead, which keeps `customer` and
//!              `stock` granules as fine as one row.

use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::key;

use crate::binding::Binding;
use crate::catalog::Catalog;
use crate::program::{Access, Effect, Expr, Insert, Path, Procedure};
use crate::walk::{self, Site};

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

/// What is known about a table's accesses.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TableUse {
    /// some registered procedure writes it
    pub written: bool,
    /// some registered procedure visits it more coarsely than by granule
    pub coarse: bool,
}

impl TableUse {
    /// Whether all that `other` does is known already.
    pub fn includes(self, other: Self) -> bool {
        (self.written || !other.written) && (self.coarse || !other.coarse)
    }
}

/// Granule lengths of all indexes, inferred from a set of procedures.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Granules {
    parts: Vec<u8>,
    tables: Vec<TableUse>,
}

impl Granules {
    /// Infers granules for a set of procedures.
    pub fn infer<'a>(
        catalog: &Catalog,
        procedures: impl IntoIterator<Item = &'a Procedure>,
    ) -> Self {
        let mut granules = Self {
            parts: catalog.indexes().iter().map(|index| index.columns.len() as u8).collect(),
            tables: vec![TableUse::default(); catalog.tables().len()],
        };
        for procedure in procedures {
            let binding = Binding::of(procedure);
            for (site, _) in walk::sites(&procedure.body) {
                match site {
                    Site::Access(access) => granules.note_access(catalog, &binding, access),
                    Site::Insert(insert) => granules.note_insert(catalog, &binding, insert),
                }
            }
        }
        granules
    }

    fn note_access(&mut self, catalog: &Catalog, binding: &Binding, access: &Access) {
        if is_coarse(access) {
            self.tables[access.table.index()].coarse = true;
        } else if let Path::Range { index, prefix, .. } = access.path.each() {
            self.shorten(*index, prefix.len());
        }
        if matches!(access.effect, Effect::Read(_)) {
            return;
        }
        self.tables[access.table.index()].written = true;
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
        self.tables[insert.table.index()].written = true;
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
        let kept = &mut self.parts[index.index()];
        *kept = (*kept).min(parts as u8);
    }

    /// What a procedure that is not among them does with tables, each named once; granules stay as
    /// they are, so what lies in no single one of them needs its table as a whole.
    pub fn uses_of(&self, procedure: &Procedure) -> Vec<(TableId, TableUse)> {
        let mut uses: Vec<(TableId, TableUse)> = Vec::new();
        for (site, _) in walk::sites(&procedure.body) {
            let (table, coarse, written) = match site {
                Site::Insert(insert) => (insert.table, false, true),
                Site::Access(access) => {
                    let coarse = is_coarse(access)
                        || matches!(access.path.each(), Path::Range { index, prefix, .. }
                            if prefix.len() < self.parts(*index));
                    (access.table, coarse, !matches!(access.effect, Effect::Read(_)))
                }
            };
            let at = uses.iter().position(|(known, _)| *known == table).unwrap_or_else(|| {
                uses.push((table, TableUse::default()));
                uses.len() - 1
            });
            uses[at].1.coarse |= coarse;
            uses[at].1.written |= written;
        }
        uses
    }

    /// Whether all these uses are known already.
    pub fn know(&self, uses: &[(TableId, TableUse)]) -> bool {
        uses.iter().all(|&(table, usage)| self.table(table).includes(usage))
    }

    /// Adds uses of tables to those of the procedures.
    pub fn note_uses(&mut self, uses: &[(TableId, TableUse)]) {
        for &(table, usage) in uses {
            let known = &mut self.tables[table.index()];
            known.written |= usage.written;
            known.coarse |= usage.coarse;
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
