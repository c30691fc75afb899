//! The owner of a partition: runs calls one at a time, in the order in which they come.
//!
//! States       of a call here: unexecuted -> run -> uncommitted (behind a call of several
//!              partitions that is undecided, or such a call itself) -> committed, results told. Or
//!              undone, when a call before it is: back to the head of the unexecuted
//!
//! ```text
//!   uncommitted   head                                tail        unexecuted
//!                 A (undecided) │ b │ c │ D (follows A) │ e    ◀── f, G, h ◀── come in
//!    A commits:   A, b, c commit; D is the head; e waits for D
//!    A is undone: e, D, c, b, A are undone, in this order; b, c, D, e are run again
//! ```
//!
//! Invariants   I1 the head of the uncommitted calls is of several partitions, and follows nobody
//!              who is undecided. Nobody runs behind a call that has rounds to come: only the tail
//!              can be one
//!              I2 results leave when nothing can take them back; those of calls of several
//!              partitions earlier, with whom they follow, to the coordinator that decides both;
//!              not where they stand still: then the data is another's as soon as it hears of that
//!              I3 undo goes from the tail to the head
//!              I4 nobody brings back what a call has removed that is uncommitted: who would
//!              [waits](Vote::Again) until nobody is. So what a commit removes for good is gone at
//!              once, and no undo needs it
//! Bounds       at most `depth` calls are uncommitted; the unexecuted are as many as homes send
//! Source       partitioned.txt 4.1 (figure 2), 4.2.1, 4.2.2 (figure 3). We differ: reports name
//!              how many calls had been undone by then, so that a coordinator tells stale ones;
//!              calls of one partition that are run speculatively get their place in the log when
//!              what they follow has its

use std::collections::VecDeque;

use hotrow_flow::node::Address;

use super::Work::{Multi, Single};
use super::observed::TIMED;
use super::owner::Holdings;
use super::{
    CallId, Followed, Fragment, Message, MultiCall, Outcome, Outside, Report, Section,
    SingleCall as _, Speculation, Store, Vote, Work,
};

/// How a partition's owner works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// what it does while a call is undecided
    pub speculation: Speculation,
    /// how many calls may be uncommitted
    pub depth: usize,
}

/// A partition's owner that queues.
pub struct Partition<S: Store> {
    /// see [`Holdings`]
    pub(super) has: Holdings<S>,
    settings: Settings,
    /// by coordinator: what came before its turn; nothing where there is one
    batches: Vec<VecDeque<Batched<S::Multi>>>,
    /// the coordinator whose batch is taken
    turn: usize,
    unexecuted: VecDeque<Work<S>>,
    /// a later fragment of the head
    continuing: Option<Fragment<S::Multi>>,
    uncommitted: VecDeque<Ran<S>>,
    /// by coordinator: calls undone for it
    undone: Vec<u64>,
    /// by coordinator: where it is
    coordinators: Vec<Address>,
    /// the next call is to run when nobody is uncommitted (I4)
    waits: bool,
}

/// Whether others may run behind a call when a fragment has run.
fn is_finished<M: MultiCall>(fragment: &Fragment<M>, vote: Vote) -> bool {
    !fragment.call.stands_still() && (fragment.is_last || vote == Vote::Abort)
}

/// What a coordinator has sent, in order.
enum Batched<M> {
    First(Fragment<M>),
    End,
}

/// A call that has been run, and can still be undone.
struct Ran<S: Store> {
    work: Work<S>,
    /// none: it has failed, and changed nothing
    part: Option<S::Part>,
    vote: Vote,
    /// of several partitions: its last fragment here has run
    is_finished: bool,
    /// of several partitions: its report waits until it follows nobody
    is_held: bool,
    /// of several partitions: when its first fragment began, or it was reported if that was held
    /// back; and whether it followed somebody then
    opened: (u64, bool),
}

