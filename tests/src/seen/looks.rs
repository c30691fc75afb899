//! Ways of looking, one for each kind of answer, and what there is to be seen.
//!
//! Each client counts its steps in `tally`, and keeps a row in `step` for the last [`KEPT`] of
//! them. No procedure reads a table as a whole, so that the first statement that does so finds
//! calls that lock none.

use hotrow::{Database, Error, FromValue, Session, Value};

use super::Seen;

/// Clients that count steps.
pub const CLIENTS: usize = 6;
/// Rows of `step` that a client leaves.
const KEPT: i64 = 8;
/// Times that something is tried that needs a client's next step to be seen.
const TRIES: u32 = 200;

const SCHEMA: &str = "
CREATE TABLE tally (client bigint PRIMARY KEY, n bigint NOT NULL);
CREATE TABLE step (client bigint, n bigint, PRIMARY KEY (client, n));
CREATE SEQUENCE number;
CREATE PROCEDURE put(own bigint, next bigint) AS $$
BEGIN
  UPDATE tally SET n = next WHERE client = own;
  INSERT INTO step VALUES (own, next);
  DELETE FROM step WHERE client = own AND n = next - 8;
END $$ LANGUAGE plpgsql;
CREATE FUNCTION steps(which bigint) RETURNS bigint AS $$
DECLARE result bigint;
BEGIN SELECT n INTO result FROM tally WHERE client = which; RETURN result; END $$ LANGUAGE plpgsql;
CREATE FUNCTION oldest(which bigint) RETURNS bigint AS $$
DECLARE result bigint;
BEGIN
  SELECT n INTO result FROM step WHERE client = which ORDER BY n LIMIT 1;
  RETURN result;
END $$ LANGUAGE plpgsql;
CREATE FUNCTION shout(which bigint) RETURNS bigint AS $$
DECLARE result bigint;
BEGIN
  SELECT n INTO result FROM tally WHERE client = which;
  RAISE EXCEPTION '%', result;
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE say(which bigint) AS $$
DECLARE result bigint;
BEGIN
  SELECT n INTO result FROM tally WHERE client = which;
  RAISE NOTICE '%', result;
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE follow(which bigint) AS $$
DECLARE last bigint;
BEGIN
  SELECT n INTO last FROM tally WHERE client = which;
  UPDATE tally SET n = n WHERE client = -last;
END $$ LANGUAGE plpgsql;
";

/// Makes tables and procedures.
pub fn prepare(db: &Database) -> Result<(), String> {
    let session = db.session();
    let execute = |script: &str| session.execute(script).map(drop).map_err(|e| e.to_string());
    execute(SCHEMA)?;
    (0..CLIENTS).try_for_each(|client| execute(&format!("INSERT INTO tally VALUES ({client}, 0)")))
}

/// What is there.
#[derive(Clone, Copy, Debug)]
pub struct There {
    /// by client
    pub steps: [u64; CLIENTS],
    /// that were made one after the other
    pub tables: u64,
    /// the next one of the sequence
    number: u64,
}

impl There {
    /// Whether what was seen is still so.
    pub fn has(&self, seen: Seen) -> bool {
        match seen {
            Seen::Steps { client, least } => self.steps[client] >= least,
            Seen::AllSteps(least) => self.steps.iter().sum::<u64>() >= least,
            Seen::Tables(least) => self.tables >= least,
            Seen::Number(given) => self.number > given,
        }
    }
}

/// Looks what is there, and whether nothing of it is half done.
pub fn there(db: &Database) -> Result<There, String> {
    let told = |error: Error| error.to_string();
    let mut steps = [0; CLIENTS];
    let mut rows = Vec::new();
    db.scan("tally", |row| steps[int(&row[0]) as usize] = int(&row[1]) as u64).map_err(told)?;
    db.scan("step", |row| rows.push((int(&row[0]), int(&row[1])))).map_err(told)?;
    rows.sort_unstable();
    let kept = |(client, &n): (usize, &u64)| {
        let (client, n) = (client as i64, n as i64);
        ((n - KEPT + 1).max(1)..=n).map(move |n| (client, n))
    };
    let expected: Vec<_> = steps.iter().enumerate().flat_map(kept).collect();
    if rows != expected {
        return Err(format!("rows of step: {rows:?}, with {steps:?}"));
    }
    let tables = db.tables().iter().filter(|name| name.starts_with("mark")).count() as u64;
    let number = match one(&db.session(), "SELECT nextval('number')") {
        Err(error) if error.sqlstate() == Some("0A000") => i64::MAX,
        number => number.map_err(told)?,
    };
    Ok(There { steps, tables, number: number as u64 })
}

/// A way of looking.
pub struct Way {
    /// for messages
    pub name: &'static str,
    /// looks, at a client's steps perhaps; what it saw
    pub look: fn(&Database, &Session, usize) -> Result<Vec<Seen>, Error>,
}

