use super::*;
use crate::ENTRY;

fn read(settings: &[(&str, &str)]) -> Result<Settings, String> {
    let settings =
        settings.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Settings::read(&settings).map_err(|error| error.to_string())
}

#[test]
fn settings_choose_the_acquisition() {
    assert_eq!(read(&[]).unwrap().acquisition, Acquisition::Ordered);
    assert_eq!(read(&[("acquisition", "ordered")]), read(&[]));
    let wait_die = read(&[("acquisition", "wait-die")]).unwrap();
    assert_eq!(wait_die.acquisition, Acquisition::Dynamic);
    assert_eq!(wait_die.deadlocks, Deadlocks::of(Policy::WaitDie));
}

#[test]
fn settings_choose_the_policy_in_any_order() {
    let settings = [
        ("victim", "kill-short"),
        ("acquisition", "dreadlocks"),
        ("waiting", "sleep"),
        ("digest", "bloom"),
        ("time_out_ms", "7"),
    ];
    let expected = Deadlocks {
        policy: Policy::Dreadlocks,
        digest: Digest::Bloom,
        waiting: Waiting::Sleep,
        victim: Victim::KillShort,
        time_out: Duration::from_millis(7),
    };
    assert_eq!(read(&settings).unwrap().deadlocks, expected);
}

#[test]
fn settings_choose_the_order() {
    let settings = read(&[("order", "identity"), ("heat_ms", "7")]).unwrap();
    assert_eq!((settings.order, settings.heat), (Order::Identity, Duration::from_millis(7)));
    assert_eq!(read(&[("order", "hot-last"), ("last_use", "keep")]), read(&[]));
    assert!(read(&[("last_use", "release")]).unwrap().releases_at_last_use);
}

#[test]
fn settings_choose_what_is_held_of_indexes() {
    assert_eq!(read(&[]).unwrap().ranges, Ranges::Orthogonal);
    assert_eq!(read(&[("acquisition", "wait-die")]).unwrap().ranges, Ranges::Granules);
    for (name, ranges) in [
        ("granules", Ranges::Granules),
        ("orthogonal", Ranges::Orthogonal),
        ("lomet", Ranges::Lomet),
        ("kvl", Ranges::Kvl),
    ] {
        assert_eq!(read(&[("ranges", name)]).unwrap().ranges, ranges);
    }
}

#[test]
fn settings_bound_pipelines() {
    assert_eq!(read(&[]).unwrap().pipeline_max, 100_000);
    assert_eq!(read(&[("pipeline_max", "7")]).unwrap().pipeline_max, 7);
    assert!(read(&[("pipeline_max", "0")]).is_err());
}

#[test]
fn settings_choose_what_is_timed() {
    assert_eq!(read(&[]).unwrap().timing, LockTiming::Calls);
    assert_eq!(read(&[("timing", "locks")]).unwrap().timing, LockTiming::Locks);
}

#[test]
fn other_settings_are_refused_with_what_there_is() {
    assert_eq!(
        read(&[("acquisition", "hope")]),
        Err("setting acquisition of engine two_phase_locking cannot be \"hope\"; it can be: \
             ordered, no-wait, wait-die, wound-wait, wait-for-graph, dreadlocks, time-out"
            .to_owned())
    );
    assert_eq!(
        read(&[("queues", "none")]),
        Err("engine two_phase_locking has no setting \"queues\"; it has: acquisition, digest, \
             heat_ms, intents, last_use, locks, order, pipeline_max, ranges, release, \
             time_out_ms, timing, victim, waiting"
            .to_owned())
    );
    for (setting, value) in
        [("time_out_ms", "0"), ("time_out_ms", "soon"), ("victim", "me"), ("heat_ms", "-1")]
    {
        assert!(read(&[(setting, value)]).is_err(), "{setting}={value}");
    }
}

#[test]
fn settings_that_do_not_go_together_are_refused() {
    let kept = read(&[("acquisition", "ordered"), ("release", "none")]);
    assert!(kept.is_err_and(|error| error.contains("not ordered")));
    let all = read(&[("acquisition", "ordered"), ("locks", "all")]);
    assert!(all.is_err_and(|error| error.contains("not ordered")));
    let all = read(&[("acquisition", "no-wait"), ("locks", "all")]).unwrap();
    assert_eq!(all.locks, Locks::All);
}

#[test]
fn every_variant_is_a_setting_that_exists() {
    for variant in ENTRY.variants {
        assert!(read(variant).is_ok(), "{variant:?}");
    }
}
