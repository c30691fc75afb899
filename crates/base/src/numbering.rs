//! A numbering: finds the number of a thing by the thing's identity, and forgets all at once.
//!
//! Role         open addressing under lists of things that are numbered in the order in which they
//!              come (a footprint's granules, a graph's queues). The things, with their identities,
//!              lie in the caller's list; here are only numbers
//! Invariants   I1 a cell counts only when its round is the current one, so that forgetting all
//!              costs nothing
//!              I2 at most half of the cells count

use std::num::Wrapping;

use crate::prefetch::prefetch;

#[derive(Clone, Copy, Default, Debug)]
struct Cell {
    round: u32,
    number: u32,
}

const CELLS_MIN: usize = 64;

/// See the module. The caller tells which identity a number has, and which cell an identity begins
/// its search at: any number that differs in its low bits from those of most others.
#[derive(Clone, Default, Debug)]
pub struct Numbering {
    cells: Vec<Cell>,
    round: Wrapping<u32>,
}

impl Numbering {
    /// Forgets all numbers, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.round += 1;
        if self.round.0 == 0 || self.cells.is_empty() {
            self.cells.clear();
            self.cells.resize(CELLS_MIN, Cell::default());
            self.round.0 = 1;
        }
    }

    /// Asks for the cell at which the search for an identity begins.
    #[inline]
    pub fn prefetch(&self, begin: usize) {
        if let Some(cell) = self.cells.get(begin & self.cells.len().wrapping_sub(1)) {
            prefetch(cell);
        }
    }

    /// The number of the thing that `is` it, if it has one. Nothing is found before the first
    /// [`Numbering::clear`].
    #[inline]
    pub fn find(&self, begin: usize, is: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.cells.len().wrapping_sub(1);
        let mut at = begin & mask;
        loop {
            let cell = *self.cells.get(at)?;
            if cell.round != self.round.0 {
                return None;
            }
            if is(cell.number) {
                return Some(cell.number);
            }
            at = (at + 1) & mask;
        }
    }

    /// The number of the thing that `is` it; if it has none, it is `next` from now on, which is how
    /// many there are: the caller adds it to its list, and then sees to it that [there is
    /// room](Numbering::keep_room). Called after the first [`Numbering::clear`].
    #[inline]
    pub fn find_or_add(
        &mut self,
        begin: usize,
        next: u32,
        is: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let mask = self.cells.len().wrapping_sub(1);
        let mut at = begin & mask;
        while let Some(cell) = self.cells.get_mut(at) {
            if cell.round != self.round.0 {
                *cell = Cell { round: self.round.0, number: next };
                break;
            }
            if is(cell.number) {
                return Some(cell.number);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// Takes back the number that was given last, of those that were not taken back.
    pub fn take_back(&mut self, begin: usize, last: u32) {
        let mask = self.cells.len().wrapping_sub(1);
        let mut at = begin & mask;
        while let Some(cell) = self.cells.get_mut(at)
            && cell.round == self.round.0
        {
            if cell.number == last {
                *cell = Cell::default(); // no other search has gone past it
                return;
            }
            at = (at + 1) & mask;
        }
    }

    /// Grows if more than half of the cells count (I2), now that there are `count` numbers.
    #[inline]
    pub fn keep_room(&mut self, count: usize, begin: impl Fn(u32) -> usize) {
        if count * 2 > self.cells.len() {
            self.grow(count as u32, begin);
        }
    }

    #[cold]
    fn grow(&mut self, count: u32, begin: impl Fn(u32) -> usize) {
        let cells = self.cells.len() * 2;
        self.cells.clear();
        self.cells.resize(cells, Cell::default());
        self.round.0 = 1;
        for number in 0..count {
            let mut at = begin(number) & (cells - 1);
            while self.cells[at].round == self.round.0 {
                at = (at + 1) & (cells - 1);
            }
            self.cells[at] = Cell { round: self.round.0, number };
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Adds an identity to a list; its number, and whether it is new.
    fn add(numbering: &mut Numbering, list: &mut Vec<u64>, identity: u64) -> (u32, bool) {
        let next = list.len() as u32;
        match numbering.find_or_add(identity as usize, next, |n| list[n as usize] == identity) {
            Some(number) => (number, false),
            None => {
                list.push(identity);
                numbering.keep_room(list.len(), |n| list[n as usize] as usize);
                (next, true)
            }
        }
    }

    #[test]
    fn things_keep_their_numbers_while_it_grows() {
        let (mut numbering, mut list) = (Numbering::default(), Vec::new());
        numbering.clear();
        // All of them begin at one of four cells.
        let identities = || (0..1000_u64).map(|i| i * 64 + i % 4);
        for (number, identity) in (0..).zip(identities()) {
            assert_eq!(add(&mut numbering, &mut list, identity), (number, true));
        }
        for (number, identity) in (0..).zip(identities()) {
            assert_eq!(add(&mut numbering, &mut list, identity), (number, false));
            let found = numbering.find(identity as usize, |n| list[n as usize] == identity);
            assert_eq!(found, Some(number));
        }
        assert_eq!(numbering.find(7, |n| list[n as usize] == 7), None);
    }

    #[test]
    fn the_last_ones_can_be_taken_back() {
        let (mut numbering, mut list) = (Numbering::default(), Vec::new());
        numbering.clear();
        let identities = |count: u64| (0..count).map(|i| i * 64 + i % 4);
        identities(100).for_each(|identity| {
            add(&mut numbering, &mut list, identity);
        });
        for number in (40..100).rev() {
            numbering.take_back(list[number as usize] as usize, number);
            list.pop();
        }
        for (number, identity) in (0..).zip(identities(70)) {
            assert_eq!(add(&mut numbering, &mut list, identity), (number, number >= 40));
        }
    }

    #[test]
    fn what_is_forgotten_is_not_found() {
        let (mut numbering, mut list) = (Numbering::default(), Vec::new());
        assert_eq!(numbering.find(5, |_| true), None);
        numbering.clear();
        add(&mut numbering, &mut list, 5);
        numbering.clear();
        assert_eq!(numbering.find(5, |n| list[n as usize] == 5), None);
        numbering.round = Wrapping(u32::MAX);
        numbering.clear();
        assert_eq!(numbering.find(5, |n| list[n as usize] == 5), None, "rounds wrap");
    }
}
