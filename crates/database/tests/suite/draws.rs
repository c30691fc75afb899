//! What calls draw, numbers in loops and random values: on every engine, beside others, and after a
//! crash. And format(), which came with them.

use hotrow::{Config, Database, Error, LogEntries, Session, engines};

use crate::asking::{outcome, rows_or_tag};
use crate::every_engine::{every_engine, open, two_threads};
use crate::scratch::Directory;

const SCHEMA: &str = "
CREATE TABLE source (id bigint PRIMARY KEY, n bigint NOT NULL);
INSERT INTO source VALUES (1, 3), (2, 0), (3, 2), (4, 7);
CREATE TABLE item (id bigserial PRIMARY KEY, of_call bigint, n bigint);
CREATE SEQUENCE down INCREMENT -2 MINVALUE -100;
CREATE SEQUENCE ring MINVALUE 1 MAXVALUE 3 CYCLE;
CREATE SEQUENCE short MAXVALUE 5;
CREATE SEQUENCE ticket START 10;
CREATE TABLE stub (id bigint PRIMARY KEY DEFAULT nextval('ticket'), a bigint);

CREATE FUNCTION fill(of_call bigint, most integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE last_id bigint := 0;
BEGIN
  FOR i IN 1..most LOOP
    INSERT INTO item (of_call, n) VALUES (of_call, i) RETURNING id INTO last_id;
  END LOOP;
  RETURN last_id;
END $$;

-- rows decide how many
CREATE FUNCTION copy_source(of_call bigint, least bigint) RETURNS SETOF bigint
LANGUAGE plpgsql AS $$
DECLARE r record; made bigint;
BEGIN
  FOR r IN SELECT id, n FROM source ORDER BY id LOOP
    CONTINUE WHEN r.n < least;
    INSERT INTO item (of_call, n) VALUES (of_call, r.n) RETURNING id INTO made;
    RETURN NEXT made;
    INSERT INTO stub (a) VALUES (made);
  END LOOP;
END $$;

CREATE PROCEDURE copy_at_once(of_call bigint) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO item (of_call, n) SELECT of_call, n FROM source WHERE n > 0 ORDER BY id;
END $$;

CREATE FUNCTION give_up(most integer) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..most LOOP INSERT INTO item (n) VALUES (i); END LOOP;
  RAISE 'enough';
END $$;

CREATE FUNCTION drain(of_call bigint, which bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE left_over bigint;
BEGIN
  LOOP
    SELECT n INTO left_over FROM source WHERE id = which;
    IF NOT FOUND OR left_over = 0 THEN
      RETURN (SELECT count(*) FROM item i WHERE i.of_call = drain.of_call);
    END IF;
    UPDATE source SET n = n - 1 WHERE id = which;
    INSERT INTO item (of_call, n) VALUES (of_call, left_over);
  END LOOP;
END $$;

CREATE FUNCTION words(of_sequence text, most integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE said text := ''; i integer := 0;
BEGIN
  WHILE i < most LOOP
    i := i + 1;
    IF of_sequence = 'down' THEN said := said || nextval('down') || ' ';
    ELSIF of_sequence = 'ring' THEN said := said || nextval('ring') || ' ';
    ELSIF of_sequence = 'short' THEN said := said || nextval('short') || ' ';
    ELSE said := said || nextval('ticket') || ':' || nextval('ticket') || ' ';
    END IF;
  END LOOP;
  RETURN said;
END $$;

-- a number for each row
CREATE PROCEDURE number_anew(which bigint) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE item SET n = nextval('ticket') WHERE of_call = which;
  INSERT INTO stub (id, a) SELECT nextval('ticket'), n FROM source WHERE n > 0;
END $$;

CREATE FUNCTION all_of(ids bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE x bigint; made bigint := nextval('ticket');
BEGIN
  FOREACH x IN ARRAY ids LOOP
    FOR i IN 1..2 LOOP INSERT INTO stub (a) VALUES (x * 10 + i); END LOOP;
  END LOOP;
  RETURN made;
END $$;
";

/// Calls, and what PostgreSQL 15 answers.
const CALLS: [(&str, &str); 29] = [
    ("SELECT fill(1, 3)", "3"),
    ("SELECT fill(2, 0)", "0"),
    ("SELECT fill(3, 40)", "43"),
    ("SELECT currval('item_id_seq')", "43"),
    ("SELECT fill(4, 1)", "44"),
    ("SELECT give_up(1)", "P0001"),
    ("SELECT currval('item_id_seq')", "45"),
    ("SELECT copy_source(5, 2)", "46;47;48"),
    (STUBS, "10=46 11=47 12=48"),
    ("SELECT copy_source(6, 100)", "SELECT 0"),
    ("CALL copy_at_once(7)", "CALL"),
    (ITEMS, "46=3 47=2 48=7 49=3 50=2 51=7"),
    ("SELECT drain(8, 4)", "7"),
    (ITEMS, "46=3 47=2 48=7 49=3 50=2 51=7 52=7 53=6 54=5 55=4 56=3 57=2 58=1"),
    ("SELECT drain(9, 4)", "0"),
    ("SELECT words('down', 3)", "-1 -3 -5 "),
    ("SELECT words('down', 2)", "-7 -9 "),
    ("SELECT words('ring', 7)", "1 2 3 1 2 3 1 "),
    ("SELECT words('ring', 3)", "2 3 1 "),
    ("SELECT words('short', 4)", "1 2 3 4 "),
    ("SELECT words('short', 1)", "5 "),
    ("SELECT words('short', 0)", ""),
    ("SELECT words('', 2)", "13:14 15:16 "),
    ("SELECT words('short', 1)", "2200H"),
    ("SELECT all_of('{1,2}') > 16", "t"),
    ("SELECT string_agg(a::text, ' ' ORDER BY id) FROM stub WHERE id > 17", "11 12 21 22"),
    (
        "DO $$ BEGIN
           FOR i IN 1..11 LOOP INSERT INTO item (of_call) VALUES (i + 100); END LOOP;
         END $$",
        "DO",
    ),
    ("SELECT count(*) || ' ' || min(id) FROM item WHERE of_call > 100", "11 59"),
    ("CALL number_anew(7)", "CALL"),
];
const STUBS: &str = "SELECT string_agg(id || '=' || a, ' ' ORDER BY id) FROM stub";
const ITEMS: &str =
    "SELECT string_agg(id || '=' || n, ' ' ORDER BY id) FROM item WHERE of_call BETWEEN 5 AND 8";

fn said(session: &Session, statement: &str) -> String {
    match outcome(session, statement) {
        Err(code) => code,
        Ok(last) => {
            assert!(last.rows.notices().is_empty(), "{statement}: {:?}", last.rows.notices());
            rows_or_tag(&last)
        }
    }
}

#[test]
fn loops_draw_numbers_one_after_the_other_on_every_engine() {
    every_engine(|config| {
        let session = open(config).session();
        session.execute(SCHEMA)?;
        for (call, expected) in CALLS {
            assert_eq!(said(&session, call), expected, "{call}");
        }
        let anew = "SELECT count(DISTINCT n) FROM item WHERE of_call = 7 AND n > 21";
        assert_eq!(said(&session, anew), "3", "each row has a number of its own");
        assert_eq!(said(&session, "SELECT count(*) FROM stub"), "9");
        Ok(())
    });
}

#[test]
fn a_transaction_of_several_statements_draws_in_loops_too() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(SCHEMA)?;
        session.execute("BEGIN")?;
        assert_eq!(said(&session, "SELECT fill(1, 30)"), "30");
        assert_eq!(said(&session, "SELECT fill(x, 2) FROM generate_series(2, 3) x"), "32;34");
        session.execute("COMMIT")?;
        assert_eq!(said(&session, "SELECT count(*) FROM item"), "34");
        assert_eq!(said(&session, "SELECT fill(x, 20) FROM generate_series(4, 5) x"), "54;74");
        Ok(())
    });
}

#[test]
fn a_call_with_a_key_draws_once() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(SCHEMA)?;
        for _ in 0..3 {
            let last: i64 = session.call_once("key", "fill", (1_i64, 25_i32))?.one()?;
            assert_eq!(last, 25);
        }
        assert_eq!(said(&session, "SELECT count(*) FROM item"), "25");
        Ok(())
    });
}

