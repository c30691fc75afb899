//! Writing nodes: one entry in or out, or a whole node from the entries of others.
//!
//! Role         called by a thread that holds the node's latch, or works on a node nobody reaches
//! Invariants   I1  a node's keys share its prefix and have no byte behind its reach (prefix bytes
//!                  and stride); the prefix is the *shortest* that lets the stride be least. So
//!                  keys of one length need no shifting, and a node of u64 keys has no prefix
//!              I2  the prefix follows from the keys, not from the fences alone: in the right-most
//!                  leaf of ascending keys the upper fence is open, and a prefix from the fences
//!                  would be empty there, just where memory is spent. The price is that an insert
//!                  may have to lay the node out anew

use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering::Relaxed};
use std::ops::Range;

use super::key::{KeyBuffer, word_at};
use super::layout::{FENCES, Fences, HEADER, HEADS, Header, Layout, PREFIX, View};

/// The keys a node is responsible for: from `lower` on and below `upper`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent<'k> {
    pub(super) lower: &'k [u8],
    /// `None`: no end.
    pub(super) upper: Option<&'k [u8]>,
}

/// Entries of an existing node that go into a new one.
#[derive(Clone)]
pub(super) struct Piece<'n, const N: usize> {
    pub(super) view: View<'n, N>,
    pub(super) range: Range<usize>,
}

/// A private copy of a node, from which its successors are built.
pub(super) struct Scratch<const N: usize> {
    words: [AtomicU64; N],
}

impl<const N: usize> Scratch<N> {
    pub(super) fn copy_of(node: &[AtomicU64; N]) -> Self {
        Self { words: node.each_ref().map(|word| AtomicU64::new(word.load(Relaxed))) }
    }

    pub(super) fn view(&self) -> View<'_, N> {
        View::new(&self.words)
    }
}

/// What decides the layout of a node-to-be: its keys' number, common bytes and greatest length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) count: usize,
    is_leaf: bool,
    common: usize,
    longest: usize,
    mixed: bool,
}

