//! Sequences: CREATE SEQUENCE, `serial`, GENERATED AS IDENTITY.
//!
//! Role         a sequence is a table of one row that says how far its numbers were given away;
//!              who inserts without giving a number gets one that is drawn before (`drawn`)
//! Source       PostgreSQL 15, "CREATE SEQUENCE" and "Serial Types". We differ: a number that a
//!              branch does not use is lost

use hotrow_base::ids::TableId;
use hotrow_base::types::DataType;
use hotrow_transaction::catalog::{Catalog, Column, Draws, Numbering, Sequence, Table, local};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::alter_syntax::AlterSyntax;
use crate::changes::{CatalogChange, SequenceDefinition, is_there};
use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::numbers_syntax::NumbersSyntax;
use crate::scope::Compiler;
use crate::state::Overriding;
use crate::types::data_type;
use crate::written::{dotted_of, name_in_text, object_name};

/// The type of a `serial` column.
pub(crate) fn serial(written: &ast::DataType) -> Option<DataType> {
    let ast::DataType::Custom(name, arguments) = written else { return None };
    if !arguments.is_empty() {
        return None;
    }
    Some(match name.to_string().to_lowercase().as_str() {
        "serial" | "serial4" => DataType::Integer,
        "bigserial" | "serial8" => DataType::BigInt,
        "smallserial" | "serial2" => DataType::SmallInt,
        _ => return None,
    })
}

/// What a column's type can count; none for other types than integers.
fn bounds(data_type: DataType) -> Option<(i64, i64)> {
    Some(match data_type {
        DataType::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
        DataType::Integer => (i64::from(i32::MIN), i64::from(i32::MAX)),
        DataType::BigInt => (i64::MIN, i64::MAX),
        _ => return None,
    })
}

fn number(written: &ast::Expr, place: Place) -> Result<i64> {
    let text = written.to_string().replace(' ', "");
    text.parse().map_err(|_| {
        error(b"22023", place, format!("\"{written}\" is no number of a sequence"))
            .hint("write an integer")
    })
}

/// A sequence of a type, with what was written of it.
pub(crate) fn sequence_of(
    data_type: DataType,
    options: &[ast::SequenceOptions],
    place: Place,
) -> Result<Sequence> {
    changed_sequence(None, data_type, options, place)
}

/// As [`sequence_of`]; what is not written is as it was before, if it was.
fn changed_sequence(
    before: Option<&Sequence>,
    data_type: DataType,
    options: &[ast::SequenceOptions],
    place: Place,
) -> Result<Sequence> {
    use ast::SequenceOptions as O;
    let Some((least, greatest)) = bounds(data_type) else {
        return Err(error(b"22023", place, "sequence type must be smallint, integer, or bigint"));
    };
    let invalid = |message: String| error(b"22023", place, message);
    let mut increment = before.map_or(1, |of| of.increment);
    let mut cycle = before.is_some_and(|of| of.cycle);
    let mut start = before.map(|of| of.start);
    // An end that was the type's goes with the type.
    let ends = before.and_then(|of| Some((of, bounds(of.data_type)?)));
    let mut min = ends.filter(|(of, (least, _))| of.min != *least).map(|(of, _)| of.min);
    let mut max = ends.filter(|(of, (_, greatest))| of.max != *greatest).map(|(of, _)| of.max);
    for option in options {
        match option {
            O::IncrementBy(by, _) => increment = number(by, place)?,
            O::MinValue(value) => min = value.as_ref().map(|v| number(v, place)).transpose()?,
            O::MaxValue(value) => max = value.as_ref().map(|v| number(v, place)).transpose()?,
            O::StartWith(value, _) => start = Some(number(value, place)?),
            // Numbers are kept in blocks of our own choosing.
            O::Cache(value) if number(value, place)? > 0 => {}
            O::Cache(value) => return Err(invalid(format!("CACHE ({value}) must be positive"))),
            // The parser's word for NO CYCLE is true.
            O::Cycle(no) => cycle = !no,
        }
    }
    if increment == 0 {
        return Err(invalid("INCREMENT must not be zero".to_owned()));
    }
    let (first_min, first_max) = if increment > 0 { (1, greatest) } else { (least, -1) };
    let (min, max) = (min.unwrap_or(first_min), max.unwrap_or(first_max));
    for (what, value) in [("MINVALUE", min), ("MAXVALUE", max)] {
        if value < least || value > greatest {
            let message = format!("{what} ({value}) is out of range for sequence data type");
            return Err(invalid(format!("{message} {data_type}")));
        }
    }
    if min >= max {
        return Err(invalid(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})")));
    }
    let start = start.unwrap_or(if increment > 0 { min } else { max });
    if start < min {
        return Err(invalid(format!("START value ({start}) cannot be less than MINVALUE ({min})")));
    }
    if start > max {
        let message = format!("START value ({start}) cannot be greater than MAXVALUE ({max})");
        return Err(invalid(message));
    }
    Ok(Sequence { data_type, start, increment, min, max, cycle })
}

