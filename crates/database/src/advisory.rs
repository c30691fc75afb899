//! Advisory locks: what programs lock by numbers of their own, as migrations do.
//!
//! Role         queries ask for them by functions; a session gives back what it has at its end, and
//!              what belongs to a transaction at that transaction's end
//! Invariants   I1 who asks waits for those who hold the key in a mode that conflicts, and for
//!                 those who asked before and still wait: nobody is overtaken for ever
//!              I2 nobody waits in a circle. The engine knows who waits for whom here
//!                 ([`WaitsElsewhere`]), since a circle may go through locks of rows, too: the
//!                 youngest transaction of one fails (40P01). Who has locks and waits outside
//!                 transactions has a place among them meanwhile. Where the engine has no graph,
//!                 or no place is free, circles of these waits alone are found, and who would
//!                 close one fails
//!              I3 a place is in the graph as long as its session has it ([`Seat`]): it leaves
//!                 before somebody else may come to have it
//! Concurrency  everything is under one mutex, which is held for moments; a wait looks every
//!              [`LOOK_EVERY`] whether its statement was interrupted

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use hotrow_base::interrupt::{Interrupt, LOOK_EVERY};
use hotrow_base::value::Value;
use hotrow_engine::interactive::{Interactive, InteractiveTransaction, WaitsElsewhere};
use hotrow_sql::{Advisory, AdvisoryLevel, AdvisoryMode, AdvisoryStep};
use hotrow_transaction::outcome::SqlError;
use parking_lot::{Condvar, Mutex};

/// Locks of all sessions: each takes some 100 bytes.
const LOCKS_MAX: usize = 1 << 16;

/// What is locked: one number of 64 bits, or two of 32; these never meet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Key {
    One(i64),
    Two(i32, i32),
}

impl Key {
    fn of(arguments: &[Value]) -> Option<Self> {
        match arguments {
            [Value::BigInt(key)] => Some(Self::One(*key)),
            [Value::Int(first), Value::Int(second)] => Some(Self::Two(*first, *second)),
            _ => None,
        }
    }
}

/// A lock that somebody has, `count` times.
#[derive(Clone, Copy, Debug)]
struct Held {
    owner: u64,
    mode: AdvisoryMode,
    level: AdvisoryLevel,
    count: u64,
}

/// Somebody who waits.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    owner: u64,
    key: Key,
    mode: AdvisoryMode,
}

#[derive(Default)]
struct Locks {
    held: HashMap<Key, Vec<Held>>,
    /// the keys of which each owner holds some
    keys: HashMap<u64, HashSet<Key>>,
    /// entries of `held`, all keys together
    count: usize,
    /// in the order in which they came
    waiting: Vec<Waiter>,
    owners: u64,
    /// of owners that have a transaction, their places among those
    places: HashMap<u64, usize>,
}

fn conflicts(one: AdvisoryMode, other: AdvisoryMode) -> bool {
    one == AdvisoryMode::Exclusive || other == AdvisoryMode::Exclusive
}

impl Locks {
    /// Who keeps somebody from a lock, who came behind the first `before` of those who wait.
    fn in_the_way(&self, of: Waiter, before: usize) -> Vec<u64> {
        let held = self.held.get(&of.key).into_iter().flatten();
        let holders = held.filter(|held| conflicts(held.mode, of.mode)).map(|held| held.owner);
        let first = self.waiting.iter().take(before).filter(|first| first.key == of.key);
        let first = first.filter(|first| conflicts(first.mode, of.mode)).map(|first| first.owner);
        // Who has the key already does not wait behind others for it: they wait for him.
        let has_it =
            self.held.get(&of.key).is_some_and(|all| all.iter().any(|held| held.owner == of.owner));
        let first: Vec<u64> = if has_it { Vec::new() } else { first.collect() };
        holders.chain(first).filter(|owner| *owner != of.owner).collect()
    }

    /// Whether somebody who waits, at `place` of those who do, waits for himself, and nobody of the
    /// circle gives way already.
    fn closes_circle(&self, (of, place): (Waiter, usize), gives_way: impl Fn(u64) -> bool) -> bool {
        let mut seen = Vec::new();
        let mut open = self.in_the_way(of, place);
        while let Some(owner) = open.pop() {
            if owner == of.owner {
                return true;
            }
            if seen.contains(&owner) || gives_way(owner) {
                continue;
            }
            seen.push(owner);
            let waits = self.waiting.iter().position(|waiter| waiter.owner == owner);
            if let Some(at) = waits {
                open.extend(self.in_the_way(self.waiting[at], at));
            }
        }
        false
    }

