//! The regression suite: files of statements, the answers that PostgreSQL gave, and Hotrow's.
//!
//! Role         reads `tests/regression/AREA.sql` and `AREA.out`, runs an area in a session, and
//!              says in which way an answer differs. Knows nothing of what is known to differ.
//!
//! A statement ends with a line that ends with `;` where the text so far has an even number of
//! `$$`; lines between statements that begin with `--` are comments. The answers, one behind the
//! other in the same order:
//!
//! ```text
//! @ 811c9dc5                   the statement's key: see [`keys`]
//! + SELECT 1                   its tag
//! : id|name|price            names of columns, if it may give rows
//! = 1|one|\N                   a row; NULL is `\N`; sorted where the statement has no ORDER BY
//! ! 22012 division by zero     or, in place of tag and rows, SQLSTATE and message
//! ```

use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hotrow::{Config, Database, Session, Value};

/// Memory of an area's database.
const MEMORY_BYTES: u64 = 512 << 20;

/// What a statement ended with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// it was done
    Done {
        /// PostgreSQL's command tag
        tag: String,
        /// names of its columns
        columns: String,
        /// rows as text
        rows: Vec<String>,
    },
    /// an error
    Failed {
        /// SQLSTATE
        code: String,
        /// what it says
        message: String,
    },
    /// a panic that nothing in Hotrow has caught
    Panicked,
}

impl Answer {
    /// Whether both are the same, whatever words errors use.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Failed { code: one, .. }, Self::Failed { code: other, .. }) => one == other,
            _ => self == other,
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done { tag, columns, rows } => {
                write!(f, "{tag} ({columns})")?;
                rows.iter().take(10).try_for_each(|row| write!(f, "\n      {row}"))
            }
            Self::Failed { code, message } => write!(f, "{code} {message}"),
            Self::Panicked => f.write_str("a panic"),
        }
    }
}

/// The statements of a file.
pub fn statements(text: &str) -> Vec<String> {
    let (mut all, mut current) = (Vec::new(), String::new());
    for line in text.lines() {
        let is_between = current.is_empty();
        if is_between && (line.trim().is_empty() || line.starts_with("--")) {
            continue;
        }
        if !is_between {
            current.push('\n');
        }
        current.push_str(line);
        if line.ends_with(';') && current.matches("$$").count() % 2 == 0 {
            all.push(std::mem::take(&mut current));
        }
    }
    assert!(current.is_empty(), "a statement has no end: {current}");
    all
}

/// What statements are known by: their text's FNV-1a of 32 bits, and a number where the same
/// text comes again.
pub fn keys(statements: &[String]) -> Vec<String> {
    let mut seen = HashMap::new();
    let key = |statement: &String| {
        let step = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        let hash = statement.bytes().fold(0x811c_9dc5, step);
        let times = seen.entry(hash).or_insert(0);
        *times += 1;
        if *times == 1 { format!("{hash:08x}") } else { format!("{hash:08x}.{times}") }
    };
    statements.iter().map(key).collect()
}

/// The answers of a file, with the keys of their statements.
pub fn answers(text: &str) -> Vec<(String, Answer)> {
    let mut all: Vec<(String, Answer)> = Vec::new();
    for line in text.lines() {
        let (mark, rest) = line.split_at(2);
        if mark == "@ " {
            let (tag, columns, rows) = Default::default();
            all.push((rest.to_owned(), Answer::Done { tag, columns, rows }));
            continue;
        }
        let (_, answer) = all.last_mut().expect("a key comes first");
        match (mark, &mut *answer) {
            ("+ ", Answer::Done { tag, .. }) => rest.clone_into(tag),
            (": ", Answer::Done { columns, .. }) => rest.clone_into(columns),
            ("= ", Answer::Done { rows, .. }) => rows.push(rest.to_owned()),
            ("! ", _) => {
                let (code, message) = rest.split_once(' ').unwrap_or((rest, ""));
                let (code, message) = (code.to_owned(), message.to_owned());
                *answer = Answer::Failed { code, message };
            }
            _ => panic!("not a line of answers: {line}"),
        }
    }
    all
}

/// A database for an area.
pub fn open() -> Database {
    let config = Config::default().threads(1).memory_bytes(MEMORY_BYTES);
    Database::open_in_memory(config).expect("memory and a thread are there")
}

