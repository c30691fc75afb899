//! Functions of json and jsonb.

use hotrow_base::json::{JsonFunction as J, PathFunction as P};
use hotrow_base::types::DataType as T;
use hotrow_query::HostFunction as H;
use hotrow_transaction::program::Function as F;

use super::row::Evaluation::{Host, Program, Syntax, Values};
use super::row::{
    FunctionGroup, FunctionRow, SyntaxForm as S, ValueForm as V, Volatility, functions,
};
use super::signature::{
    ANY, ARRAY, BOOLEAN, INTEGER, JSON as JSON_, JSONB, RECORD, TEXT, TEXTS, many, opt,
};

pub(super) const JSON: FunctionGroup = functions! { "json and jsonb":
    json_typeof(JSON_) -> TEXT, Immutable, Program(F::Json(J::TypeOf)),
        "object, array, string, number, boolean or null", "json_typeof('[1]'::json)", "array";
    jsonb_typeof(JSONB) -> TEXT, Immutable, Program(F::Json(J::TypeOf)),
        "object, array, string, number, boolean or null", "jsonb_typeof('{}')", "object";
    json_array_length(JSON_) -> INTEGER, Immutable, Program(F::Json(J::ArrayLength)),
        "the number of elements", "json_array_length('[1, 2]')", "2";
    jsonb_array_length(JSONB) -> INTEGER, Immutable, Program(F::Json(J::ArrayLength)),
        "the number of elements", "jsonb_array_length('[1, 2, 3]')", "3";
    json_strip_nulls(JSON_) -> JSON_, Immutable, Program(F::Json(J::StripNulls)),
        "without fields that are null", "json_strip_nulls('{\"a\":1,\"b\":null}')", "{\"a\":1}";
    jsonb_strip_nulls(JSONB) -> JSONB, Immutable, Program(F::Json(J::StripNulls)),
        "without fields that are null", "jsonb_strip_nulls('{\"a\":1,\"b\":null}')", "{\"a\": 1}";
    jsonb_pretty(JSONB) -> TEXT, Immutable, Program(F::Json(J::Pretty)),
        "in lines, indented", "length(jsonb_pretty('[1]'))", "9";
    json_extract_path(JSON_, TEXT, many(TEXT)) -> JSON_, Immutable, Program(F::Json(J::Path)),
        "what stands at these keys and numbers, as `#>`",
        "json_extract_path('{\"a\":[5]}', 'a', '0')", "5";
    jsonb_extract_path(JSONB, TEXT, many(TEXT)) -> JSONB, Immutable, Program(F::Json(J::Path)),
        "what stands at these keys and numbers, as `#>`",
        "jsonb_extract_path('{\"a\":[5]}', 'a', '0')", "5";
    json_extract_path_text(JSON_, TEXT, many(TEXT)) -> TEXT, Immutable,
        Program(F::Json(J::PathText)),
        "the same as text, as `#>>`", "json_extract_path_text('{\"a\":\"x\"}', 'a')", "x";
    jsonb_extract_path_text(JSONB, TEXT, many(TEXT)) -> TEXT, Immutable,
        Program(F::Json(J::PathText)),
        "the same as text, as `#>>`", "jsonb_extract_path_text('{\"a\":\"x\"}', 'a')", "x";
    jsonb_contains(JSONB, JSONB) -> BOOLEAN, Immutable, Program(F::Json(J::Contains)),
        "whether the left one has all that the right one has, as `@>`",
        "jsonb_contains('{\"a\":1,\"b\":2}', '{\"b\":2}')", "true";
    jsonb_exists(JSONB, TEXT) -> BOOLEAN, Immutable, Program(F::Json(J::HasKey)),
        "whether it has a key, as `?`", "jsonb_exists('{\"a\":1}', 'a')", "true";
    jsonb_exists_any(JSONB, TEXTS) -> BOOLEAN, Immutable, Host(H::Json(J::HasAnyKey, T::Boolean)),
        "whether it has one of the keys, as `?|`",
        "jsonb_exists_any('{\"a\":1}', ARRAY['a', 'b'])", "true";
    jsonb_exists_all(JSONB, TEXTS) -> BOOLEAN, Immutable, Host(H::Json(J::HasAllKeys, T::Boolean)),
        "whether it has all of the keys, as `?&`",
        "jsonb_exists_all('{\"a\":1}', ARRAY['a', 'b'])", "false";
    jsonb_set(JSONB, TEXTS, JSONB, opt(BOOLEAN)) -> JSONB, Immutable,
        Syntax(S::JsonChange(J::Set, true)),
        "with the third at the path; unless the last says no, missing keys are made",
        "jsonb_set('{\"a\":1}', '{a}', '2')", "{\"a\": 2}";
    jsonb_insert(JSONB, TEXTS, JSONB, opt(BOOLEAN)) -> JSONB, Immutable,
        Syntax(S::JsonChange(J::Insert, false)),
        "with the third before the path's place; if the last says so, behind it",
        "jsonb_insert('[1, 3]', '{1}', '2')", "[1, 2, 3]";
    json_build_object(many(ANY)) -> JSON_, Stable, Values(V::BuildJson(J::BuildObject, T::Json)),
        "an object of keys and values in turn", "json_build_object('a', 1)", "{\"a\" : 1}";
    jsonb_build_object(many(ANY)) -> JSONB, Stable, Values(V::BuildJson(J::BuildObject, T::Jsonb)),
        "an object of keys and values in turn", "jsonb_build_object('a', 1)", "{\"a\": 1}";
    json_build_array(many(ANY)) -> JSON_, Stable, Values(V::BuildJson(J::BuildArray, T::Json)),
        "an array of the values", "json_build_array(1, true)", "[1, true]";
    jsonb_build_array(many(ANY)) -> JSONB, Stable, Values(V::BuildJson(J::BuildArray, T::Jsonb)),
        "an array of the values", "jsonb_build_array(1, 'a'::text)", "[1, \"a\"]";
    to_json(ANY) -> JSON_, Stable, Values(V::ToJson(T::Json)),
        "the value as a json", "to_json('a'::text)", "\"a\"";
    to_jsonb(ANY) -> JSONB, Stable, Values(V::ToJson(T::Jsonb)),
        "the value as a jsonb", "to_jsonb(1.5)", "1.5";
    row_to_json(RECORD) -> JSON_, Stable, Values(V::ToJson(T::Json)),
        "a relation's row, or one that is written out, as a json; so do to_json and its kin",
        "row_to_json(ROW(1, 'a'::text))", "{\"f1\":1,\"f2\":\"a\"}";
    json_object(TEXTS, opt(TEXTS)) -> JSON_, Immutable, Host(H::Json(J::Object, T::Json)),
        "an object of keys and values in turn, or of an array of each",
        "json_object('{a,1}')", "{\"a\" : \"1\"}";
    jsonb_object(TEXTS, opt(TEXTS)) -> JSONB, Immutable, Host(H::Json(J::Object, T::Jsonb)),
        "an object of keys and values in turn, or of an array of each",
        "jsonb_object('{a,b}', '{1,NULL}')", "{\"a\": \"1\", \"b\": null}";
    jsonb_path_exists | jsonb_path_exists_tz(JSONB, TEXT, opt(JSONB), opt(BOOLEAN)) -> BOOLEAN,
        Immutable, Host(H::JsonPath(P::Exists)),
        "whether a path of SQL/JSON gives an item. The third: its variables; the last: whether \
         errors are kept quiet",
        "jsonb_path_exists('[1,2]', '$[*] ? (@ > $x)', '{\"x\":1}')", "true";
    jsonb_path_match | jsonb_path_match_tz(JSONB, TEXT, opt(JSONB), opt(BOOLEAN)) -> BOOLEAN,
        Immutable, Host(H::JsonPath(P::Match)),
        "the truth that a path of SQL/JSON gives",
        "jsonb_path_match('{\"a\":1}', '$.a == 1')", "true";
    jsonb_path_query_array | jsonb_path_query_array_tz(JSONB, TEXT, opt(JSONB), opt(BOOLEAN))
        -> JSONB, Immutable, Host(H::JsonPath(P::QueryArray)),
        "the items that a path of SQL/JSON gives",
        "jsonb_path_query_array('[1,2,3]', '$[*] ? (@ >= 2)')", "[2, 3]";
    jsonb_path_query_first | jsonb_path_query_first_tz(JSONB, TEXT, opt(JSONB), opt(BOOLEAN))
        -> JSONB, Immutable, Host(H::JsonPath(P::QueryFirst)),
        "the first item that a path of SQL/JSON gives",
        "jsonb_path_query_first('[1,2,3]', '$[last]')", "3";
    array_to_json(ARRAY) -> JSON_, Stable, Values(V::ToJson(T::Json)),
        "the array as a json", "array_to_json(ARRAY[1, 2])", "[1,2]";
};
