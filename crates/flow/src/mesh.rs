//! The rings between threads, and where these threads sleep.
//!
//! Role         each pair of threads that may send something has a ring of its own, with one writer
//!              and one reader. A thread may have ends of several kinds of messages; it sleeps in
//!              one place
//!
//! ```text
//!   sender   send ─▶ ring, unpublished ──publish──▶ published ─▶ wakes the reader
//!              └──▶ late (the ring is full) ──┘
//!   reader   receive ◀── published, and due where the link has a delay
//! ```
//!
//! Invariants   I1 sending never waits, so no circle of full rings can close. What finds its ring
//!              full waits with its sender, in order, for the next publication
//!              I2 messages of one sender to one reader are received in the order of sending
//!              I3 a reader that finds nothing sleeps; who writes publishes first, then wakes. So
//!              who waits for an answer has published all that it has sent
//! Bounds       a ring has the capacity it was made with. How much may be late is bounded by the
//!              protocol above, which stops to begin something new while something is late
//! Source       orthrus.txt 3.1 and 3.3. We differ: messages are published in batches, once per
//!              turn of a thread

#[cfg(test)]
mod tests;

use hotrow_base::sync::facade::atomic::{AtomicBool, Ordering, fence};
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use hotrow_base::clock::Ticks;
use hotrow_base::sync::spsc::{self, Consumer, Producer};
use hotrow_base::sync::{Parker, Spin, SpinWait};

/// How long a thread sleeps that has late messages before it tries to publish them again.
const RETRY: Duration = Duration::from_micros(50);

/// Where the threads of a mesh sleep, by number.
#[derive(Clone, Debug)]
pub struct Sleepers(Arc<[CachePadded<Sleeper>]>);

/// Where one thread sleeps.
#[derive(Default)]
struct Sleeper {
    parker: Parker,
    /// it waits elsewhere
    elsewhere: AtomicBool,
    /// calls it away from there
    bell: OnceLock<BellOf>,
}

/// See [`Bed::set_bell`].
type BellOf = Box<dyn Fn() + Send + Sync>;

impl fmt::Debug for Sleeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleeper").field("parker", &self.parker).finish_non_exhaustive()
    }
}

impl Sleeper {
    #[inline]
    fn wake(&self) {
        self.parker.notify();
        // Relaxed: behind the fence of `notify`; partner: the one in `wait_elsewhere`.
        if self.elsewhere.load(Ordering::Relaxed)
            && let Some(ring) = self.bell.get()
        {
            ring();
        }
    }
}

/// What a link between two threads is made for.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// messages that its ring holds, at least
    pub capacity: usize,
    /// how long each message is on its way: that of a network, where threads stand for machines;
    /// none: as long as it takes
    pub delay: Option<Duration>,
}

impl Link {
    /// One without a delay.
    pub const fn of(capacity: usize) -> Self {
        Self { capacity, delay: None }
    }
}

impl Sleepers {
    /// A place for each of so many threads.
    pub fn new(threads: usize) -> Self {
        Self((0..threads).map(|_| CachePadded::default()).collect())
    }

    /// The place of thread number `own`, which spins for a while before it sleeps.
    pub fn bed(&self, own: usize, spin: Spin) -> Bed {
        Bed { sleepers: self.clone(), own, spin }
    }

    /// Rings for one kind of message, from each thread of a group to each of another, as far as
    /// `link` has one for the pair (numbers within the groups). The ends of each sender and of each
    /// reader, in the order of the groups.
    pub fn connect<M: Send>(
        &self,
        from: Range<usize>,
        to: Range<usize>,
        link: impl Fn(usize, usize) -> Option<Link>,
    ) -> (Vec<Senders<M>>, Vec<Receivers<M>>) {
        let mut receivers: Vec<_> = to.clone().map(|_| Receivers { rings: Vec::new() }).collect();
        let lanes_of = |sender| {
            let lanes = receivers.iter_mut().enumerate().map(|(number, reader)| {
                let link = link(sender, number)?;
                let (ring, end) = ring(link);
                reader.rings.push(end);
                Some(Lane { ring, late: VecDeque::new(), reader: to.start + number })
            });
            lanes.collect()
        };
        let lanes: Vec<_> = (0..from.len()).map(lanes_of).collect();
        let senders = |lanes| Senders { lanes, sleepers: self.clone(), sent: 0 };
        (lanes.into_iter().map(senders).collect(), receivers)
    }

    fn wake(&self, thread: usize) {
        self.0[thread].wake();
    }
}

