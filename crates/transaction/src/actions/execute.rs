//! Execution of a call's actions, one after another in any allowed order.
//!
//! Role         the proof that actions are right (tests run them in random orders), and the model
//!              of what an engine does with them. Allocates; engines keep values in memory of
//!              their own.

use hotrow_base::datum::Datum;
use hotrow_base::value::Value as ApiValue;

use super::batch::{Batch, BatchCall};
use super::program::ActionProgram;
use super::run::{CallRun, Values};
use crate::access::RecordAccess;
use crate::frame::Frame;
use crate::invocation::Invocation;
use crate::outcome::{Notice, Rows, SqlError, Stop};

/// Why a call ended early.
#[derive(Clone, PartialEq, Debug)]
pub enum Failure {
    /// the call's own error
    Error(Box<SqlError>),
    /// another reason
    Stop(Stop),
}

/// What goes on around the actions.
pub trait Order<A> {
    /// Which of so many ready actions is next.
    fn choose(&mut self, ready: usize) -> usize;

    /// An action begins.
    fn enter(&mut self, access: &mut A, batch: &Batch, action: u32);
}

/// Runs all actions of a call of a batch. `order` chooses among those whose dependencies are done.
///
/// Errors: the failure of the leaf that is first in program order (I4 of planning); the caller
/// undoes the call.
pub fn execute<A: RecordAccess>(
    program: &ActionProgram,
    (batch, call): (&Batch, &BatchCall),
    invocation: &Invocation,
    access: &mut A,
    order: &mut impl Order<A>,
) -> Result<Rows, Failure> {
    let mut run = Run {
        call: CallRun { program, batch, call, invocation },
        frame: Frame::new(),
        values: Kept { made: vec![(Datum::NULL, None); batch.values()] },
        returned: Vec::new(),
        failed: None,
    };
    let actions = batch.actions_of(call);
    let mut waits: Vec<usize> = vec![0; batch.actions().len()];
    batch.dependencies().iter().for_each(|&(_, to)| waits[to as usize] += 1);
    let mut ready: Vec<u32> = actions.clone().filter(|&a| waits[a as usize] == 0).collect();
    let mut done = 0;
    while !ready.is_empty() {
        let action = ready.swap_remove(order.choose(ready.len()));
        order.enter(access, batch, action);
        run.action(action, access);
        done += 1;
        for &(from, to) in batch.dependencies() {
            if from == action {
                waits[to as usize] -= 1;
                if waits[to as usize] == 0 {
                    ready.push(to);
                }
            }
        }
    }
    assert_eq!(done, actions.len(), "dependencies have no cycle (I1 of planning)");
    run.finish()
}

/// Values as they were made, with their bytes.
struct Kept {
    made: Vec<(Datum, Option<Vec<u8>>)>,
}

impl Values for Kept {
    fn load(&self, value: u32, heap: &mut Vec<u8>) -> Datum {
        let (datum, bytes) = &self.made[value as usize];
        let Some(bytes) = bytes else { return *datum };
        Datum::of_bytes(bytes, heap)
    }

    fn store(&mut self, value: u32, datum: Datum, bytes: Option<&[u8]>) {
        self.made[value as usize] = (datum, bytes.map(<[u8]>::to_vec));
    }
}

struct Run<'a> {
    call: CallRun<'a>,
    frame: Frame,
    values: Kept,
    /// by instance: its rows, and what it said
    returned: Vec<(u32, Vec<Vec<ApiValue>>, Vec<Notice>)>,
    /// the failed instance that is first in program order
    failed: Option<(u32, Failure)>,
}

impl Run<'_> {
    fn action<A: RecordAccess>(&mut self, action: u32, access: &mut A) {
        let batch = self.call.batch;
        let mut has_begun = false;
        for &at in batch.lines(&batch.actions()[action as usize]) {
            // What comes before a failure in program order runs on: it may fail first.
            if self.failed.as_ref().is_some_and(|(failed, _)| *failed < at) {
                return;
            }
            // Once per action, so that nothing goes from one to another but by values.
            match std::mem::replace(&mut has_begun, true) {
                false => self.call.begin(at, &mut self.frame),
                true => self.frame.begin_next_leaf(),
            }
            let Err(stop) = self.call.run(at, &mut self.frame, access, &mut self.values) else {
                if self.call.returns(at) {
                    let Rows { rows, notices, .. } = self.frame.take_rows(self.call.code(at));
                    self.returned.push((at, rows, notices));
                }
                continue;
            };
            let error = self.frame.take_error();
            let failure = match (stop, error) {
                (Stop::Error, Some(error)) => Failure::Error(Box::new(error)),
                (stop, _) => Failure::Stop(stop),
            };
            self.failed = Some((at, failure));
            return;
        }
    }

    fn finish(mut self) -> Result<Rows, Failure> {
        self.returned.sort_by_key(|(at, ..)| *at);
        if let Some((failed, mut failure)) = self.failed {
            if let Failure::Error(error) = &mut failure {
                let before = self.returned.into_iter().take_while(|(at, ..)| *at < failed);
                let said = before.flat_map(|(_, _, said)| said);
                error.notices = said.chain(std::mem::take(&mut error.notices)).collect();
            }
            return Err(failure);
        }
        Ok(Rows {
            columns: self
                .call
                .program
                .whole
                .program
                .result
                .iter()
                .map(|c| c.name.clone())
                .collect(),
            notices: self.returned.iter().flat_map(|(_, _, said)| said).cloned().collect(),
            rows: self.returned.into_iter().flat_map(|(_, rows, _)| rows).collect(),
            touched: self.call.row_count(&self.values).as_int() as u64,
        })
    }
}
