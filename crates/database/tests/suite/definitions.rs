//! Definitions: what they change, what they refuse, and that calls go on around them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::every_engine::{every_engine, open};
use hotrow::{Database, Error, Rows};

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    let error = result.expect_err("it must fail");
    error.sqlstate().map(str::to_owned).unwrap_or_else(|| error.to_string())
}

#[test]
fn replacing_keeps_handles_good_and_other_parameters_make_another_one() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(
            "CREATE FUNCTION f(a bigint) RETURNS bigint AS $$ BEGIN RETURN a; END
             $$ LANGUAGE plpgsql",
        )?;
        let f = session.procedure("f")?;
        let again = "CREATE FUNCTION f(a bigint) RETURNS bigint AS $$ BEGIN RETURN a; END
             $$ LANGUAGE plpgsql";
        assert_eq!(code(session.execute(again)), "42723");
        session.execute(
            "CREATE OR REPLACE FUNCTION f(a bigint) RETURNS bigint AS $$
             BEGIN RETURN 10 + a; END $$ LANGUAGE plpgsql",
        )?;
        assert_eq!(f.call((1_i64,))?.one::<i64>()?, 11);
        assert_eq!(session.procedure("f")?.id(), f.id());
        session.execute(
            "CREATE OR REPLACE FUNCTION f(a text) RETURNS text AS $$
             BEGIN RETURN a; END $$ LANGUAGE plpgsql",
        )?;
        assert_eq!(f.call((1_i64,))?.one::<i64>()?, 11);
        assert_eq!(db.procedures().len(), 2);
        assert_eq!(code(session.execute("DROP FUNCTION f")), "42725");
        session.execute("DROP FUNCTION f(bigint)")?;
        assert_eq!(code(f.call((1_i64,))), "42883");
        // The only one that is left of the name.
        assert_eq!(session.call("f", ("text",))?.one::<String>()?, "text");
        session.execute("DROP FUNCTION f")?;
        assert_eq!(code(session.call("f", ("text",))), "42883");
        assert_eq!(code(session.execute("DROP FUNCTION f")), "42883");
        session.execute("DROP FUNCTION IF EXISTS f")?;
        assert!(db.procedures().is_empty());
        Ok(())
    });
}

#[test]
fn a_table_that_procedures_use_may_go() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(
            "CREATE TABLE t (id bigint PRIMARY KEY, a bigint);
             CREATE INDEX t_a ON t (a);
             INSERT INTO t VALUES (1, 5);
             CREATE FUNCTION reader(wanted bigint) RETURNS bigint AS $$
             DECLARE r bigint;
             BEGIN SELECT id INTO r FROM t WHERE a = wanted; RETURN r; END $$ LANGUAGE plpgsql;",
        )?;
        let told = session.execute("BEGIN; DROP TABLE t")?.remove(1).notices;
        let lacks = "function reader cannot be called any more: relation \"t\" does not exist";
        assert_eq!(told.iter().map(|told| &*told.said.message).collect::<Vec<_>>(), [lacks]);
        session.execute("ROLLBACK")?;
        assert_eq!(session.call("reader", (5_i64,))?.one::<i64>()?, 1);
        // Without the index the procedure gets another way to its rows.
        session.execute("DROP INDEX t_a")?;
        assert_eq!(session.call("reader", (5_i64,))?.one::<i64>()?, 1);
        session.execute("CREATE INDEX t_a2 ON t USING btree (a)")?;
        assert_eq!(session.call("reader", (5_i64,))?.one::<i64>()?, 1);
        assert!(db.explain_procedure("reader")?.contains("t_a2"));
        session.execute("DROP TABLE t")?;
        assert_eq!(code(session.execute("SELECT * FROM t")), "42P01");
        assert_eq!(code(session.execute("SELECT reader(5)")), "42P01");
        session.execute("CREATE TABLE t (id bigint PRIMARY KEY)")?;
        assert_eq!(code(session.execute("SELECT reader(5)")), "42703");
        session.execute("ALTER TABLE t ADD COLUMN a bigint; INSERT INTO t VALUES (8, 5)")?;
        assert_eq!(session.call("reader", (5_i64,))?.one::<i64>()?, 8);
        session.execute("DELETE FROM t; ALTER TABLE t DROP COLUMN a")?;
        assert_eq!(session.execute("SELECT * FROM t")?[0].rows, {
            let columns = vec!["id".to_owned()];
            Rows::from(hotrow_transaction::outcome::Rows { columns, ..Default::default() })
        });
        Ok(())
    });
}

