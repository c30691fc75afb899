//! What a lock costs: transactions that acquire 26 uncontended locks and release them, for an
//! instruction counter:
//!
//! ```text
//! cargo build --release -p hotrow-two-phase-locking --example lock_cost
//! valgrind --tool=callgrind --toggle-collect='lock_cost::transactions' \
//!     target/release/examples/lock_cost
//! ```

use hotrow_engine::lock_mode::Mode;
use hotrow_two_phase_locking::lock_table::{Acquired, LockTable, Owner, Standing};
use hotrow_two_phase_locking::policy::Deadlocks;

const LOCKS: usize = 26;
const TRANSACTIONS: usize = 1000;

fn main() {
    let table = LockTable::new(1, Deadlocks::default());
    let mut owner = table.owner(0, Standing::Planned);
    let mut seed = 1_u64;
    let footprints: Vec<Vec<u64>> = (0..TRANSACTIONS)
        .map(|_| {
            let mut locks: Vec<u64> = (0..LOCKS).map(|_| next(&mut seed)).collect();
            locks.sort_unstable();
            locks
        })
        .collect();
    let granted = transactions(&table, &mut owner, &footprints);
    println!("{granted} locks acquired and released in {TRANSACTIONS} transactions");
}

#[inline(never)]
fn transactions(table: &LockTable, owner: &mut Owner, footprints: &[Vec<u64>]) -> usize {
    let mut granted = 0;
    for locks in footprints {
        for &lock in locks {
            let acquired = table.acquire(owner, lock, Mode::X);
            granted += usize::from(acquired == Acquired::Granted);
        }
        for &lock in locks {
            table.release(owner, lock);
        }
    }
    granted
}

/// Splitmix64.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*seed ^ *seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
