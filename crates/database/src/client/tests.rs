use hotrow_base::sync::facade::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::ids::{ProcedureId, WorkerId};
use hotrow_base::interrupt::{Interrupt, Interruption, LOOK_EVERY};
use hotrow_engine::journal::{Committer, Journal};
use hotrow_engine::source::{CallSource, End, Fetch, OnCallers};
use hotrow_engine::statistics::CallTime;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::SqlError;

use super::cost::Costs;
use super::{ClientQueue, ClientSource, Ends, Mailbox, Patience, Priority, Refused};
use crate::config::Config;
use crate::once::Outcomes;

fn ends(threads: usize) -> Vec<Ends> {
    let journal = Arc::new(Journal::new(threads, None, None));
    let outcomes = Arc::new(Outcomes::of(&Config::default()));
    let of = |worker| Ends {
        outcomes: Arc::clone(&outcomes),
        committer: Committer::new(&journal, WorkerId(worker as u16)),
    };
    (0..threads).map(of).collect()
}

/// Fetches everything that comes and aborts it with its argument as the message.
fn serve(mut source: Box<dyn CallSource>, calls_max: usize) {
    let mut invocation = Invocation::default();
    let mut served = 0;
    while served < calls_max {
        match source.fetch(&mut invocation) {
            Fetch::Ready(ticket) => {
                let message = invocation.arguments.datums[0].as_int().to_string();
                source.finish(
                    ticket,
                    End::Aborted {
                        error: SqlError::new(b"P0001", message).into(),
                        durable_in: 0,
                        time: CallTime::default(),
                    },
                );
                served += 1;
            }
            Fetch::Empty => source.wait(),
            Fetch::Closed => return,
        }
    }
}

fn mailbox(argument: i64) -> Arc<Mailbox> {
    let mailbox = Arc::new(Mailbox::new(Arc::default()));
    mailbox.invocation.lock().arguments.push_int(argument);
    mailbox
}

#[test]
fn every_caller_gets_its_own_answer() {
    let (queue, sources) = ClientQueue::new(4, ends(2));
    std::thread::scope(|scope| {
        for source in sources {
            scope.spawn(move || serve(source, usize::MAX));
        }
        let clients: Vec<_> = (0..6)
            .map(|client| {
                let queue = &queue;
                scope.spawn(move || {
                    for call in 0..500 {
                        let argument = client * 1000 + call;
                        let answer = queue
                            .call(&mailbox(argument), Patience::default())
                            .expect("the queue is open");
                        let error = answer.answer.expect_err("all are aborted");
                        assert_eq!(error.message, argument.to_string());
                    }
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().expect("no client fails"));
        queue.drain();
    });
    assert!(matches!(queue.call(&mailbox(1), Patience::default()), Err(Refused::Closed)));
}

#[test]
fn calls_of_a_source_that_goes_are_answered() {
    let (queue, sources) = ClientQueue::new(8, ends(1));
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let queue = &queue;
                scope.spawn(move || queue.call(&mailbox(client), Patience::default()))
            })
            .collect();
        while queue.calls.len() < 4 {
            std::thread::yield_now();
        }
        // One is answered, one fetched and left, the others never fetched.
        for mut source in sources {
            let mut invocation = Invocation::default();
            let Fetch::Ready(ticket) = source.fetch(&mut invocation) else {
                panic!("four calls wait");
            };
            source.finish(
                ticket,
                End::Aborted {
                    error: SqlError::new(b"P0001", "").into(),
                    durable_in: 0,
                    time: CallTime::default(),
                },
            );
            assert!(matches!(source.fetch(&mut invocation), Fetch::Ready(_)));
        }
        let mut codes: Vec<_> = clients
            .into_iter()
            .map(|client| client.join().expect("no client fails"))
            .map(|end| end.expect("it was queued").answer.expect_err("none commits").sqlstate)
            .collect();
        codes.sort_unstable();
        assert_eq!(codes, [*b"57P02", *b"57P02", *b"57P02", *b"P0001"]);
    });
    assert!(matches!(queue.try_call(&mailbox(1), None), Err(Refused::Closed)));
}

#[test]
fn a_full_queue_is_told_without_waiting() {
    let (queue, sources) = ClientQueue::new(2, ends(1));
    std::thread::scope(|scope| {
        for client in 0..2 {
            let queue = &queue;
            scope.spawn(move || queue.call(&mailbox(client), Patience::default()));
        }
        while queue.calls.len() < queue.capacity() {
            std::thread::yield_now();
        }
        assert!(matches!(queue.try_call(&mailbox(9), None), Err(Refused::Full)));
        for source in sources {
            serve(source, 2);
        }
    });
}

