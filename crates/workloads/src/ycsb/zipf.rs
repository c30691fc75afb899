//! Zipf-distributed ranks in constant time.
//!
//! Source       Gray et al., "Quickly generating billion-record synthetic databases" (SIGMOD 1994),
//!              as YCSB uses it: the two most popular ranks exactly, the others by inverting the
//!              integral that approximates the distribution. We differ: the normalising sum is
//!              taken term by term only at its head and by Euler-Maclaurin's formula behind it, so
//!              that a generator over 10 million records is ready at once.

use rand::Rng;
use rand::rngs::SmallRng;

/// A distribution of ranks `0..n`: rank `r` has a weight proportional to `1 / (r + 1)^theta`.
#[derive(Clone, Debug)]
pub struct Zipf {
    n: f64,
    zeta_n: f64,
    /// what rank 0 and 1 weigh together
    zeta_2: f64,
    eta: f64,
    alpha: f64,
}

impl Zipf {
    /// The distribution over `n >= 3` ranks. `theta` lies in 0 to 1; above 0.9999 it is taken as
    /// 0.9999, because the method divides by `1 - theta`.
    pub fn new(n: u64, theta: f64) -> Self {
        assert!(n >= 3, "the method needs three ranks");
        assert!((0.0..=1.0).contains(&theta), "theta is 0 to 1");
        let theta = theta.min(0.9999);
        let zeta_n = zeta(n, theta);
        let zeta_2 = zeta(2, theta);
        let n = n as f64;
        let eta = (1.0 - (2.0 / n).powf(1.0 - theta)) / (1.0 - zeta_2 / zeta_n);
        Self { n, zeta_n, zeta_2, eta, alpha: 1.0 / (1.0 - theta) }
    }

    /// Draws a rank below `n`.
    #[inline]
    pub fn draw(&self, rng: &mut SmallRng) -> u64 {
        let u: f64 = rng.random();
        let weight = u * self.zeta_n;
        if weight < 1.0 {
            return 0;
        }
        if weight < self.zeta_2 {
            return 1;
        }
        let rank = self.n * (self.eta * u - self.eta + 1.0).powf(self.alpha);
        (rank as u64).min(self.n as u64 - 1)
    }
}

/// The sum of `1 / i^theta` for `i` in `1..=n`.
fn zeta(n: u64, theta: f64) -> f64 {
    const HEAD: u64 = 1_000;
    let term = |i: f64| i.powf(-theta);
    let head: f64 = (1..=n.min(HEAD)).map(|i| term(i as f64)).sum();
    if n <= HEAD {
        return head;
    }
    let (from, to) = (HEAD as f64, n as f64);
    let integral = (to.powf(1.0 - theta) - from.powf(1.0 - theta)) / (1.0 - theta);
    let ends = (term(to) - term(from)) / 2.0;
    // The next term is theta / 12 * (from^(-theta - 1) - ...), below 1e-4 of a rank's weight.
    let slope = theta / 12.0 * (from.powf(-theta - 1.0) - to.powf(-theta - 1.0));
    head + integral + ends + slope
}

#[cfg(test)]
mod tests {
    use super::{Zipf, zeta};
    use crate::random::stream;

    #[test]
    fn the_sum_behind_the_head_is_as_good_as_term_by_term() {
        for theta in [0.0, 0.5, 0.8, 0.99, 0.9999] {
            let exact: f64 = (1..=50_000).map(|i| f64::from(i).powf(-theta)).sum();
            assert!((zeta(50_000, theta) / exact - 1.0).abs() < 1e-9, "theta {theta}");
        }
    }

    #[test]
    fn shares_of_the_most_popular_tenth_are_those_lads_reports() {
        // lads.txt 5.1: "about 35 %, 60 % and 75 %".
        for (theta, low, high) in [(0.5, 0.30, 0.37), (0.8, 0.57, 0.66), (0.9, 0.70, 0.80)] {
            let zipf = Zipf::new(100_000, theta);
            let mut rng = stream(1, 2, 3);
            let popular = (0..100_000).filter(|_| zipf.draw(&mut rng) < 10_000).count();
            let share = popular as f64 / 100_000.0;
            assert!((low..high).contains(&share), "theta {theta}: {share}");
        }
    }

    #[test]
    fn ranks_stay_in_bounds_and_the_first_two_are_exact() {
        for (n, theta) in [(3, 0.9), (10, 1.0), (1_000, 0.0)] {
            let zipf = Zipf::new(n, theta);
            let mut rng = stream(4, 5, 6);
            let mut counts = vec![0_u32; n as usize];
            (0..100_000).for_each(|_| counts[zipf.draw(&mut rng) as usize] += 1);
            for (rank, &count) in counts.iter().enumerate().take(2) {
                let expected = (rank as f64 + 1.0).powf(-theta) / zeta(n, theta.min(0.9999));
                let share = f64::from(count) / 100_000.0;
                assert!((share - expected).abs() < 0.01, "n {n}, rank {rank}: {share}");
            }
        }
    }
}
