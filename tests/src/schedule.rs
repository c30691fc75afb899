//! Schedules: statements of several sessions in a given order, as isolation levels are told apart.
//!
//! Role         runs a schedule in lock step, one session per thread, and judges what was seen:
//!              the transactions that committed must have seen, and left, what they do one after
//!              the other in some order
//! Invariants   I1 a statement that has not answered after [`PATIENCE`] counts as one that waits;
//!              the sessions' later statements stand behind it. If it was only slow, what comes
//!              behind may run first: it is not said then that anything should have waited, and
//!              the rest of the judgement is the same
//! Source       Hermitage (Kleppmann, github.com/ept/hermitage): the anomalies and their schedules

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use hotrow::{Database, Session, TransactionState, Value};

/// After so long a statement is taken to wait for somebody.
const PATIENCE: Duration = Duration::from_millis(20);
/// Nobody waits so long in the end.
const END: Duration = Duration::from_secs(20);

/// What a statement answered: its rows, or the code of its error.
pub type Answer = Result<Vec<Vec<Value>>, String>;

/// A statement of a schedule.
#[derive(Clone, Debug)]
pub struct Step {
    /// session, from 1
    pub session: usize,
    /// one statement
    pub statement: String,
    /// it conflicts with what an open transaction did: it must wait, or be refused
    pub conflicts: bool,
}

