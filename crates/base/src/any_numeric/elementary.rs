//! Roots, exponentials, logarithms and powers.
//!
//! Source       how many digits a result shows: PostgreSQL 15, `numeric.c`; how it is computed: R.
//!              Brent and P. Zimmermann, Modern Computer Arithmetic, section 4.4: series behind a
//!              reduction of the argument
//!
//! Everything is computed in fixed point, with digits to spare, and rounded once.

use num_bigint::BigInt;

use super::arithmetic::{divide_rounding, first_group};
use super::{AnyNumeric, NumericError, Result, SHOWN_MAX, SIGNIFICANT_MIN, power_of_ten};

/// Digits that computing may spoil, and more.
const SPARE: u32 = 12;
/// Where exponentials end: e to the power of more has too many digits.
const EXPONENT_MAX: f64 = 6000.0;
/// log10(e)
const LOG10_E: f64 = std::f64::consts::LOG10_E;

impl AnyNumeric {
    /// The square root.
    ///
    /// # Errors
    ///
    /// The number is negative.
    pub fn square_root(&self) -> Result<Self> {
        if self.sign().is_lt() {
            return Err(NumericError::RootOfNegative);
        }
        if !self.is_finite() {
            return Ok(self.clone());
        }
        let (_, group) = first_group(self);
        let shown = (SIGNIFICANT_MIN - (group * 2 + 1)).max(self.scale().into());
        self.square_root_to(shown.clamp(0, SHOWN_MAX) as u32)
    }

    /// The square root, of so many digits behind the point.
    ///
    /// # Errors
    ///
    /// The number is negative.
    pub fn square_root_to(&self, shown: u32) -> Result<Self> {
        if self.sign().is_lt() {
            return Err(NumericError::RootOfNegative);
        }
        // Two digits of the number give one of the root; one more to round by.
        let root = fixed(self, shown * 2 + 2).sqrt();
        Self::finite(divide_rounding(&root, &10.into()), shown as u16)
    }

    /// e to the power of the number.
    ///
    /// # Errors
    ///
    /// The result has too many digits.
    pub fn exponential(&self) -> Result<Self> {
        match self {
            Self::Infinite { negative: true } => return Ok(Self::ZERO),
            Self::Infinite { .. } | Self::NaN => return Ok(self.clone()),
            _ => {}
        }
        let weight = self.to_f64().clamp(-EXPONENT_MAX, EXPONENT_MAX) * LOG10_E;
        let shown = SIGNIFICANT_MIN - weight as i64;
        let shown = shown.max(self.scale().into()).clamp(0, SHOWN_MAX) as u32;
        if self.to_f64().abs() >= EXPONENT_MAX {
            return beyond(self.sign().is_gt(), shown);
        }
        let digits = shown + weight.max(0.0) as u32 + SPARE;
        Self::finite(cut(&exponential(&fixed(self, digits), digits), digits, shown), shown as u16)
    }

    /// The natural logarithm.
    ///
    /// # Errors
    ///
    /// The number is zero or negative.
    pub fn natural_logarithm(&self) -> Result<Self> {
        self.check_logarithm()?;
        if !self.is_finite() {
            return Ok(self.clone());
        }
        let shown = SIGNIFICANT_MIN - weight_of_logarithm(self);
        let shown = shown.max(self.scale().into()).clamp(0, SHOWN_MAX) as u32;
        let digits = shown + SPARE;
        Self::finite(cut(&logarithm(self, digits), digits, shown), shown as u16)
    }

    /// The logarithm of a number in a base.
    ///
    /// # Errors
    ///
    /// One of them is zero or negative, or the base is 1.
    pub fn logarithm_in(&self, base: &Self) -> Result<Self> {
        base.check_logarithm()?;
        self.check_logarithm()?;
        match (base, self) {
            (Self::NaN, _) | (_, Self::NaN) => return Ok(Self::NaN),
            (Self::Infinite { .. }, Self::Infinite { .. }) => return Ok(Self::NaN),
            (Self::Infinite { .. }, _) => return Ok(Self::ZERO),
            (_, Self::Infinite { .. }) => return Ok(Self::INFINITY),
            _ => {}
        }
        let weight = weight_of_logarithm(self) - weight_of_logarithm(base);
        let shown = SIGNIFICANT_MIN - weight;
        let shown = shown.max(base.scale().into()).max(self.scale().into());
        let shown = shown.clamp(0, SHOWN_MAX) as u32;
        let digits = shown + SPARE + weight.unsigned_abs() as u32 * 2 + 8;
        let (above, below) = (logarithm(self, digits), logarithm(base, digits));
        if below == BigInt::ZERO {
            return Err(NumericError::DivisionByZero);
        }
        let quotient = divide_rounding(&(above * power_of_ten(shown)), &below);
        Self::finite(quotient, shown as u16)
    }

