use hotrow_base::sync::facade::atomic::{AtomicBool, AtomicUsize};
use std::collections::{BTreeSet, HashMap, HashSet};

use proptest::prelude::*;
use rand::{Rng, SeedableRng, rngs::SmallRng};

use super::*;

/// Accepts this record only.
fn accept(id: RecordId) -> impl Fn(RecordId) -> Option<RecordId> {
    move |found| (found == id).then_some(found)
}

fn index() -> HashIndex {
    HashIndex::new(Arc::new(MemoryBudget::unlimited())).expect("the budget is unlimited")
}

/// One that is changed by one thread at a time.
fn index_of_one_writer() -> HashIndex {
    let index = index();
    index.set_one_writer(true);
    index
}

/// Keys are ids here: the id is all that a `matches` needs.
fn id(number: u64) -> RecordId {
    RecordId::from_bits(number)
}

fn hash(number: u64) -> u64 {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) ^ mixed >> 29
}

fn get(index: &HashIndex, number: u64) -> Option<RecordId> {
    index.get(hash(number), accept(id(number)))
}

#[test]
fn an_empty_index_has_nothing() {
    let index = index();
    assert_eq!(get(&index, 1), None);
    assert_eq!(index.candidate(hash(1)), None);
    assert!(!index.remove(hash(1), id(1)));
    assert!(!index.replace(hash(1), id(1), id(2)));
    assert!(index.is_empty());
}

#[test]
fn a_hash_of_zeroes_is_a_hash_like_others() {
    let index = index();
    assert_eq!(index.get(0, Some), None);
    assert_eq!(index.candidate(0), None);
    index.insert(0, id(1)).expect("the budget is unlimited");
    assert_eq!(index.get(0, Some), Some(id(1)));
}

#[test]
fn a_unique_insert_returns_the_record_in_its_way() {
    let index = index();
    let insert = |new| index.insert_unique(hash(7), id(new), |_| true);
    assert_eq!(insert(1), Ok(None));
    assert_eq!(insert(2), Ok(Some(id(1))));
    assert_eq!(index.len(), 1);
}

#[test]
fn entries_of_one_hash_form_a_chain_that_shrinks_again() {
    let index = index();
    for number in 1..=1_000 {
        index.insert(42, id(number)).expect("the budget is unlimited");
    }
    let mut found = Vec::new();
    index.get_all(42, &mut found);
    assert_eq!(found.iter().copied().collect::<HashSet<_>>().len(), 1_000);
    assert_eq!(index.get(42, accept(id(1_000))), Some(id(1_000)));
    assert!(index.replace(42, id(500), id(5_000)));
    for number in (1..=1_000).filter(|&number| number != 500) {
        assert!(index.remove(42, id(number)), "entry {number}");
    }
    index.get_all(42, &mut found);
    assert_eq!(found, [id(5_000)]);
    let bytes = index.bytes_used();
    for number in 1..=1_000 {
        index.insert(42, id(number)).expect("the budget is unlimited");
    }
    assert_eq!(index.bytes_used(), bytes, "overflow buckets are recycled");
}

#[test]
fn growing_keeps_every_entry_and_the_load() {
    const ENTRIES: u64 = 300_000;
    let index = index();
    for number in 1..=ENTRIES {
        index.insert(hash(number), id(number)).expect("the budget is unlimited");
    }
    for number in 1..=ENTRIES {
        assert_eq!(get(&index, number), Some(id(number)));
        assert_eq!(get(&index, number + ENTRIES), None);
    }
    assert_eq!(index.len(), ENTRIES);
    let estimate = index.len_estimate();
    assert!(estimate.abs_diff(ENTRIES) < ENTRIES / 20, "{estimate} estimated");
    let bytes_per_entry = index.bytes_used() as f64 / ENTRIES as f64;
    assert!(bytes_per_entry < 18.0, "{bytes_per_entry} bytes for each entry");
}

#[test]
fn a_visit_sees_each_entry_once_when_nothing_changes() {
    let index = index();
    for number in 1..=20_000 {
        index.insert(hash(number), id(number)).expect("the budget is unlimited");
    }
    let mut seen = Vec::new();
    index.for_each(|id| seen.push(id.bits()));
    seen.sort_unstable();
    assert_eq!(seen, (1..=20_000).collect::<Vec<_>>());
}

