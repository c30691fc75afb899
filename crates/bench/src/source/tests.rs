use super::*;
use crate::books::Ends;
use hotrow::{ProcedureId, SqlError};
use hotrow_workloads::TransactionKind;
use std::sync::mpsc::{Receiver, channel};

const KIND: TransactionKind = TransactionKind(0);

/// Calls nothing, counts 3 each.
struct Threes;

impl Generator for Threes {
    fn next(&mut self, invocation: &mut Invocation) -> TransactionKind {
        invocation.procedure = ProcedureId(7);
        KIND
    }

    fn tally(&self) -> u64 {
        3
    }
}

fn source(
    calls: u64,
    phase: Phase,
    aborts: f64,
) -> (GeneratorSource, Arc<PhaseFlag>, Receiver<Vec<SourceBooks>>) {
    let (sender, done) = channel();
    let phase = Arc::new(PhaseFlag::new(phase));
    let source = GeneratorSource::new(SourceParts {
        generators: vec![Box::new(Threes), Box::new(Threes)],
        kinds: vec![KindInfo { name: "three", share: 1.0, aborts }],
        phase: Arc::clone(&phase),
        calls,
        time: CallTime::Counted { us: 10 },
        in_flight: 4,
        log: None,
        done: sender,
    });
    (source, phase, done)
}

fn fetch(source: &mut GeneratorSource) -> Option<(Ticket, i64)> {
    let mut invocation = Invocation::default();
    match source.fetch(&mut invocation) {
        Fetch::Ready(ticket) => Some((ticket, invocation.now_us)),
        _ => None,
    }
}

fn abort(source: &mut GeneratorSource, ticket: Ticket, code: &[u8; 5]) {
    source.finish(
        ticket,
        End::Aborted {
            error: SqlError::new(code, "no").into(),
            durable_in: 0,
            time: hotrow::CallTime::default(),
        },
    );
}

#[test]
fn it_closes_after_its_calls_and_tickets_come_again() {
    let (mut source, _, done) = source(3, Phase::Measure(0), 1.0);
    let (first, time) = fetch(&mut source).expect("there are three");
    let (second, _) = fetch(&mut source).expect("there are three");
    assert!(first != second && time == 11);
    abort(&mut source, first, b"P0001");
    assert_eq!(fetch(&mut source), Some((first, 13)));
    assert_eq!(fetch(&mut source), None);
    drop(source);
    let [books, _] = &done.recv().expect("books come when the source is dropped")[..] else {
        panic!("there are two steps")
    };
    assert_eq!(books.measured(), Ends { committed: 0, user_aborts: 1 });
    assert_eq!(books.failures, 0);
    assert!(done.recv().is_err(), "and only once");
}

#[test]
fn only_the_measured_phase_is_measured() {
    let (mut source, phase, done) = source(u64::MAX, Phase::WarmUp, 1.0);
    for (now, _) in [(Phase::WarmUp, 0), (Phase::Measure(0), 1)] {
        phase.set(now);
        let (ticket, _) = fetch(&mut source).expect("it is endless");
        abort(&mut source, ticket, b"P0001");
    }
    phase.set(Phase::Ended);
    assert_eq!(fetch(&mut source), None);
    drop(source);
    let [books, _] = &done.recv().expect("books come when the source is dropped")[..] else {
        panic!("there are two steps")
    };
    assert_eq!(books.measured().user_aborts, 1);
    assert_eq!(books.all().user_aborts, 2);
}

#[test]
fn aborts_that_nobody_asked_for_are_failures() {
    for (aborts, code, failures) in [(1.0, b"23505", 1), (0.0, b"P0001", 1), (0.5, b"P0001", 0)] {
        let (mut source, _, done) = source(1, Phase::Measure(0), aborts);
        let (ticket, _) = fetch(&mut source).expect("there is one");
        abort(&mut source, ticket, code);
        drop(source);
        let [books, _] = &done.recv().expect("books come when the source is dropped")[..] else {
            panic!("there are two steps")
        };
        assert_eq!((books.failures, books.first_failure.is_some()), (failures, failures == 1));
    }
}

#[test]
fn each_step_has_books_of_its_own() {
    let (mut source, phase, done) = source(u64::MAX, Phase::WarmUp, 1.0);
    let phases = [Phase::WarmUp, Phase::Measure(0), Phase::Measure(1), Phase::Measure(1)];
    for now in phases {
        phase.set(now);
        let (ticket, _) = fetch(&mut source).expect("it is endless");
        abort(&mut source, ticket, b"P0001");
    }
    phase.set(Phase::Ended);
    drop(source);
    let books = done.recv().expect("books come when the source is dropped");
    let counted = |books: &SourceBooks| (books.measured().user_aborts, books.all().user_aborts);
    assert_eq!(books.iter().map(counted).collect::<Vec<_>>(), [(1, 2), (2, 2)]);
}