/// The sequences that go with a table.
pub(crate) fn owned_by<'c>(
    catalog: &'c Catalog,
    table: &'c Table,
) -> impl Iterator<Item = TableId> + 'c {
    catalog.owned_by(table).map(|(_, sequence)| sequence)
}

/// Fails where columns draw from a sequence.
pub(crate) fn refuse_drawn_from(catalog: &Catalog, id: TableId, place: Place) -> Result<()> {
    let Some((table, column)) = catalog.drawing_from(id).next() else { return Ok(()) };
    let name = &catalog.table(id).name;
    let message = format!("cannot drop sequence {name} because other objects depend on it");
    let (table, column) = (&table.name, &column.name);
    Err(error(b"2BP01", place, message)
        .detail(format!("column {column} of table {table} draws from sequence {name}"))
        .hint("drop the table, or the column's default"))
}

impl Compiler<'_> {
    /// ALTER SEQUENCE, and ALTER COLUMN of an identity column, of how numbers are counted.
    pub(crate) fn renumber(
        &self,
        written: &AlterSyntax,
        column: Option<&str>,
        numbers: &NumbersSyntax,
    ) -> Result<Vec<CatalogChange>> {
        let AlterSyntax { name, place, .. } = written;
        let place = *place;
        if self.table_named(name).is_none() && written.if_exists {
            return self.missing(written);
        }
        let of = match column {
            None => self.sequence_named(name, place)?,
            Some(column) => {
                let table = self.table(name, place)?;
                let id = self.table_column(table, column, place)?;
                let of = &table.columns[id.index()];
                let Some(draws) = of.draws.filter(|_| is_identity(of)) else {
                    let of = &table.name;
                    let message = format!(
                        "column \"{column}\" of relation \"{of}\" is not an identity column"
                    );
                    return Err(error(b"55000", place, message));
                };
                self.catalog.table(draws.sequence)
            }
        };
        let Some(before) = of.sequence else { return self.missing(written) };
        let data_type = match &numbers.of {
            Some(of) => data_type(of, self.type_names(), place)?,
            None => before.data_type,
        };
        let to = changed_sequence(Some(&before), data_type, &numbers.options, place)?;
        let restart = numbers.restart.map(|number| number.unwrap_or(to.start));
        if let Some(number) = restart.filter(|number| !(to.min..=to.max).contains(number)) {
            let message = match number < to.min {
                true => {
                    format!("RESTART value ({number}) cannot be less than MINVALUE ({})", to.min)
                }
                false => {
                    format!("RESTART value ({number}) cannot be greater than MAXVALUE ({})", to.max)
                }
            };
            return Err(error(b"22023", place, message));
        }
        Ok(vec![CatalogChange::SetSequence { sequence: of.id, to, restart }])
    }

    /// CREATE SEQUENCE.
    pub(crate) fn create_sequence(&self, written: &ast::Statement) -> Result<Vec<CatalogChange>> {
        let ast::Statement::CreateSequence {
            temporary,
            if_not_exists,
            name,
            data_type: of,
            sequence_options,
            owned_by,
        } = written
        else {
            return Err(unsupported(self.place, "this statement", "write CREATE SEQUENCE"));
        };
        let place = place_in(name, self.place);
        let named = object_name(name, place)?;
        let name = match temporary {
            true => self.temporary_name(&named, place)?,
            false => self.new_name(&named, place)?,
        };
        // Others are kept, and make room.
        let is_seen = !temporary || self.path.has_temporary(local(&name));
        if is_seen && self.is_there(&name, *if_not_exists, place)? {
            return Ok(vec![CatalogChange::Nothing(is_there(local(&name)))]);
        }
        let of = of
            .as_ref()
            .map_or(Ok(DataType::BigInt), |of| data_type(of, self.type_names(), place))?;
        let sequence = sequence_of(of, sequence_options, place)?;
        let schema = self.temporary_schema_made(&name).filter(|_| *temporary);
        let created = CatalogChange::CreateSequence(SequenceDefinition { name, sequence });
        let mut changes: Vec<_> = schema.into_iter().chain([created]).collect();
        if let Some(owner) = owned_by {
            let made = self.owned_when_made(&changes, named, dotted_of(owner), place)?;
            changes.extend(made);
        }
        Ok(changes)
    }

    /// The sequence with this name, as it is stored.
    pub(crate) fn sequence_named(&self, name: &str, place: Place) -> Result<&Table> {
        match self.table_named(name) {
            Some(table) if table.sequence.is_some() => Ok(table),
            Some(_) => Err(error(b"42809", place, format!("\"{name}\" is not a sequence"))),
            None => Err(error(b"42P01", place, format!("relation \"{name}\" does not exist"))),
        }
    }

    /// The sequence in `nextval('name')`, if a default is written so.
    pub(crate) fn drawn_by_default(
        &self,
        written: &ast::Expr,
        place: Place,
    ) -> Result<Option<Draws>> {
        let ast::Expr::Function(function) = written else { return Ok(None) };
        if !crate::functions::takes_number(&crate::written::function_name(function)) {
            return Ok(None);
        }
        let sequence = self.sequence_in(function, place)?;
        Ok(Some(Draws { sequence, as_written: Numbering::Default }))
    }

    /// The sequence that a call of nextval names.
    pub(crate) fn sequence_in(&self, function: &ast::Function, place: Place) -> Result<TableId> {
        let text = function.args.to_string();
        let name = text.trim_start_matches('(').trim_end_matches(')');
        let name = name.strip_suffix("::regclass").or(name.strip_suffix("::REGCLASS"));
        let name = name.unwrap_or(text.trim_start_matches('(').trim_end_matches(')')).trim();
        let Some(name) = name.strip_prefix('\'').and_then(|name| name.strip_suffix('\'')) else {
            return Err(unsupported(place, "this nextval", "write nextval('sequence')"));
        };
        let named = name_in_text(&name.replace("''", "'"))
            .ok_or_else(|| error(b"42602", place, format!("invalid name syntax: {name}")))?;
        Ok(self.sequence_named(&named, place)?.id)
    }

    /// Fails where a column is given a number, by INSERT or UPDATE, that is never to be given one.
    pub(crate) fn refuse_given(
        &self,
        column: &Column,
        is_insert: bool,
        place: Place,
    ) -> Result<()> {
        let is_always = column.draws.is_some_and(|draws| draws.as_written == Numbering::Always);
        if is_always && self.overriding != Overriding::System {
            Err(given(column, is_insert, place))
        } else {
            Ok(())
        }
    }
}

/// Whether a column is GENERATED AS IDENTITY.
pub(crate) fn is_identity(column: &Column) -> bool {
    let written = column.draws.map(|draws| draws.as_written);
    matches!(written, Some(Numbering::Always | Numbering::ByDefault))
}

/// The error of a column that has a second default.
pub(crate) fn defaults_twice(table: &str, column: &str, place: Place) -> SqlError {
    let message = format!("multiple default values specified for column \"{column}\"");
    error(b"42601", place, format!("{message} of table \"{table}\""))
}

/// The error of a column that is never to be given a number, by INSERT or UPDATE.
fn given(column: &Column, is_insert: bool, place: Place) -> SqlError {
    let name = &column.name;
    let message = match is_insert {
        true => format!("cannot insert a non-DEFAULT value into column \"{name}\""),
        false => format!("column \"{name}\" can only be updated to DEFAULT"),
    };
    let detail = format!("Column \"{name}\" is an identity column defined as GENERATED ALWAYS.");
    error(b"428C9", place, message)
        .detail(detail)
        .hint("leave the column out, or write OVERRIDING SYSTEM VALUE")
}
