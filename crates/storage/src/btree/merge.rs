//! Merging: a leaf emptied by removals leaves the tree, and its node is used again.
//!
//! Role         called after a removal left a leaf small, and by a cursor that meets an empty leaf.
//!              A queue that is filled at one end and emptied at the other (TPC-C's new_order)
//!              would otherwise grow a tail of empty leaves that every scan walks over
//! Invariants   I1  two neighbours under one parent become one: the left node takes all entries and
//!                  both extents, the right one is retired. Fences stay exact
//!              I2  no one waits for a latch while holding one
//!              I3  leaves are merged only if their fence is an entry and goes on dividing the gaps
//!                  on both sides, or the guard allows it (`gaps`)
//! Concurrency  a failed latch sends the attempt back; after `ATTEMPTS` of them the leaf stays as
//!              it is, and the next cursor that meets it tries again

use hotrow_base::sync::facade::atomic::Ordering::Relaxed;

use hotrow_base::sync::SpinWait;

use super::arena::{Held, Node, ROOT};
use super::build::{
    Extent, Piece, Room, Scratch, build, ensure_room, extent_of, layout_for, remove_entry, shape,
};
use super::descend::Target;
use super::find::Found;
use super::gaps::GapGuard;
use super::key::KeyBuffer;
use super::layout::{HEADER, Header, View};
use super::split::add_child;
use super::tree::Tree;

/// How often a merge is tried anew when other threads are in the way.
const ATTEMPTS: usize = 32;

enum Outcome {
    /// Other threads were in the way.
    Contended,
    /// Two nodes were merged or balanced; the parent is small now, or not.
    Changed { parent_small: bool },
    /// The node has no neighbour under its parent: the parent must be merged first.
    Alone,
    /// Nothing to do, or nothing that fits.
    Nothing,
}

/// Whether a node is small enough to be merged. By halves of halves: after a merge both merging
/// again and splitting again are far away.
pub(super) fn is_small<const N: usize>(view: &View<'_, N>) -> bool {
    view.count() <= (view.header.capacity() / 4).max(usize::from(!view.is_leaf()))
}

impl<const N: usize> Tree<N> {
    /// Merges the leaf that covers `key`, and what becomes small above it, if it is small.
    #[cold]
    pub(super) fn tidy<G: GapGuard>(&self, key: &[u8], guard: &mut G) {
        let mut level = 0;
        let mut spin = SpinWait::new();
        for _ in 0..ATTEMPTS {
            match self.try_merge(key, level, guard) {
                Outcome::Contended => spin.wait(),
                Outcome::Alone | Outcome::Changed { parent_small: true } => level += 1,
                Outcome::Changed { parent_small: false } | Outcome::Nothing if level > 0 => {
                    // A small parent may have kept the leaf from merging: once more from below.
                    if matches!(self.try_merge(key, 0, guard), Outcome::Nothing | Outcome::Alone) {
                        return;
                    }
                    level = 0;
                }
                Outcome::Changed { .. } | Outcome::Nothing => return,
            }
        }
    }

    fn try_merge<G: GapGuard>(&self, key: &[u8], level: usize, guard: &mut G) -> Outcome {
        let Some(Target { node, version, parent }) = self.descend_to(key, level) else {
            return if self.height() <= level { Outcome::Nothing } else { Outcome::Contended };
        };
        let Some((parent, parent_version)) = parent else { return self.lower_root() };
        if !is_small(&View::new(node.words)) {
            return Outcome::Nothing;
        }
        let Some(held_parent) = Held::upgrade(parent, parent_version, &self.writers) else {
            return Outcome::Contended;
        };
        let Some(held) = Held::upgrade(node, version, &self.writers) else {
            return Outcome::Contended;
        };
        let view = View::new(parent.words);
        if view.count() < 2 {
            return Outcome::Alone;
        }
        let index = view.child_covering(key);
        let (left_index, sibling_index) =
            if index + 1 < view.count() { (index, index + 1) } else { (index - 1, index - 1) };
        let Some(sibling) = self.arena.node(view.child(sibling_index)) else {
            unreachable!("a latched parent's children exist")
        };
        let Some(sibling) = Held::try_lock(sibling) else { return Outcome::Contended };
        let pair = if left_index == index { (held, sibling) } else { (sibling, held) };
        self.unite(held_parent, left_index, pair, guard)
    }

