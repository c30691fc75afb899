//! A bucket: the rules by which requests for its locks are granted.
//!
//! Role         plain data and rules; the lock table latches it and wakes whom it names
//! Invariants   I1, I2, I4 of [`super`]

use hotrow_log::position::Position;
use hotrow_transaction::granule::LockMode;
use hotrow_transaction::outcome::Conflict;

use super::modes::Modes;
use super::requests::{Request, Requests};
use super::{Acquired, Crowd};
use crate::policy::Policy;
use crate::waiting::Verdict;

/// See the module.
#[derive(Default, Debug)]
pub(super) struct Bucket {
    requests: Requests,
    /// the greatest position that a lock was released as (I5 of [`super`])
    pub tag: Position,
}

impl Bucket {
    pub fn len(&self) -> usize {
        self.requests.as_slice().len()
    }

    /// Grants a lock that its owner does not hold yet, when nobody who holds or waits for it is
    /// disturbed.
    #[inline]
    pub fn grant_at_once(&mut self, lock: u64, owner: u32, mode: LockMode) -> bool {
        let request = Request { lock, owner, held: Modes::of(mode), wanted: Modes::NONE };
        self.requests.push_only(request) || self.grant_beside_others(lock, owner, mode)
    }

    #[inline(never)]
    fn grant_beside_others(&mut self, lock: u64, owner: u32, mode: LockMode) -> bool {
        let mut met = Modes::NONE;
        for request in self.requests.as_slice() {
            if request.lock == lock {
                if request.owner == owner {
                    return false;
                }
                met = met.with(request.claims());
            }
        }
        if met.conflict_with(mode) {
            return false;
        }
        self.requests.push(Request { lock, owner, held: Modes::of(mode), wanted: Modes::NONE });
        true
    }

    /// Answers a request that was not granted at once.
    pub fn ask(
        &mut self,
        lock: u64,
        owner: u32,
        mode: LockMode,
        policy: Policy,
        crowd: &mut Crowd<'_>,
    ) -> Acquired {
        let own = self.position(lock, owner);
        if let Some(own) = own {
            return self.convert(own, mode, policy, crowd);
        }
        if let Err(conflict) = self.may_wait(lock, owner, mode, policy, crowd) {
            return Acquired::Refused(conflict);
        }
        self.requests.push(Request { lock, owner, held: Modes::NONE, wanted: Modes::of(mode) });
        Acquired::Waiting
    }

    /// Strengthens a held lock.
    fn convert(
        &mut self,
        own: usize,
        mode: LockMode,
        policy: Policy,
        crowd: &mut Crowd<'_>,
    ) -> Acquired {
        let Request { lock, owner, held, .. } = self.requests.as_slice()[own];
        let held = held.only().expect("an owner asks for nothing while it waits (I3)");
        let target = held.join(mode);
        if target == held {
            return Acquired::Granted;
        }
        let others = self.others(lock, owner).fold(Modes::NONE, |met, other| met.with(other.held));
        let granted = !others.conflict_with(target);
        if !granted && let Err(conflict) = self.may_convert(lock, owner, policy, crowd) {
            return Acquired::Refused(conflict);
        }
        let request = &mut self.requests.as_mut_slice()[own];
        if granted {
            request.held = Modes::of(target);
        } else {
            request.wanted = Modes::of(target);
        }
        if policy == Policy::WaitDie {
            self.refuse_younger(lock, owner, target, crowd);
        }
        if granted { Acquired::Granted } else { Acquired::Waiting }
    }

    /// Whether an ordinary request may wait for those that stand before it.
    fn may_wait(
        &self,
        lock: u64,
        owner: u32,
        mode: LockMode,
        policy: Policy,
        crowd: &Crowd<'_>,
    ) -> Result<(), Conflict> {
        let must_not = |other: &Request| {
            other.claims().conflict_with(mode) && crowd.is_older(other.owner, owner)
        };
        match policy {
            Policy::Wait => Ok(()),
            Policy::NoWait => Err(Conflict::NoWait),
            Policy::WaitDie if self.others(lock, owner).any(must_not) => Err(Conflict::Die),
            Policy::WaitDie => Ok(()),
        }
    }

