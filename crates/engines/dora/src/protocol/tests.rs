//! The protocol in virtual time: thousands of orders of events, each of which must be as if calls
//! had run one by one, in the order of their positions.

use hotrow_base::sync::facade::atomic::AtomicBool;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use hotrow_base::sync::Latch;
use hotrow_flow::node::Node;
use hotrow_flow::virtual_time::{Costs, VirtualTime};
use hotrow_transaction::granule::LockMode;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use super::hall::{Hall, Looks};
use super::*;

const HALLS: u16 = 3;
const DATASETS: u16 = 7;
const KEYS: u64 = 3;
const CLIENTS: u64 = 6;
const CALLS: u64 = 60;

/// What is broken on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// locks are let go of before what was changed under them is undone
    ReleasedBeforeUndo,
    /// a call's locks in the last dataset are not asked for
    LockForgotten,
    /// a failure is not heard of
    LostAbort,
    /// a call is placed behind those it has met in its first hall only
    MetForgotten,
    /// a dataset moves without the locks in it
    LocksLeftBehind,
    /// a rendezvous point does not wait for one of the halls that run a round behind the first
    OneShort,
    /// a hall that has let another one run first does not get its turn
    TurnLost,
    /// circles are not looked for
    NobodyLooks,
}

/// How calls ask for locks, whether some run hall by hall, and whether datasets move meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Mode {
    enqueue: Enqueue,
    by_phase: bool,
    sequential: bool,
    moves: bool,
}

const FORWARDED: Mode =
    Mode { enqueue: Enqueue::Forwarded, by_phase: false, sequential: true, moves: false };
const LATCHED: Mode =
    Mode { enqueue: Enqueue::Latched, by_phase: false, sequential: false, moves: false };
const BY_PHASE: Mode = Mode { by_phase: true, ..LATCHED };
const MODES: [Mode; 7] = [
    FORWARDED,
    LATCHED,
    Mode { sequential: true, ..LATCHED },
    BY_PHASE,
    Mode { by_phase: true, ..FORWARDED },
    Mode { moves: true, ..FORWARDED },
    Mode { sequential: true, moves: true, ..BY_PHASE },
];

impl Mode {
    /// Whether there may be circles.
    fn has_circles(self) -> bool {
        self != FORWARDED && self != LATCHED
    }
}

/// A key of a dataset.
type Key = (u16, u64);

/// What a call does to a key in a round: it reads it, and may add to it all it has read in earlier
/// rounds, and something of its own.
#[derive(Clone, Copy, Debug)]
struct Op {
    key: Key,
    round: u32,
    adds: Option<i64>,
}

struct Toy {
    ops: Vec<Op>,
    /// by dataset: where it was when the call was planned
    map: Vec<Address>,
    /// it runs as a whole, with all that it names to itself
    whole: bool,
    /// the op that fails
    fails: Option<usize>,
    failed: AtomicBool,
    /// by doer, a bit each: it has run the first round
    ran: AtomicU32,
    /// by op: what was read
    read: Vec<Latch<Option<i64>>>,
    /// by doer
    undo: Vec<Latch<Vec<(Key, i64)>>>,
    met: Vec<Latch<Position>>,
}

impl Toy {
    /// The hall that runs what a call does to a key.
    fn hall(&self, key: Key) -> Address {
        self.map[usize::from(key.0)]
    }
}

/// All data, and what has committed: position, what was read, what was done.
#[derive(Default)]
struct World {
    /// by dataset: where it is
    map: Vec<Address>,
    values: std::collections::BTreeMap<Key, i64>,
    log: Vec<(Position, Vec<Op>, Vec<i64>)>,
    /// how often somebody has waited for a lock
    waits: u64,
}

struct Data {
    hall: Address,
    world: Rc<RefCell<World>>,
    fault: Option<Fault>,
}

