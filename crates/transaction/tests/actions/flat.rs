//! Runs a call by its flat actions, in some order that keeps those of one granule in theirs.

use std::collections::HashMap;

use hotrow_base::datum::Datum;
use hotrow_transaction::actions::{Batch, Captured, FlatAction, FlatLeaf, FlatOutcomes, FlatSink};
use hotrow_transaction::frame::Frame;
use hotrow_transaction::granule::LockMode;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::{SqlError, Stop};
use hotrow_transaction::program::ROW_COUNT;
use hotrow_transaction::reference::ModelStore;
use rand::Rng;
use rand::rngs::SmallRng;

use crate::compare::{Ended, Subject};

/// A value and its bytes, if it has some.
type Kept = (Datum, Option<Vec<u8>>);

fn keep(frame: &Frame, datum: Datum, has_bytes: bool) -> Kept {
    let has_bytes = has_bytes && !datum.is_null();
    (datum, has_bytes.then(|| frame.heap()[datum.as_range().range()].to_vec()))
}

fn give(frame: &mut Frame, (datum, bytes): &Kept) -> Datum {
    bytes.as_ref().map_or(*datum, |bytes| frame.machine.keep(bytes))
}

struct Taken {
    leaf: u16,
    key: Vec<u8>,
    hash: u64,
    lock: u64,
    mode: LockMode,
    captured: Captured,
    made: Option<Result<Vec<Kept>, Stop>>,
    error: Option<SqlError>,
}

/// Takes so many actions.
struct Sink(Vec<Taken>, usize);

impl FlatSink for Sink {
    fn take(&mut self, action: FlatAction<'_>, leaf: &FlatLeaf) -> bool {
        if self.0.len() == self.1 {
            return false;
        }
        self.0.push(Taken {
            leaf: action.leaf,
            key: action.key.to_vec(),
            hash: action.hash,
            lock: action.lock,
            mode: leaf.granule().1,
            captured: action.captured,
            made: None,
            error: None,
        });
        true
    }
}

struct Outcomes {
    taken: std::vec::IntoIter<Taken>,
    error: Option<SqlError>,
}

impl FlatOutcomes for Outcomes {
    fn next(&mut self, leaf: &FlatLeaf, frame: &mut Frame) -> Result<(), Stop> {
        let taken = self.taken.next().expect("the tail reaches what planning reached");
        let made = taken.made.expect("all have run");
        self.error = taken.error;
        for (&slot, kept) in leaf.outputs.iter().zip(&made?) {
            let datum = give(frame, kept);
            frame.set_slot(slot, datum);
        }
        Ok(())
    }
}

impl Subject<'_> {
    /// The call by its flat actions; none if it has no such form.
    pub fn flat(
        &self,
        store: &ModelStore,
        invocation: &Invocation,
        random: &mut SmallRng,
    ) -> Option<Ended> {
        let flat = self.actions.flat.as_ref()?;
        let (mut batch, mut frame) = <(Batch, Frame)>::default();
        let room = random.random_range(0..4);
        if !flat.plan(&mut batch, invocation, &mut frame, &mut Sink(Vec::new(), room)) {
            let nothing = format!("{:?}", Batch::default());
            assert_eq!(format!("{batch:?}"), nothing, "a call that is not flat leaves nothing");
        }
        batch.clear();
        let mut sink = Sink(Vec::new(), usize::MAX);
        if !flat.plan(&mut batch, invocation, &mut frame, &mut sink) {
            return None;
        }
        let mut taken = sink.0;
        let mut access = self.checked(store);
        let mut row_count = Datum::int(0);
        frame.begin_code(&self.actions.program);
        for _ in 0..taken.len() {
            let waiting: Vec<_> = (0..taken.len()).filter(|&at| taken[at].made.is_none()).collect();
            let drawn = waiting[random.random_range(0..waiting.len())];
            let is_first = |at: &&usize| taken[**at].lock == taken[drawn].lock;
            let &at = waiting.iter().find(is_first).expect("the one that was drawn is there");
            let is_last = at + 1 == taken.len();
            let own = &mut taken[at];
            let leaf = flat.leaf(own.leaf);
            access.held = Some(HashMap::from([(own.lock, own.mode)]));
            frame.begin_leaf(&self.actions.program);
            leaf.give(&batch, own.captured, &mut frame);
            let key = (&own.key[..], own.hash);
            if let Some(simple) = &leaf.simple
                && random.random_bool(0.5)
                && let Ok(Some(record)) = leaf.find(key, &mut access)
            {
                let captured = |at: usize| own.captured.value(&batch, at);
                let mut made = Vec::new();
                let make = |_, datum| made.push((datum, None));
                let done = leaf.run_simple(simple, record, &mut access, captured, make);
                if done == Ok(true) {
                    own.made = Some(Ok(made));
                    row_count = if is_last { Datum::int(1) } else { row_count };
                    continue;
                }
            }
            let ran = leaf.run(&self.actions.program, key, &mut frame, &mut access);
            let outputs = leaf.outputs.iter().enumerate();
            let kept = |(at, &slot)| keep(&frame, frame.slot(slot), leaf.makes_bytes(at));
            own.made = Some(ran.map(|()| outputs.map(kept).collect()));
            if is_last {
                row_count = frame.slot(ROW_COUNT);
            }
            own.error = frame.take_error();
        }
        let failed = taken.iter().any(|taken| matches!(taken.made, Some(Err(_))));
        let mut outcomes = Outcomes { taken: taken.into_iter(), error: None };
        let ended = flat.run_tail(invocation, &mut frame, &mut outcomes);
        assert!(!failed || ended.is_err(), "the tail reaches what has failed");
        frame.set_slot(ROW_COUNT, row_count);
        Some(match ended {
            Ok(()) => {
                let rows = frame.take_rows(flat.tail());
                Ended::Rows(rows, access.store.dump())
            }
            Err(Stop::Error) => {
                let error = frame.take_error().or_else(|| {
                    let mut error = outcomes.error?;
                    error.notices.splice(..0, frame.notices().iter().cloned());
                    Some(error)
                });
                Ended::Error(Box::new(error.expect("an error has a text")))
            }
            Err(other) => panic!("stopped: {other:?}"),
        })
    }
}
