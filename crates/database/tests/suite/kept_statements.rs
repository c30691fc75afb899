//! Single statements that are sent again and again: on engines that do not lock as they go they are
//! planned and run as calls are.

use std::time::{Duration, Instant};

use crate::every_engine::{every_engine, open};
use crate::scratch::Directory;
use hotrow::{Config, Database, Error, Session, Value};

const STOCK: &str = "
CREATE TABLE stock (item bigint PRIMARY KEY, pieces integer NOT NULL CHECK (pieces >= 0));
INSERT INTO stock VALUES (1, 1000), (2, 1000), (3, 1000), (4, 1000), (5, 1000), (6, 1000),
    (7, 1000), (8, 1000), (9, 1000), (10, 1000);
CREATE TABLE sale (id bigserial PRIMARY KEY, item bigint NOT NULL, note text);
";
const THREADS: i64 = 4;
const ROUNDS: i64 = 25;

fn one(session: &Session, statement: &str) -> Value {
    let results = session.execute(statement).unwrap_or_else(|e| panic!("{statement}: {e}"));
    results[0].rows.iter().next().map_or(Value::Null, |row| row[0].clone())
}

/// Runs statements of threads that share ten rows: half are prepared, half have their values in
/// their text.
fn sell(db: &Database) -> Result<(), Error> {
    std::thread::scope(|scope| {
        let clients = (0..THREADS).map(|client| {
            scope.spawn(move || {
                let session = db.session();
                let take = session.prepare(
                    "UPDATE stock SET pieces = pieces - $2 WHERE item = $1 RETURNING pieces",
                    &[],
                )?;
                for round in 0..ROUNDS {
                    let item = (client + round) % 10 + 1;
                    if client % 2 == 0 {
                        let left =
                            session.execute_prepared(&take, &[item.into(), Value::Int(1)])?;
                        assert_eq!(left.tag, "UPDATE 1");
                        assert!(left.rows.one::<i32>()? < 1000);
                    } else {
                        let left = session.execute(&format!(
                            "UPDATE stock SET pieces = pieces - 1 WHERE item = {item} \
                             RETURNING pieces AS still"
                        ))?;
                        assert_eq!(
                            (&*left[0].tag, &*left[0].rows.columns()[0]),
                            ("UPDATE 1", "still")
                        );
                    }
                    let sold = session.execute(&format!(
                        "INSERT INTO sale (item, note) VALUES ({item}, 'it''s {round}')"
                    ))?;
                    assert_eq!(sold[0].tag, "INSERT 0 1");
                }
                Ok(())
            })
        });
        let clients: Vec<_> = clients.collect();
        clients.into_iter().try_for_each(|client| client.join().expect("it does not panic"))
    })
}

fn check(session: &Session, times: i64) {
    let taken = times * THREADS * ROUNDS;
    assert_eq!(one(session, "SELECT sum(pieces) FROM stock"), Value::BigInt(10_000 - taken));
    assert_eq!(one(session, "SELECT count(*) FROM sale"), Value::BigInt(taken));
    assert_eq!(one(session, "SELECT count(DISTINCT id) FROM sale"), Value::BigInt(taken));
    assert_eq!(
        one(session, "SELECT count(*) FROM sale WHERE note LIKE 'it''s %'"),
        Value::BigInt(taken)
    );
}

/// Whether statements lock what they touch, and are no calls.
fn locks_as_it_goes(config: &Config) -> bool {
    let mut engines = hotrow::engines().iter();
    engines.any(|entry| entry.name == config.engine && entry.locks_as_it_goes)
}

#[test]
fn statements_are_calls_on_every_engine() {
    every_engine(|config| {
        let locks = locks_as_it_goes(&config);
        let db = open(config);
        let session = db.session();
        session.execute(STOCK)?;
        sell(&db)?;
        check(&session, 1);
        if locks {
            return Ok(());
        }
        // Each session executes either of its statements a few times before it is kept.
        let committed = db.statistics().committed;
        assert!(committed >= (THREADS * ROUNDS) as u64, "{committed} went to the engine");
        assert_eq!(db.procedures(), [], "nobody has made a procedure");
        assert_eq!(
            one(&session, "SELECT count(*) FROM pg_proc WHERE proname LIKE '%stock%'"),
            Value::BigInt(0)
        );
        Ok(())
    });
}

#[test]
fn definitions_are_not_kept_from_anything_by_statements() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(STOCK)?;
        sell(&db)?;
        let read = session.prepare("SELECT pieces FROM stock WHERE item = $1", &[])?;
        let pieces = |session: &Session| {
            session.execute_prepared(&read, &[Value::BigInt(3)]).map(|done| done.rows)
        };
        for _ in 0..5 {
            pieces(&session)?;
        }
        // What they say is the same in another catalog.
        session.execute("ALTER TABLE stock ADD COLUMN color text DEFAULT 'red'")?;
        session.execute("CREATE INDEX sold ON sale (item)")?;
        sell(&db)?;
        check(&session, 2);
        // A procedure for the same tables is as if they were not there.
        session.execute(
            "CREATE FUNCTION paint(what bigint) RETURNS text LANGUAGE plpgsql AS $$
             DECLARE result text;
             BEGIN
                 UPDATE stock SET color = 'blue' WHERE item = what RETURNING color INTO result;
                 RETURN result;
             END $$",
        )?;
        let explained = |session: &Session| -> Result<Vec<String>, Error> {
            let rows = &session.execute("EXPLAIN PROCEDURE paint")?[0].rows;
            Ok(rows.iter().map(|row| row[0].to_string()).collect())
        };
        let before = explained(&session)?;
        assert_eq!(session.call("paint", (1_i64,))?.one::<String>()?, "blue");
        for _ in 0..5 {
            session.execute_prepared(&read, &[Value::BigInt(3)])?;
            session.execute("SELECT item FROM stock WHERE pieces > 5")?;
        }
        sell(&db)?;
        check(&session, 3);
        assert_eq!(explained(&session)?, before);
        // What they name may go.
        session.execute("ALTER TABLE stock DROP COLUMN color CASCADE").err();
        session
            .execute("DROP FUNCTION paint; ALTER TABLE stock RENAME COLUMN pieces TO left_over")?;
        assert_eq!(pieces(&session).expect_err("it is renamed").sqlstate(), Some("42703"));
        session.execute("DROP TABLE stock")?;
        assert_eq!(pieces(&session).expect_err("it is dropped").sqlstate(), Some("42P01"));
        session.execute("CREATE TABLE stock (item bigint PRIMARY KEY, pieces integer)")?;
        session.execute("INSERT INTO stock VALUES (3, 7)")?;
        for _ in 0..5 {
            assert_eq!(pieces(&session)?.one::<i32>()?, 7);
        }
        Ok(())
    });
}

