//! Expressions: to instructions that leave the value in a slot.

use hotrow_base::decimal::{DIGITS_MAX, Decimal};
use hotrow_base::types::{DataType, NAME_BYTES_MAX, SqlType};
use hotrow_base::value::Value;

use super::Lowerer;
use crate::bytecode::{CallCode, CastCode, CompareKind, Op};
use crate::program::{ArithmeticOp, CompareOp, Expr, ExprKind, Function, NumericFunction, SlotId};

impl Lowerer<'_> {
    /// Lowers an expression; its value lies in the returned slot, which may be a variable's own.
    pub(super) fn expr(&mut self, expr: &Expr) -> u16 {
        self.check_types(expr);
        match &expr.kind {
            ExprKind::Slot(slot) => {
                self.load_deferred(*slot, slot.0);
                self.slot(*slot)
            }
            ExprKind::Constant(value) => self.constant(expr.data_type(), value),
            ExprKind::Negate(operand) => match negated(operand) {
                Some(value) => self.constant(expr.data_type(), &value),
                None => self.expr_in_temporary(expr),
            },
            ExprKind::Cast(operand) => {
                let slot = self.expr(operand);
                self.cast(slot, operand.data_type(), expr.data_type())
            }
            _ => self.expr_in_temporary(expr),
        }
    }

    fn expr_in_temporary(&mut self, expr: &Expr) -> u16 {
        let dst = self.temporary();
        self.expr_into(expr, dst);
        dst
    }

    /// Lowers an expression and converts it to `to`.
    pub(super) fn expr_as(&mut self, expr: &Expr, to: DataType) -> u16 {
        self.check_conversion(expr.sql_type, SqlType::Scalar(to));
        let slot = self.expr(expr);
        if is_cast_away(expr, to) {
            return slot;
        }
        self.cast(slot, expr.data_type(), to)
    }

    /// Lowers an expression, converted to `to`, into a slot.
    pub(super) fn expr_as_into(&mut self, expr: &Expr, to: SqlType, dst: u16) {
        self.check_conversion(expr.sql_type, to);
        match (to, &expr.kind) {
            // Each value is converted at once.
            (SqlType::Scalar(_), ExprKind::Case { arms, otherwise })
                if arms
                    .iter()
                    .map(|(_, value)| value)
                    .chain(otherwise.as_deref())
                    .all(|value| is_same_datum(value.data_type(), expr.data_type())) =>
            {
                self.case_into(to, arms, otherwise.as_deref(), dst);
            }
            (SqlType::Scalar(to), _) if !is_cast_away(expr, to) => {
                let slot = self.expr(expr);
                self.cast_into(slot, expr.data_type(), to, dst);
            }
            _ => self.expr_into(expr, dst),
        }
    }

    /// The slot that a slot of the tree stands for.
    pub(super) fn slot(&self, slot: SlotId) -> u16 {
        match &self.check_slots {
            Some(slots) => slots[slot.index()],
            None => slot.0,
        }
    }

    /// Lowers an expression into a slot. `dst` is written last, so that the expression may read it.
    pub(super) fn expr_into(&mut self, expr: &Expr, dst: u16) {
        self.check_types(expr);
        match &expr.kind {
            ExprKind::Slot(slot) if self.load_deferred(*slot, dst) => {}
            ExprKind::Slot(_) | ExprKind::Constant(_) => {
                let a = self.expr(expr);
                self.copy(a, dst);
            }
            ExprKind::Negate(operand) => self.negate_into(expr, operand, dst),
            ExprKind::Arithmetic(op, a, b) => self.arithmetic_into(expr, *op, a, b, dst),
            ExprKind::Compare(op, a, b) => {
                let (a, b, kind) = self.comparable(a, b);
                self.emit(Op::Compare { dst, a, b, op: *op, kind });
            }
            ExprKind::NotDistinct(a, b) => {
                let (a, b, kind) = self.comparable(a, b);
                self.emit(Op::NotDistinct { dst, a, b, kind });
            }
            ExprKind::And(a, b) => self.logic_into(a, b, dst, Logic::And),
            ExprKind::Or(a, b) => self.logic_into(a, b, dst, Logic::Or),
            ExprKind::Not(a) => {
                let a = self.expr(a);
                self.emit(Op::Not { dst, a });
            }
            ExprKind::IsNull(a) => {
                let a = self.expr(a);
                self.emit(Op::IsNull { dst, a });
            }
            ExprKind::Case { arms, otherwise } => {
                self.case_into(expr.sql_type, arms, otherwise.as_deref(), dst);
            }
            ExprKind::Coalesce(operands) => self.coalesce_into(expr, operands, dst),
            ExprKind::Cast(operand) => self.expr_as_into(operand, expr.sql_type, dst),
            ExprKind::Concat(a, b) => {
                let (a, b) = (self.expr_as(a, DataType::Text), self.expr_as(b, DataType::Text));
                self.emit(Op::Concat { dst, a, b });
            }
            ExprKind::Call(function, arguments) => self.call_into(expr, *function, arguments, dst),
            ExprKind::Element(array, index) => {
                let index = self.expr(index);
                let array = self.slot(*array);
                self.emit(Op::Element { dst, array, index });
            }
            ExprKind::ArrayLength(array) => {
                let array = self.slot(*array);
                self.emit(Op::ArrayLength { dst, array, empty_is_null: true });
            }
        }
    }

    pub(super) fn copy(&mut self, a: u16, dst: u16) {
        if a != dst {
            self.emit(Op::Move { dst, a });
        }
    }

    /// Converts a slot; gives the same slot where the datum stays the same.
    pub(super) fn cast(&mut self, a: u16, from: DataType, to: DataType) -> u16 {
        if is_same_datum(from, to) {
            return a;
        }
        let dst = self.temporary();
        self.cast_into(a, from, to, dst);
        dst
    }

    fn cast_into(&mut self, a: u16, from: DataType, to: DataType, dst: u16) {
        if is_same_datum(from, to) {
            return self.copy(a, dst);
        }
        if let (true, Some(bits)) = (from.is_integer(), int_bits(to)) {
            return self.emit(Op::IntNarrow { dst, a, bits });
        }
        if let DataType::Numeric { precision, scale } = to {
            if scale == 0 && int_digits(from).is_some_and(|digits| digits <= precision) {
                return self.emit(Op::NumericFromInt { dst, a });
            }
            if matches!(from, DataType::Numeric { scale: old, .. } if old == scale) {
                let is_temporary = usize::from(a) >= self.first_temporary();
                if !is_temporary || !self.segments.narrow_last(a, dst, precision) {
                    self.emit(Op::NumericNarrow { dst, a, precision, scale });
                }
                return;
            }
        }
        self.program.casts.push(CastCode { from, to });
        let cast = self.number(self.program.casts.len() - 1);
        self.emit(Op::Cast { dst, a, cast });
    }

    fn negate_into(&mut self, expr: &Expr, operand: &Expr, dst: u16) {
        let data_type = expr.data_type();
        if data_type.is_any_numeric() {
            let function = Function::Numeric(NumericFunction::Negate);
            return self.numeric_call(function, &[operand], dst);
        }
        let b = self.expr_as(operand, data_type);
        match data_type {
            DataType::Numeric { scale, .. } => {
                let a = self.constant(data_type, &Value::Numeric(Decimal::ZERO));
                let precision = DIGITS_MAX;
                self.emit(Op::NumericSubtract { dst, a, b, precision, scale });
            }
            DataType::Real | DataType::Double => {
                // -0.0 - x is -x for both zeros.
                let a = self.constant(DataType::Double, &Value::Double(-0.0));
                let real = data_type == DataType::Real;
                self.emit(Op::FloatArithmetic { dst, a, b, op: ArithmeticOp::Subtract, real });
            }
            _ => {
                let a = self.constant(DataType::BigInt, &Value::BigInt(0));
                let bits = int_bits(data_type).unwrap_or(64);
                self.emit(Op::IntSubtract { dst, a, b, bits });
            }
        }
    }

    fn arithmetic_into(&mut self, expr: &Expr, op: ArithmeticOp, a: &Expr, b: &Expr, dst: u16) {
        match expr.data_type() {
            DataType::Numeric { scale, .. } => self.numeric_into(op, a, b, scale, dst),
            of if of.is_any_numeric() => {
                let function = Function::Numeric(NumericFunction::Arithmetic(op));
                self.numeric_call(function, &[a, b], dst);
            }
            data_type @ (DataType::Real | DataType::Double) => {
                let [a, b] = [a, b].map(|operand| match operand.data_type().is_float() {
                    true => self.expr(operand),
                    false => self.expr_as(operand, data_type),
                });
                let real = data_type == DataType::Real;
                self.emit(Op::FloatArithmetic { dst, a, b, op, real });
            }
            data_type => {
                let bits = int_bits(data_type).unwrap_or(64);
                let (a, b) = (self.expr(a), self.expr(b));
                self.emit(match op {
                    ArithmeticOp::Add => Op::IntAdd { dst, a, b, bits },
                    ArithmeticOp::Subtract => Op::IntSubtract { dst, a, b, bits },
                    ArithmeticOp::Multiply => Op::IntMultiply { dst, a, b, bits },
                    _ => Op::IntDivide { dst, a, b, bits, op },
                });
            }
        }
    }

    /// Calls a function of numerics without a precision, which reads numbers of all types.
    fn numeric_call(&mut self, function: Function, operands: &[&Expr], dst: u16) {
        let arguments = operands.iter().map(|operand| (self.expr(operand), operand.data_type()));
        let arguments = arguments.collect();
        self.program.calls.push(CallCode {
            function,
            dst,
            result: DataType::AnyNumeric,
            arguments,
        });
        let call = self.number(self.program.calls.len() - 1);
        self.emit(Op::Call { call });
    }

    fn numeric_into(&mut self, op: ArithmeticOp, a: &Expr, b: &Expr, scale: u8, dst: u16) {
        let [(a, a_scale), (b, b_scale)] = [a, b].map(|operand| match operand.data_type() {
            DataType::Numeric { scale, .. } => (self.expr(operand), scale),
            _ => {
                let whole = DataType::Numeric { precision: DIGITS_MAX, scale: 0 };
                (self.expr_as(operand, whole), 0)
            }
        });
        let one_scale = a_scale == scale && b_scale == scale;
        let precision = DIGITS_MAX;
        self.emit(match op {
            ArithmeticOp::Add if one_scale => Op::NumericAdd { dst, a, b, precision, scale },
            ArithmeticOp::Subtract if one_scale => {
                Op::NumericSubtract { dst, a, b, precision, scale }
            }
            ArithmeticOp::Multiply if a_scale + b_scale == scale => {
                Op::NumericMultiply { dst, a, b, precision, scale }
            }
            _ => Op::NumericArithmetic { dst, a, b, op, a_scale, b_scale, scale },
        });
    }

    /// Two operands in one form. The compiler has given them one type; numerics may still differ
    /// in scale.
    pub(super) fn comparable(&mut self, a: &Expr, b: &Expr) -> (u16, u16, CompareKind) {
        let (a_type, b_type) = (a.data_type(), b.data_type());
        let common = common_type(a_type, b_type);
        let kind = CompareKind::of(common);
        let (a, b) = (self.expr_as(a, common), self.expr_as(b, common));
        (a, b, kind)
    }

    fn logic_into(&mut self, a: &Expr, b: &Expr, dst: u16, logic: Logic) {
        let a = self.expr(a);
        let (decided, end) = (self.label(), self.label());
        let shortens = !matches!(b.kind, ExprKind::Slot(_) | ExprKind::Constant(_));
        if shortens {
            self.emit(match logic {
                Logic::And => Op::JumpIfFalse { a, to: decided.0 },
                Logic::Or => Op::JumpIfTrue { a, to: decided.0 },
            });
        }
        let b = self.expr(b);
        self.emit(match logic {
            Logic::And => Op::And { dst, a, b },
            Logic::Or => Op::Or { dst, a, b },
        });
        if shortens {
            self.emit(Op::Jump { to: end.0 });
            self.place(decided);
            self.copy(a, dst);
        }
        self.place(end);
    }

    pub(super) fn null_into(&mut self, sql_type: SqlType, dst: u16) {
        let (SqlType::Scalar(data_type) | SqlType::Array(data_type)) = sql_type;
        let a = self.constant(data_type, &Value::Null);
        self.copy(a, dst);
    }

    fn coalesce_into(&mut self, expr: &Expr, operands: &[Expr], dst: u16) {
        let end = self.label();
        let Some((last, first)) = operands.split_last() else {
            return self.null_into(expr.sql_type, dst);
        };
        for operand in first {
            let next = self.label();
            let a = match expr.sql_type {
                SqlType::Scalar(to) => self.expr_as(operand, to),
                SqlType::Array(_) => self.expr(operand),
            };
            self.emit(Op::JumpIfNull { a, to: next.0 });
            self.copy(a, dst);
            self.emit(Op::Jump { to: end.0 });
            self.place(next);
        }
        self.expr_as_into(last, expr.sql_type, dst);
        self.place(end);
    }

    fn call_into(&mut self, expr: &Expr, function: Function, arguments: &[Expr], dst: u16) {
        if function == Function::Cardinality
            && let [Expr { kind: ExprKind::Slot(array), .. }] = arguments
        {
            let array = self.slot(*array);
            return self.emit(Op::ArrayLength { dst, array, empty_is_null: false });
        }
        let common = match function {
            // All arguments are compared with each other.
            Function::Greatest | Function::Least => Some(expr.data_type()),
            Function::NullIf => arguments
                .split_first()
                .map(|(first, rest)| (first.data_type(), rest))
                .and_then(|(first, rest)| Some(common_type(first, rest.first()?.data_type()))),
            Function::Concat | Function::ConcatWs => Some(DataType::Text),
            _ => None,
        };
        let slots: Box<[_]> = arguments
            .iter()
            .map(|argument| match common {
                Some(common) => (self.expr_as(argument, common), common),
                // Whether an argument is an array is a matter of its type here.
                None if matches!(function, Function::Array(_) | Function::Format) => {
                    (self.expr(argument), argument.sql_type.packed())
                }
                None => (self.expr(argument), argument.data_type()),
            })
            .collect();
        let result = match (function, common) {
            (Function::NullIf, Some(common)) => common,
            _ => expr.data_type(),
        };
        let is_converted = is_same_datum(result, expr.data_type());
        let call_dst = if is_converted { dst } else { self.temporary() };
        self.program.calls.push(CallCode { function, dst: call_dst, result, arguments: slots });
        let call = self.number(self.program.calls.len() - 1);
        self.emit(Op::Call { call });
        if !is_converted {
            self.cast_into(call_dst, result, expr.data_type(), dst);
        }
    }

    /// Whether an expression may be NULL, as far as is known here.
    pub(super) fn is_nullable(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Slot(slot) => !self.is_known_not_null(self.slot(*slot)),
            ExprKind::Constant(value) => *value == Value::Null,
            ExprKind::Negate(a) | ExprKind::Not(a) | ExprKind::Cast(a) => self.is_nullable(a),
            ExprKind::Arithmetic(_, a, b)
            | ExprKind::Compare(_, a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b)
            | ExprKind::Concat(a, b) => self.is_nullable(a) || self.is_nullable(b),
            ExprKind::NotDistinct(..) | ExprKind::IsNull(_) => false,
            ExprKind::Coalesce(operands) => operands.iter().all(|o| self.is_nullable(o)),
            ExprKind::Case { arms, otherwise } => {
                otherwise.as_deref().is_none_or(|value| self.is_nullable(value))
                    || arms.iter().any(|(_, value)| self.is_nullable(value))
            }
            ExprKind::Call(..) | ExprKind::Element(..) | ExprKind::ArrayLength(_) => true,
        }
    }
}

