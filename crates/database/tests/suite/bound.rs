//! Expressions that operators and programs compute together, and queries that are no longer one
//! access: the same on every engine, as PostgreSQL 15 has it.

use hotrow::{Config, Error};

use crate::asking::check_calls;
use crate::every_engine::{every_engine, open};

const SCHEMA: &str = "
    CREATE SEQUENCE numbers;
    CREATE TABLE item (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, price INTEGER);
    INSERT INTO item VALUES (1, 'a,b', 10), (2, 'b,c', 20), (3, 'c,a', NULL);
    CREATE FUNCTION twice(x INTEGER) RETURNS INTEGER AS $$
    BEGIN RETURN x * 2; END $$ LANGUAGE plpgsql;
    CREATE FUNCTION labelled(x TEXT) RETURNS TEXT AS $$
    BEGIN RETURN x || ',' || length(x); END $$ LANGUAGE plpgsql;
    -- what is drawn, called and split depends on each other, in either order
    CREATE FUNCTION mixed(p TEXT) RETURNS TEXT AS $$
    DECLARE v TEXT;
    BEGIN
        v := split_part(labelled(split_part(p, ';', 2)), ',', 2)
            || twice((SELECT price FROM item WHERE kind = split_part(p, ';', 1))) || '/'
            || split_part('x' || nextval('numbers')::text || 'x', 'x', 2);
        RETURN v;
    END $$ LANGUAGE plpgsql;
    CREATE FUNCTION found_beside(p INTEGER) RETURNS TEXT AS $$
    BEGIN
        PERFORM id FROM item WHERE id = p;
        IF FOUND AND split_part('a,b', ',', 2) = 'b' THEN RETURN 'found'; END IF;
        PERFORM id FROM item WHERE id < p LIMIT 0;
        IF NOT FOUND AND EXISTS (SELECT 1 FROM item WHERE id > p) THEN RETURN 'later'; END IF;
        RETURN 'none';
    END $$ LANGUAGE plpgsql;
    CREATE FUNCTION first_of(p INTEGER[], n INTEGER) RETURNS TEXT AS $$
    DECLARE v INTEGER; w TEXT;
    BEGIN
        SELECT id INTO v FROM item WHERE id = ANY (p) ORDER BY id LIMIT (SELECT n);
        SELECT string_agg(kind, ' ' ORDER BY id) INTO w FROM item WHERE id = ANY (p);
        RETURN coalesce(v, 0) || ' ' || coalesce(w, '-');
    END $$ LANGUAGE plpgsql;
    CREATE PROCEDURE reprice(p TEXT) AS $$
    BEGIN
        UPDATE item SET price = price + (SELECT count(*) FROM item)
            WHERE split_part(kind, ',', 1) = split_part(p, ';', 2);
        INSERT INTO item VALUES (100 + (SELECT max(id) FROM item), split_part(p, ';', 1), 1);
    END $$ LANGUAGE plpgsql;
    CREATE FUNCTION grouped() RETURNS TEXT AS $$
    DECLARE n INTEGER; total INTEGER; least INTEGER;
    BEGIN
        SELECT count(price), sum(price), min(id) INTO n, total, least FROM item WHERE id < 100;
        RETURN n || ' ' || total || ' ' || least;
    END $$ LANGUAGE plpgsql";

const CALLS: &[(&str, &str)] = &[
    ("SELECT mixed('a,b;zz')", "220/1"),
    ("SELECT mixed('b,c;yyy')", "340/2"),
    ("SELECT found_beside(1)", "found"),
    ("SELECT found_beside(0)", "later"),
    ("SELECT found_beside(9)", "none"),
    ("SELECT first_of('{3,1}', 1)", "1 a,b c,a"),
    ("SELECT first_of('{3,1}', 0)", "0 a,b c,a"),
    ("SELECT first_of('{}', 1)", "0 -"),
    ("SELECT grouped()", "2 30 1"),
    ("CALL reprice('new;b')", ""),
    (
        "SELECT id || kind || price FROM item WHERE id > 1 AND price > 0 ORDER BY id",
        "2b,c23;103new1",
    ),
    // in a session, too
    ("SELECT id FROM item ORDER BY id LIMIT (SELECT 2)", "1;2"),
    ("SELECT id FROM item ORDER BY id OFFSET (SELECT count(*) - 1 FROM item)", "103"),
    ("SELECT id FROM item LIMIT id", "42P10"),
    ("SELECT found", "42703"),
    ("SELECT id, count(*) FROM item", "42803"),
    ("SELECT DISTINCT kind FROM item ORDER BY price", "42P10"),
    ("(SELECT max(id) FROM item)", "103"),
    ("UPDATE item SET kind = kind WHERE id = 1 RETURNING (SELECT 1)", "1"),
    ("CREATE TABLE wrong (a TEXT CHECK (a IN (SELECT kind FROM item)))", "0A000"),
    ("CREATE TABLE wrong (a TEXT DEFAULT split_part('a,b', ',', 1))", "0A000"),
    ("CREATE INDEX wrong ON item (id) WHERE EXISTS (SELECT 1)", "0A000"),
    ("CALL reprice((SELECT kind FROM item WHERE id = 1))", ""),
];

#[test]
fn what_programs_cannot_compute_operators_do_before() {
    every_engine(|config: Config| -> Result<(), Error> {
        let database = open(config);
        let session = database.session();
        session.execute(SCHEMA)?;
        check_calls(&session, CALLS);
        Ok(())
    });
}

/// What stands in no query's row is bound once: the columns that FROM has are named in a hint.
#[test]
fn hints_name_columns_of_all_relations() {
    let database = open(Config::default());
    let session = database.session();
    session.execute(SCHEMA).expect("the schema is right");
    let asked = "SELECT a.id FROM item a JOIN item b ON a.id = b.id WHERE b.prise = 1";
    let error = session.execute(asked).expect_err("there is no such column").to_string();
    assert!(error.contains("column b.prise does not exist"), "{error}");
    let asked = "SELECT prise FROM item a, (SELECT 1 AS one) b";
    let error = session.execute(asked).expect_err("there is no such column").to_string();
    assert!(error.contains("Perhaps you meant \"price\"."), "{error}");
}
