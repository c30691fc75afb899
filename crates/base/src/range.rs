//! Ranges: all values of a type that lie between two bounds.
//!
//! Role         values of `int4range` and its kin: what they are made of, how they are written,
//!              kept and ordered, and what their functions and operators give
//! Source       PostgreSQL 15's documentation, chapters "Range Types" and "Range Functions and
//!              Operators": results and errors are those
//! Invariants   I1 the bounds are in order, and a range that nothing lies in is the empty one
//!              I2 of integers and dates, a lower bound lies in the range and an upper one does
//!                 not, but for infinite dates: ranges of the same values are equal
//!              I3 a bound that is not there does not lie in the range

mod bytes;
mod call;
mod order;
mod text;

#[cfg(test)]
mod tests;

pub use call::{RangeFunction, call};
pub use order::Side;

use std::cmp::Ordering;

use crate::temporal::{date_in_range, is_finite_date};
use crate::types::{DataType, RangeKind};
use crate::value::{Value, ValueError};

type Result<T> = std::result::Result<T, ValueError>;

/// A range of one kind.
#[derive(Clone, Debug)]
pub struct Range {
    kind: RangeKind,
    /// the lower one and the upper one; none: it is empty
    bounds: Option<[Bound; 2]>,
}

/// Where a range begins or ends.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Bound {
    /// of the type of the range's elements; none: it goes on for ever
    pub value: Option<Value>,
    /// whether the value itself lies in the range
    pub inclusive: bool,
}

impl Range {
    /// The range in which nothing lies.
    pub const fn empty(kind: RangeKind) -> Self {
        Self { kind, bounds: None }
    }

    /// The range between two bounds, in its normal form.
    ///
    /// # Errors
    ///
    /// 22000: the lower bound is greater than the upper one. 22003, 22008: there is no integer or
    /// date behind the one that is left out or taken in.
    pub fn new(kind: RangeKind, lower: Bound, upper: Bound) -> Result<Self> {
        let range = Self::between(kind, lower, upper)?;
        let Some([lower, upper]) = range.bounds else { return Ok(range) };
        Self::between(kind, stepped(lower, false)?, stepped(upper, true)?)
    }

    /// A range with these bounds as they are.
    fn between(kind: RangeKind, lower: Bound, upper: Bound) -> Result<Self> {
        if let (Some(low), Some(high)) = (&lower.value, &upper.value) {
            match order::of_values(low, high) {
                Ordering::Less => {}
                Ordering::Equal if lower.inclusive && upper.inclusive => {}
                Ordering::Equal => return Ok(Self::empty(kind)),
                Ordering::Greater => {
                    return Err(ValueError::range(
                        "range lower bound must be less than or equal to range upper bound",
                    ));
                }
            }
        }
        let bounds = [lower, upper]
            .map(|bound| Bound { inclusive: bound.inclusive && bound.value.is_some(), ..bound });
        Ok(Self { kind, bounds: Some(bounds) })
    }

    /// What it is of.
    pub const fn kind(&self) -> RangeKind {
        self.kind
    }

    /// The lower bound and the upper one; none: it is empty.
    pub const fn bounds(&self) -> Option<&[Bound; 2]> {
        self.bounds.as_ref()
    }

    /// Bytes of memory that it takes, beside the value that points to it.
    pub fn bytes(&self) -> usize {
        let beside = |bound: &Bound| match &bound.value {
            Some(value) => value.bytes() - size_of::<Value>(),
            None => 0,
        };
        size_of::<Self>() + self.bounds.iter().flatten().map(beside).sum::<usize>()
    }
}

/// A bound of integers or dates that lies in the range below it or above it by one value: with that
/// value, where its normal form is the other way round.
fn stepped(bound: Bound, unless_inclusive: bool) -> Result<Bound> {
    if bound.inclusive != unless_inclusive {
        return Ok(bound);
    }
    let next = match bound.value {
        Some(Value::Int(value)) => value
            .checked_add(1)
            .map(Value::Int)
            .ok_or_else(|| ValueError::out_of_range(DataType::Integer))?,
        Some(Value::BigInt(value)) => value
            .checked_add(1)
            .map(Value::BigInt)
            .ok_or_else(|| ValueError::out_of_range(DataType::BigInt))?,
        Some(Value::Date(days)) if is_finite_date(days) => date_in_range(i64::from(days) + 1)
            .map(Value::Date)
            .ok_or_else(ValueError::date_out_of_range)?,
        value => return Ok(Bound { value, ..bound }),
    };
    Ok(Bound { value: Some(next), inclusive: !bound.inclusive })
}
