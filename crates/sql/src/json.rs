//! json and jsonb: their operators and functions.
//!
//! Role         types arguments as PostgreSQL does; what they compute is `hotrow_base::json`'s.
//!              A path, or a list of keys, becomes one argument for each of its steps. Programs
//!              take literals and ARRAY[...] for one; queries any array of texts

use hotrow_base::json::JsonFunction as F;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_query::HostFunction;
use hotrow_transaction::program::{Expr, Function, Place};
use sqlparser::ast::{self, BinaryOperator};

use crate::error::{Advice, Result, error, place_in};
use crate::functions::{FunctionRow, Type, no_function};
use crate::operand::{Arguments, Operand};
use crate::scope::Compiler;
use crate::typing::{call, cast, constant, null, value_error};

const TEXT: DataType = DataType::Text;

impl Compiler<'_> {
    /// An operator that only json and jsonb have here; none: it is another.
    pub(crate) fn json_operator(
        &mut self,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
    ) -> Result<Option<Expr>> {
        use BinaryOperator as B;
        // `json->-1`, which is read as one sign.
        if let Some((op, negative)) = with_sign(op, right) {
            return self.json_operator(left, &op, &negative);
        }
        let (function, either) = match op {
            B::Arrow => (F::Get, true),
            B::LongArrow => (F::GetText, true),
            B::HashArrow => (F::Path, true),
            B::HashLongArrow => (F::PathText, true),
            B::Question => (F::HasKey, false),
            B::QuestionPipe => (F::HasAnyKey, false),
            B::QuestionAnd => (F::HasAllKeys, false),
            B::HashMinus => (F::DeletePath, false),
            _ => return Ok(None),
        };
        let place = place_in(left, self.place);
        let operand = self.operand(left)?;
        let own = self.settle(operand, DataType::Jsonb, place)?;
        let of = self.scalar_type(&own, place)?;
        if of != DataType::Jsonb && !(either && of == DataType::Json) {
            return Err(no_operator(&of.to_string(), op, "unknown", place));
        }
        let gives = match function {
            F::Get | F::Path | F::DeletePath => of,
            F::GetText | F::PathText => TEXT,
            _ => DataType::Boolean,
        };
        let right_place = place_in(right, place);
        let rest = match function {
            F::Path | F::PathText | F::DeletePath | F::HasAnyKey | F::HasAllKeys => {
                self.texts(right)?
            }
            _ => {
                let operand = self.operand(right)?;
                let step = self.settle(operand, TEXT, right_place)?;
                let step = self.step_of(step, function != F::HasKey, right_place)?;
                vec![step.ok_or_else(|| no_operator(&of.to_string(), op, "this type", place))?]
            }
        };
        self.json_call(function, std::iter::once(own).chain(rest).collect(), gives).map(Some)
    }

    /// `jsonb @> jsonb` and `<@`, of operands none of which is an array.
    pub(crate) fn json_contains(
        &mut self,
        op: &BinaryOperator,
        operands: Arguments,
    ) -> Result<Expr> {
        let mut sides = Vec::with_capacity(2);
        for (operand, place) in operands {
            let side = self.settle(operand, DataType::Jsonb, place)?;
            sides.push((side, place));
        }
        let is_other =
            |(side, _): &(Expr, Place)| side.sql_type != SqlType::Scalar(DataType::Jsonb);
        if let ([(left, place), (right, _)], true) = (&sides[..], sides.iter().any(is_other)) {
            let [left, right] = [left, right].map(|side| side.sql_type.to_string());
            return Err(no_operator(&left, op, &right, *place));
        }
        if *op == BinaryOperator::ArrowAt {
            sides.reverse();
        }
        let sides = sides.into_iter().map(|(side, _)| side).collect();
        self.json_call(F::Contains, sides, DataType::Boolean)
    }

    /// A key, or an index; none: it is neither.
    fn step_of(&mut self, step: Expr, takes_index: bool, place: Place) -> Result<Option<Expr>> {
        let data_type = self.scalar_type(&step, place)?;
        Ok(match data_type {
            DataType::SmallInt | DataType::Integer if takes_index => {
                Some(cast(step, DataType::Integer))
            }
            _ if data_type.is_text() => Some(cast(step, TEXT)),
            _ => None,
        })
    }

    /// `jsonb - key`, and without keys of a list
    pub(crate) fn json_without(
        &mut self,
        (left, left_place): (Operand, Place),
        right: &ast::Expr,
    ) -> Result<Expr> {
        let right_place = place_in(right, self.place);
        let own = self.settle(left, DataType::Jsonb, left_place)?;
        if matches!(crate::written::bare(right), ast::Expr::Array(_)) || is_text_array(right) {
            let keys = self.texts(right)?;
            let arguments = std::iter::once(own).chain(keys).collect();
            return self.json_call(F::DeleteKeys, arguments, DataType::Jsonb);
        }
        let operand = self.operand(right)?;
        let step = self.settle(operand, TEXT, right_place)?;
        let of = step.sql_type;
        let step = self.step_of(step, true, right_place)?;
        let minus = &BinaryOperator::Minus;
        let step = step.ok_or_else(|| no_operator("jsonb", minus, &of.to_string(), left_place))?;
        self.json_call(F::Delete, vec![own, step], DataType::Jsonb)
    }

    /// `jsonb || jsonb`
    pub(crate) fn json_concat(
        &mut self,
        [left, right]: [Operand; 2],
        [left_place, right_place]: [Place; 2],
    ) -> Result<Expr> {
        let sides = vec![
            self.settle(left, DataType::Jsonb, left_place)?,
            self.settle(right, DataType::Jsonb, right_place)?,
        ];
        self.json_call(F::Concat, sides, DataType::Jsonb)
    }

    /// The texts of a path or of a list of keys, or an array of them in one.
    fn texts(&mut self, written: &ast::Expr) -> Result<Vec<Expr>> {
        let place = place_in(written, self.place);
        match crate::written::bare(written) {
            ast::Expr::Array(array) => {
                let mut all = Vec::new();
                for element in &array.elem {
                    let operand = self.operand(element)?;
                    let element = self.settle(operand, TEXT, place)?;
                    self.scalar_type(&element, place)?;
                    all.push(cast(element, TEXT));
                }
                return Ok(all);
            }
            ast::Expr::Cast { expr, .. } if is_text_array(written) => return self.texts(expr),
            _ => {}
        }
        match self.operand(written)? {
            Operand::Unknown(Some(open)) => {
                let parsed =
                    Value::parse_array(TEXT, &open.text).map_err(|e| value_error(&e, place))?;
                let steps = parsed.elements().unwrap_or_default().iter();
                Ok(steps.map(|step| constant(step.clone(), TEXT)).collect())
            }
            Operand::Unknown(None) => Ok(vec![null(TEXT)]),
            Operand::Parameter(at) => {
                self.give(at, SqlType::Array(TEXT));
                Ok(vec![self.slot_expr(self.parameters[at])])
            }
            Operand::Typed(expr) if matches!(expr.sql_type, SqlType::Array(of) if of.is_text()) => {
                Ok(vec![expr])
            }
            _ => Err(error(b"42883", place, "an array of texts is needed here")
                .hint("write '{a,b}' or ARRAY['a', 'b']")),
        }
    }

    /// A call; arrays among its arguments are taken apart when it runs.
    pub(crate) fn json_call(
        &mut self,
        function: F,
        arguments: Vec<Expr>,
        gives: DataType,
    ) -> Result<Expr> {
        let has_array =
            arguments.iter().any(|argument| matches!(argument.sql_type, SqlType::Array(_)));
        match has_array {
            false => Ok(call(Function::Json(function), arguments, gives)),
            true => {
                let host = HostFunction::Json(function, gives);
                self.host(host, &arguments, SqlType::Scalar(gives))
            }
        }
    }

    /// json_build_object, json_build_array and those of jsonb.
    pub(crate) fn built_json(
        &mut self,
        name: &str,
        function: F,
        of: DataType,
        arguments: Arguments,
        place: Place,
    ) -> Result<Expr> {
        if function == F::BuildObject && arguments.len() % 2 == 1 {
            let message = "argument list must have even number of elements";
            return Err(error(b"22023", place, message).hint(format!(
                "The arguments of {name}() must consist of alternating keys and values."
            )));
        }
        let mut values = Vec::new();
        for (operand, place) in arguments {
            values.push(self.settle(operand, TEXT, place)?);
        }
        self.json_call(function, values, of)
    }

    /// to_json, to_jsonb and array_to_json.
    pub(crate) fn json_of(
        &mut self,
        row: &FunctionRow,
        of: DataType,
        arguments: Arguments,
    ) -> Result<Expr> {
        let mut values = Vec::new();
        for (operand, place) in arguments {
            if matches!(operand, Operand::Unknown(_)) && row.argument(0) == Type::Any {
                let message = "could not determine polymorphic type because input has type unknown";
                return Err(error(b"42804", place, message).hint("cast it: value::text"));
            }
            values.push(self.settle(operand, TEXT, place)?);
        }
        self.json_call(F::ToJson, values, of)
    }

    /// jsonb_set and jsonb_insert, whose path is the second of their arguments.
    pub(crate) fn json_change(
        &mut self,
        function: F,
        flag: bool,
        written: &[&ast::Expr],
        place: Place,
    ) -> Result<Expr> {
        let (own, path, new, given) = match written {
            [own, path, new] => (own, path, new, None),
            [own, path, new, flag, ..] => (own, path, new, Some(flag)),
            _ => return Err(no_function("jsonb_set", &vec![None; written.len()], place)),
        };
        let mut arguments = Vec::new();
        for (operand, place) in self.operands(&[own, new])? {
            let value = self.settle(operand, DataType::Jsonb, place)?;
            let of = value.sql_type;
            if of != SqlType::Scalar(DataType::Jsonb) {
                return Err(no_function("jsonb_set", &[Some(of)], place));
            }
            arguments.push(value);
        }
        arguments.push(match given {
            None => constant(Value::Bool(flag), DataType::Boolean),
            Some(flag) => self.condition(flag, "the last argument")?,
        });
        arguments.extend(self.texts(path)?);
        self.json_call(function, arguments, DataType::Jsonb)
    }
}

/// An operator and the negative number behind it.
fn with_sign(op: &BinaryOperator, right: &ast::Expr) -> Option<(BinaryOperator, ast::Expr)> {
    let op = match op {
        BinaryOperator::Custom(sign) if sign == "->-" => BinaryOperator::Arrow,
        BinaryOperator::Custom(sign) if sign == "->>-" => BinaryOperator::LongArrow,
        _ => return None,
    };
    let expr = Box::new(right.clone());
    Some((op, ast::Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr }))
}

/// `x::text[]`
fn is_text_array(written: &ast::Expr) -> bool {
    let ast::Expr::Cast { data_type, .. } = crate::written::bare(written) else { return false };
    let ast::DataType::Array(ast::ArrayElemTypeDef::SquareBracket(element, _)) = data_type else {
        return false;
    };
    crate::types::built_in(element, Place::default()).is_ok_and(DataType::is_text)
}

fn no_operator(
    left: &str,
    op: &BinaryOperator,
    right: &str,
    place: Place,
) -> hotrow_transaction::outcome::SqlError {
    error(b"42883", place, format!("operator does not exist: {left} {op} {right}"))
        .hint("You might need to add explicit type casts.")
}
