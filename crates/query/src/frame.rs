//! Frames of windows: which rows of a partition a function sees at a row.
//!
//! Source       PostgreSQL's documentation, section "Window Function Calls": offsets of RANGE are
//!              added to the value that orders the rows; where that leaves the type's range, the
//!              bound is beyond all rows. NULLs, and NaN, have their peers only

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use crate::plan::{Exclusion, FrameBound, FrameUnits, SortKey, Window};
use hotrow_base::any_numeric::AnyNumeric;
use hotrow_base::temporal::{Interval, MICROS_PER_DAY, TimeZone, add_interval_in, is_finite_date};
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;

use crate::host::integer;
use crate::order::compare;
use crate::window::Partition;

/// Rows that the order of a partition leaves equal.
pub(crate) struct Peers {
    /// the first row of each group, and the end
    starts: Vec<usize>,
    /// by row
    groups: Vec<usize>,
}

impl Peers {
    /// `differs`: whether a row, which is not the first, differs from the one before.
    pub(crate) fn new(rows: usize, differs: impl Fn(usize) -> bool) -> Self {
        let (mut starts, mut groups) = (Vec::new(), Vec::with_capacity(rows));
        for at in 0..rows {
            if at == 0 || differs(at) {
                starts.push(at);
            }
            groups.push(starts.len() - 1);
        }
        starts.push(rows);
        Self { starts, groups }
    }

    /// The number of a row's group.
    pub(crate) fn group(&self, at: usize) -> usize {
        self.groups[at]
    }

    /// A row's peers, itself among them.
    pub(crate) fn of(&self, at: usize) -> Range<usize> {
        let group = self.groups[at];
        self.starts[group]..self.starts[group + 1]
    }

    /// Where a group begins; the end of the rows for one behind the last.
    fn start(&self, group: usize) -> usize {
        let end = self.starts.len() - 1;
        self.starts[group.min(end)]
    }
}

/// An end of a frame, its offset computed.
#[derive(Clone, Copy)]
enum End<'r> {
    Unbounded,
    Current,
    /// rows, groups or values away, towards the partition's beginning
    Before(&'r Value),
    After(&'r Value),
}

/// The frame of each row.
///
/// # Errors
///
/// 22004 and 22013 for an offset that is NULL or negative.
pub(crate) fn frames(
    partition: &Partition<'_>,
    window: &Window,
    peers: &Peers,
) -> Result<Vec<Range<usize>>, SqlError> {
    let count = partition.rows.len();
    let Some(frame) = &window.frame else {
        return Ok((0..count).map(|at| 0..peers.of(at).end).collect());
    };
    let start = end_of(partition, frame.start, "starting", frame.units)?;
    let end = end_of(partition, frame.end, "ending", frame.units)?;
    let keys = window.order.first().map(|key| Keys::new(partition, key));
    let bound = |at: usize, end: End<'_>, is_start: bool| -> Result<usize, SqlError> {
        Ok(match (frame.units, end) {
            (_, End::Unbounded) if is_start => 0,
            (_, End::Unbounded) => count,
            (FrameUnits::Rows, End::Current) => at + usize::from(!is_start),
            (_, End::Current) => {
                let peers = peers.of(at);
                if is_start { peers.start } else { peers.end }
            }
            (FrameUnits::Rows, End::Before(by)) => {
                (at + usize::from(!is_start)).saturating_sub(steps(by))
            }
            (FrameUnits::Rows, End::After(by)) => {
                at.saturating_add(steps(by)).saturating_add(usize::from(!is_start)).min(count)
            }
            (FrameUnits::Groups, End::Before(by)) => {
                let group = peers.group(at) + usize::from(!is_start);
                peers.start(group.saturating_sub(steps(by)))
            }
            (FrameUnits::Groups, End::After(by)) => {
                let group = peers.group(at) + usize::from(!is_start);
                peers.start(group.saturating_add(steps(by)))
            }
            (FrameUnits::Range, End::Before(_) | End::After(_)) => match &keys {
                Some(keys) => keys.bound(partition, peers, (at, end), is_start)?,
                None => at,
            },
        })
    };
    let frame = |at: usize| -> Result<Range<usize>, SqlError> {
        let (start, end) = (bound(at, start, true)?, bound(at, end, false)?);
        Ok(start..end.max(start))
    };
    (0..count).map(frame).collect()
}