    fn check_logarithm(&self) -> Result<()> {
        match self.sign() {
            std::cmp::Ordering::Equal => Err(NumericError::LogarithmOfZero),
            std::cmp::Ordering::Less => Err(NumericError::LogarithmOfNegative),
            std::cmp::Ordering::Greater => Ok(()),
        }
    }

    /// The number to the power of another one.
    ///
    /// # Errors
    ///
    /// Zero to the power of less, a negative number to the power of a fraction, or a result of too
    /// many digits.
    pub fn power(&self, exponent: &Self) -> Result<Self> {
        let one = Self::from(1);
        if let Some(known) = self.power_of_special(exponent, &one)? {
            return Ok(known);
        }
        if self.is_zero() && exponent.sign().is_lt() {
            return Err(NumericError::ZeroToNegative);
        }
        let is_whole = exponent.is_whole();
        if self.sign().is_lt() && !is_whole {
            return Err(NumericError::NegativeToFraction);
        }
        match exponent.to_i64().and_then(|whole| i32::try_from(whole).ok()) {
            Some(whole) if is_whole => self.whole_power(whole),
            _ => self.real_power(exponent, is_whole),
        }
    }

    /// The result where one of both is no number.
    fn power_of_special(&self, exponent: &Self, one: &Self) -> Result<Option<Self>> {
        if self.is_finite() && exponent.is_finite() {
            return Ok(None);
        }
        Ok(Some(match (self, exponent) {
            (Self::NaN, exponent) if exponent.is_finite() && exponent.is_zero() => one.clone(),
            (base, Self::NaN) if base == one => one.clone(),
            (Self::NaN, _) | (_, Self::NaN) => Self::NaN,
            (base, Self::Infinite { negative }) => match base.clone().absolute().cmp(one) {
                std::cmp::Ordering::Equal => one.clone(),
                _ if base.is_finite() && base.is_zero() && *negative => {
                    return Err(NumericError::ZeroToNegative);
                }
                greater if greater.is_gt() != *negative => Self::INFINITY,
                _ => Self::ZERO,
            },
            (_, exponent) if exponent.is_zero() => one.clone(),
            (_, exponent) if exponent.sign().is_lt() => Self::ZERO,
            (Self::Infinite { negative: true }, exponent) if !exponent.is_whole() => {
                return Err(NumericError::NegativeToFraction);
            }
            (Self::Infinite { negative }, exponent) => {
                let is_odd = !exponent.remainder(&Self::from(2))?.is_zero();
                Self::Infinite { negative: *negative && is_odd }
            }
            _ => Self::NaN,
        }))
    }

    /// To a power of a whole number: squared and multiplied, with as many digits as the result
    /// needs.
    fn whole_power(&self, exponent: i32) -> Result<Self> {
        let shown = SIGNIFICANT_MIN.max(self.scale().into()).clamp(0, SHOWN_MAX) as u32;
        if exponent == 0 {
            return Self::from(1).rounded(shown.into());
        }
        if self.is_zero() {
            return Self::ZERO.rounded(shown.into());
        }
        let weight = f64::from(exponent) * weight_of(self);
        if weight > f64::from(super::WHOLE_DIGITS_MAX) {
            return Err(NumericError::Overflow);
        }
        if weight + 1.0 < -f64::from(shown) {
            return Self::ZERO.rounded(shown.into());
        }
        let digits = (weight.abs() as usize) + shown as usize + SPARE as usize + 10;
        let mut result = Float { units: 1.into(), exponent: 0 };
        let mut square = Float { units: self.units(), exponent: -i64::from(self.scale()) };
        let mut rest = exponent.unsigned_abs();
        loop {
            if rest % 2 == 1 {
                result = result.times(&square, digits);
            }
            rest /= 2;
            if rest == 0 {
                break;
            }
            square = square.times(&square, digits);
        }
        let units = match exponent < 0 {
            false => result.at_scale(shown),
            true => {
                // 1 / (units * 10^e), in units of the scale that is shown.
                let shift = i64::from(shown) - result.exponent;
                match u32::try_from(shift) {
                    Ok(shift) => divide_rounding(&power_of_ten(shift), &result.units),
                    Err(_) => BigInt::ZERO,
                }
            }
        };
        Self::finite(units, shown as u16)
    }

