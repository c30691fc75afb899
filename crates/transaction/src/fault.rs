//! Faults: what can go wrong inside an instruction, and the errors they become.

use hotrow_base::interrupt::Interruption;
use hotrow_base::interrupt::current::Refusal;
use hotrow_base::memory::OutOfMemory;

use crate::outcome::SqlError;

/// Why an instruction fails. Small: the error itself is made on the way out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// an integer result needs more than this many bits
    IntRange {
        /// 16, 32 or 64
        bits: u8,
    },
    /// a zero divisor
    DivisionByZero,
    /// a numeric of more than 38 digits
    NumericRange,
    /// a float beyond its range
    FloatOverflow,
    /// a float too small for its range
    FloatUnderflow,
    /// too many loop iterations and visited rows
    StepBudget,
    /// too many bytes of text
    HeapFull,
    /// too many bytes of rows
    RowsFull,
    /// interrupted, or no room in its account of memory
    Refused(Refusal),
    /// any other, made already
    Error(Box<SqlError>),
}

impl Fault {
    /// A fault with a code and a message.
    #[cold]
    pub fn new(sqlstate: &[u8; 5], message: impl Into<String>) -> Self {
        Self::Error(Box::new(SqlError::new(sqlstate, message)))
    }

    /// The error, without its place.
    #[cold]
    pub fn into_error(self) -> SqlError {
        match self {
            Self::IntRange { bits } => SqlError::new(b"22003", int_range_message(bits)),
            Self::DivisionByZero => SqlError::new(b"22012", "division by zero"),
            Self::NumericRange => {
                let mut error = SqlError::new(b"22003", "numeric field overflow");
                error.detail = Some("A numeric has at most 38 digits.".into());
                error
            }
            Self::FloatOverflow => SqlError::new(b"22003", "value out of range: overflow"),
            Self::FloatUnderflow => SqlError::new(b"22003", "value out of range: underflow"),
            Self::StepBudget => {
                let mut error = SqlError::new(b"54000", "step budget exceeded");
                error.hint = Some(
                    "The call ran too many loop iterations or visited too many rows: bound its \
                     loops, add an index, or raise the step budget."
                        .into(),
                );
                error
            }
            Self::HeapFull => {
                let mut error = SqlError::new(b"54000", "too many bytes of text in one call");
                error.hint = Some("Split the call, or build shorter texts.".into());
                error
            }
            Self::RowsFull => {
                let mut error = SqlError::new(b"54000", "the rows of the statement are too large");
                error.hint = Some(
                    "Narrow it with WHERE or LIMIT, or ask for the rows in parts, by ranges of \
                     their key."
                        .into(),
                );
                error
            }
            Self::Refused(why) => why.into(),
            Self::Error(error) => *error,
        }
    }

    /// Whether it says that the call may not go on, whatever it computes.
    pub(crate) const fn is_budget(&self) -> bool {
        matches!(self, Self::StepBudget | Self::HeapFull | Self::Refused(_))
    }
}

impl From<Interruption> for Fault {
    fn from(why: Interruption) -> Self {
        Self::Refused(why.into())
    }
}

impl From<OutOfMemory> for Fault {
    fn from(why: OutOfMemory) -> Self {
        Self::Refused(why.into())
    }
}

impl From<SqlError> for Fault {
    fn from(error: SqlError) -> Self {
        Self::Error(Box::new(error))
    }
}

fn int_range_message(bits: u8) -> &'static str {
    match bits {
        16 => "smallint out of range",
        32 => "integer out of range",
        _ => "bigint out of range",
    }
}
