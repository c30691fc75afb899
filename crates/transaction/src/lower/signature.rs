//! Signatures: which types each operator, function and conversion reads.
//!
//! Role         a datum does not know its type, so whoever reads it must be right about it: a
//!              number that is read as a text is a range of the heap that does not exist. Lowering
//!              asks here for every node of every expression, wherever that comes from, so that no
//!              instruction reads what its operands are not
//! Invariants   I1 what passes here is read by the interpreter in the form in which it was written
//!              I2 what is refused here has an error of PostgreSQL's: 42883 or 42846. The compiler
//!                 refuses most of it before, and says it better

#[cfg(test)]
mod tests;

use hotrow_base::composite::CompositeType;
use hotrow_base::range::RangeFunction;
use hotrow_base::types::{DataType, SqlType};

use super::Lowerer;
use super::expr::common_type;
use crate::catalog::is_hashed;
use crate::outcome::SqlError;
use crate::program::{
    ArrayFunction, BitFunction, Expr, ExprKind, Function, IntervalFunction, NumericFunction,
    RealFunction as R, RowFunction, TemplateFunction, TextFunction,
};

/// What an operand must be.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Wanted {
    /// an integer, or what is kept as one: boolean, date, time, timestamps
    Int,
    /// a number of any kind
    Number,
    Double,
    Numeric,
    /// a text or a json, whose bytes are UTF-8
    Text,
    /// anything that is bytes
    Bytes,
    /// a date, a time or a timestamp
    Time,
    Interval,
    /// a date, a time, a timestamp or an interval
    TimeOrInterval,
    Array,
    /// not an array
    Scalar,
    /// a scalar that can be converted to this type
    As(DataType),
}

impl Wanted {
    fn fits(self, sql_type: SqlType) -> bool {
        use DataType as T;
        let SqlType::Scalar(of) = sql_type else { return self == Self::Array };
        let is_time = matches!(of, T::Date | T::Time(_) | T::Timestamp(_) | T::TimestampTz(_));
        match self {
            Self::Int => of.is_integer() || of == T::Boolean || is_time,
            Self::Number => of.is_number(),
            Self::Double => of.is_float(),
            Self::Numeric => of.is_numeric(),
            Self::Text => of.is_text() || of.is_json(),
            Self::Bytes => of.is_bytes() && !of.is_shown_by_last_bytes(),
            Self::Time => is_time,
            Self::Interval => of == T::Interval,
            Self::TimeOrInterval => is_time || of == T::Interval,
            Self::Array => false,
            Self::Scalar => true,
            Self::As(to) => is_convertible(of, to),
        }
    }
}

/// Whether [`crate::functions::cast`] knows a conversion.
fn is_convertible(from: DataType, to: DataType) -> bool {
    use DataType as T;
    let is_time = |of| matches!(of, T::Date | T::Timestamp(_) | T::TimestampTz(_));
    match to {
        _ if from == to || to.is_text() || from.is_text() => true,
        T::Json | T::Jsonb => from.is_json(),
        // Which of them it can be is asked of the value.
        _ if from == T::Jsonb => !matches!(to, T::Oid | T::Array(_)),
        T::Boolean => from.is_integer(),
        T::Integer | T::BigInt if matches!(from, T::Encoded(_)) => true,
        T::SmallInt | T::Integer | T::BigInt => from.is_number() || from == T::Boolean,
        T::Oid => from.is_integer(),
        T::Real | T::Double => from.is_number(),
        _ if to.is_numeric() => from.is_number(),
        T::Date | T::Timestamp(_) | T::TimestampTz(_) => is_time(from),
        // Which of them it can be is asked of the value.
        T::Encoded(_) => matches!(from, T::Encoded(_) | T::Time(_) | T::TimestampTz(_)),
        T::Time(_) if matches!(from, T::Encoded(_)) => true,
        T::Time(_) => {
            matches!(from, T::Time(_) | T::Timestamp(_) | T::TimestampTz(_) | T::Interval)
        }
        T::Interval => matches!(from, T::Time(_)),
        _ => false,
    }
}