#[test]
fn a_call_is_explained_and_not_run() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(
            "CREATE TABLE t (w integer, id integer, n bigint NOT NULL, PRIMARY KEY (w, id));
             INSERT INTO t VALUES (1, 2, 3);
             CREATE PROCEDURE bump(p_w integer, p_id integer, p_by bigint) AS $$
             BEGIN UPDATE t SET n = n + p_by WHERE w = p_w AND id = p_id; END $$ LANGUAGE plpgsql;",
        )?;
        let explained = session.execute("EXPLAIN PROCEDURE bump(1, 1 + 1, abs(-5))")?;
        let lines: Vec<_> = explained[0].rows.iter().map(|row| row[0].to_string()).collect();
        let held = lines.iter().position(|line| line == "This call holds 1 granule:");
        let held = held.unwrap_or_else(|| panic!("{lines:?}"));
        assert_eq!(lines[held + 1], "  lock X granule (1, 2) of t_pkey");
        let flat = "In a batch calls are flat: each access waits for nothing but its turn.";
        assert!(lines.iter().any(|line| line == flat), "{lines:?}");
        let batch = "In a batch this call is 1 action in 1 phase:";
        let batch = lines.iter().position(|line| line == batch);
        let batch = batch.unwrap_or_else(|| panic!("{lines:?}"));
        assert_eq!(lines[batch + 2], "  action 0: X t_pkey (1, 2)");
        assert_eq!(session.execute("SELECT n FROM t")?.remove(0).rows.one::<i64>()?, 3);
        session.execute("CALL bump(1, 1 + 1, abs(-5))")?;
        assert_eq!(session.execute("SELECT n FROM t")?.remove(0).rows.one::<i64>()?, 8);
        assert_eq!(code(session.execute("EXPLAIN PROCEDURE bump(1)")), "42883");
        assert_eq!(code(session.execute("CALL bump(1, 1 / 0, 5)")), "22012");
        assert_eq!(code(session.execute("CALL bump(1, n, 5)")), "42703");
        Ok(())
    });
}

#[test]
fn batches_are_explained() {
    let db = open(hotrow::Config::default());
    let told = |arguments: &str, body: &str| {
        let session = db.session();
        session.execute(&format!(
            "CREATE OR REPLACE FUNCTION f(a integer, b integer) RETURNS integer AS $$ {body} $$
             LANGUAGE plpgsql;"
        ))?;
        let explained = session.execute(&format!("EXPLAIN PROCEDURE f{arguments}"))?;
        let lines = explained[0].rows.iter().map(|row| row[0].to_string());
        Ok::<_, Error>(lines.collect::<Vec<_>>().join("\n"))
    };
    let session = db.session();
    session.execute("CREATE TABLE t (id integer PRIMARY KEY, n integer NOT NULL)").expect("it is");
    session.execute("INSERT INTO t VALUES (1, 5), (2, 5)").expect("there is room");
    let first = "DECLARE v integer; BEGIN
        SELECT n INTO v FROM t WHERE id = a;
        IF v < 3 THEN RAISE EXCEPTION 'too little'; END IF;
        UPDATE t SET n = n - 3 WHERE id = a;
        UPDATE t SET n = n + 3 WHERE id = b; RETURN v; END";
    let text = told("", first).expect("it is right");
    assert!(text.contains("leaves, conditions first"), "{text}");
    let text = told("(1, 2)", first).expect("it is right");
    assert!(text.contains("In a batch this call is 3 actions in 2 phases"), "{text}");
    let last = "DECLARE v integer; BEGIN
        UPDATE t SET n = n - 3 WHERE id = a RETURNING n INTO v;
        IF v < 0 THEN RAISE EXCEPTION 'too little'; END IF;
        UPDATE t SET n = n + 3 WHERE id = b RETURNING n INTO v;
        IF v > 9 THEN RAISE EXCEPTION 'too much'; END IF; RETURN v; END";
    let text = told("(1, 2)", last).expect("it is right");
    assert!(text.contains("one action, because its conditions cannot come before"), "{text}");
}

