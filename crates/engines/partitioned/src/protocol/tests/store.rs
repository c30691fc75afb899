//! Partitions of a few counters, with ghosts as the storage manager has them: a removed key stays
//! in its index until who removed it has committed. And their log, whose epochs end as those of the
//! engine do: when nobody stays in them who has run a call that waits for its place.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use hotrow_base::sync::CommitEpochs;
use hotrow_base::sync::commit_epoch::{EpochStay, StayEnd};
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
pub type Multi = Rc<Several>;

/// What a call has to do at a partition, by round.
pub type Share = (u16, Vec<Vec<Op>>);

#[derive(Debug)]
pub struct Several {
    pub home: Address,
    /// the first of its partitions runs it, while all others stand still
    pub is_whole: bool,
    /// by participant
    pub parts: Vec<Share>,
    /// by participant: what each round has made
    pub made: RefCell<Vec<Vec<Vec<i64>>>>,
    /// some part has changed something
    has_changed: Cell<bool>,
}

impl Several {
    pub fn new(home: Address, is_whole: bool, parts: Vec<Share>) -> Multi {
        let made = parts.iter().map(|(_, rounds)| vec![Vec::new(); rounds.len()]).collect();
        let (made, has_changed) = (RefCell::new(made), Cell::new(false));
        Rc::new(Self { home, is_whole, parts, made, has_changed })
    }

    fn other(&self, at: usize, round: u32) -> i64 {
        let made = self.made.borrow();
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
        let last = if self.is_whole { u32::from(at == 0) } else { rounds.len() as u32 - 1 };
        (*partition, last)
    }

    fn stands_still(&self) -> bool {
        self.is_whole
    }
}

/// What was committed.
pub struct Entry {
    pub position: Position,
    pub what: What,
    /// it has changed nothing, and so need not be in a log
    pub is_read: bool,
}

pub enum What {
    Single { partition: u16, ops: Vec<Op>, made: Vec<i64> },
    Multi(Multi),
}

/// The log of all partitions, and the clock of its epochs.
pub struct Log {
    pub entries: RefCell<Vec<Entry>>,
    pub epochs: CommitEpochs,
    /// the epoch that ends: it has been followed by another one
    ending: Cell<Option<u64>>,
    /// up to where it is durable, and how many entries there were when it became so
    pub durable: RefCell<Vec<(u64, usize)>>,
}

impl Log {
    /// One for so many nodes.
    pub fn new(nodes: u16) -> Rc<Self> {
        Rc::new(Self {
            entries: RefCell::default(),
            epochs: CommitEpochs::new(nodes.into(), 1),
            ending: Cell::new(None),
            durable: RefCell::default(),
        })
    }

    /// What its writer does now and then. `is_hasty`: it does not wait until an epoch is left,
    /// broken on purpose.
    pub fn write(&self, is_hasty: bool) {
        match self.ending.get() {
            None => self.ending.set(Some(self.epochs.begin_next())),
            Some(ending) if is_hasty || self.epochs.is_left(ending) => {
                self.durable.borrow_mut().push((ending, self.entries.borrow().len()));
                self.ending.set(None);
            }
            Some(_) => {}
        }
    }

    fn append(&self, position: Position, what: What, is_read: bool) {
        self.entries.borrow_mut().push(Entry { position, what, is_read });
    }
}

/// A node's way to the log.
pub struct Appender {
    pub log: Rc<Log>,
    node: usize,
    stay: EpochStay,
}

impl Appender {
    pub fn new(log: &Rc<Log>, node: Address) -> Self {
        Self { log: Rc::clone(log), node: node.into(), stay: EpochStay::default() }
    }

    /// As the engine's stay: a call has changed something, and waits for its place.
    fn begin(&mut self) -> u64 {
        let epoch = match self.stay.is_outside() {
            true => self.log.epochs.enter(self.node),
            false => self.log.epochs.current_beside(self.node),
        };
        self.stay.begin(epoch);
        epoch
    }

