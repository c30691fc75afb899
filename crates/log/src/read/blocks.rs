//! Block by block through a segment.
//!
//! Role         decides of each place whether the expected block stands there, and at the end of
//!              the last segment whether what stands there instead is a torn write or damage

use super::window::Window;
use super::{Block, Cut, SegmentInfo, Tail, describe};
use crate::block::{ALIGNMENT, BlockHeader, HEADER_BYTES, HeaderFault, decode_payload};
use crate::checksum::checksum;
use crate::entry::EntrySpan;
use crate::error::LogError;
use crate::files::{File, Files};
use crate::segment::{COUNT_MAX, SEGMENT_HEADER_BYTES};
use std::io;

/// What a disk writes wholly or not at all.
const SECTOR_BYTES: usize = 512;

/// A segment that is being read.
pub(super) struct Segment<'a> {
    files: &'a dyn Files,
    info: &'a SegmentInfo,
    file: Box<dyn File>,
    /// The number that the next segment begins with; `None` for the last segment.
    limit: Option<u64>,
    /// Where the next block begins.
    pub offset: u64,
}

impl<'a> Segment<'a> {
    pub(super) fn open(
        files: &'a dyn Files,
        info: &'a SegmentInfo,
        limit: Option<u64>,
    ) -> Result<Self, LogError> {
        let file = files.open(&info.name);
        let file = file.map_err(|error| LogError::io("open", files.path(&info.name), error))?;
        Ok(Self { files, info, file, limit, offset: SEGMENT_HEADER_BYTES })
    }

    pub(super) fn name(&self) -> &'a str {
        &self.info.name
    }

    fn path(&self) -> String {
        self.files.path(&self.info.name)
    }

    fn damaged(&self, expected: String, found: impl Into<String>) -> LogError {
        LogError::Damaged { path: self.path(), offset: self.offset, expected, found: found.into() }
    }

    /// A seal stands only where nothing follows.
    pub(super) fn check_seal(&self) -> Result<(), LogError> {
        match self.limit {
            None => Ok(()),
            Some(limit) => {
                let expected = format!("a block before block {limit}");
                Err(self.damaged(expected, "the seal of a log that was closed"))
            }
        }
    }
}

/// What the next block must say of itself.
pub(super) struct Expected {
    pub log_id: u64,
    pub number: u64,
    pub epoch_above: u64,
    pub chain: u32,
}

impl Expected {
    fn describe(&self) -> String {
        format!("block {} (after epoch {})", self.number, self.epoch_above)
    }

    /// Why a whole header is not that of the expected block.
    fn mismatch(&self, header: &BlockHeader) -> Option<String> {
        let what = if header.log_id != self.log_id {
            "of another log"
        } else if header.number != self.number {
            "not the one that is due"
        } else if header.chain != self.chain {
            "which does not follow the block before"
        } else if header.epoch <= self.epoch_above
            || header.epoch > COUNT_MAX
            || header.synced_through >= self.number
        {
            "whose header contradicts itself"
        } else {
            return None;
        };
        Some(format!("{}, {what}", describe(header)))
    }
}

/// What stands where a block was expected.
pub(super) enum Found {
    /// The block, and the chain value for the next.
    Block(BlockHeader, u32),
    /// The log was closed here.
    Seal(BlockHeader),
    /// Neither.
    Fault(Fault),
}

pub(super) struct Fault {
    what: String,
    written: Written,
}

/// How much of the place where a block should stand was written to; before, it was zeros.
#[derive(Clone, Copy, PartialEq)]
enum Written {
    /// Nothing, as far as the header shows.
    Blank,
    /// Some of its sectors are zeros, or its last bytes are: it may be a torn write.
    Partly,
    /// All of it.
    Wholly,
}

impl Written {
    /// What `bytes`, a header or a block from its first to its last byte in use, show. The last
    /// four are a checksum; a write that was cut short at any byte leaves them zero.
    fn of(bytes: &[u8]) -> Self {
        let is_zeros = |sector: &[u8]| sector.iter().all(|&byte| byte == 0);
        if bytes.ends_with(&[0; 4]) || bytes.chunks(SECTOR_BYTES).any(is_zeros) {
            Self::Partly
        } else {
            Self::Wholly
        }
    }
}

impl Fault {
    fn new(what: impl Into<String>, written: Written) -> Self {
        Self { what: what.into(), written }
    }
}

/// The memory of a scan.
#[derive(Default)]
pub(super) struct Reader {
    window: Window,
    spans: Vec<EntrySpan>,
    payload_bytes: usize,
}

impl Reader {
    /// What stands at `segment.offset`. A block found is kept until the next call.
    pub(super) fn next(
        &mut self,
        segment: &mut Segment<'_>,
        expected: &Expected,
    ) -> Result<Found, LogError> {
        if segment.offset == SEGMENT_HEADER_BYTES {
            self.window.clear();
        }
        let found = self.look(segment, expected);
        let found = found.map_err(|error| LogError::io("read", segment.path(), error))?;
        if let Found::Block(header, _) = &found {
            self.take_apart(segment, header)?;
        }
        Ok(found)
    }

