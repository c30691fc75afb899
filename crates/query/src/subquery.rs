//! Steps: what programs do not compute of a row.

use std::ops::ControlFlow;

use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::SlotId;

use crate::functions::HostFunction;
use crate::memory::{Kept, bytes_of_key, bytes_of_value};
use crate::order::{holds, key_of};
use crate::plan::{Plan, Step, StepKind, SubqueryKind, Test};
use crate::scalars::{From, Reader};
use crate::{Fetched, Flow, Ground, MORE, Row, Runner, Take, place};

/// The column of a subquery's rows.
pub(crate) type Known = std::rc::Rc<[Value]>;

/// Different values of the rows around for which a subquery's rows are kept.
const KNOWN_MAX: usize = 10_000;
/// The part of a query's memory that they may take: one of so many.
const MEMO_SHARE: usize = 8;

/// A step, and where in rows of a layout its inputs are.
pub(crate) struct Stepper<'q> {
    step: &'q Step,
    reader: Reader<'q>,
    whens: Vec<(From, Test)>,
    layout: Vec<SlotId>,
}

impl<'q> Stepper<'q> {
    pub(crate) fn new(step: &'q Step, layout: &[SlotId]) -> Self {
        let reader = Reader::new(&step.arguments, layout);
        let whens = step.whens.iter().map(|when| (From::of(when.slot, layout), when.test));
        Self { step, reader, whens: whens.collect(), layout: layout.to_vec() }
    }
}

