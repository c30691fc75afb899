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
use std::sync::Arc;

use hotrow_engine::contract::{EngineEntry, EngineOptions, Ground, OptionError, RunningEngine};
use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::protection::Alone;
use hotrow_engine::schema::Schema;
use hotrow_engine::source::CallSource;
use hotrow_engine::statistics::Stopwatch;
use hotrow_engine::trace::SerialTrace;
use hotrow_engine::worker::{Call, Runner, Workers};
use hotrow_transaction::interpret::{self, NoHook};
use hotrow_transaction::outcome::Stop;

const NAME: &str = "serial";

/// This engine's row in the engine table.
pub const ENTRY: EngineEntry = EngineEntry {
    name: NAME,
    summary: "one thread, one call after the other: the reference",
    start,
    variants: &[&[("plan", "off")], &[("plan", "on")]],
    threads_max: Some(1),
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
        for (setting, value) in settings {
            let setting = setting.clone();
            if setting != "plan" {
                return Err(OptionError::Unknown { engine: NAME, setting, known: "plan" });
            }
            planning = match value.as_str() {
                "off" => Self::Off,
                "on" => Self::On,
                _ => {
                    let (value, known) = (value.clone(), "off, on");
                    return Err(OptionError::Value { engine: NAME, setting, value, known });
                }
            };
        }
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
    let trace = ground.trace.clone();
    let workers = Workers::start(&ground, options, sources, |_, worker| SerialRunner {
        planning,
        scratch: Scratch::new(worker),
        trace: trace.clone(),
    });
    Ok(Box::new(workers))
}

struct SerialRunner {
    planning: Planning,
    scratch: Scratch,
    trace: Option<Arc<SerialTrace>>,
}

impl Runner for SerialRunner {
    fn prepare(&mut self, schema: &Schema, call: &mut Call) {
        // Calls before this one in the turn may still change what trial reads see. That is no
        // harm: only keys that parameters decide are taken from the plan.
        if self.planning == Planning::On && call.make_plan(schema, &mut self.scratch).is_ok() {
            call.prefetch_indexes(schema);
        }
    }

    fn resolve(&mut self, schema: &Schema, call: &mut Call) {
        if self.planning == Planning::On {
            call.resolve_hints(schema);
        }
    }

    fn attempt(&mut self, schema: &Schema, call: &mut Call, _: &mut Stopwatch) -> Result<(), Stop> {
        let Call { invocation, procedure, frame, plan, hints, .. } = call;
        let program = &procedure.as_deref().expect("only procedures that exist are run").program;
        frame.begin(program, invocation);
        let mut access = InPlace::new(schema, &mut self.scratch, Alone);
        let ran = match self.planning {
            Planning::Off => interpret::run(program, 0, frame, &mut access, &mut NoHook),
            Planning::On => {
                access = access.with_hints(hints);
                interpret::run(program, 0, frame, &mut access, &mut plan.keys())
            }
        };
        if let Err(stop) = ran {
            access.undo();
            return Err(stop);
        }
        access.commit();
        if let Some(trace) = &self.trace {
            trace.record(trace.position(), invocation, program, frame);
        }
        Ok(())
    }
}
