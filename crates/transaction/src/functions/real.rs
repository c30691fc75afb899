//! Trigonometric and related functions of double precision.
//!
//! Source       PostgreSQL 15, 9.3: the functions of degrees give whole results where an angle is a
//!              multiple of 30 or 45 degrees

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

use hotrow_base::datum::Datum;
use hotrow_base::types::DataType;

use super::cast::to_float;
use super::type_of;
use crate::bytecode::CallCode;
use crate::fault::Fault;
use crate::program::{RealFunction as R, WholeFunction};

/// Calls a function of real numbers; no argument is NULL.
pub(super) fn call(code: &CallCode, function: R, arguments: &[Datum]) -> Result<Datum, Fault> {
    let of = |at: usize| match arguments.get(at) {
        Some(&argument) => to_float(argument, type_of(code, at)),
        None => Ok(0.0),
    };
    let (a, b) = (of(0)?, of(1)?);
    if a.is_nan() || b.is_nan() {
        return Ok(Datum::float(f64::NAN));
    }
    let out_of_range = || Fault::new(b"22003", "input is out of range");
    let is_periodic = matches!(
        function,
        R::Sin
            | R::Cos
            | R::Tan
            | R::Cot
            | R::SinOfDegrees
            | R::CosOfDegrees
            | R::TanOfDegrees
            | R::CotOfDegrees
    );
    let is_allowed = match function {
        _ if is_periodic => a.is_finite(),
        R::Asin | R::Acos | R::AsinInDegrees | R::AcosInDegrees | R::Atanh => a.abs() <= 1.0,
        R::Acosh => a >= 1.0,
        _ => true,
    };
    if !is_allowed {
        return Err(out_of_range());
    }
    let result = match function {
        R::Sin => a.sin(),
        R::Cos => a.cos(),
        R::Tan => a.tan(),
        R::Cot => 1.0 / a.tan(),
        R::Asin => a.asin(),
        R::Acos => a.acos(),
        R::Atan => a.atan(),
        R::AtanOfTwo => a.atan2(b),
        R::SinOfDegrees => sine(a),
        R::CosOfDegrees => cosine(a),
        R::TanOfDegrees => tangent(a),
        R::CotOfDegrees => cotangent(a),
        R::AsinInDegrees => whole_degrees(a.asin(), a),
        R::AcosInDegrees => 90.0 - whole_degrees(a.asin(), a),
        R::AtanInDegrees => a.atan() / FRAC_PI_4 * 45.0,
        R::AtanOfTwoInDegrees => a.atan2(b) / FRAC_PI_4 * 45.0,
        R::Sinh => a.sinh(),
        R::Cosh => a.cosh(),
        R::Tanh => a.tanh(),
        R::Asinh => a.asinh(),
        R::Acosh => a.acosh(),
        R::Atanh => a.atanh(),
        R::Degrees => a.to_degrees(),
        R::Radians => a.to_radians(),
        R::CubeRoot => a.cbrt(),
        R::Log10 => logarithm(a)?.log10(),
        R::LogOf => {
            let (base, of) = (logarithm(a)?.ln(), logarithm(b)?.ln());
            if base == 0.0 {
                return Err(Fault::DivisionByZero);
            }
            of / base
        }
    };
    if result.is_infinite() && a.is_finite() && function == R::Degrees {
        return Err(Fault::FloatOverflow);
    }
    Ok(Datum::float(result))
}

/// Fails for what has no logarithm.
fn logarithm(of: f64) -> Result<f64, Fault> {
    match of {
        0.0 => Err(Fault::new(b"2201E", "cannot take logarithm of zero")),
        of if of < 0.0 => Err(Fault::new(b"2201E", "cannot take logarithm of a negative number")),
        of => Ok(of),
    }
}

/// The sine of degrees.
fn sine(degrees: f64) -> f64 {
    let (turned, is_negative) = (degrees.abs() % 360.0, degrees < 0.0);
    let (turned, is_below) = if turned > 180.0 { (360.0 - turned, true) } else { (turned, false) };
    let value = sine_within_quarter(if turned > 90.0 { 180.0 - turned } else { turned });
    signed(value, is_negative != is_below)
}

