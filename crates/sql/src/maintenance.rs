//! TRUNCATE, and what PostgreSQL's users do for their tables' sake: VACUUM, ANALYZE, REINDEX, LOCK,
//! CHECKPOINT; and LISTEN and UNLISTEN, which are the session's own.
//!
//! ```text
//! VACUUM [FULL] [FREEZE] [VERBOSE] [ANALYZE] [table [(columns)], ...]
//! VACUUM (option [value], ...) [table [(columns)], ...]
//! ANALYZE [VERBOSE] [table [(columns)], ...]
//! REINDEX [(options)] {INDEX | TABLE} [CONCURRENTLY] name
//! REINDEX [(options)] {SCHEMA | DATABASE | SYSTEM} [CONCURRENTLY] name
//! LOCK [TABLE] [ONLY] table, ... [IN mode MODE] [NOWAIT]
//! CHECKPOINT
//! LISTEN channel
//! UNLISTEN {* | channel}
//! ```

use hotrow_base::ids::TableId;
use hotrow_base::types::NAME_BYTES_MAX;
use hotrow_transaction::catalog::{Check, Object, Privileges};
use hotrow_transaction::needs::Needs;
use hotrow_transaction::outcome::Notice;
use hotrow_transaction::program::Place;
use sqlparser::ast;
use sqlparser::tokenizer::Token;

use crate::changes::left_out;
use crate::error::{Advice, Result, error, place_in};
use crate::scope::Compiler;
use crate::token::Cursor;
use crate::written::object_name;

/// Something for the tables' or the pool's sake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Maintenance {
    /// nothing to do: space is reclaimed as soon as nobody needs it
    Vacuum(Vec<(String, Place)>),
    /// nothing to do: there are no statistics
    Analyze(Vec<(String, Place)>),
    /// nothing to do: an index has no pages that fill up, and is made anew when a database opens
    Reindex {
        /// an index, a table, or none: all of a schema or of the database
        name: Option<(ReindexKind, String, Place)>,
        /// which PostgreSQL refuses in a transaction
        concurrently: bool,
    },
    /// nothing to do: transactions are serializable as it is
    Lock(Vec<(String, Place)>),
    /// a checkpoint is taken
    Checkpoint,
    /// LISTEN to a channel
    Listen(String),
    /// UNLISTEN of a channel; none: of all
    Unlisten(Option<String>),
}

/// What REINDEX names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReindexKind {
    /// REINDEX INDEX
    Index,
    /// REINDEX TABLE
    Table,
}

/// TRUNCATE
#[derive(Clone, Debug)]
pub struct Truncation {
    /// which tables, those that refer to others before them
    pub tables: Vec<TableId>,
    /// the same, as they were named; behind them those that CASCADE has added
    pub named: Vec<TableId>,
    /// those that CASCADE has added
    pub notices: Vec<Notice>,
    /// RESTART IDENTITY: sequences that begin anew, and with which number
    pub restarted: Vec<(TableId, i64)>,
    /// partitions of other tables
    pub partitions: Vec<EmptiedPartition>,
    /// what whoever sends it needs the right to do
    pub needs: Needs,
}

/// TRUNCATE of a partition
#[derive(Clone, Debug)]
pub struct EmptiedPartition {
    /// the table that has its rows
    pub table: TableId,
    /// its name, with its schema
    pub name: String,
    /// which rows of the table are in it
    pub rows: Check,
}

impl Maintenance {
    /// Fails with 42P01 for a table or an index that does not exist.
    pub(crate) fn check(&self, compiler: &Compiler<'_>) -> Result<()> {
        match self {
            Self::Vacuum(tables) | Self::Analyze(tables) | Self::Lock(tables) => {
                let is_there = |(name, at): &(String, Place)| match compiler.table_of_rows(name) {
                    Some(_) => Ok(()),
                    None => compiler.table(name, *at).map(drop),
                };
                tables.iter().try_for_each(is_there)
            }
            Self::Reindex { name: Some((ReindexKind::Table, name, place)), .. } => {
                Self::Vacuum(vec![(name.clone(), *place)]).check(compiler)
            }
            Self::Reindex { name: Some((ReindexKind::Index, name, place)), .. } => {
                match compiler.index_named(name) {
                    Some(_) => Ok(()),
                    None => {
                        let message = format!("relation \"{name}\" does not exist");
                        Err(error(b"42P01", *place, message))
                    }
                }
            }
            Self::Reindex { name: None, .. } => Ok(()),
            Self::Checkpoint | Self::Listen(_) | Self::Unlisten(_) => Ok(()),
        }
    }
}

