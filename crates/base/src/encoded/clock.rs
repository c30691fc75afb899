//! Times of day with a zone: when it is in Greenwich, then how far to the west of it the zone is,
//! both with the highest byte first and the sign inverted.

use std::fmt;

use super::{Encoded, EncodedType, Result};
use crate::conventions::Conventions;
use crate::temporal::{
    self, MICROS_PER_DAY, MICROS_PER_SECOND, rounded_time, time_of_day, write_offset, write_time,
};
use crate::types::TIME_DIGITS;
use crate::value::ValueError;

/// A time of day, and the offset of the zone that it is shown in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZonedTime {
    /// microseconds since midnight there
    pub micros: i64,
    /// seconds east of Greenwich
    pub offset: i32,
}

impl ZonedTime {
    /// A time of day; without a zone it is in the session's, as that is in winter: a text says no
    /// date, and what it means must not depend on the day.
    pub(super) fn parse(text: &str, of: EncodedType) -> Result<Self> {
        let read = temporal::parse_time_tz(text.trim_ascii(), Conventions::current());
        let (micros, offset) =
            read.map_err(|error| ValueError::temporal(of.into(), text, error))?;
        Ok(Self { micros, offset })
    }

    /// The value as it is kept.
    pub fn encoded(self) -> Encoded {
        let greenwich = self.micros - i64::from(self.offset) * MICROS_PER_SECOND;
        let west = -self.offset;
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&(greenwich ^ i64::MIN).to_be_bytes());
        bytes[8..].copy_from_slice(&(west ^ i32::MIN).to_be_bytes());
        EncodedType::TimeTz(TIME_DIGITS).read(&bytes)
    }

    /// What bytes stand for.
    pub fn read(bytes: &[u8]) -> Self {
        let read = || {
            let greenwich = i64::from_be_bytes(bytes.get(..8)?.try_into().ok()?) ^ i64::MIN;
            let west = i32::from_be_bytes(bytes.get(8..12)?.try_into().ok()?) ^ i32::MIN;
            let offset = west.checked_neg()?;
            let micros = greenwich.checked_add(i64::from(offset) * MICROS_PER_SECOND)?;
            Some(Self { micros, offset })
        };
        read().unwrap_or(Self { micros: 0, offset: 0 })
    }

    /// The time with so many digits of a second.
    #[must_use]
    pub fn rounded(self, digits: u8) -> Self {
        Self { micros: rounded_time(self.micros, digits), ..self }
    }

    /// What another zone's clock shows then.
    pub fn shown_at(self, offset: i32) -> Self {
        let moved = i64::from(offset - self.offset) * MICROS_PER_SECOND;
        Self { micros: time_of_day(self.micros + moved), offset }
    }

    /// As much later, on whichever day that is.
    pub fn later(self, micros: i64) -> Self {
        let micros = time_of_day(self.micros + micros % MICROS_PER_DAY);
        Self { micros, ..self }
    }
}

impl fmt::Display for ZonedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_time(self.micros, f)?;
        write_offset(self.offset, f)
    }
}
