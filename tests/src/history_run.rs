//! Histories: concurrent clients run transactions of several operations through procedures and
//! write down what they asked, what they saw, and when (DESIGN 6.2).

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use hotrow::{Database, Error, Session, Value};
use hotrow_history::{History, Op, Status, Transaction};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Lists as rows, indexes as rows, registers; a procedure that does all, as it is told, and another
/// one that does the same by a loop that it leaves, by calls, joins, a trigger, a text made at run
/// time, and blocks that catch what fails in them.
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
CREATE TABLE wish (k bigint, v bigint);
CREATE FUNCTION grant_wish() RETURNS trigger AS $$ BEGIN
  INSERT INTO entry VALUES (NEW.k, NEW.v);
  RETURN NULL;
END $$ LANGUAGE plpgsql;
CREATE TRIGGER grant_wish AFTER INSERT ON wish FOR EACH ROW EXECUTE FUNCTION grant_wish();
CREATE FUNCTION append(at bigint, new bigint) RETURNS bigint AS $$
DECLARE m bigint := 1;
BEGIN
  LOOP
    BEGIN
      INSERT INTO list VALUES (at, m, new);
      EXIT;
    EXCEPTION WHEN unique_violation THEN
      SELECT max(n) + 1 INTO m FROM list WHERE k = at;
    END;
  END LOOP;
  RETURN m;
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE overwrite(at bigint, new bigint) AS $$ BEGIN
  UPDATE register SET v = -new WHERE k = at;
  INSERT INTO entry VALUES (at, -new);
  RAISE EXCEPTION 'not yet';
EXCEPTION WHEN raise_exception THEN
  EXECUTE 'UPDATE register SET v = $1 WHERE k = $2' USING new, at;
END $$ LANGUAGE plpgsql;
CREATE FUNCTION transact_winding(kinds bigint[], ks bigint[], vs bigint[], fails boolean)
RETURNS TABLE (step bigint, v bigint) AS $$
DECLARE r RECORD;
BEGIN
  step := 0;
  LOOP
    step := step + 1;
    EXIT WHEN step > cardinality(kinds);
    IF kinds[step] = 0 THEN
      FOR r IN SELECT list.v FROM register JOIN list ON list.k = register.k - 20
               WHERE register.k = ks[step] + 20 ORDER BY list.n LOOP
        v := r.v;
        RETURN NEXT;
      END LOOP;
      CONTINUE;
    ELSIF kinds[step] = 1 THEN
      PERFORM append(ks[step], vs[step]);
    ELSIF kinds[step] = 2 THEN
      RETURN QUERY SELECT step, entry.v FROM entry WHERE entry.k = ks[step];
    ELSIF kinds[step] = 3 THEN
      INSERT INTO wish VALUES (ks[step], vs[step]);
    ELSIF kinds[step] = 4 THEN
      v := (SELECT register.v FROM register WHERE register.k = ks[step]);
      RETURN NEXT;
    ELSE
      CALL overwrite(ks[step], vs[step]);
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
    /// of a hundred transactions, so many are typed statement by statement; needs an engine with
    /// interactive transactions
    pub typed_percent: u32,
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
                        let typed = random.random_range(0..100) < load.typed_percent;
                        let run = if typed { run_typed } else { run_call };
                        transact(&session, number, &steps, (fails, run), started, values)
                    })
                    .collect()
            })
        };
        let clients: Vec<_> = (0..load.clients).map(client).collect();
        clients.into_iter().map(|client| client.join().expect("clients do not panic")).collect()
    });
    let all = [Step::Read(0), Step::Read(1), Step::Read(2), Step::Scan(10), Step::Scan(11)];
    parts.push(vec![transact(
        &db.session(),
        load.clients,
        &all,
        (false, run_call),
        started,
        &values,
    )]);
    History::merge(parts)
}

