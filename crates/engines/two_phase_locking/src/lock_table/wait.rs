//! Waiting for a lock, and what each policy does meanwhile.

use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::sync::facade::atomic::{AtomicUsize, Ordering, fence};
use hotrow_base::sync::facade::spin_hints;
use hotrow_base::sync::{Spin, SpinWait, spin_for};
use hotrow_engine::waits::Awaited;
use hotrow_flow::deadlock::Waiter;
use hotrow_transaction::outcome::Conflict;

use super::{Crowd, LockTable, Owner, Standing};
use crate::policy::{Policy, Waiting};
use crate::waiting::Verdict;

/// Between two looks of a sleeping owner (locking.txt 6.3 sleeps 10 ms); a grant wakes it at once.
const NAP: Duration = Duration::from_millis(10);
/// Until a suspicion, or what an outdated digest hides, is looked at again: whom it is about is
/// woken to look once more before.
const DOUBT: Duration = Duration::from_millis(1);
/// Looks of an owner that keeps its core before it looks at its queue again; between them it looks
/// at digests only. So late it learns of conversions that passed it, and of locks that went before
/// their transaction's end: some 100 us.
const LOOKS_PER_QUEUE: u32 = 64;
/// Looks of an owner that yields before it gives its core away once, so that the owner it waits for
/// runs even where threads outnumber cores: some 100 us.
const LOOKS_PER_YIELD: u32 = 64;
/// Pauses between two looks of an owner that spins, a microsecond or two, and between two looks at
/// its verdict.
const PAUSES_PER_LOOK: u32 = 32;
const PAUSES_PER_VERDICT: u32 = 8;

/// A wait that is counted.
pub(super) struct DynamicWait<'t>(&'t AtomicUsize);

impl Drop for DynamicWait<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed); // who still counts it looks in vain
    }
}

impl LockTable {
    /// Waits for the end of the request for `lock`, which was answered with
    /// [`super::Acquired::Waiting`].
    ///
    /// # Errors
    ///
    /// The request is gone; what was held before is still held. A planned owner is only called away
    /// ([`Owner::called_away`]), or its call waits outside from now on ([`Conflict::Parked`]).
    pub fn wait(&self, owner: &mut Owner, lock: u64) -> Result<(), Conflict> {
        let deadlocks = &self.deadlocks;
        let is_planned = owner.standing == Standing::Planned;
        let began = Ticks::now();
        let _told = owner.tell_wait();
        let waited = match deadlocks.policy {
            Policy::Dreadlocks => self.wait_with_digest(owner, lock),
            Policy::WaitForGraph if is_planned => self.wait_in_graph(owner, lock),
            Policy::WaitForGraph => {
                let _counted = self.count_dynamic_wait();
                self.wait_in_graph(owner, lock)
            }
            Policy::TimeOut if !is_planned => {
                self.wait_until(owner, lock, Some(Ticks::from_now(deadlocks.time_out)))
            }
            _ => self.wait_until(owner, lock, None),
        };
        self.note_wait(owner, lock, began);
        let is_left =
            matches!(waited, Err(Conflict::Interrupt | Conflict::Quiet | Conflict::Parked));
        debug_assert!(
            !is_planned || waited.is_ok() || is_left,
            "planned ones are not refused (I6)"
        );
        if waited.is_ok() {
            // Who granted it has tagged the bucket before, under its latch.
            let tag = self.bucket(lock).tag;
            owner.meet(tag);
        }
        waited
    }

    /// Notes that the owner has waited for a lock, from `began` until now.
    pub fn note_wait(&self, owner: &Owner, lock: u64, began: Ticks) {
        let (number, nanos) = (owner.number as usize, began.elapsed_nanos());
        let awaited = Awaited { lock, waiter: self.cells[number].party(), holder: owner.holder };
        self.books[number].lock().note(awaited, nanos);
    }

    /// Sessions, whose locks are held while a client thinks, sleep at once: whoever they wait for
    /// needs the core.
    fn spin_of(&self, owner: &Owner) -> Spin {
        if owner.number < self.threads { self.spin } else { Spin::NONE }
    }

    fn wait_until(
        &self,
        owner: &mut Owner,
        lock: u64,
        deadline: Option<Ticks>,
    ) -> Result<(), Conflict> {
        let cell = &self.cells[owner.number as usize];
        let patience = owner.lock_deadline();
        loop {
            let naps = owner.is_session() || owner.may_park();
            let nap = naps.then(|| Ticks::from_now(NAP));
            let next = [nap, deadline, patience].into_iter().flatten().min();
            cell.wait(self.spin_of(owner), next);
            match cell.verdict() {
                Some(Verdict::Granted) => return Ok(()),
                Some(Verdict::Refused) => return Err(Conflict::Die),
                None if cell.is_doomed() => return self.give_up(owner, lock, Conflict::Wound),
                None if let Some(why) = owner.called_away(patience) => {
                    return self.give_up(owner, lock, why);
                }
                None if deadline.is_some_and(|deadline| deadline.has_passed()) => {
                    return self.give_up(owner, lock, Conflict::TimeOut);
                }
                None if let Some(why) = self.go_outside(owner, lock) => return Err(why), // I7
                None => {}
            }
        }
    }

