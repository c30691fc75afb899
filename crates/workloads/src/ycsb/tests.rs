//! Keys, their order and their partitions; the counters' check.

use std::collections::BTreeSet;

use hotrow_base::datum::Datum;

use super::{KeyOrder, MIXED, Partitioning, READ, UPDATE, Ycsb, YcsbParameters};
use crate::parameter::Parameters;
use crate::tests::{Population, calls, generator};
use crate::workload::{Share, TransactionKind, Workload};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::routing::partition_of_bigint;

fn ycsb(parameters: YcsbParameters) -> Ycsb {
    parameters.validate().expect("the test's parameters go together");
    Ycsb { parameters }
}

/// The keys of each transaction, with its kind.
fn keys(parameters: YcsbParameters, count: usize) -> Vec<(TransactionKind, Vec<i64>)> {
    let calls = calls(&ycsb(parameters), Share::WHOLE, 9, count).into_iter();
    calls
        .map(|(kind, call)| {
            let range = call.1[0].as_range().range();
            (kind, call.2[range].iter().map(|d| d.as_int()).collect())
        })
        .collect()
}

fn distinct(keys: &[i64]) -> bool {
    keys.iter().collect::<BTreeSet<_>>().len() == keys.len()
}

#[test]
fn keys_are_distinct_in_every_distribution() {
    let tight = YcsbParameters { records: 12, operations: 10, ..Default::default() };
    let settings = [
        YcsbParameters { records: 1_000, ..Default::default() },
        YcsbParameters { theta: 1.0, operations: 12, ..tight.clone() },
        YcsbParameters { theta: 0.9, records: 1_000, operations: 20, ..Default::default() },
        YcsbParameters { hot: 2, ..tight.clone() },
        YcsbParameters { partitions: 4, multi_partition: 50.0, records: 48, ..tight },
    ];
    for parameters in settings {
        let records = parameters.records as i64;
        for (_, keys) in keys(parameters.clone(), 2_000) {
            assert!(distinct(&keys), "{parameters:?}: {keys:?}");
            assert!(keys.iter().all(|key| (0..records).contains(key)));
            assert_eq!(keys.len(), parameters.operations as usize);
        }
    }
}

#[test]
fn hot_records_come_when_they_are_asked_for() {
    let hot = YcsbParameters { records: 10_000, hot: 64, ..Default::default() };
    let is_hot = |key: &i64| *key < 64;
    for (_, keys) in keys(hot.clone(), 2_000) {
        assert!(keys[..2].iter().all(is_hot) && !keys[2..].iter().any(is_hot));
    }
    for (_, keys) in keys(YcsbParameters { order: KeyOrder::HotLast, ..hot.clone() }, 2_000) {
        assert!(keys[8..].iter().all(is_hot) && !keys[..8].iter().any(is_hot));
    }
    for (_, keys) in keys(YcsbParameters { order: KeyOrder::Sorted, ..hot.clone() }, 2_000) {
        assert!(keys.is_sorted());
    }
    let shuffled = keys(YcsbParameters { order: KeyOrder::Shuffled, ..hot }, 2_000);
    assert!(shuffled.iter().all(|(_, keys)| keys.iter().filter(|k| is_hot(k)).count() == 2));
    assert!(shuffled.iter().any(|(_, keys)| is_hot(&keys[9])));
}

#[test]
fn a_transaction_keeps_to_its_partitions() {
    for partitioning in [Partitioning::Range, Partitioning::Modulo, Partitioning::Routed] {
        let parameters = YcsbParameters {
            records: 24_000,
            partitions: 24,
            partitioning,
            multi_partition: 10.0,
            spread: 3,
            hot: 96,
            ..Default::default()
        };
        let partition = |key: &i64| match partitioning {
            Partitioning::Range => key / 1_000,
            Partitioning::Modulo => key % 24,
            Partitioning::Routed => partition_of_bigint(*key, 24).0.into(),
        };
        let all = keys(parameters, 20_000);
        let mut several = 0;
        let mut used = BTreeSet::new();
        for (_, keys) in &all {
            let partitions: BTreeSet<_> = keys.iter().map(partition).collect();
            assert!(partitions.len() == 1 || partitions.len() == 3);
            several += usize::from(partitions.len() == 3);
            used.extend(partitions);
        }
        assert!((1_700..2_300).contains(&several), "{several} of 20000");
        assert_eq!(used.len(), 24);
    }
}

#[test]
fn workers_at_home_begin_in_their_partition() {
    let parameters = YcsbParameters {
        records: 4_000,
        partitions: 4,
        partitioning: Partitioning::Routed,
        home: true,
        ..Default::default()
    };
    for (index, home) in [(0, 0), (3, 3), (5, 1)] {
        let workload = ycsb(parameters.clone());
        for (_, call) in calls(&workload, Share { index, of: 6 }, 9, 50) {
            let keys = &call.2[call.1[0].as_range().range()];
            assert!(keys.iter().all(|key| partition_of_bigint(key.as_int(), 4).0 == home));
        }
    }
}

#[test]
fn load_can_be_kept_to_the_first_partitions() {
    let parameters =
        YcsbParameters { records: 2_400, partitions: 24, active: 1, ..Default::default() };
    assert!(keys(parameters, 500).iter().all(|(_, keys)| keys.iter().all(|&key| key < 100)));
}

