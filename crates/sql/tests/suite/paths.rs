//! Which access path a condition gets.

use crate::database::Database;

const TABLES: &str = "
CREATE TABLE orders (
    w integer, d smallint, o integer, c integer NOT NULL, n text, amount numeric(8,2), k char(4),
    PRIMARY KEY (w, d, o)
);
CREATE INDEX by_customer ON orders (w, d, c, o);
CREATE INDEX by_name ON orders (n);
CREATE UNIQUE INDEX by_k ON orders (k);
CREATE TABLE h (a bigint PRIMARY KEY, b integer) WITH (primary_index = hash);
CREATE INDEX h_b ON h USING hash (b);
CREATE TABLE keyless (x integer, f double precision);
CREATE TABLE person (id integer PRIMARY KEY, email text, age integer, state text, gone boolean);
CREATE UNIQUE INDEX by_email ON person (lower(email));
CREATE INDEX by_age ON person (state, (age + 1));
CREATE UNIQUE INDEX held ON person (age) WHERE state = 'held' AND NOT gone AND email IS NOT NULL;
CREATE TABLE event (at integer, what text, UNIQUE (at, what));
CREATE INDEX by_what ON event (what);
";

#[test]
fn conditions_choose_indexes() {
    let cases = [
        ("SELECT n FROM orders WHERE w = 1 AND d = 2 AND o = 3", "at orders_pkey[1, 2, 3] bind n"),
        ("SELECT n FROM orders WHERE 3 = o AND (w, d) = (1, 2)", "at orders_pkey[1, 2, 3] bind n"),
        ("SELECT n FROM orders WHERE w = 1 AND d = 2", "in orders_pkey[1, 2] bind n"),
        (
            "SELECT o FROM orders WHERE w = 1 AND d = 2 AND o > 5 AND o <= 9",
            "in orders_pkey[1, 2 > 5 <= 9] bind o",
        ),
        (
            "SELECT o FROM orders WHERE w = 1 AND d BETWEEN 2 AND 4",
            "in orders_pkey[1 >= 2 <= 4] bind o",
        ),
        (
            "SELECT o FROM orders WHERE w = 1 AND d = 2 AND c = 3 ORDER BY o DESC LIMIT 1",
            "in by_customer[1, 2, 3] down bind o",
        ),
        (
            "SELECT max(o) FROM orders WHERE w = 1 AND d = 2 AND c = 3",
            "in by_customer[1, 2, 3] down bind o first",
        ),
        ("SELECT min(o) FROM orders WHERE w = 1 AND d = 2", "in orders_pkey[1, 2] bind o first"),
        (
            "SELECT o FROM orders WHERE w = 1 AND d = 2 ORDER BY d, o",
            "in orders_pkey[1, 2] bind o R",
        ),
        ("SELECT o FROM orders WHERE w = 1 AND d = 2 ORDER BY c", "in by_customer[1, 2] bind o R"),
        (
            "SELECT o FROM orders WHERE w = 1 ORDER BY d, o DESC",
            "in orders_pkey[1] bind o d Result(($orders.o) order by $orders.d, $orders.o desc",
        ),
        ("SELECT o FROM orders WHERE n = 'x'", "in by_name['x'] bind o"),
        ("SELECT o FROM orders WHERE n >= 'a' AND n < 'b'", "in by_name[ >= 'a' < 'b'] bind o"),
        ("SELECT o FROM orders ORDER BY w", "in orders_pkey[] bind o"),
        ("SELECT count(*) FROM orders WHERE o = 1", "scan of all bind o where ($orders.o = 1)"),
        ("SELECT count(*) FROM orders WHERE w = 1.5", "scan of all"),
        (
            "SELECT count(*) FROM orders WHERE w = 1 OR w = 2",
            "in orders_pkey[a value of the list for w] \
             for a value of the list for w in keys (1, 2)",
        ),
        (
            "DELETE FROM orders WHERE w = 1 AND d = 1 AND o IN (3, 2)",
            "foreach a value of the list for o in keys (3, 2)",
        ),
        // A list for a column that the statement sets itself finds no rows.
        (
            "UPDATE orders SET c = 5 WHERE w = 1 AND d = 2 AND c IN (1, 2)",
            "in orders_pkey[1, 2] bind",
        ),
        ("SELECT count(*) FROM orders WHERE w = d", "scan of all"),
        ("SELECT o FROM orders WHERE k = 'ab'", "at by_k['ab'] bind k o where"),
        ("SELECT b FROM h WHERE a = 5", "at h_pkey[5] bind b"),
        ("SELECT count(*) FROM h WHERE a > 5", "scan of all bind a"),
        ("SELECT count(*) FROM h WHERE b = 5", "in h_b[5]"),
        (
            "UPDATE orders SET c = c + 1 WHERE w = 1 AND d = 1 AND o = 1",
            "at orders_pkey[1, 1, 1] bind c set c = ($orders.c + 1)",
        ),
        ("DELETE FROM orders WHERE w = 1 AND n LIKE 'x%'", "in orders_pkey[1] bind n where Like"),
    ];
    let mut database = Database::with(TABLES);
    for (statement, expected) in cases {
        let text = database.statement(statement).replace("Result (", "Result((");
        assert!(text.contains(expected), "{statement}\nexpected {expected}\n{text}");
    }
}

