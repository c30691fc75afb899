//! Lightweight intent locks: counters per mode, no queues.
//!
//! Concurrency  an entry -> whoever holds its latch, for some ten instructions
//! Source       locking.txt 3.2, Algorithms 3 and 4

use std::time::Duration;

use crossbeam_utils::CachePadded;
use hotrow_base::clock::Ticks;
use hotrow_base::sync::{EventCount, Latch};
use hotrow_engine::lock_mode::{CONFLICTS, Mode};
use hotrow_log::position::Position;
use hotrow_transaction::outcome::Conflict;

use super::{Coarse, is_absolute};
use crate::lock_table::Owner;

/// The coarse modes, by their numbers.
const COARSE: [Mode; 5] = [Mode::IS, Mode::IX, Mode::SIX, Mode::S, Mode::X];

const _: () = {
    let mut at = 0;
    while at < COARSE.len() {
        assert!(COARSE[at] as usize == at, "counters are addressed by mode");
        at += 1;
    }
};

/// The global lock table.
#[derive(Debug)]
pub struct Lightweight {
    entries: Box<[CachePadded<Entry>]>,
}

#[derive(Default, Debug)]
struct Entry {
    state: Latch<State>,
    released: EventCount,
}

#[derive(Default, Debug)]
struct State {
    /// locks held, by mode
    granted: [u32; COARSE.len()],
    /// the modes that are held, a bit each
    held: u16,
    waiting: u32,
    /// of those who wait, who want an absolute lock
    waiting_absolute: u32,
    /// sessions that hold it or wait for it
    sessions: u32,
    /// calls that wait outside, counted among those who wait
    parked: u32,
    /// the greatest position of who released an absolute lock
    own_tag: Position,
    /// the greatest position of who released an intent
    descendant_tag: Position,
}

impl State {
    /// Whether an owner that holds it as `held` may have it as `target`.
    fn may_have(&self, held: Option<Mode>, target: Mode) -> bool {
        if held.is_none() && target.is_intent() && self.waiting_absolute > 0 {
            return false; // I2
        }
        // The owner's own mode counts unless others hold it, too.
        let own = held.filter(|&held| self.granted[held as usize] == 1);
        let others = self.held & !own.map_or(0, |own| 1 << own as u16);
        others & CONFLICTS[target as usize] == 0
    }

    fn count(&mut self, mode: Mode) {
        self.granted[mode as usize] += 1;
        self.held |= 1 << mode as u16;
    }

    fn discount(&mut self, mode: Mode) {
        let granted = &mut self.granted[mode as usize];
        *granted -= 1;
        if *granted == 0 {
            self.held &= !(1 << mode as u16);
        }
    }

    fn grant(&mut self, held: Option<Mode>, target: Mode) -> Position {
        if let Some(held) = held {
            self.discount(held);
        }
        self.count(target);
        if is_absolute(target) { self.own_tag.max(self.descendant_tag) } else { self.own_tag }
    }

    fn release(&mut self, mode: Mode, position: Position) {
        self.discount(mode);
        if mode.is_intent() {
            self.descendant_tag = self.descendant_tag.max(position);
        }
        if is_absolute(mode) {
            self.own_tag = self.own_tag.max(position);
        }
    }
}

impl Lightweight {
    pub fn new(entries: usize) -> Self {
        Self { entries: (0..entries).map(|_| CachePadded::default()).collect() }
    }

    /// The counter of a lock: those of tables whose numbers differ by a multiple share one, which
    /// is merely stricter.
    pub fn counter(&self, on: Coarse) -> usize {
        on.number() % self.entries.len()
    }

    fn entry(&self, on: Coarse) -> &Entry {
        &self.entries[self.counter(on)]
    }

    /// The tag of what was granted, if it was.
    fn attempt(entry: &Entry, owner: &Owner, held: Option<Mode>, target: Mode) -> Option<Position> {
        let mut state = entry.state.lock();
        if !state.may_have(held, target) {
            return None;
        }
        state.sessions += u32::from(held.is_none() && owner.is_session());
        Some(state.grant(held, target))
    }

