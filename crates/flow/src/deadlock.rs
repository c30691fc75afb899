//! Finding those who wait for each other.
//!
//! Role         tells circles of waiting; who of a circle gives way, and how, its user decides.
//!              Three kinds: among the requesters of one thread's lock space ([`circle`]), among
//!              owners who wait on many threads, each of whom has a cell that all may read
//!              ([`graph`], [`dreadlocks`]), and in what nodes of a protocol report ([`reports`]).
//!              Neither locks nor queues
//! Reading      [`sets`], [`graph`], [`dreadlocks`], [`circle`], [`reports`]
//! Source       orthrus.txt 4 (wait-for graph in parts), locking.txt 4.2 (dreadlocks),
//!              partitioned.txt 4.3 (cycles within a partition)

pub mod circle;
pub mod dreadlocks;
pub mod graph;
pub mod reports;
pub mod sets;

use hotrow_base::sync::facade::atomic::AtomicU64;

use crossbeam_utils::CachePadded;

use graph::Part;

/// What others may know of an owner that waits.
pub trait Waiter {
    /// its digest
    fn set(&self) -> &[AtomicU64];

    /// whom it waits for
    fn part(&self) -> &Part;

    /// the number of its present generation
    fn generation(&self) -> u32;

    /// whether it has been told to let go of everything
    fn is_doomed(&self) -> bool;

    /// whether its digest has grown old
    fn is_outdated(&self) -> bool;

    /// says whether its digest has grown old
    fn set_outdated(&self, outdated: bool);
}

/// The cells of all owners, by number.
pub type Cells<W> = [CachePadded<W>];