fn ring<M: Send>(link: Link) -> (RingIn<M>, RingOut<M>) {
    match link.delay {
        None => {
            let (producer, consumer) = spsc::ring(link.capacity);
            (RingIn::Plain(producer), RingOut::Plain(consumer))
        }
        Some(delay) => {
            let (producer, consumer) = spsc::ring(link.capacity);
            (RingIn::Delayed(producer, delay), RingOut::Delayed(consumer))
        }
    }
}

/// The end of a ring that writes.
enum RingIn<M> {
    Plain(Producer<M>),
    /// each message with the time at which it is there
    Delayed(Producer<(Ticks, M)>, Duration),
}

impl<M> RingIn<M> {
    #[inline]
    fn push(&mut self, message: M) -> Result<(), M> {
        match self {
            Self::Plain(ring) => ring.push(message),
            Self::Delayed(ring, delay) => {
                ring.push((Ticks::from_now(*delay), message)).map_err(|(_, message)| message)
            }
        }
    }

    #[inline]
    fn has_unpublished(&self) -> bool {
        match self {
            Self::Plain(ring) => ring.unpublished() > 0,
            Self::Delayed(ring, _) => ring.unpublished() > 0,
        }
    }

    #[inline]
    fn publish(&mut self) {
        match self {
            Self::Plain(ring) => ring.publish(),
            Self::Delayed(ring, _) => ring.publish(),
        }
    }

    fn used(&mut self) -> usize {
        match self {
            Self::Plain(ring) => ring.capacity() - ring.free_slots(),
            Self::Delayed(ring, _) => ring.capacity() - ring.free_slots(),
        }
    }
}

/// The end of a ring that reads.
enum RingOut<M> {
    Plain(Consumer<M>),
    Delayed(Consumer<(Ticks, M)>),
}

impl<M> RingOut<M> {
    #[inline]
    fn take(&mut self, most: usize, each: &mut impl FnMut(M)) -> usize {
        match self {
            Self::Plain(ring) => ring.take(most, each),
            Self::Delayed(ring) => {
                let is_due = |(due, _): &(Ticks, M)| due.has_passed();
                let mut taken = 0;
                while taken < most && ring.peek().is_some_and(is_due) {
                    let (_, message) = ring.pop().expect("one has just been seen");
                    each(message);
                    taken += 1;
                }
                taken
            }
        }
    }

    #[inline]
    fn is_empty(&mut self) -> bool {
        match self {
            Self::Plain(ring) => ring.is_empty(),
            Self::Delayed(ring) => !ring.peek().is_some_and(|(due, _)| due.has_passed()),
        }
    }

    fn len(&mut self) -> usize {
        match self {
            Self::Plain(ring) => ring.len(),
            Self::Delayed(ring) => ring.len(),
        }
    }

    /// When a message that is on its way will be there.
    fn due(&mut self) -> Option<Ticks> {
        match self {
            Self::Plain(_) => None,
            Self::Delayed(ring) => ring.peek().map(|&(due, _)| due),
        }
    }
}

struct Lane<M> {
    ring: RingIn<M>,
    /// found the ring full
    late: VecDeque<M>,
    /// the thread that reads
    reader: usize,
}

impl<M> Lane<M> {
    #[cold]
    fn push_late(&mut self, message: M) {
        self.ring.publish(); // a full ring is emptied only if its reader sees what is in it
        self.late.push_back(message);
    }

    /// Moves late messages into the ring as far as there is room.
    #[cold]
    fn catch_up(&mut self) {
        while let Some(message) = self.late.pop_front() {
            if let Err(message) = self.ring.push(message) {
                self.late.push_front(message);
                return;
            }
        }
    }
}

/// A thread's ends that write messages of one kind, by reader.
pub struct Senders<M> {
    lanes: Vec<Option<Lane<M>>>,
    sleepers: Sleepers,
    /// messages since this was asked last
    sent: u64,
}

impl<M> Senders<M> {
    /// Sends a message to reader number `to`, who sees it after [`Senders::publish`].
    ///
    /// # Panics
    ///
    /// If the two are not linked.
    #[inline]
    pub fn send(&mut self, to: u16, message: M) {
        let Some(lane) = &mut self.lanes[usize::from(to)] else {
            unreachable!("there is no link to {to}")
        };
        self.sent += 1;
        if !lane.late.is_empty() {
            lane.late.push_back(message); // I2
        } else if let Err(message) = lane.ring.push(message) {
            lane.push_late(message);
        }
    }

    /// Makes everything sent visible that finds room, and wakes whom it concerns.
    #[inline]
    pub fn publish(&mut self) {
        for lane in self.lanes.iter_mut().flatten() {
            if !lane.late.is_empty() {
                lane.catch_up();
            } else if !lane.ring.has_unpublished() {
                continue;
            }
            lane.ring.publish();
            self.sleepers.wake(lane.reader); // I3
        }
    }

