//! Interactive transactions: dynamic acquisition, on the threads of sessions.
//!
//! Role         what [`hotrow_engine::interactive`] needs of this engine: locks taken at each
//!              access, in every table, and kept until the transaction ends
//! Invariants   I1 owners of sessions come behind those of worker threads in the lock table
//!              I2 sessions follow the table's deadlock policy; planned calls are never refused a
//!              lock because of one ([`crate::lock_table`], I6)
//!              I3 under wound-wait a parked transaction may be in somebody's way and not notice,
//!              since it asks for nothing: housekeeping ends it

use std::marker::PhantomData;
use std::sync::Arc;

use hotrow_base::clock::Ticks;
use hotrow_base::interrupt::Interrupt;
use hotrow_engine::contract::{Ground, InteractiveOptions};
use hotrow_engine::interactive::{Attempt, Interactive, Locks, Slots};
use hotrow_engine::protection::Protection;
use hotrow_engine::statistics::Stopwatch;
use hotrow_engine::waits::Party;
use hotrow_log::position::Position;

use crate::dynamic::{LockNow, Locking};
use crate::intents::TableLocks;
use crate::key_range::{LockKeys, Ranges};
use crate::options::{Acquisition, Settings};

/// What one session's transaction holds, in the form `F`.
struct SessionLocks<F> {
    locking: Locking,
    watch: Stopwatch,
    /// ages are counted from here
    started: Ticks,
    age: u64,
    ranges: Ranges,
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

/// The slots of `options`, whose owners come behind those of `threads`.
pub(crate) fn slots(
    ground: &Ground,
    options: &InteractiveOptions,
    settings: &Settings,
    (tables, started): (&Arc<TableLocks>, Ticks),
    threads: usize,
) -> Arc<dyn Interactive> {
    let place = (tables, started, threads, settings.ranges);
    match (settings.ranges, settings.acquisition) {
        (Ranges::Granules, _) => slots_of::<Granules>(ground, options, place),
        (_, Acquisition::Dynamic) => slots_of::<Keys<false>>(ground, options, place),
        (_, Acquisition::Ordered) => slots_of::<Keys<true>>(ground, options, place),
    }
}

fn slots_of<F: Form>(
    ground: &Ground,
    options: &InteractiveOptions,
    (tables, started, threads, ranges): (&Arc<TableLocks>, Ticks, usize, Ranges),
) -> Arc<dyn Interactive> {
    Slots::new(ground, options, |number| {
        let mut locking = Locking::new(Arc::clone(tables), threads + number);
        locking.owner.attend_to_quiet(Arc::clone(&ground.schema));
        let watch = Stopwatch::default();
        SessionLocks::<F> { locking, watch, started, age: 1, ranges, form: PhantomData }
    })
}

impl<F: Form> Locks for SessionLocks<F> {
    type Protection<'a> = F::Protection<'a>;

    fn begin(&mut self, attempt: Attempt) {
        if attempt == Attempt::First {
            self.age = Ticks::now().nanos_since(self.started) + 1;
        }
        self.locking.begin(self.age, Party::Session);
    }

    fn heed(&mut self, interrupt: &Arc<Interrupt>) {
        self.locking.owner.heed(interrupt);
    }

    fn protection(&mut self) -> F::Protection<'_> {
        F::protect(&mut self.locking, &mut self.watch, self.ranges)
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

    fn is_doomed(&self) -> bool {
        self.locking.is_doomed()
    }

    fn release_all(&mut self, position: Option<Position>) {
        self.locking.release_at(position.unwrap_or_default());
    }
}
