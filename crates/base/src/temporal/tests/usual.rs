//! Texts read and written as sessions begin.

use std::fmt::{Result as Written, Write};

use super::super::{Interval, TemporalError};
use crate::conventions::{Conventions, DateOrder, IntervalStyle, Style};
use crate::temporal;

pub(in crate::temporal) fn parse_date(text: &str) -> Result<i32, TemporalError> {
    temporal::parse_date(text, DateOrder::Mdy)
}

pub(in crate::temporal) fn parse_time(text: &str) -> Result<i64, TemporalError> {
    temporal::parse_time(text, DateOrder::Mdy)
}

pub(in crate::temporal) fn parse_timestamp(text: &str) -> Result<i64, TemporalError> {
    temporal::parse_timestamp(text, DateOrder::Mdy)
}

pub(in crate::temporal) fn parse_timestamp_tz(text: &str) -> Result<i64, TemporalError> {
    temporal::parse_timestamp_tz(text, Conventions::DEFAULT)
}

pub(in crate::temporal) fn parse_interval(text: &str) -> Result<Interval, TemporalError> {
    temporal::parse_interval(text, IntervalStyle::Postgres)
}

pub(in crate::temporal) fn write_date(days: i32, out: &mut impl Write) -> Written {
    temporal::write_date(days, Style::DEFAULT, out)
}

pub(in crate::temporal) fn write_timestamp(micros: i64, out: &mut impl Write) -> Written {
    temporal::write_timestamp(micros, Style::DEFAULT, out)
}

pub(in crate::temporal) fn write_timestamp_tz(micros: i64, out: &mut impl Write) -> Written {
    temporal::write_timestamp_tz(micros, Conventions::DEFAULT, out)
}

pub(in crate::temporal) fn write_interval(interval: Interval, out: &mut impl Write) -> Written {
    temporal::write_interval(interval, IntervalStyle::Postgres, out)
}
