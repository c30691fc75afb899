//! Typing rules: promotion of operands, conversions and when they are allowed.
//!
//! Role         used by every part of the compiler that combines expressions; the program's
//!              operators never convert (program I1), so all conversions are made here
//! Source       PostgreSQL 15, chapter 10. Numerics of a precision are kept as scaled integers as
//!              long as the scale of what is computed of them is known here; what is not is a
//!              numeric without a precision, which has its scale with it

use hotrow_base::decimal::DIGITS_MAX;
use hotrow_base::encoded::{EncodedFunction, EncodedType};
use hotrow_base::json::JsonFunction;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::program::{ArrayFunction, Expr, ExprKind, Function, Place};
use hotrow_transaction::zoned;

use crate::encoded::{encoded_type, forced, is_cast};
use crate::error::{Advice, Result, error, unsupported};

/// How far a conversion may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Coercion {
    /// what INSERT and UPDATE do by themselves
    Assignment,
    /// what PL/pgSQL's assignment and an explicit cast may do
    Explicit,
}

pub(crate) fn scalar(kind: ExprKind, data_type: DataType) -> Expr {
    Expr { kind, sql_type: SqlType::Scalar(data_type) }
}

pub(crate) fn constant(value: Value, data_type: DataType) -> Expr {
    scalar(ExprKind::Constant(value), data_type)
}

pub(crate) fn integer(value: i32) -> Expr {
    constant(Value::Int(value), DataType::Integer)
}

pub(crate) fn bigint(value: i64) -> Expr {
    constant(Value::BigInt(value), DataType::BigInt)
}

pub(crate) fn null(data_type: DataType) -> Expr {
    constant(Value::Null, data_type)
}

/// An array in one piece, as columns and results have it; another value as it is.
pub(crate) fn packed(expr: Expr) -> Expr {
    let SqlType::Array(element) = expr.sql_type else { return expr };
    match expr.kind {
        ExprKind::Call(Function::Array(ArrayFunction::Unpack), mut of) if of.len() == 1 => {
            of.swap_remove(0)
        }
        _ => array_call(ArrayFunction::Pack, vec![expr], SqlType::Scalar(element.array())),
    }
}

/// The elements of an array that is in one piece, as expressions have it; another value as it is.
pub(crate) fn spread(expr: Expr) -> Expr {
    let sql_type = expr.sql_type.spread();
    if sql_type == expr.sql_type {
        return expr;
    }
    match expr.kind {
        ExprKind::Call(Function::Array(ArrayFunction::Pack), mut of) if of.len() == 1 => {
            of.swap_remove(0)
        }
        _ => array_call(ArrayFunction::Unpack, vec![expr], sql_type),
    }
}

/// A value as the rows of a query have it: an array in one piece, but for one that a slot has.
pub(crate) fn for_rows(expr: Expr) -> Expr {
    if let ExprKind::Slot(_) = expr.kind { expr } else { packed(expr) }
}

/// An array whose elements are known.
pub(crate) fn constant_array(elements: Value, element: DataType) -> Expr {
    spread(constant(elements, element.array()))
}

pub(crate) fn array_call(function: ArrayFunction, of: Vec<Expr>, sql_type: SqlType) -> Expr {
    Expr { kind: ExprKind::Call(Function::Array(function), of), sql_type }
}

/// An array with its elements converted to another type; no rules are asked.
pub(crate) fn array_cast(array: Expr, element: DataType) -> Expr {
    let array = spread(array);
    if array.data_type() == element {
        return array;
    }
    let sql_type = SqlType::Array(element);
    if let Some(constant) = constant_elements(&array)
        && let Some(values) = constant_cast(constant, element)
    {
        return constant_array(values, element);
    }
    Expr { kind: ExprKind::Call(Function::ArrayCast, vec![array]), sql_type }
}

/// What is read of texts that an explicit cast to a type cuts; none: it cuts none.
pub(crate) fn cut_texts(to: DataType) -> Option<DataType> {
    matches!(to, DataType::Varchar(_) | DataType::Char(_)).then_some(DataType::Text)
}

