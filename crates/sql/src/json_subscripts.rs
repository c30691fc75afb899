//! Subscripts of jsonb: `j['a'][0]`, and assignments to them.
//!
//! Role         types them as PostgreSQL does; what they give is `hotrow_base::json`'s, which takes
//!              a path of texts: an integer is written as one
//! Source       PostgreSQL 15, 8.14.5 "jsonb Subscripting"

use hotrow_base::json::JsonFunction;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{Expr, Place};
use sqlparser::ast::{self, AccessExpr, Subscript};

use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::functions::type_text;
use crate::scope::Compiler;
use crate::typing::{cast, constant};

const TEXT: DataType = DataType::Text;

/// Whose part is assigned, by name.
#[derive(Clone, Copy)]
pub(crate) enum JsonTarget<'n> {
    Column(&'n str),
    Variable(&'n str),
}

impl Compiler<'_> {
    /// What subscripts of a jsonb lead to; NULL where they lead nowhere.
    pub(crate) fn json_element(
        &mut self,
        json: Expr,
        subscripts: &[AccessExpr],
        place: Place,
    ) -> Result<Expr> {
        let mut given = vec![json];
        for subscript in subscripts {
            match subscript {
                AccessExpr::Subscript(Subscript::Index { index }) => {
                    given.push(self.json_subscript(index, place)?.0);
                }
                AccessExpr::Subscript(Subscript::Slice { .. }) => return Err(no_slices(place)),
                AccessExpr::Dot(_) => {
                    let advice = "write value['field']";
                    return Err(unsupported(place, "a field of a jsonb", advice));
                }
            }
        }
        self.json_call(JsonFunction::Path, given, DataType::Jsonb)
    }

    /// A jsonb with another value where subscripts lead.
    pub(crate) fn assigned_json<'e>(
        &mut self,
        json: Expr,
        subscripts: impl IntoIterator<Item = &'e ast::Expr>,
        value: &ast::Expr,
        target: JsonTarget<'_>,
        place: Place,
    ) -> Result<Expr> {
        let value = self.json_to_assign(value, target)?;
        let (mut steps, mut is_array) = (Vec::new(), None);
        for subscript in subscripts {
            let (step, is_integer) = self.json_subscript(subscript, place)?;
            // What NULL becomes, the first of them says.
            is_array.get_or_insert(is_integer);
            steps.push(step);
        }
        let is_array = Value::Bool(is_array.unwrap_or_default());
        let given = [json, value, constant(is_array, DataType::Boolean)];
        let given = given.into_iter().chain(steps).collect();
        self.json_call(JsonFunction::Assign, given, DataType::Jsonb)
    }

    /// A value as a jsonb, as far as one is made of its type.
    fn json_to_assign(&mut self, written: &ast::Expr, target: JsonTarget<'_>) -> Result<Expr> {
        let place = place_in(written, self.place);
        let operand = self.operand(written)?;
        let value = self.settle(operand, DataType::Jsonb, place)?;
        let of = value.sql_type;
        match (of, target) {
            (SqlType::Scalar(of), _) if of.is_json() => Ok(cast(value, DataType::Jsonb)),
            // PL/pgSQL converts by texts.
            (SqlType::Scalar(of), JsonTarget::Variable(_)) if of.is_text() || of.is_number() => {
                Ok(cast(cast(value, TEXT), DataType::Jsonb))
            }
            (_, JsonTarget::Column(name) | JsonTarget::Variable(name)) => {
                let message = format!(
                    "subscripted assignment to \"{name}\" requires type jsonb but expression is of \
                     type {}",
                    type_text(of)
                );
                let advice = "You will need to rewrite or cast the expression.";
                Err(error(b"42804", place, message).hint(advice))
            }
        }
    }

    /// A subscript as a step of a path, and whether it is an integer.
    fn json_subscript(&mut self, written: &ast::Expr, place: Place) -> Result<(Expr, bool)> {
        let place = place_in(written, place);
        let operand = self.operand(written)?;
        let step = self.settle(operand, TEXT, place)?;
        match step.sql_type {
            SqlType::Scalar(DataType::SmallInt | DataType::Integer) => Ok((cast(step, TEXT), true)),
            SqlType::Scalar(of) if of.is_text() => Ok((cast(step, TEXT), false)),
            other => {
                let message = format!("subscript type {} is not supported", type_text(other));
                let advice = "jsonb subscript must be coercible to either integer or text.";
                Err(error(b"42804", place, message).hint(advice))
            }
        }
    }
}

/// The error of `j[1:2]`.
pub(crate) fn no_slices(place: Place) -> SqlError {
    error(b"42804", place, "jsonb subscript does not support slices")
}
