//! Hostile input: whatever is sent, the answer is an error with a code, the state is what it was,
//! and the database goes on.

use hotrow::{Database, Error, Value};
use hotrow_tests::matrix::{self, Setup};
use hotrow_tests::{generate, seed, state};
use rand::Rng;
use rand::rngs::StdRng;

const SCHEMA: &str = "
CREATE TABLE t (id bigint PRIMARY KEY, a integer NOT NULL CHECK (a >= 0), s varchar(10));
CREATE INDEX t_a ON t (a);
INSERT INTO t VALUES (1, 1, 'one'), (2, 2, NULL);
CREATE FUNCTION f(n bigint, s text, xs integer[]) RETURNS bigint AS $$
DECLARE r bigint := 0; x integer;
BEGIN
  UPDATE t SET a = a + 1, s = f.s WHERE id = n;
  FOREACH x IN ARRAY xs LOOP
    INSERT INTO t VALUES (x, x, f.s);
    r := r + x;
  END LOOP;
  RETURN r / n;
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE spin(k bigint) AS $$
DECLARE x bigint := 0;
BEGIN
  UPDATE t SET a = 99 WHERE id = 1;
  FOR i IN 1..k LOOP FOR j IN 1..k LOOP x := (x + i * j) % 7; END LOOP; END LOOP;
END $$ LANGUAGE plpgsql;
";

fn open(setup: &Setup) -> Database {
    let db = setup.open();
    db.session().execute(SCHEMA).expect("the schema is right");
    db
}

/// The error has a code that can be looked up; a bug would be XX000 and is none of the client's.
fn check_error(input: &str, error: &Error) {
    let code = error.sqlstate().unwrap_or_else(|| panic!("no SQLSTATE: {error}\n{input}"));
    let plain = code.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    assert!(plain && code.len() == 5, "{code}: {error}\n{input}");
    assert_ne!(code, "XX000", "{error}\n{input}");
    assert_ne!(code, "40001", "{error}\n{input}");
    assert!(!error.to_string().is_empty(), "{input}");
}

/// Still serves, on every thread.
fn check_alive(db: &Database) {
    let found = db.session().call("f", (1_i64, "one", Vec::<i32>::new()));
    assert_eq!(found.and_then(|rows| rows.one::<i64>()).ok(), Some(0));
}

