//! What CREATE, ALTER and DROP change in the catalog.

use std::sync::Arc;

use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_transaction::catalog::{
    Catalog, Check, Column, Commented, DeclaredRouting, Deferral, ForeignKey, Generated, Grants,
    Hidden, IndexDefinition, Membership, NamedType, Numbering, Object, ObjectKind, OfDomain,
    PartitionKey, Partitioning, ReferentialAction, Role, RowSecurity, Sequence, SettingScope,
    Table, Trigger, TriggerFunction, View, local,
};
use hotrow_transaction::outcome::{Notice, SqlError};
use hotrow_transaction::program::Expr;

/// One change of the catalog.
#[derive(Clone, Debug)]
pub enum CatalogChange {
    /// CREATE SCHEMA
    CreateSchema(String),
    /// DROP SCHEMA, in which nothing is left
    DropSchema(String),
    /// ALTER SCHEMA ... RENAME TO
    RenameSchema {
        /// its name
        name: String,
        /// how it is called then
        to: String,
    },
    /// ALTER TABLE ... SET SCHEMA, of a table or a sequence
    MoveTable {
        /// which
        table: TableId,
        /// where it stands then
        schema: String,
    },
    /// CREATE TABLE
    CreateTable(TableDefinition),
    /// CREATE SEQUENCE, and one that goes with a table that is created behind it
    CreateSequence(SequenceDefinition),
    /// CREATE INDEX
    CreateIndex {
        /// name of the table with its schema, looked up when the change is applied
        table: String,
        /// what the index is
        definition: IndexDefinition,
    },
    /// DROP TABLE
    DropTable(TableId),
    /// DROP INDEX
    DropIndex(IndexId),
    /// ALTER TABLE: another form of rows
    Columns(Columns),
    /// ALTER TABLE ... RENAME TO
    RenameTable {
        /// which
        table: TableId,
        /// how it is called then
        name: String,
    },
    /// ALTER INDEX ... RENAME TO, and RENAME CONSTRAINT of one that is an index
    RenameIndex {
        /// which
        index: IndexId,
        /// how it is called then
        name: String,
    },
    /// RENAME CONSTRAINT, of a CHECK or a foreign key
    RenameConstraint {
        /// of which table
        table: TableId,
        /// which
        name: String,
        /// how it is called then
        to: String,
    },
    /// ALTER VIEW ... RENAME TO
    RenameView {
        /// its name, with its schema
        name: String,
        /// how it is called in its schema then
        to: String,
    },
    /// REFRESH MATERIALIZED VIEW that gives one its first rows, or takes them
    SetFilled {
        /// its name, with its schema
        name: String,
        /// it may be read from now on
        is_filled: bool,
    },
    /// ALTER TYPE and DOMAIN ... RENAME TO
    RenameType {
        /// its name
        name: String,
        /// how it is called then, with its schema
        to: String,
    },
    /// ALTER SEQUENCE, of how it counts
    SetSequence {
        /// which
        sequence: TableId,
        /// how it counts from now on
        to: Sequence,
        /// the number that comes next, if it begins anew
        restart: Option<i64>,
    },
    /// ALTER SEQUENCE ... OWNED BY
    OwnSequence {
        /// which
        sequence: TableId,
        /// none: nobody owns it
        by: Option<(TableId, ColumnId)>,
    },
    /// SET DEFAULT nextval(...), and DROP DEFAULT of a column that draws
    SetDraws {
        /// whose
        table: TableId,
        /// which
        column: ColumnId,
        /// none: it has no default
        sequence: Option<TableId>,
    },
    /// ALTER COLUMN ... SET GENERATED, of an identity column
    SetIdentity {
        /// whose
        table: TableId,
        /// which
        column: ColumnId,
        /// whether an INSERT may give it a number
        numbering: Numbering,
    },
    /// ALTER TABLE ... RENAME COLUMN
    RenameColumn {
        /// whose
        table: TableId,
        /// which
        column: ColumnId,
        /// how it is called then
        name: String,
    },
    /// ALTER COLUMN ... SET DEFAULT and DROP DEFAULT
    SetDefault {
        /// whose
        table: TableId,
        /// which
        column: ColumnId,
        /// none: NULL
        default: Option<Expr>,
    },
    /// ALTER DOMAIN, and ALTER COLUMN of a column of a domain
    SetColumnDomain {
        /// whose
        table: TableId,
        /// which
        column: ColumnId,
        /// what it has of a domain then; none: it is of none
        domain: Option<Arc<OfDomain>>,
    },
    /// ADD CHECK
    AddCheck {
        /// of which table
        table: TableId,
        /// the condition
        check: Check,
        /// it may be false for none of the rows that there are; otherwise, NOT VALID, nobody looks
        is_valid: bool,
    },
    /// ADD FOREIGN KEY
    AddForeignKey {
        /// of which table
        table: TableId,
        /// what it refers to
        key: ForeignKeyDefinition,
        /// the rows that there are have to be checked; otherwise, NOT VALID, nobody looks
        is_valid: bool,
    },
    /// VALIDATE CONSTRAINT, of a CHECK or a foreign key that was NOT VALID
    Validate {
        /// of which table
        table: TableId,
        /// which
        name: String,
    },
    /// DROP CONSTRAINT, of a CHECK or a foreign key
    DropConstraint {
        /// of which table
        table: TableId,
        /// which
        name: String,
    },
    /// ALTER CONSTRAINT of a foreign key
    SetDeferral {
        /// of which table
        table: TableId,
        /// which
        name: String,
        /// when it is checked
        deferral: Deferral,
    },
    /// CREATE [OR REPLACE] TRIGGER, and ALTER TABLE ... ENABLE and DISABLE TRIGGER
    SetTrigger {
        /// of which table
        table: TableId,
        /// the trigger, in place of one with its name
        trigger: Trigger,
    },
    /// DROP TRIGGER
    DropTrigger {
        /// of which table
        table: TableId,
        /// which
        name: String,
    },
    /// CREATE, ALTER and DROP POLICY, and ALTER TABLE ... ROW LEVEL SECURITY
    SetSecurity {
        /// of which table
        table: TableId,
        /// what it says then
        security: RowSecurity,
    },
    /// what a partitioned table asks of its rows, whose partitions have changed
    SetPartitioning {
        /// which table
        table: TableId,
        /// how it is partitioned then
        partitioning: Partitioning,
    },
    /// rows of a partition that go, or that come to be in another table
    MoveRows(Box<MovedRows>),
    /// rows that there are have to satisfy something
    RequireRows {
        /// of which table
        table: TableId,
        /// what is false for none of them
        rows: Check,
        /// what it fails with otherwise
        refused: Box<SqlError>,
    },
    /// CASCADE: procedures go that would not compile behind the other changes
    DropDependents,
    /// CREATE OR REPLACE of a function that triggers use
    SetTriggerFunction(Arc<TriggerFunction>),
    /// CREATE [OR REPLACE] VIEW
    SetView(View),
    /// DROP VIEW
    DropView(String),
    /// CREATE TYPE, CREATE DOMAIN, and ALTER TYPE, whose columns then have the new type
    SetType {
        /// its name
        name: String,
        /// what it is
        named: NamedType,
    },
    /// DROP TYPE, DROP DOMAIN
    DropType(String),
    /// CREATE ROLE, ALTER ROLE
    SetRole {
        /// its name
        name: String,
        /// what it is then, but for its number
        role: Role,
    },
    /// DROP ROLE
    DropRole(String),
    /// ALTER ROLE and ALTER DATABASE ... SET and RESET
    SetSessionSetting {
        /// whose sessions begin with it
        scope: SettingScope,
        /// which; none: all of them are forgotten
        name: Option<String>,
        /// none: it is forgotten
        value: Option<String>,
    },
    /// GRANT and REVOKE of a role
    SetMembership {
        /// which
        role: String,
        /// who is in it then, or no more
        member: String,
        /// how; none: no more
        how: Option<Membership>,
    },
    /// OWNER TO
    SetOwner {
        /// of what
        object: Object,
        /// none: the database's maker
        owner: Option<Arc<str>>,
    },
    /// something that has been made right before is somebody's
    Made(Made),
    /// COMMENT
    SetComment {
        /// what is said something of
        about: Commented,
        /// none: nothing more
        text: Option<String>,
    },
    /// GRANT and REVOKE
    SetGrants {
        /// of what
        object: Object,
        /// of which column; none: of it as a whole
        column: Option<ColumnId>,
        /// what has been given of it then
        grants: Grants,
    },
    /// ALTER DEFAULT PRIVILEGES
    SetDefaults {
        /// of what this one makes; none: the database's maker
        of: Option<Arc<str>>,
        /// in this schema; none: in all
        schema: Option<Arc<str>>,
        /// of things of this kind
        kind: ObjectKind,
        /// what they begin with
        grants: Grants,
    },
    /// IF NOT EXISTS or IF EXISTS, and nothing to do
    Nothing(Notice),
}

