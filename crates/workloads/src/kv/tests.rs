//! Population, what calls reach for, parameters, and checks that speak.

use std::collections::BTreeSet;

use hotrow_base::datum::Datum;
use hotrow_transaction::routing::partition_of_bigint;

use super::{Kv, KvParameters, MULTI, SINGLE, TWO_ROUNDS};
use crate::check::Finding;
use crate::parameter::{ParameterError, Parameters};
use crate::tests::{Call, Population, calls, generator};
use crate::workload::{Share, TransactionKind, Workload};
use hotrow_transaction::invocation::Invocation;

fn kv(parameters: KvParameters) -> Kv {
    parameters.validate().expect("the test's parameters go together");
    Kv { parameters }
}

/// One partition's work, as a call says it.
#[derive(Debug)]
struct Part {
    number: i64,
    /// (client, number of its key)
    keys: Vec<(u32, u32)>,
    aborts: bool,
}

/// A call: its procedure, and the work of each of its partitions.
#[derive(Debug)]
struct Known {
    procedure: u32,
    parts: Vec<Part>,
}

impl Known {
    /// Owners of keys, each as often as it has one here.
    fn owners(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().flat_map(|part| part.keys.iter().map(|&(client, _)| client))
    }

    /// The client that most keys belong to.
    fn client(&self) -> u32 {
        let count = |client| self.owners().filter(|&owner| owner == client).count();
        self.owners().max_by_key(|&client| count(client)).expect("a call has keys")
    }

    /// Owners of keys other than the client, with the number of the partition.
    fn foreign(&self) -> Vec<(u32, i64)> {
        let client = self.client();
        let of = |part: &Part| {
            let others = part.keys.iter().filter(|&&(owner, _)| owner != client);
            others.map(|&(owner, _)| (owner, part.number)).collect::<Vec<_>>()
        };
        self.parts.iter().flat_map(of).collect()
    }
}

fn key_of(bytes: &[u8]) -> (u32, u32) {
    let &[a, b, c] = bytes else { panic!("a key of {} bytes", bytes.len()) };
    let number = u32::from_be_bytes([0, a, b, c]);
    (number / 12, number % 12)
}

fn known((procedure, datums, elements, heap): &Call, may_abort: bool) -> Known {
    let bytes = |datum: &Datum| &heap[datum.as_range().range()];
    let part = |datums: &[Datum]| {
        let (number, keys) = (datums[0].as_int(), datums.last().expect("the keys"));
        let aborts = may_abort && !datums[1].is_null();
        if aborts {
            assert_eq!(bytes(&datums[1]), [0xff; 3]);
        }
        let keys = elements[keys.as_range().range()].iter();
        Part { number, keys: keys.map(|datum| key_of(bytes(datum))).collect(), aborts }
    };
    let parts = datums.chunks(if may_abort { 3 } else { 2 }).map(part).collect();
    Known { procedure: *procedure, parts }
}

fn drawn(parameters: &KvParameters, worker: Share, count: usize) -> Vec<(TransactionKind, Known)> {
    let may_abort = parameters.aborts > 0.0;
    let calls = calls(&kv(parameters.clone()), worker, 9, count).into_iter();
    calls.map(|(kind, call)| (kind, known(&call, may_abort))).collect()
}

fn share<T>(all: &[T], holds: impl Fn(&T) -> bool) -> f64 {
    all.iter().filter(|one| holds(one)).count() as f64 / all.len() as f64
}

#[test]
fn each_partition_has_twelve_keys_of_each_client() {
    for (partitions, clients) in [(2, 40), (1, 1), (7, 3)] {
        let workload = kv(KvParameters { partitions, clients, ..Default::default() });
        let population = Population::load(&workload, 3, 1);
        let rows = u64::from(partitions * clients) * 12;
        assert_eq!((workload.rows_expected(), population.tables["kv"].len() as u64), (rows, rows));
        let keys: BTreeSet<_> =
            population.tables["kv"].iter().map(|(row, heap)| (row[0].as_int(), heap)).collect();
        assert_eq!(keys.len() as u64, rows);
        assert!(keys.iter().all(|(_, key)| key.len() == 3 && key_of(key).0 < clients));
        assert!(population.ints("kv", "kv_value").iter().all(|&value| value == 0));
    }
}

#[test]
fn each_partition_s_number_is_routed_to_it() {
    for partitions in (1..=64).chain([255, 1_000, 1_024]) {
        let numbers = KvParameters { partitions, ..Default::default() }.numbers();
        let routed = numbers.iter().map(|&number| partition_of_bigint(number, partitions as u16));
        assert!(routed.map(|partition| u32::from(partition.0)).eq(0..partitions), "{numbers:?}");
    }
    assert_eq!(
        KvParameters::default().numbers().into_iter().collect::<BTreeSet<_>>(),
        [0, 1].into()
    );
}

