//! A coordinator: gives calls of several partitions one order, and decides how they end.
//!
//! States       of a call: begun, fragments of round 0 sent -> reported from all partitions -> its
//!              own code runs, fragments of the next round sent -> ... -> reported from the last
//!              round: committed. Undone when all have reported from a round and a part has failed
//!              in it; at once, if a part is to begin again
//!
//! ```text
//!   A is undone while C and D follow it at partition 1, as this coordinator saw it:
//!     Report C (follows A), Report D (follows C)   kept
//!     Report A: failed                             A is undone; C's and D's reports from 1 go
//!     Report E (follows D), sent by 1 before it heard of A's end: stale, for it says that 1 has
//!                                                  undone one call less than it was told to
//!     Report C, Report D, Report E                 again, and now they stay
//! ```
//!
//! Invariants   I1 a report stands only if its partition had carried out all undoing of earlier
//!              calls when it ran that: undoing takes all along that ran behind
//!              I2 a call is decided only when none of its reports follows one that is undecided
//!              I3 what ends stands behind all that its partitions had committed, and behind those
//!              of one partition that stand between it and what it follows: `between` places are
//!              left free for them, in the later of its epoch and those that they have begun in
//! Source       partitioned.txt 3.3 and 4.2.2

use std::collections::VecDeque;

use hotrow_flow::node::Address;
use hotrow_log::position::Position;

use super::observed::Observed;
use super::{
    CallId, Fragment, Message, MultiCall, Outcome, Outside, Report, Section, Steering, Vote,
};

/// Calls of several partitions, in one order.
pub struct Coordinator<C: Steering> {
    number: u16,
    steering: C,
    /// by partition
    partitions: Vec<Wire>,
    /// in their order
    active: VecDeque<Active<C::Multi>>,
    begun: u64,
    /// for which partitions stand still, until the one that ends first has
    ending: Vec<Decided<C::Multi>>,
    /// lists of reports that are not used
    spare: Vec<Vec<Option<Report>>>,
    /// the greatest position that it has given
    last: Position,
    observed: Observed,
}

/// What a coordinator knows of a partition.
struct Wire {
    /// where it is
    address: Address,
    /// calls that it was told to undo
    undone: u64,
    /// those that it has not reported behind: which of them, and the call. Newest last
    unconfirmed: VecDeque<(u64, CallId)>,
}

/// A call that has not ended.
struct Active<M> {
    id: CallId,
    call: M,
    attempt: u32,
    round: u32,
    /// by participant: from this round
    reports: Vec<Option<Report>>,
}

/// A call that is decided.
struct Decided<M> {
    id: CallId,
    call: M,
    outcome: Outcome,
    /// it begins again, for the so many-th time
    again: Option<u32>,
}

impl<M: MultiCall> Decided<M> {
    /// The partition that ends first, if the others stand still for it.
    fn ends_first(&self) -> Option<u16> {
        let all = (0..self.call.participants()).map(|at| self.call.participant(at));
        let first = all.max_by_key(|&(_, last)| last).filter(|_| self.call.stands_still());
        first.map(|(partition, _)| partition)
    }
}

impl<M: MultiCall> Active<M> {
    /// The partitions, each with the last round in which there is something to do there.
    fn participants(&self) -> impl Iterator<Item = (u16, u32)> + '_ {
        (0..self.call.participants()).map(|at| self.call.participant(at))
    }

    fn last_round(&self) -> u32 {
        self.participants().map(|(_, last)| last).max().unwrap_or(0)
    }

    /// How a part has failed for good, if one has. Of several that fail the first one in the
    /// procedure tells why; so all are heard, unless it begins again anyway.
    fn failure(&self) -> Option<Vote> {
        let stand = || self.reports.iter().flatten().filter(|report| report.follows.is_none());
        let votes = || stand().map(|report| report.vote);
        let again = votes().find(|&vote| vote == Vote::Again);
        again.or_else(|| votes().find(|&vote| vote == Vote::Abort && self.is_complete()))
    }

    /// Whether all have reported from this round, and none of them may still be taken back.
    fn is_complete(&self) -> bool {
        let stands = |report: &Report| report.follows.is_none();
        self.reports.iter().all(|report| report.as_ref().is_some_and(stands))
    }
}

impl<C: Steering> Coordinator<C> {
    /// Coordinator number `number` of partitions at these addresses.
    pub fn new(number: u16, partitions: Vec<Address>, steering: C) -> Self {
        let wire = |address| Wire { address, undone: 0, unconfirmed: VecDeque::new() };
        Self {
            number,
            steering,
            partitions: partitions.into_iter().map(wire).collect(),
            active: VecDeque::new(),
            ending: Vec::new(),
            begun: 0,
            spare: Vec::new(),
            last: Position::default(),
            observed: Observed::default(),
        }
    }

