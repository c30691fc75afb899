//! Calls of people's own functions in queries.

use hotrow_base::types::{DataType, SqlType};
use hotrow_query::{Plan, Step, StepKind, Window, WindowFunction};
use hotrow_transaction::program::{Expr, Place};
use sqlparser::ast;

use crate::call::{default_value, other_count, places_given};
use crate::call_syntax::CallArgument;
use crate::error::{Result, place_in, unsupported};
use crate::function::argument_count;
use crate::functions;
use crate::inline::{arguments_written, gives_a_value};
use crate::relation::from::Tree;
use crate::relation::level::Bound;
use crate::scope::Compiler;
use crate::typing::{array_cast, cast, spread};
use crate::variadic::gathered;
use crate::written::alias_of;

use super::level::extended;

impl Compiler<'_> {
    /// The value of a registered procedure; none: there is no such procedure.
    pub(super) fn called(
        &mut self,
        name: &str,
        function: &ast::Function,
        place: Place,
    ) -> Result<Option<Expr>> {
        let written = arguments_written(function, place)
            .ok_or_else(|| unsupported(place, "this form of argument", "pass expressions"))?;
        let Some((fetch, values)) = self.call_of(name, &written, place)? else { return Ok(None) };
        let called = &self.fetches[fetch];
        if !called.returns_set && called.result.len() > 1 {
            return self.called_record(fetch, &values).map(Some);
        }
        if called.returns_set {
            let hint = format!("write SELECT ... FROM {name}(...)");
            return Err(unsupported(place, "a function that gives rows here", hint));
        }
        let gives = called.result.first().map_or(DataType::Text, |column| column.data_type);
        self.step(StepKind::Call { fetch }, &values, SqlType::Scalar(gives)).map(Some)
    }

    /// The row that a registered procedure gives, as a value.
    fn called_record(&mut self, fetch: usize, values: &[Expr]) -> Result<Expr> {
        let columns = self.fetches[fetch].result.clone();
        let arguments = self.scalars(values)?;
        let mut outputs = Vec::with_capacity(columns.len());
        for column in &columns {
            outputs.push(self.slot("$field", SqlType::Scalar(column.data_type))?);
        }
        self.part()?;
        let fields = outputs.iter().map(|slot| self.slot_expr(*slot)).collect();
        self.level().steps.push(Step { arguments, kind: StepKind::Call { fetch }, outputs });
        Ok(self.record_with(&columns, fields))
    }

    /// The fields of the row that a registered procedure gives; none: it gives a value, or rows, or
    /// there is no such procedure.
    pub(crate) fn called_fields(
        &mut self,
        name: &str,
        function: &ast::Function,
        place: Place,
    ) -> Result<Option<Vec<(String, Expr)>>> {
        if functions::with_count(name, argument_count(function)).is_some() {
            return Ok(None);
        }
        let Some(written) = arguments_written(function, place) else { return Ok(None) };
        match self.routine_meant(name, &written, place)? {
            Some(routine) if !routine.returns_set && !gives_a_value(routine) => {}
            _ => return Ok(None),
        }
        let Some((fetch, values)) = self.call_of(name, &written, place)? else { return Ok(None) };
        let columns = self.fetches[fetch].result.clone();
        if columns.is_empty() {
            return Ok(None);
        }
        self.part()?;
        let arguments = self.scalars(&values)?;
        let (mut outputs, mut fields) = (Vec::new(), Vec::new());
        for column in columns {
            let slot = self.slot("$field", SqlType::Scalar(column.data_type))?;
            outputs.push(slot);
            fields.push((column.name, spread(self.slot_expr(slot))));
        }
        self.level().steps.push(Step { arguments, kind: StepKind::Call { fetch }, outputs });
        Ok(Some(fields))
    }

    /// A registered procedure as one of the query's, and its arguments; none: there is none.
    pub(super) fn call_of(
        &mut self,
        name: &str,
        given: &[CallArgument],
        place: Place,
    ) -> Result<Option<(usize, Vec<Expr>)>> {
        let Some(procedure) = self.routine_meant(name, given, place)? else { return Ok(None) };
        let written = &*gathered(procedure, given);
        let places = places_given(procedure, name, written, place)?;
        let mut values = Vec::new();
        for (at, given) in places.into_iter().enumerate() {
            let of = procedure.given()[at].sql_type;
            if let Some(given) = given {
                values.push(self.fixed_argument(&written[given].value, of, place)?);
                continue;
            }
            let default = default_value(procedure, at);
            values.push(default.ok_or_else(|| other_count(procedure, name, written.len(), place))?);
        }
        if self.reads.is_some() {
            let what = format!("a call of {name} in a query of a procedure");
            return Err(unsupported(place, what, "assign it to a variable before, and use that"));
        }
        self.need_call(procedure);
        self.part()?;
        self.fetches.push(procedure.clone());
        Ok(Some((self.fetches.len() - 1, values)))
    }

    /// An argument of a function with fixed types.
    pub(super) fn fixed_argument(
        &mut self,
        written: &ast::Expr,
        to: SqlType,
        place: Place,
    ) -> Result<Expr> {
        let place = place_in(written, place);
        let operand = self.operand(written)?;
        let expr = match to.spread() {
            SqlType::Array(element) => self.array_value(operand, element, place)?,
            SqlType::Scalar(to) => self.settle(operand, to, place)?,
        };
        Ok(match (expr.sql_type, to.spread()) {
            (SqlType::Scalar(_), SqlType::Scalar(to)) => cast(expr, to),
            (SqlType::Array(_), SqlType::Array(to)) => array_cast(expr, to),
            _ => expr,
        })
    }
}

impl Compiler<'_> {
    /// A registered procedure in FROM.
    pub(super) fn bind_call(
        &mut self,
        (fetch, arguments): (usize, &[Expr]),
        (name, alias): (&str, Option<&ast::TableAlias>),
        (before, ordinality): (usize, bool),
        place: Place,
    ) -> Result<Tree> {
        let columns = self.fetches[fetch].result.clone();
        if columns.is_empty() {
            let hint = format!("write SELECT {name}(...), or CALL");
            return Err(unsupported(place, "a function without a result in FROM", hint));
        }
        let is_value = gives_a_value(&self.fetches[fetch]);
        let (shown, aliases) = alias_of(alias, name);
        let mut outputs = Vec::new();
        for column in &columns {
            let slot = self.temporary(&column.name, column.data_type)?;
            let is_only = columns.len() == 1 && alias.is_some() && column.name == name;
            outputs.push((if is_only { shown.clone() } else { column.name.clone() }, slot));
        }
        let mut steps = self.level().steps.split_off(before);
        let slots = outputs.iter().map(|(_, slot)| *slot).collect();
        let kind = StepKind::CallRows { fetch };
        steps.push(Step { arguments: self.scalars(arguments)?, kind, outputs: slots });
        let mut plan = extended(Plan::One, steps);
        if ordinality {
            let number = self.temporary("ordinality", DataType::BigInt)?;
            plan = Plan::Window(Box::new(Window {
                input: plan,
                partition: Vec::new(),
                order: Vec::new(),
                frame: None,
                functions: vec![(WindowFunction::RowNumber, number)],
            }));
            outputs.push(("ordinality".to_owned(), number));
        }
        let is_value = is_value && outputs.len() == 1;
        let mut relation = self.planned(shown, &aliases, Bound { plan, outputs }, place)?;
        relation.is_value = is_value;
        self.enter(relation, place)
    }
}
