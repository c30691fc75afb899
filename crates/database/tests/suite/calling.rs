//! Procedures that call others: the same on every engine, as PostgreSQL 15 has it; what may be
//! defined, replaced and dropped; after a restart.

use hotrow::{Config, Database, Error, LogEntries, Session};

use crate::asking::{check_calls, said};
use crate::every_engine::{every_engine, open};
use crate::scratch::Directory;

const SCHEMA: &str = include_str!("calling/schema.sql");

/// Calls, and what PostgreSQL 15 gives for them, one after the other: rows, or an SQLSTATE.
const CALLS: &[(&str, &str)] = &[
    ("SELECT trade(1, 2, 'sword', 1, 'ore', 2)", "traded"),
    ("SELECT trade(1, 2, 'sword', 2, 'ore', 3)", "traded"),
    ("SELECT trade(1, 2, 'sword', 1, 'ore', 1)", "TR001"),
    (
        "SELECT string_agg(player || item || n, ' ' ORDER BY player, item) FROM thing",
        "1ore5 2sword3 3ore1",
    ),
    ("SELECT try_trade(2, 1, 'sword', 1, 'ore', 99)", "player 1 has not 99 of ore"),
    ("SELECT try_trade(2, 1, 'sword', 1, 'ore', 1)", "traded"),
    (
        "SELECT string_agg(player || item || n, ' ' ORDER BY player, item) FROM thing",
        "1ore4 1sword1 2ore1 2sword2 3ore1",
    ),
    ("SELECT in_expressions(1)", "rich 2 3 4 twelve 104"),
    ("SELECT in_expressions(2)", "fifty 2 3 4 twelve between 58"),
    ("SELECT in_expressions(9)", "seven 2 3 4 twelve 35"),
    ("SELECT own_found(2)", "falsefalsetrue5050"),
    ("SELECT own_found(9)", "falsefalsetrue-1-1"),
    ("SELECT sum_of('{1,2,3}')", "7/4"),
    (
        "SELECT string_agg(number || what, ' ' ORDER BY number) FROM said",
        "1added 1 3added 2 6added 3 7added 1",
    ),
    ("SELECT sum_of('{90,50,3}')", "100/4"),
    ("SELECT sum_of('{}')", "23505"),
    ("SELECT remember_all(4)", "1 2 3 4 "),
    ("SELECT uses_two('{5,3,9}')", "3 of 3 3"),
    ("SELECT uses_two('{5,0,9}')", "0 of 2 0"),
    ("SELECT uses_two('{}')", " of 0 "),
    ("SELECT divides(3)", " 12 6 4 "),
    (
        "SELECT string_agg(number || what, ' ' ORDER BY number) FROM said",
        "1added 1 3added 2 6added 3 7added 1 90added 90 12001divided 12002divided 12003divided",
    ),
    ("SELECT divides(3)", "23505"),
    ("SELECT pays(1, 2, 30)", "paid 30"),
    ("SELECT pays(1, 2, 300)", "too poor"),
    ("SELECT pays(1, 2, NULL)", "23502"),
    ("SELECT string_agg(id || '=' || gold, ' ' ORDER BY id) FROM player", "1=70 2=80 3=10"),
];

fn text_of(session: &Session, statement: &str) -> String {
    let error = session.execute(statement).expect_err("it is refused");
    format!("{} {error}", error.sqlstate().unwrap_or("no SQL error"))
}

#[test]
fn calls_in_calls_are_as_in_postgresql_on_every_engine() {
    every_engine(|config| {
        let session = open(config).session();
        session.execute(SCHEMA)?;
        check_calls(&session, CALLS);
        Ok(())
    });
}

/// Drivers fetch the row that PostgreSQL gives.
#[test]
fn a_function_that_gives_nothing_gives_a_row_where_it_is_selected() {
    let db = Database::open_in_memory(Config::default().threads(1)).expect("it opens");
    let session = db.session();
    let body = "AS $$ BEGIN PERFORM p; END $$";
    let define = format!("CREATE FUNCTION nothing(p integer) RETURNS void LANGUAGE plpgsql {body}");
    session.execute(&define).expect("it is defined");
    let results = session.execute("SELECT nothing(1)").expect("it runs");
    let rows = results[0].rows.clone();
    assert_eq!(rows.columns(), ["nothing"]);
    assert_eq!(rows.all::<(String,)>().expect("texts"), [(String::new(),)]);
}

