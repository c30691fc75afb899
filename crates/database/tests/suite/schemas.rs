//! Schemas and temporary tables: what survives a restart, and what sessions leave behind.

use hotrow::{Config, Database, Value};

use crate::every_engine::{every_engine, open};
use crate::scratch::Directory;
use crate::views::{refusal, rows};

#[test]
fn schemas_and_paths_survive_a_restart() {
    let directory = Directory::new("schemas");
    let reopen = || Database::open(&directory.0, Config::default().threads(1)).expect("it opens");
    {
        let db = reopen();
        let session = db.session();
        let schema = "CREATE SCHEMA app; CREATE TABLE t (id integer PRIMARY KEY, v text);
                      INSERT INTO t VALUES (1, 'public');
                      SET search_path TO app, public";
        session.execute(schema).unwrap();
        let more =
            "CREATE TABLE t (id serial PRIMARY KEY, v text); CREATE TYPE mood AS ENUM ('ok');
                    CREATE TABLE felt (id integer PRIMARY KEY, m mood);
                    INSERT INTO felt VALUES (1, 'ok');
                    CREATE VIEW shown AS SELECT v FROM t;
                    CREATE FUNCTION put(p text) RETURNS integer AS $$
                    DECLARE i integer;
                    BEGIN INSERT INTO t (v) VALUES (p) RETURNING id INTO i; RETURN i; END
                    $$ LANGUAGE plpgsql";
        session.execute(more).unwrap();
        // Logged as texts, which say where names are looked for.
        session.execute("INSERT INTO t (v) VALUES ('one'); SELECT put('two')").unwrap();
        let kept = session.prepare("UPDATE t SET v = v || $1 WHERE id = $2", &[]).unwrap();
        for _ in 0..3 {
            session.execute_prepared(&kept, &[Value::from("!"), Value::Int(2)]).unwrap();
        }
        db.shutdown();
    }
    for round in 0..3 {
        let db = reopen();
        let session = db.session();
        assert_eq!(rows(&session, "SELECT id, v FROM app.t ORDER BY id"), ["1|one", "2|two!!!"]);
        assert_eq!(rows(&session, "SELECT v FROM t"), ["public"]);
        assert_eq!(rows(&session, "SELECT count(*) FROM app.shown"), ["2"]);
        assert_eq!(rows(&session, "SELECT m FROM app.felt"), ["ok"]);
        if round == 1 {
            db.checkpoint().unwrap();
        }
        db.shutdown();
    }
    let db = reopen();
    let session = db.session();
    let next = rows(&session, "SELECT app.put('three')");
    assert!(next[0].parse::<i64>().unwrap() > 2, "{next:?}");
    session.execute("DROP FUNCTION app.put; DROP SCHEMA app CASCADE").unwrap();
    assert_eq!(refusal(&session, "SELECT * FROM app.t"), "42P01 relation \"app.t\" does not exist");
    assert_eq!(rows(&session, "SELECT v FROM t"), ["public"]);
}

#[test]
fn a_restart_leaves_no_temporary_table() {
    let directory = Directory::new("temporary");
    let reopen = || Database::open(&directory.0, Config::default().threads(1)).expect("it opens");
    {
        let db = reopen();
        let session = db.session();
        session.execute("CREATE TABLE kept (id integer PRIMARY KEY)").unwrap();
        session.execute("CREATE TEMP TABLE t (id serial PRIMARY KEY, v integer)").unwrap();
        session
            .execute("INSERT INTO t (v) VALUES (5), (6); INSERT INTO kept SELECT id FROM t")
            .unwrap();
        std::mem::forget(session); // as if the process ended here
        db.shutdown();
    }
    let db = reopen();
    let session = db.session();
    assert_eq!(rows(&session, "SELECT id FROM kept ORDER BY id"), ["1", "2"]);
    assert_eq!(db.tables(), ["kept"]);
    assert_eq!(refusal(&session, "SELECT * FROM t"), "42P01 relation \"t\" does not exist");
    session.execute("CREATE TEMP TABLE t (id serial PRIMARY KEY, v integer)").unwrap();
    assert_eq!(rows(&session, "SELECT count(*) FROM t"), ["0"]);
}

