//! The keeper of heat: turns counts of waits into classes that do not waver.
//!
//! Invariants   I1 a lock keeps its class while its heat is within a factor of two of it, and stays
//!              hot until it is waited for hardly any more: what is hot is waited for less for
//!              being taken last, and must not become cold for that
//!
//! Heat is a running mean of waits per period: a new period counts for one sixteenth, half of it is
//! forgotten after eleven of them.

use std::collections::BTreeMap;
use std::time::Duration;

use hotrow_base::clock::Ticks;

use super::Rule;
use super::classes::{CLASS_MAX, Class, Classes, HOT_MAX};
use super::sketch::Sketch;

/// Heat of one wait per period.
const WAIT: u32 = 1 << 8;
/// A period's share in the mean: one part in 16.
const MEAN_SHIFT: u32 = 4;
/// Waits per period that make a lock hot, if one in so many calls waits for it: what it costs to
/// take some locks later than others is a twentieth of a short call, for all calls.
const HOT: u32 = 2 * WAIT;
const CALLS_PER_WAIT: u32 = 512;
/// A hot lock is cold again when it is so many times less than hot.
const COLD_SHIFT: u32 = 4;
/// Each class is as many times as hot as the one below.
const CLASS_STEP: u32 = 4;
/// After so many periods without a look hardly anything is left.
const MISSED_MAX: u128 = 200;
/// Locks that are remembered; the coldest are forgotten.
const WARM_MAX: usize = 4 * HOT_MAX;

#[derive(Clone, Copy, Default, Debug)]
struct Warm {
    heat: u32,
    class: Class,
}

/// Heat by lock, and classes that wait for a moment in which they can be set.
#[derive(Debug)]
pub struct Keeper {
    warm: BTreeMap<u64, Warm>,
    /// number of the last draw, where classes are drawn
    draws: Option<u64>,
    /// calls per period, a running mean like heat
    calls: u32,
    period: Duration,
    due: Ticks,
    /// classes that no moment was found for yet
    pub missed: Option<Classes>,
}

impl Keeper {
    /// Nothing is warm; the first period begins now.
    pub fn new(rule: Rule, period: Duration) -> Self {
        let draws = (rule == Rule::Drawn).then_some(0);
        let due = Ticks::from_now(period);
        Self { warm: BTreeMap::new(), draws, calls: 0, period, due, missed: None }
    }

    /// Whether the period is over; then the next one begins, and what was warm cools down.
    pub fn is_due(&mut self, now: Ticks) -> bool {
        if now < self.due {
            return false;
        }
        let late = u128::from(now.nanos_since(self.due));
        let missed = late.checked_div(self.period.as_nanos()).unwrap_or(0);
        self.due = now.after(self.period);
        (0..=missed.min(MISSED_MAX)).for_each(|_| self.cool());
        true
    }

    fn cool(&mut self) {
        self.calls -= self.calls >> MEAN_SHIFT;
        self.warm.retain(|_, warm| {
            warm.heat -= warm.heat.div_ceil(1 << MEAN_SHIFT);
            warm.heat > 0 || warm.class > 0
        });
    }

    /// Adds what a worker waited for in the period.
    pub fn add(&mut self, sketch: &mut Sketch) {
        self.calls = self.calls.saturating_add(std::mem::take(&mut sketch.calls) >> MEAN_SHIFT);
        for counter in sketch.drain() {
            let warm = self.warm.entry(counter.lock).or_default();
            let heat = counter.waits.saturating_mul(WAIT >> MEAN_SHIFT);
            warm.heat = warm.heat.saturating_add(heat);
        }
    }

    /// The classes that should be in force, if they are not those told last.
    pub fn classes(&mut self) -> Option<Classes> {
        if let Some(draws) = &mut self.draws {
            *draws += 1;
            return Some(Classes::drawn(*draws));
        }
        let changed = self.classify();
        self.forget();
        changed.then(|| {
            let hot = self.warm.iter().filter(|(_, warm)| warm.class > 0);
            let hot: Vec<_> = hot.map(|(&lock, warm)| (lock, warm.class)).collect();
            Classes::new(&hot)
        })
    }

    /// Whether any class has changed.
    fn classify(&mut self) -> bool {
        let share = u64::from(self.calls) * u64::from(WAIT) / u64::from(CALLS_PER_WAIT);
        let floor = HOT.max(share.try_into().unwrap_or(u32::MAX));
        let mut hot: Vec<(u32, u64)> = Vec::new();
        for (&lock, warm) in &self.warm {
            if warm.next_class(floor) > 0 {
                hot.push((warm.weight(), lock));
            }
        }
        hot.sort_unstable_by(|a, b| b.cmp(a));
        let least = hot.get(HOT_MAX - 1).copied().unwrap_or_default();
        let mut changed = false;
        for (&lock, warm) in &mut self.warm {
            let class = if (warm.weight(), lock) >= least { warm.next_class(floor) } else { 0 };
            changed |= class != warm.class;
            warm.class = class;
        }
        changed
    }

    /// Forgets the coldest where there are too many.
    fn forget(&mut self) {
        if self.warm.len() > WARM_MAX {
            let mut heats: Vec<u32> = self.warm.values().map(|warm| warm.heat).collect();
            heats.sort_unstable();
            let least = heats[heats.len() - WARM_MAX / 2];
            self.warm.retain(|_, warm| warm.heat >= least || warm.class > 0);
        }
    }
}

