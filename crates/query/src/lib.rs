//! Queries of any shape, run on rows in memory.
//!
//! Should I be using this? The crate `hotrow` runs it under `Session::execute`. Read it to see how
//! joins, groups, subqueries and set operations are computed of what single-table reads give.
//!
//! Role         runs a [`Query`]: the reads of tables go to a [`Ground`], which is the session's
//!              transaction, so that all of it is serializable with everything else; the rest is
//!              done here, operator by operator, each with all its rows in memory
//! Invariants   I1 expressions are programs that the interpreter of procedures runs: they give the
//!              same values and the same errors
//!              I2 no operator holds more than the memory it may ([`Limits`]); more is 53200
//! Concurrency  one thread
//!
//! We do not use a query library (docs/dependencies.md): the ones there are have arithmetic of
//! their own, in which integers wrap and numerics lose digits.

#![forbid(unsafe_code)]

mod group;
mod host;
mod join;
mod order;
mod scalars;
mod subquery;
mod window;

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use hotrow_base::value::Value;
use hotrow_sql::{Plan, Query, Scalars, SetOperation, SortKey, SystemFunction};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::SlotId;

use order::{compare_nulls, key_of};
use scalars::{Calculator, Reader};

/// The values of one row.
pub type Row = Vec<Value>;

/// A hash table by bytes.
type Table<V> = HashMap<Vec<u8>, V, foldhash::fast::RandomState>;
type Set = HashSet<Vec<u8>, foldhash::fast::RandomState>;

/// Where the rows of tables come from.
pub trait Ground {
    /// what ends a query
    type Error: From<SqlError>;

    /// The rows of a read, value after value; `values` are those of its parameters.
    ///
    /// # Errors
    ///
    /// Why there are none.
    fn fetch(&mut self, fetch: usize, values: &[Value]) -> Result<Vec<Value>, Self::Error>;

    /// The rows of a relation of the system catalog, all columns of each.
    fn system_rows(&mut self, relation: &str) -> Vec<Row>;

    /// The value of a function of catalog or session.
    ///
    /// # Errors
    ///
    /// It has none for these arguments.
    fn system_function(
        &mut self,
        function: SystemFunction,
        arguments: &[Value],
    ) -> Result<Value, SqlError>;

    /// Asked again and again while rows are computed: whether to go on.
    ///
    /// # Errors
    ///
    /// Why not.
    fn go_on(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// What a query may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// bytes that the rows of one operator take, some 40 for each value and those of texts
    pub bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes_max: 1 << 30 }
    }
}

/// Runs a query; its rows, value after value.
///
/// # Errors
///
/// Those of the ground and of expressions; 53200 when the rows take too much memory.
pub fn run<G: Ground>(
    query: &Query,
    parameters: &[Value],
    now_us: i64,
    limits: Limits,
    ground: &mut G,
) -> Result<Vec<Value>, G::Error> {
    let mut calculator = Calculator::new(query.slots.len(), now_us);
    for (slot, value) in query.parameters.iter().zip(parameters) {
        calculator.around[slot.index()].clone_from(value);
    }
    let mut runner = Runner { ground, calculator, limits, ticks: 0, known: HashMap::default() };
    let rows = runner.rows(&query.plan)?;
    let layout = query.plan.layout();
    let places: Vec<_> = query.outputs.iter().map(|slot| place(&layout, *slot)).collect();
    let mut values = Vec::with_capacity(rows.len() * places.len());
    for row in rows {
        for place in &places {
            values.push(match place {
                Ok(at) => row[*at].clone(),
                Err(slot) => runner.calculator.around[slot.index()].clone(),
            });
        }
    }
    Ok(values)
}

/// Where in a layout a slot's value is; else it is of rows around.
fn place(layout: &[SlotId], slot: SlotId) -> Result<usize, SlotId> {
    layout.iter().position(|known| *known == slot).ok_or(slot)
}

struct Runner<'g, G> {
    ground: &'g mut G,
    calculator: Calculator,
    limits: Limits,
    ticks: u32,
    /// what subqueries gave, by what they read of the rows around them
    known: HashMap<*const Plan, Table<subquery::Known>, foldhash::fast::RandomState>,
}

