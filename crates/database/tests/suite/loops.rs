//! LOOP, WHILE, EXIT and CONTINUE in calls: the same on every engine, alone and beside others.

use hotrow::{Config, Database, Error, Session};

use crate::asking::{cancelled, outcome, rows_or_tag};
use crate::every_engine::{every_engine, open};

const SCHEMA: &str = "
CREATE TABLE job (id bigint PRIMARY KEY, next bigint, state text NOT NULL, tries bigint NOT NULL);
CREATE TABLE tally (id bigint PRIMARY KEY, n bigint NOT NULL CHECK (n >= 0));
CREATE TABLE step (call bigint, number bigint, PRIMARY KEY (call, number));
INSERT INTO tally VALUES (0, 0), (1, 5), (2, 3), (3, 0), (4, 9), (5, 0);
INSERT INTO job VALUES (1, 2, 'done', 0), (2, 3, 'done', 0), (3, 4, 'ready', 0), (4, NULL, 'x', 0);

-- ended by parameters
CREATE FUNCTION add_all(ids bigint[], more bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE i integer := 1; changed bigint := 0;
BEGIN
  WHILE i <= cardinality(ids) LOOP
    UPDATE tally SET n = n + more WHERE id = ids[i];
    i := i + 1;
    CONTINUE WHEN NOT FOUND;
    changed := changed + 1;
  END LOOP;
  RETURN changed;
END $$;

-- ended by rows, whose keys rows tell
CREATE FUNCTION take_first(start bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE at bigint := start; s text; following bigint;
BEGIN
  LOOP
    SELECT state, next INTO s, following FROM job WHERE id = at;
    IF NOT FOUND THEN RETURN -1; END IF;
    EXIT WHEN s = 'ready';
    at := following;
  END LOOP;
  UPDATE job SET state = 'taken', tries = tries + 1 WHERE id = at;
  UPDATE tally SET n = n + 1 WHERE id = 0;
  RETURN at;
END $$;

-- ended by what the call itself writes
CREATE FUNCTION drain(which bigint, call_number bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE left_over bigint; turns bigint := 0;
BEGIN
  LOOP
    SELECT n INTO left_over FROM tally WHERE id = which;
    EXIT WHEN NOT FOUND OR left_over = 0;
    UPDATE tally SET n = n - 1 WHERE id = which;
    turns := turns + 1;
    INSERT INTO step VALUES (call_number, turns);
  END LOOP;
  RETURN turns;
END $$;

-- labels, with loops of all kinds in each other
CREATE FUNCTION search(most bigint, wanted bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; said text := ''; turn bigint := 0;
BEGIN
  <<outermost>>
  WHILE turn < 5 LOOP
    turn := turn + 1;
    FOR r IN SELECT id, n FROM tally WHERE id <= most ORDER BY id LOOP
      CONTINUE outermost WHEN r.id > turn;
      CONTINUE WHEN r.n = 0;
      FOR i IN 1..3 LOOP
        EXIT WHEN i > r.n;
        said := said || turn || r.id || i || ' ';
        UPDATE tally SET n = n + 1 WHERE id = i;
        EXIT outermost WHEN r.n + i = wanted;
      END LOOP;
    END LOOP;
  END LOOP outermost;
  RETURN said || FOUND;
END $$;

-- no table is touched in its loop
CREATE FUNCTION collatz(start bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE x bigint := start; turns bigint := 0;
BEGIN
  WHILE x <> 1 LOOP
    x := CASE WHEN x % 2 = 0 THEN x / 2 ELSE 3 * x + 1 END;
    turns := turns + 1;
  END LOOP;
  UPDATE tally SET n = n + turns WHERE id = turns % 6;
  RETURN turns;
END $$;

CREATE PROCEDURE never_ends(which bigint) LANGUAGE plpgsql AS $$
BEGIN LOOP UPDATE tally SET n = n + 1 WHERE id = which; END LOOP; END $$;
CREATE PROCEDURE never_ends_either(call_number bigint) LANGUAGE plpgsql AS $$
DECLARE i bigint := 0;
BEGIN LOOP INSERT INTO step VALUES (call_number, i); i := i + 1; END LOOP; END $$;
CREATE PROCEDURE spins() LANGUAGE plpgsql AS $$ BEGIN LOOP NULL; END LOOP; END $$;
";

const CALLS: [&str; 22] = [
    "SELECT add_all('{1,2,3}', 2)",
    "SELECT add_all('{1,9,3,1}', 1)",
    "SELECT add_all('{}', 1)",
    "SELECT add_all('{2,3}', -6)",
    "SELECT take_first(1)",
    "SELECT take_first(1)",
    "SELECT take_first(77)",
    "SELECT drain(1, 100)",
    "SELECT drain(1, 101)",
    "SELECT drain(77, 102)",
    "SELECT drain(4, 100)",
    "SELECT search(5, 6)",
    "SELECT search(2, 999)",
    "SELECT search(0, 1)",
    "SELECT collatz(27)",
    "SELECT collatz(1)",
    "SELECT sum(n) FROM tally",
    "SELECT count(*) FROM step",
    "SELECT string_agg(id || '=' || n, ' ' ORDER BY id) FROM tally",
    "SELECT string_agg(id || state || tries, ' ' ORDER BY id) FROM job",
    "SELECT search(5, 12)",
    "SELECT string_agg(id || '=' || n, ' ' ORDER BY id) FROM tally",
];

/// What each call gives, with PostgreSQL 15's rules.
const EXPECTED: [&str; 22] = [
    "3", "3", "0", "23514", "3", "-1", "-1", "9", "0", "0", "23505", "", "", "", "111", "0", "",
    "9", "", "", "", "",
];

fn said(session: &Session, statement: &str) -> String {
    outcome(session, statement).map_or_else(|code| code, |result| rows_or_tag(&result))
}

fn all(db: &Database) -> Vec<String> {
    let session = db.session();
    session.execute(SCHEMA).expect("the schema is right");
    CALLS.iter().map(|call| said(&session, call)).collect()
}

#[test]
fn loops_do_the_same_on_every_engine() {
    let serial = Config::default().engine("serial").threads(1).memory_bytes(256 << 20);
    let expected = all(&open(serial));
    println!("{expected:?}");
    for ((call, found), known) in CALLS.iter().zip(&expected).zip(EXPECTED) {
        assert!(known.is_empty() || found == known, "{call}: {found}, not {known}");
    }
    every_engine(|config| {
        let found = all(&open(config));
        for (call, (found, expected)) in CALLS.iter().zip(found.iter().zip(&expected)) {
            assert_eq!(found, expected, "{call}");
        }
        Ok(())
    });
}

#[test]
fn a_loop_that_nothing_ends_ends_at_the_step_budget() {
    every_engine(|config| {
        let db = open(config.step_budget(50_000));
        let session = db.session();
        session.execute(SCHEMA)?;
        for call in ["never_ends(1)", "never_ends_either(1)", "spins()"] {
            let error = session.execute(&format!("CALL {call}")).expect_err("it never ends");
            assert_eq!(error.sqlstate(), Some("54000"), "{call}: {error}");
            assert!(error.to_string().contains("step budget exceeded"), "{call}: {error}");
        }
        assert_eq!(said(&session, "SELECT n FROM tally WHERE id = 1"), "5", "it is undone");
        assert_eq!(said(&session, "SELECT count(*) FROM step"), "0");
        assert_eq!(said(&session, "SELECT add_all('{1,2}', 1)"), "2", "others go on");
        Ok(())
    });
}

#[test]
fn others_go_on_beside_calls_in_loops_and_nobody_sees_a_conflict() {
    every_engine(|config| {
        let db = open(config);
        db.session().execute(SCHEMA)?;
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..3_i64)
                .map(|number| {
                    let session = db.session();
                    scope.spawn(move || -> Result<(), Error> {
                        for turn in 0..15 {
                            let call = number * 1000 + turn;
                            session.call("add_all", (vec![1_i64, 2, 3 + number], 1_i64))?;
                            session.call("drain", (1 + number % 2, call))?;
                            session.call("take_first", (1_i64,))?;
                            session.call("collatz", (turn + 1,))?;
                        }
                        Ok(())
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("nobody panics"))
        })?;
        let session = db.session();
        assert_eq!(said(&session, "SELECT tries FROM job WHERE id = 3"), "1");
        assert_eq!(said(&session, "SELECT n FROM tally WHERE id = 0 AND n < 0"), "SELECT 0");
        Ok(())
    });
}

#[test]
fn an_endless_loop_ends_by_its_time_and_by_a_cancel() {
    every_engine(|config| {
        let db = open(config.step_budget(u64::MAX));
        let session = db.session();
        session.execute(SCHEMA)?;
        session.execute("SET statement_timeout = '50ms'")?;
        for call in ["CALL spins()", "CALL never_ends(2)"] {
            assert_eq!(said(&session, call), "57014", "{call}");
        }
        session.execute("RESET statement_timeout")?;
        let (session, code) = cancelled(session, "CALL never_ends(1)");
        assert_eq!(code, "57014");
        assert_eq!(said(&session, "SELECT sum(n) FROM tally WHERE id IN (1, 2)"), "8");
        assert_eq!(said(&session, "SELECT add_all('{1,2}', 1)"), "2");
        Ok(())
    });
}

#[test]
fn explain_tells_what_becomes_of_a_loop() {
    let db = open(Config::default().threads(1));
    let session = db.session();
    session.execute(SCHEMA).expect("the schema is right");
    let text = |name: &str| {
        let results = session.execute(&format!("EXPLAIN PROCEDURE {name}")).expect("it is there");
        let rows = results.last().expect("one statement").rows.iter();
        rows.map(|row| row[0].to_string()).collect::<Vec<_>>().join("\n")
    };
    for (name, expected) in [
        ("add_all", " is ended by parameters: planning runs it ahead"),
        ("take_first", " is ended by rows: planning runs it on trial"),
        ("collatz", " is ended by parameters: planning runs it ahead"),
        ("never_ends", " touches the same at each turn"),
        ("spins", " touches no table and decides no key"),
    ] {
        let text = text(name);
        let told = text.lines().find(|line| line.starts_with("The loop at line "));
        assert!(told.is_some_and(|line| line.contains(expected)), "{name}: {text}");
    }
}

/// One that removes what it has found finds the next one on trial as well, and what it visits
/// behind LIMIT is all that it holds.
#[test]
fn a_loop_that_takes_one_row_after_the_other_is_planned() {
    const QUEUE: &str = "
        CREATE TABLE queue (id bigint PRIMARY KEY, lane bigint NOT NULL, size bigint NOT NULL);
        CREATE INDEX queue_lane ON queue (lane, id);
        CREATE FUNCTION take(p_lane bigint, p_size bigint) RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE o record; v_left bigint := p_size; v_taken bigint := 0;
        BEGIN
          WHILE v_left > 0 LOOP
            SELECT * INTO o FROM queue WHERE lane = p_lane AND size > 0 ORDER BY id LIMIT 1;
            EXIT WHEN NOT FOUND;
            DELETE FROM queue WHERE id = o.id;
            v_left := v_left - o.size;
            v_taken := v_taken + 1;
          END LOOP;
          RETURN v_taken;
        END $$;
        CREATE PROCEDURE put(p_most bigint) LANGUAGE plpgsql AS $$
        BEGIN
          FOR i IN 1..p_most LOOP INSERT INTO queue VALUES (i, i % 2, i % 3); END LOOP;
        END $$;";
    every_engine(|config| {
        let name = format!("{config:?}");
        let db = open(config);
        let session = db.session();
        session.execute(QUEUE).expect("it is legal");
        session.call("put", (100_i64,)).expect("it is legal");
        let take = |lane: i64, size: i64| session.call("take", (lane, size)).expect("it is legal");
        let alone = || {
            let status = session.execute("SELECT run_alone FROM hotrow.engine_status");
            status.expect("it is legal")[0].rows.iter().next().expect("a row")[0].to_string()
        };
        let before = alone();
        for (size, taken) in [(1, 1), (3, 2), (10, 7), (0, 0)] {
            assert_eq!(take(1, size).one::<i64>().expect("a number"), taken, "{name}: {size}");
        }
        assert_eq!(alone(), before, "{name}: what was found on trial was enough");
        // More than a trial can leave out.
        assert_eq!(take(0, 1_000).one::<i64>().expect("a number"), 34, "{name}");
        assert_eq!(take(0, 1).one::<i64>().expect("a number"), 0, "{name}");
        Ok(())
    });
}
