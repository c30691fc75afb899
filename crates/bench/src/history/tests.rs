use super::*;
use crate::selection::select_engines;
use hotrow_history::{AnomalyClass, Op, check};

fn options(kind: HistoryKind) -> HistoryOptions {
    HistoryOptions { kind, transactions: 600, clients: 4, ..HistoryOptions::default() }
}

const KINDS: [HistoryKind; 3] = [HistoryKind::Lists, HistoryKind::Registers, HistoryKind::Indexes];

#[test]
fn histories_of_every_kind_are_clean_on_every_variant() {
    for variant in select_engines("all").expect("there are engines") {
        for kind in KINDS {
            let threads = if variant.allows(2) { 2 } else { 1 };
            let options = HistoryOptions { threads, ..options(kind) };
            let history = record_history(&variant, &options).expect("it can be recorded");
            assert_eq!(history.transactions.len(), 600);
            let report = check(&history);
            assert!(report.is_clean(), "{kind:?} on {variant}: {report}");
            assert!(report.transactions_checked > 500, "{report}");
        }
    }
}

#[test]
fn histories_of_typed_transactions_are_clean() {
    let engines = select_engines("all").expect("there are engines");
    for variant in &engines {
        for kind in KINDS {
            let threads = if variant.allows(2) { 2 } else { 1 };
            let options = HistoryOptions { threads, typed_percent: 60, ..options(kind) };
            let report = check(&record_history(variant, &options).expect("it can be recorded"));
            assert!(report.is_clean(), "{kind:?} on {variant}: {report}");
            assert!(report.transactions_checked > 200, "{variant}: {report}");
        }
    }
}

#[test]
fn a_history_that_was_tampered_with_is_convicted() {
    let variant = &select_engines("all").expect("there are engines")[0];
    let options = HistoryOptions { threads: 1, ..options(HistoryKind::Lists) };
    let mut history = record_history(variant, &options).expect("it can be recorded");
    let long = |op: &&mut Op| matches!(op, Op::Read { values, .. } if values.len() > 2);
    let mut ops = history.transactions.iter_mut().flat_map(|txn| &mut txn.ops);
    let Some(Op::Read { values, .. }) = ops.rfind(long) else {
        panic!("600 transactions on 5 keys read a list of 3");
    };
    values.swap(0, 1);
    let report = check(&history);
    assert!(report.has(AnomalyClass::IncompatibleOrder), "{report}");
}

#[test]
fn formats_take_their_usual_kinds() {
    let variant = &select_engines("all").expect("there are engines")[0];
    for format in [Format::Elle, Format::Dbcop, Format::Json] {
        let options = HistoryOptions { threads: 1, ..options(format.usual_kind()) };
        let history = record_history(variant, &options).expect("it can be recorded");
        let mut out = Vec::new();
        format.write(&history, &mut out).expect("the format fits the kind");
        assert!(out.len() > 600 * 20, "{format:?}");
    }
}

#[test]
fn a_format_that_cannot_say_it_says_so() {
    let history = History::new(vec![Transaction::committed(0, 0, 1, 2, vec![Op::scan(1, [])])]);
    let refused = Format::Dbcop.write(&history, Vec::new());
    assert!(refused.is_err_and(|error| error.is_usage()));
}