impl CatalogChange {
    /// Whether it is one of roles or rights, which no procedure has to do with.
    pub fn leaves_procedures(&self) -> bool {
        matches!(
            self,
            Self::SetRole { .. }
                | Self::DropRole(_)
                | Self::SetMembership { .. }
                | Self::SetSessionSetting { .. }
                | Self::SetOwner { .. }
                | Self::SetGrants { .. }
                | Self::SetComment { .. }
                | Self::SetDefaults { .. }
                | Self::Nothing(_)
        )
    }

    /// The view that it makes, replaces or drops, by its name in its schema.
    pub fn view(&self) -> Option<&str> {
        match self {
            Self::SetView(view) => Some(&view.name),
            Self::DropView(name) | Self::RenameView { name, .. } | Self::SetFilled { name, .. } => {
                Some(local(name))
            }
            _ => None,
        }
    }

    /// The type that it makes, replaces or drops, by its name in its schema.
    pub fn named_type(&self) -> Option<&str> {
        match self {
            Self::SetType { name, .. } | Self::DropType(name) | Self::RenameType { name, .. } => {
                Some(local(name))
            }
            _ => None,
        }
    }
}

/// Something that has been made, and whose it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Made {
    /// what
    pub name: MadeName,
    /// none: the database's maker
    pub owner: Option<Arc<str>>,
}

