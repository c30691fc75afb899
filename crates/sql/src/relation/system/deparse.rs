//! Expressions as SQL text: defaults and conditions of constraints.

use hotrow_base::encoded::EncodedFunction;
use hotrow_base::quote::identifier as quoted;
use hotrow_base::range::RangeFunction;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::catalog::NamedType;
use hotrow_transaction::functions::time::{EXTRACT_FIELDS, TRUNCATE_UNITS};
use hotrow_transaction::program::{
    ArrayFunction, Expr, ExprKind, Function, RowFunction, TextFunction,
};

use crate::functions;

/// How what an expression names is called by whoever reads it.
pub(super) struct Called<'n> {
    /// of a slot: the column that it is, else empty
    pub(super) column: &'n dyn Fn(usize) -> String,
    /// of a type that was given a name
    pub(super) type_name: &'n dyn Fn(&NamedType) -> String,
}

impl Called<'_> {
    fn type_text(&self, of: SqlType) -> String {
        match of.packed() {
            DataType::Enum(of) => (self.type_name)(&NamedType::Enum(of)),
            DataType::Composite(of) => (self.type_name)(&NamedType::Composite(of)),
            DataType::Array(element) => self.type_text(SqlType::Scalar(*element)) + "[]",
            other => other.to_string(),
        }
    }
}

