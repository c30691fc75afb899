use super::*;
use crate::history::{Op, Status, Transaction};
use crate::report::AnomalyClass::{self, *};

/// A transaction that overlaps with all others made by this function.
fn txn(id: u64, ops: impl Into<Vec<Op>>) -> Transaction {
    timed(id, 0, 100, ops)
}

fn timed(id: u64, from: u64, to: u64, ops: impl Into<Vec<Op>>) -> Transaction {
    Transaction::committed(id, id, from, to, ops.into())
}

fn aborted(id: u64, ops: impl Into<Vec<Op>>) -> Transaction {
    txn(id, ops).with_status(Status::Aborted)
}

fn unknown(id: u64, ops: impl Into<Vec<Op>>) -> Transaction {
    Transaction { completed_ns: None, ..txn(id, ops).with_status(Status::Unknown) }
}

fn a(key: u64, value: i64) -> Op {
    Op::append(key, value)
}

fn r<const N: usize>(key: u64, values: [i64; N]) -> Op {
    Op::read(key, values)
}

fn s<const N: usize>(key: u64, values: [i64; N]) -> Op {
    Op::scan(key, values)
}

fn w(key: u64, value: i64) -> Op {
    Op::write(key, value)
}

fn g(key: u64, value: impl Into<Option<i64>>) -> Op {
    Op::read_register(key, value)
}

/// Checks that exactly these classes are found, whatever the order of the transactions.
fn expect(name: &str, classes: &[AnomalyClass], mut transactions: Vec<Transaction>) {
    for _ in 0..2 {
        let report = check(&History::new(transactions.clone()));
        assert_eq!(report.classes(), classes, "{name}: {report}");
        transactions.reverse();
    }
}

#[test]
fn clean_histories() {
    expect("nothing", &[], vec![]);
    expect("one", &[], vec![txn(1, [a(1, 1), r(1, [1]), a(1, 2), r(1, [1, 2])])]);
    let lists = [txn(1, [a(1, 1)]), txn(2, [r(1, [1]), a(1, 2)]), txn(3, [r(1, [1, 2])])];
    expect("lists", &[], lists.to_vec());
    expect("unread appends", &[], vec![txn(1, [a(1, 1)]), txn(2, [a(1, 2)]), txn(3, [r(1, [])])]);
    let late = [timed(1, 0, 9, [a(1, 1)]), timed(2, 5, 20, [r(1, [])])];
    expect("overlapping reader misses", &[], late.to_vec());
    expect("aborted, not read", &[], vec![aborted(1, [a(1, 1), r(2, [7])]), txn(2, [r(1, [])])]);
    expect("unknown, read", &[], vec![unknown(1, [a(1, 1), r(2, [7])]), txn(2, [r(1, [1])])]);
    expect("unknown, not read", &[], vec![unknown(1, [a(1, 1)]), timed(2, 200, 201, [r(1, [])])]);
    let scans = [txn(1, [a(9, 1), a(9, 2), s(9, [2, 1])]), txn(2, [s(9, [1, 2]), a(9, 3)])];
    expect("scans", &[], scans.to_vec());
    let registers = [txn(1, [w(1, 1)]), txn(2, [g(1, 1), w(1, 2), g(1, 2)]), txn(3, [g(1, None)])];
    expect("registers", &[], registers.to_vec());
}

#[test]
fn single_reads() {
    expect("garbage", &[GarbageRead], vec![txn(1, [r(1, [5])])]);
    expect("garbage register", &[GarbageRead], vec![txn(1, [g(1, 5)])]);
    expect("garbage scan", &[GarbageRead], vec![txn(1, [s(1, [5])])]);
    expect("twice", &[DuplicateElements], vec![txn(1, [a(1, 5)]), txn(2, [r(1, [5, 5])])]);
    let same = [txn(1, [a(1, 5)]), txn(2, [a(1, 5)])];
    expect("written twice", &[DuplicateElements], same.to_vec());
    expect("G1a", &[AbortedRead], vec![aborted(1, [a(1, 1)]), txn(2, [r(1, [1])])]);
    expect("G1a scan", &[AbortedRead], vec![aborted(1, [a(1, 1)]), txn(2, [s(1, [1])])]);
    expect("G1a register", &[AbortedRead], vec![aborted(1, [w(1, 1)]), txn(2, [g(1, 1)])]);
    expect(
        "G1a, gone again later",
        &[AbortedRead],
        vec![aborted(1, [a(1, 1)]), txn(2, [r(1, [1])]), txn(3, [a(1, 2)]), txn(4, [r(1, [2])])],
    );
    let halves = [txn(1, [a(1, 1), a(1, 2)]), txn(2, [r(1, [1])])];
    expect("G1b", &[IntermediateRead], halves.to_vec());
    let more = [halves[0].clone(), halves[1].clone(), txn(3, [r(1, [1, 2])])];
    expect("G1b, order known", &[IntermediateRead], more.to_vec());
    let registers = [txn(1, [w(1, 1), w(1, 2)]), txn(2, [g(1, 1)])];
    expect("G1b register", &[IntermediateRead], registers.to_vec());
}

