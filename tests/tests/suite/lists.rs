//! What goes through a list of keys does what a look at every row would do: random statements, each
//! once on a table whose indexes serve it and once on one where each column stands in a sum, which
//! no index serves.

use hotrow::{Database, Error};
use hotrow_tests::{matrix, seed, state};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

const STATEMENTS: usize = 30;
const COLUMNS: [&str; 4] = ["a", "b", "c", "g"];

const SCHEMA: &str = "
CREATE TABLE keyed (a integer, b integer, c integer, g integer, n integer NOT NULL,
    PRIMARY KEY (a, b, c));
CREATE INDEX keyed_g ON keyed (g, b);
CREATE INDEX keyed_c ON keyed USING hash (c);
CREATE TABLE plain (a integer, b integer, c integer, g integer, n integer NOT NULL,
    PRIMARY KEY (a, b, c));
CREATE PROCEDURE fill() LANGUAGE plpgsql AS $$ BEGIN
  FOR a IN 0..3 LOOP FOR b IN 0..3 LOOP FOR c IN 0..2 LOOP
    INSERT INTO keyed VALUES (a, b, c, nullif((a * 5 + b * 3 + c) % 4, 3), a + b);
    INSERT INTO plain VALUES (a, b, c, nullif((a * 5 + b * 3 + c) % 4, 3), a + b);
  END LOOP; END LOOP; END LOOP;
END $$;
CALL fill()";

/// A value of a list: a constant, a parameter, NULL, an expression.
fn value(rng: &mut StdRng) -> String {
    let some = rng.random_range(-1..5);
    match rng.random_range(0..8) {
        0 => "p".to_owned(),
        1 => "q".to_owned(),
        2 => "p + 1".to_owned(),
        3 => format!("{some}::bigint"),
        4 => "NULL".to_owned(),
        _ => some.to_string(),
    }
}

/// A condition on a column, which is written `{column}`.
fn condition(rng: &mut StdRng, column: &str) -> String {
    let list = |rng: &mut StdRng| {
        let count = rng.random_range(1..5);
        (0..count).map(|_| value(rng)).collect::<Vec<_>>().join(", ")
    };
    match rng.random_range(0..7) {
        0 => format!("{{{column}}} = {}", rng.random_range(0..4)),
        1 => format!("{{{column}}} >= {}", rng.random_range(0..4)),
        2 => format!("{{{column}}} = ANY (ks)"),
        3 => format!("{{{column}}} = ANY (ARRAY[{}])", list(rng)),
        4 => format!("({{{column}}} = p OR {{{column}}} = q)"),
        _ => format!("{{{column}}} IN ({})", list(rng)),
    }
}

fn conditions(rng: &mut StdRng) -> String {
    let count = rng.random_range(1..4);
    let all: Vec<_> = (0..count)
        .map(|_| {
            let column = COLUMNS.choose(rng).expect("there are four");
            condition(rng, column)
        })
        .collect();
    all.join(" AND ")
}

/// The body of a function that returns rows of a text; the table is written `{t}`.
fn body(rng: &mut StdRng) -> String {
    let wanted = conditions(rng);
    let way = if rng.random() { "" } else { " DESC" };
    let order = format!("a{way}, b{way}, c{way}");
    let shown = "a || ' ' || b || ' ' || c || ' ' || coalesce(g, -1) || ' ' || n";
    let counted = "GET DIAGNOSTICS k = ROW_COUNT; RETURN NEXT k || ' ' || FOUND;";
    match rng.random_range(0..8) {
        0 => format!("RETURN QUERY SELECT {shown} FROM {{t}} WHERE {wanted} ORDER BY {order};"),
        1 => format!(
            "RETURN QUERY SELECT {shown} FROM {{t}} WHERE {wanted} ORDER BY {order} \
             LIMIT 3 OFFSET 1;"
        ),
        2 => format!(
            "SELECT {shown} INTO v FROM {{t}} WHERE {wanted} ORDER BY n{way}, {order}; {counted} \
             RETURN NEXT v;"
        ),
        3 => format!(
            "SELECT count(*) || ' ' || coalesce(sum(n), -1) || ' ' || coalesce(max(a), -1) || ' ' \
             || count(DISTINCT b) INTO v FROM {{t}} WHERE {wanted}; RETURN NEXT v;"
        ),
        4 => format!(
            "FOR v IN SELECT {shown} FROM {{t}} WHERE {wanted} ORDER BY {order} LOOP \
             UPDATE {{t}} SET n = n + 1 WHERE {wanted}; RETURN NEXT v; END LOOP;"
        ),
        5 => format!("UPDATE {{t}} SET n = n + a + 1 WHERE {wanted}; {counted}"),
        6 => {
            format!("UPDATE {{t}} SET g = coalesce(g, 0) + 1, n = n + 1 WHERE {wanted}; {counted}")
        }
        _ => format!("DELETE FROM {{t}} WHERE {wanted} AND n % 3 = 0; {counted}"),
    }
}

/// The body on one of the tables: its columns as they are, or in a sum.
fn on(table: &str, body: &str) -> String {
    let mut text = body.replace("{t}", table);
    for column in COLUMNS {
        let written = match table {
            "plain" => format!("({column} + 0)"),
            _ => column.to_owned(),
        };
        text = text.replace(&format!("{{{column}}}"), &written);
    }
    text
}

fn outcome(db: &Database, table: &str, body: &str, arguments: &str) -> Result<String, String> {
    let text = format!(
        "CREATE OR REPLACE FUNCTION on_{table}(p integer, q integer, ks integer[]) RETURNS \
         SETOF text \
         LANGUAGE plpgsql AS $$ DECLARE v text; k bigint; BEGIN {} END $$; \
         CALL on_{table}({arguments})",
        on(table, body)
    );
    let done = db.session().execute(&text).map(|mut results| results.remove(1).rows);
    let rows = done.map_err(|error: Error| format!("{error}"))?;
    Ok(rows.iter().map(|row| format!("{row:?}")).collect::<Vec<_>>().join("\n"))
}

#[test]
fn lists_of_keys_do_what_a_look_at_every_row_does() {
    let setups: Vec<_> = matrix::setups(&[1, 2]);
    seed::for_seeds(1, 60, |_, mut rng| {
        let setup = setups.choose(&mut rng).expect("there are engines");
        let db = setup.open();
        db.session().execute(SCHEMA).expect("the schema is right");
        for _ in 0..STATEMENTS {
            let body = body(&mut rng);
            let mut some = || rng.random_range(-1..5);
            let (p, q) = (some(), some());
            let ks = ["ARRAY[3, 1, 3, NULL]", "ARRAY[]::integer[]", "NULL", "ARRAY[0, 2, 1]"];
            let arguments = format!("{p}, {q}, {}", ks.choose(&mut rng).expect("there are four"));
            let [keyed, plain] =
                ["keyed", "plain"].map(|table| outcome(&db, table, &body, &arguments));
            assert_eq!(keyed, plain, "{}: {body} with {arguments}", setup.name);
            assert!(keyed.is_ok(), "{}: {body} with {arguments}: {keyed:?}", setup.name);
        }
        let rows = |table: &str| {
            let text = format!("SELECT * FROM {table} ORDER BY a, b, c");
            let rows = db.session().execute(&text).expect("it reads").remove(0).rows;
            rows.iter().map(|row| format!("{row:?}")).collect::<Vec<_>>()
        };
        assert_eq!(rows("keyed"), rows("plain"), "{}", setup.name);
        state::dump_checked(&db);
    });
}