#[derive(Clone, Copy)]
enum Logic {
    And,
    Or,
}

/// A negated integer or float constant.
fn negated(operand: &Expr) -> Option<Value> {
    let ExprKind::Constant(value) = &operand.kind else { return None };
    match value {
        Value::SmallInt(v) => v.checked_neg().map(Value::SmallInt),
        Value::Int(v) => v.checked_neg().map(Value::Int),
        Value::BigInt(v) => v.checked_neg().map(Value::BigInt),
        Value::Double(v) => Some(Value::Double(-v)),
        Value::Numeric(v) => Decimal::new(-v.units(), v.scale()).map(Value::Numeric),
        _ => None,
    }
}

/// Whether an expression's value is the same datum in another type: a matter of its type, or of
/// the value of a short text.
fn is_cast_away(expr: &Expr, to: DataType) -> bool {
    let ExprKind::Constant(Value::Text(text)) = &expr.kind else {
        return is_same_datum(expr.data_type(), to);
    };
    match to {
        _ if is_same_datum(expr.data_type(), to) => true,
        // A char(n) counts bytes, and is read without trailing blanks.
        DataType::Varchar(n) | DataType::Char(n) if expr.data_type().is_text() => {
            text.len() <= n as usize && !text.ends_with(' ')
        }
        _ => false,
    }
}

