//! A database with a directory: what it holds after it is closed and opened again.

use std::path::Path;

use crate::scratch::Directory;
use hotrow::{Config, Database, Durability, Error, LogEntries, engines};

const SCRIPT: &str = "
    CREATE TABLE account (id bigint PRIMARY KEY, cents bigint NOT NULL, note text);
    CREATE INDEX account_note ON account (note);
    CREATE PROCEDURE open_account(which bigint, amount bigint, remark text) AS $$
    BEGIN
      INSERT INTO account VALUES (which, amount, remark);
    END $$ LANGUAGE plpgsql;
    CREATE PROCEDURE move_money(origin bigint, target bigint, amount bigint) AS $$
    BEGIN
      UPDATE account SET cents = cents - amount WHERE id = origin;
      UPDATE account SET cents = cents + amount, note = now()::text WHERE id = target;
    END $$ LANGUAGE plpgsql;
    CREATE FUNCTION total() RETURNS bigint AS $$
    DECLARE result bigint;
    BEGIN
      SELECT sum(cents) INTO result FROM account;
      RETURN result;
    END $$ LANGUAGE plpgsql;
    INSERT INTO account VALUES (1, 100, NULL);
";

/// Every engine in all variants: the first one with both forms of log entries, the others with one
/// in turn.
fn every_engine() -> impl Iterator<Item = (Config, String)> {
    const FORMS: [LogEntries; 2] = [LogEntries::Commands, LogEntries::Values];
    engines().iter().flat_map(|entry| {
        entry.variants.iter().enumerate().flat_map(move |(turn, variant)| {
            let threads = entry.threads_near(3);
            let config = Config::default().engine(entry.name).variant(variant).threads(threads);
            let forms = if turn == 0 { &FORMS[..] } else { &FORMS[turn % 2..][..1] };
            forms.iter().map(move |&entries| {
                let name = format!("{} {variant:?}, {entries}", entry.name);
                (config.clone().log_entries(entries), name)
            })
        })
    })
}

fn rows(db: &Database) -> Vec<Vec<hotrow::Value>> {
    let mut rows = Vec::new();
    db.scan("account", |row| rows.push(row.to_vec())).expect("the table is there");
    rows.sort_by_key(|row| format!("{:?}", row[0]));
    rows
}

fn work(path: &Path, config: &Config, first: i64) -> Vec<Vec<hotrow::Value>> {
    let db = Database::open(path, config.clone()).expect("the directory can be used");
    if first == 10 {
        db.session().execute(SCRIPT).expect("the script is right");
    }
    std::thread::scope(|scope| {
        for client in 0..4 {
            let db = &db;
            scope.spawn(move || {
                let session = db.session();
                // In the zone of each: a note is what its caller's clock shows, in its style.
                let zone = ["UTC", "Europe/Berlin", "Asia/Kathmandu", "-8"][client as usize];
                let style = ["SQL, DMY", "ISO", "German", "Postgres"][client as usize];
                let set = format!("SET timezone = '{zone}'; SET datestyle = '{style}'");
                session.execute(&set).expect("there are such");
                let own = first + client;
                let opened = session.call("open_account", (own, 1000_i64, "new"));
                let durability = opened.expect("the account is new").durability();
                assert_eq!(durability, config.durability);
                for _ in 0..50 {
                    let moved = session.call("move_money", (own, 1_i64, 7_i64));
                    moved.expect("both accounts are there");
                }
                let twice = session.call("open_account", (own, 1_i64, "again")).unwrap_err();
                assert_eq!(twice.sqlstate(), Some("23505"));
            });
        }
    });
    let total: i64 = db.session().call("total", ()).expect("it runs").one().expect("one number");
    assert_eq!(total, 100 + (first - 9 + 3) / 4 * 4000, "money is conserved");
    rows(&db)
}

