//! The list: every production of the grammar at its sizes, and what has once hurt a server.

use crate::growth::{self, Kind, PRODUCTIONS, Production};
use crate::protocol;
use crate::raw::query;

/// Something to send.
pub struct Input {
    /// what it is
    pub name: String,
    /// the messages
    pub bytes: Vec<u8>,
    /// how many times the server says that it is ready for the next, behind all of it
    pub answers: usize,
}

impl Input {
    /// A script of the simple protocol.
    pub fn script(name: impl Into<String>, text: &str) -> Self {
        Self { name: name.into(), bytes: query(text), answers: 1 }
    }
}

/// Longer texts are refused as messages, and tried as such once.
const BYTES_MAX: usize = 4 << 20;

/// All of them, always in the same order.
pub fn all() -> Vec<Input> {
    let grown = PRODUCTIONS.iter().enumerate().flat_map(|(at, production)| {
        let sizes = production.sizes().iter().enumerate();
        sizes.map(move |(nth, &size)| of_production(production, at + nth, size))
    });
    grown.chain(once_harmful()).chain(protocol::all()).collect()
}

/// One of a production's texts, in one of its kind's frames.
fn of_production(production: &Production, turn: usize, size: usize) -> Input {
    let frames = growth::frames(production.kind);
    let frame = frames[turn % frames.len()];
    // What doubles is to come to be run, not only to be compiled.
    let frame = if size < 100 { frames[0] } else { frame };
    let mut text = put(frame, &production.grow(size, "1"));
    if text.len() > BYTES_MAX {
        text = put(frame, &production.grow(size * BYTES_MAX / text.len() / 2, "1"));
    }
    Input::script(format!("{} x {size}: {frame:.40}", production.name), &text)
}

/// A text in a frame.
pub fn put(frame: &str, text: &str) -> String {
    let (before, behind) = frame.split_once("{}").expect("a frame has a place");
    format!("{before}{text}{behind}")
}

