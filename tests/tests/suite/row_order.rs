//! Results depend on what a database holds, not on where its rows lie or who put them there.

use hotrow::{Database, Rows};
use hotrow_tests::{matrix, state};

const ROWS: u64 = 60;
const SESSIONS: u64 = 3;

const SCHEMA: &str = "
CREATE TABLE tree (id bigint PRIMARY KEY, g bigint, u bigint UNIQUE);
CREATE INDEX tree_g ON tree USING hash (g);
CREATE TABLE hashed (id bigint PRIMARY KEY, g bigint, u bigint UNIQUE) WITH (primary_index = hash);
CREATE INDEX hashed_g ON hashed USING hash (g);
CREATE TABLE keyless (id bigint, g bigint, f double precision);
CREATE PROCEDURE fill(i bigint) LANGUAGE plpgsql AS $$ DECLARE n bigint := i; BEGIN
  IF i % 7 = 0 THEN n := NULL; END IF;
  INSERT INTO tree VALUES (i, i % 5, n) ON CONFLICT DO NOTHING;
  INSERT INTO hashed VALUES (i, i % 5, n) ON CONFLICT DO NOTHING;
END $$;
CREATE PROCEDURE note(i bigint) LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO keyless VALUES (i % 9, i % 5, 1.0 / (i + 1));
END $$;
CREATE PROCEDURE empty(i bigint) LANGUAGE plpgsql AS $$ BEGIN
  DELETE FROM tree WHERE id = i;
  DELETE FROM hashed WHERE id = i;
END $$;
CREATE FUNCTION joined() RETURNS TABLE (a bigint, b bigint) LANGUAGE plpgsql AS $$ BEGIN
  RETURN QUERY SELECT h.id, t.id FROM hashed h JOIN tree t ON t.g = h.g LIMIT 17;
END $$;
CREATE FUNCTION by_key() RETURNS TABLE (a bigint, b double precision) LANGUAGE plpgsql AS $$ BEGIN
  RETURN QUERY SELECT h.u, k.f FROM keyless k LEFT JOIN hashed h ON h.id = k.id OFFSET 3;
END $$;
CREATE FUNCTION listed() RETURNS TABLE (g bigint, ids text) LANGUAGE plpgsql AS $$ BEGIN
  RETURN QUERY SELECT h.g, string_agg(h.id::text, ',') FROM hashed h GROUP BY h.g
    UNION ALL SELECT k.id, string_agg(k.g::text, '') FROM keyless k GROUP BY k.id;
END $$;
CREATE FUNCTION first_ones() RETURNS TABLE (g bigint, id bigint, n bigint) LANGUAGE plpgsql AS $$
DECLARE r record; BEGIN
  FOR r IN SELECT DISTINCT ON (h.g) h.g, h.id, row_number() OVER (PARTITION BY h.u % 3) AS n
           FROM hashed h WHERE EXISTS (SELECT 1 FROM keyless k WHERE k.g = h.g) LOOP
    g := r.g; id := r.id; n := r.n; RETURN NEXT;
  END LOOP;
END $$;
CREATE FUNCTION any_one() RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE v bigint; BEGIN
  SELECT k.id * 100 + h.id INTO v FROM keyless k, hashed h WHERE k.g = h.g;
  RETURN v + (SELECT x.id FROM hashed x WHERE x.g = 3 LIMIT 1);
END $$;
CREATE PROCEDURE copy_some() LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO tree SELECT 1000 + h.id, h.g, 1000 + h.u FROM hashed h, keyless k
    WHERE k.g = h.g LIMIT 9 ON CONFLICT DO NOTHING;
  UPDATE tree SET g = k.id FROM keyless k WHERE k.g = tree.g AND tree.id < 20;
END $$;
CREATE PROCEDURE forget() LANGUAGE plpgsql AS $$ BEGIN DELETE FROM keyless; END $$;
";

/// Statements that show the order of rows; those that change them come last.
const QUESTIONS: &[&str] = &[
    "SELECT * FROM tree",
    "SELECT id FROM tree WHERE g = 2",
    "SELECT id FROM tree WHERE g > 1 LIMIT 4 OFFSET 2",
    "SELECT id FROM tree ORDER BY u DESC LIMIT 12",
    "SELECT * FROM hashed",
    "SELECT id FROM hashed WHERE g = 2 LIMIT 3",
    "SELECT DISTINCT g FROM hashed",
    "SELECT id FROM hashed ORDER BY g",
    "SELECT * FROM keyless",
    "SELECT f FROM keyless WHERE g = 1 LIMIT 1",
    "SELECT sum(f), avg(f) FROM keyless",
    "SELECT * FROM joined()",
    "SELECT * FROM by_key()",
    "SELECT * FROM listed()",
    "SELECT * FROM first_ones()",
    "SELECT any_one()",
    "CALL copy_some()",
    "SELECT * FROM tree",
    "UPDATE keyless SET g = 0 WHERE g = 3 RETURNING id, f",
    // Upwards each value meets the next one; downwards it has made room.
    "UPDATE tree SET u = u + 1",
    "UPDATE tree SET u = u - 1 RETURNING id, u",
    "UPDATE hashed SET u = u + 5 WHERE g = 4",
    "UPDATE hashed SET u = u - 5 WHERE g = 4",
    "UPDATE hashed SET u = u - 100",
    "DELETE FROM hashed WHERE g = 2 RETURNING id",
];

fn run(db: &Database, sql: &str) {
    db.session().execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// One session puts the rows in, in order of their numbers.
fn in_order(db: &Database) {
    (0..ROWS).for_each(|i| run(db, &format!("CALL fill({i}); CALL note({i})")));
}

/// Several sessions put rows in, from the last one down, take some out, and put them in again.
fn in_disorder(db: &Database) {
    (0..ROWS / 2).for_each(|i| run(db, &format!("CALL fill({}); CALL note({i})", i * 2)));
    run(db, "CALL forget()");
    std::thread::scope(|scope| {
        for number in 0..SESSIONS {
            scope.spawn(move || {
                for i in (0..ROWS).rev().filter(|i| i % SESSIONS == number) {
                    run(db, &format!("CALL empty({i}); CALL fill({i}); CALL note({i})"));
                }
            });
        }
    });
}

fn answers(db: &Database) -> Vec<String> {
    let answer = |sql: &&str| {
        let rows: Result<Vec<Rows>, _> = db
            .session()
            .execute(sql)
            .map(|results| results.into_iter().map(|result| result.rows).collect());
        match rows {
            Ok(rows) => format!("{sql}: {rows:?}"),
            Err(error) => format!("{sql}: {}", error.sqlstate().unwrap_or("?")),
        }
    };
    QUESTIONS.iter().map(answer).collect()
}

#[test]
fn rows_in_other_places_give_the_same_results() {
    let expected = matrix::reference().open();
    run(&expected, SCHEMA);
    in_order(&expected);
    let (answered, state) = (answers(&expected), state::dump_checked(&expected));
    let failed = answered.iter().filter(|answer| answer.ends_with(": 23505")).count();
    assert_eq!(failed, 2, "the updates upwards collide: {answered:?}");
    for setup in matrix::setups(&[1, 2, 4]) {
        let db = setup.open();
        run(&db, SCHEMA);
        in_disorder(&db);
        for (given, expected) in answers(&db).iter().zip(&answered) {
            assert_eq!(given, expected, "{}", setup.name);
        }
        assert_eq!(state::dump_checked(&db), state, "{}", setup.name);
    }
}
