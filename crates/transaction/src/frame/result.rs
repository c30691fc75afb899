//! Results of a call, as API values. Allocates: only for clients.

use hotrow_base::datum::Datum;
use hotrow_base::value::Value;

use super::Frame;
use crate::bytecode::Program;
use crate::outcome::Rows;
use crate::program::ROW_COUNT;

impl Frame {
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
