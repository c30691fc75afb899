//! The memory budget: how many bytes records and indexes may take together.
//!
//! Role         record stores charge it per chunk and indexes per node block, never per record;
//!              it knows nothing of what the bytes hold
//! Invariants   I1 no charge is granted that would leave more than the limit charged, unless the
//!              limit is suspended (`try_charge` is a compare-and-swap loop on one word). So after
//!              a start the sum may be above the limit; then nothing is granted until enough was
//!              given back
//! Concurrency  `used`, `suspended` and the counters by kind: any thread, atomically; they order
//!              nothing, so Relaxed is enough. Who suspends the limit starts, or orders by a quiet
//!              point, the threads that are to know of it

use hotrow_base::sync::facade::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crossbeam_utils::CachePadded;

/// What charged bytes are used for; one usage figure each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// Slabs of record stores.
    Records,
    /// Hash buckets and B+-tree nodes.
    Indexes,
}

/// The memory budget is used up: a write was refused. Reads and deletes go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "memory budget exhausted: {used} of {limit} bytes are in use and {wanted} more were wanted; \
     delete rows or raise the limit"
)]
pub struct OutOfMemoryBudget {
    /// Bytes in use when the charge was refused.
    pub used: u64,
    /// The limit in bytes.
    pub limit: u64,
    /// Bytes the refused charge asked for.
    pub wanted: u64,
}

/// A limit on bytes, shared (by `Arc`) among all record stores and indexes of a database.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: u64,
    /// How many [`SuspendedLimit`]s there are.
    suspended: AtomicU32,
    /// Touched once per chunk or node block (64 KiB and more), so one word for all threads
    /// is not contended.
    used: CachePadded<AtomicU64>,
    records: AtomicU64,
    indexes: AtomicU64,
}

impl MemoryBudget {
    /// A budget of `limit` bytes.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            suspended: AtomicU32::new(0),
            used: CachePadded::new(AtomicU64::new(0)),
            records: AtomicU64::new(0),
            indexes: AtomicU64::new(0),
        }
    }

    /// A budget that never refuses.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(u64::MAX)
    }

    /// Charges `bytes` for `kind`.
    ///
    /// # Errors
    ///
    /// [`OutOfMemoryBudget`], with nothing charged, when the limit would be passed.
    pub fn try_charge(&self, kind: MemoryKind, bytes: u64) -> Result<(), OutOfMemoryBudget> {
        self.used
            .fetch_update(Relaxed, Relaxed, |used| {
                used.checked_add(bytes).filter(|&sum| sum <= self.limit || self.is_suspended())
            })
            .map_err(|used| OutOfMemoryBudget { used, limit: self.limit, wanted: bytes })?;
        self.counter(kind).fetch_add(bytes, Relaxed);
        Ok(())
    }

    /// Grants all charges until the guard is dropped. For the start of a database, which repeats
    /// what fitted when it ran (in other chunks, by other workers, and before what was deleted
    /// later is deleted again); and for what makes room by taking a little first.
    #[must_use]
    pub fn suspend_limit(&self) -> SuspendedLimit<'_> {
        self.suspended.fetch_add(1, Relaxed);
        SuspendedLimit(self)
    }

    /// Bytes charged above the limit: so many must be given back before anything is granted.
    #[must_use]
    pub fn excess(&self) -> u64 {
        self.used().saturating_sub(self.limit)
    }

    fn is_suspended(&self) -> bool {
        self.suspended.load(Relaxed) > 0
    }

    /// Gives back `bytes` charged earlier for `kind`.
    pub fn release(&self, kind: MemoryKind, bytes: u64) {
        self.counter(kind).fetch_sub(bytes, Relaxed);
        self.used.fetch_sub(bytes, Relaxed);
    }

    /// Bytes charged now, of all kinds.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Bytes charged now for `kind`.
    #[must_use]
    pub fn used_by(&self, kind: MemoryKind) -> u64 {
        self.counter(kind).load(Relaxed)
    }

    /// The limit in bytes.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The error for `wanted` bytes that were charged but that the operating system refused.
    #[must_use]
    pub fn refused(&self, wanted: u64) -> OutOfMemoryBudget {
        OutOfMemoryBudget { used: self.used(), limit: self.limit, wanted }
    }

    fn counter(&self, kind: MemoryKind) -> &AtomicU64 {
        match kind {
            MemoryKind::Records => &self.records,
            MemoryKind::Indexes => &self.indexes,
        }
    }
}

/// See [`MemoryBudget::suspend_limit`].
#[derive(Debug)]
pub struct SuspendedLimit<'a>(&'a MemoryBudget);

impl Drop for SuspendedLimit<'_> {
    fn drop(&mut self) {
        self.0.suspended.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests;
