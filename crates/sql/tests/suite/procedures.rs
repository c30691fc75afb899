//! Procedures, compiled and run on the model store.

use crate::database::session::Session;

const SHOP: &str = "
CREATE TABLE item (
    id integer PRIMARY KEY,
    name varchar(20) NOT NULL,
    price numeric(8,2) NOT NULL DEFAULT 1.50 CHECK (price >= 0),
    stock smallint,
    note text
) WITH (primary_index = hash);
CREATE TABLE sale (
    customer bigint,
    number integer,
    item integer NOT NULL REFERENCES item,
    at timestamp DEFAULT now(),
    PRIMARY KEY (customer, number)
);
CREATE INDEX sale_item ON sale (item);
CREATE TABLE counter (name text PRIMARY KEY, value bigint NOT NULL);
";

fn shop() -> Session {
    let mut session = Session::with(SHOP);
    session.rows(
        "INSERT INTO item (id, name, stock) VALUES (1, 'pen', 10), (2, 'ink', NULL);
         INSERT INTO item VALUES (3, 'cap', 12.25, DEFAULT, 'red');
         INSERT INTO sale (customer, number, item) VALUES (7, 1, 1), (7, 2, 3), (8, 1, 1);",
    );
    session
}

#[test]
fn ad_hoc_statements() {
    let mut s = shop();
    assert_eq!(
        s.rows("SELECT * FROM item ORDER BY id"),
        "1,pen,1.50,10,NULL;2,ink,1.50,NULL,NULL;3,cap,12.25,NULL,red"
    );
    assert_eq!(s.rows("SELECT name FROM item WHERE id = 2"), "ink");
    assert_eq!(s.rows("SELECT i.name AS n FROM item i ORDER BY n DESC LIMIT 2"), "pen;ink");
    assert_eq!(s.rows("SELECT name FROM item ORDER BY 1 OFFSET 1"), "ink;pen");
    assert_eq!(
        s.rows("SELECT count(*), sum(price), min(name), max(stock) FROM item"),
        "3,15.25,cap,10"
    );
    assert_eq!(s.rows("SELECT avg(stock) FROM item"), "10.0000000000000000");
    assert_eq!(s.rows("SELECT count(distinct price) FROM item"), "2");
    assert_eq!(s.rows("SELECT DISTINCT item FROM sale ORDER BY item"), "1;3");
    assert_eq!(s.rows("SELECT max(number) FROM sale WHERE customer = 7"), "2");
    assert_eq!(s.rows("SELECT max(number) FROM sale WHERE customer = 9"), "NULL");
    assert_eq!(
        s.rows("UPDATE item SET stock = stock - 1 WHERE id = 1 RETURNING stock, name"),
        "9,pen"
    );
    assert_eq!(s.rows("SELECT count(*) FROM item WHERE stock IS NULL"), "2");
    assert_eq!(
        s.rows("INSERT INTO counter VALUES ('a', 1) ON CONFLICT DO NOTHING RETURNING value"),
        "1"
    );
    assert_eq!(
        s.rows("INSERT INTO counter VALUES ('a', 1) ON CONFLICT DO NOTHING RETURNING value"),
        ""
    );
    assert_eq!(s.rows("DELETE FROM counter WHERE name = 'a' RETURNING *"), "a,1");
    assert_eq!(s.rows("SELECT customer FROM sale WHERE number = 1 AND customer > 7"), "8");
    assert_eq!(s.rows("SELECT number FROM sale WHERE customer = 100000000000"), "");
    assert_eq!(s.rows("SELECT id FROM item WHERE id = 100000000000"), "");
    let wide = "SELECT number FROM sale WHERE customer = 7 AND number < 100000000000 \
                ORDER BY number DESC";
    assert_eq!(s.rows(wide), "2;1");
}

#[test]
fn constraints() {
    let mut s = shop();
    let code = |s: &mut Session, sql: &str| s.error(sql).code().to_owned();
    assert_eq!(code(&mut s, "INSERT INTO item VALUES (1, 'pen')"), "23505");
    assert_eq!(code(&mut s, "INSERT INTO item VALUES (9, NULL)"), "23502");
    assert_eq!(code(&mut s, "INSERT INTO item VALUES (9, 'x', -1)"), "23514");
    assert_eq!(code(&mut s, "UPDATE item SET price = -1 WHERE id = 1"), "23514");
    assert_eq!(
        code(&mut s, "INSERT INTO item VALUES (9, 'a name that is longer than twenty')"),
        "22001"
    );
}

