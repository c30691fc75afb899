//! The tree of one node size: point reads.
//!
//! Role         everything in this folder is written for nodes of `N` words;
//!              [`BTree`](super::BTree) picks N when it is made

use hotrow_base::sync::facade::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

use hotrow_base::prefetch::prefetch;
use hotrow_base::sync::{SpinWait, Version};

use crate::budget::MemoryBudget;
use crate::writers::Writers;

use super::arena::{Arena, Node};
use super::build::{Extent, build, layout_for, shape};
use super::find::Found;
use super::hint::Hint;
use super::key::KeyBuffer;
use super::key::SearchKey;
use super::layout::{View, value_in};
use super::stamp::NodeStamp;
use super::{BTreeError, Lookup, Prior};

/// A tree with nodes of `N` words.
pub(super) struct Tree<const N: usize> {
    pub(super) arena: Arena<N>,
    pub(super) max_key_bytes: usize,
    /// see `gaps`; set while nobody uses the tree, so Relaxed is enough
    guarded: AtomicBool,
    pub(super) writers: Writers,
}

/// A leaf, read at a version, and what it says of a key; not validated yet.
#[derive(Clone, Copy)]
pub(super) struct Place<'t, const N: usize> {
    pub(super) node: Node<'t, N>,
    pub(super) version: Version,
    pub(super) view: View<'t, N>,
    pub(super) found: Found,
}

impl<const N: usize> Tree<N> {
    pub(super) fn new(max_key_bytes: usize, budget: Arc<MemoryBudget>) -> Result<Self, BTreeError> {
        let arena = Arena::<N>::new(budget)?;
        let extent = Extent { lower: &[], upper: None };
        let layout = layout_for::<N>(extent, shape::<N>(&[], None, 0)).expect("an empty leaf fits");
        build(arena.root().words, 0, extent, &[], layout, None);
        let guarded = AtomicBool::new(false);
        Ok(Self { arena, max_key_bytes, guarded, writers: Writers::default() })
    }

    pub(super) fn guard_gaps(&self) {
        self.guarded.store(true, Relaxed);
    }

    pub(super) fn gaps_are_guarded(&self) -> bool {
        self.guarded.load(Relaxed)
    }

    #[inline(always)]
    pub(super) fn lookup(&self, key: &[u8], mut hint: Option<&mut Hint>) -> Lookup {
        let mut spin = SpinWait::new();
        loop {
            match self.try_lookup(key, hint.as_deref_mut()) {
                Some(lookup) => return lookup,
                None => spin.wait(),
            }
        }
    }

    #[inline(always)]
    fn try_lookup(&self, key: &[u8], hint: Option<&mut Hint>) -> Option<Lookup> {
        let Place { node, version, view, found } = self.locate(SearchKey::new(key), hint)?;
        let value = match found {
            Found::Entry(index) => Some(value_in(view.value_word(index))),
            Found::Gap(_) | Found::Stray(_) | Found::Padded(_) => None,
        };
        let stamp = NodeStamp { node: node.id, version };
        node.latch().validate(version).then_some(Lookup { value, stamp })
    }

    /// The leaf that covers a key, by the hint if it is good and else from the root, and what it
    /// says of the key. The hint names that leaf afterwards.
    #[inline(always)]
    pub(super) fn locate(
        &self,
        search: SearchKey<'_>,
        hint: Option<&mut Hint>,
    ) -> Option<Place<'_, N>> {
        let Some(hint) = hint else { return self.locate_from_root(search) };
        if let Some(place) = self.locate_hinted(search, *hint) {
            return Some(place);
        }
        let place = self.locate_from_root(search)?;
        hint.leaf = place.node.id;
        Some(place)
    }

    #[inline(always)]
    fn locate_from_root(&self, search: SearchKey<'_>) -> Option<Place<'_, N>> {
        let (node, version) = self.descend(search)?;
        let view = View::new(node.words);
        Some(Place { node, version, view, found: view.find_key(search) })
    }

    pub(super) fn get_or_prior(&self, key: &[u8], prior: &mut KeyBuffer) -> (Prior, NodeStamp) {
        let mut spin = SpinWait::new();
        loop {
            match self.try_get_or_prior(key, prior) {
                Some(found) => return found,
                None => spin.wait(),
            }
        }
    }

    fn try_get_or_prior(&self, key: &[u8], prior: &mut KeyBuffer) -> Option<(Prior, NodeStamp)> {
        let search = SearchKey::new(key);
        let (node, version) = self.descend(search)?;
        let view = View::new(node.words);
        let found = match view.find_key(search) {
            Found::Entry(index) => {
                prior.copy_from(key);
                Prior::Exact(value_in(view.value_word(index)))
            }
            Found::Gap(index) | Found::Stray(index) | Found::Padded(index) => {
                view.copy_prior(index, prior);
                match index.checked_sub(1) {
                    Some(before) => Prior::Key(value_in(view.value_word(before))),
                    None => Prior::Fence,
                }
            }
        };
        let stamp = NodeStamp { node: node.id, version };
        node.latch().validate(version).then_some((found, stamp))
    }

    #[inline]
    pub(super) fn validate(&self, stamp: NodeStamp) -> bool {
        self.arena.node(stamp.node).is_some_and(|node| node.latch().validate(stamp.version))
    }

    /// The inner nodes are walked: they are few and mostly cached. Of the leaf, the first lines and
    /// the middle of the heads are prefetched.
    pub(super) fn prefetch(&self, key: &[u8]) {
        let mut node = self.arena.root();
        for _ in 1..self.height() {
            // Unchecked: a walk that loses its way prefetches a useless line.
            let view = View::new(node.words);
            if view.is_leaf() {
                return;
            }
            match self.arena.node(view.child(view.child_covering(key))) {
                Some(child) => node = child,
                None => return,
            }
            prefetch(&node.words[0]);
        }
        for line in [16, 32, 48] {
            prefetch(&node.words[line]);
        }
    }

    #[inline]
    pub(super) fn height(&self) -> usize {
        View::new(self.arena.root().words).header.level() + 1
    }
}
