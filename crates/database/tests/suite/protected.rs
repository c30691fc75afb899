//! EXCEPTION blocks in calls: the same on every engine, as PostgreSQL 15 has it, alone and beside
//! others, after a crash, and under what no handler may catch.

use hotrow::{Config, Database, Error, LogEntries};

use crate::asking::{cancelled, check_calls, said};
use crate::every_engine::{every_engine, open};
use crate::scratch::Directory;

const SCHEMA: &str = include_str!("protected/schema.sql");

/// Calls, and what PostgreSQL 15 gives for them, one after the other: rows, or an SQLSTATE.
const CALLS: &[(&str, &str)] = &[
    ("SELECT upsert('x', 3)", "inserted"),
    ("SELECT upsert('x', 4)", "updated"),
    ("SELECT insert_or_add('y', 1)", "inserted"),
    ("SELECT insert_or_add('y', 2)", "added"),
    ("SELECT insert_or_add('y', 2)", "added"),
    ("SELECT transfer(1, 2, 30, 5)", "done 4"),
    ("SELECT transfer(1, 2, 3000, 6)", "too little 3 23514"),
    (
        "SELECT transfer(1, 2, 1, 5)",
        "duplicate key value violates unique constraint \"entry_pkey\" 2",
    ),
    (
        "SELECT transfer(77, 2, 1, 8)",
        "insert or update on table \"entry\" violates foreign key constraint \
         \"entry_account_fkey\" 2",
    ),
    ("SELECT transfer(2, 2, 1, 9)", "done 4"),
    ("SELECT transfer(2, 1, NULL, 9)", "23502"),
    ("SELECT divide(7, 2)", "3"),
    ("SELECT divide(7, 0)", "-1"),
    ("SELECT divide((-9223372036854775807)::bigint - 1, -1)", "-2"),
    ("SELECT told(1)", "UE001|no luck here|none|try"),
    ("SELECT told(2)", "23505|entry_pkey|entry|"),
    ("SELECT told(3)", "23502||entry|amount"),
    ("SELECT told(4)", "23514|no_overdraft|account|"),
    ("SELECT told(5)", "P0002"),
    ("SELECT told(6)", "P0003"),
    ("SELECT told(7)", "22P02 invalid input syntax for type integer: \"seven\""),
    ("SELECT told(8)", "22012 division_by_zero"),
    ("SELECT told(9)", "23503|entry_account_fkey|entry|"),
    ("SELECT told(10)", "23999|||"),
    ("SELECT told(11)", "20000 case not found"),
    ("SELECT nested(0)", "inner end,outer end,"),
    ("SELECT nested(1)", "inner caught,outer end,"),
    ("SELECT nested(2)", "outer caught 23514check_violation"),
    ("SELECT nested(3)", ""),
    ("SELECT nested(4)", "again four,P0002,outer caught P0001four"),
    ("SELECT nested(5)", "inner end,outer end,others division by zero"),
    ("SELECT nested(6)", "P0004"),
    ("SELECT in_loops('{1,2,77,2}', 9)", "1 next 2 next twice next 4"),
    ("SELECT in_loops('{7,1,2}', 9)", "poor twice next twice next 3"),
    ("SELECT in_loops('{1,3,77,7,2}', 3)", "twice next poor poor returned"),
    ("SELECT find_or_take('fee', 1)", "3"),
    ("SELECT find_or_take('nobody', 1)", "1"),
    ("SELECT find_or_take('user', 1)", "2"),
    ("SELECT fails_again(1)", "23514"),
    ("SELECT fails_again(2)", "P0001"),
    ("SELECT shuffle(true)", "back"),
    (
        "SELECT string_agg(number || mark || account, ' ' ORDER BY number) FROM entry \
         WHERE mark IS NOT NULL",
        "1a1 2b2",
    ),
    ("SELECT shuffle(false)", "gone"),
    (
        "SELECT string_agg(number || mark || account, ' ' ORDER BY number) FROM entry \
         WHERE mark IS NOT NULL",
        "1c2 2d2",
    ),
    (
        "SELECT string_agg(id || kind || balance, ' ' ORDER BY id) FROM account",
        "1user!122 2user!142 3fee!4 7user!14",
    ),
    ("SELECT string_agg(name || n, ' ' ORDER BY name) FROM counter", "inner20 outer3 tries5 x7 y5"),
    (
        "SELECT string_agg(number || coalesce(state, '-') || said, ' ' ORDER BY number) \
         FROM trouble",
        "1-fine 2-fine 1001a1 1002b2 1005-1 1009-2",
    ),
    ("SELECT number FROM entry WHERE mark = 'b'", ""),
    ("SELECT number FROM entry WHERE mark = 'd'", "2"),
    ("SELECT rows_stay()", "1;2;3;4"),
    ("SELECT enter(50, 1, 10)", "entered"),
    ("SELECT enter(50, 1, 10)", "again"),
    ("SELECT enter(51, 1, 100000)", "23514"),
    ("SELECT enter(51, 7, 1)", "entered"),
    (
        "SELECT string_agg(number || 'of' || account, ' ' ORDER BY number) FROM entry",
        "1of2 2of2 5of1 9of2 50of1 51of7",
    ),
];