#[test]
fn the_budget_refuses_inserts_and_nothing_else() {
    let budget = Arc::new(MemoryBudget::new(200_000));
    let index = HashIndex::new(Arc::clone(&budget)).expect("64 KiB fit");
    let mut inserted = 0;
    let refused = (1..1_000_000).find_map(|number| {
        inserted = number - 1;
        index.insert(hash(number), id(number)).err()
    });
    assert_eq!(refused.map(|refused| refused.limit), Some(200_000));
    assert!(inserted > 200_000 / 40, "only {inserted} entries fit");
    for number in 1..=inserted {
        assert_eq!(get(&index, number), Some(id(number)));
    }
    assert_eq!(budget.used(), index.bytes_used());
    for number in 1..=inserted {
        assert!(index.remove(hash(number), id(number)));
    }
    assert!(index.insert(hash(1), id(1)).is_ok(), "deletes made room");
    drop(index);
    assert_eq!(budget.used(), 0);
}

#[test]
fn an_index_without_room_is_not_made() {
    assert!(HashIndex::new(Arc::new(MemoryBudget::new(1_000))).is_err());
}

/// Few distinct hashes and tags, so that chains, splits and false tag matches all happen.
fn crowded_hash(key: u64) -> u64 {
    (key % 5) | ((key % 3) << 10) | ((key % 7) << 12)
}

#[derive(Clone, Debug)]
enum Step {
    InsertUnique(u64),
    Remove(u64),
    Replace(u64),
    Get(u64),
    GetAll(u64),
    /// Entries that make the index grow.
    Crowd(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..60_u64;
    prop_oneof![
        6 => key.clone().prop_map(Step::InsertUnique),
        3 => key.clone().prop_map(Step::Remove),
        2 => key.clone().prop_map(Step::Replace),
        2 => key.clone().prop_map(Step::Get),
        1 => key.prop_map(Step::GetAll),
        1 => (1..4_000_u64).prop_map(Step::Crowd),
    ]
}

/// Runs `steps` against the standard library's map. Ids carry their key in the low byte.
fn behaves_like_a_map(index: HashIndex, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut model: HashMap<u64, RecordId> = HashMap::new();
    let mut next = 1_u64;
    let mut found = Vec::new();
    let mut crowd = 0;
    let mut fresh = |key| {
        next += 1;
        id(next << 8 | key)
    };
    let key_is = |key| move |id: RecordId| id.bits() & 0xff == key && id.bits() < 1 << 39;
    for step in steps.iter().cloned() {
        match step {
            Step::InsertUnique(key) => {
                let new = fresh(key);
                let existing = index
                    .insert_unique(crowded_hash(key), new, key_is(key))
                    .expect("the budget is unlimited");
                prop_assert_eq!(existing, model.get(&key).copied());
                model.entry(key).or_insert(new);
            }
            Step::Remove(key) => {
                let old = model.remove(&key);
                let removed = index.remove(crowded_hash(key), old.unwrap_or(fresh(key)));
                prop_assert_eq!(removed, old.is_some());
            }
            Step::Replace(key) => {
                if let Some(old) = model.get_mut(&key) {
                    let new = fresh(key);
                    prop_assert!(index.replace(crowded_hash(key), *old, new));
                    prop_assert!(!index.replace(crowded_hash(key), *old, new));
                    *old = new;
                }
            }
            Step::Get(key) => {
                let got = index.get(crowded_hash(key), |id| key_is(key)(id).then_some(id));
                prop_assert_eq!(got, model.get(&key).copied());
            }
            Step::GetAll(key) => {
                index.get_all(crowded_hash(key), &mut found);
                let found: BTreeSet<_> = found.iter().copied().collect();
                let expected = model.iter().filter(|(k, _)| crowded_hash(**k) == crowded_hash(key));
                prop_assert!(expected.map(|(_, id)| id).all(|id| found.contains(id)));
            }
            Step::Crowd(more) => {
                for number in crowd..crowd + more {
                    let id = id(1 << 39 | number);
                    index.insert(hash(number), id).expect("the budget is unlimited");
                }
                crowd += more;
            }
        }
    }
    prop_assert_eq!(index.len(), model.len() as u64 + crowd);
    for number in 0..crowd {
        let id = id(1 << 39 | number);
        prop_assert_eq!(index.get(hash(number), accept(id)), Some(id));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn an_index_behaves_like_a_map(steps in prop::collection::vec(step(), 1..300)) {
        behaves_like_a_map(index(), &steps)?;
        behaves_like_a_map(index_of_one_writer(), &steps)?;
    }
}

#[test]
fn a_stamp_holds_until_its_bucket_changes() {
    let index = index();
    let absent = index.stamp(hash(7));
    assert!(index.holds(absent) && absent == index.stamp(hash(7)));
    let mut changes = Vec::new();
    let mut insert = |number| {
        let none = |_| false;
        let observe = |before, after| changes.push((before, after));
        index.insert_unique_observed(hash(number), id(number), none, observe)
    };
    assert_eq!(insert(7), Ok(None));
    assert!(!index.holds(absent));
    let (before, after) = changes[0];
    assert!(before == absent && after == index.stamp(hash(7)) && index.holds(after));
    assert!(index.remove(hash(7), id(7)));
    assert!(!index.holds(after), "a removal is a change");
    // Until the index has grown several times: no bucket looks as it did.
    let stamps: Vec<_> = (0..BUCKETS_FIRST).map(|number| index.stamp(number)).collect();
    for number in 1..=50 * BUCKETS_FIRST {
        index.insert(hash(number), id(number)).expect("the budget is unlimited");
    }
    assert!(index.bucket_count() > 2 * BUCKETS_FIRST);
    assert!(stamps.iter().all(|&stamp| !index.holds(stamp)));
}

/// Threads insert, remove and replace in disjoint sets of keys while the index grows under them;
/// each must always find exactly its own keys, and all must always find the keys nobody removes.
#[test]
fn nobody_misses_an_entry_while_the_index_grows() {
    nobody_misses_an_entry_of(&index(), 4);
    nobody_misses_an_entry_of(&index_of_one_writer(), 1);
}

fn nobody_misses_an_entry_of(index: &HashIndex, threads: u64) {
    const KEYS: u64 = 40_000;
    const PERMANENT: u64 = 2_000;
    for number in 1..=PERMANENT {
        index.insert(hash(number), id(number)).expect("the budget is unlimited");
    }
    let first_bucket_count = index.bucket_count();
    let running = AtomicUsize::new(threads as usize);
    std::thread::scope(|scope| {
        for thread in 1..=threads {
            let running = &running;
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(thread);
                for key in 0..KEYS {
                    let number = (thread << 32) | (key + 1);
                    let inserted =
                        index.insert_unique(hash(number), id(number), |found| found == id(number));
                    assert_eq!(inserted, Ok(None));
                    let earlier = (thread << 32) | (random.random_range(0..=key) + 1);
                    if earlier % 4 == 0 {
                        if index.remove(hash(earlier), id(earlier)) {
                            assert_eq!(get(index, earlier), None);
                        }
                    } else {
                        assert_eq!(get(index, earlier), Some(id(earlier)));
                    }
                }
                running.fetch_sub(1, Relaxed);
            });
        }
        let running = &running;
        scope.spawn(move || {
            let mut random = SmallRng::seed_from_u64(99);
            while running.load(Relaxed) > 0 {
                let number = random.random_range(1..=PERMANENT);
                assert_eq!(get(index, number), Some(id(number)), "a permanent entry was missed");
                assert_eq!(get(index, 1 << 38 | number), None);
            }
        });
    });
    assert!(index.bucket_count() > first_bucket_count, "the index never grew");
    for number in (1..=threads).flat_map(|t| (1..=KEYS).map(move |key| t << 32 | key)) {
        if number % 4 != 0 {
            assert_eq!(get(index, number), Some(id(number)));
        }
    }
}

