//! Rows of `pg_stat_activity`, `pg_stat_database`, `pg_stat_all_tables` and their kin: what is
//! counted here, for monitors that know PostgreSQL. What nobody counts is NULL.

use hotrow_base::value::Value;

use super::cells::{kept, tables, text};
use super::numbers::DATABASE;
use super::numbers::TABLES;
use super::rights::role_number;
use super::{Fields, SystemContext, columns};

/// The rows of a view of statistics.
pub(super) fn statistics(context: &SystemContext<'_>, relation: &str) -> Vec<Fields> {
    let rows = match relation {
        "pg_catalog.pg_stat_activity" => sessions(context, relation),
        "pg_catalog.pg_stat_database" => vec![database(context)],
        _ => of_tables(context),
    };
    let all = columns(relation);
    let filled = |mut row: Fields| {
        for (name, _) in all {
            if !row.iter().any(|(known, _)| known == name) {
                row.push((name, Value::Null));
            }
        }
        row
    };
    rows.into_iter().map(filled).collect()
}

/// Sessions of clients: what of them there is to see here, and whose they are.
fn sessions(context: &SystemContext<'_>, relation: &str) -> Vec<Fields> {
    let whose = |mut row: Fields| {
        let user = row.iter().find(|(name, _)| *name == "usename").map(|(_, user)| user.clone());
        if let Some(Value::Text(user)) = user {
            row.push(("usesysid", Value::BigInt(role_number(context, Some(&user)))));
        }
        row.push(("datid", Value::BigInt(DATABASE)));
        row
    };
    (context.own)(relation).into_iter().map(whose).collect()
}

/// Transactions are calls and what sessions do: the figures of `hotrow.engine_status`.
fn database(context: &SystemContext<'_>) -> Fields {
    let status = (context.own)("hotrow.engine_status");
    let count = |name: &str| {
        let found = status.iter().flatten().find(|(known, _)| *known == name);
        found.map_or(0, |(_, value)| if let Value::BigInt(n) = value { *n } else { 0 })
    };
    vec![
        ("datid", Value::BigInt(DATABASE)),
        ("datname", text(context.database)),
        ("xact_commit", Value::BigInt(count("committed") + count("session_commits"))),
        ("xact_rollback", Value::BigInt(count("failed") + count("session_rollbacks"))),
        // No transaction ends for that reason.
        ("deadlocks", Value::BigInt(0)),
        ("conflicts", Value::BigInt(0)),
    ]
}

fn of_tables(context: &SystemContext<'_>) -> Vec<Fields> {
    let all = tables(context).chain(kept(context));
    let row = |table: &hotrow_transaction::catalog::Table| {
        vec![
            ("relid", Value::BigInt(TABLES.of(table.id.index()))),
            ("schemaname", text(&*table.schema)),
            ("relname", text(table.user_name())),
        ]
    };
    all.map(row).collect()
}
