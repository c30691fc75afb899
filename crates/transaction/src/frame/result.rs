//! Results of a call: as API values (allocates: only for clients), and moved between frames.

use std::ops::Range;

use hotrow_base::datum::Datum;
use hotrow_base::value::Value;

use super::Frame;
use crate::bytecode::Program;
use crate::outcome::Rows;
use crate::program::ROW_COUNT;

/// Rows of calls, kept outside of frames in memory that is used again.
#[derive(Default, Debug)]
pub struct RowStore {
    /// with ranges of the heap
    datums: Vec<Datum>,
    heap: Vec<u8>,
}

impl RowStore {
    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.datums.clear();
        self.heap.clear();
    }
}

impl Frame {
    /// Moves the rows that the frame has to a store; where they lie there.
    pub fn keep_rows(&mut self, program: &Program, store: &mut RowStore) -> Range<u32> {
        let start = store.datums.len() as u32;
        copy_rows(&self.result, &self.machine.heap, program, store);
        self.result.clear();
        self.result_rows = 0;
        start..store.datums.len() as u32
    }

    /// Adds rows from a store to those of the frame.
    pub fn add_rows(&mut self, program: &Program, store: &RowStore, rows: Range<u32>) {
        let datums = &store.datums[rows.start as usize..rows.end as usize];
        let mut all = RowStore {
            datums: std::mem::take(&mut self.result),
            heap: std::mem::take(&mut self.machine.heap),
        };
        copy_rows(datums, &store.heap, program, &mut all);
        (self.result, self.machine.heap) = (all.datums, all.heap);
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
        Rows { columns: program.result.iter().map(|c| c.name.clone()).collect(), rows, touched }
    }

    /// As [`Frame::result_rows`]; the frame forgets the rows.
    pub fn take_rows(&mut self, program: &Program) -> Rows {
        let rows = self.result_rows(program);
        self.result.clear();
        self.result_rows = 0;
        rows
    }

    /// The result as datums, row after row, `program.result.len()` each; byte ranges point into
    /// [`Frame::heap`].
    pub fn result_datums(&self) -> &[Datum] {
        &self.result
    }

    /// How many rows the call returned.
    pub fn result_len(&self) -> u64 {
        self.result_rows
    }
}

/// Appends rows, whose byte ranges point into `heap`, to a store.
fn copy_rows(rows: &[Datum], heap: &[u8], program: &Program, store: &mut RowStore) {
    for (&datum, column) in rows.iter().zip(program.result.iter().cycle()) {
        store.datums.push(match column.data_type.is_bytes() && !datum.is_null() {
            false => datum,
            true => Datum::of_bytes(&heap[datum.as_range().range()], &mut store.heap),
        });
    }
}
