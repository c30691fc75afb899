//! The schema in force: catalog, granules, compiled procedures and the storage behind them.
//!
//! Role         read by every worker at every call; replaced as a whole at a quiet point. The next
//!              one shares with the one before what a definition left alone ([`Schema::adopt`]).
//!              What only adds a procedure needs no quiet point ([`SharedSchema::add`])
//! Invariants   I1 tables and indexes of storage are addressed by the catalog's ids
//!              I2 a schema never changes, but for the procedures that are added to it
//!              ([`additions`]); a worker keeps one `Arc` of it for a whole turn
//!              I3 the schema that threads of engines know ([`KnownSchema`]) and the one that
//!              sessions look at are of the same tables, indexes and granules; and at a quiet point
//!              they are the same
//! Concurrency  `settled` -> replaced only while the gate is closed; `current` -> replaced while it
//!              is, or by whoever keeps it open: either has the gate's turn. Generations tell who
//!              has a copy that it is old without touching the latch

mod additions;
mod adopt;
mod definitions;
mod parts;
mod path;
mod quiet;
mod rebuild;

use hotrow_base::sync::facade::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, OnceLock, Weak};

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, IndexId, ProcedureId, TableId, WorkerId};
use hotrow_base::interrupt::{Interrupt, current};
use hotrow_base::key::{self, KEY_BYTES_MAX, KeyBuffer, KeyError, KeySink};
use hotrow_base::row::{Words, read_field};
use hotrow_base::sync::gate::Gate;
use hotrow_base::sync::reclaim::ReclaimEpochs;
use hotrow_base::sync::{EventCount, Latch};
use hotrow_storage::btree::Hint;
use hotrow_storage::budget::MemoryBudget;
use hotrow_storage::record::RecordId;
use hotrow_storage::table::{Index as StoredIndex, IndexKind as StoredKind, Table as StoredTable};
use hotrow_transaction::catalog::{Catalog, Index, IndexKind};
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::granule::{ColumnSet, GranuleTally, Granules, TableUse};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::routine_name;
use hotrow_transaction::routing::Routing;
use rpds::{HashTrieMapSync, RedBlackTreeMapSync};

use self::additions::Additions;
pub use self::additions::PerAdded;
pub use self::adopt::{Trees, Unfilled};
pub use self::parts::SPLIT_MAX;
pub(crate) use self::parts::{Part, Parts, SplitBy};
pub(crate) use self::path::{AccessPath, indexed_columns};
pub use self::quiet::{Bystanders, Clearance, KeptQuiet, Purpose, Quiet};
pub use self::rebuild::{ColumnFrom, Rebuilt, RowsThat};
use crate::accesses::AccessTrace;
use crate::checkpoint::SavedRows;
use crate::ghosts::Ghosts;
use crate::journal::Journal;

/// The worker id of quiet points; engines have the ids from 1.
pub const QUIET_WORKER: WorkerId = WorkerId(0);

/// What all tables of a database share.
pub struct Memory {
    epochs: ReclaimEpochs,
    budget: Arc<MemoryBudget>,
    workers: usize,
    split: u16,
    saved_rows: SavedRows,
    ghosts: Ghosts,
    /// keys and gaps of indexes are locked; set before anybody does so
    guards_gaps: AtomicBool,
    /// who changes an index's part holds the one of so many partitions that it lies in; 0: not so
    held_partitions: AtomicU16,
    /// of a table that is watched
    access_trace: OnceLock<AccessTrace>,
    gone: Gone,
}

/// What stands in the places of all tables and indexes that were dropped: their ids stay taken,
/// and this is all that is left behind them. Always empty.
struct Gone {
    table: Arc<StoredTable>,
    path: Arc<AccessPath>,
}

impl Gone {
    fn new() -> Self {
        // Of the database's budget nothing is taken.
        let budget = Arc::new(MemoryBudget::unlimited());
        let kind = StoredKind::BTree { max_key_bytes: 0 };
        let index = StoredIndex::new(kind, Arc::clone(&budget)).expect("16 KiB of no budget");
        let table = Arc::new(StoredTable::new(0, &budget));
        let path = Arc::new(AccessPath::of_nothing(&table, Arc::new(index)));
        Self { table, path }
    }
}

