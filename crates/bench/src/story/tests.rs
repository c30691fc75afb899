//! Stories, run for moments; and that what is wrong with one is told.

use std::time::Duration;

use hotrow::{Config, Database, engines};

use super::*;

const COUNTER: &str = "
    CREATE TABLE counter (id int PRIMARY KEY, n bigint NOT NULL);
    INSERT INTO counter SELECT i, 0 FROM generate_series(1, 3) i;
    CREATE FUNCTION bump(p_id int, p_by int) RETURNS TABLE (id int, n bigint) LANGUAGE plpgsql AS $$
    BEGIN
        IF p_by > 2 THEN RAISE EXCEPTION 'too many' USING ERRCODE = 'P0009'; END IF;
        UPDATE counter c SET n = c.n + p_by WHERE c.id = p_id;
        RETURN QUERY SELECT c.id, c.n FROM counter c WHERE c.id = p_id;
    END $$;";

fn of(text: &str) -> Result<Story, BenchError> {
    Story::of("counter", text, |name| {
        assert_eq!(name, "counter.sql");
        Ok(COUNTER.to_owned())
    })
}

/// A story of the counter with this behind its first lines.
fn counter(rest: &str) -> Result<Story, BenchError> {
    of(&format!("what = 'a counter'\nschema = 'counter.sql'\n{rest}"))
}

fn run_on(story: &Story, engine: &str) -> Result<StoryReport, BenchError> {
    let db = Database::open_in_memory(Config::default().engine(engine))?;
    let options = StoryOptions {
        clients: 4,
        measured: Duration::from_millis(150),
        ..StoryOptions::default()
    };
    let report = run_story(story, &Target::database(engine, &db), &options);
    db.shutdown();
    report
}

#[test]
fn all_that_are_built_in_hold_on_every_engine() {
    for story in stories() {
        for engine in engines() {
            let report = run_on(&story, engine.name).unwrap_or_else(|error| panic!("{error}"));
            let failed: Vec<_> = report.checks.iter().filter(|check| !check.holds).collect();
            assert!(failed.is_empty(), "{} on {}: {failed:?}", story.name, engine.name);
            assert!(report.calls.values().any(|call| call.good > 0), "{report:?}");
        }
    }
}

#[test]
fn what_does_not_hold_is_told_with_its_rows() -> Result<(), BenchError> {
    let story = counter(
        "draw.id = { from = 1, to = 3 }
        draw.by = { from = 1, to = 3 }
        [[call]]
        name = 'bump'
        sql = 'SELECT * FROM bump($id, $by)'
        [[holds]]
        what = 'nobody bumps'
        sql = 'SELECT 7, 8 FROM counter HAVING sum(n) > 0'
        [[holds]]
        what = 'rows are told'
        sql = 'SELECT 1 FROM told_calls WHERE calls <> rows OR calls = 0'
        [[holds]]
        what = 'answers are told'
        sql = \"\"\"SELECT 1 FROM told_calls
            WHERE calls <> (SELECT sum(times) FROM told_answers WHERE name = 'id')\"\"\"
        [[holds]]
        what = 'the run is told'
        sql = 'SELECT 1 FROM told_run WHERE ended <= began OR ended IS NULL'",
    )?;
    let report = run_on(&story, "silo")?;
    let told: Vec<_> = report.checks.iter().map(|check| (check.holds, &*check.detail)).collect();
    assert!(
        !told[0].0 && told[0].1.contains("too many"),
        "a SQLSTATE that is not allowed: {told:?}"
    );
    assert_eq!(told[1], (false, "its query gives 1 rows: (7, 8)"));
    assert!(told[2..].iter().all(|(holds, _)| *holds), "{told:?}");
    assert!(!report.checks_hold());
    assert!(report.calls["bump"].failed["P0009"] > 0);
    Ok(())
}