/// A routine in `pg_temp` is its session's, with it it goes, and a restart leaves none.
#[test]
fn routines_of_a_session_are_its_own() {
    let directory = Directory::new("temporary_routines");
    let reopen = || Database::open(&directory.0, Config::default().threads(1)).expect("it opens");
    let create = |n: i32| {
        format!("CREATE FUNCTION pg_temp.f() RETURNS integer AS 'SELECT {n}' LANGUAGE sql")
    };
    let call = "SELECT pg_temp.f()";
    let none = "42883 function pg_temp.f() does not exist";
    {
        let db = reopen();
        let (one, other) = (db.session(), db.session());
        one.execute(&create(1)).unwrap();
        assert_eq!(rows(&one, call), ["1"]);
        assert_eq!(refusal(&other, call), none);
        other.execute(&create(2)).unwrap();
        assert_eq!([rows(&one, call), rows(&other, call)], [["1"], ["2"]]);
        assert_eq!(refusal(&one, &create(3))[..5], *"42723");
        drop(one);
        let next = db.session();
        assert_eq!(refusal(&next, call), none);
        next.execute(&create(3)).unwrap();
        next.execute("BEGIN; DROP FUNCTION pg_temp.f(); ROLLBACK").unwrap();
        assert_eq!(rows(&next, call), ["3"]);
        next.execute("DISCARD TEMP").unwrap();
        assert_eq!(refusal(&next, call), none);
        assert_eq!(rows(&other, call), ["2"]);
        std::mem::forget(other); // as if the process ended here
        db.shutdown();
    }
    let db = reopen();
    assert_eq!(db.procedures().len(), 0);
    let session = db.session();
    session.execute(&create(4)).unwrap();
    assert_eq!(rows(&session, call), ["4"]);
}

/// Sessions that create the same temporary table get the same one, one after the other, on every
/// engine: tables have so many numbers and no more.
#[test]
fn temporary_tables_are_used_again() {
    every_engine(|config| {
        let db = open(config);
        let create = "CREATE TEMP TABLE t (id serial PRIMARY KEY, v integer)";
        let mut numbers = Vec::new();
        for round in 0..5 {
            let session = db.session();
            session.execute(create)?;
            session.execute("INSERT INTO t (v) VALUES (1), (2)")?;
            let all = rows(&session, "SELECT id, v FROM t ORDER BY id");
            assert_eq!(all, ["1|1", "2|2"], "{round}");
            let id = "SELECT oid FROM pg_class WHERE relname = 't'";
            numbers.extend(rows(&session, id));
        }
        numbers.dedup();
        assert_eq!(numbers.len(), 1, "{numbers:?}");
        Ok(())
    });
}

/// A table that is kept is in nobody's way, and is not taken for another one.
#[test]
fn types_can_go_that_kept_tables_have() {
    let db = Database::open_in_memory(Config::default().threads(1)).unwrap();
    let create = "CREATE TEMP TABLE t (m mood)";
    for labels in ["'sad', 'ok'", "'ok', 'glad'"] {
        db.session().execute(&format!("CREATE TYPE mood AS ENUM ({labels})")).unwrap();
        let session = db.session();
        session.execute(create).unwrap();
        session.execute("INSERT INTO t VALUES ('ok')").unwrap();
        assert_eq!(rows(&session, "SELECT m FROM t"), ["ok"]);
        assert_eq!(refusal(&session, "DROP TYPE mood")[..5], *"2BP01");
        drop(session);
        db.session().execute("DROP TYPE mood").unwrap();
        assert_eq!(refusal(&db.session(), create)[..5], *"42704");
    }
    let session = db.session();
    for value in ["1", "'a'::text"] {
        session.execute(&format!("CREATE TEMP TABLE q AS SELECT {value} AS v")).unwrap();
        session.execute("DROP TABLE q").unwrap();
    }
    session
        .execute("CREATE TABLE source (v integer); CREATE TEMP TABLE q AS SELECT v FROM source")
        .unwrap();
    session.execute("DROP TABLE q; DROP TABLE source; CREATE TABLE source (v text)").unwrap();
    session
        .execute("CREATE TEMP TABLE q AS SELECT v FROM source; INSERT INTO q VALUES ('x')")
        .unwrap();
    assert_eq!(rows(&session, "SELECT v FROM q"), ["x"]);
}

