//! A handle on one procedure.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use hotrow_base::ids::ProcedureId;
use hotrow_base::panics;
use hotrow_transaction::compiled::CompiledProcedure;

use crate::arguments::IntoArguments;
use crate::asker::KnownAsker;
use crate::books::OpenBooks;
use crate::calls::address;
use crate::client::{Mailbox, Priority};
use crate::core::Core;
use crate::drawing;
use crate::error::Error;
use crate::notifications::notifications_of;
use crate::reply::Reply;
use crate::rows::Rows;

/// A procedure, looked up once for many calls. For one thread, like the session it came from.
///
/// Stays good when the procedure is replaced by one with the same parameters; fails with 42883
/// when it is dropped, or replaced by one with others.
pub struct Procedure {
    core: Arc<Core>,
    books: OpenBooks,
    mailbox: RefCell<Arc<Mailbox>>,
    id: ProcedureId,
    compiled: Arc<CompiledProcedure>,
    /// who has looked it up
    asker: KnownAsker,
    /// a mailbox serves one thread
    not_sync: PhantomData<Cell<()>>,
}

impl Procedure {
    pub(crate) fn new(
        (core, asker): (Arc<Core>, KnownAsker),
        id: ProcedureId,
        compiled: Arc<CompiledProcedure>,
    ) -> Self {
        let books = core.library.open();
        let mailbox = RefCell::new(Arc::new(Mailbox::new(books.share())));
        Self { core, books, mailbox, id, compiled, asker, not_sync: PhantomData }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.compiled.procedure.name
    }

    /// Its id, which invocations of benchmarks carry.
    pub fn id(&self) -> ProcedureId {
        self.id
    }

    /// As [`crate::Session::set_priority`], for calls of this procedure.
    pub fn set_priority(&self, priority: Priority) {
        self.mailbox.borrow().set_priority(priority);
    }

    /// Calls it and waits for its end.
    ///
    /// # Errors
    ///
    /// As [`crate::Session::call`].
    pub fn call(&self, arguments: impl IntoArguments) -> Result<Rows, Error> {
        let _guard = panics::guard();
        self.address(arguments)?;
        let deadline = self.core.config.call_deadline;
        let called = self.drawing(|mailbox| self.core.call(mailbox, None, deadline));
        Mailbox::renew(&self.mailbox);
        let called = called.and_then(|reply| self.settle(reply)).map_err(Error::told);
        self.books.note_statement(called.is_ok());
        called
    }

    /// As [`Procedure::call`], but fails with 53300 when the queue of waiting calls is full.
    ///
    /// # Errors
    ///
    /// As [`crate::Session::try_call`].
    pub fn try_call(&self, arguments: impl IntoArguments) -> Result<Rows, Error> {
        let _guard = panics::guard();
        self.address(arguments)?;
        let called = self.drawing(|mailbox| self.core.try_call(mailbox, None));
        let called = called.and_then(|reply| self.settle(reply)).map_err(Error::told);
        self.books.note_statement(called.is_ok());
        called
    }

    /// Tells how a call has ended when that is durable, and sends what it has said to whoever
    /// listens.
    fn settle(&self, mut reply: Reply) -> Result<Rows, Error> {
        let said = match &mut reply.answer {
            Ok(rows) => notifications_of(rows.notices_mut(), 0),
            Err(_) => Vec::new(),
        };
        let called = self.core.settle(reply, &self.books);
        if called.is_ok() {
            self.core.notifications.send(&self.core.journal, said);
        }
        called
    }

    /// Makes the call, again where it needs more numbers.
    fn drawing(
        &self,
        mut call: impl FnMut(&Arc<Mailbox>) -> Result<Reply, Error>,
    ) -> Result<Reply, Error> {
        let mailbox = self.mailbox.borrow();
        let call = || call(&mailbox);
        drawing::call(&self.core, (&self.compiled.procedure, &mailbox), call, |_, _| {})
    }

    fn address(&self, arguments: impl IntoArguments) -> Result<(), Error> {
        let procedure = &self.compiled.procedure;
        let mailbox = self.mailbox.borrow();
        address(&mailbox, (self.id, &self.compiled), (false, None), arguments)?;
        if procedure.draws.is_empty() {
            return Ok(());
        }
        let mut invocation = mailbox.invocation.lock();
        let arguments = &mut invocation.arguments;
        drawing::draw((&self.core, &self.asker), procedure, arguments)
    }
}

impl fmt::Debug for Procedure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Procedure").field("name", &self.name()).finish_non_exhaustive()
    }
}
