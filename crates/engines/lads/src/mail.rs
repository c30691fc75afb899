//! Messages between workers that execute a graph.
//!
//! Role         tells the executor of an action that it waits for one thing less, and the owner of
//!              a queue that an action of another worker is done with it. Knows no graph
//! Invariants   I1 what finds its ring full is at most what one graph has of edges between workers
//!              I2 who waits for messages has published all of its own that find room

use hotrow_base::sync::Spin;
use hotrow_flow::mesh::{Bed, Link, Receivers, Senders, Sleepers};

/// Messages that a ring holds.
const CAPACITY: usize = 1024;

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
    /// to each other worker
    pub to: Senders<Message>,
    from: Receivers<Message>,
    bed: Bed,
}

/// The ends of the rings between so many workers, by worker.
pub fn mesh(workers: usize) -> Vec<Mail> {
    let sleepers = Sleepers::new(workers);
    let others = |from, to| (from != to).then_some(Link::of(CAPACITY));
    let (senders, receivers) = sleepers.connect(0..workers, 0..workers, others);
    let ends = senders.into_iter().zip(receivers).enumerate();
    let spin = Spin::for_threads(workers);
    ends.map(|(own, (to, from))| Mail { to, from, bed: sleepers.bed(own, spin) }).collect()
}

impl Mail {
    /// Takes all messages that have come; how many.
    pub fn receive(&mut self, each: impl FnMut(Message)) -> usize {
        self.from.receive(CAPACITY, each)
    }

    /// Waits until there may be messages: spins for a while, then sleeps.
    pub fn wait(&mut self) {
        let Self { to, from, bed } = self;
        bed.wait(to.retry_at(), || !from.are_empty());
    }
}
