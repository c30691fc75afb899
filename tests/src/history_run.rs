//! Histories: concurrent clients run transactions of several operations through procedures and
//! write down what they asked, what they saw, and when (DESIGN 6.2).

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use hotrow::{Database, Error, Session, Value};
use hotrow_history::{History, Op, Status, Transaction};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Lists as rows, indexes as rows, registers; one procedure that does all, as it is told.
///
/// `kinds`: 0 reads a list, 1 appends to one, 2 scans an index, 3 adds to one, 4 reads a register,
/// 5 writes one. Fails at the end when `fails`, after everything was done.
pub const TABLES: &str = "
CREATE TABLE list (k bigint, n bigint, v bigint NOT NULL, PRIMARY KEY (k, n));
CREATE TABLE entry (k bigint, v bigint, PRIMARY KEY (v));
CREATE TABLE register (k bigint PRIMARY KEY, v bigint NOT NULL);
INSERT INTO register VALUES (20, 0), (21, 0), (22, 0);
CREATE FUNCTION transact(kinds bigint[], ks bigint[], vs bigint[], fails boolean)
RETURNS TABLE (step bigint, v bigint) AS $$
DECLARE m bigint; r RECORD;
BEGIN
  FOR i IN 1..cardinality(kinds) LOOP
    step := i;
    IF kinds[i] = 0 THEN
      FOR r IN SELECT list.v FROM list WHERE list.k = ks[i] ORDER BY list.n LOOP
        v := r.v;
        RETURN NEXT;
      END LOOP;
    ELSIF kinds[i] = 1 THEN
      SELECT max(list.n) INTO m FROM list WHERE list.k = ks[i];
      INSERT INTO list VALUES (ks[i], coalesce(m, 0) + 1, vs[i]);
    ELSIF kinds[i] = 2 THEN
      FOR r IN SELECT entry.v FROM entry WHERE entry.k = ks[i] LOOP
        v := r.v;
        RETURN NEXT;
      END LOOP;
    ELSIF kinds[i] = 3 THEN
      INSERT INTO entry VALUES (ks[i], vs[i]);
    ELSIF kinds[i] = 4 THEN
      SELECT register.v INTO v FROM register WHERE register.k = ks[i];
      RETURN NEXT;
    ELSE
      UPDATE register SET v = vs[i] WHERE register.k = ks[i];
    END IF;
  END LOOP;
  IF fails THEN RAISE EXCEPTION 'rolled back'; END IF;
END $$ LANGUAGE plpgsql;
";

/// What a client does in one step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// reads a list
    Read(u64),
    /// appends to a list
    Append(u64),
    /// reads a whole index
    Scan(u64),
    /// adds to an index
    Add(u64),
    /// reads a register (20 to 22)
    ReadRegister(u64),
    /// writes a register (20 to 22)
    Write(u64),
}

impl Step {
    fn kind_and_key(self) -> (i64, u64) {
        match self {
            Self::Read(key) => (0, key),
            Self::Append(key) => (1, key),
            Self::Scan(key) => (2, key),
            Self::Add(key) => (3, key),
            Self::ReadRegister(key) => (4, key),
            Self::Write(key) => (5, key),
        }
    }
}

/// How much is run.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// of the clients' random choices
    pub seed: u64,
    /// sessions at the same time
    pub clients: u64,
    /// transactions of each
    pub transactions: u64,
    /// of a hundred transactions, so many fail after their last step
    pub fail_percent: u32,
}

/// Runs clients whose transactions are what `plan` makes up; `plan` is told the client's number.
/// Ends with one client that reads every list and index, so that their final order is known.
pub fn record(
    db: &Database,
    load: Load,
    plan: impl Fn(&mut StdRng, u64) -> Vec<Step> + Sync,
) -> History {
    db.session().execute(TABLES).expect("the text is right");
    let (started, values) = (Instant::now(), AtomicI64::new(1));
    let mut parts: Vec<Vec<Transaction>> = std::thread::scope(|scope| {
        let client = |number: u64| {
            let (session, plan, values) = (db.session(), &plan, &values);
            scope.spawn(move || {
                let mut random = StdRng::seed_from_u64(load.seed * 1000 + number);
                (0..load.transactions)
                    .map(|_| {
                        let steps = plan(&mut random, number);
                        let fails = random.random_range(0..100) < load.fail_percent;
                        transact(&session, number, &steps, fails, started, values)
                    })
                    .collect()
            })
        };
        let clients: Vec<_> = (0..load.clients).map(client).collect();
        clients.into_iter().map(|client| client.join().expect("clients do not panic")).collect()
    });
    let all = [Step::Read(0), Step::Read(1), Step::Read(2), Step::Scan(10), Step::Scan(11)];
    parts.push(vec![transact(&db.session(), load.clients, &all, false, started, &values)]);
    History::merge(parts)
}

fn transact(
    session: &Session,
    process: u64,
    steps: &[Step],
    fails: bool,
    started: Instant,
    values: &AtomicI64,
) -> Transaction {
    let mut arguments: [Vec<Value>; 3] = Default::default();
    let mut written = Vec::new();
    for &step in steps {
        let (kind, key) = step.kind_and_key();
        let value = values.fetch_add(1, Ordering::Relaxed);
        written.push(value);
        let row = [kind, key as i64, value];
        arguments.iter_mut().zip(row).for_each(|(array, n)| array.push(Value::BigInt(n)));
    }
    let [kinds, keys, new] = arguments.map(Value::Array);
    let now = || started.elapsed().as_nanos() as u64;
    let invoked_ns = now();
    let ended = session.call("transact", vec![kinds, keys, new, Value::Bool(fails)]);
    let completed_ns = Some(now());
    let (status, rows) = match ended {
        Ok(rows) => (Status::Committed, rows.all::<(i64, i64)>().expect("two numbers a row")),
        Err(Error::Sql(error)) if ["P0001", "23505"].contains(&error.code()) => {
            (Status::Aborted, Vec::new())
        }
        Err(error) => panic!("a transaction failed: {error}"),
    };
    let op = |(at, (&step, &value)): (usize, (&Step, &i64))| {
        let seen: Vec<i64> =
            rows.iter().filter(|(step, _)| *step == at as i64 + 1).map(|&(_, v)| v).collect();
        match step {
            Step::Read(key) => Op::read(key, seen),
            Step::Append(key) => Op::append(key, value),
            Step::Scan(key) => Op::scan(key, seen),
            Step::Add(key) => Op::append(key, value),
            Step::ReadRegister(key) => {
                Op::read_register(key, seen.first().copied().filter(|&value| value != 0))
            }
            Step::Write(key) => Op::write(key, value),
        }
    };
    let ops = steps.iter().zip(&written).enumerate().map(op).collect();
    Transaction { id: 0, process, invoked_ns, completed_ns, status, ops }
}
