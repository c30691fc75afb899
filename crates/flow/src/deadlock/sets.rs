//! Sets of owners in shared words.
//!
//! Concurrency  each word is changed and read on its own; who needs more order says so

use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering};

/// Bits of a Bloom filter (locking.txt 4.2: m = 512), and how many of them one owner has (n = 3).
const BLOOM_BITS: u32 = 512;
const BLOOM_MARKS: u32 = 3;

/// How a set of owners is kept, for dreadlocks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Digest {
    /// a bit per owner
    #[default]
    Bitmap,
    /// a Bloom filter: 3 of 512 bits per owner (locking.txt 4.2)
    Bloom,
}

/// How sets are kept, for a number of owners.
#[derive(Clone, Copy, Debug)]
pub struct SetForm {
    digest: Digest,
    words: usize,
}

impl SetForm {
    /// A bit per owner.
    pub fn bitmap(owners: usize) -> Self {
        Self { digest: Digest::Bitmap, words: owners.div_ceil(64).max(1) }
    }

    /// As asked.
    pub fn of(digest: Digest, owners: usize) -> Self {
        match digest {
            Digest::Bitmap => Self::bitmap(owners),
            Digest::Bloom => Self { digest, words: (BLOOM_BITS / 64) as usize },
        }
    }

    /// Words of a set.
    pub fn words(self) -> usize {
        self.words
    }

    /// The set of one owner: its fingerprint.
    pub fn fingerprint(self, owner: u32) -> impl Iterator<Item = (usize, u64)> {
        let marks = match self.digest {
            Digest::Bitmap => 1,
            Digest::Bloom => BLOOM_MARKS,
        };
        (0..marks).map(move |mark| {
            let bit = match self.digest {
                Digest::Bitmap => owner,
                Digest::Bloom => bloom_bit(owner, mark),
            };
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }

    /// Adds an owner.
    pub fn add(self, set: &mut [u64], owner: u32) {
        self.fingerprint(owner).for_each(|(word, bits)| set[word] |= bits);
    }

    /// Whether a shared set may have an owner.
    pub fn may_contain(self, set: &[AtomicU64], owner: u32) -> bool {
        // SeqCst: D3 of `dreadlocks`.
        self.fingerprint(owner).all(|(word, bits)| set[word].load(Ordering::SeqCst) & bits != 0)
    }
}

/// Any spread will do; different owners shall differ in some of their bits.
fn bloom_bit(owner: u32, mark: u32) -> u32 {
    let mixed = (u64::from(owner) * u64::from(BLOOM_MARKS) + u64::from(mark) + 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32 % BLOOM_BITS
}

/// Replaces a shared set, which only the caller writes. A word that stays is not written again:
/// whoever looks at it would have to fetch its line anew.
pub fn publish(set: &[AtomicU64], with: &[u64]) {
    for (word, &new) in set.iter().zip(with) {
        // Relaxed: the caller's own last store.
        if word.load(Ordering::Relaxed) != new {
            word.store(new, Ordering::SeqCst); // D3 of `dreadlocks`
        }
    }
}

/// Adds a shared set to one's own.
pub fn add_all(to: &mut [u64], from: &[AtomicU64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to |= from.load(Ordering::SeqCst); // D3 of `dreadlocks`
    }
}
