//! Violations: constraints that a row would break, told as PostgreSQL tells them.

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, IndexId};
use hotrow_base::key::{KEY_BYTES_MAX, KeyBuffer};
use hotrow_base::row::{ROW_WORDS_MAX, RowError, Words};
use hotrow_base::value::Value;

use crate::bytecode::{AccessCode, CheckCode, InsertCode, Program, TableCode};
use crate::catalog::{Column, Index, OfDomain, PUBLIC, Table, local, split};
use crate::fault::Fault;
use crate::frame::{Frame, Machine};
use crate::outcome::{RaisedNames, SqlError};

/// NULL for a column that is NOT NULL.
#[cold]
pub(super) fn not_null(program: &Program, table: u16, column: u16) -> Fault {
    not_null_error(&program.tables[table as usize], column as usize).into()
}

fn not_null_error(code: &TableCode, column: usize) -> SqlError {
    let (table, column) = (&code.table, &code.table.columns[column]);
    if let Some(domain) = column.domain.as_ref().filter(|domain| domain.gives_not_null) {
        let message = format!("domain {} does not allow null values", local(&domain.name));
        return of_domain(b"23502", message, domain);
    }
    let message = format!(
        "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
        column.name, table.name
    );
    let mut error = SqlError::new(b"23502", message);
    error.table = Some(table.name.clone());
    error.column = Some(column.name.clone());
    error
}

/// A CHECK constraint's condition is false.
#[cold]
pub(super) fn check(program: &Program, check: u16, machine: &Machine) -> Fault {
    let code = &program.checks[check as usize];
    let table = &program.tables[code.table as usize].table;
    let number = code.check as usize;
    let Some(own) = table.checks.get(number) else {
        return no_partition(table, number - table.checks.len(), code, machine).into();
    };
    let name = &own.name;
    if let Some((domain, name)) = table.check_of_domain(name) {
        let domain_name = local(&domain.name);
        let message =
            format!("value for domain {domain_name} violates check constraint \"{name}\"");
        let error = of_domain(b"23514", message, domain);
        return SqlError { constraint: Some(name.to_owned()), ..error }.into();
    }
    let message =
        format!("new row for relation \"{}\" violates check constraint \"{name}\"", table.name);
    let mut error = SqlError::new(b"23514", message);
    error.table = Some(table.name.clone());
    error.constraint = Some(name.clone());
    if let Some(slots) = &code.values {
        let values: Vec<_> = slots.iter().map(|&slot| machine.slots[slot]).collect();
        error.detail = Some(failing_row(table, &values, machine));
    }
    error.into()
}

/// An error that a value is none of a domain: it is of no table.
fn of_domain(sqlstate: &[u8; 5], message: String, domain: &OfDomain) -> SqlError {
    let (schema, name) = split(&domain.name);
    let schema = Some(schema.unwrap_or(PUBLIC).to_owned());
    let named = RaisedNames { schema, data_type: Some(name.to_owned()) };
    SqlError { named: Some(Box::new(named)), ..SqlError::new(sqlstate, message) }
}

/// A row that is in no partition.
fn no_partition(table: &Table, number: usize, code: &CheckCode, machine: &Machine) -> SqlError {
    let check = table.partitioning.as_ref().and_then(|of| of.checks.get(number));
    let name = check.map_or(&table.name, |check| &check.check.name);
    let message = format!("no partition of relation \"{name}\" found for row");
    let mut error = SqlError::new(b"23514", message);
    error.table = Some(name.clone());
    let key = check.map_or(&[][..], |check| &check.key);
    if let Some(slots) = code.values.as_ref().filter(|_| !key.is_empty()) {
        let columns = key.iter().map(|column| &table.columns[column.index()]);
        let names: Vec<_> = columns.clone().map(|column| column.name.as_str()).collect();
        let values = key.iter().map(|column| machine.slots[slots[column.index()]]);
        let values = texts(columns.zip(values), machine);
        let names = names.join(", ");
        error.detail =
            Some(format!("Partition key of the failing row contains ({names}) = ({values})."));
    }
    error
}

