//! Catalog changes: what CREATE, ALTER and DROP mean, and their application.

use std::sync::Arc;

use hotrow_base::composite::CompositeType;
use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::DataType;
use hotrow_transaction::catalog::{
    Catalog, Column, DeclaredRouting, ForeignKey, IndexDefinition, IndexKind, NamedType, Object,
    PartitionKey, Partitioning, SearchPath, Table, View, local, qualified, schema_of,
};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;

use crate::changes::{
    CatalogChange, Columns, Filled, ForeignKeyDefinition, Made, MadeName, SequenceDefinition,
    TableDefinition,
};
use crate::columns_of_domain::{columns_of_domain, rename_domain};
use crate::error::{Advice, Result, error};
use crate::named_type::column_of_type;
use crate::relation::key_name;
use crate::renamed_schema::apply_renamed;

/// Applies a change that was compiled against this catalog.
///
/// Errors: 42P07 when a name has been taken since, 42P01 when a table is gone, 54011 for more than
/// 65,000 tables or indexes.
pub fn apply(catalog: &mut Catalog, change: &CatalogChange) -> Result<()> {
    match change {
        CatalogChange::CreateSchema(name) => {
            catalog.add_schema(name);
            Ok(())
        }
        CatalogChange::DropSchema(name) => {
            catalog.drop_schema(name);
            Ok(())
        }
        CatalogChange::RenameSchema { name, to } => {
            apply_renamed(catalog, name, to);
            Ok(())
        }
        CatalogChange::MoveTable { table, schema } => {
            catalog.move_table(*table, schema);
            Ok(())
        }
        CatalogChange::CreateTable(definition) => create_table(catalog, definition),
        CatalogChange::CreateSequence(definition) => {
            free_name(catalog, &definition.name)?;
            room(catalog, 1)?;
            add_sequence(catalog, definition)
        }
        CatalogChange::CreateIndex { table, definition } => {
            let Some(table) = catalog.table_named(table) else {
                return Err(failure(b"42P01", format!("relation \"{table}\" does not exist")));
            };
            free_name(catalog, &qualified(&table.schema, &definition.name))?;
            room(catalog, 1)?;
            catalog.add_index(table.id, definition.clone()).map(|_| ())
        }
        CatalogChange::DropTable(table) => {
            catalog.drop_table(*table);
            Ok(())
        }
        CatalogChange::DropIndex(index) => {
            catalog.drop_index(*index);
            Ok(())
        }
        CatalogChange::Columns(columns) => change_columns(catalog, columns),
        CatalogChange::RenameTable { table, name } => {
            free_name(catalog, &qualified(&catalog.table(*table).schema, name))?;
            let before = catalog.table(*table).row_type();
            catalog.rename_table(*table, name.clone());
            rename_rows(catalog, *table, before);
            Ok(())
        }
        CatalogChange::RenameIndex { index, name } => {
            let table = catalog.index(*index).table;
            free_name(catalog, &qualified(&catalog.table(table).schema, name))?;
            catalog.rename_index(*index, name);
            Ok(())
        }
        CatalogChange::RenameConstraint { table, name, to } => {
            let table = catalog.table_mut(*table);
            let checks = table.checks.iter_mut().map(|check| &mut check.name);
            let keys = table.foreign_keys.iter_mut().map(|key| &mut key.name);
            let named = checks.chain(keys).chain(&mut table.not_valid);
            named.filter(|known| *known == name).for_each(|known| known.clone_from(to));
            Ok(())
        }
        CatalogChange::RenameView { name, to } => {
            if let Some(view) = catalog.view(name) {
                free_name(catalog, &qualified(&view.schema, to))?;
            }
            catalog.rename_view(name, to);
            Ok(())
        }
        CatalogChange::SetFilled { name, is_filled } => {
            catalog.set_filled(name, *is_filled);
            Ok(())
        }
        CatalogChange::RenameType { name, to } => {
            rename_type(catalog, name, to);
            Ok(())
        }
        CatalogChange::SetSequence { sequence, to, .. } => {
            catalog.table_mut(*sequence).sequence = Some(*to);
            Ok(())
        }
        CatalogChange::OwnSequence { sequence, by } => {
            catalog.own_sequence(*sequence, *by);
            Ok(())
        }
        CatalogChange::SetDraws { table, column, sequence } => {
            catalog.set_draws((*table, *column), *sequence);
            Ok(())
        }
        CatalogChange::SetIdentity { table, column, numbering } => {
            let draws = &mut catalog.table_mut(*table).columns[column.index()].draws;
            draws.iter_mut().for_each(|draws| draws.as_written = *numbering);
            Ok(())
        }
        CatalogChange::RenameColumn { table, column, name } => {
            let before = catalog.table(*table).row_type();
            let changed = catalog.table_mut(*table);
            changed.columns[column.index()].name.clone_from(name);
            name_hidden(changed);
            rename_rows(catalog, *table, before);
            Ok(())
        }
        CatalogChange::SetDefault { table, column, default } => {
            catalog.table_mut(*table).columns[column.index()].default.clone_from(default);
            Ok(())
        }
        CatalogChange::SetColumnDomain { table, column, domain } => {
            catalog.table_mut(*table).columns[column.index()].domain.clone_from(domain);
            Ok(())
        }
        CatalogChange::AddCheck { table, check, is_valid } => {
            let table = catalog.table_mut(*table);
            table.checks.push(check.clone());
            table.not_valid.extend((!is_valid).then(|| check.name.clone()));
            Ok(())
        }
        CatalogChange::AddForeignKey { table, key, is_valid } => {
            let key = foreign_key(catalog, *table, key)?;
            let table = catalog.table_mut(*table);
            table.not_valid.extend((!is_valid).then(|| key.name.clone()));
            table.foreign_keys.push(key);
            Ok(())
        }
        CatalogChange::Validate { table, name } => {
            catalog.table_mut(*table).not_valid.retain(|known| known != name);
            Ok(())
        }
        CatalogChange::DropConstraint { table, name } => {
            let table = catalog.table_mut(*table);
            table.not_valid.retain(|known| known != name);
            table.checks.retain(|check| check.name != *name);
            table.foreign_keys.retain(|key| key.name != *name);
            Ok(())
        }
        CatalogChange::SetDeferral { table, name, deferral } => {
            let keys = &mut catalog.table_mut(*table).foreign_keys;
            let of = keys.iter_mut().filter(|key| key.name == *name);
            of.for_each(|key| key.deferral = *deferral);
            Ok(())
        }
        CatalogChange::SetTrigger { table, trigger } => {
            let triggers = &mut catalog.table_mut(*table).triggers;
            triggers.retain(|other| other.name != trigger.name);
            let at = triggers.partition_point(|other| other.name < trigger.name);
            triggers.insert(at, trigger.clone());
            Ok(())
        }
        CatalogChange::DropTrigger { table, name } => {
            catalog.table_mut(*table).triggers.retain(|trigger| trigger.name != *name);
            Ok(())
        }
        CatalogChange::SetSecurity { table, security } => {
            catalog.table_mut(*table).security.clone_from(security);
            Ok(())
        }
        CatalogChange::SetPartitioning { table, partitioning } => {
            catalog.table_mut(*table).partitioning = Some(Arc::new(partitioning.clone()));
            Ok(())
        }
        CatalogChange::SetTriggerFunction(function) => {
            for table in tables_with(catalog, &function.name) {
                let triggers = catalog.table_mut(table).triggers.iter_mut();
                let used = triggers.filter(|trigger| trigger.function.name == function.name);
                used.for_each(|trigger| trigger.function = Arc::clone(function));
            }
            Ok(())
        }
        CatalogChange::SetView(view) => {
            let name = view.qualified_name();
            if catalog.view(&name).is_none() {
                free_name(catalog, &name)?;
            }
            catalog.set_view(view.clone());
            Ok(())
        }
        CatalogChange::DropView(name) => {
            catalog.drop_view(name);
            Ok(())
        }
        CatalogChange::SetType { name, named } => {
            let before = catalog.type_seen(&SearchPath::default(), name);
            match (before.map(|known| &**known), named) {
                (Some(&NamedType::Enum(before)), &NamedType::Enum(next)) => {
                    replace_type(catalog, DataType::Enum(before), DataType::Enum(next));
                }
                (Some(&NamedType::Composite(before)), &NamedType::Composite(next)) => {
                    let (before, next) = (DataType::Composite(before), DataType::Composite(next));
                    replace_type(catalog, before, next);
                }
                _ => {}
            }
            catalog.set_type(name, named.clone());
            Ok(())
        }
        CatalogChange::DropType(name) => {
            // Of a schema that goes: what they have of it is theirs.
            let columns = columns_of_domain(catalog, name).map(|of| (of.table.id, of.id));
            for (table, column) in columns.collect::<Vec<_>>() {
                catalog.table_mut(table).columns[column.index()].domain = None;
            }
            catalog.drop_type(name);
            Ok(())
        }
        CatalogChange::SetRole { name, role } => {
            catalog.set_role(name, role.clone());
            Ok(())
        }
        CatalogChange::DropRole(name) => {
            catalog.drop_role(name);
            Ok(())
        }
        CatalogChange::SetMembership { role, member, how } => {
            catalog.rights_mut().set_membership(role, member, how.clone());
            Ok(())
        }
        CatalogChange::SetSessionSetting { scope, name, value } => {
            let (name, value) = (name.as_deref(), value.as_deref());
            catalog.rights_mut().set_session_setting(scope, name, value);
            Ok(())
        }
        CatalogChange::SetOwner { object, owner } => {
            let kind = catalog.kind_of(object);
            catalog.rights_mut().set_owner(object, kind, owner.as_deref());
            Ok(())
        }
        CatalogChange::Made(made) => {
            set_maker(catalog, made);
            Ok(())
        }
        CatalogChange::SetComment { about, text } => {
            catalog.set_comment(about.clone(), text.as_deref());
            Ok(())
        }
        CatalogChange::SetGrants { object, column, grants } => {
            catalog.rights_mut().set_grants(object, *column, grants.clone());
            Ok(())
        }
        CatalogChange::SetDefaults { of, schema, kind, grants } => {
            let maker = (of.as_deref(), schema.as_deref());
            catalog.rights_mut().set_defaults(maker, *kind, grants.clone());
            Ok(())
        }
        CatalogChange::DropDependents
        | CatalogChange::MoveRows(_)
        | CatalogChange::RequireRows { .. }
        | CatalogChange::Nothing(_) => Ok(()),
    }
}

