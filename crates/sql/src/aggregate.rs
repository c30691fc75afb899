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
use hotrow_transaction::program::{Aggregate, AggregateFunction, Expr, Place};
use sqlparser::ast;

use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::scope::Compiler;
use crate::typing::check_equality;
use crate::written::arguments;

/// The aggregate with this name.
pub(crate) fn aggregate_named(name: &str) -> Option<AggregateFunction> {
    Some(match name {
        "count" => AggregateFunction::Count,
        "sum" => AggregateFunction::Sum,
        "min" => AggregateFunction::Min,
        "max" => AggregateFunction::Max,
        "avg" => AggregateFunction::Avg,
        _ => return None,
    })
}

pub(crate) fn result_type(function: AggregateFunction, of: DataType) -> Option<DataType> {
    use AggregateFunction as F;
    use DataType as T;
    Some(match (function, of) {
        (F::Count, _) => T::BigInt,
        (F::Min | F::Max, T::Boolean | T::Uuid | T::Bytea | T::Json | T::Jsonb) => return None,
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

impl Compiler<'_> {
    /// Compiles an aggregate call to the slot that receives its result.
    pub(crate) fn aggregate(
        &mut self,
        function: AggregateFunction,
        written: &ast::Function,
        place: Place,
    ) -> Result<Expr> {
        let name = crate::written::function_name(written);
        // aggregates do not nest: while an argument is compiled, none is allowed
        let Some(mut all) = self.aggregates.take() else {
            return Err(error(
                b"42803",
                place,
                format!("aggregate function {name} is not allowed here"),
            )
            .hint("SELECT it INTO a variable first"));
        };
        if written.filter.is_some() || !written.within_group.is_empty() {
            return Err(unsupported(place, "FILTER", "write a second SELECT with that WHERE"));
        }
        let argument = self.aggregate_argument(function, &name, written, place)?;
        let (distinct, argument, result) = argument;
        let slot = self.temporary(&name, result)?;
        all.push(Aggregate { function, argument, distinct, result: slot });
        self.aggregates = Some(all);
        Ok(self.slot_expr(slot))
    }

    fn aggregate_argument(
        &mut self,
        function: AggregateFunction,
        name: &str,
        written: &ast::Function,
        place: Place,
    ) -> Result<(bool, Option<Expr>, DataType)> {
        let star = matches!(
            &written.args,
            ast::FunctionArguments::List(list) if matches!(
                list.args.as_slice(),
                [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard)]
            )
        );
        if star && function == AggregateFunction::Count {
            return Ok((false, None, DataType::BigInt));
        }
        let (distinct, written) = arguments(written, place)?;
        let [argument] = written.as_slice() else {
            return Err(error(
                b"42883",
                place,
                format!("function {name} needs exactly one argument"),
            ));
        };
        let argument_place = place_in(*argument, place);
        let argument = self.expr(argument)?;
        let of = self.scalar_type(&argument, argument_place)?;
        let result = result_type(function, of).ok_or_else(|| {
            error(b"42883", place, format!("function {name}({of}) does not exist"))
        })?;
        if distinct {
            check_equality(argument.sql_type, argument_place)?;
        }
        let distinct =
            distinct && !matches!(function, AggregateFunction::Min | AggregateFunction::Max);
        Ok((distinct, Some(argument), result))
    }
}
