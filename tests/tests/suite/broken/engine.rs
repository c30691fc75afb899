//! An engine that is wrong on purpose: two-phase locking with one flaw, as a setting chooses.
//!
//! Role         shows that the checks of this suite can fail on a real engine: the rest of the
//!              database is the real one, and only the locking is not
//! Invariants   I1 no flaw lets two threads change one record at the same time

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hotrow::{CallSource, EngineEntry, EngineOptions, OptionError, RunningEngine};
use hotrow_base::clock::Ticks;
use hotrow_engine::contract::Ground;
use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::journal::Journal;
use hotrow_engine::protection::Protection;
use hotrow_engine::schema::Schema;
use hotrow_engine::statistics::Stopwatch;
use hotrow_engine::worker::{Call, Runner, Workers};
use hotrow_log::position::Position;
use hotrow_transaction::granule::{LockMode, Space};
use hotrow_transaction::interpret::{self, NoHook};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::Stop;
use hotrow_two_phase_locking::lock_table::{Acquired, LockTable, Owner, Standing};
use hotrow_two_phase_locking::policy::{Deadlocks, Policy};

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// nothing: the control
    None,
    /// reads ask for no lock
    ReadsUnlocked,
    /// read locks are released at once
    ReadLocksBrief,
    /// scans of whole tables ask for no lock
    ScansUnlocked,
    /// every lock is released before the next one is asked for
    LocksOneByOne,
    /// transactions that return nothing are acknowledged, undone, and done later
    AcknowledgedEarly,
}

const FLAWS: [(&str, Flaw); 6] = [
    ("none", Flaw::None),
    ("reads-unlocked", Flaw::ReadsUnlocked),
    ("read-locks-brief", Flaw::ReadLocksBrief),
    ("scans-unlocked", Flaw::ScansUnlocked),
    ("locks-one-by-one", Flaw::LocksOneByOne),
    ("acknowledged-early", Flaw::AcknowledgedEarly),
];

/// Its row of an engine table; it is in no table.
pub const ENTRY: EngineEntry = EngineEntry {
    name: "broken",
    summary: "wrong on purpose",
    start,
    variants: &[],
    threads_min: 1,
    threads_max: None,
    locks_as_it_goes: false,
    runs_on_callers: false,
    experiments: &[],
};

impl Flaw {
    /// The setting that chooses it.
    pub fn name(self) -> &'static str {
        FLAWS.iter().find(|(_, flaw)| *flaw == self).expect("all are listed").0
    }

    /// Who holds one lock at a time may wait for another.
    fn policy(self) -> Policy {
        if self == Self::LocksOneByOne { Policy::Wait } else { Policy::WaitDie }
    }
}

fn start(
    ground: Ground,
    options: &EngineOptions,
    sources: Vec<Box<dyn CallSource>>,
) -> Result<Box<dyn RunningEngine>, OptionError> {
    let name = options.settings.get("flaw").map_or("none", String::as_str);
    let flaw = FLAWS.iter().find(|(other, _)| *other == name).expect("tests know the flaws").1;
    let table = Arc::new(LockTable::new(options.threads, Deadlocks::of(flaw.policy())));
    let started = Ticks::now();
    let positions = Arc::new(AtomicU64::new(0));
    Ok(Box::new(Workers::start(&ground, options, sources, |number, committer| {
        let owner = table.owner(number, Standing::Dynamic);
        let table = Arc::clone(&table);
        let locks = Locks { table, owner, flaw, held: Vec::new(), asked: number as u64 };
        let (scratch, owed) = (Scratch::new(committer.worker()), Vec::new());
        let (journal, positions) = (Arc::clone(&ground.journal), Arc::clone(&positions));
        BrokenRunner { locks, scratch, started, owed, journal, positions }
    })))
}

/// Locks, or what is left of them.
struct Locks {
    table: Arc<LockTable>,
    owner: Owner,
    flaw: Flaw,
    held: Vec<(u64, LockMode)>,
    /// counts up, to pause here and there
    asked: u64,
}

impl Locks {
    fn acquire(&mut self, lock: u64, mode: LockMode) -> Result<(), Stop> {
        match self.table.acquire(&mut self.owner, lock, mode.into()) {
            Acquired::Granted => Ok(()),
            Acquired::Waiting => self.table.wait(&mut self.owner, lock).map_err(Stop::Conflict),
            Acquired::Refused(conflict) => Err(Stop::Conflict(conflict)),
        }
    }