impl Lowerer<'_> {
    /// Fails where an expression's operands are not what it reads.
    pub(super) fn check_types(&mut self, expr: &Expr) {
        if let Err(error) = self.checked(expr) {
            self.fail(error);
        }
    }

    /// Fails where a value of one type is to become one of another, and cannot.
    pub(super) fn check_conversion(&mut self, from: SqlType, to: SqlType) {
        if let Err(error) = converted(from, to) {
            self.fail(error);
        }
    }

    fn checked(&self, expr: &Expr) -> Result<(), SqlError> {
        use ExprKind as K;
        let slot_type = |slot: crate::program::SlotId| {
            self.procedure.slots.get(slot.index()).map(|slot| slot.sql_type)
        };
        match &expr.kind {
            K::Slot(_) | K::Constant(_) | K::IsNull(_) => Ok(()),
            K::Negate(a) => operator("-", &[a], &[Wanted::Number]),
            K::Arithmetic(op, a, b) => {
                let wanted =
                    if expr.data_type().is_integer() { Wanted::Int } else { Wanted::Number };
                operator(op.symbol(), &[a, b], &[wanted; 2])
            }
            K::Compare(op, a, b) => compared(op.symbol(), a, b),
            K::NotDistinct(a, b) => compared("=", a, b),
            K::And(a, b) => operator("AND", &[a, b], &[Wanted::Int; 2]),
            K::Or(a, b) => operator("OR", &[a, b], &[Wanted::Int; 2]),
            K::Not(a) => operator("NOT", &[a], &[Wanted::Int]),
            K::Case { arms, otherwise } => {
                let is_truth = |(condition, _): &(Expr, Expr)| Wanted::Int.fits(condition.sql_type);
                if !arms.iter().all(is_truth) {
                    return Err(SqlError::new(b"42804", "argument of CASE must be type boolean"));
                }
                let mut values = arms.iter().map(|(_, value)| value).chain(otherwise.as_deref());
                values.try_for_each(|value| converted(value.sql_type, expr.sql_type))
            }
            K::Coalesce(operands) => {
                operands.iter().try_for_each(|value| converted(value.sql_type, expr.sql_type))
            }
            K::Cast(operand) => converted(operand.sql_type, expr.sql_type),
            K::Concat(a, b) => operator("||", &[a, b], &[Wanted::As(DataType::Text); 2]),
            K::Call(called, arguments) => function(*called, arguments, expr),
            K::Element(array, index) => {
                let fits = slot_type(*array) == Some(SqlType::Array(expr.data_type()));
                match fits && Wanted::Int.fits(index.sql_type) {
                    true => Ok(()),
                    false => Err(SqlError::new(b"42804", "cannot subscript this type")),
                }
            }
            K::ArrayLength(array) => match slot_type(*array) {
                Some(SqlType::Array(_)) => Ok(()),
                _ => Err(SqlError::new(b"42883", "function array_length takes an array")),
            },
        }
    }
}

fn converted(from: SqlType, to: SqlType) -> Result<(), SqlError> {
    let is_known = match (from, to) {
        (SqlType::Scalar(from), SqlType::Scalar(to)) => is_convertible(from, to),
        _ => from == to,
    };
    match is_known {
        true => Ok(()),
        false => Err(SqlError::new(b"42846", format!("cannot cast type {from} to {to}"))),
    }
}

fn compared(sign: &str, a: &Expr, b: &Expr) -> Result<(), SqlError> {
    let common = common_type(a.data_type(), b.data_type());
    operator(sign, &[a, b], &[Wanted::As(common); 2])
}

fn operator(sign: &str, operands: &[&Expr], wanted: &[Wanted]) -> Result<(), SqlError> {
    if operands.iter().zip(wanted).all(|(operand, wanted)| wanted.fits(operand.sql_type)) {
        return Ok(());
    }
    let types: Vec<_> = operands.iter().map(|operand| operand.sql_type.to_string()).collect();
    Err(not_there(match types.as_slice() {
        [one] => format!("operator does not exist: {sign} {one}"),
        types => format!("operator does not exist: {}", types.join(&format!(" {sign} "))),
    }))
}

fn function(function: Function, arguments: &[Expr], expr: &Expr) -> Result<(), SqlError> {
    let given: Vec<_> = arguments.iter().map(|argument| argument.sql_type).collect();
    if is_called_with(function, &given, expr.data_type()) {
        return Ok(());
    }
    let name = match function {
        Function::Interval(function) => format!("{function:?}"),
        Function::Template(function) => format!("{function:?}"),
        Function::Json(function) => format!("{function:?}"),
        Function::Range(function) => function.name().to_owned(),
        Function::Array(function) => function.name().to_owned(),
        Function::Encoded(function) => function.name().to_owned(),
        function => format!("{function:?}"),
    };
    let types: Vec<_> = given.iter().map(SqlType::to_string).collect();
    let name = name.to_lowercase();
    Err(not_there(format!("function {name}({}) does not exist", types.join(", "))))
}

