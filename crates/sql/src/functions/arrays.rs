//! Functions of arrays.

use hotrow_query::HostFunction as H;

use super::row::Evaluation::{Host, Syntax};
use super::row::{FunctionGroup, FunctionRow, SyntaxForm as S, Volatility, functions};
use super::signature::{ARRAY, ELEMENT, INTEGER, INTEGERS, TEXT, TEXTS, opt};

pub(super) const ARRAYS: FunctionGroup = functions! { "Arrays":
    array_length | array_upper(ARRAY, INTEGER) -> INTEGER, Immutable, Syntax(S::ArrayLength),
        "the number of elements; the second argument is 1", "array_length(ARRAY[4, 5], 1)", "2";
    cardinality(ARRAY) -> INTEGER, Immutable, Syntax(S::Cardinality),
        "the number of elements", "cardinality(ARRAY[4, 5])", "2";
    array_to_string(ARRAY, TEXT, opt(TEXT)) -> TEXT, Stable, Host(H::ArrayToString),
        "the elements with separators; the last argument stands for NULL",
        "array_to_string(ARRAY[1, 2], '-')", "1-2";
    string_to_array(TEXT, TEXT) -> TEXTS, Immutable, Host(H::StringToArray),
        "the parts between separators",
        "array_to_string(string_to_array('a,b', ','), ' ')", "a b";
    array_append(ARRAY, ELEMENT) -> ARRAY, Immutable, Host(H::ArrayAppend),
        "the array with an element behind it", "array_to_string(array_append(ARRAY[1], 2), ',')",
        "1,2";
    array_prepend(ELEMENT, ARRAY) -> ARRAY, Immutable, Host(H::ArrayPrepend),
        "the array with an element before it", "array_to_string(array_prepend(1, ARRAY[2]), ',')",
        "1,2";
    array_cat(ARRAY, ARRAY) -> ARRAY, Immutable, Host(H::ArrayConcat),
        "both arrays in one", "array_to_string(array_cat(ARRAY[1], ARRAY[2, 3]), ',')", "1,2,3";
    array_remove(ARRAY, ELEMENT) -> ARRAY, Immutable, Host(H::ArrayRemove),
        "the array without the elements that are equal to one",
        "array_to_string(array_remove(ARRAY[1, 2, 1], 1), ',')", "2";
    array_replace(ARRAY, ELEMENT, ELEMENT) -> ARRAY, Immutable, Host(H::ArrayReplace),
        "the array with another element in the places of those that are equal to one",
        "array_to_string(array_replace(ARRAY[1, 2, 1], 1, 3), ',')", "3,2,3";
    trim_array(ARRAY, INTEGER) -> ARRAY, Immutable, Host(H::TrimArray),
        "the array without its last elements",
        "array_to_string(trim_array(ARRAY[1, 2, 3], 1), ',')", "1,2";
    array_positions(ARRAY, ELEMENT) -> INTEGERS, Immutable, Host(H::ArrayPositions),
        "where an element stands, all places",
        "array_to_string(array_positions(ARRAY['a', 'b', 'a'], 'a'), ',')", "1,3";
    array_position(ARRAY, ELEMENT) -> INTEGER, Immutable, Host(H::ArrayPosition),
        "where an element first stands", "array_position(ARRAY['a', 'b'], 'b')", "2";
};
