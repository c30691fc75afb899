//! Ways from the root to a leaf, latch-free.
//!
//! Concurrency  optimistic lock coupling: the child's version is read before the parent's is
//!              checked, so at the moment of the check the parent led to the child at that version.
//!              `None` always means: something changed on the way, start again

use hotrow_base::sync::Version;

use super::arena::{Node, NodeId};
use super::key::SearchKey;
use super::layout::View;
use super::tree::Tree;

/// A node reached, the version it is read at, and its parent.
pub(super) struct Target<'t, const N: usize> {
    pub(super) node: Node<'t, N>,
    pub(super) version: Version,
    pub(super) parent: Option<(Node<'t, N>, Version)>,
}

/// Where to go at every inner node.
#[derive(Clone, Copy)]
pub(super) enum Towards<'k> {
    /// The leaf that covers a key.
    Key(&'k [u8]),
    /// The leaf that covers the keys just below a fence.
    Below(&'k [u8]),
    /// The right-most leaf.
    End,
}

impl<const N: usize> Tree<N> {
    /// The leaf that covers `key`. A function of its own, so that the search of inner nodes stands
    /// in one place, in the loop.
    #[inline(never)]
    pub(super) fn descend(&self, key: SearchKey<'_>) -> Option<(Node<'_, N>, Version)> {
        let mut node = self.arena.root();
        let mut version = node.latch().read_begin()?;
        loop {
            let view = View::new(node.words);
            if view.is_leaf() {
                return Some((node, version));
            }
            (node, version) = self.step(node, version, view.child(view.child_for(key)))?;
        }
    }

    pub(super) fn descend_towards(&self, towards: Towards<'_>) -> Option<(Node<'_, N>, Version)> {
        match towards {
            Towards::Key(key) => self.descend(SearchKey::new(key)),
            Towards::Below(fence) => self.descend_by(|view| view.child_below(fence)),
            Towards::End => self.descend_by(|view| view.count().saturating_sub(1)),
        }
    }

    fn descend_by(
        &self,
        child_of: impl Fn(&View<'_, N>) -> usize,
    ) -> Option<(Node<'_, N>, Version)> {
        let mut node = self.arena.root();
        let mut version = node.latch().read_begin()?;
        loop {
            let view = View::new(node.words);
            if view.is_leaf() {
                return Some((node, version));
            }
            (node, version) = self.step(node, version, view.child(child_of(&view)))?;
        }
    }

    /// The child, and its version from before the parent was checked.
    #[inline(always)]
    fn step(
        &self,
        parent: Node<'_, N>,
        version: Version,
        child: NodeId,
    ) -> Option<(Node<'_, N>, Version)> {
        let child = self.arena.node(child)?;
        let child_version = child.latch().read_begin()?;
        parent.latch().validate(version).then_some((child, child_version))
    }

    /// The node at `level` (leaves are level 0) that covers `key`.
    pub(super) fn descend_to(&self, key: &[u8], level: usize) -> Option<Target<'_, N>> {
        let mut node = self.arena.root();
        let mut version = node.latch().read_begin()?;
        let mut parent = None;
        loop {
            let view = View::new(node.words);
            if view.header.level() <= level {
                let reached = view.header.level() == level;
                return reached.then_some(Target { node, version, parent });
            }
            let child = self.step(node, version, view.child(view.child_covering(key)))?;
            parent = Some((node, version));
            (node, version) = child;
        }
    }
}