fn is_called_with(function: Function, given: &[SqlType], gives: DataType) -> bool {
    use Function as F;
    use Wanted as W;
    let all = |wanted: Wanted| given.iter().all(|given| wanted.fits(*given));
    let takes = |wanted: &[Wanted]| {
        wanted.len() == given.len() && wanted.iter().zip(given).all(|(w, given)| w.fits(*given))
    };
    match function {
        F::Abs | F::Floor | F::Ceil | F::Sign | F::Sqrt | F::Exp | F::Ln => takes(&[W::Number]),
        F::Round | F::Trunc => takes(&[W::Number]) || takes(&[W::Number, W::Int]),
        F::Power => takes(&[W::Number; 2]),
        F::Mod if gives.is_any_numeric() => takes(&[W::Number; 2]),
        F::Mod => takes(&[W::Int; 2]) || takes(&[W::Numeric; 2]),
        F::Numeric(function) => match function {
            NumericFunction::Arithmetic(_) | NumericFunction::DivideWhole => takes(&[W::Number; 2]),
            NumericFunction::Logarithm => takes(&[W::Number]) || takes(&[W::Number; 2]),
            _ => takes(&[W::Number]),
        },
        F::Greatest | F::Least => !given.is_empty() && all(W::As(gives)),
        F::NullIf => match given {
            [SqlType::Scalar(a), SqlType::Scalar(b)] => all(W::As(common_type(*a, *b))),
            _ => false,
        },
        F::Require => match given {
            [_, rest @ ..] => {
                let wanted = [W::Int, W::Text, W::Text];
                rest.len() == 3 && wanted.iter().zip(rest).all(|(w, given)| w.fits(*given))
            }
            [] => false,
        },
        F::SatisfiesHash => {
            let is_key = |of: &SqlType| matches!(of, SqlType::Scalar(of) if is_hashed(*of));
            let numbers = given.iter().take(3);
            given.len() > 3
                && numbers.into_iter().all(|of| W::Int.fits(*of))
                && given[3..].iter().all(is_key)
        }
        F::Real(R::AtanOfTwo | R::AtanOfTwoInDegrees | R::LogOf) => takes(&[W::Number; 2]),
        F::Real(_) => takes(&[W::Number]),
        F::Whole(_) => takes(&[W::Int; 2]),
        F::Recode(function) => match function {
            TextFunction::Translate => takes(&[W::Text; 3]),
            TextFunction::StartsWith => takes(&[W::Text; 2]),
            TextFunction::InitCap | TextFunction::Code => takes(&[W::Text]),
            TextFunction::Character | TextFunction::Hex32 | TextFunction::Hex64 => takes(&[W::Int]),
            TextFunction::Encode | TextFunction::Decode => takes(&[W::Bytes, W::Text]),
            TextFunction::GetByte | TextFunction::RandomBytes => takes(&[W::Bytes, W::Int]),
            TextFunction::Digest => takes(&[W::Bytes, W::Text]),
            TextFunction::Hmac => takes(&[W::Bytes, W::Bytes, W::Text]),
            _ => takes(&[W::Bytes]),
        },
        F::Length | F::OctetLength => takes(&[W::Bytes]),
        F::Lower | F::Upper | F::Reverse => takes(&[W::Text]),
        F::Substring => takes(&[W::Bytes, W::Int]) || takes(&[W::Bytes, W::Int, W::Int]),
        F::Left | F::Right | F::Repeat => takes(&[W::Text, W::Int]),
        F::Position | F::Like | F::Matches | F::MatchesAnyCase => takes(&[W::Text; 2]),
        F::Trim | F::LTrim | F::RTrim => takes(&[W::Text]) || takes(&[W::Text; 2]),
        F::LPad | F::RPad => takes(&[W::Text, W::Int]) || takes(&[W::Text, W::Int, W::Text]),
        F::Replace => takes(&[W::Text; 3]),
        F::Concat => all(W::As(DataType::Text)),
        F::Format if let [SqlType::Scalar(_), SqlType::Array(of)] = given => of.is_text(),
        F::ConcatWs | F::Format => !given.is_empty() && all(W::Text),
        F::Extract => takes(&[W::TimeOrInterval, W::Int]),
        F::DateTrunc => takes(&[W::Int, W::TimeOrInterval]) || takes(&[W::Int, W::Time, W::Text]),
        F::DateAdd => takes(&[W::Time, W::Int]),
        F::DateDiff | F::TimestampDiff | F::Age => takes(&[W::Time; 2]),
        F::TimestampAdd => takes(&[W::Time, W::Interval]),
        F::MakeDate => takes(&[W::Int; 3]),
        F::MakeTime => takes(&[W::Int, W::Int, W::Double]),
        F::MakeTimestamp => {
            let of_fields = [W::Int, W::Int, W::Int, W::Int, W::Int, W::Double, W::Text];
            takes(&of_fields[..6]) || takes(&of_fields)
        }
        F::DateBin => takes(&[W::Interval, W::Time, W::Time]),
        F::IsFinite => takes(&[W::TimeOrInterval]),
        F::InZone => takes(&[W::Text, W::Time]) || takes(&[W::Interval, W::Time]),
        F::Interval(function) => match function {
            IntervalFunction::Negate
            | IntervalFunction::JustifyHours
            | IntervalFunction::JustifyDays
            | IntervalFunction::Justify => takes(&[W::Interval]),
            IntervalFunction::Add | IntervalFunction::Subtract => takes(&[W::Interval; 2]),
            IntervalFunction::Multiply | IntervalFunction::Divide => {
                takes(&[W::Interval, W::Double])
            }
            IntervalFunction::Make => {
                takes(&[W::Int, W::Int, W::Int, W::Int, W::Int, W::Int, W::Double])
            }
        },
        F::Template(TemplateFunction::ToChar) => {
            takes(&[W::Number, W::Text]) || takes(&[W::TimeOrInterval, W::Text])
        }
        F::Template(TemplateFunction::OfEpoch) => takes(&[W::Double]),
        F::Template(_) => takes(&[W::Text; 2]),
        F::Cardinality => takes(&[W::Array]),
        F::ArrayAppend => match given {
            [SqlType::Array(element), SqlType::Scalar(value)] => value.is_kept_like(*element),
            _ => false,
        },
        F::ArrayCast => match given {
            [SqlType::Array(element)] => is_convertible(*element, gives),
            [SqlType::Array(element), SqlType::Scalar(DataType::Integer)] => {
                is_convertible(*element, DataType::Text) && gives.is_text()
            }
            _ => false,
        },
        F::Array(function) => takes_arrays(function, given),
        F::Bits(BitFunction::Not) => takes(&[W::Int]),
        F::Bits(_) => takes(&[W::Int; 2]),
        F::ElementOf => match given {
            [SqlType::Scalar(value), SqlType::Array(element)] => value.is_kept_like(*element),
            _ => false,
        },
        // They look at the values, which know their types.
        F::Json(_) | F::Encoded(_) => all(W::Scalar),
        F::Row(function) => takes_rows(function, given, gives),
        F::Range(function) => takes_ranges(function, given, gives),
        F::Random(_) => takes(&[W::Bytes, W::Int, W::Int, W::Time]),
        F::Leaves => given.is_empty(),
        // Nobody runs them: they stand in definitions.
        F::CurrentUser | F::SessionUser => false,
    }
}