/// As [`array_cast`], where the cast is written: texts that are too long are cut.
pub(crate) fn explicit_array_cast(array: Expr, element: DataType) -> Expr {
    let array = spread(array);
    match element {
        DataType::Varchar(n) | DataType::Char(n) if array.data_type() != element => {
            let kind = ExprKind::Call(Function::ArrayCast, vec![array, integer(n as i32)]);
            Expr { kind, sql_type: SqlType::Array(element) }
        }
        _ => array_cast(array, element),
    }
}

/// The value of an array that is a constant.
pub(crate) fn constant_elements(array: &Expr) -> Option<&Value> {
    match &array.kind {
        ExprKind::Constant(value) => Some(value),
        ExprKind::Call(Function::Array(ArrayFunction::Unpack), of) => {
            of.first().and_then(constant_elements)
        }
        _ => None,
    }
}

fn constant_cast(array: &Value, element: DataType) -> Option<Value> {
    let mut heap = Vec::new();
    let datum = array.to_datum(element.array(), &mut heap).ok()?;
    Some(Value::from_datum(datum, element.array(), &heap))
}

/// Digits of an exact number type, if it has so many: (precision, scale).
pub(crate) fn digits(data_type: DataType) -> Option<(u8, u8)> {
    Some(match data_type {
        DataType::SmallInt => (5, 0),
        DataType::Integer => (10, 0),
        // An oid is kept as a bigint, and its keys are of the same width.
        DataType::BigInt | DataType::Oid => (19, 0),
        DataType::Numeric { precision, scale } => (precision, scale),
        _ => return None,
    })
}

/// The numeric type that holds both without loss.
fn common_numeric(left: (u8, u8), right: (u8, u8)) -> DataType {
    let scale = left.1.max(right.1);
    let whole = (left.0 - left.1).max(right.0 - right.1);
    numeric_of(whole + scale, scale)
}

/// The type of numerics of so many digits; of more than a scaled integer has, each has its own.
pub(crate) fn numeric_of(precision: u8, scale: u8) -> DataType {
    match precision <= DIGITS_MAX {
        true => DataType::Numeric { precision, scale },
        false => DataType::AnyNumeric,
    }
}

/// The type two operands are compared in. Oids and other integers are compared as numbers: none of
/// them has to be an oid for that.
pub(crate) fn compared_type(left: DataType, right: DataType) -> Option<DataType> {
    let is_mixed = left.is_integer() && right.is_integer() && left != right;
    match (left, right) {
        _ if is_mixed && (left == DataType::Oid || right == DataType::Oid) => {
            Some(DataType::BigInt)
        }
        (DataType::Time(_), DataType::Interval) | (DataType::Interval, DataType::Time(_)) => {
            Some(DataType::Interval)
        }
        _ if left != right && left.is_number() && right.is_number() => {
            // Values that differ in scale only are compared in one.
            let both = digits(left).zip(digits(right));
            match both.filter(|_| left.is_numeric() || right.is_numeric()) {
                Some((left, right)) => Some(common_numeric(left, right)),
                None => common_type(left, right),
            }
        }
        _ => common_type(left, right),
    }
}

