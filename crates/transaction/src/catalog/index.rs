//! Indexes.

use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::key::KeyLayout;
use hotrow_base::row::Field;

use super::deferral::Deferral;

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
    /// those of them whose greater values come first
    pub descending: Vec<ColumnId>,
    /// no two rows have equal declared columns (rows with a NULL in them aside)
    pub unique: bool,
    /// hash or B+-tree
    pub kind: IndexKind,
    /// PRIMARY KEY or UNIQUE of a table, not an index of its own
    pub is_constraint: bool,
    /// of UNIQUE that can be deferred, which takes equal keys (`unique` is not set) and is checked
    /// by whoever writes: when
    pub deferral: Deferral,
    /// columns of the entry's key: `columns`, then what makes a non-unique entry unique (I2)
    pub entry_columns: Vec<ColumnId>,
    /// encoding of `entry_columns`
    pub key: KeyLayout,
    /// where `entry_columns` lie in a row
    pub fields: Vec<Field>,
}

/// What CREATE INDEX and PRIMARY KEY say.
#[derive(Clone, Debug)]
pub struct IndexDefinition {
    /// its name
    pub name: String,
    /// declared key columns
    pub columns: Vec<ColumnId>,
    /// those of them whose greater values are to come first, where keys can say that
    pub descending: Vec<ColumnId>,
    /// UNIQUE
    pub unique: bool,
    /// hash or B+-tree
    pub kind: IndexKind,
    /// PRIMARY KEY or UNIQUE of a table, not an index of its own
    pub is_constraint: bool,
    /// as [`Index::deferral`]
    pub deferral: Deferral,
}

impl IndexDefinition {
    /// That of PRIMARY KEY or UNIQUE.
    pub fn of_constraint(name: String, columns: Vec<ColumnId>, kind: IndexKind) -> Self {
        let (descending, deferral) = (Vec::new(), Deferral::Never);
        Self { name, columns, descending, unique: true, kind, is_constraint: true, deferral }
    }

    /// Has it be checked at some other time than by each row: then it takes equal keys, in an
    /// order.
    pub fn defer(&mut self, deferral: Deferral) {
        self.deferral = deferral;
        if deferral.is_deferrable() {
            (self.unique, self.kind) = (false, IndexKind::BTree);
        }
    }
}