/// Inputs that ended a server, took seconds and could not be ended, or took gibibytes, in 2026.
fn once_harmful() -> impl Iterator<Item = Input> {
    let million = "repeat('x', 1000000)";
    let doing = |declare: &str, body: &str| format!("DO $$ DECLARE {declare} BEGIN {body} END $$");
    let named: Vec<(&str, String)> = vec![
        ("regexp_replace of a square", format!("SELECT length(regexp_replace({million}, 'x', repeat('y', 1000000), 'g'))")),
        ("replace of a square", format!("SELECT length(replace({million}, 'x', repeat('y', 1000000)))")),
        ("nested replaces", format!("SELECT length({}'x'{})", "replace(".repeat(30), ", 'x', 'xxxx')".repeat(30))),
        ("repeat of a repeat", "SELECT length(repeat(repeat('x', 100000), 100000))".to_owned()),
        ("many repeats", format!("SELECT {}", vec!["repeat('x', 50000000)"; 100].join(", "))),
        ("concat of repeats", format!("SELECT length(concat({}))", vec!["repeat('x', 50000000)"; 60].join(", "))),
        ("concatenated repeats", format!("SELECT length({})", vec!["repeat('x', 50000000)"; 60].join(" || "))),
        ("lpad", "SELECT length(lpad('x', 2000000000, 'y'))".to_owned()),
        ("array_to_string", format!("SELECT length(array_to_string(string_to_array({million}, NULL), repeat('y', 100000)))")),
        ("string_to_array", "SELECT array_length(string_to_array(repeat('x,', 50000000), ','), 1)".to_owned()),
        ("string_agg", format!("SELECT length(string_agg({million}, ',')) FROM generate_series(1, 100000)")),
        ("array_agg", format!("SELECT array_length(array_agg({million}), 1) FROM generate_series(1, 100000)")),
        ("json_agg", format!("SELECT length(json_agg({million})::text) FROM generate_series(1, 100000)")),
        ("DISTINCT of long text", format!("SELECT count(*) FROM (SELECT DISTINCT {million} || g FROM generate_series(1, 20000) g) q")),
        ("window over long text", format!("SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY {million} || g) FROM generate_series(1, 20000) g) q")),
        ("GROUP BY long text", format!("SELECT count(*) FROM (SELECT {million} || g FROM generate_series(1, 20000) g GROUP BY 1) q")),
        ("ORDER BY long text", format!("SELECT {million} || g FROM generate_series(1, 20000) g ORDER BY 1 DESC LIMIT 1")),
        ("UNION of long text", format!("SELECT count(*) FROM (SELECT {million} || g FROM generate_series(1, 20000) g UNION SELECT 'x') q")),
        ("cross join", "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b".to_owned()),
        ("cross join of rows", "SELECT a, b FROM generate_series(1, 100000) a, generate_series(1, 100000) b".to_owned()),
        ("generate_series", "SELECT count(*) FROM generate_series(1, 9223372036854775807)".to_owned()),
        ("recursion without end", "WITH RECURSIVE r AS (SELECT 1 AS k UNION ALL SELECT k + 1 FROM r) SELECT count(*) FROM r".to_owned()),
        ("recursion that doubles text", "WITH RECURSIVE r AS (SELECT 'xx' AS k UNION ALL SELECT k || k FROM r) SELECT count(*) FROM r".to_owned()),
        ("recursion that doubles rows", "WITH RECURSIVE r AS (SELECT 1 AS k UNION ALL SELECT k FROM r, generate_series(1, 2)) SELECT count(*) FROM r".to_owned()),
        ("LIKE", "SELECT repeat('x', 1000000) LIKE repeat('%x', 10000) || 'y'".to_owned()),
        ("LIKE with underscores", "SELECT repeat('x', 3000000) LIKE '%' || repeat('_', 1000000) || 'y'".to_owned()),
        ("strpos", "SELECT strpos(repeat('x', 10000000), repeat('x', 5000000) || 'y')".to_owned()),
        ("position", "SELECT position(repeat('x', 5000000) || 'y' IN repeat('x', 10000000))".to_owned()),
        ("translate", "SELECT length(translate(repeat('abc', 3000000), repeat('x', 100000), repeat('y', 100000)))".to_owned()),
        ("split_part", "SELECT split_part(repeat('x,', 20000000), ',', 19999999)".to_owned()),
        ("regexp", "SELECT repeat('a', 1000000) ~ '(a*)*(a*)*(a*)*b'".to_owned()),
        ("regexp counted", "SELECT 'x' ~ '((((((a{100}){100}){100}){100}){100}){100})'".to_owned()),
        ("regexp_matches", "SELECT count(*) FROM (SELECT regexp_matches(repeat('ab', 5000000), 'a', 'g')) q".to_owned()),
        ("regexp_split", "SELECT count(*) FROM (SELECT regexp_split_to_table(repeat('ab', 5000000), 'a')) q".to_owned()),
        ("power", "SELECT power(10::numeric, 100000)".to_owned()),
        ("factorial by numeric", "SELECT 9999999999999999999999999999999999999::numeric * 99999999999999::numeric".to_owned()),
        ("many rows returned", "SELECT repeat('x', 1000) FROM generate_series(1, 1000000)".to_owned()),
        ("copy of many rows", "COPY (SELECT repeat('x', 1000) FROM generate_series(1, 1000000)) TO STDOUT".to_owned()),
        ("text doubled in a loop", doing("t text := 'x';", "LOOP t := t || t; END LOOP;")),
        ("text doubled by concat", doing("t text := 'x';", "LOOP t := concat(t, t); END LOOP;")),
        ("text grown slowly", doing("t text := '';", "LOOP t := t || 'x'; END LOOP;")),
        ("json grown slowly", doing("j jsonb := '[]';", "LOOP j := j || '[1]'; END LOOP;")),
        ("json doubled in a loop", doing("j jsonb := '[1]';", "LOOP j := jsonb_build_array(j, j); END LOOP;")),
        ("array grown slowly", doing("a integer[] := '{}';", "LOOP a := a || 1; END LOOP;")),
        ("array of texts grown", doing("a text[] := '{}';", "LOOP a := a || repeat('x', 1000000); END LOOP;")),
        ("notices without end", doing("", "LOOP RAISE NOTICE '%', repeat('x', 10000); END LOOP;")),
        ("an endless loop", doing("", "LOOP NULL; END LOOP;")),
        ("an endless loop of LIKE", doing("b boolean;", "LOOP b := repeat('x', 100000) LIKE repeat('%x', 1000) || 'y'; END LOOP;")),
        ("an endless loop of reads", doing("i integer;", "LOOP SELECT n INTO i FROM bystander WHERE id = 6; END LOOP;")),
        ("an endless loop of changes", doing("", "LOOP UPDATE bystander SET n = n + 1 WHERE id = 6; END LOOP;")),
        ("an exception", doing("t text;", "t := repeat('x', 100000000); RAISE EXCEPTION '% %', t, t;")),
        ("rows returned", format!(
            "CREATE OR REPLACE FUNCTION grown() RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1..100000 LOOP RETURN NEXT {million}; END LOOP; END $$; SELECT count(*) FROM grown()"
        )),
        ("json_each of a number", "SELECT json_each(1)".to_owned()),
        ("jsonb_array_elements of a number", "SELECT jsonb_array_elements(1)".to_owned()),
        ("jsonb_object_keys of a number", "SELECT * FROM jsonb_object_keys(1)".to_owned()),
        ("date_trunc of two times", "SELECT date_trunc(now(), now())".to_owned()),
        ("unnest of a number", "SELECT unnest(1)".to_owned()),
        ("array_length of a number", "SELECT array_length(1, 1)".to_owned()),
        ("a statement beyond a message", format!("SELECT '{}'", "x".repeat(20 << 20))),
        ("heap doubled", "INSERT INTO heap SELECT g, repeat('x', 1000) FROM generate_series(1, 20000) g; DELETE FROM heap".to_owned()),
        ("heap beyond memory", "INSERT INTO heap SELECT g, repeat('x', 1000) FROM generate_series(1, 100000000) g".to_owned()),
        ("one insert of a long value", "INSERT INTO heap VALUES (1, repeat('x', 500000000)); DELETE FROM heap".to_owned()),
        ("sleep", "SELECT pg_sleep(3600)".to_owned()),
        ("a lock nobody gives", "SELECT pg_advisory_lock(1), pg_advisory_lock(1), pg_advisory_unlock_all()".to_owned()),
        ("EXPLAIN of a chain", put("EXPLAIN {}", &grown("with", 3_000))),
        ("EXPLAIN of a doubled chain", put("EXPLAIN {}", &grown("with twice", 30))),
        ("EXPLAIN of many unions", put("EXPLAIN {}", &grown("union", 45_000))),
        ("many unions", grown("union", 45_000)),
        ("many excepts", grown("except", 45_000)),
        ("a chain", grown("with", 3_000)),
        ("a procedure of many ELSIFs", put(growth::frames(Kind::Body)[1], &grown("elsif", 10_000))),
        ("a procedure of many statements", put(growth::frames(Kind::Body)[1], &grown("updates", 10_000))),
    ];
    named.into_iter().map(|(name, text)| Input::script(name, &text))
}

/// A production's text by its name.
fn grown(name: &str, size: usize) -> String {
    let production = PRODUCTIONS.iter().find(|production| production.name == name);
    production.expect("there is one").grow(size, "1")
}
