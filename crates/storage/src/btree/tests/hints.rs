//! A hint changes what an operation costs and never what it answers.

use super::*;

/// Hints into every leaf the tree has, each tried for every key after the tree changed under them.
fn check_all(tree: &BTree, hints: &[Hint], keys: u64, expected: &dyn Fn(u64) -> Option<u64>) {
    for number in 0..keys {
        let key = composite(number / 100, number % 100);
        for &hint in hints {
            let mut hint = hint;
            let found = tree.lookup_hinted(&key, &mut hint);
            assert_eq!(found.value, expected(number), "{number} by {hint:?}");
            assert_eq!(found.stamp, tree.lookup(&key).stamp, "the leaf is that of a descent");
        }
    }
}

fn hints_survive_everything(tree: &BTree) {
    let count = 2_000_u64;
    let key = |number: u64| composite(number / 100, number % 100);
    let mut hints = vec![Hint::default()];
    let mut hint = Hint::default();
    let keep = |hints: &mut Vec<Hint>, hint: Hint| {
        if hints.iter().all(|known| known.leaf != hint.leaf) {
            hints.push(hint);
        }
    };
    for number in (0..count).step_by(2) {
        assert_eq!(tree.insert_hinted(&key(number), number, &mut hint), Ok(None));
        keep(&mut hints, hint);
    }
    assert!(hints.len() > 10, "there are many leaves");
    let even = |number: u64| number.is_multiple_of(2).then_some(number);
    check_all(tree, &hints, count, &even);
    // Splits under the hints.
    for number in (1..count).step_by(2) {
        let mut hint = hints[number as usize % hints.len()];
        assert_eq!(tree.insert_hinted(&key(number), number, &mut hint), Ok(None));
        assert_eq!(tree.insert_hinted(&key(number), 0, &mut hint), Ok(Some(number)));
    }
    check_all(tree, &hints, count, &Some);
    // Merges under them: most of their leaves are retired.
    for number in (0..count).filter(|number| !number.is_multiple_of(50)) {
        assert!(tree.remove(&key(number), number));
    }
    let few = |number: u64| number.is_multiple_of(50).then_some(number);
    check_all(tree, &hints, count, &few);
    // Reuse of the retired nodes for other keys.
    for number in 0..count {
        let high = composite(1_000 + number / 100, number);
        assert_eq!(tree.insert(&high, number), Ok(None));
    }
    check_all(tree, &hints, count, &few);
    checked(tree);
}

#[test]
fn hints_survive_splits_merges_and_reuse() {
    hints_survive_everything(&tree(16));
    hints_survive_everything(&tree_of_one_writer(16));
}

#[test]
fn hint_of_another_tree_is_a_miss() {
    let (large, small) = (tree(16), tree(16));
    let mut hint = Hint::default();
    for number in 0..20_000 {
        large.insert_hinted(&composite(1, number), number, &mut hint).expect("no limit");
    }
    for number in 0..300 {
        let mut foreign = hint;
        assert_eq!(small.insert_hinted(&composite(1, number), number, &mut foreign), Ok(None));
        // A node that its arena holds and never handed out.
        let mut unused = Hint { leaf: NodeId(15) };
        assert_eq!(small.get_hinted(&composite(1, number), &mut unused), Some(number));
        assert_eq!(small.get_hinted(&[], &mut Hint { leaf: NodeId(15) }), None);
    }
    checked(&small);
}

/// An ascending run by hint alone reports the same changes as one by descents.
#[test]
fn hinted_inserts_report_their_changes() {
    let tree = tree(16);
    let mut hint = Hint::default();
    let mut held = vec![tree.lookup(&composite(1, 0)).stamp];
    for number in 0..1_000 {
        let key = composite(1, number);
        let inserted = tree.insert_hinted_observed(&key, number, &mut hint, |change| {
            let at = held.iter().position(|&stamp| stamp == change.before).expect("all are held");
            held[at] = change.after;
            held.extend(change.created);
        });
        assert_eq!(inserted, Ok(None));
    }
    assert!(held.len() > 5);
    assert!(held.iter().all(|&stamp| tree.validate(stamp)));
}