/// Parses such a statement; none when it is another one.
pub(crate) fn maintenance(cursor: &mut Cursor<'_>) -> Result<Option<Maintenance>> {
    let maintenance = if cursor.accept("vacuum") {
        options(cursor, &["full", "freeze", "verbose", "analyze", "analyse"])?;
        Maintenance::Vacuum(tables(cursor)?)
    } else if cursor.accept("analyze") || cursor.accept("analyse") {
        options(cursor, &["verbose"])?;
        Maintenance::Analyze(tables(cursor)?)
    } else if cursor.accept("reindex") {
        reindex(cursor)?
    } else if cursor.accept("lock") {
        cursor.accept("table");
        let tables = locked_tables(cursor)?;
        if cursor.accept("in") {
            cursor.take_until_word("mode")?;
        }
        cursor.accept("nowait");
        Maintenance::Lock(tables)
    } else if cursor.accept("checkpoint") {
        Maintenance::Checkpoint
    } else if cursor.accept("unlisten") {
        match cursor.accept_token(&Token::Mul) {
            true => Maintenance::Unlisten(None),
            false => Maintenance::Unlisten(Some(channel(cursor)?)),
        }
    } else if cursor.accept("listen") {
        Maintenance::Listen(channel(cursor)?)
    } else {
        return Ok(None);
    };
    if cursor.at_end() { Ok(Some(maintenance)) } else { Err(cursor.unexpected("the end")) }
}

/// What stands behind REINDEX.
fn reindex(cursor: &mut Cursor<'_>) -> Result<Maintenance> {
    options(cursor, &["verbose"])?;
    let kind = match () {
        () if cursor.accept("index") => Some(ReindexKind::Index),
        () if cursor.accept("table") => Some(ReindexKind::Table),
        () if cursor.accept("schema") || cursor.accept("database") => None,
        () if cursor.accept("system") => None,
        () => return Err(cursor.unexpected("INDEX, TABLE, SCHEMA, DATABASE or SYSTEM")),
    };
    let concurrently = cursor.accept("concurrently");
    let place = cursor.place();
    let name = cursor.object_name()?;
    Ok(Maintenance::Reindex { name: kind.map(|kind| (kind, name, place)), concurrently })
}

/// Tables that LOCK names; there is nothing below them that ONLY would leave out.
fn locked_tables(cursor: &mut Cursor<'_>) -> Result<Vec<(String, Place)>> {
    let mut tables = Vec::new();
    loop {
        cursor.accept("only");
        let place = cursor.place();
        tables.push((cursor.object_name()?, place));
        cursor.accept_token(&Token::Mul);
        if !cursor.accept_token(&Token::Comma) {
            return Ok(tables);
        }
    }
}

/// The name of a channel, which is cut as all names are.
fn channel(cursor: &mut Cursor<'_>) -> Result<String> {
    let mut name = cursor.identifier()?;
    name.truncate(name.floor_char_boundary(NAME_BYTES_MAX));
    Ok(name)
}

fn options(cursor: &mut Cursor<'_>, words: &[&str]) -> Result<()> {
    if cursor.peek() == Some(&Token::LParen) {
        return cursor.take_brackets().map(drop);
    }
    while words.iter().any(|word| cursor.accept(word)) {}
    Ok(())
}

