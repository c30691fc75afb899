//! An event count: any number of threads sleep until something may have changed.
//!
//! Role         the sleeping half of blocking structures ([`queue`](super::queue)). A thread that
//!              owns its place to sleep uses [`Parker`](super::Parker); here the sleepers are
//!              whoever comes, unregistered.
//! Invariants   I1  a thread that found nothing after announcing itself sleeps only until the next
//!                  `notify_*` that follows a change
//!              I2  `notify_free` wakes nobody while somebody looks ([`EventCount::look_for`]) or
//!                  is on his way: that one makes an attempt after the change, and if it finds
//!                  something else first, it passes the wake-up on
//! Concurrency  `crowd` -> added to and subtracted from by threads that look or are about to sleep;
//!              `epoch` -> incremented by notifiers that see a sleeper
//!
//!  - P1  sleeper: `sleepers += 1`, SeqCst fence, attempt. Notifier: change, SeqCst fence, load
//!    `crowd`. One of the two sees the other.
//!  - P2  the sleeper loads `epoch` **Acquire** before its attempt, the notifier increments it
//!    **Release** after its change: who loads the new epoch finds the change in its attempt, who
//!    loaded the old one does not fall asleep on it.
//!  - P3  who ends looking (to sleep, or with what it found) subtracts itself, passes a SeqCst
//!    fence, and then attempts, or looks whether there is more. Who is woken, or wakes up by
//!    itself, takes [`WAKING`] away in the same manner. With the notifier's fence of P1: one of the
//!    two sees the other.
//!
//! Source       the event count of folly and of Vyukov; that who looks keeps others asleep: the
//!              schedulers of Go and Tokio

#[cfg(all(test, loom))]
mod loom_tests;

use super::facade::atomic::{AtomicU64, Ordering, fence};
use super::futex::Futex;
use super::spin::spin_briefly;
use crate::clock::Ticks;

/// Threads in `crowd`: those that sleep or are about to.
const SLEEPER: u64 = 1;
/// Threads in `crowd`: those that look, and will look again before they sleep.
const LOOKER: u64 = 1 << 32;
/// In `crowd`: one that slept is on its way.
const WAKING: u64 = 1 << 63;

/// So many threads look at once; others sleep. More would only take the lines that they look at
/// from who changes them: with 64 of them a queue's push took 60 us (docs/machine.md, `hot-row`).
const LOOKERS_MAX: u64 = if cfg!(loom) { 1 } else { 2 };

/// Where any number of threads wait; see the module.
#[derive(Debug)]
pub struct EventCount {
    epoch: Futex,
    crowd: AtomicU64,
}

impl Default for EventCount {
    fn default() -> Self {
        Self::new()
    }
}

impl EventCount {
    /// An event count without sleepers.
    pub fn new() -> Self {
        Self { epoch: Futex::new(0), crowd: AtomicU64::new(0) }
    }

    /// Waits until `attempt` gives something, or `None` once `deadline` has passed. Who makes it
    /// give something calls `notify_one` or `notify_all` afterwards.
    ///
    /// A wake-up may be spent on a thread whose attempt fails although there is something (it was
    /// not finished, say). If that can happen, who later succeeds must pass the wake-up on while
    /// [`EventCount::has_sleepers`].
    pub fn wait_for<R>(
        &self,
        deadline: Option<Ticks>,
        mut attempt: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        spin_briefly(&mut attempt).or_else(|| self.sleep_for(deadline, attempt))
    }

    /// As [`EventCount::wait_for`], for changes told by [`EventCount::notify_free`]: while some
    /// look, the others sleep at once.
    pub fn look_for<R>(
        &self,
        deadline: Option<Ticks>,
        mut attempt: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        if let Some(result) = attempt() {
            return Some(result);
        }
        // Relaxed on all counts: fences order them (P3).
        let crowd = self.crowd.fetch_add(LOOKER, Ordering::Relaxed);
        let is_one_too_many = lookers(crowd) >= LOOKERS_MAX;
        let found = if is_one_too_many { None } else { spin_briefly(&mut attempt) };
        self.crowd.fetch_sub(LOOKER, Ordering::Relaxed);
        fence(Ordering::SeqCst); // P3
        found.or_else(|| self.sleep_for(deadline, attempt))
    }

    /// As [`EventCount::wait_for`], but asleep at once: for what takes longer than to fall asleep
    /// and to be woken, such as a disk, so that no core is taken from who could use it.
    pub fn sleep_for<R>(
        &self,
        deadline: Option<Ticks>,
        attempt: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        // Relaxed on both counts: the fence below orders the first (P1), and a notifier that
        // misses the second wakes in vain.
        self.crowd.fetch_add(SLEEPER, Ordering::Relaxed);
        let result = self.sleep_until_some(deadline, attempt);
        self.crowd.fetch_sub(SLEEPER, Ordering::Relaxed);
        result
    }

    fn sleep_until_some<R>(
        &self,
        deadline: Option<Ticks>,
        mut attempt: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        loop {
            let epoch = self.epoch.load(Ordering::Acquire); // P2
            // Before each attempt: the one that was woken need not be the one that comes.
            if self.crowd.load(Ordering::Relaxed) & WAKING != 0 {
                self.crowd.fetch_and(!WAKING, Ordering::Relaxed); // P3
            }
            fence(Ordering::SeqCst); // P1, P3
            if let Some(result) = attempt() {
                return Some(result);
            }
            if deadline.is_some_and(Ticks::has_passed) {
                return None;
            }
            self.epoch.wait(epoch, deadline.map(Ticks::remaining));
        }
    }

    /// Whether some thread sleeps or is about to. Meant to be called after a `notify_*` of any
    /// event count, whose fence it relies on.
    #[inline]
    pub fn has_sleepers(&self) -> bool {
        sleepers(self.crowd.load(Ordering::Relaxed)) != 0 // the caller's fence orders it
    }

    /// Wakes one sleeper, if any, after a change that one of them can use, unless somebody looks or
    /// is on his way (I2). All who wait do so by [`EventCount::look_for`], and who succeeds calls
    /// this again while there is more.
    #[inline]
    pub fn notify_free(&self) {
        fence(Ordering::SeqCst); // P1
        let crowd = self.crowd.load(Ordering::Relaxed); // the fence orders it
        if sleepers(crowd) != 0 && lookers(crowd) == 0 && crowd & WAKING == 0 {
            self.wake_free();
        }
    }

    #[cold]
    fn wake_free(&self) {
        // Release, before the epoch's increment (P2): who loads the new one takes this away.
        if self.crowd.fetch_or(WAKING, Ordering::Release) & WAKING == 0 {
            self.epoch.fetch_add(1, Ordering::Release); // P2
            self.epoch.wake_one();
        }
    }

    /// Wakes one sleeper, if any, after a change that one of them can use. With none this costs a
    /// fence and a load.
    #[inline]
    pub fn notify_one(&self) {
        if self.announce() {
            self.epoch.wake_one();
        }
    }

    /// Wakes all sleepers after a change that concerns them all.
    #[inline]
    pub fn notify_all(&self) {
        if self.announce() {
            self.epoch.wake_all();
        }
    }

    #[inline]
    fn announce(&self) -> bool {
        fence(Ordering::SeqCst); // P1
        if !self.has_sleepers() {
            return false;
        }
        self.epoch.fetch_add(1, Ordering::Release); // P2
        true
    }
}

fn sleepers(crowd: u64) -> u64 {
    crowd % LOOKER
}

fn lookers(crowd: u64) -> u64 {
    crowd % WAKING / LOOKER
}