/// Has columns that hold rows of a table hold them under the names that it has now.
fn rename_rows(catalog: &mut Catalog, table: TableId, before: CompositeType) {
    let next = catalog.table(table).row_type();
    replace_type(catalog, DataType::Composite(before), DataType::Composite(next));
}

/// Fails where a column holds rows of a table as it was before its columns changed.
fn refuse_held_rows(catalog: &Catalog, table: TableId, before: CompositeType) -> Result<()> {
    let table = catalog.table(table);
    if table.row_type() == before {
        return Ok(());
    }
    match column_of_type(catalog, DataType::Composite(before), |_| true) {
        None => Ok(()),
        Some((of, column)) => {
            let (name, of) = (&table.name, of.name());
            let message = format!(
                "cannot alter table \"{name}\" because column \"{of}.{column}\" uses its row type"
            );
            Err(failure(b"0A000", message))
        }
    }
}

/// Has what is of one type be of another one, whose values are kept in the same way: columns, and
/// composite types that have such fields.
fn replace_type(catalog: &mut Catalog, before: DataType, next: DataType) {
    catalog.replace_type(before, next);
    let (arrays, next_arrays) = (before.array(), next.array());
    let with_it = |of: DataType| match of {
        of if of == before => next,
        of if of == arrays => next_arrays,
        other => other,
    };
    let rows = catalog.types().filter_map(|(schema, name, named)| match **named {
        NamedType::Composite(row) => Some((qualified(schema, name), row)),
        NamedType::Enum(_) | NamedType::Domain(_) => None,
    });
    let rows: Vec<_> = rows.collect();
    for (name, row) in rows {
        let fields = row.fields().iter().map(|(name, of)| (name.clone(), with_it(*of)));
        let next = CompositeType::of(row.name(), &fields.collect::<Vec<_>>());
        if next != row {
            catalog.set_type(&name, NamedType::Composite(next));
            replace_type(catalog, DataType::Composite(row), DataType::Composite(next));
        }
    }
}

