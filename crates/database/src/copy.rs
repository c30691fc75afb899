//! COPY: rows from a client into a table, and from a query to a client.
//!
//! Role         [`CopyIn`] takes bytes, cut anywhere, and inserts a row as soon as it is complete,
//!              in the session's transaction or in one of its own; [`CopyOut`] has what a query
//!              gave and writes it row by row. Knows no protocol
//! States       of a `CopyIn`: begun -> takes data -> finished or failed; in a transaction of its
//!              own nothing remains of one that fails, or is dropped with its session
//! Invariants   I1 beside the rows themselves, memory grows with the longest row, and no row is
//!                 longer than [`ROW_BYTES_MAX`]
//! Source       PostgreSQL 15, COPY

mod binary;
mod form;
mod read;

use hotrow_base::interrupt::Running;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_sql::{CopyForm, quoted, quoted_name};
use hotrow_transaction::catalog::local;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;

use self::binary::{BinaryRows, Broken};
use self::form::write_row;
use self::read::{Cell, Cells, Rows as RowBytes};
use crate::error::Error;
use crate::prepare::{prepare, prepare_own};
use crate::prepared::Prepared;
use crate::result::StatementResult;
use crate::rows::Rows;
use crate::run::Runner;

/// Longest row in a client's data.
const ROW_BYTES_MAX: usize = 16 << 20;
/// How much of a row or value is shown in an error's context.
const SHOWN_CHARS_MAX: usize = 100;
/// Rows between two looks whether to go on.
const ROWS_BETWEEN_LOOKS: u64 = 256;

/// Rows that come from a client; see the module. Whoever has one calls [`CopyIn::write`] until it
/// fails, or until there is no more, and then [`CopyIn::finish`] or [`CopyIn::fail`].
pub struct CopyIn {
    insert: Prepared,
    table: String,
    columns: Vec<Column>,
    form: CopyForm,
    data: Data,
    cells: Cells,
    values: Vec<Value>,
    /// of the client's data, from 1
    line: u64,
    rows: u64,
    is_own: bool,
    /// where rows are only noted until all have come: the line of each
    lines: Option<Vec<u64>>,
    place: Place,
    /// the statement lasts as long as this: it can be cancelled while its client is silent
    _running: Running,
}

/// What has come of the client's data, by its format.
enum Data {
    Lines(RowBytes),
    Binary(BinaryRows),
}

struct Column {
    name: String,
    data_type: DataType,
    /// an unquoted NULL text is a text
    never_null: bool,
    /// a quoted NULL text is NULL
    null_if_quoted: bool,
}

/// Rows that go to a client; see the module.
pub struct CopyOut {
    form: CopyForm,
    columns: Vec<String>,
    types: Vec<DataType>,
    rows: Rows,
    place: Place,
}

impl CopyIn {
    /// Begins `COPY table (columns) FROM STDIN`, in the session's transaction or in one of its own.
    pub(crate) fn begin(
        runner: &mut Runner<'_>,
        (table, names): (String, Vec<String>),
        form: CopyForm,
        (place, running): (Place, Running),
    ) -> Result<Self, Error> {
        let list: Vec<_> = names.iter().map(|name| quoted(name)).collect();
        let places: Vec<_> = (1..=names.len()).map(|number| format!("${number}")).collect();
        let (list, places) = (list.join(", "), places.join(", "));
        let text = format!("INSERT INTO {} ({list}) VALUES ({places})", quoted_name(&table));
        // Of its own: it gives columns values that are GENERATED ALWAYS.
        let insert = prepare_own(runner.context, runner.transaction, &text, &[])?;
        let schema = runner.context.core.schema.current();
        insert.with_needs(|needs| runner.context.refuse_without(&schema.catalog, needs))?;
        let types = insert.parameters().iter().map(scalar);
        let columns = names.into_iter().zip(types).map(|(name, data_type)| Column {
            never_null: form.force_not_null.has(&name),
            null_if_quoted: form.force_null.has(&name),
            name,
            data_type,
        });
        let columns = columns.collect();
        let is_own = runner.transaction.begin_unless_open(runner.context)?;
        let data = match form.is_binary {
            true => Data::Binary(BinaryRows::default()),
            false => Data::Lines(RowBytes::new(&form)),
        };
        let (cells, values) = (Cells::default(), Vec::new());
        let (line, rows) = (0, 0);
        // What is only noted tells nobody what it has violated.
        let lines = (!insert.may_defer() && runner.transaction.defer()).then(Vec::new);
        Ok(Self {
            insert,
            table: local(&table).to_owned(),
            columns,
            form,
            data,
            cells,
            values,
            line,
            rows,
            is_own,
            lines,
            place,
            _running: running,
        })
    }