    /// Tells the engine for whom those wait who do, where they have places.
    fn tell_waits(&self, engine: Option<&dyn WaitsElsewhere>) {
        let Some(engine) = engine else { return };
        for (at, waiter) in self.waiting.iter().enumerate() {
            let Some(place) = self.places.get(&waiter.owner) else { continue };
            engine.wait(*place, &self.places_in_the_way(*waiter, at));
        }
    }

    /// The places of those for whom somebody waits, at `at` of those who do; and, where one has no
    /// place, of those for whom that one waits.
    fn places_in_the_way(&self, of: Waiter, at: usize) -> Vec<usize> {
        let mut seen = HashSet::new();
        let mut open = self.in_the_way(of, at);
        let mut places = Vec::new();
        while let Some(owner) = open.pop() {
            if !seen.insert(owner) {
                continue;
            }
            if let Some(place) = self.places.get(&owner) {
                places.push(*place);
            } else if let Some(at) = self.waiting.iter().position(|waiter| waiter.owner == owner) {
                open.extend(self.in_the_way(self.waiting[at], at));
            }
        }
        places
    }

    fn take(&mut self, of: Waiter, level: AdvisoryLevel) -> Result<(), SqlError> {
        let is_it =
            |held: &&mut Held| (held.owner, held.mode, held.level) == (of.owner, of.mode, level);
        if let Some(held) = self.held.get_mut(&of.key).and_then(|all| all.iter_mut().find(is_it)) {
            held.count += 1;
            return Ok(());
        }
        if self.count >= LOCKS_MAX {
            let message = format!("there are {LOCKS_MAX} advisory locks");
            return Err(SqlError::new(b"53200", message));
        }
        let held = Held { owner: of.owner, mode: of.mode, level, count: 1 };
        self.held.entry(of.key).or_default().push(held);
        self.keys.entry(of.owner).or_default().insert(of.key);
        self.count += 1;
        Ok(())
    }

    /// Gives back what of an owner's fits; takes time by what it holds, not by what others do.
    fn release(&mut self, owner: u64, fits: impl Fn(&Held) -> bool) {
        let keys = self.keys.remove(&owner).unwrap_or_default();
        let mut kept = HashSet::new();
        for key in keys {
            if self.keep(key, owner, |held| !fits(held)) {
                kept.insert(key);
            }
        }
        if !kept.is_empty() {
            self.keys.insert(owner, kept);
        }
    }

    /// Gives back what of a key's entries an owner has and is not to be kept; whether he has
    /// others.
    fn keep(&mut self, key: Key, owner: u64, stays: impl Fn(&Held) -> bool) -> bool {
        let Some(all) = self.held.get_mut(&key) else { return false };
        let before = all.len();
        all.retain(|held| held.owner != owner || stays(held));
        self.count -= before - all.len();
        let has_others = all.iter().any(|held| held.owner == owner);
        if all.is_empty() {
            self.held.remove(&key);
        }
        has_others
    }
}

/// The locks of a database.
#[derive(Default)]
pub(crate) struct AdvisoryLocks {
    locks: Mutex<Locks>,
    freed: Condvar,
    /// where circles are found
    engine: OnceLock<Weak<dyn Interactive>>,
}

impl AdvisoryLocks {
    /// Has circles found by an engine, if it has transactions that wait.
    pub(crate) fn attach(&self, engine: Option<&Arc<dyn Interactive>>) {
        if let Some(engine) = engine {
            let _ = self.engine.set(Arc::downgrade(engine)); // a database has one engine
        }
    }

    fn engine(&self) -> Option<Arc<dyn Interactive>> {
        self.engine.get().and_then(Weak::upgrade)
    }

    /// Some locks or places have changed.
    fn changed(&self, locks: &Locks) {
        if locks.waiting.is_empty() {
            return;
        }
        let engine = self.engine();
        locks.tell_waits(engine.as_ref().map(|engine| engine.elsewhere()));
        self.freed.notify_all();
    }
}

/// Where a session has its transactions' places known.
pub(crate) struct Seat {
    all: Arc<AdvisoryLocks>,
    owner: u64,
    /// whether the session has locks. This and what follows: written by its own thread
    holds: AtomicBool,
    /// one more than the place of its transaction; 0: it has none
    place: AtomicUsize,
    /// whether the place is in the graph
    is_known: AtomicBool,
}

impl Seat {
    /// Whether the session has locks.
    pub(crate) fn holds_any(&self) -> bool {
        self.holds.load(Ordering::Relaxed) // its own thread's, as all that follows
    }

    fn place(&self) -> Option<usize> {
        self.place.load(Ordering::Relaxed).checked_sub(1)
    }

