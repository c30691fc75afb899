//! The schedule: which thread does what next.
//!
//! Role         shared by the threads of a replay, under a latch: each tells what it has done and
//!              is given its next step
//! States       of a call: unplanned -> planned -> entered (waiting, then ready, then running) ->
//!              ended; of the entrance: open, or taken by a call that is planned again or runs
//!              alone
//! Invariants   I1 calls are entered into the chains in serial order, each with a footprint that
//!              holds all it will touch; so conflicting calls run in serial order
//!              I2 a call that runs alone is entered when all before it have ended, and nothing is
//!              entered until it has ended
//!              I3 whoever enters, plans again or runs alone does what the next call needs: some
//!              thread always has something to do until all calls have ended
//! Source       see [`super`]
//!
//! Work is done late: a thread plans only when nothing can be entered, and enters only when nothing
//! is ready. So what planning has brought into the caches is used soon, and a chain that keeps only
//! one thread busy lets the others plan far ahead.

use std::collections::VecDeque;

use hotrow_base::sync::Latch;

use super::ReplayError;
use super::chains::Chains;
use super::forecast::{Forecast, Reliance};

/// Calls planned in one step, so that their cache misses overlap.
pub(super) const PLANNED_AT_ONCE: usize = 8;
/// Calls entered in one step at most, so that the latch is not held for long.
const ENTERED_AT_ONCE: usize = 16;
/// Free slots that are worth waking a thread for. Not one by one as calls end: that would wake a
/// thread for each.
const FREE_TO_WAKE: usize = 4 * PLANNED_AT_ONCE;

/// What a thread is to do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// plan these calls, as many as `count`
    Plan {
        /// number of the first one
        first: u32,
        count: usize,
        /// where their forecasts go
        slots: [u32; PLANNED_AT_ONCE],
    },
    /// plan this call once more, in its slot
    PlanAgain { number: u32, slot: u32 },
    /// run this call as planned
    Run { number: u32, slot: u32 },
    /// run this call by itself
    RunAlone { number: u32, slot: u32 },
    /// there is nothing more to do
    End,
}

#[derive(Clone, Copy, Debug)]
struct Progress {
    slot: u32,
    /// when its planning began, all calls below this number had ended
    ended_before: u32,
    is_planned: bool,
    has_ended: bool,
}

const UNPLANNED: Progress =
    Progress { slot: u32::MAX, ended_before: 0, is_planned: false, has_ended: false };

/// Who may enter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entrance {
    Open,
    /// the next call waits for others to end
    Waiting,
    /// a thread runs the call entered last, alone
    Alone,
    /// a thread plans the next call again
    Replanning {
        /// nothing was running when it began
        all_had_ended: bool,
    },
}

/// What happened to calls in order to be replayed; for tests and figures.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ReplayCounts {
    /// calls that were run
    pub calls: u64,
    /// calls that did not run at once when they were entered
    pub waited: u64,
    /// calls planned once more because rows had changed since
    pub planned_again: u64,
    /// calls run with nothing else running
    pub alone: u64,
}

/// Calls on their way, by slot, and how far planning, entering and ending have come.
#[derive(Debug)]
pub(super) struct Schedule {
    chains: Chains,
    /// by number
    calls: Vec<Progress>,
    /// by slot: the number of the call in it
    numbers: Vec<u32>,
    free: Vec<u32>,
    ready: VecDeque<u32>,
    entrance: Entrance,
    /// numbers below have been given out for planning
    planned: u32,
    /// numbers below have been entered
    entered: u32,
    /// numbers below have ended
    ended_below: u32,
    ended: u32,
    /// one more than the number of the last call that ran alone
    alone_below: u32,
    counts: ReplayCounts,
    failure: Option<(u32, ReplayError)>,
}

