//! Panics: which end one statement, and which end the process.
//!
//! Role         a panic is a bug. Where it happens decides what it may cost: what works on
//!              somebody's statement alone is [`contained`], and its panic is that statement's
//!              error; whatever holds or changes what is shared is guarded, and its panic
//!              aborts the process before anything can be answered, as every panic did before.
//!              Where nobody has said anything, the thread is not ours (an embedder's, a test's)
//!              or is between two statements, and a panic unwinds it as everywhere else
//! States       of a thread: foreign -> guarded (a call of the API; a thread of the engine, for as
//!              long as it lives) -> contained (parsing, compiling, evaluating, formatting)
//!              -> guarded (rows of the engine, on behalf of what is contained) -> ... and back
//! Invariants   I1 no frame that holds a latch, a lock, a part of an index or a log buffer, or that
//!                 has changed one of these half, is ever unwound: it lies behind a [`guard`], or
//!                 below a boundary that catches what is contained above it
//!              I2 in doubt a section is guarded: containment is said where it holds, never
//!                 assumed
//!              I3 what is unwound leaves nothing behind that anybody else looks at: the heap and
//!                 the slots of a call that fails, rows in between, text
//! Concurrency  a thread's section and its last panic -> itself alone; counters -> Relaxed, figures

#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a panic would mean where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Section {
    /// not ours
    Foreign,
    /// it ends the process
    Guarded,
    /// it ends a statement
    Contained,
}

thread_local! {
    static SECTION: Cell<Section> = const { Cell::new(Section::Foreign) };
    /// what the hook has noted of a contained panic, until its boundary takes it
    static LAST: RefCell<Option<Panicked>> = const { RefCell::new(None) };
}

static CONTAINED: AtomicU64 = AtomicU64::new(0);

/// A panic that was contained: a bug, and what it said.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("internal error: {message}")]
pub struct Panicked {
    /// what it said
    pub message: String,
    /// file, line and column; empty where [`install`] was not called
    pub place: String,
}

/// A section of a thread, until it is dropped, also by unwinding; then the one around it goes on.
#[derive(Debug)]
#[must_use = "a section ends where this is dropped"]
pub struct Guard {
    around: Section,
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        SECTION.set(self.around);
    }
}

#[inline]
fn enter(section: Section) -> Guard {
    Guard { around: SECTION.replace(section) }
}

/// Begins a section that touches shared state: a panic in it ends the process.
#[inline]
pub fn guard() -> Guard {
    enter(Section::Guarded)
}

/// Has all of a thread's life be guarded: it belongs to the engine.
pub fn guard_thread() {
    SECTION.set(Section::Guarded);
}

/// Runs what holds and changes nothing of what others see: a panic in it is an error (I3).
///
/// # Errors
///
/// It has panicked.
#[inline]
pub fn contained<T>(body: impl FnOnce() -> T) -> Result<T, Panicked> {
    let _section = enter(Section::Contained);
    // I3: what the body has changed half is nobody's business any more.
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| taken(&*payload))
}

#[cold]
fn taken(payload: &(dyn std::any::Any + Send)) -> Panicked {
    CONTAINED.fetch_add(1, Ordering::Relaxed); // a figure
    let noted = LAST.with_borrow_mut(Option::take);
    noted.unwrap_or_else(|| Panicked { message: said(payload), place: String::new() })
}

fn said(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a text".to_owned())
}

/// How many panics were contained since the process began.
pub fn count() -> u64 {
    CONTAINED.load(Ordering::Relaxed) // a figure
}

/// What is told of a panic, at once, on the thread that panicked.
#[derive(Debug)]
pub struct Report<'a> {
    /// what it said, and where
    pub panicked: &'a Panicked,
    /// the process ends when this has been told
    pub is_fatal: bool,
}

/// Has panics be what this module says, from now on and for the whole process: `tell` hears of
/// those in Hotrow's own sections, all others go where they went before. Once; later calls do
/// nothing.
pub fn install(tell: fn(Report<'_>)) {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let section = SECTION.get();
            if section == Section::Foreign {
                return before(info);
            }
            let panicked = noted(info);
            let is_fatal = section == Section::Guarded;
            // A panic of the report itself ends the process, too.
            let _guarded = enter(Section::Guarded);
            if is_fatal {
                before(info);
            }
            tell(Report { panicked: &panicked, is_fatal });
            if is_fatal {
                std::process::abort(); // I1
            }
            LAST.set(Some(panicked));
        }));
    });
}

fn noted(info: &PanicHookInfo<'_>) -> Panicked {
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    Panicked { message: said(info.payload()), place }
}

/// Points at which tests have something panic, in builds with debug assertions.
pub mod point {
    /// Panics if a test has armed this point.
    #[inline(always)]
    pub fn reach(name: &str) {
        #[cfg(debug_assertions)]
        armed::reach(name);
        let _ = name;
    }

    /// Has the next one that reaches the point panic.
    #[cfg(debug_assertions)]
    pub fn arm(name: &'static str) {
        armed::arm(name);
    }

    #[cfg(debug_assertions)]
    mod armed {
        use std::sync::Mutex;
        use std::sync::atomic::{AtomicBool, Ordering};

        static IS_ANY: AtomicBool = AtomicBool::new(false);
        static ARMED: Mutex<Option<&'static str>> = Mutex::new(None);

        pub(super) fn arm(name: &'static str) {
            *ARMED.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(name);
            IS_ANY.store(true, Ordering::Release); // partner: `reach`
        }

        pub(super) fn reach(name: &str) {
            if !IS_ANY.load(Ordering::Acquire) {
                return;
            }
            let mut armed = ARMED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if *armed == Some(name) {
                *armed = None;
                drop(armed);
                panic!("a test has it panic: {name}");
            }
        }
    }
}
