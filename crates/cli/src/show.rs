//! How things look: rows, and errors with their place.

use std::io::{self, IsTerminal, Write};

use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent, presets};
use hotrow::{Error, Rows, SqlError, Value};

use crate::failure::Failure;

/// Whether text may have colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Style {
    colored: bool,
}

impl Style {
    /// Colours on a terminal, unless NO_COLOR says otherwise.
    pub(crate) fn of(stream: &impl IsTerminal) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { colored: stream.is_terminal() && !refused }
    }

    pub(crate) fn table(self) -> hotrow_bench::Style {
        hotrow_bench::Style { fancy: self.colored }
    }

    fn bold_red(self, text: &str) -> String {
        if self.colored { format!("\x1b[1;31m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn faint(self, text: &str) -> String {
        if self.colored { format!("\x1b[2m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Text that statements came from: of one file, or of a shell, which puts what is typed and the
/// files it reads one behind the other.
#[derive(Default, Debug)]
pub(crate) struct Script {
    text: String,
    /// what the lines from some number on (from 1) come from; a name is shown with its lines'
    /// numbers, lines that were typed have none
    origins: Vec<(usize, Option<String>)>,
}

impl Script {
    /// The text of a file.
    pub(crate) fn of_file(name: &str, text: &str) -> Self {
        let mut script = Self::default();
        script.append(Some(name), text);
        script
    }

    /// Appends text. What is returned is the text with as many empty lines before it that its
    /// places are those in this script.
    pub(crate) fn append(&mut self, name: Option<&str>, text: &str) -> String {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        let lines = self.text.lines().count();
        self.origins.push((lines + 1, name.map(str::to_owned)));
        self.text += text;
        "\n".repeat(lines) + text
    }

    /// Writes an error with its place to stderr.
    pub(crate) fn tell(&self, error: &Error, style: Style) -> Failure {
        match error.as_sql() {
            None => eprintln!("{}: {error}", style.bold_red("ERROR")),
            Some(error) => eprint!("{}", self.describe(error, style)),
        }
        Failure::Told
    }

    /// The error, the line it is about, and what else there is to say, as lines.
    pub(crate) fn describe(&self, error: &SqlError, style: Style) -> String {
        let word = style.bold_red(&format!("ERROR {}", error.code()));
        let mut text = format!("{word}: {}\n", error.message);
        let (line, column) = (error.place.line as usize, error.place.column as usize);
        if let Some(source) = line.checked_sub(1).and_then(|at| self.text.lines().nth(at)) {
            text += &self.excerpt(source, line, column, style);
        }
        for (word, more) in [("DETAIL", &error.detail), ("HINT", &error.hint)] {
            if let Some(more) = more {
                text += &format!("{word}: {more}\n");
            }
        }
        text
    }

    /// A line with a caret below a column.
    fn excerpt(&self, source: &str, line: usize, column: usize, style: Style) -> String {
        let bar = style.faint("|");
        let origin = self.origins.iter().rfind(|(first, _)| *first <= line);
        let (margin, number, head) = match origin {
            Some((first, Some(name))) => {
                let number = (line + 1 - first).to_string();
                let margin = " ".repeat(number.len());
                let arrow = style.faint("-->");
                let head = format!("{margin} {arrow} {name}:{number}:{column}\n");
                (margin, number, head)
            }
            _ => Default::default(),
        };
        // Tabs are kept before the caret, so that it stands where it should.
        let before = source.chars().take(column.saturating_sub(1));
        let blank: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let caret = style.bold_red("^");
        format!("{head}{number} {bar} {source}\n{margin} {bar} {blank}{caret}\n")
    }
}

/// Writes rows as psql does.
pub(crate) fn write_rows(rows: &Rows, out: &mut dyn Write) -> io::Result<()> {
    let mut table = plain_table();
    table.set_header(rows.columns());
    for row in rows.iter() {
        table.add_row(row.iter().map(|value| match value {
            Value::Null => String::new(),
            value => value.to_string(),
        }));
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        let mut values = rows.iter().map(|row| &row[at]).filter(|value| !value.is_null());
        if values.next().is_some_and(is_number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    write_lines(&table, out)?;
    let count = rows.len();
    writeln!(out, "({count} row{})", if count == 1 { "" } else { "s" })
}

/// A table with a line under its header and bars between its columns.
pub(crate) fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_style(TableComponent::VerticalLines, '|');
    table.set_style(TableComponent::HeaderLines, '-');
    table.set_style(TableComponent::MiddleHeaderIntersections, '+');
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.force_no_tty();
    table
}

pub(crate) fn write_lines(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    table.lines().try_for_each(|line| writeln!(out, "{}", line.trim_end()))
}

fn is_number(value: &Value) -> bool {
    use Value::{BigInt, Double, Int, Numeric, Real, SmallInt};
    matches!(value, SmallInt(_) | Int(_) | BigInt(_) | Real(_) | Double(_) | Numeric(_))
}

#[cfg(test)]
mod tests;