impl<G: Ground> Runner<'_, G> {
    /// The rows of an operator.
    fn rows(&mut self, plan: &Plan) -> Result<Vec<Row>, G::Error> {
        let rows = self.rows_unchecked(plan)?;
        self.check(&rows)?;
        Ok(rows)
    }

    fn rows_unchecked(&mut self, plan: &Plan) -> Result<Vec<Row>, G::Error> {
        match plan {
            Plan::One => Ok(vec![Row::new()]),
            Plan::Fetch { fetch, inputs, outputs } => self.fetched(*fetch, inputs, outputs.len()),
            Plan::System { relation, outputs } => {
                let rows = self.ground.system_rows(relation).into_iter();
                let wanted = |row: Row| outputs.iter().map(|(at, _)| row[*at].clone()).collect();
                Ok(rows.map(wanted).collect())
            }
            Plan::Values { rows, .. } => {
                let values =
                    rows.iter().map(|row| self.calculator.values(&Reader::new(row, &[]), &[]));
                Ok(values.collect::<Result<_, _>>()?)
            }
            Plan::Compute { input, scalars, .. } => {
                let mut rows = self.rows(input)?;
                let reader = Reader::new(scalars, &input.layout());
                for row in &mut rows {
                    let mut values = std::mem::take(row);
                    let computed = self.calculator.values(&reader, &values)?;
                    values.extend(computed);
                    *row = values;
                    self.tick()?;
                }
                Ok(rows)
            }
            Plan::Extend { input, step } => {
                let rows = self.rows(input)?;
                self.extended(rows, &input.layout(), step)
            }
            Plan::Given { steps, input } => {
                for step in steps {
                    let mut rows = self.extended(vec![Row::new()], &[], step)?;
                    let row = rows.pop().unwrap_or_default();
                    self.around(&step.outputs, &row);
                }
                self.rows(input)
            }
            Plan::Filter { input, condition } => {
                let rows = self.rows(input)?;
                let reader = Reader::new(condition, &input.layout());
                let mut kept = Vec::new();
                for row in rows {
                    if self.calculator.is_true(&reader, &row)? {
                        kept.push(row);
                    }
                    self.tick()?;
                }
                Ok(kept)
            }
            Plan::Join(join) => self.joined(join),
            Plan::Group(group) => self.grouped(group),
            Plan::Window(window) => self.windowed(window),
            Plan::Sort { input, keys } => {
                let mut rows = self.rows(input)?;
                sort(&mut rows, &input.layout(), keys);
                Ok(rows)
            }
            Plan::Distinct { input, on } => {
                let mut rows = self.rows(input)?;
                let layout = input.layout();
                let places: Vec<_> = on.iter().map(|slot| place(&layout, *slot)).collect();
                let mut seen = Set::default();
                rows.retain(|row| {
                    // What is no part of the rows is the same for all.
                    let values = places.iter().filter_map(|place| row.get(*place.as_ref().ok()?));
                    seen.insert(key_of(values))
                });
                Ok(rows)
            }
            Plan::Limit { input, limit, offset } => {
                let limit = self.count(limit.as_ref(), ("LIMIT", b"2201W"))?;
                let offset = self.count(offset.as_ref(), ("OFFSET", b"2201X"))?.unwrap_or(0);
                let rows = self.rows(input)?.into_iter().skip(offset);
                Ok(rows.take(limit.unwrap_or(usize::MAX)).collect())
            }
            Plan::Set { operation, all, left, right, .. } => {
                let lefts = self.columns(&left.0, &left.1)?;
                let rights = self.columns(&right.0, &right.1)?;
                Ok(combined(*operation, *all, lefts, rights))
            }
        }
    }

    fn fetched(
        &mut self,
        fetch: usize,
        inputs: &[SlotId],
        width: usize,
    ) -> Result<Vec<Row>, G::Error> {
        let values: Row =
            inputs.iter().map(|slot| self.calculator.around[slot.index()].clone()).collect();
        let mut values = self.ground.fetch(fetch, &values)?.into_iter();
        let mut rows = Vec::with_capacity(values.len() / width.max(1));
        loop {
            let row: Row = values.by_ref().take(width).collect();
            if row.len() < width || width == 0 {
                return Ok(rows);
            }
            rows.push(row);
        }
    }

    /// Some columns of an operator's rows.
    fn columns(&mut self, plan: &Plan, slots: &[SlotId]) -> Result<Vec<Row>, G::Error> {
        let rows = self.rows(plan)?;
        let layout = plan.layout();
        let places: Vec<_> = slots.iter().map(|slot| place(&layout, *slot)).collect();
        let value = |row: &Row, place: &Result<usize, SlotId>| match place {
            Ok(at) => row[*at].clone(),
            Err(slot) => self.calculator.around[slot.index()].clone(),
        };
        Ok(rows.iter().map(|row| places.iter().map(|place| value(row, place)).collect()).collect())
    }

    fn count(
        &mut self,
        count: Option<&Scalars>,
        (clause, code): (&str, &[u8; 5]),
    ) -> Result<Option<usize>, G::Error> {
        let Some(scalars) = count else { return Ok(None) };
        match self.calculator.values(&Reader::new(scalars, &[]), &[])?.as_slice() {
            [Value::BigInt(count)] => match usize::try_from(*count) {
                Ok(count) => Ok(Some(count)),
                Err(_) => Err(SqlError::new(code, format!("{clause} must not be negative")).into()),
            },
            _ => Ok(None),
        }
    }

    /// Runs a plan whose rows depend on one around: that has these values.
    fn around(&mut self, layout: &[SlotId], row: &[Value]) {
        for (slot, value) in layout.iter().zip(row) {
            self.calculator.around[slot.index()].clone_from(value);
        }
    }

    fn tick(&mut self) -> Result<(), G::Error> {
        self.ticks = self.ticks.wrapping_add(1);
        if self.ticks.is_multiple_of(1024) { self.ground.go_on() } else { Ok(()) }
    }

    fn check(&self, rows: &[Row]) -> Result<(), SqlError> {
        let of_text = |value: &Value| match value {
            Value::Text(text) | Value::Json(text) | Value::Jsonb(text) => text.len(),
            Value::Bytea(bytes) => bytes.len(),
            Value::Array(values) => values.len() * size_of::<Value>(),
            _ => 0,
        };
        // All rows of an operator are of one kind: the texts of some say how long the rest is.
        let sampled = rows.iter().step_by(1 + rows.len() / 64).collect::<Vec<_>>();
        let texts: usize = sampled.iter().flat_map(|row| row.iter()).map(of_text).sum();
        let texts = texts / sampled.len().max(1);
        let width = rows.first().map_or(0, Vec::len);
        self.check_size(rows.len(), width * size_of::<Value>() + texts)
    }

    fn check_size(&self, rows: usize, bytes: usize) -> Result<(), SqlError> {
        if rows.saturating_mul(bytes + size_of::<Row>()) <= self.limits.bytes_max {
            return Ok(());
        }
        let mebibytes = self.limits.bytes_max >> 20;
        let message = format!("the query needs more than {mebibytes} MiB for rows in between");
        let mut error = SqlError::new(b"53200", message);
        error.hint = Some("Narrow it with WHERE, or compute it in parts.".to_owned());
        Err(error)
    }
}