#[test]
fn foreign_keys() {
    let mut s = shop();
    let problem = s.error("INSERT INTO sale (customer, number, item) VALUES (1, 1, 99)");
    assert_eq!(problem.code(), "23503");
    assert_eq!(
        problem.message,
        "insert or update on table \"sale\" violates foreign key constraint \"sale_item_fkey\""
    );
    assert_eq!(
        problem.detail.as_deref(),
        Some("Key (item)=(99) is not present in table \"item\".")
    );
    let problem = s.error("UPDATE sale SET item = 98 WHERE customer = 7");
    assert_eq!(problem.code(), "23503");
    let problem = s.error("DELETE FROM item WHERE id = 1");
    assert_eq!(problem.code(), "23503");
    assert_eq!(
        problem.message,
        "update or delete on table \"item\" violates foreign key constraint \"sale_item_fkey\" on \
         table \"sale\""
    );
    assert_eq!(
        problem.detail.as_deref(),
        Some("Key (id)=(1) is still referenced from table \"sale\".")
    );
    assert_eq!(s.error("DELETE FROM item WHERE price > 2").code(), "23503");
    s.rows("DELETE FROM item WHERE id = 2");
    s.rows("UPDATE sale SET item = 3 WHERE customer = 7; DELETE FROM sale WHERE customer = 8");
    s.rows("DELETE FROM item WHERE name = 'pen'");
    assert_eq!(s.rows("SELECT id FROM item"), "3");
}

#[test]
fn self_reference_and_null_keys() {
    let mut s = Session::with(
        "CREATE TABLE node (id int PRIMARY KEY, parent int REFERENCES node (id));
         CREATE INDEX node_parent ON node (parent);",
    );
    s.rows("INSERT INTO node VALUES (1, 1), (2, 1), (3, NULL)");
    assert_eq!(s.error("INSERT INTO node VALUES (4, 5)").code(), "23503");
    assert_eq!(s.error("DELETE FROM node WHERE id = 1").code(), "23503");
    s.rows("DELETE FROM node WHERE id = 3; DELETE FROM node WHERE id = 2");
}

#[test]
fn control_flow() {
    let mut s = shop();
    s.rows(
        "CREATE FUNCTION f(n integer, names text[]) RETURNS text LANGUAGE plpgsql AS $$
         <<ignored>>
         DECLARE x text := ''; BEGIN RETURN x; END $$"
            .replace("<<ignored>>", "")
            .as_str(),
    );
    s.rows(
        "CREATE OR REPLACE FUNCTION f(n integer, names text[]) RETURNS text LANGUAGE plpgsql AS $$
         DECLARE
             trace text := '';
             limit_ CONSTANT integer := 3;
             name text;
             total numeric(10,2) NOT NULL DEFAULT 0;
             r RECORD;
         BEGIN
             FOR i IN 1..n LOOP
                 IF i = 2 THEN trace := trace || 'two ';
                 ELSIF i > limit_ THEN trace := trace || 'big ';
                 ELSE trace := trace || i || ' ';
                 END IF;
             END LOOP;
             FOR i IN REVERSE 10..1 BY 4 LOOP trace := trace || i || ','; END LOOP;
             FOREACH name IN ARRAY names LOOP
                 CASE name WHEN 'a', 'b' THEN trace := trace || 'ab';
                 ELSE trace := trace || '?'; END CASE;
             END LOOP;
             trace := trace || array_length(names, 1) || names[2];
             FOR r IN SELECT id, price * 2 AS twice FROM item ORDER BY id LOOP
                 total := total + r.twice;
                 DECLARE inner_ integer; BEGIN
                     IF inner_ IS NULL THEN inner_ := r.id; END IF;
                     trace := trace || ' ' || inner_;
                 END;
             END LOOP;
             RETURN trace || ' ' || total;
         END $$",
    );
    assert_eq!(
        s.rows("SELECT f(4, ARRAY['a', 'z', 'b'])"),
        "1 two 3 big 10,6,2,ab?ab3z 1 2 3 30.50"
    );
    assert_eq!(s.rows("SELECT * FROM f(names => '{x,y}', n => 0)"), "10,6,2,??2y 1 2 3 30.50");
}

#[test]
fn results() {
    let mut s = shop();
    s.rows(
        "CREATE FUNCTION cheap(p_limit numeric) RETURNS TABLE (id integer, name text)
         LANGUAGE plpgsql AS $$ BEGIN
             RETURN QUERY SELECT i.id, i.name FROM item i WHERE i.price < p_limit ORDER BY i.id;
             id := 0; name := 'end'; RETURN NEXT;
         END $$;
         CREATE PROCEDURE outs(IN a integer, OUT b integer, INOUT c text) LANGUAGE plpgsql AS $$
         BEGIN b := a + 1; c := c || '!'; END $$;
         CREATE FUNCTION rows_of() RETURNS SETOF item LANGUAGE plpgsql AS $$
         DECLARE r item%ROWTYPE; BEGIN
             SELECT * INTO r FROM item WHERE id = 3; r.note := 'changed'; RETURN NEXT r;
             RETURN QUERY SELECT * FROM item WHERE id = 1;
         END $$;
         CREATE FUNCTION numbers(n int) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
         BEGIN FOR i IN 1..n LOOP RETURN NEXT i; END LOOP;
             RETURN QUERY SELECT count(*) FROM item; END $$;
         CREATE FUNCTION nothing() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN NULL; END $$;",
    );
    assert_eq!(s.rows("SELECT * FROM cheap(2)"), "1,pen;2,ink;0,end");
    assert_eq!(s.rows("CALL outs(4, 'x')"), "5,x!");
    assert_eq!(s.rows("SELECT * FROM rows_of()"), "3,cap,12.25,NULL,changed;1,pen,1.50,10,NULL");
    assert_eq!(s.rows("SELECT numbers(2)"), "1;2;3");
    assert_eq!(s.error("SELECT nothing()").code(), "2F005");
}

