//! Scans: entries of a key range in ascending or descending order.
//!
//! Role         called by engines for range reads; knows nothing of ghosts' meaning, it returns
//!              them
//! States       probe (a key, not a place) ─▶ a batch copied from one leaf ─▶ ... ─▶ finished
//! Invariants   I1  a batch is copied under one version of one leaf, whose stamp is noted
//!              I2  a scan goes on from a key, the last one returned or the fence of the leaf left
//!                  behind. So a key present throughout is returned once, whatever splits and
//!                  merges happen meanwhile, and keys are returned strictly in order
//! Concurrency  latch-free, but for merging an empty leaf it meets
//!
//! Batches begin at 4 entries, so that a scan for one row copies little, and double up to 64.

use std::cmp::Ordering;
use std::ops::{Bound, Range};

use hotrow_base::sync::{SpinWait, Version};

use super::arena::{Node, ROOT};
use super::descend::Towards;
use super::find::Found;
use super::gaps::Unguarded;
use super::key::{KeyBuffer, MAX_KEY_BYTES, compare_padded};
use super::layout::{View, key_length_in, value_in};
use super::stamp::NodeStamp;
use super::tree::Tree;

const BATCH_FIRST: usize = 4;
const BATCH_MOST: usize = 64;

/// What a scan copies of each entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Key and value.
    Entries,
    /// The value only; keys come out empty. Several times cheaper, keys being kept in pieces.
    Values,
}

/// The order of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the least key up.
    Ascending,
    /// From the greatest key down.
    Descending,
}

/// The keys a scan is for. Ends compare by bytes, so the keys that begin with `p` are
/// `Included(p)` to `Excluded(p's successor)`.
#[derive(Clone, Copy, Debug)]
pub struct KeyRange<'k> {
    /// The end with the lesser keys.
    pub lower: Bound<&'k [u8]>,
    /// The end with the greater keys.
    pub upper: Bound<&'k [u8]>,
}

impl KeyRange<'_> {
    /// All keys.
    pub const ALL: Self = Self { lower: Bound::Unbounded, upper: Bound::Unbounded };
}

/// An entry as a scan returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanEntry<'b> {
    /// The key's bytes, as they were inserted.
    pub key: &'b [u8],
    /// The value, with its ghost flag.
    pub value: u64,
    /// The leaf the entry was read from.
    pub stamp: NodeStamp,
}

/// A key end that owns its bytes; `Open` where there is no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Open,
    Included,
    Excluded,
    /// Below a fence: a descending scan that leaves a leaf.
    BelowFence,
}

/// The memory of a scan. Reuse it: after the first few scans nothing is allocated any more.
#[derive(Debug, Default)]
pub struct ScanBuffers {
    /// Where the scan goes on.
    probe: KeyBuffer,
    /// The probe after this leaf, before the leaf is validated.
    next_probe: KeyBuffer,
    /// The end the scan moves towards.
    limit: KeyBuffer,
    /// The batch, in the leaf's order, in slots of equal size: an entry word and the key. Never
    /// cleared, only grown.
    batch: Vec<[u8; 8]>,
    stamps: Vec<NodeStamp>,
}

impl ScanBuffers {
    /// As [`Cursor::stamps`], of the last scan.
    #[must_use]
    pub fn stamps(&self) -> &[NodeStamp] {
        &self.stamps
    }
}

/// What is left of a leaf after a batch; good as long as the leaf is at `stamp`'s version.
#[derive(Clone, Copy, Debug)]
struct Rest {
    stamp: NodeStamp,
    /// The entries not copied yet.
    from: usize,
    to: usize,
}

/// A scan in progress: [`BTree::cursor`](super::BTree::cursor).
pub struct Cursor<'t, 'b> {
    scan: AnyCursor<'t, 'b>,
}

/// A cursor over whichever node size the tree has.
pub(super) enum AnyCursor<'t, 'b> {
    Small(SizedCursor<'t, 'b, 128>),
    Medium(SizedCursor<'t, 'b, 256>),
    Large(SizedCursor<'t, 'b, 512>),
}

