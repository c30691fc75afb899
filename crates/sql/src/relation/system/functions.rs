//! Names, numbers and definitions of what the system catalog lists.

use hotrow_base::quote::identifier as quoted;
use hotrow_base::value::Value;
use hotrow_query::SystemFunction;
use hotrow_transaction::catalog::{
    Catalog, Index, NamedType, ReferentialAction, SearchPath, Table, View, ViewKind, kept_name,
    qualified,
};
use hotrow_transaction::program::Procedure;

use crate::overload::means;
use crate::type_table::{KnownType, TYPES, composite_type, enum_type};
use crate::written::name_in_text;

use super::cells::name_from;
use super::numbers::{
    CHECKS, CONSTRAINTS, FOREIGN_KEYS, INDEXES, PROCEDURES, TABLES, VIEWS, id, number_of, place_of,
};
use super::routines::{arguments_text, definition, result_text, written};
use super::texts::{Brackets, check_text, column_list, format_type, index_definition, key_part};
use super::view_text::definition_of;
use super::{
    KNOWN, SystemContext, descriptions, domain_numbers, domains, partitions, rights, triggers,
};

/// Numbers of types that only functions have: of what gives nothing, and of what gives rows.
pub(super) const VOID: i64 = 2278;
pub(super) const TRIGGER: i64 = 2279;
pub(super) const RECORD: i64 = 2249;
const OF_FUNCTIONS: [(&str, i64); 3] = [("void", VOID), ("trigger", TRIGGER), ("record", RECORD)];

fn view<'c>(context: &SystemContext<'c>, number: i64) -> Option<&'c View> {
    let table = id(number, TABLES).and_then(|at| context.catalog.tables().at(at));
    if let Some(table) = table.filter(|table| table.is_kept) {
        return super::cells::materialized(context.catalog, table).map(|view| &**view);
    }
    let wanted = id(number, VIEWS)?;
    context.catalog.views().find(|view| view.id as usize == wanted).map(|view| &**view)
}

/// The value of a function of catalog or session; NULL for what it does not know.
pub fn system_function(
    context: &SystemContext<'_>,
    function: SystemFunction,
    arguments: &[Value],
) -> Value {
    use SystemFunction as F;
    let number = match arguments.first() {
        Some(Value::BigInt(number)) => *number,
        _ => 0,
    };
    let name = match arguments.first() {
        Some(Value::Text(name)) => name.as_str(),
        _ => "",
    };
    let found = match function {
        F::CurrentUser => Some(context.user.to_owned()),
        F::SessionUser => Some(context.session_user.to_owned()),
        F::UserName => Some(rights::role_name(context, number)),
        F::CurrentDatabase => Some(context.database.to_owned()),
        F::CurrentSetting => (context.setting)(name),
        F::BackendPid => return Value::Int(context.session),
        F::FormatType => {
            let modifier = match arguments.get(1) {
                Some(Value::Int(modifier)) => *modifier,
                _ => -1,
            };
            format_type(context, number, modifier)
        }
        F::IndexDefinition => {
            let column = match arguments.get(1) {
                Some(Value::Int(column)) => usize::try_from(*column).unwrap_or(0),
                _ => 0,
            };
            let brackets = match arguments.get(2) {
                Some(Value::Bool(true)) => Brackets::Inner,
                _ => Brackets::All,
            };
            index_text(context, number, column, brackets)
        }
        F::ViewDefinition => view(context, number).map(|view| definition_of(context, view)),
        F::PartitionKey => partitions::key_text(context, number),
        F::ConstraintDefinition => constraint_text(context, number),
        F::TriggerDefinition => triggers::definition(context, number),
        F::FunctionResult => {
            let found = procedure(context, number);
            let found = found.filter(|(_, source)| written(source).is_function);
            found.map(|(procedure, _)| result_text(context, procedure))
        }
        F::FunctionArguments => {
            procedure(context, number).map(|(procedure, _)| arguments_text(context, procedure))
        }
        F::FunctionParameters => procedure(context, number).map(|(procedure, source)| {
            written(source).parameters.unwrap_or_else(|| arguments_text(context, procedure))
        }),
        F::AclDefault => {
            let owner = match arguments.get(1) {
                Some(Value::BigInt(owner)) => *owner,
                _ => 0,
            };
            Some(rights::default_acl(name, &rights::role_name(context, owner)))
        }
        F::Described(by) => descriptions::described(context, by, arguments),
        F::FunctionDefinition => procedure(context, number)
            .map(|(procedure, source)| definition(context, procedure, source)),
        F::RelationName if arguments.first().is_some_and(Value::is_null) => None,
        F::RelationName => Some(relation_name(context, number)),
        F::TypeName if let Some(Value::Array(numbers)) = arguments.first() => {
            let name = |number: &Value| match number {
                Value::BigInt(number) => format_type(context, *number, -1),
                _ => None,
            };
            let name = |number| name(number).map_or(Value::Null, Value::Text);
            return Value::Array(numbers.iter().map(name).collect());
        }
        F::TypeName => format_type(context, number, -1),
        F::RelationOid => {
            let number = relation_number(context.catalog, context.path, name);
            return number.map_or(Value::Null, Value::BigInt);
        }
        F::TypeOid => {
            let bare = name.strip_prefix("pg_catalog.").unwrap_or(name);
            if let Some((_, number)) = OF_FUNCTIONS.iter().find(|(of, _)| *of == bare) {
                return Value::BigInt(*number);
            }
            let named = |known: &&KnownType| known.name == bare || known.standard == bare;
            let found =
                TYPES.iter().find(named).map(|known| known.oid).or_else(|| {
                    match &**context.catalog.type_seen(context.path, &name_in_text(name)?)? {
                        NamedType::Enum(of) => Some(enum_type(*of).oid),
                        NamedType::Composite(of) => Some(composite_type(*of).oid),
                        NamedType::Domain(of) => Some(domain_numbers::number(of)),
                    }
                });
            return found.map_or(Value::Null, Value::BigInt);
        }
        F::ProcedureOid => {
            let Some(written) = name_in_text(name) else { return Value::Null };
            let named = |(_, of, _): &&(u32, &Procedure, &str)| means(context.path, &written, of);
            let found = context.procedures.iter().find(named);
            return found
                .map_or(Value::Null, |(id, ..)| Value::BigInt(PROCEDURES.0 + i64::from(*id)));
        }
        F::RelationSize => return Value::BigInt(0),
        F::SerialSequence => match arguments {
            [Value::Text(table), Value::Text(column)] => serial_sequence(context, table, column),
            _ => None,
        },
        // Whoever runs the query answers: they are the database's.
        F::NextValue
        | F::CurrentValue
        | F::LastValue
        | F::SetValue
        | F::SetConfig
        | F::OwnPolicies => None,
        F::Random(_) => None,
        F::RelationVisible => {
            let system = place_of(number).and_then(|at| KNOWN.get(at));
            let is_hidden = system.is_some_and(|known| known.schema != "pg_catalog");
            return Value::Bool(!is_hidden && is_found(context, number));
        }
        // Done by whoever runs the query.
        F::Sleep
        | F::CancelBackend
        | F::TerminateBackend
        | F::IsBlocked
        | F::HasRight(_)
        | F::Advisory(_) => {
            return Value::Null;
        }
    };
    found.map_or(Value::Null, Value::Text)
}

