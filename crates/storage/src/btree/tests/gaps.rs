use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::model::{Keys, keys, names};
use super::*;

/// Keys of the tests: 0 to this.
const KEYS: u64 = 400;

/// A transaction that has read a range and locked what a walk named.
struct Reader {
    /// name -> whether its key is locked, and its gap
    locks: BTreeMap<Vec<u8>, (bool, bool)>,
    /// numbers of the range that have no entry
    absent: BTreeSet<u64>,
    present: BTreeSet<u64>,
}

/// Looks at the readers' locks, as an engine does.
struct Readers<'a>(&'a [Reader]);

impl Readers<'_> {
    fn has_key(&self, name: &[u8]) -> bool {
        self.0.iter().any(|reader| reader.locks.get(name).is_some_and(|&(key, _)| key))
    }

    fn has_gap(&self, name: &[u8]) -> bool {
        self.0.iter().any(|reader| reader.locks.get(name).is_some_and(|&(_, gap)| gap))
    }
}

impl GapGuard for Readers<'_> {
    const ASKS: bool = true;

    fn may_divide(&mut self, prior: &[u8], _: &[u8]) -> bool {
        !self.has_gap(prior)
    }

    fn may_unite(&mut self, _: &[u8], key: &[u8]) -> bool {
        !self.0.iter().any(|reader| reader.locks.contains_key(key))
    }
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Read { from: u64, to: u64, up: bool },
    Release { reader: usize },
    Insert { from: u64, stride: u64, count: u64 },
    Remove { from: u64, stride: u64, count: u64 },
}

fn change() -> impl Strategy<Value = Change> {
    let run = || (0..KEYS, 1..8_u64, 1..200_u64);
    prop_oneof![
        2 => (0..KEYS, 1..40_u64, any::<bool>())
            .prop_map(|(from, length, up)| Change::Read { from, to: from + length, up }),
        1 => (0..4_usize).prop_map(|reader| Change::Release { reader }),
        3 => run().prop_map(|(from, stride, count)| Change::Insert { from, stride, count }),
        3 => run().prop_map(|(from, stride, count)| Change::Remove { from, stride, count }),
    ]
}

struct Run {
    keys: Keys,
    tree: BTree,
    model: BTreeSet<u64>,
    readers: Vec<Reader>,
    /// keys whose removal is to be tried again
    due: BTreeSet<u64>,
}

impl Run {
    fn read(&mut self, from: u64, to: u64, up: bool) {
        let (one, other) = (self.keys.key(from), self.keys.key(to));
        let (lower, upper) = (one.as_slice().min(&other), one.as_slice().max(&other));
        let range = KeyRange { lower: Bound::Included(lower), upper: Bound::Excluded(upper) };
        let direction = if up { Direction::Ascending } else { Direction::Descending };
        let mut locks = BTreeMap::new();
        for (name, step) in names(&self.tree, range, direction) {
            let lock = locks.entry(name).or_insert((false, false));
            *lock = (lock.0 || step.entry.is_some(), lock.1 || step.gap);
        }
        let in_range = |number: &u64| {
            let key = self.keys.key(*number);
            lower <= key.as_slice() && key.as_slice() < upper
        };
        let (present, absent) =
            (0..KEYS).filter(in_range).partition(|number| self.model.contains(number));
        self.readers.push(Reader { locks, absent, present });
    }

    fn insert(&mut self, number: u64) {
        let key = self.keys.key(number);
        let mut guard = Readers(&self.readers);
        if guard.has_key(&key) {
            return; // the inserter waits for the key
        }
        let entered = self.tree.insert_guarded(&key, number, &mut Hint::default(), &mut guard);
        if self.model.contains(&number) {
            assert_eq!(entered, Ok(Entered::Exists(number)));
        } else if entered == Ok(Entered::Yes) {
            let phantom = self.readers.iter().any(|reader| reader.absent.contains(&number));
            assert!(!phantom, "{number} came to stand in a gap that somebody has locked");
            self.model.insert(number);
        } else {
            assert_eq!(entered, Ok(Entered::Denied));
        }
    }

