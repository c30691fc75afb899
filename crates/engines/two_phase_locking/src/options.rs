//! The engine's settings.
//!
//! Role         turns the names and values that options have into what the engine is built from;
//!              refuses what it does not know, with what there is

use std::collections::BTreeMap;
use std::time::Duration;

use hotrow_engine::contract::OptionError;
use hotrow_engine::settings::{Choices, Known, choose, number};
use hotrow_engine::statistics::LockTiming;
use hotrow_flow::deadlock::sets::Digest;

use crate::NAME;
use crate::heat::{self, Rule};
use crate::intents::Form;
use crate::key_range::Ranges;
use crate::pipeline::Release;
use crate::policy::{Deadlocks, Policy, Victim, Waiting};

/// When and how calls acquire locks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Acquisition {
    /// in one order, as planned before execution
    #[default]
    Ordered,
    /// at each access, under the deadlock policy
    Dynamic,
}

/// The order in which planned calls acquire locks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Order {
    /// by identity
    Identity,
    /// by heat, then by identity
    #[default]
    HotLast,
    /// by classes drawn at random, then by identity: for tests
    Drawn,
}

impl Order {
    /// What the classes of the order follow, where there are any.
    pub fn rule(self) -> Option<Rule> {
        match self {
            Self::Identity => None,
            Self::HotLast => Some(Rule::ByHeat),
            Self::Drawn => Some(Rule::Drawn),
        }
    }
}

/// What dynamic calls lock.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Locks {
    /// what some procedure that there is may conflict on
    #[default]
    Needed,
    /// every row that is touched, and its table before it: as an engine does that knows of no
    /// procedures, which is what dora.txt compares with
    All,
}

/// All settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// of calls
    pub acquisition: Acquisition,
    /// of planned calls
    pub order: Order,
    /// how often heat is summed up
    pub heat: Duration,
    /// whether planned calls release shared locks at their last use
    pub releases_at_last_use: bool,
    /// of dynamic transactions
    pub deadlocks: Deadlocks,
    /// what dynamic transactions hold of indexes: sessions, unless told otherwise, keys and gaps,
    /// so that it does not depend on what procedures there are; dynamic calls, granules
    pub ranges: Ranges,
    /// how locks on tables are kept
    pub intents: Form,
    /// which locks of dynamic calls go before the log is durable
    pub release: Release,
    /// what dynamic calls lock
    pub locks: Locks,
    /// transactions of a flush pipeline at most, whose locks go together: for those that do not go
    /// before the log is durable
    pub pipeline_max: u64,
    /// where time goes that calls spend on taking locks while they run
    pub timing: LockTiming,
}

impl Default for Settings {
    fn default() -> Self {
        let (acquisition, order) = (Acquisition::default(), Order::default());
        Self {
            acquisition,
            order,
            heat: heat::PERIOD,
            releases_at_last_use: false,
            deadlocks: Deadlocks::default(),
            ranges: Ranges::Orthogonal,
            intents: Form::default(),
            release: Release::default(),
            locks: Locks::default(),
            pipeline_max: PIPELINE_MAX,
            timing: LockTiming::default(),
        }
    }
}

const KNOWN: Known = Known {
    engine: NAME,
    names: "acquisition, digest, heat_ms, intents, last_use, locks, order, pipeline_max, ranges, \
            release, time_out_ms, timing, victim, waiting",
};
/// As in locking.txt 6.3.
const PIPELINE_MAX: u64 = 100_000;
const PIPELINES: &str = "a whole number from 1 to 1000000000";
const PERIODS: &str = "a whole number from 0 to 60000";
const ACQUISITIONS: &str =
    "ordered, no-wait, wait-die, wound-wait, wait-for-graph, dreadlocks, time-out";
const TIME_OUTS: &str = "a whole number from 1 to 60000";

