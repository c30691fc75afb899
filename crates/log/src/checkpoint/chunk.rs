//! Sections, and the chunks of rows in them: layouts and names.
//!
//! Invariants   I1  a header's checksum covers the payload's, and the section's checksum in the
//!                  manifest covers all headers; so no byte of a section is outside a checksum
//!                  that leads to the manifest

use crate::checksum::checksum;
use crate::entry::{read_u32, read_u64};

/// The format that this program writes and reads.
pub(super) const FORMAT_VERSION: u32 = 2;
/// Bytes of a section's header.
pub(super) const SECTION_HEADER_BYTES: usize = 64;
/// Bytes of a chunk's header.
pub(super) const CHUNK_HEADER_BYTES: usize = 40;
/// What magic, version and their checksum take: the same in every version and kind of file.
pub(super) const PREAMBLE_BYTES: usize = 16;

const SECTION_MAGIC: [u8; 8] = *b"HOTROWCS";
const CHUNK_MAGIC: u32 = u32::from_le_bytes(*b"HRCK");

/// Why bytes are not what they should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    Version(u32),
    Is(&'static str),
}

/// Begins a file: magic, version, checksum.
pub(super) fn preamble(magic: [u8; 8]) -> [u8; PREAMBLE_BYTES] {
    let mut bytes = [0; PREAMBLE_BYTES];
    bytes[0..8].copy_from_slice(&magic);
    bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    let crc = checksum(&bytes[..12]);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Checks the beginning of a file.
pub(super) fn check_preamble(bytes: &[u8], magic: [u8; 8]) -> Result<(), Fault> {
    if bytes.len() < PREAMBLE_BYTES {
        return Err(Fault::Is("the file is shorter than a header"));
    }
    if bytes[..8] != magic {
        return Err(Fault::Is("it does not begin as such a file does"));
    }
    if checksum(&bytes[..12]) != read_u32(bytes, 12) {
        return Err(Fault::Is("the checksum of the format version is wrong"));
    }
    match read_u32(bytes, 8) {
        FORMAT_VERSION => Ok(()),
        version => Err(Fault::Version(version)),
    }
}

/// The beginning of a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SectionHeader {
    pub(super) log_id: u64,
    pub(super) epoch: u64,
    pub(super) serial: u32,
    pub(super) section: u32,
}

impl SectionHeader {
    pub(super) fn encode(self) -> [u8; SECTION_HEADER_BYTES] {
        let mut bytes = [0; SECTION_HEADER_BYTES];
        bytes[..PREAMBLE_BYTES].copy_from_slice(&preamble(SECTION_MAGIC));
        bytes[16..24].copy_from_slice(&self.log_id.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.serial.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.section.to_le_bytes());
        let crc = checksum(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; SECTION_HEADER_BYTES]) -> Result<Self, Fault> {
        check_preamble(bytes, SECTION_MAGIC)?;
        if checksum(&bytes[..60]) != read_u32(bytes, 60) {
            return Err(Fault::Is("the checksum of the header is wrong"));
        }
        Ok(Self {
            log_id: read_u64(bytes, 16),
            epoch: read_u64(bytes, 24),
            serial: read_u32(bytes, 32),
            section: read_u32(bytes, 36),
        })
    }
}

/// What stands before the rows of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ChunkHeader {
    /// counted from 0 in its section
    pub(super) number: u32,
    pub(super) table: u32,
    pub(super) payload_crc: u32,
    pub(super) rows: u64,
    pub(super) words: u64,
}

impl ChunkHeader {
    pub(super) fn encode(self) -> [u8; CHUNK_HEADER_BYTES] {
        let mut bytes = [0; CHUNK_HEADER_BYTES];
        bytes[0..4].copy_from_slice(&CHUNK_MAGIC.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.table.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.payload_crc.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.rows.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.words.to_le_bytes());
        let crc = checksum(&bytes[..36]);
        bytes[36..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; CHUNK_HEADER_BYTES]) -> Result<Self, Fault> {
        if read_u32(bytes, 0) != CHUNK_MAGIC {
            return Err(Fault::Is("no chunk begins here"));
        }
        if checksum(&bytes[..36]) != read_u32(bytes, 36) {
            return Err(Fault::Is("the checksum of the chunk's header is wrong"));
        }
        Ok(Self {
            number: read_u32(bytes, 4),
            table: read_u32(bytes, 8),
            payload_crc: read_u32(bytes, 12),
            rows: read_u64(bytes, 16),
            words: read_u64(bytes, 24),
        })
    }
}

/// Which checkpoint a file belongs to: the epoch, and a number that tells apart those taken in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Name {
    pub(super) epoch: u64,
    pub(super) serial: u32,
}

/// What a file of a checkpoint is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Manifest,
    /// a manifest that is not valid yet
    Unfinished,
    Section,
}

impl Name {
    pub(super) fn manifest(self) -> String {
        format!("checkpoint-{:016x}-{:08x}.manifest", self.epoch, self.serial)
    }

    pub(super) fn unfinished(self) -> String {
        self.manifest() + ".new"
    }

    pub(super) fn section(self, section: u32) -> String {
        format!("checkpoint-{:016x}-{:08x}-{section:08x}.rows", self.epoch, self.serial)
    }

    /// The checkpoint that the file `name` belongs to, and what it is there; none for a file that
    /// no checkpoint has.
    pub(super) fn parse(name: &str) -> Option<(Self, Part)> {
        let rest = name.strip_prefix("checkpoint-")?;
        let hex = |range: std::ops::Range<usize>| u64::from_str_radix(rest.get(range)?, 16).ok();
        let of = Self { epoch: hex(0..16)?, serial: hex(17..25)? as u32 };
        if name == of.manifest() {
            return Some((of, Part::Manifest));
        }
        if name == of.unfinished() {
            return Some((of, Part::Unfinished));
        }
        let section = hex(26..34)? as u32;
        (name == of.section(section)).then_some((of, Part::Section))
    }
}
