//! What code on a machine calls: each function is a no-op, or says so, where no machine runs.

use std::time::Duration;

use corosensei::Yielder;

use crate::instructions;
use crate::lines::Access;
use crate::order::NEVER;
use crate::schedule::{Machine, Turns, running};
use crate::thread::{Pause, ThreadId};

/// Stacks of threads that are started here; only what is touched takes memory.
const STACK_BYTES: usize = 2 << 20;
const PS_PER_NS: u64 = 1_000;

/// The machine, for as long as the thread does not give way.
#[inline(always)]
fn machine<'a>() -> Option<&'a mut Machine> {
    // SAFETY: it lives while it is the running one, and only the thread that runs looks for it; no
    // function here holds what this gives over a `give_way` (I3 of `schedule`).
    unsafe { running().as_mut() }
}

/// Whether this thread belongs to a machine.
#[inline]
pub fn is_running() -> bool {
    !running().is_null()
}

/// See [`crate::schedule::Machine::add`]: a thread's first step.
pub(crate) fn begin(yielder: &Yielder<(), Pause>) {
    if let Some(machine) = machine() {
        machine.thread().yielder = yielder;
    }
    instructions::take(); // of whatever ran before its first step
}

/// A thread's last step: what it has done since its last event counts.
pub(crate) fn settle() {
    if let Some(machine) = machine() {
        machine.now();
    }
}

/// Whether code that runs takes time.
#[cfg(hotrow_machine)]
#[inline(always)]
pub(crate) fn takes_time() -> bool {
    machine().is_some_and(|of| of.takes_time())
}

fn give_way(pause: Pause) {
    let Some(machine) = machine() else { return };
    let yielder = machine.thread().yielder;
    // SAFETY: set at the thread's start, and there until its body returns, which it has not.
    unsafe { (*yielder).suspend(pause) };
    instructions::take(); // what the machine copied, and threads whose time does not count
}

/// Gives way until no other core is behind. The time of whoever calls this is up to date, and what
/// runs in here does not count: two that wait for each other's time would both be late for ever.
#[inline]
fn in_turn() {
    while let Some(pause) = machine().and_then(|machine| machine.must_pass()) {
        give_way(pause);
    }
}

/// So few instructions from one access to the next are a loop over words: a processor has several
/// of its turns under way at once.
const LOOP_INSTRUCTIONS: u64 = 16;

/// Before code does something to a word. Not inlined: a caller's instructions are counted, and
/// these must not be.
#[inline(never)]
pub fn access(address: usize, access: Access) {
    let instructions = instructions::take();
    let Some(of) = machine() else { return };
    if !of.takes_time() {
        return;
    }
    match instructions {
        ..=LOOP_INSTRUCTIONS => of.spend(of.costs.word_ps),
        instructions => of.run_code(instructions),
    }
    match of.must_pass() {
        None => {}
        Some(Pause::Passed) if of.may_be_early(address, access) => {}
        Some(_) => in_turn(),
    }
    if let Some(of) = machine() {
        of.access(address, access);
    }
    instructions::take(); // copies that the machine has made
}

/// A fence that orders all memory.
pub fn fence() {
    if let Some(of) = machine() {
        of.now();
        of.fence();
        instructions::take();
    }
}

/// One turn of a loop that waits for a word, and may do so a number of times only.
pub fn spin() {
    if let Some(of) = machine() {
        of.now();
        pause(of.costs.pause_ps, Turns::Counted);
    }
}

/// Some pauses of a loop that does not count its turns: those in which it would see nothing new are
/// left out.
pub fn spin_uncounted(pauses: u32) {
    if let Some(of) = machine() {
        of.now();
        pause(of.costs.pause_ps * u64::from(pauses), Turns::Uncounted);
    }
}

/// Lets other threads of the core run.
pub fn yield_now() {
    let Some(of) = machine() else { return std::thread::yield_now() };
    of.now();
    pause(of.costs.call_ps, Turns::Counted);
    if machine().is_some_and(|of| of.others_wait()) {
        give_way(Pause::Yielded);
    }
}