impl Memory {
    /// Memory for the workers `0..workers`, of `limit` bytes at most.
    pub fn new(workers: usize, limit: u64) -> Self {
        let budget = Arc::new(MemoryBudget::new(limit));
        let saved_rows = SavedRows::new(workers);
        Self {
            epochs: ReclaimEpochs::new(workers),
            budget,
            workers,
            split: 1,
            saved_rows,
            ghosts: Ghosts::default(),
            guards_gaps: AtomicBool::new(false),
            held_partitions: AtomicU16::new(0),
            access_trace: OnceLock::new(),
            gone: Gone::new(),
        }
    }

    /// Splits the indexes into so many parts, 1 to [`SPLIT_MAX`], by the routing fields of their
    /// tables; those that do not begin with them stay whole.
    #[must_use]
    pub fn split_into(self, parts: u16) -> Self {
        Self { split: parts.clamp(1, SPLIT_MAX), ..self }
    }

    /// The reclamation clock.
    #[inline]
    pub fn epochs(&self) -> &ReclaimEpochs {
        &self.epochs
    }

    /// The budget.
    pub fn budget(&self) -> &Arc<MemoryBudget> {
        &self.budget
    }

    /// What transactions keep for the checkpoint that is being taken.
    #[inline]
    pub fn saved_rows(&self) -> &SavedRows {
        &self.saved_rows
    }

    /// Ghosts that wait for somebody's locks.
    #[inline]
    pub fn ghosts(&self) -> &Ghosts {
        &self.ghosts
    }

    /// Records from now on who changes the rows of a table; if one is watched already, that goes
    /// on. For figures.
    pub fn watch_rows(&self, table: TableId) -> &AccessTrace {
        self.access_trace.get_or_init(|| AccessTrace::new(table, self.workers))
    }

    /// Who has changed the rows of a table that is watched.
    #[inline]
    pub fn access_trace(&self) -> Option<&AccessTrace> {
        self.access_trace.get()
    }

    /// How many workers may touch records.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// The error of a call that the budget had no room for.
    pub fn out_of_memory(&self) -> SqlError {
        let (used, limit) = (self.budget.used(), self.budget.limit());
        let text = format!("memory budget reached: {used} of {limit} bytes are in use");
        let mut error = SqlError::new(b"53200", text);
        error.hint = Some("Delete rows or raise the limit; reads and deletes go on.".to_owned());
        error
    }
}

/// One version of everything calls refer to.
#[derive(Clone)]
pub struct Schema {
    /// tables and indexes by id
    pub catalog: Catalog,
    /// granules inferred from the procedures
    pub granules: Granules,
    /// procedures by id; none where one was dropped
    pub procedures: Vec<Option<Arc<CompiledProcedure>>>,
    /// those that come behind them while this is in force
    added: Arc<Additions>,
    /// epochs, budget
    pub memory: Arc<Memory>,
    /// interactive transactions may be open, so that what is planned meets what is not
    pub interactive: bool,
    /// sessions are expected to write every table, see [`Schema::expect_writers`]
    expects_writers: bool,
    /// by table; none: it was dropped
    tables: Vec<Option<Arc<StoredTable>>>,
    /// by index; none: it was dropped
    paths: Vec<Option<Arc<AccessPath>>>,
    /// by table: the columns that entries of secondary indexes hold
    indexed: Vec<ColumnSet>,
    /// the procedures by name
    names: HashTrieMapSync<String, ProcedureId>,
    /// whether any name was ever that of several procedures
    overloaded: bool,
    /// what the procedures need of granules
    tally: GranuleTally,
    /// tables, each with the procedures that touch it
    users: RedBlackTreeMapSync<(TableId, ProcedureId), ()>,
    /// see [`Schema::routing`]; shared by copies, until catalog, granules or procedures change
    routing: Arc<OnceLock<Routing>>,
}

