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
//!              I4 who waits here waits in the lock table, with everybody else: circles that go
//!              through tables are found there. Counters do not know who holds them; so they are
//!              for planned owners alone, who take these locks first, in the order of tables, and
//!              wait for nobody who thinks
//! Source       locking.txt 3 (lightweight intent locks, Algorithms 3 and 4) and 3.1 (speculative
//!              lock inheritance, after Johnson et al.). We differ: an event count, which loses no
//!              wake-up, stands for mutex and broadcast; and I4, where the paper has time-outs

mod inherited;
mod lightweight;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crossbeam_utils::CachePadded;
use hotrow_base::clock::Ticks;
use hotrow_base::ids::TableId;
use hotrow_base::sync::Latch;
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
    #[default]
    Plain,
    /// in the lock table; an owner keeps its intents for its next transactions
    Inherited,
    /// counters of their own, without queues: for planned owners alone (I4)
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
    /// what its owner had met when it was granted
    met: Position,
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
    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The mode in which something is held.
    #[inline]
    fn mode(&self, on: Coarse) -> Option<Mode> {
        self.held.iter().find(|held| held.on == on).map(|held| held.mode)
    }

    /// Notes what has been granted.
    fn take(&mut self, owner: &mut Owner, on: Coarse, mode: Mode) {
        if is_absolute(mode) {
            owner.meet(self.used_by); // H7
        }
        let met = owner.met();
        match self.held.iter_mut().find(|held| held.on == on) {
            Some(held) => (held.mode, held.met) = (held.mode.join(mode), held.met.max(met)),
            None => self.held.push(Held { on, mode, met }),
        }
    }
}

/// Whether a mode says anything of what is not locked more finely.
fn is_absolute(mode: Mode) -> bool {
    !matches!(mode, Mode::IS | Mode::IX)
}

/// See the module.
#[derive(Debug)]
pub struct TableLocks {
    table: Arc<LockTable>,
    form: Form,
    lightweight: Lightweight,
    inheritance: Inheritance,
    /// of the form `plain`: the greatest position of who released an intent (I3)
    descendant_tags: Box<[CachePadded<Latch<Position>>]>,
}

impl TableLocks {
    /// Table locks beside the finer ones of `table`.
    pub fn new(table: Arc<LockTable>, form: Form) -> Self {
        let entries = |of| if form == of { GLOBAL } else { 1 };
        let lightweight = Lightweight::new(entries(Form::Lightweight));
        let tags = (0..entries(Form::Plain)).map(|_| CachePadded::default()).collect();
        Self {
            table,
            form,
            lightweight,
            inheritance: Inheritance::default(),
            descendant_tags: tags,
        }
    }

    /// The table of the finer locks.
    pub fn finer(&self) -> &Arc<LockTable> {
        &self.table
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
            Form::Inherited if mode.is_intent() && private.inherit(owner, on, mode) => return true,
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
            self.note_grant(owner, private, on, mode);
        }
        granted
    }

    fn note_grant(&self, owner: &mut Owner, private: &mut Private, on: Coarse, mode: Mode) {
        if self.form == Form::Plain && is_absolute(mode) {
            owner.meet(*self.descendant_tag(on).lock()); // I3
        }
        private.take(owner, on, mode);
    }

    fn descendant_tag(&self, on: Coarse) -> &Latch<Position> {
        &self.descendant_tags[on.number() % self.descendant_tags.len()]
    }

    /// Takes a lock that [`TableLocks::try_acquire`] did not get.
    ///
    /// # Errors
    ///
    /// What the deadlock policy of the lock table says, or why the owner is called away. What was
    /// held before is still held.
    pub fn acquire(
        &self,
        owner: &mut Owner,
        private: &mut Private,
        (on, mode): (Coarse, Mode),
    ) -> Result<(), Conflict> {
        match self.form {
            Form::Lightweight => {
                assert_eq!(owner.standing(), Standing::Planned, "counters see no circles (I4)");
                let began = Ticks::now();
                let tag = self.lightweight.acquire(on, private.mode(on), mode);
                self.table.note_wait(owner, on.lock(), began);
                owner.meet(tag);
            }
            Form::Plain | Form::Inherited => {
                self.release_inherited(owner, private);
                self.announce(private, on, mode);
                let asked = match owner.standing() {
                    Standing::Planned => self.table.acquire_in_turn(owner, on.lock(), mode),
                    Standing::Dynamic => self.table.acquire(owner, on.lock(), mode),
                };
                match asked {
                    Acquired::Granted => {}
                    Acquired::Waiting => {
                        self.announce(private, on, mode); // H5
                        self.prepare_to_wait(owner, private);
                        self.table.wait(owner, on.lock())?;
                    }
                    Acquired::Refused(conflict) => return Err(conflict),
                }
            }
        }
        self.note_grant(owner, private, on, mode);
        Ok(())
    }

    /// Whether somebody waits for what is held, or kept.
    pub fn is_awaited(&self, private: &Private) -> bool {
        private.held.iter().chain(&private.inherited).any(|held| match self.form {
            Form::Lightweight => self.lightweight.is_awaited(held.on),
            Form::Plain | Form::Inherited => self.table.is_awaited(held.on.lock()),
        })
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
                    self.release_plain(owner, held);
                }
            }
            Form::Inherited => self.keep_intents(owner, private),
        }
    }

    /// I3: who announces finer locks next has nothing to do with who announced some here.
    fn release_plain(&self, owner: &mut Owner, Held { on, mode, .. }: Held) {
        let position = owner.position();
        if mode.is_intent() && position > Position::default() {
            let mut tag = self.descendant_tag(on).lock();
            *tag = tag.max(position);
        }
        if !is_absolute(mode) {
            owner.commit_at(Position::default());
        }
        self.table.release(owner, on.lock());
        owner.commit_at(position);
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
