//! COPY by a session's callers; [`crate::copy`] has the rules.

use std::io::{self, Read, Write};

use hotrow_base::panics;
use hotrow_transaction::outcome::SqlError;

use super::Session;
use crate::copy::CopyIn;
use crate::error::Error;
use crate::perform::Outcome;
use crate::result::StatementResult;

/// Bytes read at a time by [`Session::copy_in`].
const READ_BYTES: usize = 64 << 10;

impl Session {
    /// Executes `COPY table FROM STDIN ...` with the rows that `data` gives; how many there were.
    /// All of them are inserted or none, in the session's transaction or in one of their own.
    ///
    /// ```
    /// # let db = hotrow::Database::open_in_memory(hotrow::Config::default().threads(1))?;
    /// let session = db.session();
    /// session.execute("CREATE TABLE city (id int PRIMARY KEY, name text)")?;
    /// let rows = &b"1\tLima\n2\t\\N\n"[..];
    /// assert_eq!(session.copy_in("COPY city FROM STDIN", rows)?, 2);
    /// let mut csv = Vec::new();
    /// session.copy_out("COPY city TO STDOUT (FORMAT csv, HEADER)", &mut csv)?;
    /// assert_eq!(csv, b"id,name\n1,Lima\n2,\n");
    /// # Ok::<(), hotrow::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Sql`]: 22P04 for rows of another shape, 22P02 and the like for values, with the
    /// line and the column in the error's context; what INSERT says; 58030 if `data` fails.
    pub fn copy_in(&self, statement: &str, mut data: impl Read) -> Result<u64, Error> {
        let prepared = self.prepare(statement, &[])?;
        let Outcome::CopyIn(mut copy) = self.perform(&prepared, &[])? else {
            return Err(no_copy("COPY ... FROM STDIN"));
        };
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match data.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => copy.write(self, &buffer[..read])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(copy.fail(self, &error.to_string())),
            }
        }
        self.with_runner(|runner| copy.rows_of_finish(runner))
    }

    /// Executes `COPY ... TO STDOUT ...` and writes the rows to `out`; how many there were.
    ///
    /// # Errors
    ///
    /// [`Error::Sql`]: what the query says, 58030 if `out` fails.
    pub fn copy_out(&self, statement: &str, out: &mut impl Write) -> Result<u64, Error> {
        let prepared = self.prepare(statement, &[])?;
        let Outcome::CopyOut(copy) = self.perform(&prepared, &[])? else {
            return Err(no_copy("COPY ... TO STDOUT"));
        };
        let mut written = Ok(());
        copy.for_each_piece(|line| {
            if written.is_ok() {
                written = out.write_all(line);
            }
        });
        written.map_err(|error| SqlError::new(b"58030", error.to_string()))?;
        Ok(copy.rows())
    }
}

impl CopyIn {
    /// Takes some of the data.
    ///
    /// # Errors
    ///
    /// As [`Session::copy_in`]; then there is nothing more to do with it.
    pub fn write(&mut self, session: &Session, data: &[u8]) -> Result<(), Error> {
        let _guard = panics::guard();
        let _entered = session.enter();
        session.with_runner(|runner| self.take(runner, data))
    }

    /// All data has come: the result, as that of a statement.
    ///
    /// # Errors
    ///
    /// As [`Session::copy_in`], and what COMMIT says where the transaction is its own.
    pub fn finish(self, session: &Session) -> Result<StatementResult, Error> {
        let _guard = panics::guard();
        session.with_runner(|runner| self.end(runner))
    }

    /// The data has come to an end that it should not have; the error that says so, 57014.
    pub fn fail(self, session: &Session, why: &str) -> Error {
        let _guard = panics::guard();
        session.with_runner(|runner| self.give_up(runner, why))
    }
}

fn no_copy(wanted: &str) -> Error {
    SqlError::new(b"42601", format!("the statement is not {wanted}")).into()
}
