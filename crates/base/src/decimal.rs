//! Decimal arithmetic: 128-bit integers scaled by powers of ten.

/// `POWERS_OF_TEN[n]` is `10^n`; the last, `10^38`, is the first magnitude out of range.
pub const POWERS_OF_TEN: [i128; 39] = {
    let mut powers = [1; 39];
    let mut n = 1;
    while n < 39 {
        powers[n] = powers[n - 1] * 10;
        n += 1;
    }
    powers
};
