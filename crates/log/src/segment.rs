//! Segments: the files of the log, their names and headers.
//!
//! Role         written by the writer when it begins a file, judged by the reader
//! Invariants   I1  a segment's name is the first epoch it may hold; no two ever have the same, and
//!                  no file has one before its header is on the disk
//!              I2  when a header is durable, every block before `first_number` is, so a later
//!                  segment is evidence that the earlier ones were once whole
//!              I3  a file that has a durable header was at least `length` bytes long, until its
//!                  log was sealed or a later segment took over
//!
//! The first 16 bytes (magic, version, their checksum) are the same in every version of the format,
//! so that a program that does not know a version can name it.

use crate::block::ALIGNMENT;
use crate::checksum::checksum;
use crate::entry::{read_u32, read_u64};

/// The format that this program writes and reads.
pub const FORMAT_VERSION: u32 = 2;
/// The bytes before the first block: a sector of its own.
pub const SEGMENT_HEADER_BYTES: u64 = ALIGNMENT;
/// No epoch or block number is greater: at a million a second this is 146,000 years away. So one
/// more than any that is read is a number, too.
pub(crate) const COUNT_MAX: u64 = 1 << 62;
/// The bytes of the header that are used.
pub(crate) const ENCODED_BYTES: usize = 64;
const UNFINISHED: &str = ".new";
const MAGIC: [u8; 8] = *b"HOTROWLG";

/// The beginning of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The database's log.
    pub log_id: u64,
    /// The least epoch that a block in it may have; its name.
    pub first_epoch: u64,
    /// The number of its first block.
    pub first_number: u64,
    /// The length that the file was given when it was made.
    pub length: u64,
    /// The epoch of the last block before it; 0 if there is none.
    pub previous_epoch: u64,
    /// The header checksum of the last block before it; 0 if there is none.
    pub chain: u32,
}

/// Why a header cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentFault {
    CutOff,
    NoSegment,
    Version(u32),
    Checksum,
    Contradiction,
}

impl SegmentFault {
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::CutOff => "the file is shorter than a header",
            Self::NoSegment => "it does not begin as a segment does",
            Self::Version(_) => "it has another format version",
            Self::Checksum => "the checksum of the header is wrong",
            Self::Contradiction => "the header contradicts itself",
        }
    }
}

impl SegmentHeader {
    /// The header's bytes.
    pub fn encode(&self) -> [u8; ENCODED_BYTES] {
        let mut bytes = [0; ENCODED_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        let preamble = checksum(&bytes[..12]);
        bytes[12..16].copy_from_slice(&preamble.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.log_id.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.first_epoch.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.first_number.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.length.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.previous_epoch.to_le_bytes());
        bytes[56..60].copy_from_slice(&self.chain.to_le_bytes());
        let own = checksum(&bytes[..60]);
        bytes[60..].copy_from_slice(&own.to_le_bytes());
        bytes
    }

    /// The header at the beginning of `bytes`.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, SegmentFault> {
        if bytes.len() < ENCODED_BYTES {
            return Err(SegmentFault::CutOff);
        }
        if bytes[..8] != MAGIC {
            return Err(SegmentFault::NoSegment);
        }
        if checksum(&bytes[..12]) != read_u32(bytes, 12) {
            return Err(SegmentFault::Checksum);
        }
        let version = read_u32(bytes, 8);
        if version != FORMAT_VERSION {
            return Err(SegmentFault::Version(version));
        }
        if checksum(&bytes[..60]) != read_u32(bytes, 60) {
            return Err(SegmentFault::Checksum);
        }
        let header = Self {
            log_id: read_u64(bytes, 16),
            first_epoch: read_u64(bytes, 24),
            first_number: read_u64(bytes, 32),
            length: read_u64(bytes, 40),
            previous_epoch: read_u64(bytes, 48),
            chain: read_u32(bytes, 56),
        };
        if header.is_possible() { Ok(header) } else { Err(SegmentFault::Contradiction) }
    }

    fn is_possible(&self) -> bool {
        let range = 1..=COUNT_MAX;
        range.contains(&self.first_epoch)
            && range.contains(&self.first_number)
            && self.previous_epoch < self.first_epoch
            && self.log_id != 0
    }
}

/// The name of the segment that begins with `first_epoch`.
pub fn segment_name(first_epoch: u64) -> String {
    format!("log-{first_epoch:016x}.log")
}

/// The name that a segment has until its header is on the disk.
pub(crate) fn unfinished_name(first_epoch: u64) -> String {
    segment_name(first_epoch) + UNFINISHED
}

/// Whether `name` is that of a segment whose making was interrupted.
pub(crate) fn is_unfinished(name: &str) -> bool {
    name.strip_suffix(UNFINISHED).is_some_and(|name| segment_epoch(name).is_some())
}

/// The first epoch of the segment called `name`; `None` if no segment is called that.
pub fn segment_epoch(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("log-")?.strip_suffix(".log")?;
    let epoch = u64::from_str_radix(digits, 16).ok()?;
    (segment_name(epoch) == name).then_some(epoch)
}

#[cfg(test)]
mod tests {
    use super::{
        SegmentFault, SegmentHeader, is_unfinished, segment_epoch, segment_name, unfinished_name,
    };

    fn header() -> SegmentHeader {
        SegmentHeader {
            log_id: 7,
            first_epoch: 300,
            first_number: 12,
            length: 1 << 26,
            previous_epoch: 299,
            chain: 0xdead_beef,
        }
    }

    #[test]
    fn a_header_reads_back_and_no_flipped_bit_goes_unseen() {
        let bytes = header().encode();
        assert_eq!(SegmentHeader::decode(&bytes), Ok(header()));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            let decoded = SegmentHeader::decode(&flipped);
            assert!(
                matches!(decoded, Err(SegmentFault::Checksum | SegmentFault::NoSegment)),
                "bit {bit}: {decoded:?}"
            );
        }
        for length in 0..bytes.len() {
            assert_eq!(SegmentHeader::decode(&bytes[..length]), Err(SegmentFault::CutOff));
        }
    }

    #[test]
    fn names_are_epochs_and_other_files_have_none() {
        assert_eq!(segment_name(0x1f), "log-000000000000001f.log");
        for epoch in [1, 0x1f, u64::MAX] {
            assert_eq!(segment_epoch(&segment_name(epoch)), Some(epoch));
        }
        assert!(is_unfinished(&unfinished_name(7)) && segment_epoch(&unfinished_name(7)).is_none());
        for other in ["log-1f.log", "log-000000000000001F.log", "log-+00000000000001f.log", "x"] {
            assert!(segment_epoch(other).is_none() && !is_unfinished(other), "{other}");
        }
    }
}
