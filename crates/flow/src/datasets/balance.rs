//! The resource manager: which datasets move to which executors.
//!
//! Role         now and then one thread looks how often something was asked for in each dataset,
//!              and has the executors that were asked most give some of theirs to those asked
//!              least. Datasets that are to lie together move together. Rows stay where they are,
//!              only who executes on them changes
//! Bounds       each round looks at all datasets, and moves each at most once
//! Concurrency  a thread's [`Loads`] -> latched; written by the thread, read by the manager
//! Source       dora.txt 4.1.1: the resource manager resizes datasets when executors' loads differ
//!              too much. We differ: ranges are of hashes, so a dataset is not cut elsewhere, but
//!              there are several for each executor, and they move as they are

use std::ops::Range;

use hotrow_base::sync::Latch;

use super::Layout;
use crate::node::Address;

/// Loads that differ by less are left: a tenth of the smaller one.
const TOLERANCE: f64 = 1.1;
/// Requests in a round below which nobody is busy.
const BUSY_FROM: u64 = 1_000;

/// How often something was asked for, as threads have told it last.
pub struct Loads {
    by_thread: Box<[Latch<Load>]>,
}

/// What a thread was asked for.
#[derive(Default)]
struct Load {
    /// the number of its layout
    layout: u64,
    /// by dataset: how often something in it was asked for, since the layout was made
    asked: Vec<u64>,
}

impl Loads {
    /// Those of so many threads.
    pub fn new(threads: u16) -> Self {
        Self { by_thread: (0..threads).map(|_| Latch::default()).collect() }
    }

    /// Takes note of how often a thread was asked for something in each dataset of a layout.
    pub fn note(&self, thread: u16, layout: u64, asked: &[u64]) {
        let load = &mut *self.by_thread[usize::from(thread)].lock();
        load.layout = layout;
        load.asked.clear();
        load.asked.extend_from_slice(asked);
    }

    /// By dataset of a layout: how often all threads together were asked.
    fn sum(&self, layout: u64) -> Vec<u64> {
        let mut sum = Vec::new();
        for load in &self.by_thread {
            let load = load.lock();
            if load.layout == layout {
                sum.resize(sum.len().max(load.asked.len()), 0);
                sum.iter_mut().zip(&load.asked).for_each(|(sum, asked)| *sum += asked);
            }
        }
        sum
    }
}

/// The layout, and how often each dataset had been asked for when it was last looked at.
#[derive(Default)]
pub struct ResourceManager {
    /// the layout, and what had been asked for in it when it looked last
    before: (u64, Vec<u64>),
}

impl ResourceManager {
    /// What was asked for where since it looked last; none if that was in another layout.
    pub fn look(&mut self, layout: &Layout, loads: &Loads) -> Option<Vec<Item>> {
        let asked = loads.sum(layout.number);
        let (of, before) = std::mem::replace(&mut self.before, (layout.number, asked.clone()));
        if of != layout.number {
            return None; // counted from now on
        }
        let count = |all: &[u64], dataset: u16| all.get(usize::from(dataset)).copied().unwrap_or(0);
        let load = |dataset: u16| count(&asked, dataset) - count(&before, dataset);
        let item = |(datasets, executor): (Range<u16>, _)| {
            let load = datasets.clone().map(load).sum();
            Item { datasets, executor, load }
        };
        Some(layout.places().map(item).collect())
    }
}

/// Datasets that lie together, where they are, and how often something in them was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// which
    pub datasets: Range<u16>,
    /// where they are
    pub executor: Address,
    /// requests since the last round
    pub load: u64,
}

/// Datasets that are to move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    /// which
    pub datasets: Range<u16>,
    /// from where
    pub from: Address,
    /// to where
    pub to: Address,
}

/// How often an executor was asked for something.
pub fn load_of(executor: Address, items: &[Item]) -> u64 {
    items.iter().filter(|item| item.executor == executor).map(|item| item.load).sum()
}

/// Which items are to be at which other executors.
pub fn moves(mut items: Vec<Item>, executors: &[Address]) -> Vec<Move> {
    let mut moves = Vec::<Move>::new();
    if items.iter().map(|item| item.load).sum::<u64>() < BUSY_FROM {
        return moves;
    }
    loop {
        let load = |executor: Address| load_of(executor, &items);
        let busiest = executors.iter().copied().max_by_key(|&executor| load(executor));
        let idlest = executors.iter().copied().min_by_key(|&executor| load(executor));
        let (Some(busiest), Some(idlest)) = (busiest, idlest) else { return moves };
        let (most, least) = (load(busiest), load(idlest));
        if most as f64 <= least as f64 * TOLERANCE {
            return moves;
        }
        // The one that brings the two nearest to each other, if some brings them nearer at all.
        let left = |item: &Item| (most - least).abs_diff(2 * item.load);
        let movable = |item: &&mut Item| item.executor == busiest && item.load > 0;
        let best = items.iter_mut().filter(movable).min_by_key(|item| left(item));
        let Some(best) = best.filter(|best| left(best) < most - least) else { return moves };
        if moves.iter().any(|moved| moved.datasets == best.datasets) {
            return moves;
        }
        best.executor = idlest;
        moves.push(Move { datasets: best.datasets.clone(), from: busiest, to: idlest });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(loads: &[(Address, u64)]) -> Vec<Item> {
        let item = |(number, &(executor, load)): (u16, &(Address, u64))| Item {
            datasets: number..number + 1,
            executor,
            load,
        };
        (0..).zip(loads).map(item).collect()
    }

    /// Loads of executors 7 and 8 when all has moved.
    fn after(loads: &[(Address, u64)]) -> [u64; 2] {
        let mut all = items(loads);
        for Move { datasets, from, to } in moves(all.clone(), &[7, 8]) {
            let item = all.iter_mut().find(|item| item.datasets == datasets);
            let item = item.expect("it is one of them");
            assert_eq!(std::mem::replace(&mut item.executor, to), from);
        }
        [7, 8].map(|executor| load_of(executor, &all))
    }

    #[test]
    fn what_is_asked_for_most_is_spread() {
        assert_eq!(after(&[(7, 900), (7, 500), (7, 300), (7, 100)]), [900, 900]);
        let [one, other] = after(&[(7, 5_000), (7, 4_000), (7, 3_000), (8, 10), (8, 10)]);
        assert!(one.abs_diff(other) < 2_100, "{one} and {other}");
    }

    #[test]
    fn what_threads_tell_is_added_up_by_layout() {
        let loads = Loads::new(3);
        loads.note(0, 1, &[5, 1]);
        loads.note(1, 1, &[2, 0, 9]);
        loads.note(2, 2, &[1_000]);
        assert_eq!(loads.sum(1), [7, 1, 9]);
        loads.note(0, 2, &[0, 3]);
        assert_eq!((loads.sum(1), loads.sum(2)), (vec![2, 0, 9], vec![1_000, 3]));
    }

    #[test]
    fn what_is_one_or_idle_or_even_stays() {
        assert_eq!(moves(items(&[(7, 5_000), (7, 0), (8, 0)]), &[7, 8]), []);
        assert_eq!(moves(items(&[(7, 500), (7, 400)]), &[7, 8]), [], "nobody is busy");
        assert_eq!(moves(items(&[(7, 5_000), (7, 400), (8, 5_100)]), &[7, 8]), []);
        assert_eq!(moves(Vec::new(), &[7, 8]), []);
    }
}