    /// Begins anew, for partitions with other owners: what calls it has had counts no more.
    pub fn begin_anew(&mut self) {
        debug_assert!(self.is_idle(), "it changes between two calls");
        for wire in &mut self.partitions {
            wire.undone = 0;
            wire.unconfirmed.clear();
        }
    }

    /// What it has seen.
    pub fn observed(&self) -> &Observed {
        &self.observed
    }

    /// What it does for calls, to tell that of another schema.
    pub fn steering_mut(&mut self) -> &mut C {
        &mut self.steering
    }

    /// Whether all calls have ended.
    pub fn is_idle(&self) -> bool {
        self.active.is_empty() && self.ending.is_empty()
    }

    /// Takes a message.
    pub fn take<S>(
        &mut self,
        message: Message<S, C::Multi>,
        ports: &mut impl Outside<S, C::Multi>,
    ) {
        let began = ports.now();
        match message {
            Message::Begin(call) => self.take_call(call, ports),
            Message::Report(report) => self.take_report(report, ports),
            Message::EndedFirst(id) => self.take_ended_first(id, ports),
            _ => unreachable!("coordinators are sent calls and reports"),
        }
        self.observed.coordinator_ns += ports.now() - began;
    }

    /// Begins a call.
    fn take_call<S>(&mut self, call: C::Multi, ports: &mut impl Outside<S, C::Multi>) {
        ports.spend(Section::Coordinate);
        self.begin(call, 0, ports);
    }

    fn begin<S>(&mut self, call: C::Multi, attempt: u32, ports: &mut impl Outside<S, C::Multi>) {
        let id = CallId { coordinator: self.number, number: self.begun };
        self.begun += 1;
        let mut reports = self.spare.pop().unwrap_or_default();
        reports.clear();
        reports.resize(call.participants(), None);
        let active = Active { id, call, attempt, round: 0, reports };
        self.send_round(&active, ports);
        self.active.push_back(active);
    }

    /// Ends a batch: where there are several coordinators, each does so at intervals of about the
    /// same length, whether it has begun calls or not, since the others' calls wait for its turn.
    pub fn end_batch<S>(&self, ports: &mut impl Outside<S, C::Multi>) {
        for partition in &self.partitions {
            ports.send(partition.address, Message::BatchEnd(self.number));
        }
    }

    /// Takes a report.
    fn take_report<S>(&mut self, mut report: Report, ports: &mut impl Outside<S, C::Multi>) {
        ports.spend(Section::Coordinate);
        let wire = &mut self.partitions[usize::from(report.partition)];
        while wire.unconfirmed.front().is_some_and(|&(number, _)| number <= report.undone) {
            wire.unconfirmed.pop_front();
        }
        if wire.unconfirmed.iter().any(|&(_, undone)| undone < report.id) {
            return; // I1: stale, and it comes again
        }
        let Some(at) = self.place_of(report.id) else {
            return; // it was undone because another part had failed
        };
        if report.follows.is_some_and(|followed| self.place_of(followed.id).is_none()) {
            report.follow_committed(self.last); // I3. Had it been undone, the report were stale
        }
        let active = &mut self.active[at];
        let from = active.participants().position(|(partition, _)| partition == report.partition);
        debug_assert_eq!(active.round, report.round, "one round at a time");
        active.reports[from.expect("only participants report")] = Some(report);
        self.decide(ports);
    }

    /// The place of a call among those that have not ended.
    fn place_of(&self, id: CallId) -> Option<usize> {
        self.active.binary_search_by_key(&id, |active| active.id).ok()
    }

    /// Ends calls, or goes on with them, as long as there are some that can be.
    fn decide<S>(&mut self, ports: &mut impl Outside<S, C::Multi>) {
        let mut at = 0;
        while at < self.active.len() {
            let active = &self.active[at];
            let (failure, attempt) = (active.failure(), active.attempt);
            let outcome = match failure {
                Some(_) => Some(Outcome::Undone),
                None if active.is_complete() => self.go_on(at, ports),
                None => None,
            };
            let Some(outcome) = outcome else {
                at += 1;
                continue;
            };
            let again = (failure == Some(Vote::Again)).then_some(attempt + 1);
            self.end(at, (outcome, again), ports);
        }
    }

