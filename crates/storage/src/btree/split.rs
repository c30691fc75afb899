//! Making room: a new layout, or a split.
//!
//! Role         called by an insert whose leaf does not take its key; afterwards the insert starts
//!              again from the root
//! Invariants   I1  one call changes one node and its parent; a parent without room is split first,
//!                  by itself. So at most four latches are held at once: node, parent, new nodes
//!              I2  no one waits for a latch while holding one (only `try_upgrade`), so there is no
//!                  deadlock; a failed upgrade sends the insert back to the root
//!              I3  leaves are separated by a key that is in the right one. So no split moves part
//!                  of a gap to another name: what was behind the left leaf's last key is still
//!                  behind it, and what the fence stands for begins with that key. Separators made
//!                  shorter, or of the key on its way, would cut gaps that somebody has locked
//! Source       splitting at the insert position of an ascending run: the usual right-most split,
//!              here for each run of a composite key (orders of one district)

use crate::budget::OutOfMemoryBudget;

use super::arena::{Held, Node};
use super::build::{
    Extent, Piece, Room, Scratch, build, ensure_room, extent_of, insert_entry, layout_for, shape,
};
use super::descend::Target;
use super::find::Found;
use super::key::{KeyBuffer, SearchKey};
use super::layout::{Layout, View, entry_word};
use super::stamp::{NodeStamp, StampChange};
use super::tree::Tree;

/// Inserts in ascending order after which a split is made where the run stands. A random order
/// makes a streak of 8 once in millions of inserts.
const ASCENDING_STREAK: u64 = 8;

enum Attempt {
    /// The tree changed, or someone else was faster: start again from the root.
    Again,
    /// The parent must be split first, to take the separator.
    ParentFull,
}

impl<const N: usize> Tree<N> {
    /// Changes the tree so that an insert of `key` gets further than before.
    #[cold]
    pub(super) fn make_room(
        &self,
        key: &[u8],
        observe: &mut impl FnMut(StampChange),
    ) -> Result<(), OutOfMemoryBudget> {
        let mut incoming = KeyBuffer::new();
        incoming.copy_from(key);
        let mut divider = KeyBuffer::new();
        let mut level = 0;
        loop {
            let path = (key, level);
            match self.try_make_room(path, incoming.as_bytes(), &mut divider, observe)? {
                Attempt::Again => return Ok(()),
                Attempt::ParentFull => {
                    std::mem::swap(&mut incoming, &mut divider);
                    level += 1;
                }
            }
        }
    }

    fn try_make_room(
        &self,
        (key, level): (&[u8], usize),
        incoming: &[u8],
        divider: &mut KeyBuffer,
        observe: &mut impl FnMut(StampChange),
    ) -> Result<Attempt, OutOfMemoryBudget> {
        let Some(Target { node, version, parent }) = self.descend_to(key, level) else {
            return Ok(Attempt::Again);
        };
        let Some(held) = Held::upgrade(node, version, &self.writers) else {
            return Ok(Attempt::Again);
        };
        if level == 0
            && matches!(View::new(node.words).find(incoming), Found::Entry(_) | Found::Padded(_))
        {
            return Ok(Attempt::Again); // another thread inserted the same key meanwhile
        }
        let before = NodeStamp { node: node.id, version };
        match ensure_room(node.words, incoming) {
            Room::Had => return Ok(Attempt::Again),
            Room::Made => {
                let after = NodeStamp { node: node.id, version: held.publish() };
                if level == 0 {
                    observe(StampChange { before, after, created: None });
                }
                return Ok(Attempt::Again);
            }
            Room::Lacking => {}
        }
        let scratch = Scratch::copy_of(node.words);
        let (mut lower, mut upper) = (KeyBuffer::new(), KeyBuffer::new());
        let view = scratch.view();
        let extent = extent_of(&view, &mut lower, &mut upper);
        let split = choose(view, extent, incoming, divider);
        let Some((parent, parent_version)) = parent else {
            let change = self.split_root(held, &split, divider.as_bytes())?;
            if level == 0 {
                observe(StampChange { before, ..change });
            }
            return Ok(Attempt::Again);
        };
        let Some(held_parent) = Held::upgrade(parent, parent_version, &self.writers) else {
            return Ok(Attempt::Again);
        };
        let room = ensure_room(parent.words, divider.as_bytes());
        if room == Room::Lacking {
            return Ok(Attempt::ParentFull);
        }
        let right = match self.arena.allocate() {
            Ok(right) => right,
            Err(error) => {
                if room == Room::Made {
                    held_parent.publish();
                }
                return Err(error);
            }
        };
        split.build_halves(node, right.node(), divider.as_bytes());
        add_child(parent, divider.as_bytes(), right.node());
        let created = NodeStamp { node: right.node().id, version: right.publish() };
        let after = NodeStamp { node: node.id, version: held.publish() };
        held_parent.publish();
        if level == 0 {
            observe(StampChange { before, after, created: Some(created) });
        }
        Ok(Attempt::Again)
    }