/// Reads a schedule: a line per statement, `1 UPDATE ...`; `2! UPDATE ...` conflicts.
pub fn parse(text: &str) -> Vec<Step> {
    let line = |line: &str| {
        let (who, statement) = line.trim().split_once(' ').expect("a session and a statement");
        let session = who.trim_end_matches('!').parse().expect("a number");
        Step { session, statement: statement.to_owned(), conflicts: who.ends_with('!') }
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(line).collect()
}

/// What became of a schedule.
#[derive(Debug)]
pub struct Ran {
    /// per step
    pub answers: Vec<Answer>,
    /// per step: it was still waiting when the next one was given
    pub waited: Vec<bool>,
    /// sessions whose transaction committed, from 1
    pub committed: Vec<usize>,
}

struct Client {
    statements: Sender<(usize, String)>,
    /// statements given and not answered
    pending: usize,
}

/// Runs a schedule. Each session's statements are one transaction; `BEGIN` is given by itself
/// before the first.
pub fn run(db: &Database, steps: &[Step]) -> Ran {
    let sessions = steps.iter().map(|step| step.session).max().unwrap_or(0);
    std::thread::scope(|scope| {
        let (tell, told) = channel();
        let mut clients: Vec<Client> = (0..sessions)
            .map(|_| {
                let (statements, given) = channel();
                let (session, tell) = (db.session(), tell.clone());
                scope.spawn(move || serve(&session, &given, &tell));
                Client { statements, pending: 0 }
            })
            .collect();
        let mut ran = Ran {
            answers: vec![Err("none".to_owned()); steps.len()],
            waited: vec![false; steps.len()],
            committed: Vec::new(),
        };
        let owners: Vec<usize> = steps.iter().map(|step| step.session - 1).collect();
        for (at, step) in steps.iter().enumerate() {
            let client = &mut clients[owners[at]];
            client.statements.send((at, step.statement.clone())).expect("its session lives");
            client.pending += 1;
            ran.gather(&told, &mut clients, (&owners, at), PATIENCE);
            ran.waited[at] = clients[owners[at]].pending > 0;
        }
        while clients.iter().any(|client| client.pending > 0) {
            let before: usize = clients.iter().map(|client| client.pending).sum();
            ran.gather(&told, &mut clients, (&owners, steps.len()), END);
            let after: usize = clients.iter().map(|client| client.pending).sum();
            assert!(after < before, "somebody waits for ever: {ran:?}");
        }
        for session in 1..=sessions {
            let last = steps.iter().rposition(|step| step.session == session);
            let last = last.expect("each session says something");
            let is_commit = steps[last].statement == "COMMIT";
            let own = |(at, _): &(usize, &Answer)| steps[*at].session == session;
            let clean = ran.answers.iter().enumerate().filter(own).all(|(_, a)| a.is_ok());
            if is_commit && clean {
                ran.committed.push(session);
            }
        }
        ran
    })
}

impl Ran {
    /// Takes answers until step `until` is answered or nothing comes for a while.
    fn gather(
        &mut self,
        told: &Receiver<(usize, Answer)>,
        clients: &mut [Client],
        (owners, until): (&[usize], usize),
        patience: Duration,
    ) {
        loop {
            match told.recv_timeout(patience) {
                Ok((at, answer)) => {
                    clients[owners[at]].pending -= 1;
                    self.answers[at] = answer;
                    if at == until || clients.iter().all(|client| client.pending == 0) {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => unreachable!("this side has a sender"),
            }
        }
    }
}

fn serve(session: &Session, given: &Receiver<(usize, String)>, tell: &Sender<(usize, Answer)>) {
    let mut begun = false;
    while let Ok((at, statement)) = given.recv() {
        if !begun {
            session.execute("BEGIN").expect("there is room for a transaction");
            begun = true;
        }
        let answer = answer(session, &statement);
        if tell.send((at, answer)).is_err() {
            return;
        }
    }
    assert!(!begun || session.transaction_state() != TransactionState::Open, "all are ended");
}

fn answer(session: &Session, statement: &str) -> Answer {
    match session.execute(statement) {
        Ok(results) => {
            let rows = results.last().expect("one statement").rows.iter();
            Ok(rows.map(<[Value]>::to_vec).collect())
        }
        Err(error) => Err(error.sqlstate().unwrap_or("no SQL error").to_owned()),
    }
}

/// What is wrong with what was seen and left, if anything: `left` is the database after the
/// schedule, `fresh` makes one as it was before. `look` is a query of everything. Statements may
/// fail with 40001 and the like, and with these `codes`.
pub fn judge(
    steps: &[Step],
    (ran, codes): (&Ran, &[&str]),
    left: &Database,
    fresh: impl Fn() -> Database,
    look: &str,
) -> Option<String> {
    for (at, answer) in ran.answers.iter().enumerate() {
        match answer {
            Err(code)
                if !["40001", "40P01", "25P02"].contains(&code.as_str())
                    && !codes.contains(&code.as_str()) =>
            {
                return Some(format!("{} failed with {code}", steps[at].statement));
            }
            // Whom it conflicts with may have been refused, or ended by the older one.
            Ok(_)
                if steps[at].conflicts
                    && !ran.waited[at]
                    && (0..at).all(|before| steps[before].conflicts || !ran.waited[before])
                    && ran.answers.iter().all(Result::is_ok) =>
            {
                return Some(format!("{} did not wait", steps[at].statement));
            }
            _ => {}
        }
    }
    let left = answer(&left.session(), look);
    let serial = |order: &[usize]| {
        let db = fresh();
        let session = db.session();
        let own = |who: usize| steps.iter().enumerate().filter(move |(_, s)| s.session == who);
        order.iter().all(|&who| {
            own(who)
                .filter(|(_, step)| step.statement != "COMMIT")
                .all(|(at, step)| answer(&session, &step.statement) == ran.answers[at])
        }) && answer(&session, look) == left
    };
    let orders = permutations(&ran.committed);
    let found = orders.iter().any(|order| serial(order));
    (!found).then(|| format!("no order of {:?} gives {:?}, {left:?}", ran.committed, ran.answers))
}

fn permutations(of: &[usize]) -> Vec<Vec<usize>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let with_first = |at: usize| {
        let rest: Vec<_> = of.iter().copied().filter(|&who| who != of[at]).collect();
        permutations(&rest).into_iter().map(move |mut order| {
            order.insert(0, of[at]);
            order
        })
    };
    (0..of.len()).flat_map(with_first).collect()
}
