//! What benchmarks use: bulk loading, engines with sources of their own, traces.

use crate::every_engine::{every_engine, open};
use hotrow::{
    CallSource, Config, Database, Datum, EngineOptions, Error, Invocation, ProcedureId, Value,
};
use hotrow_engine::source::{End, Fetch, Ticket};

const TABLES: &str = "
CREATE TABLE place (id bigint PRIMARY KEY, name varchar(10) NOT NULL, size integer);
CREATE INDEX place_size ON place (size);
CREATE UNIQUE INDEX place_name ON place USING hash (name);
CREATE FUNCTION grow(wanted bigint) RETURNS void AS $$
BEGIN UPDATE place SET size = size + 1 WHERE id = wanted; END $$ LANGUAGE plpgsql;
";

fn load(db: &Database, rows: i64) -> Result<(), Error> {
    let loader = db.bulk_loader()?;
    let parts = loader.parts();
    let count = parts.len() as i64;
    std::thread::scope(|scope| {
        for (number, mut part) in parts.into_iter().enumerate() {
            scope.spawn(move || {
                for id in (0..rows).filter(|id| id % count == number as i64) {
                    let name = format!("p{id}");
                    let name_at = Datum::range(0, name.len() as u32);
                    let row = [Datum::int(id), name_at, Datum::int(id % 10)];
                    part.load("place", &row, name.as_bytes()).expect("the row is right");
                }
            });
        }
    });
    Ok(())
}

/// Hands out a number of calls, one after the other.
struct Calls {
    left: i64,
    procedure: ProcedureId,
}

impl CallSource for Calls {
    fn fetch(&mut self, invocation: &mut Invocation) -> Fetch {
        if self.left == 0 {
            return Fetch::Closed;
        }
        self.left -= 1;
        invocation.procedure = self.procedure;
        invocation.arguments.clear();
        invocation.arguments.push_int(self.left % 5);
        Fetch::Ready(Ticket(0))
    }

    fn wait(&mut self) {}

    fn finish(&mut self, _: Ticket, end: End<'_>) {
        assert!(matches!(end, End::Committed { .. }));
    }
}

#[test]
fn bulk_rows_are_in_all_indexes_and_checked() {
    let db = Database::open_in_memory_without_engine(Config::default().threads(3))
        .expect("the configuration is right");
    let session = db.session();
    session.execute(TABLES).expect("the schema is right");
    load(&db, 1000).expect("no engine runs");
    let count = |sql: &str| -> i64 {
        session.execute(sql).expect("a query").remove(0).rows.one().expect("a count")
    };
    assert_eq!(count("SELECT count(*) FROM place"), 1000);
    assert_eq!(count("SELECT count(*) FROM place WHERE size = 3"), 100);
    assert_eq!(count("SELECT id FROM place WHERE name = 'p77'"), 77);
    {
        let loader = db.bulk_loader().expect("no engine runs");
        let mut part = loader.parts().remove(0);
        let mut refused = |table: &str, row: &[Datum]| -> String {
            let error = part.load(table, row, b"p5p77new").expect_err("it must be refused");
            error.sqlstate().expect("it is SQL").to_owned()
        };
        let new = Datum::range(5, 3);
        assert_eq!(refused("place", &[Datum::int(5), new, Datum::NULL]), "23505");
        assert_eq!(refused("place", &[Datum::int(5000), Datum::range(2, 3), new]), "22003");
        assert_eq!(refused("place", &[Datum::int(5000), Datum::range(2, 3), Datum::NULL]), "23505");
        assert_eq!(refused("place", &[Datum::int(5000), Datum::NULL, Datum::NULL]), "23502");
        assert_eq!(refused("place", &[Datum::int(5000), Datum::range(9, 9), new]), "42804");
        assert_eq!(refused("place", &[Datum::int(5000)]), "42804");
        assert_eq!(refused("nowhere", &[Datum::int(5000)]), "42P01");
        part.load("place", &[Datum::int(5000), new, Datum::NULL], b"p5p77new").expect("right");
    }
    assert_eq!(count("SELECT count(*) FROM place"), 1001);
    let report = db.memory().expect("it is open");
    assert_eq!((report.tables[0].rows, report.tables[0].indexes.len()), (1001, 3));
}

