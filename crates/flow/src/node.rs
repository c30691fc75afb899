//! A protocol as state machines: nodes that take messages and send messages.
//!
//! Role         what a protocol is written against, and what its hosts give it. A node knows no
//!              thread, no clock and no socket, so that the same code runs on threads with rings,
//!              and in virtual time ([`crate::virtual_time`]), where thousands of orders of events
//!              are tried and many cores are seen on few
//! Invariants   I1 messages of one node to another are taken in the order of sending; those of
//!              different nodes in any order
//!              I2 a node takes one message at a time, and never waits in it
//!              I3 of messages that are [sent together](Ports::send_together), any two nodes take
//!              those of any two senders in the same order. They may overtake what was sent alone

/// A node's number in its mesh.
pub type Address = u16;

/// One member of a protocol.
pub trait Node {
    /// What nodes tell each other.
    type Message;
    /// What a node spends time on, for hosts that charge for it.
    type Section;

    /// Takes a message. What takes long is put off until [`Node::work`], so that what comes
    /// meanwhile is heard.
    fn take(
        &mut self,
        message: Self::Message,
        ports: &mut impl Ports<Self::Message, Self::Section>,
    );

    /// Does one piece of what it has to do, when no message is there; whether there was any.
    fn work(&mut self, _ports: &mut impl Ports<Self::Message, Self::Section>) -> bool {
        false
    }

    /// The time has come that [`Ports::wake_at`] named.
    fn wake(&mut self, _ports: &mut impl Ports<Self::Message, Self::Section>) {}
}

/// What a node can do while it takes a message: `M` is what it sends, `S` what it spends time on.
pub trait Ports<M, S> {
    /// Sends a message. Never waits.
    fn send(&mut self, to: Address, message: M);

    /// Sends messages to different nodes at one moment (I3), and leaves none in the list. Never
    /// waits for a node.
    fn send_together(&mut self, messages: &mut Vec<(Address, M)>);

    /// The node's own address.
    fn own(&self) -> Address;

    /// Nanoseconds since some moment. Differences are meant, and never two nodes' clocks.
    fn now(&self) -> u64;

    /// The node has worked on this.
    #[inline]
    fn spend(&mut self, _section: S) {}

    /// Asks for [`Node::wake`] at this time, in place of what was asked for before.
    fn wake_at(&mut self, nanos: u64);
}
