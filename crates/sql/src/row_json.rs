//! Rows as values of json: `row_to_json(t)`, `to_jsonb(ROW(1, 2))`.

use hotrow_base::json::JsonFunction;
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::program::Expr;
use sqlparser::ast;

use crate::error::{Result, place_in};
use crate::operand::{Arguments, Operand};
use crate::row_fields::null_where;
use crate::scope::Compiler;
use crate::typing::constant;
use crate::written::{bare, row_values};

impl Compiler<'_> {
    /// Arguments that become json, of which rows are one already.
    pub(crate) fn json_operands(&mut self, written: &[&ast::Expr]) -> Result<Arguments> {
        let mut arguments = Arguments::new();
        for value in written {
            let operand = match self.row_as_json(value)? {
                Some(row) => Operand::Typed(row),
                None => self.operand(value)?,
            };
            arguments.push((operand, place_in(*value, self.place)));
        }
        Ok(arguments)
    }

    /// A row that is written out, or that of a relation, as a json; none: it is no row.
    pub(crate) fn row_as_json(&mut self, written: &ast::Expr) -> Result<Option<Expr>> {
        let key = |name: String| constant(Value::Text(name), DataType::Text);
        let mut fields = Vec::new();
        if let Some(values) = row_values(written) {
            for (operand, at) in self.json_operands(&values)?.into_iter().zip(1..) {
                let (operand, place) = operand;
                fields.push(key(format!("f{at}")));
                fields.push(self.settle(operand, DataType::Text, place)?);
            }
        } else {
            let columns = match bare(written) {
                ast::Expr::Function(function) => {
                    self.called_row(function, place_in(written, self.place))?
                }
                _ => self.whole_row(written)?,
            };
            let Some(columns) = columns else { return Ok(None) };
            for (name, value) in columns {
                fields.extend([key(name), value]);
            }
        }
        let row = self.json_call(JsonFunction::Row, fields, DataType::Json)?;
        match self.is_missing_row(written)? {
            Some(is_missing) => Ok(Some(null_where(is_missing, row))),
            None => Ok(Some(row)),
        }
    }
}