#[test]
fn wrong_statements_are_refused_and_change_nothing() {
    let deep = |open: &str, middle: &str, close: &str, n: usize| {
        format!("SELECT {}{middle}{} FROM t", open.repeat(n), close.repeat(n))
    };
    let block = "BEGIN ".repeat(500) + &"END; ".repeat(500);
    let texts = [
        ";;;; SELECT",
        "\0",
        "SELECT * FROM t WHERE s = 'a\0b\u{1F980}' AND",
        "INSERT INTO t VALUES (3, 1, 'a\0b'); nonsense",
        "SELECT '",
        "SELECT $$",
        "SELECT \"",
        "/* /* */",
        "INSERT INTO t VALUES (1, 1, 'one')",
        "INSERT INTO t VALUES (3, -1, 'one')",
        "INSERT INTO t VALUES (3, NULL, 'one')",
        "INSERT INTO t VALUES (3, 1, 'elevenchars')",
        "INSERT INTO t VALUES (99999999999999999999, 1, NULL)",
        "INSERT INTO t VALUES (3, 2147483648, NULL)",
        "INSERT INTO t VALUES ('3x', 1, NULL)",
        "INSERT INTO t VALUES (3, 1, NULL), (4, 1, 'elevenchars')",
        "INSERT INTO t VALUES (3), (4, 5)",
        "UPDATE t SET a = a - 2",
        "UPDATE t SET a = a / (id - 2)",
        "UPDATE t SET a = 2147483647 + a",
        "UPDATE t SET a = 1, a = 2",
        "UPDATE t SET s = repeat('x', 11)",
        "UPDATE t SET s = repeat('x', 2000000000)",
        "SELECT repeat(repeat('x', 100000), 100000) FROM t",
        "SELECT lpad('x', 2147483647, 'y') FROM t",
        "DELETE FROM t WHERE 1 / (id - id) = 1",
        "DELETE FROM t WHERE s",
        "SELECT id FROM t LIMIT -1",
        "SELECT id FROM t OFFSET -1",
        "SELECT power(10.0, 1e9) FROM t",
        "SELECT 1e400::double precision FROM t",
        "SELECT ln(id - id) FROM t",
        "SELECT sqrt(-id) FROM t",
        "SELECT 9223372036854775807 + id FROM t",
        "SELECT -(-9223372036854775808) + id FROM t",
        "SELECT abs(-9223372036854775807 - id) FROM t",
        "SELECT '2024-02-30'::date FROM t",
        "SELECT '294277-01-01'::timestamp FROM t",
        "SELECT substring('abc', 1, -1) FROM t",
        "SELECT 'x'::uuid FROM t",
        "SELECT '\\xgg'::bytea FROM t",
        "SELECT t.* , nothing.* FROM t",
        "CREATE TABLE t (a bigint)",
        "CREATE TABLE x ()",
        "CREATE TABLE x (a bigint, a bigint)",
        "CREATE UNIQUE INDEX i ON t (nothing)",
        "CALL f()",
        "CALL f(1, 2, 3)",
        "CALL f('x', 'y', '{}')",
        "CALL f(1, 'elevenchars', '{}')",
        "CALL f(1, 'x', '{1}')",
        "CALL f(0, 'x', '{}')",
        "CALL f(1, 'x', '{99999999999}')",
        "CALL f(1, 'x', '{')",
        "CALL f(1, 'x', '{{1},2}')",
        "CALL f(1, 'x', '{7,8,-1}')",
        "CALL f(1, 'x', NULL)",
        "CALL f(1, 'x', '{NULL}')",
        "CALL spin(9223372036854775807)",
        "CALL spin(100000)",
        "DO $$ BEGIN FOR i IN 1..9223372036854775807 LOOP NULL; END LOOP; END $$",
        "DO $$ BEGIN FOR i IN 1..5 BY 0 LOOP NULL; END LOOP; END $$",
        "DO $$ BEGIN FOR i IN REVERSE 5..1 BY -9223372036854775808 LOOP NULL; END LOOP; END $$",
        "DO $$ BEGIN INSERT INTO t VALUES (50, 1, NULL); ASSERT false; END $$",
        "DO $$ BEGIN INSERT INTO t VALUES (50, 1, NULL); RAISE division_by_zero; END $$",
        "DO $$ BEGIN RAISE EXCEPTION '%', 1, 2; END $$",
        "DO $$ DECLARE r RECORD; BEGIN r.x := 1; END $$",
        "DO $$ DECLARE n integer NOT NULL := NULL; BEGIN NULL; END $$",
        "DO $$ DECLARE n smallint := 1; BEGIN FOR i IN 1..20 LOOP n := n * 10; END LOOP; END $$",
    ];
    let mut all: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    all.push(deep("(", "1", ")", 20_000));
    all.push(deep("(", "1", ")", 65));
    all.push(deep("-", "id", "", 20_000));
    all.push(deep("NOT ", "true", "", 20_000));
    all.push(deep("CASE WHEN true THEN ", "1", " END", 3_000));
    all.push(deep("abs(", "id", ")", 5_000));
    all.push(deep("1 + ", "id", "", 100_000));
    all.push(deep("'' || ", "s", "", 30_000));
    all.push(format!("DO $$ {block} $$"));
    all.push(format!("SELECT '{}' FROM nowhere", "x".repeat(2 << 20)));
    all.push(format!("CREATE TABLE x ({} a bigint)", "c bigint,".repeat(3_000)));
    for setup in matrix::setups(&[2]) {
        let db = open(&setup);
        let (before, session) = (state::dump(&db), db.session());
        for text in &all {
            let shown: String = text.chars().take(200).collect();
            match session.execute(text) {
                Err(error) => check_error(&shown, &error),
                Ok(results) => panic!("{shown}: {results:?}"),
            }
            assert_eq!(state::dump(&db), before, "{}: {shown}", setup.name);
        }
        check_alive(&db);
    }
}

#[test]
fn wrong_arguments_are_refused_and_change_nothing() {
    let texts = |text: &str| Value::Text(text.to_owned());
    let empty = || Value::Array(Vec::new());
    let calls: Vec<(&str, Vec<Value>)> = vec![
        ("f", vec![]),
        ("f", vec![Value::BigInt(1)]),
        ("f", vec![texts("1"), texts("x"), empty(), empty()]),
        ("f", vec![Value::Bool(true), texts("x"), empty()]),
        ("f", vec![Value::Double(f64::NAN), texts("x"), empty()]),
        ("f", vec![Value::Double(1e300), texts("x"), empty()]),
        ("f", vec![Value::BigInt(1), texts("x"), Value::BigInt(1)]),
        ("f", vec![Value::BigInt(1), texts("x"), Value::Array(vec![texts("y")])]),
        ("f", vec![Value::BigInt(1), texts("x"), Value::Array(vec![empty()])]),
        ("f", vec![Value::BigInt(1), texts("x"), Value::Array(vec![Value::BigInt(1 << 40)])]),
        ("f", vec![Value::BigInt(1), texts(&"é".repeat(11)), empty()]),
        ("f", vec![Value::BigInt(0), texts("x"), empty()]),
        ("f", vec![Value::BigInt(1), texts("x"), Value::Null]),
        ("f", vec![Value::BigInt(1), texts("x"), Value::Array(vec![Value::Null])]),
        ("f", vec![Value::BigInt(1), texts("x"), Value::Array(vec![Value::Int(1); 1000])]),
        ("spin", vec![Value::BigInt(i64::MAX)]),
        ("spin", vec![Value::BigInt(3_000)]),
        ("spin", vec![Value::Null]),
        ("nothing", vec![]),
        ("", vec![]),
        ("f\0", vec![]),
        ("F", vec![Value::BigInt(1), texts("x"), empty()]),
    ];
    for setup in matrix::setups(&[2]) {
        let db = open(&setup);
        let (before, session) = (state::dump(&db), db.session());
        for (name, arguments) in &calls {
            let shown = format!("{name}{arguments:?}").chars().take(200).collect::<String>();
            match session.call(name, arguments.clone()) {
                Err(error) => check_error(&shown, &error),
                Ok(rows) => panic!("{shown}: {rows:?}"),
            }
            assert_eq!(state::dump(&db), before, "{}: {shown}", setup.name);
        }
        check_alive(&db);
    }
}

