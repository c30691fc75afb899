//! Runs a procedure in every way and compares.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use hotrow_transaction::access::RecordAccess;
use hotrow_transaction::actions::{
    Action, ActionPlanner, ActionProgram, Batch, BatchCall, Failure, Order, Wanted, WhyWhole,
    execute, explain_call, explain_leaves,
};
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::granule::Granules;
use hotrow_transaction::interpret::{NoHook, run};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::{Rows, SqlError, Stop};
use hotrow_transaction::plan::Plan;
use hotrow_transaction::program::Procedure;
use hotrow_transaction::reference::{Dump, ModelStore};
use hotrow_transaction::routing::Routing;
use hotrow_transaction::slice::Knowledge;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::checked::Checked;

/// What a call came to: rows, or an error, and what was said; and the state it left.
#[derive(Clone, PartialEq, Debug)]
pub enum Ended {
    Rows(Rows, Dump),
    Error(Box<SqlError>),
    Replan,
}

/// A procedure in all its forms.
pub struct Subject<'a> {
    pub catalog: &'a Catalog,
    pub granules: &'a Granules,
    pub compiled: Arc<CompiledProcedure>,
    pub actions: ActionProgram,
}

/// How often what happened.
#[derive(Default, Debug)]
pub struct Tally {
    pub calls: usize,
    /// calls that say something
    pub told: usize,
    pub replans: usize,
    pub errors: usize,
    pub whole: usize,
    pub actions: usize,
    /// calls whose conditions could be put first
    pub first: usize,
    pub flat: usize,
    /// calls of procedures with accesses that are cut in two
    pub split: usize,
    /// calls of procedures with reads of columns that nobody changes, in tables that are written
    pub unlocked: usize,
    pub parallel: usize,
    /// calls of procedures that catch errors
    pub protected: usize,
    /// and whose plans hold what errors lead to
    pub held: usize,
}

/// A planner that has planned other calls, and a batch with the last one behind others.
#[derive(Default)]
pub struct Planned {
    planner: ActionPlanner,
    pub batch: Batch,
}

impl Planned {
    /// Plans a call, behind as many others as there are in `before`.
    pub fn make(
        &mut self,
        before: &[Wanted],
        wanted: Wanted,
        call: (&ActionProgram, &Invocation),
        access: &mut impl RecordAccess,
    ) {
        let Self { planner, batch } = self;
        let mut frame = Frame::new();
        batch.clear();
        for &wanted in before.iter().chain([&wanted]) {
            let added = planner.add(batch, wanted, call, &mut frame, access);
            added.expect("planning does not stop");
        }
    }

    pub fn call(&self) -> &BatchCall {
        self.batch.calls().last().expect("one was planned")
    }

    pub fn actions(&self) -> &[Action] {
        let Range { start, end } = self.batch.actions_of(self.call());
        &self.batch.actions()[start as usize..end as usize]
    }

    /// As they would be if the call were alone.
    pub fn dependencies(&self) -> Vec<(u32, u32)> {
        let own = self.batch.actions_of(self.call());
        let all = self.batch.dependencies().iter();
        let all = all.filter(|(from, _)| own.contains(from));
        all.map(|&(from, to)| (from - own.start, to - own.start)).collect()
    }

    fn phases(&self) -> u32 {
        self.actions().iter().map(|action| action.phase + 1).max().unwrap_or(0)
    }
}

struct RandomOrder<'r>(&'r mut SmallRng);

impl<'c> Order<Checked<'c>> for RandomOrder<'_> {
    fn choose(&mut self, ready: usize) -> usize {
        self.0.random_range(0..ready)
    }

    fn enter(&mut self, access: &mut Checked<'c>, batch: &Batch, action: u32) {
        let uses = batch.uses(&batch.actions()[action as usize]).iter();
        access.held = Some(uses.map(|held| (held.lock, held.mode)).collect());
    }
}

impl<'a> Subject<'a> {
    pub fn new(catalog: &'a Catalog, granules: &'a Granules, procedure: &Procedure) -> Self {
        let compiled = CompiledProcedure::new(catalog, granules, procedure.clone());
        let compiled = Arc::new(compiled.expect("it lowers"));
        let actions = ActionProgram::new(catalog, granules, &compiled).expect("it lowers");
        Self { catalog, granules, compiled, actions }
    }

