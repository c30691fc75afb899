use hotrow_base::sync::facade::atomic::AtomicU64;

use super::super::build::{Extent, Piece, build, ensure_room, insert_entry, layout_for, shape};
use super::super::layout::{View, entry_word};
use super::*;

const WORDS: usize = 128;

/// An inner node from `lower` to `upper` with one child, laid out to take `also`.
fn inner(lower: &[u8], upper: Option<&[u8]>, also: &[u8], child: u64) -> [AtomicU64; WORDS] {
    let words = [const { AtomicU64::new(0) }; WORDS];
    let extent = Extent { lower, upper };
    let layout = layout_for::<WORDS>(extent, shape::<WORDS>(&[], Some(also), 1));
    build(&words, 1, extent, &[], layout.expect("one separator fits"), Some(also));
    insert_entry(&View::new(&words), 0, &[], entry_word(child, 0));
    words
}

/// Two inner nodes are merged of which the left one has one child (it was just split off and has
/// not got its second one yet), so that the first separator of the merged node is the right node's
/// lower fence, stored nowhere among its entries. The right node is laid out for separators that
/// have left it, the merged one more tightly, with a prefix, which must come from that fence.
#[test]
fn a_merged_node_takes_its_prefix_from_a_fence() {
    let (lower, divider) = (composite(1, 4722), composite(2, 0));
    let left = inner(&lower, Some(&divider), &divider, 100);
    let right = inner(&divider, None, &[0xff; 16], 101);
    let separators: Vec<_> = (1..10).map(|i| composite(2, 60 * i)).collect();
    let wide = composite(1 << 60, 7);
    ensure_room(&right, &wide);
    insert_entry(&View::new(&right), 1, &wide, entry_word(999, 16));
    for (index, key) in separators.iter().enumerate() {
        ensure_room(&right, key);
        insert_entry(&View::new(&right), index + 1, key, entry_word(102 + index as u64, 16));
    }
    super::super::build::remove_entry(&View::new(&right), separators.len() + 1);

    let (left, right) = (View::new(&left), View::new(&right));
    let pieces = [left, right].map(|view| Piece { view, range: 0..view.count() });
    let extent = Extent { lower: &lower, upper: None };
    let layout = layout_for::<WORDS>(extent, shape(&pieces, None, 1)).expect("11 children fit");
    assert!(layout.prefix_bytes > 0 && right.header.prefix_bytes() == 0, "the case in question");
    let merged = [const { AtomicU64::new(0) }; WORDS];
    build(&merged, 1, extent, &pieces, layout, None);

    let merged = View::new(&merged);
    let covers = |key: &[u8]| merged.child_covering(key);
    assert_eq!((covers(&lower), covers(&composite(1, u64::MAX))), (0, 0));
    assert_eq!((covers(&divider), covers(&composite(2, 59))), (1, 1));
    for (index, key) in separators.iter().enumerate() {
        assert_eq!(covers(key), index + 2);
    }
}
