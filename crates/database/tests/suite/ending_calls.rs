//! Calls that commit before their end, run statement by statement.

use hotrow::{Error, Session};

use crate::every_engine::{each_engine, open};

const CLIENTS: i64 = 3;
const CALLS: i64 = 4;
const ROWS: i64 = 6;

const SETUP: &str = "
CREATE TABLE t (id integer PRIMARY KEY, n integer NOT NULL);
INSERT INTO t SELECT id, 0 FROM generate_series(1, 6) id;
CREATE TABLE log (client integer, turn integer);
CREATE PROCEDURE adds(client integer, up boolean) LANGUAGE plpgsql AS $$
DECLARE at integer; before integer;
BEGIN
    FOR i IN 1..6 LOOP
        at := CASE WHEN up THEN i ELSE 7 - i END;
        SELECT n INTO before FROM t WHERE id = at;
        INSERT INTO log VALUES (client, i);
        UPDATE t SET n = before + 1 WHERE id = at;
        IF i % 2 = 0 THEN COMMIT; END IF;
    END LOOP;
END $$;
";

/// Calls that change the same rows at once, in orders that have them wait for each other, or meet
/// conflicts: what one has committed is done once, whatever is done again behind it.
#[test]
fn what_was_committed_is_done_once() {
    each_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(SETUP)?;
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let db = &db;
                scope.spawn(move || {
                    let session = db.session();
                    for turn in 0..CALLS {
                        let call = format!("CALL adds({client}, {})", (client + turn) % 2 == 0);
                        session.execute(&call).expect("no call fails");
                    }
                });
            }
        });
        let all = CLIENTS * CALLS * ROWS;
        assert_eq!(number(&session, "SELECT sum(n) FROM t")?, all);
        assert_eq!(number(&session, "SELECT count(*) FROM log")?, all);
        assert_eq!(number(&session, "SELECT min(n) FROM t")?, CLIENTS * CALLS);
        Ok(())
    });
}

fn number(session: &Session, text: &str) -> Result<i64, Error> {
    let mut results = session.execute(text)?;
    results.remove(0).rows.one::<i64>()
}
