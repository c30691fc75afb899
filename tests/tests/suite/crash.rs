//! The crash test in the time that the suite has; `hotrow-tests crash` runs as long as is asked.

use std::path::PathBuf;

use hotrow_tests::crash::{CrashOptions, run};

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let options = CrashOptions {
        rounds: 210,
        seed: 1,
        directory: std::env::temp_dir(),
        program: PathBuf::from(env!("CARGO_BIN_EXE_hotrow-tests")),
        verbose: false,
    };
    let report = run(&options).unwrap_or_else(|what| panic!("{what}"));
    println!("{report}");
    assert!(report.acknowledged > 1000, "too little was at stake: {report}");
    assert!(report.during_recovery < report.rounds / 2, "too many died early: {report}");
}
