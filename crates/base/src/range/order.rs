//! The order of bounds and of ranges.

use std::cmp::Ordering;

use super::{Bound, Range};
use crate::value::Value;

/// Which end of a range a bound is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// the first
    Lower,
    /// the last
    Upper,
}

/// The order of two values of one kind of ranges.
pub(super) fn of_values(one: &Value, other: &Value) -> Ordering {
    use Value as V;
    match (one, other) {
        (V::Int(a), V::Int(b)) | (V::Date(a), V::Date(b)) => a.cmp(b),
        (V::BigInt(a), V::BigInt(b))
        | (V::Timestamp(a), V::Timestamp(b))
        | (V::TimestampTz(a), V::TimestampTz(b)) => a.cmp(b),
        _ => one.to_any_numeric().cmp(&other.to_any_numeric()),
    }
}

/// The order of two bounds' places: one that goes on for ever lies before or behind all others, and
/// of two with one value, that which leaves it out lies on the inner side of it.
pub(super) fn of_bounds(one: (&Bound, Side), other: (&Bound, Side)) -> Ordering {
    match (&one.0.value, &other.0.value) {
        (None, None) => side_rank(one.1).cmp(&side_rank(other.1)),
        (None, Some(_)) => side_rank(one.1).cmp(&0),
        (Some(_), None) => 0.cmp(&side_rank(other.1)),
        (Some(a), Some(b)) => of_values(a, b).then_with(|| place(one).cmp(&place(other))),
    }
}

/// As [`of_bounds`], without a look at whether the values lie in the range.
pub(super) fn of_bound_values(one: (&Bound, Side), other: (&Bound, Side)) -> Ordering {
    match (&one.0.value, &other.0.value) {
        (Some(a), Some(b)) => of_values(a, b),
        _ => of_bounds(one, other),
    }
}

const fn side_rank(side: Side) -> i8 {
    match side {
        Side::Lower => -1,
        Side::Upper => 1,
    }
}

/// Where a bound lies beside its value.
const fn place((bound, side): (&Bound, Side)) -> i8 {
    if bound.inclusive { 0 } else { -side_rank(side) }
}

impl PartialEq for Range {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.cmp(other).is_eq()
    }
}

impl Eq for Range {}

impl PartialOrd for Range {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The empty range first, then by the lower bounds, then by the upper ones.
impl Ord for Range {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.bounds, &other.bounds) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some([lower, upper]), Some([low, high])) => {
                of_bounds((lower, Side::Lower), (low, Side::Lower))
                    .then_with(|| of_bounds((upper, Side::Upper), (high, Side::Upper)))
            }
        }
    }
}
