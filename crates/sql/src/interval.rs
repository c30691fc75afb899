//! Intervals: their literals, their arithmetic with dates and timestamps, and their functions.

use hotrow_base::encoded::{EncodedFunction, EncodedType};
use hotrow_base::temporal::{ClockWord, ExtractField, Interval, TruncateUnit, unit_name};
use hotrow_base::types::{DataType, SqlType, TIME_DIGITS};
use hotrow_base::value::Value;
use hotrow_transaction::program::{
    ArithmeticOp, Expr, ExprKind, Function, IntervalFunction, NOW, Place,
};
use sqlparser::ast;

use crate::error::{Advice, Result, error, place_in};
use crate::functions::{self, no_function};
use crate::operand::{Operand, types_of};
use crate::operator::numbers;
use crate::scope::Compiler;
use crate::temporal::{date_add, interval, unit_code};
use crate::typing::{bigint, call, cast, constant, integer, scalar};
use crate::written::argument_count;

impl Compiler<'_> {
    /// A value with fields: a date is the timestamp of its midnight.
    fn timed(&mut self, value: &ast::Expr, name: &str, place: Place) -> Result<Expr> {
        let operand = self.operand(value)?;
        let expr = self.settle(operand, DataType::TIMESTAMP, place)?;
        self.with_fields(expr, name, place)
    }

    fn with_fields(&self, expr: Expr, name: &str, place: Place) -> Result<Expr> {
        match self.scalar_type(&expr, place)? {
            // As PostgreSQL chooses among functions of timestamps.
            DataType::Date if name == "date_trunc" => Ok(cast(expr, DataType::TIMESTAMPTZ)),
            DataType::Date => Ok(cast(expr, DataType::TIMESTAMP)),
            DataType::Time(_) if name == "date_trunc" => Ok(cast(expr, DataType::Interval)),
            DataType::Timestamp(_)
            | DataType::TimestampTz(_)
            | DataType::Interval
            | DataType::Time(_) => Ok(expr),
            other => Err(no_function(name, &[None, Some(SqlType::Scalar(other))], place)),
        }
    }

    /// What `'now'`, `'today'` and their kin are as a date or a time, `'tomorrow 10:00'` with what
    /// stands beside it: the call's own, where PostgreSQL takes that of when the statement was
    /// planned.
    pub(crate) fn moment(&self, text: &str, wanted: DataType) -> Option<Expr> {
        let small = text.to_ascii_lowercase();
        let mut words: Vec<_> = small.split_ascii_whitespace().collect();
        let mut all = words.iter().enumerate();
        let (at, word) = all.find_map(|(at, word)| Some((at, ClockWord::of(word.as_bytes())?)))?;
        words.remove(at);
        let beside = words.join(" ");
        if word == ClockWord::Now && !beside.is_empty() {
            return None;
        }
        let is_date = wanted == DataType::Date;
        if !is_date && !matches!(wanted, DataType::Timestamp(_) | DataType::TimestampTz(_)) {
            return None;
        }
        let ClockWord::Day(days) = word else { return Some(cast(self.slot_expr(NOW), wanted)) };
        let today = cast(self.slot_expr(NOW), DataType::Date);
        let days = constant(Value::Int(days), DataType::Integer);
        let day = date_add(today, days);
        if !beside.is_empty() {
            // What is no time of any day is refused as such a text is.
            Value::parse(wanted.with_all_digits(), &format!("2000-01-01 {beside}")).ok()?;
            let beside = constant(Value::Text(format!(" {beside}")), DataType::Text);
            let text = vec![cast(day, DataType::Text), beside];
            return Some(cast(call(Function::Concat, text, DataType::Text), wanted));
        }
        Some(if is_date { day } else { cast(day, wanted) })
    }

    pub(crate) fn extract(&mut self, field: &str, value: &ast::Expr, place: Place) -> Result<Expr> {
        let operand = self.operand(value)?;
        let value = self.settle(operand, DataType::TIMESTAMP, place)?;
        self.field_of(field, value, place)
    }

    fn field_of(&mut self, field: &str, value: Expr, place: Place) -> Result<Expr> {
        let data_type = self.scalar_type(&value, place)?;
        if let DataType::Encoded(EncodedType::TimeTz(_)) = data_type {
            return of_zoned_time(field, value, place);
        }
        let is_date = data_type == DataType::Date;
        let value = self.with_fields(value, "extract", place)?;
        let of = value.data_type();
        let shown = match of {
            _ if is_date => "date",
            DataType::Timestamp(_) => "timestamp without time zone",
            DataType::TimestampTz(_) => "timestamp with time zone",
            DataType::Interval => "interval",
            _ => "time without time zone",
        };
        let (field, name) = (field.to_lowercase(), unit_name(field));
        let refused = || {
            let message = format!("unit \"{field}\" not supported for type {shown}");
            Err(error(b"0A000", place, message))
        };
        let known = match (name.as_str(), of) {
            ("timezone" | "timezone_hour" | "timezone_minute", DataType::TimestampTz(_)) => {
                return Ok(of_offset(&name, value));
            }
            ("julian", DataType::Timestamp(_) | DataType::TimestampTz(_)) => {
                // The day that the session's clock shows.
                return julian(cast(value, DataType::TIMESTAMP), is_date, place);
            }
            ("julian" | "timezone" | "timezone_hour" | "timezone_minute", _) => return refused(),
            _ => ExtractField::from_name(&name),
        };
        let known = known.ok_or_else(|| {
            let message = format!("unit \"{field}\" not recognized for type {shown}");
            error(b"22023", place, message)
        })?;
        let is_supported = match of {
            DataType::Interval => Interval::default().extract(known).is_some(),
            DataType::Time(_) => known.is_of_time(),
            _ => !is_date || !known.is_of_time() || known == ExtractField::Epoch,
        };
        if !is_supported {
            return refused();
        }
        let found = extracted(known, value);
        // Of a date there are whole seconds.
        let whole = DataType::Numeric { precision: 20, scale: 0 };
        Ok(if is_date { cast(found, whole) } else { found })
    }

    /// date_part: a field as a float, which is infinite where what grows is that of infinity.
    pub(crate) fn date_part(
        &mut self,
        field: &str,
        value: &ast::Expr,
        place: Place,
    ) -> Result<Expr> {
        /// Seconds from the first Julian day to 1970.
        const SECONDS: f64 = 2_440_588.0 * 86_400.0;
        let operand = self.operand(value)?;
        let value = self.settle(operand, DataType::TIMESTAMP, place)?;
        let of = self.scalar_type(&value, place)?;
        let is_timed =
            matches!(of, DataType::Date | DataType::Timestamp(_) | DataType::TimestampTz(_));
        if is_timed && unit_name(field) == "julian" {
            let seconds =
                as_float(extracted(ExtractField::Epoch, cast(value, DataType::TIMESTAMP)));
            let number = |n: f64| constant(Value::Double(n), DataType::Double);
            let seconds = numbers(ArithmeticOp::Add, seconds, number(SECONDS), place)?;
            return numbers(ArithmeticOp::Divide, seconds, number(86_400.0), place);
        }
        Ok(as_float(self.field_of(field, value, place)?))
    }

    pub(crate) fn date_trunc(
        &mut self,
        unit: &ast::Expr,
        (value, zone): (&ast::Expr, Option<&ast::Expr>),
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
        let mut given = vec![code, value];
        if let Some(zone) = zone {
            let operand = self.operand(zone)?;
            let zone = self.settle(operand, DataType::Text, place)?;
            let is_zoned = matches!(data_type, DataType::TimestampTz(_));
            if !is_zoned || !self.scalar_type(&zone, place)?.is_text() {
                let given = [None, Some(given[1].sql_type), Some(zone.sql_type)];
                return Err(no_function("date_trunc", &given, place));
            }
            given.push(zone);
        }
        Ok(call(Function::DateTrunc, given, data_type.with_all_digits()))
    }

    /// age(one, other); age(one) is that of today's midnight.
    pub(crate) fn age(&self, times: Vec<Expr>) -> Expr {
        let mut times: Vec<_> =
            times.into_iter().map(|time| cast(time, DataType::TIMESTAMP)).collect();
        if times.len() == 1 {
            let today = cast(self.slot_expr(NOW), DataType::Date);
            times.insert(0, cast(today, DataType::TIMESTAMP));
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

fn extracted(field: ExtractField, value: Expr) -> Expr {
    // Years of intervals are more than those of timestamps.
    let precision = if value.data_type() == DataType::Interval { 24 } else { 20 };
    let result = DataType::Numeric { precision, scale: field.scale() };
    call(Function::Extract, vec![value, integer(field as i32)], result)
}

/// A field as a float.
fn as_float(found: Expr) -> Expr {
    let double = SqlType::Scalar(DataType::Double);
    match found.kind {
        ExprKind::Call(Function::Extract, _) => Expr { sql_type: double, ..found },
        // Of a date there are whole seconds, which a float has, too.
        ExprKind::Cast(inner) if matches!(inner.kind, ExprKind::Call(Function::Extract, _)) => {
            Expr { sql_type: double, ..*inner }
        }
        kind => cast(Expr { kind, ..found }, DataType::Double),
    }
}

/// The number of a day, from 4714 BC on, and the part of it that is over.
fn julian(value: Expr, is_date: bool, place: Place) -> Result<Expr> {
    /// Seconds from the first of those days to 1970.
    const SECONDS: i64 = 2_440_588 * 86_400;
    let number = |n: i64| cast(bigint(n), DataType::AnyNumeric);
    let seconds = cast(extracted(ExtractField::Epoch, value), DataType::AnyNumeric);
    let seconds = numbers(ArithmeticOp::Add, seconds, number(SECONDS), place)?;
    if is_date {
        return numbers(ArithmeticOp::Divide, seconds, number(86_400), place)
            .map(|days| cast(days, DataType::Numeric { precision: 20, scale: 0 }));
    }
    let micros = numbers(ArithmeticOp::Multiply, seconds, number(1_000_000), place)?;
    let micros = cast(micros, DataType::Numeric { precision: 38, scale: 0 });
    let (day, micros) = (number(86_400_000_000), cast(micros, DataType::AnyNumeric));
    let into = numbers(ArithmeticOp::Modulo, micros.clone(), day.clone(), place)?;
    let days = numbers(ArithmeticOp::Subtract, micros, into.clone(), place)?;
    let days = numbers(ArithmeticOp::Divide, days, day.clone(), place)?;
    let days = cast(cast(days, DataType::BigInt), DataType::AnyNumeric);
    let part = numbers(ArithmeticOp::Divide, into, day, place)?;
    numbers(ArithmeticOp::Add, days, part, place)
}

fn not_of_intervals(unit: &str, place: Place) -> hotrow_transaction::outcome::SqlError {
    let unit = unit.to_lowercase();
    error(b"0A000", place, format!("unit \"{unit}\" not supported for type interval"))
}

/// extract(timezone FROM timestamptz): seconds that the session's zone is ahead of UTC then, and
/// their hours and minutes.
fn of_offset(field: &str, value: Expr) -> Expr {
    let utc = constant(Value::Text("UTC".to_owned()), DataType::Text);
    let is_finite = call(Function::IsFinite, vec![value.clone()], DataType::Boolean);
    let clocks = vec![
        cast(value.clone(), DataType::TIMESTAMP),
        call(Function::InZone, vec![utc, value], DataType::TIMESTAMP),
    ];
    let ahead = call(Function::TimestampDiff, clocks, DataType::Interval);
    let of_zone = zone_field(field, cast(extracted(ExtractField::Epoch, ahead), DataType::BigInt));
    let data_type = of_zone.data_type();
    scalar(ExprKind::Case { arms: vec![(is_finite, of_zone)], otherwise: None }, data_type)
}

/// A field of a time with a zone.
fn of_zoned_time(field: &str, value: Expr, place: Place) -> Result<Expr> {
    let (field, name) = (field.to_lowercase(), unit_name(field));
    let offset =
        call(Function::Encoded(EncodedFunction::Offset), vec![value.clone()], DataType::Integer);
    let time = cast(value, DataType::Time(TIME_DIGITS));
    match (name.as_str(), ExtractField::from_name(&name)) {
        ("timezone" | "timezone_hour" | "timezone_minute", _) => {
            Ok(zone_field(&name, cast(offset, DataType::BigInt)))
        }
        (_, Some(ExtractField::Epoch)) => {
            let here = extracted(ExtractField::Epoch, time);
            numbers(ArithmeticOp::Subtract, here, offset, place)
        }
        (_, Some(known)) if known.is_of_time() => Ok(extracted(known, time)),
        (_, known) => {
            let (code, what) = match known.is_some() || name == "julian" {
                true => (b"0A000", "supported"),
                false => (b"22023", "recognized"),
            };
            let message = format!("unit \"{field}\" not {what} for type time with time zone");
            Err(error(code, place, message))
        }
    }
}

/// A part of the seconds that a zone is ahead of UTC.
fn zone_field(field: &str, seconds: Expr) -> Expr {
    let by = |op, left: Expr, right: i64| {
        let right = constant(Value::BigInt(right), DataType::BigInt);
        scalar(ExprKind::Arithmetic(op, Box::new(left), Box::new(right)), DataType::BigInt)
    };
    let found = match field {
        "timezone_hour" => by(ArithmeticOp::Divide, seconds, 3_600),
        "timezone_minute" => by(ArithmeticOp::Divide, by(ArithmeticOp::Modulo, seconds, 3_600), 60),
        _ => seconds,
    };
    cast(found, DataType::Numeric { precision: 20, scale: 0 })
}
