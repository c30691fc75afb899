//! Exact sums of floats: no rounding until the end, so that the order of addends does not matter.
//!
//! Role         for sum and avg over rows that come in any order, in parts if need be: a call and
//!              its replay must have the same result to the last bit
//! Invariants   I1 the sum is `parts[i] * 2^(32 i - 1074)` over all i: every finite double is a
//!              multiple of 2^-1074, and 2^32 of the largest end below 2^1056
//!              I2 an addend changes a part by less than 2^32; after 2^30 of them carries are
//!              moved up, so no part leaves an i64
//! Source       Kulisch's long accumulator, in the form with delayed carries

const PART_BITS: usize = 32;
/// 2130 bits of range, and one part for the sign of what is carried.
const PARTS: usize = 68;
const CARRY_EVERY: u32 = 1 << 30;

/// A running sum of doubles.
#[derive(Clone, Debug)]
pub(crate) struct ExactSum {
    parts: [i64; PARTS],
    /// addends since carries were moved
    pending: u32,
    /// infinities and NaNs, added as floats are: their sum does not depend on order
    special: f64,
    is_used: bool,
}

impl Default for ExactSum {
    fn default() -> Self {
        Self { parts: [0; PARTS], pending: 0, special: 0.0, is_used: false }
    }
}

impl ExactSum {
    pub(crate) fn clear(&mut self) {
        if self.is_used {
            *self = Self::default();
        }
    }

    pub(crate) fn add(&mut self, value: f64) {
        self.is_used = true;
        if !value.is_finite() {
            self.special += value;
            return;
        }
        let bits = value.to_bits();
        let (exponent, fraction) = ((bits >> 52) as usize & 0x7ff, bits & ((1 << 52) - 1));
        // A subnormal has the exponent of the smallest normal, without the leading bit.
        let (digits, scale) = match exponent {
            0 => (fraction, 0),
            _ => (fraction | 1 << 52, exponent - 1),
        };
        let shifted = u128::from(digits) << (scale % PART_BITS);
        for (at, part) in self.parts[scale / PART_BITS..].iter_mut().take(3).enumerate() {
            let piece = i64::from((shifted >> (PART_BITS * at)) as u32);
            *part += if value.is_sign_negative() { -piece } else { piece };
        }
        self.pending += 1;
        if self.pending == CARRY_EVERY {
            carry(&mut self.parts);
            self.pending = 0;
        }
    }

    /// The sum; none: it is beyond all doubles, though every value was finite.
    pub(crate) fn in_range(&self) -> Option<f64> {
        let value = self.value();
        (value.is_finite() || self.special != 0.0).then_some(value)
    }

    /// The double nearest to the sum, ties to even; an infinity when there is none.
    pub(crate) fn value(&self) -> f64 {
        if self.special != 0.0 {
            return self.special;
        }
        let mut parts = self.parts;
        carry(&mut parts);
        let is_negative = parts[PARTS - 1] < 0;
        if is_negative {
            parts.iter_mut().for_each(|part| *part = -*part);
            carry(&mut parts);
        }
        let size = magnitude(&parts);
        if is_negative { -size } else { size }
    }
}

/// Brings all parts but the last into 0..2^32.
fn carry(parts: &mut [i64; PARTS]) {
    let mut carried = 0;
    for part in &mut parts[..PARTS - 1] {
        let sum = *part + carried;
        *part = sum & i64::from(u32::MAX);
        carried = sum >> PART_BITS;
    }
    parts[PARTS - 1] += carried;
}

/// The double nearest to a sum that is not negative and has its carries moved.
fn magnitude(parts: &[i64; PARTS]) -> f64 {
    let Some(top) = parts.iter().rposition(|&part| part != 0) else { return 0.0 };
    let bit = |at: usize| parts[at / PART_BITS] >> (at % PART_BITS) & 1;
    let highest = top * PART_BITS + parts[top].ilog2() as usize;
    let lowest = highest.saturating_sub(52);
    let mut digits = (lowest..=highest).rev().fold(0, |digits, at| digits << 1 | bit(at) as u64);
    if lowest > 0 && bit(lowest - 1) == 1 {
        let is_above_half = (0..lowest - 1).any(|at| bit(at) == 1);
        digits += u64::from(is_above_half || digits & 1 == 1);
    }
    // The leading bit adds one to the exponent, and so does a carry out of the fraction.
    match ((lowest as u64) << 52).checked_add(digits).filter(|_| lowest < 2046) {
        Some(bits) if bits < f64::INFINITY.to_bits() => f64::from_bits(bits),
        _ => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::ExactSum;

    fn sum(values: &[f64]) -> f64 {
        let mut sum = ExactSum::default();
        values.iter().for_each(|&value| sum.add(value));
        sum.value()
    }

    #[test]
    fn one_value_is_itself() {
        let smallest = f64::from_bits(1);
        let values = [0.1, -1.5, 1e300, f64::MAX, f64::MIN, smallest, -smallest, 3e-310, 1.0];
        for value in values.into_iter().chain([f64::MIN_POSITIVE, 2.0_f64.powi(-1022) - smallest]) {
            assert_eq!(sum(&[value]).to_bits(), value.to_bits(), "{value:e}");
        }
        assert_eq!(sum(&[]).to_bits(), 0);
        assert_eq!(sum(&[-0.0]).to_bits(), 0, "a sum of nothing but zeros is 0");
    }

    #[test]
    fn nothing_is_lost_on_the_way() {
        assert_eq!(sum(&[1e300, 1.0, -1e300]), 1.0);
        assert_eq!(sum(&[f64::MAX, f64::MAX, f64::MIN, f64::MIN, 2.5]), 2.5);
        assert_eq!(sum(&[0.1; 10]), 1.0);
        assert_eq!(sum(&[-1e-320, 1e308, -1e308]), -1e-320);
    }

    #[test]
    fn it_rounds_to_the_nearest_and_ties_to_even() {
        let one_up = 1.0 + f64::EPSILON;
        let half = f64::EPSILON / 2.0;
        assert_eq!(sum(&[1.0, half]), 1.0, "a tie goes to even");
        assert_eq!(sum(&[one_up, half]), one_up + f64::EPSILON, "and up to even");
        assert_eq!(sum(&[1.0, half, 1e-300]), one_up, "just above a tie goes up");
        assert_eq!(sum(&[2.0 - f64::EPSILON, half]), 2.0, "a carry into the exponent");
        assert_eq!(sum(&[-1.0, -half, -1e-300]), -one_up);
    }

    #[test]
    fn what_does_not_fit_is_infinite() {
        assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert_eq!(sum(&[f64::MIN, f64::MIN]), f64::NEG_INFINITY);
        assert_eq!(sum(&[f64::INFINITY, 1.0, f64::MIN]), f64::INFINITY);
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
        assert!(sum(&[f64::NAN, 1.0]).is_nan());
    }

    #[test]
    fn small_integers_add_up_in_any_order() {
        let values: Vec<f64> = (0..1000).map(|i| f64::from(i * 7919 % 1000) / 8.0).collect();
        let mut reversed = values.clone();
        reversed.reverse();
        assert_eq!(sum(&values), 499_500.0 / 8.0);
        assert_eq!(sum(&values), sum(&reversed));
    }
}
