//! An event count: any number of threads sleep until something may have changed.
//!
//! Role         the sleeping half of blocking structures ([`queue`](super::queue)). A thread that
//!              owns its place to sleep uses [`Parker`](super::Parker); here the sleepers are
//!              whoever comes, unregistered.
//! Invariants   I1  a thread that found nothing after announcing itself sleeps only until the next
//!                  `notify_*` that follows a change
//! Concurrency  `sleepers` -> added to and subtracted from by threads about to sleep; `epoch` ->
//!              incremented by notifiers that see a sleeper
//!
//!  - P1  sleeper: `sleepers += 1`, SeqCst fence, attempt. Notifier: change, SeqCst fence, load
//!    `sleepers`. One of the two sees the other.
//!  - P2  the sleeper loads `epoch` **Acquire** before its attempt, the notifier increments it
//!    **Release** after its change: who loads the new epoch finds the change in its attempt, who
//!    loaded the old one does not fall asleep on it.
//!
//! Source       the event count of folly and of Vyukov

#[cfg(all(test, loom))]
mod loom_tests;

use super::facade::atomic::{AtomicU32, Ordering, fence};
use super::futex::Futex;
use super::spin::spin_briefly;
use crate::clock::Ticks;

/// Where any number of threads wait; see the module.
#[derive(Debug)]
pub struct EventCount {
    epoch: Futex,
    sleepers: AtomicU32,
}

impl Default for EventCount {
    fn default() -> Self {
        Self::new()
    }
}

impl EventCount {
    /// An event count without sleepers.
    pub fn new() -> Self {
        Self { epoch: Futex::new(0), sleepers: AtomicU32::new(0) }
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

    /// As [`EventCount::wait_for`], but asleep at once: for what takes longer than to fall asleep
    /// and to be woken, such as a disk, so that no core is taken from who could use it.
    pub fn sleep_for<R>(
        &self,
        deadline: Option<Ticks>,
        attempt: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        // Relaxed on both counts: the fence below orders the first (P1), and a notifier that
        // misses the second wakes in vain.
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        let result = self.sleep_until_some(deadline, attempt);
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
        result
    }

    fn sleep_until_some<R>(
        &self,
        deadline: Option<Ticks>,
        mut attempt: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        loop {
            let epoch = self.epoch.load(Ordering::Acquire); // P2
            fence(Ordering::SeqCst); // P1
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
        self.sleepers.load(Ordering::Relaxed) != 0 // the caller's fence orders it
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