/// Adds the row that an update would have made to the error that NOT NULL or CHECK has left.
#[cold]
#[inline(never)]
pub(super) fn tell_new_row<W: Words + ?Sized>(
    program: &Program,
    code: &AccessCode,
    row: &W,
    machine: &mut Machine,
) {
    let Some(update) = &code.update else { return };
    tell_row(program, code, machine, |table, column, machine| {
        match update.sets.iter().find(|set| set.column == column) {
            Some(set) => machine.slots[set.slot],
            None => table.layout.read(row, column, &mut machine.heap),
        }
    });
}

/// As [`tell_new_row`], of an insert.
#[cold]
#[inline(never)]
pub(super) fn tell_inserted_row(program: &Program, code: &AccessCode, machine: &mut Machine) {
    let Some(insert) = &code.insert else { return };
    tell_row(program, code, machine, |_, column, machine| {
        machine.slots[insert.values[column.index()]]
    });
}

fn tell_row(
    program: &Program,
    code: &AccessCode,
    machine: &mut Machine,
    value: impl Fn(&Table, ColumnId, &mut Machine) -> Datum,
) {
    let Some(error) = &machine.error else { return };
    let table = &program.tables[code.table_code as usize].table;
    let is_constraint = matches!(&error.sqlstate, b"23502" | b"23514");
    // A domain's constraint, in a cast, has no table.
    if !is_constraint || error.table.as_ref() != Some(&table.name) || error.detail.is_some() {
        return;
    }
    let columns = (0..table.shown().len()).map(|at| ColumnId(at as u16));
    let values: Vec<Datum> = columns.map(|column| value(table, column, machine)).collect();
    let detail = failing_row(table, &values, machine);
    if let Some(error) = &mut machine.error {
        error.detail = Some(detail);
    }
}

fn failing_row(table: &Table, values: &[Datum], machine: &Machine) -> String {
    let shown = texts(table.shown().iter().zip(values.iter().copied()), machine);
    format!("Failing row contains ({shown}).")
}

fn texts<'c>(values: impl Iterator<Item = (&'c Column, Datum)>, machine: &Machine) -> String {
    let _conventions = machine.conventions.enter();
    let text = |(column, datum): (&Column, Datum)| match datum.is_null() {
        true => "null".to_owned(),
        false => Value::from_datum(datum, column.data_type, &machine.heap).to_string(),
    };
    values.map(text).collect::<Vec<_>>().join(", ")
}

/// Builds the row of an insert.
#[inline]
pub(super) fn build_row(
    program: &Program,
    code: &AccessCode,
    insert: &InsertCode,
    frame: &mut Frame,
) -> Result<(), Fault> {
    let table = &program.tables[code.table_code as usize];
    let Frame { machine, row_values: values, row_words, keys, .. } = frame;
    values.clear();
    values.extend(insert.values.iter().map(|&slot| machine.slots[slot]));
    if let Err(error) = table.table.layout.build(values, &machine.heap, row_words) {
        let mut fault = row_error(table, error);
        if let (RowError::NullInNotNull { .. }, Fault::Error(error)) = (error, &mut fault) {
            error.detail = Some(failing_row(&table.table, values, machine));
        }
        return Err(fault);
    }
    for &index in &insert.long_keys {
        check_key(&table.indexes[index as usize], row_words, &mut keys.key)?;
    }
    Ok(())
}

/// Whether the row fits and its keys are short enough, for an update of columns of varying size.
#[inline(never)]
pub(super) fn check_size<W: Words + ?Sized>(
    program: &Program,
    code: &AccessCode,
    row: &W,
    (changes, heap): (&[(ColumnId, Datum)], &[u8]),
    row_words: &mut Vec<u64>,
    key: &mut KeyBuffer,
) -> Result<(), Fault> {
    let Some(update) = &code.update else { return Ok(()) };
    // Lengths of what is no range are rubbish, but then only cost the longer way.
    let new_bytes: usize = changes
        .iter()
        .map(|(_, value)| if value.is_null() { 0 } else { value.as_range().len as usize })
        .sum();
    let fits = new_bytes.div_ceil(8) + changes.len() + row.len() <= ROW_WORDS_MAX;
    if fits && update.long_keys.is_empty() {
        return Ok(());
    }
    let table = &program.tables[code.table_code as usize];
    rebuild(table, row, (changes, heap), row_words)?;
    for &index in &update.long_keys {
        check_key(&table.indexes[index as usize], row_words, key)?;
    }
    Ok(())
}

