//! Calls in procedures: the called procedure's statements stand in the place of its call.
//!
//! Role         PERFORM f(...), SELECT f(...) INTO, CALL p(...) and f(...) in expressions. What is
//!              called is compiled already; its statements are put right before the statement that
//!              calls it, so that planning, locks and actions see accesses like any others
//! Invariants   I1 a call is evaluated once, and only where PostgreSQL would evaluate it
//!              I2 what is called has FOUND and the row count to itself
//!              I3 no procedure stands in itself: what stands in a program is in
//!              [`Procedure::inlined`], and bounds hold for what they come to together. One that
//!              calls itself runs once more ([`crate::recursion`]), and those that call each other
//!              do ([`crate::circle`])

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::draw::Draw;
use hotrow_transaction::program::{
    Expr, ExprKind, FIRST_PARAMETER, FOUND, LabelId, Place, Procedure, ROW_COUNT, SlotId,
    Statement, StatementKind,
};
use hotrow_transaction::random::Randomness;
use hotrow_transaction::rename::Renaming;
use hotrow_transaction::walk;
use sqlparser::ast;

use crate::around::Meets;
use crate::call::{DefaultValue, default_value, other_count, places_given};
use crate::call_syntax::{CallArgument, CallSyntax, written_arguments};
use crate::called_function::called_function;
use crate::consume::Sink;
use crate::error::{Advice, Result, error, too_complex, unsupported};
use crate::fire_at_end::draws_of_call;
use crate::recursion::Called;
use crate::relation::array::assign_to;
use crate::scope::Compiler;
use crate::state::Given;
use crate::syntax::{Into, Target};
use crate::typing::{Coercion, bigint, cast, constant, spread};
use crate::variadic::gathered;
use crate::written::function_name;

/// Statements of called procedures in one program.
pub(crate) const STATEMENTS_MAX: usize = 10_000;
/// Statements one in the other, of a procedure that is called.
const DEPTH_MAX: usize = 400;

