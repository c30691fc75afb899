//! What the crash test runs: transactions whose halves would show.
//!
//! Each client counts its own steps. A step checks that it is the next one, moves money between
//! two hot accounts, one of which is found by a name that changes now and then, pays a fee into
//! one row for all, and writes, and removes, rows of its own. Some steps do the same in a
//! roundabout way: by a trigger, by a call, in a block that fails the first time. All of it is
//! checked afterwards.

use hotrow::{Database, Error, FromValue, Session, Value};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Clients of one child.
pub const CLIENTS: usize = 8;
const ACCOUNTS: i64 = 5;
const CENTS: i64 = 1_000_000;
/// Rows that a client leaves in `recent`.
const RECENT: i64 = 5;

const SCHEMA: &str = "
CREATE TABLE client (id bigint PRIMARY KEY, last bigint NOT NULL);
CREATE TABLE account (id bigint PRIMARY KEY, cents bigint NOT NULL, note text NOT NULL);
CREATE TABLE alias (name text PRIMARY KEY, account bigint NOT NULL);
CREATE TABLE total (id bigint PRIMARY KEY, steps bigint NOT NULL, fees bigint NOT NULL);
CREATE TABLE done (client bigint, number bigint, amount bigint NOT NULL, done_at timestamp,
    PRIMARY KEY (client, number));
CREATE TABLE recent (client bigint, number bigint, PRIMARY KEY (client, number));
CREATE PROCEDURE step(own bigint, next bigint, origin bigint, target text, amount bigint) AS $$
DECLARE
  before bigint;
  receiver bigint;
BEGIN
  SELECT last INTO before FROM client WHERE id = own;
  IF before <> next - 1 THEN RAISE EXCEPTION 'step % after step %', next, before; END IF;
  UPDATE client SET last = next WHERE id = own;
  SELECT account INTO receiver FROM alias WHERE name = target;
  UPDATE account SET cents = cents - amount - 1 WHERE id = origin;
  UPDATE account SET cents = cents + amount, note = 'of ' || own || ', step ' || next
    WHERE id = receiver;
  UPDATE total SET steps = steps + 1, fees = fees + 1 WHERE id = 1;
  INSERT INTO done VALUES (own, next, amount, now());
  INSERT INTO recent VALUES (own, next);
  DELETE FROM recent WHERE client = own AND number = next - 5;
END $$ LANGUAGE plpgsql;
CREATE TABLE fee (client bigint, number bigint);
CREATE FUNCTION pay_fee() RETURNS trigger AS $$ BEGIN
  UPDATE total SET steps = steps + 1, fees = fees + 1 WHERE id = 1;
  DELETE FROM fee WHERE client = NEW.client;
  RETURN NULL;
END $$ LANGUAGE plpgsql;
CREATE TRIGGER pay_fee AFTER INSERT ON fee FOR EACH ROW EXECUTE FUNCTION pay_fee();
CREATE PROCEDURE move(origin bigint, target text, amount bigint, told text) AS $$ BEGIN
  UPDATE account SET cents = cents - amount - 1 WHERE id = origin;
  UPDATE account SET cents = cents + amount, note = told
    FROM alias WHERE alias.account = account.id AND alias.name = target;
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE winding_step(own bigint, next bigint, origin bigint, target text, amount bigint)
AS $$
DECLARE tries int := 0;
BEGIN
  UPDATE client SET last = next WHERE id = own AND last = next - 1;
  IF NOT FOUND THEN RAISE EXCEPTION 'step % does not come next', next; END IF;
  LOOP
    tries := tries + 1;
    BEGIN
      CALL move(origin, target, amount, format('of %s, step %s', own, next));
      INSERT INTO fee VALUES (own, next);
      -- The first time it is there already, so that everything in this block is taken back.
      INSERT INTO done VALUES (own, CASE tries WHEN 1 THEN next - 1 ELSE next END, amount, now());
      EXIT;
    EXCEPTION WHEN unique_violation THEN
      CONTINUE WHEN tries < 5;
      RAISE;
    END;
  END LOOP;
  EXECUTE 'INSERT INTO recent VALUES ($1, $2)' USING own, next;
  DELETE FROM recent WHERE client = own AND number = next - 5;
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE private_step(own bigint, next bigint) AS $$
DECLARE before bigint;
BEGIN
  SELECT last INTO before FROM client WHERE id = own;
  IF before <> next - 1 THEN RAISE EXCEPTION 'step % after step %', next, before; END IF;
  UPDATE client SET last = next WHERE id = own;
  INSERT INTO done VALUES (own, next, 0, now());
  INSERT INTO recent VALUES (own, next);
  DELETE FROM recent WHERE client = own AND number = next - 5;
