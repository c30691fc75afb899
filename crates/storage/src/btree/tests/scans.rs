use super::*;

#[test]
fn one_row_scan_copies_few() {
    let tree = tree(8);
    for number in 0..1_000_u64 {
        tree.insert(&number.to_be_bytes(), number).expect("no limit");
    }
    let mut buffers = ScanBuffers::default();
    let key = 500_u64.to_be_bytes();
    let range = KeyRange { lower: Bound::Included(&key[..]), upper: Bound::Unbounded };
    let mut cursor = tree.cursor(&mut buffers, Wanted::Entries, range, Direction::Ascending);
    assert_eq!(cursor.next().map(|entry| entry.value), Some(500));
    assert_eq!(cursor.stamps().len(), 1);
}

/// A scan whose range begins or ends at a leaf's edge must note the leaf that the missing key
/// would go to, or a phantom gets in.
#[test]
fn stamps_of_a_scan_cover_its_gaps() {
    let tree = tree(8);
    for number in 0..2_000_u64 {
        tree.insert(&(number * 10).to_be_bytes(), number).expect("no limit");
    }
    for number in 0..2_000_u64 {
        let (low, high) = ((number * 10).to_be_bytes(), (number * 10 + 10).to_be_bytes());
        let absent = (number * 10 + 5).to_be_bytes();
        let range =
            KeyRange { lower: Bound::Excluded(&low[..]), upper: Bound::Excluded(&high[..]) };
        for direction in [Direction::Ascending, Direction::Descending] {
            let mut buffers = ScanBuffers::default();
            let mut cursor = tree.cursor(&mut buffers, Wanted::Entries, range, direction);
            assert_eq!(cursor.next(), None);
            let stamps = cursor.stamps().to_vec();
            assert!(stamps.contains(&tree.lookup(&absent).stamp));
            assert!(stamps.iter().all(|&stamp| tree.validate(stamp)));
            tree.insert(&absent, 1).expect("no limit");
            assert!(!stamps.iter().all(|&stamp| tree.validate(stamp)), "a phantom at {number}");
            assert!(tree.remove(&absent, 1));
        }
    }
}

/// Removing what was just returned, and inserting behind and before it, changes neither the order
/// nor what else is returned.
#[test]
fn scan_goes_on_while_the_tree_changes_under_it() {
    for direction in [Direction::Ascending, Direction::Descending] {
        goes_on(Wanted::Entries, direction);
        goes_on(Wanted::Values, direction);
    }
}

fn goes_on(wanted: Wanted, direction: Direction) {
    let tree = tree(16);
    for number in 0..3_000 {
        tree.insert(&composite(number, 0), number).expect("no limit");
    }
    let mut buffers = ScanBuffers::default();
    let mut cursor = tree.cursor(&mut buffers, wanted, KeyRange::ALL, direction);
    let mut seen = Vec::new();
    while let Some(entry) = cursor.next() {
        let (value, key) = (entry.value, entry.key.to_vec());
        if value >= 1_000_000 {
            continue; // inserted below
        }
        seen.push(value);
        let expected = composite(value, 0);
        assert!(key == expected || wanted == Wanted::Values && key.is_empty(), "{key:?}");
        assert!(tree.remove(&expected, value));
        for low in 1..3 {
            tree.insert(&composite(value, low), 1_000_000 + low).expect("no limit");
        }
    }
    let expected: Vec<_> = match direction {
        Direction::Ascending => (0..3_000).collect(),
        Direction::Descending => (0..3_000).rev().collect(),
    };
    assert_eq!(seen, expected);
    checked(&tree);
}

#[test]
fn ends_that_are_no_keys_compare_by_bytes() {
    let tree = tree(16);
    let zero = composite(5, 0);
    tree.insert(&zero, 1).expect("no limit");
    tree.insert(&composite(5, 7), 2).expect("no limit");
    let prefix = 5_u64.to_be_bytes();
    let values = |lower, upper| -> Vec<u64> {
        let range = KeyRange { lower, upper };
        let up = collect(&tree, range, Direction::Ascending);
        let mut down = collect(&tree, range, Direction::Descending);
        down.reverse();
        assert_eq!(up, down);
        up.into_iter().map(|(_, value)| value).collect()
    };
    assert_eq!(values(Bound::Included(&prefix[..]), Bound::Unbounded), [1, 2]);
    assert_eq!(values(Bound::Excluded(&prefix[..]), Bound::Unbounded), [1, 2]);
    assert_eq!(values(Bound::Unbounded, Bound::Excluded(&prefix[..])), [0; 0]);
    assert_eq!(values(Bound::Unbounded, Bound::Included(&prefix[..])), [0; 0]);
    assert_eq!(values(Bound::Excluded(&zero[..]), Bound::Unbounded), [2]);
    let longer = [&zero[..], &[0; 900]].concat();
    assert_eq!(values(Bound::Included(&longer), Bound::Unbounded), [2]);
    assert_eq!(values(Bound::Unbounded, Bound::Excluded(&longer)), [1]);
}
