//! Window functions.

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::program::{Expr, ExprKind, Place, SlotId};
use sqlparser::ast;

use crate::error::{Result, error, unsupported};
use crate::function::arguments;
use crate::scope::Compiler;
use crate::typing::check_equality;

use super::group::sort_key;
use super::plan::{SortKey, WindowFunction};

/// A window function of a select list or of ORDER BY.
pub(super) struct Asked {
    pub(super) partition: Vec<SlotId>,
    pub(super) order: Vec<SortKey>,
    pub(super) function: WindowFunction,
    pub(super) output: SlotId,
    /// what is to be computed first, and its slots
    pub(super) computed: Vec<(Expr, SlotId)>,
}

impl Asked {
    /// The slots it reads.
    pub(super) fn reads(&self) -> Vec<SlotId> {
        let order = self.order.iter().map(|key| key.slot);
        let mut all: Vec<_> = self.partition.iter().copied().chain(order).collect();
        match &self.function {
            WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank => {}
            WindowFunction::Lag { value, .. } => all.push(*value),
            WindowFunction::First(value) | WindowFunction::Last(value) => all.push(*value),
            WindowFunction::Running(aggregate) => {
                all.extend(aggregate.argument.iter().chain(&aggregate.filter));
            }
        }
        all
    }
}

impl Compiler<'_> {
    pub(super) fn window_function(
        &mut self,
        name: &str,
        written: &ast::Function,
        over: &ast::WindowType,
        place: Place,
    ) -> Result<Expr> {
        let Some(mut windows) = self.level().windows.take() else {
            return Err(error(b"42P20", place, "window functions are not allowed here"));
        };
        let asked = self.asked_window(name, written, over, place);
        let output = asked.map(|asked| {
            let output = asked.output;
            windows.push(asked);
            output
        });
        self.level().windows = Some(windows);
        output.map(|output| self.slot_expr(output))
    }

    fn asked_window(
        &mut self,
        name: &str,
        written: &ast::Function,
        over: &ast::WindowType,
        place: Place,
    ) -> Result<Asked> {
        let ast::WindowType::WindowSpec(spec) = over else {
            return Err(unsupported(place, "WINDOW", "write OVER (...) where it is used"));
        };
        if spec.window_name.is_some() {
            return Err(unsupported(place, "WINDOW", "write OVER (...) where it is used"));
        }
        if spec.window_frame.is_some() {
            let advice = "leave it out: with ORDER BY a window ends at the current row's peers";
            return Err(unsupported(place, "a window frame", advice));
        }
        self.part()?;
        let mut computed = Vec::new();
        let (mut partition, mut order) = (Vec::new(), Vec::new());
        for value in &spec.partition_by {
            let value = self.expr(value)?;
            check_equality(value.sql_type, place)?;
            partition.push(self.slot_of(value, &mut computed)?);
        }
        for key in &spec.order_by {
            let value = self.expr(&key.expr)?;
            let of = value.sql_type;
            let slot = self.slot_of(value, &mut computed)?;
            order.push(sort_key(slot, of, key, place)?);
        }
        let (function, gives) = match name {
            "row_number" => (WindowFunction::RowNumber, SqlType::Scalar(DataType::BigInt)),
            "rank" => (WindowFunction::Rank, SqlType::Scalar(DataType::BigInt)),
            "dense_rank" => (WindowFunction::DenseRank, SqlType::Scalar(DataType::BigInt)),
            "lag" | "lead" | "first_value" | "last_value" => {
                let (_, written) = arguments(written, place)?;
                let (value, by) = match written.as_slice() {
                    [value] => (*value, 1),
                    [value, by] if name.starts_with('l') && name != "last_value" => {
                        let by = self.expr(by)?;
                        (*value, constant_of(&by, place)?)
                    }
                    _ => {
                        let message =
                            format!("function {name} with these arguments does not exist");
                        return Err(error(b"42883", place, message));
                    }
                };
                let value = self.expr(value)?;
                let gives = value.sql_type;
                let value = self.slot_of(value, &mut computed)?;
                let function = match name {
                    "lag" => WindowFunction::Lag { value, by },
                    "lead" => WindowFunction::Lag { value, by: -by },
                    "first_value" => WindowFunction::First(value),
                    _ => WindowFunction::Last(value),
                };
                (function, gives)
            }
            name => {
                let aggregate = self.compiled_aggregate(name, written, &mut computed, place)?;
                let gives = self.slot_type(aggregate.output);
                (WindowFunction::Running(aggregate), gives)
            }
        };
        let output = match &function {
            WindowFunction::Running(aggregate) => aggregate.output,
            _ => self.slot(&format!("${name}"), gives)?,
        };
        Ok(Asked { partition, order, function, output, computed })
    }
}

fn constant_of(by: &Expr, place: Place) -> Result<i64> {
    match &by.kind {
        ExprKind::Constant(Value::Int(by)) => Ok(i64::from(*by)),
        ExprKind::Constant(Value::BigInt(by)) => Ok(*by),
        _ => Err(unsupported(place, "an offset that is no constant", "write a number")),
    }
}
