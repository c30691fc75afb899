//! A thread that looks after something beside everybody else, until its owner drops it.
//!
//! Concurrency  `told` -> set by who tells, cleared by the thread that hears. Both sides put a
//!              SeqCst fence between their own store and their look at the other's: a change made
//!              before a `tell` that found the flag set is seen by who clears it

use crate::sync::facade::plain_atomic::{AtomicBool, Ordering, fence};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::{JoinHandle, ThreadOptions};
use crate::clock::Ticks;
use crate::sync::EventCount;

/// See the module. The drop asks the thread to end and waits until it has.
#[derive(Debug)]
pub struct BackgroundThread {
    news: Arc<News>,
    thread: Option<JoinHandle<()>>,
}

/// What a background thread is told.
#[derive(Default, Debug)]
pub struct News {
    /// to end
    ends: AtomicBool,
    /// that there is something to do
    told: AtomicBool,
    changed: EventCount,
}

impl BackgroundThread {
    /// Starts a thread called `name`. An error means that the system has no room for another one.
    pub fn start(name: &str, body: impl FnOnce(&News) + Send + 'static) -> io::Result<Self> {
        let news = Arc::<News>::default();
        let heard = Arc::clone(&news);
        let thread = ThreadOptions::named(name).spawn(move || body(&heard))?;
        Ok(Self { news, thread: Some(thread) })
    }

    /// Tells the thread that there is something to do. Cheap as long as it has not heard the last.
    pub fn tell(&self) {
        fence(Ordering::SeqCst);
        if !self.news.told.load(Ordering::Relaxed) {
            self.news.told.store(true, Ordering::Relaxed); // ordered by the event count
            self.news.changed.notify_all();
        }
    }
}

impl News {
    /// Sleeps until the thread is told something, or `deadline` has passed; whether it goes on.
    pub fn wait(&self, deadline: Option<Ticks>) -> bool {
        let ends = || self.ends.load(Ordering::Acquire); // partner: the drop
        let told = || self.told.swap(false, Ordering::Relaxed); // a hint
        let _ = self.changed.wait_for(deadline, || (ends() || told()).then_some(()));
        fence(Ordering::SeqCst);
        !ends()
    }

    /// Sleeps so long, whatever the thread is told; whether it goes on.
    pub fn rest(&self, span: Duration) -> bool {
        let ends = || self.ends.load(Ordering::Acquire).then_some(()); // partner: the drop
        self.changed.sleep_for(Some(Ticks::from_now(span)), ends).is_none()
    }
}

impl Drop for BackgroundThread {
    fn drop(&mut self) {
        self.news.ends.store(true, Ordering::Release); // partner: the Acquire in `News::wait`
        self.news.changed.notify_all();
        super::join_all(self.thread.take());
    }
}
