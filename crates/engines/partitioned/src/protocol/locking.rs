//! The owner of a partition that lets others run while a call of several partitions is undecided,
//! if they need nothing that it has locked.
//!
//! States       of a call here: unexecuted -> its locks asked for -> granted -> run -> of one
//!              partition: committed, let go. Of several: reported, its locks of a later round
//!              asked for, ... -> decided, let go
//! Invariants   I1 locks are held until the call is committed or undone: strict two-phase locking,
//!              so no order among calls of several partitions is needed, and each home coordinates
//!              its own
//!              I2 nothing is locked while no call of several partitions is here (unless that is
//!              wanted): then one call after the other runs to its end
//!              I3 who waits in a circle is found when it closes; who waits in a circle over
//!              several partitions is found by its waiting long. In a circle here, a call of one
//!              partition gives way first, then one that has done nothing here yet: these only ask
//!              again
//! Source       partitioned.txt 4.3; 5.1 (locks forced always). We differ: a fragment's locks are
//!              known from its plan, and asked for together

use std::collections::VecDeque;

use hotrow_flow::deadlock::circle::CircleSearch;
use hotrow_flow::lock_space::{LockSpace, Requester};
use hotrow_flow::node::Address;
use hotrow_log::position::Position;
use hotrow_transaction::granule::LockRequest;

use super::observed::TIMED;
use super::owner::Holdings;
use super::{
    CallId, Fragment, Message, Outcome, Outside, Report, Section, SingleCall as _, Store, Vote,
    Work,
};

/// Buckets of a partition's lock space, and locks that are usual at a time.
const BUCKETS: usize = 1 << 12;
const USUAL: usize = 1 << 10;
/// How often the time that is too long doubles.
const DOUBLINGS_MAX: u32 = 4;

/// A store whose calls' locks are known before they run.
pub trait LockingStore: Store {
    /// The locks of a call of this partition, each once. It is kept inside them when it runs.
    fn locks_of_single(&mut self, call: &mut Self::Single, locks: &mut Vec<LockRequest>);

    /// The locks of what a call does here in a round, each once, and so as to suffice for all of
    /// its rounds. It may hold some of them from an earlier one.
    fn locks_of(&mut self, call: &Self::Multi, round: u32, locks: &mut Vec<LockRequest>);
}

/// When locks are taken.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Locks {
    /// while a call of several partitions is here (4.3)
    #[default]
    Needed,
    /// always (5.1): for figures
    Always,
}

/// How a partition's owner works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// when locks are taken
    pub locks: Locks,
    /// nanoseconds that a call of several partitions waits before it is taken to be in a circle;
    /// twice as many at each further attempt, so that of those who give way to each other one stays
    pub time_out: u64,
}

/// Who asks for locks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Owner {
    Multi(CallId),
    /// by the order of asking
    Single(u64),
}

/// A call that asks for locks here.
struct Asker<S: Store> {
    owner: Owner,
    work: Work<S>,
    wanted: Vec<LockRequest>,
    grant: u32,
}

impl<S: Store> Requester for Asker<S> {
    fn wanted(&self) -> impl Iterator<Item = LockRequest> + Clone {
        self.wanted.iter().copied()
    }

    fn enter(&mut self, grant: u32) {
        self.grant = grant;
    }

    fn meet(&mut self, _: Position) {} // calls follow all that has committed here

    fn wait(&mut self, _: u64) {}

    fn hold(&mut self) {}
}

/// A call of several partitions that is here.
struct Here<S: Store> {
    /// kept until its part has ended
    _call: S::Multi,
    /// none: it has failed
    part: Option<S::Part>,
    grants: Vec<u32>,
    /// locks that it holds
    held: Vec<LockRequest>,
    /// when its first fragment began to run
    opened_at: Option<u64>,
}

/// One that waits.
#[derive(Clone, Copy, Debug)]
struct Waits {
    owner: Owner,
    /// what it is called in the lock space
    grant: u32,
    /// when it has waited too long
    due: Option<u64>,
}

/// A partition's owner that locks.
pub struct LockingPartition<S: Store> {
    /// see [`Holdings`]
    pub(super) has: Holdings<S>,
    settings: Settings,
    space: LockSpace<Asker<S>>,
    /// by coordinator
    coordinators: Vec<Address>,
    unexecuted: VecDeque<Work<S>>,
    /// hold what they asked for, and have not run with it
    granted: VecDeque<Asker<S>>,
    /// few: as many as homes send
    here: Vec<(CallId, Here<S>)>,
    /// likewise
    waiting: Vec<Waits>,
    /// by grant: whose it is, or was
    owners: Vec<Owner>,
    /// those who go on by what was let go; empty between two calls
    going_on: Vec<Asker<S>>,
    /// lists that are not used
    spare_locks: Vec<Vec<LockRequest>>,
    spare_grants: Vec<Vec<u32>>,
    circles: CircleSearch<Owner>,
    /// calls of one partition that have asked for locks
    singles: u64,
}