/// Gives a type another name, in the schema where it is.
fn rename_type(catalog: &mut Catalog, name: &str, to: &str) {
    let path = SearchPath::default();
    let Some(named) = catalog.type_seen(&path, name).map(|known| NamedType::clone(known)) else {
        return;
    };
    let object = |name: &str| Object::type_in(schema_of(name), local(name));
    let owner = catalog.rights().owner(&object(name)).cloned();
    let next = match &named {
        NamedType::Enum(before) => {
            let next = before.renamed(local(to));
            replace_type(catalog, DataType::Enum(*before), DataType::Enum(next));
            NamedType::Enum(next)
        }
        NamedType::Composite(before) => {
            let next = CompositeType::of(local(to), before.fields());
            replace_type(catalog, DataType::Composite(*before), DataType::Composite(next));
            NamedType::Composite(next)
        }
        other => other.clone(),
    };
    let before = object(name);
    let object = object(to);
    catalog.move_comments(&before, &object);
    rename_domain(catalog, name, to);
    catalog.drop_type(name);
    catalog.set_type(to, next);
    let kind = catalog.kind_of(&object);
    catalog.rights_mut().set_owner(&object, kind, owner.as_deref());
}

/// Gives what has been made its owner, and the rights that it begins with.
fn set_maker(catalog: &mut Catalog, Made { name, owner }: &Made) {
    let (object, schema) = match name {
        MadeName::Table(name) => match catalog.table_named(name) {
            Some(table) => (Object::Table(table.id), Some(table.schema.to_string())),
            None => return,
        },
        MadeName::View(name) => match catalog.view(name) {
            Some(view) => (Object::View(view.id), Some(view.schema.clone())),
            None => return,
        },
        MadeName::Schema(name) => (Object::Schema(name.as_str().into()), None),
        MadeName::Type(name) => {
            let schema = schema_of(name);
            (Object::type_in(schema, local(name)), Some(schema.to_owned()))
        }
    };
    let kind = catalog.kind_of(&object);
    catalog.rights_mut().set_maker(&object, kind, (owner.as_deref(), schema.as_deref()));
}

