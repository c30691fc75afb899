//! Order, time spent, and repetition.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::*;

/// Node 0 sends numbers to all others; these note when they took which.
struct Counter {
    own: Address,
    others: Address,
    rounds: u32,
    taken: Vec<(u64, u32)>,
}

impl Node for Counter {
    type Message = u32;
    type Section = ();

    fn take(&mut self, message: u32, ports: &mut impl Ports<u32, ()>) {
        ports.spend(());
        self.taken.push((ports.now(), message));
    }

    fn wake(&mut self, ports: &mut impl Ports<u32, ()>) {
        if self.own > 0 || self.rounds == 0 {
            return;
        }
        for other in 1..=self.others {
            ports.send(other, self.rounds);
        }
        self.rounds -= 1;
        let next = ports.now() + 10;
        ports.wake_at(next);
    }
}

struct Random(SmallRng);

impl Costs<Counter> for Random {
    fn delay(&mut self, _: Address, _: Address, _: &u32) -> u64 {
        self.0.random_range(1..100)
    }

    fn spend(&mut self, (): &()) -> u64 {
        7
    }
}

fn run(seed: u64) -> Vec<Vec<(u64, u32)>> {
    let counter = |own| Counter { own, others: 3, rounds: 50, taken: Vec::new() };
    let nodes = (0..4).map(counter).collect();
    let mut time = VirtualTime::new(nodes, Random(SmallRng::seed_from_u64(seed)));
    time.wake_all();
    assert!(!time.run_until(u64::MAX), "everything has happened");
    assert_eq!(time.node(0).rounds, 0);
    time.nodes().map(|node| node.taken.clone()).collect()
}

#[test]
fn messages_of_a_link_keep_their_order_and_a_node_takes_one_at_a_time() {
    for seed in 0..20 {
        let taken = run(seed);
        assert!(taken[0].is_empty());
        for taken in &taken[1..] {
            let numbers: Vec<_> = taken.iter().map(|&(_, number)| number).collect();
            assert_eq!(numbers, (1..=50).rev().collect::<Vec<_>>(), "I1");
            assert!(taken.is_sorted_by(|(one, _), (next, _)| one + 7 <= *next), "I2");
        }
    }
}

#[test]
fn a_seed_repeats_and_another_one_is_another_run() {
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn time_ends_where_it_is_told_to() {
    let counter = |own| Counter { own, others: 1, rounds: 50, taken: Vec::new() };
    let mut time =
        VirtualTime::new((0..2).map(counter).collect(), Random(SmallRng::seed_from_u64(3)));
    time.wake_all();
    assert!(time.run_until(100));
    assert_eq!(time.now(), 100);
    let so_far = time.node(1).taken.len();
    assert!((1..50).contains(&so_far));
    assert!(!time.run_until(u64::MAX));
    assert_eq!(time.node(1).taken.len(), 50);
}
