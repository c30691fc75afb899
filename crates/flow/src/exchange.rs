//! The thread that hosts nodes: how messages of its nodes reach those of others and each other.
//!
//! Role         the host of [`crate::node`] on threads: each thread has nodes, all pairs of threads
//!              have rings ([`crate::mesh`]). A message to a node of the same thread takes no ring.
//!              Which node does what when, its owner decides
//!
//! ```text
//!   node ─send─▶ here ───────────────┐
//!     └──send─▶ ring ══▶ ring ─fetch─▶ here ─next─▶ node
//! ```
//!
//! Invariants   I1 as [`crate::node`]: messages from one node to another are taken in the order of
//!              sending, since both ways keep it, and each pair of nodes uses one of them
//!              I2 sending never waits for a node
//!              I3 what is sent together goes by inboxes, one of each thread, that are latched at
//!              once, in ascending order: so in all of them groups stand in one order
//! Bounds       as many messages as the nodes have on their way

use hotrow_base::sync::facade::atomic::{AtomicBool, Ordering};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_utils::CachePadded;
use hotrow_base::clock::Ticks;
use hotrow_base::sync::{Latch, Spin};

use crate::mesh::{Bed, Link, Receivers, Senders, Sleepers};
use crate::node::{Address, Ports};

/// Messages taken from a ring before the next one's turn comes.
const BATCH: usize = 64;

/// What was sent together, to nodes of one thread (I3).
struct Inbox<M> {
    messages: Latch<VecDeque<(Address, M)>>,
    /// for who looks without the latch
    has_some: AtomicBool,
}

impl<M> Default for Inbox<M> {
    fn default() -> Self {
        Self { messages: Latch::default(), has_some: AtomicBool::new(false) }
    }
}

impl<M> Inbox<M> {
    /// Relaxed: who sets it notifies the thread behind, and whoever sleeps looks behind the fence
    /// of the notice; the messages are under the latch.
    fn has_some(&self) -> bool {
        self.has_some.load(Ordering::Relaxed)
    }
}

/// One thread's place in the exchange of messages; see the module.
pub struct Exchange<M> {
    thread: u16,
    /// by address: the thread of a node
    seats: Arc<[u16]>,
    senders: Senders<(Address, M)>,
    receivers: Receivers<(Address, M)>,
    /// by thread
    inboxes: Arc<[CachePadded<Inbox<M>>]>,
    /// for nodes of this thread
    here: VecDeque<(Address, M)>,
    bed: Bed,
    began: Ticks,
    /// nodes of this thread that asked to be woken, and when
    alarms: Vec<(Address, u64)>,
}

impl<M: Send> Exchange<M> {
    /// The places of so many threads; `seats` tells the thread of each node, by address. `link` is
    /// that between any two threads.
    pub fn connect(threads: u16, seats: Vec<u16>, link: Link, spin: Spin) -> Vec<Self> {
        debug_assert!(seats.iter().all(|&thread| thread < threads), "each node has a thread");
        let (all, began) = (0..usize::from(threads), Ticks::now());
        let seats = Arc::<[u16]>::from(seats);
        let sleepers = Sleepers::new(all.len());
        let between = |from, to| (from != to).then_some(link);
        let inboxes: Arc<[_]> = all.clone().map(|_| CachePadded::default()).collect();
        let (senders, receivers) = sleepers.connect(all.clone(), all, between);
        (0..threads)
            .zip(senders.into_iter().zip(receivers))
            .map(|(thread, (senders, receivers))| Self {
                thread,
                seats: Arc::clone(&seats),
                senders,
                receivers,
                inboxes: Arc::clone(&inboxes),
                here: VecDeque::new(),
                bed: sleepers.bed(thread.into(), spin),
                began,
                alarms: Vec::new(),
            })
            .collect()
    }

