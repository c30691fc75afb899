//! Seeds: every random test is a function of one number, printed when it fails.

use rand::SeedableRng;
use rand::rngs::StdRng;

/// Runs `test` with `count` seeds from `first` on; with the environment's `HOTROW_SEED` only, if
/// that is set. `HOTROW_RUNS` sets another count. A seed that fails is printed.
pub fn for_seeds(first: u64, count: u64, test: impl Fn(u64, StdRng)) {
    let given = number("HOTROW_SEED");
    let count = number("HOTROW_RUNS").unwrap_or(count);
    let seeds = given.map_or(first..first + count, |seed| seed..seed + 1);
    for seed in seeds {
        let told = Told(seed);
        test(seed, StdRng::seed_from_u64(seed));
        std::mem::forget(told);
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// Tells its seed when it is dropped, which only a failing test does.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        eprintln!("failed with HOTROW_SEED={}", self.0);
    }
}
