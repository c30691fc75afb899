//! Joins: by hash table where values must be equal, by key where an index helps and few rows ask,
//! else each with each.

use std::ops::ControlFlow;

use crate::plan::{Join, JoinKind, Plan};
use hotrow_base::value::Value;
use hotrow_transaction::program::SlotId;

use crate::memory::{Held, Kept, bytes_of, bytes_of_key};
use crate::order::join_key;
use crate::scalars::Reader;
use crate::subquery::Stepper;
use crate::{Flow, Ground, MORE, Row, Runner, Table, Take};

/// Rows of the left side up to which the right one is read by their keys, if an index does that.
const KEYED_MAX: usize = 10_000;

/// How the right side of a join is read.
enum Right<'q> {
    /// it is not decided yet: these rows of the left side wait
    Undecided(Vec<Row>),
    /// for each row of the left side
    ByRow(&'q Plan),
    /// once
    AtOnce(Rights),
}

/// The rows of the right side.
struct Rights {
    rows: Vec<Row>,
    /// by the values that must be equal
    by_key: Option<Table<Vec<usize>>>,
    /// which of them had a partner, where that matters
    found: Vec<bool>,
    /// what all of it takes
    _held: Held,
}

/// A join, and where in rows its inputs are.
struct Joiner<'q> {
    join: &'q Join,
    left_layout: Vec<SlotId>,
    right_width: usize,
    equal: Option<(Reader<'q>, Reader<'q>)>,
    condition: Option<Reader<'q>>,
    late: Option<(Vec<Stepper<'q>>, Reader<'q>)>,
}

impl<'q> Joiner<'q> {
    fn new(join: &'q Join) -> Self {
        let (left_layout, right_layout) = (join.left.layout(), join.right.layout());
        let mut layout = [&*left_layout, &*right_layout].concat();
        let equal = join.equal.as_ref();
        let equal =
            equal.map(|(l, r)| (Reader::new(l, &left_layout), Reader::new(r, &right_layout)));
        let condition = join.condition.as_ref().map(|scalars| Reader::new(scalars, &layout));
        let late = join.late.as_ref().map(|late| {
            let mut steps = Vec::with_capacity(late.steps.len());
            for step in &late.steps {
                steps.push(Stepper::new(step, &layout));
                layout.extend(&step.outputs);
            }
            (steps, Reader::new(&late.condition, &layout))
        });
        Self { join, left_layout, right_width: right_layout.len(), equal, condition, late }
    }
}

