//! Aggregates and the types of their results.
//!
//! | aggregate | of | gives |
//! |---|---|---|
//! | count | anything | bigint |
//! | sum, avg | interval | interval |
//! | sum | smallint, integer / bigint / numeric(p,s) / real / double | bigint / numeric(38,0) / numeric(38,s) / real / double |
//! | avg | integers / numeric(p,s) / floats | numeric(38,16) / numeric(38, max(s,16)) / double |
//! | min, max | any | the same |

use hotrow_base::types::DataType;
use hotrow_transaction::program::AggregateFunction;

pub(crate) fn result_type(function: AggregateFunction, of: DataType) -> Option<DataType> {
    use AggregateFunction as F;
    use DataType as T;
    Some(match (function, of) {
        (F::Count, _) => T::BigInt,
        (F::Min | F::Max, T::Boolean | T::Uuid | T::Bytea | T::Json | T::Jsonb) => return None,
        (F::Min | F::Max, T::Array(element)) => result_type(function, *element).map(|_| of)?,
        (F::Min | F::Max, of) => of,
        (F::Sum | F::Avg, T::Interval) => T::Interval,
        (F::Sum, T::SmallInt | T::Integer) => T::BigInt,
        (F::Sum, T::BigInt) => T::Numeric { precision: 38, scale: 0 },
        (F::Sum, T::Numeric { scale, .. }) => T::Numeric { precision: 38, scale },
        (F::Avg, T::SmallInt | T::Integer | T::BigInt) => T::Numeric { precision: 38, scale: 16 },
        (F::Avg, T::Numeric { scale, .. }) => T::Numeric { precision: 38, scale: scale.max(16) },
        (F::Sum, T::Real | T::Double) => of,
        (F::Avg, T::Real | T::Double) => T::Double,
        _ => return None,
    })
}