    fn remove(&mut self, number: u64) {
        let key = self.keys.key(number);
        let mut guard = Readers(&self.readers);
        if guard.has_key(&key) {
            return; // the remover waits for the key
        }
        let removal = self.tree.remove_guarded(&key, number, &mut guard);
        let was_there = self.model.remove(&number);
        let was_absent = matches!(removal, Removal::Absent | Removal::StillEmpty);
        assert_eq!(was_absent, !was_there);
        let lost = self.readers.iter().any(|reader| was_there && reader.present.contains(&number));
        assert!(!lost, "{number} was read and is not locked");
        if matches!(removal, Removal::Kept | Removal::Emptied) {
            self.due.insert(number);
        }
    }

    /// Tries the removals again that were forbidden.
    fn housekeep(&mut self) {
        let mut guard = Readers(&self.readers);
        let (keys, tree) = (self.keys, &self.tree);
        self.due.retain(|&number| {
            let removal = tree.remove_guarded(&keys.key(number), VACANT, &mut guard);
            !matches!(removal, Removal::Absent | Removal::Done)
        });
    }
}

fn run(keys: Keys, changes: &[Change]) {
    let tree = tree(keys.longest());
    tree.guard_gaps();
    let mut run =
        Run { keys, tree, model: BTreeSet::new(), readers: Vec::new(), due: BTreeSet::new() };
    for (round, change) in changes.iter().enumerate() {
        match *change {
            Change::Read { from, to, up } => run.read(from, to % KEYS, up),
            Change::Release { reader } => {
                if reader < run.readers.len() {
                    run.readers.remove(reader);
                }
            }
            Change::Insert { from, stride, count } => {
                (0..count).for_each(|number| run.insert((from + number * stride) % KEYS));
            }
            Change::Remove { from, stride, count } => {
                (0..count).for_each(|number| run.remove((from + number * stride) % KEYS));
            }
        }
        if round % 3 == 0 {
            run.housekeep();
        }
        let shape = checked(&run.tree);
        assert_eq!(shape.entries - shape.ghosts, run.model.len());
    }
    run.readers.clear();
    run.housekeep();
    run.housekeep();
    let shape = checked(&run.tree);
    assert_eq!((shape.entries, shape.ghosts), (run.model.len(), 0));
    assert!(shape.empty_leaves == 0 || shape.leaves == 1, "{shape:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn no_gap_moves_away_from_its_lock(
        keys in keys(),
        changes in prop::collection::vec(change(), 1..40),
    ) {
        run(keys, &changes);
    }
}

/// A guard that forbids everything, and notes what it was asked.
#[derive(Default)]
struct Forbids(Vec<(Vec<u8>, Vec<u8>)>);

impl GapGuard for Forbids {
    const ASKS: bool = true;

    fn may_divide(&mut self, prior: &[u8], key: &[u8]) -> bool {
        self.0.push((prior.to_vec(), key.to_vec()));
        false
    }

    fn may_unite(&mut self, prior: &[u8], key: &[u8]) -> bool {
        self.0.push((prior.to_vec(), key.to_vec()));
        false
    }
}

fn guarded() -> BTree {
    let tree = tree(8);
    tree.guard_gaps();
    tree
}

#[test]
fn an_empty_tree_has_one_gap_with_an_empty_name() {
    let (tree, mut asked) = (guarded(), Forbids::default());
    let denied = tree.insert_guarded(b"key", 1, &mut Hint::default(), &mut asked);
    assert_eq!(denied, Ok(Entered::Denied));
    assert_eq!(asked.0, [(Vec::new(), b"key".to_vec())]);
    assert_eq!(tree.get(b"key"), None);
    for direction in [Direction::Ascending, Direction::Descending] {
        let gap = Step { entry: None, gap: true };
        assert_eq!(names(&tree, KeyRange::ALL, direction), [(Vec::new(), gap)]);
    }
}

