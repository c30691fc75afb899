//! Damage: every byte changed, every length cut, files missing, copied, of another log or version.

use super::{Tail, segments};
use crate::checksum::checksum;
use crate::entry::read_u32;
use crate::error::LogError;
use crate::files::Files;
use crate::files::simulated::SimulatedDisk;
use crate::log::tests::{Random, Seen, commit, read};
use crate::log::{Log, LogOptions};
use crate::segment::segment_epoch;
use proptest::prelude::*;
use std::sync::Arc;

/// Commits one block after the other; whether the log is then closed in order, or the process ends
/// in the middle.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Sealed,
    Crashed,
}

/// A log of several small segments, with what is in it.
fn written(end: End) -> (SimulatedDisk, Vec<Seen>) {
    let disk = SimulatedDisk::new();
    let (_, tail) = read(&disk, 0).expect("it is empty");
    let options = LogOptions { segment_bytes: 20 << 10, ..LogOptions::new(1) };
    let log = Log::start(Arc::new(disk.clone()), tail, options).expect("the disk is in order");
    for time in 0..8u64 {
        let body = [b'a' + time as u8; 300];
        let epoch = commit(&log, 0, time, &body).expect("the log is open");
        log.wait_for(epoch).expect("the disk is in order");
    }
    let crashed = disk.copy();
    log.stop().expect("the disk is in order");
    let disk = if end == End::Sealed { disk.copy() } else { crashed };
    let (seen, tail) = read(&disk, 0).expect("it is whole");
    assert_eq!((seen.len(), tail.sealed), (8, end == End::Sealed));
    (disk, seen)
}

fn names(disk: &SimulatedDisk) -> Vec<String> {
    disk.list().expect("it can be listed")
}

/// A changed log may be refused, or be read as it was.
fn check(disk: &SimulatedDisk, original: &[Seen], what: &str) -> Option<Tail> {
    match read(disk, 0) {
        Err(error) => {
            assert!(error.to_string().contains("simulated/log-"), "{what}: {error}");
            None
        }
        Ok((seen, tail)) => {
            assert!(seen == original, "{what}: other entries");
            Some(tail)
        }
    }
}

#[test]
fn no_changed_byte_gives_other_entries() {
    for end in [End::Sealed, End::Crashed] {
        let (disk, original) = written(end);
        let mut random = Random(3);
        let mut refused = 0;
        for name in names(&disk) {
            let content = disk.content(&name).expect("it is there");
            for offset in 0..content.len() {
                let mut changed = content.clone();
                changed[offset] ^= 1 + random.below(255) as u8;
                disk.set_content(&name, changed);
                let what = format!("{name}, byte {offset}");
                refused += usize::from(check(&disk, &original, &what).is_none());
            }
            disk.set_content(&name, content);
        }
        // Headers and entries: 8 blocks of 64 + 16 + about 310 bytes, and segments' headers.
        assert!(refused > 8 * 380, "{refused} were refused");
    }
}

#[test]
fn the_last_block_may_be_torn_but_not_changed_and_can_be_given_up() {
    let (disk, original) = written(End::Crashed);
    let last = names(&disk).pop().expect("there are some");
    let whole = disk.content(&last).expect("it is there");
    let offset = whole.len() - whole.iter().rev().position(|&byte| byte != 0).expect("not blank");
    let offset = offset / 4096 * 4096;
    let lost = |content: Vec<u8>| {
        disk.set_content(&last, content);
        let (seen, tail) = read(&disk, 0).expect("it is a torn write");
        assert_eq!(seen, original[..original.len() - 1]);
        tail.cut.expect("it is cut off with a notice")
    };
    // A write cut short after any number of bytes.
    for written in (1..380).step_by(7) {
        let mut torn = whole.clone();
        torn[offset + written..].fill(0);
        assert_eq!(lost(torn).offset, offset as u64, "{written} bytes were written");
    }
    let mut changed = whole.clone();
    changed[offset + 200] ^= 1;
    disk.set_content(&last, changed.clone());
    let error = read(&disk, 0).expect_err("no power failure does that");
    assert!(matches!(error, LogError::DamagedEnd { .. }), "{error}");
    changed[offset..].fill(0);
    disk.set_content(&last, changed);
    let (seen, tail) = read(&disk, 0).expect("zeros were never written to");
    assert_eq!((seen.len(), tail.cut), (original.len() - 1, None));
}

