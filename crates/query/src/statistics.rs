//! Aggregates of statistics: variances, deviations, regressions, bits, and what lies in all ranges.
//!
//! Source       PostgreSQL 15, `numeric.c` (sums of numerics are exact) and `float.c` (of floats as
//!              E. A. Youngs and E. M. Cramer, Some Results Relevant to Choice of Sum and
//!              Sum-of-Product Algorithms, Technometrics 13 (1971), have it), so that results have
//!              the same digits

use hotrow_base::any_numeric::{AnyNumeric, NumericError};
use hotrow_base::range::{self, RangeFunction};
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::fault::Fault;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::BitFunction;

/// How far values are from their mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// variance, var_samp
    VarianceOfSample,
    /// var_pop
    VarianceOfPopulation,
    /// stddev, stddev_samp
    DeviationOfSample,
    /// stddev_pop
    DeviationOfPopulation,
}

/// What is computed of pairs (y, x).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Regression {
    /// regr_count
    Count,
    /// regr_sxx
    SquaresOfX,
    /// regr_syy
    SquaresOfY,
    /// regr_sxy
    Products,
    /// regr_avgx
    MeanOfX,
    /// regr_avgy
    MeanOfY,
    /// covar_pop
    CovarianceOfPopulation,
    /// covar_samp
    CovarianceOfSample,
    /// corr
    Correlation,
    /// regr_r2
    Determination,
    /// regr_slope
    Slope,
    /// regr_intercept
    Intercept,
}

/// What is known of the values so far.
pub(crate) enum Statistic {
    /// of integers and numerics
    Exact { of: Spread, count: i64, sum: AnyNumeric, squares: AnyNumeric },
    /// of floats
    Float { of: Spread, sums: Sums },
    /// of pairs of floats
    Pair { of: Regression, sums: Sums },
    /// none: no value so far
    Bits { of: BitFunction, bits: Option<Value> },
    /// none: no range so far
    Intersection { range: Option<Value> },
}

/// Sums of floats, and of the squares of what they are away from their mean.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sums {
    count: f64,
    x: f64,
    xx: f64,
    y: f64,
    yy: f64,
    xy: f64,
}

impl Statistic {
    pub(crate) fn spread(of: Spread, data_type: DataType) -> Self {
        match data_type.is_float() {
            true => Self::Float { of, sums: Sums::default() },
            false => Self::Exact { of, count: 0, sum: AnyNumeric::ZERO, squares: AnyNumeric::ZERO },
        }
    }

    pub(crate) fn pair(of: Regression) -> Self {
        Self::Pair { of, sums: Sums::default() }
    }

    pub(crate) fn bits(of: BitFunction) -> Self {
        Self::Bits { of, bits: None }
    }

    pub(crate) fn intersection() -> Self {
        Self::Intersection { range: None }
    }

    /// Takes a value, and the second one of a pair; NULL counts as no row.
    pub(crate) fn add(&mut self, value: &Value, other: Option<&Value>) -> Result<(), SqlError> {
        match self {
            Self::Exact { count, sum, squares, .. } => {
                let Some(value) = value.to_any_numeric() else { return Ok(()) };
                *count += 1;
                *sum = sum.add(&value).map_err(error)?;
                *squares = squares.add(&value.multiply(&value).map_err(error)?).map_err(error)?;
                Ok(())
            }
            Self::Float { sums, .. } => sums.add(float(value), 0.0, |square, by| square / by),
            Self::Pair { sums, .. } => match other {
                None | Some(Value::Null) => Ok(()),
                // Of (y, x), as SQL writes them.
                Some(other) => {
                    sums.add(float(other), float(value), |square, by| square * (1.0 / by))
                }
            },
            Self::Bits { of, bits } => {
                let both =
                    bits.take().map_or(Some(value.clone()), |bits| joined(*of, &bits, value));
                *bits = both;
                Ok(())
            }
            Self::Intersection { range } => {
                *range = Some(match range.take() {
                    None => value.clone(),
                    Some(all) => intersection(all, value)?,
                });
                Ok(())
            }
        }
    }

    /// The value of all that was added.
    pub(crate) fn result(&self) -> Result<Value, SqlError> {
        match self {
            Self::Exact { of, count, sum, squares } => {
                exact(*of, *count, sum, squares).map_err(error)
            }
            Self::Float { of, sums } => Ok(sums.spread(*of)),
            Self::Pair { of, sums } => Ok(sums.regression(*of)),
            Self::Bits { bits: value, .. } | Self::Intersection { range: value } => {
                Ok(value.clone().unwrap_or(Value::Null))
            }
        }
    }
}

/// What lies in two ranges.
fn intersection(one: Value, other: &Value) -> Result<Value, SqlError> {
    let Value::Range(of) = &one else { return Ok(one) };
    let gives = DataType::Range(of.kind());
    Ok(range::call(RangeFunction::Intersection, &[one, other.clone()], gives)?)
}

fn error(error: NumericError) -> SqlError {
    Fault::from(error).into_error()
}

fn float(value: &Value) -> f64 {
    match value {
        Value::Real(value) => f64::from(*value),
        Value::Double(value) => *value,
        other => other.to_any_numeric().map_or(f64::NAN, |value| value.to_f64()),
    }
}