/// Bits of an integer type with a sign.
pub(super) fn int_bits(data_type: DataType) -> Option<u8> {
    match data_type {
        DataType::SmallInt => Some(16),
        DataType::Integer => Some(32),
        DataType::BigInt => Some(64),
        _ => None,
    }
}

/// Most decimal digits of an integer type.
fn int_digits(data_type: DataType) -> Option<u8> {
    Some(match int_bits(data_type)? {
        16 => 5,
        32 => 10,
        _ => 19,
    })
}

/// Whether every value of `from` is the same datum as a value of `to`.
pub(super) fn is_same_datum(from: DataType, to: DataType) -> bool {
    if from == to {
        return true;
    }
    if let (Some(from), Some(to)) = (int_bits(from), int_bits(to)) {
        return from <= to;
    }
    match (from, to) {
        (DataType::Oid, DataType::BigInt)
        | (DataType::WideNumeric { .. }, DataType::AnyNumeric) => true,
        (
            DataType::Numeric { precision: from, scale: from_scale },
            DataType::Numeric { precision, scale },
        ) => from <= precision && from_scale == scale,
        (DataType::Real, DataType::Double) => true,
        (DataType::Timestamp(from), DataType::Timestamp(to))
        | (DataType::TimestampTz(from), DataType::TimestampTz(to)) => from <= to,
        (from, DataType::Text) => from.is_text() || from.is_json(),
        (DataType::Jsonb, DataType::Json) => true,
        (DataType::Varchar(from), DataType::Varchar(to)) => from <= to,
        (DataType::Name, DataType::Varchar(to)) => NAME_BYTES_MAX as u32 <= to,
        (DataType::Time(from), DataType::Time(to)) => from <= to,
        // n bytes are at most n characters.
        (DataType::Char(from), DataType::Varchar(to)) => from <= to,
        _ => false,
    }
}