    /// A transaction of the session.
    pub(crate) fn seated(self: &Arc<Self>, transaction: Box<dyn InteractiveTransaction>) -> Seated {
        self.place.store(transaction.place() + 1, Ordering::Relaxed);
        if self.holds_any() {
            self.enter();
        }
        Seated { transaction, seat: Arc::clone(self) }
    }

    /// The session has a lock.
    fn note_held(&self) {
        self.holds.store(true, Ordering::Relaxed);
        self.enter();
    }

    /// From now on the session's place is in the graph, if it has one.
    fn enter(&self) {
        let Some(place) = self.place() else { return };
        if !self.is_known.swap(true, Ordering::Relaxed) {
            self.change(|places, owner| {
                places.insert(owner, place);
            });
        }
        self.tell_held(place);
    }

    fn leave(&self) {
        let Some(place) = self.place() else { return };
        if self.is_known.swap(false, Ordering::Relaxed) {
            self.change(|places, owner| {
                places.remove(&owner);
            });
            if let Some(engine) = self.all.engine() {
                engine.elsewhere().hold(place, false);
            }
        }
        self.place.store(0, Ordering::Relaxed);
    }

    fn tell_held(&self, place: usize) {
        if let Some(engine) = self.all.engine() {
            engine.elsewhere().hold(place, self.holds_any());
        }
    }

    fn change(&self, change: impl FnOnce(&mut HashMap<u64, usize>, u64)) {
        let mut locks = self.all.locks.lock();
        change(&mut locks.places, self.owner);
        let holds = locks.keys.get(&self.owner).is_some_and(|keys| !keys.is_empty());
        self.holds.store(holds, Ordering::Relaxed);
        self.all.changed(&locks);
    }
}

/// A transaction whose place is known as its session's, while that has locks or waits (I3).
pub(crate) struct Seated {
    transaction: Box<dyn InteractiveTransaction>,
    seat: Arc<Seat>,
}

impl Deref for Seated {
    type Target = dyn InteractiveTransaction;

    fn deref(&self) -> &Self::Target {
        &*self.transaction
    }
}

impl DerefMut for Seated {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.transaction
    }
}

impl Drop for Seated {
    fn drop(&mut self) {
        self.seat.leave(); // I3: before the place is given back
    }
}

/// A session's part in them; its locks end with it.
pub(crate) struct AdvisoryOwner {
    all: Arc<AdvisoryLocks>,
    number: u64,
    seat: Arc<Seat>,
    /// locks were taken that end with the transaction
    has_of_transaction: Cell<bool>,
}

impl AdvisoryOwner {
    pub(crate) fn new(all: &Arc<AdvisoryLocks>) -> Self {
        let mut locks = all.locks.lock();
        locks.owners += 1;
        let (number, has_of_transaction) = (locks.owners, Cell::new(false));
        let seat = Arc::new(Seat {
            all: Arc::clone(all),
            owner: number,
            holds: AtomicBool::new(false),
            place: AtomicUsize::new(0),
            is_known: AtomicBool::new(false),
        });
        Self { all: Arc::clone(all), number, seat, has_of_transaction }
    }

    /// Where the session has its transactions' places known.
    pub(crate) fn seat(&self) -> &Arc<Seat> {
        &self.seat
    }

    /// What a function gives; none: an argument is NULL.
    ///
    /// # Errors
    ///
    /// 40P01, and why the statement was interrupted.
    pub(crate) fn call(
        &self,
        function: Advisory,
        arguments: &[Value],
        interrupt: &Arc<Interrupt>,
    ) -> Result<Option<Value>, SqlError> {
        let Advisory { step, mode, level } = function;
        let nothing = || Value::Text(String::new());
        if step == AdvisoryStep::UnlockAll {
            self.release(AdvisoryLevel::Session);
            return Ok(Some(nothing()));
        }
        let Some(key) = Key::of(arguments) else { return Ok(None) };
        if level == AdvisoryLevel::Transaction {
            self.has_of_transaction.set(true);
        }
        let wanted = Waiter { owner: self.number, key, mode };
        Ok(Some(match step {
            AdvisoryStep::Lock => {
                self.lock(wanted, level, interrupt)?;
                nothing()
            }
            AdvisoryStep::Try => Value::Bool(self.try_lock(wanted, level)?),
            _ => Value::Bool(self.unlock(wanted)),
        }))
    }

    /// Whether it was free.
    fn try_lock(&self, wanted: Waiter, level: AdvisoryLevel) -> Result<bool, SqlError> {
        let mut locks = self.all.locks.lock();
        let is_free = locks.in_the_way(wanted, locks.waiting.len()).is_empty();
        if is_free {
            locks.take(wanted, level)?;
            drop(locks);
            self.seat.note_held();
        }
        Ok(is_free)
    }

