//! The rows of a loop.

use std::collections::HashSet;

use hotrow_base::any_numeric;
use hotrow_base::datum::Datum;
use hotrow_base::fold;
use hotrow_base::packed;

use super::Machine;
use crate::bytecode::CompareKind;
use crate::fault::Fault;

/// What a row takes that there has been, beside its bytes.
const HAD_BYTES: usize = 2 * size_of::<Box<[u8]>>();

/// The rows of a FOR loop's query.
#[derive(Default, Debug)]
pub(crate) struct RowSet {
    pub(crate) datums: Vec<Datum>,
    pub(crate) next: usize,
    /// of rows that are appended to: which there have been
    had: HashSet<Box<[u8]>>,
}

impl RowSet {
    /// Rows have been put into it: the loop begins.
    pub(crate) fn begin(&mut self) {
        self.next = 0;
        self.had.clear();
    }

    /// Forgets all, and frees what `shrink` does not keep.
    pub(crate) fn shrink(&mut self, shrink: impl FnOnce(&mut Vec<Datum>)) {
        shrink(&mut self.datums);
        self.had = HashSet::new();
    }

    /// Appends the rows that there have not been. `kinds`: of their columns.
    pub(crate) fn append(
        &mut self,
        rows: &[Datum],
        kinds: &[CompareKind],
        machine: &mut Machine,
    ) -> Result<(), Fault> {
        let identity = |row: &[Datum], machine: &mut Machine| {
            let mut bytes = Vec::new();
            row.iter()
                .zip(kinds)
                .for_each(|(&datum, &kind)| identify(datum, kind, &machine.heap, &mut bytes));
            machine.went(bytes.len())?;
            machine.pay(bytes.len() + HAD_BYTES)?;
            Ok::<_, Fault>(bytes.into_boxed_slice())
        };
        if self.had.is_empty() {
            for row in self.datums.chunks(kinds.len()) {
                self.had.insert(identity(row, machine)?);
            }
        }
        for row in rows.chunks(kinds.len()) {
            if self.had.insert(identity(row, machine)?) {
                machine.room(&mut self.datums, row.len())?;
                self.datums.extend_from_slice(row);
            }
        }
        Ok(())
    }
}

/// Appends what tells a value from those that it differs from.
fn identify(datum: Datum, kind: CompareKind, heap: &[u8], out: &mut Vec<u8>) {
    out.push(u8::from(datum.is_null()));
    if datum.is_null() {
        return;
    }
    match kind {
        CompareKind::Int => out.extend(datum.as_int().to_le_bytes()),
        CompareKind::Numeric => out.extend(datum.as_numeric().to_le_bytes()),
        CompareKind::Interval => out.extend(datum.as_interval().span().to_le_bytes()),
        CompareKind::Float if datum.as_float().is_nan() => out.extend(f64::NAN.to_le_bytes()),
        // -0 + 0 is 0
        CompareKind::Float => out.extend((datum.as_float() + 0.0).to_le_bytes()),
        CompareKind::Array => packed::encode(&heap[datum.as_range().range()], out),
        CompareKind::Folded => {
            let start = out.len();
            out.extend([0; 8]);
            fold::append(&heap[datum.as_range().range()], out);
            let length = (out.len() - start - 8) as u64;
            out[start..start + 8].copy_from_slice(&length.to_le_bytes());
        }
        CompareKind::Row => packed::encode_row(&heap[datum.as_range().range()], out),
        CompareKind::Bytes | CompareKind::AnyNumeric => {
            let bytes = &heap[datum.as_range().range()];
            let is_number = kind == CompareKind::AnyNumeric;
            let bytes = if is_number { any_numeric::comparable(bytes) } else { bytes };
            out.extend((bytes.len() as u64).to_le_bytes());
            out.extend(bytes);
        }
    }
}

#[cfg(test)]
mod tests;
