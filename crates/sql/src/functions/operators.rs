//! Operators of values that programs or operators of queries compute as they are.

use hotrow_query::HostFunction as H;
use hotrow_transaction::program::Function as F;

use super::row::Evaluation::{Host, Program, Values};
use super::row::{FunctionGroup, FunctionRow, ValueForm as V, Volatility, functions};
use super::signature::{BIGINT, BOOLEAN, DOUBLE, INTEGER, SMALLINT, TEXT};

pub(super) const OPERATORS: FunctionGroup = functions! { "Operators":
    "^"(DOUBLE, DOUBLE) -> DOUBLE, Immutable, Program(F::Power),
        "the first raised to the second", "2 ^ 10", "1024";
    "&"(SMALLINT, SMALLINT) -> SMALLINT, Immutable, Host(H::BitAnd),
        "the bits that both have", "6::smallint & 3::smallint", "2";
    "&"(INTEGER, INTEGER) -> INTEGER, Immutable, Host(H::BitAnd),
        "the bits that both have", "6 & 3", "2";
    "&"(BIGINT, BIGINT) -> BIGINT, Immutable, Host(H::BitAnd),
        "the bits that both have", "6 & 3::bigint", "2";
    "~"(TEXT, TEXT) -> BOOLEAN, Immutable, Host(H::Matches),
        "whether the pattern matches somewhere", "'abc' ~ '^a.c$'", "true";
    "~*"(TEXT, TEXT) -> BOOLEAN, Immutable, Host(H::MatchesAnyCase),
        "the same in any case", "'abc' ~* 'B'", "true";
    "!~"(TEXT, TEXT) -> BOOLEAN, Immutable, Values(V::Not(H::Matches)),
        "whether it matches nowhere", "'abc' !~ 'B'", "true";
    "!~*"(TEXT, TEXT) -> BOOLEAN, Immutable, Values(V::Not(H::MatchesAnyCase)),
        "the same in any case", "'abc' !~* 'B'", "false";
};
