//! Statements that a client has given names, as `pg_prepared_statements` tells them.
//!
//! Role         a protocol keeps what was prepared, and tells a session the names; queries read
//!              them

use std::collections::BTreeMap;

use hotrow_base::clock;
use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_sql::{Fields, known_type};

/// Who has named a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NamedBy {
    /// PREPARE
    Sql,
    /// a message of the protocol
    Protocol,
}

#[derive(Debug)]
struct Named {
    text: String,
    types: Vec<SqlType>,
    by: NamedBy,
    /// since 2000-01-01 UTC
    at_us: i64,
}

/// The names of a session.
#[derive(Default, Debug)]
pub(crate) struct Names(BTreeMap<String, Named>);

impl Names {
    /// Notes a name of a statement.
    pub(crate) fn note(&mut self, name: &str, text: &str, types: &[SqlType], by: NamedBy) {
        let (text, types) = (hotrow_sql::shown(text).into_owned(), types.to_vec());
        let named = Named { text, types, by, at_us: clock::now_us() };
        self.0.insert(name.to_owned(), named);
    }

    /// Forgets a name, or all.
    pub(crate) fn forget(&mut self, name: Option<&str>) {
        match name {
            Some(name) => drop(self.0.remove(name)),
            None => self.0.clear(),
        }
    }

    /// The rows of `pg_prepared_statements`.
    pub(crate) fn rows(&self) -> Vec<Fields> {
        let type_name = |of: &SqlType| {
            let data_type = of.packed();
            let brackets = if data_type.element().is_some() { "[]" } else { "" };
            Value::Text(format!("{}{brackets}", known_type(data_type).standard))
        };
        let row = |(name, named): (&String, &Named)| {
            vec![
                ("name", Value::Text(name.clone())),
                ("statement", Value::Text(named.text.clone())),
                ("prepare_time", Value::TimestampTz(named.at_us)),
                ("parameter_types", Value::Array(named.types.iter().map(type_name).collect())),
                ("from_sql", Value::Bool(named.by == NamedBy::Sql)),
                ("generic_plans", Value::BigInt(0)),
                ("custom_plans", Value::BigInt(0)),
            ]
        };
        self.0.iter().map(row).collect()
    }
}
