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

use hotrow_base::ids::PartitionId;
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::granule::{self, LockMode, Space};
use hotrow_transaction::plan::{Granule, Plan};
use hotrow_transaction::routing::{PartitionSet, Place, Routing, RoutingRule};

use crate::schema::Schema;

/// The owners of all granules.
#[derive(Debug)]
pub struct Owners {
    /// none where there is one owner
    routing: Option<Routing>,
    count: u16,
}

/// Who has to be asked before a granule is touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Concern {
    /// nobody: it only announces others, or lies wherever it is read
    Nobody,
    /// its owner
    One(u16),
    /// all owners
    All,
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

    /// Whose a granule of a plan is where owners protect all of what they own at once, so that
    /// tables as wholes have no owner: who announces that it works on some rows of one asks the
    /// owners of these, and who needs the table asks all.
    pub fn concern(&self, catalog: &Catalog, plan: &Plan, granule: &Granule) -> Concern {
        if self.is_replicated(catalog, granule.space) {
            // Whoever writes has all others stand still: they hold at least one partition.
            return match granule.mode {
                LockMode::IntentShared | LockMode::Shared => Concern::Nobody,
                LockMode::IntentExclusive | LockMode::Exclusive => Concern::All,
            };
        }
        match (granule.space, granule.mode) {
            (Space::Table(_), LockMode::IntentShared | LockMode::IntentExclusive) => {
                Concern::Nobody
            }
            (Space::Table(_), _) => Concern::All,
            (Space::Index(_), _) => Concern::One(self.of(catalog, plan, granule)),
        }
    }

    /// The owners that a planned call concerns, at least one: `home`, where its footprint names
    /// none.
    pub fn concerned(&self, catalog: &Catalog, plan: &Plan, home: u16) -> PartitionSet {
        let mut set = PartitionSet::EMPTY;
        for granule in plan.footprint().granules() {
            match self.concern(catalog, plan, granule) {
                Concern::Nobody => {}
                Concern::One(owner) => set.insert(PartitionId(owner)),
                Concern::All => set.insert_all(self.count),
            }
        }
        if set.is_empty() {
            set.insert(PartitionId(home));
        }
        set
    }

    /// Whether a space is of a table that is replicated: read anywhere, written everywhere.
    fn is_replicated(&self, catalog: &Catalog, space: Space) -> bool {
        let Some(routing) = &self.routing else { return false };
        let table = match space {
            Space::Table(table) => table,
            Space::Index(index) => catalog.index(index).table,
        };
        *routing.rule(table) == RoutingRule::Replicated
    }
}
