//! Overload is answered, and quickly: deadlines of calls, and how many may wait for one key.

use std::time::{Duration, Instant};

use hotrow::{Config, Database, Error};

const SCHEMA: &str = "
    CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL);
    CREATE TABLE alias (name bigint PRIMARY KEY, id bigint NOT NULL);
    INSERT INTO counter VALUES (1, 0), (2, 0);
    INSERT INTO alias VALUES (7, 1);
    CREATE FUNCTION bump(which bigint) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE v bigint;
    BEGIN
        UPDATE counter SET n = n + 1 WHERE id = which RETURNING n INTO v;
        RETURN v;
    END $$;
    CREATE FUNCTION look(which bigint) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE v bigint;
    BEGIN
        SELECT n INTO v FROM counter WHERE id = which;
        RETURN v;
    END $$;
    CREATE PROCEDURE spin() LANGUAGE plpgsql AS $$
    BEGIN
        FOR i IN 1..2000000000 LOOP FOR j IN 1..2000000000 LOOP NULL; END LOOP; END LOOP;
    END $$;";

fn open(config: Config) -> Database {
    let db = Database::open_in_memory(config).unwrap();
    db.session().execute(SCHEMA).unwrap();
    db
}

fn bumped(db: &Database, which: i64) -> Result<i64, Error> {
    db.session().call("bump", (which,))?.one()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_hot_key_fills_neither_queue_nor_threads() {
    let db = open(Config::default().threads(2).calls_per_key_max(Some(1)));
    let holder = db.session();
    holder.execute("BEGIN; UPDATE counter SET n = 10 WHERE id = 1").unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| bumped(&db, 1));
        wait_until("it waits", || db.status().parked == 1);
        for _ in 0..3 {
            let began = Instant::now();
            let error = bumped(&db, 1).unwrap_err();
            assert_eq!(error.sqlstate(), Some("53300"), "{error}");
            assert!(error.to_string().contains("too many calls for one key"), "{error}");
            assert!(began.elapsed() < Duration::from_secs(5), "it was told at once");
        }
        // The other thread is free for other keys.
        assert_eq!(bumped(&db, 2).unwrap(), 1);
        assert!(!waiting.is_finished());
        holder.execute("COMMIT").unwrap();
        assert_eq!(waiting.join().unwrap().unwrap(), 11);
    });
    assert_eq!(bumped(&db, 1).unwrap(), 12, "who has ended leaves room");
    assert_eq!(db.status().sessions.refused, 3);
    // Who only reads it does not count, however many there are.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let session = db.session();
                let look = session.procedure("look").unwrap();
                (0..100).for_each(|_| drop(look.call((1_i64,)).unwrap()));
            });
        }
    });
}

#[test]
fn a_call_is_late_when_all_threads_are_held_up() {
    let db = open(Config::default().threads(1).step_budget(u64::MAX));
    let spinner = db.session();
    let ends = spinner.canceller();
    std::thread::scope(|scope| {
        let spinning = scope.spawn(move || spinner.call("spin", ()).map(drop));
        wait_until("it is taken", || db.status().running == 1);
        let hurried = db.session();
        hurried.execute("SET hotrow.call_deadline = '30ms'").unwrap();
        let began = Instant::now();
        let error = hurried.call("bump", (2_i64,)).unwrap_err();
        assert_eq!(error.sqlstate(), Some("53300"), "{error}");
        assert!(began.elapsed() >= Duration::from_millis(30), "it waited so long");
        let error = hurried.execute("SELECT bump(2)").unwrap_err();
        assert_eq!(error.sqlstate(), Some("53300"), "{error}");
        ends.cancel();
        assert_eq!(spinning.join().unwrap().unwrap_err().sqlstate(), Some("57014"));
        assert_eq!(db.status().queued, 0, "who has given up waits no more");
        // Long enough for the slowest machine: what is asked here is what was done.
        hurried.execute("SET hotrow.call_deadline = '1min'").unwrap();
        let first: i64 = hurried.call("bump", (2_i64,)).unwrap().one().unwrap();
        assert_eq!(first, 1, "what was refused has done nothing");
        hurried.execute("RESET hotrow.call_deadline").unwrap();
    });
}

#[test]
fn a_databases_own_deadline_holds_for_whoever_sets_none() {
    let deadline = Some(Duration::from_millis(20));
    let config = Config::default().threads(1).step_budget(u64::MAX);
    let db = open(config.call_deadline(deadline));
    let spinner = db.session();
    let ends = spinner.canceller();
    std::thread::scope(|scope| {
        // Taken before its deadline, it is waited for beyond it.
        let spinning = scope.spawn(move || spinner.call("spin", ()).map(drop));
        wait_until("it is taken", || db.status().running == 1);
        let session = db.session();
        let bump = session.procedure("bump").unwrap();
        for _ in 0..2 {
            assert_eq!(bump.call((2_i64,)).unwrap_err().sqlstate(), Some("53300"));
        }
        session.execute("SET hotrow.call_deadline = '1min'").unwrap();
        let patient = scope.spawn(move || session.call("bump", (2_i64,)).map(|rows| rows.one()));
        std::thread::sleep(Duration::from_millis(60));
        assert!(!patient.is_finished());
        ends.cancel();
        assert_eq!(spinning.join().unwrap().unwrap_err().sqlstate(), Some("57014"));
        let first: i64 = patient.join().unwrap().unwrap().unwrap();
        assert_eq!(first, 1);
        assert_eq!(bump.call((2_i64,)).unwrap().one::<i64>().unwrap(), 2, "the handle goes on");
    });
}