/// A table's name, with its schema where its bare name stands for something else.
fn name_of(context: &SystemContext<'_>, table: &Table) -> String {
    let seen = context.catalog.table_seen(context.path, &table.name);
    match seen.is_some_and(|seen| seen.id == table.id) {
        true => quoted(&table.name),
        false => format!("{}.{}", quoted(&table.schema), quoted(&table.name)),
    }
}

/// Whether a relation that somebody made is what its bare name stands for.
fn is_found(context: &SystemContext<'_>, number: i64) -> bool {
    let (catalog, path) = (context.catalog, context.path);
    if let Some(table) = id(number, TABLES).and_then(|at| catalog.tables().at(at)) {
        let seen = catalog.table_seen(path, &table.name).is_some_and(|seen| seen.id == table.id);
        return seen || table.is_kept && catalog.view_seen(path, table.user_name()).is_some();
    }
    if let Some((_, index)) = index(context, number) {
        return catalog.index_seen(path, &index.name).is_some_and(|seen| seen.id == index.id);
    }
    if let Some((routine, _)) = procedure(context, number) {
        return path.schemas().any(|seen| seen == routine.schema());
    }
    if let Some(view) = view(context, number) {
        return catalog.view_seen(path, &view.name).is_some_and(|seen| seen.id == view.id);
    }
    true
}

fn serial_sequence(context: &SystemContext<'_>, table: &str, column: &str) -> Option<String> {
    let table = context.catalog.table_seen(context.path, &name_in_text(table)?)?;
    let column = table.column(column)?;
    let (_, sequence) = context.catalog.owned_by(table).find(|(of, _)| *of == column)?;
    let sequence = context.catalog.table(sequence);
    Some(format!("{}.{}", quoted(&sequence.schema), quoted(&sequence.name)))
}

/// The number of a table in the system catalog.
pub fn table_number(id: hotrow_base::ids::TableId) -> i64 {
    TABLES.of(id.index())
}

/// The sequence that is named, for nextval and its kin.
pub fn sequence_named<'c>(
    catalog: &'c Catalog,
    path: &SearchPath,
    name: &str,
) -> Option<&'c Table> {
    let number = relation_number(catalog, path, name)?;
    let table = catalog.tables().at(id(number, TABLES)?)?;
    table.sequence.is_some().then_some(table)
}