    /// It waits no longer. 0: it never has.
    fn end(&mut self, begun: u64) {
        if begun > 0 {
            match self.stay.end(begun) {
                StayEnd::Stays => {}
                StayEnd::MovesOn => self.log.epochs.move_on(self.node),
                StayEnd::Leaves => self.log.epochs.leave(self.node),
            }
        }
    }
}

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

#[derive(Default)]
pub struct Part {
    /// the call, by its place among those that ran
    number: usize,
    /// by partition; that of others is changed only while they stand still
    undo: Vec<(u16, Undo)>,
    /// the epoch in which it began to wait for its place; 0: it does not
    begun: u64,
}

impl Part {
    /// Whether it has removed something, or brought something back.
    pub fn has_moved(&self) -> bool {
        self.undo.iter().any(|(_, undo)| !matches!(undo, Undo::Value(..)))
    }
}

/// The rows of a partition.
#[derive(Clone)]
pub struct Table {
    slots: Vec<Slot>,
    index: BTreeMap<u32, usize>,
}

/// By partition.
pub type Tables = Rc<RefCell<Vec<Table>>>;

pub fn tables(partitions: u16, keys: u32) -> Tables {
    let slot = |key| Slot { key, value: 10, is_ghost: false, removed_by: 0, is_freed: false };
    let table = Table {
        slots: (0..keys).map(slot).collect(),
        index: (0..keys).map(|key| (key, key as usize)).collect(),
    };
    Rc::new(RefCell::new(vec![table; partitions.into()]))
}

impl Table {
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

    fn free(&mut self, at: usize) {
        let slot = self.slot(at);
        slot.is_freed = true;
        let key = slot.key;
        self.index.remove(&key);
    }

    fn take_back(&mut self, undo: Undo) {
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

/// One partition, as its owner has it.
pub struct Counters {
    partition: u16,
    tables: Tables,
    appender: Appender,
    /// calls run so far
    ran: usize,
    /// parts that have not ended
    pub open: usize,
    /// parts undone, and those of them that had removed something or brought something back
    pub undone: (u64, u64),
    /// brings back what others have removed: broken on purpose
    pub is_careless: bool,
}

impl Counters {
    pub fn new(partition: u16, tables: &Tables, appender: Appender) -> Self {
        Self {
            partition,
            tables: Rc::clone(tables),
            appender,
            ran: 0,
            open: 0,
            undone: (0, 0),
            is_careless: false,
        }
    }

    /// Does what a call wants at a partition, and notes what it makes.
    fn run(
        &self,
        (partition, ops): (u16, &[Op]),
        other: i64,
        part: &mut Part,
        made: &mut Vec<i64>,
    ) -> Vote {
        let table = &mut self.tables.borrow_mut()[usize::from(partition)];
        let mut running = Running { table, partition, part, is_careless: self.is_careless };
        made.clear();
        for &op in ops {
            let result = match op {
                Op::Add(key, by) => running.add(key, by),
                Op::AddOther(key) => running.add(key, other),
                Op::Insert(key, value) => match running.insert(key, value) {
                    Some(result) => result,
                    None => return Vote::Again,
                },
                Op::Remove(key) => running.remove(key),
                Op::FailIfOdd(key) => match running.table.live(key) {
                    Some(at) if running.table.slots[at].value % 2 != 0 => return Vote::Abort,
                    Some(at) => running.table.slots[at].value,
                    None => -1,
                },
                Op::Fail => return Vote::Abort,
            };
            made.push(result);
        }
        Vote::Commit
    }

    /// Runs a call of all its partitions, which stand still.
    fn run_whole(&self, call: &Multi, part: &mut Part) -> Vote {
        let run = |((partition, rounds), made): (&Share, &mut Vec<Vec<i64>>)| {
            self.run((*partition, &rounds[0]), 0, part, &mut made[0])
        };
        let made = &mut *call.made.borrow_mut();
        let failed = call.parts.iter().zip(made).map(run).find(|&vote| vote != Vote::Commit);
        assert_ne!(failed, Some(Vote::Again), "nobody is undecided where all stand still");
        failed.unwrap_or(Vote::Commit)
    }
}

/// A call at a partition.
struct Running<'a> {
    table: &'a mut Table,
    partition: u16,
    part: &'a mut Part,
    is_careless: bool,
}

impl Running<'_> {
    fn note(&mut self, undo: Undo) {
        self.part.undo.push((self.partition, undo));
    }

