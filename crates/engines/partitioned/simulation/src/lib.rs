//! The schemes on machines that are not there: the paper's microbenchmark in virtual time.
//!
//! Role         the experiments beside figures 4 to 8 and 10: this engine's own protocol with the
//!              costs of table 2. Two partitions, a coordinator and 40 clients have a machine each.
//!              Calls name what they lock, and change nothing
//! Costs        a fragment takes 45 us and its end 10, together t_mpC; reports and ends on their
//!              way, and what the coordinator does with both reports, together are the stall of
//!              t_mp - t_mpC = 156 us; locks add 13.2 %
//! Source       partitioned.txt 5.1 to 5.5, 6.4, and table 2

#![forbid(unsafe_code)]

#[cfg(test)]
mod tests;
pub mod tpcc;

use std::sync::Arc;

use hotrow_engine::contract::{Experiment, ExperimentOptions, Measured, Unit};
use hotrow_flow::node::{Address, Node, Ports};
use hotrow_flow::virtual_time::{self, VirtualTime};
use hotrow_log::position::Position;
use hotrow_transaction::granule::{LOCK_ID_STEP, LockMode, LockRequest};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::tpcc::Tpcc;
use hotrow_partitioned::model::{self, Costs, Mix, ModelScheme};
use hotrow_partitioned::protocol::coordinator::Coordinator;
use hotrow_partitioned::protocol::locking::{self, LockingStore, Locks};
use hotrow_partitioned::protocol::observed::Observed;
use hotrow_partitioned::protocol::owner::{Owner, Settings};
use hotrow_partitioned::protocol::{
    Message, MultiCall, Section, SingleCall, Speculation, Steering, Store, Vote, partition,
};

const PARTITIONS: u16 = 2;
const COORDINATOR: Address = PARTITIONS;
const HOME: Address = COORDINATOR + 1;
const CLIENTS: u32 = 40;
/// Keys of a call of one partition; one of both has half of them at each.
const KEYS: u32 = 12;
/// The key of a partition that many write, where calls conflict.
const HOT: u32 = CLIENTS * KEYS;
/// Nanoseconds.
const US: u64 = 1_000;
/// Microseconds of the coordinator for each of a call's three messages: as much as saturates it
/// where half of the calls are of both partitions (5.1).
const COORDINATOR_US: u64 = 30;
/// Microseconds from a fragment's end to what the coordinator has decided: t_mp - t_mpC.
const STALL_US: u64 = 156;
/// Seconds before anything is counted.
const WARM_UP: f64 = 0.2;
/// Calls that are counted in a second, about: an experiment's size is in calls.
const CALLS_PER_SECOND: f64 = 20_000.0;

/// What calls there are; shares are of 0 to 1.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// of all calls: of both partitions
    pub multi: f64,
    /// of those: in two rounds
    pub two_rounds: f64,
    /// of all calls: fail at one partition, when they begin
    pub failing: f64,
    /// of all calls: write a key, at one partition, that others write, too: the first two clients
    /// nearly always (5.2)
    pub conflicting: f64,
}

impl Load {
    /// Calls that nobody shares a key with, a share of them of both partitions.
    pub fn of_share(multi: f64) -> Self {
        Self { multi, two_rounds: 0.0, failing: 0.0, conflicting: 0.0 }
    }
}

/// What a call does.
pub struct Wanted {
    /// what it locks, by partition; if there is something at one only, it is a call of that one
    pub locks: [Vec<LockRequest>; PARTITIONS as usize],
    /// how many
    pub rounds: u32,
    /// it fails, at the first of its partitions, when it begins
    pub fails: bool,
}

/// Calls of clients, one after the other.
pub trait Calls {
    /// A client's next one.
    fn next(&self, client: u32, random: &mut SmallRng) -> Wanted;
}