#[test]
fn a_forbidden_removal_leaves_a_ghost_that_an_insert_may_use() {
    let (tree, mut asked) = (guarded(), Forbids::default());
    for key in [b"a", b"c"] {
        assert_eq!(tree.insert(key, 5), Ok(None));
    }
    assert_eq!(tree.remove_guarded(b"c", 5, &mut asked), Removal::Kept);
    assert_eq!(asked.0, [(b"a".to_vec(), b"c".to_vec())]);
    assert_eq!(tree.get(b"c"), Some(VACANT));
    assert_eq!(tree.remove_guarded(b"c", 5, &mut asked), Removal::Absent, "it has another value");
    let entered = tree.insert_guarded(b"c", 6, &mut Hint::default(), &mut Forbids::default());
    assert_eq!(entered, Ok(Entered::Yes), "a ghost divides the gap already");
    assert_eq!(tree.get(b"c"), Some(6));
}

/// All keys of a leaf are removed but its fence is locked: the leaf stays, and goes when a removal
/// is tried again later. A scan that meets it must not merge it.
#[test]
fn a_leaf_whose_fence_is_locked_stays() {
    let tree = guarded();
    for number in 0..200_u64 {
        assert_eq!(tree.insert(&number.to_be_bytes(), number), Ok(None));
    }
    let leaf = |number: u64| tree.lookup(&number.to_be_bytes()).stamp.node;
    let mut leaves: Vec<Vec<u64>> = Vec::new();
    for number in 0..200 {
        match leaves.last_mut() {
            Some(last) if leaf(last[0]) == leaf(number) => last.push(number),
            _ => leaves.push(vec![number]),
        }
    }
    // In each leaf the key that is its fence goes first: then it is no entry when all are gone.
    for leaf in leaves.iter().rev() {
        let mut last = Removal::Absent;
        for number in leaf {
            let key = number.to_be_bytes();
            last = tree.remove_guarded(&key, *number, &mut OnlyKey(key));
        }
        assert_eq!(last, Removal::Emptied);
    }
    let shape = checked(&tree);
    assert_eq!((shape.entries, shape.empty_leaves), (0, shape.leaves));
    assert!(shape.leaves > 2, "{shape:?}");
    assert_eq!(collect(&tree, KeyRange::ALL, Direction::Ascending), []);
    assert_eq!(collect(&tree, KeyRange::ALL, Direction::Descending), []);
    assert_eq!(checked(&tree), shape, "scans left the leaves alone");

    let gaps = names(&tree, KeyRange::ALL, Direction::Ascending);
    assert_eq!(gaps.len(), shape.leaves, "each fence stands for a gap");
    let fence = &gaps[1];
    let only = KeyRange { lower: Bound::Included(&fence.0), upper: Bound::Included(&fence.0) };
    for direction in [Direction::Ascending, Direction::Descending] {
        assert_eq!(&names(&tree, only, direction)[..1], std::slice::from_ref(fence));
    }
    let mut down = names(&tree, KeyRange::ALL, Direction::Descending);
    down.reverse();
    assert_eq!(down, gaps);

    for number in 0..200_u64 {
        tree.remove_guarded(&number.to_be_bytes(), VACANT, &mut Allows);
    }
    assert_eq!(checked(&tree).leaves, 1);
}

struct OnlyKey([u8; 8]);

impl GapGuard for OnlyKey {
    const ASKS: bool = true;

    fn may_divide(&mut self, _: &[u8], _: &[u8]) -> bool {
        true
    }

    fn may_unite(&mut self, _: &[u8], key: &[u8]) -> bool {
        key == self.0
    }
}

struct Allows;

impl GapGuard for Allows {
    const ASKS: bool = true;

    fn may_divide(&mut self, _: &[u8], _: &[u8]) -> bool {
        true
    }

    fn may_unite(&mut self, _: &[u8], _: &[u8]) -> bool {
        true
    }
}

