//! A flash sale: many buyers, one hot row, and never more sold than there was.
//!
//! `cargo run --release -p hotrow --example flash_sale`

use std::time::Instant;

use hotrow::{Config, Database, Error};

const STOCK: i64 = 100_000;
const BUYERS: usize = 8;

const SCHEMA: &str = "
CREATE TABLE item (id bigint PRIMARY KEY, left_over bigint NOT NULL CHECK (left_over >= 0));
CREATE TABLE sale (item bigint, number bigint, buyer bigint NOT NULL, PRIMARY KEY (item, number));

CREATE FUNCTION buy(wanted bigint, buyer bigint) RETURNS bigint AS $$
DECLARE
  rest bigint;
BEGIN
  SELECT left_over INTO rest FROM item WHERE id = wanted;
  IF rest = 0 THEN
    RAISE EXCEPTION 'sold out';
  END IF;
  UPDATE item SET left_over = rest - 1 WHERE id = wanted;
  INSERT INTO sale VALUES (wanted, rest, buyer);
  RETURN rest;
END $$ LANGUAGE plpgsql;
";

fn main() -> Result<(), Error> {
    let db = Database::open_in_memory(Config::default())?;
    let session = db.session();
    session.execute(SCHEMA)?;
    session.execute(&format!("INSERT INTO item VALUES (1, {STOCK})"))?;

    let (start, shop) = (Instant::now(), &db);
    let sold: Vec<u64> = std::thread::scope(|scope| {
        let buyers: Vec<_> =
            (0..BUYERS).map(|buyer| scope.spawn(move || buy_until_sold_out(shop, buyer))).collect();
        buyers.into_iter().map(|thread| thread.join().expect("no buyer panics")).collect()
    });
    let seconds = start.elapsed().as_secs_f64();

    let rest: i64 = session.execute("SELECT left_over FROM item")?.remove(0).rows.one()?;
    let sales: i64 = session.execute("SELECT count(*) FROM sale")?.remove(0).rows.one()?;
    println!("{BUYERS} buyers, one row: sold {sales} of {STOCK}, {rest} left");
    println!("by buyer: {sold:?}");
    println!("{:.0} calls/s", STOCK as f64 / seconds);
    assert_eq!((rest, sales), (0, STOCK), "nothing oversold, nothing lost");
    Ok(())
}

/// How many this buyer got.
fn buy_until_sold_out(db: &Database, buyer: usize) -> u64 {
    let buy = db.session().procedure("buy").expect("the schema has it");
    let mut got = 0;
    loop {
        match buy.call((1_i64, buyer as i64)) {
            Ok(_) => got += 1,
            Err(error) if error.sqlstate() == Some("P0001") => return got, // sold out
            Err(error) => panic!("{error}"),
        }
    }
}