    fn release_all(&mut self) {
        for (lock, _) in std::mem::take(&mut self.held) {
            self.table.release(&mut self.owner, lock);
        }
    }

    fn hold(&mut self, lock: u64, space: Space, mode: LockMode) -> Result<(), Stop> {
        self.asked += 1;
        if self.asked.is_multiple_of(3) {
            std::thread::sleep(Duration::from_micros(30)); // others get in between
        }
        let reads = mode == LockMode::Shared || mode == LockMode::IntentShared;
        let whole_table = matches!(space, Space::Table(_));
        match self.flaw {
            Flaw::ReadsUnlocked if reads => return Ok(()),
            Flaw::ScansUnlocked if reads && whole_table => return Ok(()),
            Flaw::LocksOneByOne => {
                self.release_all();
                self.acquire(lock, mode)?;
                self.held.push((lock, mode));
                return Ok(());
            }
            _ => {}
        }
        if self.held.iter().any(|&(held, as_mode)| held == lock && as_mode.covers(mode)) {
            return Ok(());
        }
        let converted = self.held.iter().any(|&(held, _)| held == lock);
        self.acquire(lock, mode)?;
        if self.flaw == Flaw::ReadLocksBrief && reads && !converted {
            self.table.release(&mut self.owner, lock);
        } else if converted {
            let held = self.held.iter_mut().find(|(held, _)| *held == lock);
            let held = held.expect("it was found just before");
            held.1 = held.1.join(mode);
        } else {
            self.held.push((lock, mode));
        }
        Ok(())
    }
}

struct Broken<'a>(&'a mut Locks);

impl Protection for Broken<'_> {
    const ACTIVE: bool = true;

    fn hold(&mut self, lock: u64, space: Space, mode: LockMode) -> Result<(), Stop> {
        self.0.hold(lock, space, mode)
    }
}

struct BrokenRunner {
    locks: Locks,
    scratch: Scratch,
    started: Ticks,
    /// acknowledged and not done
    owed: Vec<Invocation>,
    journal: Arc<Journal>,
    positions: Arc<AtomicU64>,
}

impl BrokenRunner {
    fn begin(&mut self) {
        let age = Ticks::now().nanos_since(self.started);
        let Locks { table, owner, .. } = &mut self.locks;
        table.begin(owner, age + 1);
    }

    /// Runs a call; keeps its changes if `keep` says so of its number of result rows.
    fn execute(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        keep: impl Fn(usize) -> bool,
    ) -> Result<bool, Stop> {
        let procedure = call.procedure.as_deref().expect("only procedures that exist are run");
        let program = &procedure.program;
        call.frame.begin(program, &call.invocation);
        let mut access = InPlace::new(schema, &mut self.scratch, Broken(&mut self.locks));
        let ended = interpret::run(program, 0, &mut call.frame, &mut access, &mut NoHook);
        let kept = ended.is_ok() && keep(call.frame.result_rows(program).rows.len());
        if let Some(trace) = self.journal.trace().filter(|_| kept) {
            let time = self.positions.fetch_add(1, Ordering::Relaxed);
            let position = Position { epoch: 0, time };
            trace.record(position, &call.invocation, program, &call.frame);
        }
        if kept {
            access.commit()
        } else {
            access.undo()
        }
        self.locks.release_all();
        ended.map(|()| kept)
    }

    /// Does what was acknowledged before; stops at the first conflict, to be gone on with later.
    fn pay(&mut self, schema: &Schema, call: &mut Call) {
        while let Some(owed) = self.owed.pop() {
            let own = std::mem::replace(&mut call.invocation, owed);
            self.begin();
            let done = self.execute(schema, call, |_| true);
            let owed = std::mem::replace(&mut call.invocation, own);
            if matches!(done, Err(Stop::Conflict(_))) {
                self.owed.push(owed);
                return;
            }
        }
    }
}

impl Runner for BrokenRunner {
    fn attempt(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        _: Option<&Call>,
        _: &mut Stopwatch,
    ) -> Result<(), Stop> {
        // Some wait in between, so that clients see that it is not done.
        if self.owed.len() > 2 {
            self.pay(schema, call);
        }
        if call.attempts == 0 {
            self.begin();
        }
        let early = self.locks.flaw == Flaw::AcknowledgedEarly;
        let kept = self.execute(schema, call, |rows| !early || rows > 0)?;
        if !kept {
            self.owed.insert(0, call.invocation.clone());
        }
        Ok(())
    }
}
