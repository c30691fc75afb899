//! The one way to run what a statement is compiled to, whatever holds its parts together.
//!
//! Role         a program, a query or a change is run part by part in a [`Parts`]: an open
//!              transaction, one of its own, a snapshot, or nothing for what reads no table

use std::sync::Arc;

use hotrow_base::value::Value;
use hotrow_engine::interactive::{Failure, InteractiveTransaction, Statement};
use hotrow_engine::schema::Schema;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::{Invocation, Leaves};
use hotrow_transaction::outcome::SqlError;

use crate::arguments::bind_all;
use crate::context::Context;
use crate::drawing::give_all_back;
use crate::error::Error;
use crate::prepared::{Prepared, run_compiled};
use crate::query::{self, Around};
use crate::rows::Rows;
use crate::transaction::{Began, OpenTransaction};
use crate::work::{StatementProgram, Work};

/// A transaction, or what stands for one, as a statement of several parts uses it.
pub(crate) trait Parts {
    /// Executes a part; none when it must be compiled again.
    fn execute(
        &mut self,
        part: Statement<'_>,
        invocation: &Invocation,
        frame: &mut Frame,
    ) -> Result<Option<()>, Error>;

    /// What its parts may leave to be checked before it commits.
    fn leaves(&self) -> Leaves {
        Leaves::Nothing
    }

    /// Begins a statement of which several parts change something.
    fn begin(&mut self) -> Result<Began, Error> {
        Ok(Began::default())
    }

    /// It has ended: what was done since it began stays, or is taken back.
    fn end(&mut self, _began: Began, _ended: &Result<Option<Rows>, Error>) {}

    /// The part that comes is the last one, and nothing that waits for others comes behind it.
    fn is_last_part(&mut self) {}

    /// Has parts that follow see one state, which is theirs in any case where rows are locked.
    /// Whether everybody else waits until the statement ends.
    fn hold(&mut self) -> bool {
        false
    }

    /// The parts that see one state have run.
    fn let_go(&mut self) {}

    /// Something comes in between that may wait for others.
    fn let_others_go_on(&mut self) {}
}

impl Parts for OpenTransaction {
    fn execute(
        &mut self,
        part: Statement<'_>,
        invocation: &Invocation,
        frame: &mut Frame,
    ) -> Result<Option<()>, Error> {
        Self::execute(self, part, invocation, frame).map_err(Error::Sql)
    }

    fn leaves(&self) -> Leaves {
        self.deferred.leaves()
    }

    fn begin(&mut self) -> Result<Began, Error> {
        Ok(self.begin_part()?)
    }

    fn end(&mut self, began: Began, ended: &Result<Option<Rows>, Error>) {
        self.end_part(began, matches!(ended, Ok(Some(_))));
    }

    fn hold(&mut self) -> bool {
        Self::hold(self)
    }

    fn let_go(&mut self) {
        Self::let_go(self);
    }

    fn let_others_go_on(&mut self) {
        Self::let_go(self);
    }
}

/// A transaction of one statement: what fails in it ends it.
impl Parts for Box<dyn InteractiveTransaction> {
    fn execute(
        &mut self,
        part: Statement<'_>,
        invocation: &Invocation,
        frame: &mut Frame,
    ) -> Result<Option<()>, Error> {
        match (**self).execute(part, invocation, frame) {
            Ok(()) => Ok(Some(())),
            Err(Failure::Outdated) => Ok(None),
            Err(Failure::Statement(error) | Failure::Ended(error)) => Err(error.into()),
        }
    }

    fn end(&mut self, _: Began, ended: &Result<Option<Rows>, Error>) {
        if let Ok(None) = ended {
            self.begin_again();
        }
    }

    fn is_last_part(&mut self) {
        (**self).hold();
    }

    /// Up to its COMMIT, which needs nothing done again then.
    fn hold(&mut self) -> bool {
        (**self).hold()
    }

    fn let_others_go_on(&mut self) {
        (**self).let_go();
    }
}

