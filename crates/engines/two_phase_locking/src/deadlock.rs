//! Finding transactions that wait for each other, and choosing who of them is undone.
//!
//! Role         called by the lock table when a request waits; knows owners and sets of owners, and
//!              neither locks nor queues
//! Invariants   I1 a planned owner is never chosen: every cycle has a dynamic one, because planned
//!              owners wait for each other only in the global order of their locks
//! Reading      [`owners`] (sets), [`graph`], [`dreadlocks`]

pub mod dreadlocks;
pub mod graph;
pub mod owners;

use crossbeam_utils::CachePadded;

use crate::policy::Victim;
use crate::waiting::WaitingCell;

/// The cells of all owners.
pub type Cells = [CachePadded<WaitingCell>];

/// Who is undone of some that wait for each other; none when all are planned.
pub fn choose(cells: &Cells, among: impl IntoIterator<Item = u32>, victim: Victim) -> Option<u32> {
    let candidates = among.into_iter().filter(|&owner| !cells[owner as usize].is_planned());
    let age = |owner: u32| (cells[owner as usize].age(), owner);
    let completed = |owner: u32| cells[owner as usize].completed();
    match victim {
        Victim::Young => candidates.max_by_key(|&owner| age(owner)),
        // Of two pipelines of one length the one with the younger transaction.
        Victim::KillLong => candidates.max_by_key(|&owner| (completed(owner), age(owner))),
        Victim::KillShort => {
            candidates.max_by_key(|&owner| (std::cmp::Reverse(completed(owner)), age(owner)))
        }
    }
}
