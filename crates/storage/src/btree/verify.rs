//! The structure verifier: walks the whole tree and checks what every node promises.
//!
//! Role         tests, and anyone who doubts; the tree must be at rest meanwhile

use super::MAX_KEY_BYTES;
use super::arena::Node;
use super::key::{KeyBuffer, compare_padded};
use super::layout::{GHOST, View, key_length_in};
use super::tree::Tree;

/// What a tree consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeShape {
    /// Levels, leaves included.
    pub height: usize,
    /// Leaves.
    pub leaves: usize,
    /// Leaves without an entry.
    pub empty_leaves: usize,
    /// Inner nodes.
    pub inner_nodes: usize,
    /// Entries, ghosts included.
    pub entries: usize,
    /// Ghosts.
    pub ghosts: usize,
}

impl<const N: usize> Tree<N> {
    pub(super) fn check_invariants(&self) -> Result<TreeShape, String> {
        let root = self.arena.root();
        let mut shape = TreeShape { height: self.height(), ..TreeShape::default() };
        self.check_node(root, self.height() - 1, &[], None, &mut shape)?;
        let (reached, live) = (shape.leaves + shape.inner_nodes, self.arena.live_nodes());
        check(reached == live, || format!("{reached} nodes are reached, {live} are in use"))?;
        Ok(shape)
    }

    fn check_node(
        &self,
        node: Node<'_, N>,
        level: usize,
        lower: &[u8],
        upper: Option<&[u8]>,
        shape: &mut TreeShape,
    ) -> Result<(), String> {
        let view = View::new(node.words);
        let id = node.id;
        let wrong = |what: String| format!("{id:?} at level {level}: {what}");
        check_header(&view, level).map_err(wrong)?;
        check_fences(&view, lower, upper).map_err(wrong)?;
        let keys = check_keys(&view, lower, upper).map_err(wrong)?;
        if level == 0 {
            shape.leaves += 1;
            shape.empty_leaves += usize::from(view.count() == 0);
            shape.entries += view.count();
            shape.ghosts +=
                (0..view.count()).filter(|&index| view.value_word(index) & GHOST != 0).count();
            return Ok(());
        }
        shape.inner_nodes += 1;
        for index in 0..view.count() {
            let child = view.child(index);
            let Some(child) = self.arena.node(child) else {
                return Err(wrong(format!("child {index} is {child:?}, which never was")));
            };
            let child_upper = keys.get(index + 1).map(Vec::as_slice).or(upper);
            self.check_node(child, level - 1, &keys[index], child_upper, shape)?;
        }
        Ok(())
    }
}

fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn check_header<const N: usize>(view: &View<'_, N>, level: usize) -> Result<(), String> {
    let header = view.header;
    let fences = view.fences();
    check(header.level() == level, || format!("says it is at level {}", header.level()))?;
    check(header.count() <= header.capacity(), || format!("{header:?} counts too many"))?;
    check(level == 0 || header.count() >= 1, || "has no child".to_owned())?;
    check(view.reach() < MAX_KEY_BYTES + 8, || format!("reaches {} bytes", view.reach()))?;
    let fence_words =
        fences.lower_bytes().div_ceil(8) + fences.upper_bytes().unwrap_or(0).div_ceil(8);
    let prefix_rest = header.prefix_bytes().div_ceil(8).saturating_sub(1);
    let end = header.prefix_rest_start() + prefix_rest;
    check(end + fence_words <= view.words.len(), || format!("{header:?} runs into the fences"))
}

fn check_fences<const N: usize>(
    view: &View<'_, N>,
    lower: &[u8],
    upper: Option<&[u8]>,
) -> Result<(), String> {
    let mut fence = KeyBuffer::new();
    view.copy_lower_fence(&mut fence);
    check(fence.as_bytes() == lower, || format!("lower fence {fence:?}, not {lower:02x?}"))?;
    let bounded = view.copy_upper_fence(&mut fence);
    let same = bounded == upper.is_some() && fence.as_bytes() == upper.unwrap_or_default();
    check(same, || format!("upper fence {fence:?} ({bounded}), not {upper:02x?}"))
}

/// Checks that the keys ascend between the fences and that a search finds each.
fn check_keys<const N: usize>(
    view: &View<'_, N>,
    lower: &[u8],
    upper: Option<&[u8]>,
) -> Result<Vec<Vec<u8>>, String> {
    let mut keys: Vec<Vec<u8>> = Vec::with_capacity(view.count());
    let mut key = KeyBuffer::new();
    for index in 0..view.count() {
        view.copy_key(index, &mut key);
        let bytes = key.as_bytes();
        let stored = index > 0 || view.is_leaf();
        let length = key_length_in(view.value_word(index));
        check(!stored || bytes.len() == length, || format!("key {index} has {length} bytes"))?;
        check(compare_padded(bytes, lower).is_ge(), || format!("{key:?} is below the fence"))?;
        let below = upper.is_none_or(|upper| compare_padded(bytes, upper).is_lt());
        check(below, || format!("{key:?} is not below the upper fence"))?;
        let ascending = keys.last().is_none_or(|last| compare_padded(last, bytes).is_lt());
        check(ascending, || format!("{key:?} at {index} is out of order"))?;
        let found =
            if view.is_leaf() { view.find(bytes).index() } else { view.child_covering(bytes) };
        check(found == index, || format!("{key:?} at {index} is found at {found}"))?;
        keys.push(bytes.to_vec());
    }
    Ok(keys)
}