#[test]
fn a_thread_leaves_work_for_the_others() {
    let (queue, mut sources) = ClientQueue::new(8, ends(2));
    std::thread::scope(|scope| {
        for client in 0..4 {
            let queue = &queue;
            scope.spawn(move || queue.call(&mailbox(client), Patience::default()));
        }
        while queue.calls.len() < 4 {
            std::thread::yield_now();
        }
        let mut invocation = Invocation::default();
        let first = &mut sources[0];
        // One of which nothing is known would be alone in its turn.
        queue.lengths.note(&Costs::default(), invocation.procedure, 1);
        assert!(matches!(first.fetch(&mut invocation), Fetch::Ready(_)));
        assert!(matches!(first.fetch(&mut invocation), Fetch::Ready(_)));
        assert_eq!(first.fetch(&mut invocation), Fetch::Empty, "two of four for one of two");
        drop(sources);
    });
}

/// One thread, and calls that are all there before it comes.
#[test]
fn calls_of_high_priority_are_taken_first_and_the_others_are_not_forgotten() {
    let (queue, mut sources) = ClientQueue::new(200, ends(1));
    let mut source = sources.pop().expect("there is one");
    let of = |priority: Priority, count| std::iter::repeat_n(priority, count);
    let calls = of(Priority::Low, 20).chain(of(Priority::Normal, 60)).chain(of(Priority::High, 60));
    let order = std::thread::scope(|scope| {
        for (number, priority) in calls.clone().enumerate() {
            let queue = &queue;
            scope.spawn(move || {
                let mailbox = mailbox(number as i64);
                mailbox.set_priority(priority);
                queue.call(&mailbox, Patience::default()).map(|_| ()).expect("the queue is open");
            });
        }
        while queue.calls.len() < 140 {
            std::thread::yield_now();
        }
        let all: Vec<_> = calls.collect();
        let mut invocation = Invocation::default();
        let mut order = Vec::new();
        while order.len() < all.len() {
            let Fetch::Ready(ticket) = source.fetch(&mut invocation) else { panic!("all wait") };
            order.push(all[invocation.arguments.datums[0].as_int() as usize]);
            let end = End::Aborted {
                error: SqlError::new(b"P0001", "no").into(),
                durable_in: 0,
                time: CallTime::default(),
            };
            source.finish(ticket, end);
        }
        order
    });
    let before = |end: usize, priority| order[..end].iter().filter(|of| **of == priority).count();
    assert_eq!(before(70, Priority::High), 60, "they come first: {order:?}");
    assert!(before(70, Priority::Normal) >= 8 && before(70, Priority::Low) == 1, "{order:?}");
    assert_eq!(before(140, Priority::Low), 20);
}

#[test]
fn a_call_that_waits_is_withdrawn_and_a_taken_one_is_not() {
    let (queue, mut sources) = ClientQueue::new(4, ends(1));
    let mut source = sources.pop().expect("there is one");
    let interrupt = Arc::new(Interrupt::default());
    let _running = interrupt.begin();
    let heeding = Patience { interrupt: Some(&interrupt), deadline: None };
    let given_up = mailbox(1);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| queue.call(&given_up, heeding));
        while queue.calls.is_empty() {
            std::thread::yield_now();
        }
        interrupt.cancel();
        let ended = waiting.join().expect("it ends well");
        assert!(matches!(ended, Err(Refused::Interrupted(Interruption::Request))), "{ended:?}");
        assert!(given_up.is_withdrawn());
        // The queue still has it, and nobody runs it.
        let mut invocation = Invocation::default();
        assert_eq!(source.fetch(&mut invocation), Fetch::Empty);
        let taken = scope.spawn(|| queue.call(&mailbox(2), heeding));
        let ticket = loop {
            match source.fetch(&mut invocation) {
                Fetch::Ready(ticket) => break ticket,
                _ => std::thread::yield_now(),
            }
        };
        assert_eq!(invocation.arguments.datums[0].as_int(), 2);
        std::thread::sleep(LOOK_EVERY * 3);
        assert!(!taken.is_finished(), "it waits for its end");
        let end = End::Aborted {
            error: SqlError::new(b"P0001", "no").into(),
            durable_in: 0,
            time: CallTime::default(),
        };
        source.finish(ticket, end);
        let reply = taken.join().expect("it ends well").expect("it was run");
        assert_eq!(reply.answer.expect_err("it failed").code(), "P0001");
    });
}

