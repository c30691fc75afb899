//! Rows of the system catalog about domains.

use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{Check, Column, Domain, Object, local, schema_of};

use crate::scope::Compiler;
use crate::type_table::{known_type, type_modifier};

use super::cells::{schema_number, text};
use super::domain_numbers::{Named, domains, number};
use super::numbers::DOMAIN_CHECKS;
use super::texts::{default_value, standard_name, text_of_check};
use super::types::type_fields;
use super::{Fields, SystemContext, rights};

/// Rows of pg_type.
pub(super) fn types(context: &SystemContext<'_>) -> Vec<Fields> {
    let mut all = Vec::new();
    for (schema, name, domain) in domains(context) {
        let known = known_type(domain.of);
        let owner = rights::owner(context, &Object::type_in(schema, name));
        let whose = (schema_number(context.catalog, schema), owner);
        let oid = number(domain);
        let default = default_text(context, domain);
        let named = (oid, name.to_owned());
        let mut own = type_fields(named, whose.clone(), ("d", known.category), known.length);
        own.extend([
            ("typarray", Value::BigInt(oid + 1)),
            ("typinput", text("domain_in")),
            ("typbasetype", Value::BigInt(known.oid)),
            ("typtypmod", Value::Int(type_modifier(domain.of))),
            ("typnotnull", Value::Bool(!domain.nullable)),
            ("typdefaultbin", default.clone().map_or(Value::Null, Value::Text)),
            ("typdefault", default.map_or(Value::Null, Value::Text)),
        ]);
        all.push(own);
        let mut array = type_fields((oid + 1, format!("_{name}")), whose, ("b", "A"), -1);
        array.extend([
            ("typelem", Value::BigInt(oid)),
            ("typinput", text("array_in")),
            ("typtypmod", Value::Int(-1)),
        ]);
        all.push(array);
    }
    all
}

/// A domain as a column that is called `value`, and its checks; none: it cannot be read from here.
fn as_column(context: &SystemContext<'_>, domain: &Domain) -> Option<(Column, Vec<Check>)> {
    let mut compiler = Compiler::new(context.catalog).seeing(context.path);
    let (column, checks) = compiler.domain_as_column("value", domain).ok()?;
    Some((column?, checks))
}

fn default_text(context: &SystemContext<'_>, domain: &Domain) -> Option<String> {
    let written = domain.default.as_ref()?;
    let default = as_column(context, domain).and_then(|(column, _)| column.default);
    Some(default.map_or_else(|| written.clone(), |default| default_value(context, &default)))
}

/// What CHECK says of each constraint of a domain, as it is read from here.
fn checks(context: &SystemContext<'_>, domain: &Domain) -> Vec<String> {
    match as_column(context, domain) {
        Some((_, checks)) => {
            checks.iter().map(|check| text_of_check(context, "VALUE", check)).collect()
        }
        None => domain.checks.iter().map(|(_, written)| format!("({written})")).collect(),
    }
}

/// Rows of pg_constraint.
pub(super) fn constraints(context: &SystemContext<'_>) -> Vec<Fields> {
    let mut all = Vec::new();
    for (schema, _, domain) in domains(context) {
        let texts = checks(context, domain);
        for (at, ((own, _), check)) in domain.checks.iter().zip(texts).enumerate() {
            all.push(vec![
                ("oid", Value::BigInt(DOMAIN_CHECKS.of_part(domain.number as usize, at))),
                ("conname", text(own)),
                ("connamespace", Value::BigInt(schema_number(context.catalog, schema))),
                ("contype", text("c")),
                ("convalidated", Value::Bool(!domain.not_valid.contains(own))),
                ("contypid", Value::BigInt(number(domain))),
                ("conislocal", Value::Bool(true)),
                ("conbin", text(check)),
            ]);
        }
    }
    all
}

/// The definition of the constraint of a domain with this number.
pub(super) fn constraint_text(context: &SystemContext<'_>, wanted: i64) -> Option<String> {
    domains(context).find_map(|(.., domain)| {
        let first = DOMAIN_CHECKS.of_part(domain.number as usize, 0);
        let at = usize::try_from(wanted.checked_sub(first)?).ok()?;
        let (own, _) = domain.checks.get(at)?;
        let not_valid = if domain.not_valid.contains(own) { " NOT VALID" } else { "" };
        Some(format!("CHECK ({}){not_valid}", checks(context, domain).get(at)?))
    })
}

/// Rows of information_schema.domains.
pub(super) fn information(context: &SystemContext<'_>) -> Vec<Fields> {
    let one = |(schema, name, domain): Named<'_>| {
        let known = known_type(domain.of);
        let shown = match domain.of {
            DataType::Array(_) => "ARRAY",
            of => standard_name(of),
        };
        vec![
            ("domain_catalog", text(context.database)),
            ("domain_schema", text(schema)),
            ("domain_name", text(name)),
            ("data_type", text(shown)),
            ("domain_default", default_text(context, domain).map_or(Value::Null, Value::Text)),
            ("udt_catalog", text(context.database)),
            ("udt_schema", text("pg_catalog")),
            ("udt_name", text(known.name)),
        ]
    };
    domains(context).map(one).collect()
}

/// Rows of information_schema.domain_constraints.
pub(super) fn constraint_information(context: &SystemContext<'_>) -> Vec<Fields> {
    let mut all = Vec::new();
    for (schema, name, domain) in domains(context) {
        for (own, _) in &domain.checks {
            all.push(vec![
                ("constraint_catalog", text(context.database)),
                ("constraint_schema", text(schema)),
                ("constraint_name", text(own)),
                ("domain_catalog", text(context.database)),
                ("domain_schema", text(schema)),
                ("domain_name", text(name)),
                ("is_deferrable", text("NO")),
                ("initially_deferred", text("NO")),
            ]);
        }
    }
    all
}

/// What information_schema.columns says of a column's domain.
pub(super) fn of_column(context: &SystemContext<'_>, column: &Column) -> Fields {
    let of = column.domain.as_deref().filter(|_| !matches!(column.data_type, DataType::Array(_)));
    let Some(of) = of else { return Vec::new() };
    vec![
        ("domain_catalog", text(context.database)),
        ("domain_schema", text(schema_of(&of.name))),
        ("domain_name", text(local(&of.name))),
    ]
}
