//! A dataset: the rows of a table that have one executor, and who has locked what of them.
//!
//! States       shared, by calls that lock granules of it -> had as a whole by one call, when all
//!              of these have ended; meanwhile whoever comes waits behind that one
//! Invariants   I1 first come, first served, as in [`LockSpace`]: who comes behind one that wants
//!              the whole dataset waits behind it
//! Source       dora.txt 4.1.3: local lock tables; operations on whole tables are enqueued to every
//!              executor of the table. We differ: such a call needs no lock on each record, and
//!              nobody needs one on the dataset but who has all of it

use std::collections::VecDeque;

use hotrow_flow::lock_space::{LockSpace, Requester};
use hotrow_log::position::Position;

/// Buckets of a dataset's lock space, and locks that are usual at a time.
const BUCKETS: usize = 1 << 8;
const USUAL: usize = 1 << 5;

/// Who locks granules of a dataset, or all of it.
pub trait Visitor: Requester {
    /// Whether it is to have the dataset to itself.
    fn wants_whole(&self) -> bool;
}

/// See the module.
pub struct Dataset<V> {
    space: LockSpace<V>,
    /// somebody has all of it
    is_taken: bool,
    /// the first wants all of it, or it is taken (I1)
    behind: VecDeque<V>,
    /// the greatest position of all who have let go of something
    tag: Position,
    /// the greatest position of who had all of it
    floor: Position,
}

impl<V: Visitor> Default for Dataset<V> {
    fn default() -> Self {
        Self {
            space: LockSpace::new(BUCKETS, USUAL),
            is_taken: false,
            behind: VecDeque::new(),
            tag: Position::default(),
            floor: Position::default(),
        }
    }
}

impl<V: Visitor> Dataset<V> {
    /// Takes up a visitor; gives it back when it holds all that it wants here, else keeps it until
    /// it does.
    pub fn ask(&mut self, visitor: V) -> Option<V> {
        if !self.behind.is_empty() || self.keeps_out(&visitor) {
            self.behind.push_back(visitor); // I1
            return None;
        }
        self.admit(visitor)
    }

    /// Whether a visitor has to wait until others have let go of the dataset.
    fn keeps_out(&self, visitor: &V) -> bool {
        self.is_taken || visitor.wants_whole() && !self.space.is_empty()
    }

    fn admit(&mut self, mut visitor: V) -> Option<V> {
        if !visitor.wants_whole() {
            visitor.meet(self.floor);
            return self.space.ask(visitor).ok();
        }
        self.is_taken = true;
        visitor.meet(self.tag);
        Some(visitor)
    }

    /// One that had the dataset, or what is called `grant` in it, has ended, and stands at
    /// `position`. Those who hold all they want from now on are added to `granted`.
    pub fn release(&mut self, whole: bool, grant: u32, position: Position, granted: &mut Vec<V>) {
        self.tag = position.max(self.tag);
        match whole {
            true => (self.is_taken, self.floor) = (false, self.tag),
            false => self.space.release(grant, position, granted),
        }
        while self.behind.front().is_some_and(|first| !self.keeps_out(first))
            && let Some(first) = self.behind.pop_front()
        {
            granted.extend(self.admit(first));
        }
    }

    /// Whether nobody holds or waits for anything.
    pub fn is_empty(&self) -> bool {
        !self.is_taken && self.behind.is_empty() && self.space.is_empty()
    }
}
