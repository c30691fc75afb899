use std::sync::Arc;

use super::chunk::{CHUNK_HEADER_BYTES, ChunkHeader, SECTION_HEADER_BYTES};
use super::*;
use crate::checksum::checksum;
use crate::files::Files;
use crate::files::simulated::{Fault, SimulatedDisk};

const LOG: u64 = 0xabc;
/// Images looked at for one moment of a crash.
const IMAGES_MAX: usize = 300;

/// A chunk as the tests compare it: table, rows, words.
type Chunk = (u32, u64, Vec<u64>);

/// What the checkpoint of an epoch holds, by section.
fn contents(epoch: u64) -> Vec<Vec<Chunk>> {
    vec![
        vec![(0, 2, vec![1, epoch, 1, 8]), (4, 1, vec![3, 5, 6, 7])],
        vec![],
        vec![(0, 1, vec![0]), (0, 3, (0..40).collect())],
    ]
}

fn tables(contents: &[Vec<Chunk>]) -> Vec<TableRows> {
    let rows = |number| {
        let chunks = contents.iter().flatten().filter(|chunk| chunk.0 == number);
        chunks.map(|chunk| chunk.1).sum()
    };
    [(0, "first"), (4, "fifth"), (5, "empty")]
        .map(|(number, name)| TableRows { number, name: name.to_owned(), rows: rows(number) })
        .into()
}

fn write(disk: &SimulatedDisk, epoch: u64) -> Result<Manifest, CheckpointError> {
    let contents = contents(epoch);
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let (writer, mut sections) =
        Writer::begin(files, Identity { log_id: LOG, epoch }, contents.len())?;
    for (section, chunks) in sections.iter_mut().zip(&contents) {
        for (table, rows, words) in chunks {
            section.put(*table, *rows, words)?;
        }
    }
    let catalog = format!("catalog of {epoch}").into_bytes();
    writer.finish(sections, catalog, tables(&contents))
}

/// As a database does it: the old checkpoint goes when the new one is there.
fn replace(disk: &SimulatedDisk, epoch: u64) -> Result<(), CheckpointError> {
    let manifest = write(disk, epoch)?;
    remove_older(disk, Some(&manifest))
}

/// The epoch of the newest checkpoint, all of which must be as it was written.
fn read(disk: &SimulatedDisk) -> Result<Option<u64>, CheckpointError> {
    let Some(manifest) = find(disk)?.newest else { return Ok(None) };
    let reader = Reader::open(disk, manifest)?;
    reader.check_log(LOG)?;
    let (mut bytes, mut words, mut found) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(head) = reader.next(&mut bytes, &mut words)? {
        found.push((head.table, head.rows, words.clone()));
    }
    let manifest = reader.manifest();
    let expected = contents(manifest.epoch);
    assert_eq!(found, expected.concat());
    assert_eq!(manifest.tables, tables(&expected));
    assert_eq!(manifest.catalog, format!("catalog of {}", manifest.epoch).as_bytes());
    Ok(Some(manifest.epoch))
}

/// A disk with one checkpoint.
fn disk_with(epoch: u64) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    replace(&disk, epoch).expect("nothing fails");
    disk
}

fn names(disk: &SimulatedDisk) -> Vec<String> {
    disk.list().expect("nothing fails")
}

#[test]
fn the_newest_checkpoint_is_read_as_it_was_written() {
    let disk = SimulatedDisk::new();
    assert_eq!(read(&disk).expect("an empty directory is none's fault"), None);
    for epoch in [3, 9, 9, 10] {
        write(&disk, epoch).expect("nothing fails");
        assert_eq!(read(&disk).expect("it is whole"), Some(epoch));
    }
    assert_eq!(names(&disk).len(), 16, "four checkpoints of three sections");
    let found = find(&disk).expect("it is whole");
    remove_older(&disk, found.newest.as_ref()).expect("nothing fails");
    assert_eq!(names(&disk).len(), 4);
    let verified = verify(&disk).expect("it is whole").expect("there is one");
    assert_eq!((verified.manifest.rows(), verified.chunks), (7, 4));
    let reader = Reader::open(&disk, found.newest.expect("there is one")).expect("it is whole");
    assert!(matches!(reader.check_log(1), Err(CheckpointError::WrongLog { .. })));
}