#[test]
fn errors_are_caught_as_in_postgresql_on_every_engine() {
    every_engine(|config| {
        let session = open(config).session();
        session.execute(SCHEMA)?;
        check_calls(&session, CALLS);
        Ok(())
    });
}

#[test]
fn calls_of_a_transaction_catch_too_and_are_undone_with_it() {
    every_engine(|config| {
        let session = open(config).session();
        session.execute(SCHEMA)?;
        for (call, expected) in CALLS {
            session.execute("BEGIN")?;
            let (first, again) = (said(&session, call), said(&session, call));
            session.execute("ROLLBACK")?;
            assert!(!again.is_empty() || first.is_empty(), "{call}");
            session.execute("BEGIN")?;
            assert_eq!(said(&session, call), *expected, "{call}");
            session.execute("COMMIT")?;
        }
        Ok(())
    });
}

const SESSIONS: i64 = 8;
const TURNS: i64 = 25;

/// Has many sessions call at once what meets on single rows; none of them may see an error.
fn contend(db: &Database) -> Result<(), Error> {
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..SESSIONS)
            .map(|number| {
                let session = db.session();
                scope.spawn(move || -> Result<(), Error> {
                    for turn in 0..TURNS {
                        let entry = 1000 + number * 100 + turn / 2;
                        session.call("upsert", ("hot", 1_i64))?;
                        session.call("insert_or_add", ("warm", 1_i64))?;
                        session.call("transfer", (1_i64, 2_i64, 1_i64, entry))?;
                        session.call("find_or_take", ("nobody", 7_i64))?;
                    }
                    Ok(())
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("nobody panics"))
    })
}

#[test]
fn sessions_contend_for_a_row_and_nobody_sees_a_conflict() {
    every_engine(|config| {
        let db = open(config);
        db.session().execute(SCHEMA)?;
        contend(&db)?;
        let session = db.session();
        let total = SESSIONS * TURNS;
        let n =
            |name: &str| said(&session, &format!("SELECT n FROM counter WHERE name = '{name}'"));
        assert_eq!(n("hot"), total.to_string());
        assert_eq!(n("warm"), total.to_string());
        assert_eq!(n("tries"), total.to_string(), "what stands before a block is kept");
        // 100 at most could be taken; each that was has its entry, and what failed has none.
        let balance = |id| {
            let text = said(&session, &format!("SELECT balance FROM account WHERE id = {id}"));
            text.parse::<i64>().expect("a number")
        };
        let made = said(&session, "SELECT count(*) FROM entry WHERE number >= 1000");
        let made: i64 = made.parse().expect("a number");
        assert_eq!((balance(1), balance(2)), (100 - made, 50 + made));
        assert_eq!(made, 100, "there is enough for as many, and each key is tried twice");
        assert_eq!(balance(7), 7 + total);
        Ok(())
    });
}

/// All rows of all tables.
fn contents(db: &Database) -> Vec<String> {
    let mut rows = Vec::new();
    for table in ["account", "entry", "counter", "trouble"] {
        db.scan(table, |row| rows.push(format!("{table} {row:?}"))).expect("it is there");
    }
    rows.sort();
    rows
}

#[test]
fn after_a_crash_the_log_does_what_calls_did_that_caught() {
    for (number, entry) in hotrow::engines().iter().enumerate() {
        let entries = [LogEntries::Commands, LogEntries::Values][number % 2];
        for entries in [entries, LogEntries::Commands] {
            println!("on {}, {entries}", entry.name);
            let directory = Directory::new("protected");
            let config = Config::default()
                .engine(entry.name)
                .threads(entry.threads_near(3))
                .log_entries(entries)
                .memory_bytes(256 << 20);
            let db = Database::open(&directory.0, config.clone()).expect("it opens");
            let session = db.session();
            session.execute(SCHEMA).expect("the schema is right");
            check_calls(&session, &CALLS[..CALLS.len() / 2]);
            contend(&db).expect("nobody sees an error");
            let before = contents(&db);
            let copy = directory.copy("crashed");
            drop(db);
            let db = Database::open(&copy.0, config).expect("it opens after a crash");
            assert_eq!(contents(&db), before, "{}, {entries}", entry.name);
            let session = db.session();
            assert_eq!(said(&session, "SELECT insert_or_add('hot', 5)"), "added");
        }
    }
}

