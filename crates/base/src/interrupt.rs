//! An interrupt: how a statement is ended early, by a limit of time or memory or by another thread.
//!
//! Role         one per session. The session's thread tells when a statement begins and ends, and
//!              whatever works for the statement, on that thread or on an engine's, looks here from
//!              time to time, and charges the statement's [account](MemoryAccount) before it
//!              allocates; whoever has a handle may cancel. What lies too deep to be handed it (the
//!              functions of values) finds it by [`current`]
//! States       idle -> running -> interrupted, for one reason -> idle. A cancel that finds no
//!              statement does nothing; one that comes between two statements may hit the second
//! Invariants   I1 what has been interrupted stays so until the statement ends, or the attempt that
//!              was given up: all its parts see the same reason
//! Concurrency  word -> stored by the session's thread, moved from running to interrupted by
//!              anybody's compare-exchange; Relaxed throughout, since nothing else is learnt from
//!              it. Waits -> stored by the session's thread, read by anybody as a hint, Relaxed for
//!              the same reason. Limits and deadlines -> stored by the session's thread before its
//!              statement is given to another one
//! Source       PostgreSQL's CHECK_FOR_INTERRUPTS. We differ: no signal, and a statement is
//!              interrupted only where it is undone as a whole

pub mod current;
#[cfg(all(test, not(loom)))]
mod tests;

use crate::sync::facade::plain_atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Ticks;
use crate::memory::{MemoryAccount, Scope, UNLIMITED};
use crate::thread;

const IDLE: u32 = 0;
const RUNNING: u32 = 1;
/// The first of the reasons.
const INTERRUPTED: u32 = 2;
/// No limit, as nanoseconds and as a deadline.
const NONE: u64 = u64::MAX;
/// Between two looks of who waits for something that cannot wake it for an interrupt.
pub const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A [`WaitForTurn`] that takes longer is for somebody who stays; a shorter one may be for threads
/// that are about to leave, on a busy machine.
const TOLD_BEHIND: Duration = Duration::from_millis(200);

/// Why a statement ends early.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u32)]
pub enum Interruption {
    /// somebody cancelled it
    Request = INTERRUPTED,
    /// it has taken longer than a statement may
    StatementTime,
    /// it has waited for one lock longer than it may
    LockTime,
    /// somebody ends its session
    Termination,
    /// this way of running it takes too long, and its session has another one
    Attempt,
    /// what it has changed takes more memory to undo than it may have
    Memory,
}

impl Interruption {
    fn of_word(word: u32) -> Option<Self> {
        use Interruption as I;
        [I::Request, I::StatementTime, I::LockTime, I::Termination, I::Attempt, I::Memory]
            .into_iter()
            .find(|reason| *reason as u32 == word)
    }
}

/// One session's: the word that others set, and the limits of the statement that runs.
#[derive(Debug)]
pub struct Interrupt {
    word: AtomicU32,
    /// of the statement that runs, as ticks
    deadline: AtomicU64,
    /// of the [`Attempt`] that it makes, as ticks
    attempt_deadline: AtomicU64,
    /// nanoseconds that a statement may take
    statement_time: AtomicU64,
    /// nanoseconds that it may wait for one lock
    lock_time: AtomicU64,
    /// the statement that runs waits for a lock
    waits: AtomicBool,
    /// what the statement that runs may allocate
    memory: Arc<MemoryAccount>,
}

/// Of a session whose memory nobody counts.
impl Default for Interrupt {
    fn default() -> Self {
        Self::new(MemoryAccount::process(UNLIMITED).child(Scope::Statement, UNLIMITED))
    }
}

impl Interrupt {
    /// Of a session whose statements are charged to this account.
    pub fn new(memory: Arc<MemoryAccount>) -> Self {
        Self {
            word: AtomicU32::new(IDLE),
            deadline: AtomicU64::new(NONE),
            attempt_deadline: AtomicU64::new(NONE),
            statement_time: AtomicU64::new(NONE),
            lock_time: AtomicU64::new(NONE),
            waits: AtomicBool::new(false),
            memory,
        }
    }

