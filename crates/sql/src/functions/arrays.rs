//! Functions of arrays.

use hotrow_query::HostFunction as H;

use super::row::Evaluation::{Host, Syntax};
use super::row::{FunctionGroup, FunctionRow, SyntaxForm as S, Volatility, functions};
use super::signature::{ARRAY, ELEMENT, INTEGER, TEXT, TEXTS, opt};

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
    array_position(ARRAY, ELEMENT) -> INTEGER, Immutable, Host(H::ArrayPosition),
        "where an element first stands", "array_position(ARRAY['a', 'b'], 'b')", "2";
};