impl Schema {
    /// A schema without tables.
    pub fn empty(memory: Arc<Memory>) -> Self {
        Self {
            catalog: Catalog::default(),
            granules: Granules::default(),
            procedures: Vec::new(),
            added: Arc::new(Additions::behind(0)),
            memory,
            interactive: false,
            expects_writers: false,
            tables: Vec::new(),
            paths: Vec::new(),
            indexed: Vec::new(),
            names: HashTrieMapSync::default(),
            overloaded: false,
            tally: GranuleTally::default(),
            users: RedBlackTreeMapSync::default(),
            routing: Arc::default(),
        }
    }

    fn make_index(&self, index: &Index, by: Option<SplitBy>) -> Result<Arc<StoredIndex>, SqlError> {
        let kind = match index.kind {
            IndexKind::Hash => StoredKind::Hash,
            IndexKind::BTree => StoredKind::BTree { max_key_bytes: max_key_bytes(index) },
        };
        let made = StoredIndex::new(kind, Arc::clone(self.memory.budget()));
        let made = made.map_err(|_| self.memory.out_of_memory())?;
        if self.memory.guards_gaps.load(Ordering::Relaxed) {
            guard_gaps_of(&made);
        }
        made.set_one_writer(SplitBy::are_of_partitions(by, self.held_partitions()));
        Ok(Arc::new(made))
    }

    /// From now on transactions lock keys and gaps of indexes (see
    /// [`Protection::guards_gaps`](crate::protection::Protection::guards_gaps)). Called while no
    /// transaction runs.
    pub fn guard_gaps(&self) {
        self.memory.guards_gaps.store(true, Ordering::Relaxed); // nobody else is here
        let parts = self.paths.iter().flatten().flat_map(|path| path.parts.all());
        parts.for_each(|part| guard_gaps_of(&part.stored));
    }

    /// From now on each transaction holds the partitions, of this many (0: none), in which the
    /// granules of its footprint lie ([`Owners`](crate::owners::Owners)), as wholes: an index that
    /// lies in one of them is changed by one thread at a time. Called while no transaction runs,
    /// and no definition is made.
    pub fn hold_partitions(&self, partitions: u16) {
        self.memory.held_partitions.store(partitions, Ordering::Relaxed); // nobody else is here
        for path in self.paths.iter().flatten() {
            let one = SplitBy::are_of_partitions(path.parts.split_by(), partitions);
            path.parts.all().iter().for_each(|part| part.stored.set_one_writer(one));
        }
    }

    /// What [`Schema::hold_partitions`] was told last.
    pub(crate) fn held_partitions(&self) -> u16 {
        self.memory.held_partitions.load(Ordering::Relaxed) // as there
    }

    /// Enters all rows of a table into a new index of it.
    fn fill_index(&self, id: IndexId) -> Result<(), SqlError> {
        let index = self.catalog.index(id);
        let records = self.table(index.table).records();
        let mut key = KeyBuffer::new();
        let mut failed = None;
        let mut met = HashSet::new();
        records.for_each_record(|record, view| {
            if failed.is_some() || view.is_ghost() {
                return;
            }
            failed = self.fill_entry(index, record, view.row(), &mut key).err();
            // One that takes equal keys for a while has none to begin with.
            if index.deferral.is_deferrable()
                && let Some(shown) = self.whole_key_of(index, view.row())
                && let Some(twice) = met.replace(shown)
            {
                failed = Some(self.duplicated(index, &twice));
            }
        });
        failed.map_or(Ok(()), Err)
    }

    fn fill_entry<W: Words + ?Sized>(
        &self,
        index: &Index,
        id: RecordId,
        row: &W,
        key: &mut KeyBuffer,
    ) -> Result<(), SqlError> {
        key.clear();
        if let Err(error) = self.encode_entry(index, id, row, key) {
            return Err(SqlError::new(b"54000", format!("index \"{}\": {error}", index.name)));
        }
        let there = self.enter_entry(index, id, key.as_slice())?;
        if there {
            return Err(self.duplicated(index, &self.key_of(index, row)));
        }
        Ok(())
    }

