//! What was observed of a database: of a run's report, or of a server between two looks.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::BenchError;
use crate::map::Signs;
use crate::remote::ServerStatus;
use crate::report::RunReport;

/// Threads that idle so much of their time are not what limits throughput.
const IDLE: f64 = 0.5;
/// A log that takes so much of the threads' time hides what engines differ by.
const LOGGING: f64 = 0.2;

/// What an engine does for its users.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Observed {
    /// the engine's name
    pub engine: String,
    /// its settings
    pub settings: BTreeMap<String, String>,
    /// its threads
    pub threads: usize,
    /// what it shows, per call
    pub signs: Signs,
    /// the part of its threads' time in which they had nothing to do
    pub idle: f64,
    /// the part of it that went to the log
    pub logging: f64,
    /// transactions of sessions, outside of calls, for each call
    pub session_transactions: f64,
}

impl Observed {
    /// What a run has reported.
    ///
    /// # Errors
    ///
    /// [`BenchError::Idle`] where no call was committed.
    pub fn of_run(run: &RunReport) -> Result<Self, BenchError> {
        if run.committed == 0 {
            return Err(BenchError::Idle("the run committed no call".to_owned()));
        }
        Ok(Self {
            engine: run.engine.clone(),
            settings: run.options.clone(),
            threads: run.threads,
            signs: Signs::of_run(run),
            idle: run.time_breakdown.idle,
            logging: run.time_breakdown.log,
            session_transactions: 0.0,
        })
    }

    /// What a server did between two looks, so many seconds apart.
    ///
    /// # Errors
    ///
    /// [`BenchError::Idle`] where it committed no call.
    pub fn between(
        before: &ServerStatus,
        after: &ServerStatus,
        seconds: f64,
    ) -> Result<Self, BenchError> {
        let sums = after.sums.since(&before.sums);
        if sums.committed == 0 {
            let message = format!(
                "the server has committed no call in {seconds:.0} s: look while it works, or longer"
            );
            return Err(BenchError::Idle(message));
        }
        let per_call = |count: u64| count as f64 / sums.committed as f64;
        let busy_ms = sums.execute_ms + sums.plan_ms + sums.lock_ms + sums.log_ms;
        let all_ms = (busy_ms + sums.wait_ms + sums.idle_ms).max(1) as f64;
        let settings = after.settings.split(',').filter_map(|pair| pair.split_once('='));
        Ok(Self {
            engine: after.engine.clone(),
            settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            threads: after.levels.threads as usize,
            signs: Signs {
                calls_per_s: sums.committed as f64 / seconds.max(1e-9),
                waits: per_call(sums.lock_waits),
                undone: per_call(sums.undone),
                failed: per_call(sums.failed),
                messages: per_call(sums.messages),
                busy_us: 1e3 * per_call(busy_ms),
            },
            idle: sums.idle_ms as f64 / all_ms,
            logging: sums.log_ms as f64 / all_ms,
            session_transactions: per_call(sums.session_commits),
        })
    }

    /// Whether its threads wait for calls, so that no engine would be faster.
    pub(super) fn is_idle(&self) -> bool {
        self.idle >= IDLE
    }

    /// What makes the map say less than it seems to.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.is_idle() {
            remarks.push(format!(
                "its threads have nothing to do {:.0} % of their time: no engine is faster before \
                 clients ask for more",
                100.0 * self.idle
            ));
        }
        if self.logging >= LOGGING {
            remarks.push(format!(
                "its threads spend {:.0} % of their time on the log, which is the same with all \
                 engines",
                100.0 * self.logging
            ));
        }
        if self.session_transactions >= 1.0 {
            remarks.push(format!(
                "for each call there are {:.1} transactions of statements; the map knows calls \
                 only",
                self.session_transactions
            ));
        }
        remarks
    }
}
