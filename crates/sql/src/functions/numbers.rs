//! Functions of numbers.

use hotrow_transaction::program::{Function as F, TemplateFunction as P};

use super::row::Evaluation::{Program, Values};
use super::row::{FunctionGroup, FunctionRow, ValueForm as V, Volatility, functions};
use super::signature::{BIGINT, DOUBLE, INTEGER, NUMBER, NUMERIC, REAL, TEXT};

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
    power | pow(DOUBLE, DOUBLE) -> DOUBLE, Immutable, Program(F::Power),
        "the first raised to the second", "power(2, 10)", "1024";
    exp(DOUBLE) -> DOUBLE, Immutable, Program(F::Exp),
        "e raised to it", "exp(0)", "1";
    ln(DOUBLE) -> DOUBLE, Immutable, Program(F::Ln),
        "the natural logarithm", "ln(1)", "0";
};