    /// The account of the statement that runs.
    pub fn memory(&self) -> &Arc<MemoryAccount> {
        &self.memory
    }

    /// How long statements that begin from now on may take.
    pub fn set_statement_time(&self, most: Option<Duration>) {
        self.statement_time.store(nanos(most), Ordering::Relaxed);
    }

    /// How long a statement may wait for one lock, from now on.
    pub fn set_lock_time(&self, most: Option<Duration>) {
        self.lock_time.store(nanos(most), Ordering::Relaxed);
    }

    /// A statement begins, and ends when the guard is dropped. Inside another one it is a part of
    /// that, and the guard does nothing.
    pub fn begin(self: &Arc<Self>) -> Running {
        if self.is_running() {
            return Running(None);
        }
        let deadline = match self.statement_time.load(Ordering::Relaxed) {
            NONE => NONE,
            nanos => Ticks::from_now(Duration::from_nanos(nanos)).to_word(),
        };
        self.deadline.store(deadline, Ordering::Relaxed);
        self.word.store(RUNNING, Ordering::Relaxed);
        Running(Some(Arc::clone(self)))
    }

    /// Whether a statement runs, interrupted or not.
    pub fn is_running(&self) -> bool {
        self.word.load(Ordering::Relaxed) != IDLE
    }

    /// Has the statement that runs end early; false if there is none.
    pub fn cancel(&self) -> bool {
        self.interrupt(Interruption::Request)
    }

    /// As [`Interrupt::cancel`], because the session is ended.
    pub fn terminate(&self) -> bool {
        self.interrupt(Interruption::Termination)
    }

    /// As [`Interrupt::cancel`], because there is no room in its account for what has to be
    /// allocated: said by whoever cannot refuse the work itself.
    pub fn run_out(&self) -> bool {
        self.interrupt(Interruption::Memory)
    }

    /// Whether the statement that runs may go on. For whoever works for it.
    ///
    /// # Errors
    ///
    /// Why not.
    #[inline]
    pub fn check(&self) -> Result<(), Interruption> {
        let has_passed = |deadline: &AtomicU64| match deadline.load(Ordering::Relaxed) {
            NONE => false,
            word => Ticks::from_word(word).has_passed(),
        };
        if has_passed(&self.deadline) {
            self.interrupt(Interruption::StatementTime);
        } else if has_passed(&self.attempt_deadline) {
            self.interrupt(Interruption::Attempt);
        }
        Interruption::of_word(self.word.load(Ordering::Relaxed)).map_or(Ok(()), Err)
    }

    /// Has the statement that runs give up after so long, until the guard is dropped: its session
    /// has another way to run it. For the session's thread.
    pub fn attempt(self: &Arc<Self>, span: Duration) -> Attempt {
        self.attempt_deadline.store(Ticks::from_now(span).to_word(), Ordering::Relaxed);
        Attempt(Arc::clone(self))
    }

    /// Ends the attempt that the statement makes, if it makes one.
    ///
    /// # Errors
    ///
    /// It did, or was interrupted before.
    pub fn give_up_attempt(&self) -> Result<(), Interruption> {
        if self.attempt_deadline.load(Ordering::Relaxed) != NONE {
            self.interrupt(Interruption::Attempt);
        }
        self.check()
    }

    /// Until when a wait for a lock that begins now may last.
    pub fn lock_deadline(&self) -> Option<Ticks> {
        let nanos = self.lock_time.load(Ordering::Relaxed);
        (nanos != NONE).then(|| Ticks::from_now(Duration::from_nanos(nanos)))
    }

    /// The statement waits for a lock until the guard is dropped.
    pub fn wait_for_lock(self: &Arc<Self>) -> WaitingForLock {
        self.waits.store(true, Ordering::Relaxed);
        WaitingForLock(Arc::clone(self))
    }

