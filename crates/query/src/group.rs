//! GROUP BY and aggregates.

use std::ops::ControlFlow;

use crate::plan::{Aggregation, Group, GroupAggregate};
use hotrow_base::interrupt::current::{self, Pace};
use hotrow_base::json;
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::interpret::Running;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::SlotId;

use crate::memory::{Held, bytes_of, bytes_of_key, bytes_of_value};
use crate::order::key_of;
use crate::ordered::Ordered;
use crate::statistics::Statistic;
use crate::{Flow, Ground, MORE, Row, Runner, Set, Table, Take, order_of, place, sort_places};

/// An aggregate while rows are added to it.
pub(crate) struct Total<'q> {
    aggregate: &'q GroupAggregate,
    state: State,
    /// what few aggregates need: there is a total for each group
    beside: Option<Box<Beside>>,
}

/// What an aggregate with DISTINCT or ORDER BY has met.
#[derive(Default)]
struct Beside {
    seen: Set,
    /// rows, added in order at the end
    rows: Vec<Row>,
}

enum State {
    Running(Box<Running>),
    /// of bool_and and bool_or
    Truth(Option<bool>),
    Statistic(Box<Statistic>),
    Text(Option<String>),
    Array(Vec<Value>),
    Pairs(Vec<(Value, Value)>),
    Ordered(Box<Ordered>),
}

impl<'q> Total<'q> {
    pub(crate) fn new(aggregate: &'q GroupAggregate) -> Self {
        let of = aggregate.of.packed();
        let statistic = |of| State::Statistic(Box::new(of));
        let state = match aggregate.function {
            Aggregation::Plain(function) => {
                State::Running(Box::new(Running::new(function, of, aggregate.data_type)))
            }
            Aggregation::All | Aggregation::Any => State::Truth(None),
            Aggregation::Spread(of) => statistic(Statistic::spread(of, aggregate.data_type)),
            Aggregation::Pair(of, _) => statistic(Statistic::pair(of)),
            Aggregation::Bits(of) => statistic(Statistic::bits(of)),
            Aggregation::Intersection => statistic(Statistic::intersection()),
            Aggregation::Text(_) => State::Text(None),
            Aggregation::Array | Aggregation::JsonArray(_) | Aggregation::JsonRows => {
                State::Array(Vec::new())
            }
            Aggregation::JsonObject(..) => State::Pairs(Vec::new()),
            Aggregation::Ordered(of) => State::Ordered(Box::new(Ordered::new(of))),
        };
        let needs = aggregate.distinct || !aggregate.order.is_empty();
        Self { aggregate, state, beside: needs.then(Box::default) }
    }

    /// What it takes before it has met a row, in bytes.
    fn bytes(&self) -> usize {
        let state = match &self.state {
            State::Running(running) => running.bytes(),
            State::Statistic(_) => size_of::<Statistic>(),
            State::Ordered(_) => size_of::<Ordered>(),
            State::Truth(_) | State::Text(_) | State::Array(_) | State::Pairs(_) => 0,
        };
        let beside = if self.beside.is_some() { size_of::<Beside>() } else { 0 };
        size_of::<Self>() + state + beside
    }

    /// Adds a row; how many bytes are kept of it.
    pub(crate) fn add(&mut self, row: &Row, layout: &[SlotId]) -> Result<usize, SqlError> {
        if !self.aggregate.order.is_empty() {
            self.beside.get_or_insert_default().rows.push(row.clone());
            return Ok(bytes_of(row));
        }
        self.take(row, layout)
    }

