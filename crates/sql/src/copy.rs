//! COPY: what it copies, from where to where, and how rows are written.
//!
//! ```text
//! COPY table [(column, ...)] FROM STDIN [options]
//! COPY {table [(column, ...)] | (query)} TO STDOUT [options]
//!   options   [WITH] (FORMAT text | csv | binary, DELIMITER 'c', NULL 's', HEADER [bool],
//!             QUOTE 'c', ESCAPE 'c', FORCE_QUOTE {(column, ...) | *}, FORCE_NOT_NULL (...),
//!             FORCE_NULL (...), ENCODING 'UTF8', FREEZE [bool])
//!             | [WITH] [BINARY] [CSV] [HEADER] [DELIMITER [AS] 'c'] [NULL [AS] 's']
//!             [QUOTE [AS] 'c'] ...
//! ```

use hotrow_transaction::catalog::{Trigger, TriggerEvent, TriggerLevel};
use hotrow_transaction::program::Place;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Advice, Result, error, unsupported};
use crate::scope::Compiler;
use crate::token::{Cursor, quoted, quoted_name};

/// A COPY statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Copy {
    /// what is copied
    pub what: Copied,
    /// how it is written
    pub form: CopyForm,
}

/// What COPY copies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Copied {
    /// rows from the client into these columns of a table
    In {
        /// its name
        table: String,
        /// their names; all of the table's where none were written
        columns: Vec<String>,
    },
    /// what a query gives to the client
    Out {
        /// its text
        query: String,
    },
}

/// How rows are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopyForm {
    /// PostgreSQL's binary format, of which all that follows says nothing
    pub is_binary: bool,
    /// comma-separated values; else PostgreSQL's text format
    pub is_csv: bool,
    /// between columns
    pub delimiter: u8,
    /// what stands for NULL
    pub null: String,
    /// a first line with the columns' names
    pub header: bool,
    /// the columns' names of that line have to be the right ones
    pub header_matches: bool,
    /// around values
    pub quote: u8,
    /// before a quote in quotes
    pub escape: u8,
    /// columns whose values are always quoted
    pub force_quote: Columns,
    /// columns that are not NULL though they look so
    pub force_not_null: Columns,
    /// columns that are NULL where they are quoted and look so
    pub force_null: Columns,
}

/// Some columns.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Columns {
    /// none
    #[default]
    None,
    /// all
    All,
    /// those with these names
    Named(Vec<String>),
}

impl Columns {
    /// Whether a column is one of them.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Named(names) => names.iter().any(|named| named == name),
        }
    }
}

/// A COPY as it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CopySyntax {
    place: Place,
    source: Source,
    is_in: bool,
    form: CopyForm,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Source {
    Table { name: String, place: Place, columns: Vec<(String, Place)> },
    Query(String),
}

/// Options as far as they were given.
#[derive(Default)]
struct Given {
    csv: bool,
    binary: bool,
    delimiter: Option<u8>,
    null: Option<String>,
    header: bool,
    header_matches: bool,
    quote: Option<u8>,
    escape: Option<u8>,
    force_quote: Columns,
    force_not_null: Columns,
    force_null: Columns,
}