    /// Takes some of the data.
    pub(crate) fn take(&mut self, runner: &mut Runner<'_>, data: &[u8]) -> Result<(), Error> {
        let mut come = std::mem::take(&mut self.data);
        match &mut come {
            Data::Lines(lines) => lines.push(data),
            Data::Binary(rows) => rows.push(data),
        }
        let go_on = runner.context.interrupt.check().map_err(|why| SqlError::from(why).into());
        let done = go_on.and_then(|()| match &mut come {
            Data::Lines(lines) => self.rows_of(runner, lines),
            Data::Binary(rows) => self.binary_rows_of(runner, rows),
        });
        self.data = come;
        done.map_err(|error| self.failed(runner, error))
    }

    /// All data has come: the result.
    pub(crate) fn end(self, runner: &mut Runner<'_>) -> Result<StatementResult, Error> {
        let place = self.place;
        Ok(result(self.rows_of_finish(runner)?, place))
    }

    /// The data has come to an end that it should not have.
    pub(crate) fn give_up(self, runner: &mut Runner<'_>, why: &str) -> Error {
        let error = SqlError::new(b"57014", format!("COPY from stdin failed: {why}"));
        self.failed(runner, self.at_line(error, None).into())
    }

    /// How many columns a row has.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Whether rows come in the binary format.
    pub fn is_binary(&self) -> bool {
        self.form.is_binary
    }

    /// All data has come; how many rows there were.
    pub(crate) fn rows_of_finish(mut self, runner: &mut Runner<'_>) -> Result<u64, Error> {
        let ended = match std::mem::take(&mut self.data) {
            Data::Lines(lines) => self.end_lines(runner, lines),
            Data::Binary(rows) => rows.end().map_err(|broken| self.at_column(broken).into()),
        };
        if let Err(error) = ended {
            return Err(self.failed(runner, error));
        }
        if let Some(lines) = self.lines.take() {
            let settled = runner.transaction.settle_changes(self.is_own);
            if let Err((number, error)) = settled {
                self.line = lines.get(number).copied().unwrap_or(self.line);
                return Err(self.failed(runner, self.at_line(*error, None).into()));
            }
        }
        if self.is_own {
            runner.transaction.commit_own(runner.context)?;
        }
        Ok(self.rows)
    }

    fn end_lines(&mut self, runner: &mut Runner<'_>, mut lines: RowBytes) -> Result<(), Error> {
        lines.end();
        self.rows_of(runner, &mut lines)?;
        if lines.is_inside_quotes() {
            let error = SqlError::new(b"22P04", "unterminated CSV quoted field");
            return Err(self.at_line(error, None).into());
        }
        Ok(())
    }

    fn failed(&self, runner: &mut Runner<'_>, error: Error) -> Error {
        match self.is_own {
            true => runner.transaction.abandon(),
            false => runner.transaction.fail(),
        }
        error
    }

    /// Whether to go on with a message that may have millions of rows: asked from time to time.
    fn go_on(&self, runner: &mut Runner<'_>) -> Result<(), Error> {
        if self.rows.is_multiple_of(ROWS_BETWEEN_LOOKS) {
            runner.context.interrupt.check().map_err(SqlError::from)?;
        }
        Ok(())
    }

