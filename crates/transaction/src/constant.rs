//! Expressions that are evaluated outside any call: defaults, tests, EXPLAIN, columns of rows that
//! are made anew.

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;

use crate::access::NoRows;
use crate::bytecode::Program;
use crate::catalog::Catalog;
use crate::frame::Frame;
use crate::interpret::{NoHook, run};
use crate::invocation::Invocation;
use crate::lower::lower;
use crate::outcome::SqlError;
use crate::program::{
    Expr, FIRST_PARAMETER, Place, Procedure, ResultColumn, RowLocks, Slot, SlotId, Statement,
    StatementKind,
};
use crate::walk;

/// The value of an expression that reads no slot but the call's time, which is `now_us`.
pub fn evaluate(expr: &Expr, now_us: i64) -> Result<Value, SqlError> {
    Computation::new(expr.clone(), &[])?.value(now_us, &[])
}

/// An expression over some values, to be evaluated again and again.
pub struct Computation {
    program: Program,
    frame: Frame,
    invocation: Invocation,
    types: Vec<DataType>,
}

impl Computation {
    /// That of an expression whose slot `i` has value `i`, of the type `types[i]`. One of no values
    /// may read the call's time.
    ///
    /// Errors: what lowering says of the expression.
    pub fn new(mut expr: Expr, types: &[DataType]) -> Result<Self, SqlError> {
        let mut slots = special_slots();
        if !types.is_empty() {
            walk::map_slots(&mut expr, &|slot| SlotId(slot.0 + FIRST_PARAMETER));
        }
        let value = |of: &DataType| Slot { name: "value".into(), sql_type: SqlType::Scalar(*of) };
        slots.extend(types.iter().map(value));
        let result = vec![ResultColumn::new("value", expr.data_type())];
        let place = Place::default();
        let body = vec![Statement { kind: StatementKind::Return(vec![expr]), place }];
        let procedure = Procedure {
            name: "constant".into(),
            parameters: types.len() as u16,
            defaults: Vec::new(),
            draws: Vec::new(),
            slots,
            body,
            result,
            returns_set: false,
            row_sets: 0,
            row_locks: RowLocks::default(),
            inlined: Vec::new(),
            ends_transaction: false,
            is_variadic: false,
            outs: Vec::new(),
            lacks: None,
            interpreted: None,
            source: None,
            trigger: None,
            later: None,
            needs: Default::default(),
        };
        let program = lower(&Catalog::default(), &procedure)?;
        let (frame, invocation) = (Frame::new(), Invocation::at(0));
        Ok(Self { program, frame, invocation, types: types.to_vec() })
    }

    /// What it gives for these values.
    ///
    /// Errors: what evaluating it comes to, such as 22012.
    pub fn value(&mut self, now_us: i64, values: &[Value]) -> Result<Value, SqlError> {
        let Self { program, frame, invocation, types } = self;
        invocation.now_us = now_us;
        invocation.arguments.clear();
        for (of, value) in types.iter().zip(values) {
            invocation.arguments.push_value(SqlType::Scalar(*of), value)?;
        }
        frame.begin(program, invocation);
        if run(program, 0, frame, &mut NoRows, &mut NoHook).is_err() {
            let unknown = || SqlError::new(b"XX000", "an expression stopped without an error");
            return Err(frame.take_error().unwrap_or_else(unknown));
        }
        let rows = frame.take_rows(program).rows;
        Ok(rows.into_iter().flatten().next().unwrap_or(Value::Null))
    }
}

/// FOUND, the call's time and the row count, as every procedure's first slots.
pub fn special_slots() -> Vec<Slot> {
    let slot =
        |name: &str, data_type| Slot { name: name.into(), sql_type: SqlType::Scalar(data_type) };
    vec![
        slot("found", DataType::Boolean),
        slot("now", DataType::TIMESTAMPTZ),
        slot("row_count", DataType::BigInt),
    ]
}