/// Runs what a statement does in a transaction.
pub(crate) fn run_in(
    context: &Context,
    (prepared, values): (&Prepared, &[Value]),
    now_us: i64,
    frame: &mut Frame,
    transaction: &mut impl Parts,
) -> Result<Rows, Error> {
    let mut invocation = Invocation { leaves: transaction.leaves(), ..Invocation::at(now_us) };
    context.drawn().begin();
    run_compiled(context, prepared, |work, schema, generation| {
        context.drawn().begin_again();
        let given = (values, || prepared.bound(values));
        let compiled = (work, schema, generation);
        run_work(context, compiled, given, (&mut invocation, frame), transaction)
    })
}

/// Runs what a statement was compiled to in a transaction, with values for its parameters as they
/// are given, and as they are of the parameters' types. None: the schema is another one.
pub(crate) fn run_work<P: Parts>(
    context: &Context,
    (work, schema, generation): (&Work, &Schema, u64),
    (values, bound): (&[Value], impl FnOnce() -> Result<Vec<Value>, SqlError>),
    (invocation, frame): (&mut Invocation, &mut Frame),
    transaction: &mut P,
) -> Result<Option<Rows>, Error> {
    if let Work::Program(work) = work {
        let part = (&**work, generation);
        return run_program(context, part, values, (invocation, frame), transaction);
    }
    let (values, now_us, core) = (bound()?, invocation.now_us, &*context.core);
    let leaves = invocation.leaves;
    let began = match work {
        Work::Change(_) => Some(transaction.begin()?),
        Work::Query(work) if work.writes() => Some(transaction.begin()?),
        _ => None,
    };
    // Numbers are drawn in transactions of their own.
    let is_alone = work.reads_tables_only() && transaction.hold();
    let around = Around { core, schema, context, now_us, leaves, is_alone };
    let rows = {
        let mut execute = |part: &StatementProgram, invocation: &Invocation| {
            execute_part(transaction, (part, generation), invocation, frame)
        };
        match work {
            Work::Query(work) => query::run(work, &values, &around, &mut execute),
            Work::Change(work) => query::run(&work.rows, &values, &around, &mut execute),
            Work::Call { .. } | Work::Program(_) => Ok(None),
        }
    };
    let rows = match (work, rows) {
        (Work::Change(work), Ok(Some(rows))) => {
            if !work.apply.procedure.draws.is_empty() {
                transaction.let_others_go_on();
            }
            context.numbers_for(&work.apply.procedure, rows.len()).and_then(|numbers| {
                transaction.hold();
                let mut execute = |part: &StatementProgram, invocation: &Invocation| {
                    execute_part(transaction, (part, generation), invocation, frame)
                };
                query::apply(work, (&values, &rows, &numbers), &around, &mut execute)
            })
        }
        (_, rows) => rows,
    };
    transaction.let_go();
    if let Some(began) = began {
        transaction.end(began, &rows);
    }
    rows
}

/// Runs what a program does in a transaction, drawing what it takes; none: the schema is another
/// one.
fn run_program(
    context: &Context,
    (work, generation): (&StatementProgram, u64),
    values: &[Value],
    (invocation, frame): (&mut Invocation, &mut Frame),
    transaction: &mut impl Parts,
) -> Result<Option<Rows>, Error> {
    bind_all(&work.procedure, values, invocation)?;
    context.draw_for(&work.procedure, &mut invocation.arguments)?;
    loop {
        transaction.is_last_part();
        let mut done = execute_part(transaction, (work, generation), invocation, frame);
        let let_go = || transaction.let_others_go_on();
        let arguments = &mut invocation.arguments;
        if !context.draws_more(&work.procedure, arguments, &mut done, let_go)? {
            if let Ok(None) = done {
                give_all_back(&context.core, &work.procedure, arguments);
            }
            return done;
        }
    }
}

/// Executes a part of a statement; its rows. None: the schema is another one.
fn execute_part(
    transaction: &mut impl Parts,
    (part, generation): (&StatementProgram, u64),
    invocation: &Invocation,
    frame: &mut Frame,
) -> Result<Option<Rows>, Error> {
    let done = transaction.execute(part.as_of(generation), invocation, frame)?;
    Ok(done.map(|()| Rows::of_frame(Arc::clone(&part.columns), frame, &part.program)))
}

/// What stands for a transaction where no part reads a table.
pub(crate) struct Nothing;

impl Parts for Nothing {
    fn execute(
        &mut self,
        _: Statement<'_>,
        _: &Invocation,
        _: &mut Frame,
    ) -> Result<Option<()>, Error> {
        Ok(None) // it does read one now
    }
}