    /// Publishes until nothing is late: for a thread that will not come back for a while. Its
    /// readers must be at work, and must not wait for this thread.
    pub fn flush(&mut self) {
        self.publish();
        let mut spin = SpinWait::new();
        while self.has_late() {
            spin.wait();
            self.publish();
        }
    }

    /// Whether some messages wait for room in a ring: these are to be published again.
    #[inline]
    pub fn has_late(&self) -> bool {
        self.lanes.iter().flatten().any(|lane| !lane.late.is_empty())
    }

    /// When to publish again, if that is to be done.
    pub fn retry_at(&self) -> Option<Ticks> {
        self.has_late().then(|| Ticks::from_now(RETRY))
    }

    /// How many messages have not been taken.
    pub fn backlog(&mut self) -> usize {
        let lanes = self.lanes.iter_mut().flatten();
        lanes.map(|lane| lane.ring.used() + lane.late.len()).sum()
    }

    /// Counts messages that went to reader number `to` by another way, and wakes it.
    pub fn note(&mut self, to: u16, messages: u64) {
        self.sent += messages;
        if let Some(lane) = &self.lanes[usize::from(to)] {
            self.sleepers.wake(lane.reader);
        }
    }

    /// Wakes all who read, message or not.
    pub fn wake_all(&self) {
        self.lanes.iter().flatten().for_each(|lane| self.sleepers.wake(lane.reader));
    }

    /// Messages since this was asked last.
    pub fn take_sent(&mut self) -> u64 {
        std::mem::take(&mut self.sent)
    }
}

/// A thread's ends that read messages of one kind.
pub struct Receivers<M> {
    rings: Vec<RingOut<M>>,
}

impl<M> Receivers<M> {
    /// Takes messages of all rings by turns, at most so many of each; how many there were.
    #[inline]
    pub fn receive(&mut self, most: usize, mut take: impl FnMut(M)) -> usize {
        self.rings.iter_mut().map(|ring| ring.take(most, &mut take)).sum()
    }

    /// How many messages have been published and not taken, whether they are due or not.
    pub fn waiting(&mut self) -> usize {
        self.rings.iter_mut().map(RingOut::len).sum()
    }

    /// Whether there is nothing to take.
    #[inline]
    pub fn are_empty(&mut self) -> bool {
        self.rings.iter_mut().all(RingOut::is_empty)
    }

    /// When the next message that is on its way will be there: to wait no longer than that. None
    /// where nothing is on its way, or links have no delay.
    pub fn due(&mut self) -> Option<Ticks> {
        self.rings.iter_mut().filter_map(RingOut::due).min()
    }

    /// Whether there is something to take, or something has come that will be there before
    /// `deadline`, until when the thread sleeps: it is to be slept for anew.
    pub fn have_news(&mut self, deadline: Option<Ticks>) -> bool {
        let is_sooner = |due| deadline.is_none_or(|deadline| due < deadline);
        !self.are_empty() || self.due().is_some_and(is_sooner)
    }
}

/// Where a thread sleeps, and how it spins before.
pub struct Bed {
    sleepers: Sleepers,
    own: usize,
    spin: Spin,
}

impl Bed {
    /// Sleeps until there is something, or until `deadline`. Only the thread itself calls this.
    pub fn wait(&self, deadline: Option<Ticks>, ready: impl FnMut() -> bool) {
        self.sleepers.0[self.own].parker.spin_then_wait(self.spin, deadline, ready);
    }

    /// Waits elsewhere, unless there is something already; whether it has. Only the thread itself
    /// calls this. Who makes `ready` true wakes the thread afterwards, as for [`Bed::wait`]: one of
    /// the two sees the other.
    pub fn wait_elsewhere(&self, ready: impl FnOnce() -> bool, wait: impl FnOnce()) -> bool {
        let own = &self.sleepers.0[self.own];
        if own.bell.get().is_none() {
            return false; // nobody could call it away
        }
        own.elsewhere.store(true, Ordering::Relaxed); // ordered by the fence
        fence(Ordering::SeqCst); // partner: that of `Parker::notify` in `Sleeper::wake`
        let waits = !ready();
        if waits {
            wait();
        }
        own.elsewhere.store(false, Ordering::Relaxed); // a bell too many does no harm
        waits
    }

    /// Tells how the thread is called away from where else it waits; rung while it does not wait,
    /// the bell ends the next wait at once. The first one counts.
    pub fn set_bell(&self, ring: Box<dyn Fn() + Send + Sync>) {
        let _ = self.sleepers.0[self.own].bell.set(ring);
    }
}
