use super::*;
use crate::report::CheckReport;
use crate::selection::select_engines;
use hotrow_workloads::workload_named;

fn small(name: &str) -> Box<dyn Workload> {
    let settings: &[(&str, &str)] = match name {
        "tpcc" => &[("items", "100"), ("customers", "30"), ("warehouses", "2")],
        "tpcb" => &[("branches", "2"), ("accounts", "50"), ("reads", "30")],
        "tellers" => &[("tellers", "20")],
        "counter" => &[],
        "kv" => &[("multi-partition", "30"), ("conflict", "20"), ("aborts", "2")],
        "tatp" => &[("subscribers", "60")],
        _ => &[("records", "200"), ("reads", "30"), ("hot", "4")],
    };
    let mut workload = workload_named(name).expect("the name is listed");
    for (name, value) in settings {
        workload.parameters_mut().set(name, value).expect("the setting is legal");
    }
    workload
}

fn failed(report: &RunReport) -> Vec<CheckReport> {
    report.checks.iter().filter(|check| !check.holds).cloned().collect()
}

#[test]
fn every_workload_runs_on_every_variant_and_its_checks_hold() {
    let driver = Driver { length: Length::Calls(1_000), ..Driver::default() };
    for name in hotrow_workloads::NAMES {
        let workload = small(name);
        for variant in select_engines("all").expect("there are engines") {
            for threads in [1, 2, 4].into_iter().filter(|&threads| variant.allows(threads)) {
                let report = driver.run(&*workload, &variant, threads).expect("it runs");
                assert_eq!(failed(&report), Vec::new(), "{name} on {variant}, {threads} threads");
                assert_eq!(report.committed + report.user_aborts, 1_000);
                assert!(report.memory.ratio > 1.0 && report.latency_us.p50 > 0.0);
            }
        }
    }
}

#[test]
fn clients_call_through_sessions_on_every_variant() {
    let workload = small("counter");
    for variant in select_engines("all").expect("there are engines") {
        let driver = Driver { length: Length::Calls(300), clients: Some(5), ..Driver::default() };
        let mut population = driver.load(&*workload, 2).expect("it loads");
        for threads in [1, 2].into_iter().filter(|&threads| variant.allows(threads)) {
            let report = driver.run_on(&mut population, &*workload, &variant, threads);
            let report = report.expect("it runs");
            assert_eq!(failed(&report), Vec::new(), "{variant}, {threads} threads");
            assert_eq!((report.committed, report.clients), (300, 5));
        }
    }
}

#[test]
fn clients_end_when_their_time_is_over() {
    let time = Duration::from_millis(100);
    let length = Length::Time { warm_up: time / 2, measured: time };
    let driver = Driver { length, clients: Some(3), ..Driver::default() };
    let variant = &select_engines("all").expect("there are engines")[0];
    let report = driver.run(&*small("tpcb"), variant, 1).expect("it runs");
    assert_eq!(failed(&report), Vec::new());
    assert!(report.committed > 0 && report.latency_us.p50 > 0.0, "{report:?}");
}

#[test]
fn durable_calls_wait_for_a_slow_log() {
    let sync_delay = Duration::from_millis(2);
    let log = LogSettings {
        directory: std::env::temp_dir(),
        durability: hotrow::Durability::Durable,
        entries: hotrow::LogEntries::Commands,
        in_flight: 1,
        sync_delay,
        recover: true,
    };
    let driver = Driver { length: Length::Calls(20), log: Some(log), ..Driver::default() };
    let variant = &select_engines("all").expect("there are engines")[0];
    let report = driver.run(&*small("counter"), variant, 1).expect("it runs");
    assert_eq!(failed(&report), Vec::new());
    // Every end is told after a sync.
    assert!(report.latency_us.p50 >= 1_900.0 && report.log.sync_us >= 2_000.0, "{report:?}");
}

#[test]
fn a_timed_run_measures_its_time() {
    let time = Duration::from_millis(100);
    let length = Length::Time { warm_up: time / 2, measured: time };
    let driver = Driver { length, ..Driver::default() };
    let workload = small("ycsb");
    let variant = &select_engines("all").expect("there are engines")[0];
    let report = driver.run(&*workload, variant, 1).expect("it runs");
    assert_eq!(failed(&report), Vec::new());
    assert!(report.committed > 0 && report.seconds >= 0.1, "{report:?}");
    let time = report.time_breakdown;
    let sum = time.execute + time.plan + time.lock + time.wait + time.log + time.idle;
    assert!((sum - 1.0).abs() < 1e-6, "{time:?}");
}

#[test]
fn a_run_ends_when_enough_is_committed() {
    let minute = Duration::from_secs(60);
    let length = Length::Time { warm_up: minute, measured: minute };
    let driver = Driver { length, enough: Some(1_000), ..Driver::default() };
    let workload = small("counter");
    let variant = &select_engines("serial:").expect("there is one")[0];
    let began = Ticks::now();
    let report = driver.run(&*workload, variant, 1).expect("it runs");
    assert_eq!(failed(&report), Vec::new());
    assert!(report.committed >= 1_000 && report.seconds < 60.0, "{report:?}");
    assert!(began.elapsed() < minute, "warming up ends early, too");
}

