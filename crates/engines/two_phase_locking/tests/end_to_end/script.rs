//! Runs scripts of calls on an engine, one script per thread, and the same calls serially.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use hotrow_base::ids::WorkerId;
use hotrow_base::value::Value;
use hotrow_engine::contract::{EngineOptions, Ground};
use hotrow_engine::in_place::Scratch;
use hotrow_engine::journal::{Committer, Journal};
use hotrow_engine::schema::{Schema, SharedSchema};
use hotrow_engine::source::{CallSource, End, Fetch, Ticket};
use hotrow_engine::statistics::Statistics;
use hotrow_engine::trace::{SerialTrace, Traced};
use hotrow_engine::worker::run_call_alone;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::{Outcome, Rows};
use hotrow_two_phase_locking::ENTRY;

/// Far longer than any script takes: what is not over by then hangs.
const PATIENCE: Duration = Duration::from_secs(120);

struct Script {
    calls: Vec<Invocation>,
    next: usize,
    ends: Sender<Outcome>,
}

impl CallSource for Script {
    fn fetch(&mut self, invocation: &mut Invocation) -> Fetch {
        let Some(call) = self.calls.get(self.next) else { return Fetch::Closed };
        invocation.clone_from(call);
        self.next += 1;
        Fetch::Ready(Ticket(self.next as u64 - 1))
    }

    fn wait(&mut self) {}

    fn finish(&mut self, _: Ticket, end: End<'_>) {
        let outcome = match end {
            End::Committed { frame, program, .. } => Ok(frame.result_rows(program)),
            End::Aborted { error, .. } => Err(*error),
        };
        self.ends.send(outcome).expect("the test listens until the end");
    }
}

/// What a run left behind.
pub struct Run {
    pub schema: Arc<SharedSchema>,
    pub outcomes: Vec<Outcome>,
    pub trace: Vec<Traced>,
    pub statistics: Statistics,
}

/// Runs one script per thread, on the engine with these settings.
pub fn run(schema: Schema, scripts: Vec<Vec<Invocation>>, settings: &[(&str, &str)]) -> Run {
    let threads = scripts.len();
    let schema = Arc::new(SharedSchema::new(schema, threads + 1));
    let trace = Arc::new(SerialTrace::default());
    let journal = Arc::new(Journal::new(threads + 1, None, Some(Arc::clone(&trace))));
    let ground = Ground { schema: Arc::clone(&schema), journal };
    let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    let settings: BTreeMap<_, _> = settings.iter().map(owned).collect();
    let options = EngineOptions { threads, settings, ..EngineOptions::default() };
    let calls: usize = scripts.iter().map(Vec::len).sum();
    let (sender, ends) = mpsc::channel();
    let sources = scripts.into_iter().map(|calls| {
        Box::new(Script { calls, next: 0, ends: sender.clone() }) as Box<dyn CallSource>
    });
    let engine = (ENTRY.start)(ground, &options, sources.collect()).expect("legal options");
    drop(sender);
    let end = |_| ends.recv_timeout(PATIENCE).expect("every call ends in time");
    let outcomes: Vec<Outcome> = (0..calls).map(end).collect();
    let statistics = engine.stop();
    Run { schema, outcomes, trace: trace.take(), statistics }
}

/// Runs calls one after the other as worker 0.
pub struct Serially<'a> {
    schema: &'a Schema,
    scratch: Scratch,
    frame: Frame,
    committer: Committer,
}

impl<'a> Serially<'a> {
    pub fn new(schema: &'a Schema) -> Self {
        let committer = Committer::new(&Arc::new(Journal::new(1, None, None)), WorkerId(0));
        Self { schema, scratch: Scratch::new(WorkerId(0)), frame: Frame::new(), committer }
    }

    pub fn call(&mut self, invocation: &Invocation) -> Outcome {
        let compiled = self.schema.procedure(invocation.procedure).expect("a known procedure");
        let Self { schema, scratch, frame, committer } = self;
        run_call_alone(schema, scratch, committer, compiled, invocation, frame)
            .map_err(|(error, _)| error)?;
        Ok(frame.result_rows(&compiled.program))
    }
}

/// Rows of bigints in a fixed order.
pub fn sorted(rows: &Rows) -> Vec<Vec<i64>> {
    let number = |value: &Value| match value {
        Value::BigInt(number) => *number,
        other => panic!("a bigint, not {other:?}"),
    };
    let mut rows: Vec<Vec<i64>> =
        rows.rows.iter().map(|row| row.iter().map(number).collect()).collect();
    rows.sort();
    rows
}
