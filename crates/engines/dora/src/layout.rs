//! What lies where: tables in ranges, ranges in datasets, datasets in halls.
//!
//! Role         lowers a planned call to the datasets that it visits, and says whom its actions
//!              concern. Made once for each schema, by the first thread that meets it, and shared
//! Invariants   I1 a granule is of one dataset: that of its table and of the range that its routing
//!              fields or, where it does not tell them, its identity fall into
//!              I2 datasets move while calls are planned; all of one call is planned by one view of
//!              where they are
//! Source       dora.txt 4.1.1: routing rules map ranges of routing fields to executors. We differ:
//!              ranges are of the fields' hashes, so that keys in use spread over them by
//!              themselves

use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use hotrow_engine::owners::{Concern, Owners};
use hotrow_engine::schema::Schema;
use hotrow_flow::node::Address;
use hotrow_flow::world::World;
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::granule::{LockMode, LockRequest, Space};
use hotrow_transaction::plan::{Granule, Plan};

use crate::call::Body;
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
    /// this one's, unlike any other's of the engine
    pub number: u64,
    /// tables, procedures, and the ranges of granules
    pub world: Arc<World>,
    /// numbers of tables
    tables: u16,
    how: Spread,
    /// by dataset: the hall that it is in at first, and now
    first: Vec<Address>,
    now: Vec<AtomicU16>,
    /// how often one has moved
    moves: AtomicU64,
}

/// Where the datasets of a layout are, as a thread has seen it last.
pub struct View {
    layout: Arc<Layout>,
    halls: Vec<Address>,
    moves: u64,
}

impl View {
    /// That of a layout.
    pub fn of(layout: Arc<Layout>) -> Self {
        let mut view = Self { halls: layout.first.clone(), layout, moves: 0 };
        view.look_again();
        view
    }

    /// Looks whether datasets have moved. None of the calls that it has planned is left to plan.
    pub fn look_again(&mut self) {
        let Self { layout, halls, moves } = self;
        // Relaxed: whoever asks where a dataset was is sent on.
        let moved = layout.moves.load(Ordering::Relaxed);
        if std::mem::replace(moves, moved) != moved {
            for (hall, now) in halls.iter_mut().zip(&layout.now) {
                *hall = now.load(Ordering::Relaxed);
            }
        }
    }
}

impl Deref for View {
    type Target = Arc<Layout>;

    fn deref(&self) -> &Arc<Layout> {
        &self.layout
    }
}

impl Layout {
    /// That of a schema, where each table has so many ranges, in halls at these addresses.
    pub fn new(
        number: u64,
        schema: Arc<Schema>,
        (ranges, how): (u16, Spread),
        halls: &[Address],
    ) -> Self {
        let tables = schema.catalog.tables().iter().map(|table| table.id.0 + 1).max();
        let tables = tables.unwrap_or(1);
        let hall = |dataset: u16| {
            let (range, table) = (dataset / tables, dataset % tables);
            let at = match how {
                Spread::Ranges => range,
                // Each round of as many tables as there are halls begins one further on: tables
                // that are far apart in the schema are as often in different halls as neighbours.
                Spread::Tables => range + table + table / halls.len() as u16,
            };
            halls[usize::from(at) % halls.len()]
        };
        let first: Vec<_> = (0..ranges * tables).map(hall).collect();
        let now = first.iter().map(|&hall| AtomicU16::new(hall)).collect();
        let (world, moves) = (Arc::new(World::new(schema, ranges)), AtomicU64::new(0));
        Self { number, world, tables, how, first, now, moves }
    }

    /// The hall that a dataset is in at first.
    pub fn first_hall(&self, dataset: u16) -> Address {
        self.first[usize::from(dataset)]
    }

    /// A dataset is in another hall from now on.
    pub fn note_move(&self, dataset: u16, to: Address) {
        self.now[usize::from(dataset)].store(to, Ordering::Relaxed); // see `View`
        self.moves.fetch_add(1, Ordering::Relaxed);
    }

    /// How often a dataset has moved.
    pub fn moves(&self) -> u64 {
        self.moves.load(Ordering::Relaxed)
    }

    /// The datasets, with the halls that they are in; those that are to be in one hall are in one
    /// item.
    pub fn places(&self) -> impl Iterator<Item = (Range<u16>, Address)> {
        let step = match self.how {
            Spread::Ranges => self.tables,
            Spread::Tables => 1,
        };
        let hall = |first: u16| self.now[usize::from(first)].load(Ordering::Relaxed);
        let firsts = (0..self.first.len() as u16).step_by(step.into());
        firsts.map(move |first| (first..first + step, hall(first)))
    }
}

