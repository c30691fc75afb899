//! Chains: per lock, who comes after whom.
//!
//! Role         the dependency graph of a replay: calls are entered in serial order and get ready
//!              when nobody before them holds what they need. Knows locks and slots, no calls
//! States       of a group: waiting -> active -> gone; a lock's groups stand in serial order and
//!              the first one is active
//! Invariants   I1 members of a group have compatible modes; those of neighbours in a chain do not
//!              I2 a call waits for as many groups as it is a member of and that are not active
//!              I3 a bucket without a group: nobody holds or awaits a lock in it
//! Source       lads.txt 3.2 and 4.2.4 (recovery rebuilds dependency graphs and runs what has no
//!              incoming edge). We differ: a node is a call, not an action, and the temporal edges
//!              of one lock run through groups, so that a writer after n readers, or n readers
//!              after a writer, cost n steps and n readers after m scanners n + m instead of n * m
//!
//! Locks share buckets: two of them in one are as one lock, which costs an order that was not
//! needed and never misses one that was.

use hotrow_base::pool::{NONE, Pool};
use hotrow_transaction::granule::{self, LockMode};

/// Buckets, of 4 bytes. A call of 25 locks behind 32 unfinished ones of as many shares a bucket
/// with one of them by chance in one of seven cases.
const BUCKETS: usize = 1 << 17;
/// Stamps, of 8 bytes. Buckets share them, which costs a plan that need not have been made again.
const STAMPS: usize = 1 << 14;

/// A bucket and the mode to hold it in, in one word. Ordered by bucket.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Claim(u32);

impl Claim {
    /// A claim on the lock with this identity.
    pub(super) fn new(lock: u64, mode: LockMode) -> Self {
        let bucket = granule::lock_hash(lock) as u32 % BUCKETS as u32;
        Self(bucket * LockMode::ALL.len() as u32 + mode as u32)
    }

    fn bucket(self) -> usize {
        self.0 as usize / LockMode::ALL.len()
    }

    fn mode(self) -> LockMode {
        LockMode::ALL[self.0 as usize % LockMode::ALL.len()]
    }

    /// Whether its bucket stands before the other's.
    pub(super) fn is_before(self, other: Self) -> bool {
        self.bucket() < other.bucket()
    }

    /// Whether it includes what the other asks for.
    pub(super) fn covers(self, other: Self) -> bool {
        self.bucket() == other.bucket() && self.mode().covers(other.mode())
    }

    /// Sorts claims and joins those on one bucket.
    pub(super) fn normalize(claims: &mut Vec<Self>) {
        claims.sort_unstable();
        claims.dedup_by(|next, kept| {
            let same = next.bucket() == kept.bucket();
            if same {
                let base = kept.0 - kept.mode() as u32;
                *kept = Self(base + kept.mode().join(next.mode()) as u32);
            }
            same
        });
    }
}

/// Who wrote last.
#[derive(Clone, Copy, Default, Debug)]
struct Stamp {
    /// one more than the number of the last call with an exclusive claim; 0 for none
    exclusive: u32,
    /// the same for claims that announce writing
    announced: u32,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    bucket: u32,
    /// bit set of its members' modes
    modes: u8,
    active: bool,
    /// members that have not left
    open: u32,
    next: u32,
    /// the members that wait for it, as a list of [`Waiter`]s
    waiters: u32,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    slot: u32,
    next: u32,
}

/// What a slot is waiting for, and what it is a member of.
#[derive(Clone, Default, Debug)]
struct Membership {
    awaited: u32,
    groups: Vec<u32>,
}

/// Groups, and those who wait for them, in pools; by bucket, the last group of its chain.
#[derive(Debug)]
pub(super) struct Chains {
    /// by bucket: the last group of its chain
    tails: Box<[u32]>,
    stamps: Box<[Stamp]>,
    groups: Pool<Group>,
    waiters: Pool<Waiter>,
    slots: Vec<Membership>,
}