fn tables(cursor: &mut Cursor<'_>) -> Result<Vec<(String, Place)>> {
    let mut tables = Vec::new();
    while !cursor.at_end() {
        let place = cursor.place();
        tables.push((cursor.object_name()?, place));
        if cursor.peek() == Some(&Token::LParen) {
            cursor.take_brackets()?;
        }
        if !cursor.accept_token(&Token::Comma) {
            break;
        }
    }
    Ok(tables)
}

impl Compiler<'_> {
    /// TRUNCATE.
    pub(crate) fn truncation(&self, written: &ast::Truncate) -> Result<Truncation> {
        let (mut named, mut partitions) = (Vec::new(), Vec::new());
        for target in &written.table_names {
            let place = place_in(&target.name, self.place);
            let name = object_name(&target.name, place)?;
            if let Some((view, partition)) = self.partition_named(&name) {
                if let Some((_, child)) = self.left_referrer(&[partition.table]) {
                    let message = "cannot truncate a table referenced in a foreign key constraint";
                    let (child, own) = (&self.catalog.table(child).name, &view.name);
                    let detail = format!("Table \"{child}\" references \"{own}\".");
                    let hint = "DELETE the rows of the partition.";
                    return Err(error(b"0A000", place, message).detail(detail).hint(hint));
                }
                partitions.push((view, self.partition_emptied((view, partition))?));
                continue;
            }
            let table = self.table(&name, place)?;
            if !named.contains(&table.id) {
                named.push(table.id);
            }
        }
        let cascades = matches!(written.cascade, Some(ast::CascadeOption::Cascade));
        let mut notices = Vec::new();
        while let Some((parent, child)) = self.left_referrer(&named) {
            let (parent, name) =
                (&self.catalog.table(parent).name, &self.catalog.table(child).name);
            if !cascades {
                let message = "cannot truncate a table referenced in a foreign key constraint";
                return Err(error(b"0A000", self.place, message)
                    .detail(format!("Table \"{name}\" references \"{parent}\"."))
                    .hint(format!(
                        "Truncate table \"{name}\" at the same time, or use TRUNCATE ... CASCADE."
                    )));
            }
            notices.push(left_out(format!("truncate cascades to table \"{name}\"")));
            named.push(child);
        }
        let restarts = matches!(written.identity, Some(ast::TruncateIdentityOption::Restart));
        let tables = named.iter().filter(|_| restarts).map(|id| self.catalog.table(*id));
        let sequences = tables.flat_map(|table| crate::sequence::owned_by(self.catalog, table));
        let restarted =
            sequences.filter_map(|id| Some((id, self.catalog.table(id).sequence?.start)));
        let restarted = restarted.collect();
        let mut needs = Needs::default();
        for table in &named {
            needs.add(&self.by, Object::Table(*table), Privileges::TRUNCATE);
        }
        // What goes with its table need not go before it.
        partitions.retain(|(_, of)| !named.contains(&of.table));
        for (view, _) in &partitions {
            needs.add(&self.by, Object::View(view.id), Privileges::TRUNCATE);
        }
        let partitions = partitions.into_iter().map(|(_, of)| of).collect();
        let tables = self.children_first(named.clone());
        Ok(Truncation { tables, named, notices, restarted, partitions, needs })
    }

    /// A table that refers to one of these and is none of them.
    fn left_referrer(&self, named: &[TableId]) -> Option<(TableId, TableId)> {
        let tables = self.catalog.tables().iter();
        let mut keys = tables.flat_map(|table| &table.foreign_keys);
        let found = keys.find(|key| named.contains(&key.parent) && !named.contains(&key.child));
        found.map(|key| (key.parent, key.child))
    }

    /// In an order in which whoever refers to another comes before it, as far as there is one.
    fn children_first(&self, mut left: Vec<TableId>) -> Vec<TableId> {
        let mut ordered = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let is_referred_to = |id: TableId| {
                let others = left.iter().filter(|other| **other != id);
                let mut keys = others.flat_map(|other| &self.catalog.table(*other).foreign_keys);
                keys.any(|key| key.parent == id)
            };
            let next = left.iter().position(|id| !is_referred_to(*id)).unwrap_or(0);
            ordered.push(left.remove(next));
        }
        ordered
    }
}
