//! Changes to single entries.
//!
//! Concurrency  a writer looks the leaf up as a reader does and latches it by upgrading the version
//!              it read: what it found is then still so

use hotrow_base::sync::facade::atomic::Ordering::Relaxed;

use hotrow_base::sync::{SpinWait, Version};

use super::BTreeError;
use super::arena::{Held, Node, ROOT};
use super::build::{insert_entry, remove_entry};
use super::find::Found;
use super::gaps::{Entered, GapGuard, Removal, VACANT};
use super::hint::Hint;
use super::key::{KeyBuffer, MAX_KEY_BYTES, SearchKey};
use super::layout::{GHOST, View, entry_word, value_in};
use super::stamp::{NodeStamp, StampChange};
use super::tree::{Place, Tree};

enum Insert {
    Done(StampChange),
    Exists(u64),
    Clash,
    NoRoom,
    Denied,
}

impl<const N: usize> Tree<N> {
    #[inline(always)]
    pub(super) fn insert_guarded<G: GapGuard>(
        &self,
        key: &[u8],
        value: u64,
        mut hint: Option<&mut Hint>,
        guard: &mut G,
        mut observe: impl FnMut(StampChange),
    ) -> Result<Entered, BTreeError> {
        if key.len() > self.max_key_bytes {
            let limit = self.max_key_bytes;
            return Err(BTreeError::KeyTooLong { length: key.len(), limit });
        }
        debug_assert!(value & !(GHOST | super::VALUE_MASK) == 0, "value {value:x} is too wide");
        const { assert!(MAX_KEY_BYTES < 1 << 10, "lengths have ten bits in an entry word") };
        let word = entry_word(value, key.len());
        let _change = self.writers.change();
        let mut spin = SpinWait::new();
        loop {
            match self.try_insert(key, word, hint.as_deref_mut(), guard) {
                Some(Insert::Done(change)) => {
                    observe(change);
                    return Ok(Entered::Yes);
                }
                Some(Insert::Exists(value)) => return Ok(Entered::Exists(value)),
                Some(Insert::Denied) => return Ok(Entered::Denied),
                Some(Insert::Clash) => return Err(BTreeError::KeyClash),
                Some(Insert::NoRoom) => self.make_room(key, &mut observe)?,
                None => spin.wait(),
            }
        }
    }

    #[inline(always)]
    fn try_insert<G: GapGuard>(
        &self,
        key: &[u8],
        word: u64,
        hint: Option<&mut Hint>,
        guard: &mut G,
    ) -> Option<Insert> {
        let Place { node, version, view, found } = self.locate(SearchKey::new(key), hint)?;
        let outcome = match found {
            Found::Gap(index) if view.takes(key.len()) => {
                let held = Held::upgrade(node, version, &self.writers)?;
                if G::ASKS && !guard.may_divide(prior(&view, index).as_bytes(), key) {
                    return Some(Insert::Denied);
                }
                insert_entry(&view, index, key, word);
                let before = NodeStamp { node: node.id, version };
                let after = NodeStamp { node: node.id, version: held.publish() };
                return Some(Insert::Done(StampChange { before, after, created: None }));
            }
            Found::Gap(_) | Found::Stray(_) => Insert::NoRoom,
            Found::Entry(index) => match value_in(view.value_word(index)) {
                VACANT => return self.try_occupy(node, version, index, word),
                value => Insert::Exists(value),
            },
            Found::Padded(_) => Insert::Clash,
        };
        node.latch().validate(version).then_some(outcome)
    }

    /// Puts an entry into the place of a vacant ghost.
    #[cold]
    fn try_occupy(
        &self,
        node: Node<'_, N>,
        version: Version,
        index: usize,
        word: u64,
    ) -> Option<Insert> {
        let held = Held::upgrade(node, version, &self.writers)?;
        node.words[View::new(node.words).header.values_start() + index].store(word, Relaxed);
        let before = NodeStamp { node: node.id, version };
        let after = NodeStamp { node: node.id, version: held.publish() };
        Some(Insert::Done(StampChange { before, after, created: None }))
    }

