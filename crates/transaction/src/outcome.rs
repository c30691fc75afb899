//! Outcomes: how a transaction ends, and why.
//!
//! Role         the interpreter and engines stop with a [`Stop`]; the caller gets an [`Outcome`].
//!              An abort is an outcome, not an error of the system.

use hotrow_base::interrupt::Interruption;
use hotrow_base::interrupt::current::Refusal;
use hotrow_base::memory::{OutOfMemory, Scope};
use hotrow_base::panics::{Panicked, contained};
use hotrow_base::stack::Exhausted;
use hotrow_base::value::{Value, ValueError};

use crate::place::Place;

macro_rules! conflicts {
    ($($(#[$doc:meta])* $name:ident => $text:literal),+ $(,)?) => {
        /// Why an engine undid a transaction that the procedure itself did not abort. The engine
        /// tries again; a client never sees these for a procedure.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Conflict {
            $($(#[$doc])* $name),+
        }

        impl Conflict {
            /// Every reason, in the order of their counters.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The reason's name in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text),+ }
            }
        }
    };
}

conflicts! {
    /// a lock was not free and the policy never waits
    NoWait => "no-wait",
    /// wait-die: the younger transaction may not wait for the older one
    Die => "die",
    /// wound-wait: an older transaction wants what this one holds
    Wound => "wound",
    /// a lock was not free for so long that the policy gave up
    TimeOut => "time-out",
    /// the deadlock policy chose this transaction
    Victim => "victim",
    /// an optimistic read was overtaken
    Validation => "validation",
    /// a session's statement let go of its place in a queue, so that a quiet point could come
    Quiet => "quiet",
    /// a session's statement was interrupted while it waited
    Interrupt => "interrupt",
    /// a session's statement may not wait, and met what somebody else holds
    Busy => "busy",
    /// a call met what somebody's open transaction holds, and waits outside for that to end
    Parked => "parked",
    /// a call ran behind one that is undecided, and met what that one has removed
    Undecided => "undecided",
}

/// Why execution stops before the end of the procedure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// the procedure failed or raised; the [`SqlError`] lies in the frame
    Error,
    /// the engine's protocol gave way; to be tried again
    Conflict(Conflict),
    /// reconnaissance guessed wrong; to be planned again with what was seen
    Replan,
    /// storage's memory budget is spent
    OutOfMemory,
    /// the log has failed, so that nothing can be committed any more
    Log,
}

/// SQLSTATE of the error by which a call asks for more numbers; its message tells which
/// ([`Numbered`](crate::draw::Numbered)). No client sees it, and none can raise it: RAISE takes no
/// small letters.
pub const NUMBERS_SPENT: [u8; 5] = *b"spent";

/// SQLSTATEs begin so of constraints that are violated and checked later, in errors of calls that
/// are to be made again. RAISE takes no small letters.
pub(crate) const CLASS_DEFERRED: &[u8] = b"d3";

/// An error of SQL execution, PostgreSQL style.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SqlError {
    /// five characters
    pub sqlstate: [u8; 5],
    /// what happened
    pub message: String,
    /// more about it
    pub detail: Option<String>,
    /// what to do
    pub hint: Option<String>,
    /// statement of the procedure where it happened
    pub place: Place,
    /// where in the client's data
    pub context: Option<String>,
    /// table concerned
    pub table: Option<String>,
    /// column concerned
    pub column: Option<String>,
    /// constraint concerned
    pub constraint: Option<String>,
    /// what else RAISE has named
    pub named: Option<Box<RaisedNames>>,
    /// what a call had said before it failed
    pub notices: Vec<Notice>,
}

/// What an error concerns besides, where RAISE names it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RaisedNames {
    /// schema concerned
    pub schema: Option<String>,
    /// type concerned
    pub data_type: Option<String>,
}

/// How much a notice matters to who set `client_min_messages`, from least to most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NoticeLevel {
    /// RAISE DEBUG
    Debug,
    /// RAISE LOG: for the server's log
    Log,
    /// RAISE NOTICE
    Notice,
    /// RAISE WARNING: it was done all the same
    Warning,
    /// RAISE INFO: asked for, so always told
    Info,
    /// NOTIFY: no notice, but what whoever listens is sent once the call has committed. The
    /// channel is the detail, the payload the hint
    Notification,
    /// no notice, but the error of a constraint that is violated for now and is checked again by
    /// whoever commits ([`crate::invocation::Leaves`]). The hint says what of
    /// ([`crate::deferred::Pending`])
    Violation,
    /// no notice, but what a trigger fires for before whoever commits does; the hint says what, as
    /// that of a violation does
    Event,
}

impl NoticeLevel {
    /// As clients are told it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Log => "LOG",
            Self::Notice => "NOTICE",
            Self::Warning => "WARNING",
            Self::Info => "INFO",
            Self::Notification => "NOTIFICATION",
            Self::Violation => "VIOLATION",
            Self::Event => "EVENT",
        }
    }
}

/// What is said beside a result, by RAISE or by a statement itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// how much it matters
    pub level: NoticeLevel,
    /// in the form of an error, which it is not
    pub said: SqlError,
}

impl Notice {
    /// A WARNING.
    pub fn warning(said: SqlError) -> Self {
        Self { level: NoticeLevel::Warning, said }
    }

    /// A NOTICE.
    pub fn new(said: SqlError) -> Self {
        Self { level: NoticeLevel::Notice, said }
    }
}