/// The type in which two values are compared.
pub(super) fn common_type(a: DataType, b: DataType) -> DataType {
    match (a, b) {
        _ if a == b => a,
        _ if a.is_text() && b.is_text() => DataType::Text,
        _ if a.is_float() && b.is_number() || b.is_float() && a.is_number() => DataType::Double,
        _ if a.is_any_numeric() && b.is_number() || b.is_any_numeric() && a.is_number() => {
            DataType::AnyNumeric
        }
        (DataType::Numeric { scale: a, .. }, DataType::Numeric { scale: b, .. }) => {
            DataType::Numeric { precision: DIGITS_MAX, scale: a.max(b) }
        }
        (DataType::Numeric { scale, .. }, other) | (other, DataType::Numeric { scale, .. })
            if other.is_integer() =>
        {
            DataType::Numeric { precision: DIGITS_MAX, scale }
        }
        _ if a.is_integer() && b.is_integer() => DataType::BigInt,
        (DataType::Date, other) | (other, DataType::Date) => other,
        (DataType::Time(a), DataType::Time(b)) => DataType::Time(a.max(b)),
        (DataType::Timestamp(a), DataType::Timestamp(b)) => DataType::Timestamp(a.max(b)),
        (DataType::TimestampTz(a), DataType::TimestampTz(b)) => DataType::TimestampTz(a.max(b)),
        (DataType::Time(_), DataType::Interval) => DataType::Interval,
        _ => a,
    }
}

/// The operator that is true exactly where `op` is false.
pub(super) fn inverse(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Equal => CompareOp::NotEqual,
        CompareOp::NotEqual => CompareOp::Equal,
        CompareOp::Less => CompareOp::GreaterOrEqual,
        CompareOp::LessOrEqual => CompareOp::Greater,
        CompareOp::Greater => CompareOp::LessOrEqual,
        CompareOp::GreaterOrEqual => CompareOp::Less,
    }
}
