//! The list: what a transaction has done so far, to be done again.

use std::sync::Arc;

use hotrow_base::ids::{ProcedureId, TableId};
use hotrow_base::interrupt::Interrupt;
use hotrow_base::memory::Charge;
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::invocation::{Arguments, Invocation};
use hotrow_transaction::outcome::SqlError;

use super::super::{Runs, Statement};

/// Statements of one transaction: each repeats the changes before it.
const STATEMENTS_MAX: usize = 10_000;
/// What a program is taken to be, in bytes, that is kept for a statement.
const PROGRAM_BYTES: usize = 4 << 10;

/// Entries in the order in which they were done, and where savepoints stand among them.
#[derive(Default)]
pub(super) struct List {
    entries: Vec<Entry>,
    /// for each savepoint that there is, where it stands among the entries
    savepoints: Vec<usize>,
    statements: usize,
    /// tables that programs use which were compiled for the transaction
    tables: Vec<TableId>,
    /// of the session that runs it
    charge: Charge,
}

/// What was done.
pub(super) enum Entry {
    /// a statement ran, or is to run
    Step(Box<Step>),
    /// a savepoint was made
    Savepoint,
    /// all was taken back behind the savepoint that is this entry
    RollbackTo(usize),
}

/// A statement.
pub(super) struct Step {
    pub(super) runs: KeptRuns,
    pub(super) invocation: Invocation,
    pub(super) given: Given,
    /// at which of the transaction's quiet points it ran first
    pub(super) moment: u32,
    /// it changed something
    pub(super) changes: bool,
    /// that was taken back later
    pub(super) is_undone: bool,
}

/// As [`Runs`].
pub(super) enum KeptRuns {
    Program(Arc<Program>),
    Call(ProcedureId),
}

/// What a statement gave its client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Given {
    /// a hash of what it told
    Answer(u64),
    /// it failed with this SQLSTATE
    Error([u8; 5]),
    /// nothing yet: it has not run, and tells nothing but an error
    Nothing,
}

impl Given {
    /// Whether a client that was given this may be given the other one.
    pub(super) fn allows(self, other: Self) -> bool {
        self == other || self == Self::Nothing && matches!(other, Self::Answer(_))
    }
}

impl Step {
    pub(super) fn new(statement: Statement<'_>, invocation: &Invocation) -> Self {
        let runs = match statement.runs {
            Runs::Program(program) => KeptRuns::Program(Arc::clone(program)),
            Runs::Call(procedure, _) => KeptRuns::Call(procedure),
        };
        let invocation = Invocation {
            procedure: invocation.procedure,
            arguments: invocation.arguments.clone(),
            now_us: invocation.now_us,
            conventions: invocation.conventions,
            leaves: invocation.leaves,
            ..Invocation::default()
        };
        let (given, moment, changes, is_undone) = (Given::Nothing, 0, true, false);
        Self { runs, invocation, given, moment, changes, is_undone }
    }

    /// Whether it is to be repeated before the next statement.
    pub(super) fn is_of_effect(&self) -> bool {
        self.changes && !self.is_undone
    }

    fn program(&self) -> Option<&Arc<Program>> {
        match &self.runs {
            KeptRuns::Program(program) => Some(program),
            KeptRuns::Call(_) => None,
        }
    }
}

impl List {
    /// An empty one, which a session pays for.
    pub(super) fn new(interrupt: &Interrupt) -> Self {
        let account = interrupt.memory();
        // It outlives its statements.
        let charge = Charge::new(account.parent().unwrap_or(account));
        Self { charge, ..Self::default() }
    }