#[test]
fn no_cut_off_file_gives_fewer_entries() {
    for end in [End::Sealed, End::Crashed] {
        let (disk, original) = written(end);
        let names = names(&disk);
        for name in &names {
            let content = disk.content(name).expect("it is there");
            let is_last = Some(name) == names.last();
            for length in 0..content.len() {
                disk.set_content(name, content[..length].to_vec());
                let what = format!("{name}, cut to {length} bytes");
                let (read, tail) = match read(&disk, 0) {
                    Ok(read) => read,
                    Err(error) => {
                        assert!(error.to_string().contains("simulated/log-"), "{what}: {error}");
                        continue;
                    }
                };
                assert_eq!(read, original, "{what}");
                assert!(!is_last || tail.sealed, "{what}: it shows that it was cut");
            }
            disk.set_content(name, content);
        }
    }
}

#[test]
fn cut_zeros_show_in_a_log_that_was_not_sealed() {
    let (disk, _) = written(End::Crashed);
    let last = names(&disk).pop().expect("there are some");
    let content = disk.content(&last).expect("it is there");
    disk.set_content(&last, content[..content.len() - 1].to_vec());
    let error = read(&disk, 0).expect_err("it was made longer").to_string();
    assert!(error.contains("cut off: it has 20479 bytes, it was made with 20480"), "{error}");
}

#[test]
fn a_missing_segment_is_missed_wherever_it_was() {
    for end in [End::Sealed, End::Crashed] {
        let (disk, _) = written(end);
        let names = names(&disk);
        assert!(names.len() >= 3);
        for (index, name) in names.iter().enumerate() {
            let without = disk.copy();
            without.remove(name).expect("it is there");
            let error = read(&without, 0).expect_err("blocks are missing");
            match error {
                LogError::BeginsTooLate { .. } => assert_eq!(index, 0),
                LogError::Missing { first, last, .. } => {
                    assert!(index > 0 && index < names.len() - 1);
                    assert!(first <= last && last <= 8);
                }
                LogError::Damaged { .. } => assert_eq!(index, names.len() - 1, "{error}"),
                other => panic!("{other}"),
            }
            let emptied = disk.copy();
            emptied.set_content(name, Vec::new());
            let error = read(&emptied, 0).expect_err("blocks are missing").to_string();
            assert!(error.contains(name.as_str()) && error.contains("shorter than a header"));
        }
    }
}

#[test]
fn an_absent_log_is_missed_by_who_has_a_checkpoint() {
    let disk = SimulatedDisk::new();
    let error = read(&disk, 7).expect_err("there is no log");
    assert!(matches!(error, LogError::Absent { needed: 7, .. }), "{error}");
    let (seen, tail) = read(&disk, 0).expect("a new database has none");
    assert!(seen.is_empty() && tail.log_id == 0);
}

#[test]
fn copies_and_segments_of_other_logs_are_refused() {
    let (disk, _) = written(End::Sealed);
    let first = names(&disk).remove(0);
    let content = disk.content(&first).expect("it is there");
    let copied = disk.copy();
    copied.set_content("log-00000000000000ff.log", content);
    let error = read(&copied, 0).expect_err("a segment is there twice");
    assert!(
        matches!(&error, LogError::WrongName { own_name, .. } if *own_name == first),
        "{error}"
    );
    let (other, _) = written(End::Sealed);
    let last = names(&disk).pop().expect("there are some");
    let foreign = names(&other).pop().expect("there are some");
    disk.remove(&last).expect("it is there");
    disk.set_content(&foreign, other.content(&foreign).expect("it is there"));
    let error = read(&disk, 0).expect_err("one is of another log");
    assert!(matches!(error, LogError::WrongLog { .. }), "{error}");
}

#[test]
fn blocks_of_another_past_do_not_fit() {
    // One log goes on in two ways: numbers, epochs and names are the same.
    let (disk, original) = written(End::Sealed);
    let fork = |body: u8| {
        let disk = disk.copy();
        let (_, tail) = read(&disk, 0).expect("it is whole");
        let log = Log::start(Arc::new(disk.clone()), tail, LogOptions::new(1));
        let log = log.expect("the disk is in order");
        for time in 0..3 {
            let epoch = commit(&log, 0, time, &[body; 300]).expect("the log is open");
            log.wait_for(epoch).expect("the disk is in order");
        }
        log.stop().expect("the disk is in order");
        disk
    };
    let (ours, theirs) = (fork(1), fork(2));
    let last = names(&ours).pop().expect("there are some");
    let (our, their) = (ours.content(&last), theirs.content(&last));
    let (our, their) = (our.expect("it is there"), their.expect("both have the same names"));
    for block in 2..=3 {
        let mut mixed = our.clone();
        let bytes = block * 4096..(block + 1) * 4096;
        mixed[bytes.clone()].copy_from_slice(&their[bytes]);
        ours.set_content(&last, mixed);
        let error =
            read(&ours, 0).map(|(seen, _)| seen.len()).expect_err("it is no log").to_string();
        assert!(error.contains("which does not follow the block before"), "{error}");
    }
    ours.set_content(&last, our);
    assert_eq!(read(&ours, 0).expect("it is whole").0.len(), original.len() + 3);
}

