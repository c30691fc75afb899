//! Parts of expressions that are evaluated only where those before them say so: the arms of CASE,
//! and what stands behind AND, OR and in COALESCE.
//!
//! Role         a call of a procedure becomes statements before its expression ([`crate::inline`]).
//!              Where it stands in such a part, these stand in an IF, with what is asked before the
//!              part as its condition
//! Invariants   I1 [`Compiler::may_call`] holds for every part that has a call in it
//!              I2 what decides whether a part is evaluated is computed once

use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::key_in;
use hotrow_transaction::program::{Expr, ExprKind, Statement, StatementKind};
use sqlparser::ast;

use crate::comparison::negated;
use crate::error::Result;
use crate::scope::Compiler;
use crate::typing::{constant, scalar};

/// A part that was compiled by itself, and the statements that come right before it.
pub(crate) type Part<T> = (T, Vec<Statement>);

impl Compiler<'_> {
    /// Whether some of these may call a procedure whose statements would stand before them.
    pub(crate) fn may_call<'e>(&self, parts: impl IntoIterator<Item = &'e ast::Expr>) -> bool {
        let Some(procedures) = self.procedures.filter(|_| self.is_procedure) else { return false };
        if !self.stands_alone() {
            return false; // calls are refused there
        }
        let running = || self.calls.circle.around.iter().chain(&self.calls.own);
        let schemas: Vec<_> = self.catalog.schemas().map(|(schema, _)| schema).collect();
        let is_there = |name: &str| {
            !procedures.overloads(name).is_empty()
                || schemas.iter().any(|of| !procedures.overloads(&key_in(of, name)).is_empty())
        };
        let is_called = |word: &str| {
            running().any(|of| of.shown_name().eq_ignore_ascii_case(word))
                || is_there(word)
                || is_there(&word.to_lowercase())
        };
        parts.into_iter().any(|part| {
            let text = part.to_string();
            // I1: a name of other letters is quoted, or has a dollar sign.
            let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            text.contains(['"', '$']) || words.any(is_called)
        })
    }

    /// Compiles a part; by itself, where the parts are lazy.
    pub(crate) fn apart<T>(
        &mut self,
        is_lazy: bool,
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Part<T>> {
        if !is_lazy {
            return Ok((compile(self)?, Vec::new()));
        }
        // What was asked for before it is computed before it.
        self.computed_so_far(|_| Ok(()))?;
        let outer = std::mem::take(&mut self.before);
        let compiled = compile(self).and_then(|value| self.computed_so_far(|_| Ok(value)));
        let before = std::mem::replace(&mut self.before, outer);
        Ok((compiled?, before))
    }

    /// The conditions of a CASE that are asked and the statements that come before its values,
    /// arm by arm. Gives what the conditions came to.
    pub(crate) fn emit_lazy_arms(
        &mut self,
        arms: Vec<(Part<Expr>, Vec<Statement>)>,
        otherwise: Vec<Statement>,
    ) -> Result<Vec<Expr>> {
        let mut conditions = Vec::with_capacity(arms.len());
        let mut rest = otherwise;
        for ((mut condition, mut before), then) in arms.into_iter().rev() {
            self.held(&mut before, &mut condition)?; // I2
            conditions.push(condition.clone());
            self.emit_if(&mut before, condition, (then, rest));
            rest = before;
        }
        self.before.append(&mut rest);
        conditions.reverse();
        Ok(conditions)
    }

    /// Operands of AND (`decides` is false) or OR (true), each of which is asked if none before it
    /// decides.
    pub(crate) fn emit_lazy_logic(
        &mut self,
        operands: Vec<Part<Expr>>,
        decides: bool,
        join: &impl Fn(Box<Expr>, Box<Expr>) -> ExprKind,
    ) -> Result<Expr> {
        let result = self.temporary("asked", DataType::Boolean)?;
        let value = self.slot_expr(result);
        let mut rest = Vec::new();
        let count = operands.len();
        for (at, (operand, mut before)) in operands.into_iter().enumerate().rev() {
            let operand = match at {
                0 => operand,
                _ => {
                    let kind = join(Box::new(value.clone()), Box::new(operand));
                    scalar(kind, DataType::Boolean)
                }
            };
            self.emit_assign(&mut before, result, operand);
            if at + 1 < count {
                let decided = constant(Value::Bool(decides), DataType::Boolean);
                let kind = ExprKind::NotDistinct(Box::new(value.clone()), Box::new(decided));
                let goes_on = negated(scalar(kind, DataType::Boolean));
                self.emit_if(&mut before, goes_on, (rest, Vec::new()));
            }
            rest = before;
        }
        self.before.append(&mut rest);
        Ok(value)
    }

    /// Of COALESCE: each is evaluated if all before it are NULL. Gives what they came to.
    pub(crate) fn emit_lazy_coalesce(
        &mut self,
        values: Vec<Expr>,
        befores: Vec<Vec<Statement>>,
    ) -> Result<Vec<Expr>> {
        let mut came_to = Vec::with_capacity(values.len());
        let mut rest = Vec::new();
        for (mut value, mut before) in values.into_iter().zip(befores).rev() {
            if !rest.is_empty() {
                self.held(&mut before, &mut value)?; // I2
                let asked = Box::new(value.clone());
                let is_null = scalar(ExprKind::IsNull(asked), DataType::Boolean);
                self.emit_if(&mut before, is_null, (rest, Vec::new()));
            }
            came_to.push(value);
            rest = before;
        }
        self.before.append(&mut rest);
        came_to.reverse();
        Ok(came_to)
    }

    fn emit_if(
        &self,
        out: &mut Vec<Statement>,
        condition: Expr,
        (then, otherwise): (Vec<Statement>, Vec<Statement>),
    ) {
        if !then.is_empty() || !otherwise.is_empty() {
            self.emit(out, StatementKind::If { condition, then, otherwise });
        }
    }
}
