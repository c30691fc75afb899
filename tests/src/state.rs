//! States: everything a database holds, in an order that does not depend on how it got there.
//!
//! Invariants   I1 a dump reads each table by its primary way and each row again through every
//!              secondary index, so that an index that disagrees with its table is found

use std::collections::BTreeMap;

use hotrow::{Database, IndexDescription, Session, TableDescription, Value};
use hotrow_base::quote::identifier;

/// All rows of all tables, as text, sorted.
pub type State = BTreeMap<String, Vec<String>>;

/// Dumps all tables. Waits for a quiet point.
pub fn dump(db: &Database) -> State {
    let mut state = State::new();
    for table in db.tables() {
        let mut rows = Vec::new();
        db.scan(&table, |row| rows.push(format!("{row:?}"))).expect("the table is there");
        rows.sort();
        state.insert(table, rows);
    }
    state
}

/// Dumps all tables and compares each with its indexes; see the module.
pub fn dump_checked(db: &Database) -> State {
    let session = db.session();
    for table in db.tables() {
        let description = db.describe(&table).expect("the table is there");
        let mut rows = Vec::new();
        db.scan(&table, |row| rows.push(row.to_vec())).expect("the table is there");
        for index in &description.indexes {
            check_index(&session, &description, index, &rows);
        }
    }
    dump(db)
}

/// Looks every distinct key of `rows` up through the index.
fn check_index(
    session: &Session,
    table: &TableDescription,
    index: &IndexDescription,
    rows: &[Vec<Value>],
) {
    let condition = condition_of(session, table, index);
    let places: Option<Vec<usize>> = (index.columns.iter())
        .map(|name| table.columns.iter().position(|column| column.name == *name))
        .collect();
    let keys: Vec<Vec<Value>> = match places {
        Some(places) if condition.is_none() => {
            let key = |row: &Vec<Value>| places.iter().map(|&at| row[at].clone()).collect();
            rows.iter().map(key).collect()
        }
        _ => computed_keys(session, table, index, condition.as_deref()),
    };
    let mut expected: BTreeMap<String, usize> = BTreeMap::new();
    for key in keys {
        let conditions: Option<Vec<String>> =
            key.iter().zip(&index.columns).map(|(value, name)| equals(name, value)).collect();
        if let Some(mut conditions) = conditions {
            conditions.extend(condition.clone());
            *expected.entry(conditions.join(" AND ")).or_default() += 1;
        }
    }
    for (condition, count) in expected {
        let sql = format!("SELECT count(*) FROM {} WHERE {condition}", written(table));
        let found = session.execute(&sql).and_then(|mut results| results.remove(0).rows.one());
        let found: i64 = found.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(found, count as i64, "index {}: {sql}", index.name);
        assert!(!index.unique || count == 1, "unique index {}: {sql}", index.name);
    }
}

/// The rows that an index is for; none: all.
fn condition_of(
    session: &Session,
    table: &TableDescription,
    index: &IndexDescription,
) -> Option<String> {
    let sql = format!(
        "SELECT i.indpred FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
         WHERE c.relname = '{}' AND i.indrelid = '{}'::regclass",
        index.name,
        written(table).replace('\'', "''")
    );
    let found = session.execute(&sql).and_then(|mut results| results.remove(0).rows.one());
    found.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// A table's name as statements write it.
fn written(table: &TableDescription) -> String {
    match table.name.split_once('.') {
        Some((schema, name)) => format!("{}.{}", identifier(schema), identifier(name)),
        None => identifier(&table.name),
    }
}

/// The keys of an index of expressions, or of some of the rows, as the rows have them.
fn computed_keys(
    session: &Session,
    table: &TableDescription,
    index: &IndexDescription,
    condition: Option<&str>,
) -> Vec<Vec<Value>> {
    let (keys, name) = (index.columns.join(", "), written(table));
    let sql = format!("SELECT {keys} FROM {name} WHERE {}", condition.unwrap_or("true"));
    let results = session.execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    results[0].rows.iter().map(<[Value]>::to_vec).collect()
}

/// `name = value` as SQL; none for NULL.
fn equals(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::SmallInt(n) => Some(format!("{name} = {n}")),
        Value::Int(n) => Some(format!("{name} = {n}")),
        Value::BigInt(n) => Some(format!("{name} = {n}")),
        other => Some(format!("{name} = '{}'", other.to_string().replace('\'', "''"))),
    }
}