/// Passes some time in a loop that looks at words, and sleeps as long as it would find nothing new
/// there. Where nothing costs anything, it lets others run.
fn pause(ps: u64, turns: Turns) {
    let Some(of) = machine() else { return };
    of.pass_time(ps);
    if !of.takes_time() {
        return give_way(Pause::Yielded);
    }
    let Some(until) = of.begin_watch() else { return };
    let since = of.now();
    give_way(Pause::Watches(until));
    if let Some(of) = machine() {
        of.end_watch(since, turns);
    }
}

/// Time since the machine was started, in nanoseconds; none where there is none.
#[inline]
pub fn now_ns() -> Option<u64> {
    machine().map(|of| of.now() / PS_PER_NS)
}

/// Sleeps for some time.
pub fn sleep(span: Duration) {
    let Some(of) = machine() else { return std::thread::sleep(span) };
    let slack = if of.is_outside() { 0 } else { of.costs.timer_slack_ps };
    let until = of.now().saturating_add(ps_of(span)).saturating_add(slack);
    of.begin_wait(0, until);
    give_way(Pause::Waits);
}

fn ps_of(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX).saturating_mul(PS_PER_NS)
}

/// Waits until a word at an address is told to have changed, if `is_expected` says that it has not
/// yet, at most for some time; whether that time came. There must be a machine.
pub fn wait(address: usize, timeout: Option<Duration>, is_expected: impl FnOnce() -> bool) -> bool {
    let of = machine().expect("a machine's thread");
    of.call_system();
    in_turn();
    if !is_expected() {
        return false;
    }
    let of = machine().expect("it still runs");
    let until = timeout.map_or(NEVER, |span| of.now().saturating_add(ps_of(span)));
    of.begin_wait(address, until);
    give_way(Pause::Waits);
    machine().is_some_and(|of| of.was_late())
}

/// Wakes at most so many that wait for the word at an address. There must be a machine.
pub fn wake(address: usize, most: usize) {
    let of = machine().expect("a machine's thread");
    of.call_system();
    in_turn();
    if let Some(of) = machine() {
        of.wake(address, most);
        instructions::take();
    }
}

/// Starts a thread, on a core of its own if one is named. There must be a machine.
///
/// # Safety
///
/// What the body borrows must live until the thread has ended.
pub unsafe fn spawn(core: Option<usize>, body: Box<dyn FnOnce() + '_>) -> ThreadId {
    let of = machine().expect("a machine's thread");
    of.now();
    // SAFETY: as the caller promises.
    let thread = unsafe { of.add(Some(core), body, STACK_BYTES) };
    instructions::take();
    thread
}

/// Waits for a thread's end. There must be a machine.
pub fn join(thread: ThreadId) {
    let of = machine().expect("a machine's thread");
    of.now();
    if of.begin_join(thread) {
        give_way(Pause::Waits);
    }
}

/// Whether a thread has ended.
pub fn has_ended(thread: ThreadId) -> bool {
    machine().is_none_or(|of| of.has_ended(thread))
}

/// How many cores the machine has; none where there is none.
pub fn cores() -> Option<usize> {
    machine().map(|of| of.costs.cores())
}

/// Which socket a core belongs to; none where there is no machine.
pub fn socket(core: usize) -> Option<u16> {
    machine().map(|of| (core / usize::from(of.costs.cores_per_socket)) as u16)
}

/// From now on code and accesses cost something, or nothing: for loading, and for checks
/// afterwards. Threads still take turns where they wait.
pub fn set_timed(is_timed: bool) {
    if let Some(of) = machine() {
        of.now();
        of.is_timed = is_timed;
    }
}

/// What lines cost from now on that travel between cores, in percent of what the machine's costs
/// say.
pub fn set_coherence(percent: u64) {
    if let Some(of) = machine() {
        of.now();
        of.set_coherence(percent);
    }
}

/// So many bytes were loaded while nothing took time: of these, caches hold what fits when it does.
pub fn set_loaded(bytes: u64) {
    if let Some(of) = machine() {
        of.set_loaded(bytes);
    }
}