/// The rows of a frame that are not left out, in order: before the ones that are, among them, and
/// behind them.
pub(crate) fn kept_rows(
    frame: &Range<usize>,
    exclusion: Exclusion,
    at: usize,
    peers: &Peers,
) -> [Range<usize>; 3] {
    let left_out = match exclusion {
        Exclusion::NoOthers => return [frame.clone(), 0..0, 0..0],
        Exclusion::CurrentRow => at..at + 1,
        Exclusion::Group | Exclusion::Ties => peers.of(at),
    };
    let within = |at: usize| at.clamp(frame.start, frame.end);
    let is_kept = exclusion == Exclusion::Ties && frame.contains(&at);
    let among = if is_kept { at..at + 1 } else { 0..0 };
    [frame.start..within(left_out.start), among, within(left_out.end)..frame.end]
}

fn end_of<'r>(
    partition: &'r Partition<'_>,
    bound: FrameBound,
    which: &str,
    units: FrameUnits,
) -> Result<End<'r>, SqlError> {
    let (slot, before) = match bound {
        FrameBound::Unbounded => return Ok(End::Unbounded),
        FrameBound::Current => return Ok(End::Current),
        FrameBound::Before(slot) => (slot, true),
        FrameBound::After(slot) => (slot, false),
    };
    let by = partition.offset(slot);
    if by.is_null() {
        let message = format!("frame {which} offset must not be null");
        return Err(SqlError::new(b"22004", message));
    }
    let is_negative = match by {
        Value::Double(by) => *by < 0.0 || by.is_nan(),
        Value::AnyNumeric(by) if **by == AnyNumeric::NaN => true,
        Value::Interval(by) => by.span() < 0,
        by => compare(by, &Value::Int(0)).is_lt(),
    };
    if is_negative && units == FrameUnits::Range {
        let message = "invalid preceding or following size in window function";
        return Err(SqlError::new(b"22013", message));
    }
    if is_negative {
        let message = format!("frame {which} offset must not be negative");
        return Err(SqlError::new(b"22013", message));
    }
    Ok(if before { End::Before(by) } else { End::After(by) })
}

fn steps(by: &Value) -> usize {
    match by {
        Value::BigInt(by) => usize::try_from(*by).unwrap_or(usize::MAX),
        _ => 0,
    }
}

/// The values that order a partition's rows.
struct Keys<'w> {
    key: &'w SortKey,
    /// rows whose value may be computed with: neither NULL nor NaN
    known: Range<usize>,
}

impl<'w> Keys<'w> {
    fn new(partition: &Partition<'_>, key: &'w SortKey) -> Self {
        let is_known = |at: &usize| match partition.value(*at, key.slot) {
            Value::Null => false,
            Value::Real(value) => !value.is_nan(),
            Value::Double(value) => !value.is_nan(),
            Value::AnyNumeric(value) => **value != AnyNumeric::NaN,
            _ => true,
        };
        let start = (0..partition.rows.len()).find(is_known).unwrap_or_default();
        let known = (start..partition.rows.len()).take_while(is_known).count();
        Self { key, known: start..start + known }
    }

