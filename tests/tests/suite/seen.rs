//! The test of what was seen in the time that the suite has; `hotrow-tests seen` runs as long as is
//! asked.

use std::path::PathBuf;
use std::time::Duration;

use hotrow_tests::matrix::setups;
use hotrow_tests::seen::looks::{WAYS, Way};
use hotrow_tests::seen::{SeenOptions, run, run_until_failure};

fn options(seed: u64) -> SeenOptions {
    SeenOptions {
        rounds: 120,
        seed,
        sync_delay: Duration::from_millis(5),
        directory: std::env::temp_dir(),
        program: PathBuf::from(env!("CARGO_BIN_EXE_hotrow-tests")),
        verbose: false,
    }
}

#[test]
fn nothing_that_anybody_saw_is_gone_when_the_process_is_killed() {
    let report = run(&options(1)).unwrap_or_else(|what| panic!("{what}"));
    println!("{report}");
    // Some ways need a step at the right moment.
    let is_blind = |way: &&Way| !report.answers.contains_key(way.name);
    let blind: Vec<_> = WAYS.iter().filter(is_blind).map(|way| way.name).collect();
    assert!(blind.len() <= 3, "nobody saw anything by {blind:?}");
}

#[test]
fn nothing_is_told_of_rows_that_the_log_could_not_write() {
    let (mut refused, mut answers) = (0, 0);
    for setup in (0..setups(&[1, 2, 4]).len()).step_by(7) {
        let options = options(setup as u64);
        let report = run_until_failure(&options, setup).unwrap_or_else(|what| panic!("{what}"));
        refused += report.refused;
        answers += report.answers.values().sum::<u64>();
    }
    assert!(refused > 0 && answers > 0, "too little was at stake: {refused}, {answers}");
}