fn takes_arrays(function: ArrayFunction, given: &[SqlType]) -> bool {
    use ArrayFunction as F;
    use SqlType::{Array, Scalar};
    let is_int = |of: &SqlType| Wanted::Int.fits(*of);
    let is_text = |of: &SqlType| Wanted::Text.fits(*of);
    let like = |one: DataType, other: DataType| one.is_kept_like(other);
    let are_bounds =
        |of: &[SqlType]| !of.is_empty() && of.len().is_multiple_of(2) && of.iter().all(is_int);
    match (function, given) {
        (F::Of, values) => {
            let is_like = |of: &SqlType| match (of, values.first()) {
                (Scalar(of), Some(Scalar(first))) => of.is_kept_like(*first),
                _ => false,
            };
            values.iter().all(is_like)
        }
        (F::Pack, [Array(_)]) | (F::Unpack, [Scalar(DataType::Array(_))]) => true,
        (F::Prepend, [Scalar(value), Array(of)]) => like(*value, *of),
        (F::Concat | F::Contains | F::ContainedBy | F::Overlaps, [Array(one), Array(other)]) => {
            like(*one, *other)
        }
        (F::Nest, [Array(first), rest @ ..]) => {
            rest.iter().all(|of| matches!(of, Array(of) if like(*of, *first)))
        }
        (F::Trim | F::Slices, [Array(_), at]) => is_int(at),
        (F::Element, [Array(_), at @ ..]) => !at.is_empty() && at.iter().all(is_int),
        (F::Set, [Array(of), at @ .., Scalar(value)]) => {
            !at.is_empty() && at.iter().all(is_int) && like(*value, *of)
        }
        (F::SetSlice, [Array(of), bounds @ .., Array(new)]) => {
            are_bounds(bounds) && like(*new, *of)
        }
        (F::Slice, [Array(_), bounds @ ..]) => are_bounds(bounds),
        (F::Remove | F::Position | F::Positions, [Array(of), Scalar(value)]) => like(*value, *of),
        (F::Position, [Array(of), Scalar(value), from]) => like(*value, *of) && is_int(from),
        (F::Replace, [Array(of), Scalar(old), Scalar(new)]) => like(*old, *of) && like(*new, *of),
        (F::Extent(_), [Array(_)]) => true,
        (F::Extent(_), [Array(_), at]) => is_int(at),
        (F::Any(_) | F::All(_), [Scalar(value), Array(of)]) => like(*value, *of),
        (F::Join, [Array(_), rest @ ..]) => rest.iter().all(is_text),
        (F::Split, texts) => texts.iter().all(is_text),
        (F::Fill, [Scalar(_), Array(of)]) => of.is_integer(),
        (F::Fill, [Scalar(_), Array(of), Array(lower)]) => of.is_integer() && lower.is_integer(),
        _ => false,
    }
}