/// Parses a COPY behind its first word; `text_of` gives the text that tokens were.
pub(crate) fn copy(
    cursor: &mut Cursor<'_>,
    place: Place,
    text_of: impl FnOnce(&[TokenWithSpan]) -> String,
) -> Result<CopySyntax> {
    let source = if cursor.peek() == Some(&Token::LParen) {
        let query = cursor.take_brackets()?;
        let start = cursor.inside(query);
        if !["select", "values", "with", "table"].iter().any(|word| start.is(word)) {
            let hint = "write a SELECT in the brackets";
            return Err(unsupported(place, "COPY of anything but a query", hint));
        }
        Source::Query(text_of(query))
    } else {
        let at = cursor.place();
        let name = cursor.object_name()?;
        let mut columns = Vec::new();
        if cursor.peek() == Some(&Token::LParen) {
            let list = cursor.take_brackets()?;
            for mut item in cursor.inside(list).split_commas() {
                let at = item.place();
                columns.push((item.identifier()?, at));
                refuse_more(&item)?;
            }
        }
        Source::Table { name, place: at, columns }
    };
    let is_in = cursor.accept("from");
    if !is_in {
        cursor.expect("to")?;
    }
    if is_in && matches!(source, Source::Query(_)) {
        return Err(cursor.unexpected("TO"));
    }
    let at = cursor.place();
    if !cursor.accept("stdin") && !cursor.accept("stdout") {
        if cursor.is("program") || matches!(cursor.peek(), Some(Token::SingleQuotedString(_))) {
            let hint = "write FROM STDIN or TO STDOUT; psql's \\copy sends files of its own";
            return Err(unsupported(at, "COPY of files of the server", hint));
        }
        return Err(cursor.unexpected("STDIN or STDOUT"));
    }
    let _ = cursor.accept("with");
    let mut given = Given::default();
    if cursor.peek() == Some(&Token::LParen) {
        let list = cursor.take_brackets()?;
        for mut item in cursor.inside(list).split_commas() {
            given.option(&mut item)?;
            refuse_more(&item)?;
        }
    } else {
        while !cursor.at_end() && !cursor.is("where") {
            given.option_of_old(cursor)?;
        }
    }
    if cursor.is("where") {
        return Err(unsupported(cursor.place(), "WHERE in COPY", "delete the rows afterwards"));
    }
    refuse_more(cursor)?;
    Ok(CopySyntax { place, source, is_in, form: given.into_form(place)? })
}

fn refuse_more(cursor: &Cursor<'_>) -> Result<()> {
    if cursor.at_end() { Ok(()) } else { Err(cursor.unexpected("the end")) }
}

impl Given {
    fn option(&mut self, item: &mut Cursor<'_>) -> Result<()> {
        let place = item.place();
        let name = item.identifier()?;
        match name.as_str() {
            "format" => {
                let at = item.place();
                let format = word(item)?;
                self.format(&format, at)?;
            }
            "header" => self.header(item)?,
            "freeze" => drop(boolean(item)?),
            "force_quote" => self.force_quote = columns(item)?,
            "force_not_null" => self.force_not_null = columns(item)?,
            "force_null" => self.force_null = columns(item)?,
            name => {
                if !self.text_option(name, item)? {
                    let text = format!("option \"{name}\" not recognized");
                    return Err(error(b"42601", place, text));
                }
            }
        }
        Ok(())
    }

    /// One option without brackets around, as PostgreSQL wrote them before version 9.
    fn option_of_old(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let place = cursor.place();
        if cursor.accept("csv") {
            self.csv = true;
        } else if cursor.accept("binary") {
            self.format("binary", place)?;
        } else if cursor.accept("header") {
            self.header = true;
        } else if cursor.accept("freeze") {
        } else if cursor.accept_all(&["force", "quote"]) {
            self.force_quote = columns_of_old(cursor)?;
        } else if cursor.accept_all(&["force", "not", "null"]) {
            self.force_not_null = columns_of_old(cursor)?;
        } else if cursor.accept_all(&["force", "null"]) {
            self.force_null = columns_of_old(cursor)?;
        } else {
            let name = cursor.identifier()?;
            let _ = cursor.accept("as");
            if !self.text_option(&name, cursor)? {
                let text = format!("syntax error at or near \"{name}\"");
                return Err(error(b"42601", place, text));
            }
        }
        Ok(())
    }

    fn format(&mut self, format: &str, place: Place) -> Result<()> {
        match format {
            "text" => (self.csv, self.binary) = (false, false),
            "csv" => (self.csv, self.binary) = (true, false),
            "binary" => (self.csv, self.binary) = (false, true),
            other => {
                let text = format!("COPY format \"{other}\" not recognized");
                return Err(error(b"22023", place, text).hint("write text, csv or binary"));
            }
        }
        Ok(())
    }

    fn header(&mut self, item: &mut Cursor<'_>) -> Result<()> {
        self.header_matches = item.accept("match");
        self.header = self.header_matches || boolean(item)?;
        Ok(())
    }

