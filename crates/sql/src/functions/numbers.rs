//! Functions of numbers.

use hotrow_query::{DissectedFunction as D, HostFunction as H};
use hotrow_transaction::program::{
    Function as F, NumericFunction as N, RealFunction as R, TemplateFunction as P, WholeFunction,
};

use super::row::Evaluation::{Host, Program, Values};
use super::row::{FunctionGroup, FunctionRow, ValueForm as V, Volatility, functions};
use super::signature::{
    ANY, ANY_NUMERIC, ARRAY, BIGINT, BOOLEAN, DOUBLE, ELEMENT, INTEGER, NUMBER, NUMERIC, OID, REAL,
    TEXT, many,
};

pub(super) const NUMBERS: FunctionGroup = functions! { "Numbers":
    abs(NUMBER) -> NUMBER, Immutable, Program(F::Abs),
        "without its sign", "abs(-3)", "3";
    sign(DOUBLE) -> DOUBLE, Immutable, Program(F::Sign),
        "-1, 0 or 1", "sign(-2.5::double precision)", "-1";
    sign(NUMERIC) -> NUMERIC, Immutable, Values(V::Round(F::Sign)),
        "-1, 0 or 1", "sign(-2.5)", "-1";
    ceil | ceiling(DOUBLE) -> DOUBLE, Immutable, Program(F::Ceil),
        "the next whole number upwards", "ceil(2)", "2";
    ceil | ceiling(NUMERIC) -> NUMERIC, Immutable, Values(V::Round(F::Ceil)),
        "the next whole number upwards", "ceil(2.1)", "3";
    floor(DOUBLE) -> DOUBLE, Immutable, Program(F::Floor),
        "the next whole number downwards", "floor(-2.1::double precision)", "-3";
    floor(NUMERIC) -> NUMERIC, Immutable, Values(V::Round(F::Floor)),
        "the next whole number downwards", "floor(2.9)", "2";
    round(DOUBLE) -> DOUBLE, Immutable, Program(F::Round),
        "the nearest whole number; halves to the even one", "round(2.5::double precision)", "2";
    round(NUMERIC) -> NUMERIC, Immutable, Values(V::Round(F::Round)),
        "the nearest whole number; halves away from zero", "round(2.5)", "3";
    round(NUMERIC, INTEGER) -> NUMERIC, Immutable, Values(V::RoundTo(F::Round)),
        "rounded to so many digits behind the point", "round(2.345, 2)", "2.35";
    trunc(DOUBLE) -> DOUBLE, Immutable, Program(F::Trunc),
        "without what is behind the point", "trunc(-2.9::double precision)", "-2";
    trunc(NUMERIC) -> NUMERIC, Immutable, Values(V::Round(F::Trunc)),
        "without what is behind the point", "trunc(2.9)", "2";
    trunc(NUMERIC, INTEGER) -> NUMERIC, Immutable, Values(V::RoundTo(F::Trunc)),
        "cut to so many digits behind the point", "trunc(2.349, 2)", "2.34";
    mod(NUMBER, NUMBER) -> NUMBER, Immutable, Values(V::Modulo),
        "the remainder of a division", "mod(7, 3)", "1";
    to_char(INTEGER, TEXT) -> TEXT, Immutable, Program(F::Template(P::ToChar)),
        "as a template has it: 9, 0, `.`, `,`, S, MI, PR, RN ...", "to_char(14, 'FMRN')", "XIV";
    to_char(BIGINT, TEXT) -> TEXT, Immutable, Program(F::Template(P::ToChar)),
        "as a template has it", "to_char(12345678901, 'FM99G999G999G999')", "12,345,678,901";
    to_char(NUMERIC, TEXT) -> TEXT, Immutable, Program(F::Template(P::ToChar)),
        "as a template has it", "to_char(1234.5, 'FM9,990.00S')", "1,234.50+";
    to_char(REAL, TEXT) -> TEXT, Immutable, Program(F::Template(P::ToChar)),
        "as a template has it, with 6 digits at most", "to_char(0.25::real, 'FM90.99')", "0.25";
    to_char(DOUBLE, TEXT) -> TEXT, Immutable, Program(F::Template(P::ToChar)),
        "as a template has it, with 15 digits at most",
        "to_char(-125.8::double precision, 'FM999.9PR')", "<125.8>";
    to_number(TEXT, TEXT) -> NUMERIC, Immutable, Values(V::ToNumber),
        "a text as a template has it", "to_number('$1,234.50', 'L9,999.99')", "1234.50";
    sqrt(DOUBLE) -> DOUBLE, Immutable, Program(F::Sqrt),
        "the square root", "sqrt(16)", "4";
    sqrt(ANY_NUMERIC) -> ANY_NUMERIC, Immutable, Program(F::Sqrt),
        "the square root", "sqrt(2.0)", "1.414213562373095";
    power | pow(DOUBLE, DOUBLE) -> DOUBLE, Immutable, Program(F::Power),
        "the first raised to the second", "power(2, 10)", "1024";
    power | pow(ANY_NUMERIC, ANY_NUMERIC) -> ANY_NUMERIC, Immutable, Program(F::Power),
        "the first raised to the second", "power(1.5, 2)", "2.2500000000000000";
    exp(DOUBLE) -> DOUBLE, Immutable, Program(F::Exp),
        "e raised to it", "exp(0)", "1";
    exp(ANY_NUMERIC) -> ANY_NUMERIC, Immutable, Program(F::Exp),
        "e raised to it", "exp(1.0)", "2.7182818284590452";
    ln(DOUBLE) -> DOUBLE, Immutable, Program(F::Ln),
        "the natural logarithm", "ln(1)", "0";
    ln(ANY_NUMERIC) -> ANY_NUMERIC, Immutable, Program(F::Ln),
        "the natural logarithm", "ln(2.0)", "0.6931471805599453";
    sin(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::Sin)),
        "the sine of radians", "sin(0)", "0";
    cos(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::Cos)),
        "the cosine of radians", "cos(0)", "1";
    tan(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::Tan)),
        "the tangent of radians", "tan(0)", "0";
    cot(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::Cot)),
        "the cotangent of radians", "round(cot(0.5)::numeric, 4)", "1.8305";
    asin(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::Asin)),
        "the arc sine", "asin(0)", "0";
    acos(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::Acos)),
        "the arc cosine", "acos(1)", "0";
    atan(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::Atan)),
        "the arc tangent", "atan(0)", "0";
    sind(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::SinOfDegrees)),
        "the sine of degrees", "sind(30)", "0.5";
    cosd(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::CosOfDegrees)),
        "the cosine of degrees", "cosd(60)", "0.5";
    tand(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::TanOfDegrees)),
        "the tangent of degrees", "tand(45)", "1";
    cotd(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::CotOfDegrees)),
        "the cotangent of degrees", "cotd(45)", "1";
    asind(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::AsinInDegrees)),
        "the arc sine in degrees", "asind(0.5)", "30";
    acosd(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::AcosInDegrees)),
        "the arc cosine in degrees", "acosd(0.5)", "60";
    atand(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::AtanInDegrees)),
        "the arc tangent in degrees", "atand(1)", "45";
    sinh(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::Sinh)),
        "the hyperbolic sine", "sinh(0)", "0";
    cosh(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::Cosh)),
        "the hyperbolic cosine", "cosh(0)", "1";
    tanh(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::Tanh)),
        "the hyperbolic tangent", "tanh(0)", "0";
    asinh(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::Asinh)),
        "the inverse of the hyperbolic sine", "asinh(0)", "0";
    acosh(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::Acosh)),
        "the inverse of the hyperbolic cosine", "acosh(1)", "0";
    atanh(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::Atanh)),
        "the inverse of the hyperbolic tangent", "atanh(0)", "0";
    degrees(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::Degrees)),
        "radians as degrees", "degrees(0)", "0";
    radians(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::Radians)),
        "degrees as radians", "radians(0)", "0";
    cbrt(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::CubeRoot)),
        "the cube root", "cbrt(27)", "3";
    log | log10(DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::Log10)),
        "the logarithm to the base 10", "log(1000)", "3";
    log | log10(ANY_NUMERIC) -> ANY_NUMERIC, Immutable, Program(F::Numeric(N::Logarithm)),
        "the logarithm to the base 10", "log(100.0)", "2.0000000000000000";
    atan2(DOUBLE, DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::AtanOfTwo)),
        "the angle of a point, given by y and x", "atan2(0, 1)", "0";
    atan2d(DOUBLE, DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::AtanOfTwoInDegrees)),
        "the angle of a point, given by y and x, in degrees", "atan2d(1, 1)", "45";
    log(ANY_NUMERIC, ANY_NUMERIC) -> ANY_NUMERIC, Immutable, Program(F::Numeric(N::Logarithm)),
        "the logarithm to a base, which comes first", "log(2.0, 64.0)", "6.0000000000000000";
    div(ANY_NUMERIC, ANY_NUMERIC) -> ANY_NUMERIC, Immutable, Program(F::Numeric(N::DivideWhole)),
        "the quotient, cut to a whole number", "div(9, 4)", "2";
    scale(ANY_NUMERIC) -> INTEGER, Immutable, Program(F::Numeric(N::Scale)),
        "how many digits behind the point are shown", "scale(8.4100)", "4";
    min_scale(ANY_NUMERIC) -> INTEGER, Immutable, Program(F::Numeric(N::LeastScale)),
        "how many digits behind the point are needed", "min_scale(8.4100)", "2";
    trim_scale(ANY_NUMERIC) -> ANY_NUMERIC, Immutable, Program(F::Numeric(N::Trim)),
        "without zeros at the end behind the point", "trim_scale(8.4100)", "8.41";
    log(DOUBLE, DOUBLE) -> DOUBLE, Immutable, Program(F::Real(R::LogOf)),
        "the logarithm to a base, which comes first", "log(2, 8)", "3";
    gcd(INTEGER, INTEGER) -> INTEGER, Immutable, Program(F::Whole(WholeFunction::Gcd)),
        "the greatest common divisor", "gcd(12, 18)", "6";
    gcd(BIGINT, BIGINT) -> BIGINT, Immutable, Program(F::Whole(WholeFunction::Gcd)),
        "the greatest common divisor", "gcd(12::bigint, 18)", "6";
    lcm(INTEGER, INTEGER) -> INTEGER, Immutable, Program(F::Whole(WholeFunction::Lcm)),
        "the least common multiple", "lcm(4, 6)", "12";
    lcm(BIGINT, BIGINT) -> BIGINT, Immutable, Program(F::Whole(WholeFunction::Lcm)),
        "the least common multiple", "lcm(4::bigint, 6)", "12";
    satisfies_hash_partition(OID, INTEGER, INTEGER, ANY, many(ANY)) -> BOOLEAN, Immutable,
        Program(F::SatisfiesHash),
        "whether values are in a partition by HASH: any number, modulus, remainder, values",
        "satisfies_hash_partition(0, 1, 0, 5)", "true";
    factorial(BIGINT) -> ANY_NUMERIC, Immutable, Program(F::Numeric(N::Factorial)),
        "the product of the whole numbers up to it", "factorial(5)", "120";
    width_bucket(DOUBLE, DOUBLE, DOUBLE, INTEGER) -> INTEGER, Immutable,
        Host(H::Dissected(D::Bucket)),
        "which of so many buckets of one width between two ends it is in: 0 before the first one",
        "width_bucket(5.35::double precision, 0, 10, 5)", "3";
    width_bucket(NUMERIC, NUMERIC, NUMERIC, INTEGER) -> INTEGER, Immutable,
        Host(H::Dissected(D::Bucket)),
        "which of so many buckets of one width between two ends it is in: 0 before the first one",
        "width_bucket(5.35, 0.024, 10.06, 5)", "3";
    width_bucket(ELEMENT, ARRAY) -> INTEGER, Immutable, Host(H::Dissected(D::Threshold)),
        "which bucket it is in, where the array has the lower ends of all but the first one",
        "width_bucket(5, ARRAY[1, 3, 6])", "2";
};