    /// The root keeps its number: both halves move to new nodes. The change's `before` is left to
    /// the caller.
    fn split_root(
        &self,
        root: Held<'_, N>,
        split: &Split<'_, N>,
        divider: &[u8],
    ) -> Result<StampChange, OutOfMemoryBudget> {
        let left = self.arena.allocate()?;
        let right = match self.arena.allocate() {
            Ok(right) => right,
            Err(error) => {
                self.arena.retire(left);
                return Err(error);
            }
        };
        split.build_halves(left.node(), right.node(), divider);
        let words = root.node().words;
        let level = split.view.header.level() + 1;
        let extent = Extent { lower: &[], upper: None };
        let layout = layout_for::<N>(extent, shape::<N>(&[], Some(divider), level))
            .expect("one separator fits any node");
        build(words, level, extent, &[], layout, Some(divider));
        insert_entry(&View::new(words), 0, &[], entry_word(u64::from(left.node().id.0), 0));
        add_child(root.node(), divider, right.node());
        let created = NodeStamp { node: right.node().id, version: right.publish() };
        let after = NodeStamp { node: left.node().id, version: left.publish() };
        root.publish();
        Ok(StampChange { before: after, after, created: Some(created) })
    }
}

/// Adds a child to an inner node that accepts `divider`.
pub(super) fn add_child<const N: usize>(parent: Node<'_, N>, divider: &[u8], child: Node<'_, N>) {
    let view = View::new(parent.words);
    let index = view.child_covering(divider) + 1;
    insert_entry(&view, index, divider, entry_word(u64::from(child.id.0), divider.len()));
}

/// A node about to become two: entries below `at` to the left one, the others to the right one.
struct Split<'n, const N: usize> {
    /// A private copy of the node.
    view: View<'n, N>,
    extent: Extent<'n>,
    at: usize,
    left: Layout,
    right: Layout,
    /// The key that is on its way, if the layouts reckon with it.
    incoming: Option<&'n [u8]>,
}

impl<const N: usize> Split<'_, N> {
    fn build_halves(&self, left: Node<'_, N>, right: Node<'_, N>, divider: &[u8]) {
        let level = self.view.header.level();
        let ([left_piece], left_extent) = left_half(self.view, self.extent, self.at, divider);
        let ([right_piece], right_extent) = right_half(self.view, self.extent, self.at, divider);
        let also = self.incoming;
        build(left.words, level, left_extent, &[left_piece], self.left, also);
        build(right.words, level, right_extent, &[right_piece], self.right, also);
    }
}

type Half<'n, const N: usize> = ([Piece<'n, N>; 1], Extent<'n>);

fn left_half<'n, const N: usize>(
    view: View<'n, N>,
    extent: Extent<'n>,
    at: usize,
    divider: &'n [u8],
) -> Half<'n, N> {
    ([Piece { view, range: 0..at }], Extent { lower: extent.lower, upper: Some(divider) })
}

fn right_half<'n, const N: usize>(
    view: View<'n, N>,
    extent: Extent<'n>,
    at: usize,
    divider: &'n [u8],
) -> Half<'n, N> {
    let range = at..view.count();
    ([Piece { view, range }], Extent { lower: divider, upper: extent.upper })
}

/// Chooses where to split for `incoming` and writes the separator of the two halves: the first key
/// of the right one (I3).
fn choose<'n, const N: usize>(
    view: View<'n, N>,
    extent: Extent<'n>,
    incoming: &'n [u8],
    divider: &mut KeyBuffer,
) -> Split<'n, N> {
    let count = view.count();
    let inner = !view.is_leaf();
    let position =
        if inner { view.child_covering(incoming) + 1 } else { view.find(incoming).index() };
    let (least, most) = (1, count - 1);
    let stray = view.compare_prefix(SearchKey::new(incoming)).is_ne();
    if stray || is_ascending(&view, position) {
        // A few places back, because a longer fence may take the room of an entry.
        let nearest = position.clamp(least, most);
        for at in (nearest.saturating_sub(4).max(least)..=nearest).rev() {
            view.copy_key(at, divider);
            let incoming = Some((position, incoming));
            if let Some(split) = split_at(view, extent, at, divider.as_bytes(), incoming) {
                return split;
            }
        }
    }
    let at = (count / 2).clamp(least, most);
    view.copy_key(at, divider);
    split_at(view, extent, at, divider.as_bytes(), None).expect("half a node fits a node")
}

fn is_ascending<const N: usize>(view: &View<'_, N>, position: usize) -> bool {
    let fences = view.fences();
    fences.streak() >= ASCENDING_STREAK && position.wrapping_sub(fences.last_insert()) <= 2
}

/// The split at `at` if both halves fit nodes, with room for `incoming` where it is given.
fn split_at<'n, const N: usize>(
    view: View<'n, N>,
    extent: Extent<'n>,
    at: usize,
    divider: &[u8],
    incoming: Option<(usize, &'n [u8])>,
) -> Option<Split<'n, N>> {
    let level = view.header.level();
    let layout = |(pieces, extent): Half<'_, N>, also: Option<(usize, &[u8])>| {
        layout_for::<N>(extent, shape(&pieces, also.map(|(_, key)| key), level))
    };
    // Right at the split it is below the separator, or it would be the separator.
    let to_left = |&(position, _): &(usize, &[u8])| position <= at;
    let left = layout(left_half(view, extent, at, divider), incoming.filter(to_left))?;
    let to_right = |also: &(usize, &[u8])| !to_left(also);
    let right = layout(right_half(view, extent, at, divider), incoming.filter(to_right))?;
    Some(Split { view, extent, at, left, right, incoming: incoming.map(|(_, key)| key) })
}
