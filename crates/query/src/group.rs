//! GROUP BY and aggregates.

use hotrow_base::json;
use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_sql::{Aggregation, Group, GroupAggregate};
use hotrow_transaction::interpret::Running;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::SlotId;

use crate::order::key_of;
use crate::{Ground, Row, Runner, Set, Table, compare_rows, place, sort_places};

/// An aggregate while rows are added to it.
pub(crate) struct Total<'q> {
    aggregate: &'q GroupAggregate,
    seen: Set,
    state: State,
    /// rows of an aggregate with an order, added at the end
    rows: Vec<Row>,
}

enum State {
    Running(Box<Running>),
    /// of bool_and and bool_or
    Truth(Option<bool>),
    Text(Option<String>),
    Array(Vec<Value>),
    Pairs(Vec<(Value, Value)>),
}

impl<'q> Total<'q> {
    pub(crate) fn new(aggregate: &'q GroupAggregate) -> Self {
        let of = match aggregate.of {
            SqlType::Scalar(data_type) | SqlType::Array(data_type) => data_type,
        };
        let state = match aggregate.function {
            Aggregation::Plain(function) => {
                State::Running(Box::new(Running::new(function, of, aggregate.data_type)))
            }
            Aggregation::All | Aggregation::Any => State::Truth(None),
            Aggregation::Text(_) => State::Text(None),
            Aggregation::Array | Aggregation::JsonArray(_) => State::Array(Vec::new()),
            Aggregation::JsonObject(..) => State::Pairs(Vec::new()),
        };
        Self { aggregate, seen: Set::default(), state, rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, row: &Row, layout: &[SlotId]) -> Result<(), SqlError> {
        if !self.aggregate.order.is_empty() {
            self.rows.push(row.clone());
            return Ok(());
        }
        self.take(row, layout)
    }

    fn take(&mut self, row: &[Value], layout: &[SlotId]) -> Result<(), SqlError> {
        let at = |slot: SlotId| place(layout, slot).ok().and_then(|at| row.get(at));
        if let Some(filter) = self.aggregate.filter
            && !matches!(at(filter), Some(Value::Bool(true)))
        {
            return Ok(());
        }
        let Some(argument) = self.aggregate.argument else {
            if let State::Running(running) = &mut self.state {
                running.add_row();
            }
            return Ok(());
        };
        let value = at(argument).unwrap_or(&Value::Null);
        let counts_nulls = matches!(self.state, State::Array(_) | State::Pairs(_));
        if value.is_null() && !counts_nulls {
            return Ok(());
        }
        if self.aggregate.distinct && !self.seen.insert(key_of([value])) {
            return Ok(());
        }
        match (&mut self.state, value) {
            (State::Running(running), value) => {
                // Counted whatever it is; arrays are no datums.
                let value = match value {
                    Value::Array(_) => &Value::Int(0),
                    value => value,
                };
                running.add(value)?;
            }
            (State::Truth(truth), Value::Bool(value)) => {
                let all = self.aggregate.function == Aggregation::All;
                let before = truth.unwrap_or(all);
                *truth = Some(if all { before && *value } else { before || *value });
            }
            (State::Text(text), Value::Text(value)) => {
                let separator = match self.aggregate.function {
                    Aggregation::Text(separator) => at(separator),
                    _ => None,
                };
                match (text, separator) {
                    (Some(text), Some(Value::Text(separator))) => {
                        text.push_str(separator);
                        text.push_str(value);
                    }
                    (Some(text), _) => text.push_str(value),
                    (none, _) => *none = Some(value.clone()),
                }
            }
            (State::Array(values), value) => values.push(value.clone()),
            (State::Pairs(pairs), value) => {
                let Aggregation::JsonObject(_, key) = self.aggregate.function else {
                    return Ok(());
                };
                let key = at(key).unwrap_or(&Value::Null);
                if key.is_null() {
                    return Err(SqlError::new(b"22023", "field name must not be null"));
                }
                pairs.push((key.clone(), value.clone()));
            }
            _ => {}
        }
        Ok(())
    }

    /// The value of all rows so far.
    pub(crate) fn result(&mut self, layout: &[SlotId]) -> Result<Value, SqlError> {
        if !self.rows.is_empty() {
            let mut rows = std::mem::take(&mut self.rows);
            let places = sort_places(layout, &self.aggregate.order);
            rows.sort_by(|a, b| compare_rows(a, b, &places));
            for row in &rows {
                self.take(row, layout)?;
            }
        }
        Ok(match &mut self.state {
            State::Running(running) => {
                running.result().map_err(hotrow_transaction::interpret::Fault::into_error)?
            }
            State::Truth(truth) => truth.map_or(Value::Null, Value::Bool),
            State::Text(text) => text.clone().map_or(Value::Null, Value::Text),
            State::Array(values) if values.is_empty() => Value::Null,
            State::Pairs(pairs) if pairs.is_empty() => Value::Null,
            State::Array(values) if self.aggregate.function != Aggregation::Array => {
                json::array_of(values, self.aggregate.data_type)?
            }
            State::Pairs(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| (key, value));
                json::object_of(pairs, ["{ ", " }"], self.aggregate.data_type)?
            }
            State::Array(values) => Value::Array(values.clone()),
        })
    }
}

impl<G: Ground> Runner<'_, G> {
    pub(crate) fn grouped(&mut self, group: &Group) -> Result<Vec<Row>, G::Error> {
        let rows = self.rows(&group.input)?;
        let layout = group.input.layout();
        let places: Vec<_> = group.keys.iter().map(|slot| place(&layout, *slot)).collect();
        let totals = || group.aggregates.iter().map(Total::new).collect::<Vec<_>>();
        let mut groups: Vec<(Row, Vec<Total<'_>>)> = Vec::new();
        let mut known: Table<usize> = Table::default();
        if group.keys.is_empty() {
            groups.push((Row::new(), totals()));
        }
        for row in &rows {
            let at = if group.keys.is_empty() {
                0
            } else {
                let key = places.iter().map(|place| match place {
                    Ok(at) => &row[*at],
                    Err(slot) => &self.calculator.around[slot.index()],
                });
                let values: Vec<&Value> = key.collect();
                *known.entry(key_of(values.iter().copied())).or_insert_with(|| {
                    groups.push((values.into_iter().cloned().collect(), totals()));
                    groups.len() - 1
                })
            };
            for total in &mut groups[at].1 {
                total.add(row, &layout)?;
            }
            self.tick()?;
        }
        let mut results = Vec::with_capacity(groups.len());
        for (mut key, totals) in groups {
            for mut total in totals {
                key.push(total.result(&layout)?);
            }
            results.push(key);
        }
        Ok(results)
    }
}