    /// Takes the request back, unless it has just been granted.
    fn give_up(&self, owner: &mut Owner, lock: u64, why: Conflict) -> Result<(), Conflict> {
        let mut bucket = self.bucket(lock);
        if self.cells[owner.number as usize].verdict() == Some(Verdict::Granted) {
            return Ok(());
        }
        let mut crowd = Crowd { table: self, told: &mut owner.told };
        bucket.withdraw(lock, owner.number, &mut crowd);
        drop(bucket);
        self.wake(owner);
        Err(why)
    }

    /// Counts a wait of an owner that is not planned, where it matters (I6), until this is dropped.
    pub(super) fn count_dynamic_wait(&self) -> Option<DynamicWait<'_>> {
        let counts = self.has_planned.load(Ordering::Relaxed); // before threads start
        counts.then(|| {
            // SeqCst: before its search, as the look of a planned one is behind its part's stores;
            // one of them sees the other (G2).
            self.dynamic_waits.fetch_add(1, Ordering::SeqCst);
            DynamicWait(&self.dynamic_waits)
        })
    }

    /// Whether the request of an owner, which waits, may close a cycle (I6).
    pub(super) fn may_close_cycle(&self, owner: &Owner) -> bool {
        if owner.standing != Standing::Planned {
            return true;
        }
        fence(Ordering::SeqCst); // see `count_dynamic_wait`
        self.dynamic_waits.load(Ordering::Relaxed) > 0
    }

    /// Undoes others as long as they close cycles through the owner, or gives up itself.
    fn wait_in_graph(&self, owner: &mut Owner, lock: u64) -> Result<(), Conflict> {
        // Parts are read one after another: a cycle is believed when it is found twice with the
        // same victim, which has been in one transaction all the while. A doom that comes after
        // that one's end hits nobody.
        let mut suspected = None;
        while self.may_close_cycle(owner)
            && let Some(last) = owner.search.cycle(&self.cells, owner.number)
        {
            let among = owner.search.members(owner.number, last);
            let Some(victim) = self.deadlocks.victim.choose(&self.cells, among) else {
                if self.has_all_edges(owner, last) {
                    break; // no true cycle (I6), but parts of different moments
                }
                continue;
            };
            let cell = &self.cells[victim as usize];
            let suspect = (victim, cell.sequence());
            if suspected.replace(suspect) != Some(suspect) || !self.has_all_edges(owner, last) {
                continue;
            }
            if victim == owner.number {
                return self.give_up(owner, lock, Conflict::Victim);
            }
            cell.doom_transaction(suspect.1);
            cell.wake();
        }
        match self.wait_until(owner, lock, None) {
            Err(Conflict::Wound) => Err(Conflict::Victim),
            waited => waited,
        }
    }

    /// Whether all who wait for each other in a cycle that was found do so in their queues. One who
    /// does not, but waits for others there, has its part written anew.
    fn has_all_edges(&self, owner: &mut Owner, last: u32) -> bool {
        let Owner { number, search, told, .. } = owner;
        let mut awaited = *number;
        for waiter in search.members(*number, last) {
            let lock = self.cells[waiter as usize].waits_for();
            let bucket = self.bucket(lock);
            if !bucket.in_the_way(lock, waiter).any(|other| other == awaited) {
                if bucket.wanted(lock, waiter).is_some() {
                    let crowd = Crowd { table: self, told };
                    crowd.note_wait(waiter, bucket.versions_in_the_way(lock, waiter));
                }
                return false;
            }
            awaited = waiter;
        }
        true
    }

    fn wait_with_digest(&self, owner: &mut Owner, lock: u64) -> Result<(), Conflict> {
        let waited = self.look_until_decided(owner, lock);
        owner.dreadlocks.run(&self.cells);
        waited
    }

    /// Algorithm 5 of locking.txt: looks at the queue again and again. An owner that keeps its core
    /// looks at digests in between, without the queue's latch (orthrus.txt 4): many would hold it
    /// all the time, and whoever releases the lock has to have it.
    fn look_until_decided(&self, owner: &mut Owner, lock: u64) -> Result<(), Conflict> {
        let cell = &self.cells[owner.number as usize];
        let waiting = self.deadlocks.waiting;
        let patience = owner.lock_deadline();
        let mut looks = 0_u32;
        let mut doubted = None;
        loop {
            if cell.verdict() == Some(Verdict::Granted) {
                return Ok(());
            }
            if cell.is_doomed() && owner.standing != Standing::Planned {
                return self.give_up(owner, lock, Conflict::Victim);
            }
            if let Some(why) = owner.called_away(patience) {
                return self.give_up(owner, lock, why);
            }
            if let Some(why) = self.go_outside(owner, lock) {
                return Err(why); // I7
            }
            let keeps_core = matches!(waiting, Waiting::Spin | Waiting::Yield);
            let knows_queue = keeps_core && !looks.is_multiple_of(LOOKS_PER_QUEUE);
            let suspect = if knows_queue && !self.suspects_without_latch(owner) {
                None
            } else {
                self.look_at_queue(owner, lock);
                self.look(owner)
            };
            let mut nap = if owner.told.is_empty() { NAP } else { DOUBT };
            self.wake(owner); // it is asked what they see now
            match suspect {
                Some(other) if waiting == Waiting::BackOff && doubted != Some(other) => {
                    doubted = suspect;
                    self.doubt(other);
                    nap = DOUBT;
                }
                Some(other) if self.resolve(owner, other) => {
                    return self.give_up(owner, lock, Conflict::Victim);
                }
                _ => {}
            }
            looks += 1;
            match waiting {
                Waiting::Spin => self.pause(owner.number),
                Waiting::Yield => self.yield_on(looks, owner.number),
                Waiting::Sleep | Waiting::BackOff => {
                    // For the verdict alone: who looks as often as it is given a core sees digests
                    // older than the lock it waits for, and takes more of them for circles.
                    if spin_for(self.spin_of(owner), || cell.verdict()).is_none() {
                        cell.wait(Spin::NONE, Some(Ticks::from_now(nap)));
                    }
                }
            }
        }
    }

    /// Notes whom the owner's request waits for.
    pub(super) fn look_at_queue(&self, owner: &mut Owner, lock: u64) {
        // Before: who is marked from now on has not seen what follows.
        self.cells[owner.number as usize].set_outdated(false);
        owner.in_the_way.clear();
        let bucket = self.bucket(lock);
        let others = bucket.in_the_way(lock, owner.number);
        owner.in_the_way.extend(others.map(|other| (other, 0)));
        drop(bucket);
        for (other, transaction) in &mut owner.in_the_way {
            *transaction = self.cells[*other as usize].sequence();
        }
    }

    /// Whether there is a suspect among those that the owner knows to be in its way.
    fn suspects_without_latch(&self, owner: &mut Owner) -> bool {
        self.forget_ended(owner);
        self.look(owner).is_some()
    }

    /// Those are in the owner's way no longer that run another transaction now, or will be found in
    /// the queue again.
    pub(super) fn forget_ended(&self, owner: &mut Owner) {
        let cells = &self.cells;
        owner.in_the_way.retain(|&(other, of)| cells[other as usize].sequence() == of);
    }

    /// Looks at the digests of whom the owner's request waits for; a suspect.
    pub(super) fn look(&self, owner: &mut Owner) -> Option<u32> {
        let Owner { in_the_way, dreadlocks, told, .. } = owner;
        let others = in_the_way.iter().map(|&(other, _)| other);
        let outdated = (self.deadlocks.waiting == Waiting::BackOff).then_some(told);
        dreadlocks.look(&self.cells, others, outdated)
    }

    /// Has an owner look again, and nobody heed its digest until it has: a release further down the
    /// chain of waiting marks only those who wait for that very lock.
    fn doubt(&self, other: u32) {
        let cell = &self.cells[other as usize];
        cell.set_outdated(true);
        cell.wake();
    }

    /// Two seem to wait for each other: whether the owner itself is the victim. Else the other one
    /// is told so.
    fn resolve(&self, owner: &Owner, other: u32) -> bool {
        let victim = self.deadlocks.victim.choose(&self.cells, [owner.number, other]);
        match victim {
            Some(victim) if victim == owner.number => return true,
            Some(_) => {
                let looked_at = owner.in_the_way.iter().find(|(number, _)| *number == other);
                if let Some(&(_, transaction)) = looked_at {
                    self.cells[other as usize].doom_transaction(transaction);
                    self.cells[other as usize].wake();
                }
            }
            // Two planned ones: some dynamic owner on the cycle will find it, too.
            None => {}
        }
        false
    }

    /// Between two looks of an owner that keeps its core.
    fn pause(&self, owner: u32) {
        let mut pauses = 0;
        while pauses < PAUSES_PER_LOOK && self.cells[owner as usize].verdict().is_none() {
            spin_hints(PAUSES_PER_VERDICT);
            pauses += PAUSES_PER_VERDICT;
        }
    }

    fn yield_on(&self, looks: u32, owner: u32) {
        if looks.is_multiple_of(LOOKS_PER_YIELD) {
            hotrow_base::thread::yield_now();
        }
        let mut spin = SpinWait::new();
        while !spin.is_over() && self.cells[owner as usize].verdict().is_none() {
            spin.wait();
        }
    }
}
