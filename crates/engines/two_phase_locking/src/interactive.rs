//! Interactive transactions: dynamic acquisition, on the threads of sessions.
//!
//! Role         what [`hotrow_engine::interactive`] needs of this engine: locks taken at each
//!              access, in every table, and kept until the transaction ends
//! Invariants   I1 owners of sessions come behind those of worker threads in the lock table
//!              I2 sessions follow the table's deadlock policy; calls of the engine's threads are
//!              never refused a lock because of one, and a session's first call, which is planned,
//!              is undone and repeated for older sessions only ([`crate::lock_table`], I6)
//!              I3 under wound-wait a parked transaction may be in somebody's way and not notice,
//!              since it asks for nothing: housekeeping ends it

use std::marker::PhantomData;
use std::sync::Arc;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::TableId;
use hotrow_base::interrupt::Interrupt;
use hotrow_engine::contract::{Ground, InteractiveOptions};
use hotrow_engine::interactive::{Attempt, Interactive, Locks, Slots};
use hotrow_engine::protection::Protection;
use hotrow_engine::statistics::Stopwatch;
use hotrow_engine::waits::Party;
use hotrow_log::position::Position;
use hotrow_transaction::granule::TableUse;
use hotrow_transaction::outcome::Conflict;
use hotrow_transaction::plan::Footprint;

use crate::ahead::{Ahead, HeldAhead};
use crate::dynamic::{Foresees, LockNow, Locking};
use crate::foresight::{Foresight, Notes};
use crate::heat::Heat;
use crate::intents::TableLocks;
use crate::key_range::{LockKeys, Ranges};
use crate::options::{Acquisition, Settings};

/// Of so many of a session's transactions, one always tells what became of what it read.
const TRANSACTIONS_PER_NOTE: u32 = 4;

/// What one session's transaction holds, in the form `F`.
struct SessionLocks<F> {
    locking: Locking,
    watch: Stopwatch,
    /// ages are counted from here
    started: Ticks,
    age: u64,
    /// begun so far
    transactions: u32,
    ranges: Ranges,
    /// of first calls, where calls are planned
    ahead: Option<Ahead>,
    form: PhantomData<F>,
}

/// What sessions lock of an index.
trait Form: Send + 'static {
    type Protection<'a>: Protection;

    fn protect<'a>(
        locking: &'a mut Locking,
        watch: &'a mut Stopwatch,
        ranges: Ranges,
    ) -> Self::Protection<'a>;
}

/// Granules.
struct Granules;

impl Form for Granules {
    type Protection<'a> = LockNow<'a, true>;

    fn protect<'a>(
        locking: &'a mut Locking,
        watch: &'a mut Stopwatch,
        _: Ranges,
    ) -> LockNow<'a, true> {
        LockNow { locking, watch }
    }
}

/// Keys and gaps; `BESIDE_GRANULES`: beside planned calls, which lock granules.
struct Keys<const BESIDE_GRANULES: bool>;

impl<const BESIDE_GRANULES: bool> Form for Keys<BESIDE_GRANULES> {
    type Protection<'a> = LockKeys<'a, true, BESIDE_GRANULES>;

    fn protect<'a>(
        locking: &'a mut Locking,
        watch: &'a mut Stopwatch,
        ranges: Ranges,
    ) -> Self::Protection<'a> {
        LockKeys::new(locking, watch, ranges)
    }
}

/// Where slots find the engine's other parts.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) tables: &'a Arc<TableLocks>,
    /// ages are counted from here
    pub(crate) started: Ticks,
    /// owners of slots come behind those of worker threads
    pub(crate) threads: usize,
    /// of planned calls, where it is kept
    pub(crate) heat: Option<&'a Arc<Heat>>,
}

/// The slots of `options`.
pub(crate) fn slots(
    ground: &Ground,
    options: &InteractiveOptions,
    settings: &Settings,
    place: Place<'_>,
) -> Arc<dyn Interactive> {
    match (settings.ranges, settings.acquisition) {
        (Ranges::Granules, _) => slots_of::<Granules>(ground, options, settings, place),
        (_, Acquisition::Dynamic) => slots_of::<Keys<false>>(ground, options, settings, place),
        (_, Acquisition::Ordered) => slots_of::<Keys<true>>(ground, options, settings, place),
    }
}

