//! Temporary tables of sessions.
//!
//! Role         a temporary table is a table as others are, on every engine and in the log, in a
//!              schema `pg_temp_N` of which only the session with that number knows. What a session
//!              lets go of is emptied and kept, and is there at once for the next one that creates
//!              it by the same text: tables have 65,000 numbers in a database's life, and sessions
//!              create many more. A sequence is kept, too, and begins anew; a view is dropped
//! States       of a table: made -> a session's -> (let go of) to be emptied -> kept -> a session's
//!              again, or dropped to make room for another one with its name
//! Invariants   I1 a number is one session's at a time
//!              I2 a table that is kept is empty, and its sequences are as new
//!              I3 whatever a statement names is found only as long as the session has it
//!              ([`SearchPath`])
//! Concurrency  a session's own; numbers and texts behind a lock, for a look or a change
//! Source       PostgreSQL 15, CREATE TABLE. We differ: what is written to them is logged

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hotrow_engine::schema::Schema;
use hotrow_sql::{
    AtCommit, CatalogChange, Compiled, Temporary, TemporaryKind as Kind, quoted_name,
};
use hotrow_transaction::catalog::{
    Catalog, Column, SearchPath, Table, is_temporary, qualified, temporary_schema,
};
use parking_lot::Mutex;

use crate::core::Core;
use crate::error::Error;

/// Rows up to here are deleted one by one, beside calls; more of them at a quiet point.
const DELETED_MAX: usize = 1000;

/// Numbers that sessions have, and what is kept under each (I1).
#[derive(Default)]
pub(crate) struct TemporaryNumbers {
    of_all: Mutex<OfAll>,
}

#[derive(Default)]
struct OfAll {
    taken: BTreeSet<u32>,
    /// by number and name, the text that the table was created by
    texts: BTreeMap<(u32, String), String>,
}

/// The temporary tables of a session.
#[derive(Default)]
pub(crate) struct TemporaryTables {
    number: Option<u32>,
    tables: Vec<SessionTable>,
    /// let go of, and to be emptied
    left: Vec<SessionTable>,
    /// what was made of which path, until something changes
    path: Option<(SearchPath, SearchPath)>,
}

/// One of them.
struct SessionTable {
    name: String,
    kind: Kind,
    /// it, its indexes and its sequences
    relations: BTreeSet<String>,
    has_sequences: bool,
    at_commit: AtCommit,
    /// the transaction that is open has created it
    is_of_transaction: bool,
}

impl TemporaryTables {
    /// Has the session a number of its own from here on.
    pub(crate) fn begin(&mut self, core: &Core) {
        if self.number.is_none() {
            let mut all = core.temporary.of_all.lock();
            let number = (1..).find(|number| !all.taken.contains(number));
            all.taken.extend(number);
            (self.number, self.path) = (number, None);
        }
    }

    /// Whether a path leads to others than it says: the session has had some.
    pub(crate) fn are_seen(&self) -> bool {
        self.number.is_some()
    }

    /// A path that leads to them first.
    pub(crate) fn seen_first(&mut self, path: SearchPath) -> SearchPath {
        let Some(number) = self.number else { return path };
        match &self.path {
            Some((of, made)) if *of == path => made.clone(),
            _ => {
                let names = self.tables.iter().flat_map(|table| table.relations.iter().cloned());
                let made = path.clone().with_temporary(number, names.collect());
                self.path = Some((path, made.clone()));
                made
            }
        }
    }

