//! Speculative lock inheritance: an owner keeps its intents for its next transactions.
//!
//! Role         the form `inherited` of [`super`]
//! Invariants   H1 what is inherited is held in the lock table: nobody has an absolute lock there
//!              H2 whoever wants an absolute lock says so first; an owner that then ends a
//!              transaction, or has none, gives back all that it inherited
//!              H3 who waits has given back what it inherited and has not used, the intent that
//!              it wants to strengthen included: those locks stand in no order, and two who wait
//!              might hold what the other one wants
//!              H4 inherited locks are given back as of the greatest position of all transactions
//!              that used them, which need not be the last one's
//!              H5 whoever waits for an absolute lock has said so again since its request is in the
//!              queue: an owner that looked after the first time may have got, and kept, an intent
//!              before the request was there. And an owner takes note of the number only while
//!              it neither holds nor waits for a coarse lock: a request in its queue may be granted
//!              first, and then be what the announced one waits for
//!              H6 who inherits a lock follows whom the transaction followed that got it: that one
//!              may have been undone, so that nothing else orders the two
//!              H7 who takes a table as a whole follows the earlier transactions of its owner that
//!              announced changes there: no lock was released in between that would tell
//!              H8 under wound-wait, an owner looks before it waits whether somebody older waits
//!              for what it holds: that one has undone the transaction that held the intent then,
//!              which may have been the one before, and waits for this one now. Who comes later
//!              undoes this transaction, since both look under the latch of the lock's bucket
//! Concurrency  `absolutes` -> counted up before an absolute request; read at the end of each
//!              transaction and between turns. An owner that read too early reads again after 10 ms
//!              at the latest, when it is idle: Relaxed is enough
//! Source       Johnson et al., as locking.txt 3.1 describes it. We differ: there an absolute
//!              request marks the lock that it wants; here one number is looked at, once for all
//!              locks

use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;
use hotrow_engine::lock_mode::Mode;

use super::{Coarse, Form, Held, Private, TableLocks, is_absolute};
use crate::lock_table::Owner;

/// What all owners share.
#[derive(Default, Debug)]
pub struct Inheritance {
    absolutes: CachePadded<AtomicU64>,
}

impl Inheritance {
    /// How many absolute locks have been asked for.
    #[inline]
    pub fn absolutes(&self) -> u64 {
        self.absolutes.load(Ordering::Relaxed) // H2
    }
}

impl Private {
    /// Takes an intent from what is inherited, if it is there.
    pub fn inherit(&mut self, owner: &mut Owner, on: Coarse, mode: Mode) -> bool {
        let found = |held: &Held| held.on == on && held.mode.covers(mode);
        let Some(at) = self.inherited.iter().position(found) else { return false };
        let held = self.inherited.swap_remove(at);
        owner.meet(held.met); // H6
        self.held.push(held);
        true
    }

    /// Takes an intent for inherited again that a request could not strengthen (H3).
    pub fn leave_inherited(&mut self, on: Coarse) {
        if let Some(at) = self.held.iter().position(|held| held.on == on) {
            let held = self.held.swap_remove(at);
            self.inherited.push(held);
        }
    }
}

impl TableLocks {
    /// H2, before a request goes to the lock table. Whether the owner had an intent there that was
    /// only inherited.
    pub(super) fn announce(&self, private: &mut Private, on: Coarse, mode: Mode) -> bool {
        if self.form != Form::Inherited {
            return false;
        }
        if is_absolute(mode) {
            self.inheritance.absolutes.fetch_add(1, Ordering::Relaxed); // H2
        }
        // The lock table knows the owner as a holder: from here on the lock is this transaction's.
        let Some(at) = private.inherited.iter().position(|held| held.on == on) else {
            return false;
        };
        let held = private.inherited.swap_remove(at);
        private.held.push(held);
        true
    }

    pub(super) fn keep_intents(&self, owner: &mut Owner, private: &mut Private) {
        private.used_by = private.used_by.max(owner.position());
        let absolutes = self.inheritance.absolutes();
        if absolutes == private.absolutes {
            for held in private.held.drain(..) {
                if is_absolute(held.mode) {
                    self.table.release(owner, held.on.lock());
                } else {
                    private.inherited.push(held);
                }
            }
            return;
        }
        private.inherited.append(&mut private.held);
        self.release_inherited(owner, private);
    }

    /// Before a wait whose request is in its queue already (H3, H8).
    pub fn prepare_to_wait(&self, owner: &mut Owner, private: &mut Private) {
        if self.form != Form::Inherited {
            return;
        }
        self.give_back_inherited(owner, private);
        for held in &private.held {
            self.table.yield_to_older(owner, held.on.lock());
        }
    }

    /// Gives back what is kept from earlier transactions, of an owner that waits for nothing.
    pub fn release_inherited(&self, owner: &mut Owner, private: &mut Private) {
        self.give_back_inherited(owner, private);
        // What is still held may have been inherited: it was used by others before (H4), and may
        // have been asked for already (H2, H5).
        if private.held.is_empty() {
            private.used_by = Default::default();
            private.absolutes = self.inheritance.absolutes();
        }
    }

    fn give_back_inherited(&self, owner: &mut Owner, private: &mut Private) {
        let position = owner.position();
        owner.commit_at(private.used_by); // H4
        for held in private.inherited.drain(..) {
            self.table.release(owner, held.on.lock());
        }
        owner.commit_at(position);
    }
}
