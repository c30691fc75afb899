//! What is drawn for a call before it is planned: numbers of sequences, a seed, and what the call
//! asks of the session.
//!
//! Role         the last parameters of a procedure, behind those that a caller gives. They are part
//!              of the call: its plan knows the keys it will insert, repetitions and the log's
//!              replay find the same values
//! Invariants   I1 a program takes the numbers of [`Draw::Numbers`] from the first one on, counting
//!              in a slot of its own, and ends with [`NUMBERS_SPENT`] where there are no more: then
//!              whoever made the call draws more, behind those, and makes it again
//!              I2 a program that ends well, or raises an error of its own, has told how many it
//!                 took ([`taken_by`])

use std::sync::Arc;

use hotrow_base::ids::TableId;
use hotrow_base::types::{DataType, SqlType};

use crate::needs::By;
use crate::outcome::{NUMBERS_SPENT, Notice, SqlError};

/// What one of a procedure's last parameters is drawn from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Draw {
    /// the next number of a sequence, for a place that is passed once
    Number(TableId),
    /// numbers of a sequence, for places that may be passed often: an array, as long as it takes
    Numbers(TableId),
    /// numbers of whatever sequences the call's texts ask for ([`crate::dynamic`]): an array of
    /// pairs, a sequence and a number of it
    AnyNumbers,
    /// 128 random bits, from which all random values of the call are computed: a UUID
    Seed,
    /// what the session says that makes the call
    Session(SessionDraw),
}

/// What a call asks of the session. It is a value of the call like others, so that the log's
/// replay, which has no session, finds what the call found.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SessionDraw {
    /// current_user, of the function that asks
    CurrentUser(By),
    /// the role whose rights a text runs with; NULL: the database's maker
    Role(By),
    /// session_user
    SessionUser,
    /// current_setting, and whether it may be unknown
    Setting(Arc<str>, bool),
    /// which policies of a table are of whoever asks ([`crate::catalog::Catalog::policies_of`])
    Policies {
        /// whose
        table: TableId,
        /// which version of them: their places are bits
        version: u32,
        /// who asks
        by: By,
    },
}

impl SessionDraw {
    /// The same, asked by what a function or a view does that has it in it.
    #[must_use]
    pub fn by(&self, others: &By) -> Self {
        let by = |own: &By| if *own == By::Caller { others.clone() } else { own.clone() };
        match self {
            Self::CurrentUser(own) => Self::CurrentUser(by(own)),
            Self::Role(own) => Self::Role(by(own)),
            Self::Policies { table, version, by: own } => {
                Self::Policies { table: *table, version: *version, by: by(own) }
            }
            other => other.clone(),
        }
    }
}

impl Draw {
    /// The type of its parameter.
    pub const fn sql_type(&self) -> SqlType {
        match self {
            Self::Number(_) => SqlType::Scalar(DataType::BigInt),
            Self::Numbers(_) | Self::AnyNumbers => SqlType::Array(DataType::BigInt),
            Self::Seed => SqlType::Scalar(DataType::Uuid),
            Self::Session(SessionDraw::Policies { .. }) => SqlType::Scalar(DataType::BigInt),
            Self::Session(_) => SqlType::Scalar(DataType::Text),
        }
    }

    /// The sequence that it is drawn from.
    pub const fn sequence(&self) -> Option<TableId> {
        match self {
            Self::Number(sequence) | Self::Numbers(sequence) => Some(*sequence),
            Self::AnyNumbers | Self::Seed | Self::Session(_) => None,
        }
    }
}

/// SQLSTATE of the notices by which a call tells how many numbers it took: its message is which
/// ([`Numbered`]), and how many. No client sees them.
pub const NUMBERS_TAKEN: [u8; 5] = *b"taken";

/// What numbers of a call are of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Numbered {
    /// of one of the procedure's draws, by its place among them
    Draw(usize),
    /// of a sequence, for one of its texts ([`Draw::AnyNumbers`])
    Of(TableId),
}

impl Numbered {
    /// As messages tell it.
    pub fn told(self) -> String {
        match self {
            Self::Draw(draw) => draw.to_string(),
            Self::Of(sequence) => format!("of {}", sequence.0),
        }
    }

    fn of(told: &str) -> Option<Self> {
        match told.strip_prefix("of ") {
            Some(sequence) => sequence.parse().ok().map(|of| Self::Of(TableId(of))),
            None => told.parse().ok().map(Self::Draw),
        }
    }
}

/// What a call wants more numbers of.
pub fn spent_by(error: &SqlError) -> Option<Numbered> {
    if error.sqlstate == NUMBERS_SPENT { Numbered::of(&error.message) } else { None }
}

/// Which numbers a notice tells of, and how many were taken.
pub fn taken_by(notice: &Notice) -> Option<(Numbered, usize)> {
    if notice.said.sqlstate != NUMBERS_TAKEN {
        return None;
    }
    let (of, count) = notice.said.message.rsplit_once(' ')?;
    Some((Numbered::of(of)?, count.parse().ok()?))
}
