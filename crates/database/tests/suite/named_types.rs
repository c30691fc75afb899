//! Enums, domains and composite types: what they give, what they refuse, what survives.

use crate::every_engine::{every_engine, open};
use crate::scratch::Directory;
use crate::views::{refusal, rows};
use hotrow::{Config, Database, Value};

const SCHEMA: &str = "
    CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
    CREATE TABLE person (
        id integer PRIMARY KEY, m mood NOT NULL DEFAULT 'ok', CHECK ((m = 'sad') = (id < 0)));
    CREATE INDEX person_m ON person (m, id);
    INSERT INTO person VALUES (1, 'happy'), (2, DEFAULT), (-3, 'sad');
    CREATE FUNCTION mood_of(p integer) RETURNS mood LANGUAGE plpgsql AS $$
    DECLARE v mood;
    BEGIN
        SELECT m INTO v FROM person WHERE id = p;
        IF v IS DISTINCT FROM 'ok' AND v > 'sad' THEN RETURN 'happy'; END IF;
        RETURN v;
    END $$;
    CREATE PROCEDURE cheer(p integer, p_mood mood) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE person SET m = CASE WHEN m < p_mood THEN p_mood ELSE m END WHERE id = p;
        IF NOT FOUND THEN RAISE EXCEPTION 'nobody is %, % or not', p, p_mood; END IF;
    END $$;";

#[test]
fn enums_are_values_on_every_engine() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(SCHEMA)?;
        let gives = |query: &str, expected: &[&str]| assert_eq!(rows(&session, query), expected);
        // In the declared order, which is not that of the labels' letters.
        gives("SELECT id, m FROM person ORDER BY m", &["-3|sad", "2|ok", "1|happy"]);
        gives("SELECT id FROM person WHERE m > 'sad' ORDER BY id DESC", &["2", "1"]);
        gives("SELECT max(m), min(m) FROM person", &["happy|sad"]);
        gives(
            "SELECT m, count(*) FROM person GROUP BY m ORDER BY m DESC",
            &["happy|1", "ok|1", "sad|1"],
        );
        gives("SELECT m::text || '!', to_jsonb(m) FROM person WHERE id = 1", &["happy!|\"happy\""]);
        gives("SELECT 'ok'::mood < 'happy', 'ok'::text::mood, NULL::mood", &["t|ok|-"]);
        gives("SELECT array_agg(m ORDER BY m) FROM person", &["{sad,ok,happy}"]);
        gives("SELECT id FROM person WHERE m = ANY ('{ok,sad}') ORDER BY id", &["-3", "2"]);
        gives("SELECT mood_of(1), mood_of(2)", &["happy|ok"]);
        session.execute("CALL cheer(2, 'happy'); CALL cheer(1, 'sad')")?;
        gives("SELECT m FROM person WHERE id > 0", &["happy", "happy"]);
        let prepared = session.prepare("SELECT id FROM person WHERE m = $1 AND id < $2", &[])?;
        let values = [Value::from("happy"), Value::Int(2)];
        assert_eq!(session.execute_prepared(&prepared, &values)?.rows.len(), 1);
        let wrong = [Value::from("glad"), Value::Int(2)];
        let error = session.execute_prepared(&prepared, &wrong).expect_err("no such label");
        let told = "invalid input value for enum mood: \"glad\"";
        assert!(error.to_string().contains(told), "{error}");
        let refused = [
            (
                "INSERT INTO person VALUES (7, 'bad')",
                "22P02 invalid input value for enum mood: \"bad\"",
            ),
            (
                "INSERT INTO person VALUES (7, 'Ok')",
                "22P02 invalid input value for enum mood: \"Ok\"",
            ),
            ("CALL cheer(1, 'none')", "22P02 invalid input value for enum mood: \"none\""),
            ("CALL cheer(7, 'ok')", "P0001 nobody is 7, ok or not"),
            ("SELECT m = 'x'::text FROM person", "42883 operator does not exist: mood = text"),
            ("SELECT 'ok'::mood = 1", "42883 operator does not exist: mood = integer"),
            ("SELECT sum(m) FROM person", "42883 function sum(mood) does not exist"),
            (
                "UPDATE person SET m = 1",
                "42804 column \"m\" is of type mood but expression is of type integer",
            ),
        ];
        for (statement, expected) in refused {
            assert_eq!(refusal(&session, statement), expected, "{statement}");
        }
        Ok(())
    });
}

