//! Thousands of orders of events, each of which must be as if calls had run one by one.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use hotrow_flow::node::Address;
use hotrow_flow::virtual_time::Costs;

use super::store::{self, Op, Several, Single};
use super::world::{Fault, Home, Member, Place, Role, Scheme, Told, Wanted, World};
use crate::protocol::locking::{self, Locks};
use crate::protocol::partition::Settings;
use crate::protocol::{Section, Speculation, Vote};

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

/// A call of one, two or three partitions, of one to three rounds.
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
    let rounds = if random.random_range(0..3) == 0 { random.random_range(2..4) } else { 1 };
    let mut chosen: Vec<_> = (0..partitions).collect();
    while chosen.len() > 2 && random.random_range(0..3) > 0 {
        chosen.remove(random.random_range(0..chosen.len()));
    }
    let part = |partition| {
        let own = if rounds > 1 { random.random_range(1..=rounds) } else { 1 };
        (partition, (0..own).map(|round| ops(random, round)).collect())
    };
    Wanted::Multi(Several::new(home, chosen.into_iter().map(part).collect()))
}

/// Calls of a run.
const CALLS: u64 = 60;

/// Runs one seed to its end: how many calls of several partitions failed, and when it was over; or
/// what is wrong.
fn run(
    seed: u64,
    scheme: Scheme,
    place: Place,
    fault: Option<Fault>,
) -> Result<(u64, u64), String> {
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
    let mut then = Vec::new();
    for (number, node) in world.time.nodes().enumerate() {
        let (is_idle, store) = match &node.role {
            Role::Partition(partition) => (partition.is_idle(), Some(partition.store())),
            Role::Locking(partition) => (partition.is_idle(), Some(partition.store())),
            Role::Coordinator(coordinator) => (coordinator.is_idle(), None),
            Role::Home(_) => (true, None),
        };
        if !is_idle {
            return Err(format!("node {number} has not ended"));
        }
        let Some(store) = store else { continue };
        if (store.open, store.ghosts()) != (0, 0) {
            return Err(format!("{} parts, {} ghosts are left", store.open, store.ghosts()));
        }
        then.push(store.rows());
    }
    let now = store::replay(&world.log, place.partitions, KEYS)?;
    if then != now {
        return Err(format!("{then:?} was left, and a replay leaves {now:?}"));
    }
    Ok((world.home().undone, over))
}

const fn queues(speculation: Speculation) -> Scheme {
    Scheme::Queues(Settings { speculation, depth: 6 })
}

const fn locks(locks: Locks) -> Scheme {
    Scheme::Locks(locking::Settings { locks, time_out: 5_000 })
}

const SCHEMES: [Scheme; 5] = [
    queues(Speculation::Blocking),
    queues(Speculation::Local),
    queues(Speculation::Multi),
    locks(Locks::Needed),
    locks(Locks::Always),
];

fn place(partitions: u16, coordinators: u16) -> Place {
    Place { partitions, coordinators }
}

#[test]
fn every_order_of_events_is_as_if_calls_ran_one_by_one() {
    for seed in 0..400 {
        for scheme in SCHEMES {
            for place in [place(1, 1), place(2, 1), place(4, 1), place(2, 2), place(3, 3)] {
                if let Err(wrong) = run(seed, scheme, place, None) {
                    panic!("seed {seed}, {scheme:?}, {place:?}: {wrong}");
                }
            }
        }
    }
}

#[test]
fn a_seed_repeats() {
    let run = || run(7, queues(Speculation::Multi), place(3, 1), None);
    let one = run().expect("it is right");
    assert_eq!(Ok(one), run());
    assert!(one.0 > 0, "some calls of several partitions fail");
}

/// Whether one of some seeds shows that something is broken.
fn is_found(fault: Fault, scheme: Scheme, place: Place) -> bool {
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
    ];
    for (fault, scheme, place) in faults {
        assert!(is_found(fault, scheme, place), "{fault:?} under {scheme:?}");
    }
}
