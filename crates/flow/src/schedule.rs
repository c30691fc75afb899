//! The schedule of a call in parts: which of its actions runs where, and in which round.
//!
//! Role         from a planned call to rounds: what H-Store calls fragments, and DORA the phases
//!              of a flow graph. What an action needs of another one at the same owner is there
//!              when its turn comes; what it needs of another owner is there one round later.
//!              Actions that belong to nobody, since they work on values alone or read tables that
//!              nobody writes, run where their values come from, else where these go, or, if they
//!              come from several owners, between two rounds, where all that was done in the first
//!              one is known: at H-Store's coordinator, or DORA's rendezvous point
//! Invariants   I1 an action's round is no earlier than that of any it depends on, and later where
//!              somebody else runs that; of one owner and round, they run in the order of their
//!              numbers, which ascend along dependencies
//! Source       partitioned.txt 3.1 (fragments) and 3.3 (application code between rounds); dora.txt
//!              4.1.2 (actions, phases)

#[cfg(test)]
pub(crate) mod tests;

use std::ops::Range;

use hotrow_base::ids::PartitionId;
use hotrow_engine::owners::Concern;
use hotrow_transaction::actions::Batch;
use hotrow_transaction::plan::{Granule, Plan};
use hotrow_transaction::routing::PartitionSet;

/// Who runs an action: an owner, or this, between two rounds.
const BETWEEN: u16 = u16::MAX;

/// One action's place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Step {
    /// who runs it: an owner, or [`BETWEEN`]
    who: u16,
    /// when
    round: u32,
    /// which of the call's actions
    pub action: u32,
    /// the first instance in it that may end the call; none: none may
    pub stops_at: Option<u32>,
}

/// See the module. Memory is used again.
#[derive(Default, Debug)]
pub struct Schedule {
    /// in their order
    steps: Vec<Step>,
    /// by action: whose it is
    owners: Vec<Option<u16>>,
    /// by action: who runs it, and when
    places: Vec<(u16, u32)>,
}

impl Schedule {
    /// Makes that of a planned call, the only one in `batch`, and lists its owners, ascending, each
    /// with the last round in which there is something to do there; false if an action concerns
    /// several owners, or none concerns any. `concern` tells whom a granule concerns.
    pub fn make(
        &mut self,
        batch: &Batch,
        concern: impl Fn(&Plan, &Granule) -> Concern,
        participants: &mut Vec<(u16, u32)>,
    ) -> bool {
        let actions = batch.actions();
        self.steps.clear();
        self.places.clear();
        self.owners.clear();
        let mut owners = PartitionSet::EMPTY;
        for action in actions {
            self.owners.push(
                match concern_of(batch.uses(action), |used| concern(&batch.plan, used)) {
                    Concern::Nobody => None,
                    Concern::One(owner) => {
                        owners.insert(PartitionId(owner));
                        Some(owner)
                    }
                    Concern::All => return false,
                },
            );
        }
        let Some(PartitionId(first)) = owners.iter().next() else { return false };
        for (number, action) in (0..).zip(actions) {
            let (who, round) = self.place(batch, number, first);
            self.places.push((who, round));
            let first = batch.lines(action).first().copied();
            let stops_at = first.filter(|_| action.may_stop);
            self.steps.push(Step { who, round, action: number, stops_at });
        }
        self.steps.sort_unstable();
        participants.clear();
        participants.extend(owners.iter().map(|owner| {
            let rounds = self.steps.iter().filter(|step| step.who == owner.0);
            (owner.0, rounds.map(|step| step.round).max().unwrap_or(0))
        }));
        true
    }

    /// Who runs an action, and when. `first`: one of the call's owners.
    fn place(&self, batch: &Batch, number: u32, first: u16) -> (u16, u32) {
        let before = batch.dependencies().iter().filter(|&&(_, to)| to == number);
        let before = before.map(|&(from, _)| self.places[from as usize]);
        let who = self.owners[number as usize].unwrap_or_else(|| {
            let mut makers = before.clone().map(|(who, _)| who);
            let maker = makers.next();
            let only = maker.filter(|&one| makers.all(|other| other == one));
            match (only, batch.actions()[number as usize].writes) {
                // A row without a key lies where it is inserted; between rounds there are no rows.
                (None | Some(BETWEEN), true) => first,
                (Some(one), _) => one,
                (None, false) if maker.is_none() => self.first_taker(batch, number),
                (None, false) => BETWEEN,
            }
        });
        let there = |(maker, round)| match who {
            BETWEEN => round,
            who if who == maker => round,
            _ => round + 1,
        };
        (who, before.map(there).max().unwrap_or(0))
    }

    /// Whose action is the first that waits for this one; if that is nobody's,
    /// nobody.
    fn first_taker(&self, batch: &Batch, number: u32) -> u16 {
        let takers = batch.dependencies().iter().filter(|&&(from, _)| from == number);
        let mut owners = takers.filter_map(|&(_, to)| self.owners[to as usize]);
        owners.next().unwrap_or(BETWEEN)
    }

    /// All actions, each with its round.
    pub fn actions(&self) -> impl Iterator<Item = (u32, u32)> {
        self.steps.iter().map(|step| (step.round, step.action))
    }

    /// What an owner has to do in a round, in its order.
    pub fn of_owner(&self, owner: u16, round: u32) -> &[Step] {
        &self.steps[self.range(owner, round)]
    }

    /// What an owner has to do from a round on.
    pub fn from_round(&self, owner: u16, round: u32) -> &[Step] {
        let start = self.range(owner, round).start;
        let end = self.steps.partition_point(|step| step.who <= owner);
        &self.steps[start..end]
    }

    /// What is to be done when a round's results are there, in its order.
    pub fn behind_round(&self, round: u32) -> &[Step] {
        &self.steps[self.range(BETWEEN, round)]
    }

    /// Whether something before an instance that failed in a round, which might have failed first,
    /// was not tried; `was_asked` tells whether an owner was asked for anything.
    pub fn leaves_doubt(&self, instance: u32, round: u32, was_asked: impl Fn(u16) -> bool) -> bool {
        let untried = |step: &&Step| match step.who {
            BETWEEN => step.round >= round,
            owner => step.round > round || !was_asked(owner),
        };
        let mut untried = self.steps.iter().filter(untried);
        untried.any(|step| step.stops_at.is_some_and(|at| at < instance))
    }

    fn range(&self, who: u16, round: u32) -> Range<usize> {
        let start = self.steps.partition_point(|step| (step.who, step.round) < (who, round));
        let end = self.steps.partition_point(|step| (step.who, step.round) <= (who, round));
        start..end
    }
}

/// Whom an action concerns that touches these granules: nobody if it works on values alone.
fn concern_of(used: &[Granule], concern: impl Fn(&Granule) -> Concern) -> Concern {
    used.iter().fold(Concern::Nobody, |so_far, used| match (so_far, concern(used)) {
        (so_far, Concern::Nobody) => so_far,
        (Concern::Nobody, other) => other,
        (Concern::One(one), Concern::One(other)) if one == other => so_far,
        _ => Concern::All,
    })
}
