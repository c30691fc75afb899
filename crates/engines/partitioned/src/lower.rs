//! From plans to sets of partitions.

use hotrow_base::ids::PartitionId;
use hotrow_engine::owners::Owners;
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::granule::{LockMode, Space};
use hotrow_transaction::plan::{Granule, Plan};
use hotrow_transaction::routing::{PartitionSet, RoutingRule};

/// The partitions that a planned call needs, at least one: `home`, where its footprint names none.
///
/// Whoever needs a table as a whole needs all partitions; so who announces that it works on some
/// rows of it need not care: it holds at least one.
pub fn lower(owners: &Owners, catalog: &Catalog, plan: &Plan, home: u16) -> PartitionSet {
    let mut set = PartitionSet::EMPTY;
    for granule in plan.footprint().granules() {
        match owner_of(owners, catalog, plan, granule) {
            Owner::Nobody => {}
            Owner::One(owner) => set.insert(PartitionId(owner)),
            Owner::All => set.insert_all(owners.count()),
        }
    }
    if set.is_empty() {
        set.insert(PartitionId(home));
    }
    set
}

/// Whether a granule is of a table that is replicated: read anywhere, written everywhere.
fn is_replicated(owners: &Owners, catalog: &Catalog, space: Space) -> bool {
    let Some(routing) = owners.routing() else { return false };
    let table = match space {
        Space::Table(table) => table,
        Space::Index(index) => catalog.index(index).table,
    };
    *routing.rule(table) == RoutingRule::Replicated
}

/// Whose a granule is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// it only announces others, or lies wherever it is read
    Nobody,
    /// this partition's
    One(u16),
    /// all of them
    All,
}

/// The owner of a granule of a plan.
pub fn owner_of(owners: &Owners, catalog: &Catalog, plan: &Plan, granule: &Granule) -> Owner {
    if is_replicated(owners, catalog, granule.space) {
        // Whoever writes has all others stand still: they hold at least one partition.
        return match granule.mode {
            LockMode::IntentShared | LockMode::Shared => Owner::Nobody,
            LockMode::IntentExclusive | LockMode::Exclusive => Owner::All,
        };
    }
    match (granule.space, granule.mode) {
        (Space::Table(_), LockMode::IntentShared | LockMode::IntentExclusive) => Owner::Nobody,
        (Space::Table(_), _) => Owner::All,
        (Space::Index(_), _) => Owner::One(owners.of(catalog, plan, granule)),
    }
}
