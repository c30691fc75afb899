//! Memory accounts: what the work of sessions takes beside the data, and how much it may take.
//!
//! Role         whoever is about to keep what a client's work makes (texts, rows, sorts, results,
//!              prepared statements) charges it here *before* it allocates. Knows no allocator:
//!              bytes are what their owner says
//! States       a tree: one process account > an account for each session > one for the statement
//!              that it runs. A charge holds in an account and in all above it, or nowhere
//! Invariants   I1 an account's `used` is the sum of what its [`Charge`]s and the accounts below it
//!                 hold: a charge gives back what it took when it is dropped
//!              I2 `used` is above the limit only where the limit was lowered, or by
//!                 [`Charge::take`], which cannot fail
//! Concurrency  `used` -> anybody's read-modify-write; limits -> stored by the session's thread.
//!              Relaxed throughout: nothing else is learnt from them. A charge belongs to one owner
//!              and goes to the shared counters in granules ([`granule`]) of up to 64 KiB, so that
//!              what grows byte by byte costs a comparison
//! Source       CockroachDB's memory monitors, ClickHouse's memory trackers. We differ: no account
//!              for each operator, and no reserve between the accounts of the tree

#[cfg(all(test, not(loom)))]
mod tests;

use crate::sync::facade::plain_atomic::{AtomicU64, Ordering};
use std::fmt;
use std::sync::Arc;

/// No limit.
pub const UNLIMITED: u64 = u64::MAX;
/// The most that a charge takes at a time beyond what it was asked for.
const GRANULE_MAX: u64 = 64 << 10;

/// Whose memory an account tells.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    /// all sessions together
    Process,
    /// a session: its statement, and what it keeps between statements
    Session,
    /// the statement or call that a session runs
    Statement,
}

/// Bytes used and the most there may be; an account may be a part of another one.
#[derive(Debug)]
pub struct MemoryAccount {
    scope: Scope,
    limit: AtomicU64,
    used: AtomicU64,
    /// the account that this one is a part of
    parent: Option<Arc<Self>>,
}

/// There is no room: nothing was charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfMemory {
    /// whose budget it is
    pub scope: Scope,
    /// bytes that it has
    pub limit: u64,
    /// bytes that were in use
    pub used: u64,
    /// bytes that were wanted in addition
    pub wanted: u64,
}

impl MemoryAccount {
    /// An account of all sessions.
    pub fn process(limit: u64) -> Arc<Self> {
        Arc::new(Self::new(Scope::Process, limit, None))
    }

    /// An account inside this one.
    pub fn child(self: &Arc<Self>, scope: Scope, limit: u64) -> Arc<Self> {
        Arc::new(Self::new(scope, limit, Some(Arc::clone(self))))
    }

    fn new(scope: Scope, limit: u64, parent: Option<Arc<Self>>) -> Self {
        Self { scope, limit: AtomicU64::new(limit), used: AtomicU64::new(0), parent }
    }

    /// Bytes in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that may be in use.
    pub fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Sets how many bytes may be in use from now on.
    pub fn set_limit(&self, limit: u64) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// The account that this one is a part of.
    pub fn parent(&self) -> Option<&Arc<Self>> {
        self.parent.as_ref()
    }

    /// Charges this account and all above it, or none.
    fn try_charge(&self, bytes: u64) -> Result<(), OutOfMemory> {
        let limit = self.limit();
        let fits = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= limit);
        let (relaxed, used) = (Ordering::Relaxed, &self.used);
        if let Err(used) = used.fetch_update(relaxed, relaxed, fits) {
            return Err(OutOfMemory { scope: self.scope, limit, used, wanted: bytes });
        }
        let Some(parent) = &self.parent else { return Ok(()) };
        parent.try_charge(bytes).inspect_err(|_| {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
        })
    }

    /// Charges this account and all above it, whatever their limits.
    fn charge(&self, bytes: u64) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        if let Some(parent) = &self.parent {
            parent.charge(bytes);
        }
    }

    fn give_back(&self, bytes: u64) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "I1");
        if let Some(parent) = &self.parent {
            parent.give_back(bytes);
        }
    }
}

/// What one owner holds in an account; given back when it is dropped. The default belongs to no
/// account, and is never refused.
#[derive(Default, Debug)]
pub struct Charge {
    account: Option<Arc<MemoryAccount>>,
    /// bytes that the owner has
    bytes: u64,
    /// bytes taken from the account: as many, or up to a granule more
    held: u64,
}

