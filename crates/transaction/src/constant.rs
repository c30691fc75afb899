//! Constant expressions, evaluated outside any call: defaults, tests, EXPLAIN.

use hotrow_base::value::Value;

use crate::access::NoRows;
use crate::catalog::Catalog;
use crate::frame::Frame;
use crate::interpret::{NoHook, run};
use crate::invocation::Invocation;
use crate::lower::lower;
use crate::outcome::SqlError;
use crate::program::{
    Expr, Place, Procedure, ResultColumn, RowLocks, Slot, Statement, StatementKind,
};

/// The value of an expression that reads no slot but the call's time, which is `now_us`.
pub fn evaluate(expr: &Expr, now_us: i64) -> Result<Value, SqlError> {
    let result = vec![ResultColumn::new("value", expr.data_type())];
    let body = vec![Statement {
        kind: StatementKind::Return(vec![expr.clone()]),
        place: Place::default(),
    }];
    let procedure = Procedure {
        name: "constant".into(),
        parameters: 0,
        defaults: Vec::new(),
        draws: Vec::new(),
        slots: special_slots(),
        body,
        result,
        returns_set: false,
        row_sets: 0,
        row_locks: RowLocks::default(),
        inlined: Vec::new(),
        ends_transaction: false,
    };
    let program = lower(&Catalog::default(), &procedure)?;
    let mut frame = Frame::new();
    frame.begin(&program, &Invocation { now_us, ..Invocation::default() });
    if run(&program, 0, &mut frame, &mut NoRows, &mut NoHook).is_err() {
        let unknown = || SqlError::new(b"XX000", "constant expression stopped without an error");
        return Err(frame.take_error().unwrap_or_else(unknown));
    }
    let rows = frame.take_rows(&program).rows;
    Ok(rows.into_iter().flatten().next().unwrap_or(Value::Null))
}

/// FOUND, the call's time and the row count, as every procedure's first slots.
pub fn special_slots() -> Vec<Slot> {
    use hotrow_base::types::{DataType, SqlType};
    let slot =
        |name: &str, data_type| Slot { name: name.into(), sql_type: SqlType::Scalar(data_type) };
    vec![
        slot("found", DataType::Boolean),
        slot("now", DataType::TimestampTz),
        slot("row_count", DataType::BigInt),
    ]
}
