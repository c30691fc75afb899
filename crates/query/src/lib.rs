//! Queries of any shape, run on rows in memory.
//!
//! Should I be using this? The crate `hotrow` runs it under `Session::execute`. Read it to see how
//! joins, groups, subqueries and set operations are computed of what single-table reads give.
//!
//! Role         runs a [`Query`]: the reads of tables go to a [`Ground`], which is the session's
//!              transaction, so that all of it is serializable with everything else; the rest is
//!              done here. An operator pushes its rows, one by one, to the one that asked for them:
//!              what sorts, groups or joins keeps what it must, others keep nothing
//! Invariants   I1 expressions are programs that the interpreter of procedures runs: they give the
//!              same values and the same errors
//!              I2 no operator holds more than the memory it may ([`Limits`]); more is 53200
//! Concurrency  one thread
//!
//! We do not use a query library (docs/dependencies.md): the ones there are have arithmetic of
//! their own, in which integers wrap and numerics lose digits.

#![forbid(unsafe_code)]

mod frame;
mod group;
mod host;
mod join;
mod lock;
mod order;
mod recursion;
mod scalars;
mod subquery;
mod window;

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use hotrow_base::stack::deeper;
use hotrow_base::value::Value;
use hotrow_sql::{Plan, Query, Scalars, SetOperation, SortKey, SystemFunction};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::SlotId;

use lock::Lock;
use order::{compare_nulls, key_of};
use scalars::{Calculator, Reader};
use subquery::Stepper;

/// The values of one row.
pub type Row = Vec<Value>;

/// Rows that are sorted at once where only the first few are wanted, at least.
const SORTED_AT_ONCE: usize = 1024;

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

    /// As [`Ground::fetch`], of a row that is to be held; none if somebody else holds it.
    ///
    /// # Errors
    ///
    /// Why neither is known.
    fn hold(&mut self, fetch: usize, key: &[Value]) -> Result<Option<Vec<Value>>, Self::Error>;

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
    let (known, rounds) = (HashMap::default(), HashMap::default());
    let mut runner = Runner { ground, calculator, limits, ticks: 0, known, rounds };
    let (mut values, mut bytes) = (Vec::new(), 0);
    let _ = runner.each_of(&query.plan, &query.outputs, &mut |runner, row| {
        bytes += bytes_of(&row);
        runner.check_bytes(bytes)?;
        values.extend(row);
        Ok(MORE)
    })?;
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
    /// of recursions that are running: the rows of the last round
    rounds: HashMap<usize, Vec<Row>, foldhash::fast::RandomState>,
}

/// Whether more rows are wanted.
type Flow<E> = Result<ControlFlow<()>, E>;
const MORE: ControlFlow<()> = ControlFlow::Continue(());

/// Takes the rows of an operator, one after the other.
type Take<'t, 'g, G> = &'t mut dyn FnMut(&mut Runner<'g, G>, Row) -> Flow<<G as Ground>::Error>;

impl<'g, G: Ground> Runner<'g, G> {
    /// Gives the rows of an operator to another one, as long as that wants them.
    fn each(&mut self, plan: &Plan, take: Take<'_, 'g, G>) -> Flow<G::Error> {
        let given = deeper(|| self.each_here(plan, take));
        given.map_err(SqlError::from)?
    }

