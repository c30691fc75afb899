//! A host in virtual time: nodes on processors that exist as numbers only.
//!
//! Role         runs a protocol's nodes with seeded delays. For tests: every seed is another order
//!              of events, which repeats. For figures: messages and code sections cost what they
//!              are said to cost, so that machines can be seen that are not there
//!
//! ```text
//!   an event   sent ──delay of the link──▶ there ──the node is free──▶ taken ──spends──▶ its sends
//! ```
//!
//! Invariants   I1 as [`crate::node`]: messages of one link are taken in the order of sending,
//!              whatever their delays
//!              I2 a node that spends time takes nothing meanwhile, and what it sends leaves when
//!              it has: after that time
//!              I3 what happens depends on nodes, costs and seed only
//! Source       discrete events; the costs of partitioned.txt's table 2 in place of a machine

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use crate::node::{Address, Node, Ports};

/// What messages and code cost, in nanoseconds.
pub trait Costs<N: Node> {
    /// How long a message is on its way. Called once for each, in the order of sending.
    fn delay(&mut self, from: Address, to: Address, message: &N::Message) -> u64;

    /// How long a node works on something.
    fn spend(&mut self, section: &N::Section) -> u64;
}

/// Nodes, the messages between them, and the time.
pub struct VirtualTime<N: Node, C> {
    nodes: Vec<Seat<N>>,
    costs: C,
    events: BinaryHeap<Reverse<Event>>,
    /// messages on their way, by the number of their event
    on_their_way: BTreeMap<u64, N::Message>,
    /// when the last message of a link is there
    links: BTreeMap<(Address, Address), u64>,
    now: u64,
    /// events so far
    events_made: u64,
}

/// A node, and what it has to do.
struct Seat<N: Node> {
    node: N,
    /// there and not taken
    inbox: VecDeque<N::Message>,
    /// it works until then
    busy_until: u64,
    wakes_at: Option<u64>,
}

/// Something that happens at a time; of two at one time the one that was made first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: u64,
    number: u64,
    to: Address,
    what: What,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Arrival,
    /// it can take the next message
    Free,
    Wake,
}

impl<N: Node, C: Costs<N>> VirtualTime<N, C> {
    /// Nodes with the addresses 0, 1, ..., at time 0.
    pub fn new(nodes: Vec<N>, costs: C) -> Self {
        let seat = |node| Seat { node, inbox: VecDeque::new(), busy_until: 0, wakes_at: None };
        Self {
            nodes: nodes.into_iter().map(seat).collect(),
            costs,
            events: BinaryHeap::new(),
            on_their_way: BTreeMap::new(),
            links: BTreeMap::new(),
            now: 0,
            events_made: 0,
        }
    }

    /// The nodes, by address.
    pub fn nodes(&self) -> impl Iterator<Item = &N> {
        self.nodes.iter().map(|seat| &seat.node)
    }

    /// A node.
    pub fn node(&self, address: Address) -> &N {
        &self.nodes[usize::from(address)].node
    }

    /// Nanoseconds since the start.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Has each node wake at time 0, in order of address.
    pub fn wake_all(&mut self) {
        for address in 0..self.nodes.len() as Address {
            self.nodes[usize::from(address)].wakes_at = Some(self.now);
            self.add(self.now, address, What::Wake);
        }
    }

    /// Goes on until nothing is left to happen, or until `end`; whether there is something left.
    pub fn run_until(&mut self, end: u64) -> bool {
        while let Some(Reverse(next)) = self.events.peek() {
            if next.at > end {
                self.now = end;
                return true;
            }
            let Some(Reverse(event)) = self.events.pop() else { unreachable!("it was seen") };
            self.now = event.at;
            self.happen(event);
        }
        false
    }

    fn add(&mut self, at: u64, to: Address, what: What) -> u64 {
        let number = self.events_made;
        self.events_made += 1;
        self.events.push(Reverse(Event { at, number, to, what }));
        number
    }