#[test]
fn what_was_committed_is_there_again_on_every_engine() {
    for (config, name) in every_engine() {
        for durability in [Durability::Durable, Durability::Buffered] {
            let directory = Directory::new("again");
            let config = config.clone().durability(durability);
            let first = work(&directory.0, &config, 10);
            {
                let db = Database::open(&directory.0, config.clone()).expect("it opens again");
                assert_eq!(rows(&db), first, "{name}");
                let report = db.recovery().expect("there is a directory");
                assert_eq!(report.transactions, 6 + 1 + 4 * 51 - 1, "{name}: {report:?}");
                assert_eq!(report.notices, Vec::<String>::new());
            }
            let second = work(&directory.0, &config, 14);
            let db = Database::open(&directory.0, config).expect("it opens a third time");
            assert_eq!(rows(&db), second, "{name}");
        }
    }
}

#[test]
fn definitions_are_there_again_with_what_was_dropped_gone() {
    let directory = Directory::new("definitions");
    {
        let db = Database::open(&directory.0, Config::default()).expect("it opens");
        let session = db.session();
        session.execute(SCRIPT).expect("the script is right");
        session
            .execute(
                "CREATE TABLE gone (a bigint PRIMARY KEY);
                 INSERT INTO gone VALUES (1);
                 DROP TABLE gone;
                 DROP TABLE IF EXISTS gone;
                 CREATE TABLE gone (b text PRIMARY KEY);
                 INSERT INTO gone VALUES ('x');
                 UPDATE account SET cents = 5 WHERE id = 1;
                 DROP FUNCTION total;
                 CREATE OR REPLACE PROCEDURE open_account(which bigint, amount bigint, remark text)
                 AS $$ BEGIN INSERT INTO account VALUES (which, amount * 2, remark); END $$
                 LANGUAGE plpgsql;",
            )
            .expect("the script is right");
        session.call("open_account", (2_i64, 4_i64, "two")).expect("it is new");
    }
    let db = Database::open(&directory.0, Config::default()).expect("it opens again");
    let session = db.session();
    let cents = session.execute("SELECT cents FROM account ORDER BY id").expect("it is there");
    assert_eq!(cents[0].rows.clone().all::<i64>().expect("numbers"), [5, 8]);
    let b: String = session.execute("SELECT b FROM gone").expect("it is there")[0]
        .rows
        .clone()
        .one()
        .expect("a text");
    assert_eq!(b, "x");
    let error = session.call("total", ()).unwrap_err();
    assert_eq!(error.sqlstate(), Some("42883"));
}

#[test]
fn a_keyed_call_takes_effect_once_across_restarts_and_checkpoints() {
    for (config, name) in every_engine() {
        for checkpoint in [false, true] {
            let directory = Directory::new("once");
            let mut expected = 5;
            for start in 0..3 {
                let db = Database::open(&directory.0, config.clone()).expect("it opens");
                let session = db.session();
                if start == 0 {
                    session
                        .execute(
                            "CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL);
                             INSERT INTO counter VALUES (1, 0);
                             CREATE FUNCTION bump(by_how_much bigint) RETURNS bigint AS $$
                             DECLARE result bigint;
                             BEGIN
                               UPDATE counter SET n = n + by_how_much WHERE id = 1
                                 RETURNING n INTO result;
                               IF result > 100 THEN RAISE EXCEPTION 'too much: %', result; END IF;
                               RETURN result;
                             END $$ LANGUAGE plpgsql;",
                        )
                        .expect("the script is right");
                }
                let once = |key: &str, by: i64| session.call_once(key, "bump", (by,));
                for _ in 0..3 {
                    let first = once("first", 5).expect("it runs").one::<i64>();
                    assert_eq!(first.expect("a number"), 5, "{name}, start {start}");
                    let refused = once("refused", 1000).expect_err("it is too much");
                    let told = refused.as_sql().expect("its own error");
                    assert_eq!(told.code(), "P0001");
                    // What it would say of a later state is not what it said first.
                    assert_eq!(told.message, "too much: 1005", "{name}, start {start}");
                }
                let other = once("first", 6).expect_err("another call");
                assert_eq!(other.sqlstate(), Some("22023"), "{other}");
                expected += 1;
                let next = once(&format!("start {start}"), 1).expect("it runs").one::<i64>();
                assert_eq!(next.expect("a number"), expected, "{name}, start {start}");
                if checkpoint {
                    let report = db.checkpoint().expect("it is taken").expect("a directory");
                    assert_eq!(report.rows, 1);
                }
            }
        }
    }
}