/// The type two values meet in, for CASE, COALESCE, UNION and the like.
pub(crate) fn common_type(left: DataType, right: DataType) -> Option<DataType> {
    use DataType as T;
    if left == right {
        return Some(left);
    }
    if left.is_text() && right.is_text() {
        return Some(T::Text);
    }
    if left == T::Oid || right == T::Oid {
        // Of the integers, oid is what PostgreSQL prefers; other numbers do not become one.
        return (left.is_integer() && right.is_integer()).then_some(T::Oid);
    }
    if left.is_integer() && right.is_integer() {
        return Some(wider(left, right));
    }
    if left.is_number() && right.is_number() {
        return Some(match (digits(left), digits(right)) {
            // both floats: real only when both are (which was the first case)
            _ if left.is_float() || right.is_float() => T::Double,
            (Some(left), Some(right)) if left.1 == right.1 => common_numeric(left, right),
            // Each value shows the digits it has.
            _ => T::AnyNumeric,
        });
    }
    match (left, right) {
        (T::Time(left), T::Time(right)) => Some(T::Time(left.max(right))),
        (T::Encoded(left), T::Encoded(right)) => left.common(right).map(T::Encoded),
        (T::Time(_), T::Encoded(EncodedType::TimeTz(_))) => Some(right.with_all_digits()),
        (T::Encoded(EncodedType::TimeTz(_)), T::Time(_)) => Some(left.with_all_digits()),
        (T::Timestamp(left), T::Timestamp(right)) => Some(T::Timestamp(left.max(right))),
        (T::TimestampTz(left), T::TimestampTz(right)) => Some(T::TimestampTz(left.max(right))),
        (T::Date, T::Timestamp(_)) | (T::Timestamp(_), T::Date) => Some(T::TIMESTAMP),
        (T::Date | T::Timestamp(_), T::TimestampTz(_))
        | (T::TimestampTz(_), T::Date | T::Timestamp(_)) => Some(T::TIMESTAMPTZ),
        _ => None,
    }
}

pub(crate) fn wider(left: DataType, right: DataType) -> DataType {
    let rank = |t| digits(t).map_or(0, |d| d.0);
    if rank(left) >= rank(right) { left } else { right }
}

/// Refuses an operator of types that have no equality, or no order.
pub(crate) fn comparable(data_type: DataType, sign: &str, place: Place) -> Result<()> {
    match data_type {
        DataType::Array(element) if *element == DataType::Json => {
            let message = "could not identify a comparison function for type json";
            Err(error(b"42883", place, message))
        }
        DataType::Array(element) => comparable(*element, sign, place),
        DataType::Json => {
            let message = format!("operator does not exist: json {sign} json");
            Err(error(b"42883", place, message).hint("You might need to add explicit type casts."))
        }
        DataType::Jsonb if !matches!(sign, "=" | "<>") => Err(unsupported(
            place,
            format!("operator {sign} of jsonb"),
            "compare a part of it: (value ->> 'key')::integer",
        )),
        _ => Ok(()),
    }
}

/// Refuses values whose duplicates nobody could find: DISTINCT, GROUP BY, UNION.
pub(crate) fn check_equality(sql_type: SqlType, place: Place) -> Result<()> {
    match sql_type.spread() {
        SqlType::Scalar(DataType::Json) => {}
        SqlType::Array(DataType::Json) => {
            let message = "could not identify an equality operator for type json[]";
            return Err(error(b"42883", place, message));
        }
        _ => return Ok(()),
    }
    Err(error(b"42883", place, "could not identify an equality operator for type json"))
}

/// What is compared and sorted in place of a value: of jsonb, bytes that stand in the order of the
/// values.
pub(crate) fn order_of(value: Expr) -> Expr {
    match value.sql_type {
        SqlType::Scalar(DataType::Jsonb) => {
            call(Function::Json(JsonFunction::OrderKey), vec![value], DataType::Bytea)
        }
        _ => value,
    }
}

/// Refuses values that nobody could sort.
pub(crate) fn check_order(sql_type: SqlType, place: Place) -> Result<()> {
    match sql_type.spread() {
        SqlType::Array(element) => check_order(SqlType::Scalar(element), place),
        SqlType::Scalar(DataType::Json) => {
            Err(error(b"42883", place, "could not identify an ordering operator for type json")
                .hint("Use an explicit ordering operator or modify the query."))
        }
        SqlType::Scalar(DataType::Jsonb) => {
            Err(unsupported(place, "an order of jsonb", "order by a part of it: value ->> 'key'"))
        }
        _ => Ok(()),
    }
}

