//! The interrupt of what this thread works for at the moment, for code that is not handed it.
//!
//! Role         functions of values (json, casts, patterns, formats) are called from many places
//!              and go over as much data as a client likes. They look here every so many bytes, and
//!              charge what they build. Whoever runs them for a statement has [`enter`]ed
//! Invariants   I1 guards of a thread are dropped in the reverse order of their making: they are
//!                 made around a computation, and cannot leave its thread
//! Concurrency  each thread has its own

use crate::sync::facade::plain_atomic::{AtomicU64, Ordering};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::{Arc, Weak};

use super::{Interrupt, Interruption, WaitForTurn};
use crate::memory::{Charge, OutOfMemory};

/// Bytes that a function goes over between two looks: 0.1 to 10 ms, by what it does to them.
pub const LOOK_EVERY_BYTES: usize = 1 << 20;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Interrupt>>> = const { RefCell::new(None) };
    /// whoever has looked last, see [`note_look`]
    static LOOKED: RefCell<Weak<Interrupt>> = const { RefCell::new(Weak::new()) };
    /// the thread's number and how many looks were noted on it; 0 before it has a number
    static LOOKS: Cell<u64> = const { Cell::new(0) };
}

/// Bits of a number of looks; above them is that of the thread, so that no two threads' are alike.
const LOOKS_BITS: u32 = 44;
/// The next thread's number. Relaxed: nothing else is learnt from it.
static THREADS: AtomicU64 = AtomicU64::new(1);

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

/// Notes that a statement has used up a portion of its steps on this thread, and looked whether to
/// go on. What grows below it, where nobody is told whose it is, finds it by [`last_looked`].
pub fn note_look(interrupt: &Arc<Interrupt>) {
    LOOKS.set(looks() + 1);
    LOOKED.with_borrow_mut(|looked| {
        if looked.as_ptr() != Arc::as_ptr(interrupt) {
            *looked = Arc::downgrade(interrupt);
        }
    });
}

/// How many looks were noted on this thread so far, as a number that no other thread has.
#[inline]
pub fn looks() -> u64 {
    match LOOKS.get() {
        0 => number_thread(),
        looks => looks,
    }
}

#[cold]
fn number_thread() -> u64 {
    let number = THREADS.fetch_add(1, Ordering::Relaxed) << LOOKS_BITS;
    LOOKS.set(number);
    number
}

/// Whoever has looked last on this thread, if that was after so many [`looks`] on this thread.
pub fn last_looked(after: u64) -> Option<Arc<Interrupt>> {
    let looks = looks();
    let is_here = looks >> LOOKS_BITS == after >> LOOKS_BITS;
    if is_here && looks > after { LOOKED.with_borrow(Weak::upgrade) } else { None }
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

/// Whether what this thread computes belongs to this one.
pub fn is(interrupt: &Arc<Interrupt>) -> bool {
    let is_it = |current: &Arc<Interrupt>| Arc::ptr_eq(current, interrupt);
    CURRENT.with_borrow(|current| current.as_ref().is_some_and(is_it))
}

/// Whether to go on.
///
/// # Errors
///
/// Why not.
pub fn check() -> Result<(), Interruption> {
    CURRENT.with_borrow(|current| current.as_ref().map_or(Ok(()), |interrupt| interrupt.check()))
}

/// Begins a wait of the statement; none where there is no statement.
pub fn begin_wait() -> Option<WaitForTurn> {
    CURRENT.with_borrow(|current| current.as_ref().map(Interrupt::begin_wait))
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
