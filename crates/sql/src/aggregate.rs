//! Aggregates and the types of their results.
//!
//! | aggregate | of | gives |
//! |---|---|---|
//! | count | anything | bigint |
//! | sum, avg | interval | interval |
//! | sum | smallint, integer / bigint / numeric(p,s) / real / double | bigint / numeric(38,0) / numeric(38,s) / real / double |
//! | sum, avg | numeric | numeric |
//! | avg | integers, numeric(p,s) / floats | numeric / double |
//! | min, max | any but ranges, devices' addresses and bit strings | the same; of a network inet |
//! | variance, stddev and their kin | integers, numeric / floats | numeric / double |
//! | corr, covar_pop, regr_slope and their kin | pairs of doubles | double; regr_count: bigint |
//! | bit_and, bit_or, bit_xor | integers | the same |
//! | range_intersect_agg | ranges | the same |

use hotrow_base::encoded::EncodedType;
use hotrow_base::types::DataType;
use hotrow_query::{Aggregation, Regression, Spread};
use hotrow_transaction::program::{AggregateFunction, BitFunction};

pub(crate) fn result_type(function: AggregateFunction, of: DataType) -> Option<DataType> {
    use AggregateFunction as F;
    use DataType as T;
    Some(match (function, of) {
        (F::Count, _) => T::BigInt,
        (F::Min | F::Max, T::Boolean | T::Uuid | T::Bytea | T::Json | T::Jsonb) => return None,
        (F::Min | F::Max, T::Range(_)) => return None,
        (F::Min | F::Max, T::Encoded(EncodedType::Inet | EncodedType::Cidr)) => {
            T::Encoded(EncodedType::Inet)
        }
        (F::Min | F::Max, T::Encoded(EncodedType::TimeTz(_))) => of,
        (F::Min | F::Max, T::Encoded(_)) => return None,
        (F::Min | F::Max, T::Array(element)) if element.range_kind().is_some() => of,
        (F::Min | F::Max, T::Array(element)) => result_type(function, *element).map(|_| of)?,
        (F::Min | F::Max, of) => of,
        (F::Sum | F::Avg, T::Interval) => T::Interval,
        (F::Sum, T::SmallInt | T::Integer) => T::BigInt,
        (F::Sum, T::BigInt) => T::Numeric { precision: 38, scale: 0 },
        (F::Sum, T::Numeric { scale, .. }) => T::Numeric { precision: 38, scale },
        (F::Sum | F::Avg, T::AnyNumeric | T::WideNumeric { .. }) => T::AnyNumeric,
        (F::Avg, T::SmallInt | T::Integer | T::BigInt | T::Numeric { .. }) => T::AnyNumeric,
        (F::Sum, T::Real | T::Double) => of,
        (F::Avg, T::Real | T::Double) => T::Double,
        _ => return None,
    })
}

/// An aggregate of statistics, and what it gives of values of a type; none: there is none of that
/// name, or it takes no such values.
pub(crate) fn statistic(name: &str, of: DataType) -> Option<(Aggregation, DataType)> {
    let bits = match name {
        "bit_and" => Some(BitFunction::And),
        "bit_or" => Some(BitFunction::Or),
        "bit_xor" => Some(BitFunction::Xor),
        _ => None,
    };
    if let Some(function) = bits {
        let fits = of.is_integer() && of != DataType::Oid;
        return fits.then_some((Aggregation::Bits(function), of));
    }
    if name == "range_intersect_agg" {
        return of.range_kind().map(|_| (Aggregation::Intersection, of));
    }
    let spread = match name {
        "variance" | "var_samp" => Spread::VarianceOfSample,
        "var_pop" => Spread::VarianceOfPopulation,
        "stddev" | "stddev_samp" => Spread::DeviationOfSample,
        "stddev_pop" => Spread::DeviationOfPopulation,
        _ => return None,
    };
    let gives = match of {
        DataType::Real | DataType::Double => DataType::Double,
        of if of.is_numeric() || of.is_integer() && of != DataType::Oid => DataType::AnyNumeric,
        _ => return None,
    };
    Some((Aggregation::Spread(spread), gives))
}

/// What an aggregate of pairs computes.
pub(crate) fn regression(name: &str) -> Option<Regression> {
    use Regression as R;
    Some(match name {
        "regr_count" => R::Count,
        "regr_sxx" => R::SquaresOfX,
        "regr_syy" => R::SquaresOfY,
        "regr_sxy" => R::Products,
        "regr_avgx" => R::MeanOfX,
        "regr_avgy" => R::MeanOfY,
        "covar_pop" => R::CovarianceOfPopulation,
        "covar_samp" => R::CovarianceOfSample,
        "corr" => R::Correlation,
        "regr_r2" => R::Determination,
        "regr_slope" => R::Slope,
        "regr_intercept" => R::Intercept,
        _ => return None,
    })
}

/// Whether an aggregate makes a json or a jsonb of its rows, and whether that is an object.
pub(crate) fn json_aggregate(name: &str) -> Option<(DataType, bool)> {
    Some(match name {
        "json_agg" => (DataType::Json, false),
        "jsonb_agg" => (DataType::Jsonb, false),
        "json_object_agg" => (DataType::Json, true),
        "jsonb_object_agg" => (DataType::Jsonb, true),
        _ => return None,
    })
}
