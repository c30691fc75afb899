//! Changes to single entries.
//!
//! Concurrency  a writer looks the leaf up as a reader does and latches it by upgrading the version
//!              it read: what it found is then still so

use std::sync::atomic::Ordering::Relaxed;

use hotrow_base::sync::SpinWait;

use crate::latching::Latching;

use super::arena::Held;
use super::build::{insert_entry, remove_entry};
use super::find::Found;
use super::hint::Hint;
use super::key::MAX_KEY_BYTES;
use super::key::SearchKey;
use super::layout::{GHOST, View, entry_word, value_in};
use super::stamp::{NodeStamp, StampChange};
use super::tree::{Place, Tree};
use super::{BTreeError, latch};

enum Insert {
    Done(StampChange),
    Exists(u64),
    Clash,
    NoRoom,
}

impl<L: Latching, const N: usize> Tree<L, N> {
    #[inline(always)]
    pub(super) fn insert_observed(
        &self,
        key: &[u8],
        value: u64,
        mut hint: Option<&mut Hint>,
        mut observe: impl FnMut(StampChange),
    ) -> Result<Option<u64>, BTreeError> {
        if key.len() > self.max_key_bytes {
            let limit = self.max_key_bytes;
            return Err(BTreeError::KeyTooLong { length: key.len(), limit });
        }
        debug_assert!(value & !(GHOST | super::VALUE_MASK) == 0, "value {value:x} is too wide");
        const { assert!(MAX_KEY_BYTES < 1 << 10, "lengths have ten bits in an entry word") };
        let word = entry_word(value, key.len());
        let mut spin = SpinWait::new();
        loop {
            match self.try_insert(key, word, hint.as_deref_mut()) {
                Some(Insert::Done(change)) => {
                    observe(change);
                    return Ok(None);
                }
                Some(Insert::Exists(value)) => return Ok(Some(value)),
                Some(Insert::Clash) => return Err(BTreeError::KeyClash),
                Some(Insert::NoRoom) => self.make_room(key, &mut observe)?,
                None => spin.wait(),
            }
        }
    }

    #[inline(always)]
    fn try_insert(&self, key: &[u8], word: u64, hint: Option<&mut Hint>) -> Option<Insert> {
        let Place { node, version, view, found } = self.locate(SearchKey::new(key), hint)?;
        let outcome = match found {
            Found::Gap(index) if view.takes(key.len()) => {
                let held = Held::<L, N>::upgrade(node, version)?;
                insert_entry(&view, index, key, word);
                let before = NodeStamp { node: node.id, version };
                let after = NodeStamp { node: node.id, version: held.publish() };
                return Some(Insert::Done(StampChange { before, after, created: None }));
            }
            Found::Gap(_) | Found::Stray(_) => Insert::NoRoom,
            Found::Entry(index) => Insert::Exists(value_in(view.value_word(index))),
            Found::Padded(_) => Insert::Clash,
        };
        latch::validate::<L>(&node.words[0], version).then_some(outcome)
    }

    pub(super) fn remove(&self, key: &[u8], expected: u64) -> bool {
        let mut spin = SpinWait::new();
        loop {
            match self.try_remove(key, expected) {
                Some(removed) => return removed,
                None => spin.wait(),
            }
        }
    }

    fn try_remove(&self, key: &[u8], expected: u64) -> Option<bool> {
        let search = SearchKey::new(key);
        let (node, version) = self.descend(search)?;
        let view = View::new(node.words);
        let index = match view.find_key(search) {
            Found::Entry(index) if value_in(view.value_word(index)) == expected => index,
            _ => return latch::validate::<L>(&node.words[0], version).then_some(false),
        };
        let held = Held::<L, N>::upgrade(node, version)?;
        remove_entry(&view, index);
        held.publish();
        // Only when a border is crossed, or each removal from a small leaf would try again.
        let left = view.count() - 1;
        if left == 0 || left == view.header.capacity() / 4 {
            self.tidy(key);
        }
        Some(true)
    }

    /// Changes the value of `key` to what `change` makes of it, if anything; the old value.
    pub(super) fn update(&self, key: &[u8], change: impl Fn(u64) -> Option<u64>) -> Option<u64> {
        let mut spin = SpinWait::new();
        loop {
            match self.try_update(key, &change) {
                Some(old) => return old,
                None => spin.wait(),
            }
        }
    }

    fn try_update(&self, key: &[u8], change: &impl Fn(u64) -> Option<u64>) -> Option<Option<u64>> {
        let search = SearchKey::new(key);
        let (node, version) = self.descend(search)?;
        let view = View::new(node.words);
        let Found::Entry(index) = view.find_key(search) else {
            return latch::validate::<L>(&node.words[0], version).then_some(None);
        };
        let old = value_in(view.value_word(index));
        let Some(new) = change(old).filter(|&new| new != old) else {
            return latch::validate::<L>(&node.words[0], version).then_some(Some(old));
        };
        let held = Held::<L, N>::upgrade(node, version)?;
        let word = &node.words[view.header.values_start() + index];
        word.store(entry_word(new, key.len()), Relaxed);
        held.publish();
        Some(Some(old))
    }
}