    /// By the logarithm.
    fn real_power(&self, exponent: &Self, is_whole: bool) -> Result<Self> {
        let scales = i64::from(self.scale()).max(exponent.scale().into());
        if self.is_zero() {
            return Self::ZERO.rounded(SIGNIFICANT_MIN.max(scales));
        }
        let negative =
            self.sign().is_lt() && is_whole && !exponent.remainder(&Self::from(2))?.is_zero();
        let base = self.clone().absolute();
        let estimate = power_logarithm(&base, exponent)?;
        if estimate.abs() > EXPONENT_MAX {
            return beyond(estimate > 0.0, SHOWN_MAX as u32);
        }
        let weight = estimate * LOG10_E;
        let shown = (SIGNIFICANT_MIN - weight as i64).max(scales).clamp(0, SHOWN_MAX) as u32;
        let digits = shown + weight.max(0.0) as u32 + SPARE;
        // An error of the logarithm is multiplied by the exponent.
        let more = weight_of(exponent).max(0.0) as u32 + 2;
        let logarithm = logarithm(&base, digits + more);
        let product = logarithm * exponent.units();
        let product = cut(&product, digits + more + u32::from(exponent.scale()), digits);
        let power = cut(&exponential(&product, digits), digits, shown);
        Self::finite(if negative { -power } else { power }, shown as u16)
    }
}

/// A result that has too many digits, or is too small to be seen.
fn beyond(is_large: bool, shown: u32) -> Result<AnyNumeric> {
    if is_large { Err(NumericError::Overflow) } else { AnyNumeric::ZERO.rounded(shown.into()) }
}

/// A number in units of `10^-digits`, cut.
fn fixed(number: &AnyNumeric, digits: u32) -> BigInt {
    cut(&number.units(), number.scale().into(), digits)
}

/// Units of `10^-from` as units of `10^-to`, rounded.
fn cut(units: &BigInt, from: u32, to: u32) -> BigInt {
    match to.checked_sub(from) {
        Some(more) => units * power_of_ten(more),
        None => divide_rounding(units, &power_of_ten(from - to)),
    }
}

/// The decimal logarithm of a number's magnitude.
fn weight_of(number: &AnyNumeric) -> f64 {
    let units = number.units();
    let digits = super::digits_of(&units) as u32;
    let first = match digits.checked_sub(17) {
        Some(more) => (units.magnitude() / power_of_ten(more).magnitude(), more),
        None => (units.magnitude().clone(), 0),
    };
    let leading = u64::try_from(first.0).map_or(1.0, |leading| leading as f64);
    leading.log10() + f64::from(first.1) - f64::from(number.scale())
}

/// The natural logarithm of a power, roughly. A base beside 1 is 1 as a float, and an exponent may
/// be beyond all floats: their product need not be.
fn power_logarithm(base: &AnyNumeric, exponent: &AnyNumeric) -> Result<f64> {
    const BESIDE_ONE: f64 = 1e-9;
    let logarithm = weight_of(base) / LOG10_E;
    if logarithm.abs() > BESIDE_ONE {
        return Ok(logarithm * exponent.to_f64());
    }
    let distance = base.subtract(&AnyNumeric::from(1))?;
    if distance.is_zero() || exponent.is_zero() {
        return Ok(0.0);
    }
    let size = 10_f64.powf(weight_of(&distance) + weight_of(exponent));
    Ok(if distance.sign() == exponent.sign() { size } else { -size })
}