#[test]
fn types_are_made_changed_and_dropped_as_postgresql_has_it() {
    let db = Database::open_in_memory(Config::default().threads(1)).unwrap();
    let session = db.session();
    session.execute(SCHEMA).unwrap();
    let refused = [
        ("CREATE TYPE mood AS ENUM ('a')", "42710 type \"mood\" already exists"),
        ("CREATE TYPE twice AS ENUM ('a', 'a')", "42710 enum label \"a\" used more than once"),
        ("CREATE TYPE none AS ENUM ('')", "42602 invalid enum label \"\""),
        ("DROP TYPE mood", "2BP01 cannot drop type mood because other objects depend on it"),
        ("DROP TYPE nothing", "42704 type \"nothing\" does not exist"),
        ("ALTER TYPE mood ADD VALUE 'ok'", "42710 enum label \"ok\" already exists"),
        ("ALTER TYPE mood ADD VALUE 'a' AFTER 'b'", "22023 \"b\" is not an existing enum label"),
        ("ALTER TYPE mood RENAME VALUE 'no' TO 'x'", "22023 \"no\" is not an existing enum label"),
        ("CREATE TABLE t (a int4multirange)", "42704 type \"int4multirange\" does not exist"),
    ];
    for (statement, expected) in refused {
        assert_eq!(refusal(&session, statement), expected, "{statement}");
    }
    session.execute("ALTER TYPE mood ADD VALUE IF NOT EXISTS 'ok'").unwrap();
    session.execute("ALTER TYPE mood ADD VALUE 'very happy' AFTER 'happy'").unwrap();
    session.execute("INSERT INTO person VALUES (9, 'very happy')").unwrap();
    session.execute("INSERT INTO person (id) VALUES (10)").unwrap(); // the default is as it was
    session.execute("CALL cheer(2, 'very happy')").unwrap();
    let all = "SELECT id, m FROM person ORDER BY m DESC, id";
    assert_eq!(rows(&session, all), ["2|very happy", "9|very happy", "1|happy", "10|ok", "-3|sad"]);
    // A function needs it: it is not dropped from under that, either.
    session.execute("CREATE TYPE side AS ENUM ('buy', 'sell')").unwrap();
    let other = "CREATE FUNCTION other(s side) RETURNS side LANGUAGE plpgsql AS $$
                 BEGIN RETURN CASE s WHEN 'buy' THEN 'sell'::side ELSE 'buy' END; END $$";
    session.execute(other).unwrap();
    assert_eq!(rows(&session, "SELECT other('buy'), other('sell')"), ["sell|buy"]);
    assert_eq!(
        refusal(&session, "DROP TYPE side"),
        "2BP01 cannot drop type side because procedures need it"
    );
    session.execute("DROP FUNCTION other; DROP TYPE side").unwrap();
    let labels = "SELECT t.typname, e.enumlabel FROM pg_enum e \
                  JOIN pg_type t ON t.oid = e.enumtypid ORDER BY e.enumsortorder";
    assert_eq!(rows(&session, labels).len(), 4);
    // As drivers and psql look a type up.
    let told = "SELECT format_type(t.oid, -1), format_type(t.typarray, -1), t.typtype \
                FROM pg_type t WHERE t.oid = to_regtype('public.mood')";
    assert_eq!(rows(&session, told), ["mood|mood[]|e"]);
    let column = "SELECT format_type(atttypid, atttypmod) FROM pg_attribute \
                  WHERE attrelid = 'person'::regclass AND attname = 'm'";
    assert_eq!(rows(&session, column), ["mood"]);
}

