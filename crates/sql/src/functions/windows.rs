//! Window functions, beside which all aggregates are window functions, too.

use super::row::Evaluation::Window;
use super::row::{FunctionGroup, FunctionRow, Volatility, WindowForm as W, functions};
use super::signature::{ANY, BIGINT, DOUBLE, INTEGER, opt};

pub(super) const WINDOWS: FunctionGroup = functions! { "Window functions":
    row_number() -> BIGINT, Immutable, Window(W::RowNumber),
        "the number of the row, from 1",
        "(SELECT sum(n) FROM (SELECT row_number() OVER (ORDER BY id) AS n FROM item) AS w)", "6";
    rank() -> BIGINT, Immutable, Window(W::Rank),
        "the number of the first of the rows that are tied with it",
        "(SELECT sum(n) FROM (SELECT rank() OVER (ORDER BY id / 2) AS n FROM item) AS w)", "5";
    dense_rank() -> BIGINT, Immutable, Window(W::DenseRank),
        "the number of those that are tied with it, among such",
        "(SELECT max(n) FROM (SELECT dense_rank() OVER (ORDER BY id / 2) AS n FROM item) AS w)",
        "2";
    percent_rank() -> DOUBLE, Immutable, Window(W::PercentRank),
        "the rank, from 0 to 1",
        "(SELECT sum(n) FROM (SELECT percent_rank() OVER (ORDER BY id) AS n FROM item) AS w)",
        "1.5";
    cume_dist() -> DOUBLE, Immutable, Window(W::CumeDist),
        "which part of the rows comes before it or with it",
        "(SELECT max(n) FROM (SELECT cume_dist() OVER (ORDER BY id) AS n FROM item) AS w)", "1";
    ntile(INTEGER) -> INTEGER, Immutable, Window(W::Buckets),
        "the number of its bucket, of so many of about one size",
        "(SELECT max(n) FROM (SELECT ntile(2) OVER (ORDER BY id) AS n FROM item) AS w)", "2";
    lag(ANY, opt(INTEGER), opt(ANY)) -> ANY, Immutable, Window(W::Lag),
        "the value so many rows before, 1 unless told; the last argument where there is none",
        "(SELECT sum(n) FROM (SELECT lag(id) OVER (ORDER BY id) AS n FROM item) AS w)", "3";
    lead(ANY, opt(INTEGER), opt(ANY)) -> ANY, Immutable, Window(W::Lead),
        "the value so many rows behind, 1 unless told; the last argument where there is none",
        "(SELECT sum(n) FROM (SELECT lead(id, 1, 0) OVER (ORDER BY id) AS n FROM item) AS w)", "5";
    first_value(ANY) -> ANY, Immutable, Window(W::First),
        "the value of the frame's first row",
        "(SELECT max(n) FROM (SELECT first_value(id) OVER (ORDER BY id) AS n FROM item) AS w)",
        "1";
    last_value(ANY) -> ANY, Immutable, Window(W::Last),
        "the value of the frame's last row",
        "(SELECT sum(n) FROM (SELECT last_value(id) OVER (ORDER BY id) AS n FROM item) AS w)", "6";
    nth_value(ANY, INTEGER) -> ANY, Immutable, Window(W::Nth),
        "the value of the frame's row of that number",
        "(SELECT max(n) FROM (SELECT nth_value(id, 2) OVER (ORDER BY id) AS n FROM item) AS w)",
        "2";
};