/// Sorts rows; those that are equal stay in their order.
fn sort(rows: &mut [Row], layout: &[SlotId], keys: &[SortKey]) {
    let places = sort_places(layout, keys);
    rows.sort_by(|a, b| compare_rows(a, b, &places));
}

/// Where the values of an order are. What is no part of the rows orders nothing.
fn sort_places(layout: &[SlotId], keys: &[SortKey]) -> Vec<(usize, SortKey)> {
    keys.iter().filter_map(|key| Some((place(layout, key.slot).ok()?, *key))).collect()
}

fn compare_rows(a: &[Value], b: &[Value], places: &[(usize, SortKey)]) -> Ordering {
    for (at, key) in places {
        let ordering = match key.descending {
            false => compare_nulls(&a[*at], &b[*at], key.nulls_first),
            true => compare_nulls(&b[*at], &a[*at], !key.nulls_first),
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
    Ordering::Equal
}

fn combined(operation: SetOperation, all: bool, left: Vec<Row>, right: Vec<Row>) -> Vec<Row> {
    let mut rows = left;
    match operation {
        SetOperation::Union => rows.extend(right),
        SetOperation::Intersect | SetOperation::Except => {
            let mut counts: Table<usize> = Table::default();
            for row in &right {
                *counts.entry(key_of(row)).or_default() += 1;
            }
            let keeps = operation == SetOperation::Intersect;
            rows.retain(|row| match counts.get_mut(&key_of(row)) {
                // Each of ALL's duplicates answers for one.
                Some(count) if all && *count > 0 => {
                    *count -= 1;
                    keeps
                }
                Some(_) if !all => keeps,
                _ => !keeps,
            });
        }
    }
    if !all {
        let mut seen = Set::default();
        rows.retain(|row| seen.insert(key_of(row)));
    }
    rows
}
