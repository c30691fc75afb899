//! Descriptions of tables and procedures, for people and their tools.

use hotrow_base::ids::{ColumnId, ProcedureId};
use hotrow_base::types::{DataType, SqlType};
use hotrow_engine::schema::Schema;
use hotrow_transaction::catalog::{self, IndexKind};
use hotrow_transaction::program;

use crate::database::Database;
use crate::error::Error;
use crate::lookup::table_named;

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnDescription {
    /// its name
    pub name: String,
    /// its type
    pub data_type: DataType,
    /// whether it may be NULL
    pub nullable: bool,
    /// whether it has a DEFAULT
    pub has_default: bool,
}

/// An index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexDescription {
    /// its name
    pub name: String,
    /// key columns
    pub columns: Vec<String>,
    /// whether it is the primary key's
    pub primary: bool,
    /// whether no two rows have equal keys
    pub unique: bool,
    /// `hash` or `btree`
    pub kind: &'static str,
}

/// A foreign key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignKeyDescription {
    /// constraint name
    pub name: String,
    /// referencing columns
    pub columns: Vec<String>,
    /// referenced table
    pub parent: String,
    /// referenced columns
    pub parent_columns: Vec<String>,
}

/// A table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableDescription {
    /// its name
    pub name: String,
    /// its columns
    pub columns: Vec<ColumnDescription>,
    /// its indexes, the primary key's first
    pub indexes: Vec<IndexDescription>,
    /// names of its CHECK constraints
    pub checks: Vec<String>,
    /// its foreign keys
    pub foreign_keys: Vec<ForeignKeyDescription>,
}

/// A procedure or function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcedureDescription {
    /// its name
    pub name: String,
    /// its id, which invocations carry
    pub id: ProcedureId,
    /// names and types of its parameters
    pub parameters: Vec<(String, SqlType)>,
    /// names and types of its result's columns
    pub result: Vec<(String, DataType)>,
    /// whether it returns any number of rows
    pub returns_set: bool,
    /// the text it was made from
    pub source: String,
}

impl Database {
    /// Names of all tables, in the order of their creation.
    pub fn tables(&self) -> Vec<String> {
        let schema = self.core().schema.current();
        let tables = schema.catalog.tables().iter();
        let is_one = |table: &&catalog::Table| {
            table.sequence.is_none() && !catalog::is_temporary(&table.schema)
        };
        tables.filter(is_one).map(catalog::Table::shown_name).collect()
    }

    /// A table's columns, indexes and constraints.
    ///
    /// # Errors
    ///
    /// 42P01 when there is no such table.
    pub fn describe(&self, table: &str) -> Result<TableDescription, Error> {
        let schema = self.core().schema.current();
        Ok(describe(&schema, table_named(&schema, table)?))
    }

    /// All procedures, in the order of their creation.
    pub fn procedures(&self) -> Vec<ProcedureDescription> {
        let sources = self.core().sources.read();
        let schema = self.core().schema.current();
        let procedures = schema.named_procedures();
        procedures
            .map(|(id, compiled)| describe_procedure(id, &compiled.procedure, sources.text(id)))
            .collect()
    }
}

fn describe(schema: &Schema, table: &catalog::Table) -> TableDescription {
    let names = |table: &catalog::Table, columns: &[ColumnId]| -> Vec<String> {
        columns.iter().map(|column| table.columns[column.index()].name.clone()).collect()
    };
    let column = |column: &catalog::Column| ColumnDescription {
        name: column.name.clone(),
        data_type: column.data_type,
        nullable: column.nullable,
        has_default: column.default.is_some(),
    };
    let index = |id| {
        let index = schema.catalog.index(id);
        IndexDescription {
            name: index.name.clone(),
            columns: names(table, table.key_of(index)),
            primary: table.primary == Some(id),
            unique: index.unique,
            kind: match index.kind {
                IndexKind::Hash => "hash",
                IndexKind::BTree => "btree",
            },
        }
    };
    let foreign_key = |key: &catalog::ForeignKey| {
        let parent = schema.catalog.table(key.parent);
        ForeignKeyDescription {
            name: key.name.clone(),
            columns: names(table, &key.child_columns),
            parent: parent.shown_name(),
            parent_columns: names(parent, &schema.catalog.index(key.parent_index).columns),
        }
    };
    TableDescription {
        name: table.shown_name(),
        columns: table.shown().iter().map(column).collect(),
        indexes: table.declared_indexes().map(index).collect(),
        checks: table.checks.iter().map(|check| check.name.clone()).collect(),
        foreign_keys: table.foreign_keys.iter().map(foreign_key).collect(),
    }
}

fn describe_procedure(
    id: ProcedureId,
    procedure: &program::Procedure,
    source: &str,
) -> ProcedureDescription {
    let parameters = procedure.given().iter();
    let result = procedure.result.iter();
    ProcedureDescription {
        name: procedure.shown_name().to_owned(),
        id,
        parameters: parameters.map(|slot| (slot.name.clone(), slot.sql_type)).collect(),
        result: result.map(|column| (column.name.clone(), column.data_type)).collect(),
        returns_set: procedure.returns_set,
        source: source.to_owned(),
    }
}