#[test]
fn a_later_foreign_key_binds_earlier_procedures() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(
            "CREATE TABLE parent (id bigint PRIMARY KEY);
             INSERT INTO parent VALUES (1); INSERT INTO parent VALUES (2);
             CREATE FUNCTION remove(wanted bigint) RETURNS void AS $$
             BEGIN DELETE FROM parent WHERE id = wanted; END $$ LANGUAGE plpgsql;
             CREATE TABLE child (
               id bigint PRIMARY KEY,
               parent bigint CONSTRAINT child_parent UNIQUE REFERENCES parent (id)
             );
             INSERT INTO child VALUES (10, 1);",
        )?;
        assert_eq!(code(session.call("remove", (1_i64,))), "23503");
        session.call("remove", (2_i64,))?;
        assert_eq!(code(session.execute("INSERT INTO child VALUES (11, 2)")), "23503");
        let child = db.describe("child")?;
        assert_eq!(child.foreign_keys[0].parent, "parent");
        assert_eq!(child.indexes[1].columns, ["parent"]);
        Ok(())
    });
}

#[test]
fn a_refused_definition_changes_nothing() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute("CREATE TABLE t (id bigint PRIMARY KEY, a bigint)")?;
        session.execute("INSERT INTO t VALUES (1, 7); INSERT INTO t VALUES (2, 7)")?;
        let before = db.describe("t")?;
        assert_eq!(code(session.execute("CREATE UNIQUE INDEX u ON t (a)")), "23505");
        assert_eq!(code(session.execute("CREATE TABLE t (id bigint)")), "42P07");
        assert_eq!(code(session.execute("CREATE INDEX i ON nowhere (a)")), "42P01");
        // A syntax error refuses the whole script.
        assert_eq!(code(session.execute("CREATE TABLE other (a bigint); CREATE TABEL x")), "42601");
        let broken = "CREATE FUNCTION f() RETURNS void AS $$
                      BEGIN UPDATE t SET nothing = 1 WHERE id = 1; END $$ LANGUAGE plpgsql";
        let told = session.execute(broken)?.remove(0).notices;
        assert_eq!(told[0].said.sqlstate, *b"42703");
        assert_eq!(told[0].said.place.line, 2);
        assert_eq!((db.describe("t")?, db.tables().len()), (before, 1));
        assert_eq!(code(session.execute("CALL f()")), "42703");
        let wrong = "CREATE OR REPLACE FUNCTION f() RETURNS void AS $$ BEGIN
                     UPDATE t SET a = 'x'; END $$ LANGUAGE plpgsql";
        assert_eq!(code(session.execute(wrong)), "22P02");
        assert_eq!(code(session.execute("CALL f()")), "42703", "it is what it was");
        Ok(())
    });
}

#[test]
fn calls_go_on_around_definitions() {
    every_engine(|config| {
        let db = open(config);
        db.session().execute(
            "CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL);
             INSERT INTO counter VALUES (1, 0);
             CREATE FUNCTION bump(by_how_much bigint) RETURNS bigint AS $$
             BEGIN UPDATE counter SET n = n + by_how_much WHERE id = 1; RETURN 0; END
             $$ LANGUAGE plpgsql;",
        )?;
        let stop = AtomicBool::new(false);
        let bumps: i64 = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..4)
                .map(|_| {
                    let (session, stop) = (db.session(), &stop);
                    scope.spawn(move || {
                        let mut bumps = 0_i64;
                        while !stop.load(Ordering::Relaxed) {
                            let version: i64 = session
                                .call("bump", (1_i64,))
                                .and_then(Rows::one)
                                .expect("it is always there");
                            assert!((0..20).contains(&version));
                            bumps += 1;
                        }
                        bumps
                    })
                })
                .collect();
            let session = db.session();
            for version in 1..20 {
                session
                    .execute(&format!(
                        "CREATE TABLE t{version} (id bigint PRIMARY KEY);
                         CREATE OR REPLACE FUNCTION bump(by_how_much bigint) RETURNS bigint AS $$
                         BEGIN
                           UPDATE counter SET n = n + by_how_much WHERE id = 1;
                           RETURN {version};
                         END $$ LANGUAGE plpgsql;
                         INSERT INTO t{version} VALUES ({version});
                         UPDATE counter SET n = n + 0;"
                    ))
                    .expect("definitions under load");
            }
            stop.store(true, Ordering::Relaxed);
            clients.into_iter().map(|client| client.join().expect("no client fails")).sum()
        });
        let rows = db.session().execute("SELECT n FROM counter")?.remove(0).rows;
        assert_eq!(rows.one::<i64>()?, bumps);
        assert_eq!(db.session().call("bump", (1_i64,))?.one::<i64>()?, 19);
        assert_eq!(db.tables().len(), 20);
        Ok(())
    });
}

