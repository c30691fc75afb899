//! Looking at a data directory without opening the database: checking all of it, and showing the
//! log's entries as people read them.
//!
//! Role         `hotrow verify` and `hotrow log dump`
//! Invariants   I1 nothing in the directory is changed

use std::path::Path;
use std::sync::Arc;

use hotrow_base::conventions::Style;
use hotrow_base::key::KeyBuffer;
use hotrow_base::row::read_field;
use hotrow_base::value::Value;
use hotrow_base::varint::ByteReader;
use hotrow_engine::journal::Company;
use hotrow_engine::journal::command;
use hotrow_engine::journal::text::TextEntry;
use hotrow_engine::schema::{Schema, SharedSchema};
use hotrow_engine::values::{self, Operation};
use hotrow_log::checkpoint;
use hotrow_log::entry::{Entry, Kind};
use hotrow_log::read::{self, Block};
use hotrow_storage::record::RecordId;
use hotrow_storage::table::Index as StoredIndex;
use hotrow_transaction::catalog::{Index, Table};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::program::Procedure;

use crate::config::Config;
use crate::contents::Contents;
use crate::core::empty_schema;
use crate::data_directory::DataDirectory;
use crate::definition::Sources;
use crate::error::Error;
use crate::once::decode_refusal;
use crate::recovery::{self, Recovered, RecoveryProgress, RecoveryReport};

/// What [`verify`] found in order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct VerifyReport {
    /// chunks of the checkpoint whose checksums are right
    pub checkpoint_chunks: u64,
    /// what repeating everything gave
    pub recovery: RecoveryReport,
    /// tables with their rows, each of which is in all indexes of its table
    pub tables: Vec<(String, u64)>,
}

/// Checks everything in a data directory: checksums and structure of the checkpoint and of the log;
/// that all of it can be repeated and every call writes what it wrote; and that rows and indexes
/// agree afterwards. The database must not be open elsewhere.
///
/// # Errors
///
/// The first thing that is wrong, as [`crate::Database::open`] tells it; [`Error::Recovery`] too
/// when rows and indexes disagree.
pub fn verify(
    path: &Path,
    config: &Config,
    progress: impl FnMut(RecoveryProgress),
) -> Result<VerifyReport, Error> {
    let directory = DataDirectory::look_at(path)?;
    let chunks = checkpoint::verify(&**directory.checkpoint_files())?.map_or(0, |v| v.chunks);
    let schema = empty_schema(config, config.threads_for(None));
    let Recovered { report, .. } = recovery::recover(&directory, &schema, config, progress)?;
    let schema = schema.current();
    let tables = schema.catalog.tables().iter();
    let tables: Result<_, Error> = tables
        .map(|table| {
            let checked = check_table(&schema, table);
            let place = format!("table \"{}\"", table.name);
            let rows = checked.map_err(|what| Error::Recovery { place, what })?;
            Ok((table.name.clone(), rows))
        })
        .collect();
    Ok(VerifyReport { checkpoint_chunks: chunks, recovery: report, tables: tables? })
}

/// Looks every row up in every index of its table; how many rows there are.
fn check_table(schema: &Schema, table: &Table) -> Result<u64, String> {
    let mut rows = 0;
    let mut key = KeyBuffer::new();
    let mut wrong = None;
    schema.table(table.id).records().for_each_record(|id, record| {
        if record.is_ghost() || wrong.is_some() {
            return;
        }
        rows += 1;
        for index in table.indexes() {
            let index = schema.catalog.index(index);
            key.clear();
            let found = schema.encode_entry(index, id, record.row(), &mut key).is_ok()
                && is_entered(schema, index, id, key.as_slice());
            if !found {
                wrong = Some(format!("a row is not in index \"{}\"", index.name));
            }
        }
    });
    wrong.map_or(Ok(rows), Err)
}

fn is_entered(schema: &Schema, index: &Index, id: RecordId, key: &[u8]) -> bool {
    match schema.stored_part(index, key) {
        StoredIndex::Hash(stored) => {
            let is_it = |other| (other == id).then_some(());
            stored.get(schema.entry_hash(index, key), is_it).is_some()
        }
        StoredIndex::BTree(tree) => {
            tree.get(key).is_some_and(|bits| RecordId::from_bits(bits) == id)
        }
    }
}

/// An entry of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogLine {
    /// its file
    pub file: String,
    /// where its block begins in the file
    pub offset: u64,
    /// its place in the serial order: epoch and time
    pub position: (u64, u64),
    /// the worker that wrote it
    pub worker: u16,
    /// what it is
    pub kind: &'static str,
    /// its length in bytes
    pub bytes: u64,
    /// what it says
    pub text: String,
}

/// Shows every entry of the log in a data directory to `visit`, in serial order; definitions are
/// followed, so that calls have names and types. The database may be open: then the newest
/// entries may be missing.
///
/// # Errors
///
/// As [`crate::Database::open`].
pub fn dump_log(path: &Path, mut visit: impl FnMut(LogLine)) -> Result<(), Error> {
    let directory = DataDirectory::look_at_shared(path)?;
    let mut dump = Dump {
        schema: empty_schema(&Config::default(), 1),
        sources: Sources::default(),
        invocation: Invocation::default(),
    };
    let mut from_epoch = 0;
    if let Some(manifest) = checkpoint::find(&**directory.checkpoint_files())?.newest {
        if let Some(contents) = Contents::decode(&manifest.catalog) {
            for definition in contents.definitions {
                let entry =
                    TextEntry { now_us: 0, place: definition.place, text: &definition.text };
                dump.define(&entry);
            }
        }
        from_epoch = manifest.epoch;
    }
    read::scan(directory.log_files(), from_epoch, |block: Block<'_>| -> Result<(), Error> {
        for entry in block.entries() {
            visit(LogLine {
                file: block.file.to_owned(),
                offset: block.offset,
                position: (block.epoch, entry.time),
                worker: entry.worker,
                kind: entry.kind.name(),
                bytes: entry.body.len() as u64,
                text: dump.text(&entry),
            });
        }
        Ok(())
    })?;
    Ok(())
}