impl SqlError {
    /// Whether it says nothing of what was asked for, only that there was no time or no room to
    /// find out: who tries whether something can be compiled must not take that for a no.
    pub fn is_refusal(&self) -> bool {
        matches!(&self.sqlstate, b"57014" | b"57P01" | b"53200")
    }

    /// Whether no handler of a procedure may catch it: it tells of an interruption, of the memory
    /// or the stack of the process, or of a bug; or the call is to be made again.
    pub fn is_beyond_handlers(&self) -> bool {
        self.is_refusal()
            || matches!(&self.sqlstate, b"54001" | b"XX000" | &NUMBERS_SPENT)
            || self.is_deferred()
    }

    /// Whether a call is to be made again by somebody who checks constraints before COMMIT.
    pub fn is_deferred(&self) -> bool {
        self.sqlstate.starts_with(CLASS_DEFERRED)
    }

    /// An error with nothing but a code and a message.
    pub fn new(sqlstate: &[u8; 5], message: impl Into<String>) -> Self {
        Self {
            sqlstate: *sqlstate,
            message: crate::catalog::schemas::shown(message.into()),
            detail: None,
            hint: None,
            place: Place::default(),
            context: None,
            table: None,
            column: None,
            constraint: None,
            named: None,
            notices: Vec::new(),
        }
    }

    /// The code as text.
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.sqlstate).unwrap_or("XX000")
    }
}

impl From<ValueError> for SqlError {
    fn from(error: ValueError) -> Self {
        if let Some(why) = error.refusal() {
            return why.into();
        }
        let code = error.code().as_bytes().first_chunk().copied().unwrap_or(*b"22000");
        let detail = error.detail().map(str::to_owned);
        let too_deep =
            (&code == b"54001").then_some("Keep its parts apart, as values of their own.");
        let hint = error.hint().or(too_deep).map(str::to_owned);
        Self { detail, hint, ..Self::new(&code, error.message()) }
    }
}

/// Runs a part of a statement that holds and changes nothing of what others see: a panic in it is
/// the statement's error, XX000.
///
/// # Errors
///
/// Those of the part, and XX000.
#[inline]
pub fn apart<T, E: From<SqlError>>(part: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    contained(part).unwrap_or_else(|panicked| Err(SqlError::from(panicked).into()))
}

impl From<Panicked> for SqlError {
    fn from(panicked: Panicked) -> Self {
        let hint = "This is a bug of Hotrow; the log tells where it is.".to_owned();
        let detail = (!panicked.place.is_empty()).then(|| panicked.place.clone());
        Self { detail, hint: Some(hint), ..Self::new(b"XX000", panicked.to_string()) }
    }
}

impl From<Exhausted> for SqlError {
    fn from(end: Exhausted) -> Self {
        let hint = Some("Write parts of the statement as statements of their own.".to_owned());
        Self { hint, ..Self::new(b"54001", end.to_string()) }
    }
}

impl From<Interruption> for SqlError {
    fn from(why: Interruption) -> Self {
        match why {
            // A session whose attempt is over makes another one, unless a request has come.
            Interruption::Request | Interruption::Attempt => {
                Self::new(b"57014", "canceling statement due to user request")
            }
            Interruption::StatementTime => {
                Self::new(b"57014", "canceling statement due to statement timeout")
            }
            Interruption::Termination => {
                Self::new(b"57P01", "terminating connection due to administrator command")
            }
            Interruption::LockTime => {
                Self::new(b"55P03", "canceling statement due to lock timeout")
            }
            Interruption::Memory => {
                let mut error = Self::new(b"53200", "out of memory");
                let detail = "What the transaction has changed takes more memory to undo than the \
                    statement or its session may have.";
                error.detail = Some(detail.to_owned());
                let hint = "Commit, and do the rest in other transactions, or raise \
                    hotrow.statement_memory of the session.";
                error.hint = Some(hint.to_owned());
                error
            }
        }
    }
}

impl From<OutOfMemory> for SqlError {
    #[cold]
    fn from(why: OutOfMemory) -> Self {
        let setting = match why.scope {
            Scope::Process => "work_memory_bytes of the server",
            Scope::Session => "session_memory_bytes of the server",
            Scope::Statement => {
                "hotrow.statement_memory of the session, or statement_memory_bytes of the server"
            }
        };
        let mut error = Self::new(b"53200", "out of memory");
        error.detail = Some(format!("{why}."));
        error.hint = Some(format!("Do it in smaller parts, or raise {setting}."));
        error
    }
}

impl From<Refusal> for SqlError {
    fn from(why: Refusal) -> Self {
        match why {
            Refusal::Interrupted(why) => why.into(),
            Refusal::OutOfMemory(why) => why.into(),
        }
    }
}

impl std::fmt::Display for SqlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ERROR {}: {}", self.code(), self.message)?;
        if let Some(detail) = &self.detail {
            write!(f, "\nDETAIL: {detail}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nHINT: {hint}")?;
        }
        if self.place.line > 0 {
            write!(f, "\nAT: line {}, column {}", self.place.line, self.place.column)?;
        }
        Ok(())
    }
}

impl std::error::Error for SqlError {}

/// What a caller gets back: rows, or an error after which nothing of the call remains.
pub type Outcome = Result<Rows, SqlError>;

/// The rows a call returned.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rows {
    /// column names
    pub columns: Vec<String>,
    /// values, row by row
    pub rows: Vec<Vec<Value>>,
    /// rows the last statement touched, for ad-hoc INSERT, UPDATE and DELETE
    pub touched: u64,
    /// what RAISE said, in the order in which it did
    pub notices: Vec<Notice>,
}
