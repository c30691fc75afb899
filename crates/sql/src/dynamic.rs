//! EXECUTE: statements whose text an expression gives.
//!
//! Role         compiles such a statement with the procedure, as if it were written there, where
//!              its text is known then: a literal, or made of literals by `||`, format() and their
//!              kin. Others are compiled when the call runs ([`crate::dynamic_text`]). Values come
//!              by USING, whatever they are
//! Source       PostgreSQL 15, 43.5.4. We differ: there all texts are compiled when the call runs,
//!              which is too late for planning; and in one that is known before, a name that no
//!              table has may be a variable

use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::constant::evaluate;
use hotrow_transaction::program::{Expr, ExprKind, FOUND, Place, Statement};
use hotrow_transaction::walk::reads_any;
use hotrow_transaction::zoned;
use sqlparser::ast;

use crate::consume::Sink;
use crate::dynamic_syntax::{parameter_name, statement_of};
use crate::dynamic_text::DynamicSource;
use crate::error::{Result, error, place_in};
use crate::operand::Operand;
use crate::relation::one_access::Wanted;
use crate::scope::Compiler;
use crate::state::{Names, Variable};
use crate::syntax::{ExecuteSyntax, Into, StatementSource};
use crate::typing::{Coercion, assign};

/// What EXECUTE names.
enum Executed {
    /// a statement; its parameters are variables, in a scope of their own
    Known(Box<ast::Statement>),
    /// one whose text comes when the call runs
    Later(DynamicSource),
}

impl Compiler<'_> {
    /// Has a statement compiled, as it is written or by EXECUTE; `later`: that of a text that comes
    /// when the call runs.
    pub(crate) fn with_statement<T>(
        &mut self,
        source: &StatementSource,
        out: &mut Vec<Statement>,
        compile: impl FnOnce(&mut Self, &ast::Statement, &mut Vec<Statement>) -> Result<T>,
        later: impl FnOnce(&mut Self, DynamicSource, &mut Vec<Statement>) -> Result<T>,
    ) -> Result<T> {
        let written = match source {
            StatementSource::Written(statement) => return compile(self, statement, out),
            StatementSource::Execute(written) => written,
        };
        match self.executed(written, out)? {
            Executed::Known(statement) => {
                let compiled = compile(self, &statement, out);
                self.names.pop();
                compiled
            }
            Executed::Later(source) => later(self, source, out),
        }
    }

    /// EXECUTE as a statement.
    pub(crate) fn execute(
        &mut self,
        written: &ExecuteSyntax,
        into: Option<&Into>,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        // PostgreSQL's leaves FOUND alone, and sets the row count.
        match self.executed(written, out)? {
            Executed::Known(statement) => {
                let compiled = self.leaving(&[FOUND], out, |this, out| match &*statement {
                    ast::Statement::Query(query) if into.is_none() => {
                        this.emit_query(out, query, Wanted::Any, |_, _| Ok(Sink::Discard))
                    }
                    statement => this.sql(statement, into, out),
                });
                self.names.pop();
                compiled?;
            }
            Executed::Later(source) => {
                self.leaving(&[FOUND], out, |this, out| this.execute_later(source, into, out))?;
            }
        }
        if let Some(into) = into {
            self.emit_checks_of_targets(out, &into.targets)?;
        }
        Ok(())
    }

    /// What EXECUTE names.
    fn executed(&mut self, written: &ExecuteSyntax, out: &mut Vec<Statement>) -> Result<Executed> {
        let place = place_in(&written.text, written.place);
        let text = self.executed_text(&written.text, place)?;
        let mut values = Vec::new();
        for value in &written.using {
            let at_value = place_in(value, place);
            values.push(match self.operand(value)? {
                Operand::Typed(value) => value,
                open => self.settle(open, DataType::Text, at_value)?,
            });
        }
        let text = match text.kind {
            ExprKind::Constant(Value::Text(text)) => text,
            ExprKind::Constant(_) => {
                return Err(error(b"22004", place, "query string argument of EXECUTE is null"));
            }
            _ => return Ok(Executed::Later(DynamicSource { text, values })),
        };
        let count = values.len();
        let mut names = Names::default();
        for (at, value) in (1..).zip(values) {
            let name = parameter_name(at);
            let slot = self.slot(&name, value.sql_type)?;
            self.emit_assign(out, slot, value);
            let variable = Variable::Scalar { slot, constant: true, not_null: false };
            names.variables.push((name, variable));
        }
        let statement = statement_of(&text, count, place)?;
        self.names.push(names);
        Ok(Executed::Known(Box::new(statement)))
    }

    /// The text: a constant, where it is made of constants.
    fn executed_text(&mut self, written: &ast::Expr, place: Place) -> Result<Expr> {
        let operand = self.operand(written)?;
        let text = DataType::Text;
        let value = self.settle(operand, text, place)?;
        let value = assign(value, text, Coercion::Explicit, place, || "EXECUTE".to_owned())?;
        let is_constant = matches!(value.kind, ExprKind::Constant(_));
        if is_constant || reads_any(&value, |_| true) || zoned::depends_on_session(&value) {
            return Ok(value);
        }
        let kind = ExprKind::Constant(evaluate(&value, 0)?);
        Ok(Expr { kind, ..value })
    }
}
