//! Constraint triggers that fire before COMMIT and not in their statement.
//!
//! Role         where such a trigger would fire, the row as it was and as it is are told whoever
//!              commits ([`hotrow_transaction::deferred`]), if the condition of WHEN holds there;
//!              who is told runs a [`firing`] for each
//! Invariants   I1 a trigger that is DEFERRABLE fires in its statement as long as nobody has said
//!                 otherwise by SET CONSTRAINTS; then it is told, too, and whoever keeps what was
//!                 said decides
//! Source       PostgreSQL 15, CREATE TRIGGER and SET CONSTRAINTS

use hotrow_base::ids::TableId;
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{Deferral, TriggerEvent};
use hotrow_transaction::deferred::{NULL, Pending};
use hotrow_transaction::invocation::Leaves;
use hotrow_transaction::program::{
    CompareOp, Expr, ExprKind, Function, OfConstraint, Statement, StatementKind,
};

use crate::compile::one_program;
use crate::compiled::Compiled;
use crate::error::Result;
use crate::fire::Fired;
use crate::foreign_key::{escaped, with_value};
use crate::scope::Compiler;
use crate::script_statement::ScriptStatement;
use crate::syntax::Syntax;
use crate::trigger::no_trigger;
use crate::trigger_syntax::FiringSyntax;
use crate::typing::{call, constant, integer, scalar};

/// The statement that does what a trigger does for a row; its parameters are the columns of the row
/// as it was, and as it is, as far as there are such.
pub fn firing(table: TableId, trigger: &str, event: TriggerEvent) -> ScriptStatement {
    let trigger = trigger.to_owned();
    let text = format!("FIRE {trigger}");
    ScriptStatement::new(text, Syntax::Firing(FiringSyntax { table, trigger, event }))
}

/// Whether what a call leaves to whoever commits is this.
pub(crate) fn leaves(so_much: Leaves) -> Expr {
    let leaves = Box::new(call(Function::Leaves, Vec::new(), DataType::Integer));
    let so_much = Box::new(integer(so_much as i32));
    scalar(ExprKind::Compare(CompareOp::Equal, leaves, so_much), DataType::Boolean)
}

impl Compiler<'_> {
    pub(crate) fn firing_statement(&mut self, written: &FiringSyntax) -> Result<Compiled> {
        let FiringSyntax { table, trigger, event } = written;
        let table = self.catalog.table(*table);
        let Some(trigger) = table.triggers.iter().find(|known| known.name == *trigger) else {
            return Err(no_trigger(trigger, &table.name, self.place));
        };
        one_program(self, |this, body| {
            let rows = this.slots_of_rows(table, *event)?;
            let slots = rows.old.iter().chain(&rows.new);
            for (slot, parameter) in slots.zip(&this.parameters) {
                this.emit_assign(body, *slot, this.slot_expr(*parameter));
            }
            this.fire_now(body, &Fired { table, trigger, event: *event, rows: &rows, skip: None })
        })
    }

    /// What a trigger does that can be deferred, or that it is to be done.
    pub(crate) fn fire_when_due(
        &mut self,
        out: &mut Vec<Statement>,
        fired: &Fired<'_>,
        deferral: Deferral,
    ) -> Result<()> {
        let mut told = Vec::new();
        self.emit_event(&mut told, fired, deferral);
        if deferral == Deferral::Deferred {
            return self.emit_kept_event(out, fired, told);
        }
        let mut otherwise = Vec::new();
        self.fire_now(&mut otherwise, fired)?;
        let condition = leaves(Leaves::Any);
        self.emit(out, StatementKind::If { condition, then: told, otherwise }); // I1
        Ok(())
    }

    /// Tells whoever commits what a trigger is to be fired for.
    fn emit_event(&self, out: &mut Vec<Statement>, fired: &Fired<'_>, deferral: Deferral) {
        let Fired { table, trigger, event, rows, .. } = *fired;
        let text = |text: &str| constant(Value::Text(text.to_owned()), DataType::Text);
        let begin = text(&Pending::begin(table.id, &trigger.name, true));
        let begin = with_value(begin, text(event.name()));
        let values = rows.old.iter().chain(&rows.new).map(|slot| {
            let value = ExprKind::Coalesce(vec![escaped(self.slot_expr(*slot)), text(NULL)]);
            scalar(value, DataType::Text)
        });
        let hint: Expr = values.fold(begin, with_value);
        let name = trigger.name.clone();
        // Told where nobody fires it.
        let message =
            format!("trigger \"{name}\" is deferred, and the call has no COMMIT of its own");
        let of = OfConstraint {
            table: table.name.clone(),
            name,
            deferral,
            is_early: false,
            is_event: true,
        };
        self.emit_violation(out, b"23000", message, (None, (Some(hint), Some(of))));
    }
}
