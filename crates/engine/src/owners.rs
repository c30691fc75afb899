//! Which of an engine's threads owns a granule.
//!
//! Role         for engines that split the lock space among threads, or protect partitions as
//!              wholes: the routing rules split it, and where a granule does not tell the routing
//!              fields, its identity does
//! Invariants   I1 the owner of a granule depends on the granule alone, not on how it is held or by
//!              whom, as long as the schema is the same; it changes at a quiet point only, where
//!              nobody holds anything
//!              I2 so who holds granules that conflict meets at the same owner
//! Source       orthrus.txt 3.1 (the lock space is split among lock threads), 4.3 (partitions) and
//!              4.4 (TPC-C by warehouse)

use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::granule::{self, Space};
use hotrow_transaction::plan::{Granule, Plan};
use hotrow_transaction::routing::{Place, Routing};

use crate::schema::Schema;

/// The owners of all granules.
#[derive(Debug)]
pub struct Owners {
    /// none where there is one owner
    routing: Option<Routing>,
    count: u16,
}

impl Owners {
    /// So many owners share the granules of a schema: 1 to
    /// [`PARTITIONS_MAX`](hotrow_transaction::routing::PARTITIONS_MAX).
    pub fn new(schema: &Schema, count: u16) -> Self {
        let spread = || {
            let spread = schema.routing().clone().spread_over(count);
            spread.expect("settings allow no more than there can be")
        };
        Self { routing: (count > 1).then(spread), count }
    }

    /// How many there are.
    pub fn count(&self) -> u16 {
        self.count
    }

    /// Where granules lie whose keys tell it; none where there is one owner.
    pub fn routing(&self) -> Option<&Routing> {
        self.routing.as_ref()
    }

    /// The owner of a granule of a plan.
    pub fn of(&self, catalog: &Catalog, plan: &Plan, granule: &Granule) -> u16 {
        let Some(routing) = &self.routing else { return 0 };
        let place = match granule.space {
            // Tables as wholes are announced in one mode and locked in another (I1).
            Space::Table(_) => Place::Anywhere,
            Space::Index(_) => routing.place_of_granule(catalog, plan, granule),
        };
        match place {
            Place::Partition(partition) => partition.0,
            Place::Anywhere | Place::Everywhere => granule::one_of(self.count, granule.lock),
        }
    }
}
