//! Somebody who removes, renames, replaces or cuts files of a log that is in use.

use super::{commit, read, start};
use crate::error::{LogError, LogFailure};
use crate::files::Files;
use crate::files::simulated::SimulatedDisk;
use crate::files::tests::TemporaryDirectory;
use crate::log::{Durability, Log, LogOptions};
use hotrow_base::clock::Ticks;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn options(durability: Durability) -> LogOptions {
    LogOptions { durability, segment_bytes: 16 << 10, ..LogOptions::new(1) }
}

fn acknowledged(log: &Log, time: u64) -> Result<(), LogFailure> {
    commit(log, 0, time, &[7; 700]).and_then(|epoch| log.wait_for(epoch))
}

/// What the log says of itself once it has been asked for another commit.
fn refusal(log: &Log) -> String {
    let failure = acknowledged(log, 99).expect_err("a commit was acknowledged");
    let again = acknowledged(log, 100).expect_err("it stays so");
    assert_eq!(again.to_string(), failure.to_string());
    let LogFailure::Failed(LogError::Disturbed { .. }) = failure else { panic!("{failure}") };
    failure.to_string()
}

#[test]
fn nothing_is_acknowledged_once_the_file_was_taken_away_or_changed() {
    type Deed = fn(&SimulatedDisk, &str);
    let deeds: [(Deed, &str); 4] = [
        (|disk, name| disk.unlink(name), "was removed or renamed"),
        (|disk, name| disk.set_content(name, vec![0; 16 << 10]), "was replaced by another file"),
        // The writer's own next write lets a file that was cut grow again, as the system does it;
        // but not to its length.
        (|disk, name| disk.cut(name, 0).expect("it is there"), "bytes in place of 16384"),
        (|disk, name| disk.cut(name, 9000).expect("it is there"), "bytes in place of 16384"),
    ];
    for durability in [Durability::Durable, Durability::Buffered] {
        for (deed, found) in deeds {
            let disk = SimulatedDisk::new();
            let (_, tail) = read(&disk, 0).expect("it is empty");
            let log = Log::start(Arc::new(disk.clone()), tail, options(durability));
            let log = log.expect("nothing fails");
            acknowledged(&log, 1).expect("nobody has done anything yet");
            let [name] = &*disk.list().expect("it can be listed") else { panic!("one segment") };
            deed(&disk, name);
            let said = refusal(&log);
            assert!(said.contains(found) && said.contains(name.as_str()), "{said}");
        }
    }
}

#[test]
fn a_completed_segment_is_looked_at_from_time_to_time() {
    let disk = SimulatedDisk::new();
    let (_, tail) = read(&disk, 0).expect("it is empty");
    let log = Log::start(Arc::new(disk.clone()), tail, options(Durability::Durable));
    let log = log.expect("nothing fails");
    (0..40).for_each(|time| acknowledged(&log, time).expect("nothing fails"));
    let mut names = disk.list().expect("it can be listed");
    names.sort();
    assert!(names.len() > 2, "several were completed");
    disk.unlink(&names[0]);
    // Far more than the writer takes between two looks: only a look that never comes takes so long.
    let deadline = Ticks::from_now(Duration::from_secs(60));
    let failure = loop {
        assert!(!deadline.has_passed(), "nobody has looked");
        if let Err(failure) = acknowledged(&log, 41) {
            break failure.to_string();
        }
    };
    assert!(failure.contains(&names[0]) && failure.contains("removed or renamed"), "{failure}");
}

#[test]
fn a_log_goes_on_behind_completed_and_removed_segments() {
    let disk = SimulatedDisk::new();
    let (_, tail) = read(&disk, 0).expect("it is empty");
    let log = Log::start(Arc::new(disk.clone()), tail, options(Durability::Durable));
    let log = log.expect("nothing fails");
    let until = Ticks::from_now(Duration::from_millis(350)); // three looks or so
    let mut time = 0;
    while !until.has_passed() {
        time += 1;
        acknowledged(&log, time).expect("nothing fails");
        if time % 50 == 0 {
            let boundary = log.boundary().expect("nothing fails");
            log.truncate_before(boundary).expect("segments can be removed");
        }
    }
    log.stop().expect("nothing fails");
}

#[test]
fn so_it_is_with_a_real_file_system() {
    type Deed = fn(&Path, &Path);
    let deeds: [Deed; 4] = [
        |_, file| std::fs::remove_file(file).expect("it is there"),
        |_, file| {
            std::fs::rename(file, file.with_extension("old")).expect("it is there");
            std::fs::copy(file.with_extension("old"), file).map(drop).expect("there is room");
        },
        |_, file| {
            let opened = std::fs::OpenOptions::new().write(true).open(file);
            opened.and_then(|opened| opened.set_len(0)).expect("it is there");
        },
        |directory, _| {
            std::fs::rename(directory, directory.with_extension("aside")).expect("it is there");
        },
    ];
    for deed in deeds {
        let around = TemporaryDirectory::new();
        let directory = around.path().join("log");
        let files = crate::files::Directory::create(&directory).expect("it can be made");
        let files: Arc<dyn Files> = Arc::new(files);
        let log = start(&files, options(Durability::Durable));
        acknowledged(&log, 1).expect("nobody has done anything yet");
        let [name] = &*files.list().expect("it can be listed") else { panic!("one segment") };
        deed(&directory, &directory.join(name));
        let said = refusal(&log);
        assert!(said.contains("COPY"), "what to do is missing: {said}");
    }
}
