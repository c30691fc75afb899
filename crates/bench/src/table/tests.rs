use super::*;
use crate::report::CheckReport;
use std::collections::BTreeMap;

fn report(threads: usize, txn_per_s: f64, holds: bool) -> RunReport {
    let text = format!(
        r#"{{"engine": "fast", "options": {{"gear": "5"}}, "workload": "tpcc",
        "parameters": {{"warehouses": "2", "mix": "np", "home": "false"}},
        "threads": {threads}, "seconds": 1.0,
        "committed": 900, "user_aborts": 4, "conflict_aborts": 100, "restarts": 0,
        "txn_per_s": {txn_per_s},
        "latency_us": {{"p50": 1.0, "p95": 2.0, "p99": 3.0, "max": 4.0}},
        "time_breakdown":
            {{"execute": 0.6, "plan": 0.4, "lock": 0, "wait": 0, "log": 0, "idle": 0}},
        "checks": [], "kinds": {{}}, "memory":
            {{"rows": 1, "raw_bytes": 1, "record_bytes": 1, "index_bytes": 1, "ratio": 2.0}}}}"#
    );
    let mut report: RunReport = serde_json::from_str(&text).expect("the text is a report");
    let check = |name: &str, holds| CheckReport {
        name: name.to_owned(),
        holds,
        detail: "3 things".to_owned(),
    };
    report.checks = vec![check("sum", true), check("keys", holds)];
    report
}

fn plain(reports: &[RunReport]) -> String {
    let mut out = Vec::new();
    write_table(reports, Style::default(), &mut out).expect("memory takes everything");
    String::from_utf8(out).expect("tables are text")
}

#[test]
fn a_plain_table_has_a_line_per_run_and_no_escapes() {
    let text = plain(&[report(1, 1_234_567.0, true), report(2, 10.0, true)]);
    let lines: Vec<_> = text.lines().collect();
    assert!(!text.contains('\x1b') && lines[0].contains("workload"), "{text}");
    assert!(lines[1].contains("tpcc 2w mix=np  ") && lines[1].contains("1,234,567"), "{text}");
    assert!(lines[1].contains("2 hold") && lines[1].contains("execute 60% plan 40%"), "{text}");
    assert!(
        text.contains("Fastest: tpcc 2w mix=np on fast gear=5, 1 thread with 1,234,567"),
        "{text}"
    );
    assert!(text.contains("most (10 %)"), "{text}");
}

#[test]
fn a_failed_check_is_named_with_its_run() {
    let text = plain(&[report(1, 5.0, true), report(2, 10.0, false)]);
    assert!(text.contains("1 FAILED"), "{text}");
    let line = "CHECK FAILED  tpcc 2w mix=np on fast gear=5, 2 threads: keys: 3 things";
    assert!(text.contains(line), "{text}");
}

#[test]
fn numbers_are_grouped_by_thousands() {
    for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
        assert_eq!(grouped(number), text);
    }
}

#[test]
fn a_report_survives_json() {
    let reports = [report(1, 5.0, true)];
    let mut json = Vec::new();
    crate::report::write_json(&reports, &mut json).expect("memory takes everything");
    let back: Vec<RunReport> = serde_json::from_slice(&json).expect("it is a list of reports");
    assert_eq!(back, reports);
    let _: Vec<BTreeMap<String, serde_json::Value>> =
        serde_json::from_slice(&json).expect("each is an object");
}
