//! Statements found by the shape of their texts say what they say when each is compiled by itself.

use crate::every_engine::open;
use crate::queries::{EXPECTED, SETUP};
use hotrow::{Config, Database, Error, Session, StatementResult};

const SCRIPTS: [&str; 4] = [
    include_str!("answers/cascades.sql"),
    include_str!("answers/key_changes.sql"),
    include_str!("answers/of_queries.sql"),
    include_str!("answers/arrays.sql"),
];

fn database() -> Database {
    let engine =
        hotrow::engines().iter().find(|entry| entry.locks_as_it_goes).expect("there is one");
    open(Config::default().engine(engine.name).threads(1).memory_bytes(256 << 20))
}

/// Everything that a statement says, its rows sorted; and whether it was found by its shape.
fn said(session: &Session, text: &str) -> (String, bool) {
    let mut is_known = false;
    let results = (|| {
        let mut results: Vec<StatementResult> = Vec::new();
        let mut script = session.parse(text)?;
        is_known = script.is_known();
        while let Some(statement) = session.next_of(&mut script) {
            match session.perform_sent(&statement?)? {
                hotrow::Outcome::Done(result) => results.push(*result),
                other => panic!("{text}: {other:?}"),
            }
        }
        Ok::<_, Error>(results)
    })();
    let tell = |StatementResult { tag, rows, types, place, notices }: &StatementResult| {
        let columns = rows.columns();
        let mut rows: Vec<_> = rows.iter().map(|row| format!("{row:?}")).collect();
        rows.sort_unstable();
        format!("{tag} {columns:?} {types:?} {place:?} {notices:?} {rows:?}")
    };
    let said = match results {
        Ok(results) => results.iter().map(tell).collect(),
        Err(error) => format!("{:?} {error:?}", error.sqlstate()),
    };
    (said, is_known)
}

/// A text with other literals: `number` and `word` make others of them, which may be none.
fn varied(
    text: &str,
    mut number: impl FnMut(&str) -> String,
    mut word: impl FnMut(&str) -> String,
) -> String {
    let mut varied = String::new();
    let (mut rest, mut before) = (text, ' ');
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' => rest[1..].find('\'').map_or(rest.len(), |length| length + 2),
            '0'..='9' if !before.is_alphanumeric() && !"_.\"$".contains(before) => {
                rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
            }
            other => other.len_utf8(),
        };
        let (own, behind) = rest.split_at(length);
        varied.push_str(&match first {
            '\'' if length > 2 => format!("'{}'", word(&own[1..length - 1])),
            '0'..='9' if !behind.starts_with('.') && own.len() == length && own.len() < 9 => {
                number(own)
            }
            _ => own.to_owned(),
        });
        (before, rest) = (own.chars().last().unwrap_or(' '), behind);
    }
    varied
}

/// Texts of the same shape, most of them.
fn variants(text: &str) -> Vec<String> {
    let same = |own: &str| own.to_owned();
    let add = |by: i64| move |own: &str| (own.parse::<i64>().unwrap_or(0) + by).to_string();
    if text.contains("RECURSIVE") {
        return vec![text.to_owned()]; // others have no end
    }
    let mut last = "1".to_owned();
    let shifted = |own: &str| std::mem::replace(&mut last, own.to_owned());
    vec![
        varied(text, add(1), same),
        varied(text, add(-1), same),
        varied(text, |_| "1".to_owned(), same),
        varied(text, |_| "0".to_owned(), |_| "1".to_owned()),
        varied(text, shifted, |own| format!("{own}x")),
        varied(text, add(32_767), |_| "it''s".to_owned()),
        varied(text, same, |own| own.chars().rev().collect()),
        text.to_owned(),
    ]
}

/// Sends a text twice and then its variants, each also in a session that knows nothing; tells how
/// many were found by their shapes.
fn compare(db: &Database, text: &str) -> usize {
    let (session, mut known) = (db.session(), 0);
    let run = |session: &Session, text: &str| {
        session.execute("BEGIN").expect("it is not open");
        let said = said(session, text);
        session.execute("ROLLBACK").expect("it is open");
        said
    };
    run(&session, text);
    for variant in [text.to_owned()].into_iter().chain(variants(text)) {
        let (expected, was_known) = run(&db.session(), &variant);
        assert!(!was_known, "{variant}");
        let (found, is_known) = run(&session, &variant);
        assert_eq!(found, expected, "\n{variant}\nbehind\n{text}");
        known += usize::from(is_known);
    }
    known
}

#[test]
fn queries_say_the_same() {
    let db = database();
    db.session().execute(SETUP).expect("it is right");
    let mut known = 0;
    let queries = EXPECTED.iter().flat_map(|file| file.lines());
    for query in queries.filter_map(|line| line.strip_prefix("== ")).step_by(3) {
        // What tells of sessions and times is another one in each.
        if !query.contains("pg_backend_pid") && !query.contains("clock_timestamp") {
            known += compare(&db, query);
        }
    }
    assert!(known > 300, "{known} were found");
}