    /// What is to be done before a table can be created, as a definition says that was compiled
    /// from a text.
    pub(crate) fn look(
        &self,
        core: &Core,
        catalog: &Catalog,
        wanted: &Temporary,
        (text, definition): (&str, &Compiled),
    ) -> Before {
        let Some(number) = self.number else { return Before::Nothing };
        let name = qualified_in(number, &wanted.name);
        let quoted = quoted_name(&name);
        if catalog.view(&name).is_some() {
            return match self.tables.iter().any(|of| of.name == wanted.name) {
                true => Before::Nothing, // OR REPLACE
                false => Before::Drop(format!("DROP VIEW {quoted} CASCADE")),
            };
        }
        let Some(kept) = catalog.table_named(&name) else { return Before::Nothing };
        let texts = &mut core.temporary.of_all.lock().texts;
        let is_by_text = texts.get(&(number, wanted.name.clone())).is_some_and(|of| of == text);
        if let Some(sequence) = kept.sequence {
            let text = quoted.replace('\'', "''");
            return match is_by_text {
                true => {
                    Before::Delete(format!("SELECT setval('{text}', {}, false)", sequence.start))
                }
                false => Before::Drop(format!("DROP SEQUENCE {quoted} CASCADE")),
            };
        }
        // Its types may be others by now, and the columns of its query.
        match is_by_text && has_columns_of(kept, definition) {
            true if self.left.iter().any(|left| left.name == wanted.name) => {
                Before::Delete(format!("DELETE FROM {quoted}"))
            }
            true => Before::TakeKept,
            false => {
                // Those that refer to it lose that with it.
                let refers =
                    |table: &&Table| table.foreign_keys.iter().any(|key| key.parent == kept.id);
                for other in catalog.tables().iter().filter(refers) {
                    texts.remove(&(number, other.name.clone()));
                }
                Before::Drop(format!("DROP TABLE {quoted} CASCADE"))
            }
        }
    }

    /// Notes that the session has a table.
    pub(crate) fn note(
        &mut self,
        core: &Core,
        catalog: &Catalog,
        wanted: &Temporary,
        (text, is_in_transaction): (&str, bool),
    ) {
        let Some(number) = self.number else { return };
        let table = catalog.table_named(&qualified_in(number, &wanted.name));
        let own = || BTreeSet::from([wanted.name.clone()]);
        self.left.retain(|left| left.name != wanted.name);
        self.tables.retain(|replaced| replaced.name != wanted.name);
        self.tables.push(SessionTable {
            name: wanted.name.clone(),
            kind: wanted.kind.clone(),
            relations: match wanted.kind {
                Kind::Routine => BTreeSet::new(), // it is found by its schema alone
                _ => table.map_or_else(own, |table| relations_of(catalog, table)),
            },
            has_sequences: table.is_some_and(|table| sequences_of(catalog, table).count() > 0),
            at_commit: wanted.at_commit,
            is_of_transaction: is_in_transaction,
        });
        let key = (number, wanted.name.clone());
        core.temporary.of_all.lock().texts.insert(key, text.to_owned());
        self.path = None;
    }

    /// What makes the schema of the session, where it is not there yet.
    pub(crate) fn schema_to_make(&self, catalog: &Catalog) -> Option<String> {
        let schema = temporary_schema(self.number?);
        let is_there = catalog.has_schema(&schema);
        (!is_there).then(|| format!("CREATE SCHEMA IF NOT EXISTS {}", quoted_name(&schema)))
    }

    /// Lets go of tables of these names.
    pub(crate) fn let_go(&mut self, names: &[String]) {
        self.leave(|table| names.contains(&table.name));
    }

    /// Whether the session has views, which may read what is dropped.
    pub(crate) fn has_views(&self) -> bool {
        self.tables.iter().any(|table| matches!(table.kind, Kind::View(_)))
    }

    /// Lets go of some, and of the views that read them.
    fn leave(&mut self, goes: impl Fn(&SessionTable) -> bool) {
        let before = self.left.len();
        self.left.extend(self.tables.extract_if(.., |table| goes(table)));
        let mut looked_at = before;
        while looked_at < self.left.len() {
            let gone = self.left[looked_at].name.clone();
            let reads = |of: &mut SessionTable| match &of.kind {
                Kind::View(reads) => reads.contains(&gone),
                _ => false,
            };
            self.left.extend(self.tables.extract_if(.., reads));
            looked_at += 1;
        }
        self.path = None;
    }

    /// Lets go of all tables.
    pub(crate) fn let_go_of_all(&mut self) {
        self.left.append(&mut self.tables);
        self.path = None;
    }

    /// Looks again what there is of them behind a definition, which may have changed some.
    pub(crate) fn look_again(&mut self, core: &Core, schema: &Schema, definition: &Compiled) {
        let Some(number) = self.number else { return };
        let changed = changed_by(&schema.catalog, definition);
        if self.tables.is_empty() || !changed {
            return;
        }
        self.tables.retain_mut(|table| {
            let name = qualified_in(number, &table.name);
            match table.kind {
                Kind::View(_) => return schema.catalog.view(&name).is_some(),
                Kind::Routine => return true,
                Kind::Table | Kind::Sequence => {}
            }
            let Some(found) = schema.catalog.table_named(&name) else { return false };
            table.relations = relations_of(&schema.catalog, found);
            // By another text than this one.
            core.temporary.of_all.lock().texts.remove(&(number, table.name.clone()));
            true
        });
        self.path = None;
    }