/// The modes of table 3, told by steps: at an exact match and not, with inclusive and exclusive
/// ends, up and down.
#[test]
fn walks_name_what_table_3_locks() {
    let tree = guarded();
    for key in [10_u64, 20, 30] {
        assert_eq!(tree.insert(&key.to_be_bytes(), key), Ok(None));
    }
    let named = |lower: Bound<u64>, upper: Bound<u64>, direction| {
        let (lower, upper) = (lower.map(u64::to_be_bytes), upper.map(u64::to_be_bytes));
        let range = KeyRange {
            lower: lower.as_ref().map(<[u8; 8]>::as_slice),
            upper: upper.as_ref().map(<[u8; 8]>::as_slice),
        };
        let steps = names(&tree, range, direction);
        let shown = steps.iter().map(|(key, step)| {
            let key = key.first_chunk().map_or(0, |key| u64::from_be_bytes(*key));
            let mode = match (step.entry.is_some(), step.gap) {
                (true, true) => "S",
                (true, false) => "SN",
                (false, true) => "NS",
                (false, false) => "N",
            };
            format!("{key}:{mode}")
        });
        shown.collect::<Vec<_>>().join(" ")
    };
    use Bound::{Excluded, Included, Unbounded};
    let up = |lower, upper| named(lower, upper, Direction::Ascending);
    let down = |lower, upper| named(lower, upper, Direction::Descending);
    assert_eq!(up(Included(10), Included(20)), "10:S 20:SN");
    assert_eq!(up(Excluded(10), Excluded(30)), "10:NS 20:S");
    assert_eq!(up(Included(15), Included(25)), "10:NS 20:S");
    assert_eq!(up(Included(12), Included(14)), "10:NS");
    assert_eq!(up(Included(5), Included(7)), "0:NS");
    assert_eq!(up(Unbounded, Unbounded), "0:NS 10:S 20:S 30:S");
    assert_eq!(down(Included(10), Included(20)), "20:SN 10:S");
    assert_eq!(down(Excluded(10), Excluded(30)), "20:S 10:NS");
    assert_eq!(down(Included(15), Included(25)), "20:S 10:NS");
    assert_eq!(down(Included(12), Included(14)), "10:NS");
    assert_eq!(down(Included(5), Included(7)), "0:NS");
    assert_eq!(down(Unbounded, Unbounded), "30:S 20:S 10:S 0:NS");
    assert_eq!(up(Included(20), Included(20)), "20:SN");
    assert_eq!(down(Included(20), Included(20)), "20:SN");
}

/// Upwards a gap is confirmed before it is crossed. When a key leaves it in between, the reader
/// has to hear of it: whoever took the key out has left word at the name of the gap by then.
#[test]
fn a_gap_that_changed_after_it_was_confirmed_is_named_again() {
    let key = |number: u64| number.to_be_bytes();
    for lower in [Bound::Included(key(10)), Bound::Excluded(key(10)), Bound::Included(key(15))] {
        let tree = guarded();
        for number in [10, 20, 30] {
            assert_eq!(tree.insert(&key(number), number), Ok(None));
        }
        let mut buffers = WalkBuffers::default();
        let lower = lower.as_ref().map(<[u8; 8]>::as_slice);
        let range = KeyRange { lower, upper: Bound::Unbounded };
        let mut walk = tree.walk(&mut buffers, range, Direction::Ascending);
        let first = walk.step().expect("the gap behind 10, or 10 as well");
        assert_eq!((walk.key(), first.gap), (&key(10)[..], true));
        assert!(walk.confirm());

        assert_eq!(tree.remove_guarded(&key(20), 20, &mut Allows), Removal::Done);
        assert_eq!(walk.step(), Some(Step { entry: None, gap: true }));
        assert_eq!(walk.key(), key(10));
        assert!(walk.confirm());
        assert_eq!(walk.step(), Some(Step { entry: Some(30), gap: true }));

        // And when it changes before what comes next is confirmed.
        assert_eq!(tree.remove_guarded(&key(30), 30, &mut Allows), Removal::Done);
        assert!(!walk.confirm());
        assert_eq!(walk.step(), Some(Step { entry: None, gap: true }));
        assert_eq!(walk.key(), key(10));
        assert!(walk.confirm());
        assert_eq!(walk.step(), None);
    }
}
