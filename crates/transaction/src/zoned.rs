//! Which expressions depend on the conventions of the session that asks: its zone, its styles.
//!
//! Role         what is computed when a definition is read must be the same for all sessions: such
//!              an expression waits for a call, and is no part of an index or a generated column
//! Source       PostgreSQL 15: the volatility of casts and functions of timestamptz, and of the
//!              texts of dates and intervals; those of floats and bytes are immutable there, and
//!              may be part of an index here as well. We differ: extract(epoch ...) and json of
//!              values without a timestamptz are the same in all zones here, and may be indexed

use hotrow_base::conventions::{Conventions, DateOrder, IntervalStyle, Style};
use hotrow_base::encoded::EncodedType;
use hotrow_base::temporal::TimeZone;
use hotrow_base::types::{DataType, RangeKind, SqlType};
use hotrow_base::value::Value;

use crate::program::{ArrayFunction, Expr, ExprKind, Function, TemplateFunction};
use crate::walk;

/// What of a session's conventions a value depends on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Dependence {
    /// it is the same for all
    Nothing,
    /// how floats and bytes are written
    Output,
    /// the zone, or how dates and intervals are written and read
    Meaning,
}

/// Whether a type's texts, and what they say, depend on a zone.
pub fn is_zoned(data_type: DataType) -> bool {
    match data_type {
        DataType::TimestampTz(_) | DataType::Range(RangeKind::TsTz) => true,
        // Without a zone in the text it is in the session's.
        DataType::Encoded(EncodedType::TimeTz(_)) => true,
        DataType::Array(element) => is_zoned(*element),
        DataType::Composite(of) => of.types().any(is_zoned),
        _ => false,
    }
}

/// What a type's texts depend on.
fn of_texts(data_type: DataType) -> Dependence {
    match data_type {
        DataType::Date
        | DataType::Timestamp(_)
        | DataType::Interval
        | DataType::Range(RangeKind::Date | RangeKind::Ts) => Dependence::Meaning,
        DataType::Real | DataType::Double | DataType::Bytea => Dependence::Output,
        DataType::Array(element) => of_texts(*element),
        DataType::Composite(of) => of.types().map(of_texts).max().unwrap_or(Dependence::Nothing),
        _ if is_zoned(data_type) => Dependence::Meaning,
        _ => Dependence::Nothing,
    }
}

const fn inner(sql_type: SqlType) -> DataType {
    match sql_type {
        SqlType::Scalar(of) | SqlType::Array(of) => of,
    }
}

fn is_zoned_type(sql_type: SqlType) -> bool {
    is_zoned(inner(sql_type))
}

fn is_written(sql_type: SqlType) -> bool {
    let of = inner(sql_type);
    of.is_text() || of.is_json()
}

/// Whether a text says another value of a type by other conventions.
pub fn means_another(text: &str, data_type: DataType) -> bool {
    if of_texts(data_type) != Dependence::Meaning {
        return false; // nearly all
    }
    // In which no clock ever shows what one in UTC shows.
    let elsewhere = TimeZone::fixed(11_717).unwrap_or_default();
    let with = |order, intervals| Style { order, intervals, ..Style::DEFAULT };
    let usual = Conventions::DEFAULT;
    let mut read = [
        usual,
        Conventions { zone: elsewhere, ..usual },
        Conventions { style: with(DateOrder::Dmy, IntervalStyle::Postgres), ..usual },
        Conventions { style: with(DateOrder::Ymd, IntervalStyle::SqlStandard), ..usual },
    ]
    .into_iter()
    .map(|conventions| {
        let _entered = conventions.enter();
        Value::parse(data_type, text).ok()
    });
    let first = read.next();
    !read.all(|other| Some(other) == first)
}

