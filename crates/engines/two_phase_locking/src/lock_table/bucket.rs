//! A bucket: the rules by which requests for its locks are granted.
//!
//! Role         plain data and rules; the lock table latches it and wakes whom it names
//! Invariants   I1, I2, I4 of [`super`]

use hotrow_engine::lock_mode::Mode;
use hotrow_flow::deadlock::graph::OwnerVersion;
use hotrow_log::position::Position;
use hotrow_transaction::outcome::Conflict;

use super::modes::Modes;
use super::requests::{Request, Requests};
use super::{Acquired, Crowd};
use crate::policy::Policy;
use crate::waiting::Verdict;

/// Requests for the locks of one bucket; two cache lines with its latch.
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
    pub fn grant_at_once(&mut self, lock: u64, by: OwnerVersion, mode: Mode) -> bool {
        let request = Request { lock, by, held: Modes::of(mode), wanted: Modes::NONE };
        self.requests.push_only(request) || self.grant_beside_others(lock, by, mode)
    }

    #[inline(never)]
    fn grant_beside_others(&mut self, lock: u64, by: OwnerVersion, mode: Mode) -> bool {
        let mut met = Modes::NONE;
        for request in self.requests.as_slice() {
            if request.lock == lock {
                if request.owner() == by.owner() {
                    return false;
                }
                met = met.with(request.claims());
            }
        }
        if met.conflict_with(mode) {
            return false;
        }
        self.requests.push(Request { lock, by, held: Modes::of(mode), wanted: Modes::NONE });
        true
    }

    /// Answers a request that was not granted at once.
    pub fn ask(
        &mut self,
        lock: u64,
        by: OwnerVersion,
        mode: Mode,
        policy: Policy,
        crowd: &mut Crowd<'_>,
    ) -> Acquired {
        let owner = by.owner();
        let own = self.position(lock, owner);
        if let Some(own) = own {
            return self.convert(own, mode, policy, crowd);
        }
        let claimed = |other: &Request| other.claims().conflict_with(mode);
        if let Err(conflict) = self.may_wait(lock, owner, policy, claimed, crowd) {
            return Acquired::Refused(conflict);
        }
        self.requests.push(Request { lock, by, held: Modes::NONE, wanted: Modes::of(mode) });
        crowd.note_wait(owner, self.versions_in_the_way(lock, owner));
        Acquired::Waiting
    }

    /// Strengthens a held lock.
    fn convert(
        &mut self,
        own: usize,
        mode: Mode,
        policy: Policy,
        crowd: &mut Crowd<'_>,
    ) -> Acquired {
        let Request { lock, by, held, .. } = self.requests.as_slice()[own];
        let owner = by.owner();
        let held = held.only().expect("an owner asks for nothing while it waits (I3)");
        let target = held.join(mode);
        if target == held {
            return Acquired::Granted;
        }
        let others = self.others(lock, owner).fold(Modes::NONE, |met, other| met.with(other.held));
        let granted = !others.conflict_with(target);
        // It waits for all other holders, whether it conflicts with them now or after their own
        // conversions, which may be granted before it.
        let holds = |other: &Request| !other.held.is_empty();
        if !granted && let Err(conflict) = self.may_wait(lock, owner, policy, holds, crowd) {
            return Acquired::Refused(conflict);
        }
        if policy == Policy::WoundWait && self.stands_before_older(lock, owner, target, crowd) {
            return Acquired::Refused(Conflict::Wound);
        }
        let request = &mut self.requests.as_mut_slice()[own];
        if granted {
            request.held = Modes::of(target);
        } else {
            request.wanted = Modes::of(target);
            crowd.note_wait(owner, self.versions_in_the_way(lock, owner));
        }
        if policy == Policy::WaitDie {
            self.refuse_younger(lock, owner, target, crowd);
        }
        self.note_conversion(lock, by, target, granted, crowd);
        if granted { Acquired::Granted } else { Acquired::Waiting }
    }

    /// A conversion to `target` stands before ordinary requests from now on, and once it is granted
    /// before other conversions, too.
    fn note_conversion(
        &self,
        lock: u64,
        by: OwnerVersion,
        target: Mode,
        granted: bool,
        crowd: &Crowd<'_>,
    ) {
        let disturbed = |other: &&Request| {
            other.wanted.conflict_with(target) && (granted || other.held.is_empty())
        };
        for other in self.others(lock, by.owner()).filter(disturbed) {
            crowd.note_one_more(other.owner(), by);
        }
    }

    /// Whether a request may wait for those that `concern` it.
    fn may_wait(
        &self,
        lock: u64,
        owner: u32,
        policy: Policy,
        concern: impl Fn(&Request) -> bool,
        crowd: &mut Crowd<'_>,
    ) -> Result<(), Conflict> {
        let mut concerned = self.others(lock, owner).filter(|other| concern(other));
        match policy {
            Policy::Wait | Policy::WaitForGraph | Policy::Dreadlocks | Policy::TimeOut => Ok(()),
            Policy::NoWait => Err(Conflict::NoWait),
            Policy::WaitDie if concerned.any(|other| crowd.is_older(other.owner(), owner)) => {
                Err(Conflict::Die)
            }
            Policy::WaitDie => Ok(()),
            Policy::WoundWait => {
                for other in concerned {
                    if crowd.is_older(owner, other.owner()) && !crowd.is_planned(other.owner()) {
                        crowd.doom(other.owner());
                    }
                }
                Ok(())
            }
        }
    }

    /// Whether a conversion to `target` would come to stand before an older request: under
    /// wound-wait nobody waits for a younger one that is not undone (I4).
    fn stands_before_older(&self, lock: u64, owner: u32, target: Mode, crowd: &Crowd<'_>) -> bool {
        self.others(lock, owner)
            .any(|other| other.wanted.conflict_with(target) && crowd.is_older(other.owner(), owner))
    }

    /// A conversion to `target` has come to stand before requests that waited already: those that
    /// are younger may not wait for it (I4).
    fn refuse_younger(&mut self, lock: u64, owner: u32, target: Mode, crowd: &mut Crowd<'_>) {
        let mut refused = false;
        let mut at = 0;
        while let Some(&other) = self.requests.as_slice().get(at) {
            at += 1;
            let concerned = other.lock == lock
                && other.owner() != owner
                && other.wanted.conflict_with(target)
                && crowd.is_older(owner, other.owner());
            if !concerned {
                continue;
            }
            refused = true;
            crowd.tell(other.owner(), Verdict::Refused);
            if self.take_back(at - 1) {
                at -= 1;
            }
        }
        if refused {
            self.grant_waiting(lock, crowd);
        }
    }

    /// Whether somebody waits for a lock.
    pub fn is_awaited(&self, lock: u64) -> bool {
        self.waiters(lock).next().is_some()
    }

    /// Who waits for a lock.
    pub fn waiters(&self, lock: u64) -> impl Iterator<Item = u32> {
        let is_waiting = move |request: &&Request| request.lock == lock && request.is_waiting();
        self.requests.as_slice().iter().filter(is_waiting).map(|request| request.owner())
    }

    /// Takes back what a request waits for; whether the request is gone.
    fn take_back(&mut self, at: usize) -> bool {
        let is_gone = self.requests.as_slice()[at].held.is_empty();
        if is_gone {
            self.requests.remove(at);
        } else {
            self.requests.as_mut_slice()[at].wanted = Modes::NONE;
        }
        is_gone
    }

    /// Takes back a waiting request whose owner gives up; what it held before is still held.
    pub fn withdraw(&mut self, lock: u64, owner: u32, crowd: &mut Crowd<'_>) {
        let Some(own) = self.position(lock, owner) else { return };
        self.take_back(own);
        self.let_pass(lock, owner, crowd);
        crowd.note_wait(owner, std::iter::empty());
    }

    /// `owner` holds less of a lock than before, or wants less: others may go on.
    pub fn let_pass(&mut self, lock: u64, owner: u32, crowd: &mut Crowd<'_>) {
        self.mark_outdated(lock, owner, crowd);
        self.grant_waiting(lock, crowd);
    }

    /// Tells those who wait for a lock beside `owner` that it has changed, where that is needed.
    fn mark_outdated(&self, lock: u64, owner: u32, crowd: &Crowd<'_>) {
        if crowd.marks_outdated() {
            for other in self.others(lock, owner).filter(|other| other.is_waiting()) {
                crowd.mark_outdated(other.owner());
            }
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
                if request.owner() == owner {
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
    fn grant_waiting(&mut self, lock: u64, crowd: &mut Crowd<'_>) {
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
                crowd.tell(request.owner(), Verdict::Granted);
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
            let owner = request.owner();
            if self.others(lock, owner).any(|other| other.held.conflict_with(wanted)) {
                continue;
            }
            let granted = &mut self.requests.as_mut_slice()[at];
            granted.held = granted.wanted;
            granted.wanted = Modes::NONE;
            crowd.tell(owner, Verdict::Granted);
            self.note_conversion(lock, request.by, wanted, true, crowd);
        }
    }

    /// Whom a waiting request waits for: a conversion for all holders that it conflicts with, an
    /// ordinary request for earlier ones, too, granted or not, and for conversions, which pass it.
    pub fn in_the_way(&self, lock: u64, owner: u32) -> impl Iterator<Item = u32> + Clone {
        self.versions_in_the_way(lock, owner).map(OwnerVersion::owner)
    }

    /// As [`Bucket::in_the_way`], as edges name them.
    pub fn versions_in_the_way(
        &self,
        lock: u64,
        owner: u32,
    ) -> impl Iterator<Item = OwnerVersion> + Clone {
        let own = self.position(lock, owner);
        let requests = self.requests.as_slice();
        let request = own.map(|own| requests[own]).unwrap_or_default();
        let wanted = request.wanted.only();
        let is_conversion = !request.held.is_empty();
        requests.iter().enumerate().filter_map(move |(at, other)| {
            let (wanted, own) = (wanted?, own?);
            if other.lock != lock || other.owner() == owner {
                return None;
            }
            let claims = if is_conversion || at > own && other.held.is_empty() {
                other.held
            } else {
                other.claims()
            };
            claims.conflict_with(wanted).then_some(other.by)
        })
    }

    /// Who holds or waits for a lock in a mode that `mode` does not go with.
    pub fn claimants(&self, lock: u64, mode: Mode) -> impl Iterator<Item = u32> {
        let is_one =
            move |request: &&Request| request.lock == lock && request.claims().conflict_with(mode);
        self.requests.as_slice().iter().filter(is_one).map(|request| request.owner())
    }

    /// What an owner waits for.
    pub fn wanted(&self, lock: u64, owner: u32) -> Option<Mode> {
        self.requests.as_slice()[self.position(lock, owner)?].wanted.only()
    }

    /// A request is another owner's from now on. Nobody else waits for it yet.
    pub fn rename(&mut self, lock: u64, from: u32, to: OwnerVersion) {
        if let Some(at) = self.position(lock, from) {
            self.requests.as_mut_slice()[at].by = to;
        }
    }

    /// What one owner holds, another one does from now on; those who wait for it learn of it.
    pub fn hand_over(&mut self, lock: u64, (from, to): (u32, OwnerVersion), crowd: &mut Crowd<'_>) {
        self.rename(lock, from, to);
        for other in self.others(lock, to.owner()).filter(|other| other.is_waiting()) {
            if self.in_the_way(lock, other.owner()).any(|one| one == to.owner()) {
                crowd.note_one_more(other.owner(), to);
            }
        }
        self.mark_outdated(lock, to.owner(), crowd);
    }

    /// Whether somebody else holds or waits for a lock in a mode that `mode` does not go with.
    pub fn is_claimed(&self, lock: u64, owner: u32, mode: Mode) -> bool {
        self.others(lock, owner).any(|other| other.claims().conflict_with(mode))
    }

    /// Whether somebody else holds a lock in a mode that `mode` does not go with.
    pub fn is_held(&self, lock: u64, owner: u32, mode: Mode) -> bool {
        self.others(lock, owner).any(|other| other.held.conflict_with(mode))
    }

    /// Grants a request that need not wait: to who holds the lock already, or beside others.
    pub fn grant_without_waiting(&mut self, lock: u64, by: OwnerVersion, mode: Mode) -> bool {
        let owner = by.owner();
        let Some(own) = self.position(lock, owner) else {
            return self.grant_at_once(lock, by, mode);
        };
        let held = self.requests.as_slice()[own].held.only();
        let target = held.expect("an owner asks for nothing while it waits (I3)").join(mode);
        let others = self.others(lock, owner).fold(Modes::NONE, |met, other| {
            // Not past those who wait: their rules would have to be looked at.
            met.with(other.claims())
        });
        let granted = held == Some(target) || !others.conflict_with(target);
        if granted {
            self.requests.as_mut_slice()[own].held = Modes::of(target);
        }
        granted
    }

    fn position(&self, lock: u64, owner: u32) -> Option<usize> {
        let is_own = |request: &Request| request.lock == lock && request.owner() == owner;
        self.requests.as_slice().iter().position(is_own)
    }

    fn others(&self, lock: u64, owner: u32) -> impl Iterator<Item = &Request> {
        let is_other = move |request: &&Request| request.lock == lock && request.owner() != owner;
        self.requests.as_slice().iter().filter(is_other)
    }

    /// Owner, held and wanted mode of the requests for a lock, in order.
    #[cfg(test)]
    pub fn of_lock(&self, lock: u64) -> Vec<(u32, Option<Mode>, Option<Mode>)> {
        let requests = self.requests.as_slice().iter().filter(|request| request.lock == lock);
        requests
            .map(|request| (request.owner(), request.held.only(), request.wanted.only()))
            .collect()
    }
}
