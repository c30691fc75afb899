//! What functions and operators of ranges give.

use std::cmp::Ordering;

use super::order::{of_bound_values, of_bounds, of_values};
use super::{Bound, Range, Result, Side};
use crate::types::DataType;
use crate::value::{Value, ValueError};

/// A function or an operator. NULL in any argument gives NULL, but for the constructor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RangeFunction {
    /// int4range(lower, upper [, flags]): of the result's type
    Make,
    /// lower(range)
    Lower,
    /// upper(range)
    Upper,
    /// isempty(range)
    IsEmpty,
    /// lower_inc(range)
    LowerInclusive,
    /// upper_inc(range)
    UpperInclusive,
    /// lower_inf(range)
    LowerInfinite,
    /// upper_inf(range)
    UpperInfinite,
    /// `range @> range`
    Contains,
    /// `range <@ range`
    ContainedBy,
    /// `range @> element`
    ContainsElement,
    /// `element <@ range`
    ElementOf,
    /// `range && range`
    Overlaps,
    /// `range << range`
    Before,
    /// `range >> range`
    After,
    /// `range &< range`
    NotBeyond,
    /// `range &> range`
    NotBelow,
    /// `range -|- range`
    Adjacent,
    /// `range + range`
    Union,
    /// range_merge(range, range): as the union, with what lies between them
    Merge,
    /// `range * range`
    Intersection,
    /// `range - range`
    Difference,
}

impl RangeFunction {
    /// What it is called by: the sign of an operator, or the name of a function. The constructor
    /// has the name of its type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Make => "range",
            Self::Lower => "lower",
            Self::Upper => "upper",
            Self::IsEmpty => "isempty",
            Self::LowerInclusive => "lower_inc",
            Self::UpperInclusive => "upper_inc",
            Self::LowerInfinite => "lower_inf",
            Self::UpperInfinite => "upper_inf",
            Self::Contains | Self::ContainsElement => "@>",
            Self::ContainedBy | Self::ElementOf => "<@",
            Self::Overlaps => "&&",
            Self::Before => "<<",
            Self::After => ">>",
            Self::NotBeyond => "&<",
            Self::NotBelow => "&>",
            Self::Adjacent => "-|-",
            Self::Union => "+",
            Self::Merge => "range_merge",
            Self::Intersection => "*",
            Self::Difference => "-",
        }
    }
}

/// Calls a function, whose result is of type `gives`.
///
/// # Errors
///
/// 22000: no range is the result; 42601: the constructor's flags are none. Those of [`Range::new`].
pub fn call(function: RangeFunction, arguments: &[Value], gives: DataType) -> Result<Value> {
    use RangeFunction as F;
    if function == F::Make {
        return made(arguments, gives);
    }
    if arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    Ok(match (function, arguments) {
        (F::ContainsElement, [Value::Range(range), element])
        | (F::ElementOf, [element, Value::Range(range)]) => Value::Bool(range.contains(element)),
        (_, [Value::Range(range)]) => of_one(function, range),
        (_, [Value::Range(one), Value::Range(other)]) if one.kind == other.kind => match function {
            F::Union => one.union(other, Gap::Refused)?.into(),
            F::Merge => one.union(other, Gap::Filled)?.into(),
            F::Intersection => one.intersection(other)?.into(),
            F::Difference => one.difference(other)?.into(),
            _ => Value::Bool(one.compares(function, other)),
        },
        _ => Value::Null,
    })
}

fn made(arguments: &[Value], gives: DataType) -> Result<Value> {
    let DataType::Range(kind) = gives else { return Ok(Value::Null) };
    let [lower, upper, flags @ ..] = arguments else { return Ok(Value::Null) };
    let (lower_in, upper_in) = match flags.first() {
        None => (true, false),
        Some(Value::Text(flags)) => match flags.as_str() {
            "[]" => (true, true),
            "[)" => (true, false),
            "(]" => (false, true),
            "()" => (false, false),
            _ => return Err(ValueError::range_flags()),
        },
        Some(_) => {
            let message = "range constructor flags argument must not be null";
            return Err(ValueError::range(message));
        }
    };
    let bound = |value: &Value, inclusive| Bound {
        value: Some(value.clone()).filter(|value| !value.is_null()),
        inclusive,
    };
    Range::new(kind, bound(lower, lower_in), bound(upper, upper_in)).map(Value::from)
}

fn of_one(function: RangeFunction, range: &Range) -> Value {
    use RangeFunction as F;
    let Some([lower, upper]) = &range.bounds else {
        return match function {
            F::Lower | F::Upper => Value::Null,
            function => Value::Bool(function == F::IsEmpty),
        };
    };
    match function {
        F::Lower => lower.value.clone().unwrap_or_default(),
        F::Upper => upper.value.clone().unwrap_or_default(),
        F::LowerInclusive => Value::Bool(lower.inclusive),
        F::UpperInclusive => Value::Bool(upper.inclusive),
        F::LowerInfinite => Value::Bool(lower.value.is_none()),
        F::UpperInfinite => Value::Bool(upper.value.is_none()),
        _ => Value::Bool(false),
    }
}