    fn add(&mut self, key: u32, by: i64) -> i64 {
        let Some(at) = self.table.live(key) else { return -1 };
        let slot = self.table.slot(at);
        let (before, now) = (slot.value, (slot.value + by) % 1_000);
        slot.value = now;
        self.note(Undo::Value(at, before));
        now
    }

    /// None if it would bring back what another call has removed.
    fn insert(&mut self, key: u32, value: i64) -> Option<i64> {
        match self.table.index.get(&key).copied() {
            Some(at) if !self.table.slots[at].is_ghost => return Some(-1),
            Some(at) => {
                let slot = self.table.slot(at);
                if slot.removed_by != self.part.number && !self.is_careless {
                    return None;
                }
                let before = slot.value;
                (slot.value, slot.is_ghost) = (value, false);
                self.note(Undo::Revived(at, before));
            }
            None => {
                let at = self.table.slots.len();
                let slot = Slot { key, value, is_ghost: false, removed_by: 0, is_freed: false };
                self.table.slots.push(slot);
                self.table.index.insert(key, at);
                self.note(Undo::Made(at));
            }
        }
        Some(value)
    }

    fn remove(&mut self, key: u32) -> i64 {
        let Some(at) = self.table.live(key) else { return -1 };
        let number = self.part.number;
        let slot = self.table.slot(at);
        (slot.is_ghost, slot.removed_by) = (true, number);
        let value = slot.value;
        self.note(Undo::Removed(at));
        value
    }
}

impl Store for Counters {
    type Single = Single;
    type Multi = Multi;
    type Part = Part;

    fn begin(&mut self) -> Part {
        self.open += 1;
        self.ran += 1;
        // By a number that no part of another partition has.
        Part { number: self.ran * 64 + usize::from(self.partition), ..Part::default() }
    }

    fn run_single(&mut self, call: &mut Single, part: &mut Part) -> Vote {
        assert_eq!(call.partition, self.partition);
        let Single { ops, made, .. } = call;
        call.vote = self.run((self.partition, ops), 0, part, made);
        if call.vote == Vote::Commit && !part.undo.is_empty() {
            part.begun = self.appender.begin();
        }
        call.vote
    }

    fn run_fragment(&mut self, call: &Multi, round: u32, part: &mut Part) -> Vote {
        let own = call.parts.iter().position(|(partition, _)| *partition == self.partition);
        let at = own.expect("only participants get fragments");
        let vote = match call.is_whole {
            true if round == 1 => self.run_whole(call, part),
            true => Vote::Commit,
            false => {
                let other = if round > 0 { call.other(at, round) } else { 0 };
                let mut made = Vec::new();
                let ops = &call.parts[at].1[round as usize];
                let vote = self.run((self.partition, ops), other, part, &mut made);
                call.made.borrow_mut()[at][round as usize] = made;
                vote
            }
        };
        call.has_changed.set(call.has_changed.get() || !part.undo.is_empty());
        vote
    }

    fn commit_single(&mut self, call: &mut Single, part: &Part, met: Position) -> Option<Position> {
        let position = met.after(part.begun.max(met.epoch));
        let Single { partition, ops, made, .. } = call;
        let what = What::Single { partition: *partition, ops: ops.clone(), made: made.clone() };
        self.appender.log.append(position, what, part.undo.is_empty());
        Some(position)
    }

    fn epoch_of(&self, part: &Part) -> u64 {
        part.begun
    }

    fn commit(&mut self, part: Part) {
        for &(partition, undo) in &part.undo {
            let table = &mut self.tables.borrow_mut()[usize::from(partition)];
            if let Undo::Removed(at) = undo
                && !table.slots[at].is_freed
                && table.slots[at].is_ghost
                && table.slots[at].removed_by == part.number
            // else who removed it again frees it
            {
                table.free(at);
            }
        }
        self.open -= 1;
        self.appender.end(part.begun);
    }