    /// Whether a lock is not to be had because of a session, or of a call that waits for one.
    pub fn is_closed_outside(&self, on: Coarse, held: Option<Mode>, mode: Mode) -> bool {
        let target = held.map_or(mode, |held| held.join(mode));
        let state = self.entry(on).state.lock();
        (state.sessions > 0 || state.parked > 0) && !state.may_have(held, target)
    }

    /// Whether who waits outside may try again.
    pub fn may_come_in(&self, on: Coarse, mode: Mode) -> bool {
        self.entry(on).state.lock().may_have(None, mode)
    }

    /// A call waits outside, as if it waited here.
    pub fn park(&self, on: Coarse, mode: Mode) {
        let mut state = self.entry(on).state.lock();
        state.parked += 1;
        state.waiting += 1;
        state.waiting_absolute += u32::from(!mode.is_intent());
    }

    /// It does no longer.
    pub fn unpark(&self, on: Coarse, mode: Mode) {
        let entry = self.entry(on);
        {
            let mut state = entry.state.lock();
            state.parked -= 1;
            state.waiting -= 1;
            state.waiting_absolute -= u32::from(!mode.is_intent());
        }
        entry.released.notify_all(); // intents that held back for it (I2)
    }

    #[inline]
    pub fn try_acquire(
        &self,
        owner: &mut Owner,
        on: Coarse,
        held: Option<Mode>,
        mode: Mode,
    ) -> bool {
        let target = held.map_or(mode, |held| held.join(mode));
        let tag = Self::attempt(self.entry(on), owner, held, target);
        tag.is_some_and(|tag| {
            owner.meet(tag);
            true
        })
    }

    /// Waits for a lock; asks now and then, after each `pause`, why not to go on. The tag of what
    /// was granted.
    pub fn acquire(
        &self,
        owner: &Owner,
        (on, held, mode): (Coarse, Option<Mode>, Mode),
        pause: Option<Duration>,
        goes_on: impl Fn() -> Result<(), Conflict>,
    ) -> Result<Position, Conflict> {
        let target = held.map_or(mode, |held| held.join(mode));
        let absolute = u32::from(!target.is_intent());
        let session = u32::from(owner.is_session());
        let entry = self.entry(on);
        {
            let mut state = entry.state.lock();
            state.waiting += 1;
            state.waiting_absolute += absolute;
            state.sessions += session;
        }
        let tag = loop {
            let deadline = pause.map(Ticks::from_now);
            let tag =
                entry.released.wait_for(deadline, || Self::attempt(entry, owner, held, target));
            match (tag, goes_on()) {
                (Some(tag), _) => break Ok(tag),
                (None, Err(why)) => break Err(why),
                (None, Ok(())) => {}
            }
        };
        {
            let mut state = entry.state.lock();
            state.waiting -= 1;
            state.waiting_absolute -= absolute;
            state.sessions -= session;
        }
        if absolute > 0 {
            entry.released.notify_all(); // intents that held back for it (I2)
        }
        tag
    }

    /// Whether somebody waits for the lock, beside who waits for `waits_for`.
    pub fn is_awaited(&self, on: Coarse, waits_for: Option<Coarse>) -> bool {
        let entry = self.entry(on);
        let own = waits_for.is_some_and(|other| std::ptr::eq(self.entry(other), entry));
        entry.state.lock().waiting > u32::from(own)
    }

    /// Whether somebody waits for a lock of a counter.
    pub fn is_counter_awaited(&self, counter: usize) -> bool {
        self.entries[counter].state.lock().waiting > 0
    }

    /// Gives a lock back; whether some wait for it outside, who are to be called.
    #[inline]
    pub fn release(&self, owner: &Owner, on: Coarse, mode: Mode) -> bool {
        let entry = self.entry(on);
        let (awaited, outside) = {
            let mut state = entry.state.lock();
            state.release(mode, owner.position());
            state.sessions -= u32::from(owner.is_session());
            (state.waiting > 0, state.parked > 0)
        };
        if awaited {
            entry.released.notify_all();
        }
        outside
    }
}
