use super::*;

fn committed(process: u64, from: u64, to: u64, ops: Vec<Op>) -> Transaction {
    Transaction::committed(0, process, from, to, ops)
}

#[test]
fn writes_sessions_in_dbcop_form() {
    let history = History::new(vec![
        committed(1, 5, 6, vec![Op::read_register(0, 1), Op::read_register(4, None)]),
        committed(0, 3, 4, vec![Op::write(0, 1)]),
        committed(0, 1, 2, vec![Op::read_register(0, None), Op::write(0, 2)])
            .with_status(Status::Aborted),
        committed(0, 7, 8, vec![Op::write(9, 7)]).with_status(Status::Unknown),
    ]);
    let mut text = Vec::new();
    write(&history, &mut text).expect("only registers");
    let file: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let expect = serde_json::json!([
        [
            { "events": [{ "Write": { "variable": 0, "version": 2 } }], "committed": false },
            { "events": [{ "Write": { "variable": 0, "version": 1 } }], "committed": true },
        ],
        [{
            "events": [
                { "Read": { "variable": 0, "version": 1 } },
                { "Read": { "variable": 4, "version": null } },
            ],
            "committed": true,
        }],
        [{ "events": [{ "Write": { "variable": 9, "version": 7 } }], "committed": false }],
    ]);
    assert_eq!(file["data"], expect);
    assert_eq!(file["params"]["n_node"], 3);
}

#[test]
fn refuses_lists() {
    let history = History::new(vec![committed(0, 1, 2, vec![Op::append(1, 1)])]);
    let error = write(&history, std::io::sink()).expect_err("no lists in dbcop");
    assert!(matches!(error, Error::NotExpressible { .. }), "{error}");
}
