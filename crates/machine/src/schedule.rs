//! Cores, and which thread runs on which at what time.
//!
//! Role         the machine itself: picks the core whose time is the earliest and lets its thread
//!              go on until another core is behind
//! Invariants   I1 a core's time never goes back
//!              I2 a thread that waits stands in `sleepers` under its word, or in `timers`, or in a
//!                 thread's `joined_by`; whoever wakes it takes it out by the number of its wait
//!              I3 a reference to the machine is never held while a thread runs: threads come back
//!                 to it through [`crate::hook`]

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ptr;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use crate::costs::Costs;
use crate::instructions;
use crate::lines::{Access, LineCounts, Lines};
use crate::order::{NEVER, Order};
use crate::thread::{Pause, Thread, ThreadId, Wait};

/// How far a core may be ahead of others as long as it finds all that it needs in its own cache.
const SLACK_PS: u64 = 20_000;
/// How long a thread sleeps at most that looks, again and again, at what is in its own cache: so
/// late it may be to see that a time has come.
const WATCH_PS: u64 = 4_000_000;
/// The stack of the first thread, which compiles statements; only what is touched takes memory.
const FIRST_STACK_BYTES: usize = 64 << 20;
/// How long a thread outside waits that only looks whether something has happened.
const OUTSIDE_PAUSE_PS: u64 = 1_000_000;

/// What a run was.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Told {
    /// accesses, sleeps and wakes
    pub events: u64,
    /// instructions whose time counted, but for those of loops over words
    pub instructions: u64,
    /// of virtual time
    pub picoseconds: u64,
    /// what caches did
    pub lines: LineCounts,
    /// threads that had not ended
    pub left: u32,
}

thread_local! {
    /// The machine whose threads this thread of the operating system runs.
    static RUNNING: Cell<*mut Machine> = const { Cell::new(ptr::null_mut()) };
}

/// The machine that this thread of the operating system runs, or null.
#[inline(always)]
pub(crate) fn running() -> *mut Machine {
    RUNNING.get()
}

/// Whether a loop that waits ends after so many turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turns {
    Counted,
    Uncounted,
}

struct Core {
    runs: Option<ThreadId>,
    ready: VecDeque<ThreadId>,
    /// when its thread has to give way to the others
    slice_ends: u64,
    /// when it has last done something (I1)
    idle_since: u64,
    /// its thread sleeps since then, until what it looks at changes
    watches_since: Option<u64>,
    /// when its thread has last ended a pause, and how long a turn of its loop takes
    paused_at: u64,
    turn_ps: u64,
}

impl Core {
    /// When the turn of a loop ends in which a time lies, if it began to turn at another one.
    fn end_of_turn(&self, began: u64, time: u64) -> u64 {
        began + (time - began).next_multiple_of(self.turn_ps)
    }
}

pub(crate) struct Machine {
    pub(crate) costs: Costs,
    lines: Lines,
    cores: Vec<Core>,
    /// when each core goes on; behind them, the one place of all timers and of the threads outside
    order: Order,
    timers: BinaryHeap<Reverse<(u64, u64, ThreadId)>>,
    threads: Vec<Thread>,
    sleepers: BTreeMap<usize, VecDeque<(ThreadId, u64)>>,
    waits_made: u64,
    /// who runs
    pub(crate) current: ThreadId,
    /// its core; none: outside
    core: Option<usize>,
    /// its time
    now: u64,
    /// see [`Thread`]: that of the one who runs
    ahead_ps: u64,
    /// the earliest time of all the others
    horizon: u64,
    /// whether accesses and code cost anything
    pub(crate) is_timed: bool,
    events: u64,
    instructions: u64,
    /// the core that takes the next thread of those that are equally good
    next_core: usize,
}