    /// Where the rows begin, or end, that are so far from a row's value.
    fn bound(
        &self,
        partition: &Partition<'_>,
        peers: &Peers,
        (at, end): (usize, End<'_>),
        is_start: bool,
    ) -> Result<usize, SqlError> {
        if !self.known.contains(&at) {
            let peers = peers.of(at);
            return Ok(if is_start { peers.start } else { peers.end });
        }
        let (by, before) = match end {
            End::Before(by) => (by, true),
            End::After(by) => (by, false),
            End::Unbounded | End::Current => return Ok(at),
        };
        let base = comparable(partition.value(at, self.key.slot), by);
        let limit = match shifted(&base, by, before != self.key.descending)? {
            Limit::Nowhere if is_start => return Ok(self.known.start),
            Limit::Nowhere => return Ok(self.known.end),
            Limit::At(limit) => Ok(limit),
            Limit::Beyond(ordering) => Err(ordering),
        };
        // Rows that come before the limit, in the partition's order.
        let is_outside = |row: usize| {
            let value = comparable(partition.value(row, self.key.slot), by);
            let ordering = match &limit {
                Ok(limit) => compare(&value, limit),
                Err(beyond) => beyond.reverse(),
            };
            let ordering = if self.key.descending { ordering.reverse() } else { ordering };
            if is_start { ordering.is_lt() } else { ordering.is_le() }
        };
        let (mut from, mut to) = (self.known.start, self.known.end);
        while from < to {
            let middle = from.midpoint(to);
            if is_outside(middle) { from = middle + 1 } else { to = middle }
        }
        Ok(from)
    }
}

/// A value as offsets are added to it: a date is the timestamp of its midnight, those beyond all
/// timestamps the last one.
fn comparable<'v>(value: &'v Value, by: &Value) -> Cow<'v, Value> {
    let (Value::Date(day), Value::Interval(_)) = (value, by) else { return Cow::Borrowed(value) };
    let day_micros = i64::from(*day).saturating_mul(MICROS_PER_DAY);
    let is_last = *day > 0 && !is_finite_date(*day);
    Cow::Owned(Value::Timestamp(match is_finite_date(*day) {
        true => day_micros,
        false if is_last => i64::MAX,
        false => i64::MIN,
    }))
}

/// Where a value less or more an offset lies.
enum Limit {
    At(Value),
    /// on this side of all values
    Beyond(Ordering),
    /// infinity less itself: no row is too far from there
    Nowhere,
}

impl Limit {
    fn of(value: Option<Value>, beyond: Ordering) -> Self {
        value.map_or(Self::Beyond(beyond), Self::At)
    }
}

/// A value less or more an offset, which is not negative.
fn shifted(base: &Value, by: &Value, less: bool) -> Result<Limit, SqlError> {
    let beyond = if less { Ordering::Less } else { Ordering::Greater };
    let float = |value: &Value| match value {
        Value::Real(x) => Some(f64::from(*x)),
        Value::Double(x) => Some(*x),
        _ => None,
    };
    Ok(match (base, by) {
        (Value::Numeric(_) | Value::AnyNumeric(_), _) => {
            let pair = base.to_any_numeric().zip(by.to_any_numeric());
            let sum = pair.map(|(base, by)| if less { base.subtract(&by) } else { base.add(&by) });
            match sum {
                Some(Ok(AnyNumeric::NaN)) => Limit::Nowhere,
                Some(Ok(sum)) => Limit::At(sum.into()),
                Some(Err(_)) | None => Limit::Beyond(beyond),
            }
        }
        (Value::Timestamp(at) | Value::TimestampTz(at), Value::Interval(by)) => {
            let zone = match base {
                Value::TimestampTz(_) => TimeZone::current(),
                _ => TimeZone::UTC,
            };
            let moved = signed(*by, less).and_then(|by| add_interval_in(*at, by, zone));
            let out_of_range = || SqlError::new(b"22008", "timestamp out of range");
            Limit::At(Value::Timestamp(moved.ok_or_else(out_of_range)?))
        }
        // Months and days of an offset do not move a time, and it does not go round the clock.
        (Value::Time(at), Value::Interval(by)) => {
            let by = if less { by.micros.checked_neg() } else { Some(by.micros) };
            Limit::of(by.and_then(|by| at.checked_add(by)).map(Value::Time), beyond)
        }
        (Value::Interval(base), Value::Interval(by)) => {
            let sum = signed(*by, less).and_then(|by| base.plus(by));
            let out_of_range = || SqlError::new(b"22008", "interval out of range");
            Limit::At(Value::Interval(sum.ok_or_else(out_of_range)?))
        }
        _ => match (integer(base), integer(by), float(base), float(by)) {
            (Some(base), Some(by), ..) => {
                let sum = if less { base.checked_sub(by) } else { base.checked_add(by) };
                Limit::of(sum.map(Value::BigInt), beyond)
            }
            (_, _, Some(base), Some(by)) => {
                let sum = if less { base - by } else { base + by };
                if sum.is_nan() { Limit::Nowhere } else { Limit::At(Value::Double(sum)) }
            }
            _ => Limit::Beyond(beyond),
        },
    })
}

fn signed(by: Interval, less: bool) -> Option<Interval> {
    if less { by.negated() } else { Some(by) }
}