#[test]
fn eight_sessions_draw_in_loops_and_no_number_comes_twice() {
    every_engine(|config| {
        let db = open(config);
        db.session().execute(SCHEMA)?;
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..8_i64)
                .map(|client| {
                    let session = db.session();
                    scope.spawn(move || -> Result<(), Error> {
                        for turn in 0..12 {
                            let most = (client * 5 + turn) % 23;
                            session.call("fill", (client, most as i32))?;
                            session.call("copy_source", (client, turn % 4))?;
                        }
                        Ok(())
                    })
                })
                .collect();
            clients.into_iter().try_for_each(|client| client.join().expect("nobody panics"))
        })?;
        // Who finds a number taken fails with 23505.
        let filled: i64 = (0..8).flat_map(|c| (0..12).map(move |t| (c * 5 + t) % 23)).sum();
        let copied = 8 * 3 * (4 + 3 + 3 + 2);
        let session = db.session();
        assert_eq!(said(&session, "SELECT count(*) FROM item"), (filled + copied).to_string());
        assert_eq!(said(&session, "SELECT count(*) FROM stub"), copied.to_string());
        let tied = "SELECT count(*) FROM stub JOIN item ON item.id = stub.a";
        assert_eq!(said(&session, tied), copied.to_string());
        Ok(())
    });
}

