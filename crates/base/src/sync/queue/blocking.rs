//! The waiting form of the bounded queue.
//!
//! Role         clients wait in `push` for room, workers in `pop` for work
//! Invariants   I1  every successful push notifies one waiting pop, unless one looks anyway, every
//!                  successful pop one waiting push, and `close` all of both; so none sleeps while
//!                  it could go on
//!              I2  one event count wakes pops of all lanes, so that who sleeps need not know
//!                  which lane will have something
//! Concurrency  the queue's; [`EventCount`]s to sleep on, not one `Parker` per thread, because
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
use std::ops::Range;

/// A bounded queue whose callers may wait. It may have several **lanes**, each a queue with its own
/// room: a pop says which one it looks at first.
#[derive(Debug)]
pub struct BlockingQueue<T, const LANES: usize = 1> {
    lanes: [BoundedQueue<T>; LANES],
    /// lanes before this one are looked at by all who wait for work
    common: usize,
    work: CachePadded<EventCount>,
    room: [CachePadded<EventCount>; LANES],
}

impl<T, const LANES: usize> BlockingQueue<T, LANES> {
    /// A queue for at least `capacity` values in each lane, as [`BoundedQueue::new`]. Whoever waits
    /// for work looks at the first `common` lanes at least.
    pub fn with_lanes(capacity: usize, common: usize) -> Self {
        Self {
            common,
            lanes: std::array::from_fn(|_| BoundedQueue::new(capacity)),
            work: CachePadded::new(EventCount::new()),
            room: std::array::from_fn(|_| CachePadded::new(EventCount::new())),
        }
    }

    /// Appends `value` to a lane without waiting.
    pub fn try_push_to(&self, lane: usize, value: T) -> Result<(), PushError<T>> {
        self.lanes[lane].try_push(value)?;
        self.after_push(lane);
        Ok(())
    }

    /// Appends `value` to a lane, waiting for room until `deadline`; gives it back when the queue
    /// is or becomes closed.
    pub fn push_to(
        &self,
        lane: usize,
        value: T,
        deadline: Option<Ticks>,
    ) -> Result<(), PushError<T>> {
        let mut waiting = Some(value);
        let queue = &self.lanes[lane];
        let result = self.room[lane].wait_for(deadline, || match queue.try_push(waiting.take()?) {
            Ok(()) => Some(Ok(())),
            Err(PushError::Closed(value)) => Some(Err(PushError::Closed(value))),
            Err(PushError::Full(value)) => {
                waiting = Some(value);
                None
            }
        });
        match result {
            Some(Ok(())) => {
                self.after_push(lane);
                Ok(())
            }
            Some(Err(closed)) => Err(closed),
            None => Err(PushError::Full(waiting.expect("a full queue gave the value back"))),
        }
    }

    /// The oldest value of lane `first`, or else that of the first other lane that has one, without
    /// waiting.
    pub fn try_pop_from(&self, first: usize) -> Result<T, PopError> {
        self.try_pop_among(first, 0..LANES)
    }

    /// As [`BlockingQueue::try_pop_from`], but of some lanes only.
    pub fn try_pop_among(&self, first: usize, lanes: Range<usize>) -> Result<T, PopError> {
        let (lane, value) = self.look_in(first, lanes)?;
        self.after_pop(lane);
        Ok(value)
    }

    /// As [`BlockingQueue::try_pop_from`] the first lane, waiting for a value until `deadline`;
    /// `Empty` when it passes.
    pub fn pop_at_most(&self, deadline: Option<Ticks>) -> Result<T, PopError> {
        self.pop_unless(deadline, 0..LANES, || false)
    }

    /// As [`BlockingQueue::pop_at_most`], but of some lanes only, and `Empty` as soon as `called`
    /// says so, for which somebody calls [`BlockingQueue::call_away`] afterwards.
    pub fn pop_unless(
        &self,
        deadline: Option<Ticks>,
        lanes: Range<usize>,
        called: impl Fn() -> bool,
    ) -> Result<T, PopError> {
        let result =
            self.work.look_for(deadline, || match self.look_in(lanes.start, lanes.clone()) {
                Err(PopError::Empty) if called() => Some(Err(PopError::Empty)),
                Err(PopError::Empty) => None,
                other => Some(other),
            });
        let (lane, value) = result.unwrap_or(Err(PopError::Empty))?;
        self.after_pop(lane);
        Ok(value)
    }

