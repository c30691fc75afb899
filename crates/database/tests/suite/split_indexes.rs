//! Indexes that are split into parts: which are, and that nothing else is to be seen of it.

use crate::every_engine::{every_engine, open};
use crate::scratch::Directory;
use hotrow::{Config, Database, Error, Session};

const PARTS: u16 = 5;
const TABLE: &str = "
    CREATE TABLE seat (hall bigint, line bigint, number bigint, guest text, price bigint,
      PRIMARY KEY (hall, line, number));
    CREATE INDEX seat_guest ON seat (guest);
";
const INDEXES: &str = "
    CREATE UNIQUE INDEX seat_guest_in_hall ON seat (hall, guest);
    CREATE INDEX seat_number ON seat USING hash (hall, number);
";
/// Binds the whole key.
const OFFER: &str = "
    CREATE PROCEDURE offer(h bigint, l bigint, n bigint, cents bigint) AS $$
    BEGIN
      UPDATE seat SET price = cents WHERE hall = h AND line = l AND number = n;
    END $$ LANGUAGE plpgsql;
";
/// Binds less of it.
const OFFER_LINE: &str = "
    CREATE PROCEDURE offer_line(h bigint, l bigint, cents bigint) AS $$
    BEGIN
      UPDATE seat SET price = cents WHERE hall = h AND line = l;
    END $$ LANGUAGE plpgsql;
";
const HALLS: i64 = 7;
const LINES: i64 = 5;
const SEATS: i64 = 9;

/// How many parts each index has, the primary key's first.
fn parts(db: &Database) -> Vec<usize> {
    let report = db.memory().expect("nobody is in the way");
    let table = report.tables.iter().find(|table| table.name == "seat").expect("it is there");
    table.indexes.iter().map(|index| index.parts).collect()
}

fn numbers(session: &Session, query: &str) -> Result<Vec<(i64, i64, i64)>, Error> {
    session.execute(query)?.pop().expect("one statement").rows.all()
}

/// Changes the table, which no procedure does: a single statement may be kept as one.
fn change(session: &Session, statement: &str) -> Result<(), Error> {
    let changed = session.execute(&format!("BEGIN; {statement}; COMMIT")).map(drop);
    changed.or_else(|error| session.execute("ROLLBACK").and(Err(error)))
}

fn fill(session: &Session) -> Result<(), Error> {
    for hall in 0..HALLS {
        let seats = (0..LINES * SEATS).map(|at| {
            let (line, number) = (at / SEATS, at % SEATS);
            format!("({hall}, {line}, {number}, 'g{hall}-{line}-{number}', 0)")
        });
        let seats: Vec<_> = seats.collect();
        change(session, &format!("INSERT INTO seat VALUES {}", seats.join(", ")))?;
    }
    Ok(())
}

/// Looks at all rows by every index, in every order.
fn look(session: &Session) -> Result<(), Error> {
    let all: Vec<_> = (0..HALLS * LINES * SEATS)
        .map(|at| (at / (LINES * SEATS), at / SEATS % LINES, at % SEATS))
        .collect();
    let columns = "SELECT hall, line, number FROM seat";
    let backwards: Vec<_> = all.iter().rev().copied().collect();
    let by = "hall, line, number";
    assert_eq!(numbers(session, &format!("{columns} ORDER BY {by}"))?, all);
    let query = format!("{columns} ORDER BY hall DESC, line DESC, number DESC");
    assert_eq!(numbers(session, &query)?, backwards);
    let some: Vec<_> = all.iter().copied().filter(|&(hall, ..)| (2..=4).contains(&hall)).collect();
    let query = format!("{columns} WHERE hall BETWEEN 2 AND 4 ORDER BY {by}");
    assert_eq!(numbers(session, &query)?, some);
    assert_eq!(numbers(session, &format!("{query} LIMIT 3"))?, some[..3]);
    let query = format!("{columns} WHERE hall > 4 ORDER BY hall DESC, line DESC, number DESC");
    assert_eq!(numbers(session, &format!("{query} LIMIT 2"))?, backwards[..2]);
    for &(hall, line, number) in all.iter().step_by(11) {
        let one = [(hall, line, number)];
        let guest = format!("guest = 'g{hall}-{line}-{number}'");
        assert_eq!(numbers(session, &format!("{columns} WHERE {guest}"))?, one);
        let query = format!("{columns} WHERE hall = {hall} AND {guest}");
        assert_eq!(numbers(session, &query)?, one);
        let whole = format!("hall = {hall} AND line = {line} AND number = {number}");
        assert_eq!(numbers(session, &format!("{columns} WHERE {whole}"))?, one);
        let query = format!("{columns} WHERE hall = {hall} AND number = {number} ORDER BY line");
        let expected: Vec<_> = (0..LINES).map(|line| (hall, line, number)).collect();
        assert_eq!(numbers(session, &query)?, expected);
    }
    Ok(())
}