impl<S: Store> Ran<S> {
    /// One that is finished here, and holds nothing back.
    fn new(work: Work<S>, part: Option<S::Part>, vote: Vote) -> Self {
        Self { work, part, vote, is_finished: true, is_held: false, opened: (0, false) }
    }

    fn id(&self) -> Option<CallId> {
        self.work.id()
    }
}

impl<S: Store> Partition<S> {
    /// The owner of a partition, for coordinators at these addresses.
    pub fn new(has: Holdings<S>, settings: Settings, coordinators: Vec<Address>) -> Self {
        Self {
            has,
            settings,
            batches: coordinators.iter().map(|_| VecDeque::new()).collect(),
            turn: 0,
            unexecuted: VecDeque::new(),
            continuing: None,
            uncommitted: VecDeque::new(),
            undone: vec![0; coordinators.len()],
            coordinators,
            waits: false,
        }
    }

    /// Whether nothing is here that has not ended.
    pub fn is_idle(&self) -> bool {
        self.unexecuted.is_empty() && self.uncommitted.is_empty()
    }

    /// Takes in a call of this partition.
    pub fn take_single(&mut self, call: S::Single) {
        self.unexecuted.push_back(Single(call));
    }

    /// Takes in a fragment.
    pub fn take_fragment(&mut self, fragment: Fragment<S::Multi>) {
        if fragment.round == 0 {
            let coordinator = usize::from(fragment.id.coordinator);
            self.batches[coordinator].push_back(Batched::First(fragment));
            return self.take_batches();
        }
        let head = self.uncommitted.front().and_then(Ran::id);
        debug_assert_eq!(head, Some(fragment.id), "I1: the coordinator waits for all before");
        self.continuing = Some(fragment);
    }

    /// Takes in a fragment before its coordinator's turn: for tests that break this on purpose.
    #[cfg(test)]
    pub fn take_out_of_turn(&mut self, fragment: Fragment<S::Multi>) {
        self.unexecuted.push_back(Multi(fragment));
    }

    /// A coordinator's batch ends.
    pub fn take_batch_end(&mut self, coordinator: u16) {
        self.batches[usize::from(coordinator)].push_back(Batched::End);
        self.take_batches();
    }

    /// Takes what has come of the batches whose turn it is.
    fn take_batches(&mut self) {
        while let Some(next) = self.batches[self.turn].pop_front() {
            match next {
                Batched::First(fragment) => self.unexecuted.push_back(Multi(fragment)),
                Batched::End => self.turn = (self.turn + 1) % self.batches.len(),
            }
        }
    }

    /// Hears how a call has ended.
    pub fn take_end(
        &mut self,
        id: CallId,
        outcome: Outcome,
        ports: &mut impl Outside<S::Single, S::Multi>,
    ) {
        let began = ports.now();
        ports.spend(Section::End);
        let at = self.uncommitted.iter().position(|ran| ran.id() == Some(id));
        match outcome {
            Outcome::Committed(position) => {
                assert_eq!(at, Some(0), "I1: {id:?} follows nobody who is undecided");
                self.has.tag = position.max(self.has.tag);
                if let Some(Ran { work, part: Some(part), opened, .. }) =
                    self.uncommitted.pop_front()
                {
                    self.has.store.commit(part);
                    self.has.observed.note_end(began, opened, ports.now());
                    drop(work); // not before: see `MultiCall`
                }
            }
            Outcome::Undone => {
                self.undone[usize::from(id.coordinator)] += 1;
                self.continuing.take_if(|fragment| fragment.id == id);
                match at {
                    Some(at) => {
                        self.undo_behind(at + 1, ports);
                        let now = ports.now();
                        self.has.observed.note_end(now, self.uncommitted[at].opened, now);
                        self.undo_last(ports);
                    }
                    None => self.forget(id),
                }
            }
        }
        self.release(ports);
    }

