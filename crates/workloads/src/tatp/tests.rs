//! Population, mix, choice of subscribers; each check notices what it is for.

use super::*;
use crate::check::Finding;
use crate::tests::{Population, calls};

fn tatp(subscribers: u32, choice: Choice) -> Tatp {
    Tatp { parameters: TatpParameters { subscribers, choice, ..TatpParameters::default() } }
}

#[test]
fn the_population_is_as_specified() {
    let population = Population::load(&tatp(4_000, Choice::Nonuniform), 3, 1);
    let rows = |table: &str| population.tables[table].len() as f64 / 4_000.0;
    assert_eq!(population.ints("subscriber", "s_id").len(), 4_000);
    assert_eq!(population.texts("subscriber", "sub_nbr")[41], "000000000000042");
    for (table, expected) in
        [("access_info", 2.5), ("special_facility", 2.5), ("call_forwarding", 3.75)]
    {
        assert!((rows(table) - expected).abs() < 0.1, "{table}: {}", rows(table));
    }
    let active = population.ints("special_facility", "is_active");
    let share = active.iter().sum::<i64>() as f64 / active.len() as f64;
    assert!((share - 0.85).abs() < 0.02, "{share}");
    let starts = population.ints("call_forwarding", "start_time");
    let at_eight = starts.iter().filter(|&&start| start == 8).count();
    assert!((at_eight as f64 / starts.len() as f64 - 1.0 / 3.0).abs() < 0.02);
}

#[test]
fn the_mix_is_as_specified() {
    let drawn = calls(&tatp(1_000, Choice::Nonuniform), Share::WHOLE, 9, 20_000);
    for (kind, share) in Mix::Full.shares().iter().enumerate() {
        let count = drawn.iter().filter(|(drawn, _)| drawn.index() == kind).count();
        let percent = count as f64 / 200.0;
        assert!((percent - *share as f64).abs() < 1.0, "{}: {percent} %", KINDS[kind]);
    }
}

#[test]
fn some_subscribers_are_asked_for_more_often() {
    let most = |choice| {
        let mut counts = [0_u32; 1_001];
        for (kind, call) in calls(&tatp(1_000, choice), Share::WHOLE, 9, 50_000) {
            if kind == GET_SUBSCRIBER_DATA {
                counts[call.1[0].as_int() as usize] += 1;
            }
        }
        assert_eq!(counts[0], 0, "numbers begin at 1");
        f64::from(*counts.iter().max().expect("some")) / f64::from(counts.iter().sum::<u32>())
    };
    assert!(most(Choice::Uniform) < 0.004, "{}", most(Choice::Uniform));
    assert!(most(Choice::Nonuniform) > 0.004, "{}", most(Choice::Nonuniform));
}

#[test]
fn as_many_are_probed_as_was_asked_for() {
    for probes in [1, 10, 100] {
        let mut workload = tatp(1_000, Choice::Nonuniform);
        (workload.parameters.mix, workload.parameters.probes) = (Mix::ProbeSubscribers, probes);
        for (kind, call) in calls(&workload, Share::WHOLE, 9, 50) {
            assert_eq!(kind, PROBE_SUBSCRIBERS);
            assert_eq!(call.1[0].as_range().len, probes);
        }
    }
}

/// What the checks say of a population that something was done to.
fn findings(spoil: impl FnOnce(&mut Population)) -> Vec<bool> {
    let workload = tatp(200, Choice::Nonuniform);
    let mut population = Population::load(&workload, 1, 5);
    population.committed = vec![0; KINDS.len()];
    spoil(&mut population);
    let check = |check: Check| !matches!((check.run)(&mut population), Finding::Fails(_));
    workload.checks().into_iter().map(check).collect()
}

#[test]
fn each_check_speaks() {
    use hotrow_base::datum::Datum;
    assert_eq!(findings(|_| {}), [true, true, true]);
    let without_one = |table: &'static str| {
        findings(move |population| {
            population.tables.get_mut(table).expect("it is there").remove(3);
        })
    };
    assert!(!without_one("subscriber")[0]);
    assert!(!without_one("special_facility")[1]);
    let later = findings(|population| {
        let at = population.column("call_forwarding", "end_time");
        population.tables.get_mut("call_forwarding").expect("there")[0].0[at] = Datum::int(40);
    });
    assert!(!later[1]);
    assert!(!without_one("call_forwarding")[2]);
    let kept = findings(|population| {
        population.tables.get_mut("call_forwarding").expect("there").remove(0);
        population.committed[DELETE_CALL_FORWARDING.index()] = 1;
    });
    assert_eq!(kept, [true, true, true], "one was taken away");
}