/// One chain is lengthened, shortened and replaced in without end; its one permanent entry must
/// never be missed, and no two writers may both insert one unique key.
#[test]
fn a_hot_chain_never_hides_an_entry() {
    let index = index();
    let hot = 77;
    index.insert(hot, id(1)).expect("the budget is unlimited");
    let done = AtomicBool::new(false);
    let owners = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 2..=3_u64 {
            let (index, done, owners) = (&index, &done, &owners);
            scope.spawn(move || {
                for round in 0..20_000_u64 {
                    let ids: Vec<_> =
                        (0..round % 20).map(|n| id((thread << 32) | (n + 1))).collect();
                    for &id in &ids {
                        index.insert(hot, id).expect("the budget is unlimited");
                    }
                    let unique = index.insert_unique(hot, id(thread), |id| id.bits() / 2 == 1);
                    if unique == Ok(None) {
                        assert_eq!(owners.fetch_add(1, Relaxed), 0, "two own one key");
                        owners.fetch_sub(1, Relaxed);
                        assert!(index.remove(hot, id(thread)));
                    }
                    for &id in &ids {
                        assert!(index.remove(hot, id));
                    }
                }
                done.store(true, Relaxed);
            });
        }
        let (index, done) = (&index, &done);
        scope.spawn(move || {
            let mut all = Vec::new();
            while !done.load(Relaxed) {
                assert_eq!(index.get(hot, accept(id(1))), Some(id(1)));
                index.get_all(hot, &mut all);
                assert!(all.contains(&id(1)));
                let distinct: HashSet<_> = all.iter().collect();
                assert_eq!(distinct.len(), all.len(), "an entry was read twice");
            }
        });
    });
    assert_eq!(index.len(), 1);
}