impl Data {
    fn op(&self, flow: &Flow<Toy>, doer: usize, at: usize) {
        let body = &flow.body;
        if body.fails == Some(at) {
            body.failed.store(true, Ordering::Relaxed);
        }
        if body.failed.load(Ordering::Relaxed) {
            return;
        }
        let op = body.ops[at];
        let before = body.ops.iter().zip(&body.read).filter(|(other, _)| other.round < op.round);
        let sum: i64 = before.map(|(_, read)| read.lock().expect("an earlier round")).sum();
        let mut world = self.world.borrow_mut();
        let value = world.values.entry(op.key).or_default();
        *body.read[at].lock() = Some(*value);
        if let Some(adds) = op.adds {
            body.undo[doer].lock().push((op.key, *value));
            *value += sum + adds;
        }
    }
}

impl Store for Data {
    type Body = Toy;

    fn has_round(&self, flow: &Flow<Toy>, doer: usize, round: u32) -> bool {
        let here = |key: Key| flow.body.hall(key) == flow.halls[doer];
        !flow.body.whole && flow.body.ops.iter().any(|op| op.round == round && here(op.key))
    }

    fn last_round(&self, flow: &Flow<Toy>) -> u32 {
        let rounds = flow.body.ops.iter().map(|op| op.round);
        if flow.body.whole { 0 } else { rounds.max().unwrap_or(0) }
    }

    fn note_wait(&mut self, flow: &Flow<Toy>, lock: u64, _: u64) {
        assert!(flow.locks.iter().any(|asked| asked.lock() == lock), "it has asked for it");
        self.world.borrow_mut().waits += 1;
    }

    fn meet(&mut self, flow: &Flow<Toy>, doer: usize, met: Position) {
        let follows = &mut *flow.body.met[doer].lock();
        *follows = met.max(*follows);
    }

    fn has_failed(&self, flow: &Flow<Toy>) -> bool {
        self.fault != Some(Fault::LostAbort) && flow.body.failed.load(Ordering::Relaxed)
    }

    fn run(&mut self, flow: &Flow<Toy>, doer: usize, round: u32) {
        assert_eq!(flow.halls[doer], self.hall);
        let is_first = flow.is_sequential && round == 0;
        assert!(!is_first || !self.has_failed(flow), "nobody runs behind one that has failed");
        let ran = flow.body.ran.fetch_or(1 << doer, Ordering::Relaxed);
        // Who asks for nothing in the round runs beside those that do.
        let asks = |hall| flow.visits.iter().any(|v| (v.round, v.hall) == (0, hall));
        let leader = flow.halls[flow.leader];
        let is_behind = is_first && doer != flow.leader && asks(self.hall) && asks(leader);
        assert!(!is_behind || ran >> flow.leader & 1 == 1, "the leader comes first");
        for (at, op) in flow.body.ops.iter().enumerate() {
            if !flow.body.whole && op.round == round && flow.body.hall(op.key) == self.hall {
                self.op(flow, doer, at);
            }
        }
    }

    fn run_behind(&mut self, flow: &Flow<Toy>, doer: usize, _: u32) -> bool {
        if flow.body.whole {
            (0..flow.body.ops.len()).for_each(|at| self.op(flow, doer, at));
        }
        !self.has_failed(flow)
    }

    fn commit(&mut self, flow: &Flow<Toy>) -> Option<Position> {
        let body = &flow.body;
        let met = body.met.iter().map(|met| *met.lock());
        let met = match self.fault {
            Some(Fault::MetForgotten) => *body.met[0].lock(),
            _ => met.max().unwrap_or_default(),
        };
        let position = Position { epoch: 1, time: met.time + 1 };
        let read = body.read.iter().map(|read| read.lock().unwrap_or(i64::MIN)).collect();
        self.world.borrow_mut().log.push((position, body.ops.clone(), read));
        Some(position)
    }

    fn end(&mut self, flow: &Flow<Toy>, doer: usize) {
        let mut undo = flow.body.undo[doer].lock();
        let is_undone = !matches!(flow.outcome, Outcome::Committed(_));
        if is_undone && self.fault != Some(Fault::ReleasedBeforeUndo) {
            let mut world = self.world.borrow_mut();
            for (key, value) in undo.drain(..).rev() {
                world.values.insert(key, value);
            }
        }
        undo.clear();
    }

