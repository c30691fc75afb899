//! Operations that fail: the first, the second, ... until a run needs no more of them.

use super::{commit, read};
use crate::error::{LogError, LogFailure};
use crate::files::Files;
use crate::files::simulated::{Fault, SimulatedDisk};
use crate::log::{Durability, Log, LogOptions};
use hotrow_base::ids::WorkerId;
use std::sync::Arc;

const COMMITS: u64 = 12;

/// What became of a run.
struct Outcome {
    /// The last commit that was acknowledged; their times are 1, 2, ...
    acknowledged: u64,
    error: Option<LogFailure>,
}

/// Opens the log, commits [`COMMITS`] times with a wait for each, and closes it.
fn run(disk: &SimulatedDisk, durability: Durability) -> Outcome {
    let mut outcome = Outcome { acknowledged: 0, error: None };
    if let Err(error) = commit_all(disk, durability, &mut outcome.acknowledged) {
        outcome.error = Some(error);
    }
    outcome
}

fn commit_all(
    disk: &SimulatedDisk,
    durability: Durability,
    acknowledged: &mut u64,
) -> Result<(), LogFailure> {
    let (_, tail) = read(disk, 0)?;
    let options = LogOptions { durability, segment_bytes: 16 << 10, ..LogOptions::new(1) };
    let log = Log::start(Arc::new(disk.clone()), tail, options)?;
    let mut outcome = Ok(());
    for time in 1..=COMMITS {
        outcome = commit(&log, 0, time, &[time as u8; 700]).and_then(|epoch| log.wait_for(epoch));
        if outcome.is_err() {
            break;
        }
        *acknowledged = time;
    }
    let Err(failure) = outcome else { return log.stop() };
    check_that_it_stays_so(&log, &failure);
    Err(failure)
}

/// After a failure nothing is acknowledged any more, nothing waits, nothing is tried again.
fn check_that_it_stays_so(log: &Log, failure: &LogFailure) {
    let horizon = log.horizon();
    for _ in 0..3 {
        log.wait_for_room(WorkerId(0));
        let refused = commit(log, 0, 99, &[9]).expect_err("the log has failed");
        assert_eq!(refused.to_string(), failure.to_string());
        let never = log.wait_for(horizon + 1).expect_err("the log has failed");
        assert_eq!(never.to_string(), failure.to_string());
        assert!(log.boundary().is_err());
    }
    assert_eq!(log.stop().expect_err("it tells why").to_string(), failure.to_string());
    assert_eq!(log.horizon(), horizon);
}

/// Whether `image` holds all that was acknowledged, and nothing but what was committed.
fn check(image: &SimulatedDisk, acknowledged: u64, nth: u64) {
    let (seen, _) = read(image, 0).unwrap_or_else(|error| panic!("operation {nth}: {error}"));
    assert!(seen.len() as u64 >= acknowledged, "operation {nth}: an acknowledged commit is lost");
    for (index, (_, _, time, _, body)) in seen.iter().enumerate() {
        assert_eq!(*time, index as u64 + 1, "operation {nth}");
        assert_eq!(*body, [*time as u8; 700], "operation {nth}");
    }
}

#[test]
fn whichever_operation_fails_all_that_was_acknowledged_is_there() {
    let faults = [Fault::Error, Fault::Full, Fault::Short, Fault::TooManyFiles];
    for durability in [Durability::Durable, Durability::Buffered] {
        for fault in faults {
            for nth in 1.. {
                let disk = SimulatedDisk::new();
                disk.fail(nth, fault);
                let outcome = run(&disk, durability);
                if !disk.has_failed() {
                    assert!(outcome.error.is_none() && nth > 50, "{nth} operations were tried");
                    break;
                }
                let error = outcome.error.expect("no failure may be overlooked").to_string();
                assert!(error.contains("simulated/"), "it names no file: {error}");
                check(&disk.copy(), outcome.acknowledged, nth);
                if durability == Durability::Durable {
                    let image = disk.crash(disk.operations(), &mut || false);
                    check(&image, outcome.acknowledged, nth);
                }
            }
        }
    }
}

#[test]
fn a_start_that_failed_can_be_tried_again() {
    for nth in 1.. {
        let disk = SimulatedDisk::new();
        assert!(run(&disk, Durability::Durable).error.is_none());
        let before = read(&disk, 0).expect("it is whole").0;
        disk.fail(nth, Fault::Full);
        let start = || -> Result<(), LogFailure> {
            let (_, tail) = read(&disk, 0)?;
            Log::start(Arc::new(disk.clone()), tail, LogOptions::new(1)).map(drop)?;
            Ok(())
        };
        let outcome = start();
        if !disk.has_failed() {
            assert!(outcome.is_ok() && nth > 10, "{nth} operations were tried");
            break;
        }
        start().unwrap_or_else(|error| panic!("after a failed operation {nth}: {error}"));
        assert_eq!(read(&disk, 0).expect("it is whole").0, before);
    }
}

#[test]
fn errors_say_what_to_do() {
    let cases = [
        (Fault::Error, "the device failed"),
        (Fault::Full, "free space"),
        (Fault::TooManyFiles, "ulimit -n"),
    ];
    for (fault, advice) in cases {
        let disk = SimulatedDisk::new();
        disk.fail(3, fault); // list, create, set the length
        let (_, tail) = read(&disk, 0).expect("it is empty");
        let error = Log::start(Arc::new(disk.clone()), tail, LogOptions::new(1));
        let error = error.expect_err("an operation failed").to_string();
        assert!(error.contains("simulated/log-0000000000000001.log: "), "{error}");
        assert!(error.contains(advice), "{error}");
    }
}

#[test]
fn a_log_in_a_directory_that_was_removed_says_so() {
    let directory = crate::files::tests::TemporaryDirectory::new();
    let files: Arc<dyn Files> = Arc::new(directory.files());
    std::fs::remove_dir(directory.path()).expect("it is empty");
    let error = read(&*files, 0).expect_err("there is no directory");
    assert!(matches!(error, LogError::Io { .. }));
    assert!(error.to_string().contains("the directory was moved or removed"), "{error}");
}