#[test]
fn a_call_that_no_thread_takes_by_its_deadline_is_late_and_is_not_run() {
    let (queue, mut sources) = ClientQueue::new(4, ends(1));
    let mut source = sources.pop().expect("there is one");
    let hurried = Patience { interrupt: None, deadline: Some(Duration::from_millis(20)) };
    let late = mailbox(1);
    let ended = queue.call(&late, hurried);
    assert!(matches!(ended, Err(Refused::Late)), "{ended:?}");
    let late = RefCell::new(late);
    Mailbox::renew(&late);
    assert!(!late.borrow().is_withdrawn(), "its session goes on with another one");
    let mut invocation = Invocation::default();
    assert_eq!(source.fetch(&mut invocation), Fetch::Empty);
    std::thread::scope(|scope| {
        let taken = scope.spawn(|| queue.call(&mailbox(2), hurried));
        let ticket = loop {
            match source.fetch(&mut invocation) {
                Fetch::Ready(ticket) => break ticket,
                _ => std::thread::yield_now(),
            }
        };
        std::thread::sleep(Duration::from_millis(60));
        assert!(!taken.is_finished(), "what was taken is waited for, late as it may be");
        let error = SqlError::new(b"P0001", "no").into();
        source.finish(ticket, End::Aborted { error, durable_in: 0, time: CallTime::default() });
        taken.join().expect("it ends well").expect("it was run");
    });
}

#[test]
fn a_queue_that_is_too_long_for_a_deadline_is_told_at_once() {
    let (queue, mut sources) = ClientQueue::new(64, ends(1));
    let mut source = sources.pop().expect("there is one");
    let mut invocation = Invocation::default();
    std::thread::scope(|scope| {
        let patient = |argument| {
            let queue = &queue;
            scope.spawn(move || queue.call(&mailbox(argument), Patience::default()).is_ok())
        };
        let waiting: Vec<_> = (0..8).map(patient).collect();
        while queue.calls.len() < 8 {
            std::thread::yield_now();
        }
        let mut serve = |source: &mut Box<dyn CallSource>| {
            let Fetch::Ready(ticket) = source.fetch(&mut invocation) else { return false };
            std::thread::sleep(Duration::from_millis(10));
            let error = SqlError::new(b"P0001", "no").into();
            source.finish(ticket, End::Aborted { error, durable_in: 0, time: CallTime::default() });
            true
        };
        assert!(queue.expected_wait(1).is_zero(), "nobody knows yet how long calls take");
        // A turn of all eight tells, when the next one begins.
        (0..8).for_each(|_| assert!(serve(&mut source)));
        assert!(!serve(&mut source), "there is none");
        assert!(waiting.into_iter().all(|call| call.join().expect("it ends well")));
        let more: Vec<_> = (0..4).map(patient).collect();
        while queue.calls.len() < 4 {
            std::thread::yield_now();
        }
        let expected = queue.expected_wait(1);
        assert!(expected >= Duration::from_millis(40), "4 calls of 10 ms each: {expected:?}");
        let deadline = Some(Duration::from_millis(5));
        let ended = queue.call(&mailbox(9), Patience { interrupt: None, deadline });
        assert!(matches!(ended, Err(Refused::Late)), "{ended:?}");
        assert_eq!(queue.calls.len(), 4, "it was not even queued");
        while serve(&mut source) {}
        assert!(more.into_iter().all(|call| call.join().expect("it ends well")));
    });
}

const LONG: ProcedureId = ProcedureId(1);
const SHORT: ProcedureId = ProcedureId(2);

/// Queues calls of a procedure that nobody waits for.
fn put(queue: &ClientQueue, procedure: ProcedureId, calls: usize) {
    for _ in 0..calls {
        let mailbox = mailbox(0);
        mailbox.invocation.lock().procedure = procedure;
        let lane = queue.choose_lane(&mailbox);
        assert!(queue.calls.try_push_to(lane, mailbox).is_ok(), "there is room");
    }
}

/// What a thread takes for a turn.
fn take_turn(source: &mut ClientSource) -> Vec<(ProcedureId, hotrow_engine::source::Ticket)> {
    let mut taken = Vec::new();
    let mut invocation = Invocation::default();
    while let Fetch::Ready(ticket) = source.fetch(&mut invocation) {
        taken.push((invocation.procedure, ticket));
    }
    taken
}

fn end_turn(source: &mut ClientSource, turn: Vec<(ProcedureId, hotrow_engine::source::Ticket)>) {
    for (procedure, ticket) in turn {
        let execute = if procedure == LONG { 1 << 40 } else { 1 };
        let time = CallTime { execute, ..CallTime::default() };
        let error = SqlError::new(b"P0001", "done").into();
        source.finish(ticket, End::Aborted { error, durable_in: 0, time });
    }
}