impl Calls for Load {
    fn next(&self, client: u32, random: &mut SmallRng) -> Wanted {
        let of_both = random.random_bool(self.multi);
        let fails = random.random_bool(self.failing);
        let pinned = self.conflicting > 0.0 && client < PARTITIONS.into();
        let any = random.random_range(0..PARTITIONS);
        let partition = if pinned { client as u16 } else { any };
        let writes_hot = pinned || random.random_bool(self.conflicting);
        let rounds = 1 + u32::from(of_both && random.random_bool(self.two_rounds));
        let locks = std::array::from_fn(|at| {
            let is_here = at == usize::from(partition);
            let count = match (of_both, is_here) {
                (true, _) => KEYS / 2,
                (false, true) => KEYS,
                (false, false) => 0,
            };
            let own = (0..count).map(|key| client * KEYS + key);
            let hot = (writes_hot && is_here).then_some(HOT);
            let keys = hot.into_iter().chain(own).take(count as usize);
            keys.map(|key| lock(key, LockMode::Exclusive)).collect()
        });
        Wanted { locks, rounds, fails }
    }
}

/// A lock of a key.
fn lock(key: u32, mode: LockMode) -> LockRequest {
    LockRequest::new((u64::from(key) + 1) * LOCK_ID_STEP, mode)
}

/// A call of one partition.
struct Single {
    client: u32,
    locks: Vec<LockRequest>,
    fails: bool,
}

impl SingleCall for Single {
    fn home(&self) -> Address {
        HOME
    }
}

/// A call of both.
#[derive(Clone)]
struct Multi(Arc<Both>);

struct Both {
    client: u32,
    wanted: Wanted,
}

impl MultiCall for Multi {
    fn home(&self) -> Address {
        HOME
    }

    fn participants(&self) -> usize {
        PARTITIONS.into()
    }

    fn participant(&self, at: usize) -> (u16, u32) {
        (at as u16, self.0.wanted.rounds - 1)
    }
}

type Told = Message<Single, Multi>;

/// A partition: all that matters is who waits for whom.
struct Keys {
    partition: u16,
    last: u64,
}

fn vote(fails: bool) -> Vote {
    if fails { Vote::Abort } else { Vote::Commit }
}

impl Store for Keys {
    type Single = Single;
    type Multi = Multi;
    type Part = ();

    fn begin(&mut self) {}

    fn run_single(&mut self, call: &mut Single, (): &mut ()) -> Vote {
        vote(call.fails)
    }

    fn run_fragment(&mut self, call: &Multi, round: u32, (): &mut ()) -> Vote {
        vote(call.0.wanted.fails && self.partition == 0 && round == 0)
    }

    fn commit_single(&mut self, _: &mut Single, (): &(), met: Position) -> Option<Position> {
        self.last = self.last.max(met.time) + 1;
        Some(Position { epoch: 1, time: self.last })
    }

    fn commit(&mut self, (): ()) {}

    fn undo(&mut self, (): ()) {}
}

impl LockingStore for Keys {
    fn locks_of_single(&mut self, call: &mut Single, locks: &mut Vec<LockRequest>) {
        locks.extend_from_slice(&call.locks);
    }

    fn locks_of(&mut self, call: &Multi, round: u32, locks: &mut Vec<LockRequest>) {
        if round == 0 {
            locks.extend_from_slice(&call.0.wanted.locks[usize::from(self.partition)]);
        }
    }
}

/// The coordinator has nothing of its own to run.
struct Clerk;

impl Steering for Clerk {
    type Multi = Multi;

    fn steer(&mut self, _: &Multi, _: u32) -> Vote {
        Vote::Commit
    }

    fn commit(&mut self, _: &Multi, met: Position) -> Option<Position> {
        Some(Position { epoch: 1, time: met.time + 1 })
    }
}

/// All clients, each with one call on its way.
struct Clients<C> {
    random: SmallRng,
    calls: C,
    ended: u64,
}

