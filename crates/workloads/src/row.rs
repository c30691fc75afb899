//! Rows on their way from a loader to a table: datums and a byte heap in reused memory.
//!
//! Role         loaders fill a [`RowBuffer`] column by column and hand it to the caller's sink;
//!              nothing is allocated per row

use std::ops::ControlFlow;

use hotrow_base::datum::Datum;

/// Receives rows: table name, one datum per column, and the heap that byte-like datums point into.
/// Rows of one table come in a run and its name is one `&'static str`, so that a sink can remember
/// what it looked up. Breaks when it takes no more.
pub type RowSink<'a> = dyn FnMut(&'static str, &[Datum], &[u8]) -> ControlFlow<()> + 'a;

/// One row being made.
#[derive(Default, Debug)]
pub struct RowBuffer {
    datums: Vec<Datum>,
    heap: Vec<u8>,
}

impl RowBuffer {
    /// An empty row.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends NULL.
    pub fn null(&mut self) -> &mut Self {
        self.datums.push(Datum::NULL);
        self
    }

    /// Appends an integer of any width, or a timestamp.
    pub fn int(&mut self, value: impl Into<i64>) -> &mut Self {
        self.datums.push(Datum::int(value.into()));
        self
    }

    /// Appends a numeric as units of the column's scale.
    pub fn numeric(&mut self, units: impl Into<i128>) -> &mut Self {
        self.datums.push(Datum::numeric(units.into()));
        self
    }

    /// Appends a text that `write` appends to the heap.
    pub fn text_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        let start = self.heap.len();
        write(&mut self.heap);
        self.datums.push(Datum::range(start as u32, (self.heap.len() - start) as u32));
        self
    }

    /// Appends a text.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.text_with(|heap| heap.extend_from_slice(text.as_bytes()))
    }

    /// Hands the row to the sink and starts the next one.
    pub fn finish(&mut self, table: &'static str, sink: &mut RowSink<'_>) -> ControlFlow<()> {
        let flow = sink(table, &self.datums, &self.heap);
        self.datums.clear();
        self.heap.clear();
        flow
    }
}
