//! Figures of the running database, as its handle gives them.

use hotrow_engine::waits::{Awaited, Waited};

use super::Database;
use crate::status::{CallFigures, EngineStatus, HotKey};
use crate::waits::{Wait, describe_waits};

impl Database {
    /// How the database is doing now. Cheap: figures that are kept anyway.
    pub fn status(&self) -> EngineStatus {
        self.core().status()
    }

    /// How the calls of each procedure went, the most time-consuming first.
    pub fn calls(&self) -> Vec<CallFigures> {
        self.core().call_figures()
    }

    /// The keys that were waited for longest in all, at most `most` of them. Engines that lock tell
    /// them; keys are found by a walk over all rows every ten seconds at most, and new ones are
    /// nameless before.
    pub fn hot_keys(&self, most: usize) -> Vec<HotKey> {
        self.core().hot_keys(most)
    }

    /// Who has waited for whom since the engine started, and for which rows: the longest waits
    /// first, at most `most` of them. Always counted; asking walks over all rows to find the keys.
    pub fn waits(&self, most: usize) -> Vec<Wait> {
        self.tell_waits(self.core().engine_waits(), most)
    }

    /// Says in words what an engine answers that [`Database::start_engine`] has started.
    pub fn tell_waits(&self, mut waits: Vec<(Awaited, Waited)>, most: usize) -> Vec<Wait> {
        waits.truncate(most);
        describe_waits(&self.schema(), waits)
    }
}