impl<S: LockingStore> LockingPartition<S> {
    /// The owner of a partition, for coordinators at these addresses.
    pub fn new(has: Holdings<S>, settings: Settings, coordinators: Vec<Address>) -> Self {
        Self {
            has,
            settings,
            space: LockSpace::new(BUCKETS, USUAL),
            coordinators,
            unexecuted: VecDeque::new(),
            granted: VecDeque::new(),
            here: Vec::new(),
            waiting: Vec::new(),
            owners: Vec::new(),
            going_on: Vec::new(),
            spare_locks: Vec::new(),
            spare_grants: Vec::new(),
            circles: CircleSearch::default(),
            singles: 0,
        }
    }

    /// Whether nothing is here that has not ended.
    pub fn is_idle(&self) -> bool {
        self.unexecuted.is_empty() && self.here.is_empty() && self.space.is_empty()
    }

    /// Takes in a call of this partition.
    pub fn take_single(&mut self, call: S::Single) {
        self.unexecuted.push_back(Work::Single(call));
    }

    /// Takes in a fragment.
    pub fn take_fragment(&mut self, fragment: Fragment<S::Multi>) {
        self.unexecuted.push_back(Work::Multi(fragment));
    }

    /// Hears how a call has ended.
    pub fn take_end(
        &mut self,
        id: CallId,
        outcome: Outcome,
        ports: &mut impl Outside<S::Single, S::Multi>,
    ) {
        let began = ports.now();
        ports.spend(Section::LockedEnd);
        self.unexecuted.retain(|work| work.id() != Some(id));
        if self.waits(Owner::Multi(id)).is_some() {
            let wanted = self.withdraw(Owner::Multi(id)).wanted;
            self.put_away(wanted);
        }
        let of_it = |asker: &Asker<S>| asker.owner == Owner::Multi(id);
        while let Some(at) = self.granted.iter().position(of_it) {
            let Some(Asker { grant, wanted, .. }) = self.granted.remove(at) else { break };
            self.put_away(wanted);
            self.release(grant);
        }
        let Some(at) = self.place_of(id) else { return };
        let (_, mut here) = self.here.remove(at);
        match (outcome, here.part) {
            (Outcome::Committed(position), Some(part)) => {
                self.has.tag = position.max(self.has.tag);
                self.has.store.commit(part);
            }
            (Outcome::Committed(_), None) => unreachable!("{id:?} has failed here"),
            (Outcome::Undone, part) => part.into_iter().for_each(|part| self.has.store.undo(part)),
        }
        if let Some(opened_at) = here.opened_at {
            self.has.observed.note_end(began, (opened_at, false), ports.now());
        }
        here.grants.drain(..).for_each(|grant| self.release(grant));
        self.spare_grants.push(here.grants);
        self.put_away(here.held);
    }

    /// Keeps a list for another time.
    fn put_away(&mut self, mut locks: Vec<LockRequest>) {
        locks.clear();
        self.spare_locks.push(locks);
    }

    /// The place of a call among those that are here.
    fn place_of(&self, id: CallId) -> Option<usize> {
        self.here.iter().position(|&(other, _)| other == id)
    }

    /// How a call waits, if it does.
    fn waits(&self, owner: Owner) -> Option<Waits> {
        self.waiting.iter().find(|waits| waits.owner == owner).copied()
    }

    /// Lets go of what a call has locked, before it is decided: for tests that break this on
    /// purpose.
    #[cfg(test)]
    pub fn release_early(&mut self) {
        let ran = self.here.iter_mut().map(|(_, here)| here).filter(|here| here.part.is_some());
        let grants: Vec<_> = ran.flat_map(|here| std::mem::take(&mut here.grants)).collect();
        grants.into_iter().for_each(|grant| self.release(grant));
    }

