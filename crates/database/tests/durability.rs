//! A database with a directory: what it holds after it is closed and opened again.

use std::path::{Path, PathBuf};

use hotrow::{Config, Database, Durability, Error, engines};

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

/// A directory of this test's own, removed at its end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hotrow-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn every_engine() -> impl Iterator<Item = (Config, String)> {
    engines().iter().flat_map(|entry| {
        entry.variants.iter().map(|variant| {
            let threads = entry.threads_max.unwrap_or(3).min(3);
            let config = Config::default().engine(entry.name).variant(variant).threads(threads);
            (config, format!("{} {variant:?}", entry.name))
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
