//! Functions and operators of ranges.

use hotrow_base::range::RangeFunction as R;
use hotrow_base::types::{DataType, RangeKind, SqlType};
use hotrow_transaction::program::Function as F;

use super::row::Evaluation::Program;
use super::row::{FunctionGroup, FunctionRow, Volatility, functions};
use super::signature::{
    ANY_NUMERIC, Argument, BIGINT, BOOLEAN, Count, DATE, IN_RANGE, INTEGER, RANGE, TEXT, TIMESTAMP,
    TIMESTAMPTZ, Type, opt,
};

const fn of(kind: RangeKind) -> Argument {
    Argument { of: Type::Is(SqlType::Scalar(DataType::Range(kind))), count: Count::Once }
}

const INT4: Argument = of(RangeKind::Int4);
const INT8: Argument = of(RangeKind::Int8);
const NUM: Argument = of(RangeKind::Num);
const TS: Argument = of(RangeKind::Ts);
const TSTZ: Argument = of(RangeKind::TsTz);
const DAY: Argument = of(RangeKind::Date);

pub(super) const RANGES: FunctionGroup = functions! { "Ranges":
    int4range(INTEGER, INTEGER, opt(TEXT)) -> INT4, Immutable, Program(F::Range(R::Make)),
        "from the first to the second, NULL for ever; `[)` unless told whether they lie in it",
        "int4range(1, 5, '[]')", "[1,6)";
    int8range(BIGINT, BIGINT, opt(TEXT)) -> INT8, Immutable, Program(F::Range(R::Make)),
        "the same of bigints", "int8range(1, 5)", "[1,5)";
    numrange(ANY_NUMERIC, ANY_NUMERIC, opt(TEXT)) -> NUM, Immutable, Program(F::Range(R::Make)),
        "the same of numerics", "numrange(1.5, NULL, '()')", "(1.5,)";
    daterange(DATE, DATE, opt(TEXT)) -> DAY, Immutable, Program(F::Range(R::Make)),
        "the same of dates", "daterange('2026-11-01', '2026-11-30', '[]')",
        "[2026-11-01,2026-12-01)";
    tsrange(TIMESTAMP, TIMESTAMP, opt(TEXT)) -> TS, Immutable, Program(F::Range(R::Make)),
        "the same of timestamps", "tsrange('2026-11-21 10:00', '2026-11-21 11:00')",
        "[\"2026-11-21 10:00:00\",\"2026-11-21 11:00:00\")";
    tstzrange(TIMESTAMPTZ, TIMESTAMPTZ, opt(TEXT)) -> TSTZ, Immutable,
        Program(F::Range(R::Make)),
        "the same of timestamps with time zone", "tstzrange('2026-11-21 10:00+00', NULL)",
        "[\"2026-11-21 10:00:00+00\",)";
    lower(RANGE) -> IN_RANGE, Immutable, Program(F::Range(R::Lower)),
        "its lower bound; NULL for none, and of an empty range", "lower(int4range(1, 5))", "1";
    upper(RANGE) -> IN_RANGE, Immutable, Program(F::Range(R::Upper)),
        "its upper bound; NULL for none, and of an empty range", "upper(int4range(1, 5))", "5";
    isempty(RANGE) -> BOOLEAN, Immutable, Program(F::Range(R::IsEmpty)),
        "whether nothing lies in it", "isempty(int4range(5, 5))", "true";
    lower_inc(RANGE) -> BOOLEAN, Immutable, Program(F::Range(R::LowerInclusive)),
        "whether its lower bound lies in it", "lower_inc(numrange(1, 5))", "true";
    upper_inc(RANGE) -> BOOLEAN, Immutable, Program(F::Range(R::UpperInclusive)),
        "whether its upper bound lies in it", "upper_inc(numrange(1, 5))", "false";
    lower_inf(RANGE) -> BOOLEAN, Immutable, Program(F::Range(R::LowerInfinite)),
        "whether it has no lower bound", "lower_inf('(,5)'::int4range)", "true";
    upper_inf(RANGE) -> BOOLEAN, Immutable, Program(F::Range(R::UpperInfinite)),
        "whether it has no upper bound", "upper_inf('(,5)'::int4range)", "false";
    range_merge(RANGE, RANGE) -> RANGE, Immutable, Program(F::Range(R::Merge)),
        "the smallest range that both lie in", "range_merge(int4range(1, 2), int4range(7, 9))",
        "[1,9)";
    range_union(RANGE, RANGE) -> RANGE, Immutable, Program(F::Range(R::Union)),
        "all of both, as `+`; 22000 where something else lies between them",
        "int4range(1, 5) + int4range(5, 9)", "[1,9)";
    range_intersect(RANGE, RANGE) -> RANGE, Immutable, Program(F::Range(R::Intersection)),
        "what lies in both, as `*`", "int4range(1, 5) * int4range(3, 9)", "[3,5)";
    range_minus(RANGE, RANGE) -> RANGE, Immutable, Program(F::Range(R::Difference)),
        "what lies in the left one only, as `-`; 22000 where that is in two parts",
        "int4range(1, 5) - int4range(3, 9)", "[1,3)";
    "@>" | range_contains(RANGE, RANGE) -> BOOLEAN, Immutable, Program(F::Range(R::Contains)),
        "whether all of the right one lies in the left one",
        "int4range(1, 9) @> int4range(2, 5)", "true";
    "@>" | range_contains_elem(RANGE, IN_RANGE) -> BOOLEAN, Immutable,
        Program(F::Range(R::ContainsElement)),
        "whether a value lies in a range", "int4range(1, 9) @> 8", "true";
    "<@" | range_contained_by(RANGE, RANGE) -> BOOLEAN, Immutable,
        Program(F::Range(R::ContainedBy)),
        "whether all of the left one lies in the right one",
        "int4range(2, 5) <@ int4range(1, 9)", "true";
    "<@" | elem_contained_by_range(IN_RANGE, RANGE) -> BOOLEAN, Immutable,
        Program(F::Range(R::ElementOf)),
        "whether a value lies in a range", "date '2026-11-21' <@ '[2026-11-01,)'::daterange",
        "true";
    "&&" | range_overlaps(RANGE, RANGE) -> BOOLEAN, Immutable, Program(F::Range(R::Overlaps)),
        "whether something lies in both", "int4range(1, 5) && int4range(4, 9)", "true";
    "<<" | range_before(RANGE, RANGE) -> BOOLEAN, Immutable, Program(F::Range(R::Before)),
        "whether the left one ends before the right one begins",
        "int4range(1, 5) << int4range(5, 9)", "true";
    ">>" | range_after(RANGE, RANGE) -> BOOLEAN, Immutable, Program(F::Range(R::After)),
        "whether the left one begins behind the end of the right one",
        "int4range(5, 9) >> int4range(1, 5)", "true";
    "&<" | range_overleft(RANGE, RANGE) -> BOOLEAN, Immutable, Program(F::Range(R::NotBeyond)),
        "whether the left one ends no later than the right one",
        "int4range(1, 5) &< int4range(3, 9)", "true";
    "&>" | range_overright(RANGE, RANGE) -> BOOLEAN, Immutable, Program(F::Range(R::NotBelow)),
        "whether the left one begins no earlier than the right one",
        "int4range(4, 5) &> int4range(3, 9)", "true";
    "-|-" | range_adjacent(RANGE, RANGE) -> BOOLEAN, Immutable, Program(F::Range(R::Adjacent)),
        "whether one ends where the other begins", "int4range(1, 5) -|- int4range(5, 9)", "true";
};