#[test]
fn a_crash_at_any_moment_leaves_the_old_checkpoint_or_the_new_one() {
    let disk = disk_with(5).copy();
    replace(&disk, 6).expect("nothing fails");
    let mut seen = [0; 2];
    for done in 0..=disk.operations() {
        let mut look = |image: SimulatedDisk| {
            let epoch = read(&image).expect("no crash is damage").expect("one of them is there");
            assert!(epoch == 5 || epoch == 6, "epoch {epoch} after {done} operations");
            seen[(epoch - 5) as usize] += 1;
            if done == disk.operations() {
                assert_eq!(epoch, 6);
            }
            // The next start cleans up, and the next checkpoint can be written.
            let found = find(&image).expect("it was found before");
            remove_older(&image, found.newest.as_ref()).expect("nothing fails");
            assert_eq!(names(&image).len(), 4);
            assert!(find(&image).expect("it is whole").notices.is_empty());
            replace(&image, 7).expect("nothing fails");
            assert_eq!(read(&image).expect("it is whole"), Some(7));
        };
        if !disk.every_crash(done, IMAGES_MAX, &mut look) {
            let mut random = done as u64 + 1;
            for _ in 0..IMAGES_MAX {
                look(disk.crash(done, &mut || {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    random >> 63 == 1
                }));
            }
        }
    }
    assert!(seen[0] > 50 && seen[1] > 10, "{seen:?}");
}