    /// Inserts the rows that are complete.
    fn rows_of(&mut self, runner: &mut Runner<'_>, bytes: &mut RowBytes) -> Result<(), Error> {
        while let Some(row) = bytes.next() {
            self.go_on(runner)?;
            self.line += 1;
            let lines_inside = row.iter().filter(|&&byte| byte == b'\n').count() as u64;
            self.row(runner, row)?;
            self.line += lines_inside;
        }
        if bytes.waiting() > ROW_BYTES_MAX {
            let text = format!("a row of COPY is longer than {ROW_BYTES_MAX} bytes");
            return Err(self.at_line(SqlError::new(b"54000", text), None).into());
        }
        Ok(())
    }

    /// The same of binary ones.
    fn binary_rows_of(
        &mut self,
        runner: &mut Runner<'_>,
        rows: &mut BinaryRows,
    ) -> Result<(), Error> {
        loop {
            self.go_on(runner)?;
            self.line += 1;
            let is_whole = rows.next(self.columns.len());
            if !is_whole.map_err(|broken| self.at_column(broken))? {
                self.line -= 1;
                return Ok(());
            }
            self.values.clear();
            for (at, column) in self.columns.iter().enumerate() {
                let read = |bytes| crate::binary::read(bytes, SqlType::Scalar(column.data_type));
                match rows.value(at).map_or(Ok(Value::Null), read) {
                    Ok(value) => self.values.push(value),
                    Err(error) => return Err(self.at_column((error, Some(at))).into()),
                }
            }
            self.insert(runner, None)?;
        }
    }

    fn row(&mut self, runner: &mut Runner<'_>, row: &[u8]) -> Result<(), Error> {
        if self.line == 1 && self.form.header {
            return self.header(row).map_err(Error::from);
        }
        self.take_cells(row)?;
        self.insert(runner, Some(row))
    }

    /// Inserts the values of a row.
    fn insert(&mut self, runner: &mut Runner<'_>, row: Option<&[u8]>) -> Result<(), Error> {
        let insert = (&self.insert, self.values.as_slice());
        if let Some(done) = runner.transaction.statement(runner.context, insert) {
            done.map_err(|error| match error {
                Error::Sql(error) => self.at_line(*error, row).into(),
                other => other,
            })?;
        }
        self.rows += 1;
        if let Some(lines) = &mut self.lines {
            lines.push(self.line);
        }
        Ok(())
    }

    fn header(&mut self, row: &[u8]) -> Result<(), SqlError> {
        if !self.form.header_matches {
            return Ok(());
        }
        let split = self.cells.split(row, &self.form);
        split.map_err(|error| self.at_line(error, Some(row)))?;
        let given: Vec<_> = self.cells.iter().map(|cell| cell.text.to_owned()).collect();
        if given.iter().eq(self.columns.iter().map(|column| &column.name)) {
            return Ok(());
        }
        let wanted: Vec<_> = self.columns.iter().map(|column| column.name.as_str()).collect();
        let text = format!("the header does not have the columns {}", wanted.join(", "));
        Err(self.at_line(SqlError::new(b"22P04", text), Some(row)))
    }

    /// Reads a row's values.
    fn take_cells(&mut self, row: &[u8]) -> Result<(), SqlError> {
        let split = self.cells.split(row, &self.form);
        split.map_err(|error| self.at_line(error, Some(row)))?;
        let (given, wanted) = (self.cells.len(), self.columns.len());
        if given > wanted {
            let error = SqlError::new(b"22P04", "extra data after last expected column");
            return Err(self.at_line(error, Some(row)));
        }
        if given < wanted {
            let column = &self.columns[given].name;
            let error = SqlError::new(b"22P04", format!("missing data for column \"{column}\""));
            return Err(self.at_line(error, Some(row)));
        }
        self.values.clear();
        for (cell, column) in self.cells.iter().zip(&self.columns) {
            match column.value(cell) {
                Ok(value) => self.values.push(value),
                Err(error) => {
                    let (table, line) = (&self.table, self.line);
                    let (name, shown) = (&column.name, shown(cell.text));
                    let context = format!("COPY {table}, line {line}, column {name}: \"{shown}\"");
                    return Err(SqlError { context: Some(context), ..error });
                }
            }
        }
        Ok(())
    }

