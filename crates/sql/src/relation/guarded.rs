//! Parts of a query's expressions that are evaluated for a row only where those before them say so.
//!
//! Role         what an expression needs computed first (a call of a procedure, a subquery) are
//!              steps of its level, one after the other. Those of an arm of CASE, or of what stands
//!              behind OR and in COALESCE, get conditions: where one does not hold, the step is
//!              left out. In programs [`crate::lazy`] does that with IF
//! Invariants   I1 what decides is computed once, in a step of its own: it may be random
//!              I2 parts in which aggregates or window functions stand, and those of groups (in the
//!              list and HAVING of a query with GROUP BY, not what aggregates are of), are
//!              evaluated in any case: keys of groups are found in expressions, not in steps
//!              I3 AND in WHERE stays as it is, since its operands decide which rows are read at
//!              all; what stands behind it is asked of rows that the ones before let pass

use hotrow_query::{Step, StepKind, Test, When};
use hotrow_transaction::program::{CompareOp, Expr, ExprKind, Place};
use sqlparser::ast;

use crate::error::{Result, place_in};
use crate::operand::Arguments;
use crate::scope::Compiler;
use crate::typing::spread;

/// A part, and the steps that it alone needs.
pub(crate) struct GuardedPart<T> {
    pub(crate) value: T,
    steps: Vec<Step>,
    /// I2
    asks_groups: bool,
}

impl<T> GuardedPart<T> {
    /// Whether it matters whether it is evaluated. Subqueries may be once for all rows, which is
    /// better than for some.
    fn does_something(&self) -> bool {
        self.steps.iter().any(does_something)
    }

    /// The value, and the part without it.
    pub(crate) fn without_value(self) -> (T, GuardedPart<()>) {
        let Self { value, steps, asks_groups } = self;
        (value, GuardedPart { value: (), steps, asks_groups })
    }
}

impl GuardedPart<()> {
    /// The part with a value that was made of its own.
    pub(crate) fn with_value<T>(self, value: T) -> GuardedPart<T> {
        let Self { steps, asks_groups, .. } = self;
        GuardedPart { value, steps, asks_groups }
    }
}