    /// The error of a key that rows have which are there already.
    fn duplicated(&self, index: &Index, key: &str) -> SqlError {
        let name = &index.name;
        let mut error =
            SqlError::new(b"23505", format!("could not create unique index \"{name}\""));
        error.detail = Some(format!("{key} is duplicated."));
        error.table = Some(self.catalog.table(index.table).name.clone());
        error.constraint = Some(name.clone());
        error
    }

    /// Enters a row under its encoded key, without undo: for loading and for new indexes. Whether
    /// another row had the key already, and nothing was done. Fails with 53200.
    pub fn enter_entry(&self, index: &Index, id: RecordId, key: &[u8]) -> Result<bool, SqlError> {
        self.enter_entry_near(index, id, key, &mut Hint::default())
    }

    /// As [`Schema::enter_entry`], with a hint of this index and thread: for many rows, of which
    /// one often comes behind the other.
    pub fn enter_entry_near(
        &self,
        index: &Index,
        id: RecordId,
        key: &[u8],
        hint: &mut Hint,
    ) -> Result<bool, SqlError> {
        let there = match self.stored_part(index, key) {
            StoredIndex::Hash(stored) if index.unique => {
                let records = self.table(index.table).records();
                let same =
                    |other| index.key.matches_row(&index.fields, records.record(other).row(), key);
                let there = stored.insert_unique(self.entry_hash(index, key), id, same);
                there.map(|there| there.is_some()).ok()
            }
            StoredIndex::Hash(stored) => {
                stored.insert(self.entry_hash(index, key), id).map(|()| false).ok()
            }
            StoredIndex::BTree(stored) => {
                stored.insert_hinted(key, id.bits(), hint).map(|there| there.is_some()).ok()
            }
        };
        there.ok_or_else(|| self.memory.out_of_memory())
    }

    /// Takes a row's entry under its encoded key out, if it is there.
    pub fn leave_entry(&self, index: &Index, id: RecordId, key: &[u8]) {
        match self.stored_part(index, key) {
            StoredIndex::Hash(stored) => {
                stored.remove(self.entry_hash(index, key), id);
            }
            StoredIndex::BTree(stored) => {
                stored.remove(key, id.bits());
            }
        }
    }

    /// Makes ready for interactive transactions, and for statements of them that use tables in
    /// these ways, until a table is dropped. Granules and the parts of indexes stay as they are, so
    /// that locks that are held mean what they meant, and what is undone is where it was.
    pub fn open_for(&mut self, uses: &[(TableId, TableUse)]) -> Result<(), SqlError> {
        self.interactive = true;
        let before = self.granules.clone();
        self.granules.note_uses(uses);
        let is_new = |table: &TableId| !self.granules.are_same(&before, &self.catalog, *table);
        let noted: BTreeSet<TableId> =
            uses.iter().map(|(table, _)| *table).filter(is_new).collect();
        self.compile_users(&noted)?;
        noted.into_iter().for_each(|table| self.make_paths(table));
        Ok(())
    }

    /// From now on tables are ready for interactive transactions that write them, as soon as they
    /// are there.
    pub fn expect_writers(&mut self) -> Result<(), SqlError> {
        self.expects_writers = true;
        let tables = self.catalog.tables().iter();
        let uses: Vec<_> = tables.map(|table| (table.id, Self::WRITTEN)).collect();
        self.open_for(&uses)
    }

    const WRITTEN: TableUse = TableUse { changed: ColumnSet::ALL, coarse: false };

    /// The routing rules that the procedures imply, inferred when somebody first asks.
    pub fn routing(&self) -> &Routing {
        self.routing.get_or_init(|| self.routing_under(&self.granules))
    }

    /// The same where granules are these.
    fn routing_under(&self, granules: &Granules) -> Routing {
        // Statements go where procedures have put the rows.
        let procedures = self.named_procedures().map(|(_, compiled)| &compiled.procedure);
        Routing::infer(&self.catalog, granules, procedures)
    }

