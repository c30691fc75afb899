//! No false alarm: what some serial order explains is never flagged.
//!
//! Random programs are executed serially, each at one instant; then every transaction is stretched
//! in time around its instant, so that they overlap, and the order in which they are listed is
//! shuffled. Small random histories, mostly wrong ones, are also compared with a search through
//! all serial orders: for lists and indexes the verdicts must agree both ways.

mod toy;

use std::collections::BTreeMap;

use hotrow_history::{History, Op, Status, Transaction, check, format};
use proptest::prelude::*;
use rand::Rng;

use toy::FIRST_INDEX;
use toy::locks::{Hold, LockStore, Locking};
use toy::simulator::{Plan, Step, run};

/// How a transaction of a serial execution ends.
#[derive(Debug, Clone, Copy)]
enum Ending {
    Commit,
    Abort,
    /// The client hears nothing, but it took effect.
    SilentCommit,
    /// The client hears nothing, and it had no effect.
    SilentAbort,
}

#[derive(Debug, Clone)]
struct Program {
    steps: Vec<Step>,
    ending: Ending,
    /// How long before and after its instant it is invoked and completed.
    stretch: (u64, u64),
    /// Its place in the listing.
    place: u32,
}

fn step() -> impl Strategy<Value = Step> {
    (0..6u8, 0..3u64).prop_map(|(kind, key)| match kind {
        0 => Step::Append(key),
        1 => Step::Read(key),
        2 => Step::Append(FIRST_INDEX + key),
        3 => Step::Read(FIRST_INDEX + key),
        4 => Step::Write(10 + key),
        _ => Step::ReadRegister(10 + key),
    })
}

fn program(stretch_max: u64) -> impl Strategy<Value = Program> {
    let ending = prop_oneof![
        8 => Just(Ending::Commit),
        1 => Just(Ending::Abort),
        1 => Just(Ending::SilentCommit),
        1 => Just(Ending::SilentAbort),
    ];
    let steps = prop::collection::vec(step(), 0..6);
    let stretch = (0..=stretch_max, 0..=stretch_max);
    (steps, ending, stretch, any::<u32>()).prop_map(|(steps, ending, stretch, place)| Program {
        steps,
        ending,
        stretch,
        place,
    })
}

/// Executes the programs one after another, ten nanoseconds apart.
fn execute(programs: &[Program]) -> History {
    let mut state: BTreeMap<u64, Vec<i64>> = BTreeMap::new();
    let mut value = 0;
    let mut listed = Vec::new();
    for (id, program) in (0..).zip(programs) {
        let mut after = state.clone();
        let ops = program.steps.iter().map(|step| {
            value += 1;
            perform(&mut after, *step, value)
        });
        let instant = 1_000 + 10 * id;
        let (before, behind) = program.stretch;
        let ops = ops.collect();
        let txn = Transaction::committed(id, id, instant - before, instant + behind, ops);
        let (txn, effect) = match program.ending {
            Ending::Commit => (txn, true),
            Ending::Abort => (txn.with_status(Status::Aborted), false),
            Ending::SilentCommit => (txn.with_status(Status::Unknown), true),
            Ending::SilentAbort => (txn.with_status(Status::Unknown), false),
        };
        if effect {
            state = after;
        }
        listed.push((program.place, txn));
    }
    listed.sort_by_key(|(place, _)| *place);
    History::new(listed.into_iter().map(|(_, txn)| txn).collect())
}

fn perform(state: &mut BTreeMap<u64, Vec<i64>>, step: Step, value: i64) -> Op {
    let list =
        |key: u64, state: &mut BTreeMap<u64, Vec<i64>>| state.entry(key).or_default().clone();
    match step {
        Step::Append(key) | Step::Write(key) => {
            state.entry(key).or_default().push(value);
            if matches!(step, Step::Write(_)) {
                Op::write(key, value)
            } else {
                Op::append(key, value)
            }
        }
        Step::Read(key) if key >= FIRST_INDEX => {
            let mut entries = list(key, state);
            entries.reverse();
            Op::scan(key, entries)
        }
        Step::Read(key) => Op::read(key, list(key, state)),
        Step::ReadRegister(key) => Op::read_register(key, list(key, state).last().copied()),
    }
}