/// All of them.
pub const WAYS: &[Way] = &[
    Way {
        name: "a call by key",
        look: |_, session, client| steps(client, call(session, "steps", client)?),
    },
    Way { name: "a call of a range", look: call_of_range },
    Way { name: "an error with a value", look: error_of_call },
    Way { name: "a notice", look: notice },
    Way { name: "SELECT by key", look: by_key },
    Way {
        name: "count(*)",
        look: |_, session, _| all(session, "SELECT sum(n)::bigint FROM tally"),
    },
    Way {
        name: "ORDER BY",
        look: |_, session, _| each(session, "SELECT client, n FROM tally ORDER BY n DESC"),
    },
    Way { name: "the oldest of all", look: oldest_of_all },
    Way { name: "COPY TO", look: copy_out },
    Way { name: "SELECT in a transaction", look: in_transaction },
    Way { name: "no row in a transaction", look: no_row },
    Way { name: "UPDATE 0 in a transaction", look: update_of_none },
    Way { name: "SKIP LOCKED", look: skip_locked },
    Way { name: "a unique violation", look: unique_violation },
    Way { name: "a violated CHECK", look: violated_check },
    Way { name: "EXPLAIN of a call", look: explain },
    Way { name: "a scan", look: scan },
    Way { name: "the system catalog", look: catalog },
    Way { name: "a table that is there", look: existing_table },
    Way { name: "a sequence", look: sequence },
];

fn int(value: &Value) -> i64 {
    i64::from_value(value.clone()).unwrap_or(0)
}

fn steps(client: usize, n: i64) -> Result<Vec<Seen>, Error> {
    Ok(vec![Seen::Steps { client, least: n.max(0) as u64 }])
}

fn call(session: &Session, name: &str, client: usize) -> Result<i64, Error> {
    let rows = session.call(name, (client as i64,))?;
    Ok(rows.iter().next().map_or(0, |row| int(&row[0])))
}

/// The steps of a client whose oldest row is this.
fn of_oldest(client: usize, oldest: i64) -> Result<Vec<Seen>, Error> {
    steps(client, if oldest > 1 { oldest + KEPT - 1 } else { oldest })
}

fn call_of_range(_: &Database, session: &Session, client: usize) -> Result<Vec<Seen>, Error> {
    of_oldest(client, call(session, "oldest", client)?)
}

/// The number at the end of an error's message.
fn number_in(text: &str) -> i64 {
    let digits = |c: char| !c.is_ascii_digit();
    text.split(digits)
        .rfind(|word| !word.is_empty())
        .and_then(|word| word.parse().ok())
        .unwrap_or(0)
}

fn error_of_call(_: &Database, session: &Session, client: usize) -> Result<Vec<Seen>, Error> {
    match session.call("shout", (client as i64,)) {
        Err(error) if error.sqlstate() == Some("P0001") => {
            steps(client, error.as_sql().map_or(0, |error| number_in(&error.message)))
        }
        other => other.map(|_| Vec::new()),
    }
}

fn notice(_: &Database, session: &Session, client: usize) -> Result<Vec<Seen>, Error> {
    let rows = session.call("say", (client as i64,))?;
    steps(client, rows.notices().first().map_or(0, |notice| number_in(&notice.said.message)))
}

fn rows(session: &Session, script: &str) -> Result<Vec<Vec<Value>>, Error> {
    let results = session.execute(script)?;
    Ok(results.iter().flat_map(|result| result.rows.iter().map(<[Value]>::to_vec)).collect())
}

fn one(session: &Session, script: &str) -> Result<i64, Error> {
    Ok(rows(session, script)?.first().map_or(0, |row| int(&row[0])))
}

fn all(session: &Session, script: &str) -> Result<Vec<Seen>, Error> {
    Ok(vec![Seen::AllSteps(one(session, script)? as u64)])
}

/// Of rows of clients and their counts.
fn each(session: &Session, script: &str) -> Result<Vec<Seen>, Error> {
    let seen = |row: &Vec<Value>| Seen::Steps {
        client: int(&row[0]) as usize,
        least: int(&row[1]) as u64,
    };
    Ok(rows(session, script)?.iter().map(seen).collect())
}

fn by_key(_: &Database, session: &Session, client: usize) -> Result<Vec<Seen>, Error> {
    steps(client, one(session, &format!("SELECT n FROM tally WHERE client = {client}"))?)
}

fn oldest_of_all(_: &Database, session: &Session, _: usize) -> Result<Vec<Seen>, Error> {
    let oldest = rows(session, "SELECT client, min(n) FROM step GROUP BY client")?;
    let seen = oldest.iter().map(|row| of_oldest(int(&row[0]) as usize, int(&row[1])));
    Ok(seen.collect::<Result<Vec<_>, _>>()?.concat())
}