/// What threads that run calls do with their time, apart from what those do that lock for them.
#[test]
fn lock_threads_are_told_apart() {
    let driver = Driver { length: Length::Calls(5000), ..Driver::default() };
    let workload = small("ycsb");
    let run = |engine: &str| {
        let variant = &select_engines(engine).expect("there is one")[0];
        driver.run(&*workload, variant, 2).expect("it runs")
    };
    let all = |time: TimeBreakdown| {
        time.execute + time.plan + time.lock + time.wait + time.log + time.idle
    };
    let report = run("orthrus:lock_threads=1");
    let (running, locking) = (report.time_breakdown, report.lock_threads.expect("there is one"));
    assert!((all(running) - 1.0).abs() < 1e-6 && running.execute > 0.0, "{running:?}");
    assert!((all(locking) - 1.0).abs() < 1e-6 && locking.lock > 0.0, "{locking:?}");
    assert_eq!((locking.execute, locking.plan, locking.wait), (0.0, 0.0, 0.0), "{locking:?}");
    assert_eq!(run("two_phase_locking:").lock_threads, None);
}

#[test]
fn a_kept_population_is_checked_over_all_its_runs() {
    let driver = Driver { length: Length::Calls(300), ..Driver::default() };
    let workload = small("ycsb");
    let mut population = driver.load(&*workload, 2).expect("it loads");
    for variant in select_engines("all").expect("there are engines") {
        let threads = variant.entry.threads_near(1);
        let report = driver.run_on(&mut population, &*workload, &variant, threads);
        let report = report.expect("it runs");
        assert_eq!(failed(&report), Vec::new(), "{variant}");
    }
}

#[test]
fn the_same_calls_leave_the_same_rows_on_every_variant() {
    let driver = Driver { length: Length::Calls(500), inspect: false, ..Driver::default() };
    let workload = small("tpcc");
    let mut first: Option<Vec<String>> = None;
    let mut variants = select_engines("all").expect("there are engines");
    // One thread makes its calls one after the other; more of them share the calls.
    variants.retain(|variant| variant.allows(1));
    for mut variant in variants {
        if variant.entry.name == "lads" {
            // Of several calls of a batch, those whose footprints were guessed wrong come last.
            variant.settings.insert("batch".to_owned(), "1".to_owned());
        }
        let mut population = driver.load(&*workload, 1).expect("it loads");
        driver.run_on(&mut population, &*workload, &variant, 1).expect("it runs");
        let db = population.database();
        let mut rows = Vec::new();
        for table in db.tables() {
            let visit = |row: &[hotrow::Value]| rows.push(format!("{table} {row:?}"));
            db.scan(&table, visit).expect("the table is there");
        }
        rows.sort();
        assert!(*first.get_or_insert_with(|| rows.clone()) == rows, "{variant}");
    }
}

/// Of dora.txt 5.3 (figure 7), exactly: locks of 100 transactions in tables that threads share, of
/// rows and above them, and in those of one thread.
#[test]
fn locks_are_counted_by_kind() {
    let driver = Driver { length: Length::Calls(100), inspect: false, ..Driver::default() };
    let locks = |name: &str, settings: &[(&str, &str)], engine: &str| {
        let mut workload = small(name);
        for (name, value) in settings {
            workload.parameters_mut().set(name, value).expect("the setting is legal");
        }
        let variant = &select_engines(engine).expect("it is one")[0];
        // One thread, so that no attempt is undone.
        driver.run(&*workload, variant, 1).expect("it runs").locks
    };
    let conventional = "two_phase_locking:acquisition=dreadlocks,intents=plain";
    assert_eq!(locks("tpcb", &[("reads", "0")], "dora:"), [0, 0, 300]);
    assert_eq!(locks("tpcb", &[("reads", "0")], "dora:slots=locked"), [100, 0, 300]);
    assert_eq!(locks("tpcb", &[("reads", "0")], conventional), [300, 0, 0]);
    assert_eq!(locks("tpcb", &[("reads", "0")], "two_phase_locking:"), [300, 0, 0]);
    let conventional = &format!("{conventional},locks=all");
    assert_eq!(locks("tpcb", &[("reads", "0")], conventional), [300, 400, 0]);
    // One for the history row; four tables; and at least a row of each of the other three.
    let payment = &[("mix", "payment")];
    let [rows, higher, local] = locks("tpcc", payment, "dora:executors=4,slots=locked");
    assert_eq!((rows, higher), (100, 0));
    assert!((300..=400).contains(&local), "{local}");
    let [rows, higher, local] = locks("tpcc", payment, conventional);
    assert_eq!((higher, local), (400, 0));
    assert!((300..=400).contains(&rows), "{rows}");
    // A read of a subscriber, whom location updates change.
    let reads = &[("mix", "get-subscriber-data")];
    assert_eq!(locks("tatp", reads, "dora:slots=locked"), [0, 0, 100]);
    assert_eq!(locks("tatp", reads, conventional), [100, 100, 0]);
}

#[test]
fn settings_that_the_engine_refuses_are_the_caller_s_mistake() {
    let driver = Driver { length: Length::Calls(1), ..Driver::default() };
    let mut variant = select_engines("all").expect("there are engines").swap_remove(0);
    variant.settings = BTreeMap::from([("colour".to_owned(), "red".to_owned())]);
    let refused = driver.run(&*small("ycsb"), &variant, 1);
    assert!(refused.is_err_and(|error| error.is_usage()));
}
