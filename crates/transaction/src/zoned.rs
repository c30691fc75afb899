//! Which expressions depend on the zone of the session that asks.
//!
//! Role         what is computed when a definition is read must be the same for all sessions: such
//!              an expression waits for a call, and is no part of an index or a generated column
//! Source       PostgreSQL 15: the volatility of casts and functions of timestamptz. We differ:
//!              extract(epoch ...) and json of values without a timestamptz are the same in all
//!              zones here, and may be indexed

use hotrow_base::encoded::EncodedType;
use hotrow_base::temporal::TimeZone;
use hotrow_base::types::{DataType, RangeKind, SqlType};
use hotrow_base::value::Value;

use crate::program::{ArrayFunction, Expr, ExprKind, Function, TemplateFunction};
use crate::walk;

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

fn is_zoned_type(sql_type: SqlType) -> bool {
    match sql_type {
        SqlType::Scalar(of) | SqlType::Array(of) => is_zoned(of),
    }
}

/// Whether a text says another value of a type in another zone.
pub fn means_another(text: &str, data_type: DataType) -> bool {
    if !is_zoned(data_type) {
        return false; // nearly all
    }
    // Two zones in which no clock ever shows the same.
    let [one, other] = [0, 11_717].map(|offset| {
        let _zone = TimeZone::fixed(offset).unwrap_or_default().enter();
        Value::parse(data_type, text).ok()
    });
    one != other
}

/// Whether an expression may have another value in another zone.
pub fn depends_on_zone(expr: &Expr) -> bool {
    let mut depends = match &expr.kind {
        ExprKind::Cast(from) => is_converted((from, expr.sql_type)),
        // What has another type becomes one of the expression's.
        ExprKind::Case { .. } | ExprKind::Coalesce(_) => {
            let mut converts = false;
            walk::operands(expr, &mut |operand| {
                converts |= operand.sql_type != SqlType::Scalar(DataType::Boolean)
                    && is_converted((operand, expr.sql_type));
            });
            converts
        }
        ExprKind::Compare(_, a, b) | ExprKind::NotDistinct(a, b) => {
            is_zoned_type(a.sql_type) != is_zoned_type(b.sql_type)
        }
        ExprKind::Call(function, arguments) => calls_zoned(*function, arguments, expr),
        _ => false,
    };
    walk::operands(expr, &mut |operand| depends = depends || depends_on_zone(operand));
    depends
}

/// Whether a conversion leads from a type that depends on zones to one that does not, or back.
fn is_converted((from, to): (&Expr, SqlType)) -> bool {
    if is_zoned_type(from.sql_type) == is_zoned_type(to) {
        return false;
    }
    match (&from.kind, to) {
        (ExprKind::Constant(Value::Null), _) => false,
        (ExprKind::Constant(Value::Text(text)), SqlType::Scalar(to)) => means_another(text, to),
        _ => true,
    }
}

fn calls_zoned(function: Function, arguments: &[Expr], result: &Expr) -> bool {
    use Function as F;
    let takes = || arguments.iter().any(|argument| is_zoned_type(argument.sql_type));
    match function {
        // Of values as they are.
        F::Greatest
        | F::Least
        | F::NullIf
        | F::Require
        | F::SatisfiesHash
        | F::ElementOf
        | F::ArrayAppend
        | F::Cardinality
        | F::IsFinite
        | F::DateBin
        | F::TimestampDiff
        | F::InZone
        | F::Range(_)
        | F::Template(TemplateFunction::OfEpoch) => false,
        F::Array(of) => of == ArrayFunction::Join && takes(),
        F::ArrayCast => takes() != is_zoned_type(result.sql_type),
        F::Extract => takes() && !is_of_epoch(arguments),
        _ => takes() || is_zoned_type(result.sql_type),
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
