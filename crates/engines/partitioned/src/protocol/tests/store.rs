//! Partitions of a few counters, with ghosts as the storage manager has them: a removed key stays
//! in its index until who removed it has committed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hotrow_flow::node::Address;
use hotrow_log::position::Position;
use hotrow_transaction::granule::{LOCK_ID_STEP, LockMode, LockRequest};

use crate::protocol::locking::LockingStore;
use crate::protocol::{MultiCall, SingleCall, Steering, Store, Vote};

/// What a call does with a key.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// adds to its counter; makes -1 where there is none
    Add(u32, i64),
    /// adds what the call read last at its other partition in the round before
    AddOther(u32),
    /// makes the counter, with this value; makes -1 where there is one
    Insert(u32, i64),
    /// removes the counter; makes -1 where there is none
    Remove(u32),
    /// fails if the counter is there and odd
    FailIfOdd(u32),
    /// fails
    Fail,
}

/// A call of one partition.
pub struct Single {
    pub home: Address,
    pub partition: u16,
    pub ops: Vec<Op>,
    pub made: Vec<i64>,
    pub vote: Vote,
}

impl SingleCall for Single {
    fn home(&self) -> Address {
        self.home
    }
}

/// A call of several partitions.
pub type Multi = Arc<Several>;

#[derive(Debug)]
pub struct Several {
    pub home: Address,
    /// by participant: partition, and by round what to do there
    pub parts: Vec<(u16, Vec<Vec<Op>>)>,
    /// by participant: what each round has made
    pub made: Mutex<Vec<Vec<Vec<i64>>>>,
}

impl Several {
    pub fn new(home: Address, parts: Vec<(u16, Vec<Vec<Op>>)>) -> Multi {
        let made = parts.iter().map(|(_, rounds)| vec![Vec::new(); rounds.len()]).collect();
        Arc::new(Self { home, parts, made: Mutex::new(made) })
    }

    fn other(&self, at: usize, round: u32) -> i64 {
        let made = self.made.lock().expect("one thread");
        let other = made.iter().enumerate().find(|(other, _)| *other != at);
        let before = other.and_then(|(_, rounds)| rounds.get(round as usize - 1)?.last().copied());
        before.unwrap_or(0)
    }
}

impl MultiCall for Multi {
    fn home(&self) -> Address {
        self.home
    }

    fn participants(&self) -> usize {
        self.parts.len()
    }

    fn participant(&self, at: usize) -> (u16, u32) {
        let (partition, rounds) = &self.parts[at];
        (*partition, rounds.len() as u32 - 1)
    }
}

/// What was committed, by its place.
pub enum Entry {
    Single { partition: u16, ops: Vec<Op>, made: Vec<i64> },
    Multi(Multi),
}

/// The log of all partitions.
pub type Log = Arc<Mutex<Vec<(Position, Entry)>>>;

#[derive(Clone, Debug)]
struct Slot {
    key: u32,
    value: i64,
    is_ghost: bool,
    /// the call that made it one
    removed_by: usize,
    is_freed: bool,
}

/// How a change is undone.
#[derive(Clone, Copy, Debug)]
enum Undo {
    Value(usize, i64),
    Made(usize),
    /// a ghost with this value was brought back
    Revived(usize, i64),
    Removed(usize),
}

pub struct Part {
    /// the call, by its place among those that ran
    number: usize,
    undo: Vec<Undo>,
}

/// One partition.
pub struct Counters {
    partition: u16,
    /// calls run so far
    ran: usize,
    slots: Vec<Slot>,
    index: BTreeMap<u32, usize>,
    log: Log,
    /// parts that have not ended
    pub open: usize,
    /// brings back what others have removed: broken on purpose
    pub is_careless: bool,
}

impl Counters {
    pub fn new(partition: u16, keys: u32, log: Log) -> Self {
        let slot = |key| Slot { key, value: 10, is_ghost: false, removed_by: 0, is_freed: false };
        Self {
            partition,
            ran: 0,
            slots: (0..keys).map(slot).collect(),
            index: (0..keys).map(|key| (key, key as usize)).collect(),
            log,
            open: 0,
            is_careless: false,
        }
    }

    /// What is there.
    pub fn rows(&self) -> BTreeMap<u32, i64> {
        let live = |&(_, &at): &(&u32, &usize)| !self.slots[at].is_ghost;
        self.index.iter().filter(live).map(|(&key, &at)| (key, self.slots[at].value)).collect()
    }

