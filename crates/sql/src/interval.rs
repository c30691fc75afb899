//! Intervals: their literals, their arithmetic with dates and timestamps, and their functions.

use hotrow_base::temporal::{ExtractField, Interval, TruncateUnit};
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::program::{Expr, ExprKind, Function, IntervalFunction, NOW, Place};
use sqlparser::ast;

use crate::error::{Advice, Result, error, place_in};
use crate::function::argument_count;
use crate::functions::{self, no_function};
use crate::operand::{Operand, types_of};
use crate::scope::Compiler;
use crate::temporal::{interval, unit_code};
use crate::typing::{call, cast, constant, integer};

impl Compiler<'_> {
    /// A value with fields: a date is the timestamp of its midnight.
    fn timed(&mut self, value: &ast::Expr, name: &str, place: Place) -> Result<Expr> {
        let operand = self.operand(value)?;
        let expr = self.settle(operand, DataType::Timestamp, place)?;
        match self.scalar_type(&expr, place)? {
            // As PostgreSQL chooses among functions of timestamps.
            DataType::Date if name == "date_trunc" => Ok(cast(expr, DataType::TimestampTz)),
            DataType::Date => Ok(cast(expr, DataType::Timestamp)),
            DataType::Time(_) if name == "date_trunc" => Ok(cast(expr, DataType::Interval)),
            DataType::Timestamp
            | DataType::TimestampTz
            | DataType::Interval
            | DataType::Time(_) => Ok(expr),
            other => Err(no_function(name, &[None, Some(SqlType::Scalar(other))], place)),
        }
    }

    pub(crate) fn extract(&mut self, field: &str, value: &ast::Expr, place: Place) -> Result<Expr> {
        let known = ExtractField::from_name(field);
        let value = self.timed(value, "extract", place)?;
        let of = value.data_type();
        let known = known.ok_or_else(|| {
            let message = format!("unit \"{field}\" not recognized for type {of}");
            error(b"22023", place, message)
        })?;
        if of == DataType::Interval && Interval::default().extract(known).is_none() {
            return Err(not_of_intervals(field, place));
        }
        if matches!(of, DataType::Time(_)) && !known.is_of_time() {
            let field = field.to_lowercase();
            let message = format!("unit \"{field}\" not supported for type time without time zone");
            return Err(error(b"0A000", place, message));
        }
        let arguments = vec![value, integer(known as i32)];
        let result = DataType::Numeric { precision: 20, scale: known.scale() };
        Ok(call(Function::Extract, arguments, result))
    }

    pub(crate) fn date_trunc(
        &mut self,
        unit: &ast::Expr,
        value: &ast::Expr,
        place: Place,
    ) -> Result<Expr> {
        let unit_place = place_in(unit, place);
        let unit = self.operand(unit)?;
        let unit = self.settle(unit, DataType::Text, unit_place)?;
        let value = self.timed(value, "date_trunc", place)?;
        let data_type = value.data_type();
        if !self.scalar_type(&unit, unit_place)?.is_text() {
            let given = [Some(unit.sql_type), Some(value.sql_type)];
            return Err(no_function("date_trunc", &given, place));
        }
        let code = match &unit.kind {
            ExprKind::Constant(Value::Text(name)) => {
                let Some(unit) = TruncateUnit::from_name(name) else {
                    let message = format!("unit \"{name}\" not recognized for type {data_type}");
                    return Err(error(b"22023", unit_place, message));
                };
                let of_intervals = data_type == DataType::Interval;
                if of_intervals && Interval::default().truncated(unit).is_none() {
                    return Err(not_of_intervals(name, place)
                        .detail("Months usually have fractional weeks."));
                }
                integer(unit as i32)
            }
            _ => unit_code(unit),
        };
        Ok(call(Function::DateTrunc, vec![code, value], data_type))
    }

    /// age(one, other); age(one) is that of today's midnight.
    pub(crate) fn age(&self, times: Vec<Expr>) -> Expr {
        let mut times: Vec<_> =
            times.into_iter().map(|time| cast(time, DataType::Timestamp)).collect();
        if times.len() == 1 {
            let today = cast(self.slot_expr(NOW), DataType::Date);
            times.insert(0, cast(today, DataType::Timestamp));
        }
        call(Function::Age, times, DataType::Interval)
    }

    /// make_interval(...), whose arguments may be named.
    pub(crate) fn make_interval(&mut self, written: &ast::Function, place: Place) -> Result<Expr> {
        const NAME: &str = "make_interval";
        const NAMES: [&str; 7] = ["years", "months", "weeks", "days", "hours", "mins", "secs"];
        let no_interval = || {
            let given = vec![None; argument_count(written)];
            no_function(NAME, &given, place)
        };
        let ast::FunctionArguments::List(list) = &written.args else {
            return Ok(constant(Value::Interval(Interval::default()), DataType::Interval));
        };
        let mut parts: [Option<(Operand, Place)>; 7] = Default::default();
        for (at, argument) in list.args.iter().enumerate() {
            let (at, value) = match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(value)) => (Some(at), value),
                ast::FunctionArg::ExprNamed {
                    name: ast::Expr::Identifier(name),
                    arg: ast::FunctionArgExpr::Expr(value),
                    ..
                } => (NAMES.iter().position(|known| *known == name.value), value),
                _ => return Err(no_interval()),
            };
            let at = at.filter(|at| *at < NAMES.len() && parts[*at].is_none());
            let at = at.ok_or_else(no_interval)?;
            parts[at] = Some((self.operand(value)?, place_in(value, place)));
        }
        let none = || (Operand::Typed(integer(0)), place);
        let parts: Vec<_> = parts.into_iter().map(|part| part.unwrap_or_else(none)).collect();
        let row = functions::resolve(NAME, &types_of(&parts), place)?;
        Ok(interval(IntervalFunction::Make, self.arguments_for(row, parts)?))
    }

    /// `- interval`; none: it is no interval.
    pub(crate) fn negative_interval(&self, operand: &Operand) -> Option<Expr> {
        match operand {
            Operand::Typed(expr) if expr.data_type() == DataType::Interval => {
                Some(interval(IntervalFunction::Negate, vec![expr.clone()]))
            }
            _ => None,
        }
    }
}

fn not_of_intervals(unit: &str, place: Place) -> hotrow_transaction::outcome::SqlError {
    let unit = unit.to_lowercase();
    error(b"0A000", place, format!("unit \"{unit}\" not supported for type interval"))
}