    fn undo(&mut self, part: Part) {
        self.undone.0 += 1;
        self.undone.1 += u64::from(part.has_moved());
        for &(partition, undo) in part.undo.iter().rev() {
            self.tables.borrow_mut()[usize::from(partition)].take_back(undo);
        }
        self.open -= 1;
        self.appender.end(part.begun);
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
            let id = (u64::from(key) + 2) * LOCK_ID_STEP;
            Some(LockRequest::new(id, LockMode::Exclusive))
        }
        Op::Fail => None,
    }
}

/// The lock on a partition as a whole.
fn lock_all(mode: LockMode) -> LockRequest {
    LockRequest::new(LOCK_ID_STEP, mode)
}

fn lock_each(ops: &[Op], locks: &mut Vec<LockRequest>) {
    locks.push(lock_all(LockMode::IntentExclusive));
    locks.extend(ops.iter().filter_map(lock));
    locks.sort_unstable();
    locks.dedup();
}

impl LockingStore for Counters {
    fn locks_of_single(&mut self, call: &mut Single, locks: &mut Vec<LockRequest>) {
        lock_each(&call.ops, locks);
    }

    fn locks_of(&mut self, call: &Multi, round: u32, locks: &mut Vec<LockRequest>) {
        let own = call.parts.iter().find(|(partition, _)| *partition == self.partition);
        let (_, rounds) = own.expect("only participants get fragments");
        match (call.is_whole, round) {
            (true, 0) => locks.push(lock_all(LockMode::Exclusive)),
            (true, _) => {}
            (false, _) => lock_each(&rounds[round as usize], locks),
        }
    }
}

/// The coordinator's side.
pub struct Clerk(pub Appender);

impl Steering for Clerk {
    type Multi = Multi;

    fn steer(&mut self, _: &Multi, _: u32) -> Vote {
        Vote::Commit
    }

    fn commit(&mut self, call: &Multi, met: Position) -> Option<Position> {
        let is_read = !call.has_changed.get();
        let begun = if is_read { 0 } else { self.0.begin() };
        let position = met.after(begun.max(met.epoch));
        self.0.log.append(position, What::Multi(Rc::clone(call)), is_read);
        self.0.end(begun);
        Some(position)
    }
}

/// Runs entries one by one, in their order, on new partitions: what each made must be what it made
/// then. What is left.
pub fn replay(
    entries: &[&Entry],
    (partitions, keys): (u16, u32),
) -> Result<Vec<BTreeMap<u32, i64>>, String> {
    let mut entries = entries.to_vec();
    entries.sort_by_key(|entry| entry.position);
    let (tables, nowhere) = (tables(partitions, keys), Log::new(1));
    let mut store = Counters::new(0, &tables, Appender::new(&nowhere, 0));
    for Entry { position, what, .. } in entries {
        let mut part = store.begin();
        let (ops, then, now) = match what {
            What::Single { partition, ops, made } => {
                let mut now = Vec::new();
                store.run((*partition, ops), 0, &mut part, &mut now);
                (format!("{ops:?}"), vec![vec![made.clone()]], vec![vec![now]])
            }
            What::Multi(call) => {
                let again = Several::new(0, false, call.parts.clone());
                let rounds = call.parts.iter().map(|(_, rounds)| rounds.len()).max().unwrap_or(0);
                for round in 0..rounds {
                    for (at, (partition, own)) in call.parts.iter().enumerate() {
                        let Some(ops) = own.get(round) else { continue };
                        let other = if round > 0 { again.other(at, round as u32) } else { 0 };
                        let mut made = Vec::new();
                        store.run((*partition, ops), other, &mut part, &mut made);
                        again.made.borrow_mut()[at][round] = made;
                    }
                }
                (format!("{:?}", call.parts), call.made.borrow().clone(), again.made.take())
            }
        };
        store.commit(part);
        if now != then {
            return Err(format!("{position}: {ops} made {then:?}, and now {now:?}"));
        }
    }
    let rows = tables.borrow().iter().map(Table::rows).collect();
    Ok(rows)
}