fn index<'c>(context: &SystemContext<'c>, number: i64) -> Option<(&'c Table, &'c Index)> {
    let index = context.catalog.indexes().at(id(number, INDEXES)?)?;
    Some((context.catalog.table(index.table), index))
}

fn index_text(
    context: &SystemContext<'_>,
    number: i64,
    column: usize,
    brackets: Brackets,
) -> Option<String> {
    let (table, index) = index(context, number)?;
    match column.checked_sub(1) {
        None => Some(index_definition(context, (table, index), brackets)),
        Some(at) => {
            let column = table.key_of(index).get(at)?;
            Some(key_part(context, (table, *column), brackets))
        }
    }
}

fn constraint_text(context: &SystemContext<'_>, number: i64) -> Option<String> {
    if number < PROCEDURES.0 {
        let (table, index) =
            index(context, number.checked_sub(CONSTRAINTS.0)?.checked_add(INDEXES.0)?)?;
        let kind = if table.primary == Some(index.id) { "PRIMARY KEY" } else { "UNIQUE" };
        let columns = column_list(table, &index.columns);
        return Some(format!("{kind} ({columns}){}", index.deferral.clause()));
    }
    for table in context.catalog.tables().iter() {
        let at = table.id.index();
        for (part, check) in table.checks.iter().enumerate() {
            if CHECKS.of_part(at, part) == number {
                let not_valid = not_valid(table, &check.name);
                return Some(format!("CHECK ({}){not_valid}", check_text(context, table, check)));
            }
        }
        for (part, key) in table.foreign_keys.iter().enumerate() {
            if FOREIGN_KEYS.of_part(at, part) == number {
                let parent = context.catalog.table(key.parent);
                let columns = &context.catalog.index(key.parent_index).columns;
                let actions = [("UPDATE", key.on_update), ("DELETE", key.on_delete)];
                let mut text = format!(
                    "FOREIGN KEY ({}) REFERENCES {}({})",
                    column_list(table, &key.child_columns),
                    name_of(context, parent),
                    column_list(parent, columns)
                );
                for (event, action) in actions {
                    if action != ReferentialAction::NoAction {
                        text.push_str(&format!(" ON {event} {}", action.name()));
                    }
                }
                text.push_str(key.deferral.clause());
                return Some(text + not_valid(table, &key.name));
            }
        }
    }
    domains::constraint_text(context, number)
}

fn not_valid(table: &Table, constraint: &str) -> &'static str {
    if table.not_valid.iter().any(|known| known == constraint) { " NOT VALID" } else { "" }
}

fn procedure<'c>(context: &SystemContext<'c>, number: i64) -> Option<(&'c Procedure, &'c str)> {
    let wanted = u32::try_from(number.checked_sub(PROCEDURES.0)?).ok()?;
    let mut all = context.procedures.iter();
    all.find(|(id, ..)| *id == wanted).map(|&(_, procedure, source)| (procedure, source))
}

fn relation_name(context: &SystemContext<'_>, number: i64) -> String {
    let table = id(number, TABLES).and_then(|at| context.catalog.tables().at(at));
    if let Some(table) = table {
        if table.is_kept {
            return name_from(context.path, &table.schema, table.user_name());
        }
        return name_of(context, table);
    }
    if let Some((table, index)) = index(context, number) {
        return name_from(context.path, &table.schema, &index.name);
    }
    if let Some(view) = view(context, number) {
        return name_from(context.path, &view.schema, &view.name);
    }
    let system = place_of(number).and_then(|at| KNOWN.get(at));
    match system {
        Some(known) if known.schema == "pg_catalog" => known.name.to_owned(),
        Some(known) => known.full_name.to_owned(),
        None => number.to_string(),
    }
}

/// The number of a table, an index or a relation of the system catalog.
pub(in crate::relation) fn relation_number(
    catalog: &Catalog,
    path: &SearchPath,
    name: &str,
) -> Option<i64> {
    if let Ok(number) = name.parse() {
        return Some(number);
    }
    let named = name_in_text(name)?;
    if let Some(table) = catalog.table_seen(path, &named) {
        return Some(TABLES.of(table.id.index()));
    }
    if let Some(index) = catalog.index_seen(path, &named) {
        return Some(INDEXES.of(index.id.index()));
    }
    if let Some(view) = catalog.view_seen(path, &named) {
        if let ViewKind::Kept { .. } = view.kind {
            let table = catalog.table_named(&qualified(&view.schema, &kept_name(&view.name)))?;
            return Some(TABLES.of(table.id.index()));
        }
        return Some(VIEWS.of(view.id as usize));
    }
    let is_it = |known: &super::SystemRelation| {
        known.full_name == name || known.schema == "pg_catalog" && known.name == name
    };
    KNOWN.iter().position(is_it).map(number_of)
}
