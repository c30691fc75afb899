//! Queries of any shape, run on rows in memory.
//!
//! Should I be using this? The crate `hotrow` runs it under `Session::execute`. Read it to see how
//! joins, groups, subqueries and set operations are computed of what single-table reads give.
//!
//! Role         says what a query of any shape is made of ([`Plan`], for which `hotrow-sql` looks
//!              names up and types expressions), and runs a [`Query`]: the reads of tables go to a
//!              [`Ground`], which is the session's transaction, so that all of it is serializable
//!              with everything else; the rest is done here. An operator pushes its rows, one by
//!              one, to the one that asked for them: what sorts, groups or joins keeps what it
//!              must, others keep nothing
//! Invariants   I1 expressions are programs that the interpreter of procedures runs: they give the
//!              same values and the same errors
//!              I2 no operator holds more than the memory it may ([`Limits`]), and all together no
//!              more
//!                 than the statement's account has; more is 53200
//! Concurrency  one thread
//!
//! We do not use a query library (docs/dependencies.md): the ones there are have arithmetic of
//! their own, in which integers wrap and numerics lose digits.

#![forbid(unsafe_code)]

mod dissected;
mod frame;
mod functions;
mod ground;
mod group;
mod host;
mod join;
mod json_paths;
mod limit;
mod lock;
mod memory;
mod order;
mod ordered;
mod patterns;
mod plan;
mod procedure;
mod profile;
mod recursion;
mod scalars;
mod series;
mod statistics;
mod subquery;
mod window;

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::rc::Rc;

use hotrow_base::interrupt::current;
use hotrow_base::sort::sort_numbers;
use hotrow_base::stack::deeper;
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::SlotId;

pub use dissected::DissectedFunction;
pub use functions::{
    Advisory, AdvisoryLevel, AdvisoryMode, AdvisoryStep, DescribedBy, HostFunction,
    PatternFunction, PatternRows, RightOf, SystemFunction,
};
pub use ground::{Fetched, Ground};
pub use host::drawn;
pub use memory::Limits;
use memory::{Held, Kept, Seen, bytes_in, bytes_of, bytes_of_key, bytes_of_value};
pub use order::compare as compare_values;
use order::{compare_nulls, key_of};
pub use ordered::OrderedSet;
pub use plan::{
    Aggregation, Exclusion, Expanding, Frame, FrameBound, FrameUnits, Group, GroupAggregate, Join,
    JoinKind, LateCondition, LockedRows, Plan, Query, Recursion, Scalar, ScalarProgram, Scalars,
    SetOperation, Shared, SortKey, Step, StepKind, SubqueryKind, Test, When, Window,
    WindowFunction,
};
pub use profile::{Measured, PlanNumbers, Profile};
use scalars::{Calculator, Reader};
pub use statistics::{Regression, Spread};
use subquery::Stepper;

/// The values of one row.
pub type Row = Vec<Value>;

/// Steps between two looks at whether to go on: some 100 us.
const STEPS_BETWEEN_LOOKS: usize = 1024;

/// Rows that are sorted at once where only the first few are wanted, at least.
const SORTED_AT_ONCE: usize = 1024;

/// A hash table by bytes.
type Table<V> = HashMap<Vec<u8>, V, foldhash::fast::RandomState>;
type Set = HashSet<Vec<u8>, foldhash::fast::RandomState>;

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
) -> Result<Fetched, G::Error> {
    run_with(query, parameters, now_us, limits, (ground, None))
}

/// As [`run`], and measures what each operator takes.
///
/// # Errors
///
/// As [`run`].
pub fn run_measured<G: Ground>(
    query: &Query,
    parameters: &[Value],
    now_us: i64,
    limits: Limits,
    (ground, profile): (&mut G, &mut Profile),
) -> Result<Fetched, G::Error> {
    run_with(query, parameters, now_us, limits, (ground, Some(profile)))
}

fn run_with<'g, G: Ground>(
    query: &Query,
    parameters: &[Value],
    now_us: i64,
    limits: Limits,
    (ground, profile): (&'g mut G, Option<&'g mut Profile>),
) -> Result<Fetched, G::Error> {
    let _entered = current::enter(limits.interrupt.as_ref());
    let mut calculator = Calculator::new(query.slots.len(), now_us, limits.interrupt.clone());
    for (slot, value) in query.parameters.iter().zip(parameters) {
        calculator.around[slot.index()].clone_from(value);
    }
    let (known, rounds, shared) = (HashMap::default(), HashMap::default(), HashMap::default());
    let (mut values, mut held, memo) = (Vec::new(), limits.held(), limits.held());
    let (ticks, drawn) = (0, 0);
    let mut runner =
        Runner { ground, profile, calculator, limits, ticks, drawn, known, memo, rounds, shared };
    let _ = runner.each_of(&query.plan, &query.outputs, &mut |_, row| {
        // Each of the values has its place; what stands elsewhere goes with it.
        held.room(&mut values, row.len())?;
        held.add(bytes_in(&row) - row.capacity() * size_of::<Value>())?;
        values.extend(row);
        Ok(MORE)
    })?;
    Ok(Fetched { values, charge: held.into_charge() })
}