impl<'t, 'b> Cursor<'t, 'b> {
    pub(super) fn new(scan: AnyCursor<'t, 'b>) -> Self {
        Self { scan }
    }

    /// The next entry, ghosts included.
    #[expect(clippy::should_implement_trait, reason = "an entry borrows the cursor's buffers")]
    #[inline]
    pub fn next(&mut self) -> Option<ScanEntry<'_>> {
        match &mut self.scan {
            AnyCursor::Small(cursor) => cursor.next(),
            AnyCursor::Medium(cursor) => cursor.next(),
            AnyCursor::Large(cursor) => cursor.next(),
        }
    }

    /// The stamps of all leaves the scan has looked into so far, those without an entry in the
    /// range as well: the node set that protects what was returned against phantoms. A leaf that
    /// changed while the scan was in it is there with both versions.
    #[must_use]
    pub fn stamps(&self) -> &[NodeStamp] {
        match &self.scan {
            AnyCursor::Small(cursor) => &cursor.buffers.stamps,
            AnyCursor::Medium(cursor) => &cursor.buffers.stamps,
            AnyCursor::Large(cursor) => &cursor.buffers.stamps,
        }
    }
}

/// A cursor over nodes of `N` words.
pub(super) struct SizedCursor<'t, 'b, const N: usize> {
    tree: &'t Tree<N>,
    buffers: &'b mut ScanBuffers,
    wanted: Wanted,
    direction: Direction,
    probe_end: End,
    limit_end: End,
    rest: Option<Rest>,
    /// The leaf the batch is from.
    stamp: NodeStamp,
    /// Words of a slot of the batch.
    slot_words: usize,
    /// Entries of the batch, and how many of them were returned.
    batch_count: usize,
    position: usize,
    batch_size: usize,
    finished: bool,
    /// Whether a merge of the empty leaf at the probe was tried.
    tidied: bool,
}

impl<const N: usize> Tree<N> {
    pub(super) fn cursor<'t, 'b>(
        &'t self,
        buffers: &'b mut ScanBuffers,
        wanted: Wanted,
        range: KeyRange<'_>,
        direction: Direction,
    ) -> SizedCursor<'t, 'b, N> {
        let (probe_end, limit_end) =
            copy_ends(range, direction, &mut buffers.probe, &mut buffers.limit);
        buffers.stamps.clear();
        SizedCursor {
            tree: self,
            wanted,
            direction,
            probe_end,
            limit_end,
            buffers,
            rest: None,
            stamp: NodeStamp { node: ROOT, version: Version::from_word(0) },
            slot_words: 1,
            batch_count: 0,
            position: 0,
            batch_size: BATCH_FIRST,
            finished: false,
            tidied: false,
        }
    }
}

/// Copies the ends where a scan begins and where it leads to.
pub(super) fn copy_ends(
    range: KeyRange<'_>,
    direction: Direction,
    begin: &mut KeyBuffer,
    limit: &mut KeyBuffer,
) -> (End, End) {
    let lower = match range.lower {
        Bound::Included(key) if key.len() > MAX_KEY_BYTES => Bound::Excluded(key),
        lower => lower,
    };
    let upper = match range.upper {
        Bound::Excluded(key) if key.len() > MAX_KEY_BYTES => Bound::Included(key),
        upper => upper,
    };
    match direction {
        Direction::Ascending => (copy_end(lower, begin), copy_end(upper, limit)),
        Direction::Descending => (copy_end(upper, begin), copy_end(lower, limit)),
    }
}

/// Cutting a longer key is right after `copy_ends` turned its end: no key of the tree is as long,
/// so those above (or below) the cut key are those above (or below) the whole one.
fn copy_end(bound: Bound<&[u8]>, key: &mut KeyBuffer) -> End {
    match bound {
        Bound::Unbounded => {
            key.copy_from(&[]);
            End::Open
        }
        Bound::Included(bytes) => {
            key.copy_from(bytes);
            End::Included
        }
        Bound::Excluded(bytes) => {
            key.copy_from(bytes);
            End::Excluded
        }
    }
}

