//! Operators of values that programs or operators of queries compute as they are.

use hotrow_base::json::PathFunction::{Exists, Match};
use hotrow_transaction::program::{BitFunction as B, Function as F};

use super::row::Evaluation::{Program, Values};
use super::row::{FunctionGroup, FunctionRow, ValueForm as V, Volatility, functions};
use super::signature::{ANY_NUMERIC, BIGINT, BOOLEAN, DOUBLE, INTEGER, JSONB, SMALLINT, TEXT};

pub(super) const OPERATORS: FunctionGroup = functions! { "Operators":
    "^"(DOUBLE, DOUBLE) -> DOUBLE, Immutable, Program(F::Power),
        "the first raised to the second", "2 ^ 10", "1024";
    "^"(ANY_NUMERIC, ANY_NUMERIC) -> ANY_NUMERIC, Immutable, Program(F::Power),
        "the first raised to the second", "1.5 ^ 2", "2.2500000000000000";
    "&"(SMALLINT, SMALLINT) -> SMALLINT, Immutable, Program(F::Bits(B::And)),
        "the bits that both have", "6::smallint & 3::smallint", "2";
    "&"(INTEGER, INTEGER) -> INTEGER, Immutable, Program(F::Bits(B::And)),
        "the bits that both have", "6 & 3", "2";
    "&"(BIGINT, BIGINT) -> BIGINT, Immutable, Program(F::Bits(B::And)),
        "the bits that both have", "6::bigint & 3::bigint", "2";
    "|"(SMALLINT, SMALLINT) -> SMALLINT, Immutable, Program(F::Bits(B::Or)),
        "the bits that one of them has", "6::smallint | 3::smallint", "7";
    "|"(INTEGER, INTEGER) -> INTEGER, Immutable, Program(F::Bits(B::Or)),
        "the bits that one of them has", "6 | 3", "7";
    "|"(BIGINT, BIGINT) -> BIGINT, Immutable, Program(F::Bits(B::Or)),
        "the bits that one of them has", "6::bigint | 3::bigint", "7";
    "#"(SMALLINT, SMALLINT) -> SMALLINT, Immutable, Program(F::Bits(B::Xor)),
        "the bits that one of them has and the other has not", "6::smallint # 3::smallint", "5";
    "#"(INTEGER, INTEGER) -> INTEGER, Immutable, Program(F::Bits(B::Xor)),
        "the bits that one of them has and the other has not", "6 # 3", "5";
    "#"(BIGINT, BIGINT) -> BIGINT, Immutable, Program(F::Bits(B::Xor)),
        "the bits that one of them has and the other has not", "6::bigint # 3::bigint", "5";
    "<<"(SMALLINT, INTEGER) -> SMALLINT, Immutable, Program(F::Bits(B::ShiftLeft)),
        "the bits moved to the left", "6::smallint << 2", "24";
    "<<"(INTEGER, INTEGER) -> INTEGER, Immutable, Program(F::Bits(B::ShiftLeft)),
        "the bits moved to the left", "6 << 2", "24";
    "<<"(BIGINT, INTEGER) -> BIGINT, Immutable, Program(F::Bits(B::ShiftLeft)),
        "the bits moved to the left", "6::bigint << 2", "24";
    ">>"(SMALLINT, INTEGER) -> SMALLINT, Immutable, Program(F::Bits(B::ShiftRight)),
        "the bits moved to the right", "6::smallint >> 2", "1";
    ">>"(INTEGER, INTEGER) -> INTEGER, Immutable, Program(F::Bits(B::ShiftRight)),
        "the bits moved to the right", "6 >> 2", "1";
    ">>"(BIGINT, INTEGER) -> BIGINT, Immutable, Program(F::Bits(B::ShiftRight)),
        "the bits moved to the right", "6::bigint >> 2", "1";
    "@?"(JSONB, TEXT) -> BOOLEAN, Immutable, Values(V::Path(Exists)),
        "whether a path of SQL/JSON gives an item; NULL where it does not fit",
        "'{\"a\":[1,2]}'::jsonb @? '$.a[*] ? (@ > 1)'", "true";
    "@@"(JSONB, TEXT) -> BOOLEAN, Immutable, Values(V::Path(Match)),
        "the truth that a path of SQL/JSON gives; NULL where it does not fit",
        "'{\"a\":[1,2]}'::jsonb @@ '$.a[*] > 1'", "true";
    "~"(SMALLINT) -> SMALLINT, Immutable, Program(F::Bits(B::Not)),
        "the bits that it has not", "~(6::smallint)", "-7";
    "~"(INTEGER) -> INTEGER, Immutable, Program(F::Bits(B::Not)),
        "the bits that it has not", "~6", "-7";
    "~"(BIGINT) -> BIGINT, Immutable, Program(F::Bits(B::Not)),
        "the bits that it has not", "~(6::bigint)", "-7";
    "~"(TEXT, TEXT) -> BOOLEAN, Immutable, Program(F::Matches),
        "whether the pattern matches somewhere", "'abc' ~ '^a.c$'", "true";
    "~*"(TEXT, TEXT) -> BOOLEAN, Immutable, Program(F::MatchesAnyCase),
        "the same in any case", "'abc' ~* 'B'", "true";
    "!~"(TEXT, TEXT) -> BOOLEAN, Immutable, Values(V::Not(F::Matches)),
        "whether it matches nowhere", "'abc' !~ 'B'", "true";
    "!~*"(TEXT, TEXT) -> BOOLEAN, Immutable, Values(V::Not(F::MatchesAnyCase)),
        "the same in any case", "'abc' !~* 'B'", "false";
};