/// The tables with triggers that use a function.
pub fn tables_with(catalog: &Catalog, function: &str) -> Vec<TableId> {
    let uses = |table: &&Table| table.triggers.iter().any(|t| t.function.name == function);
    catalog.tables().iter().filter(uses).map(|table| table.id).collect()
}

/// The views with a trigger that uses a function.
pub fn views_with<'c>(catalog: &'c Catalog, function: &'c str) -> impl Iterator<Item = &'c View> {
    let views = catalog.views().map(|view| &**view);
    views.filter(move |view| view.triggers.iter().any(|of| of.function.name == function))
}

fn change_columns(catalog: &mut Catalog, change: &Columns) -> Result<()> {
    let before = catalog.table(change.table).columns.len();
    let now_at: Vec<Option<ColumnId>> = (0..before)
        .map(|at| {
            let comes_from = |filled: &Filled| match filled {
                Filled::Old(column) => column.index() == at,
                Filled::Converted(of) => of.column.index() == at,
                Filled::By(_) | Filled::Computed(_) | Filled::Numbered(_) | Filled::Identity => {
                    false
                }
            };
            change.filled.iter().position(comes_from).map(|at| ColumnId(at as u16))
        })
        .collect();
    if change.primary.is_some() {
        catalog.forget_primary(change.table);
    }
    let rows = catalog.table(change.table).row_type();
    let columns = (change.columns.clone(), change.hidden.clone());
    catalog.replace_columns(change.table, columns, &now_at)?;
    refuse_held_rows(catalog, change.table, rows)?;
    catalog.table_mut(change.table).generated.clone_from(&change.generated);
    if let Some(primary) = &change.primary {
        free_name(catalog, &qualified(&catalog.table(change.table).schema, &primary.name))?;
        room(catalog, 1)?;
        catalog.add_primary(change.table, primary.clone())?;
        let table = catalog.table_mut(change.table);
        if table.identity().is_some() && matches!(table.routing, Some(DeclaredRouting::Fields(_))) {
            table.routing = None; // it says columns of the key that has gone
        }
    }
    Ok(())
}

