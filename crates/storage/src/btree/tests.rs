mod gaps;
mod hints;
mod merge;
mod model;
mod scans;
mod stress;

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use super::*;
use crate::budget::MemoryBudget;

fn tree(max_key_bytes: usize) -> BTree {
    BTree::new(max_key_bytes, Arc::new(MemoryBudget::unlimited())).expect("an unlimited budget")
}

/// One that is changed by one thread at a time.
fn tree_of_one_writer(max_key_bytes: usize) -> BTree {
    let tree = tree(max_key_bytes);
    tree.set_one_writer(true);
    tree
}

fn checked(tree: &BTree) -> TreeShape {
    tree.check_invariants().unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn collect(tree: &BTree, range: KeyRange<'_>, direction: Direction) -> Vec<(Vec<u8>, u64)> {
    let mut found = Vec::new();
    let _: ControlFlow<()> = tree.scan(&mut ScanBuffers::default(), range, direction, |entry| {
        found.push((entry.key.to_vec(), entry.value));
        ControlFlow::Continue(())
    });
    found
}

fn composite(high: u64, low: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&high.to_be_bytes());
    key[8..].copy_from_slice(&low.to_be_bytes());
    key
}

#[test]
fn empty_tree_answers_everything() {
    let tree = tree(8);
    let mut prior = KeyBuffer::new();
    assert_eq!(tree.get(b"k"), None);
    assert!(!tree.remove(b"k", 1));
    assert_eq!(tree.replace(b"k", 1), None);
    assert_eq!(tree.get_or_prior(b"k", &mut prior).0, Prior::Fence);
    assert_eq!(prior.as_bytes(), b"");
    for direction in [Direction::Ascending, Direction::Descending] {
        let mut buffers = ScanBuffers::default();
        let mut cursor = tree.cursor(&mut buffers, Wanted::Entries, KeyRange::ALL, direction);
        assert_eq!(cursor.next(), None);
        assert_eq!(cursor.stamps().len(), 1, "an empty range needs its leaf's stamp too");
    }
    tree.prefetch(b"k");
    checked(&tree);
}

#[test]
fn existing_entry_is_returned_and_kept() {
    let tree = tree(8);
    assert_eq!(tree.insert(b"key", 7), Ok(None));
    assert_eq!(tree.insert(b"key", 8), Ok(Some(7)));
    assert!(!tree.set_ghost(b"key", 8, true));
    assert!(tree.set_ghost(b"key", 7, true));
    assert_eq!(tree.insert(b"key", 8), Ok(Some(7 | GHOST)));
    assert!(!tree.remove(b"key", 7), "the expected value includes the ghost flag");
    assert!(tree.set_ghost(b"key", 7, false));
    assert_eq!(tree.replace(b"key", 9), Some(7));
    assert_eq!(tree.get(b"key"), Some(9));
    assert!(tree.remove(b"key", 9));
    assert_eq!(tree.get(b"key"), None);
}

#[test]
fn refusals_are_errors() {
    let tree = tree(8);
    let too_long = BTreeError::KeyTooLong { length: 9, limit: 8 };
    assert_eq!(tree.insert(&[1; 9], 0), Err(too_long));
    assert_eq!(tree.get(&[1; 900]), None);
    assert_eq!(tree.insert(&[1, 0], 0), Ok(None));
    assert_eq!(tree.insert(&[1], 0), Err(BTreeError::KeyClash));
    assert_eq!(tree.get(&[1]), None);
    assert!(BTree::new(513, Arc::new(MemoryBudget::unlimited())).is_err());
}

