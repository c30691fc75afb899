//! Cases as text: statements, what they must give, and what runs at the same time.
//!
//! ```text
//! === a name                   begins a case
//! -- words                     a comment
//! > SQL                        a statement; lines that follow without a mark belong to it
//! = 1|one                      a row it gives; all of them in this order, none: no rows
//! = {}                         it gives no row (needed only beside other outcomes)
//! ! 23505 words                or it fails with this code, and with these words in its message
//! # 2                          it tells that it has inserted, changed or deleted so many rows
//! &3x50 SQL                    3 sessions run it 50 times each, at the same time as the statements
//!                              marked so next to it; in it, `$s` is the session's number, from 1,
//!                              `$i` the round's, `$(1 + $i % 3)` a computed number. Every outcome
//!                              must be one of those listed
//! ```
//!
//! A statement with several outcomes lists them all, an outcome of several rows as `= a / b`.

/// What a statement may end with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// these rows, columns separated by `|`
    Rows(Vec<String>),
    /// an error with this code and these words
    Error(String, String),
}

/// A statement, who runs it how often, and the outcomes it may have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// line in the file, from 1
    pub line: usize,
    /// SQL
    pub sql: String,
    /// how many sessions run it, each how many times
    pub times: (usize, usize),
    /// what it may end with; a statement alone ends with all the rows listed, in this order
    pub outcomes: Vec<Outcome>,
    /// how many rows it tells that it has touched, where the case asks
    pub touched: Option<u64>,
}

/// Statements that run at the same time; a plain one is a step of its own.
pub type Step = Vec<Statement>;

/// A case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// what it shows
    pub name: String,
    /// what is done, step after step
    pub steps: Vec<Step>,
}

/// Reads a file of cases. Panics where it is no such file: it is part of the test.
pub fn parse(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut together = false;
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        if let Some(name) = line.strip_prefix("===") {
            cases.push(Case { name: name.trim().to_owned(), steps: Vec::new() });
            together = false;
            continue;
        }
        if line.trim().is_empty() || line.starts_with("--") {
            continue;
        }
        let case = cases.last_mut().unwrap_or_else(|| panic!("line {number}: no case begun"));
        let (mark, rest) = line.split_at(1);
        match mark {
            ">" => {
                case.steps.push(vec![statement(number, rest, (1, 1))]);
                together = false;
            }
            "&" => {
                let (times, sql) = repeated(number, rest);
                if !together {
                    case.steps.push(Vec::new());
                }
                together = true;
                last_step(case, number).push(statement(number, sql, times));
            }
            "=" | "!" => add_outcome(last_statement(case, number), mark, rest.trim()),
            "#" => {
                let touched = rest.trim().parse();
                let touched = touched.unwrap_or_else(|_| panic!("line {number}: no number"));
                last_statement(case, number).touched = Some(touched);
            }
            _ => {
                let sql = &mut last_statement(case, number).sql;
                sql.push('\n');
                sql.push_str(line);
            }
        }
    }
    cases
}

fn statement(line: usize, sql: &str, times: (usize, usize)) -> Statement {
    Statement { line, sql: sql.trim().to_owned(), times, outcomes: Vec::new(), touched: None }
}

fn repeated(line: usize, text: &str) -> ((usize, usize), &str) {
    let read = || {
        let (times, sql) = text.split_once(' ')?;
        let (sessions, rounds) = times.split_once('x')?;
        Some(((sessions.parse().ok()?, rounds.parse().ok()?), sql))
    };
    read().unwrap_or_else(|| panic!("line {line}: not `&SESSIONSxTIMES SQL`"))
}

fn last_step(case: &mut Case, line: usize) -> &mut Step {
    case.steps.last_mut().unwrap_or_else(|| panic!("line {line}: no statement before"))
}

fn last_statement(case: &mut Case, line: usize) -> &mut Statement {
    let step = last_step(case, line);
    step.last_mut().unwrap_or_else(|| panic!("line {line}: no statement before"))
}

fn add_outcome(statement: &mut Statement, mark: &str, text: &str) {
    let outcome = match mark {
        "!" => {
            let (code, words) = text.split_once(' ').unwrap_or((text, ""));
            Outcome::Error(code.to_owned(), words.trim().to_owned())
        }
        _ if text == "{}" => Outcome::Rows(Vec::new()),
        _ => Outcome::Rows(text.split(" / ").map(str::to_owned).collect()),
    };
    // Rows of a statement alone follow each other; those of repeated ones are alternatives.
    match (&outcome, statement.outcomes.last_mut()) {
        (Outcome::Rows(new), Some(Outcome::Rows(rows))) if statement.times == (1, 1) => {
            rows.extend(new.iter().cloned());
        }
        _ => statement.outcomes.push(outcome),
    }
}