    /// Runs one call or fragment that may be run now, or asks for one's locks; whether there was
    /// one.
    pub fn work(&mut self, ports: &mut impl Outside<S::Single, S::Multi>) -> bool {
        if let Some(asker) = self.granted.pop_front() {
            self.run(asker, ports);
            return true;
        }
        let Some(work) = self.unexecuted.pop_front() else { return false };
        let is_alone = self.here.is_empty() && self.space.is_empty();
        match work {
            Work::Single(call) if is_alone && self.settings.locks == Locks::Needed => {
                let is_timed = self.has.observed.singles.is_multiple_of(TIMED);
                let began = if is_timed { ports.now() } else { 0 };
                ports.spend(Section::Single);
                self.run_single(call, ports); // I2
                if is_timed {
                    self.has.observed.singles_timed += 1;
                    self.has.observed.single_ns += ports.now() - began;
                }
            }
            Work::Single(call) => {
                let is_timed = self.has.observed.asked.is_multiple_of(TIMED);
                let began = if is_timed { ports.now() } else { 0 };
                self.ask(Work::Single(call), ports);
                if is_timed {
                    self.has.observed.locked_timed += 1;
                    self.has.observed.lock_ns += ports.now() - began;
                }
            }
            work => self.ask(work, ports),
        }
        true
    }

    /// Looks for calls that have waited long (I3).
    pub fn wake(&mut self, ports: &mut impl Outside<S::Single, S::Multi>) {
        let now = ports.now();
        let is_late = |waits: &&Waits| waits.due.is_some_and(|due| due <= now);
        // One that gives way may let the next one go on.
        while let Some(&Waits { owner, .. }) = self.waiting.iter().find(is_late) {
            self.give_way(owner, ports);
        }
        self.set_alarm(ports);
    }

    /// When a call that begins to wait has waited too long. One of one partition never has: it
    /// holds nothing elsewhere.
    fn due(&self, work: &Work<S>, now: u64) -> Option<u64> {
        let Work::Multi(Fragment { id, attempt, .. }) = work else { return None };
        let time_out = self.settings.time_out << (*attempt).min(DOUBLINGS_MAX);
        // Of those in a circle one shall find it first.
        let spread = time_out / 8 * ((id.number + u64::from(id.coordinator)) % 8);
        Some(now + time_out + spread)
    }

    fn set_alarm(&self, ports: &mut impl Outside<S::Single, S::Multi>) {
        if let Some(next) = self.waiting.iter().filter_map(|waits| waits.due).min() {
            ports.wake_at(next);
        }
    }

    fn ask(&mut self, mut work: Work<S>, ports: &mut impl Outside<S::Single, S::Multi>) {
        let mut wanted = self.spare_locks.pop().unwrap_or_default();
        let owner = match &mut work {
            Work::Single(call) => {
                self.has.store.locks_of_single(call, &mut wanted);
                self.singles += 1;
                Owner::Single(self.singles)
            }
            Work::Multi(fragment) => {
                self.has.store.locks_of(&fragment.call, fragment.round, &mut wanted);
                let id = fragment.id;
                let at = self.place_of(id).unwrap_or_else(|| {
                    let here = Here {
                        _call: fragment.call.clone(),
                        part: Some(self.has.store.begin()),
                        grants: self.spare_grants.pop().unwrap_or_default(),
                        held: self.spare_locks.pop().unwrap_or_default(),
                        opened_at: None,
                    };
                    self.here.push((id, here));
                    self.here.len() - 1
                });
                let (_, here) = &mut self.here[at];
                let covers = |held: &LockRequest, wanted: &LockRequest| {
                    held.lock() == wanted.lock() && held.mode().covers(wanted.mode())
                };
                wanted.retain(|wanted| !here.held.iter().any(|held| covers(held, wanted)));
                here.held.extend_from_slice(&wanted);
                Owner::Multi(id)
            }
        };
        let due = self.due(&work, ports.now());
        self.has.observed.asked += 1;
        match self.space.ask(Asker { owner, work, wanted, grant: 0 }) {
            Ok(asker) => {
                self.note_owner(asker.grant, owner);
                self.granted.push_back(asker);
            }
            Err(grant) => {
                self.note_owner(grant, owner);
                self.has.observed.waited += 1;
                self.waiting.push(Waits { owner, grant, due });
                while let Some(victim) = self.victim(owner) {
                    match self.holds_nothing(victim) {
                        true => self.ask_later(victim),
                        false => self.give_way(victim, ports),
                    }
                }
                self.set_alarm(ports);
            }
        }
    }

    fn note_owner(&mut self, grant: u32, owner: Owner) {
        let at = grant as usize;
        if self.owners.len() <= at {
            self.owners.resize(at + 1, owner);
        }
        self.owners[at] = owner;
    }

