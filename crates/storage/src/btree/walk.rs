//! Walks: scans that stop at every key and every gap of a range, for whoever locks what it sees.
//!
//! Role         [`Walk::step`] names the next thing to lock; the caller locks it, perhaps after
//!              waiting, and [`Walk::confirm`] tells whether it still is the next thing. The plain
//!              [`Cursor`](super::Cursor) is several times faster and names no gaps
//! States       at a place (a key, not a position) ─step─▶ named ─confirm─▶ at the next place, or,
//!              when the leaf has changed, where it was
//! Invariants   I1  when the walk has ended, all keys and all gaps between the range's ends have
//!                  been named and confirmed, each by the name that protects it: an entry by its
//!                  key, a gap by what stands before it in its leaf
//!              I2  nothing in the range between two confirmed steps can change unless a lock of
//!                  the caller's allows it (`gaps`)
//!              I3  what lies in a gap is only read from the leaf as it was when the gap was
//!                  confirmed. Upwards a gap is named before it is crossed: if its leaf changes
//!                  in between, it is named again, since keys may have left whose removers the
//!                  caller has not met
//! Source       locking.txt 2.2, table 3. We differ: a fence that is an entry is named once

use std::cmp::Ordering;
use std::mem::swap;

use hotrow_base::sync::SpinWait;

use super::arena::Node;
use super::cursor::{Direction, End, KeyRange, copy_ends};
use super::descend::Towards;
use super::find::Found;
use super::key::{KeyBuffer, SearchKey};
use super::layout::{View, value_in};
use super::stamp::NodeStamp;
use super::tree::Tree;

/// The memory of a walk, to be used again.
#[derive(Debug, Default)]
pub struct WalkBuffers {
    /// where the walk stands
    probe: KeyBuffer,
    /// what the last step named
    named: KeyBuffer,
    /// the end the walk moves towards
    limit: KeyBuffer,
}

/// What to lock next; its key is [`Walk::key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// the value of the entry, which is in the range, ghost flag included; none: only the gap
    /// behind the key is in the range
    pub entry: Option<u64>,
    /// whether any of the gap behind the key is in the range
    pub gap: bool,
}

/// Where the walk goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// at the end where the range begins, or at a fence crossed upwards: the gap there has no name
    /// yet
    Begin(End),
    /// upwards from the probe, itself included or not; the gap there is confirmed, for the leaf as
    /// it was (I3)
    Up(End),
    /// downwards from the probe, which is excluded
    Down,
    /// downwards from the probe, the lower fence of the leaf left behind
    BelowFence,
    Done,
}

/// A step that is not confirmed yet.
#[derive(Clone, Copy, Debug)]
struct Named {
    stamp: NodeStamp,
    /// the entry from which the walk goes on if the leaf does not change
    index: usize,
    next: At,
    /// whether the walk then stands at what was named
    moves: bool,
}

/// What a look at a leaf comes to.
enum Look {
    Named(Step, Named),
    /// nothing to lock here: go on
    Moved,
    Ended,
}

/// A walk in progress: [`BTree::walk`](super::BTree::walk).
pub struct Walk<'t, 'b> {
    walk: AnyWalk<'t, 'b>,
}

/// A walk over whichever node size the tree has.
pub(super) enum AnyWalk<'t, 'b> {
    Small(SizedWalk<'t, 'b, 128>),
    Medium(SizedWalk<'t, 'b, 256>),
    Large(SizedWalk<'t, 'b, 512>),
}

macro_rules! with_walk {
    ($this:expr, $walk:ident => $body:expr) => {
        match $this {
            AnyWalk::Small($walk) => $body,
            AnyWalk::Medium($walk) => $body,
            AnyWalk::Large($walk) => $body,
        }
    };
}

impl<'t, 'b> Walk<'t, 'b> {
    pub(super) fn new(walk: AnyWalk<'t, 'b>) -> Self {
        Self { walk }
    }

    /// Names what to lock next; `None` at the end of the range.
    pub fn step(&mut self) -> Option<Step> {
        with_walk!(&mut self.walk, walk => walk.step())
    }

