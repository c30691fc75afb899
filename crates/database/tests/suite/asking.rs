//! Statements, and what they say in a word.

use std::time::{Duration, Instant};

use hotrow::{Error, Session, StatementResult};

/// The last result of a script, or the code of its error.
pub fn outcome(session: &Session, script: &str) -> Result<StatementResult, String> {
    match session.execute(script) {
        Err(error) => Err(error.sqlstate().unwrap_or("no SQL error").to_owned()),
        Ok(mut results) => Ok(results.pop().expect("there was a statement")),
    }
}

/// `done`, or the code of an error.
pub fn code(result: Result<impl Sized, Error>) -> String {
    match result {
        Ok(_) => "done".to_owned(),
        Err(error) => error.sqlstate().unwrap_or("no SQL error").to_owned(),
    }
}

/// The number that a query gives.
pub fn number(session: &Session, query: &str) -> i64 {
    let rows = session.execute(query).expect("it is right");
    rows[0].rows.iter().next().and_then(|row| row[0].to_string().parse().ok()).expect("a number")
}

/// The first value of each row.
pub fn rows_of(result: &StatementResult) -> String {
    let rows: Vec<_> = result.rows.iter().map(|row| row[0].to_string()).collect();
    rows.join(";")
}

/// [`rows_of`], or the tag where there are none.
pub fn rows_or_tag(result: &StatementResult) -> String {
    if result.rows.is_empty() { result.tag.clone() } else { rows_of(result) }
}

/// [`rows_of`] a statement, or the code of its error.
pub fn said(session: &Session, statement: &str) -> String {
    outcome(session, statement).map_or_else(|code| code, |result| rows_of(&result))
}

/// Makes calls one after the other; each says what it is expected to.
pub fn check_calls(session: &Session, calls: &[(&str, &str)]) {
    for (call, expected) in calls {
        assert_eq!(said(session, call), *expected, "{call}");
    }
}

/// Cancels a statement again and again, until it ends: the code of its error.
pub fn cancelled(session: Session, statement: &str) -> (Session, String) {
    let canceller = session.canceller();
    let began = Instant::now();
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            let code = said(&session, statement);
            (session, code)
        });
        while !thread.is_finished() {
            assert!(began.elapsed() < Duration::from_secs(30), "it is not cancelled");
            std::thread::sleep(Duration::from_millis(5));
            canceller.cancel();
        }
        thread.join().expect("it ends well")
    })
}
