//! The catalog: tables, columns, indexes and constraints, by dense ids; users, by name.
//!
//! Role         written by `sql` at a quiet point, read by everybody; immutable while transactions
//!              run (a change makes a new catalog)
//! Invariants   I1 `tables[i].id == i`, `indexes[i].id == i` (asserted in `add_table`, `add_index`)
//!              I2 a non-unique index's key ends with the primary key's columns that it does not
//!              have already, so that every index entry is unique

use std::collections::BTreeMap;
use std::sync::Arc;

use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::key::{KeyLayout, KeyPart};
use hotrow_base::row::{ColumnType, Field, RowLayout};
use hotrow_base::types::DataType;

use crate::outcome::SqlError;
use crate::program::Expr;

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// lower-case name, or as quoted
    pub name: String,
    /// its type
    pub data_type: DataType,
    /// false for NOT NULL and primary-key columns
    pub nullable: bool,
    /// DEFAULT: an expression over constants and the call's time only
    pub default: Option<Expr>,
}

/// A CHECK constraint: `condition` over slots, where slot `i` stands for `columns[i]`.
#[derive(Clone, Debug)]
pub struct Check {
    /// constraint name, given or made as PostgreSQL does (`table_column_check`)
    pub name: String,
    /// the columns it reads
    pub columns: Vec<ColumnId>,
    /// holds unless it is false; slot `i` (see [`crate::program::SlotId`]) is `columns[i]`
    pub condition: Expr,
}

/// A foreign key; `sql` enforces it by adding accesses to the procedures that write either side.
#[derive(Clone, Debug)]
pub struct ForeignKey {
    /// constraint name
    pub name: String,
    /// referencing table
    pub child: TableId,
    /// referencing columns
    pub child_columns: Vec<ColumnId>,
    /// referenced table
    pub parent: TableId,
    /// unique index of the parent that holds the referenced columns, in `child_columns`' order
    pub parent_index: IndexId,
}

/// How an index is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexKind {
    /// point look-ups of the whole key only
    Hash,
    /// ordered: points, prefixes and ranges
    BTree,
}

/// An index, primary or secondary.
#[derive(Clone, Debug)]
pub struct Index {
    /// its id, also the name of its lock space
    pub id: IndexId,
    /// its name
    pub name: String,
    /// the table it belongs to
    pub table: TableId,
    /// declared key columns
    pub columns: Vec<ColumnId>,
    /// no two rows have equal declared columns (rows with a NULL in them aside)
    pub unique: bool,
    /// hash or B+-tree
    pub kind: IndexKind,
    /// columns of the entry's key: `columns`, then what makes a non-unique entry unique (I2)
    pub entry_columns: Vec<ColumnId>,
    /// encoding of `entry_columns`
    pub key: KeyLayout,
    /// where `entry_columns` lie in a row
    pub fields: Vec<Field>,
    /// dropped; only its id remains
    pub dropped: bool,
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// its id
    pub id: TableId,
    /// its name
    pub name: String,
    /// its columns
    pub columns: Vec<Column>,
    /// its row layout
    pub layout: RowLayout,
    /// the primary key's index; none: rows can only be inserted and scanned
    pub primary: Option<IndexId>,
    /// secondary indexes, unique or not
    pub secondary: Vec<IndexId>,
    /// CHECK constraints
    pub checks: Vec<Check>,
    /// foreign keys of which this table is the child
    pub foreign_keys: Vec<ForeignKey>,
    /// how many leading columns of the primary key are declared to route its rows; none: inferred
    /// (see [`crate::routing`])
    pub routing: Option<u8>,
    /// dropped; only its id remains
    pub dropped: bool,
}

impl Table {
    /// The column with this name.
    pub fn column(&self, name: &str) -> Option<ColumnId> {
        self.columns.iter().position(|c| c.name == name).map(|i| ColumnId(i as u16))
    }

    /// All indexes, the primary one first.
    pub fn indexes(&self) -> impl Iterator<Item = IndexId> + '_ {
        self.primary.into_iter().chain(self.secondary.iter().copied())
    }
}