#[test]
fn columns_take_over_what_a_domain_asks_for() {
    let db = Database::open_in_memory(Config::default().threads(1)).unwrap();
    let session = db.session();
    let schema = "CREATE DOMAIN positive AS integer DEFAULT 1 CHECK (VALUE > 0);
                  CREATE DOMAIN name AS text;
                  CREATE TABLE item (
                      id integer PRIMARY KEY, n positive NOT NULL, of positive, t name);
                  INSERT INTO item (id) VALUES (1)";
    session.execute(schema).unwrap();
    assert_eq!(rows(&session, "SELECT * FROM item"), ["1|1|1|-"]);
    let broken = "value for domain positive violates check constraint \"positive_check\"";
    for statement in ["INSERT INTO item VALUES (2, 0)", "UPDATE item SET of = -1"] {
        let refused = refusal(&session, statement);
        assert!(refused.starts_with(&format!("23514 {broken}")), "{statement}: {refused}");
    }
    session.execute("UPDATE item SET of = NULL").unwrap();
    for (statement, code) in [
        ("CREATE DOMAIN d AS integer CHECK (VALUE)", "42804"),
        ("CREATE DOMAIN d AS integer CHECK (other > 0)", "42703"),
        ("CREATE DOMAIN d AS nothing", "42704"),
        ("DROP DOMAIN nothing", "42704"),
        ("CREATE PROCEDURE p(n positive[]) LANGUAGE plpgsql AS $$ BEGIN END $$", "0A000"),
    ] {
        assert_eq!(refusal(&session, statement)[..5], *code, "{statement}");
    }
    session.execute("ALTER TABLE item ADD COLUMN more positive").unwrap();
    assert_eq!(refusal(&session, "UPDATE item SET more = 0")[..5], *"23514");
    session.execute("ALTER TABLE item ADD COLUMN other name").unwrap();
    assert_eq!(refusal(&session, "DROP DOMAIN positive")[..5], *"2BP01");
    session.execute("DROP DOMAIN positive CASCADE").unwrap();
    assert_eq!(rows(&session, "SELECT * FROM item"), ["1|-|-"]);
}

#[test]
fn a_composite_type_names_the_columns_of_rows() {
    let db = Database::open_in_memory(Config::default().threads(1)).unwrap();
    let session = db.session();
    session.execute(SCHEMA).unwrap();
    let schema = "CREATE TYPE felt AS (who integer, how mood);
                  CREATE FUNCTION felt() RETURNS SETOF felt LANGUAGE plpgsql AS $$
                  BEGIN RETURN QUERY SELECT id, m FROM person ORDER BY id; END $$";
    session.execute(schema).unwrap();
    assert_eq!(rows(&session, "SELECT * FROM felt()"), ["-3|sad", "1|happy", "2|ok"]);
    session.execute("CREATE TABLE t (id integer PRIMARY KEY, f felt)").unwrap();
    assert_eq!(refusal(&session, "CREATE INDEX i ON t (f)")[..5], *"0A000");
    assert_eq!(refusal(&session, "DROP TYPE felt")[..5], *"2BP01");
    assert_eq!(refusal(&session, "DROP TYPE mood")[..5], *"2BP01");
}

