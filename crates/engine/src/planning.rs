//! Planning a call and asking for the memory it will need.
//!
//! Role         the first two looks at a call, shared by every engine that plans
//! Invariants   I1 hints are guesses: whoever uses one compares the record's key, under protection.
//!              So they are for primary keys only, which a record keeps: one of another index may
//!              be changing under somebody else's lock, and be half of each for a moment
//! Source       DESIGN section 1, "what planning buys"

use hotrow_storage::table::Index as StoredIndex;
use hotrow_storage::undo::IndexKey;
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::plan::Plan;

use crate::in_place::Scratch;
use crate::reconnaissance::TrialReads;
use crate::schema::Schema;
use crate::worker::Call;

impl Call {
    /// Makes the call's plan, with trial reads where the procedure needs them. What was planned
    /// before is forgotten. `scratch` is only used for buffers.
    ///
    /// Errors: trial reads met something that ends the call, or the plan is of no use; nothing is
    /// to be undone.
    pub fn make_plan(&mut self, schema: &Schema, scratch: &mut Scratch) -> Result<(), Stop> {
        let Self { invocation, procedure, frame, plan, hints, .. } = self;
        // The last plan's records may not even be of the same tables.
        hints.clear();
        let procedure = procedure.as_deref().expect("only procedures that exist are run");
        let mut access = TrialReads::new(schema, scratch);
        plan.make(&procedure.plan, invocation, frame, &mut access)
    }

    /// See [`prefetch_indexes`].
    pub fn prefetch_indexes(&self, schema: &Schema) {
        prefetch_indexes(schema, &self.plan);
    }

    /// See [`resolve_hints`].
    pub fn resolve_hints(&mut self, schema: &Schema) {
        resolve_hints(schema, &self.plan, &mut self.hints);
    }
}

/// Asks for the cache lines of the indexes in which the planned keys will be looked up.
pub fn prefetch_indexes(schema: &Schema, plan: &Plan) {
    for entry in plan.entries() {
        let key = || plan.key(entry);
        match &*schema.path(entry.index).parts.of_hashed(key, entry.hash).stored {
            StoredIndex::Hash(index) => index.prefetch(entry.hash),
            tree @ StoredIndex::BTree(_) => tree.prefetch(IndexKey::Bytes(key())),
        }
    }
}

/// Notes the record that each planned key most probably leads to, and asks for its cache lines.
/// Only hash indexes tell without a search.
pub fn resolve_hints(schema: &Schema, plan: &Plan, hints: &mut Vec<u64>) {
    hints.clear();
    hints.extend(plan.entries().iter().map(|entry| {
        let path = schema.path(entry.index);
        if !path.is_primary {
            return 0;
        }
        let part = path.parts.of_hashed(|| plan.key(entry), entry.hash);
        let StoredIndex::Hash(index) = &*part.stored else { return 0 };
        let Some(id) = index.candidate(entry.hash) else { return 0 };
        path.records.prefetch(id);
        id.bits() + 1
    }));
}