    /// An error of a binary row, which is nothing to show.
    fn at_column(&self, (error, column): Broken) -> SqlError {
        let (table, line) = (&self.table, self.line.max(1));
        let mut context = format!("COPY {table}, line {line}");
        if let Some(column) = column.and_then(|at| self.columns.get(at)) {
            context += &format!(", column {}", column.name);
        }
        SqlError { context: Some(context), ..error }
    }

    fn at_line(&self, error: SqlError, row: Option<&[u8]>) -> SqlError {
        let (table, line) = (&self.table, self.line);
        let mut context = format!("COPY {table}, line {line}");
        if let Some(row) = row {
            context += &format!(": \"{}\"", shown(&String::from_utf8_lossy(row)));
        }
        SqlError { context: Some(context), ..error }
    }
}

impl Column {
    fn value(&self, cell: Cell<'_>) -> Result<Value, SqlError> {
        let is_null = match cell.is_quoted {
            true => self.null_if_quoted,
            false => !self.never_null,
        };
        if is_null && cell.looks_null {
            return Ok(Value::Null);
        }
        if cell.text.contains('\0') {
            let text = "invalid byte sequence for encoding \"UTF8\": 0x00";
            return Err(SqlError::new(b"22021", text));
        }
        Ok(Value::parse(self.data_type, cell.text)?)
    }
}

impl Default for Data {
    fn default() -> Self {
        Self::Lines(RowBytes::default())
    }
}

fn scalar(sql_type: &SqlType) -> DataType {
    sql_type.packed()
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}...", &text[..at]),
    }
}

fn result(rows: u64, place: Place) -> StatementResult {
    StatementResult { place, ..StatementResult::of_tag(&format!("COPY {rows}")) }
}

impl CopyOut {
    /// Executes the query of `COPY ... TO STDOUT`.
    pub(crate) fn of(
        runner: &mut Runner<'_>,
        query: &str,
        form: CopyForm,
        place: Place,
    ) -> Result<Self, Error> {
        let prepared = prepare(runner.context, runner.transaction, query, &[])?;
        let columns = prepared.columns().map(|(name, _)| name.to_owned()).collect();
        let result = runner.execute(&prepared, &[])?;
        let types = result.types.iter().map(scalar).collect();
        Ok(Self { form, columns, types, rows: result.rows, place })
    }

    /// How many columns a row has.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Whether they are written in the binary format.
    pub fn is_binary(&self) -> bool {
        self.form.is_binary
    }

    /// Writes the header, if there is to be one, and each row, its end of line included. In the
    /// binary format the first row comes with the header, as clients expect it.
    pub fn for_each_piece(&self, mut tell: impl FnMut(&[u8])) {
        let mut line = Vec::new();
        if self.form.is_binary {
            binary::write_header(&mut line);
            for row in self.rows.iter() {
                binary::write_row(row, &self.types, &mut line);
                tell(&line);
                line.clear();
            }
            binary::write_trailer(&mut line);
            return tell(&line);
        }
        if self.form.header {
            let names = self.columns.iter().map(|name| Value::Text(name.clone()));
            let names: Vec<Value> = names.collect();
            write_row(&names, |_| false, &self.form, &mut line);
            tell(&line);
        }
        let is_forced: Vec<bool> =
            self.columns.iter().map(|name| self.form.force_quote.has(name)).collect();
        for row in self.rows.iter() {
            line.clear();
            write_row(row, |at| is_forced[at], &self.form, &mut line);
            tell(&line);
        }
    }

    /// The result, as that of a statement.
    pub fn finish(self) -> StatementResult {
        result(self.rows(), self.place)
    }
}

impl std::fmt::Debug for CopyIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyIn").field("table", &self.table).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for CopyOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyOut").field("columns", &self.columns).finish_non_exhaustive()
    }
}