/// What CREATE INDEX and PRIMARY KEY say.
#[derive(Clone, Debug)]
pub struct IndexDefinition {
    /// its name
    pub name: String,
    /// declared key columns
    pub columns: Vec<ColumnId>,
    /// UNIQUE
    pub unique: bool,
    /// hash or B+-tree
    pub kind: IndexKind,
}

/// How many users there can be.
pub const USERS_MAX: usize = 10_000;

/// All tables and indexes of a database, and its users.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    tables: Vec<Table>,
    indexes: Vec<Index>,
    users: Arc<BTreeMap<String, Option<String>>>,
}

impl Catalog {
    /// Adds a table without constraints or secondary indexes; `primary` names its key columns.
    /// Fails with 54011 when a row, or 54001 when a key, could never fit.
    pub fn add_table(
        &mut self,
        name: &str,
        columns: Vec<Column>,
        primary: Option<IndexDefinition>,
    ) -> Result<TableId, SqlError> {
        let id = TableId(self.tables.len() as u16);
        let layout = layout_of(name, &columns)?;
        self.tables.push(Table {
            id,
            name: name.to_owned(),
            layout,
            columns,
            primary: None,
            secondary: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            routing: None,
            dropped: false,
        });
        if let Some(definition) = primary {
            assert!(definition.unique, "a primary key is unique");
            match self.push_index(id, definition) {
                Ok(index) => self.tables[id.index()].primary = Some(index),
                Err(refused) => {
                    self.tables.pop();
                    return Err(refused);
                }
            }
        }
        Ok(id)
    }

    /// Adds a secondary index. Fails with 54001 when a key could never fit, and with 0A000 when
    /// the table has no primary key: its rows would have no granule of their own.
    pub fn add_index(
        &mut self,
        table: TableId,
        definition: IndexDefinition,
    ) -> Result<IndexId, SqlError> {
        let owner = &self.tables[table.index()];
        if owner.primary.is_none() {
            let text = format!("table \"{}\" has no primary key to index by", owner.name);
            let mut refused = SqlError::new(b"0A000", text);
            refused.hint = Some("Declare a PRIMARY KEY in CREATE TABLE.".to_owned());
            return Err(refused);
        }
        let index = self.push_index(table, definition)?;
        self.tables[table.index()].secondary.push(index);
        Ok(index)
    }

    fn push_index(
        &mut self,
        table: TableId,
        definition: IndexDefinition,
    ) -> Result<IndexId, SqlError> {
        let id = IndexId(self.indexes.len() as u16);
        let owner = &self.tables[table.index()];
        let mut entry_columns = definition.columns.clone();
        if !definition.unique
            && let Some(primary) = owner.primary
        {
            for &column in &self.indexes[primary.index()].columns {
                if !entry_columns.contains(&column) {
                    entry_columns.push(column);
                }
            }
        }
        let key = key_layout(owner, &definition.name, &entry_columns)?;
        let fields = entry_columns.iter().map(|&c| owner.layout.field(c)).collect();
        self.indexes.push(Index {
            id,
            name: definition.name,
            table,
            columns: definition.columns,
            unique: definition.unique,
            kind: definition.kind,
            entry_columns,
            key,
            fields,
            dropped: false,
        });
        Ok(id)
    }

    /// Gives a table that has none a primary key; its columns are NOT NULL already. Fails with
    /// 54001 when a key could never fit.
    pub fn add_primary(
        &mut self,
        table: TableId,
        definition: IndexDefinition,
    ) -> Result<IndexId, SqlError> {
        assert!(definition.unique, "a primary key is unique");
        assert!(self.tables[table.index()].primary.is_none(), "a table has one primary key");
        let index = self.push_index(table, definition)?;
        self.tables[table.index()].primary = Some(index);
        Ok(index)
    }