fn allowed(from: DataType, to: DataType, coercion: Coercion) -> bool {
    use DataType as T;
    let temporal = |t| matches!(t, T::Date | T::Timestamp(_) | T::TimestampTz(_));
    match (from, to) {
        (from, T::Oid) if from.is_number() => return from.is_integer(),
        (T::Oid, to) if to.is_number() => return matches!(to, T::Integer | T::BigInt),
        (T::Jsonb, T::Oid) => return false,
        (T::Array(from), T::Array(to)) => return allowed(*from, *to, coercion),
        (_, T::Array(_)) if !from.is_text() => return false,
        _ => {}
    }
    if from == to
        || from.is_number() && to.is_number()
        || to.is_text()
        || from.is_json() && to.is_json()
        || temporal(from) && temporal(to)
        || matches!(from, T::Time(_)) && matches!(to, T::Time(_) | T::Interval)
        || matches!(from, T::Timestamp(_) | T::TimestampTz(_) | T::Interval)
            && matches!(to, T::Time(_))
        || is_cast(from, to, coercion == Coercion::Explicit)
    {
        return true;
    }
    coercion == Coercion::Explicit
        && (from.is_text()
            || from == T::Jsonb && (to.is_number() || to == T::Boolean)
            || matches!((from, to), (T::Boolean, T::Integer) | (T::Integer, T::Boolean)))
}

/// Converts a constant now, where that succeeds.
fn folded(value: &Value, from: DataType, to: DataType) -> Option<Value> {
    if value.is_null() {
        return Some(Value::Null);
    }
    if from.is_text()
        && !to.is_text()
        && let Value::Text(text) = value
        && !zoned::means_another(text, to)
    {
        return Value::parse(to, text).ok();
    }
    let same_family = from.is_number() && to.is_number()
        || from.is_text() && to.is_text()
        || encoded_type(from).is_some() && encoded_type(to).is_some()
        || with_more_digits(from, to).is_some();
    if !same_family {
        return None;
    }
    // The blanks of a char(n) are no part of a text.
    let trimmed = match (value, from, to) {
        (Value::Text(_), DataType::Char(_), DataType::Char(_)) => None,
        (Value::Text(text), DataType::Char(_), _) => {
            Some(Value::Text(text.trim_end_matches(' ').to_owned()))
        }
        _ => None,
    };
    let mut heap = Vec::new();
    let datum = trimmed.as_ref().unwrap_or(value).to_datum(to, &mut heap).ok()?;
    Some(Value::from_datum(datum, to, &heap))
}

/// Whether a second of the one type has no more digits than one of the other; none: they do not
/// differ in that alone.
fn with_more_digits(from: DataType, to: DataType) -> Option<bool> {
    use DataType as T;
    match (from, to) {
        (T::Time(from), T::Time(to))
        | (T::Timestamp(from), T::Timestamp(to))
        | (T::TimestampTz(from), T::TimestampTz(to)) => Some(from <= to),
        _ => None,
    }
}

/// Wraps an expression in a cast where its type differs; no rules are asked.
pub(crate) fn cast(expr: Expr, to: DataType) -> Expr {
    if let (SqlType::Array(_), DataType::Array(element)) = (expr.sql_type.spread(), to) {
        return packed(array_cast(expr, *element));
    }
    if let (SqlType::Array(_), true) = (expr.sql_type, to.is_text()) {
        return cast(packed(expr), to);
    }
    let from = expr.data_type();
    if from == to {
        return expr;
    }
    if let ExprKind::Constant(value) = &expr.kind
        && let Some(value) = folded(value, from, to)
    {
        return constant(value, to);
    }
    // text, varchar(n) and char(n) differ in length and padding only
    if to == DataType::Text && matches!(from, DataType::Varchar(_)) {
        return Expr { sql_type: SqlType::Scalar(to), ..expr };
    }
    let lies_in = |(from, to): (EncodedType, EncodedType)| from.lies_in(to);
    let is_one = encoded_type(from).zip(encoded_type(to)).is_some_and(lies_in);
    // What forces bits to a length does so by its own type.
    let is_forced =
        matches!(&expr.kind, ExprKind::Call(Function::Encoded(EncodedFunction::Force), _));
    if is_one && !is_forced || with_more_digits(from, to) == Some(true) {
        return Expr { sql_type: SqlType::Scalar(to), ..expr };
    }
    scalar(ExprKind::Cast(Box::new(expr)), to)
}

