//! Planning a call, asking for the memory it will need, and running it when all of it is held.
//!
//! Role         the looks at a call that engines share which plan
//! Invariants   I1 hints are guesses: whoever uses one compares the record's key, under protection.
//!              So they are for primary keys only, which a record keeps: one of another index may
//!              be changing under somebody else's lock, and be half of each for a moment
//! Source       DESIGN section 1, "what planning buys"

use hotrow_base::ids::IndexId;
use hotrow_log::position::Position;
use hotrow_storage::record::RecordId;
use hotrow_storage::table::Index as StoredIndex;
use hotrow_storage::undo::IndexKey;
use hotrow_transaction::interpret;
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::plan::Plan;

use crate::in_place::{InPlace, Scratch};
use crate::journal::{Commit, Committer};
use crate::protection::Planned;
use crate::reconnaissance::TrialReads;
use crate::schema::Schema;
use crate::statistics::{Activity, Stopwatch};
use crate::worker::Call;

impl Call {
    /// Makes the call's plan, with trial reads where the procedure needs them. What was planned
    /// before is forgotten. `scratch` is only used for buffers.
    ///
    /// Errors: trial reads met something that ends the call, or the plan is of no use; nothing is
    /// to be undone.
    fn make_plan(&mut self, schema: &Schema, scratch: &mut Scratch) -> Result<(), Stop> {
        let Self { invocation, procedure, frame, plan, hints, .. } = self;
        // The last plan's records may not even be of the same tables.
        hints.clear();
        let procedure = procedure.as_deref().expect("only procedures that exist are run");
        let mut access = TrialReads::new(schema, scratch);
        let made = plan.make(&procedure.plan, invocation, frame, &mut access);
        self.planned_short = plan.is_short();
        made
    }

    /// Plans the call for a first attempt, and asks for the cache lines of the indexes that it will
    /// use. A plan that could not be made covers too little; the attempt finds out, and another one
    /// is made.
    pub fn plan_ahead(&mut self, schema: &Schema, scratch: &mut Scratch) {
        if self.make_plan(schema, scratch).is_ok() {
            prefetch_indexes(schema, &self.plan);
        }
    }

    /// Plans the call for another attempt, and notes hints.
    ///
    /// # Errors
    ///
    /// As [`Call::make_plan`].
    pub fn plan_again(
        &mut self,
        schema: &Schema,
        scratch: &mut Scratch,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop> {
        watch.switch(Activity::Plan);
        self.make_plan(schema, scratch)?;
        self.resolve_hints(schema);
        Ok(())
    }

    /// Runs the call, whose footprint is held, to its commit, or undoes all it did. It comes after
    /// transactions up to `met`. Called under an epoch pin that lasts since hints were noted.
    pub fn run_planned(
        &mut self,
        schema: &Schema,
        scratch: &mut Scratch,
        committer: &Committer,
        met: Position,
    ) -> Result<Commit, Stop> {
        let Self { invocation, procedure, frame, plan, hints, .. } = self;
        let procedure = procedure.as_deref().expect("only procedures that exist are run");
        let program = &procedure.program;
        frame.begin(program, invocation);
        let access = InPlace::new(schema, scratch, Planned(plan.footprint()));
        let mut access = access.with_hints(hints);
        let ran = interpret::run(program, 0, frame, &mut access, &mut plan.keys());
        let ended = ran.and_then(|()| access.commit_at(committer, met, invocation));
        match ended {
            Ok(_) => access.commit(),
            Err(_) => access.undo(),
        }
        ended
    }

    /// See [`resolve_hints`].
    pub fn resolve_hints(&mut self, schema: &Schema) {
        resolve_hints(schema, &self.plan, &mut self.hints);
    }
}

/// Asks for the cache lines of the indexes in which the planned keys will be looked up.
pub fn prefetch_indexes(schema: &Schema, plan: &Plan) {
    for entry in plan.entries() {
        let key = plan.key(entry);
        prefetch_index(schema, entry.index, key, entry.hash);
    }
}

/// Asks for the cache lines of the index in which a planned key will be looked up.
#[inline]
pub fn prefetch_index(schema: &Schema, index: IndexId, key: &[u8], hash: u64) {
    match &*schema.path(index).parts.of_key(key).stored {
        StoredIndex::Hash(index) => index.prefetch(hash),
        tree @ StoredIndex::BTree(_) => tree.prefetch(IndexKey::Bytes(key)),
    }
}

/// Notes the record that each planned key most probably leads to, and asks for its cache lines.
/// Only hash indexes tell without a search.
pub fn resolve_hints(schema: &Schema, plan: &Plan, hints: &mut Vec<u64>) {
    hints.clear();
    let entries = plan.entries().iter();
    hints.extend(entries.map(|entry| hint(schema, entry.index, plan.key(entry), entry.hash)));
}

/// Asks for the cache lines of the record that a hint names.
#[inline]
pub fn prefetch_hinted(schema: &Schema, index: IndexId, hint: u64) {
    if hint != 0 {
        schema.path(index).records.prefetch(RecordId::from_bits(hint - 1));
    }
}

/// The hint of one planned key, for [`InPlace::with_hints`]; asks for the record's cache lines.
#[inline]
pub fn hint(schema: &Schema, index: IndexId, key: &[u8], hash: u64) -> u64 {
    let path = schema.path(index);
    if !path.is_primary {
        return 0;
    }
    let part = path.parts.of_key(key);
    let StoredIndex::Hash(index) = &*part.stored else { return 0 };
    let Some(id) = index.candidate(hash) else { return 0 };
    path.records.prefetch(id);
    id.bits() + 1
}