#[test]
fn a_keyed_call_that_only_reads_tells_the_same_after_a_restart() {
    let directory = Directory::new("read-once");
    for start in 0..3 {
        let db = Database::open(&directory.0, Config::default()).expect("it opens");
        let session = db.session();
        if start == 0 {
            session.execute(SCRIPT).expect("the script is right");
        }
        let told = session.call_once("sum", "total", ()).expect("it runs").one::<i64>();
        assert_eq!(told.expect("a number"), 100, "start {start}");
        session.call("open_account", (50 + start, 7_i64, "more")).expect("it is new");
        let now: i64 = session.call("total", ()).expect("it runs").one().expect("a number");
        assert_eq!(now, 100 + 7 * (start + 1));
    }
}

#[test]
fn of_many_calls_with_one_key_one_runs() {
    let directory = Directory::new("race");
    let db = Database::open(&directory.0, Config::default().threads(2)).expect("it opens");
    db.session().execute(SCRIPT).expect("the script is right");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let db = &db;
            scope.spawn(move || {
                let session = db.session();
                for number in 0..100_i64 {
                    let arguments = (1000 + number, 1_i64, "once");
                    let key = format!("key {number}");
                    session.call_once(&key, "open_account", arguments).expect("it runs once");
                }
            });
        }
    });
    assert_eq!(rows(&db).len(), 101);
}

#[test]
fn after_a_checkpoint_only_what_came_later_is_repeated() {
    for (config, name) in every_engine() {
        let directory = Directory::new("checkpoint");
        let config = config.log_file_bytes(1 << 16).checkpoint_log_bytes(None);
        let first = work(&directory.0, &config, 10);
        let db = Database::open(&directory.0, config.clone()).expect("it opens again");
        let session = db.session();
        let report = db.checkpoint().expect("it is taken").expect("there is a directory");
        assert_eq!(report.rows, 5, "{name}: {report:?}");
        session.call("move_money", (10_i64, 1_i64, 3_i64)).expect("both are there");
        drop(session);
        let after = rows(&db);
        assert_ne!(after, first);
        drop(db);
        for _ in 0..2 {
            let db = Database::open(&directory.0, config.clone()).expect("it opens again");
            let report = db.recovery().expect("there is a directory").clone();
            assert_eq!((report.checkpoint_rows, report.transactions), (5, 1), "{name}: {report:?}");
            assert_eq!(rows(&db), after, "{name}");
        }
        work(&directory.0, &config, 14);
    }
}