    /// The key that the last step named.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        with_walk!(&self.walk, walk => walk.buffers.named.as_bytes())
    }

    /// The key of the entry that was confirmed last, until the next step.
    #[must_use]
    pub fn at(&self) -> &[u8] {
        with_walk!(&self.walk, walk => walk.buffers.probe.as_bytes())
    }

    /// To be called when the last step's locks are held: whether what it said still holds. If not,
    /// the next step names what to lock instead.
    pub fn confirm(&mut self) -> bool {
        with_walk!(&mut self.walk, walk => walk.confirm())
    }
}

/// A walk over nodes of `N` words.
pub(super) struct SizedWalk<'t, 'b, const N: usize> {
    tree: &'t Tree<N>,
    buffers: &'b mut WalkBuffers,
    direction: Direction,
    at: At,
    limit_end: End,
    /// the leaf and the place in it where the walk stands, if it is as it was
    place: Option<(NodeStamp, usize)>,
    named: Option<Named>,
}

impl<const N: usize> Tree<N> {
    pub(super) fn walk<'t, 'b>(
        &'t self,
        buffers: &'b mut WalkBuffers,
        range: KeyRange<'_>,
        direction: Direction,
    ) -> SizedWalk<'t, 'b, N> {
        let (begin, limit_end) =
            copy_ends(range, direction, &mut buffers.probe, &mut buffers.limit);
        let at = At::Begin(begin);
        SizedWalk { tree: self, buffers, direction, at, limit_end, place: None, named: None }
    }
}