impl Warm {
    /// What orders locks of which not all can be hot; those that are stay so beside equal ones.
    fn weight(self) -> u32 {
        if self.class > 0 { self.heat.saturating_mul(2) } else { self.heat }
    }

    /// The class that the heat calls for (I1), where `hot` is that of class 1.
    fn next_class(self, hot: u32) -> Class {
        // The heat from which on a lock may come into a class.
        let floor = |class: Class| hot.saturating_mul(CLASS_STEP.pow(u32::from(class) - 1));
        let stays = match self.class {
            0 => false,
            class => {
                let least = if class == 1 { hot >> COLD_SHIFT } else { floor(class) / 2 };
                let above = class == CLASS_MAX || self.heat / 2 < floor(class + 1);
                self.heat >= least && above
            }
        };
        if stays {
            return self.class;
        }
        (1..=CLASS_MAX).rev().find(|&class| self.heat >= floor(class)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(20);

    /// A keeper and its clock.
    struct Periods {
        keeper: Keeper,
        now: Ticks,
        calls: u32,
    }

    impl Periods {
        fn new() -> Self {
            Self { keeper: Keeper::new(Rule::ByHeat, PERIOD), now: Ticks::now(), calls: 0 }
        }

        /// A period in which locks were waited for so often.
        fn period(&mut self, waits: &[(u64, u32)]) -> Option<Classes> {
            self.now = self.now.after(PERIOD);
            assert!(self.keeper.is_due(self.now));
            let mut sketch = Sketch::default();
            sketch.calls = self.calls;
            for &(lock, waits) in waits {
                (0..waits).for_each(|_| sketch.count(lock));
            }
            self.keeper.add(&mut sketch);
            self.keeper.classes()
        }

        /// Many periods; the classes in the end, and how often they changed.
        fn periods(&mut self, waits: &[(u64, u32)]) -> (Option<Classes>, usize) {
            let changes: Vec<_> = (0..200).filter_map(|_| self.period(waits)).collect();
            let count = changes.len();
            (changes.into_iter().last(), count)
        }
    }

    const A: u64 = 0x1234_5678_9abc_def0;
    const B: u64 = 0xfedc_ba98_7654_3210;

    #[test]
    fn what_is_waited_for_becomes_hot_and_cold_again() {
        let mut periods = Periods::new();
        let (classes, changes) = periods.periods(&[(A, 40), (B, 3)]);
        let classes = classes.expect("both are hot");
        assert!(classes.class(A) > classes.class(B), "the hotter comes later");
        assert!(classes.class(B) >= 1);
        assert!(changes <= 6, "classes settle: {changes} changes");
        assert!(periods.period(&[(A, 40), (B, 3)]).is_none(), "nothing has changed");
        let (classes, _) = periods.periods(&[]);
        assert!(classes.expect("both have cooled down").is_empty());
    }

    #[test]
    fn a_rare_wait_heats_nothing() {
        let mut periods = Periods::new();
        assert!(periods.periods(&[(A, 1)]).0.is_none());
        // Many waits are rare, too, among very many calls.
        periods.calls = 100 * CALLS_PER_WAIT;
        assert!(periods.periods(&[(B, 90)]).0.is_none());
        assert!(periods.periods(&[(B, 110)]).0.is_some());
    }

    #[test]
    fn what_is_hot_stays_hot_though_it_is_waited_for_less() {
        let mut periods = Periods::new();
        periods.periods(&[(A, 3)]);
        assert!(periods.periods(&[(A, 1)]).0.is_none(), "one wait a period keeps it hot");
    }

    #[test]
    fn only_so_many_are_hot() {
        let mut periods = Periods::new();
        let lock = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let first: Vec<_> = (1..=100).map(|number| (lock(number), 3)).collect();
        let second: Vec<_> = (101..=200).map(|number| (lock(number), 3)).collect();
        periods.periods(&first);
        let both: Vec<_> = first.iter().chain(&second).copied().collect();
        // A sketch has room for fewer: what has none takes the places of others.
        let (classes, _) = periods.periods(&both[..120]);
        let classes = classes.expect("more are hot");
        let hot = both.iter().filter(|(lock, _)| classes.class(*lock) > 0).count();
        assert_eq!(hot, 120);
        periods.periods(&both[120..]);
        let hot = periods.keeper.warm.values().filter(|warm| warm.class > 0).count();
        assert!(hot <= HOT_MAX, "{hot} are hot");
    }

    #[test]
    fn few_are_remembered() {
        let mut periods = Periods::new();
        for period in 0..50_u64 {
            let waits: Vec<_> = (0..100).map(|lock| (period * 100 + lock, 1)).collect();
            periods.period(&waits);
            assert!(periods.keeper.warm.len() <= WARM_MAX);
        }
    }

    #[test]
    fn a_long_pause_cools_everything() {
        let mut periods = Periods::new();
        periods.periods(&[(A, 1000)]);
        periods.now = periods.now.after(1000 * PERIOD);
        let classes = periods.period(&[]).expect("it is cold again");
        assert!(classes.is_empty());
    }
}
