//! A running engine that is counted, and stopped when it is dropped.

use hotrow_base::sync::facade::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use hotrow_engine::contract::RunningEngine;
use hotrow_engine::interactive::Interactive;
use hotrow_engine::source::OnCallers;
use hotrow_engine::statistics::Statistics;
use hotrow_engine::waits::{Awaited, Waited};
/// An engine that runs, as whoever has started it has it.
pub(super) struct Started {
    engine: Option<Box<dyn RunningEngine>>,
    running: Arc<AtomicUsize>,
}

impl Started {
    pub(super) fn new(engine: Box<dyn RunningEngine>, running: &Arc<AtomicUsize>) -> Self {
        running.fetch_add(1, Ordering::Relaxed); // who asks later synchronised with this thread
        Self { engine: Some(engine), running: Arc::clone(running) }
    }
}

impl RunningEngine for Started {
    fn interactive(&self) -> Option<Arc<dyn Interactive>> {
        self.engine.as_ref()?.interactive()
    }

    fn on_callers(&self) -> Option<Arc<dyn OnCallers>> {
        self.engine.as_ref()?.on_callers()
    }

    fn statistics(&self) -> Statistics {
        self.engine.as_ref().map(|engine| engine.statistics()).unwrap_or_default()
    }

    fn waits(&self) -> Vec<(Awaited, Waited)> {
        self.engine.as_ref().map(|engine| engine.waits()).unwrap_or_default()
    }

    fn choice(&self) -> Option<String> {
        self.engine.as_ref()?.choice()
    }

    fn expected_rate(&self) -> Option<f64> {
        self.engine.as_ref()?.expected_rate()
    }

    fn stop(mut self: Box<Self>) -> Statistics {
        self.engine.take().map(|engine| engine.stop()).unwrap_or_default()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.take() {
            engine.stop();
        }
        // Release; partner: the Acquire in `refuse_engine`.
        self.running.fetch_sub(1, Ordering::Release);
    }
}
