//! The next schema, made from the one before: what a definition costs.
//!
//! Role         makes anew what a definition has to do with, and shares the rest: stored tables and
//!              indexes, access paths and compiled procedures. So it costs what it changes, and a
//!              pointer for each table, index and procedure that there is. All but what rows are
//!              needed for is done while calls run ([`Schema::adopt`], then [`Schema::fill`])
//! Invariants   I1 a procedure is compiled again when its tree is another one, when a table that it
//!                 touches has changed in the catalog, or when a granule of such a table has
//!              I2 a table is laid out again when it or one of its indexes has changed in the
//!                 catalog, or its rows are made anew; all are, where indexes are split and all
//!                 procedures together split them by other fields than before

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hotrow_base::ids::{IndexId, ProcedureId, TableId};
use hotrow_storage::table::Table as StoredTable;
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::granule::{ColumnSet, GranuleNotes, Granules};
use hotrow_transaction::outcome::{SqlError, apart};
use hotrow_transaction::program::{OVERLOAD_MARK, Procedure};
use hotrow_transaction::routing::Routing;

use super::rebuild::OldRows;
use super::{AccessPath, Parts, Rebuilt, Schema, SplitBy, indexed_columns};

/// Procedures by id, each with its tree; none: it is dropped.
pub type Trees = BTreeMap<ProcedureId, Option<Procedure>>;

/// What a schema that was made beside calls lacks of the rows that there are.
#[derive(Default)]
#[must_use = "indexes without their rows answer wrongly"]
pub struct Unfilled {
    rows: Vec<OldRows>,
    indexes: Vec<IndexId>,
    adds_only: bool,
}

impl Unfilled {
    /// Whether the schema differs from the one before in nothing but procedures that have come:
    /// tables, indexes and granules are the same, and so are all other procedures.
    pub fn adds_only(&self) -> bool {
        self.adds_only
    }
}

impl Schema {
    /// As [`Schema::adopt`] and [`Schema::fill`], with the trees of all procedures, by id.
    ///
    /// # Errors
    ///
    /// As both.
    pub fn adopt_all(
        &mut self,
        catalog: Catalog,
        trees: Vec<Option<Procedure>>,
    ) -> Result<(), SqlError> {
        let numbered = (0..).map(ProcedureId).zip(trees);
        let unfilled = self.adopt(catalog, numbered.collect(), &[])?;
        self.fill(&unfilled)
    }

    /// Takes over a catalog that the one before was changed into, procedures that are new, replaced
    /// or dropped, and tables whose rows are made anew: infers granules, compiles what is to be
    /// compiled (I1), and makes storage. No row is touched, so that it may be done beside calls,
    /// for a schema that is still in force when this one is put in its place. What is missing then
    /// is what [`Schema::fill`] does.
    ///
    /// # Errors
    ///
    /// 53200, and what compiling says. The schema is of no use then.
    pub fn adopt(
        &mut self,
        catalog: Catalog,
        mut trees: Trees,
        rebuilt: &[Rebuilt],
    ) -> Result<Unfilled, SqlError> {
        let knows_routing = self.routing.get().is_some();
        let changed: BTreeSet<TableId> = self.catalog.tables_changed(&catalog).collect();
        let before = self.take_rows(&catalog, &changed, rebuilt);
        let is_emptied: BTreeSet<TableId> = before.iter().map(|(table, _)| *table).collect();
        for table in self.tables.len()..catalog.tables().len() {
            let make =
                |_: &_| Arc::new(StoredTable::new(self.memory.workers(), self.memory.budget()));
            self.tables.push(catalog.tables().at(table).map(make));
        }
        for &table in &changed {
            self.with_users(table, &mut trees);
        }
        let (granules_before, tables_before) = (self.granules.clone(), self.catalog.tables().len());
        let (routing_before, procedures_before) = (self.split_routing(), self.procedures.len());
        let touched = self.note_trees(&catalog, &mut trees, &changed);
        self.catalog = catalog;
        if self.expects_writers {
            let new = (tables_before..self.catalog.tables().len()).map(|at| TableId(at as u16));
            let uses: Vec<_> = new.map(|table| (table, Self::WRITTEN)).collect();
            self.granules.note_uses(&uses);
        }
        let is_other =
            |table: &&TableId| !self.granules.are_same(&granules_before, &self.catalog, **table);
        let other: BTreeSet<TableId> = touched.iter().filter(is_other).copied().collect();
        for &table in &other {
            self.with_users(table, &mut trees);
        }
        let is_new = |(id, tree): (&ProcedureId, &Option<Procedure>)| {
            tree.is_some() && id.index() >= procedures_before
        };
        let adds_only = changed.is_empty() && other.is_empty() && trees.iter().all(is_new);
        self.compile(trees)?;
        self.note_columns(&changed);
        let routing = self.split_routing();
        let laid_out = match routing != routing_before {
            true => self.catalog.tables().iter().map(|table| table.id).collect(),
            false => &changed | &is_emptied,
        };
        let adds_only = adds_only && laid_out.is_empty();
        let fresh = self.lay_out((&laid_out, routing.as_ref()), &is_emptied)?;
        other.difference(&laid_out).for_each(|&table| self.make_paths(table));
        if knows_routing {
            self.routing(); // here, where nobody waits for it
        }
        let rows = before.into_iter().filter_map(|(_, rows)| rows).collect();
        Ok(Unfilled { rows, indexes: fresh, adds_only })
    }