    /// Whether a conversion may wait: for all other holders, whether it conflicts with them now or
    /// after their own conversions, which may be granted before it.
    fn may_convert(
        &self,
        lock: u64,
        owner: u32,
        policy: Policy,
        crowd: &Crowd<'_>,
    ) -> Result<(), Conflict> {
        let must_not =
            |other: &Request| !other.held.is_empty() && crowd.is_older(other.owner, owner);
        match policy {
            Policy::Wait => Ok(()),
            Policy::NoWait => Err(Conflict::NoWait),
            Policy::WaitDie if self.others(lock, owner).any(must_not) => Err(Conflict::Die),
            Policy::WaitDie => Ok(()),
        }
    }

    /// A conversion to `target` has come to stand before requests that waited already: those that
    /// are younger may not wait for it (I4).
    fn refuse_younger(&mut self, lock: u64, owner: u32, target: LockMode, crowd: &mut Crowd<'_>) {
        let mut refused = false;
        let mut at = 0;
        while let Some(&other) = self.requests.as_slice().get(at) {
            at += 1;
            let concerned = other.lock == lock
                && other.owner != owner
                && other.wanted.conflict_with(target)
                && crowd.is_older(owner, other.owner);
            if !concerned {
                continue;
            }
            refused = true;
            crowd.tell(other.owner, Verdict::Refused);
            if other.held.is_empty() {
                at -= 1;
                self.requests.remove(at);
            } else {
                self.requests.as_mut_slice()[at - 1].wanted = Modes::NONE;
            }
        }
        if refused {
            self.grant_waiting(lock, crowd);
        }
    }

    /// Removes a request; whether others wait for the lock.
    #[inline]
    pub fn remove(&mut self, lock: u64, owner: u32) -> bool {
        debug_assert!(self.position(lock, owner).is_some(), "released once, by its owner");
        !self.requests.remove_only() && self.remove_beside_others(lock, owner)
    }

    #[inline(never)]
    fn remove_beside_others(&mut self, lock: u64, owner: u32) -> bool {
        let mut own = None;
        let mut awaited = false;
        for (at, request) in self.requests.as_slice().iter().enumerate() {
            if request.lock == lock {
                if request.owner == owner {
                    own = Some(at);
                } else {
                    awaited |= request.is_waiting();
                }
            }
        }
        if let Some(own) = own {
            self.requests.remove(own);
        }
        awaited
    }

    /// Grants what can be granted now: conversions first, then ordinary requests in order.
    pub fn grant_waiting(&mut self, lock: u64, crowd: &mut Crowd<'_>) {
        self.grant_conversions(lock, crowd);
        let mut met = self
            .requests
            .as_slice()
            .iter()
            .filter(|request| request.lock == lock && !request.held.is_empty())
            .fold(Modes::NONE, |met, request| met.with(request.claims()));
        for request in self.requests.as_mut_slice() {
            if request.lock != lock || !request.held.is_empty() {
                continue;
            }
            let Some(wanted) = request.wanted.only() else { continue };
            if !met.conflict_with(wanted) {
                request.held = request.wanted;
                request.wanted = Modes::NONE;
                crowd.tell(request.owner, Verdict::Granted);
            }
            met = met.with(Modes::of(wanted));
        }
    }

    /// Quadratic in the conversions that wait for one lock at a time, which are few.
    fn grant_conversions(&mut self, lock: u64, crowd: &mut Crowd<'_>) {
        for at in 0..self.len() {
            let request = self.requests.as_slice()[at];
            if request.lock != lock || request.held.is_empty() {
                continue;
            }
            let Some(wanted) = request.wanted.only() else { continue };
            let owner = request.owner;
            if self.others(lock, owner).any(|other| other.held.conflict_with(wanted)) {
                continue;
            }
            let request = &mut self.requests.as_mut_slice()[at];
            request.held = request.wanted;
            request.wanted = Modes::NONE;
            crowd.tell(owner, Verdict::Granted);
        }
    }

    fn position(&self, lock: u64, owner: u32) -> Option<usize> {
        let is_own = |request: &Request| request.lock == lock && request.owner == owner;
        self.requests.as_slice().iter().position(is_own)
    }

    fn others(&self, lock: u64, owner: u32) -> impl Iterator<Item = &Request> {
        let is_other = move |request: &&Request| request.lock == lock && request.owner != owner;
        self.requests.as_slice().iter().filter(is_other)
    }

    /// Owner, held and wanted mode of the requests for a lock, in order.
    #[cfg(test)]
    pub fn of_lock(&self, lock: u64) -> Vec<(u32, Option<LockMode>, Option<LockMode>)> {
        let requests = self.requests.as_slice().iter().filter(|request| request.lock == lock);
        requests
            .map(|request| (request.owner, request.held.only(), request.wanted.only()))
            .collect()
    }
}
