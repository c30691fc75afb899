//! Mappings and sets.

use hotrow_base::ids::PartitionId;

use super::{Hashing, Mapping, PARTITIONS_MAX, PartitionSet, partition_of_bigint};

fn ranges(boundaries: &[&[u8]]) -> Mapping {
    Mapping::Ranges(boundaries.iter().map(|&boundary| boundary.into()).collect())
}

#[test]
fn a_boundary_begins_the_partition_above_it() {
    let mapping = ranges(&[b"b", b"d", b"d", b"f\0"]);
    let of = |fields: &[u8]| mapping.partition(Hashing::Mixed, fields, 5).0;
    assert_eq!([of(b""), of(b"a"), of(b"a\xff")], [0, 0, 0], "before the first");
    assert_eq!([of(b"b"), of(b"b\0"), of(b"c\xff")], [1, 1, 1]);
    assert_eq!(of(b"d"), 3, "between equal boundaries nothing lies");
    assert_eq!([of(b"f"), of(b"f\0"), of(b"g")], [3, 4, 4]);
}

#[test]
fn hashing_uses_all_partitions_and_no_other() {
    for hashing in [Hashing::Mixed, Hashing::Even] {
        let mut counts = [0_u32; 7];
        for key in 0..7000_u32 {
            counts[hashing.partition(&key.to_be_bytes(), 7).index()] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
        assert_eq!(hashing.partition(&[0x80, 1], 1), PartitionId(0));
    }
}

#[test]
fn consecutive_numbers_fall_evenly() {
    let int = |number: u64| number.to_be_bytes();
    for partitions in 1..=32_u16 {
        for first in [1 << 63, (1 << 63) + 1, 77] {
            let mut counts = vec![0_u32; partitions.into()];
            for number in first..first + 4 * u64::from(partitions) {
                counts[Hashing::Even.partition(&int(number), partitions).index()] += 1;
            }
            assert!(counts.iter().all(|count| (2..=6).contains(count)), "{counts:?}");
        }
    }
    let of = |number, n| partition_of_bigint(number, n).0;
    assert_eq!([1, 2, 3, 4].map(|warehouse| of(warehouse, 2)), [0, 1, 0, 1]);
}

#[test]
fn a_set_holds_what_was_put_in() {
    let mut set = PartitionSet::EMPTY;
    assert!(set.is_empty());
    let numbers = [0, 1, 63, 64, 700, PARTITIONS_MAX - 1];
    numbers.iter().rev().for_each(|&number| set.insert(PartitionId(number)));
    assert_eq!(set.iter().map(|p| p.0).collect::<Vec<_>>(), numbers);
    assert_eq!(set.len(), numbers.len());
    assert!(set.contains(PartitionId(64)) && !set.contains(PartitionId(65)));
    let mut all = PartitionSet::EMPTY;
    all.insert_all(65);
    assert_eq!((all.len(), all.contains(PartitionId(65))), (65, false));
}
