//! Power failures: a recorded log, cut at every operation, with any part of what was not synced.

use super::{Random, Seen, commit, read};
use crate::entry::Kind;
use crate::files::simulated::{Fault, SimulatedDisk};
use crate::log::{Durability, Log, LogOptions};
use crate::read::segments;
use hotrow_base::ids::WorkerId;
use std::sync::Arc;

const WORKERS: u16 = 3;

/// What a run wrote, and what it was promised.
struct Recording {
    disk: SimulatedDisk,
    /// By (epoch, time, worker): as it is read back.
    committed: Vec<Seen>,
    /// After how many operations all up to which epoch was promised to survive.
    promises: Vec<(usize, u64)>,
    /// After how many operations there was a checkpoint, and from which epoch on the log is needed.
    checkpoints: Vec<(usize, u64)>,
    /// Boundaries since the last checkpoint.
    boundaries: Vec<u64>,
}

impl Recording {
    /// Runs a log on `disk`, which holds `committed` from epoch `from` on, for `turns`, and stops
    /// it.
    fn run(
        disk: SimulatedDisk,
        (from, committed): (u64, Vec<Seen>),
        durability: Durability,
        turns: u64,
        random: &mut Random,
    ) -> Self {
        let mut recording = Self {
            disk,
            committed,
            promises: Vec::new(),
            checkpoints: vec![(0, from)],
            boundaries: Vec::new(),
        };
        let (_, tail) = read(&recording.disk, from).expect("a crash image can be read");
        if recording.disk.operations() == 0 {
            recording.promise(tail.epoch); // all of an image is durable
        }
        let shown = tail.epoch;
        let options = LogOptions {
            durability,
            segment_bytes: 20 << 10,
            ..LogOptions::new(usize::from(WORKERS))
        };
        let files = Arc::new(recording.disk.clone());
        let log = Log::start(files, tail, options).expect("the disk is in order");
        recording.promise(shown); // from now on clients may read it
        for _ in 0..turns {
            recording.turn(&log, durability, random);
        }
        log.stop().expect("the disk is in order");
        recording.promise(u64::MAX);
        recording.committed.sort_by_key(|seen| (seen.0, seen.2, seen.1));
        recording
    }

    /// Some entries, in one epoch or two, and perhaps a wait for them.
    fn turn(&mut self, log: &Log, durability: Durability, random: &mut Random) {
        let epoch = log.enter(WorkerId(0)).expect("the log is open");
        let first = random.below(u64::from(WORKERS)) as u16;
        for worker in first..WORKERS {
            let id = WorkerId(worker);
            let epoch = if worker == 0 { epoch } else { log.enter(id).expect("the log is open") };
            for time in 0..random.below(3) {
                let body = vec![random.next() as u8; random.below(1500) as usize];
                log.append(id, time, Kind::Values, |buffer| buffer.extend_from_slice(&body));
                self.committed.push((epoch, worker, time, Kind::Values, body));
            }
            match (worker, random.one_in(2)) {
                (0, _) => {}
                (_, true) => log.leave(id),
                (_, false) => log.leave_patiently(id),
            }
        }
        log.leave(WorkerId(0));
        if random.one_in(4) {
            let next = log.boundary().expect("the disk is in order");
            self.promise(next - 1);
            self.boundaries.push(next);
            if random.one_in(3) {
                self.checkpoint(log, random);
            }
        } else if random.one_in(2) {
            let appended = self.committed.last().map_or(0, |seen| seen.0);
            log.wait_for(appended).expect("the disk is in order");
            if durability == Durability::Durable {
                self.promise(appended);
            }
        }
    }

    /// Has a checkpoint of some boundary finished now, so that the log before it can go.
    fn checkpoint(&mut self, log: &Log, random: &mut Random) {
        let chosen = random.below(self.boundaries.len() as u64) as usize;
        let from = self.boundaries.drain(..=chosen).next_back().expect("one was chosen");
        self.checkpoints.push((self.disk.operations(), from));
        log.truncate_before(from).expect("the disk is in order");
    }

    fn promise(&mut self, epoch: u64) {
        self.promises.push((self.disk.operations(), epoch));
    }

    /// The epoch up to which everything must survive a failure after `done` operations.
    fn promised(&self, done: usize) -> u64 {
        let made = self.promises.iter().filter(|&&(at, _)| at <= done);
        made.map(|&(_, epoch)| epoch).max().unwrap_or(0)
    }

    /// From which epoch on the log is needed after a failure after `done` operations.
    fn needed(&self, done: usize) -> u64 {
        let made = self.checkpoints.iter().filter(|&&(at, _)| at <= done);
        made.map(|&(_, epoch)| epoch).max().unwrap_or(0)
    }

    /// Checks an image of a failure after `done` operations; from which epoch on the log is needed,
    /// and what of it survived.
    fn check(&self, image: &SimulatedDisk, done: usize) -> (u64, Vec<Seen>) {
        let from = self.needed(done);
        let (seen, tail) =
            read(image, from).unwrap_or_else(|error| panic!("after {done} operations: {error}"));
        // All that is there is whole, too, be it needed or not.
        let oldest = segments(image).expect("it was just read").into_iter().next();
        let oldest = oldest.map_or(0, |oldest| oldest.header.previous_epoch + 1);
        read(image, oldest).unwrap_or_else(|error| panic!("after {done} operations: {error}"));
        let upto =
            |epoch| self.committed.iter().filter(move |seen| (from..=epoch).contains(&seen.0));
        assert!(upto(tail.epoch).eq(&seen), "after {done} operations: not a prefix of epochs");
        let promised = upto(self.promised(done)).count();
        assert!(seen.len() >= promised, "after {done} operations: lost what was acknowledged");
        (from, seen)
    }
}

