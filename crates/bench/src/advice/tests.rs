//! Lookups on maps that are known.

use super::*;
use crate::remote::{ServerLevels, ServerStatus, ServerSums};

/// A series of the grid.
const LADS: &str = "LADS, 1 ms";

/// A map of one axis: what three engines show at each value of `contention`.
fn map(grid: &Grid) -> EngineMap {
    let (locks, silo, lads) = ("locks as it goes", "Silo", LADS);
    let rows = [
        ("none", [(locks, 100.0, 0.0), (silo, 150.0, 0.0), (lads, 80.0, 0.0)]),
        ("mild", [(locks, 90.0, 0.3), (silo, 100.0, 0.5), (lads, 80.0, 0.0)]),
        ("strong", [(locks, 20.0, 3.0), (silo, 10.0, 6.0), (lads, 80.0, 0.0)]),
    ];
    let at = |threads: usize, contention: &str| {
        let mut situation = grid.situations().remove(0);
        situation.threads = threads;
        situation.workload.insert("contention".to_owned(), contention.to_owned());
        situation
    };
    let points = [2, 32].into_iter().flat_map(|threads| {
        rows.map(|(contention, engines)| MapPoint {
            situation: at(threads, contention),
            engines: engines
                .map(|(label, calls_per_s, undone)| {
                    let signs = Signs { calls_per_s, undone, busy_us: 1.0, ..Signs::default() };
                    (label.to_owned(), signs)
                })
                .into(),
        })
    });
    EngineMap { points: points.collect(), ..EngineMap::default() }
}

fn observed(engine: &str, settings: &[(&str, &str)], undone: f64) -> Observed {
    let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    Observed {
        engine: engine.to_owned(),
        settings: settings.iter().map(owned).collect(),
        threads: 24,
        signs: Signs { calls_per_s: 5.0, undone, busy_us: 1.0, ..Signs::default() },
        idle: 0.0,
        logging: 0.0,
        session_transactions: 0.0,
    }
}

const WAIT_DIE: (&str, &[(&str, &str)]) =
    ("two_phase_locking", &[("acquisition", "wait-die"), ("intents", "plain")]);

fn advice(undone: f64, known: &[(&str, &str)]) -> Result<Advice, BenchError> {
    let grid = Grid::of_program();
    let known = known.iter().map(|&(axis, value)| (axis.to_owned(), value.to_owned())).collect();
    advise(&map(&grid), &grid, &observed(WAIT_DIE.0, WAIT_DIE.1, undone), &known)
}

fn told(advice: &Advice) -> String {
    let mut out = Vec::new();
    write_advice(advice, crate::table::Style::default(), &mut out).expect("a string");
    String::from_utf8(out).expect("text")
}

#[test]
fn what_is_undone_finds_its_point_and_the_engine_that_is_best_there() {
    let strong = advice(3.2, &[]).expect("it is on the map");
    assert_eq!(strong.runs, "locks as it goes");
    assert_eq!(strong.alike.len(), 1);
    assert_eq!(strong.alike[0].situation.workload["contention"], "strong");
    assert_eq!(strong.alike[0].situation.threads, 32, "24 threads are nearer to 32 than to 2");
    let better = strong.better().expect("LADS has four times as many");
    assert_eq!((better.label.as_str(), better.gain), (LADS, [4.0; 3]));
    let text = told(&strong);
    let expected = format!("Advice: --engine {}, 4.0 times", better.engine);
    assert!(text.contains(&expected), "{text}");
    assert!(text.contains("3.00 attempts undone a call there, 0.00 with LADS, 1 ms"), "{text}");
}