    /// Copies the rows of tables that are made anew, and enters the rows that there are into new
    /// indexes, and into those that are split in another way than before. Called at a quiet point.
    ///
    /// # Errors
    ///
    /// 53200, 23505 when rows violate a unique index, 23502 for a NULL in a column that is NOT NULL
    /// now. The schema is of no use then.
    pub fn fill(&self, unfilled: &Unfilled) -> Result<(), SqlError> {
        unfilled.rows.iter().try_for_each(|rows| self.copy_rows(rows))?;
        unfilled.indexes.iter().try_for_each(|&index| self.fill_index(index))
    }

    /// Compiles the procedures that touch these tables again, as they are.
    pub(super) fn compile_users(&mut self, tables: &BTreeSet<TableId>) -> Result<(), SqlError> {
        let mut trees = Trees::new();
        tables.iter().for_each(|&table| self.with_users(table, &mut trees));
        self.compile(trees)
    }

    /// Adds the procedures that touch a table, as they are.
    fn with_users(&self, table: TableId, trees: &mut Trees) {
        for id in self.users_of(table) {
            let tree = || self.procedure(id).map(|compiled| compiled.procedure.clone());
            trees.entry(id).or_insert_with(tree);
        }
    }

    /// Notes what procedures do with tables in place of what their ids did before, and infers the
    /// granules of those tables, and of `changed` ones. Which they are. Procedures that touch
    /// tables of which other columns change than before come to `trees`, as they are: what is
    /// noted of them depends on that.
    fn note_trees(
        &mut self,
        catalog: &Catalog,
        trees: &mut Trees,
        changed: &BTreeSet<TableId>,
    ) -> BTreeSet<TableId> {
        let mut touched = changed.clone();
        changed.iter().for_each(|&table| self.granules.forget_columns(table));
        let before = self.granules.clone();
        let of_before = |table: TableId| before.changed_by_procedures(table);
        for (&id, tree) in &*trees {
            self.forget_notes(id, &mut touched);
            if let Some(tree) = tree {
                self.note_changes(catalog, id, tree, &mut touched);
            }
        }
        touched.iter().for_each(|&table| self.granules.settle(catalog, &self.tally, table));
        let is_other =
            |table: &&TableId| self.granules.changed_by_procedures(**table) != of_before(**table);
        let other: BTreeSet<TableId> = touched.iter().filter(is_other).copied().collect();
        let mut users = Trees::new();
        other.iter().for_each(|&table| self.with_users(table, &mut users));
        for (id, tree) in users {
            if let (Some(tree), Entry::Vacant(place)) = (tree, trees.entry(id)) {
                self.forget_notes(id, &mut touched);
                self.note_changes(catalog, id, &tree, &mut touched);
                place.insert(Some(tree));
            }
        }
        for tree in trees.values().flatten() {
            self.tally.add_granules(&GranuleNotes::of(catalog, &self.granules, tree));
        }
        touched.iter().for_each(|&table| self.granules.settle(catalog, &self.tally, table));
        touched
    }

    /// Takes back what was noted of a procedure, if there was one with this id.
    fn forget_notes(&mut self, id: ProcedureId, touched: &mut BTreeSet<TableId>) {
        let Some(old) = self.procedures.get(id.index()).and_then(Option::as_ref) else { return };
        self.tally.remove_changes(&old.notes);
        self.tally.remove_granules(&old.notes);
        for table in old.notes.tables() {
            self.users.remove_mut(&(table, id));
            touched.insert(table);
        }
    }

    /// Notes which tables a procedure touches, and what it changes of them.
    fn note_changes(
        &mut self,
        catalog: &Catalog,
        id: ProcedureId,
        tree: &Procedure,
        touched: &mut BTreeSet<TableId>,
    ) {
        let notes = GranuleNotes::of_changes(catalog, tree);
        self.tally.add_changes(&notes);
        for table in notes.tables() {
            self.users.insert_mut((table, id), ());
            touched.insert(table);
        }
    }