    /// On a stack that has room for all that takes the rows.
    fn each_here(&mut self, plan: &Plan, take: Take<'_, 'g, G>) -> Flow<G::Error> {
        match plan {
            Plan::One => take(self, Row::new()),
            Plan::Fetch { fetch, inputs, outputs } => {
                self.fetched(*fetch, inputs, outputs.len(), take)
            }
            Plan::System { relation, outputs } => {
                let rows = self.ground.system_rows(relation).into_iter();
                let wanted = |row: Row| outputs.iter().map(|(at, _)| row[*at].clone()).collect();
                self.give(rows.map(wanted), take)
            }
            Plan::Values { rows, .. } => {
                for row in rows {
                    let row = self.calculator.values(&Reader::new(row, &[]), &[])?;
                    if take(self, row)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Ok(MORE)
            }
            Plan::Compute { input, scalars, .. } => {
                let reader = Reader::new(scalars, &input.layout());
                self.each(input, &mut |runner, mut row| {
                    runner.tick()?;
                    let computed = runner.calculator.values(&reader, &row)?;
                    row.extend(computed);
                    take(runner, row)
                })
            }
            Plan::Extend { input, step } => {
                let stepper = Stepper::new(step, &input.layout());
                self.each(input, &mut |runner, row| runner.extended(row, &stepper, take))
            }
            Plan::Given { steps, input } => {
                for step in steps {
                    let mut given = Row::new();
                    let _ =
                        self.extended(Row::new(), &Stepper::new(step, &[]), &mut |_, row| {
                            given = row;
                            Ok(MORE)
                        })?;
                    self.around(&step.outputs, &given);
                }
                self.each(input, take)
            }
            Plan::Filter { input, condition } => {
                let reader = Reader::new(condition, &input.layout());
                self.each(input, &mut |runner, row| {
                    runner.tick()?;
                    match runner.calculator.is_true(&reader, &row)? {
                        true => take(runner, row),
                        false => Ok(MORE),
                    }
                })
            }
            Plan::Recursion(recursion) => self.recursive(recursion, take),
            Plan::Round { table, .. } => {
                let rows = self.rounds.get(table).cloned().unwrap_or_default();
                self.give(rows, take)
            }
            Plan::Join(join) => self.joined(join, take),
            Plan::Group(group) => self.grouped(group, take),
            Plan::Window(window) => {
                let rows = self.windowed(window)?;
                self.give(rows, take)
            }
            Plan::Sort { input, keys } => {
                let rows = self.sorted(input, keys, None)?;
                self.give(rows, take)
            }
            Plan::Lock { input, locks } => {
                let layout = input.layout();
                let locks: Vec<_> = locks.iter().map(|lock| Lock::new(lock, &layout)).collect();
                self.each(input, &mut |runner, row| {
                    runner.tick()?;
                    for lock in &locks {
                        if !lock.hold(runner.ground, &row)? {
                            return Ok(MORE);
                        }
                    }
                    take(runner, row)
                })
            }
            Plan::Distinct { input, on } => {
                let layout = input.layout();
                let places: Vec<_> = on.iter().map(|slot| place(&layout, *slot)).collect();
                let mut seen = Seen::default();
                self.each(input, &mut |runner, row| {
                    runner.tick()?;
                    // What is no part of the rows is the same for all.
                    let values = places.iter().filter_map(|place| row.get(*place.as_ref().ok()?));
                    match seen.insert(values, &runner.limits)? {
                        true => take(runner, row),
                        false => Ok(MORE),
                    }
                })
            }
            Plan::Limit { input, limit, offset } => {
                let limit = self.count(limit.as_ref(), ("LIMIT", b"2201W"))?;
                let offset = self.count(offset.as_ref(), ("OFFSET", b"2201X"))?.unwrap_or(0);
                self.limited(input, limit.unwrap_or(usize::MAX), offset, take)
            }
            Plan::Set { operation, all, left, right, .. } => self.combined(
                *operation,
                *all,
                [left, right].map(|(plan, slots)| (&**plan, &**slots)),
                take,
            ),
        }
    }

    /// Gives rows on.
    fn give(
        &mut self,
        rows: impl IntoIterator<Item = Row>,
        take: Take<'_, 'g, G>,
    ) -> Flow<G::Error> {
        for row in rows {
            if take(self, row)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(MORE)
    }

    /// All rows of an operator, for who needs them at once.
    fn rows(&mut self, plan: &Plan) -> Result<Vec<Row>, G::Error> {
        let mut kept = Kept::default();
        let _ = self.each(plan, &mut |runner, row| {
            kept.push(row, &runner.limits)?;
            Ok(MORE)
        })?;
        Ok(kept.rows)
    }

    fn fetched(
        &mut self,
        fetch: usize,
        inputs: &[SlotId],
        width: usize,
        take: Take<'_, 'g, G>,
    ) -> Flow<G::Error> {
        let values: Row =
            inputs.iter().map(|slot| self.calculator.around[slot.index()].clone()).collect();
        let mut values = self.ground.fetch(fetch, &values)?.into_iter();
        loop {
            let row: Row = values.by_ref().take(width).collect();
            if row.len() < width || width == 0 {
                return Ok(MORE);
            }
            if take(self, row)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    /// Sorts an operator's rows; those that are equal stay in their order. Of `most` rows the rest
    /// is forgotten as soon as may be.
    fn sorted(
        &mut self,
        input: &Plan,
        keys: &[SortKey],
        most: Option<usize>,
    ) -> Result<Vec<Row>, G::Error> {
        let layout = input.layout();
        let Some(most) = most else {
            let mut rows = self.rows(input)?;
            sort(&mut rows, &layout, keys);
            return Ok(rows);
        };
        let (mut rows, mut bytes) = (Vec::new(), 0);
        let room = most.saturating_mul(2).max(SORTED_AT_ONCE);
        let _ = self.each(input, &mut |runner, row| {
            bytes += bytes_of(&row);
            rows.push(row);
            let is_much = bytes > runner.limits.bytes_max && rows.len() > most;
            if rows.len() >= room || is_much {
                sort(&mut rows, &layout, keys);
                rows.truncate(most);
                bytes = rows.iter().map(bytes_of).sum();
            }
            runner.check_bytes(bytes)?;
            Ok(MORE)
        })?;
        sort(&mut rows, &layout, keys);
        rows.truncate(most);
        Ok(rows)
    }

    /// The rows behind the first `offset`, at most `limit`. No more are computed than it takes.
    fn limited(
        &mut self,
        input: &Plan,
        limit: usize,
        offset: usize,
        take: Take<'_, 'g, G>,
    ) -> Flow<G::Error> {
        if limit == 0 {
            return Ok(MORE);
        }
        if let Plan::Sort { input, keys } = input
            && let Some(most) = limit.checked_add(offset)
        {
            let rows = self.sorted(input, keys, Some(most))?;
            return self.give(rows.into_iter().skip(offset), take);
        }
        let (mut before, mut left, mut flow) = (offset, limit, MORE);
        let _ = self.each(input, &mut |runner, row| {
            if before > 0 {
                before -= 1;
                return Ok(MORE);
            }
            left -= 1;
            flow = take(runner, row)?;
            Ok(if left == 0 { ControlFlow::Break(()) } else { flow })
        })?;
        Ok(flow)
    }

    /// Gives some columns of an operator's rows on.
    fn each_of(&mut self, plan: &Plan, slots: &[SlotId], take: Take<'_, 'g, G>) -> Flow<G::Error> {
        let layout = plan.layout();
        let places: Vec<_> = slots.iter().map(|slot| place(&layout, *slot)).collect();
        self.each(plan, &mut |runner, row| {
            let value = |place: &Result<usize, SlotId>| match place {
                Ok(at) => row[*at].clone(),
                Err(slot) => runner.calculator.around[slot.index()].clone(),
            };
            let row = places.iter().map(value).collect();
            take(runner, row)
        })
    }

    /// Some columns of an operator's rows.
    fn columns(&mut self, plan: &Plan, slots: &[SlotId]) -> Result<Vec<Row>, G::Error> {
        self.first_columns(plan, slots, usize::MAX)
    }

    /// Some columns of an operator's first rows, of which at least one is wanted.
    fn first_columns(
        &mut self,
        plan: &Plan,
        slots: &[SlotId],
        most: usize,
    ) -> Result<Vec<Row>, G::Error> {
        let mut kept = Kept::default();
        let _ = self.each_of(plan, slots, &mut |runner, row| {
            kept.push(row, &runner.limits)?;
            Ok(if kept.rows.len() < most { MORE } else { ControlFlow::Break(()) })
        })?;
        Ok(kept.rows)
    }

    /// UNION, INTERSECT and EXCEPT.
    fn combined(
        &mut self,
        operation: SetOperation,
        all: bool,
        [left, right]: [(&Plan, &[SlotId]); 2],
        take: Take<'_, 'g, G>,
    ) -> Flow<G::Error> {
        let mut counts: Table<usize> = Table::default();
        let mut bytes = 0;
        if operation != SetOperation::Union {
            let _ = self.each_of(right.0, right.1, &mut |runner, row| {
                runner.tick()?;
                let key = key_of(&row);
                bytes += bytes_of_key(&key);
                runner.check_bytes(bytes)?;
                *counts.entry(key).or_default() += 1;
                Ok(MORE)
            })?;
        }
        let keeps = operation == SetOperation::Intersect;
        let mut seen = Seen::default();
        let mut add = |runner: &mut Self, row: Row| {
            runner.tick()?;
            let is_kept = operation == SetOperation::Union
                || match counts.get_mut(&key_of(&row)) {
                    // Each of ALL's duplicates answers for one.
                    Some(count) if all && *count > 0 => {
                        *count -= 1;
                        keeps
                    }
                    Some(_) if !all => keeps,
                    _ => !keeps,
                };
            match is_kept && (all || seen.insert(&row, &runner.limits)?) {
                true => take(runner, row),
                false => Ok(MORE),
            }
        };
        let flow = self.each_of(left.0, left.1, &mut add)?;
        if flow.is_break() || operation != SetOperation::Union {
            return Ok(flow);
        }
        self.each_of(right.0, right.1, &mut add)
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

    fn check_bytes(&self, bytes: usize) -> Result<(), SqlError> {
        self.limits.check(bytes)
    }

    fn check_size(&self, rows: usize, bytes: usize) -> Result<(), SqlError> {
        self.limits.check(rows.saturating_mul(bytes + size_of::<Row>()))
    }
}

impl Limits {
    /// Fails where an operator keeps so much.
    fn check(&self, bytes: usize) -> Result<(), SqlError> {
        if bytes <= self.bytes_max {
            return Ok(());
        }
        let mebibytes = self.bytes_max >> 20;
        let message = format!("the query needs more than {mebibytes} MiB for rows in between");
        let mut error = SqlError::new(b"53200", message);
        error.hint = Some("Narrow it with WHERE, or compute it in parts.".to_owned());
        Err(error)
    }
}

/// Rows that an operator keeps.
#[derive(Default)]
struct Kept {
    rows: Vec<Row>,
    bytes: usize,
}

impl Kept {
    fn push(&mut self, row: Row, limits: &Limits) -> Result<(), SqlError> {
        self.bytes += bytes_of(&row);
        limits.check(self.bytes)?;
        self.rows.push(row);
        Ok(())
    }
}

/// Rows that were met before, by their values.
#[derive(Default)]
struct Seen {
    keys: Set,
    bytes: usize,
}

impl Seen {
    /// Whether values are new.
    fn insert<'v>(
        &mut self,
        values: impl IntoIterator<Item = &'v Value>,
        limits: &Limits,
    ) -> Result<bool, SqlError> {
        let key = key_of(values);
        let bytes = bytes_of_key(&key);
        let is_new = self.keys.insert(key);
        if is_new {
            self.bytes += bytes;
            limits.check(self.bytes)?;
        }
        Ok(is_new)
    }
}

/// What a row takes.
fn bytes_of(row: &Row) -> usize {
    size_of::<Row>() + row.iter().map(bytes_of_value).sum::<usize>()
}

fn bytes_of_value(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::Text(text) | Value::Json(text) | Value::Jsonb(text) => text.len(),
            Value::Bytea(bytes) => bytes.len(),
            Value::Array(values) => values.iter().map(bytes_of_value).sum(),
            _ => 0,
        }
}

/// What a key takes in a hash table.
fn bytes_of_key(key: &[u8]) -> usize {
    size_of::<(Vec<u8>, usize)>() + key.len()
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
