//! 256-bit intermediate results of multiplication and division.

/// The 256-bit product as (high, low).
pub(super) fn mul_wide(a: u128, b: u128) -> (u128, u128) {
    let split = |value: u128| (value >> 64, value & u128::from(u64::MAX));
    let ((a1, a0), (b1, b0)) = (split(a), split(b));
    // Schoolbook multiplication in base 2^64; each sum below stays under 2^128.
    let low = a0 * b0;
    let (carry, low_0) = split(low);
    let (carry_1, middle) = split(a1 * b0 + carry);
    let (carry_2, low_1) = split(a0 * b1 + middle);
    (a1 * b1 + carry_1 + carry_2, low_1 << 64 | low_0)
}

/// Quotient and remainder of `high * 2^128 + low` by a divisor below 2^127; `None` if the quotient
/// exceeds 128 bits.
pub(super) fn div_wide(high: u128, low: u128, divisor: u128) -> Option<(u128, u128)> {
    debug_assert!(divisor > 0 && divisor < 1 << 127, "remainders are doubled in 128 bits");
    if high >= divisor {
        return None;
    }
    if high == 0 {
        return Some((low / divisor, low % divisor));
    }
    let (mut quotient, mut rest) = (0, high);
    for bit in (0..128).rev() {
        rest = rest << 1 | (low >> bit & 1);
        quotient <<= 1;
        if rest >= divisor {
            rest -= divisor;
            quotient |= 1;
        }
    }
    Some((quotient, rest))
}
