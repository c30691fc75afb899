//! The interrupt of what this thread works for at the moment, for code that is not handed it.
//!
//! Role         functions of values (json, casts, patterns, formats) are called from many places
//!              and go over as much data as a client likes. They look here every so many bytes, and
//!              charge what they build. Whoever runs them for a statement has [`enter`]ed
//! Invariants   I1 guards of a thread are dropped in the reverse order of their making: they are
//!                 made around a computation, and cannot leave its thread
//! Concurrency  each thread has its own

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::Arc;

use super::{Interrupt, Interruption};
use crate::memory::{Charge, OutOfMemory};

/// Bytes that a function goes over between two looks: 0.1 to 10 ms, by what it does to them.
pub const LOOK_EVERY_BYTES: usize = 1 << 20;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Interrupt>>> = const { RefCell::new(None) };
}

/// What this thread computes belongs to a statement, until this is dropped; see [`enter`].
#[must_use = "it is left when this is dropped"]
#[derive(Debug)]
pub struct Entered {
    before: Option<Arc<Interrupt>>,
    /// not to leave its thread (I1)
    here: PhantomData<*const ()>,
}

/// Has what this thread computes belong to a statement; none: to nobody.
pub fn enter(interrupt: Option<&Arc<Interrupt>>) -> Entered {
    let before = CURRENT.replace(interrupt.cloned());
    Entered { before, here: PhantomData }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.replace(self.before.take());
    }
}

/// Why a computation ends early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// its statement was interrupted
    Interrupted(Interruption),
    /// it would take too much memory
    OutOfMemory(OutOfMemory),
}

impl From<Interruption> for Refusal {
    fn from(why: Interruption) -> Self {
        Self::Interrupted(why)
    }
}

impl From<OutOfMemory> for Refusal {
    fn from(why: OutOfMemory) -> Self {
        Self::OutOfMemory(why)
    }
}

/// Whether to go on.
///
/// # Errors
///
/// Why not.
pub fn check() -> Result<(), Interruption> {
    CURRENT.with_borrow(|current| current.as_ref().map_or(Ok(()), |interrupt| interrupt.check()))
}

/// A charge of nothing yet to the statement's account; to none where there is no statement.
pub fn charge() -> Charge {
    CURRENT.with_borrow(|current| {
        current.as_ref().map_or_else(Charge::default, |interrupt| Charge::new(interrupt.memory()))
    })
}

/// A computation that says how many bytes it has gone over, and looks from time to time.
#[derive(Default, Debug)]
pub struct Pace {
    bytes: usize,
}

impl Pace {
    /// Nothing gone over yet.
    pub const fn new() -> Self {
        Self { bytes: 0 }
    }

    /// So many bytes have been gone over.
    ///
    /// # Errors
    ///
    /// Why not to go on.
    #[inline]
    pub fn went(&mut self, bytes: usize) -> Result<(), Interruption> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes < LOOK_EVERY_BYTES {
            return Ok(());
        }
        self.bytes = 0;
        check()
    }
}
