//! Aggregates of groups and windows.

use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::program::{AggregateFunction, BitFunction, SlotId};

use super::SortKey;
use crate::ordered::OrderedSet;
use crate::statistics::{Regression, Spread};

/// An aggregate of a group.
#[derive(Clone, Debug)]
pub struct GroupAggregate {
    /// which
    pub function: Aggregation,
    /// of this slot; none for count(*)
    pub argument: Option<SlotId>,
    /// the argument's type
    pub of: SqlType,
    /// of each value once
    pub distinct: bool,
    /// of rows for which this slot is true
    pub filter: Option<SlotId>,
    /// in this order
    pub order: Vec<SortKey>,
    /// what stands before WITHIN GROUP; the same in all rows of a group
    pub direct: Vec<SlotId>,
    /// receives the result
    pub output: SlotId,
    /// of this type
    pub data_type: DataType,
}

/// Aggregate functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aggregation {
    /// one that procedures have, too
    Plain(AggregateFunction),
    /// bool_and, every
    All,
    /// bool_or
    Any,
    /// variances and deviations
    Spread(Spread),
    /// of pairs of numbers, with the slot of the second ones
    Pair(Regression, SlotId),
    /// bit_and, bit_or, bit_xor
    Bits(BitFunction),
    /// range_intersect_agg
    Intersection,
    /// string_agg, with the slot of the separator
    Text(SlotId),
    /// array_agg
    Array,
    /// one WITHIN GROUP
    Ordered(OrderedSet),
    /// json_agg, jsonb_agg
    JsonArray(DataType),
    /// json_agg(row): the rows as a json, a line each
    JsonRows,
    /// json_object_agg, jsonb_object_agg, with the slot of the key
    JsonObject(DataType, SlotId),
}

impl Aggregation {
    /// Whether its value tells in which order rows were added.
    pub fn tells_order(self) -> bool {
        match self {
            Self::Plain(_) | Self::All | Self::Any => false,
            Self::Spread(_) | Self::Pair(..) | Self::Bits(_) | Self::Intersection => false,
            Self::Text(_)
            | Self::Array
            | Self::Ordered(_)
            | Self::JsonArray(_)
            | Self::JsonRows
            | Self::JsonObject(..) => true,
        }
    }
}
