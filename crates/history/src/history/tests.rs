use super::*;

fn sample() -> History {
    History::new(vec![
        Transaction::committed(0, 3, 5, 9, vec![Op::append(1, -4), Op::read(1, [-4])]),
        Transaction {
            id: 1,
            process: 4,
            invoked_ns: 6,
            completed_ns: None,
            status: Status::Unknown,
            ops: vec![Op::write(2, 8), Op::read_register(3, None), Op::scan(9, [2, 1])],
        },
    ])
}

#[test]
fn json_lines_round_trip() {
    let mut text = Vec::new();
    sample().write_json_lines(&mut text).expect("writing to memory");
    assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 2);
    assert_eq!(History::read_json_lines(text.as_slice()).expect("just written"), sample());
}

#[test]
fn a_bad_line_is_named() {
    let error = History::read_json_lines("\n{\"id\":1}\n".as_bytes()).expect_err("no fields");
    assert!(matches!(error, Error::Json { line: 2, .. }), "{error}");
}

#[test]
fn merge_sorts_by_invocation_and_renumbers() {
    let a = vec![Transaction::committed(7, 0, 30, 40, vec![])];
    let b = vec![Transaction::committed(7, 1, 10, 20, vec![])];
    let merged = History::merge([a, b]);
    let order: Vec<_> = merged.transactions.iter().map(|txn| (txn.id, txn.process)).collect();
    assert_eq!(order, [(0, 1), (1, 0)]);
}
