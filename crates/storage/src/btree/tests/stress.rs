//! Threads at once: what each knows of its own keys must hold, and no scan may lose a stable key.

use hotrow_base::sync::facade::atomic::{AtomicBool, Ordering};
use std::collections::BTreeMap;
use std::thread;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::*;

const ROUNDS: u64 = 60_000;
/// Keys that stay: every multiple of this is inserted first and never removed.
const STABLE: u64 = 97;

fn key_of(number: u64) -> [u8; 16] {
    composite(number / 1_000, number % 1_000)
}

/// Each writer owns the numbers that leave its own remainder, and checks them as it goes.
fn write(tree: &BTree, (writer, writers): (u64, u64), space: u64) -> BTreeMap<u64, u64> {
    let mut random = SmallRng::seed_from_u64(writer);
    let mut mine = BTreeMap::new();
    let mut filling = true;
    let mut hint = Hint::default();
    for round in 0..ROUNDS {
        if round % 10_000 == 0 {
            filling = !filling;
        }
        let number = random.random_range(0..space) * writers + writer;
        if number.is_multiple_of(STABLE) {
            continue;
        }
        let key = key_of(number);
        assert_eq!(tree.get_hinted(&key, &mut hint), mine.get(&number).copied());
        if random.random_ratio(if filling { 3 } else { 1 }, 4) {
            let inserted = tree.insert_hinted(&key, round, &mut hint);
            assert_eq!(inserted, Ok(mine.get(&number).copied()));
            mine.entry(number).or_insert(round);
        } else if let Some(value) = mine.remove(&number) {
            assert!(tree.set_ghost(&key, value, true));
            assert!(tree.remove(&key, value | GHOST));
        }
    }
    mine
}

fn scan(tree: &BTree, stable: u64, direction: Direction, done: &AtomicBool) {
    let mut buffers = ScanBuffers::default();
    while !done.load(Ordering::Relaxed) {
        let mut last: Option<Vec<u8>> = None;
        let mut seen = 0;
        let mut cursor = tree.cursor(&mut buffers, Wanted::Entries, KeyRange::ALL, direction);
        while let Some(entry) = cursor.next() {
            if let Some(last) = &last {
                let ascends = last[..] < *entry.key;
                assert_eq!(ascends, direction == Direction::Ascending, "out of order");
                assert_ne!(last[..], *entry.key, "repeated");
            }
            seen += u64::from(entry.value == u64::from(u32::MAX));
            last = Some(entry.key.to_vec());
        }
        assert_eq!(seen, stable, "stable keys are seen once each");
    }
}

fn stress(tree: &BTree, writers: u64, space: u64) {
    let stable: Vec<u64> = (0..space * writers).step_by(STABLE as usize).collect();
    for &number in &stable {
        tree.insert(&key_of(number), u64::from(u32::MAX)).expect("no limit");
    }
    let done = AtomicBool::new(false);
    let owned = thread::scope(|scope| {
        let done = &done;
        for direction in [Direction::Ascending, Direction::Descending] {
            let stable = stable.len() as u64;
            scope.spawn(move || scan(tree, stable, direction, done));
        }
        let writer = |number| scope.spawn(move || write(tree, (number, writers), space));
        let all: Vec<_> = (0..writers).map(writer).collect();
        let owned: Vec<_> = all.into_iter().map(|writer| writer.join()).collect();
        done.store(true, Ordering::Relaxed);
        owned
    });
    let owned = owned.into_iter().flat_map(|owned| owned.expect("no writer panicked"));
    let mut model: BTreeMap<Vec<u8>, u64> =
        owned.map(|(number, value)| (key_of(number).to_vec(), value)).collect();
    model.extend(stable.iter().map(|&number| (key_of(number).to_vec(), u64::from(u32::MAX))));
    let found = collect(tree, KeyRange::ALL, Direction::Ascending);
    assert!(found.into_iter().eq(model), "the tree holds what its writers left");
    checked(tree);
}

#[test]
fn writers_and_scanners_in_a_small_tree() {
    stress(&tree(16), 3, 200);
}

#[test]
fn writers_and_scanners_in_a_larger_tree() {
    stress(&tree(16), 3, 10_000);
}

#[test]
fn scanners_beside_one_writer() {
    stress(&tree_of_one_writer(16), 1, 200);
    stress(&tree_of_one_writer(16), 1, 10_000);
}

/// All threads insert the same keys: each key has one winner, and everyone sees its value.
#[test]
fn same_keys_from_several_threads() {
    let tree = tree(16);
    let wins: u64 = thread::scope(|scope| {
        let tree = &tree;
        let racers: Vec<_> = (1..=3)
            .map(|racer| {
                scope.spawn(move || {
                    let mut wins = 0;
                    for number in 0..60_000_u64 {
                        // In leaps and in order by turns: splits in the middle and at the end.
                        let leap = if number / 5_000 % 2 == 0 { 1 } else { 7_919 };
                        let number = number * leap % 50_000;
                        match tree.insert(&key_of(number), racer) {
                            Ok(None) => wins += 1,
                            Ok(Some(winner)) => assert_eq!(tree.get(&key_of(number)), Some(winner)),
                            Err(error) => panic!("{error}"),
                        }
                    }
                    wins
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().expect("no racer panicked")).sum()
    });
    assert_eq!(checked(&tree).entries as u64, wins);
}

/// Several producers append, a consumer takes from the left: the shape of TPC-C's new_order.
#[test]
fn queue_of_several_threads() {
    let tree = tree(16);
    let done = AtomicBool::new(false);
    let (producers, each) = (2_u64, 40_000_u64);
    thread::scope(|scope| {
        let (tree, done) = (&tree, &done);
        let producing: Vec<_> = (0..producers)
            .map(|producer| {
                scope.spawn(move || {
                    let mut hint = Hint::default();
                    for number in 0..each {
                        let key = composite(7, number * producers + producer);
                        assert_eq!(tree.insert_hinted(&key, number, &mut hint), Ok(None));
                    }
                })
            })
            .collect();
        let consumer = scope.spawn(move || {
            let mut buffers = ScanBuffers::default();
            let mut taken = 0;
            loop {
                let finishing = done.load(Ordering::Acquire);
                let mut cursor =
                    tree.cursor(&mut buffers, Wanted::Entries, KeyRange::ALL, Direction::Ascending);
                match cursor.next().map(|entry| (entry.key.to_vec(), entry.value)) {
                    Some((key, value)) => {
                        assert!(tree.remove(&key, value), "there is one consumer");
                        taken += 1;
                    }
                    None if finishing => return taken,
                    None => thread::yield_now(),
                }
            }
        });
        for producer in producing {
            producer.join().expect("no producer panicked");
        }
        done.store(true, Ordering::Release);
        assert_eq!(consumer.join().expect("the consumer did not panic"), producers * each);
    });
    let shape = checked(&tree);
    assert_eq!((shape.entries, shape.leaves), (0, 1), "{shape:?}");
}