    /// A transaction has ended.
    pub(crate) fn end_transaction(&mut self, is_committed: bool) {
        if self.tables.is_empty() {
            return;
        }
        self.leave(|table| table.is_of_transaction && !is_committed);
        self.tables.iter_mut().for_each(|table| table.is_of_transaction = false);
        self.path = None;
    }

    /// Whether something is to be done once no transaction is open.
    pub(crate) fn is_due(&self) -> bool {
        !self.left.is_empty() || self.tables.iter().any(|t| t.at_commit != AtCommit::Stays)
    }

    /// Does what is to be done while no transaction is open: ON COMMIT, and emptying what was let
    /// go of.
    pub(crate) fn settle(&mut self, core: &Arc<Core>) {
        self.leave(|table| table.at_commit == AtCommit::Goes);
        let Some(number) = self.number else { return };
        let empties = self.tables.iter().filter(|table| table.at_commit == AtCommit::Empties);
        tell_failure(empty(core, number, empties, Sequences::Stay));
        let left = std::mem::take(&mut self.left);
        tell_failure(drop_views(core, number, &left));
        if left.iter().any(|of| of.kind == Kind::Routine) {
            tell_failure(drop_routines(core, number));
        }
        if let Err(error) = empty(core, number, left.iter(), Sequences::BeginAnew) {
            // Not empty, and so not to be taken again (I2).
            let mut all = core.temporary.of_all.lock();
            left.into_iter().for_each(|table| drop(all.texts.remove(&(number, table.name))));
            tell_failure(Err(error));
        }
    }

    /// The session has ended.
    pub(crate) fn end(&mut self, core: &Arc<Core>) {
        self.left.append(&mut self.tables);
        self.settle(core);
        if let Some(number) = self.number.take() {
            core.temporary.of_all.lock().taken.remove(&number);
        }
    }
}

/// What has to be done before a temporary table can be created.
pub(crate) enum Before {
    /// there is none of its name
    Nothing,
    /// nothing more: it is there, and empty
    TakeKept,
    /// it is there, with rows that this statement deletes
    Delete(String),
    /// there is another one, which this statement drops
    Drop(String),
}

/// What becomes of a table's numbers when it is emptied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sequences {
    Stay,
    BeginAnew,
}

/// Empties tables: a few rows beside calls, more of them, or those of several tables, at a quiet
/// point, since tables may refer to each other.
fn empty<'t>(
    core: &Arc<Core>,
    number: u32,
    tables: impl Iterator<Item = &'t SessionTable>,
    sequences: Sequences,
) -> Result<(), Error> {
    let run = |text: &str| (core.run_own)(core, text, &[]);
    let (mut names, mut is_large) = (Vec::new(), false);
    for table in tables.filter(|table| table.kind == Kind::Table) {
        let name = quoted_name(&qualified_in(number, &table.name));
        let begins_anew = sequences == Sequences::BeginAnew && table.has_sequences;
        let rows = run(&format!("SELECT 1 FROM {name} LIMIT {}", DELETED_MAX + 1))?.len();
        is_large |= begins_anew || rows > DELETED_MAX;
        if begins_anew || rows > 0 {
            names.push(name);
        }
    }
    match names.as_slice() {
        [] => Ok(()),
        [name] if !is_large => run(&format!("DELETE FROM {name}")).map(drop),
        all => {
            let restart = if sequences == Sequences::BeginAnew { " RESTART IDENTITY" } else { "" };
            run(&format!("TRUNCATE TABLE {}{restart}", all.join(", "))).map(drop)
        }
    }
}

/// Drops views that were let go of: nobody else is to be refused for their sake.
fn drop_views(core: &Arc<Core>, number: u32, left: &[SessionTable]) -> Result<(), Error> {
    let views = left.iter().filter(|table| matches!(table.kind, Kind::View(_)));
    let schema = core.schema.current();
    let names = views.map(|view| qualified_in(number, &view.name));
    let names = names.filter(|name| schema.catalog.view(name).is_some());
    let names: Vec<String> = names.map(|name| quoted_name(&name)).collect();
    match names.is_empty() {
        true => Ok(()),
        false => {
            let text = format!("DROP VIEW {} CASCADE", names.join(", "));
            (core.run_own)(core, &text, &[]).map(drop)
        }
    }
}