/// Rows, arrays of them and values that are kept as bytes: in the log of calls, in a checkpoint,
/// and as an enum within them gets another label.
#[test]
fn values_in_one_piece_survive_a_restart() {
    let directory = Directory::new("pieces");
    let open = || Database::open(&directory.0, Config::default().threads(1)).expect("it opens");
    let all = "SELECT id, who, felt, ip, bits, at, mail FROM visit ORDER BY id";
    let wanted = [
        "1|(ann,sad)|{\"(bob,happy)\",NULL}|10.1.2.3/8|1010|10:00:00+02|Ann@X.org",
        "2|(cid,glad)|{}|::1|0001|11:00:00-05:30|cid@x.org",
    ];
    {
        let db = open();
        let session = db.session();
        session.execute(SCHEMA).unwrap();
        let schema = "CREATE TYPE felt AS (who text, how mood);
             CREATE TABLE visit (id integer PRIMARY KEY, who felt, felt felt[], ip inet UNIQUE,
                 bits bit(4), at timetz, mail citext UNIQUE);
             CREATE PROCEDURE come(number integer, one felt, more felt[], ip inet, bits bit(4),
                 at timetz, mail citext) LANGUAGE plpgsql AS $$
             BEGIN
                 IF EXISTS (SELECT FROM visit v WHERE v.mail = come.mail) THEN RETURN; END IF;
                 INSERT INTO visit VALUES (number, one, more, ip, bits, at, mail);
             END $$";
        session.execute(schema).unwrap();
        let first = "CALL come(1, ROW('ann', 'sad'), ARRAY[('bob', 'happy'), NULL]::felt[],
                         '10.1.2.3/8', B'1010', '10:00+02', 'Ann@X.org')";
        session.execute(first).unwrap();
        session.execute("ALTER TYPE mood ADD VALUE 'glad'").unwrap();
        let second = "CALL come(2, '(cid,glad)', '{}', '::1', '0001', '11:00-05:30', 'cid@x.org')";
        session.execute(second).unwrap();
        // Whose letters count the same.
        session.execute(&second.replace("(2,", "(3,").replace("cid@x", "CID@X")).unwrap();
        assert_eq!(rows(&session, all), wanted);
        let again = "INSERT INTO visit (id, mail) VALUES (4, 'ANN@x.ORG')";
        assert_eq!(refusal(&session, again)[..5], *"23505");
        db.shutdown();
    }
    for _ in 0..2 {
        let db = open();
        let session = db.session();
        assert_eq!(rows(&session, all), wanted);
        let found = "SELECT id FROM visit WHERE mail = 'CID@x.org' AND (who).how = 'glad'";
        assert_eq!(rows(&session, found), ["2"]);
        db.checkpoint().unwrap();
        db.shutdown();
    }
}

#[test]
fn types_survive_a_restart() {
    let directory = Directory::new("types");
    let open = || Database::open(&directory.0, Config::default().threads(1)).expect("it opens");
    {
        let db = open();
        let session = db.session();
        session.execute(SCHEMA).unwrap();
        session.execute("CALL cheer(2, 'happy'); ALTER TYPE mood ADD VALUE 'glad'").unwrap();
        session.execute("CALL cheer(1, 'glad')").unwrap();
        let kept = session.prepare("UPDATE person SET m = $1 WHERE id = $2", &[]).unwrap();
        for _ in 0..3 {
            session.execute_prepared(&kept, &[Value::from("glad"), Value::Int(2)]).unwrap();
        }
        db.shutdown();
    }
    for _ in 0..2 {
        let db = open();
        let session = db.session();
        let all = "SELECT id, m FROM person ORDER BY id";
        assert_eq!(rows(&session, all), ["-3|sad", "1|glad", "2|glad"]);
        assert_eq!(rows(&session, "SELECT mood_of(-3)"), ["sad"]);
        db.shutdown();
    }
}

#[test]
fn an_index_of_some_rows_has_all_and_says_so() {
    let db = Database::open_in_memory(Config::default().threads(1)).unwrap();
    let session = db.session();
    session.execute(SCHEMA).unwrap();
    let made = session.execute("CREATE INDEX sad ON person (id) WHERE m = 'sad'").unwrap();
    let told: Vec<_> = made[0].notices.iter().map(|notice| notice.said.message.as_str()).collect();
    let all = "index \"sad\" has all rows, not only those of its WHERE, and its keys begin with m, \
               so that those lie together";
    assert_eq!(told, [all]);
    session.execute("CREATE INDEX twice ON person (id) WHERE m = 'sad' AND m = 'sad'").unwrap();
    // Where its WHERE names no one value, they do not.
    let made = session.execute("CREATE INDEX ON person (id) WHERE m > 'sad'").unwrap();
    let told: Vec<_> = made[0].notices.iter().map(|notice| notice.said.message.as_str()).collect();
    assert_eq!(told, ["index \"person_id_idx\" has all rows, not only those of its WHERE"]);
    for (statement, code) in [
        ("CREATE INDEX ON person (id) WHERE m = 'bad'", "22P02"),
        ("CREATE INDEX ON person (id) WHERE nothing", "42703"),
        ("CREATE INDEX ON person (id) WHERE id", "42804"),
        ("CREATE UNIQUE INDEX ON person (id) WHERE m = 'bad'", "22P02"),
    ] {
        assert_eq!(refusal(&session, statement)[..5], *code, "{statement}");
    }
}

