//! What can be wrong with a key.

use std::fmt;

/// Why a key could not be made or read. Names parts by number; the caller knows their columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyError {
    /// NULL for a part that is NOT NULL: no row can have this key.
    NullInNotNull {
        /// the part
        part: usize,
    },
    /// A value its part's type cannot hold: no row can have this key.
    OutOfRange {
        /// the part
        part: usize,
    },
    /// The key exceeds `KEY_BYTES_MAX`.
    TooLong {
        /// bytes it would need, as far as they were counted
        bytes: usize,
    },
    /// Bytes that no key of the layout has.
    Malformed {
        /// the part at which reading stopped
        part: usize,
    },
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NullInNotNull { part } => write!(f, "null value in key part {part}"),
            Self::OutOfRange { part } => write!(f, "value out of range for key part {part}"),
            Self::TooLong { bytes } => {
                write!(f, "key of {bytes} bytes exceeds the limit of {}", super::KEY_BYTES_MAX)
            }
            Self::Malformed { part } => write!(f, "key is malformed at part {part}"),
        }
    }
}

impl std::error::Error for KeyError {}