    /// The ports of one of the thread's nodes.
    #[inline]
    pub fn ports(&mut self, own: Address) -> NodePorts<'_, M> {
        debug_assert_eq!(self.seats[usize::from(own)], self.thread, "it is another thread's");
        NodePorts { exchange: self, own }
    }

    /// Sends a message; its node is one of this thread. Never waits.
    #[inline]
    pub fn send(&mut self, to: Address, message: M) {
        let thread = self.seats[usize::from(to)];
        if thread == self.thread {
            self.here.push_back((to, message));
        } else {
            self.senders.send(thread, (to, message));
        }
    }

    /// Sends messages at one moment (I3), whatever the delays of links are.
    pub fn send_together(&mut self, messages: &mut Vec<(Address, M)>) {
        let Self { seats, inboxes, senders, thread: own, .. } = self;
        let thread = |(to, _): &(Address, M)| seats[usize::from(*to)];
        // Taken from the end: ascending, and each thread's in the order in which they are here.
        messages.reverse();
        messages.sort_by_key(|message| Reverse(thread(message)));
        fill(inboxes, messages, &thread, &mut |to, count| {
            if to != *own {
                senders.note(to, count);
            }
        });
    }

    /// Takes in what other threads have sent; how many messages that were.
    #[inline]
    pub fn fetch(&mut self) -> usize {
        let Self { receivers, here, inboxes, thread, .. } = self;
        let inbox = &inboxes[usize::from(*thread)];
        let mut together = 0;
        if inbox.has_some() {
            let mut messages = inbox.messages.lock();
            inbox.has_some.store(false, Ordering::Relaxed); // under the latch
            together = messages.len();
            here.append(&mut messages);
        }
        together + receivers.receive(BATCH, |message| here.push_back(message))
    }

    /// The next message, and for which node of this thread it is.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "more may come after the last one")]
    pub fn next(&mut self) -> Option<(Address, M)> {
        self.here.pop_front()
    }

    /// Nanoseconds since all threads of this exchange began.
    pub fn now(&self) -> u64 {
        self.began.elapsed_nanos()
    }

    /// A node of this thread that asked to be woken, and whose time has come.
    pub fn next_to_wake(&mut self) -> Option<Address> {
        if self.alarms.is_empty() {
            return None;
        }
        let now = self.now();
        let at = self.alarms.iter().position(|&(_, at)| at <= now)?;
        Some(self.alarms.swap_remove(at).0)
    }

    /// Makes visible what was sent to other threads.
    #[inline]
    pub fn publish(&mut self) {
        self.senders.publish();
    }

    /// Whether some messages wait for room in a ring: nothing new should be begun.
    #[inline]
    pub fn has_late(&self) -> bool {
        self.senders.has_late()
    }

    /// How many messages went to other threads since this was asked last.
    pub fn take_sent(&mut self) -> u64 {
        self.senders.take_sent()
    }

    /// Has all other threads look whether something that is no message has changed.
    pub fn wake_all(&self) {
        self.senders.wake_all();
    }

    /// When there may be something to do though nobody wakes this thread: a message on its way is
    /// there, or one that is late finds room. The first of these moments and of `deadline`.
    fn deadline(&mut self, deadline: Option<Ticks>) -> Option<Ticks> {
        let alarm = self.alarms.iter().map(|&(_, at)| at).min();
        let alarm = alarm.map(|at| self.began.after(Duration::from_nanos(at)));
        let moments = [deadline, self.receivers.due(), self.senders.retry_at(), alarm];
        moments.into_iter().flatten().min()
    }

    /// Sleeps until there is a message, or a new one on its way; until `ready`, or until
    /// `deadline`. What was sent has been published.
    pub fn wait(&mut self, deadline: Option<Ticks>, ready: impl Fn() -> bool) {
        let deadline = self.deadline(deadline);
        let Self { bed, receivers, inboxes, thread, .. } = self;
        let inbox = &inboxes[usize::from(*thread)];
        bed.wait(deadline, || inbox.has_some() || receivers.have_news(deadline) || ready());
    }

    /// Waits elsewhere, where whoever has a message for this thread calls it away by `ring`; not at
    /// all, where a message is there or one is expected at a certain moment. Whether it has waited.
    pub fn wait_elsewhere(&mut self, wait: impl FnOnce()) -> bool {
        if self.deadline(None).is_some() {
            return false;
        }
        let Self { bed, receivers, inboxes, thread, .. } = self;
        let inbox = &inboxes[usize::from(*thread)];
        bed.wait_elsewhere(|| inbox.has_some() || !receivers.are_empty(), wait)
    }

    /// Tells others how this thread is called away from where it waits
    /// [elsewhere](Self::wait_elsewhere).
    pub fn set_bell(&self, ring: impl Fn() + Send + Sync + 'static) {
        self.bed.set_bell(Box::new(ring));
    }
}

/// Puts messages into the inboxes of their threads, those of the last message's thread first, and
/// keeps its inbox latched until all others are filled (I3); `filled` is told whose was, and with
/// how many. As deep as there are threads.
fn fill<M>(
    inboxes: &[CachePadded<Inbox<M>>],
    messages: &mut Vec<(Address, M)>,
    thread: &impl Fn(&(Address, M)) -> u16,
    filled: &mut impl FnMut(u16, u64),
) {
    let Some(to) = messages.last().map(thread) else { return };
    let inbox = &inboxes[usize::from(to)];
    let mut latched = inbox.messages.lock();
    let before = latched.len();
    while let Some(message) = messages.pop_if(|message| thread(message) == to) {
        latched.push_back(message);
    }
    let count = latched.len() - before;
    inbox.has_some.store(true, Ordering::Relaxed); // under the latch
    fill(inboxes, messages, thread, filled);
    drop(latched);
    filled(to, count as u64);
}

/// What a node of a thread sends by.
pub struct NodePorts<'a, M> {
    exchange: &'a mut Exchange<M>,
    own: Address,
}

