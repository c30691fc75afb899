//! A store's words, and the stamp by which its records tell whether an image has them.
//!
//! Role         what a record needs to know of its store
//! Concurrency  `stamp` -> flipped at quiet points, when no record is owned (base's `claim`, I4),
//!              so Relaxed is enough

use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering::Relaxed};

use super::segments::Segments;
use crate::record::Meta;

/// The words of a store's records, and the stamp of the image at hand.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) segments: Segments,
    stamp: AtomicU64,
}

impl Space {
    /// An empty space.
    pub(crate) fn new() -> Self {
        Self { segments: Segments::new(), stamp: AtomicU64::new(0) }
    }

    /// The stamp of records that need not be copied any more: the meta bit, set or clear.
    #[inline(always)]
    pub(crate) fn stamp(&self) -> u64 {
        self.stamp.load(Relaxed)
    }

    /// Begins another image: from now on all records there are have the other stamp.
    pub(crate) fn flip_stamp(&self) {
        self.stamp.store(self.stamp() ^ Meta::STAMP, Relaxed);
    }
}
