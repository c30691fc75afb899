//! Running a case on one database, and saying what was otherwise than it says.

use hotrow::{Database, Error, Rows, Session};

use crate::case::{Case, Outcome, Statement, Step};

/// Runs a case; the first difference, as text for people.
pub fn run(db: &Database, case: &Case) -> Result<(), String> {
    let session = db.session();
    for step in &case.steps {
        match step.as_slice() {
            [alone] if is_alone(step) => run_once(&session, alone, 1, 1)?,
            _ => run_together(db, step)?,
        }
    }
    Ok(())
}

/// Whether a step is one statement of one session.
pub fn is_alone(step: &Step) -> bool {
    matches!(step.as_slice(), [statement] if statement.times == (1, 1))
}

fn run_together(db: &Database, step: &Step) -> Result<(), String> {
    std::thread::scope(|scope| {
        let mut clients = Vec::new();
        for statement in step {
            for number in 1..=statement.times.0 {
                let session = db.session();
                clients.push(scope.spawn(move || {
                    (1..=statement.times.1)
                        .try_for_each(|round| run_once(&session, statement, number, round))
                }));
            }
        }
        let ends = clients.into_iter().map(|client| client.join().expect("clients do not panic"));
        ends.collect::<Vec<_>>().into_iter().collect()
    })
}

fn run_once(
    session: &Session,
    statement: &Statement,
    number: usize,
    round: usize,
) -> Result<(), String> {
    let sql = computed(&statement.sql, number, round);
    let ended = session.execute(&sql);
    let fits = match statement.outcomes.as_slice() {
        [] => matches!(&ended, Ok(results) if results.iter().all(|result| result.rows.is_empty())),
        outcomes => outcomes.iter().any(|outcome| is(outcome, &ended)),
    };
    let told = ended.as_ref().ok().and_then(|results| results.last());
    let told = told.map(|result| result.rows.touched());
    if fits && (statement.touched.is_none() || statement.touched == told) {
        return Ok(());
    }
    let given = match &ended {
        Ok(_) => format!("{:?}, {} rows touched", rows(&ended), told.unwrap_or(0)),
        Err(error) => format!("{} {error}", error.sqlstate().unwrap_or("no SQLSTATE:")),
    };
    let mut allowed = format!("{:?}", statement.outcomes);
    if let Some(touched) = statement.touched {
        allowed += &format!(", {touched} rows touched");
    }
    Err(format!("line {}: {sql}\n  gave     {given}\n  expected {allowed}", statement.line))
}

/// The text with `$s`, `$i` and `$(expression)` replaced.
fn computed(text: &str, number: usize, round: usize) -> String {
    let mut sql = text.replace("$s", &number.to_string()).replace("$i", &round.to_string());
    while let Some(start) = sql.find("$(") {
        let mut rest = &sql[start + 2..];
        let value = sum(&mut rest);
        let end = rest.strip_prefix(')').unwrap_or_else(|| panic!("no ) in {text}"));
        sql = format!("{}{value}{end}", &sql[..start]);
    }
    sql
}

fn sum(rest: &mut &str) -> i64 {
    let mut value = product(rest);
    loop {
        *rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('+') {
            *rest = after;
            value += product(rest);
        } else if let Some(after) = rest.strip_prefix('-') {
            *rest = after;
            value -= product(rest);
        } else {
            return value;
        }
    }
}

fn product(rest: &mut &str) -> i64 {
    let mut value = factor(rest);
    loop {
        *rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('*') {
            *rest = after;
            value *= factor(rest);
        } else if let Some(after) = rest.strip_prefix('%') {
            *rest = after;
            value %= factor(rest);
        } else {
            return value;
        }
    }
}

fn factor(rest: &mut &str) -> i64 {
    *rest = rest.trim_start();
    if let Some(after) = rest.strip_prefix('(') {
        *rest = after;
        let value = sum(rest);
        *rest = rest.trim_start().strip_prefix(')').expect("a bracket is closed");
        return value;
    }
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    *rest = after;
    digits.parse().expect("a number, $s or $i stands here")
}

fn is(outcome: &Outcome, ended: &Result<Vec<hotrow::StatementResult>, Error>) -> bool {
    match (outcome, ended) {
        (Outcome::Rows(expected), Ok(_)) => rows(ended) == *expected,
        (Outcome::Error(code, words), Err(error)) => {
            error.sqlstate() == Some(code) && error.to_string().contains(words.as_str())
        }
        _ => false,
    }
}

/// Rows of the last statement, columns separated by `|`.
fn rows(ended: &Result<Vec<hotrow::StatementResult>, Error>) -> Vec<String> {
    let last = ended.as_ref().ok().and_then(|results| results.last());
    last.map_or_else(Vec::new, |result| text(&result.rows))
}

fn text(rows: &Rows) -> Vec<String> {
    let line =
        |row: &[hotrow::Value]| row.iter().map(ToString::to_string).collect::<Vec<_>>().join("|");
    rows.iter().map(line).collect()
}