    /// Makes one node of the children at `left_index` and behind it, or balances them.
    fn unite<G: GapGuard>(
        &self,
        parent: Held<'_, N>,
        left_index: usize,
        (left, right): (Held<'_, N>, Held<'_, N>),
        guard: &mut G,
    ) -> Outcome {
        let (left_copy, right_copy) =
            (Scratch::copy_of(left.node().words), Scratch::copy_of(right.node().words));
        let (left_view, right_view) = (left_copy.view(), right_copy.view());
        let [mut lower, mut upper, mut unused, mut middle] = [const { KeyBuffer::new() }; 4];
        let lower = extent_of(&left_view, &mut lower, &mut unused).lower;
        let Extent { lower: divider, upper } = extent_of(&right_view, &mut middle, &mut upper);
        let extent = Extent { lower, upper };
        let pieces = [left_view, right_view].map(|view| Piece { view, range: 0..view.count() });
        let (node, level) = (left.node(), left_view.header.level());
        let needed = left_view.count().min(right_view.count()) <= usize::from(level > 0);
        let shape = shape(&pieces, None, level);
        match layout_for::<N>(extent, shape) {
            Some(layout) if needed || shape.count <= layout.capacity * 3 / 4 => {
                if level == 0 && !self.may_lose(divider, &left_view, &right_view, guard) {
                    return Outcome::Nothing;
                }
                build(node.words, level, extent, &pieces, layout, None);
                remove_entry(&View::new(parent.node().words), left_index + 1);
                self.retire(right);
            }
            None if needed && level > 0 => {
                let neighbours = Neighbours { left: node, right: right.node(), pieces, extent };
                if !neighbours.balance(parent.node(), left_index, divider) {
                    return Outcome::Nothing;
                }
                right.publish();
            }
            _ => return Outcome::Nothing,
        }
        left.publish();
        let parent_small = is_small(&View::new(parent.node().words));
        parent.publish();
        Outcome::Changed { parent_small }
    }

    /// Whether the fence between two leaves may go.
    fn may_lose<G: GapGuard>(
        &self,
        fence: &[u8],
        left: &View<'_, N>,
        right: &View<'_, N>,
        guard: &mut G,
    ) -> bool {
        if matches!(right.find(fence), Found::Entry(_)) {
            return true;
        }
        if !G::ASKS {
            return !self.gaps_are_guarded();
        }
        let mut prior = KeyBuffer::new();
        left.copy_prior(left.count(), &mut prior);
        guard.may_unite(prior.as_bytes(), fence)
    }

    /// Takes a node that is no longer reachable out of use. A hint may lead to it still, and where
    /// one thread owns the tree no version tells.
    fn retire(&self, held: Held<'_, N>) {
        held.node().words[HEADER].store(Header::retired().0, Relaxed);
        self.arena.retire(held);
    }

    /// Moves the entries of a root's only child into the root.
    fn lower_root(&self) -> Outcome {
        let Some(root) = Held::try_lock(self.arena.root()) else {
            return Outcome::Contended;
        };
        let view = View::new(root.node().words);
        if view.is_leaf() || view.count() != 1 {
            return Outcome::Nothing;
        }
        let Some(child) = self.arena.node(view.child(0)) else {
            unreachable!("a latched node's children exist")
        };
        let Some(child) = Held::try_lock(child) else { return Outcome::Contended };
        for (to, from) in root.node().words.iter().zip(child.node().words).skip(1) {
            to.store(from.load(Relaxed), Relaxed); // under both latches
        }
        self.retire(child);
        root.publish();
        Outcome::Changed { parent_small: false }
    }
}

/// Two inner nodes under one parent whose children do not fit into one.
struct Neighbours<'n, const N: usize> {
    left: Node<'n, N>,
    right: Node<'n, N>,
    pieces: [Piece<'n, N>; 2],
    extent: Extent<'n>,
}

impl<const N: usize> Neighbours<'_, N> {
    /// Divides the children evenly. `false`, and nothing changed, when the new separator does not
    /// fit the parent.
    fn balance(&self, parent: Node<'_, N>, left_index: usize, old_divider: &[u8]) -> bool {
        let [first, second] = &self.pieces;
        let (first_count, second_count) = (first.range.len(), second.range.len());
        let at = (first_count + second_count) / 2;
        let mut divider = KeyBuffer::new();
        let (left, right) = if at < first_count {
            first.view.copy_key(at, &mut divider);
            let right = [Piece { range: at..first_count, ..first.clone() }, second.clone()];
            (
                [Piece { range: 0..at, ..first.clone() }, Piece { range: 0..0, ..first.clone() }],
                right,
            )
        } else {
            second.view.copy_key(at - first_count, &mut divider);
            let moved = Piece { range: 0..at - first_count, ..second.clone() };
            let kept = Piece { range: at - first_count..second_count, ..second.clone() };
            ([first.clone(), moved], [Piece { range: 0..0, ..second.clone() }, kept])
        };
        let divider = divider.as_bytes();
        let left_extent = Extent { lower: self.extent.lower, upper: Some(divider) };
        let right_extent = Extent { lower: divider, upper: self.extent.upper };
        let level = first.view.header.level();
        let layout =
            |pieces: &[Piece<'_, N>], extent| layout_for::<N>(extent, shape(pieces, None, level));
        let layouts = (layout(&left, left_extent), layout(&right, right_extent));
        let (Some(left_layout), Some(right_layout)) = layouts else { return false };
        if divider == old_divider || ensure_room(parent.words, divider) == Room::Lacking {
            return false;
        }
        build(self.left.words, level, left_extent, &left, left_layout, None);
        build(self.right.words, level, right_extent, &right, right_layout, None);
        remove_entry(&View::new(parent.words), left_index + 1);
        add_child(parent, divider, self.right);
        debug_assert!(parent.id == ROOT || View::new(parent.words).count() >= 2);
        true
    }
}