fn copy_out(_: &Database, session: &Session, _: usize) -> Result<Vec<Seen>, Error> {
    let mut text = Vec::new();
    session.copy_out("COPY tally TO STDOUT", &mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = |line: &str| {
        let (client, n) = line.split_once('\t')?;
        Some(Seen::Steps { client: client.parse().ok()?, least: n.parse().ok()? })
    };
    Ok(text.lines().filter_map(line).collect())
}

fn in_transaction(_: &Database, session: &Session, client: usize) -> Result<Vec<Seen>, Error> {
    let seen =
        each(session, &format!("BEGIN; SELECT client, n FROM tally WHERE client = {client}"))?;
    let more = each(session, "SELECT client, n FROM tally WHERE client >= 0")?;
    Ok([seen, more].concat())
}

/// Does something in one transaction after the other until it gives something.
fn again_and_again(
    session: &Session,
    seen: impl Fn(&Session) -> Result<Option<Vec<Seen>>, Error>,
) -> Result<Vec<Seen>, Error> {
    for _ in 0..TRIES {
        session.execute("BEGIN")?;
        if let Some(seen) = seen(session)? {
            return Ok(seen);
        }
        session.execute("ROLLBACK")?;
    }
    Ok(Vec::new())
}

/// Looks for a row until it is gone.
fn no_row(_: &Database, session: &Session, client: usize) -> Result<Vec<Seen>, Error> {
    let oldest = call(session, "oldest", client)?;
    if oldest == 0 {
        return Ok(Vec::new()); // there has been none yet
    }
    let select = format!("SELECT n FROM step WHERE client = {client} AND n = {oldest}");
    again_and_again(session, |session| match rows(session, &select)?.is_empty() {
        true => steps(client, oldest + KEPT).map(Some),
        false => Ok(None),
    })
}

fn update_of_none(_: &Database, session: &Session, client: usize) -> Result<Vec<Seen>, Error> {
    let last = call(session, "steps", client)?;
    let update = format!("UPDATE tally SET n = n WHERE client = {client} AND n = {last}");
    again_and_again(session, |session| {
        let results = session.execute(&update)?;
        match results.last().map(|result| result.tag.as_str()) {
            Some("UPDATE 0") => steps(client, last + 1).map(Some),
            _ => Ok(None),
        }
    })
}

fn skip_locked(_: &Database, session: &Session, _: usize) -> Result<Vec<Seen>, Error> {
    each(session, "BEGIN; SELECT client, n FROM tally FOR UPDATE SKIP LOCKED")
}

fn unique_violation(_: &Database, session: &Session, client: usize) -> Result<Vec<Seen>, Error> {
    let next = call(session, "steps", client)? + 1;
    let insert = format!("INSERT INTO step VALUES ({client}, {next})");
    again_and_again(session, |session| match session.execute(&insert) {
        Err(error) if error.sqlstate() == Some("23505") => steps(client, next).map(Some),
        other => other.map(|_| None),
    })
}

fn violated_check(_: &Database, session: &Session, _: usize) -> Result<Vec<Seen>, Error> {
    match session.execute("ALTER TABLE tally ADD CONSTRAINT few CHECK (n < 0)") {
        Err(error) if error.sqlstate() == Some("23514") => {
            let detail = error.as_sql().and_then(|error| error.detail.clone()).unwrap_or_default();
            let row = detail.split_once('(').map_or("", |(_, row)| row);
            let (client, n) = row.split_once(", ").unwrap_or(("0", ""));
            steps(client.parse().unwrap_or(0), number_in(n))
        }
        other => other.map(|_| Vec::new()),
    }
}

/// Planning reads the count and looks for a row under its negative.
fn explain(_: &Database, session: &Session, client: usize) -> Result<Vec<Seen>, Error> {
    let lines = rows(session, &format!("EXPLAIN PROCEDURE follow({client})"))?;
    let text = lines.iter().map(|row| row[0].to_string()).collect::<Vec<_>>().join("\n");
    let negative = |(at, _): (usize, &str)| {
        let digits = text[at + 2..].split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    };
    let last = text.match_indices("(-").filter_map(negative).max().unwrap_or(0);
    steps(client, last)
}

fn scan(db: &Database, _: &Session, _: usize) -> Result<Vec<Seen>, Error> {
    let mut seen = Vec::new();
    db.scan("tally", |row| {
        seen.push(Seen::Steps { client: int(&row[0]) as usize, least: int(&row[1]) as u64 });
    })?;
    Ok(seen)
}

fn catalog(_: &Database, session: &Session, _: usize) -> Result<Vec<Seen>, Error> {
    let script = "SELECT count(*) FROM pg_catalog.pg_class WHERE relname ~ '^mark[0-9]*$'";
    Ok(vec![Seen::Tables(one(session, script)? as u64)])
}

fn existing_table(db: &Database, session: &Session, _: usize) -> Result<Vec<Seen>, Error> {
    let next = db.tables().iter().filter(|name| name.starts_with("mark")).count() + 1;
    match session.prepare(&format!("SELECT a FROM mark{next}"), &[]) {
        Ok(_) => Ok(vec![Seen::Tables(next as u64)]),
        Err(error) if error.sqlstate() == Some("42P01") => Ok(vec![Seen::Tables(next as u64 - 1)]),
        Err(error) => Err(error),
    }
}

fn sequence(_: &Database, session: &Session, _: usize) -> Result<Vec<Seen>, Error> {
    Ok(vec![Seen::Number(one(session, "SELECT nextval('number')")? as u64)])
}