    fn first_hall(&self, dataset: u16) -> Address {
        dataset % HALLS
    }

    fn note_move(&mut self, dataset: u16, to: Address) {
        self.world.borrow_mut().map[usize::from(dataset)] = to;
    }
}

/// All clients, each with one call on its way.
struct Home {
    random: SmallRng,
    world: Rc<RefCell<World>>,
    mode: Mode,
    fault: Option<Fault>,
    left: u64,
    ended: u64,
    undone: u64,
    gave_way: u64,
    back: u64,
    last_age: u64,
    /// attempts
    sent: u32,
    /// to come again
    again: Vec<(u64, Wanted)>,
}

/// A call as its client wants it.
#[derive(Clone)]
struct Wanted {
    ops: Vec<Op>,
    whole: bool,
    takes_datasets: bool,
    is_sequential: bool,
    /// of its halls, which leads if they run one after the other
    leader: usize,
    fails: Option<usize>,
}

impl Home {
    fn begin(&mut self, ports: &mut impl Ports<Message<Toy>, Section>) {
        let Some(left) = self.left.checked_sub(1) else { return };
        self.left = left;
        let random = &mut self.random;
        let count = random.random_range(1..5);
        let rounds = random.random_range(1..4);
        let mut keys: Vec<Key> =
            (0..DATASETS).flat_map(|set| (0..KEYS).map(move |key| (set, key))).collect();
        keys.shuffle(random);
        let op = |key| Op {
            key,
            round: random.random_range(0..rounds),
            adds: random.random_bool(0.7).then(|| random.random_range(1..100)),
        };
        let mut ops: Vec<_> = keys.into_iter().take(count).map(op).collect();
        ops.sort_by_key(|op| op.round);
        let wanted = Wanted {
            whole: random.random_range(0..6) == 0,
            takes_datasets: random.random_range(0..8) == 0,
            fails: (random.random_range(0..5) == 0).then(|| random.random_range(0..ops.len())),
            is_sequential: self.mode.sequential && random.random_range(0..3) == 0,
            leader: random.random_range(0..usize::from(HALLS)),
            ops,
        };
        if self.mode.moves && self.random.random_range(0..4) == 0 {
            let dataset = self.random.random_range(0..DATASETS);
            let from = self.world.borrow().map[usize::from(dataset)];
            let to = self.random.random_range(0..HALLS);
            ports.send(from, Message::Yield(0, dataset, to));
        }
        self.last_age += 1;
        self.send(self.last_age, wanted, ports);
    }