/// An open transaction outlives a checkpoint, which has its rows as they were before.
#[test]
fn an_open_transaction_is_no_part_of_a_checkpoint() {
    for (config, name) in every_engine() {
        for end in ["COMMIT", "ROLLBACK", ""] {
            let name = format!("{name}, {end}");
            let directory = Directory::new("beside");
            let config = config.clone().log_file_bytes(1 << 16).checkpoint_log_bytes(None);
            work(&directory.0, &config, 10);
            let db = Database::open(&directory.0, config.clone()).expect("it opens again");
            let (writer, other) = (db.session(), db.session());
            let long = "long ".repeat(90);
            let changes = format!(
                "BEGIN;
                 UPDATE account SET note = '{long}', cents = cents - 1 WHERE id = 10;
                 UPDATE account SET cents = cents + 1 WHERE id = 11;
                 DELETE FROM account WHERE id = 12;
                 INSERT INTO account VALUES (50, 0, 'new');
                 UPDATE account SET note = '{long}' WHERE id = 50;
                 DELETE FROM account WHERE id = 13;
                 INSERT INTO account VALUES (13, 1000 - 350, 'another');"
            );
            writer.execute(&changes).expect("nobody is in the way");
            let report = db.checkpoint().expect("it is taken").expect("there is a directory");
            assert_eq!(report.rows, 5, "{name}: {report:?}");
            if !end.is_empty() {
                writer.execute(end).unwrap_or_else(|error| panic!("{name}: {error}"));
                // What the checkpoint has not is found as it is by calls that are repeated.
                other.call("move_money", (10_i64, 11_i64, 3_i64)).expect("both are there");
                other.call("move_money", (11_i64, 13_i64, 4_i64)).expect("both are there");
                other.call("open_account", (14_i64, 5_i64, "later")).expect("it is new");
            }
            drop((writer, other));
            let after = rows(&db);
            assert_eq!(after.len(), if end.is_empty() { 5 } else { 6 }, "{name}");
            drop(db);
            for _ in 0..2 {
                let db = Database::open(&directory.0, config.clone()).expect("it opens again");
                assert_eq!(db.recovery().expect("there is one").checkpoint_rows, 5, "{name}");
                assert_eq!(rows(&db), after, "{name}");
            }
        }
    }
}

#[test]
fn a_checkpoint_is_taken_when_the_log_has_grown() {
    let directory = Directory::new("growing");
    let config = Config::default()
        .threads(2)
        .log_file_bytes(1 << 16)
        .durability(Durability::Buffered)
        .checkpoint_log_bytes(Some(1 << 16));
    let db = Database::open(&directory.0, config.clone()).expect("it opens");
    let session = db.session();
    session.execute(SCRIPT).expect("the script is right");
    let manifest = || {
        let files = std::fs::read_dir(directory.0.join("checkpoint")).expect("it is there");
        files.count() > 0
    };
    let started = std::time::Instant::now();
    let mut number = 10;
    while !manifest() {
        session.call("open_account", (number, 1_i64, "x".repeat(500))).expect("it is new");
        number += 1;
        assert!(started.elapsed().as_secs() < 60, "no checkpoint after {number} calls");
    }
    drop((session, db));
    let db = Database::open(&directory.0, config).expect("it opens again");
    assert_eq!(rows(&db).len() as i64, number - 10 + 1);
}

#[test]
fn bulk_rows_are_durable_when_the_load_is_finished() {
    let directory = Directory::new("bulk");
    let config = Config::default().threads(2);
    let create = "CREATE TABLE account (id bigint PRIMARY KEY, cents bigint NOT NULL, note text)";
    {
        let db =
            Database::open_without_engine(&directory.0, config.clone(), |_| ()).expect("it opens");
        db.session().execute(create).expect("it is right");
        let load = |finish: bool| {
            let loader = db.bulk_loader().expect("no engine runs");
            for (number, mut part) in loader.parts().into_iter().enumerate() {
                let id = number as i64 * 2 + i64::from(finish);
                let row = [hotrow::Datum::int(id), hotrow::Datum::int(7), hotrow::Datum::NULL];
                part.load("account", &row, &[]).expect("it is new");
            }
            if finish { loader.finish().expect("the disk takes it") } else { drop(loader) }
        };
        load(false);
        let refused = db.session().execute("SELECT id FROM account").expect_err("not durable");
        assert!(matches!(refused, Error::Unlogged), "{refused}");
        load(true);
        db.session().execute("UPDATE account SET cents = cents + id").expect("it is durable");
    }
    let db = Database::open(&directory.0, config).expect("it opens again");
    let cents: Vec<_> = rows(&db).iter().map(|row| format!("{:?}", row[1])).collect();
    assert_eq!(cents, ["BigInt(7)", "BigInt(8)", "BigInt(9)", "BigInt(10)"]);
}

