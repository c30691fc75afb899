//! Names, numbers and definitions of what the system catalog lists.

use hotrow_base::enumeration::EnumType;
use hotrow_base::ids::ColumnId;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_query::SystemFunction;
use hotrow_transaction::catalog::{
    Catalog, Check, Generated, Index, IndexKind, NamedType, ReferentialAction, SearchPath, Table,
    View, ViewKind, kept_name, qualified,
};
use hotrow_transaction::program::{Expr, ExprKind, Procedure};

use crate::path::parts_of_condition;
use crate::type_table::{KnownType, TYPES, enum_type, enum_with_oid, known_type};
use crate::typing::joined;
use crate::written::name_in_text;

use super::cells::name_from;
use super::numbers::{number_of, place_of};
use super::routines::written;
use super::{KNOWN, SystemContext, deparse, partitions, rights, triggers};

/// Where the numbers of a kind of objects begin. They never meet: there are at most 65,536 tables
/// and as many indexes, with at most 2,048 parts each.
#[derive(Clone, Copy)]
pub(super) struct Number(pub(super) i64);

pub(super) const SYSTEM_RELATIONS: Number = Number(12_000);
pub(super) const TABLES: Number = Number(16_384);
pub(super) const INDEXES: Number = Number(100_000);
pub(super) const CONSTRAINTS: Number = Number(200_000);
pub(super) const PROCEDURES: Number = Number(300_000);
pub(super) const VIEWS: Number = Number(500_000_000);
pub(super) const DEFAULTS: Number = Number(1_000_000_000);
pub(super) const CHECKS: Number = Number(1_200_000_000);
pub(super) const FOREIGN_KEYS: Number = Number(1_400_000_000);
pub(super) const TRIGGERS: Number = Number(1_600_000_000);
pub(super) const VIEW_TRIGGERS: Number = Number(1_740_000_000);
pub(super) const POLICIES: Number = Number(1_800_000_000);
/// Of an enum's labels: each type's are counted from here on, for nobody names them alone.
pub(super) const LABELS: Number = Number(1_580_000_000);

/// Numbers of types that only functions have: of what gives nothing, and of what gives rows.
pub(super) const VOID: i64 = 2278;
pub(super) const TRIGGER: i64 = 2279;
pub(super) const RECORD: i64 = 2249;
const OF_FUNCTIONS: [(&str, i64); 3] = [("void", VOID), ("trigger", TRIGGER), ("record", RECORD)];

pub(crate) fn short_name(data_type: DataType) -> &'static str {
    known_type(data_type).name
}

pub(super) fn standard_name(data_type: DataType) -> &'static str {
    known_type(data_type).standard
}

pub(super) fn type_length(data_type: DataType) -> i16 {
    known_type(data_type).length
}

pub(super) fn type_number(sql_type: SqlType) -> i64 {
    known_type(sql_type.packed()).oid
}

/// A name, in quotes where it needs them.
pub(super) fn quoted(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty();
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// How much of an expression stands in brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Brackets {
    All,
    /// not around the whole of it
    Inner,
}

pub(super) fn index_definition(table: &Table, index: &Index, brackets: Brackets) -> String {
    let unique = if index.unique { "UNIQUE " } else { "" };
    let method = match index.kind {
        IndexKind::Hash => "hash",
        IndexKind::BTree => "btree",
    };
    let column = |column: &ColumnId| {
        let name = key_part(table, *column, brackets);
        if index.descending.contains(column) { format!("{name} DESC") } else { name }
    };
    let columns = table.key_of(index).iter().map(column).collect::<Vec<_>>().join(", ");
    let condition = condition_text(table, index, brackets).map(|of| format!(" WHERE {of}"));
    let condition = condition.unwrap_or_default();
    let (name, schema) = (quoted(&index.name), quoted(&table.schema));
    let table = quoted(table.user_name());
    let on = format!("{schema}.{table}");
    format!("CREATE {unique}INDEX {name} ON {on} USING {method} ({columns}){condition}")
}

fn column_list(table: &Table, columns: &[ColumnId]) -> String {
    let names = columns.iter().map(|column| quoted(&table.columns[column.index()].name));
    names.collect::<Vec<_>>().join(", ")
}

pub(super) fn check_text(table: &Table, check: &Check) -> String {
    expression_text(table, &check.columns, &check.condition)
}

/// What the column of this number is computed from; none: it is not.
pub(super) fn generation_text(table: &Table, at: usize) -> Option<String> {
    let generated = table.generated.iter().find(|generated| generated.column.index() == at)?;
    Some(expression_text(table, &generated.columns, &generated.value))
}