    fn send(&mut self, age: u64, wanted: Wanted, ports: &mut impl Ports<Message<Toy>, Section>) {
        let map = self.world.borrow().map.clone();
        let by_phase = self.mode.by_phase && !wanted.whole && !wanted.takes_datasets;
        let round = |op: &Op| if by_phase { op.round } else { 0 };
        let hall = |op: &Op| map[usize::from(op.key.0)];
        let Wanted { ops, .. } = &wanted;
        let mut places: Vec<_> =
            ops.iter().map(|op| (round(op), hall(op), op.key, op.adds)).collect();
        places.sort_unstable();
        let mut flow = Flow::new(
            HALLS,
            Toy {
                whole: wanted.whole,
                fails: wanted.fails,
                failed: AtomicBool::new(false),
                ran: AtomicU32::new(0),
                read: ops.iter().map(|_| Latch::default()).collect(),
                undo: (0..HALLS).map(|_| Latch::default()).collect(),
                met: (0..HALLS).map(|_| Latch::default()).collect(),
                ops: ops.clone(),
                map,
            },
        );
        self.sent += 1;
        flow.attempt = Attempt { age, number: self.sent };
        (flow.is_sequential, flow.enqueue) = (wanted.is_sequential, self.mode.enqueue);
        flow.halls = places.iter().map(|&(_, hall, ..)| hall).collect();
        flow.halls.sort_unstable();
        flow.halls.dedup();
        let asks = |&doer: &usize| {
            places.iter().any(|&(round, hall, ..)| round == 0 && hall == flow.halls[doer])
        };
        flow.leader = Some(wanted.leader)
            .filter(|&leader| leader < flow.halls.len())
            .filter(asks)
            .unwrap_or(0);
        if self.fault == Some(Fault::LockForgotten) && places.len() > 1 {
            let (.., hall, last, _) = places[places.len() - 1];
            if places.iter().any(|&(_, other, key, _)| other == hall && key != last) {
                places.pop();
            }
        }
        for (round, hall, (dataset, key), adds) in places {
            let mode = if adds.is_some() { LockMode::Exclusive } else { LockMode::Shared };
            let begin = flow.locks.len() as u32;
            let place = |visit: &Visit| (visit.round, visit.dataset);
            if flow.visits.last().is_none_or(|last| place(last) != (round, dataset)) {
                let place = (round, hall, dataset);
                flow.visits.push(Visit::new(place, wanted.takes_datasets, begin..begin));
            }
            flow.locks.push(LockRequest::new((u64::from(dataset) << 32 | key) << 2, mode));
            flow.visits.last_mut().expect("pushed").locks.end += 1;
        }
        flow.begin();
        let runs = |doer: usize| {
            let op = |op: &Op| op.round == 0 && flow.body.hall(op.key) == flow.halls[doer];
            !flow.body.whole && flow.body.ops.iter().any(op)
        };
        let (mut starts, mut group) = (Vec::new(), Vec::new());
        let shares = flow.list_starts(0, runs, &mut starts);
        if shares == 0 {
            return self.begin_later(age, wanted, ports);
        }
        self.again.push((age, wanted));
        send_starts(Parcel::new(flow).share(shares), 0, &mut starts, &mut group, ports);
    }

    /// A call whose first round is empty: its rounds come one earlier.
    fn begin_later(
        &mut self,
        age: u64,
        mut wanted: Wanted,
        ports: &mut impl Ports<Message<Toy>, Section>,
    ) {
        wanted.ops.iter_mut().for_each(|op| op.round -= 1);
        self.send(age, wanted, ports);
    }

    fn take(&mut self, message: Message<Toy>, ports: &mut impl Ports<Message<Toy>, Section>) {
        match message {
            Message::Ended(flow) => {
                let (age, outcome) = (flow.attempt.age, flow.outcome);
                self.back += u64::from(flow.finish().is_some());
                let known = self.again.iter().position(|(known, _)| *known == age);
                let (_, wanted) = self.again.swap_remove(known.expect("it was sent"));
                if outcome == Outcome::GaveWay {
                    self.gave_way += 1;
                    return self.send(age, wanted, ports);
                }
                self.ended += 1;
                self.undone += u64::from(outcome == Outcome::Undone);
                self.begin(ports);
            }
            Message::Back(_) => self.back += 1,
            _ => unreachable!("homes are told ends"),
        }
    }
}

enum Member {
    Hall(Box<Hall<Data>>, Option<Fault>),
    Home(Box<Home>),
}

/// A message as a hall gets it where something is broken.
fn tampered(fault: Option<Fault>, message: Message<Toy>) -> Option<Message<Toy>> {
    match (fault, message) {
        (Some(Fault::LocksLeftBehind), Message::Move(layout, dataset, _)) => {
            Some(Message::Move(layout, dataset, Box::default()))
        }
        (Some(Fault::OneShort), Message::Run(share, round)) if round > 0 => {
            drop(share);
            None
        }
        (Some(Fault::TurnLost), Message::Turn(_)) => None,
        (_, message) => Some(message),
    }
}

impl Node for Member {
    type Message = Message<Toy>;
    type Section = Section;

    fn take(&mut self, message: Message<Toy>, ports: &mut impl Ports<Message<Toy>, Section>) {
        match self {
            Self::Hall(hall, fault) => {
                if let Some(message) = tampered(*fault, message) {
                    hall.take(message, ports);
                }
            }
            Self::Home(home) => home.take(message, ports),
        }
    }