impl<'g, G: Ground> Runner<'g, G> {
    /// Gives a row with what a step adds to it on; a step that gives rows gives one for each.
    pub(crate) fn extended(
        &mut self,
        mut row: Row,
        Stepper { step, reader, whens, layout }: &Stepper<'_>,
        take: Take<'_, 'g, G>,
    ) -> Flow<G::Error> {
        self.tick()?;
        let holds =
            |(from, test): &(From, Test)| test.holds(from.value(&row, &self.calculator.around));
        if !whens.iter().all(holds) {
            row.extend(step.outputs.iter().map(|_| Value::Null));
            return take(self, row);
        }
        let arguments = self.calculator.values(reader, &row)?;
        match &step.kind {
            StepKind::Value => {
                row.extend(arguments);
                take(self, row)
            }
            StepKind::Function(HostFunction::System(function)) => {
                row.push(self.ground.system_function(*function, &arguments)?);
                take(self, row)
            }
            StepKind::Function(HostFunction::Random(what)) => {
                self.drawn += 1;
                row.push(crate::host::random(*what, &arguments, self.drawn));
                take(self, row)
            }
            StepKind::Function(function) => {
                row.push(crate::host::value(*function, &arguments)?);
                take(self, row)
            }
            StepKind::Call { fetch } => {
                let Fetched { values, .. } = self.ground.fetch(*fetch, &arguments)?;
                let mut values = values.into_iter();
                row.extend(step.outputs.iter().map(|_| values.next().unwrap_or_default()));
                take(self, row)
            }
            StepKind::CallRows { fetch } => {
                let Fetched { values, charge: _charge } = self.ground.fetch(*fetch, &arguments)?;
                let own = values.chunks(step.outputs.len());
                self.give(own.map(|own| [&*row, own].concat()), take)
            }
            StepKind::Expand(all) => {
                let mut given = arguments.as_slice();
                let mut expanded = self.limits.held();
                let mut sides = Vec::with_capacity(all.len());
                for one in all {
                    let (own, rest) = given.split_at(one.arguments);
                    expanded.add(own.iter().map(bytes_of_value).sum())?;
                    sides.push((crate::host::rows(one.function, own)?, one.columns));
                    given = rest;
                }
                for number in 1.. {
                    self.tick_row(&row)?;
                    let mut next = Row::with_capacity(row.len() + step.outputs.len());
                    next.extend_from_slice(&row);
                    let mut is_there = false;
                    for (side, columns) in &mut sides {
                        match side.next() {
                            Some(values) => {
                                is_there = true;
                                next.extend(values);
                            }
                            None => next.extend(std::iter::repeat_n(Value::Null, *columns)),
                        }
                    }
                    if !is_there {
                        break;
                    }
                    // WITH ORDINALITY
                    if next.len() < layout.len() + step.outputs.len() {
                        next.push(Value::BigInt(number));
                    }
                    if take(self, next)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Ok(MORE)
            }
            StepKind::Subquery { plan, kind, column, inputs } => {
                // More rows would tell no more: two of a scalar are one too many.
                let most = match kind {
                    SubqueryKind::Exists => 1,
                    SubqueryKind::Scalar => 2,
                    _ => usize::MAX,
                };
                let values = self.subquery((plan, *column, most), inputs, layout, &row)?;
                self.work(values.len() / 16)?;
                row.push(made_of(*kind, &values, arguments.first())?);
                take(self, row)
            }
        }
    }

    /// A row with what a step that gives one value adds to it.
    pub(crate) fn extended_one(
        &mut self,
        row: Row,
        stepper: &Stepper<'_>,
    ) -> Result<Row, G::Error> {
        let mut given = Row::new();
        let _ = self.extended(row, stepper, &mut |_, row| {
            given = row;
            Ok(MORE)
        })?;
        Ok(given)
    }

    /// The column of a subquery's first rows, for a row around it.
    fn subquery(
        &mut self,
        (plan, column, most): (&Plan, SlotId, usize),
        inputs: &[SlotId],
        layout: &[SlotId],
        row: &[Value],
    ) -> Result<Known, G::Error> {
        for slot in inputs {
            if let Ok(at) = place(layout, *slot) {
                self.calculator.around[slot.index()].clone_from(&row[at]);
            }
        }
        let around = inputs.iter().map(|slot| &self.calculator.around[slot.index()]);
        let key = key_of(around);
        let address = std::ptr::from_ref(plan);
        if let Some(known) = self.known.get(&address).and_then(|known| known.get(&key)) {
            return Ok(known.clone());
        }
        let Kept { rows, held } = self.first_columns(plan, &[column], most)?;
        let values: Known = rows.into_iter().flatten().collect();
        let known = self.known.entry(address).or_default();
        let bytes = held.bytes() + bytes_of_key(&key);
        // What there is no room for is computed again: only a part of the room is for this.
        let has_room = self.memo.bytes() + bytes <= self.limits.bytes_max / MEMO_SHARE;
        if known.len() < KNOWN_MAX && has_room && self.memo.add(bytes).is_ok() {
            known.insert(key, values.clone());
        }
        Ok(values)
    }
}

fn made_of(kind: SubqueryKind, values: &[Value], left: Option<&Value>) -> Result<Value, SqlError> {
    let left = left.unwrap_or(&Value::Null);
    Ok(match kind {
        SubqueryKind::Exists => Value::Bool(!values.is_empty()),
        SubqueryKind::Array => Value::Array(values.to_vec()),
        SubqueryKind::Nested => Value::nested(values)?,
        SubqueryKind::Scalar => match values {
            [] => Value::Null,
            [value] => value.clone(),
            _ => {
                let message = "more than one row returned by a subquery used as an expression";
                return Err(SqlError::new(b"21000", message));
            }
        },
        SubqueryKind::Any(op) => {
            let mut unknown = false;
            for value in values {
                match holds(op, left, value) {
                    Some(true) => return Ok(Value::Bool(true)),
                    Some(false) => {}
                    None => unknown = true,
                }
            }
            if unknown { Value::Null } else { Value::Bool(false) }
        }
        SubqueryKind::All(op) => {
            let mut unknown = false;
            for value in values {
                match holds(op, left, value) {
                    Some(false) => return Ok(Value::Bool(false)),
                    Some(true) => {}
                    None => unknown = true,
                }
            }
            if unknown { Value::Null } else { Value::Bool(true) }
        }
    })
}