    /// Runs one call or fragment, if one may be run now; whether there was one.
    pub fn work(&mut self, ports: &mut impl Outside<S::Single, S::Multi>) -> bool {
        if let Some(fragment) = self.continuing.take() {
            self.go_on(&fragment, ports);
            return true;
        }
        let Some(next) = self.unexecuted.front() else { return false };
        if !self.may_run(next) {
            return false;
        }
        let Some(next) = self.unexecuted.pop_front() else { return false };
        match next {
            Single(call) => self.run_single(call, ports),
            Multi(fragment) => self.run_first(fragment, ports),
        }
        true
    }

    /// Forgets a call that has not been run.
    fn forget(&mut self, id: CallId) {
        self.unexecuted.retain(|work| work.id() != Some(id));
        let batch = &mut self.batches[usize::from(id.coordinator)];
        batch.retain(|next| !matches!(next, Batched::First(fragment) if fragment.id == id));
    }

    fn may_run(&self, next: &Work<S>) -> bool {
        let Some(tail) = self.uncommitted.back() else { return true };
        if self.waits
            || self.settings.speculation == Speculation::Blocking
            || !tail.is_finished // I1
            || self.uncommitted.len() >= self.settings.depth
        {
            return false;
        }
        let Multi(fragment) = next else { return true };
        match self.settings.speculation {
            // Its report is held, and another one behind it would be held longer.
            Speculation::Local => !self.uncommitted.iter().any(|ran| ran.is_held),
            // Only the coordinator that decides both can tell whether what it is told stays.
            _ => {
                let coordinator = fragment.id.coordinator;
                let mut ids = self.uncommitted.iter().filter_map(Ran::id);
                ids.all(|id| id.coordinator == coordinator)
            }
        }
    }

    fn run_single(&mut self, mut call: S::Single, ports: &mut impl Outside<S::Single, S::Multi>) {
        let speculates = !self.uncommitted.is_empty();
        let is_timed = self.has.observed.singles.is_multiple_of(TIMED);
        let began = if is_timed { ports.now() } else { 0 };
        ports.spend(if speculates { Section::SpeculativeSingle } else { Section::Single });
        let mut part = self.has.store.begin();
        let vote = self.has.store.run_single(&mut call, &mut part);
        let part = self.has.store.keep(part, vote);
        if vote == Vote::Again {
            return self.wait_for_all(Single(call));
        }
        self.uncommitted.push_back(Ran::new(Single(call), part, vote));
        if !speculates {
            self.release(ports);
            if is_timed {
                self.has.observed.singles_timed += 1;
                self.has.observed.single_ns += ports.now() - began;
            }
        }
    }

    /// Runs the first fragment of a call of several partitions.
    fn run_first(
        &mut self,
        fragment: Fragment<S::Multi>,
        ports: &mut impl Outside<S::Single, S::Multi>,
    ) {
        let began = ports.now();
        ports.spend(Section::Fragment);
        let mut part = self.has.store.begin();
        let vote = self.has.store.run_fragment(&fragment.call, 0, &mut part);
        let part = self.has.store.keep(part, vote);
        if vote == Vote::Again {
            return self.wait_for_all(Multi(fragment));
        }
        let follows = self.followed();
        // Whom others stand still for has their data when they have reported: all that it follows
        // here is final then, not only decided.
        let waits_for_ends =
            self.settings.speculation == Speculation::Local || fragment.call.stands_still();
        let is_held = follows.is_some() && waits_for_ends;
        let is_finished = is_finished(&fragment, vote);
        if !is_held {
            self.report(&fragment, vote, follows, ports);
        }
        let opened = (began, follows.is_some());
        self.has.observed.fragments[0] += 1;
        self.has.observed.fragment_ns += ports.now() - began;
        let ran = Ran::new(Multi(fragment), part, vote);
        self.uncommitted.push_back(Ran { is_finished, is_held, opened, ..ran });
    }

    /// Puts a call back that is to run when nobody is uncommitted.
    fn wait_for_all(&mut self, work: Work<S>) {
        debug_assert!(!self.uncommitted.is_empty(), "who follows nobody has nobody to wait for");
        self.unexecuted.push_front(work);
        self.waits = true;
    }

