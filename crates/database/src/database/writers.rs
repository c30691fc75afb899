//! Sessions that write: tables made ready for their statements before the first one comes.

use hotrow_engine::schema::Purpose;

use super::Database;
use crate::error::Error;

impl Database {
    /// From now on tables are ready for statements of sessions that write them, as soon as they
    /// are there, on engines whose statements lock what they touch. Without it a table gets
    /// ready when a statement first writes it, for which calls and statements have to pause: not
    /// to be waited for where others wait for a row that the very transaction has changed. The
    /// price: planned calls lock rows that no procedure writes, since a statement might.
    ///
    /// # Errors
    ///
    /// [`Error::Sql`], [`Error::Closed`].
    pub fn expect_writers(&self) -> Result<(), Error> {
        let quiet = self.core.quiet(Purpose::DEFINITION)?;
        if !self.core.locks_as_it_goes {
            return Ok(());
        }
        let mut next = (*quiet.schema()).clone();
        next.expect_writers()?;
        quiet.replace(next);
        Ok(())
    }
}
