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
use hotrow_transaction::program::{Expr, ExprKind, Place, SlotId};
use sqlparser::ast;

use crate::error::Result;
use crate::operand::{Arguments, WrittenCase};
use crate::scope::Compiler;
use crate::typing::spread;

/// A part, and what it alone needs.
type Part<T> = (T, Needed);

/// The steps that a part alone needs.
struct Needed {
    steps: Vec<Step>,
    /// I2
    asks_groups: bool,
}

impl Needed {
    /// Whether it matters whether the part is evaluated. Subqueries may be once for all rows, which
    /// is better than for some.
    fn does_something(&self) -> bool {
        self.steps.iter().any(does_something)
    }
}

impl Compiler<'_> {
    /// Compiles a part of an expression of a query, apart from what others need.
    fn compile_part<T>(&mut self, compile: impl FnOnce(&mut Self) -> Result<T>) -> Result<Part<T>> {
        let asked = |this: &mut Self| {
            let level = this.level();
            let aggregates = level.aggregates.as_ref().map_or(0, |all| all.aggregates.len());
            (aggregates, level.windows.as_ref().map_or(0, Vec::len))
        };
        let (before, first) = (asked(self), self.level().steps.len());
        self.level().parts_around += 1;
        let compiled = compile(self);
        self.level().parts_around -= 1;
        let asks_more = asked(self) != before;
        let level = self.level();
        let is_of_groups = level.has_group_by && level.aggregates.is_some();
        let steps = level.steps.split_off(first);
        Ok((compiled?, Needed { steps, asks_groups: is_of_groups || asks_more }))
    }

    /// Whether a part may be left out where AND decides (I3).
    pub(crate) fn stands_in_a_part(&self) -> bool {
        self.levels.last().is_some_and(|level| level.parts_around > 0)
    }

    /// Puts parts that follow one another back, each with the steps that it needs: all behind the
    /// first are evaluated where each before them came out so. Gives what they came to.
    fn put_in_turn(&mut self, parts: Vec<Part<Expr>>, goes_on: Test) -> Result<Vec<Expr>> {
        let is_lazy = may_be_left_out(parts.iter().map(|(_, needed)| needed));
        let mut whens = Vec::new();
        let mut values = Vec::with_capacity(parts.len());
        let last = parts.len().saturating_sub(1);
        for (at, (mut value, needed)) in parts.into_iter().enumerate() {
            self.put(needed, &whens);
            if is_lazy && at < last {
                let slot = self.hold_in_step(&mut value, &whens)?;
                whens.push(When { slot, test: goes_on });
            }
            values.push(value);
        }
        Ok(values)
    }

    /// Puts the arms of a CASE back: conditions, values, and what stands behind ELSE. Gives what
    /// conditions and values came to.
    fn put_arms<T>(
        &mut self,
        arms: Vec<(Part<Expr>, Part<T>)>,
        otherwise: Option<Part<T>>,
    ) -> Result<(Vec<Expr>, Vec<T>)> {
        let of_arms = arms.iter().flat_map(|((_, condition), (_, value))| [condition, value]);
        let of_otherwise = otherwise.iter().map(|(_, needed)| needed);
        let is_lazy = may_be_left_out(of_arms.chain(of_otherwise));
        let (mut whens, mut conditions, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for ((mut condition, asked), (value, given)) in arms {
            self.put(asked, &whens);
            let mut in_arm = whens.clone();
            if is_lazy {
                let slot = self.hold_in_step(&mut condition, &whens)?;
                in_arm.push(When { slot, test: Test::True });
                whens.push(When { slot, test: Test::NotTrue });
            }
            self.put(given, &in_arm);
            conditions.push(condition);
            values.push(value);
        }
        if let Some((value, given)) = otherwise {
            self.put(given, &whens);
            values.push(value);
        }
        Ok((conditions, values))
    }

    /// As [`Compiler::case`], in a query: an arm's steps are left out for rows that it is not for.
    pub(crate) fn case_of_a_row(&mut self, case: &WrittenCase<'_>) -> Result<Expr> {
        let mut arms = Vec::with_capacity(case.arms.len());
        for arm in case.arms {
            let when = self.compile_part(|this| this.condition_of_arm(case, arm))?;
            let value = self.compile_part(|this| this.placed_operand(&arm.result))?;
            arms.push((when, value));
        }
        let last = case.otherwise.map(|of| self.compile_part(|this| this.placed_operand(of)));
        let (whens, values) = self.put_arms(arms, last.transpose()?)?;
        self.case_of(case, whens, values)
    }

    /// As [`Compiler::coalesce`], in a query: what comes behind is computed for rows in which all
    /// before it are NULL.
    pub(crate) fn coalesce_of_a_row(
        &mut self,
        written: &[&ast::Expr],
        place: Place,
    ) -> Result<Expr> {
        let (mut arguments, mut all_needed) = (Arguments::new(), Vec::with_capacity(written.len()));
        for written in written {
            let (value, needed) = self.compile_part(|this| this.placed_operand(written))?;
            arguments.push(value);
            all_needed.push(needed);
        }
        let (values, sql_type) = self.unified_or_arrays(arguments, "COALESCE", place)?;
        let parts = values.into_iter().zip(all_needed).collect();
        let values = self.put_in_turn(parts, Test::Null)?;
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

    fn put(&mut self, needed: Needed, whens: &[When]) {
        self.level().steps.extend(needed.steps.into_iter().map(|mut step| {
            step.whens.splice(..0, whens.iter().copied());
            step
        }));
    }

    /// Has a value be computed in a step of its own (I1); its slot.
    fn hold_in_step(&mut self, value: &mut Expr, whens: &[When]) -> Result<SlotId> {
        let of = std::slice::from_ref(&*value);
        let slot = self.slot_of_step(StepKind::Value, of, value.sql_type)?;
        if let Some(step) = self.level().steps.last_mut() {
            step.whens = whens.to_vec();
        }
        *value = spread(self.slot_expr(slot));
        Ok(slot)
    }
}

/// Whether some of these parts are to be left out for some rows: the first one never is.
fn may_be_left_out<'n>(parts: impl Iterator<Item = &'n Needed> + Clone) -> bool {
    !parts.clone().any(|part| part.asks_groups) && parts.skip(1).any(Needed::does_something)
}

/// Whether a step, or one of its subqueries, calls what may do something.
fn does_something(step: &Step) -> bool {
    let mut does = step.is_volatile();
    step.walk(&mut |plan| does |= plan.steps().iter().any(does_something));
    does
}
