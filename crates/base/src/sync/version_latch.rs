//! A version latch: readers take nothing and check afterwards, writers exclude each other.
//!
//! Role         protects the words of an index node or a hash bucket. It knows nothing of them;
//!              one rule binds its users: **every word it protects is an atomic, read and written
//!              `Relaxed`**, so that a reader racing with a writer reads a useless value, never
//!              undefined behaviour.
//! States       one word: bit 0 LOCKED, bit 1 OBSOLETE, bits 2..64 the version
//!
//! ```text
//!                lock, try_upgrade                 unlock: version + 1
//!     free(v) ──────────────────────▶ locked(v) ──────────────────────▶ free(v+1)
//!        ▲                              │   │  unlock_unchanged
//!        └──────────────────────────────┼───┘
//!                                       │ unlock_obsolete: version + 1
//!                                       ▼
//!     locked(v+1) ◀────────────── obsolete(v+1)        (readers get `None`)
//!                  lock_for_reuse
//! ```
//!
//! Invariants   I1  the version never goes back, and grows with every unlock after which a
//!                  protected word may differ (asserted in `loom_tests`)
//!              I2  only the thread that locked stores to the word or to what it protects
//! Concurrency  four fences and two plain orderings make it a seqlock:
//!
//!  - P1  `unlock*` stores the word **Release**; `read_begin`, `lock`, `try_upgrade` load it
//!    **Acquire**: who sees version v sees all that was written before v was published.
//!  - P2  `lock`, `try_upgrade`, `upgrade_alone`, `lock_for_reuse` put a **Release fence** after
//!    the word's LOCKED and before any protected store; `validate` puts an **Acquire fence**
//!    after the protected loads and before its load of the word. A reader that loaded even one
//!    word stored under the latch therefore loads LOCKED or a later version, and fails. Without
//!    the two fences the processor (not x86-64, but ARM) and the compiler (anywhere) may move
//!    the loads past the check.
//!  - P3  `try_upgrade` needs no Acquire fence before its compare-exchange: when it succeeds no one
//!    has locked since v, and who locks later does so after our unlock, so no load made before the
//!    upgrade can have read a later writer's store (read-write coherence).
//!
//! Source       Leis et al., "The ART of Practical Synchronization" (optimistic lock coupling);
//!              Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?" (fences).
//!              We differ: a node's memory is type-stable and reused, hence `lock_for_reuse`, which
//!              keeps versions growing over all lives of the node.

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

use super::facade::atomic::{AtomicU64, Ordering, fence};
use super::spin::SpinWait;

const LOCKED: u64 = 1;
const OBSOLETE: u64 = 2;
/// The version counts in steps of this, above the two flags: 62 bits, 146 years at one unlock
/// per nanosecond.
const STEP: u64 = 4;

/// A version read from a [`VersionLatch`] while it was free: what a later check compares with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u64);

impl Version {
    /// The version as a word, for storage in a node set; its two low bits are zero.
    #[inline]
    pub const fn to_word(self) -> u64 {
        self.0
    }

    /// The version that [`Version::to_word`] gave out.
    #[inline]
    pub const fn from_word(word: u64) -> Self {
        debug_assert!(word & (LOCKED | OBSOLETE) == 0, "a free latch's word has no flags");
        Self(word)
    }

    /// The version that [`VersionLatch::unlock`] will publish if the latch was locked at `self`.
    #[inline]
    pub const fn next(self) -> Self {
        Self(self.0 + STEP)
    }
}

/// Called between locking what a transaction changes and validating what it read: of two threads
/// that each lock what the other has read, at least one then finds the other's lock. Locking is an
/// acquire and a check is a load, so nothing else keeps the check behind the lock.
#[inline]
pub fn order_locks_before_checks() {
    fence(Ordering::SeqCst);
}

/// An optimistic latch of one word; see the module for its protocol.
#[derive(Debug)]
#[repr(transparent)]
pub struct VersionLatch {
    word: AtomicU64,
}

impl Default for VersionLatch {
    fn default() -> Self {
        Self::new()
    }
}