    fn look(&mut self, segment: &Segment<'_>, expected: &Expected) -> io::Result<Found> {
        let at = segment.offset;
        let (header, chain) = match self.header(&*segment.file, at)? {
            Ok(found) => found,
            Err(fault) => {
                let bytes = self.window.slice(&*segment.file, at, HEADER_BYTES)?;
                let is_blank = fault == HeaderFault::Zeros;
                let written = if is_blank { Written::Blank } else { Written::of(bytes) };
                return Ok(Found::Fault(Fault::new(fault.describe(), written)));
            }
        };
        if let Some(what) = expected.mismatch(&header) {
            return Ok(Found::Fault(Fault::new(what, Written::Wholly)));
        }
        let rest = segment.file.length()?.saturating_sub(at);
        if header.block_bytes().is_none_or(|bytes| bytes > rest) {
            let what = "the block is longer than the file";
            return Ok(Found::Fault(Fault::new(what, Written::Partly)));
        }
        let length = HEADER_BYTES + header.payload_bytes as usize;
        let bytes = self.window.slice(&*segment.file, at, length)?;
        if bytes.len() < length || checksum(&bytes[HEADER_BYTES..]) != header.payload_checksum {
            let what = "the checksum of the block's entries is wrong";
            return Ok(Found::Fault(Fault::new(what, Written::of(bytes))));
        }
        self.payload_bytes = length - HEADER_BYTES;
        Ok(if header.seal { Found::Seal(header) } else { Found::Block(header, chain) })
    }

    /// The header at `at`.
    fn header(
        &mut self,
        file: &dyn File,
        at: u64,
    ) -> io::Result<Result<(BlockHeader, u32), HeaderFault>> {
        let bytes = self.window.slice(file, at, HEADER_BYTES)?;
        Ok(match <&[u8; HEADER_BYTES]>::try_from(bytes) {
            Ok(bytes) => BlockHeader::decode(bytes),
            Err(_) => Err(HeaderFault::Zeros), // the file ends here
        })
    }

    fn take_apart(&mut self, segment: &Segment<'_>, header: &BlockHeader) -> Result<(), LogError> {
        let begin = segment.offset + HEADER_BYTES as u64;
        let payload = self.window.held(begin, self.payload_bytes);
        if let Err((at, what)) = decode_payload(payload, header.entries, &mut self.spans) {
            return Err(LogError::Damaged {
                path: segment.path(),
                offset: begin + at as u64,
                expected: format!("an entry of {}", describe(header)),
                found: what.to_owned(),
            });
        }
        // Stable: entries of one worker and time stay in the order of appending.
        self.spans.sort_by_key(|span| (span.time, span.worker));
        Ok(())
    }

    /// The block found last.
    pub(super) fn block<'a>(&'a self, segment: &Segment<'a>, header: &BlockHeader) -> Block<'a> {
        let begin = segment.offset + HEADER_BYTES as u64;
        Block {
            epoch: header.epoch,
            number: header.number,
            file: &segment.info.name,
            offset: segment.offset,
            bytes: header.block_bytes().unwrap_or(0),
            synced_through: header.synced_through,
            payload: self.window.held(begin, self.payload_bytes),
            spans: &self.spans,
        }
    }

    /// Whether the log may end at `fault`: the torn write to cut off, if there is one.
    pub(super) fn judge(
        &mut self,
        segment: &mut Segment<'_>,
        tail: &Tail,
        fault: Fault,
    ) -> Result<Option<Cut>, LogError> {
        let expected = tail.expected().describe();
        if let Some(limit) = segment.limit {
            if fault.written == Written::Blank {
                return Err(LogError::Missing {
                    path: segment.path(),
                    offset: segment.offset,
                    first: tail.next_number,
                    last: limit - 1,
                });
            }
            return Err(segment.damaged(expected, fault.what));
        }
        let evidence = self.evidence(segment, tail);
        let evidence = evidence.map_err(|error| LogError::io("read", segment.path(), error))?;
        if let Some(later) = evidence.later {
            let found = format!("{}, though {later} says it was synced", fault.what);
            return Err(segment.damaged(expected, found));
        }
        if evidence.file_bytes < segment.info.header.length {
            let (is, was) = (evidence.file_bytes, segment.info.header.length);
            let found = format!("the file was cut off: it has {is} bytes, it was made with {was}");
            return Err(segment.damaged(expected, found));
        }
        let (path, offset, number) = (segment.path(), segment.offset, tail.next_number);
        if fault.written == Written::Wholly {
            return Err(LogError::DamagedEnd { path, offset, expected, found: fault.what });
        }
        let is_end = fault.written == Written::Blank && evidence.is_blank;
        Ok((!is_end).then_some(Cut { path, offset, number, found: fault.what }))
    }

    /// Looks through the rest of the last segment for signs that the block at its offset was
    /// synced once.
    fn evidence(&mut self, segment: &Segment<'_>, tail: &Tail) -> io::Result<Evidence> {
        let file_bytes = segment.file.length()?;
        let mut evidence = Evidence { later: None, is_blank: true, file_bytes };
        let mut at = segment.offset;
        while at < file_bytes {
            let decoded = self.header(&*segment.file, at)?;
            if let Ok((header, _)) = decoded
                && header.log_id == tail.log_id
                && header.number > tail.next_number
                && header.synced_through >= tail.next_number
            {
                evidence.later = Some(describe(&header));
                return Ok(evidence);
            }
            if evidence.is_blank {
                let sector = self.window.slice(&*segment.file, at, ALIGNMENT as usize)?;
                evidence.is_blank = sector.iter().all(|&byte| byte == 0);
            }
            at += ALIGNMENT;
        }
        Ok(evidence)
    }
}

struct Evidence {
    /// A later block that says that this one was durable.
    later: Option<String>,
    /// Whether the rest of the file is zeros.
    is_blank: bool,
    file_bytes: u64,
}
