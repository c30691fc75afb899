//! Circles of waiting over several threads, found by one of them in what all of them report.
//!
//! Role         the detector of a protocol of messages: now and then each node that has somebody
//!              waiting tells who waits there for whom. Reports are of different moments, so that a
//!              circle may have been none at any: whoever gives way does so unseen, and the oldest
//!              never does
//! Invariants   I1 a circle that does not end by itself is found once all its waits are reported
//!              I2 of each circle the youngest gives way, so that the oldest of all gets through
//!              I3 attempts of one call have different names: who has given way and come again is
//!              not taken for what older reports still tell of it. It may wait for its own last
//!              attempt, which waits for nobody
//! Bounds       linear in the waits reported, times the circles found
//! Source       orthrus.txt 4 and dora.txt 4.1.3 name wait-for graphs. We differ: its parts are
//!              brought together by messages, so that nobody looks into another thread's

use std::collections::{BTreeMap, BTreeSet};

use crate::node::Address;

/// An attempt of a call. The lesser is the older.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Attempt {
    /// of the call: lower for older, unlike any other's
    pub age: u64,
    /// so often it gave way before
    pub number: u32,
}

/// Who waits, and for whom.
pub type Wait = (Attempt, Attempt);

/// By node, the waits that it has reported last.
#[derive(Default, Debug)]
pub struct Reports {
    /// by node: the waits that it has reported last, each once, however many locks it is for
    waits: BTreeMap<Address, BTreeSet<Wait>>,
}

impl Reports {
    /// Takes a node's report, in place of its last one. Who is to give way, at which node it waits;
    /// one that waits at several nodes is listed for each.
    pub fn take(&mut self, from: Address, waits: Vec<Wait>) -> Vec<(Address, Attempt)> {
        // A call that was planned anew without giving way has the same name as before.
        let waits = waits.into_iter().filter(|(waiter, other)| waiter != other);
        self.waits.insert(from, waits.collect());
        let mut awaited = BTreeMap::<Attempt, BTreeSet<Attempt>>::new();
        for &(waiter, other) in self.waits.values().flatten() {
            awaited.entry(waiter).or_default().insert(other);
        }
        let mut victims = BTreeSet::new();
        loop {
            leave_those_in_trouble(&mut awaited);
            let Some(youngest) = youngest_of_a_circle(&awaited) else { break };
            awaited.remove(&youngest);
            victims.insert(youngest);
        }
        let mut told = Vec::new();
        for (&node, waits) in &mut self.waits {
            let here: BTreeSet<_> = waits.iter().map(|&(waiter, _)| waiter).collect();
            told.extend(here.intersection(&victims).map(|&victim| (node, victim)));
            // It is not told twice; if it stays, it is reported again.
            waits.retain(|(waiter, _)| !victims.contains(waiter));
        }
        told
    }
}

/// Leaves only those who wait, directly or not, for somebody in a circle.
fn leave_those_in_trouble(awaited: &mut BTreeMap<Attempt, BTreeSet<Attempt>>) {
    let mut waiters = BTreeMap::<Attempt, Vec<Attempt>>::new();
    let mut ending = BTreeSet::new();
    for (&waiter, others) in &*awaited {
        for &other in others {
            waiters.entry(other).or_default().push(waiter);
            if !awaited.contains_key(&other) {
                ending.insert(other);
            }
        }
    }
    while let Some(ends) = ending.pop_first() {
        for waiter in waiters.remove(&ends).unwrap_or_default() {
            let Some(others) = awaited.get_mut(&waiter) else { continue };
            others.remove(&ends);
            if others.is_empty() {
                awaited.remove(&waiter);
                ending.insert(waiter);
            }
        }
    }
}

/// Where everybody waits for somebody who waits: the youngest of some circle; none, if nobody
/// waits.
fn youngest_of_a_circle(awaited: &BTreeMap<Attempt, BTreeSet<Attempt>>) -> Option<Attempt> {
    let (mut way, mut places) = (Vec::new(), BTreeMap::new());
    let mut at = *awaited.keys().next()?;
    loop {
        if let Some(start) = places.insert(at, way.len()) {
            return way[start..].iter().copied().max(); // I2
        }
        way.push(at);
        at = *awaited.get(&at)?.first()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits of first attempts, by age.
    fn waits(all: impl IntoIterator<Item = (u64, u64)>) -> Vec<Wait> {
        all.into_iter().map(|(waiter, other)| (first(waiter), first(other))).collect()
    }

    fn first(age: u64) -> Attempt {
        Attempt { age, number: 0 }
    }

    #[test]
    fn the_youngest_of_each_circle_gives_way_wherever_it_waits() {
        let mut reports = Reports::default();
        assert_eq!(reports.take(1, waits([(10, 20), (30, 40)])), []);
        // 10 waits for 20 and 20 for 10; 30 waits for 40 only, and 5 for the circle.
        assert_eq!(reports.take(2, waits([(20, 10), (5, 20)])), [(2, first(20))]);
        assert_eq!(reports.take(2, waits([(5, 20)])), [], "it has given way");
        // Two circles, one of which waits at two nodes.
        let both = reports.take(3, waits([(40, 30), (20, 7), (7, 20)]));
        assert_eq!(both, [(3, first(20)), (3, first(40))]);
    }

    #[test]
    fn who_comes_again_is_not_taken_for_its_last_attempt() {
        let mut reports = Reports::default();
        assert_eq!(reports.take(1, waits([(10, 20)])), []);
        let again = Attempt { age: 20, number: 1 };
        // It waits for 10, which still waits for what 20 had in its first attempt.
        assert_eq!(reports.take(2, vec![(again, first(10))]), []);
        assert_eq!(reports.take(3, vec![(again, first(20))]), [], "what it had before is let go");
        assert_eq!(reports.take(1, vec![(first(10), again)]), [(2, again), (3, again)]);
    }

    #[test]
    fn waits_that_have_ended_are_forgotten() {
        let mut reports = Reports::default();
        assert_eq!(reports.take(1, waits([(1, 2)])), []);
        assert_eq!(reports.take(1, waits([])), []);
        assert_eq!(reports.take(2, waits([(2, 1)])), []);
        assert_eq!(reports.take(1, waits([(1, 2)])), [(2, first(2))]);
    }

    #[test]
    fn long_queues_behind_one_are_no_circle() {
        let mut reports = Reports::default();
        let queue = waits((1..100_000).map(|waiter| (waiter, waiter - 1)));
        assert_eq!(reports.take(1, queue), []);
        assert_eq!(reports.take(2, waits([(0, 70_000)])), [(1, first(70_000))]);
    }
}
