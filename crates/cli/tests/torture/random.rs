//! Texts and messages by chance: productions of the [grammar](crate::growth) inside one another,
//! and functions of everything around values that are as large as may be.
//!
//! Role         says what to send; the same from the same seed. What becomes of it is for others to
//!              see
//! Source       grammar fuzzers that go by growth, as AFL's dictionaries do not: what hurts a
//!              server is seldom a wrong text, and mostly a right one that is there many times

use crate::growth::{self, Kind, PRODUCTIONS, Production};
use crate::inputs::{Input, put};
use crate::protocol;

/// Longer texts are refused whole.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Productions inside one another.
const DEPTH_MAX: usize = 4;

/// Numbers by chance (xorshift64*).
pub struct Random(u64);

impl Random {
    /// Those of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Below a number that is not 0.
    fn below(&mut self, most: usize) -> usize {
        (self.next() >> 16) as usize % most
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    /// A size: as often between 1 and 10 as between 1,000 and 10,000.
    fn size(&mut self, most: usize) -> usize {
        let digits = self.below(most.ilog10() as usize + 1) as u32;
        (1 + self.below(9)) * 10_usize.pow(digits)
    }
}

/// Values: small ones, ends of ranges, and large ones.
const VALUES: &[&str] = &[
    "1",
    "0",
    "-1",
    "NULL",
    "2147483647",
    "9223372036854775807",
    "-9223372036854775808",
    "1.5",
    "1e300::float8",
    "99999999999999999999999999999999999999::numeric",
    "'x'",
    "''",
    "'%'",
    "'(a|b)*c'",
    "'{1,2,3}'::integer[]",
    "'{\"a\": [1, 2, {\"b\": null}]}'::jsonb",
    "'[1, [2, [3]]]'::json",
    "true",
    "now()",
    "interval '1 day'",
    "current_date",
    "repeat('x', {n})",
    "repeat('xy,', {n})",
    "repeat('a', {n}) || 'b'",
    "repeat('[', {n}) || repeat(']', {n})",
    "('[' || repeat('1,', {n}) || '1]')::jsonb",
    "string_to_array(repeat('x,', {n}), ',')",
    "array_fill(1, ARRAY[{n}])",
    "(SELECT array_agg(g) FROM generate_series(1, {n}) g)",
    "(SELECT string_agg('x', ',') FROM generate_series(1, {n}) g)",
    "(SELECT count(*) FROM generate_series(1, {n}) a, generate_series(1, {n}) b)",
    "(SELECT max(n) FROM bystander)",
    "decode(repeat('ff', {n}), 'hex')",
];

/// Functions, operators and forms; `{a}` is any expression, `{n}` a number.
const FORMS: &[&str] = &[
    "replace(({a})::text, 'x', ({a})::text)",
    "replace(({a})::text, ({a})::text, 'yy')",
    "repeat(({a})::text, {n})",
    "lpad(({a})::text, {n}, ({a})::text)",
    "rpad(({a})::text, {n}, 'xy')",
    "concat({a}, {a}, {a})",
    "concat_ws(({a})::text, {a}, {a})",
    "(({a})::text || ({a})::text)",
    "translate(({a})::text, ({a})::text, 'xyz')",
    "strpos(({a})::text, ({a})::text)",
    "split_part(({a})::text, ({a})::text, {n})",
    "split_part(({a})::text, ',', -{n})",
    "substr(({a})::text, {n})",
    "left(({a})::text, {n})",
    "reverse(({a})::text)",
    "upper(({a})::text)",
    "md5(({a})::text)",
    "length(({a})::text)",
    "ascii(({a})::text)",
    "quote_literal(({a})::text)",
    "quote_ident(({a})::text)",
    "format('%s %L %I', {a}, {a}, ({a})::text)",
    "(({a})::text LIKE ({a})::text)",
    "(({a})::text ILIKE '%' || ({a})::text)",
    "(({a})::text ~ 'x+y*')",
    "(({a})::text ~ '(a|b)*a(a|b){30}')",
    "(({a})::text ~ ({a})::text)",
    "regexp_replace(({a})::text, 'x', ({a})::text, 'g')",
    "regexp_replace(({a})::text, '(a*)*b', '\\1\\1', 'g')",
    "string_to_array(({a})::text, ',')",
    "array_to_string(string_to_array(({a})::text, 'x'), ({a})::text)",
    "array_length(string_to_array(({a})::text, 'x'), 1)",
    "array_position(string_to_array(({a})::text, ','), ({a})::text)",
    "(string_to_array(({a})::text, ',') || string_to_array(({a})::text, 'x'))",
    "ARRAY[({a})::text, ({a})::text]",
    "jsonb_build_array({a}, {a})",
    "jsonb_build_object('k', {a}, 'l', {a})",
    "to_jsonb(({a})::text)",
    "(to_jsonb({a}) || to_jsonb({a}))",
    "(({a})::text)::jsonb",
    "jsonb_pretty(to_jsonb({a}))",
    "jsonb_array_length(jsonb_build_array({a}, {a}))",
    "jsonb_set(jsonb_build_object('k', {a}), '{k}', to_jsonb({a}))",
    "coalesce(({a})::text, ({a})::text)",
    "greatest(({a})::text, ({a})::text)",
    "CASE WHEN ({a}) IS NULL THEN ({a})::text ELSE ({a})::text END",
    "(({a}) IS NOT DISTINCT FROM ({a}))",
    "(({a})::text IN (({a})::text, ({a})::text))",
    "(({a})::text = ANY (string_to_array(({a})::text, ',')))",
    "(SELECT count(*) FROM ({q}) z)",
    "ARRAY(SELECT z.* FROM ({q}) z)",
    "EXISTS ({q})",
    "power(({n})::numeric, {n})",
    "round(({a})::text::numeric, {n})",
    "date_trunc('day', now() + interval '1 day' * {n})",
    "to_char(now(), ({a})::text)",
    "(({a})::text)::bytea",
    "encode(decode(md5(({a})::text), 'hex'), 'base64')",
];

/// Queries; `{q}` is any query.
const QUERIES: &[&str] = &[
    "SELECT ({a}) AS k",
    "SELECT ({a}) AS k FROM generate_series(1, {n}) g",
    "SELECT g, ({a})::text AS k FROM generate_series(1, {n}) g",
    "SELECT n FROM bystander WHERE ({a}) IS NOT NULL",
    "SELECT * FROM ({q}) d",
    "({q}) UNION ALL ({q})",
    "({q}) UNION ({q})",
    "({q}) EXCEPT ALL ({q})",
    "WITH w AS ({q}) SELECT a.* FROM w a, w b",
    "WITH w AS ({q}), v AS (SELECT a.* FROM w a, w b) SELECT count(*) FROM v a, v b",
    "SELECT count(*) FROM ({q}) a, ({q}) b",
    "SELECT DISTINCT d.* FROM ({q}) d",
    "SELECT d.*, row_number() OVER (ORDER BY ({a})::text) FROM ({q}) d",
    "SELECT count(*), ({a})::text AS k FROM ({q}) d GROUP BY 2",
    "SELECT array_agg(({a})::text) FROM ({q}) d",
    "SELECT string_agg(({a})::text, ({a})::text) FROM ({q}) d",
    "SELECT jsonb_agg(({a})::text) FROM ({q}) d",
    "SELECT d.* FROM ({q}) d ORDER BY ({a})::text DESC LIMIT {n} OFFSET {n}",
    "SELECT d.* FROM ({q}) d LEFT JOIN ({q}) e ON true",
    "SELECT l.* FROM ({q}) d, LATERAL ({q}) l",
    "SELECT unnest(string_to_array(({a})::text, ','))",
    "SELECT regexp_split_to_table(({a})::text, ',')",
    "SELECT regexp_matches(({a})::text, 'x', 'g')",
    "SELECT jsonb_array_elements(jsonb_build_array({a}, {a}))",
    "WITH RECURSIVE r AS (SELECT 1 AS k UNION ALL SELECT k + 1 FROM r WHERE k < {n}) \
     SELECT ({a}) FROM r",
    "WITH RECURSIVE r AS (SELECT ({a})::text AS k UNION ALL SELECT k || k FROM r) \
     SELECT length(k) FROM r",
    "VALUES (({a})::text), (({a})::text)",
];

/// Statements of PL/pgSQL; `{b}` is one of them, or many.
const BODIES: &[&str] = &[
    "t := ({a})::text;",
    "t := t || ({a})::text;",
    "t := concat(t, t);",
    "t := replace(t, 'x', ({a})::text);",
    "j := to_jsonb({a});",
    "j := jsonb_build_array(j, j);",
    "a := a || a;",
    "a := array_append(a, {n});",
    "i := (SELECT count(*) FROM ({q}) z);",
    "UPDATE bystander SET n = n + 1 WHERE id = 3;",
    "INSERT INTO heap VALUES ({n}, ({a})::text);",
    "INSERT INTO heap SELECT h.k, h.v FROM heap h;",
    "DELETE FROM heap;",
    "RAISE NOTICE '%', ({a})::text;",
    "PERFORM ({a});",
    "FOR k IN 1..{n} LOOP {b} END LOOP;",
    "FOR r IN {q} LOOP {b} END LOOP;",
    "WHILE i < {n} LOOP i := i + 1; {b} END LOOP;",
    "IF ({a}) IS NULL THEN {b} ELSE {b} END IF;",
    "BEGIN {b} EXCEPTION WHEN OTHERS THEN {b} END;",
    "{b} {b}",
    "RAISE EXCEPTION '%', ({a})::text;",
];

/// Statements.
const STATEMENTS: &[&str] = &[
    "{q}",
    "EXPLAIN {q}",
    "COPY ({q}) TO STDOUT",
    "CREATE VIEW grown_view AS {q}",
    "INSERT INTO heap SELECT 1, ({a})::text FROM ({q}) d",
    "UPDATE bystander SET n = n WHERE id = 5 AND ({a}) IS NULL",
    "UPDATE heap SET v = ({a})::text",
    "DELETE FROM heap WHERE v = ({a})::text",
    "DO $g$ DECLARE i integer := 1; t text := 'x'; j jsonb := '[1]'; a integer[] := '{1}'; \
     r record; BEGIN {b} END $g$",
    "CREATE OR REPLACE PROCEDURE grown_body() LANGUAGE plpgsql AS $g$ \
     DECLARE i integer := 1; t text := 'x'; j jsonb := '[1]'; a integer[] := '{1}'; r record; \
     BEGIN {b} END $g$; CALL grown_body()",
    "CREATE OR REPLACE FUNCTION grown() RETURNS SETOF text LANGUAGE plpgsql AS $g$ \
     DECLARE i integer := 1; t text := 'x'; j jsonb := '[1]'; a integer[] := '{1}'; r record; \
     BEGIN {b} RETURN NEXT ({a})::text; RETURN NEXT t; END $g$; SELECT count(*) FROM grown()",
    "BEGIN; {s}; {s}; ROLLBACK",
    "BEGIN; SAVEPOINT s; {s}; ROLLBACK TO s; {s}; COMMIT",
    "PREPARE grown AS {q}; EXECUTE grown; DEALLOCATE grown",
    "BEGIN; DECLARE c CURSOR FOR {q}; FETCH {n} FROM c; FETCH ALL FROM c; ROLLBACK",
    "{s}; {s}",
];

/// An input of a number, by a seed.
pub fn input(seed: u64, number: u64) -> Input {
    let mut random = Random::new(seed ^ number.wrapping_mul(0x0001_0000_0001));
    random.next();
    let name = format!("random {seed} {number}");
    if random.below(5) == 0 {
        return messages(&mut random, name);
    }
    Input::script(name, &text(&mut random))
}

/// A script that is not too long.
fn text(random: &mut Random) -> String {
    loop {
        let text = made(random, Kind::Script, DEPTH_MAX);
        if text.len() < TEXT_BYTES_MAX {
            return text;
        }
    }
}

/// A text of a kind, by one of its ways: a production of the grammar, or a form.
fn made(random: &mut Random, kind: Kind, depth: usize) -> String {
    if depth == 0 {
        let leaf = match kind {
            Kind::Expression => random.of(VALUES),
            Kind::Query => "SELECT g AS k FROM generate_series(1, {n}) g",
            Kind::Body => "i := i + 1;",
            Kind::Statement | Kind::Script => "SELECT 1",
        };
        return filled(random, leaf, 0);
    }
    if random.below(4) == 0
        && let Some(grown) = grown(random, kind, depth)
    {
        return grown;
    }
    let form = match kind {
        Kind::Expression if random.below(3) == 0 => random.of(VALUES),
        Kind::Expression => random.of(FORMS),
        Kind::Query => random.of(QUERIES),
        Kind::Body => random.of(BODIES),
        Kind::Statement | Kind::Script => random.of(STATEMENTS),
    };
    filled(random, form, depth - 1)
}

/// A form with something in each of its places.
fn filled(random: &mut Random, form: &str, depth: usize) -> String {
    let mut text = String::new();
    let mut rest = form;
    while let Some(at) = rest.find('{') {
        text.push_str(&rest[..at]);
        let place = rest.get(at..at + 3).unwrap_or_default();
        let kind = match place {
            "{a}" => Some(Kind::Expression),
            "{q}" => Some(Kind::Query),
            "{b}" => Some(Kind::Body),
            "{s}" => Some(Kind::Statement),
            _ => None,
        };
        match (kind, place) {
            (Some(kind), _) => text.push_str(&made(random, kind, depth)),
            (None, "{n}") => text.push_str(&random.size(9_999_999).to_string()),
            _ => {
                text.push('{');
                rest = &rest[at + 1..];
                continue;
            }
        }
        rest = &rest[at + 3..];
    }
    text + rest
}

/// A production of the grammar, in a frame where that makes it what is wanted.
fn grown(random: &mut Random, wanted: Kind, depth: usize) -> Option<String> {
    let of_kind: Vec<&Production> =
        PRODUCTIONS.iter().filter(|production| production.kind == wanted).collect();
    let (production, framed) = match wanted {
        Kind::Statement | Kind::Script => (&PRODUCTIONS[random.below(PRODUCTIONS.len())], true),
        _ => (*of_kind.get(random.below(of_kind.len().max(1)))?, false),
    };
    let expression = made(random, Kind::Expression, depth.saturating_sub(2));
    let size = random.size(if expression.len() > 20 { 99 } else { 9_999 });
    let text = production.grow(size, &expression);
    Some(match framed {
        true => put(random.of(growth::frames(production.kind)), &text),
        false => text,
    })
}

/// Messages of the extended protocol, each some times, with a Sync here and there and at the end.
fn messages(random: &mut Random, name: String) -> Input {
    let (mut bytes, mut answers) = (Vec::new(), 0);
    for _ in 0..1 + random.below(12) {
        let message = one_message(random);
        let most = ((4 << 20) / message.len().max(1)).clamp(1, 20_000);
        let times = if random.below(3) == 0 { random.size(20_000).min(most) } else { 1 };
        (0..times).for_each(|_| bytes.extend_from_slice(&message));
        if random.below(4) == 0 {
            bytes.extend(protocol::sync());
            answers += 1;
        }
    }
    bytes.extend(protocol::sync());
    Input { name, bytes, answers: answers + 1 }
}

fn one_message(random: &mut Random) -> Vec<u8> {
    let statement = random.of(&["", "s", "t"]);
    let portal = random.of(&["", "p"]);
    match random.below(10) {
        0 | 1 => protocol::parse(statement, &made(random, Kind::Query, 2)),
        2 => protocol::parse(statement, "SELECT length($1::text) + cardinality($2::integer[])"),
        3 => {
            let value = random.of(&["1", "x", "{1,2}", "[1]", ""]);
            let long = value.repeat(random.size(999_999) / value.len().max(1));
            let count = random.size(99) as u16;
            match long.len() * usize::from(count) < 8 << 20 {
                true => protocol::bind_values(count, long.as_bytes()),
                false => protocol::bind_values(1, long.as_bytes()),
            }
        }
        4 | 5 => protocol::bind(portal, statement),
        6 | 7 => protocol::execute(portal),
        8 => crate::raw::message(b'D', &[b"S", statement.as_bytes(), b"\0"].concat()),
        _ => crate::raw::message(b'C', &[b"P", portal.as_bytes(), b"\0"].concat()),
    }
}
