//! Files of definitions as one schema: what was refused, and the procedures that are there.

use std::fmt;

use hotrow::{Config, Database, Error, Holdings, Notice, Session, SqlError};

use super::pieces::{Piece, PieceKind, pieces};
use crate::definitions::signature;
use crate::failure::Failure;
use crate::sql::read;

/// A place in a file: `file:line:column`, from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct At {
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) column: usize,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Something to be told of a place: lines for people, the first one as compilers write them.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) at: At,
    /// error, warning or notice
    pub(super) level: &'static str,
    pub(super) sqlstate: Option<String>,
    pub(super) message: String,
    pub(super) detail: Option<String>,
    pub(super) hint: Option<String>,
}

impl Told {
    pub(super) fn error(at: At, message: String) -> Self {
        Self { at, level: "error", sqlstate: None, message, detail: None, hint: None }
    }

    fn warning(at: At, message: String) -> Self {
        Self { level: "warning", ..Self::error(at, message) }
    }

    fn of(at: At, level: &'static str, said: &SqlError) -> Self {
        let sqlstate = (said.code() != "00000").then(|| said.code().to_owned());
        let SqlError { message, detail, hint, .. } = said.clone();
        Self { at, level, sqlstate, message, detail, hint }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, level, message, .. } = self;
        match &self.sqlstate {
            Some(state) => writeln!(f, "{at}: {level} {state}: {message}")?,
            None => writeln!(f, "{at}: {level}: {message}")?,
        }
        for (word, more) in [("DETAIL", &self.detail), ("HINT", &self.hint)] {
            if let Some(more) = more {
                writeln!(f, "    {word}: {more}")?;
            }
        }
        Ok(())
    }
}

/// A procedure, and what each call of it holds.
#[derive(Debug)]
pub(super) struct Procedure {
    /// name and types of parameters, which tell it from all others
    pub(super) key: String,
    /// as it was declared
    pub(super) signature: String,
    /// the statement that created it
    pub(super) at: At,
    pub(super) holdings: Holdings,
    /// where the lines of its accesses are counted from: it is in one file
    first_line: usize,
}

impl Procedure {
    /// The line of its file that a line of the whole text is.
    pub(super) fn line(&self, line: u32) -> usize {
        (line as usize + 1).saturating_sub(self.first_line)
    }
}

/// What files define.
#[derive(Debug)]
pub(super) struct Version {
    pub(super) procedures: Vec<Procedure>,
    pub(super) refused: Vec<Told>,
    pub(super) warnings: Vec<Told>,
}

impl Version {
    /// Reads files as one schema, whose definitions are made one after the other.
    pub(super) fn read(files: &[String]) -> Result<Self, Failure> {
        // With an engine: definitions, too, take effect at a quiet point, which it grants.
        let db = Database::open_in_memory(Config::default().threads(1))?;
        let session = db.session();
        let mut reader = Reader { session, created: Vec::new(), refused: vec![], warnings: vec![] };
        let mut lines = 0;
        for file in files {
            let text = read(file)?;
            let name = if file == "-" { "stdin" } else { file };
            reader.file(&File { name, text: &text, lines });
            lines += text.lines().count() + 1;
        }
        let Reader { created, refused, warnings, .. } = reader;
        let mut procedures = Vec::new();
        for description in db.procedures() {
            let made = created.iter().rev().find(|(id, ..)| *id == description.id);
            let Some((id, at, before)) = made else { continue };
            let types: Vec<_> =
                description.parameters.iter().map(|(_, of)| of.to_string()).collect();
            procedures.push(Procedure {
                key: format!("{}({})", description.name, types.join(", ")),
                signature: signature(&description),
                at: at.clone(),
                holdings: db.holdings(*id)?,
                first_line: before + 1,
            });
        }
        Ok(Self { procedures, refused, warnings })
    }
}

/// A file, which comes behind so many lines of others: a place is one in all of them.
struct File<'t> {
    name: &'t str,
    text: &'t str,
    lines: usize,
}

impl File<'_> {
    fn at(&self, piece: &Piece<'_>) -> At {
        let before = &self.text[..piece.at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
        At { file: self.name.to_owned(), line, column }
    }
}

struct Reader {
    session: Session,
    /// procedures, where they were created, and how many lines came before that file
    created: Vec<(hotrow::ProcedureId, At, usize)>,
    refused: Vec<Told>,
    warnings: Vec<Told>,
}

impl Reader {
    fn file(&mut self, file: &File<'_>) {
        for piece in pieces(file.text) {
            let at = file.at(&piece);
            match piece.kind {
                PieceKind::Statement => self.statement(file, &piece, &at),
                PieceKind::MetaCommand => {
                    let message = format!("{} is a command of psql, and skipped", piece.text);
                    self.warnings.push(Told::warning(at, message));
                }
                PieceKind::Rows => {
                    let message = "rows of COPY are not read".to_owned();
                    self.warnings.push(Told::warning(at, message));
                }
            }
        }
    }

    fn statement(&mut self, file: &File<'_>, piece: &Piece<'_>, at: &At) {
        // As many blanks before it that its places are those in all files.
        let lines = "\n".repeat(file.lines + at.line - 1);
        let text = lines + &" ".repeat(at.column - 1) + piece.text;
        match self.session.check(&text) {
            Ok(checked) => {
                self.created.extend(checked.created.map(|id| (id, at.clone(), file.lines)));
                for Notice { level, said } in &checked.notices {
                    self.warnings.push(Told::of(at.clone(), word(*level), said));
                }
            }
            Err(error) => self.refused.push(refused(file, at, &error)),
        }
    }
}

fn word(level: hotrow::NoticeLevel) -> &'static str {
    if level == hotrow::NoticeLevel::Warning { "warning" } else { "notice" }
}

fn refused(file: &File<'_>, at: &At, error: &Error) -> Told {
    let Some(said) = error.as_sql() else { return Told::error(at.clone(), error.to_string()) };
    let mut at = at.clone();
    if let Some(line) = (said.place.line as usize).checked_sub(file.lines).filter(|n| *n > 0) {
        (at.line, at.column) = (line, said.place.column as usize);
    }
    Told::of(at, "error", said)
}
