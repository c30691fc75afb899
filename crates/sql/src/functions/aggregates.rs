//! Aggregates.

use hotrow_transaction::program::AggregateFunction as F;

use super::row::AggregateForm::{OfQueries, Plain};
use super::row::Evaluation::Aggregate;
use super::row::{FunctionGroup, FunctionRow, Volatility, functions};
use super::signature::{
    ANY, ARRAY, BIGINT, BOOLEAN, DOUBLE, INTEGER, INTERVAL, JSON, JSONB, NUMBER, RANGE, TEXT, many,
    opt,
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
    variance | var_samp(NUMBER) -> NUMBER, Immutable, Aggregate(OfQueries),
        "the variance of a sample: numeric, double precision of floats",
        "(SELECT variance(id) FROM item)", "1.00000000000000000000";
    var_pop(NUMBER) -> NUMBER, Immutable, Aggregate(OfQueries),
        "the variance of a population",
        "(SELECT var_pop(id) FROM item)", "0.66666666666666666667";
    stddev | stddev_samp(NUMBER) -> NUMBER, Immutable, Aggregate(OfQueries),
        "the deviation of a sample",
        "(SELECT stddev(id) FROM item)", "1.00000000000000000000";
    stddev_pop(NUMBER) -> NUMBER, Immutable, Aggregate(OfQueries),
        "the deviation of a population",
        "(SELECT stddev_pop(id) FROM item)", "0.81649658092772603273";
    bit_and(BIGINT) -> BIGINT, Immutable, Aggregate(OfQueries),
        "the bits that all have; of the type of the values",
        "(SELECT bit_and(id) FROM item)", "0";
    bit_or(BIGINT) -> BIGINT, Immutable, Aggregate(OfQueries),
        "the bits that one has",
        "(SELECT bit_or(id) FROM item)", "3";
    bit_xor(BIGINT) -> BIGINT, Immutable, Aggregate(OfQueries),
        "the bits that an odd number of them has",
        "(SELECT bit_xor(id) FROM item)", "0";
    range_intersect_agg(RANGE) -> RANGE, Immutable, Aggregate(OfQueries),
        "what lies in all ranges",
        "(SELECT range_intersect_agg(int4range(id, 9)) FROM item)", "[3,9)";
    corr(NUMBER, NUMBER) -> DOUBLE, Immutable, Aggregate(OfQueries),
        "the correlation of pairs (y, x)",
        "(SELECT corr(id, id) FROM item)", "1";
    covar_pop(NUMBER, NUMBER) -> DOUBLE, Immutable, Aggregate(OfQueries),
        "the covariance of a population",
        "(SELECT covar_pop(id, id) FROM item)", "0.6666666666666666";
    covar_samp(NUMBER, NUMBER) -> DOUBLE, Immutable, Aggregate(OfQueries),
        "the covariance of a sample",
        "(SELECT covar_samp(id, id) FROM item)", "1";
    regr_slope(NUMBER, NUMBER) -> DOUBLE, Immutable, Aggregate(OfQueries),
        "the slope of the line through pairs (y, x)",
        "(SELECT regr_slope(id, id) FROM item)", "1";
    regr_intercept(NUMBER, NUMBER) -> DOUBLE, Immutable, Aggregate(OfQueries),
        "where that line meets the y axis",
        "(SELECT regr_intercept(id, id) FROM item)", "0";
    regr_r2(NUMBER, NUMBER) -> DOUBLE, Immutable, Aggregate(OfQueries),
        "the square of the correlation",
        "(SELECT regr_r2(id, id) FROM item)", "1";
    regr_avgx(NUMBER, NUMBER) -> DOUBLE, Immutable, Aggregate(OfQueries),
        "the mean of x, where both are there",
        "(SELECT regr_avgx(id, id) FROM item)", "2";
    regr_avgy(NUMBER, NUMBER) -> DOUBLE, Immutable, Aggregate(OfQueries),
        "the mean of y, where both are there",
        "(SELECT regr_avgy(id, id) FROM item)", "2";
    regr_sxx(NUMBER, NUMBER) -> DOUBLE, Immutable, Aggregate(OfQueries),
        "the sum of squares of x from its mean",
        "(SELECT regr_sxx(id, id) FROM item)", "2";
    regr_syy(NUMBER, NUMBER) -> DOUBLE, Immutable, Aggregate(OfQueries),
        "the sum of squares of y from its mean",
        "(SELECT regr_syy(id, id) FROM item)", "2";
    regr_sxy(NUMBER, NUMBER) -> DOUBLE, Immutable, Aggregate(OfQueries),
        "the sum of products from both means",
        "(SELECT regr_sxy(id, id) FROM item)", "2";
    regr_count(NUMBER, NUMBER) -> BIGINT, Immutable, Aggregate(OfQueries),
        "the pairs of which both are there",
        "(SELECT regr_count(id, id) FROM item)", "3";
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
    percentile_cont(DOUBLE, NUMBER) -> DOUBLE, Immutable, Aggregate(OfQueries),
        "the value below which this share of values lies, between two of them where it falls so; \
         `WITHIN GROUP (ORDER BY value)`; of several shares as an array; of intervals, too",
        "(SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY id) FROM item)", "1.5";
    percentile_disc(DOUBLE, ANY) -> ANY, Immutable, Aggregate(OfQueries),
        "the first value with this share of values up to it; `WITHIN GROUP (ORDER BY value)`",
        "(SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY name) FROM item)", "nut";
    mode(ANY) -> ANY, Immutable, Aggregate(OfQueries),
        "the value that is there most often; `WITHIN GROUP (ORDER BY value)`",
        "(SELECT mode() WITHIN GROUP (ORDER BY id / 2) FROM item)", "1";
    grouping(ANY, many(ANY)) -> INTEGER, Immutable, Aggregate(OfQueries),
        "which of these keys a row of GROUPING SETS leaves out, a bit each",
        "(SELECT sum(g) FROM (SELECT grouping(id) AS g FROM item GROUP BY ROLLUP (id)) AS s)", "1";
};