impl Charge {
    /// Nothing yet, in an account.
    pub fn new(account: &Arc<MemoryAccount>) -> Self {
        Self { account: Some(Arc::clone(account)), bytes: 0, held: 0 }
    }

    /// Nothing yet, in the same account as another one.
    pub fn beside(&self) -> Self {
        Self { account: self.account.clone(), bytes: 0, held: 0 }
    }

    /// Bytes that its owner has.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Charges bytes that are about to be allocated.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`]; nothing has changed then.
    #[inline]
    pub fn add(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        let sum = self.bytes.saturating_add(bytes as u64);
        if sum > self.held {
            self.hold(sum)?;
        }
        self.bytes = sum;
        Ok(())
    }

    /// Charges as many bytes as its owner is about to have, fewer or more than now.
    ///
    /// # Errors
    ///
    /// As [`Charge::add`].
    pub fn set(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        match (bytes as u64).checked_sub(self.bytes) {
            Some(more) => self.add(more as usize),
            None => {
                self.subtract((self.bytes - bytes as u64) as usize);
                Ok(())
            }
        }
    }

    /// Charges bytes that are there already, even beyond the limits.
    pub fn take(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if let Some(account) = &self.account
            && self.bytes > self.held
        {
            account.charge(self.bytes - self.held);
            self.held = self.bytes;
        }
    }

    /// Gives back bytes that its owner has no more.
    pub fn subtract(&mut self, bytes: usize) {
        debug_assert!(bytes as u64 <= self.bytes, "given back more than was taken");
        self.bytes = self.bytes.saturating_sub(bytes as u64);
        let kept = rounded(self.bytes).min(self.held);
        let freed = self.held - kept;
        self.held = kept;
        if let Some(account) = &self.account
            && freed > 0
        {
            account.give_back(freed);
        }
    }

    /// Gives everything back.
    pub fn clear(&mut self) {
        if let Some(account) = &self.account
            && self.held > 0
        {
            account.give_back(self.held);
        }
        (self.bytes, self.held) = (0, 0);
    }

    /// Moves what it holds into another account: a statement's rows outlive the statement. They are
    /// there already, so this cannot fail.
    pub fn move_to(&mut self, account: &Arc<MemoryAccount>) {
        let bytes = self.bytes as usize;
        self.clear();
        self.account = Some(Arc::clone(account));
        self.take(bytes);
    }

    #[cold]
    fn hold(&mut self, sum: u64) -> Result<(), OutOfMemory> {
        let Some(account) = &self.account else { return Ok(()) };
        let wanted = rounded(sum);
        if account.try_charge(wanted - self.held).is_ok() {
            self.held = wanted;
            return Ok(());
        }
        // What was asked for may fit where the granule does not.
        account.try_charge(sum - self.held)?;
        self.held = sum;
        Ok(())
    }
}

/// As many bytes again, which are there already.
impl Clone for Charge {
    fn clone(&self) -> Self {
        let mut again = self.beside();
        again.take(self.bytes as usize);
        again
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.clear();
    }
}

/// What a charge of so many bytes holds: an eighth more at most, so that small ones stay small.
const fn granule(bytes: u64) -> u64 {
    let eighth = (bytes / 8).next_power_of_two();
    if eighth < GRANULE_MAX { eighth } else { GRANULE_MAX }
}

const fn rounded(bytes: u64) -> u64 {
    match bytes.checked_next_multiple_of(granule(bytes)) {
        Some(rounded) => rounded,
        None => bytes,
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, used, wanted, .. } = *self;
        let whose = match self.scope {
            Scope::Process => "all sessions together",
            Scope::Session => "the session",
            Scope::Statement => "the statement",
        };
        let [limit, used, wanted] = [limit, used, wanted].map(in_units);
        write!(f, "Of the {limit} for {whose} {used} are in use, and {wanted} more were wanted")
    }
}

impl std::error::Error for OutOfMemory {}

/// A number of bytes for people.
pub fn in_units(bytes: u64) -> String {
    match bytes {
        0..0x2800 => format!("{bytes} bytes"),
        0x2800..0xa0_0000 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// Bytes of memory that this process may use: those of the machine, or of the control group that
/// it was put into. A gibibyte where the system does not tell.
pub fn machine_bytes() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let of_group = read("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse().ok());
    let of_machine = read("/proc/meminfo").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kibibytes.checked_mul(1024)
    });
    [of_group, of_machine].into_iter().flatten().min().unwrap_or(1 << 30)
}
