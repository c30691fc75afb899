//! Where records stand in a read set: open addressing, emptied by counting.

use hotrow_base::ids::TableId;
use hotrow_storage::record::RecordId;

const CELLS_MIN: usize = 64;

#[derive(Clone, Copy, Default, Debug)]
struct Cell {
    /// counts only in its round
    round: u32,
    entry: u32,
    table: TableId,
    id: u64,
}

/// A power of two of cells, half empty; a new round empties them all.
#[derive(Default, Debug)]
pub struct Cells {
    /// a power of two, half empty
    cells: Vec<Cell>,
    round: u32,
    used: usize,
}

impl Cells {
    /// Empties it, keeps the memory.
    pub fn clear(&mut self) {
        self.used = 0;
        self.round = self.round.wrapping_add(1);
        if self.round == 0 || self.cells.is_empty() {
            self.cells.clear();
            self.cells.resize(CELLS_MIN, Cell::default());
            self.round = 1;
        }
    }

    /// The entry of a record.
    #[inline]
    pub fn get(&self, table: TableId, id: RecordId) -> Option<u32> {
        let cell = &self.cells[self.place(table, id)];
        (cell.round == self.round).then_some(cell.entry)
    }

    /// Notes the entry of a record that has none.
    pub fn put(&mut self, table: TableId, id: RecordId, entry: u32) {
        if self.used * 2 >= self.cells.len() {
            self.grow();
        }
        let at = self.place(table, id);
        self.cells[at] = Cell { round: self.round, entry, table, id: id.bits() };
        self.used += 1;
    }

    /// The cell of a record, or that in which it belongs.
    #[inline]
    fn place(&self, table: TableId, id: RecordId) -> usize {
        let mask = self.cells.len() - 1;
        let mixed = (id.bits() ^ u64::from(table.0) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut at = (mixed >> 32) as usize & mask;
        loop {
            let cell = &self.cells[at];
            if cell.round != self.round || cell.id == id.bits() && cell.table == table {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let larger = vec![Cell::default(); self.cells.len() * 2];
        for cell in std::mem::replace(&mut self.cells, larger) {
            if cell.round == self.round {
                let at = self.place(cell.table, RecordId::from_bits(cell.id));
                self.cells[at] = cell;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_found_until_they_are_forgotten() {
        let mut cells = Cells::default();
        for round in 0..3_u32 {
            cells.clear();
            for number in 1..500_u32 {
                let (table, id) = (TableId(number as u16 % 3), RecordId::from_bits(number.into()));
                assert_eq!(cells.get(table, id), None);
                cells.put(table, id, number + round);
            }
            for number in 1..500_u32 {
                let (table, id) = (TableId(number as u16 % 3), RecordId::from_bits(number.into()));
                assert_eq!(cells.get(table, id), Some(number + round));
                assert_eq!(cells.get(TableId(7), id), None);
            }
        }
    }
}
