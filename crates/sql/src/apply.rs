//! Catalog changes: what CREATE and DROP mean, and their application.

use hotrow_base::ids::{IndexId, TableId};
use hotrow_transaction::catalog::{Catalog, Column, ForeignKey, IndexDefinition};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;

use crate::definition::TableDefinition;
use crate::error::{Advice, Result, error};

/// One change of the catalog.
#[derive(Clone, Debug)]
pub enum CatalogChange {
    /// CREATE TABLE
    CreateTable(TableDefinition),
    /// CREATE INDEX
    CreateIndex {
        /// name of the table, looked up when the change is applied
        table: String,
        /// what the index is
        definition: IndexDefinition,
    },
    /// DROP TABLE
    DropTable(TableId),
    /// DROP INDEX
    DropIndex(IndexId),
    /// IF NOT EXISTS or IF EXISTS, and nothing to do
    Nothing,
}

/// Applies a change that was compiled against this catalog.
///
/// Errors: 42P07 when a name has been taken since, 42P01 when a table is gone, 54011 for more than
/// 65,000 tables or indexes.
pub fn apply(catalog: &mut Catalog, change: &CatalogChange) -> Result<()> {
    match change {
        CatalogChange::CreateTable(definition) => create_table(catalog, definition),
        CatalogChange::CreateIndex { table, definition } => {
            let Some(table) = catalog.table_named(table).map(|t| t.id) else {
                return Err(failure(b"42P01", format!("relation \"{table}\" does not exist")));
            };
            free_name(catalog, &definition.name)?;
            room(catalog, 1)?;
            catalog.add_index(table, definition.clone()).map(|_| ())
        }
        CatalogChange::DropTable(table) => {
            catalog.drop_table(*table);
            Ok(())
        }
        CatalogChange::DropIndex(index) => {
            catalog.drop_index(*index);
            Ok(())
        }
        CatalogChange::Nothing => Ok(()),
    }
}

fn failure(code: &[u8; 5], message: String) -> SqlError {
    error(code, Place::default(), message)
}

fn free_name(catalog: &Catalog, name: &str) -> Result<()> {
    if catalog.table_named(name).is_some() || catalog.index_named(name).is_some() {
        return Err(failure(b"42P07", format!("relation \"{name}\" already exists")));
    }
    Ok(())
}

fn room(catalog: &Catalog, indexes: usize) -> Result<()> {
    const IDS_MAX: usize = 65_000;
    if catalog.tables().len() >= IDS_MAX || catalog.indexes().len() + indexes > IDS_MAX {
        return Err(failure(b"54011", "too many tables or indexes".to_owned())
            .hint("ids are 16 bits wide and are not used again"));
    }
    Ok(())
}

fn create_table(catalog: &mut Catalog, definition: &TableDefinition) -> Result<()> {
    free_name(catalog, &definition.name)?;
    room(catalog, definition.unique.len() + 1)?;
    for index in definition.primary.iter().chain(&definition.unique) {
        free_name(catalog, &index.name)?;
    }
    let columns: Vec<Column> = definition.columns.clone();
    let id = catalog.add_table(&definition.name, columns, definition.primary.clone())?;
    for index in &definition.unique {
        if let Err(refused) = catalog.add_index(id, index.clone()) {
            catalog.drop_table(id);
            return Err(refused);
        }
    }
    let mut foreign_keys = Vec::new();
    for key in &definition.foreign_keys {
        let parent = key.parent.unwrap_or(id);
        let found = catalog.table(parent).indexes().find(|index| {
            let index = catalog.index(*index);
            index.unique
                && index.columns.len() == key.parent_columns.len()
                && index.columns.iter().all(|c| key.parent_columns.contains(c))
        });
        let Some(parent_index) = found else {
            return Err(failure(
                b"42830",
                format!("foreign key \"{}\" has no unique index to refer to", key.name),
            ));
        };
        let in_order = catalog.index(parent_index).columns.iter().map(|column| {
            let at = key.parent_columns.iter().position(|c| c == column).unwrap_or(0);
            key.child_columns[at]
        });
        let child_columns = in_order.collect();
        let name = key.name.clone();
        foreign_keys.push(ForeignKey { name, child: id, child_columns, parent, parent_index });
    }
    let table = catalog.table_mut(id);
    table.checks = definition.checks.clone();
    table.foreign_keys = foreign_keys;
    table.routing = definition.routing;
    Ok(())
}
