//! The resource manager: which datasets move to which halls.
//!
//! Role         now and then one thread sums up how often something was asked for in each dataset,
//!              and has the halls that were asked most give some of theirs to those asked least.
//!              Datasets that are to lie together move together. Rows stay where they are, only who
//!              executes on them changes
//! Bounds       each round looks at all datasets, and moves each at most once
//! Source       dora.txt 4.1.1: the resource manager resizes datasets when executors' loads differ
//!              too much. We differ: ranges are of hashes, so a dataset is not cut elsewhere, but
//!              there are several for each executor, and they move as they are

use std::ops::Range;

use hotrow_flow::node::Address;

/// Loads that differ by less are left: a tenth of the smaller one.
const TOLERANCE: f64 = 1.1;
/// Requests in a round below which nobody is busy.
const BUSY_FROM: u64 = 1_000;

/// Datasets that lie together, where they are, and how often something in them was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// which
    pub datasets: Range<u16>,
    /// where they are
    pub hall: Address,
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

/// Which items are to be in which other halls.
pub fn moves(mut items: Vec<Item>, halls: &[Address]) -> Vec<Move> {
    let mut moves = Vec::<Move>::new();
    if items.iter().map(|item| item.load).sum::<u64>() < BUSY_FROM {
        return moves;
    }
    loop {
        let load = |hall: Address| {
            let there = items.iter().filter(|item| item.hall == hall);
            there.map(|item| item.load).sum::<u64>()
        };
        let busiest = halls.iter().copied().max_by_key(|&hall| load(hall));
        let idlest = halls.iter().copied().min_by_key(|&hall| load(hall));
        let (Some(busiest), Some(idlest)) = (busiest, idlest) else { return moves };
        let (most, least) = (load(busiest), load(idlest));
        if most as f64 <= least as f64 * TOLERANCE {
            return moves;
        }
        // The one that brings the two nearest to each other, if some brings them nearer at all.
        let left = |item: &Item| (most - least).abs_diff(2 * item.load);
        let movable = |item: &&mut Item| item.hall == busiest && item.load > 0;
        let best = items.iter_mut().filter(movable).min_by_key(|item| left(item));
        let Some(best) = best.filter(|best| left(best) < most - least) else { return moves };
        if moves.iter().any(|moved| moved.datasets == best.datasets) {
            return moves;
        }
        best.hall = idlest;
        moves.push(Move { datasets: best.datasets.clone(), from: busiest, to: idlest });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(loads: &[(Address, u64)]) -> Vec<Item> {
        let item = |(number, &(hall, load)): (u16, &(Address, u64))| Item {
            datasets: number..number + 1,
            hall,
            load,
        };
        (0..).zip(loads).map(item).collect()
    }

    /// Loads of halls 7 and 8 when all has moved.
    fn after(loads: &[(Address, u64)]) -> [u64; 2] {
        let mut all = items(loads);
        for Move { datasets, from, to } in moves(all.clone(), &[7, 8]) {
            let item = all.iter_mut().find(|item| item.datasets == datasets);
            let item = item.expect("it is one of them");
            assert_eq!(std::mem::replace(&mut item.hall, to), from);
        }
        [7, 8].map(|hall| all.iter().filter(|item| item.hall == hall).map(|item| item.load).sum())
    }

    #[test]
    fn what_is_asked_for_most_is_spread() {
        assert_eq!(after(&[(7, 900), (7, 500), (7, 300), (7, 100)]), [900, 900]);
        let [one, other] = after(&[(7, 5_000), (7, 4_000), (7, 3_000), (8, 10), (8, 10)]);
        assert!(one.abs_diff(other) < 2_100, "{one} and {other}");
    }

    #[test]
    fn what_is_one_or_idle_or_even_stays() {
        assert_eq!(moves(items(&[(7, 5_000), (7, 0), (8, 0)]), &[7, 8]), []);
        assert_eq!(moves(items(&[(7, 500), (7, 400)]), &[7, 8]), [], "nobody is busy");
        assert_eq!(moves(items(&[(7, 5_000), (7, 400), (8, 5_100)]), &[7, 8]), []);
        assert_eq!(moves(Vec::new(), &[7, 8]), []);
    }
}