    /// Begins a wait for whoever keeps everybody else out: one for a lock, to those who ask.
    pub fn begin_wait(self: &Arc<Self>) -> WaitForTurn {
        let (began, deadline) = (Ticks::now(), self.lock_deadline());
        WaitForTurn { interrupt: Arc::clone(self), began, deadline, told: OnceCell::new() }
    }

    /// Whether the statement waits for a lock just now.
    pub fn is_waiting_for_lock(&self) -> bool {
        self.waits.load(Ordering::Relaxed)
    }

    /// As [`Interrupt::check`], for who waits for a lock until a [`Interrupt::lock_deadline`].
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn check_wait(&self, lock_deadline: Option<Ticks>) -> Result<(), Interruption> {
        if lock_deadline.is_some_and(Ticks::has_passed) {
            self.interrupt(Interruption::LockTime);
        }
        self.check()
    }

    /// Sleeps for so long, or until the statement is interrupted.
    ///
    /// # Errors
    ///
    /// Why it was.
    pub fn sleep(&self, span: Duration) -> Result<(), Interruption> {
        let deadline = Ticks::from_now(span);
        loop {
            self.check()?;
            let left = deadline.remaining();
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(LOOK_EVERY));
        }
    }

    /// Whether a statement ran that nobody had interrupted (I1), be an attempt over or not.
    fn interrupt(&self, why: Interruption) -> bool {
        let from = |word: u32| {
            let (word, to) = (&self.word, (word, why as u32));
            word.compare_exchange(to.0, to.1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        from(RUNNING) || why != Interruption::Attempt && from(Interruption::Attempt as u32)
    }
}

fn nanos(span: Option<Duration>) -> u64 {
    span.map_or(NONE, |span| u64::try_from(span.as_nanos()).unwrap_or(NONE))
}

/// A statement runs; see [`Interrupt::begin`].
#[must_use = "the statement ends when this is dropped"]
#[derive(Debug)]
pub struct Running(Option<Arc<Interrupt>>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(interrupt) = &self.0 {
            interrupt.word.store(IDLE, Ordering::Relaxed);
        }
    }
}

/// A statement is tried; see [`Interrupt::attempt`].
#[must_use = "the attempt ends when this is dropped"]
#[derive(Debug)]
pub struct Attempt(Arc<Interrupt>);

impl Attempt {
    /// Whether it was given up.
    pub fn is_over(&self) -> bool {
        self.0.word.load(Ordering::Relaxed) == Interruption::Attempt as u32
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let Interrupt { word, attempt_deadline, .. } = &*self.0;
        attempt_deadline.store(NONE, Ordering::Relaxed);
        let given_up = Interruption::Attempt as u32;
        // Where it was not, or was interrupted for another reason, that stays.
        let _ = word.compare_exchange(given_up, RUNNING, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// A statement waits for a lock; see [`Interrupt::wait_for_lock`].
#[must_use = "the wait ends when this is dropped"]
#[derive(Debug)]
pub struct WaitingForLock(Arc<Interrupt>);

impl Drop for WaitingForLock {
    fn drop(&mut self) {
        self.0.waits.store(false, Ordering::Relaxed);
    }
}

/// A wait of a statement; see [`Interrupt::begin_wait`].
#[must_use = "who waits looks whether to go on"]
#[derive(Debug)]
pub struct WaitForTurn {
    interrupt: Arc<Interrupt>,
    began: Ticks,
    deadline: Option<Ticks>,
    told: OnceCell<WaitingForLock>,
}

impl WaitForTurn {
    /// Tells others of the wait, once it has taken longer than most.
    pub fn tell(&self) {
        if self.began.elapsed() >= TOLD_BEHIND {
            self.told.get_or_init(|| self.interrupt.wait_for_lock());
        }
    }

    /// Whether to wait on; tells others of the wait.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn check(&self) -> Result<(), Interruption> {
        self.tell();
        self.interrupt.check_wait(self.deadline)
    }
}
