//! Calls of procedures, as a session makes them.
//!
//! Role         looks procedures up, binds arguments, and sends a call into the session's open
//!              transaction or into the queue
//! Concurrency  one session's, and so one thread's, but for the mailbox ([`crate::client`])

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use hotrow_base::by_name::ByName;
use hotrow_base::clock;
use hotrow_base::conventions::Conventions;
use hotrow_base::datum::Datum;
use hotrow_base::ids::ProcedureId;
use hotrow_base::types::SqlType;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::invocation::{Arguments, Invocation};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Procedure as Tree;

use crate::arguments::{IntoArguments, bind_all};
use crate::books::SessionBooks;
use crate::client::{Mailbox, Priority};
use crate::context::Context;
use crate::error::Error;
use crate::lookup::procedure_named;
use crate::reply::Reply;
use crate::role_in_force::{RoleInForce, is_same};
use crate::rows::Rows;
use crate::session_transaction::SessionTransaction;
use crate::{drawing, once};

/// What a session calls procedures with.
pub(crate) struct Calls {
    /// replaced when its call was withdrawn: the queue still has it then
    mailbox: RefCell<Arc<Mailbox>>,
    known: RefCell<Known>,
    /// there is more to do before anybody waits for the answers
    is_patient: Cell<bool>,
}

/// Procedures looked up so far, which a role may call.
#[derive(Default)]
struct Known {
    generation: u64,
    role: RoleInForce,
    by_name: ByName<(ProcedureId, Arc<CompiledProcedure>)>,
}

impl Calls {
    /// Of a session with these books.
    pub(crate) fn new(books: Arc<SessionBooks>) -> Self {
        let mailbox = RefCell::new(Arc::new(Mailbox::new(books)));
        Self { mailbox, known: RefCell::default(), is_patient: Cell::new(false) }
    }

    pub(crate) fn priority(&self) -> Priority {
        self.mailbox.borrow().priority()
    }

    pub(crate) fn set_priority(&self, priority: Priority) {
        self.mailbox.borrow().set_priority(priority);
    }

    /// How it was before.
    pub(crate) fn set_patient(&self, is_patient: bool) -> bool {
        self.is_patient.replace(is_patient)
    }

    /// Calls a procedure in the open transaction, or in the queue, and waits for its end.
    pub(crate) fn call(
        &self,
        context: &Context,
        transaction: &mut SessionTransaction,
        name: &str,
        arguments: impl IntoArguments,
    ) -> Result<Rows, Error> {
        match self.call_inside(context, transaction, name, arguments)? {
            Inside::Done(rows) => Ok(rows),
            Inside::Addressed(compiled) => {
                let call = || self.queue(context, &compiled.procedure);
                self.or_checking(context, transaction, &compiled, call)
            }
        }
    }

    /// As [`Calls::call`]; 53300 when the queue is full.
    pub(crate) fn try_call(
        &self,
        context: &Context,
        transaction: &mut SessionTransaction,
        name: &str,
        arguments: impl IntoArguments,
    ) -> Result<Rows, Error> {
        match self.call_inside(context, transaction, name, arguments)? {
            Inside::Done(rows) => Ok(rows),
            Inside::Addressed(compiled) => {
                let (core, interrupt) = (&context.core, Some(&context.interrupt));
                let try_call = |mailbox: &_| core.try_call(mailbox, interrupt);
                let call =
                    || context.settle(self.drawing(context, &compiled.procedure, try_call)?);
                self.or_checking(context, transaction, &compiled, call)
            }
        }
    }

    /// Calls a procedure in the queue, where no transaction is open.
    pub(crate) fn call_in_queue(
        &self,
        context: &Context,
        name: &str,
        arguments: impl IntoArguments,
    ) -> Result<Rows, Error> {
        let compiled = self.address(context, name, (arguments, None))?;
        self.queue(context, &compiled.procedure)
    }

