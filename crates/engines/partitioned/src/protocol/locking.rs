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

use std::collections::{BTreeMap, VecDeque};

use hotrow_flow::lock_space::{LockSpace, Requester};
use hotrow_flow::node::Address;
use hotrow_log::position::Position;
use hotrow_transaction::granule::LockRequest;

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

    fn wait(&mut self) {}

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
}

/// A partition's owner that locks.
pub struct LockingPartition<S: Store> {
    number: u16,
    settings: Settings,
    store: S,
    space: LockSpace<Asker<S>>,
    /// by coordinator
    coordinators: Vec<Address>,
    unexecuted: VecDeque<Work<S>>,
    /// hold what they asked for, and have not run with it
    granted: Vec<Asker<S>>,
    here: BTreeMap<CallId, Here<S>>,
    /// what each that waits is called in the lock space, and when it has waited too long
    waiting: BTreeMap<Owner, (u32, Option<u64>)>,
    /// whose each grant is
    owners: BTreeMap<u32, Owner>,
    /// calls of one partition that have asked for locks
    singles: u64,
    tag: Position,
}

impl<S: LockingStore> LockingPartition<S> {
    /// The owner of partition `number`, for coordinators at these addresses.
    pub fn new(number: u16, settings: Settings, coordinators: Vec<Address>, store: S) -> Self {
        Self {
            number,
            settings,
            store,
            space: LockSpace::new(BUCKETS, USUAL),
            coordinators,
            unexecuted: VecDeque::new(),
            granted: Vec::new(),
            here: BTreeMap::new(),
            waiting: BTreeMap::new(),
            owners: BTreeMap::new(),
            singles: 0,
            tag: Position::default(),
        }
    }

