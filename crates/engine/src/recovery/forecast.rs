//! Forecasts: the plan of a logged call, and how far it can be relied on.
//!
//! Role         made by any thread before a call's turn has come; read by the schedule, which
//!              decides whether the call may take its place, and by the thread that runs it
//! Invariants   I1 `reads` cover everything that trial reads looked at: while nothing that they
//!              cover changes, the forecast is right
//!              I2 a right forecast of a call that is not alone holds all that the call will touch:
//!              what its trial reads saw is not what it has itself written before
//! Source       orthrus.txt 3.2 (OLLP). We differ: a replay knows the calls before this one, so a
//!              guess is found to be right or wrong before the call runs and not after

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::granule::{LockMode, Space};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::plan::{Plan, Watch};

use crate::in_place::Scratch;
use crate::protection::Protection;
use crate::reconnaissance::TrialReads;
use crate::schema::Schema;

use super::chains::Claim;

/// How far a plan can be relied on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Reliance {
    /// not at all: the call runs alone, without one
    #[default]
    Alone,
    /// parameters decide it
    Known,
    /// rows decide it; it is right unless what [`Forecast::reads`] cover has changed since
    Guessed,
    /// rows decided it, and none of them will change before the call's turn
    Certain,
}

/// See the module. Reused from call to call without allocation.
#[derive(Default, Debug)]
pub(super) struct Forecast {
    pub(super) plan: Plan,
    /// per plan entry: the record found while planning (bits of its id plus one, 0 for none)
    pub(super) hints: Vec<u64>,
    /// what the call holds; normalized
    pub(super) claims: Vec<Claim>,
    /// what its trial reads looked at; normalized
    pub(super) reads: Vec<Claim>,
    /// `reads` of the guess before
    pub(super) reads_before: Vec<Claim>,
    pub(super) reliance: Reliance,
    observed: Observed,
}

impl Forecast {
    /// Of a call that runs alone.
    pub(super) fn set_alone(&mut self) {
        self.hints.clear();
        self.claims.clear();
        self.reads.clear();
        self.reliance = Reliance::Alone;
    }

    /// Plans a call. `scratch` and `frame` are only used for their memory.
    pub(super) fn make(
        &mut self,
        schema: &Schema,
        procedure: &CompiledProcedure,
        invocation: &Invocation,
        (scratch, frame): (&mut Scratch, &mut Frame),
    ) {
        self.set_alone();
        let slice = &procedure.plan;
        if slice.may_miss {
            return; // a forecast may not be wrong (I2)
        }
        if slice.needs_reconnaissance {
            if !self.guess(schema, procedure, invocation, (scratch, frame)) {
                return;
            }
            self.reliance = Reliance::Guessed;
        } else {
            let mut access = TrialReads::new(schema, scratch);
            if self.plan.make(slice, invocation, frame, &mut access).is_err() {
                return;
            }
            self.reliance = Reliance::Known;
        }
        let held = self.plan.footprint().granules();
        self.claims.extend(held.iter().map(|held| Claim::new(held.lock, held.mode)));
        Claim::normalize(&mut self.claims);
    }

    /// Plans by trial reads; whether the result is of use once it is certain.
    fn guess(
        &mut self,
        schema: &Schema,
        procedure: &CompiledProcedure,
        invocation: &Invocation,
        (scratch, frame): (&mut Scratch, &mut Frame),
    ) -> bool {
        let Self { plan, observed, reads, .. } = self;
        observed.clear();
        let observed = &*observed;
        let mut access = TrialReads::watched(schema, scratch, Observing(observed));
        let made = plan.make_watched(&procedure.plan, invocation, frame, &mut access, observed);
        reads.extend_from_slice(&observed.reads.borrow());
        Claim::normalize(reads);
        made.is_ok() && !observed.reads_own_writes()
    }

    /// Whether what this guess looked at was looked at by the one before.
    pub(super) fn reads_nothing_new(&self) -> bool {
        let covers = |before: &Claim, now: &Claim| before.covers(*now);
        self.reads.iter().all(|now| {
            let at = self.reads_before.partition_point(|before| before.is_before(*now));
            self.reads_before.get(at).is_some_and(|before| covers(before, now))
        })
    }
}

/// What a planning run did, in its order.
#[derive(Default, Debug)]
struct Observed {
    reads: RefCell<Vec<Claim>>,
    /// locks under which sites before the one marked last write, each in the strongest mode
    written: RefCell<HashMap<u64, LockMode>>,
    /// those of the site marked last
    pending: RefCell<Vec<(u64, LockMode)>>,
    reads_own_writes: Cell<bool>,
}

impl Observed {
    fn clear(&mut self) {
        self.reads.get_mut().clear();
        self.written.get_mut().clear();
        self.pending.get_mut().clear();
        self.reads_own_writes.set(false);
    }

    /// Whether a trial read looked at what the call will have written by then, so that it may have
    /// seen other values than the call will.
    fn reads_own_writes(&self) -> bool {
        self.reads_own_writes.get()
    }
}

impl Watch for Observed {
    fn mark(&self) {
        // A site's own trial reads stand right behind its mark and see what the site itself will.
        let mut written = self.written.borrow_mut();
        for (lock, mode) in self.pending.borrow_mut().drain(..) {
            written.entry(lock).and_modify(|held| *held = held.join(mode)).or_insert(mode);
        }
    }

    fn lock(&self, lock: u64, mode: LockMode) {
        if matches!(mode, LockMode::IntentExclusive | LockMode::Exclusive) {
            self.pending.borrow_mut().push((lock, mode));
        }
    }
}

/// Trial reads that tell what they look at.
struct Observing<'a>(&'a Observed);

impl Protection for Observing<'_> {
    const ACTIVE: bool = true;

    fn hold(&mut self, lock: u64, _: Space, mode: LockMode) -> Result<(), Stop> {
        self.0.reads.borrow_mut().push(Claim::new(lock, mode));
        if self.0.written.borrow().get(&lock).is_some_and(|held| !held.compatible(mode)) {
            self.0.reads_own_writes.set(true);
        }
        Ok(())
    }
}