    /// Removes the entry of `key` if its value is `expected`; where the guard forbids that, a
    /// vacant ghost stays in its place.
    pub(super) fn remove_guarded<G: GapGuard>(
        &self,
        key: &[u8],
        expected: u64,
        guard: &mut G,
    ) -> Removal {
        let _change = self.writers.change();
        let mut spin = SpinWait::new();
        loop {
            match self.try_remove(key, expected, guard) {
                Some(removal) => return removal,
                None => spin.wait(),
            }
        }
    }

    fn try_remove<G: GapGuard>(&self, key: &[u8], expected: u64, guard: &mut G) -> Option<Removal> {
        let search = SearchKey::new(key);
        let (node, version) = self.descend(search)?;
        let view = View::new(node.words);
        let index = match view.find_key(search) {
            Found::Entry(index) if value_in(view.value_word(index)) == expected => index,
            _ => {
                let is_empty = view.count() == 0;
                node.latch().validate(version).then_some(())?;
                let stays_empty = G::ASKS && is_empty && !self.tidy_empty(search, guard);
                return Some(if stays_empty { Removal::StillEmpty } else { Removal::Absent });
            }
        };
        let held = Held::upgrade(node, version, &self.writers)?;
        if G::ASKS && !guard.may_unite(prior(&view, index).as_bytes(), key) {
            let word = &node.words[view.header.values_start() + index];
            word.store(entry_word(VACANT, key.len()), Relaxed);
            held.publish();
            return Some(Removal::Kept);
        }
        remove_entry(&view, index);
        held.publish();
        // Only when a border is crossed, or each removal from a small leaf would try again.
        let left = view.count() - 1;
        if left == 0 {
            let is_merged = self.tidy_empty(search, guard);
            return Some(if is_merged { Removal::Done } else { Removal::Emptied });
        }
        if left == view.header.capacity() / 4 {
            self.tidy(key, guard);
        }
        Some(Removal::Done)
    }

    /// Merges the empty leaf that covers a key; whether none is left.
    #[cold]
    fn tidy_empty<G: GapGuard>(&self, key: SearchKey<'_>, guard: &mut G) -> bool {
        self.tidy(key.bytes, guard);
        let leaf = self.descend(key).filter(|(node, _)| node.id != ROOT);
        leaf.is_none_or(|(node, _)| View::new(node.words).count() > 0)
    }

    /// Changes the value of `key` to what `change` makes of it, if anything; the old value.
    pub(super) fn update(
        &self,
        key: &[u8],
        change: impl Fn(u64) -> Option<u64>,
        mut observe: impl FnMut(StampChange),
    ) -> Option<u64> {
        let _change = self.writers.change();
        let mut spin = SpinWait::new();
        loop {
            match self.try_update(key, &change, &mut observe) {
                Some(old) => return old,
                None => spin.wait(),
            }
        }
    }

    fn try_update(
        &self,
        key: &[u8],
        change: &impl Fn(u64) -> Option<u64>,
        observe: &mut impl FnMut(StampChange),
    ) -> Option<Option<u64>> {
        let search = SearchKey::new(key);
        let (node, version) = self.descend(search)?;
        let view = View::new(node.words);
        let Found::Entry(index) = view.find_key(search) else {
            return node.latch().validate(version).then_some(None);
        };
        let old = value_in(view.value_word(index));
        let Some(new) = change(old).filter(|&new| new != old) else {
            return node.latch().validate(version).then_some(Some(old));
        };
        let held = Held::upgrade(node, version, &self.writers)?;
        let word = &node.words[view.header.values_start() + index];
        word.store(entry_word(new, key.len()), Relaxed);
        let before = NodeStamp { node: node.id, version };
        let after = NodeStamp { node: node.id, version: held.publish() };
        observe(StampChange { before, after, created: None });
        Some(Some(old))
    }
}

/// The key before the entry at `index`, or before one that will stand there: the name of the gap
/// behind it. A leaf's lower fence is a name that stays, but need not name an entry.
fn prior<const N: usize>(view: &View<'_, N>, index: usize) -> KeyBuffer {
    let mut prior = KeyBuffer::new();
    view.copy_prior(index, &mut prior);
    prior
}
