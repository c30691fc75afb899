//! The beginning of a run: from the tail that a scan found to a segment that can be written.
//!
//! Role         called by [`Log::start`](super::Log::start)
//! Invariants   I1  what the scan has shown is on the disk before a new segment says so. After a
//!                  mere crash of the process it may not have been; and after a failed sync reading
//!                  may show what the system has given up writing, which no further sync would
//!                  bring to the disk. So the blocks of which nothing says that they were synced
//!                  are written again before the sync
//!              I2  the new segment, with the number of the first block that does not count, is
//!                  what cuts off a torn write: one step, durable or not there. Only then are files
//!                  shortened and removed, which changes nothing any more

use super::LogOptions;
use super::tail_segment::TailSegment;
use crate::block::ALIGNMENT;
use crate::error::LogError;
use crate::files::{File, Files};
use crate::read::Tail;
use crate::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use hotrow_base::clock;
use std::hash::{BuildHasher, RandomState};
use std::io;

/// A header, one block of one sector, and the sector that stays behind it.
const SEGMENT_BYTES_MIN: u64 = SEGMENT_HEADER_BYTES + 2 * ALIGNMENT;

/// The segment to write, and the log's id.
pub(super) fn begin(
    files: &dyn Files,
    tail: &Tail,
    options: &LogOptions,
) -> Result<(TailSegment, u64), LogError> {
    sync_last(files, tail)?;
    remove(files, &tail.unfinished)?;
    let header = header(tail, options);
    let segment = TailSegment::create(files, &header)?;
    shorten_last(files, tail)?;
    Ok((segment, header.log_id))
}

/// The length of segments: whole sectors, and room for one block.
pub(super) fn segment_bytes(options: &LogOptions) -> u64 {
    options.segment_bytes.max(SEGMENT_BYTES_MIN).next_multiple_of(ALIGNMENT)
}

fn header(tail: &Tail, options: &LogOptions) -> SegmentHeader {
    SegmentHeader {
        log_id: if tail.log_id == 0 { new_log_id() } else { tail.log_id },
        first_epoch: tail.next_epoch,
        first_number: tail.next_number,
        length: segment_bytes(options),
        previous_epoch: tail.epoch,
        chain: tail.chain,
    }
}

/// A number that no other log has: the keys of the standard library's hash maps are random.
fn new_log_id() -> u64 {
    let id = RandomState::new().hash_one((clock::now_us(), std::process::id()));
    id.max(1) // 0 means none
}

/// Writes the blocks again that may not be on the disk, and syncs them.
fn sync_last(files: &dyn Files, tail: &Tail) -> Result<(), LogError> {
    let Some((name, end)) = &tail.last else { return Ok(()) };
    let begin = tail.doubtful.front().map_or(*end, |&(_, offset)| offset);
    let synced = files.open_writable(name).and_then(|file| {
        write_again(&*file, begin, *end)?;
        file.sync_data()
    });
    synced.map_err(|error| LogError::io("sync", files.path(name), error))
}

fn write_again(file: &dyn File, begin: u64, end: u64) -> io::Result<()> {
    let mut bytes = vec![0; (end - begin).min(1 << 20) as usize];
    let mut at = begin;
    while at < end {
        let piece = (end - at).min(bytes.len() as u64) as usize;
        let read = file.read_at(&mut bytes[..piece], at)?;
        if read < piece {
            return Err(io::ErrorKind::UnexpectedEof.into()); // it was just scanned
        }
        file.write_at(&bytes[..piece], at)?;
        at += piece as u64;
    }
    Ok(())
}

fn remove(files: &dyn Files, names: &[String]) -> Result<(), LogError> {
    if names.is_empty() {
        return Ok(());
    }
    for name in names {
        files.remove(name).map_err(|error| LogError::io("remove", files.path(name), error))?;
    }
    files.sync_directory().map_err(|error| LogError::io("sync", files.path(""), error))
}

/// Gives back what lies behind the last block before the new segment: a torn write, a seal, zeros;
/// or the whole file if it has no block.
fn shorten_last(files: &dyn Files, tail: &Tail) -> Result<(), LogError> {
    let Some((name, end)) = &tail.last else { return Ok(()) };
    if *end == SEGMENT_HEADER_BYTES {
        return remove(files, std::slice::from_ref(name));
    }
    let cut = files
        .open_writable(name)
        .and_then(|file| if file.length()? > *end { file.set_length(*end) } else { Ok(()) });
    cut.map_err(|error| LogError::io("cut", files.path(name), error))
}