/// Of tables that refer to each other, too, nothing is left for the next session.
#[test]
fn temporary_tables_that_refer_to_each_other_are_emptied() {
    let db = Database::open_in_memory(Config::default().threads(2)).unwrap();
    let create = "CREATE TEMP TABLE a (id integer PRIMARY KEY);
                  CREATE TEMP TABLE b (id integer PRIMARY KEY, a integer REFERENCES a)";
    for _ in 0..3 {
        let session = db.session();
        session.execute(create).unwrap();
        let counts = "SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)";
        assert_eq!(rows(&session, counts), ["0|0"]);
        session.execute("INSERT INTO a VALUES (1), (2); INSERT INTO b VALUES (1, 2)").unwrap();
        assert_eq!(rows(&session, counts), ["2|1"]);
    }
    // Another table in the place of one takes references to it along.
    let session = db.session();
    session.execute("CREATE TEMP TABLE a (id integer PRIMARY KEY, more text)").unwrap();
    drop(session);
    let session = db.session();
    session.execute(create).unwrap();
    let refused = refusal(&session, "INSERT INTO b VALUES (1, 2)");
    assert_eq!(refused[..5], *"23503", "{refused}");
    let refused = refusal(&session, "CREATE TABLE c (a integer REFERENCES a)");
    assert_eq!(refused[..5], *"42P16", "{refused}");
    let refused = refusal(&session, "DROP TABLE a");
    assert_eq!(refused[..5], *"2BP01", "{refused}");
    session.execute("INSERT INTO a SELECT g FROM generate_series(1, 3000) g").unwrap();
    session.execute("DISCARD TEMP; CREATE TEMP TABLE a (id integer PRIMARY KEY)").unwrap();
    assert_eq!(rows(&session, "SELECT count(*) FROM a"), ["0"]);
}

#[test]
fn sessions_do_not_see_each_others() {
    let db = Database::open_in_memory(Config::default().threads(2)).unwrap();
    let (one, other) = (db.session(), db.session());
    for (session, v) in [(&one, 1), (&other, 2)] {
        session.execute("CREATE TEMP TABLE t (v integer)").unwrap();
        session.execute(&format!("INSERT INTO t VALUES ({v})")).unwrap();
    }
    assert_eq!(rows(&one, "SELECT v FROM t"), ["1"]);
    assert_eq!(rows(&other, "SELECT v FROM t"), ["2"]);
    let third = db.session();
    assert_eq!(refusal(&third, "SELECT v FROM t"), "42P01 relation \"t\" does not exist");
    assert_eq!(rows(&third, "SELECT count(*) FROM pg_class WHERE relname = 't'"), ["0"]);
    for statement in
        ["SELECT v FROM pg_temp_1.t", "DROP TABLE pg_temp_1.t", "DELETE FROM pg_temp_1.t"]
    {
        let refused = "42P01 relation \"pg_temp_1.t\" does not exist";
        assert_eq!(refusal(&third, statement), refused, "{statement}");
    }
    // In a transaction that is taken back there never was one.
    one.execute("BEGIN; CREATE TEMP TABLE u (v integer); INSERT INTO u VALUES (1); ROLLBACK")
        .unwrap();
    assert_eq!(refusal(&one, "SELECT v FROM u"), "42P01 relation \"u\" does not exist");
    one.execute("BEGIN; CREATE TEMP TABLE u (v integer) ON COMMIT DROP; INSERT INTO u VALUES (3)")
        .unwrap();
    assert_eq!(rows(&one, "SELECT v FROM u"), ["3"]);
    one.execute("DROP TABLE u; CREATE TEMP TABLE u (v integer)").unwrap();
    assert_eq!(rows(&one, "SELECT count(*) FROM u"), ["0"]);
    one.execute("COMMIT").unwrap();
    assert_eq!(rows(&one, "SELECT count(*) FROM u"), ["0"]);
}
