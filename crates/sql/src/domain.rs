//! Values of domains outside of tables: casts, variables, parameters, and what is returned.
//!
//! Role         a domain is the type that it is made from; whether its constraints hold is asked
//!              where a value becomes one of it. Columns have the constraints as their own
//!              ([`Compiler::take_over`])
//! Source       PostgreSQL 15, CREATE DOMAIN. We differ: arrays of domains that ask something, and
//!              fields of composite types of one, are refused

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::catalog::local;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{
    Expr, ExprKind, Function, Place, SlotId, Statement, StatementKind,
};
use hotrow_transaction::walk::substitute;
use sqlparser::ast;

use crate::comparison::negated;
use crate::error::Result;
use crate::named_type::with_value;
use crate::operand::Operand;
use crate::scope::Compiler;
use crate::state::{AskingDomain, Names, Variable};
use crate::syntax::{TypeName, TypeNameKind};
use crate::types::sql_type;
use crate::typing::{constant, explicit_cast, packed, scalar, spread};
use crate::written::{bare, object_name};

/// What the value of a domain is called where a constraint of it is compiled: no name of SQL.
const VALUE: &str = "\u{1}value";

impl AskingDomain {
    /// The type that it is made from.
    pub(crate) fn of(&self) -> SqlType {
        SqlType::Scalar(self.domain.of).spread()
    }
}

impl Compiler<'_> {
    /// The domain that a written type is, where that asks something of its values.
    pub(crate) fn asking_domain(
        &self,
        written: &ast::DataType,
        place: Place,
    ) -> Option<AskingDomain> {
        let ast::DataType::Custom(name, _) = written else { return None };
        let domain = self.domain(written, place)?;
        let asks = !domain.checks.is_empty() || !domain.nullable;
        let name = object_name(name, place).ok().filter(|_| asks)?;
        Some(AskingDomain { name: local(&name).to_owned(), domain })
    }

    /// As [`Compiler::asking_domain`], of a type in a routine.
    pub(crate) fn asking_domain_of(&self, written: &TypeName) -> Option<AskingDomain> {
        match &written.kind {
            TypeNameKind::Plain(plain) => self.asking_domain(plain, written.place),
            _ => None,
        }
    }

    /// A written cast.
    pub(crate) fn written_cast(
        &mut self,
        expr: &ast::Expr,
        to: &ast::DataType,
        place: Place,
    ) -> Result<Operand> {
        let Some(domain) = self.asking_domain(to, place) else {
            let cast = self.cast_to_written(expr, to, place);
            return cast.or_else(|failed| self.cast_when_run(expr, to, place, failed));
        };
        let value = match domain.of() {
            SqlType::Scalar(DataType::Composite(of)) => self.cast_to_composite(expr, of, place)?,
            SqlType::Scalar(of) => {
                let operand = self.operand(expr)?;
                explicit_cast(self.settle(operand, of, place)?, of, place)?
            }
            SqlType::Array(element) => {
                let operand = self.operand(expr)?;
                let array = self.cast_to_array(operand, element, place)?;
                self.settle(array, DataType::Text, place)?
            }
        };
        self.in_domain(value, &domain).map(Operand::Typed)
    }

    /// A text that is no value of a type, in a routine: that is known now, and an error when the
    /// statement is run, which a handler may wait for.
    fn cast_when_run(
        &mut self,
        expr: &ast::Expr,
        to: &ast::DataType,
        place: Place,
        failed: SqlError,
    ) -> Result<Operand> {
        let is_of_value = failed.sqlstate.starts_with(b"22");
        if !self.is_procedure || self.ad_hoc || !is_of_value {
            return Err(failed);
        }
        let ast::Expr::Value(literal) = bare(expr) else { return Err(failed) };
        let ast::Value::SingleQuotedString(text) = &literal.value else { return Err(failed) };
        let SqlType::Scalar(to) = sql_type(to, self.type_names(), place)? else {
            return Err(failed);
        };
        let text = constant(Value::Text(text.clone()), DataType::Text);
        Ok(Operand::Typed(scalar(ExprKind::Cast(Box::new(text)), to)))
    }

    /// A value, of the type that a domain is made from, as one of the domain: an error where its
    /// constraints do not hold (23502, 23514).
    pub(crate) fn in_domain(&mut self, value: Expr, of: &AskingDomain) -> Result<Expr> {
        let AskingDomain { name, domain } = of;
        let value = packed(value);
        let slot = self.slot(VALUE, value.sql_type)?;
        let mut checked = self.slot_expr(slot);
        if !domain.nullable {
            let is_null = ExprKind::IsNull(Box::new(self.slot_expr(slot)));
            let is_there = negated(scalar(is_null, DataType::Boolean));
            let message = format!("domain {name} does not allow null values");
            checked = required(checked, is_there, ("23502", message));
        }
        for (own, condition) in &domain.checks {
            let variable = Variable::Scalar { slot, constant: true, not_null: false };
            let variables = vec![(VALUE.to_owned(), variable)];
            self.names.push(Names { label: None, variables });
            let written = with_value(condition, VALUE);
            let holds = written.and_then(|written| self.condition(&written, "CHECK"));
            self.names.pop();
            // What is unknown holds.
            let truth = constant(Value::Bool(true), DataType::Boolean);
            let holds = scalar(ExprKind::Coalesce(vec![holds?, truth]), DataType::Boolean);
            let message = format!("value for domain {name} violates check constraint \"{own}\"");
            checked = required(checked, holds, ("23514", message));
        }
        substitute(&mut checked, &[(slot, &value)]);
        Ok(spread(checked))
    }

    /// Has what is put into a slot be of a domain.
    pub(crate) fn ask_of_slot(&mut self, slot: SlotId, domain: Option<AskingDomain>) {
        self.domains.of_slots.extend(domain.map(|domain| (slot, domain)));
    }

    /// Fails the call where a slot has no value of its domain, if it is to have one.
    pub(crate) fn emit_domain_check(
        &mut self,
        out: &mut Vec<Statement>,
        slot: SlotId,
    ) -> Result<()> {
        let found = self.domains.of_slots.iter().find(|(of, _)| *of == slot);
        let Some(domain) = found.map(|(_, domain)| domain.clone()) else { return Ok(()) };
        let value = spread(self.slot_expr(slot));
        let before = std::mem::take(&mut self.before);
        let checked = self.alone(|this| this.in_domain(value, &domain));
        out.append(&mut std::mem::replace(&mut self.before, before));
        let value = checked?;
        let value = match self.slot_expr(slot).sql_type {
            SqlType::Scalar(_) => packed(value),
            SqlType::Array(_) => value,
        };
        self.emit(out, StatementKind::Assign { slot, value });
        Ok(())
    }
}

/// A value, or an error where a condition is not true.
fn required(value: Expr, condition: Expr, (code, message): (&str, String)) -> Expr {
    let text = |text: &str| constant(Value::Text(text.to_owned()), DataType::Text);
    let sql_type = value.sql_type;
    let arguments = vec![value, condition, text(code), text(&message)];
    Expr { kind: ExprKind::Call(Function::Require, arguments), sql_type }
}
