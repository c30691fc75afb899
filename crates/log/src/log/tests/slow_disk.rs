//! A disk whose syncs take as long as the test wants.

use super::{commit, read};
use crate::files::SlowFiles;
use crate::files::simulated::SimulatedDisk;
use crate::log::{Log, LogOptions};
use hotrow_base::clock::Ticks;
use hotrow_base::ids::WorkerId;
use hotrow_base::sync::EventCount;
use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering};
use hotrow_base::thread;
use std::sync::Arc;
use std::time::Duration;

/// How many syncs may end, and how many have begun.
#[derive(Default)]
struct Valve {
    allowed: AtomicU64,
    begun: AtomicU64,
    changed: EventCount,
}

impl Valve {
    fn allow(&self, syncs: u64) {
        self.allowed.fetch_add(syncs, Ordering::AcqRel);
        self.changed.notify_all();
    }

    fn pass(&self) {
        let mine = self.begun.fetch_add(1, Ordering::AcqRel) + 1;
        self.changed.notify_all();
        self.changed
            .wait_for(None, || (self.allowed.load(Ordering::Acquire) >= mine).then_some(()));
    }

    /// Waits until so many syncs have begun.
    fn wait_for_sync(&self, begun: u64) {
        self.changed.wait_for(None, || (self.begun.load(Ordering::Acquire) >= begun).then_some(()));
    }

    fn begun(&self) -> u64 {
        self.begun.load(Ordering::Acquire)
    }
}

/// A log on a slow disk; the syncs of its start are allowed, and no more.
fn start_slow(options: LogOptions) -> (Arc<Log>, Arc<Valve>, SimulatedDisk) {
    let disk = SimulatedDisk::new();
    let valve = Arc::new(Valve::default());
    let (_, tail) = read(&disk, 0).expect("it is empty");
    valve.allow(u64::MAX / 2);
    let pass = Arc::clone(&valve);
    let files = SlowFiles::waiting(Arc::new(disk.clone()), move || {
        pass.pass();
        Ok(())
    });
    let files = Arc::new(files);
    let log = Log::start(files, tail, options).expect("the disk is in order");
    valve.allowed.store(valve.begun(), Ordering::Release);
    (log, valve, disk)
}

/// Longer than any step takes that does not wait for the disk.
fn settle() {
    thread::sleep(Duration::from_millis(5));
}

#[test]
fn nothing_is_acknowledged_before_its_sync_ends_and_workers_go_on_meanwhile() {
    let (log, valve, disk) = start_slow(LogOptions::new(2));
    let before = log.horizon();
    let begun = valve.begun();
    let first = commit(&log, 0, 0, b"first").expect("the log is open");
    valve.wait_for_sync(begun + 1);
    // The next epoch fills while the disk is busy; all of it is one block.
    let later: Vec<u64> =
        (0..50).map(|time| commit(&log, 1, time, b"later").expect("the log is open")).collect();
    settle();
    assert_eq!(log.horizon(), before, "a sync has not ended");
    assert!(later.iter().all(|&epoch| epoch == first + 1));
    let lost = read(&disk.crash(disk.operations(), &mut || false), 0).expect("it is an image").0;
    assert!(lost.is_empty());
    valve.allow(1);
    log.wait_for(first).expect("nothing fails");
    settle();
    assert_eq!(log.horizon(), first, "only one sync has ended");
    valve.allow(1);
    log.wait_for(first + 1).expect("nothing fails");
    assert_eq!(log.statistics().blocks, 2);
    assert_eq!(log.statistics().syncs, 2);
    valve.allow(u64::MAX / 4);
    log.stop().expect("nothing fails");
    assert_eq!(read(&disk, 0).expect("it is whole").0.len(), 51);
}

#[test]
fn a_worker_with_too_much_unwritten_waits_for_the_disk() {
    const LIMIT: u64 = 10_000;
    let options = LogOptions { buffer_bytes_max: LIMIT, ..LogOptions::new(2) };
    let (log, valve, _) = start_slow(options);
    let begun = valve.begun();
    commit(&log, 0, 0, b"x").expect("the log is open");
    valve.wait_for_sync(begun + 1); // and hangs
    let commits = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for time in 0..100 {
                commit(&log, 0, time, &[1; 1000]).expect("the log is open");
                commits.fetch_add(1, Ordering::Release);
            }
        });
        let full = Ticks::from_now(Duration::from_secs(20));
        while commits.load(Ordering::Acquire) < 10 && !full.has_passed() {
            thread::yield_now();
        }
        settle();
        let done = commits.load(Ordering::Acquire);
        assert!((10..=11).contains(&done), "{done} commits of 1 kB, {LIMIT} bytes may wait");
        commit(&log, 1, 0, b"others have room").expect("the log is open");
        valve.allow(u64::MAX / 4);
    });
    assert_eq!(commits.load(Ordering::Acquire), 100);
    log.stop().expect("nothing fails");
    log.wait_for_room(WorkerId(0)); // nobody waits on a log that has ended
}