#[test]
fn what_is_called_is_planned_with_its_caller() {
    let db = open(Config::default().threads(1));
    db.session().execute(SCHEMA).expect("the schema is right");
    let trade = db.explain_procedure("trade").expect("it is there");
    assert!(trade.contains("statements of what it calls: give."), "{trade}");
    assert!(trade.contains("Planning a call needs its parameters only"), "{trade}");
}

#[test]
fn many_trade_at_once_and_nothing_is_lost() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(SCHEMA)?;
        session.execute("UPDATE thing SET n = 1000 WHERE player <= 2")?;
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4_i64)
                .map(|number| {
                    let session = db.session();
                    scope.spawn(move || -> Result<(), Error> {
                        for turn in 0..20 {
                            let (a, b) = if number % 2 == 0 { (1_i64, 2_i64) } else { (2, 1) };
                            let n = 1 + turn % 3;
                            session.call("try_trade", (a, b, "sword", n, "ore", n + 1))?;
                            session.call("pays", (1_i64, 2_i64, 1_i64))?;
                            session.call("pays", (2_i64, 3_i64, 2_i64))?;
                        }
                        Ok(())
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("nobody panics"))
        })?;
        let sums = "SELECT string_agg(item || n, ' ' ORDER BY item) FROM
                    (SELECT item, sum(n) AS n FROM thing GROUP BY item) t";
        assert_eq!(said(&session, sums), "ore1001 sword1000");
        assert_eq!(said(&session, "SELECT sum(gold) FROM player"), "160");
        Ok(())
    });
}

#[test]
fn a_procedure_that_is_replaced_is_another_one_in_its_callers() {
    for entry in hotrow::engines() {
        for entries in [LogEntries::Commands, LogEntries::Values] {
            println!("on {}, {entries}", entry.name);
            let directory = Directory::new("calling");
            let config = Config::default()
                .engine(entry.name)
                .threads(entry.threads_near(2))
                .log_entries(entries)
                .memory_bytes(256 << 20);
            let open = || Database::open(&directory.0, config.clone()).expect("it opens");
            let before = {
                let session = open().session();
                session.execute(SCHEMA).expect("the schema is right");
                assert_eq!(said(&session, "SELECT pays(1, 2, 10)"), "paid 10");
                session
                    .execute(
                        "CREATE OR REPLACE FUNCTION takes_gold(p bigint, most bigint)
                         RETURNS bigint LANGUAGE plpgsql AS $$
                         DECLARE twice bigint := double(most);
                         BEGIN
                           UPDATE player SET gold = gold - twice WHERE id = p;
                           RETURN double(most);
                         END $$",
                    )
                    .expect("it may be replaced");
                assert_eq!(said(&session, "SELECT pays(1, 2, 10)"), "paid 20");
                let doubled = "CREATE OR REPLACE FUNCTION double(x bigint) RETURNS bigint
                               LANGUAGE sql AS $$ SELECT x + 1 $$";
                session.execute(doubled).expect("it may be replaced");
                assert_eq!(said(&session, "SELECT pays(1, 2, 10)"), "paid 11");
                // A table that only the called one touches.
                session
                    .execute("ALTER TABLE player ADD COLUMN note text")
                    .expect("it may have one");
                assert_eq!(said(&session, "SELECT pays(1, 2, 10)"), "paid 11");
                said(&session, "SELECT string_agg(id || '=' || gold, ' ' ORDER BY id) FROM player")
            };
            for _ in 0..2 {
                let db = open();
                let session = db.session();
                let now = "SELECT string_agg(id || '=' || gold, ' ' ORDER BY id) FROM player";
                assert_eq!(said(&session, now), before);
                assert_eq!(said(&session, "SELECT pays(1, 2, 0)"), "paid 1");
                session.execute("UPDATE player SET gold = gold + 1 WHERE id = 1").expect("there");
                session.execute("UPDATE player SET gold = gold - 1 WHERE id = 2").expect("there");
                session.execute("CHECKPOINT").expect("there is a directory");
            }
        }
    }
}

