//! Functions of numbers.

use hotrow_base::datum::Datum;
use hotrow_base::decimal::{self, POWERS_OF_TEN};
use hotrow_base::types::DataType;

use super::cast::to_float;
use super::type_of;
use crate::bytecode::CallCode;
use crate::fault::Fault;
use crate::program::{BitFunction, Function};

/// Calls a function of numbers; no argument is NULL.
pub(super) fn call(code: &CallCode, arguments: &[Datum]) -> Result<Datum, Fault> {
    match code.function {
        Function::Sqrt | Function::Power | Function::Exp | Function::Ln => {
            return real_function(code, arguments).map(Datum::float);
        }
        Function::Mod => return modulo(code, arguments),
        _ => {}
    }
    let value = arguments[0];
    match type_of(code, 0) {
        DataType::Numeric { scale, .. } => of_numeric(code, value.as_numeric(), scale, arguments),
        DataType::Real | DataType::Double => of_float(code, value.as_float()),
        _ => of_int(code, value.as_int(), arguments),
    }
}

/// Of integers of the result's type, none of which is NULL. As on the processors that PostgreSQL
/// runs on, a shift looks at the lower bits of how far only: `1 << 33` is 2.
pub(super) fn bits(function: BitFunction, of: DataType, arguments: &[Datum]) -> Datum {
    let value = arguments[0].as_int();
    let other = arguments.get(1).map_or(0, |other| other.as_int());
    let shifted = |by: fn(i32, u32) -> i32, by_long: fn(i64, u32) -> i64| match of {
        DataType::BigInt => by_long(value, other as u32),
        _ => i64::from(by(value as i32, other as u32)),
    };
    let bits = match function {
        BitFunction::And => value & other,
        BitFunction::Or => value | other,
        BitFunction::Xor => value ^ other,
        BitFunction::Not => !value,
        BitFunction::ShiftLeft => shifted(i32::wrapping_shl, i64::wrapping_shl),
        BitFunction::ShiftRight => shifted(i32::wrapping_shr, i64::wrapping_shr),
    };
    // What is shifted out of a smallint is gone.
    Datum::int(if of == DataType::SmallInt { i64::from(bits as i16) } else { bits })
}

fn of_int(code: &CallCode, value: i64, arguments: &[Datum]) -> Result<Datum, Fault> {
    let result = match code.function {
        Function::Abs => value.checked_abs(),
        Function::Sign => Some(value.signum()),
        Function::Round | Function::Trunc if arguments.len() > 1 => {
            return of_numeric(code, i128::from(value), 0, arguments);
        }
        _ => Some(value),
    };
    let bits = match type_of(code, 0) {
        DataType::SmallInt => 16,
        DataType::Integer => 32,
        _ => 64,
    };
    let value = result
        .filter(|&value| crate::interpret::fits(value, bits))
        .ok_or(Fault::IntRange { bits })?;
    match code.result {
        DataType::Numeric { scale, .. } => {
            decimal::from_i64(value, scale).map(Datum::numeric).ok_or(Fault::NumericRange)
        }
        DataType::Real | DataType::Double => Ok(Datum::float(value as f64)),
        _ => Ok(Datum::int(value)),
    }
}

fn of_numeric(
    code: &CallCode,
    units: i128,
    scale: u8,
    arguments: &[Datum],
) -> Result<Datum, Fault> {
    let one = POWERS_OF_TEN[scale as usize];
    let whole = units.div_euclid(one) * one;
    let (units, scale) = match code.function {
        Function::Abs => (units.abs(), scale),
        Function::Sign => (units.signum(), 0),
        Function::Floor => (whole, scale),
        Function::Ceil if whole == units => (units, scale),
        Function::Ceil => (whole + one, scale),
        function => {
            let digits = arguments.get(1).map_or(0, |digits| digits.as_int());
            let cut = i64::from(scale) - digits.max(-38);
            (cut_digits(units, cut, function == Function::Round)?, scale)
        }
    };
    match code.result {
        DataType::Numeric { scale: to, .. } => {
            decimal::rescale(units, scale, to).map(Datum::numeric).ok_or(Fault::NumericRange)
        }
        DataType::Real | DataType::Double => Ok(Datum::float(decimal::to_f64(units, scale))),
        _ => decimal::to_i64(units, scale).map(Datum::int).ok_or(Fault::IntRange { bits: 64 }),
    }
}