    fn lock(
        &self,
        wanted: Waiter,
        level: AdvisoryLevel,
        interrupt: &Arc<Interrupt>,
    ) -> Result<(), SqlError> {
        if self.try_lock(wanted, level)? {
            return Ok(());
        }
        let engine = self.all.engine();
        // Who has no locks is in a circle only by his place in the queue.
        let needs_place = self.seat.place().is_none() && self.seat.holds_any();
        let begun = engine.as_ref().filter(|_| needs_place).map(|e| Arc::clone(e).begin(interrupt));
        let place_to_wait = begun.and_then(Result::ok).map(|begun| self.seat.seated(begun)); // I2
        self.seat.enter();
        let done = self.wait(wanted, level, engine.as_ref().map(|e| e.elsewhere()), interrupt);
        drop(place_to_wait);
        if done.is_ok() {
            self.seat.note_held();
        }
        done
    }

    /// Waits for a lock, at the end of its queue.
    fn wait(
        &self,
        wanted: Waiter,
        level: AdvisoryLevel,
        engine: Option<&dyn WaitsElsewhere>,
        interrupt: &Arc<Interrupt>,
    ) -> Result<(), SqlError> {
        let deadline = interrupt.lock_deadline();
        let _waits = interrupt.wait_for_lock();
        let mut locks = self.all.locks.lock();
        locks.waiting.push(wanted);
        locks.tell_waits(engine);
        let done = loop {
            let own = locks.waiting.iter().position(|waiter| waiter.owner == self.number);
            let before = own.unwrap_or(locks.waiting.len());
            if locks.in_the_way(wanted, before).is_empty() {
                break locks.take(wanted, level);
            }
            if self.is_to_give_way(&locks, (wanted, before), engine) {
                let mut error = SqlError::new(b"40P01", "deadlock detected");
                error.detail = Some("An advisory lock was waited for in a circle.".to_owned());
                break Err(error);
            }
            if let Err(why) = interrupt.check_wait(deadline) {
                break Err(why.into());
            }
            self.all.freed.wait_for(&mut locks, LOOK_EVERY);
        };
        locks.waiting.retain(|waiter| waiter.owner != self.number);
        if let (Some(engine), Some(place)) = (engine, self.seat.place()) {
            engine.go_on(place);
        }
        self.all.changed(&locks);
        done
    }

    /// Whether who waits is one of a circle, and is to give way (I2).
    fn is_to_give_way(
        &self,
        locks: &Locks,
        waits: (Waiter, usize),
        engine: Option<&dyn WaitsElsewhere>,
    ) -> bool {
        if let (Some(engine), Some(place)) = (engine, self.seat.place())
            && (engine.is_to_give_way(place) || engine.break_circles(place))
        {
            return true;
        }
        let gives_way = |owner: u64| {
            let place = locks.places.get(&owner);
            engine.zip(place).is_some_and(|(engine, place)| engine.is_to_give_way(*place))
        };
        // Somebody else who is to give way sees so when he looks next.
        locks.closes_circle(waits, gives_way)
    }

    /// Gives one back that belongs to the session; false: it has none such.
    fn unlock(&self, Waiter { key, mode, owner }: Waiter) -> bool {
        let mut locks = self.all.locks.lock();
        let Some(all) = locks.held.get_mut(&key) else { return false };
        let own = all.iter_mut().find(|held| {
            (held.owner, held.mode, held.level) == (owner, mode, AdvisoryLevel::Session)
        });
        let Some(held) = own else { return false };
        held.count -= 1;
        if !locks.keep(key, owner, |held| held.count > 0)
            && let Some(keys) = locks.keys.get_mut(&owner)
        {
            keys.remove(&key);
        }
        self.all.changed(&locks);
        true
    }

    /// Whether there may be locks that end with the transaction.
    pub(crate) fn has_of_transaction(&self) -> bool {
        self.has_of_transaction.get()
    }

    /// Gives back all of a level.
    pub(crate) fn release(&self, level: AdvisoryLevel) {
        if level == AdvisoryLevel::Transaction {
            self.has_of_transaction.set(false);
        }
        let mut locks = self.all.locks.lock();
        locks.release(self.number, |held| held.level == level);
        self.all.changed(&locks);
    }
}

impl Drop for AdvisoryOwner {
    fn drop(&mut self) {
        let mut locks = self.all.locks.lock();
        locks.release(self.number, |_| true);
        self.all.changed(&locks);
    }
}