fn transact(
    session: &Session,
    process: u64,
    steps: &[Step],
    (fails, run): (bool, Run),
    started: Instant,
    values: &AtomicI64,
) -> Transaction {
    let written: Vec<i64> = steps.iter().map(|_| values.fetch_add(1, Ordering::Relaxed)).collect();
    let now = || started.elapsed().as_nanos() as u64;
    let invoked_ns = now();
    let ended = run(session, steps, &written, fails);
    let completed_ns = Some(now());
    let (status, rows) = match ended {
        Ok(rows) => (Status::Committed, rows),
        Err(Error::Sql(error)) if MAY_FAIL.contains(&error.code()) => (Status::Aborted, Vec::new()),
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

/// What was read: the step's number from 1, and a value.
type Seen = Vec<(i64, i64)>;

/// Runs a transaction's steps, which write these values.
type Run = fn(&Session, &[Step], &[i64], bool) -> Result<Seen, Error>;

/// How transactions may fail: on purpose, on one key, or because of others.
const MAY_FAIL: [&str; 4] = ["P0001", "23505", "40001", "40P01"];

fn run_call(
    session: &Session,
    steps: &[Step],
    written: &[i64],
    fails: bool,
) -> Result<Seen, Error> {
    let mut arguments: [Vec<Value>; 3] = Default::default();
    for (&step, &value) in steps.iter().zip(written) {
        let (kind, key) = step.kind_and_key();
        let row = [kind, key as i64, value];
        arguments.iter_mut().zip(row).for_each(|(array, n)| array.push(Value::BigInt(n)));
    }
    let [kinds, keys, new] = arguments.map(Value::Array);
    let is_winding = written.first().is_some_and(|value| value / 4 % 2 == 1);
    let name = if is_winding { "transact_winding" } else { "transact" };
    let ended = session.call(name, vec![kinds, keys, new, Value::Bool(fails)]);
    if let Err(error) = &ended {
        let code = error.sqlstate().unwrap_or_default();
        assert!(
            !code.starts_with("40"),
            "a call, alone or first in a transaction, is never refused: {error}"
        );
    }
    ended?.all::<(i64, i64)>()
}

/// The steps as statements between BEGIN and COMMIT, some of them done twice, once in vain; in some
/// transactions the first half of them, or all, as one call.
fn run_typed(
    session: &Session,
    steps: &[Step],
    written: &[i64],
    fails: bool,
) -> Result<Seen, Error> {
    let called = match written.first() {
        Some(value) if value % 3 == 0 => steps.len().div_ceil(2),
        Some(value) if value % 3 == 1 => steps.len(),
        _ => 0,
    };
    session.execute("BEGIN")?;
    let done = call_then_type(session, steps, written, called);
    let end = if fails || done.is_err() { "ROLLBACK" } else { "COMMIT" };
    session.execute(end)?;
    if fails && done.is_ok() {
        return Err(hotrow::SqlError::new(b"P0001", "rolled back").into());
    }
    done
}

/// Has so many steps done by a call, and types the others.
fn call_then_type(
    session: &Session,
    steps: &[Step],
    written: &[i64],
    called: usize,
) -> Result<Seen, Error> {
    if called == 0 {
        return type_steps(session, steps, written);
    }
    let mut seen = run_call(session, &steps[..called], &written[..called], false)?;
    let typed = type_steps(session, &steps[called..], &written[called..])?;
    seen.extend(typed.into_iter().map(|(step, value)| (step + called as i64, value)));
    Ok(seen)
}

fn type_steps(session: &Session, steps: &[Step], written: &[i64]) -> Result<Seen, Error> {
    let mut seen = Vec::new();
    for (at, (&step, &value)) in steps.iter().zip(written).enumerate() {
        if value % 4 == 0 {
            session.execute("SAVEPOINT before")?;
            type_step(session, step, -value)?;
            session.execute("ROLLBACK TO before")?;
        }
        let read = type_step(session, step, value)?;
        seen.extend(read.into_iter().map(|value| (at as i64 + 1, value)));
    }
    Ok(seen)
}

/// One step; what it read.
fn type_step(session: &Session, step: Step, value: i64) -> Result<Vec<i64>, Error> {
    let (_, key) = step.kind_and_key();
    let read = |query: String| -> Result<Vec<i64>, Error> {
        let rows = session.execute(&query)?.pop().expect("one statement").rows;
        Ok(rows.all::<(i64,)>()?.into_iter().map(|(value,)| value).collect())
    };
    let write = |change: String| session.execute(&change).map(|_| Vec::new());
    match step {
        Step::Read(_) => read(format!("SELECT v FROM list WHERE k = {key} ORDER BY n")),
        Step::Append(_) => {
            let last = read(format!("SELECT n FROM list WHERE k = {key} ORDER BY n DESC LIMIT 1"))?;
            let next = last.first().map_or(1, |n| n + 1);
            write(format!("INSERT INTO list VALUES ({key}, {next}, {value})"))
        }
        Step::Scan(_) => read(format!("SELECT v FROM entry WHERE k = {key}")),
        Step::Add(_) => write(format!("INSERT INTO entry VALUES ({key}, {value})")),
        Step::ReadRegister(_) => read(format!("SELECT v FROM register WHERE k = {key}")),
        Step::Write(_) => write(format!("UPDATE register SET v = {value} WHERE k = {key}")),
    }
}
