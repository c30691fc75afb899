//! A gate: many threads pass it often and cheaply, one closes it now and then and waits until
//! nobody is inside.
//!
//! Role         quiet points: DDL and whatever must run while no transaction does
//! States       open -> closing (`closed`, some still inside) -> quiet (all out) -> open; or
//!              closing -> open, when who closes does not wait until all are out
//! Invariants   I1  between [`Gate::close`] and the drop of its guard nobody is inside
//!              I2  who holds `turn` and has not closed the gate finds it open. Who comes in late
//!                  queues for it with those who close: between two closers the gate is open too
//!                  briefly to be found so
//!              I3  who has waited for those inside in vain can tell, with the gate open again,
//!                  when each of them has left: a thread's word counts its steps in and out
//!              I4  who keeps the gate closed without a need ([`Lingerer`]) keeps nobody waiting:
//!                  who is about to wait for the turn is counted in `wanted` and then asks him to
//!                  go, and he looks at `wanted` when he can be asked
//! Concurrency  `inside[i]` -> written by thread i alone; `closed` -> written by the closer, who
//!              holds `turn`.
//!
//!  - G1  `enter` stores `inside` and then loads `closed`; `close` stores `closed` and then loads
//!    `inside`; both pass a **SeqCst fence** in between (store buffering): one of them sees the
//!    other, so a thread that the closer missed turns back.
//!  - G2  `leave` stores **Release**, the closer loads **Acquire**: what was done inside is seen by
//!    the closer. Opening stores Release, `enter` loads Acquire: the reverse.
//!  - G3  who waits counts itself in `wanted` and then asks; who lingers makes himself known and
//!    then loads `wanted`; both pass a **SeqCst fence** in between, as in G1.

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

use super::facade::atomic::{AtomicU32, Ordering, fence};
use super::latch::{Latch, RawLatch, RawLatchGuard};
use super::spin::SpinWait;
use crate::clock::Ticks;
use crossbeam_utils::CachePadded;
use std::fmt;
use std::mem;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Between two looks whether who waits for the turn is to wait on.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// A thread's word is odd while it is inside, and counts on at each step.
const INSIDE: u32 = 1;
const OPEN: u32 = 0;
const CLOSED: u32 = 1;

/// A word per passer, on a line of its own, and one for who closes the gate.
pub struct Gate {
    inside: Box<[CachePadded<AtomicU32>]>,
    closed: CachePadded<AtomicU32>,
    turn: RawLatch,
    /// threads that wait for the turn
    wanted: AtomicU32,
    lingerer: Latch<Option<Weak<dyn Lingerer>>>,
}

/// Whoever may keep the gate closed without a need for it, because it spares work if nobody else
/// wants to pass.
pub trait Lingerer: Send + Sync {
    /// Opens the gate, if this is what keeps it closed and there is no need for it just now. Called
    /// by whoever wants to pass, on its own thread.
    fn go(&self);
}

/// Keeps the gate closed.
#[derive(Debug)]
#[must_use = "dropping the guard opens the gate"]
pub struct Closed<'a> {
    gate: &'a Gate,
    _turn: RawLatchGuard<'a>,
}

/// Keeps the gate closed, as [`Closed`] does, for whoever cannot borrow it: a session's transaction
/// that closes it in one call and opens it in a later one.
#[derive(Debug)]
#[must_use = "dropping the guard opens the gate"]
pub struct KeptClosed(Arc<Gate>);

/// Threads that were inside at some moment, and how many steps they had taken.
#[derive(Debug)]
pub struct Insiders(Vec<(usize, u32)>);

/// Keeps the gate open.
#[derive(Debug)]
#[must_use = "dropping the guard lets others close the gate"]
pub struct Open<'a> {
    gate: &'a Gate,
    _turn: RawLatchGuard<'a>,
}

impl Gate {
    /// An open gate for the threads `0..threads`.
    pub fn new(threads: usize) -> Self {
        Self {
            inside: (0..threads).map(|_| CachePadded::new(AtomicU32::new(0))).collect(),
            closed: CachePadded::new(AtomicU32::new(OPEN)),
            turn: RawLatch::new(),
            wanted: AtomicU32::new(0),
            lingerer: Latch::new(None),
        }
    }

    /// Goes inside; waits while the gate is closed.
    #[inline]
    pub fn enter(&self, thread: usize) {
        if !self.try_enter(thread) {
            self.keep_open().enter(thread);
        }
    }

    /// Goes inside unless the gate is closed; whether it did.
    #[inline]
    pub fn try_enter(&self, thread: usize) -> bool {
        let inside = &self.inside[thread];
        let steps = inside.load(Ordering::Relaxed); // this thread's own
        debug_assert!(steps & INSIDE == 0, "it is outside");
        inside.store(steps.wrapping_add(1), Ordering::Relaxed); // ordered by the fence: G1
        fence(Ordering::SeqCst); // G1
        if self.closed.load(Ordering::Acquire) == OPEN {
            return true; // Acquire: G2
        }
        inside.store(steps.wrapping_add(2), Ordering::Release); // G2: nothing was done inside
        false
    }

    /// Goes outside.
    #[inline]
    pub fn leave(&self, thread: usize) {
        let inside = &self.inside[thread];
        let steps = inside.load(Ordering::Relaxed); // this thread's own
        debug_assert!(steps & INSIDE != 0, "it is inside");
        inside.store(steps.wrapping_add(1), Ordering::Release); // G2
    }

    /// Whether somebody wants the gate closed: a thread inside should leave soon.
    #[inline]
    pub fn wants_quiet(&self) -> bool {
        self.closed.load(Ordering::Relaxed) != OPEN // a hint
    }