fn slots_of<F: Form>(
    ground: &Ground,
    options: &InteractiveOptions,
    settings: &Settings,
    Place { tables, started, threads, heat }: Place<'_>,
) -> Arc<dyn Interactive> {
    let ranges = settings.ranges;
    let plans = settings.acquisition == Acquisition::Ordered;
    let known = (ranges == Ranges::Orthogonal).then(Arc::<Foresight>::default);
    Slots::new(ground, options, |number| {
        let mut locking = Locking::new(Arc::clone(tables), threads + number);
        let foresees =
            |known| Foresees { known, is_awake: false, tells: false, notes: Notes::default() };
        locking.foresight = known.clone().map(foresees);
        locking.owner.attend_to_quiet(Arc::clone(&ground.schema));
        let watch = Stopwatch::default();
        let ahead = plans.then(|| Ahead::new(heat.cloned(), ranges));
        SessionLocks::<F> {
            locking,
            watch,
            started,
            age: 1,
            transactions: 0,
            ranges,
            ahead,
            form: PhantomData,
        }
    })
}

impl<F: Form> Locks for SessionLocks<F> {
    type Protection<'a> = F::Protection<'a>;

    fn begin(&mut self, attempt: Attempt) {
        if attempt == Attempt::First {
            self.age = Ticks::now().nanos_since(self.started) + 1;
            self.transactions = self.transactions.wrapping_add(1);
        }
        self.locking.begin(self.age, Party::Session);
    }

    fn expect_more(&mut self, expects: bool) {
        let tells = expects && self.transactions % TRANSACTIONS_PER_NOTE == 1;
        if let Some(foresees) = &mut self.locking.foresight {
            (foresees.is_awake, foresees.tells) = (expects, tells);
        }
    }

    fn heed(&mut self, interrupt: &Arc<Interrupt>) {
        self.locking.owner.heed(interrupt);
    }

    fn protection(&mut self) -> F::Protection<'_> {
        F::protect(&mut self.locking, &mut self.watch, self.ranges)
    }

    type Ahead<'a> = HeldAhead<'a>;

    fn plans(&self) -> bool {
        self.ahead.is_some()
    }

    fn hold_ahead(
        &mut self,
        footprint: &Footprint,
        uses: &[(TableId, TableUse)],
    ) -> Result<(), Conflict> {
        let Self { locking, watch, ahead, .. } = self;
        locking.hurries = false;
        locking.table.set_ahead(&mut locking.owner, true);
        let ahead = ahead.as_mut().expect("it plans");
        ahead.acquire(locking, footprint, uses, watch)
    }

    fn ahead(&mut self) -> HeldAhead<'_> {
        let Self { locking, watch, ahead, .. } = self;
        HeldAhead { locking, watch, ahead: ahead.as_mut().expect("it plans") }
    }

    fn end_ahead(&mut self) {
        let Locking { table, owner, .. } = &mut self.locking;
        table.set_ahead(owner, false);
    }

    fn set_party(&mut self, party: Party) {
        self.locking.table.set_party(&self.locking.owner, party);
    }

    fn watch(&mut self) -> &mut Stopwatch {
        &mut self.watch
    }

    fn hurry(&mut self, hurries: bool) {
        self.locking.hurries = hurries;
    }

    fn met(&self) -> Position {
        self.locking.met()
    }

    fn holds_any(&self) -> bool {
        self.locking.holds_any()
    }

    fn is_awaited(&self) -> bool {
        self.locking.is_awaited()
    }

    fn has_waiters(&self) -> bool {
        self.locking.has_waiters()
    }

    fn is_doomed(&self) -> bool {
        self.locking.is_doomed()
    }

    fn release_all(&mut self, position: Option<Position>) {
        if let Some(Foresees { known, notes, .. }) = &mut self.locking.foresight {
            if position.is_some() {
                known.learn(notes);
            }
            notes.clear(); // who was undone had perhaps not come to its changes
        }
        self.locking.release_at(position.unwrap_or_default());
    }
}