#[test]
fn what_was_told_is_drawn_once_and_fresh_values_are_drawn_once() -> Result<(), BenchError> {
    let story = counter(
        "draw.key = { fresh = 'k' }
        draw.seen = { told = 'key' }
        draw.by = { client = 'client ' }
        [[call]]
        name = 'put'
        share = 3
        sql = 'INSERT INTO kept VALUES ($key, $by) RETURNING key'
        [[call]]
        name = 'take'
        sql = 'DELETE FROM kept WHERE key = $seen AND by = $by RETURNING key AS gone'
        [[holds]]
        what = 'each is taken by who has put it, once'
        sql = 'SELECT * FROM told_calls WHERE calls <> rows'
        [[holds]]
        what = 'the rest is there'
        sql = '''SELECT 1 FROM kept HAVING count(*) <>
            (SELECT calls FROM told_calls WHERE call = 'put')
            - (SELECT calls FROM told_calls WHERE call = 'take')'''",
    )?;
    let schema = "CREATE TABLE kept (key text PRIMARY KEY, by text NOT NULL)".to_owned();
    let report = run_on(&Story { schema, ..story }, "two_phase_locking")?;
    assert!(report.checks_hold(), "{:?}", report.checks);
    assert!(report.calls["take"].good > 0);
    Ok(())
}

#[test]
fn who_promises_that_nothing_is_repeated_is_held_to_it() -> Result<(), BenchError> {
    let story = counter("call = []").map(drop);
    assert!(story.is_err(), "there is nothing to call");
    // A procedure that says so itself: as a server would that gives up.
    let story = counter("[[call]]\nname = 'fail'\nsql = 'SELECT fail()'")?;
    let schema = "CREATE FUNCTION fail() RETURNS int LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40P01'; END $$"
        .to_owned();
    let report = run_on(&Story { schema, ..story }, "silo")?;
    assert!(!report.checks_hold());
    assert!(report.checks[0].detail.contains("had to be repeated"), "{:?}", report.checks);
    assert_eq!((report.given_up, report.calls["fail"].good), (4, 0), "each client gives up one");
    assert!(report.calls["fail"].repeated > 0);
    Ok(())
}

#[test]
fn what_no_story_can_be_is_refused_with_its_place() {
    let call = "[[call]]\nname = 'bump'\nsql = 'SELECT bump($id, 1)'";
    let refused = |rest: &str| counter(rest).expect_err(rest).to_string();
    for (rest, said) in [
        (call.to_owned(), "call \"bump\": nothing says how $id is drawn; [draw] has: nothing"),
        (format!("draw.id = {{ from = 1 }}\n{call}"), "write { from = 1, to = 9 }"),
        (format!("draw.id = {{ from = 3, to = 1 }}\n{call}"), "from is to be at most to"),
        (format!("draw.id = {{ among = [] }}\n{call}"), "of nothing"),
        (format!("draw.id = {{ fresh = 'k', again = 1.0 }}\n{call}"), "from 0 to below 1"),
        (format!("draw.id = {{ among = ['1'], places = 2 }}\n{call}"), "those of a number alone"),
        (format!("draw.id = {{ until = 3 }}\n{call}"), "unknown field `until`"),
        (format!("draw.id = {{ told = 'id' }}\n{call}"), "before another one has told something"),
        (
            format!("draw.id = {{ from = 1, to = 3 }}\n{call}\nretries = 3"),
            "unknown field `retries`",
        ),
        ("call = 5".to_owned(), "invalid type"),
    ] {
        let error = refused(&rest);
        assert!(error.contains(said), "{rest}\n{error}");
        assert!(error.starts_with("story counter: "), "{error}");
    }
    let error = story_named("flash").expect_err("there is none").to_string();
    assert!(error.contains("there are: flash_sale, ledger"), "{error}");
    let story = counter("[[call]]\nname = 'x'\nsql = 'SELECT nonsense()'").expect("it can be read");
    let error = run_on(&story, "silo").expect_err("there is no such function").to_string();
    assert!(error.contains("story counter: call \"x\":"), "{error}");
}