#[test]
fn a_call_has_its_client_s_keys_in_one_partition_or_half_of_them_in_two() {
    for (partitions, rounds, several) in [(2, 1, MULTI), (5, 2, TWO_ROUNDS)] {
        let parameters =
            KvParameters { partitions, rounds, multi_partition: 30.0, ..Default::default() };
        let numbers = parameters.numbers();
        let all = drawn(&parameters, Share { index: 1, of: 3 }, 20_000);
        let multi = share(&all, |(kind, _)| *kind == several);
        assert!((multi - 0.3).abs() < 0.02, "{multi}");
        for (kind, call) in &all {
            assert_eq!(u32::from(kind.0), call.procedure);
            let expected: &[usize] = if *kind == SINGLE { &[12] } else { &[6, 6] };
            let counts: Vec<_> = call.parts.iter().map(|part| part.keys.len()).collect();
            assert_eq!(counts, expected);
            assert_eq!(call.foreign(), []);
            let places = call.parts.iter().map(|part| {
                let number = numbers.iter().position(|&number| number == part.number);
                number.expect("it is a partition's")
            });
            assert!(places.is_sorted_by(|a, b| a < b), "{call:?}");
            for part in &call.parts {
                assert!(part.keys.iter().map(|&(_, number)| number).eq(0..part.keys.len() as u32));
            }
        }
        for number in numbers {
            let visits = all.iter().filter(|(_, call)| call.parts[0].number == number);
            assert!(visits.count() > 0, "partition {number}");
        }
    }
}

#[test]
fn a_worker_s_clients_take_turns() {
    let clients = |index, of| {
        let parameters = KvParameters { clients: 7, ..Default::default() };
        let calls = drawn(&parameters, Share { index, of }, 6);
        calls.iter().map(|(_, call)| call.client()).collect::<Vec<_>>()
    };
    assert_eq!(clients(0, 1), [0, 1, 2, 3, 4, 5]);
    assert_eq!(clients(0, 2), [0, 2, 4, 6, 0, 2]);
    assert_eq!(clients(1, 2), [1, 3, 5, 1, 3, 5]);
    assert_eq!(clients(6, 7), [6; 6]);
    assert_eq!(clients(8, 10), [1; 6], "more workers than clients");
}

#[test]
fn first_clients_keep_to_their_partition_and_others_ask_for_their_keys() {
    let parameters =
        KvParameters { multi_partition: 40.0, conflict: 60.0, clients: 10, ..Default::default() };
    let numbers = parameters.numbers();
    let all = drawn(&parameters, Share::WHOLE, 30_000);
    let (firsts, others): (Vec<_>, Vec<_>) = all.iter().partition(|(_, call)| call.client() < 2);
    for (kind, call) in firsts {
        assert_eq!(call.foreign(), []);
        if *kind == SINGLE {
            assert_eq!(call.parts[0].number, numbers[call.client() as usize]);
        }
    }
    let conflicts = share(&others, |(_, call)| !call.foreign().is_empty());
    assert!((conflicts - 0.6).abs() < 0.02, "{conflicts}");
    for (_, call) in &others {
        let foreign = call.foreign();
        assert!(foreign.len() <= 1, "{call:?}");
        assert!(foreign.iter().all(|&(owner, number)| numbers[owner as usize] == number));
    }
    let several: Vec<_> =
        others.iter().filter(|(kind, call)| *kind == MULTI && !call.foreign().is_empty()).collect();
    let at_first = share(&several, |(_, call)| call.foreign()[0].1 == call.parts[0].number);
    assert!((at_first - 0.5).abs() < 0.03, "{at_first}");
    let private = drawn(&KvParameters { conflict: 0.0, ..parameters }, Share::WHOLE, 1_000);
    let (first, _): (Vec<_>, Vec<_>) = private.iter().partition(|(_, call)| call.client() == 0);
    let visited: BTreeSet<_> = first.iter().map(|(_, call)| call.parts[0].number).collect();
    assert_eq!(visited.len(), 2, "nobody is pinned where nobody conflicts");
}

#[test]
fn aborts_come_as_often_as_asked_for_and_at_one_partition() {
    let parameters =
        KvParameters { multi_partition: 50.0, aborts: 10.0, rounds: 2, ..Default::default() };
    let workload = kv(parameters.clone());
    assert!(workload.kinds().iter().all(|kind| kind.aborts == 0.1));
    assert!(workload.procedures().iter().all(|name| name.ends_with("_or_abort")));
    let all = drawn(&parameters, Share::WHOLE, 30_000);
    let at = |part: usize| share(&all, |(_, call)| call.parts.get(part).is_some_and(|p| p.aborts));
    let (first, second) = (at(0), at(1));
    assert!((first - 0.075).abs() < 0.006 && (second - 0.025).abs() < 0.004, "{first} {second}");
    assert!(!all.iter().any(|(_, call)| call.parts.iter().filter(|p| p.aborts).count() > 1));
    let none = kv(KvParameters::default());
    assert!(none.kinds().iter().all(|kind| kind.aborts == 0.0));
    assert!(!none.procedures_sql().contains("RAISE"), "nothing of it costs anything otherwise");
}

