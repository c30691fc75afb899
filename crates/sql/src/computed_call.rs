//! Arguments that are no constants: of CALL by itself, and defaults of parameters.
//!
//! Role         CALL by itself is sent to the engine with the values of its arguments, and so can
//!              be planned and repeated by them. Where they are to be computed (`CALL
//!              add(gen_random_uuid(), (SELECT ...))`), it is a program that computes them, and has
//!              the procedure's statements in it

use hotrow_base::types::SqlType;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::call::may_be_computed;
use crate::call_syntax::CallArgument;
use crate::compile::statement_of;
use crate::compiled::Compiled;
use crate::error::{Result, error};
use crate::scope::Compiler;
use crate::typing::Coercion;

impl Compiler<'_> {
    /// Fails where what is written for a parameter is not of its type.
    pub(crate) fn check_default(
        &self,
        written: &ast::Expr,
        sql_type: SqlType,
        place: Place,
    ) -> Result<()> {
        self.try_out(self.catalog, place, |trial| {
            trial.path.clone_from(&self.path);
            trial.is_procedure = true;
            let what = || "the parameter".to_owned();
            match sql_type {
                SqlType::Scalar(to) => trial.value_for(written, to, Coercion::Assignment, what),
                SqlType::Array(element) => trial.array_for(written, element, what),
            }?;
            Ok(())
        })
    }

    /// CALL with arguments that are computed: a program that computes them, and calls. Errors that
    /// tell of what a program cannot do give way to `refused`, which says what CALL by itself does
    /// not take.
    pub(crate) fn call_by_program(
        &mut self,
        (name, arguments): (&str, &[CallArgument]),
        place: Place,
        refused: SqlError,
    ) -> Result<Compiled> {
        // As in a procedure, and not as an ad-hoc statement, which draws nothing by itself.
        self.is_procedure = true;
        let mut body = Vec::new();
        let compiled = self.with_what_comes_before(&mut body, |this, body| {
            let Some(callee) = this.called_procedure(name, arguments, place)? else {
                let message = format!("procedure {name} does not exist");
                return Err(error(b"42883", place, message));
            };
            if callee.returns_set {
                return Err(refused.clone());
            }
            let given = this.inline(&callee, arguments, place)?;
            this.ad_hoc = true; // what it gives is the statement's result
            if given.is_empty() { Ok(()) } else { this.emit_result_row(body, &given) }
        });
        let compiled = compiled.and_then(|()| statement_of(self, body));
        compiled.map_err(|failed| if may_be_computed(&failed) { refused } else { failed })
    }
}