#[test]
fn an_engine_pulls_from_its_own_sources() {
    for entry in hotrow::engines() {
        let threads = entry.threads_near(1);
        let db = Database::open_in_memory_without_engine(Config::default().threads(threads))
            .expect("the configuration is right");
        db.session().execute(TABLES).expect("the schema is right");
        load(&db, 5).expect("no engine runs");
        let procedure = db.session().procedure("grow").expect("it is there").id();
        let options = EngineOptions { threads, pin_threads: false, ..EngineOptions::default() };
        // One source has them all.
        let source = |left| -> Box<dyn CallSource> { Box::new(Calls { left, procedure }) };
        let sources = || (0..threads).map(|at| source(if at == 0 { 1000 } else { 0 })).collect();
        let engine = db.start_engine(entry, &options, sources()).expect("it starts");
        assert!(matches!(db.bulk_loader().err(), Some(Error::EngineRuns)));
        assert!(db.start_engine(entry, &options, sources()).is_err());
        while engine.statistics().committed < 1000 {
            std::thread::yield_now();
        }
        // Sessions work beside it, alone.
        db.session().call("grow", (1_i64,)).expect("it runs alone");
        assert_eq!(engine.stop().committed, 1000);
        let mut sum = 0;
        db.scan("place", |row| {
            if let Value::Int(size) = row[2] {
                sum += size;
            }
        })
        .expect("it is open");
        assert_eq!(sum, 1000 + 1 + (0..5).sum::<i32>());
        let many = EngineOptions { threads: threads + 1, ..options };
        assert!(matches!(db.start_engine(entry, &many, sources()), Err(Error::Config { .. })));
    }
}

#[test]
fn a_trace_replays_to_the_same_results() {
    every_engine(|config| {
        let db = open(config.trace(true));
        let schema = "
            CREATE TABLE n (id bigint PRIMARY KEY, v bigint NOT NULL);
            INSERT INTO n VALUES (1, 0);
            CREATE FUNCTION step(by_how_much bigint, why text) RETURNS text AS $$
            DECLARE r bigint;
            BEGIN
              UPDATE n SET v = v * 3 + by_how_much WHERE id = 1 AND v < 100000000
                RETURNING v INTO r;
              IF NOT FOUND THEN UPDATE n SET v = 0 WHERE id = 1; END IF;
              RETURN why || r;
            END $$ LANGUAGE plpgsql;";
        db.session().execute(schema)?;
        std::thread::scope(|scope| {
            for client in 0..4_i64 {
                let session = db.session();
                scope.spawn(move || {
                    for i in 0..100 {
                        let why = format!("client {client} ");
                        session.call("step", (client + i, why)).expect("it always commits");
                    }
                });
            }
        });
        let calls = db.trace().expect("it was asked for").take();
        assert_eq!(calls.len(), 400);
        let replayed = open(Config::default().engine("serial"));
        let session = replayed.session();
        session.execute(schema)?;
        for call in &calls {
            assert_eq!(session.replay(&call.invocation)?, call.result.clone().into());
        }
        let state = |db: &Database| {
            let mut rows = Vec::new();
            db.scan("n", |row| rows.push(row.to_vec())).map(|()| rows)
        };
        assert_eq!(state(&db)?, state(&replayed)?);
        let mut wrong = calls[0].invocation.clone();
        wrong.arguments.datums.pop();
        assert!(session.replay(&wrong).is_err());
        wrong.arguments.datums.push(Datum::range(0, 1000));
        assert!(session.replay(&wrong).is_err());
        Ok(())
    });
}

#[test]
fn a_loaded_database_is_served_and_rests_again() {
    for entry in hotrow::engines() {
        let mut db = Database::open_in_memory_without_engine(Config::default().threads(2))
            .expect("the configuration is right");
        db.session().execute(TABLES).expect("the schema is right");
        load(&db, 10).expect("no engine runs");
        let threads = entry.threads_near(1);
        let options = EngineOptions { threads, ..EngineOptions::default() };
        for _ in 0..2 {
            db.serve(entry, &options).expect("nobody has the database");
            let session = db.session();
            for _ in 0..5 {
                session.call("grow", (3_i64,)).expect("it is served");
            }
            assert!(matches!(db.rest(), Err(Error::InUse)));
            drop(session);
            assert_eq!(db.rest().expect("sessions are gone").committed, 5);
            load(&db, 0).expect("no engine runs");
        }
        let options = EngineOptions { threads: 3, ..EngineOptions::default() };
        assert!(matches!(db.serve(entry, &options), Err(Error::Config { .. })));
        let mut size = None;
        db.scan("place", |row| {
            if row[0] == Value::BigInt(3) {
                size = Some(row[2].clone());
            }
        })
        .expect("the table is there");
        assert_eq!(size, Some(Value::Int(13)), "{}: 3 and 10 calls", entry.name);
    }
}
