//! The scheme in which whoever runs a call holds all its partitions.
//!
//! States       planned -> partitions held -> run -> let go; a wrong guess of reconnaissance:
//!              undone -> let go -> planned again
//! Source       orthrus.txt 4.3. We differ: a footprint is held, not only its partitions, so that a
//!              guess that strays inside them is planned again, too; it takes no look more

use std::sync::Arc;

use hotrow_engine::in_place::Scratch;
use hotrow_engine::journal::{Commit, Committer};
use hotrow_engine::owners::Owners;
use hotrow_engine::schema::Schema;
use hotrow_engine::statistics::{Activity, Stopwatch};
use hotrow_engine::worker::{Call, Runner};
use hotrow_log::position::Position;
use hotrow_transaction::outcome::Stop;

use crate::partition::Partitions;

/// Runs the calls of one worker; see the module.
pub struct SpinlockRunner {
    partitions: Arc<Partitions>,
    /// the partition for calls that need none
    home: u16,
    /// none before a schema is adopted
    owners: Option<Owners>,
    scratch: Scratch,
    committer: Committer,
}

impl SpinlockRunner {
    /// The runner of worker thread `number`.
    pub fn new(partitions: Arc<Partitions>, number: usize, committer: Committer) -> Self {
        let home = (number % usize::from(partitions.count())) as u16;
        let scratch = Scratch::new(committer.worker());
        Self { partitions, home, owners: None, scratch, committer }
    }
}

impl Runner for SpinlockRunner {
    fn adopt(&mut self, schema: &Schema) {
        self.owners = Some(Owners::new(schema, self.partitions.count()));
    }

    fn prepare(&mut self, schema: &Schema, call: &mut Call) {
        call.plan_ahead(schema, &mut self.scratch);
    }

    fn resolve(&mut self, schema: &Schema, call: &mut Call) {
        call.resolve_hints(schema);
    }

    fn attempt(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        _: Option<&Call>,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop> {
        if call.attempts > 0 {
            call.plan_again(schema, &mut self.scratch, watch)?;
        }
        watch.switch(Activity::Lock);
        let Self { partitions, home, owners, scratch, committer } = self;
        let owners = owners.as_ref().expect("a schema is adopted before calls run");
        let needed = owners.concerned(&schema.catalog, &call.plan, *home);
        let mut ended = Err(Stop::Replan);
        let mut met = Position::default();
        partitions.hold(&mut needed.iter(), Position::default(), watch, |before, watch| {
            watch.switch(Activity::Execute);
            met = before;
            ended = call.run_planned(schema, scratch, committer, met);
            watch.switch(Activity::Lock);
            ended.as_ref().map_or_else(|_| Position::default(), Commit::position)
        });
        watch.switch(Activity::Execute);
        call.end(ended, met, committer)
    }
}