    /// Has those who wait in [`BlockingQueue::pop_unless`] look whether they are called.
    pub fn call_away(&self) {
        self.work.notify_all();
    }

    /// Closes the queue: pushes fail, waiting ones too; pops take what is left and then end.
    /// Whether this call did it.
    pub fn close(&self) -> bool {
        // A pop that finds some lanes closed and not others looks again.
        let mut closed_it = false;
        for lane in &self.lanes {
            closed_it |= lane.close();
        }
        self.work.notify_all();
        self.room.iter().for_each(|room| room.notify_all());
        closed_it
    }

    /// A lane itself, for its figures; values moved through it wake nobody.
    pub fn lane(&self, lane: usize) -> &BoundedQueue<T> {
        &self.lanes[lane]
    }

    /// How many values there are in all lanes, about.
    pub fn len(&self) -> usize {
        self.lanes.iter().map(BoundedQueue::len).sum()
    }

    /// Whether all lanes seem empty.
    pub fn is_empty(&self) -> bool {
        self.lanes.iter().all(BoundedQueue::is_empty)
    }

    fn look_in(&self, first: usize, lanes: Range<usize>) -> Result<(usize, T), PopError> {
        let mut end = PopError::Drained;
        for lane in std::iter::once(first).chain(lanes.filter(|&lane| lane != first)) {
            match self.lanes[lane].try_pop() {
                Ok(value) => return Ok((lane, value)),
                Err(PopError::Empty) => end = PopError::Empty,
                Err(PopError::Drained) => {}
            }
        }
        Err(end)
    }

    fn after_push(&self, lane: usize) {
        self.tell_of_work(lane < self.common);
        let (queue, room) = (&self.lanes[lane], &self.room[lane]);
        if room.has_sleepers() && queue.len() < queue.capacity() {
            room.notify_one();
        }
    }

    fn after_pop(&self, lane: usize) {
        self.room[lane].notify_one();
        if !self.work.has_sleepers() {
            return;
        }
        if self.lanes.iter().all(BoundedQueue::is_closed) {
            self.work.notify_all();
        } else if let Some(lane) = self.lanes.iter().position(|lane| !lane.is_empty()) {
            self.tell_of_work(lane < self.common);
        }
    }

    /// Wakes who can take a value, of a lane that all look at or not: who looks anyway need not be
    /// one of those.
    fn tell_of_work(&self, is_common: bool) {
        match is_common {
            true => self.work.notify_free(),
            false => self.work.notify_one(),
        }
    }
}

/// One lane: all that the tests of waiting need.
#[cfg(test)]
impl<T> BlockingQueue<T> {
    /// A queue of one lane.
    pub fn new(capacity: usize) -> Self {
        Self::with_lanes(capacity, 1)
    }

    /// Appends `value` without waiting.
    pub fn try_push(&self, value: T) -> Result<(), PushError<T>> {
        self.try_push_to(0, value)
    }

    /// Appends `value`, waiting for room; gives it back when the queue is or becomes closed.
    pub fn push(&self, value: T) -> Result<(), T> {
        self.push_to(0, value, None).map_err(PushError::into_value)
    }

    /// Appends `value`, waiting for room until `deadline`.
    pub fn push_until(&self, value: T, deadline: Ticks) -> Result<(), PushError<T>> {
        self.push_to(0, value, Some(deadline))
    }

    /// The oldest value without waiting.
    pub fn try_pop(&self) -> Result<T, PopError> {
        self.try_pop_from(0)
    }

    /// The oldest value, waiting for one; `None` when the queue is closed and drained.
    pub fn pop(&self) -> Option<T> {
        self.pop_at_most(None).ok()
    }

    /// The oldest value, waiting until `deadline`; `Empty` when it passes.
    pub fn pop_until(&self, deadline: Ticks) -> Result<T, PopError> {
        self.pop_at_most(Some(deadline))
    }
}
