//! What operators of a query took, for EXPLAIN ANALYZE.

use std::collections::HashMap;

use hotrow_base::clock::Ticks;

use crate::plan::{Plan, Query};
use crate::{Flow, Ground, Runner, Take};

/// What an operator did while a query ran.
#[derive(Clone, Copy, Default, Debug)]
pub struct Measured {
    /// times it was begun
    pub times: u64,
    /// rows that it gave, all times together
    pub rows: u64,
    /// nanoseconds that it and its inputs took, without who took the rows
    pub nanoseconds: u64,
}

/// Numbers of a query's operators, as [`Plan::walk`] comes to them: the same, however often the
/// query is compiled.
#[derive(Default, Debug)]
pub struct PlanNumbers(HashMap<usize, usize, foldhash::fast::RandomState>);

impl PlanNumbers {
    /// Those of a query, which has to stay where it is.
    pub fn of(query: &Query) -> Self {
        let mut numbers = HashMap::default();
        query.plan.walk(&mut |plan| {
            let next = numbers.len();
            numbers.entry(address(plan)).or_insert(next);
        });
        Self(numbers)
    }

    /// The number of one of its operators.
    pub fn number(&self, plan: &Plan) -> Option<usize> {
        self.0.get(&address(plan)).copied()
    }
}

/// By operator of one query.
#[derive(Default, Debug)]
pub struct Profile {
    numbers: PlanNumbers,
    measured: Vec<Measured>,
}

impl Profile {
    /// Of a query that has not run.
    pub fn new(query: &Query) -> Self {
        let numbers = PlanNumbers::of(query);
        let measured = vec![Measured::default(); numbers.0.len()];
        Self { numbers, measured }
    }

    /// What an operator did; none of one that was not begun.
    pub fn of(&self, number: usize) -> Option<Measured> {
        self.measured.get(number).copied().filter(|measured| measured.times > 0)
    }

    pub(crate) fn note(&mut self, plan: &Plan, rows: u64, nanoseconds: u64) {
        let known = self.numbers.number(plan).and_then(|number| self.measured.get_mut(number));
        if let Some(known) = known {
            known.times += 1;
            known.rows += rows;
            known.nanoseconds += nanoseconds;
        }
    }
}

fn address(plan: &Plan) -> usize {
    std::ptr::from_ref(plan).addr()
}

impl<'g, G: Ground> Runner<'g, G> {
    /// Measures an operator without who takes its rows.
    pub(crate) fn each_measured(&mut self, plan: &Plan, take: Take<'_, 'g, G>) -> Flow<G::Error> {
        let (began, mut rows, mut outside) = (Ticks::now(), 0, 0);
        let flow = self.each_here(plan, &mut |runner, row| {
            rows += 1;
            let given = Ticks::now();
            let wanted = take(runner, row);
            outside += Ticks::now().nanos_since(given);
            wanted
        });
        let took = Ticks::now().nanos_since(began).saturating_sub(outside);
        self.profile.iter_mut().for_each(|profile| profile.note(plan, rows, took));
        flow
    }
}
