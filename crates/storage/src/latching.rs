//! Whether an index shares its nodes among threads: the policy that makes one implementation serve
//! both the shared and the *split* form of an index.
//!
//! Role         a type parameter of the hash index and of the B+-tree; decides at compile time
//!              whether their latches and version checks exist
//! Invariants   I1 all node memory is atomic words in both forms, so that a wrongly shared
//!              unlatched index gives wrong answers but never undefined behaviour
//! Source       split ORTHRUS (orthrus.txt) and H-Store: one unlatched index per partition

/// Decides whether an index latches its nodes. Implemented by [`Latched`] and [`Unlatched`] only.
pub trait Latching: Send + Sync + 'static + sealed::Sealed {
    /// Whether threads share the index.
    const LATCHED: bool;
}

/// The index is shared: writers latch, readers validate versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latched;

/// One thread at a time uses the index, as when a thread owns a partition: no latch is taken and
/// no version is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unlatched;

impl Latching for Latched {
    const LATCHED: bool = true;
}

impl Latching for Unlatched {
    const LATCHED: bool = false;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Latched {}
    impl Sealed for super::Unlatched {}
}
