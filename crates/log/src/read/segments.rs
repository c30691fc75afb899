//! The segments of a log: which files there are.
//!
//! Role         the first step of a scan; `hotrow log dump` and `verify` list them too
//! Invariants   I1  a block counts only below the first number of the next segment. Whoever started
//!                  the log anew after a torn write began a fresh segment with the torn block's
//!                  number, and so declared it void; it was in the last segment, the only one that
//!                  can be torn

use crate::error::LogError;
use crate::files::Files;
use crate::segment::{
    ENCODED_BYTES, FORMAT_VERSION, SegmentFault, SegmentHeader, is_unfinished, segment_epoch,
    segment_name,
};

/// A segment file.
#[derive(Clone, Debug)]
pub struct SegmentInfo {
    /// Its name.
    pub name: String,
    /// What its header says.
    pub header: SegmentHeader,
    /// The file's length now.
    pub file_bytes: u64,
}

/// All segments, oldest first.
///
/// All blocks there are come from `scan(files, segments[0].header.previous_epoch + 1, ...)`.
pub fn segments(files: &dyn Files) -> Result<Vec<SegmentInfo>, LogError> {
    Ok(Listing::read(files)?.segments)
}

/// What the directory holds.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Oldest first.
    pub segments: Vec<SegmentInfo>,
    /// Files of no use: segments whose making was interrupted.
    pub unfinished: Vec<String>,
    /// The greatest epoch in a name.
    pub named_epoch: u64,
}

impl Listing {
    pub(super) fn read(files: &dyn Files) -> Result<Self, LogError> {
        let names = files.list().map_err(|error| LogError::io("list", files.path(""), error))?;
        let mut epochs: Vec<u64> = names.iter().filter_map(|name| segment_epoch(name)).collect();
        epochs.sort_unstable();
        let mut listing =
            Self { named_epoch: epochs.last().copied().unwrap_or(0), ..Self::default() };
        listing.unfinished.extend(names.into_iter().filter(|name| is_unfinished(name)));
        for epoch in epochs {
            let info = read_segment(files, &segment_name(epoch))?;
            listing.check_log_id(files, &info)?;
            listing.segments.push(info);
        }
        Ok(listing)
    }

    fn check_log_id(&self, files: &dyn Files, info: &SegmentInfo) -> Result<(), LogError> {
        let found = info.header.log_id;
        match self.segments.first().map(|first| first.header.log_id) {
            Some(expected) if expected != found => {
                Err(LogError::WrongLog { path: files.path(&info.name), found, expected })
            }
            _ => Ok(()),
        }
    }

    /// The index of the segment to begin with, so that no block of `from_epoch` is missed.
    pub(super) fn begin(&self, files: &dyn Files, from_epoch: u64) -> Result<usize, LogError> {
        let path = files.path("");
        let Some(oldest) = self.segments.first() else {
            return match from_epoch {
                0 => Ok(0),
                needed => Err(LogError::Absent { path, needed }),
            };
        };
        let reaches = |info: &SegmentInfo| info.header.previous_epoch < from_epoch;
        match self.segments.iter().rposition(reaches) {
            Some(index) => Ok(index),
            None if oldest.header.first_number == 1 => Ok(0),
            None => Err(LogError::BeginsTooLate {
                path,
                begins_after: oldest.header.previous_epoch,
                needed: from_epoch,
            }),
        }
    }
}

fn read_segment(files: &dyn Files, name: &str) -> Result<SegmentInfo, LogError> {
    let fault = |error| LogError::io("read", files.path(name), error);
    let file = files.open(name).map_err(fault)?;
    let mut bytes = [0; ENCODED_BYTES];
    let read = file.read_at(&mut bytes, 0).map_err(fault)?;
    let path = files.path(name);
    match SegmentHeader::decode(&bytes[..read]) {
        Ok(header) if segment_name(header.first_epoch) != name => {
            Err(LogError::WrongName { path, own_name: segment_name(header.first_epoch) })
        }
        Ok(header) => {
            let file_bytes = file.length().map_err(fault)?;
            Ok(SegmentInfo { name: name.to_owned(), header, file_bytes })
        }
        Err(SegmentFault::Version(found)) => {
            Err(LogError::UnknownVersion { path, found, known: FORMAT_VERSION })
        }
        // A file gets its name when its header is on the disk, so this is no interrupted making.
        Err(problem) => Err(LogError::Damaged {
            path,
            offset: 0,
            expected: "the header of a segment".to_owned(),
            found: problem.describe().to_owned(),
        }),
    }
}
