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
//!              I4 counters do not know who holds them, so no policy finds cycles through them. Who
//!              waits here dynamically looks now and then who waits for what it holds itself,
//!              and whether one of those holds a counter that is waited for, without whom there is
//!              no cycle: younger ones are undone, for an older or a planned one it gives up; and
//!              calls do after a time in any case. So the oldest gets through, though somebody may
//!              be undone without need. Planned owners take these locks first,
//!              in the order of tables, and never give up
//! Source       locking.txt 3 (lightweight intent locks, Algorithms 3 and 4) and 3.1 (speculative
//!              lock inheritance, after Johnson et al.). We differ: an event count, which loses no
//!              wake-up, stands for mutex and broadcast; what the waiter looks at every millisecond
//!              is who waits for it (I4), which the paper leaves to time-outs

mod inherited;
mod lightweight;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::TableId;
use hotrow_engine::lock_mode::Mode;
use hotrow_engine::waits::Party;
use hotrow_log::position::Position;
use hotrow_transaction::granule::Space;
use hotrow_transaction::outcome::Conflict;

use self::inherited::Inheritance;
use self::lightweight::Lightweight;
use crate::lock_table::{Acquired, LockTable, Owner, Standing};
use crate::policy::Policy;
use crate::waiting::COUNTERS;

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

    /// Whether nothing is held, nor kept from earlier transactions.
    pub fn is_free(&self) -> bool {
        self.held.is_empty() && self.inherited.is_empty()
    }

    /// How many locks are held.
    pub fn len(&self) -> usize {
        self.held.len()
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

/// Between two looks of a planned owner at whether it is called away.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Between two looks of a session: one that is ended costs its client more than a call that is
/// repeated unseen.
const SESSIONS_LOOK_EVERY: Duration = Duration::from_millis(10);

/// How long dynamic owners wait (I4).
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// between two looks at whether somebody waits for them
    look_every: Duration,
    /// in any case
    most: Duration,
}

impl Patience {
    /// Of planned owners, which wait as long as it takes, but not for sessions.
    const OF_PLANNED: Self =
        Self { look_every: Duration::from_millis(10), most: Duration::from_secs(u64::MAX >> 32) };

    /// Absolute locks are waited for longer: who has got far in a whole table shall not lose it to
    /// intents. A client's transaction waits as long as it takes: whoever it waits for may be a
    /// client that thinks.
    fn of(party: Party, mode: Mode) -> Self {
        if party == Party::Session {
            return Self { look_every: SESSIONS_LOOK_EVERY, most: Duration::MAX };
        }
        let most_ms = if mode.is_intent() { 200 } else { 2_000 };
        Self { look_every: Duration::from_millis(1), most: Duration::from_millis(most_ms) }
    }

    /// Why who looks gives up.
    fn why(self) -> Conflict {
        if self.most == Duration::MAX { Conflict::Victim } else { Conflict::TimeOut }
    }
}

/// Whether a mode says anything of what is not locked more finely.
fn is_absolute(mode: Mode) -> bool {
    !matches!(mode, Mode::IS | Mode::IX)
}

