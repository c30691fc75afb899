//! Window functions, named windows and frames.

use hotrow_base::types::{DataType, SqlType};
use hotrow_query::{
    Exclusion, Frame, FrameBound, FrameUnits, Plan, SortKey, Window, WindowFunction,
};
use hotrow_transaction::program::{Expr, Place, SlotId};
use hotrow_transaction::walk::reads_any;
use sqlparser::ast;

use crate::error::{Advice, Result, error, ident_place, unsupported};
use crate::frame_syntax::take_exclusion;
use crate::functions::{Evaluation, WindowForm, named, no_function};
use crate::operand::Operand;
use crate::relation::level::AskedWindow;
use crate::scope::Compiler;
use crate::typing::{
    Coercion, assign, bigint, cast, check_equality, common_type, order_of, spread,
};
use crate::written::{arguments, ident_name};

use super::order::sort_key;

/// Values that are computed before a window function, with their slots.
type Computed = Vec<(Expr, SlotId)>;

impl Compiler<'_> {
    /// WINDOW: definitions that OVER names.
    pub(super) fn named_windows(
        &mut self,
        written: &[ast::NamedWindowDefinition],
        place: Place,
    ) -> Result<()> {
        for ast::NamedWindowDefinition(ident, definition) in written {
            let place = ident_place(ident, place);
            let name = ident_name(ident);
            if self.level().named_windows.iter().any(|(known, _)| *known == name) {
                let message = format!("window \"{name}\" is already defined");
                return Err(error(b"42P20", place, message));
            }
            let ast::NamedWindowExpr::WindowSpec(spec) = definition else {
                return Err(unsupported(place, "a window that is another one", "write w AS (...)"));
            };
            let spec = self.whole_window(spec, place)?;
            self.level().named_windows.push((name, spec));
        }
        Ok(())
    }

    /// A window with what it takes from the one that it names.
    fn whole_window(&mut self, spec: &ast::WindowSpec, place: Place) -> Result<ast::WindowSpec> {
        let Some(name) = &spec.window_name else { return Ok(spec.clone()) };
        let place = ident_place(name, place);
        let mut whole = self.named_window(name, place)?;
        let name = ident_name(name);
        let refused = |what: &str| {
            let message = format!("cannot override {what} clause of window \"{name}\"");
            Err(error(b"42P20", place, message))
        };
        if whole.window_frame.is_some() {
            let message = format!("cannot copy window \"{name}\" because it has a frame clause");
            return Err(error(b"42P20", place, message));
        }
        let mut partition_by = spec.partition_by.clone();
        let is_marked = take_exclusion(&mut partition_by).is_some();
        if !partition_by.is_empty() {
            return refused("PARTITION BY");
        }
        if is_marked {
            whole.partition_by.insert(0, spec.partition_by[0].clone());
        }
        if !spec.order_by.is_empty() {
            if !whole.order_by.is_empty() {
                return refused("ORDER BY");
            }
            whole.order_by.clone_from(&spec.order_by);
        }
        whole.window_frame.clone_from(&spec.window_frame);
        Ok(whole)
    }

    fn named_window(&mut self, name: &ast::Ident, place: Place) -> Result<ast::WindowSpec> {
        let name = ident_name(name);
        let known = self.level().named_windows.iter().find(|(known, _)| *known == name);
        let known = known.map(|(_, spec)| spec.clone());
        known.ok_or_else(|| error(b"42704", place, format!("window \"{name}\" does not exist")))
    }

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
        output.map(|output| spread(self.slot_expr(output)))
    }

    fn asked_window(
        &mut self,
        name: &str,
        written: &ast::Function,
        over: &ast::WindowType,
        place: Place,
    ) -> Result<AskedWindow> {
        let mut spec = match over {
            ast::WindowType::WindowSpec(spec) => self.whole_window(spec, place)?,
            ast::WindowType::NamedWindow(name) => {
                let place = ident_place(name, place);
                self.named_window(name, place)?
            }
        };
        self.part()?;
        let exclusion = take_exclusion(&mut spec.partition_by).unwrap_or_default();
        let mut computed = Vec::new();
        let (mut partition, mut order) = (Vec::new(), Vec::new());
        for value in &spec.partition_by {
            let value = self.row_expr(value)?;
            check_equality(value.sql_type, place)?;
            partition.push(self.slot_of(value, &mut computed)?);
        }
        for key in &spec.order_by {
            let value = order_of(self.row_expr(&key.expr)?);
            let of = value.sql_type;
            let slot = self.slot_of(value, &mut computed)?;
            order.push(sort_key(slot, of, key, place)?);
        }
        let frame = match &spec.window_frame {
            None => None,
            Some(frame) => Some(self.frame((frame, exclusion), &order, &mut computed, place)?),
        };
        let (function, gives) = self.window_kind(name, written, &mut computed, place)?;
        let output = match &function {
            WindowFunction::Running(aggregate) => aggregate.output,
            _ => self.slot(&format!("${name}"), gives)?,
        };
        Ok(AskedWindow { partition, order, frame, function, output, computed })
    }

    /// Which function it is, and what it gives.
    fn window_kind(
        &mut self,
        name: &str,
        written: &ast::Function,
        computed: &mut Computed,
        place: Place,
    ) -> Result<(WindowFunction, SqlType)> {
        let form = named(name).first().map(|row| row.evaluation);
        if !written.within_group.is_empty() {
            let message = format!("OVER is not supported for ordered-set aggregate {name}");
            return Err(error(b"0A000", place, message));
        }
        let Some(Evaluation::Window(form)) = form else {
            let aggregate = self.compiled_aggregate(name, written, computed, place)?;
            let gives = self.slot_type(aggregate.output);
            return Ok((WindowFunction::Running(aggregate), gives));
        };
        let (_, written) = arguments(written, place)?;
        let plain = |function, gives| Ok((function, SqlType::Scalar(gives)));
        match (form, written.as_slice()) {
            (WindowForm::RowNumber, []) => plain(WindowFunction::RowNumber, DataType::BigInt),
            (WindowForm::Rank, []) => plain(WindowFunction::Rank, DataType::BigInt),
            (WindowForm::DenseRank, []) => plain(WindowFunction::DenseRank, DataType::BigInt),
            (WindowForm::PercentRank, []) => plain(WindowFunction::PercentRank, DataType::Double),
            (WindowForm::CumeDist, []) => plain(WindowFunction::CumeDist, DataType::Double),
            (WindowForm::Buckets, [buckets]) => {
                let buckets = self.whole_number(buckets, "ntile", computed)?;
                plain(WindowFunction::Buckets(buckets), DataType::Integer)
            }
            (WindowForm::First, [value]) => {
                let (value, gives) = self.windowed_value(value, computed)?;
                Ok((WindowFunction::First(value), gives))
            }
            (WindowForm::Last, [value]) => {
                let (value, gives) = self.windowed_value(value, computed)?;
                Ok((WindowFunction::Last(value), gives))
            }
            (WindowForm::Nth, [value, at]) => {
                let (value, gives) = self.windowed_value(value, computed)?;
                let at = self.whole_number(at, "nth_value", computed)?;
                Ok((WindowFunction::Nth { value, at }, gives))
            }
            (WindowForm::Lag | WindowForm::Lead, [value, rest @ ..]) if rest.len() < 3 => {
                let ahead = form == WindowForm::Lead;
                let by = match rest.first() {
                    Some(by) => self.whole_number(by, name, computed)?,
                    None => self.slot_of(bigint(1), computed)?,
                };
                let Some(otherwise) = rest.get(1) else {
                    let (value, gives) = self.windowed_value(value, computed)?;
                    return Ok((WindowFunction::Lag { value, by, ahead, otherwise: None }, gives));
                };
                let value = self.row_expr(value)?;
                let of = self.scalar_type(&value, place)?;
                let operand = self.operand(otherwise)?;
                let otherwise = self.settle(operand, of, place)?;
                let Some(gives) = common_type(of, self.scalar_type(&otherwise, place)?) else {
                    let given = [Some(value.sql_type), None, Some(otherwise.sql_type)];
                    return Err(no_function(name, &given, place));
                };
                let value = self.slot_of(cast(value, gives), computed)?;
                let otherwise = Some(self.slot_of(cast(otherwise, gives), computed)?);
                let function = WindowFunction::Lag { value, by, ahead, otherwise };
                Ok((function, SqlType::Scalar(gives)))
            }
            _ => Err(no_function(name, &vec![None; written.len()], place)),
        }
    }

    fn windowed_value(
        &mut self,
        written: &ast::Expr,
        computed: &mut Computed,
    ) -> Result<(SlotId, SqlType)> {
        let value = self.row_expr(written)?;
        let gives = value.sql_type;
        Ok((self.slot_of(value, computed)?, gives))
    }

    /// An argument that is an integer.
    fn whole_number(
        &mut self,
        written: &ast::Expr,
        name: &str,
        computed: &mut Computed,
    ) -> Result<SlotId> {
        let place = crate::error::place_in(written, self.place);
        let operand = self.operand(written)?;
        let value = self.settle(operand, DataType::Integer, place)?;
        if !self.scalar_type(&value, place)?.is_integer() {
            return Err(no_function(name, &[Some(value.sql_type)], place));
        }
        self.slot_of(cast(value, DataType::BigInt), computed)
    }

    /// ROWS, RANGE or GROUPS.
    fn frame(
        &mut self,
        (written, exclusion): (&ast::WindowFrame, Exclusion),
        order: &[SortKey],
        computed: &mut Computed,
        place: Place,
    ) -> Result<Frame> {
        use ast::WindowFrameBound as Written;
        let units = match written.units {
            ast::WindowFrameUnits::Rows => FrameUnits::Rows,
            ast::WindowFrameUnits::Range => FrameUnits::Range,
            ast::WindowFrameUnits::Groups => FrameUnits::Groups,
        };
        let end = written.end_bound.as_ref().unwrap_or(&Written::CurrentRow);
        let start = &written.start_bound;
        let refused = |message: &str| Err(error(b"42P20", place, message));
        match (start, end) {
            (Written::Following(None), _) => {
                return refused("frame start cannot be UNBOUNDED FOLLOWING");
            }
            (_, Written::Preceding(None)) => {
                return refused("frame end cannot be UNBOUNDED PRECEDING");
            }
            (Written::CurrentRow, Written::Preceding(_)) => {
                return refused("frame starting from current row cannot have preceding rows");
            }
            (Written::Following(_), Written::Preceding(_) | Written::CurrentRow) => {
                return refused("frame starting from following row cannot have preceding rows");
            }
            _ => {}
        }
        if units == FrameUnits::Groups && order.is_empty() {
            return refused("GROUPS mode requires an ORDER BY clause");
        }
        let mut bound = |written: &Written| -> Result<FrameBound> {
            Ok(match written {
                Written::CurrentRow => FrameBound::Current,
                Written::Preceding(None) | Written::Following(None) => FrameBound::Unbounded,
                Written::Preceding(Some(by)) => {
                    FrameBound::Before(self.frame_offset(by, units, order, computed)?)
                }
                Written::Following(Some(by)) => {
                    FrameBound::After(self.frame_offset(by, units, order, computed)?)
                }
            })
        };
        Ok(Frame { units, start: bound(start)?, end: bound(end)?, exclusion })
    }

    fn frame_offset(
        &mut self,
        written: &ast::Expr,
        units: FrameUnits,
        order: &[SortKey],
        computed: &mut Computed,
    ) -> Result<SlotId> {
        let place = crate::error::place_in(written, self.place);
        let operand = self.operand(written)?;
        let name = match units {
            FrameUnits::Rows => "ROWS",
            FrameUnits::Range => "RANGE",
            FrameUnits::Groups => "GROUPS",
        };
        let value = if units == FrameUnits::Range {
            let [key] = order else {
                let message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER \
                               BY column";
                return Err(error(b"42P20", place, message));
            };
            let of = self.slot_type(key.slot).packed();
            self.range_offset(operand, of, place)?
        } else {
            let operand = self.settle(operand, DataType::BigInt, place)?;
            let message = || format!("argument of {name}");
            assign(operand, DataType::BigInt, Coercion::Assignment, place, message)?
        };
        let slots: Vec<SlotId> = self
            .level()
            .relations
            .iter()
            .flat_map(crate::relation::level::Relation::slots)
            .collect();
        if reads_any(&value, |slot| slots.contains(&slot)) {
            let message = format!("argument of {name} must not contain variables");
            return Err(error(b"42P10", place, message));
        }
        self.slot_of(value, computed)
    }

    /// What is added to values of a type that order rows, in the form in which it is added.
    fn range_offset(&mut self, operand: Operand, of: DataType, place: Place) -> Result<Expr> {
        let wanted = match of {
            of if of.is_integer() => DataType::BigInt,
            DataType::Real | DataType::Double => DataType::Double,
            DataType::Date
            | DataType::Time(_)
            | DataType::Timestamp(_)
            | DataType::TimestampTz(_)
            | DataType::Interval => DataType::Interval,
            of if of.is_numeric() => of,
            _ => {
                let message = format!(
                    "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {of}"
                );
                return Err(error(b"0A000", place, message));
            }
        };
        let value = self.settle(operand, wanted, place)?;
        let given = self.scalar_type(&value, place)?;
        let is_exact = of.is_numeric();
        let fits = match wanted {
            DataType::Interval => given == DataType::Interval,
            DataType::BigInt => given.is_integer(),
            DataType::Double => given.is_number(),
            _ => given.is_numeric() || given.is_integer(),
        };
        if !fits {
            let message = format!(
                "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {of} and \
                 offset type {given}"
            );
            return Err(error(b"0A000", place, message)
                .hint("Cast the offset value to an appropriate type."));
        }
        Ok(match is_exact && given.is_integer() {
            true => cast(value, common_type(of, given).unwrap_or(of)),
            false if is_exact => value,
            false => cast(value, wanted),
        })
    }

    /// The operator of a window function.
    pub(super) fn windowed(&mut self, input: Plan, asked: AskedWindow) -> Result<Plan> {
        let (values, outputs): (Vec<_>, Vec<_>) = asked.computed.into_iter().unzip();
        let mut input = input;
        if !values.is_empty() {
            let scalars = self.scalars(&values)?;
            input = Plan::Compute { input: Box::new(input), scalars, outputs };
        }
        Ok(Plan::Window(Box::new(Window {
            input,
            partition: asked.partition,
            order: asked.order,
            frame: asked.frame,
            functions: vec![(asked.function, asked.output)],
        })))
    }
}
