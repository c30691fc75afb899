//! What the steps of a block have answered, for a block that commits before its end.
//!
//! Role         a block that is run statement by statement is begun again where its transaction
//!              meets a conflict. What it has committed by then is not done again: its steps are
//!              answered as they were, up to the last COMMIT or ROLLBACK, and it goes on from there
//! Invariants   I1 a block that is begun again asks for the same steps, as it has the same answers:
//!              random values, times and rows are parts of these
//! Bounds       [`VALUES_MAX`] values are kept; a block with more is not begun again once it has
//!              committed

use hotrow_sql::StepAnswer;
use hotrow_transaction::outcome::SqlError;

/// Values of answers that are kept.
const VALUES_MAX: usize = 1 << 18;

/// The answers so far.
#[derive(Default)]
pub(crate) struct Journal {
    /// errors, too: a handler may have caught them
    answers: Vec<Result<StepAnswer, SqlError>>,
    values: usize,
    /// those that are committed
    committed: usize,
    /// how many of these are given again so far, in a block that was begun again
    given: Option<usize>,
    /// what was committed when it was begun again
    rewound: usize,
    /// something was committed that is not kept
    is_over: bool,
}

impl Journal {
    /// Whether the next step is answered already.
    pub(crate) fn is_answered(&self) -> bool {
        self.given.is_some_and(|given| given < self.committed)
    }

    /// The answer of the next step, if it is committed.
    pub(crate) fn answered(&mut self) -> Option<Result<StepAnswer, SqlError>> {
        if !self.is_answered() {
            return None;
        }
        let at = self.given.as_mut()?;
        let answer = self.answers[*at].as_ref().map(again).map_err(Clone::clone);
        *at += 1;
        Some(answer)
    }

    /// Keeps the answer of a step.
    pub(crate) fn keep(&mut self, answer: Result<&StepAnswer, &SqlError>) {
        self.given = None; // all that were to be given again have been
        self.values += answer.map_or(0, |answer| answer.values.len()) + 1;
        if self.values > VALUES_MAX {
            self.answers = Vec::new();
            return;
        }
        self.answers.push(answer.map(again).map_err(Clone::clone));
    }

    /// What was answered so far is committed, or taken back for good.
    pub(crate) fn commit(&mut self) {
        self.is_over |= self.values > VALUES_MAX;
        self.committed = self.answers.len();
    }

    /// Begins the block again, and tells whether more was committed than when it last began. None:
    /// it cannot begin again.
    pub(crate) fn rewind(&mut self) -> Option<bool> {
        if self.is_over || self.values > VALUES_MAX && self.committed > 0 {
            return None;
        }
        self.answers.truncate(self.committed);
        let sizes = self.answers.iter().map(|answer| answer.as_ref().map_or(0, |a| a.values.len()));
        self.values = sizes.map(|values| values + 1).sum();
        self.given = Some(0);
        let before = std::mem::replace(&mut self.rewound, self.committed);
        Some(self.committed > before)
    }
}

/// An answer, as it was.
fn again(answer: &StepAnswer) -> StepAnswer {
    let StepAnswer { values, columns, touched, notices, .. } = answer;
    let (values, columns, notices) = (values.clone(), columns.clone(), notices.clone());
    StepAnswer { values, columns, touched: *touched, notices, ..StepAnswer::default() }
}
