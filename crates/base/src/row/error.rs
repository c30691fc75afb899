//! What can be wrong with a row.

use crate::ids::ColumnId;
use std::fmt;

/// Why a layout or a row could not be made. Names columns by number; the caller knows their names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowError {
    /// NULL for a column declared NOT NULL.
    NullInNotNull {
        /// the column
        column: ColumnId,
    },
    /// A number outside its column's range.
    OutOfRange {
        /// the column
        column: ColumnId,
    },
    /// More characters (varchar) or bytes (char) than the column holds.
    TooLong {
        /// the column
        column: ColumnId,
        /// the `n` of the column's type
        limit: u32,
    },
    /// The row, or the fixed part of every row of a layout, exceeds `ROW_WORDS_MAX`.
    RowTooLarge {
        /// words it would need
        words: usize,
    },
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NullInNotNull { column } => {
                write!(f, "null value in column {column} violates not-null constraint")
            }
            Self::OutOfRange { column } => write!(f, "value out of range for column {column}"),
            Self::TooLong { column, limit } => {
                write!(f, "value too long for column {column}, which holds {limit}")
            }
            Self::RowTooLarge { words } => {
                write!(f, "row of {words} words exceeds the limit of {}", super::ROW_WORDS_MAX)
            }
        }
    }
}

impl std::error::Error for RowError {}