impl View {
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

    /// Lists what a planned call locks, all of it in the first round. `own`: the hall for a call
    /// that locks nothing.
    pub fn visit_planned<B>(
        &self,
        plan: &Plan,
        own: Address,
        flow: &mut Flow<B>,
        places: &mut Places,
    ) {
        let catalog = &self.world.schema.catalog;
        let place = |dataset, lock| Place { round: 0, hall: self.hall(dataset), dataset, lock };
        places.clear();
        for granule in plan.footprint().granules() {
            let lock = LockRequest::new(granule.lock, granule.mode);
            match self.dataset_of(plan, granule) {
                Concern::Nobody => {}
                Concern::One(dataset) => places.push(place(dataset, Some(lock))),
                Concern::All => {
                    let table = Self::table_of(catalog, granule.space);
                    let all = (0..self.owners().count()).map(|range| self.dataset(table, range));
                    places.extend(all.map(|dataset| place(dataset, None)));
                }
            }
        }
        visit(own, flow, places);
    }

    /// As [`View::visit_planned`] has listed it, for a call in parts: has each lock be asked for in
    /// the first round in which something needs it.
    pub fn visit_in_rounds(
        &self,
        flow: &mut Flow<Body>,
        (places, rounds): (&mut Places, &mut Rounds),
    ) {
        let call = &flow.body.call;
        rounds.clear();
        for (round, action) in call.schedule.actions() {
            let used = call.batch.uses(&call.batch.actions()[action as usize]);
            rounds.extend(used.iter().map(|used| (used.lock, round)));
        }
        rounds.sort_unstable();
        for place in &mut *places {
            let Some(lock) = place.lock else { continue };
            let first = rounds.partition_point(|&(known, _)| known < lock.lock());
            let needed = rounds.get(first).filter(|(known, _)| *known == lock.lock());
            place.round = needed.map_or(0, |&(_, round)| round);
        }
        // A first round that works on values alone has no hall yet.
        if let Some(first) = places.iter_mut().min_by_key(|place| place.round) {
            first.round = 0;
        }
        let own = flow.halls[0];
        visit(own, flow, places);
    }

    /// Has a call have all datasets to itself.
    pub fn visit_all<B>(&self, own: Address, flow: &mut Flow<B>, places: &mut Places) {
        places.clear();
        let all = (0..).zip(&self.halls);
        places.extend(all.map(|(dataset, &hall)| Place { round: 0, hall, dataset, lock: None }));
        visit(own, flow, places);
    }
}

fn visit<B>(own: Address, flow: &mut Flow<B>, places: &mut Places) {
    // Who wants all of a dataset comes before those who want some of it, who need not then.
    places.sort_unstable();
    flow.locks.clear();
    flow.visits.clear();
    flow.halls.clear();
    for &Place { round, hall, dataset, lock } in &*places {
        let begin = flow.locks.len() as u32;
        let has_all = |visit: &Visit| visit.whole && visit.dataset == dataset;
        if round > 0 && flow.visits.iter().any(has_all) {
            continue; // since its first round
        }
        match flow.visits.last_mut() {
            Some(last) if (last.round, last.dataset) == (round, dataset) => {
                if let Some(lock) = lock.filter(|_| !last.whole) {
                    flow.locks.push(lock);
                    last.locks.end += 1;
                }
            }
            _ => {
                flow.locks.extend(lock);
                let end = flow.locks.len() as u32;
                flow.visits.push(Visit::new((round, hall, dataset), lock.is_none(), begin..end));
            }
        }
        if flow.halls.last() != Some(&hall) {
            flow.halls.push(hall);
        }
    }
    if flow.visits.last().is_some_and(|last| last.round > 0) {
        flow.halls.sort_unstable();
        flow.halls.dedup();
    }
    if flow.halls.is_empty() {
        flow.halls.push(own);
    }
}

/// What a call being laid out wants in a round.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    round: u32,
    hall: Address,
    dataset: u16,
    /// none: all of it
    lock: Option<LockRequest>,
}

/// Memory of a call being laid out.
pub type Places = Vec<Place>;

/// Memory of a call being laid out: locks, and a round in which each is needed.
pub type Rounds = Vec<(u64, u32)>;
