//! The statements of a program that are written again and again.

use hotrow_base::types::DataType;
use hotrow_transaction::program::{
    ArithmeticOp, Expr, ExprKind, FOUND, Function, LabelId, OfConstraint, ROW_COUNT, Raise, SlotId,
    Statement, StatementKind,
};

use crate::error::Result;
use crate::path::truth;
use crate::scope::Compiler;
use crate::typing::{bigint, integer, scalar};

impl Compiler<'_> {
    /// Appends a statement at the current place.
    pub(crate) fn emit(&self, out: &mut Vec<Statement>, kind: StatementKind) {
        out.push(Statement { kind, place: self.place });
    }

    pub(crate) fn emit_assign(&self, out: &mut Vec<Statement>, slot: SlotId, value: Expr) {
        self.emit(out, StatementKind::Assign { slot, value });
    }

    /// Sets FOUND and the row count as a statement that touched `rows` rows leaves them.
    pub(crate) fn emit_touched(&self, out: &mut Vec<Statement>, rows: i64) {
        self.emit_assign(out, FOUND, truth(rows > 0));
        self.emit_assign(out, ROW_COUNT, bigint(rows));
    }

    /// A RAISE with constant text around its arguments.
    pub(crate) fn emit_raise(
        &self,
        out: &mut Vec<Statement>,
        sqlstate: &[u8; 5],
        message: String,
        detail: Option<Expr>,
    ) {
        self.emit_violation(out, sqlstate, message, (detail, (None, None)));
    }

    /// As [`Compiler::emit_raise`], of a constraint, with what is asked by when it is checked
    /// again.
    pub(crate) fn emit_violation(
        &self,
        out: &mut Vec<Statement>,
        sqlstate: &[u8; 5],
        message: String,
        (detail, (hint, of)): (Option<Expr>, (Option<Expr>, Option<OfConstraint>)),
    ) {
        let raise = Raise {
            sqlstate: *sqlstate,
            message: vec![message],
            arguments: Vec::new(),
            detail,
            hint,
            of,
            is_again: false,
            parts: Vec::new(),
        };
        self.emit(out, StatementKind::Raise(raise));
    }

    /// Counts a slot up by one.
    pub(crate) fn emit_next(&self, out: &mut Vec<Statement>, counter: SlotId) {
        let (count, one) = (Box::new(self.slot_expr(counter)), Box::new(integer(1)));
        let next = ExprKind::Arithmetic(ArithmeticOp::Add, count, one);
        self.emit_assign(out, counter, scalar(next, DataType::Integer));
    }

    /// Puts a value behind the last one of an array.
    pub(crate) fn emit_append(&self, out: &mut Vec<Statement>, array: SlotId, value: Expr) {
        let values = vec![self.slot_expr(array), value];
        let sql_type = values[0].sql_type;
        let kind = ExprKind::Call(Function::ArrayAppend, values);
        self.emit_assign(out, array, Expr { kind, sql_type });
    }

    /// Turns without end, which something in them leaves.
    pub(crate) fn emit_loop(&self, out: &mut Vec<Statement>, label: LabelId, turn: Vec<Statement>) {
        let mut body = Vec::new();
        self.emit(&mut body, StatementKind::Loop { body: turn });
        self.emit(out, StatementKind::Block { label, body });
    }

    /// Statements that leave FOUND and the row count as they found them.
    pub(crate) fn emit_unseen(
        &mut self,
        out: &mut Vec<Statement>,
        mut statements: Vec<Statement>,
    ) -> Result<()> {
        let mut kept = Vec::new();
        for slot in [FOUND, ROW_COUNT] {
            let value = self.slot_expr(slot);
            let keeps = self.temporary("kept", value.data_type())?;
            self.emit_assign(out, keeps, value);
            kept.push((slot, keeps));
        }
        out.append(&mut statements);
        for (slot, keeps) in kept {
            self.emit_assign(out, slot, self.slot_expr(keeps));
        }
        Ok(())
    }
}