#[test]
fn each_call_adds_twelve_to_the_tally() {
    let workload = kv(KvParameters { multi_partition: 50.0, ..Default::default() });
    let (mut generator, mut invocation) =
        (generator(&workload, Share::WHOLE, 9), Invocation::default());
    for _ in 0..100 {
        generator.next(&mut invocation);
        assert_eq!((generator.tally(), invocation.arguments.elements.len()), (12, 12));
    }
}

fn refusal(parameters: KvParameters) -> String {
    match parameters.validate() {
        Err(ParameterError::Combination(message)) => message,
        other => panic!("{parameters:?}: {other:?}"),
    }
}

#[test]
fn settings_that_cannot_work_are_refused_with_the_parameter_s_name() {
    let default = KvParameters::default;
    let refused = [
        ("partitions", KvParameters { partitions: 0, ..default() }),
        ("partitions", KvParameters { partitions: 1_025, ..default() }),
        ("partitions, clients", KvParameters { partitions: 1_024, clients: 400_000, ..default() }),
        ("clients", KvParameters { clients: 0, ..default() }),
        ("clients", KvParameters { clients: 1_000_001, ..default() }),
        ("multi-partition", KvParameters { multi_partition: 100.1, ..default() }),
        ("multi-partition", KvParameters { partitions: 1, multi_partition: 1.0, ..default() }),
        ("conflict", KvParameters { conflict: -1.0, ..default() }),
        ("conflict", KvParameters { clients: 2, conflict: 1.0, ..default() }),
        ("aborts", KvParameters { aborts: f64::NAN, ..default() }),
        ("rounds", KvParameters { rounds: 0, ..default() }),
        ("rounds", KvParameters { rounds: 3, ..default() }),
    ];
    for (name, parameters) in refused {
        let message = refusal(parameters);
        assert!(message.starts_with(&format!("{name}:")), "{name}: {message}");
    }
    let extreme = KvParameters { partitions: 1_024, clients: 1, ..default() };
    assert_eq!(extreme.validate(), Ok(()));
    assert_eq!(KvParameters { clients: 1_000_000, ..default() }.validate(), Ok(()));
}

/// What is wrong, by the checks' names.
fn faults(workload: &Kv, population: &mut Population) -> Vec<(&'static str, String)> {
    let failures = population.failures(workload).into_iter();
    failures.map(|result| (result.name, result.detail().to_owned())).collect()
}

#[test]
fn a_lost_update_is_noticed() {
    let workload = kv(KvParameters { clients: 2, ..Default::default() });
    let mut population = Population::load(&workload, 1, 1);
    assert_eq!(faults(&workload, &mut population), [], "nobody counted");
    let first = workload.checks()[0].result(&mut population);
    assert!(matches!(first.finding, Finding::Skipped(_)), "{first:?}");
    // One committed call in partition 0, of which one update was lost.
    for row in 0..11 {
        population.set("kv", row, "kv_value", Datum::int(1));
    }
    population.tally = Some(12);
    let expected = "values add up to 11, committed writes to 12 (1 of 1 sum wrong)";
    assert_eq!(faults(&workload, &mut population), [("kv-values", expected.to_owned())]);
    population.set("kv", 11, "kv_value", Datum::int(1));
    assert_eq!(faults(&workload, &mut population), []);
}

#[test]
fn lost_doubled_and_cut_keys_are_noticed() {
    let workload = kv(KvParameters { clients: 2, ..Default::default() });
    let broken = |change: fn(&mut Vec<crate::tests::Row>)| {
        let mut population = Population::load(&workload, 1, 1);
        change(population.tables.get_mut("kv").expect("it was loaded"));
        let found = faults(&workload, &mut population);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, "kv-keys");
        found[0].1.clone()
    };
    // The loader's first partition is the one of number 1: 0 is routed to the second.
    let lost = broken(|rows| drop(rows.remove(5)));
    assert!(lost.starts_with("kv_partition 1 has 23 keys, where 24 were loaded"), "{lost}");
    let last = broken(|rows| drop(rows.pop()));
    assert!(last.starts_with("kv_partition 0 has 23 keys, where 24 were loaded"), "{last}");
    let doubled = broken(|rows| rows.push(rows[3].clone()));
    assert!(doubled.starts_with("key [0, 0, 3] of kv_partition 1 is there twice"), "{doubled}");
    let cut = broken(|rows| rows[7].0[1] = Datum::range(0, 2));
    assert!(cut.starts_with("a key of kv_partition 1 is [0, 0]"), "{cut}");
}
