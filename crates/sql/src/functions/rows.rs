//! Functions that give rows.

use hotrow_base::json::PathFunction::Query;
use hotrow_base::json::{JsonRecords as R, JsonRows as J};
use hotrow_query::{HostFunction as H, PatternRows as P};

use super::row::Evaluation::Rows;
use super::row::{FunctionGroup, FunctionRow, Volatility, functions};
use super::signature::{
    ARRAY, BIGINT, BOOLEAN, ELEMENT, INTEGER, INTERVAL, JSON, JSONB, NUMERIC, OID, RECORD, TEXT,
    TEXTS, TIMESTAMP, TIMESTAMPTZ, opt,
};

pub(super) const ROWS: FunctionGroup = functions! { "Functions that give rows":
    generate_series(BIGINT, BIGINT, opt(BIGINT)) -> BIGINT, Immutable, Rows(H::Series),
        "integers from the first to the second, in steps of 1 unless told",
        "(SELECT sum(n) FROM generate_series(1, 4) AS s (n))", "10";
    generate_series(NUMERIC, NUMERIC, opt(NUMERIC)) -> NUMERIC, Immutable, Rows(H::Series),
        "numbers from the first to the second, in steps of 1 unless told",
        "(SELECT sum(n) FROM generate_series(1, 2, 0.5) AS s (n))", "4.5";
    generate_series(TIMESTAMP, TIMESTAMP, INTERVAL) -> TIMESTAMP, Immutable, Rows(H::Series),
        "moments from the first to the second, in steps",
        "(SELECT count(*) FROM generate_series(timestamp '2026-01-01', '2026-01-02', '1 hour'))",
        "25";
    generate_series(TIMESTAMPTZ, TIMESTAMPTZ, INTERVAL) -> TIMESTAMPTZ, Immutable, Rows(H::Series),
        "moments from the first to the second, in steps",
        "(SELECT count(*) FROM generate_series(date '2026-01-01', '2026-01-31', '1 day'))", "31";
    unnest(ARRAY) -> ELEMENT, Immutable, Rows(H::Unnest),
        "the elements, one row each",
        "(SELECT max(x) FROM unnest(ARRAY[3, 5, 4]) AS u (x))", "5";
    generate_subscripts(ARRAY, INTEGER, opt(BOOLEAN)) -> INTEGER, Immutable, Rows(H::Subscripts),
        "the subscripts of a dimension of an array, the last one first where the third \
         argument is true",
        "(SELECT max(n) FROM generate_subscripts(ARRAY['a', 'b'], 1) AS s (n))", "2";
    regexp_matches(TEXT, TEXT, opt(TEXT)) -> TEXTS, Immutable, Rows(H::PatternRows(P::Matches)),
        "the groups of each match, or the whole of it; without flag `g`, of the first one",
        "(SELECT max(m[1]) FROM regexp_matches('a1b22', '[0-9]+', 'g') AS r (m))", "22";
    regexp_split_to_table(TEXT, TEXT, opt(TEXT)) -> TEXT, Immutable,
        Rows(H::PatternRows(P::Split)),
        "the parts between matches, one row each",
        "(SELECT count(*) FROM regexp_split_to_table('a, b;c', '[,;] *'))", "3";
    string_to_table(TEXT, TEXT, opt(TEXT)) -> TEXT, Immutable, Rows(H::Parts),
        "the parts between separators, without one the characters; the last argument is NULL",
        "(SELECT count(*) FROM string_to_table('a,b', ','))", "2";
    json_array_elements(JSON) -> JSON, Immutable, Rows(H::JsonRows(J::Elements)),
        "the elements, one row each",
        "(SELECT count(*) FROM json_array_elements('[1, 2]'))", "2";
    jsonb_array_elements(JSONB) -> JSONB, Immutable, Rows(H::JsonRows(J::Elements)),
        "the elements, one row each",
        "(SELECT sum(value::integer) FROM jsonb_array_elements('[1, 2]'))", "3";
    json_array_elements_text(JSON) -> TEXT, Immutable, Rows(H::JsonRows(J::ElementsText)),
        "the elements as texts, one row each",
        "(SELECT max(value) FROM json_array_elements_text('[\"a\", \"b\"]'))", "b";
    jsonb_array_elements_text(JSONB) -> TEXT, Immutable, Rows(H::JsonRows(J::ElementsText)),
        "the elements as texts, one row each",
        "(SELECT max(value) FROM jsonb_array_elements_text('[\"a\", \"b\"]'))", "b";
    json_each(JSON) -> RECORD, Immutable, Rows(H::JsonRows(J::Each)),
        "the fields, with columns key and value",
        "(SELECT max(key) FROM json_each('{\"a\":1,\"b\":2}'))", "b";
    jsonb_each(JSONB) -> RECORD, Immutable, Rows(H::JsonRows(J::Each)),
        "the fields, with columns key and value",
        "(SELECT sum(value::integer) FROM jsonb_each('{\"a\":1,\"b\":2}'))", "3";
    json_each_text(JSON) -> RECORD, Immutable, Rows(H::JsonRows(J::EachText)),
        "the fields, with their values as texts",
        "(SELECT max(value) FROM json_each_text('{\"a\":1,\"b\":2}'))", "2";
    jsonb_each_text(JSONB) -> RECORD, Immutable, Rows(H::JsonRows(J::EachText)),
        "the fields, with their values as texts",
        "(SELECT max(value) FROM jsonb_each_text('{\"a\":1,\"b\":2}'))", "2";
    json_object_keys(JSON) -> TEXT, Immutable, Rows(H::JsonRows(J::Keys)),
        "the keys, one row each",
        "(SELECT count(*) FROM json_object_keys('{\"a\":1,\"b\":2}'))", "2";
    jsonb_object_keys(JSONB) -> TEXT, Immutable, Rows(H::JsonRows(J::Keys)),
        "the keys, one row each",
        "(SELECT min(k) FROM jsonb_object_keys('{\"a\":1,\"b\":2}') AS o (k))", "a";
    json_to_record(JSON) -> RECORD, Immutable, Rows(H::JsonRecords(R::One)),
        "an object as a row, whose columns are defined where it is called",
        "(SELECT b FROM json_to_record('{\"a\":1,\"b\":\"x\"}') AS r (a integer, b text))", "x";
    jsonb_to_record(JSONB) -> RECORD, Immutable, Rows(H::JsonRecords(R::One)),
        "an object as a row, whose columns are defined where it is called",
        "(SELECT a FROM jsonb_to_record('{\"a\":1,\"b\":\"x\"}') AS r (a integer))", "1";
    json_to_recordset(JSON) -> RECORD, Immutable, Rows(H::JsonRecords(R::Each)),
        "an array of objects as rows, whose columns are defined where it is called",
        "(SELECT sum(a) FROM json_to_recordset('[{\"a\":1},{\"a\":2}]') AS r (a integer))", "3";
    jsonb_to_recordset(JSONB) -> RECORD, Immutable, Rows(H::JsonRecords(R::Each)),
        "an array of objects as rows, whose columns are defined where it is called",
        "(SELECT sum(a) FROM jsonb_to_recordset('[{\"a\":1},{\"a\":2}]') AS r (a integer))", "3";
    json_populate_record(RECORD, JSON) -> RECORD, Immutable, Rows(H::JsonRecords(R::One)),
        "an object over a row, or over NULL::table: what it has no field for stays; also \
         (f(...)).field, and as a row in PL/pgSQL",
        "(SELECT name FROM json_populate_record(NULL::item, '{\"name\":\"nail\"}'))", "nail";
    jsonb_populate_record(RECORD, JSONB) -> RECORD, Immutable, Rows(H::JsonRecords(R::One)),
        "an object over a row, or over NULL::table: what it has no field for stays",
        "(SELECT price FROM jsonb_populate_record(NULL::item, '{\"price\":\"0.3\"}'))", "0.30";
    json_populate_recordset(RECORD, JSON) -> RECORD, Immutable,
        Rows(H::JsonRecords(R::PopulateEach)),
        "an array of objects over a row each, or over NULL::table",
        "(SELECT sum(id) FROM json_populate_recordset(NULL::item, '[{\"id\":1},{\"id\":2}]'))", "3";
    jsonb_populate_recordset(RECORD, JSONB) -> RECORD, Immutable,
        Rows(H::JsonRecords(R::PopulateEach)),
        "an array of objects over a row each, or over NULL::table",
        "(SELECT max(id) FROM jsonb_populate_recordset(NULL::item, '[{\"id\":1},{\"id\":2}]'))",
        "2";
    jsonb_path_query | jsonb_path_query_tz(JSONB, TEXT, opt(JSONB), opt(BOOLEAN)) -> JSONB,
        Immutable, Rows(H::JsonPath(Query)),
        "the items that a path of SQL/JSON gives, one row each",
        "(SELECT count(*) FROM jsonb_path_query('[1,2,3]', '$[*] ? (@ > 1)'))", "2";
    _pg_expandarray(ARRAY) -> RECORD, Immutable, Rows(H::ExpandArray),
        "the elements x and their numbers n",
        "(SELECT sum(n) FROM _pg_expandarray(ARRAY['a', 'b']))", "3";
    pg_get_keywords() -> RECORD, Stable, Rows(H::Keywords),
        "the keywords of SQL", "(SELECT catcode FROM pg_get_keywords() WHERE word = 'select')",
        "R";
    pg_partition_ancestors(OID) -> OID, Immutable, Rows(H::Itself),
        "a table itself, since there are no partitions",
        "(SELECT count(*) FROM pg_partition_ancestors(1))", "1";
};