    fn work(&mut self, ports: &mut impl Ports<Message<Toy>, Section>) -> bool {
        match self {
            Self::Hall(hall, _) => hall.work(ports),
            Self::Home(_) => false,
        }
    }

    fn wake(&mut self, ports: &mut impl Ports<Message<Toy>, Section>) {
        match self {
            Self::Hall(hall, _) => hall.wake(ports),
            Self::Home(home) => (0..CLIENTS).for_each(|_| home.begin(ports)),
        }
    }
}

/// Delays that reorder what different nodes send, and work of any length.
struct Any {
    random: SmallRng,
    /// nanoseconds that a report of who waits is on its way at least
    report_takes: u64,
    /// reports sent
    reports: Rc<Cell<u64>>,
}

impl Costs<Member> for Any {
    fn delay(&mut self, _: Address, _: Address, message: &Message<Toy>) -> u64 {
        let at_least = match message {
            Message::Waits(..) => {
                self.reports.set(self.reports.get() + 1);
                self.report_takes
            }
            _ => 0,
        };
        at_least
            + match self.random.random_range(0..10) {
                0 => self.random.random_range(0..2_000),
                _ => self.random.random_range(0..100),
            }
    }

    fn spend(&mut self, _: &Section) -> u64 {
        self.random.random_range(0..60)
    }
}

/// What a run was like.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Ran {
    failed: u64,
    gave_way: u64,
    waits: u64,
    reports: u64,
    over: u64,
}

/// Runs a seed to its end; or what is wrong.
fn run(seed: u64, mode: Mode, fault: Option<Fault>) -> Result<Ran, String> {
    run_reporting(seed, mode, fault, 0)
}

/// As [`run`], where reports of who waits take so many nanoseconds at least.
fn run_reporting(
    seed: u64,
    mode: Mode,
    fault: Option<Fault>,
    report_takes: u64,
) -> Result<Ran, String> {
    let map = (0..DATASETS).map(|dataset| dataset % HALLS).collect();
    let world = Rc::new(RefCell::new(World { map, ..World::default() }));
    let looks = mode.has_circles() && fault != Some(Fault::NobodyLooks);
    let looks = looks.then_some(Looks { detector: 1, every: Looks::BY_ROUND });
    let hall = |hall| {
        let data = Data { hall, world: Rc::clone(&world), fault };
        Member::Hall(Box::new(Hall::new(hall, data, looks)), fault)
    };
    let home = Home {
        random: SmallRng::seed_from_u64(seed),
        world: Rc::clone(&world),
        mode,
        fault,
        left: CALLS,
        ended: 0,
        undone: 0,
        gave_way: 0,
        back: 0,
        last_age: 0,
        sent: 0,
        again: Vec::new(),
    };
    let nodes = (0..HALLS).map(hall).chain([Member::Home(Box::new(home))]).collect();
    let reports = Rc::new(Cell::new(0));
    let random = SmallRng::seed_from_u64(!seed);
    let costs = Any { random, report_takes, reports: Rc::clone(&reports) };
    let mut time = VirtualTime::new(nodes, costs);
    time.wake_all();
    time.run_until(10_000_000_000);
    let Member::Home(home) = time.node(HALLS) else { unreachable!("it is the last") };
    if (home.ended, home.back) != (CALLS, CALLS + home.gave_way) {
        return Err(format!("{} ended, {} came back", home.ended, home.back));
    }
    for node in time.nodes() {
        if let Member::Hall(hall, _) = node
            && !hall.is_idle()
        {
            return Err("somebody is still in a hall".to_owned());
        }
    }
    let world = world.borrow();
    let (waits, over) = (world.waits, time.now());
    let (failed, gave_way, reports) = (home.undone, home.gave_way, reports.get());
    check(&world).map(|()| Ran { failed, gave_way, waits, reports, over })
}

