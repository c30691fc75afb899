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

    /// Whose they are: lower for older, unlike any other's.
    fn age(&self) -> u64;
}

/// See the module.
pub struct WholeSpace<V> {
    space: LockSpace<V>,
    /// the ages of those who hold or await something, by grant
    ages: Vec<u64>,
    /// the age of who has all of it
    taken_by: Option<u64>,
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
            ages: Vec::new(),
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
        let age = visitor.age();
        if visitor.wants_whole() {
            self.taken_by = Some(age);
            visitor.meet(self.tag);
            visitor.enter(WHOLE);
            return Some(visitor);
        }
        visitor.meet(self.floor);
        let asked = self.space.ask(visitor);
        let grant = asked.as_ref().map_or_else(|&grant| grant, V::grant) as usize;
        if self.ages.len() <= grant {
            self.ages.resize(grant + 1, 0);
        }
        self.ages[grant] = age;
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

    /// Gives back one of this age that waits here, whose locks, if they have entered their queues,
    /// are called `grant`, unless it holds them by now: it holds nothing here then. Those who hold
    /// all they want from now on are added to `granted`.
    pub fn withdraw(&mut self, age: u64, grant: u32, granted: &mut Vec<V>) -> Option<V> {
        let is_such = |waiter: &V| waiter.age() == age;
        let withdrawn = match self.space.waiter(grant).is_some_and(is_such) {
            true => Some(self.space.withdraw(grant, granted)),
            false => self.behind.remove(self.behind.iter().position(is_such)?),
        };
        self.let_in(granted);
        withdrawn
    }

    /// Tells who waits here, and for whom, by age: all that stand right before it.
    pub fn visit_waits(&self, visit: &mut impl FnMut(&V, u64)) {
        let ages = &self.ages;
        self.space.visit_waits(|waiter, grant| visit(waiter, ages[grant as usize]));
        let Some(first) = self.behind.front() else { return };
        match self.taken_by {
            Some(age) => visit(first, age),
            None => self.space.visit_grants(|grant| visit(first, ages[grant as usize])),
        }
        for (before, waiter) in self.behind.iter().zip(self.behind.iter().skip(1)) {
            visit(waiter, before.age());
        }
    }

    /// Whether nobody holds or waits for anything.
    pub fn is_empty(&self) -> bool {
        self.taken_by.is_none() && self.behind.is_empty() && self.space.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use hotrow_transaction::granule::{LOCK_ID_STEP, LockMode};

    use super::*;

    /// One that wants a lock exclusively or, without one, all there is.
    #[derive(Debug)]
    struct Asker {
        age: u64,
        lock: Option<u64>,
        grant: u32,
    }

    impl Requester for Asker {
        fn wanted(&self) -> impl Iterator<Item = LockRequest> + Clone {
            self.lock
                .map(|lock| LockRequest::new(lock * LOCK_ID_STEP, LockMode::Exclusive))
                .into_iter()
        }

        fn enter(&mut self, grant: u32) {
            self.grant = grant;
        }

        fn meet(&mut self, _: Position) {}

        fn wait(&mut self, _: u64) {}

        fn hold(&mut self) {}
    }

    impl Visitor for Asker {
        fn wants_whole(&self) -> bool {
            self.lock.is_none()
        }

        fn grant(&self) -> u32 {
            self.grant
        }

        fn age(&self) -> u64 {
            self.age
        }
    }

    fn ages(askers: &[Asker]) -> Vec<u64> {
        askers.iter().map(|asker| asker.age).collect()
    }

    #[test]
    fn who_waits_is_withdrawn_by_its_age_wherever_it_stands() {
        let mut space = WholeSpace::default();
        let asker = |age, lock| Asker { age, lock, grant: NONE };
        let first = space.ask(asker(1, Some(7))).expect("nobody has it");
        for (age, lock) in [(2, Some(7)), (3, Some(7)), (4, None), (5, Some(8))] {
            assert!(space.ask(asker(age, lock)).is_none(), "somebody is before {age}");
        }
        let mut waiting = Vec::new();
        space.visit_waits(&mut |waiter, other| waiting.push((waiter.age, other, waiter.grant)));
        let grant_of = |age| waiting.iter().find(|(own, ..)| *own == age).expect("it waits").2;
        let mut granted = Vec::new();
        assert!(space.withdraw(1, first.grant, &mut granted).is_none(), "it holds what it wants");
        assert!(space.withdraw(6, grant_of(2), &mut granted).is_none(), "that is another's");
        assert_eq!(space.withdraw(2, grant_of(2), &mut granted).map(|back| back.age), Some(2));
        assert!(space.withdraw(2, grant_of(2), &mut granted).is_none(), "only once");
        space.release(first.grant, Position::default(), &mut granted);
        assert_eq!(ages(&granted), [3], "the fourth wants all");
        assert!(space.withdraw(3, grant_of(3), &mut granted).is_none(), "it has it by now");
        assert_eq!(space.withdraw(4, grant_of(4), &mut granted).map(|back| back.age), Some(4));
        assert_eq!(ages(&granted), [3, 5]);
        let mut none = Vec::new();
        granted.iter().for_each(|own| space.release(own.grant, Position::default(), &mut none));
        assert!(space.is_empty() && none.is_empty());
    }
}
