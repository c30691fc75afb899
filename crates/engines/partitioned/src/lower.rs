//! From plans to sets of partitions.

use hotrow_base::ids::PartitionId;
use hotrow_engine::owners::Owners;
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::granule::{LockMode, Space};
use hotrow_transaction::plan::Plan;
use hotrow_transaction::routing::PartitionSet;

/// The partitions that a planned call needs, at least one: `home`, where its footprint names none.
///
/// Whoever needs a table as a whole needs all partitions; so who announces that it works on some
/// rows of it need not care: it holds at least one.
pub fn lower(owners: &Owners, catalog: &Catalog, plan: &Plan, home: u16) -> PartitionSet {
    let mut set = PartitionSet::EMPTY;
    for granule in plan.footprint().granules() {
        match (granule.space, granule.mode) {
            (Space::Table(_), LockMode::IntentShared | LockMode::IntentExclusive) => {}
            (Space::Table(_), _) => set.insert_all(owners.count()),
            (Space::Index(_), _) => set.insert(PartitionId(owners.of(catalog, plan, granule))),
        }
    }
    if set.is_empty() {
        set.insert(PartitionId(home));
    }
    set
}
