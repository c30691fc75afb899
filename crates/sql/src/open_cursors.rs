//! Cursors that routines have opened: they are their session's until its transaction ends.
//!
//! Role         the rows of each by the cursor's name, and where it stands. A routine that is run
//!              statement by statement opens, reads and closes them ([`crate::interpreted`]); so
//!              do FETCH, MOVE and CLOSE of whoever called it. Knows no transaction: its session
//!              tells when one ends, or is taken back to a savepoint
//! Invariants   I1 names without a name of the caller's are numbered through in a session, and
//!              none comes twice
//! Bounds       [`CURSORS_MAX`] at a time; their rows take memory of the session
//! Source       PostgreSQL 15, 43.7.3.5, and `CreateNewPortal`. We differ: all rows are found when
//!              the cursor is opened

use std::collections::BTreeMap;
use std::sync::Arc;

use hotrow_base::memory::{Charge, MemoryAccount};
use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;

use crate::setting::Direction;

/// Cursors that may be open at a time.
const CURSORS_MAX: usize = 10_000;

/// Rows of a query, row after row.
#[derive(Default, Debug)]
pub struct OpenRows {
    /// names and types of their columns
    pub columns: Vec<(String, SqlType)>,
    pub(crate) values: Vec<Value>,
    /// what they take, as long as they are kept
    charge: Charge,
}

impl OpenRows {
    pub(crate) fn new(columns: Vec<(String, SqlType)>, values: Vec<Value>, charge: Charge) -> Self {
        Self { columns, values, charge }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.values.len().checked_div(self.columns.len()).unwrap_or(0)
    }

    /// That with this number, from 0.
    pub fn row(&self, at: usize) -> &[Value] {
        let width = self.columns.len();
        self.values.get(at * width..(at + 1) * width).unwrap_or_default()
    }
}

/// Columns, and a row of them.
pub(crate) type Fetched = (Vec<(String, SqlType)>, Option<Vec<Value>>);

/// A cursor that is open.
#[derive(Debug)]
pub struct OpenCursor {
    /// its rows
    pub rows: OpenRows,
    /// at which of them it is, from 1; 0: before the first
    pub(crate) at: usize,
    /// whether it may go back
    pub(crate) scrolls: bool,
    /// how many were opened before it
    number: u64,
}

impl OpenCursor {
    /// Goes where FETCH or MOVE says; the numbers of the rows on the way, from 0.
    ///
    /// Errors: 55000 where it would go back, and may not.
    pub fn travel(
        &mut self,
        direction: Direction,
    ) -> Result<Box<dyn Iterator<Item = usize>>, SqlError> {
        let (rows, to) = direction.travelled(self.at, self.rows.len());
        if to < self.at && !self.scrolls {
            let hint = Some("Declare it with SCROLL option to enable backward scan.".to_owned());
            let failed = SqlError::new(b"55000", "cursor can only scan forward");
            return Err(SqlError { hint, ..failed });
        }
        self.at = to;
        Ok(rows)
    }
}

/// The cursors of a session that routines have opened.
#[derive(Debug)]
pub struct OpenCursors {
    by_name: BTreeMap<String, OpenCursor>,
    /// how many were opened in all
    opened: u64,
    /// how many had no name (I1)
    unnamed: u64,
    /// savepoints of the transaction, and how many were opened before each
    savepoints: Vec<(String, u64)>,
    /// whose memory their rows take
    account: Arc<MemoryAccount>,
}

impl OpenCursors {
    /// None is open; rows of those to come take memory of an account.
    pub fn new(account: Arc<MemoryAccount>) -> Self {
        Self { by_name: BTreeMap::new(), opened: 0, unnamed: 0, savepoints: Vec::new(), account }
    }

    /// The cursor with a name.
    ///
    /// Errors: 34000 where none is open.
    pub fn get(&mut self, name: &str) -> Result<&mut OpenCursor, SqlError> {
        self.by_name.get_mut(name).ok_or_else(|| no_cursor(name))
    }

    /// Goes where a FETCH of one row says; the columns of the cursor, and the row, if it found one.
    ///
    /// Errors: 34000, and as [`OpenCursor::travel`].
    pub(crate) fn fetched(
        &mut self,
        name: &str,
        direction: Direction,
    ) -> Result<Fetched, SqlError> {
        let cursor = self.get(name)?;
        let row = cursor.travel(direction)?.next();
        let row = row.map(|at| cursor.rows.row(at).to_vec());
        Ok((cursor.rows.columns.clone(), row))
    }

    /// Whether one with this name is open.
    pub fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Opens one.
    ///
    /// Errors: 42P03 where one with its name is open, 54000 where there are too many.
    pub(crate) fn open(
        &mut self,
        name: &str,
        mut rows: OpenRows,
        scrolls: bool,
    ) -> Result<(), SqlError> {
        self.refuse_open(name)?;
        if self.by_name.len() >= CURSORS_MAX {
            let hint = Some("Close those that are not used any more.".to_owned());
            let failed = SqlError::new(b"54000", format!("there are {CURSORS_MAX} open cursors"));
            return Err(SqlError { hint, ..failed });
        }
        rows.charge.move_to(&self.account);
        let cursor = OpenCursor { rows, at: 0, scrolls, number: self.opened };
        self.opened += 1;
        self.by_name.insert(name.to_owned(), cursor);
        Ok(())
    }

    /// Fails with 42P03 where one with this name is open.
    pub(crate) fn refuse_open(&self, name: &str) -> Result<(), SqlError> {
        match self.has(name) {
            true => Err(SqlError::new(b"42P03", format!("cursor \"{name}\" already in use"))),
            false => Ok(()),
        }
    }

    /// The name of one that has none (I1).
    pub(crate) fn next_name(&mut self) -> String {
        loop {
            self.unnamed += 1;
            let name = format!("<unnamed portal {}>", self.unnamed);
            if !self.has(&name) {
                return name;
            }
        }
    }

    /// Closes one.
    ///
    /// Errors: 34000 where none is open.
    pub fn close(&mut self, name: &str) -> Result<(), SqlError> {
        self.by_name.remove(name).map(drop).ok_or_else(|| no_cursor(name))
    }

    /// Closes all of them: their transaction has ended.
    pub fn close_all(&mut self) {
        self.by_name.clear();
        self.savepoints.clear();
    }

    /// How many were opened so far.
    pub(crate) fn opened(&self) -> u64 {
        self.opened
    }

    /// Closes those that were opened behind so many.
    pub(crate) fn close_since(&mut self, opened: u64) {
        self.by_name.retain(|_, cursor| cursor.number < opened);
    }

    /// SAVEPOINT
    pub fn note_savepoint(&mut self, name: String) {
        self.savepoints.push((name, self.opened));
    }

    /// ROLLBACK TO SAVEPOINT: closes what was opened behind it.
    pub fn go_back_to(&mut self, name: &str) {
        let Some(at) = self.savepoints.iter().rposition(|(known, _)| known == name) else { return };
        let (_, opened) = self.savepoints[at];
        self.savepoints.truncate(at + 1);
        self.close_since(opened);
    }

    /// RELEASE SAVEPOINT
    pub fn release_savepoint(&mut self, name: &str) {
        if let Some(at) = self.savepoints.iter().rposition(|(known, _)| known == name) {
            self.savepoints.truncate(at);
        }
    }
}

/// 34000
fn no_cursor(name: &str) -> SqlError {
    SqlError::new(b"34000", format!("cursor \"{name}\" does not exist"))
}