    /// Calls a procedure at most once for a key.
    pub(crate) fn call_once(
        &self,
        context: &Context,
        key: &str,
        name: &str,
        arguments: impl IntoArguments,
    ) -> Result<Rows, Error> {
        once::check_key(key)?;
        let (id, compiled) = self.look_up(context, name)?;
        let mailbox = self.mailbox.borrow();
        address(&mailbox, (id, &compiled), (false, None), arguments)?;
        let call = {
            let mut invocation = mailbox.invocation.lock();
            invocation.key.extend_from_slice(key.as_bytes());
            // Without the numbers, which are others when the call is repeated.
            once::call_checksum(&compiled.procedure, &invocation.arguments)
        };
        draw_into(context, &mailbox, &compiled)?;
        let (core, interrupt) = (&context.core, &context.interrupt);
        let call_once = |mailbox: &_| core.call_once(mailbox, (key.as_bytes(), call), interrupt);
        let called = context.settle(self.drawing(context, &compiled.procedure, call_once)?);
        called.map_err(Error::told)
    }

    /// Repeats a recorded call.
    pub(crate) fn replay(&self, context: &Context, recorded: &Invocation) -> Result<Rows, Error> {
        let schema = context.core.schema.current();
        let compiled = schema.procedure(recorded.procedure);
        let fits = compiled.is_some_and(|compiled| fits(&recorded.arguments, &compiled.procedure));
        if !fits {
            let message = "the recorded call does not fit any procedure";
            return Err(SqlError::new(b"42883", message).into());
        }
        {
            let mailbox = self.mailbox.borrow();
            let mut invocation = mailbox.invocation.lock();
            invocation.procedure = recorded.procedure;
            invocation.arguments.clone_from(&recorded.arguments);
            invocation.now_us = recorded.now_us;
            invocation.conventions = recorded.conventions;
            invocation.key.clear();
        }
        let _running = context.interrupt.begin();
        // It has the numbers that it took.
        let sent = send(context, &self.mailbox.borrow());
        Mailbox::renew(&self.mailbox);
        let mut rows = context.settle(sent?).map_err(Error::told)?;
        rows.notices_mut().retain(drawing::is_heard);
        Ok(rows)
    }

    /// Makes the call in the mailbox; in a transaction of the session, if it has found violated
    /// what its COMMIT has to look at again.
    fn or_checking(
        &self,
        context: &Context,
        transaction: &mut SessionTransaction,
        compiled: &CompiledProcedure,
        call: impl FnOnce() -> Result<Rows, Error>,
    ) -> Result<Rows, Error> {
        // What the texts are that it executes is known only then.
        if !compiled.program.may_defer() && !compiled.program.has_dynamic() {
            return call();
        }
        // Whoever takes the call takes it out of the mailbox.
        let made = self.mailbox.borrow().invocation.lock().clone();
        match call() {
            Err(Error::Sql(error)) if context.core.can_check_later(&error) => {
                transaction.checking(context, |transaction| {
                    let called = transaction.call(context, &mut made.clone());
                    called.unwrap_or_else(|| Err(context.core.no_transactions().into()))
                })
            }
            done => done.map_err(Error::told),
        }
    }

    /// Runs a call in the open transaction, if there is one.
    fn call_inside(
        &self,
        context: &Context,
        transaction: &mut SessionTransaction,
        name: &str,
        arguments: impl IntoArguments,
    ) -> Result<Inside, Error> {
        transaction.refuse_failed()?;
        let taken = transaction.take_up(context);
        let now_us = transaction.now_us();
        let called = self.address(context, name, (arguments, now_us)).and_then(|compiled| {
            let mailbox = self.mailbox.borrow();
            let mut invocation = mailbox.invocation.lock();
            let rows = transaction.call(context, &mut invocation).transpose()?;
            Ok(rows.map_or(Inside::Addressed(compiled), Inside::Done))
        });
        transaction.put_down(taken);
        called.inspect_err(|_| transaction.fail())
    }

    fn address(
        &self,
        context: &Context,
        name: &str,
        (arguments, now_us): (impl IntoArguments, Option<i64>),
    ) -> Result<Arc<CompiledProcedure>, Error> {
        let (id, compiled) = self.look_up(context, name)?;
        let mailbox = self.mailbox.borrow();
        address(&mailbox, (id, &compiled), (self.is_patient.get(), now_us), arguments)?;
        draw_into(context, &mailbox, &compiled)?;
        Ok(compiled)
    }