    /// It is about to be put in force, and nothing was added to it so far.
    fn begin_additions(&mut self) {
        self.added = Arc::new(Additions::behind(self.procedures.len()));
    }

    /// The procedure with this name.
    pub fn procedure_named(&self, name: &str) -> Option<(ProcedureId, &Arc<CompiledProcedure>)> {
        let id = *self.names.get(name)?;
        Some((id, self.procedure(id)?))
    }

    /// The procedures of this name, which differ in the types of their parameters.
    pub fn overloads(
        &self,
        name: &str,
    ) -> impl Iterator<Item = (ProcedureId, &Arc<CompiledProcedure>)> {
        let alone = self.procedure_named(name).filter(|_| !self.overloaded);
        let several = self.named_procedures().take_while(|_| self.overloaded);
        alone
            .into_iter()
            .chain(several.filter(move |(_, of)| routine_name(&of.procedure.name) == name))
    }

    /// The procedures that somebody has created, in the order of their ids: all but statements
    /// that are kept as procedures.
    pub fn named_procedures(&self) -> impl Iterator<Item = (ProcedureId, &Arc<CompiledProcedure>)> {
        let all = (0..).map(ProcedureId).zip(&self.procedures);
        let there = all.filter_map(|(id, compiled)| Some((id, compiled.as_ref()?)));
        there.filter(|(_, compiled)| !compiled.procedure.is_statement())
    }

    /// The procedures by id, those included that were added while it is in force; none where one
    /// was dropped.
    pub fn procedures_so_far(&self) -> impl Iterator<Item = Option<&Arc<CompiledProcedure>>> {
        let added = self.added.from(self.procedures.len());
        self.procedures.iter().map(Option::as_ref).chain(added.map(Some))
    }

    /// How many ids of procedures were added while it is in force.
    #[inline]
    pub fn added_so_far(&self) -> usize {
        self.added.count()
    }

