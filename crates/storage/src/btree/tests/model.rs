use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A kind of prefix-free keys, made from a number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keys {
    /// Eight bytes.
    Integer,
    /// Two integers of four and eight bytes, few values of the first.
    Composite,
    /// Text of 0 to 40 bytes, ended by a zero.
    Text,
    /// 480 shared bytes and up to 30 others: some keys leave the shared bytes early.
    Long,
}

impl Keys {
    pub(super) fn longest(self) -> usize {
        match self {
            Self::Integer => 8,
            Self::Composite => 12,
            Self::Text => 64,
            Self::Long => 512,
        }
    }

    pub(super) fn key(self, number: u64) -> Vec<u8> {
        let scattered = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        match self {
            Self::Integer => number.to_be_bytes().to_vec(),
            Self::Composite => {
                let high = (number % 5) as u32;
                [&high.to_be_bytes()[..], &(number / 5).to_be_bytes()].concat()
            }
            Self::Text => {
                let digits = format!("{number:b}{:width$}", "", width = number as usize % 20);
                [digits.as_bytes(), &[0]].concat()
            }
            Self::Long => {
                let shared =
                    if number.is_multiple_of(7) { (scattered % 480) as usize } else { 480 };
                let mut key = vec![b's'; shared];
                key.push(if shared < 480 { b'a' + (scattered % 40) as u8 % 15 } else { b'r' });
                key.extend(number.to_be_bytes().iter().map(|byte| byte.wrapping_add(1)));
                key.extend(std::iter::repeat_n(b'x', (number % 20) as usize));
                key.push(0);
                key
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Change {
    /// Inserts `count` numbers from `from` in steps of `stride`.
    Insert {
        from: u64,
        stride: u64,
        count: u64,
    },
    Remove {
        from: u64,
        stride: u64,
        count: u64,
    },
    Ghost {
        number: u64,
        ghost: bool,
    },
    Replace {
        number: u64,
        value: u64,
    },
    Scan {
        lower: End,
        upper: End,
        direction: Direction,
        limit: usize,
    },
    Prior {
        number: u64,
    },
}

#[derive(Clone, Copy, Debug)]
enum End {
    Open,
    Included(u64),
    Excluded(u64),
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        Just(End::Open),
        (0..600_u64).prop_map(End::Included),
        (0..600_u64).prop_map(End::Excluded),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let run = || (0..600_u64, 1..8_u64, 1..250_u64);
    prop_oneof![
        4 => run().prop_map(|(from, stride, count)| Change::Insert { from, stride, count }),
        3 => run().prop_map(|(from, stride, count)| Change::Remove { from, stride, count }),
        1 => (0..600_u64, any::<bool>())
            .prop_map(|(number, ghost)| Change::Ghost { number, ghost }),
        1 => (0..600_u64, 0..100_u64).prop_map(|(number, value)| Change::Replace { number, value }),
        3 => (end(), end(), any::<bool>(), prop_oneof![1..10_usize, Just(usize::MAX)]).prop_map(
            |(lower, upper, up, limit)| Change::Scan {
                lower,
                upper,
                direction: if up { Direction::Ascending } else { Direction::Descending },
                limit,
            }
        ),
        1 => (0..600_u64).prop_map(|number| Change::Prior { number }),
    ]
}

pub(super) fn keys() -> impl Strategy<Value = Keys> {
    prop_oneof![Just(Keys::Integer), Just(Keys::Composite), Just(Keys::Text), Just(Keys::Long)]
}

/// What a walk names, all steps confirmed.
pub(super) fn names(
    tree: &BTree,
    range: KeyRange<'_>,
    direction: Direction,
) -> Vec<(Vec<u8>, Step)> {
    let mut buffers = WalkBuffers::default();
    let mut walk = tree.walk(&mut buffers, range, direction);
    let mut named = Vec::new();
    while let Some(step) = walk.step() {
        let key = walk.key().to_vec();
        assert!(walk.confirm(), "nobody else is here");
        named.push((key, step));
    }
    named
}

struct Run {
    keys: Keys,
    tree: BTree,
    model: BTreeMap<Vec<u8>, u64>,
    buffers: ScanBuffers,
    /// Used for every other number.
    hint: Hint,
}

impl Run {
    fn step(&mut self, step: &Change) {
        match *step {
            Change::Insert { from, stride, count } => {
                for number in (0..count).map(|number| (from + number * stride) % 600) {
                    let key = self.keys.key(number);
                    let there = self.model.get(&key).copied();
                    let inserted = match number % 2 {
                        0 => self.tree.insert_hinted(&key, number, &mut self.hint),
                        _ => self.tree.insert(&key, number),
                    };
                    assert_eq!(inserted, Ok(there));
                    self.model.entry(key).or_insert(number);
                }
            }
            Change::Remove { from, stride, count } => {
                for number in (0..count).map(|number| (from + number * stride) % 600) {
                    let key = self.keys.key(number);
                    let value = self.model.remove(&key);
                    assert_eq!(self.tree.get_hinted(&key, &mut self.hint), value);
                    assert!(!self.tree.remove(&key, 601), "no entry has this value");
                    assert_eq!(self.tree.remove(&key, value.unwrap_or(0)), value.is_some());
                }
            }
            Change::Ghost { number, ghost } => {
                let key = self.keys.key(number);
                let old = self.model.get_mut(&key);
                let expected = old.as_ref().map_or(0, |old| **old);
                assert_eq!(self.tree.set_ghost(&key, expected, ghost), old.is_some());
                if let Some(old) = old {
                    *old = *old & !GHOST | if ghost { GHOST } else { 0 };
                }
            }
            Change::Replace { number, value } => {
                let key = self.keys.key(number);
                let old = self.model.get_mut(&key);
                assert_eq!(self.tree.replace(&key, value), old.as_deref().copied());
                if let Some(old) = old {
                    *old = value;
                }
            }
            Change::Scan { lower, upper, direction, limit } => {
                self.scan(lower, upper, direction, limit);
            }
            Change::Prior { number } => self.prior(&self.keys.key(number)),
        }
    }

    fn scan(&mut self, lower: End, upper: End, direction: Direction, limit: usize) {
        let [lower, upper] = [lower, upper].map(|end| match end {
            End::Open => Bound::Unbounded,
            End::Included(number) => Bound::Included(self.keys.key(number)),
            End::Excluded(number) => Bound::Excluded(self.keys.key(number)),
        });
        let in_range = |key: &Vec<u8>| {
            let above = match &lower {
                Bound::Unbounded => true,
                Bound::Included(end) => key >= end,
                Bound::Excluded(end) => key > end,
            };
            above
                && match &upper {
                    Bound::Unbounded => true,
                    Bound::Included(end) => key <= end,
                    Bound::Excluded(end) => key < end,
                }
        };
        let mut expected: Vec<_> = self.model.iter().filter(|(key, _)| in_range(key)).collect();
        if direction == Direction::Descending {
            expected.reverse();
        }
        expected.truncate(limit);
        let range = KeyRange {
            lower: lower.as_ref().map(Vec::as_slice),
            upper: upper.as_ref().map(Vec::as_slice),
        };
        let mut values = Vec::new();
        let _ = self.tree.scan_values(&mut self.buffers, range, direction, |value| {
            values.push(value);
            if values.len() == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(values, expected.iter().map(|&(_, &value)| value).collect::<Vec<_>>());
        let mut cursor = self.tree.cursor(&mut self.buffers, Wanted::Entries, range, direction);
        for (key, value) in expected {
            let entry = cursor.next().expect("the model has more");
            assert_eq!((entry.key, entry.value), (&key[..], *value));
            assert!(self.tree.validate(entry.stamp));
        }
        if limit == usize::MAX {
            assert_eq!(cursor.next(), None);
            assert_eq!(cursor.next(), None);
        }
        assert!(cursor.stamps().iter().all(|&stamp| self.tree.validate(stamp)));
        if limit == usize::MAX {
            self.walk(range, direction, &in_range);
        }
    }

    /// A walk must name what protects each key of the range, there or not.
    fn walk(
        &self,
        range: KeyRange<'_>,
        direction: Direction,
        in_range: &impl Fn(&Vec<u8>) -> bool,
    ) {
        let named = names(&self.tree, range, direction);
        let mut prior = KeyBuffer::new();
        for key in (0..600).map(|number| self.keys.key(number)) {
            let found = self.tree.get_or_prior(&key, &mut prior).0;
            let steps = named.iter().filter(|(name, _)| name == prior.as_bytes());
            let entries = steps.clone().filter_map(|(_, step)| step.entry).count();
            match (found, in_range(&key)) {
                (Prior::Exact(_), true) => assert_eq!(entries, 1, "{key:02x?} of {named:02x?}"),
                (Prior::Exact(_), false) => assert_eq!(entries, 0, "{key:02x?} of {named:02x?}"),
                (_, true) => assert!(steps.clone().any(|(_, step)| step.gap), "{key:02x?}"),
                (_, false) => {}
            }
        }
    }

    fn prior(&self, key: &[u8]) {
        let mut prior = KeyBuffer::new();
        let (found, stamp) = self.tree.get_or_prior(key, &mut prior);
        assert!(self.tree.validate(stamp));
        let below = self.model.range(..key.to_vec()).next_back();
        match found {
            Prior::Exact(value) => assert_eq!(self.model.get(key), Some(&value)),
            Prior::Key(value) => {
                assert_eq!(below, Some((&prior.as_bytes().to_vec(), &value)));
            }
            Prior::Fence => {
                assert!(prior.as_bytes() <= key);
                assert!(below.is_none_or(|(below, _)| &below[..] < prior.as_bytes()));
            }
        }
        assert_eq!(matches!(found, Prior::Exact(_)), self.model.contains_key(key));
    }
}

fn run(tree: BTree, keys: Keys, steps: &[Change]) {
    let mut run = Run {
        keys,
        tree,
        model: BTreeMap::new(),
        buffers: ScanBuffers::default(),
        hint: Hint::default(),
    };
    for step in steps {
        run.step(step);
        let shape = checked(&run.tree);
        assert_eq!(shape.entries, run.model.len());
        assert!(shape.empty_leaves == 0 || shape.leaves == 1, "{shape:?}");
    }
    for (key, value) in &run.model {
        assert_eq!(run.tree.get(key), Some(*value));
        assert_eq!(run.tree.get_hinted(key, &mut run.hint), Some(*value));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_is_a_map(keys in keys(), steps in prop::collection::vec(change(), 1..40)) {
        run(tree(keys.longest()), keys, &steps);
        run(tree_of_one_writer(keys.longest()), keys, &steps);
    }
}