fn takes_rows(function: RowFunction, given: &[SqlType], gives: DataType) -> bool {
    let is_kept = |given: SqlType, wanted: DataType| match given {
        SqlType::Scalar(given) => given.is_kept_like(wanted),
        SqlType::Array(_) => false,
    };
    let field = |of: CompositeType, at: u16| of.types().nth(at.into());
    match (function, given, gives) {
        (RowFunction::Make, given, DataType::Composite(of)) => {
            let mut pairs = given.iter().zip(of.types());
            given.len() == of.fields().len() && pairs.all(|(given, of)| is_kept(*given, of))
        }
        (RowFunction::Field(at), [SqlType::Scalar(DataType::Composite(of))], gives) => {
            field(*of, at) == Some(gives)
        }
        (RowFunction::With(at), [row, value], DataType::Composite(of)) => {
            *row == SqlType::Scalar(gives) && field(of, at).is_some_and(|of| is_kept(*value, of))
        }
        _ => false,
    }
}

fn takes_ranges(function: RangeFunction, given: &[SqlType], gives: DataType) -> bool {
    use RangeFunction as F;
    use SqlType::Scalar;
    let is = |of: &SqlType, wanted: DataType| *of == Scalar(wanted);
    match (function, given) {
        (F::Make, [bounds @ .., flags]) if bounds.len() == 2 => {
            let DataType::Range(kind) = gives else { return false };
            Wanted::Text.fits(*flags) && bounds.iter().all(|of| is(of, kind.element()))
        }
        (F::Make, bounds) => {
            let DataType::Range(kind) = gives else { return false };
            bounds.len() == 2 && bounds.iter().all(|of| is(of, kind.element()))
        }
        (F::ContainsElement, [Scalar(DataType::Range(kind)), element])
        | (F::ElementOf, [element, Scalar(DataType::Range(kind))]) => is(element, kind.element()),
        (F::Lower | F::Upper, [Scalar(DataType::Range(kind))]) => kind.element() == gives,
        (_, [Scalar(DataType::Range(_))]) => gives == DataType::Boolean,
        (_, [Scalar(DataType::Range(one)), Scalar(DataType::Range(other))]) => one == other,
        _ => false,
    }
}

fn not_there(message: String) -> SqlError {
    let mut error = SqlError::new(b"42883", message);
    error.hint = Some("You might need to add explicit type casts.".to_owned());
    error
}