END $$ LANGUAGE plpgsql;
CREATE TABLE constant (id bigint PRIMARY KEY, value bigint NOT NULL);
CREATE FUNCTION constant() RETURNS bigint AS $$
DECLARE result bigint;
BEGIN
  SELECT value INTO result FROM constant WHERE id = 1;
  RETURN result;
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE rename(which text, other bigint) AS $$
BEGIN
  UPDATE alias SET account = other WHERE name = which;
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE abort(own bigint) AS $$
BEGIN
  UPDATE total SET steps = steps + 1000000 WHERE id = 1;
  UPDATE client SET last = last + 1 WHERE id = own;
  INSERT INTO recent VALUES (own, -1);
  RAISE EXCEPTION 'on purpose';
END $$ LANGUAGE plpgsql;
";

/// Makes the tables if they are not there. Its last statement says that all of them are.
pub fn prepare(db: &Database) -> Result<(), String> {
    if db.tables().iter().any(|name| name == "ready") {
        return Ok(());
    }
    let session = db.session();
    // A child that died in the middle of this has left some of it.
    let tables = db.tables();
    for procedure in ["step", "winding_step", "move", "private_step", "rename", "abort"] {
        execute(&session, &format!("DROP PROCEDURE IF EXISTS {procedure}"))?;
    }
    execute(&session, "DROP FUNCTION IF EXISTS pay_fee CASCADE")?;
    execute(&session, "DROP FUNCTION IF EXISTS constant")?;
    for table in tables {
        execute(&session, &format!("DROP TABLE {table}"))?;
    }
    execute(&session, SCHEMA)?;
    for client in 0..CLIENTS {
        execute(&session, &format!("INSERT INTO client VALUES ({client}, 0)"))?;
    }
    for account in 0..ACCOUNTS {
        execute(&session, &format!("INSERT INTO account VALUES ({account}, {CENTS}, '')"))?;
        execute(&session, &format!("INSERT INTO alias VALUES ('name{account}', {account})"))?;
    }
    execute(&session, "INSERT INTO constant VALUES (1, 7)")?;
    execute(&session, "INSERT INTO total VALUES (1, 0, 0)")?;
    execute(&session, "CREATE TABLE ready (a bigint PRIMARY KEY)")
}

fn execute(session: &Session, script: &str) -> Result<(), String> {
    session.execute(script).map(drop).map_err(|error| format!("{error} in {script}"))
}

/// Why a call of a client did not do what it should.
#[derive(Debug)]
pub enum StepError {
    /// the log has failed: 08007 or 58030, with the message
    LogFailed(String),
    /// anything else, which is wrong
    Other(String),
}

impl StepError {
    fn of(what: &str, error: &hotrow::Error) -> Self {
        match error.sqlstate() {
            Some(code @ ("08007" | "58030")) => Self::LogFailed(format!("{code} {error}")),
            _ => Self::Other(format!("{what}: {error}")),
        }
    }
}

/// Reads what was durable long ago; whether it was told. It is not when the read may follow a fresh
/// change: whom readers follow is kept by bucket of the lock table, and after a quiet point all
/// follow whoever ran there.
pub fn read(session: &Session) -> Result<bool, String> {
    let read = session.call("constant", ()).and_then(|rows| rows.one::<i64>());
    match read {
        Ok(7) => Ok(true),
        Err(error) if error.sqlstate() == Some("08007") => Ok(false),
        other => Err(format!("a read of durable data gave {other:?}")),
    }
}

/// A client's step, and now and then a change of a name before it. Every third step has a key.
pub fn step(session: &Session, client: usize, number: u64) -> Result<(), StepError> {
    // The same step has the same arguments, also in another process.
    let mut random = StdRng::seed_from_u64((client as u64) << 32 | number);
    let mut any = || random.random_range(0..ACCOUNTS);
    let (origin, target, other, chance) = (any(), format!("name{}", any()), any(), any() * any());
    if chance == 1 {
        let renamed = session.call("rename", (target.as_str(), other));
        renamed.map_err(|error| StepError::of("rename", &error))?;
    }
    if is_private(number) {
        let done = session.call("private_step", (client as i64, number as i64));
        return done.map(drop).map_err(|error| StepError::of("private step", &error));
    }
    let arguments = (client as i64, number as i64, origin, target, random.random_range(0..100_i64));
    let done = if has_key(number) {
        session.call_once(&format!("{client}/{number}"), "step", arguments).map(drop)
    } else if is_typed(number) {
        typed_step(session, &arguments)
    } else {
        let name = if is_winding(number) { "winding_step" } else { "step" };
        session.call(name, arguments).map(drop)
    };
    done.map_err(|error| StepError::of(&format!("step {number}"), &error))
}