    fn take(&mut self, row: &[Value], layout: &[SlotId]) -> Result<usize, SqlError> {
        let at = |slot: SlotId| place(layout, slot).ok().and_then(|at| row.get(at));
        if let Some(filter) = self.aggregate.filter
            && !matches!(at(filter), Some(Value::Bool(true)))
        {
            return Ok(0);
        }
        if let State::Ordered(ordered) = &mut self.state {
            let value = |slot: SlotId| at(slot).unwrap_or(&Value::Null);
            let order = self.aggregate.order.iter().map(|key| (value(key.slot), *key));
            let direct = self.aggregate.direct.iter().map(|slot| value(*slot));
            let argument = self.aggregate.argument.map_or(&Value::Null, value);
            return Ok(ordered.add(argument, order, direct));
        }
        let Some(argument) = self.aggregate.argument else {
            if let State::Running(running) = &mut self.state {
                running.add_row();
            }
            return Ok(0);
        };
        let value = at(argument).unwrap_or(&Value::Null);
        let counts_nulls = matches!(self.state, State::Array(_) | State::Pairs(_));
        if value.is_null() && !counts_nulls {
            return Ok(0);
        }
        let mut kept = 0;
        if self.aggregate.distinct {
            let key = key_of([value]);
            kept = bytes_of_key(&key);
            if !self.beside.get_or_insert_default().seen.insert(key) {
                return Ok(0);
            }
        }
        match (&mut self.state, value) {
            (State::Running(running), value) => running.add(value)?,
            (State::Statistic(statistic), value) => {
                let other = match self.aggregate.function {
                    Aggregation::Pair(_, other) => at(other),
                    _ => None,
                };
                statistic.add(value, other)?;
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
                kept += value.len();
                if let Some(text) = &*text {
                    refuse_copy(text.len(), text.capacity(), value.len())?;
                }
                match (text, separator) {
                    (Some(text), Some(Value::Text(separator))) => {
                        kept += separator.len();
                        text.push_str(separator);
                        text.push_str(value);
                    }
                    (Some(text), _) => text.push_str(value),
                    (none, _) => *none = Some(value.clone()),
                }
            }
            (State::Array(values), value) => {
                kept += bytes_of_value(value);
                let size = size_of::<Value>();
                refuse_copy(size * values.len(), size * values.capacity(), size)?;
                values.push(value.clone());
            }
            (State::Pairs(pairs), value) => {
                let Aggregation::JsonObject(_, key) = self.aggregate.function else {
                    return Ok(0);
                };
                let key = at(key).unwrap_or(&Value::Null);
                if key.is_null() {
                    return Err(SqlError::new(b"22023", "field name must not be null"));
                }
                kept += bytes_of_value(key) + bytes_of_value(value);
                let size = size_of::<(Value, Value)>();
                refuse_copy(size * pairs.len(), size * pairs.capacity(), size)?;
                pairs.push((key.clone(), value.clone()));
            }
            _ => {}
        }
        Ok(kept)
    }

    /// The value of all rows so far.
    pub(crate) fn result(&mut self, layout: &[SlotId], held: &mut Held) -> Result<Value, SqlError> {
        let rows = self.beside.as_mut().map(|beside| std::mem::take(&mut beside.rows));
        if let Some(mut rows) = rows.filter(|rows| !rows.is_empty()) {
            let places = sort_places(layout, &self.aggregate.order);
            let look = || current::check().map_err(SqlError::from);
            let order = order_of(&rows, &places, look)?;
            let mut pace = Pace::default();
            for at in order {
                let kept = self.take(&rows[at as usize], layout)?;
                pace.went(kept + 16).map_err(SqlError::from)?;
                held.add(kept)?;
            }
            rows.clear();
        }
        // As long as it takes to copy it: whoever keeps the value charges it.
        let mut copied = current::charge();
        Ok(match &mut self.state {
            State::Running(running) => {
                running.result().map_err(hotrow_transaction::fault::Fault::into_error)?
            }
            State::Statistic(statistic) => statistic.result()?,
            State::Ordered(ordered) => ordered.result()?,
            State::Truth(truth) => truth.map_or(Value::Null, Value::Bool),
            State::Text(text) => {
                copied.add(text.as_ref().map_or(0, String::len))?;
                text.clone().map_or(Value::Null, Value::Text)
            }
            State::Array(values) if values.is_empty() => Value::Null,
            State::Pairs(pairs) if pairs.is_empty() => Value::Null,
            State::Array(values) if self.aggregate.function == Aggregation::JsonRows => {
                json::array_in_lines(values)?
            }
            State::Array(values) if self.aggregate.function != Aggregation::Array => {
                match values.first() {
                    Some(Value::Array(_) | Value::Shaped(..) | Value::Composite(..))
                        if self.aggregate.data_type == DataType::Json =>
                    {
                        json::array_in_lines(values)?
                    }
                    _ => json::array_of(values, self.aggregate.data_type)?,
                }
            }
            State::Pairs(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| (key, value));
                json::object_of(pairs, ["{ ", " }"], self.aggregate.data_type)?
            }
            State::Array(values) => {
                copied.add(values.iter().map(bytes_of_value).sum())?;
                match self.aggregate.of.packed() {
                    DataType::Array(_) => Value::nested(values)?,
                    _ => Value::Array(values.clone()),
                }
            }
        })
    }
}