#[test]
fn impossible_headers_with_right_checksums_are_refused_without_a_panic() {
    let (disk, original) = written(End::Sealed);
    let infos = segments(&disk).expect("it is whole");
    let mut refused = 0;
    for info in &infos {
        let content = disk.content(&info.name).expect("it is there");
        // Every word of every header, the segment's and the blocks', gets values of all sizes.
        for header in (0..content.len()).step_by(4096) {
            for word in 0..7 {
                for value in [0, 1, 2, 1 << 13, 1 << 32, 1 << 62, u64::MAX / 2, u64::MAX] {
                    let mut changed = content.clone();
                    let at = header + 8 * word;
                    changed[at..at + 8].copy_from_slice(&u64::to_le_bytes(value));
                    let own = checksum(&changed[header..header + 60]);
                    changed[header + 60..header + 64].copy_from_slice(&own.to_le_bytes());
                    disk.set_content(&info.name, changed);
                    match read(&disk, 0) {
                        Ok((seen, _)) => assert!(original.starts_with(&seen)),
                        Err(error) => {
                            assert!(!error.to_string().is_empty());
                            refused += 1;
                        }
                    }
                }
            }
        }
        disk.set_content(&info.name, content);
    }
    assert!(refused > 400, "{refused}");
}

proptest! {
    #[test]
    fn no_file_makes_the_reader_panic(
        content in prop::collection::vec(any::<u8>(), 0..9000),
        second in prop::option::of(prop::collection::vec(any::<u8>(), 0..100)),
        from_epoch in 0u64..5,
    ) {
        let disk = SimulatedDisk::new();
        disk.set_content("log-0000000000000001.log", content);
        if let Some(second) = second {
            disk.set_content("log-0000000000000001.log.new", second.clone());
            disk.set_content("log-ffffffffffffffff.log", second);
        }
        prop_assert!(read(&disk, from_epoch).is_err());
    }
}

#[test]
fn other_format_versions_are_recognised() {
    for (version, advice) in [(1u32, "with the older version"), (3, "with a newer version")] {
        let (disk, _) = written(End::Sealed);
        let first = names(&disk).remove(0);
        let mut content = disk.content(&first).expect("it is there");
        content[8..12].copy_from_slice(&version.to_le_bytes());
        let crc = checksum(&content[..12]);
        content[12..16].copy_from_slice(&crc.to_le_bytes());
        content[20..100].fill(0xee); // whatever another version keeps there
        assert_ne!(read_u32(&content, 20), 0);
        disk.set_content(&first, content);
        let error = read(&disk, 0).expect_err("it is another version");
        assert!(matches!(error, LogError::UnknownVersion { known: 2, .. }), "{error}");
        assert!(error.to_string().contains(advice), "{error}");
    }
}

#[test]
fn blocks_before_the_epoch_asked_for_are_checked_where_they_share_a_segment() {
    let (disk, original) = written(End::Sealed);
    let infos = segments(&disk).expect("it is whole");
    for from in 0..original.len() {
        let from_epoch = original[from].0;
        let (seen, tail) = read(&disk, from_epoch).expect("it is whole");
        assert_eq!(seen, original[from..]);
        assert_eq!(tail.blocks as usize, original.len() - from);
    }
    // Beyond the end there is nothing to see, and the log goes on from there.
    let beyond = original[original.len() - 1].0 + 100;
    let (seen, tail) = read(&disk, beyond).expect("it is whole");
    assert!(seen.is_empty());
    assert!(tail.next_epoch >= beyond);
    assert!(infos.iter().all(|info| segment_epoch(&info.name) == Some(info.header.first_epoch)));
    // A segment that is not needed may be gone.
    disk.remove(&infos[0].name).expect("it is there");
    let from_epoch = infos[1].header.previous_epoch + 1;
    assert!(!read(&disk, from_epoch).expect("what is needed is there").0.is_empty());
}