/// The arguments of `step`.
type StepArguments = (i64, i64, i64, String, i64);

/// A step between BEGIN and COMMIT, with something in it that is taken back.
fn typed_step(session: &Session, arguments: &StepArguments) -> Result<(), Error> {
    loop {
        session.execute("BEGIN")?;
        let typed = session
            .call("step", arguments.clone())
            .and_then(|_| session.execute(TAKEN_BACK))
            .and_then(|_| session.execute("COMMIT"));
        match typed {
            Err(error) if matches!(error.sqlstate(), Some("40001" | "40P01")) => {
                session.execute("ROLLBACK")?;
            }
            ended => return ended.map(drop),
        }
    }
}

const TAKEN_BACK: &str = "
SAVEPOINT before;
UPDATE total SET steps = steps + 1000000 WHERE id = 1;
DELETE FROM client;
ROLLBACK TO before;
";

/// Whether a step is typed statement by statement.
fn is_typed(number: u64) -> bool {
    number % 8 == 5
}

/// Whether a step takes the roundabout way.
fn is_winding(number: u64) -> bool {
    matches!(number % 8, 4 | 7)
}

/// Whether a step touches only rows of its client. Such calls do not conflict with each other, so
/// their positions say little; a third in a row shall meet calls that conflict with everything.
fn is_private(number: u64) -> bool {
    matches!(number % 8, 1 | 2)
}

/// Whether a step has a key, and may be repeated.
pub fn has_key(number: u64) -> bool {
    number > 0 && number.is_multiple_of(3) && !is_private(number)
}

/// A call that must fail and leave nothing.
pub fn abort(session: &Session, client: usize) -> Result<(), StepError> {
    match session.call("abort", (client as i64,)) {
        Err(error) if error.sqlstate() == Some("P0001") => Ok(()),
        Err(error) => Err(StepError::of("abort", &error)),
        Ok(rows) => Err(StepError::Other(format!("abort gave {rows:?}"))),
    }
}

/// The number of each client's last step; zeros while there are no tables.
pub fn last_steps(db: &Database) -> Result<[u64; CLIENTS], String> {
    let mut last = [0; CLIENTS];
    if db.tables().iter().any(|name| name == "ready") {
        for row in rows(db, "client")? {
            last[row[0] as usize] = row[1] as u64;
        }
    }
    Ok(last)
}

/// Checks that nothing is half done; the number of each client's last step.
pub fn check(db: &Database) -> Result<[u64; CLIENTS], String> {
    let last = last_steps(db)?;
    if !db.tables().iter().any(|name| name == "ready") {
        return Ok(last);
    }
    let shared = |&last: &u64| (1..=last).filter(|&number| !is_private(number)).count() as i64;
    let steps: i64 = last.iter().map(shared).sum();
    let totals = rows(db, "total")?;
    expect("total", &totals, &vec![vec![1, steps, steps]])?;
    let cents: i64 = rows(db, "account")?.iter().map(|row| row[1]).sum();
    expect("cents in all", &(cents + steps), &(ACCOUNTS * CENTS))?;
    let mut done: Vec<_> = rows(db, "done")?.iter().map(|row| (row[0], row[1])).collect();
    done.sort_unstable();
    let number = |(client, &last): (usize, &u64)| {
        (1..=last as i64).map(move |number| (client as i64, number))
    };
    let expected: Vec<_> = last.iter().enumerate().flat_map(number).collect();
    expect("rows of done", &done, &expected)?;
    let mut recent: Vec<_> = rows(db, "recent")?.iter().map(|row| (row[0], row[1])).collect();
    recent.sort_unstable();
    let is_recent = |&(client, number): &(i64, i64)| number > last[client as usize] as i64 - RECENT;
    let expected: Vec<_> = expected.into_iter().filter(is_recent).collect();
    expect("rows of recent", &recent, &expected)?;
    Ok(last)
}

/// The numbers in each row; other columns as 0.
fn rows(db: &Database, table: &str) -> Result<Vec<Vec<i64>>, String> {
    let mut rows = Vec::new();
    let number = |value: &Value| i64::from_value(value.clone()).unwrap_or(0);
    db.scan(table, |row| rows.push(row.iter().map(number).collect()))
        .map_err(|error| error.to_string())?;
    Ok(rows)
}

fn expect<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: &T,
    expected: &T,
) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}: found {found:?}, expected {expected:?}"))
}
