//! The waiting form of the bounded queue.
//!
//! Role         clients wait in `push` for room, workers in `pop` for work
//! Invariants   I1  every successful push notifies one waiting pop, every successful pop one
//!                  waiting push, and `close` all of both; so none sleeps while it could go on
//! Concurrency  the queue's; two [`EventCount`]s to sleep on, not one `Parker` per thread, because
//!              clients come and go and are not registered anywhere
//!
//! Race guarded     push A has claimed position 0 and not yet stored, push B has finished position
//!                  1 and wakes a pop, which still meets `Empty` at position 0 and sleeps again. A
//!                  wakes one pop; without more, a second one sleeps beside position 1's value.
//!                  So **every success passes the wake-up on**: a pop that leaves values wakes
//!                  another pop, a push that leaves room another push, and on a closed queue every
//!                  pop wakes all, for only the last value's taker knows that the queue is drained.
//!                  The closing case is modelled
//!                  (`two_waiting_pops_end_when_the_last_value_is_gone`); the case of positions 0
//!                  and 1 needs four threads, too many for loom, and rests on this argument.

use super::{BoundedQueue, PopError, PushError};
use crate::clock::Ticks;
use crate::sync::event_count::EventCount;
use crossbeam_utils::CachePadded;

/// A bounded queue whose callers may wait.
#[derive(Debug)]
pub struct BlockingQueue<T> {
    queue: BoundedQueue<T>,
    work: CachePadded<EventCount>,
    room: CachePadded<EventCount>,
}

impl<T> BlockingQueue<T> {
    /// A queue for at least `capacity` values, as [`BoundedQueue::new`].
    pub fn new(capacity: usize) -> Self {
        Self {
            queue: BoundedQueue::new(capacity),
            work: CachePadded::new(EventCount::new()),
            room: CachePadded::new(EventCount::new()),
        }
    }

    /// Appends `value` without waiting.
    pub fn try_push(&self, value: T) -> Result<(), PushError<T>> {
        self.queue.try_push(value)?;
        self.after_push();
        Ok(())
    }

    /// Appends `value`, waiting for room; gives it back when the queue is or becomes closed.
    pub fn push(&self, value: T) -> Result<(), T> {
        self.push_at_most(value, None).map_err(PushError::into_value)
    }

    /// Appends `value`, waiting for room until `deadline`.
    pub fn push_until(&self, value: T, deadline: Ticks) -> Result<(), PushError<T>> {
        self.push_at_most(value, Some(deadline))
    }

    /// The oldest value without waiting.
    pub fn try_pop(&self) -> Result<T, PopError> {
        let value = self.queue.try_pop()?;
        self.after_pop();
        Ok(value)
    }

    /// The oldest value, waiting for one; `None` when the queue is closed and drained.
    pub fn pop(&self) -> Option<T> {
        self.pop_at_most(None).ok()
    }

    /// The oldest value, waiting until `deadline`; `Empty` when it passes.
    pub fn pop_until(&self, deadline: Ticks) -> Result<T, PopError> {
        self.pop_at_most(Some(deadline))
    }

    /// Closes the queue: pushes fail, waiting ones too; pops take what is left and then end.
    /// Whether this call did it.
    pub fn close(&self) -> bool {
        let closed_it = self.queue.close();
        self.work.notify_all();
        self.room.notify_all();
        closed_it
    }

    /// The queue itself, for its figures; values moved through it wake nobody.
    pub fn as_bounded(&self) -> &BoundedQueue<T> {
        &self.queue
    }

    fn push_at_most(&self, value: T, deadline: Option<Ticks>) -> Result<(), PushError<T>> {
        let mut waiting = Some(value);
        let result = self.room.wait_for(deadline, || match self.queue.try_push(waiting.take()?) {
            Ok(()) => Some(Ok(())),
            Err(PushError::Closed(value)) => Some(Err(PushError::Closed(value))),
            Err(PushError::Full(value)) => {
                waiting = Some(value);
                None
            }
        });
        match result {
            Some(Ok(())) => {
                self.after_push();
                Ok(())
            }
            Some(Err(closed)) => Err(closed),
            None => Err(PushError::Full(waiting.expect("a full queue gave the value back"))),
        }
    }

    fn pop_at_most(&self, deadline: Option<Ticks>) -> Result<T, PopError> {
        let result = self.work.wait_for(deadline, || match self.queue.try_pop() {
            Err(PopError::Empty) => None,
            other => Some(other),
        });
        let value = result.unwrap_or(Err(PopError::Empty))?;
        self.after_pop();
        Ok(value)
    }

    fn after_push(&self) {
        self.work.notify_one();
        if self.room.has_sleepers() && self.queue.len() < self.queue.capacity() {
            self.room.notify_one();
        }
    }

    fn after_pop(&self) {
        self.room.notify_one();
        if !self.work.has_sleepers() {
            return;
        }
        if self.queue.is_closed() {
            self.work.notify_all();
        } else if !self.queue.is_empty() {
            self.work.notify_one();
        }
    }
}