    /// Who gives way in a circle that `start` waits in, if it waits in one.
    fn victim(&mut self, start: Owner) -> Option<Owner> {
        let mut circles = std::mem::take(&mut self.circles);
        let circle = circles.find(start, |waiter, visit| {
            if let Some(Waits { grant, .. }) = self.waits(waiter) {
                self.space.visit_blockers(grant, |blocker| visit(self.owners[blocker as usize]));
            }
        });
        let victim = circle.map(|mut circle| {
            let single = circle.clone().find(|member| matches!(member, Owner::Single(_)));
            let idle = || circle.find(|&member| self.holds_nothing(member));
            single.or_else(idle).unwrap_or(start)
        });
        self.circles = circles;
        victim
    }

    /// Whether one that waits has done nothing here with what it holds.
    fn holds_nothing(&self, owner: Owner) -> bool {
        match owner {
            Owner::Single(_) => true,
            Owner::Multi(id) => {
                self.place_of(id).is_none_or(|at| self.here[at].1.grants.is_empty())
            }
        }
    }

    /// Has one that waits and has done nothing here stand behind all others.
    fn ask_later(&mut self, owner: Owner) {
        let Asker { work, wanted, .. } = self.withdraw(owner);
        self.put_away(wanted);
        if let Owner::Multi(id) = owner
            && let Some(at) = self.place_of(id)
        {
            self.here[at].1.held.clear();
        }
        self.unexecuted.push_back(work);
    }

    /// Has a call of several partitions that waits be undone everywhere, and begin again.
    fn give_way(&mut self, owner: Owner, ports: &mut impl Outside<S::Single, S::Multi>) {
        let Asker { work, wanted, .. } = self.withdraw(owner);
        self.put_away(wanted);
        if let Work::Multi(fragment) = work {
            self.report(&fragment, Vote::Again, ports); // its end comes as an answer
        }
    }

    fn withdraw(&mut self, owner: Owner) -> Asker<S> {
        let at = self.waiting.iter().position(|waits| waits.owner == owner).expect("it waits");
        let Waits { grant, .. } = self.waiting.remove(at);
        let asker = self.space.withdraw(grant, &mut self.going_on);
        self.take_granted();
        asker
    }

    fn release(&mut self, grant: u32) {
        self.space.release(grant, Position::default(), &mut self.going_on);
        self.take_granted();
    }

    fn take_granted(&mut self) {
        for asker in self.going_on.drain(..) {
            self.waiting.retain(|waits| waits.owner != asker.owner);
            self.granted.push_back(asker);
        }
    }

    fn run(&mut self, asker: Asker<S>, ports: &mut impl Outside<S::Single, S::Multi>) {
        let Asker { work, wanted, grant, .. } = asker;
        self.put_away(wanted);
        match work {
            Work::Single(call) => {
                ports.spend(Section::LockedSingle);
                self.run_single(call, ports);
                self.release(grant);
            }
            Work::Multi(fragment) => {
                let began = ports.now();
                ports.spend(Section::LockedFragment);
                let Some(at) = self.place_of(fragment.id) else { return };
                let (_, here) = &mut self.here[at];
                here.opened_at.get_or_insert(began);
                here.grants.push(grant);
                let Some(mut part) = here.part.take() else { return };
                let vote = self.has.store.run_fragment(&fragment.call, fragment.round, &mut part);
                here.part = self.has.store.keep(part, vote);
                self.report(&fragment, vote, ports);
                self.has.observed.fragments[usize::from(fragment.round > 0)] += 1;
                self.has.observed.fragment_ns += ports.now() - began;
            }
        }
    }

    /// Runs a call of this partition, which has all the locks it needs, to its end.
    fn run_single(&mut self, mut call: S::Single, ports: &mut impl Outside<S::Single, S::Multi>) {
        self.has.observed.singles += 1;
        let mut part = self.has.store.begin();
        let committed = match self.has.store.run_single(&mut call, &mut part) {
            Vote::Commit => self.has.store.commit_single(&mut call, &part, self.has.tag),
            Vote::Abort | Vote::Again => None,
        };
        match committed {
            Some(position) => {
                self.has.tag = position.max(self.has.tag);
                self.has.store.commit(part);
            }
            None => self.has.store.undo(part),
        }
        ports.send(call.home(), Message::SingleEnded(call));
    }

    fn report(
        &self,
        fragment: &Fragment<S::Multi>,
        vote: Vote,
        ports: &mut impl Outside<S::Single, S::Multi>,
    ) {
        let Fragment { id, round, .. } = *fragment;
        let (partition, met) = (self.has.number, self.has.tag);
        let (undone, follows) = (Report::STANDS, None);
        let report = Report { id, partition, round, vote, undone, met, follows };
        let coordinator = usize::from(id.coordinator);
        ports.send(self.coordinators[coordinator], Message::Report(report));
    }
}
