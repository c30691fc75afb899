//! Who pays for an undo log that is larger than what is kept of it.
//!
//! Role         buffers grow while changes are made, where nothing can be refused: the change is
//!              about to happen. What has no room is allocated nevertheless, as little as may be,
//!              and the statement is [interrupted](Interrupt::run_out): it ends at its next look
//! Invariants   I1 a buffer of more than is kept is charged with its capacity, any other one is not
//!              I2 what a statement charges is its own until it ends, and then its session's: so an
//!                 open transaction costs later statements nothing of their own budget
//! Concurrency  as the log's: one owner

use std::sync::Arc;

use hotrow_base::interrupt::{Interrupt, current};
use hotrow_base::memory::{Charge, OutOfMemory};

/// Items that there is room for where nothing more may be charged: changes of a statement up to its
/// next look. What is copied to make that room is what a buffer of a few MiB costs.
const SPARE_ITEMS: usize = 1 << 12;
/// The first room of a buffer, in items.
const FIRST_ITEMS: usize = 32;

/// The session that pays, and its charges: the statement's and the transaction's.
#[derive(Default, Debug)]
pub(super) struct Payer {
    /// the session whose changes these are, where it is known
    session: Option<Arc<Interrupt>>,
    /// looks of the thread that cleared the log last: whoever looked before is another one
    looks: u64,
    /// in the statement's account
    statement: Charge,
    /// in the account around it
    transaction: Charge,
}

impl Payer {
    /// Whose changes these are from now on.
    pub(super) fn set(&mut self, session: Option<&Arc<Interrupt>>) {
        self.session = session.cloned();
    }

    /// The log is empty.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.looks = current::looks();
    }

    /// Whether a buffer is larger than what is kept.
    #[inline]
    pub(super) const fn has_charged(&self) -> bool {
        self.statement.bytes() > 0 || self.transaction.bytes() > 0
    }

    /// I2.
    #[cold]
    pub(super) fn end_statement(&mut self) {
        let bytes = self.statement.bytes() as usize;
        let session = self.session.as_ref().and_then(|session| session.memory().parent());
        if self.transaction.bytes() == 0 {
            self.transaction = session.map_or_else(Charge::default, Charge::new);
        }
        self.statement = Charge::default();
        self.transaction.take(bytes);
    }

    /// Makes room for so many items more; `kept`: items that cost nobody anything.
    #[cold]
    #[inline(never)]
    pub(super) fn grow<T>(&mut self, list: &mut Vec<T>, more: usize, kept: usize) {
        let bytes = |items: usize| items.saturating_mul(size_of::<T>());
        let (needed, before) = (list.len() + more, list.capacity());
        let generous = needed.max(before + before / 2);
        if generous <= kept {
            list.reserve_exact(needed.max(2 * before).clamp(FIRST_ITEMS, kept) - list.len());
            return;
        }
        // While the old one is copied there are both.
        let mut room = generous;
        if self.charge(bytes(generous)).is_err() {
            room = needed + SPARE_ITEMS;
            self.statement.take(bytes(room));
            if let Some(payer) = self.payer() {
                payer.run_out();
            }
        }
        list.reserve_exact(room - list.len());
        self.statement.take(bytes(list.capacity() - room)); // nothing, as Vec is today: I1
        self.give_back(if before > kept { bytes(before) } else { 0 });
    }

    /// Frees room that nothing stands in.
    pub(super) fn shrink<T>(&mut self, list: &mut Vec<T>, kept: usize) {
        let before = list.capacity();
        let wanted = kept.max(list.len() + list.len() / 2);
        if before <= kept || before <= wanted {
            return;
        }
        list.shrink_to(wanted);
        let left = if list.capacity() > kept { list.capacity() } else { 0 };
        self.give_back((before - left) * size_of::<T>());
    }

    fn charge(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        if self.statement.bytes() == 0 {
            let payer = self.payer();
            self.statement =
                payer.map_or_else(Charge::default, |payer| Charge::new(payer.memory()));
        }
        self.statement.add(bytes)
    }

    fn payer(&self) -> Option<Arc<Interrupt>> {
        self.session.clone().or_else(|| current::last_looked(self.looks))
    }

    /// What this statement took first: the rest is what others before it left.
    fn give_back(&mut self, bytes: usize) {
        let own = bytes.min(self.statement.bytes() as usize);
        self.statement.subtract(own);
        let rest = (bytes - own).min(self.transaction.bytes() as usize);
        self.transaction.subtract(rest);
    }
}

#[cfg(test)]
mod tests;
