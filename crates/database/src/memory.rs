//! The memory report: what rows, records and indexes take.

use hotrow_engine::schema::Schema;
use hotrow_storage::table::Index as StoredIndex;
use hotrow_transaction::catalog::Table;

use crate::database::Database;
use crate::error::Error;

/// Bytes of one index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexMemory {
    /// its name
    pub name: String,
    /// parts that it is split into; 1: it is whole
    pub parts: usize,
    /// bytes charged for its buckets or nodes
    pub bytes: u64,
}

/// Bytes of one table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableMemory {
    /// its name
    pub name: String,
    /// rows in it
    pub rows: u64,
    /// bytes of the rows' values alone: widths of fixed types, lengths of texts, 0 for NULL
    pub raw_row_bytes: u64,
    /// bytes charged for its records, free places included
    pub record_bytes: u64,
    /// its indexes, the primary key's first
    pub indexes: Vec<IndexMemory>,
}

impl TableMemory {
    /// Bytes of all its indexes.
    pub fn index_bytes(&self) -> u64 {
        self.indexes.iter().map(|index| index.bytes).sum()
    }
}

/// What a database's data takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryReport {
    /// its tables
    pub tables: Vec<TableMemory>,
    /// bytes charged in all, dropped tables included
    pub used_bytes: u64,
    /// bytes there may be
    pub limit_bytes: u64,
}

impl MemoryReport {
    /// Bytes of all rows' values alone.
    pub fn raw_row_bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.raw_row_bytes).sum()
    }

    /// Bytes charged for all records.
    pub fn record_bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.record_bytes).sum()
    }

    /// Bytes of all indexes.
    pub fn index_bytes(&self) -> u64 {
        self.tables.iter().map(TableMemory::index_bytes).sum()
    }
}

impl Database {
    /// What the data takes. Reads every row at a quiet point: not for every second.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`]; 55P03 when no quiet point comes beside open transactions, 58030 when the
    /// log has failed and rows that were counted may not outlast a restart.
    pub fn memory(&self) -> Result<MemoryReport, Error> {
        let quiet = self.core().quiet_beside()?;
        let schema = quiet.schema();
        let tables = schema.catalog.tables().iter();
        let budget = schema.memory.budget();
        let report = MemoryReport {
            tables: tables.map(|table| of_table(&schema, table)).collect(),
            used_bytes: budget.used(),
            limit_bytes: budget.limit(),
        };
        let seen = self.core().journal.entered();
        drop(quiet);
        self.core().settle_seen(seen)?;
        Ok(report)
    }
}

fn of_table(schema: &Schema, table: &Table) -> TableMemory {
    let records = schema.table(table.id).records();
    let (mut rows, mut raw_row_bytes) = (0, 0);
    records.for_each_record(|_, record| {
        if !record.is_ghost() {
            rows += 1;
            raw_row_bytes += table.layout.raw_bytes(record.row()) as u64;
        }
    });
    let index = |id| IndexMemory {
        name: schema.catalog.index(id).name.clone(),
        parts: schema.stored_parts(id).count(),
        bytes: schema.stored_parts(id).map(StoredIndex::bytes_used).sum(),
    };
    TableMemory {
        name: table.name.clone(),
        rows,
        raw_row_bytes,
        record_bytes: records.bytes_used(),
        indexes: table.indexes().map(index).collect(),
    }
}
