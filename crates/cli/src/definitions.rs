//! Descriptions of tables and procedures, as the shell shows them.

use std::io::{self, Write};

use hotrow::{Database, ProcedureDescription, TableDescription};

use crate::show::{plain_table, write_lines};

/// Writes names of all tables, with their sizes in columns and indexes.
pub(crate) fn write_tables(db: &Database, out: &mut dyn Write) -> Result<(), Trouble> {
    let names = db.tables();
    if names.is_empty() {
        return Ok(writeln!(out, "There are no tables.")?);
    }
    let mut table = plain_table();
    table.set_header(["table", "columns", "primary key"]);
    for name in names {
        let described = db.describe(&name)?;
        let primary = described.indexes.iter().find(|index| index.primary);
        let key = primary.map(|index| index.columns.join(", ")).unwrap_or_default();
        table.add_row([name, described.columns.len().to_string(), key]);
    }
    Ok(write_lines(&table, out)?)
}

/// Writes what a table is made of.
pub(crate) fn write_table(described: &TableDescription, out: &mut dyn Write) -> io::Result<()> {
    let mut table = plain_table();
    table.set_header(["column", "type", "nullable", "default"]);
    for column in &described.columns {
        table.add_row([
            column.name.clone(),
            column.data_type.to_string(),
            if column.nullable { String::new() } else { "not null".to_owned() },
            if column.has_default { "yes".to_owned() } else { String::new() },
        ]);
    }
    writeln!(out, "Table \"{}\"", described.name)?;
    write_lines(&table, out)?;
    if !described.indexes.is_empty() {
        writeln!(out, "Indexes:")?;
    }
    for index in &described.indexes {
        let role = match (index.primary, index.unique) {
            (true, _) => "primary key, ",
            (false, true) => "unique, ",
            (false, false) => "",
        };
        let (name, columns) = (&index.name, index.columns.join(", "));
        writeln!(out, "    \"{name}\" {role}{} ({columns})", index.kind)?;
    }
    if !described.checks.is_empty() {
        writeln!(out, "Checks: {}", described.checks.join(", "))?;
    }
    if !described.foreign_keys.is_empty() {
        writeln!(out, "Foreign keys:")?;
    }
    for key in &described.foreign_keys {
        let (columns, parent) = (key.columns.join(", "), key.parent_columns.join(", "));
        writeln!(out, "    \"{}\" ({columns}) -> {} ({parent})", key.name, key.parent)?;
    }
    Ok(())
}

/// Writes the signatures of all procedures.
pub(crate) fn write_procedures(db: &Database, out: &mut dyn Write) -> io::Result<()> {
    let procedures = db.procedures();
    if procedures.is_empty() {
        return writeln!(out, "There are no procedures.");
    }
    procedures.iter().try_for_each(|procedure| writeln!(out, "{}", signature(procedure)))
}

/// `buy(item bigint, quantity bigint) -> bigint`
pub(crate) fn signature(procedure: &ProcedureDescription) -> String {
    let parameters = procedure.parameters.iter();
    let parameters: Vec<_> = parameters.map(|(name, of)| format!("{name} {of}")).collect();
    let mut text = format!("{}({})", procedure.name, parameters.join(", "));
    let columns = match procedure.result.as_slice() {
        [] => return text,
        [(_, of)] => of.to_string(),
        columns => {
            let columns: Vec<_> = columns.iter().map(|(name, of)| format!("{name} {of}")).collect();
            format!("({})", columns.join(", "))
        }
    };
    text += if procedure.returns_set { " -> rows of " } else { " -> " };
    text + &columns
}

/// Either the database refused, or the output cannot be written.
#[derive(Debug)]
pub(crate) enum Trouble {
    Refused(hotrow::Error),
    Output(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<hotrow::Error> for Trouble {
    fn from(error: hotrow::Error) -> Self {
        Self::Refused(error)
    }
}
