//! Turns of a loop, the hottest last.
//!
//! Role         puts the turns of a call's [`FreeLoop`] into the order in which their locks are
//!              acquired: in the plan, in its hints and in the frame's array

use hotrow_engine::worker::Call;
use hotrow_transaction::free_loop::FreeLoop;

use super::locking::Locking;

/// The turns of one loop, in the order in which they run.
#[derive(Default)]
pub(super) struct Turns {
    /// rank of each turn's lock, and where the turn was
    order: Vec<(u32, u32)>,
    hot: Vec<(u32, u32)>,
    hints: Vec<u64>,
}

impl Turns {
    /// Puts the hottest turns last; whether that changed anything. The frame has begun.
    pub(super) fn put_hot_last(&mut self, locking: &mut Locking, call: &mut Call) -> bool {
        let procedure = call.procedure.as_deref().expect("only procedures that exist are run");
        let Some(FreeLoop { array, site }) = procedure.free_loop else { return false };
        let entries = call.plan.entries_of(site);
        if call.frame.array_len(array) != Some(entries.len()) {
            return false;
        }
        let Self { order, hot, hints } = self;
        order.clear();
        hot.clear();
        let mut moves = false;
        for (number, entry) in (0..).zip(&call.plan.entries()[entries.clone()]) {
            // Turns in one granule have one rank, and keep their order.
            match locking.rank(entry.granule) {
                0 => {
                    moves |= !hot.is_empty();
                    order.push((0, number));
                }
                rank => {
                    moves |= hot.last().is_some_and(|&(last, _)| last > rank);
                    hot.push((rank, number));
                }
            }
        }
        if !moves {
            return false;
        }
        hot.sort_unstable();
        order.extend_from_slice(hot);
        let numbers = || order.iter().map(|&(_, number)| number as usize);
        call.plan.rearrange(entries.clone(), numbers());
        call.frame.rearrange(array, numbers());
        if let Some(turned) = call.hints.get_mut(entries.clone()) {
            hints.clear();
            hints.extend_from_slice(turned);
            turned.iter_mut().zip(numbers()).for_each(|(hint, from)| *hint = hints[from]);
        }
        locking.renumber(entries.start as u32, order.iter().map(|&(rank, _)| rank));
        true
    }
}
