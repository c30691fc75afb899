//! Scripts with the answers that PostgreSQL 15 gave, a statement a line: tag and rows, sorted where
//! the statement does not order them, or the error's code.

use crate::every_engine::{every_engine, open, two_threads};
use hotrow::{Session, Value};

/// What a statement says.
fn said(session: &Session, statement: &str) -> String {
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::Bool(value) => if *value { "t" } else { "f" }.to_owned(),
        value => value.to_string(),
    };
    match session.execute(statement) {
        Ok(results) => {
            let result = results.last().expect("there is a statement");
            let rows = result.rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>());
            let mut rows: Vec<_> = rows.map(|row| row.join("|")).collect();
            if !statement.to_lowercase().contains("order by") {
                rows.sort_unstable();
            }
            rows.insert(0, result.tag.clone());
            rows.join(" ")
        }
        Err(error) => error.sqlstate().unwrap_or("?").to_owned(),
    }
}

fn check(session: &Session, script: &str) {
    let mut lines = script.lines().filter(|line| !line.is_empty() && !line.starts_with("-- "));
    let (mut checked, mut wrong) = (0, String::new());
    while let (Some(statement), Some(answer)) = (lines.next(), lines.next()) {
        let answer = answer.strip_prefix("-->").expect("an answer follows").trim();
        let said = said(session, statement);
        if said != answer {
            wrong.push_str(&format!("{statement}\n  said {said}\n  not  {answer}\n"));
        }
        checked += 1;
    }
    assert!(checked > 0 && wrong.is_empty(), "{wrong}");
}

/// As [`everywhere`], in one variant each.
fn interactive(script: &str) {
    for entry in hotrow::engines() {
        let db = open(two_threads(entry));
        check(&db.session(), script);
    }
}

fn everywhere(script: &str) {
    every_engine(|config| {
        check(&open(config).session(), script);
        Ok(())
    });
}

#[test]
fn on_delete() {
    everywhere(include_str!("answers/cascades.sql"));
}

#[test]
fn keys_that_change() {
    everywhere(include_str!("answers/key_changes.sql"));
}

#[test]
fn windows() {
    everywhere(include_str!("answers/windows.sql"));
}

#[test]
fn recursion() {
    everywhere(include_str!("answers/recursion.sql"));
}

#[test]
fn groupings() {
    everywhere(include_str!("answers/groupings.sql"));
}

#[test]
fn changes_of_rows_that_a_query_gives() {
    interactive(include_str!("answers/of_queries.sql"));
}

#[test]
fn arrays_chosen() {
    everywhere(include_str!("answers/arrays.sql"));
}