    /// Has the call in the mailbox run by the engine.
    fn queue(&self, context: &Context, procedure: &Tree) -> Result<Rows, Error> {
        let called = self.drawing(context, procedure, |mailbox| send(context, mailbox));
        Mailbox::renew(&self.mailbox);
        context.settle(called?)
    }

    /// Makes the call in the mailbox, again where it needs more numbers.
    fn drawing(
        &self,
        context: &Context,
        procedure: &Tree,
        call: impl Fn(&Arc<Mailbox>) -> Result<Reply, Error>,
    ) -> Result<Reply, Error> {
        let mailbox = self.mailbox.borrow();
        let note = |sequence, number| context.drawn().note(sequence, number);
        drawing::call(&context.core, (procedure, &mailbox), || call(&mailbox), note)
    }

    /// The procedure with this name, or 42883; 42501 where the session may not call it.
    pub(crate) fn look_up(
        &self,
        context: &Context,
        name: &str,
    ) -> Result<(ProcedureId, Arc<CompiledProcedure>), Error> {
        let core = &context.core;
        let mut known = self.known.borrow_mut();
        let generation = core.schema.generation();
        if known.generation != generation || !is_same(&known.role, &context.role()) {
            known.by_name.clear();
            (known.generation, known.role) = (generation, context.role().clone());
        }
        if let Some((id, compiled)) = known.by_name.get(name) {
            return Ok((*id, Arc::clone(compiled)));
        }
        let schema = core.schema.current();
        let (id, compiled) = procedure_named(&schema, name)?;
        context.refuse_call(&schema.catalog, &compiled.procedure)?;
        known.by_name.insert(name.to_owned(), (id, Arc::clone(compiled)));
        Ok((id, Arc::clone(compiled)))
    }
}

/// Has the call in a mailbox run. While it waits to be taken it is withdrawn by an interrupt; later
/// on it looks at it itself.
fn send(context: &Context, mailbox: &Arc<Mailbox>) -> Result<Reply, Error> {
    context.core.call(mailbox, Some(&context.interrupt), context.call_deadline.get())
}

/// What became of a call where a transaction may be open.
enum Inside {
    /// it has run in it
    Done(Rows),
    /// none is open: it lies in the mailbox
    Addressed(Arc<CompiledProcedure>),
}

/// Puts what a call draws behind its arguments.
fn draw_into(
    context: &Context,
    mailbox: &Mailbox,
    compiled: &CompiledProcedure,
) -> Result<(), Error> {
    if compiled.procedure.draws.is_empty() {
        return Ok(());
    }
    context.drawn().begin();
    context.draw_for(&compiled.procedure, &mut mailbox.invocation.lock().arguments)
}

/// Puts a call into a mailbox; what it draws comes behind. Its time is that of the transaction that
/// it is in, if it is in one.
pub(crate) fn address(
    mailbox: &Mailbox,
    (id, compiled): (ProcedureId, &CompiledProcedure),
    (is_patient, now_us): (bool, Option<i64>),
    arguments: impl IntoArguments,
) -> Result<(), SqlError> {
    let mut invocation = mailbox.invocation.lock();
    invocation.is_patient = is_patient;
    invocation.procedure = id;
    invocation.now_us = arguments.now_us().or(now_us).unwrap_or_else(clock::now_us);
    invocation.conventions = Conventions::current();
    invocation.key.clear();
    bind_all(&compiled.procedure, arguments, &mut invocation)
}

/// Whether there is one argument per parameter, and ranges lie in their heaps: a worker trusts
/// both.
fn fits(arguments: &Arguments, procedure: &Tree) -> bool {
    let Arguments { datums, elements, heap } = arguments;
    let bytes = |datum: &Datum| datum.is_null() || heap.get(datum.as_range().range()).is_some();
    let one = |(datum, sql_type): (&Datum, SqlType)| match sql_type {
        SqlType::Scalar(data_type) => !data_type.is_bytes() || bytes(datum),
        SqlType::Array(_) if datum.is_null() => true,
        SqlType::Array(element) => elements
            .get(datum.whole_array())
            .and_then(|whole| whole.get(..datum.as_range().len as usize))
            .is_some_and(|elements| !element.is_bytes() || elements.iter().all(bytes)),
    };
    let types = procedure.parameters().iter().map(|slot| slot.sql_type);
    datums.len() == types.len() && datums.iter().zip(types).all(one)
}
