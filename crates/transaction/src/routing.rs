//! Routing rules: which partition a key, a granule or a row belongs to.
//!
//! Role         for engines whose threads own parts of the data (partitions, datasets, lock
//!              threads' shares). A rule per table names its **routing fields**, a prefix of the
//!              primary key, and how their value maps to a partition. Rules are inferred from the
//!              registered procedures like granules, and change only at a quiet point.
//! Invariants   I1 every partition that execution touches inside a planned footprint is one that
//!              [`Routing::partitions`] names for it
//!              I2 routing fields are told by all granules of the primary index, unless a
//!              declaration says otherwise; a granule that does not tell them lies everywhere
//! Source       dora.txt 4.1.1 (routing rules, routing fields) and 4.2.2 (secondary indexes);
//!              partitioned.txt 2.1 to 3.1 (single- and multi-partition transactions); orthrus.txt
//!              3.1 and 4 (lock space split over threads); lads.txt 4.2 (key ranges). We differ
//!              from DORA: nobody writes the rules, and a table that no procedure writes needs
//!              none, as in H-Store's replicated tables.

mod explain;
mod infer;
mod place;
mod program;
mod set;
mod sites;
#[cfg(test)]
mod tests;

use hotrow_base::ids::{IndexId, PartitionId, TableId};
use hotrow_base::key;

use crate::catalog::Catalog;
use crate::granule::Granules;
use crate::program::Procedure;

pub use explain::{explain_procedure, explain_site};
pub use place::Place;
pub use program::{Lies, RoutingProgram};
pub use set::PartitionSet;

/// Most partitions a routing may have; a [`PartitionSet`] has a bit for each.
pub const PARTITIONS_MAX: u16 = 1024;

/// How the values of routing fields are hashed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hashing {
    /// any fields, by [`key::hash`] of their bytes
    Mixed,
    /// one integer, by multiples of the golden ratio: as many numbers in a row as there are
    /// partitions, or a few more, fall into different ones. Numbers of warehouses and branches are
    /// few and consecutive, and mixed hashes of 4 fall into 3 of 4 partitions or less.
    Even,
}

/// How the values of routing fields map to partitions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mapping {
    /// by a hash of the fields' bytes
    Hash,
    /// by boundaries over the fields' memcomparable bytes, ascending: a value belongs to partition
    /// `n` when it is not below exactly `n` of them. A boundary may be any bytes, a key or not.
    Ranges(Box<[Box<[u8]>]>),
}

/// Where the rows of one table lie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RoutingRule {
    /// no registered procedure writes it, or it is declared so (`WITH (routing =
    /// 'replicated')`): it may be read in every partition, and whoever writes it has all of them
    Replicated,
    /// it has no primary key: a row stays in the partition that inserted it
    Unkeyed,
    /// by routing fields
    Fields {
        /// how many leading columns of the primary key they are; 0: one partition has all rows
        parts: u8,
        /// how their value is hashed, where it is
        hashing: Hashing,
        /// the map from their value
        mapping: Mapping,
    },
}

/// What becomes of entries of secondary indexes whose granules do not tell the routing fields.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SecondaryEntries {
    /// an entry lies with its row, so that whoever looks for one asks every partition (H-Store)
    #[default]
    WithRows,
    /// the index is shared by all partitions; it sends on to the rows, whose own granules
    /// reconnaissance finds (DORA's secondary actions)
    Shared,
}

/// Why boundaries were refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RoutingError {
    /// a routing has 1 to [`PARTITIONS_MAX`] partitions
    #[error("{0} partitions: there can be 1 to {PARTITIONS_MAX}")]
    Partitions(u16),
    /// n partitions have n - 1 boundaries
    #[error("{given} boundaries for {partitions} partitions, which have one less than they are")]
    Count {
        /// boundaries given
        given: usize,
        /// partitions of the routing
        partitions: u16,
    },
    /// boundaries descend
    #[error("boundary {0} is below the one before it")]
    Order(usize),
    /// the table is not routed by fields
    #[error("the table has no routing fields")]
    NoFields,
}

/// Where an index's keys keep the routing fields of their table.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Carried {
    /// in front, in order
    Leading,
    /// at these key columns
    At(Box<[u8]>),
    /// not all of them are there
    Not,
}

/// What one index tells.
#[derive(Clone, PartialEq, Eq, Debug)]
struct IndexRoute {
    table: TableId,
    is_primary: bool,
    /// by whole keys
    entry: Carried,
    /// whether granules tell as much
    by_granule: bool,
}

impl IndexRoute {
    /// What nobody asks about any more.
    const DROPPED: Self =
        Self { table: TableId(0), is_primary: false, entry: Carried::Not, by_granule: false };
}

/// The rules of all tables, for a number of partitions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routing {
    partitions: u16,
    secondary: SecondaryEntries,
    rules: Vec<RoutingRule>,
    indexes: Vec<IndexRoute>,
}