#[test]
fn more_numbers_than_a_call_may_have_are_refused() {
    let config = Config::default().threads(1).memory_bytes(256 << 20).step_budget(u64::MAX);
    let session = open(config).session();
    session.execute("CREATE SEQUENCE s").expect("it is new");
    let block = "DO $$ BEGIN FOR i IN 1..1100000 LOOP PERFORM nextval('s'); END LOOP; END $$";
    let error = session.execute(block).expect_err("it takes too many");
    assert_eq!(error.sqlstate(), Some("54000"), "{error}");
    assert!(error.to_string().contains("1048576 numbers"), "{error}");
}

const RANDOM: &str = "
CREATE TABLE drawn (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  of_call bigint,
  n double precision DEFAULT random(),
  note text DEFAULT 'v' || (random() * 1000000)::integer,
  later uuid DEFAULT uuidv7()
);
CREATE TABLE ground (id bigint PRIMARY KEY, n double precision);
INSERT INTO ground SELECT x, 0 FROM generate_series(1, 6) AS g (x);

CREATE FUNCTION draw(of_call bigint, most integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE first_id uuid := gen_random_uuid(); second_id uuid := gen_random_uuid();
BEGIN
  IF first_id = second_id THEN RAISE 'the same twice'; END IF;
  INSERT INTO drawn (id, of_call) VALUES (first_id, of_call), (second_id, of_call);
  FOR i IN 1..most LOOP
    INSERT INTO drawn (of_call) VALUES (of_call), (of_call);
  END LOOP;
  INSERT INTO drawn (of_call, n) SELECT of_call, random() FROM ground;
  INSERT INTO drawn (id, of_call) VALUES (uuidv7(), of_call);
  RETURN (SELECT count(*) FROM drawn d WHERE d.of_call = draw.of_call);
END $$;

CREATE PROCEDURE shake() LANGUAGE plpgsql AS $$
BEGIN UPDATE ground SET n = random() WHERE id > 0; END $$;

-- a random value decides which row is changed, and which one is asked for
CREATE FUNCTION pick() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE at bigint := 1 + floor(random() * 6)::bigint; first bigint;
BEGIN
  UPDATE ground SET n = n + 1 WHERE id = at;
  SELECT id INTO first FROM ground ORDER BY random() LIMIT 1;
  RETURN at * 10 + first;
END $$;

CREATE FUNCTION ordered(most integer) RETURNS SETOF uuid LANGUAGE plpgsql AS $$
BEGIN
  RETURN NEXT uuidv7();
  RETURN NEXT uuidv7();
  FOR i IN 1..most LOOP
    RETURN NEXT uuidv7();
    IF i % 2 = 0 THEN RETURN NEXT uuidv7(); END IF;
  END LOOP;
  RETURN NEXT uuidv7();
  RETURN QUERY SELECT uuidv7() FROM generate_series(1, 3);
END $$;
";

fn rows(db: &Database, table: &str) -> Vec<String> {
    let mut rows = Vec::new();
    db.scan(table, |row| rows.push(format!("{row:?}"))).expect("the table is there");
    rows.sort();
    rows
}

/// That all values are different, and look as they should.
fn check_drawn(session: &Session, expected: i64) {
    let counts = "SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || count(DISTINCT n) || ' '
        || count(DISTINCT later) FROM drawn";
    assert_eq!(said(session, counts), [expected.to_string().as_str(); 4].join(" "));
    let beyond = "SELECT count(*) FROM drawn WHERE NOT (n >= 0 AND n < 1) OR note NOT LIKE 'v%'";
    assert_eq!(said(session, beyond), "0");
    let forms = "SELECT count(*) FROM drawn WHERE substr(later::text, 15, 1) <> '7'
        OR substr(id::text, 15, 1) NOT IN ('4', '7')";
    assert_eq!(said(session, forms), "0");
}

#[test]
fn random_values_differ_at_each_place_and_turn_on_every_engine() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(RANDOM)?;
        assert_eq!(said(&session, "SELECT draw(1, 4)"), "17");
        assert_eq!(said(&session, "SELECT draw(2, 0)"), "9");
        check_drawn(&session, 26);
        session.execute("INSERT INTO drawn (of_call) VALUES (3), (3)")?;
        session.execute("INSERT INTO drawn (id) VALUES (gen_random_uuid())")?;
        session.execute("INSERT INTO drawn (of_call) SELECT x FROM generate_series(1, 3) g (x)")?;
        session.execute("DO $$ BEGIN INSERT INTO drawn (n) VALUES (random()); END $$")?;
        check_drawn(&session, 33);
        session.execute("CALL shake()")?;
        assert_eq!(said(&session, "SELECT count(DISTINCT n) FROM ground WHERE n < 1"), "6");
        session.execute("UPDATE ground SET n = random() * 0.5")?;
        assert_eq!(said(&session, "SELECT count(DISTINCT n) FROM ground WHERE n < 0.5"), "6");
        for _ in 0..20 {
            let picked: i64 = session.call("pick", ())?.one()?;
            assert!((1..=6).contains(&(picked / 10)) && (1..=6).contains(&(picked % 10)));
        }
        assert_eq!(said(&session, "SELECT sum(floor(n)) FROM ground"), "20");
        let ordered = said(&session, "SELECT ordered(5)");
        let ordered: Vec<_> = ordered.split(';').collect();
        assert_eq!(ordered.len(), 13);
        assert!(ordered.is_sorted_by(|a, b| a < b), "{ordered:?}");
        let asked = "SELECT count(DISTINCT random()) || ' ' || count(DISTINCT gen_random_uuid())
            FROM generate_series(1, 50)";
        assert_eq!(said(&session, asked), "50 50");
        Ok(())
    });
}