/// Waits until the books of the memory budget have so much in use: what was dropped goes when the
/// last thread has seen that it is no more, some milliseconds later.
fn await_used(db: &Database, bytes: u64) {
    let used = || db.memory().expect("it is open").used_bytes;
    let started = Instant::now();
    while used() != bytes {
        // Only catches what never goes.
        assert!(started.elapsed().as_secs() < 60, "{} bytes are used, not {bytes}", used());
        std::thread::yield_now();
    }
}

#[test]
fn what_was_dropped_takes_nothing_of_the_budget() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute("CREATE TABLE stays (id bigint PRIMARY KEY, n bigint)")?;
        let before = db.memory()?.used_bytes;
        for _ in 0..3 {
            session.execute(
                "CREATE TABLE goes (id bigint PRIMARY KEY, n bigint UNIQUE);
                 INSERT INTO goes VALUES (1, 1);
                 CREATE INDEX goes_n ON goes (n);
                 CREATE INDEX stays_n ON stays (n);
                 DROP INDEX stays_n;
                 DROP TABLE goes;",
            )?;
        }
        await_used(&db, before);
        session.execute("INSERT INTO stays VALUES (1, 2)")?;
        assert_eq!(session.execute("SELECT n FROM stays")?[0].rows.clone().one::<i64>()?, 2);
        Ok(())
    });
}

/// Locks of tables share counters where there are many tables: a call that holds two of them as
/// wholes does not wait for itself.
#[test]
fn calls_go_on_however_many_tables_there_have_been() {
    for entry in hotrow::engines() {
        let db = open(hotrow::Config::default().engine(entry.name).memory_bytes(256 << 20));
        let session = db.session();
        session.execute("CREATE TABLE one (id bigint PRIMARY KEY, n bigint)").expect("it is new");
        session.execute("SET statement_timeout = '10s'").expect("it is a setting");
        for turn in 0..260 {
            let script = "CREATE TABLE more (id bigint PRIMARY KEY, n bigint);
                CREATE PROCEDURE both(x bigint) AS $$ BEGIN UPDATE more SET n = x;
                    UPDATE one SET n = x; END $$ LANGUAGE plpgsql;
                CALL both(8); DROP PROCEDURE both; DROP TABLE more";
            let done = session.execute(script).map(drop);
            done.unwrap_or_else(|error| panic!("{}, table {turn}: {error}", entry.name));
        }
    }
}