/// What depends on the order of rows gets one that the table's contents decide.
#[test]
fn orders_do_not_depend_on_places() {
    let cases = [
        ("SELECT o FROM orders WHERE o = 1", "in orders_pkey[] bind o where ($orders.o = 1)"),
        ("SELECT 1 FROM orders WHERE o = 1", "scan of all bind o where"),
        ("SELECT sum(amount), min(c) FROM orders", "scan of all bind amount c"),
        ("SELECT a FROM h WHERE a > 5", "scan of all bind a"),
        ("SELECT a FROM h WHERE a > 5", "order by $h.a"),
        ("SELECT b FROM h WHERE b = 5", "in h_b[5] bind b a"),
        ("SELECT b FROM h WHERE b = 5", "order by $h.a"),
        ("SELECT b FROM h ORDER BY b DESC", "order by $h.b desc, $h.a"),
        ("SELECT DISTINCT b FROM h", "order by $h.b"),
        ("SELECT b FROM h WHERE a = 5", "at h_pkey[5] bind b"),
        ("DELETE FROM h RETURNING b", "order by $h.a"),
        ("UPDATE h SET b = b + 1", "update h scan of all bind b set"),
        ("UPDATE orders SET n = 'x'", "update orders scan of all set"),
        ("UPDATE orders SET k = n", "update orders in orders_pkey[] bind n set k"),
        ("UPDATE orders SET k = 'x'", "update orders scan of all set"),
        ("SELECT n FROM orders ORDER BY k", "in by_k[] bind n k w d o Result"),
        ("SELECT n FROM orders ORDER BY k", "order by $orders.k, $orders.w, $orders.d, $orders.o"),
        ("SELECT max(k) FROM orders", "in by_k[] down bind k where"),
        ("SELECT x FROM keyless", "order by $keyless.x, $keyless.f, $keyless.f::text"),
    ];
    let mut database = Database::with(TABLES);
    for (statement, expected) in cases {
        let text = database.statement(statement);
        assert!(text.contains(expected), "{statement}\nexpected {expected}\n{text}");
    }
}

#[test]
fn expressions_and_conditions_choose_indexes() {
    let cases = [
        ("SELECT id FROM person WHERE lower(email) = 'x'", "at by_email['x'] bind id"),
        ("SELECT id FROM person p WHERE 'x' = lower(p.email)", "at by_email['x'] bind id"),
        ("SELECT id FROM person WHERE upper(email) = 'x'", "in person_pkey[] bind"),
        ("SELECT id FROM person WHERE state = 'a' AND age + 1 > 3", "in by_age['a' > 3] bind id R"),
        (
            "SELECT id FROM person WHERE state = 'a' AND age + 1 = 3 AND age + 2 = 4",
            "in by_age['a', 3] bind age id where",
        ),
        ("SELECT id FROM person WHERE state = 'a' AND age + 2 > 3", "in by_age['a'] bind"),
        (
            "SELECT age FROM person WHERE state = 'a' ORDER BY age + 1 DESC LIMIT 1",
            "in by_age['a'] down bind age R",
        ),
        (
            "SELECT id FROM person WHERE age = 7 AND state = 'held' AND NOT gone AND email = 'a'",
            "at held[7, t] bind",
        ),
        (
            "SELECT id FROM person WHERE age = 7 AND state = 'held' AND NOT gone \
             AND email IS NOT NULL",
            "at held[7, t] bind",
        ),
        // All rows are in it, too.
        ("SELECT id FROM person WHERE age = 7 AND NOT gone", "in held[7] bind"),
        ("SELECT id FROM person WHERE age = 7 AND state = 'free' AND NOT gone", "in by_age['free'"),
        (
            "UPDATE person SET email = 'b' WHERE lower(email) = 'a'",
            "at by_email['a'] bind state gone set email = 'b', lower(email) = Lower('b')",
        ),
        ("DELETE FROM event WHERE at = 1 AND what = 'x'", "at event_at_what_key[1, 'x']"),
        ("DELETE FROM event WHERE what = 'x'", "in by_what['x']"),
    ];
    let (mut database, mut wrong) = (Database::with(TABLES), String::new());
    for (statement, expected) in cases {
        let text = database.statement(statement);
        if !text.contains(expected) {
            wrong.push_str(&format!("{statement}\nexpected {expected}\n{text}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn wider_values_keep_their_condition() {
    let mut database = Database::with(TABLES);
    let text = database.created(
        "CREATE FUNCTION f(x bigint) RETURNS SETOF integer LANGUAGE plpgsql AS $$ BEGIN
         RETURN QUERY SELECT o FROM orders WHERE w = x AND d > x; END $$",
    );
    assert!(text.contains("in orders_pkey[x >= Least(Greatest("), "{text}");
    assert!(text.contains("where ($orders.d::bigint > x)"), "{text}");
}