#[test]
fn random_values_and_numbers_are_the_same_after_a_restart() {
    for entry in engines() {
        for entries in [LogEntries::Commands, LogEntries::Values] {
            let mut directory = Directory::new("draws");
            let config = two_threads(entry).log_entries(entries);
            println!("on {} with {entries}", entry.name);
            let tables = ["drawn", "ground", "item", "stub"];
            let mut before: Vec<Vec<String>> = Vec::new();
            for life in 0..3_i64 {
                let db = Database::open(&directory.0, config.clone()).expect("it opens");
                let session = db.session();
                if life == 0 {
                    session.execute(SCHEMA).expect("the schema is right");
                    session.execute(RANDOM).expect("the schema is right");
                } else {
                    let now: Vec<_> = tables.map(|table| rows(&db, table)).into();
                    assert_eq!(now, before, "life {life}");
                }
                for turn in 0..10 {
                    let calls = [
                        format!("SELECT draw({life}, {turn})"),
                        format!("SELECT fill({life}, {})", turn * 3),
                        format!("SELECT copy_source({life}, {})", turn % 5),
                        "SELECT pick()".to_owned(),
                        "CALL shake()".to_owned(),
                        "INSERT INTO drawn (of_call) VALUES (-1)".to_owned(),
                    ];
                    for call in calls {
                        session.execute(&call).unwrap_or_else(|error| panic!("{call}: {error}"));
                    }
                }
                check_drawn(&session, rows(&db, "drawn").len() as i64);
                if life == 1 {
                    db.checkpoint().expect("there is room");
                    session.execute("SELECT draw(77, 9)").expect("it is behind the checkpoint");
                }
                before = tables.map(|table| rows(&db, table)).into();
                // As after a crash: what the disk has while nobody has closed it.
                let crashed = directory.copy("draws");
                drop((session, db));
                directory = crashed;
            }
        }
    }
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let session = open(Config::default().threads(1)).session();
    session.execute(RANDOM).expect("the schema is right");
    for (statement, hint) in [
        ("DO $$ BEGIN PERFORM setseed(0.5); END $$", "leave it out"),
        ("SELECT setseed(0.5)", "leave it out"),
        ("ALTER TABLE ground ADD COLUMN u uuid DEFAULT gen_random_uuid()", "UPDATE the rows"),
        ("UPDATE drawn SET id = DEFAULT", "compute a value"),
    ] {
        let error = session.execute(statement).expect_err(statement);
        assert_eq!(error.sqlstate(), Some("0A000"), "{statement}: {error}");
        assert!(error.to_string().contains(hint), "{statement}: {error}");
    }
    session.execute("ALTER TABLE ground ALTER COLUMN n SET DEFAULT random()").expect("it may");
    session.execute("INSERT INTO ground (id) VALUES (100)").expect("it has a default");
    let shown = "SELECT column_default FROM information_schema.columns
        WHERE table_name = 'drawn' AND column_name = 'id'";
    assert_eq!(said(&session, shown), "gen_random_uuid()");
}