impl<C: Calls> Clients<C> {
    fn begin(&mut self, client: u32, ports: &mut impl Ports<Told, Section>) {
        let mut wanted = self.calls.next(client, &mut self.random);
        let mut places = (0..PARTITIONS).filter(|&at| !wanted.locks[usize::from(at)].is_empty());
        match (places.next(), places.next()) {
            (Some(only), None) => {
                let locks = std::mem::take(&mut wanted.locks[usize::from(only)]);
                let call = Single { client, locks, fails: wanted.fails };
                ports.send(only, Message::Single(call));
            }
            _ => ports.send(COORDINATOR, Message::Begin(Multi(Arc::new(Both { client, wanted })))),
        }
    }
}

/// The nodes.
enum Member<C> {
    Partition(Owner<Keys>),
    Coordinator(Box<Coordinator<Clerk>>),
    Clients(Clients<C>),
}

impl<C: Calls> Node for Member<C> {
    type Message = Told;
    type Section = Section;

    fn take(&mut self, message: Told, ports: &mut impl Ports<Told, Section>) {
        match (self, message) {
            (Self::Partition(own), message) => own.take(message, ports),
            (Self::Coordinator(own), message) => own.take(message, ports),
            (Self::Clients(own), message) => {
                own.ended += 1;
                match message {
                    Message::SingleEnded(call) => own.begin(call.client, ports),
                    Message::MultiEnded(call, _) => own.begin(call.0.client, ports),
                    _ => unreachable!("homes are told ends"),
                }
            }
        }
    }

    fn work(&mut self, ports: &mut impl Ports<Told, Section>) -> bool {
        match self {
            Self::Partition(own) => own.work(ports),
            Self::Coordinator(_) | Self::Clients(_) => false,
        }
    }

    fn wake(&mut self, ports: &mut impl Ports<Told, Section>) {
        match self {
            Self::Partition(own) => own.wake(ports),
            Self::Coordinator(_) => {} // it is the only one, and takes no turns
            Self::Clients(own) => (0..CLIENTS).for_each(|client| own.begin(client, ports)),
        }
    }
}

/// Table 2.
struct Table2 {
    /// microseconds of the coordinator for each of a call's three messages
    coordinator: u64,
}

impl<C: Calls> virtual_time::Costs<Member<C>> for Table2 {
    fn delay(&mut self, _: Address, _: Address, message: &Told) -> u64 {
        match message {
            // The coordinator's work on both reports is a part of the stall that table 2 has.
            Message::Report(_) | Message::End(..) => (STALL_US / 2 - self.coordinator) * US,
            _ => 20 * US,
        }
    }

    fn spend(&mut self, section: &Section) -> u64 {
        const LOCKING: f64 = 1.132;
        let locked = |us: f64| (us * LOCKING * US as f64) as u64;
        match section {
            Section::Single => 64 * US,
            Section::SpeculativeSingle => 73 * US,
            Section::Fragment => 45 * US,
            Section::End => 10 * US,
            Section::Coordinate => self.coordinator * US,
            Section::Undo => 0,
            Section::LockedSingle => locked(73.0),
            Section::LockedFragment => locked(45.0),
            Section::LockedEnd => locked(10.0),
        }
    }
}

/// Calls a second, and what nodes have seen of them, where the coordinator spends so many
/// microseconds on each message; `measured` seconds, behind some to warm up.
pub fn run(
    scheme: Settings,
    calls: impl Calls,
    (coordinator, seed): (u64, u64),
    (warm, measured): (f64, f64),
) -> (f64, Observed) {
    let partition = |number| {
        let keys = Keys { partition: number, last: 0 };
        Member::Partition(Owner::new(number, scheme, vec![COORDINATOR], keys))
    };
    let own = Coordinator::new(0, (0..PARTITIONS).collect(), Clerk);
    let clients = Clients { random: SmallRng::seed_from_u64(seed), calls, ended: 0 };
    let others = [Member::Coordinator(Box::new(own)), Member::Clients(clients)];
    let nodes = (0..PARTITIONS).map(partition).chain(others).collect();
    let mut time = VirtualTime::new(nodes, Table2 { coordinator });
    time.wake_all();
    let nanos = |seconds: f64| (seconds * 1e9) as u64;
    time.run_until(nanos(warm));
    let before = look(&time);
    time.run_until(nanos(warm + measured));
    let (ended, observed) = look(&time);
    ((ended - before.0) as f64 / measured, observed.since(&before.1))
}