/// Fills a database up to its budget, one call of a hundred rows after the other, and deletes some;
/// the rows that are left.
fn fill_up(db: &Database) -> i64 {
    let session = db.session();
    let script = "
        CREATE TABLE account (id bigint PRIMARY KEY, cents bigint NOT NULL, note text);
        CREATE INDEX account_note ON account (note);
        CREATE PROCEDURE fill(first bigint) AS $$
        BEGIN
          FOR i IN first..first + 99 LOOP
            INSERT INTO account VALUES (i, i, repeat('x', 200) || i);
          END LOOP;
        END $$ LANGUAGE plpgsql;
        CREATE PROCEDURE empty(first bigint, last bigint) AS $$
        BEGIN
          FOR i IN first..last LOOP DELETE FROM account WHERE id = i; END LOOP;
        END $$ LANGUAGE plpgsql;";
    session.execute(script).expect("there is room for that");
    let mut made = 0;
    let refused = loop {
        match session.call("fill", (made,)) {
            Ok(_) => made += 100,
            Err(error) => break error,
        }
        assert!(made < 100_000, "the budget is full before");
    };
    assert_eq!(refused.sqlstate(), Some("53200"), "{refused}");
    session.call("empty", (0_i64, 299_i64)).expect("a full database deletes");
    made - 300
}

