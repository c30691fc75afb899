//! `hotrow functions`: the functions of SQL.

use std::fs;
use std::io::{self, Write};

use hotrow::{FUNCTIONS, FunctionRow, Volatility};

use crate::arguments::FunctionsArguments;
use crate::failure::Failure;

pub(crate) fn run(arguments: &FunctionsArguments) -> Result<(), Failure> {
    if let Some(path) = &arguments.document {
        return fs::write(path, hotrow::function_document())
            .map_err(|error| Failure::file(&path.display().to_string(), &error));
    }
    match &arguments.name {
        Some(name) => describe(&name.to_lowercase()),
        None => list(),
    }
}

/// All functions, a line each.
fn list() -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    for group in FUNCTIONS {
        writeln!(out, "{}", group.title)?;
        for row in group.rows {
            writeln!(out, "    {}  {}", row.signature(), row.description)?;
        }
    }
    Ok(())
}

/// What there is to know of those whose names begin so.
fn describe(name: &str) -> Result<(), Failure> {
    let rows = FUNCTIONS.iter().flat_map(|group| group.rows);
    let rows: Vec<_> = rows.filter(|row| row.names().any(|own| own.starts_with(name))).collect();
    if rows.is_empty() {
        return Err(Failure::Usage(format!(
            "no function has a name that begins with {name}; hotrow functions lists them"
        )));
    }
    let mut out = io::stdout().lock();
    for row in rows {
        write_row(row, &mut out)?;
    }
    Ok(())
}

fn write_row(row: &FunctionRow, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{} -> {}", row.signature(), row.result_name())?;
    writeln!(out, "    {}", row.description)?;
    if !row.aliases.is_empty() {
        writeln!(out, "    also called {}", row.aliases.join(", "))?;
    }
    let volatility = match row.volatility {
        Volatility::Immutable => "immutable",
        Volatility::Stable => "stable",
        Volatility::Volatile => "volatile",
    };
    let place = match (row.is_refused(), row.is_in_procedures()) {
        (true, _) => ", refused",
        (false, true) => "",
        (false, false) => ", not in procedures",
    };
    writeln!(out, "    {volatility}{place}")?;
    writeln!(out, "    {}  {}", row.example, row.value)
}
