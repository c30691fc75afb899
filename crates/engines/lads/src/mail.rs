//! Messages between workers that execute a graph.
//!
//! Role         tells the executor of an action that it waits for one thing less, and the owner of
//!              a queue that an action of another worker is done with it. Knows no graph
//! Invariants   I1 a ring is bounded; what finds it full waits with its sender, in order, and is at
//!              most what one graph has of edges between workers
//!              I2 who waits for messages has published all of its own

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_utils::CachePadded;
use hotrow_base::clock::Ticks;
use hotrow_base::sync::spsc::{self, Consumer, Producer};
use hotrow_base::sync::{Parker, Spin};

/// Messages that a ring holds.
const CAPACITY: usize = 1024;
/// How long a worker sleeps that has messages of its own that found a ring full.
const NAP: Duration = Duration::from_micros(50);

/// What a message is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum About {
    /// an action, by number: it waits for one thing less
    Action(u32),
    /// a queue, by number: one of the actions that are its turn is done
    Queue(u32),
}

/// A message, and the sender's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// the graph's number in its round
    pub graph: u16,
    /// what it is about
    pub about: About,
    /// everything that the sender has done so far has a stamp that is not greater
    pub clock: u32,
}

/// A worker's ends of all rings.
pub struct Mail {
    own: usize,
    to: Vec<Lane>,
    from: Vec<Consumer<Message>>,
    parkers: Arc<[CachePadded<Parker>]>,
    spin: Spin,
    /// messages sent since last asked
    sent: u64,
}

struct Lane {
    ring: Producer<Message>,
    /// found the ring full
    late: VecDeque<Message>,
    /// something was pushed since its reader was last told
    is_news: bool,
}

/// The ends of the rings between so many workers, by worker.
pub fn mesh(workers: usize) -> Vec<Mail> {
    let parkers: Arc<[_]> = (0..workers).map(|_| CachePadded::new(Parker::new())).collect();
    let mut all: Vec<Mail> = (0..workers)
        .map(|own| {
            let parkers = Arc::clone(&parkers);
            let spin = Spin::for_threads(workers);
            Mail { own, to: Vec::new(), from: Vec::new(), parkers, spin, sent: 0 }
        })
        .collect();
    for from in 0..workers {
        for to in 0..workers {
            // That to itself is never used.
            let (ring, end) = spsc::ring(if from == to { 1 } else { CAPACITY });
            all[from].to.push(Lane { ring, late: VecDeque::new(), is_news: false });
            all[to].from.push(end);
        }
    }
    all
}

impl Mail {
    /// Sends a message to another worker; it is seen after [`Mail::publish`].
    #[inline]
    pub fn send(&mut self, to: u16, message: Message) {
        let lane = &mut self.to[usize::from(to)];
        self.sent += 1;
        lane.is_news = true;
        if !lane.late.is_empty() {
            lane.late.push_back(message);
        } else if let Err(message) = lane.ring.push(message) {
            lane.ring.publish();
            lane.late.push_back(message);
        }
    }

    /// Makes all messages seen that find room, and wakes who sleeps.
    pub fn publish(&mut self) {
        for (to, lane) in self.to.iter_mut().enumerate() {
            if !lane.is_news {
                continue;
            }
            while let Some(&message) = lane.late.front() {
                if lane.ring.push(message).is_err() {
                    break;
                }
                lane.late.pop_front();
            }
            lane.ring.publish();
            lane.is_news = !lane.late.is_empty();
            self.parkers[to].notify();
        }
    }

    /// Takes all messages that have come; how many.
    pub fn receive(&mut self, mut each: impl FnMut(Message)) -> usize {
        let Self { own, from, .. } = self;
        let others = from.iter_mut().enumerate().filter(|(worker, _)| *worker != *own);
        others.map(|(_, ring)| ring.take(CAPACITY, &mut each)).sum()
    }

    /// Whether all messages have found room.
    pub fn is_published(&self) -> bool {
        self.to.iter().all(|lane| !lane.is_news)
    }

    /// Waits until there may be messages: spins for a while, then sleeps.
    pub fn wait(&mut self) {
        let Self { own, from, parkers, to, spin, .. } = self;
        let has_late = to.iter().any(|lane| !lane.late.is_empty());
        let deadline = has_late.then(|| Ticks::from_now(NAP));
        let is_there = || from.iter_mut().any(|ring| !ring.is_empty());
        parkers[*own].spin_then_wait(*spin, deadline, is_there);
    }

    /// How many messages were sent since this was last asked.
    pub fn take_sent(&mut self) -> u64 {
        std::mem::take(&mut self.sent)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn everybody_gets_what_was_sent_to_it_in_order() {
        const MESSAGES: u32 = 20_000;
        let workers = 3;
        thread::scope(|scope| {
            for (own, mut mail) in mesh(workers).into_iter().enumerate() {
                scope.spawn(move || {
                    let others: Vec<_> = (0..workers).filter(|&other| other != own).collect();
                    for number in 0..MESSAGES {
                        for &to in &others {
                            let about = About::Action(number * 4 + own as u32);
                            mail.send(to as u16, Message { graph: 0, about, clock: number });
                        }
                    }
                    let mut next = vec![0; workers];
                    while others.iter().any(|&other| next[other] < MESSAGES) {
                        mail.publish();
                        mail.wait();
                        mail.receive(|Message { about, clock, .. }| {
                            let About::Action(told) = about else { panic!("{about:?}") };
                            let from = &mut next[told as usize % 4];
                            assert_eq!((told / 4, clock), (*from, *from));
                            *from += 1;
                        });
                    }
                    // Others may still miss what found its ring full.
                    while !mail.is_published() {
                        mail.publish();
                        thread::yield_now();
                    }
                    assert_eq!(mail.take_sent(), u64::from(MESSAGES) * others.len() as u64);
                });
            }
        });
    }
}