#[test]
fn changes_say_the_same() {
    let mut known = 0;
    for script in SCRIPTS {
        let db = database();
        let session = db.session();
        let lines = script.lines().filter(|line| !line.is_empty() && !line.starts_with("--"));
        for statement in lines {
            let word = statement.split_whitespace().next().unwrap_or_default().to_lowercase();
            if ["select", "insert", "update", "delete", "with"].contains(&word.as_str()) {
                known += compare(&db, statement);
            }
            drop(session.execute(statement));
        }
    }
    assert!(known > 500, "{known} were found");
}

#[test]
fn what_is_typed_again_and_again_is_found() {
    let db = database();
    let session = db.session();
    session
        .execute(
            "CREATE TABLE accounts (id integer PRIMARY KEY, owner varchar(5), money numeric(9, 2));
             CREATE TABLE small (id smallint PRIMARY KEY, at timestamptz);
             CREATE PROCEDURE pay(who integer, what numeric, why text) AS $$ BEGIN
               UPDATE accounts SET money = money + what, owner = why WHERE id = who;
             END $$ LANGUAGE plpgsql;",
        )
        .expect("it is right");
    let found = [
        "INSERT INTO accounts VALUES (0, 'ann', 10)",
        "SELECT money FROM accounts WHERE id = 0",
        "UPDATE accounts SET money = money + -5 WHERE id = 0 AND owner = 'ann'",
        "INSERT INTO small VALUES (0, '2026-11-25 12:00:00+00')",
        "SELECT * FROM small WHERE at > '2026-11-25 12:00:00+00' LIMIT 10",
        "CALL pay(0, -5, 'bob')",
        "BEGIN",
        "COMMIT",
    ];
    for text in found {
        let known = |number: &str| {
            let text = text.replacen('0', number, 1);
            said(&session, &text)
        };
        let known = ["1", "2", "3", "4"].map(known);
        assert_eq!(known.each_ref().map(|(_, known)| *known), [false, true, true, true], "{text}");
        assert!(known.iter().all(|(said, _)| !said.starts_with("Some(")), "{known:?}");
    }
    // A key of another type is found by the value, which a parameter has not.
    for id in ["1", "2", "3"] {
        let text = format!("SELECT at FROM small WHERE id = {id}");
        assert!(!said(&session, &text).1, "{text}");
    }
    let money = "SELECT money::text FROM accounts WHERE id = 3";
    assert!(said(&session, money).0.contains("0.00"), "10 - 5 - 5");
    // Values that do not fit say so at their places, and what is part of the plan is heeded.
    let (late, _) = said(&session, "INSERT INTO small VALUES (5, '2026-13-25 12:00:00+00')");
    assert!(late.contains("22008") && late.contains("column: 30"), "{late}");
    let (long, _) = said(&session, "CALL pay(3, -5, 'too long a name')");
    assert!(long.contains("22001"), "{long}");
    let limited = |limit: u32| {
        let text = format!("SELECT id FROM accounts WHERE id < 100 LIMIT {limit}");
        let rows = session.execute(&text).expect("it is right").remove(0).rows;
        rows.len()
    };
    assert_eq!([1, 1, 2, 3, 1].map(limited), [1, 1, 2, 3, 1]);
}

#[test]
fn definitions_come_between() {
    let db = database();
    let session = db.session();
    let rows = |text: &str| said(&session, text).0;
    rows("CREATE TABLE t (id integer PRIMARY KEY, n integer)");
    for id in 1..5 {
        rows(&format!("INSERT INTO t VALUES ({id}, {})", id * 10));
    }
    let read = |id: u32| rows(&format!("SELECT * FROM t WHERE id = {id}"));
    assert!([1, 2, 3].map(read)[2].contains("[Int(3), Int(30)]"));
    rows("ALTER TABLE t ADD COLUMN more integer DEFAULT 7");
    assert!(read(4).contains("[Int(4), Int(40), Int(7)]"), "{}", read(4));
    rows("DROP TABLE t");
    assert!(read(4).contains("42P01") && read(3).contains("42P01"), "{}", read(4));
    rows("CREATE TABLE t (id text PRIMARY KEY, n bigint)");
    assert!(read(4).contains("42883"), "{}", read(4));
    rows("DROP TABLE t; CREATE TABLE t (id bigint PRIMARY KEY, n bigint)");
    assert!(read(4).starts_with("SELECT 0"), "{}", read(4));
    assert!(session.parse("SELECT * FROM t WHERE id = 5").expect("it is right").is_known());
    // What was compiled before is paid for no more.
    let before = session.memory().used();
    for _ in 0..200 {
        rows("CREATE TABLE other (id bigint)");
        assert!(read(4).starts_with("SELECT 0"), "{}", read(4));
        rows("DROP TABLE other");
    }
    let kept = session.memory().used().saturating_sub(before);
    assert!(kept < 200 << 10, "{kept} bytes");
}

#[test]
fn shapes_are_bounded() {
    let db = database();
    let session = db.session();
    session.execute("CREATE TABLE t (id integer PRIMARY KEY)").expect("it is right");
    let before = session.memory().used();
    for column in 0..2_000 {
        for id in 0..3 {
            let text = format!("SELECT id AS c{column} FROM t WHERE id = {id} AND id < 7");
            said(&session, &text);
        }
    }
    let kept = session.memory().used() - before;
    assert!(kept > 0 && kept < 3 << 20, "{kept}");
}