/// Calls that have ended, and what nodes have seen of them.
fn look<C: Calls>(time: &VirtualTime<Member<C>, Table2>) -> (u64, Observed) {
    let (mut ended, mut sum) = (0, Observed::default());
    for node in time.nodes() {
        match node {
            Member::Partition(own) => sum.add(&own.holdings().observed),
            Member::Coordinator(own) => sum.add(own.observed()),
            Member::Clients(own) => ended = own.ended,
        }
    }
    (ended, sum)
}

/// A scheme that queues, as deep as there are clients.
pub fn queues(speculation: Speculation) -> Settings {
    Settings::Queues(partition::Settings { speculation, depth: 1_000 })
}

/// The scheme that locks. No call waits so long that it is taken to be in a circle: there are none.
pub fn locks(locks: Locks) -> Settings {
    Settings::Locks(locking::Settings { locks, time_out: 1_000_000 * US })
}

/// A series: its name, its scheme, and its calls at a share of calls of both partitions.
type Series = (&'static str, fn() -> Settings, fn(f64) -> Load);

fn speculation() -> Settings {
    queues(Speculation::Multi)
}

fn local() -> Settings {
    queues(Speculation::Local)
}

fn blocking() -> Settings {
    queues(Speculation::Blocking)
}

fn locking() -> Settings {
    locks(Locks::Needed)
}

fn locking_always() -> Settings {
    locks(Locks::Always)
}

/// Percent of calls of both partitions.
const SHARES: [f64; 9] = [0.0, 2.0, 4.0, 8.0, 16.0, 30.0, 50.0, 75.0, 100.0];

/// Calls a second of a scheme, in an experiment.
fn rate(options: &ExperimentOptions, scheme: Settings, calls: impl Calls) -> f64 {
    let seconds = options.transactions as f64 / CALLS_PER_SECOND;
    // Each home coordinates its own calls where nobody orders them: on 40 machines.
    let coordinator = if matches!(scheme, Settings::Locks(_)) { 0 } else { COORDINATOR_US };
    run(scheme, calls, (coordinator, options.seed), (WARM_UP, seconds)).0
}

fn measure(options: &ExperimentOptions, all: &[Series]) -> Vec<Measured> {
    let mut measured = Vec::new();
    for &(series, scheme, load) in all {
        for x in SHARES {
            measured.push(Measured { series, x, value: rate(options, scheme(), load(x / 100.0)) });
        }
    }
    measured
}

/// The same as figure 4 for the schemes that the model knows, and what it expects of each.
fn measure_beside_model(options: &ExperimentOptions) -> Vec<Measured> {
    type Row = (&'static str, &'static str, fn() -> Settings, ModelScheme);
    let rows: [Row; 4] = [
        (
            "speculation",
            "model of speculation",
            speculation,
            ModelScheme::MultiPartitionSpeculation,
        ),
        ("local speculation", "model of local", local, ModelScheme::LocalSpeculation),
        ("locking, always", "model of locking", locking_always, ModelScheme::Locking),
        ("blocking", "model of blocking", blocking, ModelScheme::Blocking),
    ];
    let mut measured = Vec::new();
    for (series, model, scheme, in_model) in rows {
        for x in SHARES {
            let value = rate(options, scheme(), Load::of_share(x / 100.0));
            measured.push(Measured { series, x, value });
            let coordinator_us = 3.0 * COORDINATOR_US as f64;
            let mix = Mix { coordinator_us, ..Mix::of_share(x / 100.0) };
            let value = model::expected(in_model, &Costs::PAPER, &mix);
            measured.push(Measured { series: model, x, value });
        }
    }
    measured
}

/// Warehouses of figure 8.
const WAREHOUSES: [u32; 6] = [2, 4, 8, 12, 16, 20];
/// Nanoseconds until a call of both partitions that waits for a lock is taken to be in a circle.
const TIME_OUT: u64 = 5_000 * US;

fn measure_tpcc(options: &ExperimentOptions) -> Vec<Measured> {
    type Row = (&'static str, fn() -> Settings);
    let locking =
        || Settings::Locks(locking::Settings { locks: Locks::Needed, time_out: TIME_OUT });
    let rows: [Row; 3] =
        [("speculation", speculation), ("blocking", blocking), ("locking", locking)];
    let mut measured = Vec::new();
    for (series, scheme) in rows {
        for warehouses in WAREHOUSES {
            let value = rate(options, scheme(), Tpcc { warehouses });
            measured.push(Measured { series, x: warehouses.into(), value });
        }
    }
    measured
}

const fn experiment(
    name: &'static str,
    summary: &'static str,
    run: fn(&ExperimentOptions) -> Vec<Measured>,
) -> Experiment {
    let x_axis = "percent of transactions of both partitions";
    Experiment { name, summary, x_axis, unit: Unit::Throughput, run }
}

/// As `hotrow bench experiment` lists them.
pub const EXPERIMENTS: &[Experiment] = &[
    experiment("schemes", "the schemes in virtual time, no conflicts (figure 4)", |options| {
        let of = Load::of_share;
        measure(
            options,
            &[
                ("speculation", speculation, of),
                ("local speculation", local, of),
                ("locking", locking, of),
                ("locking, always", locking_always, of),
                ("blocking", blocking, of),
            ],
        )
    }),
    experiment("conflicts", "the same, where some write one key (figure 5)", |options| {
        fn of<const PERCENT: u32>(multi: f64) -> Load {
            Load { conflicting: f64::from(PERCENT) / 100.0, ..Load::of_share(multi) }
        }
        measure(
            options,
            &[
                ("speculation", speculation, of::<100>),
                ("speculation, no conflicts", speculation, of::<0>),
                ("locking, no conflicts", locking, of::<0>),
                ("locking, 20 %", locking, of::<20>),
                ("locking, 60 %", locking, of::<60>),
                ("locking, 100 %", locking, of::<100>),
                ("blocking", blocking, of::<100>),
            ],
        )
    }),
    experiment("aborts", "the same, where some abort at one partition (figure 6)", |options| {
        fn of<const PERCENT: u32>(multi: f64) -> Load {
            Load { failing: f64::from(PERCENT) / 100.0, ..Load::of_share(multi) }
        }
        measure(
            options,
            &[
                ("speculation, no aborts", speculation, of::<0>),
                ("speculation, 3 %", speculation, of::<3>),
                ("speculation, 5 %", speculation, of::<5>),
                ("speculation, 10 %", speculation, of::<10>),
                ("locking, 10 %", locking, of::<10>),
                ("blocking, 10 %", blocking, of::<10>),
            ],
        )
    }),
    experiment("rounds", "the same, in two rounds (figure 7)", |options| {
        fn of(multi: f64) -> Load {
            Load { two_rounds: 1.0, ..Load::of_share(multi) }
        }
        measure(
            options,
            &[
                ("speculation", speculation, of),
                ("locking", locking, of),
                ("blocking", blocking, of),
            ],
        )
    }),
    Experiment {
        name: "warehouses",
        summary: "whom transactions of TPC-C meet, in virtual time (figure 8)",
        x_axis: "warehouses",
        unit: Unit::Throughput,
        run: measure_tpcc,
    },
    experiment("model", "the schemes beside the model (figure 10)", measure_beside_model),
];