/// The shape of `pieces` in order, and of one more key where `also` gives one.
pub(super) fn shape<const N: usize>(
    pieces: &[Piece<'_, N>],
    also: Option<&[u8]>,
    level: usize,
) -> Shape {
    let count: usize = pieces.iter().map(|piece| piece.range.len()).sum();
    let count = count + usize::from(also.is_some());
    let mut lengths = Lengths::default();
    let mut ends: Option<[(View<'_, N>, usize); 2]> = None;
    // The first separator of an inner node is its lower fence, and not stored.
    let mut skipped = usize::from(level > 0);
    for Piece { view, range } in pieces.iter().filter(|piece| !piece.range.is_empty()) {
        let kept = range.start + std::mem::take(&mut skipped)..range.end;
        if !kept.is_empty() {
            lengths.add_entries(view, kept.clone());
            let first = ends.map_or((*view, kept.start), |ends| ends[0]);
            ends = Some([first, (*view, kept.end - 1)]);
        }
    }
    if let Some(also) = also {
        lengths.add(also.len());
    }
    let common = match ends {
        None => also.map_or(0, <[u8]>::len),
        Some([first, last]) => {
            let key = KeyWords::of(&first.0, first.1);
            let common = key.common_bytes(&KeyWords::of(&last.0, last.1));
            also.map_or(common, |also| common.min(key.common_bytes(&KeyWords::Bytes(also))))
        }
    };
    Shape { count, is_leaf: level == 0, common, longest: lengths.longest, mixed: lengths.mixed }
}

#[derive(Default)]
struct Lengths {
    longest: usize,
    mixed: bool,
    /// Whether there is any key.
    any: bool,
}

impl Lengths {
    fn add(&mut self, length: usize) {
        self.mixed |= self.any && length != self.longest;
        self.longest = self.longest.max(length);
        self.any = true;
    }

    fn add_entries<const N: usize>(&mut self, view: &View<'_, N>, range: Range<usize>) {
        if view.is_leaf() && !view.header.is_mixed() {
            return self.add(view.header.longest());
        }
        for index in range {
            let fence = index == 0 && !view.is_leaf();
            let length = if fence { view.fences().lower_bytes() } else { view.key_length(index) };
            self.add(length);
        }
    }
}

/// A key wherever it is.
#[expect(clippy::large_enum_variant, reason = "it lives on the stack, for one comparison")]
enum KeyWords<'k, 'n, const N: usize> {
    Bytes(&'k [u8]),
    Entry(View<'n, N>, usize),
    /// The separator of an inner node's first child.
    Fence(KeyBuffer),
}

impl<'n, const N: usize> KeyWords<'_, 'n, N> {
    fn of(view: &View<'n, N>, index: usize) -> Self {
        if index > 0 || view.is_leaf() {
            return Self::Entry(*view, index);
        }
        let mut fence = KeyBuffer::new();
        view.copy_lower_fence(&mut fence);
        Self::Fence(fence)
    }

    fn length(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Entry(view, index) => view.key_length(*index),
            Self::Fence(fence) => fence.as_bytes().len(),
        }
    }

    fn word(&self, offset: usize) -> u64 {
        match self {
            Self::Bytes(bytes) => word_at(bytes, offset),
            Self::Entry(view, index) => view.key_word(*index, offset),
            Self::Fence(fence) => word_at(fence.as_bytes(), offset),
        }
    }

    /// How many leading bytes both keys share.
    fn common_bytes(&self, other: &KeyWords<'_, '_, N>) -> usize {
        let most = self.length().min(other.length());
        (0..most)
            .step_by(8)
            .map(|offset| (offset, self.word(offset) ^ other.word(offset)))
            .find(|&(_, difference)| difference != 0)
            .map_or(most, |(offset, word)| most.min(offset + word.leading_zeros() as usize / 8))
    }
}

/// The layout for `shape` between the fences of `extent`; `None` when it does not fit.
pub(super) fn layout_for<const N: usize>(extent: Extent<'_>, shape: Shape) -> Option<Layout> {
    layout_between::<N>((extent.lower.len(), extent.upper.map_or(0, <[u8]>::len)), shape)
}

fn layout_between<const N: usize>(fence_bytes: (usize, usize), shape: Shape) -> Option<Layout> {
    let stride = (shape.longest - shape.common).div_ceil(8).max(1);
    let shortest = shape.longest.saturating_sub(8 * stride);
    let prefix_bytes = if stride == 1 || shape.is_leaf && !shape.mixed {
        shortest
    } else {
        shape.common.min(8).max(shortest)
    };
    let fence_words = fence_bytes.0.div_ceil(8) + fence_bytes.1.div_ceil(8);
    let prefix_rest = prefix_bytes.div_ceil(8).saturating_sub(1);
    let free = N.checked_sub(HEADS + prefix_rest + fence_words)?;
    let capacity = free / (stride + 1);
    (shape.count <= capacity).then_some(Layout {
        stride,
        prefix_bytes,
        capacity,
        longest: shape.longest,
        mixed: shape.mixed,
    })
}

/// Writes a whole node of `pieces` (whose words are not `words`), laid out as `layout`. `also` is
/// a key that will be inserted next; it is asked for only where the pieces hold none.
pub(super) fn build<const N: usize>(
    words: &[AtomicU64; N],
    level: usize,
    extent: Extent<'_>,
    pieces: &[Piece<'_, N>],
    layout: Layout,
    also: Option<&[u8]>,
) {
    let header = Header::new(level, layout, 0);
    let target = View { words, header };
    write_prefix(&target, pieces, level, also);
    let mut position = 0;
    for piece in pieces {
        if piece.range.is_empty() {
            continue;
        }
        let mut rest = piece.range.clone();
        if level > 0 && rest.start == 0 {
            // The first separator is not in the piece: it is the piece's lower fence.
            let mut key = KeyBuffer::new();
            piece.view.copy_key(0, &mut key);
            let child = piece.view.value_word(0) & u64::from(u32::MAX);
            let word = super::layout::entry_word(child, key.as_bytes().len());
            write_entry(&target, position, key.as_bytes(), word);
            rest.start = 1;
            position += 1;
        }
        let length = rest.len();
        copy_entries(&target, position, &Piece { view: piece.view, range: rest });
        position += length;
    }
    if level > 0 && position > 0 {
        write_entry(&target, 0, &[], target.value_word(0));
    }
    write_fences(words, extent);
    words[HEADER].store(Header::new(level, layout, position).0, Relaxed);
}

fn write_prefix<const N: usize>(
    target: &View<'_, N>,
    pieces: &[Piece<'_, N>],
    level: usize,
    also: Option<&[u8]>,
) {
    let (bytes, rest_start) = (target.header.prefix_bytes(), target.header.prefix_rest_start());
    if bytes == 0 {
        return;
    }
    let skipped = usize::from(level > 0);
    let mut entries =
        pieces.iter().flat_map(|piece| piece.range.clone().map(|at| (piece.view, at)));
    // By way of `KeyWords`: the key may be the separator of a piece's first child, which is not
    // stored there (the first piece had one child and the second follows whole).
    let source = entries.nth(skipped).map(|(view, index)| KeyWords::of(&view, index));
    for offset in (0..bytes).step_by(8) {
        let kept_bits = 8 * (bytes - offset).min(8) as u32;
        let word = match &source {
            Some(key) => key.word(offset),
            None => word_at(also.unwrap_or_default(), offset),
        };
        let place = if offset == 0 { PREFIX } else { rest_start + offset / 8 - 1 };
        target.words[place].store(word & (u64::MAX << (64 - kept_bits)), Relaxed);
    }
}

fn copy_entries<const N: usize>(target: &View<'_, N>, position: usize, piece: &Piece<'_, N>) {
    let (from, to) = (piece.view.header, target.header);
    if from.stride() != to.stride() || from.prefix_bytes() != to.prefix_bytes() {
        for (offset, index) in piece.range.clone().enumerate() {
            recode_entry(target, position + offset, &piece.view, index);
        }
        return;
    }
    let (tail_words, count) = (to.stride() - 1, piece.range.len());
    let copy = |from_start: usize, to_start: usize, length: usize| {
        let from = &piece.view.words[from_start..from_start + length];
        for (to, from) in target.words[to_start..to_start + length].iter().zip(from) {
            to.store(from.load(Relaxed), Relaxed);
        }
    };
    let start = piece.range.start;
    copy(HEADS + start, HEADS + position, count);
    copy(from.values_start() + start, to.values_start() + position, count);
    let (from_tails, to_tails) = (from.tails_start(), to.tails_start());
    copy(from_tails + start * tail_words, to_tails + position * tail_words, count * tail_words);
}

fn recode_entry<const N: usize>(
    target: &View<'_, N>,
    position: usize,
    source: &View<'_, N>,
    index: usize,
) {
    let header = target.header;
    let (prefix, tail_words) = (header.prefix_bytes(), header.stride() - 1);
    let head = source.key_word(index, prefix);
    target.words[HEADS + position].store(head, Relaxed);
    target.words[header.values_start() + position].store(source.value_word(index), Relaxed);
    let tails = header.tails_start() + position * tail_words;
    for (number, word) in target.words[tails..tails + tail_words].iter().enumerate() {
        word.store(source.key_word(index, prefix + 8 * (number + 1)), Relaxed);
    }
}

fn write_entry<const N: usize>(target: &View<'_, N>, position: usize, key: &[u8], value_word: u64) {
    let header = target.header;
    let (prefix, tail_words) = (header.prefix_bytes(), header.stride() - 1);
    target.words[HEADS + position].store(word_at(key, prefix), Relaxed);
    target.words[header.values_start() + position].store(value_word, Relaxed);
    let tails = header.tails_start() + position * tail_words;
    for (number, word) in target.words[tails..tails + tail_words].iter().enumerate() {
        word.store(word_at(key, prefix + 8 * (number + 1)), Relaxed);
    }
}

fn write_fences<const N: usize>(words: &[AtomicU64; N], extent: Extent<'_>) {
    let mut end = words.len();
    for fence in [extent.lower, extent.upper.unwrap_or_default()] {
        end -= fence.len().div_ceil(8);
        for offset in (0..fence.len()).step_by(8) {
            words[end + offset / 8].store(word_at(fence, offset), Relaxed);
        }
    }
    let fences = Fences::new(extent.lower.len(), extent.upper.map(<[u8]>::len));
    words[FENCES].store(fences.0, Relaxed);
}

/// Puts an entry at `index` of a node that accepts its key.
#[inline(always)]
pub(super) fn insert_entry<const N: usize>(
    view: &View<'_, N>,
    index: usize,
    key: &[u8],
    value_word: u64,
) {
    let (words, header) = (view.words, view.header);
    let prefix = header.prefix_bytes();
    let (count, tail_words) = (header.count(), header.stride() - 1);
    debug_assert!(index <= count && count < header.capacity(), "room was made before");
    let (heads, values) = (HEADS, header.values_start());
    let head = word_at(key, prefix);
    if index == count {
        // The masks change no index (N is a power of two); they spare the checks.
        words[(heads + index) & (N - 1)].store(head, Relaxed);
        words[(values + index) & (N - 1)].store(value_word, Relaxed);
    } else {
        shift_in(&words[heads + index..=heads + count], head);
        shift_in(&words[values + index..=values + count], value_word);
    }
    if tail_words > 0 {
        insert_tail(view, index, key);
    }
    let fences = Fences(words[FENCES].load(Relaxed)).with_insert_at(index);
    words[FENCES].store(fences.0, Relaxed);
    words[HEADER].store(header.with_inserted(key.len()).0, Relaxed);
}

fn insert_tail<const N: usize>(view: &View<'_, N>, index: usize, key: &[u8]) {
    let header = view.header;
    let (prefix, tail_words) = (header.prefix_bytes(), header.stride() - 1);
    let start = header.tails_start() + index * tail_words;
    let end = header.tails_start() + (header.count() + 1) * tail_words;
    let block = &view.words[start..end];
    for at in (tail_words..block.len()).rev() {
        block[at].store(block[at - tail_words].load(Relaxed), Relaxed);
    }
    for (number, word) in block[..tail_words].iter().enumerate() {
        word.store(word_at(key, prefix + 8 * (number + 1)), Relaxed);
    }
}

/// Takes the entry at `index` out.
pub(super) fn remove_entry<const N: usize>(view: &View<'_, N>, index: usize) {
    let (words, header) = (view.words, view.header);
    let (count, tail_words) = (header.count(), header.stride() - 1);
    debug_assert!(index < count, "only entries are removed");
    for start in [HEADS, header.values_start()] {
        shift_out(&words[start + index..start + count], 1);
    }
    let start = header.tails_start();
    if tail_words > 0 {
        shift_out(&words[start + index * tail_words..start + count * tail_words], tail_words);
    }
    words[HEADER].store(header.0 - 1, Relaxed);
}

/// Moves every word one place on, the last one out, and puts `first` first.
#[inline(always)]
fn shift_in(region: &[AtomicU64], first: u64) {
    let mut carried = first;
    let (fours, rest) = region.as_chunks::<4>();
    for four in fours {
        let loaded = four.each_ref().map(|word| word.load(Relaxed));
        four[0].store(carried, Relaxed);
        four[1].store(loaded[0], Relaxed);
        four[2].store(loaded[1], Relaxed);
        four[3].store(loaded[2], Relaxed);
        carried = loaded[3];
    }
    for word in rest {
        let loaded = word.load(Relaxed);
        word.store(carried, Relaxed);
        carried = loaded;
    }
}

/// Moves every word `distance` places back; the first ones are lost.
#[inline]
fn shift_out(region: &[AtomicU64], distance: usize) {
    for (to, from) in region.iter().zip(&region[distance..]) {
        to.store(from.load(Relaxed), Relaxed);
    }
}

/// How a node took a key it was asked to make room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// It accepts the key as it is.
    Had,
    /// It was laid out anew and accepts the key now.
    Made,
    /// It has to be split.
    Lacking,
}

/// Makes the node accept `key` if a new layout is enough. The caller holds the latch.
pub(super) fn ensure_room<const N: usize>(words: &[AtomicU64; N], key: &[u8]) -> Room {
    let view = View::new(words);
    if view.accepts(key) {
        return Room::Had;
    }
    let level = view.header.level();
    let everything = [Piece { view, range: 0..view.count() }];
    let shape = shape(&everything, Some(key), level);
    let fences = view.fences();
    let fence_bytes = (fences.lower_bytes(), fences.upper_bytes().unwrap_or(0));
    let Some(layout) = layout_between::<N>(fence_bytes, shape) else { return Room::Lacking };
    let (mut lower, mut upper) = (KeyBuffer::new(), KeyBuffer::new());
    let extent = extent_of(&view, &mut lower, &mut upper);
    let scratch = Scratch::copy_of(words);
    let everything = [Piece { view: scratch.view(), range: 0..view.count() }];
    build(words, level, extent, &everything, layout, Some(key));
    words[FENCES].store(fences.0, Relaxed);
    Room::Made
}

/// The node's extent, its fences copied into the two buffers.
pub(super) fn extent_of<'k, const N: usize>(
    view: &View<'_, N>,
    lower: &'k mut KeyBuffer,
    upper: &'k mut KeyBuffer,
) -> Extent<'k> {
    view.copy_lower_fence(lower);
    let bounded = view.copy_upper_fence(upper);
    Extent { lower: lower.as_bytes(), upper: bounded.then_some(upper.as_bytes()) }
}
