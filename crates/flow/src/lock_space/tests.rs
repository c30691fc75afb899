//! The rules of queues, against a list of requests in the order in which they came.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use hotrow_transaction::granule::{LOCK_ID_STEP, LockRequest};

use super::*;

/// One who asks, known by a number.
#[derive(Debug)]
struct Asker {
    source: usize,
    wanted: Vec<LockRequest>,
    grant: u32,
    met: Position,
    waited: bool,
    holds: bool,
}

impl Requester for Asker {
    fn wanted(&self) -> impl Iterator<Item = LockRequest> + Clone {
        self.wanted.iter().copied()
    }

    fn enter(&mut self, grant: u32) {
        self.grant = grant;
    }

    fn meet(&mut self, position: Position) {
        self.met = position.max(self.met);
    }

    fn wait(&mut self, _: u64) {
        self.waited = true;
    }

    fn hold(&mut self) {
        assert!(!std::mem::replace(&mut self.holds, true), "said once");
    }
}

fn asker(source: usize, locks: &[(u64, LockMode)]) -> Asker {
    let lock = |&(number, mode)| LockRequest::new(number * LOCK_ID_STEP, mode);
    let wanted = locks.iter().map(lock).collect();
    Asker { source, wanted, grant: NONE, met: Position::default(), waited: false, holds: false }
}

fn at(time: u64) -> Position {
    Position { epoch: 1, time }
}

#[test]
fn whoever_waits_is_granted_in_the_order_in_which_it_came() {
    use LockMode::{Exclusive, Shared};
    let mut space = LockSpace::new(64, 8);
    let mut granted = Vec::new();
    let first = space.ask(asker(0, &[(1, Shared)])).expect("nobody has it");
    assert!(space.ask(asker(1, &[(1, Exclusive), (2, Exclusive)])).is_err());
    assert!(space.ask(asker(2, &[(1, Shared)])).is_err(), "one that waits came before");
    assert!(space.ask(asker(3, &[(2, Shared)])).is_err(), "it is held for who waits for 1");
    assert_eq!(space.take_waits(), 3);
    space.release(first.grant, at(5), &mut granted);
    assert_eq!(granted.iter().map(|asker| asker.source).collect::<Vec<_>>(), [1]);
    let second = granted.pop().expect("it has just been there");
    assert_eq!((second.met, second.waited, second.holds), (at(5), true, true));
    space.release(second.grant, at(7), &mut granted);
    let mut sources: Vec<_> = granted.iter().map(|asker| (asker.source, asker.met)).collect();
    sources.sort_unstable_by_key(|&(source, _)| source);
    assert_eq!(sources, [(2, at(7)), (3, at(7))]);
    let mut none = Vec::new();
    granted.drain(..).for_each(|asker| {
        space.release(asker.grant, at(8), &mut none);
    });
    assert!(none.is_empty() && space.is_empty());
    let later = space.ask(asker(4, &[(1, Shared)])).expect("all are gone");
    assert_eq!(later.met, at(8), "a lock that nobody holds still tells who did");
}

/// One that has come: its slot, its locks, and whether it was said to hold all of them.
type Come = (usize, Vec<(u64, LockMode)>, bool);

/// Whether one holds everything by the rules: nobody before it in any queue is in its way.
fn holds(come: &[Come], which: usize) -> bool {
    come[which].1.iter().all(|&(lock, mode)| {
        let before = come[..which].iter().flat_map(|(_, locks, _)| locks);
        let mut in_queue = before.filter(|(other, _)| *other == lock);
        in_queue.all(|&(_, other)| other.compatible(mode))
            && come[..which].iter().enumerate().all(|(at, (_, locks, _))| {
                let asks = locks.iter().find(|(other, _)| *other == lock);
                asks.is_none_or(|&(_, other)| holds_one(come, at, lock, other))
            })
    })
}