/// Fails where a buffer that is full moves to one of twice its size, and there is no room for both.
fn refuse_copy(used: usize, capacity: usize, more: usize) -> Result<(), SqlError> {
    if used + more > capacity {
        current::charge().add((2 * capacity).max(used + more))?;
    }
    Ok(())
}

/// The groups of one set of keys.
struct Groups<'q> {
    set: &'q [usize],
    known: Table<usize>,
    groups: Vec<(Row, Vec<Total<'q>>)>,
}

impl<'g, G: Ground> Runner<'g, G> {
    pub(crate) fn grouped(&mut self, group: &Group, take: Take<'_, 'g, G>) -> Flow<G::Error> {
        let layout = group.input.layout();
        let places: Vec<_> = group.keys.iter().map(|slot| place(&layout, *slot)).collect();
        let totals = || group.aggregates.iter().map(Total::new).collect::<Vec<_>>();
        let all: Vec<Vec<usize>> = vec![(0..places.len()).collect()];
        let sets = group.sets.as_ref().unwrap_or(&all).iter();
        let mut sets: Vec<Groups<'_>> = sets
            .map(|set| {
                // What is not grouped by anything is one group, whatever there is.
                let groups = set.is_empty().then(|| (group.key(set, &[]), totals()));
                Groups { set, known: Table::default(), groups: groups.into_iter().collect() }
            })
            .collect();
        let mut held = self.limits.held();
        let _ = self.each(&group.input, &mut |runner, row| {
            runner.tick_row(&row)?;
            let mut bytes = 0;
            for Groups { set, known, groups } in &mut sets {
                let value = |key: &usize| match &places[*key] {
                    Ok(at) => &row[*at],
                    Err(slot) => &runner.calculator.around[slot.index()],
                };
                let values: Vec<&Value> = set.iter().map(value).collect();
                let at = match set.is_empty() {
                    true => 0,
                    false => *known.entry(key_of(values.iter().copied())).or_insert_with(|| {
                        let key = group.key(set, &values);
                        let totals = totals();
                        bytes += 2 * bytes_of(&key);
                        bytes += totals.iter().map(Total::bytes).sum::<usize>();
                        groups.push((key, totals));
                        groups.len() - 1
                    }),
                };
                for total in &mut groups[at].1 {
                    bytes += total.add(&row, &layout)?;
                }
            }
            held.add(bytes)?;
            Ok(MORE)
        })?;
        for (mut key, totals) in sets.into_iter().flat_map(|set| set.groups) {
            for mut total in totals {
                self.tick()?;
                key.push(total.result(&layout, &mut held)?);
            }
            if take(self, key)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(MORE)
    }
}

/// The keys of a group, and what GROUPING says of it.
trait GroupKey {
    fn key(&self, set: &[usize], values: &[&Value]) -> Row;
}

impl GroupKey for Group {
    fn key(&self, set: &[usize], values: &[&Value]) -> Row {
        let value = |key: usize| match set.iter().position(|at| *at == key) {
            Some(at) => values[at].clone(),
            None => Value::Null,
        };
        let left_out = |keys: &[usize]| {
            keys.iter().fold(0, |bits, key| bits << 1 | i32::from(!set.contains(key)))
        };
        let groupings = self.groupings.iter().map(|(keys, _)| Value::Int(left_out(keys)));
        (0..self.keys.len()).map(value).chain(groupings).collect()
    }
}