    /// Closes the gate and waits until nobody is inside. Callers queue.
    pub fn close(&self) -> Closed<'_> {
        self.close_behind(self.take_turn(), || true).expect("it waits as long as it takes")
    }

    /// As [`Gate::close`], but opens the gate again and gives up when somebody is still inside
    /// after `patience`. The time that others keep it closed before does not count; meanwhile it
    /// gives up when `goes_on`, asked every 10 ms, says no.
    pub fn close_within(
        &self,
        patience: Duration,
        goes_on: impl FnMut() -> bool,
    ) -> Option<Closed<'_>> {
        let turn = self.take_turn_while(goes_on)?;
        let deadline = Ticks::from_now(patience);
        self.close_behind(turn, || !deadline.has_passed())
    }

    /// Closes the gate and waits until nobody is inside, while `goes_on` says so.
    fn close_behind<'a>(
        &'a self,
        turn: RawLatchGuard<'a>,
        mut goes_on: impl FnMut() -> bool,
    ) -> Option<Closed<'a>> {
        self.closed.store(CLOSED, Ordering::Relaxed); // ordered by the fence: G1
        fence(Ordering::SeqCst); // G1
        let closed = Closed { gate: self, _turn: turn }; // opens it again when it is dropped
        for inside in &self.inside {
            let mut wait = SpinWait::new();
            while inside.load(Ordering::Acquire) & INSIDE != 0 {
                if !goes_on() {
                    return None;
                }
                wait.wait(); // Acquire: G2
            }
        }
        Some(closed)
    }

    fn take_turn(&self) -> RawLatchGuard<'_> {
        self.turn.try_lock().unwrap_or_else(|| self.wanting(|| self.turn.lock()))
    }

    /// The turn; none when `goes_on`, asked every 10 ms, says no before it has come.
    fn take_turn_while(&self, mut goes_on: impl FnMut() -> bool) -> Option<RawLatchGuard<'_>> {
        let mut wait = || {
            loop {
                match self.turn.lock_within(LOOK_EVERY) {
                    None if goes_on() => {}
                    turn => return turn,
                }
            }
        };
        self.turn.try_lock().or_else(|| self.wanting(&mut wait))
    }

    /// Waits for the turn, as one who wants it.
    fn wanting<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.wanted.fetch_add(1, Ordering::Relaxed); // ordered by the fence: G3
        fence(Ordering::SeqCst); // G3
        self.ask_to_go();
        let turn = wait();
        self.wanted.fetch_sub(1, Ordering::Relaxed); // a count
        turn
    }

    /// Makes known who may linger, in the place of whoever could before.
    pub fn set_lingerer(&self, lingerer: Weak<dyn Lingerer>) {
        *self.lingerer.lock() = Some(lingerer);
    }

    /// Asks whoever lingers to open the gate: for who comes back to find it open.
    #[cold]
    pub fn ask_to_go(&self) {
        let lingerer = self.lingerer.lock().as_ref().and_then(Weak::upgrade);
        if let Some(lingerer) = lingerer {
            lingerer.go();
        }
    }

    /// Whether somebody waits for the turn. Asked by who lingers, behind the moment from which on
    /// it can be asked to go (I4).
    pub fn is_wanted(&self) -> bool {
        fence(Ordering::SeqCst); // G3
        self.wanted.load(Ordering::Relaxed) > 0
    }

    /// Who is inside just now.
    pub fn insiders(&self) -> Insiders {
        let steps = self.inside.iter().map(|inside| inside.load(Ordering::Relaxed)); // hints
        let inside = steps.enumerate().filter(|(_, steps)| steps & INSIDE != 0);
        Insiders(inside.collect())
    }

    /// Whether some of those who were inside have not left since (I3).
    pub fn are_still_inside(&self, insiders: &Insiders) -> bool {
        // Relaxed: a hint; who closes the gate makes sure.
        let stays = |&(at, steps): &(usize, u32)| self.inside[at].load(Ordering::Relaxed) == steps;
        insiders.0.iter().any(stays)
    }

    /// Waits while the gate is closed, and keeps it open.
    #[cold]
    pub fn keep_open(&self) -> Open<'_> {
        Open { gate: self, _turn: self.take_turn() } // I2
    }

    /// As [`Gate::keep_open`]; none when `goes_on`, asked every 10 ms, says no before the gate is
    /// open.
    #[cold]
    pub fn keep_open_while(&self, goes_on: impl FnMut() -> bool) -> Option<Open<'_>> {
        Some(Open { gate: self, _turn: self.take_turn_while(goes_on)? }) // I2
    }
}

impl Open<'_> {
    /// Goes inside.
    pub fn enter(&self, thread: usize) {
        let entered = self.gate.try_enter(thread);
        assert!(entered, "whoever closes the gate has the turn (I2)");
    }
}

impl Closed<'_> {
    /// The same, borrowing nothing. `gate` is the one that is closed.
    pub fn keep(self, gate: &Arc<Gate>) -> KeptClosed {
        assert!(std::ptr::eq(self.gate, &raw const **gate), "it is the gate that is closed");
        mem::forget(self); // with its turn: the drop of what is kept does what theirs would have
        KeptClosed(Arc::clone(gate))
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.gate.closed.store(OPEN, Ordering::Release); // G2
    }
}

impl Drop for KeptClosed {
    fn drop(&mut self) {
        self.0.closed.store(OPEN, Ordering::Release); // G2
        self.0.turn.unlock(); // behind it, as the guard of a turn goes behind `Closed` (I2)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("closed", &self.closed).finish_non_exhaustive()
    }
}
