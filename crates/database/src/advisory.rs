//! Advisory locks: what programs lock by numbers of their own, as migrations do.
//!
//! Role         queries ask for them by functions; a session gives back what it has at its end, and
//!              what belongs to a transaction at that transaction's end
//! Invariants   I1 who asks waits for those who hold the key in a mode that conflicts, and for
//!                 those who asked before and still wait: nobody is overtaken for ever
//!              I2 nobody waits in a circle of such waits: who would close it fails (40P01). One
//!                 that goes through locks of rows, too, ends by lock_timeout or
//!                 statement_timeout
//! Concurrency  everything is under one mutex, which is held for moments; a wait looks every
//!              [`LOOK_EVERY`] whether its statement was interrupted

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hotrow_base::interrupt::{Interrupt, LOOK_EVERY};
use hotrow_base::value::Value;
use hotrow_query::{Advisory, AdvisoryLevel, AdvisoryMode, AdvisoryStep};
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

    /// Whether somebody who waits would wait for himself.
    fn closes_circle(&self, of: Waiter) -> bool {
        let mut seen = Vec::new();
        let mut open = self.in_the_way(of, self.waiting.len());
        while let Some(owner) = open.pop() {
            if owner == of.owner {
                return true;
            }
            if seen.contains(&owner) {
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
}

/// A session's part in them; its locks end with it.
pub(crate) struct AdvisoryOwner {
    all: Arc<AdvisoryLocks>,
    number: u64,
    /// locks were taken that end with the transaction
    has_of_transaction: Cell<bool>,
}

impl AdvisoryOwner {
    pub(crate) fn new(all: &Arc<AdvisoryLocks>) -> Self {
        let mut locks = all.locks.lock();
        locks.owners += 1;
        let has_of_transaction = Cell::new(false);
        Self { all: Arc::clone(all), number: locks.owners, has_of_transaction }
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
            AdvisoryStep::Try => {
                let mut locks = self.all.locks.lock();
                let is_free = locks.in_the_way(wanted, locks.waiting.len()).is_empty();
                if is_free {
                    locks.take(wanted, level)?;
                }
                Value::Bool(is_free)
            }
            _ => Value::Bool(self.unlock(wanted)),
        }))
    }

    fn lock(
        &self,
        wanted: Waiter,
        level: AdvisoryLevel,
        interrupt: &Arc<Interrupt>,
    ) -> Result<(), SqlError> {
        let mut locks = self.all.locks.lock();
        if locks.in_the_way(wanted, locks.waiting.len()).is_empty() {
            return locks.take(wanted, level);
        }
        if locks.closes_circle(wanted) {
            let mut error = SqlError::new(b"40P01", "deadlock detected");
            error.detail = Some("Advisory locks are waited for in a circle.".to_owned());
            return Err(error);
        }
        locks.waiting.push(wanted);
        let deadline = interrupt.lock_deadline();
        let _waits = interrupt.wait_for_lock();
        let done = loop {
            self.all.freed.wait_for(&mut locks, LOOK_EVERY);
            let own = locks.waiting.iter().position(|waiter| waiter.owner == self.number);
            let before = own.unwrap_or(locks.waiting.len());
            if locks.in_the_way(wanted, before).is_empty() {
                break locks.take(wanted, level);
            }
            if let Err(why) = interrupt.check_wait(deadline) {
                break Err(why.into());
            }
        };
        locks.waiting.retain(|waiter| waiter.owner != self.number);
        self.all.freed.notify_all();
        done
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
        self.all.freed.notify_all();
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
        self.all.locks.lock().release(self.number, |held| held.level == level);
        self.all.freed.notify_all();
    }
}

impl Drop for AdvisoryOwner {
    fn drop(&mut self) {
        self.all.locks.lock().release(self.number, |_| true);
        self.all.freed.notify_all();
    }
}
