//! The latch of a node, for both forms of the tree.
//!
//! Role         `VersionLatch` where threads share the tree. Where one thread owns it, versions are
//!              still counted (node stamps are made of them), but nothing is ever locked, checked
//!              or obsolete
//! Concurrency  shared: the protocol of `hotrow_base::sync::VersionLatch`. Owned: Relaxed, because
//!              whoever hands the tree to another thread orders that

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hotrow_base::sync::{Version, VersionLatch};

use crate::latching::Latching;

/// The version, after waiting for a writer; `None` when the node is obsolete.
#[inline(always)]
pub(super) fn read_begin<L: Latching>(word: &AtomicU64) -> Option<Version> {
    if L::LATCHED {
        return VersionLatch::in_word(word).read_begin();
    }
    Some(Version::from_word(word.load(Relaxed)))
}

/// Whether nothing read since `version` was changed.
#[inline(always)]
pub(super) fn validate<L: Latching>(word: &AtomicU64, version: Version) -> bool {
    !L::LATCHED || is_at(word, version)
}

/// Whether the node is free and at `version`, in both forms.
#[inline(always)]
pub(super) fn is_at(word: &AtomicU64, version: Version) -> bool {
    VersionLatch::in_word(word).validate(version)
}

/// Latches if the node still is at `version`.
#[inline(always)]
pub(super) fn try_upgrade<L: Latching>(word: &AtomicU64, version: Version) -> bool {
    !L::LATCHED || VersionLatch::in_word(word).try_upgrade(version)
}

/// Latches if the latch is free right now and the node is not obsolete.
pub(super) fn try_lock<L: Latching>(word: &AtomicU64) -> bool {
    !L::LATCHED || VersionLatch::in_word(word).try_lock().is_some()
}

/// Latches a node that nobody reaches, fresh or obsolete.
pub(super) fn lock_unreachable<L: Latching>(word: &AtomicU64) -> bool {
    let latch = VersionLatch::in_word(word);
    !L::LATCHED || latch.lock_for_reuse() || latch.lock().is_some()
}

/// Releases after a change; the version published. The caller holds the latch.
#[inline(always)]
pub(super) fn unlock<L: Latching>(word: &AtomicU64) -> Version {
    if L::LATCHED {
        return VersionLatch::in_word(word).unlock();
    }
    let next = Version::from_word(word.load(Relaxed)).next();
    word.store(next.to_word(), Relaxed);
    next
}

/// Releases without a change. The caller holds the latch.
#[inline(always)]
pub(super) fn unlock_unchanged<L: Latching>(word: &AtomicU64) {
    if L::LATCHED {
        VersionLatch::in_word(word).unlock_unchanged();
    }
}

/// Releases and marks the node obsolete. The caller holds the latch.
pub(super) fn unlock_obsolete<L: Latching>(word: &AtomicU64) {
    if L::LATCHED {
        VersionLatch::in_word(word).unlock_obsolete();
    } else {
        unlock::<L>(word);
    }
}