#[test]
fn what_is_called_may_go() {
    let session = open(Config::default().threads(1)).session();
    session.execute(SCHEMA).expect("the schema is right");
    assert_eq!(said(&session, "SELECT trade(1, 2, 'sword', 1, 'ore', 2)"), "traded");
    let told = session.execute("DROP FUNCTION give").expect("it may go").remove(0).notices;
    let told = |name: &str| told.iter().any(|told| told.said.message.contains(name));
    assert!(told("function trade cannot be called any more: function give("), "it is told");
    assert_eq!(said(&session, "SELECT trade(1, 2, 'sword', 1, 'ore', 2)"), "42883");
    session.execute("DROP FUNCTION try_trade, trade").expect("they may go");
    // What it returns is its callers' business.
    let other = "CREATE OR REPLACE FUNCTION takes_gold(p bigint, most bigint)
                 RETURNS SETOF bigint LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT 1; END $$";
    let refused = text_of(&session, other);
    assert!(refused.starts_with("42P13"), "{refused}");
    // One with other parameters stands beside it.
    let beside = "CREATE OR REPLACE FUNCTION takes_gold(p text) RETURNS bigint LANGUAGE plpgsql
                  AS $$ BEGIN RETURN 1; END $$";
    session.execute(beside).expect("it is another function");
    assert_eq!(said(&session, "SELECT pays(1, 2, 10)"), "paid 10");
}

#[test]
fn what_is_not_the_same_is_refused_and_circles_have_a_depth() {
    let session = open(Config::default().threads(1)).session();
    session.execute(SCHEMA).expect("the schema is right");
    let create = |name: &str, body: &str| {
        format!(
            "CREATE OR REPLACE FUNCTION {name}(x bigint) RETURNS bigint LANGUAGE plpgsql AS $$
             DECLARE v bigint; r record; BEGIN {body} RETURN v; END $$"
        )
    };
    for (body, code, hint) in [
        ("BEGIN v := itself(x - 1); EXCEPTION WHEN OTHERS THEN NULL; END;", "0A000", "errors"),
        ("v := gold_of(which => 1, which => 2);", "42601", ""),
        ("v := two('{1}');", "42804", "of type record"),
        ("CALL add_up(1, 2);", "42601", "pass a variable"),
        ("CALL add_up(1, v);", "42601", "pass a variable"),
    ] {
        let refused = text_of(&session, &create("itself", body));
        assert!(refused.starts_with(code) && refused.contains(hint), "{body}: {refused}");
    }
    session.execute(&create("plain", "v := x;")).expect("it is right");
    session.execute(&create("ahead", "v := coalesce(x, plain(x));")).expect("it is right");
    session.execute(&create("behind", "v := ahead(x);")).expect("it is right");
    // Each of them calls the others then.
    session.execute(&create("plain", "v := behind(x);")).expect("it is right");
    assert_eq!(said(&session, "SELECT behind(7)"), "7");
    assert_eq!(said(&session, "SELECT plain(7)"), "7");
    assert_eq!(said(&session, "SELECT plain(NULL)"), "54001");
    session.execute(&create("plain", "v := x;")).expect("it is right");
    // Each calls the one before many times.
    let calls = "v := plain(x); ".repeat(40);
    session.execute(&create("level1", &calls)).expect("it is small");
    let calls = "v := level1(x); ".repeat(40);
    session.execute(&create("level2", &calls)).expect("it is not too large");
    let calls = "v := level2(x); ".repeat(40);
    assert_eq!(said(&session, &create("level3", &calls)), "54001");
}

#[test]
fn a_block_that_is_run_once_calls() {
    every_engine(|config| {
        let session = open(config).session();
        session.execute(SCHEMA)?;
        session.execute(
            "DO $$ DECLARE t bigint := double(gold_of(1)); c integer := 0; BEGIN
             CALL add_up(1, t, c); PERFORM give(1, 2, 'sword', 1); END $$",
        )?;
        assert_eq!(said(&session, "SELECT n FROM thing WHERE player = 2 AND item = 'sword'"), "1");
        Ok(())
    });
}