    /// How many removed keys are still in the index.
    pub fn ghosts(&self) -> usize {
        self.index.values().filter(|&&at| self.slots[at].is_ghost).count()
    }

    fn slot(&mut self, at: usize) -> &mut Slot {
        let slot = &mut self.slots[at];
        assert!(!slot.is_freed, "key {} is reached after it was freed", slot.key);
        slot
    }

    fn live(&self, key: u32) -> Option<usize> {
        self.index.get(&key).copied().filter(|&at| !self.slots[at].is_ghost)
    }

    /// Does what a call wants, and notes what it makes.
    fn run(&mut self, ops: &[Op], other: i64, part: &mut Part, made: &mut Vec<i64>) -> Vote {
        made.clear();
        for &op in ops {
            let result = match op {
                Op::Add(key, by) => self.add(key, by, part),
                Op::AddOther(key) => self.add(key, other, part),
                Op::Insert(key, value) => match self.insert(key, value, part) {
                    Some(result) => result,
                    None => return Vote::Again,
                },
                Op::Remove(key) => self.remove(key, part),
                Op::FailIfOdd(key) => match self.live(key) {
                    Some(at) if self.slots[at].value % 2 != 0 => return Vote::Abort,
                    Some(at) => self.slots[at].value,
                    None => -1,
                },
                Op::Fail => return Vote::Abort,
            };
            made.push(result);
        }
        Vote::Commit
    }

    fn add(&mut self, key: u32, by: i64, part: &mut Part) -> i64 {
        let Some(at) = self.live(key) else { return -1 };
        let slot = self.slot(at);
        part.undo.push(Undo::Value(at, slot.value));
        slot.value = (slot.value + by) % 1_000;
        slot.value
    }

    /// None if it would bring back what another call has removed.
    fn insert(&mut self, key: u32, value: i64, part: &mut Part) -> Option<i64> {
        match self.index.get(&key).copied() {
            Some(at) if !self.slots[at].is_ghost => return Some(-1),
            Some(at) => {
                let is_careless = self.is_careless;
                let slot = self.slot(at);
                if slot.removed_by != part.number && !is_careless {
                    return None;
                }
                part.undo.push(Undo::Revived(at, slot.value));
                (slot.value, slot.is_ghost) = (value, false);
            }
            None => {
                let at = self.slots.len();
                self.slots.push(Slot {
                    key,
                    value,
                    is_ghost: false,
                    removed_by: 0,
                    is_freed: false,
                });
                self.index.insert(key, at);
                part.undo.push(Undo::Made(at));
            }
        }
        Some(value)
    }

    fn remove(&mut self, key: u32, part: &mut Part) -> i64 {
        let Some(at) = self.live(key) else { return -1 };
        part.undo.push(Undo::Removed(at));
        let slot = self.slot(at);
        (slot.is_ghost, slot.removed_by) = (true, part.number);
        slot.value
    }

    fn free(&mut self, at: usize) {
        let slot = self.slot(at);
        slot.is_freed = true;
        let key = slot.key;
        self.index.remove(&key);
    }

    fn take_back(&mut self, part: &mut Part) {
        for undo in part.undo.drain(..).rev() {
            match undo {
                Undo::Value(at, value) => self.slot(at).value = value,
                Undo::Made(at) => self.free(at),
                Undo::Revived(at, value) => {
                    let slot = self.slot(at);
                    (slot.value, slot.is_ghost) = (value, true);
                }
                Undo::Removed(at) => self.slot(at).is_ghost = false,
            }
        }
    }
}

impl Store for Counters {
    type Single = Single;
    type Multi = Multi;
    type Part = Part;

    fn begin(&mut self) -> Part {
        self.open += 1;
        self.ran += 1;
        Part { number: self.ran, undo: Vec::new() }
    }

    fn run_single(&mut self, call: &mut Single, part: &mut Part) -> Vote {
        assert_eq!(call.partition, self.partition);
        let Single { ops, made, .. } = call;
        call.vote = self.run(ops, 0, part, made);
        call.vote
    }

    fn run_fragment(&mut self, call: &Multi, round: u32, part: &mut Part) -> Vote {
        let own = call.parts.iter().position(|(partition, _)| *partition == self.partition);
        let at = own.expect("only participants get fragments");
        let other = if round > 0 { call.other(at, round) } else { 0 };
        let mut made = Vec::new();
        let vote = self.run(&call.parts[at].1[round as usize], other, part, &mut made);
        call.made.lock().expect("one thread")[at][round as usize] = made;
        vote
    }

