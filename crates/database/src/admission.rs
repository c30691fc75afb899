//! Admission: how many calls may wait for one key.
//!
//! Role         a call that writes a key for which enough others wait already is refused before it
//!              is queued, so that those who want something else find room in the queue; used only
//!              where [`Config::calls_per_key_max`](crate::Config) says so
//! Invariants   I1 a call that was let in holds its places until it has ended, whatever becomes of
//!                 it
//!              I2 the bound is exact for each key but where another one shares both of its
//!                 places: of 4096 in two rows, by different bits of the lock's identity
//! Concurrency  places -> added to and subtracted from by all callers of a key: a shared counter,
//!              of those that must meet at that key anyway
//!
//! Which keys a call writes is planned by its session's thread from the arguments alone: rows are
//! not read, so keys that are only found by reading are not counted.

use hotrow_base::sync::facade::atomic::{AtomicU32, Ordering};

use hotrow_base::sync::Latch;
use hotrow_transaction::access::NoRows;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::granule::LockMode;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::plan::Plan;

const ROWS: usize = 2;
const PLACES_BITS: u32 = 12;
/// Keys of one call that are counted: a call that writes more is no call for one hot key.
const KEYS_MAX: usize = 16;

/// Counters of calls that wait, in rows over which keys are spread by hashes.
pub(crate) struct Admission {
    per_key_max: u32,
    rows: [Box<[AtomicU32]>; ROWS],
}

/// What planning for admission takes; one per session.
#[derive(Default)]
pub(crate) struct Planner {
    plan: Plan,
    frame: Frame,
}

/// The places of a call that was let in, until it is dropped.
pub(crate) struct Places<'a> {
    admission: &'a Admission,
    keys: [u64; KEYS_MAX],
    count: usize,
}

impl Admission {
    /// Lets `per_key_max` calls wait for one key, those that run included.
    pub(crate) fn new(per_key_max: u32) -> Self {
        let row = || (0..1 << PLACES_BITS).map(|_| AtomicU32::new(0)).collect();
        Self { per_key_max, rows: [row(), row()] }
    }

    /// Plans a call and takes a place at each key that it writes; none where one of them has no
    /// place left.
    pub(crate) fn enter(
        &self,
        planner: &Latch<Planner>,
        compiled: &CompiledProcedure,
        invocation: &Invocation,
        step_budget: u64,
    ) -> Option<Places<'_>> {
        let mut places = Places { admission: self, keys: [0; KEYS_MAX], count: 0 };
        let Planner { plan, frame } = &mut *planner.lock();
        frame.set_step_budget(step_budget);
        // A plan that ends early has fewer keys, and whoever runs the call is told why.
        let _ = plan.make(&compiled.plan, invocation, frame, &mut NoRows);
        let granules = plan.footprint().granules().iter();
        let written = granules.filter(|granule| granule.mode == LockMode::Exclusive);
        for granule in written.take(KEYS_MAX) {
            let waiting = self.places(granule.lock).map(|place| {
                place.fetch_add(1, Ordering::Relaxed) // a count, which orders nothing
            });
            places.keys[places.count] = granule.lock;
            places.count += 1;
            if waiting.into_iter().min() >= Some(self.per_key_max) {
                return None; // I1: what was taken is given back by the drop
            }
        }
        Some(places)
    }

    fn places(&self, lock: u64) -> [&AtomicU32; ROWS] {
        let at = |shift: u32| (lock >> shift) as usize & ((1 << PLACES_BITS) - 1);
        [&self.rows[0][at(u64::BITS - PLACES_BITS)], &self.rows[1][at(8)]]
    }
}

impl Drop for Places<'_> {
    fn drop(&mut self) {
        for lock in &self.keys[..self.count] {
            for place in self.admission.places(*lock) {
                place.fetch_sub(1, Ordering::Relaxed); // as above
            }
        }
    }
}
