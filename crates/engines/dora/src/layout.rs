//! What lies where: tables in ranges, ranges in datasets, datasets in halls.
//!
//! Role         lowers a planned call to the datasets that it visits, and says whom its actions
//!              concern. Made once for each schema, by the first thread that meets it, and shared
//! Invariants   I1 a granule is of one dataset: that of its table and of the range that its routing
//!              fields or, where it does not tell them, its identity fall into
//! Source       dora.txt 4.1.1: routing rules map ranges of routing fields to executors. We differ:
//!              ranges are of the fields' hashes, so that keys in use spread over them by
//!              themselves

use std::sync::Arc;

use hotrow_engine::owners::{Concern, Owners};
use hotrow_engine::schema::Schema;
use hotrow_flow::node::Address;
use hotrow_flow::world::World;
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::granule::{LockMode, LockRequest, Space};
use hotrow_transaction::plan::{Granule, Plan};

use crate::protocol::{Flow, Visit};

/// How datasets are spread over halls.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Spread {
    /// all tables' rows of one range lie together: a call that keeps to one range is one thread's
    #[default]
    Ranges,
    /// the tables' rows of one range lie apart: a call's actions run side by side
    Tables,
}

/// See the module.
pub struct Layout {
    /// tables, procedures, and the ranges of granules
    pub world: Arc<World>,
    /// numbers of tables
    tables: u16,
    /// halls, by dataset
    halls: Vec<Address>,
}

impl Layout {
    /// That of a schema, where each table has so many ranges, in halls at these addresses.
    pub fn new(schema: Arc<Schema>, ranges: u16, spread: Spread, halls: &[Address]) -> Self {
        let tables = schema.catalog.tables().iter().map(|table| table.id.0 + 1).max();
        let tables = tables.unwrap_or(1);
        let hall = |dataset: u16| {
            let (range, table) = (dataset / tables, dataset % tables);
            let at = match spread {
                Spread::Ranges => range,
                // Each round of as many tables as there are halls begins one further on: tables
                // that are far apart in the schema are as often in different halls as neighbours.
                Spread::Tables => range + table + table / halls.len() as u16,
            };
            halls[usize::from(at) % halls.len()]
        };
        let halls = (0..ranges * tables).map(hall).collect();
        Self { world: Arc::new(World::new(schema, ranges)), tables, halls }
    }

    /// The hall of a dataset.
    fn hall(&self, dataset: u16) -> Address {
        self.halls[usize::from(dataset)]
    }

    /// The hall that has all of what lies in a range; none if several have.
    pub fn hall_of_range(&self, range: u16) -> Option<Address> {
        let first = range * self.tables;
        let halls = &self.halls[usize::from(first)..usize::from(first + self.tables)];
        halls.iter().all(|&hall| hall == halls[0]).then(|| halls[0])
    }

    /// The dataset of a table in a range.
    fn dataset(&self, table: u16, range: u16) -> u16 {
        range * self.tables + table
    }

    fn owners(&self) -> &Owners {
        &self.world.owners
    }

    fn table_of(catalog: &Catalog, space: Space) -> u16 {
        match space {
            Space::Table(table) => table.0,
            Space::Index(index) => catalog.index(index).table.0,
        }
    }

    /// The dataset of a granule; all of its table, where that is taken as a whole.
    fn dataset_of(&self, plan: &Plan, granule: &Granule) -> Concern {
        let catalog = &self.world.schema.catalog;
        let table = Self::table_of(catalog, granule.space);
        let is_intent = matches!(granule.mode, LockMode::IntentShared | LockMode::IntentExclusive);
        match granule.space {
            Space::Index(_) => {
                let range = self.owners().of(catalog, plan, granule);
                Concern::One(self.dataset(table, range))
            }
            Space::Table(_) if !is_intent => Concern::All,
            // Who takes the table as a whole takes all its datasets: it is enough to have one.
            Space::Table(table) if catalog.table(table).indexes().next().is_none() => {
                Concern::One(self.dataset(table.0, self.any_range(plan)))
            }
            Space::Table(_) => Concern::Nobody, // the call has datasets by granules of indexes
        }
    }

    /// A range for what may lie anywhere: that of the first of a call's granules which lies
    /// somewhere.
    fn any_range(&self, plan: &Plan) -> u16 {
        let catalog = &self.world.schema.catalog;
        let mut granules = plan.footprint().granules().iter();
        let first = granules.find(|granule| matches!(granule.space, Space::Index(_)));
        first.map_or(0, |granule| self.owners().of(catalog, plan, granule))
    }

    /// The hall of a granule; all, where a table is taken as a whole.
    pub fn hall_of(&self, plan: &Plan, granule: &Granule) -> Concern {
        match self.dataset_of(plan, granule) {
            Concern::One(dataset) => Concern::One(self.hall(dataset)),
            other => other,
        }
    }

    /// Lists what a planned call locks. `own`: the hall for a call that locks nothing.
    pub fn visit_planned<B>(
        &self,
        plan: &Plan,
        own: Address,
        flow: &mut Flow<B>,
        places: &mut Places,
    ) {
        let catalog = &self.world.schema.catalog;
        places.clear();
        for granule in plan.footprint().granules() {
            let lock = LockRequest::new(granule.lock, granule.mode);
            match self.dataset_of(plan, granule) {
                Concern::Nobody => {}
                Concern::One(dataset) => {
                    places.push((self.hall(dataset), dataset, false, Some(lock)));
                }
                Concern::All => {
                    let table = Self::table_of(catalog, granule.space);
                    let all = (0..self.owners().count()).map(|range| self.dataset(table, range));
                    places.extend(all.map(|dataset| (self.hall(dataset), dataset, true, None)));
                }
            }
        }
        self.visit(own, flow, places);
    }

    /// Has a call have all datasets to itself.
    pub fn visit_all<B>(&self, own: Address, flow: &mut Flow<B>, places: &mut Places) {
        places.clear();
        let all = (0..).zip(&self.halls).map(|(dataset, &hall)| (hall, dataset, true, None));
        places.extend(all);
        self.visit(own, flow, places);
    }

    fn visit<B>(&self, own: Address, flow: &mut Flow<B>, places: &mut Places) {
        // Who wants all of a dataset comes before those who want some of it, who need not then.
        places.sort_unstable_by_key(|&(hall, dataset, whole, _)| (hall, dataset, !whole));
        flow.locks.clear();
        flow.visits.clear();
        flow.halls.clear();
        for &(hall, dataset, whole, lock) in &*places {
            let begin = flow.locks.len() as u32;
            match flow.visits.last_mut() {
                Some(last) if last.dataset == dataset => {
                    if let Some(lock) = lock.filter(|_| !last.whole) {
                        flow.locks.push(lock);
                        last.locks.end += 1;
                    }
                }
                _ => {
                    flow.locks.extend(lock);
                    let end = flow.locks.len() as u32;
                    flow.visits.push(Visit::new(dataset, hall, whole, begin..end));
                }
            }
            if flow.halls.last() != Some(&hall) {
                flow.halls.push(hall);
            }
        }
        if flow.halls.is_empty() {
            flow.halls.push(own);
        }
    }
}

/// Memory of a call being laid out: hall, dataset, whether all of it is wanted, or which lock.
pub type Places = Vec<(Address, u16, bool, Option<LockRequest>)>;
