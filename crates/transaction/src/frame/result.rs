//! Results of a call: as API values (allocates: only for clients), and moved between frames.

use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Range;

use hotrow_base::datum::Datum;
use hotrow_base::value::Value;

use super::Frame;
use crate::bytecode::Program;
use crate::outcome::{Notice, Rows};
use crate::program::ROW_COUNT;

/// Rows of calls, and what was said beside them, kept outside of frames in memory that is used
/// again.
#[derive(Default, Debug)]
pub struct RowStore {
    /// with ranges of the heap
    datums: Vec<Datum>,
    heap: Vec<u8>,
    notices: Vec<Notice>,
}

/// Where in a store something lies.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct StoredRows {
    datums: Range<u32>,
    notices: Range<u32>,
}

impl RowStore {
    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.datums.clear();
        self.heap.clear();
        self.notices.clear();
    }

    /// What was said.
    pub fn notices(&self, stored: &StoredRows) -> &[Notice] {
        &self.notices[stored.notices.start as usize..stored.notices.end as usize]
    }
}

impl Frame {
    /// Moves the rows that the frame has, and what was said, to a store; where they lie there.
    pub fn keep_rows(&mut self, program: &Program, store: &mut RowStore) -> StoredRows {
        let (datums, notices) = (store.datums.len() as u32, store.notices.len() as u32);
        copy_rows(&self.result, &self.machine.heap, program, store);
        store.notices.append(&mut self.machine.notices.0);
        self.result.clear();
        self.result_rows = 0;
        StoredRows {
            datums: datums..store.datums.len() as u32,
            notices: notices..store.notices.len() as u32,
        }
    }

    /// Adds rows from a store to those of the frame, and what was said.
    pub fn add_rows(&mut self, program: &Program, store: &RowStore, stored: &StoredRows) {
        let datums = &store.datums[stored.datums.start as usize..stored.datums.end as usize];
        let mut all = RowStore {
            datums: std::mem::take(&mut self.result),
            heap: std::mem::take(&mut self.machine.heap),
            notices: Vec::new(),
        };
        copy_rows(datums, &store.heap, program, &mut all);
        (self.result, self.machine.heap) = (all.datums, all.heap);
        self.machine.notices.0.extend_from_slice(store.notices(stored));
        self.result_rows += (datums.len() / program.result.len().max(1)) as u64;
    }

    /// The rows the call returned.
    pub fn result_rows(&self, program: &Program) -> Rows {
        let value = |(datum, column): (&Datum, &crate::program::ResultColumn)| {
            Value::from_datum(*datum, column.data_type, &self.machine.heap)
        };
        let rows = match program.result.len() {
            0 => Vec::new(),
            width => self
                .result
                .chunks_exact(width)
                .map(|row| row.iter().zip(&program.result).map(value).collect())
                .collect(),
        };
        let touched = self.machine.slots[ROW_COUNT.0].as_int() as u64;
        let columns = program.result.iter().map(|c| c.name.clone()).collect();
        Rows { columns, rows, touched, notices: self.notices().to_vec() }
    }

    /// As [`Frame::result_rows`]; the frame forgets the rows, and what was said.
    pub fn take_rows(&mut self, program: &Program) -> Rows {
        let rows = self.result_rows(program);
        self.result.clear();
        self.result_rows = 0;
        self.machine.notices.0.clear();
        rows
    }

    /// The result as datums, row after row, `program.result.len()` each; byte ranges point into
    /// [`Frame::heap`].
    pub fn result_datums(&self) -> &[Datum] {
        &self.result
    }

    /// A hash of all that the call tells its client: its rows, how many it touched, what it said.
    /// The order of rows is no part of it, for contents decide it where it is shown; where it is
    /// not, it may be that of records, and differ when the call is repeated.
    pub fn hash_of_answer(&self, program: &Program, hashes: &impl BuildHasher) -> u64 {
        let hash_of_row = |row: &[Datum]| {
            let mut hasher = hashes.build_hasher();
            for (datum, column) in row.iter().zip(&program.result) {
                match column.data_type.is_bytes() && !datum.is_null() {
                    true => self.machine.heap[datum.as_range().range()].hash(&mut hasher),
                    false => datum.hash(&mut hasher),
                }
            }
            hasher.finish()
        };
        let rows = self.result.chunks_exact(program.result.len().max(1));
        let sum = rows.map(hash_of_row).fold(0, u64::wrapping_add);
        let mut hasher = hashes.build_hasher();
        (sum, self.result_rows, self.machine.slots[ROW_COUNT.0]).hash(&mut hasher);
        for Notice { level, said } in self.notices() {
            (level.name(), said.code(), &said.message).hash(&mut hasher);
            (&said.detail, &said.hint).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// How many rows the call returned.
    pub fn result_len(&self) -> u64 {
        self.result_rows
    }
}

/// Appends rows, whose byte ranges point into `heap`, to a store.
fn copy_rows(rows: &[Datum], heap: &[u8], program: &Program, store: &mut RowStore) {
    let RowStore { datums: to, heap: bytes, .. } = store;
    let first = to.len();
    to.extend_from_slice(rows);
    // Row by row: to begin the columns anew behind the last one took twice the instructions.
    for row in to[first..].chunks_exact_mut(program.result.len().max(1)) {
        for (datum, column) in row.iter_mut().zip(&program.result) {
            if column.data_type.is_bytes() && !datum.is_null() {
                *datum = Datum::of_bytes(&heap[datum.as_range().range()], bytes);
            }
        }
    }
}