/// What an index has as a part of its key: a column, or an expression, which stands in brackets
/// unless it is a call.
fn key_part(table: &Table, column: ColumnId, brackets: Brackets) -> String {
    match table.generated(column).filter(|_| table.hidden(column).is_some()) {
        None => quoted(&table.columns[column.index()].name),
        Some(of) if brackets == Brackets::Inner || is_call(&of.value) => key_name(table, of),
        Some(of) => format!("({})", expression_text(table, &of.columns, &of.value)),
    }
}

fn is_call(value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Call(..) | ExprKind::Coalesce(_))
}

/// How the key of an index that is no column is called.
pub(crate) fn key_name(table: &Table, of: &Generated) -> String {
    let text = expression_text(table, &of.columns, &of.value);
    if is_call(&of.value) || text.starts_with('(') { text } else { format!("({text})") }
}

/// How a part of an index's key is called as a column of the index.
pub(crate) fn attribute_name(table: &Table, column: ColumnId) -> &str {
    let name = &table.columns[column.index()].name;
    match (table.hidden(column), name.find('(')) {
        (None, _) => name,
        (Some(_), None | Some(0)) => "expr",
        (Some(_), Some(end)) => &name[..end],
    }
}

/// The condition of an index of some of the rows.
pub(super) fn condition_text(table: &Table, index: &Index, brackets: Brackets) -> Option<String> {
    let of = table.generated(table.condition_of(index)?)?;
    let condition = joined(parts_of_condition(&of.value), ExprKind::And)?;
    let text = expression_text(table, &of.columns, &condition);
    let inner = match (brackets, &condition.kind) {
        (Brackets::All, _) | (_, ExprKind::Cast(_)) => None, // whose brackets are another's
        (Brackets::Inner, _) => text.strip_prefix('(').and_then(|text| text.strip_suffix(')')),
    };
    Some(inner.map_or_else(|| text.clone(), str::to_owned))
}

/// The expressions in the key of an index; none: it has columns only.
pub(super) fn expressions_text(table: &Table, index: &Index) -> Option<String> {
    let of = |column: &ColumnId| table.hidden(*column).and_then(|_| table.generated(*column));
    let all = table.key_of(index).iter().filter_map(of);
    let all: Vec<_> = all.map(|of| expression_text(table, &of.columns, &of.value)).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// An expression whose slots are columns.
fn expression_text(table: &Table, columns: &[ColumnId], expr: &Expr) -> String {
    let name = |slot: usize| {
        columns.get(slot).map_or(String::new(), |c| quoted(&table.columns[c.index()].name))
    };
    deparse::text(expr, &name)
}

fn view<'c>(context: &SystemContext<'c>, number: i64) -> Option<&'c View> {
    let table = id(number, TABLES).and_then(|at| context.catalog.tables().at(at));
    if let Some(table) = table.filter(|table| table.is_kept) {
        return super::cells::materialized(context.catalog, table).map(|view| &**view);
    }
    let wanted = id(number, VIEWS)?;
    context.catalog.views().find(|view| view.id as usize == wanted).map(|view| &**view)
}

