//! Calls of people's own functions in queries.

use hotrow_base::types::{DataType, SqlType};
use hotrow_query::{Plan, Step, StepKind, Window, WindowFunction};
use hotrow_transaction::program::{Expr, Place, Procedure, ResultColumn, SlotId};
use sqlparser::ast;

use crate::call::{DefaultValue, default_value, other_count, places_given};
use crate::call_syntax::CallArgument;
use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::functions;
use crate::inline::{arguments_written, gives_a_value};
use crate::relation::from::Tree;
use crate::relation::level::{Bound, ExpandedBy, Expansion};
use crate::scope::Compiler;
use crate::type_table::known_type;
use crate::types::{TypeNames, data_type};
use crate::typing::{array_cast, cast, spread};
use crate::variadic::gathered;
use crate::written::{alias_of, argument_count};

use super::level::extended;

/// A registered procedure that a query calls.
pub(super) struct CallOf {
    /// its number among the procedures, or reads, of the query
    fetch: usize,
    arguments: Vec<Expr>,
    result: Vec<ResultColumn>,
    returns_set: bool,
    /// see [`gives_a_value`]
    is_value: bool,
}

impl Compiler<'_> {
    /// The value of a registered procedure; none: there is no such procedure.
    pub(crate) fn called(
        &mut self,
        name: &str,
        function: &ast::Function,
        place: Place,
    ) -> Result<Option<Expr>> {
        let written = arguments_written(function, place)
            .ok_or_else(|| unsupported(place, "this form of argument", "pass expressions"))?;
        let text = function.to_string();
        if let Some((_, slots)) = self.level().expansions.iter().find(|(of, _)| *of == text) {
            let slots = slots.clone();
            let called = self.routine_in_query(name, &written, place)?;
            return Ok(called.map(|called| self.row_called(&called.result, &slots)));
        }
        let Some(called) = self.call_of(name, &written, place)? else { return Ok(None) };
        if called.returns_set {
            return self.called_rows(called, text).map(Some);
        }
        if called.result.len() > 1 {
            return self.called_record(called).map(Some);
        }
        let CallOf { fetch, arguments, result, .. } = called;
        let gives = result.first().map_or(DataType::Text, |column| column.data_type);
        self.step(StepKind::Call { fetch }, &arguments, SqlType::Scalar(gives)).map(Some)
    }

    /// The rows that a registered procedure gives, in a select list.
    fn called_rows(&mut self, called: CallOf, text: String) -> Result<Expr> {
        let CallOf { fetch, arguments, result, .. } = called;
        let mut outputs = Vec::with_capacity(result.len());
        for column in &result {
            outputs.push(self.slot("$column", SqlType::Scalar(column.data_type))?);
        }
        let value = self.row_called(&result, &outputs);
        let level = self.level();
        level.expansions.push((text, outputs.clone()));
        let names = result.into_iter().map(|column| column.name).collect();
        let by = ExpandedBy::Call(fetch);
        level.expanding.push(Expansion { by, arguments, names, outputs, is_numbered: false });
        Ok(value)
    }

    /// One row of what a registered procedure gives: the value of its only column, or a row.
    fn row_called(&self, columns: &[ResultColumn], slots: &[SlotId]) -> Expr {
        match slots {
            [only] => spread(self.slot_expr(*only)),
            all => {
                let fields = all.iter().map(|slot| self.slot_expr(*slot)).collect();
                self.record_with(columns, fields)
            }
        }
    }

    /// The row that a registered procedure gives, as a value.
    fn called_record(&mut self, called: CallOf) -> Result<Expr> {
        let CallOf { fetch, arguments, result: columns, .. } = called;
        let arguments = self.scalars(&arguments)?;
        let mut outputs = Vec::with_capacity(columns.len());
        for column in &columns {
            outputs.push(self.slot("$field", SqlType::Scalar(column.data_type))?);
        }
        self.part()?;
        let fields = outputs.iter().map(|slot| self.slot_expr(*slot)).collect();
        self.level().steps.push(Step::new(arguments, StepKind::Call { fetch }, outputs));
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
        match self.routine_in_query(name, &written, place)? {
            Some(routine) if !routine.returns_set && !gives_a_value(&routine) => {}
            _ => return Ok(None),
        }
        let Some(called) = self.call_of(name, &written, place)? else { return Ok(None) };
        let CallOf { fetch, arguments, result: columns, .. } = called;
        if columns.is_empty() {
            return Ok(None);
        }
        self.part()?;
        let arguments = self.scalars(&arguments)?;
        let (mut outputs, mut fields) = (Vec::new(), Vec::new());
        for column in columns {
            let slot = self.slot("$field", SqlType::Scalar(column.data_type))?;
            outputs.push(slot);
            fields.push((column.name, spread(self.slot_expr(slot))));
        }
        self.level().steps.push(Step::new(arguments, StepKind::Call { fetch }, outputs));
        Ok(Some(fields))
    }

    /// A registered procedure as one of the query's, and its arguments; none: there is none.
    pub(super) fn call_of(
        &mut self,
        name: &str,
        given: &[CallArgument],
        place: Place,
    ) -> Result<Option<CallOf>> {
        let Some(called) = self.routine_in_query(name, given, place)? else { return Ok(None) };
        let procedure: &Procedure = &called;
        let written = &*gathered(procedure, given);
        let places = places_given(procedure, name, written, place)?;
        let mut values = Vec::new();
        for (at, given) in places.into_iter().enumerate() {
            let of = procedure.given()[at].sql_type;
            if let Some(given) = given {
                values.push(self.fixed_argument(&written[given].value, of, place)?);
                continue;
            }
            values.push(match default_value(procedure, at, place)? {
                Some(DefaultValue::Computed(value)) => value,
                Some(DefaultValue::Written(given)) => {
                    self.fixed_argument(&given.value, of, place)?
                }
                None => return Err(other_count(procedure, name, written.len(), place)),
            });
        }
        self.part()?;
        let fetch = if self.reads.is_some() {
            self.read_of_call(&called, place)?
        } else {
            self.need_call(procedure);
            self.fetches.push(procedure.clone());
            self.fetches.len() - 1
        };
        Ok(Some(CallOf {
            fetch,
            arguments: values,
            result: procedure.result.clone(),
            returns_set: procedure.returns_set,
            is_value: gives_a_value(procedure),
        }))
    }

    /// An argument of a function with fixed types.
    pub(super) fn fixed_argument(
        &mut self,
        written: &ast::Expr,
        to: SqlType,
        place: Place,
    ) -> Result<Expr> {
        let place = place_in(written, place);
        if let SqlType::Scalar(DataType::Composite(of)) = to.spread() {
            return self.composite_for(written, of, || "the parameter".to_owned());
        }
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
        called: CallOf,
        (name, alias): (&str, Option<&ast::TableAlias>),
        (before, ordinality): (usize, bool),
        place: Place,
    ) -> Result<Tree> {
        let CallOf { fetch, arguments, result: columns, is_value, .. } = called;
        if columns.is_empty() {
            let hint = format!("write SELECT {name}(...), or CALL");
            return Err(unsupported(place, "a function without a result in FROM", hint));
        }
        refuse_other_columns(alias, &columns, (self.type_names(), place))?;
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
        steps.push(Step::new(self.scalars(&arguments)?, kind, slots));
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

/// Fails where a query says other types of columns than a function gives:
/// `f() AS (a integer, b text)`.
fn refuse_other_columns(
    alias: Option<&ast::TableAlias>,
    columns: &[ResultColumn],
    (names, place): (TypeNames<'_>, Place),
) -> Result<()> {
    let written: Vec<_> = alias.map_or(&[][..], |alias| &alias.columns).iter().collect();
    let typed: Vec<_> = written.iter().filter_map(|column| column.data_type.as_ref()).collect();
    if typed.is_empty() {
        return Ok(());
    }
    let mismatch = |detail: String| {
        let message = "function return row and query-specified return row do not match";
        Err(error(b"42804", place, message).detail(detail))
    };
    if typed.len() != columns.len() {
        let (given, expected) = (columns.len(), typed.len());
        return mismatch(format!(
            "Returned row contains {given} attributes, but query expects {expected}."
        ));
    }
    for ((written, column), number) in typed.into_iter().zip(columns).zip(1..) {
        let wanted = data_type(written, names, place)?;
        if known_type(wanted).oid != known_type(column.data_type).oid {
            return mismatch(format!(
                "Returned type {} at ordinal position {number}, but query expects {wanted}.",
                column.data_type
            ));
        }
    }
    Ok(())
}
