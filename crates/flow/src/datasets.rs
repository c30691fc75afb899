//! Datasets: the rows of one range of one table, and which node executes on them.
//!
//! Role         for engines whose threads own data table by table: says in which dataset a granule
//!              lies, and where that is. Made once for each schema, and shared by all threads.
//!              Datasets may move while calls are on their way: which ones should, [`balance`]
//!              says; who has one, and who has to be sent on, [`held`]
//! Invariants   I1 a granule is of one dataset: that of its table and of the range that its routing
//!              fields or, where it does not tell them, its identity fall into
//!              I2 all of one call is planned by one [`View`] of where datasets are
//! Concurrency  where a dataset is -> written by the node that gives it away, read by any thread,
//!              perhaps late: that node sends on whoever comes for it
//! Source       dora.txt 4.1.1: routing rules map ranges of routing fields to executors. We differ:
//!              ranges are of the fields' hashes, so that keys in use spread over them by
//!              themselves

pub mod balance;
pub mod held;

use hotrow_base::sync::facade::atomic::{AtomicU16, AtomicU64, Ordering};
use std::ops::{Deref, Range};
use std::sync::Arc;

use hotrow_engine::owners::{Concern, Owners};
use hotrow_engine::schema::Schema;
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::granule::{LockMode, LockRequest, Space};
use hotrow_transaction::plan::{Granule, Plan};

use crate::node::Address;
use crate::world::World;

/// How datasets are spread over executors.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Spread {
    /// all tables' rows of one range lie together: a call that keeps to one range is one thread's
    #[default]
    Ranges,
    /// the tables' rows of one range lie apart: a call's actions run side by side
    Tables,
}

/// The datasets of a schema's tables, by number: range by range, and table by table in each.
pub struct Layout {
    /// this one's, unlike any other's of the engine
    pub number: u64,
    /// tables, procedures, and the ranges of granules
    pub world: Arc<World>,
    /// numbers of tables
    tables: u16,
    spread: Spread,
    /// by dataset: where it is at first, and now
    first: Vec<Address>,
    now: Vec<AtomicU16>,
    /// how often one has moved
    moves: AtomicU64,
}

impl Layout {
    /// That of a schema, where each table has so many ranges, at these executors.
    pub fn new(
        number: u64,
        schema: Arc<Schema>,
        (ranges, spread): (u16, Spread),
        executors: &[Address],
    ) -> Self {
        let tables = schema.catalog.tables().iter().map(|table| table.id.0 + 1).max();
        let tables = tables.unwrap_or(1);
        let executor = |dataset: u16| {
            let (range, table) = (dataset / tables, dataset % tables);
            let at = match spread {
                Spread::Ranges => range,
                // Each round of as many tables as there are executors begins one further on: tables
                // that are far apart in the schema are as often at different ones as neighbours.
                Spread::Tables => range + table + table / executors.len() as u16,
            };
            executors[usize::from(at) % executors.len()]
        };
        let first: Vec<_> = (0..ranges * tables).map(executor).collect();
        let now = first.iter().map(|&executor| AtomicU16::new(executor)).collect();
        let (world, moves) = (Arc::new(World::new(schema, ranges)), AtomicU64::new(0));
        Self { number, world, tables, spread, first, now, moves }
    }

    /// Where a dataset is at first.
    pub fn first_executor(&self, dataset: u16) -> Address {
        self.first[usize::from(dataset)]
    }

    /// A dataset is elsewhere from now on.
    pub fn note_move(&self, dataset: u16, to: Address) {
        self.now[usize::from(dataset)].store(to, Ordering::Relaxed); // see `View::look_again`
        self.moves.fetch_add(1, Ordering::Relaxed);
    }

    /// The datasets, and where they are; those that are to lie together are in one item.
    pub fn places(&self) -> impl Iterator<Item = (Range<u16>, Address)> {
        let step = match self.spread {
            Spread::Ranges => self.tables,
            Spread::Tables => 1,
        };
        let executor = |first: u16| self.now[usize::from(first)].load(Ordering::Relaxed);
        let firsts = (0..self.first.len() as u16).step_by(step.into());
        firsts.map(move |first| (first..first + step, executor(first)))
    }
}