const ENDLESS: &str = "
CREATE FUNCTION never_ends() RETURNS text LANGUAGE plpgsql AS $$
DECLARE i bigint := 0;
BEGIN
  LOOP
    BEGIN
      LOOP
        UPDATE counter SET n = n + 1 WHERE name = 'tries';
        i := i + 1;
      END LOOP;
    EXCEPTION WHEN others OR query_canceled OR program_limit_exceeded THEN
      UPDATE counter SET n = 0 WHERE name = 'tries';
    END;
  END LOOP;
END $$";

#[test]
fn no_handler_catches_what_ends_the_call() {
    every_engine(|config| {
        let db = open(config.clone().step_budget(20_000));
        let session = db.session();
        session.execute(SCHEMA)?;
        session.execute(ENDLESS)?;
        assert_eq!(said(&session, "SELECT never_ends()"), "54000");
        assert_eq!(said(&session, "SELECT n FROM counter WHERE name = 'tries'"), "0");
        let db = open(config.step_budget(u64::MAX));
        let session = db.session();
        session.execute(SCHEMA)?;
        session.execute(ENDLESS)?;
        session.execute("SET statement_timeout = '50ms'")?;
        assert_eq!(said(&session, "SELECT never_ends()"), "57014");
        session.execute("RESET statement_timeout")?;
        let (_, code) = cancelled(session, "SELECT never_ends()");
        assert_eq!(code, "57014");
        Ok(())
    });
}

#[test]
fn a_block_that_is_run_once_catches() {
    every_engine(|config| {
        let session = open(config).session();
        session.execute(SCHEMA)?;
        session.execute(
            "DO $$
             BEGIN
               UPDATE counter SET n = n + 1 WHERE name = 'outer';
               BEGIN
                 UPDATE counter SET n = n + 1 WHERE name = 'inner';
                 INSERT INTO account VALUES (1, 'x', 1);
               EXCEPTION WHEN unique_violation THEN
                 INSERT INTO trouble VALUES (1, SQLSTATE, SQLERRM);
               END;
             END $$",
        )?;
        let told = said(&session, "SELECT state || said FROM trouble");
        assert_eq!(told, "23505duplicate key value violates unique constraint \"account_pkey\"");
        let counts = "SELECT string_agg(name || n, ' ' ORDER BY name) FROM counter";
        assert_eq!(said(&session, counts), "inner0 outer1 tries0");
        Ok(())
    });
}

#[test]
fn explain_tells_what_a_handler_means_for_the_plan() {
    let db = open(Config::default().threads(1));
    let session = db.session();
    session.execute(SCHEMA).expect("the schema is right");
    for (name, expected) in [
        ("upsert", " is planned with its handlers"),
        ("transfer", " is planned with its handlers"),
        ("enter", " is planned with its handlers"),
        ("find_or_take", " decides what comes next"),
        ("in_loops", " decides what comes next"),
    ] {
        let text = db.explain_procedure(name).expect("it is there");
        let told = text.lines().find(|line| line.starts_with("The EXCEPTION block at line "));
        assert!(told.is_some_and(|line| line.contains(expected)), "{name}: {text}");
    }
    for (call, held) in [
        ("transfer(1, 2, 3, 4)", "lock X granule (3) of account_pkey"), // by a handler
        ("enter(50, 1, 10)", "lock X granule (50) of entry_pkey"),
        ("enter(50, 1, 10)", "lock X granule (user) of counter_pkey"), // as rows tell
    ] {
        let text = session.execute(&format!("EXPLAIN PROCEDURE {call}")).expect("it is planned");
        let text = format!("{text:?}");
        assert!(text.contains(held), "{call} holds {held}: {text}");
    }
}

/// What a user raises with the SQLSTATE of an error that no handler may catch keeps its words.
#[test]
fn what_no_handler_catches_is_told_as_it_was_raised() {
    every_engine(|config| {
        let session = open(config).session();
        session.execute(
            "CREATE FUNCTION deep() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
                 BEGIN RAISE EXCEPTION 'too deep' USING ERRCODE = '54001';
                 EXCEPTION WHEN OTHERS THEN RETURN 1; END; RETURN 2; END $$",
        )?;
        let error = session.execute("SELECT deep()").expect_err("it is raised");
        assert_eq!(error.sqlstate(), Some("54001"), "{error}");
        assert!(error.to_string().contains("too deep"), "{error}");
        Ok(())
    });
}