    /// The procedures that touch a table.
    pub fn users_of(&self, table: TableId) -> impl Iterator<Item = ProcedureId> + '_ {
        let all = (table, ProcedureId(0))..=(table, ProcedureId(u32::MAX));
        self.users.range(all).map(|(&(_, procedure), ())| procedure)
    }

    /// The stored table with this id.
    #[inline]
    pub fn table(&self, id: TableId) -> &StoredTable {
        self.tables[id.index()].as_ref().unwrap_or(&self.memory.gone.table)
    }

    /// An index as it is stored: its parts, of which one that is not split has one.
    pub fn stored_parts(&self, id: IndexId) -> impl Iterator<Item = &StoredIndex> {
        self.path(id).parts.all().iter().map(|part| &*part.stored)
    }

    /// What of an index has, or would have, the entry with this key.
    pub fn stored_part(&self, index: &Index, key: &[u8]) -> &StoredIndex {
        &self.path(index.id).parts.of_key(key).stored
    }

    /// What accesses through an index need.
    #[inline(always)]
    pub(crate) fn path(&self, id: IndexId) -> &AccessPath {
        self.paths[id.index()].as_ref().unwrap_or(&self.memory.gone.path)
    }

    /// What has this number among a table's stored indexes.
    pub(crate) fn part_at(&self, table: TableId, number: usize) -> &Part {
        let mut paths = self.catalog.table(table).indexes().map(|index| self.path(index));
        let found = paths.find_map(|path| path.parts.numbered(number));
        found.expect("storage has the indexes of the catalog")
    }

    /// The columns of a table that entries of its secondary indexes hold.
    #[inline(always)]
    pub(crate) fn indexed(&self, table: TableId) -> ColumnSet {
        self.indexed[table.index()]
    }

    /// Whether entries of a table's secondary indexes may hold a column; never wrong when it says
    /// no.
    #[inline(always)]
    pub fn may_be_indexed(&self, table: TableId, column: ColumnId) -> bool {
        self.indexed(table).may_contain(column.index())
    }

    /// The procedure with this id.
    #[inline]
    pub fn procedure(&self, id: ProcedureId) -> Option<&Arc<CompiledProcedure>> {
        match self.procedures.get(id.index()) {
            Some(there) => there.as_ref(),
            None => self.added.get(id),
        }
    }

    /// The hash under which an entry lies in a hash index: that of its declared columns.
    pub fn entry_hash(&self, index: &Index, entry_key: &[u8]) -> u64 {
        let bytes = index.key.prefix_bytes(entry_key, index.columns.len());
        key::hash(&entry_key[..bytes])
    }

    /// Whether a row's declared columns in an index are these key bytes.
    pub fn row_has_prefix<W: Words + ?Sized>(&self, index: &Index, row: &W, prefix: &[u8]) -> bool {
        let mut key = KeyBuffer::new();
        index.key.encode_from_row(&index.fields, row, &mut key).is_ok()
            && key.as_slice().starts_with(prefix)
    }

    /// Encodes the key of a row's entry. In a unique index, keys with a NULL in them do not equal
    /// each other: the record's id follows them.
    #[inline]
    pub fn encode_entry<W: Words + ?Sized>(
        &self,
        index: &Index,
        id: RecordId,
        row: &W,
        out: &mut KeyBuffer,
    ) -> Result<(), KeyError> {
        index.key.encode_from_row(&index.fields, row, out)?;
        if index.unique && index.fields.iter().any(|field| field.is_null(row)) {
            out.put(id.bits().to_be_bytes());
        }
        Ok(())
    }

    /// Encodes the key a row's entry will have after changes, as [`Schema::encode_entry`] does.
    pub fn encode_changed<W: Words + ?Sized>(
        &self,
        index: &Index,
        id: RecordId,
        row: &W,
        changes: &[(ColumnId, Datum)],
        heap: &[u8],
        out: &mut KeyBuffer,
    ) -> Result<(), KeyError> {
        let mut own_heap = Vec::new();
        let mut has_null = false;
        for (part, (&column, &field)) in index.entry_columns.iter().zip(&index.fields).enumerate() {
            let changed = changes.iter().find(|(changed, _)| *changed == column);
            let (datum, heap) = match changed {
                Some(&(_, datum)) => (datum, heap),
                None => (read_field(field, row, &mut own_heap), own_heap.as_slice()),
            };
            has_null |= datum.is_null();
            index.key.encode_part(part, datum, heap, out)?;
        }
        if index.unique && has_null {
            out.put(id.bits().to_be_bytes());
        }
        Ok(())
    }

    /// Gives memory that nobody can reach any more back to a worker's slabs.
    pub fn reclaim(&self, worker: WorkerId) {
        self.memory.epochs().advance();
        let safe = self.memory.epochs().safe_epoch();
        for stored in self.tables.iter().flatten() {
            stored.records().reclaim(worker, safe);
        }
    }
}

fn guard_gaps_of(index: &StoredIndex) {
    if let StoredIndex::BTree(tree) = index {
        tree.guard_gaps();
    }
}

/// The most bytes of an entry's key; see [`Schema::encode_entry`].
fn max_key_bytes(index: &Index) -> usize {
    let with_null = index.unique && index.fields.iter().any(|field| field.is_nullable());
    let suffix = if with_null { size_of::<u64>() } else { 0 };
    (index.key.bytes_max() + suffix).min(KEY_BYTES_MAX)
}

/// The current schema and the gate around its changes.
pub struct SharedSchema {
    gate: Arc<Gate>,
    /// what was put in force so far, and what was added to it
    generation: AtomicU64,
    current: Latch<Arc<Schema>>,
    /// what was put in force so far, at quiet points
    settled_generation: AtomicU64,
    /// what engines know (I3)
    settled: Latch<Arc<Schema>>,
    /// interactive transactions of the engine that runs
    bystanders: Latch<Option<Weak<dyn Bystanders>>>,
    /// where commits are told; none before there is one
    journal: OnceLock<Arc<Journal>>,
    /// a quiet point lasts that has put another schema in force
    is_changing: AtomicBool,
    /// it has ended
    changed: EventCount,
    /// what a transaction has defined and not committed
    pending: Latch<Option<Pending>>,
    /// there is something; set and cleared by whoever has the quiet point
    has_pending: AtomicBool,
    /// schemas that were pending so far
    pended: AtomicU64,
}

