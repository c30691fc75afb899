//! Planning: from a call to its actions in a batch.
//!
//! Role         [`ActionPlanner::add`] runs the driver of a procedure, which records keys,
//!              granules and known values in the [`Batch`] ([`super::record`]), and puts the
//!              actions beside them that calls of such a shape are formed into ([`super::shape`],
//!              [`super::form`])
//! Invariants   of the actions of a call:
//!              I1 every dependency leads from a lower to a higher phase, and phases ascend with
//!                 the numbers of actions: no cycles
//!              I2 two actions with incompatible modes on one granule have different phases and
//!                 a path of dependencies from the one whose leaves come first
//!              I3 an action's leaves stand in program order, and their inputs come from leaves
//!                 before them: of the same action, or of actions it depends on
//!              I4 of several leaves that fail, the one first in program order fails as it would
//!                 have in the procedure; so the error a client sees does not depend on the order
//!                 in which actions ran

use super::batch::{Batch, Wanted, WhyWhole};
use super::conditions::Order;
use super::form::Former;
use super::program::ActionProgram;
use super::record::Recording;
use super::shape::{Forms, Shape};
use crate::access::RecordAccess;
use crate::frame::Frame;
use crate::interpret;
use crate::invocation::Invocation;
use crate::outcome::Stop;
use crate::plan::Plan;

/// Plans calls. Keeps its memory from call to call.
#[derive(Default, Debug)]
pub struct ActionPlanner {
    shape: Shape,
    forms: Forms,
    former: Former,
    order: Order,
}

impl ActionPlanner {
    /// Plans a call, and adds it to a batch. `access` serves the trial reads of reconnaissance.
    ///
    /// Expressions that fail while planning fail again in their leaf. When the driver spends the
    /// step budget, the call becomes one action with the granules found until then.
    ///
    /// # Errors
    ///
    /// As [`interpret::run`], but for errors of the call itself; the batch is as it was then.
    pub fn add<A: RecordAccess>(
        &mut self,
        batch: &mut Batch,
        wanted: Wanted,
        (program, invocation): (&ActionProgram, &Invocation),
        frame: &mut Frame,
        access: &mut A,
    ) -> Result<(), Stop> {
        if wanted == Wanted::Whole || program.uncut.is_some() {
            let why = match program.uncut {
                Some(_) => WhyWhole::Uncut,
                None => WhyWhole::Wanted,
            };
            return Self::add_whole(batch, why, (program, invocation), frame, access, |_| true)
                .map(|_| ());
        }
        let Self { shape, forms, former, order } = self;
        let begun = batch.begin();
        batch.plan.begin_call();
        frame.begin(&program.driver.program, invocation);
        let mut recording = Recording::begin(program, wanted, (&mut *batch, shape), frame);
        let driver = &program.driver.program;
        let why = match interpret::run(driver, 0, frame, access, &mut recording) {
            Ok(()) => None,
            Err(Stop::Error) => Some(WhyWhole::TooLong),
            Err(stop) => {
                batch.cut_back(&begun);
                return Err(stop);
            }
        };
        if let Some(why) = why {
            batch.put_whole(&begun, why);
            return Ok(());
        }
        let form = forms.of(shape, |form| {
            former.form(program, shape, form);
            form.is_late = wanted == Wanted::ConditionsFirst && !order.put_conditions_first(form);
            order.number_by_phase(form);
        });
        match form.is_late {
            true => batch.put_whole(&begun, WhyWhole::DecidesLate),
            false => batch.put(form, &begun),
        }
        Ok(())
    }

    /// Plans a call in one piece, and adds it to a batch as one action, if its plan, which stands
    /// behind those of the batch, `suits`; whether it did. The batch is as it was, if not.
    ///
    /// # Errors
    ///
    /// As [`ActionPlanner::add`].
    pub fn add_whole<A: RecordAccess>(
        batch: &mut Batch,
        why: WhyWhole,
        (program, invocation): (&ActionProgram, &Invocation),
        frame: &mut Frame,
        access: &mut A,
        suits: impl FnOnce(&Plan) -> bool,
    ) -> Result<bool, Stop> {
        let begun = batch.begin();
        batch.plan.begin_call();
        let planned = batch.plan.add(&program.whole.plan, invocation, frame, access, &());
        match planned {
            Ok(ended) if suits(&batch.plan) => {
                batch.put_planned(&begun, if ended { why } else { WhyWhole::TooLong });
                return Ok(true);
            }
            _ => batch.cut_back(&begun),
        }
        planned.map(|_| false)
    }
}