#[test]
fn where_nothing_is_clearly_faster_what_runs_stays() {
    let mild = advice(0.3, &[]).expect("it is on the map");
    assert_eq!(mild.candidates[0].label, "Silo");
    assert_eq!(mild.better(), None, "a tenth is not worth it");
    assert!(told(&mild).contains("stay with what runs"));
    let grid = Grid::of_program();
    let idle = Observed { idle: 0.6, ..observed(WAIT_DIE.0, WAIT_DIE.1, 3.0) };
    let idle = advise(&map(&grid), &grid, &idle, &BTreeMap::new()).expect("it is on the map");
    assert_eq!(idle.better(), None, "four times nothing is nothing");
    assert!(told(&idle).contains("it is not the limit"));
    let none = advice(0.0, &[]).expect("it is on the map");
    assert_eq!(none.better().map(|better| better.label.as_str()), Some("Silo"));
}

#[test]
fn an_engine_that_shows_nothing_gives_a_range_and_asks() {
    let grid = Grid::of_program();
    let blind = observed("lads", &[], 0.0);
    let all = advise(&map(&grid), &grid, &blind, &BTreeMap::new()).expect("it is on the map");
    assert_eq!(all.alike.len(), 3);
    let silo = all.candidates.iter().find(|one| one.label == "Silo").expect("it is there");
    assert_eq!(silo.gain, [0.125, 1.25, 1.875]);
    let bests: Vec<_> = all.if_known.iter().map(|known| known.label.as_str()).collect();
    assert_eq!(bests, ["Silo", "Silo", LADS]);
    assert!(told(&all).contains("--know contention=none"));
    let known = BTreeMap::from([("contention".to_owned(), "strong".to_owned())]);
    let strong = advise(&map(&grid), &grid, &blind, &known).expect("it is on the map");
    assert_eq!((strong.alike.len(), strong.better()), (1, None));
}

#[test]
fn what_cannot_be_looked_up_is_told() {
    let axis = advice(0.0, &[("weather", "fine")]).expect_err("no such axis").to_string();
    assert!(axis.contains("there is no axis \"weather\""), "{axis}");
    let value = advice(0.0, &[("contention", "fine")]).expect_err("no such value").to_string();
    assert!(value.contains("none, mild, strong, extreme"), "{value}");
    let nowhere = advice(0.0, &[("contention", "extreme")]).expect_err("not measured").to_string();
    assert!(nowhere.contains("no point that agrees"), "{nowhere}");
    let grid = Grid::of_program();
    let other = observed("abacus", &[], 0.0);
    let engine = advise(&map(&grid), &grid, &other, &BTreeMap::new()).expect_err("no such engine");
    assert!(engine.to_string().contains("\"abacus\" is not on the map"), "{engine}");
    let far = advice(500.0, &[]).expect("the nearest");
    assert!(told(&far).contains("nothing on the map is like this"));
}

#[test]
fn a_server_is_observed_between_two_looks() {
    let status = |committed: u64| ServerStatus {
        engine: "two_phase_locking".to_owned(),
        settings: "acquisition=wait-die,intents=plain".to_owned(),
        sums: ServerSums {
            committed,
            undone: 2 * committed,
            failed: committed / 10,
            session_commits: 3 * committed,
            execute_ms: committed / 100,
            idle_ms: committed / 20,
            ..ServerSums::default()
        },
        levels: ServerLevels { threads: 4, ..ServerLevels::default() },
        ..ServerStatus::default()
    };
    let seen = Observed::between(&status(1_000), &status(3_000), 2.0).expect("it worked");
    assert_eq!((seen.signs.calls_per_s, seen.signs.undone), (1_000.0, 2.0));
    assert_eq!((seen.signs.failed, seen.signs.busy_us), (0.1, 10.0));
    assert_eq!(seen.settings["acquisition"], "wait-die");
    let remarks = seen.remarks().join("\n");
    assert!(remarks.contains("nothing to do 83 %"), "{remarks}");
    assert!(remarks.contains("3.0 transactions of statements"), "{remarks}");
    let idle = Observed::between(&status(1_000), &status(1_000), 2.0).expect_err("it slept");
    assert!(idle.to_string().contains("no call in 2 s"), "{idle}");
}