/// The cosine of degrees.
fn cosine(degrees: f64) -> f64 {
    let turned = degrees.abs() % 360.0;
    let turned = if turned > 180.0 { 360.0 - turned } else { turned };
    let (turned, is_left) = if turned > 90.0 { (180.0 - turned, true) } else { (turned, false) };
    signed(cosine_within_quarter(turned), is_left)
}

/// The tangent of degrees.
fn tangent(degrees: f64) -> f64 {
    let (value, is_negative) = quarter_of_half(degrees);
    let one = sine_within_quarter(45.0) / cosine_within_quarter(45.0);
    let quotient = sine_within_quarter(value) / cosine_within_quarter(value);
    unsigned_zero(signed(quotient / one, is_negative))
}

/// The cotangent of degrees.
fn cotangent(degrees: f64) -> f64 {
    let (value, is_negative) = quarter_of_half(degrees);
    let one = cosine_within_quarter(45.0) / sine_within_quarter(45.0);
    let quotient = cosine_within_quarter(value) / sine_within_quarter(value);
    unsigned_zero(signed(quotient / one, is_negative))
}

fn unsigned_zero(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

/// The angle of the first quarter that has the same tangent but for its sign, and that. Of half a
/// turn it is as if that were reached from below, so that there is a sign of infinity.
fn quarter_of_half(degrees: f64) -> (f64, bool) {
    let (turned, is_negative) = (degrees.abs() % 360.0, degrees < 0.0);
    let (turned, is_negative) = match turned > 180.0 {
        true => (360.0 - turned, !is_negative),
        false => (turned, is_negative),
    };
    match turned > 90.0 {
        true => (180.0 - turned, !is_negative),
        false => (turned, is_negative),
    }
}

/// Of 0 to 90 degrees: exact at 0, 30 and 90, as [`to_thirty`] and [`to_sixty`] are.
fn sine_within_quarter(degrees: f64) -> f64 {
    if degrees <= 30.0 { to_thirty(degrees) } else { to_sixty(90.0 - degrees) }
}

fn cosine_within_quarter(degrees: f64) -> f64 {
    if degrees <= 60.0 { to_sixty(degrees) } else { to_thirty(90.0 - degrees) }
}

/// The sine of 0 to 30 degrees, as a share of that of 30.
fn to_thirty(degrees: f64) -> f64 {
    degrees.to_radians().sin() / 30_f64.to_radians().sin() / 2.0
}

/// The cosine of 0 to 60 degrees: how far it is from one, as a share of how far that of 60 is.
fn to_sixty(degrees: f64) -> f64 {
    let below = |degrees: f64| 1.0 - degrees.to_radians().cos();
    1.0 - below(degrees) / below(60.0) / 2.0
}

/// Zero has no sign.
fn signed(value: f64, is_negative: bool) -> f64 {
    if value == 0.0 {
        0.0
    } else if is_negative {
        -value
    } else {
        value
    }
}

/// An arc sine in degrees.
fn whole_degrees(radians: f64, of: f64) -> f64 {
    match of {
        0.5 => 30.0,
        -0.5 => -30.0,
        _ => radians / FRAC_PI_2 * 90.0,
    }
}

/// Calls a function of whole numbers; no argument is NULL.
pub(super) fn whole(
    code: &CallCode,
    function: WholeFunction,
    arguments: &[Datum],
) -> Result<Datum, Fault> {
    let of = |at: usize| arguments.get(at).map_or(0, |argument| argument.as_int());
    let (a, b) = (of(0).unsigned_abs(), of(1).unsigned_abs());
    let found = match function {
        WholeFunction::Gcd => Some(u128::from(gcd(a, b))),
        WholeFunction::Lcm if a == 0 || b == 0 => Some(0),
        WholeFunction::Lcm => Some(u128::from(a / gcd(a, b)) * u128::from(b)),
    };
    let bits = if code.result == DataType::BigInt { 64 } else { 32 };
    let found = found.and_then(|found| i64::try_from(found).ok());
    let fits = found.filter(|&found| crate::interpret::fits(found, bits));
    fits.map(Datum::int).ok_or(Fault::IntRange { bits })
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
