//! A rendezvous: something that is one's own, is shared by several, and is one's own again, for
//! who is done with it last.
//!
//! Role         a transaction's memory on its way between threads: whoever ends the last of
//!              several things that go on side by side goes on with it. Nothing is allocated but
//!              the parcel itself, once
//! States
//!
//! ```text
//!     parcel (one has it, and may change it) ──share(n)──▶ n shares (all read it) ⟲ another
//!       ▲                                                     │ finish, one after the other
//!       └─────────────────── the last of them gets it ────────┘
//! ```
//!
//! Invariants   I1  there is either one parcel and no share, or no parcel and as many shares as the
//!                  counter says
//! Concurrency  counter -> set while there is no share (**Relaxed**: whatever hands shares to
//!              others orders that); raised by who has a share, so that it cannot come to zero
//!              meanwhile (**Relaxed**, as with an `Arc`); taken down with **AcqRel** as shares
//!              finish: all that others have done with their shares comes before what the last one
//!              does with the parcel
//! Source       dora.txt 4.1.2: rendezvous points, whose counter is the number of actions that have
//!              yet to report; who brings it to zero starts the next phase

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

use std::fmt;
use std::iter::FusedIterator;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::facade::atomic::{AtomicUsize, Ordering};

struct Content<T> {
    /// shares that have not finished
    shares: AtomicUsize,
    value: T,
}

/// The only one who has a value; see the module.
pub struct Parcel<T>(NonNull<Content<T>>);

/// One of several who have a value.
#[must_use = "whoever waits for the others waits for this one, too"]
pub struct Share<T>(NonNull<Content<T>>);

// SAFETY: who has the parcel is the only one who has the value (I1), as with a Box.
unsafe impl<T: Send> Send for Parcel<T> {}
// SAFETY: a shared parcel gives out shared references only.
unsafe impl<T: Sync> Sync for Parcel<T> {}
// SAFETY: shares give out shared references on several threads, hence Sync; whichever is the last
// may take the value away with it, hence Send.
unsafe impl<T: Send + Sync> Send for Share<T> {}
// SAFETY: as above; nothing can be done with a reference to a share but reading.
unsafe impl<T: Send + Sync> Sync for Share<T> {}

impl<T> Parcel<T> {
    /// A value that nobody shares.
    pub fn new(value: T) -> Self {
        let content = Box::new(Content { shares: AtomicUsize::new(0), value });
        Self(NonNull::from(Box::leak(content)))
    }

    /// Has `count` share it, at least one.
    pub fn share(self, count: usize) -> Shares<T> {
        assert!(count > 0, "somebody has to have it");
        let own = ManuallyDrop::new(self);
        // SAFETY: the content lives as long as a parcel or a share does.
        let content = unsafe { own.0.as_ref() };
        content.shares.store(count, Ordering::Relaxed); // see the module
        Shares { content: own.0, left: count }
    }
}

impl<T> Deref for Parcel<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the content lives as long as the parcel does, and changes only through it (I1).
        &unsafe { self.0.as_ref() }.value
    }
}

impl<T> DerefMut for Parcel<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: nobody else has the content (I1).
        &mut unsafe { self.0.as_mut() }.value
    }
}

impl<T> Drop for Parcel<T> {
    fn drop(&mut self) {
        // SAFETY: it was leaked from a Box, and nobody else has it (I1).
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<T> Share<T> {
    /// Another share, for one who was not thought of when it was shared.
    pub fn another(&self) -> Self {
        // SAFETY: the content lives as long as this share does.
        let content = unsafe { self.0.as_ref() };
        let shares = content.shares.fetch_add(1, Ordering::Relaxed); // see the module
        debug_assert!(shares > 0, "I1");
        Self(self.0)
    }

    /// Is done with it; the last one gets it.
    #[inline]
    pub fn finish(self) -> Option<Parcel<T>> {
        let own = ManuallyDrop::new(self);
        // SAFETY: it is not used any more.
        unsafe { take_off(own.0) }
    }
}

/// Takes a share off the counter; the last one gives the parcel.
///
/// # Safety
///
/// `content` is that of a share which nobody uses from now on.
#[inline]
unsafe fn take_off<T>(content: NonNull<Content<T>>) -> Option<Parcel<T>> {
    // SAFETY: the content lives at least until this share is taken off the counter.
    let shares = unsafe { &content.as_ref().shares };
    let is_last = shares.fetch_sub(1, Ordering::AcqRel) == 1; // AcqRel: see the module
    is_last.then(|| Parcel(content)) // I1
}

impl<T> Deref for Share<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the content lives as long as the share does, and nobody changes it (I1).
        &unsafe { self.0.as_ref() }.value
    }
}

impl<T> Drop for Share<T> {
    fn drop(&mut self) {
        // SAFETY: it is dropped.
        drop(unsafe { take_off(self.0) });
    }
}

/// The shares of a parcel that has just been shared. Those that nobody takes are finished.
#[derive(Debug)]
pub struct Shares<T> {
    content: NonNull<Content<T>>,
    left: usize,
}

// SAFETY: as shares.
unsafe impl<T: Send + Sync> Send for Shares<T> {}

impl<T> Shares<T> {
    /// Takes so many of them, or all, if there are no more.
    pub fn take_off(&mut self, count: usize) -> Self {
        let taken = count.min(self.left);
        self.left -= taken;
        Self { content: self.content, left: taken }
    }
}

impl<T> Iterator for Shares<T> {
    type Item = Share<T>;

    #[inline]
    fn next(&mut self) -> Option<Share<T>> {
        self.left = self.left.checked_sub(1)?;
        Some(Share(self.content))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> FusedIterator for Shares<T> {}

impl<T> Drop for Shares<T> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

impl<T: fmt::Debug> fmt::Debug for Parcel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Parcel").field(&**self).finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for Share<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Share").field(&**self).finish()
    }
}
