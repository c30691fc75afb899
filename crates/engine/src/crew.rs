//! An engine whose threads share a crew: how it is asked and ended.

use std::sync::Arc;

use hotrow_base::counters::PerWorker;
use hotrow_base::thread::{JoinHandle, join_all};

use crate::contract::RunningEngine;
use crate::source::OnCallers;
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
pub struct RunningCrew<C> {
    crew: Arc<C>,
    threads: Vec<JoinHandle<()>>,
    places: Option<Arc<dyn OnCallers>>,
}

impl<C: Crew> RunningCrew<C> {
    /// That of a crew with these threads.
    pub fn new(crew: Arc<C>, threads: impl IntoIterator<Item = JoinHandle<()>>) -> Self {
        Self { crew, threads: threads.into_iter().collect(), places: None }
    }

    /// With places beside its threads where calls run on their callers' threads.
    #[must_use]
    pub fn with_places(self, places: Option<Arc<dyn OnCallers>>) -> Self {
        Self { places, ..self }
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

    fn on_callers(&self) -> Option<Arc<dyn OnCallers>> {
        self.places.clone()
    }

    fn stop(mut self: Box<Self>) -> Statistics {
        self.places.iter().for_each(|places| places.end());
        self.crew.end();
        join_all(self.threads.drain(..));
        self.statistics()
    }
}
