//! Calls on their callers' threads: a caller plans its call, visits the lock tables itself where
//! nobody is in its way there, and runs the call before it leaves them.
//!
//! Role         what a lock thread does with a short transaction where `run_there` says so
//!              ([`crate::lock_thread`], I2), for callers, and with any number of lock tables: it
//!              spares a call of a session all messages, and two changes of threads
//! Invariants   I1 a caller holds the latches of all tables that its call needs from before it
//!              looks for whoever is in the way to after it has left its position there: to
//!              everybody else its locks were never there, or are gone again
//!              I2 latches are taken in the order of tables, and whoever has one waits for nobody
//!              but for further ones. A caller waits for no locks: a table that has somebody in
//!              its call's way sends the call to the threads
//!              I3 a table closes when its division ends, under its latch; what comes later stands
//!              behind a cut of the journal at a quiet point ([`crate::crew`], I2), which callers
//!              are outside of
//! Source       ours; the paper's threads make up their own calls

use std::sync::Arc;

use hotrow_base::sync::LatchGuard;
use hotrow_engine::journal::{Commit, Committer};
use hotrow_engine::schema::Schema;
use hotrow_engine::statistics::{Activity, Stopwatch};
use hotrow_engine::worker::Call;
use hotrow_engine::worker::caller_places::CallerRunner;
use hotrow_log::position::Position;
use hotrow_transaction::outcome::Stop;

use crate::crew::{Crew, OpenTables};
use crate::lock_table::OpenTable;
use crate::lower::Spaces;
use crate::options::Settings;
use crate::request::Request;
use crate::run::Runner;

/// Tables that a call may need to run here. Most need one.
const TABLES_MAX: usize = 4;

/// One caller's place: its runner, its request, and the tables of the division that it knows.
pub struct OnCaller {
    crew: Arc<Crew>,
    runner: Runner,
    request: Request,
    /// the number of the division that is known
    division: u32,
    tables: Arc<OpenTables>,
    spaces: Option<Spaces>,
}

impl OnCaller {
    /// One with this way to the journal.
    pub fn new(crew: &Arc<Crew>, committer: Committer) -> Self {
        Self {
            crew: Arc::clone(crew),
            runner: Runner::new(committer),
            request: Request::default(),
            division: 0,
            tables: Arc::default(),
            spaces: None,
        }
    }

    fn spaces_of(&self, schema: &Schema) -> Spaces {
        let lock_threads = self.tables.lock_threads();
        Spaces::new(schema, &Settings { lock_threads, ..self.crew.settings })
    }
}

impl CallerRunner for OnCaller {
    fn adopt(&mut self, _: &Schema) {
        self.spaces = None;
    }

    fn prepare(&mut self, schema: &Schema, call: &mut Call) {
        call.plan_ahead(schema, &mut self.runner.scratch);
        call.resolve_hints(schema);
    }

    fn attempt(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        watch: &mut Stopwatch,
    ) -> Option<Result<(), Stop>> {
        if call.attempts > 0
            && let Err(stop) = call.plan_again(schema, &mut self.runner.scratch, watch)
        {
            return Some(Err(stop));
        }
        watch.switch(Activity::Lock);
        if self.division != self.crew.division() {
            // In this order: tables that are newer than their number are only looked at again.
            self.division = self.crew.division();
            self.tables = self.crew.open_tables();
            self.spaces = None;
        }
        if self.spaces.is_none() {
            self.spaces = Some(self.spaces_of(schema));
        }
        self.spaces.as_ref()?.lower(schema, &call.plan, &mut self.request, 0);
        let executed = self.run(schema, call, watch)?;
        watch.switch(Activity::Execute);
        Some(call.end(executed, self.request.met, &self.runner.committer))
    }

    fn back_off(&mut self, _: &Call) {
        unreachable!("what holds all it needs meets no conflict");
    }
}

impl OnCaller {
    /// Runs a call whose request is sealed; none, and nothing was done, if a table that it needs is
    /// closed or has somebody in its way.
    fn run(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        watch: &mut Stopwatch,
    ) -> Option<Result<Commit, Stop>> {
        let Self { runner: Runner { scratch, committer }, request, tables, .. } = self;
        let hops = request.hops.len();
        let mut held: [Option<LatchGuard<'_, OpenTable>>; TABLES_MAX] = Default::default();
        for (hop, table) in held.get_mut(..hops)?.iter_mut().enumerate() {
            let latched = tables.of(request.hops[hop].space).lock();
            if !latched.is_open || !latched.table.pass(request, hop) {
                return None;
            }
            *table = Some(latched); // I1
        }
        watch.switch(Activity::Execute);
        let executed = call.run_planned(schema, scratch, committer, request.met);
        watch.switch(Activity::Lock);
        let position = executed.as_ref().map_or_else(|_| Position::default(), Commit::position);
        for (hop, table) in held.iter_mut().flatten().enumerate() {
            table.table.leave(request, hop, position);
        }
        Some(executed)
    }
}