impl Routing {
    /// Infers the rules for a set of procedures: the longest prefixes of the primary keys that all
    /// granules tell and that keep as many procedures as possible in one partition; a declared
    /// prefix (`WITH (routing = ...)`) stands. One partition, hashed, until
    /// [`Routing::spread_over`].
    pub fn infer<'a>(
        catalog: &Catalog,
        granules: &Granules,
        procedures: impl IntoIterator<Item = &'a Procedure>,
    ) -> Self {
        let rules = infer::rules(catalog, granules, procedures);
        let route = |at| match catalog.indexes().at(at) {
            Some(index) => place::route(catalog, granules, &rules, index),
            None => IndexRoute::DROPPED,
        };
        let indexes = (0..catalog.indexes().len()).map(route).collect();
        Self { partitions: 1, secondary: SecondaryEntries::default(), rules, indexes }
    }

    /// The same rules for this many partitions; all tables are hashed again.
    pub fn spread_over(mut self, partitions: u16) -> Result<Self, RoutingError> {
        if !(1..=PARTITIONS_MAX).contains(&partitions) {
            return Err(RoutingError::Partitions(partitions));
        }
        self.partitions = partitions;
        for rule in &mut self.rules {
            if let RoutingRule::Fields { mapping, .. } = rule {
                *mapping = Mapping::Hash;
            }
        }
        Ok(self)
    }

    /// The same rules with other care for secondary indexes.
    pub fn with_secondary(mut self, secondary: SecondaryEntries) -> Self {
        self.secondary = secondary;
        self
    }

    /// The same rules, but for a table by ranges: one boundary less than partitions, ascending.
    /// Two equal boundaries leave the partition between them empty. Tables whose rows shall meet
    /// in one partition need the same boundaries.
    pub fn with_ranges(
        mut self,
        table: TableId,
        boundaries: Vec<Box<[u8]>>,
    ) -> Result<Self, RoutingError> {
        let RoutingRule::Fields { mapping, .. } = &mut self.rules[table.index()] else {
            return Err(RoutingError::NoFields);
        };
        if boundaries.len() + 1 != self.partitions as usize {
            let (given, partitions) = (boundaries.len(), self.partitions);
            return Err(RoutingError::Count { given, partitions });
        }
        if let Some(at) = boundaries.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(RoutingError::Order(at + 1));
        }
        *mapping = Mapping::Ranges(boundaries.into());
        Ok(self)
    }

    /// How many partitions there are.
    pub fn partition_count(&self) -> u16 {
        self.partitions
    }

    /// The rule of a table.
    pub fn rule(&self, table: TableId) -> &RoutingRule {
        &self.rules[table.index()]
    }

    /// How many columns in front of an index's keys are the routing fields of its table, all of
    /// them and in order, and how they are hashed; none where something else is in front, or
    /// nothing decides.
    pub fn leading_fields(&self, index: IndexId) -> Option<(usize, Hashing)> {
        let route = self.index_route(index);
        match (self.rule(route.table), &route.entry) {
            (&RoutingRule::Fields { parts: parts @ 1.., hashing, .. }, Carried::Leading) => {
                Some((parts.into(), hashing))
            }
            _ => None,
        }
    }

    /// Whether a row's own granule tells the routing fields of its table, so that whoever changes
    /// the row holds a granule that lies in the row's partition only.
    pub fn granules_tell(&self, table: TableId) -> bool {
        self.indexes
            .iter()
            .any(|route| route.table == table && route.is_primary && route.by_granule)
    }

    /// Whether rows of two tables with equal routing fields lie in one partition.
    pub fn alike(&self, catalog: &Catalog, a: TableId, b: TableId) -> bool {
        let (one, other) = (self.rule(a), self.rule(b));
        match (one, other) {
            (RoutingRule::Fields { parts, .. }, RoutingRule::Fields { .. }) => {
                one == other && sites::same_bytes(catalog, a, b, *parts as usize)
            }
            _ => false,
        }
    }
}

impl Mapping {
    /// The partition of routing fields with these bytes.
    #[inline]
    fn partition(&self, hashing: Hashing, fields: &[u8], partitions: u16) -> PartitionId {
        match self {
            Self::Hash => hashing.partition(fields, partitions),
            Self::Ranges(boundaries) => {
                PartitionId(boundaries.partition_point(|boundary| **boundary <= *fields) as u16)
            }
        }
    }
}

/// 2^64 divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hashing {
    /// The partition of routing fields with these bytes, under [`Mapping::Hash`]. The high bits of
    /// a hash choose: indexes use the low ones, and a partition's index would otherwise fill only
    /// some of its buckets.
    #[inline]
    pub fn partition(self, fields: &[u8], partitions: u16) -> PartitionId {
        let hash = match self {
            Self::Mixed => key::hash(fields),
            Self::Even => {
                let number = key::head(fields) >> (64 - 8 * fields.len().clamp(1, 8));
                number.wrapping_mul(GOLDEN)
            }
        };
        PartitionId(((u128::from(hash) * u128::from(partitions)) >> 64) as u16)
    }
}

/// The partition of a row whose routing field is one bigint, under [`Mapping::Hash`]: for whoever
/// makes calls that are to use certain partitions.
#[inline]
pub fn partition_of_bigint(value: i64, partitions: u16) -> PartitionId {
    let ordered = value.cast_unsigned() ^ 1 << 63;
    Hashing::Even.partition(&ordered.to_be_bytes(), partitions)
}

impl Routing {
    fn index_route(&self, index: IndexId) -> &IndexRoute {
        &self.indexes[index.index()]
    }
}