    /// Puts procedures in their places, compiled for the catalog and the granules that there are.
    fn compile(&mut self, trees: Trees) -> Result<(), SqlError> {
        self.routing = Arc::default();
        for (id, tree) in trees {
            if self.procedures.len() <= id.index() {
                self.procedures.resize(id.index() + 1, None);
            }
            if let Some(old) = self.procedures[id.index()].take()
                && self.names.get(&old.procedure.name) == Some(&id)
            {
                self.names.remove_mut(&old.procedure.name);
            }
            let Some(tree) = tree else { continue };
            let compiled = apart(|| CompiledProcedure::new(&self.catalog, &self.granules, tree))?;
            self.overloaded |= compiled.procedure.name.contains(OVERLOAD_MARK);
            self.names.insert_mut(compiled.procedure.name.clone(), id);
            self.procedures[id.index()] = Some(Arc::new(compiled));
        }
        Ok(())
    }

    fn note_columns(&mut self, changed: &BTreeSet<TableId>) {
        self.indexed.resize(self.catalog.tables().len(), ColumnSet::default());
        for &id in changed {
            let table = self.catalog.tables().at(id.index());
            let indexed = table.map(|table| indexed_columns(&self.catalog, table));
            self.indexed[id.index()] = indexed.unwrap_or_default();
        }
    }

    /// By what indexes are split, if they are. Statements beside the procedures split nothing: that
    /// would be for the next definition.
    fn split_routing(&self) -> Option<Routing> {
        let is_split = self.memory.split > 1;
        is_split.then(|| self.routing_under(&Granules::of_procedures(&self.catalog, &self.tally)))
    }

    /// Makes the indexes of tables anew, but for those that are to be split as they are and do not
    /// belong to a table that was `emptied`. Which are new, and empty.
    fn lay_out(
        &mut self,
        (tables, routing): (&BTreeSet<TableId>, Option<&Routing>),
        emptied: &BTreeSet<TableId>,
    ) -> Result<Vec<IndexId>, SqlError> {
        self.paths.resize(self.catalog.indexes().len(), None);
        let mut fresh = Vec::new();
        for &table in tables {
            if self.catalog.tables().at(table.index()).is_some() {
                let is_emptied = emptied.contains(&table);
                self.lay_out_table(table, routing, is_emptied, &mut fresh)?;
            }
        }
        // The indexes that went, those of tables that stay included.
        for (at, path) in self.paths.iter_mut().enumerate() {
            if path.is_some() && self.catalog.indexes().at(at).is_none() {
                *path = None;
            }
        }
        Ok(fresh)
    }

    fn lay_out_table(
        &mut self,
        id: TableId,
        routing: Option<&Routing>,
        is_emptied: bool,
        fresh: &mut Vec<IndexId>,
    ) -> Result<(), SqlError> {
        let table = self.catalog.table(id);
        let (mut stored, mut all) = (Vec::new(), Vec::new());
        for index in table.indexes().map(|index| self.catalog.index(index)) {
            let by =
                routing.and_then(|routing| SplitBy::of(table, index, routing, self.memory.split));
            let is_as_before = |path: &&Arc<AccessPath>| !is_emptied && path.parts.split_by() == by;
            let before = self.paths[index.id.index()].as_ref().filter(is_as_before);
            let parts: Vec<_> = match before {
                Some(path) => {
                    path.parts.all().iter().map(|part| Arc::clone(&part.stored)).collect()
                }
                None => {
                    fresh.push(index.id);
                    let new = (0..SplitBy::count(by)).map(|_| self.make_index(index, by));
                    new.collect::<Result<_, _>>()?
                }
            };
            all.push((index.id, Parts::new(index, by, &parts, stored.len())));
            stored.extend(parts);
        }
        self.tables[id.index()] = Some(Arc::new(self.table(id).with_indexes(stored)));
        all.into_iter().for_each(|(index, parts)| self.make_path(index, parts));
        Ok(())
    }

    /// Gathers what accesses to a table need. Called when its granules have changed.
    pub(super) fn make_paths(&mut self, table: TableId) {
        let Some(table) = self.catalog.tables().at(table.index()) else { return };
        let indexes: Vec<IndexId> = table.indexes().collect();
        for index in indexes {
            self.make_path(index, self.path(index).parts.clone());
        }
    }

    fn make_path(&mut self, index: IndexId, parts: Parts) {
        let Self { catalog, granules, .. } = &*self;
        let described = catalog.index(index);
        let owner = self.table(described.table);
        let path = AccessPath::new(catalog, granules, described, owner, parts);
        self.paths[index.index()] = Some(Arc::new(path));
    }
}