/// Has columns that users do not see be called by what they are computed from.
fn name_hidden(table: &mut Table) {
    for at in table.shown().len()..table.columns.len() {
        if let Some(of) = table.generated(ColumnId(at as u16)) {
            table.columns[at].name = key_name(table, of);
        }
    }
}

/// A foreign key of a table that has an id.
fn foreign_key(
    catalog: &Catalog,
    child: TableId,
    key: &ForeignKeyDefinition,
) -> Result<ForeignKey> {
    let parent = key.parent.unwrap_or(child);
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
    let (name, child_columns) = (key.name.clone(), in_order.collect());
    let [on_delete, on_update] = key.actions;
    Ok(ForeignKey {
        name,
        child,
        child_columns,
        parent,
        parent_index,
        on_delete,
        on_update,
        deferral: key.deferral,
    })
}

fn failure(code: &[u8; 5], message: String) -> SqlError {
    error(code, Place::default(), message)
}

fn free_name(catalog: &Catalog, name: &str) -> Result<()> {
    let is_view = catalog.view(name).is_some();
    if is_view || catalog.table_named(name).is_some() || catalog.index_named(name).is_some() {
        let message = format!("relation \"{}\" already exists", local(name));
        return Err(failure(b"42P07", message));
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
    let name = qualified(&definition.schema, &definition.name);
    free_name(catalog, &name)?;
    room(catalog, definition.unique.len() + 1)?;
    for index in definition.primary.iter().chain(&definition.unique) {
        free_name(catalog, &qualified(&definition.schema, &index.name))?;
    }
    let columns: Vec<Column> = definition.columns.clone();
    let id = catalog.add_table(&name, columns, definition.primary.clone())?;
    for index in &definition.unique {
        if let Err(refused) = catalog.add_index(id, index.clone()) {
            catalog.drop_table(id);
            return Err(refused);
        }
    }
    let keys = definition.foreign_keys.iter();
    let foreign_keys = keys.map(|key| foreign_key(catalog, id, key)).collect::<Result<_>>()?;
    let table = catalog.table_mut(id);
    table.checks = definition.checks.clone();
    table.generated = definition.generated.clone();
    table.hidden = definition.hidden.clone();
    table.foreign_keys = foreign_keys;
    table.routing = definition.routing;
    table.is_kept = definition.is_kept;
    let partitioning = |key: &PartitionKey| Partitioning { key: key.clone(), checks: Vec::new() };
    table.partitioning = definition.partition_key.as_ref().map(|key| Arc::new(partitioning(key)));
    Ok(())
}

/// Adds the table of a sequence.
pub(crate) fn add_sequence(catalog: &mut Catalog, definition: &SequenceDefinition) -> Result<()> {
    let column = |name: &str, data_type| Column { nullable: false, ..Column::new(name, data_type) };
    let columns = vec![
        column("only", DataType::Boolean),
        column("last_value", DataType::BigInt),
        column("is_called", DataType::Boolean),
    ];
    let columns_of_key = vec![hotrow_base::ids::ColumnId(0)];
    let primary =
        IndexDefinition::of_constraint(definition.name.clone(), columns_of_key, IndexKind::Hash);
    let id = catalog.add_table(&definition.name, columns, Some(primary))?;
    catalog.table_mut(id).sequence = Some(definition.sequence);
    Ok(())
}