/// A schema that is one transaction's only.
#[derive(Clone)]
struct Pending {
    schema: Arc<Schema>,
    generation: u64,
    /// whose statements see it
    owner: Arc<Interrupt>,
}

/// Set in the number of a pending schema, which no other one has then.
const PENDING: u64 = 1 << 63;

impl SharedSchema {
    /// Shares a schema among the workers `0..workers`.
    pub fn new(mut schema: Schema, workers: usize) -> Self {
        schema.begin_additions();
        let schema = Arc::new(schema);
        Self {
            gate: Arc::new(Gate::new(workers)),
            generation: AtomicU64::new(0),
            current: Latch::new(Arc::clone(&schema)),
            settled_generation: AtomicU64::new(0),
            settled: Latch::new(schema),
            bystanders: Latch::new(None),
            journal: OnceLock::new(),
            is_changing: AtomicBool::new(false),
            changed: EventCount::new(),
            pending: Latch::new(None),
            has_pending: AtomicBool::new(false),
            pended: AtomicU64::new(0),
        }
    }

    /// Makes known where commits are told, once: each change of the schema is a cut there. Locks
    /// may mean something else behind it, and then their tags say nothing of what came before.
    pub fn tell_changes_to(&self, journal: &Arc<Journal>) {
        let set = self.journal.set(Arc::clone(journal));
        debug_assert!(set.is_ok(), "a database has one journal");
    }

    /// Waits until the schema that is in force has its place in the journal, if it was changed just
    /// now: whoever has looked at it without being inside the gate. Called outside of quiet points.
    pub fn wait_for_change(&self) {
        // Acquire; partner: the Release in the drop of `Quiet`.
        let is_over = || (!self.is_changing.load(Ordering::Acquire)).then_some(());
        if is_over().is_none() {
            let _ = self.changed.wait_for(None, is_over);
        }
    }

    /// The current schema, for reading its definitions. Touching rows takes a turn or a quiet
    /// point. To statements of a transaction that has definitions it is the transaction's own one.
    pub fn current(&self) -> Arc<Schema> {
        self.own().map_or_else(|| self.committed(), |pending| pending.schema)
    }

    /// The schema that is everybody's.
    fn committed(&self) -> Arc<Schema> {
        Arc::clone(&self.current.lock())
    }

    /// What is pending, for whoever has made it.
    #[inline]
    fn own(&self) -> Option<Pending> {
        // Relaxed: a thread that has made something pending, or goes on for its session, knows it.
        if !self.has_pending.load(Ordering::Relaxed) {
            return None;
        }
        self.pending.lock().clone().filter(|pending| current::is(&pending.owner))
    }

