//! Where a benchmark's calls come from: one generator per thread, inside the thread.
//!
//! Role         pulled by the engine's threads; shares nothing with its siblings but the phase, so
//!              that what is measured is the engine
//! Invariants   I1 nothing is allocated per call once buffers have grown
//!              I2 the books are sent exactly once, when the engine drops the source
//!              I3 with a log, a call has ended when it is durable: until then it is unsettled, and
//!                 only so many are; the worker goes on meanwhile
//! Concurrency  everything but `phase` belongs to the thread that has the source

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use hotrow::Invocation;
use hotrow_base::clock::Ticks;
use hotrow_engine::source::{CallSource, End, Fetch, Ticket};
use hotrow_log::log::Log;
use hotrow_workloads::{Generator, KindInfo};

use crate::books::{OnItsWay, SourceBooks};
use crate::phase::{Phase, PhaseFlag};

/// What the calls' time, `now()`, is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallTime {
    /// microseconds since 2000-01-01 at some tick, and on with the clock
    Clock { at: Ticks, us: i64 },
    /// one microsecond later at each call: the same calls leave the same state
    Counted { us: i64 },
}

impl CallTime {
    #[inline]
    pub(crate) fn next(&mut self, now: Ticks) -> i64 {
        match self {
            Self::Clock { at, us } => *us + (now.nanos_since(*at) / 1_000) as i64,
            Self::Counted { us } => {
                *us += 1;
                *us
            }
        }
    }
}

/// A call that has ended and is not durable yet.
#[derive(Clone, Copy, Debug)]
struct Unsettled {
    call: OnItsWay,
    committed: bool,
    durable_in: u64,
}

/// What a source is made of.
pub(crate) struct SourceParts {
    /// one for each step
    pub(crate) generators: Vec<Box<dyn Generator>>,
    pub(crate) kinds: Vec<KindInfo>,
    pub(crate) phase: Arc<PhaseFlag>,
    /// calls to hand out in all
    pub(crate) calls: u64,
    pub(crate) time: CallTime,
    /// calls the engine may have in hand at once; more are possible and allocate
    pub(crate) in_flight: usize,
    /// what makes ends durable, and how many ends may wait for it
    pub(crate) log: Option<(Arc<Log>, usize)>,
    pub(crate) done: Sender<Vec<SourceBooks>>,
}

/// The calls of one thread.
pub(crate) struct GeneratorSource {
    generators: Vec<Box<dyn Generator>>,
    /// the one in use
    step: usize,
    phase: Arc<PhaseFlag>,
    calls: u64,
    time: CallTime,
    on_their_way: Vec<OnItsWay>,
    free: Vec<u32>,
    log: Option<(Arc<Log>, usize)>,
    /// in the order of their ends; epochs nearly ascend
    unsettled: VecDeque<Unsettled>,
    /// by step
    books: Vec<SourceBooks>,
    done: Sender<Vec<SourceBooks>>,
}

impl GeneratorSource {
    pub(crate) fn new(parts: SourceParts) -> Self {
        Self {
            books: parts.generators.iter().map(|_| SourceBooks::new(&parts.kinds)).collect(),
            generators: parts.generators,
            step: 0,
            phase: parts.phase,
            calls: parts.calls,
            time: parts.time,
            on_their_way: Vec::with_capacity(parts.in_flight),
            free: Vec::with_capacity(parts.in_flight),
            unsettled: VecDeque::with_capacity(
                parts.log.as_ref().map_or(0, |(_, most)| most + parts.in_flight),
            ),
            log: parts.log,
            done: parts.done,
        }
    }

    fn keep(&mut self, call: OnItsWay) -> Ticket {
        match self.free.pop() {
            Some(at) => {
                self.on_their_way[at as usize] = call;
                Ticket(at.into())
            }
            None => {
                self.on_their_way.push(call);
                Ticket(self.on_their_way.len() as u64 - 1)
            }
        }
    }
}

impl GeneratorSource {
    /// The phase; its step is this source's from now on.
    #[inline]
    fn look_at_phase(&mut self) -> Phase {
        let phase = self.phase.get();
        if let Some(step) = phase.step() {
            self.step = step;
        }
        phase
    }

    fn settle(&mut self, end: Unsettled, now: Ticks) {
        let measured = self.look_at_phase().step().is_some();
        self.books[self.step].settle(end.call, end.committed, now, measured);
    }

    /// Settles all ends that are durable; whether there is room for another one.
    fn settle_durable(&mut self) -> bool {
        let Some((log, most)) = &self.log else { return true };
        let (horizon, most) = (log.horizon(), *most);
        if self.unsettled.front().is_some_and(|end| end.durable_in <= horizon) {
            let now = Ticks::now();
            let is_durable = |end: &mut Unsettled| end.durable_in <= horizon;
            while let Some(end) = self.unsettled.pop_front_if(is_durable) {
                self.settle(end, now);
            }
        }
        self.unsettled.len() < most
    }

    /// Waits for the end that came first to be durable.
    fn wait_for_oldest(&mut self) {
        let (Some((log, _)), Some(oldest)) = (&self.log, self.unsettled.front()) else { return };
        if let Err(failure) = log.wait_for(oldest.durable_in) {
            let books = &mut self.books[self.step];
            books.failures += self.unsettled.len() as u64;
            books.first_failure.get_or_insert_with(|| failure.to_string());
            self.unsettled.clear();
            self.calls = 0;
        }
    }
}

impl CallSource for GeneratorSource {
    fn fetch(&mut self, invocation: &mut Invocation) -> Fetch {
        if !self.settle_durable() {
            return Fetch::Empty;
        }
        if self.calls == 0 || self.look_at_phase() == Phase::Ended {
            return Fetch::Closed;
        }
        self.calls -= 1;
        let since = Ticks::now();
        let generator = &mut self.generators[self.step];
        let kind = generator.next(invocation);
        invocation.now_us = self.time.next(since);
        let tally = generator.tally();
        self.books[self.step].span.get_or_insert((since, since));
        Fetch::Ready(self.keep(OnItsWay { kind, tally, since }))
    }

    fn wait(&mut self) {
        self.wait_for_oldest();
    }

    fn finish(&mut self, ticket: Ticket, end: End<'_>) {
        let call = self.on_their_way[ticket.0 as usize];
        self.free.push(ticket.0 as u32);
        let (committed, durable_in) = match end {
            End::Committed { durable_in, .. } => (true, durable_in),
            End::Aborted { error, durable_in, .. } => {
                self.books[self.step].note_abort(call.kind, &error);
                (false, durable_in)
            }
        };
        let end = Unsettled { call, committed, durable_in };
        if self.log.is_some() {
            self.unsettled.push_back(end);
        } else {
            self.settle(end, Ticks::now());
        }
    }
}

impl Drop for GeneratorSource {
    fn drop(&mut self) {
        while !self.unsettled.is_empty() {
            self.wait_for_oldest();
            self.settle_durable();
        }
        // The driver may have given up; then nobody wants them.
        let _ = self.done.send(std::mem::take(&mut self.books));
    }
}

#[cfg(test)]
mod tests;
