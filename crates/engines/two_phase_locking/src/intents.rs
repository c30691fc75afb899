//! Locks on whole tables and on the database: intents, which every transaction takes, and absolute
//! locks, which few take.
//!
//! Role         runners announce here what they lock more finely, or take a table as a whole; three
//!              forms, chosen at start, that the paper compares
//! States       per owner and table: nothing -> held -> nothing; with inheritance also -> kept by
//!              the owner for its next transaction
//! Invariants   I1 modes of one table that are held at once go together
//!              I2 an intent is not granted while an absolute lock is waited for, so that those
//!              are not starved; who holds an intent already may strengthen it
//!              I3 as I5 of [`crate::lock_table`]: who is granted a lock has met whoever released
//!              a conflicting one. Absolute locks leave their position in a tag of the table's own,
//!              intents in one for its descendants; who announces finer locks reads the first, who
//!              takes it all reads both (locking.txt 5.3)
//!              I4 who waits here dynamically gives up after a time: waits of absolute locks are
//!              rare, and their deadlocks with finer locks are not looked for. Planned owners take
//!              these locks first, in the order of tables, and never give up
//! Source       locking.txt 3 (lightweight intent locks, Algorithms 3 and 4) and 3.1 (speculative
//!              lock inheritance, after Johnson et al.). We differ: an event count, which loses no
//!              wake-up, stands for mutex, broadcast and the waiter's look every millisecond

mod inherited;
mod lightweight;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::TableId;
use hotrow_engine::lock_mode::Mode;
use hotrow_log::position::Position;
use hotrow_transaction::granule::Space;
use hotrow_transaction::outcome::Conflict;

use self::inherited::Inheritance;
use self::lightweight::Lightweight;
use crate::lock_table::{Acquired, LockTable, Owner, Standing};

/// How table locks are kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Form {
    /// as any other lock, in the lock table
    Plain,
    /// in the lock table; an owner keeps its intents for its next transactions
    Inherited,
    /// counters of their own, without queues
    #[default]
    Lightweight,
}

/// What a coarse lock is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coarse {
    /// all tables
    Database,
    /// one table
    Table(TableId),
}

impl Coarse {
    /// Identity of its lock in a lock table.
    pub fn lock(self) -> u64 {
        match self {
            // No table has this number.
            Self::Database => Space::Table(TableId(u16::MAX)).lock_id(&[]),
            Self::Table(table) => Space::Table(table).lock_id(&[]),
        }
    }

    fn number(self) -> usize {
        match self {
            Self::Database => 0,
            Self::Table(table) => 1 + table.index(),
        }
    }
}

/// A coarse lock that an owner holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    on: Coarse,
    mode: Mode,
}

/// What one owner holds: the private lock table of locking.txt 3.2.
#[derive(Default, Debug)]
pub struct Private {
    held: Vec<Held>,
    /// kept from earlier transactions
    inherited: Vec<Held>,
    /// the greatest position of a transaction that used what is inherited
    used_by: Position,
    /// absolute requests that there had been when it was kept
    absolutes: u64,
}

impl Private {
    /// The mode in which something is held.
    #[inline]
    fn mode(&self, on: Coarse) -> Option<Mode> {
        self.held.iter().find(|held| held.on == on).map(|held| held.mode)
    }

    fn join(&mut self, on: Coarse, mode: Mode) {
        match self.held.iter_mut().find(|held| held.on == on) {
            Some(held) => held.mode = held.mode.join(mode),
            None => self.held.push(Held { on, mode }),
        }
    }
}

/// How long dynamic owners wait (I4). The longer time is for absolute locks: who has got far in a
/// whole table shall not lose it to intents.
const INTENT_TIME_OUT: Duration = Duration::from_millis(200);
const ABSOLUTE_TIME_OUT: Duration = Duration::from_secs(2);

/// See the module.
#[derive(Debug)]
pub struct TableLocks {
    table: Arc<LockTable>,
    form: Form,
    lightweight: Lightweight,
    inheritance: Inheritance,
}

impl TableLocks {
    /// Table locks beside the finer ones of `table`.
    pub fn new(table: Arc<LockTable>, form: Form) -> Self {
        let lightweight = Lightweight::new(if form == Form::Lightweight { GLOBAL } else { 1 });
        Self { table, form, lightweight, inheritance: Inheritance::default() }
    }

    /// Takes a lock if that needs no waiting; false, and nothing has changed, if it does.
    #[inline]
    pub fn try_acquire(
        &self,
        owner: &mut Owner,
        private: &mut Private,
        on: Coarse,
        mode: Mode,
    ) -> bool {
        let held = private.mode(on);
        if held.is_some_and(|held| held.covers(mode)) {
            return true;
        }
        let granted = match self.form {
            Form::Lightweight => self.lightweight.try_acquire(owner, on, held, mode),
            Form::Inherited if mode.is_intent() && private.inherit(on, mode) => return true,
            Form::Plain | Form::Inherited => {
                let inherited = self.announce(private, on, mode);
                let granted = self.table.try_acquire(owner, on.lock(), mode);
                if inherited && !granted {
                    private.leave_inherited(on);
                }
                granted
            }
        };
        if granted {
            private.join(on, mode);
        }
        granted
    }

    /// Takes a lock that [`TableLocks::try_acquire`] did not get.
    ///
    /// # Errors
    ///
    /// Of a dynamic owner only: it has waited for long (I4), or what the deadlock policy of the
    /// lock table says. What was held before is still held.
    pub fn acquire(
        &self,
        owner: &mut Owner,
        private: &mut Private,
        on: Coarse,
        mode: Mode,
    ) -> Result<(), Conflict> {
        match self.form {
            Form::Lightweight => {
                let deadline = match owner.standing() {
                    Standing::Planned => None,
                    Standing::Dynamic if mode.is_intent() => Some(INTENT_TIME_OUT),
                    Standing::Dynamic => Some(ABSOLUTE_TIME_OUT),
                };
                let deadline = deadline.map(Ticks::from_now);
                let held = private.mode(on);
                self.lightweight.acquire(owner, on, held, mode, deadline)?;
            }
            Form::Plain | Form::Inherited => {
                self.release_inherited(owner, private);
                self.announce(private, on, mode);
                match self.table.acquire(owner, on.lock(), mode) {
                    Acquired::Granted => {}
                    Acquired::Waiting => {
                        self.announce(private, on, mode); // H5
                        self.table.wait(owner, on.lock())?;
                    }
                    Acquired::Refused(conflict) => return Err(conflict),
                }
            }
        }
        private.join(on, mode);
        Ok(())
    }

    /// Gives all locks back, as of the owner's position; intents may be kept for its next
    /// transaction.
    #[inline]
    pub fn release_all(&self, owner: &mut Owner, private: &mut Private) {
        match self.form {
            Form::Lightweight => {
                for held in private.held.drain(..) {
                    self.lightweight.release(owner, held.on, held.mode);
                }
            }
            Form::Plain => {
                for held in private.held.drain(..) {
                    self.table.release(owner, held.on.lock());
                }
            }
            Form::Inherited => self.keep_intents(owner, private),
        }
    }

    /// Gives back what is kept between transactions, if somebody waits for it. For owners that
    /// may have no next transaction for a while.
    pub fn release_unused(&self, owner: &mut Owner, private: &mut Private) {
        if self.form == Form::Inherited && private.absolutes != self.inheritance.absolutes() {
            self.release_inherited(owner, private);
        }
    }
}

/// Entries of the global lock table: tables whose numbers differ by a multiple share one, which is
/// merely stricter.
const GLOBAL: usize = 256;