/// A session whose statements end.
pub fn session(db: &Database) -> Session {
    let session = db.session();
    session.identify("postgres", "regression", 1);
    session.execute("SET statement_timeout = '5s'").expect("it is a setting");
    session
}

/// Runs a statement.
pub fn run(session: &Session, statement: &str) -> Answer {
    let Ok(ended) = catch_unwind(AssertUnwindSafe(|| session.execute(statement))) else {
        return Answer::Panicked;
    };
    match ended {
        Ok(results) => {
            let Some(result) = results.last() else {
                let (tag, columns, rows) = Default::default();
                return Answer::Done { tag, columns, rows };
            };
            let row = |row: &[Value]| row.iter().map(cell).collect::<Vec<_>>().join("|");
            let mut rows: Vec<_> = result.rows.iter().map(row).collect();
            if !statement.to_lowercase().contains("order by") {
                rows.sort_unstable();
            }
            let columns: Vec<_> = result.rows.columns().iter().map(|name| escaped(name)).collect();
            Answer::Done { tag: result.tag.clone(), columns: columns.join("|"), rows }
        }
        Err(error) => {
            let code = error.sqlstate().unwrap_or("?????").to_owned();
            let message = error.as_sql().map_or_else(|| error.to_string(), |e| e.message.clone());
            Answer::Failed { code, message: escaped(&message) }
        }
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "\\N".to_owned(),
        Value::Bool(value) => if *value { "t" } else { "f" }.to_owned(),
        value => escaped(&value.to_string()),
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

/// In which way an answer differs from the expected one; for people, and to count by.
pub fn difference(expected: &Answer, found: &Answer) -> String {
    match (expected, found) {
        (_, Answer::Panicked) => "panic".to_owned(),
        (_, Answer::Failed { code, message }) if code == "XX000" => {
            format!("panic: {}", general(message))
        }
        (Answer::Done { .. }, Answer::Failed { code, message }) if code == "0A000" => {
            format!("refused: {}", general(message))
        }
        (Answer::Failed { code: expected, .. }, Answer::Failed { code, .. }) if code == "0A000" => {
            format!("refused, where PostgreSQL says {expected}")
        }
        (Answer::Failed { code: expected, .. }, Answer::Failed { code, .. }) => {
            format!("{code}, where PostgreSQL says {expected}")
        }
        (Answer::Done { .. }, Answer::Failed { code, message }) => {
            format!("fails: {code} {}", general(message))
        }
        (Answer::Failed { code, .. }, _) => format!("accepted, where PostgreSQL says {code}"),
        (Answer::Done { rows: expected, tag, .. }, Answer::Done { rows, tag: found, .. }) => {
            if expected == rows {
                if tag == found { "other names of columns" } else { "another tag" }.to_owned()
            } else if rounded(expected) == rounded(rows) {
                "other digits of numbers".to_owned()
            } else {
                "other rows".to_owned()
            }
        }
        (Answer::Panicked, _) => "PostgreSQL does not panic".to_owned(),
    }
}

/// A message without what it names, so that those of one kind are one: no quoted names and
/// literals, nothing in brackets, no numbers.
fn general(message: &str) -> String {
    let (mut out, mut closing, mut depth) = (String::new(), None, 0_usize);
    for c in message.chars() {
        match (closing, c) {
            (Some(end), _) if c == end => closing = None,
            (Some(_), _) => continue,
            (None, '"' | '\'') => {
                closing = Some(c);
                out.push_str(if depth == 0 { "..." } else { "" });
            }
            (None, '(' | '[') => {
                depth += 1;
                out.push_str(if depth == 1 { "(...)" } else { "" });
            }
            (None, ')' | ']') => depth = depth.saturating_sub(1),
            _ if depth > 0 || c.is_ascii_digit() => {}
            _ => out.push(c),
        }
    }
    let end = out.char_indices().nth(80).map_or(out.len(), |(at, _)| at);
    out.truncate(end);
    out.trim_end().to_owned()
}

/// Rows with their numbers cut to 12 digits, without zeros at the end.
fn rounded(rows: &[String]) -> Vec<Vec<String>> {
    let cell = |text: &str| match text.parse::<f64>() {
        Ok(number) if number.is_finite() => format!("{number:.11e}"),
        _ => text.to_owned(),
    };
    rows.iter().map(|row| row.split('|').map(cell).collect()).collect()
}
