//! Who changes which rows: for the figures of papers that draw it.

use hotrow_engine::accesses::RowAccess;

use crate::database::Database;
use crate::error::Error;
use crate::lookup::table_named;

impl Database {
    /// Records from now on which worker changes which row of a table, and when: for figures. If a
    /// table is watched already, that goes on.
    ///
    /// # Errors
    ///
    /// 42P01 when there is no such table.
    pub fn watch_rows(&self, table: &str) -> Result<(), Error> {
        let schema = self.schema();
        schema.memory.watch_rows(table_named(&schema, table)?.id);
        Ok(())
    }

    /// What was recorded of a table that is watched since this was asked last: at most so much of
    /// each worker as there is room for, the first.
    pub fn take_accesses(&self) -> Vec<RowAccess> {
        self.schema().memory.access_trace().map(|trace| trace.take()).unwrap_or_default()
    }
}