    /// The data.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The data, to tell it of another schema.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
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
        ports.spend(Section::LockedEnd);
        self.unexecuted.retain(|work| work.id() != Some(id));
        if self.waiting.contains_key(&Owner::Multi(id)) {
            self.withdraw(Owner::Multi(id));
        }
        let of_it = |asker: &mut Asker<S>| asker.owner == Owner::Multi(id);
        let unused: Vec<_> = self.granted.extract_if(.., of_it).map(|asker| asker.grant).collect();
        unused.into_iter().for_each(|grant| self.release(grant));
        let Some(here) = self.here.remove(&id) else { return };
        match (outcome, here.part) {
            (Outcome::Committed(position), Some(part)) => {
                self.tag = position.max(self.tag);
                self.store.commit(part);
            }
            (Outcome::Committed(_), None) => unreachable!("{id:?} has failed here"),
            (Outcome::Undone, part) => part.into_iter().for_each(|part| self.store.undo(part)),
        }
        here.grants.into_iter().for_each(|grant| self.release(grant));
    }

    /// Lets go of what a call has locked, before it is decided: for tests that break this on
    /// purpose.
    #[cfg(test)]
    pub fn release_early(&mut self) {
        let ran = self.here.values_mut().filter(|here| here.part.is_some());
        let grants: Vec<_> = ran.flat_map(|here| std::mem::take(&mut here.grants)).collect();
        grants.into_iter().for_each(|grant| self.release(grant));
    }

    /// Runs one call or fragment that may be run now, or asks for one's locks; whether there was
    /// one.
    pub fn work(&mut self, ports: &mut impl Outside<S::Single, S::Multi>) -> bool {
        if let Some(asker) = self.granted.pop() {
            self.run(asker, ports);
            return true;
        }
        let Some(work) = self.unexecuted.pop_front() else { return false };
        let is_alone = self.here.is_empty() && self.space.is_empty();
        match work {
            Work::Single(call) if is_alone && self.settings.locks == Locks::Needed => {
                ports.spend(Section::Single);
                self.run_single(call, ports); // I2
            }
            work => self.ask(work, ports),
        }
        true
    }

    /// Looks for calls that have waited long (I3).
    pub fn wake(&mut self, ports: &mut impl Outside<S::Single, S::Multi>) {
        let now = ports.now();
        let is_late = |due: &Option<u64>| due.is_some_and(|due| due <= now);
        let late = self.waiting.iter().filter(|(_, (_, due))| is_late(due));
        let late: Vec<_> = late.map(|(&owner, _)| owner).collect();
        for owner in late {
            // One before it may have let it go on.
            if self.waiting.contains_key(&owner) {
                self.give_way(owner, ports);
            }
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
        if let Some(next) = self.waiting.values().filter_map(|&(_, due)| due).min() {
            ports.wake_at(next);
        }
    }

    fn ask(&mut self, mut work: Work<S>, ports: &mut impl Outside<S::Single, S::Multi>) {
        let mut wanted = Vec::new();
        let owner = match &mut work {
            Work::Single(call) => {
                self.store.locks_of_single(call, &mut wanted);
                self.singles += 1;
                Owner::Single(self.singles)
            }
            Work::Multi(fragment) => {
                self.store.locks_of(&fragment.call, fragment.round, &mut wanted);
                let id = fragment.id;
                let store = &mut self.store;
                let here = self.here.entry(id).or_insert_with(|| Here {
                    _call: fragment.call.clone(),
                    part: Some(store.begin()),
                    grants: Vec::new(),
                    held: Vec::new(),
                });
                let covers = |held: &LockRequest, wanted: &LockRequest| {
                    held.lock() == wanted.lock() && held.mode().covers(wanted.mode())
                };
                wanted.retain(|wanted| !here.held.iter().any(|held| covers(held, wanted)));
                here.held.extend_from_slice(&wanted);
                Owner::Multi(id)
            }
        };
        let due = self.due(&work, ports.now());
        match self.space.ask(Asker { owner, work, wanted, grant: 0 }) {
            Ok(asker) => {
                self.owners.insert(asker.grant, owner);
                self.granted.push(asker);
            }
            Err(grant) => {
                self.owners.insert(grant, owner);
                self.waiting.insert(owner, (grant, due));
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

    /// Who gives way in a circle that `start` waits in, if it waits in one.
    fn victim(&self, start: Owner) -> Option<Owner> {
        let mut reached_from = BTreeMap::new();
        let mut to_visit = vec![start];
        while let Some(owner) = to_visit.pop() {
            let Some(&(grant, _)) = self.waiting.get(&owner) else { continue };
            let mut closes = false;
            self.space.visit_blockers(grant, |blocker| {
                let blocker = self.owners[&blocker];
                closes |= blocker == start;
                reached_from.entry(blocker).or_insert_with(|| {
                    to_visit.push(blocker);
                    owner
                });
            });
            if closes {
                let before = |&at: &Owner| (at != start).then(|| reached_from[&at]);
                let circle: Vec<_> = std::iter::successors(Some(owner), before).collect();
                let single = circle.iter().find(|member| matches!(member, Owner::Single(_)));
                let idle = || circle.iter().find(|&&member| self.holds_nothing(member));
                return Some(*single.or_else(idle).unwrap_or(&start));
            }
        }
        None
    }

    /// Whether one that waits has done nothing here with what it holds.
    fn holds_nothing(&self, owner: Owner) -> bool {
        match owner {
            Owner::Single(_) => true,
            Owner::Multi(id) => self.here[&id].grants.is_empty(),
        }
    }

    /// Has one that waits and has done nothing here stand behind all others.
    fn ask_later(&mut self, owner: Owner) {
        let work = self.withdraw(owner);
        if let Owner::Multi(id) = owner
            && let Some(here) = self.here.get_mut(&id)
        {
            here.held.clear();
        }
        self.unexecuted.push_back(work);
    }

    /// Has a call of several partitions that waits be undone everywhere, and begin again.
    fn give_way(&mut self, owner: Owner, ports: &mut impl Outside<S::Single, S::Multi>) {
        if let Work::Multi(fragment) = self.withdraw(owner) {
            self.report(&fragment, Vote::Again, ports); // its end comes as an answer
        }
    }

    fn withdraw(&mut self, owner: Owner) -> Work<S> {
        let (grant, _) = self.waiting.remove(&owner).expect("it waits");
        self.owners.remove(&grant);
        let mut granted = Vec::new();
        let asker = self.space.withdraw(grant, &mut granted);
        self.take_granted(granted);
        asker.work
    }

    fn release(&mut self, grant: u32) {
        self.owners.remove(&grant);
        let mut granted = Vec::new();
        self.space.release(grant, Position::default(), &mut granted);
        self.take_granted(granted);
    }

    fn take_granted(&mut self, granted: Vec<Asker<S>>) {
        for asker in granted {
            self.waiting.remove(&asker.owner);
            self.granted.push(asker);
        }
    }

    fn run(&mut self, asker: Asker<S>, ports: &mut impl Outside<S::Single, S::Multi>) {
        match asker.work {
            Work::Single(call) => {
                ports.spend(Section::LockedSingle);
                self.run_single(call, ports);
                self.release(asker.grant);
            }
            Work::Multi(fragment) => {
                ports.spend(Section::LockedFragment);
                let Some(here) = self.here.get_mut(&fragment.id) else { return };
                here.grants.push(asker.grant);
                let Some(mut part) = here.part.take() else { return };
                let vote = self.store.run_fragment(&fragment.call, fragment.round, &mut part);
                here.part = self.store.keep(part, vote);
                self.report(&fragment, vote, ports);
            }
        }
    }

    /// Runs a call of this partition, which has all the locks it needs, to its end.
    fn run_single(&mut self, mut call: S::Single, ports: &mut impl Outside<S::Single, S::Multi>) {
        let mut part = self.store.begin();
        let committed = match self.store.run_single(&mut call, &mut part) {
            Vote::Commit => self.store.commit_single(&mut call, &part, self.tag),
            Vote::Abort | Vote::Again => None,
        };
        match committed {
            Some(position) => {
                self.tag = position.max(self.tag);
                self.store.commit(part);
            }
            None => self.store.undo(part),
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
        let (partition, met) = (self.number, self.tag);
        let (undone, follows) = (Report::STANDS, None);
        let report = Report { id, partition, round, vote, undone, met, follows };
        let coordinator = usize::from(id.coordinator);
        ports.send(self.coordinators[coordinator], Message::Report(report));
    }
}