/// What becomes of what lies between two ranges.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    Refused,
    Filled,
}

impl Range {
    /// Whether a value lies in the range.
    fn contains(&self, element: &Value) -> bool {
        let Some([lower, upper]) = &self.bounds else { return false };
        let is_within = |bound: &Bound, beyond: Ordering| match &bound.value {
            None => true,
            Some(value) => match of_values(element, value) {
                Ordering::Equal => bound.inclusive,
                ordering => ordering != beyond,
            },
        };
        is_within(lower, Ordering::Less) && is_within(upper, Ordering::Greater)
    }

    /// What an operator says of two ranges.
    fn compares(&self, function: RangeFunction, other: &Self) -> bool {
        use RangeFunction as F;
        match function {
            F::Contains => return self.includes(other),
            F::ContainedBy => return other.includes(self),
            _ => {}
        }
        let (Some([lower, upper]), Some([low, high])) = (&self.bounds, &other.bounds) else {
            return false;
        };
        let (lower, upper) = ((lower, Side::Lower), (upper, Side::Upper));
        let (low, high) = ((low, Side::Lower), (high, Side::Upper));
        match function {
            F::Overlaps => of_bounds(lower, high).is_le() && of_bounds(low, upper).is_le(),
            F::Before => of_bounds(upper, low).is_lt(),
            F::After => of_bounds(lower, high).is_gt(),
            F::NotBeyond => of_bounds(upper, high).is_le(),
            F::NotBelow => of_bounds(lower, low).is_ge(),
            F::Adjacent => self.meet(upper.0, low.0) || self.meet(high.0, lower.0),
            _ => false,
        }
    }

    fn includes(&self, other: &Self) -> bool {
        match (&self.bounds, &other.bounds) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some([lower, upper]), Some([low, high])) => {
                of_bounds((lower, Side::Lower), (low, Side::Lower)).is_le()
                    && of_bounds((upper, Side::Upper), (high, Side::Upper)).is_ge()
            }
        }
    }

    /// Whether nothing lies between an upper bound and a lower one, and nothing in both.
    fn meet(&self, upper: &Bound, lower: &Bound) -> bool {
        match of_bound_values((upper, Side::Upper), (lower, Side::Lower)) {
            Ordering::Equal => upper.inclusive != lower.inclusive,
            Ordering::Greater => false,
            Ordering::Less => {
                let between = Self::new(self.kind, turned(upper), turned(lower));
                between.is_ok_and(|between| between.bounds.is_none())
            }
        }
    }

    fn union(&self, other: &Self, gap: Gap) -> Result<Self> {
        let (Some([lower, upper]), Some([low, high])) = (&self.bounds, &other.bounds) else {
            let one = if self.bounds.is_none() { other } else { self };
            return Ok(one.clone());
        };
        let touches = |function| self.compares(function, other);
        let is_one = touches(RangeFunction::Overlaps) || touches(RangeFunction::Adjacent);
        if gap == Gap::Refused && !is_one {
            return Err(ValueError::range("result of range union would not be contiguous"));
        }
        let is_first = of_bounds((lower, Side::Lower), (low, Side::Lower)).is_lt();
        let is_last = of_bounds((upper, Side::Upper), (high, Side::Upper)).is_gt();
        let first = if is_first { lower } else { low };
        let last = if is_last { upper } else { high };
        Self::new(self.kind, first.clone(), last.clone())
    }

    fn intersection(&self, other: &Self) -> Result<Self> {
        let (Some([lower, upper]), Some([low, high])) = (&self.bounds, &other.bounds) else {
            return Ok(Self::empty(self.kind));
        };
        if !self.compares(RangeFunction::Overlaps, other) {
            return Ok(Self::empty(self.kind));
        }
        let is_later = of_bounds((lower, Side::Lower), (low, Side::Lower)).is_ge();
        let is_earlier = of_bounds((upper, Side::Upper), (high, Side::Upper)).is_le();
        let first = if is_later { lower } else { low };
        let last = if is_earlier { upper } else { high };
        Self::new(self.kind, first.clone(), last.clone())
    }

    fn difference(&self, other: &Self) -> Result<Self> {
        let (Some([lower, upper]), Some([low, high])) = (&self.bounds, &other.bounds) else {
            return Ok(self.clone());
        };
        if !self.compares(RangeFunction::Overlaps, other) {
            return Ok(self.clone());
        }
        let begins_before = of_bounds((lower, Side::Lower), (low, Side::Lower)).is_lt();
        let ends_behind = of_bounds((upper, Side::Upper), (high, Side::Upper)).is_gt();
        match (begins_before, ends_behind) {
            (true, true) => {
                Err(ValueError::range("result of range difference would not be contiguous"))
            }
            (true, false) => Self::new(self.kind, lower.clone(), turned(low)),
            (false, true) => Self::new(self.kind, turned(high), upper.clone()),
            (false, false) => Ok(Self::empty(self.kind)),
        }
    }
}

/// The bound of what lies on the other side of a bound.
fn turned(bound: &Bound) -> Bound {
    Bound { inclusive: !bound.inclusive, ..bound.clone() }
}