    /// An option with a text behind it; false if it is none.
    fn text_option(&mut self, name: &str, cursor: &mut Cursor<'_>) -> Result<bool> {
        let place = cursor.place();
        match name {
            "delimiter" => self.delimiter = Some(byte(cursor, "delimiter")?),
            "quote" => self.quote = Some(byte(cursor, "quote")?),
            "escape" => self.escape = Some(byte(cursor, "escape")?),
            "null" => self.null = Some(string(cursor)?),
            "encoding" => {
                let encoding = string(cursor)?;
                let plain: String = encoding.chars().filter(char::is_ascii_alphanumeric).collect();
                if !matches!(plain.to_ascii_lowercase().as_str(), "utf8" | "unicode") {
                    let text = "argument to option \"encoding\" must be a valid encoding name";
                    return Err(error(b"22023", place, text).hint("the only encoding is UTF8"));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn into_form(self, place: Place) -> Result<CopyForm> {
        if self.binary {
            let refused = [
                (self.delimiter.is_some(), b"42601", "DELIMITER"),
                (self.null.is_some(), b"42601", "NULL"),
                (self.header, b"0A000", "HEADER"),
            ];
            if let Some((_, code, what)) = refused.into_iter().find(|(given, ..)| *given) {
                let text = format!("cannot specify {what} in BINARY mode");
                return Err(error(code, place, text).hint("leave it out"));
            }
        }
        let is_binary = self.binary;
        let Self { csv, delimiter, null, header, header_matches, quote, escape, .. } = self;
        let quote_given = quote.is_some() || escape.is_some();
        let forced = [&self.force_quote, &self.force_not_null, &self.force_null];
        if !csv && (quote_given || forced.iter().any(|columns| **columns != Columns::None)) {
            let text = "COPY quote, escape and force options are available only in CSV mode";
            return Err(error(b"0A000", place, text).hint("write FORMAT csv"));
        }
        let null = null.unwrap_or_else(|| if csv { String::new() } else { "\\N".to_owned() });
        let delimiter = delimiter.unwrap_or(if csv { b',' } else { b'\t' });
        let quote = quote.unwrap_or(b'"');
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let wrong = if matches!(delimiter, b'\n' | b'\r') {
            Some("COPY delimiter cannot be newline or carriage return".to_owned())
        } else if null.contains(['\n', '\r']) {
            Some("COPY null representation cannot use newline or carriage return".to_owned())
        } else if !csv && (is_letter(delimiter) || matches!(delimiter, b'\\' | b'.')) {
            Some(format!("COPY delimiter cannot be \"{}\"", char::from(delimiter)))
        } else if csv && delimiter == quote {
            Some("COPY delimiter and quote must be different".to_owned())
        } else if null.as_bytes().contains(&delimiter) {
            Some("COPY delimiter must not appear in the NULL specification".to_owned())
        } else if csv && null.as_bytes().contains(&quote) {
            Some("CSV quote character must not appear in the NULL specification".to_owned())
        } else {
            None
        };
        if let Some(text) = wrong {
            return Err(error(b"22023", place, text));
        }
        Ok(CopyForm {
            is_binary,
            is_csv: csv,
            delimiter,
            null,
            header,
            header_matches,
            quote,
            escape: escape.unwrap_or(quote),
            force_quote: self.force_quote,
            force_not_null: self.force_not_null,
            force_null: self.force_null,
        })
    }
}

fn word(cursor: &mut Cursor<'_>) -> Result<String> {
    match cursor.peek() {
        Some(Token::SingleQuotedString(text)) => {
            cursor.bump();
            Ok(text.to_lowercase())
        }
        _ => cursor.identifier(),
    }
}

fn string(cursor: &mut Cursor<'_>) -> Result<String> {
    let text = match cursor.peek() {
        Some(Token::SingleQuotedString(text)) => text.clone(),
        Some(Token::EscapedStringLiteral(text)) => text.clone(),
        _ => return Err(cursor.unexpected("a string")),
    };
    cursor.bump();
    Ok(text)
}

fn byte(cursor: &mut Cursor<'_>, what: &str) -> Result<u8> {
    let place = cursor.place();
    match string(cursor)?.as_bytes() {
        [byte] => Ok(*byte),
        _ => {
            let text = format!("COPY {what} must be a single one-byte character");
            Err(error(b"0A000", place, text))
        }
    }
}

fn boolean(cursor: &mut Cursor<'_>) -> Result<bool> {
    if cursor.at_end() {
        return Ok(true);
    }
    let place = cursor.place();
    let text = match cursor.peek() {
        Some(Token::Number(number, _)) => {
            let number = number.clone();
            cursor.bump();
            number
        }
        _ => word(cursor)?,
    };
    match text.as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        other => Err(error(b"42601", place, format!("\"{other}\" is no Boolean value"))),
    }
}

/// `(a, b)` or `*`.
fn columns(cursor: &mut Cursor<'_>) -> Result<Columns> {
    if cursor.accept_token(&Token::Mul) {
        return Ok(Columns::All);
    }
    let list = cursor.take_brackets()?;
    let items = cursor.inside(list).split_commas().into_iter();
    items.map(|mut item| item.identifier()).collect::<Result<_>>().map(Columns::Named)
}

/// `a, b` or `*`.
fn columns_of_old(cursor: &mut Cursor<'_>) -> Result<Columns> {
    if cursor.accept_token(&Token::Mul) {
        return Ok(Columns::All);
    }
    let mut names = vec![cursor.identifier()?];
    while cursor.accept_token(&Token::Comma) {
        names.push(cursor.identifier()?);
    }
    Ok(Columns::Named(names))
}

impl Compiler<'_> {
    /// COPY: looks its table and columns up.
    pub(crate) fn copy(&self, written: &CopySyntax) -> Result<Copy> {
        let CopySyntax { source, is_in, form, place } = written;
        let (name, at, columns) = match source {
            Source::Query(query) => {
                let what = Copied::Out { query: query.clone() };
                return Ok(Copy { what, form: form.clone() });
            }
            Source::Table { name, place, columns } => (name, *place, columns),
        };
        let partition = self.partition_named(name);
        let table = match partition {
            Some((_, partition)) => self.catalog.table(partition.table),
            None => self.table(name, at)?,
        };
        if table.partitioning.is_some() && partition.is_none() && !is_in {
            let message = format!("cannot copy from partitioned table \"{}\"", table.name);
            let hint = "Try the COPY (SELECT ...) TO variant.";
            return Err(error(b"42809", at, message).hint(hint));
        }
        let name =
            partition.map_or_else(|| table.qualified_name(), |(view, _)| view.qualified_name());
        let mut names = Vec::new();
        for (column, at) in columns {
            self.table_column(table, column, *at)?;
            if names.contains(column) {
                let text = format!("column \"{column}\" specified more than once");
                return Err(error(b"42701", *at, text));
            }
            names.push(column.clone());
        }
        if columns.is_empty() {
            let is_given = |at: &usize| {
                !table.generated.iter().any(|generated| generated.column.index() == *at)
            };
            let given = (0..table.shown().len()).filter(is_given);
            names.extend(given.map(|at| table.columns[at].name.clone()));
        }
        for forced in [&form.force_quote, &form.force_not_null, &form.force_null] {
            let Columns::Named(forced) = forced else { continue };
            if let Some(missing) = forced.iter().find(|forced| !names.contains(forced)) {
                let text = format!("column \"{missing}\" is not copied");
                return Err(error(b"42703", *place, text));
            }
        }
        let fires_once = |of: &&Trigger| {
            of.level == TriggerLevel::Statement && of.fires(TriggerEvent::Insert, &[])
        };
        if let Some(trigger) = table.triggers.iter().find(fires_once).filter(|_| *is_in) {
            let what = format!("COPY with trigger \"{}\" FOR EACH STATEMENT", trigger.name);
            let hint = "DISABLE TRIGGER, or send INSERT: rows are inserted one by one as they come";
            return Err(unsupported(*place, what, hint));
        }
        let what = if *is_in {
            Copied::In { table: name, columns: names }
        } else {
            let list: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            let from = quoted_name(&name);
            Copied::Out { query: format!("SELECT {} FROM {from}", list.join(", ")) }
        };
        Ok(Copy { what, form: form.clone() })
    }
}
