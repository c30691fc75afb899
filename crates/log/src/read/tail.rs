//! The end of a log: what the next block has to follow.
//!
//! Role         result of a scan, and what a log is started with

use super::SegmentInfo;
use super::blocks::{Expected, Segment};
use super::segments::Listing;
use crate::block::BlockHeader;
use crate::error::LogError;
use crate::files::Files;
use crate::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use std::collections::VecDeque;

/// Where a log ends, and what a scan found on the way.
#[derive(Clone, Debug, Default)]
pub struct Tail {
    /// The database's log; 0 if there is none yet.
    pub log_id: u64,
    /// The epoch of the last block; 0 if there is none.
    pub epoch: u64,
    /// The number that the next block gets.
    pub next_number: u64,
    /// Whether the log was closed in order.
    pub sealed: bool,
    /// A torn write at the end, which is to be cut off.
    pub cut: Option<Cut>,
    /// Blocks visited.
    pub blocks: u64,
    /// Their entries.
    pub entries: u64,
    /// Their bytes in the files.
    pub bytes: u64,
    /// The header checksum of the last block.
    pub(crate) chain: u32,
    /// The first epoch that nothing in the directory can have.
    pub(crate) next_epoch: u64,
    /// Segments that hold blocks, oldest first: name, and epoch of the last block before it.
    pub(crate) segments: Vec<(String, u64)>,
    /// The last segment, and the end of its last block.
    pub(crate) last: Option<(String, u64)>,
    /// The last block of which it is certain that it was synced.
    pub(crate) synced: u64,
    /// Number and offset of the later ones, all in the last segment.
    pub(crate) doubtful: VecDeque<(u64, u64)>,
    /// Segments whose making was interrupted.
    pub(crate) unfinished: Vec<String>,
}

/// A torn write: a block that was being written when power failed. Nobody was told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The segment's path.
    pub path: String,
    /// Where the block would begin.
    pub offset: u64,
    /// The number it would have.
    pub number: u64,
    /// Why it does not count.
    pub found: String,
}

impl Tail {
    /// The state before the first block is read.
    pub(super) fn before(listing: &Listing, from_epoch: u64) -> Self {
        Self {
            log_id: listing.segments.first().map_or(0, |info| info.header.log_id),
            next_number: 1,
            // A checkpoint of `from_epoch` has a part of it; that epoch is over even if its block
            // is lost.
            next_epoch: (listing.named_epoch + 1).max(from_epoch + 1),
            segments: listing
                .segments
                .iter()
                .map(|info| (info.name.clone(), info.header.previous_epoch))
                .collect(),
            unfinished: listing.unfinished.clone(),
            ..Self::default()
        }
    }

    pub(super) fn begin(&mut self, header: &SegmentHeader) {
        self.next_number = header.first_number;
        self.epoch = header.previous_epoch;
        self.chain = header.chain;
    }

    /// The segments that stay when the log goes on: all but a last one without blocks.
    pub(crate) fn kept_segments(&self) -> impl Iterator<Item = &(String, u64)> {
        let is_removed = |name: &String| {
            let last = self.last.as_ref();
            last.is_some_and(|(last, end)| last == name && *end == SEGMENT_HEADER_BYTES)
        };
        self.segments.iter().filter(move |(name, _)| !is_removed(name))
    }

    pub(super) fn expected(&self) -> Expected {
        Expected {
            log_id: self.log_id,
            number: self.next_number,
            epoch_above: self.epoch,
            chain: self.chain,
        }
    }

    /// Whether `info` follows the block read last; the walk has reached its number.
    pub(super) fn check_continues(
        &mut self,
        files: &dyn Files,
        info: &SegmentInfo,
    ) -> Result<(), LogError> {
        let header = &info.header;
        self.note_synced(header.first_number - 1);
        if header.chain == self.chain && header.previous_epoch == self.epoch {
            return Ok(());
        }
        Err(LogError::Damaged {
            path: files.path(&info.name),
            offset: 0,
            expected: format!("a segment that follows epoch {}", self.epoch),
            found: format!("one that follows another block, of epoch {}", header.previous_epoch),
        })
    }

    pub(super) fn advance(
        &mut self,
        offset: u64,
        header: &BlockHeader,
        chain: u32,
        from_epoch: u64,
    ) {
        self.doubtful.push_back((header.number, offset));
        self.note_synced(header.synced_through);
        self.next_number += 1;
        self.epoch = header.epoch;
        self.chain = chain;
        self.next_epoch = self.next_epoch.max(header.epoch + 1);
        if header.epoch >= from_epoch {
            self.blocks += 1;
            self.entries += u64::from(header.entries);
            self.bytes += header.block_bytes().unwrap_or(0);
        }
    }

    /// Notes that the blocks up to `number` were synced.
    fn note_synced(&mut self, number: u64) {
        self.synced = self.synced.max(number);
        while self.doubtful.pop_front_if(|&mut (number, _)| number <= self.synced).is_some() {}
    }

    pub(super) fn seal(&mut self, segment: &Segment<'_>, header: &BlockHeader) {
        self.note_synced(header.synced_through);
        self.next_epoch = self.next_epoch.max(header.epoch + 1);
        self.sealed = true;
        self.end(segment, None);
    }

    pub(super) fn end(&mut self, segment: &Segment<'_>, cut: Option<Cut>) {
        self.cut = cut;
        self.finish_segment(segment);
    }

    pub(super) fn finish_segment(&mut self, segment: &Segment<'_>) {
        self.last = Some((segment.name().to_owned(), segment.offset));
    }
}
