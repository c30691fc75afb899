//! Functions of numbers that keep or round their digits.

use hotrow_base::decimal::template::scale_of_template;
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::program::{Expr, ExprKind, Function, Place, TemplateFunction};
use sqlparser::ast::{self, CeilFloorKind};

use crate::error::{Result, unsupported};
use crate::scope::Compiler;
use crate::typing::call;

impl Compiler<'_> {
    pub(crate) fn rounding(
        &mut self,
        name: &str,
        expr: &ast::Expr,
        field: &CeilFloorKind,
        place: Place,
    ) -> Result<Expr> {
        if !matches!(field, CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime)) {
            return Err(unsupported(place, format!("{name} with a second argument"), "use round"));
        }
        let arguments = self.operands(&[expr])?;
        self.named(name, arguments, place)
    }
}

/// A numeric that is rounded to a whole one.
pub(crate) fn rounded(function: Function, values: Vec<Expr>) -> Expr {
    let of = match values.first().map(Expr::data_type) {
        Some(DataType::Numeric { precision, scale }) => {
            DataType::Numeric { precision: (precision - scale + 1).min(38), scale: 0 }
        }
        Some(other) => other,
        None => DataType::Double,
    };
    call(function, values, of)
}

/// round(x, digits): the scale of the result is `digits` where that is a constant; else each result
/// has its own.
pub(crate) fn rounded_to(function: Function, values: Vec<Expr>) -> Expr {
    let [value, digits] = values.as_slice() else { return rounded(function, values) };
    let DataType::Numeric { precision, scale } = value.data_type() else {
        return rounded(function, values);
    };
    let to = match &digits.kind {
        ExprKind::Constant(Value::Int(n)) => *n,
        _ => return call(function, values, DataType::AnyNumeric),
    };
    let to = to.clamp(0, 38) as u8;
    let whole = precision - scale;
    let result = match whole + to < 38 {
        true => DataType::Numeric { precision: whole + to + 1, scale: to },
        false => DataType::AnyNumeric,
    };
    call(function, values, result)
}

/// to_number(text, template): as many digits behind the point as the template has there, where it
/// is a constant.
pub(crate) fn number_of_template(values: Vec<Expr>) -> Expr {
    let scale = match values.get(1).map(|template| &template.kind) {
        Some(ExprKind::Constant(Value::Text(template))) => scale_of_template(template),
        _ => None,
    };
    let fixed = |scale| DataType::Numeric { precision: 38, scale };
    let of = scale.map_or(DataType::AnyNumeric, fixed);
    call(Function::Template(TemplateFunction::ToNumber), values, of)
}
