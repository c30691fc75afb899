//! gen_random_bytes of pgcrypto.

use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::program::{Expr, Function, Place, TextFunction};
use sqlparser::ast;

use crate::error::Result;
use crate::functions;
use crate::operand::Operand;
use crate::scope::Compiler;
use crate::subscripts::called;
use crate::typing::{Coercion, call, cast};

impl Compiler<'_> {
    /// So many bytes, computed from a random value that is drawn as any other one.
    pub(crate) fn random_bytes(
        &mut self,
        name: &str,
        count: &ast::Expr,
        place: Place,
    ) -> Result<Expr> {
        let count = match self.operand(count)? {
            Operand::Typed(count) if count.sql_type == SqlType::Scalar(DataType::SmallInt) => {
                cast(count, DataType::Integer)
            }
            Operand::Typed(count) if count.sql_type != SqlType::Scalar(DataType::Integer) => {
                return Err(functions::no_function(name, &[Some(count.sql_type)], place));
            }
            Operand::Typed(count) => count,
            _ => {
                self.value_for(count, DataType::Integer, Coercion::Explicit, || name.to_owned())?
            }
        };
        let drawn = called("gen_random_uuid", Vec::new());
        let value = cast(self.expr(&drawn)?, DataType::Text);
        let function = Function::Recode(TextFunction::RandomBytes);
        Ok(call(function, vec![value, count], DataType::Bytea))
    }
}
