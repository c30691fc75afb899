use super::{TemporaryDirectory, start};
use crate::entry::Kind;
use crate::files::Files;
use crate::log::{Log, LogOptions};
use hotrow_base::clock::Ticks;
use hotrow_base::ids::WorkerId;
use std::sync::Arc;
use std::time::Duration;

fn open(workers: usize) -> (TemporaryDirectory, Arc<Log>) {
    let directory = TemporaryDirectory::new();
    let files: Arc<dyn Files> = Arc::new(directory.files());
    let log = start(&files, LogOptions::new(workers));
    (directory, log)
}

fn append(log: &Log, worker: u16, is_patient: bool) -> u64 {
    let worker = WorkerId(worker);
    let epoch = log.enter(worker).expect("the log is open");
    log.append(worker, 0, Kind::Command, |body| body.push(1));
    match is_patient {
        true => log.leave_patiently(worker),
        false => log.leave(worker),
    }
    epoch
}

fn wait_patiently(log: &Log, epoch: u64) {
    while log.wait_patiently(epoch, Ticks::from_now(Duration::from_millis(50))).is_none() {}
    assert!(log.horizon() >= epoch);
}

#[test]
fn what_nobody_waits_for_is_written_all_the_same() {
    let (_directory, log) = open(1);
    for _ in 0..20 {
        let epoch = append(&log, 0, true);
        while log.horizon() < epoch {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

#[test]
fn many_share_a_sync_and_whoever_is_in_a_hurry_takes_them_along() {
    let (_directory, log) = open(2);
    let mut last = 0;
    for _ in 0..10 {
        (0..100).for_each(|_| last = append(&log, 0, true));
        let epoch = append(&log, 1, false);
        log.wait_for(epoch.max(last)).expect("the disk is in order");
    }
    let statistics = log.statistics();
    assert_eq!(statistics.entries, 1010);
    assert!(statistics.syncs < 505, "{} syncs", statistics.syncs);
}

#[test]
fn no_waiter_is_forgotten_among_patient_ones() {
    let (_directory, log) = open(4);
    let run = &|worker: u16| {
        for turn in 0..300 {
            let batch = 1 + (u64::from(worker) + turn) % 5;
            let epochs = (0..batch).map(|_| append(&log, worker, worker != 3));
            let epoch = epochs.max().expect("there is one");
            match (turn + u64::from(worker)) % 4 {
                0 => log.wait_for(epoch).expect("the disk is in order"),
                1 => {}
                _ => wait_patiently(&log, epoch),
            }
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|worker| drop(scope.spawn(move || run(worker)))));
    log.stop().expect("the disk is in order");
}
