//! Aggregates.

use hotrow_transaction::program::AggregateFunction as F;

use super::row::AggregateForm::{OfQueries, Plain};
use super::row::Evaluation::Aggregate;
use super::row::{FunctionGroup, FunctionRow, Volatility, functions};
use super::signature::{
    ANY, ARRAY, BIGINT, BOOLEAN, INTEGER, INTERVAL, JSON, JSONB, NUMBER, TEXT, many, opt,
};

pub(super) const AGGREGATES: FunctionGroup = functions! { "Aggregates":
    count(opt(ANY)) -> BIGINT, Immutable, Aggregate(Plain(F::Count)),
        "the rows whose value is not NULL; `count(*)`: all rows",
        "(SELECT count(*) FROM item)", "3";
    sum(NUMBER) -> NUMBER, Immutable, Aggregate(Plain(F::Sum)),
        "the sum: bigint of smaller integers, numeric of bigint",
        "(SELECT sum(id) FROM item)", "6";
    sum(INTERVAL) -> INTERVAL, Immutable, Aggregate(Plain(F::Sum)),
        "the sum", "(SELECT sum(id * interval '1 hour') FROM item)", "06:00:00";
    avg(NUMBER) -> NUMBER, Immutable, Aggregate(Plain(F::Avg)),
        "the mean: numeric of integers, double precision of floats",
        "(SELECT avg(id) FROM item)", "2.0000000000000000";
    avg(INTERVAL) -> INTERVAL, Immutable, Aggregate(Plain(F::Avg)),
        "the mean", "(SELECT avg(id * interval '1 hour') FROM item)", "02:00:00";
    min(ANY) -> ANY, Immutable, Aggregate(Plain(F::Min)),
        "the least value", "(SELECT min(name) FROM item)", "bolt";
    max(ANY) -> ANY, Immutable, Aggregate(Plain(F::Max)),
        "the greatest value", "(SELECT max(name) FROM item)", "screw";
    bool_and | every(BOOLEAN) -> BOOLEAN, Immutable, Aggregate(OfQueries),
        "whether all are true", "(SELECT bool_and(id > 1) FROM item)", "false";
    bool_or(BOOLEAN) -> BOOLEAN, Immutable, Aggregate(OfQueries),
        "whether one is true", "(SELECT bool_or(id > 1) FROM item)", "true";
    string_agg(TEXT, TEXT) -> TEXT, Immutable, Aggregate(OfQueries),
        "one behind the other, with separators",
        "(SELECT string_agg(name, ', ' ORDER BY id) FROM item)", "screw, nut, bolt";
    array_agg(ANY) -> ARRAY, Immutable, Aggregate(OfQueries),
        "the values as an array",
        "(SELECT array_to_string(array_agg(name ORDER BY id), ' ') FROM item)", "screw nut bolt";
    json_agg(ANY) -> JSON, Stable, Aggregate(OfQueries),
        "the values as an array of json",
        "(SELECT json_agg(id ORDER BY id) FROM item)", "[1, 2, 3]";
    jsonb_agg(ANY) -> JSONB, Stable, Aggregate(OfQueries),
        "the values as an array of jsonb",
        "(SELECT jsonb_agg(id ORDER BY id DESC) FROM item)", "[3, 2, 1]";
    json_object_agg(ANY, ANY) -> JSON, Stable, Aggregate(OfQueries),
        "an object of keys and values",
        "(SELECT json_object_agg(name, id) FROM item WHERE id = 1)", "{ \"screw\" : 1 }";
    jsonb_object_agg(ANY, ANY) -> JSONB, Stable, Aggregate(OfQueries),
        "an object of keys and values",
        "(SELECT jsonb_object_agg(name, id) FROM item WHERE id < 3)",
        "{\"nut\": 2, \"screw\": 1}";
    grouping(ANY, many(ANY)) -> INTEGER, Immutable, Aggregate(OfQueries),
        "which of these keys a row of GROUPING SETS leaves out, a bit each",
        "(SELECT sum(g) FROM (SELECT grouping(id) AS g FROM item GROUP BY ROLLUP (id)) AS s)", "1";
};