/// How many digits a natural logarithm has before the point, or zeros behind it.
///
/// Source       PostgreSQL 15, `estimate_ln_dweight`
fn weight_of_logarithm(number: &AnyNumeric) -> i64 {
    let [low, high] = [9, 11].map(|tenths| {
        crate::decimal::Decimal::new(tenths, 1).map_or(AnyNumeric::ZERO, AnyNumeric::Short)
    });
    if (low..=high).contains(number) {
        let Ok(distance) = number.subtract(&AnyNumeric::from(1)) else { return 0 };
        if distance.is_zero() {
            return 0;
        }
        let (first, group) = first_group(&distance);
        return group * 4 + (first as f64).log10() as i64;
    }
    let logarithm = weight_of(number) / LOG10_E;
    logarithm.abs().log10() as i64
}

/// e to the power of a fixed-point number, in its scale.
fn exponential(number: &BigInt, digits: u32) -> BigInt {
    let one = power_of_ten(digits);
    // The argument is halved until it is small, and the result squared as often. Each squaring
    // doubles the error: digits to spare for that.
    let halvings = (number.bits().saturating_sub(one.bits()) + 8) as u32;
    let spare = halvings / 3 + 4;
    let more = digits + spare;
    let one = power_of_ten(more);
    let small = (number * power_of_ten(spare)) >> halvings;
    let (mut sum, mut term, mut n) = (&one + &small, small.clone(), 2_u32);
    while term != BigInt::ZERO && n < 100_000 {
        term = &term * &small / &one / n;
        sum += &term;
        n += 1;
        // A negative term is cut towards zero, too: division of signed numbers is.
    }
    for _ in 0..halvings {
        sum = &sum * &sum / &one;
    }
    cut(&sum, more, digits)
}

/// The natural logarithm of a number above zero, in units of `10^-digits`.
fn logarithm(number: &AnyNumeric, digits: u32) -> BigInt {
    // The number is a mantissa between 1 and 10, times a power of ten.
    let units = number.units();
    let count = super::digits_of(&units) as i64;
    let power = count - 1 - i64::from(number.scale());
    let more = digits + 8;
    let mantissa = cut(&units, (count - 1) as u32, more);
    let mut sum = mantissa_logarithm(&mantissa, more);
    if power != 0 {
        sum += mantissa_logarithm(&power_of_ten(more + 1), more) * power;
    }
    cut(&sum, more, digits)
}

/// The natural logarithm of a fixed-point number between 1 and 10, in its scale: roots bring it
/// near 1, where the series of the inverse hyperbolic tangent ends soon.
fn mantissa_logarithm(number: &BigInt, digits: u32) -> BigInt {
    const ROOTS: u32 = 6;
    let spare = ROOTS;
    let more = digits + spare;
    let one = power_of_ten(more);
    let mut near = number * power_of_ten(spare);
    for _ in 0..ROOTS {
        near = (near * &one).sqrt();
    }
    let ratio = (&near - &one) * &one / (&near + &one);
    let square = &ratio * &ratio / &one;
    let (mut sum, mut term, mut n) = (ratio.clone(), ratio, 3_u32);
    while term != BigInt::ZERO && n < 100_000 {
        term = &term * &square / &one;
        sum += &term / n;
        n += 2;
    }
    cut(&((sum * 2) << ROOTS), more, digits)
}

/// `units * 10^exponent`, of a bounded number of digits.
struct Float {
    units: BigInt,
    exponent: i64,
}

impl Float {
    fn times(&self, other: &Self, digits: usize) -> Self {
        let (units, exponent) = (&self.units * &other.units, self.exponent + other.exponent);
        let has = super::digits_of(&units);
        match has.checked_sub(digits) {
            None | Some(0) => Self { units, exponent },
            Some(fewer) => Self {
                units: divide_rounding(&units, &power_of_ten(fewer as u32)),
                exponent: exponent + fewer as i64,
            },
        }
    }

    /// In units of a scale.
    fn at_scale(&self, scale: u32) -> BigInt {
        let shift = self.exponent + i64::from(scale);
        let power = power_of_ten(shift.unsigned_abs() as u32);
        if shift < 0 { divide_rounding(&self.units, &power) } else { &self.units * power }
    }
}
