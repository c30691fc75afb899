//! Where a worker's calls wait for transactions that clients keep open.
//!
//! Role         a call that meets what an open transaction holds has done nothing yet, or is
//!              undone: it gives its thread back and stands here, in the line for the lock that it
//!              met. The [`Runner`](super::Runner) says when the first of a line may try again; how
//!              it knows is its own affair
//! States       of a call: running -> parked (at the end of its line, or, if it was there before,
//!              in its old place) -> resumed, and planned anew; or given up by its caller
//! Invariants   I1 who is parked holds nothing that others could wait for, is in no turn, and so is
//!              in nobody's way: neither of other calls nor of a quiet point
//!              I2 a line has somebody in it; the runner is told when the last one leaves
//!              I3 those of one line are resumed in the order in which they came
//! Bounds       a call is parked in place of being taken, so there are never more than sessions
//!              have calls under way
//! Concurrency  none: one worker's

use std::collections::VecDeque;

use hotrow_base::clock::Ticks;

use super::{Call, Errand};
use crate::source::CallSource;
use crate::statistics::CallTime;

/// Lines that are looked at in one turn, so that many lines cost no call much.
const LINES_PER_TURN: usize = 16;

/// One worker's parked calls, in lines by what they wait for.
#[derive(Default)]
pub(super) struct ParkingLot {
    lines: VecDeque<Line>,
    /// calls that have been parked so far
    arrivals: u64,
}

/// Calls that wait for one lock.
struct Line {
    lock: u64,
    calls: VecDeque<Parked>,
}

/// A call without what it takes to run it.
struct Parked {
    arrival: Arrival,
    errand: Errand,
    time: CallTime,
    since: Ticks,
}

/// When a call was parked first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// the lower, the earlier
    number: u64,
    at: Ticks,
}

/// What a call has that was parked, until its next attempt begins.
#[derive(Clone, Copy, Debug)]
pub struct Resumed {
    /// what it waited for; only of who was first in its line
    pub lock: Option<u64>,
    /// since when
    pub since: Ticks,
    pub(super) arrival: Arrival,
}

impl ParkingLot {
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Takes a call out of a worker's hands, which has met `lock`.
    pub(super) fn park(&mut self, call: &mut Call, lock: u64) {
        self.arrivals += 1;
        let now = Ticks::now();
        let arrival = call.arrival.unwrap_or(Arrival { number: self.arrivals, at: now });
        let mut errand = Errand::default();
        call.swap(&mut errand);
        let parked = Parked { arrival, errand, time: call.time, since: now };
        let calls = match self.lines.iter_mut().find(|line| line.lock == lock) {
            Some(line) => &mut line.calls,
            None => {
                self.lines.push_back(Line { lock, calls: VecDeque::new() });
                &mut self.lines.back_mut().expect("it was just pushed").calls
            }
        };
        let at = calls.partition_point(|other| other.arrival.number < arrival.number); // I3
        calls.insert(at, parked);
    }

    /// Hands out up to `most` calls of lines that `is_due`: each to `go_on` with what it gets back,
    /// which says false of a call that was given up. Tells `empty` of lines that nobody is in.
    pub(super) fn resume(
        &mut self,
        most: usize,
        mut is_due: impl FnMut(u64) -> bool,
        mut go_on: impl FnMut(usize, &mut Errand, CallTime, Resumed) -> bool,
        mut leave: impl FnMut(u64),
    ) -> usize {
        let mut resumed = 0;
        for _ in 0..self.lines.len().min(LINES_PER_TURN) {
            if resumed == most {
                break;
            }
            let Some(mut line) = self.lines.pop_front() else { break };
            let mut first = Some(line.lock);
            if is_due(line.lock) {
                while resumed < most
                    && let Some(mut parked) = line.calls.pop_front()
                {
                    let Parked { errand, time, since, arrival } = &mut parked;
                    let mut time = *time;
                    time.wait += Ticks::now().ticks_since(*since);
                    let back = Resumed { lock: first, since: *since, arrival: *arrival };
                    if go_on(resumed, errand, time, back) {
                        resumed += 1;
                        first = None;
                    }
                }
            }
            match (line.calls.is_empty(), first) {
                (false, _) => self.lines.push_back(line),
                (true, Some(lock)) => leave(lock), // I2: all were given up
                (true, None) => {}
            }
        }
        resumed
    }

    /// Forgets calls that were given up; tells `leave` of lines that nobody is in any more.
    pub(super) fn sweep(&mut self, source: &mut dyn CallSource, mut leave: impl FnMut(u64)) {
        self.lines.retain_mut(|line| {
            line.calls.retain(|parked| !source.forget_given_up(parked.errand.ticket));
            if line.calls.is_empty() {
                leave(line.lock); // I2
            }
            !line.calls.is_empty()
        });
    }
}

impl Resumed {
    /// When it was first parked.
    pub fn first_parked(&self) -> Ticks {
        self.arrival.at
    }
}
