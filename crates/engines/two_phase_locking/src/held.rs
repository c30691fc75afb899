//! What a transaction holds: locks by identity, each once, in the strongest mode asked for.
//!
//! Role         kept by transactions that lock as they go, so that what is held already costs no
//!              look at the lock table, and all of it can be released
//! Concurrency  none: one owner

use hotrow_engine::lock_mode::Mode;
use hotrow_transaction::granule::LOCK_ID_STEP;

/// See the module. Kept from transaction to transaction: after warm-up nothing is allocated.
#[derive(Debug)]
pub struct Held {
    locks: Vec<(u64, Mode)>,
    /// open addressing over identities; a cell counts only when its round is the current one
    cells: Vec<Cell>,
    round: u32,
}

#[derive(Clone, Copy, Default, Debug)]
struct Cell {
    round: u32,
    lock: u32,
}

const CELLS_MIN: usize = 64;

impl Default for Held {
    fn default() -> Self {
        Self { locks: Vec::new(), cells: vec![Cell::default(); CELLS_MIN], round: 1 }
    }
}

impl Held {
    /// Forgets all, keeps the memory.
    pub fn clear(&mut self) {
        self.locks.clear();
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.cells.fill(Cell::default());
            self.round = 1;
        }
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.locks.is_empty()
    }

    /// The locks, in the order in which they were first acquired.
    pub fn locks(&self) -> impl Iterator<Item = u64> + '_ {
        self.locks.iter().map(|(lock, _)| *lock)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.locks.len()
    }

    /// Of the locks behind the first `from`, forgets those that `keeps` does not want kept.
    pub fn keep(&mut self, from: usize, mut keeps: impl FnMut(u64, Mode) -> bool) {
        // The last first: no other lock has gone past the cell of the one that came last.
        for number in (from..self.locks.len()).rev() {
            let at = self.cell_of(self.locks[number].0);
            self.cells[at] = Cell::default();
        }
        let mut kept = from;
        for number in from..self.locks.len() {
            let (lock, mode) = self.locks[number];
            if keeps(lock, mode) {
                self.locks[kept] = (lock, mode);
                self.place(kept);
                kept += 1;
            }
        }
        self.locks.truncate(kept);
    }

    /// How a lock is held.
    #[inline]
    pub fn mode(&self, lock: u64) -> Option<Mode> {
        let cell = self.cells[self.cell_of(lock)];
        (cell.round == self.round).then(|| self.locks[cell.lock as usize].1)
    }

    /// Whether a lock is held in a mode that grants `mode`.
    #[inline]
    pub fn covers(&self, lock: u64, mode: Mode) -> bool {
        self.mode(lock).is_some_and(|held| held.covers(mode))
    }

    /// Notes that a lock is held in `mode`, besides as it is held already.
    pub fn join(&mut self, lock: u64, mode: Mode) {
        let at = self.cell_of(lock);
        let cell = self.cells[at];
        if cell.round == self.round {
            let held = &mut self.locks[cell.lock as usize].1;
            *held = held.join(mode);
            return;
        }
        self.cells[at] = Cell { round: self.round, lock: self.locks.len() as u32 };
        self.locks.push((lock, mode));
        if self.locks.len() * 2 > self.cells.len() {
            self.grow();
        }
    }

    /// The cell of a lock, or the free one where it belongs.
    #[inline]
    fn cell_of(&self, lock: u64) -> usize {
        let mask = self.cells.len() - 1;
        // The lowest bits of all identities are the same.
        let mut at = (lock / LOCK_ID_STEP) as usize & mask;
        loop {
            let cell = self.cells[at];
            if cell.round != self.round || self.locks[cell.lock as usize].0 == lock {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let cells = self.cells.len() * 2;
        self.cells.clear();
        self.cells.resize(cells, Cell::default());
        self.round = 1;
        (0..self.locks.len()).for_each(|number| self.place(number));
    }

    fn place(&mut self, number: usize) {
        let at = self.cell_of(self.locks[number].0);
        self.cells[at] = Cell { round: self.round, lock: number as u32 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lock_is_held_once_in_the_strongest_mode() {
        let mut held = Held::default();
        for round in 0..3_u64 {
            for number in 0..200_u64 {
                // Few of the low bits differ, so that cells are fought for.
                let lock = LOCK_ID_STEP * ((number << 32) + number % 7);
                assert_eq!(held.mode(lock), None);
                held.join(lock, Mode::NS);
                assert!(held.covers(lock, Mode::NS) && !held.covers(lock, Mode::SN));
                if number % 2 == round % 2 {
                    held.join(lock, Mode::XN);
                    assert_eq!(held.mode(lock), Some(Mode::XS));
                }
            }
            assert_eq!(held.locks().count(), 200);
            held.clear();
            assert!(held.is_empty() && held.locks().next().is_none());
        }
    }

    #[test]
    fn what_is_not_kept_is_forgotten() {
        let mut held = Held::default();
        // Few of the low bits differ, so that cells are fought for.
        let lock = |number: u64| LOCK_ID_STEP * ((number << 32) + number % 7);
        for number in 0..100 {
            held.join(lock(number), if number % 3 == 0 { Mode::X } else { Mode::S });
        }
        held.keep(10, |_, mode| mode == Mode::X);
        let is_kept = |number: u64| number < 10 || number.is_multiple_of(3);
        assert_eq!(held.len(), (0..100).filter(|&number| is_kept(number)).count());
        for number in 0..100 {
            assert_eq!(held.mode(lock(number)).is_some(), is_kept(number), "{number}");
        }
        held.join(lock(11), Mode::NS);
        assert_eq!(held.mode(lock(11)), Some(Mode::NS));
    }
}