impl Compiler<'_> {
    /// Compiles a part of an expression of a query, apart from what others need.
    pub(crate) fn compile_part<T>(
        &mut self,
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<GuardedPart<T>> {
        if self.levels.is_empty() {
            return Ok(GuardedPart {
                value: compile(self)?,
                steps: Vec::new(),
                asks_groups: false,
            });
        }
        let depth = self.levels.len();
        let asked = |this: &Self| {
            let level = &this.levels[depth - 1];
            let aggregates = level.aggregates.as_ref().map_or(0, |all| all.aggregates.len());
            (aggregates, level.windows.as_ref().map_or(0, Vec::len))
        };
        let (before, first) = (asked(self), self.level().steps.len());
        self.level().parts_around += 1;
        let compiled = compile(self);
        self.level().parts_around -= 1;
        let level = &self.levels[depth - 1];
        let is_of_groups = level.has_group_by && level.aggregates.is_some();
        let (value, asks_groups) = (compiled?, is_of_groups || asked(self) != before);
        let steps = &mut self.level().steps;
        let steps = steps.split_off(first.min(steps.len()));
        Ok(GuardedPart { value, steps, asks_groups })
    }

    /// Whether a part may be left out where AND decides (I3).
    pub(crate) fn stands_in_a_part(&self) -> bool {
        self.levels.last().is_some_and(|level| level.parts_around > 0)
    }

    /// Puts parts that follow one another back, each with the steps that it needs: all behind the
    /// first are evaluated where each before them came out so. Gives what they came to.
    pub(crate) fn put_in_turn(
        &mut self,
        parts: Vec<GuardedPart<Expr>>,
        goes_on: Test,
    ) -> Result<Vec<Expr>> {
        let is_lazy = parts.iter().skip(1).any(GuardedPart::does_something)
            && !parts.iter().any(|part| part.asks_groups);
        let mut whens = Vec::new();
        let mut values = Vec::with_capacity(parts.len());
        let last = parts.len().saturating_sub(1);
        for (at, GuardedPart { value, steps, .. }) in parts.into_iter().enumerate() {
            self.put(steps, &whens);
            if !is_lazy || at == last {
                values.push(value);
                continue;
            }
            let value = self.held_in_step(value, &whens)?;
            whens.extend(when(&value, goes_on));
            values.push(value);
        }
        Ok(values)
    }

    /// Puts the arms of a CASE back: conditions, values, and what stands behind ELSE. Gives what
    /// conditions and values came to.
    pub(crate) fn put_arms<T>(
        &mut self,
        arms: Vec<(GuardedPart<Expr>, GuardedPart<T>)>,
        otherwise: Option<GuardedPart<T>>,
    ) -> Result<(Vec<Expr>, Vec<T>)> {
        let values_ask = |part: &GuardedPart<T>| (part.does_something(), part.asks_groups);
        let asks = arms.iter().enumerate().flat_map(|(at, (condition, value))| {
            let first = at == 0;
            let condition = (!first && condition.does_something(), condition.asks_groups);
            [condition, values_ask(value)]
        });
        let asks = asks.chain(otherwise.iter().map(values_ask));
        let (has_steps, asks_groups) =
            asks.fold((false, false), |all, one| (all.0 || one.0, all.1 || one.1));
        let is_lazy = has_steps && !asks_groups;
        let (mut whens, mut conditions, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (condition, value) in arms {
            self.put(condition.steps, &whens);
            let mut condition = condition.value;
            let mut in_arm = whens.clone();
            if is_lazy {
                condition = self.held_in_step(condition, &whens)?;
                in_arm.extend(when(&condition, Test::True));
                whens.extend(when(&condition, Test::NotTrue));
            }
            self.put(value.steps, &in_arm);
            conditions.push(condition);
            values.push(value.value);
        }
        if let Some(otherwise) = otherwise {
            self.put(otherwise.steps, &whens);
            values.push(otherwise.value);
        }
        Ok((conditions, values))
    }

    /// As [`Compiler::case`], in a query: an arm's steps are left out for rows that it is not for.
    pub(crate) fn case_of_a_row(
        &mut self,
        operand: Option<&ast::Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&ast::Expr>,
        written: &ast::Expr,
    ) -> Result<Expr> {
        let mut arms = Vec::with_capacity(conditions.len());
        for arm in conditions {
            let when = self.compile_part(|this| match operand {
                None => this.condition(&arm.condition, "CASE/WHEN"),
                Some(operand) => this.comparison(operand, CompareOp::Equal, &arm.condition),
            })?;
            let value = self.compile_part(|this| this.operand(&arm.result))?;
            arms.push((when, value));
        }
        let last = match otherwise {
            Some(otherwise) => Some(self.compile_part(|this| this.operand(otherwise))?),
            None => None,
        };
        let (whens, values) = self.put_arms(arms, last)?;
        let places = conditions.iter().map(|arm| &arm.result).chain(otherwise);
        let places = places.map(|value| place_in(value, self.place)).collect::<Vec<_>>();
        let values = values.into_iter().zip(places).collect();
        self.case_of(whens, values, otherwise.is_some(), written)
    }

    /// As [`Compiler::coalesce`], in a query: what comes behind is computed for rows in which all
    /// before it are NULL.
    pub(crate) fn coalesce_of_a_row(
        &mut self,
        written: &[&ast::Expr],
        place: Place,
    ) -> Result<Expr> {
        let mut parts = Vec::with_capacity(written.len());
        for written in written {
            parts.push(self.compile_part(|this| this.operand(written))?);
        }
        let places = written.iter().map(|written| place_in(*written, self.place));
        let (places, mut arguments) = (places.collect::<Vec<_>>(), Arguments::new());
        let mut apart = Vec::with_capacity(parts.len());
        for (part, at) in parts.into_iter().zip(places) {
            let (value, rest) = part.without_value();
            arguments.push((value, at));
            apart.push(rest);
        }
        let (values, sql_type) = self.unified_or_arrays(arguments, "COALESCE", place)?;
        let parts = apart.into_iter().zip(values).map(|(part, value)| part.with_value(value));
        let values = self.put_in_turn(parts.collect(), Test::Null)?;
        Ok(Expr { kind: ExprKind::Coalesce(values), sql_type })
    }

    /// Operands of AND or OR, in a query.
    pub(crate) fn logic_of_a_row(
        &mut self,
        operands: Vec<&ast::Expr>,
        (is_or, name): (bool, &str),
    ) -> Result<Vec<Expr>> {
        let mut parts = Vec::with_capacity(operands.len());
        for operand in operands {
            parts.push(self.compile_part(|this| this.condition(operand, name))?);
        }
        self.put_in_turn(parts, if is_or { Test::NotTrue } else { Test::NotFalse })
    }

    fn put(&mut self, steps: Vec<Step>, whens: &[When]) {
        let Some(level) = self.levels.last_mut() else { return };
        level.steps.extend(steps.into_iter().map(|mut step| {
            step.whens.splice(..0, whens.iter().copied());
            step
        }));
    }

    /// A value that is computed in a step of its own (I1).
    fn held_in_step(&mut self, value: Expr, whens: &[When]) -> Result<Expr> {
        let arguments = self.scalars(std::slice::from_ref(&value))?;
        let slot = self.slot("$asked", value.sql_type)?;
        let step =
            Step { arguments, kind: StepKind::Value, outputs: vec![slot], whens: Vec::new() };
        self.put(vec![step], whens);
        Ok(spread(self.slot_expr(slot)))
    }
}

/// Whether a step, or one of its subqueries, calls what may do something.
fn does_something(step: &Step) -> bool {
    let mut does = step.is_volatile();
    step.walk(&mut |plan| does |= plan.steps().iter().any(does_something));
    does
}

/// That what is in a slot came out so.
fn when(value: &Expr, test: Test) -> Option<When> {
    match value.kind {
        ExprKind::Slot(slot) => Some(When { slot, test }),
        _ => None,
    }
}
