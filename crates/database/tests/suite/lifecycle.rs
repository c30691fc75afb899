//! Opening, shutting down, full queues and full memory.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::every_engine::{every_engine, open};
use hotrow::{Config, Database, Error};

const COUNTER: &str = "
CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL);
INSERT INTO counter VALUES (1, 0);
CREATE FUNCTION bump(steps bigint) RETURNS bigint AS $$
DECLARE r bigint;
BEGIN
  FOR i IN 1..steps LOOP r := i; END LOOP;
  UPDATE counter SET n = n + 1 WHERE id = 1 RETURNING n INTO r;
  RETURN r;
END $$ LANGUAGE plpgsql;
";

fn count(db: &Database) -> i64 {
    let mut count = 0;
    db.scan("counter", |row| count = row[1].clone().try_into().expect("a bigint"))
        .expect("the table is there");
    count
}

#[test]
fn a_wrong_configuration_is_refused() {
    let refused = |config: Config| Database::open_in_memory(config).err().map(|e| e.to_string());
    let text = refused(Config::default().engine("warp")).expect("there is none");
    assert!(text.contains("\"warp\"") && text.contains("serial"), "{text}");
    let text = refused(Config::default().setting("colour", "red")).expect("there is none");
    assert!(text.contains("colour"), "{text}");
    assert!(refused(Config::default().threads(0)).is_some());
    assert!(refused(Config::default().queue_capacity(0)).is_some());
    assert!(refused(Config::default().in_flight(0)).is_some());
    for entry in hotrow::engines().iter().filter(|entry| entry.threads_max == Some(1)) {
        assert!(refused(Config::default().engine(entry.name).threads(2)).is_some());
        assert_eq!(refused(Config::default().engine(entry.name)), None);
    }
}

#[test]
fn shutdown_finishes_what_was_accepted_and_refuses_the_rest() {
    every_engine(|config| {
        let db = open(config);
        db.session().execute(COUNTER)?;
        let (done, refused) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    let bump = db.session().procedure("bump").expect("it is there");
                    loop {
                        match bump.call((100_i64,)) {
                            Ok(_) => done.fetch_add(1, Ordering::Relaxed),
                            Err(Error::Closed) => break refused.fetch_add(1, Ordering::Relaxed),
                            Err(other) => panic!("{other}"),
                        };
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(30));
            db.shutdown();
            db.shutdown();
        });
        let done = done.into_inner();
        assert!(done > 0);
        assert_eq!(refused.into_inner(), 6);
        assert_eq!(db.statistics().committed, done, "committed and answered are the same");
        let session = db.session();
        assert!(matches!(session.call("bump", (1_i64,)), Err(Error::Closed)));
        assert!(matches!(session.execute("SELECT n FROM counter"), Err(Error::Closed)));
        assert!(matches!(session.execute("CREATE TABLE t (a bigint)"), Err(Error::Closed)));
        assert!(matches!(db.scan("counter", |_| {}), Err(Error::Closed)));
        assert_eq!(db.tables(), ["counter"]);
        Ok(())
    });
}

#[test]
fn a_session_keeps_its_database_open() {
    every_engine(|config| {
        let session = {
            let db = open(config);
            db.session().execute(COUNTER)?;
            db.session()
        };
        assert_eq!(session.call("bump", (1_i64,))?.one::<i64>()?, 1);
        let procedure = session.procedure("bump")?;
        drop(session);
        assert_eq!(procedure.call((1_i64,))?.one::<i64>()?, 2);
        Ok(())
    });
}

#[test]
fn a_full_queue_makes_callers_wait_or_tells_them() {
    // While seven callers fill two places and two threads, an eighth asks until it is refused. How
    // often it has to ask is up to the machine; never in 20,000 times is a queue without a bound.
    const TRIES: u32 = 20_000;
    const STEPS: i64 = 20_000;
    every_engine(|config| {
        let db = open(config.queue_capacity(1).step_budget(u64::MAX));
        db.session().execute(COUNTER)?;
        let asked = AtomicBool::new(false);
        let waited = AtomicU64::new(0);
        let refusal = std::thread::scope(|scope| {
            for _ in 0..7 {
                scope.spawn(|| {
                    let session = db.session();
                    while !asked.load(Ordering::Relaxed) {
                        session.call("bump", (STEPS,)).expect("it waits for room");
                        waited.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let session = db.session();
            let refusal = (0..TRIES).find_map(|_| session.try_call("bump", (STEPS,)).err());
            asked.store(true, Ordering::Relaxed);
            refusal
        });
        let refusal = refusal.expect("eight callers fill two places and two threads");
        assert_eq!(refusal.sqlstate(), Some("53300"), "{refusal}");
        assert!(waited.into_inner() > 0, "who waits for room gets it");
        assert!(count(&db) > 0);
        Ok(())
    });
}

#[test]
fn an_endless_call_ends_at_its_step_budget() {
    every_engine(|config| {
        let db = open(config.step_budget(1000));
        let session = db.session();
        session.execute(COUNTER)?;
        let error = session.call("bump", (1_i64 << 30,)).expect_err("too many steps");
        assert_eq!(error.sqlstate(), Some("54000"), "{error}");
        let error = session
            .execute("DO $$ BEGIN FOR i IN 1..2000 LOOP END LOOP; END $$")
            .expect_err("too many steps");
        assert_eq!(error.sqlstate(), Some("54000"), "{error}");
        assert_eq!(session.call("bump", (10_i64,))?.one::<i64>()?, 1);
        Ok(())
    });
}

#[test]
fn full_memory_refuses_inserts_and_nothing_else() {
    every_engine(|config| {
        let db = open(config.memory_bytes(5 << 20));
        let session = db.session();
        session.execute(
            "CREATE TABLE big (id bigint PRIMARY KEY, filler text NOT NULL);
             CREATE FUNCTION put(new_id bigint, words text) RETURNS void AS $$
             BEGIN INSERT INTO big VALUES (new_id, words); END $$ LANGUAGE plpgsql;
             CREATE FUNCTION length_of(wanted bigint) RETURNS bigint AS $$
             DECLARE t text;
             BEGIN SELECT filler INTO t FROM big WHERE id = wanted; RETURN length(t); END
             $$ LANGUAGE plpgsql;
             CREATE FUNCTION remove(wanted bigint) RETURNS void AS $$
             BEGIN DELETE FROM big WHERE id = wanted; END $$ LANGUAGE plpgsql;",
        )?;
        let filler = "x".repeat(2000);
        let mut rows = 0_i64;
        let error = loop {
            match session.call("put", (rows, filler.as_str())) {
                Ok(_) => rows += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error.sqlstate(), Some("53200"), "{error}");
        assert!(rows > 1000, "{rows} rows of 2 kB in 5 MB");
        let report = db.memory()?;
        assert!(report.used_bytes <= report.limit_bytes);
        assert_eq!(report.tables[0].rows, rows as u64);
        assert_eq!(report.raw_row_bytes(), rows as u64 * 2008);
        assert_eq!(session.call("length_of", (0_i64,))?.one::<i64>()?, 2000);
        for id in 0..rows {
            session.call("remove", (id,))?;
        }
        assert_eq!(db.memory()?.tables[0].rows, 0);
        // What was deleted is used again, once no transaction can reach it.
        let again = (0..rows / 2).filter(|id| session.call("put", (*id, filler.as_str())).is_ok());
        assert!(again.count() as i64 > rows / 4);
        Ok(())
    });
}