#[test]
fn found_row_count_and_strict() {
    let mut s = shop();
    s.rows(
        "CREATE FUNCTION p(wanted integer) RETURNS text LANGUAGE plpgsql AS $$
         DECLARE n item.name%TYPE; c integer; t text := '';
         BEGIN
             SELECT name INTO n FROM item WHERE id = wanted;
             IF NOT FOUND THEN RETURN 'none'; END IF;
             UPDATE sale SET at = NULL WHERE item = wanted;
             GET DIAGNOSTICS c = ROW_COUNT;
             t := n || c;
             SELECT min(number) INTO c FROM sale WHERE customer = 99;
             IF FOUND AND c IS NULL THEN t := t || ' min'; END IF;
             PERFORM 1 FROM sale WHERE item = wanted;
             IF FOUND THEN t := t || ' sold'; END IF;
             DELETE FROM sale WHERE customer = 8 AND number = 1 RETURNING item INTO c;
             t := t || ' ' || c;
             SELECT name INTO STRICT n FROM item WHERE id = wanted + 100;
             RETURN t;
         END $$",
    );
    assert_eq!(s.rows("SELECT p(50)"), "none");
    assert_eq!(s.error("SELECT p(1)").code(), "P0002");
    s.rows("INSERT INTO item VALUES (101, 'there')");
    assert_eq!(s.rows("SELECT p(1)"), "pen2 min sold 1");
}

#[test]
fn raise_and_assert() {
    let mut s = shop();
    s.rows(
        "CREATE PROCEDURE r(n integer) LANGUAGE plpgsql AS $$ BEGIN
             RAISE NOTICE 'n is %', n;
             IF n = 1 THEN
                 RAISE EXCEPTION 'bad % of 100%%: %', n, 'x'
                     USING ERRCODE = 'check_violation', DETAIL = 'd' || n, HINT = 'h';
             ELSIF n = 2 THEN RAISE unique_violation USING MESSAGE = 'm' || n;
             ELSIF n = 3 THEN ASSERT n < 3, 'too big';
             ELSIF n = 4 THEN CASE n WHEN 1 THEN NULL; END CASE;
             END IF;
             INSERT INTO counter VALUES ('r', n);
         END $$",
    );
    let problem = s.error("CALL r(1)");
    assert_eq!((problem.code(), problem.message.as_str()), ("23514", "bad 1 of 100%: x"));
    assert_eq!((problem.detail.as_deref(), problem.hint.as_deref()), (Some("d1"), Some("h")));
    assert_eq!(problem.place.line, 4);
    let problem = s.error("CALL r(2)");
    assert_eq!((problem.code(), problem.message.as_str()), ("23505", "m2"));
    assert_eq!(s.error("CALL r(3)").code(), "P0004");
    assert_eq!(s.error("CALL r(4)").code(), "20000");
    assert_eq!(s.rows("CALL r(5); SELECT value FROM counter"), "5");
}

#[test]
fn assignments_at_once_and_not_null() {
    let mut s = Session::with("CREATE TABLE t (a int PRIMARY KEY, b int)");
    s.rows("INSERT INTO t VALUES (1, 2)");
    s.rows(
        "CREATE FUNCTION swap(x int, y int) RETURNS text LANGUAGE plpgsql AS $$
         DECLARE n int NOT NULL := 1;
         BEGIN
             SELECT y, x INTO x, y;
             n := x;
             RETURN swap.x || ' ' || y;
         END $$",
    );
    assert_eq!(s.rows("SELECT swap(1, 2)"), "2 1");
    assert_eq!(s.error("SELECT swap(1, NULL)").code(), "22004");
}

#[test]
fn do_blocks_run() {
    let mut s = shop();
    s.rows(
        "DO $$ BEGIN FOR i IN 1..3 LOOP INSERT INTO counter VALUES ('c' || i, i); END LOOP; END $$",
    );
    assert_eq!(s.rows("SELECT name, value FROM counter ORDER BY name"), "c1,1;c2,2;c3,3");
}
