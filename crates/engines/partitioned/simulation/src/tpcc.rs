//! Whom a transaction of TPC-C meets: its partitions and the rows that it locks, and nothing else.
//!
//! Role         calls for figure 8 in virtual time. A transaction costs what one of the
//!              microbenchmark does, whatever it is: only waiting differs. Clients have a warehouse
//!              and take any district (5.5); items and the columns of stock that nobody writes lie
//!              everywhere; a New-Order that fails does so when it begins
//! Source       partitioned.txt 5.5; TPC-C 2.4 to 2.8 for what each transaction touches, and 5.2.3
//!              for how often each comes

use hotrow_transaction::granule::{LockMode, LockRequest};
use rand::Rng;
use rand::rngs::SmallRng;

use super::{Calls, PARTITIONS, Wanted, lock};

const DISTRICTS: u32 = 10;
const CUSTOMERS: u32 = 3_000;
const ITEMS: u32 = 100_000;
/// Where the rows of a warehouse are among its keys.
const CUSTOMERS_FROM: u32 = DISTRICTS + 1;
const STOCK_FROM: u32 = CUSTOMERS_FROM + DISTRICTS * CUSTOMERS;
const KEYS: u32 = STOCK_FROM + ITEMS;

/// TPC-C over so many warehouses, which are divided evenly over the partitions.
pub struct Tpcc {
    /// at least one
    pub warehouses: u32,
}

/// What one transaction locks.
struct Locks([Vec<LockRequest>; PARTITIONS as usize]);

impl Locks {
    fn add(&mut self, warehouse: u32, row: u32, mode: LockMode) {
        let partition = (warehouse % u32::from(PARTITIONS)) as usize;
        self.0[partition].push(lock(warehouse * KEYS + row, mode));
    }

    fn warehouse(&mut self, warehouse: u32, mode: LockMode) {
        self.add(warehouse, 0, mode);
    }

    fn district(&mut self, warehouse: u32, district: u32, mode: LockMode) {
        self.add(warehouse, 1 + district, mode);
    }

    fn customer(&mut self, warehouse: u32, random: &mut SmallRng, mode: LockMode) {
        let customer = random.random_range(0..DISTRICTS * CUSTOMERS);
        self.add(warehouse, CUSTOMERS_FROM + customer, mode);
    }

    fn stock(&mut self, warehouse: u32, random: &mut SmallRng, mode: LockMode) {
        self.add(warehouse, STOCK_FROM + random.random_range(0..ITEMS), mode);
    }
}

impl Tpcc {
    /// Another warehouse, in so many of a hundred cases; else the same.
    fn maybe_remote(&self, home: u32, percent: u32, random: &mut SmallRng) -> u32 {
        if self.warehouses < 2 || random.random_range(0..100) >= percent {
            return home;
        }
        (home + random.random_range(1..self.warehouses)) % self.warehouses
    }
}

impl Calls for Tpcc {
    fn next(&self, client: u32, random: &mut SmallRng) -> Wanted {
        use LockMode::{Exclusive, Shared};
        let home = client % self.warehouses;
        let district = random.random_range(0..DISTRICTS);
        let (mut locks, mut fails) = (Locks(Default::default()), false);
        match random.random_range(0..100) {
            0..45 => {
                locks.warehouse(home, Shared);
                locks.district(home, district, Exclusive);
                locks.customer(home, random, Shared);
                for _ in 0..random.random_range(5..=15) {
                    let supplier = self.maybe_remote(home, 1, random);
                    locks.stock(supplier, random, Exclusive);
                }
                fails = random.random_range(0..100) == 0;
            }
            45..88 => {
                locks.warehouse(home, Exclusive);
                locks.district(home, district, Exclusive);
                locks.customer(self.maybe_remote(home, 15, random), random, Exclusive);
            }
            88..92 => locks.customer(home, random, Shared),
            92..96 => {
                // Each district's oldest order, which a New-Order of the district is in the way of.
                (0..DISTRICTS).for_each(|district| locks.district(home, district, Exclusive));
            }
            _ => {
                // The lines of the last 20 orders.
                locks.district(home, district, Shared);
                (0..200).for_each(|_| locks.stock(home, random, Shared));
            }
        }
        // A row is locked once, in the stronger mode.
        for locks in &mut locks.0 {
            locks.sort_unstable_by_key(|lock| (lock.lock(), lock.mode() == Shared));
            locks.dedup_by_key(|lock| lock.lock());
        }
        Wanted { locks: locks.0, rounds: 1, fails }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    /// The paper's shares of transactions of both partitions (5.5).
    #[test]
    fn as_many_have_both_partitions_as_the_paper_says() {
        for (warehouses, percent) in [(2, 10.7), (4, 7.2), (20, 5.7)] {
            let (calls, mut random) = (Tpcc { warehouses }, SmallRng::seed_from_u64(1));
            let all = (0..200_000).map(|client| calls.next(client % 40, &mut random));
            let both = all.filter(|call| call.locks.iter().all(|locks| !locks.is_empty())).count();
            let found = both as f64 / 2_000.0;
            println!("{warehouses} warehouses: {found} %, theirs {percent} %");
            assert!((found - percent).abs() < 0.3, "{warehouses} warehouses: {found} %");
        }
    }
}
