//! Thousands of orders of events, each of which must be as if calls had run one by one.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use hotrow_flow::node::Address;
use hotrow_flow::virtual_time::Costs;

use super::store::{self, Entry, Op, Several, Single, Table};
use super::world::{Fault, Home, Member, Place, Role, Told, Wanted, World};
use crate::protocol::locking::{self, Locks};
use crate::protocol::owner::Settings;
use crate::protocol::{Section, Speculation, Vote, partition};

const KEYS: u32 = 5;

/// Delays that reorder what different nodes send, and work of any length.
struct Any(SmallRng);

impl Costs<Member> for Any {
    fn delay(&mut self, _: Address, _: Address, _: &Told) -> u64 {
        match self.0.random_range(0..10) {
            0 => self.0.random_range(0..2_000),
            _ => self.0.random_range(0..100),
        }
    }

    fn spend(&mut self, _: &Section) -> u64 {
        self.0.random_range(0..60)
    }
}

fn ops(random: &mut SmallRng, round: u32) -> Vec<Op> {
    let mut any = || {
        let key = random.random_range(0..KEYS);
        match random.random_range(0..9) {
            0..3 => Op::Add(key, random.random_range(1..9)),
            3 if round > 0 => Op::AddOther(key),
            3 | 4 => Op::Insert(key, random.random_range(0..50)),
            5 | 6 => Op::Remove(key),
            7 => Op::FailIfOdd(key),
            _ if random.random_range(0..4) == 0 => Op::Fail,
            _ => Op::Add(key, 1),
        }
    };
    (0..3).map(|_| any()).collect()
}

/// A call of one, two or more partitions, of one to three rounds, or run as a whole.
fn wanted(random: &mut SmallRng, place: Place) -> Wanted {
    let (home, partitions) = (place.home(), place.partitions);
    if partitions == 1 || random.random_range(0..100) < 50 {
        let partition = random.random_range(0..partitions);
        let ops = ops(random, 0);
        return Wanted::Single(Single {
            home,
            partition,
            ops,
            made: Vec::new(),
            vote: Vote::Commit,
        });
    }
    let is_whole = random.random_range(0..8) == 0;
    let has_rounds = !is_whole && random.random_range(0..3) == 0;
    let rounds = if has_rounds { random.random_range(2..4) } else { 1 };
    let mut chosen: Vec<_> = (0..partitions).collect();
    while chosen.len() > 2 && random.random_range(0..3) > 0 {
        chosen.remove(random.random_range(0..chosen.len()));
    }
    let part = |partition| {
        let own = if rounds > 1 { random.random_range(1..=rounds) } else { 1 };
        (partition, (0..own).map(|round| ops(random, round)).collect())
    };
    Wanted::Multi(Several::new(home, is_whole, chosen.into_iter().map(part).collect()))
}

/// Calls of a run.
const CALLS: u64 = 60;

/// What has happened in a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Ran {
    /// calls of several partitions that failed
    failed: u64,
    /// see [`Partition`](super::world::Partition)
    cascades: (u64, u64),
    /// calls that a crash would not have taken
    durable: u64,
    /// when it was over
    over: u64,
}

/// Runs one seed to its end; what has happened, or what is wrong.
fn run(seed: u64, scheme: Settings, place: Place, fault: Option<Fault>) -> Result<Ran, String> {
    let mut left = CALLS;
    let next = move |random: &mut SmallRng| {
        left = u64::checked_sub(left, 1)?;
        Some(wanted(random, place))
    };
    let home = Home::new(SmallRng::seed_from_u64(seed), 8, Box::new(next));
    let costs = Any(SmallRng::seed_from_u64(seed + 1_000_000));
    let mut world = World::new(scheme, place, KEYS, home, fault, costs);
    for _ in 0..100_000 {
        if world.home().ended == CALLS {
            break;
        }
        world.time.run_until(world.time.now() + 1_000);
    }
    let over = world.time.now();
    if world.home().ended < CALLS {
        return Err(format!("{} calls of {CALLS} have ended", world.home().ended));
    }
    world.time.run_until(over + 20_000); // partitions hear of the last ends
    let mut ran = Ran { failed: world.home().undone, over, ..Ran::default() };
    for (number, node) in world.time.nodes().enumerate() {
        let is_idle = match &node.role {
            Role::Partition(own) => {
                let store = &own.owner.holdings().store;
                ran.cascades.0 += own.cascades.0;
                ran.cascades.1 += own.cascades.1;
                own.owner.is_idle() && store.open == 0
            }
            Role::Coordinator(coordinator) => coordinator.is_idle(),
            Role::Home(_) | Role::Writer(_) => true,
        };
        if !is_idle {
            return Err(format!("node {number} has not ended"));
        }
    }
    let tables = world.tables.borrow();
    if let Some(ghosts) = tables.iter().map(Table::ghosts).find(|&ghosts| ghosts > 0) {
        return Err(format!("{ghosts} ghosts are left"));
    }
    let size = (place.partitions, KEYS);
    let entries = world.log.entries.borrow();
    let all: Vec<_> = entries.iter().collect();
    let then: Vec<_> = tables.iter().map(Table::rows).collect();
    let now = store::replay(&all, size)?;
    if then != now {
        return Err(format!("{then:?} was left, and a replay leaves {now:?}"));
    }
    // A crash when this epoch had become durable.
    let durable = world.log.durable.borrow();
    let (epoch, count) = durable[seed as usize % durable.len()];
    let (before, after) = entries.split_at(count);
    let is_durable = |entry: &&Entry| entry.position.epoch <= epoch;
    if let Some(late) = after.iter().find(|entry| !entry.is_read && is_durable(entry)) {
        return Err(format!("{} came when its epoch was durable", late.position));
    }
    let left: Vec<_> = before.iter().filter(is_durable).collect();
    store::replay(&left, size).map_err(|wrong| format!("behind a crash: {wrong}"))?;
    ran.durable = left.len() as u64;
    Ok(ran)
}

