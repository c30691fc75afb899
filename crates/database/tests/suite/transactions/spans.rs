//! Sessions that count what lies between two numbers, twice, while others and calls put rows in and
//! take them out.

use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

use super::{every_transacting_engine, integers, said};
use crate::every_engine::open;
use hotrow::{Database, Session};

const NUMBERS: i64 = 40;
const TABLES: &str = "
CREATE TABLE spot (list bigint, number bigint, name bigint NOT NULL, PRIMARY KEY (list, number));
CREATE INDEX spot_name ON spot (name);
CREATE FUNCTION put(l bigint, n bigint) RETURNS bigint AS $$
BEGIN
  INSERT INTO spot VALUES (l, n, n % 3) ON CONFLICT DO NOTHING;
  RETURN CASE WHEN FOUND THEN 1 ELSE 0 END;
END $$ LANGUAGE plpgsql;
CREATE FUNCTION take(l bigint, n bigint) RETURNS bigint AS $$
BEGIN
  DELETE FROM spot WHERE list = l AND number = n;
  RETURN CASE WHEN FOUND THEN 1 ELSE 0 END;
END $$ LANGUAGE plpgsql;
";

struct Random(u64);

impl Random {
    fn below(&mut self, most: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as i64 % most
    }
}

/// Puts rows in and takes them out by calls, which are never refused.
fn calls(session: &Session, random: &mut Random, rows: &AtomicI64) {
    let (list, number) = (random.below(2), random.below(NUMBERS));
    let (name, sign) = if random.below(2) == 0 { ("put", 1) } else { ("take", -1) };
    let result = session.call(name, (list, number)).expect("calls are never refused");
    let changed = result.all::<(i64,)>().expect("an integer")[0].0;
    rows.fetch_add(sign * changed, Ordering::Relaxed);
}

/// Counts twice in a transaction, with a change of its own that lies elsewhere. The error's code,
/// when it was a conflict.
fn count_twice(session: &Session, random: &mut Random, rows: &AtomicI64) -> Result<(), String> {
    let say = |script: &str| match said(session, script) {
        told if ["40001", "40P01"].contains(&told.as_str()) => Err(told),
        told => Ok(told),
    };
    let (list, from) = (random.below(2), random.below(NUMBERS));
    let to = from + random.below(10);
    let span = match random.below(3) {
        0 => format!("list = {list} AND number BETWEEN {from} AND {to}"),
        1 => format!("list = {list} AND number > {from}"),
        _ => format!("name = {}", from % 3),
    };
    let order = if random.below(2) == 0 { "" } else { "DESC" };
    let query = format!("SELECT number FROM spot WHERE {span} ORDER BY number {order}");
    say("BEGIN")?;
    let count = || match session.execute(&query) {
        Ok(mut results) => {
            let rows = results.pop().expect("one statement").rows.all::<(i64,)>();
            Ok(rows.expect("integers"))
        }
        Err(error) => Err(error.sqlstate().unwrap_or_default().to_owned()),
    };
    let first = count()?;
    thread::yield_now();
    let number = NUMBERS + random.below(3);
    let put = format!("INSERT INTO spot VALUES (2, {number}, 9) ON CONFLICT DO NOTHING");
    let added = i64::from(say(&put)? == "INSERT 0 1");
    // Where statements hold nothing, what two of them saw is compared when the transaction commits.
    let second = count()?;
    if random.below(4) == 0 {
        say("ROLLBACK")?;
        return Ok(());
    }
    say("COMMIT")?;
    assert_eq!(second, first, "a phantom in {span}");
    rows.fetch_add(added, Ordering::Relaxed);
    Ok(())
}

fn run(db: &Database) -> i64 {
    let rows = AtomicI64::new(0);
    thread::scope(|scope| {
        for client in 0..4_u64 {
            let (session, rows) = (db.session(), &rows);
            scope.spawn(move || {
                let mut random = Random(client + 1);
                for _ in 0..60 {
                    if client < 2 {
                        calls(&session, &mut random, rows);
                    } else if let Err(code) = count_twice(&session, &mut random, rows) {
                        assert!(["40001", "40P01"].contains(&code.as_str()), "{code}");
                        said(&session, "ROLLBACK");
                    }
                }
            });
        }
    });
    rows.into_inner()
}

#[test]
fn spans_stay_as_they_were_counted() {
    every_transacting_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(TABLES).expect("the script is right");
        let rows = run(&db);
        assert_eq!(integers(&session, "SELECT count(*) FROM spot"), [rows]);
        let by_name = "SELECT number FROM spot WHERE name >= 0";
        assert_eq!(integers(&session, by_name).len() as i64, rows, "entries are those of rows");
        Ok(())
    });
}
