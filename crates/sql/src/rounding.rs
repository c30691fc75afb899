//! Functions of numbers that keep or round their digits.

use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::program::{Expr, ExprKind, Function, Place};
use sqlparser::ast::{self, CeilFloorKind};

use crate::error::{Advice, Result, error, unknown_function, unsupported};
use crate::operand::Arguments;
use crate::scope::Compiler;
use crate::typing::{call, cast, common_type};

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

    pub(crate) fn numbers_of(&mut self, arguments: Arguments, name: &str) -> Result<Vec<Expr>> {
        let mut all = Vec::new();
        for (operand, place) in arguments {
            let expr = self.settle(operand, DataType::Double, place)?;
            let data_type = self.scalar_type(&expr, place)?;
            if !data_type.is_number() {
                return Err(error(
                    b"42883",
                    place,
                    format!("function {name}({data_type}) does not exist"),
                ));
            }
            all.push(expr);
        }
        Ok(all)
    }

    pub(crate) fn rounding_function(
        &mut self,
        name: &str,
        arguments: Arguments,
        place: Place,
    ) -> Result<Expr> {
        let mut values = self.numbers_of(arguments, name)?;
        let digits = if values.len() == 2 { values.pop() } else { None };
        let Some(mut value) = values.pop() else {
            return Err(unknown_function(name, place));
        };
        let function = match name {
            "abs" => Function::Abs,
            "sign" => Function::Sign,
            "floor" => Function::Floor,
            "round" => Function::Round,
            "trunc" => Function::Trunc,
            _ => Function::Ceil,
        };
        let mut data_type = value.data_type();
        if function == Function::Abs {
            return Ok(call(function, vec![value], data_type));
        }
        if let Some(digits) = digits {
            return self.rounded_to(function, value, digits, place);
        }
        // PostgreSQL rounds integers and reals as doubles
        if data_type.is_integer() || data_type == DataType::Real {
            value = cast(value, DataType::Double);
            data_type = DataType::Double;
        }
        if let DataType::Numeric { precision, scale } = data_type {
            let precision = (precision - scale + 1).min(38);
            data_type = DataType::Numeric { precision, scale: 0 };
        }
        Ok(call(function, vec![value], data_type))
    }

    /// round(x, digits): the scale of the result is `digits` where that is a constant.
    pub(crate) fn rounded_to(
        &mut self,
        function: Function,
        value: Expr,
        digits: Expr,
        place: Place,
    ) -> Result<Expr> {
        let from = value.data_type();
        let numeric = crate::typing::digits(from)
            .and_then(|d| common_type(from, DataType::Numeric { precision: d.0, scale: d.1 }));
        let Some(DataType::Numeric { precision, scale }) = numeric else {
            return Err(error(
                b"42883",
                place,
                format!("function round({from}, integer) does not exist"),
            )
            .hint("cast the float to numeric(p,s)"));
        };
        let to = match &digits.kind {
            ExprKind::Constant(Value::Int(n)) => (*n).clamp(0, 38) as u8,
            _ => scale,
        };
        let whole = precision - scale;
        let result = DataType::Numeric { precision: (whole + to + 1).min(38), scale: to };
        let value = cast(value, DataType::Numeric { precision, scale });
        if !digits.data_type().is_integer() {
            return Err(error(b"42883", place, "the number of digits must be an integer"));
        }
        Ok(call(function, vec![value, cast(digits, DataType::Integer)], result))
    }
}
