//! What owners and coordinators see of their calls: what the model ([`crate::model`]) asks for.

use crate::model::{Costs, Mix};

/// Calls of one partition for each one whose time is taken.
pub const TIMED: u64 = 16;
/// Sums since a start. Times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Observed {
    /// calls of one partition that have ended
    pub singles: u64,
    /// time of those that were timed: run where nobody was undecided
    pub single_ns: u64,
    /// how many were
    pub singles_timed: u64,
    /// first and later fragments that were run, over again as well
    pub fragments: [u64; 2],
    /// time of fragments
    pub fragment_ns: u64,
    /// ends of calls of several partitions that had run, at all partitions
    pub ends: u64,
    /// time of making their changes final
    pub end_ns: u64,
    /// from the first fragment of a call at a partition, or from its report where that was held
    /// back, to its end there: of those that followed nobody then, and of those that followed
    /// others, for whom they may have waited
    pub open_ns: [u64; 2],
    /// how many that were
    pub opened: [u64; 2],
    /// calls of several partitions that a coordinator has ended
    pub multis: u64,
    /// of these, undone
    pub undone: u64,
    /// time of coordinators
    pub coordinator_ns: u64,
    /// calls that asked for locks
    pub asked: u64,
    /// of these, waited
    pub waited: u64,
    /// time of asking for locks and letting go of them, of calls of one partition that were timed
    pub lock_ns: u64,
    /// how many that were
    pub locked_timed: u64,
}

impl Observed {
    /// Takes note of the end of a call of several partitions at one of them, of which it heard at
    /// `began`; `opened`: when its first fragment began, and whether it followed somebody.
    pub fn note_end(&mut self, began: u64, (opened, followed): (u64, bool), now: u64) {
        self.ends += 1;
        self.end_ns += now - began;
        self.open_ns[usize::from(followed)] += now - opened;
        self.opened[usize::from(followed)] += 1;
    }

    fn each(&mut self, other: &Self, of: impl Fn(&mut u64, u64)) {
        of(&mut self.singles, other.singles);
        of(&mut self.single_ns, other.single_ns);
        of(&mut self.singles_timed, other.singles_timed);
        of(&mut self.fragments[0], other.fragments[0]);
        of(&mut self.fragments[1], other.fragments[1]);
        of(&mut self.fragment_ns, other.fragment_ns);
        of(&mut self.ends, other.ends);
        of(&mut self.end_ns, other.end_ns);
        for at in 0..2 {
            of(&mut self.open_ns[at], other.open_ns[at]);
            of(&mut self.opened[at], other.opened[at]);
        }
        of(&mut self.multis, other.multis);
        of(&mut self.undone, other.undone);
        of(&mut self.coordinator_ns, other.coordinator_ns);
        of(&mut self.asked, other.asked);
        of(&mut self.waited, other.waited);
        of(&mut self.lock_ns, other.lock_ns);
        of(&mut self.locked_timed, other.locked_timed);
    }

    /// Adds what somebody else has seen.
    pub fn add(&mut self, other: &Self) {
        self.each(other, |sum, other| *sum += other);
    }

    /// What was seen since `before`.
    #[must_use]
    pub fn since(mut self, before: &Self) -> Self {
        self.each(before, |sum, before| *sum -= before);
        self
    }

    /// How many calls there were.
    pub fn calls(&self) -> u64 {
        self.singles + self.multis
    }

    /// What these calls were, in so many partitions.
    pub fn mix(&self, partitions: u16) -> Mix {
        let [first, later] = self.fragments.map(|count| count as f64);
        let of_multis = |count: f64| count / (self.multis as f64).max(1.0);
        Mix {
            partitions: partitions.into(),
            participants: of_multis(self.ends as f64).clamp(1.0, partitions.into()),
            multi_share: self.multis as f64 / (self.calls() as f64).max(1.0),
            rounds: 1.0 + later / first.max(1.0),
            undone_share: of_multis(self.undone as f64),
            conflict_share: self.waited as f64 / (self.asked as f64).max(1.0),
            coordinator_us: of_multis(self.coordinator_ns as f64) / 1e3,
        }
    }

    /// What they cost; what these calls do not tell is as it was `before`. None if there were none.
    pub fn costs(&self, before: &Costs) -> Option<Costs> {
        let us = |nanos: u64, count: u64| (count > 0).then(|| nanos as f64 / count as f64 / 1e3);
        let fragment_us = us(self.fragment_ns, self.fragments[0]);
        let cpu_us = fragment_us.map(|run| run + us(self.end_ns, self.ends).unwrap_or(0.0));
        // Where all calls are of several partitions it matters to nobody.
        let single_us = us(self.single_ns, self.singles_timed).or(cpu_us)?;
        let cpu_us = cpu_us.unwrap_or(single_us);
        let lock_us = us(self.lock_ns, self.locked_timed);
        let lock_overhead = lock_us.map(|lock_us| lock_us / single_us);
        let open_us = |at: usize| us(self.open_ns[at], self.opened[at]);
        let open_us = open_us(0).or(open_us(1));
        Some(Costs {
            single_us,
            single_speculative_us: single_us, // the undo of every call is kept
            multi_us: open_us.map_or(cpu_us, |open| open.max(cpu_us)),
            multi_cpu_us: cpu_us,
            lock_overhead: lock_overhead.unwrap_or(before.lock_overhead),
        })
    }
}