    pub(super) fn clear(&mut self) {
        self.entries = Vec::new();
        self.savepoints.clear();
        self.tables.clear();
        self.statements = 0;
        self.charge.clear();
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn steps(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Step(step) => Some(&**step),
            Entry::Savepoint | Entry::RollbackTo(_) => None,
        })
    }

    pub(super) fn steps_mut(&mut self) -> impl Iterator<Item = &mut Step> {
        self.entries.iter_mut().filter_map(|entry| match entry {
            Entry::Step(step) => Some(&mut **step),
            Entry::Savepoint | Entry::RollbackTo(_) => None,
        })
    }

    /// The statement that this entry is.
    pub(super) fn step_mut(&mut self, at: usize) -> Option<&mut Step> {
        match &mut self.entries[at] {
            Entry::Step(step) => Some(step),
            Entry::Savepoint | Entry::RollbackTo(_) => None,
        }
    }

    /// Whether nothing of it has run so far.
    pub(super) fn has_run_nothing(&self) -> bool {
        self.entries.iter().all(|entry| match entry {
            Entry::Step(step) => step.given == Given::Nothing,
            Entry::Savepoint => true,
            Entry::RollbackTo(_) => false,
        })
    }

    /// Tables of which programs depend.
    pub(super) fn tables(&self) -> &[TableId] {
        &self.tables
    }

    /// Whether all was shown at one moment, and nothing remains of it: then there is nothing to be
    /// checked.
    pub(super) fn is_one_look(&self) -> bool {
        let mut steps = self.steps();
        let Some(first) = steps.next() else { return true };
        !first.is_of_effect()
            && steps.all(|step| !step.is_of_effect() && step.moment == first.moment)
    }

    /// Fails with 54000 where no statement can be added any more.
    pub(super) fn refuse_more(&self) -> Result<(), SqlError> {
        if self.statements < STATEMENTS_MAX {
            return Ok(());
        }
        let message = format!("the transaction has more than {STATEMENTS_MAX} statements");
        let mut error = SqlError::new(b"54000", message);
        let hint = "On this engine each statement repeats the changes before it. Commit in \
                    between, write a procedure, or change many rows by one statement.";
        error.hint = Some(hint.to_owned());
        Err(error)
    }

    /// Adds a statement. Fails with 53200.
    pub(super) fn push(&mut self, statement: Statement<'_>, step: Step) -> Result<(), SqlError> {
        let Arguments { datums, elements, heap } = &step.invocation.arguments;
        let datums = size_of_val(&**datums) + size_of_val(&**elements);
        let last = self.steps().next_back().and_then(Step::program);
        let program = match (last, step.program()) {
            (Some(last), Some(own)) if Arc::ptr_eq(last, own) => 0,
            (_, own) => own.map_or(0, |_| PROGRAM_BYTES),
        };
        self.charge.add(size_of::<Entry>() + size_of::<Step>() + datums + heap.len() + program)?;
        if let KeptRuns::Program(_) = step.runs {
            for (table, _) in statement.uses {
                if !self.tables.contains(table) {
                    self.tables.push(*table);
                }
            }
        }
        // Rows of a COPY are bounded by their bytes.
        self.statements += usize::from(step.given != Given::Nothing);
        self.entries.push(Entry::Step(Box::new(step)));
        Ok(())
    }

    /// For each savepoint that there is the entry that it is.
    pub(super) fn savepoints(&self) -> &[usize] {
        &self.savepoints
    }

    /// Adds a savepoint; its number. Fails with 53200.
    pub(super) fn savepoint(&mut self) -> Result<usize, SqlError> {
        self.charge.add(size_of::<Entry>())?;
        self.savepoints.push(self.entries.len());
        self.entries.push(Entry::Savepoint);
        Ok(self.savepoints.len() - 1)
    }

    /// Takes back what was done behind a savepoint. It was seen all the same, and is checked.
    pub(super) fn rollback_to(&mut self, savepoint: usize) {
        let to = self.savepoints[savepoint];
        self.savepoints.truncate(savepoint + 1);
        let mut has_any = false;
        for entry in &mut self.entries[to + 1..] {
            if let Entry::Step(step) = entry {
                has_any |= !step.is_undone;
                step.is_undone = true;
            }
        }
        if has_any {
            self.charge.take(size_of::<Entry>());
            self.entries.push(Entry::RollbackTo(to));
        }
    }

    pub(super) fn release(&mut self, savepoint: usize) {
        self.savepoints.truncate(savepoint);
    }
}