#[test]
fn a_crowd_of_long_calls_leaves_a_thread_to_short_ones() {
    let (queue, others) = ClientQueue::new(64, ends(2));
    let mut ends = ends(2).into_iter();
    let mut source = |number| {
        let mut source = ClientSource::new(&queue, number, ends.next().expect("two"));
        source.expects_short = Duration::from_secs(3600); // no pause of the test's ends it
        source
    };
    let (mut one, mut other) = (source(0), source(1));
    queue.lengths.note(&Costs::default(), LONG, 1 << 31);
    queue.lengths.note(&Costs::default(), SHORT, 1);
    put(&queue, LONG, 10);
    put(&queue, SHORT, 10);
    // One is due, and nobody is planned behind it (F1).
    let long = take_turn(&mut one);
    assert!(matches!(long[..], [(LONG, _)]), "{long:?}");
    // The other thread is the last one (F3).
    for _ in 0..3 {
        let short = take_turn(&mut other);
        assert!(!short.is_empty() && short.iter().all(|(of, _)| *of == SHORT), "{short:?}");
        end_turn(&mut other, short);
        put(&queue, SHORT, 5);
    }
    // Behind a long call short ones go first (F2).
    end_turn(&mut one, long);
    let short = take_turn(&mut one);
    assert!(!short.is_empty() && short.iter().all(|(of, _)| *of == SHORT), "{short:?}");
    end_turn(&mut one, short);
    // Where no short one waits, long ones run on all threads but the last.
    while Priority::SHORT.map(|lane| queue.waiting(lane)).sum::<usize>() > 0 {
        let short = take_turn(&mut other);
        end_turn(&mut other, short);
    }
    let long = take_turn(&mut one);
    assert!(matches!(long[..], [(LONG, _)]), "{long:?}");
    assert!(take_turn(&mut other).is_empty(), "short ones are expected");
    other.expects_short = Duration::ZERO;
    let second = take_turn(&mut other);
    assert!(matches!(second[..], [(LONG, _)]), "nobody else is: {second:?}");
    end_turn(&mut one, long);
    end_turn(&mut other, second);
    drop(others);
}

#[test]
fn a_call_that_turns_out_to_be_long_is_alone_in_its_turn() {
    let (queue, others) = ClientQueue::new(64, ends(1));
    let mut source = ClientSource::new(&queue, 0, ends(1).pop().expect("one"));
    put(&queue, LONG, 4);
    // Nothing is known of it.
    for _ in 0..4 {
        let turn = take_turn(&mut source);
        assert_eq!(turn.len(), 1, "{turn:?}");
        end_turn(&mut source, turn);
    }
    drop(others);
}

/// Aborts calls on their callers' threads, while it has a place.
struct Places {
    has_place: AtomicBool,
    runs: AtomicUsize,
}

impl OnCallers for Places {
    fn try_run(
        &self,
        _: usize,
        invocation: &mut Invocation,
        end: &mut (dyn FnMut(End<'_>) + Send),
    ) -> bool {
        if !self.has_place.load(Ordering::Relaxed) {
            return false;
        }
        self.runs.fetch_add(1, Ordering::Relaxed);
        let message = invocation.arguments.datums[0].as_int().to_string();
        let error = SqlError::new(b"P0001", message).into();
        end(End::Aborted { error, durable_in: 0, time: CallTime::default() });
        true
    }

    fn look_after(&self, _: usize, _: usize) {}

    fn end(&self) {}
}

#[test]
fn a_short_call_runs_on_its_callers_thread_where_there_is_a_place() {
    let (queue, sources) = ClientQueue::new(4, ends(1));
    let places = Arc::new(Places { has_place: AtomicBool::new(true), runs: AtomicUsize::new(0) });
    queue.set_on_callers(Some(Arc::<Places>::clone(&places)));
    let own = mailbox(0);
    let runs_after = |argument: i64, key: &str| {
        let mut invocation = own.invocation.lock();
        invocation.arguments.clear();
        invocation.arguments.push_int(argument);
        invocation.key = key.as_bytes().to_vec();
        drop(invocation);
        let answer = queue.call(&own, Patience::default()).expect("the queue is open");
        let error = answer.answer.expect_err("all are aborted");
        assert_eq!(error.message, argument.to_string());
        places.runs.load(Ordering::Relaxed)
    };
    std::thread::scope(|scope| {
        for source in sources {
            scope.spawn(move || serve(source, usize::MAX));
        }
        assert_eq!(runs_after(1, ""), 0, "nobody knows how long it takes");
        assert_eq!(runs_after(2, ""), 1);
        assert_eq!(runs_after(3, "key"), 1, "a key's outcome is told by a thread");
        places.has_place.store(false, Ordering::Relaxed);
        assert_eq!(runs_after(4, ""), 1);
        places.has_place.store(true, Ordering::Relaxed);
        assert_eq!(runs_after(5, ""), 2);
        queue.drain();
    });
    assert!(matches!(queue.call(&own, Patience::default()), Err(Refused::Closed)));
    assert_eq!(places.runs.load(Ordering::Relaxed), 2);
}