/// Whether all is as if what has committed had run in the order of positions.
fn check(world: &World) -> Result<(), String> {
    let mut log: Vec<_> = world.log.iter().collect();
    log.sort_by_key(|(position, ..)| *position);
    let mut values = std::collections::BTreeMap::<Key, i64>::new();
    for (position, ops, seen) in log {
        let mut read = Vec::<(u32, i64)>::new();
        for op in ops {
            let before = read.iter().filter(|(round, _)| *round < op.round);
            let sum: i64 = before.map(|(_, value)| value).sum();
            let value = values.entry(op.key).or_default();
            read.push((op.round, *value));
            *value += op.adds.map_or(0, |adds| adds + sum);
        }
        if !read.iter().map(|(_, value)| value).eq(seen) {
            return Err(format!("at {position:?} {ops:?} read {seen:?}, not {read:?}"));
        }
    }
    let nonzero = |values: &std::collections::BTreeMap<Key, i64>| -> Vec<_> {
        values.iter().filter(|(_, value)| **value != 0).map(|(key, value)| (*key, *value)).collect()
    };
    if nonzero(&values) != nonzero(&world.values) {
        return Err(format!("there is {:?}, not {values:?}", world.values));
    }
    Ok(())
}

/// How many seeds are run: HOTROW_SEEDS, or some.
fn seeds() -> u64 {
    std::env::var("HOTROW_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1_000)
}

#[test]
fn any_order_of_events_is_as_if_calls_ran_one_by_one() {
    let seeds = seeds();
    for mode in MODES {
        let mut sum = Ran::default();
        for seed in 0..seeds / MODES.len() as u64 {
            match run(seed, mode, None) {
                Ok(ran) => {
                    sum.failed += ran.failed;
                    sum.waits += ran.waits;
                    sum.gave_way += ran.gave_way;
                    sum.over = sum.over.max(ran.over);
                }
                Err(wrong) => panic!("{mode:?}, seed {seed}: {wrong}"),
            }
        }
        println!("{mode:?}: {sum:?}");
        let some = seeds / 6;
        assert!(sum.failed > some && sum.waits > some, "{mode:?}: {sum:?}");
        assert_eq!(sum.gave_way > 0, mode.has_circles(), "{mode:?}: {sum:?}");
    }
}

#[test]
fn reports_never_pile_up_before_a_slow_detector() {
    const REPORT_TAKES: u64 = 20 * Looks::BY_ROUND;
    let mut gave_way = 0;
    for seed in 0..100 {
        let ran = run_reporting(seed, BY_PHASE, None, REPORT_TAKES).expect("all get through");
        // The first comes after a hall's own time, and of the last the answer is not waited for.
        let of_each = ran.over / REPORT_TAKES + 2;
        assert!(ran.reports <= of_each * u64::from(HALLS), "{ran:?}");
        gave_way += ran.gave_way;
    }
    assert!(gave_way > 0, "nobody waited in a circle");
}

#[test]
fn a_seed_repeats() {
    for mode in MODES {
        assert_eq!(run(7, mode, None), run(7, mode, None));
        assert_ne!(run(7, mode, None), run(8, mode, None));
    }
}

#[test]
fn each_fault_is_found() {
    let faults = [
        (Fault::ReleasedBeforeUndo, FORWARDED),
        (Fault::LockForgotten, FORWARDED),
        (Fault::LostAbort, FORWARDED),
        (Fault::MetForgotten, FORWARDED),
        (Fault::LockForgotten, BY_PHASE),
        (Fault::MetForgotten, LATCHED),
        (Fault::OneShort, FORWARDED),
        (Fault::OneShort, BY_PHASE),
        (Fault::TurnLost, FORWARDED),
        (Fault::LocksLeftBehind, MODES[5]),
        (Fault::NobodyLooks, BY_PHASE),
    ];
    for (fault, mode) in faults {
        let is_found = |seed| {
            let run = std::panic::catch_unwind(|| run(seed, mode, Some(fault)));
            run.map_or_else(|_| Some("it panics".to_owned()), Result::err)
        };
        let found = (0..200).find_map(is_found);
        assert!(found.is_some(), "{fault:?} is not found");
    }
}