fn rebuild<W: Words + ?Sized>(
    table: &TableCode,
    row: &W,
    (changes, heap): (&[(ColumnId, Datum)], &[u8]),
    row_words: &mut Vec<u64>,
) -> Result<(), Fault> {
    let rebuilt = table.table.layout.rebuild(row, changes, heap, row_words);
    rebuilt.map_err(|error| row_error(table, error))
}

fn check_key(index: &Index, row: &[u64], key: &mut KeyBuffer) -> Result<(), Fault> {
    key.clear();
    if index.key.encode_from_row(&index.fields, row, key).is_ok() {
        return Ok(());
    }
    let message =
        format!("index row size exceeds maximum {KEY_BYTES_MAX} for index \"{}\"", index.name);
    let mut error = SqlError::new(b"54000", message);
    error.hint = Some("Values larger than this cannot be indexed; index a shorter column.".into());
    error.constraint = Some(index.name.clone());
    Err(error.into())
}

#[cold]
fn row_error(code: &TableCode, error: RowError) -> Fault {
    let table = &code.table;
    let name = |column: ColumnId| table.columns[column.index()].name.clone();
    let mut sql = match error {
        RowError::NullInNotNull { column } => return not_null_error(code, column.index()).into(),
        RowError::OutOfRange { column } => {
            let mut error = SqlError::new(b"22003", "value out of range for its column");
            error.column = Some(name(column));
            error
        }
        RowError::TooLong { column, .. } => {
            let data_type = table.columns[column.index()].data_type;
            let message = format!("value too long for type {data_type}");
            let mut error = SqlError::new(b"22001", message);
            error.column = Some(name(column));
            error
        }
        RowError::RowTooLarge { words } => {
            let size = words.saturating_mul(8);
            let limit = ROW_WORDS_MAX * 8;
            let message = format!("row is too big: size {size} bytes, maximum size {limit} bytes");
            SqlError::new(b"54000", message)
        }
    };
    sql.table = Some(table.name.clone());
    sql.into()
}

/// Two rows with one key, by an update.
#[cold]
pub(super) fn duplicate_update<W: Words + ?Sized>(
    program: &Program,
    code: &AccessCode,
    index: IndexId,
    row: &W,
    changes: (&[(ColumnId, Datum)], &[u8]),
    row_words: &mut Vec<u64>,
) -> Fault {
    let table = &program.tables[code.table_code as usize];
    match rebuild(table, row, changes, row_words) {
        Ok(()) => duplicate(program, code, index, row_words),
        Err(fault) => fault,
    }
}

/// Two rows with one key; `row` is the later one.
#[cold]
pub(super) fn duplicate(
    program: &Program,
    code: &AccessCode,
    index: IndexId,
    row: &[u64],
) -> Fault {
    let code = &program.tables[code.table_code as usize];
    let Some(index) = code.indexes.iter().find(|candidate| candidate.id == index) else {
        return Fault::new(b"23505", "duplicate key value violates unique constraint");
    };
    let message = format!("duplicate key value violates unique constraint \"{}\"", index.name);
    let mut error = SqlError::new(b"23505", message);
    let mut key = KeyBuffer::new();
    let values = match index.key.encode_from_row(&index.fields, row, &mut key) {
        Ok(()) => index.key.decode(&key).unwrap_or_default(),
        Err(_) => Vec::new(),
    };
    let key = code.table.key_of(index);
    let names: Vec<_> = key.iter().map(|c| code.table.columns[c.index()].name.as_str()).collect();
    let values: Vec<_> = values.iter().take(names.len()).map(Value::to_string).collect();
    error.detail =
        Some(format!("Key ({})=({}) already exists.", names.join(", "), values.join(", ")));
    error.table = Some(code.table.name.clone());
    error.constraint = Some(index.name.clone());
    error.into()
}