/// Converts as an explicit cast does: text that is too long for varchar(n) is cut.
pub(crate) fn explicit_cast(expr: Expr, to: DataType, place: Place) -> Result<Expr> {
    let from = expr.sql_type.packed();
    if !allowed(from, to, Coercion::Explicit) {
        return Err(error(b"42846", place, format!("cannot cast type {from} to {to}")));
    }
    if let Some(forced) = forced(&expr, to) {
        return Ok(forced);
    }
    match to {
        DataType::Varchar(n) | DataType::Char(n) if from != to => {
            let text = cast(expr, DataType::Text);
            let cut = ExprKind::Call(Function::Left, vec![text, integer(n as i32)]);
            Ok(cast(scalar(cut, DataType::Text), to))
        }
        _ => Ok(cast(expr, to)),
    }
}

/// Whether values of a type are converted for columns or variables of another one.
pub(crate) fn is_assignable(from: DataType, to: DataType, coercion: Coercion) -> bool {
    // numbers and booleans become each other by a written cast only
    let by_cast_only = (from == DataType::Boolean) != (to == DataType::Boolean)
        && (from.is_integer() || to.is_integer());
    !by_cast_only && allowed(from, to, coercion)
}

/// Converts a value for a column or variable. `what` names the target in the error.
pub(crate) fn assign(
    expr: Expr,
    to: DataType,
    coercion: Coercion,
    place: Place,
    what: impl FnOnce() -> String,
) -> Result<Expr> {
    let from = expr.sql_type.packed();
    if !is_assignable(from, to, coercion) {
        return Err(error(
            b"42804",
            place,
            format!("{} is of type {to} but expression is of type {from}", what()),
        )
        .hint("You will need to rewrite or cast the expression."));
    }
    Ok(cast(expr, to))
}

/// A value of a row that is cast to a type of rows.
pub(crate) fn assign_cast(value: Expr, to: SqlType, place: Place) -> Result<Expr> {
    let to = to.packed();
    match (value.sql_type.spread(), to) {
        (SqlType::Array(from), DataType::Array(element)) if from == *element => Ok(packed(value)),
        _ => explicit_cast(value, to, place),
    }
}

/// A string literal read as a type.
pub(crate) fn parse_literal(text: &str, data_type: DataType, place: Place) -> Result<Expr> {
    let value = Value::parse(data_type, text).map_err(|e| value_error(&e, place))?;
    Ok(constant(value, data_type))
}

/// As [`parse_literal`], when it runs where it says another time in another zone.
pub(crate) fn literal_in_zone(text: &str, data_type: DataType, place: Place) -> Result<Expr> {
    let read = parse_literal(text, data_type, place)?;
    if !zoned::means_another(text, data_type) {
        return Ok(read);
    }
    let text = constant(Value::Text(text.to_owned()), DataType::Text);
    Ok(scalar(ExprKind::Cast(Box::new(text)), data_type))
}

/// An error of a value at a place.
pub(crate) fn value_error(
    problem: &hotrow_base::value::ValueError,
    place: Place,
) -> hotrow_transaction::outcome::SqlError {
    let error = hotrow_transaction::outcome::SqlError::from(problem.clone());
    hotrow_transaction::outcome::SqlError { place, ..error }
}

/// Joins expressions with AND or OR in a balanced tree, so that long lists stay shallow.
pub(crate) fn joined(
    mut list: Vec<Expr>,
    join: impl Fn(Box<Expr>, Box<Expr>) -> ExprKind,
) -> Option<Expr> {
    while list.len() > 1 {
        let mut pairs = Vec::with_capacity(list.len().div_ceil(2));
        let mut items = list.into_iter();
        while let Some(left) = items.next() {
            pairs.push(match items.next() {
                Some(right) => scalar(join(Box::new(left), Box::new(right)), DataType::Boolean),
                None => left,
            });
        }
        list = pairs;
    }
    list.pop()
}

pub(crate) fn call(function: Function, arguments: Vec<Expr>, data_type: DataType) -> Expr {
    scalar(ExprKind::Call(function, arguments), data_type)
}
