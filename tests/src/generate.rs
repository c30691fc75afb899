//! Random procedures and calls: small, colliding on a few rows, over four fixed tables; with joins,
//! loops that are left early, blocks that catch, calls of each other, texts made at run time, and
//! triggers under them.
//!
//! Invariants   I1 every text compiles; a call may fail by a constraint or by RAISE, and is then
//!              undone
//!              I2 some texts say in which order rows are read and some do not: results depend on
//!              the database's state only, either way

mod control;
mod rows;
mod triggers;

use hotrow::Value;
use rand::Rng;
use rand::rngs::StdRng;

/// Tables that have every kind of index; keys are 0 to 5, so that calls collide.
const TABLES: &str = "
CREATE TABLE t (id bigint PRIMARY KEY, a bigint NOT NULL, b bigint UNIQUE,
                s text, CHECK (a < 1000));
CREATE INDEX t_a ON t (a);
CREATE TABLE u (k bigint, n bigint, v bigint, PRIMARY KEY (k, n));
CREATE INDEX u_v ON u (v);
CREATE TABLE h (id bigint PRIMARY KEY, next bigint NOT NULL, v bigint NOT NULL,
                code bigint UNIQUE) WITH (primary_index = hash);
CREATE INDEX h_next ON h USING hash (next);
CREATE TABLE l (n bigint, f double precision);
INSERT INTO t VALUES (0, 0, 10, 'zero'), (1, 1, 11, NULL), (2, 2, 12, 'two'), (3, 0, 13, '');
INSERT INTO u VALUES (0, 0, 0), (0, 1, 1), (1, 0, 2), (1, 1, NULL), (2, 0, 1), (2, 3, 5);
INSERT INTO h VALUES (0, 1, 0, 1), (1, 2, 1, 2), (2, 0, 2, NULL), (3, 3, 3, 4);
";

/// Columns of each procedure's result.
const RESULT: &str = "RETURNS TABLE (x bigint, y bigint, z bigint)";
/// Blocks in blocks, at most.
const DEPTH_MAX: usize = 2;
const SCALARS: [&str; 6] = ["p", "q", "x", "y", "z", "c"];

/// Functions that every script has: one that reads, for queries, and two that write.
const CALLED: &str = "
CREATE FUNCTION peek(k bigint) RETURNS bigint LANGUAGE sql AS $$
  SELECT max(u.v) FROM u WHERE u.k = $1 $$;
CREATE PROCEDURE pass(p bigint, INOUT z bigint) AS $$ BEGIN
  UPDATE u SET v = (coalesce(u.v, 0) + 1) % 6 WHERE u.k = p AND u.n = 0;
  IF NOT FOUND THEN SELECT h.v INTO z FROM h WHERE h.id = p; END IF;
END $$ LANGUAGE plpgsql;
";

/// Names of the functions in [`foundation`].
pub const FOUNDATION: [&str; 3] = ["peek", "pass", "one"];

/// Tables, rows and the functions that every random procedure may call.
pub fn foundation(random: &mut StdRng) -> String {
    [TABLES, CALLED, &one(random)].concat()
}

/// A whole script.
pub struct Script {
    /// its text
    pub text: String,
    /// its procedures for calls with [`arguments`] are `f0` to one less than this
    pub procedures: usize,
}

/// Random tables' triggers and procedures: everything that a random database is made with.
pub fn script(random: &mut StdRng) -> Script {
    let procedures = random.random_range(2..5);
    let mut text = foundation(random);
    for number in 0..procedures {
        text.push_str(&procedure(random, &format!("f{number}"), number));
    }
    if random.random_bool(0.5) {
        text.push_str(&triggers::triggers(random));
    }
    Script { text, procedures }
}

/// What a function gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// rows of three numbers
    Rows,
    /// one number
    One,
}

/// Writes one procedure.
struct Writer<'r> {
    random: &'r mut StdRng,
    text: String,
    kind: Kind,
    /// procedures `f0` to one less than this may be called
    before: usize,
    depth: usize,
    loops: usize,
    /// numbers of the loops around
    open: Vec<usize>,
}

/// The text of a random procedure with this name, with parameters `p`, `q` and `xs`, that may call
/// `before` earlier ones.
pub fn procedure(random: &mut StdRng, name: &str, before: usize) -> String {
    let mut writer = Writer { before, ..Writer::new(random, Kind::Rows) };
    writer.line(&format!("CREATE FUNCTION {name}(p bigint, q bigint, xs bigint[])"));
    writer.line(&format!("{RESULT} AS $$"));
    writer.line("DECLARE c bigint := 1; e bigint; w text; f double precision; r RECORD;");
    writer.line("BEGIN");
    writer.line("x := p; y := q; z := 0;");
    let statements = writer.random.random_range(2..7);
    (0..statements).for_each(|_| writer.statement());
    writer.line("RETURN NEXT;");
    writer.line("END $$ LANGUAGE plpgsql;");
    writer.text
}

/// The function `one`, which all procedures may call: it has no loops and calls none.
fn one(random: &mut StdRng) -> String {
    let mut writer = Writer { depth: DEPTH_MAX, ..Writer::new(random, Kind::One) };
    writer.line("CREATE FUNCTION one(p bigint) RETURNS bigint AS $$");
    writer.line("DECLARE q bigint := 1; x bigint := p; y bigint; z bigint := 0; c bigint;");
    writer.line("f double precision;");
    writer.line("BEGIN");
    (0..=writer.one_of(2)).for_each(|_| writer.statement());
    writer.line("RETURN x;");
    writer.line("END $$ LANGUAGE plpgsql;");
    writer.text
}