#[test]
fn errors_are_those_of_the_statement() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(STOCK)?;
        let take = session.prepare("UPDATE stock SET pieces = pieces - $2 WHERE item = $1", &[])?;
        let add = session.prepare("INSERT INTO stock VALUES ($1, $2)", &[])?;
        for round in 0..6 {
            session.execute_prepared(&take, &[Value::BigInt(1), Value::Int(1)])?;
            let error = session
                .execute_prepared(&take, &[Value::BigInt(1), Value::Int(100_000)])
                .expect_err("there are not so many");
            assert_eq!(error.sqlstate(), Some("23514"), "{round}: {error}");
            let error = session
                .execute_prepared(&add, &[Value::BigInt(1), Value::Int(1)])
                .expect_err("it is there");
            assert_eq!(error.sqlstate(), Some("23505"), "{round}: {error}");
            let error =
                session.execute_prepared(&add, &[Value::BigInt(1)]).expect_err("one is missing");
            assert_eq!(error.sqlstate(), Some("08P01"), "{round}: {error}");
            let error = session
                .execute_prepared(&add, &[Value::from("many"), Value::Int(1)])
                .expect_err("that is no number");
            assert_eq!(error.sqlstate(), Some("22P02"), "{round}: {error}");
        }
        assert_eq!(one(&session, "SELECT pieces FROM stock WHERE item = 1"), Value::Int(994));
        Ok(())
    });
}

#[test]
fn kept_statements_are_there_again() {
    every_engine(|config| {
        let directory = Directory::new("kept-statements");
        for times in 1..=3 {
            let db = Database::open(&directory.0, config.clone())?;
            let session = db.session();
            if times == 1 {
                session.execute(STOCK)?;
            }
            check(&session, times - 1);
            sell(&db)?;
            check(&session, times);
            if times == 2 {
                db.checkpoint()?;
            }
            drop(session);
            db.shutdown();
        }
        Ok(())
    });
}

/// Joins, and changes of rows that a query gives, are one program each where there are no
/// transactions of several statements, and calls once they are sent again and again.
#[test]
fn statements_of_any_shape_are_calls() {
    every_engine(|config| {
        let locks = locks_as_it_goes(&config);
        let db = open(config);
        let session = db.session();
        session.execute(
            "CREATE TABLE kind (id int PRIMARY KEY, name text NOT NULL, n int NOT NULL);
             CREATE TABLE piece (id int PRIMARY KEY, kind int NOT NULL, w int NOT NULL);
             INSERT INTO kind VALUES (1, 'a', 0), (2, 'b', 0), (3, 'c', 0);
             INSERT INTO piece SELECT n, n % 3 + 1, 0 FROM generate_series(1, 30) n;
             UPDATE kind SET n = (SELECT count(*) FROM piece WHERE piece.kind = kind.id);",
        )?;
        let named = "SELECT k.name, p.w FROM piece p JOIN kind k ON k.id = p.kind WHERE p.id = $1";
        let named = session.prepare(named, &[])?;
        let heavier =
            "UPDATE piece p SET w = p.w + k.n FROM kind k WHERE k.id = p.kind AND p.id = $1";
        let heavier = session.prepare(heavier, &[])?;
        for round in 0..6 {
            let done = session.execute_prepared(&heavier, &[Value::Int(7)])?;
            assert_eq!(done.tag, "UPDATE 1");
            let rows = session.execute_prepared(&named, &[Value::Int(7)])?.rows;
            assert_eq!(rows.columns(), ["name", "w"]);
            assert_eq!(rows.one::<(String, i32)>()?, ("b".to_owned(), 10 * (round + 1)));
        }
        let copied = session.execute(
            "INSERT INTO piece SELECT p.id + 100, p.kind, k.n FROM piece p JOIN kind k ON k.id = \
             p.kind WHERE k.name = 'c' RETURNING id",
        )?;
        assert_eq!((copied[0].tag.as_str(), copied[0].rows.len()), ("INSERT 0 10", 10));
        let gone =
            session.execute("DELETE FROM piece USING kind k WHERE k.id = kind AND k.id = 3")?;
        assert_eq!(gone[0].tag, "DELETE 20");
        if !locks {
            // Threads write their books when they find nothing to do, or every few turns.
            let deadline = Instant::now() + Duration::from_secs(10);
            while db.statistics().committed < 6 && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            let committed = db.statistics().committed;
            assert!(committed >= 6, "{committed} went to the engine");
        }
        Ok(())
    });
}
