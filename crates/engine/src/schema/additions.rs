//! Procedures that come while calls run.
//!
//! Role         most definitions of procedures change nothing else: no table, no index, no granule
//!              ([`Unfilled::adds_only`](super::Unfilled::adds_only)). What such a one adds is put
//!              here, where the threads of an engine find it without another schema, and so nobody
//!              is kept out. Sessions see a schema that has it among its procedures
//! States       empty with each schema that is put in force at a quiet point -> procedures are
//!              added -> the next quiet point, whatever it is for, puts them in their places and
//!              begins anew ([`SharedSchema::quiet`](super::SharedSchema::quiet))
//! Invariants   I1 an id that is given here is never given again, and what is under it stays
//!              I2 a call of what was added is made by whoever has seen it added, and run by
//!              threads that know the schema whose additions these are: older ones went at quiet
//!              points
//! Concurrency  a slot -> set once by whoever keeps the gate open (Release); read by anybody
//!              (Acquire)

use std::sync::Arc;

use hotrow_base::ids::ProcedureId;
use hotrow_base::sync::facade::OnceLock;
use hotrow_base::sync::facade::atomic::{AtomicUsize, Ordering};
use hotrow_transaction::compiled::CompiledProcedure;

/// How many procedures are added before the next one waits for a quiet point.
const ADDED_MAX: usize = 256;

/// Something for each procedure that may be added to a schema, made when it is first wanted.
#[derive(Debug)]
pub struct PerAdded<T> {
    /// the id of the first one
    first: usize,
    slots: Box<[OnceLock<T>]>,
}

impl<T> PerAdded<T> {
    /// Of a schema that has so many procedures already, which have theirs elsewhere.
    pub fn behind(procedures: usize) -> Self {
        Self { first: procedures, slots: (0..ADDED_MAX).map(|_| OnceLock::new()).collect() }
    }

    /// What there is of a procedure.
    #[cold]
    pub fn get(&self, id: ProcedureId) -> Option<&T> {
        self.slot(id)?.get()
    }

    /// What there is of a procedure that was added, or is made of it now.
    #[cold]
    pub fn get_or_init(&self, id: ProcedureId, make: impl FnOnce() -> T) -> &T {
        self.slot(id).expect("no more are added than there are slots").get_or_init(make)
    }

    fn slot(&self, id: ProcedureId) -> Option<&OnceLock<T>> {
        self.slots.get(id.index().checked_sub(self.first)?)
    }
}

/// Procedures added while the schema is in force, each in its slot, and how many there are.
#[derive(Debug)]
pub(super) struct Additions {
    slots: PerAdded<Arc<CompiledProcedure>>,
    /// how many there are, each of them in its slot
    count: AtomicUsize,
}

impl Additions {
    /// Those to a schema that has so many procedures.
    pub(super) fn behind(procedures: usize) -> Self {
        Self { slots: PerAdded::behind(procedures), count: AtomicUsize::new(0) }
    }

    /// What was added under an id.
    pub(super) fn get(&self, id: ProcedureId) -> Option<&Arc<CompiledProcedure>> {
        self.slots.get(id)
    }

    /// Whether there is room for a procedure under this id.
    pub(super) fn has_room(&self, id: ProcedureId) -> bool {
        self.slots.slot(id).is_some_and(|slot| slot.get().is_none())
    }

    /// Adds a procedure, for which there is [room](Self::has_room). They come in the order of their
    /// ids.
    pub(super) fn add(&self, id: ProcedureId, compiled: &Arc<CompiledProcedure>) {
        let added = self.slots.get_or_init(id, || Arc::clone(compiled));
        assert!(Arc::ptr_eq(added, compiled), "an id is given once (I1)");
        self.count.store(id.index() - self.slots.first + 1, Ordering::Release);
    }

    /// How many were added so far.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire) // partner: the Release in `add`
    }

    /// Whether nothing was.
    pub(super) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Those with this id or a greater one.
    pub(super) fn from(&self, id: usize) -> impl Iterator<Item = &Arc<CompiledProcedure>> {
        let PerAdded { first, slots } = &self.slots;
        slots[..self.count()].iter().skip(id.saturating_sub(*first)).filter_map(OnceLock::get)
    }
}