    fn happen(&mut self, event: Event) {
        let seat = &mut self.nodes[usize::from(event.to)];
        let wakes = match event.what {
            What::Arrival => {
                let message = self.on_their_way.remove(&event.number).expect("it was sent");
                seat.inbox.push_back(message);
                false
            }
            What::Free => false,
            What::Wake => {
                if seat.wakes_at != Some(event.at) {
                    return; // another time was asked for meanwhile
                }
                let busy_until = seat.busy_until;
                if busy_until > self.now {
                    seat.wakes_at = Some(busy_until); // when it has done what it does
                    self.add(busy_until, event.to, What::Wake);
                    return;
                }
                seat.wakes_at = None;
                true
            }
        };
        if seat.busy_until <= self.now {
            self.act(event.to, wakes);
        } // else I2; an event is there for when it is free
    }

    /// Has a node wake, take a message, or do what it put off; sends what it sends.
    fn act(&mut self, address: Address, wakes: bool) {
        let seat = &mut self.nodes[usize::from(address)];
        let (now, costs) = (self.now, &mut self.costs);
        let sent = (Vec::new(), Vec::new());
        let mut ports = Outgoing { own: address, now, spent: 0, costs, sent, wake: None };
        let acted = if wakes {
            seat.node.wake(&mut ports);
            true
        } else if let Some(message) = seat.inbox.pop_front() {
            seat.node.take(message, &mut ports);
            true
        } else {
            seat.node.work(&mut ports)
        };
        if !acted {
            return;
        }
        let Outgoing { spent, sent, wake, .. } = ports;
        let free = self.now + spent;
        seat.busy_until = free;
        if let Some(at) = wake {
            seat.wakes_at = Some(at.max(free));
            self.add(at.max(free), address, What::Wake);
        }
        let (alone, together) = sent;
        for (after, to, message) in alone {
            let there = self.arrival((address, to), self.now + after, &message);
            let number = self.add(there, to, What::Arrival);
            self.on_their_way.insert(number, message);
        }
        for (after, group) in together {
            // All of a group arrive when the last one does, so that groups stand in the order of
            // these moments everywhere (I3 of the nodes).
            let arrivals = group
                .iter()
                .map(|(to, message)| self.arrival((address, *to), now + after, message));
            let there = arrivals.max().unwrap_or(self.now);
            for (to, message) in group {
                self.links.insert((address, to), there);
                let number = self.add(there, to, What::Arrival);
                self.on_their_way.insert(number, message);
            }
        }
        self.add(free, address, What::Free);
    }

    /// When a message is there that leaves now (I1).
    fn arrival(&mut self, link: (Address, Address), left: u64, message: &N::Message) -> u64 {
        let there = left + self.costs.delay(link.0, link.1, message);
        let last = self.links.entry(link).or_default();
        *last = there.max(*last);
        *last
    }
}

type Sent<M> = (Vec<(u64, Address, M)>, Vec<(u64, Vec<(Address, M)>)>);

/// What a node does in one go.
struct Outgoing<'a, N: Node, C> {
    own: Address,
    now: u64,
    spent: u64,
    costs: &'a mut C,
    /// after how much work, to whom, what; and what was sent together
    sent: Sent<N::Message>,
    wake: Option<u64>,
}

impl<N: Node, C: Costs<N>> Ports<N::Message, N::Section> for Outgoing<'_, N, C> {
    fn send(&mut self, to: Address, message: N::Message) {
        self.sent.0.push((self.spent, to, message));
    }

    fn send_together(&mut self, messages: &mut Vec<(Address, N::Message)>) {
        self.sent.1.push((self.spent, std::mem::take(messages)));
    }

    fn own(&self) -> Address {
        self.own
    }

    fn now(&self) -> u64 {
        self.now + self.spent
    }

    fn spend(&mut self, section: N::Section) {
        self.spent += self.costs.spend(&section);
    }

    fn wake_at(&mut self, nanos: u64) {
        self.wake = Some(nanos);
    }
}