/// The text of an expression.
pub(super) fn text(expr: &Expr, called: &Called<'_>) -> String {
    // Integers of two widths compare without a cast.
    fn unwidened(operand: &Expr) -> &Expr {
        use DataType::{BigInt, Integer, SmallInt};
        let is_integer = |of: &Expr| matches!(of.data_type(), SmallInt | Integer | BigInt);
        match &operand.kind {
            ExprKind::Cast(inner) if is_integer(operand) && is_integer(inner) => inner,
            _ => operand,
        }
    }

    let of = |expr: &Expr| text(expr, called);
    let type_text = || called.type_text(expr.sql_type);
    let pair =
        |left: &Expr, sign: &str, right: &Expr| format!("({} {sign} {})", of(left), of(right));
    match &expr.kind {
        // Defaults read the call's time and nothing else.
        ExprKind::Slot(slot) => match (called.column)(slot.index()) {
            column if column.is_empty() => "now()".to_owned(),
            column => column,
        },
        ExprKind::Constant(value) if value.is_null() => format!("NULL::{}", type_text()),
        ExprKind::Constant(value) => match expr.sql_type {
            SqlType::Scalar(of) if of.is_number() => value.to_string(),
            SqlType::Scalar(DataType::Boolean) => match value {
                Value::Bool(true) => "true".to_owned(),
                _ => "false".to_owned(),
            },
            _ => format!("'{}'::{}", value.to_string().replace('\'', "''"), type_text()),
        },
        ExprKind::Negate(operand) => format!("(- {})", of(operand)),
        ExprKind::Arithmetic(op, left, right) => pair(left, op.symbol(), right),
        ExprKind::Compare(op, left, right) => pair(unwidened(left), op.symbol(), unwidened(right)),
        ExprKind::NotDistinct(left, right) => pair(left, "IS NOT DISTINCT FROM", right),
        ExprKind::And(left, right) => pair(left, "AND", right),
        ExprKind::Or(left, right) => pair(left, "OR", right),
        ExprKind::Not(operand) => match &operand.kind {
            ExprKind::IsNull(inner) => format!("({} IS NOT NULL)", of(inner)),
            _ => format!("(NOT {})", of(operand)),
        },
        ExprKind::IsNull(operand) => format!("({} IS NULL)", of(operand)),
        ExprKind::Case { arms, otherwise } => {
            let mut all = "CASE".to_owned();
            for (condition, value) in arms {
                all += &format!(" WHEN {} THEN {}", of(condition), of(value));
            }
            if let Some(otherwise) = otherwise {
                all += &format!(" ELSE {}", of(otherwise));
            }
            all + " END"
        }
        ExprKind::Coalesce(list) => {
            format!("COALESCE({})", list.iter().map(of).collect::<Vec<_>>().join(", "))
        }
        ExprKind::Cast(operand) => format!("({})::{}", of(operand), type_text()),
        ExprKind::Concat(left, right) => pair(left, "||", right),
        ExprKind::Call(Function::Array(function), list) => match (function, list.as_slice()) {
            (ArrayFunction::Pack | ArrayFunction::Unpack, [array]) => of(array),
            (ArrayFunction::Of, list) => {
                format!("ARRAY[{}]", list.iter().map(of).collect::<Vec<_>>().join(", "))
            }
            (ArrayFunction::Element, [array, at]) => format!("{}[{}]", of(array), of(at)),
            (ArrayFunction::Slice, [array, from, to]) => {
                format!("{}[{}:{}]", of(array), of(from), of(to))
            }
            (ArrayFunction::Concat | ArrayFunction::Prepend, [one, other]) => {
                pair(one, "||", other)
            }
            (ArrayFunction::Contains, [one, other]) => pair(one, "@>", other),
            (ArrayFunction::ContainedBy, [one, other]) => pair(one, "<@", other),
            (ArrayFunction::Overlaps, [one, other]) => pair(one, "&&", other),
            (ArrayFunction::Any(op), [value, array]) => {
                format!("({} {} ANY ({}))", of(value), op.symbol(), of(array))
            }
            (ArrayFunction::All(op), [value, array]) => {
                format!("({} {} ALL ({}))", of(value), op.symbol(), of(array))
            }
            (function, list) => {
                let arguments = list.iter().map(of).collect::<Vec<_>>().join(", ");
                format!("{}({arguments})", function.name())
            }
        },
        ExprKind::Call(Function::ArrayAppend, list) if list.len() == 2 => {
            pair(&list[0], "||", &list[1])
        }
        ExprKind::Call(Function::ArrayCast, list) if !list.is_empty() => {
            format!("({})::{}", of(&list[0]), type_text())
        }
        ExprKind::Call(Function::ElementOf, list) if list.len() == 2 => {
            format!("({} = ANY ({}))", of(&list[0]), of(&list[1]))
        }
        ExprKind::Call(Function::Matches, list) if list.len() == 2 => pair(&list[0], "~", &list[1]),
        ExprKind::Call(Function::MatchesAnyCase, list) if list.len() == 2 => {
            pair(&list[0], "~*", &list[1])
        }
        ExprKind::Call(Function::Like, list) if list.len() == 2 => pair(&list[0], "~~", &list[1]),
        ExprKind::Call(Function::Extract, list) if list.len() == 2 => {
            let field = coded(&list[1], &EXTRACT_FIELDS);
            format!("EXTRACT({field} FROM {})", of(&list[0]))
        }
        ExprKind::Call(Function::DateTrunc, list) if list.len() >= 2 => {
            let rest = list[1..].iter().map(of).collect::<Vec<_>>().join(", ");
            format!("date_trunc('{}', {rest})", coded(&list[0], &TRUNCATE_UNITS))
        }
        ExprKind::Call(Function::InZone, list) if list.len() == 2 => {
            format!("({} AT TIME ZONE {})", of(&list[1]), of(&list[0]))
        }
        ExprKind::Call(Function::DateAdd | Function::TimestampAdd, list) if list.len() == 2 => {
            pair(&list[0], "+", &list[1])
        }
        ExprKind::Call(Function::DateDiff | Function::TimestampDiff, list) if list.len() == 2 => {
            pair(&list[0], "-", &list[1])
        }
        ExprKind::Call(Function::Row(RowFunction::Field(at)), list) if list.len() == 1 => {
            let field = match list[0].sql_type {
                SqlType::Scalar(DataType::Composite(row)) => row.fields().get(usize::from(*at)),
                _ => None,
            };
            format!("({}).{}", of(&list[0]), field.map_or(String::new(), |(name, _)| quoted(name)))
        }
        ExprKind::Call(Function::Row(RowFunction::Make), list) => {
            let fields = list.iter().map(of).collect::<Vec<_>>().join(", ");
            format!("ROW({fields})::{}", type_text())
        }
        ExprKind::Call(Function::Encoded(EncodedFunction::Force), list) if list.len() == 1 => {
            format!("({})::{}", of(&list[0]), type_text())
        }
        ExprKind::Call(Function::CurrentUser, _) => "CURRENT_USER".to_owned(),
        ExprKind::Call(Function::SessionUser, _) => "SESSION_USER".to_owned(),
        ExprKind::Call(Function::Random(what), _) => format!("{}()", what.name()),
        ExprKind::Call(Function::Recode(TextFunction::RandomBytes), list) if list.len() == 2 => {
            format!("gen_random_bytes({})", of(&list[1]))
        }
        ExprKind::Call(Function::Range(function), list) => match (function, list.as_slice()) {
            (RangeFunction::Make, list) => {
                let arguments = list.iter().map(of).collect::<Vec<_>>().join(", ");
                format!("{}({arguments})", type_text())
            }
            (RangeFunction::Merge, [one, other]) => {
                format!("{}({}, {})", function.name(), of(one), of(other))
            }
            (function, [one, other]) => pair(one, function.name(), other),
            (function, list) => {
                let arguments = list.iter().map(of).collect::<Vec<_>>().join(", ");
                format!("{}({arguments})", function.name())
            }
        },
        ExprKind::Call(function, list) => {
            let arguments = list.iter().map(of).collect::<Vec<_>>().join(", ");
            match (functions::name_of(*function), list.as_slice()) {
                (Some(operator), [one, other]) if !is_word(operator) => pair(one, operator, other),
                (Some(operator), [one]) if !is_word(operator) => {
                    format!("({operator} {})", of(one))
                }
                (Some(name), _) => format!("{name}({arguments})"),
                (None, _) => format!("{}({arguments})", format!("{function:?}").to_lowercase()),
            }
        }
        ExprKind::Element(..) | ExprKind::ArrayLength(_) => "?".to_owned(),
    }
}

fn is_word(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// The name of the field or unit that a constant says the place of.
fn coded(code: &Expr, all: &[impl std::fmt::Debug]) -> String {
    let at = match code.kind {
        ExprKind::Constant(Value::Int(at)) => usize::try_from(at).ok(),
        _ => None,
    };
    let name = at.and_then(|at| all.get(at)).map(|field| format!("{field:?}"));
    name.unwrap_or_default().to_lowercase()
}
