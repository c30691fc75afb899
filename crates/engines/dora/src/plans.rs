//! DORA-P or DORA-S: whether a call's halls run side by side, or one after the other.
//!
//! Role         by procedure, from how often its calls abort: what runs beside an action that fails
//!              runs in vain. Each home decides for its own calls, and has those halls begin whose
//!              actions fail most often
//! States       parallel -> sequential, when a tenth of the last few hundred calls have aborted ->
//!              parallel, when it is less than a twentieth
//! Source       dora.txt 4.2.4 (the execution of parallel actions is serialized where abort rates
//!              are high) and 5.4 (figure 10: 37.5 % aborts). The paper does not say how that is
//!              noticed, nor which action comes first

use hotrow_base::ids::ProcedureId;

/// How plans are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Plans {
    /// by what is observed
    #[default]
    Chosen,
    /// always side by side: DORA-P
    Parallel,
    /// always one after the other: DORA-S
    Sequential,
}

/// How much of the past one more call takes the place of.
const WEIGHT: f64 = 1.0 / 256.0;
/// The share of calls that abort from which on, and below which, plans change.
const SEQUENTIAL_FROM: f64 = 0.1;
const PARALLEL_BELOW: f64 = 0.05;

/// What is known of a procedure.
#[derive(Clone, Default, Debug)]
struct Habit {
    /// share of its calls that have aborted, late ones counting more
    aborts: f64,
    /// by leaf of its actions: share of these aborts that began there
    leaves: Vec<f64>,
    is_sequential: bool,
    /// its calls that have ended, and how many of them when its plan changed last
    calls: u64,
    changed_at: u64,
}

/// Chooses plans by procedure.
#[derive(Debug)]
pub struct PlanChooser {
    plans: Plans,
    /// by procedure
    habits: Vec<Habit>,
}

impl PlanChooser {
    /// One that has seen nothing yet.
    pub fn new(plans: Plans) -> Self {
        Self { plans, habits: Vec::new() }
    }

    /// Whether the halls of a procedure's next call run one after the other.
    pub fn is_sequential(&self, procedure: ProcedureId) -> bool {
        match self.plans {
            Plans::Parallel => false,
            Plans::Sequential => true,
            Plans::Chosen => {
                self.habits.get(procedure.index()).is_some_and(|habit| habit.is_sequential)
            }
        }
    }

    /// How likely it is a leaf of a procedure's actions that fails, where one does.
    pub fn fails(&self, procedure: ProcedureId, leaf: u16) -> f64 {
        let habit = self.habits.get(procedure.index());
        habit.and_then(|habit| habit.leaves.get(usize::from(leaf))).copied().unwrap_or(0.0)
    }

    /// Notes in which leaf of a procedure's actions a call has failed.
    pub fn note_leaf(&mut self, procedure: ProcedureId, leaf: u16) {
        let (procedure, leaf) = (procedure.index(), usize::from(leaf));
        self.make_room(procedure);
        let leaves = &mut self.habits[procedure].leaves;
        leaves.resize(leaves.len().max(leaf + 1), 0.0);
        leaves.iter_mut().for_each(|share| *share -= WEIGHT * *share);
        leaves[leaf] += WEIGHT;
    }

    fn make_room(&mut self, procedure: usize) {
        if self.habits.len() <= procedure {
            self.habits.resize(procedure + 1, Habit::default());
        }
    }

    /// Notes how a call has ended; whether its procedure's plan has changed.
    pub fn note(&mut self, procedure: ProcedureId, aborted: bool) -> bool {
        if self.plans != Plans::Chosen {
            return false;
        }
        self.make_room(procedure.index());
        let habit = &mut self.habits[procedure.index()];
        habit.calls += 1;
        habit.aborts += WEIGHT * (f64::from(u8::from(aborted)) - habit.aborts);
        let was_sequential = habit.is_sequential;
        habit.is_sequential = match was_sequential {
            false => habit.aborts >= SEQUENTIAL_FROM,
            true => habit.aborts >= PARALLEL_BELOW,
        };
        let has_changed = habit.is_sequential != was_sequential;
        if has_changed {
            habit.changed_at = habit.calls;
        }
        has_changed
    }

    /// The procedures whose halls run one after the other, the share of their calls that abort, and
    /// since which call it is so.
    pub fn sequential(&self) -> impl Iterator<Item = (ProcedureId, f64, u64)> {
        let sequential = (0..).zip(&self.habits).filter(|(_, habit)| habit.is_sequential);
        sequential.map(|(number, habit)| (ProcedureId(number), habit.aborts, habit.changed_at))
    }

    /// Procedures have other numbers from now on.
    pub fn forget(&mut self) {
        self.habits.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: ProcedureId = ProcedureId(0);
    const OFTEN: ProcedureId = ProcedureId(2);

    #[test]
    fn who_aborts_often_is_run_in_sequence_until_he_hardly_does() {
        let mut chooser = PlanChooser::new(Plans::Chosen);
        let mut changes = Vec::new();
        for call in 0..4_000 {
            // 37.5 %, then 7, which is between the two, then 1.
            let percent = [375, 70, 10][(call / 1_000).min(2)];
            let aborted = call * 7_919 % 1_000 < percent;
            assert!(!chooser.note(NEVER, false));
            if chooser.note(OFTEN, aborted) {
                changes.push((call, chooser.is_sequential(OFTEN)));
            }
        }
        println!("{changes:?}");
        assert!(!chooser.is_sequential(NEVER));
        let [(first, true), (last, false)] = changes[..] else { panic!("{changes:?}") };
        assert!(first < 200 && last > 2_000, "{changes:?}");
        assert_eq!(chooser.sequential().count(), 0);
    }

    #[test]
    fn where_calls_fail_is_learnt_and_forgotten() {
        let mut chooser = PlanChooser::new(Plans::Sequential);
        assert_eq!(chooser.fails(OFTEN, 3), 0.0);
        (0..100).for_each(|call| chooser.note_leaf(OFTEN, if call % 5 == 0 { 1 } else { 3 }));
        assert!(chooser.fails(OFTEN, 3) > chooser.fails(OFTEN, 1));
        assert_eq!((chooser.fails(OFTEN, 2), chooser.fails(OFTEN, 9)), (0.0, 0.0));
        (0..300).for_each(|_| chooser.note_leaf(OFTEN, 0));
        assert!(chooser.fails(OFTEN, 0) > chooser.fails(OFTEN, 3));
    }

    #[test]
    fn what_is_set_is_not_chosen() {
        for (plans, sequential) in [(Plans::Parallel, false), (Plans::Sequential, true)] {
            let mut chooser = PlanChooser::new(plans);
            (0..100).for_each(|call| assert!(!chooser.note(OFTEN, call % 2 == 0)));
            assert_eq!(chooser.is_sequential(OFTEN), sequential);
        }
    }
}
