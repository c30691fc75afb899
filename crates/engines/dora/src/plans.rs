//! DORA-P or DORA-S: whether a call's halls run side by side, or one after the other.
//!
//! Role         by procedure, from how often its calls abort: what runs beside an action that fails
//!              runs in vain. Each home decides for its own calls
//! States       parallel -> sequential, when a tenth of the last few hundred calls have aborted ->
//!              parallel, when it is less than a twentieth
//! Source       dora.txt 4.2.4 (the execution of parallel actions is serialized where abort rates
//!              are high) and 5.4 (figure 10: 37.5 % aborts). The paper does not say how that is
//!              noticed

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
#[derive(Clone, Copy, Default, Debug)]
struct Habit {
    /// share of its calls that have aborted, late ones counting more
    aborts: f64,
    is_sequential: bool,
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

    /// Notes how a call has ended; whether its procedure's plan has changed.
    pub fn note(&mut self, procedure: ProcedureId, aborted: bool) -> bool {
        if self.plans != Plans::Chosen {
            return false;
        }
        let at = procedure.index();
        if self.habits.len() <= at {
            self.habits.resize(at + 1, Habit::default());
        }
        let habit = &mut self.habits[at];
        habit.aborts += WEIGHT * (f64::from(u8::from(aborted)) - habit.aborts);
        let was_sequential = habit.is_sequential;
        habit.is_sequential = match was_sequential {
            false => habit.aborts >= SEQUENTIAL_FROM,
            true => habit.aborts >= PARALLEL_BELOW,
        };
        habit.is_sequential != was_sequential
    }

    /// The procedures whose halls run one after the other, and the share of their calls that abort.
    pub fn sequential(&self) -> impl Iterator<Item = (ProcedureId, f64)> {
        let sequential = (0..).zip(&self.habits).filter(|(_, habit)| habit.is_sequential);
        sequential.map(|(number, habit)| (ProcedureId(number), habit.aborts))
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
    fn what_is_set_is_not_chosen() {
        for (plans, sequential) in [(Plans::Parallel, false), (Plans::Sequential, true)] {
            let mut chooser = PlanChooser::new(plans);
            (0..100).for_each(|call| assert!(!chooser.note(OFTEN, call % 2 == 0)));
            assert_eq!(chooser.is_sequential(OFTEN), sequential);
        }
    }
}