#[test]
fn a_scattered_distribution_is_as_skewed_as_a_plain_one() {
    let share = |scatter: bool| {
        let theta = YcsbParameters { records: 10_000, theta: 0.9, scatter, ..Default::default() };
        let mut counts = vec![0_u32; 10_000];
        for (_, keys) in keys(theta, 5_000) {
            keys.iter().for_each(|&key| counts[key as usize] += 1);
        }
        let clustered: u32 = counts[..1_000].iter().sum();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let popular: u32 = counts[..1_000].iter().sum();
        (f64::from(popular) / 50_000.0, f64::from(clustered) / 50_000.0)
    };
    let ((plain, plain_front), (scattered, scattered_front)) = (share(false), share(true));
    assert!((plain - scattered).abs() < 0.02, "{plain} {scattered}");
    assert!(plain_front > 0.65 && scattered_front < 0.35, "{plain_front} {scattered_front}");
}

#[test]
fn kinds_and_tallies_say_what_the_call_does() {
    for (reads, expected) in [(0.0, UPDATE), (100.0, READ)] {
        let parameters = YcsbParameters { records: 100, reads, ..Default::default() };
        assert!(keys(parameters, 100).iter().all(|(kind, _)| *kind == expected));
    }
    let workload = ycsb(YcsbParameters { records: 100, reads: 30.0, ..Default::default() });
    let mut generator = generator(&workload, Share::WHOLE, 9);
    let mut invocation = Invocation::default();
    let mut increments = 0;
    for _ in 0..5_000 {
        let kind = generator.next(&mut invocation);
        let arguments = &invocation.arguments;
        if kind == MIXED {
            let writes = &arguments.elements[arguments.datums[1].as_range().range()];
            let count = writes.iter().filter(|write| write.is_true()).count();
            assert_eq!(generator.tally(), count as u64);
        }
        increments += generator.tally();
    }
    assert!((34_000..36_000).contains(&increments), "{increments} of 50000");
}

#[test]
fn aborts_are_calls_whose_last_key_is_not_there() {
    for (partitions, partitioning) in
        [(1, Partitioning::Range), (8, Partitioning::Modulo), (8, Partitioning::Routed)]
    {
        let parameters = YcsbParameters {
            records: 1_001,
            partitions,
            partitioning,
            aborts: 10.0,
            ..Default::default()
        };
        let partition = |key: &i64| match partitioning {
            Partitioning::Modulo => key % 8,
            _ => partition_of_bigint(*key, partitions as u16).0.into(),
        };
        assert!(ycsb(parameters.clone()).kinds().iter().all(|kind| kind.aborts == 0.1));
        let mut aborts = 0;
        for (_, keys) in keys(parameters, 5_000) {
            let missing: Vec<_> = keys.iter().filter(|&&key| key > 1_000).collect();
            assert_eq!(keys.len(), 10 + missing.len());
            assert!(missing.is_empty() || missing == [keys.last().expect("there are keys")]);
            assert!(keys.iter().all(|key| partition(key) == partition(&keys[0])), "{keys:?}");
            aborts += missing.len();
        }
        assert!((400..600).contains(&aborts), "{aborts} of 5000");
    }
}

#[test]
fn rows_are_as_wide_as_asked() {
    for record_size in [17, 100, 1_000] {
        let workload = ycsb(YcsbParameters { records: 20, record_size, ..Default::default() });
        assert!(workload.schema_sql().contains(&format!("char({})", record_size - 16)));
        let fillers = Population::load(&workload, 1, 1).texts("usertable", "filler");
        assert!(fillers.iter().all(|f| f.len() == record_size as usize - 16));
    }
}

#[test]
fn lost_increments_and_lost_keys_are_noticed() {
    let workload = ycsb(YcsbParameters { records: 100, ..Default::default() });
    let mut population = Population::load(&workload, 1, 1);
    population.set("usertable", 3, "counter", Datum::int(7));
    assert_eq!(population.failures(&workload), [], "nobody counted");
    population.tally = Some(7);
    assert_eq!(population.failures(&workload), []);
    population.tally = Some(8);
    assert_eq!(population.failures(&workload)[0].name, "ycsb-counters");
    population.tally = Some(7);
    population.set("usertable", 5, "y_id", Datum::int(6));
    assert_eq!(population.failures(&workload)[0].name, "ycsb-keys");
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let refused = [
        YcsbParameters { hot: 64, theta: 0.5, ..Default::default() },
        YcsbParameters { hot: 1, ..Default::default() },
        YcsbParameters { records: 9, ..Default::default() },
        YcsbParameters { records: 100, partitions: 20, ..Default::default() },
        YcsbParameters { theta: 1.5, ..Default::default() },
        YcsbParameters { record_size: 16, ..Default::default() },
        YcsbParameters { active: 2, ..Default::default() },
        YcsbParameters { partitions: 0, ..Default::default() },
        YcsbParameters { aborts: 101.0, ..Default::default() },
        YcsbParameters { aborts: 1.0, reads: 1.0, ..Default::default() },
        YcsbParameters { aborts: 1.0, partitions: 2, ..Default::default() },
        YcsbParameters {
            partitions: 4,
            hot: 5,
            partitioning: Partitioning::Routed,
            ..Default::default()
        },
    ];
    for parameters in refused {
        assert!(parameters.validate().is_err(), "{parameters:?}");
    }
}