#[test]
fn internal_inconsistencies() {
    expect("own append", &[InternalInconsistency], vec![txn(1, [a(1, 1), r(1, [])])]);
    expect("own entry", &[InternalInconsistency], vec![txn(1, [a(1, 1), s(1, [])])]);
    let changed = [txn(1, [w(1, 1)]), txn(2, [w(1, 2), g(1, 1)])];
    expect("own write", &[InternalInconsistency], changed.to_vec());
    let twice = [txn(1, [w(1, 1)]), txn(2, [g(1, None), g(1, 1)])];
    let report = check(&History::new(twice.to_vec()));
    assert!(report.has(InternalInconsistency), "{report}");
}

#[test]
fn orders_that_disagree() {
    expect(
        "incompatible order",
        &[IncompatibleOrder],
        vec![txn(1, [a(1, 1)]), txn(2, [a(1, 2)]), txn(3, [r(1, [1])]), txn(4, [r(1, [2])])],
    );
}

#[test]
fn write_and_information_cycles() {
    expect(
        "G0",
        &[WriteCycle],
        vec![
            txn(1, [a(1, 1), a(2, 1)]),
            txn(2, [a(1, 2), a(2, 2)]),
            txn(3, [r(1, [1, 2]), r(2, [2, 1])]),
        ],
    );
    expect(
        "G1c",
        &[CircularInformationFlow],
        vec![txn(1, [a(1, 1), r(2, [2])]), txn(2, [a(2, 2), r(1, [1])])],
    );
    expect(
        "G1c of Elle's README",
        &[CircularInformationFlow],
        vec![txn(1, [a(1, 1), r(2, [1])]), txn(2, [a(1, 2), a(2, 1)]), txn(3, [r(1, [1, 2])])],
    );
    expect(
        "G1c registers",
        &[CircularInformationFlow],
        vec![txn(1, [w(1, 1), g(2, 2)]), txn(2, [w(2, 2), g(1, 1)])],
    );
}

#[test]
fn anti_dependency_cycles() {
    let lost = [txn(1, [r(1, []), a(1, 1)]), txn(2, [r(1, []), a(1, 2)])];
    expect("lost update, unread", &[LostUpdate], lost.to_vec());
    let known = [lost[0].clone(), lost[1].clone(), txn(3, [r(1, [1, 2])])];
    expect("lost update", &[LostUpdate], known.to_vec());
    let registers = [txn(1, [g(1, None), w(1, 1)]), txn(2, [g(1, None), w(1, 2)])];
    expect("lost update register", &[LostUpdate], registers.to_vec());
    expect(
        "G-single",
        &[ReadSkew],
        vec![txn(1, [a(1, 1), a(2, 1)]), txn(2, [r(1, []), r(2, [1])])],
    );
    expect(
        "G-single, one list read twice",
        &[ReadSkew],
        vec![txn(1, [a(1, 1)]), txn(2, [r(1, []), r(1, [1])])],
    );
    expect(
        "G-single registers",
        &[ReadSkew],
        vec![txn(1, [w(1, 1), w(2, 1)]), txn(2, [g(1, None), g(2, 1)])],
    );
    expect(
        "write skew",
        &[WriteSkew],
        vec![txn(1, [r(1, []), a(2, 1)]), txn(2, [r(2, []), a(1, 1)])],
    );
    expect(
        "write skew registers",
        &[WriteSkew],
        vec![
            txn(1, [w(1, 1), w(2, 1)]),
            txn(2, [g(1, 1), g(2, 1), w(1, 2)]),
            txn(3, [g(1, 1), g(2, 1), w(2, 2)]),
        ],
    );
    expect(
        "long fork",
        &[LongFork],
        vec![
            txn(1, [a(1, 1)]),
            txn(2, [a(2, 1)]),
            txn(3, [r(1, [1]), r(2, [])]),
            txn(4, [r(1, []), r(2, [1])]),
        ],
    );
}

