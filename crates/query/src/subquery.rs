//! Steps: what programs do not compute of a row.

use hotrow_base::value::Value;
use hotrow_sql::{HostFunction, Plan, Step, StepKind, SubqueryKind};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::SlotId;

use crate::order::{holds, key_of};
use crate::scalars::Reader;
use crate::{Ground, Row, Runner, place};

/// The column of a subquery's rows.
pub(crate) type Known = std::rc::Rc<[Value]>;

/// Different values of the rows around for which a subquery's rows are kept.
const KNOWN_MAX: usize = 10_000;

impl<G: Ground> Runner<'_, G> {
    /// Rows with what a step gives.
    pub(crate) fn extended(
        &mut self,
        rows: Vec<Row>,
        layout: &[SlotId],
        step: &Step,
    ) -> Result<Vec<Row>, G::Error> {
        let reader = Reader::new(&step.arguments, layout);
        let mut extended = Vec::with_capacity(rows.len());
        for mut row in rows {
            self.tick()?;
            let arguments = self.calculator.values(&reader, &row)?;
            match &step.kind {
                StepKind::Function(HostFunction::System(function)) => {
                    row.push(self.ground.system_function(*function, &arguments)?);
                    extended.push(row);
                }
                StepKind::Function(function) => {
                    row.push(crate::host::value(*function, &arguments)?);
                    extended.push(row);
                }
                StepKind::Expand(all) => {
                    let width = size_of::<Value>() * (layout.len() + step.outputs.len());
                    let mut given = arguments.as_slice();
                    let mut sides = Vec::with_capacity(all.len());
                    for one in all {
                        let (own, rest) = given.split_at(one.arguments);
                        sides.push((crate::host::rows(one.function, own)?, one.columns));
                        given = rest;
                    }
                    for number in 1.. {
                        let mut next = row.clone();
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
                        extended.push(next);
                        self.tick()?;
                        if extended.len().is_multiple_of(1024) {
                            self.check_size(extended.len(), width)?;
                        }
                    }
                }
                StepKind::Subquery { plan, kind, column, inputs } => {
                    let values = self.subquery((plan, *column), inputs, layout, &row)?;
                    row.push(made_of(*kind, &values, arguments.first())?);
                    extended.push(row);
                }
            }
        }
        Ok(extended)
    }

    /// The column of a subquery's rows, for a row around it.
    fn subquery(
        &mut self,
        (plan, column): (&Plan, SlotId),
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
        let rows = self.columns(plan, &[column])?;
        let values: Known = rows.into_iter().flatten().collect();
        let known = self.known.entry(address).or_default();
        if known.len() < KNOWN_MAX {
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
