//! The wait-for graph, in one local part per owner: a bitmap of those it waits for.
//!
//! Role         policy `wait-for-graph`
//! Invariants   G1 an owner's part is exactly whom its waiting request waits for, kept under the
//!              latch of that request's bucket by whoever changes the queue; empty when it runs
//!              G2 who begins to wait has published its part before it looks for a cycle through
//!              itself; a conversion that comes to stand before others adds itself to their parts
//!              first. So of the requests that close a cycle the last one sees it all
//! Concurrency  parts are read without latches. Two that begin to wait at once each store their own
//!              part and then load the other's: stores and loads are **SeqCst**, so that one of
//!              them sees both
//! Source       orthrus.txt 4 (each thread maintains a local partition of the graph). We differ:
//!              the parts are bitmaps, exact because releases clear them, and need no latches

use hotrow_base::sync::facade::atomic::Ordering;

use super::sets::SetForm;
use super::{Cells, Waiter};

/// Owners from which a search came to each owner.
#[derive(Default, Debug)]
pub struct Search {
    /// per owner: whence it was reached; the owner's own number for the start, none: not reached
    reached_from: Vec<Option<u32>>,
    to_visit: Vec<u32>,
}

impl Search {
    /// Room for so many owners.
    pub fn new(owners: usize) -> Self {
        Self { reached_from: vec![None; owners], to_visit: Vec::with_capacity(owners) }
    }

    /// A cycle of waiting through `start`: the owner before `start`, from which
    /// [`Search::members`] lists them all.
    pub fn cycle(&mut self, cells: &Cells<impl Waiter>, start: u32) -> Option<u32> {
        self.reached_from.fill(None);
        self.reached_from[start as usize] = Some(start);
        self.to_visit.clear();
        self.to_visit.push(start);
        while let Some(owner) = self.to_visit.pop() {
            let cell = &cells[owner as usize];
            // Who is doomed will let go of everything.
            if owner != start && cell.is_doomed() {
                continue;
            }
            for (at, word) in cell.set().iter().enumerate() {
                let mut bits = word.load(Ordering::SeqCst);
                while bits != 0 {
                    let next = at as u32 * 64 + bits.trailing_zeros();
                    bits &= bits - 1;
                    if next == start {
                        return Some(owner);
                    }
                    let reached = &mut self.reached_from[next as usize];
                    if reached.is_none() {
                        *reached = Some(owner);
                        self.to_visit.push(next);
                    }
                }
            }
        }
        None
    }

    /// The owners on the way from `start` to `last`.
    pub fn members(&self, start: u32, last: u32) -> impl Iterator<Item = u32> {
        let before = move |&owner: &u32| {
            (owner != start).then(|| self.reached_from[owner as usize].unwrap_or(start))
        };
        std::iter::successors(Some(last), before)
    }
}

/// Whether one of those who wait for an owner, over others or not, is as asked.
pub fn any_waiter<W: Waiter>(cells: &Cells<W>, owner: u32, is_such: impl Fn(&W) -> bool) -> bool {
    let form = SetForm::bitmap(cells.len());
    let mut reached = vec![false; cells.len()];
    reached[owner as usize] = true;
    let mut to_visit = vec![owner];
    while let Some(awaited) = to_visit.pop() {
        for (other, cell) in cells.iter().enumerate() {
            if reached[other] || !form.may_contain(cell.set(), awaited) {
                continue;
            }
            if is_such(cell) {
                return true;
            }
            reached[other] = true;
            to_visit.push(other as u32);
        }
    }
    false
}