impl Schedule {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            chains: Chains::new(slots),
            calls: Vec::new(),
            numbers: vec![0; slots],
            free: (0..slots as u32).rev().collect(),
            ready: VecDeque::with_capacity(slots),
            entrance: Entrance::Open,
            planned: 0,
            entered: 0,
            ended_below: 0,
            ended: 0,
            alone_below: 0,
            counts: ReplayCounts::default(),
            failure: None,
        }
    }

    /// Begins with other calls.
    pub(super) fn begin(&mut self, calls: usize) {
        self.chains.forget();
        self.calls.clear();
        self.calls.resize(calls, UNPLANNED);
        self.entrance = Entrance::Open;
        (self.planned, self.entered) = (0, 0);
        (self.ended_below, self.ended, self.alone_below) = (0, 0, 0);
    }

    pub(super) fn counts(&self) -> ReplayCounts {
        self.counts
    }

    pub(super) fn failure(&mut self) -> Option<ReplayError> {
        self.failure.take().map(|(_, error)| error)
    }

    /// Ends the replay: nothing more is begun. The failure of the first call is kept.
    pub(super) fn fail(&mut self, number: u32, error: ReplayError) {
        if self.failure.as_ref().is_none_or(|(first, _)| number < *first) {
            self.failure = Some((number, error));
        }
    }

    /// Calls have been planned.
    pub(super) fn note_planned(&mut self, first: u32, count: usize) {
        for call in &mut self.calls[first as usize..][..count] {
            call.is_planned = true;
        }
    }

    /// The next call to enter has been planned again: no call before it that could change what the
    /// former plan had looked at was running.
    pub(super) fn note_planned_again(&mut self, forecast: &mut Forecast) {
        self.counts.planned_again += 1;
        let before = std::mem::replace(&mut self.entrance, Entrance::Open);
        if forecast.reliance == Reliance::Guessed
            && (before == Entrance::Replanning { all_had_ended: true }
                || forecast.reads_nothing_new())
        {
            forecast.reliance = Reliance::Certain;
        }
    }

    /// A call has been run.
    pub(super) fn note_run(&mut self, number: u32, slot: u32) {
        let ready = &mut self.ready;
        self.chains.leave(slot, |slot| ready.push_back(slot));
        self.note_end(number, slot);
    }

    /// A call has been run alone.
    pub(super) fn note_run_alone(&mut self, number: u32, slot: u32) {
        self.entrance = Entrance::Open;
        self.alone_below = number + 1;
        self.counts.alone += 1;
        self.note_end(number, slot);
    }

    fn note_end(&mut self, number: u32, slot: u32) {
        self.free.push(slot);
        self.calls[number as usize].has_ended = true;
        self.ended += 1;
        self.counts.calls += 1;
        while self.calls.get(self.ended_below as usize).is_some_and(|call| call.has_ended) {
            self.ended_below += 1;
        }
        if self.entrance == Entrance::Waiting {
            self.entrance = Entrance::Open;
        }
    }

    /// What to do next, if there is anything now.
    pub(super) fn next(&mut self, forecasts: &[Latch<Forecast>]) -> Option<Step> {
        if self.failure.is_some() {
            return Some(Step::End);
        }
        if let Some(step) = self.next_ready() {
            return Some(step);
        }
        for _ in 0..ENTERED_AT_ONCE {
            // One for this thread, and one for the next that asks.
            if self.ready.len() > 1 || !self.can_enter() {
                break;
            }
            if let Some(step) = self.enter(forecasts) {
                return Some(step);
            }
        }
        self.next_ready().or_else(|| self.next_to_plan())
    }

    /// Whether another thread would find something to do that is worth waking it for. It is no
    /// harm to say no while some thread has a step to do: it comes back.
    pub(super) fn has_more(&self) -> bool {
        let is_over = self.failure.is_some() || self.ended as usize == self.calls.len();
        let left = self.calls.len() - self.planned as usize;
        is_over
            || !self.ready.is_empty()
            || self.can_enter()
            || left > 0 && self.free.len() >= left.min(FREE_TO_WAKE)
    }

    fn next_ready(&mut self) -> Option<Step> {
        let slot = self.ready.pop_front()?;
        Some(Step::Run { number: self.numbers[slot as usize], slot })
    }

    fn can_enter(&self) -> bool {
        self.entrance == Entrance::Open
            && self.calls.get(self.entered as usize).is_some_and(|call| call.is_planned)
    }

    fn can_plan(&self) -> bool {
        let left = self.calls.len() - self.planned as usize;
        left > 0 && self.free.len() >= left.min(PLANNED_AT_ONCE)
    }

    fn next_to_plan(&mut self) -> Option<Step> {
        if self.ended as usize == self.calls.len() {
            return Some(Step::End);
        }
        if !self.can_plan() {
            return None;
        }
        let first = self.planned;
        let left = self.calls.len() - first as usize;
        let mut slots = [0; PLANNED_AT_ONCE];
        let count = left.min(slots.len());
        for slot in &mut slots[..count] {
            *slot = self.free.pop().expect("`can_plan` has counted them");
            self.numbers[*slot as usize] = self.planned;
            let ended_before = self.ended_below;
            self.calls[self.planned as usize] = Progress { slot: *slot, ended_before, ..UNPLANNED };
            self.planned += 1;
        }
        Some(Step::Plan { first, count, slots })
    }

    /// Lets the next call in, or says what it needs first.
    fn enter(&mut self, forecasts: &[Latch<Forecast>]) -> Option<Step> {
        let number = self.entered;
        let slot = self.calls[number as usize].slot;
        let mut forecast = forecasts[slot as usize].lock();
        if forecast.reliance == Reliance::Alone {
            if self.ended < number {
                self.entrance = Entrance::Waiting;
                return None;
            }
            self.entrance = Entrance::Alone;
            self.entered += 1;
            return Some(Step::RunAlone { number, slot });
        }
        if forecast.reliance == Reliance::Guessed && !self.is_right(number, &forecast) {
            if !forecast.reads.iter().all(|&read| self.chains.is_settled(read)) {
                self.entrance = Entrance::Waiting;
                return None;
            }
            self.entrance = Entrance::Replanning { all_had_ended: self.ended == number };
            let Forecast { reads, reads_before, .. } = &mut *forecast;
            std::mem::swap(reads, reads_before);
            return Some(Step::PlanAgain { number, slot });
        }
        self.entered += 1;
        if self.chains.enter(slot, number, &forecast.claims) {
            self.ready.push_back(slot);
        } else {
            self.counts.waited += 1;
        }
        None
    }

    /// Whether nothing that a guess looked at has changed since, or will before the call's turn.
    fn is_right(&self, number: u32, guess: &Forecast) -> bool {
        let since = self.calls[number as usize].ended_before;
        since >= self.alone_below
            && guess.reads.iter().all(|&read| self.chains.is_unchanged_since(read, since))
    }
}