/// Strings of any characters are values like others.
#[test]
fn any_text_is_a_value() {
    for setup in matrix::setups(&[2]) {
        let db = setup.open();
        let session = db.session();
        session
            .execute(
                "CREATE TABLE t (s text PRIMARY KEY, n bigint NOT NULL);
                 CREATE FUNCTION put(s text, n bigint) RETURNS text AS $$
                 DECLARE r text;
                 BEGIN
                   INSERT INTO t VALUES (put.s, put.n);
                   SELECT t.s INTO r FROM t WHERE t.s = put.s;
                   RETURN r;
                 END $$ LANGUAGE plpgsql;",
            )
            .expect("the schema is right");
        let texts = ["", " ", "'", "$$", "é", "\u{1F980}\u{0301}", "\u{FFFF}", "a\u{1}b", "NULL"];
        for (n, text) in (0_i64..).zip(texts) {
            let back: String =
                session.call("put", (text, n)).and_then(|rows| rows.one()).expect("it is a text");
            assert_eq!(back, text);
        }
        let long = "k".repeat(100_000);
        let error = session.call("put", (long.as_str(), 0_i64)).expect_err("no key is so long");
        check_error("a long key", &error);
        // PostgreSQL has no text with a NUL in it; here it may be refused or kept, never cut.
        match session.call("put", ("a\0b", 100_i64)) {
            Ok(rows) => assert_eq!(rows.one::<String>().expect("a text"), "a\0b"),
            Err(error) => check_error("NUL", &error),
        }
        state::dump_checked(&db);
    }
}

/// Cuts, doubles, swaps and replaces pieces of a text.
fn mutated(random: &mut StdRng, text: &str) -> String {
    let mut words: Vec<String> = split(text);
    for _ in 0..random.random_range(1..4) {
        let at = random.random_range(0..words.len());
        let other = random.random_range(0..words.len());
        match random.random_range(0..7) {
            0 => drop(words.remove(at)),
            1 => words.insert(at, words[other].clone()),
            2 => words.swap(at, other),
            3 => words[at] = "NULL".to_owned(),
            4 => words[at] = "99999999999999999999".to_owned(),
            5 => words[at] = "'\u{1F980}".to_owned(),
            _ => words.truncate(at.max(1)),
        }
        if words.is_empty() {
            break;
        }
    }
    words.concat()
}

fn split(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in text.chars() {
        if !(c.is_alphanumeric() && before.is_alphanumeric()) {
            words.push(String::new());
        }
        words.last_mut().expect("there is one").push(c);
        before = c;
    }
    words
}

/// Procedures with a few words changed compile and run or are refused; nothing breaks.
#[test]
fn mutated_procedures_do_no_harm() {
    let setups = matrix::setups(&[2]);
    seed::for_seeds(1, 60, |seed, mut random| {
        let setup = &setups[seed as usize % setups.len()];
        let db = setup.open();
        let session = db.session();
        session.execute(&generate::foundation(&mut random)).expect("its texts are right");
        let text = generate::procedure(&mut random, "f", 0);
        for _ in 0..15 {
            let text = mutated(&mut random, &text);
            match session.execute(&text) {
                Err(error) => check_error(&text, &error),
                Ok(_) => {
                    let stays = |name: &str| generate::FOUNDATION.contains(&name);
                    for procedure in db.procedures().iter().filter(|made| !stays(&made.name)) {
                        let arguments = generate::arguments(&mut random);
                        if let Err(error) = session.call(&procedure.name, arguments) {
                            check_error(&text, &error);
                        }
                        session
                            .execute(&format!("DROP FUNCTION \"{}\"", procedure.name))
                            .unwrap_or_else(|error| panic!("{error}\n{text}"));
                    }
                }
            }
        }
        state::dump_checked(&db);
        let found = session.execute("SELECT count(*) >= 0 FROM u").expect("it goes on");
        assert_eq!(found.len(), 1);
    });
}