fn nonsense() -> impl Strategy<Value = Transaction> {
    let values = || prop::collection::vec(0..5i64, 0..5);
    let op = prop_oneof![
        (0..4u64, 0..5i64).prop_map(|(key, value)| Op::append(key, value)),
        (0..3u64, values()).prop_map(|(key, values)| Op::read(key, values)),
        (1..4u64, values()).prop_map(|(key, values)| Op::scan(key, values)),
        (3..6u64, 0..5i64).prop_map(|(key, value)| Op::write(key, value)),
        (3..6u64, prop::option::of(0..5i64)).prop_map(|(key, value)| Op::read_register(key, value)),
    ];
    let status = prop_oneof![
        4 => Just(Status::Committed), 1 => Just(Status::Aborted), 1 => Just(Status::Unknown),
    ];
    let completed = prop::option::weighted(0.9, 0..100u64);
    (0..20u64, 0..4u64, 0..100u64, completed, status, prop::collection::vec(op, 0..6)).prop_map(
        |(id, process, invoked_ns, completed_ns, status, ops)| Transaction {
            id,
            process,
            invoked_ns,
            completed_ns,
            status,
            ops,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn serial_executions_are_clean(programs in prop::collection::vec(program(4), 0..60)) {
        let report = check(&execute(&programs));
        prop_assert!(report.is_clean(), "{report}");
    }

    #[test]
    fn stretched_serial_executions_are_clean(
        programs in prop::collection::vec(program(200), 0..60),
    ) {
        let report = check(&execute(&programs));
        prop_assert!(report.is_clean(), "{report}");
    }

    /// Nonsense is judged, not panicked at; and neither format chokes on it.
    #[test]
    fn arbitrary_histories_are_survived(transactions in prop::collection::vec(nonsense(), 0..20)) {
        let history = History::new(transactions);
        prop_assert!(!check(&history).to_string().is_empty());
        let mut text = Vec::new();
        format::elle::write(&history, &mut text).expect("everything can be written");
        let text = String::from_utf8(text).expect("EDN is text");
        let back = format::elle::read(&text).expect("just written");
        prop_assert_eq!(back.transactions.len(), history.transactions.len());
        let _ = format::dbcop::write(&history, std::io::sink());
    }

    #[test]
    fn arbitrary_text_is_survived(text in "[\\[\\]{}()#:;\"\\\\ 0-9a-dé\u{a0}-]{0,40}") {
        let _ = format::elle::read(&text);
    }

    /// A store without any lock, few transactions: often right, often wrong.
    #[test]
    fn verdicts_agree_with_a_search_of_all_orders(seed: u64, lists_only: bool, holds in 0..4u8) {
        let history = small_history(seed, lists_only, holds);
        let report = check(&history);
        let explained = some_order_explains(&history);
        if explained || lists_only {
            prop_assert_eq!(report.is_clean(), explained, "{}\n{:#?}", report, history);
        }
    }
}

fn small_history(seed: u64, lists_only: bool, holds: u8) -> History {
    let hold = |bit: u8| if holds & bit == 0 { Hold::Never } else { Hold::Briefly };
    let locking = Locking { reads: hold(1), writes: hold(2), indexes: hold(1) };
    let plan = Plan {
        seed,
        processes: 3,
        transactions_per_process: 2,
        rollback_percent: 10,
        in_rounds: false,
    };
    run(&mut LockStore::new(locking), plan, |random, _| {
        let steps = random.random_range(1..4);
        let mut step = || {
            let key = random.random_range(0..2);
            match random.random_range(0..if lists_only { 5 } else { 8 }) {
                0 => Step::Append(key),
                1 | 2 => Step::Read(key),
                3 => Step::Append(FIRST_INDEX),
                4 => Step::Read(FIRST_INDEX),
                5 => Step::Write(10 + key),
                _ => Step::ReadRegister(10 + key),
            }
        };
        (0..steps).map(|_| step()).collect()
    })
}

/// Tries all serial orders of the committed transactions that respect real time.
fn some_order_explains(history: &History) -> bool {
    let committed: Vec<&Transaction> =
        history.transactions.iter().filter(|txn| txn.status == Status::Committed).collect();
    extend(&committed, &BTreeMap::new())
}

fn extend(left: &[&Transaction], state: &BTreeMap<u64, Vec<i64>>) -> bool {
    let first_completion = left.iter().filter_map(|txn| txn.completed_ns).min();
    left.is_empty()
        || (0..left.len()).any(|choice| {
            let mut rest = left.to_vec();
            let txn = rest.remove(choice);
            let in_time = first_completion.is_none_or(|completed| txn.invoked_ns <= completed);
            let mut after = state.clone();
            in_time && txn.ops.iter().all(|op| holds(&mut after, op)) && extend(&rest, &after)
        })
}

/// Whether a serial execution in this state gives what was recorded.
fn holds(state: &mut BTreeMap<u64, Vec<i64>>, op: &Op) -> bool {
    let list = state.entry(op.key()).or_default();
    match op {
        Op::Append { value, .. } | Op::Write { value, .. } => {
            list.push(*value);
            true
        }
        Op::Read { values, .. } => values == list,
        Op::Scan { values, .. } => {
            let (mut found, mut held) = (values.clone(), list.clone());
            found.sort_unstable();
            held.sort_unstable();
            found == held
        }
        Op::ReadRegister { value, .. } => *value == list.last().copied(),
    }
}