impl<'t, const N: usize> SizedCursor<'t, '_, N> {
    #[inline]
    fn next(&mut self) -> Option<ScanEntry<'_>> {
        if self.position == self.batch_count && !self.fill() {
            return None;
        }
        let (word, key) = self.slot(self.position)?;
        self.position += 1;
        let key = self.buffers.batch.as_flattened().get(key)?;
        Some(ScanEntry { key, value: value_in(word), stamp: self.stamp })
    }

    /// The entry word of the batch's entry `number` in the scan's order, and where its key is.
    #[inline(always)]
    fn slot(&self, number: usize) -> Option<(u64, Range<usize>)> {
        let number = match self.direction {
            Direction::Ascending => number,
            Direction::Descending => self.batch_count - 1 - number,
        };
        let start = number * self.slot_words;
        let word = u64::from_ne_bytes(*self.buffers.batch.get(start)?);
        let key_start = 8 * start + 8;
        // The slot may be shorter only while the leaf is changing, before the batch is thrown away.
        let length = key_length_in(word).min(8 * (self.slot_words - 1));
        Some((word, key_start..key_start + length))
    }

    /// Copies the next batch; `false` at the end of the range.
    #[cold]
    fn fill(&mut self) -> bool {
        if self.batch_count > 0 {
            if self.rest.is_some() {
                self.probe_behind_batch();
            }
            self.batch_size = (2 * self.batch_size).min(BATCH_MOST);
        }
        self.position = 0;
        let mut spin = SpinWait::new();
        loop {
            self.batch_count = 0;
            if self.finished {
                return false;
            }
            match self.try_fill() {
                Some(()) if self.batch_count == 0 => {}
                Some(()) => return true,
                None => {
                    self.rest = None;
                    spin.wait();
                }
            }
        }
    }

    /// Moves the probe to the last key of the batch.
    fn probe_behind_batch(&mut self) {
        match (self.wanted, self.slot(self.batch_count - 1)) {
            (Wanted::Entries, Some((_, key))) => {
                self.buffers.probe.copy_from(&self.buffers.batch.as_flattened()[key]);
            }
            // `try_fill` has put it there.
            _ => std::mem::swap(&mut self.buffers.probe, &mut self.buffers.next_probe),
        }
        self.probe_end = End::Excluded;
    }

    /// Copies a batch from the leaf where the scan stands, perhaps an empty one, and moves the
    /// probe. `None`: try again, the leaf changed or was merged away.
    fn try_fill(&mut self) -> Option<()> {
        let (node, version, kept) = self.locate()?;
        let view = View::new(node.words);
        let (from, to) = match kept {
            Some(rest) => (rest.from, rest.to),
            None => self.entries_in_range(&view),
        };
        let size = (to - from).min(self.batch_size);
        let rest = match self.direction {
            Direction::Ascending => (from + size, to),
            Direction::Descending => (from, to - size),
        };
        let first = match self.direction {
            Direction::Ascending => from,
            Direction::Descending => to - size,
        };
        self.copy_entries(&view, first, size);
        let more_here = rest.0 < rest.1;
        let finished = !more_here && self.copy_next_probe(&view);
        if more_here && self.wanted == Wanted::Values {
            let last = match self.direction {
                Direction::Ascending => rest.0 - 1,
                Direction::Descending => rest.1,
            };
            view.copy_key(last, &mut self.buffers.next_probe);
        }
        if !node.latch().validate(version) {
            return None;
        }
        // Where there is one writer, this may not be it.
        let tidies = !self.tidied && !self.tree.writers.is_one();
        if view.count() == 0 && node.id != ROOT && tidies {
            self.tidied = true;
            let key = match self.direction {
                Direction::Ascending => &self.buffers.probe,
                Direction::Descending => &self.buffers.next_probe, // the leaf's lower fence
            };
            self.tree.tidy(key.as_bytes(), &mut Unguarded);
            return None;
        }
        self.tidied = false;
        let stamp = NodeStamp { node: node.id, version };
        self.stamp = stamp;
        self.rest = more_here.then_some(Rest { stamp, from: rest.0, to: rest.1 });
        self.finished = finished;
        if self.buffers.stamps.last() != Some(&stamp) {
            self.buffers.stamps.push(stamp);
        }
        if !more_here {
            std::mem::swap(&mut self.buffers.probe, &mut self.buffers.next_probe);
            self.probe_end = match self.direction {
                Direction::Ascending => End::Included,
                Direction::Descending => End::BelowFence,
            };
        }
        Some(())
    }

    /// The leaf to read: the one the last batch is from, if it has more and did not change, or else
    /// where the probe leads.
    fn locate(&self) -> Option<(Node<'t, N>, Version, Option<Rest>)> {
        let tree = self.tree;
        if let Some(rest) = self.rest {
            let node = tree.arena.node(rest.stamp.node)?;
            let version = rest.stamp.version;
            return node.latch().validate(version).then_some((node, version, Some(rest)));
        }
        let probe = self.buffers.probe.as_bytes();
        let towards = match (self.probe_end, self.direction) {
            (End::Open, Direction::Descending) => Towards::End,
            (End::BelowFence, _) => Towards::Below(probe),
            _ => Towards::Key(probe),
        };
        let (node, version) = tree.descend_towards(towards)?;
        Some((node, version, None))
    }

    /// The entries of a leaf that are in the range and not behind the scan.
    fn entries_in_range(&self, view: &View<'_, N>) -> (usize, usize) {
        let probe = (self.probe_end, self.buffers.probe.as_bytes());
        let limit = (self.limit_end, self.buffers.limit.as_bytes());
        let (lower, upper) = match self.direction {
            Direction::Ascending => (probe, limit),
            Direction::Descending => (limit, probe),
        };
        let from = match lower.0 {
            End::Open => 0,
            End::Included | End::BelowFence => view.find(lower.1).index(),
            End::Excluded => behind(view.find(lower.1)),
        };
        let to = match upper.0 {
            End::Open => view.count(),
            End::Included => behind(view.find(upper.1)),
            End::Excluded | End::BelowFence => view.find(upper.1).index(),
        };
        (from, to.max(from))
    }

    /// Makes `count` entries from `first` on the batch.
    fn copy_entries(&mut self, view: &View<'_, N>, first: usize, count: usize) {
        self.slot_words = match self.wanted {
            Wanted::Entries => 1 + view.reach().div_ceil(8),
            Wanted::Values => 1,
        };
        let words = count * self.slot_words;
        if self.buffers.batch.len() < words {
            self.buffers.batch.resize(words, [0; 8]);
        }
        self.batch_count = count;
        if count > 0 {
            view.copy_entries(first, &mut self.buffers.batch[..words], self.slot_words);
        }
    }

    /// Notes where to go on behind this leaf; whether the range ends in it.
    fn copy_next_probe(&mut self, view: &View<'_, N>) -> bool {
        let ScanBuffers { next_probe, limit, .. } = &mut *self.buffers;
        let bounded = match self.direction {
            Direction::Ascending => view.copy_upper_fence(next_probe),
            Direction::Descending => {
                view.copy_lower_fence(next_probe);
                !next_probe.as_bytes().is_empty()
            }
        };
        let (fence, limit) = (next_probe.as_bytes(), limit.as_bytes());
        if !bounded || self.limit_end == End::Open {
            return !bounded;
        }
        match (compare_padded(limit, fence), self.direction) {
            (Ordering::Less, Direction::Ascending) => true,
            // A limit longer than the fence it equals in padding may have the fence's key below it.
            (Ordering::Equal, Direction::Ascending) => {
                self.limit_end == End::Excluded && limit.len() <= fence.len()
            }
            (Ordering::Greater, Direction::Ascending) => false,
            (ordering, Direction::Descending) => ordering.is_ge(),
        }
    }
}

/// The first entry behind a key.
fn behind(found: Found) -> usize {
    match found {
        Found::Entry(index) => index + 1,
        Found::Gap(index) | Found::Stray(index) | Found::Padded(index) => index,
    }
}