impl<'c> Compiler<'c> {
    /// The procedure that a name in a procedure stands for.
    pub(crate) fn called_procedure(
        &mut self,
        name: &str,
        written: &[CallArgument],
        place: Place,
    ) -> Result<Option<Called<'c>>> {
        if !self.is_procedure {
            return Ok(None);
        }
        let found = self.routine_meant(name, written, place)?;
        if let Some(running) = self.running_routine(found, name) {
            return Ok(Some(running));
        }
        if let Some(instance) = self.instance_of(found, (name, written), place)? {
            return Ok(Some(instance));
        }
        found.map(|found| self.within_here(found, place)).transpose()
    }

    /// `f(...)` in an expression; none: there is no such procedure.
    pub(crate) fn inlined_value(
        &mut self,
        function: &ast::Function,
        place: Place,
    ) -> Result<Option<Expr>> {
        let name = function_name(function);
        let written = arguments_written(function, place).unwrap_or_default();
        if !self.stands_alone() {
            return Ok(None); // the query calls it, for each row
        }
        let called = self.called_procedure(&name, &written, place)?;
        let Some(callee) = called else { return Ok(None) };
        if callee.returns_set || callee.result.len() > 1 {
            return self.called(&name, function, place);
        }
        self.inlined(&callee, function, place).map(|given| Some(only_value(&given)))
    }

    /// `f(...)` as a row; none: there is no such procedure, or it gives no row.
    pub(crate) fn inlined_row(
        &mut self,
        function: &ast::Function,
        place: Place,
    ) -> Result<Option<Given>> {
        let written = arguments_written(function, place).unwrap_or_default();
        match self.called_procedure(&function_name(function), &written, place)? {
            Some(callee) if !callee.returns_set && !gives_a_value(&callee) => {
                // Nothing around it keeps what operators compute, as there is around a value.
                self.alone(|this| this.inlined(&callee, function, place)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// A call in an expression: what it gives, which is computed once.
    fn inlined(
        &mut self,
        callee: &Called<'_>,
        function: &ast::Function,
        place: Place,
    ) -> Result<Given> {
        if let Some((_, given)) = self.calls.made.iter().find(|(at, _)| *at == place) {
            return Ok(given.clone());
        }
        let written = arguments_written(function, place)
            .ok_or_else(|| unsupported(place, "this form of argument", "pass expressions"))?;
        let given = self.computed_so_far(|this| this.inline(callee, &written, place))?;
        self.calls.made.push((place, given.clone()));
        Ok(given)
    }

    /// PERFORM and SELECT ... INTO of one call; false: it is none.
    pub(crate) fn select_of_call(
        &mut self,
        query: &ast::Query,
        into: Option<&Into>,
        out: &mut Vec<Statement>,
    ) -> Result<bool> {
        let Some(procedures) = self.procedures.filter(|_| self.is_procedure) else {
            return Ok(false);
        };
        let place = self.place;
        let own = self.calls.own.clone();
        let known = (&procedures, own.as_deref());
        let Some((name, written, _)) = called_function(query, known, &self.path, place) else {
            return Ok(false);
        };
        let called = self.called_procedure(&name, &written, place)?;
        let Some(callee) = called else { return Ok(false) };
        if callee.returns_set {
            return Ok(false);
        }
        let mut given = self.inline(&callee, &written, place)?;
        if into.is_some() {
            if given.is_empty() {
                given.push((name, constant(Value::Null, DataType::Text)));
            }
            if let Sink::Slots { slots, .. } = self.sink_of(into, &given)? {
                let pairs = self.fitted(&slots, &given)?;
                self.emit_assigns(out, pairs)?;
            }
        }
        if self.calls.mentions[0] {
            self.emit_assign(out, FOUND, constant(Value::Bool(true), DataType::Boolean));
        }
        if self.calls.mentions[1] {
            self.emit_assign(out, ROW_COUNT, bigint(1));
        }
        Ok(true)
    }

    /// CALL
    pub(crate) fn call_statement(
        &mut self,
        call: &CallSyntax,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let CallSyntax { name, arguments, place } = call;
        let (arguments, outs) = self.without_outs(name, arguments);
        let arguments = &*arguments;
        let Some(callee) = self.called_procedure(name, arguments, *place)? else {
            return Err(error(b"42883", *place, format!("procedure {name} does not exist"))
                .hint("CREATE PROCEDURE makes one, now or later"));
        };
        if callee.returns_set {
            let what = format!("CALL of {name}, which gives rows");
            return Err(unsupported(*place, what, "write its query here"));
        }
        let targets = self.targets_of_call(&callee, (arguments, &outs), *place)?;
        let given = self.inline(&callee, arguments, *place)?;
        for (target, (_, value)) in targets.into_iter().zip(given) {
            let slot = self.target_slot(&target)?;
            let to = self.slot_type(slot);
            let value = assign_to(value, to, target.place, || {
                format!("variable \"{}\"", target.parts.join("."))
            })?;
            self.emit_assign(out, slot, value);
            self.emit_checks_of_targets(out, std::slice::from_ref(&target))?;
        }
        Ok(())
    }

    /// The variables that take what a procedure's INOUT parameters come to, by result column.
    fn targets_of_call(
        &self,
        callee: &Procedure,
        (arguments, outs): (&[CallArgument], &[CallArgument]),
        place: Place,
    ) -> Result<Vec<Target>> {
        if gives_a_value(callee) {
            return Ok(Vec::new()); // which nobody takes
        }
        let arguments = &*gathered(callee, arguments);
        let given = places_given(callee, callee.shown_name(), arguments, place)?;
        let mut in_order = outs.iter().filter(|argument| argument.name.is_none());
        let mut target = |column: &hotrow_transaction::program::ResultColumn| {
            let is_it =
                |parameter: &hotrow_transaction::program::Slot| parameter.name == column.name;
            let is_named = |argument: &&CallArgument| argument.name.as_ref() == Some(&column.name);
            let argument = match callee.given().iter().position(is_it) {
                Some(at) => given[at].map(|at| &arguments[at]),
                None => outs.iter().find(is_named).or_else(|| in_order.next()),
            };
            let parts = argument.and_then(|argument| match &argument.value {
                ast::Expr::Identifier(ident) => Some(vec![ident.clone()]),
                ast::Expr::CompoundIdentifier(idents) => Some(idents.clone()),
                _ => None,
            });
            let Some(parts) = parts else {
                let message = format!(
                    "procedure parameter \"{}\" is an output parameter but corresponding argument \
                     is not writable",
                    column.name
                );
                let at = argument.map_or(place, |argument| argument.place);
                return Err(error(b"42601", at, message).hint("pass a variable"));
            };
            let place = argument.map_or(place, |argument| argument.place);
            Ok(Target { parts: crate::written::dotted(&parts), place })
        };
        callee.result.iter().map(&mut target).collect()
    }

    /// Puts the statements of a procedure right before the current statement.
    pub(crate) fn inline(
        &mut self,
        called: &Called<'_>,
        written: &[CallArgument],
        place: Place,
    ) -> Result<Given> {
        let callee = match called {
            Called::Itself(own) => return self.recur(own, written, place),
            Called::Around(of) => return self.call_around(of, written, place),
            Called::Other(callee) => callee,
            Called::Within(within) => &within.procedure,
            Called::Instance(of) => of,
        };
        self.check_inlined(callee, place)?;
        let outer = std::mem::replace(&mut self.place, place);
        let given = self.inline_here(called, callee, written);
        self.place = outer;
        given
    }

    /// As [`Compiler::inline`], where the call is the current place.
    fn inline_here(
        &mut self,
        called: &Called<'_>,
        callee: &Procedure,
        written: &[CallArgument],
    ) -> Result<Given> {
        let arguments = self.arguments_of(callee, written, self.place)?;
        if let Called::Within(within) = called {
            self.meet(within, self.place)?;
        }
        self.inline_with(callee, arguments, |this, body| this.take_returned(callee, body))
    }

    /// The statements of a procedure, with values for its parameters. `take` makes of them what is
    /// done with what it returns.
    pub(crate) fn inline_with<T>(
        &mut self,
        callee: &Procedure,
        arguments: Vec<Expr>,
        take: impl FnOnce(&mut Self, &mut Vec<Statement>) -> Result<T>,
    ) -> Result<T> {
        let place = self.place;
        let meets = std::mem::take(&mut self.calls.circle.meets);
        let is_hollow =
            callee.lacks.is_some() || callee.source.as_ref().is_some_and(|source| source.is_hollow);
        self.calls.circle.is_hollow |= is_hollow;
        self.need_call(callee);
        let mut body = callee.body_of_call();
        let slots = self.callee_slots((callee, &body), arguments, &meets)?;
        let renaming =
            Renaming { slots, first_label: self.labels, first_row_set: self.row_sets, place };
        let first_label = self.labels;
        self.labels = sum(self.labels, walk::labels(&body), place)?;
        self.row_sets = sum(self.row_sets, callee.row_sets, place)?;
        renaming.statements(&mut body);
        meets.settle(&mut body, first_label);
        let given = take(self, &mut body)?;
        self.keep_found(callee, body)?;
        let inlined = callee.inlined.iter().chain([&callee.name]);
        self.calls.inlined.extend(inlined.cloned());
        Ok(given)
    }

    /// Fails where a procedure cannot stand in another one, or where too much would (I3).
    pub(crate) fn check_inlined(&mut self, callee: &Procedure, place: Place) -> Result<()> {
        if callee.ends_transaction {
            let what = format!("a call of {}, which ends its transaction,", callee.shown_name());
            return Err(unsupported(place, what, "leave its COMMIT or ROLLBACK out"));
        }
        let mut count = 0;
        walk::statements(&callee.body, &mut |_| count += 1);
        self.calls.statements += count;
        if self.calls.statements > STATEMENTS_MAX || depth(&callee.body) > DEPTH_MAX {
            let message = format!(
                "what the procedure calls comes to more than {STATEMENTS_MAX} statements, or \
                 {DEPTH_MAX} one in the other"
            );
            return Err(too_complex(place, message)
                .hint("call it in fewer places: in a loop, or once behind an IF"));
        }
        Ok(())
    }

    /// The arguments, by parameter. Those that are variables, and that the procedure does not
    /// assign, stand for the parameter; others are assigned to it.
    pub(crate) fn arguments_of(
        &mut self,
        callee: &Procedure,
        written: &[CallArgument],
        place: Place,
    ) -> Result<Vec<Expr>> {
        let written = &*gathered(callee, written);
        let given = places_given(callee, callee.shown_name(), written, place)?;
        let mut values: Vec<Option<Expr>> = vec![None; given.len()];
        // Each is computed by itself, before the call.
        let (depth, levels) = (std::mem::take(&mut self.depth), std::mem::take(&mut self.levels));
        let computed: Result<()> = written.iter().enumerate().try_for_each(|(number, argument)| {
            if let Some(at) = given.iter().position(|of| *of == Some(number)) {
                values[at] = Some(self.argument_of(callee, at, argument)?);
            }
            Ok(())
        });
        let computed = computed.and_then(|()| {
            let left_out = values.iter_mut().enumerate().filter(|(_, value)| value.is_none());
            for (at, value) in left_out {
                *value = match default_value(callee, at, place)? {
                    Some(DefaultValue::Computed(value)) => Some(value),
                    Some(DefaultValue::Written(value)) => {
                        Some(self.argument_of(callee, at, &value)?)
                    }
                    None => None,
                };
            }
            Ok(())
        });
        (self.depth, self.levels) = (depth, levels);
        computed?;
        let refused = || other_count(callee, callee.shown_name(), written.len(), place);
        values.into_iter().map(|value| value.ok_or_else(refused)).collect()
    }

    /// An argument as the value of parameter number `at`.
    fn argument_of(
        &mut self,
        callee: &Procedure,
        at: usize,
        argument: &CallArgument,
    ) -> Result<Expr> {
        let parameter = &callee.given()[at];
        let named = || format!("parameter \"{}\" of {}", parameter.name, callee.shown_name());
        match parameter.sql_type {
            SqlType::Scalar(to) => self.value_for(&argument.value, to, Coercion::Assignment, named),
            SqlType::Array(element) => self.array_for(&argument.value, element, named),
        }
    }

    /// What the caller draws in place of the procedure that it calls: a seed of its own at each
    /// place and turn.
    fn drawn_for(&mut self, callee: &Procedure, draw: &Draw) -> Result<Expr> {
        let name = callee.shown_name();
        match draw {
            Draw::Number(sequence) => {
                let what = || format!("a call of {name}, which draws a number of a sequence,");
                self.next_number(*sequence, self.place, what)
            }
            Draw::Seed => self.random(Randomness::Uuid),
            Draw::AnyNumbers => {
                let slot = self.shared_parameter(Draw::AnyNumbers)?;
                Ok(self.slot_expr(slot))
            }
            Draw::Session(of) => {
                let of = of.by(&self.runs_as);
                let slot = self.shared_parameter(Draw::Session(of))?;
                Ok(self.slot_expr(slot))
            }
            Draw::Numbers(_) => {
                let what =
                    format!("a call of {name}, which draws numbers of a sequence in a loop,");
                Err(unsupported(self.place, what, "write its loop here"))
            }
        }
    }

    /// What the procedure's slots are here. Parameters that are not variables of the caller's are
    /// assigned right before, and variables have no value, as at the begin of every call.
    fn callee_slots(
        &mut self,
        (callee, body): (&Procedure, &[Statement]),
        arguments: Vec<Expr>,
        meets: &Meets,
    ) -> Result<Vec<SlotId>> {
        let mut slots: Vec<SlotId> = (0..FIRST_PARAMETER).map(SlotId).collect();
        let mut assigned = vec![false; callee.slots.len()];
        walk::statements(&callee.body, &mut |statement| {
            walk::defines(statement, &mut |slot| assigned[slot.index()] = true);
        });
        let first = usize::from(FIRST_PARAMETER);
        let later = self.later_of_callee(callee)?;
        for (slot, at) in callee.slots[first..].iter().zip(first..) {
            let shared = later.iter().find(|(there, _)| there.index() == at);
            if let Some(here) = meets.slot(at).or(shared.map(|(_, here)| *here)) {
                slots.push(here);
                continue;
            }
            let name = match slot.name.starts_with('$') {
                true => slot.name.clone(),
                false => format!("{}.{}", callee.shown_name(), slot.name),
            };
            slots.push(self.slot(&name, slot.sql_type)?);
        }
        let mut before = Vec::new();
        let parameters = arguments.len();
        for (at, value) in (first..).zip(arguments) {
            match value.kind {
                ExprKind::Slot(slot)
                    if !assigned[at]
                        && value.sql_type == callee.slots[at].sql_type
                        && slot.0 >= FIRST_PARAMETER =>
                {
                    slots[at] = slot;
                }
                _ => self.emit_assign(&mut before, slots[at], value),
            }
        }
        let drawn_here = draws_of_call(callee, body);
        for (at, draw) in (first + parameters..).zip(&callee.draws) {
            if drawn_here.as_ref().is_some_and(|used| !used.contains(&SlotId(at as u16))) {
                continue;
            }
            let value = self.drawn_for(callee, draw)?;
            self.emit_assign(&mut before, slots[at], value);
        }
        if self.loops > 0 {
            let locals = (first + usize::from(callee.parameters)..callee.slots.len())
                .filter(|at| !callee.slots[*at].name.starts_with('$'));
            let locals: Vec<_> = locals.map(|at| slots[at]).collect();
            self.emit_nulls(&mut before, &locals);
        }
        self.before.append(&mut before);
        Ok(slots)
    }

    /// Has RETURN put its values into slots of their own, and leave the statements.
    pub(crate) fn take_returned(
        &mut self,
        callee: &Procedure,
        body: &mut Vec<Statement>,
    ) -> Result<Given> {
        let mut given = Given::new();
        let mut slots = Vec::new();
        for column in &callee.result {
            let slot = self.temporary(&format!("{}()", callee.shown_name()), column.data_type)?;
            given.push((column.name.clone(), spread(self.slot_expr(slot))));
            slots.push((slot, column.data_type));
        }
        self.leave_at_return(body, &slots)?;
        Ok(given)
    }

    /// Has RETURN put its values into these slots, and leave the statements.
    pub(crate) fn leave_at_return(
        &mut self,
        body: &mut Vec<Statement>,
        slots: &[(SlotId, DataType)],
    ) -> Result<()> {
        let exit = self.new_label()?;
        self.replace_returns(body, exit, slots);
        let leaves = |last: &Statement| matches!(last.kind, StatementKind::Leave(at) if at == exit);
        body.pop_if(|last| leaves(last));
        if walk::is_left(exit, body) {
            let inner = std::mem::take(body);
            let mut whole = Vec::new();
            self.emit_in_block(&mut whole, Some(exit), |_, out| out.extend(inner));
            *body = whole;
        }
        Ok(())
    }

    pub(crate) fn replace_returns(
        &self,
        block: &mut Vec<Statement>,
        exit: LabelId,
        results: &[(SlotId, DataType)],
    ) {
        for mut statement in std::mem::take(block) {
            if let StatementKind::Return(values) = statement.kind {
                for (&(slot, of), value) in results.iter().zip(values) {
                    let value = if value.data_type() == of { value } else { cast(value, of) };
                    self.emit_assign(block, slot, value);
                }
                self.emit(block, StatementKind::Leave(exit));
                return; // nothing behind it is reached
            }
            for inner in walk::blocks_mut(&mut statement) {
                self.replace_returns(inner, exit, results);
            }
            block.push(statement);
        }
    }

    /// Puts the statements in front, with FOUND and the row count as they were afterwards (I2).
    fn keep_found(&mut self, callee: &Procedure, body: Vec<Statement>) -> Result<()> {
        let (mut defines, mut uses) = (Vec::new(), Vec::new());
        walk::statements(&callee.body, &mut |statement| {
            walk::defines(statement, &mut |slot| defines.push(slot));
            walk::uses(statement, &mut |slot| uses.push(slot));
        });
        let none = [constant(Value::Bool(false), DataType::Boolean), bigint(0)];
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        for ((slot, none), is_mentioned) in
            [FOUND, ROW_COUNT].into_iter().zip(none).zip(self.calls.mentions)
        {
            let is_read = uses.contains(&slot);
            if is_mentioned && (is_read || defines.contains(&slot)) {
                let kept = self.temporary("kept", none.data_type())?;
                let (old, back) = (self.slot_expr(slot), self.slot_expr(kept));
                self.emit_assign(&mut before, kept, old);
                self.emit_assign(&mut behind, slot, back);
            }
            if is_read {
                self.emit_assign(&mut before, slot, none);
            }
        }
        self.before.append(&mut before);
        self.before.extend(body);
        self.before.append(&mut behind);
        Ok(())
    }
}

/// Whether a procedure returns one value, and no fields: what a function returns is named as the
/// function is.
pub(crate) fn gives_a_value(callee: &Procedure) -> bool {
    matches!(callee.result.as_slice(), [only] if only.name == callee.shown_name())
}

/// The value of a call in an expression; one that returns nothing is NULL.
fn only_value(given: &Given) -> Expr {
    match given.as_slice() {
        [(_, value), ..] => value.clone(),
        [] => constant(Value::Null, DataType::Text),
    }
}

/// How many statements stand one in the other. Trees are as deep as [`DEPTH_MAX`] and what one
/// text may nest come to.
fn depth(body: &[Statement]) -> usize {
    let inner = body.iter().flat_map(walk::blocks).map(depth).max();
    inner.map_or(0, |inner| inner + 1)
}

fn sum(a: u16, b: u16, place: Place) -> Result<u16> {
    a.checked_add(b).ok_or_else(|| {
        too_complex(place, "the procedure and what it calls have too many loops")
            .hint("call it in fewer places")
    })
}

/// The arguments of a call; none where one is no expression.
pub(crate) fn arguments_written(
    function: &ast::Function,
    place: Place,
) -> Option<Vec<CallArgument>> {
    match &function.args {
        ast::FunctionArguments::List(list) => written_arguments(&list.args, place),
        ast::FunctionArguments::None => Some(Vec::new()),
        ast::FunctionArguments::Subquery(_) => None,
    }
}
