//! Conditions: to jumps, without computing a boolean where none is needed.

use hotrow_base::types::SqlType;
use hotrow_base::value::Value;

use super::Lowerer;
use super::expr::inverse;
use super::segments::Label;
use crate::bytecode::{CompareKind, Op};
use crate::program::{CompareOp, Expr, ExprKind};

impl Lowerer<'_> {
    /// Jumps when a condition is false or NULL.
    pub(super) fn jump_unless(&mut self, condition: &Expr, to: Label) {
        self.check_types(condition);
        match &condition.kind {
            ExprKind::Constant(Value::Bool(true)) => {}
            ExprKind::Constant(_) => self.emit(Op::Jump { to: to.0 }),
            ExprKind::And(a, b) => {
                self.jump_unless(a, to);
                self.jump_unless(b, to);
            }
            ExprKind::Or(a, b) => {
                let holds = self.label();
                self.jump_if(a, holds);
                self.jump_unless(b, to);
                self.place(holds);
            }
            ExprKind::Not(inner) => self.jump_unless_not(inner, condition, to),
            ExprKind::Compare(op, a, b) => self.jump_unless_compared(*op, a, b, to),
            ExprKind::IsNull(a) => {
                let a = self.expr(a);
                self.emit(Op::JumpIfNotNull { a, to: to.0 });
            }
            _ => {
                let a = self.expr(condition);
                self.emit(Op::JumpIfNotTrue { a, to: to.0 });
            }
        }
    }

    /// Jumps when NOT `inner` is false or NULL.
    fn jump_unless_not(&mut self, inner: &Expr, whole: &Expr, to: Label) {
        let not = |expr: &Expr| Expr {
            kind: ExprKind::Not(Box::new(expr.clone())),
            sql_type: SqlType::Scalar(hotrow_base::types::DataType::Boolean),
        };
        match &inner.kind {
            ExprKind::Not(twice) => self.jump_unless(twice, to),
            ExprKind::IsNull(a) => {
                let a = self.expr(a);
                self.emit(Op::JumpIfNull { a, to: to.0 });
            }
            // De Morgan's laws hold with three values.
            ExprKind::Or(a, b) => {
                self.jump_unless(&not(a), to);
                self.jump_unless(&not(b), to);
            }
            ExprKind::And(a, b) => {
                let holds = self.label();
                self.jump_if(&not(a), holds);
                self.jump_unless(&not(b), to);
                self.place(holds);
            }
            ExprKind::Compare(op, a, b) => self.jump_unless_compared(inverse(*op), a, b, to),
            _ if !self.is_nullable(inner) => {
                let a = self.expr(inner);
                self.emit(Op::JumpIfTrue { a, to: to.0 });
            }
            _ => {
                let a = self.expr(whole);
                self.emit(Op::JumpIfNotTrue { a, to: to.0 });
            }
        }
    }

    /// Jumps when a condition is true.
    pub(super) fn jump_if(&mut self, condition: &Expr, to: Label) {
        self.check_types(condition);
        match &condition.kind {
            ExprKind::Constant(Value::Bool(true)) => self.emit(Op::Jump { to: to.0 }),
            ExprKind::Constant(_) => {}
            ExprKind::Or(a, b) => {
                self.jump_if(a, to);
                self.jump_if(b, to);
            }
            ExprKind::IsNull(a) => {
                let a = self.expr(a);
                self.emit(Op::JumpIfNull { a, to: to.0 });
            }
            ExprKind::And(..) | ExprKind::Compare(..) | ExprKind::Not(_) => {
                let fails = self.label();
                self.jump_unless(condition, fails);
                self.emit(Op::Jump { to: to.0 });
                self.place(fails);
            }
            _ => {
                let a = self.expr(condition);
                self.emit(Op::JumpIfTrue { a, to: to.0 });
            }
        }
    }

    fn jump_unless_compared(&mut self, op: CompareOp, a: &Expr, b: &Expr, to: Label) {
        let (a, b, kind) = self.comparable(a, b);
        let to = to.0;
        if kind != CompareKind::Int {
            let dst = self.temporary();
            self.emit(Op::Compare { dst, a, b, op, kind });
            return self.emit(Op::JumpIfNotTrue { a: dst, to });
        }
        self.emit(match op {
            CompareOp::Equal => Op::JumpUnlessEqual { a, b, to },
            CompareOp::NotEqual => Op::JumpUnlessNotEqual { a, b, to },
            CompareOp::Less => Op::JumpUnlessLess { a, b, to },
            CompareOp::LessOrEqual => Op::JumpUnlessLessOrEqual { a, b, to },
            CompareOp::Greater => Op::JumpUnlessLess { a: b, b: a, to },
            CompareOp::GreaterOrEqual => Op::JumpUnlessLessOrEqual { a: b, b: a, to },
        });
    }
}
