//! The table of functions: each example gives what the table says, in a session and in a procedure.

use hotrow::{Config, Database, EXAMPLE_TABLES, Error, FUNCTIONS, FunctionRow, Session};

fn session_of_examples() -> Result<(Database, Session), Error> {
    let db = Database::open_in_memory(Config::default().memory_bytes(256 << 20))?;
    let session = db.session();
    session.execute(EXAMPLE_TABLES)?;
    Ok((db, session))
}

fn all_rows() -> impl Iterator<Item = &'static FunctionRow> {
    FUNCTIONS.iter().flat_map(|group| group.rows)
}

/// The only value that the last statement gives, as text, or its error's code and message.
fn answer(session: &Session, statements: &str) -> String {
    match session.execute(statements) {
        Ok(results) => {
            let rows = &results.last().expect("there is a statement").rows;
            let value = rows.iter().next().map(|row| row[0].clone()).unwrap_or_default();
            if value.is_null() { String::new() } else { value.to_string() }
        }
        Err(Error::Sql(error)) => format!("{}: {}", error.code(), error.message),
        Err(error) => error.to_string(),
    }
}

/// Whether an answer is the one that is expected; none: 0A000.
fn compare(row: &FunctionRow, expected: Option<&str>, found: &str, wrong: &mut Vec<String>) {
    let is_right = match expected {
        Some(value) => found == value,
        None => found.starts_with("0A000: "),
    };
    if !is_right {
        let call = row.signature();
        wrong.push(format!("{call}: {} gives {found:?}, not {expected:?}", row.example));
    }
}

#[test]
fn examples_of_functions_give_their_values_in_sessions() -> Result<(), Error> {
    let (_db, session) = session_of_examples()?;
    let mut wrong = Vec::new();
    for row in all_rows() {
        let found = answer(&session, &format!("SELECT ({})::text", row.example));
        compare(row, (!row.is_refused()).then_some(row.value), &found, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn examples_of_functions_give_their_values_in_procedures() -> Result<(), Error> {
    let (_db, session) = session_of_examples()?;
    let mut wrong = Vec::new();
    for row in all_rows() {
        // One that gives rows is a program, or refused.
        let body = format!("BEGIN RETURN NEXT ({})::text; END", row.example);
        let create = format!(
            "CREATE OR REPLACE FUNCTION example() RETURNS SETOF text LANGUAGE plpgsql \
             AS $b$ {body} $b$;"
        );
        let found = answer(&session, &format!("{create} SELECT * FROM example()"));
        // Locks of transactions are there without effect.
        let is_there = row.is_in_procedures() || row.name.contains("_xact_lock");
        compare(row, is_there.then_some(row.value), &found, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn all_names_of_a_function_are_known() -> Result<(), Error> {
    let (_db, session) = session_of_examples()?;
    for name in all_rows().flat_map(FunctionRow::names) {
        // More arguments than any function has: what is told is what there is of the name.
        let found = answer(&session, &format!("SELECT {name}(1, 2, 3, 4, 5, 6, 7, 8, 9)"));
        assert!(!found.contains("did you mean"), "{name}: {found}");
    }
    Ok(())
}

#[test]
fn what_there_is_not_is_refused_in_one_wording() -> Result<(), Error> {
    let (_db, session) = session_of_examples()?;
    for (statement, expected) in [
        ("SELECT lowre('A', 1)", "42883: function lowre(unknown, integer) does not exist"),
        ("SELECT lower(1)", "42883: function lower(integer) does not exist"),
        (
            "SELECT split_part('a', 1, 1)",
            "42883: function split_part(unknown, integer, integer) does not exist",
        ),
        (
            "SELECT round(1.5::double precision, 1)",
            "42883: function round(double precision, integer) does not exist",
        ),
        (
            "SELECT pg_advisory_lock('a'::text)",
            "42883: function pg_advisory_lock(text) does not exist",
        ),
        ("SELECT rank()", "42809: window function rank requires an OVER clause"),
    ] {
        assert_eq!(answer(&session, statement), expected, "{statement}");
        let statement = statement.strip_prefix("SELECT ").expect("it is a query");
        let create = format!("DO $$ DECLARE v text; BEGIN v := {statement}; END $$");
        assert_eq!(answer(&session, &create), expected, "{create}");
    }
    Ok(())
}
