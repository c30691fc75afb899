//! What a statement gave: its rows, and PostgreSQL's command tag.

use std::fmt::Write as _;
use std::sync::Arc;

use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_sql::split_path;
use hotrow_transaction::outcome::{self, Notice};
use hotrow_transaction::program::Place;

use crate::rows::Rows;

/// What a statement of a script gave.
#[derive(Clone, PartialEq, Debug)]
pub struct StatementResult {
    /// what was done, as PostgreSQL's command tags say it: `CREATE TABLE`, `INSERT 0 3`, `CALL`
    pub tag: String,
    /// its rows; none for definitions
    pub rows: Rows,
    /// the types of their columns; none where no rows can come
    pub types: Arc<[SqlType]>,
    /// where the statement stands in the script
    pub place: Place,
    /// what there is to know beside it: what RAISE said, a COMMIT outside of transactions, that a
    /// table was not there and so was not dropped
    pub notices: Vec<Notice>,
}

impl StatementResult {
    /// Some of its rows, by number.
    #[must_use]
    pub fn picked(&self, tag: String, rows: impl Iterator<Item = usize>) -> Self {
        let (rows, types) = (self.rows.picked(rows), Arc::clone(&self.types));
        Self { rows, types, ..Self::of_tag(&tag) }
    }

    /// The result of a statement that gives no rows.
    pub fn of_tag(tag: &str) -> Self {
        Self {
            tag: tag.to_owned(),
            rows: Rows::default(),
            types: Arc::default(),
            place: Place::default(),
            notices: Vec::new(),
        }
    }
}

/// Lines of text as rows of one column.
pub(crate) fn shown<'a>(column: &str, lines: impl Iterator<Item = &'a str>) -> Rows {
    let rows = lines.map(|line| vec![Value::from(line)]).collect();
    outcome::Rows { columns: vec![column.to_owned()], rows, ..outcome::Rows::default() }.into()
}

/// PostgreSQL's command tag.
pub(crate) fn tag(text: &str, rows: &Rows) -> String {
    let text = split_path(text).1;
    let begins = |verb: &str| {
        let (bytes, length) = (text.as_bytes(), verb.len());
        bytes.get(..length).is_some_and(|first| first.eq_ignore_ascii_case(verb.as_bytes()))
            && bytes.get(length).is_some_and(u8::is_ascii_whitespace)
    };
    // What most statements are, by one look at each.
    if begins("CALL") {
        return "CALL".to_owned();
    }
    if begins("SELECT") {
        return counted("SELECT", rows.len() as u64);
    }
    const OBJECTS: [&str; 18] = [
        "TABLE",
        "INDEX",
        "FUNCTION",
        "TRIGGER",
        "POLICY",
        "PROCEDURE",
        "ROUTINE",
        "SEQUENCE",
        "VIEW",
        "TYPE",
        "DOMAIN",
        "USER",
        "SCHEMA",
        "ROLE",
        "GROUP",
        "DATABASE",
        "EXTENSION",
        "STATISTICS",
    ];
    let mut words = text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    let verb = words.next().unwrap_or_default();
    // Compared as it is written: most statements are of one of these verbs.
    let is = |known: &[&str]| known.iter().any(|known| verb.eq_ignore_ascii_case(known));
    if is(&["SELECT", "WITH", "VALUES", "TABLE"]) {
        return counted("SELECT", rows.len() as u64);
    }
    if is(&["INSERT"]) {
        return counted("INSERT 0", rows.touched());
    }
    let verb = verb.to_ascii_uppercase();
    let is_second = |word: &str| {
        let mut words = text.split_ascii_whitespace().skip(1);
        words.next().is_some_and(|second| second.eq_ignore_ascii_case(word))
    };
    match verb.as_str() {
        "UPDATE" | "DELETE" | "MERGE" => counted(&verb, rows.touched()),
        "TRUNCATE" | "LOCK" => format!("{verb} TABLE"),
        "ALTER" if is_second("DEFAULT") => "ALTER DEFAULT PRIVILEGES".to_owned(),
        "DROP" | "REASSIGN" if is_second("OWNED") => format!("{verb} OWNED"),
        // Of a role, where no thing is named.
        "GRANT" | "REVOKE" if !words.any(|word| word.eq_ignore_ascii_case("on")) => {
            format!("{verb} ROLE")
        }
        "REFRESH" => "REFRESH MATERIALIZED VIEW".to_owned(),
        "CREATE" | "DROP" | "ALTER" if is_second("MATERIALIZED") => {
            format!("{verb} MATERIALIZED VIEW")
        }
        "DROP" if let Some(kind) = absent_kind(text) => format!("{verb} {kind}"),
        "CREATE" | "DROP" | "ALTER" => {
            let object =
                |word: &str| OBJECTS.into_iter().find(|object| word.eq_ignore_ascii_case(object));
            match words.find_map(object) {
                Some("USER" | "GROUP") => format!("{verb} ROLE"),
                Some(object) => format!("{verb} {object}"),
                None => verb,
            }
        }
        _ => verb,
    }
}

/// What DROP ... IF EXISTS is of, where there are no such objects: `TEXT SEARCH PARSER`.
fn absent_kind(text: &str) -> Option<String> {
    const FIRST: [&str; 15] = [
        "access",
        "aggregate",
        "cast",
        "conversion",
        "event",
        "foreign",
        "operator",
        "publication",
        "rule",
        "server",
        "statistics",
        "subscription",
        "tablespace",
        "text",
        "transform",
    ];
    let mut words = text.split_ascii_whitespace().skip(1).peekable();
    let is_one = words.peek().is_some_and(|word| FIRST.contains(&&*word.to_ascii_lowercase()));
    let kind = words.take_while(|word| !word.eq_ignore_ascii_case("if"));
    is_one.then(|| kind.collect::<Vec<_>>().join(" ").to_ascii_uppercase())
}

/// `INSERT 0 1`
fn counted(verb: &str, count: u64) -> String {
    let mut tag = String::with_capacity(verb.len() + 8);
    tag.push_str(verb);
    tag.push(' ');
    match count {
        0..=9 => tag.push(char::from(b'0' + count as u8)),
        _ => {
            let _ = write!(tag, "{count}"); // a String takes everything
        }
    }
    tag
}

#[cfg(test)]
mod tests;