/// Random arguments of such a procedure.
pub fn arguments(random: &mut StdRng) -> Vec<Value> {
    let length = random.random_range(0..4);
    let xs = (0..length).map(|_| Value::BigInt(random.random_range(0..6))).collect();
    let mut scalar = || match random.random_range(0..20) {
        0 => Value::Null,
        _ => Value::BigInt(random.random_range(0..6)),
    };
    vec![scalar(), scalar(), Value::Array(xs)]
}

impl<'r> Writer<'r> {
    fn new(random: &'r mut StdRng, kind: Kind) -> Self {
        let (text, open) = (String::new(), Vec::new());
        Self { random, text, kind, before: 0, depth: 0, loops: 0, open }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn one_of(&mut self, of: u32) -> u32 {
        self.random.random_range(0..of)
    }

    fn scalar(&mut self) -> &'static str {
        SCALARS[self.random.random_range(0..SCALARS.len())]
    }

    /// A small number, NULL sometimes.
    fn value(&mut self) -> String {
        match self.one_of(8) {
            0 | 1 => self.one_of(6).to_string(),
            2 => format!("(coalesce({}, 3) + {}) % 6", self.scalar(), self.one_of(6)),
            3 => format!("abs({} - {}) % 6", self.scalar(), self.scalar()),
            _ => self.scalar().to_owned(),
        }
    }

    /// A small number that is never NULL.
    fn number(&mut self) -> String {
        format!("coalesce({}, {})", self.value(), self.one_of(6))
    }

    fn condition(&mut self) -> String {
        let (left, right) = (self.value(), self.value());
        match self.one_of(6) {
            0 => "FOUND".to_owned(),
            1 => format!("{left} = {right}"),
            2 => format!("{left} > {right} OR {right} IS NULL"),
            3 => format!("NOT ({left} < {right}) AND {left} <> 2"),
            4 => format!("{left} IS NOT NULL"),
            _ => format!("{left} <= {right}"),
        }
    }

    /// WHERE of table `t`.
    fn where_t(&mut self) -> String {
        let (one, other) = (self.value(), self.value());
        match self.one_of(8) {
            0 | 1 => format!("t.id = {one}"),
            2 => format!("t.b = 10 + {one}"),
            3 => format!("t.a = {one}"),
            4 => format!("t.a BETWEEN {one} AND {other}"),
            5 => format!("t.id >= {one} AND t.id < {other} + 2"),
            6 => format!("t.a = {one} AND t.id > {other}"),
            _ => format!("t.s IS NULL AND t.a <> {one}"),
        }
    }

    /// WHERE of table `u`.
    fn where_u(&mut self) -> String {
        let (one, other) = (self.value(), self.value());
        match self.one_of(5) {
            0 => format!("u.k = {one} AND u.n = {other}"),
            1 => format!("u.k = {one}"),
            2 => format!("u.k = {one} AND u.n >= {other}"),
            3 => format!("u.v = {one}"),
            _ => format!("u.k = {one} AND u.v <> {other}"),
        }
    }

    /// WHERE of table `h`.
    fn where_h(&mut self) -> String {
        let one = self.value();
        match self.one_of(4) {
            0 | 1 => format!("h.id = {one}"),
            2 => format!("h.next = {one}"),
            _ => format!("h.v = {one}"),
        }
    }

    fn statement(&mut self) {
        let inner = self.depth < DEPTH_MAX;
        match self.one_of(if inner { 35 } else { 24 }) {
            0..=2 => self.read(),
            3 | 4 => self.join(),
            5..=8 => self.update(),
            9 | 10 => self.update_from(),
            11..=13 => self.insert(),
            14 | 15 => self.delete(),
            16 | 17 => {
                let (target, value) = (self.scalar(), self.value());
                // Parameters stay as they are: a planner may know keys from them.
                let target = if target == "p" || target == "q" { "c" } else { target };
                self.line(&format!("{target} := {value};"));
            }
            18 => self.line("GET DIAGNOSTICS c = ROW_COUNT;"),
            19 => {
                let condition = self.condition();
                let fails = "RAISE EXCEPTION 'no: %', x;";
                self.line(&format!("IF z = 5 AND ({condition}) THEN {fails} END IF;"));
            }
            20 => self.give(),
            21 => self.execute(),
            22 => self.leave(),
            23 => self.line("z := floor(random() * 6)::bigint;"),
            24 | 25 => self.call(),
            26..=28 => self.branch(),
            29..=31 => self.caught(),
            _ => self.repeat(),
        }
    }

    /// A row of the result, or the result before the procedure's end.
    fn give(&mut self) {
        let condition = self.condition();
        match (self.kind, self.one_of(3)) {
            (Kind::Rows, 0) => self.line(&format!("IF {condition} THEN RETURN; END IF;")),
            (Kind::Rows, _) => self.line("RETURN NEXT;"),
            (Kind::One, _) => self.line(&format!("IF {condition} THEN RETURN z; END IF;")),
        }
    }
}