/// Locks on tables and on the database, in whichever form is chosen; shared by all owners.
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
        let lightweight = Lightweight::new(if form == Form::Lightweight { COUNTERS } else { 1 });
        Self { table, form, lightweight, inheritance: Inheritance::default() }
    }

    /// The deadlock policy of the finer ones.
    pub fn policy(&self) -> Policy {
        self.table.policy()
    }

    /// The table of the finer locks.
    pub fn finer(&self) -> &Arc<LockTable> {
        &self.table
    }

    /// The lock by which an owner has the counter of `on` already, or `on` itself. Tables share a
    /// counter where there are many: who has it for one of them must not wait for itself.
    fn as_held(&self, private: &Private, on: Coarse) -> Coarse {
        if self.form != Form::Lightweight {
            return on;
        }
        let counter = self.lightweight.counter(on);
        let mut held = private.held.iter().map(|held| held.on);
        held.find(|held| self.lightweight.counter(*held) == counter).unwrap_or(on)
    }

    /// By what planned owners order their locks: that of the counters, where tables share them.
    pub fn order(&self, on: Coarse) -> usize {
        match self.form {
            Form::Lightweight => self.lightweight.counter(on),
            Form::Plain | Form::Inherited => on.number(),
        }
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
        let on = self.as_held(private, on);
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
            self.take(owner, private, on, mode);
        }
        granted
    }

    /// Takes a lock that [`TableLocks::try_acquire`] did not get. `prevails`: whether the owner
    /// goes on waiting though others wait for finer locks of it (I4).
    ///
    /// # Errors
    ///
    /// Of a dynamic owner only: it gives up (I4), or what the deadlock policy of the lock table
    /// says. What was held before is still held.
    pub fn acquire(
        &self,
        owner: &mut Owner,
        private: &mut Private,
        (on, mode): (Coarse, Mode),
        prevails: impl Fn(&Owner) -> bool,
    ) -> Result<(), Conflict> {
        let on = self.as_held(private, on);
        match self.form {
            Form::Lightweight => {
                if self.must_park(owner, private, on, mode) {
                    return Err(Conflict::Parked);
                }
                let patience = match owner.standing() {
                    Standing::Planned if owner.may_park() => Some(Patience::OF_PLANNED),
                    Standing::Planned | Standing::Ahead => None,
                    Standing::Dynamic => Some(Patience::of(self.table.party(owner), mode)),
                };
                let held = private.mode(on);
                let _told = owner.tell_wait();
                let (began, lock_deadline) = (Ticks::now(), owner.lock_deadline());
                let is_planned = owner.standing() == Standing::Planned;
                let goes_on = || {
                    if let Some(why) = owner.called_away(lock_deadline) {
                        return Err(why);
                    }
                    if owner.may_park() && self.lightweight.is_closed_outside(on, held, mode) {
                        return Err(Conflict::Parked);
                    }
                    let waits = |patience: Patience| {
                        let is_awaited = |at| self.lightweight.is_counter_awaited(at);
                        began.elapsed() < patience.most
                            && (!self.table.may_close_circle(owner, is_awaited) || prevails(owner))
                            && !self.is_awaited_beside(private, Some(on))
                    };
                    match patience {
                        Some(patience) if !is_planned && !waits(patience) => Err(patience.why()),
                        _ => Ok(()),
                    }
                };
                let called = owner.is_session().then_some(LOOK_EVERY);
                let pause = patience.map(|patience| patience.look_every).or(called);
                let asked = (on, held, mode);
                let waited = self.lightweight.acquire(owner, asked, pause, goes_on);
                // Counters do not know who is in the way.
                owner.set_holder(Party::Unknown);
                self.table.note_wait(owner, on.lock(), began);
                if waited == Err(Conflict::Parked) {
                    self.park(owner, on, mode);
                }
                owner.meet(waited?);
            }
            Form::Plain | Form::Inherited => {
                self.release_inherited(owner, private);
                self.announce(private, on, mode);
                match self.table.acquire(owner, on.lock(), mode) {
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
        self.take(owner, private, on, mode);
        Ok(())
    }

    /// Notes what has been granted.
    #[inline]
    fn take(&self, owner: &mut Owner, private: &mut Private, on: Coarse, mode: Mode) {
        private.take(owner, on, mode);
        if self.form == Form::Lightweight && owner.is_session() {
            self.table.add_counter(owner, self.lightweight.counter(on));
        }
    }

    /// Whether a lock that was not to be had must be waited for outside, since a session has it or
    /// waits for it. If so, the owner's call is there from now on.
    pub fn must_park(&self, owner: &mut Owner, private: &Private, on: Coarse, mode: Mode) -> bool {
        let on = self.as_held(private, on);
        let must = self.form == Form::Lightweight
            && owner.may_park()
            && self.lightweight.is_closed_outside(on, private.mode(on), mode);
        if must {
            owner.set_holder(Party::Session);
            self.park(owner, on, mode);
        }
        must
    }

    fn park(&self, owner: &mut Owner, on: Coarse, mode: Mode) {
        if self.table.wait_outside(owner, on, mode) {
            self.lightweight.park(on, mode);
        }
    }

    /// Whether the first who waits outside for a lock, coarse or fine, may try again.
    pub fn is_due(&self, owner: &Owner, lock: u64) -> bool {
        let counted = |(on, mode)| self.lightweight.may_come_in(on, mode);
        self.table.is_due(owner, lock).unwrap_or_else(counted)
    }

    /// See [`LockTable::come_in`]: the mode in which a lock of the table is held already.
    pub fn come_in(&self, owner: &mut Owner, lock: u64, since: Option<Ticks>) -> Option<Mode> {
        let (held, counted) = self.table.come_in(owner, lock, since);
        if let Some((on, mode)) = counted {
            self.lightweight.unpark(on, mode);
        }
        held
    }

    /// Nobody waits outside for a lock any more.
    pub fn leave_outside(&self, owner: &mut Owner, lock: u64) {
        if let Some((on, mode)) = self.table.leave_outside(owner, lock) {
            self.lightweight.unpark(on, mode);
        }
    }

    /// Whether somebody waits for what is held, or kept.
    pub fn is_awaited(&self, private: &Private) -> bool {
        self.is_awaited_beside(private, None)
    }

    /// As [`TableLocks::is_awaited`], of an owner that waits itself.
    fn is_awaited_beside(&self, private: &Private, waits_for: Option<Coarse>) -> bool {
        private.held.iter().chain(&private.inherited).any(|held| match self.form {
            Form::Lightweight => self.lightweight.is_awaited(held.on, waits_for),
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
                    if self.lightweight.release(owner, held.on, held.mode) {
                        self.table.call_outside();
                    }
                }
                if owner.is_session() {
                    self.table.clear_counters(owner);
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