/// Drops the routines of a session: all of them, since they are let go of together.
fn drop_routines(core: &Arc<Core>, number: u32) -> Result<(), Error> {
    let (schema, own) = (core.schema.current(), temporary_schema(number));
    let all = schema.named_procedures().map(|(_, compiled)| &compiled.procedure);
    for routine in all.filter(|routine| routine.schema() == own) {
        let types: Vec<_> = routine.given().iter().map(|of| of.sql_type.to_string()).collect();
        let name = quoted_name(&qualified(&own, routine.shown_name()));
        let text = format!("DROP ROUTINE IF EXISTS {name}({}) CASCADE", types.join(", "));
        (core.run_own)(core, &text, &[])?;
    }
    Ok(())
}

fn tell_failure(done: Result<(), Error>) {
    match done {
        Ok(()) | Err(Error::Closed) => {}
        Err(error) => tracing::warn!(%error, "a temporary table was not emptied"),
    }
}

/// The names of the temporary tables that a definition drops; none: it does something else.
pub(crate) fn dropped_by(catalog: &Catalog, definition: &Compiled) -> Option<Vec<String>> {
    let Compiled::Catalog(changes) = definition else { return None };
    let mut names = Vec::new();
    for change in changes {
        match change {
            CatalogChange::DropTable(id) if is_temporary(&catalog.table(*id).schema) => {
                names.push(catalog.table(*id).name.clone());
            }
            CatalogChange::Nothing(_) => {}
            _ => return None,
        }
    }
    Some(names).filter(|names| !names.is_empty())
}

/// Whether a table has the columns that a definition would give it.
fn has_columns_of(table: &Table, definition: &Compiled) -> bool {
    let Compiled::Catalog(changes) = definition else { return false };
    let mut created = changes.iter().filter_map(|change| match change {
        CatalogChange::CreateTable(created) => Some(&created.columns),
        _ => None,
    });
    let is_same = |(a, b): (&Column, &Column)| {
        (&a.name, a.data_type, a.nullable) == (&b.name, b.data_type, b.nullable)
    };
    created.next().is_some_and(|columns| {
        columns.len() == table.columns.len() && columns.iter().zip(&table.columns).all(is_same)
    })
}

/// Whether a definition may change temporary tables.
fn changed_by(catalog: &Catalog, definition: &Compiled) -> bool {
    let is_one = |id| is_temporary(&catalog.table(id).schema);
    let Compiled::Catalog(changes) = definition else { return false };
    changes.iter().any(|change| match change {
        CatalogChange::CreateTable(_)
        | CatalogChange::CreateSequence(_)
        | CatalogChange::CreateSchema(_)
        | CatalogChange::Nothing(_) => false,
        CatalogChange::Columns(columns) => is_one(columns.table),
        CatalogChange::CreateIndex { table, .. } => {
            catalog.table_named(table).is_some_and(|table| is_one(table.id))
        }
        _ => true,
    })
}

fn qualified_in(number: u32, name: &str) -> String {
    qualified(&temporary_schema(number), name)
}

fn sequences_of<'c>(catalog: &'c Catalog, table: &Table) -> impl Iterator<Item = &'c Table> {
    let draws = table.columns.iter().filter_map(|column| Some(column.draws?.sequence));
    let sequences = draws.map(|id| catalog.table(id));
    sequences.filter(|sequence| is_temporary(&sequence.schema)).collect::<Vec<_>>().into_iter()
}

/// A table's name, and those of its indexes and sequences.
fn relations_of(catalog: &Catalog, table: &Table) -> BTreeSet<String> {
    let indexes = table.indexes().map(|index| catalog.index(index).name.clone());
    let sequences = sequences_of(catalog, table).map(|sequence| sequence.name.clone());
    std::iter::once(table.name.clone()).chain(indexes).chain(sequences).collect()
}

/// Drops what an earlier process has left of temporary tables.
pub(crate) fn drop_left(core: &Arc<Core>) {
    let schema = core.schema.current();
    let all = schema.catalog.schemas().map(|(name, _)| name);
    for name in all.filter(|name| is_temporary(name)) {
        let text = format!("DROP SCHEMA {} CASCADE", quoted_name(name));
        tell_failure((core.run_own)(core, &text, &[]).map(drop));
    }
}