    fn commit_single(&mut self, call: &mut Single, _: &Part, met: Position) -> Option<Position> {
        let position = met.after(met.epoch);
        let Single { partition, ops, made, .. } = call;
        let entry = Entry::Single { partition: *partition, ops: ops.clone(), made: made.clone() };
        self.log.lock().expect("one thread").push((position, entry));
        Some(position)
    }

    fn commit(&mut self, part: Part) {
        for &undo in &part.undo {
            if let Undo::Removed(at) = undo
                && !self.slots[at].is_freed
                && self.slots[at].is_ghost
                && self.slots[at].removed_by == part.number
            // else who removed it again frees it
            {
                self.free(at);
            }
        }
        self.open -= 1;
    }

    fn undo(&mut self, mut part: Part) {
        self.take_back(&mut part);
        self.open -= 1;
    }
}

/// The lock on a key: all that is done with it needs it alone.
fn lock(op: &Op) -> Option<LockRequest> {
    match *op {
        Op::Add(key, _)
        | Op::AddOther(key)
        | Op::Insert(key, _)
        | Op::Remove(key)
        | Op::FailIfOdd(key) => {
            let id = (u64::from(key) + 1) * LOCK_ID_STEP;
            Some(LockRequest::new(id, LockMode::Exclusive))
        }
        Op::Fail => None,
    }
}

impl LockingStore for Counters {
    fn locks_of_single(&mut self, call: &mut Single, locks: &mut Vec<LockRequest>) {
        locks.extend(call.ops.iter().filter_map(lock));
        locks.sort_unstable();
        locks.dedup();
    }

    fn locks_of(&mut self, call: &Multi, round: u32, locks: &mut Vec<LockRequest>) {
        let own = call.parts.iter().find(|(partition, _)| *partition == self.partition);
        let (_, rounds) = own.expect("only participants get fragments");
        locks.extend(rounds[round as usize].iter().filter_map(lock));
        locks.sort_unstable();
        locks.dedup();
    }
}

/// The coordinator's side.
pub struct Clerk(pub Log);

impl Steering for Clerk {
    type Multi = Multi;

    fn steer(&mut self, _: &Multi, _: u32) -> Vote {
        Vote::Commit
    }

    fn commit(&mut self, call: &Multi, met: Position) -> Option<Position> {
        let position = met.after(met.epoch);
        self.0.lock().expect("one thread").push((position, Entry::Multi(Arc::clone(call))));
        Some(position)
    }
}

/// Runs all that was committed one by one, in the order of the log, on new partitions: what each
/// made must be what it made then.
pub fn replay(log: &Log, partitions: u16, keys: u32) -> Result<Vec<BTreeMap<u32, i64>>, String> {
    let mut entries = log.lock().expect("one thread");
    entries.sort_by_key(|(position, _)| *position);
    let nowhere = Log::default();
    let counters = |partition| Counters::new(partition, keys, Arc::clone(&nowhere));
    let mut stores: Vec<_> = (0..partitions).map(counters).collect();
    for (position, entry) in &*entries {
        match entry {
            Entry::Single { partition, ops, made } => {
                let store = &mut stores[usize::from(*partition)];
                let mut now = Vec::new();
                let mut part = store.begin();
                let vote = store.run(ops, 0, &mut part, &mut now);
                store.commit(part);
                if vote != Vote::Commit || now != *made {
                    return Err(format!("{position}: {ops:?} made {made:?}, and now {now:?}"));
                }
            }
            Entry::Multi(call) => {
                let then = call.made.lock().expect("one thread").clone();
                let again = Several::new(0, call.parts.clone());
                let mut open: Vec<_> = call.parts.iter().map(|_| None).collect();
                let rounds = call.parts.iter().map(|(_, rounds)| rounds.len()).max().unwrap_or(0);
                for round in 0..rounds {
                    for (at, (partition, own)) in call.parts.iter().enumerate() {
                        if round < own.len() {
                            let store = &mut stores[usize::from(*partition)];
                            let part = open[at].get_or_insert_with(|| store.begin());
                            store.run_fragment(&again, round as u32, part);
                        }
                    }
                }
                for ((partition, _), part) in call.parts.iter().zip(open) {
                    let store = &mut stores[usize::from(*partition)];
                    part.into_iter().for_each(|part| store.commit(part));
                }
                let now = again.made.lock().expect("one thread").clone();
                if now != then {
                    let parts = &call.parts;
                    return Err(format!("{position}: {parts:?} made {then:?}, and now {now:?}"));
                }
            }
        }
    }
    Ok(stores.iter().map(Counters::rows).collect())
}