#[test]
fn phantoms() {
    let skew = [txn(1, [s(9, []), a(9, 1)]), txn(2, [s(9, []), a(9, 2)])];
    expect("both scan, both insert", &[Phantom], skew.to_vec());
    let again = [txn(1, [a(9, 1)]), txn(2, [s(9, []), s(9, [1])])];
    expect("an entry appears", &[Phantom], again.to_vec());
    let torn = [txn(1, [a(9, 1), a(1, 1)]), txn(2, [s(9, []), r(1, [1])])];
    expect("scan misses, read sees", &[Phantom], torn.to_vec());
    let fork = [txn(1, [a(9, 1)]), txn(2, [a(9, 2)]), txn(3, [s(9, [1])]), txn(4, [s(9, [2])])];
    expect("two scans, two stories", &[Phantom], fork.to_vec());
}

#[test]
fn real_time_violations() {
    let stale = [timed(1, 0, 10, [a(1, 1)]), timed(2, 20, 30, [r(1, [])])];
    expect("lost append", &[StaleRead], stale.to_vec());
    let seen = [stale[0].clone(), stale[1].clone(), timed(3, 5, 40, [r(1, [1])])];
    expect("stale read", &[StaleRead], seen.to_vec());
    let scan = [timed(1, 0, 10, [a(9, 1)]), timed(2, 20, 30, [s(9, [])])];
    expect("stale scan", &[StaleRead], scan.to_vec());
    let register = [timed(1, 0, 10, [w(1, 1)]), timed(2, 20, 30, [g(1, None)])];
    expect("stale register", &[StaleRead], register.to_vec());
    let overwritten =
        [timed(1, 0, 10, [w(1, 1)]), timed(2, 20, 30, [w(1, 2)]), timed(3, 40, 50, [g(1, 1)])];
    expect("stale register, overwritten", &[StaleRead], overwritten.to_vec());
    let flip = [
        timed(1, 0, 100, [w(1, 1)]),
        timed(2, 0, 100, [w(1, 2)]),
        timed(3, 5, 10, [g(1, 1)]),
        timed(4, 15, 20, [g(1, 2)]),
        timed(5, 25, 30, [g(1, 1)]),
    ];
    expect("a register turns back", &[StaleRead], flip.to_vec());
    expect("a register turns once", &[], flip[..4].to_vec());
    let future = [timed(1, 20, 30, [a(1, 1)]), timed(2, 0, 10, [r(1, [1])])];
    expect("read from the future", &[StaleRead], future.to_vec());
    let session = [
        Transaction::committed(1, 7, 0, 10, vec![a(1, 1)]),
        Transaction::committed(2, 7, 10, 20, vec![r(1, [])]),
    ];
    expect("one process, clock stands still", &[StaleRead], session.to_vec());
}

#[test]
fn malformed_histories() {
    expect("mixed key", &[MalformedHistory], vec![txn(1, [a(1, 1), w(1, 2)])]);
    expect("backwards", &[MalformedHistory], vec![timed(1, 9, 3, [a(1, 1)])]);
    expect("same id", &[MalformedHistory], vec![txn(1, []), txn(1, [])]);
}

#[test]
fn the_undecided_is_said() {
    let history = vec![txn(1, [w(1, 1)]), txn(2, [w(1, 2)]), unknown(3, [w(2, 1)])];
    let report = check(&History::new(history));
    assert!(report.is_clean());
    assert_eq!(report.undecided.len(), 2, "{report}");
}

#[test]
fn the_explanation_shows_cycle_and_operations() {
    let history = vec![txn(1, [r(1, []), a(2, 5)]), txn(2, [r(2, []), a(1, 6)])];
    let report = check(&History::new(history));
    let expect = "\
NOT strictly serializable: 2 transactions checked
  1 x write skew (G2-item)

write skew (G2-item): T1 -rw(1)-> T2 -rw(2)-> T1
  T1 = process 1, 0 to 100 ns, committed: read(1) = []; append(2, 5);
  T2 = process 2, 0 to 100 ns, committed: read(2) = []; append(1, 6);
  T1 must precede T2: T1 read key 1 without 6, which T2 wrote
  T2 must precede T1: T2 read key 2 without 5, which T1 wrote
  so no serial order explains this
";
    assert_eq!(report.to_string(), expect);
}