#[test]
fn whatever_fails_the_old_checkpoint_or_the_new_one_can_be_read() {
    for fault in [Fault::Error, Fault::Full, Fault::TooManyFiles, Fault::Short] {
        for nth in 1.. {
            let disk = disk_with(5).copy();
            disk.fail(nth, fault);
            let replaced = replace(&disk, 6);
            if !disk.has_failed() {
                replaced.expect("nothing failed");
                break;
            }
            let left = names(&disk).len();
            let epoch = read(&disk).expect("a failure is no damage").expect("one is there");
            match replaced {
                Ok(()) => assert_eq!(epoch, 6, "{fault:?} at {nth}"),
                Err(error) => {
                    assert!(error.to_string().starts_with("cannot "), "{error}");
                    assert!(epoch == 6 || left == 4, "{fault:?} at {nth}: {:?}", names(&disk));
                }
            }
            replace(&disk, 6).expect("nothing fails any more");
            assert_eq!(read(&disk).expect("it is whole"), Some(6));
            assert_eq!(names(&disk).len(), 4);
        }
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_found_and_its_file_named() {
    let disk = disk_with(5);
    for name in names(&disk) {
        let content = disk.content(&name).expect("it is there");
        let check = |content: Vec<u8>, what: &str| {
            let disk = disk.copy();
            disk.set_content(&name, content);
            let error = verify(&disk).expect_err(what).to_string();
            assert!(error.contains(&name) && error.contains("byte"), "{name}, {what}: {error}");
        };
        for bit in 0..content.len() * 8 {
            let mut flipped = content.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            check(flipped, &format!("bit {bit}"));
        }
        for length in 0..content.len() {
            check(content[..length].to_vec(), &format!("cut to {length}"));
        }
        check([content.as_slice(), &[0]].concat(), "a byte more");
    }
}

#[test]
fn files_of_other_checkpoints_are_told_apart() {
    let disk = disk_with(5);
    let other = disk_with(6);
    for (name, foreign) in names(&disk).iter().zip(names(&other)) {
        let disk = disk.copy();
        disk.set_content(name, other.content(&foreign).expect("it is there"));
        let error = verify(&disk).expect_err("it is not its own").to_string();
        assert!(error.contains(name.as_str()), "{error}");
    }
    for name in names(&disk).iter().filter(|name| name.ends_with(".rows")) {
        let disk = disk.copy();
        disk.remove(name).expect("it is there");
        let error = verify(&disk).expect_err("a section is missing").to_string();
        assert!(error.contains(name.as_str()) && error.contains("is missing"), "{error}");
    }
}

/// Valid by itself is not enough: a chunk of another checkpoint, in the right place, of the right
/// length and with the right count of rows.
#[test]
fn chunks_of_other_checkpoints_are_told_apart() {
    let (disk, other) = (disk_with(5), disk_with(6));
    let section = |disk: &SimulatedDisk| {
        let name = names(disk).into_iter().find(|name| name.ends_with("00.rows")).expect("a name");
        let content = disk.content(&name).expect("it is there");
        (name, content)
    };
    let ((name, mut content), (_, foreign)) = (section(&disk), section(&other));
    let chunk = SECTION_HEADER_BYTES..SECTION_HEADER_BYTES + CHUNK_HEADER_BYTES + 4 * 8;
    assert_ne!(content[chunk.clone()], foreign[chunk.clone()]);
    content[chunk.clone()].copy_from_slice(&foreign[chunk]);
    disk.set_content(&name, content);
    let error = verify(&disk).expect_err("it is not its own").to_string();
    assert!(error.contains(name.as_str()) && error.contains("not those"), "{error}");
}

#[test]
fn a_newer_format_is_named() {
    for part in ["manifest", "rows"] {
        let disk = disk_with(5);
        let name = names(&disk).into_iter().find(|name| name.ends_with(part)).expect("it has one");
        let mut content = disk.content(&name).expect("it is there");
        content[8] = 9;
        let crc = checksum(&content[..12]);
        content[12..16].copy_from_slice(&crc.to_le_bytes());
        disk.set_content(&name, content);
        let error = verify(&disk).expect_err("it is newer");
        assert!(matches!(error, CheckpointError::UnknownVersion { found: 9, known: 2, .. }));
        assert!(error.to_string().contains("a newer version"), "{error}");
    }
}

/// Checksums that are right do not make lengths believed.
#[test]
fn no_length_is_believed() {
    for words in [u64::MAX, u64::MAX / 8, 1 << 60, 1 << 40, 1000] {
        let disk = disk_with(5);
        let name = names(&disk).into_iter().find(|name| name.ends_with("00.rows")).expect("a name");
        let mut content = disk.content(&name).expect("it is there");
        let header = ChunkHeader { number: 0, table: 0, payload_crc: 0, rows: 2, words };
        content[SECTION_HEADER_BYTES..][..CHUNK_HEADER_BYTES].copy_from_slice(&header.encode());
        disk.set_content(&name, content);
        let error = verify(&disk).expect_err("it is too long").to_string();
        assert!(error.contains("longer than its file"), "{error}");
    }
}

#[test]
fn what_was_interrupted_is_noticed_and_other_files_are_left_alone() {
    let disk = disk_with(5);
    disk.set_content("checkpoint-0000000000000009-00000000-00000000.rows", vec![1]);
    disk.set_content("checkpoint-0000000000000009-00000000.manifest.new", vec![1]);
    disk.set_content("checkpoint-9.rows", vec![1]);
    disk.set_content("notes.txt", vec![1]);
    let found = find(&disk).expect("they are no damage");
    assert_eq!(found.notices.len(), 1);
    assert!(found.notices[0].contains("epoch 9"), "{:?}", found.notices);
    remove_older(&disk, found.newest.as_ref()).expect("nothing fails");
    assert_eq!(names(&disk).len(), 6);
    remove_older(&disk, None).expect("nothing fails");
    assert_eq!(names(&disk), ["checkpoint-9.rows", "notes.txt"]);
}

#[test]
fn several_threads_read_each_chunk_once() {
    let disk = SimulatedDisk::new();
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let (writer, mut sections) =
        Writer::begin(files, Identity { log_id: LOG, epoch: 1 }, 2).expect("nothing fails");
    for number in 0..1000_u64 {
        sections[number as usize % 2].put(7, 1, &[number]).expect("nothing fails");
    }
    let tables = vec![TableRows { number: 7, name: "t".to_owned(), rows: 1000 }];
    let manifest = writer.finish(sections, Vec::new(), tables).expect("nothing fails");
    let reader = Reader::open(&disk, manifest).expect("it is whole");
    let read = || {
        let (mut bytes, mut words, mut found) = (Vec::new(), Vec::new(), Vec::new());
        while reader.next(&mut bytes, &mut words).expect("it is whole").is_some() {
            found.push(words[0]);
        }
        found
    };
    let mut found = std::thread::scope(|scope| {
        let threads = [scope.spawn(read), scope.spawn(read), scope.spawn(read)];
        threads.map(|thread| thread.join().expect("it does not panic")).concat()
    });
    found.sort_unstable();
    assert_eq!(found, (0..1000).collect::<Vec<_>>());
}
