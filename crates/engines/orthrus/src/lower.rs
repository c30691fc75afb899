//! From plans to requests: which lock spaces a call needs, and what of each.
//!
//! Source       orthrus.txt 3.1 to 3.4

use hotrow_engine::owners::Owners;
use hotrow_engine::schema::Schema;
use hotrow_transaction::granule::{self, LockRequest};
use hotrow_transaction::plan::Plan;

use crate::lock_table::SHARED_SPACES;
use crate::options::{LockTable, Settings};
use crate::request::Request;

/// Which lock space a granule belongs to.
pub enum Spaces {
    /// that of the lock thread which owns it
    OfOwners(Owners),
    /// one of those that all lock threads share, by its identity
    Shared,
}

impl Spaces {
    /// Those of a schema's granules.
    pub fn new(schema: &Schema, settings: &Settings) -> Self {
        match settings.lock_table {
            LockTable::Partitioned => Self::OfOwners(Owners::new(schema, settings.lock_threads)),
            LockTable::Shared => Self::Shared,
        }
    }

    /// Makes a plan's footprint a request. `short`: see [`Request::seal`].
    pub fn lower(&self, schema: &Schema, plan: &Plan, request: &mut Request, short: u16) {
        request.locks.clear();
        request.locks.extend(plan.footprint().granules().iter().map(|granule| {
            let space = match self {
                Self::OfOwners(owners) => owners.of(&schema.catalog, plan, granule),
                Self::Shared => granule::one_of(SHARED_SPACES, granule.lock),
            };
            (space, LockRequest::new(granule.lock, granule.mode))
        }));
        request.seal(short);
    }
}
