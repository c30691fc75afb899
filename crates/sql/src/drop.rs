//! DROP of tables, indexes, sequences and views, and what they are needed by.

use std::collections::BTreeSet;

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_transaction::catalog::{Catalog, ForeignKey, Index, Table};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::changes::{CatalogChange, left_out};
use crate::compiled::Compiled;
use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::hidden::without_unused;
use crate::scope::Compiler;
use crate::sequence::{owned_by, refuse_drawn_from};
use crate::written::object_name;

/// DROP of relations, in order; what is not there is told where IF EXISTS is said.
pub(crate) fn drop_relations(
    compiler: &Compiler<'_>,
    object_type: ast::ObjectType,
    (if_exists, cascades): (bool, bool),
    names: &[ast::ObjectName],
) -> Result<Compiled> {
    let catalog = compiler.catalog;
    let (mut changes, mut dropped) = (Vec::new(), Vec::new());
    for written in names {
        let place = place_in(written, compiler.place);
        let name = object_name(written, place)?;
        compiler.refuse_hidden(&name, place)?;
        match object_type {
            ast::ObjectType::Table => match compiler.table_named(&name) {
                Some(table) if table.sequence.is_some() => {
                    return Err(error(b"42809", place, format!("\"{name}\" is not a table"))
                        .hint("Use DROP SEQUENCE to remove a sequence."));
                }
                Some(table) => {
                    let left = left_references(compiler, table.id, names, place);
                    if let Some(key) = left.first().filter(|_| !cascades) {
                        return Err(referenced(catalog, key, &name, place));
                    }
                    changes.extend(left.into_iter().flat_map(|key| cut_reference(catalog, key)));
                    let stays = |other: &Table| !is_among(compiler, other.id, names, place);
                    compiler.refuse_needed_rows(table, stays, place)?;
                    for sequence in owned_by(catalog, table) {
                        let drawing = left_draws(compiler, sequence, names, place);
                        if let Some(detail) = drawing.first().filter(|_| !cascades) {
                            return Err(depended_on("table", &name, &detail.0, place));
                        }
                        changes.extend(drawing.into_iter().flat_map(cut_draws));
                    }
                    changes.push(CatalogChange::DropTable(table.id));
                    changes.extend(owned_by(catalog, table).map(CatalogChange::DropTable));
                }
                None if let Some((view, partition)) = compiler.partition_named(&name) => {
                    changes.extend(compiler.partition_dropped((view, partition))?);
                }
                None if compiler.materialized_named(&name).is_some() => {
                    return Err(error(b"42809", place, format!("\"{name}\" is not a table"))
                        .hint("Use DROP MATERIALIZED VIEW to remove a materialized view."));
                }
                None if compiler.view_named(&name).is_some() => {
                    return Err(error(b"42809", place, format!("\"{name}\" is not a table"))
                        .hint("Use DROP VIEW to remove a view."));
                }
                None if if_exists => changes.push(skipped("table", &name)),
                None => {
                    compiler.check_schema(&name, place)?;
                    return Err(error(b"42P01", place, format!("table \"{name}\" does not exist")));
                }
            },
            ast::ObjectType::Sequence if if_exists && compiler.table_named(&name).is_none() => {
                changes.push(skipped("sequence", &name));
            }
            ast::ObjectType::Sequence => {
                let sequence = compiler.sequence_named(&name, place)?.id;
                match cascades && !catalog.is_of_identity(sequence) {
                    true => {
                        let drawing = left_draws(compiler, sequence, &[], place);
                        changes.extend(drawing.into_iter().flat_map(cut_draws));
                    }
                    false => refuse_drawn_from(catalog, sequence, place)?,
                }
                changes.push(CatalogChange::DropTable(sequence));
            }
            ast::ObjectType::Index => match compiler.index_named(&name) {
                Some(index) if catalog.table(index.table).sequence.is_some() => {
                    return Err(error(b"42809", place, format!("\"{name}\" is not an index")));
                }
                Some(index) if catalog.table(index.table).primary == Some(index.id) => {
                    return Err(error(
                        b"2BP01",
                        place,
                        format!("index \"{name}\" is a primary key and cannot be dropped"),
                    ));
                }
                Some(index) => {
                    refuse_needed(catalog, index, place)?;
                    changes.push(CatalogChange::DropIndex(index.id));
                    dropped.push(index.id);
                }
                None if if_exists => changes.push(skipped("index", &name)),
                None => {
                    return Err(error(b"42704", place, format!("index \"{name}\" does not exist")));
                }
            },
            ast::ObjectType::View => changes.push(compiler.drop_view((&name, place), if_exists)?),
            ast::ObjectType::Type => {
                let how = (if_exists, cascades);
                changes.extend(compiler.drop_type("type", (&name, place), how)?);
            }
            ast::ObjectType::Schema => {
                changes.extend(compiler.drop_schema(written, (if_exists, cascades))?);
            }
            ast::ObjectType::MaterializedView => {
                changes.extend(compiler.drop_materialized((&name, place), if_exists)?);
            }
            other => {
                return Err(unsupported(
                    place,
                    format!("DROP {other}"),
                    "tables, views, indexes, sequences, functions and procedures can be dropped",
                ));
            }
        }
    }
    let tables: BTreeSet<TableId> = dropped.iter().map(|id| catalog.index(*id).table).collect();
    let tables = tables.into_iter().map(|id| catalog.table(id));
    changes.extend(tables.filter_map(|table| without_unused(catalog, table, &dropped)));
    changes.extend(compiler.policies_gone(&changes, cascades)?);
    if cascades {
        changes.extend(compiler.gone_by_cascade(&changes)?);
    }
    Ok(Compiled::Catalog(changes))
}