#[test]
fn functions_in_sql_return_what_their_last_statement_gives() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(SCHEMA)?;
        session.execute(
            "CREATE FUNCTION add(p integer, q mood) RETURNS integer LANGUAGE sql AS $$
                 INSERT INTO person VALUES (p, q) RETURNING id;
             $$;
             CREATE FUNCTION felt(p mood) RETURNS bigint LANGUAGE sql STABLE AS
                 'SELECT count(*) FROM person WHERE m = p';
             CREATE FUNCTION none(p integer) RETURNS mood LANGUAGE sql AS $$
                 SELECT m FROM person WHERE id = p $$;
             CREATE FUNCTION all_of(p mood) RETURNS SETOF person LANGUAGE sql AS $$
                 SELECT * FROM person WHERE m = p ORDER BY id $$;
             CREATE FUNCTION cheered() RETURNS TABLE (who integer, how mood) LANGUAGE sql AS $$
                 UPDATE person SET m = 'happy' WHERE m = 'ok' AND id > 0 RETURNING id, m $$;
             CREATE PROCEDURE forget(p integer) LANGUAGE sql AS $$
                 UPDATE person SET m = 'ok' WHERE id = p; DELETE FROM person WHERE id = p; $$;
             CREATE FUNCTION nothing() RETURNS void LANGUAGE sql AS 'SELECT 1';
             CREATE FUNCTION moved(p integer) RETURNS SETOF person LANGUAGE plpgsql AS $$
             BEGIN
                 RETURN QUERY DELETE FROM person WHERE id = p RETURNING *;
                 RETURN QUERY INSERT INTO person VALUES (p + 100, 'ok') RETURNING id, m;
                 RETURN QUERY UPDATE person SET m = 'happy' WHERE id IN (
                     SELECT id FROM person WHERE m = 'ok' ORDER BY id LIMIT 1) RETURNING *;
             END $$;",
        )?;
        let gives = |query: &str, expected: &[&str]| assert_eq!(rows(&session, query), expected);
        gives("SELECT add(5, 'ok')", &["5"]);
        gives("SELECT felt('ok')", &["2"]);
        gives("SELECT none(77)", &["-"]);
        gives("SELECT * FROM all_of('ok')", &["2|ok", "5|ok"]);
        gives("SELECT * FROM cheered()", &["2|happy", "5|happy"]);
        session.execute("CALL forget(5)")?;
        session.execute("SELECT nothing()")?;
        gives("SELECT id FROM person ORDER BY id", &["-3", "1", "2"]);
        gives("SELECT * FROM moved(2)", &["2|happy", "102|ok", "102|happy"]);
        for (statement, code) in [
            ("CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS ''", "42P13"),
            ("CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS 'SELECT nothing'", "42703"),
            ("CREATE FUNCTION f() RETURNS mood LANGUAGE sql AS 'SELECT 1'", "42804"),
            ("CREATE FUNCTION f() RETURNS integer LANGUAGE perl AS ''", "0A000"),
            ("DO LANGUAGE sql 'SELECT 1'", "0A000"),
        ] {
            assert_eq!(refusal(&session, statement)[..5], *code, "{statement}");
        }
        Ok(())
    });
}