/// Two integers of one type.
fn joined(of: BitFunction, a: &Value, b: &Value) -> Option<Value> {
    let join = |a: i64, b: i64| match of {
        BitFunction::And => a & b,
        BitFunction::Or => a | b,
        _ => a ^ b,
    };
    Some(match (a, b) {
        (Value::SmallInt(a), Value::SmallInt(b)) => {
            Value::SmallInt(join((*a).into(), (*b).into()) as i16)
        }
        (Value::Int(a), Value::Int(b)) => Value::Int(join((*a).into(), (*b).into()) as i32),
        (Value::BigInt(a), Value::BigInt(b)) => Value::BigInt(join(*a, *b)),
        _ => return None,
    })
}

/// (n * squares - sum * sum) / (n * (n - 1)), or / (n * n); of which the root for deviations.
fn exact(
    of: Spread,
    count: i64,
    sum: &AnyNumeric,
    squares: &AnyNumeric,
) -> Result<Value, NumericError> {
    let is_sample = matches!(of, Spread::VarianceOfSample | Spread::DeviationOfSample);
    if count < 1 + i64::from(is_sample) {
        return Ok(Value::Null);
    }
    if !sum.is_finite() || !squares.is_finite() {
        return Ok(AnyNumeric::NaN.into());
    }
    let rows = AnyNumeric::from(count);
    let above = squares.multiply(&rows)?.subtract(&sum.multiply(sum)?)?;
    if !above.sign().is_gt() {
        return Ok(AnyNumeric::ZERO.into());
    }
    let below = rows.multiply(&AnyNumeric::from(count - i64::from(is_sample)))?;
    let variance = above.divide(&below)?;
    Ok(match of {
        Spread::VarianceOfSample | Spread::VarianceOfPopulation => variance.into(),
        Spread::DeviationOfSample | Spread::DeviationOfPopulation => {
            let digits = variance.scale().into();
            variance.square_root_to(digits)?.into()
        }
    })
}

impl Sums {
    /// `shared`: a square divided by a number, rounded as PostgreSQL has it for this function.
    /// Fails where a sum leaves the range of floats.
    fn add(&mut self, x: f64, y: f64, shared: fn(f64, f64) -> f64) -> Result<(), SqlError> {
        let before = *self;
        self.count += 1.0;
        self.x += x;
        self.y += y;
        if before.count == 0.0 {
            // What is no number leaves no distances that are.
            let is_number = x.is_finite() && y.is_finite();
            (self.xx, self.yy, self.xy) =
                if is_number { (0.0, 0.0, 0.0) } else { (f64::NAN, f64::NAN, f64::NAN) };
            return Ok(());
        }
        let (dx, dy) = (x * self.count - self.x, y * self.count - self.y);
        let scale = self.count * before.count;
        self.xx += shared(dx * dx, scale);
        self.yy += shared(dy * dy, scale);
        self.xy += shared(dx * dy, scale);
        let sums = [self.x, self.xx, self.y, self.yy, self.xy];
        if sums.iter().any(|sum| sum.is_infinite()) {
            let inputs = [before.x, before.y, x, y];
            if inputs.iter().all(|input| input.is_finite()) {
                return Err(SqlError::new(b"22003", "value out of range: overflow"));
            }
            let or_none = |sum: f64| if sum.is_infinite() { f64::NAN } else { sum };
            (self.xx, self.yy, self.xy) = (or_none(self.xx), or_none(self.yy), or_none(self.xy));
        }
        Ok(())
    }

    fn spread(&self, of: Spread) -> Value {
        let below = match of {
            Spread::VarianceOfSample | Spread::DeviationOfSample => self.count - 1.0,
            Spread::VarianceOfPopulation | Spread::DeviationOfPopulation => self.count,
        };
        if below <= 0.0 {
            return Value::Null;
        }
        let variance = self.xx / below;
        Value::Double(match of {
            Spread::VarianceOfSample | Spread::VarianceOfPopulation => variance,
            Spread::DeviationOfSample | Spread::DeviationOfPopulation => variance.sqrt(),
        })
    }

    fn regression(&self, of: Regression) -> Value {
        use Regression as R;
        let Self { count, x, xx, y, yy, xy } = *self;
        let value = match of {
            R::Count => return Value::BigInt(count as i64),
            _ if count < 1.0 => None,
            R::SquaresOfX => Some(xx),
            R::SquaresOfY => Some(yy),
            R::Products => Some(xy),
            R::MeanOfX => Some(x / count),
            R::MeanOfY => Some(y / count),
            R::CovarianceOfPopulation => Some(xy / count),
            R::CovarianceOfSample => (count > 1.0).then(|| xy / (count - 1.0)),
            R::Correlation => (xx != 0.0 && yy != 0.0).then(|| xy / (xx * yy).sqrt()),
            R::Determination if xx == 0.0 => None,
            R::Determination if yy == 0.0 => Some(1.0),
            R::Determination => Some(xy * xy / (xx * yy)),
            R::Slope => (xx != 0.0).then(|| xy / xx),
            R::Intercept => (xx != 0.0).then(|| (y - x * xy / xx) / count),
        };
        value.map_or(Value::Null, Value::Double)
    }
}
