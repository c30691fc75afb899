use std::sync::Arc;

use hotrow_base::ids::WorkerId;
use hotrow_log::position::Position;

use super::{Committer, Effect, Journal};
use crate::trace::SerialTrace;

const WRITE: Effect = Effect::Write { hash: 1 };

fn traced() -> Arc<Journal> {
    Arc::new(Journal::new(3, None, Some(Arc::new(SerialTrace::default()))))
}

fn at(time: u64) -> Position {
    Position { epoch: 0, time }
}

#[test]
fn without_log_and_trace_there_are_no_positions() {
    let journal = Arc::new(Journal::new(1, None, None));
    let committer = Committer::new(&journal, WorkerId(0));
    for effect in [Effect::Read, WRITE] {
        let commit = committer.commit(at(7), effect).expect("nothing can fail");
        assert_eq!(commit.position(), Position::default());
    }
}

#[test]
fn a_position_follows_what_was_met() {
    let committer = Committer::new(&traced(), WorkerId(1));
    for (met, effect, position) in [(0, WRITE, 1), (5, WRITE, 6), (2, Effect::Read, 3)] {
        let commit = committer.commit(at(met), effect).expect("there is no log to fail");
        assert_eq!(commit.position(), at(position), "after {met}");
    }
}

#[test]
fn what_runs_alone_follows_all_and_precedes_all() {
    let journal = traced();
    let committer = |worker| Committer::new(&journal, WorkerId(worker));
    let (quiet, one, two) = (committer(0), committer(1), committer(2));
    let _ = one.commit(at(40), WRITE).expect("there is no log to fail");
    let _ = two.commit(at(3), WRITE).expect("there is no log to fail");
    // A worker's positions need not ascend; what counts is the greatest.
    let _ = one.commit(at(0), WRITE).expect("there is no log to fail");
    let alone = quiet.commit_alone(WRITE).expect("there is no log to fail");
    assert_eq!(alone.position(), at(42));
    // A worker whose locks were never tagged comes after it all the same.
    let later = two.commit(Position::default(), WRITE).expect("there is no log to fail");
    assert_eq!(later.position(), at(43));
    // So does one of another engine.
    assert_eq!(journal.cut(), at(43));
    let next = one.commit(Position::default(), WRITE).expect("there is no log to fail");
    assert_eq!(next.position(), at(44));
}
