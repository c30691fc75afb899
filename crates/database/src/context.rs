//! What a statement needs of its session: the database, and what the session has set and drawn.
//!
//! Role         passed down to whatever runs for a session. Knows neither the session's transaction
//!              nor how statements are compiled and run, so that nobody below can come back to what
//!              is in use above
//! Concurrency  one session's, and so one thread's; each cell is borrowed for one look or one
//!              change, in which nothing else is called

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::conventions::EnteredConventions;
use hotrow_base::interrupt::Interrupt;
use hotrow_base::interrupt::current::{self, Entered};
use hotrow_base::memory::{MemoryAccount, Scope};
use hotrow_query::Profile;
use hotrow_sql::OpenCursors;
use hotrow_transaction::catalog::{BOOTSTRAP, SearchPath};

use crate::activity::SessionActivity;
use crate::advisory::AdvisoryOwner;
use crate::books::OpenBooks;
use crate::config::Config;
use crate::core::Core;
use crate::held_back::HeldBack;
use crate::journal::Journal;
use crate::named::Names;
use crate::notifications::Notifying;
use crate::role_in_force::RoleInForce;
use crate::sequences::Drawn;
use crate::settings::{Settings, TransactionStep};
use crate::temporary::TemporaryTables;

/// What goes down with each statement of a session.
pub(crate) struct Context {
    pub(crate) core: Arc<Core>,
    pub(crate) interrupt: Arc<Interrupt>,
    /// what the session keeps between statements, and above the account of the one that it runs
    pub(crate) memory: Arc<MemoryAccount>,
    pub(crate) advisory: AdvisoryOwner,
    pub(crate) held_back: Arc<HeldBack>,
    pub(crate) books: OpenBooks,
    /// DO blocks that run statement by statement, one in the other
    pub(crate) blocks: Cell<u32>,
    /// what the steps of such a block have answered, where it is a transaction of its own
    pub(crate) journal: RefCell<Option<Journal>>,
    /// within which a thread must take its calls
    pub(crate) call_deadline: Cell<Option<Duration>>,
    /// what others see of it, if it has a number
    pub(crate) activity: RefCell<Option<Arc<SessionActivity>>>,
    identity: RefCell<Arc<Identity>>,
    /// the role that its statements are run with
    role: RefCell<RoleInForce>,
    settings: RefCell<Settings>,
    drawn: RefCell<Drawn>,
    names: RefCell<Names>,
    temporary: RefCell<TemporaryTables>,
    cursors: RefCell<OpenCursors>,
    /// whether the statement that runs may change nothing
    pub(crate) only_reads: Cell<bool>,
    /// how many transactions of several statements have ended
    pub(crate) ended: Cell<u64>,
    pub(crate) notifying: RefCell<Notifying>,
    /// what the operators of the next query took, if that is asked
    profile: RefCell<Option<Profile>>,
}

/// What a thread works for.
pub(crate) type EnteredSession = (Entered, EnteredConventions);

/// Who a session is, for queries that ask.
pub(crate) struct Identity {
    pub(crate) user: String,
    /// the role of that name; none: there was none when the session began
    pub(crate) role: RoleInForce,
    pub(crate) database: String,
    pub(crate) number: i32,
}

impl Default for Identity {
    fn default() -> Self {
        let name = || BOOTSTRAP.to_owned();
        Self { user: name(), role: None, database: name(), number: 0 }
    }
}

