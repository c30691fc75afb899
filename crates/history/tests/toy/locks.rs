//! A store with in-place appends and locks; each broken variant forgets one kind of lock.

use std::collections::{BTreeMap, BTreeSet};

use super::{Answer, Store, TxnId, is_index};

/// How long a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    Never,
    /// During the operation only.
    Briefly,
    ToTheEnd,
}

/// Which locks the store takes.
#[derive(Debug, Clone, Copy)]
pub struct Locking {
    pub reads: Hold,
    pub writes: Hold,
    /// Scans of an index and additions to it.
    pub indexes: Hold,
}

/// Strict two-phase locking: every lock to the end.
pub const STRICT: Locking =
    Locking { reads: Hold::ToTheEnd, writes: Hold::ToTheEnd, indexes: Hold::ToTheEnd };

#[derive(Default)]
struct Lock {
    exclusive: Option<TxnId>,
    shared: BTreeSet<TxnId>,
}

pub struct LockStore {
    locking: Locking,
    lists: BTreeMap<u64, Vec<(i64, TxnId)>>,
    locks: BTreeMap<u64, Lock>,
}

impl LockStore {
    pub fn new(locking: Locking) -> LockStore {
        LockStore { locking, lists: BTreeMap::new(), locks: BTreeMap::new() }
    }

    /// Wait-die: waiting for a younger transaction is safe, for an older one it could deadlock.
    fn lock(&mut self, txn: TxnId, key: u64, hold: Hold, exclusive: bool) -> Answer<()> {
        if hold == Hold::Never {
            return Answer::Done(());
        }
        let lock = self.locks.entry(key).or_default();
        let sharers = lock.shared.iter().filter(|_| exclusive).copied();
        let holders: Vec<TxnId> =
            lock.exclusive.into_iter().chain(sharers).filter(|holder| *holder != txn).collect();
        match holders.iter().min() {
            Some(oldest) if *oldest < txn => return Answer::Abort,
            Some(_) => return Answer::Wait,
            None => {}
        }
        if hold == Hold::ToTheEnd && exclusive {
            lock.exclusive = Some(txn);
        } else if hold == Hold::ToTheEnd {
            lock.shared.insert(txn);
        }
        Answer::Done(())
    }

    fn release(&mut self, txn: TxnId) {
        for lock in self.locks.values_mut() {
            lock.exclusive = lock.exclusive.filter(|holder| *holder != txn);
            lock.shared.remove(&txn);
        }
    }
}

impl Store for LockStore {
    fn read(&mut self, txn: TxnId, key: u64) -> Answer<Vec<i64>> {
        let hold = if is_index(key) { self.locking.indexes } else { self.locking.reads };
        match self.lock(txn, key, hold, false) {
            Answer::Done(()) => {
                let list = self.lists.entry(key).or_default();
                Answer::Done(list.iter().map(|(value, _)| *value).collect())
            }
            Answer::Wait => Answer::Wait,
            Answer::Abort => Answer::Abort,
        }
    }

    fn append(&mut self, txn: TxnId, key: u64, value: i64) -> Answer<()> {
        let hold = if is_index(key) { self.locking.indexes } else { self.locking.writes };
        let answer = self.lock(txn, key, hold, true);
        if answer == Answer::Done(()) {
            self.lists.entry(key).or_default().push((value, txn));
        }
        answer
    }

    fn commit(&mut self, txn: TxnId) -> Answer<()> {
        self.release(txn);
        Answer::Done(())
    }

    fn rollback(&mut self, txn: TxnId) {
        for list in self.lists.values_mut() {
            list.retain(|(_, writer)| *writer != txn);
        }
        self.release(txn);
    }
}

/// One transaction after the other.
pub struct SerialStore {
    inner: LockStore,
    running: Option<TxnId>,
}

impl SerialStore {
    pub fn new() -> SerialStore {
        let never = Hold::Never;
        let locking = Locking { reads: never, writes: never, indexes: never };
        SerialStore { inner: LockStore::new(locking), running: None }
    }

    fn may_run(&mut self, txn: TxnId) -> bool {
        *self.running.get_or_insert(txn) == txn
    }
}

impl Store for SerialStore {
    fn read(&mut self, txn: TxnId, key: u64) -> Answer<Vec<i64>> {
        if self.may_run(txn) { self.inner.read(txn, key) } else { Answer::Wait }
    }

    fn append(&mut self, txn: TxnId, key: u64, value: i64) -> Answer<()> {
        if self.may_run(txn) { self.inner.append(txn, key, value) } else { Answer::Wait }
    }

    fn commit(&mut self, txn: TxnId) -> Answer<()> {
        self.running = self.running.filter(|running| *running != txn);
        self.inner.commit(txn)
    }

    fn rollback(&mut self, txn: TxnId) {
        self.running = self.running.filter(|running| *running != txn);
        self.inner.rollback(txn);
    }
}
