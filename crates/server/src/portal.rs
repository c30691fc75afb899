//! Prepared statements and portals of a connection.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Deref;
use std::rc::Rc;

use hotrow::{NamedBy, Prepared, Session, SqlError, SqlType, StatementResult, Value};
use hotrow_base::by_name::ByName;

use crate::frontend::Bind;
use crate::wire::{self, Format};

/// A prepared statement.
pub(crate) struct Statement {
    /// as it was sent
    pub(crate) text: String,
    /// the types that the client has named for the first parameters, 0 where it has not
    pub(crate) named: Vec<u32>,
    /// compiled; none: there is no statement in the text
    pub(crate) prepared: Option<Prepared>,
}

impl Statement {
    /// A statement as it was sent.
    pub(crate) fn new(text: String, named: Vec<u32>, prepared: Option<Prepared>) -> Self {
        Self { text, named, prepared }
    }

    /// Bytes of its text, and what it was parsed and compiled to, estimated.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + self.prepared.as_ref().map_or(0, Prepared::bytes)
    }

    /// The types of its parameters by number: those that were named, as they were, since drivers
    /// hold on to them.
    pub(crate) fn parameter_numbers(&self) -> Vec<u32> {
        let own = self.parameters().iter().map(|of| wire::oid(*of));
        let named = self.named.iter().copied().chain(std::iter::repeat(0));
        own.zip(named).map(|(own, named)| if wire::is_open(named) { own } else { named }).collect()
    }

    /// The types of its parameters.
    pub(crate) fn parameters(&self) -> &[SqlType] {
        self.prepared.as_ref().map_or(&[], Prepared::parameters)
    }

    /// Its columns; none where it returns no rows.
    pub(crate) fn columns(&self) -> Vec<(String, SqlType)> {
        let columns = self.prepared.iter().flat_map(Prepared::columns);
        columns.map(|(name, of)| (name.to_owned(), of)).collect()
    }
}

/// The prepared statements of a connection, whose session knows the names.
#[derive(Default)]
pub(crate) struct Statements {
    by_name: ByName<Rc<Statement>>,
    /// of their texts
    bytes: usize,
    /// that had no name and are gone, the newest last: many drivers send each text anew
    unnamed: VecDeque<Rc<Statement>>,
}

/// Statements without a name that are kept when they are gone, and what each of them may take.
const UNNAMED_MAX: usize = 16;
const UNNAMED_BYTES_MAX: usize = 64 << 10;

impl Statements {
    pub(crate) fn insert(
        &mut self,
        session: &Session,
        name: impl Into<String>,
        new: Statement,
        by: NamedBy,
    ) {
        let name = name.into();
        session.note_name(&name, &new.text, new.parameters(), by);
        self.put(name, Rc::new(new));
    }

    fn put(&mut self, name: String, new: Rc<Statement>) {
        let is_unnamed = name.is_empty();
        self.bytes = self.bytes.saturating_add(new.bytes());
        let old = self.by_name.insert(name, new);
        self.is_gone(old, is_unnamed);
    }

    pub(crate) fn remove(&mut self, session: &Session, name: &str) {
        session.forget_name(Some(name));
        let old = self.by_name.remove(name);
        self.is_gone(old, name.is_empty());
    }

    fn is_gone(&mut self, old: Option<Rc<Statement>>, was_unnamed: bool) {
        let Some(old) = old else { return };
        let bytes = old.bytes();
        self.bytes = self.bytes.saturating_sub(bytes);
        if was_unnamed && bytes <= UNNAMED_BYTES_MAX {
            if self.unnamed.len() >= UNNAMED_MAX {
                self.unnamed.pop_front();
            }
            self.unnamed.push_back(old);
        }
    }

    /// Makes a text that was parsed without a name before the statement without a name again, if
    /// parsing it would give the same; whether it did.
    pub(crate) fn parse_again(&mut self, session: &Session, text: &str, types: &[u32]) -> bool {
        let is_it = |known: &Statement| {
            known.text == text
                && known.named == types
                && known.prepared.as_ref().is_some_and(|prepared| session.is_as_new(prepared))
        };
        if self.by_name.get("").is_some_and(|known| is_it(known)) {
            return true;
        }
        let Some(at) = self.unnamed.iter().rposition(|known| is_it(known)) else { return false };
        let Some(known) = self.unnamed.remove(at) else { return false };
        self.put(String::new(), known);
        true
    }

    pub(crate) fn clear(&mut self, session: &Session) {
        session.forget_name(None);
        *self = Self::default(); // with what room it took
    }

    /// Bytes of all of them ([`Statement::bytes`]).
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Deref for Statements {
    type Target = ByName<Rc<Statement>>;

    fn deref(&self) -> &Self::Target {
        &self.by_name
    }
}

/// The portals of a connection, cursors among them.
#[derive(Default)]
pub(crate) struct Portals {
    by_name: ByName<Portal>,
    /// of all of them ([`Portal::bytes`])
    bytes: usize,
}

impl Portals {
    /// Adds one, or puts it in the place of another with its name.
    pub(crate) fn insert(&mut self, name: String, mut new: Portal) {
        new.counted = new.bytes();
        self.bytes = self.bytes.saturating_add(new.counted);
        let old = self.by_name.insert(name, new);
        self.bytes = self.bytes.saturating_sub(old.map_or(0, |old| old.counted));
    }

