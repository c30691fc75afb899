//! Random requests against a table in which nobody really waits; after every step the rules are
//! checked request by request, in the plainest possible way.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use proptest::prelude::*;

use super::*;

const OWNERS: usize = 6;
const LOCKS: u64 = 3;

#[derive(Clone, Copy, Debug)]
enum Step {
    Ask { owner: usize, lock: u64, mode: Mode },
    End { owner: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let mode = prop::sample::select(&Mode::ALL[..]);
    prop_oneof![
        4 => (0..OWNERS, 0..LOCKS, mode)
            .prop_map(|(owner, lock, mode)| Step::Ask { owner, lock, mode }),
        1 => (0..OWNERS).prop_map(|owner| Step::End { owner }),
    ]
}

/// What each owner knows of itself.
#[derive(Default)]
struct Known {
    held: BTreeMap<u64, Mode>,
    waits: Option<(u64, Mode)>,
}

struct Model {
    table: LockTable,
    owners: Vec<Owner>,
    known: Vec<Known>,
    policy: Policy,
    clock: u64,
}

impl Model {
    fn new(policy: Policy) -> Self {
        let table = LockTable::with_buckets(OWNERS, 2, Deadlocks::of(policy));
        let dynamic = |number| table.owner(number, Standing::Dynamic);
        let mut owners: Vec<Owner> = (0..OWNERS).map(dynamic).collect();
        owners.iter_mut().zip(1..).for_each(|(owner, age)| table.begin(owner, age));
        let known = (0..OWNERS).map(|_| Known::default()).collect();
        Self { table, owners, known, policy, clock: OWNERS as u64 + 1 }
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Ask { owner, lock, mode } if self.known[owner].waits.is_none() => {
                self.ask(owner, lock, mode);
            }
            Step::End { owner } if self.known[owner].waits.is_none() => self.end(owner),
            _ => {}
        }
        while self.learn() {}
        (0..LOCKS).for_each(|lock| self.check(lock));
    }

    fn ask(&mut self, owner: usize, lock: u64, mode: Mode) {
        let known = &mut self.known[owner];
        let target = known.held.get(&lock).map_or(mode, |held| held.join(mode));
        match self.table.acquire(&mut self.owners[owner], lock, mode) {
            Acquired::Granted => {
                known.held.insert(lock, target);
            }
            Acquired::Waiting => known.waits = Some((lock, target)),
            Acquired::Refused(_) => self.end(owner),
        }
    }

    /// Releases everything and begins a new transaction.
    fn end(&mut self, owner: usize) {
        for (lock, _) in std::mem::take(&mut self.known[owner].held) {
            self.table.release(&mut self.owners[owner], lock);
        }
        self.table.renew(&mut self.owners[owner]);
        self.table.begin(&mut self.owners[owner], self.clock);
        self.clock += 1;
    }

    /// Lets owners learn what became of their requests; whether something changed.
    fn learn(&mut self) -> bool {
        for owner in 0..OWNERS {
            let Some((lock, mode)) = self.known[owner].waits else { continue };
            let cell = &self.table.cells[owner];
            if cell.verdict().is_none() && !cell.is_doomed() {
                continue;
            }
            self.known[owner].waits = None;
            match self.table.wait(&mut self.owners[owner], lock) {
                Ok(()) => {
                    self.known[owner].held.insert(lock, mode);
                }
                Err(_) => self.end(owner),
            }
            return true;
        }
        false
    }

    fn age(&self, owner: u32) -> (u64, u32) {
        (self.table.cells[owner as usize].age(), owner)
    }

    fn check(&self, lock: u64) {
        let queue = self.table.bucket(lock).of_lock(lock);
        let mut known = 0;
        for (owner, own) in self.known.iter().enumerate() {
            let wanted = own.waits.filter(|wait| wait.0 == lock).map(|wait| wait.1);
            let held = own.held.get(&lock).copied();
            if held.is_some() || wanted.is_some() {
                known += 1;
                assert!(queue.contains(&(owner as u32, held, wanted)), "{queue:?}");
            }
        }
        assert_eq!(known, queue.len(), "nobody else is in {queue:?}");
        for (at, &(owner, held, wanted)) in queue.iter().enumerate() {
            let others = || queue.iter().enumerate().filter(move |&(other, _)| other != at);
            if let Some(held) = held {
                let compatible =
                    others().all(|(_, other)| other.1.is_none_or(|mode| mode.compatible(held)));
                assert!(compatible, "granted together: {queue:?}");
            }
            let Some(wanted) = wanted else { continue };
            let in_the_way: Vec<u32> = others()
                .filter(|&(place, other)| {
                    let disturbed =
                        |mode: Option<Mode>| mode.is_some_and(|mode| !mode.compatible(wanted));
                    // An ordinary request also waits for conversions and for earlier requests.
                    let waits_behind = held.is_none() && (other.1.is_some() || place < at);
                    disturbed(other.1) || waits_behind && disturbed(other.2)
                })
                .map(|(_, other)| other.0)
                .collect();
            assert!(!in_the_way.is_empty(), "{owner} could have its lock: {queue:?}");
            self.check_wait(owner, &in_the_way, &queue);
        }
    }
}

impl Model {
    /// What the policy promises of an owner that waits for others.
    fn check_wait(&self, owner: u32, others: &[u32], queue: &impl Debug) {
        let cell = |owner: u32| &self.table.cells[owner as usize];
        match self.policy {
            Policy::WaitDie => {
                let oldest = others.iter().all(|&other| self.age(owner) < self.age(other));
                assert!(oldest, "{owner} waits for an older one: {queue:?}");
            }
            Policy::WoundWait => {
                let youngest = others
                    .iter()
                    .all(|&other| self.age(owner) > self.age(other) || cell(other).is_doomed());
                assert!(youngest, "{owner} waits for a younger one: {queue:?}");
            }
            Policy::WaitForGraph => {
                let lead = |edge: &OwnerVersion| {
                    *edge == OwnerVersion::new(edge.owner(), cell(edge.owner()).generation())
                };
                let kept: BTreeSet<_> =
                    cell(owner).part().edges().filter(lead).map(OwnerVersion::owner).collect();
                let others = others.iter().copied().collect();
                assert_eq!(kept, others, "whom {owner} waits for: {queue:?}");
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_wait_keeps_the_rules(steps in prop::collection::vec(step(), 1..60)) {
        let mut model = Model::new(Policy::NoWait);
        steps.into_iter().for_each(|step| model.run(step));
    }

    #[test]
    fn waiting_keeps_the_rules(steps in prop::collection::vec(step(), 1..60)) {
        let mut model = Model::new(Policy::Wait);
        steps.into_iter().for_each(|step| model.run(step));
    }

    #[test]
    fn the_graph_keeps_the_rules(steps in prop::collection::vec(step(), 1..60)) {
        let mut model = Model::new(Policy::WaitForGraph);
        steps.into_iter().for_each(|step| model.run(step));
    }

    #[test]
    fn wound_wait_keeps_the_rules(steps in prop::collection::vec(step(), 1..60)) {
        let mut model = Model::new(Policy::WoundWait);
        steps.into_iter().for_each(|step| model.run(step));
        prop_assert!(model.known.iter().any(|known| known.waits.is_none()));
    }

    #[test]
    fn wait_die_keeps_the_rules(steps in prop::collection::vec(step(), 1..60)) {
        let mut model = Model::new(Policy::WaitDie);
        steps.into_iter().for_each(|step| model.run(step));
        // Nobody waits for ever: there is always one who does not wait.
        prop_assert!(model.known.iter().any(|known| known.waits.is_none()));
    }
}