impl Settings {
    /// Reads settings.
    ///
    /// # Errors
    ///
    /// An unknown setting or value.
    pub fn read(settings: &BTreeMap<String, String>) -> Result<Self, OptionError> {
        let mut read = Self::default();
        KNOWN.read(settings, |setting, value| {
            Some(match setting {
                "acquisition" => read.acquire(value),
                "digest" => choose(&mut read.deadlocks.digest, value, DIGESTS),
                "ranges" => choose(&mut read.ranges, value, RANGES),
                "intents" => choose(&mut read.intents, value, INTENTS),
                "locks" => choose(&mut read.locks, value, LOCKS),
                "release" => choose(&mut read.release, value, RELEASES),
                "waiting" => choose(&mut read.deadlocks.waiting, value, WAITINGS),
                "order" => choose(&mut read.order, value, ORDERS),
                "last_use" => choose(&mut read.releases_at_last_use, value, LAST_USES),
                "heat_ms" => read.heat(value),
                "timing" => choose(&mut read.timing, value, TIMINGS),
                "pipeline_max" => read.pipeline(value),
                "victim" => choose(&mut read.deadlocks.victim, value, VICTIMS),
                "time_out_ms" => read.time_out(value),
                _ => return None,
            })
        })?;
        if read.acquisition == Acquisition::Dynamic && !settings.contains_key("ranges") {
            read.ranges = Ranges::Granules; // as planned calls lock, which the papers compare with
        }
        if read.acquisition == Acquisition::Ordered && read.release != Release::All {
            let known = "all; the others need an acquisition that is not ordered, since who keeps \
                         locks and asks for more asks in no order";
            return Err(KNOWN.refused(settings, "release", known));
        }
        if read.acquisition == Acquisition::Ordered && read.locks != Locks::Needed {
            let known = "needed; all needs an acquisition that is not ordered, since calls are \
                         planned by the procedures there are";
            return Err(KNOWN.refused(settings, "locks", known));
        }
        Ok(read)
    }

    fn acquire(&mut self, value: &str) -> Result<(), &'static str> {
        let policy = match value {
            "ordered" => {
                self.acquisition = Acquisition::Ordered;
                return Ok(());
            }
            "no-wait" => Policy::NoWait,
            "wait-die" => Policy::WaitDie,
            "wound-wait" => Policy::WoundWait,
            "wait-for-graph" => Policy::WaitForGraph,
            "dreadlocks" => Policy::Dreadlocks,
            "time-out" => Policy::TimeOut,
            _ => return Err(ACQUISITIONS),
        };
        self.acquisition = Acquisition::Dynamic;
        self.deadlocks.policy = policy;
        Ok(())
    }

    fn heat(&mut self, value: &str) -> Result<(), &'static str> {
        self.heat = Duration::from_millis(number(value, (0..=60_000, PERIODS))?);
        Ok(())
    }

    fn pipeline(&mut self, value: &str) -> Result<(), &'static str> {
        self.pipeline_max = number(value, (1..=1_000_000_000, PIPELINES))?;
        Ok(())
    }

    fn time_out(&mut self, value: &str) -> Result<(), &'static str> {
        self.deadlocks.time_out = Duration::from_millis(number(value, (1..=60_000, TIME_OUTS))?);
        Ok(())
    }
}

const DIGESTS: Choices<Digest> =
    (&[("bitmap", Digest::Bitmap), ("bloom", Digest::Bloom)], "bitmap, bloom");
const INTENTS: Choices<Form> = (
    &[("lightweight", Form::Lightweight), ("inherited", Form::Inherited), ("plain", Form::Plain)],
    "lightweight, inherited, plain",
);
const RELEASES: Choices<Release> = (
    &[
        ("none", Release::None),
        ("shared", Release::Shared),
        ("all", Release::All),
        ("all-untagged", Release::AllUntagged),
    ],
    "none, shared, all, all-untagged",
);
const LOCKS: Choices<Locks> = (&[("needed", Locks::Needed), ("all", Locks::All)], "needed, all");
const WAITINGS: Choices<Waiting> = (
    &[
        ("spin", Waiting::Spin),
        ("yield", Waiting::Yield),
        ("sleep", Waiting::Sleep),
        ("back-off", Waiting::BackOff),
    ],
    "spin, yield, sleep, back-off",
);
const TIMINGS: Choices<LockTiming> =
    (&[("calls", LockTiming::Calls), ("locks", LockTiming::Locks)], "calls, locks");
const LAST_USES: Choices<bool> = (&[("keep", false), ("release", true)], "keep, release");
const ORDERS: Choices<Order> = (
    &[("identity", Order::Identity), ("hot-last", Order::HotLast), ("drawn", Order::Drawn)],
    "identity, hot-last, drawn",
);
const RANGES: Choices<Ranges> = (
    &[
        ("granules", Ranges::Granules),
        ("orthogonal", Ranges::Orthogonal),
        ("lomet", Ranges::Lomet),
        ("kvl", Ranges::Kvl),
    ],
    "granules, orthogonal, lomet, kvl",
);
const VICTIMS: Choices<Victim> = (
    &[("young", Victim::Young), ("kill-long", Victim::KillLong), ("kill-short", Victim::KillShort)],
    "young, kill-long, kill-short",
);

#[cfg(test)]
mod tests;