const fn queues(speculation: Speculation) -> Settings {
    Settings::Queues(partition::Settings { speculation, depth: 6 })
}

const fn locks(locks: Locks) -> Settings {
    Settings::Locks(locking::Settings { locks, time_out: 5_000 })
}

const SCHEMES: [Settings; 5] = [
    queues(Speculation::Blocking),
    queues(Speculation::Local),
    queues(Speculation::Multi),
    locks(Locks::Needed),
    locks(Locks::Always),
];

fn place(partitions: u16, coordinators: u16) -> Place {
    Place { partitions, coordinators }
}

/// How many seeds each scheme and place is tried with: 400, or what `HOTROW_SEEDS` says.
fn seeds() -> u64 {
    let told = std::env::var("HOTROW_SEEDS").ok();
    told.map_or(400, |told| told.parse().expect("HOTROW_SEEDS is a number"))
}

#[test]
fn every_order_of_events_is_as_if_calls_ran_one_by_one() {
    for scheme in SCHEMES {
        let mut all = Ran::default();
        for seed in 0..seeds() {
            for place in [place(1, 1), place(2, 1), place(4, 1), place(2, 2), place(3, 3)] {
                match run(seed, scheme, place, None) {
                    Ok(ran) => {
                        all.failed += ran.failed;
                        all.cascades.0 += ran.cascades.0;
                        all.cascades.1 += ran.cascades.1;
                        all.durable += ran.durable;
                    }
                    Err(wrong) => panic!("seed {seed}, {scheme:?}, {place:?}: {wrong}"),
                }
            }
        }
        println!("{scheme:?}, {} seeds: {all:?}", seeds());
        let speculates = matches!(scheme, Settings::Queues(queues)
            if queues.speculation != Speculation::Blocking);
        assert!(all.failed > seeds() && all.durable > seeds(), "{scheme:?}: {all:?}");
        assert!(!speculates || all.cascades.1 > seeds(), "{scheme:?}: {all:?}");
    }
}

#[test]
fn a_seed_repeats() {
    let run = || run(7, queues(Speculation::Multi), place(3, 1), None);
    let one = run().expect("it is right");
    assert_eq!(Ok(one), run());
    assert!(one.failed > 0, "some calls of several partitions fail");
}

/// Whether one of some seeds shows that something is broken.
fn is_found(fault: Fault, scheme: Settings, place: Place) -> bool {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let shows = |seed| {
        let result = std::panic::catch_unwind(|| run(seed, scheme, place, Some(fault)));
        !matches!(result, Ok(Ok(_)))
    };
    let found = (0..200).any(shows);
    std::panic::set_hook(hook);
    found
}

#[test]
fn what_is_broken_on_purpose_is_found() {
    let multi = queues(Speculation::Multi);
    let faults = [
        (Fault::NoWaitForDependency, multi, place(2, 1)),
        (Fault::StaleAccepted, multi, place(2, 1)),
        (Fault::SettledEarly, multi, place(2, 1)),
        (Fault::LockReleasedEarly, locks(Locks::Needed), place(2, 2)),
        (Fault::WrongOrderOfCoordinators, queues(Speculation::Blocking), place(2, 2)),
        (Fault::LostAbort, multi, place(2, 1)),
        (Fault::OthersGoOnEarly, multi, place(2, 1)),
        (Fault::OthersGoOnEarly, locks(Locks::Needed), place(2, 2)),
        (Fault::EpochEndsEarly, multi, place(2, 1)),
    ];
    for (fault, scheme, place) in faults {
        assert!(is_found(fault, scheme, place), "{fault:?} under {scheme:?}");
    }
}