    /// Takes one away; whether it was there.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let old = self.by_name.remove(name);
        self.bytes = self.bytes.saturating_sub(old.as_ref().map_or(0, |old| old.counted));
        old.is_some()
    }

    /// Takes those away that are not to stay.
    pub(crate) fn retain(&mut self, mut stays: impl FnMut(&Portal) -> bool) {
        let bytes = &mut self.bytes;
        self.by_name.retain(|_, portal| {
            let stays = stays(portal);
            *bytes = bytes.saturating_sub(if stays { 0 } else { portal.counted });
            stays
        });
    }

    /// One gets further. Its rows are counted only if they are to stay, by [`Portals::count_rows`]:
    /// mostly they are sent at once.
    pub(crate) fn set_progress(&mut self, name: &str, progress: Progress) {
        if let Some(portal) = self.by_name.get_mut(name) {
            portal.progress = progress;
        }
    }

    /// Counts what one takes with its rows, or without them when they have gone.
    pub(crate) fn count_rows(&mut self, name: &str) {
        if let Some(portal) = self.by_name.get_mut(name) {
            let bytes = portal.bytes();
            self.bytes = self.bytes.saturating_sub(portal.counted).saturating_add(bytes);
            portal.counted = bytes;
        }
    }

    /// Bytes of all of them.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Deref for Portals {
    type Target = ByName<Portal>;

    fn deref(&self) -> &Self::Target {
        &self.by_name
    }
}

/// How far a portal has got.
pub(crate) enum Progress {
    /// it was not run
    Ready,
    /// it has run, and so many rows were sent
    Run(Box<StatementResult>, Cell<usize>),
    /// it was declared a cursor, which is at a row, from 1: 0 before the first, and behind the last
    Cursor(Box<StatementResult>, Cell<usize>),
    /// all rows were sent; the tag of no more
    Over(String),
}

impl Progress {
    /// It has run, and no row was sent.
    pub(crate) fn run(result: StatementResult) -> Self {
        Self::Run(Box::new(result), Cell::new(0))
    }
}

/// A statement with values.
pub(crate) struct Portal {
    pub(crate) statement: Rc<Statement>,
    pub(crate) values: Vec<Value>,
    formats: Vec<Format>,
    pub(crate) progress: Progress,
    /// a cursor WITH HOLD: it outlives its transaction
    pub(crate) holds: bool,
    /// bytes that [`Portals`] has counted for it
    counted: usize,
}

impl Portal {
    /// Reads the values of a Bind.
    pub(crate) fn new(statement: Rc<Statement>, bind: &Bind<'_>) -> Result<Self, SqlError> {
        let types = statement.parameters();
        if bind.values.len() != types.len() {
            let (given, wanted) = (bind.values.len(), types.len());
            let message = format!(
                "bind message supplies {given} parameters, but prepared statement \"{}\" \
                 requires {wanted}",
                bind.statement
            );
            return Err(SqlError::new(b"08P01", message));
        }
        let formats = formats(&bind.formats, types.len(), "parameter")?;
        let given = bind.values.iter().zip(types).zip(0..);
        let values = given.map(|((value, sql_type), at)| match value {
            None => Ok(Value::Null),
            Some(bytes) => wire::read(bytes, format_of(&formats, at), *sql_type),
        });
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let width = statement.prepared.as_ref().map_or(0, |prepared| prepared.columns().len());
        let formats = self::formats(&bind.result_formats, width, "result")?;
        Ok(Self { statement, values, formats, progress: Progress::Ready, holds: false, counted: 0 })
    }

    /// A cursor and its rows.
    pub(crate) fn declared(
        statement: Rc<Statement>,
        rows: StatementResult,
        format: Format,
        holds: bool,
    ) -> Self {
        let progress = Progress::Cursor(Box::new(rows), Cell::new(0));
        Self { statement, values: Vec::new(), formats: vec![format], progress, holds, counted: 0 }
    }

    /// About how many bytes its values and the rows that wait take.
    pub(crate) fn bytes(&self) -> usize {
        let rows = match &self.progress {
            Progress::Run(result, _) | Progress::Cursor(result, _) => result.rows.bytes(),
            Progress::Ready | Progress::Over(_) => 0,
        };
        self.values.iter().map(Value::bytes).fold(rows, usize::saturating_add)
    }

    /// How a column is written.
    pub(crate) fn format(&self, column: usize) -> Format {
        format_of(&self.formats, column)
    }
}

/// None: all are text; one: all are of that format; else each has its own.
fn format_of(formats: &[Format], at: usize) -> Format {
    match formats {
        [] => Format::Text,
        [all] => *all,
        each => each.get(at).copied().unwrap_or(Format::Text),
    }
}

fn formats(codes: &[i16], count: usize, what: &str) -> Result<Vec<Format>, SqlError> {
    if codes.len() > 1 && codes.len() != count {
        let given = codes.len();
        let message = format!("bind message has {given} {what} formats but {count} {what}s");
        return Err(SqlError::new(b"08P01", message));
    }
    let format = |&code: &i16| {
        let unknown = || SqlError::new(b"08P01", format!("unsupported format code: {code}"));
        Format::of(code).ok_or_else(unknown)
    };
    codes.iter().map(format).collect()
}
