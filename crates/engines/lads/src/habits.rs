//! Habits: which procedures end calls after others have seen what they wrote.
//!
//! Role         such a call costs its whole round, which is taken back. A procedure that has done
//!              it runs as one action for a while, and so harms nobody; twice as long after each
//!              time

use hotrow_base::ids::ProcedureId;

/// Calls that run as a whole after the first time.
const WHOLE_MIN: u32 = 1 << 10;
/// And at most.
const WHOLE_MAX: u32 = 1 << 24;

/// What one worker has seen of all procedures.
#[derive(Default, Debug)]
pub struct Habits(Vec<Habit>);

#[derive(Clone, Copy, Default, Debug)]
struct Habit {
    whole_left: u32,
    last: u32,
}

impl Habits {
    /// Forgets all: there are other procedures.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// Whether a call is to run as a whole; counts it.
    #[inline]
    pub fn runs_whole(&mut self, procedure: ProcedureId) -> bool {
        match self.0.get_mut(procedure.index()) {
            Some(habit) if habit.whole_left > 0 => {
                habit.whole_left -= 1;
                true
            }
            _ => false,
        }
    }

    /// A call of the procedure has made its round go back.
    pub fn goes_back(&mut self, procedure: ProcedureId) {
        if self.0.len() <= procedure.index() {
            self.0.resize(procedure.index() + 1, Habit::default());
        }
        let habit = &mut self.0[procedure.index()];
        habit.last = (habit.last * 2).clamp(WHOLE_MIN, WHOLE_MAX);
        habit.whole_left = habit.last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_goes_back_runs_whole_for_longer_each_time() {
        let mut habits = Habits::default();
        let count = |habits: &mut Habits, procedure| {
            (0..).take_while(|_| habits.runs_whole(ProcedureId(procedure))).count() as u32
        };
        assert_eq!(count(&mut habits, 3), 0);
        habits.goes_back(ProcedureId(3));
        assert_eq!([count(&mut habits, 2), count(&mut habits, 3)], [0, WHOLE_MIN]);
        habits.goes_back(ProcedureId(3));
        assert_eq!(count(&mut habits, 3), 2 * WHOLE_MIN);
        (0..40).for_each(|_| habits.goes_back(ProcedureId(3)));
        assert_eq!(habits.0[3].whole_left, WHOLE_MAX);
        habits.forget();
        assert_eq!(count(&mut habits, 3), 0);
    }
}