impl Chains {
    /// Chains for calls in `slots` slots.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            tails: vec![NONE; BUCKETS].into(),
            stamps: vec![Stamp::default(); STAMPS].into(),
            groups: Pool::new(),
            waiters: Pool::new(),
            slots: vec![Membership::default(); slots],
        }
    }

    /// Forgets which calls wrote: their numbers begin anew. Nobody is a member of anything.
    pub(super) fn forget(&mut self) {
        debug_assert!(self.slots.iter().all(|slot| slot.groups.is_empty()), "all calls have left");
        self.stamps.fill(Stamp::default());
    }

    /// Enters call `number`, the next in serial order, with normalized claims; whether it is ready
    /// at once.
    pub(super) fn enter(&mut self, slot: u32, number: u32, claims: &[Claim]) -> bool {
        let mut awaited = 0;
        for &claim in claims {
            let (group, waits) = self.join(slot, claim);
            let stamp = &mut self.stamps[claim.bucket() % STAMPS];
            match claim.mode() {
                LockMode::Exclusive => stamp.exclusive = number + 1,
                LockMode::IntentExclusive => stamp.announced = number + 1,
                LockMode::IntentShared | LockMode::Shared => {}
            }
            self.slots[slot as usize].groups.push(group);
            awaited += u32::from(waits);
        }
        self.slots[slot as usize].awaited = awaited;
        awaited == 0
    }

    /// Makes a slot a member of the last group of a bucket or of a new one; which, and whether it
    /// has to wait for it.
    fn join(&mut self, slot: u32, claim: Claim) -> (u32, bool) {
        let Self { tails, groups, waiters, .. } = self;
        let tail = tails[claim.bucket()];
        if let Some(group) = groups.get_mut(tail)
            && are_compatible(group.modes, claim.mode())
        {
            group.open += 1;
            group.modes |= 1 << claim.mode() as u8;
            let waits = !group.active;
            if waits {
                group.waiters = waiters.put(Waiter { slot, next: group.waiters });
            }
            return (tail, waits);
        }
        let waits = tail != NONE;
        let added = groups.put(Group {
            bucket: claim.bucket() as u32,
            modes: 1 << claim.mode() as u8,
            active: !waits,
            open: 1,
            next: NONE,
            waiters: if waits { waiters.put(Waiter { slot, next: NONE }) } else { NONE },
        });
        if waits {
            groups[tail].next = added;
        }
        tails[claim.bucket()] = added;
        (added, waits)
    }

    /// Takes a call that has ended out; `ready` gets the slots that waited for nothing else.
    pub(super) fn leave(&mut self, slot: u32, mut ready: impl FnMut(u32)) {
        let mut left = std::mem::take(&mut self.slots[slot as usize].groups);
        for number in left.drain(..) {
            let group = &mut self.groups[number];
            group.open -= 1;
            if group.open > 0 {
                continue;
            }
            let group = *group;
            self.groups.give_back(number);
            if group.next == NONE {
                self.tails[group.bucket as usize] = NONE;
            } else {
                self.activate(group.next, &mut ready);
            }
        }
        self.slots[slot as usize].groups = left;
    }

    fn activate(&mut self, group: u32, ready: &mut impl FnMut(u32)) {
        let Self { groups, waiters, slots, .. } = self;
        let group = &mut groups[group];
        group.active = true;
        let mut at = std::mem::replace(&mut group.waiters, NONE);
        while at != NONE {
            let Waiter { slot, next } = waiters[at];
            waiters.give_back(at);
            let member = &mut slots[slot as usize];
            member.awaited -= 1;
            if member.awaited == 0 {
                ready(slot);
            }
            at = next;
        }
    }

    /// Whether no call entered so far and not yet left may change what such a claim covers.
    pub(super) fn is_settled(&self, claim: Claim) -> bool {
        match self.groups.get(self.tails[claim.bucket()]) {
            None => true,
            Some(group) => group.active && are_compatible(group.modes, claim.mode()),
        }
    }

    /// Whether all calls entered so far that could change what such a claim covers have numbers
    /// below `number`.
    pub(super) fn is_unchanged_since(&self, claim: Claim, number: u32) -> bool {
        let stamp = &self.stamps[claim.bucket() % STAMPS];
        let announced = match claim.mode() {
            LockMode::IntentShared => 0,
            _ => stamp.announced,
        };
        stamp.exclusive.max(announced) <= number
    }
}

/// Whether a mode is compatible with all of a set.
fn are_compatible(modes: u8, mode: LockMode) -> bool {
    modes & INCOMPATIBLE[mode as usize] == 0
}

/// By mode: the set of those that are not compatible with it.
const INCOMPATIBLE: [u8; LockMode::ALL.len()] = {
    let mut sets = [0; LockMode::ALL.len()];
    let mut at = 0;
    while at < sets.len() * sets.len() {
        let (mode, other) = (at / sets.len(), at % sets.len());
        if !LockMode::ALL[mode].compatible(LockMode::ALL[other]) {
            sets[mode] |= 1 << other;
        }
        at += 1;
    }
    sets
};

#[cfg(test)]
mod tests;
