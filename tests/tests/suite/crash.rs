//! The crash test in the time that the suite has; `hotrow-tests crash` runs as long as is asked.

use std::path::PathBuf;

use hotrow_tests::crash::faults::{self, Limit};
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

/// The log keeps a descriptor back for its next file and so mostly goes on where all others are
/// taken; where something else of the process gets that one first, it fails, and says so.
#[test]
fn without_file_descriptors_the_log_changes_its_files_or_tells_and_loses_nothing() {
    for seed in 2..5 {
        let report = faults::run(&options(seed), Limit::OpenFiles(64));
        let report = report.unwrap_or_else(|what| panic!("{what}"));
        assert_eq!(report.trouble, "");
        assert!(report.found.acknowledged > 0, "nothing was at stake: {report:?}");
        if report.errors.is_empty() {
            assert!(report.log_files > 3, "it was in its first files still: {report:?}");
            continue;
        }
        assert_eq!(report.errors.len(), CLIENTS, "every client is told: {report:?}");
        for error in &report.errors {
            assert!(["08007", "58030"].contains(&&error[..5]), "{error}");
            assert!(error.contains("Too many open files"), "{error}");
        }
    }
}

/// Log files get their length when they are made, so this is seen at the start.
#[test]
fn a_limit_of_file_sizes_is_told_at_the_start_and_nothing_is_lost() {
    let limit = Limit::FileBlocks(6144);
    let report = faults::run(&options(3), limit).unwrap_or_else(|what| panic!("{what}"));
    assert!(report.trouble.contains("cannot open: cannot write to"), "{report:?}");
    assert!(report.trouble.contains("File too large"), "{report:?}");
}
