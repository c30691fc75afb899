//! A grammar whose every production grows: it is repeated, nested, chained or doubled.
//!
//! Role         makes texts that are large in one respect, of SQL, PL/pgSQL and scripts; what
//!              becomes of them is for the others to see. Small faults of syntax are another
//!              fuzzer's (`crates/sql/tests/mutation`)
//! Source       statements of each kind that PostgreSQL 15 accepts when they are short

use Kind::{Body, Expression, Query, Script, Statement};

/// What a text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// a value, of any type
    Expression,
    /// what gives rows
    Query,
    /// what else can be sent
    Statement,
    /// statements of PL/pgSQL; variables `i integer`, `t text`, `j jsonb`, `a integer[]`
    Body,
    /// statements with semicolons between them
    Script,
}

/// How a production makes a text from a smaller one.
#[derive(Clone, Copy, Debug)]
enum Growth {
    /// `open`, so many units with `between` between them, `close`
    Repeat { open: &'static str, unit: &'static str, between: &'static str, close: &'static str },
    /// so many times `open` before the middle, so many times `close` behind it
    Nest { open: &'static str, middle: &'static str, close: &'static str },
    /// `first`, then links, each of which names the one before it, then `last`: `{n}` is a link's
    /// number, `{p}` that of the one before it, `{m}` behind the links that of the last one
    Chain { first: &'static str, link: &'static str, last: &'static str },
}

/// One production.
#[derive(Clone, Copy, Debug)]
pub struct Production {
    /// its name
    pub name: &'static str,
    /// what it makes
    pub kind: Kind,
    growth: Growth,
    /// how often it grows at most in the list of all productions
    sizes: &'static [usize],
}

/// Long, but for what costs little a unit.
const LONG: &[usize] = &[300, 20_000];
/// Deep: within the bounds of a stack, beyond them, and far beyond.
const DEEP: &[usize] = &[40, 3_000, 60_000];
/// Each step makes twice as much of what was there.
const DOUBLED: &[usize] = &[12, 40];
/// What a unit takes long for.
const FEW: &[usize] = &[50, 2_000];

const fn repeat(
    name: &'static str,
    kind: Kind,
    [open, unit, between, close]: [&'static str; 4],
    sizes: &'static [usize],
) -> Production {
    Production { name, kind, growth: Growth::Repeat { open, unit, between, close }, sizes }
}

const fn nest(
    name: &'static str,
    kind: Kind,
    [open, middle, close]: [&'static str; 3],
) -> Production {
    Production { name, kind, growth: Growth::Nest { open, middle, close }, sizes: DEEP }
}

const fn chain(
    name: &'static str,
    kind: Kind,
    [first, link, last]: [&'static str; 3],
    sizes: &'static [usize],
) -> Production {
    Production { name, kind, growth: Growth::Chain { first, link, last }, sizes }
}

/// All productions. `{x}` is 1, or any other expression.
pub const PRODUCTIONS: &[Production] = &[
    repeat("sum", Expression, ["", "{x}", " + ", ""], LONG),
    repeat("product", Expression, ["", "{x}", " * ", ""], LONG),
    repeat("and", Expression, ["", "({x} = 1)", " AND ", ""], LONG),
    repeat("or", Expression, ["", "({x} = 2)", " OR ", ""], LONG),
    repeat("concatenation", Expression, ["", "'x'", " || ", ""], LONG),
    repeat("comparison list", Expression, ["1 IN (", "{x}", ", ", ")"], LONG),
    repeat("array", Expression, ["ARRAY[", "1", ", ", "]"], LONG),
    repeat("arguments", Expression, ["concat(", "{x}", ", ", ")"], LONG),
    repeat("greatest", Expression, ["greatest(", "1", ", ", ")"], LONG),
    repeat("coalesce", Expression, ["coalesce(", "NULL", ", ", ", 1)"], LONG),
    repeat("cases", Expression, ["CASE", " WHEN 1 = 2 THEN 1", "", " ELSE 2 END"], LONG),
    repeat("casts", Expression, ["1", "::integer", "", ""], LONG),
    repeat("subscripts", Expression, ["(ARRAY[1])", "[1]", "", ""], LONG),
    repeat("json path", Expression, ["'{}'::jsonb", " -> 'a'", "", ""], LONG),
    repeat("json object", Expression, ["jsonb_build_object(", "'k', 1", ", ", ")"], LONG),
    repeat("json text", Expression, ["'[", "1", ",", "]'::jsonb"], LONG),
    repeat("array text", Expression, ["'{", "1", ",", "}'::integer[]"], LONG),
    repeat("digits", Expression, ["", "9", "", "::numeric"], LONG),
    repeat("fraction", Expression, ["1.", "9", "", "::numeric"], LONG),
    repeat("long text", Expression, ["length('", "x", "", "')"], LONG),
    repeat("like wildcards", Expression, ["repeat('x', 20000) LIKE '", "%x", "", "y'"], LONG),
    repeat("regexp alternatives", Expression, ["'x' ~ '", "a", "|", "'"], LONG),
    repeat("regexp groups", Expression, ["'x' ~ '", "(a?)", "", "'"], LONG),
    nest("parentheses", Expression, ["(", "{x}", ")"]),
    nest("minus", Expression, ["- ", "1", ""]),
    nest("not", Expression, ["NOT ", "({x} = 1)", ""]),
    nest("calls", Expression, ["abs(", "{x}", ")"]),
    nest("case in case", Expression, ["CASE WHEN true THEN ", "{x}", " END"]),
    nest("case in condition", Expression, ["CASE WHEN 1 = ", "{x}", " THEN 1 END"]),
    nest("scalar subqueries", Expression, ["(SELECT ", "{x}", ")"]),
    nest("exists", Expression, ["EXISTS (SELECT 1 WHERE ", "true", ")"]),
    nest("arrays in arrays", Expression, ["ARRAY[", "1", "]"]),
    nest("json in json", Expression, ["jsonb_build_array(", "1", ")"]),
    nest("json text in json text", Expression, ["", "'[1]'::jsonb", ""]),
    nest("rows", Expression, ["ROW(", "1", ")"]),
    nest("casts in casts", Expression, ["CAST(", "{x}", " AS integer)"]),
    nest("comments", Expression, ["/* ", "x", " */ 1"]),
    nest("in subqueries", Expression, ["1 IN (SELECT ", "1", ")"]),
    nest("regexp nests", Expression, ["", "'x' ~ '((((((((a))))))))'", ""]),
    repeat("union", Query, ["", "SELECT 1", " UNION ", ""], LONG),
    repeat("union all", Query, ["", "SELECT 1", " UNION ALL ", ""], LONG),
    repeat("except", Query, ["", "SELECT 1", " EXCEPT ", ""], LONG),
    repeat("intersect", Query, ["", "SELECT 1", " INTERSECT ALL ", ""], LONG),
    repeat("values", Query, ["VALUES ", "(1)", ", ", ""], LONG),
    repeat("select list", Query, ["SELECT ", "1", ", ", ""], LONG),
    repeat("stars", Query, ["SELECT ", "*", ", ", " FROM bystander"], FEW),
    repeat("cross joins", Query, ["SELECT 1 FROM ", "(SELECT 1) x", ", ", ""], FEW),
    repeat("joins", Query, ["SELECT 1 FROM bystander", " JOIN bystander USING (id)", "", ""], FEW),
    repeat(
        "left joins",
        Query,
        ["SELECT 1 FROM (SELECT 1 AS k) x", " LEFT JOIN (SELECT 1 AS k) y USING (k)", "", ""],
        FEW,
    ),
    repeat("order by", Query, ["SELECT 1 AS k FROM bystander ORDER BY ", "id", ", ", ""], LONG),
    repeat("group by", Query, ["SELECT 1 FROM bystander GROUP BY ", "id", ", ", ""], LONG),
    repeat(
        "windows",
        Query,
        ["SELECT ", "sum(n) OVER (ORDER BY id)", ", ", " FROM bystander"],
        FEW,
    ),
    repeat("aggregates", Query, ["SELECT ", "sum(n + id)", ", ", " FROM bystander"], FEW),
    repeat("conditions", Query, ["SELECT 1 FROM bystander WHERE ", "id = 1", " AND ", ""], LONG),
    repeat("keys", Query, ["SELECT n FROM bystander WHERE id IN (", "1", ", ", ")"], LONG),
    repeat(
        "tuples",
        Query,
        ["SELECT n FROM bystander WHERE (id, n) IN (", "(1, 1)", ", ", ")"],
        FEW,
    ),
    nest("derived tables", Query, ["SELECT * FROM (", "SELECT 1 AS k", ") d"]),
    nest("derived in parentheses", Query, ["(", "SELECT 1", ")"]),
    nest("union in union", Query, ["SELECT 1 UNION (", "SELECT 1", ")"]),
    nest("with in with", Query, ["WITH a AS (", "SELECT 1", ") SELECT * FROM a"]),
    nest("correlated", Query, ["SELECT id FROM bystander o WHERE id IN (", "SELECT 1", ")"]),
    nest("lateral", Query, ["SELECT * FROM bystander b, LATERAL (", "SELECT 1 AS k", ") l"]),
    nest(
        "joins in parentheses",
        Query,
        ["SELECT 1 FROM (SELECT 1) a CROSS JOIN (", "SELECT 1", ") b"],
    ),
    chain(
        "with",
        Query,
        ["WITH c0 AS (SELECT 1 AS k)", ", c{n} AS (SELECT * FROM c{p})", " SELECT * FROM c{m}"],
        FEW,
    ),
    chain(
        "with twice",
        Query,
        [
            "WITH c0 AS (SELECT 1 AS k)",
            ", c{n} AS (SELECT a.k FROM c{p} a, c{p} b)",
            " SELECT count(*) FROM c{m}",
        ],
        DOUBLED,
    ),
    chain(
        "with all twice",
        Query,
        [
            "WITH c0 AS (SELECT 1 AS k)",
            ", c{n} AS (SELECT * FROM c{p} UNION ALL SELECT * FROM c{p})",
            " SELECT count(*) FROM c{m}",
        ],
        DOUBLED,
    ),
    chain(
        "text doubled with with",
        Query,
        [
            "WITH c0 AS (SELECT 'xxxxxxxx' AS k)",
            ", c{n} AS (SELECT k || k AS k FROM c{p})",
            " SELECT length(k) FROM c{m}",
        ],
        DOUBLED,
    ),
    chain(
        "json doubled with with",
        Query,
        [
            "WITH c0 AS (SELECT '[1,2]'::jsonb AS k)",
            ", c{n} AS (SELECT jsonb_build_array(k, k) AS k FROM c{p})",
            " SELECT 1 FROM c{m} WHERE k IS NOT NULL",
        ],
        DOUBLED,
    ),
    chain(
        "arrays doubled with with",
        Query,
        [
            "WITH c0 AS (SELECT ARRAY[1,2] AS k)",
            ", c{n} AS (SELECT k || k AS k FROM c{p})",
            " SELECT array_length(k, 1) FROM c{m}",
        ],
        DOUBLED,
    ),
    chain(
        "laterals",
        Query,
        [
            "SELECT 1 FROM (SELECT 1 AS k) l0",
            ", LATERAL (SELECT l{p}.k + 1 AS k) l{n}",
            " WHERE l{m}.k > 0",
        ],
        FEW,
    ),
    repeat("rows inserted", Statement, ["INSERT INTO heap VALUES ", "(1, 'x')", ", ", ""], LONG),
    repeat("columns", Statement, ["CREATE TABLE grown (", "c{n} integer", ", ", ")"], FEW),
    repeat("checks", Statement, ["CREATE TABLE grown (a integer", ", CHECK (a > 0)", "", ")"], FEW),
    repeat(
        "parameters",
        Statement,
        [
            "CREATE FUNCTION grown(",
            "p{n} integer",
            ", ",
            ") RETURNS integer LANGUAGE plpgsql AS $b$ BEGIN RETURN 1; END $b$",
        ],
        FEW,
    ),
    repeat("dropped", Statement, ["DROP TABLE IF EXISTS ", "nothing{n}", ", ", ""], LONG),
    repeat("truncated", Statement, ["TRUNCATE ", "heap", ", ", ""], LONG),
    repeat("set", Statement, ["UPDATE heap SET ", "k = 1", ", ", ""], FEW),
    repeat("returning", Statement, ["UPDATE heap SET k = 1 RETURNING ", "k", ", ", ""], LONG),
    repeat("statements", Body, ["", "i := {x};", " ", ""], LONG),
    repeat(
        "elsif",
        Body,
        ["IF i = 1 THEN i := 2;", " ELSIF i = 3 THEN i := 4;", "", " END IF;"],
        LONG,
    ),
    repeat(
        "case statement",
        Body,
        ["CASE i", " WHEN 1 THEN i := 2;", "", " ELSE i := 3; END CASE;"],
        LONG,
    ),
    repeat("raises", Body, ["", "RAISE NOTICE '%', repeat('x', 1000);", " ", ""], FEW),
    repeat("updates", Body, ["", "UPDATE bystander SET n = n + 1 WHERE id = 3;", " ", ""], FEW),
    nest("blocks", Body, ["BEGIN ", "i := 1;", " END; "]),
    nest("ifs", Body, ["IF true THEN ", "i := 1;", " END IF; "]),
    nest("else ifs", Body, ["IF i = 7 THEN i := 1; ELSE ", "i := 1;", " END IF; "]),
    nest("loops", Body, ["FOR k IN 1..1 LOOP ", "i := 1;", " END LOOP; "]),
    nest("loops twice", Body, ["FOR k IN 1..2 LOOP ", "i := i + 1;", " END LOOP; "]),
    nest(
        "loops over rows",
        Body,
        ["FOR i IN SELECT b.id FROM bystander b WHERE b.id = 1 LOOP ", "NULL;", " END LOOP; "],
    ),
    repeat("text doubled", Body, ["t := 'xxxxxxxx';", " t := t || t;", "", ""], DOUBLED),
    repeat(
        "text concatenated",
        Body,
        ["t := 'xxxxxxxx';", " t := concat(t, t, t);", "", ""],
        DOUBLED,
    ),
    repeat("text replaced", Body, ["t := 'xx';", " t := replace(t, 'x', 'xx');", "", ""], DOUBLED),
    repeat(
        "text padded",
        Body,
        ["t := 'xx';", " t := lpad(t, length(t) * 2, t);", "", ""],
        DOUBLED,
    ),
    repeat(
        "json doubled",
        Body,
        ["j := '[1]';", " j := jsonb_build_array(j, j);", "", ""],
        DOUBLED,
    ),
    repeat("arrays doubled", Body, ["a := ARRAY[1];", " a := a || a;", "", ""], DOUBLED),
    repeat(
        "rows doubled",
        Body,
        [
            "INSERT INTO heap VALUES (1, 'x');",
            " INSERT INTO heap SELECT h.k, h.v FROM heap h;",
            "",
            "",
        ],
        DOUBLED,
    ),
    repeat("queries", Script, ["", "SELECT 1", "; ", ""], LONG),
    repeat("empty statements", Script, ["", ";", "", ""], LONG),
    repeat("savepoints", Script, ["BEGIN; ", "SAVEPOINT s", "; ", "; ROLLBACK"], LONG),
    repeat(
        "savepoints with changes",
        Script,
        ["BEGIN; ", "SAVEPOINT s; UPDATE bystander SET n = n + 1 WHERE id = 4", "; ", "; ROLLBACK"],
        FEW,
    ),
    repeat("prepared", Script, ["", "PREPARE p{n} AS SELECT {n}", "; ", "; DEALLOCATE ALL"], FEW),
    repeat(
        "cursors",
        Script,
        ["BEGIN; ", "DECLARE c{n} CURSOR FOR SELECT {n}", "; ", "; ROLLBACK"],
        FEW,
    ),
    repeat("settings", Script, ["", "SET application_name = 'x{n}'", "; ", "; RESET ALL"], FEW),
    repeat(
        "tables made and dropped",
        Script,
        ["", "CREATE TABLE grown (a integer PRIMARY KEY, b text); DROP TABLE grown", "; ", ""],
        &[20, 200],
    ),
    repeat(
        "functions replaced",
        Script,
        [
            "",
            "CREATE OR REPLACE FUNCTION grown() RETURNS integer LANGUAGE plpgsql AS \
         $b$ BEGIN RETURN {n}; END $b$",
            "; ",
            "; DROP FUNCTION grown",
        ],
        &[20, 200],
    ),
    chain(
        "views over views",
        Script,
        [
            "CREATE VIEW v0 AS SELECT 1 AS k",
            "; CREATE VIEW v{n} AS SELECT k FROM v{p}",
            "; SELECT * FROM v{m}; DROP VIEW v0 CASCADE",
        ],
        &[30, 300],
    ),
    chain(
        "views twice",
        Script,
        [
            "CREATE VIEW v0 AS SELECT 1 AS k",
            "; CREATE VIEW v{n} AS SELECT a.k FROM v{p} a, v{p} b",
            "; SELECT * FROM v{m}; DROP VIEW v0 CASCADE",
        ],
        DOUBLED,
    ),
    chain(
        "functions over functions",
        Script,
        [
            "CREATE FUNCTION f0() RETURNS integer LANGUAGE plpgsql AS $b$ BEGIN RETURN 1; END $b$",
            "; CREATE FUNCTION f{n}() RETURNS integer LANGUAGE plpgsql AS \
         $b$ DECLARE r integer; BEGIN SELECT f{p}() INTO r; RETURN r; END $b$",
            "; SELECT f{m}()",
        ],
        &[20],
    ),
    chain(
        "foreign keys",
        Script,
        [
            "CREATE TABLE k0 (id integer PRIMARY KEY); INSERT INTO k0 VALUES (1)",
            "; CREATE TABLE k{n} (id integer PRIMARY KEY REFERENCES k{p} ON DELETE CASCADE); \
         INSERT INTO k{n} VALUES (1)",
            "; DELETE FROM k0; DROP TABLE k0 CASCADE",
        ],
        &[20, 100],
    ),
];

impl Production {
    /// Its sizes in the list of all.
    pub fn sizes(&self) -> &'static [usize] {
        self.sizes
    }

    /// A text of so many units, with this expression where one can stand.
    pub fn grow(&self, size: usize, expression: &str) -> String {
        let filled = |text: &str| text.replace("{x}", expression);
        match self.growth {
            Growth::Repeat { open, unit, between, close } => {
                let unit = filled(unit);
                let units: Vec<String> = (1..=size).map(|n| numbered(&unit, n)).collect();
                format!("{open}{}{close}", units.join(between))
            }
            Growth::Nest { open, middle, close } => {
                format!("{}{}{}", open.repeat(size), filled(middle), close.repeat(size))
            }
            Growth::Chain { first, link, last } => {
                let links: String = (1..=size).map(|n| numbered(link, n)).collect();
                format!("{first}{links}{}", last.replace("{m}", &size.to_string()))
            }
        }
    }
}

fn numbered(text: &str, n: usize) -> String {
    if !text.contains('{') {
        return text.to_owned();
    }
    text.replace("{n}", &n.to_string()).replace("{p}", &(n - 1).to_string())
}

/// Ways to send a text of a kind, so that everything that handles it has to do with it; `{}` is its
/// place.
pub fn frames(kind: Kind) -> &'static [&'static str] {
    match kind {
        Expression => &[
            "SELECT {}",
            "EXPLAIN SELECT {}",
            "SELECT count(*) FROM bystander WHERE ({}) IS NOT NULL",
            "SELECT n FROM bystander ORDER BY ({})",
            "DO $g$ DECLARE t text; BEGIN t := {}; END $g$",
            "CREATE OR REPLACE FUNCTION grown() RETURNS text LANGUAGE plpgsql AS \
             $g$ BEGIN RETURN {}; END $g$",
            "UPDATE bystander SET n = n WHERE id = 5 AND ({}) IS NULL",
            "CREATE VIEW grown_view AS SELECT {} AS k",
        ],
        Query => &[
            "{}",
            "EXPLAIN {}",
            "CREATE VIEW grown_view AS {}",
            "SELECT count(*) FROM ({}) q",
            "COPY ({}) TO STDOUT",
            "DO $g$ DECLARE r record; BEGIN FOR r IN {} LOOP NULL; END LOOP; END $g$",
            "INSERT INTO heap SELECT 1, 'x' FROM ({}) q",
        ],
        Statement => &["{}", "EXPLAIN {}", "BEGIN; {}; ROLLBACK"],
        Body => &[
            "DO $g$ DECLARE i integer := 1; t text; j jsonb; a integer[]; BEGIN {} END $g$",
            "CREATE OR REPLACE PROCEDURE grown_body() LANGUAGE plpgsql AS $g$ \
             DECLARE i integer := 1; t text; j jsonb; a integer[]; BEGIN {} END $g$; \
             CALL grown_body()",
        ],
        Script => &["{}"],
    }
}