impl Context {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        let Config { session_memory_bytes, statement_memory_bytes, .. } = core.config;
        let memory = core.memory.child(Scope::Session, session_memory_bytes);
        let of_statement = memory.child(Scope::Statement, statement_memory_bytes);
        Self {
            interrupt: Arc::new(Interrupt::new(of_statement)),
            cursors: RefCell::new(OpenCursors::new(Arc::clone(&memory))),
            only_reads: Cell::default(),
            ended: Cell::default(),
            memory,
            advisory: AdvisoryOwner::new(&core.advisory),
            held_back: Arc::default(),
            books: core.library.open(),
            blocks: Cell::default(),
            journal: RefCell::default(),
            call_deadline: Cell::new(core.config.call_deadline),
            activity: RefCell::default(),
            identity: RefCell::default(),
            role: RefCell::default(),
            settings: RefCell::default(),
            drawn: RefCell::default(),
            names: RefCell::default(),
            temporary: RefCell::default(),
            notifying: RefCell::default(),
            profile: RefCell::default(),
            core,
        }
    }

    /// Has queries measured, or no more; what the last one took.
    pub(crate) fn measure(&self, profile: Option<Profile>) -> Option<Profile> {
        self.profile.replace(profile)
    }

    /// Has what this thread compiles and computes obey the session, pay from its budget, and show
    /// and read values by its conventions.
    pub(crate) fn enter(&self) -> EnteredSession {
        let conventions = self.settings().often_asked().conventions;
        (current::enter(Some(&self.interrupt)), conventions.enter())
    }

    pub(crate) fn identity(&self) -> Arc<Identity> {
        self.identity.borrow().clone()
    }

    pub(crate) fn identify(&self, identity: Identity) {
        *self.identity.borrow_mut() = Arc::new(identity);
        self.settle_role();
    }

    /// The role that its statements are run with, for a moment.
    pub(crate) fn role(&self) -> Ref<'_, RoleInForce> {
        self.role.borrow()
    }

    pub(crate) fn set_role_in_force(&self, role: RoleInForce) {
        *self.role.borrow_mut() = role;
    }

    /// Its settings, for a moment.
    pub(crate) fn settings(&self) -> RefMut<'_, Settings> {
        self.settings.borrow_mut()
    }

    /// Where bare names of its statements are looked for.
    pub(crate) fn path(&self) -> SearchPath {
        self.temporary().seen_first(self.settings.borrow().search_path())
    }

    /// Whether they are looked for where all sessions begin to; asked with each statement.
    pub(crate) fn has_usual_path(&self) -> bool {
        !self.temporary().are_seen() && self.settings.borrow().has_usual_path()
    }

    /// Its temporary tables, for a moment.
    pub(crate) fn temporary(&self) -> RefMut<'_, TemporaryTables> {
        self.temporary.borrow_mut()
    }

    /// Has others see what the client calls itself now.
    pub(crate) fn show_application(&self) {
        if let Some(activity) = &*self.activity.borrow() {
            let name = self.settings().get("application_name");
            activity.set_application(name.unwrap_or_default());
        }
    }

    /// Tells what its transaction has done.
    pub(crate) fn step(&self, step: TransactionStep) {
        match &step {
            TransactionStep::Committed => self.temporary().end_transaction(true),
            TransactionStep::RolledBack => self.temporary().end_transaction(false),
            _ => {}
        }
        self.step_cursors(&step);
        self.step_notifications(&step);
        self.settings().step(step);
    }

    /// The cursors that routines have opened, for a moment.
    pub(crate) fn cursors(&self) -> RefMut<'_, OpenCursors> {
        self.cursors.borrow_mut()
    }

    /// Cursors go with their transaction, or with what is taken back of it.
    fn step_cursors(&self, step: &TransactionStep) {
        let mut cursors = self.cursors();
        match step {
            TransactionStep::Begun => {}
            TransactionStep::Committed | TransactionStep::RolledBack => {
                cursors.close_all();
                self.ended.set(self.ended.get() + 1);
            }
            TransactionStep::Savepoint(name) => cursors.note_savepoint(name.clone()),
            TransactionStep::RolledBackTo(name) => cursors.go_back_to(name),
            TransactionStep::Released(name) => cursors.release_savepoint(name),
        }
    }

    /// The numbers it has drawn from sequences, for a moment.
    pub(crate) fn drawn(&self) -> RefMut<'_, Drawn> {
        self.drawn.borrow_mut()
    }

    /// Names of statements, for a moment.
    pub(crate) fn names(&self) -> RefMut<'_, Names> {
        self.names.borrow_mut()
    }
}