    /// Gives a table other columns; `now_at` tells where each of the old ones is among them. One
    /// that is gone is in no constraint and no index. The rows that there are have to be rebuilt.
    /// Fails with 54011 when a row, or 54001 when a key, could never fit.
    pub fn replace_columns(
        &mut self,
        id: TableId,
        columns: Vec<Column>,
        now_at: &[Option<ColumnId>],
    ) -> Result<(), SqlError> {
        let layout = layout_of(&self.tables[id.index()].name, &columns)?;
        let moved = |list: &mut Vec<ColumnId>| {
            for column in list {
                *column = now_at[column.index()].expect("a column in use stays");
            }
        };
        let table = &mut self.tables[id.index()];
        (table.columns, table.layout) = (columns, layout);
        table.checks.iter_mut().for_each(|check| moved(&mut check.columns));
        table.foreign_keys.iter_mut().for_each(|key| moved(&mut key.child_columns));
        let indexes: Vec<IndexId> = table.indexes().collect();
        for index in indexes {
            let owner = &self.tables[id.index()];
            let index = &mut self.indexes[index.index()];
            moved(&mut index.columns);
            moved(&mut index.entry_columns);
            index.key = key_layout(owner, &index.name, &index.entry_columns)?;
            index.fields = index.entry_columns.iter().map(|&c| owner.layout.field(c)).collect();
        }
        Ok(())
    }

    /// Gives a table another name.
    pub fn rename_table(&mut self, id: TableId, name: String) {
        self.tables[id.index()].name = name;
    }

    /// Drops a table and its indexes; their ids stay taken.
    pub fn drop_table(&mut self, id: TableId) {
        let table = &mut self.tables[id.index()];
        table.dropped = true;
        for index in table.primary.into_iter().chain(std::mem::take(&mut table.secondary)) {
            self.indexes[index.index()].dropped = true;
        }
    }

    /// Drops a secondary index; its id stays taken.
    pub fn drop_index(&mut self, id: IndexId) {
        let index = &mut self.indexes[id.index()];
        index.dropped = true;
        self.tables[index.table.index()].secondary.retain(|&other| other != id);
    }

    /// The table with this id.
    #[inline]
    pub fn table(&self, id: TableId) -> &Table {
        &self.tables[id.index()]
    }

    /// The table with this id, for adding constraints.
    pub fn table_mut(&mut self, id: TableId) -> &mut Table {
        &mut self.tables[id.index()]
    }

    /// The index with this id.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "the field's word; ids index two lists here")]
    pub fn index(&self, id: IndexId) -> &Index {
        &self.indexes[id.index()]
    }

    /// All tables, dropped ones included, by id.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// All indexes, dropped ones included, by id.
    pub fn indexes(&self) -> &[Index] {
        &self.indexes
    }

    /// All users by name, each with what is kept of its password; none: it has none.
    pub fn users(&self) -> &BTreeMap<String, Option<String>> {
        &self.users
    }

    /// Adds a user, or gives it another password.
    pub fn set_user(&mut self, name: &str, verifier: Option<&str>) {
        let verifier = verifier.map(str::to_owned);
        Arc::make_mut(&mut self.users).insert(name.to_owned(), verifier);
    }

    /// Takes a user away.
    pub fn drop_user(&mut self, name: &str) {
        Arc::make_mut(&mut self.users).remove(name);
    }

    /// The table with this name.
    pub fn table_named(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|t| !t.dropped && t.name == name)
    }

    /// The index with this name.
    pub fn index_named(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|i| !i.dropped && i.name == name)
    }
}

fn layout_of(table: &str, columns: &[Column]) -> Result<RowLayout, SqlError> {
    let types: Vec<_> = columns
        .iter()
        .map(|c| ColumnType { data_type: c.data_type, nullable: c.nullable })
        .collect();
    RowLayout::new(&types).map_err(|error| {
        let mut refused = SqlError::new(b"54011", format!("table \"{table}\": {error}"));
        refused.hint = Some("Use fewer or shorter columns.".to_owned());
        refused
    })
}

fn key_layout(table: &Table, index: &str, columns: &[ColumnId]) -> Result<KeyLayout, SqlError> {
    let parts: Vec<_> = columns
        .iter()
        .map(|c| &table.columns[c.index()])
        .map(|c| KeyPart { data_type: c.data_type, nullable: c.nullable })
        .collect();
    KeyLayout::new(&parts).map_err(|error| {
        let mut refused = SqlError::new(b"54001", format!("index \"{index}\": {error}"));
        refused.hint = Some("Index fewer or shorter columns.".to_owned());
        refused
    })
}