impl<M: Send, S> Ports<M, S> for NodePorts<'_, M> {
    #[inline]
    fn send(&mut self, to: Address, message: M) {
        self.exchange.send(to, message);
    }

    fn send_together(&mut self, messages: &mut Vec<(Address, M)>) {
        self.exchange.send_together(messages);
    }

    #[inline]
    fn own(&self) -> Address {
        self.own
    }

    fn now(&self) -> u64 {
        self.exchange.now()
    }

    fn wake_at(&mut self, nanos: u64) {
        let Self { exchange: Exchange { alarms, .. }, own } = self;
        match alarms.iter_mut().find(|(address, _)| address == own) {
            Some((_, at)) => *at = nanos,
            None => alarms.push((*own, nanos)),
        }
    }
}

#[cfg(test)]
mod tests {
    use hotrow_base::sync::facade::atomic::{AtomicBool, Ordering};
    use hotrow_base::thread;

    use super::*;

    fn pair() -> (Exchange<u32>, Exchange<u32>) {
        // Nodes 0 and 2 on thread 0, node 1 on thread 1.
        let mut both = Exchange::connect(2, vec![0, 1, 0], Link::of(4), Spin::NONE).into_iter();
        (both.next().expect("one"), both.next().expect("two"))
    }

    #[test]
    fn messages_reach_nodes_of_the_same_and_of_other_threads_in_order() {
        let (mut one, mut other) = pair();
        (0..10).for_each(|message| one.send(1, message));
        one.send(2, 77);
        assert_eq!((one.next(), one.next()), (Some((2, 77)), None), "no ring");
        let mut seen = Vec::new();
        while seen.len() < 10 {
            one.publish(); // the ring has 4 places
            other.fetch();
            seen.extend(std::iter::from_fn(|| other.next()));
        }
        assert_eq!(seen, (0..10).map(|message| (1, message)).collect::<Vec<_>>());
        assert_eq!((one.take_sent(), one.has_late()), (10, false));
    }

    #[test]
    fn groups_stand_in_one_order_at_all_nodes() {
        const GROUPS: u32 = 2_000;
        let threads: Vec<_> = Exchange::connect(3, vec![0, 1, 2], Link::of(4), Spin::NONE);
        let seen = thread::scope(|scope| {
            let run = |(own, mut exchange): (u32, Exchange<u32>)| {
                let (mut seen, mut group) = (Vec::new(), Vec::new());
                let mut sent = 0;
                // All three send groups to all three.
                while seen.len() < 3 * GROUPS as usize {
                    if sent < GROUPS {
                        group.extend([2, 0, 1].map(|to| (to, own << 16 | sent)));
                        exchange.send_together(&mut group);
                        assert!(group.is_empty());
                        sent += 1;
                    }
                    if exchange.fetch() == 0 && sent == GROUPS {
                        exchange.wait(None, || false);
                    }
                    seen.extend(std::iter::from_fn(|| exchange.next()).map(|(_, message)| message));
                }
                assert_eq!(exchange.take_sent(), 2 * u64::from(GROUPS));
                seen
            };
            let running: Vec<_> =
                (0..).zip(threads).map(|thread| scope.spawn(move || run(thread))).collect();
            let ends = running.into_iter().map(|thread| thread.join().expect("it ends"));
            ends.collect::<Vec<_>>()
        });
        assert_eq!(seen[0], seen[1]);
        assert_eq!(seen[0], seen[2]);
    }

    #[test]
    fn who_sleeps_hears_of_a_message_on_its_way() {
        let link = Link { delay: Some(Duration::from_millis(2)), ..Link::of(4) };
        let mut both = Exchange::connect(2, vec![0, 1], link, Spin::NONE).into_iter();
        let (mut one, mut other) = (both.next().expect("one"), both.next().expect("two"));
        thread::scope(|scope| {
            let sleeper = scope.spawn(move || {
                let far = Ticks::from_now(Duration::from_secs(60));
                let mut sleeps = 0;
                while other.fetch() == 0 {
                    other.wait(Some(far), || false);
                    sleeps += 1;
                }
                assert!(!far.has_passed(), "it would have slept through it");
                (other.next(), sleeps)
            });
            thread::sleep(Duration::from_millis(5));
            one.send(1, 5);
            one.publish();
            let (message, sleeps) = sleeper.join().expect("it ends");
            assert_eq!(message, Some((1, 5)));
            assert!(sleeps <= 4, "it sleeps, {sleeps} times");
        });
    }

    #[test]
    fn who_waits_elsewhere_is_called_away_by_a_message() {
        let (mut one, mut other) = pair();
        let rung = Arc::new(AtomicBool::new(false));
        let called = Arc::clone(&rung);
        other.set_bell(move || called.store(true, Ordering::Release));
        thread::scope(|scope| {
            let sleeper = scope.spawn(move || {
                other.wait_elsewhere(|| {
                    while !rung.load(Ordering::Acquire) {
                        thread::sleep(Duration::from_millis(1));
                    }
                });
                assert_eq!(other.fetch(), 1, "nobody is called away for nothing");
                other.next()
            });
            thread::sleep(Duration::from_millis(5));
            one.send(1, 5);
            one.publish();
            assert_eq!(sleeper.join().expect("it ends"), Some((1, 5)));
        });
    }
}