#[test]
fn format_does_in_queries_and_procedures_what_postgresql_does() {
    let session = open(Config::default().threads(1)).session();
    session.execute("SET client_min_messages = error").expect("it is a setting");
    for (call, expected) in [
        ("format('plain')", "plain"),
        ("format('Hello %s, %1$s %%', 'World')", "Hello World, World %"),
        ("format('%s-%s-%s', 1, NULL, true)", "1--t"),
        ("format('%I.%I', 'a b', 'select')", "\"a b\".\"select\""),
        ("format('%L %L %L', 'it''s', NULL, 12.50)", "'it''s' NULL '12.50'"),
        ("format('%L', E'a\\\\b')", "E'a\\\\b'"),
        ("format('|%10s|%-10s|', 'foo', 'bar')", "|       foo|bar       |"),
        ("format('|%*s|%-*s|', 5, 'a', 5, 'b')", "|    a|b    |"),
        ("format('|%*s|', -5, 'a')", "|a    |"),
        ("format('|%2$*1$s|', 4, 'z')", "|   z|"),
        ("format('|%-5s|%3$s %s|', 'a', 'b', 'c')", "22023"),
        ("format('%3$s %1$s %s', 'a', 'b', 'c')", "c a b"),
        ("format('%2$s %s', 'a', 'b', 'c')", "b c"),
        ("format(NULL, 1)", "NULL"),
        ("format('%s')", "22023"),
        ("format('%1$s %4$s', 1)", "22023"),
        ("format('%0$s', 1)", "22023"),
        ("format('%x', 1)", "22023"),
        ("format('%', 1)", "22023"),
        ("format('%1$', 1)", "22023"),
        ("format('%1$1', 1)", "22023"),
        ("format('%*1s', 1, 2)", "22023"),
        ("format('%I', NULL)", "22004"),
        ("format('%99999999999s', 1)", "22003"),
        ("format('%*s', 'x', 1)", "22P02"),
        ("format('%2000000000s', 1)", "54000"),
    ] {
        let shown = if expected == "NULL" { "" } else { expected };
        let asked = said(&session, &format!("SELECT coalesce({call}, '')"));
        assert_eq!(asked, shown, "{call}");
        let body = format!("BEGIN RETURN coalesce({call}, ''); END");
        let define = "CREATE OR REPLACE FUNCTION f() RETURNS text LANGUAGE plpgsql AS";
        session.execute(&format!("{define} $f${body}$f$")).expect(call);
        assert_eq!(said(&session, "SELECT f()"), shown, "{call}");
        let rows = format!("SELECT coalesce({call}, '') FROM generate_series(1, 1)");
        assert_eq!(said(&session, &rows), shown, "{call}");
    }
    let raised = "DO $$ BEGIN RAISE USING MESSAGE = format('%s has not %s', 'a', 3); END $$";
    let error = session.execute(raised).expect_err("it raises");
    assert!(error.to_string().contains("a has not 3"), "{error}");
}