#[test]
fn a_full_database_starts_again_and_deletes_on_every_engine() {
    const BUDGET: u64 = 4 << 20;
    for (config, name) in every_engine() {
        for with_checkpoint in [false, true] {
            let directory = Directory::new("full");
            let config = config.clone().memory_bytes(BUDGET).durability(Durability::Buffered);
            let left = {
                let db = Database::open(&directory.0, config.clone()).expect("it opens");
                let left = fill_up(&db);
                if with_checkpoint {
                    db.checkpoint().expect("the disk takes it");
                }
                left
            };
            // With half the budget, too: what is there is there.
            for budget in [BUDGET, BUDGET / 2] {
                let config = config.clone().memory_bytes(budget);
                let db = Database::open(&directory.0, config).unwrap_or_else(|error| {
                    panic!("{name}, checkpoint {with_checkpoint}, {budget} bytes: {error}")
                });
                assert_eq!(rows(&db).len() as i64, left, "{name}");
                let used = db.memory().expect("it is open").used_bytes;
                let notices = &db.recovery().expect("there is a directory").notices;
                assert_eq!(notices.len(), usize::from(used > budget), "{name}: {notices:?}");
                if budget < BUDGET {
                    assert!(used > budget, "{name}: half the budget is not enough");
                    let session = db.session();
                    // What was deleted has left places, which are filled first.
                    let fill = |at: i64| session.call("fill", (1_000_000 + 100 * at,));
                    let (made, refused) = (0..1_000)
                        .find_map(|at| fill(at).err().map(|refused| (100 * at, refused)))
                        .expect("it is full");
                    assert_eq!(refused.sqlstate(), Some("53200"), "{name}: {refused}");
                    session.call("empty", (300_i64, 399_i64)).expect("it deletes");
                    assert_eq!(rows(&db).len() as i64, left - 100 + made, "{name}");
                    session.execute("TRUNCATE account").expect("it makes room");
                    // The old rows go when the last thread has seen that they are no more: within
                    // some 0.1 s. The bound only catches rows that never go.
                    let started = std::time::Instant::now();
                    while session.call("fill", (0_i64,)).is_err() {
                        assert!(started.elapsed().as_secs() < 60, "{name}: there is no room");
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                }
            }
        }
    }
}

#[test]
fn one_process_at_a_time_has_a_directory() {
    let directory = Directory::new("locked");
    let db = Database::open(&directory.0, Config::default()).expect("it opens");
    let refused = Database::open(&directory.0, Config::default()).unwrap_err();
    let told = refused.to_string();
    assert!(matches!(refused, Error::Log(_)), "{told}");
    assert!(told.contains(&format!("pid {}", std::process::id())), "{told}");
    drop(db);
    Database::open(&directory.0, Config::default()).expect("it is free again");
}

#[test]
fn a_directory_without_a_log_is_refused() {
    let directory = Directory::new("memory");
    let config = Config::default().durability(Durability::Memory);
    let refused = Database::open(&directory.0, config).unwrap_err();
    assert!(matches!(refused, Error::MemoryInDirectory), "{refused}");
}

#[test]
fn definitions_mean_after_a_restart_what_they_meant_in_their_zone() {
    let directory = Directory::new("zones");
    let open = || Database::open(&directory.0, Config::default().threads(1)).expect("it opens");
    {
        let session = open().session();
        session
            .execute(
                "SET timezone = 'America/New_York';
                 CREATE TABLE part (at timestamptz PRIMARY KEY) PARTITION BY RANGE (at);
                 CREATE TABLE july PARTITION OF part
                     FOR VALUES FROM ('2026-07-01') TO ('2026-08-01');
                 CREATE TABLE checked (id int PRIMARY KEY,
                     at timestamptz CHECK (at >= '2026-07-01'));
                 CREATE TABLE made AS SELECT 1 AS id, '2026-07-15 12:00'::timestamptz AS at,
                     '2026-07-15 12:00'::timestamptz::text AS shown;
                 CREATE TABLE turned (id int PRIMARY KEY, at timestamp);
                 INSERT INTO turned VALUES (1, '2026-07-15 12:00');
                 ALTER TABLE turned ALTER COLUMN at TYPE timestamptz;
                 SET datestyle = 'SQL, DMY';
                 CREATE TABLE days (d date PRIMARY KEY CHECK (d >= '1/2/2026'));
                 CREATE TABLE dmy AS SELECT '1/2/2026'::date AS d, '1/2/2026'::date::text AS shown;
                 INSERT INTO days VALUES ('1/2/2026');",
            )
            .expect("the script is right");
    }
    for round in 0..3 {
        let db = open();
        let session = db.session();
        let made =
            session.execute("SELECT at::text, shown, (SELECT at::text FROM turned) FROM made");
        let row = made.expect("the tables are there").remove(0).rows;
        let row: Vec<_> = row.iter().flatten().map(ToString::to_string).collect();
        assert_eq!(
            row,
            ["2026-07-15 16:00:00+00", "2026-07-15 12:00:00-04", "2026-07-15 16:00:00+00"],
            "round {round}"
        );
        let days = session.execute("SELECT d, shown, (SELECT d FROM days) FROM dmy");
        let row = days.expect("the tables are there").remove(0).rows;
        let row: Vec<_> = row.iter().flatten().map(ToString::to_string).collect();
        assert_eq!(row, ["2026-02-01", "01/02/2026", "2026-02-01"], "round {round}");
        for (table, early) in [
            ("part", "'2026-07-01 03:59'"),
            ("checked", "1, '2026-07-01 03:59'"),
            ("days", "'2026-01-31'"),
        ] {
            let refused = session.execute(&format!("INSERT INTO {table} VALUES ({early})"));
            let code = refused.err().and_then(|error| error.sqlstate().map(str::to_owned));
            assert_eq!(code.as_deref(), Some("23514"), "{table}, round {round}");
        }
        let minute = format!("2026-07-01 04:0{round}");
        let inserts = format!(
            "INSERT INTO part VALUES ('{minute}'); INSERT INTO checked VALUES ({round}, '{minute}')"
        );
        session.execute(&inserts).expect("they fit");
        if round == 1 {
            session.execute("CHECKPOINT").expect("there is a directory");
        }
    }
}
