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
use crate::interpret::Fault;
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
        R::CosOfDegrees => sine(90.0 + a % 360.0),
        R::TanOfDegrees => tangent(a),
        R::CotOfDegrees => tangent(90.0 - a % 360.0),
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
    // Sine and its kin have poles, where PostgreSQL gives infinity, too.
    if result.is_infinite() && a.is_finite() && matches!(function, R::Sinh | R::Cosh | R::Degrees) {
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
    let turned = degrees % 360.0;
    let (sign, turned) = if turned < 0.0 { (-1.0, -turned) } else { (1.0, turned) };
    let (sign, turned) = if turned > 180.0 { (-sign, turned - 180.0) } else { (sign, turned) };
    let first = if turned > 90.0 { 180.0 - turned } else { turned };
    let value = match first {
        0.0 => 0.0,
        30.0 => 0.5,
        90.0 => 1.0,
        first => first.to_radians().sin(),
    };
    // Zero has no sign.
    if value == 0.0 { 0.0 } else { sign * value }
}

/// The tangent of degrees.
fn tangent(degrees: f64) -> f64 {
    let turned = degrees % 180.0;
    match turned {
        45.0 | -135.0 => 1.0,
        135.0 | -45.0 => -1.0,
        _ => {
            let value = sine(turned) / sine(90.0 + turned);
            if value == 0.0 { 0.0 } else { value }
        }
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
        WholeFunction::Factorial => {
            if of(0) < 0 {
                let message = "factorial of a negative number is undefined";
                return Err(Fault::new(b"22003", message));
            }
            (1..=u128::from(a)).take(40).try_fold(1_u128, u128::checked_mul).filter(|_| a < 34)
        }
    };
    match code.result {
        DataType::Numeric { .. } => {
            let found = found.and_then(|found| i128::try_from(found).ok());
            found.map(Datum::numeric).ok_or(Fault::NumericRange)
        }
        of => {
            let bits = if of == DataType::BigInt { 64 } else { 32 };
            let found = found.and_then(|found| i64::try_from(found).ok());
            let fits = found.filter(|&found| crate::interpret::fits(found, bits));
            fits.map(Datum::int).ok_or(Fault::IntRange { bits })
        }
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
