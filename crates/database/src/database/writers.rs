//! Sessions that write: tables made ready for their statements before the first one comes.

use std::sync::atomic::Ordering;

use hotrow_engine::schema::{Purpose, Quiet};
use hotrow_transaction::granule::TableUse;
use hotrow_transaction::outcome::SqlError;

use super::{Database, Inner};
use crate::error::Error;

impl Database {
    /// From now on tables are ready for statements of sessions that write them, as soon as they
    /// are there, on engines with transactions of several statements. Without it a table gets
    /// ready when a statement first writes it, for which calls and statements have to pause: not
    /// to be waited for where others wait for a row that the very transaction has changed. The
    /// price: planned calls lock rows that no procedure writes, since a statement might.
    ///
    /// # Errors
    ///
    /// [`Error::Sql`], [`Error::Closed`].
    pub fn expect_writers(&self) -> Result<(), Error> {
        let inner = &*self.inner;
        let quiet = inner.quiet(Purpose::DEFINITION)?;
        inner.expects_writers.store(true, Ordering::Relaxed); // read at quiet points
        Ok(inner.open_tables(&quiet)?)
    }
}

impl Inner {
    /// Makes tables ready for sessions' statements, where these are expected, behind a definition.
    pub(crate) fn open_tables(&self, quiet: &Quiet<'_>) -> Result<(), SqlError> {
        if self.interactive.is_none() || !self.expects_writers.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut next = (*quiet.schema()).clone();
        let written = TableUse { written: true, coarse: false };
        let tables = next.catalog.tables().iter().filter(|table| !table.dropped);
        let uses: Vec<_> = tables.map(|table| (table.id, written)).collect();
        next.open_for(&uses)?;
        quiet.replace(next);
        Ok(())
    }
}
