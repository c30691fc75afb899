//! What threads tell each other.
//!
//! Role         a [`Request`] is the form in which a transaction's footprint travels: from its
//!              execution thread to the lock threads that own its granules, and back when all of
//!              them are held. The call goes with it, so that whoever has it can run it
//! Invariants   I1 a transaction belongs to whoever has it: it moves through the rings and is never
//!              shared, so nobody latches it
//!              I2 its locks stand in the order of lock spaces, each with one hop for all of its
//! Source       orthrus.txt 3.1 to 3.3

use hotrow_base::sync::facade;
use hotrow_engine::worker::Call;
use hotrow_flow::lock_space::Requester;
use hotrow_log::position::Position;
use hotrow_transaction::granule::LockRequest;
use hotrow_transaction::outcome::Stop;

/// A call on its way. Used for one after the other.
pub struct Transaction {
    /// the call
    pub call: Call,
    /// the execution thread that it belongs to
    pub execution: u16,
    /// the one of that thread's sources that it came from
    pub source: usize,
    /// its locks
    pub request: Request,
    /// how it ended, once a lock thread has run it: its locks are free then
    pub ended: Option<Result<(), Stop>>,
}

impl Transaction {
    /// One without a call; each that it carries may take so many steps.
    pub fn new(step_budget: u64) -> Parcel {
        Box::new(Self {
            call: Call::new(step_budget),
            execution: 0,
            source: 0,
            request: Request::default(),
            ended: None,
        })
    }
}

/// What moves through the rings: a transaction, by its address.
pub type Parcel = Box<Transaction>;

/// A transaction's locks, on their way from lock space to lock space.
#[derive(Default, Debug)]
pub struct Request {
    /// the spaces of its granules and how they are to be held, by space, then by identity
    pub locks: Vec<(u16, LockRequest)>,
    /// the lock spaces to visit, in ascending order
    pub hops: Vec<Hop>,
    /// the lock thread that visits all of them for it; none: each space is one of a lock thread
    pub server: Option<u16>,
    /// how many of them have granted everything
    pub granted: usize,
    /// the greatest position of a transaction that this one follows
    pub met: Position,
    /// it is short, and its only lock thread may run it
    pub runs_there: bool,
    /// it had to wait for a lock
    pub waited: bool,
}

/// A visit to a lock space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// the lock space: a lock thread's own has its number
    pub space: u16,
    /// where its locks end among those of the request
    pub end: u32,
    /// what the space calls them all, once it has seen them: for their release
    pub grant: u32,
}

impl Request {
    /// Makes hops of what is in `locks`, in any order yet, and begins. `short`: a lock thread may
    /// run a transaction of so many locks, if it owns them all.
    pub fn seal(&mut self, short: u16) {
        self.locks.sort_unstable();
        self.hops.clear();
        for (at, &(space, _)) in (1..).zip(&self.locks) {
            match self.hops.last_mut() {
                Some(hop) if hop.space == space => hop.end = at,
                _ => self.hops.push(Hop { space, end: at, grant: 0 }),
            }
        }
        (self.granted, self.met, self.waited) = (0, Position::default(), false);
        self.runs_there = self.hops.len() == 1 && self.locks.len() <= short.into();
    }

    /// Its thread is another one from now on.
    #[inline]
    pub fn take_over(&self) {
        facade::take_over(self);
        facade::take_over(&*self.locks);
        facade::take_over(&*self.hops);
    }

    /// The lock space to visit next; none when everything is held.
    pub fn next(&self) -> Option<u16> {
        self.hops.get(self.granted).map(|hop| hop.space)
    }

    /// The lock thread that visits a space for the request.
    pub fn thread_of(&self, space: u16) -> u16 {
        self.server.unwrap_or(space)
    }

    /// The locks of a hop.
    pub fn of_hop(&self, hop: usize) -> impl Iterator<Item = LockRequest> + Clone {
        let start = match hop {
            0 => 0,
            hop => self.hops[hop - 1].end as usize,
        };
        self.locks[start..self.hops[hop].end as usize].iter().map(|&(_, lock)| lock)
    }
}

impl Requester for Parcel {
    /// Those of the hop that is next.
    fn wanted(&self) -> impl Iterator<Item = LockRequest> + Clone {
        self.request.of_hop(self.request.granted)
    }

    fn enter(&mut self, grant: u32) {
        let hop = self.request.granted;
        self.request.hops[hop].grant = grant;
    }

    fn meet(&mut self, position: Position) {
        self.request.met = position.max(self.request.met);
    }

    fn wait(&mut self, _: u64) {
        self.request.waited = true;
    }

    fn hold(&mut self) {
        self.request.granted += 1;
    }
}

/// What an execution thread tells a lock thread.
pub enum ToLock {
    /// it asks for the locks of the request's next hop
    Acquire(Parcel),
    /// a transaction has ended: its locks in a space are free
    Release {
        /// in which
        space: u16,
        /// which, as the space called them
        grant: u32,
        /// where the transaction stands; the beginning of all if it was undone
        position: Position,
    },
}

#[cfg(test)]
mod tests {
    use hotrow_transaction::granule::{LOCK_ID_STEP, LockMode};

    use super::*;

    #[test]
    fn hops_ascend_and_each_has_the_locks_of_its_thread() {
        let lock = |number| LockRequest::new(number * LOCK_ID_STEP, LockMode::Exclusive);
        let mut request = Request::default();
        request.locks.extend([(2, lock(5)), (0, lock(9)), (2, lock(1)), (7, lock(2))]);
        request.seal(4);
        assert!(!request.runs_there, "it has several owners");
        let threads: Vec<_> = request.hops.iter().map(|hop| hop.space).collect();
        assert_eq!(threads, [0, 2, 7]);
        let mut seen = Vec::new();
        while let Some(thread) = request.next() {
            let of_next = request.of_hop(request.granted);
            seen.extend(of_next.map(|lock| (thread, lock)));
            request.granted += 1;
        }
        assert_eq!(seen, [(0, lock(9)), (2, lock(1)), (2, lock(5)), (7, lock(2))]);
        request.locks.clear();
        request.seal(4);
        assert_eq!(request.next(), None, "who needs nothing goes nowhere");
        request.locks.extend([(2, lock(5)), (2, lock(1))]);
        let mut runs_there = |short| {
            request.seal(short);
            request.runs_there
        };
        assert_eq!([0, 1, 2, 3].map(&mut runs_there), [false, false, true, true]);
    }
}
