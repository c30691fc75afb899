//! What instances of calls leave behind for whoever has called: rows, what was said, failures.
//!
//! Role         kept by each who runs instances, as they come; put together, in the order of the
//!              procedure, by the one who tells how the call has ended
//! Invariants   I1 rows and notices of a call stand in the order of its instances, whoever has run
//!              these when; of a call that has failed, those of the instances before are told

use std::ops::Range;

use hotrow_base::sync::Latch;
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::frame::{Frame, RowStore, StoredRows};
use hotrow_transaction::outcome::{SqlError, Stop};

/// What instances that one thread has run have returned. Memory is used again.
#[derive(Default, Debug)]
pub struct Returned {
    rows: RowStore,
    /// by instance: where they lie
    places: Vec<(u32, StoredRows)>,
}

impl Returned {
    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.places.clear();
    }

    /// Takes the rows that an instance has returned, and what it said, out of a frame.
    pub fn keep(&mut self, instance: u32, program: &Program, frame: &mut Frame) {
        let rows = frame.keep_rows(program, &mut self.rows);
        self.places.push((instance, rows));
    }
}

/// What several threads have kept, in the order of the instances. Memory is used again.
#[derive(Default, Debug)]
pub struct Gathered {
    /// instance, who has run it, and the place there
    all: Vec<(u32, usize, usize)>,
    /// which comes next
    next: usize,
}

impl Gathered {
    /// Begins with what these have kept.
    pub fn gather<K: AsRef<Returned>>(&mut self, keepers: &[Latch<K>]) {
        self.all.clear();
        self.next = 0;
        for (keeper, kept) in keepers.iter().enumerate() {
            let kept = kept.lock();
            let places = kept.as_ref().places.iter().enumerate();
            self.all.extend(places.map(|(at, &(instance, _))| (instance, keeper, at)));
        }
        self.all.sort_unstable();
    }

    /// Puts what instances before one have left into a frame, behind what is there; `program`: what
    /// an instance runs.
    pub fn add<'p, K: AsRef<Returned>>(
        &mut self,
        before: u32,
        keepers: &[Latch<K>],
        program: impl Fn(u32) -> &'p Program,
        frame: &mut Frame,
    ) {
        let next = self.pass(before);
        self.put(next, keepers, program, frame);
    }

    /// Goes on to what comes behind instances before one; where what those have left stands here.
    pub fn pass(&mut self, before: u32) -> Range<usize> {
        let (first, left) = (self.next, self.all[self.next..].iter());
        self.next += left.take_while(|&&(instance, ..)| instance < before).count();
        first..self.next
    }

    /// Puts what stands there into a frame, as [`Gathered::add`].
    pub fn put<'p, K: AsRef<Returned>>(
        &self,
        range: Range<usize>,
        keepers: &[Latch<K>],
        program: impl Fn(u32) -> &'p Program,
        frame: &mut Frame,
    ) {
        for &(instance, keeper, at) in &self.all[range] {
            let kept = keepers[keeper].lock();
            let Returned { rows, places } = kept.as_ref();
            frame.add_rows(program(instance), rows, &places[at].1);
        }
    }
}

/// An instance has failed.
#[derive(Debug)]
pub struct Fault {
    /// which
    pub instance: u32,
    /// how
    pub stop: Stop,
    /// what went wrong, if that was an error
    pub error: Option<SqlError>,
}

impl Fault {
    /// That of an instance that was run in this frame, out of which the error is taken.
    pub fn of(instance: u32, stop: Stop, frame: &mut Frame) -> Self {
        let error = if stop == Stop::Error { frame.take_error() } else { None };
        Self { instance, stop, error }
    }

    /// What stands in a frame was said before it.
    pub fn follow(&mut self, frame: &Frame) {
        if let Some(error) = &mut self.error {
            error.notices.splice(..0, frame.notices().iter().cloned());
        }
    }

    /// Puts it into a frame, behind what was said there; how it has failed.
    pub fn tell(&mut self, frame: &mut Frame) -> Stop {
        self.follow(frame);
        if self.error.is_some() {
            frame.machine.error = self.error.take();
        }
        self.stop
    }
}