/// Runs `main` on a machine, as a thread that stands outside of its cores: what it does takes no
/// time, and it sleeps, waits and starts threads in the machine's time. Gives what it returned and
/// what happened.
///
/// # Panics
///
/// As `main` does; on costs that [`Costs::check`] refuses; where all threads wait for each other.
pub fn run<T>(costs: &Costs, seed: u64, main: impl FnOnce() -> T) -> (T, Told) {
    costs.check().expect("costs that can be");
    assert!(running().is_null(), "a machine inside of a machine");
    let mut result = None;
    let place = &mut result;
    let body = Box::new(move || {
        *place = Some(std::panic::catch_unwind(std::panic::AssertUnwindSafe(main)));
    });
    let mut machine = Machine::new(costs, seed);
    // SAFETY: the thread ends before this function does: `until_ended` returns when it has.
    let first = unsafe { machine.add(None, body, FIRST_STACK_BYTES) };
    let machine = Box::into_raw(Box::new(machine));
    RUNNING.set(machine);
    instructions::take();
    until_ended(machine, first);
    RUNNING.set(ptr::null_mut());
    // SAFETY: made from a box above; no thread runs, so nobody else has it.
    let mut machine = unsafe { Box::from_raw(machine) };
    let told = machine.told();
    machine.forget_threads();
    match result.expect("the thread has ended") {
        Ok(value) => (value, told),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Lets threads run, each time that of the earliest core, until one of them has ended.
fn until_ended(machine: *mut Machine, last: ThreadId) {
    loop {
        // SAFETY: I3: between two threads nobody has a reference.
        let of = unsafe { &mut *machine };
        if of.threads[last.0 as usize].has_ended {
            return;
        }
        let thread = of.pick();
        let mut body = of.threads[thread.0 as usize].body.take().expect("it is no other's");
        let gave_way = body.resume(());
        // SAFETY: as above; the thread has given way.
        let of = unsafe { &mut *machine };
        match gave_way {
            CoroutineResult::Yield(pause) => {
                of.threads[thread.0 as usize].body = Some(body);
                of.put_back(thread, pause);
            }
            CoroutineResult::Return(()) => of.end(thread),
        }
    }
}

impl Machine {
    fn new(costs: &Costs, seed: u64) -> Self {
        let core = || Core {
            runs: None,
            ready: VecDeque::new(),
            slice_ends: 0,
            idle_since: 0,
            watches_since: None,
            paused_at: 0,
            turn_ps: 1,
        };
        let cores = costs.cores();
        Self {
            costs: costs.clone(),
            lines: Lines::new(costs, seed),
            cores: (0..cores).map(|_| core()).collect(),
            order: Order::new(cores + 1),
            timers: BinaryHeap::new(),
            threads: Vec::new(),
            sleepers: BTreeMap::new(),
            waits_made: 0,
            current: ThreadId(0),
            core: None,
            now: 0,
            ahead_ps: 0,
            horizon: 0,
            is_timed: true,
            events: 0,
            instructions: 0,
            next_core: 0,
        }
    }

    fn told(&self) -> Told {
        let left = self.threads.iter().filter(|thread| !thread.has_ended).count();
        Told {
            events: self.events,
            instructions: self.instructions,
            picoseconds: self.now,
            lines: self.lines.counts(),
            left: left as u32,
        }
    }

    /// Threads that have not ended keep their stacks: unwinding them would run their code once
    /// more, in no machine's time.
    fn forget_threads(&mut self) {
        for thread in &mut self.threads {
            std::mem::forget(thread.body.take());
        }
    }

    /// Adds a thread, ready to run.
    ///
    /// # Safety
    ///
    /// What the body borrows must live until the thread has ended.
    pub(crate) unsafe fn add(
        &mut self,
        pinned: Option<Option<usize>>,
        body: Box<dyn FnOnce() + '_>,
        stack_bytes: usize,
    ) -> ThreadId {
        let id = ThreadId(self.threads.len() as u32);
        // SAFETY: only the lifetime changes, as the caller promises.
        let body: Box<dyn FnOnce() + 'static> = unsafe { std::mem::transmute(body) };
        let stack = DefaultStack::new(stack_bytes).expect("the system has room for a stack");
        let body = Coroutine::with_stack(stack, move |yielder, ()| {
            crate::hook::begin(yielder);
            body();
            crate::hook::settle();
        });
        let is_pinned = matches!(pinned, Some(Some(_)));
        let core = pinned.map(|core| core.unwrap_or_else(|| self.idlest_core()) % self.cores.len());
        self.threads.push(Thread {
            body: Some(body),
            yielder: ptr::null(),
            core,
            is_pinned,
            waits: None,
            is_late: false,
            has_ended: false,
            ahead_ps: 0,
            joined_by: Vec::new(),
        });
        self.make_ready(id, self.now + self.costs.wake_latency_ps);
        id
    }

    /// The core with the least to do, the next one in turn of several.
    fn idlest_core(&mut self) -> usize {
        let cores = self.cores.len();
        let load = |core: &Core| core.ready.len() + usize::from(core.runs.is_some());
        let turn = (0..cores).map(|n| (self.next_core + n) % cores);
        let found = turn.min_by_key(|&core| load(&self.cores[core])).expect("there is one");
        self.next_core = (found + 1) % cores;
        found
    }

    /// A thread may run from a time on.
    fn make_ready(&mut self, thread: ThreadId, at: u64) {
        let of = &self.threads[thread.0 as usize];
        let Some(mut core) = of.core else {
            self.set_timer(at, 0, thread);
            return;
        };
        let is_busy = |core: &Core| core.runs.is_some() || !core.ready.is_empty();
        if !of.is_pinned && is_busy(&self.cores[core]) {
            core = self.idlest_core();
            self.threads[thread.0 as usize].core = Some(core);
        }
        let was_idle = !is_busy(&self.cores[core]);
        self.cores[core].ready.push_back(thread);
        if was_idle {
            let from = self.cores[core].idle_since.max(at);
            self.order.set(core, from);
            self.horizon = self.horizon.min(from);
        } else {
            self.rouse(core, at);
        }
    }

    fn set_timer(&mut self, at: u64, wait: u64, thread: ThreadId) {
        self.timers.push(Reverse((at, wait, thread)));
        let first = self.timers.peek().map_or(NEVER, |Reverse((at, ..))| *at);
        self.order.set(self.cores.len(), first);
        self.horizon = self.horizon.min(first);
    }

    /// The thread that is next to run.
    fn pick(&mut self) -> ThreadId {
        loop {
            let (time, place) = self.order.first();
            assert!(time != NEVER, "all threads of the machine wait for each other");
            if place == self.cores.len() {
                if let Some(thread) = self.fire_timer() {
                    return thread;
                }
                continue;
            }
            let core = &mut self.cores[place];
            let thread = match core.runs {
                Some(thread) => thread,
                None => {
                    let next = core.ready.pop_front().expect("a core with a time has a thread");
                    core.runs = Some(next);
                    let begins = time + self.costs.switch_ps;
                    core.slice_ends = begins + self.costs.slice_ps;
                    self.order.set(place, begins);
                    continue;
                }
            };
            (self.core, self.now, self.current) = (Some(place), time, thread);
            self.ahead_ps = self.threads[thread.0 as usize].ahead_ps;
            self.horizon = self.order.first_beside(place);
            return thread;
        }
    }

    /// The first timer has come: a thread outside of the cores that goes on now.
    fn fire_timer(&mut self) -> Option<ThreadId> {
        let Reverse((at, wait, thread)) = self.timers.pop().expect("it has a time");
        let first = self.timers.peek().map_or(NEVER, |Reverse((at, ..))| *at);
        self.order.set(self.cores.len(), first);
        let of = &mut self.threads[thread.0 as usize];
        let is_outside = of.core.is_none();
        match of.waits {
            Some(waits) if waits.number == wait => {
                of.waits = None;
                of.is_late = true;
                self.take_out(waits, thread);
            }
            None if wait == 0 && is_outside => {}
            _ => return None, // woken before
        }
        self.events += 1;
        if is_outside {
            (self.core, self.now, self.current) = (None, at, thread);
            self.ahead_ps = 0;
            self.horizon = NEVER;
            return Some(thread);
        }
        self.make_ready(thread, at + self.costs.wake_latency_ps);
        None
    }

    /// A wait is over (I2).
    fn take_out(&mut self, wait: Wait, thread: ThreadId) {
        if wait.word == 0 {
            return;
        }
        if let Some(sleepers) = self.sleepers.get_mut(&wait.word) {
            sleepers.retain(|of| *of != (thread, wait.number));
            if sleepers.is_empty() {
                self.sleepers.remove(&wait.word);
            }
        }
    }

    /// A thread has given way.
    fn put_back(&mut self, thread: ThreadId, pause: Pause) {
        let Some(core) = self.core else {
            if pause != Pause::Waits {
                self.set_timer(self.now + OUTSIDE_PAUSE_PS, 0, thread);
            }
            return;
        };
        self.threads[thread.0 as usize].ahead_ps = self.ahead_ps;
        match pause {
            Pause::Passed => self.order.set(core, self.now),
            Pause::Watches(until) => {
                self.cores[core].watches_since = Some(self.now);
                self.order.set(core, until);
            }
            Pause::Yielded => {
                let of = &mut self.cores[core];
                if !of.ready.is_empty() {
                    of.ready.push_back(thread);
                    of.runs = None;
                }
                self.order.set(core, self.now);
            }
            Pause::Waits => self.leave_core(core),
        }
    }

    fn leave_core(&mut self, core: usize) {
        let of = &mut self.cores[core];
        of.runs = None;
        if of.ready.is_empty() {
            of.idle_since = self.now;
            self.order.set(core, NEVER);
        } else {
            self.order.set(core, self.now);
        }
    }

    fn end(&mut self, thread: ThreadId) {
        let of = &mut self.threads[thread.0 as usize];
        of.has_ended = true;
        let at = self.now + self.costs.wake_ps;
        for waits in std::mem::take(&mut of.joined_by) {
            self.wake_thread(waits, at);
        }
        if let Some(core) = self.core {
            self.leave_core(core);
        }
    }

    fn wake_thread(&mut self, thread: ThreadId, at: u64) {
        let of = &mut self.threads[thread.0 as usize];
        of.waits = None;
        of.is_late = false;
        let is_outside = of.core.is_none();
        let latency = if is_outside { 0 } else { self.costs.wake_latency_ps };
        self.make_ready(thread, at + latency);
    }

    // What hooks need; a thread is running.

    /// The time of the thread that runs, whose last instructions are added.
    #[inline]
    pub(crate) fn now(&mut self) -> u64 {
        self.run_code(instructions::take());
        self.now
    }

    /// The thread that runs has run so many instructions.
    #[inline]
    pub(crate) fn run_code(&mut self, instructions: u64) {
        if self.takes_time() {
            self.instructions += instructions;
            self.pass_time(instructions * self.costs.instruction_ps);
        }
    }

    /// Adds to the time of the thread that runs, if that stands on a core and time counts.
    #[inline]
    pub(crate) fn spend(&mut self, ps: u64) {
        if self.is_timed {
            self.pass_time(ps);
        }
    }

    /// The thread that runs calls the system.
    pub(crate) fn call_system(&mut self) {
        self.now();
        self.spend(self.costs.call_ps);
    }

    /// Adds to the time of the thread that runs, also where nothing costs anything: who waits in a
    /// loop lets others come first.
    pub(crate) fn pass_time(&mut self, ps: u64) {
        if self.core.is_some() {
            let has_gone_by = ps.min(self.ahead_ps);
            self.ahead_ps -= has_gone_by;
            self.now += ps - has_gone_by;
        }
    }

    /// The thread that runs pauses in a loop. Until when it may sleep, unless it is roused: all
    /// that it looks at stands in its own cache.
    pub(crate) fn begin_watch(&mut self) -> Option<u64> {
        let core = self.core.filter(|_| self.is_timed)?;
        if self.lines.begin_watch(core) && self.ahead_ps == 0 && !self.others_wait() {
            let of = &mut self.cores[core];
            of.turn_ps = (self.now - of.paused_at).max(1);
            return Some(of.end_of_turn(self.now, self.now + WATCH_PS));
        }
        self.lines.end_watch(core);
        self.cores[core].paused_at = self.now;
        None
    }

    /// The thread that runs has slept since a time: a loop that counts its turns has still to do
    /// what it would have done.
    pub(crate) fn end_watch(&mut self, since: u64, turns: Turns) {
        let Some(core) = self.core else { return };
        self.lines.end_watch(core);
        self.cores[core].watches_since = None;
        self.cores[core].paused_at = self.now;
        self.ahead_ps = match turns {
            Turns::Counted => self.now - since,
            Turns::Uncounted => 0,
        };
    }

    /// A core that sleeps over what it looks at goes on from a time, or when it looks there next.
    fn rouse(&mut self, core: usize, at: u64) {
        if let Some(since) = self.cores[core].watches_since.take() {
            let at = self.cores[core].end_of_turn(since, at.max(since));
            self.order.set(core, at);
            self.horizon = self.horizon.min(at);
        }
    }

    /// Whether other threads wait for the core of the one that runs.
    pub(crate) fn others_wait(&self) -> bool {
        self.core.is_some_and(|core| !self.cores[core].ready.is_empty())
    }

    pub(crate) fn is_outside(&self) -> bool {
        self.core.is_none()
    }

    /// Whether what the thread does takes time: loading and checking do not.
    #[inline]
    pub(crate) fn takes_time(&self) -> bool {
        self.is_timed && self.core.is_some()
    }

    /// Whether the thread has to give way before it does what others can see.
    #[inline]
    pub(crate) fn must_pass(&self) -> Option<Pause> {
        let core = self.core?;
        let of = &self.cores[core];
        if self.now >= of.slice_ends && !of.ready.is_empty() {
            return Some(Pause::Yielded);
        }
        (self.now > self.horizon).then_some(Pause::Passed)
    }

    /// Whether an access may happen although other cores are behind (I2 of the crate).
    #[inline]
    pub(crate) fn may_be_early(&mut self, address: usize, access: Access) -> bool {
        let Some(core) = self.core else { return true };
        self.now <= self.horizon + SLACK_PS && self.lines.is_own(core, address, access)
    }

    /// An access of the thread that runs.
    #[inline]
    pub(crate) fn access(&mut self, address: usize, access: Access) {
        self.events += 1;
        if let (Some(core), true) = (self.core, self.is_timed) {
            let then = self.lines.access(core, address, access, self.now);
            if then != self.now || !matches!(access, Access::Load | Access::Prefetch) {
                self.ahead_ps = 0; // no loop any more that sees what it has seen before
            }
            self.now = then;
            while let Some((core, at)) = self.lines.next_roused() {
                self.rouse(core, at);
            }
        }
    }

    pub(crate) fn set_loaded(&mut self, bytes: u64) {
        self.lines.set_loaded(bytes);
    }

    pub(crate) fn set_coherence(&mut self, percent: u64) {
        self.lines.set_coherence(percent);
    }

    pub(crate) fn fence(&mut self) {
        if let (Some(core), true) = (self.core, self.is_timed) {
            self.now = self.lines.fence(core, self.now);
        }
    }

    /// The thread that runs begins to wait; then it has to give way.
    pub(crate) fn begin_wait(&mut self, word: usize, until: u64) {
        self.events += 1;
        self.ahead_ps = 0;
        self.waits_made += 1;
        let (thread, number) = (self.current, self.waits_made);
        let of = &mut self.threads[thread.0 as usize];
        of.waits = Some(Wait { word, number });
        of.is_late = false;
        if word != 0 {
            self.sleepers.entry(word).or_default().push_back((thread, number));
        }
        if until != NEVER {
            self.set_timer(until, number, thread);
        }
    }

    /// Whether the thread that runs was not woken before its time came.
    pub(crate) fn was_late(&self) -> bool {
        self.threads[self.current.0 as usize].is_late
    }

    /// Wakes some of those that wait for a word; how many.
    pub(crate) fn wake(&mut self, word: usize, most: usize) -> usize {
        self.events += 1;
        let Some(mut sleepers) = self.sleepers.remove(&word) else { return 0 };
        let woken = sleepers.len().min(most);
        for (thread, _) in sleepers.drain(..woken) {
            self.spend(self.costs.wake_ps);
            self.wake_thread(thread, self.now);
        }
        if !sleepers.is_empty() {
            self.sleepers.insert(word, sleepers);
        }
        woken
    }

    /// Has the thread that runs wait for another's end; false: that has ended.
    pub(crate) fn begin_join(&mut self, thread: ThreadId) -> bool {
        if self.threads[thread.0 as usize].has_ended {
            return false;
        }
        let current = self.current;
        self.threads[thread.0 as usize].joined_by.push(current);
        self.begin_wait(0, NEVER);
        true
    }

    pub(crate) fn has_ended(&self, thread: ThreadId) -> bool {
        self.threads[thread.0 as usize].has_ended
    }

    pub(crate) fn thread(&mut self) -> &mut Thread {
        let current = self.current;
        &mut self.threads[current.0 as usize]
    }
}
