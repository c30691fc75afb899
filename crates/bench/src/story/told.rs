//! What clients were told, as tables that a story's queries can ask.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::client::Books;
use super::file::Story;

/// Before a run.
pub(super) const BEGIN: &str = "
    CREATE TABLE told_calls (call text PRIMARY KEY, calls bigint NOT NULL, rows bigint NOT NULL);
    CREATE TABLE told_answers (call text, name text, answer text, times bigint NOT NULL,
        PRIMARY KEY (call, name, answer));
    CREATE TABLE told_run (id int PRIMARY KEY, began timestamptz NOT NULL, ended timestamptz);
    INSERT INTO told_run VALUES (1, clock_timestamp(), NULL);
";

/// Different answers of a column that are told apart.
const ANSWERS_MAX: usize = 1_000;

/// What clients were told by one call.
#[derive(Default)]
pub(super) struct Told {
    pub(super) calls: u64,
    pub(super) rows: u64,
    /// of each column, how often what came; none: too many different ones
    columns: Vec<Option<HashMap<String, u64>>>,
}

impl Told {
    /// Takes note of a row.
    pub(super) fn note(&mut self, row: &[Option<String>]) {
        self.rows += 1;
        self.columns.resize_with(row.len(), || Some(HashMap::new()));
        for (column, cell) in self.columns.iter_mut().zip(row) {
            count(column, cell.as_deref().unwrap_or("NULL"), 1);
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.rows += other.rows;
        if self.columns.is_empty() {
            self.columns = other.columns;
            return;
        }
        for (column, others) in self.columns.iter_mut().zip(other.columns) {
            match others {
                Some(others) => others.iter().for_each(|(answer, n)| count(column, answer, *n)),
                None => *column = None,
            }
        }
    }

    /// Puts all of it into tables.
    pub(super) fn script(story: &Story, books: &Books) -> String {
        let mut script = "UPDATE told_run SET ended = clock_timestamp();\n".to_owned();
        let quoted = |text: &str| text.replace('\'', "''");
        for ((call, told), names) in story.calls.iter().zip(&books.told).zip(&books.columns) {
            let (name, Self { calls, rows, columns }) = (quoted(&call.name), told);
            // A String takes everything.
            let _ = writeln!(script, "INSERT INTO told_calls VALUES ('{name}', {calls}, {rows});");
            for (column, answers) in names.iter().zip(columns) {
                for (answer, times) in answers.iter().flatten() {
                    let (column, answer) = (quoted(column), quoted(answer));
                    let _ = writeln!(
                        script,
                        "INSERT INTO told_answers \
                         VALUES ('{name}', '{column}', '{answer}', {times});"
                    );
                }
            }
        }
        script
    }
}

fn count(column: &mut Option<HashMap<String, u64>>, answer: &str, times: u64) {
    let Some(answers) = column else { return };
    if let Some(so_far) = answers.get_mut(answer) {
        *so_far += times;
    } else if answers.len() < ANSWERS_MAX {
        answers.insert(answer.to_owned(), times);
    } else {
        *column = None;
    }
}