    pub fn checked(&self, store: &ModelStore) -> Checked<'a> {
        let (catalog, granules) = (self.catalog, self.granules);
        Checked { store: store.clone(), catalog, granules, held: None, writes: 0 }
    }

    /// The call as it is written; and how many writes it tried.
    fn direct(&self, store: &ModelStore, invocation: &Invocation) -> (Ended, usize) {
        let mut access = self.checked(store);
        let program = &self.compiled.program;
        let mut frame = Frame::new();
        frame.begin(program, invocation);
        let ended = run(program, 0, &mut frame, &mut access, &mut NoHook);
        (self.ended(ended, &mut frame, &access), access.writes)
    }

    fn ended(&self, ended: Result<(), Stop>, frame: &mut Frame, access: &Checked<'_>) -> Ended {
        match ended {
            Ok(()) => {
                let rows = frame.take_rows(&self.compiled.program);
                Ended::Rows(rows, access.store.dump())
            }
            Err(Stop::Error) => {
                Ended::Error(Box::new(frame.take_error().expect("an error has a text")))
            }
            Err(Stop::Replan) => Ended::Replan,
            Err(other) => panic!("stopped: {other:?}"),
        }
    }

    /// The call as one piece, with planned keys, inside its planned footprint.
    fn planned(&self, store: &ModelStore, invocation: &Invocation) -> Ended {
        let mut access = self.checked(store);
        let (mut plan, mut frame) = (Plan::default(), Frame::new());
        plan.make(&self.compiled.plan, invocation, &mut frame, &mut access)
            .expect("planning does not stop");
        let held: HashMap<_, _> =
            plan.footprint().granules().iter().map(|g| (g.lock, g.mode)).collect();
        access.held = Some(held);
        let program = &self.compiled.program;
        frame.begin(program, invocation);
        let ended = run(program, 0, &mut frame, &mut access, &mut plan.keys());
        self.ended(ended, &mut frame, &access)
    }

    /// The call as actions, in some order.
    fn acted(
        &self,
        store: &ModelStore,
        invocation: &Invocation,
        plan: &mut Planned,
        random: &mut SmallRng,
        wanted: Wanted,
    ) -> Ended {
        let mut access = self.checked(store);
        let call = (&self.actions, invocation);
        plan.make(&[Wanted::Whole, wanted, Wanted::Actions], wanted, call, &mut access);
        // It has planned calls before, some of this shape, and the batch has others: that is to
        // make no difference.
        let mut first = Planned::default();
        first.make(&[], wanted, call, &mut access);
        let formed = |plan: &Planned| {
            let call = (&plan.batch, plan.call());
            let text = explain_call(self.catalog, &self.actions, call);
            (text, plan.dependencies(), plan.call().whole)
        };
        assert_eq!(formed(plan), formed(&first));
        if wanted == Wanted::ConditionsFirst && plan.call().whole.is_none() {
            check_conditions(plan);
        }
        let (call, mut order) = ((&plan.batch, plan.call()), RandomOrder(random));
        match execute(&self.actions, call, invocation, &mut access, &mut order) {
            Ok(rows) => Ended::Rows(rows, access.store.dump()),
            Err(Failure::Error(error)) => Ended::Error(error),
            Err(Failure::Stop(Stop::Replan)) => Ended::Replan,
            Err(Failure::Stop(other)) => panic!("stopped: {other:?}"),
        }
    }

    /// Compares all ways of running a call; an error says what differs.
    pub fn check(
        &self,
        store: &ModelStore,
        invocation: &Invocation,
        plan: &mut Planned,
        seed: u64,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let (direct, writes) = self.direct(store, invocation);
        tally.calls += 1;
        tally.split += !self.actions.apart.is_empty() as usize;
        let is_unlocked = |knowledge: &Knowledge| *knowledge == Knowledge::UnlockedColumns;
        tally.unlocked += self.compiled.knowledge.iter().any(is_unlocked) as usize;
        tally.errors += matches!(direct, Ended::Error(_)) as usize;
        tally.told += match &direct {
            Ended::Rows(rows, _) => !rows.notices.is_empty() as usize,
            Ended::Error(error) => !error.notices.is_empty() as usize,
            Ended::Replan => 0,
        };
        // A trial read is only wrong about what the call itself changes.
        let plans_errors = !self.compiled.plan.may_miss;
        tally.protected += !self.compiled.protected.is_empty() as usize;
        tally.held += (plans_errors && !self.compiled.protected.is_empty()) as usize;
        let must_succeed =
            plans_errors && (writes == 0 || !self.compiled.plan.needs_reconnaissance);
        let planned = self.planned(store, invocation);
        if planned != direct && (planned != Ended::Replan || must_succeed) {
            return Err(format!("planned: {planned:?}\ndirect: {direct:?}\n{}", self.text(plan)));
        }
        let mut random = SmallRng::seed_from_u64(seed);
        let must_succeed = plans_errors && (writes == 0 || !self.actions.needs_reconnaissance());
        use Wanted::{Actions, ConditionsFirst, Whole};
        for wanted in [Whole, ConditionsFirst, Actions, Actions] {
            let acted = self.acted(store, invocation, plan, &mut random, wanted);
            if wanted == ConditionsFirst {
                tally.first += (plan.call().whole != Some(WhyWhole::DecidesLate)) as usize;
                tally.replans += (acted == Ended::Replan) as usize;
            }
            if acted != direct && (acted != Ended::Replan || must_succeed) {
                return Err(format!("actions: {acted:?}\ndirect: {direct:?}\n{}", self.text(plan)));
            }
        }
        let actions = plan.actions().len();
        tally.whole += plan.call().whole.is_some() as usize;
        tally.actions += actions;
        tally.parallel += ((plan.phases() as usize) < actions) as usize;
        for _ in 0..2 {
            let Some(flat) = self.flat(store, invocation, &mut random) else { break };
            tally.flat += 1;
            if flat != direct {
                return Err(format!("flat: {flat:?}\ndirect: {direct:?}\n{}", self.text(plan)));
            }
        }
        Ok(())
    }

    pub fn text(&self, plan: &Planned) -> String {
        let procedure = &self.compiled.procedure;
        format!(
            "{}{}{}",
            hotrow_transaction::explain::explain(
                self.catalog,
                self.granules,
                &Routing::infer(self.catalog, self.granules, [procedure]),
                &self.compiled
            ),
            explain_leaves(&self.actions, procedure),
            explain_call(self.catalog, &self.actions, (&plan.batch, plan.call()))
        )
    }
}

/// Of a call whose conditions come first: whoever writes depends on all others that decide.
fn check_conditions(plan: &Planned) {
    let actions = || (0..).zip(plan.actions());
    let dependencies = plan.dependencies();
    for (before, _) in actions().filter(|(_, action)| action.decides) {
        for (after, _) in actions().filter(|(_, action)| action.writes) {
            let depends = dependencies.binary_search(&(before, after)).is_ok();
            assert!(before == after || depends, "{after} does not wait for {before}");
        }
    }
}
