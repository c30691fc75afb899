//! Policies as the system catalog lists them.

use hotrow_base::value::Value;
use hotrow_transaction::catalog::{Policy, PolicyCommand, Table};

use hotrow_transaction::program::Place;
use sqlparser::ast::Expr;

use crate::token::expression_of_text;

use super::cells::{tables, text};
use super::numbers::{POLICIES, TABLES};
use super::{Fields, SystemContext, rights};

fn all<'c>(
    context: &SystemContext<'c>,
) -> impl Iterator<Item = (i64, &'c Table, &'c Policy)> + use<'c> {
    tables(context).flat_map(|table| {
        let numbered = table.security.policies.iter().enumerate();
        numbered.map(move |(at, of)| (POLICIES.of_part(table.id.index(), at), table, of))
    })
}

/// What `pg_class` says of a table's row security.
pub(super) fn switches(table: &Table) -> [(&'static str, Value); 2] {
    [
        ("relrowsecurity", Value::Bool(table.security.is_enabled)),
        ("relforcerowsecurity", Value::Bool(table.security.is_forced)),
    ]
}

/// A condition in one pair of brackets: whoever shows it may put others around it, and what is made
/// by that must not have more of them each time.
fn condition(text_of: Option<&String>) -> Value {
    let bare = |written: &str| match expression_of_text(written, Place::default()) {
        Ok(Expr::Nested(inner)) => inner.to_string(),
        _ => written.to_owned(),
    };
    text_of.map_or(Value::Null, |written| text(format!("({})", bare(written))))
}

/// Rows of `pg_policy`; conditions are told as texts.
pub(super) fn rows(context: &SystemContext<'_>) -> Vec<Fields> {
    let letter = |command: Option<PolicyCommand>| match command {
        None => "*",
        Some(PolicyCommand::Select) => "r",
        Some(PolicyCommand::Insert) => "a",
        Some(PolicyCommand::Update) => "w",
        Some(PolicyCommand::Delete) => "d",
    };
    let row = |(oid, table, policy): (i64, &Table, &Policy)| {
        let roles = policy.roles.iter().map(|role| rights::role_number(context, Some(role)));
        let roles = match policy.roles.is_empty() {
            true => vec![Value::BigInt(0)],
            false => roles.map(Value::BigInt).collect(),
        };
        vec![
            ("oid", Value::BigInt(oid)),
            ("polname", text(&policy.name)),
            ("polrelid", Value::BigInt(TABLES.of(table.id.index()))),
            ("polcmd", text(letter(policy.command))),
            ("polpermissive", Value::Bool(policy.is_permissive)),
            ("polroles", Value::Array(roles)),
            ("polqual", condition(policy.using.as_ref())),
            ("polwithcheck", condition(policy.check.as_ref())),
        ]
    };
    all(context).map(row).collect()
}

/// Rows of `pg_policies`.
pub(super) fn shown(context: &SystemContext<'_>) -> Vec<Fields> {
    let row = |(_, table, policy): (i64, &Table, &Policy)| {
        let mut names: Vec<&str> = policy.roles.iter().map(|role| &**role).collect();
        names.sort_unstable();
        if names.is_empty() {
            names.push("public");
        }
        let roles = names.into_iter().map(text).collect();
        vec![
            ("schemaname", text(&*table.schema)),
            ("tablename", text(&table.name)),
            ("policyname", text(&policy.name)),
            ("permissive", text(if policy.is_permissive { "PERMISSIVE" } else { "RESTRICTIVE" })),
            ("roles", Value::Array(roles)),
            ("cmd", text(policy.command.map_or("ALL", PolicyCommand::name))),
            ("qual", condition(policy.using.as_ref())),
            ("with_check", condition(policy.check.as_ref())),
        ]
    };
    all(context).map(row).collect()
}
