//! From plans to requests: which lock thread owns which granule.
//!
//! Invariants   I1 the owner of a granule depends on the granule alone, not on how it is held or by
//!              whom, as long as the schema is the same; it changes at a quiet point only, where
//!              nobody holds anything
//! Source       orthrus.txt 3.1 (the lock space is split among lock threads) and 4.4 (TPC-C by
//!              warehouse). Here the routing rules split it, and where a granule does not tell the
//!              routing fields, its identity does

use hotrow_engine::schema::Schema;
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::granule::{LOCK_ID_STEP, LockRequest, Space};
use hotrow_transaction::plan::{Granule, Plan};
use hotrow_transaction::routing::{Place, Routing};

use crate::request::Request;

/// The owners of all granules.
#[derive(Debug)]
pub struct Owners {
    /// none where there is one owner
    routing: Option<Routing>,
    threads: u16,
}

impl Owners {
    /// So many lock threads share the granules of a schema.
    pub fn new(schema: &Schema, threads: u16) -> Self {
        let spread = || {
            let spread = schema.routing().spread_over(threads);
            spread.expect("settings allow no more than there can be")
        };
        Self { routing: (threads > 1).then(spread), threads }
    }

    /// The lock thread that owns a granule of a plan.
    fn of(&self, catalog: &Catalog, plan: &Plan, granule: &Granule) -> u16 {
        let Some(routing) = &self.routing else { return 0 };
        let place = match granule.space {
            // Tables as wholes are announced in one mode and locked in another (I1).
            Space::Table(_) => Place::Anywhere,
            Space::Index(_) => routing.place_of_granule(catalog, plan, granule),
        };
        match place {
            Place::Partition(partition) => partition.0,
            Place::Anywhere | Place::Everywhere => {
                (granule.lock / LOCK_ID_STEP % u64::from(self.threads)) as u16
            }
        }
    }

    /// Makes a plan's footprint a request. `short`: see [`Request::seal`].
    pub fn lower(&self, catalog: &Catalog, plan: &Plan, request: &mut Request, short: u16) {
        request.locks.clear();
        request.locks.extend(plan.footprint().granules().iter().map(|granule| {
            let owner = self.of(catalog, plan, granule);
            (owner, LockRequest::new(granule.lock, granule.mode))
        }));
        request.seal(short);
    }
}
