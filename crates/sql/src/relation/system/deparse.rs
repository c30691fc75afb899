//! Expressions as SQL text: defaults and conditions of constraints.

use hotrow_base::range::RangeFunction;
use hotrow_base::types::SqlType;
use hotrow_transaction::program::{ArrayFunction, Expr, ExprKind, Function};

/// The text of an expression; `name`: of a slot that is a column, else empty.
pub(super) fn text(expr: &Expr, name: &dyn Fn(usize) -> String) -> String {
    let of = |expr: &Expr| text(expr, name);
    let pair =
        |left: &Expr, sign: &str, right: &Expr| format!("({} {sign} {})", of(left), of(right));
    match &expr.kind {
        // Defaults read the call's time and nothing else.
        ExprKind::Slot(slot) => match name(slot.index()) {
            column if column.is_empty() => "now()".to_owned(),
            column => column,
        },
        ExprKind::Constant(value) if value.is_null() => format!("NULL::{}", expr.sql_type),
        ExprKind::Constant(value) => match expr.sql_type {
            SqlType::Scalar(of) if of.is_number() => value.to_string(),
            SqlType::Scalar(hotrow_base::types::DataType::Boolean) => match value {
                hotrow_base::value::Value::Bool(true) => "true".to_owned(),
                _ => "false".to_owned(),
            },
            of => format!("'{}'::{of}", value.to_string().replace('\'', "''")),
        },
        ExprKind::Negate(operand) => format!("(- {})", of(operand)),
        ExprKind::Arithmetic(op, left, right) => pair(left, op.symbol(), right),
        ExprKind::Compare(op, left, right) => pair(left, op.symbol(), right),
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
        ExprKind::Cast(operand) => format!("({})::{}", of(operand), expr.sql_type),
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
        ExprKind::Call(Function::ArrayCast, list) if list.len() == 1 => {
            format!("({})::{}", of(&list[0]), expr.sql_type)
        }
        ExprKind::Call(Function::ElementOf, list) if list.len() == 2 => {
            format!("({} = ANY ({}))", of(&list[0]), of(&list[1]))
        }
        ExprKind::Call(Function::Matches, list) if list.len() == 2 => pair(&list[0], "~", &list[1]),
        ExprKind::Call(Function::MatchesAnyCase, list) if list.len() == 2 => {
            pair(&list[0], "~*", &list[1])
        }
        ExprKind::Call(Function::Like, list) if list.len() == 2 => pair(&list[0], "~~", &list[1]),
        ExprKind::Call(Function::CurrentUser, _) => "CURRENT_USER".to_owned(),
        ExprKind::Call(Function::SessionUser, _) => "SESSION_USER".to_owned(),
        ExprKind::Call(Function::Random(what), _) => format!("{}()", what.name()),
        ExprKind::Call(Function::Range(function), list) => match (function, list.as_slice()) {
            (RangeFunction::Make, list) => {
                let arguments = list.iter().map(of).collect::<Vec<_>>().join(", ");
                format!("{}({arguments})", expr.sql_type)
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
            format!("{}({arguments})", format!("{function:?}").to_lowercase())
        }
        ExprKind::Element(..) | ExprKind::ArrayLength(_) => "?".to_owned(),
    }
}
