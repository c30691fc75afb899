//! A set of partitions, without memory of its own.

use hotrow_base::ids::PartitionId;

use super::PARTITIONS_MAX;

const WORDS: usize = PARTITIONS_MAX as usize / 64;

/// Some of the partitions of a routing: one bit each, so that filling it allocates nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PartitionSet {
    words: [u64; WORDS],
}

impl PartitionSet {
    /// The empty set.
    pub const EMPTY: Self = Self { words: [0; WORDS] };

    /// Adds a partition.
    #[inline]
    pub fn insert(&mut self, partition: PartitionId) {
        self.words[partition.index() / 64] |= 1 << (partition.0 % 64);
    }

    /// Adds the partitions `0..count`.
    pub fn insert_all(&mut self, count: u16) {
        (0..count).for_each(|partition| self.insert(PartitionId(partition)));
    }

    /// Whether a partition belongs to it.
    #[inline]
    pub fn contains(&self, partition: PartitionId) -> bool {
        self.words[partition.index() / 64] & 1 << (partition.0 % 64) != 0
    }

    /// How many partitions belong to it. None: any one partition will do.
    #[inline]
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no partition belongs to it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words == [0; WORDS]
    }

    /// Its partitions, ascending.
    pub fn iter(&self) -> impl Iterator<Item = PartitionId> + '_ {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(PartitionId(at as u16 * 64 + bit as u16))
            })
        })
    }
}
