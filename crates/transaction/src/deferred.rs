//! Violations of constraints that are checked again before COMMIT.
//!
//! Role         a statement that finds such a constraint violated tells whoever commits, who looks
//!              again by the [key](Violated) that is in its hint; see [`Leaves`]. Where nobody
//!              would, it ends with an error of a kind of its own, and the call is made again by
//!              somebody who does
//! Invariants   I1 what was told stays to be looked at, even if the statement that told it is taken
//!                 back: to look once more than necessary finds nothing
//!
//! [`Leaves`]: crate::invocation::Leaves

use hotrow_base::ids::TableId;

use crate::frame::Frame;
use crate::outcome::{CLASS_DEFERRED, Notice, NoticeLevel, SqlError};

/// Between the parts of a hint.
pub const SEPARATOR: char = '\n';

/// How texts of values are written in a hint: the left of each becomes the right, in this order.
pub const ESCAPES: [(&str, &str); 2] = [("\\", "\\\\"), ("\n", "\\n")];

/// What is violated, as the hint of the error says it: the number of the table that has the
/// constraint, the constraint's name, and the values of its columns as texts, in the order of its
/// index.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Violated {
    /// the table that has the constraint
    pub table: TableId,
    /// the constraint's name
    pub name: String,
    /// values, as texts
    pub values: Vec<String>,
}

impl Violated {
    /// What an error says is violated; none if it does not.
    pub fn of(error: &SqlError) -> Option<Self> {
        let mut parts = error.hint.as_deref()?.split(SEPARATOR);
        let table = TableId(parts.next()?.parse().ok()?);
        let name = parts.next()?.to_owned();
        Some(Self { table, name: read(&name), values: parts.map(read).collect() })
    }

    /// The part of the hint that is known before the call runs; each value comes behind it with a
    /// [`SEPARATOR`], and [escaped](ESCAPES).
    pub fn begin(table: TableId, name: &str) -> String {
        let escape = |text: String, (from, to): (&str, &str)| text.replace(from, to);
        format!("{}{SEPARATOR}{}", table.0, ESCAPES.into_iter().fold(name.to_owned(), escape))
    }
}

/// A text that was escaped.
fn read(escaped: &str) -> String {
    let mut text = String::with_capacity(escaped.len());
    let mut chars = escaped.chars();
    while let Some(one) = chars.next() {
        text.push(match one {
            '\\' if chars.next() == Some('n') => '\n',
            one => one,
        });
    }
    text
}

/// The SQLSTATEs of integrity constraints begin so.
const CLASS: &[u8] = b"23";

/// The error by which a call says that a constraint is violated which is checked later, and that
/// nobody would check it. No client sees it.
pub fn as_deferred(mut error: SqlError) -> SqlError {
    error.sqlstate[..2].copy_from_slice(CLASS_DEFERRED);
    error
}

/// The error as clients are told it.
pub fn as_told(mut error: SqlError) -> SqlError {
    if error.is_deferred() {
        error.sqlstate[..2].copy_from_slice(CLASS);
    }
    error.hint = None;
    error
}

impl Frame {
    /// Takes the violations out of what the call has said.
    pub fn take_violations(&mut self) -> Vec<SqlError> {
        let notices = self.notices_mut();
        let is_violation = |notice: &mut Notice| notice.level == NoticeLevel::Violation;
        // No memory is taken where there are none.
        notices.extract_if(.., is_violation).map(|notice| notice.said).collect()
    }
}
