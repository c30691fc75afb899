//! What statements leave to be done before COMMIT: constraints that are violated for now, and
//! events that triggers fire for then.
//!
//! Role         a statement that finds such a constraint violated, or does what such a trigger
//!              fires for, tells whoever commits, who looks again or fires it by what is in the
//!              [hint](Pending); see [`Leaves`]. Where nobody would, it ends with an error of a
//!              kind of its own, and the call is made again by somebody who does
//! Invariants   I1 a violation that was told stays to be looked at, even if the statement that told
//!                 it is taken back: to look once more than necessary finds nothing
//!              I2 an event that was told is forgotten with what was done: a handler of an
//!                 exception, or whoever takes the statement back, forgets it
//!
//! [`Leaves`]: crate::invocation::Leaves

use hotrow_base::ids::TableId;

use crate::frame::Frame;
use crate::outcome::{CLASS_DEFERRED, Notice, NoticeLevel, SqlError};

/// Between the parts of a hint.
pub const SEPARATOR: char = '\n';

/// How texts of values are written in a hint: the left of each becomes the right, in this order.
pub const ESCAPES: [(&str, &str); 2] = [("\\", "\\\\"), ("\n", "\\n")];

/// NULL in a hint, which no escaped text is.
pub const NULL: &str = "\\N";

/// Before the number of the table in the hint of an event.
const EVENT: char = 'E';

/// What is left to be done, as the hint of what a statement says tells it: the number of the table,
/// the name of the constraint or the trigger, and values as texts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pending {
    /// the table that has the constraint or the trigger
    pub table: TableId,
    /// its name
    pub name: String,
    /// whether a trigger is to be fired, and no constraint to be looked at
    pub is_event: bool,
    /// of a constraint: values of its columns, in the order of its index; of an event: its name,
    /// then the columns of the row as it was, and as it is, as far as there are such; none: NULL
    pub values: Vec<Option<String>>,
}

impl Pending {
    /// What a statement leaves that says this; none: nothing.
    pub fn of(said: &SqlError) -> Option<Self> {
        let mut parts = said.hint.as_deref()?.split(SEPARATOR);
        let table = parts.next()?;
        let of_event = table.strip_prefix(EVENT);
        let table = TableId(of_event.unwrap_or(table).parse().ok()?);
        let name = read(parts.next()?);
        let values = parts.map(|value| (value != NULL).then(|| read(value))).collect();
        Some(Self { table, name, is_event: of_event.is_some(), values })
    }

    /// The part of the hint that is known before the call runs; each value comes behind it with a
    /// [`SEPARATOR`], and [escaped](ESCAPES), or [`NULL`].
    pub fn begin(table: TableId, name: &str, is_event: bool) -> String {
        let escape = |text: String, (from, to): (&str, &str)| text.replace(from, to);
        let name = ESCAPES.into_iter().fold(name.to_owned(), escape);
        let mark = if is_event { EVENT.to_string() } else { String::new() };
        format!("{mark}{}{SEPARATOR}{name}", table.0)
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

/// The error by which a call says that something is left to be done before COMMIT, and that nobody
/// would do it. No client sees it.
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
    /// Takes what is left to be done out of what the call has said.
    pub fn take_pending(&mut self) -> Vec<SqlError> {
        let notices = self.notices_mut();
        let is_pending = |notice: &mut Notice| {
            matches!(notice.level, NoticeLevel::Violation | NoticeLevel::Event)
        };
        // No memory is taken where there is none.
        notices.extract_if(.., is_pending).map(|notice| notice.said).collect()
    }
}
