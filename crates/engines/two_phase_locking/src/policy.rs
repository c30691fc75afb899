//! Deadlock policies: what a request does that is not granted at once.

/// What a request does that is not granted at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// it waits. For owners that ask for locks in one global order and never convert: they cannot
    /// deadlock
    Wait,
    /// it is refused
    NoWait,
    /// it waits when its transaction is older than all those it would wait for, and is refused
    /// otherwise; chains of waiting then run from old to young and never close
    WaitDie,
}
