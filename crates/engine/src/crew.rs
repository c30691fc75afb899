//! An engine whose threads share a crew: how it is asked and ended.

use std::sync::Arc;

use hotrow_base::counters::PerWorker;
use hotrow_base::thread::{JoinHandle, join_all};

use crate::contract::RunningEngine;
use crate::statistics::{Statistics, WorkerBooks};
use crate::waits::{Awaited, Waited};

/// What the threads of an engine share.
pub trait Crew: Send + Sync {
    /// Each thread's books.
    fn books(&self) -> &PerWorker<WorkerBooks>;

    /// Ends the engine: calls that were fetched are finished, then the threads end.
    fn end(&self);

    /// As [`RunningEngine::waits`].
    fn waits(&self) -> Vec<(Awaited, Waited)> {
        Vec::new()
    }

    /// As [`RunningEngine::choice`].
    fn choice(&self) -> Option<String> {
        None
    }
}

/// The engine that runs: a crew and its threads.
#[derive(Debug)]
pub struct RunningCrew<C> {
    crew: Arc<C>,
    threads: Vec<JoinHandle<()>>,
}

impl<C: Crew> RunningCrew<C> {
    /// That of a crew with these threads.
    pub fn new(crew: Arc<C>, threads: impl IntoIterator<Item = JoinHandle<()>>) -> Self {
        Self { crew, threads: threads.into_iter().collect() }
    }
}

impl<C: Crew> RunningEngine for RunningCrew<C> {
    fn statistics(&self) -> Statistics {
        Statistics::of(self.crew.books())
    }

    fn waits(&self) -> Vec<(Awaited, Waited)> {
        self.crew.waits()
    }

    fn choice(&self) -> Option<String> {
        self.crew.choice()
    }

    fn stop(mut self: Box<Self>) -> Statistics {
        self.crew.end();
        join_all(self.threads.drain(..));
        self.statistics()
    }
}
