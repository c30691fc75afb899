use super::*;

fn committed(process: u64, from: u64, to: u64, ops: Vec<Op>) -> Transaction {
    Transaction::committed(0, process, from, to, ops)
}

fn text_of(history: &History) -> String {
    let mut text = Vec::new();
    write(history, &mut text).expect("writing to memory");
    String::from_utf8(text).expect("EDN is text")
}

#[test]
fn writes_the_documented_form() {
    let history =
        History::new(vec![committed(0, 10, 40, vec![Op::append(7, 1), Op::read(7, [1])])]);
    let expect = "\
{:index 0, :type :invoke, :process 0, :f :txn, :value [[:append 7 1] [:r 7 nil]], :time 10}
{:index 1, :type :ok, :process 0, :f :txn, :value [[:append 7 1] [:r 7 [1]]], :time 40}
";
    assert_eq!(text_of(&history), expect);
}

#[test]
fn round_trip_keeps_everything() {
    let unknown = Transaction {
        completed_ns: None,
        status: Status::Unknown,
        ..committed(3, 21, 0, vec![Op::append(2, -5)])
    };
    let history = History::merge([vec![
        committed(0, 10, 20, vec![Op::append(1, 4), Op::read(1, [4]), Op::read(2, [])]),
        committed(1, 11, 30, vec![Op::append(1, 6)]).with_status(Status::Aborted),
        committed(2, 12, 25, vec![Op::append(1, 9)]).with_status(Status::Unknown),
        committed(0, 20, 20, vec![Op::read(1, [4])]),
        committed(4, 13, 14, vec![Op::write(8, 1), Op::read_register(9, None)]),
        committed(4, 15, 16, vec![Op::read_register(8, 1), Op::write(9, 3)]),
        unknown,
    ]]);
    assert_eq!(read(&text_of(&history)).expect("just written"), history);
}

#[test]
fn a_process_ends_with_an_unknown_outcome() {
    let history = History::new(vec![
        committed(5, 1, 2, vec![Op::append(1, 1)]).with_status(Status::Unknown),
        committed(5, 3, 4, vec![Op::append(1, 2)]),
    ]);
    let back = read(&text_of(&history)).expect("just written");
    let processes: Vec<u64> = back.transactions.iter().map(|txn| txn.process).collect();
    assert_eq!(processes, [5, 6]);
}

#[test]
fn reads_what_jepsen_writes() {
    let text = "; a history\n[#jepsen.history.Op{:type :info, :process :nemesis, :f :kill}
        {:process 1, :type :invoke, :f :txn, :value [[:r 1 nil] (:append 2 3)]},
        {:process 1, :type :ok, :error \"a \\\" quote\" :value [[:r 1 [7 8N]] [:append 2 3]]}]";
    let history = read(text).expect("valid");
    let expect = Transaction::committed(0, 1, 1, 2, vec![Op::read(1, [7, 8]), Op::append(2, 3)]);
    assert_eq!(history.transactions, [expect]);
}

#[test]
fn errors_say_where() {
    for (text, offset) in [
        ("{:type :ok, :value 3}", 19),
        ("  [", 3),
        ("{:a 1.5}", 7),
        ("]", 0),
        ("\u{a0}", 0),
        ("#a #b {\"", 7),
    ] {
        match read(text) {
            Err(Error::Edn { offset: at, .. }) => assert_eq!(at, offset, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}
