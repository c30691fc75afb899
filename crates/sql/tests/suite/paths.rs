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
fn wider_values_keep_their_condition() {
    let mut database = Database::with(TABLES);
    let text = database.created(
        "CREATE FUNCTION f(x bigint) RETURNS SETOF integer LANGUAGE plpgsql AS $$ BEGIN
         RETURN QUERY SELECT o FROM orders WHERE w = x AND d > x; END $$",
    );
    assert!(text.contains("in orders_pkey[x >= Least(Greatest("), "{text}");
    assert!(text.contains("where ($orders.d::bigint > x)"), "{text}");
}