/// What an expression's value depends on.
pub fn dependence(expr: &Expr) -> Dependence {
    let mut depends = match &expr.kind {
        ExprKind::Cast(from) => of_conversion(from, expr.sql_type),
        // What has another type becomes one of the expression's.
        ExprKind::Case { .. } | ExprKind::Coalesce(_) => {
            let mut depends = Dependence::Nothing;
            walk::operands(expr, &mut |operand| {
                if operand.sql_type != SqlType::Scalar(DataType::Boolean) {
                    depends = depends.max(of_conversion(operand, expr.sql_type));
                }
            });
            depends
        }
        ExprKind::Compare(_, a, b) | ExprKind::NotDistinct(a, b) => {
            meaning(is_zoned_type(a.sql_type) != is_zoned_type(b.sql_type))
        }
        ExprKind::Call(function, arguments) => of_call(*function, arguments, expr),
        _ => Dependence::Nothing,
    };
    walk::operands(expr, &mut |operand| {
        if depends != Dependence::Meaning {
            depends = depends.max(dependence(operand));
        }
    });
    depends
}

/// Whether an expression may have another value by other conventions.
pub fn depends_on_session(expr: &Expr) -> bool {
    dependence(expr) != Dependence::Nothing
}

const fn meaning(depends: bool) -> Dependence {
    if depends { Dependence::Meaning } else { Dependence::Nothing }
}

/// A conversion from a type that depends on zones to one that does not, or back; one to a text, or
/// back.
fn of_conversion(from: &Expr, to: SqlType) -> Dependence {
    let is_converted = is_zoned_type(from.sql_type) != is_zoned_type(to);
    match (&from.kind, to) {
        (ExprKind::Constant(Value::Null), _) => Dependence::Nothing,
        (ExprKind::Constant(Value::Text(text)), SqlType::Scalar(to)) => {
            meaning(means_another(text, to))
        }
        _ if is_converted => Dependence::Meaning,
        _ => match (is_written(from.sql_type), is_written(to)) {
            (false, true) => of_texts(inner(from.sql_type)),
            (true, false) => meaning(of_texts(inner(to)) == Dependence::Meaning),
            _ => Dependence::Nothing,
        },
    }
}

fn of_call(function: Function, arguments: &[Expr], result: &Expr) -> Dependence {
    use Function as F;
    let takes = || arguments.iter().any(|argument| is_zoned_type(argument.sql_type));
    let is_zoned = match function {
        // Of values as they are.
        F::Greatest
        | F::Least
        | F::NullIf
        | F::Require
        | F::SatisfiesHash
        | F::ElementOf
        | F::Leaves
        | F::ArrayAppend
        | F::Cardinality
        | F::IsFinite
        | F::DateBin
        | F::TimestampDiff
        | F::InZone
        | F::Range(_)
        | F::Template(TemplateFunction::OfEpoch) => return Dependence::Nothing,
        F::Array(of) => of == ArrayFunction::Join && takes(),
        F::ArrayCast => takes() != is_zoned_type(result.sql_type),
        F::Extract => takes() && !is_of_epoch(arguments),
        _ => takes() || is_zoned_type(result.sql_type),
    };
    if is_zoned {
        return Dependence::Meaning;
    }
    let is_read = || arguments.iter().any(|argument| is_written(argument.sql_type));
    match function {
        // By a template, whatever the style.
        F::Template(_) => Dependence::Nothing,
        _ if is_written(result.sql_type) => {
            let of = arguments.iter().map(|argument| of_texts(inner(argument.sql_type)));
            of.max().unwrap_or(Dependence::Nothing)
        }
        F::ArrayCast | F::Json(_) | F::Row(_) if is_read() => {
            meaning(of_texts(inner(result.sql_type)) == Dependence::Meaning)
        }
        _ => Dependence::Nothing,
    }
}

fn is_of_epoch(arguments: &[Expr]) -> bool {
    use crate::functions::time::EXTRACT_FIELDS;
    use hotrow_base::temporal::ExtractField;
    let [_, Expr { kind: ExprKind::Constant(Value::Int(code)), .. }] = arguments else {
        return false;
    };
    let field = usize::try_from(*code).ok().and_then(|at| EXTRACT_FIELDS.get(at));
    field == Some(&ExtractField::Epoch)
}
