//! Hints: the way back to the leaf of the operation before, without the root.
//!
//! Role         kept by a caller, one for each thread and tree; ten order lines inserted in a row
//!              cost one descent
//! Invariants   I1  a hint is never trusted. Its leaf answers for a key only if it is a leaf now
//!                  and the key lies between two of its entries, or between its fences as they are
//!                  now. So a leaf split, merged, or used again elsewhere is at worst a miss, and
//!                  so is a hint taken from another tree
//!              I2  nodes are unlatched only when they are linked, and a retired node is no leaf.
//!                  So a leaf read at a version is the leaf for its extent
//! Concurrency  as any reader: what the leaf said counts once its version is validated or upgraded

use super::arena::NodeId;
use super::find::Found;
use super::key::SearchKey;
use super::layout::View;
use super::tree::{Place, Tree};

/// Where an operation was, for the next one near it. One serves one tree; which leaf it names is
/// of no consequence for any result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hint {
    pub(super) leaf: NodeId,
}

impl<const N: usize> Tree<N> {
    /// What the hinted leaf says of a key, if it is the leaf that covers it.
    #[inline(always)]
    pub(super) fn locate_hinted(&self, search: SearchKey<'_>, hint: Hint) -> Option<Place<'_, N>> {
        let node = self.arena.node(hint.leaf)?;
        let version = node.latch().read_begin()?;
        let view = View::new(node.words);
        if !view.is_leaf() {
            return None;
        }
        let found = view.find_key(search);
        view.covers(search, found).then_some(Place { node, version, view, found })
    }
}

impl<const N: usize> View<'_, N> {
    /// Whether a key that `found` was found for belongs to this leaf.
    #[inline(always)]
    fn covers(&self, search: SearchKey<'_>, found: Found) -> bool {
        match found {
            Found::Entry(_) => true,
            Found::Gap(index) | Found::Stray(index) => {
                (index < self.count() || self.is_below_upper_fence(search))
                    && (index > 0 || self.is_above_lower_fence(search.bytes))
            }
            // Rare, and a descent knows.
            Found::Padded(_) => false,
        }
    }
}
