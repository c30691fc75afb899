mod disturbed;
mod faults;
mod patience;
mod power_failure;
mod slow_disk;
mod stay;

use super::{Durability, Log, LogOptions};
use crate::entry::Kind;
use crate::error::{LogError, LogFailure};
use crate::files::Files;
use crate::files::tests::TemporaryDirectory;
use crate::read::{Tail, scan};
use hotrow_base::ids::WorkerId;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};

/// An entry as a test compares it: epoch, worker, time, kind, body.
pub(crate) type Seen = (u64, u16, u64, Kind, Vec<u8>);

pub(crate) fn read(files: &dyn Files, from_epoch: u64) -> Result<(Vec<Seen>, Tail), LogError> {
    let mut seen = Vec::new();
    let tail =
        scan(files, from_epoch, |block| {
            let entries = block.entries();
            seen.extend(entries.map(|entry| {
                (block.epoch, entry.worker, entry.time, entry.kind, entry.body.to_vec())
            }));
            Ok::<_, LogError>(())
        })?;
    Ok((seen, tail))
}

pub(crate) fn start(files: &Arc<dyn Files>, options: LogOptions) -> Arc<Log> {
    let (_, tail) = read(&**files, 0).expect("the log is whole");
    Log::start(files.clone(), tail, options).expect("the directory is writable")
}

/// Appends one entry of `worker` and gives its epoch.
pub(crate) fn commit(log: &Log, worker: u16, time: u64, body: &[u8]) -> Result<u64, LogFailure> {
    let worker = WorkerId(worker);
    log.wait_for_room(worker);
    let epoch = log.enter(worker)?;
    log.append(worker, time, Kind::Command, |buffer| buffer.extend_from_slice(body));
    log.leave(worker);
    Ok(epoch)
}

/// Random numbers from a seed (splitmix64), so that a failing image can be built again.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

#[test]
fn what_was_committed_is_read_back_after_a_restart() {
    for durability in [Durability::Durable, Durability::Buffered] {
        let directory = TemporaryDirectory::new();
        let files: Arc<dyn Files> = Arc::new(directory.files());
        let mut written = Vec::new();
        for run in 0..3u8 {
            let log = start(&files, LogOptions { durability, ..LogOptions::new(2) });
            for time in 0..10 {
                for worker in [1, 0] {
                    let epoch = commit(&log, worker, time, &[run]).expect("the log is open");
                    written.push((epoch, worker, time, Kind::Command, vec![run]));
                    if time % 3 == 0 {
                        log.wait_for(epoch).expect("nothing fails");
                        assert!(log.horizon() >= epoch);
                    }
                }
            }
            log.stop().expect("nothing fails");
            assert_eq!(log.statistics().entries, 20);
            assert!(matches!(log.enter(WorkerId(0)), Err(LogFailure::Stopped)));
            log.stop().expect("twice does no harm");
        }
        written.sort_by_key(|(epoch, worker, time, ..)| (*epoch, *time, *worker));
        let (seen, tail) = read(&*files, 0).expect("the log is whole");
        assert_eq!(seen, written);
        assert!(tail.sealed && tail.cut.is_none());
        assert_eq!(tail.entries, 60);
    }
}

#[test]
fn workers_and_clients_of_many_threads_are_all_served() {
    const COMMITS: u64 = 300;
    let directory = TemporaryDirectory::new();
    let files: Arc<dyn Files> = Arc::new(directory.files());
    let options =
        LogOptions { segment_bytes: 64 << 10, buffer_bytes_max: 1000, ..LogOptions::new(3) };
    let log = start(&files, options);
    hotrow_base::thread::scope(|scope| {
        for worker in 0..3u16 {
            let log = &log;
            scope.spawn(move || {
                for time in 0..COMMITS {
                    let body = vec![worker as u8; (time % 700) as usize];
                    let epoch = commit(log, worker, time, &body).expect("the log is open");
                    if time % 8 == 0 {
                        log.wait_for(epoch).expect("nothing fails");
                    }
                }
            });
        }
    });
    log.stop().expect("nothing fails");
    let (seen, tail) = read(&*files, 0).expect("the log is whole");
    assert_eq!(tail.entries, 3 * COMMITS);
    for worker in 0..3 {
        let times: Vec<u64> =
            seen.iter().filter(|seen| seen.1 == worker).map(|seen| seen.2).collect();
        assert!(times.is_sorted() && times.len() as u64 == COMMITS);
    }
    let statistics = log.statistics();
    assert!(statistics.segments > 0, "several segments were filled");
    let bytes: u64 = seen.iter().map(|seen| seen.4.len() as u64).sum();
    assert!(statistics.entry_bytes > bytes && statistics.bytes > statistics.entry_bytes);
}

#[test]
fn a_boundary_parts_what_was_before_from_what_comes() {
    for durability in [Durability::Durable, Durability::Buffered] {
        let directory = TemporaryDirectory::new();
        let files: Arc<dyn Files> = Arc::new(directory.files());
        let options = LogOptions { durability, segment_bytes: 8192, ..LogOptions::new(1) };
        let log = start(&files, options);
        let mut boundary = 0;
        for time in 0..6 {
            let epoch = commit(&log, 0, time, &[0; 100]).expect("the log is open");
            assert!(epoch >= boundary);
            boundary = log.boundary().expect("nothing fails");
            assert!(epoch < boundary && log.horizon() >= epoch);
            let empty = log.boundary().expect("an epoch without entries ends, too");
            assert!(empty > boundary);
            boundary = empty;
        }
        log.truncate_before(boundary).expect("segments can be removed");
        assert_eq!(files.list().expect("it can be listed").len(), 1, "only the last one stays");
        commit(&log, 0, 9, &[1]).expect("the log is open");
        log.stop().expect("nothing fails");
        let (seen, _) = read(&*files, boundary).expect("what is needed is there");
        assert_eq!(seen.len(), 1);
        let refused = read(&*files, 1).expect_err("older blocks are gone");
        assert!(matches!(refused, LogError::BeginsTooLate { needed: 1, .. }), "{refused}");
    }
}

#[test]
fn an_epoch_that_is_waited_for_ends_though_nobody_has_appended() {
    let directory = TemporaryDirectory::new();
    let files: Arc<dyn Files> = Arc::new(directory.files());
    let log = start(&files, LogOptions::new(1));
    let epoch = log.enter(WorkerId(0)).expect("the log is open");
    log.leave(WorkerId(0));
    log.wait_for(epoch).expect("nothing fails");
    assert_eq!(log.statistics().blocks, 0, "there was nothing to write");
    log.stop().expect("nothing fails");
}

#[test]
fn a_task_is_woken_when_its_epoch_is_durable_or_lost() {
    struct Thread(std::thread::Thread);
    impl Wake for Thread {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Thread(std::thread::current())));
    let outcome = |log: &Log, epoch| loop {
        match log.poll_for(epoch, &waker) {
            Poll::Ready(outcome) => return outcome,
            Poll::Pending => std::thread::park(),
        }
    };
    let directory = TemporaryDirectory::new();
    let files: Arc<dyn Files> = Arc::new(directory.files());
    let log = start(&files, LogOptions::new(1));
    for time in 0..100 {
        let epoch = commit(&log, 0, time, b"x").expect("the log is open");
        outcome(&log, epoch).expect("nothing fails");
        assert!(log.horizon() >= epoch);
    }
    log.stop().expect("nothing fails");
    let never = log.horizon() + 1;
    assert!(matches!(outcome(&log, never), Err(LogFailure::Stopped)));
}