/// What has been made, by its name, which has its schema before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MadeName {
    /// a table or a sequence
    Table(String),
    /// a view
    View(String),
    /// a schema
    Schema(String),
    /// a type or a domain
    Type(String),
}

/// Another form of a table's rows.
#[derive(Clone, Debug)]
pub struct Columns {
    /// which table
    pub table: TableId,
    /// its columns then
    pub columns: Vec<Column>,
    /// what the last ones of them are for, which users do not see
    pub hidden: Vec<Hidden>,
    /// what fills each of them in the rows that there are
    pub filled: Vec<Filled>,
    /// its primary key then, where it had none
    pub primary: Option<IndexDefinition>,
    /// columns that are computed from then on
    pub generated: Vec<Generated>,
}

/// What a column of a row that there is gets.
#[derive(Clone, Debug)]
pub enum Filled {
    /// what it had in this column
    Old(ColumnId),
    /// its default; none: NULL
    By(Option<Expr>),
    /// computed from what other columns get
    Computed(Generated),
    /// computed from what the columns had
    Converted(Generated),
    /// the next number of a sequence that is made with it
    Numbered(TableId),
    /// what tells the row apart from others, equal ones too
    Identity,
}

/// Rows that leave a table.
#[derive(Clone, Debug)]
pub struct MovedRows {
    /// whose rows they are
    pub from: TableId,
    /// where they come to be; none: they go
    pub into: Option<TableId>,
    /// which of them: those for which it is true
    pub of: Check,
    /// what fills the columns where they come to be
    pub columns: Vec<Filled>,
    /// it has to be true for all of them, or this is what it fails with
    pub refused: Option<SqlError>,
    /// what has to be true for the rows that are there already, and what it fails with
    pub kept: Option<(Check, SqlError)>,
}

/// What a client is told about something that was left out.
pub(crate) fn left_out(text: String) -> Notice {
    Notice::new(SqlError::new(b"00000", text))
}