fn skipped(kind: &str, name: &str) -> CatalogChange {
    CatalogChange::Nothing(left_out(format!("{kind} \"{name}\" does not exist, skipping")))
}

/// Fails where a foreign key refers to what an index has.
pub(crate) fn refuse_needed(catalog: &Catalog, index: &Index, place: Place) -> Result<()> {
    let mut keys = catalog.tables().iter().flat_map(|t| &t.foreign_keys);
    match keys.find(|key| key.parent_index == index.id) {
        None => Ok(()),
        Some(key) => Err(error(
            b"2BP01",
            place,
            format!("foreign key \"{}\" needs index \"{}\"", key.name, index.name),
        )),
    }
}

/// Foreign keys of tables that stay, which refer to one that goes.
fn left_references<'a>(
    compiler: &Compiler<'a>,
    id: TableId,
    dropped: &[ast::ObjectName],
    place: Place,
) -> Vec<&'a ForeignKey> {
    let stays = |key: &&ForeignKey| !is_among(compiler, key.child, dropped, place);
    let keys = compiler.catalog.tables().iter().flat_map(|t| &t.foreign_keys);
    keys.filter(|key| key.parent == id && key.child != id).filter(stays).collect()
}

/// Whether a table is one of those with these names.
fn is_among(compiler: &Compiler<'_>, id: TableId, names: &[ast::ObjectName], place: Place) -> bool {
    let named = |name| compiler.table_named(&object_name(name, place).ok()?);
    names.iter().filter_map(named).any(|table| table.id == id)
}

/// Columns of tables that stay, which draw from a sequence that goes: what depends on it, and where
/// that is.
fn left_draws(
    compiler: &Compiler<'_>,
    sequence: TableId,
    dropped: &[ast::ObjectName],
    place: Place,
) -> Vec<(String, (TableId, ColumnId))> {
    let named = |name| Some(compiler.table_named(&object_name(name, place).ok()?)?.id);
    let goes_too: Vec<TableId> = dropped.iter().filter_map(named).collect();
    let drawing = compiler.catalog.drawing_from(sequence);
    let drawing = drawing.filter(|(table, _)| !goes_too.contains(&table.id));
    let described = drawing.filter_map(|(table, column)| {
        let text = format!("default value for column {} of table {}", column.name, table.name);
        Some((text, (table.id, table.column(&column.name)?)))
    });
    described.collect()
}

/// CASCADE: a default goes with the sequence that it draws from.
fn cut_draws((what, (table, column)): (String, (TableId, ColumnId))) -> [CatalogChange; 2] {
    let cut = CatalogChange::SetDraws { table, column, sequence: None };
    [cut, CatalogChange::Nothing(left_out(format!("drop cascades to {what}")))]
}

/// 2BP01
fn depended_on(kind: &str, name: &str, what: &str, place: Place) -> SqlError {
    let message = format!("cannot drop {kind} {name} because other objects depend on it");
    error(b"2BP01", place, message)
        .detail(format!("{what} depends on its sequence"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too.")
}

/// Foreign keys of tables outside a schema that refer to a table in it.
pub(crate) fn references_from_outside<'a>(
    catalog: &'a Catalog,
    table: &Table,
    schema: &str,
) -> impl Iterator<Item = &'a ForeignKey> {
    let outside = catalog.tables().iter().filter(move |other| *other.schema != *schema);
    outside.flat_map(|other| &other.foreign_keys).filter(move |key| key.parent == table.id)
}

/// CASCADE: a foreign key goes with the table that it refers to.
pub(crate) fn cut_reference(catalog: &Catalog, key: &ForeignKey) -> [CatalogChange; 2] {
    let child = &catalog.table(key.child).name;
    let text = format!("drop cascades to constraint {} on table {child}", key.name);
    let cut = CatalogChange::DropConstraint { table: key.child, name: key.name.clone() };
    [cut, CatalogChange::Nothing(left_out(text))]
}

/// The error of a table that a foreign key refers to.
fn referenced(catalog: &Catalog, key: &ForeignKey, name: &str, place: Place) -> SqlError {
    error(b"2BP01", place, format!("cannot drop table {name} because other objects depend on it"))
        .detail(format!(
            "constraint {} on table {} depends on table {name}",
            key.name,
            catalog.table(key.child).name
        ))
        .hint("drop the other table first")
}