/// Sets the last `cut` digits to zero, rounding half away from zero or towards it.
fn cut_digits(units: i128, cut: i64, round: bool) -> Result<i128, Fault> {
    if cut <= 0 {
        return Ok(units);
    }
    let Some(&power) = usize::try_from(cut).ok().and_then(|cut| POWERS_OF_TEN.get(cut)) else {
        return Ok(0);
    };
    let rest = units % power;
    let whole = units - rest;
    if round && rest.unsigned_abs() >= power.unsigned_abs() - rest.unsigned_abs() {
        return whole.checked_add(power * units.signum()).ok_or(Fault::NumericRange);
    }
    Ok(whole)
}

fn of_float(code: &CallCode, value: f64) -> Result<Datum, Fault> {
    Ok(Datum::float(match code.function {
        Function::Abs => value.abs(),
        Function::Floor => value.floor(),
        Function::Ceil => value.ceil(),
        Function::Trunc => value.trunc(),
        Function::Sign if value == 0.0 || value.is_nan() => value,
        Function::Sign => value.signum(),
        // PostgreSQL rounds doubles half to even, numerics half away from zero.
        _ => value.round_ties_even(),
    }))
}

fn modulo(code: &CallCode, arguments: &[Datum]) -> Result<Datum, Fault> {
    let [a, b] = [arguments[0], arguments[1]];
    match (type_of(code, 0), type_of(code, 1)) {
        (DataType::Numeric { scale: a_scale, .. }, DataType::Numeric { scale: b_scale, .. }) => {
            let (a, b) = (a.as_numeric(), b.as_numeric());
            if b == 0 {
                return Err(Fault::DivisionByZero);
            }
            let to = match code.result {
                DataType::Numeric { scale, .. } => scale,
                _ => 0,
            };
            decimal::rem(a, a_scale, b, b_scale)
                .and_then(|units| decimal::rescale(units, a_scale.max(b_scale), to))
                .map(Datum::numeric)
                .ok_or(Fault::NumericRange)
        }
        _ if b.as_int() == 0 => Err(Fault::DivisionByZero),
        _ => Ok(Datum::int(a.as_int().wrapping_rem(b.as_int()))),
    }
}

fn real_function(code: &CallCode, arguments: &[Datum]) -> Result<f64, Fault> {
    let a = to_float(arguments[0], type_of(code, 0))?;
    let result = match code.function {
        Function::Sqrt if a < 0.0 => {
            return Err(Fault::new(b"2201F", "cannot take square root of a negative number"));
        }
        Function::Sqrt => a.sqrt(),
        Function::Ln if a == 0.0 => {
            return Err(Fault::new(b"2201E", "cannot take logarithm of zero"));
        }
        Function::Ln if a < 0.0 => {
            return Err(Fault::new(b"2201E", "cannot take logarithm of a negative number"));
        }
        Function::Ln => a.ln(),
        Function::Exp => a.exp(),
        _ => return power(a, to_float(arguments[1], type_of(code, 1))?),
    };
    checked(result, a.is_finite(), code.function == Function::Exp)
}

fn power(a: f64, b: f64) -> Result<f64, Fault> {
    if a == 0.0 && b < 0.0 {
        return Err(Fault::new(b"2201F", "zero raised to a negative power is undefined"));
    }
    if a < 0.0 && b.is_finite() && b.fract() != 0.0 {
        return Err(Fault::new(
            b"2201F",
            "a negative number raised to a non-integer power yields a complex result",
        ));
    }
    checked(a.powf(b), a.is_finite() && b.is_finite(), a != 0.0)
}

fn checked(result: f64, is_finite: bool, is_never_zero: bool) -> Result<f64, Fault> {
    if is_finite && result.is_infinite() {
        return Err(Fault::FloatOverflow);
    }
    if is_finite && is_never_zero && result == 0.0 {
        return Err(Fault::FloatUnderflow);
    }
    Ok(result)
}