#[test]
fn numbers_of_sequences_are_drawn_by_callers() {
    every_engine(|config| {
        let session = open(config).session();
        session.execute(
            "CREATE TABLE line (id bigserial PRIMARY KEY, what text);
             CREATE FUNCTION note(w text) RETURNS bigint LANGUAGE plpgsql AS $$
             DECLARE n bigint; BEGIN INSERT INTO line (what) VALUES (w) RETURNING id INTO n;
             RETURN n; END $$;
             CREATE FUNCTION notes(a text, b text) RETURNS text LANGUAGE plpgsql AS $$
             BEGIN RETURN note(a) || ' ' || note(b) || ' ' || note(a || b); END $$",
        )?;
        assert_eq!(said(&session, "SELECT notes('x', 'y')"), "1 2 3");
        assert_eq!(said(&session, "SELECT notes('z', 'y')"), "4 5 6");
        let all = "SELECT string_agg(id || what, ' ' ORDER BY id) FROM line";
        assert_eq!(said(&session, all), "1x 2y 3xy 4z 5y 6zy");
        let looped = "CREATE FUNCTION noted() RETURNS void LANGUAGE plpgsql AS $$
                      BEGIN FOR i IN 1..3 LOOP PERFORM note('l'); END LOOP; END $$";
        session.execute(looped)?;
        session.execute("SELECT noted()")?;
        session.execute("SELECT noted()")?;
        let looped = "SELECT count(DISTINCT id) || ' ' || count(*) FROM line WHERE what = 'l'";
        assert_eq!(said(&session, looped), "6 6");
        // Who draws in a loop has an array of numbers, which is his own.
        let calls = "CREATE FUNCTION calls() RETURNS void LANGUAGE plpgsql AS $$
                     BEGIN PERFORM noted(); END $$";
        assert_eq!(said(&session, calls), "0A000");
        Ok(())
    });
}

/// A seed at each place and turn: what is called gives other values each time.
#[test]
fn random_values_are_drawn_anew_at_each_call() {
    every_engine(|config| {
        let session = open(config).session();
        session.execute(
            "CREATE FUNCTION any_id() RETURNS uuid LANGUAGE plpgsql AS $$
             BEGIN RETURN gen_random_uuid(); END $$;
             CREATE FUNCTION ids() RETURNS SETOF uuid LANGUAGE plpgsql AS $$
             DECLARE a uuid; b uuid; BEGIN
             a := any_id(); b := any_id(); RETURN NEXT a; RETURN NEXT b;
             FOR i IN 1..5 LOOP a := any_id(); RETURN NEXT a; END LOOP; END $$",
        )?;
        let ids = session.execute("SELECT * FROM ids()")?;
        let mut ids: Vec<String> = ids[0].rows.iter().map(|row| row[0].to_string()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 7, "{ids:?}");
        Ok(())
    });
}

/// A call that has too few numbers is made again; its handlers do not hear of it.
#[test]
fn no_handler_catches_that_numbers_are_spent() {
    every_engine(|config| {
        let session = open(config).session();
        session.execute(
            "CREATE TABLE line (id bigserial PRIMARY KEY, n bigint UNIQUE);
             CREATE FUNCTION fill(most bigint) RETURNS text LANGUAGE plpgsql AS $$
             DECLARE caught bigint := 0; i bigint := 0; BEGIN
             WHILE i < most LOOP i := i + 1;
               BEGIN
                 INSERT INTO line (n) VALUES (i / 2);
                 IF i = 4 THEN RAISE EXCEPTION 'four'; END IF;
               EXCEPTION WHEN OTHERS THEN caught := caught + 1; END;
             END LOOP;
             RETURN caught || ' of ' || (SELECT count(*) FROM line); END $$",
        )?;
        // 0 1 1 2 2 3 3 ...: the second of each pair fails, and of the pair of 2 the first.
        assert_eq!(said(&session, "SELECT fill(40)"), "19 of 21");
        let unique = "SELECT count(DISTINCT id) || ' ' || count(*) FROM line";
        assert_eq!(said(&session, unique), "21 21");
        session.execute("DELETE FROM line")?;
        assert_eq!(said(&session, "SELECT fill(400)"), "199 of 201");
        assert_eq!(said(&session, unique), "201 201");
        Ok(())
    });
}
