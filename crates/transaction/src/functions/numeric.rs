//! Numerics of any number of digits: arithmetic, and functions of them.

use hotrow_base::any_numeric::{self, AnyNumeric, NumericError};
use hotrow_base::datum::Datum;
use hotrow_base::decimal::Decimal;
use hotrow_base::types::DataType;

use super::cast::numeric_overflow;
use super::type_of;
use crate::bytecode::CallCode;
use crate::fault::Fault;
use crate::frame::Machine;
use crate::program::{ArithmeticOp, Function, NumericFunction};

/// Beyond it, a product has more digits than a numeric can have.
const FACTORIAL_MAX: i64 = 32_177;
/// Bytes of a number that is no longer than most are.
const USUAL_BYTES: usize = 64;

/// The number that a datum of any type of numbers is.
pub(crate) fn number(value: Datum, of: DataType, heap: &[u8]) -> Result<AnyNumeric, Fault> {
    Ok(match of {
        _ if of.is_any_numeric() => any_numeric::read(&heap[value.as_range().range()]),
        DataType::Numeric { scale, .. } => {
            Decimal::new(value.as_numeric(), scale).unwrap_or(Decimal::ZERO).into()
        }
        DataType::Real => AnyNumeric::from_f32(value.as_float() as f32)?,
        DataType::Double => AnyNumeric::from_f64(value.as_float())?,
        _ => value.as_int().into(),
    })
}

/// A number as a datum of a type of numerics, at the end of the heap.
pub(crate) fn keep(
    machine: &mut Machine,
    number: &AnyNumeric,
    to: DataType,
) -> Result<Datum, Fault> {
    if let DataType::Numeric { precision, scale } = to {
        let units = number.to_units(precision, scale);
        return units.map(Datum::numeric).ok_or_else(|| numeric_overflow(precision, scale));
    }
    let fitted = match to {
        DataType::WideNumeric { precision, scale } => {
            let fitted = number.fitted(precision, scale);
            Some(fitted.ok_or_else(|| numeric_overflow(precision, scale))?)
        }
        _ => None,
    };
    let number = fitted.as_ref().unwrap_or(number);
    let bytes = match number.short() {
        Some(_) => USUAL_BYTES,
        None => number.bytes() + USUAL_BYTES,
    };
    machine.reserve(bytes)?;
    Ok(any_numeric::write(number, &mut machine.heap))
}

/// Calls a function of numerics, of which at least one has no precision; no argument is NULL.
pub(super) fn call(
    machine: &mut Machine,
    code: &CallCode,
    arguments: &[Datum],
) -> Result<Datum, Fault> {
    let of = |machine: &Machine, at: usize| {
        let value = arguments.get(at).copied().unwrap_or_default();
        number(value, type_of(code, at), &machine.heap)
    };
    let a = of(machine, 0)?;
    let is_of_two = match code.function {
        Function::Numeric(NumericFunction::Arithmetic(_) | NumericFunction::DivideWhole) => true,
        Function::Numeric(NumericFunction::Logarithm) => arguments.len() > 1,
        Function::Mod | Function::Power => true,
        _ => false,
    };
    let b = if is_of_two { of(machine, 1)? } else { AnyNumeric::ZERO };
    // A product's work is that of each digit with each other one.
    let work = (a.bytes() * b.bytes()) >> 10;
    machine.went(work)?;
    let digits = || arguments.get(1).map_or(0, |digits| digits.as_int());
    let result = match code.function {
        Function::Numeric(function) => match function {
            NumericFunction::Arithmetic(op) => arithmetic(op, &a, &b),
            NumericFunction::Negate => Ok(a.negated()),
            NumericFunction::DivideWhole => a.divide_whole(&b),
            NumericFunction::Logarithm if is_of_two => b.logarithm_in(&a),
            NumericFunction::Logarithm => a.logarithm_in(&AnyNumeric::from(10)),
            NumericFunction::Factorial => return factorial(machine, code, arguments),
            NumericFunction::Trim => Ok(a.trimmed()),
            NumericFunction::Scale => {
                return Ok(scale_of(&a, a.is_finite().then(|| a.scale())));
            }
            NumericFunction::LeastScale => return Ok(scale_of(&a, a.least_scale())),
        },
        Function::Abs => Ok(a.absolute()),
        Function::Sign if matches!(a, AnyNumeric::NaN) => Ok(a),
        Function::Sign => Ok(AnyNumeric::from(a.sign() as i64)),
        Function::Floor => a.floor(),
        Function::Ceil => a.ceiling(),
        Function::Round => a.rounded(digits()),
        Function::Trunc => a.truncated(digits()),
        Function::Sqrt => a.square_root(),
        Function::Exp => a.exponential(),
        Function::Ln => a.natural_logarithm(),
        Function::Power => a.power(&b),
        Function::Mod => a.remainder(&b),
        _ => Ok(AnyNumeric::NaN),
    }?;
    match code.result {
        DataType::Real | DataType::Double => Ok(Datum::float(result.to_f64())),
        to if to.is_integer() => {
            result.to_i64().map(Datum::int).ok_or(Fault::IntRange { bits: 64 })
        }
        to => keep(machine, &result, to),
    }
}

/// The product of the whole numbers up to one.
fn factorial(machine: &mut Machine, code: &CallCode, arguments: &[Datum]) -> Result<Datum, Fault> {
    let of = arguments.first().map_or(0, |of| of.as_int());
    if of < 0 {
        return Err(Fault::new(b"22003", "factorial of a negative number is undefined"));
    }
    if of > FACTORIAL_MAX {
        return Err(NumericError::Overflow.into());
    }
    let mut product = AnyNumeric::from(1);
    for factor in 2..=of {
        machine.went(product.bytes())?;
        product = product.multiply(&factor.into())?;
    }
    keep(machine, &product, code.result)
}

/// Digits behind the point; NULL of what is no number.
fn scale_of(number: &AnyNumeric, scale: Option<u16>) -> Datum {
    debug_assert_eq!(number.is_finite(), scale.is_some(), "numbers have a scale");
    scale.map_or(Datum::NULL, |scale| Datum::int(scale.into()))
}

fn arithmetic(
    op: ArithmeticOp,
    a: &AnyNumeric,
    b: &AnyNumeric,
) -> Result<AnyNumeric, NumericError> {
    match op {
        ArithmeticOp::Add => a.add(b),
        ArithmeticOp::Subtract => a.subtract(b),
        ArithmeticOp::Multiply => a.multiply(b),
        ArithmeticOp::Divide => a.divide(b),
        ArithmeticOp::Modulo => a.remainder(b),
    }
}

impl From<NumericError> for Fault {
    #[cold]
    fn from(error: NumericError) -> Self {
        match error {
            NumericError::Overflow => Self::new(b"22003", "value overflows numeric format"),
            NumericError::DivisionByZero => Self::DivisionByZero,
            NumericError::RootOfNegative => {
                Self::new(b"2201F", "cannot take square root of a negative number")
            }
            NumericError::LogarithmOfZero => Self::new(b"2201E", "cannot take logarithm of zero"),
            NumericError::LogarithmOfNegative => {
                Self::new(b"2201E", "cannot take logarithm of a negative number")
            }
            NumericError::ZeroToNegative => {
                Self::new(b"2201F", "zero raised to a negative power is undefined")
            }
            NumericError::NegativeToFraction => Self::new(
                b"2201F",
                "a negative number raised to a non-integer power yields a complex result",
            ),
        }
    }
}