/// A view's query, as it is shown.
pub(super) fn definition_of(view: &View) -> String {
    format!(" {};", view.text)
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
        F::ViewDefinition => view(context, number).map(definition_of),
        F::PartitionKey => partitions::key_text(context, number),
        F::ConstraintDefinition => constraint_text(context, number),
        F::TriggerDefinition => triggers::definition(context, number),
        F::FunctionResult => {
            let found = procedure(context, number);
            let found = found.filter(|(_, source)| written(source).is_function);
            found.map(|(procedure, _)| result_text(procedure))
        }
        F::FunctionArguments => {
            procedure(context, number).map(|(procedure, _)| arguments_text(procedure))
        }
        F::FunctionParameters => procedure(context, number).map(|(procedure, source)| {
            written(source).parameters.unwrap_or_else(|| arguments_text(procedure))
        }),
        F::AclDefault => {
            let owner = match arguments.get(1) {
                Some(Value::BigInt(owner)) => *owner,
                _ => 0,
            };
            Some(rights::default_acl(name, &rights::role_name(context, owner)))
        }
        F::FunctionDefinition => procedure(context, number).map(|(_, source)| source.to_owned()),
        F::RelationName if arguments.first().is_some_and(Value::is_null) => None,
        F::RelationName => Some(relation_name(context, number)),
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
            let found = TYPES.iter().find(named).copied().or_else(|| {
                match **context.catalog.type_seen(context.path, &name_in_text(name)?)? {
                    NamedType::Enum(of) => Some(enum_type(of)),
                    NamedType::Composite(_) | NamedType::Domain(_) => None,
                }
            });
            return found.map_or(Value::Null, |known| Value::BigInt(known.oid));
        }
        F::ProcedureOid => {
            let bare = name.strip_prefix("public.").unwrap_or(name);
            let named = |(_, of, _): &&(u32, &Procedure, &str)| of.shown_name() == bare;
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

/// A type's name, with its schema where its bare name stands for something else.
fn enum_name(context: &SystemContext<'_>, of: EnumType) -> String {
    let is_it = |named: &NamedType| matches!(named, NamedType::Enum(known) if *known == of);
    let seen = context.catalog.type_seen(context.path, of.name());
    let mut all = context.catalog.types();
    match all.find(|(.., named)| is_it(named)) {
        Some((schema, name, _)) if !seen.is_some_and(|seen| is_it(seen)) => {
            format!("{}.{}", quoted(schema), quoted(name))
        }
        _ => quoted(of.name()),
    }
}

fn format_type(context: &SystemContext<'_>, number: i64, modifier: i32) -> Option<String> {
    if number == 0 {
        return None; // of some types there are no arrays
    }
    let oid = u32::try_from(number).ok()?;
    // An enum has an even number, and arrays of it the next one.
    let of_enum = || match (enum_with_oid(oid), oid.checked_sub(1).and_then(enum_with_oid)) {
        (Some(of), _) => Some(enum_name(context, of)),
        (None, Some(of)) => Some(enum_name(context, of) + "[]"),
        (None, None) => None,
    };
    let of_known = |known: &KnownType| match number {
        number if number == known.oid => Some((*known, "")),
        number if number == known.array => Some((*known, "[]")),
        _ => None,
    };
    let Some((known, suffix)) = TYPES.iter().find_map(of_known) else { return of_enum() };
    let digits = match known.name {
        "time" if modifier >= 0 => {
            return Some(format!("time({modifier}) without time zone{suffix}"));
        }
        "varchar" | "bpchar" if modifier >= 4 => format!("({})", modifier - 4),
        "numeric" if modifier >= 4 => {
            let digits = modifier - 4;
            format!("({},{})", digits >> 16, digits & 0xffff)
        }
        _ => String::new(),
    };
    Some(format!("{}{digits}{suffix}", known.standard))
}

pub(super) fn id(number: i64, of: Number) -> Option<usize> {
    usize::try_from(number.checked_sub(of.0)?).ok()
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
        None => Some(index_definition(table, index, brackets)),
        Some(at) => {
            let column = table.key_of(index).get(at)?;
            Some(key_part(table, *column, brackets))
        }
    }
}

fn constraint_text(context: &SystemContext<'_>, number: i64) -> Option<String> {
    if number < PROCEDURES.0 {
        let (table, index) =
            index(context, number.checked_sub(CONSTRAINTS.0)?.checked_add(INDEXES.0)?)?;
        let kind = if table.primary == Some(index.id) { "PRIMARY KEY" } else { "UNIQUE" };
        return Some(format!("{kind} ({})", column_list(table, &index.columns)));
    }
    for table in context.catalog.tables().iter() {
        let at = table.id.index();
        for (part, check) in table.checks.iter().enumerate() {
            if CHECKS.of_part(at, part) == number {
                return Some(format!("CHECK ({})", check_text(table, check)));
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
                return Some(text);
            }
        }
    }
    None
}

fn procedure<'c>(context: &SystemContext<'c>, number: i64) -> Option<(&'c Procedure, &'c str)> {
    let wanted = u32::try_from(number.checked_sub(PROCEDURES.0)?).ok()?;
    let mut all = context.procedures.iter();
    all.find(|(id, ..)| *id == wanted).map(|&(_, procedure, source)| (procedure, source))
}

fn result_text(procedure: &Procedure) -> String {
    let columns = procedure.result.iter();
    let named = |column: &hotrow_transaction::program::ResultColumn| {
        format!("{} {}", quoted(&column.name), column.data_type)
    };
    match (procedure.result.as_slice(), procedure.returns_set) {
        ([], false) if procedure.trigger.is_some() => "trigger".to_owned(),
        ([], false) => "void".to_owned(),
        ([one], false) => one.data_type.to_string(),
        (_, false) => "record".to_owned(),
        (_, true) => format!("TABLE({})", columns.map(named).collect::<Vec<_>>().join(", ")),
    }
}

fn arguments_text(procedure: &Procedure) -> String {
    let parameters = procedure.given().iter();
    let named = parameters.map(|slot| format!("{} {}", quoted(&slot.name), slot.sql_type));
    let mut named: Vec<String> = named.collect();
    if let Some(last) = named.last_mut().filter(|_| procedure.is_variadic) {
        last.insert_str(0, "VARIADIC ");
    }
    named.join(", ")
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
