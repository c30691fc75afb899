//! What is an array, as far as it can be told before it is compiled.

use hotrow_base::types::SqlType;
use hotrow_transaction::program::Expr;
use sqlparser::ast::{self, BinaryOperator};

use crate::error::{Result, place_in};
use crate::parameters::parameter_number;
use crate::scope::Compiler;
use crate::state::Variable;
use crate::written::{arguments, dotted, ident_name};
use crate::written_subscripts::is_slice;

impl Compiler<'_> {
    /// A column that holds arrays; none: it is something else.
    pub(super) fn array_column(&mut self, written: &ast::Expr) -> Result<Option<Expr>> {
        let place = place_in(written, self.place);
        let column = match written {
            ast::Expr::Identifier(name) => self.relation_column(&ident_name(name), place)?,
            ast::Expr::CompoundIdentifier(names) => {
                self.qualified_relation_column(&dotted(names), place)?
            }
            _ => None,
        };
        Ok(column.filter(|column| matches!(column.sql_type, SqlType::Array(_))))
    }

    /// Whether an expression is an array, as far as it can be told before it is compiled.
    pub(crate) fn is_array(&mut self, written: &ast::Expr) -> Result<bool> {
        Ok(match crate::written::bare(written) {
            ast::Expr::Array(_) => true,
            ast::Expr::CompoundFieldAccess { root, access_chain } => {
                access_chain.iter().any(has_colon) && self.is_array(root)?
            }
            ast::Expr::Case { conditions, else_result, .. } => {
                let values = conditions.iter().map(|arm| &arm.result);
                for value in values.chain(else_result.as_deref()) {
                    if self.is_array(value)? {
                        return Ok(true);
                    }
                }
                false
            }
            ast::Expr::Function(function) => {
                let name = crate::written::function_name(function);
                if name == "coalesce"
                    && let Ok((_, of)) = arguments(function, self.place)
                {
                    for value in of {
                        if self.is_array(value)? {
                            return Ok(true);
                        }
                    }
                }
                name == "array" || name == "array_agg" || crate::functions::gives_array(&name)
            }
            ast::Expr::Cast { data_type, .. } => {
                crate::types::is_array_type(data_type, self.type_names(), self.place)
            }
            ast::Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right } => {
                self.is_array(left)? || self.is_array(right)?
            }
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Placeholder(name) => self.is_array_parameter(name),
                _ => false,
            },
            other => {
                self.is_array_of_program(other)
                    || self.is_array_field(other)
                    || self.array_column(other)?.is_some()
            }
        })
    }

    /// Whether a parameter's type is known to be one of arrays.
    fn is_array_parameter(&self, name: &str) -> bool {
        let at = parameter_number(name).and_then(|number| number.checked_sub(1));
        let known = at.and_then(|at| *self.given.get(at)?);
        known.is_some_and(|of| matches!(of.spread(), SqlType::Array(_)))
    }

    /// Whether a name is a field of a record that holds arrays.
    fn is_array_field(&self, written: &ast::Expr) -> bool {
        let ast::Expr::CompoundIdentifier(names) = written else { return false };
        let names = dotted(names);
        let [record, field] = names.as_slice() else { return false };
        let Some(Variable::Record { fields, .. }) = self.variable(record) else { return false };
        fields.iter().any(|(name, slot)| {
            name == field && matches!(self.slot_type(*slot).spread(), SqlType::Array(_))
        })
    }
}

/// Whether this is a slice.
fn has_colon(access: &ast::AccessExpr) -> bool {
    match access {
        ast::AccessExpr::Subscript(subscript) => is_slice(subscript),
        ast::AccessExpr::Dot(_) => false,
    }
}