    /// The gate.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The number of the current schema.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.own().map_or_else(|| self.committed_generation(), |pending| pending.generation)
    }

    /// Number of replacements and additions so far.
    #[inline]
    fn committed_generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire) // partner: the Release in `replace`
    }

    /// What is pending, or else everybody's schema, with its number; for whoever has the quiet
    /// point.
    pub(crate) fn pending_or_committed(&self) -> (Arc<Schema>, u64) {
        match &*self.pending.lock() {
            Some(pending) => (Arc::clone(&pending.schema), pending.generation),
            None => (self.committed(), self.committed_generation()),
        }
    }

    /// Has a schema be its owner's, in place of the one that was; for whoever has the quiet point.
    pub(crate) fn set_pending(&self, schema: Arc<Schema>, owner: &Arc<Interrupt>) {
        let number = self.pended.fetch_add(1, Ordering::Relaxed); // a number that no other one has
        let (generation, owner) = (PENDING | number, Arc::clone(owner));
        *self.pending.lock() = Some(Pending { schema, generation, owner });
        self.has_pending.store(true, Ordering::Relaxed); // see `own`
    }

    /// Nothing is pending any more. Who has made something of texts that went with it makes it once
    /// more, as behind a change.
    pub(crate) fn end_pending(&self) {
        *self.pending.lock() = None;
        self.has_pending.store(false, Ordering::Relaxed); // see `own`
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Puts a schema in force that only [adds](Unfilled::adds_only) procedures to the one with this
    /// number, while calls run on. `tell` makes it known before anybody sees it; it works as
    /// [`QUIET_WORKER`], as at a quiet point, and holds nobody up. None, and nothing is done, if
    /// another schema is in force by now, or if there is no room: then it takes a quiet point; or
    /// if its statement is interrupted before the gate is open.
    ///
    /// # Errors
    ///
    /// Those of `tell`; nothing is done then.
    pub fn add<R, E>(
        &self,
        (next, made_of): (Schema, u64),
        tell: impl FnOnce() -> Result<R, E>,
    ) -> Option<Result<R, E>> {
        let wait = current::begin_wait();
        let goes_on = || wait.as_ref().is_none_or(|wait| wait.check().is_ok());
        let _open = self.gate.keep_open_while(goes_on)?; // nobody has a quiet point
        let (settled, before) = (Arc::clone(&self.settled.lock()), self.committed());
        let new = || (0..).map(ProcedureId).zip(&next.procedures).skip(before.procedures.len());
        let mut ids = new().map(|(id, _)| id);
        if self.committed_generation() != made_of || !ids.all(|id| settled.added.has_room(id)) {
            return None;
        }
        let is_named = |compiled: &Arc<CompiledProcedure>| !compiled.procedure.is_statement();
        if new().any(|(_, compiled)| compiled.as_ref().is_some_and(is_named))
            && before.has_dynamic()
        {
            return None; // I1 of `definitions`
        }
        let told = match tell() {
            Ok(told) => told,
            Err(error) => return Some(Err(error)),
        };
        for (id, compiled) in new().filter_map(|(id, compiled)| Some((id, compiled.as_ref()?))) {
            settled.added.add(id, compiled);
        }
        *self.current.lock() = Arc::new(next);
        self.generation.fetch_add(1, Ordering::Release); // partner: as in `committed_generation`
        Some(Ok(told))
    }

    /// At a quiet point: puts what was added since the last one where the rest is.
    fn settle(&self) {
        let mut settled = self.settled.lock();
        if settled.added.is_empty() {
            return;
        }
        let mut schema = Schema::clone(&self.committed());
        schema.begin_additions();
        *settled = Arc::new(schema);
        *self.current.lock() = Arc::clone(&settled); // I3; it says what the one before did
        self.settled_generation.fetch_add(1, Ordering::Release);
    }
}

/// The schema as a thread that runs calls knows it.
pub struct KnownSchema {
    schema: Arc<Schema>,
    generation: u64,
}

impl KnownSchema {
    /// As it is now. The thread need not be inside the gate.
    pub fn new(shared: &SharedSchema) -> Self {
        // In this order: a schema that is newer than its number is only looked at again.
        let generation = Self::generation(shared);
        Self { schema: Arc::clone(&shared.settled.lock()), generation }
    }

    /// The schema, to be kept.
    pub fn get(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Looks whether there is another one by now, which stays as long as some thread is inside the
    /// gate.
    #[inline]
    pub fn look_again(&mut self, shared: &SharedSchema) -> bool {
        let changed = Self::generation(shared) != self.generation;
        if changed {
            *self = Self::new(shared);
        }
        changed
    }

    #[inline]
    fn generation(shared: &SharedSchema) -> u64 {
        // Partner: the Release where a schema is put in force.
        shared.settled_generation.load(Ordering::Acquire)
    }
}

impl std::ops::Deref for KnownSchema {
    type Target = Schema;

    #[inline]
    fn deref(&self) -> &Schema {
        &self.schema
    }
}