impl<'t, const N: usize> SizedWalk<'t, '_, N> {
    fn step(&mut self) -> Option<Step> {
        let mut spin = SpinWait::new();
        loop {
            if self.at == At::Done {
                return None;
            }
            match self.look() {
                Some(Look::Named(step, named)) => {
                    self.named = Some(named);
                    return Some(step);
                }
                Some(Look::Moved) => self.place = None,
                Some(Look::Ended) => self.at = At::Done,
                None => {
                    self.place = None;
                    spin.wait();
                }
            }
        }
    }

    fn confirm(&mut self) -> bool {
        let Some(named) = self.named.take().filter(|named| self.tree.validate(named.stamp)) else {
            self.place = None;
            return false;
        };
        self.at = named.next;
        let stays = matches!(named.next, At::Up(_) | At::Down);
        self.place = stays.then_some((named.stamp, named.index));
        if named.moves {
            swap(&mut self.buffers.probe, &mut self.buffers.named);
        }
        true
    }

    /// `None`: the leaf changed meanwhile.
    fn look(&mut self) -> Option<Look> {
        let (node, stamp, place) = self.locate()?;
        let view = View::new(node.words);
        let moved = match (self.at, self.direction) {
            (At::Done, _) => return Some(Look::Ended),
            (At::Begin(end), Direction::Ascending) => self.begin_upwards(&view, stamp, end),
            (At::Up(end), _) => match place {
                Some(index) => self.go_up(&view, stamp, index),
                None => self.begin_upwards(&view, stamp, end),
            },
            (At::Begin(End::Included), Direction::Descending) => {
                match view.find(self.buffers.probe.as_bytes()) {
                    Found::Entry(index) => self.begin_downwards(&view, stamp, index),
                    _ => self.go_down(&view, stamp, None),
                }
            }
            (At::Begin(_) | At::Down | At::BelowFence, _) => self.go_down(&view, stamp, place),
        };
        if !node.latch().validate(stamp.version) {
            return None;
        }
        if matches!(moved, Look::Moved) {
            // The fence is in `named`.
            swap(&mut self.buffers.probe, &mut self.buffers.named);
            self.at = match self.direction {
                Direction::Ascending => At::Begin(End::Included),
                Direction::Descending => At::BelowFence,
            };
        }
        Some(moved)
    }

    fn locate(&self) -> Option<(Node<'t, N>, NodeStamp, Option<usize>)> {
        let tree = self.tree;
        if let Some((stamp, index)) = self.place {
            let node = tree.arena.node(stamp.node)?;
            return node.latch().validate(stamp.version).then_some((node, stamp, Some(index)));
        }
        let probe = self.buffers.probe.as_bytes();
        let towards = match (self.at, self.direction) {
            (At::Begin(End::Open), Direction::Descending) => Towards::End,
            (At::BelowFence, _) => Towards::Below(probe),
            _ => Towards::Key(probe),
        };
        let (node, version) = tree.descend_towards(towards)?;
        Some((node, NodeStamp { node: node.id, version }, None))
    }

    /// The entry at the lower end, or what stands before the gap there; or before the one that the
    /// walk stands in.
    fn begin_upwards(&mut self, view: &View<'_, N>, stamp: NodeStamp, end: End) -> Look {
        let found = view.find_key(SearchKey::new(self.buffers.probe.as_bytes()));
        let index = match (found, end) {
            (Found::Entry(index), End::Included) => {
                return self.go_up(view, stamp, index);
            }
            (Found::Entry(index), _) => index + 1,
            (found, _) => found.index(),
        };
        view.copy_prior(index, &mut self.buffers.named);
        let named = Named { stamp, index, next: At::Up(end), moves: false };
        Look::Named(Step { entry: None, gap: true }, named)
    }

    /// The entry at the upper end.
    fn begin_downwards(&mut self, view: &View<'_, N>, stamp: NodeStamp, index: usize) -> Look {
        view.copy_key(index, &mut self.buffers.named);
        let next = match (self.limit_end, self.order()) {
            (End::Open, _) | (_, Ordering::Greater) => At::Down,
            (End::Included, Ordering::Equal) => At::Done,
            _ => return Look::Ended,
        };
        let step = Step { entry: Some(value_of(view, index)), gap: false };
        Look::Named(step, Named { stamp, index, next, moves: true })
    }

    /// The next entry upwards, or the fence behind the last one.
    fn go_up(&mut self, view: &View<'_, N>, stamp: NodeStamp, index: usize) -> Look {
        if index < view.count() {
            view.copy_key(index, &mut self.buffers.named);
            let is_last = match (self.limit_end, self.order()) {
                (End::Open, _) | (_, Ordering::Less) => false,
                (End::Included, Ordering::Equal) => true,
                _ => return Look::Ended,
            };
            let step = Step { entry: Some(value_of(view, index)), gap: !is_last };
            let next = if is_last { At::Done } else { At::Up(End::Excluded) };
            return Look::Named(step, Named { stamp, index: index + 1, next, moves: true });
        }
        if !view.copy_upper_fence(&mut self.buffers.named) {
            return Look::Ended;
        }
        match (self.limit_end, self.order()) {
            (End::Open, _) | (_, Ordering::Less) | (End::Included, Ordering::Equal) => Look::Moved,
            _ => Look::Ended,
        }
    }

    /// The next entry downwards, or what stands before the last gap of the range or of the leaf.
    fn go_down(&mut self, view: &View<'_, N>, stamp: NodeStamp, place: Option<usize>) -> Look {
        let index = place.unwrap_or_else(|| match self.at {
            At::Begin(End::Open) => view.count(),
            _ => view.find(self.buffers.probe.as_bytes()).index(),
        });
        view.copy_prior(index, &mut self.buffers.named);
        if index == 0 {
            let named = self.buffers.named.as_bytes();
            let is_fence = named == self.buffers.probe.as_bytes();
            if is_fence && !matches!(self.at, At::Begin(End::Open | End::Included)) {
                return Look::Moved; // no gap lies between the key and the fence that it is
            }
            let ends = named.is_empty() || self.limit_end != End::Open && self.order().is_le();
            let next = if ends { At::Done } else { At::BelowFence };
            let step = Step { entry: None, gap: true };
            return Look::Named(step, Named { stamp, index, next, moves: true });
        }
        let index = index - 1;
        let (is_entry, next) = match (self.limit_end, self.order()) {
            (End::Open, _) | (_, Ordering::Greater) => (true, At::Down),
            (End::Included, Ordering::Equal) => (true, At::Done),
            _ => (false, At::Done),
        };
        let entry = is_entry.then(|| value_of(view, index));
        Look::Named(Step { entry, gap: true }, Named { stamp, index, next, moves: true })
    }

    /// How what is named compares with the end that the walk moves towards.
    fn order(&self) -> Ordering {
        self.buffers.named.as_bytes().cmp(self.buffers.limit.as_bytes())
    }
}

fn value_of<const N: usize>(view: &View<'_, N>, index: usize) -> u64 {
    value_in(view.value_word(index))
}