/// Where the datasets of a layout are, as a thread has seen it last.
pub struct View {
    layout: Arc<Layout>,
    executors: Vec<Address>,
    moves: u64,
}

impl Deref for View {
    type Target = Arc<Layout>;

    fn deref(&self) -> &Arc<Layout> {
        &self.layout
    }
}

impl View {
    /// That of a layout.
    pub fn of(layout: Arc<Layout>) -> Self {
        let mut view = Self { executors: layout.first.clone(), layout, moves: 0 };
        view.look_again();
        view
    }

    /// Looks whether datasets have moved. None of the calls that it has planned is left to plan.
    pub fn look_again(&mut self) {
        let Self { layout, executors, moves } = self;
        // Relaxed: whoever asks where a dataset was is sent on.
        let moved = layout.moves.load(Ordering::Relaxed);
        if std::mem::replace(moves, moved) != moved {
            for (executor, now) in executors.iter_mut().zip(&layout.now) {
                *executor = now.load(Ordering::Relaxed);
            }
        }
    }

    /// By dataset: where it is.
    pub fn executors(&self) -> &[Address] {
        &self.executors
    }

    /// Where all is that lies in a range; none if it is in several places.
    pub fn executor_of_range(&self, range: u16) -> Option<Address> {
        let first = range * self.tables;
        let all = &self.executors[usize::from(first)..usize::from(first + self.tables)];
        all.iter().all(|&executor| executor == all[0]).then(|| all[0])
    }

    /// Where a granule is; everywhere, where a table is taken as a whole.
    pub fn executor_of(&self, plan: &Plan, granule: &Granule) -> Concern {
        match self.dataset_of(plan, granule) {
            Concern::One(dataset) => Concern::One(self.executors[usize::from(dataset)]),
            other => other,
        }
    }

    /// Tells the datasets in which a planned call locks something, and what; no lock: all of it.
    pub fn visit_locks(&self, plan: &Plan, mut visit: impl FnMut(u16, Option<LockRequest>)) {
        for granule in plan.footprint().granules() {
            match self.dataset_of(plan, granule) {
                Concern::Nobody => {}
                Concern::One(dataset) => {
                    visit(dataset, Some(LockRequest::new(granule.lock, granule.mode)));
                }
                Concern::All => {
                    let table = table_of(self.catalog(), granule.space);
                    (0..self.owners().count())
                        .for_each(|range| visit(self.dataset(table, range), None));
                }
            }
        }
    }

    /// The dataset of a granule (I1); all of its table, where that is taken as a whole.
    fn dataset_of(&self, plan: &Plan, granule: &Granule) -> Concern {
        let catalog = self.catalog();
        let table = table_of(catalog, granule.space);
        let is_intent = matches!(granule.mode, LockMode::IntentShared | LockMode::IntentExclusive);
        match granule.space {
            Space::Index(_) => {
                let range = self.owners().of(catalog, plan, granule);
                Concern::One(self.dataset(table, range))
            }
            Space::Table(_) if !is_intent => Concern::All,
            // Who takes the table as a whole takes all its datasets: it is enough to have one.
            Space::Table(id) if catalog.table(id).indexes().next().is_none() => {
                Concern::One(self.dataset(table, self.any_range(plan)))
            }
            Space::Table(_) => Concern::Nobody, // the call has datasets by granules of indexes
        }
    }

    /// A range for what may lie anywhere: that of the first of a call's granules which lies
    /// somewhere.
    fn any_range(&self, plan: &Plan) -> u16 {
        let mut granules = plan.footprint().granules().iter();
        let first = granules.find(|granule| matches!(granule.space, Space::Index(_)));
        first.map_or(0, |granule| self.owners().of(self.catalog(), plan, granule))
    }

    fn dataset(&self, table: u16, range: u16) -> u16 {
        range * self.tables + table
    }

    fn owners(&self) -> &Owners {
        &self.world.owners
    }

    fn catalog(&self) -> &Catalog {
        &self.world.schema.catalog
    }
}

fn table_of(catalog: &Catalog, space: Space) -> u16 {
    match space {
        Space::Table(table) => table.0,
        Space::Index(index) => catalog.index(index).table.0,
    }
}

#[cfg(test)]
mod tests;
