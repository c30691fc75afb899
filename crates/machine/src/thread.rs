//! A thread of a machine: a stack of its own, and what it waits for.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};

/// A thread of the machine that runs; the first, which the machine was started with, is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ThreadId(pub(crate) u32);

/// Why a thread gives way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pause {
    /// other cores are behind it
    Passed,
    /// to other threads of its core, if there are some
    Yielded,
    /// until what it looks at changes, or a time comes; it keeps its core
    Watches(u64),
    /// until somebody wakes it, or a time comes
    Waits,
}

/// What runs a thread.
pub(crate) type Body = Coroutine<(), Pause, (), DefaultStack>;

pub(crate) struct Thread {
    /// none: it runs right now, or has ended
    pub(crate) body: Option<Body>,
    /// where it gives way; from its start on
    pub(crate) yielder: *const Yielder<(), Pause>,
    /// its core; none: it stands outside, and takes no time
    pub(crate) core: Option<usize>,
    /// it stays on its core
    pub(crate) is_pinned: bool,
    pub(crate) waits: Option<Wait>,
    /// a time came before somebody woke it
    pub(crate) is_late: bool,
    pub(crate) has_ended: bool,
    /// time of its core that has gone by already and that its code has still to take
    pub(crate) ahead_ps: u64,
    /// who waits for its end
    pub(crate) joined_by: Vec<ThreadId>,
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wait {
    /// a word's address, 0 where it is no word
    pub(crate) word: usize,
    /// tells one wait of a thread from the others
    pub(crate) number: u64,
}
