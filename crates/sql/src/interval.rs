//! Intervals: their literals, their arithmetic with dates and timestamps, and their functions.

use hotrow_base::temporal::{ExtractField, Interval, TruncateUnit};
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::program::{Expr, ExprKind, Function, IntervalFunction, Place};
use sqlparser::ast;

use crate::error::{Advice, Result, error, place_in, unknown_function};
use crate::operand::{Arguments, Operand};
use crate::scope::Compiler;
use crate::temporal::{interval, is_time, unit_code};
use crate::typing::{call, cast, constant, integer};

impl Compiler<'_> {
    /// A value with fields: a date is the timestamp of its midnight.
    fn timed(&mut self, value: &ast::Expr, name: &str, place: Place) -> Result<Expr> {
        let operand = self.operand(value)?;
        let expr = self.settle(operand, DataType::Timestamp, place)?;
        match self.scalar_type(&expr, place)? {
            DataType::Date => Ok(cast(expr, DataType::Timestamp)),
            DataType::Timestamp | DataType::TimestampTz | DataType::Interval => Ok(expr),
            other => {
                let message = format!("function {name}(unknown, {other}) does not exist");
                Err(error(b"42883", place, message))
            }
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
            let unit = unit.data_type();
            let message = format!("function date_trunc({unit}, {data_type}) does not exist");
            return Err(
                error(b"42883", place, message).hint("You might need to add explicit type casts.")
            );
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

    /// A function of intervals or of times that gives one; none: it is another.
    pub(crate) fn interval_function(
        &mut self,
        name: &str,
        arguments: Arguments,
        place: Place,
    ) -> Result<Expr> {
        let function = match name {
            "justify_hours" => IntervalFunction::JustifyHours,
            "justify_days" => IntervalFunction::JustifyDays,
            "justify_interval" => IntervalFunction::Justify,
            _ => return self.age(arguments, place),
        };
        let values = self.converted(arguments, name, &[DataType::Interval])?;
        Ok(interval(function, values))
    }

    /// age(one, other); age(one) is that of today's midnight.
    fn age(&mut self, arguments: Arguments, place: Place) -> Result<Expr> {
        let mut times = Vec::new();
        for (operand, place) in arguments {
            let time = self.settle(operand, DataType::TimestampTz, place)?;
            let of = self.scalar_type(&time, place)?;
            if !is_time(of) {
                return Err(error(b"42883", place, format!("function age({of}) does not exist")));
            }
            times.push(cast(time, DataType::Timestamp));
        }
        if times.len() == 1 {
            let today = self.time_keyword("current_date");
            let today = today.ok_or_else(|| unknown_function("age", place))?;
            times.insert(0, cast(today, DataType::Timestamp));
        }
        Ok(call(Function::Age, times, DataType::Interval))
    }

    /// make_interval(...), whose arguments may be named.
    pub(crate) fn make_interval(&mut self, written: &ast::Function, place: Place) -> Result<Expr> {
        const NAMES: [&str; 7] = ["years", "months", "weeks", "days", "hours", "mins", "secs"];
        let ast::FunctionArguments::List(list) = &written.args else {
            return Ok(constant(Value::Interval(Interval::default()), DataType::Interval));
        };
        let of = |at: usize| if at == 6 { DataType::Double } else { DataType::Integer };
        let mut parts: [Option<Expr>; 7] = Default::default();
        for (at, argument) in list.args.iter().enumerate() {
            let (at, value) = match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(value)) => (Some(at), value),
                ast::FunctionArg::ExprNamed {
                    name: ast::Expr::Identifier(name),
                    arg: ast::FunctionArgExpr::Expr(value),
                    ..
                } => (NAMES.iter().position(|known| *known == name.value), value),
                _ => return Err(unknown_function("make_interval", place)),
            };
            let at = at.filter(|at| *at < NAMES.len() && parts[*at].is_none());
            let at = at.ok_or_else(|| unknown_function("make_interval", place))?;
            let value =
                self.operand(value).map(|operand| vec![(operand, place_in(value, place))])?;
            parts[at] = self.converted(value, "make_interval", &[of(at)])?.pop();
        }
        let none = |at: usize| match of(at) {
            DataType::Double => constant(Value::Double(0.0), DataType::Double),
            _ => integer(0),
        };
        let parts = parts.into_iter().enumerate();
        let parts = parts.map(|(at, part)| part.unwrap_or_else(|| none(at))).collect();
        Ok(interval(IntervalFunction::Make, parts))
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
