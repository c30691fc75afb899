//! The crash test in the time that the suite has; `hotrow-tests crash` runs as long as is asked.

use std::path::PathBuf;

use hotrow_tests::crash::faults::{self, FaultReport, Limit};
use hotrow_tests::crash::workload::CLIENTS;
use hotrow_tests::crash::{CrashOptions, run};

fn options(seed: u64) -> CrashOptions {
    CrashOptions {
        rounds: 210,
        seed,
        directory: std::env::temp_dir(),
        program: PathBuf::from(env!("CARGO_BIN_EXE_hotrow-tests")),
        verbose: false,
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let report = run(&options(1)).unwrap_or_else(|what| panic!("{what}"));
    println!("{report}");
    assert!(report.acknowledged > 1000, "too little was at stake: {report}");
    assert!(report.during_recovery < report.rounds / 2, "too many died early: {report}");
}

#[test]
fn without_file_descriptors_the_log_fails_at_its_next_file_and_loses_nothing() {
    // A read that may follow a fresh change is not told: one run in 50 or so.
    let reads_go_on = (2..6).any(|seed| fails_without_file_descriptors(&options(seed)).reads == 1);
    assert!(reads_go_on, "reads of durable data go on");
}

fn fails_without_file_descriptors(options: &CrashOptions) -> FaultReport {
    let limit = Limit::OpenFiles(64);
    let report = faults::run(options, limit).unwrap_or_else(|what| panic!("{what}"));
    assert_eq!(report.trouble, "");
    assert_eq!(report.errors.len(), CLIENTS, "every client is told: {report:?}");
    for error in &report.errors {
        assert!(["08007", "58030"].contains(&&error[..5]), "{error}");
        assert!(error.contains("Too many open files"), "{error}");
    }
    assert!(report.found.acknowledged > 0, "nothing was at stake: {report:?}");
    report
}

/// Log files get their length when they are made, so this is seen at the start.
#[test]
fn a_limit_of_file_sizes_is_told_at_the_start_and_nothing_is_lost() {
    let limit = Limit::FileBlocks(6144);
    let report = faults::run(&options(3), limit).unwrap_or_else(|what| panic!("{what}"));
    assert!(report.trouble.contains("cannot open: cannot write to"), "{report:?}");
    assert!(report.trouble.contains("File too large"), "{report:?}");
}
