//! Habits: which procedures end calls after others have seen what they wrote.
//!
//! Role         such a call costs its whole round, which is taken back. A procedure that has done
//!              it runs as one action for a while, and so harms nobody; twice as long after each
//!              time. And which procedures touch what one worker has: to find that out of a call
//!              that does not is a plan made in vain

use hotrow_base::ids::ProcedureId;

/// Calls that run as a whole after the first time.
const WHOLE_MIN: u32 = 1 << 10;
/// And at most.
const WHOLE_MAX: u32 = 1 << 24;
/// After so many calls in a row that were spread over workers, the most are taken to be, before one
/// is looked at again: 63.
const SPREAD_MAX: u32 = 6;

/// What one worker has seen of all procedures.
#[derive(Default, Debug)]
pub struct Habits(Vec<Habit>);

#[derive(Clone, Copy, Default, Debug)]
struct Habit {
    whole_left: u32,
    last: u32,
    /// calls in a row that were spread over workers, at most [`SPREAD_MAX`]
    spread: u32,
    /// calls that are taken to be
    spread_left: u32,
}

impl Habits {
    /// Forgets all: there are other procedures.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// Whether a call is to run as a whole; counts it.
    #[inline]
    pub fn runs_whole(&mut self, procedure: ProcedureId) -> bool {
        self.count_down(procedure, |habit| &mut habit.whole_left)
    }

    /// Whether it is worth while to find out if one worker has all that a call touches; counts it.
    #[inline]
    pub fn may_be_local(&mut self, procedure: ProcedureId) -> bool {
        !self.count_down(procedure, |habit| &mut habit.spread_left)
    }

    /// Takes one of what is left; whether something was.
    #[inline]
    fn count_down(&mut self, of: ProcedureId, left: impl FnOnce(&mut Habit) -> &mut u32) -> bool {
        let Some(left) = self.0.get_mut(of.index()).map(left) else { return false };
        let some = *left > 0;
        *left -= u32::from(some);
        some
    }

    /// It was found out.
    #[inline]
    pub fn was_local(&mut self, procedure: ProcedureId, was: bool) {
        let habit = self.of(procedure);
        habit.spread = if was { 0 } else { (habit.spread + 1).min(SPREAD_MAX) };
        habit.spread_left = (1 << habit.spread) - 1;
    }

    fn of(&mut self, procedure: ProcedureId) -> &mut Habit {
        if self.0.len() <= procedure.index() {
            self.0.resize(procedure.index() + 1, Habit::default());
        }
        &mut self.0[procedure.index()]
    }

    /// A call of the procedure has made its round go back.
    pub fn goes_back(&mut self, procedure: ProcedureId) {
        let habit = self.of(procedure);
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

    #[test]
    fn who_is_spread_is_looked_at_less_often_until_one_is_local() {
        let mut habits = Habits::default();
        let mut skipped = |was| {
            let procedure = ProcedureId(1);
            habits.was_local(procedure, was);
            (0..).take_while(|_| !habits.may_be_local(procedure)).count()
        };
        let all = [false; 8].map(&mut skipped);
        assert_eq!(all, [1, 3, 7, 15, 31, 63, 63, 63]);
        assert_eq!([skipped(true), skipped(false)], [0, 1]);
    }
}