    /// Goes on with a call that all have reported of; its outcome, if that was the last round.
    fn go_on<S>(&mut self, at: usize, ports: &mut impl Outside<S, C::Multi>) -> Option<Outcome> {
        let active = &mut self.active[at];
        if self.steering.steer(&active.call, active.round) != Vote::Commit {
            return Some(Outcome::Undone);
        }
        if active.round < active.last_round() {
            active.round += 1;
            let round = active.round;
            for (at, report) in active.reports.iter_mut().enumerate() {
                let (_, last) = active.call.participant(at);
                if last >= round {
                    *report = None; // who has nothing more to do has said how it went
                }
            }
            self.send_round(&self.active[at], ports);
            return None;
        }
        let met = active.reports.iter().flatten().map(|report| report.met).max();
        let met = met.unwrap_or_default();
        Some(match self.steering.commit(&active.call, met) {
            Some(position) => Outcome::Committed(position),
            None => Outcome::Undone,
        })
    }

    /// Sends the fragments of a call's round.
    fn send_round<S>(&self, active: &Active<C::Multi>, ports: &mut impl Outside<S, C::Multi>) {
        for (partition, last) in active.participants().filter(|&(_, last)| last >= active.round) {
            let Active { id, ref call, attempt, round, .. } = *active;
            let (call, is_last) = (call.clone(), round == last);
            let fragment = Fragment { id, call, attempt, round, is_last };
            ports.send(self.address_of(partition), Message::Fragment(fragment));
        }
    }

    fn address_of(&self, partition: u16) -> Address {
        self.partitions[usize::from(partition)].address
    }

    /// Ends a call, and tells its partitions; it may begin again.
    fn end<S>(
        &mut self,
        at: usize,
        (outcome, again): (Outcome, Option<u32>),
        ports: &mut impl Outside<S, C::Multi>,
    ) {
        let Active { id, call, reports, .. } = self.active.remove(at).expect("it was looked at");
        if let Outcome::Committed(position) = outcome {
            self.last = position.max(self.last);
            let reports = self.active.iter_mut().flat_map(|active| &mut active.reports);
            for report in reports.flatten() {
                if report.follows.is_some_and(|followed| followed.id == id) {
                    report.follow_committed(self.last); // I3
                }
            }
        }
        self.spare.push(reports);
        let decided = Decided { id, call, outcome, again };
        match decided.ends_first() {
            None => self.end_others(decided, None, ports),
            Some(first) => {
                self.note_end(id, first, outcome);
                let message = Message::EndFirst(id, outcome, ports.own());
                ports.send(self.address_of(first), message);
                self.ending.push(decided);
            }
        }
    }

    /// The partition that ends first has: the others may go on.
    fn take_ended_first<S>(&mut self, id: CallId, ports: &mut impl Outside<S, C::Multi>) {
        ports.spend(Section::Coordinate);
        let at = self.ending.iter().position(|decided| decided.id == id).expect("it was asked");
        let decided = self.ending.remove(at);
        let first = decided.ends_first();
        self.end_others(decided, first, ports);
    }

    /// Tells all partitions of an end but the one that has ended first, and the call's home, or
    /// begins it again.
    fn end_others<S>(
        &mut self,
        decided: Decided<C::Multi>,
        first: Option<u16>,
        ports: &mut impl Outside<S, C::Multi>,
    ) {
        let Decided { id, call, outcome, again } = decided;
        for at in 0..call.participants() {
            let (partition, _) = call.participant(at);
            if first != Some(partition) {
                self.note_end(id, partition, outcome);
                ports.send(self.address_of(partition), Message::End(id, outcome));
            }
        }
        self.observed.multis += 1;
        self.observed.undone += u64::from(outcome == Outcome::Undone);
        match again {
            Some(attempt) => self.begin(call, attempt, ports),
            None => ports.send(call.home(), Message::MultiEnded(call, outcome)),
        }
    }

    /// Takes note that a partition is told of an end.
    fn note_end(&mut self, id: CallId, partition: u16, outcome: Outcome) {
        if outcome == Outcome::Undone {
            let wire = &mut self.partitions[usize::from(partition)];
            wire.undone += 1;
            wire.unconfirmed.push_back((wire.undone, id));
            self.forget_reports(id, partition);
        }
    }

    /// Forgets what a partition has reported of calls that it is undoing along with `undone`.
    fn forget_reports(&mut self, undone: CallId, partition: u16) {
        for active in self.active.iter_mut().filter(|active| active.id > undone) {
            for report in &mut active.reports {
                // I1
                report.take_if(|report| {
                    report.partition == partition && report.undone != Report::STANDS
                });
            }
        }
    }
}
