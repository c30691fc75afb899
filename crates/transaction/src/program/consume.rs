//! What a statement does with the rows that it has found.

use super::{Aggregate, Expr, OrderKey, RowsTo, SlotId};

/// What becomes of matching rows' values.
#[derive(Clone, Debug)]
pub enum Consume {
    /// nothing; FOUND and the row count are still set
    Discard,
    /// SELECT ... INTO, RETURNING ... INTO: values of the first row; all targets NULL when none
    First {
        /// targets and values, over bound slots
        into: Vec<(SlotId, Expr)>,
        /// STRICT: an error (P0002, P0003) unless there is exactly one row
        strict: bool,
        /// ORDER BY that the path's order does not give already; empty: path order
        order_by: Vec<OrderKey>,
        /// rows skipped first; bigint
        offset: Option<Expr>,
    },
    /// aggregates without GROUP BY; always exactly one result
    Aggregate {
        /// aggregates computed over the rows
        aggregates: Vec<Aggregate>,
        /// targets and values, over the aggregates' result slots
        into: Vec<(SlotId, Expr)>,
    },
    /// rows kept for a loop or returned
    Rows {
        /// where they go
        to: RowsTo,
        /// values of each row, over bound slots
        columns: Vec<Expr>,
        /// DISTINCT over `columns`
        distinct: bool,
        /// ORDER BY that the path's order does not give already; empty: path order
        order_by: Vec<OrderKey>,
        /// LIMIT; bigint
        limit: Option<Expr>,
        /// OFFSET; bigint
        offset: Option<Expr>,
        /// which of `columns` says whether a row counts for LIMIT; none: each does. With one, all
        /// rows are kept that are visited until so many have come that count
        counted: Option<u16>,
    },
}

impl Consume {
    /// All rows, in the path's order.
    pub fn all_rows(to: RowsTo, columns: Vec<Expr>) -> Self {
        let (distinct, order_by, limit, offset) = (false, Vec::new(), None, None);
        Self::Rows { to, columns, distinct, order_by, limit, offset, counted: None }
    }

    /// The first rows that a path meets: no more than `limit` says, if it says something.
    pub fn first_rows(to: RowsTo, columns: Vec<Expr>, most: Option<Expr>) -> Self {
        let mut all = Self::all_rows(to, columns);
        if let Self::Rows { limit, .. } = &mut all {
            *limit = most;
        }
        all
    }
}