/// Where in a layout a slot's value is; else it is of rows around.
fn place(layout: &[SlotId], slot: SlotId) -> Result<usize, SlotId> {
    layout.iter().position(|known| *known == slot).ok_or(slot)
}

struct Runner<'g, G> {
    ground: &'g mut G,
    /// none: nothing is measured
    profile: Option<&'g mut Profile>,
    calculator: Calculator,
    limits: Limits,
    /// steps since it was last asked whether to go on
    ticks: usize,
    /// random values that were drawn so far
    drawn: u64,
    /// what subqueries gave, by what they read of the rows around them
    known: HashMap<*const Plan, Table<subquery::Known>, foldhash::fast::RandomState>,
    memo: Held,
    /// of recursions that are running: the rows of the last round
    rounds: HashMap<usize, Rc<[Row]>, foldhash::fast::RandomState>,
    /// rows of queries that run once, by their numbers, and what they take
    shared: HashMap<usize, (Rc<[Row]>, Held), foldhash::fast::RandomState>,
}

/// Whether more rows are wanted.
type Flow<E> = Result<ControlFlow<()>, E>;
const MORE: ControlFlow<()> = ControlFlow::Continue(());

/// Takes the rows of an operator, one after the other.
type Take<'t, 'g, G> = &'t mut dyn FnMut(&mut Runner<'g, G>, Row) -> Flow<<G as Ground>::Error>;