#[test]
fn exhausted_budget_refuses_inserts_and_nothing_else() {
    let budget = Arc::new(MemoryBudget::new(100_000));
    let tree = BTree::new(16, Arc::clone(&budget)).expect("the first chunk fits");
    let mut inserted = 0_u64;
    let error = loop {
        match tree.insert(&(inserted * 7919 % 1_000_003).to_be_bytes(), inserted) {
            Ok(None) => inserted += 1,
            Ok(Some(_)) => panic!("keys are distinct"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, BTreeError::OutOfMemoryBudget(_)), "{error}");
    assert_eq!(checked(&tree).entries as u64, inserted);
    assert_eq!(tree.bytes_used(), budget.used());
    for number in 0..inserted {
        assert!(tree.remove(&(number * 7919 % 1_000_003).to_be_bytes(), number));
    }
    let shape = checked(&tree);
    assert_eq!((shape.entries, shape.leaves), (0, 1));
    for number in 0..inserted {
        assert_eq!(tree.insert(&number.to_be_bytes(), number), Ok(None), "nodes are used again");
    }
    drop(tree);
    assert_eq!(budget.used(), 0);
}

#[test]
fn ascending_load_fills_leaves() {
    let tree = tree(16);
    let count = 100_000;
    for number in 0..count {
        tree.insert(&composite(3, number), number).expect("no limit");
    }
    let shape = checked(&tree);
    let bytes = tree.bytes_used() as f64 / count as f64;
    assert!(bytes < 20.0, "{bytes} bytes per entry: {shape:?}");
}

#[test]
fn ascending_runs_inside_the_tree_fill_leaves() {
    let tree = tree(16);
    let (runs, count) = (10, 10_000);
    for number in 0..count {
        for run in 0..runs {
            tree.insert(&composite(run, number), number).expect("no limit");
        }
    }
    let shape = checked(&tree);
    let bytes = tree.bytes_used() as f64 / (runs * count) as f64;
    assert!(bytes < 24.0, "{bytes} bytes per entry: {shape:?}");
}

#[test]
fn queue_leaves_no_empty_leaves_behind() {
    let tree = tree(16);
    for number in 0..200_000_u64 {
        tree.insert(&composite(1, number), number).expect("no limit");
        if let Some(oldest) = number.checked_sub(1_000) {
            assert!(tree.set_ghost(&composite(1, oldest), oldest, true));
            assert!(tree.remove(&composite(1, oldest), oldest | GHOST));
        }
        if number % 10_000 == 9_999 {
            let shape = checked(&tree);
            assert_eq!(shape.empty_leaves, 0);
            assert!(shape.leaves < 40, "{shape:?}");
        }
    }
    assert!(tree.bytes_used() < 100_000, "nodes are used again");
}

#[test]
fn prior_key_is_the_gap_before() {
    let tree = tree(16);
    for number in 0..1_000_u64 {
        tree.insert(&composite(1, number * 10), number).expect("no limit");
    }
    let mut prior = KeyBuffer::new();
    let (found, _) = tree.get_or_prior(&composite(1, 50), &mut prior);
    assert_eq!((found, prior.as_bytes()), (Prior::Exact(5), &composite(1, 50)[..]));
    let mut fences = 0;
    for number in 1..1_000_u64 {
        let key = composite(1, number * 10 - 5);
        match tree.get_or_prior(&key, &mut prior).0 {
            Prior::Exact(_) => panic!("{key:?} is not there"),
            Prior::Key(value) => {
                assert_eq!(value, number - 1);
                assert_eq!(prior.as_bytes(), composite(1, number * 10 - 10));
            }
            Prior::Fence => {
                fences += 1;
                assert!(prior.as_bytes() > &composite(1, number * 10 - 10)[..]);
                assert!(prior.as_bytes() <= &key[..]);
            }
        }
    }
    assert!(fences < 30, "a fence stands before few gaps: {fences}");
}

#[test]
fn stamps_see_inserts_and_follow_own_ones() {
    let tree = tree(8);
    for number in 0..10_000_u64 {
        tree.insert(&(number * 2).to_be_bytes(), number).expect("no limit");
    }
    let absent = 5_001_u64.to_be_bytes();
    let lookup = tree.lookup(&absent);
    assert_eq!(lookup.value, None);
    assert!(tree.validate(lookup.stamp));
    let mut own = vec![lookup.stamp];
    // Many inserts into one place: rebuilds and splits among the changes.
    for number in 0..200_u64 {
        let key = [&absent[..], &number.to_be_bytes()[..]].concat();
        let key = if number == 0 { &absent[..] } else { &key[4..12] };
        let _ = tree.insert_observed(key, number, |change| {
            if let Some(held) = own.iter_mut().find(|held| **held == change.before) {
                *held = change.after;
                own.extend(change.created);
            }
        });
    }
    assert!(own.iter().all(|&stamp| tree.validate(stamp)), "own inserts keep the set valid");
    assert!(!tree.validate(lookup.stamp));
    // On both sides: one of the two may belong to a neighbour.
    tree.insert(&4_999_u64.to_be_bytes(), 0).expect("no limit");
    tree.insert(&5_003_u64.to_be_bytes(), 0).expect("no limit");
    assert!(!own.iter().all(|&stamp| tree.validate(stamp)), "another's insert is seen");
}

#[test]
fn ghosts_and_replacements_are_changes_that_are_told() {
    let tree = tree(8);
    tree.insert(&[1], 10).expect("no limit");
    let mut stamp = tree.lookup(&[1]).stamp;
    let mut told = 0;
    let mut observe = |change: StampChange| {
        assert_eq!(change.before, stamp);
        assert!(change.created.is_none() && tree.validate(change.after));
        (stamp, told) = (change.after, told + 1);
    };
    assert!(tree.set_ghost_observed(&[1], 10, true, &mut observe));
    assert!(tree.set_ghost_observed(&[1], 10, false, &mut observe));
    assert_eq!(tree.replace_observed(&[1], 11, &mut observe), Some(10));
    assert!(!tree.set_ghost_observed(&[1], 10, true, &mut observe), "it has another value");
    assert_eq!(told, 3);
    assert_eq!(tree.lookup(&[1]).stamp, stamp);
}

#[test]
fn root_split_is_a_change_like_any_other() {
    let tree = tree(8);
    let mut held = vec![tree.lookup(&[0]).stamp];
    let mut splits = 0;
    for number in 0..130_u64 {
        let inserted = tree.insert_observed(&number.to_be_bytes(), number, |change| {
            let at = held.iter().position(|&stamp| stamp == change.before).expect("all are held");
            held[at] = change.after;
            held.extend(change.created);
            splits += usize::from(change.created.is_some());
        });
        assert_eq!(inserted, Ok(None));
    }
    assert_eq!(splits, 2);
    assert!(held.iter().all(|&stamp| tree.validate(stamp)));
}

/// Full inner nodes beside emptied ones: children are handed over, and no empty leaf stays.
#[test]
fn emptying_a_full_tree_from_either_end_balances_inner_nodes() {
    let (small, large) = (tree(16), tree(512));
    let short = |number: u64| composite(3, number).to_vec();
    let long = |number: u64| [&[b'l'; 400], &composite(number % 3, number)[..]].concat();
    empty_from_both_ends(&small, 30_000, &short);
    empty_from_both_ends(&large, 30_000, &long);
}

fn empty_from_both_ends(tree: &BTree, count: u64, key: &dyn Fn(u64) -> Vec<u8>) {
    for round in 0..3 {
        let mut order: Vec<(Vec<u8>, u64)> =
            (0..count).map(|number| (key(number), number)).collect();
        order.sort();
        for (key, number) in &order {
            tree.insert(key, *number).expect("no limit");
        }
        match round {
            0 => {}
            1 => order.reverse(),
            _ => order.rotate_left(count as usize / 2),
        }
        for (done, (key, number)) in order.iter().enumerate() {
            assert!(tree.remove(key, *number));
            if done % 997 == 0 {
                let shape = checked(tree);
                assert_eq!(shape.empty_leaves, 0, "after {done} removals: {shape:?}");
            }
        }
        let shape = checked(tree);
        assert_eq!((shape.entries, shape.leaves, shape.height), (0, 1, 1));
    }
}
