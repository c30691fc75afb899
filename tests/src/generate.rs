//! Random procedures and calls: small, colliding on a few rows, over four fixed tables.
//!
//! Invariants   I1 every text compiles; a call may fail by a constraint or by RAISE, and is then
//!              undone
//!              I2 some texts say in which order rows are read and some do not: results depend on
//!              the database's state only, either way

use std::fmt::Write;

use hotrow::Value;
use rand::Rng;
use rand::rngs::StdRng;

/// Tables that have every kind of index; keys are 0 to 5, so that calls collide.
pub const TABLES: &str = "
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
const SCALARS: [&str; 6] = ["p", "q", "x", "y", "z", "c"];

/// Writes one procedure.
pub struct Writer<'r> {
    random: &'r mut StdRng,
    text: String,
    depth: usize,
    loops: usize,
}

/// The text of a random procedure with this name, with parameters `p`, `q` and `xs`.
pub fn procedure(random: &mut StdRng, name: &str) -> String {
    let mut writer = Writer { random, text: String::new(), depth: 0, loops: 0 };
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

impl Writer<'_> {
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
        let choice = self.one_of(if self.depth < 2 { 26 } else { 20 });
        match choice {
            0..=3 => self.read(),
            4..=8 => self.update(),
            9..=12 => self.insert(),
            13 | 14 => self.delete(),
            15 | 16 => {
                let (target, value) = (self.scalar(), self.value());
                // Parameters stay as they are: a planner may know keys from them.
                let target = if target == "p" || target == "q" { "c" } else { target };
                self.line(&format!("{target} := {value};"));
            }
            17 => self.line("GET DIAGNOSTICS c = ROW_COUNT;"),
            18 => {
                let condition = self.condition();
                let fails = "RAISE EXCEPTION 'no: %', x;";
                self.line(&format!("IF z = 5 AND ({condition}) THEN {fails} END IF;"));
            }
            19 => self.line("RETURN NEXT;"),
            20..=22 => self.branch(),
            _ => self.repeat(),
        }
    }

    /// An ORDER BY, or none.
    fn maybe(&mut self, order: &'static str) -> &'static str {
        if self.one_of(2) == 0 { order } else { "" }
    }

    fn read(&mut self) {
        let (t, u, h) = (self.where_t(), self.where_u(), self.where_h());
        let [by_t, by_h] = ["ORDER BY t.id", "ORDER BY h.id"].map(|order| self.maybe(order));
        let text = match self.one_of(12) {
            0 => format!("SELECT t.a, t.b INTO x, y FROM t WHERE {t} {by_t} LIMIT 1;"),
            1 => format!("SELECT count(*), max(t.a) INTO x, z FROM t WHERE {t};"),
            2 => format!("SELECT u.n INTO x FROM u WHERE {u} ORDER BY u.k, u.n DESC LIMIT 1;"),
            3 => format!("SELECT count(*), min(u.v) INTO z, y FROM u WHERE {u};"),
            4 => format!("SELECT h.next INTO y FROM h WHERE {h} {by_h} LIMIT 1;"),
            5 => format!("SELECT count(*), max(h.id) INTO y, x FROM h WHERE {h};"),
            6 => format!("SELECT t.id INTO x FROM t WHERE t.b = 10 + {};", self.value()),
            7 => format!("PERFORM 1 FROM t WHERE {t};"),
            8 => "SELECT l.n INTO x FROM l OFFSET 1;".to_owned(),
            9 => "SELECT sum(l.f) INTO f FROM l; z := round(f * 10)::bigint % 1000;".to_owned(),
            10 => format!("SELECT h.v, h.code INTO x, y FROM h WHERE {h} OFFSET 1;"),
            _ => "SELECT count(*), max(t.id) INTO z, c FROM t;".to_owned(),
        };
        self.line(&text);
    }

    fn update(&mut self) {
        let (t, u, h) = (self.where_t(), self.where_u(), self.where_h());
        let (value, number) = (self.value(), self.number());
        let text = match self.one_of(14) {
            0 | 1 => format!("UPDATE t SET a = {number} WHERE {t};"),
            2 => format!("UPDATE t SET a = (t.a + 1) % 6 WHERE {t};"),
            3 => format!("UPDATE t SET b = 10 + {value} WHERE t.id = {number};"),
            4 => format!("UPDATE t SET s = coalesce(t.s, '') || 'grow' WHERE {t};"),
            5 => format!("UPDATE t SET s = NULL WHERE t.a = {value} RETURNING t.id INTO x;"),
            6 => format!("UPDATE u SET v = {value} WHERE {u};"),
            7 => format!("UPDATE u SET v = (coalesce(u.v, 0) + 1) % 6 WHERE {u};"),
            8 => format!("UPDATE h SET next = {number} WHERE {h};"),
            9 => format!("UPDATE t SET b = t.b + 1 WHERE {t};"),
            10 => format!("UPDATE h SET code = coalesce(h.code, h.id) + 1 WHERE {h};"),
            11 => format!("UPDATE h SET v = {value} WHERE h.id = {number} RETURNING h.v INTO z;"),
            12 => "UPDATE l SET n = (l.n + 1) % 6;".to_owned(),
            _ => format!("UPDATE h SET v = (h.v + 1) % 6, next = h.v WHERE {h};"),
        };
        self.line(&text);
    }

    fn insert(&mut self) {
        let (k, n, value) = (self.number(), self.number(), self.value());
        let text = match self.one_of(8) {
            0 => format!("INSERT INTO t VALUES ({k}, {n}, 10 + {value}, 'new');"),
            1 | 2 => {
                format!("INSERT INTO t VALUES ({k}, {n}, NULL, NULL) ON CONFLICT DO NOTHING;")
            }
            3 => {
                format!("INSERT INTO t VALUES ({k}, 1, 10 + {value}, 'x') ON CONFLICT DO NOTHING;")
            }
            4 | 5 => format!("INSERT INTO u VALUES ({k}, {n}, {value}) ON CONFLICT DO NOTHING;"),
            6 => {
                // Rounded sums of these would depend on their order.
                let size = format!("CASE {n} % 3 WHEN 0 THEN 1e16 WHEN 1 THEN 0.1 ELSE -1e16 END");
                format!("INSERT INTO l VALUES ({k}, {size});")
            }
            _ => format!("INSERT INTO h VALUES ({k}, {n}, 0) ON CONFLICT DO NOTHING;"),
        };
        self.line(&text);
    }

    fn delete(&mut self) {
        let (t, u, h) = (self.where_t(), self.where_u(), self.where_h());
        let text = match self.one_of(4) {
            0 => format!("DELETE FROM t WHERE {t};"),
            1 => format!("DELETE FROM u WHERE {u} RETURNING u.v INTO y;"),
            2 => format!("DELETE FROM h WHERE {h};"),
            _ => {
                let key = self.number();
                format!(
                    "DELETE FROM u WHERE u.k = {key} AND u.n = 0;\n\
                     INSERT INTO u VALUES ({key}, 0, 3);"
                )
            }
        };
        self.line(&text);
    }

    fn branch(&mut self) {
        let condition = self.condition();
        self.depth += 1;
        self.line(&format!("IF {condition} THEN"));
        self.statement();
        if self.one_of(2) == 0 {
            self.line("ELSE");
            self.statement();
        }
        self.line("END IF;");
        self.depth -= 1;
    }

    fn repeat(&mut self) {
        self.depth += 1;
        self.loops += 1;
        let mut head = String::new();
        let number = self.loops;
        let written = match self.one_of(6) {
            0 => write!(head, "FOR i{number} IN 1..{} LOOP", self.one_of(4)),
            1 => write!(head, "FOREACH e IN ARRAY xs LOOP x := e;"),
            2 => {
                let filter = self.where_t();
                let order = self.maybe("ORDER BY t.id");
                write!(
                    head,
                    "FOR r IN SELECT t.id, t.a FROM t WHERE {filter} {order} LOOP y := r.a;"
                )
            }
            3 => {
                let filter = self.where_u();
                let order = self.maybe("ORDER BY u.k, u.n");
                write!(
                    head,
                    "FOR r IN SELECT u.n, u.v FROM u WHERE {filter} {order} LOOP x := r.n;"
                )
            }
            4 => {
                let filter = self.where_h();
                write!(head, "FOR r IN SELECT h.id, h.v FROM h WHERE {filter} LOOP x := r.id;")
            }
            _ => write!(head, "FOR i{number} IN REVERSE 3..least3(z) LOOP"),
        };
        written.expect("writing to memory");
        let head = head.replace("least3(z)", "coalesce(z, 2)");
        self.line(&head);
        self.statement();
        self.statement();
        self.line("END LOOP;");
        self.depth -= 1;
    }
}