#[test]
fn indexes_are_split_by_what_procedures_bind_and_by_no_more() {
    every_engine(|config| {
        let db = open(config.split_indexes(PARTS));
        let session = db.session();
        session.execute(TABLE)?;
        fill(&session)?;
        assert_eq!(parts(&db), [1, 1], "no procedure writes it");
        look(&session)?;
        session.execute(OFFER)?;
        assert_eq!(parts(&db), [5, 1], "by all of the primary key");
        look(&session)?;
        session.execute(OFFER_LINE)?;
        assert_eq!(parts(&db), [5, 1], "by hall and line");
        look(&session)?;
        session.execute(INDEXES)?;
        assert_eq!(parts(&db), [5, 1, 5, 5], "by hall, with which three begin");
        look(&session)?;
        session.execute(
            "CREATE PROCEDURE turn_out(h bigint, l bigint) AS $$
             BEGIN UPDATE seat SET guest = NULL WHERE hall = h AND line = l;
             END $$ LANGUAGE plpgsql;
             CREATE PROCEDURE book(h bigint, l bigint, n bigint, who text) AS $$
             BEGIN UPDATE seat SET guest = who WHERE hall = h AND line = l AND number = n;
             END $$ LANGUAGE plpgsql",
        )?;
        assert_eq!(parts(&db), [5, 1, 5, 5]);
        look(&session)?;
        let twice = "INSERT INTO seat VALUES (3, 99, 99, 'g3-0-0', 0)";
        let refused = change(&session, twice).expect_err("the guest is in the hall");
        assert_eq!(refused.sqlstate(), Some("23505"));
        change(&session, "INSERT INTO seat VALUES (4, 99, 99, 'g3-0-0', 0)")?;
        change(&session, "DELETE FROM seat WHERE hall = 4 AND line = 99")?;
        look(&session)?;
        session.call("turn_out", (2_i64, 3_i64))?;
        let query = "SELECT hall, line, number FROM seat WHERE guest IS NULL ORDER BY number";
        let cleared: Vec<_> = (0..SEATS).map(|number| (2, 3, number)).collect();
        assert_eq!(numbers(&session, query)?, cleared);
        for number in 0..SEATS {
            session.call("book", (2_i64, 3_i64, number, format!("g2-3-{number}")))?;
        }
        look(&session)?;
        session.execute(
            "DROP PROCEDURE book; DROP PROCEDURE turn_out; DROP PROCEDURE offer_line;
             DROP PROCEDURE offer",
        )?;
        assert_eq!(parts(&db), [1, 1, 1, 1]);
        look(&session)?;
        Ok(())
    });
}

#[test]
fn a_database_opens_with_other_parts_than_it_had() {
    let directory = Directory::new("split-indexes");
    for (round, split) in [3, 1, 256, 2].into_iter().enumerate() {
        let config = Config::default().threads(2).split_indexes(split);
        let db = Database::open(&directory.0, config).expect("the directory can be used");
        let session = db.session();
        if round == 0 {
            session.execute(TABLE).expect("a legal table");
            session.execute(INDEXES).expect("legal indexes");
            session.execute(OFFER_LINE).expect("a legal procedure");
            fill(&session).expect("there is room");
        }
        assert_eq!(parts(&db)[0], usize::from(split));
        look(&session).expect("legal queries");
        session.call("offer_line", (5_i64, round as i64, 100_i64)).expect("no call fails");
        let query = "SELECT hall, line, number FROM seat WHERE price > 0";
        let offered = numbers(&session, query).expect("a legal query").len();
        assert_eq!(offered, (round + 1) * SEATS as usize);
        if round == 1 {
            db.checkpoint().expect("there is room on the disk");
        }
    }
}

#[test]
fn no_parts_and_too_many_are_refused() {
    for parts in [0, 257] {
        let config = Config::default().split_indexes(parts);
        let refused = Database::open_in_memory(config).expect_err("1 to 256");
        assert_eq!(refused.to_string(), format!("split_indexes must be 1 to 256, not {parts}"));
    }
}
