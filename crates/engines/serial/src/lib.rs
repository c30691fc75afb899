//! The serial engine: one thread, one call after the other, nothing to lock.
//!
//! Should I be using this? As the reference: every other engine is compared with it. Also where one
//! thread is enough: no engine does less work per call.
//!
//! With `plan=on` the calls in flight are planned first, and the index buckets and records that
//! they will touch are asked for, so that their cache misses overlap. That pays for tables much
//! larger than the caches and costs otherwise; it is off by default.
//!
//! Invariants   I1 the order in which calls are fetched is the serial order

#![forbid(unsafe_code)]

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use hotrow_engine::contract::{EngineEntry, EngineOptions, Ground, OptionError, RunningEngine};
use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::journal::{Committer, Company};
use hotrow_engine::protection::Alone;
use hotrow_engine::schema::Schema;
use hotrow_engine::settings::Known;
use hotrow_engine::source::CallSource;
use hotrow_engine::statistics::Stopwatch;
use hotrow_engine::worker::{Call, Runner, Workers};
use hotrow_transaction::interpret::{self, NoHook};
use hotrow_transaction::outcome::Stop;

const NAME: &str = "serial";
const KNOWN: Known = Known { engine: NAME, names: "plan" };

/// This engine's row in the engine table.
pub const ENTRY: EngineEntry = EngineEntry {
    name: NAME,
    summary: "one thread, one call after the other: the reference",
    start,
    variants: &[&[("plan", "off")], &[("plan", "on")]],
    threads_min: 1,
    threads_max: Some(1),
    locks_as_it_goes: false,
    runs_on_callers: false,
    experiments: &[],
};

/// Whether calls are planned before they run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Planning {
    #[default]
    Off,
    On,
}

impl Planning {
    fn from_settings(settings: &BTreeMap<String, String>) -> Result<Self, OptionError> {
        let mut planning = Self::default();
        KNOWN.read(settings, |setting, value| {
            Some(match (setting, value) {
                ("plan", "off") => {
                    planning = Self::Off;
                    Ok(())
                }
                ("plan", "on") => {
                    planning = Self::On;
                    Ok(())
                }
                ("plan", _) => Err("off, on"),
                _ => return None,
            })
        })?;
        Ok(planning)
    }
}

fn start(
    ground: Ground,
    options: &EngineOptions,
    sources: Vec<Box<dyn CallSource>>,
) -> Result<Box<dyn RunningEngine>, OptionError> {
    let planning = Planning::from_settings(&options.settings)?;
    let threads = options.threads;
    if threads != 1 {
        return Err(OptionError::Threads { engine: NAME, threads, allowed: "1" });
    }
    assert_eq!(sources.len(), threads, "one source per thread");
    let workers = Workers::start(&ground, options, sources, |_, committer| SerialRunner {
        planning,
        scratch: Scratch::new(committer.worker()),
        committer,
    });
    Ok(Box::new(workers))
}

struct SerialRunner {
    planning: Planning,
    scratch: Scratch,
    committer: Committer,
}

impl Runner for SerialRunner {
    fn prepare(&mut self, schema: &Schema, call: &mut Call) {
        // Calls before this one in the turn may still change what trial reads see. That is no
        // harm: only keys that parameters decide are taken from the plan.
        if self.planning == Planning::On {
            call.plan_ahead(schema, &mut self.scratch);
        }
    }

    fn resolve(&mut self, schema: &Schema, call: &mut Call) {
        if self.planning == Planning::On {
            call.resolve_hints(schema);
        }
    }

    fn attempt(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        _: Option<&Call>,
        _: &mut Stopwatch,
    ) -> Result<(), Stop> {
        let Call { invocation, procedure, frame, plan, hints, durable_in, .. } = call;
        let procedure = procedure.as_deref().expect("only procedures that exist are run");
        let program = &procedure.program;
        let met = self.committer.last(); // I1
        *durable_in = met.max(self.committer.floor()).epoch;
        frame.begin(program, invocation);
        let mut access = InPlace::new(schema, &mut self.scratch, Alone);
        let ran = match self.planning {
            Planning::Off => interpret::run(program, 0, frame, &mut access, &mut NoHook),
            Planning::On => {
                access = access.with_hints(hints);
                interpret::run(program, 0, frame, &mut access, &mut plan.keys())
            }
        };
        let commit = match ran.and_then(|()| access.commit_at(&self.committer, met, invocation)) {
            Ok(commit) => commit,
            Err(stop) => {
                access.undo();
                return Err(stop);
            }
        };
        access.commit();
        *durable_in = commit.position().epoch;
        self.committer.record(commit, Company::Shared, invocation, procedure, frame);
        Ok(())
    }
}