/// Each is made while others are put in force, and while transactions use tables for the first
/// time: none may be lost, or be made of what was there before another one.
#[test]
fn definitions_of_many_sessions_are_all_there() {
    const SESSIONS: i64 = 3;
    every_engine(|config| {
        let directory = crate::scratch::Directory::new("definitions");
        let db = Database::open(&directory.0, config.clone())?;
        db.session().execute(
            "CREATE TABLE shared (id bigint PRIMARY KEY, n bigint NOT NULL);
             INSERT INTO shared VALUES (1, 0);",
        )?;
        std::thread::scope(|scope| {
            for of in 0..SESSIONS {
                let session = db.session();
                scope.spawn(move || {
                    for turn in 0..2 {
                        let name = format!("own_{of}_{turn}");
                        let run = |text: &str| {
                            session.execute(&text.replace("@", &name)).expect(text);
                        };
                        run("CREATE TABLE @ (id bigint PRIMARY KEY, n bigint)");
                        run("CREATE INDEX @_n ON @ (n)");
                        run("CREATE PROCEDURE note_@(k bigint) AS $$ BEGIN
                               UPDATE shared SET n = n + k WHERE id = 1;
                               UPDATE @ SET n = n + k;
                             END $$ LANGUAGE plpgsql");
                        // Others' definitions end it if it takes long, and say to repeat it.
                        let filled = format!("INSERT INTO {name} VALUES (7, 0), (8, 0)");
                        loop {
                            let inserted = session.execute(&format!("BEGIN; {filled}"));
                            let done = inserted.and_then(|_| session.execute("COMMIT"));
                            match done {
                                Ok(_) => break,
                                Err(error) => {
                                    assert_eq!(error.sqlstate(), Some("40001"), "{error}");
                                    let _ = session.execute("ROLLBACK");
                                }
                            }
                        }
                        run("CALL note_@(1)");
                        run("ALTER TABLE @ ADD COLUMN what text DEFAULT 'new'");
                        run("CALL note_@(10)");
                        run("ALTER TABLE shared ADD COLUMN @_c bigint DEFAULT 5");
                        if turn % 2 == 1 {
                            run("DROP PROCEDURE note_@; DROP INDEX @_n");
                        }
                    }
                });
            }
        });
        let described = |db: &Database| {
            let tables: Vec<_> = db.tables().iter().map(|table| format!("{table:?}")).collect();
            let procedures = db.procedures();
            (tables, procedures.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>())
        };
        let check = |db: &Database| {
            let session = db.session();
            let one = |text: &str| session.execute(text)?.remove(0).rows.one::<i64>();
            assert_eq!(db.procedures().len() as i64, SESSIONS);
            assert_eq!(one("SELECT n FROM shared")?, SESSIONS * 2 * 11);
            for (of, turn) in (0..SESSIONS).flat_map(|of| (0..2).map(move |turn| (of, turn))) {
                let name = format!("own_{of}_{turn}");
                assert_eq!(
                    one(&format!("SELECT sum(n)::bigint FROM {name} WHERE what = 'new'"))?,
                    22
                );
                assert_eq!(one(&format!("SELECT count(*) FROM {name} WHERE n = 11"))?, 2);
                assert_eq!(one(&format!("SELECT {name}_c FROM shared"))?, 5);
            }
            Ok::<_, Error>(())
        };
        check(&db)?;
        let before = described(&db);
        drop(db);
        let db = Database::open(&directory.0, config)?;
        assert_eq!(described(&db), before);
        check(&db)
    });
}

/// As dumps have it: functions come before the tables that they name, and their owners and the
/// functions that they call before those.
#[test]
fn functions_may_come_before_what_they_name() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute("CREATE ROLE clerk")?;
        let outer = "CREATE FUNCTION outer_one(n integer) RETURNS integer LANGUAGE plpgsql AS $$
             BEGIN INSERT INTO public.later VALUES (n); RETURN inner_one(n); END $$";
        let told = |text: &str| -> Result<Vec<String>, Error> {
            let results = session.execute(text)?;
            let notices = results.iter().flat_map(|result| &result.notices);
            Ok(notices.map(|notice| notice.said.message.clone()).collect())
        };
        let lacks =
            "function outer_one cannot be called yet: relation \"public.later\" does not exist";
        assert_eq!(told(outer)?, [lacks]);
        session.execute("ALTER FUNCTION outer_one(integer) OWNER TO clerk")?;
        assert_eq!(code(session.execute("CALL outer_one(1)")), "42P01");
        let trigger =
            "CREATE FUNCTION wrong() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN x END $$";
        assert_eq!(code(session.execute(trigger)), "42601");
        assert_eq!(told("CREATE TABLE later (n integer PRIMARY KEY)")?, Vec::<String>::new());
        assert_eq!(code(session.execute("CALL outer_one(1)")), "42883");
        session.execute(
            "CREATE FUNCTION inner_one(n integer) RETURNS integer LANGUAGE sql RETURN n + 1",
        )?;
        let one = |text: &str| -> Result<String, Error> {
            session.execute(text)?.remove(0).rows.one::<String>()
        };
        assert_eq!(one("SELECT outer_one(1)::text")?, "2");
        let owner =
            "SELECT pg_get_userbyid(proowner)::text FROM pg_proc WHERE proname = 'outer_one'";
        assert_eq!(one(owner)?, "clerk");
        // A key comes behind its table, and the function that needs one behind both.
        let in_sql = "CREATE FUNCTION g() RETURNS integer LANGUAGE sql AS 'SELECT n FROM nowhere'";
        assert_eq!(code(session.execute(in_sql)), "42P01", "PostgreSQL looks at those in SQL");
        session.execute("SET check_function_bodies = false")?;
        let keyed = "CREATE FUNCTION moved() RETURNS void LANGUAGE sql AS
             'UPDATE public.keyless SET n = l.n + 1 FROM public.later l WHERE l.n = keyless.n'";
        assert_eq!(told(keyed)?.len(), 1);
        session.execute("CREATE TABLE keyless (n integer)")?;
        assert_eq!(code(session.execute("CALL moved()")), "0A000");
        session.execute("ALTER TABLE keyless ADD PRIMARY KEY (n)")?;
        session.execute("CALL moved()")?;
        session.execute("BEGIN")?;
        assert_eq!(told(in_sql)?.len(), 1);
        session.execute("COMMIT")?;
        assert_eq!(code(session.execute("CALL g()")), "42P01");
        Ok(())
    });
}
