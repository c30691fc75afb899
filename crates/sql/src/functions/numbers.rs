//! Functions of numbers.

use hotrow_transaction::program::Function as F;

use super::row::Evaluation::{Program, Values};
use super::row::{FunctionGroup, FunctionRow, ValueForm as V, Volatility, functions};
use super::signature::{DOUBLE, INTEGER, NUMBER, NUMERIC};

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
    sqrt(DOUBLE) -> DOUBLE, Immutable, Program(F::Sqrt),
        "the square root", "sqrt(16)", "4";
    power | pow(DOUBLE, DOUBLE) -> DOUBLE, Immutable, Program(F::Power),
        "the first raised to the second", "power(2, 10)", "1024";
    exp(DOUBLE) -> DOUBLE, Immutable, Program(F::Exp),
        "e raised to it", "exp(0)", "1";
    ln(DOUBLE) -> DOUBLE, Immutable, Program(F::Ln),
        "the natural logarithm", "ln(1)", "0";
};