/// Whether one holds this lock, and perhaps not yet the others.
fn holds_one(come: &[Come], which: usize, lock: u64, mode: LockMode) -> bool {
    let before = come[..which].iter().flat_map(|(_, locks, _)| locks);
    before.filter(|(other, _)| *other == lock).all(|&(_, other)| other.compatible(mode))
        && come[..which].iter().enumerate().all(|(at, (_, locks, _))| {
            let asks = locks.iter().find(|(other, _)| *other == lock);
            asks.is_none_or(|&(_, other)| holds_one(come, at, lock, other))
        })
}

#[test]
fn random_requests_are_granted_as_a_list_says() {
    for seed in 0..200 {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut space = LockSpace::new(64, 8);
        let mut come: Vec<Come> = Vec::new();
        let mut held: Vec<Asker> = Vec::new();
        for slot in 0..300 {
            if come.len() < 12 && random.random_range(0..3) > 0 {
                let mut locks: Vec<(u64, LockMode)> = (0..random.random_range(1..4))
                    .map(|_| (random.random_range(0..5), LockMode::ALL[random.random_range(0..4)]))
                    .collect();
                locks.sort_unstable();
                locks.dedup_by_key(|(lock, _)| *lock);
                let passes = space.pass(asker(slot, &locks).wanted()).is_some();
                let answer = space.ask(asker(slot, &locks));
                assert_eq!(passes, answer.is_ok(), "seed {seed}: it looked before it asked");
                come.push((slot, locks, answer.is_ok()));
                held.extend(answer);
            } else if !held.is_empty() {
                let gone = held.swap_remove(random.random_range(0..held.len()));
                come.retain(|(slot, ..)| *slot != gone.source);
                let mut granted = Vec::new();
                space.release(gone.grant, at(slot as u64), &mut granted);
                for asker in granted {
                    let one = come.iter_mut().find(|(slot, ..)| *slot == asker.source);
                    let one = one.expect("it has come and not gone");
                    assert!(!one.2, "seed {seed}: slot {} was granted twice", one.0);
                    one.2 = true;
                    held.push(asker);
                }
            }
            for which in 0..come.len() {
                assert_eq!(come[which].2, holds(&come, which), "seed {seed}: {which} of {come:?}");
            }
        }
        while let Some(gone) = held.pop() {
            space.release(gone.grant, at(1_000), &mut held);
        }
        assert!(space.is_empty(), "seed {seed}: nobody is left behind");
    }
}

#[test]
fn who_waits_can_be_taken_back_and_lets_others_go_on() {
    use LockMode::{Exclusive, Shared};
    let mut space = LockSpace::new(64, 8);
    let blockers = |space: &LockSpace<Asker>, grant| {
        let mut blockers = Vec::new();
        space.visit_blockers(grant, |blocker| blockers.push(blocker));
        blockers
    };
    let first = space.ask(asker(0, &[(1, Exclusive)])).expect("nobody has it");
    let second = space.ask(asker(1, &[(1, Shared), (2, Exclusive)])).expect_err("1 is held");
    let third = space.ask(asker(2, &[(1, Shared), (2, Shared)])).expect_err("both are held");
    let fourth = space.ask(asker(3, &[(2, Shared)])).expect_err("the second holds 2");
    assert_eq!(blockers(&space, second), [first.grant]);
    assert_eq!(blockers(&space, fourth), [third, second]);
    let mut granted = Vec::new();
    let back = space.withdraw(second, &mut granted);
    assert_eq!((back.source, back.holds), (1, false));
    let sources: Vec<_> = granted.iter().map(|asker| asker.source).collect();
    assert_eq!(sources, [3], "the third still waits for 1");
    assert_eq!(blockers(&space, third), [first.grant]);
    space.release(first.grant, at(3), &mut granted);
    let sources: Vec<_> = granted.iter().map(|asker| asker.source).collect();
    assert_eq!(sources, [3, 2]);
    let mut none = Vec::new();
    granted.into_iter().for_each(|asker| space.release(asker.grant, at(4), &mut none));
    assert!(none.is_empty() && space.is_empty());
}
