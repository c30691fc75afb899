//! A lock space that one requester may have to itself.
//!
//! Role         the locks of a DORA dataset: calls lock granules of it, and who needs the whole
//!              table has all of its datasets
//! States       shared, by those who lock granules of it -> had as a whole by one, when all of
//!              these have ended; meanwhile whoever comes waits behind that one
//! Invariants   I1 first come, first served, as in [`LockSpace`]: who comes behind one that wants
//!              all of it waits behind it
//! Source       dora.txt 4.1.3: local lock tables; operations on whole tables are enqueued to every
//!              executor of the table. We differ: such a call needs no lock on each record, and
//!              nobody needs one on the dataset but who has all of it

use std::collections::VecDeque;

use hotrow_base::pool::NONE;
use hotrow_log::position::Position;
use hotrow_transaction::granule::LockRequest;

use super::{LockSpace, Requester};
use crate::deadlock::reports::Attempt;

/// In place of a grant: all of the space.
pub const WHOLE: u32 = NONE - 1;

/// Buckets of a space, and locks that are usual at a time.
const BUCKETS: usize = 1 << 8;
const USUAL: usize = 1 << 5;

/// Who locks granules of a space, or has all of it.
pub trait Visitor: Requester {
    /// Whether it is to have all of it.
    fn wants_whole(&self) -> bool;

    /// What its locks are called.
    fn grant(&self) -> u32;

    /// Whose they are.
    fn attempt(&self) -> Attempt;
}

/// A lock space, and the requester that has or wants all of it.
pub struct WholeSpace<V> {
    space: LockSpace<V>,
    /// those who hold or await something, by grant
    attempts: Vec<Attempt>,
    /// who has all of it
    taken_by: Option<Attempt>,
    /// the first wants all of it, or it is taken (I1)
    behind: VecDeque<V>,
    /// the greatest position of all who have let go of something
    tag: Position,
    /// the greatest position of who had all of it
    floor: Position,
}

impl<V: Visitor> Default for WholeSpace<V> {
    fn default() -> Self {
        Self {
            space: LockSpace::new(BUCKETS, USUAL),
            attempts: Vec::new(),
            taken_by: None,
            behind: VecDeque::new(),
            tag: Position::default(),
            floor: Position::default(),
        }
    }
}

impl<V: Visitor> WholeSpace<V> {
    /// Takes up a visitor; gives it back when it holds all that it wants here, else keeps it until
    /// it does.
    pub fn ask(&mut self, visitor: V) -> Option<V> {
        if !self.behind.is_empty() || self.keeps_out(&visitor) {
            self.behind.push_back(visitor); // I1
            return None;
        }
        self.admit(visitor)
    }

    /// Whether a visitor has to wait until others have let go of it.
    fn keeps_out(&self, visitor: &V) -> bool {
        self.taken_by.is_some() || visitor.wants_whole() && !self.space.is_empty()
    }

    fn admit(&mut self, mut visitor: V) -> Option<V> {
        let attempt = visitor.attempt();
        if visitor.wants_whole() {
            self.taken_by = Some(attempt);
            visitor.meet(self.tag);
            visitor.enter(WHOLE);
            return Some(visitor);
        }
        visitor.meet(self.floor);
        let asked = self.space.ask(visitor);
        let grant = asked.as_ref().map_or_else(|&grant| grant, V::grant) as usize;
        if self.attempts.len() <= grant {
            self.attempts.resize(grant + 1, Attempt::default());
        }
        self.attempts[grant] = attempt;
        asked.ok()
    }

    /// Whom a call follows that may have these locks at once; it need not enter any queue, if
    /// nobody else comes here until [`WholeSpace::leave`] says that it has ended. None, if it has
    /// to ask.
    pub fn pass(&self, wanted: &[LockRequest]) -> Option<Position> {
        if self.taken_by.is_some() || !self.behind.is_empty() {
            return None;
        }
        self.space.pass(wanted.iter().copied()).map(|met| met.max(self.floor))
    }

    /// One that has passed has ended, and stands at `position`.
    pub fn leave(&mut self, had: &[LockRequest], position: Position) {
        self.tag = position.max(self.tag);
        self.space.leave(had.iter().copied(), position);
    }

    /// One that had what is called `grant` here has ended, and stands at `position`. Those who hold
    /// all they want from now on are added to `granted`.
    pub fn release(&mut self, grant: u32, position: Position, granted: &mut Vec<V>) {
        self.tag = position.max(self.tag);
        match grant {
            WHOLE => (self.taken_by, self.floor) = (None, self.tag),
            _ => self.space.release(grant, position, granted),
        }
        self.let_in(granted);
    }

    fn let_in(&mut self, granted: &mut Vec<V>) {
        while self.behind.front().is_some_and(|first| !self.keeps_out(first))
            && let Some(first) = self.behind.pop_front()
        {
            granted.extend(self.admit(first));
        }
    }

    /// Gives back one of those who wait, as asked, if there is one: it holds nothing here. Those
    /// who hold all they want from now on are added to `granted`.
    pub fn withdraw(&mut self, is_such: impl Fn(&V) -> bool, granted: &mut Vec<V>) -> Option<V> {
        let withdrawn = match self.behind.iter().position(&is_such) {
            Some(at) => self.behind.remove(at),
            None => {
                let grant = self.space.find_waiter(&is_such)?;
                Some(self.space.withdraw(grant, granted))
            }
        };
        self.let_in(granted);
        withdrawn
    }

    /// Tells who waits here, and for whom: all that stand right before it.
    pub fn visit_waits(&self, visit: &mut impl FnMut(Attempt, Attempt)) {
        let attempts = &self.attempts;
        self.space.visit_waits(|waiter, grant| visit(waiter.attempt(), attempts[grant as usize]));
        let Some(first) = self.behind.front() else { return };
        match self.taken_by {
            Some(attempt) => visit(first.attempt(), attempt),
            None => {
                let first = first.attempt();
                self.space.visit_grants(|grant| visit(first, attempts[grant as usize]));
            }
        }
        for (before, waiter) in self.behind.iter().zip(self.behind.iter().skip(1)) {
            visit(waiter.attempt(), before.attempt());
        }
    }

    /// Whether nobody holds or waits for anything.
    pub fn is_empty(&self) -> bool {
        self.taken_by.is_none() && self.behind.is_empty() && self.space.is_empty()
    }
}