/// What a client is warned of.
pub(crate) fn warned(code: &[u8; 5], text: String) -> Notice {
    Notice::warning(SqlError::new(code, text))
}

/// That something is there already.
pub(crate) fn is_there(relation: &str) -> Notice {
    let text = format!("relation \"{relation}\" already exists, skipping");
    Notice::new(SqlError::new(b"42P07", text))
}

/// What CREATE TABLE says.
#[derive(Clone, Default, Debug)]
pub struct TableDefinition {
    /// its name in its schema
    pub name: String,
    /// the schema that it and its indexes are in
    pub schema: String,
    /// its columns
    pub columns: Vec<Column>,
    /// PRIMARY KEY
    pub primary: Option<IndexDefinition>,
    /// UNIQUE constraints
    pub unique: Vec<IndexDefinition>,
    /// CHECK constraints
    pub checks: Vec<Check>,
    /// columns that are computed from others
    pub generated: Vec<Generated>,
    /// the last columns, which users do not see: what each of them is for
    pub hidden: Vec<Hidden>,
    /// REFERENCES
    pub foreign_keys: Vec<ForeignKeyDefinition>,
    /// WITH (routing = ...)
    pub routing: Option<DeclaredRouting>,
    /// it has the rows of a materialized view
    pub is_kept: bool,
    /// PARTITION BY
    pub partition_key: Option<PartitionKey>,
}

impl TableDefinition {
    /// The columns that users see.
    pub fn shown(&self) -> &[Column] {
        &self.columns[..self.columns.len() - self.hidden.len()]
    }

    /// The names of its constraints, those of their indexes included.
    pub(crate) fn constraint_names(&self) -> impl Iterator<Item = &str> {
        let indexes = self.primary.iter().chain(&self.unique).map(|index| &index.name);
        let checks = self.checks.iter().map(|check| &check.name);
        let keys = self.foreign_keys.iter().map(|key| &key.name);
        indexes.chain(checks).chain(keys).map(String::as_str)
    }

    /// A table that there is, as CREATE TABLE would say it; its secondary indexes, unique or not,
    /// stand where constraints would.
    pub(crate) fn of(catalog: &Catalog, table: &Table) -> Self {
        let definition = |id| {
            let index = catalog.index(id);
            let (name, columns) = (index.name.clone(), index.columns.clone());
            IndexDefinition {
                name,
                columns,
                descending: index.descending.clone(),
                unique: index.unique,
                kind: index.kind,
                is_constraint: index.is_constraint,
                deferral: index.deferral,
            }
        };
        let key = |key: &ForeignKey| ForeignKeyDefinition {
            name: key.name.clone(),
            child_columns: key.child_columns.clone(),
            parent: Some(key.parent).filter(|parent: &TableId| *parent != table.id),
            parent_columns: catalog.index(key.parent_index).columns.clone(),
            actions: [key.on_delete, key.on_update],
            deferral: key.deferral,
        };
        Self {
            name: table.name.clone(),
            schema: table.schema.to_string(),
            columns: table.columns.clone(),
            primary: table.declared_primary().map(definition),
            unique: table.secondary.iter().copied().map(definition).collect(),
            checks: table.checks.clone(),
            generated: table.generated.clone(),
            hidden: table.hidden.clone(),
            foreign_keys: table.foreign_keys.iter().map(key).collect(),
            routing: table.routing,
            is_kept: table.is_kept,
            partition_key: table.partitioning.as_ref().map(|of| of.key.clone()),
        }
    }
}

/// A foreign key before its table has an id.
#[derive(Clone, Debug)]
pub struct ForeignKeyDefinition {
    /// constraint name
    pub name: String,
    /// referencing columns
    pub child_columns: Vec<ColumnId>,
    /// referenced table; none for the table itself
    pub parent: Option<TableId>,
    /// referenced columns, one per referencing column
    pub parent_columns: Vec<ColumnId>,
    /// ON DELETE and ON UPDATE
    pub actions: [ReferentialAction; 2],
    /// when it is checked
    pub deferral: Deferral,
}

/// A sequence before its table has an id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SequenceDefinition {
    /// its name, with its schema
    pub name: String,
    /// what it counts
    pub sequence: Sequence,
}
