//! Statements that read and write rows: of one table, of joins, and with functions in them.

use super::Writer;

impl Writer<'_> {
    /// An ORDER BY, or none.
    pub(super) fn maybe(&mut self, order: &'static str) -> &'static str {
        if self.one_of(2) == 0 { order } else { "" }
    }

    pub(super) fn read(&mut self) {
        let (t, u, h) = (self.where_t(), self.where_u(), self.where_h());
        let [by_t, by_h] = ["ORDER BY t.id", "ORDER BY h.id"].map(|order| self.maybe(order));
        let text = match self.one_of(13) {
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
            11 => format!("SELECT t.a, peek(t.id) INTO x, y FROM t WHERE {t} {by_t} LIMIT 1;"),
            _ => "SELECT count(*), max(t.id) INTO z, c FROM t;".to_owned(),
        };
        self.line(&text);
    }

    /// A read of rows of two tables.
    pub(super) fn join(&mut self) {
        let (t, h, number) = (self.where_t(), self.where_h(), self.number());
        let by_u = self.maybe("ORDER BY u.k, u.n");
        let by_h = self.maybe("ORDER BY h.id");
        let text = match self.one_of(8) {
            0 => format!(
                "SELECT t.a, u.v INTO x, y FROM t JOIN u ON u.k = t.id WHERE {t} {by_u} LIMIT 1;"
            ),
            1 => format!(
                "SELECT count(*), max(u.v) INTO z, x\n\
                 FROM t LEFT JOIN u ON u.k = t.id AND u.n = {number} WHERE {t};"
            ),
            2 => format!(
                "SELECT other.v, other.id INTO x, y\n\
                 FROM h JOIN h AS other ON other.id = h.next WHERE {h} {by_h} LIMIT 1;"
            ),
            3 => format!(
                "SELECT count(*) INTO z FROM t WHERE {t}\n\
                 AND EXISTS (SELECT 1 FROM u WHERE u.k = t.id AND u.v = {number});"
            ),
            4 => format!("SELECT sum(h.v), count(*) INTO x, z FROM t, h WHERE h.id = t.a AND {t};"),
            5 => format!(
                "SELECT u.k INTO x FROM u JOIN h ON h.id = u.v WHERE {h} ORDER BY u.k, u.n LIMIT 1;"
            ),
            6 => format!(
                "SELECT t.id INTO y FROM t WHERE t.a IN (SELECT u.v FROM u WHERE u.k = {number})\n\
                 ORDER BY t.id DESC LIMIT 1;"
            ),
            _ => format!(
                "SELECT t.id, (SELECT max(u.v) FROM u WHERE u.k = t.id) INTO x, y\n\
                 FROM t WHERE {t} ORDER BY t.id LIMIT 1;"
            ),
        };
        self.line(&text);
    }

    pub(super) fn update(&mut self) {
        let (t, u, h) = (self.where_t(), self.where_u(), self.where_h());
        let (value, number) = (self.value(), self.number());
        let text = match self.one_of(15) {
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
            13 => format!("UPDATE t SET a = coalesce(peek(t.id), {number}) WHERE {t};"),
            _ => format!("UPDATE h SET v = (h.v + 1) % 6, next = h.v WHERE {h};"),
        };
        self.line(&text);
    }

    /// A change of one table's rows by another's.
    pub(super) fn update_from(&mut self) {
        let (t, u, number) = (self.where_t(), self.where_u(), self.number());
        let text = match self.one_of(6) {
            0 => format!(
                "UPDATE t SET a = coalesce(u.v, 4) FROM u WHERE u.k = t.id AND u.n = 0 AND {t};"
            ),
            // Several rows of u may be a row's: which one it takes is the database's alone.
            1 => format!("UPDATE h SET v = coalesce(u.v, 4) FROM u WHERE u.k = h.id AND {u};"),
            2 => format!("DELETE FROM u USING t WHERE t.id = u.k AND u.n = {number} AND {t};"),
            3 => format!(
                "INSERT INTO u SELECT t.id, {number}, t.a FROM t WHERE {t} ON CONFLICT DO NOTHING;"
            ),
            4 => format!(
                "INSERT INTO h SELECT u.k, u.n, {number} FROM u WHERE {u}\n\
                 ON CONFLICT (id) DO UPDATE SET v = (h.v + excluded.v) % 6;"
            ),
            _ => format!(
                "WITH gone AS (DELETE FROM u WHERE {u} RETURNING u.k, u.v)\n\
                 SELECT count(*), max(gone.v) INTO z, y FROM gone;"
            ),
        };
        self.line(&text);
    }

    pub(super) fn insert(&mut self) {
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

    pub(super) fn delete(&mut self) {
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

    /// A statement whose text only the call knows.
    pub(super) fn execute(&mut self) {
        let (value, number) = (self.value(), self.number());
        let text = match self.one_of(4) {
            0 => format!("EXECUTE 'UPDATE t SET a = $1 WHERE id = $2' USING {number}, {value};"),
            1 => {
                format!("EXECUTE 'SELECT max(v) FROM u WHERE k = $1' INTO x USING {value};")
            }
            2 => format!("EXECUTE format('DELETE FROM %I WHERE %I = %s', 'h', 'code', {number});"),
            _ => format!(
                "EXECUTE CASE WHEN {value} = 1 THEN 'SELECT v FROM h WHERE id = 1'\n\
                 ELSE 'SELECT n FROM u WHERE k = 2 ORDER BY n LIMIT 1' END INTO y;"
            ),
        };
        self.line(&text);
    }
}