impl VersionLatch {
    /// A free latch at version 0.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self { word: AtomicU64::new(0) }
    }

    /// A free latch at version 0.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self { word: AtomicU64::new(0) }
    }

    /// The latch kept in `word`, a word of a node made of words. A zeroed word is a free latch at
    /// version 0. While a word is used as a latch nothing else may store to it.
    #[inline(always)]
    pub fn in_word(word: &AtomicU64) -> &Self {
        // SAFETY: VersionLatch is repr(transparent) over AtomicU64, so both have one layout, and
        // it has no invariant that an arbitrary word breaks: any value is some state.
        unsafe { &*std::ptr::from_ref(word).cast::<Self>() }
    }

    /// Waits until the latch is not locked and returns its version, or `None` when what it protects
    /// is obsolete. Loads made after this see at least that version's state (P1).
    #[inline]
    pub fn read_begin(&self) -> Option<Version> {
        let word = self.word.load(Ordering::Acquire); // P1
        if word & (LOCKED | OBSOLETE) == 0 {
            return Some(Version(word));
        }
        self.read_begin_slow()
    }

    #[cold]
    fn read_begin_slow(&self) -> Option<Version> {
        let word = self.wait_while_locked();
        (word & OBSOLETE == 0).then_some(Version(word))
    }

    /// The version if the latch is free right now; `None` when it is locked or obsolete.
    #[inline]
    pub fn try_read_begin(&self) -> Option<Version> {
        let word = self.word.load(Ordering::Acquire); // P1
        (word & (LOCKED | OBSOLETE) == 0).then_some(Version(word))
    }

    /// Whether every protected word loaded since `version` was read belongs to `version`. A `false`
    /// means the reader must discard what it loaded.
    #[inline]
    #[must_use]
    pub fn validate(&self, version: Version) -> bool {
        fence(Ordering::Acquire); // P2, partner: the Release fence of the locking functions
        self.word.load(Ordering::Relaxed) == version.0 // the fence above orders it
    }

    /// Locks the latch if it still is at `version`: what was read since then is then valid and
    /// stays so. `false` leaves the latch alone.
    #[inline]
    #[must_use]
    pub fn try_upgrade(&self, version: Version) -> bool {
        let free = version.0;
        // Acquire: P1. Relaxed on failure: nothing is read on its strength.
        let result =
            self.word.compare_exchange(free, free | LOCKED, Ordering::Acquire, Ordering::Relaxed);
        if result.is_ok() {
            fence(Ordering::Release); // P2, partner: the Acquire fence of `validate`
        }
        result.is_ok()
    }

    /// As [`VersionLatch::try_upgrade`], by a store, for the only thread that locks this latch and
    /// others like it. Who locked it before came before this thread.
    #[inline]
    #[must_use]
    pub fn upgrade_alone(&self, version: Version) -> bool {
        let is_same = self.word.load(Ordering::Relaxed) == version.0; // nobody else stores to it
        if is_same {
            self.word.store(version.0 | LOCKED, Ordering::Relaxed); // the fence orders it
            fence(Ordering::Release); // P2, partner: the Acquire fence of `validate`
        }
        is_same
    }

    /// Locks the latch, waiting for another holder, and returns the version it was at; `None`, and
    /// not locked, when what it protects is obsolete.
    #[inline]
    pub fn lock(&self) -> Option<Version> {
        loop {
            let version = self.read_begin()?;
            if self.try_upgrade(version) {
                return Some(version);
            }
        }
    }

    /// Locks the latch if it is free right now; `None` when it is locked or obsolete.
    #[inline]
    pub fn try_lock(&self) -> Option<Version> {
        let version = self.try_read_begin()?;
        self.try_upgrade(version).then_some(version)
    }

    /// Releases the latch after a change and returns the version published. The caller holds it.
    #[inline]
    pub fn unlock(&self) -> Version {
        let published = self.held_word() - LOCKED + STEP;
        self.word.store(published, Ordering::Release); // P1
        Version(published)
    }

    /// As [`VersionLatch::unlock`], to a version of the caller's choice, greater than that it was
    /// locked at.
    #[inline]
    pub fn unlock_at(&self, version: Version) {
        debug_assert!(version.0 > self.held_word(), "I1");
        self.word.store(version.0, Ordering::Release); // P1
    }

    /// Releases the latch at the version it was locked at, so that no reader is sent back. The
    /// caller holds it and has stored to nothing it protects.
    #[inline]
    pub fn unlock_unchanged(&self) {
        // Release, although nothing was stored: the next holder's stores must come after the loads
        // this holder made.
        self.word.store(self.held_word() - LOCKED, Ordering::Release);
    }

    /// Releases the latch and marks what it protects obsolete: every `read_begin` and `lock`
    /// returns `None` from now on, until `lock_for_reuse`. The caller holds it.
    #[inline]
    pub fn unlock_obsolete(&self) {
        let published = (self.held_word() - LOCKED + STEP) | OBSOLETE;
        self.word.store(published, Ordering::Release); // P1
    }

    /// Locks an obsolete latch for a new life of its memory, which begins with `unlock`. `false`
    /// when it is not obsolete or someone else was faster.
    #[must_use]
    pub fn lock_for_reuse(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed); // the compare-exchange checks it
        if word & (LOCKED | OBSOLETE) != OBSOLETE {
            return false;
        }
        let locked = (word & !OBSOLETE) | LOCKED;
        // Acquire: P1.
        let result = self.word.compare_exchange(word, locked, Ordering::Acquire, Ordering::Relaxed);
        if result.is_ok() {
            fence(Ordering::Release); // P2
        }
        result.is_ok()
    }

    /// Whether some thread holds the latch at this moment; a hint, except for its holder.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Ordering::Relaxed) & LOCKED != 0 // a hint orders nothing
    }

    /// Whether what the latch protects is obsolete at this moment.
    #[inline]
    pub fn is_obsolete(&self) -> bool {
        self.word.load(Ordering::Relaxed) & OBSOLETE != 0 // a hint orders nothing
    }

    /// The version the latch was at when its holder locked it. The caller holds it.
    #[inline]
    pub fn held_version(&self) -> Version {
        Version(self.held_word() - LOCKED)
    }

    /// The word as its holder sees it. Relaxed: by I2 the holder stored it itself.
    #[inline]
    fn held_word(&self) -> u64 {
        let word = self.word.load(Ordering::Relaxed);
        debug_assert!(word & (LOCKED | OBSOLETE) == LOCKED, "only the latch's holder may do this");
        word
    }

    #[cold]
    fn wait_while_locked(&self) -> u64 {
        let mut spin = SpinWait::new();
        loop {
            let word = self.word.load(Ordering::Acquire); // P1
            if word & LOCKED == 0 {
                return word;
            }
            spin.wait();
        }
    }
}