struct Dump {
    schema: Arc<SharedSchema>,
    sources: Sources,
    invocation: Invocation,
}

impl Dump {
    fn text(&mut self, entry: &Entry<'_>) -> String {
        let text = match entry.kind {
            Kind::Command => self.call(entry.body),
            Kind::Definition | Kind::Statement => TextEntry::decode(entry.body).map(|text| {
                if entry.kind == Kind::Definition {
                    self.define(&text);
                }
                hotrow_sql::shown(text.text.trim()).into_owned()
            }),
            Kind::Refusal => decode_refusal(entry.body).map(|(key, outcome)| {
                let why = outcome.answer.err().map_or_else(String::new, |error| error.to_string());
                format!("key {:?}: {why}", String::from_utf8_lossy(key))
            }),
            Kind::Values => self.values(entry.body),
        };
        text.unwrap_or_else(|| format!("{} bytes that this version cannot read", entry.body.len()))
    }

    /// Each change as the beginning of a statement.
    fn values(&mut self, body: &[u8]) -> Option<String> {
        let schema = self.schema.current();
        let (mut reader, mut words) = (values::Reader::new(body), Vec::new());
        let mut changes = Vec::new();
        while let Some(change) = reader.next(&schema, &mut words).ok()? {
            let table = schema.catalog.table(change.table);
            let key = match table.primary {
                Some(primary) => schema.catalog.index(primary).key.decode(change.key).ok()?,
                None => row_values(table, change.old)?,
            };
            let (name, key) = (&table.name, literals(&key));
            changes.push(match change.operation {
                Operation::Delete => format!("DELETE {name} ({key})"),
                Operation::Words => {
                    format!("UPDATE {name} ({key}): {} words", change.new.len() / 2)
                }
                Operation::Insert | Operation::Row => {
                    let row = literals(&row_values(table, change.new)?);
                    match change.operation {
                        Operation::Insert => format!("INSERT {name} ({row})"),
                        _ => format!("UPDATE {name} ({key}): ({row})"),
                    }
                }
            });
        }
        Some(changes.join("; "))
    }

    /// A definition that fails here failed when it was typed, or depends on rows; then calls of it
    /// are shown by number.
    fn define(&mut self, entry: &TextEntry<'_>) {
        let quiet = self.schema.quiet();
        let _ = recovery::repeat_definition(&quiet, &mut self.sources, entry);
    }

    fn call(&mut self, body: &[u8]) -> Option<String> {
        let mut reader = ByteReader::new(body);
        let head = command::decode_head(&mut reader)?;
        let schema = self.schema.current();
        let call = match schema.procedure(head.procedure) {
            None => format!("CALL procedure number {}", head.procedure.0),
            Some(compiled) => {
                let procedure = &compiled.procedure;
                let arguments = &mut self.invocation.arguments;
                command::decode_arguments(reader, procedure.parameters(), arguments)?;
                let verb = if procedure.is_statement() { "EXECUTE" } else { "CALL" };
                format!("{verb} {}({})", procedure.shown_name(), self.arguments(procedure))
            }
        };
        let now = Value::TimestampTz(head.now_us);
        let alone = if head.company == Company::Alone { ", alone" } else { "" };
        let key = match head.key {
            [] => String::new(),
            key => format!(", key {:?}", String::from_utf8_lossy(key)),
        };
        Some(format!("{call}  -- at {now}, writes {:08x}{alone}{key}", head.write_hash))
    }

    fn arguments(&self, procedure: &Procedure) -> String {
        let arguments = &self.invocation.arguments;
        let types = procedure.parameters().iter().map(|slot| slot.sql_type);
        let values = arguments.datums.iter().zip(types).map(|(&datum, of)| {
            literal(&Value::from_parameter(datum, of, &arguments.heap, &arguments.elements))
        });
        values.collect::<Vec<_>>().join(", ")
    }
}

/// A row's values; none when the words cannot be one.
fn row_values(table: &Table, row: &[u64]) -> Option<Vec<Value>> {
    if row.is_empty() {
        return Some(Vec::new());
    }
    let mut heap = Vec::new();
    let columns = table.shown().iter().zip(table.layout.fields());
    let values = columns.map(|(column, &field)| {
        let datum = read_field(field, row, &mut heap);
        Value::from_datum(datum, column.data_type, &heap)
    });
    table.layout.is_well_formed(row).then(|| values.collect())
}

fn literals(values: &[Value]) -> String {
    values.iter().map(literal).collect::<Vec<_>>().join(", ")
}

/// A value as SQL has it.
fn literal(value: &Value) -> String {
    let _usual = Style::DEFAULT.enter(); // it is read by sessions with other styles
    match value {
        Value::Null => "NULL".to_owned(),
        Value::SmallInt(_) | Value::Int(_) | Value::BigInt(_) | Value::Numeric(_) => {
            value.to_string()
        }
        Value::AnyNumeric(number) if number.is_finite() => value.to_string(),
        Value::Bool(value) => value.to_string(),
        // One that has a shape stands there as a literal does.
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(literal).collect();
            format!("ARRAY[{}]", values.join(", "))
        }
        other => format!("'{}'", other.to_string().replace('\'', "''")),
    }
}
