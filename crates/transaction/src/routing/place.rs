//! From key bytes to partitions.

use hotrow_base::ids::{IndexId, PartitionId, TableId};
use hotrow_base::key::{KeyBuffer, KeyError, KeyLayout, KeySink};
use hotrow_base::row::Words;

use super::{Carried, IndexRoute, PartitionSet, Routing, RoutingRule, SecondaryEntries};
use crate::actions::{Action, Batch};
use crate::catalog::{Catalog, Index};
use crate::granule::{Granules, LockMode, Space};
use crate::plan::{Granule, Plan};

/// Where something lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// it needs no partition: every one can read it, or it only announces others
    Anywhere,
    /// one partition has it
    Partition(PartitionId),
    /// every partition may have a part of it
    Everywhere,
}

/// What an index tells, given the rules of all tables.
pub(super) fn route(
    catalog: &Catalog,
    granules: &Granules,
    rules: &[RoutingRule],
    index: &Index,
) -> IndexRoute {
    let primary = catalog.table(index.table).primary;
    let parts = match rules[index.table.index()] {
        RoutingRule::Fields { parts, .. } => parts as usize,
        _ => 0,
    };
    let fields = primary.map_or(&[][..], |primary| &catalog.index(primary).columns[..parts]);
    let at = |column| index.entry_columns.iter().position(|other| other == column);
    let positions: Option<Vec<u8>> =
        fields.iter().map(|column| at(column).map(|at| at as u8)).collect();
    let granule = granules.parts(index.id);
    let (entry, by_granule) = match positions {
        None => (Carried::Not, false),
        Some(at) => {
            let by_granule = at.iter().all(|&at| usize::from(at) < granule);
            let leading = at.iter().enumerate().all(|(i, &at)| usize::from(at) == i);
            (if leading { Carried::Leading } else { Carried::At(at.into()) }, by_granule)
        }
    };
    IndexRoute { table: index.table, is_primary: primary == Some(index.id), entry, by_granule }
}

impl Routing {
    /// Where a granule of a plan lies.
    pub fn place_of_granule(&self, catalog: &Catalog, plan: &Plan, granule: &Granule) -> Place {
        let index = match granule.space {
            Space::Table(table) => return self.place_of_table(table, granule.mode),
            Space::Index(index) => index,
        };
        let route = self.index_route(index);
        match &self.rules[route.table.index()] {
            RoutingRule::Fields { .. } if route.by_granule => {
                self.place(catalog, index, plan.granule_key(granule))
            }
            RoutingRule::Fields { .. } => match self.secondary {
                SecondaryEntries::Shared if !route.is_primary => Place::Anywhere,
                _ => Place::Everywhere,
            },
            RoutingRule::Replicated | RoutingRule::Unkeyed => Place::Anywhere,
        }
    }

    /// Where a table as a whole lies, for who holds it in this mode.
    fn place_of_table(&self, table: TableId, mode: LockMode) -> Place {
        match (mode, &self.rules[table.index()]) {
            (LockMode::IntentShared | LockMode::IntentExclusive, _) => Place::Anywhere,
            (_, &RoutingRule::Fields { parts: 0, hashing, ref mapping }) => {
                Place::Partition(mapping.partition(hashing, &[], self.partitions))
            }
            (_, RoutingRule::Fields { .. } | RoutingRule::Unkeyed) => Place::Everywhere,
            (_, RoutingRule::Replicated) => Place::Anywhere,
        }
    }

    /// Where the entry (or the row, in a primary index) with this whole key lies: a planned key
    /// ([`Plan::key`]) or one made from a row. The entry of a unique secondary index may not carry
    /// the routing fields; then only its row tells ([`Routing::place_of_row`]).
    pub fn place_of_key(&self, catalog: &Catalog, index: IndexId, key: &[u8]) -> Place {
        let route = self.index_route(index);
        match (&self.rules[route.table.index()], &route.entry) {
            (RoutingRule::Fields { .. }, Carried::Not) => match self.secondary {
                SecondaryEntries::Shared => Place::Anywhere,
                SecondaryEntries::WithRows => Place::Everywhere,
            },
            (RoutingRule::Fields { .. }, _) => self.place(catalog, index, key),
            (RoutingRule::Replicated | RoutingRule::Unkeyed, _) => Place::Anywhere,
        }
    }

    /// Where a row lies, by its primary key. Fails as encoding its key does.
    pub fn place_of_row<W: Words + ?Sized>(
        &self,
        catalog: &Catalog,
        table: TableId,
        row: &W,
    ) -> Result<Place, KeyError> {
        let Some(primary) = catalog.table(table).primary else { return Ok(Place::Anywhere) };
        let index = catalog.index(primary);
        let mut key = KeyBuffer::new();
        index.key.encode_from_row(&index.fields, row, &mut key)?;
        Ok(self.place_of_key(catalog, primary, &key))
    }

    /// Adds where a call's footprint lies to `set`. Nothing added: any one partition will do.
    /// More than one: the call is multi-partition. A set for what a plan says of rows that
    /// reconnaissance found is as good a guess as the plan itself.
    pub fn partitions(&self, catalog: &Catalog, plan: &Plan, set: &mut PartitionSet) {
        for granule in plan.footprint().granules() {
            self.add(self.place_of_granule(catalog, plan, granule), set);
        }
    }

    /// Adds where the granules of an action lie to `set`, as [`Routing::partitions`].
    pub fn partitions_of_action(
        &self,
        catalog: &Catalog,
        batch: &Batch,
        action: &Action,
        set: &mut PartitionSet,
    ) {
        for granule in batch.uses(action) {
            self.add(self.place_of_granule(catalog, &batch.plan, granule), set);
        }
    }

    fn add(&self, place: Place, set: &mut PartitionSet) {
        match place {
            Place::Anywhere => {}
            Place::Partition(partition) => set.insert(partition),
            Place::Everywhere => set.insert_all(self.partitions),
        }
    }

    /// The place of bytes that carry the routing fields.
    fn place(&self, catalog: &Catalog, index: IndexId, key: &[u8]) -> Place {
        let route = self.index_route(index);
        let &RoutingRule::Fields { parts, hashing, ref mapping } = &self.rules[route.table.index()]
        else {
            return Place::Anywhere;
        };
        let layout = &catalog.index(index).key;
        let partition = match &route.entry {
            Carried::At(at) => {
                let mut fields = KeyBuffer::new();
                at.iter().for_each(|&at| fields.put_slice(part(layout, key, at as usize)));
                mapping.partition(hashing, &fields, self.partitions)
            }
            _ => {
                let len = layout.prefix_bytes(key, parts.into());
                mapping.partition(hashing, &key[..len], self.partitions)
            }
        };
        Place::Partition(partition)
    }
}

/// The bytes of one part of a key.
fn part<'k>(layout: &KeyLayout, key: &'k [u8], at: usize) -> &'k [u8] {
    &key[layout.prefix_bytes(key, at)..layout.prefix_bytes(key, at + 1)]
}
