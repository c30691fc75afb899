//! DORA's own: flow graphs, calls that wait for each other in circles, and datasets that move.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hotrow::{Config, Database, Session};

const ROWS: i64 = 40;

fn open(settings: &[(&str, &str)]) -> (Database, Session) {
    let config = Config::default().threads(2).engine("dora").variant(settings);
    let db = Database::open_in_memory(config).expect("it opens");
    let session = db.session();
    for table in ["one", "other"] {
        let definition = format!("CREATE TABLE {table} (id bigint PRIMARY KEY, n bigint NOT NULL)");
        session.execute(&definition).expect("it is legal");
        let fill = format!(
            "CREATE FUNCTION fill_{table}() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
                 FOR id IN 0..{ROWS} - 1 LOOP INSERT INTO {table} VALUES (id, 0); END LOOP;
             END $$"
        );
        session.execute(&fill).expect("it is legal");
        session.call(&format!("fill_{table}"), ()).expect("there is room");
    }
    // What it has counted in the first table decides what it adds in the second one.
    for (name, first, second) in [("ahead", "one", "other"), ("back", "other", "one")] {
        let definition = format!(
            "CREATE FUNCTION {name}(a bigint) RETURNS void LANGUAGE plpgsql AS $$
             DECLARE x bigint; BEGIN
                 UPDATE {first} SET n = n + 1 WHERE id = a RETURNING n - n + 1 INTO x;
                 UPDATE {second} SET n = n + x WHERE id = a;
             END $$"
        );
        session.execute(&definition).expect("it is legal");
    }
    (db, session)
}

/// The only value of a query.
fn value(session: &Session, query: &str) -> String {
    let results = session.execute(query).expect("it is legal");
    results[0].rows.iter().next().expect("one row")[0].to_string()
}

/// Two procedures take two tables one after the other, in opposite orders, and meet on two rows:
/// half of all pairs wait in a circle. No client hears of it.
#[test]
fn opposite_phases_wait_in_circles_that_nobody_sees() {
    const CLIENTS: i64 = 8;
    const CALLS: i64 = 100;
    for enqueue in ["latched", "forwarded"] {
        let settings = [("spread", "tables"), ("locks", "phase"), ("enqueue", enqueue)];
        let (db, session) = open(&settings);
        let longest = std::thread::scope(|scope| {
            let clients = (0..CLIENTS).map(|client| {
                let db = &db;
                scope.spawn(move || {
                    let session = db.session();
                    let call = |call: i64| {
                        let began = Instant::now();
                        let name = if client % 2 == 0 { "ahead" } else { "back" };
                        session.call(name, (call % 2,)).expect("nothing is wrong with it");
                        began.elapsed()
                    };
                    (0..CALLS).map(call).max().expect("some")
                })
            });
            let clients: Vec<_> = clients.collect();
            clients.into_iter().map(|client| client.join().expect("it ends")).max()
        });
        let all = (CLIENTS * CALLS).to_string();
        assert_eq!(value(&session, "SELECT sum(n) FROM one"), all);
        assert_eq!(value(&session, "SELECT sum(n) FROM other"), all);
        let statistics = db.statistics();
        let gave_way: u64 = statistics.conflicts.iter().sum();
        println!("{enqueue}: {gave_way} gave way, the longest call took {longest:?}");
        assert!(gave_way > 0, "there are circles");
    }
}

/// Ten rows get all calls. Wherever they lie at first, both threads have their share of them before
/// long, while calls, definitions and statements go on.
#[test]
fn datasets_move_to_where_there_is_time() {
    for locks in ["call", "phase"] {
        let settings = [("rebalance", "on"), ("locks", locks)];
        let (db, session) = open(&settings);
        let ends = AtomicBool::new(false);
        let calls = std::thread::scope(|scope| {
            let clients = (0..4).map(|client| {
                let (db, ends) = (&db, &ends);
                scope.spawn(move || {
                    let session = db.session();
                    let mut calls = 0_i64;
                    while !ends.load(Ordering::Relaxed) {
                        let name = if client % 2 == 0 { "ahead" } else { "back" };
                        session.call(name, (calls % 10,)).expect("nothing is wrong with it");
                        calls += 1;
                    }
                    calls
                })
            });
            let clients: Vec<_> = clients.collect();
            for round in 0..3 {
                // Each definition begins anew with where datasets are.
                let definition = format!("CREATE TABLE t{round} (id bigint PRIMARY KEY)");
                session.execute(&definition).expect("it is legal");
                wait_for_shares(&session);
            }
            ends.store(true, Ordering::Relaxed);
            clients.into_iter().map(|client| client.join().expect("it ends")).sum::<i64>()
        });
        assert_eq!(value(&session, "SELECT sum(n) FROM one"), calls.to_string());
        assert_eq!(value(&session, "SELECT sum(n) FROM other"), calls.to_string());
        let choice = value(&session, "SELECT choice FROM hotrow.engine_status");
        println!("{locks}: {calls} calls. {choice}");
    }
}

/// Waits until the threads' shares of the last requests are between 40 and 60 percent.
fn wait_for_shares(session: &Session) {
    let began = Instant::now();
    let mut even = 0;
    while even < 3 {
        let choice = value(session, "SELECT choice FROM hotrow.engine_status");
        assert!(began.elapsed() < Duration::from_secs(60), "{choice}");
        std::thread::sleep(Duration::from_millis(100));
        let shares = choice.split("last requests: ").nth(1).expect("it is told").split('.').next();
        let first = shares.and_then(|shares| shares.split(' ').next()?.parse::<u64>().ok());
        match first {
            Some(40..=60) => even += 1,
            _ => even = 0,
        }
    }
}

/// A Payment, cut down: two tables are updated side by side, and what they have made is noted.
const PAY: &str = "
    CREATE TABLE w (id bigint PRIMARY KEY, ytd bigint NOT NULL);
    CREATE TABLE d (w bigint, id bigint, next bigint NOT NULL, PRIMARY KEY (w, id));
    CREATE TABLE h (id bigint PRIMARY KEY, w bigint NOT NULL);
    CREATE FUNCTION pay(a bigint, b bigint, amount bigint) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE x bigint; y bigint; BEGIN
        UPDATE w SET ytd = ytd + amount WHERE id = a RETURNING ytd INTO x;
        UPDATE d SET next = next + 1 WHERE w = a AND id = b RETURNING next INTO y;
        INSERT INTO h VALUES (y + 1, x);
        RETURN x + y;
    END $$;";

#[test]
fn a_procedure_s_flow_graph_is_told_and_drawn() {
    let db = Database::open_in_memory(Config::default().threads(1)).expect("it opens");
    db.session().execute(PAY).expect("it is legal");
    let told = db.explain_procedure("pay").expect("it is there");
    let graph = told.split("Flow graph: ").nth(1).expect("it is told");
    let expected = "2 phases
  phase 1
    1. update w by key (id) of w_pkey
    2. update d by key (w, id) of d_pkey
  phase 2
    3. insert into h, after x of 1 and y of 2
";
    assert_eq!(graph, expected);
    let drawn = db.draw_procedure("pay").expect("it is there");
    assert!(drawn.starts_with("digraph \"pay\" {") && drawn.ends_with("}\n"), "{drawn}");
    for part in ["label=\"phase 2\"", "n0 -> n2 [label=\"x\"]", "n1 -> n2 [label=\"y\"]", "commit"]
    {
        assert!(drawn.contains(part), "{part}: {drawn}");
    }
    let opened = drawn.matches('{').count();
    assert_eq!(opened, drawn.matches('}').count(), "{drawn}");
    assert!(db.draw_procedure("pays").is_err());
}
