//! Which scheme suits the calls there are: `scheme=auto`.
//!
//! Role         from what owners and coordinators have seen, the model says what each scheme would
//!              do. Pure: it knows no clock and no thread; who asks does so at intervals, and
//!              changes the scheme at a quiet point
//! Invariants   I1 a scheme is left only for one that two looks in a row expect to be faster by a
//!              tenth; who returns to a scheme is asked less often afterwards, up to a bound: so a
//!              load that lies between two does not have them change all the time
//! Source       partitioned.txt 5.7 ("a query executor might record statistics at runtime and use a
//!              model like that presented in Section 6 to make the best choice"); table 1. What
//!              the model lacks for that, [`crate::model`] adds

use crate::model::{Costs, Mix, expected};
use crate::options::Scheme;
use crate::protocol::locking::Locks;
use crate::protocol::observed::Observed;

/// Calls that must have been seen for a look to tell something.
const CALLS_MIN: u64 = 1_000;
/// By how much another scheme is to be faster.
const GAIN_MIN: f64 = 1.1;
/// Looks in a row that say so.
const LOOKS_MIN: u32 = 2;
/// Looks without a change behind one, at most.
const REST_MAX: u32 = 64;

/// Those that may be chosen.
const SCHEMES: [Scheme; 4] =
    [Scheme::Blocking, Scheme::Local, Scheme::Speculation, Scheme::Locking];

/// The scheme at hand and the one before, what was seen of calls, and what they were found to cost.
#[derive(Clone, Debug)]
pub struct Chooser {
    partitions: u16,
    scheme: Scheme,
    /// the scheme before it
    left: Option<Scheme>,
    /// what was seen and not looked at: too little to tell
    seen: Observed,
    /// what calls were found to cost; of things that the scheme of the time did not show, from
    /// another time
    costs: Costs,
    /// the share of calls that waited for locks, when locks were taken last
    conflict_share: f64,
    /// another scheme was faster, so many looks in a row
    faster: Option<(Scheme, u32)>,
    /// looks that are to pass without a change, and how many there were behind the last one
    rest: (u32, u32),
    reason: String,
}

impl Chooser {
    /// One that begins with speculation over so many partitions. `lock_overhead`: see [`Costs`], as
    /// long as nobody has measured it.
    pub fn new(partitions: u16, lock_overhead: f64) -> Self {
        Self {
            partitions,
            scheme: Scheme::Speculation,
            left: None,
            seen: Observed::default(),
            costs: Costs { lock_overhead, ..Costs::PAPER },
            conflict_share: 0.0,
            faster: None,
            rest: (0, 1),
            reason: "the first one; too few calls were seen to choose another".to_owned(),
        }
    }

    /// The scheme of the moment.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Why it is this one, in a sentence.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Looks at what was seen since the last look; whether the scheme is another one now.
    pub fn look(&mut self, seen: &Observed) -> bool {
        self.seen.add(seen);
        if self.seen.calls() < CALLS_MIN {
            return false;
        }
        let seen = std::mem::take(&mut self.seen);
        let Some(costs) = seen.costs(&self.costs) else { return false };
        self.costs = costs;
        let mut mix = seen.mix(self.partitions);
        if seen.asked > 0 {
            self.conflict_share = mix.conflict_share;
        }
        mix.conflict_share = self.conflict_share;
        if mix.multi_share == 0.0 {
            self.faster = None;
            self.reason = "no call was of several partitions: all schemes are alike".to_owned();
            return false;
        }
        let rates = SCHEMES.map(|scheme| {
            let model = scheme.in_model(Locks::Needed).expect("the model has all of them");
            (scheme, expected(model, &costs, &mix))
        });
        let rate = |of: Scheme| rates.iter().find(|(scheme, _)| *scheme == of).map_or(0.0, |r| r.1);
        let best = rates.iter().max_by(|one, other| one.1.total_cmp(&other.1));
        let &(best, best_rate) = best.expect("there are some");
        let is_faster = best_rate > rate(self.scheme) * GAIN_MIN;
        let looks = match self.faster {
            Some((scheme, looks)) if is_faster && scheme == best => looks + 1,
            _ => u32::from(is_faster),
        };
        self.faster = is_faster.then_some((best, looks));
        self.rest.0 = self.rest.0.saturating_sub(1);
        let changes = looks >= LOOKS_MIN && self.rest.0 == 0;
        if changes {
            self.change_to(best);
        }
        self.reason = explain(&mix, &rates);
        changes
    }

    /// I1.
    fn change_to(&mut self, scheme: Scheme) {
        let length = match self.left == Some(scheme) {
            true => (self.rest.1 * 2).min(REST_MAX),
            false => 1,
        };
        self.rest = (length, length);
        self.left = Some(std::mem::replace(&mut self.scheme, scheme));
        self.faster = None;
    }
}

/// What was seen, and what is expected.
fn explain(mix: &Mix, rates: &[(Scheme, f64)]) -> String {
    let rates: Vec<_> =
        rates.iter().map(|(scheme, rate)| format!("{} {rate:.0}", scheme.name())).collect();
    format!(
        "{:.1} % of calls are of several partitions, in {:.1} rounds; {:.1} % of those are undone; \
         {:.1} % wait for locks where these are taken; expected calls a second: {}",
        mix.multi_share * 100.0,
        mix.rounds,
        mix.undone_share * 100.0,
        mix.conflict_share * 100.0,
        rates.join(", ")
    )
}