    /// Runs a later fragment of the head.
    fn go_on(
        &mut self,
        fragment: &Fragment<S::Multi>,
        ports: &mut impl Outside<S::Single, S::Multi>,
    ) {
        let began = ports.now();
        ports.spend(Section::Fragment);
        let Some(head) = self.uncommitted.front_mut() else { return };
        let mut vote = Vote::Abort; // of one that has failed the coordinator asks no more
        if let Some(mut part) = head.part.take() {
            vote = self.has.store.run_fragment(&fragment.call, fragment.round, &mut part);
            head.part = self.has.store.keep(part, vote);
        }
        head.vote = vote;
        head.is_finished = is_finished(fragment, vote);
        self.report(fragment, vote, None, ports);
        self.has.observed.fragments[1] += 1;
        self.has.observed.fragment_ns += ports.now() - began;
    }

    /// The last undecided call of several partitions, and how many of one stand behind it.
    fn followed(&self) -> Option<Followed> {
        let (mut between, mut epoch) = (0, 0);
        for ran in self.uncommitted.iter().rev() {
            if let Some(id) = ran.id() {
                return Some(Followed { id, between, epoch });
            }
            between += 1;
            epoch = ran.part.as_ref().map_or(0, |part| self.has.store.epoch_of(part)).max(epoch);
        }
        None
    }

    fn report(
        &self,
        fragment: &Fragment<S::Multi>,
        vote: Vote,
        follows: Option<Followed>,
        ports: &mut impl Outside<S::Single, S::Multi>,
    ) {
        let coordinator = usize::from(fragment.id.coordinator);
        let report = Report {
            id: fragment.id,
            partition: self.has.number,
            round: fragment.round,
            vote,
            undone: self.undone[coordinator],
            met: self.has.tag,
            follows,
        };
        ports.send(self.coordinators[coordinator], Message::Report(report));
    }

    /// Commits the calls of one partition that are the first now, and lets what waited for that go.
    fn release(&mut self, ports: &mut impl Outside<S::Single, S::Multi>) {
        while let Some(Ran { work: Single(_), .. }) = self.uncommitted.front() {
            let Some(Ran { work: Single(mut call), part, .. }) = self.uncommitted.pop_front()
            else {
                unreachable!("it was seen")
            };
            self.has.observed.singles += 1;
            if let Some(part) = part {
                match self.has.store.commit_single(&mut call, &part, self.has.tag) {
                    Some(position) => {
                        self.has.tag = position.max(self.has.tag);
                        self.has.store.commit(part);
                    }
                    None if self.uncommitted.is_empty() => self.has.store.undo(part),
                    // Others have seen what it did, and may have been told to commit. Nothing of
                    // them will ever be durable either, so nobody is answered who has seen it.
                    None => self.has.store.commit(part),
                }
            }
            ports.send(call.home(), Message::SingleEnded(call));
        }
        let Some(head) = self.uncommitted.front_mut() else {
            self.waits = false;
            return;
        };
        if std::mem::take(&mut head.is_held) {
            head.opened = (ports.now(), false); // only now is it waited for
            if let Some(Ran { work: Multi(fragment), vote, .. }) = self.uncommitted.front() {
                self.report(fragment, *vote, None, ports); // I2
            }
        }
    }

    /// Undoes the uncommitted calls from this one on; they will be run again.
    fn undo_behind(&mut self, first: usize, ports: &mut impl Outside<S::Single, S::Multi>) {
        while self.uncommitted.len() > first {
            if let Some(work) = self.undo_last(ports) {
                self.unexecuted.push_front(work);
            }
        }
    }

    /// Undoes the tail (I3).
    fn undo_last(&mut self, ports: &mut impl Outside<S::Single, S::Multi>) -> Option<Work<S>> {
        let Ran { work, part, .. } = self.uncommitted.pop_back()?;
        if let Some(part) = part {
            ports.spend(Section::Undo);
            self.has.store.undo(part);
        }
        Some(work)
    }
}
