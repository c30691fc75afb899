//! What is drawn for a call before it is planned: numbers of sequences, and a seed.
//!
//! Role         the last parameters of a procedure, behind those that a caller gives. They are part
//!              of the call: its plan knows the keys it will insert, repetitions and the log's
//!              replay find the same values
//! Invariants   I1 a program takes the numbers of [`Draw::Numbers`] from the first one on, counting
//!              in a slot of its own, and ends with [`NUMBERS_SPENT`] where there are no more: then
//!              whoever made the call draws more, behind those, and makes it again
//!              I2 a program that ends well, or raises an error of its own, has told how many it
//!                 took ([`taken_by`])

use hotrow_base::ids::TableId;
use hotrow_base::types::{DataType, SqlType};

use crate::outcome::{Notice, SqlError};

/// What one of a procedure's last parameters is drawn from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Draw {
    /// the next number of a sequence, for a place that is passed once
    Number(TableId),
    /// numbers of a sequence, for places that may be passed often: an array, as long as it takes
    Numbers(TableId),
    /// 128 random bits, from which all random values of the call are computed: a UUID
    Seed,
}

impl Draw {
    /// The type of its parameter.
    pub const fn sql_type(self) -> SqlType {
        match self {
            Self::Number(_) => SqlType::Scalar(DataType::BigInt),
            Self::Numbers(_) => SqlType::Array(DataType::BigInt),
            Self::Seed => SqlType::Scalar(DataType::Uuid),
        }
    }

    /// The sequence that it is drawn from.
    pub const fn sequence(self) -> Option<TableId> {
        match self {
            Self::Number(sequence) | Self::Numbers(sequence) => Some(sequence),
            Self::Seed => None,
        }
    }
}

/// SQLSTATE of the error by which a call asks for more numbers; its message is which of the
/// procedure's draws they are. No client sees it, and none can raise it: RAISE takes no small
/// letters.
pub const NUMBERS_SPENT: [u8; 5] = *b"spent";

/// SQLSTATE of the notices by which a call tells how many numbers it took: its message is which of
/// the procedure's draws they are, and how many. No client sees them.
pub const NUMBERS_TAKEN: [u8; 5] = *b"taken";

/// Which of a procedure's draws a call wants more numbers of.
pub fn spent_by(error: &SqlError) -> Option<usize> {
    if error.sqlstate == NUMBERS_SPENT { error.message.parse().ok() } else { None }
}

/// Which of a procedure's draws a notice tells of, and how many numbers were taken.
pub fn taken_by(notice: &Notice) -> Option<(usize, usize)> {
    if notice.said.sqlstate != NUMBERS_TAKEN {
        return None;
    }
    let (draw, count) = notice.said.message.split_once(' ')?;
    Some((draw.parse().ok()?, count.parse().ok()?))
}
