//! Workloads at a server in this process, over the wire.

use std::time::Duration;

use hotrow::{Config, Database};
use hotrow_base::thread::{JoinHandle, ThreadOptions};
use hotrow_bench::{
    BenchError, CheckReport, Driver, Existing, Length, RunReport, ServerAddress, ServerCall,
    ServerStatus, StoryOptions, Target, run_story, stories,
};
use hotrow_server::{Server, ServerOptions, Stopper};
use hotrow_workloads::{Workload, workload_named};

/// A server on a free port, until it is dropped.
struct Running {
    address: ServerAddress,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start() -> Self {
        let config = Config::default().threads(2).memory_bytes(256 << 20);
        let db = Database::open_in_memory(config).expect("it opens");
        let options =
            ServerOptions { address: ([127, 0, 0, 1], 0).into(), ..ServerOptions::default() };
        let server = Server::bind(db, options).expect("a port is free");
        let port = server.address().port();
        let text = format!("host=127.0.0.1 port={port} user=tester");
        Self {
            address: text.parse().expect("it is a connection string"),
            stopper: server.stopper(),
            thread: ThreadOptions::named("server").spawn(|| server.run()).ok(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it ends well");
        }
    }
}

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

fn driver(calls: u64) -> Driver {
    Driver { length: Length::Calls(calls), clients: Some(4), ..Driver::default() }
}

fn failed(checks: &[CheckReport]) -> Vec<&str> {
    checks.iter().filter(|check| !check.holds).map(|check| check.name.as_str()).collect()
}

fn assert_holds(report: &RunReport) {
    assert!(report.checks_hold(), "{}: {:#?}", report.workload, report.checks);
}

#[test]
fn every_workload_runs_at_a_server_and_its_checks_hold() {
    let server = Running::start();
    for name in hotrow_workloads::NAMES {
        let (workload, driver) = (small(name), driver(400));
        let population = driver.load_remote(&*workload, &server.address, Existing::Refuse);
        let mut population = population.unwrap_or_else(|error| panic!("{name}: {error}"));
        for runs in 1..=2_u64 {
            let report = driver.run_remote(&mut population, &*workload).expect("it runs");
            assert_holds(&report);
            assert_eq!(report.committed + report.user_aborts, 400);
            let kinds: u64 = report.kinds.values().map(|kind| kind.committed).sum();
            assert_eq!((kinds, report.clients), (report.committed, 4));
            assert!(report.latency_us.p50 > 0.0 && report.txn_per_s > 0.0, "{report:?}");
            assert_eq!(report.remote, Some(server.address.to_string()));
            assert_eq!(report.engine, Config::default().engine);
            let mut client = server.address.connect().expect("it is there");
            let calls = ServerCall::take(&mut client).expect("it tells");
            let ours =
                calls.iter().filter(|call| workload.procedures().contains(&&*call.procedure));
            assert_eq!(ours.map(|call| call.calls).sum::<u64>(), 400 * runs, "{name}");
        }
        population.drop_all().expect("they are dropped");
        let again = driver.load_remote(&*workload, &server.address, Existing::Refuse);
        again.expect("nothing is left").drop_all().expect("they are dropped");
    }
}

#[test]
fn clients_end_when_their_time_is_over() {
    let server = Running::start();
    let time = Duration::from_millis(200);
    let length = Length::Time { warm_up: time / 2, measured: time };
    let driver = Driver { length, clients: Some(3), ..Driver::default() };
    let workload = small("counter");
    let population = driver.load_remote(&*workload, &server.address, Existing::Refuse);
    let report = driver.run_remote(&mut population.expect("it loads"), &*workload);
    let report = report.expect("it runs");
    assert_holds(&report);
    assert!(report.seconds >= 0.2 && report.committed > 0, "{report:?}");
    let mut client = server.address.connect().expect("it is there");
    let status = ServerStatus::take(&mut client).expect("it tells");
    assert!(status.sums.committed >= report.committed, "{status:?}");
}

#[test]
fn what_is_there_is_not_overwritten_unless_that_is_wanted() {
    let server = Running::start();
    let mut client = server.address.connect().expect("it is there");
    let theirs = "CREATE TABLE teller (id integer PRIMARY KEY); INSERT INTO teller VALUES (7);
        CREATE FUNCTION tpcb_read() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$";
    client.batch_execute(theirs).expect("it is right");
    let (workload, driver) = (small("tpcb"), driver(100));
    let load = |existing| driver.load_remote(&*workload, &server.address, existing);
    let refused = load(Existing::Refuse).err().expect("it is refused");
    assert!(matches!(refused, BenchError::Occupied { .. }), "{refused}");
    let told = refused.to_string();
    assert!(told.contains("tables teller; procedures tpcb_read;"), "{told}");
    let rows = client.query("SELECT id FROM teller", &[]).expect("it is there");
    assert_eq!(rows.len(), 1);
    assert!(client.query("SELECT b_id FROM branch", &[]).is_err());

    let mut population = load(Existing::Replace).expect("it may");
    assert_holds(&driver.run_remote(&mut population, &*workload).expect("it runs"));
}

#[test]
fn rows_that_somebody_else_changes_are_noticed() {
    let server = Running::start();
    let mut client = server.address.connect().expect("it is there");
    let (workload, driver) = (small("tpcb"), driver(100));
    let population = driver.load_remote(&*workload, &server.address, Existing::Refuse);
    let mut population = population.expect("it loads");
    assert_holds(&driver.run_remote(&mut population, &*workload).expect("it runs"));
    client.execute("UPDATE branch SET b_balance = b_balance + 1 WHERE b_id = 2", &[]).expect("one");
    let checks = driver.checks_remote(&mut population, &*workload).expect("they are made");
    assert_eq!(failed(&checks), ["tpcb-branches"]);

    // Calls that the clients did not make.
    let (workload, driver) = (small("counter"), self::driver(100));
    let population = driver.load_remote(&*workload, &server.address, Existing::Refuse);
    let mut population = population.expect("it loads");
    client.query("SELECT counter_increment(0)", &[]).expect("it is a call");
    let report = driver.run_remote(&mut population, &*workload).expect("it runs");
    assert_eq!(failed(&report.checks), ["counter-sum"]);
}

#[test]
fn a_call_that_fails_unasked_is_told() {
    let server = Running::start();
    let mut client = server.address.connect().expect("it is there");
    let (workload, driver) = (small("counter"), driver(20));
    let population = driver.load_remote(&*workload, &server.address, Existing::Refuse);
    let mut population = population.expect("it loads");
    let broken = "CREATE OR REPLACE FUNCTION counter_increment(p_id bigint) RETURNS bigint
        LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no more'; END $$";
    client.batch_execute(broken).expect("it is right");
    let report = driver.run_remote(&mut population, &*workload).expect("it runs");
    assert_eq!((failed(&report.checks), report.user_aborts), (vec!["failures"], 20));
    let failures = &report.checks[0].detail;
    assert!(failures.contains("20 calls failed; the first: P0001 no more"), "{failures}");
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let workload = small("counter");
    let address: ServerAddress = "host=127.0.0.1 port=1".parse().expect("it is an address");
    let refused = driver(1).load_remote(&*workload, &address, Existing::Refuse);
    let told = refused.err().expect("nobody is there").to_string();
    assert!(told.starts_with("connecting to 127.0.0.1:1: "), "{told}");
    assert!(told.contains("onnection refused"), "{told}");
    for (text, why) in [
        ("host=x sslmode=require", "not encrypted"),
        ("host=x colour=red", "unknown option"),
        ("host=x port=many", "invalid"),
    ] {
        let error = text.parse::<ServerAddress>().expect_err("it is refused");
        assert!(error.is_usage() && error.to_string().contains(why), "{text}: {error}");
    }
}

#[test]
fn stories_hold_over_the_wire_as_they_do_here() {
    for story in stories() {
        let server = Running::start();
        let target = Target::server("a server", &server.address).expect("it lets us in");
        let measured = Duration::from_millis(200);
        let options = StoryOptions { clients: 4, measured, ..StoryOptions::default() };
        let report = run_story(&story, &target.that_repeats_itself(), &options);
        let report = report.unwrap_or_else(|error| panic!("{error}"));
        assert!(report.over_the_wire && report.checks_hold(), "{}: {report:#?}", story.name);
        assert!(report.calls.values().any(|call| call.good > 0), "{report:#?}");
        // It makes no databases of its own, and its one is not empty any more.
        let occupied = Target::server("a server", &server.address).map(|_| ());
        let error = occupied.expect_err("it has the story's tables").to_string();
        assert!(error.contains("is not empty"), "{error}");
    }
}
