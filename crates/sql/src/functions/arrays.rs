//! Functions of arrays.

use hotrow_transaction::program::{ArrayFunction as A, Extent, Function as F};

use super::row::Evaluation::Program;
use super::row::{FunctionGroup, FunctionRow, Volatility, functions};
use super::signature::{ARRAY, BOOLEAN, ELEMENT, INTEGER, INTEGERS, TEXT, TEXTS, opt};

pub(super) const ARRAYS: FunctionGroup = functions! { "Arrays":
    array_length(ARRAY, INTEGER) -> INTEGER, Immutable,
        Program(F::Array(A::Extent(Extent::Length))),
        "the length of a dimension; NULL where there is none",
        "array_length(ARRAY[4, 5], 1)", "2";
    array_upper(ARRAY, INTEGER) -> INTEGER, Immutable,
        Program(F::Array(A::Extent(Extent::Upper))),
        "the subscript of the last element of a dimension", "array_upper(ARRAY[4, 5], 1)", "2";
    array_lower(ARRAY, INTEGER) -> INTEGER, Immutable,
        Program(F::Array(A::Extent(Extent::Lower))),
        "the subscript of the first element of a dimension", "array_lower(ARRAY[4, 5], 1)", "1";
    array_ndims(ARRAY) -> INTEGER, Immutable, Program(F::Array(A::Extent(Extent::Dimensions))),
        "the number of dimensions; NULL for an empty array", "array_ndims(ARRAY[[4, 5]])", "2";
    array_dims(ARRAY) -> TEXT, Immutable, Program(F::Array(A::Extent(Extent::Text))),
        "the dimensions", "array_dims(ARRAY[[4, 5]])", "[1:1][1:2]";
    cardinality(ARRAY) -> INTEGER, Immutable, Program(F::Cardinality),
        "the number of elements, in all dimensions", "cardinality(ARRAY[[4, 5]])", "2";
    array_to_string(ARRAY, TEXT, opt(TEXT)) -> TEXT, Stable, Program(F::Array(A::Join)),
        "the elements with separators; the last argument stands for NULL",
        "array_to_string(ARRAY[1, 2], '-')", "1-2";
    string_to_array(TEXT, TEXT, opt(TEXT)) -> TEXTS, Immutable, Program(F::Array(A::Split)),
        "the parts between separators, without one the characters; the last argument is NULL",
        "string_to_array('a,b', ',')", "{a,b}";
    array_append(ARRAY, ELEMENT) -> ARRAY, Immutable, Program(F::ArrayAppend),
        "the array with an element behind it", "array_append(ARRAY[1], 2)", "{1,2}";
    array_prepend(ELEMENT, ARRAY) -> ARRAY, Immutable, Program(F::Array(A::Prepend)),
        "the array with an element before it", "array_prepend(1, ARRAY[2])", "{1,2}";
    array_cat(ARRAY, ARRAY) -> ARRAY, Immutable, Program(F::Array(A::Concat)),
        "both arrays in one; one with a dimension less is a part of the other",
        "array_cat(ARRAY[1], ARRAY[2, 3])", "{1,2,3}";
    array_remove(ARRAY, ELEMENT) -> ARRAY, Immutable, Program(F::Array(A::Remove)),
        "the array without the elements that are equal to one",
        "array_remove(ARRAY[1, 2, 1], 1)", "{2}";
    array_replace(ARRAY, ELEMENT, ELEMENT) -> ARRAY, Immutable, Program(F::Array(A::Replace)),
        "the array with another element in the places of those that are equal to one",
        "array_replace(ARRAY[1, 2, 1], 1, 3)", "{3,2,3}";
    array_fill(ELEMENT, INTEGERS, opt(INTEGERS)) -> ARRAY, Immutable, Program(F::Array(A::Fill)),
        "an array of equal elements, of such lengths; the last argument says where they begin",
        "array_fill(7, ARRAY[2, 3])", "{{7,7,7},{7,7,7}}";
    trim_array(ARRAY, INTEGER) -> ARRAY, Immutable, Program(F::Array(A::Trim)),
        "the array without its last elements, or its last parts",
        "trim_array(ARRAY[1, 2, 3], 1)", "{1,2}";
    array_positions(ARRAY, ELEMENT) -> INTEGERS, Immutable, Program(F::Array(A::Positions)),
        "where an element stands, all places", "array_positions(ARRAY['a', 'b', 'a'], 'a')",
        "{1,3}";
    array_position(ARRAY, ELEMENT, opt(INTEGER)) -> INTEGER, Immutable,
        Program(F::Array(A::Position)),
        "where an element first stands, from a place on", "array_position(ARRAY['a', 'b'], 'b')",
        "2";
    "@>"(ARRAY, ARRAY) -> BOOLEAN, Immutable, Program(F::Array(A::Contains)),
        "whether the left array has all elements of the right one",
        "ARRAY[1, 2] @> ARRAY[2]", "true";
    "<@"(ARRAY, ARRAY) -> BOOLEAN, Immutable, Program(F::Array(A::ContainedBy)),
        "whether the right array has all elements of the left one",
        "ARRAY[2] <@ ARRAY[1, 2]", "true";
    "&&"(ARRAY, ARRAY) -> BOOLEAN, Immutable, Program(F::Array(A::Overlaps)),
        "whether the arrays have an element in common", "ARRAY[1, 2] && ARRAY[2, 3]", "true";
};