fn both() -> [Durability; 2] {
    [Durability::Durable, Durability::Buffered]
}

#[test]
fn any_power_failure_leaves_a_prefix_with_all_that_was_acknowledged() {
    for durability in both() {
        for seed in 0..4 {
            let mut random = Random(seed);
            let disk = SimulatedDisk::new();
            let recording = Recording::run(disk, (0, Vec::new()), durability, 25, &mut random);
            for done in 0..=recording.disk.operations() {
                for choice in 0..8 {
                    let image = recording.disk.crash(done, &mut || match choice {
                        0 => false,
                        1 => true,
                        2 => random.one_in(8),
                        3 => !random.one_in(8),
                        _ => random.one_in(2),
                    });
                    recording.check(&image, done);
                }
            }
        }
    }
}

#[test]
fn every_image_of_a_short_run_is_read() {
    let mut images = 0;
    let mut complete = 0;
    for durability in both() {
        let mut random = Random(11);
        let disk = SimulatedDisk::new();
        let recording = Recording::run(disk, (0, Vec::new()), durability, 6, &mut random);
        for done in 0..=recording.disk.operations() {
            let all = recording.disk.every_crash(done, 1 << 11, |image| {
                recording.check(&image, done);
                images += 1;
            });
            complete += usize::from(all);
        }
    }
    assert!(images > 1000 && complete > 20, "{images} images, {complete} complete sets");
}

#[test]
fn a_second_failure_during_or_after_recovery_is_survived_as_well() {
    for durability in both() {
        let mut random = Random(5);
        let disk = SimulatedDisk::new();
        let first = Recording::run(disk, (0, Vec::new()), durability, 12, &mut random);
        for done in 0..=first.disk.operations() {
            let image = first.disk.crash(done, &mut || random.one_in(2));
            let survived = first.check(&image, done);
            let turns = random.below(4);
            let second = Recording::run(image, survived, durability, turns, &mut random);
            for done in 0..=second.disk.operations() {
                let image = second.disk.crash(done, &mut || random.one_in(2));
                let survived = second.check(&image, done);
                if random.one_in(20) {
                    let third = Recording::run(image, survived, durability, 2, &mut random);
                    third.check(&third.disk, third.disk.operations());
                }
            }
        }
    }
}

#[test]
fn what_recovery_has_shown_survives_a_power_failure_after_a_mere_crash() {
    let mut unsynced = 0;
    for nth in 12..60 {
        let mut random = Random(nth);
        let disk = SimulatedDisk::new();
        let committed = crash_process(&disk, nth, &mut random);
        let begin = disk.operations();
        let (seen, tail) = read(&disk, 0).expect("only the last write was not done");
        assert!(committed.starts_with(&seen));
        let (sure, _) = read(&disk.crash(begin, &mut || false), 0).expect("it is a crash image");
        unsynced += seen.len() - sure.len();
        let second = Recording::run(disk, (0, seen), Durability::Durable, 2, &mut random);
        assert!(second.promises.iter().any(|&(_, epoch)| epoch == tail.epoch));
        for done in begin..=second.disk.operations() {
            let image = second.disk.crash(done, &mut || random.one_in(2));
            second.check(&image, done);
        }
    }
    assert!(unsynced > 0, "some entries were read, and not on the disk");
}

/// Runs a buffered log, of which nothing but segments' ends is synced, until the `nth` operation
/// fails; what was committed.
fn crash_process(disk: &SimulatedDisk, nth: u64, random: &mut Random) -> Vec<Seen> {
    let (_, tail) = read(disk, 0).expect("it is empty");
    disk.fail(nth, Fault::Full);
    let options = LogOptions {
        durability: Durability::Buffered,
        segment_bytes: 40 << 10,
        ..LogOptions::new(1)
    };
    let log = Log::start(Arc::new(disk.clone()), tail, options).expect("later ones fail");
    let mut committed = Vec::new();
    for time in 0..500 {
        let body = vec![random.next() as u8; random.below(1500) as usize];
        let Ok(epoch) = commit(&log, 0, time, &body) else { break };
        committed.push((epoch, 0, time, Kind::Command, body));
        if log.wait_for(epoch).is_err() {
            break;
        }
    }
    committed
}

#[test]
fn restarts_without_work_pile_up_no_files() {
    let mut random = Random(1);
    let disk = SimulatedDisk::new();
    let mut recording = Recording::run(disk, (0, Vec::new()), Durability::Durable, 3, &mut random);
    let count = |disk: &SimulatedDisk| segments(disk).expect("it is whole").len();
    let before = count(&recording.disk);
    for _ in 0..5 {
        let (from, seen) = recording.check(&recording.disk, recording.disk.operations());
        let disk = recording.disk;
        recording = Recording::run(disk, (from, seen), Durability::Durable, 0, &mut random);
        recording.check(&recording.disk, recording.disk.operations());
        assert!(count(&recording.disk) <= before + 1);
    }
}