impl<'g, G: Ground> Runner<'g, G> {
    /// Gives the rows of an operator to another one, as long as that wants them.
    fn each(&mut self, plan: &Plan, take: Take<'_, 'g, G>) -> Flow<G::Error> {
        let given = match self.profile {
            None => deeper(|| self.each_here(plan, take)),
            Some(_) => deeper(|| self.each_measured(plan, take)),
        };
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
                    runner.tick_row(&row)?;
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
                    let given = self.extended_one(Row::new(), &Stepper::new(step, &[]))?;
                    self.around(&step.outputs, &given);
                }
                self.each(input, take)
            }
            Plan::Filter { input, condition } => {
                let reader = Reader::new(condition, &input.layout());
                self.each(input, &mut |runner, row| {
                    runner.tick_row(&row)?;
                    match runner.calculator.is_true(&reader, &row)? {
                        true => take(runner, row),
                        false => Ok(MORE),
                    }
                })
            }
            Plan::Recursion(recursion) => self.recursive(recursion, take),
            Plan::Shared(shared) => {
                let rows = self.shared_rows(shared)?;
                self.give(rows.iter().cloned(), take)
            }
            Plan::Round { table, .. } => {
                let rows = self.rounds.get(table).map(Rc::clone);
                self.give(rows.iter().flat_map(|rows| rows.iter()).cloned(), take)
            }
            Plan::Join(join) => self.joined(join, take),
            Plan::Group(group) => self.grouped(group, take),
            Plan::Window(window) => {
                let Kept { rows, held: _held } = self.windowed(window)?;
                self.give(rows, take)
            }
            Plan::Sort { input, keys } => {
                let Kept { rows, held: _held } = self.sorted(input, keys, None)?;
                self.give(rows, take)
            }
            Plan::Lock { input, locks, by_parts } => self.locked(input, locks, *by_parts, take),
            Plan::Distinct { input, on } => {
                let layout = input.layout();
                let places: Vec<_> = on.iter().map(|slot| place(&layout, *slot)).collect();
                let mut seen = Seen::new(&self.limits);
                self.each(input, &mut |runner, row| {
                    runner.tick_row(&row)?;
                    // What is no part of the rows is the same for all.
                    let values = places.iter().filter_map(|place| row.get(*place.as_ref().ok()?));
                    match seen.insert(values)? {
                        true => take(runner, row),
                        false => Ok(MORE),
                    }
                })
            }
            Plan::Limit { input, limit, offset, ties } => {
                let limit = self.count(limit.as_ref(), ("LIMIT", b"2201W"))?;
                let offset = self.count(offset.as_ref(), ("OFFSET", b"2201X"))?.unwrap_or(0);
                match (limit, ties.as_slice()) {
                    (limit, []) => self.limited(input, limit.unwrap_or(usize::MAX), offset, take),
                    (Some(limit), ties) => self.tied(input, limit, (offset, ties), take),
                    (None, _) => Err(limit::no_count().into()),
                }
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
    fn rows(&mut self, plan: &Plan) -> Result<Kept, G::Error> {
        let mut kept = Kept::new(&self.limits);
        let _ = self.each(plan, &mut |_, row| {
            kept.push(row)?;
            Ok(MORE)
        })?;
        Ok(kept)
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
        let Fetched { values, charge: _charge } = self.ground.fetch(fetch, &values)?;
        let mut values = values.into_iter();
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
    ) -> Result<Kept, G::Error> {
        let layout = input.layout();
        let Some(most) = most else {
            let mut kept = self.rows(input)?;
            self.sort(&mut kept, &layout, keys)?;
            return Ok(kept);
        };
        let mut kept = Kept::new(&self.limits);
        let room = most.saturating_mul(2).max(SORTED_AT_ONCE);
        let _ = self.each(input, &mut |runner, row| {
            let bytes = bytes_of(&row);
            let is_full = kept.held.add(bytes).is_err();
            if kept.rows.len() >= room || is_full && kept.rows.len() > most {
                runner.sort(&mut kept, &layout, keys)?;
                kept.rows.truncate(most);
                let left: usize = kept.rows.iter().map(bytes_of).sum();
                kept.held.set(left + if is_full { 0 } else { bytes })?;
            }
            if is_full {
                kept.held.add(bytes)?;
            }
            kept.rows.push(row);
            Ok(MORE)
        })?;
        self.sort(&mut kept, &layout, keys)?;
        kept.rows.truncate(most);
        Ok(kept)
    }

    /// Sorts rows; those that are equal stay in their order.
    fn sort(
        &mut self,
        kept: &mut Kept,
        layout: &[SlotId],
        keys: &[SortKey],
    ) -> Result<(), G::Error> {
        let places = sort_places(layout, keys);
        let mut held = self.limits.held();
        // The numbers twice while they are merged, and the rows as they are put into order.
        held.add(kept.rows.len() * (2 * size_of::<u32>() + size_of::<Row>()))?;
        let order = order_of(&kept.rows, &places, || self.ground.go_on())?;
        kept.rows = order.iter().map(|at| std::mem::take(&mut kept.rows[*at as usize])).collect();
        Ok(())
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
            runner.tick_row(&row)?;
            take(runner, row)
        })
    }

    /// The rows of a query that runs once.
    fn shared_rows(&mut self, shared: &Shared) -> Result<Rc<[Row]>, G::Error> {
        if let Some((rows, _)) = self.shared.get(&shared.number) {
            return Ok(Rc::clone(rows));
        }
        let Kept { rows, held } = self.columns(&shared.rows.0, &shared.rows.1)?;
        let rows: Rc<[Row]> = rows.into();
        self.shared.insert(shared.number, (Rc::clone(&rows), held));
        Ok(rows)
    }

    /// Some columns of an operator's rows.
    fn columns(&mut self, plan: &Plan, slots: &[SlotId]) -> Result<Kept, G::Error> {
        self.first_columns(plan, slots, usize::MAX)
    }

    /// Some columns of an operator's first rows, of which at least one is wanted.
    fn first_columns(
        &mut self,
        plan: &Plan,
        slots: &[SlotId],
        most: usize,
    ) -> Result<Kept, G::Error> {
        let mut kept = Kept::new(&self.limits);
        let _ = self.each_of(plan, slots, &mut |_, row| {
            kept.push(row)?;
            Ok(if kept.rows.len() < most { MORE } else { ControlFlow::Break(()) })
        })?;
        Ok(kept)
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
        let mut held = self.limits.held();
        if operation != SetOperation::Union {
            let _ = self.each_of(right.0, right.1, &mut |runner, row| {
                runner.tick()?;
                let key = key_of(&row);
                if !counts.contains_key(&key) {
                    held.add(bytes_of_key(&key))?;
                }
                *counts.entry(key).or_default() += 1;
                Ok(MORE)
            })?;
        }
        let keeps = operation == SetOperation::Intersect;
        let mut seen = Seen::new(&self.limits);
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
            match is_kept && (all || seen.insert(&row)?) {
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
        self.work(1)
    }

    /// As [`Runner::tick`], for a row that may be a large one.
    fn tick_row(&mut self, row: &Row) -> Result<(), G::Error> {
        self.work(1 + bytes_of(row) / 1024)
    }

    /// So many steps have been taken: asks from time to time whether to go on.
    fn work(&mut self, steps: usize) -> Result<(), G::Error> {
        self.ticks = self.ticks.saturating_add(steps);
        if self.ticks < STEPS_BETWEEN_LOOKS {
            return Ok(());
        }
        self.ticks = 0;
        self.ground.go_on()
    }
}

/// The numbers of rows in the order that places of their values say; of equal ones the first is
/// first.
fn order_of<E>(
    rows: &[Row],
    places: &[(usize, SortKey)],
    look: impl FnMut() -> Result<(), E>,
) -> Result<Vec<u32>, E> {
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    let row = |at: u32| &rows[at as usize];
    let bytes = |at: u32| places.iter().map(|(place, _)| bytes_of_value(&row(at)[*place])).sum();
    sort_numbers(&mut order, bytes, |a, b| compare_rows(row(a), row(b), places), look)?;
    Ok(order)
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
