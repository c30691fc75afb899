//! The tree of one node size: point reads.
//!
//! Role         everything in this folder is written for nodes of `N` words; [`BTree`](super::BTree)
//!              picks N when it is made

use std::marker::PhantomData;
use std::sync::Arc;

use hotrow_base::sync::SpinWait;

use crate::budget::MemoryBudget;
use crate::latching::Latching;
use crate::prefetch::prefetch;

use super::arena::Arena;
use super::build::{Extent, build, layout_for, shape};
use super::key::KeyBuffer;
use super::key::SearchKey;
use super::layout::{Found, View, value_in};
use super::stamp::NodeStamp;
use super::{BTreeError, Lookup, Prior, latch};

/// A tree with nodes of `N` words.
pub(super) struct Tree<L: Latching, const N: usize> {
    pub(super) arena: Arena<N>,
    pub(super) max_key_bytes: usize,
    policy: PhantomData<L>,
}

impl<L: Latching, const N: usize> Tree<L, N> {
    pub(super) fn new(max_key_bytes: usize, budget: Arc<MemoryBudget>) -> Result<Self, BTreeError> {
        let arena = Arena::<N>::new(budget)?;
        let extent = Extent { lower: &[], upper: None };
        let layout = layout_for::<N>(extent, shape::<N>(&[], None, 0)).expect("an empty leaf fits");
        build(arena.root().words, 0, extent, &[], layout, None);
        Ok(Self { arena, max_key_bytes, policy: PhantomData })
    }

    #[inline]
    pub(super) fn lookup(&self, key: &[u8]) -> Lookup {
        let mut spin = SpinWait::new();
        loop {
            match self.try_lookup(key) {
                Some(lookup) => return lookup,
                None => spin.wait(),
            }
        }
    }

    #[inline(always)]
    fn try_lookup(&self, key: &[u8]) -> Option<Lookup> {
        let search = SearchKey::new(key);
        let (node, version) = self.descend(search)?;
        let view = View::new(node.words);
        let value = match view.find_key(search) {
            Found::Entry(index) => Some(value_in(view.value_word(index))),
            Found::Gap(_) | Found::Padded(_) => None,
        };
        let stamp = NodeStamp { node: node.id, version };
        latch::validate::<L>(&node.words[0], version).then_some(Lookup { value, stamp })
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
            Found::Gap(0) | Found::Padded(0) => {
                view.copy_lower_fence(prior);
                Prior::Fence
            }
            Found::Gap(index) | Found::Padded(index) => {
                view.copy_key(index - 1, prior);
                Prior::Key(value_in(view.value_word(index - 1)))
            }
        };
        let stamp = NodeStamp { node: node.id, version };
        latch::validate::<L>(&node.words[0], version).then_some((found, stamp))
    }

    #[inline]
    pub(super) fn validate(&self, stamp: NodeStamp) -> bool {
        self.arena.node(stamp.node).is_some_and(|node| {
            // Not `latch::validate`: an owned tree's stamps are checked too.
            latch::is_at(&node.words[0], stamp.version)
        })
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
