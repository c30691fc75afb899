//! TPC-C's non-uniform numbers and last names (clauses 2.1.6 and 4.3.2.3).

use rand::rngs::SmallRng;

use crate::random::{mix, uniform};

/// The constant C that the population draws last names with (C-Load of clause 2.1.6.1). Fixed, so
/// that a run knows it without knowing the population's seed.
pub const C_LOAD_LAST: u32 = 157;

/// Last names there are.
pub const LAST_NAMES: u32 = 1_000;

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// The run's constants C, one per field that is drawn non-uniformly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Constants {
    /// C-Run for C_LAST, A = 255
    pub last: u32,
    /// C for C_ID, A = 1023
    pub customer: u32,
    /// C for OL_I_ID, A = 8191
    pub item: u32,
}

impl Constants {
    /// Those of a run: the same for all its workers. |C-Run - C-Load| lies in 65 to 119 and is
    /// neither 96 nor 112 (clause 2.1.6.1).
    pub fn of_run(seed: u64) -> Self {
        let allowed = |c: &u32| {
            let delta = c.abs_diff(C_LOAD_LAST);
            (65..=119).contains(&delta) && delta != 96 && delta != 112
        };
        let candidates: Vec<u32> = (0..=255).filter(allowed).collect();
        let draw = |place: u64, bound: u64| mix(seed ^ mix(place)) % bound;
        Self {
            last: candidates[draw(1, candidates.len() as u64) as usize],
            customer: draw(2, 1_024) as u32,
            item: draw(3, 8_192) as u32,
        }
    }
}

/// NURand(A, x, y) with constant `c`: a number of `x..=y` (clause 2.1.6).
#[inline]
pub fn nurand(rng: &mut SmallRng, a: u32, c: u32, x: u32, y: u32) -> u32 {
    let mixed = (uniform(rng, 0..=a.into()) | uniform(rng, x.into()..=y.into())) as u32;
    (mixed + c) % (y - x + 1) + x
}

/// The number of a last name that at least one of `customers` customers of a district has: the
/// first thousand customers take the names in turn.
#[inline]
pub fn last_name_number(rng: &mut SmallRng, c: u32, customers: u32) -> u32 {
    nurand(rng, 255, c, 0, customers.min(LAST_NAMES) - 1)
}

/// Appends last name `number` (below 1,000): a syllable for each of its three digits.
#[inline]
pub fn last_name(number: u32, out: &mut Vec<u8>) {
    for digit in [number / 100, number / 10 % 10, number % 10] {
        out.extend_from_slice(SYLLABLES[digit as usize].as_bytes());
    }
}
