//! Foreign keys: what columns of a table refer to.

use hotrow_base::ids::{ColumnId, IndexId, TableId};

use super::deferral::Deferral;

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
    /// ON DELETE
    pub on_delete: ReferentialAction,
    /// ON UPDATE
    pub on_update: ReferentialAction,
    /// when it is checked
    pub deferral: Deferral,
}

/// What becomes of children whose parent goes or gets another key.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ReferentialAction {
    /// while there are children, it is an error
    #[default]
    NoAction,
    /// as `NoAction`, but never later than the statement
    Restrict,
    /// they go, too, or get the new key
    Cascade,
    /// they refer to nothing
    SetNull,
    /// they refer to what they refer to by default
    SetDefault,
}

impl ReferentialAction {
    /// Its name in SQL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoAction => "NO ACTION",
            Self::Restrict => "RESTRICT",
            Self::Cascade => "CASCADE",
            Self::SetNull => "SET NULL",
            Self::SetDefault => "SET DEFAULT",
        }
    }

    /// Whether children are changed.
    pub const fn changes_children(self) -> bool {
        matches!(self, Self::Cascade | Self::SetNull | Self::SetDefault)
    }
}