impl<'g, G: Ground> Runner<'g, G> {
    pub(crate) fn joined(&mut self, join: &Join, take: Take<'_, 'g, G>) -> Flow<G::Error> {
        let joiner = Joiner::new(join);
        let mut right = match (&join.keyed, join.lateral) {
            (None, true) => Right::ByRow(&join.right),
            _ => Right::Undecided(Vec::new()),
        };
        let mut held = self.limits.held();
        let flow = self.each(&join.left, &mut |runner, left| {
            if let Right::Undecided(waiting) = &mut right {
                if join.keyed.is_some() && waiting.len() < KEYED_MAX {
                    held.add(bytes_of(&left))?;
                    waiting.push(left);
                    return Ok(MORE);
                }
                let mut lefts = std::mem::take(waiting);
                lefts.push(left);
                right = match join.lateral {
                    true => Right::ByRow(&join.right),
                    false => Right::AtOnce(runner.rights(&joiner)?),
                };
                return runner.joined_rows(&joiner, &mut right, lefts, take);
            }
            runner.joined_row(&joiner, &mut right, left, take)
        })?;
        if flow.is_break() {
            return Ok(flow);
        }
        if let (Right::Undecided(waiting), Some(keyed)) = (&mut right, &join.keyed) {
            let lefts = std::mem::take(waiting);
            right = Right::ByRow(keyed);
            if self.joined_rows(&joiner, &mut right, lefts, take)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if join.kind != JoinKind::Full {
            return Ok(MORE);
        }
        let rights = match right {
            Right::AtOnce(rights) => rights,
            _ => self.rights(&joiner)?, // no row came from the left side
        };
        let nulls = vec![Value::Null; joiner.left_layout.len()];
        let alone = rights.rows.iter().zip(&rights.found).filter(|(_, found)| !**found);
        self.give(alone.map(|(right, _)| paired(&nulls, right)), take)
    }

    fn joined_rows(
        &mut self,
        joiner: &Joiner<'_>,
        right: &mut Right<'_>,
        lefts: Vec<Row>,
        take: Take<'_, 'g, G>,
    ) -> Flow<G::Error> {
        for left in lefts {
            if self.joined_row(joiner, right, left, take)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(MORE)
    }

    /// Gives a row of the left side on with each of its partners.
    fn joined_row(
        &mut self,
        joiner: &Joiner<'_>,
        right: &mut Right<'_>,
        left: Row,
        take: Take<'_, 'g, G>,
    ) -> Flow<G::Error> {
        self.tick()?;
        let key = match &joiner.equal {
            None => None,
            Some((reader, _)) => match join_key(&self.calculator.values(reader, &left)?) {
                Some(key) => Some(key),
                None => return self.alone(joiner, left, take),
            },
        };
        let mut has_partner = false;
        let flow = match right {
            Right::AtOnce(Rights { rows, by_key, found, .. }) => {
                let partners = by_key.as_ref().zip(key).map(|(by_key, key)| by_key.get(&key));
                let partners = partners.map(|found| found.map_or(&[][..], Vec::as_slice));
                let mut flow = MORE;
                for number in 0..partners.map_or(rows.len(), <[usize]>::len) {
                    self.tick_row(&rows[partners.map_or(number, |partners| partners[number])])?;
                    let at = partners.map_or(number, |partners| partners[number]);
                    let Some(row) = self.pair(joiner, paired(&left, &rows[at]))? else {
                        continue;
                    };
                    has_partner = true;
                    if let Some(found) = found.get_mut(at) {
                        *found = true;
                    }
                    flow = take(self, row)?;
                    if flow.is_break() {
                        break;
                    }
                }
                flow
            }
            Right::ByRow(plan) => {
                self.around(&joiner.left_layout, &left);
                self.each(plan, &mut |runner, partner| {
                    if let (Some(key), Some((_, reader))) = (&key, &joiner.equal) {
                        let own = join_key(&runner.calculator.values(reader, &partner)?);
                        if own.as_ref() != Some(key) {
                            return Ok(MORE);
                        }
                    }
                    let Some(row) = runner.pair(joiner, paired(&left, &partner))? else {
                        return Ok(MORE);
                    };
                    has_partner = true;
                    take(runner, row)
                })?
            }
            Right::Undecided(_) => MORE,
        };
        if has_partner { Ok(flow) } else { self.alone(joiner, left, take) }
    }

    /// Reads the right side.
    fn rights(&mut self, joiner: &Joiner<'_>) -> Result<Rights, G::Error> {
        let Kept { rows, mut held } = self.rows(&joiner.join.right)?;
        let by_key = match &joiner.equal {
            None => None,
            Some((_, reader)) => {
                let mut table: Table<Vec<usize>> = Table::default();
                for (at, row) in rows.iter().enumerate() {
                    if let Some(key) = join_key(&self.calculator.values(reader, row)?) {
                        held.add(bytes_of_key(&key) + size_of::<Vec<usize>>())?;
                        table.entry(key).or_default().push(at);
                    }
                    self.tick()?;
                }
                Some(table)
            }
        };
        let found = vec![false; if joiner.join.kind == JoinKind::Full { rows.len() } else { 0 }];
        held.add(found.len())?;
        Ok(Rights { rows, by_key, found, _held: held })
    }

    /// The row of a pair, if the conditions are true of it.
    fn pair(&mut self, joiner: &Joiner<'_>, mut row: Row) -> Result<Option<Row>, G::Error> {
        if let Some(condition) = &joiner.condition
            && !self.calculator.is_true(condition, &row)?
        {
            return Ok(None);
        }
        let Some((steps, condition)) = &joiner.late else { return Ok(Some(row)) };
        let width = row.len();
        for step in steps {
            row = self.extended_one(row, step)?;
        }
        let is_pair = self.calculator.is_true(condition, &row)?;
        row.truncate(width);
        Ok(is_pair.then_some(row))
    }

    /// A row of the left side that has no partner.
    fn alone(&mut self, joiner: &Joiner<'_>, left: Row, take: Take<'_, 'g, G>) -> Flow<G::Error> {
        match joiner.join.kind {
            JoinKind::Inner => Ok(MORE),
            _ => take(self, paired(&left, &vec![Value::Null; joiner.right_width])),
        }
    }
}

fn paired(left: &[Value], right: &[Value]) -> Row {
    left.iter().chain(right).cloned().collect()
}
